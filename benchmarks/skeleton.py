"""The bodies of a rigid robot and the joints between them: the part of `fixman` that no state changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.errors import InputError
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.lie.se3 import Ad_inv

# [linear; angular]: the Cholesky factor of an inertia then measures the velocity of the centre of mass, and the
# rotation, wherever the frame is
ORDER = np.array([3, 4, 5, 0, 1, 2])


class Groups(NamedTuple):
    """Links that are fixed to each other, as one."""

    of_node: IntArray  # (n_nodes,) group of each node, -1: fixed to the world
    node: IntArray  # (n,) first node, whose frame is that of the group
    before: IntArray  # (n,) group that its joint is on, -1: the world
    inertia: Array  # (n, 6, 6) in its frame, [angular; linear]


class Hard(NamedTuple):
    """Where the hard directions of the joints stand in the matrix H_hh."""

    direction: IntArray  # (n_hard,) 6 body + direction, in the order of H_hh
    siblings: IntArray  # (n_pairs, 2) bodies on one body
    # entries of its lower triangle, and where they are in blocks (., 6, 6): of all bodies with themselves, of all that
    # are not on the world with the body before, of the siblings
    rows: IntArray
    columns: IntArray
    entries: IntArray


class Skeleton(NamedTuple):
    """The bodies that have mass, in the order in which H_hh is factored.

    Joints with nothing of mass between them are one joint, that of the body which the last of them carries.
    Coordinates that are known do not move: their directions are hard.
    """

    node: IntArray  # (n,) node whose frame is that of the body
    parent: IntArray  # (n,) the body before, -1: the world
    L: Array  # (n, 6, 6) Cholesky factor of its inertia, [linear; angular]
    L_inverse: Array  # (n, 6, 6)
    free: IntArray  # (n_free,) coordinates that are not known
    body: IntArray  # (n_free,) the body that the joint of each leads to
    slot: IntArray  # (n_free,) and which of the soft directions there it is
    at: IntArray  # (n_free, 6) where its column is in Workspace.column[1]
    n_soft: IntArray  # (n,) number of soft directions
    serial: bool  # whether no body carries two others
    hard: Hard


def make_skeleton(engine: Engine, known: Mask) -> Skeleton:
    """Skeleton of the robot of an engine, O(n).

    Raises InputError for what the Fixman method does not hold for, ModelError for a coordinate that moves no mass.
    """
    tree, layout = engine.tree, engine.layout
    for name, link in layout.links.items():
        if link.pieces:
            raise _unsupported(f"the rod '{name}'", "it holds for rigid links")
    groups = _grouped(engine)
    carrier = _carriers(engine, groups, known)

    # the nearest body with mass before each group, and the order of bodies
    massive = carrier == np.arange(len(carrier))
    up = np.full(len(carrier) + 1, -1)  # the last one is the world's
    parents: dict[int, int] = {}
    for i, before in enumerate(groups.before.tolist()):
        up[i] = i if massive[i] else up[before]
        if massive[i]:
            parents[i] = int(up[before])
    order, serial = _order(parents)
    number = np.full(len(carrier) + 1, -1)
    number[order] = np.arange(len(order))
    parent = number[[parents[i] for i in order]].astype(np.int64)

    # coordinates: where their columns are, and the body that they lead to
    block = np.repeat(np.arange(len(tree.block)), tree.block["n"])
    free = np.flatnonzero(~known)
    own = tree.block[block[free]]
    body = number[carrier[groups.of_node[own["first"]]]]
    slot, n_soft = np.zeros(len(free), dtype=np.int64), np.zeros(len(order), dtype=np.int64)
    for k, i in enumerate(body.tolist()):
        slot[k] = n_soft[i]
        n_soft[i] += 1
        if n_soft[i] > 6:
            raise engine.singular_mass_error(int(free[k]))
    at = tree.segment["work"][own["first"]] + free - own["column"]
    at = at[:, None] + own["n"][:, None] * np.arange(6)

    inertia = groups.inertia[order][:, ORDER][:, :, ORDER]
    try:
        L = np.asarray(np.linalg.cholesky(inertia), dtype=np.float64)
    except np.linalg.LinAlgError:
        worst = int(np.argmin(np.linalg.eigvalsh(inertia)[:, 0]))
        name = layout.place_of(int(groups.node[order[worst]]))
        raise _unsupported(f"an inertia of {name} that is not positive definite", "give it mass") from None
    L_inverse = np.asarray(np.linalg.inv(L), dtype=np.float64)
    hard = _hard(parent, n_soft)
    return Skeleton(groups.node[order], parent, L, L_inverse, free, body, slot, at, n_soft, serial, hard)


def _grouped(engine: Engine) -> Groups:
    """Links that are fixed to each other, one group for each block of coordinates and in their order."""
    tree = engine.tree
    of_node = np.full(len(tree.segment) + 1, -1)  # the last one is the world's
    node: list[int] = []
    before: list[int] = []
    pose: dict[int, Array] = {}  # of nodes that are not the first of their group, in its frame
    for k, n, base in zip(tree.block["first"], tree.block["n"], tree.block["parent"], strict=True):
        if n > 0:
            of_node[k] = len(node)
            node.append(int(k))
            before.append(int(of_node[base]))
        elif base >= 0 and of_node[base] >= 0:
            of_node[k] = of_node[base]
            offset = tree.offset[k]
            pose[int(k)] = pose[int(base)] @ offset if int(base) in pose else offset
    inertia = tree.inertia[node].reshape(-1, 6, 6)
    for k, g in pose.items():
        X = Ad_inv(g)
        inertia[of_node[k]] += X.T @ tree.inertia[k] @ X
    return Groups(of_node[:-1], np.array(node, dtype=np.int64), np.array(before, dtype=np.int64), inertia)


def _carriers(engine: Engine, groups: Groups, known: Mask) -> IntArray:
    """Body (n,) that the joint of each group leads to: the next one with mass, -1 where nothing has any."""
    tree, n = engine.tree, len(groups.node)
    massive: Mask = np.abs(groups.inertia).max(axis=(1, 2), initial=0.0) > 0.0
    carrier = np.where(massive, np.arange(n), -1)
    below: list[list[int]] = [[] for _ in range(n)]
    for i in range(n - 1, -1, -1):
        if not massive[i] and len(below[i]) > 1:
            name = engine.layout.place_of(int(groups.node[i]))
            raise _unsupported(f"several joints on {name}, which has no mass", "give it mass")
        if not massive[i] and below[i]:
            carrier[i] = below[i][0]
        if carrier[i] >= 0 and groups.before[i] >= 0:
            below[groups.before[i]].append(int(carrier[i]))
    for block in tree.block[tree.block["n"] > 0][carrier < 0]:
        own = np.arange(block.column, block.column + block.n)
        if not known[own].all():
            raise engine.singular_mass_error(int(own[~known[own]][0]))
    return carrier


def _order(parents: dict[int, int]) -> tuple[list[int], bool]:
    """Bodies in the order of elimination, and whether no body carries two others.

    A chain from the base: no pivot is then below one (docs/theory.md, 5). A tree from its leaves: what is left is
    coupled no more than it was.
    """
    children: dict[int, list[int]] = {}
    for i, parent in parents.items():
        children.setdefault(parent, []).append(i)
    serial = all(len(own) == 1 for parent, own in children.items() if parent >= 0)
    order, open_children = [], list(children.get(-1, ()))
    while open_children:
        order.append(open_children.pop())
        open_children += children.get(order[-1], [])
    return (order if serial else order[::-1]), serial


def _hard(parent: IntArray, n_soft: IntArray) -> Hard:
    """The pattern of H_hh."""
    n = len(parent)
    hard = np.arange(6) >= n_soft[:, None]
    number = np.cumsum(hard).reshape(n, 6) - 1
    moved = np.flatnonzero(parent >= 0)
    below: dict[int, list[int]] = {}
    for i in moved:
        below.setdefault(int(parent[i]), []).append(int(i))
    siblings = [(a, b) for own in below.values() for k, a in enumerate(own) for b in own[:k]]
    pairs = np.array(siblings, dtype=np.int64).reshape(-1, 2)
    first = np.concatenate([np.arange(n), moved, pairs[:, 0]])
    second = np.concatenate([np.arange(n), parent[moved], pairs[:, 1]])
    wanted = hard[first][:, :, None] & hard[second][:, None, :]
    wanted[:n] &= np.tri(6, dtype=bool)
    a, b = (np.broadcast_to(x, wanted.shape)[wanted] for x in (number[first][:, :, None], number[second][:, None, :]))
    return Hard(np.flatnonzero(hard), pairs, np.maximum(a, b), np.minimum(a, b), np.flatnonzero(wanted))


def _unsupported(got: str, hint: str) -> InputError:
    return InputError("algorithm", "'composite' or 'articulated'", f"'fixman' for a robot with {got}", hint)
