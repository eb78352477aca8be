"""Equations M x = b of rigid trees in O(n): the extended Fixman method (docs/theory.md, 5).

It loses digits with the square of length over radius of gyration of thin links.

All bodies are freed first; then H, the inverse of their mass matrix in coordinates of the joints, has a few entries for
each joint. The directions in which joints may move are soft, the others hard, and M^{-1} is the Schur complement
H_ss - H_sh H_hh^{-1} H_hs. Twists are measured by their kinetic energy: z = L^T eta, where L L^T is the inertia.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

from benchmarks.skeleton import Skeleton, make_skeleton
from sorosim.base.arrays import Array, Mask
from sorosim.base.errors import ModelError
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.kernels.kinematics import COLUMNS

# columns that are solved for at once: their room stays small beside that of the tree
COLUMN_BLOCK = 64
EPS = np.finfo(float).eps
# the projection is repeated until nothing is left to take away, but not more often than this
PROJECTIONS = 10


class Bodies(NamedTuple):
    """The bodies of a tree at one state, their directions in the order of `Skeleton`: soft ones first, then hard ones.

    The relative motion of joint i is z_i - K_i z_p, zero in its hard directions, and R_i times the rates of its
    coordinates in its soft ones.
    """

    K: Array  # (n, 6, 6) from the body before; zero where that is the world
    R_inverse: Array  # (n, 6, 6) upper triangular, 1 on the diagonal beyond the soft ones


class Fixman:
    """Solves with the mass matrix of a tree of rigid links; its loops are left open."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._skeletons: dict[bytes, Skeleton] = {}

    def skeleton(self, known: Mask) -> Skeleton:
        """Bodies and their order, for the coordinates that are not known.

        Raises InputError for a robot that the method does not hold for.
        """
        key = known.tobytes()
        cached = self._skeletons.get(key)
        if cached is None:  # a cache of one; several threads may fill it, each for itself
            cached = make_skeleton(self.engine, known)
            self._skeletons = {key: cached}
        return cached

    def solve(self, q: Array, known: Mask, B: Array) -> Array:
        """M_ff^{-1} B (ndof, m) in the rows of free coordinates, zero elsewhere."""
        skeleton = self.skeleton(known)
        if not len(skeleton.free):
            return np.zeros_like(B)
        bodies = self.bodies(q, skeleton)
        factor = _factor(skeleton, bodies.K)
        out = np.zeros_like(B)
        for first in range(0, B.shape[1], COLUMN_BLOCK):
            block = slice(first, first + COLUMN_BLOCK)
            out[skeleton.free, block] = _solved(skeleton, bodies, factor, B[skeleton.free, block])
        return out

    def bodies(self, q: Array, skeleton: Skeleton) -> Bodies:
        """Matrices of the bodies at a state, all at once.

        Raises ModelError naming a coordinate that moves no mass of its own.
        """
        engine = self.engine
        engine.sweep(q, engine.zero_rates, COLUMNS)
        pose, columns = engine.workspace.pose[skeleton.node], engine.workspace.column[1][skeleton.at]
        R, p = pose[:, :3], pose[:, 3]
        parent, L_t = skeleton.parent, np.swapaxes(skeleton.L, 1, 2)

        # joint directions in the frame of the body that they move, [linear; angular], in the metric of its inertia
        S = np.zeros((len(R), 6, 6))
        own, turn = R[skeleton.body], columns[:, :3]
        shift = columns[:, 3:] + np.cross(turn, p[skeleton.body])
        S[skeleton.body, :3, skeleton.slot] = np.einsum("cji,cj->ci", own, shift)
        S[skeleton.body, 3:, skeleton.slot] = np.einsum("cji,cj->ci", own, turn)
        S = L_t @ S
        Q, R_joint = np.linalg.qr(S)  # columns of zeros change nothing: the first n_soft ones of Q span S
        self._check(skeleton, S, R_joint)
        R_joint[:, range(6), range(6)] += np.arange(6) >= skeleton.n_soft[:, None]

        # twist of the parent body, in the own frame
        X = np.zeros((len(R), 6, 6))
        turned = np.swapaxes(R, 1, 2) @ R[parent]
        arm = np.einsum("nji,nj->ni", R[parent], p - p[parent])
        X[:, :3, :3] = X[:, 3:, 3:] = turned
        X[:, :3, 3:] = np.cross(arm[:, None], turned)  # rows r of R: -r [arm]x = arm x r
        K = np.swapaxes(Q, 1, 2) @ (L_t @ X @ np.swapaxes(skeleton.L_inverse[parent], 1, 2)) @ Q[parent]
        K[parent < 0] = 0.0
        return Bodies(K, np.linalg.inv(R_joint))

    def _check(self, skeleton: Skeleton, S: Array, R: Array) -> None:
        """Refuse directions of a joint that depend on each other: M is singular then."""
        own = R[skeleton.body, skeleton.slot, skeleton.slot]
        size = np.linalg.norm(S[skeleton.body, :, skeleton.slot], axis=1)
        # half of the digits, where the Cholesky factor of M gives up as well
        singular = np.flatnonzero(~(np.abs(own) > np.sqrt(EPS) * size))
        if len(singular):
            raise self.engine.singular_mass_error(int(skeleton.free[singular[0]]))


