"""Products with the derivatives of the equations of motion, without forming them, O(n) (docs/theory.md, 17).

They go on from `evaluate.linearise`, which leaves columns, M, N - D_w and K_w of every node, the sums FC of
wrenches and the derivatives of internal forces inside blocks in the workspace.
"""

from __future__ import annotations

from sorosim.base.compiled import kernel_in_place, kernel_lazy
from sorosim.mechanics.kernels import tree as tr
from sorosim.mechanics.kernels.couplings import add_coupling_product, add_coupling_transposed
from sorosim.mechanics.kernels.derivatives import coupling_maps
from sorosim.mechanics.kernels.joints import (
    MOTOR,
    SERVO,
    add_turned_products,
    moved_frame,
    servo_effort,
    twists_at,
)
from sorosim.mechanics.kernels.rod_actuators import (
    LENGTH_INPUT,
    ROUTE,
    add_by_strain,
    route_wrench,
    section_strain,
    tension_by_input,
)
from sorosim.mechanics.kernels.single import dot6
from sorosim.mechanics.kernels.small import add, add_coadbar_columns, add_scaled, clear, clear_matrix
from sorosim.mechanics.lie.triples import cross, dot, head, plus, store_row, tail

# columns of the scratch of a node: displacement and its rates, or what is conjugate to them; and a wrench, or what is
# conjugate to it
X, WRENCH, N_NODE = 0, 18, 24


# -- inverse dynamics --------------------------------------------------------------------------------------------------


@kernel_in_place
def vary_motion(tree, moving, dq, dqd, dqdd, ws, node):
    """Fill node[:, :18]: displacements of all nodes and their rates, along a variation of coordinates and rates."""
    clear(node[tree.segment.shape[0]])
    for k in range(tree.segment.shape[0]):
        n, work, c0 = tree.segment[k].n, tree.segment[k].work, tree.segment[k].column
        base, own = node[tree.block[tree.segment[k].block].parent], node[k]
        for r in range(6):
            a, b, c = base[r], base[6 + r], base[12 + r]
            for j in range(n):
                at, i = work + r * n + j, c0 + j
                J = ws.column[1, at]
                a += J * dq[i]
                b += J * dqd[i]
                c += J * dqdd[i] + ws.column[3, at] * dq[i]
                if moving:
                    b += ws.column[2, at] * dq[i]
                    c += 2.0 * ws.column[2, at] * dqd[i]
            own[r], own[6 + r], own[12 + r] = a, b, c


@kernel_in_place
def add_local_wrench(tree, external, du, ws, node):
    """node[:, 18:] = L x: how the wrench of each node changes with its own motion, and with that of those it touches.

    All beyond adbar_F a, and less the loads that inputs change.
    """
    loaded = external.wrench.shape[0] > 0
    for k in range(tree.segment.shape[0]):
        M, N, K, x, F = ws.tensor[k, 0], ws.tensor[k, 1], ws.tensor[k, 2], node[k], node[k, WRENCH:]
        for r in range(6):
            F[r] = dot6(M[r], x[12:]) + dot6(N[r], x[6:])
            if loaded:
                F[r] -= dot6(K[r], x)
    add_coupling_product(external.coupling, node)
    for k in range(external.input_row.shape[0]):
        own = external.input_row[k]
        add_scaled(-du[own.actuator], external.input_wrench[k], node[own.node, WRENCH:])


@kernel_in_place
def add_curvature_product(tree, k, n, transposed, ws, x, out):
    """out (n,) += Hess_k x, or its transpose: d(S_w^T FC)/dq of segment k at constant wrench (docs/theory.md, 4)."""
    at, c0 = tree.segment[k].strain + tr.BASIS, tree.segment[k].column
    P_1, P_2 = tree.strain[at : at + 6 * n].reshape(n, 6), tree.strain[at + 6 * n : at + 12 * n].reshape(n, 6)
    H, v = ws.scratch[10:14], ws.scratch[14]
    coupling_maps(tree, k, ws, ws.twist[k, 2], H)
    for r in range(2):
        clear(v[r])
    for j in range(n):
        for r in range(tree.rows[c0 + j, 0], tree.rows[c0 + j, 1]):
            v[0, r] += P_1[j, r] * x[j]
            v[1, r] += P_2[j, r] * x[j]
    for r in range(6):
        y_1, y_2 = 0.0, 0.0
        for s in range(6):
            if transposed:
                y_1 += H[0, s, r] * v[0, s] + H[2, s, r] * v[1, s]
                y_2 += H[1, s, r] * v[0, s] + H[3, s, r] * v[1, s]
            else:
                y_1 += H[0, r, s] * v[0, s] + H[1, r, s] * v[1, s]
                y_2 += H[2, r, s] * v[0, s] + H[3, r, s] * v[1, s]
        v[2, r], v[3, r] = y_1, y_2
    for j in range(n):
        for r in range(tree.rows[c0 + j, 0], tree.rows[c0 + j, 1]):
            out[j] += P_1[j, r] * v[2, r] + P_2[j, r] * v[3, r]


