"""Files to write: whole or not at all, and by one process at a time.

Locks are those of the operating system, which takes them back when a process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from sorosim.base.errors import FileError, InputError
from sorosim.base.validation import describe

SUFFIX = ".part"


_own: set[str] = set()  # real paths of the result files that this process is writing


def journal_of(path: str | Path) -> Path:
    """Where the journal of a result file is while its run is not finished."""
    return Path(f"{os.path.realpath(path) if os.path.islink(path) else path}{SUFFIX}")


def place_of(path: str | Path) -> Path:
    """Where a result is read from: its journal, if there is one, else its file."""
    journal = journal_of(path)
    return journal if journal.is_file() else Path(path)


def check_path(path: object) -> None:
    """Refuse what is no path."""
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise InputError("path", "a path", describe(path))
    try:
        os.path.realpath(path)
    except ValueError:  # a zero, or half a character
        raise InputError("path", "a path that the system can have", describe(path)) from None


def claim(path: str | Path) -> BinaryIO:
    """Open a new journal beside a result file and lock it: until it is closed no other process writes that result.

    Raises
    ------
    FileError
        No file of that name can be written, or another process is writing it.
    """
    check_path(path)
    journal = journal_of(path)
    beside = Path(f"{journal}.new")
    stream = None
    try:
        check_target(Path(os.path.realpath(path)))
        if journal.exists():
            check_target(journal)
        stream = open(beside, "ab", buffering=0)  # noqa: SIM115
        mine = locked(stream) and beside.exists() and os.path.samestat(os.fstat(stream.fileno()), beside.stat())
        with contextlib.suppress(FileNotFoundError), open(journal, "rb+") as old:
            if mine and not locked(old):
                beside.unlink()
                mine = False
    except OSError as error:
        if stream is not None:
            stream.close()
        raise unwritable(path, error) from None
    if not mine:
        stream.close()
        hint = "wait until it has ended, or give another name"
        raise FileError(str(path), f"is being written by another process; {hint}")
    _own.add(os.path.realpath(path))
    return stream


def released(path: str | Path) -> None:
    """This process is not writing a result file any more."""
    _own.discard(os.path.realpath(path))


@contextlib.contextmanager
def reserved(path: str | Path | None) -> Iterator[None]:
    """Let no other process write a result file meanwhile, see `claim`; None: there is no file."""
    if path is not None:
        check_path(path)
    if path is None or os.path.realpath(path) in _own:
        yield
        return
    stream = claim(path)
    try:
        yield
    finally:
        released(path)
        if sys.platform == "win32":  # it does not remove open files; elsewhere the lock outlives them
            stream.close()
        with contextlib.suppress(OSError):
            Path(f"{journal_of(path)}.new").unlink(missing_ok=True)
        stream.close()


def check_writable(path: str | Path | None) -> None:
    """Refuse, before anything is computed, a result file that cannot be written or that another process is writing."""
    with reserved(path):
        pass


def check_target(target: Path) -> None:
    """Refuse (OSError) a place where no file can be put."""
    if target.is_dir():
        raise IsADirectoryError(None, "it is a folder")
    if target.exists() and not target.is_file():
        raise OSError(None, "it is no ordinary file")
    if target.exists() and not (os.access(target, os.W_OK) and target.stat().st_mode & 0o222):
        raise PermissionError(None, "it is read-only")


def unwritable(path: str | os.PathLike[str], error: OSError) -> FileError:
    """The error of a file that cannot be written."""
    reason = error.strerror or str(error).strip().partition("\n")[0]
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        reason = f"there is no folder {Path(path).parent}; make it first"
    return FileError(str(path), f"cannot be written: {reason}")


def write_whole(path: str | Path, content: Any) -> None:
    """Write a file beside its place and move it there when it is on the disk: no failure leaves a part of it.

    `content` is bytes, an iterator of parts of them, or a function that writes into the stream it is given.
    """
    check_path(path)
    target = Path(os.path.realpath(path))
    beside = target.parent / f".{secrets.token_hex(6)}.part"
    try:
        check_target(target)
        mode = target.stat().st_mode & 0o777 if target.exists() else None
        with open(beside, "x+b") as stream:
            if callable(content):
                content(stream)
            else:
                for part in content if isinstance(content, Iterator) else (content,):
                    stream.write(part)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(beside, mode)
        os.replace(beside, target)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


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
