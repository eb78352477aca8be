"""Motions as functions of arrays, of many members at once: what the functions for PyTorch and JAX have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sorosim.analysis.motion.batch import Batch, BatchRollout
from sorosim.analysis.motion.discrete_steps import ROLLOUT_TOLERANCE
from sorosim.analysis.motion.march import computed_in_python
from sorosim.analysis.motion.rollout import Rollout, number_paths, rollout
from sorosim.analysis.motion.threads import on_threads
from sorosim.analysis.results.result import Equilibrium
from sorosim.base.arrays import Array
from sorosim.base.compiled import n_processors
from sorosim.base.errors import InputError, SorosimError
from sorosim.base.units.quantity import amount
from sorosim.base.validation import describe
from sorosim.mechanics.robot import Robot, check_robot

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MotionOfArrays:
    """Motions of members under held inputs as a function of arrays, and its derivative.

    Each member is a motion by `sorosim.rollout` of its own, or one of a `Batch`, with the same bits, where derivatives
    by numbers and starts need no more; they share the threads of this process.

    Parameters
    ----------
    robot : Robot
    fixed : dict
        Arguments of `sorosim.rollout` that are no arrays, the same for all members.
    paths : tuple of str
        Numbers of the robot's file that are arguments.
    own : dict of str to tuple of int
        Arguments, and their shapes for one member: u (N, n_actuators), q0 and qd0 (ndof,) where the start is given by
        arrays, numbers ().
    """

    robot: Robot
    fixed: dict[str, Any]
    paths: tuple[str, ...]
    own: dict[str, Shape]

    def move(
        self, arguments: Mapping[str, Array], *, by: Sequence[str] = ()
    ) -> tuple[list[Rollout] | BatchRollout, tuple[Array, Array]]:
        """The motions in order, and their coordinates and rates (members, N + 1, ndof).

        arguments : (members, as `own`), all with the same axes of members; by : numbers by which derivatives will be
        asked for.
        """
        members = np.shape(arguments["u"])[:-2]
        n = prod(members)
        given = {name: np.asarray(x, dtype=float).reshape(n, *self.own[name]) for name, x in arguments.items()}
        starts: dict[str, Array] = {name: given[name] for name in ("q0", "qd0") if name in given}
        if n > 1 and self._is_batch:
            batch = self._rolled(given["u"], starts)
            return batch, (
                batch.q.reshape(*members, *batch.q.shape[1:]),
                batch.qd.reshape(*members, *batch.q.shape[1:]),
            )
        columns = [given[argument_of(path)].tolist() for path in self.paths]
        values = [tuple(column[k] for column in columns) for k in range(n)]
        robots = {one: self._with_numbers(one) for one in values}

        def motion(k: int) -> Rollout:
            start = {name: rows[k] for name, rows in starts.items()}
            try:
                return rollout(robots[values[k]], given["u"][k], numbers=by, **self.fixed, **start)
            except SorosimError as error:
                if n > 1:
                    error.add_note(f"member {k}")
                raise

        motions = self._on_threads(motion, n)
        q, qd = (np.array(rows) for rows in ([one.q for one in motions], [one.qd for one in motions]))
        return motions, (q.reshape(*members, *q.shape[1:]), qd.reshape(*members, *qd.shape[1:]))

    def pull_back(self, motions: list[Rollout] | BatchRollout, q_bar: Array, qd_bar: Array) -> dict[str, Array]:
        """Derivatives by the arguments, numbers only if `move` was told, by those of rows (members, N + 1, ndof)."""
        members, row = np.shape(q_bar)[:-2], np.shape(q_bar)[-2:]
        bars = [np.asarray(x).reshape(-1, *row) for x in (q_bar, qd_bar)]
        if isinstance(motions, BatchRollout):
            by = motions.pull(*bars)._asdict()
        else:
            found = self._on_threads(lambda k: motions[k].pull(bars[0][k], bars[1][k]), len(motions))
            by = {name: np.array([getattr(one, name) for one in found]) for name in ("u", "q0", "qd0")}
            numbers = np.array([one.numbers for one in found]).T
            by |= {argument_of(path): column for path, column in zip(motions[0].numbers, numbers, strict=True)}
        return {name: by[name].reshape(members + own) for name, own in self.own.items() if name in by}

    @property
    def _is_batch(self) -> bool:
        """Whether nothing but inputs and free starts is differentiated, by compiled code."""
        start = self.fixed.get("q0")
        looped = self.robot.n_multipliers or isinstance(start, str | Equilibrium)
        return not (self.paths or looped or computed_in_python(self.robot))

    def _rolled(self, u: Array, starts: Mapping[str, Array]) -> BatchRollout:
        """Motions of two members or more under inputs (n, N, n_actuators)."""
        fixed = {name: x for name, x in self.fixed.items() if name not in ("q0", "qd0", "t0")}
        q0, qd0 = (starts.get(name, self.fixed.get(name)) for name in ("q0", "qd0"))
        batch = _RolledBatch(self.robot, len(u), threads=min(len(u), n_processors()), **fixed)
        batch._begin(np.arange(len(u)), q0, qd0, amount("t0", self.fixed["t0"], "time"), ("q0", "qd0"))
        found = batch.rollout(u)
        for k, error in batch.failures.items():
            error.add_note(f"member {k}")
            raise error
        return found

    def _on_threads(self, work: Callable[[int], Any], n: int) -> list[Any]:
        """What work gives for 0 to n - 1, by threads of this call: they do not outlive a fork."""
        if (threads := min(n, n_processors())) == 1 or computed_in_python(self.robot):
            return on_threads(work, range(n))
        with ThreadPoolExecutor(threads, "sorosim members") as pool:
            return on_threads(work, range(n), pool)

    def _with_numbers(self, values: tuple[float, ...]) -> Robot:
        return self.robot.with_values(dict(zip(self.paths, values, strict=True))) if values else self.robot


class _RolledBatch(Batch):
    """One whose steps are those of `sorosim.rollout`."""

    _usual_tolerance = ROLLOUT_TOLERANCE


def motion_of_arrays(
    robot: Robot, u: object, q0: object, qd0: object, numbers: Mapping[str, object] | None, fixed: dict[str, Any],
    array: Callable[[str, Any], Any],
) -> tuple[MotionOfArrays, dict[str, Any], Shape]:  # fmt: skip
    """What is asked for as a function of arrays, its arguments, and the axes of members in front of those of u.

    array: makes an array of an argument of this name. Numbers that are no arrays are fixed, texts with units included.
    """
    check_robot(robot)
    if not isinstance(numbers, Mapping | None):
        raise InputError("numbers", "a mapping of paths in the robot's file to numbers", describe(numbers))
    numbers, fixed = dict(numbers or {}), dict(fixed)
    plain = {path: value for path, value in numbers.items() if isinstance(value, int | float | str)}
    paths = tuple(path for path in number_paths(robot, tuple(numbers)) if path not in plain)
    robot = robot.with_values(plain) if plain else robot
    arguments = {"u": array("u", u)}
    for name, start in (("q0", q0), ("qd0", qd0)):
        if start is None or isinstance(start, str | Mapping | Equilibrium):
            fixed[name] = start
        else:
            arguments[name] = array(name, start)
    arguments |= {argument_of(path): array(argument_of(path), numbers[path]) for path in paths}
    shape, n_inputs = tuple(arguments["u"].shape), len(robot.actuator_names)
    if len(shape) < 2 or shape[-1] != n_inputs or 0 in shape[:-2]:
        raise InputError("u", f"an array (N, {n_inputs}) or (members, N, {n_inputs})", f"one of shape {shape}")
    members = shape[:-2]
    own: dict[str, Shape] = {name: (robot.ndof,) if name in ("q0", "qd0") else () for name in arguments}
    own["u"] = shape[-2:]
    for name, one in own.items():
        if (got := tuple(arguments[name].shape)) not in (one, members + one):
            either = f"{one} or {members + one}" if members else f"{one}"
            raise InputError(name, f"an array {either}", f"one of shape {got}")
    return MotionOfArrays(robot, fixed, paths, own), arguments, members


def as_one_interval(robot: Robot, u: Any) -> Any:
    """Inputs (..., n_actuators) of one step as those of a motion of one interval."""
    n_inputs = len(check_robot(robot).actuator_names)
    if not u.ndim or u.shape[-1] != n_inputs:
        raise InputError("u", f"an array ({n_inputs},) or (members, {n_inputs})", f"one of shape {tuple(u.shape)}")
    return u[..., None, :]


def argument_of(path: str) -> str:
    """The name of a number as an argument."""
    return f"numbers.{path}"
