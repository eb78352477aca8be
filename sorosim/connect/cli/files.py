"""Commands that read and write files."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from sorosim.base.errors import FileError, InputError
from sorosim.base.options import FmuArguments
from sorosim.connect.cli import control, design, estimation, fitting, summaries
from sorosim.connect.cli.console import as_json, facts, line, out
from sorosim.connect.cli.inputs import summaries_of
from sorosim.connect.cli.options import (
    SUMMARY,
    Argument,
    Count,
    Flag,
    JsonOption,
    Name,
    OutputFile,
    ResultArgument,
    RobotArgument,
    SetOption,
    SummaryOption,
    with_options,
)
from sorosim.connect.cli.parsers import file_with, new_file
from sorosim.connect.cli.sources import MOTIONS, is_result, load_robot, result_kind

YAML = (".yaml", ".yml")


def export(
    result: ResultArgument,
    output: Annotated[
        Path, OutputFile(help="File to write: .csv, of a run also .mat, of a sweep .parquet.", show_default=False)
    ],
    readings: Annotated[bool, Flag("--readings", help="Write a table of each sensor; --out is their folder.")] = False,
) -> None:
    """Write the numbers of a result for other programs (the result file itself is HDF5, which many read).

    Example: sorosim export run.h5 --out run.csv
    """
    import sorosim

    opened: Any = sorosim.open(result)
    kind, _ = result_kind(opened)
    if kind in MOTIONS:
        kind, opened = "a run", opened.run
    if kind not in ("a run", "a sweep", "a continuation"):
        raise InputError(str(result), "a run, a sweep or a continuation", kind, "any reader of HDF5 opens the file")
    if readings:
        if kind != "a run":
            raise InputError(str(result), "a run, which has readings", kind)
        if not opened.readings:
            raise InputError(str(result), "a run of a robot with sensors", "one without", "a block `sensors` has them")
        if output.suffix in (".csv", ".mat"):
            raise InputError("--out", "a folder for the tables, one for each sensor", f"'{output}'")
        for path in opened.readings_to_csv(output):
            out().print(str(path))
        return
    writers = {".csv": "to_csv", ".mat": "to_mat", ".parquet": "to_parquet"}
    suffixes = [suffix for suffix, writer in writers.items() if hasattr(opened, writer)]
    if output.suffix not in suffixes:
        raise InputError("--out", f"a file name that ends in {' or '.join(suffixes)}", f"'{output}'")
    getattr(opened, writers[output.suffix])(output)
    out().print(str(output))


@with_options(FmuArguments, "dt method *")
def fmu(
    robot: RobotArgument,
    changes: SetOption = None,
    version: Annotated[int, Count("--fmi", help="Version of the standard, 2 or 3.")] = 2,
    parameters: Annotated[
        list[str] | None,
        Name("--parameter", metavar="PATH", help="A number of the robot's file that others may set; may come again."),
    ] = None,
    *,
    options: dict[str, Any],
    output: Annotated[
        Path | None,
        OutputFile(parser=file_with((".fmu",)), help="File to write, .fmu; default: the robot's name, here."),
    ] = None,
) -> None:
    """Write a robot as a functional mock-up unit (FMU) that other programs simulate together with their models.

    It needs the extra 'fmu' here, and sorosim in the Python of the machine that runs the unit.

    Example: sorosim fmu cable_manipulator --parameter materials.silicone.young
    """
    from sorosim.connect.fmi.export import export_fmu

    path = export_fmu(load_robot(robot, changes), output, fmi=version, parameters=parameters or (), **options)
    out().print(str(path))


def info(
    source: Annotated[str, Argument(metavar="SOURCE", help="A result file, or a robot.")],
    changes: SetOption = None,
    summary: SummaryOption = None,
    json: JsonOption = False,
) -> None:
    """Show the content of a robot's file or of a result.

    Example: sorosim info cable_manipulator
    """
    if is_result(source):
        if changes:
            raise InputError("--set", "a robot beside it", f"the result '{source}'", "its robot is that of the run")
        _result_info(source, summaries_of(summary), json)
        return
    if summary:
        raise InputError(SUMMARY, "a run beside it", f"the robot '{source}'", "`sorosim simulate` takes it too")
    robot = load_robot(source, changes)
    if json:
        content = {"robot": robot.name, "ndof": robot.ndof, "n_points": robot.n_points}
        content |= {"coordinates": robot.coordinate_names, "actuators": robot.actuator_names}
        as_json(content | {"loops": robot.loop_names, "couplings": robot.coupling_names, "sensors": robot.sensor_names})
    else:
        line(robot.summary())
        line("actuators: " + (", ".join(robot.actuator_names) or "none"))
        line("coordinates: " + ", ".join(robot.coordinate_names))


def _result_info(source: str, numbers: dict[str, Any], json: bool) -> None:
    import sorosim
    from sorosim.files.results import read

    result: Any = sorosim.open(source)
    kind, _ = result_kind(result)
    if numbers and kind != "a run":
        raise InputError(SUMMARY, "a run beside it", kind)
    if kind == "an estimate":
        as_json(estimation.summary(result)) if json else line(result.summary())
        return
    if kind == "an observed motion":
        as_json(estimation.motion_summary(result)) if json else line(result.summary())
        return
    if kind == "a fit":
        as_json(fitting.summary(result)) if json else line(result.summary())
        return
    if kind == "a design":
        as_json(design.summary(result)) if json else line(result.summary())
        return
    if kind == "an optimal motion":
        as_json(control.summary(result)) if json else line(result.summary())
        return
    versions = dict(result.versions) if kind == "a sweep" else read(source).get("versions", {})
    made_by = ", ".join(f"{name} {version}" for name, version in versions.items())
    if kind == "a continuation":
        if json:
            as_json(summaries.continuation_summary(result) | {"versions": versions})
        else:
            summaries.print_continuation(result, {"made by": made_by})
        return
    if kind == "a sweep":
        summary, rows = summaries.sweep_summary(result), summaries.sweep_facts(result)
    elif kind == "a run":
        summary = summaries.run_summary(result, Path(source), numbers) | {"options": result.options}
        rows = summaries.run_facts(summary) | {"message": result.message}
    elif kind != "an equilibrium":
        summary = {"kind": result.file_kind} | {name: getattr(result, name) for name in result.declaration()}
        shapes = {name: getattr(one, "shape", ()) for name, one in summary.items()}
        rows = {name: f"numbers {shapes[name]}" if shapes[name] else str(one) for name, one in summary.items()}
    else:
        summary = {"robot": result.robot.name, "message": result.message, "q": result.q, "driven": result.driven}
        rows = {"equilibrium": result.message, "stable": summaries.stability(result)} | summaries.driven_facts(result)
    summary["versions"], rows["made by"] = versions, made_by
    if names := result.robot.sensor_names:
        summary["sensors"], rows["sensors"] = names, ", ".join(names)
    as_json(summary) if json else facts(result.robot.name, rows)


def robots(json: JsonOption = False) -> None:
    """List the bundled robots, with a line about each.

    Example: sorosim robots
    """
    from sorosim.files.bundled import bundled_robots, robot_words

    descriptions = {name: robot_words(name) for name in bundled_robots()}
    if json:
        as_json(descriptions)
        return
    width = max(map(len, descriptions), default=0)
    for name, words in descriptions.items():
        line(f"{name:<{width}}  {words}")


def new(
    path: Annotated[Path, Argument(metavar="FILE", parser=new_file, help="The file to write, such as my_robot.yaml.")],
    live: Annotated[bool, Flag("--live", help="Edit it in the browser; needs the extra 'live'.")] = False,
) -> None:
    """Write a robot to start from, with comments; it runs as it is.

    Example: sorosim new my_robot.yaml
    """
    if live:
        from sorosim.view.interactive.page import require_viser

        require_viser()
    text = resources.files("sorosim").joinpath("starter.yaml").read_text(encoding="utf-8")
    if path.suffix not in YAML:
        raise InputError("path", "a file name that ends in .yaml", f"'{path}'", f"try {path}.yaml")
    _write_new(path, text)
    if live:
        import sorosim
        from sorosim.connect.cli.interactive import wait_for

        wait_for(sorosim.live(path, block=False))
        return
    out().print(f"{path}: try  sorosim simulate {path}  and then  sorosim play {path.stem}.h5", soft_wrap=True)


def schema(
    sweep: Annotated[bool, Flag("--sweep", help="Print that of sweep files instead.")] = False,
    task: Annotated[bool, Flag("--task", help="Print that of task files of optimal control instead.")] = False,
    of_design: Annotated[bool, Flag("--design", help="Print that of design files instead.")] = False,
) -> None:
    """Print the JSON Schema of robot files, for editors that complete and check while you type.

    Example: sorosim schema > sorosim.schema.json
    """
    from sorosim.files import json_schema, sweep_schema
    from sorosim.studies.control.task import task_schema
    from sorosim.studies.design.task import design_schema

    if sweep + task + of_design > 1:
        raise InputError("schema", "one of --sweep, --task and --design", "several")
    chosen = task_schema if task else design_schema if of_design else sweep_schema if sweep else json_schema
    as_json(chosen())


def convert(
    robot: RobotArgument,
    changes: SetOption = None,
    output: Annotated[
        Path | None, OutputFile(parser=file_with(YAML), help="File to write, .yaml; default: beside the robot's.")
    ] = None,
) -> None:
    """Write a robot as one YAML file that needs no other: from URDF, MJCF or SDF, or with all it includes and imports.

    Meshes of more than some thousand triangles stay in their own files.

    Example: sorosim convert arm.urdf
    """
    text = load_robot(robot, changes).description.text
    path = output or Path(robot).with_suffix(".yaml")
    _write_new(path, text, "" if output else " by --out")
    out().print(str(path))


def _write_new(path: Path, text: str, hint: str = "") -> None:
    """Write a file that is not there yet."""
    try:
        with open(path, "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise FileError(str(path), f"exists already; give another name{hint}") from None
    except OSError as error:
        raise FileError(str(path), f"cannot be written: {error.strerror or error}") from None
