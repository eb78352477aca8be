"""The base of all declared parts, the contract of a type of value, and the place in the data that is read."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path as FilePath
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from sorosim.base.declare.handle import Handle
from sorosim.base.errors import ExpressionError, InputError, ModelError, nearest
from sorosim.base.frozen import set_fields
from sorosim.base.problems import Path, Problem, close, dotted, failure, locate, shown, split_where
from sorosim.base.registry import Registry

T = TypeVar("T")
Define = Callable[["type[Declared]"], dict[str, Any]]  # gives the JSON Schema of a declared part


class _Marker:
    """A value that is none of a file."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


INVALID: Any = _Marker("INVALID")  # what is read from a wrong value, whose mistake is noted
MISSING: Any = dataclasses.MISSING


@dataclass
class Scope:
    """What is known while a part is read: what stands around it, and the mistakes that were found.

    This one knows nothing: that of a constructor in Python. `sorosim.files.build` has that of a file.
    """

    data: Any = None
    problems: list[Problem] = field(default_factory=list)
    # where given: they take the dimension of every number that is read, and of what it may be a formula
    dimensions: dict[Path, str] | None = None
    variables: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    is_file: bool = False  # whether the data are those of a file

    def names(self, block: str) -> Collection[str] | None:
        """Names in a block, wrong entries included; None if they are not known yet."""
        return None

    def entry(self, block: str, name: str) -> Mapping[str, Any] | None:
        """What a file says of the part of that name, right or wrong; None where nothing is known of it."""
        return None

    def part(self, block: str, name: str, otherwise: object) -> Any:
        """The part of that name, or something else if it is wrong."""
        return otherwise

    def mesh(self, given: Any, at: At) -> Any:
        """The mesh of a file."""
        return at.fail("a mesh by its triangles", "a file", "sorosim.files.meshes.read_mesh reads it")

    def folder_of(self, path: Path) -> FilePath | None:
        """Folder where a relative path at this place begins; None if other files are not to be read."""
        return FilePath()

    def embed(self, path: Path, data: object) -> None:
        """Take notice of data that say what another file does, which is named at this place."""

    def embed_table(self, path: Path, table: Any, long: Any) -> None:
        """The same for a signal from a CSV file; `long` names the file by its absolute path."""


@dataclass(frozen=True, slots=True)
class At:
    """A place in the data that is read."""

    scope: Scope
    path: Path = ()
    owner: Any = None  # the mapping around it

    def __truediv__(self, part: str | int) -> At:
        return At(self.scope, (*self.path, part), self.owner)

    def inside(self, owner: object) -> At:
        """The same place, for what stands in a mapping there."""
        return At(self.scope, self.path, owner)

    def fail(self, expected: str, got: str, hint: str = "", at_key: bool = False) -> Any:
        """Note a mistake here; returns INVALID."""
        self.scope.problems.append(Problem(self.path, expected, got, hint, at_key))
        return INVALID

    def attempt(self, make: Callable[[], T], at_key: bool = False) -> T:
        """What `make` returns; INVALID if it refuses what stands here, which is noted."""
        try:
            return make()
        except (ModelError, InputError, ExpressionError) as error:
            return self.note(error, at_key)  # type: ignore[no-any-return]

    def note(self, error: Any, at_key: bool = False) -> Any:
        """Note an error of the model as a mistake here; returns INVALID."""
        if self.scope.data is None:
            path = self.path + split_where(error.where)
            problem = Problem(path, error.expected, error.got, error.hint, at_key)
        else:
            problem = dataclasses.replace(locate(error, self.path, self.scope.data), at_key=at_key)
        self.scope.problems.append(problem)
        return INVALID

    def number(self, dimension: str, variables: tuple[str, ...] = ()) -> None:
        """Take notice of the dimension of the number here, and of the variables of which it may be a formula."""
        if self.scope.dimensions is not None:
            self.scope.dimensions[self.path], self.scope.variables[self.path] = dimension, variables

    def known(self, what: str, name: str, names: Collection[str], at_key: bool = False) -> bool:
        """Whether a name is one of the names; if not, that is noted."""
        if name in names:
            return True
        self.fail(what, shown(name), nearest(name, names), at_key)
        return False


