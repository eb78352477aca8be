"""Result files: one HDF5 file with the robot's text, versions and all that is declared of a result.

`sorosim.base.declare.result` has the declarations, `sorosim.files.hdf5` the layout. While a run or a sweep is under
way, there is its journal beside, see `sorosim.files.journal`.
"""

from __future__ import annotations

import platform
from collections import ChainMap
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from sorosim import __version__
from sorosim.base.declare.base import MISSING
from sorosim.base.declare.result import DATA, TEXT, Place, Result, StoredField, Texts, check_parts, entry
from sorosim.base.errors import FileError, InputError, ModelError
from sorosim.base.public import public
from sorosim.base.registry import RESULTS
from sorosim.base.validation import describe
from sorosim.base.writing import check_path, place_of
from sorosim.files import IMPORTED, dump, load_text
from sorosim.files.hdf5 import read_hdf5, stored_kind, write_hdf5
from sorosim.files.journal import Journal, is_journal, read_journal
from sorosim.files.meshes import check_unchanged, checksums
from sorosim.files.sweep_store import MAGIC as SWEEP_MAGIC
from sorosim.files.sweep_store import read_blocks
from sorosim.mechanics.dynamics.maxwell import MaxwellElements
from sorosim.mechanics.robot import Robot

EXCHANGED = ["work [J]", "dissipated [J]"]  # last columns of a journal
RUN, SWEEP = "run", "sweep"
# what every file keeps of its robot
ROBOT: Mapping[str, StoredField] = {
    "text": StoredField(TEXT, "the robot's file; empty where no file can express it"),
    "robot_name": StoredField(TEXT, "its name", needed=False),
    "coordinate_names": StoredField(Texts("ndof"), "names of coordinates, in the order of the columns", needed=False),
    "actuator_names": StoredField(Texts("n_actuators"), "names of inputs, likewise", needed=False),
    "meshes": StoredField(
        DATA, "per file of a large mesh: the SHA-256 of its content; only if there are any", needed=False
    ),
    "versions": StoredField(DATA, "of sorosim, numpy, scipy, python", needed=False),
}


@public
def open(path: str | Path) -> Any:
    """Read a result file of any kind.

    Where a run or a sweep has not finished, its journal, which lies beside the file, is read instead.

    Returns
    -------
    Run, Equilibrium, SteadyMotion, Continuation, SweepResult, Fit, Estimate, ObservedMotion, Design or OptimalMotion
        Whichever was saved.

    Raises
    ------
    FileError
        It cannot be read, is no result file, or is damaged.
    """
    stored, file = read(path), str(path)
    kind: type[Result] = RESULTS.get(stored["kind"])
    robot = load_text(stored["text"], file)
    check_unchanged(robot.links, stored.get("meshes", {}), file)
    names, known = list(map(str, stored.get("coordinate_names", ()))), list(robot.coordinate_names)
    if names != known and sorted(names) == sorted(known):  # free and planar joints began with their rotation
        k = next(i for i, name in enumerate(names) if name != known[i])
        got = f"'{names[k]}' in the place of '{known[k]}', of an older version; compute the result anew"
        raise FileError(file, f"expected the coordinates of the robot in their order, got {got}")
    sizes = {"ndof": robot.ndof, "n_actuators": len(robot.actuator_names), "n_multipliers": robot.n_multipliers}
    _check(kind, stored, file, sizes)
    try:
        return kind.restored({**stored, "file": file}, robot)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FileError(file, f"expected a complete {kind.file_kind}, got a damaged one: {error!r}") from None


def open_run(path: str | Path) -> Any:
    """The run of a file, or of the journal beside it; InputError for other results, else as `open`."""
    if (kind := kind_of(path)) not in (RUN, ""):  # "": what is wrong with the file is said
        hint = "sorosim.sweep(..., resume=True) resumes it" if kind == SWEEP else ""
        raise InputError(str(path), "the file of a run", f"that of {'an' if kind[0] in 'aeiou' else 'a'} {kind}", hint)
    return open(path)


