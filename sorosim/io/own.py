"""Plug-ins of users in files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sorosim.errors import ModelError
from sorosim.problems import Collector, Path
from sorosim.registry import Registry, make, parameters_of
from sorosim.units.quantity import quantity
from sorosim.units.table import DIMENSIONS


def own_of(todo: Collector, path: Path, own: tuple[str, Any], registry: Registry) -> Any:
    """What a plug-in makes of its parameters; None if something is wrong, which is noted."""
    name, given = own
    kind = todo.attempt(path, lambda: registry.get(name))
    if kind is None:
        return None
    read, n_problems = given, len(todo.problems)
    if isinstance(given, Mapping):
        names = todo.attempt(path, lambda: parameters_of(kind)) or {}
        for key in given:
            todo.known((*path, key), f"a parameter of {name}", str(key), names, at_key=True)
        read = {key: _value(todo, (*path, key), kind, str(key), value) for key, value in given.items()}
    if len(todo.problems) > n_problems:
        return None
    return todo.attempt(path, lambda: make(name, kind, read))


def _value(todo: Collector, path: Path, kind: Any, key: str, value: Any) -> Any:
    """A parameter; one of those that the type lists in `quantities`, name -> dimension, is read with its unit."""
    dimension = getattr(kind, "quantities", {}).get(key)
    if dimension is None:
        return _frozen(value)
    if isinstance(value, list):
        return tuple(todo.attempt((*path, i), lambda x=x: _quantity(x, dimension)) for i, x in enumerate(value))  # type: ignore[misc]
    return todo.attempt(path, lambda: _quantity(value, dimension))


def _frozen(value: Any) -> Any:
    """Lists as tuples: descriptions do not change."""
    return tuple(_frozen(x) for x in value) if isinstance(value, list) else value


def _quantity(value: Any, dimension: str) -> float:
    if dimension not in DIMENSIONS:
        known = ", ".join(DIMENSIONS)
        raise ModelError("", f"a plug-in whose quantities are of known dimensions ({known})", f"'{dimension}'")
    return quantity(value, dimension)
