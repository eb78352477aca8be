"""The command that shows a robot in the browser, to be driven and pulled at while it moves."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from sorosim.base.options import LiveArguments
from sorosim.connect.cli import options as opt
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import err, line
from sorosim.connect.cli.estimation import NOISE, PRIOR, PROCESS, UNKNOWN, observing
from sorosim.connect.cli.inputs import pairs, signals
from sorosim.connect.cli.sources import load_robot

_BOUNDS = "Range of an input or driven coordinate, as in 'cable1=0,10 N'; may come again."
_GAMEPAD = "Axis or button of a gamepad and what it drives, as in axis0=cable1, axis1=-cable2 (lowers it) or "
_GAMEPAD += "button0=pause; may come again. 'default': axes in the order of the sliders. It needs the extra 'gamepad'."
_HOST = "Address of the page; 127.0.0.1 is for this machine alone. "
_HOST += "Who knows the address that is printed may drive the robot and record."
_ORIGIN = "Origin of pages that may open it beside its own, as in https://hub.example of a proxy; may come again."
_OBSERVE = (
    "Sensor or place, such as arm or arm@0.5, that an observer beside the robot reads with noise; the page shows "
)
_OBSERVE += "its estimate; may come again. Default, where an option of observers is given: all sensors of the file."
_EDIT = "An editor of the file beside the scene; default: for the path of a file. With --edit a YAML file may have "
_EDIT += "mistakes, or not be there yet."
_OUT = "HDF5 file to record to, .h5, numbered where it is there; "
_OUT += "default: the robot's name, without spaces, and _live.h5, here."


@opt.with_options(LiveArguments, "dt method * speed port")
def live(
    robot: opt.RobotArgument,
    u: opt.SignalOption = None,
    driven: opt.MotionOption = None,
    bounds: Annotated[list[str] | None, typer.Option("--bounds", metavar="NAME=LOW,HIGH", help=_BOUNDS)] = None,
    gamepad: Annotated[list[str] | None, typer.Option("--gamepad", metavar="AXIS=NAME", help=_GAMEPAD)] = None,
    changes: opt.SetOption = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help=_HOST)] = "127.0.0.1",
    origin: Annotated[list[str] | None, typer.Option("--origin", metavar="URL", help=_ORIGIN)] = None,
    observed: Annotated[list[str] | None, typer.Option("--observe", metavar="NAME", help=_OBSERVE)] = None,
    unknown: Annotated[list[str] | None, typer.Option("--unknown", metavar="NAME[=WHAT]", help=UNKNOWN)] = None,
    noise: Annotated[list[str] | None, typer.Option("--noise", metavar="SD", help=NOISE)] = None,
    prior: Annotated[list[str] | None, opt.Assignment("--prior", help=PRIOR)] = None,
    process: Annotated[list[str] | None, opt.Assignment("--process", help=PROCESS)] = None,
    edit: Annotated[bool | None, typer.Option("--edit/--no-edit", help=_EDIT, show_default=False)] = None,
    *,
    options: dict[str, Any],
    output: Annotated[Path | None, opt.ResultFile(help=_OUT)] = None,
) -> None:
    """Show a robot in the browser, in real time: sliders drive it, the pointer pulls at it.

    It needs the extra 'live'. Beside the robot stands an editor of its YAML file, with its parts as a tree, forms of
    these, and studies. The file is read again whenever it, or one that it takes in, is saved. Ctrl-C ends it.

    Example: sorosim live cable_manipulator --speed 0.5 --observe arm --noise 1mm
    """
    import sorosim
    from sorosim.base.errors import SorosimError
    from sorosim.files import load_text
    from sorosim.view.interactive.editor import NOTHING
    from sorosim.view.interactive.page import require_viser
    from sorosim.view.interactive.pull import Pull

    require_viser()
    try:
        loaded = load_robot(robot, changes)
    except SorosimError:
        if not edit:
            raise
        loaded = load_text(NOTHING, "nothing")
    inputs, motions = signals(loaded, u, driven)
    compile_engine(Pull(loaded).robot, "generalized-alpha")
    watch = None
    if observed or unknown or noise or prior or process:
        watch = {"readings": observed or None, **observing(loaded, unknown, noise, prior, process)}
    changed = opt.assignments(changes, "--set", "links.arm.rod.length=40cm")
    shown = sorosim.live(
        robot, u=inputs, driven=motions, bounds=pairs(bounds, "--bounds", "cable1=0,10N"), set=changed, host=host,
        gamepad=_bindings(gamepad), out=output, block=False, origins=origin or (), observe=watch, edit=edit, **options,
    )  # fmt: skip
    wait_for(shown)


def wait_for(shown: Any) -> None:
    """Say where a page is, until Ctrl-C ends it."""
    line(f"{shown.session.robot.name}: open {shown.url} in a browser; Ctrl-C ends it", err)
    with suppress(KeyboardInterrupt):
        shown.wait()


def _bindings(texts: list[str] | None) -> Any:
    """What a gamepad drives, as `sorosim.live` takes it."""
    return texts[0] if texts == ["default"] else opt.assignments(texts, "--gamepad", "axis0=cable1")
