"""A robot in motion, and how all that is computed of it changes with numbers of its file, inputs, gains."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sorosim.analysis.motion.discrete_steps import DiscreteSteps
from sorosim.analysis.motion.rollout import Rollout, run_of
from sorosim.analysis.results.result import Run
from sorosim.analysis.sensitivity import MovingFrames
from sorosim.base.arrays import Array
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.parameter import FILE, Parameter
from sorosim.mechanics.quantities import Quantity
from sorosim.mechanics.robot import Robot
from sorosim.studies.design.rest import Changes, moved_frames

# part of a number's size by which whole motions are changed for differences where there are no exact derivatives:
# their error is the tolerance of steps, 1e-11, over it
AGAIN = 1e-3


@dataclass(frozen=True, eq=False)
class Moving:
    """A motion in equal steps under held inputs, or one beside it."""

    robot: Robot
    steps: DiscreteSteps
    t: Array  # (N + 1,) [s]
    q: Array  # (N + 1, ndof)
    qd: Array  # (N + 1, ndof)
    u: Array  # (N, n_actuators)
    rollout: Rollout | None = None

    @classmethod
    def of(cls, rollout: Rollout) -> Moving:
        """A motion that was computed."""
        return cls(rollout.robot, rollout.steps, rollout.t, rollout.q, rollout.qd, rollout.u, rollout)

    @property
    def begin(self) -> Array:
        """Coordinates (ndof,) from which the equilibrium is searched in which others nearby begin."""
        return np.asarray(self.q[0])

    @cached_property
    def run(self) -> Run:
        """It as a run, with a row for the end of each interval."""
        if self.rollout is not None:
            return self.rollout.run
        return run_of(self.steps, self.t, self.q, self.qd, self.u, "sorosim.design")

    def history(self, quantity: Quantity) -> tuple[Array, Array]:
        """Times and values of a quantity of runs."""
        return quantity.history(self.run)

    def positions(self, frames: LinkFrames) -> Array:
        """Positions (N + 1, k, 3) of frames."""
        return frames.positions(self.q)


@dataclass(frozen=True)
class Directions:
    """How what is prescribed of a motion changes with n parameters."""

    u: Array  # (n, N, n_actuators), a controller's answer to states left out
    q0: Array  # (n, ndof)
    qd0: Array  # (n, ndof)


class ChangesOfMotion(Changes):
    """How a motion changes.

    again : computes the motion where parameters have other values, by their numbers. By rough parameters motions are
    differentiated by differences of such.
    """

    here: Moving

    def __init__(
        self, here: Moving, values: Sequence[tuple[Parameter, float]], sizes: Array, rough: Collection[str],
        directions: Callable[[Changes], Directions], again: Callable[[Mapping[int, float]], Moving],
    ) -> None:  # fmt: skip
        super().__init__(here, values, sizes, rough)
        self._again = again
        n = len(self.parameters)
        smooth = [i for i in range(len(self.parameters)) if i not in self.rough]
        self.q, self.qd = (np.zeros((*x.shape, n)) for x in (here.q, here.qd))
        self.u = np.zeros((*here.u.shape, n))
        if smooth:
            given, numbers = directions(self), np.zeros((len(smooth), len(self.exact)))
            for row, i in enumerate(smooth):
                if self.parameters[i].kind == FILE:
                    numbers[row, self.exact.index(i)] = 1.0
            assert here.rollout is not None
            (q, qd), u = here.rollout.with_numbers(self.by).push(
                given.u[smooth], q0=given.q0[smooth], qd0=given.qd0[smooth], numbers=numbers
            )
            for own, found in ((self.q, q), (self.qd, qd), (self.u, u)):
                own[..., smooth] = np.moveaxis(found, 0, -1)
        for i in self.rough:
            flat = self.derivative(i, lambda i, h: _flat(self.near(i, h)), AGAIN)
            ends = np.cumsum([self.here.q.size, self.here.q.size])
            for own, part in zip((self.q, self.qd, self.u), np.split(flat, ends), strict=True):
                own[..., i] = part.reshape(own.shape[:-1])

    @property
    def begin(self) -> Array:
        return np.asarray(self.q[0])

    def moved(self, i: int, h: float) -> Moving:
        here = self.here
        if i in self.rough or here.steps.system.n_strains:  # of strains of Maxwell elements no changes are known
            return self._again({i: float(self.values[i] + h)})
        robot = self.robot(i, h)
        steps = here.steps if robot is here.robot else here.steps.of(robot)
        q, qd = here.q + h * self.q[..., i], here.qd + h * self.qd[..., i]
        return Moving(robot, steps, here.t, q, qd, here.u + h * self.u[..., i])

    def positions(self, frames: LinkFrames) -> tuple[Array, Array]:
        moving = MovingFrames(self.by, frames)
        rows = [moved_frames(self, frames, moving, q, by) for q, by in zip(self.here.q, self.q, strict=True)]
        return np.array([p for p, _ in rows]), np.array([by for _, by in rows])


def _flat(moving: Moving) -> Array:
    return np.concatenate([moving.q.ravel(), moving.qd.ravel(), moving.u.ravel()])
