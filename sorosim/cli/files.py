"""Commands that read and write files."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.cli.options import (
    ColourOption,
    FramesOption,
    JsonOption,
    ResultArgument,
    SetOption,
    SizeOption,
    TrailsOption,
    ViewOption,
    pixels,
)  # fmt: skip
from sorosim.cli.runs import load_changed
from sorosim.cli.show import as_json, facts, needed, out, run_facts, run_summary
from sorosim.errors import FileError, InputError


def _is_result(name: str) -> bool:
    """Whether a name is that of a result file rather than of a robot."""
    from sorosim.io.journal import journal_of

    return name.endswith((".h5", ".hdf5")) or journal_of(name).exists()


def play(
    source: Annotated[str, typer.Argument(help="A result file, or a robot to see it as it is built.")],
    speed: Annotated[float, typer.Option(help="Simulated seconds a second.")] = 1.0,
    view: ViewOption = "iso",
    colour: ColourOption = None,
    trails: TrailsOption = False,
    frames: FramesOption = False,
) -> None:
    """Show a run in a window; press h there for the keys.

    Example: sorosim play run.h5 --speed 0.5
    """
    from sorosim.result import Run

    found = _moving(source)
    look = {"view": view, "colour": colour, "trails": trails, "frames": frames}
    found.play(speed=speed, **look) if isinstance(found, Run) else found.play(**look)


def _shown(source: str) -> Any:
    """What is to be seen: a result, or a robot as it is built."""
    import sorosim

    return sorosim.open(source) if _is_result(source) else _as_built(load_changed(source, None))


def _moving(source: str) -> Any:
    """What is to be seen in 3D."""
    from sorosim.sweeps.result import SweepResult

    found = _shown(source)
    if isinstance(found, SweepResult):
        hint = "in Python, sorosim.open(...).equilibrium(i) is that of a point; plot draws them all"
        raise InputError(source, "a run, an equilibrium or a robot", "a sweep", hint)
    return found


def _other(found: Any) -> tuple[str, str]:
    """What a result is that is no run, and what draws it."""
    from sorosim.sweeps.result import SweepResult

    if isinstance(found, SweepResult):
        return "a sweep", "plot draws sweeps"
    return "an equilibrium", "plot draws equilibria"


def _as_built(robot: Any) -> Any:
    """A robot at its initial coordinates, as if it rested there."""
    import numpy as np

    from sorosim.result import Equilibrium

    n, m = robot.ndof, len(robot.actuator_names)
    return Equilibrium(robot, robot.initial_q, np.zeros(m), np.zeros(0), {}, 0.0, np.zeros((n, n)), 0, "as it is built")


def plot(
    result: ResultArgument,
    folder: Annotated[Path, typer.Option("--out", help="Folder for the pictures.")] = Path(),
    y: Annotated[
        str | None, typer.Option("--y", metavar="COLUMN", help="Of a sweep: the column to draw; default: tips.")
    ] = None,
) -> None:
    """Draw tip, snapshots, coordinates, inputs, driven forces, energy and sensors of a run, an equilibrium, or a sweep.

    Example: sorosim plot run.h5 --out plots
    """
    import sorosim
    from sorosim.result import Run
    from sorosim.sweeps.result import SweepResult

    found = sorosim.open(result)
    if y is not None and not isinstance(found, SweepResult):
        raise InputError("--y", "the result of a sweep beside it", "that of a run or an equilibrium")
    if isinstance(found, Run):
        from sorosim.viz.plots import plot_all

        written = plot_all(found, folder)
    else:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(str(folder), f"expected a folder for the pictures: {error.strerror or error}") from None
        written = [folder / f"{result.stem}.png"]
        found.plot(written[0], **({} if y is None else {"y": y}))
    for path in written:
        out.print(str(path))


def movie(
    result: ResultArgument,
    output: Annotated[Path | None, typer.Option("--out", help="mp4 or gif; default: beside the result.")] = None,
    fps: Annotated[int, typer.Option(help="Frames a second.")] = 30,
    speed: Annotated[float, typer.Option(help="Simulated seconds a second of film.")] = 1.0,
    size: SizeOption = "1280x720",
    view: ViewOption = "iso",
    colour: ColourOption = None,
    trails: TrailsOption = False,
    frames: FramesOption = False,
) -> None:
    """Film a run.

    Example: sorosim movie run.h5 --out run.mp4 --speed 0.5
    """
    import sorosim
    from sorosim.result import Run

    found = sorosim.open(result)
    if not isinstance(found, Run):
        got, hint = _other(found)
        raise InputError(str(result), "a run", got, hint)
    path = output or result.with_suffix(".mp4")
    found.movie(path, fps=fps, speed=speed, size=pixels(size), view=view, colour=colour, trails=trails, frames=frames)
    out.print(str(path))


def still(
    source: Annotated[str, typer.Argument(help="A result file, or a robot to see it as it is built.")],
    output: Annotated[Path, typer.Option("--out", help="A .png, .jpg, .tif or .bmp file.", show_default=False)],
    t: Annotated[float | None, typer.Option("--t", help="Time in the run, in s; default: its end.")] = None,
    size: SizeOption = "1280x720",
    view: ViewOption = "iso",
    colour: ColourOption = None,
    trails: TrailsOption = False,
    frames: FramesOption = False,
) -> None:
    """Draw one picture in 3D.

    Example: sorosim still run.h5 --t 2 --out run.png --view side
    """
    look = {"size": pixels(size), "view": view, "colour": colour, "trails": trails, "frames": frames}
    found, moment = _moving(source), {} if t is None else {"t": t}
    found.still(output, **moment, **look)
    out.print(str(output))


def export(
    result: ResultArgument,
    output: Annotated[
        Path, typer.Option("--out", help="A .csv file; of a run also .mat, of a sweep .parquet.", show_default=False)
    ],
    readings: Annotated[
        bool, typer.Option("--readings", help="Write a table of each sensor; --out is their folder.")
    ] = False,
) -> None:
    """Write the numbers of a run or a sweep for other programs (the result file itself is HDF5, which many read).

    Example: sorosim export run.h5 --out run.csv
    """
    import sorosim
    from sorosim.result import Run
    from sorosim.sweeps.result import SweepResult

    found = sorosim.open(result)
    if isinstance(found, SweepResult):
        if output.suffix not in (".csv", ".parquet") or readings:
            raise InputError("--out", "a file name that ends in .csv or .parquet", f"'{output}'")
        found.to_csv(output) if output.suffix == ".csv" else found.to_parquet(output)
        out.print(str(output))
        return
    if not isinstance(found, Run):
        raise InputError(str(result), "a run", "an equilibrium", "any reader of HDF5 opens the file")
    if readings:
        for path in found.readings_to_csv(output):
            out.print(str(path))
        return
    if output.suffix not in (".csv", ".mat"):
        raise InputError("--out", "a file name that ends in .csv or .mat", f"'{output}'")
    found.to_csv(output) if output.suffix == ".csv" else found.to_mat(output)
    out.print(str(output))


def info(
    source: Annotated[str, typer.Argument(help="A robot or a result file.")],
    changes: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Say what is in a robot's file or in a result.

    Example: sorosim info cable_manipulator
    """
    if _is_result(source):
        _result_info(source, json)
        return
    robot = load_changed(source, changes)
    if json:
        content = {"robot": robot.name, "ndof": robot.ndof, "n_points": robot.n_points}
        content |= {"coordinates": robot.coordinate_names, "actuators": robot.actuator_names}
        as_json(content | {"loops": robot.loop_names, "sensors": robot.sensor_names})
    else:
        out.print(robot.summary(), markup=False, soft_wrap=True)
        out.print("actuators: " + (", ".join(robot.actuator_names) or "none"), markup=False, soft_wrap=True)
        out.print("coordinates: " + ", ".join(robot.coordinate_names), markup=False, soft_wrap=True)


