"""Which files are read, for those who want to know when they change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
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


def times_of(paths: Iterable[Path]) -> dict[Path, int | None]:
    """When files were saved [ns], None where there are none."""

    def saved(path: Path) -> int | None:
        try:
            return path.stat().st_mtime_ns
        except OSError:
            return None

    return {path: saved(path) for path in paths}
