"""Inverse statics: `inverse` and `inverse_path`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.analysis.inversion.solver import Inverse, InverseSolver
from sorosim.analysis.results.result import Equilibrium, InitialState, Run
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, describe
from sorosim.mechanics.robot import Robot


@public
def inverse(
    robot: Robot, targets: Mapping[Any, Any], *, bounds: Mapping[str, Any] | None = None,
    free: Sequence[str] | None = None, q0: InitialState | None = None, **options: Any,
) -> Inverse:  # fmt: skip
    """Inputs and driven coordinates under which a robot at rest comes where it shall.

    Parameters
    ----------
    robot : Robot
    targets : mapping of place or sensor to value
        A place is a link (the tip of a rod, the frame of a body), (link, s), a frame of a link ("link.frame"), or an
        `Anchor`; its value a position (3,) [m], a position and the direction of its x axis (6,), or a pose (4, 4) in
        the world. A sensor's value is what it shall read. None in a list leaves an entry out, such as
        [None, None, "20 cm"].
    bounds, free, q0
        As in `InverseSolver`.
    **options
        u, driven, weights, effort, tolerance, starts and stable, as in `InverseSolver`.

    Returns
    -------
    Inverse
        Of targets that cannot be reached the nearest state that was found, with the bounds that keep it there.

    Raises
    ------
    ConvergenceError
        No equilibrium was found to begin from.
    InputError
        A wrong name, shape, unit or value.

    Notes
    -----
    Equilibrium and targets are solved together, by Newton's method on the equilibria and Gauss-Newton steps along
    them within bounds and a trust region; quadratic programs by DAQP. Distances that are left count by their curvature
    (a structured secant update), so the nearest point of unreachable targets is found as fast. Derivatives by
    coordinates, inputs and driven coordinates are exact; those of sensors are differences. Source: docs/theory.md, 15.

    Examples
    --------
    >>> robot = sorosim.load("cable_manipulator")
    >>> found = sorosim.inverse(robot, {"arm": ["42 cm", "9 cm", "-19 cm"]}, bounds={"cable1": (0, "10 N")})
    >>> found.u, found.reached
    """
    return InverseSolver(robot, bounds=bounds, free=free, q0=q0, **options).solve(targets)


@public
@dataclass(frozen=True, eq=False)
class InversePath:
    """States of rest along a path of targets; made by `inverse_path`.

    Attributes
    ----------
    robot : Robot
    states : tuple of Inverse
        One for each of the targets.
    """

    robot: Robot
    states: tuple[Inverse, ...]

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, k: int) -> Inverse:
        return self.states[k]

    @property
    def q(self) -> Array:
        """Coordinates (n, ndof)."""
        return np.array([one.q for one in self.states])

    @property
    def u(self) -> Array:
        """Inputs (n, n_actuators)."""
        return np.array([one.u for one in self.states])

    @property
    def driven(self) -> dict[str, Array]:
        """Values (n,) of driven coordinates [rad or m]."""
        return {name: np.array([one.driven[name] for one in self.states]) for name in self.states[0].driven}

    @property
    def error(self) -> Array:
        """Norms (n,) of the errors, as `Inverse.error`."""
        return np.array([one.error for one in self.states])

    @property
    def distance(self) -> Array:
        """Largest distances (n,) of places from where they shall be [m]."""
        return np.array([one.distance for one in self.states])

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Which targets are reached (n,)."""
        return np.array([one.reached for one in self.states])

    @property
    def active(self) -> list[dict[str, float]]:
        """Names that are at their bounds -> these bounds, of each state."""
        return [one.active for one in self.states]

    @property
    def message(self) -> str:
        """How many targets are reached, and what is said of the worst."""
        reached, worst = int(self.reached.sum()), int(np.argmax(self.error))
        more = "" if reached == len(self) else f"; the worst is number {worst}, {self.states[worst].message}"
        return f"{reached} of {len(self)} reached{more}"

    @cached_property
    def equilibrium(self) -> tuple[Equilibrium, ...]:
        """The states as `sorosim.statics` finds them."""
        return tuple(one.equilibrium for one in self.states)

    def run(self, dt: Number = 1.0) -> Run:
        """A slow motion through all states, dt apart [s], which plays, plots and saves as runs do."""
        step, eqs = amount("dt", dt, "time"), self.equilibrium
        if not step > 0.0:
            raise InputError("dt", "a time greater than 0", f"{dt}")
        t, q = step * np.arange(float(len(eqs))), self.q
        forces = {name: np.array([eq.driven[name] for eq in eqs]) for name in eqs[0].driven}
        specs = {name: {"times": t.tolist(), "values": x.tolist()} for name, x in self.driven.items()}
        return Run(
            self.robot, t, q, np.zeros_like(q), self.u, np.array([eq.lam for eq in eqs]), forces, {},
            {"method": "inverse", "driven": specs}, f"equilibria by sorosim.inverse_path: {self.message}",
        )  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write `run()` to an HDF5 file; `sorosim.open` reads it."""
        self.run().save(path)

    def _repr_html_(self) -> Any:
        return self.run()._repr_html_()

    def __repr__(self) -> str:
        return f"<InversePath of '{self.robot.name}': {self.message}>"


@public
def inverse_path(
    robot: Robot, targets_along: Sequence[Mapping[Any, Any]] | Mapping[Any, Any], *,
    rates: Mapping[str, Number] | None = None, bounds: Mapping[str, Any] | None = None,
    free: Sequence[str] | None = None, q0: InitialState | None = None, **options: Any,
) -> InversePath:  # fmt: skip
    """Inverse statics of targets one after the other, each search from the state before.

    Parameters
    ----------
    robot : Robot
    targets_along : sequence of mappings, or mapping of place or sensor to (n, ...) array_like
        Targets as in `inverse`, n of them.
    rates : mapping of str to float or str
        Most change of inputs and driven coordinates from one to the next [SI, or texts with units].
    bounds, free, q0, **options
        As in `inverse`.

    Returns
    -------
    InversePath

    Examples
    --------
    >>> circle = [{"arm": [0.48, 0.05 * np.cos(a), 0.05 * np.sin(a)]} for a in np.linspace(0.0, 6.28, 50)]
    >>> sorosim.inverse_path(sorosim.load("cable_manipulator"), circle).run("50 ms").save("circle.h5")
    """
    solver = InverseSolver(robot, bounds=bounds, free=free, q0=q0, **options)
    solver.checked_rates(rates or {})
    states: list[Inverse] = []
    for k, targets in enumerate(_one_by_one(targets_along)):
        try:
            states.append(solver.solve(targets, rates=rates if states else None, stay=bool(states)))
        except InputError as error:
            where = error.where.removeprefix("targets") if error.where.startswith("targets") else ""
            raise InputError(f"targets_along[{k}]{where}", error.expected, error.got, error.hint) from None
    return InversePath(robot, tuple(states))


def _one_by_one(targets_along: object) -> list[Mapping[Any, Any]]:
    """Targets of each state."""
    if isinstance(targets_along, Mapping):
        lengths = {key: len(values) if hasattr(values, "__len__") else -1 for key, values in targets_along.items()}
        if not lengths or min(lengths.values()) < 1 or len(set(lengths.values())) > 1:
            got = ", ".join(f"{n if n >= 0 else 'no list'} of {key!r}" for key, n in lengths.items()) or "none"
            raise InputError("targets_along", "as many values of each target, one or more", got)
        n = next(iter(lengths.values()))
        return [{key: values[k] for key, values in targets_along.items()} for k in range(n)]
    if not isinstance(targets_along, Sequence) or isinstance(targets_along, str) or not targets_along:
        raise InputError("targets_along", "a list of targets, or arrays of them by place", describe(targets_along))
    return list(targets_along)
