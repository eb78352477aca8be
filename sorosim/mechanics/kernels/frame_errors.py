"""Errors of frames that shall be at a position or a pose, and their derivatives."""

from __future__ import annotations

import numpy as np

from sorosim.base.compiled import kernel, record
from sorosim.mechanics.lie.se3 import inverse, log_se3
from sorosim.mechanics.lie.tangent import tangent_inv

ERROR_ROW = record(frame=int, component=int, row=int)


@kernel
def frame_errors(goal, is_pose, index, scale, g, J, q_by, errors, slopes):
    """Fill rows of errors (n_rows,) and of their derivatives (n_rows, n_p) by the parameters of q.

    goal (n, 4, 4), is_pose (n,) bool: where frames shall be; index (n_errors,) ERROR_ROW: which component
    of the error of which frame goes to which row; scale
    (n_rows,): factors; g (n, 4, 4), J (n, 6, ndof): poses and body Jacobians; q_by (ndof, n_p), in Fortran's order. The
    error of a pose is log(goal^-1 g), a twist; of a position its displacement in the world, components 3 to 5.
    """
    ndof, n_p = q_by.shape
    error, X, motion, last = np.zeros(6), np.zeros((6, 6)), np.empty(ndof), -1
    for i in range(index.shape[0]):
        k, component, row = index[i].frame, index[i].component, index[i].row
        if k != last and is_pose[k]:
            error = log_se3(inverse(goal[k]) @ g[k])
            X = tangent_inv(-error)  # by a twist in the moved frame
        elif k != last:
            X = np.zeros((6, 6))
            X[3:, 3:] = g[k, :3, :3]
            error[3:] = g[k, :3, 3] - goal[k, :3, 3]
        last = k
        errors[row] = scale[row] * error[component]
        for j in range(ndof):
            total = 0.0
            for r in range(6):
                total += X[component, r] * J[k, r, j]
            motion[j] = scale[row] * total
        for p in range(n_p):
            total = 0.0
            for j in range(ndof):
                total += motion[j] * q_by[j, p]
            slopes[row, p] = total