def _result_info(source: str, json: bool) -> None:
    import sorosim
    from sorosim.cli.sweeps import sweep_facts, sweep_summary
    from sorosim.io.results import read
    from sorosim.result import Run
    from sorosim.sweeps.result import SweepResult

    found = sorosim.open(source)
    versions = dict(found.versions) if isinstance(found, SweepResult) else read(source).get("versions", {})
    made_by = ", ".join(f"{name} {version}" for name, version in versions.items())
    if isinstance(found, SweepResult):
        summary, rows = sweep_summary(found) | {"versions": versions}, sweep_facts(found) | {"made by": made_by}
    elif isinstance(found, Run):
        summary = run_summary(found, Path(source)) | {"options": found.options, "versions": versions}
        rows = run_facts(summary) | {"message": found.message, "made by": made_by}
    else:
        summary = {"robot": found.robot.name, "message": found.message, "q": found.q, "driven": found.driven}
        summary["versions"] = versions
        rows = {"equilibrium": found.message, "stable": "yes" if found.stable else "no"}
        rows |= needed(found) | {"made by": made_by}
    if names := found.robot.sensor_names:
        summary["sensors"] = names
        rows["sensors"] = ", ".join(names)
    as_json(summary) if json else facts(found.robot.name, rows)


def robots() -> None:
    """List the bundled robots.

    Example: sorosim robots
    """
    from sorosim.io import bundled_robots

    for name in bundled_robots():
        out.print(name)


def new(
    path: Annotated[Path, typer.Argument(help="The file to write, such as my_robot.yaml.", show_default=False)],
) -> None:
    """Write a robot to start from, with comments; it runs as it is.

    Example: sorosim new my_robot.yaml
    """
    text = resources.files("sorosim").joinpath("starter.yaml").read_text(encoding="utf-8")
    if path.suffix not in (".yaml", ".yml"):
        raise InputError("path", "a file name that ends in .yaml", f"'{path}'", f"try {path}.yaml")
    _write_new(path, text)
    out.print(f"{path}: try  sorosim simulate {path}  and then  sorosim movie {path.stem}.h5", soft_wrap=True)


def schema(
    sweep: Annotated[bool, typer.Option("--sweep", help="That of sweep files.")] = False,
) -> None:
    """Print the JSON Schema of robot files, for editors that complete and check while you type.

    Example: sorosim schema > sorosim.schema.json
    """
    from sorosim.io import json_schema, sweep_schema

    as_json(sweep_schema() if sweep else json_schema())


def convert(
    source: Annotated[
        str, typer.Argument(help="A URDF or YAML file, or the name of a bundled robot.", show_default=False)
    ],
    output: Annotated[Path | None, typer.Option("--out", help="A .yaml file; default: beside the source.")] = None,
    changes: SetOption = None,
) -> None:
    """Write a robot as one YAML file that needs no other: from URDF, or with all that it includes and imports.

    Meshes of more than some thousand triangles stay in their own files. Example: sorosim convert arm.urdf
    """
    text = load_changed(source, changes).description.text
    path = output or Path(source).with_suffix(".yaml")
    if path.suffix not in (".yaml", ".yml"):
        raise InputError("--out", "a file name that ends in .yaml", f"'{path}'")
    _write_new(path, text)
    out.print(str(path))


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet."""
    try:
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise FileError(str(path), "exists already; give another name") from None
    except OSError as error:
        raise FileError(str(path), f"cannot be written: {error.strerror or error}") from None
