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
from sorosim.analysis.motion.rollout import AtRest
from sorosim.base.errors import InputError, SorosimError
from sorosim.files import bundled_robots
from sorosim.mechanics.robot import Robot

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
# what is refused, as the pages say: see docs/sensitivities.md
DECLARED = (
    "changes no surface that touches", "no signal of time and no current", "cannot carry a derivative",
    "an equilibrium that is isolated", "an equilibrium without friction", "moves bodies in a current",
    "rods of given lengths", "loads and actuators that are compiled", "materials do not relax",
    "arrays of the robot have derivatives", "which is a node anyway", "a state in which derivatives are finite",
    "no difference", "numbers with which loops still close",
)  # fmt: skip
TRIED = 6  # paths of a kind, until one can be differentiated
N, INTERVALS = 4, (1e-3, 1e-4, 1e-5)  # intervals of motions, and how long they are: shorter where steps fail
# of a difference: its step, relative to a number; what functions are right to, relative to their size, by how they are
# found: directly, by factors of the mass matrix, by Newton's method. A difference shows no more than that over its step
SHOWS = 1e-2  # a difference that may be off by more than this part shows nothing
STEP, UNIT = 2e-3, 0.1  # the latter of numbers that are zero
DIRECT, FACTORS, NEWTON = 1e-14, 1e-11, 1e-11
ROUNDING = {
    "inverse_dynamics": DIRECT, "internal_force": DIRECT, "jacobian": DIRECT, "forward_dynamics": FACTORS,
    "hybrid_dynamics": FACTORS, "equilibrium": NEWTON, "rollout from a state": NEWTON,
    "rollout from equilibrium": NEWTON,
}  # fmt: skip


class Cell(NamedTuple):
    """One entry of the matrix."""

    robot: str
    route: str
    kind: str
    name: str  # of the number
    error: float  # of the derivative, relative to the largest entry of the difference
    bound: float  # by which the difference itself may be wrong, in the same unit; 1 where it is all rounding


class Refused(NamedTuple):
    """A derivative that there is none of, and what the error says."""

    robot: str
    route: str
    kind: str
    why: str

    @property
    def declared(self) -> bool:
        """Whether it is one of those that the pages name."""
        return any(re.search(pattern, self.why) for pattern in DECLARED)


class Slope(NamedTuple):
    """A difference quotient of the fourth order, and how far it may be off."""

    value: Array
    error: float


def slope(f: Callable[[float], Array], h: float, rounding: float) -> Slope:
    """df/dx at 0. Of two differences of the second order one of the fourth is made; what it corrects is its bound.

    rounding: of f, relative to its size.
    """
    far, near = ((f(x) - f(-x)) / (2.0 * x) for x in (h, 0.5 * h))
    value = (4.0 * near - far) / 3.0
    size = np.abs(f(0.0)).max(initial=0.0)
    return Slope(value, float(np.abs(value - near).max(initial=0.0) + 4.0 * rounding * size / h))


def compared(robot: str, route: str, kind: str, name: str, exact: Array, wanted: Slope) -> Cell:
    """The cell of a derivative and its difference."""
    off, size = float(np.abs(exact - wanted.value).max(initial=0.0)), float(np.abs(wanted.value).max(initial=0.0))
    unit = max(size, wanted.error)
    return Cell(robot, route, kind, name, off / unit if unit else off, wanted.error / unit if unit else 0.0)


def softness(robot: Robot) -> Array:
    """How far coordinates move at equal elastic energy, 1 for the softest: thin rods are hardly stretched."""
    zero = np.zeros(robot.ndof)
    stiffness = np.maximum(-np.diag(robot.internal_force_derivatives(robot.initial_q, zero).dtau_dq), 0.0)
    least = stiffness[stiffness > 0.0].min(initial=np.inf)
    return 1.0 / np.sqrt(np.maximum(stiffness / least, 1.0))


