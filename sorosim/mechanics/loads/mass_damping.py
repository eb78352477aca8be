"""Damping proportional to mass: a force on every material point of -c times its momentum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sorosim.mechanics.kernels.load_laws import TWIST_DAMPING
from sorosim.mechanics.loads.base import Load
from sorosim.mechanics.loads.compiled import BoundLaw, CompiledLaw, LawRow
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.layout import Layout


@dataclass(frozen=True)
class MassDamping:
    """f = -mass_damping * inertia * eta at the Gauss points of every rod whose material has mass damping."""

    places: Sequence[tuple[str, float]] = ()

    def bind(self, layout: Layout) -> BoundLaw:
        """Collect the Gauss points and their coefficients."""
        rows: list[LawRow] = []
        for link in layout.links.values():
            for piece in link.pieces:
                alpha = piece.division.material.mass_damping
                if alpha != 0.0:
                    inside = piece.gauss(link)
                    inertia = piece.division.line_inertia(link.X[inside] - piece.start)
                    values = alpha * link.weight[inside, None] * inertia
                    pairs = zip(link.nodes[inside], values, strict=True)
                    rows += [LawRow(TWIST_DAMPING, int(k), v, per_length=True) for k, v in pairs]
        return BoundLaw(CompiledLaw(rows, lost=rows))


def all_loads(description: Description) -> dict[str, Load]:
    """Loads by name, and the damping of materials that is one."""
    loads: dict[str, Load] = dict(description.loads)
    if any(material.mass_damping for link in description.links if link.rod for material in link.rod.materials):
        loads["mass damping"] = MassDamping()
    return loads
