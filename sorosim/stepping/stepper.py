"""A robot step by step: inputs are held over equal intervals (docs/theory.md, 14)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sorosim.arrays import Array
from sorosim.engine.inputs import Motion, ZeroOrderHold, by_name, driven_signals
from sorosim.equations.failure import Trial, diagnose_motion
from sorosim.equations.system import OdeSystem
from sorosim.errors import ConvergenceError, InputError, SorosimWarning
from sorosim.kernels import evaluate
from sorosim.kernels import held_inputs as held
from sorosim.kernels import march as codes
from sorosim.kernels import newmark as m
from sorosim.kernels.held_inputs import Equations
from sorosim.kernels.newmark import March, Rows
from sorosim.model.chart import FARTHEST
from sorosim.options import StepArguments, checked
from sorosim.robot import Robot, check_robot
from sorosim.signals import ConstantSignal
from sorosim.simulation.marching import MESSAGES, Marching
from sorosim.simulation.simulate import starting_state
from sorosim.units.quantity import amount
from sorosim.validation import Number, Values

# of Newton's method where nothing else is said: in steps, and in motions whose derivatives are to be exact
STEP_TOLERANCE, ROLLOUT_TOLERANCE = 1e-8, 1e-11
# how often the steps of an interval that failed are halved
HALVINGS = 6
DONE = codes.FINISHED, codes.CONTINUES
# of coordinates, by which changes of rotations are differentiated
DIFFERENCE = 1e-3


@dataclass(frozen=True, eq=False)
class StepState:
    """A state of a `Stepper`; given back to it, the same bits follow.

    Attributes
    ----------
    t : float
        Time [s].
    q, qd : (ndof,) ndarray
        Coordinates and rates.
    u : (n_actuators,) ndarray
        Inputs of the last step.
    """

    t: float
    q: Array
    qd: Array
    u: Array
    memory: tuple[Array, float, int] | None = field(default=None, repr=False)


class HeldSteps:
    """Arrays and steps of one robot under held inputs: what Stepper, Rollout and Batch have in common."""

    def __init__(self, robot: Robot, dt: Any, driven: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.robot = check_robot(robot)
        chosen = checked(StepArguments, {"dt": dt, **options})
        if chosen["dt"] is None:
            raise InputError("dt", "a time [s]", "none")
        self.dt, self.substeps = float(chosen["dt"]), int(chosen["substeps"])
        self.engine = robot.engine
        block = robot.description.simulate
        signals = driven_signals(self.engine.layout, block.get("driven") if driven is None else driven)
        self.inputs = Motion([ConstantSignal(0.0)] * self.engine.n_actuators)
        self.held = ZeroOrderHold(self.engine.n_actuators)
        self.system = OdeSystem(robot, self.held, signals)
        self.method = Marching(self.system, chosen["method"], self.dt / self.substeps, chosen["spectral_radius"])
        self.tolerance = float(STEP_TOLERANCE if chosen["tolerance"] is None else chosen["tolerance"])
        self.model = self.method.model(self.inputs)
        loading = self.engine.loading
        self.in_python = bool(loading.packed.signals.callables or loading.others or loading.actuators)

    def record(self) -> March:
        """A march before its start."""
        march = self.method.state(self.inputs)
        number, counts = march.number, march.counts
        number[m.ALPHA_M : m.BETA_OLD + 1] = self.method.coefficients
        self.set_step(march)
        number[[m.RTOL, m.ATOL]] = self.tolerance / codes.NEWTON
        number[[m.LEAST_PIVOT, m.FACTORED_RATIO]] = 1.0
        counts[[m.FIXED, m.HELD, m.FRESH, m.ROW, m.STEPS_LEFT]] = 1
        counts[m.EXTERNAL] = self.in_python
        return march

    def set_step(self, march: March) -> None:
        """Let a march take steps of this size."""
        march.number[[m.STEP, m.LAST_STEP, m.PREVIOUS, m.TARGET_STEP, m.MAX_STEP]] = self.dt / self.substeps
        march.counts[m.FACTORED] = 0

    def rows(self, n_intervals: int) -> Rows:
        """Room for the states at the ends of steps."""
        n, ndof = n_intervals * self.substeps + 1, self.engine.ndof
        states: Any = (np.zeros((n, ndof)) for _ in range(3))
        return Rows._make((np.zeros(n), *states, np.zeros((n, self.engine.loop_layout.m)), np.zeros((n, 2))))

    def times(self, t: float, n_intervals: int, first: int = 0) -> Array:
        """Ends of steps of intervals from t on; `first`: how many intervals lie between t and the first of these."""
        steps = np.arange(float(first * self.substeps), (first + n_intervals) * self.substeps + 0.5)
        steps *= self.dt / self.substeps
        steps += t
        return steps

    def begin(self, march: March, q: Any, qd: Any, t: float, u: Array) -> None:
        """Put a march to a start."""
        self.hold(u)
        position, rates = starting_state(self.robot, self.system, q, qd, t)
        self.begin_at(march, position, rates, t, u)

    def hold(self, u: Array) -> None:
        """Inputs of what is asked of the system outside of steps."""
        self.held.times, self.held.values = [0.0], [np.array(u)]

    def begin_at(self, march: March, q: Array, qd: Array, t: float, u: Array) -> None:
        """Put a march to a state."""
        self.system.begin(t, self.system.state(q, qd))
        driven = self.system.partition.driven
        march.state[m.Q], march.state[m.QD], march.state[m.QDD] = q, qd, 0.0
        if len(driven):
            march.state[m.QDD, driven] = self.system.driven.jets(t)[:, 2]
        march.number[m.TIME] = t
        march.number[m.CONTRACTION] = 0.0
        march.counts[[m.FRESH, m.ROW]] = 1
        march.counts[[m.FACTORED, m.PHASE]] = 0
        march.counts[m.MOST_RANK] = int(self.system.closing[2])
        march.begin.closing[2] = self.system.closing[2]
        march.begin.u[:] = u

    @staticmethod
    def at_first_row(march: March) -> None:
        """What comes next fills rows from the first on."""
        march.counts[m.ROW] = march.counts[m.STEPS_LEFT] = 1

    def advance(self, march: March, rows: Rows, inputs: Array) -> int:
        """Steps to the last of the rows under inputs (N, n_actuators); a code of kernels.march."""
        workspace = self.engine.workspace_of_derivatives
        if self.in_python:
            return self._advance_in_python(march, rows, inputs)
        arguments = self.model, march, workspace, rows, inputs, self.substeps
        return int(self.engine.prepared(held.roll, arguments)(*arguments))

    def refine(self, march: March, begin: Array, t0: float, count: int, inputs: Array) -> tuple[HeldSteps, Rows] | None:
        """Move over an interval, whose steps failed, in smaller ones: these and their rows; None where all fail.

        begin: memory of the march before. Where all fail, the march stays that of the first try.
        """
        finer, first = copy.copy(self), march.memory.copy()
        for _ in range(HALVINGS):
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
        workspace, number, s = self.engine.workspace_of_derivatives, march.number, march.state
        hold_arguments = self.model, march, workspace
        hold = self.engine.prepared(held.hold, hold_arguments)
        arguments = self.model, march, workspace, rows, 1
        step = self.engine.prepared(codes.march, arguments)
        if march.counts[m.ROW] == 1:
            held.first_row(march, rows)
        for k in range((march.counts[m.ROW] - 1) // self.substeps, len(inputs)):
            march.inputs[:, 0] = inputs[k]
            self._evaluate_python(march, s[m.Q], s[m.QD], inputs[k], number[m.TIME])
            if hold(*hold_arguments) != evaluate.DONE:
                return codes.NOT_FINITE
            for _ in range(self.substeps):
                while (code := int(step(*arguments))) == codes.NEEDS_PYTHON:
                    self._evaluate_python(march, s[m.Q_NEW], s[m.QD_NEW], inputs[k], number[m.TIME] + number[m.STEP])
                if code not in DONE:
                    return code
        return codes.FINISHED

    def _evaluate_python(self, march: March, q: Array, qd: Array, u: Array, t: float) -> None:
        loading = self.engine.loading
        if loading:
            self.engine.load_values(q, qd, float(t), march.external)
        if loading.actuators:
            loading.actuate(march.external, self.engine.tree, q, qd, u, self.engine.actuator_names)

    def rewind(self, march: March) -> None:
        """Change rotations beyond their limit for those of the same pose a turn away: a new start."""
        charts = self.system.charts
        if charts.joints and charts.largest_angle(march.state[m.Q]) > FARTHEST:
            q, qd = charts.unwound(march.state[m.Q], march.state[m.QD])
            march.state[m.Q], march.state[m.QD] = q, qd
            march.counts[m.FRESH] = 1
            march.counts[m.FACTORED] = 0

    def chart_derivative(self, march: March) -> Array | None:
        """Derivative (2 ndof, 2 ndof) of what `rewind` does to coordinates and rates, None where it does nothing.

        By differences of fourth order.
        """
        charts, ndof = self.system.charts, self.engine.ndof
        if not charts.joints or charts.largest_angle(march.state[m.Q]) <= FARTHEST:
            return None
        x = march.state[[m.Q, m.QD]].ravel()

        def changed(direction: Array, step: float) -> Array:
            y = x + step * direction
            return np.concatenate(charts.unwound(y[:ndof], y[ndof:]))

        columns = []
        for d in np.eye(2 * ndof):
            near, far = ((changed(d, h) - changed(d, -h)) / (2.0 * h) for h in (DIFFERENCE, 2.0 * DIFFERENCE))
            columns.append((4.0 * near - far) / 3.0)
        return np.array(columns).T

    def derivative_record(self) -> March:
        """A march for derivatives, beside the one that moves."""
        march = self.record()
        march.begin.closing[2] = march.counts[m.MOST_RANK] = int(self.system.closing[2])
        return march

    def equations(self, n: int) -> Equations:
        """Room for what numbers change in the equations over n intervals; 0: nothing."""
        ndof, n_loops, rows = self.engine.ndof, self.engine.loop_layout.m, n * self.substeps + 1 if n else 0
        shapes = (rows, ndof), (rows, n_loops), *((2 * n, ndof), (2 * n, n_loops)) * 2
        return Equations._make(map(np.zeros, shapes))

    def derive(self, kernel: Any, march: March, rows: Rows, inputs: Array, *arguments: Any) -> None:
        """One of the passes of kernels.held_inputs over rows."""
        if self.tolerance > STEP_TOLERANCE:
            warnings.warn(
                f"derivatives of steps of '{self.robot.name}' are as loose as its Newton iteration, whose tolerance is "
                f"{self.tolerance:.2g}; {STEP_TOLERANCE:.0e} or less makes them tight", SorosimWarning, stacklevel=4,
            )  # fmt: skip
        if self.in_python:
            raise InputError("derivatives of steps", "loads and actuators that are compiled",
                             f"some of '{self.robot.name}' that Python computes")  # fmt: skip
        workspace = self.engine.workspace_of_derivatives
        call = (self.model, march, workspace, rows, inputs, self.substeps, *arguments)
        if not self.engine.prepared(kernel, call)(*call):
            raise ConvergenceError(f"derivatives of steps of '{self.robot.name}': a step has a singular matrix")

    def failure(self, march: March, code: int, what: str, *, refined: bool = False) -> ConvergenceError:
        """What a step that failed says; refined: whether smaller ones failed too."""
        s, t, h = march.state, float(march.number[m.TIME]), float(march.number[m.STEP])
        q, qd, qdd = (s[row].copy() for row in (m.Q_NEW, m.QD_NEW, m.QDD_NEW))
        trial = Trial(t + h, q, qd, qdd, march.multiplier[m.L_NEW].copy())
        self.hold(march.end.u)
        last = t, self.system.state(s[m.Q], s[m.QD])
        report = diagnose_motion(self.system, last, h, trial, None, (self.tolerance, self.tolerance))
        smaller = f"; so do steps down to {h / 2**HALVINGS:.3g} s" if refined else ""
        hint = f"{report.advice}; or more" if report.advice else "more"
        return ConvergenceError(
            f"{what} of '{self.robot.name}' at t = {t:.6g} s: {MESSAGES[code]}{report.words}{smaller}; {hint} "
            f"substeps than {self.substeps} of {h:.3g} s", None, report,
        )  # fmt: skip


class Stepper:
    """A robot that moves in equal steps, under inputs that are held over each.

    Parameters
    ----------
    robot : Robot
    dt : float or str
        Time over which inputs are held [s].
    method : {"generalized-alpha", "newmark", "euler"}
        Integrator. Default: generalized-alpha. Backward Euler's method is of first order and damps most.
    substeps : int
        Steps of the integrator in each dt. Default: 1.
    spectral_radius : float
        What the generalized-alpha method leaves of too stiff motions after a step, 0 to 1. Default: 0.8.
    tolerance : float
        Of Newton's method, relative to 1 + |q|. Default: 1e-8; derivatives of steps are as exact as that.
    driven : mapping of link or coordinate name to float, str or signal
        Motions, as in `simulate`: `step` may replace them. Default: those of the robot's file.

    Attributes
    ----------
    refined : int
        How many intervals since the reset needed smaller steps.

    Notes
    -----
    Where a step finds no solution, its interval is taken again in 2, 4, up to 64 times as many. At the begin of each dt
    the accelerations are those of forward dynamics under the new inputs. Source:
    docs/theory.md, 10 and 14.

    Examples
    --------
    >>> sim = sorosim.Stepper(sorosim.load("pendulum"), "10 ms")
    >>> state = sim.reset(q=[0.1])
    >>> state = sim.step()
    """

    def __init__(
        self, robot: Robot, dt: Number, *, method: str | None = None, substeps: int | None = None,
        spectral_radius: float | None = None, tolerance: float | None = None,
        driven: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._steps = HeldSteps(
            robot, dt, driven, method=method, substeps=substeps, spectral_radius=spectral_radius, tolerance=tolerance
        )
        self.robot, self.dt = robot, self._steps.dt
        self._march, self._rows = self._steps.record(), self._steps.rows(1)
        self._held = np.zeros((1, robot.engine.n_actuators))
        self._start, self._count = 0.0, 0  # time of the reset, intervals since
        self._state: StepState | None = None
        self.refined = 0
        # of the last interval: its steps and rows, inputs before it, whether it began anew, and how its end came to
        # another chart
        self._last: tuple[HeldSteps, Rows, Array, bool, Array | None] | None = None
        self._derivatives: March | None = None

    def __repr__(self) -> str:
        where = "not reset" if self._state is None else f"t = {self._state.t:g} s"
        return f"<Stepper of '{self.robot.name}': dt = {self.dt:g} s, {where}>"

    def reset(self, q: Any = None, qd: Values | None = None, t: Number = 0.0, *, u: Values | None = None) -> StepState:
        """Put the robot to a start.

        Parameters
        ----------
        q : (ndof,) array_like, mapping, Equilibrium, "equilibrium" or "assembled"
            As q0 of `simulate`. Default: the initial block of the file.
        qd : (ndof,) array_like or mapping
            Rates. Default: those of the file.
        t : float or str
            Time [s].
        u : array_like or mapping
            Inputs of an equilibrium to start from. Default: zero.
        """
        inputs, time = self.robot.inputs(u), amount("t", t, "time")
        self._steps.begin(self._march, q, qd, time, inputs)
        self._march.path[:] = 0.0
        self._start, self._count, self._last, self.refined = time, 0, None, 0
        self._state = self._snapshot()
        return self._state

    def step(self, u: Values | None = None, driven: Mapping[str, Number] | None = None) -> StepState:
        """Move by dt.

        Parameters
        ----------
        u : array_like, or mapping of actuator name to float or str
            Inputs. Default: those of the step before.
        driven : mapping of link or coordinate name to float or str
            Where driven coordinates are at the end of the step: they go there smoothly, and arrive at the mean rate of
            the step. They stay there until they are named again.

        Raises
        ------
        ConvergenceError
            No steps of the integrator found a solution, nor smaller ones. The state is that before the step.
        InputError
            A wrong name, length or value; no `reset` before.
        """
        before = self.state
        inputs = before.u if u is None else self._inputs(u)
        self._drive(driven, before.t)  # from here on nothing is refused
        self._held[0], self._last = inputs, None
        fresh = bool(self._march.counts[m.FRESH])
        self._rows.t[:] = self._steps.times(self._start, 1, self._count)
        self._steps.at_first_row(self._march)
        steps, rows, begin = self._steps, self._rows, self._march.memory.copy()
        code = steps.advance(self._march, rows, self._held)
        if code not in DONE:
            finer = steps.refine(self._march, begin, self._start, self._count, self._held)
            if finer is None:
                error = steps.failure(self._march, code, "a step", refined=True)
                self._restore(before)
                raise error
            steps, rows = finer
            self.refined += 1
        self._count += 1
        self._last = steps, rows, before.u, fresh, self._steps.chart_derivative(self._march)
        self._steps.rewind(self._march)
        self._state = self._snapshot()
        return self._state

    @property
    def state(self) -> StepState:
        """The state; it may be set to one that was read before, or to one with other coordinates."""
        if self._state is None:
            raise InputError("Stepper", "a reset before the first step", "none", "sim.reset() begins at the start")
        return self._state

    @state.setter
    def state(self, state: StepState) -> None:
        if not isinstance(state, StepState):
            raise InputError("state", "a state of a Stepper", type(state).__name__)
        self._restore(state)
        self._state = self._snapshot()

    def copy(self) -> Stepper:
        """Another stepper of the same robot in the same state."""
        out = object.__new__(Stepper)
        vars(out).update(vars(self))
        out._march, out._rows, out._held = self._steps.record(), self._steps.rows(1), self._held.copy()
        out._last = out._derivatives = None
        if self._state is not None:
            out._restore(self._state)
        return out

    def linearize(self) -> tuple[Array, Array]:
        """Derivatives of the last step, exact for what was computed.

        Returns
        -------
        A : (2 ndof, 2 ndof) ndarray
            Of [q; qd] at its end by those at its begin, rows and columns of driven coordinates being zero. What the
            method remembers beyond these, its own accelerations less those of the motion, stays.
        B : (2 ndof, n_actuators) ndarray
            By the inputs.

        Raises
        ------
        InputError
            No step since the reset; loads that Python computes.
        """
        if self._last is None:
            raise InputError("Stepper.linearize", "a step before", "none since the reset or the change of the state")
        steps, rows, before, fresh, change = self._last
        n, n_inputs = self.robot.ndof, len(before)
        size = 2 * n + n_inputs
        dot, u_dot, dots = np.zeros((size, held.N_VECTORS, n)), np.zeros((size, 1, n_inputs)), np.zeros((size, 2, 2, n))
        free = ~self._steps.system.partition.mask
        dot[:n, held.Q], dot[n : 2 * n, held.QD], u_dot[2 * n :, 0] = np.diag(free), np.diag(free), np.eye(n_inputs)
        if self._derivatives is None:
            self._derivatives = self._steps.derivative_record()
        steps.set_step(self._derivatives)
        self._derivatives.path[:] = self._march.path
        arguments = fresh, before, dot, u_dot, steps.equations(0), dots
        steps.derive(held.push_forward, self._derivatives, rows, self._held, *arguments)
        columns = dots[:, :, 1].reshape(size, 2 * n).T
        if change is not None:
            columns = change @ columns
        return columns[:, : 2 * n], columns[:, 2 * n :]

    def measure(self) -> dict[str, Array]:
        """What all sensors read in the state, as `Robot.measure`."""
        state, now = self.state, self._march
        motion: dict[str, Any] = {"u": state.u, "t": state.t}
        if not now.counts[m.FRESH]:
            motion |= {"qdd": now.state[m.QDD].copy(), "lam": now.multiplier[m.L].copy()}
        elif len(self._steps.system.partition.driven):
            partition = self._steps.system.partition
            rates = map(float, now.state[m.QDD, partition.driven])
            motion["driven_qdd"] = dict(zip(partition.names, rates, strict=True))
        return self.robot.measure(state.q, state.qd, **motion)

    # -- what a step begins with -------------------------------------------------------------------------------------

    def _inputs(self, u: Values) -> Array:
        if isinstance(u, np.ndarray) and u.dtype == float and u.shape == self._held[0].shape and np.isfinite(u).all():
            return u
        return self.robot.inputs(u)

    def _drive(self, driven: Mapping[str, Number] | None, t: float) -> None:
        """Let driven coordinates move to targets, or rest where they came to."""
        if driven is None and not len(self._march.path):
            return
        path, partition, layout = self._march.path, self._steps.system.partition, self.robot.engine.layout
        targets = {}
        for name, value in by_name("driven", driven).items():
            index = layout.coordinate(name, "driven")
            if index not in partition.driven:
                hint = "name it in Stepper(..., driven={name: value})"
                raise InputError(f"driven.{name}", "a coordinate that is driven", "a free one", hint)
            targets[index] = amount(f"driven.{name}", value, layout.dimensions[index])
        for k, index in enumerate(partition.driven):
            q, qd = self._march.state[m.Q, index], self._march.state[m.QD, index]
            if index in targets or path[k, 0] != 0.0:
                mean, h = (targets.get(index, q) - q) / self.dt, self.dt
                # q + qd x + c x^2 + d x^3 with the rate `mean` at the end
                path[k] = 1.0, t, q, qd, 2.0 * (mean - qd) / h, (qd - mean) / h**2

    def _snapshot(self) -> StepState:
        march = self._march
        memory = march.memory.copy(), self._start, self._count
        q, qd, u = march.state[m.Q].copy(), march.state[m.QD].copy(), march.begin.u.copy()
        return StepState(float(march.number[m.TIME]), q, qd, u, memory)

    def _restore(self, state: StepState) -> None:
        march = self._march
        self._last = None  # the rows are those of another step
        if state.memory is not None and state.memory[0].shape == march.memory.shape:
            now = march.memory.copy()
            march.memory[:], self._start, self._count = state.memory
            parts = (march.state[m.Q], state.q), (march.state[m.QD], state.qd), (march.begin.u, state.u)
            if march.number[m.TIME] == state.t and all(np.array_equal(*pair) for pair in parts):
                return
            march.memory[:] = now  # something was changed: a new start
        q, qd = self.robot.coordinates(state.q), self.robot.coordinates(state.qd, "qd", order=1)
        self._steps.begin_at(march, q, qd, float(state.t), self.robot.inputs(state.u))
        self._start, self._count = float(state.t), 0
