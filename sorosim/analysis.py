"""Statics and dynamics of a robot: the door to system and solvers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.door import choice, number, positive
from sorosim.errors import ConvergenceError, InputError, ModelError
from sorosim.result import Equilibrium, Run
from sorosim.robot import Robot
from sorosim.solvers.base import Event, OdeProblem
from sorosim.solvers.equilibrium import StaticProblem, solve_equilibrium
from sorosim.solvers.registry import INTEGRATORS, integrator
from sorosim.system import OdeSystem, StaticSystem, input_motion

Array = NDArray[np.float64]

DEFAULTS = {"dt_out": 0.01, "method": "bdf", "rtol": 1e-3, "atol": 1e-6}
JACOBIANS = ("analytic", "finite-difference")
MAX_OUTPUTS = 10_000_000


def _robot(robot: Any) -> Robot:
    if not isinstance(robot, Robot):
        raise InputError("robot", "a Robot", type(robot).__name__, "sorosim.load reads one from a file")
    return robot


def _by_link(driven: Any) -> dict[str, Any]:
    if driven is None:
        return {}
    if not isinstance(driven, Mapping):
        raise InputError("driven", "a mapping of link names to values", type(driven).__name__)
    return dict(driven)


def statics(
    robot: Robot,
    u: Mapping[str, float] | ArrayLike | None = None,
    driven: Mapping[str, float] | None = None,
    q0: ArrayLike | None = None,
    *,
    jacobian: str = "analytic",
) -> Equilibrium:
    """Equilibrium of a robot under constant inputs.

    Parameters
    ----------
    robot : Robot
    u : mapping of actuator name to number, or array_like
        Inputs; missing ones are zero. Default: the robot file's `statics` block, else none.
    driven : mapping of link name to float
        Joints held at a value [rad or m].
    q0 : (ndof,) array_like
        Where to start. Default: the file's `initial` block. Which equilibrium is found, where there are several,
        depends on it.
    jacobian : {"analytic", "finite-difference"}
        The second is for comparison.

    Returns
    -------
    Equilibrium

    Raises
    ------
    ConvergenceError
        None was found; ``partial`` is where the load continuation stopped.
    InputError
        A wrong name, length or value.

    Notes
    -----
    scipy's hybr with the analytic Jacobian, ended by Newton steps; when it fails, the load (gravity, loads, inputs and
    driven displacements together) is raised from zero along the curve of equilibria, through folds; `message` says so.
    Source: docs/theory.md, 4 and 6.
    """
    _robot(robot)
    inputs = robot.inputs(robot.description.statics.get("u") if u is None else u)
    given = {name: number(f"driven.{name}", value) for name, value in _by_link(driven).items()}
    system = StaticSystem(robot, inputs, given)
    free = system.partition.free
    start = robot.initial_q if q0 is None else robot.coordinates(q0, "q0")
    analytic = choice("jacobian", jacobian, JACOBIANS) == "analytic"
    problem = StaticProblem(system.residual, system.jacobian, robot.engine.elastic.rest[free], analytic)
    found = solve_equilibrium(problem, start[free])
    q = system.q(found.x)
    forces = system.full_residual(q)[system.partition.driven]
    norm = float(np.abs(found.residual).max(initial=0.0))
    equilibrium = Equilibrium(
        robot, q, inputs, np.zeros(0), dict(zip(given, map(float, forces), strict=True)), norm, found.jacobian,
        found.n_residual + found.n_jacobian, found.message, free,
    )  # fmt: skip
    if not found.success:
        hint = "start nearer to the solution (q0), or raise the inputs in steps of your own"
        raise ConvergenceError(f"statics of '{robot.name}': {found.message}; {hint}", equilibrium)
    return equilibrium


def simulate(
    robot: Robot,
    t_end: float | None = None,
    dt_out: float | None = None,
    u: Any = None,
    driven: Mapping[str, Any] | None = None,
    q0: ArrayLike | str | None = None,
    qd0: ArrayLike | None = None,
    method: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    *,
    jacobian: str = "analytic",
    max_step: float = np.inf,
    events: Sequence[Callable[[float, Array, Array], float]] = (),
    dense: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Motion of a robot from t = 0.

    What is not given is taken from the robot file's `simulate` block.

    Parameters
    ----------
    robot : Robot
    t_end : float
        End [s].
    dt_out : float
        Results come at its multiples, 0 included, and at t_end [s]. Default 0.01.
    u : mapping of actuator name to signal, or sequence of signals
        A signal is a number, an expression of t, a table (times, values), {"csv": path, ...}, or a callable f(t).
        Missing ones are zero.
    driven : mapping of link name to signal
        Joints moved along expressions or tables [rad or m].
    q0 : (ndof,) array_like, or "equilibrium"
        Start; "equilibrium": the one under the inputs at t = 0. Default: the file's `initial` block.
    qd0 : (ndof,) array_like
        Rates at the start. Default: zero.
    method : {"bdf", "radau", "lsoda", "cvode"}
    rtol, atol : float
        Tolerances of the integrator on coordinates and rates. Default 1e-3, 1e-6.
    jacobian : {"analytic", "finite-difference"}
        The second is for comparison.
    max_step : float
        Largest step [s].
    events : sequence of f(t, q, qd) -> float
        Zeros are located; attributes `terminal` (bool) and `direction` (+1, -1, 0) as in scipy.
    dense : bool
        Keep the integrator's own interpolation: `Run.at`.
    progress : callable
        Called with the time that the integrator has come to, from time to time.

    Returns
    -------
    Run

    Raises
    ------
    ConvergenceError
        The integrator gave up; ``partial`` is the run up to there.
    InputError
        A wrong name, length or value.

    Notes
    -----
    The state is x = [q; qd], dx/dt = [qd; M^-1 (tau - c)], its Jacobian analytic (docs/theory.md, 4-6).
    """
    _robot(robot)
    block = robot.description.simulate
    options: dict[str, Any] = {"t_end": t_end, "dt_out": dt_out, "method": method, "rtol": rtol, "atol": atol}
    for name, value in options.items():
        options[name] = block.get(name, DEFAULTS.get(name)) if value is None else value
    if options["t_end"] is None:
        raise InputError("t_end", "a time [s]", "none", "give it, or a simulate block in the robot's file")
    for name in ("t_end", "dt_out", "rtol", "atol"):
        options[name] = positive(name, options[name])
    method = choice("method", options["method"], tuple(INTEGRATORS))
    step = positive("max_step", max_step, infinite=True)
    analytic = choice("jacobian", jacobian, JACOBIANS) == "analytic"
    times = output_times(options["t_end"], options["dt_out"])

    inputs = input_motion(robot, block.get("u") if u is None else u)
    system = OdeSystem(robot, inputs, _by_link(block.get("driven") if driven is None else driven))
    if system.n_free == 0:
        raise InputError("robot", "a coordinate that is free to move", "none", "pose and statics work without one")
    q = _start(robot, system, block.get("q0") if q0 is None else q0)
    qd = np.zeros(robot.ndof) if qd0 is None else robot.coordinates(qd0, "qd0")
    state, trials = system.state(q, qd), _Trials(system, progress)
    system.rhs(0.0, state)  # a coordinate without inertia is an error of the model, to be raised as such
    problem = OdeProblem(
        trials.rhs, trials.jacobian if analytic else None, state, times, options["rtol"], options["atol"], step,
        _events(system, events), dense,
    )  # fmt: skip
    if not (progress is None or callable(progress)):
        raise InputError("progress", "a function of time", type(progress).__name__)
    begin = time.perf_counter()
    found = integrator(method)(problem)
    stats: dict[str, Any] = {**found.stats, "wall_time": time.perf_counter() - begin}
    options |= {"jacobian": jacobian, "max_step": step}
    run = _assemble(robot, system, found, stats, options)
    if not found.success:
        hint = "try method='radau' or a smaller max_step, and look at the motion so far (.partial)"
        raise ConvergenceError(f"simulate '{robot.name}' by {method}: {found.message}{trials.why}; {hint}", run)
    return run


