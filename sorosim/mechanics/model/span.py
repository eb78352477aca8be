"""Parts of rods, from one fraction of their length to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sorosim.base.declare import Fraction, Reference, key
from sorosim.base.errors import ModelError
from sorosim.mechanics.model.pose import is_rod


@dataclass(frozen=True)
class RodName(Reference):
    """The name of a link with a rod."""

    block: str = "links"
    what: str = "the name of a link with a rod"
    fits: Any = is_rod


def start_key() -> Any:
    """Declare where something begins on a rod."""
    return key(Fraction(), "Where it begins, X/L; an end of a division.", "0", name="from", default=0.0, kw_only=True)


def end_key() -> Any:
    """Declare where something ends on a rod."""
    return key(Fraction(), "Where it ends, X/L; an end of a division.", "1", name="to", default=1.0, kw_only=True)


def check_span(part: Any) -> None:
    """Refuse a part of a rod that ends before it begins (ModelError)."""
    if part.start >= part.end:
        raise ModelError("from", f"a place before the end, {part.end:g}", f"{part.start:g}")
