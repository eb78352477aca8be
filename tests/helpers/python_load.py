"""Loads that Python computes."""

from dataclasses import dataclass, field

import numpy as np

from sorosim.base.declare import Quantity, Reference, key
from sorosim.mechanics.loads.base import DeclaredLoad, LoadLaw


def pull_along_x(name):
    """A new kind of load of this name: a constant force along x of the link's tip."""

    @dataclass(frozen=True)
    class Pull(LoadLaw, DeclaredLoad, kind=name):
        link: str = key(Reference("links", "the name of a link"), "Link.", "bob")
        force: float = key(Quantity("force"), "Force.", "1 N", kw_only=True)

        def wrench(self, t, g, eta):
            return 0.0, (self.force, 0.0, 0.0)

    return Pull


@dataclass(frozen=True)
class OwnLoad:
    """A load of a user at node 3: its values, or a function of (t, g, eta) that returns them or fails."""

    values: object = None
    nodes: object = field(default_factory=lambda: np.array([3]))
    places: object = ()
    dissipates = False

    def bind(self, layout):
        return self

    def evaluate(self, t, g, eta):
        return self.values(t, g, eta) if callable(self.values) else self.values
