"""Mass that moves against its nodes: material of rods that are fed or grow, inserted and turning tubes, armature.

Each kind adds to the quantities of nodes, to forces, to the mass matrix and to derivatives, after the sweeps of the
tree (docs/theory.md, 5, 19 and 20).
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place
from sorosim.mechanics.kernels.flow import material_derivatives, material_forces, material_mass, material_quantities
from sorosim.mechanics.kernels.inserted import inserted_derivatives, inserted_forces, inserted_quantities
from sorosim.mechanics.kernels.tree import add_armature, add_armature_forces
from sorosim.mechanics.kernels.tube_motion import rotor_derivatives, rotor_forces, rotor_mass, rotor_quantities


@kernel_in_place
def add_armature_mass(tree, mass):
    """Add the armature of coordinates to the mass matrix (ndof, ndof)."""
    for b in range(tree.block.shape[0]):
        c0, end = tree.block[b].column, tree.block[b].column + tree.block[b].n
        add_armature(tree, b, 1.0, mass[c0:end, c0:end])


@kernel_in_place
def add_to_nodes(system, q, qd, qdd, external, moving, tensors, ws):
    """Add to F, M and, if `tensors`, N - D_w and K_w of nodes, after `point_quantities`."""
    tree, tubes = system.tree, system.internal.elastic.tubes
    if tree.flow_node.shape[0] > 0:
        material_quantities(tree, q, qd, qdd, external, moving, tensors, ws)
    if tree.inserted.shape[0] > 0:
        inserted_quantities(tree, external, moving, tensors, ws)
    if moving and tubes.rotor.shape[0] > 0:
        rotor_quantities(tree, tubes, q, qd, qdd, tensors, ws)


@kernel_in_place
def add_to_forces(system, gravity, q, qdd, external, moving, ws, tau):
    """Add to inverse dynamics tau (ndof,), after `project_wrenches`."""
    tree, tubes = system.tree, system.internal.elastic.tubes
    add_armature_forces(tree, qdd, tau)
    if tree.flow_node.shape[0] > 0:
        material_forces(tree, ws, tau)
    if tree.inserted.shape[0] > 0 and not moving:
        inserted_forces(tree, q, external, gravity, ws, tau)
    if moving and tubes.rotor.shape[0] > 0:
        rotor_forces(tree, tubes, q, qdd, ws, tau)


@kernel_in_place
def add_to_mass(system, q, ws, mass):
    """Add to the mass matrix (ndof, ndof), after `composite_mass_matrix`."""
    tree, tubes = system.tree, system.internal.elastic.tubes
    add_armature_mass(tree, mass)
    if tree.flow_node.shape[0] > 0:
        material_mass(tree, ws, mass)
    if tubes.rotor.shape[0] > 0:
        rotor_mass(tree, tubes, q, ws, mass)


@kernel_in_place
def add_to_derivatives(system, state, qdd, external, moving, with_mass, ws, out):
    """Add to inverse dynamics, its derivatives and, if `with_mass`, the mass matrix, after `derivative_sweep`."""
    tree, tubes, tau, dq, dqd, mass = system.tree, system.internal.elastic.tubes, out.tau, out.by_q, out.by_qd, out.mass
    add_armature_forces(tree, qdd, tau)
    if with_mass:
        add_armature_mass(tree, mass)
    if tree.flow_node.shape[0] > 0:
        material_derivatives(tree, state.q, state.qd, qdd, external, moving, with_mass, ws, tau, dq, dqd, mass)
    if tree.inserted.shape[0] > 0 and not moving:
        inserted_derivatives(tree, state.q, external, state.gravity, ws, tau, dq)
    if tubes.rotor.shape[0] > 0 and (moving or with_mass):
        rotor_derivatives(tree, tubes, state.q, qdd, moving, with_mass, ws, tau, dq, dqd, mass)
