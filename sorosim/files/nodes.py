"""Data of a file together with the place of every part, so that the expansion of a file loses no position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sorosim.base.declare import INVALID, At, Declared, Scope
from sorosim.base.errors import FileError
from sorosim.base.problems import Path, Place, Problem, failure, failure_at, shown
from sorosim.files.yaml_reader import MAX_NESTING, Positions, read_file

MAX_VALUES = 200_000  # of a robot whose parts are expanded
MAX_DEPTH = 2 * MAX_NESTING


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it was written: a scalar, a dict of nodes or a list of nodes.

    ``key`` is the place of its key, where it has one.
    """

    value: Any
    place: Place
    key: Place | None = None

    @property
    def entries(self) -> dict[str, Node]:
        """The entries of a mapping; none of anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """The entries of a list; of anything else itself."""
        return self.value if isinstance(self.value, list) else [self]

    @property
    def outline(self) -> Any:
        """Its outermost level, for messages."""
        if isinstance(self.value, list):
            return [entry.value for entry in self.value]
        return dict.fromkeys(self.value) if isinstance(self.value, dict) else self.value

    def noted(self, *notes: str) -> Node:
        """The same with further notes at its place, not at those of its entries."""
        if not notes:
            return self
        key = None if self.key is None else replace(self.key, notes=(*self.key.notes, *notes))
        return Node(self.value, replace(self.place, notes=(*self.place.notes, *notes)), key)


class Mistake(NamedTuple):
    """A mistake found while a file was expanded."""

    place: Place
    problem: Problem


class Mistakes(list[Mistake]):
    """Mistakes that were found."""

    def note(self, place: Place, expected: str, got: str, hint: str = "") -> None:
        """Note one."""
        self.append(Mistake(place, Problem(place.path, expected, got, hint)))

    def raise_if_any(self, file: str) -> None:
        """Raise what was found as one error."""
        if self:
            raise failure_at(self, file)


def refusal(place: Place, expected: str, got: str, hint: str = "") -> Exception:
    """The error of a single mistake."""
    return failure_at([Mistake(place, Problem(place.path, expected, got, hint))], place.file)


def nodes_of(data: object, file: str, positions: Positions | None = None, path: Path = ()) -> Node:
    """Nodes of plain data, at a path; without positions they have paths only."""

    def place(path: Path, at_key: bool) -> Place:
        if positions is None:
            return Place(file, 0, 0, path)
        line, column = (positions.keys if at_key else positions.values)[path]
        return Place(file, line, column, path)

    def convert(value: object, path: Path, is_entry: bool) -> Node:
        if isinstance(value, dict):
            value = {name: convert(entry, (*path, name), True) for name, entry in value.items()}
        elif isinstance(value, list):
            value = [convert(entry, (*path, i), False) for i, entry in enumerate(value)]
        return Node(value, place(path, False), place(path, True) if is_entry else None)

    return convert(data, path, False)


@dataclass
class Places:
    """Where every part of expanded data was written, by its path there."""

    values: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)

    def place(self, path: Path, at_key: bool = False) -> Place:
        """Place of what is at a path, or of its nearest ancestor; under the path that its own file gives it."""
        if at_key and path in self.keys:
            return self.keys[path]
        rest: Path = ()
        while path and path not in self.values:
            path, rest = path[:-1], (path[-1], *rest)
        found = self.values.get(path, Place())
        return replace(found, path=(*found.path, *rest)) if rest else found

    def under(self, *paths: Path) -> Places:
        """Those of the whole and of what is at some paths."""
        mine = [{at: place for at, place in own.items() if not at or any(at[: len(path)] == path for path in paths)}
                for own in (self.values, self.keys)]  # fmt: skip
        return Places(*mine)


def plain(root: Node) -> tuple[Any, Places]:
    """Plain data of nodes, and the places of its parts.

    Raises
    ------
    FileError, ModelError
        They are too many, or nested too deep: nodes may stand at many places of their tree.
    """
    places = Places()

    def convert(node: Node, path: Path) -> Any:
        if len(places.values) > MAX_VALUES:
            raise refusal(root.place, f"at most {MAX_VALUES} values with all parts and parameters", "more")
        if len(path) > MAX_DEPTH:
            raise refusal(node.place, f"at most {MAX_DEPTH} levels of nesting", "more")
        places.values[path] = node.place
        if node.key is not None:
            places.keys[path] = node.key
        if isinstance(node.value, dict):
            return {name: convert(entry, (*path, name)) for name, entry in node.value.items()}
        if isinstance(node.value, list):
            return [convert(entry, (*path, i)) for i, entry in enumerate(node.value)]
        return node.value

    return convert(root, ()), places


def joined(names: Iterable[str]) -> str:
    """Names as a chain."""
    return " -> ".join(names)


def mapping(entries: dict[str, Node], like: Sequence[Node | None]) -> Node:
    """A mapping at the place of the first node there is."""
    first = next(node for node in like if node is not None)
    return Node(entries, first.place, first.key)


def read_declared(path: Any, what: str, first_line: str, type: type[Declared]) -> tuple[Any, Any, Any]:
    """A file that is no robot's, checked: its object, its data, and where they stand.

    Raises
    ------
    FileError
        It cannot be read, or what it says is wrong: every mistake on a line of its own, with line and column.
    """
    expected = f"{what}, whose first line is '{first_line}'"
    document = read_file(path, what=expected)
    data, places = plain(nodes_of(document.data, str(path), document.positions))
    if not isinstance(data, dict) or first_line.partition(":")[0] not in data:
        got = "a robot's file" if isinstance(data, dict) and "sorosim" in data else shown(data)
        raise FileError(str(path), f"expected {expected}, got {got}", 1, 1)
    scope = Scope(data, is_file=True)
    found = type.read(data, At(scope))
    if found is INVALID:
        raise failure(scope.problems, places)
    return found, data, places
