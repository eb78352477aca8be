"""Result files: one HDF5 file with the robot's text, options, versions and all arrays, for any reader of HDF5.

Layout: attributes ``format`` and ``format_version`` of the root; numbers, texts and arrays as datasets under their own
names; mappings (``driven``, ``options``, ``stats``, ``energy``, ``readings``...) as groups; an empty dataset is None.
``checksums`` is JSON: the CRC-32 of every other dataset by its path, see `checksum`; files of version 1 have none.
While a run is under way, there is its journal beside, see `sorosim.io.journal`.
"""

from __future__ import annotations

import contextlib
import json
import platform
import zlib
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sorosim import __version__
from sorosim.dynamics.maxwell import MaxwellElements
from sorosim.errors import FileError, InputError, ModelError
from sorosim.io import IMPORTED
from sorosim.io.journal import is_journal, read_journal
from sorosim.io.meshes import checksums
from sorosim.io.result_checks import KINDS, check_stored
from sorosim.io.writing import check_path, journal_of, reserved, write_whole

FORMAT, FORMAT_VERSION = "sorosim result", 2
CHECKED_SINCE = 2  # version from which on files have checksums
CHECKSUMS = "checksums"
RESTORE = "restore it from a copy or compute it again"
NAMES = ("text", "robot_name", "coordinate_names", "actuator_names")
MAX_NESTING = 20
BLOCK_BYTES = 1_000_000  # of a block of rows; smaller tables are stored as they are
EXCHANGED = ["work [J]", "dissipated [J]"]  # last columns of a journal


def save_run(run: Any, path: str | Path) -> None:
    """Write a run.

    Parameters
    ----------
    run : Run, or mapping
        A mapping has the names of `KINDS`; further entries are kept too.
    path : path
        Written beside and moved there when it is complete, so that a failure leaves what was there before.

    Raises
    ------
    FileError
        The file cannot be written.
    """
    write_result({**content_of(run, "run"), "versions": versions()}, "run", path)


def save_equilibrium(equilibrium: Any, path: str | Path) -> None:
    """Write an equilibrium; see `save_run`."""
    write_result({**content_of(equilibrium, "equilibrium"), "versions": versions()}, "equilibrium", path)


def save_curve(content: Mapping[str, Any], robot: Any, path: str | Path) -> None:
    """Write a continuation of a robot."""
    write_result({**content, **names_of(robot), "versions": versions()}, "continuation", path)


