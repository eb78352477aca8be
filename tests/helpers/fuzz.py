"""Statics and half a second of motion of random robots: what comes out, and what must not.

    make fuzz FUZZ_ARGS="--count 2000 --seed 1"
    make fuzz FUZZ_ARGS="--only 1234"                  # one again, and its file

Each robot ends with finite numbers, or with a SorosimError. Anything else fails: another exception, a warning that is
not sorosim's, a number that is not finite, a process that dies or does not end. Results depend on seeds alone; the
limit of processor time is only for what would not end by itself. Times are of the processor.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from helpers.random_documents import document

OK, CRASH = "ok", "CRASH"
LIMIT = 120.0  # time of the processor for each robot [s]
PATIENCE = 20  # times that limit is one on the clock, for what waits
STAGES = ("load", "statics", "motion")


@dataclass
class Outcome:
    """What became of one robot."""

    seed: int
    ndof: int = 0
    method: str = ""
    kinds: dict[str, str] = field(default_factory=dict)  # stage -> ok, the class of an error, or CRASH
    messages: dict[str, str] = field(default_factory=dict)  # stage -> message
    warned: list[tuple[str, str]] = field(default_factory=list)  # (stage, message) of warnings of sorosim
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def crashed(self) -> bool:
        return CRASH in self.kinds.values()


def finite(what: str, *arrays: Any) -> None:
    if not all(np.isfinite(np.asarray(array, dtype=float)).all() for array in arrays):
        raise AssertionError(f"{what} is not finite")


def examine(seed: int) -> Outcome:
    """Robot number `seed`: its equilibrium and its motion."""
    import sorosim
    from sorosim.files import load_text

    tree = document(seed)
    out = Outcome(seed, method=tree["simulate"]["method"])
    robot: Any = None

    def load() -> None:
        nonlocal robot
        robot = load_text(text_of(tree), f"robot{seed}.yaml")
        out.ndof = robot.ndof

    def statics() -> None:
        eq = sorosim.statics(robot)
        finite("the equilibrium", eq.q, eq.lam, eq.residual_norm, eq.tangent_stiffness, list(eq.driven.values()))
        assert eq.stability
        finite("a reading", *eq.measure().values())

    def motion() -> None:
        run = sorosim.simulate(robot)
        finite("the motion", run.t, run.q, run.qd, run.u)
        assert run.t[-1] == robot.description.simulate["t_end"], f"the run ends at {run.t[-1]} s"
        finite("the energy", run.energy().balance)
        finite("a reading", *(reading.values for reading in run.readings.values()))

    for stage, work in zip(STAGES, (load, statics, motion), strict=True):
        begin = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                work()
                out.kinds[stage] = OK
            except sorosim.SorosimError as error:
                out.kinds[stage], out.messages[stage] = type(error).__name__, str(error)
                # an error is one line; all mistakes of a file are one line each, which begins with its place
                lines = str(error).splitlines()
                if not lines or (len(lines) > 1 and not all(x.startswith(f"robot{seed}.yaml:") for x in lines)):
                    out.kinds[stage], out.messages[stage] = CRASH, f"not one line: {error!r}"
                partial = getattr(error, "partial", None)
                if partial is not None and not np.isfinite(np.asarray(getattr(partial, "q", partial))).all():
                    out.kinds[stage], out.messages[stage] = CRASH, f"its partial result is not finite: {error}"
            except Exception:
                out.kinds[stage], out.messages[stage] = CRASH, traceback.format_exc()
        for warning in caught:
            if issubclass(warning.category, sorosim.SorosimWarning):
                out.warned.append((stage, str(warning.message)))
            elif out.kinds[stage] != CRASH:
                where = f"{Path(warning.filename).name}:{warning.lineno}"
                out.kinds[stage] = CRASH
                out.messages[stage] = f"{warning.category.__name__} at {where}: {warning.message}"
        out.seconds[stage] = time.process_time() - begin
        if robot is None:
            break
    return out


def text_of(tree: dict[str, Any]) -> str:
    return yaml.safe_dump(tree, sort_keys=False, default_flow_style=None, width=120)


# -- processes


def _work(pipe: Connection, limit: float) -> None:
    if timed := hasattr(signal, "setitimer"):
        faulthandler.register(signal.SIGPROF, chain=True)  # says where it is, and ends the process
    while True:
        seed = pipe.recv()
        if timed:
            signal.setitimer(signal.ITIMER_PROF, limit)
        pipe.send(examine(seed))


class Worker:
    """A process that examines one robot after another, and is replaced where it dies or takes too long."""

    def __init__(self, limit: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other, limit), daemon=True)
        self.process.start()
        other.close()
        self.seed, self.begin = -1, 0.0

    def take(self, seed: int) -> None:
        self.seed, self.begin = seed, time.monotonic()
        self.pipe.send(seed)

    def lost(self, why: str) -> Outcome:
        self.process.kill()
        self.process.join()
        took = time.monotonic() - self.begin
        return Outcome(self.seed, method=document(self.seed)["simulate"]["method"], kinds={"process": CRASH},
                       messages={"process": why}, seconds={"process": took})  # fmt: skip


def outcomes(seeds: Iterable[int], jobs: int, limit: float = LIMIT) -> Iterator[Outcome]:
    """Of all seeds, in the order in which they end."""
    left = iter(seeds)
    workers: list[Worker] = []
    try:
        for seed in left:
            workers.append(Worker(limit))
            workers[-1].take(seed)
            if len(workers) == jobs:
                break
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=1.0)
            for k, worker in enumerate(workers):
                if worker.pipe in ready:
                    try:
                        yield worker.pipe.recv()
                    except EOFError:
                        worker.process.join()
                        over = worker.process.exitcode == -getattr(signal, "SIGPROF", 0)
                        why = f"ended with code {worker.process.exitcode}" if not over else f"took {limit:g} s and more"
                        yield worker.lost(f"the process {why}")
                        workers[k] = Worker(limit)
                elif time.monotonic() - worker.begin > PATIENCE * limit:
                    yield worker.lost(f"it did not end within {PATIENCE * limit:g} s on the clock")
                    workers[k] = Worker(limit)
                else:
                    continue
                seed = next(left, None)
                if seed is None:
                    workers[k].process.kill()
                    workers[k].seed = -1
                else:
                    workers[k].take(seed)
            workers = [worker for worker in workers if worker.seed >= 0]
    finally:
        for worker in workers:
            worker.process.kill()


# -- the report


def report(found: list[Outcome], took: float) -> str:
    """Tables of what became of the robots, of the slowest, and of the time that they took."""
    total = [sum(one.seconds.values()) for one in found]
    lines = ["", f"{len(found)} robots in {took:.0f} s", "", "| stage | outcome | robots |", "|---|---|---|"]
    for stage in (*STAGES, "process"):
        counts = Counter(one.kinds[stage] for one in found if stage in one.kinds)
        lines += [f"| {stage} | {kind} | {n} |" for kind, n in counts.most_common()]
    lines += ["", "| method | motions | ok | error | CRASH |", "|---|---|---|---|---|"]
    for method in sorted({one.method for one in found}):
        kinds = [one.kinds["motion"] for one in found if one.method == method and "motion" in one.kinds]
        good, bad = kinds.count(OK), kinds.count(CRASH)
        lines.append(f"| {method} | {len(kinds)} | {good} | {len(kinds) - good - bad} | {bad} |")
    warned = Counter(stage for one in found for stage in {stage for stage, _ in one.warned})
    lines += ["", "with warnings of sorosim: " + ", ".join(f"{stage} {n}" for stage, n in warned.items())]
    lines += [f"processor time: {sum(total):.0f} s, {np.mean(total or [0.0]):.2f} s a robot"]
    quantiles = np.quantile(total, [0.1, 0.5, 0.9, 0.99, 1.0]) if total else np.zeros(5)
    parts = zip(("10 %", "50 %", "90 %", "99 %", "all"), quantiles, strict=True)
    lines += ["time of a robot: " + ", ".join(f"{part} within {x:.2g} s" for part, x in parts), "", "slowest:"]
    for one in sorted(found, key=lambda one: -sum(one.seconds.values()))[:10]:
        stages = ", ".join(f"{stage} {x:.2f} s" for stage, x in one.seconds.items())
        lines.append(f"  seed {one.seed}: {stages}; {one.ndof} coordinates, {one.method}; {one.kinds}")
    crashed = [str(seed) for seed in sorted(one.seed for one in found if one.crashed)]
    lines += ["", f"{len(crashed)} crashed" + (": seeds " + ", ".join(crashed) if crashed else "")]
    return "\n".join(lines)


def describe(one: Outcome, verbose: bool) -> str:
    lines = [f"seed {one.seed}: {one.ndof} coordinates, {one.method}, {one.kinds}"]
    said = [stage for stage in one.messages if verbose or one.kinds[stage] == CRASH]
    lines += [f"  {stage}: {one.messages[stage]}" for stage in said]
    lines += [f"  {stage} warns: {message}" for stage, message in one.warned] if verbose else []
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description="Statics and half a second of motion of random robots.")
    parser.add_argument("--count", type=int, default=2000, help="robots")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first one; the others follow")
    parser.add_argument("--only", type=int, help="one robot by its seed: writes its file and says all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--limit", type=float, default=LIMIT, help="time of the processor for each robot [s]")
    parser.add_argument("--verbose", action="store_true", help="errors and warnings of all robots")
    options = parser.parse_args(words)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of the processes
    if options.only is not None:
        path = Path(f"robot{options.only}.yaml")
        path.write_text(text_of(document(options.only)), encoding="utf-8")
        print(f"wrote {path}", flush=True)
        seeds = [options.only]
    else:
        seeds = list(range(options.seed, options.seed + options.count))
    begin, found = time.monotonic(), []
    verbose = options.verbose or options.only is not None
    try:
        for one in outcomes(seeds, options.jobs, options.limit):
            found.append(one)
            if verbose or one.crashed:
                print(describe(one, verbose), flush=True)
            elif len(found) % 100 == 0:
                print(f"{len(found)} of {len(seeds)}, {time.monotonic() - begin:.0f} s", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    print(report(found, time.monotonic() - begin))
    return int(any(one.crashed for one in found))


if __name__ == "__main__":
    sys.exit(main())
