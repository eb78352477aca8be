"""The one compiled entry to the dynamics of a tree.

One function with a task, not one function a task: compiled code is optimised anew inside every caller, so this keeps
the sweeps from being compiled half a dozen times.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.arrays import Array
from sorosim.compiled import by_reference, kernel_in_place, kernel_lazy
from sorosim.kernels import loops as lp
from sorosim.kernels.couplings import coupling_matrices
from sorosim.kernels.derivatives import derivative_sweep
from sorosim.kernels.dynamics import composite_mass_matrix, point_quantities, project_wrenches
from sorosim.kernels.flow import material_derivatives, material_forces, material_mass, material_quantities
from sorosim.kernels.forces import Internal, add_blocks, internal_forces
from sorosim.kernels.inserted import inserted_derivatives, inserted_forces, inserted_quantities
from sorosim.kernels.joints import add_turned_tangents
from sorosim.kernels.kinematics import COLUMN_JETS, COLUMNS, SCREWS, forward_sweep
from sorosim.kernels.linalg import cholesky, cholesky_solve, cholesky_solve_vector
from sorosim.kernels.loop_joint import Loops
from sorosim.kernels.mass_rank import singular_coordinate
from sorosim.kernels.rod_actuators import couple_tendons
from sorosim.kernels.saddle import Saddle, factor_constraints, solve_constrained, solve_constrained_columns
from sorosim.kernels.small import clear, clear_matrix, copy, isolate
from sorosim.kernels.tree import Tree
from sorosim.kernels.tube_motion import spin_derivatives, spin_forces, spin_mass, spin_quantities

# what an evaluation works out; a task is a sum of these
FORCES = 1  # the internal force
MOTION = 2  # inverse dynamics
LOOPS = 4  # errors, forces and constraints of loops; without: loops left open
COMPOSITE = 8  # the mass matrix
ACCELERATIONS = 16  # accelerations that are not known, and multipliers
DERIVATIVES = 32
KINEMATICS = 64  # the workspace, for kernels that go on from there
AT_REST = 128  # of the derivatives those by q alone, of a robot at rest

# tasks, and the outputs they fill
ERRORS = LOOPS  # errors of loops and their rates
CLOSURE = LOOPS | DERIVATIVES  # further the constraint matrix, and derivatives of the errors
INTERNAL = FORCES  # tau: the internal force
INTERNAL_DERIVATIVES = FORCES | DERIVATIVES  # tau, by_q, by_qd, B
INVERSE = MOTION  # tau: inverse dynamics
INVERSE_DERIVATIVES = MOTION | DERIVATIVES  # tau, by_q, by_qd, mass
RESIDUAL = FORCES | MOTION | LOOPS  # tau: inverse dynamics - internal force - forces of loops; errors of loops
# tau; by_q, by_qd, mass its derivatives; B of the internal force; all of the closure
RESIDUAL_DERIVATIVES = RESIDUAL | DERIVATIVES
# tau; by_q; B and closure as of RESIDUAL_DERIVATIVES
STATIC_DERIVATIVES = RESIDUAL_DERIVATIVES | AT_REST
MASS = MOTION | COMPOSITE  # tau: inverse dynamics; mass
FORWARD = RESIDUAL | COMPOSITE | ACCELERATIONS  # qdd and multipliers; mass holds the Cholesky factor
# qdd; by_q, by_qd, B its derivatives by q, qd, u; mass holds the Cholesky factor
FORWARD_DERIVATIVES = FORWARD | DERIVATIVES
HYBRID = MOTION | COMPOSITE | ACCELERATIONS  # as FORWARD, with the forces in tau in the place of internal forces
HYBRID_DERIVATIVES = HYBRID | DERIVATIVES  # as FORWARD_DERIVATIVES, without B
PREPARE = FORCES | KINEMATICS  # tau: the internal force; for kernels.articulated, with the accelerations that are known
# tau: the residual, loops left open or closed; for kernels.products and kernels.tangent
LINEARISE = FORCES | MOTION | DERIVATIVES | KINEMATICS
LINEARISE_CLOSED = LINEARISE | LOOPS
# rows of known accelerations are zero in these derivatives, and those of the unit matrix in the factor

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
    """What an evaluation gives; parts that its task does not fill are empty or without meaning."""

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


@kernel_lazy()
def evaluate(system, task, state, external, ws, out) -> int:
    """Internal forces, inverse or forward dynamics of a tree, with or without derivatives, by `task`.

    Parameters
    ----------
    system : System
    task : int
        One of those above.
    state : State
    external : ExternalForces
        What loads give, see kernels.external.
    ws : Workspace
    out : Evaluation
        Filled by task. A task touches nothing else, but forward and hybrid dynamics leave no meaning in tau.

    Returns
    -------
    int
        DONE, or the coordinate at which the mass matrix was found not positive definite.

    Source: docs/theory.md, 4-6.
    """
    tree, loops, closure, q, qd, u = system.tree, system.loops, out.closure, state.q, state.qd, state.u
    tau, mass, dq, dqd, B, qdd = out.tau, out.mass, out.by_q, out.by_qd, out.B, out.qdd
    n = q.shape[0]
    internal, rates = ws.vector[0], task & AT_REST == 0
    forces, motion, forward, derivatives = (
        task & FORCES != 0, task & MOTION != 0, task & ACCELERATIONS != 0, task & DERIVATIVES != 0
    )  # fmt: skip
    if forces and not motion:
        internal_forces(tree, system.internal, q, qd, u, derivatives, ws, external, tau, B)
        if derivatives:
            clear_matrix(dq)
            clear_matrix(dqd)
            add_internal(system, state, 1.0, ws, external, out)
        if task != PREPARE:
            return DONE
    elif forces:
        internal_forces(tree, system.internal, q, qd, u, derivatives, ws, external, internal, B)
    elif forward:
        copy(tau, internal)
    looped, flows = loops.row.shape[0] > 0 and task & LOOPS != 0, tree.flow_node.shape[0] > 0
    tubes = system.internal.elastic.tubes
    spins, inserts = tubes.rotor.shape[0] > 0, tree.inserted.shape[0] > 0
    closing = task == ERRORS or task == CLOSURE
    if forward:
        clear_free(state.known, qdd)

    # forward dynamics: bias and mass matrix first, which give qdd; then its derivatives, if wanted, at that qdd
    for stage in range(2 if forward and derivatives else 1):
        jets = derivatives and (stage == 1 or not forward) and not closing
        needs_columns = forward or (looped and task != ERRORS) or task & (COMPOSITE | KINEMATICS) != 0
        depth = COLUMN_JETS if jets else COLUMNS if needs_columns else SCREWS
        moving = forward_sweep(tree, q, qd, qdd, state.gravity, depth, ws)
        if closing:
            if looped:
                lp.evaluate_loops(loops, ws, u, closure)
                if derivatives:
                    lp.loop_matrices(tree, loops, moving, True, False, ws, closure)
            return DONE
        point_quantities(tree, external, moving, jets, looped, ws)
        if flows:
            material_quantities(tree, q, qd, qdd, external, moving, jets, ws)
        if inserts:
            inserted_quantities(tree, external, moving, jets, ws)
        if spins and moving:
            spin_quantities(tree, tubes, q, qd, qdd, jets, ws)
        if task == PREPARE:
            return DONE
        if looped:
            if forward and stage == 0:
                clear(closure.multiplier)
            lp.evaluate_loops(loops, ws, u, closure)
            lp.apply_loops(loops, jets, ws, closure)
        if task & KINEMATICS != 0:
            project_wrenches(tree, ws, tau)
            for i in range(n):
                tau[i] -= internal[i]
            return DONE
        if jets:
            loaded = looped or external.wrench.shape[0] > 0
            with_rates, with_mass = moving or (loaded and rates), not forward and rates
            derivative_sweep(tree, moving, loaded, with_rates, with_mass, ws, tau, dq, dqd, mass)
            if flows:
                material_derivatives(tree, q, qd, qdd, external, moving, with_mass, ws, tau, dq, dqd, mass)
            if inserts and not moving:
                inserted_derivatives(tree, q, external, state.gravity, ws, tau, dq)
            if spins and (moving or with_mass):
                spin_derivatives(tree, tubes, q, qdd, moving, with_mass, ws, tau, dq, dqd, mass)
            n_couplings = external.coupling.counts.n
            if looped:
                lp.loop_couplings(loops, closure, ws, False, external.coupling)
                lp.motor_columns(tree, loops, ws, closure, B)
                n_couplings += loops.row.shape[0]
            if n_couplings > 0:
                coupling_matrices(tree, external.coupling, n_couplings, moving, ws, dq, dqd)
        else:
            project_wrenches(tree, ws, tau)
            if flows:
                material_forces(tree, ws, tau)
            if inserts and not moving:
                inserted_forces(tree, q, external, state.gravity, ws, tau)
            if spins and moving:
                spin_forces(tree, tubes, q, qdd, ws, tau)
        if looped and (forward or jets):
            lp.loop_matrices(tree, loops, moving, jets, jets, ws, closure)
        if task & COMPOSITE != 0 and not jets:
            composite_mass_matrix(tree, ws, mass)
            if flows:
                material_mass(tree, ws, mass)
            if spins:
                spin_mass(tree, tubes, q, ws, mass)
        if forward and stage == 0:
            failed = solve_forward(system, state, looped, ws, out)
            if failed >= 0:
                return failed
            for i in range(n):
                qdd[i] += tau[i]

    if forces and not forward:
        for i in range(n):
            tau[i] -= internal[i]
    if forward and derivatives:
        for i in range(n):
            for j in range(n):
                dq[i, j], dqd[i, j] = -dq[i, j], -dqd[i, j]
    if derivatives and forces and motion:
        add_internal(system, state, 1.0 if forward else -1.0, ws, external, out)
    if forward and derivatives:
        acceleration_derivatives(system, state, forces, looped, moving, ws, out)
    return DONE