class Case:
    """A robot in a state and a motion, from which all derivatives are taken."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name, self.robot = name, (robot := sorosim.load(name))
        rng = np.random.default_rng(seed)
        n, nu = robot.ndof, len(robot.actuator_names)
        size = softness(robot)
        self.q = robot.initial_q + 0.05 * size * rng.normal(size=n)
        self.qd, self.qdd = 0.2 * size * rng.normal(size=(2, n))
        self.u = np.full(nu, 1e-3) * (1.0 + rng.uniform(size=nu))
        self.inputs = np.outer(1.0 + 0.5 * rng.uniform(size=N), self.u)
        self.known = np.union1d(np.arange(0, n, 2), list(robot.engine.insertions)).astype(int)
        self.place = robot.outputs.places[0][0]
        self.weight, self.place_weight = rng.normal(size=(2, N + 1, n)), rng.normal(size=(N + 1, 3))
        self.u_direction = 1e-3 * rng.normal(size=(N, nu))
        self.directions = 0.1 * size * rng.normal(size=(3, n))
        for vectors in (self.qd[None], self.qdd[None], self.directions):
            vectors[:, list(robot.engine.insertions)] = 0.0  # of tubes, which stay in motion
        none = sorosim.rollout(robot, self.inputs[:0], INTERVALS[0], "assembled" if robot.loop_names else None)
        names, jets = none._steps.driven_names, none._steps.system.driven.jets(0.0)
        self.start = none.q[0], none.qd[0]
        self.held = dict(zip(names, map(float, jets[:, 0]), strict=True))
        if not robot.loop_names:
            self.start = self.q, self.qd
        else:
            shaken = none.q[0] + 0.01 * size * rng.normal(size=n), none.qd[0] + 0.1 * size * rng.normal(size=n)
            own = [robot.engine.layout.coordinate(key, "driven") for key in names]
            shaken[1][own] = jets[:, 1]
            self.q, self.qd = self.start = self.closed(robot, *shaken)
        self.step = 0.01 * STEP if robot.engine.loading.touches else STEP  # friction and gaps bend within less
        self.eq: Any = None
        try:
            near = sorosim.statics(robot, driven=self.held)
            self.eq = sorosim.statics(robot, self.inputs[0], driven=self.held, q0=near.q)
        except SorosimError:  # there is none
            pass

        for self.dt in INTERVALS:
            try:
                self.motion(robot, False)
                break
            except SorosimError:
                continue
        else:  # from the start of the file then
            self.start, self.dt = (none.q[0], none.qd[0]), INTERVALS[0]

    # -- what is differentiated --------------------------------------------------------------------------------------

    def at_rest(self, robot: Robot) -> Any:
        """The equilibrium of a robot near to this one's."""
        return self.eq if robot is self.robot else self.rest(robot, self.inputs[0])

    def rest(self, robot: Robot, u: Array) -> Any:
        """The same under other inputs."""
        return sorosim.statics(robot, u, driven=self.held, q0=self.eq.q)

    def closed(self, robot: Robot, q: Array, qd: Array) -> tuple[Array, Array]:
        """The nearest state of a robot whose loops are closed."""
        found = sorosim.assemble(robot, q, driven=self.held, qd0=qd)
        return found.q, found.qd

    def motion(self, robot: Robot, at_rest: bool, **options: Any) -> Any:
        """A motion of a robot, from its equilibrium or from the state nearest to a given one."""
        if at_rest:
            return sorosim.rollout(robot, self.inputs, self.dt, AtRest(self.at_rest(robot)), **options)
        start = self.start if robot is self.robot or not robot.loop_names else self.closed(robot, *self.start)
        return sorosim.rollout(robot, self.inputs, self.dt, *start, **options)

    def values(self) -> dict[str, Callable[[Robot], Array]]:
        """Functions of a robot by route."""
        q, qd, qdd, u, known = self.q, self.qd, self.qdd, self.u, self.known
        tau = np.ones(len(q))

        def hybrid(r: Robot) -> Array:
            found = r.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=known)
            return np.concatenate([found.qdd, found.tau])

        def moved(r: Robot, at_rest: bool) -> Array:
            m = self.motion(r, at_rest)
            ends = np.array([r.pose(x, self.place)[:3, 3] for x in m.q])
            pulled = float((self.weight[0] * m.q + self.dt * self.weight[1] * m.qd).sum())
            return np.concatenate([m.q[-1], self.dt * m.qd[-1], [pulled, float((self.place_weight * ends).sum())]])

        out = {
            "inverse_dynamics": lambda r: r.inverse_dynamics(q, qd, qdd=qdd),
            "internal_force": lambda r: r.internal_force(q, qd, u=u),
            "forward_dynamics": lambda r: r.forward_dynamics(q, qd, u=u, driven_qdd={}),
            "hybrid_dynamics": hybrid,
            "jacobian": lambda r: r.pose(q, self.place)[:3].ravel(),
            "rollout from a state": lambda r: moved(r, False),
        }
        if self.eq is not None:
            out["equilibrium"] = lambda r: self.at_rest(r).q
            out["rollout from equilibrium"] = lambda r: moved(r, True)
        return out

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

        def moved(at_rest: bool) -> Array:
            m = self.motion(robot, at_rest, numbers=by)
            j = m.jvp(numbers=[1.0])
            w = self.weight
            pulled = m.vjp(w[0], self.dt * w[1]).numbers[0]
            pushed = (w[0] * j.q + self.dt * w[1] * j.qd).sum()
            terms = np.abs(w[0] * j.q).sum() + self.dt * np.abs(w[1] * j.qd).sum()
            nothing = 1e-14 * np.abs(w[0] * m.q).sum() / (abs(by.values[0]) or UNIT)
            assert abs(pulled - pushed) <= 1e-6 * terms + nothing, "vjp and jvp differ"
            at = m.place_vjp(self.place, position=self.place_weight).numbers[0]
            return np.concatenate([j.q[-1], self.dt * j.qd[-1], [pulled, at]])

        out = {
            "inverse_dynamics": lambda: by.inverse_dynamics(q, qd, qdd=qdd)[:, 0],
            "internal_force": lambda: by.internal_force(q, qd, u=u)[:, 0],
            "forward_dynamics": lambda: by.forward_dynamics(q, qd, u=u, driven_qdd={})[:, 0],
            "hybrid_dynamics": hybrid,
            "jacobian": place,
            "rollout from a state": lambda: moved(False),
        }
        if self.eq is not None:
            out["equilibrium"] = lambda: by.equilibrium(self.eq).q[:, 0]
            out["rollout from equilibrium"] = lambda: moved(True)
        return out

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
                except InputError as error:
                    yield Refused(self.name, "sensitivities", kind, str(error))
                    continue
                if self._has_neighbours(path):
                    break
            else:
                continue
            yield from self._compare(kind, path, exact)

    def _has_neighbours(self, path: str) -> bool:
        """Whether a number is not at the edge of what is allowed."""
        x = sorosim.scalars(self.robot)[path]
        try:
            for part in (self.step, -self.step):
                self.robot.with_values({path: x + part * (abs(x) or UNIT)})
        except SorosimError:
            return False
        return True

    def _compare(self, kind: str, path: str, exact: dict[str, Callable[[], Array]]) -> Iterator[Cell | Refused]:
        x = sorosim.scalars(self.robot)[path]
        unit = abs(x) or UNIT
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
                wanted = slope(lambda part, f=f: np.asarray(f(at(part))), self.step, ROUNDING[route])
            except SorosimError as error:  # a number at the edge of what is allowed
                yield Refused(self.name, route, kind, f"no difference: {error}")
                continue
            yield compared(self.name, route, kind, path, found, wanted)

    def by_state(self) -> Iterator[Cell | Refused]:
        """Cells of coordinates, rates and inputs: directional derivatives."""
        robot, (dq, dqd, dqdd), du = self.robot, self.directions, self.u_direction
        q, qd, qdd, u = self.q, self.qd, self.qdd, self.u

        def cell(route: str, exact: Callable[[], Array], f: Callable[[float], Array], rounding: float) -> Any:
            try:
                found = np.asarray(exact())
            except InputError as error:
                return Refused(self.name, route, "state and inputs", str(error))
            try:
                wanted = slope(lambda x: np.asarray(f(x)), self.step, rounding)
            except SorosimError as error:
                return Refused(self.name, route, "state and inputs", f"no difference: {error}")
            return compared(self.name, route, "state and inputs", "", found, wanted)

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
        given = np.ones(robot.ndof)
        h = robot.hybrid_dynamics_derivatives(q, qd, qdd=qdd, tau=given, known=self.known)
        along = np.where(np.isin(np.arange(robot.ndof), self.known), dqdd, dqdd[::-1])

        def hybrid(x: float) -> Array:
            state = q + x * dq, qd + x * dqd
            found = robot.hybrid_dynamics(*state, qdd=qdd + x * along, tau=given + x * along, known=self.known)
            return np.concatenate([found.qdd, found.tau])

        yield cell(
            "hybrid_dynamics_derivatives",
            lambda: np.concatenate([
                h.dqdd_dq @ dq + h.dqdd_dqd @ dqd + h.dqdd_dgiven @ along,
                h.dtau_dq @ dq + h.dtau_dqd @ dqd + h.dtau_dgiven @ along,
            ]),
            hybrid, FACTORS,
        )  # fmt: skip
        bar = self.weight[0, 0]
        back = robot.forward_dynamics_vjp(q, qd, qdd_bar=bar, u=u, driven_qdd={})
        yield cell(
            "forward_dynamics_vjp", lambda: np.array([back.by_q @ dq + back.by_qd @ dqd + back.by_u @ own]),
            lambda x: np.array([bar @ accelerations(x)]), FACTORS,
        )  # fmt: skip
        R, twist = robot.pose(q, self.place)[:3, :3], robot.jacobian(q, self.place) @ dq
        yield cell(
            "jacobian", lambda: np.concatenate([R @ twist[3:], np.cross(R @ twist[:3], R, axisb=0).ravel()]),
            lambda x: (lambda g: np.concatenate([g[:3, 3], g[:3, :3].T.ravel()]))(robot.pose(q + x * dq, self.place)),
            DIRECT,
        )  # fmt: skip
        lengths = [name for name in robot.tendon_lengths(q) if name in robot.actuator_names]
        if lengths:  # virtual work: a tension pulls along the way that shortens its tendon
            which = [robot.actuator_names.index(name) for name in lengths]
            B = robot.internal_force_derivatives(q, qd, u=u).B[:, which]
            yield cell(
                "tendon_lengths", lambda: -B.T @ dq,
                lambda x: np.array([robot.tendon_lengths(q + x * dq)[name] for name in lengths]), DIRECT,
            )  # fmt: skip
        if self.eq is not None and self.eq.sliding is None and not robot.loop_names:
            yield from self._by_linearization(cell)
        w = self.weight

        def total(m: Any) -> Array:
            return np.append(m.q[-1], (w[0] * m.q + self.dt * w[1] * m.qd).sum())

        def by_inputs(at_rest: bool) -> Array:
            m = self.motion(robot, at_rest)
            return np.append(m.jvp(du).q[-1], (m.vjp(w[0], self.dt * w[1]).u * du).sum())

        def under(x: float, at_rest: bool) -> Array:
            inputs = self.inputs + x * du
            start = (AtRest(self.rest(robot, inputs[0])),) if at_rest else self.start
            return total(sorosim.rollout(robot, inputs, self.dt, *start))

        if robot.actuator_names:
            for at_rest in (False, True)[: 1 if self.eq is None else 2]:
                yield cell(
                    f"rollout from {'equilibrium' if at_rest else 'a state'}", lambda a=at_rest: by_inputs(a),
                    lambda x, a=at_rest: under(x, a), NEWTON,
                )  # fmt: skip
        if robot.loop_names:  # starts of which not every neighbour is closed
            return
        free = np.setdiff1d(np.arange(robot.ndof), [robot.engine.layout.coordinate(one, "q0") for one in self.held])
        dq, dqd = (np.isin(np.arange(robot.ndof), free) * x for x in (dq, dqd))

        def by_start() -> Array:
            m = self.motion(robot, False)
            back = m.vjp(w[0], self.dt * w[1])
            return np.append(m.jvp(q0=dq, qd0=dqd).q[-1], back.q0 @ dq + back.qd0 @ dqd)

        def beside(x: float) -> Array:
            q0, qd0 = self.start
            return total(sorosim.rollout(robot, self.inputs, self.dt, q0 + x * dq, qd0 + x * dqd))

        yield cell("rollout by its start", by_start, beside, NEWTON)

        def stepped(x: float, derive: bool = False) -> Array:
            stepper = sorosim.Stepper(robot, self.dt, tolerance=1e-11)
            stepper.reset(self.start[0] + x * dq, self.start[1] + x * dqd)
            state = stepper.step(self.inputs[0] + x * own)
            if not derive:
                return np.concatenate([state.q, self.dt * state.qd])
            A, B = stepper.linearize()
            change = A @ np.concatenate([dq, dqd]) + B @ own
            return np.concatenate([change[: len(q)], self.dt * change[len(q) :]])

        yield cell("Stepper.linearize", lambda: stepped(0.0, True), stepped, NEWTON)

    def _by_linearization(self, cell: Any) -> Iterator[Cell | Refused]:
        """The cell of the linearised motion about the equilibrium: M, D, K and F."""
        robot, eq = self.robot, self.eq
        lin = robot.linearize(eq.q, eq.u, free=eq.free)
        if lin.n_strains:  # forces after a long time are not those at once
            return
        z, v, a = (x[: len(lin.M)] for x in self.directions)
        du = self.u_direction[0]

        def residual(x: float) -> Array:
            q, qd, qdd = eq.q + x * lin.Z @ z, x * lin.Z @ v, x * lin.Z @ a
            return lin.Z.T @ (robot.inverse_dynamics(q, qd, qdd=qdd) - robot.internal_force(q, qd, u=eq.u + x * du))

        exact = lin.K @ z + lin.D @ v + lin.M @ a - lin.F @ du
        yield cell("linearize", lambda: exact, residual, DIRECT)


