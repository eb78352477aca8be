"""The computation at the points of a sweep, one block of neighbours at a time, in any process.

The result depends on the block alone: on its points and their order; the first of them has no initial guess.
"""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim import __version__
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.simulate import simulate
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, InputError, ModelError, SorosimError, SorosimWarning
from sorosim.base.ode import one_blas_thread
from sorosim.mechanics.engine.parameter import DRIVEN, INPUT
from sorosim.mechanics.engine.prescribed import merged
from sorosim.mechanics.quantities import Output, Summary, quantities
from sorosim.mechanics.robot import Robot
from sorosim.studies.sweeps.parameters import Varied, settings_of
from sorosim.studies.sweeps.samples import Value

STATICS, SIMULATE = "statics", "simulate"
PENDING, OK, FAILED = 0, 1, 2
ENERGIES = ("kinetic", "elastic", "gravity")


@dataclass(frozen=True)
class Job:
    """What to compute at every point; it is pickled to the worker processes."""

    robot: bytes  # pickled; empty where every point has a robot of its own
    text: str  # of the robot's file, from which those are made
    parameters: tuple[Varied, ...]
    constants: tuple[tuple[Varied, Value], ...]  # inputs and driven coordinates with a value for all points
    command: str
    options: Mapping[str, Any]
    outputs: tuple[Output, ...]
    summary: Mapping[str, Summary]
    start: str  # "warm", "cold" or "follow"
    n_driven: int
    n_readings: int
    runs: str = ""  # folder in which whole runs are kept
    version: str = field(default=__version__)


class SolvedPoint(NamedTuple):
    """The equilibrium of a point, and the values of the robot's file there as JSON."""

    equilibrium: Equilibrium
    settings: str


class Block(NamedTuple):
    """Results at the points of a block."""

    number: int
    arrays: dict[str, NDArray[Any]]  # one row a point
    messages: list[str]


def compute_block(job: Job, number: int, points: Sequence[int], rows: Sequence[Mapping[str, Value]]) -> Block:
    """Compute the points of a block one after the other; `rows` are the values of the parameters there."""
    if job.version != __version__:
        hint = "install the same one everywhere"
        raise InputError("worker", f"sorosim {job.version} on every worker", f"version {__version__}", hint)
    previous: SolvedPoint | None = None
    rows_of_cells, messages = [], []
    with one_blas_thread():
        for point, row in zip(points, rows, strict=True):
            cells, message, previous = _point(job, point, row, previous)
            rows_of_cells.append(cells)
            messages.append(message)
    return Block(number, stack_rows(rows_of_cells), messages)


def _point(
    job: Job, point: int, row: Mapping[str, Value], last: SolvedPoint | None
) -> tuple[dict[str, Any], str, SolvedPoint | None]:
    """The cells of a point, its message, and the equilibrium that may start the next point."""
    empty = empty_cells(job)
    cells: dict[str, Any] = {"status": FAILED, **empty}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            settings = json.dumps(settings_of(job.parameters, row))
            robot = _robot(job.robot, job.text, settings)
            if job.command == STATICS:
                near = None if last is None else _initial_guess(job, robot, last.equilibrium, settings == last.settings)
                eq, warm = _solve_statics(job, robot, row, near)
                cells = {"status": OK, **_check_shapes(empty, {"warm": warm, **_statics_cells(job, eq)})}
                message, last = eq.message, SolvedPoint(eq, settings)
            else:
                run = _solve_motion(job, robot, row, point)
                message, cells = run.message, {"status": OK, **_check_shapes(empty, _run_cells(job, run))}
        except ConvergenceError as error:
            message = str(error)
            if isinstance(error.partial, Run) and len(error.partial.t):
                cells["t"] = error.partial.t[-1]
        except SorosimError as error:
            message = str(error)
        except Exception as error:  # of a plug-in, say: the other points are still computed
            message = f"{type(error).__name__}: {error}"
    notes = [str(one.message) for one in caught if issubclass(one.category, SorosimWarning)]
    return cells, "; ".join([message, *dict.fromkeys(notes)]), last


@lru_cache(maxsize=2)
def _base(pickled: bytes, text: str) -> Robot:
    """The robot of a sweep."""
    from sorosim.files import load_text

    robot: Robot = pickle.loads(pickled) if pickled else load_text(text, "robot")
    return robot


@lru_cache(maxsize=8)
def _robot(pickled: bytes, text: str, settings: str) -> Robot:
    """The robot of a point; the last few are cached."""
    robot, values = _base(pickled, text), json.loads(settings)
    return robot.with_values(values) if values else robot


# -- statics


def _solve_statics(job: Job, robot: Robot, row: Mapping[str, Value], near: Any) -> tuple[Equilibrium, bool]:
    """The equilibrium of a point, and whether the initial guess led to it; if not, it was solved without one."""
    u, driven = prescribed(job, robot, row)
    if near is not None:
        try:
            return statics(robot, u, driven=driven, q0=near), True
        except ConvergenceError:
            pass
    return statics(robot, u, driven=driven), False


