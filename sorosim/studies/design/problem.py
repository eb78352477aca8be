"""What is designed: cases, numbers that are free, and what counts of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.sensitivity import scalars_of, varied_engine
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, SorosimError, nearest
from sorosim.base.validation import describe
from sorosim.mechanics.engine.parameter import DRIVEN, FILE, Parameter
from sorosim.mechanics.robot import Robot
from sorosim.studies.design.cases import Case, cases_of
from sorosim.studies.design.quantities import DEFINITIONS, Definition, Measure, measure
from sorosim.studies.design.rest import Changes
from sorosim.studies.fitting.unknowns import Unknown, by_unknown, extent_of

# of the scale of a number that may be 0: how large it is for differences where it comes near to that
LEAST_SIZE = 0.1


@dataclass(frozen=True, eq=False)
class Free:
    """A number that is free, of one case or shared by several."""

    unknown: Unknown  # start, bounds, scale; how it is searched
    name: str
    targets: tuple[tuple[int, Parameter], ...]  # numbers of cases


def free_of(cases: Sequence[Case], given: object, bounds: Mapping[str, Any] | None) -> tuple[Free, ...]:
    """The free numbers with their bounds; wrong names and bounds are refused (InputError)."""
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping) or not given:
        raise InputError("free", "names of numbers, inputs and driven coordinates", describe(given))
    pairs = given.items() if isinstance(given, Mapping) else ((None, one) for one in given)
    out: list[Free] = []
    for label, names in pairs:
        if label is not None and not isinstance(label, str):
            raise InputError("free", "texts as labels", describe(label))
        where = "free" if label is None else f"free.{label}"
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
            raise InputError(where, "names, or lists of names that share a number", describe(names))
        targets = [target for name in names for target in _targets(cases, name, where)]
        out.append(_free(cases, label or names[0], targets))
    seen: dict[Any, str] = {}
    for one in out:
        for k, target in one.targets:
            key = (k, target.kind, target.index if target.index >= 0 else target.target)
            if key in seen:
                raise InputError("free", "every number once", f"'{one.name}' and '{seen[key]}' twice")
            seen[key] = one.name
    given_bounds = by_unknown("bounds", bounds, [one.name for one in out])
    bounded = tuple(_bounded(one, given_bounds[one.name]) if one.name in given_bounds else one for one in out)
    for one in bounded:
        unknown = one.unknown
        sized = unknown.value or not unknown.unit or unknown.dimension in ("length", "angle")
        if not sized and not np.isfinite(unknown.high - unknown.low):
            expected = "two bounds, which say how large a number is that starts at 0"
            raise InputError(f"bounds.{one.name}", expected, "one or none", "or another start")
    return bounded


def _targets(cases: Sequence[Case], name: str, where: str) -> list[tuple[int, Parameter]]:
    """The numbers of cases that a name stands for: with the name of a case before it that of one."""
    first, _, rest = name.partition(".")
    own = [k for k, case in enumerate(cases) if case.name and case.name == first]
    found, failure = [], None
    for k in own or range(len(cases)):
        try:
            found.append((k, cases[k].parameter(rest if own else name, where)))
        except InputError as error:
            failure = failure or error
    if not found and failure is not None:
        hint = nearest(name, [case.name for case in cases]) if "." in name and cases[0].name else ""
        hint = failure.hint if hint.startswith("known") or not hint else f"{failure.hint}; or case: {hint}"
        raise InputError(where, failure.expected, f"'{name}'", hint)
    return found


def _free(cases: Sequence[Case], name: str, targets: Sequence[tuple[int, Parameter]]) -> Free:
    starts = [cases[k].value(one) for k, one in targets]
    if any(abs(x - starts[0]) > 1e-9 * abs(starts[0]) for x in starts):
        hint = "make them equal, or let each be free with the name of its case before it"
        raise InputError("free", f"one start of '{name}'", " and ".join(f"{x:g}" for x in dict.fromkeys(starts)), hint)
    if len(units := {target.unit or "none" for _, target in targets if target.dimension}) > 1:
        raise InputError("free", f"numbers of one unit that share '{name}'", " and ".join(sorted(units)))
    k, one = targets[0]
    robot, start = cases[k].robot, starts[0]
    low, high = max(target.low for _, target in targets), min(target.high for _, target in targets)
    positive = False
    if one.kind == FILE and start > 0.0:
        try:
            scalars_of(robot).changed(one.target, -1e-6 * start)
        except SorosimError:
            positive, low = True, 0.0
    scale = abs(start) or (extent_of(robot) if one.dimension == "length" else 1.0)
    parts = {**vars(one), "value": start, "low": low, "high": high}
    return Free(Unknown(**parts, scale=scale, logarithm=positive), name, tuple(targets))


def _bounded(one: Free, pair: Sequence[object]) -> Free:
    """The number between bounds, None being open."""
    where, unknown = f"bounds.{one.name}", one.unknown
    own = unknown.ends(where, pair)
    low, high = (default if np.isinf(x) else x for x, default in zip(own, (unknown.low, unknown.high), strict=True))
    if not low < high:
        raise InputError(where, "a lower bound below the upper one", f"{low:g} and {high:g}")
    if low < unknown.low or high > unknown.high:
        raise InputError(where, f"bounds within {unknown.low:g} and {unknown.high:g}", f"{low:g} and {high:g}")
    if not low <= unknown.value <= high:
        raise InputError(where, f"bounds about the start, {unknown.value:g}", f"{low:g} and {high:g}")
    scale = high - low if np.isfinite(high - low) and not unknown.logarithm and not unknown.value else unknown.scale
    return replace(one, unknown=replace(unknown, low=low, high=high, scale=scale))


# -- trials ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trial:
    """All cases with values of the free numbers."""

    problem: Problem
    p: Array
    states: tuple[Any, ...]  # Rest or Moving
    slopes: dict[Function, Array] = field(default_factory=dict)  # of functions that were asked for
    _changes: dict[int, Changes] = field(default_factory=dict)

    def changes(self, k: int) -> Changes:
        """How a case changes with its own free numbers."""
        if k not in self._changes:
            problem, own = self.problem, self.problem.columns[k]
            unknowns = [problem.free[i].unknown for i, _ in own]
            sizes = np.array([0.0 if one.logarithm else LEAST_SIZE * one.scale for one in unknowns])
            values = [(one, float(self.p[i])) for i, one in own]
            self._changes[k] = problem.cases[k].changes(self.states[k], values, sizes, problem.by_differences[k])
        return self._changes[k]

    def spread(self, k: int, columns: Array) -> Array:
        """Derivatives (..., n) by all free numbers from those by the numbers of a case."""
        out = np.zeros((*columns.shape[:-1], len(self.p)))
        for column, (i, _) in enumerate(self.problem.columns[k]):
            out[..., i] += columns[..., column]
        return out

    def guesses(self, k: int, p: Array) -> list[Array]:
        """Coordinates from which the equilibrium of a case is searched where the free numbers are others."""
        begin = self.states[k].begin
        return [begin + self.spread(k, self.changes(k).begin) @ (p - self.p), begin]


class Function(NamedTuple):
    """What counts of all cases, by name."""

    unit: str
    dimension: str
    value: Callable[[Trial], float]
    slope: Callable[[Trial], Array]  # (n,)
    least: float = -np.inf  # that it can be


class Limit(NamedTuple):
    """A quantity that has to be between two numbers; equal ones: that it has to be."""

    name: str
    low: float
    high: float


@dataclass(eq=False)
class Problem:
    """Cases, free numbers and named quantities."""

    cases: tuple[Case, ...]
    free: tuple[Free, ...]
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)  # by which violations of limits of 0 are measured
    _open: set[str] = field(default_factory=set)  # definitions whose parts are looked up

    @classmethod
    def of(cls, cases: object, free: object, bounds: Mapping[str, Any] | None, define: object) -> Problem:
        """From the arguments of `design` (InputError: something is wrong with them)."""
        own = cases_of(cases)
        definitions = DEFINITIONS.argument("define", define or {})
        out = cls(own, free_of(own, free, bounds), definitions)
        if twice := [case.name for case in own if case.name in definitions]:
            raise InputError("define", "names that no case has", f"'{twice[0]}'")
        plain = cls(own, out.free)
        for where, names in (("define", list(definitions)), ("free", [one.name for one in out.free])):
            for name in names:
                if (where == "free" and name in definitions) or plain.known(name):
                    raise InputError(where, "names of their own", f"'{name}', which is another quantity")
        return out

    def known(self, name: str) -> bool:
        """Whether a name is that of a quantity of a case, other than what is free by that name."""
        if any(one.name == name == self.cases[k].written(t.name) for one in self.free for k, t in one.targets):
            return False
        try:
            self._of_case(name, "")
        except InputError:
            return False
        return True

    @cached_property
    def first_p(self) -> Array:
        """Where the free numbers start."""
        return np.array([one.unknown.value for one in self.free])

    @cached_property
    def first(self) -> Trial:
        """The trial there."""
        return self.trial(self.first_p)

    def size(self, limit: Limit, function: Function) -> float:
        """What violations of a limit are measured by: its own size, or where it is 0 that of the quantity at the start.

        The same for all searches, and at the end: a limit of 0 is met to parts of what it bounds.
        """
        if own := max(abs(x) for x in (limit.low, limit.high) if np.isfinite(x)):
            return own
        steepness = [one.unknown.slope(one.unknown.value) for one in self.free]
        if limit.name not in self.sizes:
            slope = np.abs(function.slope(self.first) * steepness).max(initial=0.0)
            self.sizes[limit.name] = max(abs(function.value(self.first)), float(slope)) or 1.0
        return self.sizes[limit.name]

    @cached_property
    def columns(self) -> tuple[tuple[tuple[int, Parameter], ...], ...]:
        """The free numbers of each case: which one, and what it is there."""
        return tuple(
            tuple((i, target) for i, one in enumerate(self.free) for c, target in one.targets if c == k)
            for k in range(len(self.cases))
        )

    @cached_property
    def by_differences(self) -> tuple[frozenset[str], ...]:
        """Numbers of each case that change surfaces which touch."""
        out = []
        for k, case in enumerate(self.cases):
            paths = [one.target for _, one in self.columns[k] if one.kind == FILE]
            file, rough = scalars_of(case.robot) if paths else None, set()
            for path in paths:
                try:
                    assert file is not None
                    varied_engine(case.robot, file, path)
                except InputError as error:
                    if not (case.robot.engine.loading.touches or case.moves):
                        raise InputError("free", error.expected, error.got, error.hint) from None
                    rough.add(path)
            out.append(frozenset(rough | case.rough([one for _, one in self.columns[k]])))
        return tuple(out)

    # -- quantities --------------------------------------------------------------------------------------------------

    def function(self, name: object, where: str) -> Function:
        """A quantity by its name (else InputError)."""
        if not isinstance(name, str):
            raise InputError(where, "the name of a quantity", describe(name))
        if name not in self.functions:
            defined = self.definitions.get(name)
            if defined is not None and not defined.of_one_case:
                if name in self._open:
                    raise InputError(f"define.{name}", "other quantities", f"'{name}' itself")
                self._open.add(name)
                try:
                    self.functions[name] = self._combined(name, defined)
                finally:
                    self._open.discard(name)
            elif name in (names := [one.name for one in self.free]):
                self.functions[name] = self._number(names.index(name))
            else:
                self.functions[name] = self._of_case(name, where)
        return self.functions[name]

    def _number(self, i: int) -> Function:
        """A free number itself."""
        unknown, unit = self.free[i].unknown, np.eye(len(self.free))[i]
        return Function(unknown.unit, unknown.dimension, lambda trial: float(trial.p[i]), lambda trial: unit)

    def _of_case(self, name: str, where: str) -> Function:
        names = {case.name: k for k, case in enumerate(self.cases)}
        first, _, rest = name.partition(".")
        if "" in names:
            first, rest = "", name
        elif first not in names or not rest:
            others = [one for one, what in self.definitions.items() if not what.of_one_case]
            hint = nearest(name, [*(f"{case}.{rest or name}" for case in names), *others, *(f.name for f in self.free)])
            raise InputError(where, "a quantity with the name of its case before it", f"'{name}'", hint)
        k = names[first]
        case = self.cases[k]
        driven = [*case.driven_names, *(one.target for _, one in self.columns[k] if one.kind == DRIVEN)]
        driven = list(dict.fromkeys(driven))
        try:
            found: Measure = measure(case.robot, driven, rest, self.definitions, case.moves)
        except InputError as error:
            raise InputError(where, error.expected, error.got.replace(f"'{rest}'", f"'{name}'"), error.hint) from None

        def slope(trial: Trial) -> Array:
            own = self.columns[k]  # where nothing is free there is nothing to differentiate
            return trial.spread(k, found.slope(trial.changes(k))) if own else np.zeros(len(trial.p))

        return Function(
            found.unit, found.dimension, lambda trial: float(found.value(trial.states[k])), slope, found.least
        )

    def _combined(self, name: str, defined: Definition) -> Function:
        """A sum, or the root of a mean square."""
        where = f"define.{name}"
        weights = dict.fromkeys(defined.rms, 1.0 / len(defined.rms)) if defined.rms is not None else dict(defined.sum)
        parts = [(weight, self.function(other, where)) for other, weight in weights.items()]
        known = {one.dimension: one.unit for _, one in parts if one.dimension}  # of some numbers of files none is
        dimension, unit = next(iter(known.items())) if len(known) == 1 else ("", "")
        if defined.rms is None:
            return Function(
                unit, dimension,
                lambda trial: sum(w * one.value(trial) for w, one in parts),
                lambda trial: np.sum([w * one.slope(trial) for w, one in parts], axis=0),
            )  # fmt: skip
        if len(known) > 1:
            raise InputError(where, "quantities of one unit", ", ".join(sorted(known.values())))

        def value(trial: Trial) -> float:
            return float(np.sqrt(sum(w * one.value(trial) ** 2 for w, one in parts)))

        def slope(trial: Trial) -> Array:
            size = value(trial)
            total = np.sum([w * one.value(trial) * one.slope(trial) for w, one in parts], axis=0)
            return np.asarray(total / size if size else 0.0 * total)

        return Function(unit, dimension, value, slope, 0.0)

    def limit(self, name: str, given: object) -> Limit:
        """A constraint from a pair of numbers or texts, None being open, or from one that it has to be."""
        where, of = f"subject_to.{name}", self.function(name, "subject_to")
        pair: Any = given
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            pair = given, given
        if len(pair) != 2:
            raise InputError(where, "a number, or a pair (least, greatest), None being open", describe(given))
        low, high = Parameter(FILE, name, of.dimension).ends(where, pair)
        if low > high:
            raise InputError(where, "the least number before the greatest", f"{low:g} and {high:g}")
        if np.isinf(low) and np.isinf(high):
            raise InputError(where, "a number, or a pair (least, greatest), None being open", describe(given))
        return Limit(name, low, high)

    # -- trials ------------------------------------------------------------------------------------------------------

    def trial(self, p: Array, last: Trial | None = None) -> Trial:
        """All cases at values of the free numbers, searched from where those of the last trial move to first order.

        Raises
        ------
        ConvergenceError
            There is no equilibrium.
        ModelError, FileError, InputError
            There is no such robot.
        """
        robots: dict[Any, Robot] = {}
        found = []
        for k, case in enumerate(self.cases):
            own = [(one, float(p[i])) for i, one in self.columns[k]]
            if last is not None and not own:
                found.append(last.states[k])
                continue
            changed = {one.target: value for one, value in own if one.kind == FILE}
            key = id(case.robot), tuple(changed.items())
            if key not in robots:
                robots[key] = case.robot.with_values(changed) if changed else case.robot
            found.append(case.solved(robots[key], own, [] if last is None else last.guesses(k, p)))
        return Trial(self, p, tuple(found))
