"""Inputs and motions of driven coordinates as compiled signals, and which coordinates are driven."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.compiled import OfFirstTypes
from sorosim.base.errors import InputError, nearest
from sorosim.base.signals import ConstantSignal, Signal, TableSignal, compile_signals
from sorosim.base.signals.edges import rough_time
from sorosim.base.signals.evaluation import evaluate_signals, signal_workspace
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.kernels.rod_actuators import LENGTH_INPUT, RodActuators
from sorosim.mechanics.model.layout import Layout

# fewest and most samples of a motion in a run
MIN_SAMPLES, MAX_SAMPLES = 4_000, 400_000
# what was expected of an insertion in motion, what was found, and a hint
MOVING_INSERTION = (
    "an insertion that stays, in motion",
    "one that moves",
    "statics and follow insert tubes, from one equilibrium to the next",
)


_evaluate = OfFirstTypes(evaluate_signals)


class Motion:
    """Signals of time, compiled: inputs u(t), or driven coordinates with their rates."""

    def __init__(self, signals: list[Signal]) -> None:
        self.signals = signals
        self.arrays, self.callables = compile_signals(signals)
        self.depth = signal_workspace(self.arrays).shape[0]
        self._constant = np.array([s.level for s in signals if isinstance(s, ConstantSignal)])
        self._is_constant = len(self._constant) == len(signals)

    def jets(self, t: float) -> Array:
        """Values and first and second derivatives (n, 3) at time t; of a callable only the value."""
        out = np.zeros((len(self.signals), 3))
        for index, function in self.callables:
            out[index, 0] = function(t)
        _evaluate(self.arrays, float(t), out, np.empty((self.depth, 3)))
        return out

    def value(self, t: float) -> Array:
        """Values (n,) at time t."""
        return self._constant if self._is_constant else np.ascontiguousarray(self.jets(t)[:, 0])

    def sample(self, times: Array) -> Array:
        """Values (n_times, n)."""
        return np.stack([s.sample(times) for s in self.signals], axis=-1) if self.signals else np.zeros((len(times), 0))

    @property
    def specs(self) -> list[Any]:
        """What a result keeps of the signals."""
        return [signal.spec for signal in self.signals]


class ZeroOrderHold:
    """Inputs that a controller sets at samples and that stay until the next one; others may follow signals.

    signals : of the inputs that no controller sets, by their indices
    """

    def __init__(self, n: int, signals: Mapping[int, Signal] | None = None) -> None:
        self.times: list[float] = []
        self.values: list[Array] = []
        self._n, self._following = n, dict(signals or {})
        self._indices = list(self._following)
        self._motion = Motion(list(self._following.values())) if self._following else None

    def anew(self) -> ZeroOrderHold:
        """The same before its first sample."""
        return ZeroOrderHold(self._n, self._following)

    @property
    def signals(self) -> list[Signal]:
        """Of the inputs that no controller sets."""
        return list(self._following.values())

    @property
    def held(self) -> list[int]:
        """Indices of the inputs that a controller sets."""
        return [i for i in range(self._n) if i not in self._following]

    def hold(self, t: float, value: Array) -> None:
        """From t on the inputs that a controller sets are those of `value` (n,)."""
        self.times.append(t)
        self.values.append(value)

    def value(self, t: float) -> Array:
        """Values (n,) at time t."""
        held = self.values[max(bisect_right(self.times, t) - 1, 0)] if self.values else np.zeros(self._n)
        if self._motion is None:
            return held
        out = held.copy()
        out[self._indices] = self._motion.value(t)
        return out

    def from_sample(self, t: float) -> Motion:
        """Inputs from the sample at t on, until the next one."""
        return Motion([self._following.get(i, ConstantSignal(u)) for i, u in enumerate(self.value(t).tolist())])

    def sample(self, times: Array) -> Array:
        """Values (n_times, n) at times."""
        return np.array([self.value(float(t)) for t in times]).reshape(len(times), self._n)

    @property
    def specs(self) -> list[Any]:
        """None where a controller sets an input: no file keeps it."""
        return [self._following[i].spec if i in self._following else None for i in range(self._n)]


@dataclass(frozen=True)
class Partition:
    """Each coordinate has either a known force (free: its acceleration is unknown) or a known motion (driven)."""

    free: IntArray
    driven: IntArray
    names: tuple[str, ...]  # of the driven ones, as they were given
    mask: Mask  # (ndof,) whether driven

    @classmethod
    def of(cls, layout: Layout, driven: Mapping[str, object], actuators: Mapping[str, object]) -> Partition:
        """Drive coordinates by their names, or joints of one coordinate by the names of their links.

        Raises
        ------
        InputError
            A name that is not known, a coordinate that is driven twice or that a motor acts on.
        """
        chosen: dict[int, str] = {}
        for name in driven:
            index = layout.coordinate(name, "driven")
            if index in chosen:
                raise InputError(f"driven.{name}", "every coordinate once", f"that of '{chosen[index]}' again")
            chosen[index] = name
        for actuator, motor in actuators.items():
            if isinstance(motor, JointForce):
                index = layout.links[motor.link].column + motor.index(layout)
                if index in chosen:
                    expected = "a motion or a motor, one of them"
                    hint = "the force of a driven coordinate is unknown: leave the motor out"
                    raise InputError(f"driven.{chosen[index]}", expected, f"the motor '{actuator}' beside it", hint)
        indices, mask = np.array(list(chosen), dtype=np.int64), np.zeros(len(layout.coordinate_names), dtype=np.bool_)
        mask[indices] = True
        return cls(np.flatnonzero(~mask), indices, tuple(chosen.values()), mask)


def dimension_of(inputs: Mapping[str, str], name: str, where: str) -> str:
    """Dimension of the input of an actuator, of those of all (else InputError)."""
    if name not in inputs:
        raise InputError(where, "the name of an actuator", f"'{name}'", nearest(str(name), inputs))
    return inputs[name]


def insertions(layout: Layout) -> IntArray:
    """Coordinates by which concentric tubes are inserted; they stay where a robot moves (docs/theory.md, 20)."""
    held = (layout.coordinate_names.index(name) for name in layout.held)
    return np.array([i for i in held if layout.dimensions[i] == "length"], dtype=np.int64)


def check_smooth(driven: Mapping[str, Signal], t_end: float, dt_out: float | None = None) -> None:
    """Refuse motions of driven coordinates whose rates jump: a jump is a blow, which no integrator would notice.

    Parameters
    ----------
    driven : mapping of names to signals
    t_end : float
        They are sampled from t = 0 to here [s].
    dt_out : float, optional
        Spacing of the results [s]: a motion must have a rate at each of them.

    Raises
    ------
    InputError
    """
    times = np.linspace(0.0, t_end, MIN_SAMPLES + 1)
    if dt_out is not None:
        times = np.union1d(times, dt_out * np.arange(1.0, min(t_end / dt_out, MAX_SAMPLES)))
    for name, signal in driven.items():
        rough = rough_time(signal, times)
        if rough is not None:
            hint = "smoothstep(x) rises smoothly from 0 at 0 to 1 at 1"
            if isinstance(signal, TableSignal):
                t = signal.times
                hint = "give interpolation: cubic or pchip, or a rounding of its corners"
                if rough[1] in (t[0], t[-1]) and (signal.interpolation != "linear" or len(t) == 2):
                    hint = "outside of a table its value is held: let it begin and end at rest, or outside of the run"
            got = f"{rough[0]} at t = {rough[1]:.6g} s"
            raise InputError(f"driven.{name}", "a motion with a continuous rate", got, hint)


def has_length_inputs(rod_actuators: RodActuators) -> bool:
    """Whether the input of any tendon is a length."""
    return bool((rod_actuators.mode == LENGTH_INPUT).any())


def check_length_inputs(rod_actuators: RodActuators, names: Sequence[str], u: Array, where: str = "u") -> None:
    """Refuse inputs (..., n_actuators) by which a tendon would be wound up by more than its length (InputError)."""
    for i in np.flatnonzero(rod_actuators.mode == LENGTH_INPUT):
        most, length = float(np.max(u[..., i], initial=-np.inf)), float(rod_actuators.length[i])
        if most >= length:
            hint = "with a stiffness, the input is the length that is wound up"
            raise InputError(f"{where}.{names[int(i)]}", f"less than its length, {length:.6g} m", f"{most:.6g} m", hint)
