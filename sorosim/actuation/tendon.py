"""Tendons: pulled strings on free routes through one or several rods (docs/theory.md, 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.door import describe
from sorosim.errors import ModelError, nearest
from sorosim.expressions import Expression
from sorosim.kernels.forces import Tendons
from sorosim.model.compile import Layout, LinkLayout, Piece
from sorosim.model.material import real_number
from sorosim.model.profile import place_jets

Array = NDArray[np.float64]

# variables of a route beside the sizes of the section: arclength, fraction and length of the rod, radius there
PLACE_VARIABLES = ("X", "s", "L")
RADIUS = "r"
# a tendon's ends must lie on division boundaries to this part of the rod's length
END_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Run:
    """The part of a tendon that runs through one rod.

    Parameters
    ----------
    rod : str
        Name of the link.
    y, z : float or Expression
        Position of the tendon in the section's frame [m]; an Expression may use X (arclength on the rod [m]), L (length
        of the rod), s = X/L, r (radius of a round section at X) and the section's own sizes by name.
    start, end : float
        From where to where, as fractions of the rod's length; boundaries of its divisions.
    """

    rod: str
    _: KW_ONLY
    y: float | Expression
    z: float | Expression
    start: float = 0.0
    end: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.rod, str):
            raise ModelError("tendon.rod", "the name of a link with a rod", describe(self.rod))
        for name in ("y", "z"):
            value = getattr(self, name)
            if not isinstance(value, Expression):
                value = real_number(f"tendon.{name}", value, "a number [m] or an Expression")
                object.__setattr__(self, name, value)
        for name in ("start", "end"):
            value = real_number(f"tendon.{name}", getattr(self, name), "a fraction from 0 to 1", least=0.0, upto=1.0)
            object.__setattr__(self, name, value)
        if not self.start < self.end:
            raise ModelError("tendon.end", f"a fraction above start = {self.start:g}", f"{self.end:g}")

    def route(self, layout: LinkLayout, piece: Piece, X: Array) -> tuple[Array, Array]:
        """Route d = [0, y, z] and slope d' = dd/dX, each (n, 3), at arclengths X (n,) of the rod inside a division."""
        rod = layout.link.rod
        assert rod is not None  # for the type checker: bind looked
        known = place_jets(X, rod.length)
        sizes = piece.division.section.size_jets(X - piece.start, piece.division.length)
        known |= sizes
        if "radius" in sizes:
            known[RADIUS] = sizes["radius"]
        d, slope = np.zeros((len(X), 3)), np.zeros((len(X), 3))
        for axis, value in ((1, self.y), (2, self.z)):
            if not isinstance(value, Expression):
                d[:, axis] = value
                continue
            missing = [name for name in value.used if name not in known]
            if missing:
                expected, got = "an expression of " + ", ".join(known), f"the variable '{missing[0]}'"
                raise ModelError(f"tendon.{'xyz'[axis]}", expected, got, nearest(missing[0], known))
            jets = value.jets(**{name: known[name] for name in value.used})
            d[:, axis], slope[:, axis] = jets[:, 0], jets[:, 1]
        if not (np.isfinite(d).all() and np.isfinite(slope).all()):
            raise ModelError("tendon", "a route with finite places and slopes", f"none on rod '{self.rod}'")
        return d, slope


@dataclass(frozen=True)
class Tendon:
    """A string that is pulled with a tension; its input is that tension, positive in pull [N].

    Parameters
    ----------
    runs : sequence of Run
        The rods it runs through, from base to tip. Between two rods it must pass rigid ground only: the next rod is
        fixed, directly or through fixed rigid links, to the tip of the one before.
    """

    runs: tuple[Run, ...]

    def __post_init__(self) -> None:
        given: Any = self.runs
        if isinstance(given, Run):
            given = (given,)
        if not isinstance(given, Sequence) or not given or not all(isinstance(run, Run) for run in given):
            raise ModelError("tendon", "one Run or several", describe(given))
        object.__setattr__(self, "runs", tuple(given))

    def check(self, layout: Layout) -> None:
        """Refuse routes that do not fit the robot."""
        for run in self.runs:
            link = layout.links.get(run.rod)
            if link is None or link.link.rod is None:
                rods = [name for name, other in layout.links.items() if other.link.rod is not None]
                raise ModelError("tendon.rod", "the name of a link with a rod", f"'{run.rod}'", nearest(run.rod, rods))
            length = link.link.rod.length
            boundaries = [piece.start / length for piece in link.pieces] + [1.0]
            for name in ("start", "end"):
                value = getattr(run, name)
                if min(abs(value - b) for b in boundaries) > END_TOLERANCE:
                    shown = ", ".join(f"{b:g}" for b in boundaries)
                    expected = f"a boundary of the divisions of rod '{run.rod}' ({shown})"
                    raise ModelError(f"tendon.{name}", expected, f"{value:g}", "cut the rod into divisions there")
        for before, after in zip(self.runs, self.runs[1:], strict=False):
            whole = before.end > 1.0 - END_TOLERANCE and after.start < END_TOLERANCE
            if not whole or not _rigidly_follows(layout, before.rod, after.rod):
                expected = f"rod '{after.rod}' fixed to the tip of rod '{before.rod}'"
                hint = "a tendon may pass from rod to rod over fixed joints only"
                raise ModelError("tendon", expected, "another connection", hint)


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


def compile_tendons(tendons: Mapping[int, Tendon], layout: Layout) -> Tendons:
    """Pack tendons, by actuator index, at the Gauss points of their rods; points in order, so that each comes once."""
    rows: list[tuple[int, int, int, int]] = []
    values: list[Array] = []
    basis: list[Array] = []
    size = point = 0
    for link in layout.links.values():
        runs = [(i, run) for i, tendon in tendons.items() for run in tendon.runs if run.rod == link.link.name]
        if not runs or link.link.rod is None:
            continue
        length = link.link.rod.length
        for piece in link.pieces:
            middle = (piece.start + 0.5 * piece.division.length) / length
            here = [(i, run) for i, run in runs if run.start < middle < run.end]
            inside = (piece.start < link.X) & (piece.start + piece.division.length > link.X) & (link.weight > 0.0)
            if not here:
                continue
            X, w = link.X[inside], link.weight[inside]
            P = piece.division.basis(X - piece.start)
            xi = piece.division.reference.values(X - piece.start, piece.division.length)
            routes = [(i, *run.route(link, piece, X)) for i, run in here]
            for k in range(len(X)):
                for i, d, slope in routes:
                    rows.append((i, piece.block, size, point))
                    values.append(np.concatenate([[w[k]], d[k], slope[k], xi[k]]))
                basis.append(P[k].ravel())
                size += P[k].size
                point += 1
    return Tendons(
        np.array(rows, dtype=np.int64).reshape(-1, 4),
        np.array(values).reshape(-1, 13),
        np.concatenate([np.zeros(0), *basis]),
    )
