"""Numerical rank of the mass matrix: the coordinates that make it singular, up to rounding.

A pivot of M, or of an articulated inertia, is a difference: with v = [-U_11^-1 U_1j; 1], the motion of coordinate j in
which those before it follow by least inertia, it is v^T M v. All terms are sums in the world frame of inertias about
its origin, so where the pivot should be zero rounding leaves a few eps of sum_i v_i^2 s_i, s_i a bound of what
coordinate i moves of these inertias (`shift_inertia`).
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_inline

# pivots below this part of that sum are rounding: 1.1e-16 was met up to 1 km from the origin, and 4e-9 in real robots
ROUNDING = 1e-14
# pivots above this part of the diagonal of M, or of s, are regular: rounding left 3e-5 of it 1 km from the origin
CLEARLY_REGULAR = 1e-4
# articulated pivots below this part of s are compared with rounding. That none above is rounding follows where one
# coordinate follows, as v^2 s is then below s over it; of chains it is what tests of up to 10 000 links show
NEARLY_SINGULAR = 1e-8


@kernel_inline
def inertia_bound(M, condensed, J, n, j):
    """Upper bound of J_j^T M J_j for column j of J (6, n), by the traces of M and those condensed (2,) out of it."""
    turning, moving = M[0, 0] + M[1, 1] + M[2, 2] + condensed[0], M[3, 3] + M[4, 4] + M[5, 5] + condensed[1]
    a0, a1, a2, b0, b1, b2 = J[j], J[n + j], J[2 * n + j], J[3 * n + j], J[4 * n + j], J[5 * n + j]
    return (a0 * a0 + a1 * a1 + a2 * a2) * turning + (b0 * b0 + b1 * b1 + b2 * b2) * moving


@kernel_in_place
def pivot_is_rounding(U, j, diagonal, shift_inertia, v):
    """Whether pivot j of a Cholesky factor U is rounding; none above CLEARLY_REGULAR * diagonal is; v (n,): scratch."""
    pivot = U[j, j] * U[j, j]
    if pivot > CLEARLY_REGULAR * diagonal:
        return False
    bound = shift_inertia[j]
    for i in range(j - 1, -1, -1):
        rest = -U[i, j]
        for k in range(i + 1, j):
            rest -= U[i, k] * v[k]
        v[i] = rest / U[i, i]
        bound += v[i] * v[i] * shift_inertia[i]
    return not pivot > ROUNDING * bound


@kernel_in_place
def singular_coordinate(tree, known, diagonal, U, ws):
    """The first free coordinate whose pivot in the Cholesky factor U of the mass matrix is rounding, or -1.

    diagonal (ndof,): that of the mass matrix; ws: as `composite_mass_matrix` leaves it.
    """
    nothing, shift_inertia, v, summed = (0.0, 0.0), ws.vector[2], ws.vector[3], False
    for j in range(U.shape[0]):
        if known[j] or U[j, j] * U[j, j] > CLEARLY_REGULAR * diagonal[j]:
            continue
        if not summed:
            summed = True
            for b in range(tree.block.shape[0]):
                n, c0 = tree.block[b].n, tree.block[b].column
                for i in range(n):
                    shift_inertia[c0 + i] = 0.0
                    for k in range(tree.block[b].first, tree.block[b].end):
                        work = tree.segment[k].work
                        J = ws.column[1, work : work + 6 * n]
                        shift_inertia[c0 + i] += inertia_bound(ws.tensor[k, 0], nothing, J, n, i)
        if pivot_is_rounding(U, j, diagonal[j], shift_inertia, v):
            return j
    return -1
