"""The commands that estimate what a robot does, from readings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.base.errors import ConvergenceError, InputError
from sorosim.connect.cli import options as opt
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import as_json, line, report_of
from sorosim.connect.cli.inputs import frame, values
from sorosim.connect.cli.sources import load_robot

_READING = (
    "What a place or a sensor reads, as in 'arm=42cm,9cm,-19cm', 'arm@0.5=,,-20cm' (an empty entry was not read) or "
    "'gauge=0.2'; 'arm#2' is another reading of a place; may come again."
)
_TABLE = "A table of readings (CSV) with columns such as u.cable1 [N], arm.x [mm], arm@0.5.z [mm], one row an estimate."
UNKNOWN = (
    "What is unknown: an input or driven coordinate with its spread, as in cable1=0.1N; a place with a kind of load, "
    "as in arm.tip=force (or moment, wrench); a rod with 'force per length', 'moment per length' or strain; a path in "
    "the file; several kinds with commas, as in 'arm=strain, force per length'; without '=' nothing is known of "
    "it; may come again."
)
_MOTION = (
    "A table of a motion (CSV): a column t [s] of equal steps, columns u.NAME of commands, held until the next row, "
    "driven.NAME of driven coordinates, through which a cubic spline leads, and readings such as arm.x [mm], "
    "arm@0.5.z [mm], gyro.w_x; empty cells were not read."
)
PROCESS = (
    "How far what is unknown may go in a second, as in 'arm.tip=0.1 N'; 'motion=2 cm/s': how far random accelerations "
    "change velocities; may come again."
)
PRIOR = (
    "Spread of an unknown, as in 'arm.tip=0.05 N', mean and spread, as in 'cable1=2 N,0.1 N', or a mapping, as in "
    "'arm={spread: 5 N/m, length: 20 cm}', of several kinds {strain: ..., force per length: ...}; may come again."
)
_HOW = "ekf, a filter; iterated, for readings that are far from linear; smoother: later readings count too."
_LAG = "How long after a state readings still tell of it, as in 0.2s. Default: 20 steps of the smoother."
NOISE = "Standard deviation of a reading, as in arm=1mm, or of all, as in 1mm; may come again."


def estimate(
    robot: opt.RobotArgument,
    unknown: Annotated[list[str], typer.Option("--unknown", metavar="NAME[=WHAT]", help=UNKNOWN, show_default=False)],
    reading: Annotated[list[str] | None, opt.Assignment("--reading", help=_READING)] = None,
    table: Annotated[
        Path | None,
        typer.Option("--readings", metavar="FILE", help=_TABLE, show_default=False, exists=True, dir_okay=False),
    ] = None,
    noise: Annotated[list[str] | None, typer.Option("--noise", metavar="SD", help=NOISE)] = None,
    prior: Annotated[list[str] | None, opt.Assignment("--prior", help=PRIOR)] = None,
    u: opt.InputOption = None,
    driven: opt.DrivenOption = None,
    changes: opt.SetOption = None,
    picture: opt.PlotOption = None,
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Estimate the shape, inputs and loads of a robot at rest from readings.

    Example: sorosim estimate cable_manipulator --reading 'arm=0.5,0.02,-0.1' --noise 1mm --unknown arm.tip=force
    """
    import sorosim

    if (reading is None) == (table is None):
        raise InputError("estimate", "--reading or --readings, one of them", "neither" if table is None else "both")
    if table is not None and (output or picture):
        raise InputError("--readings", "--reading beside --out and --plot, of one estimate", "a table")
    loaded = load_robot(robot, changes)
    inputs, motions = values(loaded, u, driven)
    what = _unknown(unknown)
    known = _known(prior, "--prior", "'arm.tip=0.05 N'")
    spread = _noise(loaded, noise)
    compile_engine(loaded)
    if table is not None:
        _each_row(loaded, table, what, spread, known, inputs, motions, json)
        return
    report_of(
        lambda: sorosim.estimate(loaded, _readings(loaded, reading), what, spread, known, inputs, motions),
        sorosim.Estimate, summary, output, picture, json,
    )  # fmt: skip


def summary(found: Any) -> dict[str, Any]:
    """An estimate as plain data."""
    return {
        "robot": found.robot.name, "values": found.values, "units": dict(zip(found.names, found.units, strict=True)),
        "standard_deviations": found.standard_deviations, "interval_95": found.interval(),
        "identifiable": found.identifiable, "untold": list(found.untold), "covariance": found.covariance,
        "cost": found.cost, "dof": found.dof, "probability": found.probability, "q": found.q, "u": found.u,
        "message": found.message,
    }  # fmt: skip


