"""Finite elements; the order is their number."""

from __future__ import annotations

import numpy as np

from sorosim.mechanics.model.basis import ElementBasis


def _lagrange(degree: int) -> tuple[tuple[float, ...], ...]:
    nodes = np.arange(degree + 1) / degree
    return tuple(map(tuple, np.linalg.inv(np.vander(nodes, increasing=True)).T.tolist()))


class Hermite(ElementBasis, kind="hermite"):
    """Value and slope (per element length) of each node."""

    shape = ((1.0, 0.0, -3.0, 2.0), (0.0, 1.0, -2.0, 1.0), (0.0, 0.0, 3.0, -2.0), (0.0, 0.0, -1.0, 1.0))
    shared = 2


class LinearElements(ElementBasis, kind="linear_elements"):
    """Values of evenly spaced nodes."""

    shape = _lagrange(1)


class QuadraticElements(ElementBasis, kind="quadratic_elements"):
    """The same, with a node inside each element."""

    shape = _lagrange(2)


class CubicElements(ElementBasis, kind="cubic_elements"):
    """The same, with two nodes inside each element."""

    shape = _lagrange(3)
