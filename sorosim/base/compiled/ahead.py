"""Compilation ahead of use: kernels that are compiled lazily, each in one of several processes.

A lazy kernel and its callers know each other by name and types only, so any order will do. It begins with the kernel
that is wanted; compiling it says which others it calls (`cache.callees_of`), and so on.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import numba
from numba.core import event as numba_events

from sorosim.base.compiled.cache import CACHE_FOLDER, READ_ONLY, Specialization, callees_of, file_lock
from sorosim.base.compiled.decorators import LazyKernel, find_kernel

Report = Callable[[str], None]  # gets a line of text now and then; "" at the end
HowFar = Callable[[int, int, float], None]  # gets how many are done, how many are known, and the time since the begin
# features of kernels, see `kernel_lazy`: words for those who use robots, and the processor time [s] that they took to
# compile where it was measured; that of the engine depends on what is called
FEATURES = {
    "contacts": ("contacts", 27), "couplings": ("forces between places", 1), "flow": ("fluids", 10),
    "joint laws": ("laws of joints", 18), "loads": ("loads", 9), "local tangent": ("large trees", 12),
    "loops": ("loops", 17), "maxwell": ("materials that relax", 2),
    "rod actuators": ("tendons and chambers", 10), "section laws": ("laws of materials", 4),
    "spans": ("rods of changing length", 6), "sparse tangent": ("large trees", 1), "tubes": ("concentric tubes", 18),
}  # fmt: skip
_IS_WORKER = "SOROSIM_COMPILES"  # set in processes that compile for another one
START_TIMEOUT = 60.0  # [s] for a worker process to start: sys.executable may be no Python
ALL_FEATURES = frozenset({"*"})
_report: Report | None = None
_more_features: frozenset[str] = frozenset()
_complete: set[tuple[Any, ...]] = set()  # calls and features that this process has compiled or found compiled

_WORKER = "import sys; sys.path[:] = {path!r}; from sorosim.base.compiled.ahead import run_worker; run_worker()"


def prepare(function: Any, examples: tuple[Any, ...], features: Iterable[str] = ()) -> Any:
    """As `entry`, with all lazy kernels that the code calls compiled ahead where several processors are free for it.

    Parameters
    ----------
    function : lazy kernel
    examples : tuple
        Arguments of the types to compile for.
    features : iterable of str
        What the robot has; kernels for these are compiled ahead, see `kernel_lazy`, the others when first called.
    """
    if not isinstance(function, LazyKernel):  # not compiled at all
        return function
    argument_types = tuple(numba.typeof(x) for x in examples)
    compile_ahead([(function.name, argument_types)], frozenset(features))
    return function.compile(argument_types)


def compile_ahead(calls: list[Specialization], features: frozenset[str]) -> None:
    """Compile lazy kernels, and those that they call, in as many processes as there are processors.

    Parameters
    ----------
    calls : list of (name of a kernel, types of arguments)
    features : set of str
        Features of robots to compile for, see `kernel_lazy`; ALL_FEATURES: all.
    """
    features = features | _more_features
    if not CACHE_FOLDER or READ_ONLY or _IS_WORKER in os.environ or (*calls, features) in _complete:
        return
    if any(_uncompiled(calls, features)):
        _compile_missing(calls, features)
    _complete.add((*calls, features))  # what failed to compile is left to its first call


def _compile_missing(calls: list[Specialization], features: frozenset[str]) -> None:
    n_workers = 1 if getattr(sys, "frozen", False) or not sys.executable else min(n_processors(), 8)
    say_how_far = _Progress({find_kernel(name).feature for name, _ in _uncompiled(calls, features)}, n_workers)
    with ExitStack() as stack:
        say = stack.enter_context(_progress_lines())
        _compilation.on_start()
        stack.callback(_compilation.on_end)
        stack.enter_context(file_lock("ahead", lambda: say("waiting for another process that compiles the engine")))
        if n_workers > 1:
            _Pool(n_workers, features, lambda *how_far: say(say_how_far(*how_far))).run(calls)
        else:
            _compile_here(calls, features, lambda *how_far: say(say_how_far(*how_far)))


def _uncompiled(calls: Iterable[Specialization], features: frozenset[str]) -> Iterator[Specialization]:
    """What is not compiled of these kernels and, as far as it is known, of those that they call."""
    seen, todo = set(), list(calls)
    while todo:
        call = todo.pop()
        if call in seen or not _wanted(call, features):
            continue
        seen.add(call)
        callees = callees_of(call)
        if callees is None:
            yield call
        else:
            todo += callees


def _wanted(call: Specialization, features: frozenset[str]) -> bool:
    feature = find_kernel(call[0]).feature
    return not feature or feature in features or features >= ALL_FEATURES


def n_processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _compile_here(calls: list[Specialization], features: frozenset[str], report: HowFar) -> None:
    begin, done = time.monotonic(), set[Specialization]()
    while missing := [call for call in _uncompiled(calls, features) if call not in done]:
        for name, argument_types in missing:
            report(len(done), len(done) + len(missing), time.monotonic() - begin)
            find_kernel(name).compile_code(argument_types)
            done.add((name, argument_types))


class _Pool:
    """Processes that compile, each driven by a thread."""

    def __init__(self, n: int, features: frozenset[str], report: HowFar) -> None:
        self.n, self.features, self.report = n, features, report
        self.local, self.workers = threading.local(), list[subprocess.Popen[bytes]]()
        self.ended = False

    def run(self, calls: list[Specialization]) -> None:
        """Compile; a function that fails to compile is left to its first call, which raises the error."""
        begin, done, known = time.monotonic(), 0, set[Specialization]()
        running: set[Future[None]] = set()
        with ExitStack() as after, ThreadPoolExecutor(self.n) as threads:
            after.callback(self.close)
            try:
                while True:
                    for call in _uncompiled(calls, self.features):
                        if call not in known:
                            known.add(call)
                            running.add(threads.submit(self.compile, call))
                    if not running:
                        return
                    self.report(done, len(known), time.monotonic() - begin)
                    finished, running = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                    done += len(finished)
            finally:
                self.ended = True
                for future in running:
                    future.cancel()
                for worker in list(self.workers):
                    worker.kill()

    def close(self) -> None:
        """Close the pipes, when the threads that write to and read from them have ended."""
        for worker in self.workers:
            with suppress(OSError), worker:  # what was not written meets a closed pipe
                worker.kill()

    def compile(self, call: Specialization) -> None:
        worker = getattr(self.local, "worker", None)
        if worker is None:
            worker = self.local.worker = self.start()
        requests: Any = worker.stdin
        with suppress(Exception):  # it was killed; pickle raises any error on other data
            requests.write(pickle.dumps(call))
            requests.flush()
            pickle.load(worker.stdout)  # type: ignore[arg-type]  # it is a pipe

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _WORKER.format(path=sys.path)]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env=os.environ | {_IS_WORKER: "1"})  # fmt: skip
        self.workers.append(worker)
        if self.ended:
            worker.kill()
        deadline = threading.Timer(START_TIMEOUT, worker.kill)
        deadline.start()
        with suppress(Exception):  # pickle raises any error on other data
            pickle.load(worker.stdout)  # type: ignore[arg-type]  # it is a pipe
        deadline.cancel()
        return worker


class _Progress:
    """Lines that say what is compiled, and how far that is.

    Kernels of one robot depend on what it has, and each kind of robot that is new to a machine may need further ones:
    so the lines name what asks for them, not the engine as if it were done then.
    """

    def __init__(self, features: Set[str], n_processors: int) -> None:
        names = sorted({FEATURES.get(name, (name, 0))[0] for name in features - {""}})
        listed = " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)
        seconds = sum(FEATURES.get(name, ("", 0))[1] for name in features) / n_processors
        self.what, self.first = "the engine", ""
        if names and "" not in features:
            self.what, self.first = f"what {listed} need", f", about {max(seconds, 1.0):.0f} s" if seconds else ""

    def __call__(self, done: int, known: int, elapsed: float) -> str:
        if done < 2:  # the first say how many there are
            return f"compiling {self.what}{self.first}, once on this machine"
        left = elapsed * (known - done) / done
        return f"compiling {self.what}, about {left:.0f} s left, once on this machine: {done} of {known} kernels"


# -- time that compilation takes ---------------------------------------------------------------------------------------


class _CompilationTime(numba_events.Listener):  # type: ignore[misc]
    """Time [s] that this process has compiled or waited for compilation."""

    def __init__(self) -> None:
        self.depth, self.since, self.total = 0, 0.0, 0.0

    def on_start(self, event: Any = None) -> None:
        if not self.depth:
            self.since = time.monotonic()
        self.depth += 1

    def on_end(self, event: Any = None) -> None:
        self.depth -= 1
        if not self.depth:
            self.total += time.monotonic() - self.since


_compilation = _CompilationTime()
numba_events.register("numba:compile", _compilation)


def working_time() -> float:
    """A clock [s] that stands while this process compiles: `time.monotonic` less the time that compilation takes."""
    return (_compilation.since if _compilation.depth else time.monotonic()) - _compilation.total


@contextmanager
def _progress_lines() -> Iterator[Report]:
    """Where lines about the progress go: to `reporting`, or to the terminal if standard error is one."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    report = _report or (_overwrite if terminal else lambda line: None)
    try:
        yield report
    finally:
        report("")


def _overwrite(line: str) -> None:
    print(f"\r{line:<78}" + ("" if line else "\r"), end="", file=sys.stderr, flush=True)


@contextmanager
def reporting(report: Report, features: frozenset[str] = frozenset()) -> Iterator[None]:
    """Let a function have the lines about compilation, and compile for more features of robots than the one at hand."""
    global _report, _more_features
    before = _report, _more_features
    _report, _more_features = report, features
    try:
        yield
    finally:
        _report, _more_features = before


def run_worker() -> None:
    """Compile the functions requested on standard input; answer on standard output."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            pickle.dump(None, answers)  # at first: that it has begun
            answers.flush()
            name, argument_types = pickle.load(requests)
            with suppress(Exception):
                find_kernel(name).compile_code(argument_types)
