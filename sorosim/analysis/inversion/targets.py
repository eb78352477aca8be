"""Targets of inverse statics: where frames shall be and what sensors shall read, their errors and derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.compiled import table
from sorosim.base.errors import InputError
from sorosim.base.units.quantity import amount
from sorosim.base.validation import describe
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.kernels.frame_errors import AXIS, ERROR_ROW, POSE, POSITION, frame_errors
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.state import State

READING = 3
ORTHONORMAL, UNIT = 1e-6, 0.1
# of a position and a direction
PLACE_AND_DIRECTION = ("length",) * 3 + ("number",) * 3


class StaticState(NamedTuple):
    """A state of rest, and its derivatives by n parameters."""

    q: Array  # (ndof,)
    u: Array  # (n_actuators,)
    multiplier: Array  # (m,)
    q_by: Array  # (ndof, n), in Fortran's order
    u_by: Array  # (n_actuators, n)
    multiplier_by: Array  # (m, n)


class Targets:
    """Targets of one kind, whose values may change: errors are lengths over `extent`, angles, and relative readings.

    Attributes
    ----------
    keys, labels : tuple
        Places and sensors as they were given, and in words.
    frames : LinkFrames
        The places.
    layout : list of (kind, entries)
        Of each of them: POSITION, POSE, AXIS or READING, and which entries count.
    """

    def __init__(
        self, robot: Robot, targets: Mapping[Any, Any], weights: Mapping[Any, float], extent: float,
        where: str = "targets", places: Mapping[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        """`places` : of keys that are none themselves; several may be of one place."""
        self._where = where
        if not isinstance(targets, Mapping) or not targets:
            raise InputError(where, "a mapping of places or sensors to values", describe(targets))
        self.robot, self.extent = robot, extent
        self.keys = tuple(targets)
        at = places or {}
        framed = [key for key in targets if key in at or not (isinstance(key, str) and key in robot.sensor_names)]
        sensors = [key for key in targets if key not in framed]
        self.frames = LinkFrames(robot.description, robot.engine, [at.get(key, key) for key in framed], where)
        own = {key: key for key in (*at, *sensors) if isinstance(key, str)}
        labels = dict(zip(framed, self.frames.names, strict=True)) | own
        self.labels = tuple(labels[key] for key in self.keys)
        self._frame_of = {key: k for k, key in enumerate(framed)}
        if not isinstance(weights, Mapping):
            raise InputError("weights", "a mapping of targets to weights", describe(weights))
        unknown = [key for key in weights if key not in targets]
        if unknown:
            raise InputError("weights", "weights of targets", f"{unknown[0]!r}")
        self._weights = {key: amount(f"weights.{labels[key]}", weights.get(key, 1.0), "number") for key in self.keys}
        if low := [labels[key] for key, weight in self._weights.items() if not weight > 0.0]:
            raise InputError(f"weights.{low[0]}", "a number greater than 0", f"{weights[low[0]]}")
        # the state of the last call; poses and Jacobians of its frames, readings and their derivatives
        self._reached: tuple[StaticState, Array, Array, dict[Any, tuple[Array, Array]]] | None = None
        n = len(framed)
        self._goal, self._kind = np.tile(np.eye(4), (n, 1, 1)), np.zeros(n, dtype=np.int64)
        self.layout: list[tuple[int, tuple[int, ...]]] = []
        self.set(targets)

    def set(self, targets: Mapping[Any, Any]) -> None:
        """Take other values of the same targets."""
        if not isinstance(targets, Mapping) or tuple(targets) != self.keys:
            raise InputError(self._where, "the same places and sensors as before", describe(targets))
        parts = [self._part(key, label, targets[key]) for key, label in zip(self.keys, self.labels, strict=True)]
        layout = [(kind, chosen) for kind, _, chosen in parts]
        if layout != self.layout:
            self._lay_out(layout)
        self._readings = []
        for key, rows, (kind, value, chosen) in zip(self.keys, self._rows, parts, strict=True):
            if kind == READING:
                reading = value[list(chosen)]
                self.scale[rows] = self._weights[key] / (float(np.abs(reading).max()) or 1.0)
                self._readings.append((key, rows, chosen, reading))
            elif kind == POSITION:
                self._goal[self._frame_of[key], :3, 3] = value
            else:
                self._goal[self._frame_of[key]] = value

    def _lay_out(self, layout: list[tuple[int, tuple[int, ...]]]) -> None:
        """Which rows of the errors belong to which target, and their factors but for those of readings."""
        ends = np.cumsum([len(chosen) for _, chosen in layout]).tolist()
        self._rows = [slice(end - len(chosen), end) for end, (_, chosen) in zip(ends, layout, strict=True)]
        self.scale, index = np.empty(ends[-1]), []
        for key, rows, (kind, chosen) in zip(self.keys, self._rows, layout, strict=True):
            if kind == READING:
                continue
            k, components = self._frame_of[key], np.array(chosen) + {POSITION: 3, POSE: 0, AXIS: 1}[kind]
            self._kind[k] = kind
            self.scale[rows] = self._weights[key] / np.where(components < 3, 1.0, self.extent)
            index += [(k, component, row) for row, component in enumerate(components.tolist(), rows.start)]
        self._index = table(ERROR_ROW, index)
        self.layout = layout

    def _part(self, key: Any, label: str, value: Any) -> tuple[int, Array, tuple[int, ...]]:
        """Kind, value, and entries that count, of one target."""
        where = f"{self._where}.{label}"
        if key not in self._frame_of:
            groups = self.robot.instruments.readers[key].groups
            channels = [(name, group.dimension) for group in groups for name in group.names]
            reading = self._values(where, value, [dimension for _, dimension in channels])
            if reading.shape != (len(channels),):
                expected = f"{len(channels)} numbers: {', '.join(name for name, _ in channels)}"
                raise InputError(where, expected, f"an array of shape {reading.shape}")
            return READING, reading, _given(reading)
        is_list = isinstance(value, list | tuple | np.ndarray) and len(value) == 6
        if is_list and not any(isinstance(x, list | tuple | np.ndarray) for x in value):
            return self._axis(where, value)
        g = self._values(where, value, ["length"] * 3)
        if g.shape == (3,):
            return POSITION, g, _given(g)
        if g.shape != (4, 4):
            expected = "a position (3,), a position and a direction (6,) or a pose (4, 4)"
            raise InputError(where, expected, f"an array of shape {g.shape}")
        R = g[:3, :3]
        if not (np.abs(R.T @ R - np.eye(3)).max() < ORTHONORMAL and np.linalg.det(R) > 0.0):
            raise InputError(where, "a pose, whose upper left part is a rotation", "another matrix")
        if np.abs(g[3] - [0.0, 0.0, 0.0, 1.0]).max() > 0.0:
            raise InputError(where, "a pose, whose last row is 0, 0, 0, 1", f"{g[3]}")
        return POSE, g, (0, 1, 2, 3, 4, 5)

    def _axis(self, where: str, value: Any) -> tuple[int, Array, tuple[int, ...]]:
        """A position and the direction of the x axis, None where that does not count."""
        numbers = self._values(where, value, list(PLACE_AND_DIRECTION))
        p, d = numbers[:3], numbers[3:]
        if np.isnan(d).all():
            return POSITION, p, _given(p)
        length = float(np.linalg.norm(d))
        if np.isnan(p).any() or not abs(length - 1.0) < UNIT:
            got = "a part of them" if np.isnan(numbers).any() else f"one of length {length:g}"
            raise InputError(where, "a position and a direction of length 1, or None for it", got)
        g: Array = np.eye(4)
        x = d / length
        least = np.eye(3)[int(np.argmin(np.abs(x)))]
        y = np.cross(x, least)
        g[:3, 0], g[:3, 1] = x, y / np.linalg.norm(y)
        g[:3, 2], g[:3, 3] = np.cross(x, g[:3, 1]), p
        return AXIS, g, (0, 1, 2, 3, 4)

    @staticmethod
    def _values(where: str, value: Any, dimensions: list[str]) -> Array:
        """Numbers of a target; None in a list of them leaves an entry out, and becomes NaN."""
        is_list = isinstance(value, list | tuple) and len(value) == len(dimensions)
        if is_list and not any(isinstance(x, list | tuple | np.ndarray) for x in value):
            pairs = enumerate(zip(value, dimensions, strict=True))
            out = np.array([np.nan if x is None else amount(f"{where}[{i}]", x, kind) for i, (x, kind) in pairs])
            if np.isnan(out).all():
                raise InputError(where, "numbers, at least one of them not None", describe(value))
            return out
        try:
            # a copy: users may change theirs, and None in an array or a pose becomes NaN
            if value is None or np.asarray(value).dtype.kind not in "iufO":
                raise TypeError
            out = np.array(value, dtype=float)
        except (TypeError, ValueError):
            expected = f"{len(dimensions)} numbers, or an array"
            raise InputError(where, expected, describe(value)) from None
        if not np.isfinite(out).all():
            raise InputError(
                where, "finite numbers", f"{out[~np.isfinite(out)][0]}", "None in a list of numbers leaves one out"
            )
        return out

    def errors(self, state: StaticState) -> tuple[Array, Array]:
        """Errors (n_rows,) and their derivatives (n_rows, n) by the parameters of the state."""
        if self._reached is None or self._reached[0] is not state:  # values may have changed since
            g, J = self.frames.jacobians(state.q)
            readings = {key: self._reading(key, state) for key, *_ in self._readings}
            self._reached = state, g, J, readings
        _, g, J, readings = self._reached
        errors, slopes = np.empty(len(self.scale)), np.empty((len(self.scale), state.q_by.shape[1]))
        frame_errors(self._goal, self._kind, self._index, self.scale, g, J, state.q_by, errors, slopes)
        for key, rows, chosen, wanted in self._readings:
            reading, slope = readings[key]
            errors[rows] = self.scale[rows] * (reading[list(chosen)] - wanted)
            slopes[rows] = self.scale[rows, None] * slope[list(chosen)]
        return errors, slopes

    def by_twists(self, q: Array, twists: Array) -> Array:
        """Derivatives (n_rows, n) of the errors of places that move by twists (n_frames, 6, n) in their own axes."""
        out, n = np.zeros((len(self.scale), twists.shape[2])), twists.shape[2]
        unit, g = np.asfortranarray(np.eye(n)), self.frames.poses(q)
        frame_errors(self._goal, self._kind, self._index, self.scale, g, twists, unit, np.empty(len(out)), out)
        return out

    @property
    def channels(self) -> list[tuple[str, slice, list[int], Array]]:
        """Sensors among the targets, their rows, which of their channels count, and what these shall read."""
        return [(key, rows, list(chosen), wanted) for key, rows, chosen, wanted in self._readings]

    def sizes(self, error: Array) -> dict[Any, Array]:
        """What an error is for each target: lengths [m], twists [rad, m] or readings."""
        natural = error / self.scale
        return {key: natural[rows] for key, rows in zip(self.keys, self._rows, strict=True)}

    def _reading(self, name: str, state: StaticState) -> tuple[Array, Array]:
        """A reading, and its derivatives along those of the state."""
        zero, instruments = np.zeros(self.robot.ndof), self.robot.instruments
        at = State(instruments.sites, 0.0, state.q, zero, zero, state.u, state.multiplier)
        reader = instruments.readers[name]
        return reader.read(at), reader.slopes(at, state.q_by, state.u_by, state.multiplier_by)


def _given(values: Array) -> tuple[int, ...]:
    """Which entries of a target count: those that are not NaN."""
    return tuple([i for i, value in enumerate(values.tolist()) if value == value])
