"""Newmark's and the generalised-alpha method for constrained motion of index 3, step by step (docs/theory.md, 10).

At the end t' = t + h of a step the equations of motion and the closed loops hold, R(q', q'd, q'dd, l', t') = 0 and
e(q') = 0. A method is a tableau (P, b): with its own accelerations a' at the end, y = (q, qd, qdd, a) becomes

    y' = P y + b a',  so that y' changes by b / b_0 dq' in a correction dq'.

All is scaled by q'dd per q' (the factor `ratio` ~ 1/h^2), so that small steps lose no digits: [S -A^T; E 0] [dq; dl /
ratio] = -[R / ratio; e] with S = M + (velocity ratio C + K) / ratio. Large trees solve with ratio S block by block and
have no matrices; where more couples than neighbours do, Python does it (docs/theory.md, 17).
"""

from __future__ import annotations

from math import nan, sqrt

from sorosim.base.compiled import call_python, kernel_in_place, kernel_lazy
from sorosim.base.signals.evaluation import evaluate_signals
from sorosim.mechanics.kernels.contacts import add_contacts
from sorosim.mechanics.kernels.dense_lu import lu_factor, lu_solve, lu_solve_vector, rank_factor, rank_solve
from sorosim.mechanics.kernels.evaluate import RESIDUAL, derivatives, linearise, mass, residual
from sorosim.mechanics.kernels.external import clear_external
from sorosim.mechanics.kernels.forces import (
    internal_forces,
)
from sorosim.mechanics.kernels.kinematics import POSES, forward_sweep, is_zero
from sorosim.mechanics.kernels.linalg import add_product, cholesky
from sorosim.mechanics.kernels.load_laws import add_load_laws
from sorosim.mechanics.kernels.loops import evaluate_loops, loop_matrices
from sorosim.mechanics.kernels.relaxation import add_strain_errors, relax_blocks
from sorosim.mechanics.kernels.saddle import (
    RANK_TOLERANCE,
    factor_constraints,
    loop_norms,
    rank_tolerance,
    solve_constrained,
)
from sorosim.mechanics.kernels.small import copy, isolate
from sorosim.mechanics.kernels.tangent import factor_tangent, mass_product, solve_tangent

# values of `refactor`, factors of Newton's method: those from before, made at the begin of the step or to be so,
# made at every correction
REUSE, ONCE, DONE, ALWAYS = range(4)
# what Python is asked for with `March.solver`: factors of the step, or to solve for its correction or its error; errors
# of loops along March.tangent.node; rates that follow a change of the step, or are projected
SOLVE_FACTORS, SOLVE_CORRECTION, SOLVE_ERROR, ERRORS_ALONG, CHANGE_RATES, PROJECT_RATES = range(6)


@kernel_in_place
def set_tableau(march):
    """Relations of the method for a step of this size: entries change by h to the difference of orders (0, 1, 2, 2)."""
    number = march.number
    h = number.step
    for r in range(4):
        number.b[r] = number.gain[r] * power(h, 2 - min(r, 2))
        for c in range(4):
            number.P[r, c] = number.carry[r, c] * power(h, min(c, 2) - min(r, 2))


@kernel_in_place
def power(h, k):
    """h^k."""
    x = 1.0
    for _ in range(abs(k)):
        x *= h
    return x if k >= 0 else 1.0 / x


@kernel_in_place
def ratios(number):
    """Accelerations and rates per coordinate within a step: how q'dd and q'd change with q'."""
    return number.b[2] / number.b[0], number.b[1] / number.b[0]


@kernel_in_place
def add_forces(model, march, ws, begin, tangents):
    """Loads at the begin of the step or at the guess of its end, if compiled code knows them."""
    state, external, t = march.state, march.external, march.number.time
    if external.wrench.shape[0] == 0 or march.counts.external != 0:
        return
    clear_external(external)
    u = march.begin.u if begin else march.end.u
    if begin:
        forward_sweep(model.system.tree, state.q, state.qd, state.qdd, model.gravity, POSES, ws)
    else:
        t += march.number.step
        forward_sweep(model.system.tree, state.q_new, state.qd_new, state.qdd_new, model.gravity, POSES, ws)
    add_load_laws(model.loads, t, march.varying, model.gravity, u, ws, march.stack, external)
    if model.loads.surfaces.group.shape[0] > 0:
        external.contact.counts.no_tangents = not tangents
        add_contacts(model.loads.surfaces, ws, external)


