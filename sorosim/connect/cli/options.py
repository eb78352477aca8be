"""Arguments and options of the commands: factories by the type of the value, options that commands share, and those
that are made of the declarations of `sorosim.base.options`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.base.declare import Boolean, Declared, Integer, Quantity
from sorosim.base.errors import InputError
from sorosim.base.methods import Option, method_type, options_by_name
from sorosim.connect.cli.parsers import PLOTS, declared, file_with, number, result_file, seconds, whole

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

RobotArgument = Annotated[
    str, Argument(metavar="ROBOT", help="A YAML, URDF, MJCF or SDF file, or the name of a bundled robot.")
]
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
SUMMARY = "--summary"
SummaryOption = Annotated[
    list[str] | None,
    Assignment(
        SUMMARY,
        help="A number that the run comes down to, as in --summary 'speed={rate: arm.x, after: 2 s}', by one of last, "
        "min, max, mean, rms, range, amplitude and rate; may come again.",
    ),
]
JsonOption = Annotated[bool, Flag("--json", help="Print one JSON object, for scripts.")]
ResultOption = Annotated[Path | None, ResultFile(help="HDF5 file to write, .h5; default: none.")]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", parser=file_with(PLOTS), help="Picture to write; default: none."),
]

Command = Callable[..., None]
# flags of truth values
SWITCHES = {"stable": "--stable/--any", "projection": "--projection/--no-projection", "both": "--both/--one-way",
            "stability": "--stability/--no-stability", "verify": "--verify/--no-verify"}  # fmt: skip


def with_options(kind: type[Declared], names: str, before: str = "") -> Callable[[Command], Command]:
    """Give a command flags for declared options, which it takes as one mapping, its parameter `options`.

    Parameters
    ----------
    kind : Declared
        Where they are declared.
    names : str
        Which of them, in this order; * stands for those of methods.
    before : str, optional
        What takes precedence over the default: "that of the file".
    """
    keys = kind.declaration()
    of_methods = " ".join(options_by_name(method_type(kind).use)) if "*" in names else ""
    wanted = names.replace("*", of_methods).split()
    return inserted("options", {name: (_flag(name, keys[name], before), None) for name in wanted})


def inserted(parameter: str, options: Mapping[str, tuple[Any, Any]]) -> Callable[[Command], Command]:
    """Replace a parameter of a command by options, their types and defaults; it takes their values as one mapping."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def called(**arguments: Any) -> None:
            values = {name: arguments.pop(name) for name in options}
            command(**arguments, **{parameter: values})

        own = inspect.signature(command, eval_str=True)
        parameters, at = list(own.parameters.values()), list(own.parameters).index(parameter)
        parameters[at : at + 1] = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, (kind, default) in options.items()
        ]
        keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        called.__signature__ = own.replace(parameters=keyword)  # type: ignore[attr-defined]
        return called

    return decorate


def _flag(name: str, key: Any, before: str) -> Any:
    """The flag of a declared option."""
    fallback, before = (key.fallback, before if key.in_files else "") if isinstance(key, Option) else (None, before)
    flags = SWITCHES.get(name, f"--{name.replace('_', '-')}")
    written = flags.split("/")[not fallback] if isinstance(key.type, Boolean) else fallback
    default = ", or ".join(part for part in (before, written) if isinstance(part, str) and part)
    text = f"{key.doc} Default: {default}." if default else key.doc
    if isinstance(key.type, Boolean):
        return Annotated[bool | None, typer.Option(flags, help=text, show_default=False)]
    is_number, is_time = isinstance(key.type, Quantity | Integer), getattr(key.type, "dimension", "") == "time"
    metavar = "TIME" if is_time else "NUMBER" if is_number else "NAME"
    return Annotated[Any, typer.Option(flags, metavar=metavar, parser=declared(key.type), help=text)]


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
