"""The contract of a sensor.

1. A sensor is a frozen description: its target, rate, noise and bias. `Sensor` is the base class.
2. `bind(sites)` looks up its target, once, and returns a `Reader`; it refuses a target that the robot does not have.
3. A reader has channels, in groups of one unit, and computes them from a `State` of one time, without errors. It
   keeps no state: the same state gives the same values, from any thread.
4. `accelerates` says whether a reading needs accelerations or wrenches, for which a run has to solve the dynamics anew.
5. Errors are bias + noise, added to the channels; a sensor whose channels are no plain numbers adds them its own way.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.declare import (
    INVALID,
    MISSING,
    NOTHING,
    At,
    Declared,
    Integer,
    Key,
    OneOf,
    Quantity,
    Type,
    Writer,
    key,
)
from sorosim.base.declare.base import Define
from sorosim.base.declare.composite import both
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import listed, shown
from sorosim.base.registry import SENSORS, Registry
from sorosim.base.units.table import DIMENSIONS
from sorosim.mechanics.sensors.state import SensorSites, State


class Group(NamedTuple):
    """Channels of one unit."""

    label: str
    unit: str
    dimension: str  # as files call it
    names: tuple[str, ...]
    # between which readings lie, whatever the robot does
    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Reader:
    """A sensor bound to its robot."""

    groups: tuple[Group, ...]
    read: Callable[[State], Array]  # (n_channels,)
    by_q: Callable[[State], Array] | None = None  # derivatives (n_channels, ndof), of what rests on q alone
    # derivatives (n_channels, n) of what rests on q, u and the multipliers, at rest, along n changes of them
    along: Callable[[State, Array, Array, Array], Array] | None = None

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return tuple(name for group in self.groups for name in group.names)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each channel."""
        return tuple(group.unit for group in self.groups for _ in group.names)

    @property
    def is_exact(self) -> bool:
        """Whether `slopes` are exact; else they are differences."""
        return self.along is not None or self.by_q is not None

    def slopes(self, state: State, q_by: Array, u_by: Array, lam_by: Array) -> Array:
        """Derivatives (n_channels, n) along n changes of q, u and the multipliers of a state.

        Exact where `by_q` or `along` is known, else differences of fourth order, whose steps become shorter where they
        do not see a smooth reading, as beside a contact that a step opens.
        """
        if self.along is not None:
            return self.along(state, q_by, u_by, lam_by)
        if self.by_q is not None:
            return np.asarray(self.by_q(state) @ q_by)
        columns = []
        for i in range(q_by.shape[1]):
            size = max(np.abs(change[:, i]).max(initial=0.0) for change in (q_by, u_by, lam_by))
            h = DIFFERENCE / max(np.abs(q_by[:, i]).max(initial=0.0) or size, np.finfo(float).tiny)
            for step in h * SHORTER:
                near, far = (
                    (self.read(state.perturbed(x, q_by[:, i], u_by[:, i], lam_by[:, i]))
                     - self.read(state.perturbed(-x, q_by[:, i], u_by[:, i], lam_by[:, i]))) / (2.0 * x)
                    for x in (step, 2.0 * step)
                )  # fmt: skip
                if np.abs(near - far).max(initial=0.0) <= SMOOTH * np.abs(near).max(initial=0.0):
                    break
            columns.append((4.0 * near - far) / 3.0)
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.channels), 0))


# of coordinates [rad, m, 1], by which differences move a state
DIFFERENCE = 1e-3
# parts of it that follow where differences over one and over two steps are apart by more than this part of them
SHORTER, SMOOTH = np.array([1.0, 0.1, 0.01]), 1e-3
MAX_SEED = 2**64 - 1


