"""Cases of sweeps: a workspace of 1000 points, in one process and in two."""

from __future__ import annotations

from benchmarks.cases import Case, warm, within
from benchmarks.context import Action, Context
from benchmarks.jobs import grid
from sorosim.studies.sweeps.driver import sweep

N_TENSIONS = 10


def _in_this_process(context: Context) -> Action:
    points = grid(context.size(N_TENSIONS, 2))
    return lambda: sweep(context.robot, points)


def _in_two(context: Context) -> Action:
    return warm("workspace", context.size(N_TENSIONS, 2))(context)


def _remark(_: Context, result: dict[str, float]) -> str:
    return (
        f"{result['again']:.2f} s once they run; {result['points']:.0f} points, {result['failed']:.0f} failed; "
        f"with Python's start and imports {result['total'] - result['again']:.1f} s"
    )


SWEEPS: tuple[Case, ...] = (
    Case("workspace of 1000 points", _in_this_process, rounds=3),
    Case("workspace of 1000 points, 2 processes", _in_two, rounds=3, target=within(3), figure="first", remark=_remark),
)
