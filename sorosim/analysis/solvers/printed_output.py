"""Suppresses what scikit-sundae prints.

It prints every failure to the standard output, amid the JSON or table of a script, without an option to turn it off.
The message of the solution has the same content.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_FAILURE = re.compile(r"\n\[\w+, Error: -?\d+\] .*\n", re.DOTALL)

_lock = threading.Lock()
_users = 0
_original: TextIO | None = None


class _FilteredStream:
    """A stream that passes everything on but those lines: what functions of users print is theirs."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.ends = stream, threading.local()

    def write(self, text: str) -> int:
        # print writes the line and its end one after the other
        is_failure, self.ends.due = _FAILURE.fullmatch(text) is not None, getattr(self.ends, "due", False)
        if is_failure or (self.ends.due and text == "\n"):
            self.ends.due = is_failure
            return len(text)
        self.ends.due = False
        return int(self.stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def suppress_prints() -> Iterator[None]:
    """Context in which scikit-sundae prints nothing; several threads may be in it."""
    global _users, _original
    with _lock:
        if not _users:
            _original, sys.stdout = sys.stdout, _FilteredStream(sys.stdout)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                if isinstance(sys.stdout, _FilteredStream):  # another stream may have replaced it meanwhile
                    sys.stdout = _original
                _original = None
