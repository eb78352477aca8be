"""Where blocks are computed: here, in processes of this machine, or on a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import closing
from threading import Thread
from typing import Any

from sorosim.errors import InputError
from sorosim.sweeps.plan import Plan
from sorosim.sweeps.task import Block, Job, compute_block, ready

PATIENCE = 15.0  # s for a scheduler to answer
AHEAD = 2  # blocks that wait for each process, so that none of them waits


def computed(
    plan: Plan, job: Job, numbers: Iterable[int], jobs: int, scheduler: str | None
) -> Generator[Block, None, None]:
    """Compute blocks of a plan by their numbers; they come as they are done, in any order."""
    tasks = ((job, k, plan.blocks[k].tolist(), [plan.samples.row(i) for i in plan.blocks[k]]) for k in numbers)
    if scheduler is not None:
        yield from _on_cluster(tasks, scheduler)
    elif jobs == 1:
        yield from (compute_block(*task) for task in tasks)
    else:
        yield from _in_processes(tasks, jobs)


def starting(jobs: int) -> Thread:
    """Start processes already, while there is other work: they need a second to import what they compute with."""

    def start() -> None:
        from joblib import delayed

        with contextlib.suppress(Exception):  # whatever it is, it is told when they are needed
            list(_pool(jobs)(delayed(ready)() for _ in range(jobs)))

    thread = Thread(target=start, daemon=True)
    thread.start()
    return thread


def _pool(jobs: int) -> Any:
    from joblib import Parallel, parallel_config

    # the settings are those of the calls inside; they must not stay while blocks are handed over
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        return Parallel(batch_size=1, pre_dispatch=f"{AHEAD}*n_jobs", return_as="generator_unordered")


def _in_processes(tasks: Iterable[tuple[Any, ...]], jobs: int) -> Iterator[Block]:
    from joblib import delayed

    # closed at once when the sweep is given up, so that no process goes on
    with closing(_pool(jobs)(delayed(compute_block)(*task) for task in tasks)) as found:
        yield from found


def _on_cluster(tasks: Iterable[tuple[Any, ...]], address: str) -> Iterator[Block]:
    try:
        from dask.distributed import Client, KilledWorker
    except ImportError:
        hint = "pip install 'sorosim[cluster]'"
        raise InputError("scheduler", "the package dask[distributed]", "none that can be imported", hint) from None
    from joblib import Parallel, delayed, parallel_config

    try:
        client: Any = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:  # a scheduler that does not answer is a TimeoutError, which is an OSError
        why = " ".join(str(error).split())[:120]
        raise InputError("scheduler", "the address of a Dask scheduler that answers", f"'{address}' ({why})",
                         "as in tcp://host:8786") from None  # fmt: skip
    with client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise InputError("scheduler", "a cluster with workers", f"'{address}' without any", "start dask worker")
        with parallel_config("dask", client=client):
            pool = Parallel(batch_size=1, pre_dispatch=f"{AHEAD}*n_jobs", return_as="generator_unordered")
        try:
            with closing(pool(delayed(compute_block)(*task) for task in tasks)) as found:
                yield from found
        except KilledWorker as error:
            raise BrokenExecutor(str(error)) from None
