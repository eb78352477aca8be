"""The check of a load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.mechanics.dynamics.energies import load_power
from sorosim.mechanics.lie.se3 import exp_se3
from sorosim.mechanics.loads.base import Load, LoadValues, check_places, evaluate_checked
from sorosim.mechanics.loads.compiled import CompiledLaw
from sorosim.mechanics.model.link import WORLD
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.mechanics.testing.differences import STRAIGHT, jacobian
from sorosim.mechanics.testing.report import FLOOR, ContractError, Matrix, Pair, Report, derivative_hint
from sorosim.mechanics.testing.states import State, bare_robot, check_stateless, describe_state, make_states, scales

WRENCH = [f"{part} {axis}" for part in ("moment", "force") for axis in "xyz"]
MOTION = [f"{part} {axis}" for part in ("turn about", "shift along") for axis in "xyz"]
TWIST = [f"{part} {axis}" for part in ("angular velocity", "velocity") for axis in "xyz"]
K_HINT = "K is the derivative by g exp(delta^), the six numbers eta held; the wrench is in the axes of the body"
D_HINT = "D is the derivative by the body twist eta = [angular; linear]"
ROBOT_HINT = "what holds at its points must hold in the robot: look at nodes, frames, others and added_inertia"
# a rigid motion of everything, which an invariant load does not notice
RIGID_MOTION = exp_se3(np.array([0.7, -1.1, 0.4, 0.3, -0.5, 0.8]))


@dataclass(frozen=True)
class _NoLoad:
    """A load without effect at given places."""

    places: Sequence[tuple[str, float]]
    nodes = np.zeros(0, dtype=np.int64)
    law = CompiledLaw([])

    def bind(self, layout: object) -> _NoLoad:
        """Look nothing up."""
        return self


def check_load(
    load: Load,
    robot: Robot,
    *,
    name: str = "load",
    n_states: int = 4,
    seed: int = 0,
    states: Sequence[tuple[ArrayLike, ArrayLike]] | None = None,
    t: float = 0.37,
    invariant: bool = False,
    passive: bool = False,
    tolerance: float = 1e-6,
) -> Report:
    """Check whether a load keeps its contract, on the links of a robot, at states of rest and of motion.

    Tried are: places and nodes; shapes and finiteness; that the wrench is smooth: its derivatives K and D, those of the
    library or of the load's own `tangents`, against central differences of sixth order, point by point and inside the
    robot; that a point does not feel how others move; that the same arguments give the same values, from any thread.
    Built-in loads are compiled, and tried inside the robot only.

    Parameters
    ----------
    load : Load
    robot : Robot
        Its links carry the load, without its actuators, loops and other loads.
    name : str
        What messages call the load.
    n_states, seed : int
        How many random states of moderate size, every other one at rest.
    states : sequence of pairs of arrays, optional
        Coordinates and rates to try instead: those where a contact touches, for instance.
    t : float
        Time [s].
    invariant : bool
        Whether the load does not know the world: its wrenches must stay when the whole robot is moved and turned.
    passive : bool
        Whether the load must never do work on the robot.
    tolerance : float
        How far derivatives may be off, in the size of their own blocks of moments, forces, turns and shifts.

    Returns
    -------
    Report
        The worst errors.

    Raises
    ------
    ContractError
        The load broke a rule: which, where and what to look at. It is an AssertionError.
    ModelError, PlugInError
        What it says or returns cannot be taken at all.
    """
    check_robot(robot)
    where = f"load {name}"
    check_places(name, load, [link.name for link in robot.links])
    loaded, free = (bare_robot(robot, loads={name: thing}) for thing in (load, _NoLoad(load.places)))
    tried = make_states(loaded, n_states, seed, states)
    report = Report(name, len(tried))
    in_python = name in loaded.engine.loading.others
    if in_python:
        _Points(loaded, name, where, t, tolerance).check(report, tried)
    none = loaded.inputs(None)
    if not any(np.any(loaded.engine.load_wrenches(name, t, *state, none)) for state in tried):
        raise ContractError(where, "it does nothing at any of the states", "give states where it acts, by states=")
    _check_robot(report, where, loaded, free, tried, t, tolerance)

    def evaluate(state: State) -> tuple[Array]:
        return (loaded.inverse_dynamics(state[0], state[1], qdd=0.0 * state[0], t=t),)

    check_stateless(f"{where}, inside the robot", evaluate, tried)
    if invariant:
        _check_invariance(report, where, name, loaded, tried, t, tolerance)
    if passive:
        _check_power(report, where, name, loaded, tried, t)
    return report


class _Points:
    """The points of a load that Python computes."""

    def __init__(self, loaded: Robot, name: str, where: str, t: float, tolerance: float) -> None:
        self.engine, self.name, self.where, self.t, self.tolerance = loaded.engine, name, where, t, tolerance
        self.load = self.engine.loading.others[name]
        self.points = self.engine.loading.points[name]

    def motions_at(self, state: State) -> tuple[Array, Array]:
        """Poses and twists of the points as the load sees them."""
        self.engine.sweep(*state, 0)
        motions = self.engine.loading.relative_kinematics_of(self.name, self.engine.workspace)
        return motions.g, motions.eta

    def values(self, g: Array, eta: Array, tangents: bool = True) -> LoadValues:
        """What the load returns; refuses one that changes its arguments."""
        given = g.copy(), eta.copy()
        found = evaluate_checked(self.name, self.load, self.points.names, self.t, *given, tangents)
        if not (np.array_equal(given[0], g) and np.array_equal(given[1], eta)):
            raise ContractError(self.where, "it changed the arrays g or eta that it was given", "work on copies")
        return found

    def check(self, report: Report, states: Sequence[State]) -> None:
        """Memory, derivatives and independence of the points."""
        if not len(self.load.nodes):
            raise ContractError(self.where, "it has no points", "look at bind and nodes")
        motions = [self.motions_at(state) for state in states]
        # first: finite differences of a function with memory mean nothing
        check_stateless(self.where, lambda given: self.values(*given), motions)
        pairs: dict[str, list[Pair]] = {"K": [], "D": []}
        for k, (state, (g, eta)) in enumerate(zip(states, motions, strict=True)):
            self.differentiate(pairs, describe_state(k, state), g, eta)
            self.check_independence(describe_state(k, state), g, eta)
        for what, columns, hint in (("K", MOTION, K_HINT), ("D", TWIST, D_HINT)):
            matrix = Matrix(what, WRENCH, columns, True, derivative_hint(self.load, hint))
            matrix.compare(report, self.where, pairs[what], self.tolerance)

    def differentiate(self, pairs: dict[str, list[Pair]], state: str, g: Array, eta: Array) -> None:
        """K and D of all points, and by differences."""
        found = self.values(g, eta)
        by_motion = jacobian(lambda d: self.values(g @ exp_se3(d), eta, False).wrench, 6)
        by_twist = jacobian(lambda d: self.values(g, eta + d, False).wrench, 6)
        floor = FLOOR * float(np.abs(found.wrench).max())
        for i, point in enumerate(self.points.names):
            at = f"{point}, {state}"
            pairs["K"].append(Pair(found.K[i], by_motion[i], floor, at))
            pairs["D"].append(Pair(found.D[i], by_twist[i], floor, at))

    def check_independence(self, state: str, g: Array, eta: Array) -> None:
        """A point does not feel how the others move."""
        before = self.values(g, eta).wrench
        moved_g, moved_eta = g.copy(), eta.copy()
        moved_g[::2], moved_eta[::2] = g[::2] @ exp_se3(np.full(6, 0.01)), eta[::2] + 0.1
        change = np.abs(self.values(moved_g, moved_eta).wrench - before)[1::2]
        if change.max(initial=0.0) > 1e-12 * np.abs(before).max():
            i, entry = (int(k) for k in np.unravel_index(np.argmax(change), change.shape))
            found = f"{WRENCH[entry]} at {self.points.names[2 * i + 1]} changed when another point moved, {state}"
            raise ContractError(
                self.where, found, "a load sees its points one by one; between bodies there is `others`"
            )


def _check_robot(
    report: Report, where: str, loaded: Robot, free: Robot, states: Sequence[State], t: float, tolerance: float
) -> None:
    """What the load adds to inverse dynamics, and its derivatives."""
    n, scale, names = loaded.ndof, scales(loaded), loaded.coordinate_names
    pairs: dict[str, list[Pair]] = {"dtau/dq": [], "dtau/dqd": [], "mass matrix": []}

    def added(q: Array, qd: Array, qdd: Array) -> Array:
        return loaded.inverse_dynamics(q, qd, qdd=qdd, t=t) - free.inverse_dynamics(q, qd, qdd=qdd, t=t)

    for k, (q, qd) in enumerate(states):
        qdd = np.sin(1.0 + np.arange(n)) * scale if np.any(qd) else np.zeros(n)
        one, two = (robot.inverse_dynamics_derivatives(q, qd, qdd=qdd, t=t) for robot in (loaded, free))
        # differences of what the bodies need anyway cost figures
        needed = float(np.abs(one.tau).max(initial=0.0) / scale.max())
        for what, ground, given, found in (
            ("dtau/dq", two.dtau_dq, one.dtau_dq, jacobian(lambda d: added(q + d, qd, qdd), n, scale)),  # noqa: B023
            ("dtau/dqd", two.dtau_dqd, one.dtau_dqd, jacobian(lambda d: added(q, qd + d, qdd), n, scale)),  # noqa: B023
            ("mass matrix", two.mass_matrix, one.mass_matrix,
             jacobian(lambda d: added(q, qd, qdd + d), n, scale, STRAIGHT)),  # noqa: B023
        ):  # fmt: skip
            floor = FLOOR * (float(np.abs(ground).max(initial=0.0)) + needed)
            pairs[what].append(Pair(given - ground, found, floor, describe_state(k, (q, qd))))
    for what, tried in pairs.items():
        Matrix(f"{what} inside the robot", names, names, False, ROBOT_HINT).compare(report, where, tried, tolerance)


def _check_invariance(
    report: Report, where: str, name: str, loaded: Robot, states: Sequence[State], t: float, tolerance: float
) -> None:
    links = [replace(link, at=RIGID_MOTION @ link.at) if link.parent == WORLD else link for link in loaded.links]
    moved = bare_robot(loaded, loads=loaded.description.loads, links=tuple(links))  # type: ignore[arg-type]
    nodes = loaded.engine.loading.nodes_of(name)
    for k, state in enumerate(states):
        here, there = (robot.engine.load_wrenches(name, t, *state, robot.inputs(None)) for robot in (loaded, moved))
        size, error = np.abs(here).max(initial=0.0), np.abs(here - there)
        report.note("wrench when the robot is moved", float(error.max() / size) if size > 0.0 else 0.0)
        if error.max(initial=0.0) > tolerance * size:
            row, entry = (int(i) for i in np.unravel_index(np.argmax(error), error.shape))
            numbers = f"{WRENCH[entry]} was {here[row, entry]:.9g}, is {there[row, entry]:.9g}"
            place, at = loaded.engine.layout.place_of(nodes[row]), describe_state(k, state)
            hint = "the load knows the world: a place or a direction in it, or the axes of a matrix are mixed up"
            raise ContractError(f"{where}, at {place}, {at}", f"when the robot was moved and turned, {numbers}", hint)


def _check_power(report: Report, where: str, name: str, loaded: Robot, states: Sequence[State], t: float) -> None:
    for k, state in enumerate(states):
        power = load_power(loaded.engine, name, t, *state, loaded.inputs(None))
        twists = np.abs(loaded.engine.workspace.twist[:-1, 0]).max(initial=0.0)
        wrenches = loaded.engine.load_wrenches(name, t, *state, loaded.inputs(None))
        size = float(np.abs(wrenches).max(initial=0.0) * twists)
        report.note("power that it gives", max(power, 0.0) / size if size > 0.0 else 0.0)
        if power > 1e-12 * size:
            hint = "a passive load never drives the robot: look at its signs"
            raise ContractError(f"{where}, {describe_state(k, state)}", f"it does {power:.6g} W on the robot", hint)
