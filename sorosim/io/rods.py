"""Rods of a file: sections, strain bases and divisions of the model from the schema's blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sorosim.io.fields import Quantity, checked_at
from sorosim.io.schema_rods import (
    DivisionsBlock,
    OrderBlock,
    PieceBlock,
    ReferenceBlock,
    SectionBlock,
    StrainBlock,
    TableBox,
)
from sorosim.model.basis import STRAINS, ReferenceStrain, StrainBasis, get_basis, strain
from sorosim.model.material import Material
from sorosim.model.profile import Table
from sorosim.model.rod import Division, Rod
from sorosim.model.section import Circle, Ellipse, HollowCircle, Properties, Rectangle, Section
from sorosim.problems import Collector, Path

_SECTIONS: dict[str, type[Section]] = {
    kind.kind: kind for kind in (Circle, HollowCircle, Rectangle, Ellipse, Properties)
}
_DIMENSIONS = {"area": "area", "Iy": "area moment", "Iz": "area moment", "J": "area moment", "polar": "area moment"}


@dataclass(frozen=True)
class RodBuilder:
    """Builds rods; `names` are those of all materials of the file, `materials` holds the ones that are right."""

    todo: Collector
    names: Collection[str]
    materials: Mapping[str, Material]

    def rod(self, path: Path, block: PieceBlock | DivisionsBlock) -> Rod | None:
        """A rod, None if something is wrong."""
        pieces: list[tuple[Path, PieceBlock]] = [(path, block)] if isinstance(block, PieceBlock) else []
        if isinstance(block, DivisionsBlock):
            pieces = [((*path, "divisions", i), piece) for i, piece in enumerate(block.divisions)]
        if not pieces:
            self.todo.add((*path, "divisions"), "one division or several", "an empty list")
        divisions = [self.division(place, piece) for place, piece in pieces]
        right = tuple(division for division in divisions if division is not None)
        return Rod(right) if pieces and len(right) == len(pieces) else None

    def division(self, path: Path, block: PieceBlock) -> Division | None:
        """A piece of a rod."""
        todo = self.todo
        todo.known((*path, "material"), "the name of a material", block.material, self.names)
        section = self.section((*path, "section"), block.section)
        basis = self.strain((*path, "strain"), block.strain)
        reference = todo.attempt(path, lambda: reference_strain(block.reference))
        material = self.materials.get(block.material)
        if section is None or basis is None or reference is None or material is None:
            return None
        return todo.attempt(
            path,
            lambda: Division(
                block.length, section, material, basis, reference=reference, n_gauss=block.quadrature
            ),
        )  # fmt: skip

    def section(self, path: Path, block: SectionBlock) -> Section | None:
        """A cross-section."""
        kind, shape = block.kind, block.chosen
        sizes: dict[str, Any] = {}
        for name in _SECTIONS[kind].size_names:
            given = getattr(shape, name)
            sizes[name] = self.table((*path, kind, name), name, given) if isinstance(given, TableBox) else given
            if given is not None and sizes[name] is None:
                return None
        options = {"shear_factor": shape.shear_factor, "torsion": shape.torsion}
        return self.todo.attempt(path, lambda: _SECTIONS[kind](**sizes, **options))

    def table(self, path: Path, name: str, box: TableBox) -> Table | None:
        """A size by a table."""
        block = box.chosen
        dimension = _DIMENSIONS.get(name, "length")

        def make() -> Table:
            least = Quantity(dimension, least=0.0)
            values = tuple(checked_at(f"table.value[{i}]", least, v) for i, v in enumerate(block.value))
            return Table(block.s, values, block.interpolation)

        return self.todo.attempt(path, make)

    def strain(self, path: Path, block: StrainBlock) -> StrainBasis | None:
        """What may deform, and how."""
        entries = {name: getattr(block, name) for name in type(block).model_fields if name != "basis"}
        used = {(path, block.basis)} if any(isinstance(entry, int) for entry in entries.values()) else set()
        used |= {((*path, name), entry.basis) for name, entry in entries.items() if isinstance(entry, OrderBlock)}
        for place, basis in sorted(used, key=str):
            if self.todo.attempt(place, lambda basis=basis: get_basis(basis)) is None:  # type: ignore[misc]
                return None
        orders = {
            name: (entry.basis, entry.order) if isinstance(entry, OrderBlock) else entry
            for name, entry in entries.items()
        }
        return self.todo.attempt(path, lambda: strain(block.basis, **orders))


def reference_strain(block: ReferenceBlock | None) -> ReferenceStrain:
    """Strain of the unloaded rod."""
    return ReferenceStrain() if block is None else ReferenceStrain(tuple(getattr(block, name) for name in STRAINS))
