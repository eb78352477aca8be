"""Edits of a file's text that change what they mean to change, and no other byte: comments, order and style stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from sorosim.base.errors import InputError, nearest
from sorosim.base.problems import Path, dotted, shown
from sorosim.files.prefabs import ENDS, OF_LINKS, REFERENCES, SIDES
from sorosim.files.yaml_reader import compose, is_block, read_text
from sorosim.files.yaml_writer import as_written, block_lines, inline

FILE = "robot"
# keys whose texts name what is in a block, and those whose entries are named after it or after its coordinates
NAMED_BY = {**REFERENCES, "links": (*REFERENCES["links"], *ENDS, *SIDES, "outputs"), "materials": ("material",),
            "prefabs": ("prefab",)}  # fmt: skip
KEYS = {"links": (OF_LINKS, "initial", "driven"), "actuators": ("u",), "parameters": ("with",)}


class Change(NamedTuple):
    """Text that takes the place of what stands between two offsets."""

    start: int
    end: int
    text: str


class Edit(NamedTuple):
    """Changes of a text, from its end to its begin, so that each leaves the offsets of the others."""

    changes: tuple[Change, ...]

    def applied(self, text: str) -> str:
        """The text with them."""
        for start, end, new in self.changes:
            text = text[:start] + new + text[end:]
        return text


def set_value(text: str, path: Path, value: Any) -> Edit:
    """Another value at a path; a key or a block that is not there yet is made.

    Raises
    ------
    InputError
        The path leads nowhere, or what stands there is shared by an alias.
    """
    source = _Source(text)
    spot, missing = source.nearest(path)
    if missing:
        if isinstance(missing[0], int):
            raise InputError(dotted(path), "an entry that is there", f"{missing[0]}")
        for part in reversed(missing[1:]):
            value = [value] if isinstance(part, int) else {part: value}
        return _checked(text, source.put(spot, str(missing[0]), value), _with(path[: len(spot.path) + 1], value))
    return _checked(text, [source.replaced(spot, value)], _with(path, value))


def put(text: str, path: Path, key: str | int, value: Any, before: str | int | None = None) -> Edit:
    """A new entry of the mapping or list at a path, at its end or before another one."""
    source = _Source(text)
    spot, missing = source.nearest(path)
    if missing:
        return set_value(text, path, {key: value} if isinstance(key, str) else [value])
    if isinstance(key, str) and key in spot.entries:
        raise InputError(dotted((*path, key)), "a name that is free", f"'{key}', which is taken")
    if before is not None and before not in spot.entries:
        raise InputError(dotted(path), "an entry that is there", shown(before))

    def expected(data: Any) -> Any:
        if isinstance(data, list):
            at = len(data) if before is None else int(before)
            return [*data[:at], value, *data[at:]]
        return _in_order(data or {}, key, value, before)

    return _checked(text, source.put(spot, key, value, before), _at(path, expected))


def exchange(text: str, path: Path, key: str, value: Any) -> str:
    """The text with another entry in the place of the one at a path, under another key of the same mapping."""
    renamed = rename_key(text, path, key).applied(text)
    return set_value(renamed, (*path[:-1], key), value).applied(renamed)


def remove(text: str, path: Path) -> Edit:
    """Take out what is at a path; comments above it stay."""
    source = _Source(text)
    spot = source.found(path)
    if not path:
        raise InputError("path", "that of an entry", "the whole file")

    def expected(data: Any) -> Any:
        if isinstance(data, list):
            return [entry for i, entry in enumerate(data) if i != path[-1]]
        return {name: entry for name, entry in data.items() if name != path[-1]}

    return _checked(text, [source.removed(spot)], _at(path[:-1], expected))


def rename_key(text: str, path: Path, name: str) -> Edit:
    """Another name for the key at a path; those that refer to it stay, see `rename`."""
    source = _Source(text)
    spot, parent = source.found(path), source.found(path[:-1])
    if spot.key is None:
        raise InputError(dotted(path), "an entry with a name", "an entry of a list")
    if name in parent.entries:
        raise InputError(dotted((*path[:-1], name)), "a name that is free", f"'{name}', which is taken")
    change = Change(spot.key.start_mark.index, spot.key.end_mark.index, inline(as_written(name)))
    return _checked(text, [change], _at(path[:-1], lambda data: _renamed(data, str(path[-1]), name)))


def rename(text: str, path: Path, name: str) -> Edit:
    """Another name for a part, a material, a parameter: what refers to it in the file follows.

    Names that are put together of parameters are left: the robot's reading then says where.
    """
    source = _Source(text)
    own = rename_key(text, path, name)
    block, old = str(path[-2]) if len(path) > 1 else "", str(path[-1])
    changes = {change.start: change for change in own.changes}
    # names inside a prefab are known there alone
    root = source.found(path[:2] if path[0] == "prefabs" and len(path) > 3 else ()).node
    if block == "parameters":
        use = re.compile(rf"(?<!\$)((?:\$\$)*)\$(\{{{re.escape(old)}\}}|{re.escape(old)}(?!\w))")

        def written(found: re.Match[str]) -> str:
            return f"{found[1]}$" + (f"{{{name}}}" if found[2].startswith("{") else name)

        for node in _scalars(root):
            start, end = node.start_mark.index, node.end_mark.index
            new = use.sub(written, text[start:end])
            if new != text[start:end]:
                changes[start] = Change(start, end, new)
        if path[0] != "prefabs":  # values of a prefab's parameters are given under its names
            return _unless_broken(text, Edit(tuple(sorted(changes.values(), reverse=True))))
    if block == "parts":  # what it brings is named after it; the file's own parts are not
        its_own = {str(key) for one in NAMED_BY for key in source.nearest((one,))[0].entries if path[0] != "prefabs"}

        def called(found: str) -> str:
            if found.partition(".")[0] in its_own:
                return found
            return re.sub(rf"^{re.escape(old)}(?=\d*_)", lambda _: name, found)

        blocks: tuple[str, ...] = tuple(NAMED_BY)
    else:

        def called(found: str) -> str:
            return re.sub(rf"^{re.escape(old)}(?=\.|$)", lambda _: name, found)

        blocks = (block,)
    keys = {key for one in blocks for key in NAMED_BY.get(one, ())}
    named = {key for one in blocks for key in KEYS.get(one, ())}
    for node in _references(root, keys, named):
        new = called(node.value)
        if new != node.value:
            start, end = int(node.start_mark.index), int(node.end_mark.index)
            plain = text[start:end] == node.value and inline(as_written(name)) == name
            changes[start] = Change(start, end, new if plain else inline(as_written(new)))
    return _unless_broken(text, Edit(tuple(sorted(changes.values(), reverse=True))))


def _unless_broken(text: str, edit: Edit) -> Edit:
    """An edit, if what it leaves can be read."""
    read_text(edit.applied(text), FILE)
    return edit


def _scalars(node: Any) -> Iterator[Any]:
    """All scalars of a node."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.CollectionNode):
        for entry in node.value:
            yield from _scalars(entry[1] if isinstance(entry, tuple) else entry)


