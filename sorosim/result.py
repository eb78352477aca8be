"""Results: an equilibrium, a run, and what a user asks of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.door import number
from sorosim.errors import FileError, InputError
from sorosim.robot import Robot

Array = NDArray[np.float64]


class EnergyHistory(NamedTuple):
    """Energies along a run [J], each (n_times,)."""

    kinetic: Array
    elastic: Array
    gravity: Array
    work: Array  # done by actuators, loads and driven joints since the start
    dissipated: Array  # by damping since the start

    @property
    def total(self) -> Array:
        """Kinetic, elastic and gravitational energy."""
        return self.kinetic + self.elastic + self.gravity

    @property
    def balance(self) -> Array:
        """total - total[0] - work + dissipated, zero but for errors of the integration."""
        return self.total - self.total[:1] - self.work + self.dissipated


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state of rest."""

    robot: Robot
    q: Array  # (ndof,)
    u: Array  # (n_actuators,)
    lam: Array  # (n_multipliers,) of loops; there are none yet
    driven: dict[str, float]  # link name -> force or moment that its driven joint needs
    residual_norm: float  # largest entry of the residual of the free coordinates
    tangent_stiffness: Array  # (n_free, n_free) derivative of that residual
    n_evaluations: int  # of residual and Jacobian together
    message: str  # what the solver did
    free: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # free coordinates

    @cached_property
    def stable(self) -> bool:
        """Whether small motions about the equilibrium stay small, driven joints held (`Robot.linearize`)."""
        return self.robot.linearize(self.q, self.u, free=self.free).stable

    def tip(self, link: str | None = None) -> Array:
        """Position (3,) of the tip of a link; default: the last one."""
        return self.robot.pose(self.q, link or self.robot.links[-1].name)[:3, 3]

    def save(self, path: str | Path) -> None:
        """Write to an HDF5 file; `sorosim.open` reads it."""
        from sorosim.io.results import save_equilibrium

        save_equilibrium(self, path)

    def plot(self, path: str | Path | None = None) -> Any:
        """Picture of the shape (matplotlib); written to `path` if given."""
        from sorosim.viz.plots import plot_equilibrium

        return plot_equilibrium(self, path)

    def __repr__(self) -> str:
        return f"<Equilibrium of '{self.robot.name}': residual {self.residual_norm:.2g}, {self.message}>"


@dataclass(frozen=True, eq=False)
class Run:
    """A motion."""

    robot: Robot
    t: Array  # (n,) [s]
    q: Array  # (n, ndof)
    qd: Array  # (n, ndof)
    u: Array  # (n, n_actuators)
    lam: Array  # (n, n_multipliers) of loops; there are none yet
    driven: dict[str, Array]  # link name -> (n,) force or moment that its driven joint needed
    stats: dict[str, Any]  # counts and wall time of the integration
    options: dict[str, Any]  # what it was asked for
    message: str  # what the integrator said
    events: tuple[tuple[Array, Array, Array], ...] = ()  # per event: times, coordinates, rates
    dense: Callable[[float], tuple[Array, Array]] | None = field(default=None, repr=False)

    def tip(self, link: str | None = None) -> Array:
        """Positions (n, 3) of the tip of a link in the world [m]; default: the last link."""
        return self.positions(link, 1.0)

    def positions(self, link: str | None = None, s: float = 1.0) -> Array:
        """Positions (n, 3) in the world [m] of the section at s of a link, or of a rigid link's frame."""
        name = link or self.robot.links[-1].name
        return np.stack([self.robot.pose(q, name, s)[:3, 3] for q in self.q]) if len(self.t) else np.zeros((0, 3))

    def at(self, t: float) -> tuple[Array, Array]:
        """Coordinates and rates at any time of the run; it must have been made with dense=True."""
        if self.dense is None:
            raise InputError("at", "a run with dense output", "none", "simulate(..., dense=True)")
        if not self.t[0] <= (time := number("t", t)) <= self.t[-1]:
            raise InputError("t", f"a time from {self.t[0]:g} to {self.t[-1]:g}", f"{t}")
        return self.dense(time)

    def energy(self) -> EnergyHistory:
        """Energies, work and dissipation along the run; the last two by Simpson's rule over the output times."""
        engine, n = self.robot.engine, len(self.t)
        parts = np.array([engine.energy(q, qd) for q, qd in zip(self.q, self.qd, strict=True)]).reshape(n, 3)
        rows = zip(self.t, self.q, self.qd, self.u, strict=True)
        powers = np.array([engine.powers(*row) for row in rows]).reshape(n, 2)
        power_in, power_lost = powers[:, 0], powers[:, 1]
        for name, force in self.driven.items():
            power_in = power_in + force * self.qd[:, engine.layout.links[name].column]
        work, dissipated = self._integral(power_in), self._integral(power_lost)
        return EnergyHistory(parts[:, 0], parts[:, 1], parts[:, 2], work, dissipated)

    def _integral(self, power: Array) -> Array:
        from scipy.integrate import cumulative_simpson, cumulative_trapezoid

        if len(power) < 3:
            return np.asarray(cumulative_trapezoid(power, self.t, initial=0)) if len(power) else np.zeros(0)
        return np.asarray(cumulative_simpson(power, x=self.t, initial=0.0))

    def save(self, path: str | Path) -> None:
        """Write to an HDF5 file; `sorosim.open` reads it."""
        from sorosim.io.results import save_run

        save_run(self, path)

    def to_csv(self, path: str | Path) -> None:
        """Write a table: t, coordinates, rates, inputs, one row a time, names in the first line."""
        names = ["t", *self.robot.coordinate_names, *(f"d({name})/dt" for name in self.robot.coordinate_names)]
        table = np.column_stack([self.t, self.q, self.qd, self.u])
        try:
            header = ",".join([*names, *self.robot.actuator_names])
            np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")
        except OSError as error:
            raise FileError(str(path), f"cannot be written: {error.strerror or error}") from None

    def plot(self, folder: str | Path | None = None, what: str | Sequence[str] = "all") -> Any:
        """Plots of tip, snapshots, coordinates, tensions, energy; written to `folder` if given (matplotlib)."""
        from sorosim.viz.plots import plot_run

        return plot_run(self, folder, what)

    def movie(self, path: str | Path, **options: Any) -> None:
        """Film of the motion, mp4 or gif; see `sorosim.viz.scene.movie`."""
        from sorosim.viz.scene import movie

        movie(self, path, **options)

    def play(self, **options: Any) -> None:
        """Window with the motion in 3D."""
        from sorosim.viz.scene import play

        play(self, **options)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s, {len(self.t)} times" if len(self.t) else "empty"
        return f"<Run of '{self.robot.name}': {span}; {self.message}>"


def open_run(path: str | Path) -> Run | Equilibrium:
    """Read a file written by `Run.save` or `Equilibrium.save`."""
    from sorosim.io import load_text
    from sorosim.io.results import read

    stored = read(path)
    robot = load_text(stored["text"], str(path))
    return _equilibrium(robot, stored) if stored["kind"] == "equilibrium" else _run(robot, stored)


def _equilibrium(robot: Robot, stored: Mapping[str, Any]) -> Equilibrium:
    names = ("q", "u", "lam", "driven", "residual_norm", "tangent_stiffness", "n_evaluations", "message", "free")
    return Equilibrium(robot, **{name: stored[name] for name in names})


def _run(robot: Robot, stored: Mapping[str, Any]) -> Run:
    names = ("t", "q", "qd", "u", "lam", "driven", "stats", "options", "message")
    return Run(robot, **{name: stored[name] for name in names})
