"""What an observer knows of a moving robot, at one time and along a motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from sorosim.analysis.equations.system import NO_STRAINS
from sorosim.analysis.results.result import Run
from sorosim.analysis.sensitivity import MovingFrames, Sensitivities
from sorosim.base.arrays import Array, Mask
from sorosim.base.declare.result import TEXT, TIMES, Another, Named, Numbered, Numbers, Result, stored
from sorosim.base.errors import InputError, nearest
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import vector
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.parameter import FILE
from sorosim.mechanics.model.chart import Charts
from sorosim.mechanics.robot import Robot
from sorosim.studies.estimation.result import UNKNOWN
from sorosim.studies.estimation.unknowns import Unknown, input_of, place_of


@public
@dataclass(frozen=True, eq=False)
class Observation:
    """What an `Observer` knows at one time.

    Attributes
    ----------
    robot : Robot
        With unknown loads as further inputs, and unknown numbers as they are estimated.
    t : float
        Time [s].
    q, qd : (ndof,) ndarray
        Coordinates and rates.
    names : tuple of str
        What is unknown beside the state.
    mean : (n,) ndarray
        Its values [SI].
    root : (2 ndof + n_strains + n,) * 2 ndarray
        S of the covariance S S^T of [q; qd; strain; mean].
    strain : (n_strains,) ndarray
        Of Maxwell elements, as in `Run`; of materials that do not relax none.
    numbers : tuple of str
        Those of `names` that are numbers of the file; they are the last ones.
    rejected : tuple of str
        Readings that were left out as improbable.
    innovations : dict of str to ndarray
        Of each reading, what the robot showed before less what was read [SI]; NaN of entries that were not read. Of a
        pose a twist [rad, m] in its own axes; of a position and a direction two angles across it, then the position.
    smoothed : Observation or None
        Of a smoother, what is known now of the state `lag` ago; None until there is one.
    """

    robot: Robot
    t: float
    q: Array
    qd: Array
    names: tuple[str, ...]
    mean: Array
    root: Array
    strain: Array = field(default_factory=NO_STRAINS.copy)
    numbers: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    innovations: Mapping[str, Array] = field(default_factory=dict)
    smoothed: Observation | None = field(default=None, repr=False)

    @property
    def values(self) -> dict[str, float]:
        """Values of what is unknown [SI]."""
        return dict(zip(self.names, self.mean.tolist(), strict=True))

    @property
    def loads(self) -> dict[str, float]:
        """Values of unknown loads and strains [SI] by their inputs of `robot`: a `disturbance` of `MPC`."""
        pairs = ((name, input_of(name), x) for name, x in self.values.items() if name not in self.numbers)
        return {own: x for name, own, x in pairs if own != name}  # names of the robot's own inputs are names of a file

    @cached_property
    def covariance(self) -> Array:
        """Covariance (2 ndof + n_strains + n,) * 2 of [q; qd; strain; values]."""
        return np.asarray(self.root @ self.root.T)

    @property
    def standard_deviations(self) -> dict[str, float]:
        """Of what is unknown [SI]."""
        own = np.linalg.norm(self.root[len(self.root) - len(self.mean) :], axis=1)
        return dict(zip(self.names, own.tolist(), strict=True))

    def pose(self, link: Any, s: float | None = None) -> tuple[Array, Array]:
        """Pose (4, 4) of a place, and covariance (6, 6) of its twist in its own axes [rad, m]."""
        place = place_of(self.robot, link if s is None else (link, s), "link")
        g, moved = self.moved(LinkFrames(self.robot.description, self.robot.engine, [place], "link"))
        return g[0], moved[0] @ moved[0].T

    def moved(self, frames: LinkFrames) -> tuple[Array, Array]:
        """Poses (k, 4, 4) of frames of this robot, and roots (k, 6, n_x) of the covariances of their twists."""
        g, J = frames.jacobians(self.q)
        moved = J @ self.root[: len(self.q)]
        if self.numbers:
            by = Sensitivities(self.robot, self.numbers)
            moved += MovingFrames(by, frames).twists(self.q) @ self.root[-len(self.numbers) :]
        return g, moved

    def nees(
        self, q: ArrayLike, qd: ArrayLike, values: Mapping[str, float] | None = None, strain: ArrayLike | None = None
    ) -> tuple[float, int]:
        """Normalised error squared against a true state, values and strains, and its degrees of freedom.

        It counts directions that are uncertain by more than 1e-6 of the most uncertain one, 1e-3 where there are loops.
        """
        n, robot, names = len(self.q), self.robot, self.names
        state = robot.coordinates(q), robot.coordinates(qd, "qd", order=1)
        true_q, true_qd = Charts(robot.engine.layout, np.zeros(n, dtype=np.bool_)).nearest(*state, self.q)
        first = 2 * n + len(self.strain)
        true_strain = self.strain if strain is None else vector("strain", strain, len(self.strain))
        error, rows = np.zeros(len(self.root)), list(range(2 * n if strain is None else first))
        error[:first] = np.concatenate([self.q - true_q, self.qd - true_qd, self.strain - true_strain])
        for name, value in (values or {}).items():
            if name not in names:
                raise InputError("values", "the name of what is unknown", f"'{name}'", nearest(name, names))
            rows.append(first + names.index(name))
            error[rows[-1]] = self.mean[names.index(name)] - value
        size = np.linalg.norm(self.root[rows], axis=1)
        size[size == 0.0] = 1.0
        U, s, _ = linalg.svd(self.root[rows] / size[:, None])
        rank = int((s > (1e-3 if robot.n_multipliers else 1e-6) * s[0]).sum())
        z = (U[:, :rank].T @ (error[rows] / size)) / s[:rank]
        return float(z @ z), rank


@public
@dataclass(frozen=True, eq=False)
class ObservedMotion(Result, kind="observed motion"):
    """What an `Observer` knew along a motion, at its begin and at the end of each step; made by `Observer.run`."""

    robot: Robot
    run: Run = stored(
        Another(Run),
        "the motion as a run of the robot with unknown loads as inputs, and numbers as they were at the end",
    )
    unknowns: tuple[Unknown, ...] = stored(Numbered(UNKNOWN), "what was unknown")
    mean: Array = stored(Numbers(TIMES, "n"), "its values", "SI")
    root: Array = stored(
        Numbers(TIMES, "n_x", "n_x"), "S of the covariance S S^T of coordinates, rates, strains and values", "SI"
    )
    left_out: dict[str, Mask] = stored(
        Named(Numbers(TIMES)), "per reading that was improbable at a time: whether it was left out there"
    )
    innovations: dict[str, Array] = stored(
        Named(Numbers(TIMES, ...)),
        "per reading: what the robot showed before less what was read, NaN where nothing was",
        "SI",
    )
    method: str = stored(TEXT, "of the observer")
    lag: float = stored(Numbers(make=float), "until how long after a state readings tell of it; 0: of a filter", "s")

    plot = LazyMethod("sorosim.view.viz.observed_plot:plot_observed")
    play = LazyMethod("sorosim.view.viz.player:play", of="run")
    movie = LazyMethod("sorosim.view.viz.movie:movie", of="run")
    still = LazyMethod("sorosim.view.viz.movie:still", of="run")

    @classmethod
    def of(
        cls, run: Run, unknowns: Sequence[Unknown], states: Sequence[Observation], method: str, lag: float
    ) -> ObservedMotion:
        """The motion of states."""
        improbable = dict.fromkeys(name for one in states for name in one.rejected)
        left_out = {name: np.array([name in one.rejected for one in states]) for name in improbable}
        sizes = {name: len(e) for one in states for name, e in one.innovations.items()}
        innovations = {name: np.array([one.innovations.get(name, np.full(size, np.nan)) for one in states])
                       for name, size in sizes.items()}  # fmt: skip
        mean, root = np.array([one.mean for one in states]), np.array([one.root for one in states])
        return cls(run.robot, run, tuple(unknowns), mean, root, left_out, innovations, method, lag)

    def __len__(self) -> int:
        return len(self.t)

    @property
    def t(self) -> Array:
        """Times (n_t,) [s]."""
        return self.run.t

    @property
    def q(self) -> Array:
        """Coordinates (n_t, ndof)."""
        return self.run.q

    @property
    def qd(self) -> Array:
        """Rates (n_t, ndof)."""
        return self.run.qd

    @property
    def u(self) -> Array:
        """Inputs (n_t, n_actuators) of the robot with unknown loads as inputs, as they were commanded or estimated."""
        return self.run.u

    @property
    def names(self) -> tuple[str, ...]:
        """What was unknown, scalar by scalar."""
        return tuple(name for one in self.unknowns for name in one.names)

    @property
    def units(self) -> tuple[str, ...]:
        """Their SI units."""
        return tuple(unit for one in self.unknowns for unit in one.units)

    @property
    def values(self) -> dict[str, Array]:
        """Of what was unknown, each (n_t,) [SI]."""
        return dict(zip(self.names, self.mean.T, strict=True))

    @property
    def standard_deviations(self) -> dict[str, Array]:
        """Their standard deviations (n_t,) [SI]."""
        own = np.linalg.norm(self.root[:, self.root.shape[1] - len(self.names) :], axis=2)
        return dict(zip(self.names, own.T, strict=True))

    @cached_property
    def states(self) -> tuple[Observation, ...]:
        """What was known at each time."""
        numbers = tuple(one.key for one in self.unknowns if one.kind == FILE)
        return tuple(self._state(k, numbers) for k in range(len(self)))

    def _state(self, k: int, numbers: tuple[str, ...]) -> Observation:
        mean, strain = self.mean[k], NO_STRAINS if self.run.strain is None else self.run.strain[k]
        values = dict(zip(numbers, mean[len(mean) - len(numbers) :].tolist(), strict=True))
        rejected = tuple(name for name, there in self.left_out.items() if there[k])
        innovations = {name: e[k] for name, e in self.innovations.items() if not np.isnan(e[k]).all()}
        return Observation(
            self.robot.with_values(values) if values else self.robot, float(self.t[k]), self.q[k], self.qd[k],
            self.names, mean, self.root[k], strain.copy(), numbers, rejected, innovations,
        )  # fmt: skip

    def pose(self, link: Any, s: float | None = None) -> tuple[Array, Array]:
        """Poses (n_t, 4, 4) of a place, and covariances (n_t, 6, 6) of its twist in its own axes."""
        poses, covariances = zip(*(one.pose(link, s) for one in self.states), strict=True)
        return np.array(poses), np.array(covariances)

    def summary(self) -> str:
        """What was known at the end of what was unknown, and what was left out, in a few lines."""
        lines = [f"{len(self) - 1} steps to t = {self.t[-1]:g} s"]
        sd = self.standard_deviations
        units = zip(self.values.items(), self.units, strict=True)
        lines += [f"{name} {x[-1]:.5g} +- {sd[name][-1]:.2g} {unit}".rstrip() for (name, x), unit in units]
        if out := np.flatnonzero(np.any([np.zeros(len(self), dtype=bool), *self.left_out.values()], axis=0)).tolist():
            lines.append(
                f"left out as improbable: readings of {', '.join(self.left_out)} at {len(out)} times, first at "
                f"{self.t[out[0]]:g} s"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        how = f"smoothed over {self.lag:g} s" if self.lag else self.method
        return f"<ObservedMotion of '{self.robot.name}': {len(self)} states to t = {self.t[-1]:g} s, {how}>"