@kernel_in_place
def add_moved(S, n, x, out):
    """out (6,) += S x, S (6 n,) row by row."""
    for r in range(6):
        for j in range(n):
            out[r] += S[r * n + j] * x[j]


@kernel_in_place
def add_projected_wrench(S, n, scale, F, out):
    """out (n,) += scale S^T F, S (6 n,) row by row."""
    for r in range(6):
        f = scale * F[r]
        for j in range(n):
            out[j] += S[r * n + j] * f


@kernel_in_place
def inverse_product(tree, external, moving, dq, dqd, dqdd, du, ws, node, out):
    """out (ndof,) += change of inverse dynamics along (dq, dqd, dqdd) and inputs that scale loads, du."""
    tr.add_armature_forces(tree, dqdd, out)
    vary_motion(tree, moving, dq, dqd, dqdd, ws, node)
    add_local_wrench(tree, external, du, ws, node)
    s = ws.scratch[15, 0]
    for k in range(tree.segment.shape[0] - 1, -1, -1):
        n, work, c0 = tree.segment[k].n, tree.segment[k].work, tree.segment[k].column
        F, S, parent = node[k, WRENCH:], ws.column[0, work : work + 6 * n], tree.segment[k].parent
        clear(s)
        add_moved(S, n, dq[c0 : c0 + n], s)
        add_coadbar_columns(ws.twist[k, 2], s, 1, 1.0, F)
        add_projected_wrench(S, n, 1.0, F, out[c0 : c0 + n])
        if tree.segment[k].kind == tr.GENERAL and n > 0:
            add_curvature_product(tree, k, n, False, ws, dq[c0 : c0 + n], out[c0 : c0 + n])
        if parent >= 0:
            add(F, node[parent, WRENCH:])


@kernel_in_place
def inverse_product_transposed(tree, external, moving, w, ws, node, by_q, by_qd):
    """by_q, by_qd (ndof,) += the transposed derivatives of inverse dynamics by q and qd, times w (ndof,)."""
    loaded = external.wrench.shape[0] > 0
    clear_matrix(node)
    for k in range(tree.segment.shape[0]):
        n, work, c0 = tree.segment[k].n, tree.segment[k].work, tree.segment[k].column
        moved = node[k, WRENCH:]
        add(node[tree.segment[k].parent, WRENCH:], moved)
        add_moved(ws.column[0, work : work + 6 * n], n, w[c0 : c0 + n], moved)
        M, N, K, x = ws.tensor[k, 0], ws.tensor[k, 1], ws.tensor[k, 2], node[k]
        for r in range(6):
            f = moved[r]
            for s in range(6):
                x[6 + s] += N[r, s] * f
                x[12 + s] += M[r, s] * f
                if loaded:
                    x[s] -= K[r, s] * f
    add_coupling_transposed(external.coupling, node)

    turned = ws.scratch[15, 0]
    for k in range(tree.segment.shape[0] - 1, -1, -1):
        n, work, c0 = tree.segment[k].n, tree.segment[k].work, tree.segment[k].column
        base, x, size = tree.block[tree.segment[k].block].parent, node[k], 6 * n
        S, J = ws.column[0, work : work + size], ws.column[1, work : work + size]
        Jd, Jdd = ws.column[2, work : work + size], ws.column[3, work : work + size]
        out, rate = by_q[c0 : c0 + n], by_qd[c0 : c0 + n]
        add_projected_wrench(J, n, 1.0, x, out)
        add_projected_wrench(Jdd, n, 1.0, x[12:], out)
        add_projected_wrench(J, n, 1.0, x[6:], rate)
        if moving:
            add_projected_wrench(Jd, n, 1.0, x[6:], out)
            add_projected_wrench(Jd, n, 2.0, x[12:], rate)
        clear(turned)
        add_coadbar_columns(ws.twist[k, 2], x[WRENCH:], 1, 1.0, turned)
        add_projected_wrench(S, n, -1.0, turned, out)
        if tree.segment[k].kind == tr.GENERAL and n > 0:
            add_curvature_product(tree, k, n, True, ws, w[c0 : c0 + n], out)
        if base >= 0:
            for r in range(18):
                node[base, r] += x[r]


