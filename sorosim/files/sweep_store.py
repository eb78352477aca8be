"""The journal of a sweep, to which every block is appended when it is done.

It is made of records as that of a run is (`sorosim.files.journal`): the head, then ``b``, one for each block: a
line of JSON (its number, messages, names, types and shapes of its arrays), and the bytes of these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.errors import FileError
from sorosim.base.writing import place_of
from sorosim.files.journal import Records, records

MAGIC = b"sorosim sweep journal 1\n"


class SweepJournal(Records):
    """The journal of a sweep."""

    magic = MAGIC

    def block(self, number: int, arrays: Mapping[str, NDArray[Any]], messages: list[str]) -> None:
        """Append what was found in a block."""
        held = {name: np.ascontiguousarray(x, x.dtype.newbyteorder("<")) for name, x in arrays.items()}
        about = {name: [array.dtype.str, array.shape] for name, array in held.items()}
        line = json.dumps({"number": number, "messages": messages, "arrays": about}).encode()
        content = [array.tobytes() for array in held.values()]
        self.record(b"b", b"".join([line, b"\n", *content]))


def read_blocks(path: str | Path) -> tuple[dict[str, Any], dict[int, tuple[dict[str, NDArray[Any]], list[str]]]]:
    """The head of a journal, and the blocks that it holds by their numbers.

    Raises
    ------
    FileError
        It cannot be read, or ends before it says what the sweep is.
    """
    journal = place_of(path)
    try:
        data = journal.read_bytes()
    except OSError as error:
        raise FileError(str(journal), f"cannot be read: {error.strerror or error}") from None
    head: dict[str, Any] | None = None
    blocks: dict[int, tuple[dict[str, NDArray[Any]], list[str]]] = {}
    try:
        for _, content in records(data, MAGIC, b"hb"):
            if head is None:
                head = json.loads(content)
                continue
            line, _, rest = content.partition(b"\n")
            about, arrays, at = json.loads(line), {}, 0
            for name, (kind, shape) in about["arrays"].items():
                count = int(np.prod(shape))
                arrays[name] = np.frombuffer(rest, np.dtype(kind), count, at).reshape(shape)
                at += arrays[name].nbytes
            blocks[about["number"]] = arrays, about["messages"]
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(str(journal), f"expected the journal of a sweep, got a damaged one: {error}") from None
    if head is None:
        raise FileError(str(journal), "expected the journal of a sweep, got one that ends before it begins")
    return head, blocks
