"""The scalars of a file by their paths, and descriptions in which one of them carries a derivative."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import Any

from sorosim.base.errors import InputError, ModelError, SorosimError, nearest
from sorosim.base.problems import Path, shown
from sorosim.base.units.quantity import in_si, is_quantity, quantity
from sorosim.base.units.seeded import SYMBOL, Seeded, seeded
from sorosim.base.units.table import DIMENSIONS, dimension_of
from sorosim.base.validation import as_real
from sorosim.files.build import description_from, numbers_of
from sorosim.files.document import Document
from sorosim.files.expand import Expanded, expand
from sorosim.files.nodes import Node
from sorosim.mechanics.model.description import PARTS, Description

SHAPING = tuple(block for block in PARTS if block != "sensors")
# blocks of a file that say what the robot is, and keys in them whose numbers count something
BLOCKS = ("gravity", "parameters", "materials", "links", *SHAPING, "prefabs", "parts")
COUNTS = ("strain", "quadrature", "repeat", "visual", "times", "values", "faces")
# blocks whose keys are names that a user chose
NAMED = ("parameters", "materials", "links", *SHAPING, "prefabs", "parts", "with", "frames")
# ends of line loads and tendons, which are boundaries of divisions, places of tables, numbers of divisions
PLACES: dict[str, Any] = {"from": (int, float, str), "to": (int, float, str), "s": list, "divisions": (int, float, str)}
RUNS = ("initial", "simulate", "statics", "sensors")
_INDEX = re.compile(r"\.(\d+)(?=[.\[]|\Z)")


class Scalars:
    """The scalars of a robot's file.

    Parameters
    ----------
    document : Document
        The file.
    """

    def __init__(self, document: Document) -> None:
        self.document, self.root = document, document.root

    @cached_property
    def paths(self) -> dict[str, Path]:
        """Their paths by what these are called."""
        return {_text_of(path): path for path, _ in _scalars(self.document.root, ())}

    def path(self, name: str) -> Path:
        """Where a scalar is; InputError with the nearest names if there is none."""
        found = self.paths.get(_INDEX.sub(r"[\1]", name.strip()) if isinstance(name, str) else "")
        if found is None:
            hint = nearest(str(name), self.paths)
            raise InputError("parameters", "the path of a number in the robot's file", shown(name), hint)
        return found

    def value(self, name: str) -> float:
        """Its value in SI units."""
        written = self.text(name)
        number = as_real(written)
        return in_si(written) if number is None else number

    def text(self, name: str) -> Any:
        """It as it is written: a number, or a text with a unit."""
        node = self.root
        for key in self.path(name):
            node = node.value[key]
        return node.value

    def dimension(self, name: str) -> str | None:
        """Its dimension, one of `DIMENSIONS`: that of its unit or of the keys in which it stands; None if unknown."""
        written, dimensions = self.text(name), self._declared[0]
        uses = [(dimensions.get(path), use) for path, use in self._uses(name)]
        for dimension, use in uses:
            if dimension is not None and use.formula == SYMBOL:
                return dimension
        if isinstance(written, str) and (dimension := dimension_of(written)) is not None:
            return dimension
        for dimension, use in uses:
            if dimension is not None:
                # last plain numbers: a formula without units is one in SI units, which fits everywhere
                candidates = sorted(DIMENSIONS, key=lambda name: name in ("number", "angle"))
                return next((one for one in candidates if _fits(use.formula, one, dimension)), None)
        return None

    def is_formula(self, name: str) -> bool:
        """Whether it is the text of a formula where it is used: ``2*s`` along a rod is no 2 seconds."""
        written, variables = self.text(name), self._declared[1]
        if not isinstance(written, str) or is_quantity(written, tuple({x for own in variables.values() for x in own})):
            return False
        return any(not is_quantity(written, variables.get(path, ())) for path, _ in self._uses(name))

    def _uses(self, name: str) -> list[tuple[Path, Seeded]]:
        """What depends on it, and where that stands in the expanded file."""
        try:
            data = self._expanded(_seeded(self.root, self.path(name), self.value(name))).data
        except SorosimError:  # it counts something
            return []
        return list(_seeded_uses(data, ()))

    @cached_property
    def _declared(self) -> tuple[dict[Path, str], dict[Path, tuple[str, ...]]]:
        """Dimensions and variables of all numbers of the expanded file."""
        return numbers_of(self._expanded(self.document.root))

    def varied(self, name: str) -> Description:
        """Description in which the scalar carries the derivative 1; only within `varying`."""
        return self._description(_seeded(self.root, self.path(name), self.value(name)))

    def at(self, values: Mapping[str, float | str]) -> Scalars:
        """The same file with other values of scalars, in SI units or as texts with units."""
        _ = self.paths  # they stay
        out = copy(self)
        for name, value in values.items():
            out.root = _replaced(out.root, self.path(name), value)
        return out

    @property
    def description(self) -> Description:
        """What the file says."""
        return self._description(self.root)

    def changed(self, name: str, value: float) -> Description:
        """Description with another value of the scalar [SI]."""
        return self._description(_replaced(self.root, self.path(name), value))

    def _description(self, root: Node) -> Description:
        return description_from(self._expanded(root), self.document.reading)

    def _expanded(self, root: Node) -> Expanded:
        """What the file says of the robot, not of its runs."""
        expanded = expand(root, self.document.file, None)
        return expanded._replace(data={key: block for key, block in expanded.data.items() if key not in RUNS})


def _scalars(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    """Numbers and quantities that say what the robot is."""
    if isinstance(node.value, dict):
        named = bool(path) and path[-1] in NAMED and (len(path) == 1 or path[-2] not in NAMED)
        for key, entry in node.value.items():
            counts = key in COUNTS or isinstance(entry.value, PLACES.get(key, ()))
            if (named or not counts) and (path or key in BLOCKS):
                yield from _scalars(entry, (*path, key))
    elif isinstance(node.value, list):
        for i, entry in enumerate(node.value):
            yield from _scalars(entry, (*path, i))
    elif as_real(node.value) is not None or (isinstance(node.value, str) and _is_quantity(node.value)):
        yield path, node


def _is_quantity(text: str) -> bool:
    try:
        in_si(text)
    except ModelError:
        return False
    return True


def _seeded_uses(data: object, path: Path) -> Iterator[tuple[Path, Seeded]]:
    """What depends on a seeded scalar, and where it stands in plain data."""
    if isinstance(data, Seeded):
        yield path, data
    elif isinstance(data, dict | list):
        for key, entry in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _seeded_uses(entry, (*path, key))


def _fits(formula: str, dimension: str, whole: str) -> bool:
    """Whether a formula is of a dimension where the scalar in it is of another one."""
    try:
        quantity(formula.replace(SYMBOL, f"(1 {DIMENSIONS[dimension].unit or 'rad'})"), whole)
    except ModelError:
        return False
    return True


def _text_of(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


def _seeded(root: Node, path: Path, scalar: float) -> Node:
    """The same with the scalar at the path marked."""
    found = root
    for key in path:
        found = found.value[key]
    return _replaced(root, path, seeded(found.value, scalar))


def _replaced(node: Node, path: Path, value: object) -> Node:
    """The same with another value at the path."""
    if not path:
        return Node(value, node.place, node.key)
    key, made = path[0], _replaced(node.value[path[0]], path[1:], value)
    if isinstance(key, int):
        return Node([*node.value[:key], made, *node.value[key + 1 :]], node.place, node.key)
    return Node({**node.value, key: made}, node.place, node.key)