# -- internal forces ---------------------------------------------------------------------------------------------------


@kernel_in_place
def add_block_products(tree, blocks, transposed, scale, x, out):
    """out (ndof,) += scale X x, or X^T x, of a matrix X that is stored block by block, flat."""
    for b in range(tree.block.shape[0]):
        n, c0, at = tree.block[b].n, tree.block[b].column, tree.block[b].square
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += blocks[at + (j * n + i if transposed else i * n + j)] * x[c0 + j]
            out[c0 + i] += scale * total


@kernel_in_place
def add_actuation(tree, actuators, workspace, values, scale, out):
    """out (ndof,) += scale B values, B the actuation matrix of rods by tensions, values (n_actuators,)."""
    for row in range(actuators.row.shape[0]):
        value = scale * values[actuators.row[row].actuator]
        if value != 0.0:
            add_by_strain(tree, actuators, row, value, workspace.unit[row], out)


@kernel_in_place
def add_actuation_transposed(tree, actuators, workspace, x, xi, values):
    """values (n_actuators,) += B^T x; xi (6,) is scratch."""
    for row in range(actuators.row.shape[0]):
        section_strain(tree, actuators, row, x, False, xi)
        values[actuators.row[row].actuator] += dot6(workspace.unit[row], xi)


@kernel_in_place
def add_length_product(tree, actuators, scale, workspace, dq, xi, out):
    """out += scale times what tensions that lengths set change of forces: -slope B (B^T dq), a symmetric matrix."""
    by_length = workspace.input
    clear(by_length)
    add_actuation_transposed(tree, actuators, workspace, dq, xi, by_length)
    for a in range(by_length.shape[0]):
        by_length[a] *= -workspace.tension[1, a] if actuators.mode[a] == LENGTH_INPUT else 0.0
    add_actuation(tree, actuators, workspace, by_length, scale, out)


@kernel_in_place
def add_capstan_product(tree, actuators, scale, workspace, dq, xi, out):
    """out += scale times what friction changes of the forces of tendons, after `rod_actuators.capstan_friction`."""
    for k in range(actuators.capstan.shape[0]):
        line = actuators.capstan[k]
        n, at, first, actuator = line.n, line.operators, line.first, line.actuator
        points, rate, change = workspace.capstan[first : first + n], workspace.rate, workspace.gamma
        for j in range(n):
            row = actuators.line[first + j]
            section_strain(tree, actuators, row, dq, False, xi)
            store_row(plus(cross(head(xi), actuators.value[row, ROUTE : ROUTE + 3]), tail(xi)), change[j])
            rate[j] = dot(points[j, 9:12], xi) + dot(points[j, 12:15], change[j])
        for j in range(n):
            for m in range(n):
                rate[j] += actuators.operators[at + j * n + m] * dot(points[j, 6:9], change[m])
        pull = -scale * workspace.tension[0, actuator] * actuators.friction[k, 0]
        for j in range(n):
            row, angle = actuators.line[first + j], 0.0
            for m in range(n):
                angle += actuators.operators[at + (n + j) * n + m] * rate[m]
            add_by_strain(tree, actuators, row, pull * angle, workspace.unit[row], out)


@kernel_in_place
def add_capstan_transposed(tree, actuators, scale, workspace, w, xi, out):
    """The transpose of `add_capstan_product`."""
    for k in range(actuators.capstan.shape[0]):
        line = actuators.capstan[k]
        n, at, first, actuator = line.n, line.operators, line.first, line.actuator
        points, rate, moved = workspace.capstan[first : first + n], workspace.rate, workspace.gamma
        pull = -scale * workspace.tension[0, actuator] * actuators.friction[k, 0]
        clear(rate)
        clear_matrix(moved)
        for j in range(n):
            row = actuators.line[first + j]
            section_strain(tree, actuators, row, w, False, xi)
            angle = pull * dot6(workspace.unit[row], xi)
            for m in range(n):
                rate[m] += actuators.operators[at + (n + j) * n + m] * angle
        for j in range(n):
            for i in range(3):
                moved[j, i] += rate[j] * points[j, 12 + i]
                for m in range(n):
                    moved[m, i] += actuators.operators[at + j * n + m] * rate[j] * points[j, 6 + i]
        for j in range(n):
            row = actuators.line[first + j]
            route_wrench(actuators.value[row], moved[j], xi)
            for i in range(3):
                xi[i] += rate[j] * points[j, 9 + i]
            add_by_strain(tree, actuators, row, 1.0, xi, out)


