"""Saint-Venant's torsion constant of sections with holes (docs/theory.md, 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array

# of the powers inside of the outline and around each hole. Three holes in a circle with walls of 8 % of its radius: to
# 3e-7, with walls of 2 %: to 6e-4
ORDER = 20
# points of Gauss's rule on a panel. A panel is at most FAR times as long as the way to the nearest focus of a hole:
# products of two powers, poles of order 2 ORDER there, are integrated to 1e-13 then
N_PANEL, FAR = 48, 1.6
N_PLACES = 9  # on a panel, at which that way is measured
SHORTEST = 1e-12  # part of a line: a shorter panel leads to a point of no size


class Boundary(NamedTuple):
    """A closed line, counter-clockwise around its inside, at places for quadrature; k of them at n sections."""

    point: Array  # (n, k, 2) [m]
    normal: Array  # (n, k, 2) to the right of its way, times the weight [m]
    centre: Array  # (n, 2) its middle [m]
    size: Array  # (n,) length by which powers are made numbers [m]
    axes: Array  # (2, 2) its own axes as columns
    half: Array  # (n, 2) half of its lengths along these [m]


def panel_rule(points: Callable[[Array], Array], n_sides: int, poles: Array) -> tuple[Array, Array]:
    """Gauss's rule (k,), (k,) along a closed line, places from 0 to 1, on panels that are short where poles are near.

    Parameters
    ----------
    points : function
        Of places (k,) the points (n, k, 2) of the line at n sections.
    n_sides : int
        Equal parts of the line that are smooth, at least.
    poles : (n, m, 2) array
    """
    ends, inner = np.linspace(0.0, 1.0, n_sides + 1), np.linspace(0.0, 1.0, N_PLACES)
    while True:
        places = ends[:-1, None] + np.diff(ends)[:, None] * inner
        at = np.real(points(places.ravel())).reshape(-1, *places.shape, 2)  # (n, panels, N_PLACES, 2)
        length = np.linalg.norm(np.diff(at, axis=2), axis=3).sum(axis=2)
        near = np.linalg.norm(at[..., None, :] - poles[:, None, None], axis=-1).min(axis=(2, 3))
        long = (length > FAR * (near - 0.5 * length / (N_PLACES - 1))).any(axis=0)
        if not long.any() or np.diff(ends).min() < SHORTEST:
            break
        ends = np.sort(np.concatenate([ends, 0.5 * (ends[:-1] + ends[1:])[long]]))
    x, w = np.polynomial.legendre.leggauss(N_PANEL)
    half = 0.5 * np.diff(ends)[:, None]
    return (ends[:-1, None] + half * (1.0 + x)).ravel(), (half * w).ravel()


def torsion_constant(outer: Boundary, holes: Sequence[Boundary], polar: Array) -> Array:
    """Torsion constants (n,) [m^4].

    The warping w is what makes J = int |grad w + (-z, y)|^2 dA least. In w = sum c_i w_i, all w_i harmonic, integrals
    over the section are integrals along its boundaries,

        G_ij = closed int w_i dw_j/dn ds,   b_i = closed int w_i n . (-z, y) ds,   J = Jp - b . G^-1 b.

    The w_i are powers inside of the outline and inverse powers around each hole, of Joukowski's variable of an ellipse
    as long and wide as the hole: so they are about one on its edge, however slender it is. J is an upper bound for any
    of them: it falls to its limit as more are taken, exponentially where the boundaries are smooth, and slower at
    corners that point into the material.
    """
    n = len(polar)
    gram, load, rounding = np.zeros((n, 1, 1)), np.zeros((n, 1)), np.zeros((n, 1))
    for i, line in enumerate((outer, *holes)):
        values, slopes = [], []
        for j, own in enumerate((outer, *holes)):
            value, slope = _powers(line.point, own, inside=j == 0)
            values.append(value)
            slopes.append(slope)
        w, dw = np.concatenate(values, axis=-1), np.concatenate(slopes, axis=-1)  # (n, k, m), (n, k, 2, m)
        out = line.normal if i == 0 else -line.normal  # out of the material
        flux = np.einsum("nka,nkam->nkm", out, dw)
        turn = out[:, :, 1] * line.point[:, :, 0] - out[:, :, 0] * line.point[:, :, 1]
        gram = gram + w.swapaxes(1, 2) @ flux
        load = load + np.einsum("nki,nk->ni", w, turn)
        rounding = rounding + np.abs(np.real(w * flux)).sum(axis=1)
    gram = 0.5 * (gram + gram.swapaxes(1, 2))
    # powers of neighbours nearly depend on each other: what is left of the smallest is rounding of the sums
    gram = gram + np.finfo(float).eps * 16 * rounding[:, :, None] * np.eye(gram.shape[1])
    scale = 1.0 / np.sqrt(np.real(np.einsum("nii->ni", gram)))
    scaled = gram * scale[:, :, None] * scale[:, None, :]
    right = load * scale
    return np.asarray(polar - np.einsum("ni,ni->n", right, np.linalg.solve(scaled, right[:, :, None])[:, :, 0]))


def _powers(point: Array, own: Boundary, inside: bool) -> tuple[Array, Array]:
    """Real and imaginary parts of powers (n, k, m) at points (n, k, 2), and their gradients (n, k, 2, m)."""
    p = (point - own.centre[:, None]) @ own.axes
    y, z = p[:, :, 0], p[:, :, 1]
    if inside:
        y, z = y / own.size[:, None], z / own.size[:, None]
        slope = 1.0 / own.size[:, None], np.zeros((1, 1))  # of the variable by y + i z
    else:
        y, z, slope = _outside(y, z, own.half)
    re, im = [np.ones_like(y)], [np.zeros_like(y)]
    for _ in range(ORDER):
        re, im = [*re, re[-1] * y - im[-1] * z], [*im, re[-1] * z + im[-1] * y]
    values, gradients = [], []
    for k in range(1, ORDER + 1):
        # d/dy of w(y + i z)^k is k w^(k - 1) w', d/dz is i times that
        a = k * (re[k - 1] * slope[0] - im[k - 1] * slope[1])
        b = k * (re[k - 1] * slope[1] + im[k - 1] * slope[0])
        values += [re[k], im[k]]
        gradients += [np.stack([a, -b], axis=-1), np.stack([b, a], axis=-1)]
    return np.stack(values, axis=-1), own.axes @ np.stack(gradients, axis=-1)


def _outside(y: Array, z: Array, half: Array) -> tuple[Array, Array, tuple[Array, Array]]:
    """The variable w = (a + b) / (p + sqrt(p^2 - a^2 + b^2)) of p = y + i z, (n, k), and dw/dp; both as two parts.

    The ellipse with the half axes a, b is |w| = 1, and w = a/p for a = b. Parts may be complex, as sizes may be.
    """
    a, b = half[:, :1], half[:, 1:]
    re, im = y * y - z * z - a * a + b * b, 2.0 * y * z
    left = np.real(re) < 0.0
    larger = np.sqrt(0.5 * (np.sqrt(re * re + im * im) + np.where(left, -re, re)))
    smaller = 0.5 * im / larger
    root = np.where(left, smaller, larger), np.where(left, larger, smaller)
    side = np.where(np.real(root[0] * y + root[1] * z) < 0.0, -1.0, 1.0)  # as p where p is large
    root = side * root[0], side * root[1]
    u, v = y + root[0], z + root[1]
    scale = (a + b) / (u * u + v * v)
    u, v = scale * u, -scale * v
    square = root[0] * root[0] + root[1] * root[1]
    return u, v, (-(u * root[0] + v * root[1]) / square, -(v * root[0] - u * root[1]) / square)  # -w / root
