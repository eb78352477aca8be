"""Which files are read, for those who want to know when they change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_noted: ContextVar[set[Path] | None] = ContextVar("files that were read", default=None)


def note_file(path: str | os.PathLike[str]) -> None:
    """Take down that a file is about to be read, whether it is there or not."""
    if (files := _noted.get()) is not None:
        files.add(Path(os.path.abspath(path)))


@contextmanager
def noting_files() -> Iterator[set[Path]]:
    """A set that files are added to as robots are read: their own, those included, meshes, tables of signals."""
    files = set[Path]()
    token = _noted.set(files)
    try:
        yield files
    finally:
        _noted.reset(token)
