"""Declarations of results: what a file keeps of a result is stated once, as the fields of a dataclass.

A kind of result derives from `Result`. Each field that a file keeps is made by `stored`, which gives its type in a file
with the names of its dimensions, its meaning and its unit. Writing and reading files, the checks of what is read, and
the tables of the page about result files follow from these.
"""

from __future__ import annotations

import inspect
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import MISSING as DATACLASS_MISSING
from dataclasses import Field, dataclass, field, fields
from functools import cache
from operator import attrgetter
from types import EllipsisType, SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from sorosim.base.declare.base import MISSING
from sorosim.base.errors import FileError
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import describe

TIMES = "n_t"  # the dimension of a run's rows


class Place(NamedTuple):
    """A place in what was read from a file, and the dimensions that are known there."""

    file: str
    sizes: ChainMap[str, int]
    path: str = ""

    def __truediv__(self, name: str) -> Place:
        return self._replace(path=f"{self.path}/{name}" if self.path else name)

    def inside(self) -> Place:
        """The same place, for a group that has dimensions of its own."""
        return self._replace(sizes=self.sizes.new_child())

    def damaged(self, expected: str, got: str) -> FileError:
        """The error of what does not fit."""
        return FileError(self.file, f"expected {expected}, got {got}; the file is damaged")

    def lacks(self, name: str) -> FileError:
        """The error of what is missing here."""
        return FileError(self.file, f"expected a complete result file, got one without '{(self / name).path}'")


class StoredType:
    """The type of a value in a file, which holds numbers, texts, lists of texts, arrays, None, and mappings of these.

    1. `pack` gives what a file holds of a value.
    2. `check` refuses (FileError) what is no such value, or does not have its shape.
    3. `unpack` makes the value, of a robot, of what was checked.
    """

    shape: tuple[str | int | EllipsisType, ...] = ()  # sizes, or names of dimensions
    is_group = True

    def pack(self, value: Any) -> Any:
        """What a file holds of a value."""
        return value

    def check(self, stored: object, at: Place) -> None:
        """Refuse what does not fit; of a group, what is none."""
        if not isinstance(stored, dict):
            raise at.damaged(f"'{at.path}' to be a group", "a value")

    def unpack(self, stored: Any, robot: Any) -> Any:
        """The value, of a robot."""
        return stored


class Text(StoredType):
    """A text."""

    is_group = False

    def check(self, stored: object, at: Place) -> None:
        """Refuse what is none."""
        if not isinstance(stored, str):
            raise at.damaged(f"'{at.path}' to be a text", type(stored).__name__)


DATA, TEXT = StoredType(), Text()


class Numbers(StoredType):
    """Numbers, or truths, of a shape; without dimensions it is one. The last dimension may be `...`, any further.

    `make` makes the value of them, where it is no array.
    """

    is_group = False

    def __init__(self, *shape: str | int | EllipsisType, make: Callable[[Any], Any] | None = None) -> None:
        self.shape, self.make = shape, make

    def check(self, stored: Any, at: Place) -> None:
        """Refuse what is none, or has another shape; dimensions that were not known are now."""
        if np.asarray(stored).dtype.kind not in "biuf" or isinstance(stored, dict):
            raise at.damaged(f"'{at.path}' to be numbers", describe(stored))
        self.check_shape(np.shape(stored), at)

    def check_shape(self, shape: tuple[int, ...], at: Place) -> None:
        """Refuse another shape."""
        wanted: list[Any] = []
        for k, size in enumerate(self.shape):
            if size is ...:
                wanted += shape[k:]
            elif isinstance(size, str):
                wanted.append(at.sizes.setdefault(size, shape[k]) if k < len(shape) else at.sizes.get(size, size))
            else:
                wanted.append(size)
        if shape != tuple(wanted):
            rows = f"{wanted[0]} rows of " if self.shape[:1] == (TIMES,) else ""
            raise at.damaged(f"{rows}'{at.path}', shape {in_words(wanted)}", f"shape {shape}")

    def unpack(self, stored: Any, robot: Any) -> Any:
        """The numbers, or what is made of them."""
        return self.make(stored) if self.make else stored


class Rising(Numbers):
    """A list of numbers of which each is greater than the one before."""

    def check(self, stored: Any, at: Place) -> None:
        """Refuse other lists."""
        if np.ndim(stored) != 1 or np.asarray(stored).dtype.kind != "f" or not np.all(np.diff(stored) > 0.0):
            raise at.damaged(f"'{at.path}' to be a list of increasing times", f"shape {np.shape(stored)}")
        super().check(stored, at)


