"""What the command line prints: facts as tables or JSON, and how far a run is."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sorosim.validation import counted

# in files and pipes lines are not broken at the width of some terminal
out = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
err = Console(stderr=True, highlight=False)

QUIET_INTERVAL = 10.0  # s of wall time between lines of progress where there is no terminal
COUNTS = {"n_steps": "step", "n_rhs": "evaluation", "n_jacobian": "Jacobian", "n_factorizations": "factorization"}


def facts(title: str, rows: Mapping[str, str]) -> None:
    """Print names and values."""
    table = Table(title=title, show_header=False, title_justify="left", box=None)
    for name, value in rows.items():
        table.add_row(name, value)
    out.print(table, markup=False)


def as_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object; what is infinite or no number is null, since JSON has no word for it."""
    print(json.dumps(_plain(content), indent=1, allow_nan=False))


def _plain(value: Any) -> Any:
    """A value in the words of JSON."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def failed(error: Exception) -> None:
    """Print an error, one line."""
    err.print(f"error: {error}", markup=False, soft_wrap=True)


def warned(message: str) -> None:
    """Print a warning, one line."""
    err.print(f"warning: {message}", markup=False, soft_wrap=True)


def position(p: Any) -> str:
    """A place in the world, in millimetres."""
    return ", ".join(f"{round(1e3 * x, 3) + 0.0:.3f}" for x in p) + " mm"  # no minus before zeros


def run_summary(run: Any, path: Path | None) -> dict[str, Any]:
    """What a run comes down to, as plain data."""
    energy = run.energy()
    return {
        "robot": run.robot.name,
        "t_end": float(run.t[-1]) if len(run.t) else 0.0,
        "method": run.options["method"],
        "message": run.message,
        "stats": dict(run.stats),
        "energy_error": float(np.abs(energy.balance).max(initial=0.0)),
        "energy_moved": energy.turnover,
        "tip": run.tip()[-1] if len(run.t) else None,
        "driven": {name: float(force[-1]) for name, force in run.driven.items() if len(force)},
        "driven_largest": {name: float(np.abs(force).max()) for name, force in run.driven.items() if len(force)},
        "driven_units": dict(zip(run.driven, run.robot.driven_units(run.driven), strict=True)),
        "file": str(path) if path else None,
    }


def run_facts(summary: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    stats, end = summary["stats"], summary["t_end"]
    wall = stats.get("wall_time")
    counts = [counted(stats[key], label) for key, label in COUNTS.items() if key in stats]
    rows = {
        "simulated": f"{end:g} s" + (f" in {wall:.2f} s, {end / wall:.1f} times real time" if wall else ""),
        "integrator": ": ".join([summary["method"], *filter(None, [", ".join(counts)])]),
        "energy balance": f"off by at most {summary['energy_error']:.2g} J of {summary['energy_moved']:.2g} J moved",
    }
    if summary["method"] == "mode":  # nothing was integrated, and its energy is none
        rows = {"shown": f"{end:g} s of a mode"}
    units = summary["driven_units"]
    if needed := [f"{force:.4g} {units[name]} at {name}" for name, force in summary["driven_largest"].items()]:
        rows["driven"] = "needed at most " + ", ".join(needed)
    if summary["tip"] is not None:
        rows["tip at the end"] = position(summary["tip"])
    if summary["file"]:
        rows["written"] = summary["file"]
    return rows


def needed(equilibrium: Any) -> dict[str, str]:
    """What driven coordinates need in an equilibrium, for people."""
    units = equilibrium.robot.driven_units(equilibrium.driven)
    forces = equilibrium.driven.items()
    return {f"needed at {name}": f"{force:.6g} {unit}" for (name, force), unit in zip(forces, units, strict=True)}


@contextmanager
def progress(t_end: float | None, begin: float = 0.0) -> Iterator[Callable[[float], None] | None]:
    """A bar of simulated time on a terminal; elsewhere a line now and then."""
    if not t_end:
        yield None
    elif err.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.2f}/{task.total:g} s"))
        speed = TextColumn("{task.fields[speed]}")
        with Progress(*columns, speed, TimeRemainingColumn(), console=err, transient=True) as bar:
            task = bar.add_task("simulating", total=t_end, speed="")
            bar.update(task, completed=begin)
            start = time.monotonic()

            def show(t: float) -> None:
                wall = max(time.monotonic() - start, 1e-9)
                bar.update(task, completed=t, speed=f"{(t - begin) / wall:.2g} times real time")

            yield show
    else:
        yield _Lines(t_end, begin).tell


@contextmanager
def status_lines(first_after: float = 0.0) -> Iterator[StatusLines]:
    """What is under way: a line that changes on a terminal; elsewhere one now and then, the first after a while [s]."""
    if not err.is_terminal:
        yield StatusLines(lambda line: err.print(line, soft_wrap=True), first_after)
        return
    with err.status("") as status:
        yield StatusLines(status.update, None)


class StatusLines:
    """Lines about what is under way, as many as are wanted; `n_lines` were shown."""

    def __init__(self, show: Callable[[str], Any], first_after: float | None) -> None:
        self.show, self.n_lines, self.interval = show, 0, 0.0 if first_after is None else QUIET_INTERVAL
        self.last = ""
        self.next = time.monotonic() + (first_after or 0.0)

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        if line and line != self.last and now >= self.next:
            self.last = line
            self.next, self.n_lines = now + self.interval, self.n_lines + 1
            self.show(line)


class _Lines:
    """Progress where nobody watches."""

    def __init__(self, t_end: float, begin: float) -> None:
        self.t_end, self.begin = t_end, begin
        self.start = self.last = time.monotonic()

    def tell(self, t: float) -> None:
        now = time.monotonic()
        if now - self.last < QUIET_INTERVAL or t <= self.begin:
            return
        self.last, speed = now, (t - self.begin) / (now - self.start)
        left = (self.t_end - t) / speed
        line = f"t = {t:.4g} of {self.t_end:g} s, {speed:.2g} times real time"
        line += f", about {left:.0f} s left" if left < 1e6 else ""  # nobody waits longer: it is no estimate yet
        err.print(line, soft_wrap=True)