@kernel_in_place
def add_motor_products(tree, laws, q, qd, u, transposed, scratch, by_input, force):
    """force (ndof,) += B by_input of motors and servos in joints; transposed by_input (n_actuators,) += B^T force."""
    At, Omega, C = scratch[2], scratch[7, 2], scratch[8].reshape(36)[:10]
    for k in range(laws.row.shape[0]):
        law = laws.row[k]
        b, a, index = law.block, law.actuator, law.index
        if law.law == SERVO:
            value = laws.value[law.at :]
            factor = servo_effort(law, value, q, qd, u)[1] * value[3]
            if transposed:
                by_input[a] += factor * force[index]
            else:
                force[index] += factor * by_input[a]
        elif law.law == MOTOR:
            n, c0 = tree.block[b].n, tree.block[b].column
            at = twists_at(tree, b)
            moved_frame(tree, law, tree.strain[at : at + 6 * n].reshape(n, 6), n, q, scratch, Omega, C, At)
            for i in range(n):
                if transposed:
                    by_input[a] += At[i, index] * force[c0 + i]
                else:
                    force[c0 + i] += At[i, index] * by_input[a]


# -- the residual ------------------------------------------------------------------------------------------------------


@kernel_lazy()
def residual_product(system, state, external, moving, dq, dqd, du, ws, node, out) -> None:
    """Change out (ndof,) of the residual, inverse dynamics less internal forces, along (dq, dqd, du); qdd stays.

    moving : whether anything moves, and J' is known; node (n_segments + 1, 24): scratch.
    """
    tree, internal, workspace, xi = system.tree, system.internal, external.actuators, ws.scratch[0, 0]
    actuators, still = internal.rod_actuators, ws.vector[0]
    clear(out)
    clear(still)
    inverse_product(tree, external, moving, dq, dqd, still, du, ws, node, out)
    add_block_products(tree, ws.internal[0], False, -1.0, dq, out)
    add_block_products(tree, ws.internal[1], False, -1.0, dqd, out)
    laws = internal.elastic.laws
    if laws.row.shape[0] > 0:
        add_turned_products(tree, laws, state.q, state.qd, state.u, False, -1.0, dq, ws.scratch, out)
    # internal forces are subtracted: what inputs add comes with the other sign
    force = still
    add_motor_products(tree, internal.elastic.laws, state.q, state.qd, state.u, False, ws.scratch, du, force)
    if actuators.row.shape[0] > 0:
        add_length_product(tree, actuators, 1.0, workspace, dq, xi, force)
        add_capstan_product(tree, actuators, 1.0, workspace, dq, xi, force)
        for a in range(du.shape[0]):
            workspace.input[a] = tension_by_input(actuators, workspace, state.u, a) * du[a]
        add_actuation(tree, actuators, workspace, workspace.input, 1.0, force)
    for i in range(out.shape[0]):
        out[i] -= force[i]


@kernel_lazy()
def residual_product_transposed(system, state, external, moving, w, ws, node, by_q, by_qd, by_u) -> None:
    """Transposed derivatives of the residual by q, qd (ndof,) and u (n_actuators,), times w (ndof,)."""
    tree, internal, workspace, xi = system.tree, system.internal, external.actuators, ws.scratch[0, 0]
    actuators = internal.rod_actuators
    clear(by_q)
    clear(by_qd)
    clear(by_u)
    inverse_product_transposed(tree, external, moving, w, ws, node, by_q, by_qd)
    add_block_products(tree, ws.internal[0], True, -1.0, w, by_q)
    add_block_products(tree, ws.internal[1], True, -1.0, w, by_qd)
    laws = internal.elastic.laws
    if laws.row.shape[0] > 0:
        add_turned_products(tree, laws, state.q, state.qd, state.u, True, -1.0, w, ws.scratch, by_q)
    if actuators.row.shape[0] > 0:
        add_length_product(tree, actuators, -1.0, workspace, w, xi, by_q)
        add_capstan_transposed(tree, actuators, -1.0, workspace, w, xi, by_q)
        add_actuation_transposed(tree, actuators, workspace, w, xi, by_u)
        for a in range(by_u.shape[0]):
            by_u[a] *= tension_by_input(actuators, workspace, state.u, a)
    add_motor_products(tree, internal.elastic.laws, state.q, state.qd, state.u, True, ws.scratch, by_u, w)
    for k in range(external.input_row.shape[0]):  # how w moves the nodes is left in their scratch
        own = external.input_row[k]
        by_u[own.actuator] += dot6(external.input_wrench[k], node[own.node, WRENCH:])
    for a in range(by_u.shape[0]):
        by_u[a] = -by_u[a]
