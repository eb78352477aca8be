"""The result of a sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.base.arrays import Array, Mask
from sorosim.base.declare.result import DATA, TEXT, Named, Numbers, Place, Result, StoredField, Texts, stored
from sorosim.base.errors import InputError, nearest
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import describe
from sorosim.files import load_text
from sorosim.files.results import open as open_result
from sorosim.mechanics.robot import Robot
from sorosim.studies.sweeps import tables, task
from sorosim.studies.sweeps.plan import Plan, plan_from_data

Arrays = dict[str, NDArray[Any]]
Blocks = Mapping[int, tuple[Mapping[str, NDArray[Any]], list[str]]]  # arrays and messages of blocks by number

STATUS = {task.OK: "ok", task.FAILED: "failed", task.PENDING: "pending"}


@public
@dataclass(frozen=True, eq=False)
class SweepResult(Result, kind="sweep"):
    """Results at the points of a sweep.

    A point that failed is kept with its reason; its numbers are NaN. ``len`` is the number of points.
    """

    plan: Plan = field(repr=False)
    arrays: Mapping[str, NDArray[Any]] = stored(
        Named(Numbers("n_points", ...)), "one row a point: q, lam, driven, poses...", repr=False
    )
    messages: tuple[str, ...] = stored(Texts("n_points"), "of the solvers; for points that failed, why", repr=False)
    versions: Mapping[str, str] = stored(DATA, "of sorosim, numpy, scipy, python", repr=False)
    folder: Path | None = None  # of whole runs, if there are any
    also: ClassVar[Mapping[str, StoredField]] = {
        "text": StoredField(TEXT, "the robot's file", source="plan.text"),
        "_plan": StoredField(TEXT, "what was asked for, as JSON; columns of numbers are in `parameters`", name="plan"),
        "_parameters": StoredField(DATA, "per parameter: its values at the points, n_points each", "SI",
                                   name="parameters", needed=False),
        "numbers": StoredField(Named(Numbers("n_points")), "per number of a point: its column", "SI", name="columns",
                               needed=False, derived=True),
    }  # fmt: skip

    plot = LazyMethod("sorosim.view.viz.sweep_plot:plot_sweep")
    _repr_html_ = LazyMethod("sorosim.view.viz.notebook:sweep_html")
    _repr_png_ = LazyMethod("sorosim.view.viz.notebook:sweep_png")

    # -- the points ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def robot(self) -> Robot:
        """The robot, as its file has it; `robot_at` has the changes of a point."""
        return self.plan.robot

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what varies."""
        return self.plan.samples.names

    @property
    def units(self) -> tuple[str, ...]:
        """Units of what varies, "" where none is known."""
        return self.plan.units

    @cached_property
    def values(self) -> Array:
        """Values (n, n_names) at the points [SI]; of words their number in the order in which they first come."""
        return self.plan.samples.values

    def point(self, i: int) -> dict[str, Any]:
        """Values at a point by name, words as they are."""
        return self.plan.samples.row(self._index(i))

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Numbers of values along each parameter of a grid; None: it is none."""
        return self.plan.samples.shape

    @cached_property
    def status(self) -> NDArray[np.str_]:
        """Of each point (n,): ok, failed, or pending (not computed yet)."""
        return np.array([STATUS[int(one)] for one in self.arrays["status"]], dtype="U7")

    @property
    def ok(self) -> Mask:
        """Which points (n,) have a result."""
        return np.asarray(self.arrays["status"] == task.OK)

    @property
    def failed(self) -> dict[int, str]:
        """Numbers of the points that failed, and why."""
        return {int(i): self.messages[i] for i in np.flatnonzero(self.arrays["status"] == task.FAILED)}

    @property
    def complete(self) -> bool:
        """Whether all points were computed."""
        return bool((self.arrays["status"] != task.PENDING).all())

    # -- what was found --------------------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """Coordinates (n, ndof), at the end of runs; where robots have fewer than others, NaN follows."""
        return self.arrays["q"]

    @property
    def qd(self) -> Array:
        """Rates (n, ndof) at the end of runs; zero at equilibria."""
        return self.arrays.get("qd", np.where(np.isnan(self.q), np.nan, 0.0))

    @property
    def lam(self) -> Array:
        """Multipliers (n, n_multipliers) of loops."""
        return self.arrays["lam"]

    @property
    def driven(self) -> dict[str, Array]:
        """Name of a driven coordinate -> generalised forces (n,) that it needs."""
        return dict(zip(self.plan.driven, self.arrays["driven"].T, strict=True))

    @property
    def poses(self) -> dict[str, Array]:
        """Name of an output -> poses (n, 4, 4) in the world."""
        return {place.label: self.arrays["poses"][:, k] for k, place in enumerate(self.plan.outputs)}

    def tip(self, output: str | None = None) -> Array:
        """Positions (n, 3) of an output in the world [m]; default: the first of `Robot.outputs`, else the last one."""
        known = [place.label for place in self.plan.outputs]
        if not known:
            raise InputError("output", "a sweep with outputs", "one without any", "name links in `outputs`")
        name = self.plan.shown_output if output is None else output
        if name not in known:
            raise InputError("output", "the name of an output", f"'{name}'", nearest(str(name), known))
        return self.poses[str(name)][:, :3, 3]

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Everything that is one number a point, by name: parameters, status, tips, energies, forces, readings."""
        messages = np.array(self.messages, dtype=str)
        return tables.parameters(self.plan) | {"status": self.status} | self.numbers | {"message": messages}

    @property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """The computed ones of `columns`, without parameters and words."""
        return tables.numbers(self.plan, self.arrays, self.poses)

    def robot_at(self, i: int) -> Robot:
        """The robot of a point."""
        settings = self.plan.settings(self._index(i))
        return self._base.with_values(settings) if settings else self.robot

    @cached_property
    def _base(self) -> Robot:
        return load_text(self.plan.text, self.robot.name)

    def equilibrium(self, i: int) -> Equilibrium:
        """The equilibrium of a point, to play, to draw, or to start from.

        Its coordinates and multipliers are those of the sweep; the rest is computed again from there.

        Raises
        ------
        InputError
            There is none: the point failed, or the sweep is one of runs.
        """
        point = self._found(i)
        if self.plan.command != task.STATICS:
            raise InputError("sweep", "a sweep of statics", "one of runs", "run(i) gives the run of a point")
        robot = self.robot_at(point)
        u, driven = task.prescribed(self.plan.job(), robot, self.plan.samples.row(point))
        q = np.array(self.q[point, : robot.ndof])
        solution = statics(robot, u, driven=driven, q0=q, stable=False)
        return replace(solution, q=q, lam=np.array(self.lam[point, : robot.n_multipliers]))

    def run(self, i: int) -> Run:
        """The run of a point: the one that was kept, else computed again.

        Raises
        ------
        InputError
            There is none: the point failed, or the sweep is one of statics.
        """
        from sorosim.analysis.motion.simulate import simulate

        point = self._found(i)
        if self.plan.command == task.STATICS:
            raise InputError("sweep", "a sweep of runs", "one of statics", "equilibrium(i) gives that of a point")
        run_file = None if self.folder is None else self.folder / task.run_name(point)
        if self.plan.keep_runs and run_file is not None and run_file.is_file():
            found = open_result(run_file)
            assert isinstance(found, Run)  # no sweep writes anything else there
            return found
        robot = self.robot_at(point)
        u, driven = task.prescribed(self.plan.job(), robot, self.plan.samples.row(point))
        return simulate(robot, u=u, driven=driven, **self.plan.options)

    # -- elsewhere -------------------------------------------------------------------------------------------------

    @property
    def _plan(self) -> str:
        plan = self.plan.as_data()
        columns = [column if _has_words(column) else None for column in self.plan.samples.columns]
        return json.dumps(plan | {"points": plan["points"] | {"columns": columns}})

    @property
    def _parameters(self) -> dict[str, Any]:
        columns = dict(zip(self.names, self.plan.samples.columns, strict=True))
        return {
            name: [str(x) for x in one] if _has_words(one) else np.array(one, dtype=float)
            for name, one in columns.items()
        }

    @classmethod
    def check(cls, stored: Mapping[str, Any], at: Place) -> None:
        """Refuse the content of a file whose parts do not fit together; journals have blocks in the place of arrays."""
        if "blocks" not in stored:
            super().check(stored, at)

    @classmethod
    def restored(cls, stored: Mapping[str, Any], robot: Robot) -> SweepResult:
        """The sweep from the content of a file, or a journal, and its robot."""
        if "blocks" in stored:
            plan = plan_from_data(robot, stored["plan"], stored["text"])
            arrays, messages = merge_blocks(plan, stored["blocks"])
            return cls(plan, arrays, tuple(messages), stored["versions"], sweep_folder(stored["file"]))
        parts = cls.parts(stored, robot)
        data, arrays, columns = json.loads(parts["_plan"]), parts["arrays"], parts.get("_parameters", {})
        pairs = zip(data["points"]["names"], data["points"]["columns"], strict=True)
        data["points"]["columns"] = [columns[name].tolist() if one is None else one for name, one in pairs]
        plan = plan_from_data(robot, data, parts["text"])
        if len(parts["messages"]) != (n := len(plan.samples)):
            raise ValueError(f"{n} points, but results of {len(parts['messages'])}")
        if missing := [name for name in empty_arrays(plan, 0) if name not in arrays]:
            raise ValueError(f"no '{missing[0]}'")
        return cls(plan, arrays, parts["messages"], parts["versions"], sweep_folder(stored["file"]))

    def to_csv(self, path: str | Path) -> None:
        """Write `columns` as a table, names in its first line, one row a point."""
        tables.write_csv(self.columns, path)

    def to_parquet(self, path: str | Path) -> None:
        """Write `columns` as a Parquet file; needs the package pyarrow (extra ``tables``)."""
        tables.write_parquet(self.columns, path)

    def to_xarray(self) -> Any:
        """The sweep as an `xarray.Dataset`; needs the package xarray (extra ``tables``).

        A grid has one dimension for each parameter, other points have the dimension ``point``.
        """
        return tables.to_xarray(self)

    def __repr__(self) -> str:
        counts = {word: int(np.sum(self.arrays["status"] == code)) for code, word in STATUS.items()}
        summary = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
        over = ", ".join(self.names)
        return f"<SweepResult of '{self.robot.name}': {self.plan.command} at {len(self)} points over {over}; {summary}>"

    # -- parts -----------------------------------------------------------------------------------------------------

    def _index(self, i: int) -> int:
        if not isinstance(i, int | np.integer) or not -len(self) <= i < len(self):
            raise InputError("point", f"the number of a point, up to {len(self) - 1}", describe(i))
        return int(i) % len(self)

    def _found(self, i: int) -> int:
        point = self._index(i)
        if self.arrays["status"][point] != task.OK:
            got = f"point {point}, which {'failed' if self.arrays['status'][point] == task.FAILED else 'is pending'}"
            why = self.messages[point]
            raise InputError("point", "one that has a result", got + (f" ({why})" if why else ""))
        return point


