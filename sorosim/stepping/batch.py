"""Many copies of a robot step by step, on threads of compiled code."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.arrays import Array, IntArray
from sorosim.compiled import Pinned, prepare
from sorosim.errors import ConvergenceError, InputError
from sorosim.kernels import held_inputs as held
from sorosim.kernels import march as codes
from sorosim.kernels import newmark as m
from sorosim.kernels.held_inputs import Member
from sorosim.kernels.newmark import March, Rows
from sorosim.robot import Robot, check_robot
from sorosim.stepping.rollout import Cotangents, empty_adjoint, like
from sorosim.stepping.stepper import HeldSteps
from sorosim.units.quantity import amount
from sorosim.validation import Number, indices

# tasks for each thread: members take different times
PARTS = 4
DONE = codes.FINISHED, codes.CONTINUES


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
    robots : tuple of Robot
        The members.
    t : (n,) ndarray
        Times [s].
    q, qd : (n, ndof) ndarray
        Coordinates and rates.
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
        shared = HeldSteps(robot, dt, driven, **options)
        self._steps = [shared if one is robot else HeldSteps(one, dt, driven, **options) for one in self.robots]
        self.dt, self._shared = shared.dt, shared
        self._marches = [steps.record() for steps in self._steps]
        self._start, self._count = np.zeros(self.n), np.zeros(self.n, dtype=np.int64)
        self._is_reset = np.zeros(self.n, dtype=np.bool_)
        self.failures: dict[int, ConvergenceError] = {}
        self._rows, self._addresses, self._pins = self._pinned(1)
        self._pool: ThreadPoolExecutor | None = None
        self._kernels: dict[str, Any] = {}

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
            self._start[i], self._count[i], self._is_reset[i] = time, 0, True
            self.failures.pop(int(i), None)
        return self.q, self.qd

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
        self._advance(inputs[:, None], self._rows, self._addresses)
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

    def _pinned(self, n_intervals: int) -> tuple[list[Rows], IntArray, list[Any]]:
        """Rows of each member, addresses of its records, and what keeps these alive."""
        rows = [steps.rows(n_intervals) for steps in self._steps]
        pins = [
            (Pinned(steps.model), Pinned(march), Pinned(own))
            for steps, march, own in zip(self._steps, self._marches, rows, strict=True)
        ]
        addresses = np.array([[pin.address for pin in member] for member in pins], dtype=np.int64)
        return rows, addresses, pins

    def _advance(self, inputs: Array, rows: list[Rows], addresses: IntArray) -> None:
        """Move all members that have not failed to the last of their rows."""
        if not self._is_reset.all():
            first = int(np.argmin(self._is_reset))
            raise InputError("Batch", "a reset before the first step", f"none of member {first}")
        chosen = np.array([i for i in range(self.n) if i not in self.failures], dtype=np.int64)
        memory = self._memory(chosen)
        n_intervals = inputs.shape[1]
        for i in chosen:
            rows[i].t[:] = self._steps[i].times(self._start[i], n_intervals, self._count[i])
            self._steps[i].load_row_zero(self._marches[i], rows[i])
        codes_of = np.full(self.n, codes.FINISHED)
        if self._shared.in_python:
            for i in chosen:
                codes_of[i] = self._steps[i].advance(self._marches[i], rows[i], inputs[i])
        else:
            record = Member(self._shared.model, self._marches[0], rows[0])
            self._on_threads("roll_members", held.roll_members, chosen, addresses, record, inputs, (codes_of,))
        self._count[chosen] += n_intervals
        for i in chosen:
            steps, march = self._steps[i], self._marches[i]
            if codes_of[i] in DONE:
                steps.rewind(march)
                continue
            self.failures[int(i)] = steps.failure(march, int(codes_of[i]), f"a step of member {i}")
            self._count[i] -= n_intervals
            self._restore(i, memory)

    def _memory(self, chosen: IntArray) -> dict[int, tuple[Any, ...]]:
        return {
            int(i): (march.number.copy(), march.counts.copy(), march.state.copy(), march.multiplier.copy(),
                     march.begin.u.copy())
            for i in chosen for march in [self._marches[i]]
        }  # fmt: skip

    def _restore(self, i: int, memory: dict[int, tuple[Any, ...]]) -> None:
        march = self._marches[i]
        for array, before in zip(
            (march.number, march.counts, march.state, march.multiplier, march.begin.u), memory[int(i)], strict=True
        ):
            array[:] = before
        march.counts[m.FACTORED] = 0

    def _on_threads(
        self, name: str, kernel: Callable[..., None], chosen: IntArray, addresses: IntArray, record: Member,
        inputs: Array, rest: tuple[Any, ...],
    ) -> None:  # fmt: skip
        """A compiled loop over members, some of them in each thread."""
        substeps, engine = self._shared.substeps, self.robot.engine

        def work(part: IntArray) -> None:
            workspace = engine.workspace_of_derivatives
            arguments = addresses, record, workspace, inputs, part, substeps, *rest
            self._kernels[name](*arguments)

        if name not in self._kernels:
            arguments = addresses, record, engine.workspace_of_derivatives, inputs, chosen, substeps, *rest
            self._kernels[name] = prepare(kernel, arguments, engine.features)
        if self.threads == 1 or len(chosen) < 2:
            work(chosen)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, "sorosim batch")
        parts = np.array_split(chosen, min(len(chosen), PARTS * self.threads))
        list(self._pool.map(work, parts))


class BatchRollout:
    """Motions of a batch; made by `Batch.rollout`.

    Attributes
    ----------
    t : (n, N + 1) ndarray
        Ends of the intervals, with the start [s].
    q, qd : (n, N + 1, ndof) ndarray
        Coordinates and rates there; of members that failed NaN.
    u : (n, N, n_actuators) ndarray
        Inputs.
    """

    def __init__(self, batch: Batch, u: Array) -> None:
        self.batch, self.u = batch, u
        charts = batch._shared.system.charts
        if charts.joints and u.shape[1] > 1:
            self._parts = [batch.rollout(u[:, k : k + 1]) for k in range(u.shape[1])]
            for name in ("t", "q", "qd"):
                rows = [getattr(part, name) for part in self._parts]
                setattr(self, name, np.concatenate([*(x[:, :1] for x in rows), rows[-1][:, 1:]], axis=1))
            return
        self._parts = []
        self._rows, self._addresses, self._pins = batch._pinned(u.shape[1])
        self._fresh = np.array([march.counts[m.FRESH] != 0 for march in batch._marches])
        batch._advance(u, self._rows, self._addresses)
        substeps = batch._shared.substeps
        self.t = np.array([rows.t[::substeps] for rows in self._rows])
        self.q = np.array([rows.q[::substeps] for rows in self._rows])
        self.qd = np.array([rows.qd[::substeps] for rows in self._rows])
        for i in batch.failures:
            self.q[i], self.qd[i] = np.nan, np.nan

    def vjp(self, q_bar: ArrayLike | None = None, qd_bar: ArrayLike | None = None) -> Cotangents:
        """Derivatives of scalars f_i of the motions, by those of f_i by their rows: as `Rollout.vjp`, with n first."""
        batch = self.batch
        if self._parts or batch._shared.in_python:
            hint = "use sorosim.rollout for each of them"
            raise InputError("batch.vjp", "robots without loads in Python and without free rotations", "others", hint)
        if not self._fresh.all():
            raise InputError("batch.vjp", "motions that begin at a reset", "one that goes on", "reset before rollout")
        if batch.failures:
            raise InputError("batch.vjp", "motions that did not fail", f"members {sorted(batch.failures)}")
        bars = np.array([
            np.zeros_like(self.q) if x is None else like(name, x, self.q.shape)
            for name, x in (("q_bar", q_bar), ("qd_bar", qd_bar))
        ]).swapaxes(0, 1).copy()  # fmt: skip
        n, ndof = batch.n, self.q.shape[2]
        u_bar, bar, ended = np.zeros_like(self.u), np.zeros((n, held.N_VECTORS, ndof)), np.zeros(n, dtype=np.bool_)
        marches: list[March] = []
        for steps, march in zip(batch._steps, batch._marches, strict=True):
            marches.append(steps.record())
            marches[-1].begin.closing[2] = march.begin.closing[2]
            marches[-1].counts[m.MOST_RANK] = march.counts[m.MOST_RANK]
        pins = [Pinned(march) for march in marches]
        addresses = self._addresses.copy()
        addresses[:, 1] = [pin.address for pin in pins]
        record = Member(batch._shared.model, marches[0], self._rows[0])
        rest = bars, bar, u_bar, empty_adjoint(batch._shared, 0), ended
        batch._on_threads("pull_back_members", held.pull_back_members, np.arange(n), addresses, record, self.u, rest)
        if not ended.all():
            raise ConvergenceError(f"batch.vjp: a step of member {int(np.argmin(ended))} has a singular matrix")
        free = ~batch._shared.system.partition.mask
        return Cotangents(u_bar, bar[:, held.Q] * free, bar[:, held.QD] * free, np.zeros((n, 0)))


def _threads(threads: int | None) -> int:
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise InputError("threads", "a number of threads, 1 or more", repr(threads))
    return int(threads)


def _members(robot: Robot, n: int, numbers: Mapping[str, ArrayLike]) -> tuple[Robot, ...]:
    """The robot n times, with numbers of their own."""
    if not isinstance(numbers, Mapping):
        raise InputError("numbers", "a mapping of paths to arrays", type(numbers).__name__)
    if not numbers:
        return (robot,) * n
    columns = {path: np.atleast_1d(np.asarray(column)) for path, column in numbers.items()}
    for path, column in columns.items():
        if column.shape != (n,):
            raise InputError(f"numbers.{path}", f"{n} numbers, one for each member", f"shape {column.shape}")
    return tuple(robot.with_values({path: column[i].item() for path, column in columns.items()}) for i in range(n))
