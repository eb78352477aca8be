"""What every test shares: one seeded generator, and drawing without a screen."""

import os
import sys

import numpy as np
import pytest

os.environ["MPLBACKEND"] = "Agg"
os.environ["PYVISTA_OFF_SCREEN"] = "true"
if sys.platform == "linux" and not os.environ.get("DISPLAY"):
    # without it VTK tries libX11 first, and crashes where that is missing; if EGL is missing it goes on to OSMesa
    os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", "vtkEGLRenderWindow")


def pytest_sessionstart(session: pytest.Session) -> None:
    """With several workers: compile once, before they start, what else each of them would."""
    if getattr(session.config.option, "numprocesses", None) and not hasattr(session.config, "workerinput"):
        import sorosim

        for method in ("bdf", "generalized-alpha"):
            sorosim.simulate(sorosim.load("pendulum"), 0.01, method=method)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240229)
