"""Where blocks are computed: here, in processes of this machine, or on a cluster."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import closing
from itertools import islice
from typing import Any

from sorosim.errors import InputError, SorosimError
from sorosim.sweeps.plan import Plan
from sorosim.sweeps.processes import AHEAD, pool
from sorosim.sweeps.task import Block, Job, compute_block

PATIENCE = 15.0  # s for a scheduler to answer
WORKERS_COME = 60.0  # s for its first worker to come
QUEUED = 1000, 50_000  # blocks, and points, that may wait at a scheduler: workers that come later find some


class ClusterLost(Exception):
    """The scheduler of a cluster, or the way to it, has gone."""


def computed(
    plan: Plan, job: Job, numbers: Iterable[int], jobs: int, scheduler: str | None
) -> Generator[Block, None, None]:
    """Compute blocks of a plan by their numbers; they come as they are done, in any order."""
    tasks = ((k, plan.blocks[k].tolist(), [plan.samples.row(i) for i in plan.blocks[k]]) for k in numbers)
    if scheduler is not None:
        yield from _on_cluster(job, tasks, scheduler, plan.block)
    elif jobs == 1:
        yield from (compute_block(job, *task) for task in tasks)
    else:
        yield from _in_processes(job, tasks, jobs)


def _in_processes(job: Job, tasks: Iterable[tuple[Any, ...]], jobs: int) -> Iterator[Block]:
    from joblib import delayed

    # closed at once when the sweep is given up, so that no process goes on
    with closing(pool(jobs)(delayed(compute_block)(job, *task) for task in tasks)) as found:
        yield from found


def _on_cluster(job: Job, tasks: Iterable[tuple[Any, ...]], address: str, size: int) -> Iterator[Block]:
    """Blocks from the workers of a Dask scheduler, `size` points in each.

    Not by joblib's way to Dask: that one computes in this process as long as there is one worker only, keeps no more
    blocks waiting than the first workers could take, and waits for ever where a worker cannot read what it gets.
    """
    try:
        from dask.distributed import Client, KilledWorker, as_completed
    except ImportError:
        hint = "pip install 'sorosim[cluster]'"
        raise InputError("scheduler", "the package dask[distributed]", "none that can be imported", hint) from None

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
        try:  # a worker that cannot read what it gets ends without a word
            n_workers = len(client.run(eval, "__import__('sorosim.sweeps.task').__version__"))
        except ImportError as error:
            raise _unable(error) from None
        # a task of its own, so that it is sent to a worker once, and again where that one has gone
        sent = client.submit(_received, job, pure=False)
        futures = (client.submit(compute_block, sent, *task, pure=False) for task in tasks)
        queued = max(AHEAD * n_workers, min(QUEUED[0], QUEUED[1] // size))
        under_way = as_completed(islice(futures, queued), loop=client.loop)
        for future in under_way:
            try:
                block = future.result()
            except KilledWorker as error:
                raise BrokenExecutor(str(error)) from None
            except CancelledError as error:
                raise ClusterLost(address) from error
            except SorosimError:
                raise
            except Exception as error:  # whatever a point raises is caught there
                raise _unable(error) from None
            under_way.update(islice(futures, 1))
            yield block


def _unable(error: Exception) -> InputError:
    got = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    hint = "install the same packages and plug-ins on all of them"
    return InputError("scheduler", "workers that can compute blocks", got, hint)


def _received(job: Job) -> Job:
    return job


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
