"""Which files are read, for those who want to know when they change."""

from __future__ import annotations

import os
import time
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


class WatchedFiles:
    """Files of which one wants to know when they are saved; `paths` are theirs."""

    WAIT = 0.5  # s between looks at them

    def __init__(self, paths: Iterable[Path]) -> None:
        self._saved, self._looked = times_of(paths), 0.0

    @property
    def paths(self) -> set[Path]:
        return set(self._saved)

    def changed(self) -> list[str]:
        """Names of those that were saved since, if it is time to look."""
        if time.monotonic() < self._looked + self.WAIT:
            return []
        self._looked, before = time.monotonic(), self._saved
        self._saved = times_of(before)
        return [path.name for path, when in self._saved.items() if when not in (None, before[path])]

    def add(self, paths: Iterable[Path]) -> None:
        """Look at others, too."""
        self._saved = times_of(set(paths) - self._saved.keys()) | self._saved
