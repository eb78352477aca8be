"""Types of values that are made of others: parts, lists, mappings, one of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.declare.base import (
    INVALID,
    MISSING,
    NOTHING,
    At,
    Declared,
    Define,
    Described,
    Key,
    Type,
    Writer,
    inexpressible,
)
from sorosim.base.declare.types import Name, Text, is_list
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import close, listed, shown
from sorosim.base.registry import Registry, init_parameters, make, parameters_of
from sorosim.base.units.quantity import quantity
from sorosim.base.units.table import DIMENSIONS


def keys_schema(name: Type) -> dict[str, Any]:
    """What JSON Schema says of the names of a mapping, besides that they are texts."""
    block = getattr(name, "block", "")
    return {"propertyNames": {"x-names": block}} if block else {}


@dataclass(frozen=True)
class Part(Type):
    """A declared part."""

    cls: type[Declared]

    def read(self, value: object, at: At) -> Any:
        return self.cls.read(value, at)

    def read_named(self, value: object, at: At, name: str) -> Any:
        if self.cls.is_named and isinstance(value, Mapping):
            return self.cls.read_keys(value, at, name=name)
        return self.cls.read(value, at)

    def write(self, value: object, writer: Writer) -> Any:
        if not isinstance(value, self.cls):
            raise inexpressible(f"a {self.cls.__name__}", value)
        return value.data(writer)

    def schema(self, define: Define) -> dict[str, Any]:
        return define(self.cls)

    def within(self, part: str | int) -> Type | None:
        keys = [one for one in self.cls.declaration().values() if part in one.type.names(one)]
        return keys[0].type.at_name(keys[0], str(part)) if keys else None

    def known_keys(self) -> list[str]:
        return self.cls.key_names()


@dataclass(frozen=True)
class ListOf(Type):
    """A list."""

    type: Type
    what: str = ""  # what is expected in the place of an empty one; "": it may be empty

    def read(self, value: Any, at: At) -> Any:
        if not is_list(value):
            return at.fail("a list", shown(value))
        if not len(value) and self.what:
            return at.fail(self.what, "an empty list")
        found = tuple(self.type.read(entry, at / i) for i, entry in enumerate(value))
        return INVALID if any(entry is INVALID for entry in found) else found

    def write(self, value: Any, writer: Writer) -> Any:
        return [self.type.write(entry, writer) for entry in value]

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": "array", "items": self.type.schema(define)}

    def within(self, part: str | int) -> Type | None:
        return self.type if isinstance(part, int) else None


@dataclass(frozen=True)
class PartsOrKeys(ListOf):
    """A list of parts, or the keys of the only one among those of the owner; in Python also one part."""

    type: Part

    def names(self, key: Key) -> tuple[str, ...]:
        return (*self.type.known_keys(), key.name)

    def at_name(self, key: Key, name: str) -> Type | None:
        return self if name == key.name else self.type.within(name)

    def described(self, key: Key, define: Define) -> dict[str, Described]:
        return described(self.type.cls, define) | super().described(key, define)

    def read(self, value: object, at: At) -> Any:
        return super().read((value,) if isinstance(value, self.type.cls) else value, at)

    def take(self, data: Mapping[str, object], key: Key, at: At) -> Any:
        if key.name in data:
            return super().take(data, key, at)
        one = Flat(self.type.cls).take(data, key, at)
        return INVALID if one is INVALID else (one,)

    def give(self, value: Any, key: Key, writer: Writer) -> dict[str, Any]:
        return dict(value[0].data(writer)) if len(value) == 1 else super().give(value, key, writer)


@dataclass(frozen=True)
class TableOf(ListOf):
    """Rows of numbers, also as an array; stored as one."""

    def read(self, value: object, at: At) -> Any:
        return value if isinstance(value, np.ndarray) else super().read(value, at)

    def write(self, value: Any, writer: Writer) -> Any:
        return value.tolist()


@dataclass(frozen=True)
class MapOf(Type):
    """A mapping of names; wrong entries are left out of what is read, unless the whole has to be right."""

    type: Type
    name: Type = Name()  # it is frozen

    def read(self, value: object, at: At) -> Any:
        if not isinstance(value, Mapping):
            return at.fail("a mapping of names", shown(value))
        found: dict[str, Any] = {}
        for name, entry in value.items():
            if not isinstance(name, str):
                return at.fail("texts as keys", shown(name))
            here = at.inside(value) / name
            right = here.attempt(lambda name=name: self.name.check(name), at_key=True)  # type: ignore[misc]
            read = self.type.read_named(entry, here, str(name))
            found[name] = INVALID if right is INVALID else read
        return INVALID if any(entry is INVALID for entry in found.values()) else found

    def write(self, value: Any, writer: Writer) -> Any:
        return {name: self.type.write(entry, writer) for name, entry in value.items()}

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.type.schema(define), **keys_schema(self.name)}

    def within(self, part: str | int) -> Type | None:
        return self.type if isinstance(part, str) else None


@dataclass(frozen=True)
class Either(Type):
    """One type or another, by the shape of the value: `second` says whether it is the second."""

    first: Type
    other: Type
    second: Callable[[Any], bool]
    is_other: Callable[[Any], bool] | None = None  # of what is stored; default: `second`

    def read(self, value: object, at: At) -> Any:
        return (self.other if self.second(value) else self.first).read(value, at)

    def write(self, value: object, writer: Writer) -> Any:
        return (self.other if (self.is_other or self.second)(value) else self.first).write(value, writer)

    def shapes(self) -> tuple[Type, ...]:
        return self.first, self.other


@dataclass(frozen=True)
class Reference(Type):
    """The name of a part in another block, or of the world.

    Parameters
    ----------
    block : str
    what : str
        It in words.
    fits : callable, optional
        Whether a part of that block is one, from what the file says of it.
    others : tuple of str
        Names that are no part of the block.
    """

    block: str
    what: str
    _: KW_ONLY
    fits: Callable[[Any], bool] | None = None
    others: tuple[str, ...] = ()

    def read(self, value: object, at: At) -> Any:
        names = at.scope.names(self.block)
        name = at.attempt(lambda: Text(self.what).check(value))
        if name is INVALID or names is None:
            return name
        if name in self.others or (name in names and self._fits(name, at)):
            return name
        others = [other for other in names if self._fits(other, at)]
        return at.fail(self.what, shown(name), nearest(name, [*others, *self.others]))

    def schema(self, define: Define) -> dict[str, Any]:
        return {**super().schema(define), "x-names": self.block}

    def _fits(self, name: str, at: At) -> bool:
        entry = at.scope.entry(self.block, name)
        return self.fits is None or entry is None or self.fits(entry)


@dataclass(frozen=True)
class OneOrSeveral(Type):
    """A declared part, or a list of them: a tuple."""

    cls: type[Declared]

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, list | tuple):
            return ListOf(Part(self.cls)).read(value, at)
        one = self.cls.read(value, at)
        return INVALID if one is INVALID else (one,)

    def write(self, value: Any, writer: Writer) -> Any:
        return [part.data(writer) for part in value]

    def shapes(self) -> tuple[Type, ...]:
        return Part(self.cls), ListOf(Part(self.cls))


@dataclass(frozen=True)
class OneOf(Type):
    """A mapping with exactly one key: the kind of a part. Plug-ins of users are among the kinds of a registry.

    Parameters
    ----------
    registry : Registry
    base : type
        Of which its parts are; plug-ins need not be.
    """

    registry: Registry
    base: type | None = None

    @property
    def kinds(self) -> dict[str, type[Declared]]:
        """Built-in kinds."""
        return self.registry.declared()

    def expected(self) -> str:
        """What it looks like in a file."""
        return listed([f"{{{name}: ...}}" for name in self.registry.names()])

    def read(self, value: object, at: At) -> Any:
        if not isinstance(value, Mapping):
            if self.base is not None and isinstance(value, self.base):
                return value
            return at.fail(self.expected(), shown(value))
        if len(value) != 1:
            return at.fail(self.expected(), both(value) if len(value) == 2 else shown(value))
        ((name, given),) = value.items()
        here = at.inside(value) / name
        if name not in self.registry:
            hint = nearest(name, self.registry.names())
            if given is None and ":" in name:
                hint = "write a space after the colon"
            return here.fail(self.expected(), shown(name), "" if hint.startswith("known") else hint, at_key=True)
        if given is None:
            return here.fail(*NOTHING)
        kind = here.attempt(lambda: self.registry.get(name))
        if kind is INVALID:
            return INVALID
        return kind.read(given, here) if is_declared(kind) else read_plug_in(name, kind, given, here)

    def write(self, value: object, writer: Writer) -> Any:
        name, given = self.kind_of(value), init_parameters(value)
        if isinstance(value, Declared):
            try:
                return {name: value.data(writer)}
            except ModelError as error:
                raise error.inside(name) from None
        if given is None:
            raise self.inexpressible(value)
        return {name: {key: plain(entry, key) for key, entry in given.items()}}

    def kind_of(self, value: object) -> str:
        """The name of its very kind in a file; ModelError if it has none, as a subclass that is not registered."""
        name = getattr(value, "kind", "")
        if name and self.registry.declared().get(name) is type(value):
            return str(name)
        registered = self.registry.name_of(type(value))
        if registered is None:
            raise self.inexpressible(value)
        return registered

    def inexpressible(self, value: object) -> ModelError:
        """The error of a part of no kind that files know."""
        what = self.registry.what
        article = "an" if what[0] in "aeiou" else "a"
        return inexpressible(f"{article} {what} of sorosim, or one that is registered", value)

    def schema(self, define: Define) -> dict[str, Any]:
        properties = {name: {"anyOf": [define(kind), *kind.short_schema(define)]} for name, kind in self.kinds.items()}
        return {"type": "object", "properties": properties, "minProperties": 1, "maxProperties": 1,
                "additionalProperties": False}  # fmt: skip

    def within(self, part: str | int) -> Type | None:
        if part not in self.registry:
            return None
        return Part(self.kinds[str(part)]) if part in self.kinds else OfPlugIn()

    def known_keys(self) -> list[str]:
        return self.registry.names()


class OfPlugIn(Type):
    """What a plug-in takes, which it knows itself."""

    def within(self, part: str | int) -> Type | None:
        return self


def is_declared(kind: object) -> bool:
    """Whether a kind is a declared one."""
    return isinstance(kind, type) and issubclass(kind, Declared)


def both(names: Any) -> str:
    """Names where one of them was expected, as messages show them."""
    return "both " + " and ".join(map(str, names)) if len(names) == 2 else ", ".join(map(str, names))


@dataclass(frozen=True)
class Inline(Type):
    """A part whose kind is one of the owner's own keys: ``{sphere: {radius: 1 cm}, density: 1 g/cm^3}``.

    Parameters
    ----------
    registry : Registry
    several : str
        What to do where there are two.
    kinds : tuple of str
        Those that may stand here. Default: all.
    base : type
    optional : bool
    """

    registry: Registry
    base: type
    several: str
    optional: bool = False
    kinds: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """Kinds that may stand here."""
        return self.kinds or tuple(self.registry.declared())

    def kind(self, name: str) -> type[Declared]:
        """The kind of that name."""
        found: type[Declared] = self.registry.get(name)
        return found

    def names(self, key: Key) -> tuple[str, ...]:
        return self.known

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, self.base) and getattr(value, "kind", "") in self.known:
            return value
        return at.fail(f"one of {', '.join(self.known)}", shown(getattr(value, "kind", value)))

    def take(self, data: Mapping[str, object], key: Key, at: At) -> Any:
        given = [name for name in self.known if name in data]
        if len(given) == 1:
            here = At(at.scope, (*at.path, given[0]), data)
            kind = self.kind(given[0])
            return here.fail(*NOTHING) if data[given[0]] is None else kind.read(data[given[0]], here)
        if not given and (self.optional or any(close(str(name), kind) for name in data for kind in self.known)):
            return MISSING if self.optional else INVALID
        hint = self.several if given else ""
        return at.fail("one shape: " + listed(self.known), both(given) if given else shown(data), hint)

    def give(self, value: Any, key: Key, writer: Writer) -> dict[str, Any]:
        if value is None:
            return {}
        if self.kind(value.kind) is not type(value):
            raise inexpressible(f"one of {', '.join(self.known)}", value)
        return {value.kind: value.data(writer)}

    def at_name(self, key: Key, name: str) -> Type | None:
        return Part(self.kind(name))

    def described(self, key: Key, define: Define) -> dict[str, Described]:
        kinds = {name: self.kind(name) for name in self.known}
        return {name: Described(summary(kind), kind.example(), define(kind), key) for name, kind in kinds.items()}


@dataclass(frozen=True)
class Flat(Type):
    """A part whose keys stand among those of the owner."""

    cls: type[Declared]

    def names(self, key: Key) -> tuple[str, ...]:
        return tuple(self.cls.key_names())

    def described(self, key: Key, define: Define) -> dict[str, Described]:
        return described(self.cls, define)

    def at_name(self, key: Key, name: str) -> Type | None:
        return Part(self.cls).within(name)

    def read(self, value: object, at: At) -> Any:
        return self.cls.read(value, at)

    def take(self, data: Mapping[str, object], key: Key, at: At) -> Any:
        own = {name: value for name, value in data.items() if name in self.cls.key_names()}
        return self.cls.read_keys(own, at)

    def give(self, value: Any, key: Key, writer: Writer) -> dict[str, Any]:
        found: dict[str, Any] = value.data(writer)
        return found


def summary(kind: type) -> str:
    """The first sentence of the docstring of a class."""
    return " ".join((kind.__doc__ or "").partition("\n\n")[0].split())


def described(cls: type[Declared], define: Define) -> dict[str, Described]:
    """Meaning, example, JSON Schema and declaration of each key of a part."""
    return {name: own for key in cls.declaration().values() for name, own in key.type.described(key, define).items()}


NUMBERS = (float, int, "float", "int")  # annotations of plug-ins


# -- plug-ins of users -------------------------------------------------------------------------------------------------


def read_plug_in(name: str, kind: object, given: object, at: At) -> Any:
    """What a plug-in makes of its parameters; INVALID if something is wrong, which is noted."""
    read, n_problems = given, len(at.scope.problems)
    if isinstance(given, Mapping):
        names = at.attempt(lambda: parameters_of(kind))
        for key in given if names is not INVALID else ():
            (at / key).known(f"a parameter of {name}", str(key), names, at_key=True)
        read = {key: _parameter(kind, str(key), value, at / key) for key, value in given.items()}
    if len(at.scope.problems) > n_problems:
        return INVALID
    return at.attempt(lambda: make(name, kind, read))


def _parameter(kind: object, key: str, value: object, at: At) -> Any:
    """A parameter; one of those that the type lists in `quantities`, name -> dimension, is read with its unit."""
    dimension = getattr(kind, "quantities", {}).get(key)
    if dimension is None:
        if isinstance(value, str) and getattr(kind, "__annotations__", {}).get(key) in NUMBERS:
            hint = f"write it in SI units, or name its dimension: quantities = {{'{key}': 'length'}} in the plug-in"
            return at.fail(f"a number, since the plug-in names no dimension of {key}", shown(value), hint)
        return _frozen(value)
    if isinstance(value, list):
        return tuple((at / i).attempt(lambda x=x: _quantity(x, dimension)) for i, x in enumerate(value))  # type: ignore[misc]
    return at.attempt(lambda: _quantity(value, dimension))


def _frozen(value: object) -> Any:
    """Lists as tuples: descriptions do not change."""
    return tuple(_frozen(x) for x in value) if isinstance(value, list) else value


def _quantity(value: object, dimension: str) -> float:
    if dimension not in DIMENSIONS:
        known = ", ".join(DIMENSIONS)
        raise ModelError("", f"a plug-in whose quantities are of known dimensions ({known})", f"'{dimension}'")
    return quantity(value, dimension)


def plain(value: object, where: str) -> Any:
    """Plain data of a parameter of a plug-in."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(entry, f"{where}.{key}") for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry, f"{where}[{i}]") for i, entry in enumerate(value)]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise inexpressible("a number, a text, a list or a mapping", value).inside(where)
