"""The matrix of derivatives: every public one, of every robot, by every kind of number, against central differences."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sorosim
from sorosim.errors import InputError, SorosimError
from sorosim.robot import Robot
from sorosim.stepping.rollout import AtRest

Array = NDArray[np.float64]
Values = dict[str, Array]

# kinds of numbers, and the paths that are of them; the first path of a kind counts that can be differentiated
KINDS = {
    "length": r"length$|\.(height|reach|long|short|crank|rod)$|\bdh\.",
    "pose": r"position\[|\.at\.rotation|\.offset|\.centre\[",
    "section": r"radius|\.section\.|thickness|width",
    "modulus": r"young|shear",
    "damping": r"damping",
    "density": r"density|\.mass$|inertia\[",
    "route": r"^actuators\..*\.[yz]$|^actuators\..*\.(offset|angle|area)",
    "gravity": r"^gravity\[",
    "load": r"^loads\.",
    "reference": r"reference|\.rest",
    "stiffness": r"stiffness",
    "parameter": r"^parameters\.",
}
TRIED = 3  # paths of a kind, until one can be differentiated
N, DT = 4, 1e-3  # intervals of motions
# of a difference: its step, relative to a number; what functions are right to, relative to their size, by how they are
# found: directly, by factors of the mass matrix, by Newton's method. The difference shows no more than that over its step
STEP = 2e-3
DIRECT, FACTORS, NEWTON = 1e-13, 1e-11, 1e-10
ROUNDING = {
    "inverse_dynamics": DIRECT, "internal_force": DIRECT, "jacobian": DIRECT, "forward_dynamics": FACTORS,
    "hybrid_dynamics": FACTORS, "equilibrium": NEWTON, "rollout, place_vjp": NEWTON,
}  # fmt: skip


class Cell(NamedTuple):
    """One entry of the matrix."""

    robot: str
    route: str
    kind: str
    name: str  # of the number
    error: float  # of the derivative, relative to the largest entry of the difference
    bound: float  # by which the difference itself may be wrong, in the same unit


class Refused(NamedTuple):
    """A derivative that there is none of, and what the error says."""

    robot: str
    route: str
    kind: str
    why: str


class Slope(NamedTuple):
    """A difference quotient of the fourth order, and how far it may be off."""

    value: Array
    error: float


def slope(f: Callable[[float], Array], h: float, rounding: float) -> Slope:
    """df/dx at 0. From two steps of the second order comes one of the fourth; what that corrects is more than its error.

    rounding: of f, relative to its size.
    """
    far, near = ((f(x) - f(-x)) / (2.0 * x) for x in (h, 0.5 * h))
    value = (4.0 * near - far) / 3.0
    size = np.abs(f(0.0)).max(initial=0.0)
    return Slope(value, float(np.abs(value - near).max(initial=0.0) + 4.0 * rounding * size / h))


class Case:
    """A robot in a state and a motion, from which all derivatives are taken."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name, self.robot = name, (robot := sorosim.load(name))
        rng = np.random.default_rng(seed)
        n, nu = robot.ndof, len(robot.actuator_names)
        self.q = robot.initial_q + 0.05 * rng.normal(size=n)
        self.qd, self.qdd = 0.2 * rng.normal(size=(2, n))
        self.u = np.full(nu, 1e-3) * (1.0 + rng.uniform(size=nu))
        self.inputs = np.outer(1.0 + 0.5 * rng.uniform(size=N), self.u)
        self.known = np.arange(0, n, 2)
        self.place = robot.tip_link
        self.weight, self.place_weight = rng.normal(size=(2, N + 1, n)), rng.normal(size=(N + 1, 3))
        self.directions = rng.normal(size=(3, n))
        self.u_direction = 1e-3 * rng.normal(size=(N, nu))
        self.eq: Any = None
        self.why_not = ""
        try:
            self.eq = sorosim.rollout(robot, self.inputs[:0], DT, "equilibrium", t0=0.0)._equilibrium
        except SorosimError as error:
            self.why_not = str(error)
        if self.eq is not None:
            layout = robot.engine.layout
            self.driven = {key: float(self.eq.q[layout.coordinate(key, "driven")]) for key in self.eq.driven}

    # -- what is differentiated --------------------------------------------------------------------------------------

    def at_rest(self, robot: Robot) -> Any:
        """The equilibrium of a robot near to this one's."""
        return sorosim.statics(robot, self.inputs[0], driven=self.driven, q0=self.eq.q)

    def start(self, robot: Robot) -> Any:
        """Where motions begin."""
        if self.eq is None:
            return None
        return AtRest(self.at_rest(robot)) if robot is not self.robot else AtRest(self.eq)

    def motion(self, robot: Robot, **options: Any) -> Any:
        """A motion of a robot."""
        return sorosim.rollout(robot, self.inputs, DT, self.start(robot), **options)

    def values(self) -> dict[str, Callable[[Robot], Array]]:
        """Functions of a robot by route."""
        q, qd, qdd, u, known = self.q, self.qd, self.qdd, self.u, self.known
        tau = np.ones(len(q))

        def hybrid(r: Robot) -> Array:
            found = r.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=known)
            return np.concatenate([found.qdd, found.tau])

        def moved(r: Robot) -> Array:
            m = self.motion(r)
            ends = np.array([r.pose(x, self.place)[:3, 3] for x in m.q])
            pulled = float((self.weight[0] * m.q + DT * self.weight[1] * m.qd).sum())
            return np.concatenate([m.q[-1], DT * m.qd[-1], [pulled, float((self.place_weight * ends).sum())]])

        out = {
            "inverse_dynamics": lambda r: r.inverse_dynamics(q, qd, qdd=qdd),
            "internal_force": lambda r: r.internal_force(q, qd, u=u),
            "forward_dynamics": lambda r: r.forward_dynamics(q, qd, u=u, driven_qdd={}),
            "hybrid_dynamics": hybrid,
            "jacobian": lambda r: r.pose(q, self.place)[:3].ravel(),
        }
        if self.eq is not None:
            out["equilibrium"] = lambda r: self.at_rest(r).q
        return out | {"rollout, place_vjp": moved}

    def derivatives(self, name: str) -> dict[str, Callable[[], Array]]:
        """The same functions' derivatives by a number of the file."""
        q, qd, qdd, u, known, robot = self.q, self.qd, self.qdd, self.u, self.known, self.robot
        by = sorosim.sensitivities(robot, [name])
        tau = np.ones(len(q))

        def hybrid() -> Array:
            found = by.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=known)
            return np.concatenate([found.qdd[:, 0], found.tau[:, 0]])

        def place() -> Array:
            R, V = robot.pose(q, self.place)[:3, :3], by.jacobian(q, self.place)[:, 0]
            turned = np.array([[0.0, -V[2], V[1]], [V[2], 0.0, -V[0]], [-V[1], V[0], 0.0]])
            return (R @ np.column_stack([turned, V[3:]])).ravel()

        def moved() -> Array:
            m = self.motion(robot, numbers=by)
            j = m.jvp(numbers=[1.0])
            w = self.weight
            pulled = m.vjp(w[0], DT * w[1]).numbers[0]
            pushed = (w[0] * j.q + DT * w[1] * j.qd).sum()
            assert abs(pulled - pushed) <= 1e-6 * (np.abs(w[0] * j.q).sum() + DT * np.abs(w[1] * j.qd).sum()), "vjp, jvp"
            at = m.place_vjp(self.place, position=self.place_weight).numbers[0]
            return np.concatenate([j.q[-1], DT * j.qd[-1], [pulled, at]])

        out = {
            "inverse_dynamics": lambda: by.inverse_dynamics(q, qd, qdd=qdd)[:, 0],
            "internal_force": lambda: by.internal_force(q, qd, u=u)[:, 0],
            "forward_dynamics": lambda: by.forward_dynamics(q, qd, u=u, driven_qdd={})[:, 0],
            "hybrid_dynamics": hybrid,
            "jacobian": place,
        }
        if self.eq is not None:
            out["equilibrium"] = lambda: by.equilibrium(self.eq).q[:, 0]
        return out | {"rollout, place_vjp": moved}

    def numbers(self) -> Iterator[tuple[str, list[str]]]:
        """Kinds of numbers that the robot's file has, and paths of them."""
        left = dict(sorosim.scalars(self.robot))
        for kind, pattern in KINDS.items():
            own = [path for path in left if re.search(pattern, path)]
            if own:
                yield kind, own[:TRIED]

    # -- cells -------------------------------------------------------------------------------------------------------

    def by_numbers(self) -> Iterator[Cell | Refused]:
        """Cells of all kinds of numbers."""
        for kind, paths in self.numbers():
            for path in paths:
                try:
                    exact = self.derivatives(path)
                    break
                except InputError as error:
                    yield Refused(self.name, "sensitivities", kind, str(error))
            else:
                continue
            yield from self._compare(kind, path, exact)

    def _compare(self, kind: str, path: str, exact: dict[str, Callable[[], Array]]) -> Iterator[Cell | Refused]:
        x = sorosim.scalars(self.robot)[path]
        unit = abs(x) or 0.1
        robots: dict[float, Robot] = {0.0: self.robot}

        def at(part: float) -> Robot:
            if part not in robots:
                robots[part] = self.robot.with_values({path: x + part * unit})
            return robots[part]

        for route, f in self.values().items():
            try:
                found = unit * exact[route]()
            except InputError as error:
                yield Refused(self.name, route, kind, str(error))
                continue
            try:
                wanted = slope(lambda part, f=f: np.asarray(f(at(part))), STEP, ROUNDING[route])
            except SorosimError as error:  # a number at the edge of what is allowed
                yield Refused(self.name, route, kind, f"no difference: {error}")
                continue
            size = max(float(np.abs(wanted.value).max(initial=0.0)), 1e-300)
            yield Cell(
                self.name, route, kind, path, float(np.abs(found - wanted.value).max(initial=0.0)) / size,
                wanted.error / size,
            )  # fmt: skip

    def by_state(self) -> Iterator[Cell | Refused]:
        """Cells of coordinates, rates and inputs: directional derivatives."""
        robot, (dq, dqd, dqdd), du = self.robot, self.directions, self.u_direction
        q, qd, qdd, u = self.q, self.qd, self.qdd, self.u
        def cell(route: str, exact: Callable[[], Array], f: Callable[[float], Array], rounding: float) -> Any:
            try:
                found = np.asarray(exact())
            except InputError as error:
                return Refused(self.name, route, "state and inputs", str(error))
            wanted = slope(lambda x: np.asarray(f(x)), STEP, rounding)
            size = max(float(np.abs(wanted.value).max(initial=0.0)), 1e-300)
            error = float(np.abs(found - wanted.value).max(initial=0.0)) / size
            return Cell(self.name, route, "state and inputs", "", error, wanted.error / size)

        own = du[0]
        d, e = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd), robot.internal_force_derivatives(q, qd, u=u)
        yield cell(
            "inverse_dynamics_derivatives", lambda: d.dtau_dq @ dq + d.dtau_dqd @ dqd + d.mass_matrix @ dqdd,
            lambda x: robot.inverse_dynamics(q + x * dq, qd + x * dqd, qdd=qdd + x * dqdd), DIRECT,
        )  # fmt: skip
        yield cell(
            "internal_force_derivatives", lambda: e.dtau_dq @ dq + e.dtau_dqd @ dqd + e.B @ own,
            lambda x: robot.internal_force(q + x * dq, qd + x * dqd, u=u + x * own), DIRECT,
        )  # fmt: skip

        def accelerations(x: float) -> Array:
            return robot.forward_dynamics(q + x * dq, qd + x * dqd, u=u + x * own, driven_qdd={})

        f = robot.forward_dynamics_derivatives(q, qd, u=u, driven_qdd={})
        yield cell(
            "forward_dynamics_derivatives", lambda: f.dqdd_dq @ dq + f.dqdd_dqd @ dqd + f.dqdd_du @ own,
            accelerations, FACTORS,
        )  # fmt: skip
        yield cell(
            "forward_dynamics_jvp",
            lambda: robot.forward_dynamics_jvp(q, qd, dq=dq, dqd=dqd, du=own, u=u, driven_qdd={}).dqdd,
            accelerations, FACTORS,
        )  # fmt: skip
        w = self.weight

        def start(x: float) -> Any:
            if self.eq is None or x == 0.0:
                return self.start(robot)
            return AtRest(sorosim.statics(robot, self.inputs[0] + x * du[0], driven=self.driven, q0=self.eq.q))

        def rolled(x: float) -> Array:
            m = sorosim.rollout(robot, self.inputs + x * du, DT, start(x))
            return np.append(m.q[-1], (w[0] * m.q + DT * w[1] * m.qd).sum())

        def by_inputs() -> Array:
            m = self.motion(robot)
            return np.append(m.jvp(du).q[-1], (m.vjp(w[0], DT * w[1]).u * du).sum())

        if robot.actuator_names:
            yield cell("rollout", by_inputs, rolled, NEWTON)


def matrix(names: list[str]) -> Iterator[Cell | Refused]:
    """All cells of some robots."""
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sorosim.SorosimWarning)
            case = Case(name)
            yield from case.by_numbers()
            yield from case.by_state()


if __name__ == "__main__":
    for one in matrix(sys.argv[1:]):
        print(one, flush=True)
