"""Positions and poses as descriptions are given them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.complex_step import number_type
from sorosim.errors import ModelError
from sorosim.model.material import real_number
from sorosim.validation import LARGEST, describe


def vector3(where: str, value: Any, expected: str = "three numbers", **bounds: float) -> tuple[float, float, float]:
    """Return three finite numbers inside bounds as a tuple, refusing anything else."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) != 3:
        raise ModelError(where, expected, describe(value))
    x, y, z = (real_number(where, v, expected, **bounds) for v in value)
    return x, y, z


def check_pose(where: str, value: Any) -> NDArray[np.float64]:
    """Return a read-only (4, 4) pose, refusing what is not a rotation and a translation."""
    try:
        g = np.array(value, dtype=number_type())
    except (TypeError, ValueError):
        raise ModelError(where, "a pose, a (4, 4) array", describe(value)) from None
    if g.shape != (4, 4) or not np.isfinite(g).all():
        raise ModelError(where, "a pose, a (4, 4) array of finite numbers", f"shape {g.shape}")
    if np.abs(g).max() > LARGEST:
        raise ModelError(where, f"a pose of numbers up to {LARGEST:g}", f"{np.abs(g).max():g}", "look for a wrong unit")
    R = g[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0.0 or not np.array_equal(g[3], [0, 0, 0, 1]):
        raise ModelError(where, "a rotation matrix, a position and the row 0 0 0 1", describe(g.tolist()))
    g.setflags(write=False)
    return g
