"""What was measured of a robot: equilibria, or a motion; from arrays and from CSV files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.declare.types import Integer
from sorosim.base.errors import FileError, InputError, nearest
from sorosim.base.public import public
from sorosim.base.signals import csv_rows
from sorosim.base.units.quantity import amount
from sorosim.base.units.table import DIMENSIONS
from sorosim.base.validation import LARGEST, describe, flag
from sorosim.mechanics.dynamics.link_frames import LinkFrames, as_anchor
from sorosim.mechanics.engine.inputs import dimension_of
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.robot import Robot

MAX_SUBSTEPS = 1000
# of the mean interval: times that differ from equally spaced ones by less are those
SPACING = 1e-4
_COLUMN = re.compile(r"(?P<name>[^\[\]]+?)\s*(?:\[(?P<unit>[^\[\]]*)\])?")
_KEY = re.compile(r"t|(u|driven)\..+|sensor\..+\..+|(?!u\.|driven\.|sensor\.).+\.[xyz]")
_HEADER = (
    "t, u.ACTUATOR, driven.COORDINATE, MARKER.x, .y or .z, or sensor.SENSOR.CHANNEL, each with its unit in brackets"
)
# arguments of which a table says nothing
ARGUMENTS = ("places", "sd", "q0", "qd0", "substeps")
GAPS = "gaps=True (--gaps) leaves gaps out"


@public
class Measurements:
    """What was measured of a robot: n equilibria, or n rows of one motion.

    Parameters
    ----------
    u : (n, n_actuators) array_like, or mapping of actuator name to a number or (n,) array_like
        Inputs; those that are left out are zero. In a motion each is held until the next row.
    positions : mapping of marker name to (n, 3) array_like
        World positions of markers [m].
    readings : mapping of sensor name to (n, n_channels) array_like, or to a mapping of channel name to (n,) array_like
        Of sensors of the robot's file, in SI units. A mapping may leave channels out.
    t : (n,) array_like, optional
        Times of a motion [s], equally spaced. Default: rows are equilibria.
    driven : mapping of link or coordinate name to a number or (n,) array_like
        Values of driven coordinates; in a motion a cubic spline leads through them. Default: those of the file.
    places : mapping of marker name to a link, (link, s), a frame or an Anchor
        Where markers sit, as `LinkFrames` takes it. Default: the name of a marker is that of its place.
    sd : float, str, or mapping of marker or sensor name to float, str or one for each measured channel
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
                raise InputError(where, "a mapping of names", describe(given))
        self.t = None if t is None else table("t", t, ["time"])[:, 0]
        self.gaps, kinds = flag("gaps", gaps), ["length"] * 3
        self.positions = {
            key: table(f"positions.{key}", x, kinds, gaps=self.gaps) for key, x in (positions or {}).items()
        }
        self.u, self.readings = u, dict(readings or {})
        self.driven, self.places = dict(driven or {}), dict(places or {})
        if t is None and qd0 is not None:
            raise InputError("qd0", "none, since equilibria are at rest", describe(qd0), "a motion has times t")
        if isinstance(q0, str) and (q0 != "equilibrium" or t is None):
            expected = "coordinates" if t is None else "'equilibrium', or coordinates"
            raise InputError("q0", expected, f"'{q0}'")
        self.q0 = "equilibrium" if q0 is None and t is not None else q0
        self.sd, self.qd0, self.name = sd, qd0, str(name)
        self.substeps = Integer(1, MAX_SUBSTEPS).argument("substeps", substeps)
        self._csv: _Csv | None = None
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
    def from_csv(
        cls, path: str | Path, *, places: Mapping[str, Any] | None = None, sd: Any = None, q0: Any = None,
        qd0: Any = None, substeps: int = 1, gaps: bool = False, name: str | None = None,
    ) -> Measurements:  # fmt: skip
        """Read a table, whose first line has the names of its columns, units in brackets.

        Parameters
        ----------
        path : path
            Separated by commas, semicolons or tabs; lines that begin with # are comments. Columns: ``t [s]`` of a
            motion, ``u.tendon1 [N]``, ``driven.lid [deg]``, ``tip.x [mm]``, ``tip.y [mm]``, ``tip.z [mm]`` of a
            marker, ``sensor.gauge.bending_y [1/m]`` of a channel. Without brackets numbers are in SI units. Empty cells
            are gaps.
        places, sd, q0, qd0, substeps, gaps, name
            As above. Default of the name: that of the file.

        Raises
        ------
        FileError
            What is wrong with the file, and in which line and column.
        """
        csv, columns = _Csv.read(path, flag("gaps", gaps))
        t, u, driven = None, dict[str, Array](), dict[str, Array]()
        positions: dict[str, dict[str, Array]] = {}
        readings: dict[str, dict[str, Array]] = {}
        for key, column in columns.items():
            block, _, own = key.partition(".")
            if key == "t":
                t = column * csv.factor(key, "time")
            elif block in ("u", "driven"):  # units of these and of readings are looked at when the robot is known
                (u if block == "u" else driven)[own] = column
            elif block == "sensor":
                sensor, _, channel = own.rpartition(".")
                readings.setdefault(sensor, {})[channel] = column
            else:
                marker, _, axis = key.rpartition(".")
                positions.setdefault(marker, {})[axis] = column * csv.factor(key, "length")
        for marker, axes in positions.items():
            if missing := [axis for axis in "xyz" if axis not in axes]:
                with csv.at(f"{marker}."):
                    raise InputError(marker, f"the columns {marker}.x, {marker}.y, {marker}.z", f"no {missing[0]}")
        if t is not None:
            with csv.at("t", _uneven(t)):
                _interval(t)
        markers = {marker: np.column_stack([axes[axis] for axis in "xyz"]) for marker, axes in positions.items()}
        with csv.at():
            out = cls(
                u, positions=markers, readings=readings, t=t, driven=driven, places=places, sd=sd, q0=q0, qd0=qd0,
                substeps=substeps, gaps=gaps, name=Path(path).stem if name is None else name,
            )  # fmt: skip
        out._csv = csv
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
            with self._at():
                return self._bind(robot)
        except InputError as error:
            raise error.inside(self.name) if self.name else error from None

    def _bind(self, robot: Robot) -> BoundData:
        layout, kinds = robot.engine.layout, robot.input_dimensions
        if isinstance(self.u, Mapping):
            u = np.zeros((self.n, len(kinds)))
            for name, column in self.u.items():
                with self._at(f"u.{name}"):
                    kind = dimension_of(kinds, name, "u")
                    u[:, robot.actuator_names.index(name)] = self._column(f"u.{name}", column, kind)
        else:
            rows = np.zeros((self.n, len(kinds))) if self.u is None else self.u
            u = table("u", rows, list(kinds.values()), self.n)
        driven = {}
        for name, column in self.driven.items():
            with self._at(f"driven.{name}"):
                kind = layout.dimensions[layout.coordinate(name, "driven")]
                driven[name] = self._column(f"driven.{name}", column, kind)
        anchors = []
        for name in self.positions:
            with self._at(f"{name}."):
                where = f"places.{name}" if name in self.places else f"positions.{name}"
                anchors.append(as_anchor(robot.description, self.places.get(name, name), where))
                LinkFrames(robot.description, robot.engine, anchors[-1:], where)  # refuses places that cannot be
        bases = tuple(Anchor(anchor.link, s=anchor.s, frame=anchor.frame) for anchor in anchors)
        offsets = np.array([anchor.at[:3, 3] for anchor in anchors]).reshape(-1, 3)
        names = [f"{marker}.{axis}" for marker in self.positions for axis in "xyz"]
        owners = [marker for marker in self.positions for _ in "xyz"]
        dimensions = ["length"] * len(names)
        values, channels = list(self.positions.values()), {}
        for sensor, given in self.readings.items():
            with self._at(f"sensor.{sensor}."):
                hint = nearest(sensor, robot.sensor_names)
                if sensor not in robot.sensor_names:
                    raise InputError("readings", "the name of a sensor of the file", f"'{sensor}'", hint)
            groups = robot.instruments.readers[sensor].groups
            known = {name: group.dimension for group in groups for name in group.names}
            measured, columns = self._reading(sensor, given, known)
            channels[sensor] = np.array([list(known).index(name) for name in measured])
            values.append(columns)
            names += [f"{sensor}.{name}" for name in measured]
            owners += [sensor] * len(measured)
            dimensions += [known[name] for name in measured]
        measured_values = np.concatenate(values, axis=1)
        valid = ~np.isnan(measured_values)
        if not valid.any():
            raise InputError("Measurements", "at least one number", "gaps only")
        sd = deviations(self.sd, owners, dimensions)
        return BoundData(
            self, robot, u, driven, tuple(self.positions), bases, offsets, channels, measured_values, tuple(names),
            tuple(owners), tuple(dimensions), sd, valid,
        )  # fmt: skip

    def _column(self, where: str, value: Any, dimension: str) -> Array:
        """A column of inputs or driven values, in SI units; one number is the same in all rows."""
        if isinstance(value, str) or np.ndim(value) == 0:
            value = [value] * self.n
        factor = self._csv.factor(where, dimension) if self._csv else 1.0
        return table(where, value, [dimension], self.n)[:, 0] * factor

    def _reading(self, sensor: str, given: object, known: Mapping[str, str]) -> tuple[list[str], Array]:
        """Channels that were measured, and their readings (n, n_channels)."""
        where = f"readings.{sensor}"
        if not isinstance(given, Mapping):
            return list(known), table(where, given, list(known.values()), self.n, gaps=self.gaps)
        columns = []
        for name, column in given.items():
            key = f"sensor.{sensor}.{name}"
            with self._at(key):
                if name not in known:
                    raise InputError(where, "the name of a channel", f"'{name}'", nearest(str(name), known))
                factor = self._csv.factor(key, known[name]) if self._csv else 1.0
                columns.append(factor * table(f"{where}.{name}", column, [known[name]], self.n, gaps=self.gaps))
        return list(given), np.concatenate(columns, axis=1)

    @contextmanager
    def _at(self, key: str = "") -> Iterator[None]:
        """Errors inside get the place of a column, where a file has it."""
        if self._csv is None:
            yield
        else:
            with self._csv.at(key):
                yield