def _references(node: Any, keys: Collection[str], named: Collection[str], key: str = "") -> Iterator[Any]:
    """Scalars that stand under some keys, alone or in lists, and keys of mappings that stand under others."""
    if isinstance(node, yaml.MappingNode):
        for name, entry in node.value:
            if key in named:
                yield name
            yield from _references(entry, keys, named, name.value)
    elif isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _references(entry, keys, named, key)
    elif key in keys:
        yield node


def move(text: str, path: Path, before: str | int | None) -> Edit:
    """Put an entry before another one of its mapping or list, or at the end; comments right above it go with it."""
    source = _Source(text)
    spot, parent = source.found(path), source.found(path[:-1])
    if before is not None and before not in parent.entries:
        raise InputError(dotted(path), "an entry beside it", shown(before))

    def expected(data: Any) -> Any:
        if isinstance(data, list):
            own = int(path[-1])
            others = [*data[:own], *data[own + 1 :]]
            at = len(others) if before is None else int(before) - (int(before) > own)
            return [*others[:at], data[own], *others[at:]]
        rest = {key: entry for key, entry in data.items() if key != path[-1]}
        return _in_order(rest, path[-1], data[path[-1]], before)

    beside: list[str | int | None] = [*parent.entries, None]
    if before in (path[-1], beside[beside.index(path[-1]) + 1]):  # it stands there
        return Edit(())
    return _checked(text, source.moved(spot, parent, before), _at(path[:-1], expected))


