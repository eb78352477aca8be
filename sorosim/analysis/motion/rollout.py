"""A motion under held inputs, and its exact derivatives by inputs, start and numbers (docs/theory.md, 14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.discrete_steps import ROLLOUT_TOLERANCE, DiscreteSteps
from sorosim.analysis.motion.motion import Derivatives, Segment, SteppedMotion
from sorosim.analysis.motion.simulate import StartingState
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.analysis.sensitivity import (
    MovingFrames,
    Sensitivities,
    closed_coordinates,
    closed_rates,
    equilibrium_by_inputs,
    opened_loops,
    scalars_of,
)
from sorosim.base.arrays import Array, IntArray
from sorosim.base.complex_step import derivative
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.base.methods import Method
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, Values, describe
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.dynamics.variation import Variation, VariedEngine
from sorosim.mechanics.engine.prescribed import Inputs, input_rows
from sorosim.mechanics.kernels import begins
from sorosim.mechanics.kernels import discrete_steps as held
from sorosim.mechanics.kernels.discrete_steps import Adjoint, Equations
from sorosim.mechanics.kernels.march import Rows
from sorosim.mechanics.robot import Robot, check_robot

# steps by which controllers are differentiated: of the largest value of a coordinate or rate in a motion, or of this
STATE_STEP, LEAST_STATE = 1e-3, 1e-3


class Cotangents(NamedTuple):
    """Derivatives of a scalar of a motion."""

    u: Array  # (N, n_actuators)
    q0: Array  # (ndof,), zero for driven coordinates
    qd0: Array  # (ndof,)
    numbers: Array  # (n_numbers,)


class Tangents(NamedTuple):
    """Change of a motion."""

    q: Array  # (N + 1, ndof), or (K, N + 1, ndof)
    qd: Array  # (N + 1, ndof), or (K, N + 1, ndof)


class AtRest(NamedTuple):
    """A start from an equilibrium under the first inputs that is known already, as "equilibrium" is."""

    equilibrium: Equilibrium


class Feedback(NamedTuple):
    """Inputs of n intervals that a controller gives at their begins, in the place of such that are known."""

    n: int
    controller: Callable[[float, Array, Array], Array]  # of t, q, qd, a function without memory; gives (n_actuators,)
    sets: IntArray  # inputs that it sets, which are zero in an equilibrium to start from


@public
def rollout(
    robot: Robot, u: Inputs | Feedback, dt: Number, q0: Any = None, qd0: Values | None = None,
    t0: Number = 0.0, numbers: Sequence[str] | Sensitivities | None = None, *,
    method: Method | str | None = None, driven: Mapping[str, Any] | None = None, **options: Any,
) -> Rollout:  # fmt: skip
    """Move a robot in equal steps under a sequence of inputs.

    Parameters
    ----------
    robot : Robot
    u : (N, n_actuators) array_like, or mapping of actuator name to (N,) array_like or signal
        Inputs, each held over dt, texts with units included; signals of t (see `simulate`) are taken where each dt
        begins. What a mapping leaves out is zero.
    dt : float or str
        Time over which inputs are held [s].
    q0, qd0 : as ``q`` and ``qd`` of `Stepper.reset`
        Start. "equilibrium" is that under the first inputs: derivatives by these and by numbers count how it changes
        with them. Any other start is held, but for loops that numbers would open: they close again by the least motion.
        Rates that loops give to what the start leaves free follow both.
    t0 : float or str
        Time at the start [s].
    numbers : sequence of str, or what `sensitivities` makes of them
        Numbers of the robot's file by whose paths derivatives are wanted. Several motions of a robot may share the
        same `sensitivities`.
    method, driven, **options
        As in `Stepper`, but for a `tolerance` of 1e-11 where none is given.

    Returns
    -------
    Rollout

    Raises
    ------
    ConvergenceError
        A step found no solution, nor did smaller ones, or a joint came to a whole turn, where its coordinates are
        singular; ``partial`` is the motion up to there.
    InputError
        A wrong name, length or value.
    """
    given = {"method": method, **options}
    steps = DiscreteSteps(check_robot(robot), dt, driven, given, usual_tolerance=ROLLOUT_TOLERANCE)
    time = amount("t0", t0, "time")
    feedback = u if isinstance(u, Feedback) else None
    if feedback is None:
        inputs = input_rows(robot, u, {"N": None}, clock=lambda n: time + steps.dt * np.arange(float(n)))
    else:
        inputs = np.zeros((feedback.n, len(robot.actuator_names)))
    if numbers and steps.engine.adds_inertia:
        hint = "`sensitivities` has derivatives of equations"
        got = "a robot with rods whose length is a coordinate, or with concentric tubes"
        raise InputError("numbers", "rods of given lengths, for derivatives of motions by numbers", got, hint)
    by, motion = _by_numbers(robot, numbers or ()), SteppedMotion(steps)
    equilibrium = q0.equilibrium if isinstance(q0, AtRest) else None
    first = inputs[0] if len(inputs) else np.zeros(inputs.shape[1])
    if isinstance(q0, str) and q0 == "equilibrium":
        driven_to = map(float, steps.system.driven.jets(time)[:, 0])
        try:
            q0 = equilibrium = statics(robot, first, driven=dict(zip(steps.driven_names, driven_to, strict=True)))
        except ConvergenceError as error:
            what = f"rollout of '{robot.name}': there is no equilibrium to start from: {error}"
            raise ConvergenceError(what, error.partial, error.report) from None
    start = motion.begin(equilibrium or q0, qd0, time, first, names=("q0", "qd0"))
    return Rollout(motion, inputs, by.names, start=start, equilibrium=equilibrium, by=by, feedback=feedback)


@public
class Rollout:
    """A motion under held inputs; made by `rollout`.

    Attributes
    ----------
    robot : Robot
    t : (N + 1,) ndarray
        Ends of the intervals, with the start [s].
    q, qd : (N + 1, ndof) ndarray
        Coordinates and rates there. Rotations that went far are given a turn back, those of the start too.
    u : (N, n_actuators) ndarray
        Inputs.
    numbers : tuple of str
        Numbers of the file by which derivatives are wanted.
    refined : int
        How many intervals needed smaller steps, as in `Stepper`; derivatives are those of the steps that were taken.
    """

    _feedback: Feedback | None

    def __init__(
        self, motion: SteppedMotion, u: Array, numbers: tuple[str, ...] = (), stop: Event | None = None,
        start: StartingState | None = None, equilibrium: Equilibrium | None = None, by: Sensitivities | None = None,
        feedback: Feedback | None = None,
    ) -> None:  # fmt: skip
        """Move a motion on.

        stop : set where it is not wanted any more; start, equilibrium : that it starts from, if derivatives are to
        count how these change; by : derivatives by the numbers, if they are known already; feedback : what fills `u`.
        """
        steps, march, n = motion.steps, motion.march, len(u)
        self._set_up(steps, u, numbers, start, equilibrium)
        self._feedback = feedback
        if by is not None:
            self._by = by
        rows, before = steps.rows(n), motion.refined
        self.t: Array = motion.start + steps.dt * np.arange(float(motion.count), motion.count + n + 0.5)
        self.q, self.qd = np.zeros((n + 1, steps.engine.ndof)), np.zeros((n + 1, steps.engine.ndof))
        self._strain = np.zeros((n + 1, steps.system.n_strains))
        motion.prepare(rows, n)
        self._start_change = motion.rechart()
        self.q[0], self.qd[0], self._strain[0] = march.state.q, march.state.qd, march.strain[0]
        self._strain_begins = bool(march.counts["fresh"]) and motion.count == 0  # with the coordinates of the start
        self._segments, error = motion.move(rows, u, stop, controller=None if feedback is None else feedback.controller)
        for first, last, own, ends, _ in self._segments:
            self.q[first : last + 1], self.qd[first : last + 1] = own.q[ends], own.qd[ends]
            self._strain[first : last + 1] = own.strain[ends]
        self.refined, self._rank = motion.refined - before, motion.rank
        if error is not None:
            k = self._segments[-1].last
            self.t, self.q, self.qd, self.u = self.t[: k + 1], self.q[: k + 1], self.qd[: k + 1], u[:k]
            error.partial = self
            raise error

    @classmethod
    def _of_rows(
        cls, steps: DiscreteSteps, u: Array, numbers: tuple[str, ...], t: Array, rows: Rows, rank: float, begins: bool
    ) -> Rollout:  # fmt: skip
        """A motion that was computed already, in steps of the usual size and one chart of rotations.

        begins : whether Maxwell elements began with the coordinates of the start.
        """
        out, ends = cls.__new__(cls), steps.ends(len(u))
        out._set_up(steps, u, numbers)
        out.t, out.q, out.qd, out._strain = t, rows.q[ends], rows.qd[ends], rows.strain[ends]
        out._segments = [Segment(0, len(u), rows, ends, None)] if len(u) else []
        out._start_change, out._strain_begins, out.refined, out._rank = None, begins, 0, rank
        return out

    def _set_up(
        self, steps: DiscreteSteps, u: Array, numbers: tuple[str, ...], start: StartingState | None = None,
        equilibrium: Equilibrium | None = None,
    ) -> None:  # fmt: skip
        self.robot, self.u, self.numbers, self._steps = steps.robot, u, numbers, steps
        self._start, self._equilibrium, self._derivatives = start, equilibrium, Derivatives(steps)
        self._feedback = None

    def __repr__(self) -> str:
        return f"<Rollout of '{self.robot.name}': {len(self.u)} steps of {self._steps.dt:g} s>"

    def __getstate__(self) -> dict[str, Any]:  # without what is made anew for derivatives
        kept = {name: value for name, value in vars(self).items() if name != "_by"}
        return kept | {"_derivatives": Derivatives(self._steps)}

    @property
    def steps(self) -> DiscreteSteps:
        """By which it moved."""
        return self._steps

    def with_numbers(self, by: Sensitivities) -> Rollout:
        """The same motion, with derivatives by these numbers."""
        out = copy(self)
        vars(out).pop("_by_start", None)
        out.numbers, out._by = _by_numbers(self.robot, by).names, by
        return out

    @cached_property
    def _by(self) -> Sensitivities:
        return _by_numbers(self.robot, self.numbers)

    def vjp(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """Derivatives of a scalar f of the motion, by those of f by its rows.

        Parameters
        ----------
        q_bar, qd_bar : (N + 1, ndof) array_like
            Derivatives of f by ``q`` and ``qd``. Default: zero.

        Returns
        -------
        Cotangents
            Derivatives of f by the inputs, the start and the numbers.

        Notes
        -----
        Those by the start have inputs and numbers held. The discrete adjoint: exact for the steps that were computed,
        smaller ones included, up to the tolerance of Newton's method. Contacts and friction count as their laws are;
        where surfaces touch or slip for the first time the derivative jumps.
        """
        self._steps.warn_of_tolerance(ROLLOUT_TOLERANCE)
        return self.pull(q_bar, qd_bar)

    def pull(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """As `vjp`, whatever the tolerance of the steps is."""
        if self._feedback is not None:
            raise InputError("vjp", "a motion whose inputs are known", "one under a controller", "jvp has its tangents")
        n, ndof = len(self.u), self._steps.engine.ndof
        cotangents = np.array([self._rows_like("q_bar", q_bar), self._rows_like("qd_bar", qd_bar)])
        u_cotangent, cotangent = np.zeros_like(self.u), np.zeros((begins.N_VECTORS, ndof))
        maxwell, numbers = self._steps.system.maxwell, np.zeros(len(self.numbers))
        strain = np.zeros(maxwell.n)
        for segment in reversed(self._segments):
            first, last = segment.first, segment.last
            local = cotangents[:, first : last + 1].copy()
            if last < n:
                local[:, -1] = 0.0  # what is said of this row is said of it in the next chart
            inputs = self.u[first:last]
            size = (last - first, len(segment.rows.t)) if len(numbers) else ()
            adjoint = empty_adjoint(self._steps, *size)
            into = cotangent, strain, u_cotangent[first:last]
            self._derive(held.motion_vjp, segment, inputs, True, local, *into, adjoint)
            numbers += [self._by_number(one, segment, adjoint) for one in self._by.engines]
            cotangent[begins.QDD :] = 0.0
            if segment.change is not None:
                cotangent[: begins.QDD] = segment.change.pull(cotangent[: begins.QDD])
        if not self._segments:
            cotangent[: begins.QDD] = cotangents[:, 0]
        if self._start_change is not None:
            cotangent[: begins.QDD] = self._start_change.pull(cotangent[: begins.QDD])
        if maxwell.n and self._strain_begins:
            cotangent[begins.Q] += maxwell.start_change(np.eye(ndof)) @ strain
            rests = (derivative(one.varied.elastic.rest) for one in self._by.engines)
            numbers -= [strain @ maxwell.start_change(rest) for rest in rests]
        cotangent[: begins.QDD, self._steps.system.partition.mask] = 0.0
        by_start = np.tensordot(cotangent[: begins.QDD], self._by_start, 2)
        numbers += by_start[: len(numbers)]
        u_cotangent[:1] += by_start[len(numbers) :]
        return Cotangents(u_cotangent, cotangent[begins.Q].copy(), cotangent[begins.QD].copy(), numbers)

    @cached_property
    def _by_start(self) -> Array:
        """Derivatives (2, ndof, n_numbers + n_actuators) of the start [q, qd] by numbers and the first inputs."""
        start, eq, n = self._start, self._equilibrium, len(self.numbers)
        out = np.zeros((2, self._steps.engine.ndof, n + self.u.shape[1]))
        if start is None and n and self.robot.n_multipliers and opened_loops(self._by, self.q[0]).any():
            got, hint = "some that open them", "sorosim.rollout begins anew, and closes them"
            raise InputError("numbers", "numbers that leave loops closed where a motion goes on", got, hint)
        if start is None or not out.size:
            return out
        if eq is not None:
            out[0] = np.hstack([self._by.equilibrium(eq).q, equilibrium_by_inputs(eq)])
        elif n and len(start.free):
            out[0, :, :n] = closed_coordinates(self._by, start.q, start.free)
        if len(start.free_rates) and (eq is not None or n):
            out[1] = closed_rates(self._by, start.q, start.qd, start.given, start.free_rates, out[0])
        return out

    def place_vjp(
        self, place: Any, s: float = 1.0, *, position: ArrayLike | None = None, pose: ArrayLike | None = None
    ) -> Cotangents:
        """Derivatives of a scalar f of the motion of a place, by those of f by its positions or poses.

        Those by numbers count both ways in which these move the place: through the coordinates, and while these stay.

        Parameters
        ----------
        place : str, tuple or Anchor
            A link, a frame of a rigid link, or an `Anchor`.
        s : float
            Of a link that is a rod: the fraction of its length.
        position : (N + 1, 3) array_like
            Derivatives of f by the world position.
        pose : (N + 1, 4, 4) array_like
            Derivatives of f by the entries of the pose.
        """
        n, robot = len(self.q), self.robot
        frames = LinkFrames(robot.description, robot.engine, [place if s == 1.0 else (place, s)])
        if position is None and pose is None:
            raise InputError("place_vjp", "derivatives by positions or poses", "neither")
        cotangent = np.zeros((n, 4, 4)) if pose is None else like("pose", pose, (n, 4, 4))
        if position is not None:
            cotangent[:, :3, 3] += like("position", position, (n, 3))
        q_bar, own = np.zeros_like(self.q), np.zeros(len(self.numbers))
        moving = MovingFrames(self._by, frames)
        for k, q in enumerate(self.q):
            if not cotangent[k].any():
                continue
            (g,), (J,) = frames.jacobians(q)
            R, one = g[:3, :3], cotangent[k, :3]
            W = R.T @ one[:, :3]
            twist = np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1], *(R.T @ one[:, 3])])
            q_bar[k] = J.T @ twist
            own += twist @ moving.twists(q)[0]
        found = self.vjp(q_bar)
        return found._replace(numbers=found.numbers + own)

    def positions(self, link: str, s: float = 1.0) -> Array:
        """World positions (N + 1, 3) of a place [m]."""
        return np.array([self.robot.pose(q, link, s=s)[:3, 3] for q in self.q])

    def jvp(
        self, u: ArrayLike | None = None, *, q0: ArrayLike | None = None, qd0: ArrayLike | None = None,
        numbers: ArrayLike | None = None,
    ) -> Tangents:  # fmt: skip
        """Change of the motion with inputs, start and numbers, along one direction or several at once.

        A step is factored once for all directions.

        Parameters
        ----------
        u : (N, n_actuators) or (K, N, n_actuators) array_like
            Change of the inputs. Default: zero.
        q0, qd0 : (ndof,) or (K, ndof) array_like
            Change of the start; entries of driven coordinates count as zero. Default: zero.
        numbers : (n_numbers,) or (K, n_numbers) array_like
            Change of the numbers. Default: zero.

        Returns
        -------
        Tangents
            Of K directions with K as a first dimension, where any argument has it.
        """
        return self.push(u, q0=q0, qd0=qd0, numbers=numbers)[0]

    def push(
        self, u: ArrayLike | None = None, *, q0: ArrayLike | None = None, qd0: ArrayLike | None = None,
        numbers: ArrayLike | None = None,
    ) -> tuple[Tangents, Array]:  # fmt: skip
        """As `jvp`, with the change of the inputs, which a controller adds to."""
        self._steps.warn_of_tolerance(ROLLOUT_TOLERANCE)
        n, ndof = len(self.u), self._steps.engine.ndof
        shapes = {"u": self.u.shape, "q0": (ndof,), "qd0": (ndof,), "numbers": (len(self.numbers),)}
        given = {name: x for name, x in zip(shapes, (u, q0, qd0, numbers), strict=True) if x is not None}
        several = [name for name, x in given.items() if np.array(x, dtype=object).ndim == len(shapes[name]) + 1]
        count = len(np.array(given[several[0]], dtype=object)) if several else 1
        directions = {name: np.zeros((count, *shape)) for name, shape in shapes.items()}
        for name, x in given.items():
            directions[name][:] = like(name, x, (count, *shapes[name]) if name in several else shapes[name])
        u_tangent, change = directions["u"], directions["numbers"]
        columns = self._steps.directions(count, n)  # one a direction, as compiled code has them
        columns.inputs[:] = np.moveaxis(u_tangent, 0, -1)
        tangent, tangents = columns.memory[: begins.QDD], np.zeros((2, n + 1, ndof, count))
        tangent[:] = np.stack([directions["q0"].T, directions["qd0"].T])
        tangent[:, self._steps.system.partition.mask] = 0.0
        first_u = u_tangent[:, :1].sum(axis=1)
        if self._feedback is not None:
            first_u[:, self._feedback.sets] = 0.0
        along = np.concatenate([change, first_u], axis=1)
        if along.any():
            tangent += np.einsum("cia,ka->cik", self._by_start, along)
        if self._start_change is not None:
            tangent[:] = self._start_change.push(tangent)
        maxwell = self._steps.system.maxwell
        if maxwell.n and self._strain_begins:
            rests = [derivative(one.varied.elastic.rest) for one in self._by.engines]
            moved = tangent[0].T - (change @ np.array(rests) if rests else 0.0)
            columns.strain[:] = maxwell.start_change(moved).T
        tangents[:, 0] = tangent
        for segment in self._segments:
            first, last = segment.first, segment.last
            if segment.change is not None:
                tangent[:] = segment.change.push(tangent)
                tangents[:, first] = tangent
            out, before = np.zeros((2, last - first + 1, ndof, count)), np.zeros(self.u.shape[1])
            varied, gains = self._change_of_equations(segment, change), self._gains(segment)
            own = columns._replace(inputs=columns.inputs[first:last])
            self._derive(held.motion_jvp, segment, self.u[first:last], True, before, own, gains, varied, out)
            tangents[:, first + 1 : last + 1] = out[:, 1:]
        found = np.ascontiguousarray(np.moveaxis(tangents, -1, 1))
        changes = np.moveaxis(columns.inputs, -1, 0)
        return Tangents(*(found if several else found[:, 0])), changes if several else changes[0]

    def _gains(self, segment: Segment) -> Array:
        """Derivatives (N, 2, n_actuators, ndof) of inputs by the states at begins of intervals.

        Those of a controller are differences of fourth order, which rounding limits to 1e-11 of what it gives.
        """
        if self._feedback is None:
            return self._steps.no_feedback
        controller, rows = self._feedback.controller, segment.rows
        out = np.zeros((segment.last - segment.first, 2, self.u.shape[1], self._steps.engine.ndof))
        sizes = [np.maximum(np.abs(x).max(axis=0), LEAST_STATE) for x in (rows.q, rows.qd)]
        for k, row in enumerate(segment.ends[:-1]):
            for part, size in enumerate(sizes):
                for i, h in enumerate(STATE_STEP * size):
                    found = []
                    for step in (-2.0, -1.0, 1.0, 2.0):
                        state = [rows.q[row].copy(), rows.qd[row].copy()]
                        state[part][i] += step * h
                        found.append(controller(float(rows.t[row]), *state))
                    out[k, part, :, i] = (found[0] - 8.0 * found[1] + 8.0 * found[2] - found[3]) / (12.0 * h)
        return out

    @cached_property
    def run(self) -> Run:
        """The motion as a `Run`, which saves, plots and plays; a row has the inputs of the interval that it ends."""
        strain = self._strain[: len(self.t)] if self._steps.system.n_strains else None
        return run_of(self._steps, self.t, self.q, self.qd, self.u, "sorosim.rollout", strain)

    # -- segments ----------------------------------------------------------------------------------------------------

    def _derive(self, kernel: Any, segment: Segment, inputs: Array, *arguments: object) -> None:
        """One of the two passes over a segment."""
        self._derivatives(kernel, self._rank, segment.rows, inputs, segment.ends, *arguments)

    def _by_number(self, varied: VariedEngine, segment: Segment, adjoint: Adjoint) -> float:
        """The part of a segment in a derivative by a number."""
        arrays = varied.linear_arrays()
        if arrays is not None:
            return float(sum((getattr(adjoint, name) * part).sum() for name, part in arrays.items()))
        given = adjoint.equations
        change = _varied(self._steps, segment, self.u[segment.first : segment.last], varied, given)
        return float(
            (given.residual * change.residual).sum() - (given.error * change.error).sum()
            + (given.strain * change.strain).sum()
            + (given.force * change.force).sum() + (given.constraint * change.constraint).sum()
        )  # fmt: skip

    def _change_of_equations(self, segment: Segment, changes: Array) -> Equations:
        """What changes (K, n_numbers) of the numbers change in the equations of a segment."""
        if not changes.any():
            return self._steps.no_changes
        varying, u = np.flatnonzero(changes.any(axis=0)), self.u[segment.first : segment.last]
        engines = [self._by.engines[i] for i in varying]
        parts = varied_equations(self._steps, self._derive, segment, u, engines)
        tables = (np.stack(table) for table in zip(*parts, strict=True))
        return Equations._make(np.tensordot(table, changes[:, varying], (0, 1)) for table in tables)

    def _rows_like(self, name: str, value: ArrayLike | None) -> Array:
        return np.zeros_like(self.q) if value is None else like(name, value, self.q.shape)


def varied_equations(
    steps: DiscreteSteps, derive: Callable[..., None], segment: Segment, u: Array, engines: Sequence[VariedEngine]
) -> list[Equations]:
    """Derivatives of the equations of a segment that begins anew, one of each engine by its number.

    u (last - first, n_actuators) : its inputs; derive(kernel, segment, u, ...) : makes a pass of `Derivatives` over it.
    """
    n, ndof = segment.last - segment.first, steps.engine.ndof
    adjoint = empty_adjoint(steps, n, len(segment.rows.t))
    bars = np.zeros((2, n + 1, ndof)), np.zeros((begins.N_VECTORS, ndof)), np.zeros(steps.system.n_strains)
    derive(held.motion_vjp, segment, u, True, *bars, np.zeros_like(u), adjoint)  # accelerations at begins
    return [_varied(steps, segment, u, one, adjoint.equations) for one in engines]


def _varied(steps: DiscreteSteps, segment: Segment, u: Array, varied: VariedEngine, begins: Equations) -> Equations:
    """Derivatives of the equations of a segment by a number, accelerations at begins of intervals being known."""
    rows, looped = segment.rows, steps.engine.loop_layout.m > 0
    n = segment.last - segment.first
    out = steps.equations(n, len(rows.t))
    ends, starts = slice(1, len(rows.t)), segment.ends[:-1]

    def vary(at: slice | IntArray, qdd: Array, u: Array, multiplier: Array) -> tuple[Array, Variation]:
        state = rows.q[at], rows.qd[at], qdd, u, rows.t[at]
        one = varied.vary_rows(*state, multiplier if looped else None)
        return one.inverse - one.internal, one

    u_there = np.repeat(u, np.diff(segment.ends), axis=0)
    out.residual[1:], one = vary(ends, rows.qdd[ends], u_there, rows.multiplier[ends])
    out.error[1:] = one.error
    maxwell = steps.system.maxwell
    if maxwell.n:
        elastic, h = varied.varied.elastic, np.diff(rows.t)
        out.strain[1:], forces = maxwell.varied(elastic, rows.q[:-1], rows.strain[:-1], h, rows.q[1:])
        out.residual[1:] -= forces
    before = np.concatenate([u[:1], u[:-1]])
    for k, inputs in enumerate([u, before] if looped else [u]):
        out.force[k::2], one = vary(starts, begins.acceleration[k::2], inputs, begins.multiplier[k::2])
        out.force[k::2] += varied.elastic_force(moved := begins.moved[k::2])
        out.constraint[k::2] = one.acceleration
        if maxwell.n:
            q, still = rows.q[starts], np.zeros(n)
            out.force[k::2] -= maxwell.varied(varied.varied.elastic, q, rows.strain[starts], still, q + moved)[1]
    return out


def number_paths(robot: Robot, numbers: Sequence[str]) -> tuple[str, ...]:
    """Paths of numbers, each of which is in the robot's file (else InputError)."""
    if isinstance(numbers, str) or not isinstance(numbers, Sequence):
        raise InputError("numbers", "paths of numbers in the robot's file", describe(numbers))
    if not numbers:
        return ()
    file = scalars_of(robot)
    for path in numbers:
        try:
            file.path(path)
        except InputError as error:
            raise InputError("numbers", error.expected, error.got, error.hint) from None
    return tuple(numbers)