@kernel_in_place
def on_tree(march):
    """Whether the factors of the step are those of `march.tangent`."""
    return march.S.shape[0] < march.state.q.shape[0]


@kernel_lazy()
def evaluate_at(model, march, ws, derive) -> None:
    """Residual, errors of loops and, if `derive`, their derivatives, at the guess of the end of the step."""
    state, end, external, out = march.state, march.end, march.external, march.out
    add_forces(model, march, ws, False, derive)
    copy(march.multiplier.new, out.closure.multiplier)
    if not derive:
        residual(model.system, end, RESIDUAL, external, ws, out)
    elif on_tree(march):
        linearise(model.system, end, True, external, ws, out)
    else:
        derivatives(model.system, end, RESIDUAL, True, external, ws, out)
    copy(out.tau, state.residue)
    if external.contact.counts.overflow != 0:
        state.residue[0] = nan


@kernel_in_place
def factor_step(model, march, ws):
    """Factors of the step from what was evaluated last, with derivatives. Returns whether they are regular."""
    if not on_tree(march):
        step_matrix(model, march)
        return factor(model, march)
    ratio, rate_ratio = ratios(march.number)
    if march.solver[0] != 0:
        march.number.factored_ratio, march.counts.factored = ratio, 1
        return call_python(march.solver[0], SOLVE_FACTORS) != 0
    moving = not (is_zero(march.end.qd) and is_zero(march.out.qdd))
    loaded = march.external.wrench.shape[0] > 0
    march.number.factored_ratio, march.counts.factored = ratio, 1
    tree, known = model.system.tree, model.known
    return factor_tangent(tree, known, rate_ratio, ratio, moving, loaded, False, False, ws, march.tangent) < 0


@kernel_in_place
def solve_step(model, march, what, x):
    """Overwrite x (ndof,), the correction or the error of a step, with S^-1 x; with loops as `solve`."""
    if not on_tree(march):
        solve(march, x)
        return
    for i in range(x.shape[0]):
        x[i] *= march.number.factored_ratio
    if march.solver[0] != 0:
        if call_python(march.solver[0], what) == 0:
            x[0] = nan
        return
    solve_tangent(model.system.tree, march.tangent, x)


@kernel_in_place
def step_matrix(model, march):
    """S from the derivatives evaluated last."""
    S, out, n = march.S, march.out, march.S.shape[0]
    mass, dq, dqd = out.mass, out.by_q, out.by_qd
    ratio, rate_ratio = ratios(march.number)
    for i in range(n):
        for j in range(n):
            S[i, j] = mass[i, j] + (rate_ratio * dqd[i, j] + dq[i, j]) / ratio
    for i in range(n):
        if model.known[i]:
            isolate(S, i)


@kernel_lazy()
def factor(model, march) -> bool:
    """Factors of S, in place, and of E S^-1 A^T. Returns whether S is regular."""
    number, S, out, loops, known = march.number, march.S, march.out, model.system.loops, model.known
    n, m = march.S.shape[0], march.G.shape[0]
    ratio, _ = ratios(number)
    if lu_factor(S, march.pivot) >= 0:
        return False
    A, E = out.closure.constraint, out.closure.error_by_q
    for i in range(n):
        for j in range(m):
            march.columns[i, j] = 0.0 if known[i] else A[j, i]
            if model.known[i]:
                E[j, i] = 0.0
    if m > 0:
        lu_solve(S, march.pivot, march.columns)
        for i in range(m):
            for j in range(m):
                total = 0.0
                for k in range(n):
                    total += E[i, k] * march.columns[k, j]
                march.G[i, j] = total
        # G is near to W^T W, so what belongs to rows is squared
        scale, size = march.multiplier.scale, loops.row_scale
        for i in range(m):
            scale[i] = size[i] * sqrt(abs(march.G[i, i]))
        loop_norms(loops, scale)
        for i in range(m):
            scale[i] = size[i] / scale[i]
        most = march.counts.most_rank
        beyond = rank_tolerance(loops, out.closure.error, most)
        rank, least = rank_factor(march.G, march.order, scale, most, RANK_TOLERANCE**2, beyond**2)
        march.counts.rank = rank
        if rank < march.counts.most_rank:
            rank, least = rank + 1, 0.0
        elif rank > 0:
            march.counts.most_rank, number.best_pivot = rank, max(number.best_pivot, least)
        if rank > 0 and least < number.least_pivot:
            number.least_pivot, number.least_pivot_time = least, number.time
            march.counts.least_row = march.order[0, rank - 1]
    number.factored_ratio = ratio
    march.counts.factored = 1
    return True


