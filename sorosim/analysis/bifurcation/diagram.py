"""The result of a continuation: a curve of equilibria with its special points and branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from io import StringIO
from itertools import pairwise
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.analysis.bifurcation.arguments import checked_range, checked_stop, parameter_of
from sorosim.analysis.bifurcation.equilibrium_family import EquilibriumFamily
from sorosim.analysis.bifurcation.parameter_path import ParameterPath
from sorosim.analysis.bifurcation.tracing import SpecialPoint, switched
from sorosim.analysis.results.result import NEEDED_FORCES, Equilibrium
from sorosim.analysis.solvers.continuation import TracedCurve
from sorosim.analysis.solvers.curve import Corrected, Curve, CurvePoint
from sorosim.analysis.solvers.special_points import BRANCH, FLUTTER, FOLD, STABILITY
from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.declare.result import (
    DATA,
    TEXT,
    Named,
    Numbered,
    Numbers,
    Place,
    Record,
    Result,
    Texts,
    optional,
    stored,
)
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.base.ode import one_blas_thread
from sorosim.base.options import ContinuationArguments, checked
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import Number
from sorosim.base.writing import write_whole
from sorosim.mechanics.engine.parameter import INPUT
from sorosim.mechanics.engine.records import force_name
from sorosim.mechanics.linear.growth import Growth
from sorosim.mechanics.robot import Robot

KINDS = (FOLD, BRANCH, FLUTTER, STABILITY)
# equilibria at the same parameter that are nearer to each other than this are one
SAME_EQUILIBRIUM = 1e-6


class Oscillation(Numbers):
    """A complex mode: its real, then its imaginary part."""

    def pack(self, value: Any) -> Any:
        """What a file holds of it."""
        return np.array([value.real, value.imag])


class Branches(Numbered):
    """Continuations that have what changes, and the options, of the one that they leave."""

    def pack(self, value: Any) -> Any:
        """What a file holds of them."""
        return super().pack([one.content()["curve"] for one in value])


GROWTH = Numbers(2, make=lambda counts: Growth(*map(int, counts)))
POINT = Record(
    SpecialPoint, kind=TEXT, parameter=Numbers(), q=Numbers("ndof"), arclength=Numbers(), row=Numbers(),
    tangent=Numbers("n_tangent"), directions=Numbers("n_directions", "n_tangent"), before=GROWTH, after=GROWTH,
    frequency=Numbers(), oscillation=optional(Oscillation(2, "ndof", make=lambda parts: parts[0] + 1j * parts[1])),
)  # fmt: skip
ROWS = Numbers("n")


@public
@dataclass(frozen=True, eq=False)
class Continuation(Result, kind="continuation"):
    """Equilibria along a curve."""

    robot: Robot
    along: tuple[str, ...] = stored(Texts("n_along"), "names of what changes", name="along/names")
    origin: Array = stored(Numbers("n_along"), "their values at parameter 0", name="along/origin")
    slope: Array = stored(Numbers("n_along"), "and how they change with it", name="along/slope")
    parameter: Array = stored(ROWS, "how far they have changed", name="curve/parameter")
    arclength: Array = stored(ROWS, "of coordinates and parameter, scaled, see `continuation`", name="curve/arclength")
    q: Array = stored(Numbers("n", "ndof"), "coordinates", "rad, m, or 1 for strains", name="curve/q")
    u: Array = stored(Numbers("n", "n_actuators"), "inputs", "`Robot.actuator_units`", name="curve/u")
    lam: Array = stored(Numbers("n", "n_multipliers"), "multipliers of loops", name="curve/lam")
    driven: dict[str, Array] = stored(Named(ROWS), NEEDED_FORCES, "N m or N", name="curve/driven")
    buckling: IntArray = stored(ROWS, "motions that diverge without oscillating", name="curve/buckling")
    flutter: IntArray = stored(ROWS, "oscillations that grow", name="curve/flutter")
    points: tuple[SpecialPoint, ...] = stored(Numbered(POINT), "special points", name="curve/points")
    message: str = stored(TEXT, "why it ends", name="curve/message")
    complete: bool = stored(Numbers(), "whether at an end of the range, a stop, or its start", name="curve/complete")
    options: dict[str, Any] = stored(DATA, "what was asked for")
    branches: tuple[Continuation, ...] = stored(
        Branches(DATA), "curves that leave it, each as this one", default=(), name="curve/branches", needed=True
    )
    fixed: dict[str, float] = stored(
        Named(Numbers()), "driven coordinates that do not change", default={}, name="along/held", needed=True
    )

    plot = LazyMethod("sorosim.view.viz.diagram_plot:plot_diagram")

    @classmethod
    def of(
        cls, family: EquilibriumFamily, traced: TracedCurve, options: dict[str, Any], fixed: Mapping[str, float]
    ) -> Continuation:
        """The curve in the robot's coordinates."""
        path, points, scale = family.path, traced.points, family.scale
        parameter = np.array([point.z[-1] for point in points]) * scale
        for k in (0, -1):  # exactly the bounds
            for bound in (*options["until"], options["range"][0]):
                if abs(parameter[k] - bound) <= 1e-14 * scale:
                    parameter[k] = bound
        states = [family.state(point.z[:-1], float(point.z[-1])) for point in points]
        q, lam, forces = (np.array(part).reshape(len(points), -1) for part in zip(*states, strict=True))
        return cls(
            path.base, path.names, path.origin, path.slope, parameter, np.array([point.s for point in points]), q,
            np.array([path.inputs(p) for p in parameter]).reshape(len(points), -1), lam,
            dict(zip(family.partition.names, forces.T, strict=True)),
            np.array([point.growth.buckling for point in points]), np.array([point.growth.flutter for point in points]),
            tuple(SpecialPoint.of(family, special) for special in traced.specials), traced.message, traced.complete,
            options, fixed=dict(fixed),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:  # without cached properties
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __len__(self) -> int:
        return len(self.parameter)

    @property
    def stable(self) -> Mask:
        """Whether small motions about the equilibria stay small (n,)."""
        self._need_stability()
        return np.asarray(self.unstable == 0)

    @property
    def unstable(self) -> IntArray:
        """Number (n,) of eigenvalues of the motion with positive real parts, a growing oscillation has two."""
        self._need_stability()
        return self.buckling + 2 * self.flutter

    @property
    def kind(self) -> tuple[str, ...]:
        """Each equilibrium in a word (n,): stable, buckling, flutter, or unknown with stability=False."""
        if not self.options["stability"]:
            return ("unknown",) * len(self)
        return tuple(
            "flutter" if f else "buckling" if b else "stable" for b, f in zip(self.buckling, self.flutter, strict=True)
        )

    def _need_stability(self) -> None:
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
        inputs = self.robot.actuator_units  # some have a unit that no number in a file has
        return {
            one.name: inputs[one.index] if one.kind == INPUT else one.unit.replace("*", " ")
            for one in self.path.parameters
        }

    def positions(self, link: str | None = None, s: float = 1.0) -> Array:
        """Positions (n, 3) in the world [m] of the section at s of a link; default: the first of `Robot.outputs`."""
        robots = (self.path.same_shape_robot(p) for p in self.parameter)
        states = zip(robots, self.q, strict=True)
        if link is None and s == 1.0:
            poses = [robot.outputs.poses(q)[0] for robot, q in states]
        else:
            poses = [robot.pose(q, link or robot.outputs.places[0][0], s=s) for robot, q in states]
        return np.array([g[:3, 3] for g in poses]).reshape(-1, 3)

    @cached_property
    def _tips(self) -> Array:
        return self.positions()

    def tip(self, link: str | None = None) -> Array:
        """Positions (n, 3) of the tip of a link [m]; default: the first of `Robot.outputs`."""
        return self._tips if link is None else self.positions(link)

    # -- equilibria --------------------------------------------------------------------------------------------------

    @cached_property
    def path(self) -> ParameterPath:
        """What changes, and the static equations along it."""
        u = self.u[0] if len(self) else np.zeros(len(self.robot.actuator_names))
        path = ParameterPath(self.robot, self.along, self.origin, self.slope, u, self.fixed)
        if len(self):
            path.detect_affine(self.q[0], *self.options["range"])
        return path

    @cached_property
    def family(self) -> EquilibriumFamily:
        """The problem that its equilibria solve."""
        first, last = self.options["range"]
        return EquilibriumFamily(self.path, self.q[0], float(self.parameter[0]), abs(last - first))

    def equilibrium(self, i: int | SpecialPoint) -> Equilibrium:
        """One of the equilibria, by its row, or that of a special point; see `sorosim.statics`."""
        if isinstance(i, SpecialPoint):
            q, p = i.q, i.parameter
        else:
            q, p = self.q[index(i)], float(self.parameter[index(i)])
        return self.family.equilibrium(self.family.unknowns(q, p), p / self.family.scale, self._message(p))

    def at(self, parameter: Number, *, branches: bool = False) -> list[Equilibrium]:
        """All equilibria of the curve at a value of the parameter, in the order in which it comes to them.

        The value is a number, or, where one thing changes, a text with a unit. Each one is computed anew, to rounding.
        `branches`: those of the branches too.
        """
        p = parameter_of(self.path, parameter, "parameter")
        with one_blas_thread(), np.errstate(all="ignore"):
            states = [state for curve in (self.curves() if branches else [self]) for state in curve._crossings(p)]
        distinct: list[tuple[EquilibriumFamily, Array]] = []
        for family, x in states:
            others = [y for _, y in distinct if len(y) == len(x)]
            if all(np.linalg.norm(family.metric @ (family.unwrapped(x, y) - y)) > SAME_EQUILIBRIUM for y in others):
                distinct.append((family, x))
        return [family.equilibrium(x, p / family.scale, self._message(p)) for family, x in distinct]

    def curves(self) -> list[Continuation]:
        """This curve, its branches, and theirs."""
        return [self, *(one for branch in self.branches for one in branch.curves())]

    def _message(self, p: float) -> str:
        return f"continuation along {', '.join(self.along)} at {p:.6g}"

    def _crossings(self, p: float) -> list[tuple[EquilibriumFamily, Array]]:
        """Unknowns where the parameter is p."""
        family, curve = self.family, Curve(self.family.problem)
        # with the folds the parameter is monotonic between two rows
        rows = [(s, q, x) for s, q, x in zip(self.arclength, self.q, self.parameter, strict=True)]
        rows = sorted([*rows, *((f.arclength, f.q, f.parameter) for f in self.folds)], key=lambda row: row[0])
        out = []
        for (_, q0, p0), (_, q1, p1) in pairwise(rows):
            if not min(p0, p1) <= p <= max(p0, p1) or p0 == p1:
                continue
            ends = [np.append(family.unknowns(q, a), a / family.scale) for q, a in ((q0, p0), (q1, p1))]
            a, b = (self._point(curve, z, ends[1] - ends[0]) for z in ends)
            if a is None or b is None:
                continue
            point = curve.at_parameter(p / family.scale, a, b, float((p - p0) / (p1 - p0)))
            known = [z for z, end in zip(ends, (p0, p1), strict=True) if end == p]
            if point is not None or known:
                out.append((family, (known[0] if point is None else point.z)[:-1]))
        return out

    @staticmethod
    def _point(curve: Curve, z: Array, along: Array) -> CurvePoint | None:
        return curve.point(Corrected(z, *curve.evaluate(z)), curve.unit(along))

    def switch(self, point: SpecialPoint | int, **options: Any) -> tuple[Continuation, ...]:
        """Follow the branches that leave a branch point, both ways each.

        Parameters
        ----------
        point : SpecialPoint or int
            One of `points`, or its number.
        options
            Options of `sorosim.continuation` that differ from those of this curve: ``until``, ``stop``, ``ds``,
            ``ds_max``, ``ds_min``, ``max_points``, ``stability``.

        Raises
        ------
        InputError
            No branch point.
        ConvergenceError
            No branch was found.
        """
        if not isinstance(point, SpecialPoint):
            number_of = index(point)
            if not -len(self.points) <= number_of < len(self.points):
                raise InputError("point", f"a number of one of {len(self.points)} points", f"{number_of}")
            point = self.points[number_of]
        if point.kind != BRANCH:
            raise InputError("point", "a branch point", f"a {point.kind} point", "no other solutions meet there")
        for name in options:
            if name not in (known := set(self.options) - {"range", "both"}):
                raise InputError("options", " or ".join(sorted(known)), f"'{name}'")
        curves = self.branches_at(point, options)
        if not curves:
            hint = "try a smaller or a larger step"
            raise ConvergenceError(f"continuation of '{self.robot.name}': no branch was found at {point!r}; {hint}")
        return curves

    def branches_at(self, point: SpecialPoint, options: Mapping[str, Any]) -> tuple[Continuation, ...]:
        """The branches that leave a branch point: as `switch`, but none is no error."""
        changed = {**self.options, **checked(ContinuationArguments, options, self.options)}
        changed["stop"] = checked_stop(options.get("stop", self.options.get("stop")))
        if "until" in options:
            changed["until"] = checked_range(self.path, options["until"], point.parameter)
        curves = switched(self.family, point, changed)
        return tuple(Continuation.of(self.family, traced, changed, self.fixed) for traced in curves)

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

    def content(self) -> dict[str, Any]:
        """What its file keeps: of the options no function."""
        out = super().content()
        return out | {"options": {name: value for name, value in self.options.items() if name != "stop"}}

    @classmethod
    def check(cls, stored: Mapping[str, Any], at: Place) -> None:
        """Refuse the content of a file whose parts do not fit together, its branches included."""
        super().check(stored, at.inside())
        for branch in stored["curve"]["branches"].values():
            cls.check({**stored, "curve": branch}, at)

    @classmethod
    def restored(cls, stored: Mapping[str, Any], robot: Robot) -> Continuation:
        """The continuation from the content of a file that was checked, and its robot."""
        parts = cls.parts(stored, robot)
        options = parts["options"] | {name: list(parts["options"][name]) for name in ("range", "until")}
        curves = ({**stored, "curve": one} for one in stored["curve"]["branches"].values())
        branches = tuple(cls.restored(one, robot) for one in curves)
        return cls(robot, **parts | {"options": {**options, "stop": None}, "branches": branches})

    def to_csv(self, path: str | Path) -> None:
        """Write a table, one row an equilibrium, with names in its first line.

        Columns are curve (0, branches from 1 on), parameter, arclength, values of what changes, coordinates, inputs,
        generalised forces of driven coordinates, numbers of motions that buckle and that flutter.
        """
        robot, units = self.robot, self.robot.driven_units(self.driven)
        forces = map(force_name, self.driven, units)
        header = ["curve", "parameter", "arclength", *self.along, *robot.coordinate_names, *robot.actuator_names]
        header += [*forces, "buckling", "flutter"]
        rows = []
        for k, curve in enumerate(self.curves()):
            columns = [np.full(len(curve), k), curve.parameter, curve.arclength, *map(curve.values, curve.along)]
            columns += [curve.q, curve.u, *curve.driven.values(), curve.buckling, curve.flutter]
            rows.append(np.column_stack(columns))
        text = StringIO()
        np.savetxt(text, np.vstack(rows), delimiter=",", header=",".join(header), comments="", fmt="%.17g")
        write_whole(path, text.getvalue().encode())

    def __repr__(self) -> str:
        kinds = [f"{sum(point.kind == kind for point in self.points)} {kind}" for kind in KINDS]
        special = ", ".join(text for text in kinds if not text.startswith("0 ")) or "none"
        names = ", ".join(self.along)
        return f"<Continuation of '{self.robot.name}' along {names}: {len(self)} equilibria, special points: {special}>"
