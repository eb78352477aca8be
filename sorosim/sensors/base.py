"""The contract of a sensor.

1. A sensor is a frozen description: what it looks at, how often, how it errs. `Sensor` is what all of them share.
2. `bind(bench)` looks up what it needs, once, and returns a `Reader`; it refuses what the robot does not have.
3. A reader tells its channels, in groups of one unit, and reads them off a `State`: of one time, without errors. It
   keeps nothing: the same state gives the same values, from any thread.
4. `accelerates` says whether a reading needs accelerations or wrenches, for which a run has to solve the dynamics anew.
5. Errors are bias + noise, added to the channels; a sensor whose channels are no plain numbers adds them its own way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import ModelError
from sorosim.model.material import real_number
from sorosim.sensors.state import Bench, State
from sorosim.validation import as_real, describe

Array = NDArray[np.float64]


class Group(NamedTuple):
    """Channels of one unit."""

    label: str
    unit: str
    dimension: str  # as files call it
    names: tuple[str, ...]


@dataclass(frozen=True)
class Reader:
    """A sensor that knows its robot."""

    groups: tuple[Group, ...]
    read: Callable[[State], Array]  # (n_channels,)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""
        return tuple(name for group in self.groups for name in group.names)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each channel."""
        return tuple(group.unit for group in self.groups for _ in group.names)


@dataclass(frozen=True, eq=False)
class Sensor:
    """What all sensors share.

    Parameters
    ----------
    rate : float, optional
        Samples are taken at the multiples of 1/rate, 0 included [Hz]. Default: at every row of a run.
    noise : float or sequence of float
        Standard deviation of Gaussian noise, one for all channels or one for each, in their units.
    bias : float or sequence of float
        What is added to every sample, likewise.
    seed : int, optional
        Of the noise. Default: one that follows from the sensor's name.
    """

    _: KW_ONLY
    rate: float | None = None
    noise: float | tuple[float, ...] = 0.0
    bias: float | tuple[float, ...] = 0.0
    seed: int | None = None

    kind: ClassVar[str]
    groups: ClassVar[tuple[Group, ...]]
    accelerates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.rate is not None:
            object.__setattr__(self, "rate", real_number("rate", self.rate, "a rate greater than 0 [Hz]", above=0.0))
        deviation = "a standard deviation of 0 or more"
        object.__setattr__(self, "noise", _errors("noise", self.noise, deviation, least=0.0))
        object.__setattr__(self, "bias", _errors("bias", self.bias, "a finite number"))
        if self.seed is not None:
            whole = isinstance(self.seed, int | np.integer) and not isinstance(self.seed, bool | np.bool_)
            if not whole or self.seed < 0:
                raise ModelError("seed", "a whole number of 0 or more", describe(self.seed))
            object.__setattr__(self, "seed", int(self.seed))

    @property
    def target(self) -> str:
        """What it looks at, in words."""
        raise NotImplementedError

    @classmethod
    def error_groups(cls) -> tuple[Group, ...]:
        """What noise and bias are given for."""
        return cls.groups

    def bind(self, bench: Bench) -> Reader:
        """Look up what it needs."""
        raise NotImplementedError

    def check_errors(self, reader: Reader) -> None:
        """Refuse lists of noise and bias that do not fit the channels."""
        n = self.n_errors(reader)
        for name in ("noise", "bias"):
            value = getattr(self, name)
            if isinstance(value, tuple) and len(value) != n:
                channels = ", ".join(self.error_names(reader)[:7]) + (", ..." if n > 7 else "")
                raise ModelError(name, f"one number, or {n}: {channels}", f"{len(value)}")

    def error_names(self, reader: Reader) -> tuple[str, ...]:
        """Names of what noise and bias are given for."""
        groups = self.error_groups()
        return reader.channels if groups is self.groups else tuple(name for group in groups for name in group.names)

    def n_errors(self, reader: Reader) -> int:
        """How many numbers are drawn for each sample."""
        return len(self.error_names(reader))

    def erring(self, values: Array, numbers: NDArray[np.int64], reader: Reader, name: str) -> Array:
        """Ideal readings (n, n_channels) of the samples with these numbers, made as the sensor gives them.

        The noise of a sample depends on its number and the seed alone, not on how many there are.
        """
        error = np.broadcast_to(np.asarray(self.bias), (len(values), self.n_errors(reader)))
        if np.any(self.noise) and len(numbers):
            seed = seed_of(name) if self.seed is None else self.seed
            draws = np.random.default_rng(seed).standard_normal((int(numbers[-1]) + 1, error.shape[1]))
            error = error + np.asarray(self.noise) * draws[numbers]
        return self.with_error(values, error)

    def with_error(self, values: Array, error: Array) -> Array:
        """Readings (n, n_channels) with errors (n, n_errors)."""
        return values + error if error.any() else values


def seed_of(name: str) -> int:
    """The seed of a sensor that has none of its own."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest()[:8], "little")


def _errors(where: str, value: Any, expected: str, **bounds: float) -> float | tuple[float, ...]:
    if as_real(value) is not None or isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        return real_number(where, value, expected, **bounds)
    return tuple(real_number(f"{where}[{i}]", entry, expected, **bounds) for i, entry in enumerate(value))
