"""Concentric tubes: one centreline where they overlap, each tube with a twist, curves and insertion of its own.

The tubes are cut into sections where one of them ends, or a curve of one begins. All sections are one block of the tree
of segments, whose coordinates `TubeBlock` lists (docs/theory.md, 20).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array, IntArray
from sorosim.base.compiled import table
from sorosim.base.complex_step import number_type
from sorosim.base.declare import Declared, MapOf, Part, Writer, key
from sorosim.base.declare.base import At, Define
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels.tubes import BENDING, ROTOR, STRETCH, TUBE_DAMPING, TubeLaws
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division
from sorosim.mechanics.model.section import Circle, HollowCircle
from sorosim.mechanics.model.tube import MERGE, Tube

# degree of bending and twist over a section, as Legendre polynomials
ORDER = 2


class Mark(NamedTuple):
    """Where a tube ends or one of its curves begins, or the plate."""

    tube: int  # -1: the plate
    distance: Any  # from the tip of the tube [m]
    place: Any  # beyond the plate [m]


class End(NamedTuple):
    """An end of a section."""

    place: Any  # beyond the plate [m]
    rates: Array  # (n_tubes,) by the insertion of each tube


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
    def marks(self) -> tuple[Mark, ...]:
        """All marks of all tubes and the plate, by their place beyond the plate, which may be negative."""
        marks = [Mark(-1, 0.0, 0.0)]
        for i, tube in enumerate(self.members):
            marks += [Mark(i, distance, tube.insertion - distance) for distance in tube.marks]
        return tuple(sorted(marks, key=lambda mark: mark.place.real))

    @cached_property
    def ends(self) -> tuple[End, ...]:
        """Ends of the sections, the plate first: marks, of those at one place the first, and equal parts between."""
        near, each = MERGE * self.length.real, np.eye(len(self.members))
        ends = [End(0.0, 0.0 * each[0])]
        for mark in self.marks:
            last = ends[-1]
            if mark.place.real <= last.place.real + near:
                continue
            middle, new = 0.5 * (last.place + mark.place).real, End(mark.place, each[mark.tube])
            curves = (tube.curve(middle) for tube in self.members if tube.insertion.real > middle)
            n = max((found[0].sections for found in curves if found), default=1)
            ends += [End(*((1.0 - part) * a + part * b for a, b in zip(last, new, strict=True)))
                     for part in np.arange(1, n) / n]  # fmt: skip
            ends.append(new)
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

    def _words(self, mark: Mark) -> str:
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
    section: int  # whose length its inertia follows, as a row of `TubeBlock.stretch`
    inertia: Any  # about the axis, in the file [kg m^2]
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
            self.sections.append(SectionColumns(first, twist, self._insertion_rates(b.rates - a.rates)))
        self.n = len(self.rows)
        self._laws()

    def _add(self, names: list[str], dimensions: list[str], rows: list[tuple[int, int]]) -> None:
        self.names += names
        self.dimensions += dimensions
        self.rows += rows

    def _insertion_rates(self, rates: Array) -> tuple[tuple[int, float], ...]:
        """Coordinates that change a length of these rates by insertions, and by how much each."""
        return tuple((column, float(rate)) for column, rate in zip(self.insertion, rates, strict=True) if rate)

    def _laws(self) -> None:
        """Rows of the laws, and the diagonals of stiffness and damping at the lengths of the file."""
        self.stretch: list[tuple[int, ...]] = []
        self.bend: list[tuple[int, ...]] = []
        self.damp: list[tuple[int, ...]] = []
        self.value: list[Any] = []
        self.index: list[int] = []
        self.stiffness = np.zeros(self.n, dtype=number_type())
        self.damping = np.zeros(self.n, dtype=number_type())
        tubes = self.tubes
        modes = np.asarray(1.0 / (2.0 * np.arange(ORDER + 1) + 1.0))  # integrals of squares of the polynomials
        for columns, division in zip(self.sections, tubes.divisions, strict=True):
            bending = sum(tube.bending_stiffness for tube in division.tubes)
            twists = [tubes.members[i].twist_stiffness for i in columns.twist]
            stiffness = np.concatenate([s * modes for s in [twists[0], bending, bending, *twists[1:]]])
            self._add_stretch(columns.first, division.length, stiffness, columns.ends)
        for tube, base, insertion in zip(tubes.members, self.base, self.insertion, strict=True):
            if tube.behind:
                self._add_damping(base[-1], np.array([tube.twist_damping]) / tube.behind, len(self.stretch))
                self._add_stretch(base[-1], tube.behind, [tube.twist_stiffness], ((insertion, -1.0),))
        for k, (columns, division) in enumerate(zip(self.sections, tubes.divisions, strict=True)):
            bending = sum(tube.bending_damping for tube in division.tubes)
            twists = [tubes.members[i].twist_damping for i in columns.twist]
            damping = np.concatenate([d * modes for d in (twists[0], bending, bending, *twists[1:])])
            self._add_damping(columns.first, damping / division.length, k)
            for i in list(columns.twist)[1:]:
                self._add_turn_damping(i, k)
            for i in columns.twist:
                self._add_bend(i, k)
        self._add_guards()

    def _add_bend(self, i: int, k: int) -> None:
        """Rows of the Gauss points of tube i in section k, if it is curved there."""
        tube, (a, b), columns = self.tubes.members[i], self.tubes.ends[k : k + 2], self.sections[k]
        division = self.tubes.divisions[k]
        if (found := tube.curve(0.5 * (a.place + b.place).real)) is None or not found[0].curvatures.any():
            return
        (curve, begin), n = found, ORDER + 1
        x, weights = _gauss_points()
        angles = self.angles(i, k, x)
        turning, basis = np.flatnonzero(angles.any(axis=0)).tolist(), division.strain.functions("bending_y", x)
        for at, w, phi, angle in zip(x, weights, basis, angles[:, turning], strict=True):
            # how far beyond the begin of the curve: the place less that of the begin
            place, rates = (1.0 - at) * a.place + at * b.place, (1.0 - at) * a.rates + at * b.rates
            rates = rates - np.eye(len(rates))[i]
            slides = self._insertion_rates(rates) if curve.changes else ()
            moving = [rate for _, rate in slides]
            ustar, slope = w * tube.bending_stiffness * np.array(curve.curvature(place - begin))
            row = columns.first + n, n, len(turning) + len(slides), len(slides), len(self.value), len(self.index)
            self.bend.append(row)
            self.value += [*ustar, *phi, *angle, *(curve.torsion * rate for rate in moving)]
            self.value += [*slope, *moving] if slides else []
            self.index += [*turning, *(column for column, _ in slides)]

    def _add_damping(self, first: int, damping: Array, section: int) -> None:
        """Damping at the length of the file of coordinates that begin with `first`, and the row of its section."""
        self.damping[first : first + len(damping)] = damping
        if damping.any():
            self.damp.append((first, len(damping), 0, section, len(self.value), len(self.index)))
            self.value += list(damping)

    def _add_turn_damping(self, i: int, k: int) -> None:
        """Damping of tube i that turns where section k is bent."""
        (points, weights), division = _gauss_points(), self.tubes.divisions[k]
        damping, angles = self.tubes.members[i].bending_damping / division.length, self.angles(i, k, points)
        turning, basis = np.flatnonzero(angles.any(axis=0)), division.strain.functions("bending_y", points)
        for w, phi, angle in zip(weights, basis, angles[:, turning], strict=True) if damping else ():
            first, n = self.sections[k].first + ORDER + 1, ORDER + 1
            self.damp.append((first, n, len(turning), k, len(self.value), len(self.index)))
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
            gap, ends = b.place - a.place, [(mark.tube, rate) for mark, rate in ((a, -1.0), (b, 1.0)) if mark.tube >= 0]
            if a.tube == b.tube or (gap.real > near and a.place.real >= 0.0):
                continue
            for sign in (1.0,) if gap.real > near else (1.0, -1.0):
                moved_by = tuple((self.insertion[i], sign * rate) for i, rate in ends)
                self._add_stretch(first, gap + near, none, moved_by)

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

    def at_node(self, k: int, x: Any, weight: Any) -> tuple[Array, list[int]]:
        """What `Tree.inserted` has, in `flow` and in `local`, of a node at x in [0, 1] of section k; weight [m].

        The mass is that of all tubes; loads per length act on the innermost one, whose rates past the node are last.
        """
        (a, b), division = self.tubes.ends[k : k + 2], self.tubes.divisions[k]
        mass = weight * sum(tube.material.density * tube.area for tube in division.tubes)
        basis = division.strain.functions("bending_y", np.array([x]))[0]
        past = np.eye(len(a.rates))[-1] - (1.0 - x) * a.rates - x * b.rates
        return np.array([division.length, mass, *basis, *(b.rates - a.rates), *past]), [
            *self.insertion,
            self.sections[k].first,
        ]

    def rotors(self, plate: int, nodes: IntArray, X: Array, weight: Array) -> list[Rotor]:
        """All rotors: of tubes behind the plate, a node, and of the outer ones at nodes at X with these weights [m]."""
        found, (points, weights), section = [], legendre.leggauss(2), len(self.sections)
        for tube, base in zip(self.tubes.members, self.base, strict=True):
            for x, w in zip(0.5 * (points + 1.0), 0.5 * weights * tube.behind, strict=True) if tube.behind else ():
                slopes = np.zeros(self.n)
                slopes[base] = 1.0, x
                found.append(Rotor(plate, section, 2.0 * tube.material.density * tube.moment * w, slopes))
            section += 1 if tube.behind else 0
        for k, (division, start) in enumerate(zip(self.tubes.divisions, self.tubes.starts, strict=True)):
            at = np.flatnonzero((start < X) & (start + division.length > X) & (weight > 0.0))
            for i in list(self.sections[k].twist)[1:]:
                tube, turns = self.tubes.members[i], self.angles(i, k, ((X[at] - start) / division.length).real)
                inertia = 2.0 * tube.material.density * tube.moment * weight[at]
                found += [Rotor(int(nodes[j]), k, J, turn) for j, J, turn in zip(at, inertia, turns, strict=True)]
        return found


def _gauss_points() -> tuple[Array, Array]:
    """Places in [0, 1] and weights at which precurvature and damping of a section are taken."""
    points, weights = legendre.leggauss(ORDER + 3)
    return 0.5 * (points + 1.0), 0.5 * weights


def _integrals(x: Array) -> Array:
    """Integrals (n_x, ORDER + 1) of the polynomials of `Strain` from 0 to x: (P_{j+1} - P_{j-1})/(4 j + 2)."""
    values = legendre.legvander(2.0 * x - 1.0, ORDER + 1)
    before = np.concatenate([-np.ones((len(x), 1)), values[:, :ORDER]], axis=1)
    return np.asarray((values[:, 1:] - before) / (4.0 * np.arange(ORDER + 1) + 2.0))


def tube_laws(blocks: list[tuple[int, TubeBlock]], rotors: list[tuple[int, Rotor]]) -> TubeLaws:
    """Laws of the concentric tubes of a tree, and rotors, by the numbers of their blocks."""
    tables: list[list[tuple[int, ...]]] = [[], [], [], []]
    value: list[Any] = []
    index: list[int] = []
    for b, block in blocks:
        first = len(tables[0])
        damp = [(*row[:3], first + row[3], *row[4:]) for row in block.damp]
        for packed, rows in zip(tables, (block.stretch, block.bend, damp), strict=False):
            packed += [(b, *row[:-2], row[-2] + len(value), row[-1] + len(index)) for row in rows]
        value += block.value
        index += block.index
        for node, section, inertia, slopes in (rotor for own, rotor in rotors if own == b):
            turning = np.flatnonzero(slopes)
            tables[3].append((node, b, first + section, len(turning), len(value), len(index)))
            value += [inertia, *slopes[turning]]
            index += list(turning)
    arrays = [table(kind, rows) for kind, rows in zip((STRETCH, BENDING, TUBE_DAMPING, ROTOR), tables, strict=True)]
    arrays += [np.array(value, dtype=number_type()), np.array(index, dtype=np.int64)]
    return TubeLaws._make(arrays)
