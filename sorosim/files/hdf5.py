"""HDF5 files of plain data: numbers, texts, lists of texts, arrays, None and mappings of these, with checksums.

Layout: attributes ``format`` and ``format_version`` of the root; numbers, texts and arrays as datasets under their own
names; mappings as groups; an empty dataset is None. ``kind`` says which result it is, of
`sorosim.base.registry.RESULTS`. ``checksums`` is JSON: the CRC-32 of every other dataset by its path, see `checksum`;
files of version 1 have none.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sorosim import __version__
from sorosim.base.errors import FileError
from sorosim.base.writing import journal_of, reserved, write_whole

FORMAT, FORMAT_VERSION = "sorosim result", 2
CHECKED_SINCE = 2  # version from which on files have checksums
CHECKSUMS = "checksums"
RESTORE = "restore it from a copy or compute it again"
MAX_NESTING = 20
BLOCK_BYTES = 1_000_000  # of a block of rows; smaller tables are stored as they are


def write_hdf5(content: Mapping[str, object], kind: str, path: str | Path) -> None:
    """Write a result file whole, with the checksums of all that is in it, in the place of any journal.

    Raises
    ------
    FileError
        It cannot be written, or another process is writing it.
    """
    import h5py

    def write(stream: BinaryIO) -> None:
        sums: dict[str, int] = {}
        with h5py.File(stream, "w", track_order=True) as root:
            root.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION})
            entries = {name: value for name, value in content.items() if name != CHECKSUMS}
            store(root, {**entries, "kind": kind}, sums)
            store(root, {CHECKSUMS: json.dumps(sums)}, {})

    with reserved(path):
        write_whole(path, write)
        # the journal of an older run would be opened in the place of this result
        with contextlib.suppress(OSError):
            journal_of(path).unlink(missing_ok=True)


def stored_kind(path: Path) -> str:
    """Kind of a result file; "" of other files of HDF5."""
    import h5py

    with h5py.File(path, "r") as root:
        return str(root["kind"].asstr()[()]) if root.attrs.get("format") == FORMAT else ""


def checksum(value: Any) -> int:
    """CRC-32 of what a dataset gives when it is read: of the type, the shape and the numbers, or of the text."""
    if value is None:
        return 0
    if isinstance(value, str):
        return zlib.crc32(value.encode())
    if isinstance(value, list):
        return zlib.crc32(json.dumps(value).encode())
    array = np.ascontiguousarray(value)
    return zlib.crc32(array.data if array.size else b"", zlib.crc32(f"{array.dtype.str} {np.shape(value)}".encode()))


def store(group: Any, content: Mapping[str, Any], sums: dict[str, int], depth: int = 0) -> None:
    """Write a mapping into a group of HDF5; `sums` takes the checksums of its datasets by their paths."""
    import h5py

    for name, value in content.items():
        key = _escaped(str(name))
        if isinstance(value, Mapping) and depth < MAX_NESTING:
            store(group.create_group(key, track_order=True), value, sums, depth + 1)
            continue
        kept = _storable(value)
        if isinstance(kept, str | list):
            item = group.create_dataset(key, data=kept, dtype=h5py.string_dtype())
        else:
            item = group.create_dataset(key, data=h5py.Empty("f8") if kept is None else kept, **_layout(kept))
        sums[item.name[1:]] = checksum(kept)


def _layout(value: Any) -> dict[str, Any]:
    """How numbers are stored: large tables in blocks of rows, each compressed, which any reader of HDF5 takes."""
    size = getattr(value, "nbytes", 0)
    if size < BLOCK_BYTES or np.ndim(value) < 1:
        return {}
    rows = max(1, len(value) * BLOCK_BYTES // size)
    return {"chunks": (rows, *np.shape(value)[1:]), "compression": "gzip", "compression_opts": 1, "shuffle": True}


def _storable(value: Any) -> Any:
    """A value as it will be read: a text, a list of texts, numbers, or None."""
    if value is None:
        return None
    if isinstance(value, str):
        return _text(value)
    if _is_list_of_texts(value):
        return [_text(entry) for entry in value]
    array = _as_numbers(value)
    # a function, for example: what is known of it, rather than no file at all
    return _text(repr(value)[:1000]) if array is None else array


def _text(value: str) -> str:
    """A text that UTF-8 can hold, without the zero that would end it."""
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(entry, str) for entry in value)


def _as_numbers(value: object) -> Any:
    """Value as an array of booleans, integers or floats, None if it is none."""
    if not isinstance(value, bool | int | float | np.generic | np.ndarray | Sequence):
        return None
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "biuf" else None


def _escaped(name: str) -> str:
    """Name of a link as a name in HDF5, where / and . have a meaning and empty names are not allowed."""
    safe = _text(name).replace("%", "%25").replace("/", "%2F")
    return safe.replace(".", "%2E") if not safe.strip(".") and safe else safe or "%00"


def _unescaped(name: str) -> str:
    if name == "%00":
        return ""
    return name.replace("%2E", ".").replace("%2F", "/").replace("%25", "%")


# -- reading


def read_hdf5(path: str | Path) -> dict[str, Any]:
    """What `write_hdf5` has written, its checksums compared.

    Raises
    ------
    FileError
        It is no result file, is damaged, or a dataset is not as it was written.
    """
    import h5py

    file = str(path)
    try:
        with h5py.File(path, "r") as root:
            if root.attrs.get("format") != FORMAT:
                matrices = str(root.attrs.get("format", "")).startswith("sorosim linear")
                got = "matrices and modes, which other programs read" if matrices else "an HDF5 file of another program"
                raise FileError(file, f"expected a result file of sorosim, got {got}")
            version = int(root.attrs["format_version"])
            if not 1 <= version <= FORMAT_VERSION:
                hint = f"update sorosim, this is {__version__}"
                raise FileError(file, f"expected a result of version {FORMAT_VERSION}, got version {version}; {hint}")
            sums: dict[str, int] = {}
            out = load_group(root, sums)
            stored = out.pop(CHECKSUMS, None)
            if version < CHECKED_SINCE:
                if stored is not None:  # else a changed version would leave everything unchecked
                    got = f"format_version {version} in a file with checksums; the file is damaged: {RESTORE}"
                    raise FileError(file, f"expected format_version {CHECKED_SINCE} or later, got {got}")
            else:
                if not isinstance(stored, str):
                    raise FileError(file, "expected a complete result file, got one without checksums")
                _check_sums(json.loads(stored), sums, file)
    except FileError:
        raise
    except Exception as error:  # h5py raises what it likes on a damaged file
        what = f"expected a complete result file, got a damaged one: {_line(error)}; {RESTORE}"
        raise FileError(file, what) from None
    return out


def _check_sums(stored: Mapping[str, int], sums: Mapping[str, int], file: str) -> None:
    """Refuse a file of which something is lost or not as it was written; what others have added does no harm."""
    changed = [name for name, value in stored.items() if sums.get(name) != value]
    if lost := [name for name in changed if name not in sums]:
        raise FileError(file, f"expected a complete result file, got one without '{lost[0]}'")
    if changed:
        names = ", ".join(f"'{name}'" for name in changed[:3]) + (" and others" if len(changed) > 3 else "")
        raise FileError(file, f"expected {names} as written, got another checksum; the file is damaged: {RESTORE}")


def load_group(group: Any, sums: dict[str, int], depth: int = 0) -> dict[str, Any]:
    """What `store` has written, and its checksums as they are now."""
    import h5py

    if depth > MAX_NESTING:
        raise ValueError("groups nested too deep")
    out: dict[str, Any] = {}
    for key in group:
        # links to other files are not followed
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise ValueError(f"{key!r} is a link")
        item, name = group[key], _unescaped(key)
        if isinstance(item, h5py.Group):
            out[name] = load_group(item, sums, depth + 1)
        else:
            try:
                value = _data(item)
            except Exception as error:  # h5py raises what it likes on a damaged file
                raise ValueError(f"'{item.name[1:]}' cannot be read ({_line(error)})") from None
            sums[item.name[1:]] = checksum(value)
            out[name] = value.item() if isinstance(value, np.generic) else value
    return out


def _data(dataset: Any) -> Any:
    import h5py

    if h5py.check_string_dtype(dataset.dtype) is None:
        # where a text has become a list of bytes, HDF5 reads from anywhere, and the process ends
        if dataset.dtype.kind not in "biuf":
            raise ValueError(f"of type {dataset.dtype}")
        value = dataset[()]
        return None if isinstance(value, h5py.Empty) else value
    texts = dataset.asstr()[()]
    return texts if isinstance(texts, str) else [str(entry) for entry in texts]


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
