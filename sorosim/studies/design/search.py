"""The search for the best numbers: SLSQP or trust-constr of SciPy, in scaled numbers, back from trials that fail."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, InputError, SorosimError
from sorosim.studies.design.problem import Function, Limit, Problem, Trial

# scaled violations up to this are none, and limits so near are active
FEASIBLE, ACTIVE = 1e-6, 1e-4
# of the objective over its size: when a search ends, and the gradient that may be left
FTOL, STATIONARY = 1e-10, 1e-3
# least size of the objective, over its gradient by the scaled numbers: it may be zero at the start
LEAST = 1e-2
# that at the start, when a design is judged: the objective may vanish where it is best, and its gradient with it
PART = 0.1
# what a trial that fails counts, in sizes of the objective: more than any step gains
FAILED = 1e3
# searches from where the last one ended, whose Hessian is forgotten, until nothing is gained
ROUNDS = 10
SPENT = "max_evaluations are spent"
# an iterate so near to a trial that failed, in scaled numbers, is at an edge
NEAR_EDGE = 1e-3
# trials that are kept, whose values a search may ask for again
KEPT = 8
METHODS = ("slsqp", "trust-constr")


_minimize: Any = optimize.minimize  # its types know no functions of arrays of any shape


class _Stopped(Exception):
    """The search ends where it is."""


class Step(NamedTuple):
    """An iterate."""

    p: Array
    objective: float
    violation: float


class Row(NamedTuple):
    """A constraint as c >= 0, or c = 0."""

    limit: Limit
    sign: float  # +1: above the low one; -1: below the high one
    equal: bool
    scale: float
    function: Function

    @property
    def bound(self) -> float:
        """The number it is compared with."""
        return self.limit.low if self.sign > 0.0 else self.limit.high


class Kkt(NamedTuple):
    """Conditions of a constrained optimum (Nocedal and Wright, Numerical Optimization, 12.3)."""

    active: tuple[str, ...]
    multipliers: dict[str, float]  # change of the objective with a limit [SI]
    residual: float  # of the scaled gradient that no limit balances


@dataclass(eq=False)
class Search:
    """One objective under constraints.

    Parameters
    ----------
    problem : Problem
    objective : Function
    sign : float
        -1: greatest.
    limits : sequence of Limit
    method : str
        One of `METHODS`.
    budget : list of int
        Trials that are left; shared by searches.
    """

    problem: Problem
    objective: Function
    sign: float
    limits: Sequence[Limit]
    method: str
    budget: list[int]
    tolerance: float = FTOL
    trials: dict[bytes, Trial | None] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    edges: dict[int, tuple[float, float]] = field(default_factory=dict)  # number: where in z, and towards where
    _failed: list[Array] = field(default_factory=list)
    _last: Trial | None = None  # the last one with derivatives
    _best: Trial | None = None

    # -- scaled numbers ----------------------------------------------------------------------------------------------

    @cached_property
    def given_bounds(self) -> tuple[Array, Array]:
        """Bounds of z."""
        unknowns = [one.unknown for one in self.problem.free]
        low = [one.z(one.low) if np.isfinite(one.low) else -np.inf for one in unknowns]
        return np.array(low), np.array([one.z(one.high) if np.isfinite(one.high) else np.inf for one in unknowns])

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Bounds of z, and edges where one number alone leads to trials that fail."""
        low, high = (x.copy() for x in self.given_bounds)
        for i, (z, side) in self.edges.items():
            (high if side > 0.0 else low)[i] = z
        return low, high

    def p(self, z: Array) -> Array:
        """The numbers themselves."""
        return np.array([one.unknown.at(x) for one, x in zip(self.problem.free, z, strict=True)])

    def z(self, p: Array) -> Array:
        """Where they are searched."""
        return np.array([one.unknown.z(float(x)) for one, x in zip(self.problem.free, p, strict=True)])

    def _steepness(self, trial: Trial) -> Array:
        """Derivatives of the numbers by z."""
        return np.array([one.unknown.slope(float(x)) for one, x in zip(self.problem.free, trial.p, strict=True)])

    # -- trials ------------------------------------------------------------------------------------------------------

    def begin(self, p: Array) -> Trial:
        """The first trial, by which objective and constraints are scaled; its errors are those of `Problem.trial`."""
        problem = self.problem
        trial = problem.first if np.array_equal(p, problem.first_p) else problem.trial(p)
        self.budget[0] -= 1
        self.scale_by(trial)
        self._checked(trial)
        self.note(self.z(p))
        return trial

    def scale_by(self, trial: Trial) -> None:
        """Scale the objective by what it is in a trial, constraints by their limits."""
        self.trials[np.clip(self.z(trial.p), *self.bounds).tobytes()] = trial
        self._last = trial
        value = self.objective.value(trial)
        gradient = self.slope(trial, self.objective)
        self.size = max(abs(value), LEAST * float(np.abs(gradient).max(initial=0.0))) or 1.0
        rows = []
        for one in self.limits:
            function = self.problem.function(one.name, "subject_to")
            scale = self.problem.size(one, function)
            if one.low == one.high:
                rows.append(Row(one, 1.0, True, scale, function))
                continue
            ends = ((1.0, one.low), (-1.0, one.high))
            rows += [Row(one, sign, False, scale, function) for sign, end in ends if np.isfinite(end)]
        self.rows = rows

    def _checked(self, trial: Trial) -> None:
        """Refuse quantities that are no numbers."""
        for name, one in [("objective", self.objective), *((row.limit.name, row.function) for row in self.rows)]:
            if not np.isfinite(one.value(trial)):
                raise ConvergenceError(f"'{name}' is not finite")

    def at(self, z: Array) -> Trial | None:
        """The trial at z; None where it fails."""
        z = np.clip(z, *self.bounds)
        key = z.tobytes()
        if key not in self.trials:
            if self.budget[0] <= 0:
                raise _Stopped(SPENT)
            self.budget[0] -= 1
            try:
                trial = self.problem.trial(self.p(z), self._last)
                self._checked(trial)
                self.trials[key] = trial
                if self._best is None or self.better(trial, self._best):
                    self._best = trial
                self._forget()
            except SorosimError as error:
                self.trials[key] = None
                self._failed.append(z)
                self.failures.append(" ".join(str(error).split()))
        return self.trials[key]

    def _forget(self) -> None:
        """Let go of all but the last trials: robots are large."""
        found = [key for key, trial in self.trials.items() if trial is not None]
        for key in found[:-KEPT]:
            if self.trials[key] is not self._last:
                del self.trials[key]

    def slope(self, trial: Trial, function: Function) -> Array:
        """Derivatives of a function by z."""
        if function not in trial.slopes:
            trial.slopes[function] = function.slope(trial)
            self._last = trial
        return np.asarray(trial.slopes[function] * self._steepness(trial))

    # -- functions of z ----------------------------------------------------------------------------------------------

    def value(self, z: Array) -> float:
        """The scaled objective; of a trial that fails more than that of the last iterate."""
        trial = self.at(z)
        if trial is None:
            assert self._last is not None
            before = self.sign * self.objective.value(self._last) / self.size
            return before + FAILED * max(1.0, abs(before))
        return self.sign * self.objective.value(trial) / self.size

    def gradient(self, z: Array) -> Array:
        """Its derivatives."""
        return self.sign * self.slope(self._accepted(z), self.objective) / self.size

    def constraints(self, z: Array, equal: bool) -> Array:
        """Scaled constraints; where a trial fails those of the last iterate."""
        trial = self.at(z) or self._last
        assert trial is not None
        return np.array([self._of(row, trial) for row in self.rows if row.equal == equal])

    def jacobian(self, z: Array, equal: bool) -> Array:
        """Their derivatives."""
        trial = self._accepted(z)
        own = [row for row in self.rows if row.equal == equal]
        found = [row.sign * self.slope(trial, row.function) / row.scale for row in own]
        return np.array(found).reshape(len(own), len(z))

    def _accepted(self, z: Array) -> Trial:
        """The trial of an iterate."""
        trial = self.at(z)
        if trial is None and self.method == "trust-constr":  # it asks before it turns a step down, for its value
            trial = self._last
        if trial is None:
            raise _Stopped(f"trials beyond the last iterate fail: {self.failures[-1]}")
        try:
            for k in (k for k, own in enumerate(self.problem.columns) if own):
                trial.changes(k)
        except InputError as error:  # at a fold, say
            raise _Stopped(f"no derivatives at the last iterate: {error}") from None
        return trial

    @staticmethod
    def _of(row: Row, trial: Trial) -> float:
        return row.sign * (row.function.value(trial) - row.bound) / row.scale

    def violations(self, trial: Trial) -> Array:
        """Scaled violations of the constraints."""
        c = np.array([self._of(row, trial) for row in self.rows])
        equal = np.array([row.equal for row in self.rows], dtype=bool)
        return np.asarray(np.where(equal, np.abs(c), np.maximum(-c, 0.0)))

    def violation(self, trial: Trial) -> float:
        """The largest of them."""
        return float(self.violations(trial).max(initial=0.0))

    def better(self, one: Trial | None, other: Trial) -> bool:
        """Whether a trial is better than another one: the constraints count first."""
        if one is None:
            return False
        a, b = (max(self.violation(trial), FEASIBLE) for trial in (one, other))
        return a < b or (a == b and self.sign * self.objective.value(one) < self.sign * self.objective.value(other))

    # -- searches ----------------------------------------------------------------------------------------------------

    def run(self, start: Array) -> tuple[Trial, str]:
        """The best trial from a start, which `begin` has tried, and how the search ended."""
        best, message = self._search(start)
        if self.violation(best) > FEASIBLE:
            nearest = self._least_violation(best)
            if self.better(nearest, best):
                best = nearest
            if self.violation(nearest) <= FEASIBLE:
                found, message = self._search(nearest.p)
                best = found if self.better(found, best) else best
        return best, message

    def _search(self, start: Array) -> tuple[Trial, str]:
        """Searches from where the last one ended, as long as they gain."""
        z, best, message = self.z(start), self._best_at(start), ""
        for _ in range(ROUNDS):
            try:
                solve = _slsqp if self.method == "slsqp" else _trust_constr
                z, message = solve(self, np.clip(z, *self.bounds))
            except _Stopped as stop:
                message = str(stop)
            before = best
            best = self._best if self._best is not None and self.better(self._best, best) else best
            z = self.z(best.p)
            known, self.edges = self.edges, {}
            try:
                self._find_edges(z)
            except _Stopped:
                break
            gained = self.sign * (self.objective.value(before) - self.objective.value(best)) / self.size
            eased = self.violation(before) - self.violation(best)
            further = best is not before and (gained > 1e2 * self.tolerance or eased > FEASIBLE)
            if not (further or set(self.edges) - set(known)) or self.budget[0] <= 0:
                break
        return best, message

    def _find_edges(self, z: Array) -> None:
        """Numbers that alone lead from z towards the nearest trial that failed to one that fails, too."""
        if not self._failed:
            return
        d = min((z_failed - z for z_failed in self._failed), key=lambda d: float(np.linalg.norm(d)))
        reach = float(np.abs(d).max(initial=0.0))
        if reach > NEAR_EDGE:  # steps there were too long, no more
            return
        for i in np.flatnonzero(np.abs(d) > 1e-3 * reach):
            if self.at(z + np.where(np.arange(len(z)) == i, d, 0.0)) is None:
                self.edges[int(i)] = float(z[i]), float(np.sign(d[i]))

    def _best_at(self, start: Array) -> Trial:
        found = self.at(self.z(start))
        assert found is not None  # it was begun there
        return found

    def _least_violation(self, trial: Trial) -> Trial:
        """Where the sum of squares of violations is least, near a trial."""

        def value(found: Trial) -> float:
            return 0.5 * float(np.sum(self.violations(found) ** 2))

        def slope(found: Trial) -> Array:
            out = np.zeros(len(found.p))
            for row, violation in zip(self.rows, self.violations(found), strict=True):
                if violation > 0.0:
                    c = self._of(row, found)
                    out += c * row.sign * row.function.slope(found) / row.scale
            return out

        inner = Search(self.problem, Function("", "number", value, slope), 1.0, (), "slsqp", self.budget)
        inner.begin(trial.p)
        inner.size = 1.0
        return inner._search(trial.p)[0]

    # -- conditions of the optimum -----------------------------------------------------------------------------------

    def conditions(self, trial: Trial) -> Kkt:
        """Active limits and their multipliers, by least squares with signs."""
        z, (low, high), n = self.z(trial.p), self.given_bounds, len(trial.p)
        columns, names, scales, signs = [], [], [], []
        for i, one in enumerate(self.problem.free):
            for sign, end in ((1.0, low[i]), (-1.0, high[i])):
                if abs(z[i] - end) <= ACTIVE:
                    columns.append(sign * np.eye(n)[i])
                    names.append(one.name)
                    scales.append(sign / one.unknown.slope(float(trial.p[i])))
                    signs.append(0.0)
        for i, (_, side) in self.edges.items():
            columns.append(-side * np.eye(n)[i])
            names.append(f"edge of {self.problem.free[i].name}")
            scales.append(-side / self.problem.free[i].unknown.slope(float(trial.p[i])))
            signs.append(0.0)
        for row in self.rows:
            if row.equal or self._of(row, trial) <= ACTIVE:
                columns.append(row.sign * self.slope(trial, row.function) / row.scale)
                names.append(row.limit.name)
                scales.append(row.sign / row.scale)
                signs.append(-np.inf if row.equal else 0.0)
        gradient = self.sign * self.slope(trial, self.objective) / self.size
        size = max(1.0, float(np.abs(gradient).max(initial=0.0)))
        if not columns:
            return Kkt((), {}, float(np.abs(gradient).max(initial=0.0)) / size)
        A = np.stack(columns, axis=1)
        found = optimize.lsq_linear(A, gradient, (np.array(signs), np.inf), method="bvls", tol=1e-14)
        left = float(np.abs(A @ found.x - gradient).max()) / size
        change = self.sign * self.size * found.x * np.array(scales)
        multipliers: dict[str, float] = {}
        for name, pull, x in zip(names, np.abs(found.x) * np.linalg.norm(A, axis=0), change, strict=True):
            if pull > FEASIBLE * size:
                multipliers[name] = multipliers.get(name, 0.0) + float(x)
        return Kkt(tuple(multipliers), multipliers, left)

    def note(self, z: Array) -> None:
        """Keep an iterate."""
        trial = self.at(z)
        if trial is not None and not (self.steps and np.array_equal(self.steps[-1].p, trial.p)):
            self.steps.append(Step(trial.p, self.objective.value(trial), self.violation(trial)))


