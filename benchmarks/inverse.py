"""Inverse statics: cases with the cable-driven manipulator and the two-segment arm, and a study of more robots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np
import scipy.optimize

import sorosim
from benchmarks.cases import Case, within
from benchmarks.context import Action, Array, Context, Setting
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.inversion.inverse import inverse
from sorosim.analysis.inversion.solver import InverseSolver
from sorosim.analysis.results.result import Equilibrium
from sorosim.base.errors import ConvergenceError
from sorosim.files import load
from sorosim.mechanics.lie.se3 import inverse as inverse_se3
from sorosim.mechanics.lie.se3 import log_se3
from sorosim.mechanics.lie.tangent import tangent_inv
from sorosim.mechanics.robot import Robot

N, TENSION = 50, 20.0
# a circle of the two-segment arm's tip: radius and height [m], steps around, tension [N]
RADIUS, HEIGHT, STEPS, HOLD = 0.04, -0.283, 200, 8.0
# and of the platform's plate [m]
PLATE = 0.01
# places of markers on the manipulator
MARKERS = (0.2, 0.4, 0.6, 0.8, 1.0)
# the study: targets on a closed path, when followed coarsely and finely; starts of the second optimiser; share of the
# distance by which it has to be nearer to count; how far targets are that are out of reach, over the robot's extent
COARSE, FINE, STARTS, NEARER, FAR = 200, 2000, 5, 1e-5, (1.2, 2.0)
FEW = 200, 40
METHODS: dict[Any, Any] = {"trust-constr": {"gtol": 1e-8}, "SLSQP": {"ftol": 1e-14}}


def _cold(context: Context) -> Action:
    robot, rng = context.robot, np.random.default_rng(0)
    bounds, n = dict.fromkeys(robot.actuator_names, (0.0, TENSION)), len(robot.actuator_names)
    goals = [statics(robot, rng.uniform(0.0, TENSION, n)).tip() for _ in range(N)]

    def solve() -> None:
        for goal in goals:
            InverseSolver(robot, bounds=bounds).solve({robot.outputs.places[0][0]: goal})

    return solve


def _warm(context: Context) -> Action:
    robot = load("two_segment_arm")
    angles = 2.0 * np.pi * np.arange(STEPS) / STEPS
    circle = np.stack([RADIUS * np.cos(angles), RADIUS * np.sin(angles), np.full(STEPS, HEIGHT)], axis=1)
    solver = InverseSolver(robot, bounds=dict.fromkeys(robot.actuator_names, (0.0, HOLD)))
    along = cycle(circle)
    solver.solve({"upper": next(along)})

    def solve() -> None:
        for _ in range(STEPS):
            solver.solve({"upper": next(along)}, stay=True)

    return solve


def _plate(_: Context) -> Action:
    robot = load("continuum_stewart")
    start, legs = statics(robot), list(robot.description.statics["driven"])
    solver = InverseSolver(robot, free=legs, q0=start)
    angles = 2.0 * np.pi * np.arange(STEPS) / STEPS
    poses = np.repeat(robot.pose(start.q, "plate")[None], STEPS, axis=0)
    poses[:, :2, 3] += PLATE * np.stack([np.cos(angles) - 1.0, np.sin(angles)], axis=1)
    along = cycle(poses)

    def solve() -> None:
        for _ in range(STEPS):
            found = solver.solve({"plate": next(along)})
            assert found.reached, found.message

    return solve


def _estimate(context: Context) -> Action:
    robot, rng = context.robot, np.random.default_rng(0)
    u, names = rng.uniform(0.5, 5.0, len(robot.actuator_names)), robot.actuator_names
    eq = statics(robot, u)
    seen = {("arm", s): robot.pose(eq.q, "arm", s=s)[:3, 3] for s in MARKERS}
    estimator = sorosim.Estimator(robot, seen, dict.fromkeys(names, "0.1 N"), "1 mm", u=u)
    noise = cycle(1e-3 * rng.standard_normal((N, len(MARKERS), 3)))

    def solve() -> None:
        for _ in range(N):
            estimator.solve({place: p + off for (place, p), off in zip(seen.items(), next(noise), strict=True)})

    return solve


def _observe(context: Context) -> Action:
    robot = context.robot
    observer = sorosim.Observer(robot, "10 ms", {"arm.tip": "force"}, noise="1 mm", prior={"arm.tip": "0.1 N"})
    u = np.ones(len(robot.actuator_names))
    seen = {"arm": robot.pose(observer.reset("equilibrium", u=u).q, "arm")[:3, 3]}

    def move() -> None:
        for _ in range(N):
            observer.step(u, seen)

    return move


INVERSE: tuple[Case, ...] = (
    Case("inverse statics from rest, random positions in reach", _cold, rounds=5, per=N,
         target=within(2e-3, scaled=True)),
    Case("inverse statics along a circle, two-segment arm", _warm, rounds=5, per=STEPS,
         target=within(0.5e-3, scaled=True)),
    Case("inverse statics along a circle, continuum Stewart platform", _plate, rounds=5, per=STEPS),
    Case("an estimate of five tensions from five markers", _estimate, rounds=5, per=N,
         target=within(2e-3, scaled=True)),
    Case("a step of an observer with a marker", _observe, rounds=5, per=N),
)  # fmt: skip


# -- the study ---------------------------------------------------------------------------------------------------------


@dataclass
class Subject:
    """A robot whose tendons pull up to `high` [N], a link of it whose position or pose is wanted, and how often."""

    name: str
    make: Callable[[], Robot]
    link: str
    high: float
    posed: bool = False
    n_reachable: int = 1000
    n_far: int = 200
    robot: Robot = field(init=False)

    def __post_init__(self) -> None:
        self.robot = self.make()
        self.bounds = dict.fromkeys(self.robot.actuator_names, (0.0, self.high))
        self.extent = InverseSolver(self.robot, bounds=self.bounds).extent

    def goal(self, eq: Equilibrium) -> Array:
        """Position (3,) or pose (4, 4) of the link in an equilibrium."""
        g = self.robot.pose(eq.q, self.link)
        return g if self.posed else np.array(g[:3, 3])

    def drawn(self, rng: np.random.Generator, high: float) -> Iterator[Equilibrium]:
        """Equilibria under random tensions up to `high`, of those that have one."""
        while True:
            try:
                yield statics(self.robot, rng.uniform(0.0, high, len(self.bounds)))
            except ConvergenceError:
                continue

    def far(self, rng: np.random.Generator) -> Iterator[Array]:
        """Places that may be out of reach: of equilibria under twice the tensions, and far away in any direction."""
        for eq in self.drawn(rng, 2.0 * self.high):
            yield self.goal(eq)
            goal, direction = self.goal(eq), rng.normal(size=3)
            direction *= rng.uniform(*FAR) * self.extent / np.linalg.norm(direction)
            yield _moved(goal, direction)

    def error(self, q: Array, goal: Array) -> tuple[Array, Array]:
        """Errors of the link over the robot's extent, angles as they are, and their derivative by q."""
        g, J = self.robot.pose(q, self.link), self.robot.jacobian(q, self.link)
        if not self.posed:
            return (g[:3, 3] - goal) / self.extent, g[:3, :3] @ J[3:] / self.extent
        error = log_se3(inverse_se3(goal) @ g)
        scale = np.repeat([1.0, 1.0 / self.extent], 3)
        return scale * error, scale[:, None] * (tangent_inv(-error) @ J)

    def remaining(self, u: Array, near: Any, goal: Array) -> float:
        """Error of the stable equilibrium under inputs, computed anew from coordinates or an equilibrium near it."""
        eq = statics(self.robot, u, q0=near)
        return float(np.linalg.norm(self.error(eq.q, goal)[0]))


