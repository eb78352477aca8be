"""Rows of Denavit-Hartenberg tables: where a joint stands, and about which axis it moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.complex_step import number_type
from sorosim.errors import ModelError, nearest
from sorosim.validation import describe

Array = NDArray[np.float64]

CONVENTIONS = ("modified", "standard")
KINDS = ("revolute", "prismatic")  # of joints that a row describes


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
