"""What is timed in a Python of its own: python -P benchmarks/jobs.py JOB NUMBER prints figures as JSON.

It imports nothing before it is told what to time.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any


def start(seconds: float) -> dict[str, float]:
    """Import, load, statics, `seconds` of motion (0: only import), poses, energy; times [s] and the peak memory [B]."""
    begin = time.perf_counter()
    import sorosim  # noqa: F401

    out = {"package": time.perf_counter() - begin}
    if seconds > 0.0:
        import scipy.integrate
        import scipy.optimize  # noqa: F401

        from sorosim.analysis.equilibria.statics import statics
        from sorosim.analysis.motion.simulate import simulate
        from sorosim.files import load

        imported = time.perf_counter()
        robot = load("cable_manipulator")
        statics(robot, {robot.actuator_names[0]: 10.0})
        run = simulate(robot, seconds)
        run.tip()
        run.energy()
        robot.kinematics(run.q[-1], run.qd[-1])
        robot.poses(run.q[-1], "arm", s=[0.0, 0.3, 1.0])
        out |= {"imports": imported - begin, "job": time.perf_counter() - imported, "cpu": time.process_time()}
    return out | {"peak": peak_memory()}


def peak_memory() -> float:
    """Most memory of this process [B]."""
    try:
        # a child starts with its parent's ru_maxrss on Linux; the peak of its own memory is here
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024.0 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def first_page(seconds: float) -> dict[str, float]:
    """From a run in memory to the page that plays it, and to the next one: the first one loads the libraries."""
    import sorosim

    run = sorosim.simulate(sorosim.load("cable_manipulator"), seconds, dt_out=0.01)
    times = [time.perf_counter()]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "run.html")
        for _ in range(2):
            run.export_html(page)
            times.append(time.perf_counter())
        size = page.stat().st_size
    first, following = (end - begin for begin, end in pairwise(times))
    return {"first": first, "next": following, "states": len(run.t), "bytes": size}


def grid(n: int) -> dict[str, Any]:
    """The n^3 points of a sweep: tensions of three cables [N]."""
    axis = {"from": 0.0, "to": 10.0, "n": n}
    return {"grid": {f"u.{name}": axis for name in ("cable1", "cable2", "cable3")}}


def workspace(n: float) -> dict[str, float]:
    """A workspace of n^3 points in two processes that have to start; then again, while they are there."""
    import sorosim

    robot, points, out = sorosim.load("cable_manipulator"), grid(int(n)), {}
    sorosim.sweep(robot, {"list": [{"u.cable1": 1.0}]})
    for name in ("first", "again"):
        begin = time.perf_counter()
        found = sorosim.sweep(robot, points, jobs=2)
        out[name] = time.perf_counter() - begin
    return out | {"points": len(found), "failed": len(found.failed)}


JOBS: dict[str, Callable[[float], dict[str, float]]] = {job.__name__: job for job in (start, first_page, workspace)}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](float(sys.argv[2]))))
