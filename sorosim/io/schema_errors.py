"""Checking data against the schema: what is wrong as problems, and what is right although something else is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from sorosim.errors import ExpressionError, InputError, ModelError, nearest
from sorosim.io.blocks import Block, OneOf, expected_of
from sorosim.io.schema import Imports, Reuse, RobotFile
from sorosim.io.schema_types import block_at, block_of
from sorosim.problems import Path, Problem, close, shown, split_where

NAMED = ("materials", "links", "loops", "actuators", "loads", "initial")  # blocks whose entries stand for themselves


class Checked(NamedTuple):
    """A file against the schema."""

    file: RobotFile | None  # without what is wrong; None where nothing can be made of the rest
    problems: list[Problem]
    broken: frozenset[Path]  # what was left out: (block,) or (block, name)


def check(data: Any) -> Checked:
    """Check the data of a whole file."""
    if not isinstance(data, dict):
        return Checked(None, [Problem((), expected_of(RobotFile), shown(data))], frozenset())
    if "sorosim" not in data and "links" not in data:
        hint = "a robot's file begins with the line 'sorosim: 1'"
        return Checked(None, [Problem((), "a robot, with the keys sorosim and links", shown(data), hint)], frozenset())
    try:
        return Checked(RobotFile.model_validate(data), [], frozenset())
    except ValidationError as error:
        raw = error.errors(include_url=False)
    problems, wrong = problems_of(raw), [_path(entry["loc"])[0] for entry in raw]
    # a block under a misspelt name may hold any names
    meant = [
        (name,) for name in RobotFile.model_fields for path in wrong if len(path) == 1 and close(str(path[0]), name)
    ]
    broken = frozenset([*map(_top, wrong), *meant])
    if ("sorosim",) in wrong and "sorosim" in data:
        # another version may differ in everything
        return Checked(None, [p for p in problems if p.path == ("sorosim",)], broken)
    rest = {key: value for key, value in data.items() if (key,) not in broken}
    for block in NAMED:
        if isinstance(rest.get(block), dict):
            rest[block] = {name: entry for name, entry in rest[block].items() if (block, name) not in broken}
    try:
        return Checked(RobotFile.model_validate({**rest, "sorosim": 1}), problems, broken)
    except ValidationError:
        return Checked(None, problems, broken)


def check_reuse(data: Any) -> list[Problem]:
    """What is wrong with the blocks of a file that are expanded before the whole is checked."""
    try:
        Reuse.model_validate({name: data[name] for name in Reuse.model_fields if name in data})
    except ValidationError as error:
        return problems_of(error.errors(include_url=False), Reuse)
    return []


def check_imports(data: Any) -> list[Problem]:
    """What is wrong with the ``import`` block of a file."""
    try:
        Imports.model_validate(data)
    except ValidationError as error:
        return problems_of(error.errors(include_url=False), Imports)
    return []


def _top(path: Path) -> Path:
    return path[:2] if path[0] in NAMED else path[:1]


def _path(location: Sequence[str | int]) -> tuple[Path, bool]:
    """Path in the file of a location of pydantic, and whether it is a key that is meant."""
    at_key = bool(location) and location[-1] == "[key]"
    shown_parts = location[:-1] if at_key else location
    return tuple(part for part in shown_parts if not str(part).startswith("<")), at_key


def problems_of(raw: Sequence[Any], root: type[Block] = RobotFile) -> list[Problem]:
    """What pydantic found wrong with the data of a block, as problems."""
    unknown = [_path(entry["loc"])[0] for entry in raw if entry["type"] == "extra_forbidden"]
    found = []
    for entry in raw:
        path, at_key = _path(entry["loc"])
        if entry["type"] == "missing" and any(_meant(other, path) for other in unknown):
            continue  # one mistake, one problem
        found.append(_problem(entry, path, at_key, root))
    return found


def _meant(unknown: Path, missing: Path) -> bool:
    """Whether an unknown key may be the missing one."""
    written, name = str(unknown[-1]), str(missing[-1])
    return unknown[:-1] == missing[:-1] and (close(written, name) or written.startswith(f"{name}:"))


def _problem(entry: Mapping[str, Any], path: Path, at_key: bool, root: type[Block]) -> Problem:
    kind, value = entry["type"], entry["input"]
    error = entry.get("ctx", {}).get("error")
    if isinstance(error, ModelError | InputError | ExpressionError):
        return Problem(path + split_where(error.where), error.expected, error.got, error.hint, at_key)
    if kind == "extra_forbidden":
        return _unknown_key(path, value, block_of(root, entry["loc"]))
    if kind == "missing":
        block = block_of(root, entry["loc"])
        info = next(info for name, info in block.model_fields.items() if (info.alias or name) == path[-1])
        example = f"for instance {path[-1]}: {info.examples[0]}" if info.examples else ""
        return Problem(path[:-1], f"the key '{path[-1]}'", "nothing", example)
    if kind in ("model_type", "model_attributes_type"):
        return Problem(path, expected_of(block_at(root, entry["loc"])), shown(value))
    expected = {"dict_type": "a mapping of names", "list_type": "a list"}.get(kind, "another value")
    return Problem(path, expected, shown(value), "", at_key)


def _unknown_key(path: Path, value: Any, block: type[Block]) -> Problem:
    known, key = block.key_names(), str(path[-1])
    expected = expected_of(block) if issubclass(block, OneOf) else "a known key"
    hint = nearest(key, known)
    if value is None and ":" in key:
        hint = "write a space after the colon"
    elif value is None and not key.isidentifier():
        hint = "a text with commas needs quotes"
    elif issubclass(block, OneOf) and hint.startswith("known"):
        hint = ""
    return Problem(path, expected, shown(key), hint, at_key=True)
