"""`sorosim.design`: which numbers make a robot best."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from sorosim.analysis.motion.controllers import Controller
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.base.arrays import Array
from sorosim.base.declare.result import TEXT, Named, Numbers, Result, StoredField
from sorosim.base.declare.types import Integer
from sorosim.base.errors import ConvergenceError, InputError, SorosimError, warn
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import choice, counted, number
from sorosim.files import load_text
from sorosim.files.results import text_of
from sorosim.mechanics.robot import Robot
from sorosim.studies.design.cases import GAIN, ONLY, InMotion
from sorosim.studies.design.goals import OBJECTIVES, Front, NonlinearProgram, pareto
from sorosim.studies.design.motion import Moving
from sorosim.studies.design.problem import Free, Limit, Problem, Trial
from sorosim.studies.design.rest import Rest
from sorosim.studies.design.search import FEASIBLE, FTOL, METHODS, PART, SPENT, STATIONARY, Kkt, Search, Step
from sorosim.studies.fitting.fit import MAX_EVALUATIONS, MAX_STARTS

MAX_POINTS = 1000


@public
def design(
    cases: Robot | Mapping[str, Any], free: Sequence[Any] | Mapping[str, Any],
    minimise: str | Mapping[str, float] | Sequence[Any],
    subject_to: Mapping[str, Any] | None = None, bounds: Mapping[str, Any] | None = None, *,
    define: Mapping[str, Any] | None = None, method: str = "slsqp", starts: int = 1, points: int = 9,
    tolerance: float = FTOL, max_evaluations: int = 500,
) -> Design:  # fmt: skip
    """Find numbers of robots, their inputs and controllers that make a quantity of equilibria or motions least.

    Parameters
    ----------
    cases : Robot, or mapping of names to robots
        Each an equilibrium: of a robot under the inputs and driven coordinates of its file's `statics` block, or a
        mapping of ``robot``, ``u``, ``driven`` and ``q0``, as `sorosim.statics` takes them. With ``simulate`` in it,
        options ``t_end`` and those of `rollout`, such as ``{"t_end": "2 s", "dt": "5 ms"}``, it is a motion: ``u``,
        ``driven``, ``q0`` and ``qd0`` are as `simulate` takes them, in the place of what the file says of runs, and
        inputs are held over steps of dt, 10 ms if nothing else is said. ``controller``: a function ``f(t, q, qd, *,
        gain=number, ...)`` without memory that gives the inputs that `u` does not name, at the begin of each step.
    free : sequence of names, or mapping of labels to names
        What may change: paths of numbers in the robots' files, as `sorosim.scalars` lists them, ``u.NAME``,
        ``driven.NAME`` at rest, ``gain.NAME`` of a controller. A list of names in the place of one: all of them are one
        number, as of parts that are alike. A name is of all cases that have it, or with the name of a case before it of
        that one: ``"pull.u.tendon"``.
    minimise : str, mapping or pair of these
        The name of a quantity, with a minus before it to make it greatest; a mapping of names to weights: their
        sum; two of these: a Pareto front.
    subject_to : mapping of name to number or (least, greatest)
        Constraints on quantities, in SI units or as texts; None is open.
    bounds : mapping of name to (low, high)
        Of what is free, likewise. Default: positive numbers of a file stay positive. What starts at 0 needs both,
        lengths and angles apart: they say how large it is.
    define : mapping of name to definition
        Further quantities: ``{"distance": place, "to": point or place}``, ``{"stiffness": place, "along":
        direction}`` of any case; ``{"sum": {name: weight}}``, ``{"rms": [names]}`` of several. Of motions the summaries
        of runs: ``{"max": "arm.z"}``, ``{"rms": distance, "after": "1 s"}``, ``{"last": name, "until": "0.5 s"}``.
    method : {"slsqp", "trust-constr"}
    starts : int
        Number of starts, the others spread between the bounds, always the same; the best one counts.
    points : int
        Of a Pareto front.
    tolerance : float
        Change of the objective over its size at which a search ends.
    max_evaluations : int
        Most trials, of all starts and points together; in each all cases are solved.

    Returns
    -------
    Design

    Raises
    ------
    ConvergenceError
        There is no equilibrium or motion at the start, or nothing meets the constraints: ``partial`` is the Design that
        violates them least, and the message says which, and by how much.
    InputError
        A wrong name, unit or value, with the nearest.

    Warns
    -----
    SorosimWarning
        The search ended where its gradients do not balance, such as at the edge of what has an equilibrium; or a number
        that is free changes nothing that is asked for.

    Notes
    -----
    Quantities of a case are named as in sweeps and summaries: ``arm.x``, ``arm(0.5).z``, ``arm.bending_y``,
    coordinates, ``u.NAME``, ``force(NAME)``, ``energy.elastic``, ``SENSOR.CHANNEL``; and ``mass``,
    ``centre_of_mass.x``, ``frequency[1]``; with several cases the name of one stands before it. What is free is one,
    too, by its own name.

    Equilibria, motions, positions, coordinates, inputs and forces of driven coordinates at rest have exact derivatives;
    of others differences of fourth order are taken along these, as `Sensitivities.readings` does, and so is what a
    controller gives. Where a number changes surfaces that touch, forces are differentiated by it by such differences,
    or whole motions, as they are by all where Python computes a load. The greatest value of a motion has the derivative
    of the row at which it is: where two are as great, it jumps. Positive numbers are searched by their logarithms.
    Steps to robots that cannot be built, or have no equilibrium or motion, are shortened. The optimum is a local one.
    Source: docs/theory.md, 13; Nocedal and Wright, Numerical Optimization, 12 and 18.
    """
    choice("method", method, METHODS)
    starts = Integer(1, MAX_STARTS).argument("starts", starts)
    points = Integer(3, MAX_POINTS).argument("points", points)
    most = Integer(1, MAX_EVALUATIONS).argument("max_evaluations", max_evaluations)
    tolerance = number("tolerance", tolerance, "a number greater than 0", above=0.0)
    if isinstance(define, Mapping) and (taken := [name for name in OBJECTIVES if name in define]):
        raise InputError("define", f"names other than {', '.join(OBJECTIVES)}", f"'{taken[0]}'")
    task = NonlinearProgram(cases, free, minimise, subject_to, bounds, define)
    budget, options = [most], {"method": method, "tolerance": tolerance}
    if len(task.goals) == 1:
        found = task.best(task.goals[0], task.limits, task.starts(starts), budget, options)
        edges = np.zeros(len(found.trial.p))
        for i, (_, side) in found.search.edges.items():
            edges[i] = side
        out = Design(task, found.trial, found.message, tuple(found.search.steps), None, edges)
    else:
        ends = pareto(task, starts, points, budget, options)
        out = Design(task, *ends)
    if out.violations and max(out.violations.values()) > FEASIBLE:
        least = ", ".join(f"{name} by {x:.3g} {task.problem.function(name, '').unit}".rstrip()
                          for name, x in out.violation.items())  # fmt: skip
        hint = "loosen one, free more numbers, or begin elsewhere (starts)"
        raise ConvergenceError(
            f"design: no numbers were found that meet the constraints; least violated: {least}; {hint}", out
        )
    if not out.converged:
        warn(f"design: {out.message}")
    try:
        idle = task.without_effect(out._trial)
    except SorosimError:  # at a fold, say, there are no derivatives
        idle = []
    if idle:
        warn(f"design: neither objective nor constraints change with {', '.join(idle)}")
    return out


@public
@dataclass(frozen=True, eq=False)
class Design(Result, kind="design"):
    """Numbers of robots that make a quantity least or greatest; made by `design`.

    Of a Pareto front it is the point that is nearest to the best of both objectives, each over its range.
    """

    _task: NonlinearProgram = field(repr=False)
    _trial: Trial = field(repr=False)
    _ending: str = field(repr=False)
    _steps: tuple[Step, ...] = field(default=(), repr=False)
    front: Front | None = None
    _edges: Array = field(default_factory=lambda: np.zeros(0), repr=False)  # of each number: 1 up, -1 down

    also: ClassVar[Mapping[str, StoredField]] = {
        "_texts": StoredField(Named(TEXT), "the files of the robots, by case", name="robots"),
        "_arguments": StoredField(TEXT, "free numbers, bounds, definitions, objectives and constraints, as JSON",
                                  name="arguments"),
        "_p": StoredField(Numbers("n_free"), "what was found, in the order of what was free", "SI", name="p"),
        "values": StoredField(Named(Numbers()), "the same by name", "SI", derived=True),
        "_q": StoredField(Named(Numbers(...)), "coordinates of equilibria and of starts of motions, by case", name="q"),
        "_edges": StoredField(Numbers(...), "of each number 1 or -1 where trials that are greater or less fail, else 0",
                              name="edges"),
        "_ending": StoredField(TEXT, "how the search ended", name="message"),
        "_history": StoredField(Numbers("n_steps", "n_columns"), "the numbers, the objective and the largest scaled "
                                "violation of each iterate", name="history"),
        "_front": StoredField(Numbers("n_points", ...), "of a Pareto front two objectives and the numbers",
                              name="front", needed=False),
    }  # fmt: skip

    plot = LazyMethod("sorosim.view.viz.design_plot:plot_design")

    # -- what was found ----------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what was free."""
        return tuple(one.name for one in self._task.problem.free)

    @property
    def values(self) -> dict[str, float]:
        """What was found [SI]."""
        return dict(zip(self.names, self._trial.p.tolist(), strict=True))

    @property
    def initial(self) -> dict[str, float]:
        """Where the search began [SI]."""
        return {one.name: one.unknown.value for one in self._task.problem.free}

    @property
    def units(self) -> dict[str, str]:
        """SI units of the values, objectives and constraints, "" of plain numbers."""
        own = {one.name: one.unknown.unit for one in self._task.problem.free}
        counted_ones = [*(goal.name for goal in self._task.goals), *(one.name for one in self._task.limits)]
        return {name: self._task.problem.function(name, "").unit for name in counted_ones} | own

    @property
    def robots(self) -> dict[str, Robot]:
        """The robots by case, with these numbers; "" names the only one."""
        return {name: state.robot for name, state in self._states.items()}

    @property
    def robot(self) -> Robot:
        """That of the first case."""
        return next(iter(self.robots.values()))

    @property
    def _states(self) -> dict[str, Any]:
        pairs = zip(self._task.problem.cases, self._trial.states, strict=True)
        return {case.name: state for case, state in pairs}

    @property
    def equilibria(self) -> dict[str, Equilibrium]:
        """Equilibria by case, of those at rest."""
        rests = ((name, one.equilibrium) for name, one in self._states.items() if isinstance(one, Rest))
        return {name: eq for name, eq in rests if eq is not None}

    @property
    def runs(self) -> dict[str, Run]:
        """Runs by case, of those in motion."""
        return {name: one.run for name, one in self._states.items() if isinstance(one, Moving)}

    @property
    def controllers(self) -> dict[str, Controller]:
        """Controllers by case with the gains that were found, as `simulate` takes them."""
        out = dict[str, Controller]()
        for k, case in enumerate(self._task.problem.cases):
            if isinstance(case, InMotion) and case.controller is not None:
                own = self._task.problem.columns[k]
                gains = {one.target: float(self._trial.p[i]) for i, one in own if one.kind == GAIN}
                out[case.name] = partial(case.controller, **gains)
        return out

    @property
    def objective(self) -> float:
        """The quantity that was made least or greatest [SI]; of two the first."""
        return next(iter(self.objectives.values()))

    @cached_property
    def objectives(self) -> dict[str, float]:
        """Objectives by name [SI]."""
        return {goal.name: goal.function.value(self._trial) for goal in self._task.goals}

    @cached_property
    def constraints(self) -> dict[str, float]:
        """Values of the quantities that were constrained [SI]."""
        problem = self._task.problem
        return {one.name: problem.function(one.name, "").value(self._trial) for one in self._task.limits}

    @property
    def violation(self) -> dict[str, float]:
        """By how much constraints are violated that are [SI]."""
        out = {}
        for one in self._task.limits:
            x = self.constraints[one.name]
            if (off := max(one.low - x, x - one.high, 0.0)) > 0.0 and self.violations[one.name] > FEASIBLE:
                out[one.name] = off
        return out

    @cached_property
    def violations(self) -> dict[str, float]:
        """The same of all, over the size of their limits."""
        search, out = self._search, dict[str, float]()
        for row, x in zip(search.rows, search.violations(self._trial), strict=True):
            out[row.limit.name] = max(float(x), out.get(row.limit.name, 0.0))
        return {one.name: out[one.name] for one in self._task.limits}

    def value(self, name: str) -> float:
        """Any quantity at the design, by its name [SI]."""
        return self._task.problem.function(name, "name").value(self._trial)

    def gradient(self, name: str) -> dict[str, float]:
        """Derivatives of any quantity by what is free [SI]."""
        slope = self._task.problem.function(name, "name").slope(self._trial)
        return dict(zip(self.names, slope.tolist(), strict=True))

    # -- how good it is ----------------------------------------------------------------------------------------------

    @cached_property
    def _search(self) -> Search:
        """The search for the first objective, about the design."""
        goal, limits = self._task.goals[0], list(self._task.limits)
        if self.front is not None:  # its points are found with the second objective bounded
            second = self._task.goals[1]
            x = second.function.value(self._trial)
            limits.append(Limit(second.name, *((-np.inf, x) if second.sign > 0.0 else (x, np.inf))))
        search = Search(self._task.problem, goal.function, goal.sign, limits, METHODS[0], [0])
        search.scale_by(self._trial)
        if self._steps:
            search.size = max(search.size, PART * abs(self._steps[0].objective))
        z = search.z(self._trial.p)
        search.edges = {i: (float(z[i]), float(side)) for i, side in enumerate(self._edges) if side}
        return search

    @cached_property
    def _conditions(self) -> Kkt:
        try:
            return self._search.conditions(self._trial)
        except InputError:  # at a fold, say, there are no derivatives
            return Kkt((), {}, np.inf)

    @property
    def active(self) -> tuple[str, ...]:
        """Bounds and constraints that hold the design back."""
        return self._conditions.active

    @property
    def multipliers(self) -> dict[str, float]:
        """Changes of the objective with active limits, per unit of both [SI]; of a front also with the second one."""
        return self._conditions.multipliers

    @property
    def converged(self) -> bool:
        """Whether the constraints are met and the gradients balance; of a front whether its points were all found."""
        if max(self.violations.values(), default=0.0) > FEASIBLE:
            return False
        return SPENT not in self._ending if self.front is not None else self._balanced

    @property
    def _balanced(self) -> bool:
        """Whether the gradients balance, or the objective is the least it can be: distances have a corner at 0."""
        goal = self._task.goals[0]
        least = goal.function.least
        near = FEASIBLE * (self._steps[0].objective - least) if self._steps and np.isfinite(least) else -np.inf
        if goal.sign > 0.0 and self.objective - least <= near:
            return True
        return self._conditions.residual <= STATIONARY

    @property
    def message(self) -> str:
        """How the search ended, and what holds it back."""
        notes = [self._ending]
        if self.front is None:
            notes += [f"held back by {', '.join(self.active)}"] if self.active else []
            if not self._balanced and np.isfinite(left := self._conditions.residual):
                notes.append(f"{left:.2g} of the gradient is not balanced: no optimum, or one at an edge")
            elif not self._balanced:
                notes.append("there are no derivatives here: no optimum, or one at an edge")
        return "; ".join(notes)

    @property
    def history(self) -> dict[str, Array]:
        """Iterates of the search: what is free by name, ``objective`` and ``violation``, of which 0 is none."""
        rows = self._history
        return dict(zip([*self.names, "objective", "violation"], rows.T, strict=True))

    def at(self, i: int) -> Design:
        """A point of a Pareto front as a design of its own."""
        if self.front is None:
            raise InputError("at", "a Pareto front, of two objectives", "the design of one")
        k = Integer(0, len(self.front.values) - 1).argument("i", i)
        trial = self._task.problem.trial(self.front.values[k], self._trial)
        return Design(self._task, trial, f"point {k} of a front", (), self.front)

    def summary(self) -> str:
        """A table of the numbers, the objective and the constraints, and how the search ended."""
        rows = [("number", "start", "value", "unit")]
        rows += [(name, f"{self.initial[name]:.5g}", f"{x:.5g}", self.units[name]) for name, x in self.values.items()]
        rows += [
            (goal.words, "", f"{self.objectives[goal.name]:.5g}", self.units[goal.name]) for goal in self._task.goals
        ]
        for one in self._task.limits:
            between = _between(one)
            rows.append((f"{one.name} {between}", "", f"{self.constraints[one.name]:.5g}", self.units[one.name]))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        for name, x in self.multipliers.items() if self.front is None else ():
            lines.append(f"{self._task.goals[0].name} changes by {x:.4g} per unit of the limit of {name} [SI]")
        return "\n".join([*lines, self.message])

    # -- files -------------------------------------------------------------------------------------------------------

    @property
    def described(self) -> Robot:
        """The robot of the first case before."""
        return self._task.problem.cases[0].robot

    @property
    def _texts(self) -> dict[str, str]:
        return {case.name or ONLY: text_of(case.robot) for case in self._task.problem.cases}

    @property
    def _arguments(self) -> str:
        problem = self._task.problem
        cases = {case.name or ONLY: case.arguments for case in problem.cases}
        bounds = {one.name: [one.unknown.low, one.unknown.high] for one in problem.free}
        names = {one.name: _names(problem, one) for one in problem.free}
        minimise = [f"{'-' if goal.sign < 0.0 else ''}{goal.name}" for goal in self._task.goals]
        limits = {one.name: [one.low, one.high] for one in self._task.limits}
        define = {name: one.as_data for name, one in problem.definitions.items()}
        for limit in self._task.limits:
            problem.size(limit, problem.function(limit.name, ""))  # is known then
        return json.dumps({"cases": cases, "free": names, "bounds": bounds, "minimise": minimise, "subject_to": limits,
                           "define": define, "sizes": problem.sizes})  # fmt: skip

    @property
    def _p(self) -> Array:
        return self._trial.p

    @property
    def _q(self) -> dict[str, Array]:
        return {name or ONLY: state.begin for name, state in self._states.items()}

    @property
    def _history(self) -> Array:
        return np.array([[*one.p, one.objective, one.violation] for one in self._steps]).reshape(
            -1, len(self.names) + 2
        )

    @property
    def _front(self) -> Array | None:
        return None if self.front is None else np.hstack(self.front)

    @classmethod
    def restored(cls, stored: Mapping[str, Any], robot: Robot) -> Design:
        """The design from the content of a file that was checked."""
        kept = cls.parts(stored, robot)
        said = json.loads(kept["_arguments"])
        cases = {
            name: {"robot": load_text(text, name), "q0": kept["_q"][name], **said["cases"][name]}
            for name, text in kept["_texts"].items()
        }
        minimise = said["minimise"] if len(said["minimise"]) > 1 else said["minimise"][0]
        task = NonlinearProgram(
            cases.get(ONLY, cases), said["free"], minimise, said["subject_to"], said["bounds"], said["define"]
        )
        problem = task.problem
        problem.sizes.update(said.get("sizes", {}))
        problem.cases = tuple(
            replace(case, guess=kept["_q"][case.name or ONLY]) if isinstance(case, InMotion) else case
            for case in problem.cases
        )
        n, front = len(kept["_p"]), kept.get("_front")
        steps = tuple(Step(row[:n], float(row[n]), float(row[n + 1])) for row in kept["_history"])
        points = None if front is None else Front(front[:, :2], front[:, 2:])
        return cls(task, task.problem.trial(kept["_p"]), kept["_ending"], steps, points, np.asarray(kept["_edges"]))

    def __repr__(self) -> str:
        goals = " and ".join(f"{goal.words} {self.objectives[goal.name]:.4g}" for goal in self._task.goals)
        return f"<Design of '{self.robot.name}': {counted(len(self.names), 'number')}, {goals}>"


def _names(problem: Problem, one: Free) -> list[str]:
    """Names of the targets of a free number, each of its own case."""
    return [problem.cases[k].written(target.name) for k, target in one.targets]


def _between(one: Limit) -> str:
    if one.low == one.high:
        return f"= {one.low:.4g}"
    if not np.isfinite(one.high):
        return f">= {one.low:.4g}"
    return f"<= {one.high:.4g}" if not np.isfinite(one.low) else f"in {one.low:.4g} to {one.high:.4g}"
