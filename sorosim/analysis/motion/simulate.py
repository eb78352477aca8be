"""Motion of a robot in time: from t = 0, or taken up again where a run ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.equations.contact_check import deep_contacts
from sorosim.analysis.equations.system import NO_STRAINS, OdeSystem
from sorosim.analysis.equilibria.assembly import close, open_loops
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.controllers import Controller, takes_readings
from sorosim.analysis.motion.integration import EventFunction, Integration, Start, output_times
from sorosim.analysis.results.result import Equilibrium, InitialState, Run, stored_signals, strain_rows
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ConvergenceError, InputError, warn
from sorosim.base.methods import (
    METHODS,
    MOTIONS,
    OTHERS,
    TWISTING,
    UNDAMPED,
    UNDAMPED_TOLERANCES,
    USUAL,
    Method,
    method_class,
    spread,
)
from sorosim.base.options import STARTS, SimulateArguments, checked, documents_options, unused_options
from sorosim.base.problems import listed
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import Number, Values, choice
from sorosim.base.writing import check_writable
from sorosim.mechanics.dynamics.arguments import follow_couplings
from sorosim.mechanics.engine.inputs import Motion, check_length_inputs, check_smooth
from sorosim.mechanics.engine.prescribed import AT_REST, Prescribed
from sorosim.mechanics.model.chart import TURN
from sorosim.mechanics.robot import Robot, check_robot

# loops that are open at the start by more than this part of their extent, or radians, or drift so in a second, are
# a mistake, less is corrected
LOOP_CLOSURE_TOLERANCE = 1e-6
N_SAMPLES = 1001  # at inputs over a run, before it begins
MOST_STEPS = 1e12  # in a run, by a given step or the largest one: months

open_run: Callable[[str | Path], Run] = LazyMethod("sorosim.files.results:open_run")


@documents_options(SimulateArguments)
@public
def simulate(
    robot: Robot, t_end: Number | None = None, *, dt_out: Number | None = None, u: Any = None,
    driven: Mapping[str, Any] | None = None, q0: InitialState | None = None, qd0: Values | None = None,
    method: Method | str | None = None, events: Sequence[EventFunction] = (), controller: Controller | None = None,
    dt_control: Number | None = None, out: str | Path | None = None, **options: Any,
) -> Run:  # fmt: skip
    """Motion of a robot from t = 0.

    What is not given is taken from the robot file's `simulate` block. Numbers are in SI units, texts have units: 2.0 is
    "2 s", 0.02 is "20 ms".

    Parameters
    ----------
    robot : Robot
    t_end : float or str
        End [s].
    dt_out : float or str
        Results come at its multiples, 0 included, and at t_end [s]. Default: 10 ms.
    u : mapping of actuator name to signal, or sequence of signals
        A signal is a number, an expression of t ("5 N*sin(2*t)"), a table (times, values), {"csv": path, ...}, or a
        callable f(t). Missing ones are zero.
    driven : mapping of link or coordinate name to signal
        Coordinates moved along expressions or tables [rad or m], whose rates must not jump in this run.
    q0 : (ndof,) array_like, mapping, Equilibrium, "equilibrium" or "assembled"
        Start: coordinates, in order or by name, where missing ones are zero; "equilibrium": the one under the inputs at
        t = 0; "assembled": the `initial` block with its loops closed, coordinates that it names held (`assemble`).
        Default: the file's `initial` block. Loops must be closed. What it
        says of driven coordinates is replaced by their motion.
    qd0 : (ndof,) array_like or mapping
        Rates at the start; those of driven coordinates are of their motion. In order they must satisfy the loop
        constraints; by name the others follow. Default: the file's `initial` block, others follow likewise.
    method : {methods}
        The integrator with its options, as in ``sorosim.BDF(rtol=1e-6)``; "bdf" is ``BDF()``. Options that it leaves
        open are those of the robot's file, if it has any. Newmark, GeneralizedAlpha and IDA solve for the multipliers
        of loops too. Default: {usual}.
    events : sequence of functions
        ``f(t, q, qd)`` gives a number, whose changes of sign are located, so a zero at the start is none; attributes
        `terminal` (bool) and `direction` (+1, -1, 0) as in scipy.
    controller : callable
        ``f(t, q, qd)``, or ``f(t, y)`` with the readings y of all sensors by name, gives all inputs, as `Robot.inputs`
        takes them, or those that `u` does not name; it is called at multiples of `dt_control`. Readings are the last
        samples that have arrived, with rate, noise, bias and delay of the sensor; a sensor without a rate is read at
        the samples of the controller.
    dt_control : float or str
        Sampling time of the controller [s], which may not be left out beside one.
    out : path
        Result file (HDF5). During the run a journal is written beside it, which `sorosim.open` reads too, also
        after the process was killed.
    {options}

    Returns
    -------
    Run

    Raises
    ------
    ConvergenceError
        The integrator gave up, stalled or came to a limit of its work; ``partial`` is the run up to there. Or the
        equilibrium to start from was not found, see `statics`.
    Interrupted
        Ctrl-C; ``partial`` is the run up to there.
    InputError
        A wrong name, length or value.
    FileError
        `out` cannot be written.

    Notes
    -----
    The state is x = [q; qd], dx/dt = [qd; M^-1 (tau - c)], its Jacobian analytic (docs/theory.md, 4-6).
    """
    check_robot(robot)
    check_writable(out)
    given = {"t_end": t_end, "dt_out": dt_out, "method": method, "dt_control": dt_control, **options}
    options = _run_options(robot, given)
    dense, progress = options.pop("dense"), options.pop("progress")
    _check_sampling(controller, options)

    q0 = robot.description.simulate.get("q0") if q0 is None else q0
    prescribed = Prescribed.of(robot, u, driven, begin=_begin(robot, q0), controlled=controller is not None)
    system = _system(robot, prescribed, options)
    q, qd = starting_state(robot, system, q0, qd0)[:2]
    if deep := deep_contacts(robot, q):
        hint = "begin apart, or leave the pair out (`apart`)"
        warn(f"{'; '.join(deep)} where the motion begins; {hint}")
    start = Start(0.0, q, qd, strain=system.maxwell.start(q))
    return Integration(system, options, start, None, events, dense, progress, out, controller).run()


def _run_options(robot: Robot, given: Mapping[str, object]) -> dict[str, Any]:
    """Options of a run, those of the file's block where none are given; refused (InputError) are those of no run."""
    block = robot.description.simulate
    given = spread(given, MOTIONS)
    options = checked(SimulateArguments, given, usual_options(robot, block, given))
    if (
        given["method"] is None
    ):  # options of the file belong to its method: where another one is given they have no effect
        own = method_class(options["method"]).options(MOTIONS)
        for name in unused_options(block, options["method"]):
            warn(f"method {options['method']} has no {name} and leaves it out; it has {', '.join(own)}")
    if options["t_end"] is None:
        raise InputError("t_end", "a time [s]", "none", "give it, or a simulate block in the robot's file")
    output_times(options["t_end"], options["dt_out"])
    for name in ("step", "max_step"):
        if options[name] is not None and options["t_end"] > MOST_STEPS * options[name]:
            least = f"at least {options['t_end'] / MOST_STEPS:.2g} s, for at most {MOST_STEPS:.0g} steps"
            raise InputError(name, least, f"{options[name]:.2g}")
    return options


