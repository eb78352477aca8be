"""Processes of this machine. They may be started before anything heavy is imported here, as they import it, too."""

from __future__ import annotations

import contextlib
from threading import Thread
from typing import Any

AHEAD = 2  # blocks that wait for each process, so that none of them waits


def starting(jobs: int) -> Thread:
    """Start processes already, while there is other work: they need a second to import what they compute with."""

    def start() -> None:
        from joblib import delayed

        with contextlib.suppress(Exception):  # whatever it is, it is told when they are needed
            list(pool(jobs)(delayed(ready)() for _ in range(jobs)))

    thread = Thread(target=start, daemon=True)
    thread.start()
    return thread


def ready() -> None:
    """Called in a process that will compute: then it imports what it needs."""
    import sorosim.sweeps.task  # noqa: F401


def pool(jobs: int) -> Any:
    """What computes in so many processes; they stay for the next one that asks."""
    from joblib import Parallel, parallel_config

    # the settings are those of the calls inside; they must not stay while blocks are handed over
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        return Parallel(batch_size=1, pre_dispatch=f"{AHEAD}*n_jobs", return_as="generator_unordered")
