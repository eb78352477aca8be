"""`sorosim.fit`: numbers of a robot from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import stats

from sorosim.base.arrays import Array
from sorosim.base.declare.result import DATA, TEXT, Named, Numbered, Numbers, Record, Result, StoredField
from sorosim.base.declare.types import Integer
from sorosim.base.errors import ConvergenceError, InputError, SorosimError, warn
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.units.quantity import amount
from sorosim.base.validation import choice, counted, describe, flag, number
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.fitting.estimate import LOSSES, Estimate, Problem, best_of
from sorosim.studies.fitting.likelihood import Likelihood, ProfiledCost
from sorosim.studies.fitting.measurements import BoundData, Measurements, deviations, restored
from sorosim.studies.fitting.model import Model
from sorosim.studies.fitting.units import doubtful_units
from sorosim.studies.fitting.unknowns import Unknown, by_unknown, unknowns_of, values_of

KNOWN = "known"  # noise: the standard deviations of the measurements are
MAX_STARTS, MAX_EVALUATIONS, MAX_VALUES = 1000, 10**6, 10_000
# of the intervals in summaries; how far their ends may be off, of half their width, before these say so: with one end
# too near by so much and the other one too far, they hold 94.5 %
LEVEL, LINEAR = 0.95, 0.1
# a number is weak if its interval reaches farther than this to one side: of a positive number from half to twice of it
WEAK = float(np.log(2.0))
# correlations beyond this are told: less than an eighth of the variance is left where the other number is known
CORRELATED = 0.9354
# of a profile: how far it is drawn beyond the ends of its interval
BEYOND = 1.5
# further starts are between these parts of a number, or this part of its scale away, where bounds are farther
SPREAD, NEAR = 3.0, 0.5
Data = Measurements | Sequence[Measurements]


class Errors(NamedTuple):
    """How far a simulation is off measurements."""

    distance: dict[str, Array]  # marker -> distances [m], row by row, of the measured axes; gaps left out
    # marker, or channel of a sensor -> root of the mean square of the measured numbers' errors, a marker's coordinates
    # one by one [SI]: what a noise is given as
    rms: dict[str, float]

    @property
    def mean_distance(self) -> float:
        """Mean distance of all markers [m], NaN where there are none."""
        every = [d for d in self.distance.values() if len(d)]
        return float(np.concatenate(every).mean()) if every else float("nan")


class Profile(NamedTuple):
    """Profile likelihood of a number: the others are fitted anew at each of its values."""

    values: Array  # (n,) rising
    deviance: Array  # (n,) how much the cost, squares of residuals over the scale of the noise, exceeds the least
    interval: tuple[float, float]  # in which the deviance is below that of the level; to the bounds if it is not left


@public
def fit(
    robot: Robot, data: Data, free: Sequence[str], bounds: Mapping[str, Any] | None = None, noise: Any = None, *,
    priors: Mapping[str, Any] | None = None, loss: str = "linear", starts: int = 1, max_evaluations: int = 200,
) -> Fit:  # fmt: skip
    """Fit numbers of a robot to measurements by least squares.

    Parameters
    ----------
    robot : Robot
        It has the values to start from.
    data : Measurements or sequence of Measurements
        Equilibria, motions, or both together.
    free : sequence of str
        What may change: paths of numbers of the file, as `sorosim.scalars` lists them; ``marker.NAME.offset``, where a
        marker sits in the frame of its place (three numbers; one of them with [0], [1] or [2]); ``input.NAME.scale``,
        by which the inputs of an actuator are multiplied; ``time.shift`` or ``time.NAME.shift``, how much later than
        noted the rows of all motions, or of the data with that name, were measured.
    bounds : mapping of name to (low, high)
        In SI units or as texts; None is open. Default: what the file accepts; shifts of time up to a twentieth of the
        motion, whose rows that a shift may take beyond its ends are left out.
    noise : float, str, mapping of marker or sensor name to these, or "known"
        Standard deviation of the measurements; "known": those of the data are. Default: their ratios are, and the
        scale is estimated from the residuals.
    priors : mapping of name to (mean, standard deviation)
        What is known of the numbers beforehand.
    loss : {"linear", "soft_l1", "huber", "cauchy"}
        The others bound the influence of outliers beyond about one or two standard deviations; the scale is then
        estimated by the median absolute deviation.
    starts : int
        Number of starts, the others spread between the bounds, always the same; the best fit counts.
    max_evaluations : int
        Most simulations of all data in one search.

    Returns
    -------
    Fit

    Raises
    ------
    ConvergenceError
        The search did not end; ``partial`` is the Fit where it stopped, or there is no equilibrium at the start.
    InputError
        A wrong name, count, unit or value.

    Warns
    -----
    SorosimWarning
        Columns that the fit does not explain, but would in another unit.

    Notes
    -----
    `scipy.optimize.least_squares` (trust region reflective) with exact derivatives: those of equilibria by
    `sensitivities`, of motions by `Rollout.jvp`; readings of sensors are differentiated by differences of fourth order
    along these. Positive numbers are fitted by their logarithms. Equilibria are searched from where those of the last
    iterate move to first order. A trial without a solution shortens the step, and `message` says so. Source
    of covariance and null directions: docs/fitting.md.
    """
    check_robot(robot)
    bound = _bound(robot, data)
    choice("loss", loss, tuple(LOSSES))
    starts = Integer(1, MAX_STARTS).argument("starts", starts)
    max_evaluations = Integer(1, MAX_EVALUATIONS).argument("max_evaluations", max_evaluations)
    unknowns = unknowns_of(robot, bound, free, bounds)
    names = [one.name for one in unknowns]
    prior_rows = []
    for name, pair in by_unknown("priors", priors, names).items():
        i = names.index(name)
        mean, sd = (amount(f"priors.{name}", x, unknowns[i].dimension) for x in pair)
        if not sd > 0.0:
            raise InputError(f"priors.{name}", "a standard deviation greater than 0", f"{pair[1]!r}")
        prior_rows.append((i, mean, sd))
    known = noise is not None
    model = Model(robot, bound, unknowns)
    problem = Problem(model, _deviations(bound, noise), prior_rows, loss, known)
    if not known and problem.n <= len(unknowns) - len(prior_rows):
        expected = f"more numbers than the {len(unknowns)} unknowns, or their noise"
        raise InputError("data", expected, counted(problem.n, "number"), "fit fewer numbers, or give noise")
    best = best_of(problem, _starts(unknowns, starts), max_evaluations)
    if doubts := doubtful_units(problem, np.array([one.value for one in unknowns]), best.trial):
        best = replace(best, message=f"{best.message}; {doubts}")
    result = Fit(problem, best, max_evaluations)
    if not best.converged:
        text = f"fit of '{robot.name}': {best.message}; more max_evaluations, another start or fewer unknowns"
        raise ConvergenceError(text, result)
    if doubts:
        warn(f"fit of '{robot.name}': {doubts}")
    return result


def _bound(robot: Robot, data: Data) -> list[BoundData]:
    """Measurements whose names and units were checked against a robot."""
    sources = [data] if isinstance(data, Measurements) else data
    if isinstance(sources, str) or not isinstance(sources, Sequence) or not sources:
        raise InputError("data", "measurements, or a list of them", describe(data))
    for one in sources:
        if not isinstance(one, Measurements):
            raise InputError("data", "measurements, as sorosim.Measurements makes them", describe(one))
    if len({id(one) for one in sources}) < len(sources):
        raise InputError("data", "every measurement once", "one twice")
    return [one.bind(robot) for one in sources]


def _deviations(data: Sequence[BoundData], noise: object) -> tuple[Array, ...]:
    """Standard deviations (n_outputs,) of each of the data."""
    out = []
    named = {owner for bound in data for owner in bound.owners}
    if isinstance(noise, Mapping) and (wrong := [name for name in noise if name not in named]):
        deviations({wrong[0]: 1.0}, sorted(named), [], "noise")
    for bound in data:
        given = noise if noise is not None and noise != KNOWN else None
        if isinstance(given, Mapping):
            given = {name: sd for name, sd in given.items() if name in bound.owners}
        sd = deviations(given, bound.owners, bound.dimensions, "noise")
        sd = np.where(np.isnan(sd), bound.sd, sd)
        out.append(sd)
    every = np.concatenate(out)
    kinds = {kind for bound in data for kind in bound.dimensions}
    if np.isnan(every).any() and not (noise is None and np.isnan(every).all() and len(kinds) == 1):
        names = [name for bound in data for name in bound.names]
        name = names[int(np.argmax(np.isnan(every)))]
        why = "unlike measurements" if noise is None else "noise is given"
        raise InputError("sd", f"a standard deviation of everything that is measured, since {why}", f"none of '{name}'")
    return tuple(np.where(np.isnan(sd), 1.0, sd) for sd in out)


def _starts(unknowns: Sequence[Unknown], n: int) -> list[Array]:
    """Starts in z: that of the robot, then points of a Halton sequence between the bounds."""
    first = np.array([one.z(one.value) for one in unknowns])
    if n == 1:
        return [first]
    far = [np.log(SPREAD) if one.logarithm else NEAR for one in unknowns]
    low = np.array([max(one.z(one.low), 1.0 - x) for one, x in zip(unknowns, far, strict=True)])
    high = np.array([min(one.z(one.high), 1.0 + x) for one, x in zip(unknowns, far, strict=True)])
    points = stats.qmc.Halton(len(unknowns), scramble=False).random(n)[1:]
    return [first, *(low + points * (high - low))]


UNKNOWN = Record(
    Unknown.stored, name=StoredField(TEXT, "", derived=True), kind=StoredField(TEXT, "", source="kind_in_words"),
    target=TEXT, axis=Numbers(), start=StoredField(Numbers(), "", source="value"), dimension=TEXT, low=Numbers(),
    high=Numbers(), scale=Numbers(), logarithm=Numbers(),
)  # fmt: skip
ESTIMATE = Record(
    dict, z=Numbers("n"), scale=Numbers(), dof=Numbers(), covariance=Numbers("n", "n"), null=Numbers("n_null", "n"),
    cost=Numbers(), message=TEXT,
)  # fmt: skip


@public
@dataclass(frozen=True, eq=False)
class Fit(Result, kind="fit"):
    """Numbers of a robot that were fitted to measurements; made by `fit`."""

    _problem: Problem = field(repr=False)
    _estimate: Estimate = field(repr=False)
    _max_evaluations: int = field(default=200, repr=False)

    also: ClassVar[Mapping[str, StoredField]] = {
        "_unknowns": StoredField(
            Numbered(UNKNOWN), "what was free: where the search began, bounds, scale", name="unknowns"
        ),
        "_data": StoredField(Numbered(DATA), "the measurements, with the standard deviations that count", name="data"),
        "_estimate": StoredField(
            ESTIMATE, "where the search ended, the covariance of the scaled numbers", name="estimate"
        ),
        "values": StoredField(Named(Numbers()), "what was found", "SI", derived=True),
        "_priors": StoredField(Numbers("n_priors", 3), "number, mean and standard deviation of each", name="priors"),
        "loss": StoredField(TEXT, "how outliers count", source="_problem.loss"),
        "known": StoredField(Numbers(), "whether the noise was given", source="_problem.known"),
        "_max_evaluations": StoredField(Numbers(), "most simulations of a search", name="max_evaluations"),
    }

    plot = LazyMethod("sorosim.view.viz.fit_plot:plot_fit")

    # -- the numbers -------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what was fitted, in the order of `covariance`."""
        return tuple(one.name for one in self._unknowns)

    @property
    def units(self) -> tuple[str, ...]:
        """Their SI units, "" of plain numbers."""
        return tuple(one.unit for one in self._unknowns)

    @cached_property
    def values(self) -> dict[str, float]:
        """What was found [SI]."""
        return dict(zip(self.names, self._estimate.trial.p.tolist(), strict=True))

    @property
    def scales(self) -> dict[str, float]:
        """Sizes to compare errors with [SI]: of positive numbers the value, of others the start or the robot's size."""
        pairs = zip(self._unknowns, self._estimate.trial.p, strict=True)
        return {one.name: one.slope(float(p)) for one, p in pairs}

    @property
    def initial(self) -> dict[str, float]:
        """Where the search began [SI]."""
        return {one.name: one.value for one in self._unknowns}

    @property
    def robot(self) -> Robot:
        """The robot with the fitted numbers of its file."""
        return self._estimate.trial.robot

    @property
    def data(self) -> tuple[Measurements, ...]:
        """The measurements."""
        return tuple(bound.source for bound in self._problem.model.data)

    @property
    def message(self) -> str:
        """How the search ended, and what it met on the way."""
        pairs = zip(self._unknowns, self._estimate.trial.p, strict=True)
        at = [one.name for one, p in pairs if one.at_bound(float(p))]
        return self._estimate.message + (f"; at a bound: {', '.join(at)}" if at else "")

    # -- how sure they are -------------------------------------------------------------------------------------------

    @cached_property
    def covariance(self) -> Array:
        """Covariance (n, n) of the numbers, in SI units; infinite and NaN where something is not identified."""
        slopes = np.array([one.slope(p) for one, p in zip(self._unknowns, self._estimate.trial.p, strict=True)])
        return self._estimate.covariance * np.outer(slopes, slopes)

    @property
    def standard_errors(self) -> dict[str, float]:
        """Roots of the variances [SI]."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @cached_property
    def correlation(self) -> Array:
        """Correlation (n, n) of the numbers, NaN where something is not identified."""
        sd = np.sqrt(np.diag(self._estimate.covariance))
        with np.errstate(invalid="ignore"):
            return np.asarray(self._estimate.covariance / np.outer(sd, sd))

    @property
    def identifiable(self) -> dict[str, bool]:
        """Whether the measurements, with the priors, determine each number; `null_directions` says what they do not."""
        lost = (self._estimate.null != 0.0).any(axis=0)
        return {name: not bool(x) for name, x in zip(self.names, lost, strict=True)}

    @property
    def weak(self) -> dict[str, bool]:
        """Whether each number is identified, but to no better than a factor of two, or 0.7 of its scale, at 95 %."""
        reach = self._quantile(LEVEL) * self._likelihood.sd
        pairs = zip(self.names, self._likelihood.identified & (reach > WEAK), strict=True)
        return {name: bool(x) for name, x in pairs}

    @property
    def null_directions(self) -> tuple[dict[str, float], ...]:
        """Changes that nothing that was measured shows, or none beyond the noise.

        Parts of the numbers, relative to the largest: of numbers fitted by their logarithms relative changes, of
        others changes over their scale (their start, or the size of the robot for lengths that start at zero).
        """
        rows = self._estimate.null.tolist()
        return tuple({name: x for name, x in zip(self.names, row, strict=True) if x} for row in rows)

    @property
    def noise(self) -> float:
        """Estimated scale of the noise: a factor of the standard deviations, or where none were given the deviation of
        the measurements themselves [SI]. 1 where the noise was given."""
        return self._estimate.scale

    @property
    def _noise_unit(self) -> str:
        """Unit of `noise`, "" where it is a factor of given standard deviations."""
        data = self._problem.model.data
        given = any((~np.isnan(bound.sd)).any() for bound in data)
        return "" if given or self._problem.known else data[0].units[0]

    def interval(self, level: float = LEVEL, profile: bool = False) -> dict[str, tuple[float, float]]:
        """Confidence intervals [SI], by Student's t where the noise is estimated.

        Parameters
        ----------
        level : float
            Probability with which an interval holds the true number.
        profile : bool
            By profile likelihood: the other numbers are fitted anew at several values of each, some thirty simulations
            a number. Default: by the covariance, of logarithms where these are fitted; `nonlinearity` tells how far
            these are off.

        What is not identified has an infinite one.

        Raises
        ------
        ConvergenceError
            A profile leads to numbers that are no possible robot; `summary` shows the other ones.
        """
        found, failed = self._intervals(level, flag("profile", profile))
        for why in failed.values():
            raise ConvergenceError(why)
        return found

    def _intervals(self, level: float, profile: bool) -> tuple[dict[str, tuple[float, float]], dict[str, str]]:
        """Intervals that there are, and why there are no others."""
        q, known = self._quantile(level), self._likelihood
        out, failed = {}, {}
        for i, one in enumerate(self._unknowns):
            if not known.identified[i]:
                out[one.name] = 0.0 if one.logarithm else -np.inf, np.inf
                continue
            z, half = self._estimate.z[i], q * known.sd[i]
            try:
                out[one.name] = one.interval(*(self._profiled(i).interval(q) if profile else (z - half, z + half)))
            except SorosimError as error:
                failed[one.name] = str(error)
        return out, failed

    @cached_property
    def nonlinearity(self) -> dict[str, float]:
        """How far the ends of the 95 % intervals by the covariance are off, as a part of their half widths.

        They are those of a model that is linear in what is fitted. At most three simulations an end tell how many
        standard errors away it is by the profile likelihood. Infinite where an end is no possible robot.
        """
        return self._nonlinearity[0]

    @cached_property
    def _nonlinearity(self) -> tuple[dict[str, float], dict[str, str]]:
        """`nonlinearity`, and why there is none."""
        off, failed = self._likelihood.nonlinearity(self._quantile(LEVEL))
        return dict(zip(self.names, off.tolist(), strict=True)), {self.names[i]: why for i, why in failed.items()}

    @cached_property
    def _likelihood(self) -> Likelihood:
        return Likelihood(self._problem, self._estimate)

    def _profiled(self, i: int) -> ProfiledCost:
        return ProfiledCost(self._likelihood, i, self._max_evaluations)

    def profile(self, name: str, n: int = 15, level: float = LEVEL) -> Profile:
        """Profile likelihood of a number, which shows how far its interval is from that of a parabola.

        Parameters
        ----------
        name : str
            One of `names`.
        n : int
            Number of values, at least 5, to somewhat beyond the ends of the interval.
        level : float
            Of the interval.
        """
        i, n = self._index(name), Integer(5, MAX_VALUES).argument("n", n)
        one, cost, best = self._unknowns[i], self._profiled(i), self._estimate.z[i]
        q, known = self._quantile(level), self._likelihood
        ends = np.array(cost.interval(q) if known.identified[i] else (-np.inf, np.inf))
        reach = BEYOND * np.where(np.isfinite(ends), ends - best, np.array([-q, q]) * known.sd[i])
        z = best + np.interp(np.linspace(-1.0, 1.0, n), (-1.0, 0.0, 1.0), (reach[0], 0.0, reach[1]))
        z = np.unique(np.clip(z, known.low[i], known.high[i]))
        return Profile(np.array([one.at(x) for x in z]), cost.values(z.tolist()), one.interval(*ends))

    def _quantile(self, level: float) -> float:
        level = number("level", level, "a probability between 0 and 1", above=0.0, upto=1.0 - 1e-12)
        tail, dof = 0.5 + 0.5 * level, self._estimate.dof
        return float(stats.norm.ppf(tail) if np.isinf(dof) else stats.t.ppf(tail, dof))

    # -- how well they fit -------------------------------------------------------------------------------------------

    @property
    def simulated(self) -> tuple[Array, ...]:
        """What the fitted robot shows (n, n_outputs), for each of the data; `outputs` has the names."""
        return self._estimate.trial.simulated

    @cached_property
    def simulated_before(self) -> tuple[Array, ...]:
        """What the robot showed before."""
        model = self._problem.model
        return Model(model.robot, model.data, self._unknowns).at(np.array(list(self.initial.values()))).simulated

    @property
    def measured(self) -> tuple[Array, ...]:
        """What was measured (n, n_outputs), NaN in gaps."""
        return tuple(bound.values for bound in self._problem.model.data)

    @property
    def output_units(self) -> tuple[tuple[str, ...], ...]:
        """SI units of the columns of `simulated`."""
        return tuple(bound.units for bound in self._problem.model.data)

    @property
    def outputs(self) -> tuple[tuple[str, ...], ...]:
        """Names of the columns of `simulated`, such as "tip.x", for each of the data."""
        return tuple(bound.names for bound in self._problem.model.data)

    @cached_property
    def residuals(self) -> Array:
        """Simulated less measured [SI], (n,), of all that counts: data by data, row by row."""
        rows = zip(self.simulated, self._problem.measured, self._problem.model.valid, strict=True)
        return np.concatenate([(x - y)[valid] for x, y, valid in rows])

    @cached_property
    def errors(self) -> Errors:
        """How far the fitted robot is off the measurements."""
        return _errors(self._problem.model, self.simulated)

    @cached_property
    def errors_before(self) -> Errors:
        """How far it was off before."""
        return _errors(self._problem.model, self.simulated_before)

    def validate(self, data: Data) -> Errors:
        """How far the fitted robot is off other measurements, which took no part in the fit."""
        robot = self._problem.model.robot
        model = Model(robot, _bound(robot, data), self._unknowns)
        return _errors(model, model.at(self._estimate.trial.p).simulated)

    def summary(self, profile: bool = False) -> str:
        """A table of the numbers, what is not identified, and errors before and after; `profile` as in `interval`."""
        level, cut = self._intervals(LEVEL, profile)
        head = ("number", "start", "value", "standard error", f"{100.0 * LEVEL:g} % interval", "unit")
        rows = [head] + [
            (one.name, f"{one.value:.5g}", f"{p:.5g}", _short(self.standard_errors[one.name]),
             f"{_short(level[one.name][0])} to {_short(level[one.name][1])}" if one.name in level else "none", one.unit)
            for one, p in zip(self._unknowns, self._estimate.trial.p, strict=True)
        ]  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        n = counted(self._problem.n, "measured number")
        given = "as given" if self._problem.known else f"{_with_unit(self.noise, self._noise_unit, 3)} estimated"
        lines.append(f"{n}; scale of the noise {given}; {self.message}")
        lines += [f"not identified: {_direction(one)}" for one in self.null_directions]
        if weak := [name for name, is_weak in self.weak.items() if is_weak]:
            lines.append(f"weak: {', '.join(weak)}, which may be half of it or twice as much")
        for i, k in zip(*np.nonzero(np.triu(np.abs(self.correlation) > CORRELATED, 1)), strict=True):
            lines.append(f"correlated: {self.names[i]} and {self.names[k]}, {_correlation(self.correlation[i, k])}")
        cut = cut or {} if profile else self._nonlinearity[1]
        lines += [f"interval of {name} passes what the robot can be: {why}" for name, why in cut.items()]
        if rough := [] if profile else [name for name, off in self._nonlinearity[0].items() if LINEAR < off < np.inf]:
            most = 100.0 * max(self.nonlinearity[name] for name in rough)
            off = f"approximate, with ends off by up to {most:.2g} % of half their width"
            lines.append(f"intervals of {', '.join(rough)} are {off}; profile=True (--profile) corrects them")
        units = {x: u for bound in self._problem.model.data for x, u in zip(bound.names, bound.units, strict=True)}
        for key, rms in self.errors.rms.items():
            unit = "m" if key in self.errors.distance else units[key]
            before_and_after = (_with_unit(x, unit, 4) for x in (self.errors_before.rms[key], rms))
            lines.append("{}: rms error {} before, {} after".format(key, *before_and_after))
        if len(self.errors.distance) > 1:
            mean = 1e3 * self.errors_before.mean_distance, 1e3 * self.errors.mean_distance
            lines.append(f"mean distance of markers: {mean[0]:.4g} mm before, {mean[1]:.4g} mm after")
        return "\n".join(lines)

    # -- files -------------------------------------------------------------------------------------------------------

    @property
    def described(self) -> Robot:
        """The robot before the fit."""
        return self._problem.model.robot

    @property
    def _data(self) -> list[dict[str, Any]]:
        pairs = zip(self._problem.model.data, self._problem.sd, strict=True)
        return [{**bound.as_data(), "deviation": sd} for bound, sd in pairs]

    @property
    def _priors(self) -> Array:
        return np.array(self._problem.priors, dtype=float).reshape(-1, 3)

    @classmethod
    def restored(cls, stored: Mapping[str, Any], robot: Robot) -> Fit:
        """The fit from the content of a file that was checked, and its robot."""
        kept = cls.parts(stored, robot)
        given, found = kept["_data"], kept["_estimate"]
        sd = tuple(np.asarray(one.pop("deviation")) for one in given)
        model = Model(robot, [restored(one).bind(robot) for one in given], kept["_unknowns"])
        priors = [(int(i), float(mean), float(sd)) for i, mean, sd in kept["_priors"]]
        problem, trial = (
            Problem(model, sd, priors, kept["loss"], kept["known"]),
            model.at(values_of(model.unknowns, found["z"])),
        )
        return cls(problem, Estimate(**found, trial=trial, converged=True), kept["_max_evaluations"])

    def __repr__(self) -> str:
        lost = "" if all(self.identifiable.values()) else ", not all identified"
        n = counted(len(self.names), "number")
        return f"<Fit of '{self.robot.name}': {n} to {self._problem.n} measured ones{lost}>"

    @property
    def _unknowns(self) -> tuple[Unknown, ...]:
        return self._problem.model.unknowns

    def _index(self, name: str) -> int:
        return self.names.index(choice("name", name, self.names))


def _errors(model: Model, simulated: Sequence[Array]) -> Errors:
    distance: dict[str, list[Array]] = {}
    channels: dict[str, list[Array]] = {}
    for bound, rows, valid in zip(model.data, simulated, model.valid, strict=True):
        off = rows - bound.values
        for owner in dict.fromkeys(bound.owners):
            own = np.array([name == owner for name in bound.owners]) & valid.any(axis=0)
            if owner in bound.markers:
                whole = valid[:, own].all(axis=1)
                distance.setdefault(owner, []).append(np.linalg.norm(off[whole][:, own], axis=1))
                channels.setdefault(owner, []).append(off[:, own][valid[:, own]])
            else:
                for k in np.flatnonzero(own):
                    channels.setdefault(bound.names[k], []).append(off[valid[:, k], k])
    joined = {name: np.concatenate(parts) for name, parts in distance.items()}
    every = {name: np.concatenate(parts) for name, parts in channels.items()}
    return Errors(joined, {name: float(np.sqrt(np.mean(x**2))) if len(x) else np.nan for name, x in every.items()})


def _short(x: float) -> str:
    return f"{x:.4g}"


def _with_unit(x: float, unit: str, digits: int) -> str:
    """A size with its unit; lengths in mm."""
    factor, unit = (1e3, "mm") if unit == "m" else (1.0, unit)
    return f"{factor * x:.{digits}g} {unit}".rstrip()


def _correlation(x: float) -> str:
    """A correlation with two digits of what is missing to 1."""
    missing = max(1.0 - abs(x), 1e-15)
    return f"{x:.{max(2, 1 - int(np.floor(np.log10(missing))))}f}"


def _direction(parts: Mapping[str, float]) -> str:
    """A null direction in words."""
    if len(parts) == 1:
        return f"{next(iter(parts))}, which changes nothing that was measured beyond the noise"
    return "only a combination of " + ", ".join(f"{name} ({x:+.3g})" for name, x in parts.items())
