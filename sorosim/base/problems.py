"""Mistakes in a description: where, expected, got, what to try; and how several of them become one error."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from sorosim.base.errors import UNPRINTABLE, ExpressionError, FileError, InputError, ModelError, SorosimError, nearest
from sorosim.base.frozen import set_fields

Path = tuple[str | int, ...]
Position = tuple[int, int]  # line and column, from 1

MAX_SHOWN = 20


@dataclass(frozen=True)
class Problem:
    """One mistake. ``at_key`` tells that the key at the path is wrong, not its value."""

    path: Path
    expected: str
    got: str
    hint: str = ""
    at_key: bool = False

    def __post_init__(self) -> None:
        # what comes from a file may hold line breaks
        set_fields(self, **{name: printable(getattr(self, name)) for name in ("expected", "got", "hint")})

    def __str__(self) -> str:
        tail = f"; {self.hint}" if self.hint else ""
        where = f"{dotted(self.path)}: " if self.path else ""
        return f"{where}expected {self.expected}, got {self.got}{tail}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written: a file ("": there is none), line and column, and its path in that file.

    ``notes`` say how it came from there: by which parameter, as which part.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    path: Path = ()
    notes: tuple[str, ...] = ()


class Located(Protocol):
    """An object with the places of a description."""

    def place(self, path: Path, at_key: bool = False) -> Place: ...


def printable(text: str) -> str:
    """A text on one line."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def dotted(path: Path) -> str:
    """A path as people write it: ``links.arm.at.position[1]``."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            name = part if re.fullmatch(r"[\w-]+", part) else shown(part)
            out += f".{name}" if out else name
    return out


def split_where(where: str) -> Path:
    """The path that an error of the model names, as parts: ``table.s[2]`` is table, s, 2."""
    parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", where)
    return tuple(int(index) if index else name for index, name in parts)


def shown(value: object) -> str:
    """How a value of a file reads in a message: short, on one line."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = printable(value)
        return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}...'"
    if isinstance(value, Mapping):
        keys = ", ".join(str(key) for key in list(value)[:4]) + (", ..." if len(value) > 4 else "")
        return f"a mapping with {keys}"[:80] if value else "an empty mapping"
    if isinstance(value, list | tuple):
        entries = "[" + ", ".join(shown(entry) for entry in value[:4]) + "]"
        return entries if len(value) <= 4 and len(entries) <= 60 else f"a list of {len(value)} entries"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "a number of many digits"
    return f"{value:.6g}" if isinstance(value, float) else type(value).__name__


def listed(words: Sequence[str], last: str = "or") -> str:
    """Words as a choice: ``a, b or c``."""
    return f" {last} ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def close(name: str, other: str) -> bool:
    """Whether one may be the other one misspelt."""
    return bool(difflib.get_close_matches(name, [other], cutoff=0.6))


# names of the model that a file writes otherwise
_RENAMED = {"reference_strain": "reference", "start": "from", "end": "to", "values": "value"}


def locate(error: Any, path: Path, data: Any) -> Problem:
    """The problem that an error of the model is, raised by what stands at ``path`` of the file.

    Parts of the error's own path that the file does not have (the kind of an object, its name) are left out.
    """
    here, value = path, at_path(data, path)
    for part in split_where(error.where):
        for step in _candidates(part, value):
            here, value = here + step, at_path(value, step)
            break
    # a quantity reads better as the user wrote it
    written = isinstance(value, str) and re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?|nan|-?inf", error.got)
    return Problem(here, error.expected, str(value) if written else error.got, error.hint)


def _candidates(part: str | int, value: object) -> Iterable[Path]:
    if isinstance(part, int):
        if isinstance(value, list) and part < len(value):
            yield (part,)
        return
    if not isinstance(value, Mapping):
        return
    for name in (part, _RENAMED.get(part, part), part.removesuffix("_y").removesuffix("_z")):
        if name in value:
            yield (name,)
    for key, child in value.items():
        if isinstance(child, Mapping) and part in child:
            yield (key, part)


