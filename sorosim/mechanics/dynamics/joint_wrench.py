"""Moments and forces of a joint from its generalised forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.validation import vector
from sorosim.mechanics.model.chart import angle, exponential_stages, joint_jacobian
from sorosim.mechanics.model.layout import LinkLayout

# so near to a whole turn the wrench of exponential coordinates is lost in rounding
SINGULAR = 1e-8


def joint_wrench(layout: LinkLayout, q: Array, tau: ArrayLike) -> Array:
    """Components (n,) along a joint's directions in its moved frame: tau = A^T y (docs/theory.md, 6)."""
    forces, joint = vector("tau", tau, layout.n_joint), layout.link.joint
    if not joint.takes_pose:
        return forces
    for own, stage in exponential_stages(layout):
        turned = angle(stage.columns, q[own])
        if turned > 1.0 and abs(np.sin(0.5 * turned)) < SINGULAR:
            got = f"a rotation of '{layout.link.name}' by {turned:.9g} rad, a whole turn"
            hint = "hold the joint in the coordinates a whole turn away, which are of the same pose"
            raise InputError("q", "coordinates from which the wrench can be told", got, hint)
    own_q = q[layout.column : layout.column + layout.n_joint]
    A = np.vstack([stage.columns for stage in joint.stages]) @ joint_jacobian(joint, own_q)
    return np.asarray(np.linalg.solve(A.T, forces))
