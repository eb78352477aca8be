"""The journal of a run that is under way: an append-only file that opens again after the process was killed.

Layout: a line that says what it is (`MAGIC`), then records of a kind (1 byte), the length and the CRC-32 of what
follows (two unsigned 32-bit numbers, little endian), and that content. The first record (``h``) is JSON: what the run
is. ``r`` are rows of float64 (the columns of the head), ``c`` a checkpoint: counts as JSON, a line break, one row. From
the first record on that is cut off or damaged, everything is left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import sys
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import FileError
from sorosim.base.writing import claim, journal_of, released, unwritable

MAGIC = b"sorosim journal 1\n"
_RECORD = struct.Struct("<cII")
_FLOAT = np.dtype("<f8")


class Records:
    """Writes a journal. Every record goes to the operating system at once: it outlives the process.

    Parameters
    ----------
    path : path
        The result file; the journal lies beside it.
    head : dict
        What comes about, as JSON takes it.

    Raises
    ------
    FileError
        It cannot be written, or another process is writing it; what was written before stays.
    """

    magic = MAGIC

    def __init__(self, path: str | Path, head: dict[str, Any]) -> None:
        self.target, self.path = Path(path), journal_of(path)
        # an older journal is replaced only when the new one stands
        self._beside = Path(f"{self.path}.new")
        self.replaced = self.path.is_file()  # whether there is an older one
        self._stream: BinaryIO | None = claim(path)
        try:
            self._stream.truncate(0)
        except OSError as error:
            self.close()
            raise unwritable(path, error) from None
        self._write(self.magic)
        self.record(b"h", json.dumps(head).encode())

    def begin(self) -> None:
        """Take the place of an older journal."""
        try:
            if sys.platform == "win32":  # it does not rename open files
                self.close()
            os.replace(self._beside, self.path)
            if self._stream is None:
                self._stream = open(self.path, "ab", buffering=0)  # noqa: SIM115
        except OSError as error:
            self.close()
            raise unwritable(self.target, error) from None

    def remove(self) -> None:
        """There is a result file: the journal is not needed any more."""
        if sys.platform == "win32":  # it does not remove open files; elsewhere the lock outlives them
            self.close()
        for path in (self.path, self._beside):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """No more records."""
        if self._stream is not None:
            released(self.target)
            self._stream.close()
            self._stream = None

    def record(self, kind: bytes, content: bytes) -> None:
        """Append a record of a kind."""
        self._write(_RECORD.pack(kind, len(content), zlib.crc32(content)) + content)

    def _write(self, content: bytes) -> None:
        assert self._stream is not None
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
        except OSError as error:
            self.close()
            raise unwritable(self.target, error) from None


class Journal(Records):
    """The journal of a run; ``columns`` of its head names those of rows."""

    def rows(self, rows: Array) -> None:
        """Append rows (k, n_columns)."""
        if len(rows):
            self.record(b"r", np.ascontiguousarray(rows, dtype=_FLOAT).tobytes())

    def checkpoint(self, row: Array, stats: dict[str, int]) -> None:
        """Append a checkpoint: time, coordinates, rates, and the counts so far."""
        self.record(b"c", json.dumps(stats).encode() + b"\n" + np.asarray(row, dtype=_FLOAT).tobytes())


def is_journal(path: Path, magic: bytes = MAGIC) -> bool:
    """Whether a file begins as a journal does."""
    with open(path, "rb") as stream:
        return stream.read(len(magic)) == magic


def read_journal(path: Path) -> dict[str, Any]:
    """What a journal holds: its head, ``rows`` (n, n_columns), ``checkpoints`` (m, 1 + 2 ndof) and their ``counts``.

    Raises
    ------
    FileError
        It cannot be read, or ends before it says what the run is.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(str(path), f"cannot be read: {error.strerror or error}") from None
    head: dict[str, Any] | None = None
    rows: list[Array] = []
    checkpoints: list[Array] = []
    counts: list[dict[str, int]] = []
    try:
        for kind, content in records(data, MAGIC, b"hrc"):
            if head is None:
                head = json.loads(content)
                width = len(head["columns"])
            elif kind == b"r":
                rows.append(np.frombuffer(content, _FLOAT).reshape(-1, width))
            else:
                line, _, row = content.partition(b"\n")
                checkpoints.append(np.frombuffer(row, _FLOAT))
                counts.append(json.loads(line))
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(str(path), f"expected the journal of a run, got a damaged one: {error}") from None
    if head is None:
        raise FileError(str(path), "expected the journal of a run, got one that ends before it begins")
    all_rows = np.concatenate(rows) if rows else np.zeros((0, width))
    return {**head, "rows": all_rows, "checkpoints": np.array(checkpoints), "counts": counts}


def records(data: bytes, magic: bytes, kinds: bytes) -> Any:
    """The records that are whole, in order: their kinds and contents."""
    at = len(magic)
    while at + _RECORD.size <= len(data):
        kind, length, checksum = _RECORD.unpack_from(data, at)
        content = data[at + _RECORD.size : at + _RECORD.size + length]
        if kind not in kinds or len(content) < length or zlib.crc32(content) != checksum:
            return
        yield kind, content
        at += _RECORD.size + length
