"""Building blocks of the schema: mappings with known keys, and how several shapes of a value are told apart.

A `Block` is a mapping with known keys. A `OneOf` is a mapping with exactly one key, which says what its value is, so
that one mistake stays one error. Where a value may be of several shapes, a function looks at it first and picks one;
the tag it gives, such as ``<table>``, is left out of paths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    ModelWrapValidatorHandler,
    PrivateAttr,
    field_validator,
    model_validator,
)

from sorosim.errors import ModelError
from sorosim.problems import listed, shown
from sorosim.registry import Registry


class Block(BaseModel):
    """A mapping with known keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    @classmethod
    def key_names(cls) -> list[str]:
        """Its keys as a file writes them."""
        return [info.alias or name for name, info in cls.model_fields.items()]

    @field_validator("*", mode="before")
    @classmethod
    def _is_given(cls, value: Any) -> Any:
        if value is None:
            raise ModelError("", "a value", "nothing", "write one after the colon")
        return value


class OneOf(Block):
    """A mapping with exactly one key out of several."""

    @model_validator(mode="before")
    @classmethod
    def _has_one_key(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or len(value) != 1:
            got = (
                "both " + " and ".join(map(str, value))
                if isinstance(value, Mapping) and len(value) == 2
                else shown(value)
            )
            raise ModelError("", expected_of(cls), got)
        return value

    @property
    def kind(self) -> str:
        """The key that was given."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def chosen(self) -> Any:
        """Its value."""
        return getattr(self, self.kind)


class OwnOneOf(OneOf):
    """A mapping with one key, which may also be the name of a registered plug-in; what it has then is `own`."""

    registry: ClassVar[Registry]
    _own: tuple[str, Any] | None = PrivateAttr(None)

    @classmethod
    def key_names(cls) -> list[str]:
        """Its keys as a file writes them, and the names of plug-ins."""
        return super().key_names() + cls.registry.names()

    @model_validator(mode="wrap")
    @classmethod
    def _may_be_own(cls, value: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        name = next(iter(value)) if isinstance(value, Mapping) and len(value) == 1 else None
        if name in cls.model_fields or name not in cls.registry.names():
            return handler(value)
        out = cls.model_construct()
        out._own = name, value[name]
        return out

    @property
    def own(self) -> tuple[str, Any] | None:
        """Name and parameters of a plug-in."""
        return self._own


class Alone(Block):
    """A mapping whose one key stands alone: what belongs to the entries of its list goes into each of them."""

    @model_validator(mode="before")
    @classmethod
    def _stands_alone(cls, value: Any) -> Any:
        name = next(iter(cls.model_fields))
        others = [str(key) for key in value if key != name] if isinstance(value, Mapping) else []
        if others:
            hint = f"each entry of {name} has its own"
            raise ModelError("", f"the key {name} alone", "also " + ", ".join(others)[:60], hint)
        return value


def by_shape(tags: Mapping[type, str], otherwise: str) -> Discriminator:
    """Picks the tag of the first type that a value has."""

    def tag(value: Any) -> str:
        return next((name for kind, name in tags.items() if isinstance(value, kind)), otherwise)

    return Discriminator(tag)


def words(*known: str) -> Callable[[], tuple[str, ...]]:
    """Words that are known from the start, for `fields.Choice`."""
    return lambda: known


def has(key: str, tag: str, otherwise: str) -> Discriminator:
    """Picks the tag if a mapping has the key."""
    return Discriminator(lambda value: tag if isinstance(value, Mapping) and key in value else otherwise)


def expected_of(block: type[Block]) -> str:
    """What a mapping of this kind looks like, in words."""
    keys = block.key_names()
    if not issubclass(block, OneOf):
        return "a mapping with the keys " + ", ".join(keys) if keys else "{}"
    return listed([f"{{{key}: ...}}" for key in keys])
