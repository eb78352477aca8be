"""The result of a continuation: a curve of equilibria with its special points and branches."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.branching.rest import Rest
from sorosim.branching.ways import Way, unit_of
from sorosim.errors import ConvergenceError, InputError
from sorosim.linear.growth import Growth
from sorosim.results.result import Equilibrium
from sorosim.robot import Robot
from sorosim.solvers.base import one_blas_thread
from sorosim.solvers.curve import Curve, Place
from sorosim.solvers.special import BRANCH, FLUTTER, FOLD, STABILITY
from sorosim.validation import number

Array = NDArray[np.float64]

KINDS = (FOLD, BRANCH, FLUTTER, STABILITY)
# equilibria at the same parameter that are nearer to each other than this are one
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A fold, a branch point, or where equilibria lose or regain their stability."""

    kind: str  # "fold", "branch", "flutter" (an oscillation begins or ends to grow), "stability" (any other change)
    parameter: float
    q: Array  # (ndof,)
    arclength: float
    row: int  # it is between this row of the curve and the next
    tangent: Array  # (ndof + 1,) of the curve: coordinates and parameter
    directions: Array  # (k, ndof + 1) of other branches
    before: Growth  # motions that grow before and after it
    after: Growth
    frequency: float = 0.0  # of flutter [Hz]
    oscillation: NDArray[np.complex128] | None = None  # (ndof,) mode of flutter

    @property
    def mode(self) -> Array:
        """How the robot moves there (ndof,): along the curve at a fold, along a branch, or as it flutters."""
        if self.oscillation is not None:
            return np.asarray(self.oscillation.real)
        return (self.directions[0] if len(self.directions) else self.tangent)[:-1]

    def __repr__(self) -> str:
        return f"<{self.kind} at {self.parameter:.6g}>"


