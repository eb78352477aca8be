"""The check of an actuator."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.mechanics.actuation.base import ActuatorValues, actuate_checked
from sorosim.mechanics.model.basis import STRAINS
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.mechanics.testing.differences import jacobian
from sorosim.mechanics.testing.report import FLOOR, ContractError, Matrix, Pair, Report, derivative_hint
from sorosim.mechanics.testing.states import State, bare_robot, check_stateless, describe_state, make_states, scales

WRENCH = [f"of {name}" for name in STRAINS]
COLUMNS = {"by_strain": list(STRAINS), "by_rate": [f"rate of {name}" for name in STRAINS], "by_input": ["input"]}
HINTS = {"by_strain": "the six strains", "by_rate": "the rates of the six strains", "by_input": "the input"}
ROBOT_HINT = "what holds at its sections must hold in the robot: look at rods and bind"


def check_actuator(
    actuator: object,
    robot: Robot,
    *,
    inputs: Sequence[float] = (1.0,),
    name: str = "actuator",
    n_states: int = 4,
    seed: int = 0,
    states: Sequence[tuple[ArrayLike, ArrayLike]] | None = None,
    tolerance: float = 1e-6,
) -> Report:
    """Check whether an actuator keeps its contract, on the links of a robot, at states of rest and of motion.

    Tried are: rods, unit and binding; shapes and finiteness; that the wrench is smooth: its derivatives by strain, rate
    and input, the library's or those of an actuator's own `tangents`, against central differences of sixth order,
    section by section and inside the robot; that a section does not feel the strain of others; that the same arguments
    give the same values, from any thread. Built-in actuators are compiled, and tried inside the robot only.

    Parameters
    ----------
    actuator : SectionActuator, or a built-in actuator
    robot : Robot
        Its links carry the actuator, without its own actuators, loops and loads.
    inputs : sequence of float
        Inputs to try, of the size that it is used with, where its force is smooth in them.
    name : str
        What messages call the actuator.
    n_states, seed : int
        How many random states of moderate size, every other one at rest.
    states : sequence of pairs of arrays, optional
        Coordinates and rates to try instead.
    tolerance : float
        How far derivatives may be off, in the size of their own blocks.

    Returns
    -------
    Report
        The worst errors.

    Raises
    ------
    ContractError
        The actuator broke a rule: which, where and what to look at. It is an AssertionError.
    ModelError, PlugInError
        What it says or returns cannot be taken at all.
    """
    check_robot(robot)
    where = f"actuator {name}"
    driven, free = bare_robot(robot, actuators={name: actuator}), bare_robot(robot)
    tried, amounts = make_states(driven, n_states, seed, states), [float(u) for u in inputs]
    if not amounts:
        raise InputError("inputs", "numbers", "none")
    report = Report(name, len(tried))
    if driven.engine.loading.actuators:
        _Sections(driven, name, where, tolerance).check(report, tried, amounts)
    if not _check_robot(report, where, driven, free, tried, amounts, tolerance):
        raise ContractError(where, "it does nothing at any of the states", "give inputs and states where it acts")

    def evaluate(state: State) -> tuple[Array]:
        return (driven.internal_force(state[0], state[1], u=[amounts[-1]]),)

    check_stateless(f"{where}, inside the robot", evaluate, tried)
    return report


class _Sections:
    """The sections of an actuator that Python computes."""

    def __init__(self, driven: Robot, name: str, where: str, tolerance: float) -> None:
        self.engine, self.name, self.where, self.tolerance = driven.engine, name, where, tolerance
        (self.own,) = self.engine.actuators_in_rods
        self.bound, self.sections = self.own.bound, self.own.sections
        named = zip(self.sections.s, self.sections.rod, strict=True)
        self.places = [f"s = {s:.4g} of '{rod}'" for s, rod in named]

    def strains_at(self, state: State) -> tuple[Array, Array]:
        """Strains and their rates (n, 6) of the sections."""
        return self.own.strains(self.engine.tree, self.engine.rod_actuators, *state[:2])

    def values(self, u: float, xi: Array, xid: Array, tangents: bool = True) -> ActuatorValues:
        """What the actuator returns; refuses one that changes its arguments."""
        given = xi.copy(), xid.copy()
        found: ActuatorValues = actuate_checked(self.name, self.bound, self.sections, u, *given, tangents)
        if not (np.array_equal(given[0], xi) and np.array_equal(given[1], xid)):
            raise ContractError(self.where, "it changed the arrays xi or xid that it was given", "work on copies")
        return found

    def check(self, report: Report, states: Sequence[State], amounts: Sequence[float]) -> None:
        """Memory, derivatives and independence of the sections."""
        strains = [(u, *self.strains_at(state)) for state in states for u in amounts]
        names = [f"{describe_state(k, state)}, input {u:g}" for k, state in enumerate(states) for u in amounts]
        # first: finite differences of a function with memory mean nothing
        check_stateless(self.where, lambda given: self.values(*given), strains)
        pairs: dict[str, list[Pair]] = {what: [] for what in COLUMNS}
        for at, (u, xi, xid) in zip(names, strains, strict=True):
            self.differentiate(pairs, at, u, xi, xid)
            self.check_independence(at, u, xi, xid)
        for what, columns in COLUMNS.items():
            hint = derivative_hint(self.bound, f"it is the derivative of the internal wrench by {HINTS[what]}")
            Matrix(what, WRENCH, columns, True, hint).compare(report, self.where, pairs[what], self.tolerance)

    def differentiate(self, pairs: dict[str, list[Pair]], at: str, u: float, xi: Array, xid: Array) -> None:
        """All three derivatives of all sections, and by differences."""
        found = self.values(u, xi, xid)
        size, floor = max(1.0, abs(u)), FLOOR * float(np.abs(found.wrench).max())
        by_strain = jacobian(lambda d: self.values(u, xi + d, xid, False).wrench, 6)
        by_rate = jacobian(lambda d: self.values(u, xi, xid + d, False).wrench, 6)
        by_input = jacobian(lambda d: self.values(u + d[0], xi, xid, False).wrench, 1, size)
        for i, place in enumerate(self.places):
            where = f"{place}, {at}"
            pairs["by_strain"].append(Pair(found.by_strain[i], by_strain[i], floor, where))
            pairs["by_rate"].append(Pair(found.by_rate[i], by_rate[i], floor, where))
            pairs["by_input"].append(Pair(found.by_input[i, :, None], by_input[i], floor / size, where))

    def check_independence(self, at: str, u: float, xi: Array, xid: Array) -> None:
        """A section does not feel the strain of others."""
        before = self.values(u, xi, xid).wrench
        moved = xi.copy(), xid.copy()
        for part in moved:
            part[::2] += 0.01
        change = np.abs(self.values(u, *moved).wrench - before)[1::2]
        if change.max(initial=0.0) > 1e-12 * np.abs(before).max():
            i = int(np.argmax(change.max(axis=1)))
            found = f"the wrench at {self.places[2 * i + 1]} changed with the strain of another section, {at}"
            raise ContractError(self.where, found, "an actuator sees its sections one by one")


def _check_robot(
    report: Report, where: str, driven: Robot, free: Robot, states: Sequence[State], amounts: Sequence[float],
    tolerance: float,
) -> bool:  # fmt: skip
    """What the actuator adds to internal forces, and its derivatives; whether it adds anything."""
    n, scale, names, acts = driven.ndof, scales(driven), driven.coordinate_names, False
    pairs: dict[str, list[Pair]] = {"dtau/dq": [], "dtau/dqd": [], "B": []}

    def added(q: Array, qd: Array, u: float) -> Array:
        return driven.internal_force(q, qd, u=[u]) - free.internal_force(q, qd)

    for (k, (q, qd)), u in product(enumerate(states), amounts):
        one, two = driven.internal_force_derivatives(q, qd, u=[u]), free.internal_force_derivatives(q, qd)
        tau, size = float(np.abs([one.tau, two.tau]).max(initial=0.0)), max(1.0, abs(u))
        acts |= bool(np.any(one.B) or np.abs(added(q, qd, u)).max(initial=0.0) > 1e-12 * tau)
        at = f"{describe_state(k, (q, qd))}, input {u:g}"
        for what, ground, given, found in (
            ("dtau/dq", two.dtau_dq, one.dtau_dq, jacobian(lambda d: added(q + d, qd, u), n, scale)),  # noqa: B023
            ("dtau/dqd", two.dtau_dqd, one.dtau_dqd, jacobian(lambda d: added(q, qd + d, u), n, scale)),  # noqa: B023
        ):
            floor = FLOOR * (float(np.abs(ground).max(initial=0.0)) + tau / scale.max())
            pairs[what].append(Pair(given - ground, found, floor, at))
        by_input = jacobian(lambda d: added(q, qd, u + d[0]), 1, size)  # noqa: B023
        pairs["B"].append(Pair(one.B, by_input, FLOOR * tau / size, at))
    for what, tried in pairs.items():
        columns = ["input"] if what == "B" else names
        Matrix(f"{what} inside the robot", names, columns, False, ROBOT_HINT).compare(report, where, tried, tolerance)
    return acts
