"""The description of a whole robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from sorosim.errors import ModelError
from sorosim.model.link import Link, ordered_links
from sorosim.model.pose import vector3

BLOCKS = ("actuators", "loads", "loops", "sensors", "simulate", "statics", "initial", "initial_rates")
STANDARD_GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Description:
    """A robot as it is described: links, actuators, loads, and how it is run by default. Nothing in it changes.

    Parameters
    ----------
    name : str
    links : sequence of Link
        In any order; they are put parents first.
    gravity : three numbers
        [m/s^2]
    actuators : mapping of str to actuator
        In the order of the input vector u.
    loads : mapping of str to load
    loops : mapping of str to Loop
        Joints that close chains of links.
    sensors : mapping of str to sensor
        Of `sorosim.sensors.kinds`.
    simulate, statics : mapping
        Default arguments of `sorosim.simulate` and `sorosim.statics`, such as ``u`` and ``t_end``.
    initial : mapping of str to float
        Initial coordinates by name; the others are zero.
    initial_rates : mapping of str to float
        Initial rates by the names of coordinates; the others are zero.
    text : str
        The file it came from, kept in result files.
    """

    name: str
    links: tuple[Link, ...]
    _: KW_ONLY
    gravity: tuple[float, float, float] = STANDARD_GRAVITY
    actuators: Mapping[str, Any] = field(default_factory=dict)
    loads: Mapping[str, Any] = field(default_factory=dict)
    loops: Mapping[str, Any] = field(default_factory=dict)
    sensors: Mapping[str, Any] = field(default_factory=dict)
    simulate: Mapping[str, Any] = field(default_factory=dict)
    statics: Mapping[str, Any] = field(default_factory=dict)
    initial: Mapping[str, float] = field(default_factory=dict)
    initial_rates: Mapping[str, float] = field(default_factory=dict)
    text: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError("name", "a name", repr(self.name))
        object.__setattr__(self, "links", ordered_links(tuple(self.links)))
        object.__setattr__(self, "gravity", vector3("gravity", self.gravity, "three numbers [m/s^2]"))
        for name in BLOCKS:
            object.__setattr__(self, name, dict(getattr(self, name)))
        object.__setattr__(self, "text", self._own_text())

    def _own_text(self) -> str:
        """The text, if it is of these very parts: none of that which `dataclasses.replace` hands on to others."""
        parts: list[Any] = [self.name, self.gravity, *self.links]
        for name in BLOCKS:
            parts += [*getattr(self, name).items()]
        if isinstance(self.text, _Text) and not _same(self.text.parts, parts):
            return ""
        return _Text(self.text, parts) if self.text else ""


class _Text(str):
    """The text of a description, which knows the parts that it describes."""

    parts: list[Any]

    def __new__(cls, text: str, parts: list[Any]) -> _Text:
        out = super().__new__(cls, text)
        out.parts = parts
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return _Text, (str(self), self.parts)


def _same(parts: list[Any], others: list[Any]) -> bool:
    """Whether two lists hold the same objects, pairs of names and objects among them, or equal numbers and texts."""
    if len(parts) != len(others):
        return False
    for a, b in zip(parts, others, strict=True):
        if isinstance(a, tuple) and isinstance(b, tuple):
            if not _same(list(a), list(b)):
                return False
        elif a is not b and not (isinstance(a, str | float | int) and a == b):
            return False
    return True
