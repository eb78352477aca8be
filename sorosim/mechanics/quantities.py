"""Quantities of a run: their units, their values over time, and summaries, which bring them down to one number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
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
            The run has no time after `after`.
        """
        t, x = self._counted(t, x)
        if self.how in _OF_VALUES:
            return float(_OF_VALUES[self.how](x))
        if len(t) == 1:
            return {"mean": float(x[0]), "rms": float(abs(x[0])), "rate": np.nan}[self.how]
        span = t[-1] - t[0]
        if self.how == "rate":
            return float((x[-1] - x[0]) / span)
        y = x if self.how == "mean" else x**2
        mean = float(np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(t)) / span)
        return mean if self.how == "mean" else float(np.sqrt(mean))

    def _counted(self, t: Array, x: Array) -> tuple[Array, Array]:
        """What counts: from `after` on, where the value is interpolated, so it does not depend on the rows."""
        start = self.after
        if start <= t[0]:
            return t, x
        if not start < t[-1]:
            raise InputError("after", f"a time before the end of the run, {t[-1]:g} s", f"{start:g} s")
        k = int(np.searchsorted(t, start, side="right"))
        first = x[k - 1] + (x[k] - x[k - 1]) * (start - t[k - 1]) / (t[k] - t[k - 1])
        return np.concatenate([[start], t[k:]]), np.concatenate([[first], x[k:]])


_OF_VALUES: dict[str, Callable[[Array], Any]] = {
    "last": lambda x: x[-1], "min": np.min, "max": np.max, "range": np.ptp, "amplitude": lambda x: 0.5 * np.ptp(x),
}  # fmt: skip
REDUCTIONS = tuple(name for name in Summary.declaration() if name != "after")
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
        if t_end is not None and not one.after < t_end:
            raise InputError(f"{where}.{name}.after", *too_late(one, t_end))
    return found


def summarized(run: Any, where: str, summary: Any) -> dict[str, tuple[float, str]]:
    """Summaries of a run by name: number and unit; raises what `summaries_of` does."""
    known = quantities(run.robot, tuple(run.driven), tips(run.robot))
    given = summaries_of(where, summary, known, float(run.t[-1]) if len(run.t) else None)
    if given and not len(run.t):
        raise InputError("run", "a run with rows", "an empty one")
    pairs = ((name, one, known[one.quantity]) for name, one in given.items())
    return {name: (one.number(*quantity.history(run)), one.unit(quantity.unit)) for name, one, quantity in pairs}


def too_late(summary: Summary, t_end: float) -> tuple[str, str]:
    """What is expected and what came, where a summary begins after the end of the run."""
    return f"a time before the end of the run, {t_end:g} s", f"{summary.after:g} s"
