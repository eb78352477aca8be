"""A robot in one state, swept once for all of its sensors.

Places between the computational points are reached by a partial Magnus step (docs/theory.md, 2), with its rates: the
tree is lengthened by massless segments that end there. The robot itself does not know them, so that a sensor never
changes a motion.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import legvander

from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError, nearest
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.loading import SlipState
from sorosim.mechanics.engine.quantities import carried, turned
from sorosim.mechanics.engine.records import Contacts
from sorosim.mechanics.kernels.kinematics import POSES, forward_sweep
from sorosim.mechanics.kernels.tree import Workspace, make_workspace
from sorosim.mechanics.lie.se3 import Ad_inv
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.layout import MERGE, LinkLayout


class Frame(NamedTuple):
    """Motion of a sensor's frame; twist and accelerations in its own axes."""

    R: Array  # (3, 3) its axes in the world
    p: Array  # (3,) its origin in the world [m]
    eta: Array  # (6,) twist, [angular; linear] [rad/s, m/s]
    alpha: Array  # (3,) angular acceleration [rad/s^2]
    a: Array  # (3,) acceleration of the origin [m/s^2]
    f: Array  # (3,) specific force, a - g [m/s^2]


def cross(a: Array, b: Array) -> Array:
    """Product of two vectors (3,), in a tenth of numpy's time."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


class SensorSites:
    """Frames in which a robot's sensors are mounted: requested while sensors are bound, until `close`.

    Parameters
    ----------
    description : Description
    engine : Engine
    """

    def __init__(self, description: Description, engine: Engine) -> None:
        self.description, self.engine = description, engine
        self.links = {link.name: link for link in description.links}
        self._places: list[tuple[str, float]] = []
        self._mounts: list[Array] = []
        self._local = threading.local()

    def layout(self, link: str) -> LinkLayout:
        """Where a link stands in the arrays, refusing one that is not known."""
        if link not in self.engine.layout.links:
            raise ModelError("link", "the name of a link", f"'{link}'", nearest(link, self.engine.layout.links))
        return self.engine.layout.links[link]

    def site(self, link: str, s: float, frame: str, at: Array) -> int:
        """The number of a frame on a link: pose `at` (4, 4) seen from the rod's section at s, or from a named frame."""
        self.layout(link)
        frames = self.links[link].frames
        if frame and frame not in frames:
            is_rod = self.links[link].rod is not None
            hint = "it is a rod; say where on it, with s" if is_rod else nearest(frame, frames)
            raise ModelError("frame", f"the name of a frame of '{link}'", f"'{frame}'", hint)
        self._places.append((link, s))
        self._mounts.append(frames[frame] @ at if frame else at)
        return len(self._mounts) - 1

    def parts_beyond(self, link: str, s: float) -> Array:
        """Parts (n_nodes,) of what acts at the nodes that acts on what lies beyond a section of a rod at s.

        What is spread between Gauss points is the polynomial through them; a force at the section itself is beyond it.
        """
        tree, layout = self.engine.tree, self.layout(link)
        out = np.zeros(len(tree.segment))
        X, far = s * layout.X[-1], MERGE * layout.X[-1]
        out[layout.nodes[X - far <= layout.X]] = 1.0
        for node in range(len(tree.segment)):  # what hangs on it
            parent = tree.segment["parent"][node]
            if parent >= 0 and node not in layout.nodes:
                out[node] = out[parent]
        for piece in layout.pieces:
            edges = piece.start + piece.division.length * np.array([0.0, *piece.division.breakpoints, 1.0])
            for a, b in pairwise(edges.real):
                inside = (np.clip(layout.X, a, b) == layout.X) & (layout.weight > 0.0)
                if a < X < b:
                    t = 2.0 * (layout.X[inside] - a) / (b - a) - 1.0
                    out[layout.nodes[inside]] = _beyond(t, float(2.0 * (X - a) / (b - a) - 1.0))
        return out

    def jacobians(self, q: Array) -> Array:
        """Jacobians (n, 6, ndof) of the twists of all sites, in their own axes."""
        J = self.engine.poses_at(self.places, q, jacobian=True)[1]
        return np.array([X @ own for X, own in zip(self._to_mounts, J, strict=True)]).reshape(J.shape)

    def close(self) -> None:
        """Add massless segments to the tree that end at the sites."""
        tree = self.engine.tree
        places = self.places = self.engine.places(tuple(self._places))
        self._to_mounts = [Ad_inv(np.ascontiguousarray(mount, dtype=float)) for mount in self._mounts]
        self._nodes = places.pieces["node"].copy()
        rows: list[Any] = []
        for i, (node, segment, at) in enumerate(places.pieces):
            if segment >= 0:
                self._nodes[i] = len(tree.segment) + len(rows)
                rows.append(tree.segment[segment].copy())
                row = rows[-1]
                row.parent, row.strain, row.offset, row.massless_end = node, len(tree.strain) + at, 0, 1
        n = len(rows)
        self._tree = (
            tree
            if not n
            else tree._replace(
                segment=np.concatenate([tree.segment, np.array(rows, dtype=tree.segment.dtype)]),
                offset=np.concatenate([tree.offset, np.tile(np.eye(4), (n, 1, 1))]),
                inertia=np.concatenate([tree.inertia, np.zeros((n, 6, 6))]),
                strain=np.concatenate([tree.strain, places.strain]),
            )
        )

    @property
    def _workspace(self) -> Workspace:
        """Workspace of this thread."""
        try:
            return self._local.workspace  # type: ignore[no-any-return]
        except AttributeError:
            self._local.workspace = make_workspace(self._tree)
            return self._local.workspace  # type: ignore[no-any-return]

    def frames(self, q: Array, qd: Array, qdd: Array) -> list[Frame]:
        """Motion of all sites."""
        ws, g = self._workspace, self.engine.gravity
        forward_sweep(self._tree, q, qd, qdd, g, POSES, ws)
        out = []
        for node, mount in zip(self._nodes, self._mounts, strict=True):
            R0, p0, V, A = ws.pose[node, :3], ws.pose[node, 3], ws.twist[node, 0], ws.twist[node, 1]
            R, p = R0 @ mount[:3, :3], R0 @ mount[:3, 3] + p0
            # world twist and its rate less gravity, from the world's origin to the site
            v = V[3:] + cross(V[:3], p)
            f = A[3:] + cross(A[:3], p) + cross(V[:3], v)
            eta = np.concatenate([R.T @ V[:3], R.T @ v])
            out.append(Frame(R, p, eta, R.T @ A[:3], R.T @ (f + g), R.T @ f))
        return out


