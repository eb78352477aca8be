"""Targets of inverse statics: where frames shall be and what sensors shall read, their errors and derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sorosim.arrays import Array
from sorosim.dynamics.link_frames import LinkFrames
from sorosim.errors import InputError
from sorosim.lie.se3 import inverse, log_se3
from sorosim.lie.tangent import tangent_inv
from sorosim.robot import Robot
from sorosim.sensors.state import State
from sorosim.units.quantity import amount

POSITION, POSE, READING = range(3)
ORTHONORMAL = 1e-6
# of a reading, relative to its parameter: differences of fourth order
DIFFERENCE = 1e-3


class StaticState(NamedTuple):
    """A state of rest, and its derivatives by n parameters."""

    q: Array  # (ndof,)
    u: Array  # (n_actuators,)
    multiplier: Array  # (m,)
    q_by: Array  # (ndof, n)
    u_by: Array  # (n_actuators, n)
    multiplier_by: Array  # (m, n)


class Targets:
    """Targets of one kind, whose values may change: errors are lengths over `extent`, angles, and relative readings.

    Attributes
    ----------
    keys, labels : tuple
        Places and sensors as they were given, and in words.
    """

    def __init__(self, robot: Robot, targets: Mapping[Any, Any], weights: Mapping[Any, float], extent: float) -> None:
        if not isinstance(targets, Mapping) or not targets:
            raise InputError("targets", "a mapping of places or sensors to values", f"{targets!r}"[:60])
        self.robot, self.extent = robot, extent
        self.keys = tuple(targets)
        sensors = [key for key in targets if isinstance(key, str) and key in robot.sensor_names]
        framed = [key for key in targets if key not in sensors]
        self._frames = LinkFrames(robot.description, robot.engine, framed, "targets")
        labels = dict(zip(framed, self._frames.names, strict=True)) | {key: key for key in sensors}
        self.labels = tuple(labels[key] for key in self.keys)
        self._frame_of = {key: k for k, key in enumerate(framed)}
        unknown = [key for key in weights if key not in targets]
        if unknown:
            raise InputError("weights", "weights of targets", f"{unknown[0]!r}")
        self._weights = {key: amount(f"weights.{labels[key]}", weights.get(key, 1.0), "number") for key in self.keys}
        if low := [labels[key] for key, weight in self._weights.items() if not weight > 0.0]:
            raise InputError(f"weights.{low[0]}", "a number greater than 0", f"{weights[low[0]]}")
        # what the state of the last call reaches: it, poses, twists by its parameters, readings and their derivatives
        self._reached: tuple[StaticState, Array, Array, dict[Any, tuple[Array, Array]]] | None = None
        self.set(targets)

    def set(self, targets: Mapping[Any, Any]) -> None:
        """Take other values of the same targets."""
        if not isinstance(targets, Mapping) or tuple(targets) != self.keys:
            raise InputError("targets", "the same places and sensors as before", f"{targets!r}"[:60])
        self.parts = [self._part(key, label, targets[key]) for key, label in zip(self.keys, self.labels, strict=True)]
        self.scale = np.concatenate([scale for *_, scale in self.parts])
        ends = np.cumsum([len(scale) for *_, scale in self.parts]).tolist()
        self._rows = [slice(end - len(scale), end) for end, (*_, scale) in zip(ends, self.parts, strict=True)]

    def _part(self, key: Any, label: str, value: Any) -> tuple[int, Array, Any, Array]:
        """Kind, value, entries that count, and factor of each of these, of one target."""
        where, weight = f"targets.{label}", self._weights[key]
        if key not in self._frame_of:
            groups = self.robot.instruments.readers[key].groups
            channels = [(name, group.dimension) for group in groups for name in group.names]
            reading = self._values(where, value, [dimension for _, dimension in channels])
            if reading.shape != (len(channels),):
                expected = f"{len(channels)} numbers: {', '.join(name for name, _ in channels)}"
                raise InputError(where, expected, f"an array of shape {reading.shape}")
            chosen = np.flatnonzero(~np.isnan(reading))
            size = float(np.abs(reading[chosen]).max()) or 1.0
            return READING, reading, chosen, np.full(len(chosen), weight / size)
        g = self._values(where, value, ["length"] * 3)
        if g.shape == (3,):
            chosen = np.flatnonzero(~np.isnan(g))
            return POSITION, g, chosen, np.full(len(chosen), weight / self.extent)
        if g.shape != (4, 4):
            raise InputError(where, "a position (3,) or a pose (4, 4)", f"an array of shape {g.shape}")
        R = g[:3, :3]
        if not (np.abs(R.T @ R - np.eye(3)).max() < ORTHONORMAL and np.linalg.det(R) > 0.0):
            raise InputError(where, "a pose, whose upper left part is a rotation", "another matrix")
        if np.abs(g[3] - [0.0, 0.0, 0.0, 1.0]).max() > 0.0:
            raise InputError(where, "a pose, whose last row is 0, 0, 0, 1", f"{g[3]}")
        return POSE, g, np.arange(6), np.repeat([weight, weight / self.extent], 3)

    @staticmethod
    def _values(where: str, value: Any, dimensions: list[str]) -> Array:
        """Numbers of a target; None in a list of them leaves an entry out, and becomes NaN."""
        is_list = isinstance(value, list | tuple) and len(value) == len(dimensions)
        if is_list and not any(isinstance(x, list | tuple | np.ndarray) for x in value):
            pairs = enumerate(zip(value, dimensions, strict=True))
            out = np.array([np.nan if x is None else amount(f"{where}[{i}]", x, kind) for i, (x, kind) in pairs])
            if np.isnan(out).all():
                raise InputError(where, "numbers, at least one of them not None", f"{value!r}"[:60])
            return out
        try:
            out = np.array(value, dtype=float)
        except (TypeError, ValueError):
            expected = f"{len(dimensions)} numbers, or an array"
            raise InputError(where, expected, f"{value!r}"[:60]) from None
        if not np.isfinite(out).all():
            raise InputError(where, "finite numbers", f"{out[~np.isfinite(out)][0]}", "None leaves an entry out")
        return out

    def errors(self, state: StaticState) -> tuple[Array, Array]:
        """Errors (n_rows,) and their derivatives (n_rows, n) by the parameters of the state."""
        if self._reached is None or self._reached[0] is not state:  # values may have changed since
            g, J = self._frames.jacobians(state.q)
            readings = {key: self._reading(key, state) for key in self.keys if key not in self._frame_of}
            self._reached = state, g, J @ state.q_by, readings
        _, g, motion, readings = self._reached
        errors, slopes = np.empty(len(self.scale)), np.empty((len(self.scale), state.q_by.shape[1]))
        for key, (kind, value, chosen, _), rows in zip(self.keys, self.parts, self._rows, strict=True):
            if kind == READING:
                error, slope = readings[key][0] - value, readings[key][1]
            elif kind == POSITION:
                k = self._frame_of[key]
                error, slope = g[k, :3, 3] - value, g[k, :3, :3] @ motion[k, 3:]
            else:
                k = self._frame_of[key]
                error = log_se3(inverse(value) @ g[k])
                slope = tangent_inv(-error) @ motion[k]  # a twist in the moved frame
            errors[rows], slopes[rows] = error[chosen], slope[chosen]
        errors *= self.scale
        slopes *= self.scale[:, None]
        return errors, slopes

    def sizes(self, error: Array) -> dict[Any, Array]:
        """What an error is for each target: lengths [m], twists [rad, m] or readings."""
        natural = error / self.scale
        return {key: natural[rows] for key, rows in zip(self.keys, self._rows, strict=True)}

    def _reading(self, name: str, state: StaticState) -> tuple[Array, Array]:
        """A reading, and its derivatives by differences of fourth order along those of the state."""
        robot, zero = self.robot, np.zeros(self.robot.ndof)

        def read(i: int, step: float) -> Array:
            q = state.q + step * state.q_by[:, i]
            u, lam = state.u + step * state.u_by[:, i], state.multiplier + step * state.multiplier_by[:, i]
            return robot.instruments.readers[name].read(State(robot.instruments.sites, 0.0, q, zero, zero, u, lam))

        columns = []
        for i in range(state.q_by.shape[1]):
            h = DIFFERENCE / max(np.abs(state.q_by[:, i]).max(initial=0.0), np.finfo(float).tiny)
            near, far = ((read(i, x) - read(i, -x)) / (2.0 * x) for x in (h, 2.0 * h))
            columns.append((4.0 * near - far) / 3.0)
        return read(0, 0.0), np.stack(columns, axis=1)
