"""One of several concentric tubes: its section and material, how far it reaches, and its curves."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import Choice, Declared, Either, Integer, ListOf, Part, Quantity, Vector, key
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ModelError
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import MaterialOf

# two places closer than this, relative to the length of all, are one
MERGE = 1e-9


def _curvature(about: str) -> Any:
    doc = f"Curvature about {about}; two: where the curve begins and at its end, linear between."
    return key(Either(Quantity("curvature"), Vector("curvature", (2,)), is_list), doc, "12 1/m", default=0.0)


@dataclass(frozen=True)
class Curve(Declared, title="Curves of tubes"):
    """A piece of a tube that is curved where no load acts, about axes that turn with the tube."""

    label = "curve"

    length: float = key(Quantity("length", above=0.0), "Length.", "5 cm")
    _: KW_ONLY
    bending_y: float | tuple[float, float] = _curvature("y")
    bending_z: float | tuple[float, float] = _curvature("z")
    torsion: float = key(
        Quantity("curvature"), "How much its y and z turn about x per length, from its begin: the torsion of a helix.",
        "90 deg/cm", default=0.0,
    )  # fmt: skip
    sections: int = key(
        Integer(1, 100), "How many sections there are between two ends of tubes or curves in it.", "4", default=1,
    )  # fmt: skip

    @property
    def curvatures(self) -> Array:
        """Curvature (2, 2) [1/m] where it begins and at its end, about y and z there, if these did not turn."""
        both = (entry if is_list(entry) else (entry, entry) for entry in (self.bending_y, self.bending_z))
        return np.array(list(both)).T

    @property
    def changes(self) -> bool:
        """Whether its curvature changes along it, in the axes of the tube."""
        begin, end = self.curvatures
        return bool(np.any(begin != end) or (self.torsion and np.any(begin)))

    def curvature(self, x: Any) -> tuple[Array, Array]:
        """Curvature about y and z (2,) [1/m] at x [m] beyond its begin, and its slope (2,) but for the torsion."""
        begin, end = self.curvatures
        slope, c, s = (end - begin) / self.length, np.cos(self.torsion * x), np.sin(self.torsion * x)
        turn = np.array([[c, -s], [s, c]])
        return turn @ (begin + slope * x), turn @ slope


@dataclass(frozen=True)
class Tube(Declared, title="Concentric tubes"):
    """One of several concentric tubes: a round tube or, without a hole, a wire, straight but for its curves."""

    label = "tube"

    length: float = key(Quantity("length", above=0.0), "Length, from where it is held behind the plate.", "30 cm")
    radius: float = key(Quantity("length", above=0.0), "Outer radius.", "1.2 mm")
    inner_radius: float = key(Quantity("length", least=0.0), "Radius of the hole; that of a wire is 0.", "1 mm")
    material: Material = key(MaterialOf(), "Name of its material.", "rubber")
    _: KW_ONLY
    insertion: float = key(
        Quantity("length", above=0.0), "Length beyond the plate, where its coordinate is 0.", "20 cm", default=None,
        without="its length",
    )  # fmt: skip
    curves: tuple[Curve, ...] = key(
        ListOf(Part(Curve)), "Curved pieces, one after the other, the last one at the tip.",
        "[{length: 5 cm, bending_y: 12 1/m}]", default=(), without="straight",
    )  # fmt: skip
    transmission: str = key(
        Choice(("elastic", "rigid")), "Whether the part behind the plate, straight there, is twisted by what turns it; "
        "of a tube that is inserted wholly nothing is.", "rigid", default="elastic",
    )  # fmt: skip

    def validate(self) -> None:
        if self.insertion is None:
            self._set(insertion=self.length)
        if not self.inner_radius.real < self.radius.real:
            got = f"{self.inner_radius.real:g} m of {self.radius.real:g} m"
            raise ModelError("inner_radius", "a hole smaller than the tube", got)
        if self.insertion.real > self.length.real * (1.0 + MERGE):
            got = f"{self.insertion.real:g} m of {self.length.real:g} m"
            raise ModelError("insertion", "no more than the length of the tube", got)
        if self.material.relaxation is not None:
            raise ModelError("material", "an elastic material", "one that relaxes", "leave out its relaxation")
        if self.material.is_hyperelastic:
            got = f"one that is {self.material.elasticity}"
            raise ModelError("material", "a linear material", got, "tubes take elasticity: linear")
        if self.material.mass_damping:
            hint = "damping and stiffness_damping damp tubes in themselves"
            raise ModelError("material", "one without mass_damping, that of a medium around", "one with it", hint)
        curved = sum(curve.length for curve in self.curves)
        if curved.real > self.length.real * (1.0 + MERGE):
            got = f"{curved.real:g} m of {self.length.real:g} m"
            raise ModelError("curves", "curves no longer than the tube together", got)

    @property
    def behind(self) -> Any:
        """Length behind the plate that may be twisted [m]; 0: none."""
        left = self.length - self.insertion
        return left if self.transmission == "elastic" and left.real > MERGE * self.length.real else 0.0

    @property
    def area(self) -> Any:
        """Area of the section [m^2]."""
        return np.pi * (self.radius**2 - self.inner_radius**2)

    @property
    def moment(self) -> Any:
        """Second moment of area about an axis of the section [m^4], half the polar one."""
        return 0.25 * np.pi * (self.radius**4 - self.inner_radius**4)

    @property
    def bending_stiffness(self) -> Any:
        """E I [N m^2]."""
        return self.material.young * self.moment

    @property
    def twist_stiffness(self) -> Any:
        """G J [N m^2]."""
        return 2.0 * self.material.shear_modulus * self.moment

    @property
    def bending_damping(self) -> Any:
        """3 eta I, and what is proportional to the stiffness [N m^2 s]."""
        return 3.0 * self.material.damping * self.moment + self.material.stiffness_damping * self.bending_stiffness

    @property
    def twist_damping(self) -> Any:
        """eta J, and what is proportional to the stiffness [N m^2 s]."""
        return 2.0 * self.material.damping * self.moment + self.material.stiffness_damping * self.twist_stiffness

    @property
    def marks(self) -> tuple[Any, ...]:
        """Distances from the tip [m] at which it ends or its curvature jumps: 0 first, rising."""
        marks = [0.0]
        for curve in reversed(self.curves):
            marks.append(marks[-1] + curve.length)
        return tuple(marks)

    def curve(self, place: float) -> tuple[Curve, Any] | None:
        """The curve at a place beyond the plate [m] that is no mark, and the place where it begins; None: straight."""
        for curve, far in zip(reversed(self.curves), self.marks[1:], strict=True):
            if self.insertion.real - place < far.real:
                return curve, self.insertion - far
        return None
