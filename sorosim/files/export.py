"""Numbers of a run for other programs: tables of text, MATLAB files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.base.errors import FileError, InputError, warn
from sorosim.base.public import public
from sorosim.base.writing import check_path, write_whole
from sorosim.mechanics.engine.records import force_name

ROWS_AT_ONCE = 10_000  # of a table
LARGE = 500_000_000  # bytes of a table, some ten seconds of writing
BYTES_OF_A_NUMBER = 20


@public
def write_csv(run: Any, path: str | Path) -> None:
    """Write a table with names in its first line, one row a time.

    Columns are t, coordinates, rates, inputs, then what driven coordinates needed: ``force(x)`` [N] or ``moment(x)``
    [N m], and the multipliers of loops, ``lam[0]`` and so on, if there are any.
    """
    names, forces = _driven(run)
    coordinates, units = run.robot.coordinate_names, run.robot.driven_units(names)
    header = [
        "t",
        *coordinates,
        *(f"d({name})/dt" for name in coordinates),
        *run.robot.actuator_names,
        *map(force_name, names, units),
        *(f"lam[{i}]" for i in range(run.lam.shape[1])),
    ]
    write_table(path, header, [run.t[:, None], run.q, run.qd, run.u, forces, run.lam])


def write_table(path: str | Path, header: Sequence[str], columns: Sequence[Any]) -> None:
    """Write a table of blocks of columns (n, k) as CSV, a part of its rows at a time: memory does not grow with it.

    A table of more than LARGE bytes gives a SorosimWarning before it is written.
    """
    size = BYTES_OF_A_NUMBER * len(columns[0]) * len(header)
    if size > LARGE:
        hint = "run[::10] has every tenth row, and the result file itself is HDF5, which many programs read"
        told = f"{path}: a table of {len(columns[0])} rows and {len(header)} columns, about {size / 1e9:.1f} GB; {hint}"
        warn(told)
    line = ",".join(["%.17g"] * len(header)) + "\n"

    def lines() -> Iterator[bytes]:
        yield (",".join(header) + "\n").encode()
        for first in range(0, len(columns[0]), ROWS_AT_ONCE):
            rows = np.hstack([block[first : first + ROWS_AT_ONCE] for block in columns]).tolist()
            yield "".join(line % tuple(row) for row in rows).encode()

    write_whole(path, lines())


@public
def write_readings(run: Any, folder: str | Path) -> list[Path]:
    """Write a table of each sensor into a folder, which is made where there is none; returns the files.

    Columns are t and the channels with their units, such as ``f_x [m/s^2]``.
    """
    check_path(folder)
    for name in run.readings:
        if not re.fullmatch(r"[^\\/:\0]+", name) or not name.strip("."):
            raise InputError("sensor", "a name that a file can have", f"'{name}'")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise FileError(str(folder), f"cannot be made: {getattr(error, 'strerror', None) or error}") from None
    written = []
    for name, kept in run.readings.items():
        pairs = zip(kept.channels, kept.units, strict=True)
        header = ["t [s]", *(f"{channel} [{unit}]" for channel, unit in pairs)]
        written.append(Path(folder) / f"{name}.csv")
        write_table(written[-1], header, [kept.t[:, None], kept.values])
    return written


@public
def write_mat(run: Any, path: str | Path) -> None:
    """Write t, q, qd, u, driven (n, n_driven), lam, energy, cells of names, and readings to a MATLAB file.

    Its version is 5. ``readings`` is a cell of structures: name, t, values (n, n_channels), channels, units.
    """
    from scipy.io import savemat

    driven, forces = _driven(run)
    names = {
        "coordinate_names": run.robot.coordinate_names,
        "actuator_names": run.robot.actuator_names,
        "driven_names": driven,
    }
    arrays: dict[str, Any] = {"t": run.t[:, None], "q": run.q, "qd": run.qd, "u": run.u}
    arrays |= {"driven": forces, "lam": run.lam, "energy": run.energy()._asdict()}
    # arrays of objects are MATLAB's cells: names of fields could not hold dots, nor begin with _
    arrays |= {name: np.array(entries, dtype=object) for name, entries in names.items()}
    arrays["readings"] = _cell([_readings(name, kept) for name, kept in run.readings.items()])
    image = BytesIO()
    savemat(image, arrays, long_field_names=True)  # type: ignore[arg-type]  # any stream will do
    write_whole(path, image.getvalue())


def _readings(name: str, kept: Any) -> dict[str, Any]:
    """Readings of a sensor as a structure of MATLAB."""
    words = {"channels": np.array(kept.channels, dtype=object), "units": np.array(kept.units, dtype=object)}
    return {"name": name, "t": kept.t[:, None], "values": kept.values, **words}


def _cell(entries: list[Any]) -> Any:
    """A cell of MATLAB."""
    cell = np.empty(len(entries), dtype=object)
    cell[:] = entries
    return cell


def _driven(run: Any) -> tuple[list[str], Any]:
    """Names of the driven coordinates, and what they needed (n, n_driven)."""
    return list(run.driven), np.array(list(run.driven.values()), dtype=float).reshape(-1, len(run.t)).T
