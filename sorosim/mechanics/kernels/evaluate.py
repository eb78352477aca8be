"""Compiled entries to the dynamics of a tree: residual, derivatives, linearise, mass, forward (docs/theory.md, 4-6).

Internal forces and the errors of loops have entries of their own. The sweeps are compiled once for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels import loops as lp
from sorosim.mechanics.kernels import transport
from sorosim.mechanics.kernels.couplings import coupling_matrices
from sorosim.mechanics.kernels.derivatives import derivative_sweep
from sorosim.mechanics.kernels.dynamics import composite_mass_matrix, point_quantities, project_wrenches
from sorosim.mechanics.kernels.external import input_columns
from sorosim.mechanics.kernels.forces import Internal, add_blocks, internal_forces, multiply_blocks
from sorosim.mechanics.kernels.joints import add_turned_tangents
from sorosim.mechanics.kernels.kinematics import COLUMN_JETS, COLUMNS, SCREWS, forward_sweep
from sorosim.mechanics.kernels.linalg import cholesky, cholesky_solve, cholesky_solve_vector
from sorosim.mechanics.kernels.loop_joint import Loops
from sorosim.mechanics.kernels.mass_rank import singular_coordinate
from sorosim.mechanics.kernels.rod_actuators import couple_tendons
from sorosim.mechanics.kernels.saddle import Saddle, factor_constraints, solve_constrained, solve_constrained_columns
from sorosim.mechanics.kernels.small import add_scaled, clear, clear_matrix, copy, isolate
from sorosim.mechanics.kernels.tree import Tree, add_armature_forces

# terms of an equation: inverse dynamics, less the internal force and the forces of loops
INTERNAL, LOOPS = 1, 2
RESIDUAL = INTERNAL | LOOPS
DONE = -1


@by_reference
class System(NamedTuple):
    """A robot as arrays, but for its loads."""

    tree: Tree
    internal: Internal
    loops: Loops


@by_reference
class State(NamedTuple):
    """State in which a system is evaluated, and what is prescribed there."""

    q: np.ndarray  # (ndof,)
    qd: np.ndarray  # (ndof,)
    u: np.ndarray  # (n_actuators,)
    gravity: np.ndarray  # (3,)
    # (ndof,) bool: coordinates whose acceleration forward dynamics is given: their forces are unknown, and their rows
    # of the equations of motion are left out
    known: np.ndarray
    # (3,) Baumgarte stabilisation in forward dynamics, A qdd + A' qd + closing[0] A qd + closing[1] e = 0; and the rank
    # of A where the loops are closed, -1 if unknown
    closing: np.ndarray


@by_reference
class Evaluation(NamedTuple):
    """What an entry gives; parts that it does not fill are empty or without meaning."""

    tau: Array  # (ndof,)
    mass: Array  # (ndof, ndof)
    by_q: Array  # (ndof, ndof)
    by_qd: Array  # (ndof, ndof)
    B: Array  # (ndof, n_actuators)
    qdd: Array  # (ndof,) input of inverse dynamics, output of forward dynamics but for the known ones
    closure: lp.Closure  # of the loops
    saddle: Saddle  # factors of their constraints

    @property
    def regularity(self) -> Array:
        """Rank (2,) of the constraints, and how near they are to losing it."""
        regularity: Array = self.saddle.regularity
        return regularity


@kernel_lazy()
def solve_forward(system, state, looped, ws, out) -> int:
    """Overwrite the bias force tau with accelerations, zero for known ones, and the mass matrix with its factor.

    The internal force is in ws.vector[0]. Fills the multipliers. Returns DONE, or the coordinate at which the mass
    matrix was found not positive definite.
    """
    tau, mass, known, closing, closure = out.tau, out.mass, state.known, state.closing, out.closure
    n, internal, diagonal = tau.shape[0], ws.vector[0], ws.vector[1]
    for i in range(n):
        diagonal[i] = mass[i, i]
        tau[i] = 0.0 if known[i] else internal[i] - tau[i]
        if known[i]:
            isolate(mass, i)
    failed = cholesky(mass)
    if failed < 0:
        failed = singular_coordinate(system.tree, known, diagonal, mass, ws)
    if failed >= 0:
        return failed
    if looped:
        for i in range(closure.multiplier.shape[0]):
            stabilisation = closing[0] * closure.rate[i] + closing[1] * closure.error[i]
            out.saddle.right[i, 0] = -(closure.acceleration[i] + stabilisation)
        A, error = closure.constraint, closure.error
        factor_constraints(system.loops, mass, A, error, int(closing[2]), known, out.saddle)
        solve_constrained(system.loops, mass, out.saddle, tau, closure.multiplier)
    else:
        cholesky_solve_vector(mass, tau)
    return DONE


@kernel_lazy("loops")
def solve_looped_derivatives(system, closing, moving, ws, out) -> None:
    """Overwrite derivatives of forces by those of accelerations under loops; mass holds the Cholesky factor."""
    tree, loops, closure, right, m = (
        system.tree,
        system.loops,
        out.closure,
        out.saddle.right,
        out.closure.error.shape[0],
    )
    for i in range(m):
        for j in range(out.by_q.shape[0]):
            right[i, j] = -closing[0] * closure.rate_by_q[i, j] - closing[1] * closure.error_by_q[i, j]
    lp.acceleration_rows(tree, loops, moving, False, ws, closure, right)
    solve_constrained_columns(loops, out.mass, out.saddle, out.by_q)
    for i in range(m):
        for j in range(out.by_q.shape[0]):
            right[i, j] = -closing[0] * closure.constraint[i, j]
    lp.acceleration_rows(tree, loops, moving, True, ws, closure, right)
    solve_constrained_columns(loops, out.mass, out.saddle, out.by_qd)
    clear_matrix(right)
    solve_constrained_columns(loops, out.mass, out.saddle, out.B)


@kernel_in_place
def clear_free(known, qdd):
    """Zero for accelerations that are not known."""
    for i in range(qdd.shape[0]):
        if not known[i]:
            qdd[i] = 0.0


@kernel_in_place
def acceleration_derivatives(system, state, by_inputs, looped, moving, ws, out):
    """Overwrite derivatives of forces by those of accelerations, zero for known ones; B too if `by_inputs`."""
    for i in range(state.known.shape[0]):
        if state.known[i]:
            clear(out.by_q[i])
            clear(out.by_qd[i])
            if by_inputs:
                clear(out.B[i])
    if looped:
        solve_looped_derivatives(system, state.closing, moving, ws, out)
    else:
        cholesky_solve(out.mass, out.by_q)
        cholesky_solve(out.mass, out.by_qd)
        if by_inputs:
            cholesky_solve(out.mass, out.B)


@kernel_in_place
def add_internal(system, state, scale, ws, external, out):
    """Add scale times the derivatives of internal forces to out.by_q and by_qd; out.B becomes that by inputs."""
    tree, actuators = system.tree, system.internal.rod_actuators
    add_blocks(tree, ws.internal[0], scale, out.by_q)
    add_blocks(tree, ws.internal[1], scale, out.by_qd)
    laws = system.internal.elastic.laws
    if laws.row.shape[0] > 0:
        add_turned_tangents(tree, laws, state.q, state.qd, state.u, scale, ws.scratch, out.by_q)
    if actuators.row.shape[0] > 0:
        couple_tendons(tree, actuators, state.q, state.u, ws, external, scale, out.by_q, out.B)


@kernel_in_place
def sweep(system, state, qdd, depth, tensors, looped, external, ws):
    """Forward sweep to a depth, then the quantities of nodes. Returns whether anything moves."""
    moving = forward_sweep(system.tree, state.q, state.qd, qdd, state.gravity, depth, ws)
    point_quantities(system.tree, external, moving, tensors, looped, ws)
    transport.add_to_nodes(system, state.q, state.qd, qdd, external, moving, tensors, ws)
    return moving


@kernel_in_place
def add_loops(system, state, qdd, tensors, ws, closure):
    """Errors of loops, and their forces on nodes by the multipliers of `closure`."""
    lp.evaluate_loops(system.loops, ws, state.q, state.qd, qdd, state.u, closure)
    lp.apply_loops(system.loops, tensors, ws, closure)


@kernel_in_place
def inverse(system, state, qdd, external, moving, ws, tau):
    """Inverse dynamics tau (ndof,) by the wrenches of nodes."""
    project_wrenches(system.tree, ws, tau)
    transport.add_to_forces(system, state.gravity, state.q, qdd, external, moving, ws, tau)


@kernel_in_place
def inverse_derivatives(system, state, moving, looped, with_rates, with_mass, external, ws, out):
    """Inverse dynamics and its derivatives by the quantities of nodes, with what couples nodes; matrices of loops."""
    tree, loops, closure, n = system.tree, system.loops, out.closure, external.coupling.counts.n
    loaded = looped or external.wrench.shape[0] > 0
    by_rates = moving or (loaded and with_rates)
    derivative_sweep(tree, moving, loaded, by_rates, with_mass, ws, out.tau, out.by_q, out.by_qd, out.mass)
    transport.add_to_derivatives(system, state, out.qdd, external, moving, with_mass, ws, out)
    input_columns(tree, external, ws, out.B)
    if looped:
        lp.subtract_coupling_forces(loops, closure, out.tau)
        lp.loop_couplings(loops, closure, ws, False, external.coupling)
        lp.motor_columns(tree, loops, ws, closure, out.B)
        n += loops.row.shape[0]
    if n > 0:
        coupling_matrices(tree, external.coupling, n, moving, ws, out.by_q, out.by_qd)
    if looped:
        lp.loop_matrices(tree, loops, moving, True, True, ws, closure)


@kernel_lazy("loops")
def closure(system, state, derivatives, external, ws, out) -> None:
    """Errors of loops and their rates; if `derivatives` further the constraint matrix, and those of the errors."""
    tree, loops = system.tree, system.loops
    moving = forward_sweep(tree, state.q, state.qd, out.qdd, state.gravity, COLUMNS if derivatives else SCREWS, ws)
    if loops.row.shape[0] > 0:
        lp.evaluate_loops(loops, ws, state.q, state.qd, out.qdd, state.u, out.closure)
        if derivatives:
            lp.loop_matrices(tree, loops, moving, True, False, ws, out.closure)


@kernel_lazy()
def internal(system, state, derivatives, external, ws, out) -> None:
    """Internal force tau; if `derivatives` further those by q, qd and u."""
    q, qd, u, tau = state.q, state.qd, state.u, out.tau
    internal_forces(system.tree, system.internal, q, qd, u, derivatives, ws, external, tau, out.B)
    if derivatives:
        clear_matrix(out.by_q)
        clear_matrix(out.by_qd)
        add_internal(system, state, 1.0, ws, external, out)


@kernel_lazy()
def residual(system, state, terms, external, ws, out) -> None:
    """tau: inverse dynamics less the `terms`, a sum of INTERNAL and LOOPS; errors of loops if LOOPS is one of them."""
    force, looped = ws.vector[0], terms & LOOPS != 0 and system.loops.row.shape[0] > 0
    if terms & INTERNAL != 0:
        q, qd, u = state.q, state.qd, state.u
        internal_forces(system.tree, system.internal, q, qd, u, False, ws, external, force, out.B)
    moving = sweep(system, state, out.qdd, COLUMNS if looped else SCREWS, False, looped, external, ws)
    if looped:
        add_loops(system, state, out.qdd, False, ws, out.closure)
    inverse(system, state, out.qdd, external, moving, ws, out.tau)
    if looped:
        lp.subtract_coupling_forces(system.loops, out.closure, out.tau)
    if terms & INTERNAL != 0:
        add_scaled(-1.0, force, out.tau)


@kernel_lazy()
def derivatives(system, state, terms, with_rates, external, ws, out) -> None:
    """As `residual`, with derivatives by q and, if `with_rates`, by qd and qdd (mass); B and the matrices of loops."""
    force, looped = ws.vector[0], terms & LOOPS != 0 and system.loops.row.shape[0] > 0
    if terms & INTERNAL != 0:
        q, qd, u = state.q, state.qd, state.u
        internal_forces(system.tree, system.internal, q, qd, u, True, ws, external, force, out.B)
    moving = sweep(system, state, out.qdd, COLUMN_JETS, True, looped, external, ws)
    if looped:
        add_loops(system, state, out.qdd, True, ws, out.closure)
    inverse_derivatives(system, state, moving, looped, with_rates, with_rates, external, ws, out)
    if terms & INTERNAL != 0:
        add_scaled(-1.0, force, out.tau)
        add_internal(system, state, -1.0, ws, external, out)


@kernel_lazy("local tangent")
def linearise(system, state, closed, external, ws, out) -> None:
    """tau: the residual, with its loops if `closed`; its derivatives stay in the workspace, as quantities of nodes.

    Products (kernels.products) and factors (kernels.tangent, kernels.sparse_tangent) go on from there.
    """
    q, qd, u, force, looped = state.q, state.qd, state.u, ws.vector[0], closed and system.loops.row.shape[0] > 0
    internal_forces(system.tree, system.internal, q, qd, u, True, ws, external, force, out.B)
    sweep(system, state, out.qdd, COLUMN_JETS, True, looped, external, ws)
    if looped:
        add_loops(system, state, out.qdd, True, ws, out.closure)
    project_wrenches(system.tree, ws, out.tau)
    add_armature_forces(system.tree, out.qdd, out.tau)
    if looped:
        lp.subtract_coupling_forces(system.loops, out.closure, out.tau)
    add_scaled(-1.0, force, out.tau)


@kernel_lazy()
def mass(system, state, external, ws, out) -> None:
    """Inverse dynamics tau and the mass matrix."""
    moving = sweep(system, state, out.qdd, COLUMNS, False, False, external, ws)
    inverse(system, state, out.qdd, external, moving, ws, out.tau)
    composite_mass_matrix(system.tree, ws, out.mass)
    transport.add_to_mass(system, state.q, ws, out.mass)


@kernel_lazy()
def prepare(system, state, external, ws, out) -> None:
    """tau: the internal force; quantities of nodes at the accelerations that are known, for kernels.articulated."""
    q, qd, u = state.q, state.qd, state.u
    internal_forces(system.tree, system.internal, q, qd, u, False, ws, external, out.tau, out.B)
    sweep(system, state, out.qdd, COLUMNS, False, False, external, ws)


@kernel_lazy()
def forward(system, state, given, derivatives, stiffening, external, ws, out) -> int:
    """Accelerations qdd of forward dynamics and multipliers of loops.

    given : bool
        The forces are those in tau, and loops are left open; else internal forces.
    derivatives : bool
        Whether by_q, by_qd and, of internal forces, B become derivatives of the accelerations.
    stiffening : float
        s [s^2] of M qdd + s K (qdd - p) = forces, K the elastic stiffness of blocks, p what is in qdd before and not
        known: accelerations that stiff parts keep to (docs/theory.md, 14). Zero: M qdd = forces.

    Leaves the Cholesky factor in mass, no meaning in tau. Returns DONE, or the coordinate at which the mass matrix was
    found not positive definite.
    """
    q, qd, u, tau, qdd, force = state.q, state.qd, state.u, out.tau, out.qdd, ws.vector[0]
    looped, n = not given and system.loops.row.shape[0] > 0, q.shape[0]
    if given:
        copy(tau, force)
    else:
        internal_forces(system.tree, system.internal, q, qd, u, derivatives, ws, external, force, out.B)
    if stiffening != 0.0:
        multiply_blocks(system.tree, system.internal.elastic.stiffness, stiffening, state.known, qdd, force)
    clear_free(state.known, qdd)
    moving = sweep(system, state, qdd, COLUMNS, False, looped, external, ws)
    if looped:
        clear(out.closure.multiplier)
        add_loops(system, state, out.qdd, False, ws, out.closure)
    inverse(system, state, qdd, external, moving, ws, tau)
    if looped:
        lp.loop_matrices(system.tree, system.loops, moving, False, False, ws, out.closure)
    composite_mass_matrix(system.tree, ws, out.mass)
    transport.add_to_mass(system, q, ws, out.mass)
    if stiffening != 0.0:
        add_blocks(system.tree, system.internal.elastic.stiffness, stiffening, out.mass)
    failed = solve_forward(system, state, looped, ws, out)
    if failed >= 0:
        return failed
    for i in range(n):
        qdd[i] += tau[i]
    if not derivatives:
        return DONE
    # those of inverse dynamics at these accelerations, with the other sign
    moving = sweep(system, state, qdd, COLUMN_JETS, True, looped, external, ws)
    if looped:
        add_loops(system, state, out.qdd, True, ws, out.closure)
    inverse_derivatives(system, state, moving, looped, True, False, external, ws, out)
    for i in range(n):
        for j in range(n):
            out.by_q[i, j], out.by_qd[i, j] = -out.by_q[i, j], -out.by_qd[i, j]
    if not given:
        add_internal(system, state, 1.0, ws, external, out)
    acceleration_derivatives(system, state, not given, looped, moving, ws, out)
    return DONE
