"""Statics and dynamics of soft-rigid robots.

The public names are loaded at their first use (PEP 562), so that ``import sorosim`` stays light. ``statics`` lives in
``equilibria`` and ``simulate`` in ``simulation``: a package ``statics`` would take the place of the function of that
name in this namespace as soon as anything imports it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sorosim.errors import (
    ConvergenceError,
    ExpressionError,
    FileError,
    InputError,
    Interrupted,
    ModelError,
    SorosimError,
    SorosimWarning,
)

if TYPE_CHECKING:
    from sorosim.bifurcation.continuation import continuation
    from sorosim.doctor import examine
    from sorosim.equilibria.assembly import assemble
    from sorosim.equilibria.statics import follow, statics
    from sorosim.equilibria.steady_motion import steady
    from sorosim.io import load
    from sorosim.opening import open_result as open
    from sorosim.robot import Robot
    from sorosim.sensitivity import scalars, sensitivities
    from sorosim.simulation.simulate import resume, simulate
    from sorosim.sweeps.driver import sweep
    from sorosim.viz.several import export_gltf, export_html, movie, play, still

__version__ = "0.1.0"

__all__ = [
    "ConvergenceError",
    "ExpressionError",
    "FileError",
    "InputError",
    "Interrupted",
    "ModelError",
    "Robot",
    "SorosimError",
    "SorosimWarning",
    "assemble",
    "continuation",
    "examine",
    "export_gltf",
    "export_html",
    "follow",
    "load",
    "movie",
    "open",
    "play",
    "resume",
    "scalars",
    "sensitivities",
    "simulate",
    "statics",
    "steady",
    "still",
    "sweep",
]

# public name -> (module, name there)
_LAZY = {
    "Robot": ("sorosim.robot", "Robot"),
    "assemble": ("sorosim.equilibria.assembly", "assemble"),
    "continuation": ("sorosim.bifurcation.continuation", "continuation"),
    "examine": ("sorosim.doctor", "examine"),
    "export_gltf": ("sorosim.viz.several", "export_gltf"),
    "export_html": ("sorosim.viz.several", "export_html"),
    "follow": ("sorosim.equilibria.statics", "follow"),
    "load": ("sorosim.io", "load"),
    "movie": ("sorosim.viz.several", "movie"),
    "open": ("sorosim.opening", "open_result"),
    "play": ("sorosim.viz.several", "play"),
    "resume": ("sorosim.simulation.simulate", "resume"),
    "scalars": ("sorosim.sensitivity", "scalars"),
    "sensitivities": ("sorosim.sensitivity", "sensitivities"),
    "simulate": ("sorosim.simulation.simulate", "simulate"),
    "statics": ("sorosim.equilibria.statics", "statics"),
    "steady": ("sorosim.equilibria.steady_motion", "steady"),
    "still": ("sorosim.viz.several", "still"),
    "sweep": ("sorosim.sweeps.driver", "sweep"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'sorosim' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value = globals()[name] = getattr(importlib.import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
