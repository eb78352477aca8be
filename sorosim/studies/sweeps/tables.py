"""A sweep as tables: columns of numbers by name, CSV, Parquet, xarray."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.writing import write_whole
from sorosim.mechanics.engine.records import force_name
from sorosim.mechanics.lie.quaternion import quaternion_of
from sorosim.studies.sweeps.plan import Plan
from sorosim.studies.sweeps.task import ENERGIES, STATICS
from sorosim.studies.sweeps.units import units_of

Table = dict[str, NDArray[Any]]  # columns (n,) by name
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


def parameters(plan: Plan) -> Table:
    """Columns of what varies."""
    samples = plan.samples
    return {name: as_column(x) for name, x in zip(samples.names, samples.columns, strict=True)}


def as_column(values: Any) -> NDArray[Any]:
    """Numbers as they are; where there are words, words."""
    words = any(isinstance(x, str) for x in values)
    return np.array([str(x) for x in values]) if words else np.array(values, dtype=float)


def numbers(plan: Plan, arrays: Mapping[str, NDArray[Any]], poses: Mapping[str, Array]) -> Table:
    """What was found that is one number a point; poses (n, 4, 4) by output."""
    result: Table = {}
    for label, g in poses.items():
        table = np.column_stack([g[:, :3, 3], [quaternion_of(R) for R in g[:, :3, :3]]]).reshape(len(g), -1)
        result |= {f"{label}.{part}": table[:, k] for k, part in enumerate(POSE)}
    result |= {f"energy.{name}": arrays["energy"][:, k] for k, name in enumerate(ENERGIES)}
    names = map(force_name, plan.driven, plan.robot.driven_units(plan.driven))
    result |= dict(zip(names, arrays["driven"].T, strict=True))
    result |= {name: arrays["readings"][:, k] for k, name in enumerate(plan.channels)}
    if plan.command == STATICS:
        result |= {name: arrays[name] for name in ("stable", "residual", "n_evaluations", "warm")}
    else:
        result |= {name: arrays["summary"][:, k] for k, name in enumerate(plan.summary)}
        result |= {"t": arrays["t"], "n_evaluations": arrays["n_evaluations"], "energy.balance": arrays["balance"]}
    return result


def write_csv(table: Table, path: str | Path) -> None:
    """Write the table of `SweepResult.to_csv`."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(table)
    for row in zip(*table.values(), strict=True):
        out.writerow([_cell(value) for value in row])
    write_whole(path, text.getvalue().encode())


def _cell(value: object) -> Any:
    """A number with all of its digits."""
    if isinstance(value, np.bool_):
        return int(value)
    return repr(float(value)) if isinstance(value, np.floating) else value


def write_parquet(columns: Table, path: str | Path) -> None:
    """Write the file of `SweepResult.to_parquet`."""
    pyarrow, parquet = _package("pyarrow", "Parquet files"), _package("pyarrow.parquet", "Parquet files")
    table = pyarrow.table({name: _plain(column) for name, column in columns.items()})
    image = io.BytesIO()
    parquet.write_table(table, image)
    write_whole(path, image.getbuffer())


def _plain(column: NDArray[Any]) -> Any:
    return column.tolist() if column.dtype.kind == "U" else np.ascontiguousarray(column)


def to_xarray(sweep: Any) -> Any:
    """What `SweepResult.to_xarray` gives."""
    xarray = _package("xarray", "labelled arrays")
    plan = sweep.plan
    samples, robot = plan.samples, plan.robot
    as_grid = samples.shape is not None and all(len(set(axis)) == len(axis) for axis in _axes(samples))
    dims = samples.names if as_grid else ("point",)
    lead = samples.shape if as_grid else (len(sweep),)
    coords: dict[str, Any] = {}
    if as_grid:
        for name, axis, unit in zip(samples.names, _axes(samples), sweep.units, strict=True):
            coords[name] = (name, as_column(axis), {"units": unit})
    else:
        for name, column, unit in zip(samples.names, samples.columns, sweep.units, strict=True):
            coords[name] = ("point", as_column(column), {"units": unit})
        coords["point"] = np.arange(len(sweep))
    same = len(set(plan.robot.coordinate_names)) == sweep.q.shape[1]
    coords |= {"coordinate": list(robot.coordinate_names)} if same else {}
    coords |= {"output": [place.label for place in plan.outputs], "axis": list("xyz")}

    def shaped(array: NDArray[Any]) -> NDArray[Any]:
        return array.reshape(*lead, *array.shape[1:])

    data: dict[str, Any] = {"q": ((*dims, "coordinate"), shaped(sweep.q))}
    if sweep.lam.shape[1]:
        data["lam"] = ((*dims, "multiplier"), shaped(sweep.lam))
    poses, units = sweep.arrays["poses"], units_of(plan)
    data["position"] = ((*dims, "output", "axis"), shaped(poses[:, :, :3, 3]), {"units": "m"})
    data["rotation"] = ((*dims, "output", "row", "column"), shaped(poses[:, :, :3, :3]))
    in_poses = tuple(f"{place.label}." for place in plan.outputs)
    for name, column in sweep.columns.items():
        if name not in samples.names and not name.startswith(in_poses):
            data[name] = (dims, shaped(column), {"units": units[name]} if name in units else {})
    return xarray.Dataset(data, coords, {"robot": robot.name, "task": plan.command})


def _axes(samples: Any) -> list[list[Any]]:
    """Values along each parameter of a grid."""
    out = []
    for k, column in enumerate(samples.columns):
        stride = int(np.prod(samples.shape[k + 1 :]))
        out.append(list(column[: stride * samples.shape[k] : stride]))
    return out


def _package(name: str, what: str) -> Any:
    """An optional package."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise InputError(
            package, f"the package {package}, for {what}", "none that can be imported", "pip install 'sorosim[tables]'"
        ) from None
