"""What is said of compilation, and the clock that leaves it out."""

import inspect
import json
import os
import re
import subprocess
import sys
import time

import numba
import pytest

from sorosim.base.compiled import ahead, working_time
from sorosim.connect.cli import console
from sorosim.mechanics.engine.engine import Engine


def test_lines_name_what_asks_for_the_kernels():
    say = ahead._Progress({"contacts"}, 2)
    about = round(0.5 * ahead.FEATURES["contacts"][1])
    assert say(0, 0, 0.0) == f"compiling what contacts need, about {about} s, once on this machine"
    assert say(3, 12, 6.0) == "compiling what contacts need, about 18 s left, once on this machine: 3 of 12 kernels"
    three = ahead._Progress({"contacts", "loops", "tubes"}, 1)
    assert three(0, 0, 0.0).startswith("compiling what concentric tubes, contacts and loops need, about ")
    # what every robot needs is the engine, whatever else is compiled beside it
    assert ahead._Progress({"", "contacts"}, 2)(0, 0, 0.0) == "compiling the engine, once on this machine"
    assert ahead._Progress({"new"}, 2)(0, 0, 0.0) == "compiling what new need, once on this machine"


def test_features_with_words_are_those_that_robots_have():
    declared = inspect.getsource(Engine.features.fget)
    assert set(re.findall(r'"([a-z ]+)":', declared)) == set(ahead.FEATURES)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_the_clock_stands_while_numba_compiles():
    @numba.njit
    def twice(x):
        return 2 * x

    # warm: the first compilation of a process also loads the compiler
    begin, working = time.monotonic(), working_time()
    twice(1.0)
    took, worked = time.monotonic() - begin, working_time() - working
    assert 0.0 <= worked < took
    begin, working = time.monotonic(), working_time()
    time.sleep(0.02)
    assert working_time() - working == pytest.approx(time.monotonic() - begin, abs=5e-3)


def test_time_left_leaves_compilation_out(monkeypatch):
    clock, lines = [100.0], []
    monkeypatch.setattr("sorosim.base.compiled.working_time", lambda: clock[0] - ahead._compilation.total)
    monkeypatch.setattr(ahead._compilation, "total", 0.0)
    monkeypatch.setattr(console.time, "monotonic", lambda: 1e3 + 50.0 * len(lines) + clock[0])
    monkeypatch.setattr(console, "line", lambda text, where: lines.append(text))
    with console.progress("simulating") as report:
        report(0.0, 10.0, "t = {done:g} s")
        # 60 s of compilation, then 1 s of work for 1 of 10
        clock[0] += 61.0
        ahead._compilation.total += 60.0
        report(1.0, 10.0, "t = {done:g} s")
    assert lines[-1] == "t = 1 s, about 9 s left"


@pytest.mark.slow
def test_a_second_robot_is_told_what_it_needs_alone(tmp_path):
    """In a cache of its own: first a pendulum, then a robot with a loop, whose lines speak of loops."""
    program = """
import json, sys
import sorosim
from sorosim.base.compiled import reporting
lines = []
for name in ("pendulum", "four_bar"):
    own = []
    robot = sorosim.load(name)
    with reporting(own.append):
        robot.forward_dynamics([0.1] * robot.ndof, [0.0] * robot.ndof)
    lines.append(own)
print(json.dumps(lines))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env=os.environ | {"SOROSIM_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    first, second = json.loads(done.stdout.splitlines()[-1])
    assert first[0].startswith("compiling the engine, once on this machine")
    assert second
    assert second[0].startswith("compiling what ")
    assert "loops" in second[0]
