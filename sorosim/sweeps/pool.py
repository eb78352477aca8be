"""Where blocks are computed: here, in processes of this machine, or on a cluster."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import closing
from threading import Thread
from typing import Any

from sorosim.errors import InputError
from sorosim.sweeps.plan import Plan
from sorosim.sweeps.task import Block, Job, compute_block, ready

PATIENCE = 15.0  # s for a scheduler to answer
WORKERS_COME = 60.0  # s for its first worker to come
AHEAD = 2  # blocks that wait for each process, so that none of them waits
QUEUED = 1000, 50_000  # blocks, and points, that may wait at a scheduler: workers that come later find some


class ClusterLost(Exception):
    """The scheduler of a cluster, or the way to it, has gone."""


def computed(
    plan: Plan, job: Job, numbers: Iterable[int], jobs: int, scheduler: str | None
) -> Generator[Block, None, None]:
    """Compute blocks of a plan by their numbers; they come as they are done, in any order."""
    tasks = ((job, k, plan.blocks[k].tolist(), [plan.samples.row(i) for i in plan.blocks[k]]) for k in numbers)
    if scheduler is not None:
        yield from _on_cluster(tasks, scheduler, plan.block)
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


def _on_cluster(tasks: Iterable[tuple[Any, ...]], address: str, size: int) -> Iterator[Block]:
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
    with _quiet(), client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_COME)
        except TimeoutError:
            got = f"'{address}' without any for {WORKERS_COME:g} s"
            raise InputError("scheduler", "a cluster with workers", got, "start dask worker") from None
        n_workers = len(client.scheduler_info(n_workers=-1)["workers"])
        queued = max(AHEAD * n_workers, min(QUEUED[0], QUEUED[1] // size))
        with parallel_config(_cluster_backend(client)):
            pool = Parallel(batch_size=1, pre_dispatch=queued, return_as="generator_unordered")
        found = pool(delayed(compute_block)(*task) for task in tasks)
        try:
            yield from found
        except KilledWorker as error:
            raise BrokenExecutor(str(error)) from None
        except CancelledError as error:
            raise ClusterLost(address) from error
        finally:
            with warnings.catch_warnings():  # that tasks are given up is what is wanted
                warnings.filterwarnings("ignore", "[0-9]+ tasks which", UserWarning)
                found.close()


def _cluster_backend(client: Any) -> Any:
    """joblib's way to Dask, which would compute in this process as long as there is one worker only."""
    from joblib._dask import DaskDistributedBackend

    class Workers(DaskDistributedBackend):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(int(super().effective_n_jobs(n_jobs)), 2)

    return Workers(client=client)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from printing tracebacks of its own when a sweep is given up: what matters is raised."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