class Writer:
    """What parts are written to: it names the materials, and counts what would make a file too long."""

    rods: Collection[str] = ()  # links on which a place s has a meaning

    def material(self, material: Any) -> str:
        """Name of a material."""
        raise NotImplementedError

    def mesh(self, mesh: Any) -> dict[str, Any]:
        """Data of a mesh."""
        raise NotImplementedError


class Type:
    """The type of a value: how it is checked, read, written and described.

    1. `read` takes the value of a file, or one of Python, and returns what is stored. Of a wrong value it notes the
       mistake and returns INVALID. What it returned once, it takes again.
    2. `write` gives back what a file says.
    3. `schema` is the JSON Schema of a value; ``x-unit`` is its unit in SI, ``x-names`` the block of whose parts it is
       a name, or the keys of a mapping are (`propertyNames`).
    4. `names` are the keys of the owner's mapping that it takes; `take` reads them.
    """

    def read(self, value: object, at: At) -> Any:
        """The value to store; INVALID if it is refused, which is noted."""
        return at.attempt(lambda: self.check(value))

    def read_named(self, value: object, at: At, name: str) -> Any:
        """As `read`, of what stands under a name that it may keep."""
        return self.read(value, at)

    def check(self, value: object) -> Any:
        """The value to store, else ModelError with a path relative to the value; this one takes any."""
        return value

    def argument(self, where: str, value: object) -> Any:
        """The value that an argument of a public function stands for, else InputError."""
        scope = Scope()
        found = self.read(value, At(scope))
        for problem in scope.problems:
            raise InputError(dotted(problem.path), problem.expected, problem.got, problem.hint).inside(where)
        return found

    def write(self, value: object, writer: Writer) -> Any:
        """The value as the data of a file."""
        return value

    def shapes(self) -> tuple[Type, ...]:
        """Types of the forms that a file may give it; none where it has but one."""
        return ()

    def schema(self, define: Define) -> dict[str, Any]:
        """JSON Schema of a value; `define` gives that of a declared part."""
        forms = [form for shape in self.shapes() for form in _forms(shape.schema(define))]
        return {"anyOf": forms} if forms else {"type": "string", "minLength": 1}

    def within(self, part: str | int) -> Type | None:
        """Type of what is at a key or an index of a value; None if nothing may be there."""
        return next((found for shape in self.shapes() if (found := shape.within(part)) is not None), None)

    def spread(self, value: object) -> list[tuple[Path, float]]:
        """Of a size along a rod: paths of its numbers in a value of a file, and where each holds, from 0 to 1."""
        return []

    def known_keys(self) -> list[str]:
        """Keys that a value may have; none if it may have any."""
        return [name for shape in self.shapes() for name in shape.known_keys()]

    def at_name(self, key: Key, name: str) -> Type | None:
        """Type of what is at one of its keys."""
        return self

    def names(self, key: Key) -> tuple[str, ...]:
        """Keys that it takes."""
        return (key.name,)

    def key_of(self, owner: type[Declared], given: Key) -> Key:
        """The declaration for one of the owner's kinds."""
        return given

    def described(self, key: Key, define: Define) -> dict[str, Described]:
        """Meaning, example, JSON Schema and declaration of each of its keys."""
        return {key.name: Described(key.doc, key.example, self.schema(define), key)}

    def take(self, data: Mapping[str, object], key: Key, at: At) -> Any:
        """Read the key in a mapping; MISSING if it is not there."""
        if key.name not in data:
            return MISSING
        here = At(at.scope, (*at.path, key.name), data)
        if data[key.name] is None and not key.nullable:
            return here.fail(*NOTHING)
        return self.read(data[key.name], here)

    def give(self, value: object, key: Key, writer: Writer) -> dict[str, Any]:
        """Keys of the owner's mapping that say the value."""
        return {key.name: self.write(value, writer)}