@dataclass(frozen=True)
class _Csv:
    """Where the columns of a table are, and their units."""

    file: str
    line: int  # of the names
    rows: list[int]  # lines of the rows
    columns: list[str]
    units: dict[str, str]

    @classmethod
    def read(cls, path: str | Path, gaps: bool) -> tuple[_Csv, dict[str, Array]]:
        """Columns (n,) by name, in the units of the table, NaN where a position or a reading is a gap."""
        file, lines = str(path), csv_rows(path)
        if len(lines) < 2:
            raise FileError(file, f"expected a line of names and rows of numbers, got {len(lines)} lines")
        line, header = lines[0]
        csv = cls(file, line, [i for i, _ in lines[1:]], [], {})
        for k, cell in enumerate(header):
            match = _COLUMN.fullmatch(cell.strip())
            if match is None or not _KEY.fullmatch(match["name"]):
                raise FileError(file, f"expected {_HEADER}, got '{cell}'", line, k + 1)
            if match["name"] in csv.columns:
                raise FileError(file, f"expected every name once, got '{match['name']}' twice", line, k + 1)
            csv.columns.append(match["name"])
            if match["unit"] is not None:
                csv.units[match["name"]] = match["unit"].strip()
        out = {key: np.zeros(len(csv.rows)) for key in csv.columns}
        for row, (i, cells) in enumerate(lines[1:]):
            if len(cells) != len(header):
                raise FileError(file, f"expected {len(header)} columns, got {len(cells)}", i)
            for k, (key, cell) in enumerate(zip(csv.columns, cells, strict=True)):
                may_be_empty = gaps and key != "t" and not key.startswith(("u.", "driven."))
                hint = "" if gaps or key == "t" or key.startswith(("u.", "driven.")) else GAPS
                with csv.at(key, row):
                    out[key][row] = _number(header[k].strip(), cell.strip(), may_be_empty, hint)
        return csv, out

    def factor(self, key: str, dimension: str) -> float:
        """What one of the unit of a column is in SI."""
        if key not in self.units:
            return 1.0
        with self.at(key):
            return amount(f"{key} [{self.units[key]}]", f"1 {self.units[key]}", dimension)

    @contextmanager
    def at(self, key: str = "", row: int | None = None) -> Iterator[None]:
        """Errors about the table get the place of a column, by its name or the begin of that, or of a cell in it."""
        try:
            yield
        except InputError as error:
            if error.where.partition(".")[0] in ARGUMENTS:
                raise
            line = self.line if row is None else self.rows[row]
            own = [
                k for k, name in enumerate(self.columns, 1) if name == key or (key[-1:] == "." and name.startswith(key))
            ]
            column = own[0] if own else 0
            raise FileError(self.file, str(error), line, column) from None


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
    channels: dict[str, IntArray]  # sensor -> those of its channels that were measured
    values: Array  # (n, n_outputs), NaN in gaps
    names: tuple[str, ...]  # of outputs, such as "tip.x"
    owners: tuple[str, ...]  # marker or sensor of each output
    dimensions: tuple[str, ...]
    sd: Array  # (n_outputs,), NaN where none is given
    valid: Mask  # (n, n_outputs) without gaps

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
        outputs = list(zip(self.names, self.owners, self.values.T, strict=True))
        readings = {
            s: {name.removeprefix(f"{s}."): column for name, owner, column in outputs if owner == s}
            for s in self.channels
        }
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
    widths = [*[(m, 3) for m in data["positions"]], *[(s, len(x)) for s, x in data["readings"].items()]]
    parts = np.split(np.asarray(data["sd"]), np.cumsum([n for _, n in widths])[:-1])
    sd = {name: part for (name, _), part in zip(widths, parts, strict=True) if not np.isnan(part).any()}
    return Measurements(**{**data, "places": places, "sd": sd, "substeps": int(data["substeps"]), "gaps": True})