def _slsqp(search: Search, z0: Array) -> tuple[Array, str]:
    """Sequential least squares (Kraft 1988): its line search shortens steps to trials that fail."""
    constraints: list[Any] = [
        {"type": kind, "fun": search.constraints, "jac": search.jacobian, "args": (equal,)}
        for kind, equal in (("eq", True), ("ineq", False)) if any(row.equal == equal for row in search.rows)
    ]  # fmt: skip
    found = _minimize(
        search.value, z0, jac=search.gradient, method="SLSQP", bounds=optimize.Bounds(*search.bounds),
        constraints=constraints, callback=search.note, options={"ftol": search.tolerance, "maxiter": 500},
    )  # fmt: skip
    return found.x, str(found.message)


def _trust_constr(search: Search, z0: Array) -> tuple[Array, str]:
    """Interior point in a trust region (Byrd, Hribar, Nocedal 1999), which shrinks where trials fail."""
    constraints = [
        optimize.NonlinearConstraint(
            partial(search.constraints, equal=equal), 0.0, 0.0 if equal else np.inf,
            jac=partial(search.jacobian, equal=equal), hess=optimize.BFGS(),
        )
        for equal in (True, False) if any(row.equal == equal for row in search.rows)
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "delta_grad == 0.0")  # of a step that failed, or linear functions
        found = _minimize(
            search.value, z0, jac=search.gradient, method="trust-constr", hess=optimize.BFGS(),
            bounds=optimize.Bounds(*search.bounds, keep_feasible=True), constraints=constraints,
            callback=lambda z, _: search.note(z),
            # it ends at the first barrier at which gradients balance, however high
            options={"gtol": 1e-8, "xtol": 1e-12, "maxiter": 1000, "initial_barrier_parameter": 1e-8,
                     "initial_barrier_tolerance": 1e-8, "barrier_tol": 1e-8},
        )  # fmt: skip
    return found.x, str(found.message)