@dataclass(frozen=True)
class Errors(Type):
    """Noise or bias: one quantity that fits every channel, or one for each, in their order."""

    least: float = -math.inf
    groups: tuple[Group, ...] = ()
    of_load: bool = False  # so many as the load has points

    def key_of(self, owner: type[Declared], given: Key) -> Key:
        kind: Any = owner
        return replace(given, type=replace(self, groups=kind.error_groups(), of_load=kind.kind == "load"))

    def read(self, value: Any, at: At) -> Any:
        pairs = [(group.dimension, name) for group in self.groups for name in group.names]
        dimensions, names = [dimension for dimension, _ in pairs], [name for _, name in pairs]
        if isinstance(value, Mapping):
            return at.fail("a number, a quantity, or a list with one for each channel", shown(value))
        if not is_list(value):
            return at.attempt(lambda: self._one_for_all(value, dimensions, names))
        if not self.of_load and len(value) != len(names):
            return at.fail(f"one number, or {len(names)}: {', '.join(names)}", f"{len(value)}")
        read = [
            (at / i).attempt(lambda i=i, x=x: Quantity(dimensions[i % len(dimensions)], least=self.least).check(x))  # type: ignore[misc]
            for i, x in enumerate(value)
        ]
        return INVALID if any(entry is INVALID for entry in read) else tuple(read)

    def _one_for_all(self, value: object, dimensions: list[str], names: list[str]) -> float:
        """A quantity that is of all these dimensions, as a bare number is."""
        different = list(dict.fromkeys(dimensions))
        try:
            return max(Quantity(one, least=self.least).check(value) for one in different)  # they are the same number
        except ModelError as error:
            if len(different) == 1 or error.hint:
                raise
            if not isinstance(value, str):
                raise ModelError("", error.expected, error.got, "a list has one for each channel") from None
            units = ", ".join(f"{name} [{DIMENSIONS[one].unit}]" for name, one in zip(names, dimensions, strict=True))
            least = f" of {self.least:g} or more" if math.isfinite(self.least) else ""
            expected = f"{len(names)} numbers{least}, or one in SI units for all: {units}"
            raise ModelError("", expected, error.got) from None

    def write(self, value: object, writer: Writer) -> Any:
        return list(value) if isinstance(value, tuple) else value

    def schema(self, define: Define) -> dict[str, Any]:
        one = {"type": ["number", "string"]}
        return {"anyOf": [one, {"type": "array", "items": one}]}