NOTHING = ("a value", "nothing", "write one after the colon")


class Described(NamedTuple):
    """What a page or a schema says of a key."""

    doc: str
    example: str
    schema: Any  # JSON Schema
    key: Key  # that declares it


@dataclass(frozen=True)
class Key:
    """A key of a file: the declaration of a field."""

    type: Type
    doc: str
    example: str = ""  # as a file writes it
    name: str = ""
    default: Any = field(default_factory=lambda: MISSING)
    nullable: bool = False
    stated: bool = False  # whether a file has to have it, though there is a default
    without: str = ""  # what holds where a file does not have it, if the default does not say so

    @property
    def required(self) -> bool:
        """Whether a file has to have it."""
        return self.default is MISSING or self.stated


def key(
    type: Type, doc: str, example: str = "", *, name: str = "", default: Any = MISSING, kw_only: Any = MISSING,
    nullable: bool = False, stated: bool = False, compare: bool = True, without: str = "",
) -> Any:  # fmt: skip
    """Declare a field.

    Parameters
    ----------
    type : Type
        Of its value.
    doc, example : str
        Meaning, and an example as a file writes it after the colon.
    name : str, optional
        Its key in a file, where that is another word: ``from``.
    default : optional
        As it is stored. Without one it is required.
    kw_only : bool, optional
        As of `dataclasses.field`.
    nullable : bool
        Whether a file may give null.
    stated : bool
        Whether a file has to have it, though Python has a default.
    compare : bool
        As of `dataclasses.field`.
    without : str, optional
        What holds where a file does not have it, for the page of the format, if the default does not say so.
    """
    given = {"key": Key(type, doc, example, name, default, nullable, stated, without)}
    if default is not MISSING and default.__class__.__hash__ is None:  # dataclasses take it for one that may change
        return field(default_factory=lambda: default, kw_only=kw_only, compare=compare, metadata=given)
    return field(default=default, kw_only=kw_only, compare=compare, metadata=given)


class DeclaredType(type):
    """Lets a call with wrong arguments raise an error of the package, which names the argument that may be meant."""

    @property
    def __signature__(cls) -> inspect.Signature:
        return _signature(cls)

    def __call__(cls, *args: object, **given: object) -> Any:
        kind: Any = cls
        made = kind.__new__(kind, *args, **given)  # may be of a subclass
        known: inspect.Signature = type(made).__signature__
        try:
            known.bind(*args, **given)
        except TypeError as error:
            names = [name for name in known.parameters if not name.endswith("_")]
            for name in given:
                if name not in known.parameters:
                    raise ModelError(cls.__name__, "a known argument", f"'{name}'", nearest(name, names)) from None
            got = re.sub("missing a required .*argument: ", "nothing for ", str(error))
            raise ModelError(cls.__name__, f"({', '.join(names)})", got) from None
        made.__init__(*args, **given)
        return made