def copy(text: str, path: Path, name: str) -> Edit:
    """The same entry once more, after it, under another name (of a list: any)."""
    source = _Source(text)
    spot, parent = source.found(path), source.found(path[:-1])
    if spot.key is not None and name in parent.entries:
        raise InputError(dotted((*path[:-1], name)), "a name that is free", f"'{name}', which is taken")

    def expected(data: Any) -> Any:
        if isinstance(data, list):
            i = int(path[-1]) + 1
            return [*data[:i], data[i - 1], *data[i:]]
        order = list(data)
        after = order[order.index(str(path[-1])) + 1 :]
        return _in_order(data, name, data[path[-1]], after[0] if after else None)

    return _checked(text, [source.copied(spot, parent, name)], _at(path[:-1], expected))


# -- what is expected of an edit ---------------------------------------------------------------------------------------


def _checked(text: str, changes: Sequence[Change], expected: Callable[[Any], Any]) -> Edit:
    """The edit, if it does to the data what it should, and nothing else."""
    edit = Edit(tuple(sorted(changes, reverse=True)))
    try:
        found = read_text(edit.applied(text), FILE).data
    except Exception as error:
        found = error
    wanted = expected(read_text(text, FILE).data)
    if not _equal(found, wanted):
        raise InputError(FILE, "an entry that can be changed on its own", "one that is shared by an alias, or laid out "
                         "in a way that edits do not know", "change it in the text")  # fmt: skip
    return edit


def _equal(a: Any, b: Any) -> bool:
    """Whether data are the same, their order included."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (a, b))  # 3.0 is written as 3
    return (numbers or type(a) is type(b)) and (a == b or (a != a and b != b))


def _at(path: Path, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A change of what is at a path, as one of the whole."""

    def changed(data: Any, rest: Path = path) -> Any:
        if not rest:
            return change(data)
        out: Any = dict(data) if isinstance(data, dict) else list(data)
        out[rest[0]] = changed(data[rest[0]], rest[1:])
        return out

    return changed


def _with(path: Path, value: Any) -> Callable[[Any], Any]:
    if not path:
        return lambda _: value
    if isinstance(path[-1], int):
        return _at(path, lambda _: value)
    return _at(path[:-1], lambda data: {**(data or {}), path[-1]: value})


def _in_order(data: Any, key: Any, value: Any, before: Any) -> Any:
    out: dict[Any, Any] = {}
    for name, entry in data.items():
        if name == before:
            out[key] = value
        out[name] = entry
    return out | {key: value}


def _renamed(data: Any, old: str, new: str) -> Any:
    return {new if key == old else key: entry for key, entry in data.items()}


# -- places in the text ------------------------------------------------------------------------------------------------


