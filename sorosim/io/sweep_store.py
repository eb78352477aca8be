"""Files of sweeps: a journal to which every block is appended when it is done, and the HDF5 file of the whole.

The journal is made of records as that of a run is (`sorosim.io.journal`): the head, then ``b``, one for each block: a
line of JSON (its number, messages, names, types and shapes of its arrays), and the bytes of these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.errors import FileError
from sorosim.io.journal import Records, is_journal, records
from sorosim.io.results import FORMAT, read_result, versions, write_result
from sorosim.io.writing import check_path, journal_of

MAGIC = b"sorosim sweep journal 1\n"
KIND = "sweep"
NAMES = ("text", "robot_name", "plan", "arrays", "messages", "versions")


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


def kind_of(path: str | Path) -> str:
    """Kind of a result file, of the journal beside it where there is one; "" for what is none, and where none is."""
    import h5py

    check_path(path)
    try:
        journal = journal_of(path)
        place = journal if journal.is_file() else Path(path)
        if is_journal(place, MAGIC):
            return KIND
        if not h5py.is_hdf5(place):
            return ""
        with h5py.File(place, "r") as root:
            return str(root["kind"].asstr()[()]) if root.attrs.get("format") == FORMAT else ""
    except Exception:  # what is wrong with it is said by who reads it
        return ""


def head_of(robot: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """What a journal begins with: text, name and meshes of the robot, and the plan."""
    return {**robot, "plan": plan, "versions": versions()}


def read_blocks(path: str | Path) -> tuple[dict[str, Any], dict[int, tuple[dict[str, NDArray[Any]], list[str]]]]:
    """The head of a journal, and the blocks that it holds by their numbers.

    Raises
    ------
    FileError
        It cannot be read, or ends before it says what the sweep is.
    """
    journal = journal_of(path)
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


def save_sweep(content: Mapping[str, Any], path: str | Path) -> None:
    """Write a sweep whole: the names of `NAMES`, and what else there is."""
    plan, columns = _without_columns(content["plan"])
    write_result({**content, "parameters": columns, "plan": json.dumps(plan)}, KIND, path)


def read_whole(path: str | Path) -> dict[str, Any]:
    """What `save_sweep` has written.

    Raises
    ------
    FileError
        It is no complete result of a sweep.
    """
    out = read_result(path)
    missing = [name for name in NAMES if name not in out]
    if missing:
        raise FileError(str(path), f"expected a complete result file, got one without '{missing[0]}'")
    try:
        out["plan"] = _with_columns(json.loads(out["plan"]), out.get("parameters", {}))
        out["messages"] = [out["messages"]] if isinstance(out["messages"], str) else list(out["messages"])
    except Exception as error:  # of a damaged file
        got = " ".join(str(error).split())[:200]
        raise FileError(str(path), f"expected a complete result file, got a damaged one: {got}") from None
    return out


def _without_columns(plan: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A plan without its columns of numbers, and all columns as datasets."""
    points = plan["points"]
    columns = dict(zip(points["names"], points["columns"], strict=True))
    numeric = {name: all(not isinstance(x, str) for x in column) for name, column in columns.items()}
    kept = [None if numeric[name] else column for name, column in columns.items()]
    data = {name: np.array(x, dtype=float) if numeric[name] else [str(v) for v in x] for name, x in columns.items()}
    return {**plan, "points": {**points, "columns": kept}}, data


def _with_columns(plan: dict[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of `_without_columns`."""
    points = plan["points"]
    pairs = zip(points["names"], points["columns"], strict=True)
    columns = [data[name].tolist() if column is None else column for name, column in pairs]
    return {**plan, "points": {**points, "columns": columns}}