class Declared(metaclass=DeclaredType):
    """A part of a robot whose fields are declared by `key`.

    Subclasses are frozen dataclasses. ``class Circle(Section, kind="circle")`` registers one under its key in files.
    """

    kind: ClassVar[str] = ""  # its key in a file
    title: ClassVar[str] = ""  # of its section in the page of the file format
    label: ClassVar[str] = ""  # in errors, where it has no name and no kind
    is_named: ClassVar[bool] = False  # whether it keeps the name under which a file has it
    template: ClassVar[str] = ""  # one to begin with, as a file writes it, where its example does not do
    short: ClassVar[str] = ""  # its only key, whose value may stand for all of it in a file
    registry: ClassVar[Registry]
    # groups of keys, or of sets of keys, of which a file gives one
    alternatives: ClassVar[tuple[tuple[str | tuple[str, ...], ...], ...]] = ()
    handles: ClassVar[tuple[Handle, ...]] = ()  # of numbers that have a place in space
    alternatives_overlap: ClassVar[bool] = False  # whether several of them may be given

    def __init_subclass__(cls, kind: str = "", title: str = "", **options: object) -> None:
        super().__init_subclass__(**options)
        if title:
            cls.title = title
        if kind:
            cls.kind = kind
            cls.registry.add(kind, cls)

    # -- what is declared --------------------------------------------------------------------------------------------

    @classmethod
    def declaration(cls) -> Mapping[str, Key]:
        """Keys by the names of fields."""
        return _keys(cls)

    @classmethod
    def key_names(cls) -> list[str]:
        """Keys as a file writes them."""
        return [name for key in cls.declaration().values() for name in key.type.names(key)]

    @classmethod
    def expected(cls) -> str:
        """What it looks like in a file, in words."""
        names = cls.key_names()
        return "a mapping with the keys " + ", ".join(names) if names else "{}"

    @classmethod
    def example(cls) -> str:
        """What a file says of one that has its required keys, and the first of those of which it needs one."""
        if cls.short:
            return cls.declaration()[cls.short].example
        groups = [[(one,) if isinstance(one, str) else one for one in group] for group in cls.alternatives]
        others = {name for group in groups for one in group[1:] for name in one}
        chosen = {name for group in groups for name in group[0]}
        known = {name: (about, key) for key in cls.declaration().values()
                 for name, about in key.type.described(key, lambda _: {}).items()}  # fmt: skip
        given = [f"{name}: {about.example}" for name, (about, key) in known.items() if about.example
                 and (name in chosen or (key.required and name == key.name and name not in others))]  # fmt: skip
        return "{" + ", ".join(given) + "}"

    @classmethod
    def short_schema(cls, define: Define) -> list[dict[str, Any]]:
        """JSON Schema of what may stand for all of it, if anything may."""
        return [cls.declaration()[cls.short].type.schema(define)] if cls.short else []

    # -- made in Python ----------------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        scope = Scope()
        at = At(scope, (self._where,), self)
        for name, key in self.declaration().items():
            value = getattr(self, name)
            if value is not key.default:
                self._set(**{name: key.type.read(value, at / key.name)})
        if scope.problems:
            raise failure(scope.problems)
        try:
            self.validate()
        except ModelError as error:
            raise error.inside(self._where) from error.__cause__

    @property
    def _where(self) -> str:
        """What it is called in errors."""
        name = getattr(self, "name", "")
        return (name if isinstance(name, str) else "") or self.kind or self.label or type(self).__name__.lower()

    def validate(self) -> None:
        """Refuse fields that do not go together, and set what follows from them."""

    def _set(self, **values: Any) -> None:
        """Store values, while it is made."""
        set_fields(self, **values)

    # -- read from a file --------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, data: object, at: At) -> Any:
        """The part that data describe; INVALID if they are refused, which is noted."""
        if isinstance(data, cls):
            return data
        if cls.short and not isinstance(data, Mapping):
            value = cls.declaration()[cls.short].type.read(data, at)
            return INVALID if value is INVALID else at.attempt(lambda: cls.make({cls.short: value}, at))
        if not isinstance(data, Mapping):
            return at.fail(cls.expected() if at.scope.is_file else f"a {cls.__name__}", shown(data))
        return cls.read_keys(data, at)

    @classmethod
    def read_keys(cls, data: Mapping[str, object], at: At, **values: object) -> Any:
        """The part that a mapping describes, further fields given."""
        try:
            cls.check_keys(data)
        except ModelError as error:
            return at.note(error)
        known = cls.key_names()
        unknown = [name for name in data if name not in known]
        for name in unknown:
            cls.unknown_key(name, data[name], at)
        wrong, n_problems = bool(unknown), len(at.scope.problems)
        for field_name, key in cls.declaration().items():
            if field_name in values:
                continue
            value = key.type.take(data, key, at)
            if value is INVALID:
                wrong = True
            elif value is not MISSING:
                values[field_name] = value
            elif key.required:
                wrong = True
                example = f"for instance {key.name}: {key.example}" if key.example else ""
                at.fail(f"the key '{key.name}'", "nothing", example)
        if unknown:
            # one mistake, one problem: the key may be a missing one misspelt, or the rest of a text with a comma
            unknown = [name for name in unknown if isinstance(name, str)]
            torn = any(data[name] is None and ":" not in name and not name.isidentifier() for name in unknown)
            meant = [one.expected for one in at.scope.problems[n_problems:] if one.path == at.path]
            missing = [one for one in at.scope.problems[n_problems:] if not torn]
            at.scope.problems[n_problems:] = [
                one
                for one in missing
                if one.expected not in meant or not any(_meant(name, one.expected[9:-1]) for name in unknown)
            ]
        return INVALID if wrong else at.attempt(lambda: cls.make(values, at))

    @classmethod
    def unknown_key(cls, name: str, value: object, at: At) -> None:
        """Note a key that is not known."""
        if not isinstance(name, str):
            at.fail("texts as keys", shown(name))
            return
        hint = nearest(name, cls.key_names())
        if value is None and ":" in name:
            hint = "write a space after the colon"
        elif value is None and not name.isidentifier():
            hint = "a text with commas needs quotes"
        (at / name).fail("a known key", shown(name), hint, at_key=True)

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        """Refuse keys that do not go together (ModelError), before their values are looked at."""

    @classmethod
    def make(cls, values: Mapping[str, object], at: At | None = None) -> Self:
        """One of values that are checked already."""
        out = object.__new__(cls)  # not called: it would read the values once more, at another place
        for name, default, factory in _defaults(cls):
            value = values.get(name, MISSING)
            if value is MISSING:
                value = factory() if default is MISSING else default
            out._set(**{name: value})
        out.validate()
        return out

    def changed(self, **values: object) -> Self:
        """The same with other values of fields, which are checked already."""
        return type(self).make({name: getattr(self, name) for name, _, _ in _defaults(type(self))} | values)

    # -- written to a file -------------------------------------------------------------------------------------------

    def data(self, writer: Writer) -> Any:
        """The data of a file that describe it: what is not as by default."""
        out: dict[str, Any] = {}
        for name, key in self.declaration().items():
            value = getattr(self, name)
            if key.required or not _same(value, key.default):
                try:
                    out |= key.type.give(value, key, writer)
                except ModelError as error:
                    raise error.inside(key.name) from None
        return out[self.short] if self.short else out