class Texts(Numbers):
    """A list of texts; of none a file has an empty array."""

    def pack(self, value: Any) -> Any:
        """What a file holds of them."""
        return list(value)

    def check(self, stored: Any, at: Place) -> None:
        """Refuse what is no list of texts, or one of another length."""
        if not isinstance(stored, list) and np.size(stored):
            raise at.damaged(f"'{at.path}' to be a list of texts", describe(stored))
        self.check_shape(np.shape(stored), at)

    def unpack(self, stored: Any, robot: Any) -> Any:
        """The texts."""
        return tuple(map(str, stored))


class Named(StoredType):
    """Values of a type by their names: a group."""

    def __init__(self, type: StoredType) -> None:
        self.type, self.shape = type, type.shape

    def pack(self, value: Any) -> Any:
        """What a file holds of them."""
        return {str(name): self.type.pack(one) for name, one in value.items()}

    def check(self, stored: Any, at: Place) -> None:
        """Refuse what is none."""
        super().check(stored, at)
        for name, one in stored.items():
            self.type.check(one, at / name)

    def unpack(self, stored: Any, robot: Any) -> Any:
        """The values."""
        return {name: self.type.unpack(one, robot) for name, one in stored.items()}


class Numbered(Named):
    """A tuple of values of a type: a group whose names are numbers of some digits."""

    def __init__(self, type: StoredType, digits: int = 5) -> None:
        super().__init__(type)
        self.digits = digits

    def pack(self, value: Any) -> Any:
        """What a file holds of them."""
        return super().pack({f"{k:0{self.digits}d}": one for k, one in enumerate(value)})

    def unpack(self, stored: Any, robot: Any) -> Any:
        """The values."""
        return tuple(super().unpack(stored, robot).values())


class Record(StoredType):
    """What `make` makes of parts by their names, which are its attributes, or its entries in a tuple: a group.

    Dimensions that are named first in it are its own.
    """

    def __init__(self, make: Callable[..., Any], **parts: StoredType | StoredField) -> None:
        self.make = make
        self.parts = {name: StoredField(one, "") if isinstance(one, StoredType) else one for name, one in parts.items()}

    def pack(self, value: Any) -> Any:
        """What a file holds of it."""
        given = SimpleNamespace(**dict(zip(self.parts, value, strict=True))) if type(value) is tuple else value
        return pack_parts(self.parts, given)

    def check(self, stored: Any, at: Place) -> None:
        """Refuse one whose parts are missing or do not fit."""
        super().check(stored, at)
        check_parts(self.parts, stored, at.inside())

    def unpack(self, stored: Any, robot: Any) -> Any:
        """What is made of the parts."""
        return self.make(**unpack_parts(self.parts, stored, robot))


class Another(StoredType):
    """A result within a result, of the same robot: a group."""

    def __init__(self, kind: type[Result]) -> None:
        self.kind = kind

    def pack(self, value: Any) -> Any:
        """What a file holds of it."""
        return value.content()

    def check(self, stored: Any, at: Place) -> None:
        """Refuse what is none."""
        super().check(stored, at)
        self.kind.check(stored, at.inside())

    def unpack(self, stored: Any, robot: Any) -> Any:
        """The result."""
        return self.kind.restored(stored, robot)


@dataclass(frozen=True)
class StoredField:
    """The declaration of what a file keeps."""

    type: StoredType
    doc: str
    unit: str = ""
    name: str = ""  # in a file, with the groups in which it stands; as in Python, where it is empty
    source: str = ""  # attribute of the result that gives it, likewise
    needed: bool = True  # whether a file has to have it
    stated: bool = False  # whether it is an empty dataset where there is none
    derived: bool = False  # whether it follows from the others: it is written for other programs, and not read

    def __str__(self) -> str:
        shape = f"{in_words(self.type.shape)} " if self.type.shape else ""
        return shape + self.doc + (f" [{self.unit}]" if self.unit else "")


def optional(type: StoredType) -> StoredField:
    """Declare a part of a record that may be None, its default, of which a file has an empty dataset."""
    return StoredField(type, "", needed=False, stated=True)


def stored(
    type: StoredType, doc: str, unit: str = "", *, default: object = MISSING, name: str = "",
    needed: bool | None = None, stated: bool = False, repr: bool = True,
) -> Any:  # fmt: skip
    """Declare a field.

    Parameters
    ----------
    type : StoredType
        Of its value in a file.
    doc, unit : str
        Meaning, and SI unit.
    default : optional
        In Python.
    name : str, optional
        In a file, if it is another one; "group/name" stands in a group.
    needed : bool, optional
        Whether a file has to have it. Default: if it has no default.
    stated : bool
        Whether a file has an empty dataset where it is None; else it has nothing.
    repr : bool
        As of `dataclasses.field`.
    """
    needed = default is MISSING if needed is None else needed
    given = {"stored": StoredField(type, doc, unit, name, needed=needed, stated=stated)}
    if default is not MISSING and default.__class__.__hash__ is None:  # dataclasses take it for one that may change
        return field(default_factory=lambda: copy(default), repr=repr, metadata=given)
    return field(default=default, repr=repr, metadata=given)


