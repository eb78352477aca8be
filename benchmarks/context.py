"""What the benchmarks share: the robot and its state, the yardstick, and Python started anew."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sorosim
from sorosim.analysis.motion.simulate import simulate
from sorosim.base.ode import one_blas_thread
from sorosim.files import load
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]
Action = Callable[[], Any]

ROBOT = "cable_manipulator"
N_TENSIONS, MAX_TENSION = 100, 100.0

START_JOB = """
import json, os, resource, sys, time
begin = time.perf_counter()
import sorosim
package = time.perf_counter() - begin
seconds = float(sys.argv[1])
out = {"package": package}
if seconds > 0.0:
    import scipy.integrate, scipy.optimize
    from sorosim.analysis.equilibria.statics import statics
    from sorosim.analysis.motion.simulate import simulate
    from sorosim.files import load
    imported = time.perf_counter()
    robot = load("cable_manipulator")
    statics(robot, {robot.actuator_names[0]: 10.0})
    run = simulate(robot, seconds)
    run.tip(), run.energy(), robot.kinematics(run.q[-1], run.qd[-1]), robot.poses(run.q[-1], "arm", [0.0, 0.3, 1.0])
    out |= {"imports": imported - begin, "job": time.perf_counter() - imported, "cpu": time.process_time()}
usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
try:
    # a child starts with its parent's ru_maxrss on Linux; the peak of its own memory is here
    with open("/proc/self/status") as status:
        usage = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
except (OSError, StopIteration):
    pass
print(json.dumps(out | {"peak": usage}))
"""

# from a run in memory to the page that plays it; a child, because the first page of a process loads the libraries
FIRST_PAGE = """
import json, sys, tempfile, time
from pathlib import Path
import sorosim
run = sorosim.simulate(sorosim.load("cable_manipulator"), float(sys.argv[1]), dt_out=0.01)
times = [time.perf_counter()]
with tempfile.TemporaryDirectory() as folder:
    page = Path(folder, "run.html")
    for _ in range(2):
        run.export_html(page)
        times.append(time.perf_counter())
    size = page.stat().st_size
first, next_ = (end - begin for begin, end in zip(times, times[1:]))
print(json.dumps({"first": first, "next": next_, "states": len(run.t), "bytes": size}))
"""


@dataclass
class Context:
    """What the cases share: robot, state, inputs, reference results, compiled code, samples of the yardstick."""

    name: str = ROBOT
    yardsticks: list[float] = field(default_factory=list)
    others: dict[str, Context] = field(default_factory=dict)

    def of(self, name: str) -> Context:
        """What the cases of another robot share."""
        return self.others.setdefault(name, Context(name))

    @cached_property
    def robot(self) -> Robot:
        """The bundled robot of this name: the cable-driven manipulator of the paper, if it is not `of` another."""
        return load(self.name)

    @cached_property
    def state(self) -> tuple[Array, Array, Array, Array]:
        """q, qd, qdd, u: everything moves, every cable pulls."""
        rng, n = np.random.default_rng(48), self.robot.ndof
        q, qd, qdd = 0.1 * rng.normal(size=n), 0.1 * rng.normal(size=n), rng.normal(size=n)
        return q, qd, qdd, rng.uniform(0.0, 10.0, size=len(self.robot.actuator_names))

    @cached_property
    def tensions(self) -> Array:
        """Random tensions [N], as in the paper's statics."""
        return np.random.default_rng(100).uniform(0.0, MAX_TENSION, (N_TENSIONS, len(self.robot.actuator_names)))

    @cached_property
    def tight_tip(self) -> Array:
        """Tip (n_times, 3) of the 10 s run at rtol 1e-8."""
        return simulate(self.robot, 10.0, dt_out=0.01, method="cvode", rtol=1e-8, atol=1e-10).tip()

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="sorosim-bench-", ignore_cleanup_errors=True)

    def cold_folder(self) -> str:
        """A new empty folder for compiled code."""
        return tempfile.mkdtemp(dir=self._folder.name)

    @cached_property
    def warm_folder(self) -> str:
        """A folder in which everything the job needs has been compiled."""
        folder = self.cold_folder()
        start_python(0.1, folder)
        return folder

    @cached_property
    def _yardstick_system(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(17)
        return rng.normal(size=(48, 48)) + 10.0 * np.eye(48), rng.normal(size=48)

    def measure_yardstick(self, rounds: int = 7, iterations: int = 100) -> list[float]:
        """Add samples of the yardstick [s]; these are returned."""
        A, b = self._yardstick_system
        with one_blas_thread():
            samples = times(lambda: np.linalg.solve(A, b), rounds, iterations)
        self.yardsticks += samples
        return samples


def processor() -> str:
    """Name of the processor, its architecture, and how many cores of it there are."""
    name = ""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    except OSError:  # not Linux
        name = platform.processor()
    cores = f"{platform.machine()}, {os.cpu_count()} cores"
    return f"{name} ({cores})" if name and name != platform.machine() else cores


def times(action: Action, rounds: int, iterations: int) -> list[float]:
    """Mean time of a call [s], once a round; one call before is not counted."""
    action()
    samples = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(iterations):
            action()
        samples.append((time.perf_counter() - begin) / iterations)
    return samples


def start_python(seconds: float, folder: str | None = None, job: str = START_JOB) -> dict[str, float]:
    """Do the main job in a new Python: import, load, statics, `seconds` of motion (0: only import), poses, energy.

    Returns times [s] of `import sorosim`, of all imports, of the job, the total from start to exit, and the peak memory
    [B]. `folder` holds the compiled code; None: the usual one. `job` may be other code, with figures of its own.
    """
    environment = dict(os.environ)
    places = [str(Path(sorosim.__file__).resolve().parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    if folder is not None:
        environment["SOROSIM_CACHE_DIR"] = folder
    begin = time.perf_counter()
    command = [sys.executable, "-c", job, str(seconds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    total = time.perf_counter() - begin
    return {**json.loads(done.stdout.splitlines()[-1]), "total": total}
