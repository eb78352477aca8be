"""Wrenches of point loads and their tangents, from body frames to the world frame (docs/theory.md, 4)."""

from __future__ import annotations

from sorosim.compiled import kernel
from sorosim.lie.se3 import Ad_inv


@kernel
def add_point_loads(nodes, g, f, K, D, wrench, K_w, D_w):
    """wrench += Ad_g^{-T} f and K_w, D_w += Ad_g^{-T} (K, D) Ad_g^{-1} at the given nodes.

    g (n, 4, 4), f (n, 6), K, D (n, 6, 6): pose, wrench on the body and its tangents, body frame.
    """
    for i in range(nodes.shape[0]):
        k = nodes[i]
        X = Ad_inv(g[i])
        for r in range(6):
            for a in range(6):
                wrench[k, r] += X[a, r] * f[i, a]
                for c in range(6):
                    for b in range(6):
                        K_w[k, r, c] += X[a, r] * K[i, a, b] * X[b, c]
                        D_w[k, r, c] += X[a, r] * D[i, a, b] * X[b, c]
