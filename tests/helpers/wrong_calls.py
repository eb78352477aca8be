"""Calls of public functions with one wrong argument, drawn by a seed.

More of them: PYTHONPATH=tests python -m helpers.wrong_calls --count 5000 --seed 1.
"""

import argparse
import inspect
import os
import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sorosim
from sorosim.base.errors import SorosimError
from sorosim.base.options import FmuArguments, SimulateArguments, StepArguments
from sorosim.view.interactive.live import Live
from sorosim.view.interactive.session import Session
from sorosim.view.viz.gltf import export_gltf
from sorosim.view.viz.movie import movie, still
from sorosim.view.viz.options import DrawingOptions
from sorosim.view.viz.player import play
from sorosim.view.viz.plots import plot_run
from sorosim.view.viz.web import export_html

ARM = {
    "sorosim": 1,
    "name": "arm",
    "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": "1000 kg/m^3"}},
    "links": {
        "base": {"rod": {"length": "0.3 m", "section": {"circle": {"radius": "1 cm"}}, "material": "rubber",
                         "strain": {"bending": 1}}},
        "tip": {"parent": "base", "joint": {"revolute": {"axis": [0, 1, 0], "stiffness": "1 N*m/rad"}},
                "body": {"mass": "50 g", "box": {"size": ["0.1 m", "1 cm", "1 cm"]}}},
    },
    "actuators": {"cable": {"tendon": {"rod": "base", "y": "5 mm", "z": 0}}},
    "sensors": {"end": {"pose": {"link": "tip"}}},
    "simulate": {"t_end": "10 ms", "dt_out": "5 ms"},
}  # fmt: skip


OPTIONS = {"still": (DrawingOptions, still), "movie": (DrawingOptions, movie), "play": (DrawingOptions, play),
           "export_html": (DrawingOptions, export_html), "export_gltf": (DrawingOptions, export_gltf),
           "plot": (plot_run,)}  # fmt: skip
DECLARED = {"simulate": SimulateArguments, "rollout": StepArguments, "Stepper": StepArguments, "Batch": StepArguments,
            "export_fmu": FmuArguments}  # fmt: skip
SESSION = {"link": "tip", "s": 0.5, "point": (0.0, 0.0, 0.1), "target": (0.0, 0.0, 0.1), "gravity": (0.0, 0.0, -9.8),
           "index": 0, "part": 0.1, "source": "sliders", "mode": "motion", "speed": 1.0, "strength": 1.0, "on": False,
           "paused": True, "command": "step", "elapsed": 0.01, "busy": 0.1}  # fmt: skip


class Unprintable:
    """Raises whatever one asks of it."""

    def __repr__(self):
        raise RuntimeError("no text")

    def __float__(self):
        raise ZeroDivisionError("no number")


WRONG = (
    3, -1, 0, 2.5, True, None, "", "x", "3 N", "a\0b", "\ud800", b"x", float("nan"), float("inf"), 10**400, -(10**400),
    1j, [], (), {}, set(), [1, "x"], [[1.0], [1.0, 2.0]], [None], {"x": 1}, {1: 2}, {"cable": "x"}, {"cable": object()},
    object(), Unprintable(), len, lambda: 1, int, Path("nowhere"), slice(None), np.array([]), np.zeros((0, 3)),
    np.array(3), np.zeros((2, 2, 2)), np.array(["a"]), np.array([None]), np.array([np.nan, 1.0]),
    np.ma.masked_array([1.0, 2.0], [True, False]), np.ma.masked_all(3), np.datetime64("2020-01-01"),
    np.array([1 + 1j, 2.0]), [10**400], {"cable": 10**400}, {"cable": []}, range(2), iter([1]), NotImplemented,
)  # fmt: skip
# those that draw and serve pages are called with arguments that cost little, see `drawings`; some take long
LEFT_OUT = re.compile(r"live|play|movie|still|export_html|export_gltf|plot.*|InverseSolver|MPC")


def targets():
    """Public functions by their names, with arguments that are right."""
    robot = sorosim.load(ARM)
    equilibrium, run = sorosim.statics(robot), sorosim.simulate(robot)
    q = robot.initial_q
    right = {"robot": robot, "q": q, "qd": 0.0 * q, "qdd": 0.0 * q, "u": [0.0], "link": "tip", "s": 0.5, "t": 0.0,
             "path": "out.h5", "dt": 1e-3, "t_end": 0.01, "source": ARM, "values": {"gravity[2]": -9.0},
             "along": "u.cable", "to": 1.0, "of": "tip", "n": 3, "parameters": ["links.base.rod.length"]}  # fmt: skip
    functions = ("continuation", "optimal_control", "examine", "assemble", "fit_shape", "follow", "statics", "steady",
                 "fit", "export_fmu", "inverse", "inverse_path", "dump", "load", "open", "scalars", "sensitivities",
                 "resume", "simulate", "rollout", "sweep", "Stepper", "Batch", "Gains")  # fmt: skip
    out = {name: getattr(sorosim, name) for name in functions}
    out["Measurements.from_csv"] = sorosim.Measurements.from_csv
    stepper, batch = sorosim.Stepper(robot, 1e-3), sorosim.Batch(robot, 2, 1e-3)
    stepper.reset(), batch.reset()
    linear = robot.linearize(equilibrium.q)
    rolled = sorosim.rollout(robot, np.zeros((3, 1)), dt=1e-3)
    for thing in (robot, equilibrium, run, stepper, batch, linear, rolled):
        for name, _ in inspect.getmembers(type(thing), inspect.isfunction):
            if not name.startswith("_"):
                out[f"{type(thing).__name__}.{name}"] = getattr(thing, name)
    return {name: one for name, one in out.items() if not LEFT_OUT.fullmatch(name.split(".")[-1])}, right


