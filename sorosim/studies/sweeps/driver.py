"""`sweep`: checks its arguments, computes the blocks of points, keeps a journal, resumes an earlier sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.errors import FileError, InputError, Interrupted, warn
from sorosim.base.methods import MOTIONS, Method, spread
from sorosim.base.public import public
from sorosim.base.validation import Number, describe
from sorosim.base.writing import check_path, check_writable, journal_of
from sorosim.files import load
from sorosim.files.results import SWEEP, kind_of, names_of, versions
from sorosim.files.results import open as open_result
from sorosim.files.sweep_file import SweepDocument, read_sweep, sweep_of
from sorosim.files.sweep_store import SweepJournal
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.sweeps.plan import Plan, plan_of
from sorosim.studies.sweeps.pool import ClusterLost, computed_blocks
from sorosim.studies.sweeps.processes import prewarm
from sorosim.studies.sweeps.result import SweepResult, merge_blocks, split_blocks, sweep_folder
from sorosim.studies.sweeps.task import FAILED, Block

Progress = Callable[[int, int, int], None]
Blocks = dict[int, tuple[Any, list[str]]]


@public
def sweep(
    source: Robot | str | Path,
    points: Mapping[str, Any] | None = None,
    *,
    task: str | Mapping[str, Any] | None = None,
    u: Mapping[str, Number] | None = None,
    driven: Mapping[str, Number] | None = None,
    outputs: Sequence[str | Mapping[str, Any]] | None = None,
    summary: Mapping[str, Mapping[str, str]] | None = None,
    start: str | None = None,
    block: int | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
) -> SweepResult:
    """Equilibria or motions of a robot at many points.

    Parameters
    ----------
    source : Robot, or path of a sweep file
        A sweep file says all that `points` to `block` say; they are then left out here.
    points : mapping
        One of ``grid``, ``random``, ``latin_hypercube``, ``sobol``, ``path``, ``csv``, ``list``, and what a sweep file
        has there (docs: sweeps). What varies are inputs, ``u.NAME``, driven coordinates, ``driven.NAME``, and values
        of the robot's file by their paths, ``links.arm.rod.length``. Texts may have units.
    task : "statics", "simulate" or {"simulate": options}
        Options are t_end, dt_out, q0, method, the options of methods, and keep_runs. Default: statics.
    u, driven : mapping
        Inputs and driven coordinates with one value for all points. Default: those of the robot's file.
    outputs : sequence of str or {"link": name, "s": number}
        Places whose poses are kept. Default: the ends of all links with a body.
    summary : mapping of names to {reduction: quantity}
        What runs come down to, as in ``{"highest": {"max": "arm.z"}}``.
    start : {"warm", "cold", "follow"}
        The initial guess of equilibria. warm: the equilibrium of the point before, inside a block; cold: none; follow:
        the curve of equilibria from that of the point before. A point that fails from its neighbour is solved again
        without it. Default: warm.
    block : int
        Points that are computed one after the other. What is found depends on it, not on `jobs`. Default: 50 for
        statics, 1 for runs.
    jobs : int
        Processes; -1: one for each processor that this one may use. With 1 all is done in this one.
    scheduler : str
        Address of a Dask scheduler, ``tcp://host:port``, whose workers take the place of processes.
    progress : callable
        Called after every block with the numbers of points that are done, of all points, and of those that failed.
    out : path
        Result file (HDF5). While the sweep is under way it is a journal beside it, which `sorosim.open` reads too, also
        after the process was killed. Whole runs are kept in the folder ``NAME_runs`` beside it.
    resume : bool
        Continue the sweep at `out`; begin a new one if there is no file.
    force : bool
        Replace what there is at `out`.

    Returns
    -------
    SweepResult

    Raises
    ------
    FileError, ModelError, InputError
        Something is wrong with the sweep; or there is a result at `out` already, or another one than is to be resumed.
    Interrupted
        Ctrl-C; ``partial`` is what there is, and it is in the file.

    Notes
    -----
    Results are bitwise the same for any number of processes, and whether a sweep was resumed or not.
    """
    arguments = {"points": points, "task": task, "u": u, "driven": driven, "outputs": outputs, "summary": summary,
            "start": start, "block": block}  # fmt: skip
    jobs = _jobs(jobs)
    check_writable(out)
    if resume and (force or out is None):
        raise InputError("resume", "the path `out` of what to go on with", "`force` too" if force else "none")
    if out is not None and not (resume or force):
        check_vacant(out)
    # worker processes start while the robot is loaded
    prewarming = prewarm(jobs) if jobs > 1 and scheduler is None and isinstance(source, str | os.PathLike) else None
    robot, document = _document(source, {name: value for name, value in arguments.items() if value is not None})
    plan = plan_of(document, robot)
    if progress is not None and not callable(progress):
        raise InputError("progress", "a function of the numbers of points", type(progress).__name__)
    if plan.keep_runs and out is None:
        raise InputError("out", "the path of a result file, beside which runs are kept", "none")
    done: Blocks = _completed_blocks(plan, Path(out)) if resume and out is not None else {}
    if prewarming is not None:
        prewarming.join()
    return _Sweep(plan, out, done, progress).run(jobs, scheduler)


def _document(source: object, arguments: dict[str, Any]) -> tuple[Robot, SweepDocument]:
    if isinstance(source, str | os.PathLike):
        if arguments:
            got = f"a sweep file and {', '.join(arguments)}"
            raise InputError("sweep", "either a sweep file or a Robot with points", got, "change the file")
        document = read_sweep(Path(source))
        name = document.spec.robot
        beside_file = document.folder / name
        robot = load(beside_file if beside_file.is_file() else name, set=document.spec.set or None)
        return robot, document
    robot = check_robot(source)
    if "points" not in arguments:
        raise InputError("points", "the points of the sweep", "none", 'as in points={"grid": {"u.cable1": [0, 5]}}')
    options = arguments["task"].get("simulate") if isinstance(arguments.get("task"), Mapping) else None
    if isinstance(options, Mapping) and isinstance(options.get("method"), Method):  # files have no objects
        arguments["task"] = {"simulate": spread(options, MOTIONS)}
    return robot, sweep_of({"sorosim_sweep": 1, "robot": robot.name or "robot", **arguments})


def _jobs(jobs: object) -> int:
    if isinstance(jobs, bool) or not isinstance(jobs, int | np.integer) or (jobs < 1 and jobs != -1):
        raise InputError("jobs", "a number of processes, or -1 for all processors", describe(jobs))
    if jobs > 0:
        return int(jobs)
    from joblib import cpu_count  # those that this process may use, which a queue limits

    return int(cpu_count())


def check_vacant(out: str | Path) -> None:
    """Refuse to overwrite a result or a journal at the path: a sweep takes long."""
    check_path(out)
    if Path(out).exists() or journal_of(out).exists():
        resumable = not Path(out).exists() or kind_of(out) == SWEEP
        hint = f"{'resume it (--resume), ' if resumable else ''}replace it (--force), or give another name"
        raise FileError(str(out), f"expected no file yet, got one; {hint}")


def _completed_blocks(plan: Plan, path: Path) -> Blocks:
    """Blocks that an earlier sweep completed, from its file or journal."""
    if not (path.exists() or journal_of(path).exists()):
        return {}
    if (kind := kind_of(path)) not in (SWEEP, ""):
        hint = "give another file (--out), or replace it (--force)"
        raise FileError(str(path), f"expected the result of a sweep, got another one, kind '{kind}'; {hint}")
    old = open_result(path)
    assert isinstance(old, SweepResult)  # else what is wrong with the file was said
    _check_same(plan, old, str(path))
    return split_blocks(old.plan, old.arrays, old.messages)


def _check_same(plan: Plan, old: SweepResult, file: str) -> None:
    """Refuse to resume a sweep of another robot or with other arguments; warn of other versions."""
    hint = "give another file (--out), or begin anew (--force)"
    if old.plan.text != plan.text:
        raise FileError(file, f"expected the robot as it was when the sweep began, got one that has changed; {hint}")
    current, previous = plan.as_data(), old.plan.as_data()
    changed = [name for name in current if current[name] != previous.get(name)]
    if changed:
        what = " and ".join(f"'{name}'" for name in changed)
        raise FileError(file, f"expected the sweep that was begun, got another one: {what} changed; {hint}")
    now = versions()
    changed_versions = [
        f"{name} {old.versions.get(name)}, now {now[name]}" for name in now if old.versions.get(name) != now[name]
    ]
    if changed_versions:
        message = (
            f"{file}: begun with {', '.join(changed_versions)}; results may differ in their last digits from here on"
        )
        warn(message)


class _Sweep:
    """One call of `sweep`."""

    def __init__(self, plan: Plan, out: str | Path | None, done: Blocks, progress: Progress | None) -> None:
        self.plan, self.out, self.done, self.progress = plan, out, done, progress
        self.versions = versions()
        self.n_done = self.n_failed = 0
        self.journal: SweepJournal | None = None
        for arrays, _ in done.values():
            self._count(arrays)

    def run(self, jobs: int, scheduler: str | None) -> SweepResult:
        """Compute the remaining blocks and return the result of all of them."""
        try:
            self._compute(jobs, scheduler)
            result = self._result()
            self._write_result(result)
        except KeyboardInterrupt:
            message = f"interrupted at {self.n_done} of {len(self.plan.samples)} points{self._resume_hint()}"
            raise Interrupted(message, self._result()) from None
        except BrokenExecutor:
            hint = f"if memory ran out, fewer processes need less{self._resume_hint()}"
            raise InputError("jobs", "worker processes to the end", "one that was killed", hint) from None
        except ClusterLost as error:
            got = f"'{error}', which was lost at {self.n_done} of {len(self.plan.samples)} points{self._resume_hint()}"
            raise InputError("scheduler", "a connection to the scheduler to the end", got) from None
        finally:
            if self.journal is not None:
                self.journal.close() if self.done else self.journal.remove()
        return result

    def _compute(self, jobs: int, scheduler: str | None) -> None:
        """Compute the remaining blocks and store each as it comes."""
        remaining = [k for k in range(len(self.plan.blocks)) if k not in self.done]
        job = self.plan.job(self._open_journal())
        self._report_progress()
        with closing(computed_blocks(self.plan, job, remaining, min(jobs, len(remaining) or 1), scheduler)) as blocks:
            for block in blocks:
                self._store(block)

    def _write_result(self, result: SweepResult) -> None:
        """Write the result file, then remove the journal."""
        if self.journal is None or self.out is None:
            return
        try:
            result.save(self.out)
        except FileError as error:
            raise FileError(error.file, f"{error.message}; the sweep is kept in {self.journal.path}") from None
        self.journal.remove()

    def _resume_hint(self) -> str:
        """Where the completed points are, for messages."""
        return f"; completed points are in {self.out}; resume continues from there" if self.out and self.done else ""

    def _open_journal(self) -> str:
        """Open the journal and write the completed blocks to it; returns the folder of whole runs."""
        if self.out is None:
            return ""
        header = {**names_of(self.plan.robot), "text": self.plan.text, "plan": self.plan.as_data()}
        self.journal = SweepJournal(self.out, {**header, "versions": versions()})
        for number, (arrays, messages) in sorted(self.done.items()):
            self.journal.block(number, arrays, messages)
        self.journal.begin()
        if not self.plan.keep_runs:
            return ""
        folder = sweep_folder(self.out)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not self.done:  # runs of a sweep that is replaced
                for old in folder.glob("point_*.h5*"):
                    old.unlink()
        except OSError as error:
            raise FileError(str(folder), f"cannot be used for runs: {error.strerror or error}") from None
        return str(folder.absolute())

    def _store(self, block: Block) -> None:
        """Store a block that was computed, and report progress."""
        self.done[block.number] = block.arrays, block.messages
        if self.journal is not None:
            self.journal.block(*block)
        self._count(block.arrays)
        self._report_progress()

    def _count(self, arrays: Mapping[str, ArrayLike]) -> None:
        status = np.asarray(arrays["status"])
        self.n_done += len(status)
        self.n_failed += int((status == FAILED).sum())

    def _report_progress(self) -> None:
        if self.progress is not None:
            self.progress(self.n_done, len(self.plan.samples), self.n_failed)

    def _result(self) -> SweepResult:
        arrays, messages = merge_blocks(self.plan, self.done)
        folder = None if self.out is None else sweep_folder(self.out)
        return SweepResult(self.plan, arrays, tuple(messages), self.versions, folder)
