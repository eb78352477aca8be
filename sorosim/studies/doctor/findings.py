"""Findings of the doctor, and their kinds, each of which is declared once in `findings.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

# by rising severity: correct; a remark; probably unintended; an error
OK, NOTE, ODD, WRONG = "ok", "note", "odd", "wrong"
LEVELS = OK, NOTE, ODD, WRONG


class Finding(NamedTuple):
    """The result of one check."""

    level: str  # OK, NOTE, ODD or WRONG
    where: str  # the object, as a path of names
    what: str
    remedy: str = ""
    value: float | None = None  # the number that the level was judged by
    unit: str = ""  # of it, SI or %
    code: str = ""  # of the kind of finding, as in `findings.yaml`
    change: tuple[str, str] | None = None  # of the file, by the remedy, where that is one: path and value


class Rule(NamedTuple):
    """A kind of finding. Texts are formatted with the value and with what the check adds."""

    what: str
    remedy: str = ""
    unit: str = ""
    odd: tuple[float, float] | None = None  # values outside are odd
    note: tuple[float, float] | None = None  # values outside are noted
    level: str = ODD  # without ranges
    set: Mapping[str, str] = {}  # the change that follows the remedy: its path, after a dot if it begins at the object


RULES = {
    code: Rule(**entries)
    for code, entries in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")).items()
}
NOTHING_ODD = RULES["nothing_odd"].what


def finding(code: str, where: str, value: Any = None, level: str = "", /, **words: Any) -> Finding:
    """A finding of a kind; `level` instead of that of its rule."""
    rule = RULES[code]
    value = None if value is None else float(value)
    what, remedy, unit = (text.format(value=value, **words) for text in (rule.what, rule.remedy, rule.unit))
    path, new = next(((at.format(**words), x.format(value=value, **words)) for at, x in rule.set.items()), ("", ""))
    path = where.removeprefix("material of ") + path if path.startswith(".") else path
    change = (path.removesuffix("."), new) if path and new else None
    return Finding(level or rule.level, where, what, remedy, value, unit, code, change)


def judged(code: str, where: str, value: object, measure: object = None, /, **words: object) -> list[Finding]:
    """The finding of a kind if the value is outside of its bounds, or else none; `measure` is judged instead of it."""
    level = level_of(code, value if measure is None else measure)
    return [] if level == OK else [finding(code, where, value, level, **words)]


def level_of(code: str, value: Any) -> str:
    """How a value stands to the bounds of a rule; NaN is outside."""
    rule = RULES[code]
    for level, bounds in ((ODD, rule.odd), (NOTE, rule.note)):
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            return level
    return OK
