"""What an observer knows of a moving robot, at one time and along a motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from sorosim.analysis.motion.discrete_steps import DiscreteSteps
from sorosim.analysis.results.result import Run
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, nearest
from sorosim.base.public import public
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.model.chart import Charts
from sorosim.mechanics.robot import Robot
from sorosim.studies.estimation.unknowns import input_of, place_of


@public
@dataclass(frozen=True, eq=False)
class Observation:
    """What an `Observer` knows at one time.

    Attributes
    ----------
    robot : Robot
        With unknown loads as further inputs.
    t : float
        Time [s].
    q, qd : (ndof,) ndarray
        Coordinates and rates.
    names : tuple of str
        What is unknown beside the state.
    mean : (n,) ndarray
        Its values [SI].
    root : (2 ndof + n, 2 ndof + n) ndarray
        S of the covariance S S^T of [q; qd; mean].
    rejected : tuple of str
        Readings that were left out as improbable.
    innovations : dict of str to ndarray
        Of each reading, what the robot showed before less what was read [SI].
    """

    robot: Robot
    t: float
    q: Array
    qd: Array
    names: tuple[str, ...]
    mean: Array
    root: Array
    rejected: tuple[str, ...] = ()
    innovations: Mapping[str, Array] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, float]:
        """Values of what is unknown [SI]."""
        return dict(zip(self.names, self.mean.tolist(), strict=True))

    @property
    def loads(self) -> dict[str, float]:
        """Values of unknown loads and strains [SI] by their inputs of `robot`: a `disturbance` of `MPC`."""
        pairs = ((name, input_of(name), x) for name, x in self.values.items())
        return {own: x for name, own, x in pairs if own != name}  # names of the robot's own inputs are names of a file

    @cached_property
    def covariance(self) -> Array:
        """Covariance (2 ndof + n, 2 ndof + n) of [q; qd; values]."""
        return np.asarray(self.root @ self.root.T)

    @property
    def standard_deviations(self) -> dict[str, float]:
        """Of what is unknown [SI]."""
        own = np.linalg.norm(self.root[len(self.root) - len(self.mean) :], axis=1)
        return dict(zip(self.names, own.tolist(), strict=True))

    def pose(self, link: Any, s: float | None = None) -> tuple[Array, Array]:
        """Pose (4, 4) of a place, and covariance (6, 6) of its twist in its own axes [rad, m]."""
        place = place_of(self.robot, link if s is None else (link, s), "link")
        g, J = LinkFrames(self.robot.description, self.robot.engine, [place], "link").jacobians(self.q)
        moved = J[0] @ self.root[: len(self.q)]
        return g[0], moved @ moved.T

    def nees(self, q: ArrayLike, qd: ArrayLike, values: Mapping[str, float] | None = None) -> tuple[float, int]:
        """Normalised error squared against a true state and values, and its degrees of freedom.

        It counts directions that are uncertain by more than 1e-6 of the most uncertain one, 1e-3 where there are loops.
        """
        n, robot, names = len(self.q), self.robot, self.names
        state = robot.coordinates(q), robot.coordinates(qd, "qd", order=1)
        charts = Charts(robot.engine.layout, np.zeros(n, dtype=np.bool_))
        others = [state, charts.recharted(*state)] if charts.joints else [state]
        true_q, true_qd = min(others, key=lambda one: float(np.linalg.norm(one[0] - self.q)))
        error, rows = np.concatenate([self.q - true_q, self.qd - true_qd, np.zeros(len(names))]), list(range(2 * n))
        for name, value in (values or {}).items():
            if name not in names:
                raise InputError("values", "the name of what is unknown", f"'{name}'", nearest(name, names))
            rows.append(2 * n + names.index(name))
            error[rows[-1]] = self.mean[names.index(name)] - value
        size = np.linalg.norm(self.root[rows], axis=1)
        size[size == 0.0] = 1.0
        U, s, _ = linalg.svd(self.root[rows] / size[:, None])
        rank = int((s > (1e-3 if robot.n_multipliers else 1e-6) * s[0]).sum())
        z = (U[:, :rank].T @ (error[rows] / size)) / s[:rank]
        return float(z @ z), rank


@public
@dataclass(frozen=True, eq=False)
class ObservedMotion:
    """What an `Observer` knew along a motion.

    Attributes
    ----------
    states : tuple of Observation
        At the begin, and at the end of each step.
    u : (n, n_actuators) ndarray
        Commands.
    """

    observer: Any
    states: tuple[Observation, ...]
    u: Array

    def __len__(self) -> int:
        return len(self.states)

    @property
    def t(self) -> Array:
        """Times (n,) [s]."""
        return np.array([one.t for one in self.states])

    @property
    def q(self) -> Array:
        """Coordinates (n, ndof)."""
        return np.array([one.q for one in self.states])

    @property
    def qd(self) -> Array:
        """Rates (n, ndof)."""
        return np.array([one.qd for one in self.states])

    @property
    def values(self) -> dict[str, Array]:
        """Of what is unknown, each (n,) [SI]."""
        return dict(zip(self.observer.names, np.array([one.mean for one in self.states]).T, strict=True))

    @property
    def standard_deviations(self) -> dict[str, Array]:
        """Their standard deviations (n,) [SI]."""
        return {name: np.array([one.standard_deviations[name] for one in self.states]) for name in self.observer.names}

    def pose(self, link: Any, s: float | None = None) -> tuple[Array, Array]:
        """Poses (n, 4, 4) of a place, and covariances (n, 6, 6) of its twist in its own axes."""
        poses, covariances = zip(*(one.pose(link, s) for one in self.states), strict=True)
        return np.array(poses), np.array(covariances)

    @cached_property
    def run(self) -> Run:
        """The motion as a `Run` of the robot with unknown loads as inputs, which plays, plots and saves."""
        inputs = np.array([self.observer.inputs(u, one.mean) for u, one in zip(self.u, self.states, strict=True)])
        steps: DiscreteSteps = self.observer.steps
        return steps.run(self.t, self.q, self.qd, inputs, f"observed by {self.observer.method}")