@kernel_in_place
def solve(march, x):
    """Overwrite x (ndof,) with dq for S dq - A^T dl = x, E dq = r, r in march.multiplier.right; fills dl."""
    n, m = x.shape[0], march.G.shape[0]
    right, step = march.multiplier.right, march.multiplier.step
    lu_solve_vector(march.S, march.pivot, x)
    if m == 0:
        return
    E = march.out.closure.error_by_q
    for i in range(m):
        for k in range(n):
            right[i] -= E[i, k] * x[k]
    rank_solve(march.G, march.order, march.multiplier.scale, march.counts.rank, right, step)
    for k in range(n):
        for i in range(m):
            x[k] += march.columns[k, i] * step[i]


@kernel_in_place
def solve_columns(march, X, right):
    """As `solve`, of columns X (ndof, k) and right (m, k), which becomes dl."""
    lu_solve(march.S, march.pivot, X)
    m, vector, step = march.G.shape[0], march.multiplier.right, march.multiplier.step
    if m == 0:
        return
    add_product(march.out.closure.error_by_q, X, -1.0, right)
    for c in range(X.shape[1]):
        for i in range(m):
            vector[i] = right[i, c]
        rank_solve(march.G, march.order, march.multiplier.scale, march.counts.rank, vector, step)
        for i in range(m):
            right[i, c] = step[i]
    add_product(march.columns, right, 1.0, X)


@kernel_lazy()
def change_step(model, march, ws) -> None:
    """Fit what depends on the size of the step to the new one.

    The method's accelerations belong to times shifted by a part of the step: change the shift with it. The method
    closes loops on positions only: its rates violate the constraints by A qd ~ h^2; where the step changes, the
    difference, divided by h, would appear in the multipliers.
    """
    number, state = march.number, march.state
    h, last = number.step, number.last_step
    if march.multiplier.now.shape[0] > 0 and march.counts.project == 0:
        if march.solver[0] != 0:
            call_python(march.solver[0], CHANGE_RATES)
        else:
            scale_drift((h / last) ** 2, march.begin, model, march, ws)
    for k in range(state.q.shape[0]):
        state.a[k] = state.qdd[k] + (h / last) * (state.a[k] - state.qdd[k])
    number.last_step = h


@kernel_lazy("loops")
def scale_drift(part, state, model, march, ws) -> None:
    """Scale the drift A qd of the constraints by `part`: the nearest rates, in kinetic energy, that have it."""
    out, loops, U, x, n = march.drift, model.system.loops, march.drift.mass, march.state.work, march.state.q.shape[0]
    closure, saddle = out.closure, out.saddle
    # with the mass matrix here: that of another state would turn the rest of the rates
    mass(model.system, state, march.external, ws, out)
    evaluate_loops(loops, ws, state.q, state.qd, out.qdd, state.u, closure)
    loop_matrices(model.system.tree, loops, True, False, False, ws, closure)
    for i in range(n):
        x[i] = 0.0
        if model.known[i]:
            isolate(U, i)
    if cholesky(U) >= 0:
        return
    for i in range(closure.error.shape[0]):
        saddle.right[i, 0] = (part - 1.0) * closure.rate[i]
    error = closure.error
    factor_constraints(loops, U, closure.constraint, error, march.counts.most_rank, model.known, saddle)
    solve_constrained(loops, U, saddle, x, march.multiplier.step)
    for i in range(n):
        if not model.known[i]:
            state.qd[i] += x[i]


@kernel_in_place
def project_rates(model, march, ws):
    """Let the rates at the end of the step keep the loops closed."""
    if march.solver[0] != 0:
        call_python(march.solver[0], PROJECT_RATES)
    else:
        scale_drift(0.0, march.end, model, march, ws)


