"""Parts that may be added to a file: their kinds, meanings, and values that fit what the file has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sorosim.base.declare import Declared, OneOf, Part, Type
from sorosim.base.declare.composite import described, summary
from sorosim.base.problems import Path, at_path
from sorosim.files.edit import set_value
from sorosim.files.robot_file import RobotFile
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.model.description import PARTS

BLOCKS = ("materials", "links", *PARTS)
# of blocks whose parts have no kinds: what a part is mostly, by the key that says it
OF_LINKS = {"rod": "fixed", "body": "revolute", "tubes": "fixed"}  # and the joint of each


class Addition(NamedTuple):
    """A part that may be added to a block."""

    kind: str
    name: str  # that is free
    meaning: str
    value: Any
    first: dict[Path, Any]  # what the file needs before, by its path
    lacks: str  # why it cannot be added; "" if it can


def additions(data: Mapping[str, Any], block: str, beside: str = "") -> list[Addition]:
    """Parts that may be added to a block of a file.

    Parameters
    ----------
    data : mapping
        What the file says.
    block : str
        One of `BLOCKS`.
    beside : str, optional
        Name of a link on which a part is to be: what names a link names it, where it fits.
    """
    keys = {one.name: one for one in RobotFile.declaration().values()}
    one: Any = keys[block].type.within("")
    fitting = _Fitting(data, beside)
    if block == "links":
        found = [fitting.link(kind, joint) for kind, joint in OF_LINKS.items()]
    elif isinstance(one, OneOf):
        found = [fitting.part(one, kind, summary(cls), {kind: _example(cls)}) for kind, cls in one.kinds.items()]
    else:
        found = [fitting.part(one, block.removesuffix("s"), summary(one.cls), _example(one.cls))]
    return [entry._replace(name=free_name(data, block, entry.kind)) for entry in found]


def free_name(data: Mapping[str, Any], block: str, stem: str) -> str:
    """A name that a block does not have: the stem, or with a number."""
    taken = at_path(data, (block,)) or {}
    return next(name for k in range(1, len(taken) + 3) if (name := stem if k == 1 else f"{stem}{k}") not in taken)


def _example(cls: type[Declared]) -> Any:
    """A part to begin with, as data."""
    return read_text(f"x: {cls.template or cls.example()}\n", "example").data["x"]


class _Fitting:
    """Makes examples fit a file: what they name is replaced by what the file has."""

    def __init__(self, data: Mapping[str, Any], beside: str) -> None:
        self.data, self.beside = data, beside
        self.first: dict[Path, Any] = {}
        self.lacks = ""
        self.named: list[str] = []  # what an example names twice, as the ends of a loop, should differ

    def part(self, type: Type, kind: str, meaning: str, value: Any) -> Addition:
        """A part of a kind."""
        self.first, self.lacks, self.named = {}, "", []
        made = self.fitted(type, value)
        return Addition(kind, "", meaning, made, self.first, self.lacks)

    def link(self, kind: str, joint: str) -> Addition:
        """A link with a body of a kind."""
        own: Any = {one.name: one for one in RobotFile.declaration().values()}["links"].type.within("")
        about = described(own.cls, lambda _: {})
        value = read_text(f"x: {about[kind].example}\n", "example").data["x"]
        joints: Any = {one.name: one for one in own.cls.declaration().values()}["joint"].type
        data: dict[str, Any] = {} if self.beside in ("", "world") else {"parent": self.beside}
        data |= {"joint": joint if joint == "fixed" else {joint: _example(joints.kinds[joint])}, kind: value}
        return self.part(own, kind, about[kind].doc, data)

    def fitted(self, type: Type | None, value: Any) -> Any:
        """A value of a type whose names are those of parts of the file."""
        if type is None:
            return value
        if isinstance(type, Part) and not isinstance(value, dict):  # the value of its only key
            own = [one for one in type.cls.declaration().values() if one.required]
            return self.fitted(own[0].type, value) if own else value
        if isinstance(value, dict):
            return {key: self.fitted(type.within(key), entry) for key, entry in value.items()}
        if isinstance(value, list):
            inner = [type.within(i) for i in range(len(value))]
            return [self.fitted(one, entry) for one, entry in zip(inner, value, strict=True)]
        block, fits = _named(type)
        return self.name(block, fits, value) if block and isinstance(value, str) else value

    def name(self, block: str, fits: Any, example: str) -> Any:
        """The name of a part of a block that fits."""
        there = at_path(self.data, (block,)) or {}
        names = [name for name, entry in there.items() if fits is None or (isinstance(entry, dict) and fits(entry))]
        names = [name for name in names if name not in self.named] or names
        if names:
            found = self.beside if block == "links" and self.beside in names else names[-1]
            self.named.append(found)
            return found
        if block == "materials":
            made: Any = {one.name: one for one in RobotFile.declaration().values()}["materials"].type.within("")
            self.first[block, example] = _example(made.cls)
            return example
        kind = " that fits" if there else ""
        self.lacks = f"needs one of {block}{kind}"
        return example


def _named(type: Type) -> tuple[str, Any]:
    """The block of whose parts a text is a name, "" if it is none, and whether a part fits."""
    if block := getattr(type, "block", ""):
        return str(block), getattr(type, "fits", None)
    return next((found for one in type.shapes() if (found := _named(one))[0]), ("", None))


def add(text: str, block: str, one: Addition, name: str = "") -> str:
    """The text of a file with a part."""
    for path, value in one.first.items():
        text = set_value(text, path, value).applied(text)
    return set_value(text, (block, name or one.name), one.value).applied(text)
