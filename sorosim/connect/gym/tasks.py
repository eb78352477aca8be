"""The registered tasks, each with its robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sorosim.analysis.equilibria.statics import statics
from sorosim.base.arrays import Array
from sorosim.connect.gym.environment import RobotEnv, VectorEnv
from sorosim.connect.gym.task import Random, State, Task
from sorosim.files import load
from sorosim.mechanics.actuation.servo import Servo
from sorosim.mechanics.robot import Robot

# of Newton's method; backward Euler damps what random actions would shake
LOOSE = 1e-5
# reach: inputs [N], how far goals may be missed [m]
TENSION, NEAR = 20.0, 0.02
# swing-up: length of the rail to each side, and of the pole [m]
RAIL, POLE = 1.0, 0.4
# lift: height of the ball above the table at the start, and how far it is to rise [m]
BALL, RISE = 0.035, 0.06


def reach() -> tuple[Robot, Task]:
    """The tip of a soft arm goes to a point, where it can rest, by five cables."""
    robot = load("cable_manipulator")

    def goal(random: Random) -> Array:
        rest = statics(robot, u=random.uniform(0.0, TENSION, len(robot.actuator_names)))
        return np.array(robot.pose(rest.q, "arm")[:3, 3])

    def miss(state: State) -> float:
        return float(np.linalg.norm(state.position("arm") - state.goal))

    def observe(state: State) -> Array:
        tip = state.position("arm")
        seen = [tip, state.goal, state.goal - tip, state.position("arm", 0.5), state.velocity("arm"), state.action]
        return np.concatenate([*(10.0 * x for x in seen[:4]), *seen[4:]])

    return robot, Task(
        dict.fromkeys(robot.actuator_names, ("0 N", f"{TENSION} N")),
        lambda state: (miss(state) < NEAR) - 10.0 * miss(state), dt="50 ms", duration="4 s", observe=observe, goal=goal,
        success=lambda state: miss(state) < NEAR, options={"method": "euler", "substeps": 4, "tolerance": LOOSE},
        in_sight=[statics(robot, u={name: TENSION}).q for name in robot.actuator_names],
    )  # fmt: skip


def swing_up() -> tuple[Robot, Task]:
    """A cart swings its soft pole up, and balances it."""

    def height(state: State) -> float:
        return float(state.position("pole")[2] / POLE)

    def observe(state: State) -> Array:
        tip = state.position("pole") - [state.q[0], 0.0, 0.0]
        angle = state.q[1]
        return np.array([state.q[0], state.qd[0], np.sin(angle), np.cos(angle), 0.2 * state.qd[1], *tip[[0, 2]] / POLE,
                         *state.velocity("pole")[[0, 2]]])  # fmt: skip

    def start(random: Random) -> Mapping[str, Any]:
        return {"q": {"cart.prismatic": random.uniform(-0.1, 0.1), "hinge.revolute": random.uniform(-0.1, 0.1)}}

    def reward(state: State) -> float:
        return 0.5 * (1.0 + height(state)) - 0.1 * float(state.q[0]) ** 2 - 0.01 * float(state.action @ state.action)

    return load("soft_cart_pole"), Task(
        {"motor": ("-15 N", "15 N")}, reward, dt="20 ms", duration="10 s", observe=observe, start=start,
        ends=lambda state: abs(float(state.q[0])) > RAIL, success=lambda state: height(state) > 0.9,
        options={"substeps": 2}, drawing={"view": "side"},
        in_sight=[{"cart.prismatic": x, "hinge.revolute": angle} for x in (-RAIL, RAIL) for angle in (0.0, np.pi)],
    )  # fmt: skip


def swim() -> tuple[Robot, Task]:
    """A vehicle with flagella swims along x, with little effort."""

    def turn(state: State) -> Array:
        """Rotation (3, 3) of the body."""
        return np.asarray(state.robot.pose(state.q, "body")[:3, :3])

    def observe(state: State) -> Array:
        R = turn(state)
        joints = slice(6, None)
        return np.concatenate([R[:2].ravel(), 10.0 * (R.T @ state.velocity("body")), state.q[joints], state.qd[joints]])

    def reward(state: State) -> float:
        return 100.0 * float(state.velocity("body")[0]) - 0.1 * float(state.action @ state.action)

    robot = load("underwater_vehicle")
    return robot, Task(
        dict.fromkeys(robot.actuator_names, ("-0.25 N*m", "0.25 N*m")), reward, dt="20 ms", duration="8 s",
        observe=observe, failure_reward=-10.0, options={"substeps": 4, "tolerance": LOOSE}, drawing={"follow": "body"},
    )  # fmt: skip


def lift() -> tuple[Robot, Task]:
    """A soft gripper grasps a ball on a table and lifts it."""
    slip = {f"loads.{name}.contact.slip_speed": "1 cm/s" for name in ("grip", "table")}
    description = load("gripper_grasps_sphere", set=slip).description
    lifter = Servo("palm", stiffness="500 N/m", damping="25 N*s/m")
    actuators = {**description.actuators, "lift": lifter}
    robot = Robot(replace(description, actuators=actuators, simulate={}, statics={}))

    def height(state: State) -> float:
        return float(state.position("ball")[2] - BALL)

    def observe(state: State) -> Array:
        ball, palm = state.position("ball"), state.position("palm")
        tips = [state.position(f"{name}_rod") - ball for name in "abc"]
        seen = np.concatenate([ball - palm, palm[2:], *tips])
        return np.concatenate([10.0 * seen, state.velocity("ball"), state.action])

    def start(random: Random) -> Mapping[str, Any]:
        x, y = random.uniform(-0.008, 0.008, 2)
        return {"q": {"ball.free.tx": x, "ball.free.ty": y}}

    grip = {f"{name}_tendon": ("0 N", "8 N") for name in "abc"}
    return robot, Task(
        {**grip, "lift": ("0 cm", "10 cm")}, lambda state: min(max(height(state) / RISE, -1.0), 1.0), dt="50 ms",
        duration="5 s", observe=observe, start=start, success=lambda state: height(state) > RISE,
        ends=lambda state: float(np.linalg.norm(state.position("ball")[:2])) > 0.1, failure_reward=-10.0,
        options={"method": "euler", "substeps": 8, "tolerance": LOOSE}, drawing={"contacts": False},
        in_sight=[{"palm.prismatic": 0.1}],
    )  # fmt: skip


TASKS: Mapping[str, Callable[[], tuple[Robot, Task]]] = {
    "Reach": reach, "SwingUp": swing_up, "Swim": swim, "Lift": lift,
}  # fmt: skip


def environment(task: str, **options: Any) -> RobotEnv:
    """The environment of a registered task: `gymnasium.make`."""
    return RobotEnv(*TASKS[task](), **options)


def environments(task: str, num_envs: int, **options: Any) -> VectorEnv:
    """Its members on threads: `gymnasium.make_vec`."""
    return VectorEnv(*TASKS[task](), num_envs=num_envs, **options)
