"""Damping proportional to mass: every material point is braked by a multiple of its momentum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sorosim.kernels.load_laws import BRAKED
from sorosim.loads.base import Array, LoadValues
from sorosim.loads.compiled import CompiledLaw
from sorosim.model.compile import Layout


@dataclass(frozen=True)
class MassDamping:
    """f = -mass_damping * inertia * eta at the Gauss points of every rod whose material asks for it."""

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """None beyond the Gauss points."""
        return ()

    def bind(self, layout: Layout) -> _BoundDamping:
        """Collect the Gauss points and their coefficients."""
        nodes: list[int] = []
        coefficients: list[Array] = []
        for link in layout.links.values():
            for piece in link.pieces:
                alpha = piece.division.material.mass_damping
                inside = (piece.start < link.X) & (piece.start + piece.division.length >= link.X) & (link.weight > 0.0)
                if alpha > 0.0:
                    inertia = piece.division.line_inertia(link.X[inside] - piece.start)
                    nodes += [int(k) for k in link.nodes[inside]]
                    coefficients += list(alpha * link.weight[inside, None] * inertia)
        return _BoundDamping(np.array(nodes, dtype=np.int64), np.array(coefficients).reshape(-1, 6))


@dataclass(frozen=True)
class _BoundDamping:
    nodes: NDArray[np.int64]
    coefficients: Array  # (n, 6)
    dissipates = True

    @property
    def law(self) -> CompiledLaw:
        """The compiled form."""
        return CompiledLaw(BRAKED, [int(k) for k in self.nodes], self.coefficients, {})

    def evaluate(self, t: float, g: Array, eta: Array) -> LoadValues:
        n = len(self.nodes)
        D = np.zeros((n, 6, 6))
        D[:, np.arange(6), np.arange(6)] = -self.coefficients
        return LoadValues(-self.coefficients * eta, np.zeros((n, 6, 6)), D)
