"""Runs and equilibria from the contents of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.engine.loading import SlipState, StickState
from sorosim.errors import FileError
from sorosim.results.readings import Readings
from sorosim.results.result import Checkpoints, Companion, Equilibrium, Run
from sorosim.robot import Robot


def open_run(path: str | Path) -> Run | Equilibrium:
    """Read the file of a run or an equilibrium.

    Where beside the file lies the journal of a run that has not finished, it is that run which is read.
    """
    from sorosim.io.results import read

    return result_from_stored(read(path), path)


def result_from_stored(stored: Mapping[str, Any], path: str | Path) -> Run | Equilibrium:
    """A run or an equilibrium from the contents of a file."""
    robot = robot_from_stored(stored, path)
    shape = stored["q"].shape[-1:] + stored["u"].shape[-1:]
    layout = robot.engine.layout
    unknown = [name for name in stored["driven"] if name not in (*layout.links, *layout.coordinate_names)]
    if shape != (robot.ndof, len(robot.actuator_names)) or unknown:
        what = f"the coordinate '{unknown[0]}'" if unknown else f"{shape[0]} coordinates and {shape[1]} inputs"
        raise FileError(str(path), f"expected results of the robot in the file, got {what}; the file is damaged")
    return _equilibrium(robot, stored) if stored["kind"] == "equilibrium" else run_from_stored(robot, stored)


def robot_from_stored(stored: Mapping[str, Any], path: str | Path) -> Robot:
    """The robot from the contents of a file."""
    from sorosim.io import load_text
    from sorosim.io.meshes import check_unchanged

    robot = load_text(stored["text"], str(path))
    check_unchanged(robot.links, stored.get("meshes", {}), str(path))
    names, known = [str(name) for name in stored.get("coordinate_names", ())], list(robot.coordinate_names)
    if names != known and sorted(names) == sorted(known):  # free and planar joints began with their rotation
        k = next(i for i, name in enumerate(names) if name != known[i])
        got = f"'{names[k]}' in the place of '{known[k]}', of an older version; compute the result anew"
        raise FileError(str(path), f"expected the coordinates of the robot in their order, got {got}")
    return robot


def _equilibrium(robot: Robot, stored: Mapping[str, Any]) -> Equilibrium:
    names = ("q", "u", "lam", "driven", "residual_norm", "n_evaluations", "message", "free")
    given, stiffness = {name: stored[name] for name in names}, stored.get("tangent_stiffness")
    return Equilibrium(robot, **given, stiffness=stiffness, sliding=_sliding(stored.get("sliding")))


def _sliding(stored: Mapping[str, Any] | None) -> SlipState | None:
    stuck = StickState(stored["pair"].astype(np.int64), stored["slip"]) if stored and "pair" in stored else None
    return SlipState(stored["rates"], stuck) if stored else None


def run_from_stored(robot: Robot, stored: Mapping[str, Any]) -> Run:
    """A run from the contents of a file and its robot."""
    names = ("t", "q", "qd", "u", "lam", "driven", "stats", "options", "message")
    events = tuple((event["t"], event["q"], event["qd"]) for event in stored.get("events", {}).values())
    points = stored.get("checkpoints")
    checkpoints = None if points is None else Checkpoints(**points)
    fields = {name: stored[name] for name in names}
    some: dict[str, Any] = {name: stored.get(name) for name in ("exchanged", "strain")}
    companion = None if stored.get("companion") is None else Companion(**stored["companion"])
    run = Run(robot, **fields, events=events, checkpoints=checkpoints, **some, companion=companion)
    if "readings" in stored:  # the very ones that were saved: another numpy might draw other noise
        run.__dict__["readings"] = {name: Readings.of(**entry) for name, entry in stored["readings"].items()}
    return run
