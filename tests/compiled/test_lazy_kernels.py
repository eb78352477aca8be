"""Kernels that are compiled lazily, named tuples by reference, and compilation by several processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy

compiled_only = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


@by_reference
class Inner(NamedTuple):
    weights: np.ndarray


@by_reference
class Outer(NamedTuple):
    values: np.ndarray
    inner: Inner
    shift: float


@kernel_lazy()
def weigh(outer, k) -> float:
    """Entry k of the values, times its weight."""
    if k >= outer.values.shape[0]:
        raise IndexError("no such entry")
    return outer.values[k] * outer.inner.weights[k]


@kernel_lazy("some")
def add_weighed(outer, out) -> None:
    """out[0] += sum of weighed values + shift."""
    for k in range(outer.values.shape[0]):
        out[0] += weigh(outer, k)
    out[0] += outer.shift


@kernel_lazy()
def beyond(outer) -> float:
    return weigh(outer, 7)


@kernel_lazy()
def misdeclared(x) -> int:
    return 0.5 * x


@kernel_in_place
def plus_one(x, k):
    return x[k] + 1.0


@kernel_in_place
def plus_one_twice(x):
    return plus_one(x, 0) + plus_one(x, 1)


def outer(kind=float):
    return Outer(np.arange(1, 4, dtype=kind), Inner(np.array([1.0, 10.0, 100.0], dtype=kind)), 0.5)


def test_lazy_kernels_call_each_other():
    given, out = outer(), np.zeros(1)
    add_weighed(given, out)
    assert out[0] == 1 + 20 + 300 + 0.5
    given.inner.weights[:] = 0.0  # arrays are shared, not copied
    add_weighed(given, out)
    assert out[0] == 321.5 + 0.5


def types_of(*examples):
    return tuple(numba.typeof(x) for x in examples)


@compiled_only
def test_lazy_kernels_are_compiled_for_other_types_too():
    given, out = outer(complex), np.zeros(1, dtype=complex)
    with pytest.raises(TypeError, match="declared to return float64, and returns complex128"):
        weigh.compile(types_of(given, 0))
    add_weighed(outer()._replace(values=np.array([1, 2, 3])), out)
    assert out[0] == 321.5
    with pytest.raises(TypeError, match="cannot be compiled for these arguments"):
        add_weighed(outer(np.float32), out)  # a product of single precision is no float


def test_errors_pass_through_calls_by_address():
    with pytest.raises(IndexError, match="no such entry"):
        beyond(outer())


@compiled_only
def test_a_wrong_declaration_is_an_error():
    with pytest.raises(TypeError, match="declared to return int64, and returns float64"):
        misdeclared.compile(types_of(1.0))


@compiled_only
def test_single_values_are_no_types_of_their_own():
    assert plus_one_twice(np.zeros(2)) == 2.0
    plus_one_twice.dispatcher.compile(types_of(np.zeros(2)))
    plus_one_twice.dispatcher.recompile()  # out of a warm cache, it comes without what it calls
    assert len(plus_one.dispatcher.overloads) == 1


# -- processes ---------------------------------------------------------------------------------------------------------

MODULE = """
import numpy as np
from sorosim.base.compiled import kernel_lazy, kernel_in_place, prepare

@kernel_in_place
def shared(x):
    total = 0.0
    for k in range(x.shape[0]):
        total += np.sin(x[k]) * np.exp(-x[k])
    return total

"""
PARTS = 4
for part in range(PARTS):
    MODULE += f"""
@kernel_lazy()
def part_{part}(x) -> float:
    return shared(x) + {part}.0
"""
MODULE += f"""
@kernel_lazy()
def whole(x) -> float:
    return {" + ".join(f"part_{part}(x)" for part in range(PARTS))}
