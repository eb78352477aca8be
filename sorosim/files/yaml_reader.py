"""YAML with positions: text to plain data by the core rules of YAML 1.2, and the line and column of everything.

PyYAML composes nodes and nothing more; no object is ever constructed from a tag. Its own resolver follows YAML 1.1
(`on` is true, `1e5` a text, `12:30` a number), so plain scalars are resolved here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import yaml

from sorosim.base.errors import UNPRINTABLE, FileError
from sorosim.base.problems import Path, Position, dotted, named_character, shown
from sorosim.files.bounded import read_bounded

ROBOT, EMPTY = "a robot", "; begin with the line 'sorosim: 1'"
MAX_BYTES, MAX_NESTING, MAX_NODES = 1_000_000, 50, 100_000
TOO_LARGE = "keep measured data in CSV files"

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOLEAN = re.compile(r"(true|True|TRUE)|(?:false|False|FALSE)")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+])?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass
class Positions:
    """Line and column, from 1, of every key and value of a file, by path."""

    keys: dict[Path, Position] = field(default_factory=dict)
    values: dict[Path, Position] = field(default_factory=dict)

    def nearest(self, path: Path, at_key: bool = False) -> Position:
        """Position of what is at the path, or of its nearest ancestor that the file has."""
        if at_key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, (1, 1))


class Document(NamedTuple):
    """A file that was read."""

    data: Any
    positions: Positions
    text: str


def read_file(path: str | FilePath, label: str = "", what: str = ROBOT, keys: Sequence[str] = ()) -> Document:
    """Read a file; `label` is its name in messages, `what` what it should hold.

    Where `keys` are given, a file that has none of them as a key of its own is refused, and no message quotes it.
    """
    file = label or str(path)
    text = _decoded(read_bounded(path, file, MAX_BYTES, TOO_LARGE), file, what)
    margin = re.search(r"^ *(?=[^\s#])", text, re.MULTILINE)
    if keys and margin is not None:
        first = rf"""^(?:{margin.group()}|\s*\{{\s*|\s*(?="))["']?(?:{"|".join(keys)})["']?\s*:"""
        if not re.search(first, text, re.MULTILINE):
            raise FileError(file, f"expected blocks of a robot: {', '.join(keys)}; got another kind of file")
    return read_text(text, file, what)


def read_text(text: str, file: str, what: str = ROBOT) -> Document:
    """Read YAML from a text; `file` is its name in messages, `what` what it should hold.

    Raises
    ------
    FileError
        With line and column: malformed YAML, duplicate keys, tags, keys that are not texts, cycles, too large.
    """
    with _explaining(text, file):
        node = _composed(text)
        reader = _Reader()
        data = reader.convert(node, ()) if node is not None else None
    if data is None:
        raise FileError(file, f"expected {what}, got an empty file" + (EMPTY if what == ROBOT else ""))
    return Document(data, reader.positions, text)


def compose(text: str, file: str) -> Any:
    """The node of a document, whose marks are offsets of the text; None of an empty one. FileError: as `read_text`."""
    with _explaining(text, file):
        return _composed(text)


def is_block(node: Any) -> bool:
    """Whether a node is a mapping or a list on lines of its own, not between brackets."""
    return isinstance(node, yaml.CollectionNode) and not vars(node)["flow_style"]


@contextmanager
def _explaining(text: str, file: str) -> Iterator[None]:
    """What is wrong with a text, as an error with its place."""
    if len(text) > MAX_BYTES:
        raise FileError(file, f"expected at most {MAX_BYTES // 10**6} MB, got more; {TOO_LARGE}")
    if wrong := UNPRINTABLE.search(text):
        raise FileError(file, f"expected text, got {named_character(wrong)}", *_place(text, wrong.start()))
    try:
        yield
    except _Refused as refusal:
        where = f"{dotted(refusal.path)}: " if refusal.path else ""
        raise FileError(file, where + refusal.message, *_position(refusal.mark)) from None
    except yaml.MarkedYAMLError as error:
        message, mark = _explained(error)
        raise FileError(file, message, *_position(mark)) from None
    except yaml.YAMLError as error:
        raise FileError(file, f"expected YAML, got {' '.join(str(error).split())}") from None


def resolve(text: str) -> Any:
    """Value of a plain scalar by the core schema of YAML 1.2: null, boolean, number or text."""
    if _NULL.fullmatch(text):
        return None
    if match := _BOOLEAN.fullmatch(text):
        return match.group(1) is not None
    if _INTEGER.fullmatch(text):
        # a longer one is beyond every float, and Python refuses to read it
        return int(text) if len(text) <= 400 else float(text)
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _INFINITE.fullmatch(text):
        size = math.nan if text[-1] in "nN" else math.inf
        return -size if match.group(1) == "-" else size
    return text


class _Refused(Exception):
    def __init__(self, message: str, mark: object, path: Path = ()) -> None:
        self.message, self.mark, self.path = message, mark, path


def _composed(text: str) -> Any:
    """The node of a document; libyaml is ten times as fast, but only the parser in Python says what is wrong."""
    if yaml.__with_libyaml__:
        try:
            return _CComposer(text).get_single_node()
        except yaml.YAMLError:
            pass
    return _Composer(text).get_single_node()


_EVENTS: Any = vars(yaml.cyaml)["CParser"] if yaml.__with_libyaml__ else object


class _Bounded:
    """Composes nodes only, bounded in depth and number; a tag that is not written stays empty."""

    depth = nodes = 0

    def compose_node(self, parent: object, index: object) -> Any:
        self.depth += 1
        self.nodes += 1
        mark = self.peek_event().start_mark  # type: ignore[attr-defined]
        if self.depth > MAX_NESTING:
            raise _Refused(f"expected at most {MAX_NESTING} levels of nesting, got more", mark)
        if self.nodes > MAX_NODES:
            raise _Refused(f"expected at most {MAX_NODES} values, got more; keep measured data in CSV files", mark)
        try:
            return super().compose_node(parent, index)  # type: ignore[misc]
        finally:
            self.depth -= 1

    def resolve(self, kind: object, value: object, implicit: object) -> Any:
        return ""


class _Composer(_Bounded, yaml.SafeLoader):
    """By the parser in Python."""


class _CComposer(_Bounded, yaml.composer.Composer, _EVENTS):  # type: ignore[misc]
    """By the events of libyaml."""

    def __init__(self, text: str) -> None:
        _EVENTS.__init__(self, text)
        yaml.composer.Composer.__init__(self)

    def descend_resolver(self, node: object, index: object) -> None:
        """Tags are not resolved."""

    def ascend_resolver(self) -> None:
        """Tags are not resolved."""


class _Reader:
    """From nodes to data; an alias gives the data of its anchor again, at the positions of the anchor."""

    def __init__(self) -> None:
        self.positions = Positions()
        self.count = 0
        self.open: set[int] = set()  # nodes that are being read: one of them inside itself is a cycle

    def convert(self, node: Any, path: Path) -> Any:
        self.count += 1
        if self.count > MAX_NODES:
            raise _Refused(f"expected at most {MAX_NODES} values, aliases included, got more", node.start_mark)
        if len(path) > MAX_NESTING:
            raise _Refused(f"expected at most {MAX_NESTING} levels of nesting, got more", node.start_mark)
        if id(node) in self.open:
            raise _Refused("expected data without cycles, got an alias inside its own anchor", node.start_mark, path)
        if node.tag:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            raise _Refused(f"expected no tag, got {shown(tag)}; files are plain data", node.start_mark, path)
        self.positions.values[path] = _position(node.start_mark)
        self.open.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            out = resolve(node.value) if not node.style else node.value
            if isinstance(out, str) and (wrong := UNPRINTABLE.search(out)):  # that an escape stood for
                raise _Refused(f"expected text, got {named_character(wrong)}", node.start_mark, path)
        elif isinstance(node, yaml.SequenceNode):
            out = [self.convert(entry, (*path, i)) for i, entry in enumerate(node.value)]
        else:
            out = {}
            for key_node, entry in node.value:
                key = self.key(key_node, path)
                if key in out:
                    first = "line {}, column {}".format(*self.positions.keys[(*path, key)])
                    message = f"expected keys that differ, got {shown(key)} twice; the first is at {first}"
                    raise _Refused(message, key_node.start_mark, path)
                self.positions.keys[(*path, key)] = _position(key_node.start_mark)
                out[key] = self.convert(entry, (*path, key))
                if out[key] is None and not getattr(entry, "value", True):  # nothing is after the colon, not beyond it
                    line, column = _position(key_node.end_mark)
                    self.positions.values[(*path, key)] = line, column + 1
        self.open.discard(id(node))
        return out

    def key(self, node: Any, path: Path) -> str:
        self.count += 1
        if not isinstance(node, yaml.ScalarNode) or node.tag:
            got = "a tag" if node.tag else "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"
            raise _Refused(f"expected a text as key, got {got}", node.start_mark, path)
        key = resolve(node.value) if not node.style else node.value
        if isinstance(key, str) and (wrong := UNPRINTABLE.search(key)):
            raise _Refused(f"expected text, got {named_character(wrong)}", node.start_mark, path)
        if key == "<<":
            hint = "merge keys are not part of YAML 1.2"
            raise _Refused(f"expected a key, got '<<'; {hint}", node.start_mark, path)
        if not isinstance(key, str):
            hint = f"; write it in quotes: '{node.value[:40]}'" if node.value else ""
            raise _Refused(f"expected a text as key, got {shown(key)}{hint}", node.start_mark, path)
        return key


def _position(mark: Any) -> Position:
    return (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)


def _place(text: str, index: int) -> Position:
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _decoded(content: bytes, file: str, what: str) -> str:
    if content.startswith(b"\x89HDF"):
        raise FileError(file, f"expected {what}, got an HDF5 file; sorosim.open reads results")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(file, "expected UTF-8, got UTF-16; save the file as UTF-8")
    if b"\0" in content:
        raise FileError(file, f"expected {what}, got a binary file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        message = f"expected UTF-8, got the byte 0x{content[error.start]:02X}; save the file as UTF-8"
        raise FileError(file, message, *_place(before, len(before))) from None


_NAMED = {"<stream end>": "the end of the file", "<document end>": "the end of the file", "<scalar>": "another value"}


def _explained(error: yaml.MarkedYAMLError) -> tuple[str, Any]:
    """One sentence for what PyYAML found, and where."""
    problem, context = str(error.problem or ""), str(error.context or "")
    mark, start = error.problem_mark or error.context_mark, error.context_mark
    begin = "line {}, column {}".format(*_position(start))
    token = (re.findall(r"(?:found|got) '(.*)'", problem) or ["that"])[0]
    got = _NAMED.get(token, f"'{token}'")
    if "\\t" in problem:
        return "expected spaces, got a tab; indent with spaces", mark
    if "another document" in problem:
        return "expected one document, got a second one after '---'; keep one robot in a file", mark
    if "mapping values are not allowed" in problem:
        hint = "a text with ': ' needs quotes, and nested keys go on indented lines of their own"
        return f"expected a single 'key: value' here, got another ':'; {hint}", mark
    if "block" in context and token == "<scalar>":
        return "expected the end of the value, got more text; put the whole text in quotes", mark
    if "block mapping" in context and token == ":":
        return "expected a key before the ':', got nothing", mark
    if "block collection" in context and got == "'?'":
        return f"expected another '- ' like the one at {begin}, got a key; a block is a list or has keys", mark
    if "block mapping" in context or "block collection" in context:
        return f"expected a line that begins where its block begins, at {begin}, got {_token(got)}", mark
    if "flow mapping" in context or "flow sequence" in context:
        sign, end = ("{", "}") if "mapping" in context else ("[", "]")
        hint = "; a text with brackets needs quotes" if token in ("[", "{") else ""
        return f"expected ',' or '{end}', got {_token(got)}; the '{sign}' at {begin} is open{hint}", mark
    if "end of stream" in problem:
        return f"expected a closing quote, got the end of the file; the text begins at {begin}", mark
    if "undefined alias" in problem:
        name = re.findall(r"'(.*)'", problem)[0]
        return (
            f"expected the name of an anchor (&name) above, got *{name}; a text that begins with * needs quotes",
            mark,
        )
    if "cannot start any token" in problem:
        sign = problem.split("'")[1]
        return f"expected a value, got '{sign}'; a text that begins with {sign} needs quotes", mark
    if "could not find expected ':'" in problem:
        return "expected ':' after a key, got the end of the line", start or mark
    if "duplicate anchor" in context:
        return f"expected anchors that differ, got one twice; the first is at {begin}", mark
    if "escape" in problem:
        return "expected a known escape after the backslash; texts with backslashes go into single quotes", mark
    if "expected the node content" in problem or "document start" in problem:
        return f"expected a value, got {_token(got)}", mark
    return f"expected YAML, got a mistake: {' '.join(f'{context} {problem}'.split())}", mark


def _token(got: str) -> str:
    return {
        "'<block mapping start>'": "a key in another column",
        "'<block sequence start>'": "a list in another column",
        "'?'": "a key",
        "'-'": "a '-'",
    }.get(got, got)
