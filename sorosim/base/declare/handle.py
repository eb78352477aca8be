"""Where numbers of a part are in space, so that they can be dragged: declared beside the keys of the part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sorosim.base.arrays import Array

X, Y, Z = np.eye(3)
IN_SPACE = np.eye(3)


class Handle:
    """A point of a part that is linear in numbers of it, in the frame of the part: p = sum_k vectors_k numbers_k.

    A class of parts, or a plug-in, lists its handles: ``handles = (Handle(radius=X), Handle(size=0.5 * IN_SPACE))``.
    Parts that are placed by a pose have handles of it without that.

    Parameters
    ----------
    keys : mapping of str to (3,) or (n, 3) array
        Vectors by the keys that the handle moves: one of a number, a row for each entry of a list. A size along a rod
        has a handle at each of its values.
    beside : mapping of str to (3,) array
        Vectors of keys that place the point, too, but are not moved.
    carried : bool
        Whether the frame is carried along, as the end of a rod is by its length: the point is its origin, and moves by
        the vectors.
    apart : bool
        Whether entries of a list have handles of their own.
    s : float
        Where on a stretch of a rod, from 0 at its begin to 1 at its end, if the part is one; its sections have x along
        the rod.
    """

    def __init__(
        self, beside: Mapping[str, Any] | None = None, *, apart: bool = False, carried: bool = False, s: float = 1.0,
        **keys: Any
    ) -> None:  # fmt: skip
        self.keys: dict[str, Array] = {name: np.asarray(vector) for name, vector in keys.items()}
        self.beside: dict[str, Array] = {name: np.asarray(vector) for name, vector in (beside or {}).items()}
        self.apart, self.carried, self.s = apart, carried, s
