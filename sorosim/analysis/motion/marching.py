"""Motions by Newmark's and the generalised-alpha method, whose steps tolerances choose: an integrator of `simulate`."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq, solve_triangular

from sorosim.analysis.equations.failure import Trial
from sorosim.analysis.equations.system import OdeSystem, mass_weight
from sorosim.analysis.motion.balance import WorkIntegral
from sorosim.analysis.motion.march import DONE, STEPS_AT_ONCE, RobotMarch
from sorosim.analysis.motion.sparse_steps import SparseSteps
from sorosim.base.arrays import Array, IntArray
from sorosim.base.compiled import prepare
from sorosim.base.methods import MarchMethod, Newmark
from sorosim.base.ode import OdeProblem, OdeSolution, Reporter, by_event, locate, without_rate
from sorosim.mechanics.dynamics.constraints import RANK_TOLERANCE
from sorosim.mechanics.dynamics.energies import PowerEvaluator, PowerTerms
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.inputs import Motion, ZeroOrderHold
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.kernels.march import March, Rows
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints.revolute import Revolute
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

MOST_STEPS = 10**15
SAME_STEP = 1e-6  # part of a step that is rounding
# part of a short time over which the start looks how accelerations change
JERK_STEP = 1e-6
FINEST_RTOL = 1e-12  # relative tolerance for which methods of order 2 take millions of steps
MULTIPLIER_SWING = 1.0  # error of multipliers, relative to them, beyond which Newmark's method has lost them


class MarchIntegrator(RobotMarch):
    """One of the two methods on the motion of a robot.

    Parameters
    ----------
    system : OdeSystem
    method : MarchMethod
    """

    method: MarchMethod

    def __init__(self, system: OdeSystem, method: MarchMethod) -> None:
        super().__init__(system, method)
        self.exchanges = PowerEvaluator(self.engine)
        self.fixed_step, self.projection = method.step, bool(method.projection and system.robot.n_multipliers)
        self.failed: Trial | None = None  # the end of a step that failed
        self.active: _MarchRun | None = None  # under way
        self.rtol = 1.0

    def limitation(self) -> str:
        """Why the method is unfit for this problem, in words; "" if it is not."""
        if self.rtol < FINEST_RTOL:
            return f"rtol = {self.rtol:.2g} is too small for a method of order 2: method='radau' takes far fewer steps"
        if self.active is None or self.method.damps or (error := self.active.multiplier_error()) <= MULTIPLIER_SWING:
            return ""
        swing = f"the multipliers of the loops swing by {error:.2g} times what the motion needs"
        return f"{swing}: Newmark's method does not damp them, method='generalized-alpha' does"

    def integrate(self, problem: OdeProblem) -> OdeSolution:
        """Integrate; the contract is in `sorosim.base.ode`."""
        system, engine, self.rtol = self.system, self.engine, problem.rtol
        t0, end = float(problem.t_out[0]), float(problem.t_out[-1])
        # a sample is a restart
        self.take_inputs(system.inputs.from_sample(t0) if isinstance(system.inputs, ZeroOrderHold) else system.inputs)
        sampled = len(problem.samples) > 0
        on_tree = engine.is_large and not (sampled and engine.loop_layout.m)
        march = self.allocate(on_tree, sampled)
        self.sparse = SparseSteps(engine) if on_tree and not engine.has_local_tangent else None
        if self.sparse is not None:
            self.sparse.start(self.model, march)
        with np.errstate(all="ignore"):  # inputs may be absurd: then the first step fails
            if not self.begin(march, problem, t0, end):
                return without_rate(problem)
        samples = problem.samples[(problem.samples > t0) & (problem.samples < end)]
        times = np.union1d(problem.t_out, samples)
        rows = self.room(len(times))
        rows.t[:] = times
        rows.q[0], rows.qd[0], _, rows.strain[0] = system.coordinates(t0, problem.x0)
        rows.qdd[0] = march.state.qdd
        rows.multiplier[0] = march.multiplier.now
        self.active = _MarchRun(self, problem, march, rows)
        return self.active.run()

    def begin(self, march: March, problem: OdeProblem, t0: float, end: float) -> bool:
        """Consistent accelerations and multipliers at the start, and the first step; False: there are none."""
        system, number, engine = self.system, march.number, self.engine
        q, qd, qdd, strain = system.coordinates(t0, problem.x0)
        evaluation = system.forward(task.FORWARD, t0, q, qd, qdd, strain)
        if not np.isfinite(evaluation.qdd).all():
            return False
        span = end - t0
        number["rtol"], number["atol"] = problem.rtol, problem.atol
        number["max_step"], number["solvable_step"] = min(problem.max_step, span), np.inf
        number["min_step"] = 1e-13 * max(span, abs(end))
        if self.fixed_step is not None:  # shorter ones fail
            number["min_step"] = max(number["min_step"], self.fixed_step / codes.MOST_CUTS * (1.0 - SAME_STEP))
        number["least_pivot_time"] = t0
        for name, value in {
            "fixed": self.fixed_step is not None, "external": self.in_python, "project": self.projection, "row": 1,
        }.items():  # fmt: skip
            march.counts[name] = value
        scale = problem.atol + problem.rtol * np.abs(q)
        if self.fixed_step is not None:
            h = self.fixed_step
        else:
            speed = np.sqrt(np.abs(evaluation.qdd / scale).max(initial=0.0))
            h = min(1.0 / speed if speed > 0.0 else span, 0.01 * span, float(number["max_step"]))
        number["target_step"] = min(h, span)
        after = problem.samples[problem.samples > t0]
        left = float(min([problem.t_out[1], *after[:1]])) - t0
        steps = np.ceil(left / float(number["target_step"]) * (1.0 - 1e-10))
        march.counts["steps_left"] = int(max(min(steps, MOST_STEPS), 1))  # accelerations may be absurd
        number["step"] = number["last_step"] = number["previous_step"] = left / march.counts["steps_left"]
        saddle, now, independent = evaluation.saddle, march.state, None
        if self.sparse is not None and engine.loop_layout.m:
            independent = saddle.order[: int(saddle.regularity[0])].copy()
        step = float(number["step"])
        a, v = self.starting_values(t0, problem.x0, step, evaluation)
        first = self.first_accelerations(t0, problem.x0, step, evaluation)
        a += first - evaluation.qdd
        self.start(march, t0, q, v, first, strain)
        if self.sparse is not None and independent is not None:
            self.sparse.choose_rows(independent)
        now.a[:] = now.a_old[:] = a
        march.multiplier.now[:] = evaluation.closure.multiplier
        (now.actuation[:],), (now.damping[:],) = self.exchanges.of_tree(q[None], v[None], system.inputs.value(t0)[None])
        return True

    def first_accelerations(self, t: float, x: Array, h: float, evaluation: Evaluation) -> Array:
        """Accelerations of forward dynamics, without what stiff parts cannot follow in steps of h."""
        if not (stiffening := self.tableau.stiffening * h * h):
            return evaluation.qdd
        state = self.system.coordinates(t, x)
        return self.system.forward(task.FORWARD, t, *state, stiffening=stiffening).qdd

    def starting_values(self, t: float, x: Array, h: float, evaluation: Evaluation) -> tuple[Array, Array]:
        """Accelerations and rates of a start as the method has them amid its steps of size h.

        Its accelerations belong to a time beside, and its rates violate constraints a little, see
        kernels.newmark.change_step; those of a restart have done so already. Where accelerations change too wildly to
        be followed, both stay as they are.
        """
        system, free = self.system, self.system.partition.free
        _, gain, error, _ = self.tableau
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
    robot = Robot(Description("march", (Link("bob", joint=Revolute()),)))
    method = MarchIntegrator(OdeSystem(robot, Prescribed.of(robot, {}, {})), Newmark())
    method.take_inputs(Motion([]))
    arguments = method.model, method.allocate(), method.engine.workspace, method.room(0), STEPS_AT_ONCE
    prepare(codes.march, arguments, features)


class _MarchRun:
    """An integration under way."""

    def __init__(self, method: MarchIntegrator, problem: OdeProblem, march: March, rows: Rows) -> None:
        self.method, self.problem, self.march, self.rows = method, problem, march, rows
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
        s = self.march.state
        return float(self.march.number["time"]), s.q.copy(), s.qd.copy(), self.march.strain[0].copy()

    def advance(self, most: int) -> int:
        """Some steps; a code of kernels.march."""
        code = self.method.step(self.march, self.next_rows, most)
        ends_at_sample = code == codes.FINISHED and len(self.next_rows.t) < len(self.rows.t)
        return codes.AT_SAMPLE if ends_at_sample else code

    def rows_to_sample(self) -> Rows:
        """Rows up to the next sample, that one included."""
        return Rows._make(part[: self.stops[0] + 1] for part in self.rows) if self.stops else self.rows

    def sample(self) -> int:
        """Let inputs jump at a sample, and accelerations with them (docs/theory.md, 14); a code of kernels.march."""
        march, system, (t, q, qd, strain) = self.march, self.method.system, self.step_state()
        assert self.problem.sample is not None
        self.problem.sample(t, system.state(q, qd, strain))
        u = system.inputs.value(t)
        if isinstance(system.inputs, ZeroOrderHold):
            inputs = self.method.model.inputs
            inputs.data[inputs.table["data"][system.inputs.held]] = u[system.inputs.held]
        del self.stops[0]
        self.next_rows = self.rows_to_sample()
        number, row = march.number, int(march.counts["row"])
        remaining = self.rows.t[row] - number["time"]
        most = min(float(number[name]) for name in ("target_step", "max_step", "solvable_step"))
        steps = max(np.ceil(remaining / most * (1.0 - 1e-10)), 1.0)
        march.counts["steps_left"], number["step"] = int(min(steps, MOST_STEPS)), remaining / steps
        march.state.actuation[:] = self.method.exchanges.of_tree(q[None], qd[None], u[None])[0][0]
        code = self.method.jump(march, u)
        if code == codes.CONTINUES and self.energy is not None and self.exchange is not None:
            self.exchange = self.exchange_beside()  # forces of inputs outside the tree have jumped
        return code

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
                values, found, ended = locate(events, values, self.steps[-2][0], now[0], self.dense)
                hits += found
                self.cut(ended)
            self.report(ended)
            if code == codes.AT_SAMPLE:
                code = self.sample() if ended is None else codes.CONTINUES
            n, counted = int(self.march.counts["n_steps"]) - counted, int(self.march.counts["n_steps"])
            if code == codes.CONTINUES and ended is None:
                stop = problem.work.steps(now[0], self.method.system.state(*now[1:]), n)
        t = float(self.march.number["time"]) if ended is None else ended
        success = code in DONE and not stop
        message = "A termination event occurred." if ended is not None else "reached the end"
        if not success:
            message = f"stopped at t = {t:.6g} s: {stop or self.method.why(self.march, code)}"
        self.record_regularity()
        ends: tuple[tuple[float, Array] | None, float] = (None, float("nan"))
        if not success:
            ends = self.method.last(self.march), float(self.march.number["step"])
            self.method.failed = None if stop else self.method.trial(self.march)
        done = np.flatnonzero(self.is_row[: self.reported])
        x = self.states(done)
        count = self.march.counts
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
        done = int(self.march.counts["row"])
        self.before = self.energy.value
        rows = self.work + self.rows.work[self.followed : done][self.is_row[self.followed : done]]
        self.energy.marched(t, self.work + np.array(self.march.number[["work_done", "dissipated"]].tolist()), rows)
        self.followed = done

    def exchange_beside(self) -> PowerTerms:
        """Work and loss outside the tree in the present state."""
        t, q, qd, strain = self.step_state()
        assert self.energy is not None
        reaction, system = None, self.method.system
        if len(self.method.model.driven):
            qdd, multiplier = self.march.state.qdd.copy(), self.march.multiplier.now.copy()
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
        own, exact = self.march.multiplier.now, evaluation.closure.multiplier
        if self.march.counts["rank"] < len(own):
            own = system.smallest(now[0], own)
        return float(np.abs(own - exact).max(initial=0.0) / max(np.abs(exact).max(initial=0.0), 1e-300))

    def record_regularity(self) -> None:
        """Tell where they were next to singular; pivots here are products of two rows."""
        number, loop_monitor = self.march.number, self.method.system.loop_monitor
        if self.engine.loop_layout.m:
            least, best = np.sqrt([number["least_pivot"], number["best_pivot"]])
            loop_monitor.check_singularity(
                float(number["least_pivot_time"]), least, best, int(self.march.counts["least_row"])
            )

    def report(self, ended: float | None) -> None:
        """Hand on the rows that are done, up to a terminal event."""
        done = int(self.march.counts["row"])
        if ended is not None:
            done = int(np.searchsorted(self.rows.t[:done], ended, side="right"))
        if done > self.reported:
            rows, states = self.rows, self.states(slice(self.reported, done))
            # projected rates leave multipliers of first order only: then forward dynamics at the rows finds better ones
            dependent = bool(self.march.counts["rank"] < self.engine.loop_layout.m)
            # the first row is the start, which forward dynamics has found, or belongs to the segment before
            for k in range(max(self.reported, 1), 0 if self.method.projection else done):
                self.method.system.rows[float(rows.t[k])] = rows.qdd[k], rows.multiplier[k], dependent
            first, self.reported = self.reported, done
            self.reporter.passed(float(rows.t[done - 1]), lambda times: states[self.reporter_rows(times, first)])

    def states(self, which: IntArray | slice) -> Array:
        """States (k, n) at some of the rows."""
        rows = zip(self.rows.q[which], self.rows.qd[which], self.rows.strain[which], strict=True)
        return np.array([self.method.system.state(*row) for row in rows])

    def reporter_rows(self, times: Array, first: int) -> IntArray:
        """Which of the states from row `first` on are at times of the reporter."""
        return np.searchsorted(self.rows.t, times) - first

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