def output_times(t_end: float, dt_out: float) -> Array:
    """Multiples of dt_out from 0 to t_end, and t_end itself."""
    n = t_end / dt_out
    if n > MAX_OUTPUTS:
        raise InputError("dt_out", f"at most {MAX_OUTPUTS} outputs", f"{n:.3g}", "a larger dt_out")
    times: Array = dt_out * np.arange(int(np.floor(n * (1.0 + 1e-12))) + 1, dtype=float)
    # the last multiple may miss t_end by rounding
    if abs(times[-1] - t_end) <= 1e-9 * dt_out:
        times[-1] = t_end
    return times if times[-1] == t_end else np.concatenate([times, [t_end]])


def _start(robot: Robot, system: OdeSystem, q0: Any) -> Array:
    """Coordinates at t = 0; the driven ones are put on their motion."""
    start = system.driven.jets(0.0)[:, 0]
    if isinstance(q0, str):
        choice("q0", q0, ("equilibrium",))
        names = [robot.links_of_columns[int(column)] for column in system.partition.driven]
        held = dict(zip(names, map(float, start), strict=True))
        return statics(robot, system.inputs.value(0.0), held).q
    q = robot.initial_q if q0 is None else robot.coordinates(q0, "q0")
    q[system.partition.driven] = start
    return q