"""
PROGRAM = """
import json, sys, numpy as np
import toy
from sorosim.base.compiled import ahead
ahead.n_processors = lambda: int(sys.argv[1])
x = np.zeros(3)
value = toy.prepare(toy.whole, (x,))(x)
kernels = [toy.whole, *(getattr(toy, f"part_{k}") for k in range(%d))]
misses = [sum(kernel.dispatcher.stats.cache_misses.values()) for kernel in kernels]
print(json.dumps([value, sum(misses)]))
"""


def start(folder: Path, n_processors: int) -> subprocess.Popen:
    if not (folder / "toy.py").exists():  # older versions of numba go by the time of the file
        (folder / "toy.py").write_text(MODULE)
    environment = os.environ | {"SOROSIM_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", PROGRAM % PARTS, str(n_processors)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process: subprocess.Popen) -> tuple[float, int]:
    """The value, and how many kernels this process had to compile itself."""
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "unclosed" not in errors, errors
    value, misses = json.loads(printed)
    return value, misses


def compiled(folder: Path) -> list[str]:
    return sorted(path.name.split(".")[1] for path in (folder / "cache").rglob("toy.*.calls"))


EVERYTHING = sorted(["shared", "whole", "whole_entry", *(f"part_{k}" for k in range(PARTS))])
SUM = sum(range(PARTS))

processes = pytest.mark.skipif(
    sys.platform == "win32" or os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="needs locks of files, and compilation",
)


@processes
def test_other_processes_compile_ahead(tmp_path):
    assert result(start(tmp_path, 2)) == (SUM, 0)  # this one only loads
    assert compiled(tmp_path) == EVERYTHING
    assert result(start(tmp_path, 1)) == (SUM, 0)


@processes
def test_two_processes_at_once_compile_each_kernel_once(tmp_path):
    both = [start(tmp_path, 1) for _ in range(2)]
    values, misses = zip(*map(result, both), strict=True)
    assert values == (SUM, SUM)
    assert sum(misses) == 1 + PARTS


@processes
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_was_compiled_before_an_interruption_stays(tmp_path, how):
    process = start(tmp_path, 1)
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline and len(compiled(tmp_path)) < 3:
        time.sleep(0.005)
    process.send_signal(how)
    process.communicate()
    ready = set(compiled(tmp_path)) - {"shared"}
    value, misses = result(start(tmp_path, 1))
    assert value == SUM
    assert misses <= 1 + PARTS - len(ready) + 1  # the last may have been noted, and not been written


@processes
def test_damaged_and_unwritable_caches_are_done_without(tmp_path):
    assert result(start(tmp_path, 1)) == (SUM, 1 + PARTS)
    for k, path in enumerate(sorted((tmp_path / "cache").rglob("*.nb[ci]"))):
        path.write_bytes(path.read_bytes()[: 10 * (k % 3)])
    value, misses = result(start(tmp_path, 1))
    assert value == SUM
    assert misses > 0
    for path in (tmp_path / "cache").rglob("*.calls"):
        path.write_bytes(b"none")
    assert result(start(tmp_path, 2))[0] == SUM


PRINTING = """
import sys
from sorosim.base.compiled import kernel, kernel_in_place, kernel_lazy

@kernel_in_place
def inner(x):
    print("inner has", x)
    return x + 1.0

@kernel_in_place
def outer(x):
    return 2.0 * inner(x)

@kernel_lazy()
def lazy(x) -> float:
    return outer(x)

@kernel_lazy()
def other(x) -> float:
    return outer(x)

@kernel
def function(x):
    return outer(x)

print(globals()[sys.argv[1]](3.0))
"""


@processes
def test_kernels_print_also_out_of_a_cache(tmp_path):
    (tmp_path / "printing.py").write_text(PRINTING)
    environment = os.environ | {"SOROSIM_CACHE_DIR": str(tmp_path / "cache")}
    for name in ("lazy", "lazy", "other", "function", "function"):  # the third finds what it calls on disk
        command = [sys.executable, str(tmp_path / "printing.py"), name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.split() == ["inner", "has", "3.0", "8.0"], done.stderr
