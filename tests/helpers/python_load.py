"""A load that Python computes."""

from dataclasses import dataclass

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
