"""How commands draw robots: options that windows, films, pictures and pages share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from sorosim.cli.options import Flag, Name, Names, split_names
from sorosim.cli.parsers import number
from sorosim.errors import InputError

_COLOUR = "What colours show: tension, bending_y, ... or plain; default: tension, if any."
_ORBIT = "By how much the camera goes round in each simulated second."
_TIPS = "Links that leave trails, with commas; default: those that carry no other."

# option -> its type, help and default
DRAWING: dict[str, tuple[Any, Any]] = {
    "view": (Annotated[str, Name(help="Camera: iso, front, side, top, or x, y, z.")], "iso"),
    "colour": (Annotated[str | None, Name(help=_COLOUR)], None),
    "follow": (Annotated[str | None, Name(help="Link that the camera follows, or 'centre of mass'.")], None),
    "orbit": (Annotated[float, typer.Option(metavar="DEGREES", parser=number, help=_ORBIT)], 0.0),
    "trails": (Annotated[bool, Flag("--trails", help="Draw the paths of the tips.")], False),
    "tips": (Annotated[str | None, Names(help=_TIPS)], None),
    "frames": (Annotated[bool, Flag("--frames", help="Draw frames along the robot.")], False),
    "loads": (Annotated[bool, Flag("--loads", help="Draw loads as arrows.")], False),
    "joints": (Annotated[bool, Flag("--joints", help="Draw forces in loops and joints as arrows.")], False),
    "gravity": (Annotated[bool, Flag("--gravity", help="Draw the weight as an arrow.")], False),
}


def with_drawing_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command some of these options, or all; it takes their values as one mapping, its parameter `drawing`."""
    chosen = names or tuple(DRAWING)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**arguments: Any) -> None:
            drawing = {name: arguments.pop(name) for name in chosen}
            if drawing.get("tips") is not None:
                if not drawing["trails"]:
                    raise InputError("--tips", "--trails beside it", "tips alone")
                drawing["tips"] = split_names(drawing["tips"])
            command(**arguments, drawing=drawing)

        own = inspect.signature(command, eval_str=True)
        parameters, at = list(own.parameters.values()), list(own.parameters).index("drawing")
        parameters[at : at + 1] = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, (kind, default) in ((name, DRAWING[name]) for name in chosen)
        ]
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return called

    return decorate


def without_defaults(drawing: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults."""
    return {name: value for name, value in drawing.items() if value != DRAWING[name][1]}
