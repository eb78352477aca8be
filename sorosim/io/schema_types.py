"""The types of the schema seen as a tree: what may stand at a path of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import Tag

from sorosim.io.blocks import Block


def block_of(root: type[Block], location: Sequence[str | int]) -> type[Block]:
    """The block whose key is at a location of pydantic."""
    return block_at(root, location[:-1])


def block_at(root: type[Block], location: Sequence[str | int]) -> type[Block]:
    """The block at a location of pydantic, which names the tags of the shapes that were picked."""
    kind: Any = root
    for part in location:
        kind = _step(kind, part)
    found = _bare(kind)
    assert isinstance(found, type)  # for the type checker: pydantic speaks of blocks here
    return found


def _bare(kind: Any) -> Any:
    """The type inside ``Annotated`` and ``... | None``."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        options = [option for option in get_args(kind) if option is not type(None)]
        return _bare(options[0]) if len(options) == 1 else kind
    return kind


def _step(kind: Any, part: str | int) -> Any:
    """The type of what is at `part` of a value of this type."""
    kind = _bare(kind)
    if get_origin(kind) in (Union, UnionType):
        return next(o for o in get_args(kind) if Tag(str(part)) in getattr(o, "__metadata__", ()))
    if get_origin(kind) in (dict, list):
        return get_args(kind)[-1]
    return next(info.annotation for name, info in kind.model_fields.items() if (info.alias or name) == part)


def options(kind: Any) -> Iterator[Any]:
    """All shapes that a value of a type may have, as bare types."""
    kind = _bare(kind)
    if get_origin(kind) in (Union, UnionType):
        for option in get_args(kind):
            yield from options(option)
    elif kind is not type(None):
        yield kind


# what a plug-in takes, it knows itself
PARAMETERS = dict[str, Any]


def below(kind: Any, part: str | int) -> Any:
    """Type of what may be at a key or an index of a value of this type; None if nothing may."""
    for option in options(kind):
        if get_origin(option) is (list if isinstance(part, int) else dict):
            return get_args(option)[-1]
        if isinstance(option, type) and issubclass(option, Block) and part in option.key_names():
            known = ((info.alias or name, info.annotation) for name, info in option.model_fields.items())
            return next((annotation for name, annotation in known if name == part), PARAMETERS)
    return None


def known_keys(kind: Any) -> list[str]:
    """Keys that a value of this type may have; none if it may have any."""
    blocks = [option for option in options(kind) if isinstance(option, type) and issubclass(option, Block)]
    return [name for block in blocks for name in block.key_names()]
