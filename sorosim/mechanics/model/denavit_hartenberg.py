"""Rows of Denavit-Hartenberg tables: where a joint stands, and about which axis it moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.complex_step import number_type
from sorosim.base.declare import At, Declared, Quantity, Type, key
from sorosim.base.declare.base import Define
from sorosim.base.declare.composite import both
from sorosim.base.declare.types import checked_each, is_list
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import shown
from sorosim.base.validation import describe
from sorosim.mechanics.model.pose import degrees

CONVENTIONS = ("modified", "standard")
KINDS = ("revolute", "prismatic")  # of joints that a row describes


class Row(Type):
    """[a, alpha, d, theta]."""

    TYPES = (Quantity("length"), Quantity("angle"), Quantity("length"), Quantity("angle"))

    def read(self, value: object, at: At) -> Any:
        for i, one in enumerate(self.TYPES):
            (at / i).number(one.dimension)
        return super().read(value, at)

    def check(self, value: Any) -> tuple[float, ...]:
        if not is_list(value) or len(value) != 4:
            hint = "for instance [43 cm, 0, 0, 90 deg]"
            raise ModelError("", "a row of four, [a, alpha, d, theta]", shown(value), hint)
        return checked_each(value, *self.TYPES)

    def schema(self, define: Define) -> dict[str, Any]:
        each = [one.schema(define) for one in self.TYPES]
        return {"type": "array", "prefixItems": each, "minItems": 4, "maxItems": 4}

    def within(self, part: str | int) -> Type | None:
        return self.TYPES[part] if isinstance(part, int) and part < 4 else None


@dataclass(frozen=True)
class DHRow(Declared, title="Rows of Denavit-Hartenberg tables"):
    """A row of a Denavit-Hartenberg table; theta of a revolute joint, d of a prismatic one, is at coordinate zero."""

    modified: Any = key(
        Row(), "[a, alpha, d, theta]: Rx(alpha) Tx(a) Tz(d) Rz(theta), as Craig writes it. The joint is on z of the "
        "link's own frame; theta, of a prismatic joint d, is the value at coordinate zero.",
        "[43 cm, -90 deg, 15 cm, 0]", default=None,
    )  # fmt: skip
    standard: Any = key(
        Row(), "[a, alpha, d, theta]: Rz(theta) Tz(d) Tx(a) Rx(alpha). The joint is on z of the parent's frame; that "
        "of the link is at the end of the row.", "[43 cm, 0, 15 cm, 90 deg]", default=None,
    )  # fmt: skip

    alternatives = (CONVENTIONS,)

    @classmethod
    def expected(cls) -> str:
        return "{modified: ...} or {standard: ...}"

    @classmethod
    def unknown_key(cls, name: str, value: object, at: At) -> None:
        (at / name).fail(cls.expected(), shown(name), at_key=True)

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if len(data) != 1 or (set(data) <= set(CONVENTIONS) and len(data) != 1):
            raise ModelError("", cls.expected(), both(data) if len(data) == 2 else shown(data))

    def validate(self) -> None:
        if (self.modified is None) == (self.standard is None):
            raise ModelError("", self.expected(), "neither" if self.modified is None else "both")

    def joint(self, kind: str) -> RowJoint:
        """The joint that it describes."""
        convention = "modified" if self.modified is not None else "standard"
        return row_joint(convention, kind, *getattr(self, convention))

    @staticmethod
    def beside(link: Mapping[str, object]) -> dict[str, Any]:
        """A link of a file with a row: the same with an axis in its joint, which the row replaces (else ModelError)."""
        if "at" in link:
            hint = "the row says where the joint is; put a pose on a link of its own before it"
            raise ModelError("at", "no pose beside dh", shown(link["at"]), hint)
        joint = link.get("joint")
        kind = next(iter(joint), None) if isinstance(joint, Mapping) and len(joint) == 1 else joint
        if kind not in KINDS:
            raise ModelError("joint" if "joint" in link else "", "a revolute or prismatic joint beside dh",
                             "none" if joint is None else shown(kind), "for instance joint: revolute")  # fmt: skip
        given = joint[kind] if isinstance(joint, Mapping) else {}
        if not isinstance(given, Mapping):
            return dict(link)
        for name in ("axis", "through"):
            if name in given:
                where, what = f"joint.{kind}.{name}", f"no key '{name}' beside dh"
                raise ModelError(where, what, shown(given[name]), "the row has the axis")
        return {**link, "joint": {kind: {**given, "axis": [0.0, 0.0, 1.0]}}}


def row_of(kind: str, at: Array, axis: Any, through: Any) -> dict[str, list[Any]]:
    """The row of short numbers, as a file writes it, that puts a joint where it is to the bit; {} if there is none."""
    if kind not in KINDS:
        return {}
    R, p = at[:3, :3], at[:3, 3]
    turn, twist = np.arctan2(R[1, 0], R[0, 0]), np.arctan2(R[2, 1], R[2, 2])
    modified = p[0], np.arctan2(-R[1, 2], R[2, 2]), R[2, 2] * p[2] + R[1, 2] * p[1], np.arctan2(-R[0, 1], R[0, 0])
    standard = R[0, 0] * p[0] + R[1, 0] * p[1], twist, p[2], turn
    conventions = ("modified", modified), ("standard", standard)
    for (convention, (a, alpha, d, theta)), digits in product(conventions, (9, 17)):
        row = [float(f"{a:.{digits}g}"), degrees(alpha), float(f"{d:.{digits}g}"), degrees(theta)]
        found = DHRow(**{convention: row}).joint(kind)
        same = np.array_equal(found.at, at) and np.array_equal(found.axis, axis)
        if same and (kind == "prismatic" or np.array_equal(found.through, through)):
            return {convention: row}
    return {}


class RowJoint(NamedTuple):
    """A joint as a row places it."""

    at: Array  # (4, 4) pose of the link's frame in its parent's at coordinate zero
    axis: Array  # (3,) in the link's frame
    through: Array  # (3,) a point on the axis of a revolute joint in the link's frame [m]; zero of a prismatic one


def row_joint(convention: str, kind: str, a: float, alpha: float, d: float, theta: float) -> RowJoint:
    """The joint of a row; theta of a revolute joint, d of a prismatic one, is its value at coordinate zero.

    Parameters
    ----------
    convention : {"modified", "standard"}
        modified (Craig, proximal): T = Rx(alpha) Tx(a) Tz(d) Rz(theta); the joint moves along z of the link's frame.
        standard (Denavit and Hartenberg, distal): T = Rz(theta) Tz(d) Tx(a) Rx(alpha); it moves along z of the
        parent's frame, and the link's frame is the one at the end of the row.
    kind : {"revolute", "prismatic"}
    a, d : float
        [m]
    alpha, theta : float
        [rad]

    Raises
    ------
    ModelError
        Another convention, or a joint of another kind.
    """
    if convention not in CONVENTIONS:
        raise ModelError("dh", "modified or standard", describe(convention), nearest(str(convention), CONVENTIONS))
    if kind not in KINDS:
        raise ModelError("joint", "revolute or prismatic beside a row of dh", describe(kind))
    along_x, along_z = _screw(0, alpha, a), _screw(2, theta, d)
    z = np.array([0.0, 0.0, 1.0])
    if convention == "modified":
        return RowJoint(along_x @ along_z, z, np.zeros(3))
    # the parent's z axis and origin, seen from the end of the row
    at = along_z @ along_x
    R, p = at[:3, :3], at[:3, 3]
    return RowJoint(at, R.T @ z, -R.T @ p if kind == "revolute" else np.zeros(3))


def _screw(axis: int, angle: float, length: float) -> Array:
    """Turn about a coordinate axis and shift along it; the two commute."""
    g, (i, j) = np.eye(4, dtype=number_type()), ((axis + 1) % 3, (axis + 2) % 3)
    g[i, i] = g[j, j] = np.cos(angle)
    g[j, i] = np.sin(angle)
    g[i, j] = -g[j, i]
    g[axis, 3] = length
    return g