class Result:
    """What a computation has found for a robot, its attribute `robot`.

    Subclasses are frozen dataclasses. ``class Run(Result, kind="run")`` is the class of a kind of file; it stands in
    `sorosim.base.registry.RESULTS`, from which `sorosim.open` takes it.
    """

    file_kind: ClassVar[str] = ""  # kind of its files
    also: ClassVar[Mapping[str, StoredField]] = {}  # what files keep besides fields: attributes by name

    save = LazyMethod("sorosim.files.results:save")
    _repr_html_ = LazyMethod("sorosim.view.viz.notebook:result_html")

    def __init_subclass__(cls, kind: str = "", **options: object) -> None:
        super().__init_subclass__(**options)
        cls.file_kind = kind or cls.file_kind
        own = {name: one.metadata.get("stored") for name, one in vars(cls).items() if isinstance(one, Field)}
        told = [f"{name}\n    {one}" for name, one in own.items() if one]
        if told:
            cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__ or ""), "\nAttributes\n----------", *told])

    @property
    def described(self) -> Any:
        """The robot whose text its file has."""
        return self.robot  # type: ignore[attr-defined]

    @classmethod
    @cache
    def declaration(cls) -> Mapping[str, StoredField]:
        """What its file keeps, by the names of attributes."""
        own: Any = fields(cls)  # type: ignore[arg-type]  # a dataclass, as all that are used
        return {**{one.name: one.metadata["stored"] for one in own if "stored" in one.metadata}, **cls.also}

    def content(self) -> dict[str, Any]:
        """What its file keeps."""
        return pack_parts(self.declaration(), self)

    @classmethod
    def check(cls, stored: Mapping[str, object], at: Place) -> None:
        """Refuse (FileError) the content of a file whose parts are missing or do not fit together."""
        check_parts(cls.declaration(), stored, at)

    @classmethod
    def parts(cls, stored: Mapping[str, object], robot: object) -> dict[str, Any]:
        """Attributes by name from the content of a file that was checked."""
        own: Any = fields(cls)  # type: ignore[arg-type]  # as above
        stated = [one.name for one in own if one.default is one.default_factory is DATACLASS_MISSING]
        there = unpack_parts(cls.declaration(), stored, robot)
        return {**{name: None for name in stated if name in cls.declaration()}, **there}

    @classmethod
    def restored(cls, stored: Mapping[str, Any], robot: Any) -> Self:
        """The result from the content of a file that was checked, and its robot; `file` in the content is its path."""
        return cls(robot, **cls.parts(stored, robot))  # type: ignore[call-arg]


def pack_parts(declaration: Mapping[str, StoredField], thing: object) -> dict[str, Any]:
    """What a file holds of what is declared."""
    out: dict[str, Any] = {}
    for name, one in declaration.items():
        value = attrgetter(one.source or name)(thing)
        if value is not None or one.stated:
            *groups, last = (one.name or name).split("/")
            group = out
            for part in groups:
                group = group.setdefault(part, {})
            group[last] = None if value is None else one.type.pack(value)
    return out


def check_parts(declaration: Mapping[str, StoredField], stored: Mapping[str, object], at: Place) -> None:
    """Refuse (FileError) a mapping that does not have what is declared."""
    for name, one in declaration.items():
        path = one.name or name
        value = entry(stored, path)
        if value is MISSING and one.needed:
            raise at.lacks(path)
        if value is not MISSING and not one.derived and (one.needed or value is not None):
            one.type.check(value, at / path)


def unpack_parts(declaration: Mapping[str, StoredField], stored: Mapping[str, object], robot: object) -> dict[str, Any]:
    """Values by name of what is declared and is there."""
    values = {name: entry(stored, one.name or name) for name, one in declaration.items() if not one.derived}
    there = {name: x for name, x in values.items() if x is not MISSING and x is not None}
    return {name: declaration[name].type.unpack(x, robot) for name, x in there.items()}


def in_words(shape: Iterable[object]) -> str:
    """A shape with names of dimensions."""
    sizes = ["..." if size is ... else str(size) for size in shape]
    return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


def entry(stored: Any, path: str) -> Any:
    """What stands in groups under a path, MISSING where there is nothing."""
    for name in path.split("/"):
        if not isinstance(stored, Mapping) or name not in stored:
            return MISSING
        stored = stored[name]
    return stored
