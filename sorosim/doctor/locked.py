"""Strains that are locked, and that the forces at rest would use if they were free."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import OK, Finding, graded
from sorosim.doctor.patient import Patient
from sorosim.equations.strains import Place
from sorosim.model.basis import STRAINS
from sorosim.results.result import Equilibrium

Array = NDArray[np.float64]

USED_NOTE, USED_ODD = 0.02, 0.1  # turn of a rod from end to end [rad], or its stretch


def locked(patient: Patient) -> Iterator[Finding]:
    """What each locked strain of each rod would do under the forces at rest without inputs.

    By E xi = F, to first order, with the wrench F that every section hands on to what is beyond it. Shear is left to
    the check of slenderness, which knows it without a load.
    """
    rest = patient.rest
    if not isinstance(rest, Equilibrium):
        return
    zero = np.zeros(patient.robot.ndof)
    poses, wrenches = patient.robot.engine.transmitted(rest.q, zero, zero.copy(), rest.u, 0.0, rest.lam)
    for place in patient.places:
        counts = place.division.strain.count_per_strain
        used = _used(patient, place, poses, wrenches)
        for row in (0, 1, 2, 3):
            if counts[row] or (level := graded(float(used[row]), USED_NOTE, USED_ODD)) == OK:
                continue
            how = (
                f"turn it by {np.degrees(used[row]):.3g} degrees"
                if row < 3
                else f"stretch it by {100 * used[row]:.3g} %"
            )
            what = f"{STRAINS[row]} is locked, and the forces at rest would {how}"
            remedy = f"free it: strain: {{{STRAINS[row]}: {2 if row in (1, 2) else 0}}}"
            value, unit = (float(used[row]), "rad") if row < 3 else (100.0 * float(used[row]), "%")
            yield Finding(level, f"{place.where}.strain", what, remedy, value, unit)


def _used(patient: Patient, place: Place, poses: Array, wrenches: Array) -> Array:
    """Turn from end to end by each angular strain [rad], and mean stretches, (6,), if all were free."""
    layout = patient.robot.engine.layout.links[place.link.name]
    mine = place.piece.gauss(layout)
    nodes, after, weight = layout.nodes[mine], layout.nodes[np.flatnonzero(mine) + 1], layout.weight[mine]
    X = layout.X[mine] - place.piece.start
    # half of what acts on a node itself is on this side of it
    g, w = poses[nodes], 0.5 * (wrenches[nodes] + wrenches[after])
    # rows of a pose: rotation, place; wrenches are in the axes of the world, about its origin
    moment = w[:, :3] - np.cross(g[:, 3], w[:, 3:])
    own = np.concatenate([np.einsum("nji,nj->ni", g[:, :3], x) for x in (moment, w[:, 3:])], axis=1)
    strain = np.abs(own) / place.division.line_stiffness(X)
    return np.asarray((weight @ strain) / np.where(np.arange(6) < 3, 1.0, weight.sum()))
