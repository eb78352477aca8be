"""`sorosim.live`: a robot in the browser, in real time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sorosim.base.errors import InputError, SorosimError, warn
from sorosim.base.files_read import noting_files
from sorosim.base.methods import Method
from sorosim.base.options import LiveArguments, checked
from sorosim.base.public import public
from sorosim.base.validation import Number, describe, flag
from sorosim.files import IMPORTED, load, load_text
from sorosim.mechanics.robot import Robot
from sorosim.view.interactive.editor import NOTHING, YAML
from sorosim.view.interactive.editor_server import Editing
from sorosim.view.interactive.gamepad import Bindings, Gamepad
from sorosim.view.interactive.page import Page, require_viser
from sorosim.view.interactive.session import Session

LOCAL = ("127.0.0.1", "localhost", "::1")


class Live:
    """A robot in the browser; see `sorosim.live`.

    Attributes
    ----------
    session : Session
        The robot and what one may do to it.
    url : str
        Of its page.
    """

    def __init__(
        self, session: Session, host: str, port: int, gamepad: Gamepad | None = None, origins: Collection[str] = (),
        editing: Editing | None = None,
    ) -> None:  # fmt: skip
        self.session, self._gamepad, self._editing = session, gamepad, editing
        self._page = Page(session, host, port, origins, None if editing is None else editing.server)
        self.url = self._page.url
        session.start()
        if editing is not None:
            editing.start(self._page)
            gc.freeze()  # to look through all modules for garbage would stop the page for a tenth of a second
        if gamepad is not None:
            gamepad.start()

    @property
    def rate(self) -> float:
        """Frames per second that were sent lately."""
        return self._page.rate

    def wait(self) -> None:
        """Wait for Ctrl-C, and stop."""
        try:
            self._page._stopping.wait()
        finally:
            self.stop()

    def stop(self) -> None:
        """End the motion and its page; a recording is written."""
        if self._gamepad is not None:
            self._gamepad.stop()
        if self._editing is not None:
            self._editing.stop()
            gc.unfreeze()
        self.session.stop()
        self._page.stop()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="560"></iframe>'

    def __repr__(self) -> str:
        return f"<Live '{self.session.robot.name}' at {self.url}>"


@public
def live(
    robot: Robot | str | Path, *, u: Any = None, driven: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None, controller: Any = None, dt: Number | None = None,
    speed: Number | None = None, out: str | Path | None = None, set: Mapping[str, Any] | None = None,
    gamepad: str | Bindings | None = None, host: str = "127.0.0.1", port: int | None = None, block: bool | None = None,
    method: Method | str | None = None, origins: Collection[str] = (), observe: Mapping[str, Any] | None = None,
    edit: bool | None = None,
    **options: Any,
) -> Live:  # fmt: skip
    """Show a robot in the browser, moving in real time, to be driven by sliders and pulled at by the pointer.

    Needs the extra `live`. The page tells its keys; all pages that are open show and do the same.

    Parameters
    ----------
    robot : Robot, or name of a file or of a bundled robot
        A file is read again whenever it, or one that it takes in, is saved; with a mistake in it, the robot before goes
        on.
    u, driven : as in `simulate`
        Inputs and motions that begin the sliders and can be played. Default: those of the file.
    bounds : mapping of str to (low, high)
        Ranges of inputs and driven coordinates [SI], or texts with units. Default: around what the file prescribes, up
        to stops of joints; else what moves the robot visibly.
    controller : callable, or object with a method step
        Inputs as a function of t [s], q and qd, or as step(q, qd) gives them, for each dt.
    dt : float or str
        Time over which inputs are held [s]. Default: 5 ms.
    speed : float
        Seconds of the motion per second. Where the machine is too slow for it, the page says so. Default: 1.
    out : path-like
        File to record to, .h5; numbered where it is there. Default: the robot's name, without spaces, and
        _live.h5, in the working folder.
    set : mapping
        Values of the file, as `sorosim.load` takes them.
    gamepad : "default" or mapping of str to str
        Drive by the gamepad that is connected to this machine, by the extra `gamepad`: {"axis0": "cable1", "axis1":
        "-cable2", "button0": "pause"}, where a minus lowers. Default: none.
    host : str
        Address at which the page is served: 127.0.0.1 for this machine alone. Who knows `url`, in which there is a
        token, may drive the robot and record.
    port : int
        Default: 8080; 0 takes one that is free.
    block : bool
        Whether to return when Ctrl-C is pressed only. Default: True but in notebooks and at the prompt.
    method, **options
        Of the steps, as in `Stepper`.
    origins : collection of str
        Origins of pages that may open it beside its own, such as "https://hub.example" of a proxy.
    observe : mapping, optional
        An observer beside the robot, which the page shows with its band: "readings", names of sensors and places, whose
        values with noise it is given (default: all sensors); "unknown", "noise", "prior", "process", "method" and
        "substeps" as in `Observer`; "dt", time between readings (default: 20 ms); "position" and "velocity" as in
        `Observer.reset`. Pulls are unknown to it.
    edit : bool
        Whether an editor of the file stands beside the scene: its text, its parts, forms of these. It writes when asked
        to. Default: where `robot` is the path of a file. With True a YAML file may have mistakes, or not be there. What
        a URDF, MJCF or SDF file becomes is shown, and edited as soon as the page makes a file of it.

    Returns
    -------
    Live
        With `session`, `url`, `wait` and `stop`.

    Raises
    ------
    InputError
        An extra or a gamepad is missing, a port is taken, a name or value is wrong.
    ConvergenceError
        The file asks to start from an equilibrium, and there is none.
    """
    require_viser()
    chosen = checked(LiveArguments, {"dt": dt, "speed": speed, "port": port, "method": method, **options})
    if isinstance(origins, str) or not isinstance(origins, Collection):
        raise InputError("origins", "a list of origins such as https://hub.example", describe(origins))
    if not isinstance(host, str):
        raise InputError("host", "a name or an address", describe(host))
    if block is not None:
        flag("block", block)

    path = Path(robot) if isinstance(robot, str | Path) else Path()
    is_text = path.suffix.lower() in (*YAML, *IMPORTED)
    from_anything = edit is True
    if edit is None:
        edit = is_text and path.is_file()
    elif flag("edit", edit) and not is_text:
        got = "a robot of Python" if isinstance(robot, Robot) else f"'{robot}'"
        raise InputError("edit", "the path of a YAML file, which the editor may write", got, "sorosim show NAME --yaml")

    def read() -> Robot:
        return robot if isinstance(robot, Robot) else load(robot, set=set)

    with noting_files() as files:
        try:
            first = read()
        except SorosimError:
            if not from_anything or path.suffix.lower() in IMPORTED or (path.exists() and not path.is_file()):
                raise
            first = load_text(NOTHING, "nothing")
    session = Session(
        first, u=u, driven=driven, bounds=bounds, controller=controller, dt=dt, speed=speed, out=out,
        observe=observe, watched=files, reload=None if edit or isinstance(robot, Robot) else read,
        method=method, **options,
    )  # fmt: skip
    pad = None if gamepad is None else Gamepad(session, gamepad)
    editing = Editing(session, path, set) if edit else None
    shown = Live(session, host, int(chosen["port"]), pad, origins, editing)
    if host not in LOCAL:
        said = f"whoever knows {shown.url}, which is sent in the clear, may drive '{session.robot.name}' and record"
        warn(said)
    if block if block is not None else not _is_interactive():
        shown.wait()
    return shown


def _is_interactive() -> bool:
    """Whether somebody types lines at a prompt or in a notebook."""
    return hasattr(sys, "ps1") or "IPython" in sys.modules