def _moved(goal: Array, position: Array) -> Array:
    """A goal with another position."""
    if goal.ndim == 1:
        return position
    out = goal.copy()
    out[:3, 3] = position
    return out


def hybrid_parallel_with_tendons() -> Robot:
    """The bundled robot with three tendons in each of its pillars, without the wrench on its plate."""
    base = load("hybrid_parallel").description
    tendons = {
        f"tendon{i}{j}": sorosim.Tendon((sorosim.RouteSegment(f"pillar{i}", y=y, z=z),))
        for i in (1, 2, 3)
        for j, (y, z) in enumerate([(0.012, 0.0), (-0.006, 0.006), (-0.006, -0.006)], 1)
    }
    return Robot(replace(base, actuators=tendons, loads={}))


SUBJECTS: tuple[Callable[[], Subject], ...] = (
    partial(Subject, "cable_manipulator, tip", partial(load, "cable_manipulator"), "arm", 20.0),
    partial(Subject, "two_segment_arm, tip", partial(load, "two_segment_arm"), "upper", 8.0),
    partial(Subject, "contact_cylinder, tip, contact", partial(load, "contact_cylinder"), "arm", 40.0, False, *FEW),
    partial(Subject, "stewart_soft, pose of the plate, loops", partial(load, "stewart_soft"), "plate", 5.0, True, *FEW),
    partial(Subject, "hybrid_parallel with nine tendons, pose of the plate, loops", hybrid_parallel_with_tendons,
            "plate", 10.0, True, 200, 20),
)  # fmt: skip


def study(at: Setting) -> None:
    """Inverse statics of five robots: targets in reach, along paths, and out of reach beside SLSQP; many minutes."""
    for make in at.size(SUBJECTS, SUBJECTS[1:2]):
        subject = make()
        subject.n_reachable, subject.n_far = at.size((subject.n_reachable, subject.n_far), (3, 1))
        at.say(
            f"{subject.name}: {len(subject.bounds)} inputs up to {subject.high:g} N, {subject.robot.ndof} coordinates"
        )
        at.say(f"  {_in_reach(subject)}")
        for n_goals in at.size((COARSE, FINE), (20,)):
            at.say(f"  {_along(subject, n_goals)}")
        at.say(f"  {_out_of_reach(subject)}")


