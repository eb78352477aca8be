"""The mass matrix, and which coordinate makes it singular."""

from __future__ import annotations

from threading import local

import numpy as np
from scipy.linalg.lapack import dpotrf

from sorosim.arrays import Array, IntArray
from sorosim.engine.engine import Engine
from sorosim.errors import ModelError
from sorosim.kernels import evaluate as task
from sorosim.kernels.kinematics import POSES
from sorosim.kernels.mass_rank import CLEARLY_REGULAR
from sorosim.kernels.tree import FLOW_NODE, INSERTED_NODE, LENGTH_RATIO, PARENT
from sorosim.model.chart import SingularityGuard, exponential_stages

# so near to a whole turn coordinates are singular [rad]
AT_TURN = 1e-6


def mass_matrix(engine: Engine, q: Array) -> Array:
    """Mass matrix (ndof, ndof) at q; entries of insertions are those of nodes that carry their material along."""
    zero = engine.zero_rates
    return engine.evaluate(task.MASS, q, zero, zero.copy(), np.zeros(engine.n_actuators)).mass


def _guard(engine: Engine) -> SingularityGuard:
    """Whole turns of a robot of which nothing is driven."""
    return SingularityGuard(engine.layout, engine.none_known, changeable=True)


def check_inertia(engine: Engine, q: Array, rows: IntArray, mass: Array) -> Array:
    """Refuse a singular mass matrix of the coordinates in rows, or of motions with loops closed (ModelError).

    Returns its Cholesky factor U, M = U^T U, below which entries are undefined.
    """
    layout, known = engine.layout, np.ones(engine.ndof, dtype=np.bool_)
    known[rows] = False
    guard = SingularityGuard(layout, known, changeable=True) if known.any() else engine.companion(_guard)
    if link := guard.singular(q, AT_TURN):
        turning = (i for own, _ in exponential_stages(layout.links[link]) for i in range(own.start, own.stop))
        first = next(layout.coordinate_names[i] for i in turning if not known[i])
        hint = "the same pose has other coordinates, without the turn"
        raise ModelError(first, "coordinates that are not singular", "a rotation by a whole turn", hint)
    factor, failed = dpotrf(mass)
    if len(mass) < len(rows):  # with loops closed, a coordinate without mass of its own may move mass
        if failed:
            raise ModelError("mass matrix", "one that is positive definite with loops closed", "a singular one")
        return np.asarray(factor)
    if failed or (np.diag(factor) ** 2 <= CLEARLY_REGULAR * np.diag(mass)).any():
        # names the coordinate, or finds none
        zero, none = engine.zero_rates, np.zeros(engine.n_actuators)
        engine.inertial.evaluate(task.FORWARD, q, zero, zero.copy(), none, known=known)
    if failed:  # whatever the other factor has made of its rounding
        raise engine.singular_mass_error(int(rows[failed - 1]))
    return np.asarray(factor)


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
    for nodes in (tree.flow_node[:, FLOW_NODE], tree.inserted[:, INSERTED_NODE]):
        if not len(nodes):
            continue
        more = ws.twist[nodes, LENGTH_RATIO, 0] - 1.0
        np.add.at(moment, nodes, more[:, None] * moment[nodes])
        np.add.at(mass, nodes, more * mass[nodes])
    part = np.arange(n) if link is None else _hanging(engine, link)
    total = float(mass[part].sum())
    return total, moment[part].sum(axis=0) / total if total > 0.0 else np.full(3, np.nan)


def _hanging(engine: Engine, link: str) -> IntArray:
    """Nodes of a link and of all that hangs on it."""
    parent, own = engine.tree.segment[:, PARENT], np.zeros(len(engine.tree.segment), dtype=bool)
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
