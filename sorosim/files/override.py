"""Overrides: single values of a description, by their paths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sorosim.base.declare import Part, Type
from sorosim.base.declare.composite import OfPlugIn
from sorosim.base.errors import FileError, InputError, nearest
from sorosim.base.problems import Path, Place, plain_data, shown
from sorosim.files.nodes import Node, nodes_of
from sorosim.files.robot_file import RobotFile
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.model.description import PARTS

LABEL = "set"
_OPEN = ("initial", "u", "driven", "with")  # blocks that may get new names
_PARTS = [(block,) for block in ("materials", "links", *PARTS)]
_INDEX = re.compile(r"\[(\d+)\]|(\d+)(?=[.\[]|\Z)")


def overridden(root: Node, settings: Mapping[str, object]) -> Node:
    """A file with values set; texts among them are read as YAML.

    Raises
    ------
    InputError
        A path leads nowhere.
    """
    if not isinstance(settings, Mapping):
        raise InputError(LABEL, "a mapping of paths to values", type(settings).__name__)
    for path, value in settings.items():
        if not isinstance(path, str) or not path.strip():
            raise InputError(LABEL, "a path such as links.arm.rod.length", shown(path))
        root = _Setting(path.strip(), _value(value)).applied(root, path.strip(), (), Part(RobotFile))
    return root


def _value(value: object) -> Any:
    if not isinstance(value, str):
        return plain_data(value)
    try:
        return read_text(value, LABEL).data
    except FileError:  # a text that is no YAML stands for itself
        return value


class _Setting:
    """One value and the path that leads to it."""

    def __init__(self, text: str, value: object) -> None:
        self.text, self.value = text, value

    def fail(self, expected: str, got: str, hint: str = "") -> InputError:
        return InputError(f"{LABEL} {self.text}", expected, got, hint)

    def applied(self, node: Node | None, rest: str, path: Path, kind: Type | None) -> Node:
        """A node with the value at the rest of the path; None is a node that is to be made, of a kind."""
        if not rest:
            place = Place(LABEL, 0, 0, path)
            return Node(nodes_of(self.value, LABEL, None, path).value, place, place if node is None else node.key)
        if node is not None and isinstance(node.value, list):
            return self.entry(node, rest, path, kind)
        if node is not None and not isinstance(node.value, dict):
            raise self.fail(f"the path to end before {rest!r}", shown(node.outline))
        entries = {} if node is None else node.entries
        key, tail = self.key(entries, rest, path, kind)
        made = self.applied(entries.get(key), tail, (*path, key), kind and kind.within(key))
        place = Place(LABEL, 0, 0, path)
        return Node({**entries, key: made}, place if node is None else node.place, node.key if node else place)

    def entry(self, node: Node, rest: str, path: Path, kind: Type | None) -> Node:
        match = _INDEX.match(rest)
        index = int(match.group(1) or match.group(2)) if match else -1
        if match is None or index >= len(node.value):
            raise self.fail(f"an index from 0 to {len(node.value) - 1}", repr(rest))
        made = self.applied(
            node.value[index], rest[match.end() :].removeprefix("."), (*path, index), kind and kind.within(index)
        )
        return Node([*node.value[:index], made, *node.value[index + 1 :]], node.place, node.key)

    def key(self, entries: Mapping[str, Node], rest: str, path: Path, kind: Type | None) -> tuple[str, str]:
        """The next key of a path, and what is left of it."""
        # names of coordinates have dots and brackets in them
        for name in sorted(entries, key=len, reverse=True):
            if rest.startswith(name) and re.match(r"\.|\[|\Z", rest[len(name) :]):
                return name, rest[len(name) :].removeprefix(".")
        name = re.split(r"[.\[]", rest, maxsplit=1)[0]
        known = kind.known_keys() if kind is not None else []
        if path and path[-1] == "initial":
            return rest, ""
        tail = rest[len(name) :].removeprefix(".")
        if path in _PARTS and name not in known:
            if not tail and isinstance(self.value, dict):  # a whole part is made
                return name, tail
            hint = nearest(name, entries)
            new = "" if hint.startswith("did") else f"; a new one is set as a whole: {path[0]}.{name}: {{...}}"
            raise self.fail("a known key", repr(name), hint + new)
        if name not in known and not isinstance(kind, OfPlugIn) and not (path and path[-1] in _OPEN):
            raise self.fail("a known key", repr(name), nearest(name, dict.fromkeys([*entries, *known])))
        return name, rest[len(name) :].removeprefix(".")
