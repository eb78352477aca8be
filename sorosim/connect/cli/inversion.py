"""The command of inverse statics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.base.errors import InputError
from sorosim.base.options import InverseArguments
from sorosim.connect.cli import options as opt
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import as_json, facts
from sorosim.connect.cli.inputs import frame, pairs, values
from sorosim.connect.cli.sources import load_robot
from sorosim.connect.cli.summaries import outputs_of, position

_TARGET = (
    "Where a place shall be, as in 'arm=42cm,9cm,-19cm' or 'arm@0.5=,,-20cm' (an empty entry may be any), or what the "
    "channels of a sensor shall read; may come again."
)
_ALONG = "A table of targets one after the other (CSV): columns such as arm.x [mm], arm.y [mm], arm@0.5.z [mm]."
_RATE = "Most change of an input or driven coordinate from one row to the next, as in 'cable1=0.5 N'; may come again."
_BOUNDS = "Bounds of an input or driven coordinate, as in 'cable1=0,10 N'; may come again."


@opt.with_options(InverseArguments, "effort tolerance starts stable")
def inverse(
    robot: opt.RobotArgument,
    targets: Annotated[list[str] | None, opt.Assignment("--target", help=_TARGET)] = None,
    along: Annotated[
        Path | None,
        typer.Option("--along", metavar="FILE", help=_ALONG, show_default=False, exists=True, dir_okay=False),
    ] = None,
    free: Annotated[
        str | None, opt.Names("--free", help="What may change, with commas; default: all inputs.", show_default=False)
    ] = None,
    bounds: Annotated[list[str] | None, typer.Option("--bounds", metavar="NAME=LOW,HIGH", help=_BOUNDS)] = None,
    rates: Annotated[list[str] | None, opt.Assignment("--rate", help=_RATE)] = None,
    u: opt.InputOption = None,
    driven: opt.DrivenOption = None,
    changes: opt.SetOption = None,
    *,
    options: dict[str, Any],
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Find inputs under which places are where they shall be.

    Example: sorosim inverse two_segment_arm --target upper=4cm,3cm,-28cm --out found.h5
    """
    import sorosim
    from sorosim.base.writing import reserved

    if (targets is None) == (along is None):
        raise InputError("inverse", "--target or --along, one of them", "neither" if targets is None else "both")
    if rates and along is None:
        raise InputError("--rate", "--along FILE beside it", "none")
    loaded = load_robot(robot, changes)
    inputs, motions = values(loaded, u, driven)
    common = {"free": None if free is None else [name.strip() for name in free.split(",")], "u": inputs,
              "driven": motions, "bounds": pairs(bounds, "--bounds", "cable1=0,10N"), **options}  # fmt: skip
    compile_engine(loaded)
    with reserved(output):
        if along is not None:
            steps = opt.assignments(rates, "--rate", "'cable1=0.5 N'")
            path = sorosim.inverse_path(loaded, _table(loaded, along), rates=steps, **common)
            content = {"robot": loaded.name, "message": path.message, "u": path.u, "driven": path.driven,
                       "error": path.error, "reached": path.reached, "file": output}  # fmt: skip
            rows = {"targets": path.message, "off by": f"{1e3 * path.distance.max():.3g} mm at most"}
            result: Any = path
        else:
            result = found = sorosim.inverse(loaded, _targets(loaded, targets), **common)
            names = ("message", "reached", "error", "stable", "active", "u", "driven", "q")
            content = {"robot": loaded.name} | {name: getattr(found, name) for name in names} | {"file": output}
            rows = (
                {"search": found.message}
                | _values(found)
                | {name: position(p) for name, p in outputs_of(loaded, found.q).items()}
            )
        if output:
            result.save(output)
    as_json(content) if json else facts(loaded.name, rows | ({"written": str(output)} if output else {}))


def _values(found: Any) -> dict[str, str]:
    """Inputs and driven coordinates with their units."""
    robot = found.robot
    inputs = zip(robot.actuator_names, found.u, robot.actuator_units, strict=True)
    rows = {name: f"{value:.6g} {unit}".rstrip() for name, value, unit in inputs}
    layout = robot.engine.layout
    units = {"length": "m", "angle": "rad"}
    for name, value in found.driven.items():
        rows[name] = f"{value:.6g} {units.get(layout.dimensions[layout.coordinate(name, 'driven')], '')}".rstrip()
    return rows


def _targets(robot: Any, texts: list[str] | None) -> dict[Any, list[Any]]:
    """Targets of the command line."""
    out: dict[Any, list[Any]] = {}
    for name, text in (opt.assignments(texts, "--target", "arm=42cm,9cm,-19cm") or {}).items():
        key = name if name in robot.sensor_names else frame(f"--target {name}", name)
        out[key] = [part.strip() or None for part in text.strip("[] ").split(",")]
    return out


def _table(robot: Any, file: Path) -> dict[Any, list[list[float | None]]]:
    """Targets of a table."""
    import numpy as np

    import sorosim

    data = sorosim.Measurements.from_csv(file, gaps=True)
    return {
        frame(f"{file}", name): [[None if np.isnan(x) else float(x) for x in row] for row in rows]
        for name, rows in data.positions.items()
    }
