"""Parameters: ``$name`` in any value stands for what the parameter's definition says.

A text that is nothing but ``$name`` becomes the value, whatever that is. Inside a longer text the parameter's text
takes its place, in parentheses, so that ``2*$length`` is ``2*(10 cm)``; directly after a word it is part of the word,
``finger$i`` is ``finger3``, and so is a name in braces directly before one: ``${side}_hip`` is ``left_hip``. ``$$`` is
a dollar sign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sorosim.base.errors import nearest
from sorosim.base.problems import Path, at_path, shown
from sorosim.base.signals.parser import MAX_TEXT
from sorosim.base.units.seeded import Seeded, SeededText
from sorosim.files.nodes import Mistakes, Node

MAX_CHAIN = 30  # of parameters that are defined by others

NAME = r"[^\W\d]\w*"
_REFERENCE = re.compile(rf"\$(?:(?P<dollar>\$)|\{{(?P<braced>[^{{}}]*)\}}|(?P<bare>{NAME}))")
_ALONE = re.compile(rf"\s*\$(?:\{{({NAME})\}}|({NAME}))\s*")
_WORD_BEFORE, _WORD_AFTER = re.compile(rf"(?:{NAME})\Z"), re.compile(r"[\w-]")


def defined_at(path: Path, data: object) -> tuple[Path, str]:
    """Where a value is defined that a file's data have at a path: of one that is `$name` alone, where that is.

    Also why it cannot be changed there, in words; "" if it can.
    """
    for _ in range(MAX_CHAIN):
        raw = at_path(data, path)
        found = _ALONE.fullmatch(raw) if isinstance(raw, str) else None
        if found is None:
            return path, ""
        name = found[1] or found[2]
        own = at_path(data, (*path[:2], "parameters")) if path[0] == "prefabs" else None
        if isinstance(own, Mapping) and name in own:
            return path, f"it is ${name}, which each part made of the prefab may say"
        path = ("parameters", name)
    return path, "its parameters need each other"


class ParameterScope:
    """Parameters that may be used at a place: the own ones, then those around.

    Parameters
    ----------
    own : mapping of str to Node
        Definitions; they may use each other in any order.
    given : mapping of str to Node
        Values that take the place of definitions; nothing in them is replaced any more.
    around : ParameterScope, optional
    """

    def __init__(
        self, own: Mapping[str, Node], given: Mapping[str, Node], around: ParameterScope | None = None
    ) -> None:
        self.own, self.known, self.around = own, dict(given), around
        self.open: list[str] = []  # names whose definitions are being read

    @property
    def names(self) -> list[str]:
        """All names that may be used."""
        return list(dict.fromkeys([*self.own, *self.known, *(self.around.names if self.around else [])]))

    def value(self, name: str, user: Node, mistakes: Mistakes) -> Node | None:
        """Value of a parameter, None if there is none, which is then noted at its user."""
        if name in self.known:
            return self.known[name]
        if name not in self.own:
            if self.around is not None:
                return self.around.value(name, user, mistakes)
            mistakes.note(
                user.place, "the name of a parameter", shown(f"${name}"), "there are none; a dollar sign is $$"
            )
            return None
        if name in self.open or len(self.open) >= MAX_CHAIN:
            loop = " -> ".join(f"${other}" for other in [*self.open[-3:], name])
            expected = (
                "parameters that do not need themselves" if name in self.open else f"at most {MAX_CHAIN} in a row"
            )
            mistakes.note(user.place, expected, loop)
            return None
        self.open.append(name)
        found = substituted(self.own[name], self, mistakes)
        self.open.pop()
        if found is not None:
            self.known[name] = found
        return found


def substituted(node: Node, scope: ParameterScope, mistakes: Mistakes, notes: tuple[str, ...] = ()) -> Node:
    """A node with all parameters replaced; what is wrong is noted, and stays. ``notes`` go to all its places."""
    value = node.value
    if isinstance(value, dict):
        value = {name: substituted(entry, scope, mistakes, notes) for name, entry in value.items()}
        return Node(value, node.place, node.key).noted(*notes)
    if isinstance(value, list):
        return Node([substituted(entry, scope, mistakes, notes) for entry in value], node.place, node.key).noted(*notes)
    noted = node.noted(*notes)
    if not isinstance(value, str) or "$" not in value:
        return noted
    if match := _ALONE.fullmatch(value):
        name = match.group(1) or match.group(2)
        found = _value(name, scope, noted, mistakes)
        return noted if found is None else Node(found.value, noted.place, noted.key).noted(f"${name}")
    return _replaced(noted, scope, mistakes)


def _value(name: str, scope: ParameterScope, user: Node, mistakes: Mistakes) -> Node | None:
    if name not in scope.names and scope.names:
        mistakes.note(user.place, "the name of a parameter", shown(f"${name}"), nearest(name, scope.names))
        return None
    return scope.value(name, user, mistakes)


def _replaced(node: Node, scope: ParameterScope, mistakes: Mistakes) -> Node:
    """A longer text with the texts of its parameters."""
    text, used, start, parts = node.value, list[str](), 0, list[str]()
    formula, varied = list[str](), None
    for match in _REFERENCE.finditer(text):
        parts.append(text[start : match.start()])
        formula.append(parts[-1])
        start = match.end()
        if match.group("dollar"):
            parts.append("$")
            formula.append("$")
            continue
        name = match.group("bare") or match.group("braced")
        if not re.fullmatch(NAME, name):
            mistakes.note(node.place, "the name of a parameter", shown(match.group()))
            return node
        found = _value(name, scope, node, mistakes)
        if found is None:
            return node
        if not isinstance(found.value, str | int | float):
            mistakes.note(node.place, f"${name} to be a number or a text inside a longer text", shown(found.outline))
            return node
        written = text_of(found.value)
        before_word = _WORD_AFTER.match(text, start) and re.fullmatch(NAME, written)
        in_word = before_word or (_WORD_BEFORE.search("".join(parts)) and re.fullmatch(r"[\w-]+", written))
        parts.append(written if in_word else f"({written})")
        formula.append(parts[-1])
        if isinstance(found.value, Seeded) and not in_word:
            varied, formula[-1] = found.value, f"({found.value.formula})"
        used.append(f"${name}")
    out = "".join([*parts, text[start:]])
    if varied is not None:
        out = SeededText(out).inside("".join([*formula, text[start:]]), varied)
    if len(out) > max(MAX_TEXT, len(text)):
        mistakes.note(node.place, f"at most {MAX_TEXT} characters with its parameters", "more")
        return node
    return Node(out, node.place, node.key).noted(*dict.fromkeys(used))


def text_of(value: str | int | float) -> str:
    """A scalar as a file writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def escaped(text: str) -> str:
    """A text that stands for itself where parameters are replaced."""
    return re.sub(r"\$(?=[$\w{])", "$$", text)