@dataclass(frozen=True, eq=False)
class Sensor(Declared):
    """Base class of sensors. In a file the target stands under the key of the kind, the common keys beside it."""

    _: KW_ONLY
    rate: float | None = key(
        Quantity("frequency", above=0.0),
        "Samples are taken at the multiples of 1/rate.", "200 Hz", default=None, without="every row of a run",
    )  # fmt: skip
    noise: float | tuple[float, ...] = key(
        Errors(0.0), "Standard deviation of Gaussian noise: one for all channels, or a list with one for each.", "0.02",
        default=0.0,
    )  # fmt: skip
    bias: float | tuple[float, ...] = key(Errors(), "What is added to every sample, as the noise.", "0.02", default=0.0)
    seed: int | None = key(
        Integer(0, MAX_SEED), "Whole number that the noise is drawn by.",
        "7",
        default=None, without="by its name",
    )  # fmt: skip

    delay: float = key(
        Quantity("time", least=0.0), "How much later than it is taken a sample reaches a controller.", "10 ms",
        default=0.0,
    )  # fmt: skip

    registry: ClassVar[Registry] = SENSORS
    groups: ClassVar[tuple[Group, ...]] = ()
    accelerates: ClassVar[bool] = False

    @classmethod
    def own_keys(cls) -> dict[str, Key]:
        """Keys of the kind itself, by the names of fields."""
        return {name: one for name, one in cls.declaration().items() if name not in SHARED}

    @classmethod
    def example(cls) -> str:
        """What a file says of one: the name of its target, or the keys that are required."""
        own = list(cls.own_keys().values())
        return own[0].example if len(own) == 1 else super().example()

    @classmethod
    def read_own(cls, given: Mapping[str, object], at: At) -> dict[str, Any]:
        """Fields from what stands under the key of the kind; INVALID among them where a mistake was noted."""
        own = cls.own_keys()
        known = [one.name for one in own.values()]
        unknown = [name for name in given if name not in known]
        for name in unknown:
            beside = f"write it beside '{cls.kind}'" if name in SHARED else nearest(str(name), known)
            (at / name).fail("a known key", shown(name), beside, at_key=True)
        values = dict.fromkeys(unknown, INVALID)
        for name, one in own.items():
            value = one.type.take(given, one, at)
            if value is not MISSING:
                values[name] = value
            elif one.required and not values:
                example = f"for instance {one.name}: {one.example}"
                values[name] = at.fail(f"the key '{one.name}'", "nothing", example)
        return values

    @classmethod
    def read_sensor(cls, given: object, data: Mapping[str, object], at: At) -> Any:
        """A sensor from what stands under the key of its kind, and beside it."""
        own, here = cls.own_keys(), At(at.scope, (*at.path, cls.kind), data)
        shared = {name: one.type.take(data, one, at) for name, one in cls.shared_keys(given, at).items()}
        if given is None:
            return here.fail(*NOTHING)
        if len(own) == 1:  # a name
            values = {name: one.type.read(given, here) for name, one in own.items()}
        elif isinstance(given, Mapping):
            values = cls.read_own(given, here)
        else:
            return here.fail("a mapping with the keys " + ", ".join(one.name for one in own.values()), shown(given))
        if any(value is INVALID for value in (*values.values(), *shared.values())):
            return INVALID
        values |= {name: value for name, value in shared.items() if value is not MISSING}
        return at.attempt(lambda: cls.make(values, at))

    @classmethod
    def shared_keys(cls, given: object, at: At) -> dict[str, Key]:
        """Keys beside that of the kind, by the names of fields."""
        return {name: one for name, one in cls.declaration().items() if name in SHARED}

    @property
    def target(self) -> str:
        """Its target, in words."""
        raise NotImplementedError

    @classmethod
    def error_groups(cls) -> tuple[Group, ...]:
        """What noise and bias are given for."""
        return cls.groups

    def bind(self, sites: SensorSites) -> Reader:
        """Look up its target."""
        raise NotImplementedError

    def check_errors(self, reader: Reader) -> None:
        """Refuse lists of noise and bias that do not fit the channels."""
        names = self.error_names(reader)
        n = len(names)
        for name in ("noise", "bias"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != n:
                channels = ", ".join(names[:7]) + (", ..." if n > 7 else "")
                raise ModelError(name, f"one number, or {n}: {channels}", f"{len(value)}")

    def error_names(self, reader: Reader) -> tuple[str, ...]:
        """Names of what noise and bias are given for."""
        groups = self.error_groups()
        return reader.channels if groups is self.groups else tuple(name for group in groups for name in group.names)

    def add_errors(self, values: Array, numbers: IntArray, reader: Reader, name: str) -> Array:
        """Readings (n, n_channels) with noise and bias, from ideal ones of the samples with these numbers.

        The noise of a sample depends on its number and the seed alone, not on how many there are.
        """
        error = np.broadcast_to(np.asarray(self.bias), (len(values), len(self.error_names(reader))))
        if np.any(self.noise) and len(numbers):
            draws = self.generator(name).standard_normal((int(numbers[-1]) + 1, error.shape[1]))
            error = error + np.asarray(self.noise) * draws[numbers]
        return self.with_error(values, error)

    def generator(self, name: str) -> np.random.Generator:
        """What the noise of samples 0, 1, ... is drawn from, row by row."""
        return np.random.default_rng(seed_of(name) if self.seed is None else self.seed)

    def with_error(self, values: Array, error: Array) -> Array:
        """Readings (n, n_channels) with errors (n, n_errors)."""
        return values + error if error.any() else values


def seed_of(name: str) -> int:
    """The default seed of a sensor, from its name."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest()[:8], "little")


SHARED = tuple(Sensor.declaration())


class SensorType(OneOf):
    """A sensor: a mapping with the key of one kind, and the keys that all kinds share."""

    def read(self, value: Any, at: At) -> Any:
        if isinstance(value, Sensor):
            return value
        kinds, names = SENSORS.names(), list(value) if isinstance(value, Mapping) else []
        given = [name for name in kinds if name in names]
        own = {one.name: kind for kind in given for one in SENSORS.get(kind).own_keys().values()}
        unknown = [name for name in names if name not in (*kinds, *SHARED)]
        for name in unknown:
            under = f"write it under '{own[name]}'" if name in own else nearest(str(name), (*kinds, *SHARED))
            (at / name).fail("a known key", shown(name), under, at_key=True)
        if unknown:
            return INVALID
        if len(given) != 1:
            return at.fail("one kind of sensor: " + listed(kinds), both(given) if given else shown(value))
        return SENSORS.get(given[0]).read_sensor(value[given[0]], value, at)

    def write(self, value: Any, writer: Writer) -> Any:
        kind, own = self.kind_of(value), value.data(writer)
        shared = {name: own.pop(name) for name in SHARED if name in own}
        return {kind: next(iter(own.values())) if len(value.own_keys()) == 1 else own, **shared}

    def schema(self, define: Define) -> dict[str, Any]:
        out = super().schema(define)
        shared = {name: one.type.schema(define) for name, one in Sensor.declaration().items()}
        one_kind = [{"required": [name]} for name in out["properties"]]
        return {"type": "object", "properties": {**out["properties"], **shared}, "additionalProperties": False,
                "oneOf": one_kind}  # fmt: skip

    def within(self, part: str | int) -> Type | None:
        return Sensor.declaration()[str(part)].type if part in SHARED else super().within(part)

    def known_keys(self) -> list[str]:
        return [*super().known_keys(), *SHARED]
