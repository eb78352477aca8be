"""What was measured of a robot: equilibria, or a motion; from arrays and from CSV files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.arrays import Array, Mask
from sorosim.dynamics.link_frames import LinkFrames, as_anchor
from sorosim.engine.inputs import dimension_of
from sorosim.errors import FileError, InputError, nearest
from sorosim.model.anchor import Anchor
from sorosim.robot import Robot
from sorosim.signals import csv_rows
from sorosim.units.quantity import amount
from sorosim.units.table import DIMENSIONS
from sorosim.validation import LARGEST, flag

MAX_SUBSTEPS = 1000
# of the mean interval: times that differ from equally spaced ones by less are those
SPACING = 1e-4
_COLUMN = re.compile(r"(?P<name>[^\[\]]+?)\s*(?:\[(?P<unit>[^\[\]]*)\])?")
_HEADER = (
    "t, u.ACTUATOR, driven.COORDINATE, MARKER.x, .y or .z, or sensor.SENSOR.CHANNEL, each with its unit in brackets"
)


class Measurements:
    """What was measured of a robot: n equilibria, or n rows of one motion.

    Parameters
    ----------
    u : (n, n_actuators) array_like, or mapping of actuator name to a number or (n,) array_like
        Inputs; those that are left out are zero. In a motion each is held until the next row.
    positions : mapping of marker name to (n, 3) array_like
        World positions of markers [m].
    readings : mapping of sensor name to (n, n_channels) array_like, or (n,) of a single channel
        Of sensors of the robot's file, in SI units.
    t : (n,) array_like, optional
        Times of a motion [s], equally spaced. Default: rows are equilibria.
    driven : mapping of link or coordinate name to a number or (n,) array_like
        Values of driven coordinates; in a motion a cubic spline leads through them. Default: those of the file.
    places : mapping of marker name to a link, (link, s), a frame or an Anchor
        Where markers sit, as `LinkFrames` takes it. Default: the name of a marker is that of its place.
    sd : float, str, or mapping of marker or sensor name to float, str or one for each channel
        Standard deviations. They are relative unless `fit` is told that they are known. Default: all are equal.
    q0 : (ndof,) array_like, mapping, or "equilibrium"
        Start of a motion, default "equilibrium": that under the inputs of the first row. Of equilibria: where the
        search for the first ones begins.
    qd0 : (ndof,) array_like or mapping
        Rates at the start of a motion. Default: zero.
    substeps : int
        Steps of the integrator between two rows.
    gaps : bool
        Whether NaN in positions and readings is left out. Default: it is refused.
    name : str
        For messages, and for unknowns of this data alone.

    Raises
    ------
    InputError
        A wrong count, unit or value; names are checked by `fit`, which knows the robot.

    Notes
    -----
    Texts with units are taken wherever numbers are.
    """

    def __init__(
        self, u: Any = None, *, positions: Mapping[str, Any] | None = None, readings: Mapping[str, Any] | None = None,
        t: Any = None, driven: Mapping[str, Any] | None = None, places: Mapping[str, Any] | None = None,
        sd: Any = None, q0: Any = None, qd0: Any = None, substeps: int = 1, gaps: bool = False, name: str = "",
    ) -> None:  # fmt: skip
        for where, given in (("positions", positions), ("readings", readings), ("driven", driven), ("places", places)):
            if given is not None and not isinstance(given, Mapping):
                raise InputError(where, "a mapping of names", f"{given!r}"[:60])
        self.t = None if t is None else table("t", t, ["time"])[:, 0]
        kinds = ["length"] * 3
        self.positions = {key: table(f"positions.{key}", x, kinds, gaps=True) for key, x in (positions or {}).items()}
        self.readings, self.u, self.driven, self.places = (
            dict(readings or {}),
            u,
            dict(driven or {}),
            dict(places or {}),
        )
        self.q0 = "equilibrium" if q0 is None and t is not None else q0
        self.sd, self.qd0, self.gaps, self.name = sd, qd0, flag("gaps", gaps), str(name)
        if isinstance(substeps, bool) or not isinstance(substeps, int) or not 1 <= substeps <= MAX_SUBSTEPS:
            raise InputError("substeps", f"a whole number from 1 to {MAX_SUBSTEPS}", f"{substeps!r}"[:40])
        self.substeps, self.file, self._units = substeps, "", dict[str, str]()
        measured = {f"positions.{key}": len(x) for key, x in self.positions.items()}
        measured |= {f"readings.{key}": _length(f"readings.{key}", x) for key, x in self.readings.items()}
        if not measured:
            raise InputError("Measurements", "positions or readings", "none")
        self.n = len(self.t) if self.t is not None else next(iter(measured.values()))
        if self.n == 0:
            raise InputError("Measurements", "at least one row", "none")
        for where, n in measured.items():
            if n != self.n:
                what = "one for each time" if self.t is not None else f"as {next(iter(measured))} has"
                raise InputError(where, f"{self.n} rows, {what}", f"{n}")
        unknown = [key for key in self.places if key not in self.positions]
        if unknown:
            hint = nearest(unknown[0], self.positions)
            raise InputError("places", "names of markers whose positions are given", f"'{unknown[0]}'", hint)
        if self.t is not None:
            self.dt = _interval(self.t)

    @classmethod
    def from_csv(cls, path: str | Path, **options: Any) -> Measurements:
        """Read a table, whose first line has the names of its columns, units in brackets.

        Parameters
        ----------
        path : path
            Separated by commas, semicolons or tabs; lines that begin with # are comments. Columns: ``t [s]`` of a
            motion, ``u.tendon1 [N]``, ``driven.lid [deg]``, ``tip.x [mm]``, ``tip.y [mm]``, ``tip.z [mm]`` of a
            marker, ``sensor.gauge.kappa_y [1/m]`` of a channel. Without brackets numbers are in SI units. Empty cells
            are gaps.
        options
            ``places``, ``sd``, ``q0``, ``qd0``, ``substeps``, ``gaps`` and ``name``, as above.

        Raises
        ------
        FileError
            What is wrong with the file, and in which line and column.
        """
        file = str(path)
        rows = csv_rows(path)
        if len(rows) < 2:
            raise FileError(file, f"expected a line of names and rows of numbers, got {len(rows)} lines")
        line, header = rows[0]
        columns: dict[str, Array] = {}
        units: dict[str, str] = {}
        for k, cell in enumerate(header):
            found = _COLUMN.fullmatch(cell.strip())
            key = found["name"] if found else ""
            if not re.fullmatch(r"t|(u|driven)\..+|sensor\..+\..+|(?!u\.|driven\.|sensor\.).+\.[xyz]", key):
                raise FileError(file, f"expected {_HEADER}, got '{cell}'", line, k + 1)
            if key in columns:
                raise FileError(file, f"expected every name once, got '{key}' twice", line, k + 1)
            columns[key] = np.zeros(len(rows) - 1)
            if found and found["unit"] is not None:
                units[key] = found["unit"].strip()
        for k, key in enumerate(columns):
            columns[key][:] = [_cell(file, i, k, header, cells) for i, cells in rows[1:]]
        try:
            out = cls._of_columns(columns, units, {"name": Path(path).stem, **options})
        except InputError as error:
            raise FileError(f"{file}:{line}", str(error)) from None
        out.file = f"{file}:{line}"
        return out

    @classmethod
    def _of_columns(cls, columns: dict[str, Array], units: dict[str, str], options: dict[str, Any]) -> Measurements:
        """From columns as a file has them; units of inputs and readings are looked at when the robot is known."""
        positions: dict[str, dict[str, Array]] = {}
        readings: dict[str, dict[str, Array]] = {}
        by: dict[str, dict[str, Array]] = {"u": {}, "driven": {}}
        t = None
        for key, column in columns.items():
            block, _, rest = key.partition(".")
            if key == "t":
                t = column * _factor(key, units, "time")
            elif block in by:
                by[block][rest] = column
            elif block == "sensor":
                sensor, _, channel = rest.rpartition(".")
                readings.setdefault(sensor, {})[channel] = column
            else:
                marker, _, axis = key.rpartition(".")
                positions.setdefault(marker, {})[axis] = column * _factor(key, units, "length")
        for marker, axes in positions.items():
            if missing := [axis for axis in "xyz" if axis not in axes]:
                raise InputError(f"{marker}", f"the columns {marker}.x, {marker}.y, {marker}.z", f"no {missing[0]}")
        places = {name: np.column_stack([axes[axis] for axis in "xyz"]) for name, axes in positions.items()}
        out = cls(by["u"], driven=by["driven"], positions=places, readings=readings, t=t, **options)
        out._units = units
        return out

    @property
    def markers(self) -> tuple[str, ...]:
        """Names of the markers."""
        return tuple(self.positions)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        what = f"{self.n} equilibria" if self.t is None else f"a motion of {self.n} rows, {self.t[-1] - self.t[0]:g} s"
        names = ", ".join([*self.positions, *self.readings])
        return f"<Measurements{f' {self.name!r}' if self.name else ''}: {what}; {names}>"

    def bind(self, robot: Robot) -> BoundData:
        """Check all names and units against a robot."""
        try:
            return self._bind(robot)
        except InputError as error:
            if self.file:
                raise FileError(self.file, str(error)) from None
            raise error.inside(self.name) if self.name else error from None

    def _bind(self, robot: Robot) -> BoundData:
        layout, kinds = robot.engine.layout, robot.input_dimensions
        if isinstance(self.u, Mapping):
            u = np.zeros((self.n, len(kinds)))
            for name, column in self.u.items():
                kind = dimension_of(kinds, name, "u")
                u[:, robot.actuator_names.index(name)] = self._column(f"u.{name}", column, kind)
        else:
            rows = np.zeros((self.n, len(kinds))) if self.u is None else self.u
            u = table("u", rows, list(kinds.values()), self.n)
        driven = {
            name: self._column(f"driven.{name}", column, layout.dimensions[layout.coordinate(name, "driven")])
            for name, column in self.driven.items()
        }
        anchors = [
            as_anchor(robot.description, self.places.get(name, name), f"places.{name}") for name in self.positions
        ]
        LinkFrames(robot.description, robot.engine, anchors, "places")  # refuses places that cannot be
        bases = tuple(Anchor(anchor.link, s=anchor.s, frame=anchor.frame) for anchor in anchors)
        offsets = np.array([anchor.at[:3, 3] for anchor in anchors]).reshape(-1, 3)
        names, owners, dimensions = [], [], []
        for marker in self.positions:
            names += [f"{marker}.{axis}" for axis in "xyz"]
            owners += [marker] * 3
            dimensions += ["length"] * 3
        values = list(self.positions.values())
        for sensor, given in self.readings.items():
            if sensor not in robot.sensor_names:
                hint = nearest(sensor, robot.sensor_names)
                raise InputError("readings", "the name of a sensor of the file", f"'{sensor}'", hint)
            channels = [
                (name, group.dimension) for group in robot.instruments.readers[sensor].groups for name in group.names
            ]
            values.append(self._reading(f"readings.{sensor}", given, channels))
            names += [f"{sensor}.{name}" for name, _ in channels]
            owners += [sensor] * len(channels)
            dimensions += [kind for _, kind in channels]
        measured = np.concatenate(values, axis=1)
        gaps = np.isnan(measured)
        if gaps.any() and not self.gaps:
            i, k = np.argwhere(gaps)[0]
            hint = "gaps=True leaves gaps out"
            raise InputError("Measurements", "a number in every row", f"none at row {i} of {names[k]}", hint)
        if gaps.all():
            raise InputError("Measurements", "at least one number", "gaps only")
        sd = deviations(self.sd, owners, dimensions)
        return BoundData(
            self, robot, u, driven, tuple(self.positions), bases, offsets, tuple(self.readings), measured, tuple(names),
            tuple(owners), tuple(dimensions), sd, ~gaps,
        )  # fmt: skip

    def _column(self, where: str, value: Any, dimension: str) -> Array:
        """A column of inputs or driven values, in SI units; one number is the same in all rows."""
        if isinstance(value, str) or np.ndim(value) == 0:
            value = [value] * self.n
        return table(where, value, [dimension], self.n)[:, 0] * _factor(where, self._units, dimension)

    def _reading(self, where: str, given: Any, channels: Sequence[tuple[str, str]]) -> Array:
        """Readings (n, n_channels), NaN where a mapping of channels leaves one out."""
        if not isinstance(given, Mapping):
            return table(where, given, [kind for _, kind in channels], self.n, gaps=True)
        out, known = np.full((self.n, len(channels)), np.nan), [name for name, _ in channels]
        for name, column in given.items():
            if name not in known:
                raise InputError(where, "the name of a channel", f"'{name}'", nearest(str(name), known))
            k, key = known.index(name), f"sensor.{where.partition('.')[2]}.{name}"
            out[:, k] = table(f"{where}.{name}", column, [channels[k][1]], self.n, gaps=True)[:, 0]
            out[:, k] *= _factor(key, self._units, channels[k][1])
        return out


@dataclass(frozen=True, eq=False)
class BoundData:
    """Measurements whose names and units were checked against a robot; k markers, n_outputs measured columns."""

    source: Measurements
    robot: Robot
    u: Array  # (n, n_actuators)
    driven: dict[str, Array]  # (n,) each
    markers: tuple[str, ...]
    bases: tuple[Anchor, ...]  # frames on which markers sit
    offsets: Array  # (k, 3) where in these frames
    sensors: tuple[str, ...]
    values: Array  # (n, n_outputs)
    names: tuple[str, ...]  # of outputs, such as "tip.x"
    owners: tuple[str, ...]  # marker or sensor of each output
    dimensions: tuple[str, ...]
    sd: Array  # (n_outputs,), NaN where none is given
    kept: Mask  # (n, n_outputs) without gaps

    @property
    def units(self) -> tuple[str, ...]:
        """SI units of the outputs."""
        return tuple(DIMENSIONS[kind].unit for kind in self.dimensions)

    def as_data(self) -> dict[str, Any]:
        """Plain data, of which `restored` makes the same measurements."""
        source = self.source
        bases = zip(self.markers, self.bases, self.offsets, strict=True)
        places = {m: {"link": b.link, "s": b.s, "frame": b.frame, "offset": o} for m, b, o in bases}
        positions = {m: self.values[:, 3 * k : 3 * k + 3] for k, m in enumerate(self.markers)}
        readings = {s: self.values[:, [owner == s for owner in self.owners]] for s in self.sensors}
        q0 = self.robot.coordinates(source.q0, "q0") if isinstance(source.q0, Mapping) else source.q0
        qd0 = None if source.qd0 is None else self.robot.coordinates(source.qd0, "qd0", order=1)
        return {
            "u": self.u, "positions": positions, "readings": readings, "t": source.t, "driven": self.driven,
            "places": places, "sd": self.sd, "q0": q0, "qd0": qd0, "substeps": source.substeps, "name": source.name,
        }  # fmt: skip


def deviations(sd: Any, owners: Sequence[str], dimensions: Sequence[str], where: str = "sd") -> Array:
    """Standard deviations (n_outputs,), NaN where none is given."""
    out = np.full(len(owners), np.nan)
    if sd is None:
        return out
    given = sd if isinstance(sd, Mapping) else dict.fromkeys(owners, sd)
    for name, value in given.items():
        if name not in owners:
            raise InputError(where, "the name of a marker or a sensor", f"'{name}'", nearest(str(name), set(owners)))
        own = [k for k, owner in enumerate(owners) if owner == name]
        entries = [value] * len(own) if isinstance(value, str) or np.ndim(value) == 0 else list(value)
        if len(entries) != len(own):
            raise InputError(f"{where}.{name}", f"one number, or {len(own)}", f"{len(entries)}")
        for k, entry in zip(own, entries, strict=True):
            out[k] = amount(f"{where}.{name}", entry, dimensions[k])
            if not out[k] > 0.0:
                raise InputError(f"{where}.{name}", "a standard deviation greater than 0", f"{entry!r}")
    return out


def restored(data: Mapping[str, Any]) -> Measurements:
    """Measurements of plain data, see `BoundData.as_data`."""
    places = {
        name: Anchor(p["link"], s=float(p["s"]), frame=p["frame"], at={"position": [float(x) for x in p["offset"]]})
        for name, p in data["places"].items()
    }
    widths = [*[(m, 3) for m in data["positions"]], *[(s, x.shape[1]) for s, x in data["readings"].items()]]
    parts = np.split(np.asarray(data["sd"]), np.cumsum([n for _, n in widths])[:-1])
    sd = {name: part for (name, _), part in zip(widths, parts, strict=True) if not np.isnan(part).any()}
    return Measurements(**{**data, "places": places, "sd": sd, "substeps": int(data["substeps"]), "gaps": True})


def table(where: str, value: Any, dimensions: Sequence[str], n: int | None = None, gaps: bool = False) -> Array:
    """Rows (n, n_columns) of numbers in SI units or texts with units; NaN and None are refused unless `gaps`."""
    try:
        cells = np.asarray(value)
        cells = cells if cells.dtype.kind in "fiu" else np.array(value, dtype=object)
    except ValueError:  # rows of different lengths
        cells = np.array(None)
    width = len(dimensions)
    if cells.ndim == 1 and width == 1:
        cells = cells[:, None]
    if cells.ndim != 2 or cells.shape[1] != width or (n is not None and len(cells) != n):
        wanted = f"{'n' if n is None else n} rows of {width} numbers" if width != 1 else f"{n or 'n'} numbers"
        raise InputError(where, wanted, f"shape {cells.shape}" if cells.ndim else f"{value!r}"[:60])
    out = np.empty(cells.shape)
    for (i, k), cell in np.ndenumerate(cells):
        if cell is None or cell != cell:
            out[i, k] = np.nan
        elif cells.dtype.kind != "O" and abs(cell) <= LARGEST:
            out[i, k] = cell
        else:
            column = f"[{i}]" if width == 1 else f"[{i}, {k}]"
            out[i, k] = amount(f"{where}{column}", cell, dimensions[k])
    if not gaps and np.isnan(out).any():
        i, k = np.argwhere(np.isnan(out))[0]
        raise InputError(f"{where}[{i}]" if width == 1 else f"{where}[{i}, {k}]", "a finite number", "nan")
    return out


def header_of(path: str | Path) -> list[str]:
    """Names of the columns of a table."""
    rows = csv_rows(path)
    return [cell.strip() for cell in rows[0][1]] if rows else []


def _factor(where: str, units: Mapping[str, str], dimension: str) -> float:
    """What one of the unit of a column is in SI."""
    unit = units.get(where)
    return amount(f"{where} [{unit}]", f"1 {unit}", dimension) if unit else 1.0


def _cell(file: str, line: int, k: int, header: Sequence[str], cells: Sequence[str]) -> float:
    """The number in a cell; NaN where it is empty."""
    if len(cells) != len(header):
        raise FileError(file, f"expected {len(header)} columns, got {len(cells)}", line)
    text = cells[k].strip()
    try:
        out = float(text) if text and "_" not in text else np.nan if not text else None
    except ValueError:
        out = None
    if out is None or np.isinf(out):
        hint = "; the decimal sign is a point" if "," in text else "; leave the cell of a gap empty"
        raise FileError(file, f"'{header[k].strip()}': expected a finite number, got {text!r}{hint}", line, k + 1)
    return out


def _length(where: str, value: Any) -> int:
    """Number of rows of readings."""
    if isinstance(value, Mapping):
        value = next(iter(value.values()), None)
    try:
        return len(value)
    except TypeError:
        raise InputError(where, "rows of numbers", f"{value!r}"[:60]) from None


def _interval(t: Array) -> float:
    """The interval of equally spaced times."""
    if len(t) < 2:
        raise InputError("t", "at least two times", f"{len(t)}")
    dt = float(t[-1] - t[0]) / (len(t) - 1)
    if not dt > 0.0:
        raise InputError("t", "increasing times", f"{t[0]:g} to {t[-1]:g}")
    off = np.abs(np.diff(t) - dt)
    if off.max() > SPACING * dt:
        k = int(np.argmax(off))
        hint = "rows that are missing are rows of gaps (NaN)"
        raise InputError("t", f"equally spaced times, every {dt:.6g} s", f"{t[k + 1] - t[k]:.6g} s after row {k}", hint)
    return dt