class _Trials:
    """Rates and Jacobian for an integrator; where a trial state has none: NaN, which asks for a smaller step."""

    def __init__(self, system: OdeSystem, progress: Callable[[float], None] | None) -> None:
        self.system, self.progress, self.why = system, progress, ""

    def rhs(self, t: float, x: Array) -> Array:
        if self.progress is not None:
            self.progress(t)
        try:
            return self.system.rhs(t, x)
        except ModelError as error:
            self.why = f" ({error})"
            return np.full(len(x), np.nan)

    def jacobian(self, t: float, x: Array) -> Array:
        try:
            return self.system.jacobian(t, x)
        except ModelError as error:
            self.why = f" ({error})"
            return np.full((len(x), len(x)), np.nan)


def _events(system: OdeSystem, functions: Any) -> list[Event]:
    def event(where: str, function: Any) -> Event:
        if not callable(function):
            raise InputError(where, "a function f(t, q, qd)", type(function).__name__)

        def of_state(t: float, x: Array) -> float:
            q, qd, _ = system.coordinates(t, x)
            return number(where, function(t, q, qd))

        return Event(of_state, bool(getattr(function, "terminal", False)), float(getattr(function, "direction", 0.0)))

    if not isinstance(functions, Sequence) or isinstance(functions, str):
        raise InputError("events", "a list of functions f(t, q, qd)", type(functions).__name__)
    return [event(f"events[{i}]", function) for i, function in enumerate(functions)]


def _assemble(robot: Robot, system: OdeSystem, found: Any, stats: dict[str, Any], options: dict[str, Any]) -> Run:
    def split(times: Array, states: Array) -> tuple[Array, Array]:
        both = [system.coordinates(t, x)[:2] for t, x in zip(times, states, strict=True)]
        shape = (len(times), robot.ndof)
        return np.array([q for q, _ in both]).reshape(shape), np.array([qd for _, qd in both]).reshape(shape)

    def dense(t: float) -> tuple[Array, Array]:
        q, qd, _ = system.coordinates(t, found.dense(t))
        return q, qd

    q, qd = split(found.t, found.x)
    driven: dict[str, Array] = {}
    if len(system.partition.driven):
        forces = np.array([system.driven_forces(t, x) for t, x in zip(found.t, found.x, strict=True)])
        names = [robot.links_of_columns[int(column)] for column in system.partition.driven]
        driven = dict(zip(names, forces.T, strict=True))
    events = tuple((t, *split(t, x)) for t, x in zip(found.t_events, found.x_events, strict=True))
    return Run(
        robot, found.t, q, qd, system.inputs.sample(found.t), np.zeros((len(found.t), 0)), driven, stats, options,
        found.message, events, dense if found.dense is not None else None,
    )  # fmt: skip
