"""Rigid trees beside Pinocchio: cost against the number of links, and what calls from Python add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.compiled_loop import compiled_loop
from benchmarks.context import Action, Array, thread_seconds
from sorosim.base.compiled import entry
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.dynamics.articulation import Articulation
from sorosim.mechanics.dynamics.forward import FORWARD, FORWARD_DERIVATIVES
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.articulated import forward_articulated, solve_columns
from sorosim.mechanics.lie.so3 import exp_so3
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints.revolute import Revolute
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.robot import Robot

# name -> links on each link; 1 is a chain
SHAPES = {"chain": 1, "two each": 2, "five each": 5}
NUMBERS = (2, 5, 10, 20, 50, 100, 200, 500)
# calls of compiled code in one compiled loop, times links
CALLS = 1000

# ours by name, and what Pinocchio has for it
PEERS = {
    "inverse dynamics": "rnea",
    "forward dynamics": "aba",
    "inverse dynamics derivatives": "computeRNEADerivatives",
    "forward dynamics derivatives": "computeABADerivatives",
    "mass matrix": "crba",
}

# compiled functions by their attributes of `Articulation`
ARTICULATED = {"_forward": forward_articulated, "_solve": solve_columns}


def tree(n: int, branching: int = 1) -> Robot:
    """A regular tree of n links on revolute joints, oblique and with a motor each, `branching` links on each link."""
    rng = np.random.default_rng(n)
    links = []
    for i in range(n):
        at = np.eye(4)
        at[:3, :3], at[:3, 3] = exp_so3(rng.normal(size=3)), 0.2 * rng.normal(size=3)
        body = RigidBody(rng.uniform(0.5, 1.5), centre=tuple(0.1 * rng.normal(size=3)),
                         inertia=tuple(rng.uniform(0.02, 0.03, size=3)))  # fmt: skip
        axis = rng.normal(size=3)
        joint = Revolute(axis=tuple(axis / np.linalg.norm(axis)))
        parent = f"link{(i - 1) // branching}" if i else WORLD
        links.append(Link(f"link{i}", body, joint=joint, parent=parent, at=at))
    motors = {link.name: JointForce(link.name) for link in links}
    return Robot(Description("tree", tuple(links), actuators=motors))


def state(robot: Robot) -> tuple[Array, Array, Array, Array]:
    """q, qd, qdd, u: everything moves."""
    q, qd, qdd, u = np.random.default_rng(robot.ndof).normal(size=(4, robot.ndof))
    return q, qd, qdd, u


# -- sorosim ---------------------------------------------------------------------------------------------------------


def public_calls(robot: Robot) -> dict[str, Action]:
    """Calls of a user by name."""
    q, qd, qdd, u = state(robot)
    calls: dict[str, Action] = {
        "inverse dynamics": lambda: robot.inverse_dynamics(q, qd, qdd=qdd),
        "mass matrix": lambda: robot.mass_matrix(q),
        "inverse dynamics derivatives": lambda: robot.inverse_dynamics_derivatives(q, qd, qdd=qdd),
        "forward dynamics": lambda: robot.forward_dynamics(q, qd, u=u),
        "forward dynamics derivatives": lambda: robot.forward_dynamics_derivatives(q, qd, u=u),
    }
    for algorithm in FORWARD_DERIVATIVES:
        derivatives = partial(robot.forward_dynamics_derivatives, q, qd, u=u, algorithm=algorithm)
        calls[f"forward dynamics derivatives, {algorithm}"] = derivatives
        if algorithm in FORWARD:
            calls[f"forward dynamics, {algorithm}"] = partial(robot.forward_dynamics, q, qd, u=u, algorithm=algorithm)
    return calls


Call = tuple[Callable[..., Any], tuple[Any, ...]]


@contextmanager
def recorded_calls(
    calls: list[Call], table: dict[Any, Any], kernels: Mapping[Any, Callable[..., Any]]
) -> Iterator[None]:
    """Record calls of compiled functions, which `table` has by the keys of `kernels`, with their arguments."""
    originals = {name: table[name] for name in kernels}

    def recorder(name: Any) -> Any:
        def call(*arguments: Any) -> Any:
            calls.append((kernels[name], arguments))
            return originals[name](*arguments)

        return call

    try:
        for name in originals:
            table[name] = recorder(name)
        yield
    finally:
        table.update(originals)


def compiled_calls(robot: Robot, quick: bool = False) -> tuple[dict[str, Action], dict[str, Action]]:
    """The compiled functions behind them, their arguments at hand: no checks, no arrays made.

    First called from Python, which takes all arguments apart at every call; then from a compiled loop, see `n_repeats`,
    but where that is to be quick, for a loop takes many seconds to compile. What NumPy has a part in is left out;
    `public_calls` has it.
    """
    prepared: dict[str, Action] = {}
    looped: dict[str, Action] = {}
    articulation = robot.engine.companion(Articulation)
    for name, action in public_calls(robot).items():
        action()  # everything is compiled
        if name.endswith("inverse"):
            continue
        calls: list[Call] = []
        used = {key: function for key, function in ARTICULATED.items() if getattr(articulation, key) is not None}
        by_engine = recorded_calls(calls, robot.engine._prepared, {one: one for one in robot.engine._prepared})
        with by_engine, recorded_calls(calls, vars(articulation), used):
            action()
        prepared[name] = partial(replay, [(entry(function, *arguments), arguments) for function, arguments in calls])
        if not quick:
            looped[name] = compiled_loop(calls, n_repeats(robot))
    return prepared, looped


def n_repeats(robot: Robot) -> int:
    """How often a compiled loop calls what it measures."""
    return max(2, CALLS // robot.ndof)


def replay(calls: Sequence[Call]) -> None:
    """Make these calls."""
    for function, arguments in calls:
        function(*arguments)


def mass_solves(robot: Robot) -> dict[str, Action]:
    """M^-1 times the derivatives of forces: by a sweep for each column, and by M^-1 and a product."""
    q, qd, qdd, u = state(robot)
    articulation = robot.engine.companion(Articulation)
    articulation.motion(q, qd, qdd, u, 0.0, robot.engine.none_known)
    out = robot.engine.evaluate(task.INVERSE_DERIVATIVES, q, qd, qdd, u)
    articulation.motion(q, qd, qdd, u, 0.0, robot.engine.none_known)
    right, known, unit = np.hstack([out.by_q, out.by_qd]), robot.engine.none_known, np.eye(robot.ndof)
    return {
        "column by column": lambda: articulation.solve(known, right),
        "inverse and product": lambda: articulation.solve(known, unit) @ right,
    }


# -- Pinocchio -------------------------------------------------------------------------------------------------------


def pinocchio(robot: Robot) -> dict[str, Action]:
    """The calls of Pinocchio (a library of rigid bodies in C++), by its names; raises ImportError without it."""
    import pinocchio as pin  # type: ignore[import-untyped]

    model, names = pin.Model(), {WORLD: 0}
    order: list[int] = []
    children: dict[str, list[int]] = {}
    for i, link in enumerate(robot.links):
        children.setdefault(link.parent, []).append(i)
    waiting = list(children[WORLD])
    while waiting:  # depth first: it takes the joints of a subtree for neighbours
        i = waiting.pop()
        link = robot.links[i]
        place = pin.SE3(np.array(link.at))
        names[link.name] = model.addJoint(
            names[link.parent], pin.JointModelRevoluteUnaligned(np.array(link.joint.axis)), place, link.name
        )
        body = link.body
        assert isinstance(body, RigidBody)
        inertia = pin.Inertia(body.mass, np.array(body.centre), body.rotational_inertia)
        model.appendBodyToJoint(names[link.name], inertia, pin.SE3.Identity())
        order.append(i)
        waiting += children.get(link.name, [])
    data = model.createData()
    own = state(robot)
    q, qd, qdd, u = (x[order] for x in own)
    tau = robot.inverse_dynamics(own[0], own[1], qdd=own[2])[order]
    np.testing.assert_allclose(pin.rnea(model, data, q, qd, qdd), tau, rtol=1e-9, atol=1e-9)  # the same tree
    return {
        "rnea": lambda: pin.rnea(model, data, q, qd, qdd),
        "crba": lambda: pin.crba(model, data, q),
        "aba": lambda: pin.aba(model, data, q, qd, u),
        "computeRNEADerivatives": lambda: pin.computeRNEADerivatives(model, data, q, qd, qdd),
        "computeABADerivatives": lambda: pin.computeABADerivatives(model, data, q, qd, u),
    }


# -- timing ----------------------------------------------------------------------------------------------------------


class Timings(NamedTuple):
    """Times [s] of one tree, by the names of the operations."""

    public: dict[str, float]
    prepared: dict[str, float]  # compiled code, called from Python
    kernel: dict[str, float]  # compiled code, called from a compiled loop
    pinocchio: dict[str, float]  # by the names of Pinocchio
    mass_solves: dict[str, float]


def time_tree(robot: Robot, quick: bool = False) -> Timings:
    """Time all of one tree; nothing of Pinocchio where it is not installed.

    Where that is to be quick, the time of compiled code is that of calls from Python.
    """
    try:
        theirs = pinocchio(robot)
    except ImportError:
        theirs = {}
    groups = public_calls(robot), *compiled_calls(robot, quick), theirs, mass_solves(robot)
    measured = iter(thread_seconds(*(action for group in groups for action in group.values())))
    timings = Timings(*({name: next(measured) for name in group} for group in groups))
    kernel = {name: value / n_repeats(robot) for name, value in timings.kernel.items()}
    return timings._replace(kernel=timings.prepared if quick else kernel)