class _Spot(NamedTuple):
    """An entry of a file: its node, that of its key, and its path."""

    node: Any
    key: Any
    path: Path
    entries: dict[str | int, tuple[Any, Any]]  # keys or indices -> node of the key or None, node

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written."""
        return isinstance(self.node, yaml.ScalarNode) and not self.node.value and not self.node.style

    @property
    def is_block(self) -> bool:
        """Whether it is a mapping or a list on lines of its own."""
        return is_block(self.node)


class _Source:
    """A text and the places of what it says."""

    def __init__(self, text: str) -> None:
        self.text, self.root = text, compose(text, FILE)

    def spot(self, node: Any, key: Any, path: Path) -> _Spot:
        entries: dict[str | int, tuple[Any, Any]] = {}
        if isinstance(node, yaml.MappingNode):
            entries = {one.value: (one, entry) for one, entry in node.value}
        elif isinstance(node, yaml.SequenceNode):
            entries = {i: (None, entry) for i, entry in enumerate(node.value)}
        return _Spot(node, key, path, entries)

    def nearest(self, path: Path) -> tuple[_Spot, Path]:
        """What is there of a path, and the rest of it."""
        spot = self.spot(self.root, None, ())
        for i, part in enumerate(path):
            if part not in spot.entries:
                if not spot.is_empty and not isinstance(spot.node, yaml.MappingNode):
                    if isinstance(spot.node, yaml.SequenceNode):
                        raise InputError(dotted(path), f"one of {len(spot.entries)} entries", f"'{part}'")
                    raise InputError(dotted(path), "a path to an entry", f"'{part}' in what has no names")
                return spot, path[i:]
            key, node = spot.entries[part]
            spot = self.spot(node, key, path[: i + 1])
        return spot, ()

    def found(self, path: Path) -> _Spot:
        """What is at a path."""
        spot, missing = self.nearest(path)
        if missing:
            raise InputError(dotted(path), "an entry that is there", shown(missing[0]),
                             nearest(str(missing[0]), map(str, spot.entries)))  # fmt: skip
        return spot

    def begin(self, spot: _Spot) -> int:
        """Where an entry begins, its key included."""
        return int((spot.key or spot.node).start_mark.index)

    def end(self, node: Any, key: Any = None) -> int:
        """Where what a node says ends."""
        if is_block(node) and node.value:
            last = node.value[-1]
            return self.end(last[1], last[0]) if isinstance(last, tuple) else self.end(last)
        if isinstance(node, yaml.ScalarNode) and not node.value and not node.style and key is not None:
            return self.text.index(":", key.end_mark.index) + 1
        end = int(node.end_mark.index)
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):  # up to the next token
            return len(self.text[:end].rstrip("\n "))
        return end

    def end_of_line(self, at: int) -> int:
        """The offset after the line of an offset."""
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def leads(self, at: int) -> bool:
        """Whether nothing but spaces is before an offset in its line."""
        return not self.text[self.line_start(at) : at].strip()

    def with_comments(self, start: int) -> int:
        """Where the comments right above a line begin, that are indented as it is."""
        line = self.line_start(start)
        indent = start - line
        while line:
            above = self.line_start(line - 1)
            words = self.text[above:line]
            if not words.lstrip().startswith("#") or len(words) - len(words.lstrip(" ")) != indent:
                break
            line = above
        return line

    # -- changes -------------------------------------------------------------------------------------------------------

    def replaced(self, spot: _Spot, value: Any) -> Change:
        """Another value in the place of one."""
        value = as_written(value)
        if spot.is_empty:
            at = self.end(spot.node, spot.key)
            return Change(at, at, self._after_colon(spot, value))
        start, end = int(spot.node.start_mark.index), self.end(spot.node, spot.key)
        alone = not spot.entries and not self.text[end : self.end_of_line(end)].strip()  # links: {}
        begins = alone and len(spot.path) == 1 and isinstance(spot.node, yaml.CollectionNode) and value
        if (spot.is_block or begins) and spot.key is not None:
            return Change(self.text.index(":", spot.key.end_mark.index) + 1, end, self._after_colon(spot, value))
        if spot.is_block and not spot.path:
            return Change(start, end, "\n".join(block_lines(value, 0, 0)))
        return Change(start, end, inline(value))

    def _after_colon(self, spot: _Spot, value: Any) -> str:
        """A value after its key: on the line, or below it where it is a block."""
        indent = (spot.key.start_mark.column if spot.key is not None else 0) + 2
        if isinstance(value, dict | list) and value and len(spot.path) == 1:
            return "\n" + "\n".join(block_lines(value, indent, 1))
        return " " + inline(value)

    def put(self, spot: _Spot, key: str | int, value: Any, before: str | int | None = None) -> list[Change]:
        """A new entry in a mapping or a list."""
        value, name = as_written(value), None if isinstance(key, int) else str(key)
        if not spot.entries:  # nothing, {} or []
            whole = [value] if name is None else {as_written(name): value}
            return [self.replaced(spot, whole)]
        if not spot.is_block:
            return [self._put_in_line(spot, name, value, before)]
        indent = spot.node.start_mark.column
        top = not spot.path
        lines = block_lines({as_written(name): value} if name is not None else [value], indent, 0 if top else 1)
        lines = lines[1:] if lines and not lines[0].strip() else lines  # the line between blocks
        gap = "\n" if top and isinstance(value, dict | list) and value else ""
        if before is None:
            last_key, last = list(spot.entries.values())[-1]
            at = self.end_of_line(self.end(last, last_key))
            begin = "" if at == 0 or self.text[at - 1] == "\n" else "\n"
            return [Change(at, at, begin + gap + "\n".join(lines) + "\n")]
        entry_key, entry = spot.entries[before]
        at = (entry_key or entry).start_mark.index
        if entry_key is None:  # the dash
            at = self.text.rindex("-", 0, at)
        if self.leads(at):
            line = self.with_comments(at)
            return [Change(line, line, "\n".join(lines) + "\n" + gap)]
        new = "\n".join(lines).lstrip(" ")  # after the dash of a list
        return [Change(at, at, f"{new}\n{' ' * indent}")]

    def _put_in_line(self, spot: _Spot, name: str | None, value: Any, before: str | int | None) -> Change:
        new = inline(value) if name is None else inline({as_written(name): value})[1:-1]
        if before is not None:
            entry_key, entry = spot.entries[before]
            at = (entry_key or entry).start_mark.index
            return Change(at, at, f"{new}, ")
        last_key, last = list(spot.entries.values())[-1]
        at = self.end(last, last_key)
        return Change(at, at, f", {new}")

    def _dash_or_key(self, spot: _Spot) -> int:
        """Where an entry of a block begins, the dash of a list included."""
        at = self.begin(spot)
        return at if spot.key is not None else self.text.rindex("-", 0, at)

    def removed(self, spot: _Spot) -> Change:
        """Nothing in the place of an entry."""
        parent = self.found(spot.path[:-1])
        names = list(parent.entries)
        i = names.index(spot.path[-1])
        following = parent.entries[names[i + 1]] if i + 1 < len(names) else None
        end = self.end(spot.node, spot.key)
        if not parent.is_block:
            start = self.begin(spot)
            if following is not None:
                return Change(start, int((following[0] or following[1]).start_mark.index), "")
            if i:
                key, node = parent.entries[names[i - 1]]
                return Change(self.end(node, key), end, "")
            return Change(start, end, "")
        if len(names) == 1:
            nothing: Any = {} if isinstance(parent.node, yaml.MappingNode) else []
            return self.replaced(parent, nothing)
        start = self._dash_or_key(spot)
        if self.leads(start):
            return Change(self.line_start(start), self.end_of_line(end), "")
        if following is None:  # the first entry behind the dash of a list has one that follows
            raise InputError(dotted(spot.path), "an entry on lines of its own", "one beside another",
                             "change it in the text")  # fmt: skip
        return Change(start, int((following[0] or following[1]).start_mark.index), "")

    def _whole(self, spot: _Spot) -> tuple[int, int]:
        """The lines of an entry of a block, with the comments right above."""
        start = self._dash_or_key(spot)
        if not self.leads(start):
            raise InputError(dotted(spot.path), "an entry on lines of its own", "one beside a dash",
                             "change it in the text")  # fmt: skip
        return self.with_comments(start), self.end_of_line(self.end(spot.node, spot.key))

    def moved(self, spot: _Spot, parent: _Spot, before: str | int | None) -> list[Change]:
        """An entry at another place among those beside it."""
        names = list(parent.entries)
        if not parent.is_block:
            pieces = {name: self.text[int((key or node).start_mark.index) : self.end(node, key)]
                      for name, (key, node) in parent.entries.items()}  # fmt: skip
            order = [name for name in names if name != spot.path[-1]]
            place = len(order) if before is None else order.index(before)
            order = [*order[:place], spot.path[-1], *order[place:]]
            changes = []
            for name, new in zip(names, order, strict=True):
                key, node = parent.entries[name]
                if name != new:
                    changes.append(Change(int((key or node).start_mark.index), self.end(node, key), pieces[new]))
            return changes
        start, end = self._whole(spot)
        lines = self.text[start:end]
        if before is None:
            at = self.end_of_line(self.end(parent.node))
        else:
            key, node = parent.entries[before]
            at = self._whole(self.spot(node, key, (*spot.path[:-1], before)))[0]
        if not lines.endswith("\n"):
            lines += "\n"
        if at in (start, end):
            return []
        begin = "" if at == 0 or self.text[at - 1] == "\n" else "\n"
        return [Change(start, end, ""), Change(at, at, begin + lines)]

    def copied(self, spot: _Spot, parent: _Spot, name: str) -> Change:
        """An entry once more, after it."""
        new = inline(as_written(name))
        end = self.end(spot.node, spot.key)
        if not parent.is_block:
            own = self.text[self.begin(spot) : end]
            if spot.key is not None:
                own = new + own[spot.key.end_mark.index - spot.key.start_mark.index :]
            return Change(end, end, f", {own}")
        start, stop = self._dash_or_key(spot), self.end_of_line(end)
        first = self.line_start(start)
        own = " " * (start - first) + self.text[start:stop]
        if spot.key is not None:
            width = spot.key.end_mark.index - spot.key.start_mark.index
            own = " " * (start - first) + new + self.text[start + width : stop]
        begin = "" if own.endswith("\n") else "\n"
        return Change(stop, stop, begin + own)
