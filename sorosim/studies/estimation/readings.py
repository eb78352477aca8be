"""Readings of places and sensors: their errors over standard deviations, and their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sorosim.analysis.inversion.targets import POSITION, READING, StaticState, Targets
from sorosim.analysis.sensitivity import READING_STEP, MovingFrames, Sensitivities
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, nearest
from sorosim.base.units.quantity import amount
from sorosim.base.units.table import DIMENSIONS
from sorosim.base.validation import describe
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.kinds import PoseSensor
from sorosim.mechanics.sensors.state import State
from sorosim.studies.estimation.unknowns import name_of, place_of

AXES = ("x", "y", "z")
# steps and factors of a difference of fourth order
STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
# entries of a pose's error, a twist in its own axes
TWIST = ("r_x", "r_y", "r_z", "x", "y", "z")
TWIST_KINDS = ("angle",) * 3 + ("length",) * 3


class ReadingErrors:
    """Errors of readings over their standard deviations; values may change, places and sensors stay.

    Parameters
    ----------
    robot : Robot
    readings : mapping of place or sensor to value
        A place as `sorosim.inverse` takes it, or "LINK.tip"; its value a position (3,) or a pose (4, 4). Of a sensor
        what it reads. None in a list leaves an entry out.
    noise : mapping of place or sensor to standard deviations, or one for all, optional
        One number or text for all entries of a reading, one for each, or a covariance. Default: the sensors' own.

    Attributes
    ----------
    keys : tuple
        Places and sensors as they were given.
    names, units : tuple of str
        Of the entries, such as "tip.x".
    """

    def __init__(self, robot: Robot, readings: object, noise: object) -> None:
        if not isinstance(readings, Mapping) or not readings:
            raise InputError("readings", "a mapping of places or sensors to what they read", describe(readings))
        self.robot, self.keys = robot, tuple(readings)
        self._noise = self._noises(noise)
        self._places = {key: self._place(key) for key in self.keys}
        self._layout: list[tuple[Any, ...]] = []
        self.set(readings)

    def _noises(self, noise: object) -> dict[Any, Any]:
        if noise is None:
            return {}
        if not isinstance(noise, Mapping):
            return dict.fromkeys(self.keys, noise)
        if unknown := [key for key in noise if key not in self.keys]:
            raise InputError("noise", "names of readings", f"{unknown[0]!r}",
                             nearest(str(unknown[0]), map(str, self.keys)))  # fmt: skip
        return dict(noise)

    def _place(self, key: Any) -> Any:
        """What `Targets` takes for a reading: a sensor, or a place; that of a sensor of poses."""
        if isinstance(key, str) and key in self.robot.sensor_names:
            sensor = self.robot.instruments.sensors[key]
            if not isinstance(sensor, PoseSensor):
                return key
            return Anchor(sensor.link, s=sensor.s, frame=sensor.frame, at=sensor.at)
        try:
            return place_of(self.robot, key, "readings")
        except InputError:
            if not isinstance(key, str):
                raise
            names = (*self.robot.sensor_names, *(link.name for link in self.robot.description.links))
            raise InputError("readings", "a sensor or a place of this robot", f"'{key}'", nearest(key, names)) from None

    def set(self, readings: Mapping[Any, Any]) -> None:
        """Take other readings of the same places and sensors."""
        if not isinstance(readings, Mapping) or set(readings) != set(self.keys):
            raise InputError("readings", "the same places and sensors as before", describe(readings))
        wanted = {self._places[key]: self._wanted(key, readings[key]) for key in self.keys}
        if len(wanted) < len(self.keys):
            raise InputError("readings", "every place once", "one twice")
        if not self._layout:
            self.targets = Targets(self.robot, wanted, {}, 1.0, "readings")
        else:
            self.targets.set(wanted)
        self.targets.scale[:] = 1.0
        if self._layout != self.targets.layout:
            self._layout = list(self.targets.layout)
            self._weigh()

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
        if np.isnan(q).any():
            return [None if np.isnan(x) else float(x - b) for x, b in zip(numbers[:3], bias[:3], strict=True)]
        if not abs(np.linalg.norm(q) - 1.0) < 0.1:
            raise InputError(
                f"readings.{key}", "a unit quaternion [w, x, y, z]", f"one of length {np.linalg.norm(q):g}"
            )
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = Rotation.from_quat(q, scalar_first=True).as_matrix(), np.array(numbers[:3]) - bias[:3]
        return g

    # -- standard deviations -----------------------------------------------------------------------------------------

    def _weigh(self) -> None:
        """Standard deviations of the entries, and names and units of these."""
        names, units, sd = [], [], []
        self._blocks: list[tuple[slice, Array]] = []  # of covariances: rows, and W with W^T W = C^-1
        ends = np.cumsum([len(chosen) for _, chosen in self._layout]).tolist()
        self._rows = {key: slice(end - len(chosen), end)
                      for key, end, (_, chosen) in zip(self.keys, ends, self._layout, strict=True)}  # fmt: skip
        for key, (kind, chosen) in zip(self.keys, self._layout, strict=True):
            label, entries, kinds = self._entries(key, kind)
            own = self._spread(key, label, entries, kinds, chosen)
            sd += own
            names += [f"{label}.{entries[i]}" for i in chosen]
            units += [DIMENSIONS[kinds[i]].unit for i in chosen]
        self.names, self.units = tuple(names), tuple(units)
        self.sd = np.array(sd)
        self._weight = 1.0 / self.sd

    def _entries(self, key: Any, kind: int) -> tuple[str, Sequence[str], Sequence[str]]:
        """Name of a reading, and names and dimensions of its entries."""
        if kind == READING:
            groups = self.robot.instruments.readers[key].groups
            return key, [n for g in groups for n in g.names], [g.dimension for g in groups for _ in g.names]
        label = name_of(self.robot, key, "readings")
        return (label, AXES, ("length",) * 3) if kind == POSITION else (label, TWIST, TWIST_KINDS)

    def _spread(
        self, key: Any, label: str, entries: Sequence[str], kinds: Sequence[str], chosen: tuple[int, ...]
    ) -> list[float]:
        """Standard deviations of the entries that count; those of a covariance become a block."""
        where, given = f"noise.{label}", self._noise.get(key)
        if given is None:
            given = self._declared(key, len(entries))
            if given is None:
                hint = f"noise={{{key!r}: '1 mm'}}, or the noise of a sensor in the file"
                raise InputError(where, "the standard deviation of a reading", "none", hint)
        if isinstance(given, str) or np.ndim(given) == 0:
            if len(set(kinds)) > 1:
                pair = " and ".join(dict.fromkeys(kinds))
                raise InputError(where, f"{len(entries)} numbers, or two: of {pair}", describe(given))
            sd = [amount(where, given, kinds[0])] * len(entries)
        elif np.ndim(given) == 2:
            return self._block(where, given, len(entries), key, chosen)
        else:
            sd = self._listed(where, list(given), kinds)
        if low := [x for x in sd if not x > 0.0]:
            hint = "a reading without noise leaves no room for those of others"
            raise InputError(where, "a standard deviation greater than 0", f"{low[0]:g}", hint)
        return [sd[i] for i in chosen]

    def _listed(self, where: str, given: list[Any], kinds: Sequence[str]) -> list[float]:
        different = list(dict.fromkeys(kinds))
        if len(given) == len(different) == 2 and len(kinds) > 2:
            pair = [amount(f"{where}[{i}]", x, kind) for i, (x, kind) in enumerate(zip(given, different, strict=True))]
            return [pair[different.index(kind)] for kind in kinds]
        if len(given) != len(kinds):
            raise InputError(where, f"one number, or {len(kinds)}", f"{len(given)}")
        return [amount(f"{where}[{i}]", x, kind) for i, (x, kind) in enumerate(zip(given, kinds, strict=True))]

    def _block(self, where: str, given: Any, n: int, key: Any, chosen: tuple[int, ...]) -> list[float]:
        C = np.array(given, dtype=float)
        if C.shape != (n, n) or not np.isfinite(C).all() or not np.allclose(C, C.T, rtol=1e-9):
            raise InputError(where, f"a symmetric covariance ({n}, {n}) in SI units", f"shape {C.shape}")
        C = C[np.ix_(chosen, chosen)]
        try:
            W = np.linalg.inv(np.linalg.cholesky(C))
        except np.linalg.LinAlgError:
            raise InputError(where, "a positive definite covariance", "another one") from None
        sd = np.sqrt(np.diag(C))
        self._blocks.append((self._rows[key], W * sd))  # of errors that were divided by sd
        return [float(x) for x in sd]

    def _declared(self, key: Any, n: int) -> list[float] | None:
        """Standard deviations in a sensor's declaration; None: there are none."""
        sensor = self.robot.instruments.sensors.get(key) if isinstance(key, str) else None
        if sensor is None or not np.any(sensor.noise):
            return None
        noise = np.broadcast_to(np.asarray(sensor.noise, dtype=float), n if not isinstance(sensor, PoseSensor) else 6)
        if isinstance(sensor, PoseSensor):  # declared position first
            return [*noise[3:], *noise[:3]] if n == 6 else list(noise[:3])
        return list(noise)

    # -- errors --------------------------------------------------------------------------------------------------------

    def errors(self, state: StaticState) -> tuple[Array, Array]:
        """Errors (n_rows,) over their standard deviations, and their derivatives (n_rows, n) by those of a state."""
        return self.weighed(*self.targets.errors(state))

    def weighed(self, error: Array, slopes: Array) -> tuple[Array, Array]:
        """Errors in SI units and their derivatives, over standard deviations."""
        error, slopes = self._weight * error, self._weight[:, None] * slopes
        for rows, W in self._blocks:
            error[rows], slopes[rows] = W @ error[rows], W @ slopes[rows]
        return error, slopes

    @property
    def rows(self) -> dict[str, slice]:
        """Rows of each reading, by its name."""
        return {name_of(self.robot, key, "readings"): rows for key, rows in self._rows.items()}

    def by_numbers(self, by: Sensitivities, state: StaticState) -> Array:
        """Derivatives (n_rows, n) of the errors by numbers of the file, the state held.

        Those of places are exact, those of sensors differences of fourth order.
        """
        targets, zero = self.targets, np.zeros_like(state.q)
        slopes = np.zeros((len(self.sd), len(by.names)))
        if targets.frames.names:
            twists = MovingFrames(by, targets.frames).twists(state.q)
            slopes = targets.by_twists(state.q, np.ascontiguousarray(twists))
        for i, (path, value) in enumerate(zip(by.names, by.values, strict=True)) if targets.channels else ():
            h = READING_STEP * (abs(value) or 1e-3)
            for step, factor in STENCIL:
                instruments = by.robot.with_values({path: value + step * h}).instruments
                at = State(instruments.sites, 0.0, state.q, zero, zero, state.u, state.multiplier)
                for key, rows, chosen in targets.channels:
                    slopes[rows, i] += factor / h * instruments.readers[key].read(at)[chosen]
        slopes *= self._weight[:, None]
        for rows, W in self._blocks:
            slopes[rows] = W @ slopes[rows]
        return slopes

    def natural(self, error: Array) -> dict[str, Array]:
        """Errors in SI units by name of the reading, of errors over standard deviations."""
        out = error.copy()
        for rows, W in self._blocks:
            out[rows] = np.linalg.solve(W, out[rows])
        out *= self.sd
        return {name: out[rows] for name, rows in self.rows.items()}
