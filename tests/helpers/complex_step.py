"""The kernels run on complex numbers, uncompiled: derivatives by complex steps, which nothing is subtracted in.

Run as a program, with NUMBA_DISABLE_JIT=1: prints the largest relative errors of the analytic derivatives, as JSON.
Everything between coordinates and forces is analytic where rotations of a segment stay below four radians.
"""

import json
import sys

import numpy as np

from helpers.differences import relative_error
from helpers.robots import random_state, rigid_tree, varied_tree
from sorosim.mechanics.kernels import linalg
from sorosim.mechanics.kernels.articulated import forward_articulated, make_articulated
from sorosim.mechanics.kernels.dynamics import point_quantities, project_wrenches
from sorosim.mechanics.kernels.kinematics import COLUMNS, forward_sweep

STEP = 1e-30


def complex_parts(parts):
    """The same arrays, of complex numbers where they were real."""
    return type(parts)(*(a.astype(complex) if a.dtype.kind == "f" else a for a in parts))


class ComplexEngine:
    """Inverse and forward dynamics of a tree without loads at complex states."""

    def __init__(self, robot):
        self.engine = robot.engine
        self.ws = complex_parts(self.engine.workspace)
        self.parts = complex_parts(make_articulated(self.engine.tree))

    def sweep(self, q, qd, qdd):
        tree = self.engine.tree
        forward_sweep(tree, q, qd, qdd, self.engine.gravity.astype(complex), COLUMNS, self.ws)
        point_quantities(tree, self.engine.external, True, False, False, self.ws)

    def inverse(self, q, qd, qdd):
        self.sweep(q, qd, qdd)
        tau = np.zeros_like(q)
        project_wrenches(self.engine.tree, self.ws, tau)
        return tau

    def forward(self, q, qd, tau):
        """Accelerations under forces, by articulated bodies."""
        tree, found, zero = self.engine.tree, np.zeros_like(q), np.zeros_like(q)
        self.sweep(q, qd, zero)
        room = np.zeros((len(tree.segment) + 1, 6, 1), dtype=complex), np.zeros((len(q), 1), dtype=complex)
        stiffness = self.engine.elastic.stiffness
        failed = forward_articulated(
            tree, self.engine.none_known, 0.0, stiffness, self.ws, self.parts, *room, found, tau.copy()
        )
        assert failed < 0
        return found


def jacobian(f, arguments, k):
    """df/dx of argument k."""
    columns = []
    for i in range(len(arguments[k])):
        moved = [x.astype(complex) for x in arguments]
        moved[k][i] += 1j * STEP
        columns.append(f(*moved).imag / STEP)
    return np.array(columns).T


def errors(robot, seed):
    """Relative errors by name, those of forward dynamics in the scale of the mass matrix and over its condition."""
    q, qd, qdd, _ = random_state(np.random.default_rng(seed), robot)
    by_steps = ComplexEngine(robot)
    found = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd)
    out = {
        name: relative_error(getattr(found, name), jacobian(by_steps.inverse, (q, qd, qdd), k))
        for k, name in enumerate(("dtau_dq", "dtau_dqd", "mass_matrix"))
    }
    M = found.mass_matrix
    scale = np.sqrt(np.diag(M))
    condition = np.linalg.cond(M / np.outer(scale, scale))
    # forces that give qdd; the derivatives of forward dynamics are those of inverse dynamics there, solved for
    by_qdd = {"dqdd_dq": (0, found.dtau_dq), "dqdd_dqd": (1, found.dtau_dqd), "dqdd_dtau": (2, -np.eye(robot.ndof))}
    for name, (k, right) in by_qdd.items():
        expected = np.linalg.solve(M, -right)
        stepped = jacobian(by_steps.forward, (q, qd, found.tau), k)
        weights = scale[:, None] / scale if k < 2 else np.outer(scale, scale)
        out[name] = relative_error(weights * expected, weights * stepped) / condition
    return out


if __name__ == "__main__":
    linalg.sqrt = np.sqrt  # that of math takes real numbers only
    robots = [varied_tree(int(seed), loads=False, damping=False) for seed in sys.argv[1:]]
    robots.append(rigid_tree(np.random.default_rng(0), 8))
    worst: dict[str, float] = {}
    for number, robot in enumerate(robots):
        for name, error in errors(robot, number).items():
            worst[name] = max(worst.get(name, 0.0), error)
    print(json.dumps(worst))
