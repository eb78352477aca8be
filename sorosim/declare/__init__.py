"""Declarations: what a part of a robot is made of is stated once, as the fields of a frozen dataclass.

A kind of part derives from `Declared`. Each field is made by `key`, which gives the type of its value (its dimension
and bounds, say), its meaning and an example. The checks of the constructor, reading and writing files, the JSON Schema,
the page of the file format and the unit of every number follow from these.
"""

from sorosim.declare.base import MISSING, NOTHING, WRONG, At, Declared, Key, Scope, Type, Writer, key
from sorosim.declare.composite import Either, Flat, Inline, ListOf, MapOf, OneOf, Part, Reference
from sorosim.declare.types import (
    Choice,
    Formula,
    Fraction,
    Given,
    Name,
    Numbers,
    Quantity,
    SignalOf,
    SignalVector,
    Text,
    Truth,
    Vector,
    Whole,
    formula_or_quantity,
    is_list,
)

__all__ = [
    "MISSING",
    "NOTHING",
    "WRONG",
    "At",
    "Choice",
    "Declared",
    "Either",
    "Flat",
    "Formula",
    "Fraction",
    "Given",
    "Inline",
    "Key",
    "ListOf",
    "MapOf",
    "Name",
    "Numbers",
    "OneOf",
    "Part",
    "Quantity",
    "Reference",
    "Scope",
    "SignalOf",
    "SignalVector",
    "Text",
    "Truth",
    "Type",
    "Vector",
    "Whole",
    "Writer",
    "formula_or_quantity",
    "is_list",
    "key",
]
