"""Vectors of three as tuples, and matrices as three of them, their rows: they stay in registers.

Arrays have to be written and read again wherever two of them might overlap, for all the compiler knows.
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place


@kernel_in_place
def head(x):
    """Angular part of x (6,)."""
    return x[0], x[1], x[2]


@kernel_in_place
def tail(x):
    """Linear part of x (6,)."""
    return x[3], x[4], x[5]


@kernel_in_place
def dot(x, y):
    """x . y."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@kernel_in_place
def cross(x, y):
    """x x y, the cross product."""
    return x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]


@kernel_in_place
def scaled(a, x):
    """a x."""
    return a * x[0], a * x[1], a * x[2]


@kernel_in_place
def plus(x, y):
    """x + y."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


@kernel_in_place
def sum2(a, x, b, y):
    """a x + b y."""
    return a * x[0] + b * y[0], a * x[1] + b * y[1], a * x[2] + b * y[2]


@kernel_in_place
def sum3(a, x, b, y, c, z):
    """a x + b y + c z."""
    return a * x[0] + b * y[0] + c * z[0], a * x[1] + b * y[1] + c * z[1], a * x[2] + b * y[2] + c * z[2]


@kernel_in_place
def sum4(a, x, b, y, c, z, d, u):
    """a x + b y + c z + d u."""
    return (
        a * x[0] + b * y[0] + c * z[0] + d * u[0],
        a * x[1] + b * y[1] + c * z[1] + d * u[1],
        a * x[2] + b * y[2] + c * z[2] + d * u[2],
    )


@kernel_in_place
def row(X, i):
    """The first three entries of row i of a matrix."""
    return X[i, 0], X[i, 1], X[i, 2]


@kernel_in_place
def rows(X):
    """The leading 3x3 block of a matrix."""
    return row(X, 0), row(X, 1), row(X, 2)


@kernel_in_place
def times(X, y):
    """X y."""
    return dot(X[0], y), dot(X[1], y), dot(X[2], y)


@kernel_in_place
def transposed_times(X, y):
    """X^T y."""
    return sum3(y[0], X[0], y[1], X[1], y[2], X[2])


@kernel_in_place
def product(X, Y):
    """X Y."""
    return (
        sum3(X[0][0], Y[0], X[0][1], Y[1], X[0][2], Y[2]),
        sum3(X[1][0], Y[0], X[1][1], Y[1], X[1][2], Y[2]),
        sum3(X[2][0], Y[0], X[2][1], Y[1], X[2][2], Y[2]),
    )


@kernel_in_place
def store(x, y, out):
    """out (6,) = [x; y]."""
    out[0], out[1], out[2] = x
    out[3], out[4], out[5] = y


@kernel_in_place
def store_row(x, out):
    """out (3,) = x."""
    out[0], out[1], out[2] = x