@kernel_in_place
def follow_path(path, t, prescribed):
    """Position, rate and acceleration of driven coordinates that move by polynomials."""
    for k in range(path.shape[0]):
        if path[k, 0] != 0.0:
            x, c0, c1, c2, c3 = t - path[k, 1], path[k, 2], path[k, 3], path[k, 4], path[k, 5]
            prescribed[k, 0] = c0 + x * (c1 + x * (c2 + x * c3))
            prescribed[k, 1] = c1 + x * (2.0 * c2 + x * 3.0 * c3)
            prescribed[k, 2] = 2.0 * c2 + 6.0 * x * c3


@kernel_lazy()
def begin_step(model, march, ws) -> None:
    """Signals at the end of the step, and a first guess of the state there."""
    number, state, multiplier = march.number, march.state, march.multiplier
    h, t = number.step, number.time + number.step
    if march.strain.shape[1] > 0:
        relax_blocks(model, march, h)
    evaluate_signals(model.motions, t, march.prescribed, march.stack)
    follow_path(march.path, t, march.prescribed)
    if march.counts.external == 0:
        if march.counts.held == 0:
            evaluate_signals(model.inputs, t, march.inputs, march.stack)
        evaluate_signals(model.loads.signals, t, march.varying, march.stack)
    if march.counts.held == 0:
        for i in range(march.end.u.shape[0]):
            march.end.u[i] = march.inputs[i, 0]
    if h != number.last_step:
        change_step(model, march, ws)
    set_tableau(march)
    P, b, y, end = number.P, number.b, state.begin, state.end
    for i in range(state.q.shape[0]):
        a = state.a[i]
        guess, rough = a + h / number.previous_step * (a - state.a_old[i]), abs(a - state.a_old[i]) > abs(a)
        if march.counts.jumped != 0 and march.counts.refactor == ALWAYS:
            # stiff parts with rates far from equilibrium do not go as far as these say: begin where they are
            guess = -(P[0, 1] * state.qd[i] + P[0, 3] * a) / b[0]
        elif march.counts.jumped != 0 or (rough and (march.counts.held != 0 or march.counts.refactor == ALWAYS)):
            # inputs that jump excite stiff parts, whose accelerations are noise, from which friction and contacts did
            # not find back: begin with the rate that it has
            guess = -P[1, 3] / b[1] * a
        for r in range(4):
            end[r, i] = P[r, 0] * y[0, i] + P[r, 1] * y[1, i] + P[r, 2] * y[2, i] + P[r, 3] * a + b[r] * guess
        state.scale[i] = number.atol + number.rtol * abs(state.q[i])
    for k in range(model.driven.shape[0]):
        i = model.driven[k]
        state.q_new[i], state.qd_new[i], state.qdd_new[i] = (
            march.prescribed[k, 0], march.prescribed[k, 1], march.prescribed[k, 2],
        )  # fmt: skip
        state.a_new[i] = state.qdd_new[i]
    for i in range(multiplier.now.shape[0]):
        multiplier.new[i] = multiplier.now[i]


@kernel_lazy()
def correct(model, march) -> float:
    """`part` of a correction by Newton's method. Returns the size of all of it by the tolerance (root mean square).

    Multipliers of dependent rows become zero: where such a row is weak, but not zero, its force then depends on the end
    of the step alone, as derivatives have it, and not on the multipliers of the start.
    """
    state, number, n = march.state, march.number, march.state.q.shape[0]
    ratio, _ = ratios(number)
    x = state.correction
    for i in range(n):
        x[i] = 0.0 if model.known[i] else -state.residue[i] / ratio
    for i in range(march.multiplier.now.shape[0]):
        march.multiplier.right[i] = -march.out.closure.error[i]
    first = march.G.shape[0] if on_tree(march) else march.counts.rank
    for k in range(first, march.G.shape[0]):
        j = march.order[1, k]
        for i in range(n):
            if not model.known[i]:
                x[i] -= march.out.closure.constraint[j, i] * march.multiplier.new[j] / ratio
    solve_step(model, march, SOLVE_CORRECTION, x)
    for k in range(first, march.G.shape[0]):
        j = march.order[1, k]
        march.multiplier.step[j] = -march.multiplier.new[j] / ratio
    b, part, total = number.b, number.part, 0.0
    for i in range(n):
        if model.known[i]:
            continue
        total += (x[i] / state.scale[i]) ** 2
        x[i] *= part
        for r in range(4):
            state.end[r, i] += b[r] / b[0] * x[i]
    for i in range(march.multiplier.now.shape[0]):
        march.multiplier.new[i] += part * ratio * march.multiplier.step[i]
    return sqrt(total / max(n - model.driven.shape[0], 1))