def _initial_guess(job: Job, robot: Robot, last: Equilibrium, same: bool) -> Any:
    """Initial guess from the equilibrium of the point before, whose robot is the same or another; None: cold start."""
    if job.start == "cold" or last.robot.coordinate_names != robot.coordinate_names:
        return None
    touches = robot.engine.loading.touches  # surfaces must not pass through each other on the way
    if same and (job.start == "follow" or touches):
        return last
    return None if touches else last.q


def _statics_cells(job: Job, eq: Equilibrium) -> dict[str, Any]:
    zero = np.zeros(eq.robot.ndof)
    return {
        "q": eq.q, "lam": eq.lam, "driven": np.array(list(eq.driven.values())), "residual": eq.residual_norm,
        "stable": eq.stable, "n_evaluations": eq.n_evaluations, "poses": _poses(job, eq.robot, eq.q),
        "energy": np.array(eq.robot.energy(eq.q, zero)[:3]), "readings": _flat(eq.measure()),
    }  # fmt: skip


# -- dynamics


def _solve_motion(job: Job, robot: Robot, row: Mapping[str, Value], point: int) -> Run:
    u, driven = prescribed(job, robot, row)
    out = Path(job.runs) / run_name(point) if job.runs else None
    return simulate(robot, u=u, driven=driven, out=out, **job.options)


def run_name(point: int) -> str:
    """File of the whole run of a point."""
    return f"point_{point:06d}.h5"


def _run_cells(job: Job, run: Run) -> dict[str, Any]:
    robot, q, qd, last = run.robot, run.q[-1], run.qd[-1], run[-1]
    readings = {name: reading.values[-1] for name, reading in run.readings.items()}
    known = quantities(robot, tuple(last.driven), job.outputs)
    values = [one.number(*known[one.quantity].history(run)) for one in job.summary.values()]
    return {
        "q": q, "qd": qd, "lam": run.lam[-1], "driven": np.array([force[0] for force in last.driven.values()]),
        "t": run.t[-1], "n_evaluations": run.stats.get("n_rhs", 0), "poses": _poses(job, robot, q),
        "energy": np.array(robot.energy(q, qd)[:3]), "balance": np.abs(run.energy().balance).max(),
        "readings": _flat(readings), "summary": np.array(values, dtype=float),
    }  # fmt: skip


# -- parts


def prescribed(job: Job, robot: Robot, row: Mapping[str, Value]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and driven coordinates of a point: those of the sweep, else those of the robot's file."""
    block = robot.description.statics if job.command == STATICS else robot.description.simulate
    values = [*job.constants, *((one, row[one.name]) for one in job.parameters)]
    u = {**block.get("u", {})} | {one.target: value for one, value in values if one.kind == INPUT}
    motions = {one.target: value for one, value in values if one.kind == DRIVEN}
    return u, merged(robot.engine.layout, block.get("driven", {}), motions)


def _poses(job: Job, robot: Robot, q: Array) -> Array:
    return np.array([robot.pose(q, place.link, s=place.s) for place in job.outputs]).reshape(-1, 4, 4)


def _flat(readings: Mapping[str, Array]) -> Array:
    return np.concatenate([np.zeros(0), *readings.values()])


def empty_cells(job: Job) -> dict[str, Any]:
    """The cells of a point without a result."""
    nan = np.full
    cells: dict[str, Any] = {
        "q": np.zeros(0), "lam": np.zeros(0), "driven": nan(job.n_driven, np.nan),
        "poses": nan((len(job.outputs), 4, 4), np.nan), "energy": nan(3, np.nan),
        "readings": nan(job.n_readings, np.nan),
    }  # fmt: skip
    if job.command == STATICS:
        return cells | {"residual": np.nan, "stable": False, "n_evaluations": 0, "warm": False}
    summary = nan(len(job.summary), np.nan)
    return cells | {"qd": np.zeros(0), "t": np.nan, "n_evaluations": 0, "balance": np.nan, "summary": summary}


def _check_shapes(blank: Mapping[str, Any], cells: dict[str, Any]) -> dict[str, Any]:
    """Refuse cells of another shape than those of the other points."""
    for name, cell in cells.items():
        if name not in RAGGED and np.shape(cell) != np.shape(blank[name]):
            got = f"{np.size(cell)} instead of {np.size(blank[name])} numbers of '{name}'"
            raise ModelError("robot", "the same sensors and driven coordinates at all points", got)
    return cells


def stack_rows(cells: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """Rows of points as arrays; coordinates of robots with fewer of them are padded with NaN."""
    out: dict[str, NDArray[Any]] = {"ndof": np.array([len(one["q"]) for one in cells])}
    for name in cells[0]:
        values = [np.asarray(one[name]) for one in cells]
        out[name] = np.stack(pad_rows(values)) if name in RAGGED else np.array(values)
    return out


RAGGED = ("q", "qd", "lam")


def pad_rows(values: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The same rows, padded with NaN to one width."""
    width = max(value.shape[-1] for value in values)
    return [
        np.concatenate([value, np.full((*value.shape[:-1], width - value.shape[-1]), np.nan)], axis=-1)
        for value in values
    ]
