"""What commands read: robots, result files, and either of them to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sorosim.base.errors import InputError
from sorosim.connect.cli.options import assignments, split_names
from sorosim.connect.cli.parsers import RESULTS


def is_result(name: str) -> bool:
    """Whether a name is that of a result file rather than of a robot."""
    from sorosim.base.writing import journal_of

    if name.endswith(RESULTS) or journal_of(name).exists():
        return True
    import h5py

    return bool(h5py.is_hdf5(name))  # by content, not by name; False of a missing file


def load_robot(robot: str, changes: list[str] | None = None) -> Any:
    """Load a robot with the changes of --set."""
    from sorosim.files import load

    changed = assignments(changes, "--set", "links.arm.rod.length=40cm")
    return load(robot, set=changed) if changed else load(robot)


def at_rest(robot: Any, q: Any = None, message: str = "as it is built") -> Any:
    """A robot at its initial coordinates, or at others, as if it rested there."""
    import numpy as np

    from sorosim.analysis.results.result import Equilibrium

    m, at = len(robot.actuator_names), robot.initial_q if q is None else q
    return Equilibrium(robot, at, np.zeros(m), np.zeros(robot.n_multipliers), {}, 0.0, None, 0, message)


# of kinds of results: in words, and what takes them, for errors about another kind
KINDS = {
    "sweep": ("a sweep", "plot draws it; in Python, sorosim.open(...).equilibrium(i) is that of a point"),
    "continuation": ("a continuation", "plot draws it; in Python, sorosim.open(...).equilibrium(i) is one of them"),
    "estimate": ("an estimate", "plot draws it; in Python, sorosim.open(...).equilibrium is the state"),
    "observed motion": ("an observed motion", "in Python, sorosim.open(...).run is the run"),
    "fit": ("a fit", "plot draws it; in Python, sorosim.open(...).robot is the fitted robot"),
    "design": ("a design", "plot draws it; in Python, sorosim.open(...).robots are the designed robots"),
    "optimal motion": ("an optimal motion", "in Python, sorosim.open(...).run is the run"),
    "run": ("a run", ""),
    **dict.fromkeys(("equilibrium", "steady motion"), ("an equilibrium", "plot draws it")),
}

# those that have a run
MOTIONS = ("an optimal motion", "an observed motion")


def result_kind(result: Any) -> tuple[str, str]:
    """The kind of a result in words, and the commands that take it, for errors about another kind."""
    other = f"a result of the kind '{result.file_kind}'", "in Python, sorosim.open(...) has what it keeps"
    return KINDS.get(result.file_kind, other)


def _drawn(result: Any) -> Any:
    """A result as it is drawn: of an optimal or observed motion its run."""
    return result.run if result_kind(result)[0] in MOTIONS else result


def open_to_draw(sources: Sequence[str], overlay: bool, names: str | None) -> Any:
    """A result, a robot as it is built, or several of them, side by side or over each other."""
    import sorosim

    results = [_drawn(sorosim.open(name)) if is_result(name) else at_rest(load_robot(name)) for name in sources]
    for name, result in zip(sources, results, strict=True):
        kind, hint = result_kind(result)
        if kind not in ("a run", "an equilibrium"):
            raise InputError(name, "a run, an equilibrium or a robot", kind, hint)
    if len(results) == 1:
        if names is not None or overlay:
            raise InputError("--names" if names is not None else "--overlay", "two results or more", "one")
        return results[0]
    from sorosim.view.viz.motion import motion_group, numbered

    labels = numbered([Path(name).stem for name in sources]) if names is None else split_names(names)
    return motion_group(results, "overlay" if overlay else "side", labels)