@cache
def _keys(cls: type[Declared]) -> Mapping[str, Key]:
    found = {}
    for own in dataclasses.fields(cls):  # type: ignore[arg-type]  # a dataclass, as all that are used
        if "key" in own.metadata:
            given: Key = own.metadata["key"]
            if own.init:
                found[own.name] = given.type.key_of(cls, dataclasses.replace(given, name=given.name or own.name))
    return found


@cache
def _signature(cls: type) -> inspect.Signature:
    # of the class itself, not of an instance
    own = inspect.signature(cls.__new__ if "__new__" in vars(cls) else cls.__init__)  # type: ignore[misc]
    return own.replace(parameters=list(own.parameters.values())[1:])


@cache
def _defaults(cls: type[Declared]) -> list[tuple[str, Any, Any]]:
    own = dataclasses.fields(cls)  # type: ignore[arg-type]
    return [(one.name, one.default, one.default_factory) for one in own if one.init]


def _forms(schema: dict[str, Any]) -> list[Any]:
    """The forms of a JSON Schema, those of an ``anyOf`` apart."""
    return schema["anyOf"] if set(schema) == {"anyOf"} else [schema]


def _same(value: object, default: object) -> bool:
    """Whether a value is the default."""
    if value is default:
        return True
    try:
        return bool(value == default)
    except ValueError:  # arrays
        return False


def _meant(written: str, name: str) -> bool:
    """Whether an unknown key may be the missing one."""
    return close(written, name) or written.startswith(f"{name}:")


def inexpressible(expected: str, got: object) -> ModelError:
    """The error of what has no place in a file."""
    return ModelError("", expected, type(got).__name__, "the format of files has nothing else; keep it in Python")
