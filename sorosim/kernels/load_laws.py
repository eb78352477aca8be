"""The compiled laws of loads: wrenches at nodes and their tangents, world frame (docs/theory.md, 4 and B)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.compiled import kernel_in_place
from sorosim.kernels.loops import world_wrench
from sorosim.kernels.signals import SignalArrays
from sorosim.kernels.small import clear_matrix, matrix_vector, world_inertia

# columns of LoadLaws.row: node, kind of law, offset in `value`, and the signal of each of six entries, -1 where the
# value is constant
LOADED_NODE, LOAD_LAW, LOAD_AT, ENTRY = range(4)
# a wrench that keeps its directions in the world, one that turns with the body, a brake on the body's twist
DEAD, FOLLOWER, BRAKED = range(3)


class LoadLaws(NamedTuple):
    """Loads with compiled laws."""

    row: np.ndarray  # (n, 9) int: columns named above
    value: np.ndarray  # (6 n,): wrench, or coefficients of a brake
    signals: SignalArrays  # of time, for entries that vary


@kernel_in_place
def add_load_laws(laws, varying, ws, scratch, wrench, K_w, D_w):
    """Add the wrenches and tangents of all laws to wrench (n, 6), K_w and D_w (n, 6, 6), after a sweep of poses.

    varying (n_signals, 3): values of the signals at this time; scratch (4, 6, 6).
    """
    f, w, M, rotated = scratch[0, 0], scratch[0, 1], scratch[1], scratch[2]
    for i in range(laws.row.shape[0]):
        node, kind, at = laws.row[i, LOADED_NODE], laws.row[i, LOAD_LAW], laws.row[i, LOAD_AT]
        g = ws.pose[node]
        for r in range(6):
            signal = laws.row[i, ENTRY + r]
            f[r] = laws.value[at + r] if signal < 0 else varying[signal, 0]
        p, K = g[3], K_w[node]
        if kind == BRAKED:
            clear_matrix(scratch[3])
            for r in range(6):
                scratch[3, r, r] = f[r]
            world_inertia(g[:3], p, scratch[3], rotated, M)
            matrix_vector(M, ws.twist[node, 0], w)
            for r in range(6):
                wrench[node, r] -= w[r]
                for c in range(6):
                    D_w[node, r, c] -= M[r, c]
        elif kind == FOLLOWER:
            world_wrench(g, f, w)
            for r in range(6):
                wrench[node, r] += w[r]
        else:
            # K_w = [[m^ + p^ f^, 0], [f^, 0]]
            m0, m1, m2, f0, f1, f2 = f[0], f[1], f[2], f[3], f[4], f[5]
            wrench[node, 0] += m0 + p[1] * f2 - p[2] * f1
            wrench[node, 1] += m1 + p[2] * f0 - p[0] * f2
            wrench[node, 2] += m2 + p[0] * f1 - p[1] * f0
            dot = p[0] * f0 + p[1] * f1 + p[2] * f2
            for r in range(3):
                wrench[node, 3 + r] += f[3 + r]
                for c in range(3):
                    K[r, c] += f[3 + r] * p[c]
                K[r, r] -= dot
            K[0, 1] -= m2
            K[0, 2] += m1
            K[1, 0] += m2
            K[1, 2] -= m0
            K[2, 0] -= m1
            K[2, 1] += m0
            K[3, 1] -= f2
            K[3, 2] += f1
            K[4, 0] += f2
            K[4, 2] -= f0
            K[5, 0] -= f1
            K[5, 1] += f0
