"""Critical sections, which Ctrl-C and SIGTERM do not break off."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_in_section = False  # whether the main thread is in a critical section


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait until a block, or a function with this decorator, has ended.

    Python calls their handlers in the main thread only: in others nothing is to be done.
    """
    global _in_section
    if threading.current_thread() is not threading.main_thread() or _in_section:
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    found = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    handlers = {int(number): handler for number, handler in found if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda *received: waiting.append(received))
        _in_section = True
        yield
    finally:
        _in_section = False
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for received in waiting:
            handlers[received[0]](*received)
