"""Prefabs and parts: a sub-tree is written once, and becomes links, loops, loads and so on of every part.

The links of part ``thumb`` are called ``thumb_proximal`` and so on; names inside the prefab are mapped, all others
mean what they mean where the part is. Links on the world of a prefab hang on the parent of the part, and loops that end
there end on it. Parts of a chain hang on each other: all but the first on a link of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sorosim.base.declare import Integer
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import shown
from sorosim.files.include import written_at
from sorosim.files.nodes import Mistakes, Node, joined, refusal
from sorosim.files.parameters import ParameterScope, substituted
from sorosim.mechanics.model.description import PARTS
from sorosim.mechanics.model.link import WORLD

MAX_LINKS, MAX_DEPTH, MAX_REPEAT = 5000, 10, 1000
INDEX = "i"
BLOCKS = ("links", *PARTS)
ENDS = ("from", "to")  # of loops and springs
SIDES = ("between", "and", "among")  # of contacts
OF_LINKS = "links"  # a key of a load whose entries are named after links
# keys whose texts are names of what is in these blocks
REFERENCES = {
    "links": ("parent", "rod", "link", "leader", "joint_wrench"), "loops": ("loop", "loop_wrench"),
    "actuators": ("tendon",), "loads": ("load",),
}  # fmt: skip

Blocks = dict[str, dict[str, Node]]


class PartMaker:
    """Makes parts out of prefabs."""

    def __init__(self, prefabs: Mapping[str, Node], mistakes: Mistakes) -> None:
        self.prefabs, self.mistakes, self.n_links = prefabs, mistakes, 0

    def blocks(
        self, body: Mapping[str, Node], scope: ParameterScope, full: str = "", chain: tuple[str, ...] = ()
    ) -> Blocks:
        """Links, loops, loads and so on of a file or a prefab, those of its parts included.

        Parameters
        ----------
        full : str
            Name of the part that the body is for, "" for the file.
        chain : tuple of str
            Prefabs that the body is in.
        """
        notes = (f"as part '{full}'",) if full else ()
        out: Blocks = {}
        for block in BLOCKS:
            node = body.get(block)
            out[block] = {} if node is None else dict(substituted(node, scope, self.mistakes, notes).entries)
        self.n_links += len(out["links"])
        for name, part in (body["parts"].entries if "parts" in body else {}).items():
            before = ""
            for own_name, own_scope in self.repeated(name, part, scope, notes):
                self.count(part)
                made = self.part(own_name, part, own_scope, f"{full}_{own_name}" if full else own_name, chain, before)
                for block, entries in made.items():
                    self.bring(out[block], entries)
                before = own_name
        return out

    def repeated(
        self, name: str, part: Node, scope: ParameterScope, notes: tuple[str, ...]
    ) -> Iterator[tuple[str, ParameterScope]]:
        """Name and parameters of each part that an entry stands for."""
        if "repeat" not in part.entries:
            yield name, scope
            return
        node = substituted(part.entries["repeat"], scope, self.mistakes, notes)
        try:
            n = Integer(1, MAX_REPEAT).check(node.outline)
        except ModelError as error:
            self.mistakes.note(node.place, error.expected, error.got, error.hint)
            return
        for i in range(1, n + 1):
            index = Node(i, node.place)
            yield f"{name}{i}", ParameterScope({}, {INDEX: index}, scope)

    def count(self, part: Node) -> None:
        """Refuse parts of too many links."""
        if self.n_links > MAX_LINKS:
            raise refusal(part.place, f"at most {MAX_LINKS} links with all parts", "more")

    def part(
        self, name: str, part: Node, scope: ParameterScope, full: str, chain: tuple[str, ...], before: str
    ) -> Blocks:
        """Links, loops, loads and so on of one part under the names that they have outside of it.

        `before` is the name of the part before it of the same entry, "" for the first.
        """
        notes = (f"as part '{full}'",)
        given = {
            key: substituted(entry, scope, self.mistakes, notes)
            for key, entry in part.entries.items()
            if key != "repeat"
        }
        kind = given["prefab"]
        if not isinstance(kind.value, str) or kind.value not in self.prefabs:
            hint = nearest(shown(kind.outline), self.prefabs)
            self.mistakes.note(kind.place, "the name of a prefab", shown(kind.outline), hint)
            return {}
        if kind.value in chain:
            loop = joined([*chain[chain.index(kind.value) :], kind.value])
            raise refusal(kind.place, "prefabs that are not parts of themselves", loop)
        if len(chain) >= MAX_DEPTH:
            raise refusal(kind.place, f"at most {MAX_DEPTH} levels of prefabs in prefabs", "more")
        prefab = self.prefabs[kind.value]
        found = self.parameters(kind.value, prefab, given.get("with"), part)
        if found is None:
            return {}
        inner = ParameterScope(*found, scope_of(scope))
        made = self.blocks(prefab.entries, inner, full, (*chain, kind.value))
        if "chain" in given:
            given = self.chained(given, kind.value, made["links"], before)
        local = {block: {key: f"{name}_{key}" for key in entries} for block, entries in made.items()}
        names = {key: local[block] for block, keys in REFERENCES.items() for key in keys}
        out: Blocks = {}
        for block, entries in made.items():
            keys = {"loops": ENDS, "loads": (*ENDS, *SIDES)}.get(block, ())
            known = names | dict.fromkeys(keys, local["links"])
            out[block] = {f"{name}_{key}": mapped(entry, known) for key, entry in entries.items()}
        for block, put in (("links", reparented), ("loops", retargeted), ("loads", retargeted_spring)):
            out[block] = {key: put(entry, given) for key, entry in out[block].items()}
        return out

    def chained(self, given: dict[str, Node], kind: str, links: Mapping[str, Node], before: str) -> dict[str, Node]:
        """What a part is given that hangs on a link of the part before it; the first one is as it is written."""
        link = given["chain"]
        if not isinstance(link.value, str) or link.value not in links:
            hint = nearest(shown(link.outline), links)
            self.mistakes.note(link.place, f"the name of a link of prefab '{kind}'", shown(link.outline), hint)
        if not before:
            return given
        own = {key: node for key, node in given.items() if key not in ("parent", "at")}
        return {**own, "parent": replace(link, value=f"{before}_{link.value}")}

    def parameters(
        self, kind: str, prefab: Node, given: Node | None, part: Node
    ) -> tuple[dict[str, Node], dict[str, Node]] | None:
        """Definitions of a prefab's parameters, and values that take their place; None if one is missing."""
        defaults = dict(prefab.entries["parameters"].entries) if "parameters" in prefab.entries else {}
        values = {} if given is None else given.entries
        for name, node in values.items():
            if name not in defaults:
                hint = nearest(name, defaults)
                self.mistakes.note(node.key or node.place, f"a parameter of prefab '{kind}'", shown(name), hint)
        missing = [name for name, node in defaults.items() if node.value is None and name not in values]
        for name in missing:
            place = given.place if given is not None else part.place
            self.mistakes.note(
                place, f"a value of parameter '{name}' of prefab '{kind}'", "none", f"write with: {{{name}: ...}}"
            )
        return None if missing else (defaults, values)

    def bring(self, there: dict[str, Node], made: Mapping[str, Node]) -> None:
        """Add entries, noting names that are taken."""
        for name, node in made.items():
            if name in there:
                first = written_at(there[name].key or there[name].place)
                self.mistakes.note(
                    node.key or node.place, "names that differ", f"{shown(name)} twice", f"the other one is at {first}"
                )
        there.update(made)