def _relative(skeleton: Skeleton, K: Array, z: Array) -> Array:
    """D z (n, 6, m): relative motions in all joints; K is zero where index -1 takes the last body for the world."""
    out: Array = z - K @ z[skeleton.parent]
    return out


def _gathered(skeleton: Skeleton, K: Array, e: Array) -> Array:
    """D^T e (n, 6, m)."""
    out, moved = e.copy(), skeleton.parent >= 0
    back = np.swapaxes(K[moved], 1, 2) @ e[moved]
    if skeleton.serial:
        out[skeleton.parent[moved]] -= back
    else:
        np.subtract.at(out, skeleton.parent[moved], back)
    return out


def _factor(skeleton: Skeleton, K: Array) -> Callable[[Array], Array]:
    """Solves with H_hh (n_hard, m): from a banded Cholesky factor of a chain, a sparse LU factor of a tree.

    On a chain a pivot is the compliance of a joint with nothing but what is before it, whose own body gives at least
    one: factors exist however long it is.
    """
    hard = skeleton.hard
    if not len(hard.direction):
        return lambda right: right
    first, second = hard.siblings.T
    blocks = np.concatenate(
        [np.eye(6) + K @ np.swapaxes(K, 1, 2), -K[skeleton.parent >= 0], K[first] @ np.swapaxes(K[second], 1, 2)]
    )
    values = blocks.ravel()[hard.entries]
    rows, columns, n = hard.rows, hard.columns, len(hard.direction)
    if skeleton.serial:
        band = np.zeros((int((rows - columns).max()) + 1, n))
        band[rows - columns, columns] = values
        try:
            factor = cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
        except LinAlgError:
            raise _singular() from None
        return lambda right: np.asarray(cho_solve_banded((factor, True), right, check_finite=False))
    lower = scipy.sparse.csc_array((values, (rows, columns)), shape=(n, n))
    H = lower + scipy.sparse.tril(lower, -1).T
    try:
        # leaves first and symmetric: no pivoting, no fill
        lu = scipy.sparse.linalg.splu(H.tocsc(), "NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        raise _singular() from None
    return lambda right: np.asarray(lu.solve(right))


def _singular() -> ModelError:
    """H_hh is positive definite for any tree, but not always to rounding."""
    got = "inertias that differ too much, or a state that is not finite"
    return ModelError("mass matrix", "one that this algorithm can factor", got, "try algorithm='composite'")


def _solved(skeleton: Skeleton, bodies: Bodies, factor: Callable[[Array], Array], b: Array) -> Array:
    """M_ff^{-1} b (n_free, m) = R^{-1} D_s P D_s^T R^{-T} b, P = 1 - D_h^T H_hh^{-1} D_h."""
    n, m, hard = len(skeleton.parent), b.shape[1], skeleton.hard.direction
    e = np.zeros((n, 6, m))
    e[skeleton.body, skeleton.slot] = b
    z = _gathered(skeleton, bodies.K, np.swapaxes(bodies.R_inverse, 1, 2) @ e)
    before = np.full(m, np.inf)
    for _ in range(PROJECTIONS):
        # the error of one projection is that of the normal equations; what it leaves is projected again
        e = np.zeros((6 * n, m))
        e[hard] = factor(_relative(skeleton, bodies.K, z).reshape(6 * n, m)[hard])
        hard_part = _gathered(skeleton, bodies.K, e.reshape(n, 6, m))
        z -= hard_part
        size, left = (np.abs(x).max(axis=(0, 1), initial=0.0) for x in (hard_part, z))
        if ((size <= EPS * left) | (size > 0.5 * before)).all():
            break
        before = size
    soft = np.arange(6) < skeleton.n_soft[:, None]
    z_soft = bodies.R_inverse @ (_relative(skeleton, bodies.K, z) * soft[:, :, None])
    out: Array = z_soft[skeleton.body, skeleton.slot]
    return out
