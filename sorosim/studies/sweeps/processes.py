"""Worker processes of this machine. They can be started early, while this process still imports what it needs."""

from __future__ import annotations

import contextlib
from threading import Thread
from typing import Any

PREFETCH = 2  # blocks queued for each process, so that none is idle


def prewarm(jobs: int) -> Thread:
    """Start the worker processes in the background: each needs a second for its imports."""

    def start() -> None:
        from joblib import delayed

        with contextlib.suppress(Exception):  # raised again when the pool is used
            list(pool(jobs)(delayed(import_worker_code)() for _ in range(jobs)))

    thread = Thread(target=start, daemon=True)
    thread.start()
    return thread


def import_worker_code() -> None:
    """Runs in a worker process: import the code of its tasks."""
    import sorosim.studies.sweeps.task  # noqa: F401


def pool(jobs: int) -> Any:
    """A joblib pool of so many processes, which are reused by the next pool of this size."""
    from joblib import Parallel, parallel_config

    # the settings hold for calls in the workers; in this process they end here
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        return Parallel(batch_size=1, pre_dispatch=f"{PREFETCH}*n_jobs", return_as="generator_unordered")
