"""Quantities of a run: their units, their values over time, and summaries, which bring them down to one number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.declare import At, Declared, MapOf, Name, Part, Text, key
from sorosim.base.declare import Quantity as Number
from sorosim.base.errors import InputError, ModelError, nearest
from sorosim.base.problems import shown
from sorosim.base.units.table import DIMENSIONS
from sorosim.mechanics.engine.quantities import rod_strain
from sorosim.mechanics.engine.records import force_name
from sorosim.mechanics.model.basis import STRAINS
from sorosim.mechanics.robot import Robot

AXES = ("x", "y", "z")
UNITS_OF_STRAINS = ("1/m",) * 3 + ("-",) * 3
ENERGIES = ("kinetic", "elastic", "gravity", "total", "work", "dissipated")


class Quantity(NamedTuple):
    """A quantity of a run."""

    unit: str  # SI, "" of none
    history: Callable[[Any], tuple[Array, Array]]  # times and values of a Run


class Output(NamedTuple):
    """A place on a link."""

    label: str
    link: str
    s: float


def output(link: str, s: float) -> Output:
    """A place on a link, with what it is called in columns."""
    written = f"{s:g}" if float(f"{s:g}") == s else repr(s)
    return Output(link if s == 1.0 else f"{link}({written})", link, s)


def tips(robot: Robot) -> tuple[Output, ...]:
    """The ends of all links with a body, then sections among the outputs of the robot."""
    with_body = [(link.name, 1.0) for link in robot.links if link.rod is not None or link.body is not None]
    return tuple(output(*place) for place in dict.fromkeys([*with_body, *robot.outputs.places]))


def quantities(robot: Robot, driven: Sequence[str], places: Sequence[Output]) -> dict[str, Quantity]:
    """Quantities of a run by name."""

    def at_rows(values: Callable[[Any], Array]) -> Callable[[Any], tuple[Array, Array]]:
        return lambda run: (run.t, values(run))

    def position(place: Output, k: int) -> Callable[[Any], tuple[Array, Array]]:
        return at_rows(lambda run: run.positions(place.link, place.s)[:, k])

    def column(attribute: str, k: int) -> Callable[[Any], tuple[Array, Array]]:
        return at_rows(lambda run: getattr(run, attribute)[:, k])

    def force(name: str) -> Callable[[Any], tuple[Array, Array]]:
        return at_rows(lambda run: run.driven[name])

    def energy(name: str) -> Callable[[Any], tuple[Array, Array]]:
        return at_rows(lambda run: np.asarray(getattr(run.energy(), name)))

    def reading(name: str, k: int) -> Callable[[Any], tuple[Array, Array]]:
        return lambda run: (run.readings[name].t, run.readings[name].values[:, k])

    def strain(place: Output, k: int) -> Callable[[Any], tuple[Array, Array]]:
        layout = robot.engine.layout.links[place.link]
        return at_rows(lambda run: rod_strain(layout, run.q, place.s)[:, k])

    rods = {link.name for link in robot.links if link.rod is not None}
    rows = [(f"{place.label}.{axis}", "m", position(place, k)) for place in places for k, axis in enumerate(AXES)]
    rows += [
        (f"{place.label}.{name}", UNITS_OF_STRAINS[k], strain(place, k))
        for place in places for k, name in enumerate(STRAINS) if place.link in rods
    ]  # fmt: skip
    units = (DIMENSIONS[dimension].unit for dimension in robot.engine.layout.dimensions)
    names = zip(robot.coordinate_names, units, strict=True)
    rows += [(name, unit, column("q", k)) for k, (name, unit) in enumerate(names)]
    inputs = zip(robot.actuator_names, robot.actuator_units, strict=True)
    rows += [(f"u.{name}", unit, column("u", k)) for k, (name, unit) in enumerate(inputs)]
    forces = zip(driven, robot.driven_units(driven), strict=True)
    rows += [(force_name(name, unit), unit, force(name)) for name, unit in forces]
    rows += [(f"energy.{name}", "J", energy(name)) for name in ENERGIES]
    for name, reader in robot.instruments.readers.items():
        channels = zip(reader.channels, reader.units, strict=True)
        rows += [(f"{name}.{channel}", unit, reading(name, k)) for k, (channel, unit) in enumerate(channels)]
    return {name: Quantity(unit, history) for name, unit, history in rows}


# -- summaries ---------------------------------------------------------------------------------------------------------


def _of(doc: str) -> Any:
    return key(Text("a quantity, such as arm.z"), doc, "arm.z", default=None)


@dataclass(frozen=True)
class Summary(Declared, title="Summaries"):
    """A quantity of a run as one number: ``{mean: arm.z, after: 2 s}``."""

    label = "summary"

    _: KW_ONLY
    last: str | None = _of("The value at the end.")
    min: str | None = _of("The least value.")
    max: str | None = _of("The greatest value.")
    mean: str | None = _of("The mean over time, by the trapezoidal rule.")
    rms: str | None = _of("The root of the mean square over time.")
    range: str | None = _of("The greatest value less the least.")
    amplitude: str | None = _of("Half of the range.")
    rate: str | None = _of("The mean rate of change: from the first value to the last, per time.")
    after: float = key(
        Number("time", least=0.0), "Time from which on the run counts, such as the end of its transient.", "2 s",
        default=0.0,
    )  # fmt: skip
    until: float | None = key(
        Number("time", above=0.0), "Time up to which the run counts: {last: arm.z, until: 1 s} is the value at 1 s.",
        "1 s", default=None,
    )  # fmt: skip

    @classmethod
    def expected(cls) -> str:
        return "a mapping of one of " + ", ".join(REDUCTIONS) + " to a quantity"

    @classmethod
    def read(cls, data: object, at: At) -> Any:
        if not isinstance(data, Mapping | cls):
            return at.fail(cls.expected(), shown(data), "as in {max: arm.z} or {mean: arm.z, after: 2 s}")
        return super().read(data, at)

    @classmethod
    def unknown_key(cls, name: str, value: object, at: At) -> None:
        at.fail(cls.expected(), shown(name), nearest(str(name), cls.key_names()))

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        hows = [name for name in REDUCTIONS if name in data]
        if len(hows) != 1 and not set(data) - set(cls.key_names()):
            raise ModelError("", cls.expected(), " and ".join(hows) or "none", "as in {mean: arm.z, after: 2 s}")

    def validate(self) -> None:
        self.check_keys({name: value for name in REDUCTIONS if (value := getattr(self, name)) is not None})
        self.check_window()

    def check_window(self) -> None:
        """Refuse an end before the begin (ModelError)."""
        if self.until is not None and not self.until > self.after:
            raise ModelError("until", f"a time after {self.after:g} s, which `after` says", f"{self.until:g} s")

    @property
    def how(self) -> str:
        """Which number: one of `REDUCTIONS`."""
        return next(name for name in REDUCTIONS if getattr(self, name) is not None)

    @property
    def quantity(self) -> str:
        """Name of the quantity."""
        return str(getattr(self, self.how))

    def unit(self, unit: str) -> str:
        """Unit of the number, of a quantity in `unit`."""
        return unit if self.how != "rate" else f"{unit if unit.strip('-') else '1'}/s"

    def number(self, t: Array, x: Array) -> float:
        """The number of values x (n,) at times t (n,) [s].

        Raises
        ------
        InputError
            The run has no time between `after` and `until`.
        """
        t, first, second, part = self._window(t)
        x = x[first] + part * (x[second] - x[first])
        if self.how in _OF_VALUES:
            return float(_OF_VALUES[self.how](x))
        if len(t) == 1:
            return {"mean": float(x[0]), "rms": float(abs(x[0])), "rate": np.nan}[self.how]
        if self.how == "rate":
            return float((x[-1] - x[0]) / (t[-1] - t[0]))
        share = _shares(t)
        return float(share @ x if self.how == "mean" else np.sqrt(share @ x**2))

    def slope(self, t: Array, x: Array) -> Array:
        """Derivatives (n,) of the number by the values; of extreme ones where each is met once, of an rms of 0 zero."""
        out = np.zeros(len(t))
        t, first, second, part = self._window(t)
        x = x[first] + part * (x[second] - x[first])
        own, n = np.zeros(len(t)), len(t) - 1
        if self.how in ("range", "amplitude"):
            own[[np.argmax(x), np.argmin(x)]] += np.array([1.0, -1.0]) * (1.0 if self.how == "range" else 0.5)
        elif self.how in ("last", "min", "max"):
            own[{"last": n, "min": int(np.argmin(x)), "max": int(np.argmax(x))}[self.how]] = 1.0
        elif self.how == "rate":
            own[[0, n]] = np.array([-1.0, 1.0]) / (t[n] - t[0]) if n else np.nan
        else:
            share = _shares(t) if n else np.ones(1)
            size = float(np.sqrt(share @ x**2))
            own = share if self.how == "mean" else share * x / size if size else own
        np.add.at(out, first, (1.0 - part) * own)
        np.add.at(out, second, part * own)
        return out

    def _window(self, t: Array) -> tuple[Array, IntArray, IntArray, Array]:
        """What counts of rows at times t, from `after` to `until`, where values are interpolated.

        Returns times (m,), the rows (m,) before and after each, and the part (m,) of the way between them.
        """
        end = t[-1] if self.until is None else self.until
        if late := too_late(self, float(t[-1])) if self.after > t[0] or self.until is not None else None:
            raise InputError(*late)
        own = np.flatnonzero((t >= self.after) & (t <= end))
        between = [time if t[0] < time < t[-1] and time not in t else None for time in (self.after, end)]
        at = [[] if time is None else [int(np.searchsorted(t, time)) - 1] for time in between]
        rows = np.array([*at[0], *own, *at[1]], dtype=np.int64)
        part = np.zeros(len(rows))
        for place, time in zip((0, -1), between, strict=True):
            if time is not None:
                k = rows[place]
                part[place] = (time - t[k]) / (t[k + 1] - t[k])
        after = np.where(part > 0.0, np.minimum(rows + 1, len(t) - 1), rows)
        return t[rows] + part * (t[after] - t[rows]), rows, after, part


def _shares(t: Array) -> Array:
    """Parts (n,) that values at times t have in their mean over time, by the trapezoidal rule."""
    half = 0.5 * np.diff(t) / (t[-1] - t[0])
    return np.asarray(np.concatenate([half, [0.0]]) + np.concatenate([[0.0], half]))


# of the end of a run, by which a time may be beyond it
SAME_TIME = 1e-9
_OF_VALUES: dict[str, Callable[[Array], Any]] = {
    "last": lambda x: x[-1], "min": np.min, "max": np.max, "range": np.ptp, "amplitude": lambda x: 0.5 * np.ptp(x),
}  # fmt: skip
REDUCTIONS = tuple(name for name in Summary.declaration() if name not in ("after", "until"))
SUMMARIES = MapOf(Part(Summary), Name())


def summaries_of(
    where: str, given: object, known: Mapping[str, Quantity], t_end: float | None = None
) -> dict[str, Any]:
    """Summaries by name, checked against the quantities that there are, and the end of the run where it is known.

    Raises
    ------
    InputError
        What is given is none, or no quantity of the run, or begins after its end.
    """
    found: dict[str, Summary] = SUMMARIES.argument(where, given)
    for name, one in found.items():
        if one.quantity not in known:
            hint = nearest(one.quantity, known)
            raise InputError(f"{where}.{name}.{one.how}", "a quantity of a run", f"'{one.quantity}'", hint)
        if t_end is not None and (late := too_late(one, t_end)):
            raise InputError(f"{where}.{name}.{late[0]}", *late[1:])
    return found


def summarized(run: Any, where: str, summary: Any) -> dict[str, tuple[float, str]]:
    """Summaries of a run by name: number and unit; raises what `summaries_of` does."""
    known = quantities(run.robot, tuple(run.driven), tips(run.robot))
    given = summaries_of(where, summary, known, float(run.t[-1]) if len(run.t) else None)
    if given and not len(run.t):
        raise InputError("run", "a run with rows", "an empty one")
    pairs = ((name, one, known[one.quantity]) for name, one in given.items())
    return {name: (one.number(*quantity.history(run)), one.unit(quantity.unit)) for name, one, quantity in pairs}


def too_late(summary: Summary, t_end: float) -> tuple[str, str, str] | None:
    """The key of a summary that is beyond the end of the run, what is expected and what came; None: neither is."""
    if not summary.after < t_end:
        return "after", f"a time before the end of the run, {t_end:g} s", f"{summary.after:g} s"
    if summary.until is not None and summary.until > t_end * (1.0 + SAME_TIME):
        return "until", f"a time up to the end of the run, {t_end:g} s", f"{summary.until:g} s"
    return None
