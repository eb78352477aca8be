"""Many copies of a robot step by step, on threads of compiled code."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.analysis.motion.batch_equilibria import BatchEquilibria, Rest
from sorosim.analysis.motion.discrete_steps import ROLLOUT_TOLERANCE, DiscreteSteps
from sorosim.analysis.motion.members import MemberQueue, Places
from sorosim.analysis.motion.motion import SteppedMotion, singular_step
from sorosim.analysis.motion.rollout import Cotangents, Rollout, empty_adjoint, like
from sorosim.analysis.motion.threads import Exclusive, Workers
from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.compiled import n_processors
from sorosim.base.errors import ConvergenceError, InputError, warn
from sorosim.base.methods import Method
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, describe, indices
from sorosim.mechanics.engine.prescribed import Inputs, input_rows, shape_of
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels.begins import N_VECTORS, QD, Q
from sorosim.mechanics.kernels.march import Rows
from sorosim.mechanics.kernels.members import integrate_members, pull_members
from sorosim.mechanics.model.chart import FARTHEST, SLACK
from sorosim.mechanics.robot import Robot, check_robot


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

    _usual_tolerance: float | None = None  # None: that of steps
    _queue: MemberQueue
    _loaded: dict[int, SteppedMotion]  # marches to be put where a member is, by their steps

    def __init__(
        self, robot: Robot, n: int, dt: Number, numbers: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None, *, method: Method | str | None = None,
        driven: Mapping[str, Any] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.robot = check_robot(robot)
        self.n = one_or_more("n", n, "robots")
        self.threads = n_processors() if threads is None else one_or_more("threads", threads, "threads")
        robots = _members(robot, self.n, numbers or {})
        self._options: dict[str, Any] = {
            "dt": dt, "driven": driven, "options": {"method": method, **options},
            "usual_tolerance": self._usual_tolerance,
        }  # fmt: skip
        shared = DiscreteSteps(robot, **self._options)
        self.dt, self.numbers = shared.dt, tuple(numbers or ())
        self.failures: dict[int, ConvergenceError] = {}
        self._in_python = shared.in_python
        if self._in_python and self.n > 1:
            warn(
                f"Python computes loads or actuators of '{robot.name}': members move one after the other, not on "
                "threads of compiled code"
            )
        # steps of what relaxes change their arrays
        steps = [
            DiscreteSteps(one, **self._options) if shared.system.n_strains or one is not robot else shared
            for one in robots
        ]
        record = shared.record()
        self._places, self._memory = Places(record), np.tile(record.memory, (self.n, 1))
        self._spare = np.zeros_like(self._memory)
        self._is_reset, self._start = np.zeros(self.n, dtype=bool), np.zeros(self.n)
        self._count, self._refined = np.zeros((2, self.n), dtype=np.int64)
        self._last: BatchRollout | None = None
        self._rest: Rest | None = None
        self._alone = Exclusive("Batch", "copy.copy(batch) gives each thread its own")
        self._connect(steps)

    def __repr__(self) -> str:
        return f"<Batch of {self.n} of '{self.robot.name}': dt = {self.dt:g} s, {self.threads} threads>"

    def __getstate__(self) -> dict[str, Any]:  # copies and pickles have arrays, and thus addresses, of their own
        own = {name: x.copy() for name, x in vars(self).items() if isinstance(x, np.ndarray)}
        made_anew = {"_workers": None, "_loaded": None, "_queue": self._steps, "failures": dict(self.failures)}
        return vars(self) | own | made_anew

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"_alone": copy.copy(state["_alone"])})
        self._connect([copy.copy(one) if one.system.n_strains else one for one in state["_queue"]])

    def __deepcopy__(self, _: object) -> Batch:
        return copy.copy(self)

    @property
    def robots(self) -> list[Robot]:
        return [one.robot for one in self._steps]

    @property
    def _steps(self) -> tuple[DiscreteSteps, ...]:
        return self._queue.steps

    @property
    def t(self) -> Array:
        return np.where(self._is_reset, self._memory[:, self._places.time], np.nan)

    @property
    def q(self) -> Array:
        return np.where(self._is_reset[:, None], self._memory[:, self._places.q], np.nan)

    @property
    def qd(self) -> Array:
        return np.where(self._is_reset[:, None], self._memory[:, self._places.qd], np.nan)

    @property
    def refined(self) -> IntArray:
        return self._refined.copy()

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
        self._begin(chosen, q, qd, amount("t", t, "time"))
        return self.q, self.qd

    def _begin(self, chosen: IntArray, q: Any, qd: Any, t: float, names: tuple[str, str] = ("q", "qd")) -> None:
        """As `reset`; names: of the starts in errors."""
        with self._alone():
            rows = self._starts(chosen, (q, qd), t, names)
            self._memory[chosen], self._start[chosen], self._is_reset[chosen] = rows, t, True
            self._count[chosen] = self._refined[chosen] = 0
            for i in chosen.tolist():
                self.failures.pop(i, None)

    def replace(self, member: int, numbers: Mapping[str, Any]) -> None:
        """Give a member other numbers of the robot's file, as `Robot.with_values` takes them; it must be reset then.

        Those that are not named are as in the robot of the batch, not as they were in the member.
        """
        (i,) = indices("member", [member], self.n).tolist()
        if set(numbers) != set(self.numbers):
            expected = "those of the batch, " + (", ".join(self.numbers) or "none")
            raise InputError("numbers", expected, ", ".join(numbers) or "none")
        robot = _with_numbers(self.robot, numbers)
        with self._alone():
            queue = self._queue.with_member(i, DiscreteSteps(robot, **self._options))
            rest = None if self._rest is None else self._rest.without(i)
            self._is_reset[i] = False
            self._queue, self._rest = queue, rest
            known = set(map(id, self._steps))
            self._loaded = {key: motion for key, motion in self._loaded.items() if key in known}
            self.failures.pop(i, None)

    def forget(self, member: int) -> None:
        """Let a member wait for a reset."""
        (i,) = indices("member", [member], self.n).tolist()
        self._is_reset[i] = False
        self.failures.pop(i, None)

    def state(self, member: int) -> tuple[Array, Array]:
        """Coordinates and rates (ndof,) of a member."""
        (i,) = indices("member", [member], self.n).tolist()
        self._check_reset([i])
        return self._memory[i, self._places.q].copy(), self._memory[i, self._places.qd].copy()

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
        before = self._memory[:, self._places.u]
        inputs = before if u is None else input_rows(self.robot, u, {"n": self.n}, self.robots)
        with self._alone():
            return self._step(np.ascontiguousarray(inputs)[:, None])

    def _step(self, held: Array) -> tuple[Array, Array]:
        chosen, after = self._chosen(), self._spare
        left, *_ = self._integrate(chosen, held, self._turning)
        count, refined = self._count.copy(), self._refined.copy()
        failures: dict[int, ConvergenceError] = {}
        count[chosen] += 1
        for i in left.tolist():
            motion = self._at(i)
            rows = motion.steps.rows(1)
            motion.prepare(rows, 1)
            _, error = motion.move(rows, held[i])
            if error is not None:
                failures[i], after[i], count[i] = error, self._memory[i], self._count[i]
                continue
            motion.rechart()
            after[i], refined[i] = motion.march.memory, motion.refined
        self._fill_spare(chosen)
        rows_after = self._spare[:, self._places.q].copy(), self._spare[:, self._places.qd].copy()
        self._commit(count, refined, failures)
        return rows_after

    def measure(self, members: ArrayLike | None = None) -> dict[str, Array]:
        """What all sensors of members, of all where none are named, read: name -> (k, channels)."""
        chosen = range(self.n) if members is None else indices("members", members, self.n).tolist()
        self._check_reset(chosen)
        with self._alone():
            readings = [self._at(i).measure() for i in chosen]
        return {name: np.array([one[name] for one in readings]) for name in readings[0]} if readings else {}

    def statics(self, u: Inputs | None = None) -> BatchEquilibria:
        """Equilibria of all members under constant inputs; members stay where they are.

        Parameters
        ----------
        u : as in `step`
            Default: zero.

        Returns
        -------
        BatchEquilibria

        Notes
        -----
        Each goes along the curve of equilibria, on the straight way of its inputs, from that of the call before; at
        first from that of the robot without inputs, or where this leads nowhere as `statics` does. Driven coordinates
        are where their motions are at t = 0, not where the file's `statics` block has them. Newton's method in compiled
        code follows the curve as long as its corrections are short and shrink fourfold, and takes states whose
        stiffness is symmetric and positive definite where loops let it. Anything else is left to `statics`, member by
        member, as robots with contacts are. Source: docs/theory.md, 7.
        """
        inputs = input_rows(self.robot, {} if u is None else u, {"n": self.n}, self.robots)
        with self._alone():
            rest = self._rest or Rest(self.robot, self.n)
            found, self._rest = rest.go(inputs, self._queue, compiled=not self._in_python)
        return found

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
        axes, dt = {"n": self.n, "N": None}, self.dt
        rows = input_rows(self.robot, u, axes, self.robots, clock=lambda n: self.t[:, None] + dt * np.arange(float(n)))
        with self._alone():
            found = BatchRollout(self, rows)
            self._last = found
        return found

    def vjp(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """`BatchRollout.vjp` of the last rollout."""
        if self._last is None:
            raise InputError("Batch.vjp", "a rollout before", "none")
        self._steps[0].warn_of_tolerance(ROLLOUT_TOLERANCE)
        return self._last.pull(q_bar, qd_bar)

    # -- members -----------------------------------------------------------------------------------------------------

    def _connect(self, steps: Sequence[DiscreteSteps]) -> None:
        """Tell compiled code where members are; threads are started where they are needed."""
        self._workers = Workers(1 if self._in_python else self.threads)
        self._loaded = {}
        self._queue = MemberQueue(steps, self._workers)

    def _at(self, i: int, *, own: bool = False) -> SteppedMotion:
        """The march of a member, where it is; unless it is its own for one use at a time."""
        steps = self._steps[i]
        motion = None if own else self._loaded.get(id(steps))
        if motion is None:
            motion = SteppedMotion(steps)
            if not own:
                self._loaded[id(steps)] = motion
        motion.what = f"a step of member {i}"
        motion.march.memory[:] = self._memory[i]
        motion.start, motion.count, motion.refined = (x[i].item() for x in (self._start, self._count, self._refined))
        return motion

    def _starts(self, chosen: IntArray, given: tuple[Any, Any], t: float, names: tuple[str, str]) -> Array:
        """Memories (k, n_memory) of members that begin at starts."""
        out, none = np.zeros((len(chosen), self._memory.shape[1])), np.zeros(self.robot.engine.n_actuators)
        each = [self._for_each(name, x, len(chosen)) for name, x in zip(names, given, strict=True)]
        # rows that nothing has to be found for
        rows = [x if self._starts_freely and _is_finite(x, self.robot.ndof) else None for x in given]
        known: dict[tuple[int, ...], int] = {}  # the same start of the same steps is found once
        for k, i in enumerate(chosen.tolist()):
            own = [x[k] for x in each]
            key = id(self._steps[i]), *(0 if row is not None else id(x) for row, x in zip(rows, own, strict=True))
            if (first := known.setdefault(key, k)) == k:
                motion = self._at(i)
                motion.begin(own[0], own[1], t, none, None, (f"{names[0]} of member {i}", f"{names[1]} of member {i}"))
                out[k] = motion.march.memory
            else:
                out[k] = out[first]
        free = ~self._steps[0].system.partition.mask
        for row, place in zip(rows, (self._places.q, self._places.qd), strict=True):
            if row is not None:
                out[:, place][:, free] = row[:, free]
        return out

    @property
    def _starts_freely(self) -> bool:
        """Whether a start is free coordinates and rates as they are given."""
        system = self._steps[0].system
        return not (self.robot.n_multipliers or system.n_strains or system.chart_limit.joints)

    @property
    def _turning(self) -> bool:
        """Whether joints turn whose coordinates are singular somewhere."""
        system = self._steps[0].system
        return bool(system.charts.joints or system.chart_limit.joints)

    def _integrate(self, chosen: IntArray, held: Array, wanted: bool) -> tuple[IntArray, Rows, Array, Array]:
        """Move members over intervals under inputs held (n, N, n_actuators), into spare memories.

        Returns those that compiled code did not move to the end, or not as they should; and, if wanted, rows (n, ...)
        of all steps, and coordinates and rates (n, N + 1, ndof) at the ends of intervals.
        """
        n, steps, ndof = held.shape[1], self._steps[0], self.robot.ndof
        k = self.n if wanted else 0
        table, ends = steps.rows(n, members=(k,)), np.zeros((2, k, n + 1, ndof))
        if self._in_python:
            return chosen, table, ends[0], ends[1]
        self._check_motions(chosen, n)
        code = self._queue.run(
            integrate_members, chosen, n, lambda one: (one.rows(n),), self._memory, self._spare, self._start,
            self._count, held, steps.substeps, steps.dt, table, ends[0], ends[1],
        )  # fmt: skip
        left, system = code[chosen] != codes.FINISHED, steps.system
        if system.charts.joints:
            left |= (system.charts.largest_angles(ends[0, chosen]) > FARTHEST - SLACK).any(axis=-1)
        if system.chart_limit.joints:
            left |= system.chart_limit.may_meet(table.q[chosen])
        return chosen[left], table, ends[0], ends[1]

    def _check_motions(self, chosen: IntArray, n: int) -> None:
        """Refuse motions of driven coordinates whose rates jump, once for members of the same steps and time."""
        if self._steps[0].varies:
            t, fresh = self.t, self._at_start
            for i in {(id(self._steps[i]), t[i], fresh[i]): i for i in chosen.tolist()}.values():
                self._at(i).check_motions(n)

    @property
    def _at_start(self) -> Mask:
        """Which members have not moved since their reset, or begin anew after a change of rotations (n,)."""
        fresh: Mask = self._memory[:, self._places.fresh].copy().view(np.int64) != 0
        return fresh

    def _fill_spare(self, chosen: IntArray) -> None:
        """Members that are not chosen stay where they are."""
        if len(chosen) < self.n:
            stays = np.ones(self.n, dtype=bool)
            stays[chosen] = False
            self._spare[stays] = self._memory[stays]

    def _commit(self, count: IntArray, refined: IntArray, failures: dict[int, ConvergenceError]) -> None:
        """Let members be where the spare memories have them, all at once."""
        failures = self.failures | failures
        self._memory, self._spare, self._count, self._refined = self._spare, self._memory, count, refined
        self.failures = failures

    def _for_each(self, name: str, value: object, k: int) -> Sequence[Any]:
        """A start for each of k members."""
        if not isinstance(value, str | Mapping) and len(shape := shape_of(value)) == 2:
            if shape[0] != k:
                raise InputError(name, f"{k} rows, one for each member", f"{shape[0]}")
            return list(np.asarray(value))
        return [value] * k

    def _check_reset(self, members: Sequence[int]) -> None:
        for i in members:
            if not self._is_reset[i]:
                raise InputError("Batch", "a reset before", f"none of member {i}")

    def _chosen(self) -> IntArray:
        """Members that have not failed."""
        if not self._is_reset.all():
            self._check_reset(range(self.n))
        moves = np.ones(self.n, dtype=bool)
        moves[list(self.failures)] = False
        return np.flatnonzero(moves)


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
        self.u, self._workers, self._steps, self._numbers = u, batch._workers, batch._steps, batch.numbers
        self._alone = Exclusive("BatchRollout", "copy.copy(motion) gives each thread its own")
        n, chosen, stop = u.shape[1], batch._chosen(), Event()
        count, fresh = batch._count.astype(float), batch._at_start
        self._at_start, self._begins = bool(fresh[chosen].all()), fresh & (batch._count == 0)
        self._rank = batch._memory[:, batch._places.rank].copy()
        self.t = batch._start[:, None] + batch.dt * (count[:, None] + np.arange(n + 1.0))
        left, self._rows, self.q, self.qd = batch._integrate(chosen, u, True)
        refined, failures, own = batch._refined.copy(), dict[int, ConvergenceError](), dict[int, Rollout]()

        def roll(i: int) -> tuple[SteppedMotion, Rollout] | ConvergenceError:
            motion = batch._at(i, own=True)
            try:
                found = Rollout(motion, u[i], self._numbers, stop)
            except ConvergenceError as error:
                return error
            motion.rechart()
            return motion, found

        for i, found in zip(left.tolist(), batch._workers.run(roll, left.tolist(), stop), strict=True):
            if isinstance(found, ConvergenceError):
                failures[i], batch._spare[i] = found, batch._memory[i]
                continue
            motion, own[i] = found
            batch._spare[i], refined[i] = motion.march.memory, motion.refined
            self.t[i], self.q[i], self.qd[i] = own[i].t, own[i].q, own[i].qd
        done = np.setdiff1d(chosen, list(failures))
        failed = np.setdiff1d(np.arange(batch.n), done)
        self.t[failed], self.q[failed], self.qd[failed] = np.nan, np.nan, np.nan
        self._own, self._done = own, done
        moved = batch._count.copy()
        moved[done] += n
        batch._fill_spare(chosen)
        batch._commit(moved, refined, failures)

    def __getstate__(self) -> dict[str, Any]:  # without addresses
        return {name: x for name, x in vars(self).items() if name != "_queue"} | {"_alone": copy.copy(self._alone)}

    @cached_property
    def motions(self) -> tuple[Rollout | None, ...]:
        found: list[Rollout | None] = [None] * len(self.u)
        for i in self._done.tolist():
            found[i] = self._own.get(i) or Rollout._of_rows(
                self._steps[i], self.u[i], self._numbers, self.t[i], Rows._make(part[i] for part in self._rows),
                float(self._rank[i]), bool(self._begins[i]),
            )  # fmt: skip
        return tuple(found)

    @cached_property
    def _queue(self) -> MemberQueue:
        return MemberQueue(self._steps, self._workers)

    def vjp(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """Derivatives of scalars f_i of the motions, by those of f_i by their rows: as `Rollout.vjp`, with n first.

        The numbers are those of the batch; starts are held. Rows of members that failed are NaN.
        """
        self._steps[0].warn_of_tolerance(ROLLOUT_TOLERANCE)
        return self.pull(q_bar, qd_bar)

    def pull(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """As `vjp`, whatever the tolerance of the steps is."""
        if not self._at_start:
            raise InputError("batch.vjp", "motions that begin at a reset", "one that goes on", "reset before rollout")
        (n, N, n_inputs), ndof, n_numbers = self.u.shape, self.q.shape[-1], len(self._numbers)
        zero = np.zeros_like(self.q)
        bars = [zero if x is None else like(name, x, zero.shape) for name, x in (("q_bar", q_bar), ("qd_bar", qd_bar))]
        out = Cotangents(*(np.full((n, *x), np.nan) for x in ((N, n_inputs), (ndof,), (ndof,), (n_numbers,))))
        # numbers, and strains of Maxwell elements, are differentiated by Python
        compiled = not (self._numbers or self._steps[0].system.n_strains)
        own = np.array([i for i in self._done.tolist() if i in self._own or not compiled], dtype=np.int64)
        with self._alone():
            self._pull_compiled(np.setdiff1d(self._done, own), bars, out)
        motions = self.motions if len(own) else ()

        def pull(i: int) -> Cotangents:
            motion = motions[i]
            assert motion is not None
            return motion.pull(bars[0][i], bars[1][i])

        for i, found in zip(own.tolist(), self._workers.run(pull, own.tolist()), strict=True):
            for whole, part in zip(out, found, strict=True):
                whole[i] = part
        return out

    def _pull_compiled(self, chosen: IntArray, bars: Sequence[Array], out: Cotangents) -> None:
        """Derivatives by inputs and starts of members whose motions compiled code has computed."""
        if not len(chosen):
            return
        (n, N, _), first = self.u.shape, self._steps[0]
        cotangent, u_bar = np.zeros((n, N_VECTORS, self.q.shape[-1])), np.zeros_like(self.u)

        def room(steps: DiscreteSteps) -> tuple[Any, ...]:
            return steps.rows(N), np.zeros((2, *self.q.shape[1:]))

        code = self._queue.run(
            pull_members, chosen, N, room, self.u, first.ends(N), first.dt, self._rows, self._rank, *bars, cotangent,
            u_bar, np.zeros(0), empty_adjoint(first),
        )  # fmt: skip
        for i in chosen[code[chosen] != codes.FINISHED][:1].tolist():
            raise singular_step(self._steps[i])
        cotangent[:, :, first.system.partition.mask] = 0.0
        out.u[chosen], out.q0[chosen], out.qd0[chosen] = u_bar[chosen], cotangent[chosen, Q], cotangent[chosen, QD]


def one_or_more(where: str, n: object, things: str) -> int:
    """A number of things, 1 or more (else InputError)."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(where, f"a number of {things}, 1 or more", describe(n))
    return int(n)


def _is_finite(x: object, n: int) -> bool:
    """Whether it is rows (k, n) of finite numbers."""
    if not (isinstance(x, np.ndarray) and x.dtype == np.float64 and x.ndim == 2 and x.shape[1] == n):
        return False
    return bool(np.isfinite(x).all())


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
