"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sorosim.cli.readers import number, result_file, seconds
from sorosim.errors import InputError
from sorosim.solvers.registry import METHODS

RobotArgument = Annotated[
    str,
    typer.Argument(metavar="ROBOT", help="A YAML or URDF file, or the name of a bundled robot.", show_default=False),
]
ResultArgument = Annotated[Path, typer.Argument(metavar="RESULT", help="A result file.", show_default=False)]
SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="A result file, or a robot to see it as it is built; several are shown by one clock.",
        show_default=False,
    ),
]
SignalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--u",
        metavar="NAME=VALUE",
        help="Input of an actuator, a number or an expression of t; may come again. Other inputs stay as in the file.",
    ),
]
InputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--u",
        metavar="NAME=VALUE",
        help="Input of an actuator, as in --u 'cable1=5 N'; may come again. Other inputs stay as in the file.",
    ),
]
MotionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--driven",
        metavar="NAME=VALUE",
        help="Value of a coordinate, by its name or that of its link, a number or an expression of t; may come again. "
        "Others stay as in the file.",
    ),
]
DrivenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--driven",
        metavar="NAME=VALUE",
        help="Value of a coordinate, by its name or that of its link, as in --driven 'base=5 mm'; may come again. "
        "Others stay as in the file.",
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=f"{', '.join(METHODS[:-1])} or {METHODS[-1]}; default: that of the file, or bdf."
    ),
]
StepsOption = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        parser=number,
        help="Most steps of the integrator; default: that of the file, or until the run stalls.",
    ),
]
ClockOption = Annotated[
    float | None,
    typer.Option(
        metavar="TIME", parser=seconds, help="Most time on the clock; default: that of the file, or no limit."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Any value of the robot's file, as in --set links.arm.rod.length=40cm; may come again.",
    ),
]
SizeOption = Annotated[str, typer.Option("--size", metavar="WIDTHxHEIGHT", help="Size of the picture in pixels.")]
OverlayOption = Annotated[
    bool, typer.Option("--overlay", metavar="", help="Draw several runs over each other instead of side by side.")
]
NamesOption = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="What several runs are called, with commas; default: the names of the files."),
]
JsonOption = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object, for scripts.")]
ResultOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", parser=result_file, help="HDF5 file to write, .h5; default: none."),
]


def assignments(pairs: list[str] | None, option: str, example: str) -> dict[str, str] | None:
    """Split NAME=VALUE pairs; None when there are none, so that the file's own block holds."""
    if not pairs:
        return None
    split: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            expected = "PATH=VALUE" if option == "--set" else "NAME=VALUE"
            raise InputError(option, expected, f"'{pair}'", f"as in {option} {example}")
        if name.strip() in split:
            raise InputError(option, "every name once", f"'{name.strip()}' twice")
        split[name.strip()] = value.strip()
    return split


def pixels(text: str) -> tuple[int, int]:
    """Width and height of WIDTHxHEIGHT."""
    width, x, height = text.lower().partition("x")
    if not (x and width.strip().isdecimal() and height.strip().isdecimal()):
        raise InputError("--size", "WIDTHxHEIGHT", f"'{text}'", "as in --size 1920x1080")
    return int(width), int(height)


def listed(text: str) -> list[str]:
    """Names that commas part."""
    return [name.strip() for name in text.split(",")]
