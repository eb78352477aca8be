"""Equilibria of large open trees, by linear systems that are solved along the tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sorosim.arrays import Array
from sorosim.equations.system import StaticSystem
from sorosim.equations.tree_statics import TreeStatics
from sorosim.solvers.base import one_blas_thread
from sorosim.solvers.damped_newton import NEUTRAL, STABLE, UNKNOWN, UNSTABLE, find_equilibrium
from sorosim.solvers.equilibrium import StaticSolution

REMARKS = {
    STABLE: "; stable: the tangent stiffness is positive definite",
    UNSTABLE: "; unstable: small motions about it grow",
    UNKNOWN: "; forces without a potential: `stable` tells, by dense matrices, whether it is stable",
}


def solve_along_tree(system: StaticSystem, start: Array, follow: bool, stable: bool) -> tuple[StaticSolution, str]:
    """Equilibrium from coordinates `start` (ndof,), without a Jacobian; and why a state had no forces, in words.

    follow : whether `start` is the equilibrium at load 0, from which the curve of equilibria is followed at first;
    stable : whether to leave an unstable equilibrium.
    """
    x = start[system.partition.free]
    tree, unloaded = TreeStatics(system, x), x if follow else system.unloaded
    with one_blas_thread(), np.errstate(all="ignore"):
        found, search = find_equilibrium(tree, x, unloaded, follow=follow, stable=stable)
        unwound = system.without_turns(found.x, x)
        if found.success and not np.array_equal(unwound, found.x) and (end := search.newton(unwound)) is not None:
            found = replace(found, x=end[0], residual=end[1])
    course = f"solved along the tree: {found.course}"
    course += REMARKS.get(found.stability, "") if found.success else ""
    solution = StaticSolution(
        found.x, found.residual, np.zeros((0, 0)), found.success, course, search.n_residual, search.n_jacobian,
        neutral=found.stability == NEUTRAL,
    )  # fmt: skip
    return solution, tree.why
