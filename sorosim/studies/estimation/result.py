"""What an estimate gives: means and covariances of shape, inputs and loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, stats

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.results.result import Drawable, Equilibrium
from sorosim.analysis.sensitivity import MovingFrames, Sensitivities
from sorosim.base.arrays import Array, Mask
from sorosim.base.declare.result import TEXT, Named, Numbered, Numbers, Record, StoredField, Texts, stored
from sorosim.base.errors import InputError, nearest
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import choice, describe, number
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.parameter import FILE
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.robot import Robot
from sorosim.studies.estimation.unknowns import LOADS, Functions, Unknown, name_of, place_of

LEVEL = 0.95
# of singular values, columns having unit length: directions that neither readings nor priors tell; parts that are named
RANK, SHARE = 1e-7, 1e-3
# the readings say nothing of what has this part of its prior variance left
UNTOLD = 0.98


def posterior(A: Array, root: Array) -> tuple[Array, Array]:
    """Covariance (n, n) by derivatives A (n_rows, n) of residuals, and directions (n_null, n) that nothing tells.

    root : those of A's rows that are priors; where they tell all, nothing is lost.
    """
    n, size = A.shape[1], np.linalg.norm(A, axis=0)
    scaled = np.divide(A, size, out=np.zeros_like(A), where=size > 0.0)
    _, s, Vt = linalg.svd(np.vstack([scaled, np.zeros((max(n - len(A), 0), n))]), full_matrices=False)
    W = Vt / np.where(size > 0.0, size, 1.0)
    lost = s <= RANK * max(s.max(initial=0.0), np.finfo(float).tiny)
    if _has_full_rank(root):
        lost[:] = False
    covariance = (W[~lost].T / s[~lost] ** 2) @ W[~lost]
    null = np.where(np.abs(Vt[lost]) > SHARE, Vt[lost], 0.0)
    return covariance, null / np.where(size > 0.0, size, 1.0)


def _has_full_rank(root: Array) -> bool:
    size = np.linalg.norm(root, axis=0)
    return bool((size > 0.0).all()) and np.linalg.matrix_rank(root / size) == len(size)


def _unknown(**kept: Any) -> Unknown:
    coefficients, part = kept.pop("coefficients"), kept.pop("part")
    functions = Functions(float(part), coefficients) if len(coefficients) else None
    infinite = np.full(len(kept["names"]), np.inf)
    return Unknown(**kept, root=np.zeros((0, len(infinite))), low=-infinite, high=infinite, functions=functions)


UNKNOWN = Record(
    _unknown, key=TEXT, kind=TEXT, names=Texts("n"), dimensions=Texts("n"), mean=Numbers("n"),
    part=StoredField(Numbers(), "correlation length of a load along a rod, over the rod's"),
    coefficients=StoredField(Numbers("m", "order"), "of Legendre polynomials on it, one row a function"),
)  # fmt: skip


@public
@dataclass(frozen=True, eq=False)
class Estimate(Drawable, kind="estimate"):
    """The most probable state of rest of a robot under readings and priors; made by `estimate`."""

    robot: Robot
    q: Array = stored(Numbers("ndof"), "coordinates", "rad, m, or 1 for strains")
    u: Array = stored(Numbers("n_actuators"), "inputs, those of unknown loads behind the robot's own")
    lam: Array = stored(Numbers("n_multipliers"), "multipliers of loops and couplings")
    driven: dict[str, float] = stored(Named(Numbers()), "values of driven coordinates", "rad or m")
    unknowns: tuple[Unknown, ...] = stored(Numbered(UNKNOWN), "what was unknown")
    expected: Array = stored(Numbers("n"), "what was expected, in the order of `names`", "SI")
    mean: Array = stored(Numbers("n"), "what was found", "SI")
    _covariance: Array = stored(Numbers("n", "n"), "its covariance but for null directions", "SI", name="covariance")
    null: Array = stored(Numbers("n_null", "n"), "directions that neither readings nor priors tell")
    q_by: Array = stored(Numbers("ndof", "n"), "derivatives of the coordinates by what was unknown", "SI")
    _information: Array = stored(Numbers("n", "n"), "inverse covariance of the priors", "SI", name="prior_information")
    residuals: dict[str, Array] = stored(
        Named(Numbers("k")), "by name of the reading (LINK@S of a place): what the robot shows less what was read", "SI"
    )
    noise: Array = stored(Numbers("n_readings"), "standard deviations of the readings", "SI")
    outputs: tuple[str, ...] = stored(Texts("n_readings"), "names of the readings")
    output_units: tuple[str, ...] = stored(Texts("n_readings"), "their SI units")
    cost: float = stored(Numbers(), "sum of the squares of all residuals over their standard deviations")
    dof: int = stored(Numbers(make=int), "its degrees of freedom")
    low: Array = stored(Numbers("n"), "lower bounds", "SI")
    high: Array = stored(Numbers("n"), "upper bounds", "SI")
    stable: bool = stored(Numbers(make=bool), "whether the equilibrium is stable")
    message: str = stored(TEXT, "why the search did not end; empty if it did")

    plot = LazyMethod("sorosim.view.viz.estimate_plot:plot_estimate")

    # -- what was unknown --------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scalars that were unknown, in the order of `mean` and `covariance`."""
        return tuple(name for one in self.unknowns for name in one.names)

    @property
    def units(self) -> tuple[str, ...]:
        """Their SI units."""
        return tuple(unit for one in self.unknowns for unit in one.units)

    @property
    def values(self) -> dict[str, float]:
        """What was found [SI]."""
        return dict(zip(self.names, self.mean.tolist(), strict=True))

    @cached_property
    def covariance(self) -> Array:
        """Posterior covariance (n, n) [SI]; infinite and NaN of what neither readings nor priors determine."""
        return _with_infinities(self._covariance, np.eye(len(self.mean)), self.null)

    @property
    def standard_deviations(self) -> dict[str, float]:
        """Roots of the variances [SI]."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    def interval(self, level: float = LEVEL) -> dict[str, tuple[float, float]]:
        """Intervals that hold what is unknown with a probability of `level`, within bounds [SI]."""
        level = number("level", level, "a probability between 0 and 1", above=0.0, upto=1.0 - 1e-12)
        half = stats.norm.ppf(0.5 + 0.5 * level) * np.sqrt(np.diag(self.covariance))
        low, high = np.maximum(self.mean - half, self.low), np.minimum(self.mean + half, self.high)
        pairs = zip(self.names, low, high, strict=True)
        return {name: (float(low), float(high)) for name, low, high in pairs}

    @property
    def at_bound(self) -> Mask:
        """What is at one of its bounds (n,)."""
        return np.asarray((self.mean <= self.low) | (self.mean >= self.high))

    @property
    def identifiable(self) -> dict[str, bool]:
        """Whether readings and priors together determine each scalar."""
        lost: Any = (self.null != 0.0).any(axis=0)
        return {name: not bool(x) for name, x in zip(self.names, lost, strict=True)}

    @property
    def untold(self) -> tuple[str, ...]:
        """Names of what the readings say nothing of: its prior variance is left."""
        known = np.diag(self._information) > 0.0
        size = np.where(known, np.sqrt(np.diag(self._information)), 1.0)
        prior = np.diag(linalg.pinvh(self._information / np.outer(size, size)))
        told = [bool(x) for x in known & (np.diag(self._covariance) * size**2 > UNTOLD * prior)]
        return tuple(name for name, lost in zip(self.names, told, strict=True) if lost)

    def nees(self, truth: Mapping[str, ArrayLike]) -> float:
        """Normalised estimation error squared, (mean - truth)^T C^-1 (mean - truth), of some unknowns or scalars.

        Under a right model it is chi-squared, with as many degrees of freedom as there are scalars. NaN where neither
        readings nor priors tell one of them.
        """
        if not isinstance(truth, Mapping) or not truth:
            raise InputError("truth", "a mapping of unknowns to their true values", describe(truth))
        rows, errors = [], []
        for key, value in truth.items():
            own = self._rows(key, "truth")
            true = np.atleast_1d(np.asarray(value, dtype=float))
            if true.shape != (len(own),) or not np.isfinite(true).all():
                raise InputError(f"truth.{key}", f"{len(own)} finite numbers", describe(value))
            rows += own
            errors += (self.mean[own] - true).tolist()
        if len(set(rows)) < len(rows):
            raise InputError("truth", "every scalar once", "one of them twice")
        C, e = self.covariance[np.ix_(rows, rows)], np.array(errors)
        if not np.isfinite(C).all():
            return float("nan")
        size = np.sqrt(np.diag(C))
        z = e / size
        return float(z @ linalg.solve(C / np.outer(size, size), z, assume_a="pos"))

    def _rows(self, key: object, where: str, kind: str | None = None) -> list[int]:
        """Rows of an unknown, of all its kinds or of one, or of one of its scalars."""
        if isinstance(key, tuple | Anchor):
            key = name_of(self.robot, key, where)
        at, rows = 0, list[int]()
        for one in self.unknowns:
            n = len(one.names)
            if key == one.key and kind in (None, one.kind):
                rows += range(at, at + n)
            at += n
        if rows:
            return rows
        if key in self.names:
            return [self.names.index(key)]
        known = (*(one.key for one in self.unknowns), *self.names)
        raise InputError(where, "the name of what was unknown", f"{key!r}", nearest(str(key), known))

    def force(self, name: Any, s: ArrayLike | None = None, kind: str | None = None) -> tuple[Array, Array]:
        """Mean and covariance of an unknown load, in world axes.

        Parameters
        ----------
        name : str, tuple or Anchor
            As it was given to `estimate`.
        s : float or (k,) array_like, optional
            Of a load along a rod: fractions of its length. Default: its resultant.
        kind : str, optional
            Which one, where several kinds were unknown there: "strain", "force per length" or another.

        Returns
        -------
        mean : (n,) or (k, n) ndarray
            Force [N] or moment [N m], of a wrench [moment; force]; along a rod per length.
        covariance : (n, n) or (k, n, n) ndarray
        """
        loads = [one for one in self.unknowns if one.kind in LOADS]
        name = name_of(self.robot, name, "name") if isinstance(name, tuple | Anchor) else name
        name = choice("name", name, tuple(dict.fromkeys(one.key for one in loads)))
        kinds = {one.kind: one for one in loads if one.key == name}
        if kind is None and len(kinds) > 1:
            raise InputError("kind", f"one of {', '.join(kinds)}, all unknown at '{name}'", "none")
        one = kinds[next(iter(kinds)) if kind is None else choice("kind", kind, tuple(kinds))]
        rows = self._rows(name, "name", one.kind)
        mean, C = self.mean[rows], self.covariance[np.ix_(rows, rows)]
        if one.functions is None:
            if s is not None:
                raise InputError("s", "a load along a rod", f"'{name}', a {one.kind}")
            return mean.copy(), C.copy()
        if s is None:
            rod: Any = next(link.rod for link in self.robot.description.links if link.name == one.key)
            values = float(rod.length) * one.functions.means[None]
        else:
            places = np.atleast_1d(np.asarray(s, dtype=float))
            if places.ndim != 1 or not ((places >= 0.0) & (places <= 1.0)).all():
                raise InputError("s", "fractions of the rod's length from 0 to 1", describe(s))
            values = one.functions.values(places)
        X = np.array([np.kron(np.eye(3), row) for row in values])
        means, covariances = X @ mean, X @ C @ X.transpose(0, 2, 1)
        return (means[0], covariances[0]) if s is None or np.ndim(s) == 0 else (means, covariances)

    # -- the shape ---------------------------------------------------------------------------------------------------

    def pose(self, link: Any, s: float | None = None) -> tuple[Array, Array]:
        """Mean pose (4, 4) of a place, and covariance (6, 6) of its twist in its own axes [rad, m].

        link : a place as `estimate` takes it; s : fraction of a rod's length.
        """
        place = place_of(self.robot, link if s is None else (link, s), "link")
        g, V = self.moved([place])
        return g[0], _with_infinities(self._covariance, V[0], self.null)

    def moved(self, places: Sequence[Any]) -> tuple[Array, Array]:
        """Poses (k, 4, 4) of places, and derivatives (k, 6, n) of their twists by what was unknown."""
        frames = LinkFrames(self.robot.description, self.robot.engine, places, "link")
        g, J = frames.jacobians(self.q)
        V = J @ self.q_by
        if self._numbers is not None:
            by, rows = self._numbers
            V[:, :, rows] += MovingFrames(by, frames).twists(self.q)
        return g, V

    @cached_property
    def _numbers(self) -> tuple[Sensitivities, list[int]] | None:
        """Derivatives by numbers of the file, and their rows."""
        paths = [one.key for one in self.unknowns if one.kind == FILE]
        return (Sensitivities(self.robot, paths), [self.names.index(path) for path in paths]) if paths else None

    @cached_property
    def q_covariance(self) -> Array:
        """Covariance (ndof, ndof) of the coordinates."""
        return _with_infinities(self._covariance, self.q_by, self.null)

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """The state as `sorosim.statics` finds it, of the robot with the unknown loads."""
        return statics(self.robot, self.u, driven=self.driven, q0=self.q, stable=False)

    def tip(self, link: str | None = None) -> Array:
        """Position (3,) of the tip of a link in the world [m]; default: the first of `Robot.outputs`."""
        return (self.robot.outputs.poses(self.q)[0] if link is None else self.robot.pose(self.q, link))[:3, 3]

    # -- how well it explains the readings -----------------------------------------------------------------------------

    @property
    def probability(self) -> float:
        """Probability that a right model leaves residuals as large as these, or larger."""
        return float(stats.chi2.sf(self.cost, self.dof)) if self.dof > 0 else 1.0

    @property
    def mismatch(self) -> str:
        """The same in words."""
        over = np.abs(np.concatenate(list(self.residuals.values()))) / self.noise
        worst = self.outputs[int(np.nanargmax(over))]
        return (
            f"residuals over their deviations have a sum of squares of {self.cost:.4g}, where {self.dof} are expected "
            f"(probability {self.probability:.2g}); the largest is that of '{worst}': a reading, a noise, a prior or "
            "the model is wrong, and bands are too narrow"
        )

    def summary(self) -> str:
        """A table of what was found, with its 95 % intervals; what is not told; how well the readings are explained."""
        told = self.interval()
        head = ("unknown", "expected", "estimate", "standard deviation", f"{100.0 * LEVEL:g} % interval", "unit")
        rows = [head] + [
            (name, f"{before:.4g}", f"{x:.5g}", f"{sd:.3g}", f"{told[name][0]:.4g} to {told[name][1]:.4g}", unit)
            for (name, x), before, sd, unit in zip(
                self.values.items(), self.expected, self.standard_deviations.values(), self.units, strict=True
            )
        ]  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        if lost := [name for name, known in self.identifiable.items() if not known]:
            lines.append(f"neither readings nor priors tell {', '.join(lost)}")
        if self.untold:
            lines.append(f"readings tell nothing of {', '.join(self.untold)}, which are as expected")
        if bound := [name for name, there in zip(self.names, self.at_bound, strict=True) if there]:
            lines.append(f"at a bound, where their intervals end: {', '.join(bound)}")
        if not self.stable:
            lines.append("the equilibrium is unstable: a robot does not stay there")
        lines.append(
            f"{len(self.outputs)} readings; sum of squared residuals over their deviations {self.cost:.4g}, "
            f"expected {self.dof} (probability {self.probability:.2g})"
        )
        return "\n".join([*lines, *([self.message] if self.message else [])])

    def __repr__(self) -> str:
        return f"<Estimate of '{self.robot.name}': {len(self.names)} unknowns from {len(self.outputs)} readings>"


def _with_infinities(C: Array, X: Array, null: Array) -> Array:
    """X C X^T, infinite and NaN in rows that null directions reach."""
    out = X @ C @ X.T
    if len(null):
        moved = np.abs(X @ null.T)
        reached = (moved > SHARE * np.abs(X) @ np.abs(null.T)).any(axis=1) & (moved > 0.0).any(axis=1)
        out[reached], out[:, reached] = np.nan, np.nan
        out[reached, reached] = np.inf
    return np.asarray(out)
