"""Blocks computed in this process, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import closing
from itertools import islice
from typing import Any

from sorosim.base.errors import InputError, SorosimError
from sorosim.studies.sweeps.plan import Plan
from sorosim.studies.sweeps.processes import PREFETCH, pool
from sorosim.studies.sweeps.task import Block, Job, compute_block

CONNECT_TIMEOUT = 15.0  # [s] for the scheduler to answer
WORKER_TIMEOUT = 60.0  # [s] for its first worker to connect
MAX_QUEUED = 1000, 50_000  # blocks, and points, queued at the scheduler: enough for workers that connect later


class ClusterLost(Exception):
    """The connection to the scheduler of a cluster was lost."""


def computed_blocks(
    plan: Plan, job: Job, numbers: Iterable[int], jobs: int, scheduler: str | None
) -> Generator[Block, None, None]:
    """Compute blocks of a plan by their numbers; yields them as they complete, in any order."""
    tasks = ((k, plan.blocks[k].tolist(), [plan.samples.row(i) for i in plan.blocks[k]]) for k in numbers)
    if scheduler is not None:
        yield from _on_cluster(job, tasks, scheduler, plan.block)
    elif jobs == 1:
        yield from (compute_block(job, *task) for task in tasks)
    else:
        yield from _in_processes(job, tasks, jobs)


def _in_processes(job: Job, tasks: Iterable[tuple[object, ...]], jobs: int) -> Iterator[Block]:
    from joblib import delayed

    # closed at once when the sweep is interrupted, so that no process continues
    with closing(pool(jobs)(delayed(compute_block)(job, *task) for task in tasks)) as blocks:
        yield from blocks


def _on_cluster(job: Job, tasks: Iterable[tuple[object, ...]], address: str, size: int) -> Iterator[Block]:
    """Blocks from the workers of a Dask scheduler, `size` points in each.

    joblib's Dask backend is not used: with a single worker it computes in this process, it queues no more blocks than
    the first workers could take, and it hangs if a worker cannot unpickle its task.
    """
    try:
        from dask.distributed import Client, KilledWorker, as_completed
    except ImportError:
        hint = "pip install 'sorosim[cluster]'"
        raise InputError("scheduler", "the package dask[distributed]", "none that can be imported", hint) from None

    try:
        client: Any = Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:  # a scheduler that does not answer is a TimeoutError, which is an OSError
        why = " ".join(str(error).split())[:120]
        raise InputError(
            "scheduler", "the address of a Dask scheduler that answers", f"'{address}' ({why})", "as in tcp://host:8786"
        ) from None
    with _silenced_dask(), client:
        try:
            client.wait_for_workers(1, timeout=WORKER_TIMEOUT)
        except TimeoutError:
            got = f"'{address}' without any for {WORKER_TIMEOUT:g} s"
            raise InputError("scheduler", "a cluster with workers", got, "start dask worker") from None
        try:  # a worker that cannot unpickle its task ends silently
            n_workers = len(client.run(eval, "__import__('sorosim.studies.sweeps.task').__version__"))
        except ImportError as error:
            raise _worker_error(error) from None
        # a task of its own, so that it is sent to each worker once, and again if that worker is lost
        remote_job = client.submit(_identity, job, pure=False)
        futures = (client.submit(compute_block, remote_job, *task, pure=False) for task in tasks)
        queued = max(PREFETCH * n_workers, min(MAX_QUEUED[0], MAX_QUEUED[1] // size))
        running = as_completed(islice(futures, queued), loop=client.loop)
        for future in running:
            try:
                block = future.result()
            except KilledWorker as error:
                raise BrokenExecutor(str(error)) from None
            except CancelledError as error:
                raise ClusterLost(address) from error
            except SorosimError:
                raise
            except Exception as error:  # errors of points are caught in compute_block
                raise _worker_error(error) from None
            running.update(islice(futures, 1))
            yield block


def _worker_error(error: Exception) -> InputError:
    got = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    hint = "install the same packages and plug-ins on all of them"
    return InputError("scheduler", "workers that can compute blocks", got, hint)


def _identity(job: Job) -> Job:
    return job


@contextlib.contextmanager
def _silenced_dask() -> Iterator[None]:
    """Keep Dask from logging tracebacks when a sweep is interrupted; errors are raised here."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
