"""Forces that change the energy of a robot, in many states at once (docs/results.md, work and energy)."""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels.contacts import add_contacts
from sorosim.mechanics.kernels.external import clear_external
from sorosim.mechanics.kernels.forces import internal_forces
from sorosim.mechanics.kernels.kinematics import POSES, forward_sweep
from sorosim.mechanics.kernels.load_laws import add_load_laws
from sorosim.mechanics.kernels.tree import MATERIAL_TWIST


@kernel_lazy()
def tree_exchange(tree, active, dampers, q, qd, u, ws, external, work, loss) -> None:
    """Generalised forces of actuators, and those against damping, in k states.

    active, dampers : Internal: motors of joints and actuators inside rods without stiffness and damping; damping alone
    q, qd, work, loss : (k, ndof); u : (k, n_actuators)
    """
    n, unused = q.shape[1], ws.internal
    for k in range(q.shape[0]):
        forces = work[k, :n]
        internal_forces(tree, active, q[k], qd[k], u[k], False, ws, external, forces, unused)
        forces = loss[k, :n]
        internal_forces(tree, dampers, q[k], qd[k], u[k], False, ws, external, forces, unused)
        for i in range(n):
            loss[k, i] = -loss[k, i]


@kernel_in_place
def material_node(tree, i):
    """Node of row i beyond those of nodes in `ExternalForces.wrench`."""
    n = tree.flow_node.shape[0]
    return tree.flow_node[i].node if i < n else tree.inserted[i - n].node


@kernel_lazy("loads")
def load_wrenches(tree, laws, gravity, t, q, qd, u, varying, ws, external, stack, wrench, twist) -> None:
    """World wrenches (k, n, 6) of loads, and the twists along which they act, in k states at times t (k,).

    u : (k, n_actuators); varying : (k, n_signals, 3) signals of the laws; external, stack : scratch, as of
    `add_load_laws`. Rows are those of `ExternalForces.wrench`.
    """
    n_nodes = tree.segment.shape[0]
    for k in range(q.shape[0]):
        clear_external(external)
        forward_sweep(tree, q[k], qd[k], qd[k], gravity, POSES, ws)
        add_load_laws(laws, t[k], varying[k], gravity, u[k], ws, stack, external)
        if laws.surfaces.group.shape[0] > 0:
            external.contact.counts.no_tangents = True
            add_contacts(laws.surfaces, ws, external)
        for i in range(wrench.shape[1]):
            V = ws.twist[i, 0] if i < n_nodes else ws.twist[material_node(tree, i - n_nodes), MATERIAL_TWIST]
            for r in range(6):
                wrench[k, i, r] = external.wrench[i, r]
                twist[k, i, r] = V[r]


@kernel_lazy()
def powers(work, loss, rates, out) -> None:
    """Power of k rows of forces along rates: out (k, 2), of work and of loss [W]."""
    for k in range(rates.shape[0]):
        supplied, dissipated = 0.0, 0.0
        for i in range(rates.shape[1]):
            supplied += work[k, i] * rates[k, i]
            dissipated += loss[k, i] * rates[k, i]
        out[k, 0], out[k, 1] = supplied, dissipated
