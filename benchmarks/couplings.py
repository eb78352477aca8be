"""Cases of gears: an arm with motors in its base, by couplings, and with rotors (`armature`) in place of them.

A rotor in the base turns by the ratio of its gear times the angle of its joint, so the arm of armatures is the same
robot with the motors' coordinates eliminated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.cases import Case, amount
from benchmarks.context import Action, Context, thread_seconds
from benchmarks.rigid_trees import tree
from sorosim.analysis.motion.simulate import simulate
from sorosim.mechanics.constraints.coupling import Coupling
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.joints.revolute import Revolute
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

N, RATIO, ROTOR, DAMPING = 6, 50.0, 1e-5, 2.0  # joints; of each gear; [kg m^2]; of each joint [N m s/rad]
SAME = 1e-8  # of the accelerations


@cache
def with_armatures() -> Robot:
    """A chain of N hinges, each with the inertia of the rotor that drives it."""
    base = tree(N).description
    links = [
        replace(link, joint=Revolute(axis=link.joint.axis, armature=(RATIO**2 * ROTOR,), damping=(DAMPING,)))
        for link in base.links
    ]
    return Robot(replace(base, links=tuple(links), actuators={}))


@cache
def with_motors() -> Robot:
    """The same with the rotors as bodies on hinges in the base, which follow the joints."""
    base = with_armatures().description
    arm = [replace(link, joint=Revolute(axis=link.joint.axis, damping=(DAMPING,))) for link in base.links]
    rotor = RigidBody(0.1, inertia=(ROTOR, ROTOR, ROTOR))
    motors = [Link(f"motor{i}", rotor, joint=Revolute()) for i in range(N)]
    gears = {f"gear{i}": Coupling(f"motor{i}", f"link{i}", RATIO) for i in range(N)}
    return Robot(replace(base, links=(*arm, *motors), couplings=gears))


def state(robot: Robot) -> tuple[Any, Any]:
    """Coordinates and rates of the arm, and of the motors that follow it."""
    q, qd = np.random.default_rng(N).normal(size=(2, N))
    if robot.ndof == N:
        return q, qd
    return np.concatenate([q, RATIO * q]), np.concatenate([qd, RATIO * qd])


def _forward(robot: Robot) -> Action:
    q, qd = state(robot)
    return lambda: robot.forward_dynamics(q, qd)


def _derivatives(robot: Robot) -> Action:
    q, qd = state(robot)
    return lambda: robot.forward_dynamics_derivatives(q, qd)


def _inverse(robot: Robot) -> Action:
    q, qd = state(robot)
    return lambda: robot.inverse_dynamics(q, qd, qdd=qd)


def _motion(robot: Robot, t_end: float = 1.0) -> Action:
    return lambda: simulate(robot, t_end, dt_out=0.01, rtol=1e-3, atol=1e-6)


def _compared(make: Callable[[Robot], Action]) -> Callable[[Context, Any], str]:
    """Times of both, measured in turns, and whether they are one robot."""

    def remark(_: Context, __: Any) -> str:
        with_gears, eliminated = with_motors(), with_armatures()
        a, b = _forward(with_gears)()[:N], _forward(eliminated)()
        if not np.abs(a - b).max() <= SAME * np.abs(b).max():
            raise ArithmeticError(f"accelerations of both robots differ by {np.abs(a - b).max():.1e} rad/s^2")
        ours, fewer = thread_seconds(make(with_gears), make(eliminated))
        return f"eliminated {amount(fewer, 's')}; coupled / eliminated {ours / fewer:.1f}"

    return remark


COUPLINGS: tuple[Case, ...] = (
    Case(f"ID, chain of {N} joints with rotors", lambda _: _inverse(with_armatures()), iterations=100),
    Case(f"FD, chain of {N} joints with rotors", lambda _: _forward(with_armatures()), iterations=100),
    Case(f"FD, {N} joints coupled to motors", lambda _: _forward(with_motors()), iterations=100,
         remark=_compared(_forward)),
    Case(f"FD derivatives, {N} joints coupled to motors", lambda _: _derivatives(with_motors()), iterations=100,
         remark=_compared(_derivatives)),
    Case(f"1 s run, {N} joints coupled to motors", lambda context: _motion(with_motors(), context.size(1.0, 0.1)),
         rounds=5, remark=_compared(_motion)),
)  # fmt: skip
