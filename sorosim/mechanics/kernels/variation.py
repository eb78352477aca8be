"""The equations of motion with arrays whose imaginary parts are derivatives by a scalar (docs/theory.md, 13)."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels import transport
from sorosim.mechanics.kernels.dynamics import point_quantities, project_wrenches
from sorosim.mechanics.kernels.forces import internal_forces
from sorosim.mechanics.kernels.kinematics import COLUMNS, forward_sweep
from sorosim.mechanics.kernels.loops import apply_loops, evaluate_loops, subtract_coupling_forces


@kernel_in_place
def imaginary(x, factor, out):
    """out = factor Im x"""
    for i in range(out.shape[0]):
        out[i] = factor * x[i].imag


@kernel_lazy()
def vary_rows(
    system, gravity, q, qd, qdd, u, multiplier, factor, external, ws, closure, tau,
    inverse, internal, error, rate, acceleration,
) -> None:  # fmt: skip
    """Derivatives of the equations of motion in n states: the imaginary parts times `factor`.

    q, qd, qdd (n, ndof); u (n, n_actuators); multiplier (n, m), or (n, 0) where loops are left open; closure and tau
    (ndof,): complex workspace. Filled are inverse (n, ndof) of inverse dynamics less the forces of loops, internal
    (n, ndof) of the internal force, and error, rate, acceleration (n, m) of loops.
    """
    tree, none = system.tree, ws.internal
    looped = multiplier.shape[1] > 0
    for k in range(q.shape[0]):
        moving = forward_sweep(tree, q[k], qd[k], qdd[k], gravity, COLUMNS, ws)
        point_quantities(tree, external, moving, False, looped, ws)
        transport.add_to_nodes(system, q[k], qd[k], qdd[k], external, moving, False, ws)
        if looped:
            for i in range(multiplier.shape[1]):
                closure.multiplier[i] = multiplier[k, i]
            evaluate_loops(system.loops, ws, q[k], qd[k], qdd[k], u[k], closure)
            apply_loops(system.loops, False, ws, closure)
        project_wrenches(tree, ws, tau)
        transport.add_to_forces(system, gravity, q[k], qdd[k], external, moving, ws, tau)
        if looped:
            subtract_coupling_forces(system.loops, closure, tau)
        imaginary(tau, factor, inverse[k])
        internal_forces(tree, system.internal, q[k], qd[k], u[k], False, ws, external, tau, none)
        imaginary(tau, factor, internal[k])
        imaginary(closure.error, factor, error[k])
        imaginary(closure.rate, factor, rate[k])
        imaginary(closure.acceleration, factor, acceleration[k])
