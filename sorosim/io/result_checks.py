"""What result files of each kind must have, and how their parts fit together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sorosim.errors import FileError
from sorosim.validation import describe

KINDS = {  # kind: what a file of it must have
    "run": ("t", "q", "qd", "u", "lam", "driven", "stats", "options", "message", "text"),  # and what `_extras` adds
    "equilibrium": (
        "q", "u", "lam", "driven", "residual_norm", "n_evaluations", "message", "free", "text",
    ),  # and the tangent stiffness, if the search formed it
    "continuation": ("along", "curve", "options", "text"),
}  # fmt: skip
TYPES: dict[str, type] = {
    **dict.fromkeys(("driven", "stats", "meshes", "options", "readings"), dict), "text": str, "message": str,
}  # fmt: skip


def check_stored(out: dict[str, Any], file: str) -> None:
    """Refuse a file whose parts are missing or do not fit together."""

    def damaged(expected: str, got: str) -> FileError:
        return FileError(file, f"expected {expected}, got {got}; the file is damaged")

    kind = out.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise damaged("'kind' to be run, equilibrium or continuation", describe(kind))
    missing = [name for name in KINDS[kind] if name not in out]
    if missing:
        raise FileError(file, f"expected a complete result file, got one without '{missing[0]}'")
    for name, types in TYPES.items():
        if name in out and not isinstance(out[name], types):
            what = "a group" if types is dict else "a text"
            raise damaged(f"'{name}' to be {what}", "a value" if types is dict else type(out[name]).__name__)
    names = out.get("coordinate_names", []), out.get("actuator_names", [])
    n, m = (None if count is None else len(_list(count)) for count in names)
    rows = None
    if kind == "run":
        t = out["t"]
        if np.ndim(t) != 1 or np.asarray(t).dtype.kind != "f" or not np.all(np.diff(t) > 0.0):
            raise damaged("'t' to be a list of increasing times", f"shape {np.shape(t)}")
        rows = len(t)
    known = "coordinate_names" in out
    shapes = {"q": (n,), "qd": (n,), "u": (m,), "lam": (None,)}
    for name, (width,) in shapes.items():
        if name not in out:
            continue
        shape = np.shape(out[name])
        wanted = ((rows,) if rows is not None else ()) + ((width,) if known and width is not None else shape[-1:])
        if shape != wanted:
            label = f"{rows} rows of '{name}'" if rows is not None else f"'{name}'"
            raise damaged(f"{label}, shape {wanted}", f"shape {shape}")
    if out.get("exchanged") is not None and np.shape(out["exchanged"]) != (rows, 2):
        raise damaged(f"work and dissipation at {rows} times", f"shape {np.shape(out['exchanged'])}")
    if out.get("strain") is not None and (np.ndim(out["strain"]) != 2 or len(out["strain"]) != rows):
        raise damaged(f"strains of Maxwell elements at {rows} times", f"shape {np.shape(out['strain'])}")
    if (companion := out.get("companion")) is not None:
        parts = ("q", "qd", "strain", "how", "level", "factor", "parts_at")
        if not isinstance(companion, dict) or set(companion) != set(parts):
            raise damaged(f"a companion with {', '.join(parts)}", "others")
        if not np.shape(companion["q"]) == np.shape(companion["qd"]) == np.shape(out["q"]):
            raise damaged(f"a companion of shape {np.shape(out['q'])}", f"shape {np.shape(companion['q'])}")
    for name, kept in out.get("readings", {}).items():
        _check_readings(name, kept, damaged)
    for name, force in out.get("driven", {}).items():
        if np.shape(force) != ((rows,) if rows is not None else ()):
            raise damaged(f"one force a time for '{name}'", f"shape {np.shape(force)}")


def _check_readings(name: str, kept: Any, damaged: Callable[[str, str], FileError]) -> None:
    """Refuse readings of a sensor that are not a table of times and channels."""
    parts = ("t", "values", "channels", "units")
    if not isinstance(kept, dict) or set(kept) != set(parts):
        raise damaged(f"readings of '{name}' with {', '.join(parts)}", "others")
    shape, wanted = np.shape(kept["values"]), (np.size(kept["t"]), len(_list(kept["channels"])))
    if shape != wanted or np.ndim(kept["t"]) != 1 or len(_list(kept["units"])) != wanted[1]:
        raise damaged(f"readings of '{name}' of shape {wanted}", f"shape {shape}")


def _list(names: Any) -> Sequence[str]:
    """Names as they are stored: a list of texts; of none, an empty array."""
    return names if isinstance(names, list) else []
