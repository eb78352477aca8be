"""Declarations: what a part of a robot is made of is stated once, as the fields of a frozen dataclass.

A kind of part derives from `Declared`. Each field is made by `key`, which gives the type of its value (its dimension
and bounds, say), its meaning and an example. The checks of the constructor, reading and writing files, the JSON Schema,
the page of the file format and the unit of every number follow from these.
"""

from sorosim.base.declare.base import INVALID, MISSING, NOTHING, At, Declared, Key, Scope, Type, Writer, key
from sorosim.base.declare.composite import Either, Flat, Inline, ListOf, MapOf, OneOf, OneOrSeveral, Part, Reference
from sorosim.base.declare.handle import Handle
from sorosim.base.declare.types import (
    Boolean,
    Choice,
    Formula,
    FormulaVector,
    Fraction,
    Given,
    Integer,
    Name,
    Numbers,
    Quantity,
    SignalOf,
    SignalVector,
    Text,
    Vector,
    formula_or_quantity,
    is_list,
)

__all__ = [
    "INVALID",
    "MISSING",
    "NOTHING",
    "At",
    "Boolean",
    "Choice",
    "Declared",
    "Either",
    "Flat",
    "Formula",
    "FormulaVector",
    "Fraction",
    "Given",
    "Handle",
    "Inline",
    "Integer",
    "Key",
    "ListOf",
    "MapOf",
    "Name",
    "Numbers",
    "OneOf",
    "OneOrSeveral",
    "Part",
    "Quantity",
    "Reference",
    "Scope",
    "SignalOf",
    "SignalVector",
    "Text",
    "Type",
    "Vector",
    "Writer",
    "formula_or_quantity",
    "is_list",
    "key",
]
