"""How frozen dataclasses normalise their own fields."""

from __future__ import annotations

from typing import Any


def set_fields(of: Any, /, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is made: in its own `__post_init__`, before anybody else has it."""
    for name, value in values.items():
        object.__setattr__(of, name, value)
