"""Cases of sweeps: a workspace of 1000 points, in one process and in two."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.cases import Case, seconds
from benchmarks.context import Action, Context, start_python
from sorosim.studies.sweeps.driver import sweep

N_TENSIONS = 10
CABLES = ("cable1", "cable2", "cable3")

# from a robot in memory to its workspace, in two processes that have to start; then again, while they are there
_WORKSPACE = """
import json, sys, time
import sorosim
robot = sorosim.load("cable_manipulator")
points = json.loads(%r)
sorosim.sweep(robot, {"list": [{"u.cable1": 1.0}]})
out = {}
for name in ("first", "again"):
    begin = time.perf_counter()
    found = sorosim.sweep(robot, points, jobs=int(float(sys.argv[1])))
    out[name] = time.perf_counter() - begin
print(json.dumps(out | {"points": len(found), "failed": len(found.failed)}))
"""


def _points() -> dict[str, Any]:
    return {"grid": {f"u.{name}": {"from": 0.0, "to": 10.0, "n": N_TENSIONS} for name in CABLES}}


def _in_this_process(context: Context) -> Action:
    return lambda: sweep(context.robot, _points())


def _in_two(context: Context) -> Action:
    folder = context.warm_folder
    return lambda: start_python(2.0, folder, _WORKSPACE % json.dumps(_points()))


def _remark(_: Context, result: dict[str, float]) -> str:
    return (
        f"{result['again']:.2f} s once they run; {result['points']:.0f} points, {result['failed']:.0f} failed; "
        f"with Python's start and imports {result['total'] - result['again']:.1f} s"
    )


SWEEPS: tuple[Case, ...] = (
    Case("workspace of 1000 points", _in_this_process, rounds=3),
    Case(
        "workspace of 1000 points, 2 processes", _in_two, rounds=3, target=seconds(3),
        measure=lambda result: float(result["first"]), remark=_remark, process=True,
    ),
)  # fmt: skip
