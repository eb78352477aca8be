"""Episodes of the members of a batch: what the environments of one and of many robots have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from sorosim.analysis.motion.batch import Batch, one_or_more
from sorosim.analysis.motion.rollout import number_paths
from sorosim.analysis.sensitivity import scalars
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, choice, describe, flag, number
from sorosim.connect.gym.task import Random, State, Task, coordinates_and_rates
from sorosim.mechanics.engine.parameter import Parameter, input_parameter
from sorosim.mechanics.robot import Robot, check_robot

ACTIONS = np.float32
OBSERVATIONS = np.float32


class Episodes:
    """Episodes of n robots; members are counted from 0.

    Attributes
    ----------
    observations, actions : Box
        Spaces of one member.
    """

    def __init__(self, robot: Robot, task: Task, n: int, dt: Number | None, threads: int | None) -> None:
        self.robot = check_robot(robot)
        if not isinstance(task, Task):
            raise InputError("task", "a sorosim.gym.Task", type(task).__name__)
        self.task, n = task, one_or_more("num_envs", n, "members")
        self.acted, self.low, self.high = _inputs(robot, task)
        self.chosen = [one.index for one in self.acted]
        self.paths, self.least, self.most = _numbers(robot, task)
        numbers = {path: np.full(n, x) for path, x in zip(self.paths, 0.5 * (self.least + self.most), strict=True)}
        self.batch = Batch(robot, n, task.dt if dt is None else dt, numbers, threads, **task.options)
        self.steps = math.ceil(amount("task.duration", task.duration, "time") / self.batch.dt - 1e-9)
        self.count, self.goals = np.zeros(n, dtype=np.int64), [None] * n
        self.drawn: list[dict[str, float]] = [{} for _ in range(n)]
        self.u, self.action = np.zeros((n, len(robot.actuator_names))), np.zeros((n, len(self.chosen)))
        self.size: int | None = None  # of observations
        self.begin(range(1), [np.random.default_rng(0)])
        self.size = self.observe(range(1)).shape[1]
        self.batch.forget(0)
        self.observations = Box(*self._observation_bounds(self.size), dtype=OBSERVATIONS)
        self.actions = Box(-1.0, 1.0, (len(self.chosen),), ACTIONS)

    def _observation_bounds(self, size: int) -> tuple[Any, Any]:
        """Bounds (size,) of what is observed: those of readings, and of inputs where the task says nothing else."""
        readers = self.robot.instruments.readers.values() if self.task.sensors else ()
        groups = [group for reader in readers for group in reader.groups for _ in group.names]
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        low[size - len(groups) :] = [group.low for group in groups]
        high[size - len(groups) :] = [group.high for group in groups]
        if self.task.observe is coordinates_and_rates:
            own = slice(2 * self.robot.ndof, size - len(groups))  # zero until the first step
            low[own], high[own] = 0.0, 0.0
            low[own][self.chosen], high[own][self.chosen] = np.minimum(self.low, 0.0), np.maximum(self.high, 0.0)
        return low.astype(OBSERVATIONS), high.astype(OBSERVATIONS)

    def begin(self, members: Sequence[int], generators: Sequence[Random]) -> None:
        """Begin episodes of some members; each draws from its own generator, in the order numbers, start, goal."""
        for i, random in zip(members, generators, strict=True):
            if self.paths:
                drawn = random.uniform(self.least, self.most)
                self.drawn[i] = dict(zip(self.paths, drawn.tolist(), strict=True))
                self.batch.replace(i, self.drawn[i])
            start = {} if self.task.start is None else self.task.start(random)
            if not isinstance(start, Mapping):
                raise InputError("task.start", "a mapping with q and qd", describe(start))
            for name in start:
                choice("task.start", name, ("q", "qd"))
            goal = None if self.task.goal is None else self.task.goal(random)
            self.batch.reset(start.get("q"), start.get("qd"), members=[i])
            self.goals[i] = goal
            self.count[i], self.u[i], self.action[i] = 0, 0.0, 0.0

    def inputs(self, actions: object) -> tuple[Array, Array]:
        """Actions (n, n_actions) within their bounds, and inputs (n, n_actuators)."""
        shape = len(self.u), len(self.chosen)
        try:
            given = np.array(actions, dtype=float)
        except (TypeError, ValueError):
            raise InputError("action", "numbers within -1 and 1", describe(actions)) from None
        if given.shape != shape:
            raise InputError("action", f"{shape[1]} numbers" if shape[0] == 1 else f"an array {shape}",
                             f"one of shape {given.shape[shape[0] == 1 :]}")  # fmt: skip
        if not np.isfinite(given).all():
            i, k = np.argwhere(~np.isfinite(given))[0]
            raise InputError(f"action[{k}]", f"a finite number for '{self.acted[k].target}'", f"{given[i, k]}")
        given, out = np.clip(given, -1.0, 1.0), np.zeros_like(self.u)
        out[:, self.chosen] = self.low + 0.5 * (given + 1.0) * (self.high - self.low)
        return given, out

    def step(self, actions: object) -> None:
        """Move all members that have not failed."""
        action, u = self.inputs(actions)
        self.batch.step(u)
        self.u, self.action = u, action
        self.count += 1

    def state(self, i: int) -> State:
        """The moment of a member."""
        batch = self.batch
        q, qd = batch.state(i)
        t = float(self.count[i]) * batch.dt
        return State(
            batch.robots[i], t, q, qd, self.u[i].copy(), self.action[i].copy(), self.goals[i], self.drawn[i].copy()
        )

    def observe(self, members: Sequence[int] | None = None) -> Any:
        """Observations (k, size) of members, of all where none are named."""
        chosen, rows = range(len(self.u)) if members is None else members, []
        readings = self.batch.measure(chosen) if self.task.sensors else {}
        for k, i in enumerate(chosen):
            given = self.task.observe(self.state(i))
            try:
                seen = np.array(given, dtype=float)
            except (TypeError, ValueError):
                raise InputError("task.observe", "an array (n,) of numbers", describe(given)) from None
            if seen.ndim != 1:
                raise InputError("task.observe", "an array (n,)", f"one of shape {seen.shape}")
            with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite
                row = np.concatenate([seen, *(np.ravel(one[k]) for one in readings.values())]).astype(OBSERVATIONS)
            if not np.isfinite(row).all():
                raise InputError("task.observe", "finite numbers", describe(seen.tolist()))
            if len(row) != (self.size or len(row)):
                raise InputError("task.observe", f"{self.size} numbers, as many as before", f"{len(row)}")
            rows.append(row)
        return np.array(rows)

    def outcome(self, i: int) -> tuple[float, bool, bool, dict[str, Any]]:
        """Reward, whether the episode ended, whether its time is over, and what else is known, after a step."""
        task, state, info = self.task, self.state(i), {}
        if failure := self.batch.failures.get(i):
            return float(task.failure_reward), True, False, {"failure": str(failure)}
        if task.success is not None:
            info["success"] = flag("task.success", task.success(state))
        ended = task.ends is not None and flag("task.ends", task.ends(state))
        return number("task.reward", task.reward(state)), ended, bool(self.count[i] >= self.steps), info


def _inputs(robot: Robot, task: Task) -> tuple[list[Parameter], Array, Array]:
    """The inputs that are actions, in the order of u, and the bounds between which they act, in SI units."""
    if not isinstance(task.bounds, Mapping) or not task.bounds:
        raise InputError("task.bounds", "a mapping of actuators to (low, high)", describe(task.bounds))
    sides = []
    for side in (0, 1):
        sides.append(
            robot.inputs({name: _pair("bounds", name, pair)[side] for name, pair in task.bounds.items()}, "task.bounds")
        )
    acted = [input_parameter(robot, name) for name in robot.actuator_names if name in task.bounds]
    low, high = (side[[one.index for one in acted]] for side in sides)
    for one, a, b in zip(acted, low, high, strict=True):
        if not a < b:
            raise InputError(f"task.bounds.{one.target}", "a low bound below the high one", f"{a:g} and {b:g}")
    return acted, low, high


def _numbers(robot: Robot, task: Task) -> tuple[tuple[str, ...], Array, Array]:
    """Paths of numbers that are drawn, and their bounds in SI units."""
    paths = number_paths(robot, tuple(task.numbers))
    sides = []
    for side in (0, 1):
        values = {path: _pair("numbers", path, pair)[side] for path, pair in task.numbers.items()}
        file = scalars(robot.with_values(values)) if values else {}
        sides.append(np.array([file[path] for path in paths]))
    for path, low, high in zip(paths, *sides, strict=True):
        if not low <= high:
            raise InputError(f"task.numbers.{path}", "a low bound up to the high one", f"{low:g} and {high:g}")
    return paths, sides[0], sides[1]


def _pair(what: str, name: str, pair: object) -> tuple[Any, Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"task.{what}.{name}", "(low, high)", describe(pair))
    return pair[0], pair[1]
