"""Work on threads that is mostly compiled code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition, RLock
from typing import Generic, Protocol, TypeVar

from sorosim.base.errors import InputError

P = TypeVar("P")
T = TypeVar("T")


class Stop(Protocol):
    """An event, or what is like one."""

    def set(self) -> None: ...


class Exclusive:
    """Refuses a second thread while one is at work; copies have one of their own."""

    def __init__(self, what: str, hint: str) -> None:
        self.what, self.hint, self._lock = what, hint, RLock()

    def __reduce__(self) -> tuple[type[Exclusive], tuple[str, str]]:
        return Exclusive, (self.what, self.hint)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise InputError(self.what, "one thread at a time", "a second one", self.hint)
        try:
            yield
        finally:
            self._lock.release()


class Workers:
    """Threads for work of a few kinds, started when they are needed; a copy has threads of its own."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._pool: tuple[int, ThreadPoolExecutor] | None = None  # and the process that it belongs to
        self._compiled: set[str] = set()

    def __reduce__(self) -> tuple[type[Workers], tuple[int]]:
        return Workers, (self.n,)

    def run(self, work: Callable[[P], T], parts: Sequence[P], stop: Stop | None = None) -> list[T]:
        """What work gives for each part, see `on_threads`."""
        if self.n == 1 or len(parts) < 2:
            return on_threads(work, parts)
        alone = 0 if work.__name__ in self._compiled else 1  # one thread compiles
        self._compiled.add(work.__name__)
        return [*on_threads(work, parts[:alone]), *on_threads(work, parts[alone:], self._threads(), stop)]

    def run_compiled(self, work: Callable[[int], None], n: int, stop: Stop) -> None:
        """Work of code that is compiled already on n threads, none of them the caller's, which sees interrupts."""
        on_threads(work, range(n), self._threads(), stop)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None or self._pool[0] != os.getpid():  # threads do not outlive a fork
            self._pool = os.getpid(), ThreadPoolExecutor(self.n, "sorosim batch")
        return self._pool[1]


def on_threads(
    work: Callable[[P], T], parts: Iterable[P], pool: Executor | None = None, stop: Stop | None = None
) -> list[T]:
    """What work gives for each part; without a pool on this thread.

    If anything is raised, Ctrl-C included, no other part begins, and none is at work any more when it is raised here.
    stop: set then, for parts that look at it on their way.
    """
    if pool is None:
        return [work(part) for part in parts]
    running = _Running(work)
    try:
        futures = [pool.submit(running, part) for part in parts]
        return [future.result() for future in futures]
    except BaseException:  # amid the submission, too
        if stop is not None:
            stop.set()
        running.end()
        raise


class _Running(Generic[P, T]):
    """Counts the parts at work; none begins after the end."""

    def __init__(self, work: Callable[[P], T]) -> None:
        self.work, self.change, self.n, self.ended = work, Condition(), 0, False

    def __call__(self, part: P) -> T:
        with self.change:
            if self.ended:
                raise CancelledError
            self.n += 1
        try:
            return self.work(part)
        finally:
            with self.change:
                self.n -= 1
                self.change.notify_all()

    def end(self) -> None:
        """Wait for what is at work, whatever is raised meanwhile."""
        raised: BaseException | None = None
        while True:
            try:
                with self.change:
                    self.ended = True
                    self.change.wait_for(lambda: not self.n)
                break
            except BaseException as error:  # a second Ctrl-C
                raised = error
        if raised is not None:
            raise raised
