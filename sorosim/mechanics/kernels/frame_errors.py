"""Errors of frames that shall be at a position or a pose, or point along a direction, and their derivatives."""

from __future__ import annotations

import numpy as np

from sorosim.base.compiled import kernel, record
from sorosim.mechanics.lie.se3 import inverse, log_se3
from sorosim.mechanics.lie.tangent import tangent_inv

ERROR_ROW = record(frame=int, component=int, row=int)
POSITION, POSE, AXIS = range(3)


@kernel
def frame_errors(goal, kind, index, scale, g, J, q_by, errors, slopes):
    """Fill rows of errors (n_rows,) and of their derivatives (n_rows, n_p) by the parameters of q.

    goal (n, 4, 4), kind (n,) int: where frames shall be; index (n_errors,) ERROR_ROW: which component
    of the error of which frame goes to which row; scale
    (n_rows,): factors; g (n, 4, 4), J (n, 6, ndof): poses and body Jacobians; q_by (ndof, n_p), in Fortran's order. The
    error of a pose is log(goal^-1 g), a twist; of a position its displacement in the world, components 3 to 5; of an
    axis beside that components 1 and 2 of the least rotation, in the axes of the goal, from the x axis there to that of
    the frame: how the frame is turned about it does not count.
    """
    ndof, n_p = q_by.shape
    error, X, motion, last = np.zeros(6), np.zeros((6, 6)), np.empty(ndof), -1
    for i in range(index.shape[0]):
        k, component, row = index[i].frame, index[i].component, index[i].row
        if k != last and kind[k] == POSE:
            error = log_se3(inverse(goal[k]) @ g[k])
            X = tangent_inv(-error)  # by a twist in the moved frame
        elif k != last:
            X = np.zeros((6, 6))
            X[3:, 3:] = g[k, :3, :3]
            error[3:] = g[k, :3, 3] - goal[k, :3, 3]
            if kind[k] == AXIS:
                direction_error(goal[k], g[k], error, X)
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


@kernel
def direction_error(goal, g, error, X):
    """Fill components 1, 2 of the rotation from one x axis to another, and rows 1, 2 of X by a twist in the frame."""
    c, y, z = 0.0, 0.0, 0.0  # the x axis of g in the axes of the goal
    for i in range(3):
        c += goal[i, 0] * g[i, 0]
        y += goal[i, 1] * g[i, 0]
        z += goal[i, 2] * g[i, 0]
    s = np.sqrt(y * y + z * z)
    angle = np.arctan2(s, c)
    if s > 1e-6:
        f = angle / s  # the rotation is f (0, -z, y)
        f_by = (c * f - 1.0) / s**2  # by c
    elif c > 0.0:
        f, f_by = 1.0 + s * s / 6.0, -1.0 / 3.0
    else:  # opposite: any axis across
        error[1], error[2] = angle, 0.0
        return
    error[1], error[2] = -f * z, f * y
    for r in range(1, 3):
        # omega x e_x = (0, omega_z, -omega_y)
        column, sign = (2, -1.0) if r == 1 else (1, 1.0)
        dc, dy, dz = 0.0, 0.0, 0.0
        for i in range(3):
            dc += sign * goal[i, 0] * g[i, column]
            dy += sign * goal[i, 1] * g[i, column]
            dz += sign * goal[i, 2] * g[i, column]
        X[1, r] = -f * dz - f_by * dc * z
        X[2, r] = f * dy + f_by * dc * y
