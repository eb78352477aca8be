"""A basis of strain: half waves."""

import numpy as np


class HalfWaves:
    """1, sin(pi x), sin(2 pi x)... on [0, 1]."""

    name = "half_waves"

    def count(self, order):
        """Number of functions."""
        return order + 1

    def values(self, x, order):
        """All functions (n, count) at x (n,)."""
        waves = np.sin(np.pi * np.multiply.outer(np.atleast_1d(x), np.arange(1, order + 1)))
        return np.hstack([np.ones((len(waves), 1)), waves])

    def breakpoints(self, order):
        """No kinks."""
        return ()

    def degree(self, order):
        """A polynomial that needs as many Gauss points."""
        return 2 * order + 2 if order else 0
