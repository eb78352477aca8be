"""Least squares and their statistics: robust losses, scale of the noise, covariance, null space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, optimize, stats

from sorosim.base.arrays import Array, Mask
from sorosim.base.errors import SorosimError
from sorosim.base.validation import counted
from sorosim.studies.fitting.model import Model, Trial
from sorosim.studies.fitting.unknowns import values_of

# of the search: relative changes of cost and unknowns; such costs are a thousandth of a standard error away
FTOL, XTOL = 1e-8, 1e-10
# the scale of the noise and the fit are found in turns, until the scale changes by less than this part
ROUNDS, SETTLED = 20, 1e-3
# singular values below this part of the largest one, columns having unit length, are rounding; a direction along which
# the standard error is more than this, in units of the unknowns' scale or of a factor e, is lost in the noise
RANK, WIDE = 1e-7, 3.0
# columns shorter than this part of the longest are rounding; what holds directions that are not identified, likewise
NEGLIGIBLE, RIDGE = 1e-10, 1e-6
# parts of a null direction that are named
SHARE = 1e-3
MAD = 1.0 / stats.norm.ppf(0.75)  # of a normal distribution: its deviation over the median of absolute values

# (rho, rho', rho'') of z, squares over that of the constant beyond which residuals count less
Loss = Callable[[Array], tuple[Array, Array, Array]]


def _huber(z: Array) -> tuple[Array, Array, Array]:
    far, near = np.maximum(z, 1.0), z <= 1.0
    value, first = np.where(near, z, 2.0 * np.sqrt(far) - 1.0), np.where(near, 1.0, far**-0.5)
    return value, first, np.where(near, 0.0, -0.5 * far**-1.5)


LOSSES: dict[str, tuple[float, Loss]] = {
    "linear": (1.0, lambda z: (z, np.ones_like(z), np.zeros_like(z))),
    "soft_l1": (1.345, lambda z: (2.0 * (np.sqrt(1.0 + z) - 1.0), (1.0 + z) ** -0.5, -0.5 * (1.0 + z) ** -1.5)),
    "huber": (1.345, _huber),
    "cauchy": (2.385, lambda z: (np.log1p(z), 1.0 / (1.0 + z), -1.0 / (1.0 + z) ** 2)),
}


class Inefficiency(NamedTuple):
    """What a robust loss does to the statistics of least squares (Huber, Robust Statistics, 1981, 7.6); 1 without."""

    covariance: float  # (J^T J)^-1 times this is the covariance
    deviance: float  # excess of the cost over this is that of least squares


@dataclass
class Problem:
    """Residuals of a model, each over its standard deviation, and those of priors behind them."""

    model: Model
    sd: tuple[Array, ...]  # of each of the data (n_outputs,)
    priors: Sequence[tuple[int, float, float]]  # unknown, mean, standard deviation
    loss: str
    known: bool  # whether the standard deviations are, or only their ratios
    failures: int = 0
    reason: str = ""
    _last: tuple[bytes, Trial | None] = (b"", None)
    _last_by: tuple[bytes, Array] = (b"", np.zeros(0))

    def __post_init__(self) -> None:
        pairs = zip(self.model.data, self.sd, self.model.valid, strict=True)
        self.measured = [np.where(valid, bound.values, 0.0) for bound, _, valid in pairs]
        self.n = int(sum(valid.sum() for valid in self.model.valid))

    def trial(self, z: Array) -> Trial:
        """The robot at z; refused as `Model.at` does."""
        key = z.tobytes()
        if self._last[0] != key or self._last[1] is None:
            self._last = key, self.model.at(values_of(self.model.unknowns, z))
        trial = self._last[1]
        assert trial is not None
        return trial

    def residuals(self, trial: Trial) -> Array:
        """(n,) simulated less measured, over their standard deviations."""
        rows = zip(trial.simulated, self.measured, self.sd, self.model.valid, strict=True)
        return np.concatenate([((x - y) / sd)[valid] for x, y, sd, valid in rows])

    def jacobian(self, z: Array) -> Array:
        """(n, n_unknowns) their derivatives by z."""
        if self._last_by[0] == (key := z.tobytes()):
            return self._last_by[1]
        trial = self.trial(z)
        rows = zip(self.model.jacobian(trial), self.sd, self.model.valid, strict=True)
        slopes = np.array([one.slope(p) for one, p in zip(self.model.unknowns, trial.p, strict=True)])
        self._last_by = key, np.concatenate([(x / sd[:, None])[valid] for x, sd, valid in rows]) * slopes
        return self._last_by[1]

    def prior_rows(self, z: Array) -> tuple[Array, Array]:
        """Residuals of the priors, and their derivatives by z."""
        unknowns, rows, by = self.model.unknowns, np.zeros(len(self.priors)), np.zeros((len(self.priors), len(z)))
        for k, (i, mean, sd) in enumerate(self.priors):
            p = unknowns[i].at(z[i])
            rows[k], by[k, i] = (p - mean) / sd, unknowns[i].slope(p) / sd
        return rows, by

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Least and greatest z (n_unknowns,)."""
        low, high = zip(*((one.z(one.low), one.z(one.high)) for one in self.model.unknowns), strict=True)
        return np.array(low), np.array(high)

    def minimise(
        self, z: Array, scale: float, max_evaluations: int, free: Mask | None = None, ftol: float = FTOL
    ) -> Any:
        """Least squares from a start, noise of this scale assumed; only `free` unknowns change."""
        chosen = np.ones(len(z), dtype=bool) if free is None else free
        low, high = self.bounds
        n, (constant, loss) = self.n, LOSSES[self.loss]

        # without it unknowns of which only a product is identified would drift far
        norm = np.linalg.norm(self.jacobian(z)[:, chosen], axis=0) / scale
        ridge = RIDGE * np.maximum(norm, RIDGE * norm.max(initial=0.0) or 1.0)

        def whole(x: Array) -> Array:
            out = z.copy()
            out[chosen] = x
            return out

        def rows(x: Array) -> Array:
            here = whole(x)
            try:
                trial = self.trial(here)
            except SorosimError as error:  # least_squares then takes a shorter step
                self.failures, self.reason = self.failures + 1, " ".join(str(error).split())
                return np.full(n + len(self.priors) + len(x), np.nan)
            return np.concatenate([self.residuals(trial) / scale, self.prior_rows(here)[0], ridge * (x - z[chosen])])

        def by(x: Array) -> Array:
            here = whole(x)
            rows_by = np.vstack([self.jacobian(here) / scale, self.prior_rows(here)[1]])[:, chosen]
            rows_by[:, np.isinf(_column_norms(rows_by))] = 0.0
            return np.vstack([rows_by, np.diag(ridge)])

        def rho(squares: Array) -> Array:
            of_data = loss(squares[:n] / constant**2)
            # neither priors nor the ridge is robust
            out = np.array([squares, np.ones_like(squares), np.zeros_like(squares)])
            out[:, :n] = constant**2 * of_data[0], of_data[1], of_data[2] / constant**2
            return out

        robust: Any = "linear" if self.loss == "linear" else rho
        return optimize.least_squares(
            rows, z[chosen], by, (low[chosen], high[chosen]), xtol=XTOL, ftol=ftol, gtol=None, x_scale="jac",
            loss=robust, max_nfev=max_evaluations,
        )  # fmt: skip

    def scale_of(self, r: Array, dof: float) -> float:
        """Scale of the noise from residuals over their standard deviations."""
        if self.loss == "linear":
            return float(np.sqrt(r @ r / max(dof, 1e-9)))
        return float(MAD * np.median(np.abs(r)) * np.sqrt(self.n / max(dof, 1e-9)))

    def cost(self, r: Array) -> float:
        """What is minimal, of residuals over the scale of the noise: twice least_squares' own."""
        constant, loss = LOSSES[self.loss]
        return float(constant**2 * loss((r / constant) ** 2)[0].sum())

    def inefficiency(self, r: Array, dof: float) -> Inefficiency:
        """That of the loss, from residuals over the scale of the noise."""
        if self.loss == "linear":
            return Inefficiency(1.0, 1.0)
        constant, loss = LOSSES[self.loss]
        z = (r / constant) ** 2
        _, first, second = loss(z)
        free = dof if np.isfinite(dof) else len(r)
        square, slope = len(r) / free * np.mean((first * r) ** 2), np.mean(first + 2.0 * z * second)
        return Inefficiency(float(square / slope**2), float(square / slope))