@public
def save(result: Result | Mapping[str, Any], path: str | Path, *, kind: str = "") -> None:
    """Write a result to an HDF5 file; `sorosim.open` reads it.

    Parameters
    ----------
    result : Result, or mapping
        A mapping has what is needed of its `kind` by the names of files; further entries are kept too.
    path : path
        Written beside and moved there when it is complete, so that a failure leaves what was there before.
    kind : str
        Of a mapping, such as "run".

    Raises
    ------
    FileError
        The file cannot be written.
    """
    kind = result.file_kind if isinstance(result, Result) else kind
    declaration = RESULTS.get(kind).declaration()  # a kind that cannot be opened is refused
    if isinstance(result, Result):
        content = names_of(result.described) | result.content()
    else:
        for name in (one.name or own for own, one in declaration.items() if one.needed):
            if entry(result, name) is MISSING:
                raise InputError(kind, f"an entry '{name}'", "a mapping without it")
        content = {"text": "", **result}
    write_hdf5({"versions": versions(), **content}, kind, path)


def save_run(run: Result | Mapping[str, object], path: str | Path) -> None:
    """Write a run, or a mapping of its parts; see `save`."""
    save(run, path, kind=RUN)


@public
def read(path: str | Path) -> dict[str, Any]:
    """Read a result file, or the journal beside it.

    Returns
    -------
    dict
        ``kind`` and what is declared of it, ``text`` (empty for a robot that no file can express), ``robot_name``,
        ``coordinate_names``, ``actuator_names`` and ``versions``, and ``meshes`` where the text names files of meshes:
        arrays, numbers, texts, lists of texts and dicts of these.

    Raises
    ------
    FileError
        It cannot be read, is no result file, or is damaged.
    """
    check_path(path)
    file = str(path)
    try:
        place = place_of(path)
        with place.open("rb") as stream:
            is_hdf5 = stream.read(8) == b"\x89HDF\r\n\x1a\n"
        of_run, of_sweep = not is_hdf5 and is_journal(place), not is_hdf5 and is_journal(place, SWEEP_MAGIC)
    except (OSError, ValueError) as error:
        raise FileError(file, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if of_sweep:
        head, blocks = read_blocks(path)
        return {**head, "kind": SWEEP, "blocks": blocks}
    if not is_hdf5 and not of_run:
        described = file.endswith((".yaml", ".yml", *IMPORTED))
        got = "a description; simulate, statics or sweep makes results of one" if described else "another kind of file"
        raise FileError(file, f"expected a result file of sorosim (HDF5), got {got}")
    out = read_hdf5(place) if is_hdf5 else _from_journal(place)
    kind = out.get("kind")
    if not isinstance(kind, str) or kind not in RESULTS:
        *names, last = RESULTS.known()
        expected = f"'kind' to be {', '.join(names)} or {last}"
        raise FileError(file, f"expected {expected}, got {describe(kind)}; the file is damaged")
    _check(RESULTS.get(kind), out, file, {})
    return out


def _check(kind: type[Result], stored: Mapping[str, object], file: str, sizes: dict[str, int]) -> None:
    """Refuse the content of a file whose parts are missing or do not fit together."""
    place = Place(file, ChainMap(sizes))
    check_parts(ROBOT, stored, place)
    kind.check(stored, place)


def kind_of(path: str | Path) -> str:
    """Kind of a result file, of the journal beside it where there is one; "" for what is none, and where none is."""
    check_path(path)
    try:
        place = place_of(path)
        return SWEEP if is_journal(place, SWEEP_MAGIC) else stored_kind(place)
    except Exception:  # what is wrong with it is said by who reads it
        return ""


def text_of(robot: Robot) -> str:
    """Text from which the robot can be built again; empty where there is none."""
    if robot.description.text:
        return str(robot.description.text)
    try:
        return dump(robot)
    except ModelError:  # plug-ins of the user, for example
        return ""


def names_of(robot: Robot) -> dict[str, Any]:
    """What a result keeps of a robot: its text and names."""
    return {
        "text": text_of(robot),
        "robot_name": robot.description.name,
        "coordinate_names": list(robot.coordinate_names),
        "actuator_names": list(robot.actuator_names),
        **({"meshes": known} if (known := checksums(robot.links)) else {}),
    }


def versions() -> dict[str, str]:
    """Of the software that makes a result."""
    numeric = {name: metadata.version(name) for name in ("numpy", "scipy")}
    return {"sorosim": __version__, **numeric, "python": platform.python_version()}


# -- journals of runs


def journal_head(
    robot: Any, options: Mapping[str, Any], driven: Sequence[str], events: Sequence[Sequence[Any]] = ()
) -> dict[str, Any]:
    """What the journal of a run begins with, see `sorosim.files.journal`; events: (t, q, qd) of each until then."""
    names = robot.coordinate_names
    multipliers = [f"lam[{i}]" for i in range(robot.n_multipliers)]
    columns = ["t", *names, *(f"d({name})/dt" for name in names), *robot.actuator_names, *driven, *multipliers]
    n_strains = robot.engine.companion(MaxwellElements).n
    columns += [*(f"strain[{i}]" for i in range(n_strains)), *EXCHANGED]
    head = {**names_of(robot), "options": options, "driven": list(driven), "versions": versions(), "columns": columns}
    head |= {"n_strains": n_strains} if n_strains else {}
    return {"ndof": robot.ndof, **head, "events": [[part.tolist() for part in event] for event in events]}


def new_journal(run: Any, path: str | Path, driven: Sequence[str], events: Sequence[Sequence[Any]]) -> Journal:
    """The journal of a run that begins, a `sorosim.analysis.motion.integration.Integration`."""
    return Journal(path, journal_head(run.system.robot, run.options, driven, events))


def _from_journal(path: Path) -> dict[str, Any]:
    """A journal as `read` gives a run."""
    kept = read_journal(path)
    n, m, rows = kept["ndof"], len(kept["actuator_names"]), kept.pop("rows")
    exchanged = None  # of an older version
    if kept["columns"][-2:] == EXCHANGED:
        rows, exchanged = rows[:, :-2], rows[:, -2:]
    n_strains = kept.get("n_strains", 0)
    n_multipliers = rows.shape[1] - n_strains - (1 + 2 * n + m + len(kept["driven"]))
    ends = np.cumsum([1, n, n, m, len(kept["driven"]), n_multipliers])
    t, q, qd, u, forces, lam, strain = np.split(rows, ends, axis=1)
    end = f"t = {t[-1, 0]:g} s" if len(t) else "the start"
    stats = kept["counts"][-1] if kept["counts"] else {}
    points = None
    if kept["options"].get("checkpoint") is not None:
        states = kept["checkpoints"].reshape(-1, 1 + 2 * n + (0 if exchanged is None else 2) + n_strains)
        counts = {name: np.array([count.get(name, 0) for count in kept["counts"]]) for name in stats}
        points = {"t": states[:, 0], "q": states[:, 1 : n + 1], "qd": states[:, n + 1 : 2 * n + 1], "stats": counts,
                  "exchanged": None if exchanged is None else states[:, 2 * n + 1 : 2 * n + 3],
                  "strain": states[:, 2 * n + 3 :] if n_strains else None}  # fmt: skip
    events = {
        str(i): {"t": np.array(t), "q": np.reshape(q, (len(t), n)), "qd": np.reshape(qd, (len(t), n))}
        for i, (t, q, qd) in enumerate(kept.get("events", []))
    }
    return {
        **{name: kept[name] for name in (*ROBOT, "options") if name in kept}, "kind": RUN,
        "t": t[:, 0], "q": q, "qd": qd, "u": u, "lam": lam, "stats": stats,
        "driven": dict(zip(kept["driven"], forces.T, strict=True)), "checkpoints": points, "events": events,
        "message": f"unfinished: there is what was done up to {end}", "exchanged": exchanged,
        "strain": strain if n_strains else None,
    }  # fmt: skip
