"""Concentric tubes: one centreline where they overlap, each tube with a twist, curves and insertion of its own.

The tubes are cut into sections where one of them ends, or a curve of one begins. All sections are one block of the tree
of segments, whose coordinates `TubeBlock` lists (docs/theory.md, 20).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from sorosim.arrays import Array, IntArray
from sorosim.complex_step import number_type
from sorosim.declare import Choice, Declared, ListOf, MapOf, Part, Quantity, Writer, key
from sorosim.declare.base import At, Define
from sorosim.errors import ModelError
from sorosim.model.basis import Strain
from sorosim.model.material import Material
from sorosim.model.rod import Division, MaterialOf
from sorosim.model.section import Circle, HollowCircle

# degree of bending and twist over a section, as Legendre polynomials
ORDER = 2
# two places closer than this, relative to the length of all, are one
MERGE = 1e-9


@dataclass(frozen=True)
class Curve(Declared, title="Curves of tubes"):
    """A piece of a tube that is curved where no load acts, about axes that turn with the tube."""

    label = "curve"

    length: float = key(Quantity("length", above=0.0), "Length.", "5 cm")
    _: KW_ONLY
    bending_y: float = key(Quantity("curvature"), "Curvature about y.", "12 1/m", default=0.0)
    bending_z: float = key(Quantity("curvature"), "Curvature about z.", "12 1/m", default=0.0)


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

    def curvature(self, distance: float) -> tuple[Any, Any]:
        """Curvature about y and z [1/m] at a distance from the tip [m] that is no mark."""
        for curve, far in zip(reversed(self.curves), self.marks[1:], strict=True):
            if distance < far.real:
                return curve.bending_y, curve.bending_z
        return 0.0, 0.0


class End(NamedTuple):
    """An end of a section: a mark of a tube, or the plate."""

    tube: int  # -1: the plate
    distance: Any  # from the tip of the tube [m]
    place: Any  # beyond the plate [m]

    def rates(self, sign: float) -> dict[int, float]:
        """What a length that ends here changes by with the insertion of each tube."""
        return {} if self.tube < 0 else {self.tube: sign}


class TubeSection(Division):
    """A section of concentric tubes, as a division of a rod: the frame is that of the innermost tube."""

    tubes: tuple[Tube, ...] = ()  # that are there, the outermost first

    @classmethod
    def of(cls, length: Any, tubes: tuple[Tube, ...]) -> TubeSection:
        """The section of a length where these tubes are."""
        outer, inner = tubes[0], tubes[-1]
        hole = inner.inner_radius
        section = HollowCircle(radius=outer.radius, inner_radius=hole) if hole else Circle(radius=outer.radius)
        strain = Strain(torsion=ORDER, bending=ORDER)
        made = {"length": length, "section": section, "material": outer.material, "strain": strain}
        out = cls.make(made | {"quadrature": ORDER + 1})
        out._set(tubes=tubes)
        return out

    def _sum(self, X: ArrayLike, line: Any) -> Array:
        total = np.array([sum(values) for values in zip(*map(line, self.tubes), strict=True)])
        return np.broadcast_to(total, (len(np.atleast_1d(np.asarray(X))), 6))

    def line_inertia(self, X: ArrayLike) -> Array:
        def line(tube: Tube) -> list[Any]:
            own = 2.0 * tube.moment, tube.moment, tube.moment, tube.area, tube.area, tube.area
            return [tube.material.density * part for part in own]

        return self._sum(X, line)

    def line_stiffness(self, X: ArrayLike) -> Array:
        def line(tube: Tube) -> list[Any]:
            E, G, A = tube.material.young, tube.material.shear_modulus, tube.area
            return [tube.twist_stiffness, tube.bending_stiffness, tube.bending_stiffness, E * A, G * A, G * A]

        return self._sum(X, line)

    def line_damping(self, X: ArrayLike) -> Array:
        def line(tube: Tube) -> list[Any]:
            eta, b, A = tube.material.damping, tube.material.stiffness_damping, tube.area
            stretch, shear = eta * 3.0 * A + b * tube.material.young * A, (eta + b * tube.material.shear_modulus) * A
            return [tube.twist_damping, tube.bending_damping, tube.bending_damping, stretch, shear, shear]

        return self._sum(X, line)


@dataclass(frozen=True)
class Tubes(Declared):
    """Concentric tubes by name, the outermost first; without friction between them.

    Where a tube is, the tubes inside of it are too. The frames of sections are those of the innermost tube, which
    reaches the tip. Behind the plate the tubes are straight.
    """

    tubes: Mapping[str, Tube] = key(MapOf(Part(Tube)), "The tubes by name, the outermost first.")

    def validate(self) -> None:
        if not self.tubes:
            raise ModelError("", "at least one tube", "none")
        for (a, outer), (b, inner) in pairwise(self.tubes.items()):
            if inner.radius.real >= outer.radius.real:
                got = f"'{b}' of {inner.radius.real:g} m after '{a}' of {outer.radius.real:g} m"
                raise ModelError(f"{b}.radius", "tubes in the order of their radii, the outermost first", got)
            if inner.radius.real > outer.inner_radius.real:
                got = f"{inner.radius.real:g} m in a hole of {outer.inner_radius.real:g} m"
                raise ModelError(f"{b}.radius", f"a tube that fits into '{a}'", got)
            if inner.insertion.real < outer.insertion.real * (1.0 - MERGE):
                expected = f"at least that of '{a}', {outer.insertion.real:g} m, in which it is"
                raise ModelError(f"{b}.insertion", expected, f"{inner.insertion.real:g} m")

    @property
    def names(self) -> tuple[str, ...]:
        """Names, the outermost first."""
        return tuple(self.tubes)

    @cached_property
    def members(self) -> tuple[Tube, ...]:
        """The tubes, the outermost first."""
        return tuple(self.tubes.values())

    @property
    def length(self) -> Any:
        """Length beyond the plate [m]."""
        return self.members[-1].insertion

    @property
    def mass(self) -> float:
        """Mass of what is beyond the plate [kg]."""
        return sum(section.mass for section in self.divisions)

    @property
    def spatial_inertia(self) -> Array:
        """Inertia (6, 6) of the plate, of the turning of what may be twisted behind it [kg m^2]."""
        out = np.zeros((6, 6), dtype=number_type())
        out[0, 0] = sum(2.0 * tube.material.density * tube.moment * tube.behind for tube in self.members)
        return out

    @property
    def materials(self) -> tuple[Material, ...]:
        """Of each tube."""
        return tuple(tube.material for tube in self.members)

    def with_materials(self, others: Mapping[int, Material]) -> Tubes:
        """The same of other materials, by the `id` of those that they replace."""
        made = {name: tube.changed(material=others.get(id(tube.material), tube.material))
                for name, tube in self.tubes.items()}  # fmt: skip
        return self.changed(tubes=made)

    @cached_property
    def marks(self) -> tuple[End, ...]:
        """All marks of all tubes and the plate, by their place beyond the plate, which may be negative."""
        marks = [End(-1, 0.0, 0.0)]
        for i, tube in enumerate(self.members):
            marks += [End(i, distance, tube.insertion - distance) for distance in tube.marks]
        return tuple(sorted(marks, key=lambda mark: mark.place.real))

    @cached_property
    def ends(self) -> tuple[End, ...]:
        """Ends of the sections, the plate first; of marks at one place the first."""
        near = MERGE * self.length.real
        ends = [End(-1, 0.0, 0.0)]
        for mark in self.marks:
            if mark.place.real > ends[-1].place.real + near:
                ends.append(mark)
        return tuple(ends)

    @cached_property
    def divisions(self) -> tuple[TubeSection, ...]:
        """The sections from the plate on."""
        return tuple(
            TubeSection.of(b.place - a.place, tuple(t for t in self.members if t.insertion.real > a.place.real
                                                    + 0.5 * (b.place - a.place).real))
            for a, b in pairwise(self.ends)
        )  # fmt: skip

    @property
    def starts(self) -> tuple[Any, ...]:
        """Place beyond the plate [m] at which each section starts."""
        return tuple(end.place for end in self.ends[:-1])

    def check_insertions(self, moves: Mapping[int, float]) -> None:
        """Refuse insertions, by how much more than in the file [m], that change which tubes are in which section."""
        near = MERGE * self.length.real
        for i, move in moves.items():
            tube, name = self.members[i], self.names[i]
            reach = (tube.insertion + move).real
            if not near < reach <= tube.length.real + near:
                expected = f"an insertion of more than 0 and at most its length, {tube.length.real:g} m"
                raise ModelError(f"{name}.insertion", expected, f"{reach:.6g} m")
        placed = [mark._replace(place=mark.place.real + moves.get(mark.tube, 0.0)) for mark in self.marks]
        for before, (a, b) in zip(pairwise(self.marks), pairwise(placed), strict=True):
            apart, now = before[1].place.real - before[0].place.real, b.place - a.place
            if abs(now) > near if apart <= near else now <= near:
                where = "at the same place as" if apart <= near else "beyond"
                expected, away = f"{self._words(b)} {where} {self._words(a)}", "before it" if now < 0.0 else "beyond it"
                hint = "give a file other insertions where tubes end, or curves begin, in another order"
                moved = b.tube if moves.get(b.tube) else a.tube
                raise ModelError(f"{self.names[moved]}.insertion", expected, f"{1e3 * abs(now):.4g} mm {away}", hint)

    def _words(self, mark: End) -> str:
        if mark.tube < 0:
            return "the plate"
        name = self.names[mark.tube]
        if not mark.distance:
            return f"the end of '{name}'"
        return f"the curve of '{name}' that begins {1e3 * mark.distance.real:.4g} mm before its end"

    @cached_property
    def block(self) -> TubeBlock:
        """The coordinates of all."""
        return TubeBlock(self)


class TubesOf(MapOf):
    """Concentric tubes, in a file the tubes by their names."""

    def __init__(self) -> None:
        super().__init__(Part(Tube))

    def read(self, value: Any, at: At) -> Any:
        if isinstance(value, Tubes):
            return value
        found = super().read(value, at)
        return at.attempt(lambda: Tubes.make({"tubes": found})) if isinstance(found, dict) else found

    def write(self, value: Any, writer: Writer) -> Any:
        return super().write(value.tubes, writer)

    def schema(self, define: Define) -> dict[str, Any]:
        return super().schema(define) | {"minProperties": 1}


class SectionColumns(NamedTuple):
    """Where the coordinates of a section stand in the block."""

    first: int  # those of its division: torsion and bending about y and z
    twist: dict[int, int]  # first one of the twist of each tube
    ends: tuple[tuple[int, float], ...]  # what its length changes by with each coordinate


class Rotor(NamedTuple):
    """A piece of tube that turns against its node by `slopes` times the coordinates of the block."""

    node: int
    inertia: Any  # about the axis [kg m^2]
    slopes: Array  # (n,)


class TubeBlock:
    """The coordinates of concentric tubes, all in one block, and the rows of their laws (`kernels.tubes`).

    First for each tube its rotation and insertion where it is held and, where it is twisted behind the plate, that
    twist. Then for each section the strains of the innermost tube, as of any division of a rod, and the twist of the
    others, the outermost first.
    """

    def __init__(self, tubes: Tubes) -> None:
        self.tubes = tubes
        self._angles: dict[tuple[int, int, bytes], Array] = {}  # those that were asked for, by tube, section and places
        frame, n = len(tubes.members) - 1, ORDER + 1
        self.names: list[str] = []
        self.dimensions: list[str] = []
        self.rows: list[tuple[int, int]] = []
        self.held: list[str] = []  # those that are driven, where nobody says how
        self.insertion: list[int] = []
        self.base: list[list[int]] = []  # coordinates whose sum is the angle of each tube at the plate
        for i, (name, tube) in enumerate(tubes.tubes.items()):
            about = (0, 1) if i == frame else (0, 0)
            self.base.append([len(self.rows)])
            self.insertion.append(len(self.rows) + 1)
            self._add([f"{name}.rotation", f"{name}.insertion"], ["angle", "length"], [about, (3, 4)])
            self.held += self.names[-2:]
            if tube.behind:
                self.base[i].append(len(self.rows))
                self._add([f"{name}.transmission"], ["angle"], [about])
        self.sections: list[SectionColumns] = []
        for k, ((a, b), division) in enumerate(zip(pairwise(tubes.ends), tubes.divisions, strict=True)):
            first, strain = len(self.rows), division.strain
            there = frame + 1 - len(division.tubes)  # the outermost that is there
            rows = [(int(r), int(r) + 1) for r in strain.rows]
            self._add([f"{k + 1}.{name}" for name in strain.names], ["angle"] * len(rows), rows)
            twist = {frame: first}
            for i in range(there, frame):
                twist[i] = len(self.rows)
                names = [f"{k + 1}.{tubes.names[i]}.torsion[{j}]" for j in range(n)]
                self._add(names, ["angle"] * n, [(0, 0)] * n)
            rates = {} if a.tube == b.tube else a.rates(-1.0) | b.rates(1.0)
            ends = tuple((self.insertion[i], rate) for i, rate in rates.items())
            self.sections.append(SectionColumns(first, twist, ends))
        self.n = len(self.rows)
        self._laws()

    def _add(self, names: list[str], dimensions: list[str], rows: list[tuple[int, int]]) -> None:
        self.names += names
        self.dimensions += dimensions
        self.rows += rows

    def _laws(self) -> None:
        """Rows of the laws, and the diagonals of stiffness and damping at the lengths of the file."""
        self.stretch: list[tuple[int, ...]] = []
        self.bend: list[tuple[int, ...]] = []
        self.damp: list[tuple[int, ...]] = []
        self.value: list[Any] = []
        self.index: list[int] = []
        self.stiffness = np.zeros(self.n, dtype=number_type())
        self.damping = np.zeros(self.n, dtype=number_type())
        tubes, modes = self.tubes, 1.0 / (2.0 * np.arange(ORDER + 1) + 1.0)  # integrals of squares of the polynomials
        for tube, base, insertion in zip(tubes.members, self.base, self.insertion, strict=True):
            if tube.behind:
                self._add_stretch(base[-1], tube.behind, [tube.twist_stiffness], ((insertion, -1.0),))
                self.damping[base[-1]] = tube.twist_damping / tube.behind
        points, weights = legendre.leggauss(ORDER + 3)
        points, weights = 0.5 * (points + 1.0), 0.5 * weights
        for k, (columns, division) in enumerate(zip(self.sections, tubes.divisions, strict=True)):
            bending = sum(tube.bending_stiffness for tube in division.tubes)
            twists = [tubes.members[i].twist_stiffness for i in columns.twist]
            own = [twists[0], bending, bending, *twists[1:]]
            stiffness = np.concatenate([s * modes for s in own])
            self._add_stretch(columns.first, division.length, stiffness, columns.ends)
            self._add_damping(k, modes, points, weights)
            basis = division.strain.functions("bending_y", points)
            middle = (tubes.ends[k].place + 0.5 * division.length).real
            for i in columns.twist:
                tube = tubes.members[i]
                curvature = np.array(tube.curvature(tube.insertion.real - middle))
                if not np.any(curvature):
                    continue
                angles = self.angles(i, k, points)
                turning = np.flatnonzero(angles.any(axis=0))
                for w, phi, angle in zip(weights, basis, angles[:, turning], strict=True):
                    row = columns.first + ORDER + 1, ORDER + 1, len(turning), len(self.value), len(self.index)
                    self.bend.append(row)
                    self.value += [*(w * tube.bending_stiffness * curvature), *phi, *angle]
                    self.index += list(turning)
        self._add_guards()

    def _add_damping(self, k: int, modes: Array, points: Array, weights: Array) -> None:
        """Damping of the bending and twist of section k, and of tubes that turn where it is bent."""
        columns, division = self.sections[k], self.tubes.divisions[k]
        bending = sum(tube.bending_damping for tube in division.tubes)
        twists = [self.tubes.members[i].twist_damping for i in columns.twist]
        values = np.concatenate([d * modes / division.length for d in (twists[0], bending, bending, *twists[1:])])
        self.damping[columns.first : columns.first + len(values)] = values
        basis = division.strain.functions("bending_y", points)
        for i in list(columns.twist)[1:]:
            damping, angles = self.tubes.members[i].bending_damping / division.length, self.angles(i, k, points)
            turning = np.flatnonzero(angles.any(axis=0))
            for w, phi, angle in zip(weights, basis, angles[:, turning] if damping else (), strict=False):
                row = columns.first + ORDER + 1, ORDER + 1, len(turning), len(self.value), len(self.index)
                self.damp.append(row)
                self.value += [w * damping, *phi, *angle]
                self.index += list(turning)

    def _add_guards(self) -> None:
        """Sections without stiffness that end where others may not pass: then their length is NaN, and so are forces.

        They are between marks at one place and behind the plate, and from the end of a tube to where it is held.
        """
        tubes, none, near = self.tubes, [0.0], MERGE * self.tubes.length.real
        first = self.sections[0].first
        for tube, insertion in zip(tubes.members, self.insertion, strict=True):
            self._add_stretch(first, tube.length - tube.insertion + near, none, ((insertion, -1.0),))
        for a, b in pairwise(tubes.marks):
            gap, rates = b.place - a.place, a.rates(-1.0) | b.rates(1.0)
            if a.tube == b.tube or (gap.real > near and a.place.real >= 0.0):
                continue
            for sign in (1.0,) if gap.real > near else (1.0, -1.0):
                ends = tuple((self.insertion[i], sign * rate) for i, rate in rates.items())
                self._add_stretch(first, gap + near, none, ends)

    def _add_stretch(self, first: int, length: Any, stiffness: Any, ends: tuple[tuple[int, float], ...]) -> None:
        self.stretch.append((first, len(stiffness), len(ends), len(self.value), len(self.index)))
        self.stiffness[first : first + len(stiffness)] += np.array(stiffness) / length
        self.value += [length, *stiffness, *(rate for _, rate in ends)]
        self.index += [column for column, _ in ends]

    def angles(self, i: int, k: int, x: Array) -> Array:
        """Rows (n_x, n): the angle of tube i from the innermost at x in [0, 1] of section k is their product with q."""
        if (known := self._angles.get((i, k, x.tobytes()))) is not None:
            return known
        out, frame = np.zeros((len(x), self.n)), len(self.base) - 1
        for tube, sign in ((i, 1.0), (frame, -1.0)):
            out[:, list(self.base[tube])] += sign
            out[:, [before.twist[tube] for before in self.sections[:k]]] += sign
            first = self.sections[k].twist[tube]
            out[:, first : first + ORDER + 1] += sign * _integrals(x)
        self._angles[i, k, x.tobytes()] = out
        return out

    def rotors(self, plate: int, nodes: IntArray, X: Array, weight: Array) -> list[Rotor]:
        """All rotors: of tubes behind the plate, a node, and of the outer ones at nodes at X with these weights [m]."""
        found, (points, weights) = [], legendre.leggauss(2)
        for tube, base in zip(self.tubes.members, self.base, strict=True):
            for x, w in zip(0.5 * (points + 1.0), 0.5 * weights * tube.behind, strict=True) if tube.behind else ():
                slopes = np.zeros(self.n)
                slopes[base] = 1.0, x
                found.append(Rotor(plate, 2.0 * tube.material.density * tube.moment * w, slopes))
        for k, (division, start) in enumerate(zip(self.tubes.divisions, self.tubes.starts, strict=True)):
            at = np.flatnonzero((start < X) & (start + division.length > X) & (weight > 0.0))
            for i in list(self.sections[k].twist)[1:]:
                tube, turns = self.tubes.members[i], self.angles(i, k, ((X[at] - start) / division.length).real)
                inertia = 2.0 * tube.material.density * tube.moment * weight[at]
                found += [Rotor(int(nodes[j]), J, turn) for j, J, turn in zip(at, inertia, turns, strict=True)]
        return found


def _integrals(x: Array) -> Array:
    """Integrals (n_x, ORDER + 1) of the polynomials of `Strain` from 0 to x: (P_{j+1} - P_{j-1})/(4 j + 2)."""
    values = legendre.legvander(2.0 * x - 1.0, ORDER + 1)
    before = np.concatenate([-np.ones((len(x), 1)), values[:, :ORDER]], axis=1)
    return np.asarray((values[:, 1:] - before) / (4.0 * np.arange(ORDER + 1) + 2.0))
