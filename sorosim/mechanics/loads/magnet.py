"""Magnets in a magnetic field: dipoles on links, and rods that are magnetised along their length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import FormulaVector, SignalVector, Vector, key
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels.load_laws import DIPOLE, DIPOLE_IN_GRADIENT, GRADIENT
from sorosim.mechanics.loads.base import DeclaredLoad
from sorosim.mechanics.loads.compiled import BoundLaw, CompiledLaw, LawRow, split_entries
from sorosim.mechanics.loads.line_load import RodLoad, entry_at, refuse_places
from sorosim.mechanics.loads.wrench import ANY_TIME, NONE, PointLoad
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.profile import PLACE_VARIABLES

NO_GRADIENT = (0.0,) * len(GRADIENT)


@dataclass(frozen=True)
class InField(DeclaredLoad):
    """What a field B = field + gradient (x - centre) does: the moment on a dipole is m x B, the force grad(m . B).

    The field is that of magnets and coils elsewhere: magnets of the robot neither attract each other nor change it.
    """

    _: KW_ONLY
    field: tuple[Any, ...] = key(
        SignalVector("magnetic field"), f"Flux density in the world's axes; {ANY_TIME}.", "[0, 0, 20 mT*sin(t)]",
        default=NONE,
    )  # fmt: skip
    gradient: tuple[Any, ...] = key(
        SignalVector("field gradient", count=len(GRADIENT)), "Its derivatives "
        f"{', '.join(f'dB{ab[0]}/d{ab[1]}' for ab in GRADIENT)}; the others follow, since div B = 0 and rot B = 0.",
        "[0.5 T/m, -0.25 T/m, 0, 0, 0]", default=NO_GRADIENT,
    )  # fmt: skip
    centre: tuple[float, ...] = key(
        Vector("length"), "Place in the world to which the field belongs; it differs by the gradient elsewhere.",
        "[0, 0, 10 cm]", default=NONE,
    )  # fmt: skip

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if ({"link", "rod"} & set(data)) and not {"field", "gradient"} & set(data):
            raise ModelError("", "a field or a gradient", "neither", "for instance field: [0, 0, 20 mT]")

    def rows(self, node: int, moment: Array, pose: Array | None = None, per_length: bool = False) -> list[LawRow]:
        """Rows of a dipole [A m^2], fixed to a frame on a node, or that of its share of a rod."""
        out, rest = [], np.concatenate([moment, self.centre])
        for kind, entries in ((DIPOLE, self.field), (DIPOLE_IN_GRADIENT, self.gradient)):
            values, varying = split_entries(entries)
            if values.any():
                numbers = np.concatenate([values, np.zeros(6 - len(values)), rest])
                out.append(LawRow(kind, node, numbers, varying, pose, per_length=per_length))
        return out


@dataclass(frozen=True)
class Magnet(InField, PointLoad, kind="magnet", title="Magnets on links"):
    """A dipole that is fixed to a link, in a magnetic field."""

    template = "{link: arm, dipole: [0.1 A*m^2, 0, 0], field: [0, 0, 20 mT]}"

    _: KW_ONLY
    dipole: tuple[float, ...] = key(
        Vector("magnetic moment"), "Magnetic moment in the axes of its point on the link.", "[0.1 A*m^2, 0, 0]",
        default=NONE, stated=True,
    )  # fmt: skip

    def bind(self, layout: Layout) -> BoundLaw:
        """Look the node up."""
        return BoundLaw(CompiledLaw(self.rows(self.anchor.node(layout), np.array(self.dipole), self.pose(layout))))


@dataclass(frozen=True)
class MagnetisedRod(InField, RodLoad, kind="magnetised_rod", title="Magnetised rods"):
    """A rod of a hard-magnetic material, in a magnetic field: each section is a dipole that turns with it.

    Strains do not change its moment per unstrained length (Wang et al., 2020: magnetic elastica).
    """

    template = "{rod: arm, magnetisation: [120 kA/m, 0, 0], field: [0, 0, 20 mT]}"

    _: KW_ONLY
    magnetisation: tuple[Any, ...] = key(
        FormulaVector("magnetisation", PLACE_VARIABLES), "Magnetic moment per volume of the unstrained rod, in the "
        "axes of its sections; each entry a number or an expression of X, s and L.", "[120 kA/m, 0, 0]", default=NONE,
        stated=True,
    )  # fmt: skip

    def bind(self, layout: Layout) -> BoundLaw:
        """Collect the Gauss points, each with the moment of its share of the rod."""
        rows: list[LawRow] = []
        for point in self.sections(layout):
            if point.material_moves:
                hint = "its material moves past its places"
                refuse_places(self.magnetisation, {"X", "s", "L"}, "magnetisation", hint)
            per_volume = [entry_at(entry, point.X, point.length) for entry in self.magnetisation]
            moment = np.array(per_volume) * (point.area * point.weight)
            if not np.isfinite(moment).all():
                got = f"NaN or infinity at s = {np.real(point.X / point.length):.4g} of rod '{self.rod}'"
                raise ModelError("magnetisation", "finite numbers", got)
            rows += self.rows(point.node, moment, per_length=True)
        return BoundLaw(CompiledLaw(rows))
