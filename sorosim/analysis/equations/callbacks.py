"""Rates, residuals and Jacobians for solvers: NaN instead of an error at states where the model has none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from sorosim.analysis.equations.implicit_rates import ImplicitRates
from sorosim.analysis.equations.system import OdeSystem, StaticSystem, elastic_weight
from sorosim.analysis.solvers.descent import Descent
from sorosim.analysis.solvers.equilibrium import DIVERGES, FLUTTERS, STABLE
from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError
from sorosim.mechanics.engine.quantities import extent
from sorosim.mechanics.linear.growth import growing
from sorosim.mechanics.robot import Robot

# the longest step down: no node turns by more [rad], or moves by more of the robot's size
LONGEST_STEP = 0.5


class OdeCallbacks:
    """Rates and Jacobian of a system; where a trial state has none: NaN, which calls for a smaller step."""

    def __init__(self, system: OdeSystem, progress: Callable[[float], None] | None) -> None:
        self.system, self.progress = system, progress
        self.nonfinite: tuple[float, Array] | None = None  # the last state that is, or whose rate is, infinite or NaN
        self.why: tuple[float, ModelError] | None = None  # when, and why, a finite state had no rate
        self.t, self.n_rhs = 0.0, 0
        self.window = -np.inf, np.inf  # times at which signals are as they are in this segment

    @cached_property
    def newton(self) -> ImplicitRates | None:
        """Newton's matrix of a large system; None of others."""
        return ImplicitRates(self.system) if ImplicitRates.suits(self.system) else None

    def rhs(self, t: float, x: Array) -> Array:
        """Rate (n,) of a state."""
        self.n_rhs += 1
        self.at(t)
        try:
            rate = self.system.rhs(self.within(t), x)
        except ModelError as error:
            self.note_failure(t, x, error)
            return np.full(len(x), np.nan)
        if not np.isfinite(rate).all():
            self.nonfinite = t, np.array(x)
        return rate

    def at(self, t: float) -> None:
        """Report the time t of the integrator."""
        self.t = t
        if self.progress is not None:
            self.progress(t)

    def jacobian(self, t: float, x: Array) -> Array:
        """Its derivative (n, n) by the state."""
        try:
            return self.system.jacobian(self.within(t), x)
        except ModelError as error:
            self.note_failure(t, x, error)
            return np.full((len(x), len(x)), np.nan)

    def differences(self, t: float, x: Array) -> Array:
        """The same by forward differences, whose steps follow the state and not the tolerances of an integrator."""
        rate, J = self.rhs(t, x), np.empty((len(x), len(x)))
        for j, step in enumerate(np.sqrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(x))):
            moved = np.array(x)
            moved[j] += step
            J[:, j] = (self.rhs(t, moved) - rate) / (moved[j] - x[j])
        return J

    def note_failure(self, t: float, x: Array, error: ModelError) -> None:
        """Note a state without a rate; errors of a state with NaN explain nothing."""
        if np.isfinite(x).all():
            self.why = t, error
        else:
            self.nonfinite = t, np.array(x)

    def failure_reason(self, t: float | None) -> str:
        """Why the states from a time on had no rates, in words; of one before, the integrator found a way round."""
        return "" if self.why is None or (t is not None and self.why[0] < t) else f" ({self.why[1]})"

    def within(self, t: float) -> float:
        """The time itself, or the one next to it on this side of an edge."""
        return min(max(t, self.window[0]), self.window[1])


class StaticCallbacks:
    """Residual and Jacobian for the solver; where a trial state has none: NaN, which it takes for a failure."""

    def __init__(self, system: StaticSystem) -> None:
        self.system, self.why = system, ""
        self.unbalanced = ""  # which force was left in a state that was refused for it, in words

    def residual(self, x: Array, load: float) -> Array:
        try:
            return self.system.residual(x, load)
        except ModelError as error:
            self.why = f" ({error})"
            return np.full(len(x), np.nan)

    def jacobian(self, x: Array, load: float) -> tuple[Array, Array]:
        try:
            return self.system.jacobian(x, load)
        except ModelError as error:
            self.why = f" ({error})"
            return np.full(len(x), np.nan), np.full((len(x), len(x)), np.nan)

    def along_load(self, x: Array, load: float) -> tuple[Array, Array, Array]:
        try:
            return self.system.along_load(x, load)
        except ModelError as error:
            self.why = f" ({error})"
            return np.full(len(x), np.nan), np.full((len(x), len(x)), np.nan), np.full(len(x), np.nan)

    def balanced(self, x: Array) -> bool:
        """Whether the forces balance under the smallest multipliers of the loops."""
        q = self.system.q(x)
        words = self.system.unbalanced(q, self.system.smallest(q, self.system.multipliers(x)))
        self.unbalanced = words or self.unbalanced
        return not words

    def descent(self) -> Descent:
        """How states are compared on the way down: elastic energy and inertia; how nodes turn and move."""
        system, robot = self.system, self.system.robot
        nodes, free, zero = np.arange(len(robot.engine.tree.inertia)), system.partition.free, np.zeros(robot.ndof)

        extent = 0.0  # of the robot where the descent begins: a scale that shrank on the way would stop it

        def step_measure(x: Array) -> Array:
            nonlocal extent
            g, _, J, _ = robot.engine.jacobians(nodes, system.q(x), zero, False)
            extent = extent or _extent(robot, g)
            rows = J[:, :, free] * (np.repeat([1.0, 1.0 / extent], 3) / LONGEST_STEP)[:, None]
            return rows.reshape(2 * len(nodes), 3, system.n_free)

        return Descent(system.n_free, lambda x: elastic_weight(robot, system.q(x), free), step_measure)

    def stability(self, x: Array) -> str:
        """Stability of an equilibrium by the eigenvalues of its motion, for forces without a potential."""
        system = self.system
        try:
            linear = system.robot.linearize(system.q(x), system.u, free=system.partition.free)
        except ModelError:
            return STABLE  # not known
        growth = None if linear.D.any() else growing(linear.M, linear.D, linear.K)
        if linear.stable if growth is None else not growth.unstable:
            return STABLE
        growth = growth or growing(linear.M, linear.D, linear.K)
        return DIVERGES if growth.buckling or not growth.flutter else FLUTTERS


def extent_of(robot: Robot, q: Array) -> float:
    """Size of a robot and its way from the world's origin in a state [m]; 1 of one without size."""
    nodes = np.arange(len(robot.engine.tree.inertia))
    return _extent(robot, robot.engine.poses(nodes, q, np.zeros(robot.ndof))[0])


def _extent(robot: Robot, g: Array) -> float:
    """The same from the poses (n, 4, 4) of all nodes."""
    return max(extent(g[:, :3, 3]), _gyration(robot)) or 1.0


def _gyration(robot: Robot) -> float:
    """The largest radius of gyration of a body or section about its node [m]."""
    inertia = robot.engine.tree.inertia
    turning, mass = np.trace(inertia[:, :3, :3], axis1=1, axis2=2), inertia[:, 5, 5]
    return float(np.sqrt(np.divide(turning, 2.0 * mass, out=np.zeros(len(mass)), where=mass > 0.0)).max(initial=0.0))
