"""Readings of places and sensors: their errors over standard deviations, and their derivatives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from sorosim.analysis.inversion.targets import READING, StaticState, Targets
from sorosim.analysis.sensitivity import MovingFrames, Sensitivities
from sorosim.base.arrays import Array, Mask
from sorosim.base.errors import InputError, nearest
from sorosim.base.units.quantity import amount
from sorosim.base.units.table import DIMENSIONS
from sorosim.base.validation import describe
from sorosim.mechanics.kernels.frame_errors import AXIS, POSE, POSITION
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.kinds import PoseSensor
from sorosim.mechanics.sensors.state import State
from sorosim.studies.estimation.unknowns import components_of, name_of, place_of, root_of

AXES = ("x", "y", "z")
# entries of a pose's error, a twist in its own axes
TWIST = ("r_x", "r_y", "r_z", "x", "y", "z")
TWIST_KINDS = ("angle",) * 3 + ("length",) * 3
# of a position and a direction, whose error is a rotation across it
TILT, TILT_KINDS = ("tilt_1", "tilt_2", *AXES), TWIST_KINDS[1:]


class _Entries(NamedTuple):
    """The entries of a reading that count."""

    names: list[str]
    units: list[str]
    sd: Array
    block: Array | None  # W of errors over sd, W^T W their inverse correlation; None: they are independent


class ReadingErrors:
    """Errors of readings over their standard deviations; values may change, places and sensors stay.

    Parameters
    ----------
    robot : Robot
    readings : mapping of place or sensor to value
        A place as `sorosim.inverse` takes it, "LINK.tip" or "LINK@S"; "PLACE#NAME" is another reading of it. Its value
        is a position (3,), a position and the direction of its x axis (6,), or a pose (4, 4). Of a sensor what it
        reads. None in a list leaves an entry out.
    noise : mapping of place or sensor to standard deviations, or one for all, optional
        One number or text for all entries of a reading, one for each, or a covariance. Default: the sensors' own.

    Attributes
    ----------
    keys : tuple
        Places and sensors as they were given.
    names, units : tuple of str
        Of the entries, such as "tip.x".
    sd : (n_rows,) array
        Standard deviations of the entries.
    counts : (n_rows,) bool array
        Entries of readings that there are now.
    """

    def __init__(self, robot: Robot, readings: object, noise: object) -> None:
        if not isinstance(readings, Mapping) or not readings:
            raise InputError("readings", "a mapping of places or sensors to what they read", describe(readings))
        self.robot, self.keys = robot, tuple(readings)
        self._noise = self._noises(noise)
        self._labels = {key: name_of(robot, key, "readings") for key in self.keys}
        if twice := [name for name in self._labels.values() if list(self._labels.values()).count(name) > 1]:
            hint = f"'{twice[0]}#2' is another reading of it"
            raise InputError("readings", "every name once", f"'{twice[0]}' twice", hint)
        found = {key: self._place(key) for key in self.keys}
        # those whose keys are no sensors
        self._places = {key: place for key, place in found.items() if place is not None}
        # covariances of sensors of poses turn with what they read
        self._turning = any(map(self._is_pose, self.keys))
        self.targets: Targets
        self.given: dict[Any, Any] = {}
        self._values: dict[Any, Any] = {}
        self._layout: list[tuple[int, tuple[int, ...]]] = []
        self.set(readings)

    def _noises(self, noise: object) -> dict[Any, Any]:
        if noise is None:
            return {}
        if not isinstance(noise, Mapping):
            return dict.fromkeys(self.keys, deepcopy(noise))
        if unknown := [key for key in noise if key not in self.keys]:
            raise InputError("noise", "names of readings", f"{unknown[0]!r}",
                             nearest(str(unknown[0]), map(str, self.keys)))  # fmt: skip
        return deepcopy(dict(noise))

    def _place(self, key: Any) -> Any:
        """The place of a reading, and of a sensor of poses; None: a sensor reads something else."""
        if isinstance(key, str) and key in self.robot.sensor_names:
            sensor = self.robot.instruments.sensors[key]
            if not isinstance(sensor, PoseSensor):
                return None
            return Anchor(sensor.link, s=sensor.s, frame=sensor.frame, at=sensor.at)
        try:
            return place_of(self.robot, key, "readings")
        except InputError:
            if not isinstance(key, str):
                raise
            names = (*self.robot.sensor_names, *(link.name for link in self.robot.description.links))
            raise InputError("readings", "a sensor or a place of this robot", f"'{key}'", nearest(key, names)) from None

    def set(self, readings: Mapping[Any, Any]) -> None:
        """Take other readings of the same places and sensors; those that are not there, or None, do not count."""
        if not isinstance(readings, Mapping) or not set(readings) <= set(self.keys):
            raise InputError("readings", "the same places and sensors as before", describe(readings))
        present = [key for key in self.keys if not is_missing(readings.get(key))]
        if not present or (not self.given and len(present) < len(self.keys)):
            raise InputError("readings", "something that was read", "nothing" if not present else
                             f"nothing of {next(key for key in self.keys if key not in present)!r}")  # fmt: skip
        given = {**self.given, **{key: deepcopy(readings[key]) for key in present}}
        wanted = {key: self._wanted(key, given[key]) for key in self.keys}
        before = self._values
        try:
            entries = self._compared(wanted)
        except InputError:
            if before:
                self._compared(before)
            raise
        self.given, self._values, ends = given, wanted, np.cumsum([len(one.sd) for one in entries.values()]).tolist()
        self.rows = {self._labels[key]: slice(end - len(one.sd), end)
                     for (key, one), end in zip(entries.items(), ends, strict=True)}  # fmt: skip
        self.names = tuple(name for one in entries.values() for name in one.names)
        self.units = tuple(unit for one in entries.values() for unit in one.units)
        self.sd = np.concatenate([one.sd for one in entries.values()])
        self.counts: Mask = np.concatenate([np.full(len(one.sd), key in present) for key, one in entries.items()])
        self._weight = self.counts / self.sd
        self._blocks = [(self.rows[self._labels[key]], one.block) for key, one in entries.items()
                        if one.block is not None]  # fmt: skip

    def _compared(self, wanted: dict[Any, Any]) -> dict[Any, _Entries]:
        """Compare the robot with these values from now on; the entries that count."""
        if self._values:
            self.targets.set(wanted)
        else:
            self.targets = Targets(self.robot, wanted, {}, 1.0, "readings", self._places)
        self.targets.scale[:] = 1.0
        layout = list(self.targets.layout)
        if layout != self._layout or self._turning:
            self._layout = []
            self._kept = {key: self._entries(key, kind, chosen, wanted[key])
                          for key, (kind, chosen) in zip(self.keys, layout, strict=True)}  # fmt: skip
            self._layout = layout
        return self._kept

    def _is_pose(self, key: Any) -> bool:
        """Whether a sensor of poses reads it."""
        return isinstance(key, str) and isinstance(self.robot.instruments.sensors.get(key), PoseSensor)

    def leave_out(self, rows: Mask) -> None:
        """Let entries count no more."""
        self.counts = self.counts & ~rows
        self._weight = self.counts / self.sd

    def _wanted(self, key: Any, value: Any) -> Any:
        """The value that is compared with what the robot shows: without bias, poses as matrices."""
        sensor = self.robot.instruments.sensors.get(key) if isinstance(key, str) else None
        if sensor is None:
            return value
        reader = self.robot.instruments.readers[key]
        dimensions = [group.dimension for group in reader.groups for _ in group.names]
        entries = value if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) else [value]
        if len(entries) != len(dimensions):
            expected = f"{len(dimensions)} numbers: {', '.join(reader.channels)}"
            raise InputError(f"readings.{key}", expected, f"{len(entries)}")
        names = [f"readings.{key}.{name}" for name in reader.channels]
        numbers = [np.nan if x is None else amount(where, x, kind)
                   for where, x, kind in zip(names, entries, dimensions, strict=True)]  # fmt: skip
        bias = np.broadcast_to(np.asarray(sensor.bias, dtype=float), len(sensor.error_names(reader)))
        if not isinstance(sensor, PoseSensor):
            return [None if np.isnan(x) else float(x - b) for x, b in zip(numbers, bias, strict=True)]
        q = np.array(numbers[3:])
        if np.isnan(q).all():
            return [None if np.isnan(x) else float(x - b) for x, b in zip(numbers[:3], bias[:3], strict=True)]
        if np.isnan(numbers).any() or not abs(np.linalg.norm(q) - 1.0) < 0.1:
            got = "a part of them" if np.isnan(numbers).any() else f"one of length {np.linalg.norm(q):g}"
            raise InputError(f"readings.{key}", "a position and a unit quaternion [w, x, y, z], or None for it", got)
        g, turn = np.eye(4), Rotation.from_rotvec(-bias[3:])
        g[:3, :3] = (Rotation.from_quat(q, scalar_first=True) * turn).as_matrix()
        g[:3, 3] = np.array(numbers[:3]) - bias[:3]
        return g

    # -- standard deviations -----------------------------------------------------------------------------------------

    def _entries(self, key: Any, kind: int, chosen: tuple[int, ...], wanted: Any) -> _Entries:
        """Names, units and standard deviations of the entries that count."""
        if kind == READING:
            groups = self.robot.instruments.readers[key].groups
            names: Sequence[str] = [name for group in groups for name in group.names]
            kinds: Sequence[str] = [group.dimension for group in groups for _ in group.names]
        else:
            names, kinds = {POSITION: (AXES, ("length",) * 3), AXIS: (TILT, TILT_KINDS)}.get(kind, (TWIST, TWIST_KINDS))
        label, own, given = self._labels[key], list(chosen), self._noise.get(key)
        if (
            kind == POSITION and isinstance(given, np.ndarray | list | tuple) and len(given) in (2, len(TILT))
        ):  # noise of a direction too, which was not read
            names, kinds, own = TILT, TILT_KINDS, [2 + i for i in own]
        C = self._covariance(key, f"noise.{label}", kinds, own, wanted)
        if kind == AXIS and not (C[0, 0] == C[1, 1] and C[0, 1] == 0.0 and not C[:2, 2:].any()):
            raise InputError(
                f"noise.{label}", "one angle, which a direction is off by across it: [angle, length]", "two"
            )
        sd = np.sqrt(np.diag(C))
        is_diagonal = not (C - np.diag(np.diag(C))).any()
        block = None if is_diagonal else root_of(f"noise.{label}", C, len(C)) * sd
        return _Entries([f"{label}.{names[i]}" for i in own], [DIMENSIONS[kinds[i]].unit for i in own], sd, block)

    def _covariance(self, key: Any, where: str, kinds: Sequence[str], own: list[int], wanted: Any) -> Array:
        """Covariance of the entries that count, of a reading's own noise or that of its sensor."""
        given = self._noise.get(key)
        if given is None:
            return self._declared(key, where, kinds, own, wanted)
        if (
            isinstance(given, np.ndarray | list | tuple)
            and len(given)
            and isinstance(given[0], np.ndarray | list | tuple)
        ):
            root_of(where, given, len(kinds))
            return np.array(given, dtype=float)[np.ix_(own, own)]
        sd = components_of(where, given, kinds)[own]
        return self._positive(where, sd)

    @staticmethod
    def _positive(where: str, sd: Array) -> Array:
        if not (sd > 0.0).all():
            hint = "a reading without noise leaves no room for those of others"
            raise InputError(where, "a standard deviation greater than 0", f"{sd.min():g}", hint)
        return np.diag(sd**2)

    def _declared(self, key: Any, where: str, kinds: Sequence[str], own: list[int], wanted: Any) -> Array:
        """The covariance that a sensor's declaration says (InputError: there is none)."""
        sensor = self.robot.instruments.sensors.get(key) if isinstance(key, str) else None
        if sensor is None or not np.any(sensor.noise):
            hint = f"noise={{{key!r}: '1 mm'}}, or the noise of a sensor in the file"
            raise InputError(where, "the standard deviation of a reading", "none", hint)
        if not isinstance(sensor, PoseSensor):
            noise = np.broadcast_to(np.asarray(sensor.noise, dtype=float), len(kinds))
            return self._positive(where, noise[own])
        # declared: position in the world, rotation in the axes of the sensor; errors are twists in these
        noise = np.broadcast_to(np.asarray(sensor.noise, dtype=float), 6)
        C = self._positive(where, noise if len(kinds) == 6 else noise[:3][own])
        if len(kinds) == 3:
            return C
        R = np.asarray(wanted)[:3, :3]
        place = R.T @ C[:3, :3] @ R
        place[np.abs(place) < 1e-12 * np.abs(place).max()] = 0.0
        return np.asarray(block_diag(C[3:, 3:], place))

    # -- errors --------------------------------------------------------------------------------------------------------

    def errors(self, state: StaticState) -> tuple[Array, Array]:
        """Errors (n_rows,) over their standard deviations, and their derivatives (n_rows, n) by those of a state."""
        return self.weighed(*self.targets.errors(state))

    def weighed(self, error: Array, slopes: Array) -> tuple[Array, Array]:
        """Errors in SI units and their derivatives, over standard deviations; zero where nothing was read."""
        error, slopes = self._weight * error, self._weight[:, None] * slopes
        for rows, W in self._blocks:
            error[rows], slopes[rows] = W @ error[rows], W @ slopes[rows]
        return error, slopes

    def by_numbers(self, by: Sensitivities, state: StaticState, left_out: Collection[str] = ()) -> Array:
        """Derivatives (n_rows, n) of the errors by numbers of the file, the state held; zero of sensors left out.

        Those of places are exact, those of sensors differences of fourth order.
        """
        targets, zero = self.targets, np.zeros_like(state.q)
        slopes = np.zeros((len(self.sd), len(by.names)))
        if targets.frames.names:
            twists = MovingFrames(by, targets.frames).twists(state.q)
            slopes = targets.by_twists(state.q, np.ascontiguousarray(twists))
        channels = [one for one in targets.channels if one[0] not in left_out]
        for i in range(len(by.names)) if channels else ():
            for _, factor, other in by._nearby(i):
                instruments = other.instruments
                at = State(instruments.sites, 0.0, state.q, zero, zero, state.u, state.multiplier)
                for key, rows, chosen, _ in channels:
                    slopes[rows, i] += factor * instruments.readers[key].read(at)[chosen]
        return self.weighed(np.zeros(len(self.sd)), slopes)[1]

    def natural(self, error: Array) -> dict[str, Array]:
        """Errors in SI units by name of the reading, of errors over standard deviations; NaN where nothing was read."""
        out = error.copy()
        for rows, W in self._blocks:
            out[rows] = np.linalg.solve(W, out[rows])
        out = np.where(self.counts, self.sd * out, np.nan)
        return {name: out[rows] for name, rows in self.rows.items()}

    def innovations(self, error: Array) -> dict[str, Array]:
        """The same, NaN also where an entry of a reading was left out: as long as that of all of it would be."""
        own, out = self.natural(error), dict[str, Array]()
        for key, (kind, chosen) in zip(self.keys, self.targets.layout, strict=True):
            if kind == READING:
                size = len(self.robot.instruments.readers[key].channels)
            elif kind == POSE or self._is_pose(key):
                size = len(TWIST)
            else:
                size = len(TILT if np.size(self.given[key]) == 6 else AXES)
            first = size - len(AXES) if kind == POSITION else 0  # positions are the last entries
            out[self._labels[key]] = whole = np.full(size, np.nan)
            whole[first + np.array(chosen)] = own[self._labels[key]]
        return out


def is_missing(value: Any) -> bool:
    """Whether nothing was read."""
    if value is None:
        return True
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim == 1:
        return False
    return isinstance(value, list | tuple) and len(value) > 0 and all(x is None for x in value)
