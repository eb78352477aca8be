"""Whether this machine can render: VTK without OpenGL ends the whole process, so a child process tries first."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from sorosim.base.errors import SorosimError

WINDOW = "VTK_DEFAULT_OPENGL_WINDOW"  # the variable by which VTK (9.4 or newer) is set to a way to draw
EGL, OSMESA = "vtkEGLRenderWindow", "vtkOSOpenGLRenderWindow"
TIMEOUT = 120.0  # seconds; the first import after an installation is slow

# draws one red picture and looks at a pixel of it
_CHECK = """
import vtkmodules.vtkRenderingOpenGL2
from vtkmodules.vtkCommonCore import vtkUnsignedCharArray
from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow
window, renderer, pixel = vtkRenderWindow(), vtkRenderer(), vtkUnsignedCharArray()
window.SetOffScreenRendering(1)
window.SetSize(8, 8)
renderer.SetBackground(1.0, 0.0, 0.0)
window.AddRenderer(renderer)
window.Render()
window.GetPixelData(4, 4, 4, 4, 1, pixel, 0)
raise SystemExit(0 if pixel.GetTuple(0) == (255.0, 0.0, 0.0) else 1)
"""


def _draws(window: str | None) -> str:
    """How a child draws with this setting of WINDOW: "well", "with warnings" or "not"."""
    environment = {name: value for name, value in os.environ.items() if name != WINDOW}
    if window is not None:
        environment[WINDOW] = window
    command = [sys.executable, "-c", _CHECK]
    try:
        child = subprocess.run(command, env=environment, capture_output=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "not"
    if child.returncode != 0:
        return "not"
    return "with warnings" if child.stderr else "well"


def _settings() -> list[str | None]:
    """Settings of WINDOW to try, best first; None leaves the choice to VTK."""
    chosen = os.environ.get(WINDOW)
    if not sys.platform.startswith("linux"):
        return [chosen]
    # without a display VTK would try X first, which warns, and crashes where libX11 is missing
    others: list[str | None] = [EGL, OSMESA]
    first: list[str | None] = [chosen] if chosen else [None] if os.environ.get("DISPLAY") else []
    return first + [setting for setting in others if setting not in first]


@lru_cache(maxsize=1)
def require_rendering() -> None:
    """Make sure, once, that this process can draw off screen; to be called before it draws.

    On Linux it chooses how VTK draws (X, EGL or OSMesa) by the variable VTK_DEFAULT_OPENGL_WINDOW of this process.

    Raises
    ------
    SorosimError
        It cannot.
    """
    if not sys.executable:  # embedded: there is no interpreter to ask
        return
    warned: list[str | None] = []
    for setting in _settings():
        how = _draws(setting)
        if how == "well":
            return _use(setting)
        if how == "with warnings":
            warned.append(setting)
    if warned:
        return _use(warned[0])
    remedy = "apt install libegl1 libgl1-mesa-dri" if sys.platform.startswith("linux") else "install a graphics driver"
    raise SorosimError(f"cannot draw in 3D: there is no working OpenGL on this machine; try: {remedy}")


def _use(setting: str | None) -> None:
    if setting is not None:
        os.environ[WINDOW] = setting


@lru_cache(maxsize=1)
def load_pyvista() -> Any:
    """Return the module pyvista, where this machine can draw.

    Raises
    ------
    SorosimError
        It cannot.
    """
    # the child takes as long as the import: both at once
    with ThreadPoolExecutor(1) as other:
        check = other.submit(require_rendering)
        try:
            import pyvista
            import pyvista.plotting
        except ImportError:
            check.result()  # it says what to install, if that is why
            raise
        check.result()
    return pyvista