def _beyond(t: Array, x: float) -> Array:
    """Integrals from x to 1 of the Lagrange polynomials through the Gauss points t (n,), over their weights.

    By Gauss's rule the polynomial of point k is w_k sum_j (j + 1/2) P_j(t_k) P_j, whose integrals are known.
    """
    n = len(t)
    at_x = legvander(np.array([x]), n)[0]
    integral = np.empty(n)
    integral[0], integral[1:] = 1.0 - x, (at_x[: n - 1] - at_x[2:]) / (2.0 * np.arange(1, n) + 1.0)
    return np.asarray(legvander(t, n - 1) @ ((np.arange(n) + 0.5) * integral))


class State:
    """A robot at one time; what several sensors need is computed once.

    Parameters
    ----------
    sites : SensorSites
    t : float
        [s]
    q, qd, qdd : (ndof,) array
    u : (n_actuators,) array
    lam : (n_multipliers,) array, or a function that gives it
        Multipliers of loops.
    sliding : SlipState, optional
        What friction resists in an equilibrium, in the place of rates.
    """

    def __init__(
        self, sites: SensorSites, t: float, q: Array, qd: Array, qdd: Array, u: Array,
        lam: Array | Callable[[], Array], sliding: SlipState | None = None,
    ) -> None:  # fmt: skip
        self.sites, self.engine, self.sliding = sites, sites.engine, sliding
        self.t, self.u, self._lam = t, u, lam
        self.q, self.qd, self.qdd = (np.ascontiguousarray(x, dtype=float) for x in (q, qd, qdd))

    def perturbed(self, h: float, dq: Array, du: Array, dlam: Array) -> State:
        """The state at q + h dq, u + h du and the multipliers + h dlam."""
        lam = self.lam + h * dlam
        return State(self.sites, self.t, self.q + h * dq, self.qd, self.qdd, self.u + h * du, lam, self.sliding)

    @cached_property
    def jacobians(self) -> Array:
        """Jacobians (n, 6, ndof) of all sites, in their own axes."""
        return self.sites.jacobians(self.q)

    @cached_property
    def contacts(self) -> Contacts:
        """Where surfaces touch."""
        return self.engine.contacts(self.q, self.qd, self.sliding)[0]

    @cached_property
    def node_wrenches(self) -> Array:
        """Wrenches (n_nodes, 6) that inertia, gravity, loads and loops ask for at each node alone, in the world."""
        parent, wrenches = self.engine.tree.segment["parent"], self._joint_reactions[1]
        own = wrenches[: len(parent)].copy()
        np.subtract.at(own, parent[parent >= 0], wrenches[np.flatnonzero(parent >= 0)])
        return own

    @cached_property
    def node_wrench_slopes(self) -> Array:
        """Derivatives (n_nodes, 6, ndof) of `node_wrenches` by q, at rest and without loops."""
        engine, external = self.engine, self.engine.external
        nodes = np.arange(len(engine.tree.segment))
        g, _, J, _ = engine.jacobians(nodes, self.q, self.qd, False)
        R, p = g[:, :3, :3], g[:, :3, 3]
        turns, moves = R @ J[:, :3], R @ J[:, 3:]
        twists = np.concatenate([turns, moves + np.cross(p[:, :, None], turns, axis=1)], axis=1)
        # of gravity: a wrench in the axes of its node that sees gravity turn
        down = np.einsum("nji,j->ni", R, engine.gravity)
        still = -engine.tree.inertia[:, :, 3:] @ down[:, :, None]
        turning = engine.tree.inertia[:, :, 3:] @ np.cross(J[:, :3], down[:, :, None], axis=1)
        both = np.concatenate([still, turning], axis=2)
        moment, force = R @ both[:, :3], R @ both[:, 3:]
        world = np.concatenate([moment + np.cross(p[:, :, None], force, axis=1), force], axis=1)
        loaded = len(external.wrench) > 0
        if loaded:
            engine.evaluate(
                task.RESIDUAL_DERIVATIVES, self.q, self.qd, self.qdd, self.u, self.t, multiplier=self.lam,
                sliding=self.sliding,
            )  # fmt: skip
        out, none = world[:, :, 1:].copy(), np.zeros((len(nodes), 6))
        for i in range(engine.ndof):
            twist = np.ascontiguousarray(twists[:, :, i])
            out[:, :, i] += turned(world[:, :, 0], twist) - (carried(external, twist, none) if loaded else 0.0)
        return out

    @cached_property
    def needed(self) -> Array:
        """Generalised forces (ndof,) beside internal ones that the motion needs: zero for coordinates that are free."""
        out = self.engine.evaluate(
            task.RESIDUAL, self.q, self.qd, self.qdd, self.u, self.t, multiplier=self.lam, sliding=self.sliding
        )
        return np.array(out.tau)

    def needed_along(self, q_by: Array, u_by: Array, lam_by: Array) -> Array:
        """Derivatives (ndof, n) of `needed` at rest along n changes of q, u and the multipliers."""
        out = self.engine.evaluate(
            task.RESIDUAL_DERIVATIVES, self.q, self.qd, self.qdd, self.u, self.t, multiplier=self.lam,
            sliding=self.sliding,
        )  # fmt: skip
        slopes = out.by_q @ q_by - out.B @ u_by
        return np.asarray(slopes - out.closure.constraint.T @ lam_by if len(lam_by) else slopes)

    @cached_property
    def lam(self) -> Array:
        """Multipliers (n_multipliers,) of loops."""
        return self._lam() if callable(self._lam) else self._lam

    @cached_property
    def frames(self) -> list[Frame]:
        """Motion of all sites, by their numbers."""
        return self.sites.frames(self.q, self.qd, self.qdd)

    @cached_property
    def tendon_lengths(self) -> Array:
        """Length of each tendon [m], by actuator."""
        return self.engine.tendon_lengths(self.q)

    @cached_property
    def _joint_reactions(self) -> tuple[Array, Array]:
        return self.engine.joint_reactions(self.q, self.qd, self.qdd, self.u, self.t, self.lam, self.sliding)

    @cached_property
    def tensions(self) -> Array:
        """Tension of each tendon at its pulled end [N], by actuator."""
        return self.engine.tensions(self.q, self.u)

    def joint_reactions(self, node: int) -> Array:
        """Wrench (6,) that the parent transmits to a node and its subtree, in the node's frame, about its origin."""
        poses, wrenches = self._joint_reactions
        R, p, w = poses[node, :3], poses[node, 3], wrenches[node]
        return np.concatenate([R.T @ (w[:3] - cross(p, w[3:])), R.T @ w[3:]])

    def loop_wrench(self, loop: int) -> Array:
        """Wrench (6,) of a loop on its frame a, in frame b."""
        return self.engine.loop_wrench(loop, self.q, self.qd, self.u, self.lam)

    def load(self, name: str) -> Array:
        """Wrenches (n, 6) of a load on its nodes, in their frames."""
        return self.engine.load_wrenches(name, self.t, self.q, self.qd, self.u, self.sliding)
