"""The command that fits a robot to measurements."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from sorosim.base.errors import ConvergenceError, InputError
from sorosim.connect.cli import options as opt
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import line, report
from sorosim.connect.cli.inputs import frames, pairs
from sorosim.connect.cli.sources import load_robot

_FREE = "What is fitted: a path in the file, marker.NAME.offset, input.NAME.scale or time.shift; may come again."
_PLACE = (
    "Where a marker sits, as in tip=arm, mid=arm@0.5 or mid=arm@0.5:0,0,25mm (its offset in the frame there); may come "
    "again; default: the link or frame of its name."
)
_PAIR = "materials.silicone.young=1MPa,2MPa"
_NOISE = (
    "Standard deviation of all measurements, as in 0.5mm, or of a marker or sensor, as in tip=0.5mm; may come again."
)


def fit(
    robot: opt.RobotArgument,
    data: Annotated[list[str], opt.Argument(metavar="DATA", help="Tables of measurements (CSV).")],
    free: Annotated[list[str], typer.Option("--free", metavar="NAME", show_default=False, help=_FREE)],
    places: Annotated[list[str] | None, typer.Option("--place", metavar="NAME=PLACE", help=_PLACE)] = None,
    bounds: Annotated[
        list[str] | None, typer.Option("--bounds", metavar="NAME=LOW,HIGH", help="Bounds of a number; may come again.")
    ] = None,
    priors: Annotated[
        list[str] | None,
        typer.Option("--prior", metavar="NAME=MEAN,SD", help="What is known of a number beforehand; may come again."),
    ] = None,
    noise: Annotated[list[str] | None, typer.Option("--noise", metavar="SD", help=_NOISE)] = None,
    loss: Annotated[str, opt.Name(help="linear, soft_l1, huber or cauchy; the last three bound outliers.")] = "linear",
    starts: Annotated[int, opt.Count(help="From how many starts to search.")] = 1,
    profile: Annotated[
        bool, opt.Flag("--profile", help="Intervals by profile likelihood, some thirty more simulations a number.")
    ] = False,
    gaps: Annotated[bool, opt.Flag("--gaps", help="Leave empty cells out.")] = False,
    changes: opt.SetOption = None,
    picture: opt.PlotOption = None,
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Fit numbers of a robot to measurements of equilibria and motions.

    Example: sorosim fit arm.yaml markers.csv --free materials.silicone.young --place tip=arm --out fit.h5
    """
    import sorosim
    from sorosim.base.writing import reserved

    if twice := [file for file in data if data.count(file) > 1]:
        raise InputError("DATA", "every table once", f"'{twice[0]}' twice")
    loaded = load_robot(robot, changes)
    where = frames(places, "--place")
    measured = [sorosim.Measurements.from_csv(file, places=_of(file, where), gaps=gaps) for file in data]
    known = {marker for one in measured for marker in one.markers}
    if wrong := [name for name in where if name not in known]:
        raise InputError("--place", f"one of the markers {', '.join(sorted(known)) or 'none'}", f"'{wrong[0]}'")
    compile_engine(loaded)
    with reserved(output):
        try:
            result = sorosim.fit(
                loaded, measured, free, pairs(bounds, "--bounds", _PAIR), _noise(noise),
                priors=pairs(priors, "--prior", _PAIR), loss=loss, starts=starts,
            )  # fmt: skip
        except ConvergenceError as error:
            if isinstance(error.partial, sorosim.Fit):
                report(error.partial, summary, output, picture, json)
            raise
        report(
            result, partial(summary, profile=profile), output, picture, json,
            lambda found: line(found.summary(profile)),
        )  # fmt: skip


def summary(result: Any, profile: bool = False) -> dict[str, Any]:
    """A fit as plain data; intervals by profile likelihood if asked for."""
    return {
        "robot": result.robot.name, "values": result.values,
        "units": dict(zip(result.names, result.units, strict=True)),
        "initial": result.initial, "standard_errors": result.standard_errors,
        "interval_95": result._intervals(0.95, profile)[0], "nonlinearity": result.nonlinearity,
        "identifiable": result.identifiable, "weak": result.weak, "null_directions": list(result.null_directions),
        "correlation": result.correlation, "noise": result.noise,
        "rms": result.errors.rms, "rms_before": result.errors_before.rms, "message": result.message,
    }  # fmt: skip


def _of(file: str, places: dict[str, Any]) -> dict[str, Any]:
    """Those of the places whose markers a table has."""
    from sorosim.studies.fitting.measurements import header_of

    return {name: place for name, place in places.items() if any(x.startswith(f"{name}.") for x in header_of(file))}


def _noise(texts: list[str] | None) -> Any:
    if not texts or (len(texts) == 1 and "=" not in texts[0]):
        return texts[0] if texts else None
    return opt.assignments(texts, "--noise", "tip=0.5mm")
