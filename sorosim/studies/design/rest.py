"""A robot at rest, and how all that is computed of one changes with numbers of its file, inputs, driven coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from sorosim.analysis.results.result import Equilibrium
from sorosim.analysis.sensitivity import MovingFrames, isolated, moved_equilibrium, sensitivities
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import InputError, SorosimError
from sorosim.mechanics.dynamics.constraints import IndependentRows
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.parameter import FILE, Parameter
from sorosim.mechanics.quantities import Quantity, quantities, tips
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.state import State
from sorosim.studies.fitting.model import STENCILS

# parts of a number's size by which it is changed for differences: of quantities along the exact change of the
# equilibrium, whose error of fourth order is 1e-12; and of forces at constant coordinates, where surfaces touch only
# as deep as a hundredth of a millimetre or less
ALONG, SURFACE = 1e-3, 1e-5


@dataclass(frozen=True, eq=False)
class Rest:
    """A robot in an equilibrium, or beside one."""

    robot: Robot
    q: Array  # (ndof,)
    u: Array  # (n_actuators,)
    lam: Array  # (n_multipliers,)
    free: IntArray  # coordinates that are not driven
    driven: Mapping[str, float]  # forces that driven coordinates need; beside an equilibrium none are known
    equilibrium: Equilibrium | None = None

    @classmethod
    def of(cls, eq: Equilibrium) -> Rest:
        """An equilibrium."""
        return cls(eq.robot, eq.q, eq.u, eq.lam, np.asarray(eq.free), eq.driven, eq)

    @property
    def begin(self) -> Array:
        """Coordinates (ndof,) from which others nearby are searched."""
        return self.q

    def positions(self, frames: LinkFrames) -> Array:
        """Positions (k, 3) of frames."""
        return frames.poses(self.q)[:, :3, 3]

    @cached_property
    def matrices(self) -> tuple[Array, Array, Array]:
        """Stiffness K (n_free, n_free) under the multipliers, mass M, and constraints A (m, n_free) of loops."""
        zero, own = np.zeros_like(self.q), np.ix_(self.free, self.free)
        out = self.robot.engine.evaluate(
            task.RESIDUAL_DERIVATIVES, self.q, zero, zero, self.u, multiplier=np.ascontiguousarray(self.lam)
        )
        return out.by_q[own], out.mass[own], out.closure.constraint[:, self.free].copy()

    @cached_property
    def motions(self) -> Array:
        """Basis (n_free, n) of the motions that loops leave."""
        A = self.matrices[2]
        return IndependentRows(self.robot.engine, A).motions() if len(A) else np.eye(len(self.free))

    @cached_property
    def readings(self) -> dict[str, Array]:
        """What sensors read (n_channels,)."""
        robot, zero = self.robot, np.zeros_like(self.q)
        state = State(robot.instruments.sites, 0.0, self.q, zero, zero, self.u, self.lam)
        return dict(robot.instruments.measured(state))

    @cached_property
    def quantities(self) -> dict[str, Quantity]:
        """Quantities of runs by name, which take this for a run of one row; energies but those at rest are left out."""
        known = quantities(self.robot, tuple(self.driven), tips(self.robot))
        moving = {f"energy.{name}" for name in ("kinetic", "total", "work", "dissipated")}
        return {name: one for name, one in known.items() if name not in moving}

    def value(self, name: str, quantity: Quantity | None = None) -> float:
        """A quantity of runs."""
        return float((quantity or self.quantities[name]).history(_AsRun(self))[1][0])


class _AsRun:
    """What quantities of runs ask a run for, with one row."""

    def __init__(self, rest: Rest) -> None:
        self.rest, self.robot, self.t = rest, rest.robot, np.zeros(1)
        self.q, self.u = rest.q[None], rest.u[None]
        self.driven = {name: np.array([force]) for name, force in rest.driven.items()}

    def positions(self, link: str, s: float) -> Array:
        """Position (1, 3) of a place."""
        return self.robot.pose(self.rest.q, link, s=s)[None, :3, 3]

    def energy(self) -> Any:
        """Energies, arrays (1,)."""
        found = self.robot.energy(self.rest.q, np.zeros_like(self.rest.q))
        return SimpleNamespace(elastic=np.array([found.elastic]), gravity=np.array([found.gravity]))

    @property
    def readings(self) -> Mapping[str, Any]:
        """Readings of sensors, values (1, n_channels)."""
        return {name: SimpleNamespace(t=self.t, values=x[None]) for name, x in self.rest.readings.items()}


class Changes(ABC):
    """How a robot changes with n parameters, one a column.

    Parameters
    ----------
    here : Rest or Moving
    values : sequence of pairs of Parameter and float
    sizes : (n,) array
        How large they are at least [SI].
    rough : collection of str
        Names of those by which there are no exact derivatives.

    Attributes
    ----------
    q : (..., ndof, n) ndarray
    u : (..., n_actuators, n) ndarray
    """

    q: Array
    u: Array

    def __init__(
        self, here: Any, values: Sequence[tuple[Parameter, float]], sizes: Array, rough: Collection[str]
    ) -> None:
        self.here, self.parameters = here, tuple(one for one, _ in values)
        self.values, parameters = np.array([x for _, x in values]), self.parameters
        self.sizes = np.maximum(np.abs(self.values), sizes)
        self.rough = [i for i, one in enumerate(parameters) if one.name in rough]
        of_file = (i for i, one in enumerate(parameters) if one.kind == FILE)
        self.exact = [i for i in of_file if i not in self.rough]  # numbers of the file
        self.by = sensitivities(here.robot, [parameters[i].target for i in self.exact])
        self._near: dict[tuple[int, float], Any] = {}

    @property
    @abstractmethod
    def begin(self) -> Array:
        """Derivatives (ndof, n) of `here.begin`."""

    @abstractmethod
    def moved(self, i: int, h: float) -> Any:
        """The robot where a parameter is larger by h, to first order."""

    @abstractmethod
    def positions(self, frames: LinkFrames) -> tuple[Array, Array]:
        """Positions (..., k, 3) of frames, and their derivatives (..., k, 3, n) but by rough parameters."""

    def near(self, i: int, h: float) -> Any:
        """As `moved`, once."""
        if (i, h) not in self._near:
            self._near[i, h] = self.moved(i, h)
        return self._near[i, h]

    def robot(self, i: int, h: float) -> Robot:
        """The robot where a parameter is larger by h."""
        one = self.parameters[i]
        robot: Robot = self.here.robot
        return robot.with_values({one.target: float(self.values[i] + h)}) if one.kind == FILE else robot

    def derivative(self, i: int, function: Callable[[int, float], Array], part: float) -> Array:
        """Derivative at 0 of function(i, h) by h, by differences of fourth order; to one side at an edge."""
        h, failure = part * self.sizes[i], None
        for side in (0, -1, 1):
            try:
                return np.asarray(
                    sum(factor / h * function(i, step * h) for step, factor in zip(*STENCILS[side], strict=True))
                )
            except SorosimError as error:  # beyond an edge there is no such robot
                failure = failure or error
        raise InputError("free", "numbers that may change a little", f"'{self.parameters[i].name}' ({failure})")

    def along(self, function: Callable[[Any], Any], columns: Sequence[int] | None = None) -> Array:
        """Derivatives (..., n) of a function of the robot, by differences of fourth order along the changes."""
        chosen = range(len(self.parameters)) if columns is None else columns

        def at(i: int, h: float) -> Array:
            return np.asarray(function(self.near(i, h)), dtype=float)

        found = [self.derivative(i, at, ALONG) for i in chosen]
        return np.stack(found, axis=-1) if found else np.zeros((*np.shape(function(self.here)), 0))

    def exactly(self, exact: Array, function: Callable[[Any], Any]) -> Array:
        """Exact derivatives (..., n), with those by rough parameters in the place of what is not known."""
        if self.rough:
            exact[..., self.rough] = self.along(function, self.rough)
        return exact


class ChangesAtRest(Changes):
    """How an equilibrium changes.

    given : has derivatives (n_actuators, n) of inputs and (ndof, n) of driven coordinates. By rough parameters, which
    are numbers that change surfaces that touch, forces at held coordinates are differentiated by differences.

    Attributes
    ----------
    lam : (m, n) ndarray
    driven : dict of str to (n,) ndarray
        Forces that driven coordinates need.
    """

    here: Rest

    def __init__(
        self, here: Rest, values: Sequence[tuple[Parameter, float]], sizes: Array, rough: Collection[str],
        given: Callable[[Changes], tuple[Array, Array]],
    ) -> None:  # fmt: skip
        super().__init__(here, values, sizes, rough)
        eq = here.equilibrium
        assert eq is not None
        out, n = isolated(eq.robot, eq), len(self.parameters)
        self.u, driven = given(self)
        forces, rows = -out.B @ self.u, np.zeros((len(eq.lam), n))
        zero = np.zeros_like(eq.q)
        for i, varied in zip(self.exact, self.by._vary(eq.q, zero, zero, eq.u, 0.0, eq.lam), strict=True):
            forces[:, i] += varied.inverse - varied.internal
            rows[:, i] = varied.error
        for i in self.rough:
            change, rows[:, i] = np.split(self.derivative(i, self._residual, SURFACE), [len(eq.q)])
            forces[:, i] += change
        found = moved_equilibrium(eq, out, forces, rows, driven)
        self.q, self.lam, self.driven = found.q, found.lam, found.driven

    @property
    def begin(self) -> Array:
        return self.q

    def _residual(self, i: int, h: float) -> Array:
        """Residual and errors of loops where a number of the file is larger by h, all else held."""
        rest, zero = self.here, np.zeros_like(self.here.q)
        engine = self.robot(i, h).engine
        out = engine.evaluate(task.RESIDUAL, rest.q, zero, zero, rest.u, multiplier=rest.lam)
        return np.concatenate([out.tau, out.closure.error[: len(rest.lam)]])

    def moved(self, i: int, h: float) -> Rest:
        rest = self.here
        q, u, lam = rest.q + h * self.q[:, i], rest.u + h * self.u[:, i], rest.lam + h * self.lam[:, i]
        return Rest(self.robot(i, h), q, u, lam, rest.free, {})

    @cached_property
    def matrices(self) -> tuple[Array, Array, Array]:
        """Derivatives of `Rest.matrices`, (..., n)."""
        parts = self.here.matrices
        ends = np.cumsum([part.size for part in parts])
        flat = self.along(lambda near: np.concatenate([part.ravel() for part in near.matrices]))
        dK, dM, dA = (
            x.reshape(*part.shape, len(self.parameters))
            for x, part in zip(np.split(flat, ends)[:3], parts, strict=True)
        )
        return dK, dM, dA

    def positions(self, frames: LinkFrames) -> tuple[Array, Array]:
        return moved_frames(self, frames, MovingFrames(self.by, frames), self.here.q, self.q)


def moved_frames(
    changes: Changes, frames: LinkFrames, moving: MovingFrames, q: Array, by: Array
) -> tuple[Array, Array]:
    """Positions (k, 3) of frames at coordinates, and their derivatives (k, 3, n) where these have such (ndof, n)."""
    g, J = frames.jacobians(q)
    moved = J @ by
    if changes.exact:
        moved[:, :, changes.exact] += moving.twists(q)
    return g[:, :3, 3], np.einsum("kab,kbn->kan", g[:, :3, :3], moved[:, 3:])
