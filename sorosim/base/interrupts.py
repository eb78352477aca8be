"""Critical sections, which Ctrl-C and SIGTERM do not break off."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from types import FrameType
from typing import Any

_sections = 0  # that the main thread is in
_handlers: dict[int, Any] = {}  # those in whose place `_handle` stands
_waiting: list[tuple[int, FrameType | None]] = []


def _in_main_thread() -> bool:
    # Python calls handlers of signals there only
    return threading.get_ident() == threading.main_thread().ident


def _handle(number: int, frame: FrameType | None) -> None:
    if _sections:
        _waiting.append((number, frame))
    else:
        _handlers[number](number, frame)


@contextmanager
def deferring_signals() -> Iterator[None]:
    """Let critical sections within this block hold SIGINT and SIGTERM up; handlers cost 10 us each to exchange."""
    if not _in_main_thread() or _handlers:
        yield
        return
    found = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    _handlers.update((int(number), handler) for number, handler in found if callable(handler))
    try:
        for number in _handlers:
            signal.signal(number, _handle)
        yield
    finally:
        for number, handler in _handlers.items():
            if signal.getsignal(number) is _handle:
                signal.signal(number, handler)
        _handlers.clear()


class uninterrupted(ContextDecorator):
    """A critical section, a block or a function: within `deferring_signals`, signals wait until it has ended."""

    def __enter__(self) -> None:
        global _sections
        _sections += _in_main_thread()

    def __exit__(self, *_: object) -> None:
        global _sections
        _sections -= _in_main_thread()
        while _waiting and not _sections and _in_main_thread():
            number, frame = _waiting.pop(0)
            _handlers[number](number, frame)