def usual_method(robot: Robot) -> str:
    """The method by which the motion of a robot is integrated where none is given.

    Rigid robots move undamped: errors of bdf drain or feed them all the time, those of radau are a hundredth of these
    at the same tolerance and hardly more time (docs/solvers.md). What bends is damped and stiff, what touches is met by
    the shorter steps of bdf. Tubes without damping twist to and fro for long, at frequencies that bdf would follow.
    """
    engine = robot.engine
    if len(engine.insertions):
        return USUAL[TWISTING]
    bends = any(piece.n for link in engine.layout.links.values() for piece in link.pieces)
    return USUAL[OTHERS if bends or engine.loading.touches or engine.is_large else UNDAMPED]


def usual_options(
    robot: Robot, block: Mapping[str, Any], given: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """The file's block, with the method and tolerances of a motion where neither it nor `given` says any.

    In undamped motions errors add up from step to step, and with them multistep methods feed or drain energy: at the
    declared tolerances only radau is right there.
    """
    out = {"method": usual_method(robot), **block}
    said = any(options.get(name) is not None for options in (given, block) for name in UNDAMPED_TOLERANCES)
    method = given.get("method") or out["method"]
    if not said and usual_method(robot) == USUAL[UNDAMPED] and method in METHODS and method_class(method).multistep:
        out |= UNDAMPED_TOLERANCES
    return out


@public
def resume(
    run: Run | str | Path, t_end: Number | None = None, *, u: Any = None, max_steps: Number | None = None,
    max_wall_time: Number | None = None, events: Sequence[EventFunction] = (), controller: Controller | None = None,
    progress: Callable[[float], None] | None = None, out: str | Path | None = None,
) -> Run:  # fmt: skip
    """Resume a run: one that was interrupted or killed, or a finished one to be extended.

    Parameters
    ----------
    run : Run, or path of a result file
        With checkpoints, it continues from its last one, and the result is that of an uninterrupted run to the bit;
        without them from its last row, where the integrator then starts anew.
    t_end : float or str
        New end [s]. Default: as before.
    u : as in `simulate`
        Needed if an input was a Python function, which no file keeps. Default: as before.
    max_steps, max_wall_time : as in `simulate`
        Of the added part. Default: as before, counted anew.
    controller : as in `simulate`
        Needed if there was one, which no file keeps.
    events, progress, out
        As in `simulate`. `out` may be the file that the run comes from, which is also the default where it is a path.

    Returns
    -------
    Run
        From t = 0 on.

    Raises
    ------
    As `simulate` does.
    """
    changes = {"t_end": t_end, "max_steps": max_steps, "max_wall_time": max_wall_time}
    if isinstance(run, str | Path):
        out = run if out is None else out
        run = open_run(run)
    if not isinstance(run, Run):
        raise InputError("run", "a Run or the path of a result file", type(run).__name__)
    check_writable(out)
    options = dict(run.options)
    if options.get("method") not in METHODS:
        hint = "simulate from its coordinates: q0=run.q[0], qd0=run.qd[0]"
        raise InputError("run", "a run that was simulated", f"one by '{options.get('method')}'", hint)
    options |= checked(SimulateArguments, changes, options)
    del options["dense"], options["progress"]
    if options["dt_control"] is not None and controller is None:
        raise InputError("controller", "the controller", "none", "pass it again: result files keep no functions")
    _check_sampling(controller, options)
    if takes_readings(controller):
        hint = "simulate from the start, or let it take t, q and qd"
        raise InputError("controller", "a function f(t, q, qd)", "one of readings, whose samples no file keeps", hint)
    stored = {name: one for name, one in options["u"].items() if controller is None or one is not None}
    inputs = stored_signals(stored, "u") if u is None else u
    motions = stored_signals(options["driven"], "driven")
    prescribed = Prescribed.of(run.robot, inputs, motions, controlled=controller is not None)
    system = _system(run.robot, prescribed, options)
    start, past = _restart(run, options["t_end"])
    if start.t >= options["t_end"]:
        raise InputError("t_end", f"a time after {start.t:g} s, to which the run has come", f"{options['t_end']:g}")
    return Integration(system, options, start, past, events, False, progress, out, controller).run()


class StartingState(NamedTuple):
    """Where a motion begins, and what the loops made of what was asked for."""

    q: Array  # (ndof,)
    qd: Array  # (ndof,)
    given: Array  # (ndof,) rates before those that are free followed the loops
    free: IntArray  # coordinates and rates that follow the loops; none without loops
    free_rates: IntArray


def starting_state(
    robot: Robot, system: OdeSystem, q0: InitialState | None, qd0: Values | None, t: float = 0.0,
    names: tuple[str, str] = ("q0", "qd0"),
) -> StartingState:  # fmt: skip
    """Coordinates and rates at a time; the driven ones are put on their motion, and what loops ask for is checked.

    names : of the arguments, for messages
    """
    of_q, of_qd = names
    partition, motion = system.partition, system.driven.jets(t)
    qd = robot.initial_qd if qd0 is None else robot.coordinates(qd0, of_qd, order=1)
    qd[partition.driven] = motion[:, 1]
    q, free = _starting_coordinates(robot, system, q0, t, of_q)
    q[partition.driven] = motion[:, 0]
    if robot.coupling_names and (q0 is None or isinstance(q0, Mapping)):
        block = robot.description.initial if q0 is None else q0
        named, driven = [robot.engine.layout.coordinate(name, of_q) for name in block], partition.driven.tolist()
        # what the file names gives way to what is driven, what a caller names does not
        lead = follow_couplings(robot.engine, q, *([driven, named] if q0 is None else [driven + named]))
        free = np.setdiff1d(free, list(lead))
    if name := system.chart_limit.singular(q):
        what = "a start farther from a whole turn, where the coordinates of this joint are singular"
        raise InputError(f"{of_q}, {name}", what, f"one less than {TURN:.2g} rad from it")
    if not robot.n_multipliers:
        none = np.zeros(0, dtype=np.int64)
        return StartingState(q, qd, qd, none, none)
    if not (isinstance(q0, str) and q0 == "assembled") and (still_open := open_loops(robot, q, LOOP_CLOSURE_TOLERANCE)):
        hint = "q0='assembled', or sorosim.assemble, finds the nearest start in which they are"
        raise InputError(of_q, "a start in which all loops are closed", f"{still_open} open", hint)
    try:
        return _with_loops_closed(robot, q, qd, free, qd0, of_qd)
    except ConvergenceError as error:
        held = list(robot.description.initial) if isinstance(q0, str) and q0 == "assembled" else []
        if not held:
            raise
        hint = f"the start holds what the `initial` block names, {listed(held, 'and')}: name fewer"
        raise ConvergenceError(f"{error}; {hint}", error.partial, error.report) from None


def _starting_coordinates(robot: Robot, system: OdeSystem, q0: Any, t: float, of_q: str) -> tuple[Array, IntArray]:
    """Coordinates (ndof,) that are asked for at a time, and which of them may follow the loops."""
    partition = system.partition
    if not isinstance(q0, str):
        given = q0.q if isinstance(q0, Equilibrium) else q0
        return (robot.initial_q if given is None else robot.coordinates(given, of_q)), partition.free
    if choice(of_q, q0, STARTS) == "equilibrium":
        held = dict(zip(partition.names, map(float, system.driven.jets(t)[:, 0]), strict=True))
        try:
            return statics(robot, system.inputs.value(t), driven=held).q, partition.free
        except ConvergenceError as error:
            what = f"simulate '{robot.name}': there is no equilibrium to start from: {error}"
            raise ConvergenceError(what, error.partial, error.report) from None
    named = {*robot.description.initial, *robot.description.initial_rates}
    unnamed = [i for i in partition.free if robot.coordinate_names[i] not in named]
    return robot.initial_q, np.array(unnamed, dtype=np.int64)


def _with_loops_closed(
    robot: Robot, q: Array, qd: Array, free: IntArray, qd0: Values | None, of_qd: str
) -> StartingState:
    """A start whose loops are closed to rounding: rates that are not named follow them, those in order must fit."""
    rate = robot.loop_rows(q, qd).rate
    violated = robot.engine.loops.row_scale * np.abs(rate) > LOOP_CLOSURE_TOLERANCE
    named_rates = robot.description.initial_rates if qd0 is None else qd0 if isinstance(qd0, Mapping) else None
    if named_rates is None and violated.any():
        worst = next(name for name, rows in robot.engine.loop_layout.rows.items() if violated[rows].any())
        got = f"rates that tear '{worst}' open, by up to {np.abs(rate).max():.3g} m/s or rad/s"
        raise InputError(of_qd, "rates that keep the loops closed", got, "sorosim.assemble finds the nearest ones")
    prescribed = {robot.engine.layout.coordinate(name, of_qd) for name in named_rates or ()}
    unprescribed = np.array([i for i in free if i not in prescribed], dtype=np.int64)
    try:
        closed = close(robot, q, qd, free, unprescribed)
    except ConvergenceError as error:
        if not prescribed:
            raise
        block = "of the `initial` block, " if qd0 is None else ""
        hint = f"{block}name the rates of fewer coordinates, the others follow"
        raise ConvergenceError(f"{error}; {hint}", error.partial) from None
    return StartingState(closed.q, closed.qd, qd, free, unprescribed)


def _restart(run: Run, t_end: float) -> tuple[Start, Run | None]:
    """Where a run continues to an end, and its rows until there; None: it begins anew at the first checkpoint.

    A process may have been killed after it wrote a checkpoint and before the row of the same time: then the checkpoint
    before is the one to continue from.
    """
    if run.exchanged is None and len(run.t):  # of an older version: work and dissipation are known at rows only
        both = run.energy().work, run.energy().dissipated
        run = replace(run, exchanged=np.column_stack(both))
        if (points := run.checkpoints) is not None:
            then = np.column_stack([np.interp(points.t, run.t, one) for one in both])
            run = replace(run, checkpoints=points._replace(exchanged=then))
    points = run.checkpoints
    if points is not None and len(points.t):
        times = output_times(t_end, run.options["dt_out"])
        last = times[np.searchsorted(times, points.t, side="right") - 1]  # the row before each of them, or at it
        is_before_end = last <= run.t[-1] if len(run.t) else np.zeros(len(last), dtype=bool)
        k = max(int(np.sum((points.t < t_end) & is_before_end)) - 1, 0)
        counts = {name: values[k].item() for name, values in points.stats.items()}
        exchanged = np.array(np.zeros(2) if points.exchanged is None else points.exchanged[k])
        strain = NO_STRAINS if points.strain is None else points.strain[k].copy()
        start = Start(float(points.t[k]), points.q[k].copy(), points.qd[k].copy(), counts, exchanged, strain)
        run = replace(run, checkpoints=points.first(k + 1))
    elif len(run.t):
        exchanged = np.array(np.zeros(2) if run.exchanged is None else run.exchanged[-1])
        q, qd, strain = (part[-1].copy() for part in (run.q, run.qd, strain_rows(run)))
        start = Start(float(run.t[-1]), q, qd, run.stats, exchanged, strain)
    else:
        raise InputError("run", "a run with at least one row", "an empty one", "simulate it anew")
    # events after the restart will be located again
    events = tuple((t[t <= start.t], q[t <= start.t], qd[t <= start.t]) for t, q, qd in run.events)
    past = replace(run, events=events)[run.t <= start.t]
    return start, past if len(past.t) else None


def _begin(robot: Robot, q0: Any) -> Array | None:
    """Coordinates where a motion begins, as far as they are known: that tubes stay turned as they are."""
    if not robot.engine.layout.held:
        return None
    q = robot.initial_q
    if isinstance(q0, str):
        for name, value in Prescribed.of(robot, None, None, AT_REST).values.items() if q0 == "equilibrium" else ():
            q[robot.engine.layout.coordinate(name, "driven")] = value
    elif q0 is not None:
        q = q0.q if isinstance(q0, Equilibrium) else robot.coordinates(q0, "q0")
    return q


def _system(robot: Robot, prescribed: Prescribed, options: Mapping[str, Any]) -> OdeSystem:
    system, inputs = OdeSystem(robot, prescribed, options["closing_time"]), prescribed.inputs
    if isinstance(inputs, Motion) and not inputs.callables:  # a user's function is not called before its time
        rows = inputs.sample(np.linspace(0.0, options["t_end"], N_SAMPLES))
        check_length_inputs(robot.engine.rod_actuators, robot.actuator_names, rows)
    check_smooth(prescribed.driven, options["t_end"], options["dt_out"])
    if system.n_free == 0 and (not robot.ndof or robot.n_multipliers):
        raise InputError("robot", "a coordinate that is free to move", "none", "pose and statics work without one")
    return system


def _check_sampling(controller: Controller | None, options: Mapping[str, Any]) -> None:
    """Refuse a controller without a sampling time, and a sampling time without a controller."""
    dt, checkpoint = options["dt_control"], options["checkpoint"]
    if controller is None:
        if dt is not None:
            raise InputError("dt_control", "a controller to be sampled", "none", "controller=f(t, q, qd)")
        return
    if not callable(controller):
        raise InputError("controller", "a function f(t, q, qd) or f(t, y) of inputs", type(controller).__name__)
    if dt is None:
        raise InputError("dt_control", "the sampling time of the controller [s]", "none")
    if checkpoint is not None and abs(checkpoint / dt - round(checkpoint / dt)) > 1e-9 * (checkpoint / dt):
        raise InputError("checkpoint", f"a multiple of dt_control = {dt:g} s", f"{checkpoint:g}")
