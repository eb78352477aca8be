"""Equilibria of large robots, by linear systems that are solved along the tree, or sparse where parts are coupled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equations.tree_statics import TreeStatics
from sorosim.analysis.solvers.damped_newton import (
    LIKELY,
    NEUTRAL,
    STABLE,
    UNKNOWN,
    UNSTABLE,
    DampedNewton,
    MayTunnel,
    find_equilibrium,
)
from sorosim.analysis.solvers.equilibrium import StaticSolution
from sorosim.base.arrays import Array
from sorosim.base.ode import one_blas_thread

REMARKS = {
    STABLE: "; stable: the tangent stiffness is positive definite",
    LIKELY: "; stable, as far as some motions tell: the potential falls along none of them",
    UNSTABLE: "; unstable: small motions about it grow",
    UNKNOWN: "; forces without a potential: `stable` tells, by dense matrices, whether it is stable",
}


def close_along_tree(system: StaticSystem, q: Array) -> Array | None:
    """The state (ndof,) next to q in which all loops are closed, without dense matrices; None where it is not found."""
    with one_blas_thread(), np.errstate(all="ignore"):
        search = DampedNewton(TreeStatics(system, q))
        x = search.assembled(_unknowns(system, q[system.partition.free]))
    return None if x is None else system.q(x)


def solve_along_tree(
    system: StaticSystem, start: Array, follow: bool, stable: bool, may_tunnel: MayTunnel | None, descend_first: bool
) -> tuple[StaticSolution, str]:
    """Equilibrium from coordinates `start` (ndof,), without a Jacobian; and why a state had no forces, in words.

    follow : whether `start` is the equilibrium at load 0, from which the curve of equilibria is followed at first;
    stable : whether to leave an unstable equilibrium; may_tunnel, descend_first : see `find_equilibrium`.
    """
    x = _unknowns(system, start[system.partition.free])
    unloaded = x if follow else _unknowns(system, system.unloaded)
    with one_blas_thread(), np.errstate(all="ignore"):
        tree = TreeStatics(system, start)
        found, search = find_equilibrium(
            tree, x, unloaded, follow=follow, stable=stable, may_tunnel=may_tunnel, descend_first=descend_first
        )
        unwound = system.without_turns(found.x, start[system.partition.free])
        if found.success and not np.array_equal(unwound, found.x) and (end := search.newton(unwound)) is not None:
            found = replace(found, x=end[0], residual=end[1])
    course = f"solved {'along the tree' if tree.is_certain else 'by sparse systems'}: {found.course}"
    course += REMARKS.get(found.stability, "") if found.success else ""
    solution = StaticSolution(
        found.x, found.residual, np.zeros((0, 0)), found.success, course, search.n_residual, search.n_jacobian,
        neutral=found.stability == NEUTRAL,
    )  # fmt: skip
    return solution, tree.why


def _unknowns(system: StaticSystem, free: Array) -> Array:
    """Unknowns of the search: free coordinates, and multipliers, none as yet."""
    return np.concatenate([free, np.zeros(len(system.rows))])