def _each_row(robot: Any, file: Path, what: Any, noise: Any, prior: Any, inputs: Any, driven: Any, json: bool) -> None:
    """One estimate for each row of a table, each search from the one before; a row that fails is told."""
    import sorosim
    from sorosim.studies.estimation.estimator import IMPROBABLE
    from sorosim.studies.fitting.measurements import header_of

    data = sorosim.Measurements.from_csv(file, places=_places(file), gaps=True).bind(robot)
    rows, estimator = [], None
    commanded = [name.partition("[")[0].strip()[2:] for name in header_of(file) if name.startswith("u.")]
    for k in range(len(data.values)):
        u = {**(inputs or {}), **{name: float(data.u[k][robot.actuator_names.index(name)]) for name in commanded}}
        moved = {**(driven or {}), **{name: float(values[k]) for name, values in data.driven.items()}}
        given = _readings_of(robot, data, k)
        try:
            if estimator is None:
                estimator = sorosim.Estimator(robot, given, what, noise, prior, u or None, moved or None)
                found = estimator.solve()
            else:
                found = estimator.solve(given, u=u or None, driven=moved or None)
        except ConvergenceError as error:
            if estimator is None:
                raise
            rows.append({"message": str(error)})
            if not json:
                line(f"row {k}: {error}")
            continue
        rows.append(summary(found))
        if not json:
            told = (f"{name} {x:.5g} +- {found.standard_deviations[name]:.2g}" for name, x in found.values.items())
            doubt = "" if found.probability >= IMPROBABLE else f"; {found.mismatch}"
            line(f"row {k}: {', '.join(told)} (probability {found.probability:.2g}){doubt}")
    if json:
        as_json({"robot": robot.name, "rows": rows})


def _readings_of(robot: Any, data: Any, k: int) -> dict[Any, list[float | None]]:
    """Readings of one row of a table, by marker and sensor."""
    out: dict[Any, list[float | None]] = {}
    for marker in data.markers:
        key = marker if "@" in marker or _is_another(marker) else data.source.places.get(marker, marker)
        out[key] = [None if x != x else float(x) for x, owner in zip(data.values[k], data.owners, strict=True)
                    if owner == marker]  # fmt: skip
    for sensor, own in data.channels.items():
        values = [float(x) for x, owner in zip(data.values[k], data.owners, strict=True) if owner == sensor]
        entries: list[float | None] = [None] * len(robot.instruments.readers[sensor].channels)
        for place, x in zip(own, values, strict=True):
            entries[place] = None if x != x else x
        out[sensor] = entries
    return out


