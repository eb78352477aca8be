"""Continuations in files: HDF5, and tables."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.branching.diagram import Continuation, SpecialPoint
from sorosim.errors import FileError
from sorosim.io.results import save_curve
from sorosim.io.writing import write_whole
from sorosim.linear.growth import Growth
from sorosim.results.stored import robot_from_stored
from sorosim.robot import Robot

ROWS = ("parameter", "arclength", "q", "u", "lam", "driven", "buckling", "flutter")


def save(found: Continuation, path: str | Path) -> None:
    """Write a continuation; see `Continuation.save`."""
    options = {name: value for name, value in found.options.items() if name != "stop"}
    way = {"names": list(found.along), "origin": found.origin, "slope": found.slope, "held": found.held}
    save_curve({"along": way, "options": options, "curve": _content(found)}, found.robot, path)


def _content(found: Continuation) -> dict[str, Any]:
    """A curve and its branches as plain data."""
    rows = {name: getattr(found, name) for name in ROWS}
    points = {f"{k:05d}": _point(point) for k, point in enumerate(found.points)}
    branches = {f"{k:05d}": _content(branch) for k, branch in enumerate(found.branches)}
    said = {"message": found.message, "complete": found.complete}
    return {**rows, "points": points, "branches": branches, **said}


def _point(point: SpecialPoint) -> dict[str, Any]:
    names = ("kind", "parameter", "q", "arclength", "row", "tangent", "directions", "frequency")
    mode = point.oscillation
    return {
        **{name: getattr(point, name) for name in names}, "before": list(point.before), "after": list(point.after),
        "oscillation": None if mode is None else np.array([mode.real, mode.imag]),
    }  # fmt: skip


def curve_of(stored: Mapping[str, Any], path: str | Path) -> Continuation:
    """A continuation of what was read from a file."""
    robot = robot_from_stored(stored, path)
    try:
        options, way = dict(stored["options"]), stored["along"]
        options |= {"range": list(options["range"]), "until": list(options["until"]), "stop": None}
        return _read(robot, stored["curve"], way, options)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FileError(str(path), f"expected a complete continuation, got a damaged one: {error!r}") from None


def _read(robot: Robot, curve: Mapping[str, Any], way: Mapping[str, Any], options: dict[str, Any]) -> Continuation:
    n = len(curve["parameter"])
    shapes = {"q": robot.ndof, "u": len(robot.actuator_names), "lam": robot.n_multipliers}
    for name, width in shapes.items():
        if np.shape(curve[name]) != (n, width):
            raise ValueError(f"shape {np.shape(curve[name])} of '{name}', not {(n, width)}")
    points = tuple(_read_point(point) for point in curve["points"].values())
    branches = tuple(_read(robot, branch, way, options) for branch in curve["branches"].values())
    rows = {name: curve[name] for name in ROWS}
    return Continuation(
        robot, tuple(way["names"]), way["origin"], way["slope"], **rows, points=points, message=curve["message"],
        complete=bool(curve["complete"]), options=options, branches=branches, held=dict(way["held"]),
    )  # fmt: skip


def _read_point(kept: Mapping[str, Any]) -> SpecialPoint:
    parts = dict(kept)
    mode = parts.pop("oscillation")
    parts |= {name: Growth(*map(int, parts[name])) for name in ("before", "after")}
    return SpecialPoint(**parts, oscillation=None if mode is None else mode[0] + 1j * mode[1])


def write_csv(found: Continuation, path: str | Path) -> None:
    """Write the table of `Continuation.to_csv`."""
    robot, units = found.robot, found.robot.driven_units(found.driven)
    forces = [f"{'force' if unit == 'N' else 'moment'}({name})" for name, unit in zip(found.driven, units, strict=True)]
    header = ["curve", "parameter", "arclength", *found.along, *robot.coordinate_names, *robot.actuator_names, *forces]
    header += ["buckling", "flutter"]
    rows = []
    for k, curve in enumerate(found.curves()):
        columns = [np.full(len(curve), k), curve.parameter, curve.arclength, *map(curve.values, curve.along), curve.q]
        columns += [curve.u, *curve.driven.values(), curve.buckling, curve.flutter]
        rows.append(np.column_stack(columns))
    text = StringIO()
    np.savetxt(text, np.vstack(rows), delimiter=",", header=",".join(header), comments="", fmt="%.17g")
    write_whole(path, text.getvalue().encode())
