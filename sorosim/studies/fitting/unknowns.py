"""What a fit may change: numbers of the file, offsets of markers, scales of inputs, shifts of time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sorosim.analysis.sensitivity import file_parameters, scalars_of
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, SorosimError, nearest
from sorosim.base.validation import describe
from sorosim.files.vary import Scalars
from sorosim.mechanics.engine.parameter import FILE, Parameter, input_parameter
from sorosim.mechanics.engine.quantities import extent
from sorosim.mechanics.robot import Robot
from sorosim.studies.fitting.measurements import BoundData

# kinds beside FILE, which are the first words of names as those of parameters are, and what result files call them
OFFSET, SCALE, SHIFT = "marker", "input", "time"
KINDS = {FILE: "number of the file", OFFSET: "offset of a marker", SCALE: "scale of an input", SHIFT: "shift of time"}
# as a part of its value: how far a number is changed in search of what the file accepts, and how exactly that is found
FAR, LIMIT = 1e3, 1e-6
# of its scale: how near to a bound a number is at it
AT_BOUND = 1e-6
# of trials of positive numbers: the largest logarithm of their ratio to the start
LOG_MOST = 100.0
# of the duration of a motion: the shift of time is less, unless bounds say otherwise
SHIFTED = 0.05
_MARKER = re.compile(r"marker\.(.+)\.offset(?:\[([012])\])?")
_OTHERS = (re.compile(r"input\.(.+)\.scale"), SCALE), (re.compile(r"time(?:\.(.+))?\.shift"), SHIFT)


@dataclass(frozen=True)
class Unknown(Parameter):
    """A parameter that a fit may change, from its value on.

    `target` is a path, a marker, an actuator, or the name of the data. It is fitted as z: 1 + log(p / value), or
    1 + (p - value) / scale.
    """

    axis: int = 0  # of an offset
    scale: float = 1.0
    logarithm: bool = False

    @property
    def name(self) -> str:
        """As `fit` takes it."""
        if self.kind == OFFSET:
            return f"marker.{self.target}.offset[{self.axis}]"
        if self.kind == SCALE:
            return f"input.{self.target}.scale"
        if self.kind == SHIFT:
            return f"time.{self.target}.shift" if self.target else "time.shift"
        return self.target

    @property
    def kind_in_words(self) -> str:
        """What result files call its kind."""
        return KINDS.get(self.kind, self.kind)

    @classmethod
    def stored(cls, kind: str, start: float, **parts: Any) -> Unknown:
        """One of the parts in a result file."""
        kinds = {words: known for known, words in KINDS.items()}
        return cls(kind=kinds.get(kind, kind), value=start, **parts)

    def at(self, z: float) -> float:
        """The number itself, within its bounds."""
        free = self.value * np.exp(min(z - 1.0, LOG_MOST)) if self.logarithm else self.value + self.scale * (z - 1.0)
        return float(np.clip(free, self.low, self.high))

    def z(self, value: float) -> float:
        """Where it is fitted."""
        if not self.logarithm:
            return 1.0 + (value - self.value) / self.scale
        return 1.0 + float(np.log(value / self.value)) if value > 0.0 else -np.inf

    def interval(self, low: float, high: float) -> tuple[float, float]:
        """The interval of the number between two z; infinite ones are the bounds."""
        return (self.at(low) if np.isfinite(low) else self.low, self.at(high) if np.isfinite(high) else self.high)

    def slope(self, value: float) -> float:
        """Derivative of the number by z."""
        return value if self.logarithm else self.scale

    def at_bound(self, value: float) -> bool:
        """Whether a value is at one of the bounds."""
        near = AT_BOUND * self.scale
        return value >= self.high - near or (value <= self.low + near and not (self.logarithm and self.low == 0.0))


def unknowns_of(
    robot: Robot, data: Sequence[BoundData], free: Sequence[str], bounds: Mapping[str, object] | None
) -> list[Unknown]:
    """The unknowns of a fit, with their bounds; wrong names and bounds are refused (InputError)."""
    if isinstance(free, str) or not isinstance(free, Sequence) or not len(free):
        raise InputError("free", "names of what is fitted", describe(free))
    out = [one for name in free for one in _named(robot, data, name)]
    names = [one.name for one in out]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError("free", "every name once", f"'{twice[0]}' twice")
    given = by_unknown("bounds", bounds, names)
    return [_bounded(one, given[one.name]) if one.name in given else one for one in out]


def by_unknown(where: str, given: Mapping[str, object] | None, names: Sequence[str]) -> dict[str, Any]:
    """Pairs by the names of unknowns; that of a list stands for each of its entries."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(where, "a mapping of names to pairs of numbers", describe(given))
    out: dict[str, Any] = {}
    for name, pair in (given or {}).items():
        own = [one for one in names if one == name or one.startswith(f"{name}[")]
        if not own:
            raise InputError(where, "names that are free", f"'{name}'", nearest(str(name), names))
        if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise InputError(f"{where}.{name}", "a pair of numbers", describe(pair))
        out |= dict.fromkeys(own, pair)
    return out