def _in_reach(subject: Subject) -> str:
    """Random targets in reach, each from rest by `sorosim.inverse`."""
    goals = [
        subject.goal(eq) for eq in islice(subject.drawn(np.random.default_rng(0), subject.high), subject.n_reachable)
    ]
    seconds, good = np.empty(len(goals)), 0
    inverse(subject.robot, {subject.link: goals[0]}, bounds=subject.bounds)
    for k, goal in enumerate(goals):
        begin = time.perf_counter()
        found = inverse(subject.robot, {subject.link: goal}, bounds=subject.bounds)
        seconds[k] = time.perf_counter() - begin
        good += found.reached and subject.remaining(found.u, found.q, goal) <= 1.1e-8
    return f"in reach: {good} of {len(goals)} to 1e-8; {_figures(seconds)}"


def _along(subject: Subject, n: int) -> str:
    """Targets along a closed path that random tensions describe."""
    robot, n_u = subject.robot, len(subject.bounds)
    phases, angle = np.random.default_rng(1).uniform(0.0, 2.0 * np.pi, n_u), 2.0 * np.pi * np.arange(n) / n
    goals, q = [], None
    for a in angle:
        eq = statics(robot, 0.25 * subject.high * (1.0 - np.cos(a + phases)), q0=q)
        goals.append(subject.goal(eq))
        q = eq.q
    solver, seconds, good = InverseSolver(robot, bounds=subject.bounds), np.empty(n), 0
    solver.solve({subject.link: goals[-1]})
    steps = np.empty(n)
    for k, goal in enumerate(goals):
        begin = time.perf_counter()
        found = solver.solve({subject.link: goal}, stay=True)
        seconds[k], steps[k] = time.perf_counter() - begin, found.steps
        good += found.reached
    return f"along a path of {n}: {good} reached; {_figures(seconds)}; {np.median(steps):.0f} evaluations"


def _out_of_reach(subject: Subject) -> str:
    """Targets out of reach, and how near a second optimiser comes from several starts."""
    seconds: list[float] = []
    farther, nearer, alone = [], 0, 0
    goals, rng = subject.far(np.random.default_rng(2)), np.random.default_rng(3)
    while len(seconds) < subject.n_far:
        goal = next(goals)
        begin = time.perf_counter()
        found = inverse(subject.robot, {subject.link: goal}, bounds=subject.bounds)
        elapsed = time.perf_counter() - begin
        if found.reached:
            continue
        seconds.append(elapsed)
        starts = rng.uniform(0.0, 1.0, (STARTS, len(subject.bounds)))
        excess = found.error / min(nearest(subject, goal, start) for start in starts) - 1.0
        alone += excess == -1.0
        nearer += -1.0 < excess < -NEARER
        if excess > NEARER:
            farther.append(excess)
    worst = f", by {100.0 * max(farther):.2g} % at most" if farther else ""
    return (
        f"out of reach: {len(seconds)}; {_figures(np.array(seconds))}; trust-constr from {STARTS} starts is nearer in "
        f"{len(farther)}{worst}, farther in {nearer}, without an equilibrium in {alone}"
    )


def nearest(subject: Subject, goal: Array, share: Array) -> float:
    """The least error over the tensions that SciPy finds from a start (shares of their bounds); inf where it has none.

    By trust-constr, whose barrier keeps it off the bounds, so SLSQP goes on from where it stops. Equilibria are those
    of `statics`, gradients exact.
    """
    robot, eq = subject.robot, None

    def half_square(share: Array) -> tuple[float, Array]:
        nonlocal eq
        eq = statics(robot, subject.high * share, q0=eq, stable=False)
        system = StaticSystem(robot, eq.u.copy(), {})
        if robot.loop_names:
            rows = robot.loop_rows(eq.q)
            system.scale_constraints(np.zeros(robot.n_multipliers), rows.A)
        _, K, by = system.linearised(system.start(eq.q))
        q_by = -np.linalg.solve(K, by)[: robot.ndof]
        error, slope = subject.error(eq.q, goal)
        return 0.5 * float(error @ error), subject.high * (error @ slope @ q_by)

    bounds = scipy.optimize.Bounds(0.0, 1.0, keep_feasible=True)
    try:
        for method, options in METHODS.items():
            share = scipy.optimize.minimize(
                half_square, share, jac=True, method=method, bounds=bounds, options=options
            ).x.clip(0.0, 1.0)
        return subject.remaining(subject.high * share, eq, goal)
    except ConvergenceError:
        return float("inf")


def _figures(seconds: Array) -> str:
    middle, rare = 1e3 * np.quantile(seconds, [0.5, 0.99])
    return f"median {middle:.2f} ms, 99 % within {rare:.2f} ms"
