"""Checks of what public functions are given: once, at the door, before any computing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.errors import InputError, nearest

Array = NDArray[np.float64]


def vector(where: str, value: ArrayLike, n: int) -> Array:
    """Return a fresh (n,) array of finite numbers, refusing anything else."""
    try:
        given = np.asarray(value)
        # numpy would also take truth values, texts, dates and the real parts of complex numbers
        if given.dtype.kind not in "fiu":
            raise TypeError
        array = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(where, f"{n} numbers", f"{type(value).__name__} {str(value)[:40]!r}") from None
    if array.shape != (n,):
        raise InputError(where, f"{n} numbers, shape ({n},)", f"shape {array.shape}")
    # one fast pass: the squares of finite numbers have a finite sum, unless it overflows
    if not math.isfinite(array.dot(array)) and not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array)))
        raise InputError(where, "finite numbers", f"{array[bad]} at index {bad}")
    return array


def number(where: str, value: Any) -> float:
    """Return one finite number, refusing anything else."""
    return float(vector(where, [value], 1)[0])


def positive(where: str, value: Any, *, infinite: bool = False) -> float:
    """Return a number above zero, refusing anything else."""
    bad = isinstance(value, bool | str | bytes) or not np.isscalar(value)
    found = np.nan
    if not bad:
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            bad = True
    if bad or not found > 0.0 or (np.isinf(found) and not infinite):
        raise InputError(where, "a number greater than 0", f"{value!r}"[:60])
    return found


def choice(where: str, value: Any, known: Sequence[str]) -> str:
    """Return one of the known words, refusing anything else."""
    if not isinstance(value, str) or value not in known:
        raise InputError(where, "one of " + ", ".join(known), f"{value!r}"[:60], nearest(str(value), known))
    return value