def read(path: str | Path) -> dict[str, Any]:
    """Read a result file.

    Returns
    -------
    dict
        ``kind`` ("run" or "equilibrium"), the names of `KINDS` (``text`` is empty for a robot that no file can
        express), ``robot_name``, ``coordinate_names``, ``actuator_names`` and ``versions``, and ``meshes`` where the
        text names files of meshes: arrays, numbers, texts, lists of texts and dicts of these.

    Raises
    ------
    FileError
        It cannot be read, is no result file, or is damaged.
    """
    check_path(path)
    file = str(path)
    try:
        if (journal := journal_of(path)).is_file():
            path = journal
        with open(path, "rb") as stream:
            is_hdf5 = stream.read(8) == b"\x89HDF\r\n\x1a\n"
        if not is_hdf5 and is_journal(Path(path)):
            out = _from_journal(Path(path))
            check_stored(out, file)
            return out
    except (OSError, ValueError) as error:
        raise FileError(file, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not is_hdf5:
        described = file.endswith((".yaml", ".yml", *IMPORTED))
        got = "a description; simulate, statics or sweep makes results of one" if described else "another kind of file"
        raise FileError(file, f"expected a result file of sorosim (HDF5), got {got}")
    out = read_result(path)
    check_stored(out, file)
    return out


def read_result(path: str | Path) -> dict[str, Any]:
    """What `write_result` has written, its checksums compared.

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


def content_of(thing: Any, kind: str) -> dict[str, Any]:
    """Everything to be written of a result, or of a mapping with the same names."""
    if isinstance(thing, Mapping):
        for name in KINDS[kind]:
            if name != "text" and name not in thing:
                raise InputError(kind, f"an entry '{name}'", "a mapping without it")
        return {"text": "", **thing}
    out = {name: getattr(thing, name) for name in KINDS[kind] if name != "text"}
    return out | names_of(thing.robot) | (_extras(thing) if kind == "run" else _rest(thing))


def text_of(robot: Any) -> str:
    """Text from which the robot can be built again; empty where there is none."""
    if robot.description.text:
        return str(robot.description.text)
    from sorosim.io import dump

    try:
        return dump(robot)
    except ModelError:  # plug-ins of the user, for example
        return ""


def names_of(robot: Any) -> dict[str, Any]:
    """What a result keeps of a robot: its text and names."""
    return {
        "text": text_of(robot),
        "robot_name": robot.description.name,
        "coordinate_names": list(robot.coordinate_names),
        "actuator_names": list(robot.actuator_names),
        **({"meshes": known} if (known := checksums(robot.links)) else {}),
    }


def _extras(run: Any) -> dict[str, Any]:
    """Energy balance, events, checkpoints, readings and contacts of a run."""
    energy = run.energy()
    return {
        "energy": energy._asdict() | {"balance": energy.balance},
        "exchanged": run.exchanged,
        **({} if run.strain is None else {"strain": run.strain}),
        **({} if run.companion is None else {"companion": run.companion._asdict()}),
        "events": {str(i): {"t": t, "q": q, "qd": qd} for i, (t, q, qd) in enumerate(run.events)},
        "checkpoints": None if run.checkpoints is None else run.checkpoints._asdict(),
        **({"readings": {name: kept._asdict() for name, kept in run.readings.items()}} if run.readings else {}),
        **(
            {"contacts": {"row": run.contacts.row, **_contacts(run.contacts.contacts)}}
            if run.robot.engine.loading.touches
            else {}
        ),
    }


def _rest(equilibrium: Any) -> dict[str, Any]:
    """Tangent stiffness of an equilibrium, if it was formed, contacts, and what their friction resisted."""
    rest: dict[str, Any] = {}
    if equilibrium.stiffness is not None:
        rest["tangent_stiffness"] = equilibrium.stiffness
    if equilibrium.robot.engine.loading.touches:
        rest["contacts"] = _contacts(equilibrium.contacts)
    if (sliding := equilibrium.sliding) is not None:
        rest["sliding"] = {"rates": sliding.rates, **({} if sliding.stuck is None else sliding.stuck._asdict())}
    return rest


def _contacts(contacts: Any) -> dict[str, Any]:
    return {name: list(part) if isinstance(part, tuple) else part for name, part in contacts._asdict().items()}


def journal_head(
    robot: Any, options: Mapping[str, Any], driven: Sequence[str], events: Sequence[Sequence[Any]] = ()
) -> dict[str, Any]:  # fmt: skip
    """What the journal of a run begins with, see `sorosim.io.journal`; events: (t, q, qd) of each until then."""
    names = robot.coordinate_names
    multipliers = [f"lam[{i}]" for i in range(robot.n_multipliers)]
    columns = ["t", *names, *(f"d({name})/dt" for name in names), *robot.actuator_names, *driven, *multipliers]
    n_strains = robot.engine.companion(MaxwellElements).n
    columns += [*(f"strain[{i}]" for i in range(n_strains)), *EXCHANGED]
    head = {**names_of(robot), "options": options, "driven": list(driven), "versions": versions(), "columns": columns}
    head |= {"n_strains": n_strains} if n_strains else {}
    return {"ndof": robot.ndof, **head, "events": [[part.tolist() for part in event] for event in events]}


def _from_journal(path: Path) -> dict[str, Any]:
    """A journal as `read` gives a run."""
    found = read_journal(path)
    n, m, rows = found["ndof"], len(found["actuator_names"]), found.pop("rows")
    exchanged = None  # of an older version
    if found["columns"][-2:] == EXCHANGED:
        rows, exchanged = rows[:, :-2], rows[:, -2:]
    n_strains = found.get("n_strains", 0)
    n_multipliers = rows.shape[1] - n_strains - (1 + 2 * n + m + len(found["driven"]))
    ends = np.cumsum([1, n, n, m, len(found["driven"]), n_multipliers])
    t, q, qd, u, forces, lam, strain = np.split(rows, ends, axis=1)
    end = f"t = {t[-1, 0]:g} s" if len(t) else "the start"
    stats = found["counts"][-1] if found["counts"] else {}
    points = None
    if found["options"].get("checkpoint") is not None:
        states = found["checkpoints"].reshape(-1, 1 + 2 * n + (0 if exchanged is None else 2) + n_strains)
        counts = {name: np.array([count.get(name, 0) for count in found["counts"]]) for name in stats}
        points = {"t": states[:, 0], "q": states[:, 1 : n + 1], "qd": states[:, n + 1 : 2 * n + 1], "stats": counts,
                  "exchanged": None if exchanged is None else states[:, 2 * n + 1 : 2 * n + 3],
                  "strain": states[:, 2 * n + 3 :] if n_strains else None}  # fmt: skip
    events = {
        str(i): {"t": np.array(t), "q": np.reshape(q, (len(t), n)), "qd": np.reshape(qd, (len(t), n))}
        for i, (t, q, qd) in enumerate(found.get("events", []))
    }
    return {
        **{name: found[name] for name in (*NAMES, "options", "versions")}, "meshes": found.get("meshes", {}),
        "kind": "run", "t": t[:, 0], "q": q, "qd": qd, "u": u, "lam": lam, "stats": stats,
        "driven": dict(zip(found["driven"], forces.T, strict=True)), "checkpoints": points, "events": events,
        "message": f"unfinished: there is what was done up to {end}", "exchanged": exchanged,
        "strain": strain if n_strains else None,
    }  # fmt: skip


def versions() -> dict[str, str]:
    """Of the software that makes a result."""
    numeric = {name: metadata.version(name) for name in ("numpy", "scipy")}
    return {"sorosim": __version__, **numeric, "python": platform.python_version()}


def write_result(content: Mapping[str, Any], kind: str, path: str | Path) -> None:
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


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(entry, str) for entry in value)


def _as_numbers(value: Any) -> Any:
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
        value = dataset[()]
        return None if isinstance(value, h5py.Empty) else value
    texts = dataset.asstr()[()]
    return texts if isinstance(texts, str) else [str(entry) for entry in texts]


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