def _has_words(column: Sequence[object]) -> bool:
    return any(isinstance(x, str) for x in column)


def sweep_folder(path: str | Path) -> Path:
    """Folder of the whole runs of a sweep, beside its file."""
    return Path(path).with_suffix("").with_name(f"{Path(path).stem}_runs")


# -- blocks


def empty_arrays(plan: Plan, n: int) -> Arrays:
    """Arrays of n pending points."""
    one = task.stack_rows([{"status": task.PENDING, **task.empty_cells(plan.job())}])
    return {name: np.repeat(array, n, axis=0) for name, array in one.items()}


def merge_blocks(plan: Plan, blocks: Blocks) -> tuple[Arrays, list[str]]:
    """Arrays and messages of all points; those of missing blocks are pending."""
    n = len(plan.samples)
    messages = [""] * n
    out = empty_arrays(plan, n)
    for name in task.RAGGED:
        if name in out:
            width = max((arrays[name].shape[1] for arrays, _ in blocks.values()), default=0)
            out[name] = np.full((n, width), np.nan)
    for number, (arrays, block_messages) in blocks.items():
        points = plan.blocks[number]
        for name, array in arrays.items():
            target = out[name]
            target[points] = task.pad_rows([array, target[:0]])[0] if name in task.RAGGED else array
        for point, message in zip(points, block_messages, strict=True):
            messages[point] = message
    return out, messages


def split_blocks(plan: Plan, arrays: Mapping[str, NDArray[Any]], messages: Any) -> dict[int, tuple[Arrays, list[str]]]:
    """The completed blocks, those without a pending point."""
    completed = {}
    for number, points in enumerate(plan.blocks):
        if (arrays["status"][points] != task.PENDING).all():
            rows = {name: array[points] for name, array in arrays.items()}
            completed[number] = rows, [messages[point] for point in points]
    return completed
