"""What the doctor has to say about one object."""

from __future__ import annotations

from typing import NamedTuple

# in the order of their weight: all is well; worth knowing; probably not meant; cannot be right
OK, NOTE, ODD, WRONG = "ok", "note", "odd", "wrong"
LEVELS = OK, NOTE, ODD, WRONG


class Finding(NamedTuple):
    """One thing that the doctor looked at."""

    level: str  # OK, NOTE, ODD or WRONG
    where: str  # the object, as a path of names
    what: str
    remedy: str = ""
    value: float | None = None  # the number that the level was judged by
    unit: str = ""  # of it, SI or %


def graded(value: float, note: float, odd: float) -> str:
    """NOTE above a first bound, ODD above a second one; what is no number is ODD."""
    return OK if value <= note else NOTE if value <= odd else ODD


def outside(value: float, bounds: tuple[float, float]) -> bool:
    """Whether a number is not between two others."""
    return not bounds[0] <= value <= bounds[1]