def drawings():
    """What draws, writes drawings or serves a page: (function, arguments that are right and cost little) by name."""
    robot = sorosim.load(ARM)
    equilibrium, run = sorosim.statics(robot), sorosim.simulate(robot)
    linear, session = robot.linearize(equilibrium.q), Session(robot)
    small = {"size": (96, 64), "occlusion": False}
    out = {"live": (sorosim.live, {"robot": ARM, "block": False, "port": 0}), "play": (sorosim.play, {})}
    writers = {"still": ("a.png", small), "movie": ("a.gif", small), "export_html": ("a.html", {}),
               "export_gltf": ("a.glb", {})}  # fmt: skip
    for name, (path, options) in writers.items():
        out[name] = getattr(sorosim, name), {"path": path, "runs": [run, equilibrium], **options}
        for thing in (run, equilibrium):
            if hasattr(thing, name):
                out[f"{type(thing).__name__}.{name}"] = getattr(thing, name), {"path": path, **options}
    for thing in (run, equilibrium, linear):
        out[f"{type(thing).__name__}.plot"] = thing.plot, {"what": "energy"} if thing is run else {}
    for name, _ in inspect.getmembers(Session, inspect.isfunction):
        if not name.startswith("_") and name not in ("start", "wait_for_frame", "fail"):  # of its thread
            out[f"Session.{name}"] = getattr(session, name), SESSION
    return out


def parameters_of(function):
    """Parameters by name, with those of the function that further options go to."""
    found, known = {}, inspect.signature(function).parameters.values()
    for one in known:
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            found[one.name] = one
        elif one.name == "options" and function.__name__ in DECLARED:
            for name in DECLARED[function.__name__].declaration():
                kind = "Callable" if name == "progress" else "Any"
                found.setdefault(name, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind))
        elif one.name == "options":
            for options in OPTIONS.get(function.__name__, ()):  # of others they are many, and free
                more = inspect.signature(options).parameters
                found |= {name: more[name] for name in more if name not in ("result", "run", "path", "options")}
    return found


def foreign(n, seed, known=None):
    """Wrong calls that raise what is not sorosim's: (call, error) of each, among n that are drawn.

    known : (function, right arguments) by name. Default: those of `targets`.
    """
    if known is None:
        functions, right = targets()
        known = {name: (function, right) for name, function in functions.items()}
    names, draw, found = [*known], np.random.default_rng(seed), []
    for _ in range(n):
        function, right = known[names[draw.integers(len(names))]]
        parameters = parameters_of(function)
        if not parameters:
            continue
        chosen = [*parameters][draw.integers(len(parameters))]
        wrong = WRONG[draw.integers(len(WRONG))]
        if chosen == "block" and (wrong is None or wrong is True):
            continue  # it would wait for Ctrl-C
        if callable(wrong) and "Callable" in str(parameters[chosen].annotation):
            continue  # what a function of the caller raises is its own affair
        own = inspect.signature(function).parameters
        given = {name: right.get(name) for name, one in own.items() if name in parameters and one.default is one.empty}
        given |= {name: value for name, value in right.items() if name in parameters}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(**{**given, chosen: wrong})
            if isinstance(result, Live):
                result.stop()
            plt.close("all")
        except SorosimError:
            pass
        except Exception as error:
            text = object.__repr__(wrong) if isinstance(wrong, Unprintable) else f"{type(wrong).__name__} {wrong!s:.40}"
            where = traceback.extract_tb(error.__traceback__)[-1]
            here = f"{Path(where.filename).name}:{where.lineno}"
            found.append(
                (f"{getattr(function, '__qualname__', function)}({chosen}={text})", f"{error!r:.150} at {here}")
            )
    return found


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--drawings", action="store_true", help="Of what draws and of sessions.")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        result = foreign(asked.count, asked.seed, drawings() if asked.drawings else None)
    for call, error in result:
        print(call, "->", error)
    print(f"{len(result)} foreign errors in {asked.count} wrong calls")
