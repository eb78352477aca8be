"""Public functions and classes: an argument of a wrong kind is one error that names it, whatever failed over it.

So is a name that a result does not hold."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property, wraps
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np

from sorosim.base.errors import UNPRINTABLE, ByName, InputError, SorosimError
from sorosim.base.frozen import set_fields
from sorosim.base.validation import LARGEST, as_real, describe

T = TypeVar("T")
# unions that annotations name; arrays are judged by what numpy makes of them
_ALIASES = {
    "Number": "float | str",
    "Values": "ArrayLike | Mapping[str, Number]",
    "Inputs": "ArrayLike | Mapping[str, ArrayLike | Number]",
    "Names": "Sequence[str] | None",
    "InitialState": "Values | Equilibrium | Run",
    "Progress": "Callable",
}
_WORDS = {
    "None": "nothing", "bool": "True or False", "int": "an integer", "float": "a finite number", "str": "a text",
    "Path": "a path", "PathLike": "a path", "ArrayLike": "finite numbers", "Array": "finite numbers",
    "IntArray": "integers", "Mapping": "a mapping", "dict": "a mapping", "Callable": "a function",
    **dict.fromkeys(("Sequence", "Iterable", "Collection", "list", "tuple"), "a sequence"),
}  # fmt: skip


def public(thing: T) -> T:
    """Let a public function, or the public methods of a class, refuse arguments that do not fulfil their annotations.

    A call costs nothing more until it raises an error that is not sorosim's. Its arguments are then compared with
    their annotations, and the first that does not fulfil its own is named in an `InputError`. If all do, the error
    goes on as it is: it is a fault of sorosim, or comes from a function that the caller gave.

    What is annotated as a dict by names, returned or a field of a class, is a `ByName`.
    """
    if not isinstance(thing, type):
        return cast(T, _guarded(cast(Callable[..., Any], thing)))
    for name, member in [*vars(thing).items()]:
        if name.startswith("_") and (name not in ("__init__", "__call__") or is_dataclass(thing)):
            continue
        if isinstance(member, classmethod | staticmethod):
            setattr(thing, name, type(member)(_guarded(member.__func__)))
        elif inspect.isfunction(member) and not inspect.isgeneratorfunction(member):
            setattr(thing, name, _guarded(member))
        elif isinstance(member, property) and member.fget and _holds_names(member.fget.__annotations__.get("return")):
            setattr(thing, name, property(_guarded(member.fget), member.fset, member.fdel, member.__doc__))
        elif isinstance(member, cached_property):
            member.func = _guarded(member.func)
    own = [one.name for one in fields(thing) if _holds_names(one.type)] if is_dataclass(thing) else []
    if own and "__init__" in vars(thing):
        thing.__init__ = _naming(vars(thing)["__init__"], own)  # type: ignore[misc]
    return cast(T, thing)


def _holds_names(annotation: object) -> bool:
    return str(annotation).startswith("dict[str, ")


def _naming(init: Callable[..., None], names: Sequence[str]) -> Callable[..., None]:
    """An initialiser after which these fields are `ByName`."""

    @wraps(init)
    def called(self: object, *args: object, **kwargs: object) -> None:
        init(self, *args, **kwargs)
        set_fields(self, **{name: ByName(name, getattr(self, name)) for name in names})

    return called


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    holds_names = _holds_names(function.__annotations__.get("return"))

    @wraps(function)
    def called(*args: object, **kwargs: object) -> Any:
        try:
            result = function(*args, **kwargs)
            return ByName(function.__name__, result) if holds_names else result
        except SorosimError:
            raise
        except Exception as error:
            if wrong := _misfit(function, args, kwargs):
                raise wrong from error
            raise

    return called


def _misfit(function: Callable[..., Any], args: Sequence[object], kwargs: Mapping[str, object]) -> InputError | None:
    """What is wrong with the first argument that does not fulfil its annotation, None if all do."""
    parameters = inspect.signature(function).parameters
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # arguments that are missing or unknown are Python's own affair
        return None
    for name, value in given.items():
        one = parameters[name]
        if not isinstance(one.annotation, str) or value is one.default:
            continue
        kind = ast.parse(one.annotation, mode="eval").body
        several: dict[str, Any] = {name: value}
        if one.kind is one.VAR_KEYWORD:
            several = value
        elif one.kind is one.VAR_POSITIONAL:
            several = {f"{name}[{i}]": entry for i, entry in enumerate(value)}
        for where, entry in several.items():
            if not _fits(entry, kind, function.__globals__):
                return InputError(where, _in_words(kind), describe(entry))
    return None


def _fits(value: object, kind: ast.expr, names: Mapping[str, object]) -> bool:
    """Whether a value fulfils an annotation; what cannot be judged does."""
    if isinstance(kind, ast.BinOp):
        return _fits(value, kind.left, names) or _fits(value, kind.right, names)
    if isinstance(kind, ast.Constant):
        return (
            value is None if kind.value is None else _fits(value, ast.parse(str(kind.value), mode="eval").body, names)
        )
    if isinstance(kind, ast.Subscript):
        inner = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
        name = ast.unparse(kind.value)
        if name in ("Mapping", "dict"):
            return isinstance(value, Mapping) and all(
                _fits(x, inner[0], names) and _fits(y, inner[1], names) for x, y in value.items()
            )
        if name in ("Sequence", "Iterable", "Collection", "list", "tuple"):
            if (
                isinstance(value, str | bytes | Mapping)
                or not isinstance(value, Iterable)
                or getattr(value, "ndim", 1) == 0
            ):
                return False
            alike = name != "tuple" or (len(inner) == 2 and ast.unparse(inner[1]) == "...")
            return not (alike and isinstance(value, Collection)) or all(_fits(x, inner[0], names) for x in value)
        return _fits(value, kind.value, names)
    name = ast.unparse(kind)
    if name in _ALIASES:
        return _fits(value, ast.parse(_ALIASES[name], mode="eval").body, names)
    if name in _JUDGED:
        return _JUDGED[name](value)
    found = names.get(name, getattr(builtins, name, None))
    try:
        return found is Any or not isinstance(found, type) or isinstance(value, found)
    except TypeError:  # a protocol that says nothing at run time
        return True


def _is_finite(value: object) -> bool:
    real = as_real(value)
    return real is not None and abs(real) <= LARGEST


def _are_numbers(value: object) -> bool:
    try:
        array = np.asanyarray(value)
        return array.dtype.kind in "fiu" and not np.ma.is_masked(array) and bool(np.all(np.abs(array) <= LARGEST))
    except Exception:  # numpy raises what the conversions of strangers raise
        return False


_JUDGED: Mapping[str, Callable[[Any], bool]] = {
    "bool": lambda x: isinstance(x, bool | np.bool_),
    "int": lambda x: isinstance(x, Integral) and not isinstance(x, bool) and abs(int(x)) < 2**63,
    "float": _is_finite,
    "str": lambda x: isinstance(x, str) and UNPRINTABLE.search(x) is None,
    "Path": lambda x: isinstance(x, os.PathLike),
    "PathLike": lambda x: isinstance(x, str | os.PathLike),
    "Callable": callable,
    **dict.fromkeys(("Array", "ArrayLike", "IntArray"), _are_numbers),
}


def _in_words(kind: ast.expr) -> str:
    """What an annotation expects, in words."""
    if isinstance(kind, ast.BinOp):
        parts = (_in_words(one) for one in (kind.left, kind.right))
        return " or ".join(dict.fromkeys(part for part in parts if part != _WORDS["None"]))
    if isinstance(kind, ast.Subscript):
        inner = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
        outer = _in_words(kind.value)
        if outer == _WORDS["Mapping"] and any(ast.unparse(one) != "Any" for one in inner):
            return f"{outer} of {_in_words(inner[0])} to {_in_words(inner[1])}"
        return f"{outer} of {_in_words(inner[0])}" if outer == _WORDS["Sequence"] else outer
    name = str(kind.value) if isinstance(kind, ast.Constant) else ast.unparse(kind)
    if name in _ALIASES:
        return _in_words(ast.parse(_ALIASES[name], mode="eval").body)
    return _WORDS.get(name, "anything" if name == "Any" else f"a {name}")
