"""Polynomials on the whole of [0, 1]; the order is the degree."""

from __future__ import annotations

from numpy.polynomial import chebyshev, legendre, polynomial

from sorosim.mechanics.model.basis import Array, SmoothBasis


class Legendre(SmoothBasis, kind="legendre"):
    """P_n(2x - 1), n = 0..order."""

    def functions(self, x: Array, order: int) -> Array:
        return legendre.legvander(2.0 * x - 1.0, order)


class Chebyshev(SmoothBasis, kind="chebyshev"):
    """T_n(2x - 1), n = 0..order."""

    def functions(self, x: Array, order: int) -> Array:
        return chebyshev.chebvander(2.0 * x - 1.0, order)


class Monomial(SmoothBasis, kind="monomial"):
    """x^n, n = 0..order."""

    def functions(self, x: Array, order: int) -> Array:
        return polynomial.polyvander(x, order)