def scope_of(scope: ParameterScope) -> ParameterScope:
    """What a prefab sees around its own parameters: the parameters of the file, and the number of a repeated part."""
    outermost = scope
    index: Node | None = None
    while outermost.around is not None:
        index = index or outermost.known.get(INDEX)
        outermost = outermost.around
    return outermost if index is None else ParameterScope({}, {INDEX: index}, outermost)


def mapped(node: Node, names: Mapping[str, Mapping[str, str]], key: str = "") -> Node:
    """A node whose references have their new names; `names` are those by the keys that stand before them."""
    value: Any = node.value
    if isinstance(value, dict):
        local = names["link"] if key == OF_LINKS else {}
        return replace(node, value={local.get(n, n): mapped(entry, names, n) for n, entry in value.items()})
    if isinstance(value, list):
        return replace(node, value=[mapped(entry, names, key) for entry in value])
    if isinstance(value, str) and value in names.get(key, ()):
        return replace(node, value=names[key][value])
    return node


def reparented(link: Node, part: Mapping[str, Node]) -> Node:
    """A link of a part; if it is on the world of its prefab, on the parent of the part."""
    entries = link.entries
    parent = entries.get("parent")
    if not isinstance(link.value, dict) or (parent is not None and parent.value != WORLD):
        return link
    out = dict(entries)
    if "parent" in part:
        out["parent"] = part["parent"]
    at = _one_after_the_other(part.get("at"), entries.get("at"))
    return replace(link, value=out if at is None else {**out, "at": at})


def retargeted(loop: Node, part: Mapping[str, Node]) -> Node:
    """A loop of a part; its ends on the world of its prefab are on the parent of the part."""
    ends = {name: _retargeted_end(name, node, part) for name, node in loop.entries.items() if name in ENDS}
    return replace(loop, value={**loop.value, **ends}) if ends else loop


def retargeted_spring(load: Node, part: Mapping[str, Node]) -> Node:
    """A load of a part; the ends of a spring on the world of its prefab are on the parent of the part."""
    if "spring" not in load.entries or not isinstance(load.entries["spring"].value, dict):
        return load
    return replace(load, value={**load.value, "spring": retargeted(load.entries["spring"], part)})


def _retargeted_end(name: str, end: Node, part: Mapping[str, Node]) -> Node:
    """One end of a loop; `to` is on the world if it names no link."""
    link = end.entries.get("link") if isinstance(end.value, dict) else end
    on_world = name == "to" if link is None else link.value == WORLD
    if not on_world or not {"parent", "at"} & set(part):
        return end
    out = {**end.entries, "link": part.get("parent", replace(end, value=WORLD))}
    own = end.entries.get("at")
    if own is not None and "as_built" in own.entries and own.entries["as_built"].value is True:
        # it needs no pose, but where on the parent that is
        place = part["at"].items[0].entries if "at" in part and part["at"].items else {}
        at: Node | None = replace(own, value={**{k: place[k] for k in ("s", "frame") if k in place}, **own.entries})
    else:
        at = _one_after_the_other(part.get("at"), own)
    return replace(end, value=out if at is None else {**out, "at": at})


def _one_after_the_other(first: Node | None, second: Node | None) -> Node | None:
    """Two poses, or lists of them, as one list; where there is one only, that."""
    if first is None or second is None:
        return second if first is None else first
    return Node([*first.items, *second.items], second.place, second.key)
