"""Plain data to readable YAML that `yaml_reader` reads back as the same data."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from sorosim.files.parameters import escaped
from sorosim.files.yaml_reader import resolve

WIDTH = 100  # what fits is written on one line

# a text that YAML could take for something else, or that could end early, is put in quotes
_PLAIN = re.compile(r"[\w./+(][^\n\t:#{}\[\],&*!|>'\"%@`\\]*", re.ASCII)
_STAR_INSIDE = re.compile(r"[\w.+(-][\w ./+*()^°-]*")


class AsWritten(str):
    """A text with parameters in it."""


def as_written(data: object) -> Any:
    """Data of a file whose texts have parameters in them."""
    if isinstance(data, dict):
        return {key: as_written(entry) for key, entry in data.items()}
    if isinstance(data, list):
        return [as_written(entry) for entry in data]
    return AsWritten(data) if isinstance(data, str) else data


def to_yaml(data: object) -> str:
    """YAML text of mappings, lists and scalars: a line between blocks; below them, what fits goes on one line."""
    return "\n".join(block_lines(data, 0, 0)) + "\n"


def block_lines(value: object, indent: int, depth: int) -> list[str]:
    """Lines of a value that begins on a line of its own; depth 0 is that of the blocks of a file."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines = []
        for key, entry in value.items():
            head, short = f"{pad}{_text(key)}:", inline(entry)
            fits = len(head) + 1 + len(short) <= WIDTH
            if not (isinstance(entry, dict | list) and entry) or (fits and (depth > 0 or isinstance(entry, list))):
                lines.append(f"{head} {short}")
            elif isinstance(entry, list) and not any(isinstance(item, dict | list) for item in entry):
                lines += _wrapped(f"{head} [", entry, indent + 2)
            else:
                lines += [*[""][depth:], head, *block_lines(entry, indent + 2, depth + 1)]
        return lines
    if isinstance(value, list) and value:
        lines = []
        for entry in value:
            short = inline(entry)
            if len(pad) + 2 + len(short) <= WIDTH or not (isinstance(entry, dict | list) and entry):
                lines.append(f"{pad}- {short}")
            else:
                first, *others = block_lines(entry, indent + 2, depth + 1)
                lines += [f"{pad}- {first.lstrip()}", *others]
        return lines
    return [pad + inline(value)]


def _wrapped(head: str, entries: list[Any], indent: int) -> list[str]:
    """A list of scalars over several lines."""
    lines, line = [], head
    for i, entry in enumerate(entries):
        text = inline(entry) + ("," if i < len(entries) - 1 else "]")
        if len(line) + 1 + len(text) > WIDTH:
            lines.append(line)
            line = " " * indent + text
        else:
            line += text if line.endswith("[") else f" {text}"
    return [*lines, line]


def inline(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {inline(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**400 else (".inf" if value > 0 else "-.inf")
    if isinstance(value, float):
        return number(value)
    return _text(value)


def number(value: float) -> str:
    """A float; as short as it can be and still the same float."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    text = repr(value)
    plain = text if text == "-0.0" else text.removesuffix(".0")  # -0 would be a whole number
    digits, _, power = (text if "e" in text else f"{value:e}").partition("e")
    short = f"{float(digits)!r}".removesuffix(".0") + f"e{int(power)}"
    return short if float(short) == value and len(short) + ("e" not in text) * 4 <= len(plain) else plain


def _text(value: str) -> str:
    """A text, in quotes where it needs them."""
    text = str(value) if isinstance(value, AsWritten) else escaped(value)
    simple = _PLAIN.fullmatch(text) or _STAR_INSIDE.fullmatch(text)
    if (
        simple
        and text.isprintable()
        and text == text.strip()
        and resolve(text) == text
        and not text.startswith("- ")
        and text not in "-"
    ):
        return text
    # JSON's quoted texts are those of YAML, but for signs beyond the first plane and control characters
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub("[\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff\x85\u2028\u2029\ufeff]", _code, quoted)


def _code(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
