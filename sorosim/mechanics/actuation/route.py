"""Routes through rods, which tendons and chambers follow (docs/theory.md, 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.complex_step import number_type
from sorosim.base.declare import At, Declared, Formula, Integer, Part, key
from sorosim.base.declare.composite import PartsOrKeys
from sorosim.base.declare.handle import Handle, Y, Z
from sorosim.base.errors import ModelError, nearest
from sorosim.base.registry import SECTIONS
from sorosim.base.signals.expressions import Expression
from sorosim.mechanics.actuation.base import DeclaredActuator
from sorosim.mechanics.kernels import rod_actuators as kernel
from sorosim.mechanics.model.layout import MERGE, Layout, LinkLayout, Piece
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.profile import place_jets
from sorosim.mechanics.model.rod import Rod
from sorosim.mechanics.model.section import Void
from sorosim.mechanics.model.span import RodName, check_span, end_key, start_key
from sorosim.mechanics.model.tubes import Tubes

# variables of a route beside the sizes of the section: arclength, fraction and length of the rod, radius there
PLACE_VARIABLES = ("X", "s", "L")
RADIUS = "r"
ACROSS = 1e-6  # of the length of a rod: so far a route may step across between two stretches, by rounding in a file
MIDDLES = (np.arange(128) + 0.5) / 128.0  # of pieces of a division, where the turn of a route is sampled


def place_values(where: str, value: Expression, layout: LinkLayout, piece: Piece, X: Array) -> Array:
    """Jets (n, 3) by X of an expression of place and of the section's sizes, at arclengths X (n,) in a division."""
    rod = layout.link.rod
    assert rod is not None  # for the type checker: callers have checked it
    known = place_jets(X, rod.length)
    sizes = piece.division.section.size_jets(X - piece.start, piece.division.length)
    known |= sizes
    if "radius" in sizes:
        known[RADIUS] = sizes["radius"]
    missing = [name for name in value.used if name not in known]
    if missing:
        expected, got = "an expression of " + ", ".join(known), f"the variable '{missing[0]}'"
        raise ModelError(where, expected, got, nearest(missing[0], known))
    # an expression of no variables does not know n
    jets = value.jets(**{name: known[name] for name in value.used})
    return np.broadcast_to(jets, (len(X), 3)).copy()


def variables() -> tuple[str, ...]:
    """Variables of a route: place, the radius of a round section, and the sizes of all sections."""
    sizes = {name for kind in SECTIONS.declared().values() for name in kind.size_names}
    return (*PLACE_VARIABLES, RADIUS, *sorted(sizes))


@dataclass(frozen=True)
class SectionFormula(Formula):
    """A quantity, or an expression of place and of the sizes of a section."""

    variables: tuple[str, ...] = ()

    def read(self, value: object, at: At) -> Any:
        return Formula(self.dimension, variables(), above=self.above).read(value, at)


