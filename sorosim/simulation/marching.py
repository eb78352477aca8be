"""Newmark's and the generalised-alpha method on the motion of a robot, by the compiled march."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from scipy.linalg import lstsq, solve_triangular
from scipy.optimize import brentq

from sorosim.arrays import Array, IntArray
from sorosim.compiled import one_record, prepare
from sorosim.dynamics.constraints import RANK_TOLERANCE
from sorosim.dynamics.energies import PowerEvaluator, PowerTerms
from sorosim.engine.inputs import Motion, ZeroOrderHold
from sorosim.equations.failure import Trial
from sorosim.equations.system import OdeSystem, mass_weight
from sorosim.kernels import evaluate as task
from sorosim.kernels import march as codes
from sorosim.kernels import newmark
from sorosim.kernels.evaluate import Evaluation, State
from sorosim.kernels.held_inputs import hold
from sorosim.kernels.march import March, Model, Rows, march
from sorosim.kernels.signals import signal_workspace
from sorosim.kernels.tangent import make_tangent
from sorosim.simulation.balance import WorkIntegral
from sorosim.simulation.sparse_steps import SparseSteps
from sorosim.solvers.base import OdeProblem, OdeSolution, Reporter, by_event, crosses, without_rate

# steps between two looks of Python: at reports, interrupts
STEPS_AT_ONCE = 100
MOST_STEPS = 10**15
SAME_STEP = 1e-6  # part of a step that is rounding
# part of a short time over which the start looks how accelerations change
JERK_STEP = 1e-6
FINEST_RTOL = 1e-12  # relative tolerance for which methods of order 2 take millions of steps
MULTIPLIER_SWING = 1.0  # error of multipliers, relative to them, beyond which Newmark's method has lost them

MESSAGES = {
    codes.NO_CONVERGENCE: "Newton's method does not converge: a smaller step",
    codes.TOO_SMALL: "the step became too small",
    codes.IMPLAUSIBLE: "Newton's method finds only ends of the step faster than forces make it: a smaller step",
    codes.NOT_FINITE: "the state became infinite or NaN, or its matrix singular",
}


def tableau(method: str, spectral_radius: float) -> codes.Tableau:
    """Relations of a method; generalised-alpha by its spectral radius at infinity (docs/theory.md, 10)."""
    alpha_m, alpha_f, beta, gamma, beta_old = 0.0, 0.0, 0.25, 0.5, 0.25  # Newmark's
    if method == "euler":
        beta, gamma, beta_old = 1.0, 1.0, 0.0
    elif method != "newmark":
        rho = spectral_radius
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        beta = 0.25 * (gamma + 0.5) ** 2
        beta_old = 0.5 - beta
    carry = np.array([
        [1.0, 1.0, 0.0, beta_old], [0.0, 1.0, 0.0, 1.0 - gamma],
        [0.0, 0.0, -alpha_f / (1.0 - alpha_f), alpha_m / (1.0 - alpha_f)], [0.0, 0.0, 0.0, 0.0],
    ])  # fmt: skip
    gain = np.array([beta, gamma, (1.0 - alpha_m) / (1.0 - alpha_f), 1.0])
    return codes.Tableau(carry, gain, beta + 0.5 * (alpha_m - alpha_f) - 1.0 / 6.0)


class Marching:
    """One of the two methods on the motion of a robot.

    Parameters
    ----------
    system : OdeSystem
    method : {"newmark", "generalized-alpha"}
    step : float, optional
        Fixed size of the steps [s], less where the time between rows is no multiple of it; without it they are chosen
        by the tolerances. Steps end at all rows.
    spectral_radius : float
        Of the generalised-alpha method at infinite frequency, 0 to 1.
    projection : bool
        Whether rates are projected after every step onto those that keep the loops closed.
    """

    def __init__(
        self, system: OdeSystem, method: str, step: float | None, spectral_radius: float, projection: bool = False
    ) -> None:
        self.system, self.step, self.tableau = system, step, tableau(method, spectral_radius)
        self.projection = projection and bool(system.robot.loop_names)
        # steps have a stiffness and a rest of their own where materials relax
        self.engine = system.maxwell.private_engine() if system.n_strains else system.robot.engine
        self.exchanges = PowerEvaluator(self.engine)
        self.trial: Trial | None = None  # of a step that failed
        self.active: _MarchRun | None = None  # under way
        self.damps = method != "newmark"
        self.rtol = 1.0
        self.sparse: SparseSteps | None = None  # where Python solves the linear systems of steps

    def limitation(self) -> str:
        """Why the method is unfit for this problem, in words; "" if it is not."""
        if self.rtol < FINEST_RTOL:
            return f"rtol = {self.rtol:.2g} is too small for a method of order 2: method='radau' takes far fewer steps"
        if self.active is None or self.damps or (error := self.active.multiplier_error()) <= MULTIPLIER_SWING:
            return ""
        swing = f"the multipliers of the loops swing by {error:.2g} times what the motion needs"
        return f"{swing}: Newmark's method does not damp them, method='generalized-alpha' does"

    # -- arrays ----------------------------------------------------------------------------------------------------

    def model(self, inputs: Motion) -> Model:
        engine, partition = self.engine, self.system.partition
        laws = engine.loading.packed.laws
        return Model(
            engine.system, self.system.robot.engine.elastic, laws, inputs.arrays, self.system.driven.arrays,
            partition.driven, partition.mask, engine.gravity, self.exchanges.passive, self.exchanges.dampers,
        )  # fmt: skip

    def state(self, inputs: Motion, on_tree: bool = False, sampled: bool = True) -> March:
        """State and workspace; on_tree : without matrices, but for forward dynamics at samples of a controller."""
        engine = self.system.robot.engine
        n, n_rows, n_inputs = engine.ndof, engine.loop_layout.m, engine.n_actuators
        full, looped, tree = 0 if on_tree else n, 0 if on_tree else n_rows, engine.tree
        loading = engine.loading
        signals = [inputs, self.system.driven, loading.packed.signals]
        depth = max([loading.depth, *(signal_workspace(motion.arrays).shape[0] for motion in signals)])
        external = loading.make_external(len(engine.tree.segment), n)
        # what a step leaves for the next one is one array, so that one copy keeps it
        shapes = (
            (codes.NUMBERS.itemsize // 8,), (codes.COUNTS.itemsize // 8,), (len(codes.StepVectors._fields) - 2, n),
            (len(codes.Multipliers._fields), n_rows), (len(inputs.signals), 3),
            (len(self.system.driven.signals), 3), (len(loading.packed.signals.signals), 3),
            (len(self.system.partition.driven), 6), (full, full), (full,), (full, looped), (looped, looped),
            (2, looped), (2, self.system.n_strains), (n_inputs,), (3,), (3, n_rows, full),
        )  # fmt: skip
        memory = np.zeros(sum(map(prod, shapes)))
        ends = np.cumsum([prod(shape) for shape in shapes])[:-1]
        parts: list[Any] = [part.reshape(shape) for part, shape in zip(np.split(memory, ends), shapes, strict=True)]
        for whole in (9, 12):  # pivots, order of rows
            parts[whole] = parts[whole].view(np.int64)
        parts[0], parts[1] = one_record(codes.NUMBERS, parts[0]), one_record(codes.COUNTS, parts[1])
        parts[2], parts[3] = codes.StepVectors(parts[2][:4], parts[2][4:8], *parts[2]), codes.Multipliers(*parts[3])
        state, (u, closing, (constraint, error_by_q, rate_by_q)) = (
            parts[2],
            parts[14:],
        )  # nothing drifts in residuals: closing stays zero
        begin, end = (
            State(q, qd, u, engine.gravity, self.system.partition.mask, closing)
            for q, qd in ((state.q, state.qd), (state.q_new, state.qd_new))
        )
        square = full, full
        matrices = np.zeros(square), np.zeros(square), np.zeros(square), np.zeros((full, n_inputs))
        if not on_tree:
            tree = tree._replace(segment=tree.segment[:0], block=tree.block[:0], rows=tree.rows[:0])
        closure, saddle = engine.make_closure(not on_tree)
        closure = closure._replace(constraint=constraint, error_by_q=error_by_q, rate_by_q=rate_by_q)
        out = Evaluation(np.zeros(n), *matrices, state.qdd_new, closure, saddle)
        large = n if sampled or not on_tree else 0
        own: Any = (np.zeros(shape) for shape in ((large, large), square, square, (full, n_inputs)))
        return March._make((
            *parts[:14], make_tangent(tree), np.zeros(1, dtype=np.int64), begin, end, out,
            out._replace(mass=np.zeros((full, full)), qdd=state.qdd),
            Evaluation._make((np.zeros(n), *own, state.qdd_begin, *engine.make_closure(large > 0))),
            external, np.zeros((depth, 3)), memory,
        ))  # fmt: skip

    # -- integration -----------------------------------------------------------------------------------------------

    def integrate(self, problem: OdeProblem) -> OdeSolution:
        """Integrate; the contract is in `sorosim.solvers.base`."""
        system, engine, self.rtol = self.system, self.engine, problem.rtol
        t0, end = float(problem.t_out[0]), float(problem.t_out[-1])
        inputs = system.inputs
        if isinstance(inputs, ZeroOrderHold):  # a sample is a restart
            inputs = inputs.from_sample(t0)
        loading = engine.loading
        external = bool(inputs.callables or loading.packed.signals.callables or loading.others or loading.actuators)
        sampled = len(problem.samples) > 0
        on_tree = engine.is_large and not (sampled and engine.loop_layout.m)
        state, model = self.state(inputs, on_tree, sampled), self.model(inputs)
        self.sparse = SparseSteps(engine) if on_tree and not engine.has_local_tangent else None
        if self.sparse is not None:
            self.sparse.start(model, state)
        with np.errstate(all="ignore"):  # inputs may be absurd: then the first step fails
            if not self.begin(state, problem, t0, end, external):
                return without_rate(problem)
        samples = problem.samples[(problem.samples > t0) & (problem.samples < end)]
        times = np.union1d(problem.t_out, samples)
        n_rows, n = len(times), engine.ndof
        states: Any = (np.zeros((n_rows, n)) for _ in range(3))
        tables: Any = (np.zeros((n_rows, width)) for width in (engine.loop_layout.m, 2, system.n_strains))
        rows = Rows._make((times, *states, *tables))
        rows.q[0], rows.qd[0], _, rows.strain[0] = system.coordinates(t0, problem.x0)
        rows.qdd[0] = state.state.qdd
        rows.multiplier[0] = state.multiplier.now
        self.active = _MarchRun(self, problem, model, state, rows)
        return self.active.run()

    def begin(self, state: March, problem: OdeProblem, t0: float, end: float, external: bool) -> bool:
        """Consistent accelerations and multipliers at the start, and the first step; False: there are none."""
        system, number, engine = self.system, state.number, self.engine
        q, qd, qdd, strain = system.coordinates(t0, problem.x0)
        evaluation = system.forward(task.FORWARD, t0, q, qd, qdd, strain)
        if not np.isfinite(evaluation.qdd).all():
            return False
        span = end - t0
        number[["time", "rtol", "atol"]] = t0, problem.rtol, problem.atol
        for name, values in self.tableau._asdict().items():
            number[name] = values
        number["max_step"], number["solvable_step"] = min(problem.max_step, span), np.inf
        number["min_step"] = 1e-13 * max(span, abs(end))
        if self.step is not None:  # shorter ones fail
            number["min_step"] = max(number["min_step"], self.step / codes.MOST_CUTS * (1.0 - SAME_STEP))
        number[["least_pivot", "least_pivot_time", "factored_ratio"]] = 1.0, t0, 1.0
        state.counts[["fixed", "external", "project", "row"]] = self.step is not None, external, self.projection, 1
        scale = problem.atol + problem.rtol * np.abs(q)
        if self.step is not None:
            h = self.step
        else:
            speed = np.sqrt(np.abs(evaluation.qdd / scale).max(initial=0.0))
            h = min(1.0 / speed if speed > 0.0 else span, 0.01 * span, float(number["max_step"]))
        number["target_step"] = min(h, span)
        after = problem.samples[problem.samples > t0]
        left = float(min([problem.t_out[1], *after[:1]])) - t0
        steps = np.ceil(left / float(number["target_step"]) * (1.0 - 1e-10))
        state.counts["steps_left"] = int(max(min(steps, MOST_STEPS), 1))  # accelerations may be absurd
        number["step"] = number["last_step"] = number["previous_step"] = left / state.counts["steps_left"]
        state.counts["most_rank"] = int(system.closing[2])
        if self.sparse is not None and engine.loop_layout.m:
            saddle = evaluation.saddle
            self.sparse.choose_rows(saddle.order[: int(saddle.regularity[0])])
        a, v = self.starting_values(t0, problem.x0, float(number["step"]), evaluation)
        now = state.state
        for vector, values in ((now.q, q), (now.qd, v), (now.qdd, evaluation.qdd), (now.a, a), (now.a_old, a)):
            vector[:] = values
        state.multiplier.now[:] = evaluation.closure.multiplier
        state.strain[0] = strain
        (now.actuation[:],), (now.damping[:],) = self.exchanges.of_tree(q[None], v[None], system.inputs.value(t0)[None])
        return True

    def starting_values(self, t: float, x: Array, h: float, evaluation: Evaluation) -> tuple[Array, Array]:
        """Accelerations and rates of a start as the method has them amid its steps of size h.

        Its accelerations belong to a time beside, and its rates violate constraints a little, see
        kernels.newmark.change_step; those of a restart have done so already. Where accelerations change too wildly to
        be followed, both stay as they are.
        """
        system, free = self.system, self.system.partition.free
        _, gain, error = self.tableau
        (q, qd, _, strain), a = system.coordinates(t, x), evaluation.qdd.copy()
        shift = 2.0 * (error + 1.0 / 6.0 - gain[0])  # by which part of a step its accelerations are late
        v = qd.copy()
        dt = JERK_STEP * min(h, 1.0)
        later = system.state(q + dt * qd + 0.5 * dt**2 * evaluation.qdd, qd + dt * evaluation.qdd,
                             strain + dt * system.maxwell.rates(qd, strain))  # fmt: skip
        jerk = (system.forward(task.FORWARD, t + dt, *system.coordinates(t + dt, later)).qdd - a) / dt
        if h * np.linalg.norm(shift * jerk) > np.linalg.norm(a):
            return a, v
        a += shift * h * jerk
        A = evaluation.closure.constraint
        if len(A) and not self.projection:
            drift = -error * h * h * (A[:, free] @ jerk[free]) - A @ qd
            # nearest in kinetic energy: nothing else changes
            U = mass_weight(system.robot, q, free)
            X = solve_triangular(U, A[:, free].T, trans="T").T
            v[free] += solve_triangular(U, lstsq(X, drift, cond=RANK_TOLERANCE)[0])
        return a, v


def compile_march(features: frozenset[str]) -> None:
    """Compile the steps for robots with these features, see `compiled.kernel_lazy`; types are the same for all."""
    from sorosim.io import load

    system = OdeSystem(load("pendulum"), Motion([]), {})
    method, engine = Marching(system, "newmark", None, 1.0), system.robot.engine
    states: Any = (np.zeros((0, engine.ndof)) for _ in range(3))
    rows = Rows._make((np.zeros(0), *states, np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((0, 0))))
    arguments = method.model(Motion([])), method.state(Motion([])), engine.workspace
    prepare(march, (*arguments, rows, STEPS_AT_ONCE), features)


class _MarchRun:
    """An integration under way."""

    def __init__(
        self, method: Marching, problem: OdeProblem, model: Model, state: March, rows: Rows
    ) -> None:  # fmt: skip
        self.method, self.problem, self.model, self.state, self.rows = method, problem, model, state, rows
        self.engine = method.engine
        self.reported, self.steps = 0, [self.step_state()]
        self.is_row = np.isin(rows.t, problem.t_out)
        self.stops = (1 + np.flatnonzero(np.isin(rows.t[1:-1], problem.samples))).tolist()  # rows at samples
        self.next_rows = self.rows_to_sample()
        self.reporter = Reporter(problem)
        self.energy = problem.steps if isinstance(problem.steps, WorkIntegral) else None
        self.work_outside_tree = self.energy is not None and self.energy.outside_tree
        # stops alone are not watched: to return to Python at each step takes several times as long as a small step
        watched = self.energy is not None and self.engine.loading.touches
        self.bounces = self.energy.bounces if watched and self.energy is not None else None
        if self.energy is not None:
            self.work, self.followed = self.energy.value, 1  # but for that of the tree; rows
            self.exchange = self.exchange_beside() if self.work_outside_tree else None

    def step_state(self) -> tuple[float, Array, Array, Array]:
        """Time, coordinates, rates and strains of Maxwell elements now."""
        s = self.state.state
        return float(self.state.number["time"]), s.q.copy(), s.qd.copy(), self.state.strain[0].copy()

    def advance(self, max_steps: int) -> int:
        """Some steps; Python computes inputs and loads where the march returns for them."""
        arguments = self.model, self.state, self.engine.workspace, self.next_rows, max_steps
        advance = self.engine.prepared(march, arguments)
        while (code := self.checked(advance(*arguments))) == codes.NEEDS_PYTHON:
            number, s = self.state.number, self.state.state
            t = float(number["time"] + number["step"])
            self.state.end.u[:] = self.method.system.inputs.value(t)
            self.evaluate_python(t, s.q_new, s.qd_new)
        if code == codes.FINISHED and len(self.next_rows.t) < len(self.rows.t):
            return codes.AT_SAMPLE
        return code

    def checked(self, code: int) -> int:
        """A code of kernels.march, if nothing was raised on the way."""
        if self.method.sparse is not None:
            self.method.sparse.callback.check()
        return int(code)

    def evaluate_python(self, t: float, q: Array, qd: Array) -> None:
        """Loads and actuators that Python computes, under the inputs at the end of the step."""
        loading, external = self.engine.loading, self.state.external
        derive = self.state.counts["refactor"] in (newmark.ONCE, newmark.ALWAYS)
        if loading:
            self.engine.load_values(q, qd, t, external, tangents=derive)
        if loading.actuators:
            loading.actuate(external, self.engine.tree, q, qd, self.state.end.u, self.engine.actuator_names, derive)

    def rows_to_sample(self) -> Rows:
        """Rows up to the next sample, that one included."""
        return Rows._make(part[: self.stops[0] + 1] for part in self.rows) if self.stops else self.rows

    def sample(self) -> int:
        """Let inputs jump at a sample, and accelerations with them (docs/theory.md, 14); a code of kernels.march."""
        state, system, (t, q, qd, strain) = self.state, self.method.system, self.step_state()
        assert self.problem.sample is not None
        self.problem.sample(t, system.state(q, qd, strain))
        u = system.inputs.value(t)
        if isinstance(system.inputs, ZeroOrderHold):
            table, data = self.model.inputs.table, self.model.inputs.data
            data[table["data"][system.inputs.held]] = u[system.inputs.held]
        before, state.inputs[:, 0] = state.end.u.copy(), u
        if state.counts["external"]:
            state.end.u[:] = u
            self.evaluate_python(t, q, qd)
            state.end.u[:] = before
        arguments = self.model, state, self.engine.workspace
        if self.engine.prepared(hold, arguments)(*arguments) != task.DONE:
            return codes.NOT_FINITE
        state.state.actuation[:] = self.method.exchanges.of_tree(q[None], qd[None], u[None])[0][0]
        del self.stops[0]
        self.next_rows = self.rows_to_sample()
        number, row = state.number, int(state.counts["row"])
        remaining = self.rows.t[row] - number["time"]
        most = min(float(number[name]) for name in ("target_step", "max_step", "solvable_step"))
        steps = max(np.ceil(remaining / most * (1.0 - 1e-10)), 1.0)
        state.counts["steps_left"], number["step"] = int(min(steps, MOST_STEPS)), remaining / steps
        return codes.CONTINUES

    def run(self) -> OdeSolution:
        problem, events = self.problem, self.problem.events
        each = bool(events) or problem.dense or self.work_outside_tree or self.bounces is not None
        hits: list[tuple[int, float, Array]] = []
        values = [event.function(self.steps[0][0], problem.x0) for event in events]
        code, ended, counted, stop = codes.CONTINUES, None, 0, ""
        while code == codes.CONTINUES and ended is None and not stop:
            try:
                code = self.advance(1 if each else min(STEPS_AT_ONCE, problem.work.at_once))
            except BaseException:  # of a load or an input in Python: report the rows until there
                self.follow(self.step_state()[0])
                self.report(None)
                raise
            now = self.step_state()
            self.follow(now[0])
            if each and now[0] > self.steps[-1][0]:
                self.steps = [*(self.steps if problem.dense else self.steps[-1:]), now]
                values, ended = self.crossed(values, hits)
                self.cut(ended)
            self.report(ended)
            if code == codes.AT_SAMPLE:
                code = self.sample() if ended is None else codes.CONTINUES
            n, counted = int(self.state.counts["n_steps"]) - counted, int(self.state.counts["n_steps"])
            if code == codes.CONTINUES and ended is None:
                stop = problem.work.steps(now[0], self.method.system.state(*now[1:]), n)
        t = float(self.state.number["time"]) if ended is None else ended
        success = code in (codes.FINISHED, codes.CONTINUES) and not stop
        message = "A termination event occurred." if ended is not None else "reached the end"
        if not success:
            message = f"stopped at t = {t:.6g} s: {stop or MESSAGES[code]}"
            if not stop and self.state.external.contact.counts["overflow"]:
                message += f"; more than {len(self.state.external.contact.entry)} contacts at once"
            if not stop and self.engine.loop_layout.m:
                message += self.method.system.loop_monitor.describe_failed_step(self.state.out.closure.error)
        self.record_regularity()
        ends: tuple[Any, float] = (None, float("nan"))
        if not success:
            t, *last = self.step_state()
            ends = (t, self.method.system.state(*last)), float(self.state.number["step"])
            self.method.trial = None if stop else self.trial()
        done = np.flatnonzero(self.is_row[: self.reported])
        x = self.states(done)
        count = self.state.counts
        stats = {"n_steps": int(count["n_steps"]), "n_rhs": int(count["n_residual"]),
                 "n_jacobian": int(count["n_jacobian"]), "n_factorizations": int(count["n_jacobian"]),
                 "n_rejected": int(count["n_rejected"])}  # fmt: skip
        return OdeSolution(
            self.rows.t[done], x.reshape(len(done), len(problem.x0)), success, message, stats,
            self.dense if problem.dense else None, *by_event(hits, len(events), len(problem.x0)), *ends,
        )  # fmt: skip

    def follow(self, t: float) -> None:
        """Integrate work and loss until t; after each step if forces outside the tree do work, or if things bounce."""
        if self.energy is None:
            return
        if self.bounces is not None:
            _, q, qd, _ = self.step_state()
            self.bounces.follow(np.array([t]), q[None], qd[None])
        if self.exchange is not None and t > self.steps[-1][0]:
            before, self.exchange = self.exchange, self.exchange_beside()
            self.work = self.work + before.until(self.exchange, t - self.steps[-1][0])[0]
        done = int(self.state.counts["row"])
        self.before = self.energy.value
        rows = self.work + self.rows.work[self.followed : done][self.is_row[self.followed : done]]
        self.energy.marched(t, self.work + np.array(self.state.number[["work_done", "dissipated"]].tolist()), rows)
        self.followed = done

    def exchange_beside(self) -> PowerTerms:
        """Work and loss outside the tree in the present state."""
        t, q, qd, strain = self.step_state()
        assert self.energy is not None
        reaction, system = None, self.method.system
        if len(self.model.driven):
            qdd, multiplier = self.state.state.qdd.copy(), self.state.multiplier.now.copy()
            if self.method.projection:  # its multipliers are of first order only
                multiplier = system.forward(task.FORWARD, t, q, qd, qdd, strain).closure.multiplier
            reaction = self.energy.reaction(t, q, qd, qdd, multiplier, strain)[None]
        u = system.inputs.value(t)[None]
        return self.energy.exchanges.beside(np.array([t]), q[None], qd[None], u, reaction)

    def cut(self, ended: float | None) -> None:
        """Count the last step up to a terminal event only."""
        if ended is not None and self.energy is not None:
            begin = self.steps[-2][0]
            first, last = (self.energy.exchange(np.array([t]), self.dense(t)[None]) for t in (begin, ended))
            self.energy.marched(ended, self.before + first.until(last, ended - begin)[0], np.zeros((0, 2)))

    def multiplier_error(self) -> float:
        """How far the multipliers are from those of forward dynamics, relative to these."""
        (t, *now), system = self.step_state(), self.method.system
        evaluation = system.forward(task.FORWARD, t, *system.coordinates(t, system.state(*now)))
        own, exact = self.state.multiplier.now, evaluation.closure.multiplier
        return float(np.abs(own - exact).max(initial=0.0) / max(np.abs(exact).max(initial=0.0), 1e-300))

    def trial(self) -> Trial:
        """The end of the last step as Newton's method left it."""
        s, t = self.state.state, float(self.state.number["time"] + self.state.number["step"])
        q, qd, qdd = (part.copy() for part in (s.q_new, s.qd_new, s.qdd_new))
        h, (_, before, _, strain) = float(self.state.number["step"]), self.step_state()
        strain = self.method.system.maxwell.advanced(strain, q - before, h)
        return Trial(t, q, qd, qdd, self.state.multiplier.new.copy(), strain)

    def record_regularity(self) -> None:
        """Tell where they were next to singular; pivots here are products of two rows."""
        number, loop_monitor = self.state.number, self.method.system.loop_monitor
        if self.engine.loop_layout.m:
            least, best = np.sqrt([number["least_pivot"], number["best_pivot"]])
            loop_monitor.check_singularity(
                float(number["least_pivot_time"]), least, best, int(self.state.counts["least_row"])
            )

    def report(self, ended: float | None) -> None:
        """Hand on the rows that are done, up to a terminal event."""
        done = int(self.state.counts["row"])
        if ended is not None:
            done = int(np.searchsorted(self.rows.t[:done], ended, side="right"))
        if done > self.reported:
            rows, states = self.rows, self.states(slice(self.reported, done))
            # projected rates leave multipliers of first order only: then forward dynamics at the rows finds better ones
            dependent = bool(self.state.counts["rank"] < self.engine.loop_layout.m)
            # the first row is the start, which forward dynamics has found, or belongs to the segment before
            for k in range(max(self.reported, 1), 0 if self.method.projection else done):
                self.method.system.rows[float(rows.t[k])] = rows.qdd[k], rows.multiplier[k], dependent
            first, self.reported = self.reported, done
            self.reporter.passed(float(rows.t[done - 1]), lambda times: states[self.reporter_rows(times, first)])

    def states(self, which: Any) -> Array:
        """States (k, n) at some of the rows."""
        rows = zip(self.rows.q[which], self.rows.qd[which], self.rows.strain[which], strict=True)
        return np.array([self.method.system.state(*row) for row in rows])

    def reporter_rows(self, times: Array, first: int) -> IntArray:
        """Which of the states from row `first` on are at times of the reporter."""
        return np.searchsorted(self.rows.t, times) - first

    def crossed(self, before: list[float], hits: list[tuple[int, float, Array]]) -> tuple[list[float], float | None]:
        """Look for zeros of events in the last step; returns their values now, and the time of a terminal one."""
        begin, end, x = self.steps[-2][0], self.steps[-1][0], self.dense(self.steps[-1][0])
        values, zeros = [], []
        for i, event in enumerate(self.problem.events):
            value = event.function(end, x)
            values.append(value)
            if crosses(event, before[i], value):
                zeros.append((self.zero(event.function, begin, end), i))
        ended = min((t for t, i in zeros if self.problem.events[i].terminal), default=None)
        for t, i in sorted(zeros):
            if ended is None or t <= ended:
                hits.append((i, t, self.dense(t)))
        return values, ended

    def zero(self, function: Callable[[float, Array], float], begin: float, end: float) -> float:
        """A zero of a function of time and state within the last step, in which it changes its sign."""
        if function(end, self.dense(end)) == 0.0:
            return end
        time = brentq(lambda t: function(t, self.dense(t)), begin, end, xtol=1e-14 * max(abs(end), 1.0))
        return float(time)

    def dense(self, t: float) -> Array:
        """State at a time within the steps so far, by cubic interpolation; strains of elements lie on lines."""
        times = [step[0] for step in self.steps]
        k = min(max(int(np.searchsorted(times, t)), 1), len(times) - 1)
        (t0, q0, v0, d0), (t1, q1, v1, d1) = self.steps[k - 1], self.steps[k]
        h = t1 - t0
        if t in (t0, t1):
            return self.method.system.state(*((q0, v0, d0) if t == t0 else (q1, v1, d1)))
        s, c1, left, bend = (t - t0) / h, h * v0, q1 - q0 - h * v0, h * (v1 - v0)
        c2, c3 = 3.0 * left - bend, bend - 2.0 * left
        q, qd = q0 + s * (c1 + s * (c2 + s * c3)), (c1 + s * (2.0 * c2 + s * 3.0 * c3)) / h
        return self.method.system.state(q, qd, d0 + s * (d1 - d0))
