"""Steps of a robot under held inputs: what Stepper, Rollout and Batch have in common (docs/theory.md, 14)."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from sorosim.arrays import Array, IntArray
from sorosim.compiled import digest
from sorosim.dynamics.maxwell import refuse_relaxation
from sorosim.engine.inputs import Motion, ZeroOrderHold, driven_signals
from sorosim.equations.failure import Trial, diagnose_motion
from sorosim.equations.system import NO_STRAINS, OdeSystem
from sorosim.errors import ConvergenceError, InputError, warn
from sorosim.kernels import evaluate, newmark
from sorosim.kernels import held_inputs as held
from sorosim.kernels import march as codes
from sorosim.kernels.held_inputs import Equations
from sorosim.kernels.march import March, Rows
from sorosim.model.chart import FARTHEST, Charts
from sorosim.options import StepArguments, checked
from sorosim.results.result import Run
from sorosim.robot import Robot, check_robot
from sorosim.signals import ConstantSignal, Signal
from sorosim.signals.edges import rough_time
from sorosim.simulation.marching import MESSAGES, Marching
from sorosim.simulation.simulate import StartingState, starting_state

# of Newton's method where nothing else is said: in steps, and in motions whose derivatives are to be exact
STEP_TOLERANCE, ROLLOUT_TOLERANCE = 1e-8, 1e-11
DONE = codes.FINISHED, codes.CONTINUES
# of coordinates, by which changes of rotations are differentiated
DIFFERENCE = 1e-3
# motions of driven coordinates are looked at ahead: intervals at once, and samples in these
WINDOW, SAMPLES = 100, 1000
# part of an interval by which ends of intervals differ by rounding
SAME_TIME = 1e-6


class DrivenPath(Motion):
    """Motion of driven coordinates by their signals, or by cubics where `Stepper.step` sends them on."""

    def __init__(self, signals: Motion, path: Array) -> None:
        vars(self).update(vars(signals))
        self.path = path.copy()

    def jets(self, t: float) -> Array:
        """Values and first and second derivatives (n, 3) at time t."""
        out = super().jets(t)
        for row, (sent, begin, q, qd, two, three) in zip(out, self.path.tolist(), strict=True):
            if sent:
                x = t - begin
                row[:] = (
                    q + x * (qd + x * (two + x * three)), qd + x * (2.0 * two + 3.0 * x * three),
                    2.0 * two + 6.0 * x * three,
                )  # fmt: skip
        return out


class Rank(NamedTuple):
    """How many rows of loops were independent."""

    start: float  # at the start
    most: int  # at most along the motion


@dataclass(frozen=True, eq=False)
class ChartChange:
    """Rotations of a state (2, ndof) that change for those of the same pose a turn away."""

    charts: Charts
    before: Array

    @cached_property
    def jacobian(self) -> Array:
        """Derivative (2 ndof, 2 ndof) of coordinates and rates, by differences of fourth order."""
        x, ndof = self.before, self.before.shape[1]
        after, out = self.charts.unwound(*x)[0], np.eye(2 * ndof)
        joints = [own for own, _ in self.charts.joints if (after[own] != x[0, own]).any()]
        changed = np.concatenate([np.arange(own.start, own.stop) for own in joints])

        def moved(direction: Array, step: float) -> Array:
            return np.concatenate(self.charts.unwound(*(x + step * direction.reshape(2, ndof))))

        for k in (*changed, *(ndof + changed)):
            d = np.zeros(2 * ndof)
            d[k] = 1.0
            near, far = ((moved(d, h) - moved(d, -h)) / (2.0 * h) for h in (DIFFERENCE, 2.0 * DIFFERENCE))
            out[:, k] = (4.0 * near - far) / 3.0
        return out

    def push(self, tangents: Array) -> Array:
        """Tangents (..., 2, ndof) after by those before."""
        return (tangents.reshape(-1, len(self.jacobian)) @ self.jacobian.T).reshape(tangents.shape)

    def pull(self, cotangents: Array) -> Array:
        """Cotangents (2, ndof) before by those after."""
        return (cotangents.ravel() @ self.jacobian).reshape(cotangents.shape)


class HeldSteps:
    """Arrays and steps of one robot under held inputs.

    keeps_strains: whether the caller keeps strains of Maxwell elements; else robots with any are refused. Their steps
    change the arrays of `model`, which no two threads may share.
    """

    def __init__(
        self, robot: Robot, dt: Any, driven: Mapping[str, Any] | None = None, *, keeps_strains: bool = False,
        **options: Any,
    ) -> None:  # fmt: skip
        self.robot, self._driven = check_robot(robot), driven
        self._options = {**options, "keeps_strains": keeps_strains}
        chosen = checked(StepArguments, {"dt": dt, **options})
        if chosen["dt"] is None:
            raise InputError("dt", "a time [s]", "none")
        self.dt, self.substeps = float(chosen["dt"]), int(chosen["substeps"])
        self.engine = robot.engine
        if not keeps_strains:
            hint = "sorosim.simulate and sorosim.Stepper know them"
            refuse_relaxation(self.engine, "batches and derivatives of steps", hint)
        block = robot.description.simulate
        signals = driven_signals(self.engine.layout, block.get("driven") if driven is None else driven)
        self.inputs = Motion([ConstantSignal(0.0)] * self.engine.n_actuators)
        self.system = OdeSystem(robot, ZeroOrderHold(self.engine.n_actuators), signals)
        self.method = Marching(self.system, chosen["method"], self.dt / self.substeps, chosen["spectral_radius"])
        self.method_name = str(chosen["method"])
        self.tolerance = float(STEP_TOLERANCE if chosen["tolerance"] is None else chosen["tolerance"])
        self.model = self.method.model(self.inputs)
        self.in_python = computed_in_python(robot)
        tree = self.engine.tree
        self.shape = (
            tree.segment.tobytes(),
            tree.block.tobytes(),
            tree.local.tobytes(),
        )  # robots alike in it may share a workspace
        self.varies = any(not isinstance(one, ConstantSignal) for one in self.system.driven.signals)
        if self.system.n_strains:
            _ = self.settings  # of the model as it is before any step
        self._rough: dict[Any, tuple[str, str, float] | None] = {}

    def __reduce__(self) -> tuple[Any, ...]:  # copies and pickles hold the arguments; arrays are made anew
        options = self._options | {"substeps": self.substeps}
        return partial(HeldSteps, self.robot, self.dt, self._driven, **options), ()

    @cached_property
    def settings(self) -> tuple[Any, ...]:
        """What other steps must have in common with these to go on with the same bits."""
        robot = self.robot if self.in_python else digest(self.model)
        specs = tuple(map(repr, self.system.driven.specs))
        tableau = [np.asarray(part).tolist() for part in self.method.tableau]
        return robot, self.dt, self.substeps, tableau, self.tolerance, self.driven_names, specs

    @property
    def driven_names(self) -> tuple[str, ...]:
        """Of driven coordinates, as they were given."""
        return self.system.partition.names

    def record(self) -> March:
        """A march before its start."""
        march = self.method.state(self.inputs)
        number, counts = march.number, march.counts
        for name, values in self.method.tableau._asdict().items():
            number[name] = values
        self.set_step(march)
        number[["rtol", "atol"]] = self.tolerance / codes.NEWTON
        number[["least_pivot", "factored_ratio"]] = 1.0
        counts[["fixed", "held", "fresh", "row", "steps_left"]] = 1
        counts["external"] = self.in_python
        return march

    def set_step(self, march: March) -> None:
        """Let a march take steps of this size."""
        march.number[["step", "last_step", "previous_step", "target_step", "max_step"]] = self.dt / self.substeps
        march.counts["factored"] = 0

    def rows(self, n_intervals: int) -> Rows:
        """Room for the states at the ends of steps."""
        n, ndof = n_intervals * self.substeps + 1, self.engine.ndof
        states: Any = (np.zeros((n, ndof)) for _ in range(3))
        tables: Any = (np.zeros((n, width)) for width in (self.engine.loop_layout.m, 2, self.system.n_strains))
        return Rows._make((np.zeros(n), *states, *tables))

    def times(self, t: float, n_intervals: int, first: int = 0) -> Array:
        """Ends of steps of intervals from t on; `first`: how many intervals lie between t and the first of these."""
        steps = np.arange(float(first * self.substeps), (first + n_intervals) * self.substeps + 0.5)
        steps *= self.dt / self.substeps
        steps += t
        return steps

    def begin(
        self, march: March, q: Any, qd: Any, t: float, u: Array, path: Array | None = None,
        names: tuple[str, str] = ("q", "qd"), strain: Array | None = None,
    ) -> StartingState:  # fmt: skip
        """Put a march to a start, which errors call by these names; path: of driven coordinates that were sent on.

        strain: of Maxwell elements. Default: that with which motions begin. Returns the start.
        """
        system = self.system_at(u, path)
        try:
            start = starting_state(self.robot, system, q, qd, t)
        except InputError as error:
            where = re.sub(r"^qd?0\b", lambda found: names[found[0] == "qd0"], error.where)
            raise InputError(where, error.expected, error.got, error.hint) from None
        self.begin_at(march, start.q, start.qd, t, u, path, strain)
        return start

    def system_at(self, u: Array, path: Array | None = None) -> OdeSystem:
        """The equations of motion under these inputs, driven coordinates moving along a path where it has one."""
        system = copy.copy(self.system)
        system.inputs = ZeroOrderHold(len(u))
        system.inputs.hold(0.0, np.array(u))
        if path is not None and path.any():
            system.driven = DrivenPath(self.system.driven, path)
        return system

    def begin_at(
        self, march: March, q: Array, qd: Array, t: float, u: Array, path: Array | None = None,
        strain: Array | None = None,
    ) -> None:  # fmt: skip
        """Put a march to a state."""
        system, driven = self.system_at(u, path), self.system.partition.driven
        march.strain[0] = system.maxwell.start(q) if strain is None else strain
        system.begin(t, system.state(q, qd, march.strain[0]))
        march.state.q[:], march.state.qd[:], march.state.qdd[:] = q, qd, 0.0
        if len(driven):
            march.state.qdd[driven] = system.driven.jets(t)[:, 2]
        march.path[:] = 0.0 if path is None else path
        march.number["time"] = t
        march.number["contraction"] = 0.0
        march.counts[["fresh", "row"]] = 1
        march.counts[["factored", "phase"]] = 0
        march.counts["most_rank"] = int(system.closing[2])
        march.begin.closing[2] = system.closing[2]
        march.begin.u[:] = u

    @staticmethod
    def at_first_row(march: March) -> None:
        """What comes next fills rows from the first on."""
        march.counts["row"] = march.counts["steps_left"] = 1

    def advance(self, march: March, rows: Rows, inputs: Array) -> int:
        """Steps to the last of the rows under inputs (N, n_actuators); a code of kernels.march."""
        workspace = self.engine.workspace
        if self.in_python:
            return self._advance_in_python(march, rows, inputs)
        arguments = self.model, march, workspace, rows, inputs, self.substeps
        return int(self.engine.prepared(held.roll, arguments)(*arguments))

    def refine(self, march: March, begin: Array, t0: float, count: int, inputs: Array) -> tuple[HeldSteps, Rows] | None:
        """Move over an interval, whose steps failed, in smaller ones: these and their rows; None where all fail.

        begin: memory of the march before; count: how many intervals lie between t0 and this one. Where all fail, the
        march stays that of the first try.
        """
        finer, first = object.__new__(HeldSteps), march.memory.copy()
        vars(finer).update(vars(self))
        while finer.substeps < codes.MOST_CUTS * self.substeps:
            march.memory[:] = begin
            finer.substeps *= 2
            finer.set_step(march)
            rows = finer.rows(1)
            rows.t[:] = finer.times(t0, 1, count)
            finer.at_first_row(march)
            code = finer.advance(march, rows, inputs)
            self.set_step(march)
            if code in DONE:
                return finer, rows
        march.memory[:] = first
        return None

    def _advance_in_python(self, march: March, rows: Rows, inputs: Array) -> int:
        """As `held_inputs.roll`, for loads and actuators that Python computes."""
        workspace, number, s = self.engine.workspace, march.number, march.state
        hold_arguments = self.model, march, workspace
        hold = self.engine.prepared(held.hold, hold_arguments)
        arguments = self.model, march, workspace, rows, 1
        step = self.engine.prepared(codes.march, arguments)
        if march.counts["row"] == 1:
            held.first_row(march, rows)
        for k in range((march.counts["row"] - 1) // self.substeps, len(inputs)):
            march.inputs[:, 0] = inputs[k]
            self._evaluate_python(march, s.q, s.qd, inputs[k], float(number["time"]), False)
            if hold(*hold_arguments) != evaluate.DONE:
                return codes.NOT_FINITE
            for _ in range(self.substeps):
                while (code := int(step(*arguments))) == codes.NEEDS_PYTHON:
                    derive = march.counts["refactor"] in (newmark.ONCE, newmark.ALWAYS)
                    self._evaluate_python(
                        march, s.q_new, s.qd_new, inputs[k], float(number["time"] + number["step"]), derive
                    )
                if code not in DONE:
                    return code
        return codes.FINISHED

    def _evaluate_python(self, march: March, q: Array, qd: Array, u: Array, t: float, tangents: bool) -> None:
        loading = self.engine.loading
        if loading:
            self.engine.load_values(q, qd, float(t), march.external, tangents=tangents)
        if loading.actuators:
            loading.actuate(march.external, self.engine.tree, q, qd, u, self.engine.actuator_names, tangents)

    def rewind(self, march: March) -> ChartChange | None:
        """Change rotations beyond their limit for those of the same pose a turn away: a new start; None: none is."""
        charts = self.system.charts
        if not charts.joints or charts.largest_angle(march.state.q) <= FARTHEST:
            return None
        s = march.state
        change = ChartChange(charts, np.stack([s.q, s.qd]))
        s.q[:], s.qd[:] = charts.unwound(*change.before)
        march.counts["fresh"] = 1
        march.counts["factored"] = 0
        return change

    def check_motions(self, march: March, n_intervals: int) -> None:
        """Refuse motions of driven coordinates whose rates jump in the next intervals, as `simulate` does."""
        if not self.varies:
            return
        signals = zip(self.driven_names, self.system.driven.signals, march.path[:, 0].tolist(), strict=True)
        moving = {name: one for name, one, sent in signals if not (sent or isinstance(one, ConstantSignal))}
        if not moving or not n_intervals:
            return
        window, near = WINDOW * self.dt, SAME_TIME * self.dt  # a jump may lie where windows meet
        t = float(march.number["time"])
        begin, end = t + (near if march.counts["fresh"] else -near), t + n_intervals * self.dt - near
        for k in range(math.floor(begin / window), math.floor(end / window) + 1):
            key, last = (k, *moving), (k + 1) * window + near
            if key not in self._rough:
                self._rough[key] = _first_rough(moving, k * window - (near if k else 0.0), last)
            found = self._rough[key]
            if found is not None and found[2] < begin:
                found = _first_rough(moving, begin, last)
            if found is not None and found[2] < end:
                got, hint = f"{found[1]} at t = {found[2]:.6g} s", "smoothstep(x) rises smoothly from 0 at 0 to 1 at 1"
                raise InputError(f"driven.{found[0]}", "a motion with a continuous rate", got, hint)

    def whole_turn(self, rows: Rows, first: int, last: int, what: str) -> tuple[int, ConvergenceError] | None:
        """The first of rows at which coordinates of a joint are singular, and the error that says so."""
        guard = self.system.turns
        met = guard.first_met(rows.q[first : last + 1]) if guard.joints else None
        if met is None:
            return None
        row, kind = first + met[0], self.engine.layout.links[met[1]].link.joint.kind
        return row, ConvergenceError(
            f"{what} of '{self.robot.name}' at t = {rows.t[row]:.6g} s: the {kind} joint of '{met[1]}' comes to a "
            "whole turn, where its coordinates are singular"
        )

    def run(
        self, t: Array, q: Array, qd: Array, u: Array, message: str, paths: Sequence[Array] | None = None,
        strain: Array | None = None,
    ) -> Run:  # fmt: skip
        """States (n, ndof) at the ends of intervals as a `Run`; a row has the inputs of the interval that it ends.

        paths: of driven coordinates that were sent on, at each row; strain (n, n_strains): of Maxwell elements.
        """
        rows = []
        for k, time in enumerate(t.tolist()):
            system = self.system_at(u[k], None if paths is None else paths[k])
            rows.append(system.forces(time, system.state(q[k], qd[k], NO_STRAINS if strain is None else strain[k])))
        forces, multipliers = map(np.array, zip(*rows, strict=True))
        driven = dict(zip(self.driven_names, forces.T, strict=True))
        specs = dict(zip(self.driven_names, self.system.driven.specs, strict=True))
        method = f"{self.method_name} under held inputs"
        options = {"method": method, "step": self.dt / self.substeps, "driven": specs}
        return Run(self.robot, t, q, qd, u, multipliers, driven, {}, options, message, strain=strain)

    @staticmethod
    def rank_of(march: March) -> Rank:
        """How many rows of its loops counted in a march that has moved."""
        return Rank(float(march.begin.closing[2]), int(march.counts["most_rank"]))

    @staticmethod
    def take_rank(march: March, rank: Rank) -> None:
        """Let a march for derivatives count rows of loops as the one did that moved."""
        march.begin.closing[2], march.counts["most_rank"] = rank

    def ends(self, n: int) -> IntArray:
        """Rows at which n intervals begin and end."""
        return np.arange(n + 1) * self.substeps

    def equations(self, n: int = 0, rows: int = 0) -> Equations:
        """Room for what numbers change in the equations over n intervals and their rows; 0: nothing."""
        ndof, n_loops = self.engine.ndof, self.engine.loop_layout.m
        shapes = (rows, ndof), (rows, n_loops), *((2 * n, ndof), (2 * n, n_loops)) * 2
        return Equations._make(map(np.zeros, shapes))

    @property
    def no_changes(self) -> Equations:
        """Tangents of the equations in any directions where no numbers change."""
        return Equations._make(part[None] for part in self.equations())

    def warn_of_tolerance(self, tight: float) -> None:
        """Say that derivatives are loose; called by the functions that users call."""
        if self.tolerance > tight:
            warn(
                f"derivatives of steps of '{self.robot.name}' are as loose as its Newton iteration, whose tolerance is "
                f"{self.tolerance:.2g}; tolerance={tight:.0e} or less makes them tight")  # fmt: skip

    def derive(
        self, kernel: Any, march: March, rows: Rows, inputs: Array, ends: IntArray, *arguments: Any
    ) -> None:  # fmt: skip
        """One of the passes of kernels.held_inputs over rows, of which `ends` are those of intervals."""
        refuse_relaxation(self.engine, "derivatives of steps", "differences of steps know it")
        if self.in_python:
            raise InputError("derivatives of steps", "loads and actuators that are compiled",
                             f"some of '{self.robot.name}' that Python computes")  # fmt: skip
        workspace = self.engine.workspace
        call = (self.model, march, workspace, rows, inputs, ends, self.dt, *arguments)
        if not self.engine.prepared(kernel, call)(*call):
            raise ConvergenceError(f"derivatives of steps of '{self.robot.name}': a step has a singular matrix")

    def failure(self, march: March, code: int, what: str, *, refined: bool = True) -> ConvergenceError:
        """What a step that failed says; refined: whether smaller ones failed too."""
        s, t, h = march.state, float(march.number["time"]), float(march.number["step"])
        q, qd, qdd = (part.copy() for part in (s.q_new, s.qd_new, s.qdd_new))
        strain = self.system.maxwell.advanced(march.strain[0], q - s.q, h)
        trial = Trial(t + h, q, qd, qdd, march.multiplier.new.copy(), strain)
        last = t, self.system.state(s.q, s.qd, march.strain[0])
        system = self.system_at(march.end.u, march.path)
        report = diagnose_motion(system, last, h, trial, None, (self.tolerance, self.tolerance))
        smaller = f"; so do steps down to {h / codes.MOST_CUTS:.3g} s" if refined else ""
        advice = f"{report.advice}; or " if report.advice else ""
        return ConvergenceError(
            f"{what} of '{self.robot.name}' at t = {t:.6g} s: {MESSAGES[code]}{report.words}{smaller}; "
            f"{advice}more substeps than {self.substeps} of {h:.3g} s, or `simulate`, whose steps follow its tolerance",
            None, report,
        )  # fmt: skip


def computed_in_python(robot: Robot) -> bool:
    """Whether Python computes some of a robot's loads or actuators."""
    loading = robot.engine.loading
    return bool(loading.packed.signals.callables or loading.others or loading.actuators)


def _first_rough(signals: Mapping[str, Signal], begin: float, end: float) -> tuple[str, str, float] | None:
    """The first time between two at which a signal is not smooth: its name, what is wrong, and when."""
    times = np.linspace(begin, end, SAMPLES)
    found = [(name, *rough) for name, one in signals.items() if (rough := rough_time(one, times))]
    return min(found, key=lambda one: one[2], default=None)