def _bounded(one: Unknown, pair: Sequence[object]) -> Unknown:
    """The unknown between bounds, None being open."""
    where = f"bounds.{one.name}"
    own = one.ends(where, pair)
    low, high = (default if np.isinf(x) else x for x, default in zip(own, (one.low, one.high), strict=True))
    if not low < high:
        raise InputError(where, "a lower bound below the upper one", f"{low:g} and {high:g}")
    if not low <= one.value <= high:
        hint = f"begin elsewhere: robot.with_values({{'{one.name}': ...}})" if one.kind == FILE else ""
        raise InputError(where, f"bounds about the start, {one.value:g}", f"{low:g} and {high:g}", hint)
    if one.kind != SHIFT:
        tolerance = 2.0 * LIMIT * one.scale  # limits of the file are known to that
        if low < one.low - tolerance or high > one.high + tolerance:
            expected = f"bounds within {one.low:.5g} and {one.high:.5g}, where the number is possible"
            raise InputError(where, expected, f"{low:g} and {high:g}")
        low, high = max(low, one.low), min(high, one.high)
    return replace(one, low=low, high=high)


def _named(robot: Robot, data: Sequence[BoundData], name: str) -> Iterator[Unknown]:
    """The unknowns of a name: three of an offset of a marker, one of others."""
    if isinstance(name, str) and (found := _MARKER.fullmatch(name)):
        places = {m: bound.offsets[k] for bound in data for k, m in enumerate(bound.markers)}
        offset = places.get(found[1])
        if offset is None:
            raise InputError("free", "the name of a marker", f"'{found[1]}'", nearest(found[1], places))
        for axis in range(3) if found[2] is None else [int(found[2])]:
            at, size = float(offset[axis]), extent_of(robot)
            yield Unknown(OFFSET, found[1], "length", value=at, axis=axis, scale=size)
        return
    for pattern, kind in _OTHERS:
        if isinstance(name, str) and (found := pattern.fullmatch(name)):
            yield _other(robot, data, name, kind, found[1] or "")
            return
    yield of_file(robot, scalars_of(robot), name)


def _other(robot: Robot, data: Sequence[BoundData], name: str, kind: str, target: str) -> Unknown:
    if kind == SCALE:
        actuator = input_parameter(robot, target, "free").target
        return Unknown(kind, actuator, "number", low=0.0, value=1.0, logarithm=True)
    motions = {bound.source.name: bound.source for bound in data if bound.source.t is not None}
    named = {key: source for key, source in motions.items() if target in ("", key)}
    if not named:
        what = "the name of a motion" if target else "a motion, whose time may be shifted"
        raise InputError("free", what, f"'{name}'", nearest(target, motions) if target else "equilibria have no times")
    most = SHIFTED * min(source.dt * (source.n - 1) for source in named.values())
    return Unknown(kind, target, "time", low=-most, high=most, value=0.0, scale=most)


def of_file(robot: Robot, file: Scalars, name: str) -> Unknown:
    """A number of the file, between the least and the greatest that the file accepts."""
    try:
        (one,) = file_parameters(file, [name])
    except InputError as error:
        hint = f"{error.hint}; or marker.NAME.offset, input.NAME.scale, time.shift"
        raise InputError("free", "the path of a number in the robot's file", error.got, hint) from None
    start, dimension = one.value, one.dimension or "number"
    scale = abs(start) or (extent_of(robot) if dimension == "length" else 1.0)

    def accepted(value: float) -> bool:
        try:
            file.changed(name, value)
        except SorosimError:
            return False
        return True

    positive = start > 0.0 and not accepted(-LIMIT * start)
    low = 0.0 if positive else _limit(accepted, start, start - FAR * scale)
    high = _limit(accepted, start, start + FAR * scale)
    return Unknown(FILE, name, dimension, low=low, high=high, value=start, scale=scale, logarithm=positive)


def _limit(accepted: Callable[[float], bool], inside: float, outside: float) -> float:
    """Last number towards another one that is accepted, by bisection; infinite if the other one is, too."""
    if accepted(outside):
        return float(np.inf if outside > inside else -np.inf)
    tolerance = LIMIT * (abs(inside) or 1.0)
    while abs(outside - inside) > tolerance:
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if accepted(middle) else (inside, middle)
    return inside


def extent_of(robot: Robot) -> float:
    """Largest extent of the robot as it is built, the world's origin included [m]."""
    nodes, zero = np.arange(len(robot.engine.tree.inertia)), np.zeros(robot.ndof)
    places = robot.engine.poses(nodes, zero, zero)[0][:, :3, 3]
    return extent(places) or 1.0


def values_of(unknowns: Sequence[Unknown], z: Array) -> Array:
    """The numbers themselves."""
    return np.array([one.at(x) for one, x in zip(unknowns, z, strict=True)])
