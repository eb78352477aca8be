"""A motion in the web browser: its page is written and opened."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from sorosim.base.errors import FileError, SorosimError
from sorosim.base.public import public
from sorosim.view.viz.checks import PathLike
from sorosim.view.viz.web import Page

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # without these a browser of the terminal would be taken


@public
def play(
    result: Any, *, path: PathLike | None = None, fps: float = 30.0, speed: float = 1.0, loop: bool = False,
    **options: Any,
) -> Path:  # fmt: skip
    """Play a run, or show an equilibrium, in the web browser: write its page and open it; its key h tells the others.

    Parameters
    ----------
    result : Run or Equilibrium
    path : path-like, optional
        The page, ends in .html. Default: a new file in the folder of temporary files.
    fps, speed, loop, **options
        As for `sorosim.view.viz.web.export_html`, which writes the page alone.

    Returns
    -------
    Path
        Of the page, which needs nothing else.

    Raises
    ------
    InputError
        The run is empty, or an argument is not as above.
    FileError
        The page cannot be written.
    SorosimError
        No web browser can be opened; the page is written, and the message says where.
    """
    page = Page(result, options, fps=fps, speed=speed, loop=loop, playing=True)
    if path is None:
        name = re.sub(r"\W+", "_", page.group.robot.name).strip("_") or "robot"
        try:
            path = Path(tempfile.mkdtemp(prefix="sorosim_")) / f"{name}.html"
        except OSError as error:
            raise FileError(tempfile.gettempdir(), f"cannot be written: {error.strerror or error}; path=") from None
    page.write(path)
    target = Path(path).absolute()
    open_page(target)
    return target


def open_page(path: Path) -> None:
    """Open a page in the web browser.

    Raises
    ------
    SorosimError
        None can be opened.
    """
    needs_screen = os.name == "posix" and sys.platform != "darwin"
    hidden = needs_screen and not any(os.environ.get(name) for name in SCREENS)
    if hidden or not webbrowser.open(path.as_uri()):
        hint = "open it in a browser, on any machine; `sorosim movie` makes a film, `sorosim plot` pictures"
        raise SorosimError(f"no web browser can be opened here: the page is {path}; {hint}")