def at_path(data: Any, path: Path) -> Any:
    """What is at a path of data; None where there is nothing."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def is_same(one: Any, two: Any) -> bool:
    """Whether data are the same, of the same types and in the same order."""
    if one is two or type(one) is not type(two):
        return one is two
    if isinstance(one, dict):
        return list(one) == list(two) and all(is_same(entry, two[key]) for key, entry in one.items())
    if isinstance(one, list):
        return len(one) == len(two) and all(map(is_same, one, two))
    return bool(one == two)


def failure(problems: Sequence[Problem], places: Located | None = None) -> SorosimError:
    """One error for all problems of a description; without places its paths are those of the problems."""
    if places is None:
        return failure_at([(Place(path=problem.path), problem) for problem in problems])
    return failure_at([(places.place(p.path, p.at_key), p) for p in problems], places.place(()).file)


def failure_at(found: Sequence[tuple[Place, Problem]], file: str = "") -> SorosimError:
    """One error for all problems, a line each: a FileError, or a ModelError where there is no file.

    Those of ``file`` come first. What is wrong in a prefab is said once, for the first part that is made of it.
    """
    notes: dict[tuple[Place, str], list[tuple[str, ...]]] = {}
    firsts: dict[tuple[Place, str], Problem] = {}
    for place, problem in found:
        key = replace(place, notes=()), str(replace(problem, path=()))
        firsts.setdefault(key, problem)
        others = notes.setdefault(key, [])
        if place.notes not in others:
            others.append(place.notes)
    where = {key: _noted(dotted(key[0].path), notes[key]) for key in firsts}
    # without a file they stay in the order in which they were found
    order = sorted(firsts, key=lambda key: (key[0].file != file, key[0].file, key[0].line, key[0].column))
    lines = [f"{where[key]}: {key[1]}" if where[key] else key[1] for key in order]
    first, others_at = order[0][0], [_position(key[0]) for key in order[1:]]
    more = _bounded([at + line for at, line in zip(others_at, lines[1:], strict=True)], MAX_SHOWN - 1)
    if first.file:
        return FileError(first.file, "\n".join([lines[0], *more]), first.line, first.column)
    problem, tail = firsts[order[0]], "".join(f"\n{line}" for line in more)
    got, hint = (problem.got, problem.hint + tail) if problem.hint else (problem.got + tail, "")
    return ModelError(where[order[0]] or "robot", problem.expected, got, hint)


def _noted(path: str, notes: Sequence[tuple[str, ...]]) -> str:
    """A path and the notes of the first time that it was used."""
    text = ", ".join(notes[0])
    if len(notes) > 1:
        text += f" and {len(notes) - 1} more" if text else ""
    return f"{path} ({text})" if text and path else path


def _position(place: Place) -> str:
    line = f":{place.line}:{place.column}" if place.line else ""
    return f"{place.file}{line}: " if place.file else ""


def _bounded(lines: list[str], n: int) -> list[str]:
    return lines if len(lines) <= n else [*lines[:n], f"... and {len(lines) - n} more"]


def plain_data(value: object, depth: int = 50) -> Any:
    """Data of Python as a file would give it: mappings with text keys, lists, numbers, texts, true, false, nothing."""
    reader = _Plain(depth)
    out = reader.convert(value, ())
    if reader.found:
        raise failure(reader.found)
    return out


def named_character(found: re.Match[str]) -> str:
    """A character that no text may have, as messages name it."""
    return f"the control character U+{ord(found.group()):04X}"


class _Plain:
    """Converts data and notes values that are not plain data."""

    def __init__(self, depth: int) -> None:
        self.depth, self.left, self.found = depth, 100_000, list[Problem]()

    def convert(self, value: object, path: Path) -> Any:
        self.left -= 1
        if len(path) > self.depth or self.left < 0:
            if not self.found:
                self.found.append(Problem((), f"data nested at most {self.depth} deep", "deeper or endless data"))
            return None
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        if isinstance(value, str) and (wrong := UNPRINTABLE.search(value)):
            self.found.append(Problem(path, "text", named_character(wrong)))
        if isinstance(value, Mapping):
            out = {}
            for key, entry in value.items():
                if isinstance(key, str) and (wrong := UNPRINTABLE.search(key)):
                    self.found.append(Problem(path, "texts as keys", f"one with {named_character(wrong)}"))
                elif isinstance(key, str):
                    out[str(key)] = self.convert(entry, (*path, str(key)))
                else:
                    self.found.append(Problem(path, "texts as keys", shown(key)))
            return out
        if isinstance(value, list | tuple):
            return [self.convert(entry, (*path, i)) for i, entry in enumerate(value)]
        if value is None or isinstance(value, str | bool | int | float):
            return value
        self.found.append(Problem(path, "a number, a text, a list or a mapping", type(value).__name__))
        return None


T = TypeVar("T")


@dataclass
class Collector:
    """Checks the parts of a description one by one and collects the mistakes."""

    data: Any
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: Path, expected: str, got: str, hint: str = "", at_key: bool = False) -> None:
        """Note a mistake."""
        self.problems.append(Problem(path, expected, got, hint, at_key))

    def attempt(self, path: Path, make: Callable[[], T], at_key: bool = False) -> T | None:
        """What `make` returns; None if it refuses what stands at the path (or the key there), which is then noted."""
        try:
            return make()
        except (ModelError, InputError, ExpressionError) as error:
            self.problems.append(replace(locate(error, path, self.data), at_key=at_key))
            return None

    def known(self, path: Path, what: str, name: str, names: Collection[str], at_key: bool = False) -> bool:
        """Whether a name is one of the names; if not, that is noted, at the key if the name is one."""
        if name in names:
            return True
        self.problems.append(Problem(path, what, shown(name), nearest(name, names), at_key))
        return False
