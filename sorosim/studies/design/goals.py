"""What a design is asked for, and the searches that answer: for one objective, or for a Pareto front of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, InputError, SorosimError
from sorosim.base.validation import counted, describe
from sorosim.studies.design.problem import Function, Limit, Problem, Trial
from sorosim.studies.design.search import FEASIBLE, SPENT, Search, Step
from sorosim.studies.fitting.fit import NEAR, SPREAD

# of a value: what it changes by in a scale of a number that has no effect, by rounding of derivatives, of solutions
NOTHING, UNCHANGED = 1e-10, 1e-9
OBJECTIVE = "objective"
OBJECTIVES = (OBJECTIVE, f"{OBJECTIVE}_1", f"{OBJECTIVE}_2")


class Goal(NamedTuple):
    """What is made least, or with sign -1 greatest."""

    name: str
    sign: float
    function: Function

    @property
    def words(self) -> str:
        """It in words."""
        return f"{'least' if self.sign > 0.0 else 'greatest'} {self.name}"


class Front(NamedTuple):
    """Designs of which none is better in both objectives than another one, from the best of the first on."""

    objectives: Array  # (n, 2) [SI]
    values: Array  # (n, n_free) [SI]


class Pareto(NamedTuple):
    """A front, and the point of it that is nearest to both best values; without one what meets the constraints best."""

    trial: Trial
    message: str
    steps: tuple[Step, ...] = ()
    front: Front | None = None


class Found(NamedTuple):
    """The end of a search."""

    search: Search
    trial: Trial
    message: str


@dataclass(eq=False)
class NonlinearProgram:
    """Objectives and constraints of a design, from its arguments."""

    cases: Any
    free: Any
    minimise: Any
    subject_to: Any
    bounds: Any
    define: Any

    def __post_init__(self) -> None:
        for name in ("subject_to", "bounds"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, Mapping):
                raise InputError(name, "a mapping of names to pairs of numbers", describe(given))
        several = not isinstance(self.minimise, str | Mapping)
        given = self.minimise if several else [self.minimise]
        if not isinstance(given, Sequence) or len(given) not in (1, 2):
            raise InputError("minimise", "the name of a quantity, weights by names, or two of these", describe(given))
        sums = {f"{OBJECTIVE}_{k + 1}" if several else OBJECTIVE: {"sum": dict(one)} for k, one in enumerate(given)
                if isinstance(one, Mapping)}  # fmt: skip
        self.problem = Problem.of(self.cases, self.free, self.bounds, {**(self.define or {}), **sums})
        names = iter(sums)
        self.goals = [self._goal(next(names) if isinstance(one, Mapping) else one) for one in given]
        if len({goal.name for goal in self.goals}) < len(self.goals):
            raise InputError("minimise", "two quantities", f"'{self.goals[0].name}' twice")
        self.limits = [self.problem.limit(name, pair) for name, pair in (self.subject_to or {}).items()]
        _ = self.problem.by_differences  # numbers without derivatives are refused

    def _goal(self, name: object) -> Goal:
        if not isinstance(name, str):
            raise InputError("minimise", "the name of a quantity", describe(name))
        text = name.strip()
        bare = text.removeprefix("-").strip()
        return Goal(bare, -1.0 if text.startswith("-") else 1.0, self.problem.function(bare, "minimise"))

    def without_effect(self, trial: Trial) -> list[str]:
        """Names of free numbers that change neither objectives nor constraints of a trial."""
        names = [goal.name for goal in self.goals] + [limit.name for limit in self.limits]
        functions = [self.problem.function(name, "") for name in names]
        at = (self.problem.first, trial)
        values = [[one.value(near) for one in functions] for near in at]
        steep = [np.array([one.slope(near) for one in functions]) for near in at]
        out = []
        for i, one in enumerate(self.problem.free):
            size = one.unknown.slope(float(trial.p[i]))
            if any((np.abs(d[:, i] * size) > NOTHING * np.abs(x)).any() for d, x in zip(steep, values, strict=True)):
                continue
            moved = trial.p.copy()  # by a tenth: where derivatives vanish, as by symmetry, the number may still count
            moved[i] = one.unknown.at(one.unknown.z(trial.p[i]) + (0.1 if trial.p[i] < one.unknown.high else -0.1))
            try:
                near = self.problem.trial(moved, trial)
                if np.allclose([f.value(near) for f in functions], values[1], rtol=UNCHANGED, atol=0.0):
                    out.append(one.name)
            except SorosimError:  # it decides what there is
                continue
        return out

    def starts(self, n: int) -> list[Array]:
        """Starts: the robots as they are, then points of a Halton sequence between the bounds."""
        unknowns = [one.unknown for one in self.problem.free]
        first = np.array([one.value for one in unknowns])
        if n == 1:
            return [first]
        far = [np.log(SPREAD) if one.logarithm else NEAR for one in unknowns]
        low, high = (
            np.array([one.z(end) if np.isfinite(end) and not (one.logarithm and end == 0.0) else 1.0 + sign * x
                      for one, x, end in zip(unknowns, far, ends, strict=True)])
            for sign, ends in ((-1.0, [one.low for one in unknowns]), (1.0, [one.high for one in unknowns]))
        )  # fmt: skip
        z = low + stats.qmc.Halton(len(unknowns), scramble=False).random(n)[1:] * (high - low)
        return [first, *(np.array([one.at(x) for one, x in zip(unknowns, row, strict=True)]) for row in z)]

    def best(
        self, goal: Goal, limits: Sequence[Limit], starts: Sequence[Array], budget: list[int], options: dict[str, Any]
    ) -> Found:
        """The best of searches from several starts; the first start may not fail."""
        best: Found | None = None
        skipped = 0
        for k, start in enumerate(starts):
            search = Search(self.problem, goal.function, goal.sign, limits, budget=budget, **options)
            try:
                search.begin(start)
            except SorosimError as error:
                if k:
                    skipped += 1
                    continue
                if isinstance(error, ConvergenceError):
                    raise ConvergenceError(f"design, at the start: {error}", error.partial, error.report) from None
                raise
            trial, message = search.run(start)
            if best is None or search.better(trial, best.trial):
                best = Found(search, trial, message)
            if budget[0] <= 0:
                break
        assert best is not None  # the first start was searched
        notes = [best.message, goal.words]
        if best.search.edges:
            names = [self.problem.free[i].name for i in best.search.edges]
            notes.append(f"at an edge, beyond which trials fail: {', '.join(names)}; bounds there save them")
        if best.search.failures:
            notes.append(
                f"{counted(len(best.search.failures), 'trial')} failed, the last one: {best.search.failures[-1]}"
            )
        if skipped:
            notes.append(f"{counted(skipped, 'start')} that failed")
        return best._replace(message="; ".join(notes))


def pareto(task: NonlinearProgram, starts: int, points: int, budget: list[int], options: dict[str, Any]) -> Pareto:
    """A Pareto front by the epsilon-constraint method: the second objective is bounded, and the first one least."""
    first, second = task.goals
    ends: list[Found] = []
    for goal in task.goals:
        found = task.best(goal, task.limits, task.starts(starts), budget, options)
        if ends and found.search.violation(found.trial) > FEASIBLE:  # the first search met the constraints
            found = task.best(goal, task.limits, [ends[0].trial.p], budget, options)
        if found.search.violation(found.trial) > FEASIBLE:
            return Pareto(found.trial, found.message, tuple(found.search.steps))
        ends.append(found)
    values = [goal.function.value(end.trial) for goal, end in zip(task.goals, ends, strict=True)]
    # where one objective is best, the other one as good as it can be there
    trials = [task.best(second, [*task.limits, _no_worse(first, values[0])], [ends[0].trial.p], budget, options).trial]
    a, notes, begin = second.function.value(trials[0]), [], trials[0].p
    for part in np.linspace(0.0, 1.0, points)[1:]:
        if budget[0] <= 0:
            break
        bound = float(a + part * (values[1] - a))
        start = begin if part < 1.0 else ends[1].trial.p
        try:
            found = task.best(first, [*task.limits, _no_worse(second, bound)], [start], budget, options)
        except SorosimError as error:
            notes.append(str(error))
            continue
        if found.search.violation(found.trial) <= FEASIBLE:
            trials.append(found.trial)
            begin = found.trial.p
        else:
            notes.append(f"no point at {second.name} of {bound:.4g}")
    found_values = np.array([[goal.function.value(trial) for goal in task.goals] for trial in trials])
    signed = found_values * [goal.sign for goal in task.goals]
    slack = 1e-9 * np.abs(signed).max(axis=0)
    kept = [k for k, row in enumerate(signed)
            if not any((other < row + slack).all() and (other < row - slack).any() for other in signed)
            and not any((np.abs(other - row) <= slack).all() for other in signed[:k])]  # fmt: skip
    if budget[0] <= 0:
        notes.append(SPENT)
    signed, trials = signed[kept], [trials[k] for k in kept]
    span = np.ptp(signed, axis=0)
    distance = np.linalg.norm((signed - signed.min(axis=0)) / np.where(span > 0.0, span, 1.0), axis=1)
    chosen = trials[int(np.argmin(distance))]
    front = Front(found_values[kept], np.array([trial.p for trial in trials]))
    notes = [f"front of {first.words} and {second.words}, {counted(len(kept), 'point')}", *notes]
    return Pareto(chosen, "; ".join(notes), (), front)


def _no_worse(goal: Goal, value: float) -> Limit:
    """An objective as good as a value, but for what a search leaves open: with none there is no way inside."""
    loose = value + goal.sign * 10.0 * FEASIBLE * abs(value)
    return Limit(goal.name, -np.inf, loose) if goal.sign > 0.0 else Limit(goal.name, loose, np.inf)