@dataclass(frozen=True)
class RouteSegment(Declared, title="Ways through rods"):
    """The part of a tendon that runs through one rod."""

    rod: str = key(RodName(), "Name of the link that it runs through.", "arm")
    _: KW_ONLY
    y: float | Expression | None = key(
        SectionFormula("length"),
        "Place in the section. Expressions may use X, s = X/L and L, of the whole rod, not of a division, the radius r "
        "and the sizes of the section, and functions such as min, max, cos.", "0", default=None,
        without="required, but with `hole`",
    )  # fmt: skip
    z: float | Expression | None = key(
        SectionFormula("length"), "As y.", "1 cm*cos(2*pi*s)", default=None, without="required, but with `hole`"
    )
    hole: int | None = key(
        Integer(0, 10_000), "In place of y and z: a hole of the section, counted from 0, copies one after the other.",
        "0", default=None, without="none",
    )  # fmt: skip
    start: float = start_key()
    end: float = end_key()
    handles = (Handle(y=Y, z=Z),)

    def validate(self) -> None:
        check_span(self)
        for name in ("y", "z"):
            if (getattr(self, name) is None) == (self.hole is None):
                got = "nothing" if self.hole is None else "both"
                expected = f"the key '{name}'" if self.hole is None else f"{name} or hole, one of them"
                raise ModelError(name, expected, got, f"for instance {name}: 1 cm" if self.hole is None else "")

    def void(self, piece: Piece) -> Void:
        """The hole through which it runs in a division."""
        voids = getattr(piece.division.section, "voids", ())
        assert self.hole is not None  # for the type checker: callers ask
        if self.hole >= len(voids):
            there = f"it has {len(voids)}, from 0 on" if voids else "it has none"
            raise ModelError("hole", f"a hole of the section of rod '{self.rod}'", f"number {self.hole}", there)
        return voids[self.hole]  # type: ignore[no-any-return]

    def route(self, layout: LinkLayout, piece: Piece, X: Array) -> tuple[Array, Array]:
        """Route d = [0, y, z] and slope d' = dd/dX, each (n, 3), at arclengths X (n,) of the rod inside a division."""
        d, slope = np.zeros((2, len(X), 3), dtype=number_type())
        if self.hole is not None:
            d[:, 1:] = self.void(piece).centre
            return d, slope
        for axis, value in ((1, self.y), (2, self.z)):
            if not isinstance(value, Expression):
                d[:, axis] = value
                continue
            jets = place_values(f"tendon.{'xyz'[axis]}", value, layout, piece, X)
            d[:, axis], slope[:, axis] = jets[:, 0], jets[:, 1]
        if not (np.isfinite(d).all() and np.isfinite(slope).all()):
            raise ModelError("tendon", "a route with finite places and slopes", f"none on rod '{self.rod}'")
        return d, slope

    def turn(self, layout: LinkLayout, piece: Piece) -> float:
        """How far it turns in a division [rad]: its way across the section by its largest distance from the axis."""
        d = self.route(layout, piece, np.asarray(piece.start + piece.division.length * MIDDLES))[0].real
        way, farthest = np.linalg.norm(np.diff(d, axis=0), axis=1).sum(), np.linalg.norm(d, axis=1).max()
        return float(way / farthest) if farthest > 0.0 else 0.0


@dataclass(frozen=True)
class RoutedActuator(DeclaredActuator):
    """An actuator along a way through rods."""

    is_one_piece: ClassVar[bool] = True  # whether the rods have to follow each other
    path: tuple[RouteSegment, ...] = key(
        PartsOrKeys(Part(RouteSegment), "one rod or several"),
        "Stretches from base to tip, through rods each of which is fixed to the one before, or through one rod, each "
        "going on where the one before ends; rods of chambers may be apart.",
        "[{rod: arm, y: 0, z: 1 cm}]",
    )

    alternatives = ((("rod", "y", "z"), "path"),)

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        others = [name for name in data if name in RouteSegment.key_names()]
        if "path" in data and others:
            known = [name for name in cls.key_names() if name not in RouteSegment.key_names()]
            got, hint = "also " + ", ".join(others)[:60], "each entry of path has its own"
            raise ModelError("", f"the keys {', '.join(known)}", got, hint)

    @property
    def rods(self) -> Sequence[str]:
        """The rods it runs through."""
        return [run.rod for run in self.path]

    def check(self, layout: Layout) -> None:
        """Refuse runs that do not fit the robot, or do not follow each other."""
        for run in self.path:
            rod_of(f"{self.kind}.rod", run.rod, layout).spanned(self.kind, run.start, run.end)
        for before, after in pairwise(self.path if self.is_one_piece else ()):
            if before.rod == after.rod:
                self._check_goes_on(layout.links[before.rod], before, after)
                continue
            whole = before.end > 1.0 - MERGE and after.start < MERGE
            if not whole or not _rigidly_follows(layout, before.rod, after.rod):
                expected = f"rod '{after.rod}' fixed to the tip of rod '{before.rod}'"
                hint = f"a {self.kind} may pass from rod to rod over fixed joints only"
                raise ModelError(self.kind, expected, "another connection", hint)

    def _check_goes_on(self, link: LinkLayout, before: RouteSegment, after: RouteSegment) -> None:
        """Refuse two stretches in one rod that leave a gap, or a step across."""
        if abs(before.end - after.start) > MERGE:
            got = f"one that ends at {before.end:g} and one that begins at {after.start:g}"
            raise ModelError(self.kind, f"stretches in rod '{after.rod}' that go on from each other", got)
        X = np.array([after.start * link.X[-1]])
        last = max((one for one in link.pieces if one.start < X[0] * (1.0 - MERGE)), key=lambda one: one.start)
        first = next(one for one in reversed(link.pieces) if one.start <= X[0] * (1.0 + MERGE))
        step = before.route(link, last, X)[0] - after.route(link, first, X)[0]
        apart = float(np.linalg.norm(step.real))
        if apart > ACROSS * link.X[-1]:
            expected = f"stretches that meet at s = {after.start:g} of rod '{after.rod}'"
            raise ModelError(self.kind, expected, f"a step of {1e3 * apart:.3g} mm across")

    def segments_in(self, link: LinkLayout, piece: Piece) -> list[RouteSegment]:
        """The runs that pass a division."""
        assert link.link.rod is not None  # for the type checker
        middle = (piece.start + 0.5 * piece.division.length) / link.link.rod.length
        return [run for run in self.path if run.rod == link.link.name and run.start < middle < run.end]


