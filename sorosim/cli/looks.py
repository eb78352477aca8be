"""How robots look in what commands draw: options that windows, films, pictures and pages share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from sorosim.cli.options import listed
from sorosim.cli.readers import number
from sorosim.errors import InputError

# option -> its type, words and default
LOOKS: dict[str, tuple[Any, Any]] = {
    "view": (Annotated[str, typer.Option(metavar="NAME", help="Camera: iso, front, side, top, or x, y, z.")], "iso"),
    "colour": (
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME", help="What colours show: tension, bending_y, ... or plain; default: tension, if any."
            ),
        ],
        None,
    ),
    "follow": (
        Annotated[str | None, typer.Option(metavar="NAME", help="Link that the camera follows, or 'centre of mass'.")],
        None,
    ),
    "orbit": (
        Annotated[
            float,
            typer.Option(
                metavar="DEGREES", parser=number, help="By how much the camera goes round in each simulated second."
            ),
        ],
        0.0,
    ),
    "trails": (Annotated[bool, typer.Option("--trails", metavar="", help="Draw the paths of the tips.")], False),
    "tips": (
        Annotated[
            str | None,
            typer.Option(
                metavar="NAMES", help="Links that leave trails, with commas; default: those that carry no other."
            ),
        ],
        None,
    ),
    "frames": (Annotated[bool, typer.Option("--frames", metavar="", help="Draw frames along the robot.")], False),
    "loads": (Annotated[bool, typer.Option("--loads", metavar="", help="Draw loads as arrows.")], False),
    "joints": (
        Annotated[bool, typer.Option("--joints", metavar="", help="Draw forces in loops and joints as arrows.")],
        False,
    ),
    "gravity": (Annotated[bool, typer.Option("--gravity", metavar="", help="Draw the weight as an arrow.")], False),
}


def with_look(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command some of these options, or all; it takes their values as one mapping, its parameter `look`."""
    chosen = names or tuple(LOOKS)

    def give(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            look = {name: given.pop(name) for name in chosen}
            if look.get("tips") is not None:
                if not look["trails"]:
                    raise InputError("--tips", "--trails beside it", "tips alone")
                look["tips"] = listed(look["tips"])
            command(**given, look=look)

        own = inspect.signature(command, eval_str=True)
        word, at = inspect.Parameter.KEYWORD_ONLY, list(own.parameters).index("look")
        parameters = list(own.parameters.values())
        parameters[at : at + 1] = [
            inspect.Parameter(name, word, annotation=LOOKS[name][0], default=LOOKS[name][1]) for name in chosen
        ]
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return called

    return give


def asked_for(look: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that are not as they are when nobody says anything."""
    return {name: value for name, value in look.items() if value != LOOKS[name][1]}