@dataclass(frozen=True)
class Estimate:
    """Where a search ended, and how sure that is."""

    z: Array  # (n_unknowns,)
    trial: Trial
    scale: float  # of the noise, over the given standard deviations
    dof: float  # degrees of freedom of that scale; infinite where the noise is known
    covariance: Array  # (n_unknowns, n_unknowns) of z; infinite and NaN where something is not identified
    null: Array  # (n_null, n_unknowns) directions of z that are not identified, each with the largest entry 1
    cost: float
    message: str
    converged: bool


def estimate(problem: Problem, z0: Array, max_evaluations: int) -> Estimate:
    """Fit from a start; the scale of the noise is found on the way where it is not known.

    Raises
    ------
    ConvergenceError
        There is no equilibrium at the start, or no motion.
    """
    problem.failures, problem.reason, size = 0, "", len(z0)
    r, z, found = problem.residuals(problem.trial(z0)), z0, None
    scale = 1.0 if problem.known else problem.scale_of(r, problem.n) or 1.0
    evaluations, p_data = 0, float(size)
    # least squares without priors have the same minimum at any scale
    rounds = 1 if problem.known or (problem.loss == "linear" and not problem.priors) else ROUNDS
    for _ in range(rounds):
        found = problem.minimise(z, scale, max_evaluations)
        z, evaluations, before = found.x, evaluations + found.nfev, scale
        r = problem.residuals(problem.trial(z))
        J, P = problem.jacobian(z), problem.prior_rows(z)[1]
        if problem.known:
            break
        p_data = _parameters(J / scale, P)
        scale = max(problem.scale_of(r, problem.n - p_data), float(np.finfo(float).tiny) ** 0.5)
        if abs(scale - before) <= SETTLED * scale:
            break
    assert found is not None
    dof = np.inf if problem.known else problem.n - p_data
    J = J / (scale * np.sqrt(problem.inefficiency(r / scale, dof).covariance))
    covariance, null = _covariance(np.vstack([J, P]))
    message = f"{found.message.rstrip('.')} after {evaluations} evaluations"
    if problem.failures:
        trials = counted(problem.failures, "trial")
        message += f"; {trials} had no solution, where the step was shortened: {problem.reason}"
    trial = problem.trial(z)
    prior = problem.prior_rows(z)[0]
    return Estimate(
        z, trial, scale, float(dof), covariance, null, problem.cost(r / scale) + float(prior @ prior), message,
        found.status > 0,
    )  # fmt: skip


