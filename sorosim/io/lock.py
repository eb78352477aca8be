"""One writer at a time: locks that the operating system takes back when a process ends, however it ends."""

from __future__ import annotations

import sys
from typing import BinaryIO


def locked(stream: BinaryIO) -> bool:
    """Whether an open file is now this stream's alone; False: another one holds it.

    The lock goes with the stream. Where there are no such locks every file is free: Windows does not replace a file
    that somebody has open, and some network file systems know none.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