def table(where: str, value: object, dimensions: Sequence[str], n: int | None = None, gaps: bool = False) -> Array:
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
        raise InputError(where, wanted, f"shape {cells.shape}" if cells.ndim else describe(value))
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
        hint = GAPS if where.startswith(("positions", "readings")) else ""
        raise InputError(f"{where}[{i}]" if width == 1 else f"{where}[{i}, {k}]", "a finite number", "nan", hint)
    return out


def header_of(path: str | Path) -> list[str]:
    """Names of the columns of a table."""
    rows = csv_rows(path)
    return [cell.strip() for cell in rows[0][1]] if rows else []


def _number(name: str, text: str, may_be_empty: bool, hint: str) -> float:
    """The number in a cell of a table; NaN where it may be empty."""
    if text.lower() in ("", "nan"):
        if may_be_empty:
            return float("nan")
        raise InputError(f"'{name}'", "a finite number", f"'{text}'", hint)
    try:
        out = np.nan if "_" in text else float(text)
    except ValueError:
        out = np.nan
    if not abs(out) <= LARGEST:
        hint = "the decimal sign is a point" if "," in text else "" if abs(out) > LARGEST else hint
        raise InputError(f"'{name}'", "a finite number", f"'{text}'", hint)
    return out


def _length(where: str, value: Any) -> int:
    """Number of rows of readings."""
    if isinstance(value, Mapping):
        value = next(iter(value.values()), None)
    try:
        return len(value)
    except TypeError:
        raise InputError(where, "rows of numbers", describe(value)) from None


def _interval(t: Array) -> float:
    """The interval of equally spaced times."""
    if len(t) < 2:
        raise InputError("t", "at least two times", f"{len(t)}")
    k = _uneven(t)
    if k and not t[k] > t[k - 1]:
        raise InputError(f"t[{k}]", "increasing times", f"{t[k]:g} s after {t[k - 1]:g} s")
    dt = float(t[-1] - t[0]) / (len(t) - 1)
    if k:
        got, hint = f"{t[k] - t[k - 1]:.6g} s", "rows that are missing are rows of gaps (NaN)"
        raise InputError(f"t[{k}]", f"equally spaced times, every {dt:.6g} s", got, hint)
    return dt


def _uneven(t: Array) -> int:
    """First row whose time does not rise, else the one with the most uneven interval before it; 0 if there is none."""
    steps = np.diff(t)
    if not (steps > 0.0).all():
        return int(np.argmax(~(steps > 0.0))) + 1
    if not len(steps):
        return 0
    off = np.abs(steps - steps.mean())
    return int(np.argmax(off)) + 1 if off.max() > SPACING * steps.mean() else 0