def _by_numbers(robot: Robot, numbers: Sequence[str] | Sensitivities) -> Sensitivities:
    """Derivatives by numbers of a robot's file (else InputError)."""
    if isinstance(numbers, Sensitivities):
        if numbers.robot is not robot:
            raise InputError("numbers", f"sensitivities of '{robot.name}'", f"those of another, '{numbers.robot.name}'")
        return numbers
    try:
        return Sensitivities(robot, number_paths(robot, numbers))
    except InputError as error:
        raise InputError("numbers", error.expected, error.got, error.hint) from error


def empty_adjoint(steps: DiscreteSteps, n: int = 0, rows: int = 0) -> Adjoint:
    """Room for the cotangents of numbers, of n intervals and their rows; 0: none are wanted."""
    tree, elastic, ndof = steps.engine.tree, steps.engine.elastic, steps.engine.ndof
    return Adjoint(
        np.zeros_like(tree.inertia),
        np.zeros_like(elastic.stiffness),
        np.zeros_like(elastic.damping),
        np.zeros(ndof),
        np.zeros(3),
        steps.equations(n, rows),
        np.zeros((len(tree.segment), 2, 6)),
        np.zeros(ndof),
    )


def like(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """An argument as an array of this shape (else InputError)."""
    try:
        out = np.array(value, dtype=float, order="C")
    except (TypeError, ValueError):
        raise InputError(name, f"an array {shape}", describe(value)) from None
    if out.shape != shape:
        raise InputError(name, f"an array {shape}", f"one of shape {out.shape}")
    return out


def run_of(
    steps: DiscreteSteps, t: Array, q: Array, qd: Array, held: Array, by: str, strain: Array | None = None
) -> Run:
    """A motion under held inputs (N, n_actuators) as a `Run`: a row has the inputs of the interval that it ends."""
    u = np.concatenate([held[:1] if len(held) else np.zeros((1, held.shape[1])), held])
    return steps.run(t, q, qd, u, f"{len(held)} intervals of {steps.dt:g} s by {by}", strain=strain)