def with_points_for_routes(actuators: Iterable[object], layout: Layout) -> tuple[Link, ...]:
    """The links, their rods with Gauss points for routes that wind where no `quadrature` is named."""
    routed = [actuator for actuator in actuators if isinstance(actuator, RoutedActuator)]
    return tuple(_with_points(routed, layout_of_link) for layout_of_link in layout.links.values())


def _with_points(routed: Sequence[RoutedActuator], layout: LinkLayout) -> Link:
    body = layout.link.body
    if not isinstance(body, Rod):
        return layout.link
    more: dict[int, int] = {}
    for i, piece in enumerate(layout.pieces):
        runs = (run for actuator in routed for run in actuator.segments_in(layout, piece))
        if piece.division.quadrature is None and (turn := max((run.turn(layout, piece) for run in runs), default=0.0)):
            n = piece.division.default_points(turn)
            more |= {i: n} if n > piece.division.n_gauss else {}
    if not more:
        return layout.link
    pieces = (d.changed(quadrature=more[i]) if i in more else d for i, d in enumerate(body.divisions))
    return layout.link.changed(body=body.changed(divisions=tuple(pieces)))


def route_values(route: tuple[Array, Array], gain: Any) -> Array:
    """Values (n, 15) of rows of a route and its slope."""
    out = np.zeros((len(route[0]), kernel.N_ROW_VALUES), dtype=number_type())
    out[:, kernel.GAIN] = gain
    for at, vector in zip((kernel.ROUTE, kernel.SLOPE), route, strict=True):
        out[:, at : at + 3] = vector
    return out


def route_stretch(d: Array, slope: Array, xi: Array) -> Array:
    """Length of a route by length of its rod (n,), d and its slope (n, 3), at strains xi (n, 6)."""
    v = xi[:, 3:] + np.cross(xi[:, :3], d) + slope
    return np.asarray(np.sqrt(np.einsum("ki,ki->k", v, v)))


def rod_of(where: str, name: str, layout: Layout) -> LinkLayout:
    """The layout of a rod by name."""
    link = layout.links.get(name)
    if link is None or link.link.rod is None:
        rods = [other for other, its in layout.links.items() if its.link.rod is not None]
        raise ModelError(where, "the name of a link with a rod", f"'{name}'", nearest(name, rods))
    if isinstance(link.link.body, Tubes):
        raise ModelError(where, "a rod, for actuators inside", f"the concentric tubes '{name}'")
    return link


def _rigidly_follows(layout: Layout, before: str, after: str) -> bool:
    """Whether the base of `after` is fixed to the tip of `before`, over fixed joints and rigid links only."""
    name = after
    while True:
        link = layout.links[name].link
        if link.joint.kind != "fixed" or link.parent not in layout.links:
            return False
        if link.parent == before:
            return link.s == 1.0
        if layout.links[link.parent].link.rod is not None:
            return False
        name = link.parent
