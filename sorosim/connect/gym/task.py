"""What a learner is to do with a robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.options import StepOptions
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, Values, choice, describe, flag, number
from sorosim.mechanics.robot import Robot

OPTIONS = *StepOptions.declaration(), "driven"
FUNCTIONS = "reward", "observe", "start", "goal", "ends", "success"
Random = np.random.Generator
Bounds = Mapping[str, tuple[Number, Number]]


@dataclass(frozen=True, eq=False)
class State:
    """A moment of an episode, as functions of a `Task` get it.

    Attributes
    ----------
    robot : Robot
        With the numbers of this episode.
    t : float
        Time since the episode began [s].
    q, qd : (ndof,) ndarray
        Coordinates and rates.
    u : (n_actuators,) ndarray
        Inputs of the last step.
    action : (n,) ndarray
        The last action, within -1 and 1; zero at the begin.
    goal
        What the task drew for this episode.
    numbers : mapping of str to float
        Numbers of the robot's file that were drawn for this episode, by path [SI].
    """

    robot: Robot
    t: float
    q: Array
    qd: Array
    u: Array
    action: Array
    goal: Any
    numbers: Mapping[str, float] = field(default_factory=dict)

    def position(self, link: str, s: float = 1.0) -> Array:
        """World position (3,) of a link's frame, or of a rod at s of its length [m]."""
        at: Array = self.robot.pose(self.q, link, s=s)[:3, 3]
        return at

    def velocity(self, link: str, s: float = 1.0) -> Array:
        """Velocity (3,) of that place in the axes of the world [m/s]."""
        R = self.robot.pose(self.q, link, s=s)[:3, :3]
        velocity: Array = R @ (self.robot.jacobian(self.q, link, s=s) @ self.qd)[3:]
        return velocity


def coordinates_and_rates(state: State) -> Array:
    """All coordinates, their rates, and inputs: what is observed where a task says nothing else."""
    return np.concatenate([state.q, state.qd, state.u])


@dataclass(frozen=True, eq=False)
class Task:
    """What a learner is to do with a robot, for `RobotEnv` and `VectorEnv`.

    Parameters
    ----------
    bounds : mapping of actuator name to (low, high)
        The inputs that are actions: an action of -1 is the low bound, of 1 the high one. Texts with units are taken.
        Other inputs stay zero.
    reward : function of State to float
        For each step, in the state at its end.
    dt : float or str
        Time between actions [s].
    duration : float or str
        Time after which an episode is truncated [s].
    observe : function of State to (n,) array_like
        Default: coordinates, rates and inputs. Readings of the robot's sensors are added where `sensors` is True.
    sensors : bool
        Whether observations end with what the sensors of the robot's file read.
    start : function of Generator to mapping, optional
        Draws ``q`` and ``qd`` of an episode's start, as `Stepper.reset` takes them. Default: that of the robot's file.
    goal : function of Generator, optional
        Draws a goal. A position (3,) is drawn in pictures; so is one that moves, a function of the time to positions.
    ends : function of State to bool, optional
        Whether the episode is over before its time.
    success : function of State to bool, optional
        Whether the goal is reached: ``info["success"]``.
    numbers : mapping of str to (low, high), optional
        Numbers of the robot's file by path, each drawn evenly between bounds at the begin of an episode.
    failure_reward : float
        Reward of a step that finds no solution, which ends the episode.
    options : mapping
        method and its options, and driven, of the steps, as in `Stepper`.
    drawing : mapping
        Options of pictures, as for `sorosim.still`.
    in_sight : sequence of (ndof,) array_like or mapping
        Coordinates that pictures must have in sight, beside the start of the robot's file.
    """

    bounds: Bounds
    reward: Callable[[State], float]
    _: KW_ONLY
    dt: Number = 0.05
    duration: Number = 5.0
    observe: Callable[[State], Any] = coordinates_and_rates
    sensors: bool = False
    start: Callable[[Random], Mapping[str, Any]] | None = None
    goal: Callable[[Random], Any] | None = None
    ends: Callable[[State], bool] | None = None
    success: Callable[[State], bool] | None = None
    numbers: Bounds = field(default_factory=dict)
    failure_reward: float = -100.0
    options: Mapping[str, Any] = field(default_factory=dict)
    drawing: Mapping[str, Any] = field(default_factory=dict)
    in_sight: Sequence[Values] = ()

    def __post_init__(self) -> None:
        for name in FUNCTIONS:
            value = getattr(self, name)
            if not (callable(value) or (value is None and name not in FUNCTIONS[:2])):
                raise InputError(f"task.{name}", "a function", describe(value))
        for name in ("numbers", "options", "drawing"):
            if not isinstance(getattr(self, name), Mapping):
                raise InputError(f"task.{name}", "a mapping", describe(getattr(self, name)))
        if isinstance(self.in_sight, str) or not isinstance(self.in_sight, Sequence | np.ndarray):
            raise InputError("task.in_sight", "a sequence of coordinates", describe(self.in_sight))
        for name in self.options:
            choice("task.options", name, OPTIONS)
        if (duration := amount("task.duration", self.duration, "time")) <= 0.0:
            raise InputError("task.duration", "a time greater than 0", f"{duration:g} s")
        number("task.failure_reward", self.failure_reward)
        flag("task.sensors", self.sensors)
