"""One integration of a robot's motion: its restarts, checkpoints and journal, and the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.equations.callbacks import OdeCallbacks
from sorosim.analysis.equations.failure import (
    END_BEFORE,
    Failure,
    append_last_state,
    burst,
    diagnose_motion,
    implausible,
    limiting_motion,
)
from sorosim.analysis.equations.plausibility import implausible_states, left_free, locked, unresolved, unresolved_slip
from sorosim.analysis.equations.system import NO_STRAINS, OdeSystem, rate_time
from sorosim.analysis.motion.balance import WorkIntegral, imbalance
from sorosim.analysis.motion.controllers import UNSTABLE, Controller, SampledController, copied
from sorosim.analysis.motion.index2 import StabilisedIndex2
from sorosim.analysis.motion.marching import MarchIntegrator
from sorosim.analysis.motion.verification import Finer, check_verifiable, verified
from sorosim.analysis.results.result import Checkpoints, Run, strain_rows
from sorosim.analysis.solvers import prescribed
from sorosim.analysis.solvers.segments import integrate_with_restarts
from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, FileError, InputError, Interrupted, ModelError, PlugInError, warn
from sorosim.base.interrupts import deferring_signals, uninterrupted
from sorosim.base.methods import MarchMethod, MotionMethod, OdeMethod, Radau, method_of
from sorosim.base.ode import Event, OdeProblem, OdeSolution
from sorosim.base.registry import LazyMethod
from sorosim.base.signals.edges import Edges, edges
from sorosim.base.validation import number
from sorosim.base.work_limit import WorkLimit
from sorosim.mechanics.engine.inputs import ZeroOrderHold

EventFunction = Callable[[float, Array, Array], float]

MAX_OUTPUTS = 10_000_000
# a restart so near to where the coordinates of a rotation are changed changes them [rad]
REWIND_MARGIN = 0.1
# runs by a multistep method, which follows each oscillation of a stiff rod, are told so from so many steps on, shorter
# than so many periods
MANY_STEPS, PERIODS = 10_000, 1.0
# (1e-6)^(1/6) rad a step, fifth order: of finer steps the tolerances are the cause
STEPS_A_PERIOD = 60.0
PASSES = "method='generalized-alpha' or 'radau' may pass over"
UNVERIFIED = "it was not verified, since it stopped: simulate to an earlier t_end, or resume it, to have its error"
FINE_TOLERANCES = 1e-9, 1e-15  # tolerances that rounding, or loops closed at every step, may not leave room for


def output_times(t_end: float, dt_out: float) -> Array:
    """Multiples of dt_out from 0 to t_end, and t_end itself."""
    n = t_end / dt_out
    if n > MAX_OUTPUTS:
        raise InputError("dt_out", f"at most {MAX_OUTPUTS} outputs", f"{n:.3g}", "a larger dt_out")
    times: Array = dt_out * np.arange(int(np.floor(n * (1.0 + 1e-12))) + 1, dtype=float)
    # the last multiple may miss t_end by rounding
    if len(times) > 1 and abs(times[-1] - t_end) <= 1e-9 * dt_out:
        times[-1] = t_end
    return times if times[-1] == t_end else np.concatenate([times, [t_end]])


def restart_times(options: Mapping[str, Any], name: str) -> Array:
    """Multiples of an interval among the options up to the end; those next to output times are moved onto them."""
    interval, dt_out = options.get(name), options["dt_out"]
    if interval is None:
        return np.zeros(0)
    n = options["t_end"] / interval
    if n > MAX_OUTPUTS:
        raise InputError(name, f"at most {MAX_OUTPUTS} of them", f"{n:.3g}", "a larger interval")
    times = interval * np.arange(1, int(np.floor(n * (1.0 + 1e-12))) + 1, dtype=float)
    outputs = dt_out * np.round(times / dt_out)
    times = np.where(np.abs(outputs - times) <= 1e-9 * dt_out, outputs, times)
    times[np.abs(times - options["t_end"]) <= 1e-9 * dt_out] = options["t_end"]
    return np.asarray(times)


def snapped(times: Array, targets: Array, dt_out: float) -> Array:
    """Times, those that are marks but for rounding replaced by them; both increasing."""
    if not len(targets):
        return times
    k = np.clip(np.searchsorted(targets, times), 1, max(len(targets) - 1, 1))
    near = np.where(
        times - targets[k - 1] <= targets[k % len(targets)] - times, targets[k - 1], targets[k % len(targets)]
    )
    return np.where(np.abs(near - times) <= 1e-9 * dt_out, near, times)


@dataclass(frozen=True)
class Start:
    """Where an integration begins, and the counts until then."""

    t: float
    q: Array
    qd: Array
    stats: Mapping[str, Any] = field(default_factory=dict)
    exchanged: Array = field(default_factory=lambda: np.zeros(2))  # work and dissipation until then [J]
    strain: Array = field(default_factory=lambda: NO_STRAINS)  # of Maxwell elements


class Attempt(NamedTuple):
    """The outcome of one call of the integrator."""

    solution: OdeSolution
    interrupted: bool = False  # by Ctrl-C
    described: bool = False  # whether the message of the solution has its cause
    by_user: bool = False  # whether a function of the user failed


class Integration:
    """One call of `simulate` or `resume`."""

    def __init__(
        self, system: OdeSystem, options: dict[str, Any], start: Start, past: Run | None,
        events: Sequence[EventFunction], dense: bool, progress: Callable[[float], None] | None, out: str | Path | None,
        controller: Controller | None = None,
    ) -> None:  # fmt: skip
        if not (progress is None or callable(progress)):
            raise InputError("progress", "a function of time", type(progress).__name__)
        self.system, self.options, self.start, self.past, self.out = system, options, start, past, out
        self.method: MotionMethod = method_of(options)
        options["u"] = dict(zip(system.robot.actuator_names, system.inputs.specs, strict=True))
        options["driven"] = dict(zip(system.partition.names, system.driven.specs, strict=True))
        self.callbacks, self.events, self.dense = OdeCallbacks(system, progress), _events(system, events), dense
        check_verifiable(options, self.callbacks.newton is not None)
        self.checkpoints, self.samples = (restart_times(options, name) for name in ("checkpoint", "dt_control"))
        self.samples = snapped(self.samples, self.checkpoints, options["dt_out"])
        self.edges = self.edges_of_signals()
        inputs, outputs = system.inputs, output_times(options["t_end"], options["dt_out"])
        self.controller, self.untouched = None, copied(controller) if options["verify"] else None
        if controller is not None and isinstance(inputs, ZeroOrderHold):
            marks = np.union1d(np.union1d(outputs, self.samples), self.checkpoints)
            self.controller = SampledController(system, inputs, controller, self.samples, marks)
        self.why = ""  # reason for which it ends early
        self.marching: MarchIntegrator | None = None
        self.begin = time.perf_counter()
        fixed = self.method.step if isinstance(self.method, MarchMethod) else None
        self.work = WorkLimit(
            start.t, options["t_end"], options.get("max_steps"), options.get("max_wall_time") or np.inf,
            options["max_step"] if fixed is None else min(options["max_step"], fixed), self.implausible,
        )  # fmt: skip
        # rows as the integrator reports them, and checkpoints
        self.rows: list[tuple[Array, Array]] = []
        self.points: list[tuple[float, Array, dict[str, Any]]] = []
        self.journal: Any = None
        self.pending: list[tuple[Array, Array]] = []  # rows at a sample, which want its inputs

    def run(self) -> Run:
        """Integrate and return the run."""
        try:
            with deferring_signals():
                return self.integrated()
        finally:
            if self.journal is not None:  # others may write the file now
                self.journal.close()

    def problem(self) -> OdeProblem:
        """The problem of the integrator, begun at the start."""
        options, start = self.options, self.start
        self.callbacks.window = self.edges.window(start.t)
        self.system.chart_limit.begin(start.q)
        state = self.restart_state(start.t, self.system.state(start.q, start.qd, start.strain))
        # a coordinate without inertia is an error of the model, to be raised as such; the rank of the loops is that at
        # the first row, also where the run is resumed
        if (past := self.past) is None:
            self.system.begin(start.t, state)
        else:
            self.system.begin(past.t[0], self.system.state(past.q[0], past.qd[0], strain_rows(past)[0]))
        times = output_times(options["t_end"], options["dt_out"])
        t_out = np.concatenate([[start.t], times[times > start.t]])
        self.exchanged = WorkIntegral(self.callbacks, t_out, start.exchanged)
        # the march tests its steps by coordinates alone; ida finds the forces of loops with the rates
        closes = isinstance(self.method, OdeMethod)
        atol = self.system.tolerances(options["atol"]) if closes else options["atol"]
        analytic = options["jacobian"] == "analytic"
        return OdeProblem(
            self.callbacks.rhs, self.callbacks.jacobian if analytic else self.callbacks.differences, state, t_out,
            options["rtol"], atol, self.max_step, self.events, self.dense, self.report, self.work,
            self.exchanged, self.controller_times if self.samples_in_run else np.zeros(0), self.at_sample,
            self.callbacks.newton if analytic and self.method.uses_newton else None,
        )  # fmt: skip

    @property
    def samples_in_run(self) -> bool:
        """Whether the integrator takes samples of a controller; else it is restarted there."""
        return isinstance(self.method, MarchMethod) and self.system.size > 0

    @property
    def controller_times(self) -> Array:
        """When a controller or its sensors are sampled, after 0 [s]."""
        return np.zeros(0) if self.controller is None else np.union1d(self.samples, self.controller.sensor_times)

    def restarts(self) -> tuple[Array, Event | None]:
        """Times of restarts after the start, and the event at which rotations need other coordinates."""
        options, start = self.options, self.start
        times = np.union1d(self.checkpoints, self.edges.times)
        if not self.samples_in_run:
            times = np.union1d(times, self.controller_times)
        # the start may be a sample moved onto an end that is no longer there
        between = times[(times > start.t + 1e-9 * options["dt_out"]) & (times < options["t_end"])]
        turning = self.system.charts.joints or self.system.chart_limit.joints
        return between, Event(self.system.rotation_event, True, 1.0) if turning else None

    def integrated(self) -> Run:
        """Integrate; the journal stays open."""
        attempt = self.attempt()
        solution, hint = attempt.solution, self.remedy(attempt.solution.message)
        if self.why:
            solution = replace(solution, success=False, message=self.why)
            hint = "springs, limits and driven coordinates keep it to them; revolute joints in series can turn on"
        if solution.success and len(solution.t) and solution.t[-1] == self.options["t_end"]:
            self.at_restart(float(solution.t[-1]), solution.x[-1], solution.stats)
        self.write_pending()
        if not (solution.success or attempt.interrupted):
            solution = append_last_state(self.system, solution, self.options["dt_out"])
        run, interrupted = self.assembled(solution), attempt.interrupted
        remarks: list[str] = []
        if solution.success and (open_loop := self.system.loop_monitor.open_loop):
            solution = replace(solution, success=False, message=open_loop)
            hint = "drive less if that leaves it no freedom, or ask for a smaller rtol"
            run = replace(run, message=f"{run.message}, but {open_loop}")
        if solution.success:
            run, interrupted, remarks = self.with_companion(run)
            remarks = [*self.remarks(run), *remarks]
            run = replace(run, message="; ".join([run.message, *remarks]))
        elif self.options["verify"]:
            run = replace(run, message=f"{run.message}; {UNVERIFIED}")
        self.finish(run)
        for remark in remarks:  # last: they may be errors
            warn(f"simulate '{run.robot.name}': {remark}")
        if interrupted:
            raise Interrupted(run.message, run)
        if not solution.success:
            raise self.failure(solution, run, hint, attempt.described, attempt.by_user)
        return run

    def remarks(self, run: Run) -> list[str]:
        """What makes a run doubtful, a line each."""
        robot, partition, options = run.robot, self.system.partition, self.options
        blocks = robot.description.statics, robot.description.simulate
        driven = {name: motion for block in blocks for name, motion in (block.get("driven") or {}).items()}
        found = [imbalance(run), left_free(robot, partition.driven, driven)]
        if len(run.t):
            found.append(locked(robot, run.q[0], partition))
        marches = isinstance(self.method, MarchMethod)
        if len(run.t) and marches and options["step"] is not None:
            found.append("" if found[0] else unresolved(robot, run.q[0], partition, options["step"]))
        elif len(run.t) and not marches:  # these have no tolerance of rates
            atol = options["atol"] / rate_time(robot, options["closing_time"])
            found.append(unresolved_slip(robot, run.q, run.qd, options["rtol"], atol))
        if (bounces := self.exchanged.bounces) is not None:
            found.append(bounces.words)
        found.append(self.crawled(run))
        if self.controller is not None:
            found.append(self.controller.runaway())
        return [*filter(None, found), *implausible_states(robot, run.q, run.u, run.t)]

    def with_companion(self, run: Run) -> tuple[Run, bool, list[str]]:
        """The run, verified if that is asked for; whether that was interrupted, and what there is to say."""
        if not self.options["verify"] or len(run.t) < 2:
            return run, False, []
        interrupted, remembers = False, False

        def follow(steps: Finer, row: int, begin: tuple[Array, Array, Array]) -> tuple[Run, str]:
            nonlocal interrupted, remembers
            system, options = self.system, self.options | steps.options
            inputs = system.inputs.anew() if isinstance(system.inputs, ZeroOrderHold) else system.inputs
            if isinstance(inputs, ZeroOrderHold) and row:
                inputs.hold(float(run.t[row]), run.u[row])
            other = OdeSystem(system.robot, replace(system.prescribed, inputs=inputs), options["closing_time"])
            options |= {"t_end": float(run.t[-1]), "checkpoint": None, "verify": False}
            start, controller = Start(float(run.t[row]), begin[0], begin[1], strain=begin[2]), copied(self.untouched)
            again = Integration(other, options, start, None, (), False, self.callbacks.progress, None, controller)
            attempt = again.attempt()
            later, interrupted = again.assembled(attempt.solution), attempt.interrupted
            remembers = self.controller is not None and not row and not np.array_equal(later.u[0], run.u[0])
            return later, "" if attempt.solution.success and not again.why else again.why or later.message

        past = None if self.past is None else self.past.companion
        known, words = verified(run, follow, self.callbacks.newton is not None, past)
        if remembers:
            why = "the controller remembers its calls, so there is no companion: an object that can be copied would do"
            return run, interrupted, [why]
        return known, interrupted, [words] if words else []

    @property
    def max_step(self) -> float:
        """The longest step [s]."""
        longest, driven = float(self.options["max_step"]), bool(self.system.partition.names)
        # free coordinates may rest while driven ones move: steps by their errors would not follow the work of these
        return min(longest, self.options["dt_out"]) if driven else longest

    def crawled(self, run: Run) -> str:
        """Whether its steps followed an oscillation that hardly decays, in words; "" if not, or if they were few."""
        n, options = self.work.n, self.options
        if not self.method.multistep or n < max(MANY_STEPS, 4 * (len(self.controller_times) + len(self.checkpoints))):
            return ""
        x, mean = self.system.state(run.q[-1], run.qd[-1], strain_rows(run)[-1]), (run.t[-1] - self.start.t) / n
        limiting = limiting_motion(self.system, float(run.t[-1]), x, (options["rtol"], options["atol"]))
        # samples, checkpoints and the longest step bound them, too
        if limiting is None or mean > 0.5 * self.max_step or not mean < PERIODS * limiting[2] < np.inf:
            return ""
        words = f"{n} steps by {self.method.kind}: {limiting[1]}"
        if (each := limiting[2] / mean) > STEPS_A_PERIOD:
            asked = f"rtol={options['rtol']:g} and atol={options['atol']:g}"
            return f"{words}; {each:.0f} steps a period are what {asked} ask for, and larger ones take fewer"
        return f"{words}; {PASSES} what hardly decays, with fewer steps"

    def attempt(self) -> Attempt:
        """Call the integrator; interrupts and errors on the way end the solution early."""
        options, start, problem = self.options, self.start, self.problem()
        if self.out is not None:
            self.open_journal(self.out)
        if self.past is None and options["checkpoint"] is not None:
            self.add_checkpoint(start.t, start.q, start.qd, start.strain, {})
        if self.journal is not None:
            self.journal.begin()  # with all that the one before had, and the start
        between, restart_event = self.restarts()
        try:
            return Attempt(integrate_with_restarts(self.integrator(), problem, between, self.at_restart, restart_event))
        except KeyboardInterrupt:
            return Attempt(self.partial_solution(), interrupted=True)
        except (ModelError, InputError, PlugInError) as error:
            if isinstance(error, InputError) and self.reached_t == start.t:
                if self.journal is not None and not (self.past is not None and self.journal.replaced):
                    self.journal.remove()  # the file is as it was
                raise  # a user's function failed at the start: there is no partial run
            solution = self.partial_solution(f"stopped at t = {self.reached_t:.6g} s: {error}")
            # no other step or method helps against an error of a user's function
            return Attempt(solution, described=True, by_user=isinstance(error, InputError | PlugInError))
        except FileError as error:
            hint = f"what there is, up to t = {self.reached_t:g} s, is in {self.journal.path}"
            raise FileError(error.file, f"{error.message}; {hint}") from None

    @property
    def reached_t(self) -> float:
        """Time of the last row [s]."""
        return float(self.rows[-1][0][-1]) if self.rows else self.start.t

    def failure(self, solution: OdeSolution, run: Run, hint: str, described: bool, by_user: bool) -> ConvergenceError:
        """The error for an integrator that gave up; `described`: its message has the cause already."""
        what = f"simulate '{self.system.robot.name}' by {self.options['method']}: "
        report, reason = self.report_of(solution), ""
        if len(run.q) and (spent := self.system.robot.engine.layout.fully_retracted(run.q[-1])):
            what += f"at t = {report.t:.6g} s nothing is left of the length of '{spent}'"
            return ConvergenceError(f"{what}; {END_BEFORE}, and look at the motion so far (.partial)", run, report)
        what += solution.message
        if not (self.why or described or self.work.why):
            reason = self.callbacks.failure_reason(report.t)
            what += reason
        if not (self.why or reason or described):
            what += report.words
            hint = f"{report.advice}; or {hint}" if report.advice else hint
        if self.controller is not None and not by_user:
            hint = f"{self.controller.runaway() or UNSTABLE}; or {hint}"
        hint = "the motion so far is in .partial" if by_user else f"{hint}, and look at the motion so far (.partial)"
        hint += f"; {UNVERIFIED}" if self.options["verify"] else ""
        return ConvergenceError(f"{what}; {hint}", run, report)

    def remedy(self, why: str) -> str:
        """The hint for a failed integration."""
        options = self.options
        if self.work.stalled:
            other = "radau" if self.method.kind == "generalized-alpha" else "generalized-alpha"
            other += "' or 'radau" if self.method.multistep else ""
            return f"method='{other}' or larger tolerances may get on; max_steps=1e9 goes on all the same"
        if self.work.why:
            more = "sorosim.resume goes on from there, with another max_steps or max_wall_time"
            return f"{more}; {PASSES} an undamped oscillation that limits its steps" if self.method.multistep else more
        marches = isinstance(self.method, MarchMethod)
        other = "bdf" if marches or isinstance(self.method, Radau) else "radau"
        hint = f"try method='{other}' or a smaller max_step"
        if options["step"] is not None and marches:
            hint = f"try a smaller step, or let the method choose it, or method='{other}'"
        elif options["rtol"] < FINE_TOLERANCES[0] or options["atol"] < FINE_TOLERANCES[1]:
            hint = f"rounding may be all that is left below such tolerances: try larger ones, or method='{other}'"
        elif marches:
            hint += ", a smaller rtol or a fixed `step`"
        loops = self.system.robot.n_multipliers
        return hint + (", drive less if that leaves the loops no freedom" if loops else "")

    def report_of(self, solution: OdeSolution) -> Failure:
        """Diagnosis of a failed integration."""
        last = solution.last
        if last is None:
            start = self.start.t, self.system.state(self.start.q, self.start.qd, self.start.strain)
            last = (float(solution.t[-1]), solution.x[-1]) if len(solution.t) else start
        trial = None if self.marching is None else self.marching.failed
        tolerances = self.options["rtol"], self.options["atol"]
        report = diagnose_motion(
            self.system, last, solution.step, trial, self.callbacks.nonfinite, tolerances, bool(self.work.why)
        )
        if (cause := self.work.cause) and cause not in report.words:
            report = report._replace(words=f"{report.words}; {cause}")
        return report

    def implausible(self, t: float, x: Array) -> str:
        """Implausible values of a state of a slow run, in words; "" if there are none."""
        cause = implausible(self.system, self.system.coordinates(t, x)[0])
        return cause or ("" if self.marching is None else self.marching.limitation())

    def edges_of_signals(self) -> Edges:
        """Where inputs, motions and loads begin to move, come to rest or jump."""
        t_end, dt_out = self.options["t_end"], self.options["dt_out"]
        signals = [*self.system.driven.signals, *self.system.robot.engine.loading.packed.signals.signals]
        signals += self.system.inputs.signals
        changes = edges(signals, t_end, dt_out)
        row_times = [output_times(t_end, dt_out), self.checkpoints, self.samples] if len(changes) else [np.zeros(0)]
        return Edges(changes, np.unique(np.concatenate(row_times)), dt_out)

    def integrator(self) -> Callable[[OdeProblem], OdeSolution]:
        """The function that integrates."""
        if self.system.size == 0:
            return prescribed.integrate
        if isinstance(self.method, MarchMethod):
            self.marching = MarchIntegrator(self.system, self.method)
            return self.marching.integrate
        if isinstance(self.method, OdeMethod):
            return self.method.solve
        return StabilisedIndex2(self.system).integrate

    # -- while it runs ---------------------------------------------------------------------------------------------

    @uninterrupted()
    def report(self, t: Array, x: Array) -> None:
        """Store rows; the first row of a resumed run is the last one of its past."""
        first = not self.rows and self.past is not None and t[0] == self.start.t
        self.rows.append((t, x))
        if t[-1] > self.callbacks.t:
            self.callbacks.at(float(t[-1]))
        if self.journal is not None:
            self.write_pending()
            last = len(t) - int(self.controller is not None and t[-1] in self.samples and t[-1] > self.start.t)
            self.journal.rows(self.table(t[int(first) : last], x[int(first) : last]))
            self.pending = [(t[last:], x[last:])]

    @uninterrupted()
    def write_pending(self) -> None:
        """Write the pending rows."""
        for row in self.pending:
            self.journal.rows(self.table(*row))
        self.pending = []

    def at_restart(self, t: float, x: Array, stats: dict[str, int]) -> Array | None:
        """Record a checkpoint if one is due; returns the state to continue from, None if there is none."""
        self.exchanged.evaluate()
        q, qd, _, strain = self.system.coordinates(t, x)
        if name := self.system.chart_limit.leave(q):
            kind = self.system.robot.engine.layout.links[name].link.joint.kind
            self.why = f"stopped at t = {t:.6g} s: the {kind} joint of '{name}' comes to a whole turn"
            self.why += ", where its coordinates are singular"
            return None
        if t in self.checkpoints:
            self.add_checkpoint(t, q, qd, strain, self.cumulative(stats))
            self.system.chart_limit.begin(q)
        self.callbacks.window = self.edges.window(t)
        return self.restart_state(t, x)

    def at_sample(self, t: float, x: Array) -> None:
        """Sample sensors and the controller, as far as either is due."""
        if self.controller is None:
            return
        q, qd, qdd, strain = self.system.coordinates(t, x)
        if cause := burst(self.system, q):
            self.work.why = cause
        self.controller.measure(t, q, qd, qdd, strain)
        if t in self.samples or t == 0.0:
            self.system.rows.pop(t, None)  # computed with the inputs before the sample; a row has those after it
            self.controller.act(t, q, qd)
        elif t == self.start.t and self.past is not None:  # resumed between two samples
            self.controller.inputs.hold(t, self.past.u[-1])

    def restart_state(self, t: float, x: Array) -> Array:
        """The state to continue from: with the inputs of a controller, and rotations amid their coordinates."""
        self.at_sample(t, x)
        return self.system.recharted(t, x) if self.system.rotation_excess(t, x) > -REWIND_MARGIN else x

    @uninterrupted()
    def add_checkpoint(self, t: float, q: Array, qd: Array, strain: Array, counts: dict[str, Any]) -> None:
        """Store the state of a checkpoint, and the counts so far."""
        self.points.append((t, np.concatenate([q, qd, self.exchanged.at(t), strain]), counts))
        if self.journal is not None:
            self.journal.checkpoint(np.concatenate([[t], self.points[-1][1]]), counts)

    def cumulative(self, stats: Mapping[str, Any]) -> dict[str, Any]:
        """Counts and wall time since t = 0."""
        now = {**stats, "wall_time": time.perf_counter() - self.begin}
        return {name: value + type(value)(self.start.stats.get(name, 0)) for name, value in now.items()}

    def partial_solution(self, message: str = "") -> OdeSolution:
        """The rows so far, as a solution that failed."""
        n = self.system.size
        t = np.concatenate([np.zeros(0), *(t for t, _ in self.rows)])
        x = np.concatenate([np.zeros((0, n)), *(x for _, x in self.rows)])
        stats = {"n_rhs": self.callbacks.n_rhs}
        none = [np.zeros(0) for _ in self.events], [np.zeros((0, n)) for _ in self.events]
        return OdeSolution(t, x, False, message or f"interrupted at t = {self.callbacks.t:.6g} s", stats, None, *none)

    # -- results ---------------------------------------------------------------------------------------------------

    def split(self, t: Array, x: Array) -> tuple[Array, Array]:
        """Coordinates and rates, each (n, ndof)."""
        both = [self.system.coordinates(*row)[:2] for row in zip(t, x, strict=True)]
        shape = len(t), self.system.robot.ndof
        return np.array([q for q, _ in both]).reshape(shape), np.array([qd for _, qd in both]).reshape(shape)

    def strains(self, x: Array) -> Array:
        """Strains (n, n_strains) of Maxwell elements."""
        return x[:, 2 * self.system.n_free :]

    def forces(self, t: Array, x: Array) -> tuple[Array, Array]:
        """Forces (n, n_driven) that driven joints need, and multipliers (n, m) of loops.

        What holds the insertions of concentric tubes is NaN: their equations of motion leave it out.
        """
        rows = [self.system.forces(*row) for row in zip(t, x, strict=True)]
        widths = len(self.system.partition.driven), self.system.robot.n_multipliers
        driven, multipliers = (np.array([row[i] for row in rows]).reshape(len(t), widths[i]) for i in range(2))
        driven[:, np.isin(self.system.partition.driven, self.system.robot.engine.insertions)] = np.nan
        return driven, multipliers

    def table(self, t: Array, x: Array) -> Array:
        """Rows of a journal: time, coordinates, rates, inputs, driven forces, multipliers, strains, energies."""
        inputs, forces = self.system.inputs.sample(t), self.forces(t, x)
        exchanged = self.exchanged.of_rows(t)
        return np.column_stack([t, *self.split(t, x), inputs, *forces, self.strains(x), exchanged])

    def assembled(self, solution: OdeSolution) -> Run:
        """The run from t = 0 on."""
        robot, past, first = self.system.robot, self.past, 0 if self.past is None else 1
        t, x = solution.t[first:], solution.x[first:]
        system, dense = self.system, solution.dense
        forces, multipliers = self.forces(t, x)
        message = solution.message.rstrip(".") + (
            f"; the loops {near}" if (near := system.loop_monitor.singular) else ""
        )
        run = Run(
            robot, t, *self.split(t, x), system.inputs.sample(t), multipliers,
            dict(zip(system.partition.names, forces.T, strict=True)), self.cumulative(solution.stats), self.options,
            message, tuple((t, *self.split(t, x)) for t, x in zip(solution.t_events, solution.x_events, strict=True)),
            None if dense is None else lambda t: system.coordinates(t, dense(t))[:2],
            None if self.options["checkpoint"] is None else Checkpoints.of(self.points, robot.ndof),
            self.exchanged.of_rows(t), self.strains(x) if system.n_strains else None,
        )  # fmt: skip
        return run if past is None else past.extended_by(run)

    # -- files -----------------------------------------------------------------------------------------------------

    new_journal: Callable[..., Any] = LazyMethod("sorosim.files.results:new_journal")

    def open_journal(self, out: str | Path) -> None:
        past, names = self.past, list(self.system.partition.names)
        events = past.events if past is not None else ()
        self.journal = self.new_journal(out, names, events)
        if past is not None:
            assert past.exchanged is not None  # see `_restart`
            driven = past.driven.values()
            columns = past.t, past.q, past.qd, past.u, *driven, past.lam, strain_rows(past), past.exchanged
            self.journal.rows(np.column_stack(columns))
            if (points := past.checkpoints) is not None and points.exchanged is not None:
                for k, t in enumerate(points.t):
                    counts = {name: values[k].item() for name, values in points.stats.items()}
                    strain = NO_STRAINS if points.strain is None else points.strain[k]
                    row = [[t], points.q[k], points.qd[k], points.exchanged[k], strain]
                    self.journal.checkpoint(np.concatenate(row), counts)

    def finish(self, run: Run) -> None:
        """Write the result file and remove the journal."""
        if self.journal is None or self.out is None:
            return
        try:
            run.save(self.out)
        except FileError as error:
            raise FileError(error.file, f"{error.message}; the run is kept in {self.journal.path}") from None
        self.journal.remove()


def _events(system: OdeSystem, functions: object) -> list[Event]:
    def event(where: str, function: object) -> Event:
        if not callable(function):
            raise InputError(where, "a function f(t, q, qd)", type(function).__name__)

        def of_state(t: float, x: Array) -> float:
            q, qd = system.coordinates(t, x)[:2]
            return number(where, function(t, q, qd))

        direction = number(f"{where}.direction", getattr(function, "direction", 0.0))
        return Event(of_state, bool(getattr(function, "terminal", False)), direction)

    if not isinstance(functions, Sequence) or isinstance(functions, str):
        raise InputError("events", "a list of functions f(t, q, qd)", type(functions).__name__)
    return [event(f"events[{i}]", function) for i, function in enumerate(functions)]
