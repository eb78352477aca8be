"""What later readings tell of earlier states: a smoother in square-root form (docs/theory.md, 22).

A state is x + S z with z of the covariance 1. What is known of z by that of the next state needs no inverse covariance,
so nothing is lost where covariances are singular, as under loops, or nearly so, as of stiff rods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.studies.estimation.disturbances import solved


class Link(NamedTuple):
    """The z of a state by the z' of the next one: z = shift + gain z' + spread v, v of the covariance 1."""

    shift: Array  # (n,)
    gain: Array  # (n, n), no longer than 1
    spread: Array  # (n, k)

    def updated(self, z: Array, R: Array) -> Link:
        """The link to a next state about z with the covariance (R^T R)^-1, R upper triangular."""
        gain = solved(R, self.gain.T, True).T
        return Link(self.shift + self.gain @ z, gain, self.spread)


def triangular(root: Array) -> Array:
    """The lower triangular S (n, n) of S S^T = root root^T."""
    n = len(root)
    wide = root if root.shape[1] >= n else np.hstack([root, np.zeros((n, n - root.shape[1]))])
    return np.asarray(np.linalg.qr(wide.T, mode="r")).T


def linked(root: Array) -> tuple[Array, Link]:
    """The lower triangular S of a root (n, n + k) after a step, whose first n columns are of the z before."""
    n, m = root.shape
    both = np.vstack([root, np.eye(n, m)])  # a rotation of the columns changes no covariance
    out: Array = np.asarray(np.linalg.qr(both.T, mode="r")).T
    return out[:n, :n], Link(np.zeros(n), out[n:, :n], out[n:, n:])


def smoothed(links: Sequence[Link]) -> Iterator[tuple[Array, Array]]:
    """Means (n,) and roots (n, n) of the z of the states that links begin at, from the last one backwards."""
    n = len(links[-1].shift) if links else 0
    z, root = np.zeros(n), np.eye(n)
    for link in reversed(links):
        z = link.shift + link.gain @ z
        root = triangular(np.hstack([link.gain @ root, link.spread]))
        yield z, root