def matrix(names: list[str]) -> Iterator[Cell | Refused]:
    """All cells of some robots."""
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sorosim.SorosimWarning)
            case = Case(name)
            yield from case.by_numbers()
            yield from case.by_state()


def table(cells: list[Cell | Refused]) -> str:
    """The worst cells by route, as a page has them."""
    found = [one for one in cells if isinstance(one, Cell) and one.bound <= SHOWS]
    lines = ["| route | cells | worst | of | the difference itself |", "|---|---|---|---|---|"]
    for route in dict.fromkeys(one.route for one in found):
        own = [one for one in found if one.route == route]
        worst = max(own, key=lambda one: one.error)
        of = f"`{worst.robot}` by {f'`{worst.name}`' if worst.name else worst.kind}"
        lines.append(f"| `{route}` | {len(own)} | {worst.error:.0e} | {of} | {worst.bound:.0e} |")
    refused = {(one.robot, one.route, one.kind) for one in cells if isinstance(one, Refused)}
    return "\n".join([*lines, "", f"{len(found)} cells, {len(refused)} refused."])


if __name__ == "__main__":  # python -m helpers.derivatives [robot ...], in tests
    found = []
    for one in matrix(sys.argv[1:] or list(bundled_robots())):
        print(one, flush=True)
        found.append(one)
    print(table(found))
