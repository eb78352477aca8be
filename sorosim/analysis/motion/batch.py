"""Many copies of a robot step by step, on threads of compiled code."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.analysis.motion.discrete_steps import ROLLOUT_TOLERANCE, DiscreteSteps
from sorosim.analysis.motion.rollout import Cotangents, Rollout, like
from sorosim.analysis.motion.stepper import Stepper, rolling_back
from sorosim.analysis.motion.threads import Workers
from sorosim.base.arrays import Array, IntArray
from sorosim.base.compiled import Pinned, n_processors
from sorosim.base.errors import ConvergenceError, InputError, warn
from sorosim.base.methods import Method
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, describe, indices
from sorosim.mechanics.engine.prescribed import Inputs, input_rows, shape_of
from sorosim.mechanics.kernels import discrete_steps as held
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels.discrete_steps import Member
from sorosim.mechanics.robot import Robot, check_robot

# tasks for each thread: members take different times
PARTS = 4


@public
class Batch:
    """Copies of a robot that move in equal steps, each under inputs of its own.

    Parameters
    ----------
    robot : Robot
    n : int
        How many.
    dt : float or str
        Time over which inputs are held [s].
    numbers : mapping of str to (n,) array_like
        Numbers of the robot's file by path, one for each member, as `Robot.with_values` takes them. They must leave the
        coordinates as many as they are.
    threads : int
        Default: as many as this process has processors. The bits do not depend on it.
    method, driven, **options
        As in `Stepper`.

    Attributes
    ----------
    robots : list of Robot
        The members.
    t : (n,) ndarray
        Times [s]; NaN before a reset.
    q, qd : (n, ndof) ndarray
        Coordinates and rates; NaN before a reset.
    refined : (n,) ndarray of int
        How many steps since the reset needed smaller ones of the integrator, as in `Stepper`.
    failures : dict
        Member -> the `ConvergenceError` of its step that found no solution. It stays where it was before that step,
        until it is reset.

    Notes
    -----
    If anything else is raised, such as by loads in Python or by Ctrl-C, all members are where they were before.
    """

    def __init__(
        self, robot: Robot, n: int, dt: Number, numbers: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None, *, method: Method | str | None = None,
        driven: Mapping[str, Any] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.robot = check_robot(robot)
        self.n = one_or_more("n", n, "robots")
        self.threads = n_processors() if threads is None else one_or_more("threads", threads, "threads")
        self.robots = _members(robot, self.n, numbers or {})
        self._options: dict[str, Any] = {"dt": dt, "driven": driven, "options": {"method": method, **options}}
        shared = DiscreteSteps(robot, **self._options)
        self.dt, self.numbers = shared.dt, tuple(numbers or ())
        self.failures: dict[int, ConvergenceError] = {}
        self._in_python = shared.in_python
        if self._in_python and self.n > 1:
            warn(
                f"Python computes loads or actuators of '{robot.name}': members move one after the other, not on "
                "threads of compiled code"
            )
        self._members: list[Stepper] = []
        for i, one in enumerate(self.robots):
            own = shared.system.n_strains or one is not robot  # steps of what relaxes change their arrays
            self._members.append(_stepper_of(i, DiscreteSteps(one, **self._options) if own else shared))
        self._last: BatchRollout | None = None
        self._connect()

    def __repr__(self) -> str:
        return f"<Batch of {self.n} of '{self.robot.name}': dt = {self.dt:g} s, {self.threads} threads>"

    def __getstate__(self) -> dict[str, Any]:  # copies and pickles have members, and thus addresses, of their own
        members = {"_members": [one.copy() for one in self._members], "robots": [*self.robots]}
        made_anew = dict.fromkeys(("_workers", "_pins", "_addresses"))
        return vars(self) | members | made_anew | {"failures": dict(self.failures)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._connect()

    def __deepcopy__(self, _: object) -> Batch:
        return copy.copy(self)

    @property
    def t(self) -> Array:
        return self._of_states("t", np.nan)

    @property
    def q(self) -> Array:
        return self._of_states("q", np.full(self.robot.ndof, np.nan))

    @property
    def qd(self) -> Array:
        return self._of_states("qd", np.full(self.robot.ndof, np.nan))

    def _of_states(self, name: str, before_reset: float | Array) -> Array:
        return np.array([getattr(one._state, name, before_reset) for one in self._members])

    @property
    def refined(self) -> IntArray:
        return np.array([one.refined for one in self._members])

    def reset(
        self, q: Any = None, qd: ArrayLike | None = None, t: Number = 0.0, *, members: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Put members to a start.

        Parameters
        ----------
        q, qd : (n, ndof) array_like, or as in `Stepper.reset`
            One row for each of the members, or the same for all.
        t : float or str
            Time [s].
        members : (k,) array_like of int
            Which. Default: all.

        Returns
        -------
        q, qd : (n, ndof) ndarray
            Of all members.
        """
        chosen = np.arange(self.n) if members is None else indices("members", members, self.n)
        time, k = amount("t", t, "time"), len(chosen)
        starts = zip(chosen.tolist(), self._for_each("q", q, k), self._for_each("qd", qd, k), strict=True)
        none = np.zeros(self.robot.engine.n_actuators)
        with rolling_back([self._members[i] for i in chosen]):
            for i, own_q, own_qd in starts:
                names = f"q of member {i}", f"qd of member {i}"
                self._members[i]._motion.begin(own_q, own_qd, time, none, None, names)
                self._members[i]._motion.refined = 0
                self._members[i]._keep()
        for i in chosen.tolist():
            self.failures.pop(i, None)
        return self.q, self.qd

    def replace(self, member: int, numbers: Mapping[str, Any]) -> None:
        """Give a member other numbers of the robot's file, as `Robot.with_values` takes them; it must be reset then.

        Those that are not named are as in the robot of the batch, not as they were in the member.
        """
        (i,) = indices("member", [member], self.n).tolist()
        if set(numbers) != set(self.numbers):
            expected = "those of the batch, " + (", ".join(self.numbers) or "none")
            raise InputError("numbers", expected, ", ".join(numbers) or "none")
        robot = _with_numbers(self.robot, numbers)
        self._members[i] = _stepper_of(i, DiscreteSteps(robot, **self._options))
        self._pin(i)
        self.robots[i] = robot
        self.failures.pop(i, None)

    def forget(self, member: int) -> None:
        """Let a member wait for a reset."""
        (i,) = indices("member", [member], self.n).tolist()
        self._members[i]._state = None
        self.failures.pop(i, None)

    def state(self, member: int) -> tuple[Array, Array]:
        """Coordinates and rates (ndof,) of a member."""
        (i,) = indices("member", [member], self.n).tolist()
        self._check_reset([i])
        state = self._members[i].state
        return state.q.copy(), state.qd.copy()

    def step(self, u: Inputs | None = None) -> tuple[Array, Array]:
        """Move all members that have not failed by dt.

        Parameters
        ----------
        u : (n, n_actuators) or (n_actuators,) array_like, or mapping of actuator name to number or (n,) array_like
            Inputs, texts with units included. Default: those of the step before.

        Returns
        -------
        q, qd : (n, ndof) ndarray
        """
        inputs = None if u is None else input_rows(self.robot, u, {"n": self.n}, self.robots)
        moving, failures = {i: self._members[i] for i in self._chosen()}, {}
        with rolling_back(moving.values()):
            for i, one in moving.items():
                one._prepare(one.state.u if inputs is None else inputs[i])
            results = {} if self._in_python else self._advance(moving)
            for i, one in moving.items():
                try:
                    with rolling_back([one]):
                        one._complete(results.get(i))
                except ConvergenceError as error:
                    failures[i] = error
        self.failures |= failures
        return self.q, self.qd

    def measure(self, members: ArrayLike | None = None) -> dict[str, Array]:
        """What all sensors of members, of all where none are named, read: name -> (k, channels)."""
        chosen = range(self.n) if members is None else indices("members", members, self.n).tolist()
        self._check_reset(chosen)
        readings = [self._members[i].measure() for i in chosen]
        return {name: np.array([one[name] for one in readings]) for name in readings[0]} if readings else {}

    def rollout(self, u: Inputs) -> BatchRollout:
        """Move all members from where they are under sequences of inputs.

        Parameters
        ----------
        u : (n, N, n_actuators) or (N, n_actuators) array_like, or mapping of actuator name to (n, N) or (N,) array_like
            Inputs, texts with units included; signals beside rows as in `rollout`, at the times of each member.

        Returns
        -------
        BatchRollout
        """
        axes, dt = {"n": self.n, "N": None}, self._members[0].dt
        rows = input_rows(self.robot, u, axes, self.robots, clock=lambda n: self.t[:, None] + dt * np.arange(float(n)))
        self._last = BatchRollout(self, rows)
        return self._last

    def vjp(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """`BatchRollout.vjp` of the last rollout."""
        if self._last is None:
            raise InputError("Batch.vjp", "a rollout before", "none")
        self._members[0]._steps.warn_of_tolerance(ROLLOUT_TOLERANCE)
        return self._last.pull(q_bar, qd_bar)

    # -- members -----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        """Tell compiled code where the records of members are; threads are started where they are needed."""
        self._pins: list[Any] = [None] * self.n
        self._addresses = np.zeros((self.n, 3), dtype=np.int64)
        for i in range(self.n):
            self._pin(i)
        self._workers = Workers(1 if self._in_python else self.threads)

    def _pin(self, i: int) -> None:
        """Tell compiled code where the records of a member are."""
        one = self._members[i]
        pins = Pinned(one._steps.model), Pinned(one._motion.march), Pinned(one._rows)
        self._pins[i], self._addresses[i] = pins, [pin.address for pin in pins]

    def _for_each(self, name: str, value: object, k: int) -> Sequence[Any]:
        """A start for each of k members."""
        if not isinstance(value, str | Mapping) and len(shape := shape_of(value)) == 2:
            if shape[0] != k:
                raise InputError(name, f"{k} rows, one for each member", f"{shape[0]}")
            return list(np.asarray(value))
        return [value] * k

    def _check_reset(self, members: Sequence[int]) -> None:
        for i in members:
            if self._members[i]._state is None:
                raise InputError("Batch", "a reset before", f"none of member {i}")

    def _chosen(self) -> list[int]:
        """Members that have not failed."""
        self._check_reset(range(self.n))
        return [i for i in range(self.n) if i not in self.failures]

    def _advance(self, moving: Mapping[int, Stepper]) -> dict[int, int]:
        """Steps of an interval of members by compiled code: codes of kernels.march."""
        results, inputs = np.full(self.n, codes.FINISHED), np.zeros((self.n, 1, self.robot.engine.n_actuators))
        groups: dict[Any, list[int]] = {}  # members that may share a workspace
        for i, one in moving.items():
            inputs[i] = one._u
            groups.setdefault(one._steps.shape, []).append(i)

        def roll(part: IntArray) -> None:
            one = self._members[part[0]]
            like = Member(one._steps.model, one._motion.march, one._rows)
            workspace = one._steps.engine.workspace
            arguments = self._addresses, like, workspace, inputs, part, one._steps.substeps, results
            self.robot.engine.prepared(held.integrate_members, arguments)(*arguments)

        n_parts = PARTS * self.threads
        parts = [part for one in groups.values() for part in np.array_split(np.array(one), min(len(one), n_parts))]
        self._workers.run(roll, parts)
        return dict(enumerate(results.tolist()))


@public
class BatchRollout:
    """Motions of a batch; made by `Batch.rollout`.

    Attributes
    ----------
    motions : tuple of (Rollout or None)
        The members'; None of one that failed, see `Batch.failures`.
    t : (n, N + 1) ndarray
        Ends of the intervals, with the start [s].
    q, qd : (n, N + 1, ndof) ndarray
        Coordinates and rates there; of members that failed NaN.
    u : (n, N, n_actuators) ndarray
        Inputs.
    """

    def __init__(self, batch: Batch, u: Array) -> None:
        # not the batch, which holds its last rollout: both would stay until garbage is collected
        self.u, self._workers, self._steps = u, batch._workers, batch._members[0]._steps
        self._n_numbers = len(batch.numbers)
        n, n_rows, ndof = batch.n, u.shape[1] + 1, batch.robot.ndof
        chosen, stop = batch._chosen(), Event()
        moving = [batch._members[i] for i in chosen]
        self._fresh = all(one._motion.march.counts["fresh"] for one in moving)

        def roll(i: int) -> Rollout | ConvergenceError:
            one = batch._members[i]
            try:
                with rolling_back([one]):
                    motion = Rollout(one._motion, u[i], batch.numbers, stop)
                    one._motion.rechart()
                    one._keep()
            except ConvergenceError as error:
                return error
            return motion

        with rolling_back(moving):
            found = dict(zip(chosen, batch._workers.run(roll, chosen, stop), strict=True))
        batch.failures |= {i: one for i, one in found.items() if isinstance(one, ConvergenceError)}
        self.motions = tuple(one if isinstance(one := found.get(i), Rollout) else None for i in range(n))
        self.t, self.q, self.qd = np.full((n, n_rows), np.nan), *np.full((2, n, n_rows, ndof), np.nan)
        for i, motion in enumerate(self.motions):
            if motion is not None:
                self.t[i], self.q[i], self.qd[i] = motion.t, motion.q, motion.qd

    def vjp(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """Derivatives of scalars f_i of the motions, by those of f_i by their rows: as `Rollout.vjp`, with n first.

        The numbers are those of the batch; starts are held. Rows of members that failed are NaN.
        """
        self._steps.warn_of_tolerance(ROLLOUT_TOLERANCE)
        return self.pull(q_bar, qd_bar)

    def pull(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """As `vjp`, whatever the tolerance of the steps is."""
        if not self._fresh:
            raise InputError("batch.vjp", "motions that begin at a reset", "one that goes on", "reset before rollout")
        (n, N, n_inputs), ndof = self.u.shape, self.q.shape[-1]
        zero = np.zeros_like(self.q)
        bars = [zero if x is None else like(name, x, zero.shape) for name, x in (("q_bar", q_bar), ("qd_bar", qd_bar))]
        shapes = (N, n_inputs), (ndof,), (ndof,), (self._n_numbers,)

        def pull(i: int) -> Cotangents:
            motion = self.motions[i]
            if motion is None:
                return Cotangents._make(np.full(shape, np.nan) for shape in shapes)
            return motion.pull(bars[0][i], bars[1][i])

        found = self._workers.run(pull, range(n))
        return Cotangents._make(map(np.array, zip(*found, strict=True)))


def one_or_more(where: str, n: object, things: str) -> int:
    """A number of things, 1 or more (else InputError)."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(where, f"a number of {things}, 1 or more", describe(n))
    return int(n)


def _stepper_of(i: int, steps: DiscreteSteps) -> Stepper:
    """The member of a batch that takes these steps."""
    return Stepper._of(steps, f"a step of member {i}")


def _members(robot: Robot, n: int, numbers: Mapping[str, ArrayLike]) -> list[Robot]:
    """The robot n times, with numbers of their own."""
    if not isinstance(numbers, Mapping):
        raise InputError("numbers", "a mapping of paths to arrays", type(numbers).__name__)
    if not numbers:
        return [robot] * n
    columns = {}
    for path, column in numbers.items():
        if shape_of(column) != (n,):
            got = f"shape {shape}" if (shape := shape_of(column)) else describe(column)
            raise InputError(f"numbers.{path}", f"{n} numbers, one for each member", got)
        columns[path] = np.asarray(column).tolist()
    return [_with_numbers(robot, {path: column[i] for path, column in columns.items()}) for i in range(n)]


def _with_numbers(robot: Robot, numbers: Mapping[str, object]) -> Robot:
    """A member with other numbers, but as many coordinates."""
    member = robot.with_values(numbers)
    if (member.ndof, member.actuator_names) != (robot.ndof, robot.actuator_names):
        expected = f"numbers that leave the {robot.ndof} coordinates as many"
        raise InputError("numbers", expected, f"{member.ndof} with {dict(numbers)}"[:100])
    return member