@kernel_lazy()
def error_of(model, march, ws) -> float:
    """Estimate of the error of this step in q, relative to the tolerance (root mean square).

    The first term left out, (beta + delta / 2 - 1/6) h^3 dddq/dt, from the change of a over the step, delta = alpha_m -
    alpha_f; filtered by S^-1 M, which takes out of it what is so stiff that the method damps it. What the loops
    determine is left in: coordinates are free of it, rates and multipliers are not. What strains of Maxwell elements
    miss is added as the displacement that it makes.
    """
    state, number, n = march.state, march.number, march.state.q.shape[0]
    h = number.step
    c = number.error * h * h
    x, known, mass, by_q = state.work, model.known, march.out.mass, march.out.closure.error_by_q
    if on_tree(march):
        change = march.out.tau  # the residual is copied
        for i in range(n):
            change[i] = 0.0 if known[i] else c * (state.a_new[i] - state.a[i])
        mass_product(model.system.tree, ws, change, march.tangent.node, x)
        if march.multiplier.now.shape[0] > 0:
            call_python(march.solver[0], ERRORS_ALONG)
    for i in range(march.out.mass.shape[0]):
        total = 0.0
        for j in range(n):
            if not known[j]:
                total += mass[i, j] * (state.a_new[j] - state.a[j])
        x[i] = c * total
    for i in range(n):
        if known[i]:
            x[i] = 0.0
    for i in range(march.G.shape[0]):
        march.multiplier.right[i] = 0.0
        for j in range(n):
            march.multiplier.right[i] += c * by_q[i, j] * (state.a_new[j] - state.a[j])
    solve_step(model, march, SOLVE_ERROR, x)
    if march.strain.shape[1] > 0:
        add_strain_errors(model, march, x)
    total = 0.0
    for i in range(n):
        if not model.known[i]:
            size = number.atol + number.rtol * max(abs(state.q[i]), abs(state.q_new[i]))
            total += (x[i] / size) ** 2
    return sqrt(total / max(n - model.driven.shape[0], 1))


@kernel_lazy()
def actuator_forces(model, march, ws) -> None:
    """Forces of actuators at the end of the step: what the last evaluation has beyond passive forces in its state."""
    state, n = march.state, march.state.q.shape[0]
    _, rate_ratio = ratios(march.number)
    # that state was left by the last correction; actuators hardly change over it, passive forces may
    copy(ws.vector[0], state.actuation_new)
    copy(state.q_new, state.work)
    copy(state.qd_new, state.damping_new)
    for i in range(n):
        if not model.known[i]:
            state.work[i] -= state.correction[i]
            state.damping_new[i] -= rate_ratio * state.correction[i]
    tree_forces(model, model.passive, state.work, state.damping_new, march, ws)
    for i in range(n):
        state.actuation_new[i] -= march.out.tau[i]


@kernel_in_place
def tree_forces(model, internal, q, qd, march, ws):
    """Fill march.out.tau with some of the internal forces."""
    out, u = march.out, march.end.u
    internal_forces(model.system.tree, internal, q, qd, u, False, ws, march.external, out.tau, out.B)


@kernel_lazy()
def add_work(model, march, ws) -> None:
    """Add the work of the step: of mean forces along mean rates, as Newmark's method has it (docs/theory.md, 10)."""
    state, number = march.state, march.number
    tree_forces(model, model.dampers, state.q_new, state.qd_new, march, ws)
    work, dissipated = 0.0, 0.0
    for i in range(state.q.shape[0]):
        state.damping_new[i] = -march.out.tau[i]
        half_path = 0.25 * number.step * (state.qd[i] + state.qd_new[i])
        work += half_path * (state.actuation[i] + state.actuation_new[i])
        dissipated += half_path * (state.damping[i] + state.damping_new[i])
    number.work_done += work
    number.dissipated += dissipated
    copy(state.actuation_new, state.actuation)
    copy(state.damping_new, state.damping)
