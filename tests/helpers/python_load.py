"""Loads that Python computes."""

from dataclasses import dataclass, field

import numpy as np

from sorosim.declare import Quantity, Reference, key
from sorosim.loads.base import DeclaredLoad, LoadValues


def pull_along_x(name):
    """A new kind of load of this name: a constant force along x of the link's tip."""

    @dataclass(frozen=True)
    class Pull(DeclaredLoad, kind=name):
        link: str = key(Reference("links", "the name of a link"), "Link.", "bob")
        force: float = key(Quantity("force"), "Force.", "1 N", kw_only=True)

        def bind(self, layout):
            load, node = self, layout.link(self.link).node_at(1.0)

            class Bound:
                nodes, dissipates = np.array([node]), False

                def evaluate(self, t, g, eta):
                    wrench = np.zeros((1, 6))
                    wrench[0, 3] = load.force
                    return LoadValues(wrench, np.zeros((1, 6, 6)), np.zeros((1, 6, 6)))

            return Bound()

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
