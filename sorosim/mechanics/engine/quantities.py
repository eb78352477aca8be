"""What follows of a state of a robot: strains of rods, mass and its centre, what wrenches on nodes change by."""

from __future__ import annotations

from threading import local

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.kernels.external import ExternalForces
from sorosim.mechanics.kernels.kinematics import POSES
from sorosim.mechanics.kernels.tree import LENGTH_RATIO
from sorosim.mechanics.model.layout import MERGE, LinkLayout


def extent(positions: Array) -> float:
    """Largest side of the box about positions (n, 3) and the world's origin [m]."""
    return float(np.ptp(np.vstack([np.zeros(3), positions]), axis=0).max(initial=0.0))


def rod_strain(layout: LinkLayout, q: Array, s: float) -> Array:
    """Strain (..., 6) of a rod at s in states q (..., ndof); where divisions meet that of the second one."""
    X = s * layout.X[-1]
    piece = next(piece for piece in reversed(layout.pieces) if piece.start <= X + MERGE * layout.X[-1])
    division, here = piece.division, np.clip([X - piece.start], 0.0, piece.division.length)
    rest, P = division.reference.values(here, division.length)[0], division.basis(here)[0]
    own = q[..., piece.column : piece.column + piece.n]
    return np.asarray(rest + own @ P / np.asarray(piece.length_ratio(q))[..., None])


def centre_of_mass(engine: Engine, q: Array, link: str | None = None) -> tuple[float, Array]:
    """Mass [kg] and centre of mass (3,) in the world [m] of a link and all that hangs on it; None: of the robot.

    Fluid that moves with the robot is none of it; material of rods of variable length counts where it is.
    """
    engine.sweep(q, engine.zero_rates, POSES)
    tree, ws = engine.tree, engine.workspace
    n = len(tree.segment)
    inertia, g = engine.gravitational_inertia, ws.pose[:n]
    mass, first = inertia[:, 3, 3].copy(), np.stack([inertia[:, 2, 4], inertia[:, 0, 5], inertia[:, 1, 3]], axis=1)
    moment = mass[:, None] * g[:, 3] + np.einsum("nij,nj->ni", g[:, :3], first)
    for nodes in (tree.flow_node["node"], tree.inserted["node"]):
        if not len(nodes):
            continue
        more = ws.twist[nodes, LENGTH_RATIO, 0] - 1.0
        np.add.at(moment, nodes, more[:, None] * moment[nodes])
        np.add.at(mass, nodes, more * mass[nodes])
    part = np.arange(n) if link is None else _subtree(engine, link)
    total = float(mass[part].sum())
    return total, moment[part].sum(axis=0) / total if total > 0.0 else np.full(3, np.nan)


def _subtree(engine: Engine, link: str) -> IntArray:
    """Nodes of a link and of all that hangs on it."""
    parent, own = engine.tree.segment["parent"], np.zeros(len(engine.tree.segment), dtype=bool)
    own[engine.layout.links[link].nodes] = True
    for node, before in enumerate(parent):
        own[node] |= before >= 0 and own[before]
    return np.flatnonzero(own).astype(np.int64)


def centre_of_mass_jacobian(engine: Engine, q: Array) -> Array:
    """Derivatives (3, ndof) of the centre of mass of the robot by its coordinates.

    Held still under gravity along an axis alone, a robot without loads needs the forces -m dc/dq (docs/theory.md, 4);
    where rods change their length, the mass does too, and differences of fourth order are taken.
    """
    mass, _ = centre_of_mass(engine, q)
    if engine.flows or len(engine.insertions):
        steps, columns = np.eye(engine.ndof), []
        for step in 1e-3 * steps:
            near, far = (
                (centre_of_mass(engine, q + x * step)[1] - centre_of_mass(engine, q - x * step)[1]) / (2e-3 * x)
                for x in (1.0, 2.0)
            )
            columns.append((4.0 * near - far) / 3.0)
        return np.stack(columns, axis=1)
    zero, u = engine.zero_rates, np.zeros(engine.n_actuators)
    tau = [one.evaluate(task.INVERSE, q, zero, zero.copy(), u).tau for one in engine.companion(_under_unit_gravity)]
    return -np.stack(tau) / mass


def _under_unit_gravity(engine: Engine) -> tuple[Engine, ...]:
    """The engine without loads, and without the fluid that moves with it, under gravity of 1 along each axis."""
    tree = engine.tree._replace(inertia=engine.gravitational_inertia)
    return tuple(engine.unloaded.replace(tree=tree, gravity=axis, _local=local()) for axis in np.eye(3))


def carried(external: ExternalForces, J: Array, Jd: Array) -> Array:
    """Change (n, 6) of wrenches because their nodes move by world twists J (n, 6), and at rates Jd (n, 6)."""
    change = turned(external.wrench, J)
    change += np.einsum("kij,kj->ki", external.K, J) + np.einsum("kij,kj->ki", external.D, Jd)
    coupling = external.coupling
    for c in range(coupling.counts["n"]):
        nodes, rows, rates = (coupling.row[name][c] for name in ("node", "n_rows", "n_rates"))
        moved, rate = (np.where(nodes[:, None] >= 0, part[nodes], 0.0).ravel() for part in (J, Jd))
        force = coupling.right[c, :rows] @ moved
        force[:rates] += coupling.rate[c, :rates] @ rate
        for node, wrench in zip(nodes, (coupling.left[c, :rows].T @ force).reshape(-1, 6), strict=True):
            if node >= 0:
                change[node] += wrench
    return change


def turned(wrench: Array, J: Array) -> Array:
    """Change (n, 6) of wrenches that move along with twists J, adbar_w J = -[m x w + f x v; f x w]."""
    m, f, w, v = wrench[:, :3], wrench[:, 3:], J[:, :3], J[:, 3:]
    return -np.concatenate([np.cross(m, w) + np.cross(f, v), np.cross(f, w)], axis=1)