@dataclass(frozen=True, eq=False)
class Continuation:
    """Equilibria along a curve."""

    robot: Robot
    along: tuple[str, ...]  # names of what changes
    origin: Array  # (k,) their values at parameter 0
    slope: Array  # (k,) and how they change with it
    parameter: Array  # (n,)
    arclength: Array  # (n,) of coordinates and parameter, both scaled, see `continuation`
    q: Array  # (n, ndof)
    u: Array  # (n, n_actuators)
    lam: Array  # (n, n_multipliers) of loops
    driven: dict[str, Array]  # name of a driven coordinate -> (n,) generalised force that it needs
    buckling: NDArray[np.int64]  # (n,) motions that grow without oscillating
    flutter: NDArray[np.int64]  # (n,) oscillations that grow
    points: tuple[SpecialPoint, ...]
    message: str
    complete: bool  # whether it ends where it was asked to, or at its start
    options: dict[str, Any]
    branches: tuple[Continuation, ...] = ()
    held: dict[str, float] = field(default_factory=dict)  # driven coordinates and their values, unless they change

    def __getstate__(self) -> dict[str, Any]:  # what is computed from the rest is made anew
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __len__(self) -> int:
        return len(self.parameter)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether small motions about the equilibria stay small (n,)."""
        self._look_at_stability()
        return np.asarray(self.unstable == 0)

    @property
    def unstable(self) -> NDArray[np.int64]:
        """Number (n,) of eigenvalues of the motion with positive real parts, a growing oscillation has two."""
        self._look_at_stability()
        return self.buckling + 2 * self.flutter

    @property
    def kind(self) -> tuple[str, ...]:
        """Each equilibrium in a word (n,): stable, buckling, flutter, or unknown, if nobody looked."""
        if not self.options["stability"]:
            return ("unknown",) * len(self)
        return tuple(
            "flutter" if f else "buckling" if b else "stable"
            for b, f in zip(self.buckling, self.flutter, strict=True)
        )  # fmt: skip

    def _look_at_stability(self) -> None:
        if not self.options["stability"]:
            raise InputError("stability", "a continuation with stability=True", "one without")

    @property
    def folds(self) -> tuple[SpecialPoint, ...]:
        """Points where the parameter turns back: limit loads."""
        return tuple(point for point in self.points if point.kind == FOLD)

    def values(self, name: str | None = None) -> Array:
        """Values (n,) of what changes, by its name; default: the only or first one."""
        if name is not None and name not in self.along:
            raise InputError("name", " or ".join(self.along), f"'{name}'")
        k = self.along.index(name) if name else 0
        return np.asarray(self.origin[k] + self.slope[k] * self.parameter)

    @cached_property
    def units(self) -> dict[str, str]:
        """SI unit of each thing that changes, "" of plain numbers."""
        return {name: unit_of(self.robot, name) for name in self.along}

    def positions(self, link: str | None = None, s: float = 1.0) -> Array:
        """Positions (n, 3) in the world [m] of the section at s of a link, default: the tip of the last one."""
        name = link or self.robot.tip_link
        found = [self.way.shaped(p).pose(q, name, s)[:3, 3] for p, q in zip(self.parameter, self.q, strict=True)]
        return np.array(found).reshape(-1, 3)

    @cached_property
    def _tips(self) -> Array:
        return self.positions()

    def tip(self, link: str | None = None) -> Array:
        """Positions (n, 3) of the tip of a link [m]; default: the last one with a body."""
        return self._tips if link is None else self.positions(link)

    # -- equilibria --------------------------------------------------------------------------------------------------

    @cached_property
    def way(self) -> Way:
        """What changes, as equations."""
        u = self.u[0] if len(self) else np.zeros(len(self.robot.actuator_names))
        way = Way(self.robot, self.along, self.origin, self.slope, u, self.held)
        if len(self):
            way.straighten(self.q[0], *self.options["range"])
        return way

    @cached_property
    def rest(self) -> Rest:
        """The family of problems that its equilibria solve."""
        first, last = self.options["range"]
        return Rest(self.way, self.q[0], float(self.parameter[0]), abs(last - first))

    def equilibrium(self, i: int | SpecialPoint) -> Equilibrium:
        """One of the equilibria, by its row, or that of a special point; see `sorosim.statics`."""
        if isinstance(i, SpecialPoint):
            q, p = i.q, i.parameter
        else:
            q, p = self.q[index(i)], float(self.parameter[index(i)])
        return self.rest.equilibrium(self.rest.start(q, p), p / self.rest.size, self._said(p))

    def at(self, parameter: float, *, branches: bool = False) -> list[Equilibrium]:
        """All equilibria of the curve at a value of the parameter, in the order in which it comes to them.

        Each one is computed anew, to rounding. `branches`: those of the branches too.
        """
        p = number("parameter", parameter)
        with one_blas_thread(), np.errstate(all="ignore"):
            found = [state for curve in (self.curves() if branches else [self]) for state in curve._crossings(p)]
        kept: list[tuple[Rest, Array]] = []
        for rest, x in found:
            others = [y for _, y in kept if len(y) == len(x)]
            if all(np.linalg.norm(rest.metric @ (rest.turned(x, y) - y)) > SAME for y in others):
                kept.append((rest, x))
        return [rest.equilibrium(x, p / rest.size, self._said(p)) for rest, x in kept]

    def curves(self) -> list[Continuation]:
        """This curve, its branches, and theirs."""
        return [self, *(one for branch in self.branches for one in branch.curves())]

    def _said(self, p: float) -> str:
        return f"continuation along {', '.join(self.along)} at {p:.6g}"

    def _crossings(self, p: float) -> list[tuple[Rest, Array]]:
        """Unknowns where the parameter is p."""
        rest, curve = self.rest, Curve(self.rest.family)
        # folds among the rows: between two of all these the parameter rises or falls
        rows = [(s, q, x) for s, q, x in zip(self.arclength, self.q, self.parameter, strict=True)]
        rows = sorted([*rows, *((f.arclength, f.q, f.parameter) for f in self.folds)], key=lambda row: row[0])
        out = []
        for (_, q0, p0), (_, q1, p1) in pairwise(rows):
            if not min(p0, p1) <= p <= max(p0, p1) or p0 == p1:
                continue
            ends = [np.append(rest.start(q, a), a / rest.size) for q, a in ((q0, p0), (q1, p1))]
            places = [self._place(curve, z, ends[1] - ends[0]) for z in ends]
            share = (p - p0) / (p1 - p0)
            known = [z for z, a in zip(ends, (p0, p1), strict=True) if a == p]
            if None in places:
                continue
            place = curve.where(p / rest.size, places[0], places[1], float(share))  # type: ignore[arg-type]
            if place is not None:
                out.append((rest, place.z[:-1]))
            elif known:
                out.append((rest, known[0][:-1]))
        return out

    @staticmethod
    def _place(curve: Curve, z: Array, along: Array) -> Place | None:
        _, J, slope = curve.evaluate(z)
        return curve.place((z, J, slope, 0), curve.unit(along))

    def switch(self, point: SpecialPoint | int, **options: Any) -> tuple[Continuation, ...]:
        """Follow the branches that leave a branch point, both ways each.

        Parameters
        ----------
        point : SpecialPoint or int
            One of `points`, or its number.
        options
            Those of `sorosim.continuation` that are to differ from those of this curve: ``until``, ``stop``, ``step``,
            ``max_step``, ``min_step``, ``max_points``, ``stability``.

        Raises
        ------
        InputError
            No branch point.
        ConvergenceError
            No branch was found.
        """
        from sorosim.branching.tracing import switched

        if not isinstance(point, SpecialPoint):
            number_of = index(point)
            if not -len(self.points) <= number_of < len(self.points):
                raise InputError("point", f"a number of one of {len(self.points)} points", f"{number_of}")
            point = self.points[number_of]
        if point.kind != BRANCH:
            raise InputError("point", "a branch point", f"a {point.kind} point", "no other solutions meet there")
        found = switched(self, point, options)
        if not found:
            hint = "try a smaller or a larger step"
            raise ConvergenceError(f"continuation of '{self.robot.name}': no branch was found at {point!r}; {hint}")
        return found

    # -- files and pictures ------------------------------------------------------------------------------------------

    def table(self) -> list[dict[str, Any]]:
        """Special points of the curve and its branches as rows: which branch, kind, parameter, motions that grow."""
        rows = []
        for k, curve in enumerate(self.curves()):
            for point in curve.points:
                row = {"curve": k, "kind": point.kind, "parameter": point.parameter}
                if curve.options["stability"]:
                    row |= {"unstable_before": point.before.unstable, "unstable_after": point.after.unstable}
                rows.append(row | ({"frequency": point.frequency} if point.kind == FLUTTER else {}))
        return rows

    def save(self, path: str | Path) -> None:
        """Write to an HDF5 file; `sorosim.open` reads it."""
        from sorosim.branching.kept import save

        save(self, path)

    def to_csv(self, path: str | Path) -> None:
        """Write a table, one row an equilibrium, with names in its first line.

        Columns are curve (0, branches from 1 on), parameter, arclength, values of what changes, coordinates, inputs,
        what driven coordinates need, motions that buckle and that flutter.
        """
        from sorosim.branching.kept import write_csv

        write_csv(self, path)

    def plot(
        self, path: str | Path | None = None, *, x: str = "parameter", y: str | None = None, **options: Any
    ) -> Any:
        """Bifurcation diagram with shapes beside (matplotlib); see `sorosim.viz.diagram_plot.plot_diagram`."""
        from sorosim.viz.diagram_plot import plot_diagram

        return plot_diagram(self, path, x=x, y=y, **options)

    def __repr__(self) -> str:
        kinds = [f"{sum(point.kind == kind for point in self.points)} {kind}" for kind in KINDS]
        special = ", ".join(text for text in kinds if not text.startswith("0 ")) or "none"
        names = ", ".join(self.along)
        return f"<Continuation of '{self.robot.name}' along {names}: {len(self)} equilibria, special points: {special}>"
