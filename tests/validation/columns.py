"""Columns under an end load, exactly: flutter under a follower force, with damping, shear and stretch; buckling.

Nothing of sorosim is used. Dimensionless: p = P L^2/EI of the compressive load P, lam = (omega T)^2 of a circular
frequency omega, T^2 = rho A L^4/EI.
"""

from collections.abc import Callable

import numpy as np
from numpy.polynomial import Legendre
from numpy.typing import NDArray
from scipy.linalg import eigvals, expm
from scipy.optimize import brentq, minimize_scalar, root

Array = NDArray[np.float64]


def beck(p: complex, lam: complex) -> complex:
    """Zero where w'''' + p w'' - lam w = 0 has a solution with w = w' = 0 at 0 and w'' = w''' = 0 at 1 (Beck 1952).

    That is the determinant of the two conditions at 1 for cosh ax - cos bx and a^-1 sinh ax - b^-1 sin bx.
    """
    middle = np.sqrt(p * p / 4.0 + lam + 0j)
    a, b = np.sqrt(middle - p / 2.0), np.sqrt(middle + p / 2.0)
    even, odd = np.cosh(a) * np.cos(b), np.sinh(a) * np.sin(b)
    return complex(p * p + 2.0 * lam * (1.0 + even) + p * a * b * odd)


def top(load: Callable[[float], float], low: float, high: float) -> float:
    """The highest load of an eigencurve load(lam): where two frequencies meet. An error of lam enters by its square."""
    found = minimize_scalar(lambda lam: -load(lam), bounds=(low, high), method="bounded", options={"xatol": 1e-7})
    return -float(found.fun)


def beck_flutter() -> float:
    """Flutter load of Beck's column."""
    return top(lambda lam: brentq(lambda p: beck(p, lam).real, 15.0, 20.5, xtol=1e-14), 100.0, 140.0)


def damped_flutter(internal: float, external: float, near: tuple[float, float] = (11.0, 5.4)) -> float:
    """Flutter load with moments EI (k + internal T dk/dt), k = w'', and a resistance external / T of the velocity.

    With exp(s t) the equation is Beck's, divided by 1 + internal s; at the threshold s is imaginary, and (load, |s|) is
    sought near a guess.
    """

    def conditions(x: Array) -> list[float]:
        p, s = x[0], 1j * x[1]
        value = beck(p / (1.0 + internal * s), -(s * s + external * s) / (1.0 + internal * s))
        return [value.real, value.imag]

    found = root(conditions, near, tol=1e-13)
    assert np.abs(conditions(found.x)).max() < 1e-9
    return float(found.x[0])


def vanishing_damping() -> float:
    """Limit of the flutter load for internal damping alone: the first order of the above in internal."""
    h = 1e-5

    def conditions(x: Array) -> list[float]:
        p, lam = x
        along = beck(p * (1.0 + h), lam * (1.0 + h)) - beck(p * (1.0 - h), lam * (1.0 - h))
        return [beck(p, lam).real, along.real / h]

    return float(root(conditions, (11.0, 30.0), tol=1e-13).x[0])


def ritz_flutter(internal: float, low: float, high: float, n: int = 12) -> float:
    """The same load, without the exact solutions, from n displacements x^2 P(x), P Legendre polynomials on [0, 1]."""
    family = [Legendre.basis(k, domain=[0.0, 1.0]) for k in range(n)]
    x, weight = np.polynomial.legendre.leggauss(2 * n)
    # the last place is the tip, without weight
    x, weight = np.append((1.0 + x) / 2.0, 1.0), np.append(weight / 2.0, 0.0)
    P, P1, P2 = (np.array([(f.deriv(k) if k else f)(x) for f in family]) for k in range(3))
    w, slope, bend = x**2 * P, 2.0 * x * P + x**2 * P1, 2.0 * P + 4.0 * x * P1 + x**2 * P2
    M, K = (weight * w) @ w.T, (weight * bend) @ bend.T
    # work of the load on shortening, and of its part across the axis at the tip
    G = (weight * slope) @ slope.T - np.outer(w[:, -1], slope[:, -1])

    def growth(p: float) -> float:
        zero, one = np.zeros((n, n)), np.eye(n)
        A, B = np.block([[zero, one], [p * G - K, -internal * K]]), np.block([[one, zero], [zero, M]])
        return float(eigvals(A, B).real.max())

    return float(brentq(growth, low, high, xtol=1e-10))


def transfer(p: float, lam: float, gyration: float, shear: float, stretch: float) -> Array:
    """(w, theta, M, Q) at the end from those at the base, for a column that shears and is shortened by the load.

    gyration: radius of gyration / L; shear, stretch: EI / (k G A L^2) and EI / (E A L^2). Q is the force across the
    section. Linearised about the shortened column: w' = e theta + shear Q, e = 1 - stretch p; theta' = M; the force
    across the axis is Q - p theta; M changes by -(e + shear p) Q.
    """
    e = 1.0 - stretch * p
    A = np.array([[0, e, 0, shear], [0, 0, 1, 0], [0, -(gyration**2) * lam, 0, -(e + shear * p)], [-lam, 0, p, 0]])
    return np.asarray(expm(A))


def thick(p: float, lam: float, gyration: float, shear: float, stretch: float) -> float:
    """As `beck`, of such a column; the load is across the last section."""
    return float(np.linalg.det(transfer(p, lam, gyration, shear, stretch)[2:, 2:]))


def thick_flutter(gyration: float, shear: float, stretch: float) -> float:
    """Flutter load of a thick column under a follower force."""

    def load(lam: float) -> float:
        return float(brentq(lambda p: thick(p, lam, gyration, shear, stretch), 8.0, 20.5, xtol=1e-13))

    return top(load, 85.0, 125.0)


def thick_buckling(euler: float, shear: float, stretch: float) -> float:
    """Buckling load p under a dead force, p (1 + shear p - stretch p) = Euler's (Haringx; ends free or pinned)."""
    a = shear - stretch
    return (np.sqrt(1.0 + 4.0 * a * euler) - 1.0) / (2.0 * a)
