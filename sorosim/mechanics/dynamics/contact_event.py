"""Onset and release of contacts as events of `simulate`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.errors import InputError, nearest
from sorosim.mechanics.engine.engine import Engine

# gaps beyond this are not resolved [m]
NEARBY = 0.01
# stands for a gap of zero [m]
JUST_APART = 1e-300


class ContactEvent:
    """The smallest gap of a contact along a motion, whose zeros are events; see `Robot.onset`."""

    def __init__(self, engine: Engine, load: str, direction: float, terminal: bool) -> None:
        known = [name for name, law in engine.loading.compiled.items() if law.contacts]
        if load not in known:
            raise InputError("load", "the name of a contact", f"'{load}'", nearest(str(load), known))
        self.engine, self.load, self.direction, self.terminal = engine, load, direction, terminal

    def __call__(self, t: float, q: ArrayLike, qd: ArrayLike) -> float:
        """Gap [m]; surfaces that just touch are still apart, or starting so would be an event."""
        return self.engine.contact_gaps(np.asarray(q, dtype=float), NEARBY)[self.load] or JUST_APART
