"""Which coordinates move no mass that others do not move as well: M is singular then, but to rounding only.

A pivot of M, or of an articulated inertia, is a difference. All terms are sums in the world frame of inertias about its
origin, so what is left of it where nothing should be is a few eps of the inertias that went in, not of the pivot.
"""

from __future__ import annotations

from sorosim.compiled import kernel_in_place, kernel_inside
from sorosim.kernels.tree import BLOCK_COLUMN, BLOCK_N, END, FIRST, WORK

# pivots below this part of the inertia that the coordinate moves are rounding: 5 eps were met, and 1e-4 in real robots
ROUNDING = 1e-14
# pivots that need no closer look, as parts of the diagonal of M: it is less than that inertia by up to the square of
# the distance from the world's origin over the size of what moves
CLEAR = 1e-6


@kernel_inside
def inertia_bound(M, lost, J, n, j):
    """At least what column j of J (6, n) moves of an inertia M, J_j^T M J_j, and of traces lost (2,) beside it."""
    turning, moving = M[0, 0] + M[1, 1] + M[2, 2] + lost[0], M[3, 3] + M[4, 4] + M[5, 5] + lost[1]
    a0, a1, a2, b0, b1, b2 = J[j], J[n + j], J[2 * n + j], J[3 * n + j], J[4 * n + j], J[5 * n + j]
    return (a0 * a0 + a1 * a1 + a2 * a2) * turning + (b0 * b0 + b1 * b1 + b2 * b2) * moving


@kernel_in_place
def idle_coordinate(tree, known, diagonal, U, ws):
    """The first free coordinate whose pivot in the Cholesky factor U of the mass matrix is rounding, or -1.

    diagonal (ndof,): that of the mass matrix; ws: as `composite_mass_matrix` leaves it.
    """
    nothing = (0.0, 0.0)
    for b in range(tree.block.shape[0]):
        n, c0 = tree.block[b, BLOCK_N], tree.block[b, BLOCK_COLUMN]
        for j in range(n):
            pivot = U[c0 + j, c0 + j] * U[c0 + j, c0 + j]
            if known[c0 + j] or pivot > CLEAR * diagonal[c0 + j]:
                continue
            moved = 0.0
            for k in range(tree.block[b, FIRST], tree.block[b, END]):
                work = tree.segment[k, WORK]
                moved += inertia_bound(ws.tensor[k, 0], nothing, ws.column[1, work : work + 6 * n], n, j)
            if not pivot > ROUNDING * moved:
                return c0 + j
    return -1
