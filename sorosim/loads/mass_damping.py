"""Damping proportional to mass: every material point is braked by a multiple of its momentum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sorosim.kernels.load_laws import TWIST_DAMPING
from sorosim.loads.compiled import CompiledLaw, LawRow
from sorosim.loads.wrench import BoundLaw
from sorosim.model.compile import Layout


@dataclass(frozen=True)
class MassDamping:
    """f = -mass_damping * inertia * eta at the Gauss points of every rod whose material asks for it."""

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """None beyond the Gauss points."""
        return ()

    def bind(self, layout: Layout) -> BoundLaw:
        """Collect the Gauss points and their coefficients."""
        rows: list[LawRow] = []
        for link in layout.links.values():
            for piece in link.pieces:
                alpha = piece.division.material.mass_damping
                inside = piece.gauss(link)
                if alpha != 0.0:
                    inertia = piece.division.line_inertia(link.X[inside] - piece.start)
                    values = alpha * link.weight[inside, None] * inertia
                    rows += [LawRow(TWIST_DAMPING, int(k), v) for k, v in zip(link.nodes[inside], values, strict=True)]
        return BoundLaw(np.array([row.node for row in rows], dtype=np.int64), CompiledLaw(rows, lost=rows))
