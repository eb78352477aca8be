"""How commands draw robots: options that films, pictures and pages share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from sorosim.base.errors import InputError
from sorosim.connect.cli.options import Command, Flag, Name, Names, Number, inserted, split_names

_COLOUR = "What colours show: tension, bending_y, ... or plain; default: tension, if any."
_ORBIT = "How fast the camera goes round, in simulated time, as in --orbit '20 deg/s'."
_ZOOM = "How many times as large as fits everything is drawn; what the camera follows is then in the middle."
_OCCLUSION = "Darken what is near to something else; default: in stills, pages, by a graphics card in films."
_TIPS = "Links that leave trails, with commas; default: those that carry no other."

# option -> its type, help and default
DRAWING: dict[str, tuple[Any, Any]] = {
    "view": (Annotated[str, Name(help="Camera: iso, front, side, top, or x, y, z.")], "iso"),
    "colour": (Annotated[str | None, Name(help=_COLOUR)], None),
    "follow": (Annotated[str | None, Name(help="Link that the camera follows, or 'centre of mass'.")], None),
    "zoom": (Annotated[float, Number(help=_ZOOM)], 1.0),
    "orbit": (Annotated[str, typer.Option(metavar="RATE", help=_ORBIT)], "0 deg/s"),
    "trails": (Annotated[bool, Flag("--trails", help="Draw the paths of the tips.")], False),
    "tips": (Annotated[str | None, Names(help=_TIPS)], None),
    "occlusion": (Annotated[bool | None, Flag("--occlusion/--no-occlusion", help=_OCCLUSION)], None),
    "frames": (Annotated[bool, Flag("--frames", help="Draw frames along the robot.")], False),
    "loads": (Annotated[bool, Flag("--loads", help="Draw loads as arrows.")], False),
    "joints": (Annotated[bool, Flag("--joints", help="Draw forces in loops and joints as arrows.")], False),
    "gravity": (Annotated[bool, Flag("--gravity", help="Draw the weight as an arrow.")], False),
}


def with_drawing_options(*names: str) -> Callable[[Command], Command]:
    """Give a command some of these options, or all; it takes their values as one mapping, its parameter `drawing`."""
    chosen = names or tuple(DRAWING)

    def decorate(command: Command) -> Command:
        @wraps(command)
        def called(drawing: dict[str, Any], **arguments: Any) -> None:
            if drawing.get("tips") is not None:
                if not drawing["trails"]:
                    raise InputError("--tips", "--trails beside it", "tips alone")
                drawing["tips"] = split_names(drawing["tips"])
            command(**arguments, drawing=drawing)

        return inserted("drawing", {name: DRAWING[name] for name in chosen})(called)

    return decorate


def without_defaults(drawing: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults."""
    return {name: value for name, value in drawing.items() if value != DRAWING[name][1]}