def observe(
    robot: opt.RobotArgument,
    table: Annotated[Path, opt.Argument(metavar="TABLE", help=_MOTION)],
    unknown: Annotated[list[str] | None, typer.Option("--unknown", metavar="NAME[=WHAT]", help=UNKNOWN)] = None,
    noise: Annotated[list[str] | None, typer.Option("--noise", metavar="SD", help=NOISE)] = None,
    prior: Annotated[list[str] | None, opt.Assignment("--prior", help=PRIOR)] = None,
    process: Annotated[list[str] | None, opt.Assignment("--process", help=PROCESS)] = None,
    method: Annotated[str, opt.Name(help=_HOW)] = "ekf",
    lag: Annotated[str | None, opt.Name(help=_LAG)] = None,
    position: Annotated[str, opt.Name(help="Spread of places at the start.")] = "1 cm",
    velocity: Annotated[str, opt.Name(help="Spread of velocities at the start.")] = "5 cm/s",
    changes: opt.SetOption = None,
    picture: opt.PlotOption = None,
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Observe a recorded motion: its states, unknown inputs, loads and numbers, from rest under the first row.

    Example: sorosim observe arm.yaml seen.csv --noise 1mm --unknown arm.tip=force --prior 'arm.tip=0.1 N'
    """
    import numpy as np

    import sorosim
    from sorosim.mechanics.engine.prescribed import merged

    loaded = load_robot(robot, changes)
    data = sorosim.Measurements.from_csv(table, places=_places(table), gaps=True).bind(loaded)
    if data.source.t is None:
        raise InputError("TABLE", "a column t [s], of equal steps", "none")
    moved = {name: {"times": data.source.t, "values": column, "interpolation": "cubic"}
             for name, column in data.driven.items()}  # fmt: skip
    driven = merged(loaded.engine.layout, loaded.description.simulate.get("driven") or {}, moved) if moved else None
    observer = sorosim.Observer(
        loaded, data.source.dt, method=method, lag=lag, driven=driven,
        **observing(loaded, unknown, noise, prior, process),
    )  # fmt: skip
    compile_engine(observer.robot)
    rows = [_readings_of(loaded, data, k) for k in range(1, len(data.values))]
    readings = {key: np.array([row[key] for row in rows], dtype=float) for key in rows[0]}
    observer.reset("equilibrium", u=data.u[0], t=float(data.source.t[0]), position=position, velocity=velocity)
    report_of(
        lambda: observer.run(data.u[:-1], readings), sorosim.ObservedMotion, motion_summary, output, picture, json
    )


def motion_summary(found: Any) -> dict[str, Any]:
    """An observed motion as plain data."""
    out = {float(t): left_out for k, t in enumerate(found.t)
           if (left_out := [name for name, there in found.left_out.items() if there[k]])}  # fmt: skip
    return {"robot": found.robot.name, "t": found.t, "values": found.values,
            "units": dict(zip(found.names, found.units, strict=True)),
            "standard_deviations": found.standard_deviations, "rejected": out, "method": found.method,
            "lag": found.lag}  # fmt: skip


def observing(
    robot: Any, unknown: list[str] | None, noise: list[str] | None, prior: list[str] | None, process: list[str] | None
) -> dict[str, Any]:
    """Arguments of an observer."""
    return {
        "unknown": _unknown(unknown or []) or None, "noise": _noise(robot, noise),
        "prior": _known(prior, "--prior", "'arm.tip=0.05 N'") or None,
        "process": _known(process, "--process", "'arm.tip=0.1 N'"),
    }  # fmt: skip


def _places(file: Path) -> dict[str, Any] | None:
    """Places of markers whose names say where on a rod they are, or that are read once more."""
    from sorosim.studies.estimation.unknowns import AGAIN
    from sorosim.studies.fitting.measurements import header_of

    columns = [name.partition("[")[0].strip().rpartition(".")[0] for name in header_of(file)]
    named = [name for name in dict.fromkeys(columns) if "@" in name or _is_another(name)]
    return {name: frame("--readings", name.partition(AGAIN)[0]) for name in named} or None


def _is_another(name: str) -> bool:
    """Whether a name is that of another reading of a place."""
    from sorosim.studies.estimation.unknowns import AGAIN

    return AGAIN in name


def _unknown(texts: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for text in texts:
        name, equal, what = text.partition("=")
        if not name.strip() or name.strip() in out:
            raise InputError("--unknown", "names, every one once", f"'{text}'")
        kinds = [one.strip() for one in what.split(",")]
        out[name.strip()] = None if not equal else kinds[0] if len(kinds) == 1 else kinds
    return out


def _known(texts: list[str] | None, option: str, example: str) -> dict[str, Any]:
    """What is known by name: a spread, mean and spread, or a mapping as in Python."""
    from sorosim.files.yaml_reader import read_text

    given = opt.assignments(texts, option, example) or {}
    return {name: read_text(f"x: {text}\n", f"{option} {name}").data["x"] if text.startswith("{") else _pair(text)
            for name, text in given.items()}  # fmt: skip


def _pair(text: str) -> Any:
    parts = [part.strip() for part in text.split(",")]
    return parts[0] if len(parts) == 1 else parts


def _place(robot: Any, where: str, name: str) -> Any:
    """A sensor or a place, by the name that tables have for it; beside the axis of a rod it has none."""
    return name if name in robot.sensor_names or ":" not in name or _is_another(name) else frame(where, name)


def _readings(robot: Any, texts: list[str] | None) -> dict[Any, list[Any]]:
    out: dict[Any, list[Any]] = {}
    for name, text in (opt.assignments(texts, "--reading", "arm=42cm,9cm,-19cm") or {}).items():
        key = _place(robot, f"--reading {name}", name)
        out[key] = [part.strip() or None for part in text.strip("[] ").split(",")]
    return out


def _noise(robot: Any, texts: list[str] | None) -> Any:
    if not texts or (len(texts) == 1 and "=" not in texts[0]):
        return texts[0] if texts else None
    given = opt.assignments(texts, "--noise", "arm=1mm") or {}
    return {_place(robot, f"--noise {name}", name): _pair(text) for name, text in given.items()}
