"""Many copies of a robot step by step, on threads of compiled code."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.arrays import Array, IntArray
from sorosim.compiled import Pinned, n_processors
from sorosim.errors import ConvergenceError, InputError, SorosimWarning
from sorosim.kernels import held_inputs as held
from sorosim.kernels import march as codes
from sorosim.kernels import newmark as m
from sorosim.kernels.held_inputs import Member
from sorosim.robot import Robot, check_robot
from sorosim.stepping.rollout import Cotangents, Rollout, like
from sorosim.stepping.stepper import DONE, HeldSteps
from sorosim.units.quantity import amount
from sorosim.validation import Number, indices

# tasks for each thread: members take different times
PARTS = 4


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
        Numbers of the robot's file by path, one for each member, as `Robot.with_values` takes them.
    threads : int
        Default: as many as this process has processors. The bits do not depend on it.
    method, substeps, spectral_radius, tolerance, driven
        As in `Stepper`.

    Attributes
    ----------
    robots : list of Robot
        The members.
    t : (n,) ndarray
        Times [s].
    q, qd : (n, ndof) ndarray
        Coordinates and rates.
    refined : (n,) ndarray of int
        How many steps since the reset needed smaller ones of the integrator, as in `Stepper`.
    failures : dict
        Member -> the `ConvergenceError` of its step that found no solution. It stays where it was before that step,
        until it is reset.
    """

    def __init__(
        self, robot: Robot, n: int, dt: Number, numbers: Mapping[str, ArrayLike] | None = None,
        threads: int | None = None, *, method: str | None = None, substeps: int | None = None,
        spectral_radius: float | None = None, tolerance: float | None = None,
        driven: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.robot = check_robot(robot)
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InputError("n", "a number of robots, 1 or more", repr(n))
        self.n = int(n)
        self.threads = _threads(threads)
        options = {"method": method, "substeps": substeps, "spectral_radius": spectral_radius, "tolerance": tolerance}
        self.robots = _members(robot, self.n, numbers or {})
        self._options: dict[str, Any] = {"dt": dt, "driven": driven, **options}
        shared = HeldSteps(robot, **self._options)
        self._steps = [shared if one is robot else HeldSteps(one, **self._options) for one in self.robots]
        self.dt, self._shared = shared.dt, shared
        self._marches = [steps.record() for steps in self._steps]
        self._start, self._count = np.zeros(self.n), np.zeros(self.n, dtype=np.int64)
        self._is_reset, self.refined = np.zeros(self.n, dtype=np.bool_), np.zeros(self.n, dtype=np.int64)
        self.failures: dict[int, ConvergenceError] = {}
        if shared.in_python and n > 1:
            warnings.warn(
                f"Python computes loads or actuators of '{robot.name}': members move one after the other, not on "
                "threads of compiled code", SorosimWarning, stacklevel=2,
            )  # fmt: skip
        self.numbers = tuple(numbers or ())
        self._rows = [steps.rows(1) for steps in self._steps]
        self._pins: list[Any] = [None] * self.n
        self._addresses = np.zeros((self.n, 3), dtype=np.int64)
        for i in range(self.n):
            self._pin(i)
        self._pool: ThreadPoolExecutor | None = None
        self._compiled: set[str] = set()

    def __repr__(self) -> str:
        return f"<Batch of {self.n} of '{self.robot.name}': dt = {self.dt:g} s, {self.threads} threads>"

    @property
    def t(self) -> Array:
        return np.array([march.number[m.TIME] for march in self._marches])

    @property
    def q(self) -> Array:
        return np.array([march.state[m.Q] for march in self._marches])

    @property
    def qd(self) -> Array:
        return np.array([march.state[m.QD] for march in self._marches])

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
        starts = [self._for_each("q", q, k), self._for_each("qd", qd, k)]
        none = np.zeros(self.robot.engine.n_actuators)
        for row, i in enumerate(chosen):
            self._steps[i].begin(self._marches[i], starts[0][row], starts[1][row], time, none)
            self._start[i], self._count[i], self._is_reset[i], self.refined[i] = time, 0, True, 0
            self.failures.pop(int(i), None)
        return self.q, self.qd

    def replace(self, member: int, numbers: Mapping[str, Any]) -> None:
        """Give a member other numbers of the robot's file, as `Robot.with_values` takes them; it must be reset then.

        Those that are not named are as in the robot of the batch, not as they were in the member.
        """
        (i,) = indices("member", [member], self.n)
        if set(numbers) != set(self.numbers):
            expected = "those of the batch, " + (", ".join(self.numbers) or "none")
            raise InputError("numbers", expected, ", ".join(numbers) or "none")
        robot = self.robot.with_values(numbers)
        self.robots[i], self._steps[i] = robot, HeldSteps(robot, **self._options)
        self._marches[i], self._rows[i] = self._steps[i].record(), self._steps[i].rows(1)
        self._pin(i)
        self.forget(i)

    def forget(self, member: int) -> None:
        """Let a member wait for a reset."""
        self._is_reset[member] = False
        self.failures.pop(int(member), None)

    def state(self, member: int) -> tuple[Array, Array]:
        """Coordinates and rates (ndof,) of a member."""
        s = self._marches[member].state
        return s[m.Q].copy(), s[m.QD].copy()

    def step(self, u: ArrayLike | None = None) -> tuple[Array, Array]:
        """Move all members that have not failed by dt.

        Parameters
        ----------
        u : (n, n_actuators) or (n_actuators,) array_like
            Inputs. Default: those of the step before.

        Returns
        -------
        q, qd : (n, ndof) ndarray
        """
        inputs = np.array([march.begin.u for march in self._marches]) if u is None else self._inputs(u, ())
        self._advance(inputs[:, None])
        return self.q, self.qd

    def measure(self) -> dict[str, Array]:
        """What all sensors read: name -> (n, channels)."""
        readings = []
        for robot, march in zip(self.robots, self._marches, strict=True):
            s, motion = march.state, {}
            if not march.counts[m.FRESH]:
                motion = {"qdd": s[m.QDD].copy(), "lam": march.multiplier[m.L].copy()}
            t = float(march.number[m.TIME])
            readings.append(robot.measure(s[m.Q].copy(), s[m.QD].copy(), u=march.begin.u.copy(), t=t, **motion))
        return {name: np.array([one[name] for one in readings]) for name in readings[0]}

    def rollout(self, u: ArrayLike) -> BatchRollout:
        """Move all members from where they are under sequences of inputs.

        Parameters
        ----------
        u : (n, N, n_actuators) array_like

        Returns
        -------
        BatchRollout
        """
        return BatchRollout(self, self._inputs(u, (None,)))

    # -- members -----------------------------------------------------------------------------------------------------

    def _pin(self, i: int) -> None:
        """Tell compiled code where a member's records are."""
        pins = Pinned(self._steps[i].model), Pinned(self._marches[i]), Pinned(self._rows[i])
        self._pins[i], self._addresses[i] = pins, [pin.address for pin in pins]

    def _for_each(self, name: str, value: Any, k: int) -> Sequence[Any]:
        """A start for each of k members."""
        if not isinstance(value, str | Mapping) and np.ndim(value) == 2:
            rows = np.asarray(value)
            if len(rows) != k:
                raise InputError(name, f"{k} rows, one for each member", f"{len(rows)}")
            return list(rows)
        return [value] * k

    def _inputs(self, u: ArrayLike, between: tuple[None, ...]) -> Array:
        n_inputs = self.robot.engine.n_actuators
        names = ("n", "N") if between else ("n",)
        shape = f"({self.n}, {'N, ' if between else ''}{n_inputs})"
        try:
            out = np.array(u, dtype=float)
        except (TypeError, ValueError):
            raise InputError("u", f"an array {shape}", f"{u!r}"[:60]) from None
        if out.ndim == len(names):  # the same for all
            out = np.repeat(out[None], self.n, axis=0)
        if out.ndim != len(names) + 1 or len(out) != self.n or out.shape[-1] != n_inputs:
            raise InputError("u", f"an array {shape}", f"one of shape {np.shape(u)}")
        if not np.isfinite(out).all():
            bad = np.argwhere(~np.isfinite(out))[0]
            where = f"of member {bad[0]}, {self.robot.actuator_names[bad[-1]]}"
            raise InputError("u", "finite numbers", f"{out[tuple(bad)]} {where}")
        return np.ascontiguousarray(out)

    def _chosen(self) -> IntArray:
        """Members that have not failed."""
        if not self._is_reset.all():
            first = int(np.argmin(self._is_reset))
            raise InputError("Batch", "a reset before the first step", f"none of member {first}")
        return np.array([i for i in range(self.n) if i not in self.failures], dtype=np.int64)

    def _advance(self, inputs: Array) -> None:
        """Move all members that have not failed by dt."""
        chosen, marches, steps = self._chosen(), self._marches, self._steps
        memory = {int(i): marches[i].memory.copy() for i in chosen}
        for i in chosen:
            self._rows[i].t[:] = steps[i].times(self._start[i], 1, self._count[i])
            steps[i].at_first_row(marches[i])
        results = np.full(self.n, codes.FINISHED)
        if self._shared.in_python:
            for i in chosen:
                results[i] = steps[i].advance(marches[i], self._rows[i], inputs[i])
        elif len(chosen):
            like = Member(self._shared.model, marches[0], self._rows[0])

            def roll(part: IntArray) -> None:
                workspace, substeps = self.robot.engine.workspace_of_derivatives, self._shared.substeps
                arguments = self._addresses, like, workspace, inputs, part, substeps, results
                self.robot.engine.prepared(held.roll_members, arguments)(*arguments)

            self._on_threads(roll, np.array_split(chosen, min(len(chosen), PARTS * self.threads)))
        for i in chosen:
            if results[i] not in DONE:
                finer = steps[i].refine(marches[i], memory[i], self._start[i], self._count[i], inputs[i])
                if finer is None:
                    error = steps[i].failure(marches[i], int(results[i]), f"a step of member {i}", refined=True)
                    self._fail(int(i), error, memory[i])
                    continue
                self.refined[i] += 1
            steps[i].rewind(marches[i])
            self._count[i] += 1

    def _fail(self, i: int, error: ConvergenceError, memory: Array) -> None:
        """A member stays where it was."""
        self.failures[i] = error
        self._marches[i].memory[:] = memory

    def _on_threads(self, work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        """Results of work that is mostly compiled code."""
        if self.threads == 1 or len(parts) < 2:
            return [work(part) for part in parts]
        alone = 0 if work.__name__ in self._compiled else 1  # one thread compiles
        self._compiled.add(work.__name__)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, "sorosim batch")
        return [*map(work, parts[:alone]), *self._pool.map(work, parts[alone:])]


class BatchRollout:
    """Motions of a batch; made by `Batch.rollout`.

    Attributes
    ----------
    motions : tuple of (Rollout or None)
        The members'; None of one that failed.
    t : (n, N + 1) ndarray
        Ends of the intervals, with the start [s].
    q, qd : (n, N + 1, ndof) ndarray
        Coordinates and rates there; of members that failed NaN.
    u : (n, N, n_actuators) ndarray
        Inputs.
    """

    def __init__(self, batch: Batch, u: Array) -> None:
        self.batch, self.u = batch, u
        n, n_rows, ndof = batch.n, u.shape[1] + 1, batch.robot.ndof
        self._fresh = all(march.counts[m.FRESH] for march in batch._marches)
        found: list[Rollout | None] = [None] * n
        chosen = batch._chosen()

        def roll(i: int) -> None:
            steps, march = batch._steps[i], batch._marches[i]
            memory = march.memory.copy()
            try:
                found[i] = Rollout(steps, march, u[i], batch._start[i], batch.numbers, int(batch._count[i]))
                steps.rewind(march)
                batch._count[i] += u.shape[1]
            except ConvergenceError as error:
                batch._fail(i, error, memory)

        batch._on_threads(roll, chosen.tolist())
        self.motions = tuple(found)
        self.t, self.q, self.qd = np.full((n, n_rows), np.nan), *np.full((2, n, n_rows, ndof), np.nan)
        for i, motion in enumerate(found):
            if motion is not None:
                self.t[i], self.q[i], self.qd[i] = motion.t, motion.q, motion.qd

    def vjp(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """Derivatives of scalars f_i of the motions, by those of f_i by their rows: as `Rollout.vjp`, with n first.

        The numbers are those of the batch.
        """
        batch, zero = self.batch, np.zeros_like(self.q)
        if not self._fresh:
            raise InputError("batch.vjp", "motions that begin at a reset", "one that goes on", "reset before rollout")
        if None in self.motions:
            failed = [i for i, motion in enumerate(self.motions) if motion is None]
            raise InputError("batch.vjp", "motions that did not fail", f"members {failed}")
        bars = [zero if x is None else like(name, x, zero.shape) for name, x in (("q_bar", q_bar), ("qd_bar", qd_bar))]
        motions: Any = self.motions

        def pull(i: int) -> Cotangents:
            cotangents: Cotangents = motions[i].vjp(bars[0][i], bars[1][i])
            return cotangents

        found = batch._on_threads(pull, range(batch.n))
        return Cotangents._make(map(np.array, zip(*found, strict=True)))


def _threads(threads: int | None) -> int:
    if threads is None:
        return n_processors()
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise InputError("threads", "a number of threads, 1 or more", repr(threads))
    return int(threads)


def _members(robot: Robot, n: int, numbers: Mapping[str, ArrayLike]) -> list[Robot]:
    """The robot n times, with numbers of their own."""
    if not isinstance(numbers, Mapping):
        raise InputError("numbers", "a mapping of paths to arrays", type(numbers).__name__)
    if not numbers:
        return [robot] * n
    columns = {path: np.atleast_1d(np.asarray(column)) for path, column in numbers.items()}
    for path, column in columns.items():
        if column.shape != (n,):
            raise InputError(f"numbers.{path}", f"{n} numbers, one for each member", f"shape {column.shape}")
    return [robot.with_values({path: column[i].item() for path, column in columns.items()}) for i in range(n)]
