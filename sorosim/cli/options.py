"""Arguments and options of the commands: factories by the type of the value, and options that commands share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sorosim.cli.parsers import number, result_file, seconds, whole
from sorosim.errors import InputError
from sorosim.solvers.registry import METHODS

# metadata of Annotated[type, FACTORY(names, help=...)]
Argument = partial(typer.Argument, show_default=False)
Flag = partial(typer.Option, metavar="")
Name = partial(typer.Option, metavar="NAME")
Names = partial(typer.Option, metavar="NAMES")
Number = partial(typer.Option, metavar="NUMBER", parser=number)
Count = partial(typer.Option, metavar="NUMBER", parser=whole)
Time = partial(typer.Option, metavar="TIME", parser=seconds)
Assignment = partial(typer.Option, metavar="NAME=VALUE")
OutputFile = partial(typer.Option, "--out", metavar="FILE")
ResultFile = partial(OutputFile, parser=result_file)

RobotArgument = Annotated[str, Argument(metavar="ROBOT", help="A YAML or URDF file, or the name of a bundled robot.")]
ResultArgument = Annotated[Path, Argument(metavar="RESULT", help="A result file.")]
SourcesArgument = Annotated[
    list[str],
    Argument(
        metavar="SOURCE", help="A result file, or a robot to see it as it is built; several are shown by one clock."
    ),
]

_INPUT = "Input of an actuator, {}; may come again. Other inputs stay as in the file."
_COORDINATE = "Value of a coordinate, by its name or that of its link, {}; may come again. Others stay as in the file."
_SIGNAL = "a number or an expression of t"

SignalOption = Annotated[list[str] | None, Assignment("--u", help=_INPUT.format(_SIGNAL))]
InputOption = Annotated[list[str] | None, Assignment("--u", help=_INPUT.format("as in --u 'cable1=5 N'"))]
MotionOption = Annotated[list[str] | None, Assignment("--driven", help=_COORDINATE.format(_SIGNAL))]
DrivenOption = Annotated[
    list[str] | None, Assignment("--driven", help=_COORDINATE.format("as in --driven 'base=5 mm'"))
]
MethodOption = Annotated[
    str | None, Name(help=f"{', '.join(METHODS[:-1])} or {METHODS[-1]}; default: that of the file, or bdf.")
]
StepsOption = Annotated[
    float | None, Number(help="Most steps of the integrator; default: that of the file, or until the run stalls.")
]
ClockOption = Annotated[float | None, Time(help="Most time on the clock; default: that of the file, or no limit.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Any value of the robot's file, as in --set links.arm.rod.length=40cm; may come again.",
    ),
]
SizeOption = Annotated[str, typer.Option("--size", metavar="WIDTHxHEIGHT", help="Size of the picture in pixels.")]
OverlayOption = Annotated[bool, Flag("--overlay", help="Draw several runs over each other instead of side by side.")]
NamesOption = Annotated[
    str | None, Names(help="What several runs are called, with commas; default: the names of the files.")
]
JsonOption = Annotated[bool, Flag("--json", help="Print one JSON object, for scripts.")]
ResultOption = Annotated[Path | None, ResultFile(help="HDF5 file to write, .h5; default: none.")]


def assignments(pairs: list[str] | None, option: str, example: str) -> dict[str, str] | None:
    """Split NAME=VALUE pairs; None when there are none, so that the file's own block holds."""
    if not pairs:
        return None
    split: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (equals and name and value):
            expected = "PATH=VALUE" if option == "--set" else "NAME=VALUE"
            raise InputError(option, expected, f"'{pair}'", f"as in {option} {example}")
        if name in split:
            raise InputError(option, "every name once", f"'{name}' twice")
        split[name] = value
    return split


def pixels(text: str) -> tuple[int, int]:
    """Width and height of WIDTHxHEIGHT."""
    width, x, height = text.lower().partition("x")
    if not (x and width.strip().isdecimal() and height.strip().isdecimal()):
        raise InputError("--size", "WIDTHxHEIGHT", f"'{text}'", "as in --size 1920x1080")
    return int(width), int(height)


def split_names(text: str) -> list[str]:
    """Names that commas part."""
    return [name.strip() for name in text.split(",")]
