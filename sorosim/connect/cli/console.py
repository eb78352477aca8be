"""What the command line prints: facts as tables or JSON, errors, warnings, and how far a computation is."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sorosim.base.errors import ConvergenceError
from sorosim.base.writing import reserved

if TYPE_CHECKING:  # imported when something is printed
    from rich.console import Console

QUIET_INTERVAL = 10.0  # s of wall time between lines of progress where there is no terminal
LONGEST_ESTIMATE = 1e6  # s: a longer one is no estimate yet

Report = Callable[[float, float, str], None]  # done, total, and a template of what to print


@cache
def out() -> Console:
    """Where results are printed; in files and pipes lines are not broken at the width of some terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 200)


@cache
def err() -> Console:
    """Where errors, warnings and progress are printed."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def line(text: str, console: Callable[[], Console] = out) -> None:
    """Print one line as it is."""
    console().print(text, markup=False, soft_wrap=True)


def facts(title: str, rows: Mapping[str, str]) -> None:
    """Print names and values."""
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left", box=None)
    for name, value in rows.items():
        table.add_row(name, value)
    out().print(table, markup=False)


def as_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object; what is infinite or no number is null, since JSON has no word for it."""
    text = json.dumps(content, default=_plain)
    print(json.dumps(json.loads(text, parse_constant=lambda _: None), indent=1))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


class StatusLines:
    """Progress lines, at most one in each interval [s]; `n_lines` were shown."""

    def __init__(self, show: Callable[[str], Any], interval: float, first_after: float) -> None:
        self.show, self.interval, self.n_lines, self.last = show, interval, 0, ""
        self.next = time.monotonic() + first_after

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if text and text != self.last and now >= self.next:
            self.last, self.next, self.n_lines = text, now + self.interval, self.n_lines + 1
            self.show(text)


@contextmanager
def status_lines(first_after: float = 0.0) -> Iterator[StatusLines]:
    """What is under way: a line that changes on a terminal; elsewhere one now and then, the first after a while [s]."""
    if not err().is_terminal:
        yield StatusLines(lambda text: line(text, err), QUIET_INTERVAL, first_after)
        return
    with err().status("") as status:
        yield StatusLines(status.update, 0.0, 0.0)


@contextmanager
def progress(verb: str) -> Iterator[Report]:
    """A bar on a terminal; elsewhere a line now and then. Templates take done, total and rate (done per second)."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from sorosim.base.compiled import working_time

    quiet = StatusLines(lambda text: line(text, err), QUIET_INTERVAL, QUIET_INTERVAL)
    # progress and time at the first report, that of compilation left out; of the companion of a run anew
    begin: list[float] = []
    latest = 0.0
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"), TimeRemainingColumn()
    bar = Progress(
        *columns,
        TextColumn("left"),
        console=err(),
        transient=True,
        disable=not err().is_terminal,
        get_time=working_time,
    )
    with bar:
        task = bar.add_task(verb, total=None, text="", visible=False)

        def report(done: float, total: float, template: str) -> None:
            nonlocal latest
            now = working_time()
            if not begin or done < 0.5 * latest:
                begin[:] = done, now
            latest = done
            rate = (done - begin[0]) / max(now - begin[1], 1e-9)
            text = template.format(done=done, total=total, rate=rate)
            bar.update(task, completed=done, total=total, text=text, visible=True)
            if bar.disable and rate > 0.0:
                left = (total - done) / rate
                quiet(text + (f", about {left:.0f} s left" if left < LONGEST_ESTIMATE else ""))

        yield report


def report_of(
    solve: Callable[[], Any], kind: type, summary: Callable[[Any], dict[str, Any]], output: Path | None,
    picture: Path | None, as_object: bool,
) -> None:  # fmt: skip
    """Report what a solver finds; where it fails, what it had, if that is of a kind."""
    with reserved(output):
        try:
            result = solve()
        except ConvergenceError as error:
            if isinstance(error.partial, kind):
                report(error.partial, summary, output, picture, as_object)
            raise
        report(result, summary, output, picture, as_object)


def report(
    result: Any, summary: Callable[[Any], dict[str, Any]], output: Path | None, picture: Path | None, as_object: bool,
    show: Callable[[Any], None] | None = None,
) -> None:  # fmt: skip
    """Write the files of a result and print its summary, by `show` or as text, or as one JSON object."""
    written = [str(path) for path in (output, picture) if path]
    if output:
        result.save(output)
    if picture:
        result.plot(picture)
    if as_object:
        as_json(summary(result) | {"files": written})
        return
    if show is None:
        line(result.summary())
    else:
        show(result)
    if written:
        line(f"written: {', '.join(written)}")
