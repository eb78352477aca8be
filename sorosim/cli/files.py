"""Commands that read and write files."""

from __future__ import annotations

import warnings
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.cli.kinds import kind_of
from sorosim.cli.options import JsonOption, ResultArgument, RobotArgument, SetOption
from sorosim.cli.readers import RESULTS, new_file
from sorosim.cli.runs import load_changed
from sorosim.cli.show import as_json, facts, needed, out, run_facts, run_summary
from sorosim.errors import FileError, InputError, SorosimError, SorosimWarning


def is_result(name: str) -> bool:
    """Whether a name is that of a result file rather than of a robot."""
    from sorosim.io.writing import journal_of

    if name.endswith(RESULTS) or journal_of(name).exists():
        return True
    import h5py

    return bool(h5py.is_hdf5(name))  # whatever its name; False of what is not there


def export(
    result: ResultArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="File to write: .csv, of a run also .mat, of a sweep .parquet.",
            show_default=False,
        ),
    ],
    readings: Annotated[
        bool, typer.Option("--readings", metavar="", help="Write a table of each sensor; --out is their folder.")
    ] = False,
) -> None:
    """Write the numbers of a result for other programs (the result file itself is HDF5, which many read).

    Example: sorosim export run.h5 --out run.csv
    """
    import sorosim

    found: Any = sorosim.open(result)
    kind, _ = kind_of(found)
    if kind == "an equilibrium":
        raise InputError(str(result), "a run, a sweep or a continuation", kind, "any reader of HDF5 opens the file")
    if readings:
        if kind != "a run":
            raise InputError(str(result), "a run, which has readings", kind)
        if not found.readings:
            raise InputError(str(result), "a run of a robot with sensors", "one without", "a block `sensors` has them")
        if output.suffix in (".csv", ".mat"):
            raise InputError("--out", "a folder for the tables, one for each sensor", f"'{output}'")
        for path in found.readings_to_csv(output):
            out.print(str(path))
        return
    writers = {".csv": "to_csv", ".mat": "to_mat", ".parquet": "to_parquet"}
    able = [suffix for suffix, writer in writers.items() if hasattr(found, writer)]
    if output.suffix not in able:
        raise InputError("--out", f"a file name that ends in {' or '.join(able)}", f"'{output}'")
    getattr(found, writers[output.suffix])(output)
    out.print(str(output))


def _stability(state: Any) -> str:
    """Whether an equilibrium is stable; a file may also hold where the search for one stopped."""
    from sorosim.equilibria.assembly import open_loops
    from sorosim.equilibria.statics import LOOP_TOLERANCE

    with warnings.catch_warnings():
        warnings.simplefilter("error", SorosimWarning)
        try:
            if left := open_loops(state.robot, state.q, 1e3 * LOOP_TOLERANCE):
                return f"no equilibrium, {left} open"
            return "yes" if state.stable else f"no: {state.stability}"
        except (SorosimWarning, SorosimError):
            return "no equilibrium, the search for one stopped here"


def info(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A result file, or a robot.", show_default=False)],
    changes: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Say what is in a robot's file or in a result.

    Example: sorosim info cable_manipulator
    """
    if is_result(source):
        if changes:
            raise InputError("--set", "a robot beside it", f"the result '{source}'", "its robot is that of the run")
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
    from sorosim.bifurcation.diagram import Continuation
    from sorosim.cli.curves import curve_facts, curve_summary
    from sorosim.cli.sweeps import sweep_facts, sweep_summary
    from sorosim.io.results import read
    from sorosim.results.result import Run
    from sorosim.sweeps.result import SweepResult

    found = sorosim.open(source)
    versions = dict(found.versions) if isinstance(found, SweepResult) else read(source).get("versions", {})
    made_by = ", ".join(f"{name} {version}" for name, version in versions.items())
    if isinstance(found, SweepResult):
        summary, rows = sweep_summary(found) | {"versions": versions}, sweep_facts(found) | {"made by": made_by}
    elif isinstance(found, Run):
        summary = run_summary(found, Path(source)) | {"options": found.options, "versions": versions}
        rows = run_facts(summary) | {"message": found.message, "made by": made_by}
    elif isinstance(found, Continuation):
        if json:
            as_json(curve_summary(found) | {"versions": versions})
        else:
            curve_facts(found, {"made by": made_by})
        return
    else:
        summary = {"robot": found.robot.name, "message": found.message, "q": found.q, "driven": found.driven}
        summary["versions"] = versions
        rows = {"equilibrium": found.message, "stable": _stability(found)}
        rows |= needed(found) | {"made by": made_by}
    if names := found.robot.sensor_names:
        summary["sensors"] = names
        rows["sensors"] = ", ".join(names)
    as_json(summary) if json else facts(found.robot.name, rows)


def robots(json: JsonOption = False) -> None:
    """List the bundled robots, and what they are.

    Example: sorosim robots
    """
    from sorosim.io import bundled_robots, robot_words

    found = {name: robot_words(name) for name in bundled_robots()}
    if json:
        as_json(found)
        return
    width = max(map(len, found), default=0)
    for name, words in found.items():
        out.print(f"{name:<{width}}  {words}", markup=False, highlight=False, soft_wrap=True)


def new(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", parser=new_file, help="The file to write, such as my_robot.yaml.", show_default=False
        ),
    ],
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
    sweep: Annotated[bool, typer.Option("--sweep", metavar="", help="Print that of sweep files instead.")] = False,
) -> None:
    """Print the JSON Schema of robot files, for editors that complete and check while you type.

    Example: sorosim schema > sorosim.schema.json
    """
    from sorosim.io import json_schema, sweep_schema

    as_json(sweep_schema() if sweep else json_schema())


def convert(
    robot: RobotArgument,
    changes: SetOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", parser=new_file, help="File to write, .yaml; default: beside the robot's."
        ),
    ] = None,
) -> None:
    """Write a robot as one YAML file that needs no other: from URDF, or with all that it includes and imports.

    Meshes of more than some thousand triangles stay in their own files.

    Example: sorosim convert arm.urdf
    """
    text = load_changed(robot, changes).description.text
    path = output or Path(robot).with_suffix(".yaml")
    if path.suffix not in (".yaml", ".yml"):
        raise InputError("--out", "a file name that ends in .yaml", f"'{path}'")
    _write_new(path, text, "" if output else " by --out")
    out.print(str(path))


def _write_new(path: Path, text: str, hint: str = "") -> None:
    """Write a file that is not there yet."""
    try:
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise FileError(str(path), f"exists already; give another name{hint}") from None
    except OSError as error:
        raise FileError(str(path), f"cannot be written: {error.strerror or error}") from None
