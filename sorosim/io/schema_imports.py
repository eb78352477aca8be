"""The file format: rigid robots from URDF. Values that end in links are open here: they are checked there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Tag
from pydantic import Field as Key

from sorosim.io import fields
from sorosim.io.blocks import Block, words
from sorosim.io.fields import Choice, Name

_FOLDER = Annotated[str, fields.Text("the path of a folder")]


class StopsBlock(Block):
    """Stiffness of the end stops that limits of URDF become, by kind of joint."""

    revolute: Any = None
    prismatic: Any = None


class ImportBlock(Block):
    urdf: Annotated[str, fields.Text("the path of a URDF file")] = Key(examples=["arm.urdf"])
    parent: Any = "world"
    at: Any = None
    joint: Any = "fixed"
    limits: StopsBlock | None = None
    mimic: Annotated[str, Choice(words("free", "fixed"))] | None = None
    visual: Annotated[bool, fields.Truth()] = True
    package_dirs: list[_FOLDER] = Key(default_factory=list)
    allow_outside: Annotated[bool, fields.Truth()] = False


def is_one(value: Any) -> bool:
    """Whether an ``import`` is of one robot, not of several by name."""
    return not isinstance(value, Mapping) or not all(isinstance(entry, Mapping) for entry in value.values())


ImportsBlock = Annotated[
    Annotated[ImportBlock, Tag("<one>")] | Annotated[dict[Annotated[str, Name()], ImportBlock], Tag("<several>")],
    Discriminator(lambda value: "<one>" if is_one(value) else "<several>"),
]
