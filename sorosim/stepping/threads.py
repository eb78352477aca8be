"""Work on threads that is mostly compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, wait
from threading import Event
from typing import Any, TypeVar

T = TypeVar("T")


def on_threads(
    work: Callable[[Any], T], parts: Iterable[Any], pool: Executor | None = None, stop: Event | None = None
) -> list[T]:
    """What work gives for each part; without a pool on this thread.

    If anything is raised, Ctrl-C included, no other part begins, and none is at work any more when it is raised here.
    stop: set then, for parts that look at it on their way.
    """
    if pool is None:
        return [work(part) for part in parts]
    futures = [pool.submit(work, part) for part in parts]
    try:
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        if stop is not None:
            stop.set()
        wait(futures)
        raise