def best_of(problem: Problem, starts: Sequence[Array], max_evaluations: int) -> Estimate:
    """The best of several starts; those from which none is found do not count, but for the first."""
    first = estimate(problem, starts[0], max_evaluations)
    found = [first]
    for z0 in starts[1:]:
        try:
            found.append(estimate(problem, z0, max_evaluations))
        except SorosimError:
            continue
    return min(found, key=lambda one: one.cost if problem.known else one.scale)


def _parameters(J: Array, P: Array) -> float:
    """How many parameters the data determine, the priors the rest: the trace of the data's hat matrix."""
    norm = _column_norms(np.vstack([J, P]))
    U, s, _ = linalg.svd(np.vstack([J, P]) / norm, full_matrices=False)
    return float((U[: len(J), s > RANK * s[0]] ** 2).sum())


def _column_norms(J: Array) -> Array:
    """Lengths of columns, infinite where they are rounding."""
    norm = np.linalg.norm(J, axis=0)
    return np.where(norm <= NEGLIGIBLE * norm.max(initial=0.0), np.inf, norm)


def _covariance(J: Array) -> tuple[Array, Array]:
    """Covariance of the unknowns, and the directions that are not identified, of rows over their deviations."""
    n, norm = J.shape[1], _column_norms(J)
    square = np.vstack([J / norm, np.zeros((max(n - len(J), 0), n))])
    square[:, np.isinf(norm)] = 0.0
    norm[np.isinf(norm)] = 1.0
    _, s, Vt = linalg.svd(square, full_matrices=False)
    W = Vt / norm  # directions of the unknowns
    rounding = s <= RANK * max(s[0], np.finfo(float).tiny)
    covariance = (W[~rounding].T / s[~rounding] ** 2) @ W[~rounding]
    variances, V = linalg.eigh(covariance)
    wide = variances > WIDE**2
    covariance -= (V[:, wide] * variances[wide]) @ V[:, wide].T
    directions = W[rounding] / np.linalg.norm(W[rounding], axis=1)[:, None]
    null = _sparse(np.vstack([directions, V[:, wide].T]))
    hidden = (np.abs(null) > SHARE).any(axis=0)
    covariance[hidden], covariance[:, hidden] = np.nan, np.nan
    covariance[hidden, hidden] = np.inf
    return covariance, null


def _sparse(null: Array) -> Array:
    """A basis of the same space with many zeros, each vector with the largest entry 1."""
    if len(null) > 1:
        pivots = linalg.qr(null, pivoting=True)[2][: len(null)]
        null = np.asarray(np.linalg.solve(null[:, pivots], null), dtype=float)
    largest = [row[np.argmax(np.abs(row))] for row in null]
    scaled = null / np.array(largest)[:, None] if len(null) else null
    return np.where(np.abs(scaled) > SHARE, scaled, 0.0)
