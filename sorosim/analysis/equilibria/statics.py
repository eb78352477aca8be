"""Equilibria of a robot: `statics` and `follow`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from scipy.sparse.csgraph import connected_components

from sorosim.analysis.equations import failure
from sorosim.analysis.equations.callbacks import StaticCallbacks
from sorosim.analysis.equations.contact_check import Passage, total_mass
from sorosim.analysis.equations.plausibility import implausible_states, left_free
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.along_tree import close_along_tree, solve_along_tree
from sorosim.analysis.equilibria.assembly import close_if_possible, open_loops, turned
from sorosim.analysis.results.result import Equilibrium, InitialState, Run
from sorosim.analysis.solvers.bordered import scale
from sorosim.analysis.solvers.damped_newton import MayTunnel
from sorosim.analysis.solvers.equilibrium import StaticSolution, solve_equilibrium, stabilise_equilibrium
from sorosim.analysis.solvers.newton import FIRST_POLISH, ROUNDING, StaticProblem
from sorosim.base.arrays import Array
from sorosim.base.declare import Integer
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.base.options import StaticsArguments, checked
from sorosim.base.public import public
from sorosim.base.validation import Number, Values
from sorosim.mechanics.dynamics.maxwell import moduli_in_words
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.loading import StickState
from sorosim.mechanics.engine.prescribed import AT_REST, Prescribed, by_coordinate, merged
from sorosim.mechanics.engine.quantities import extent
from sorosim.mechanics.robot import Robot, check_robot

# most restarts from within half a turn
MAX_TURNS = 5
# loops that are open by no more than this part of their extent, or radians, at an equilibrium are closed
LOOP_TOLERANCE = 1e-9
# a point that moves by more than this many times the robot's size is far from the start: an arm that falls to its side
# by a quarter of a turn moves by 1.4
FAR_FROM_START = 1.5
# scaled forces, and entries of a scaled Jacobian, below this part are rounding; and so far, relative to 1 + |x|, or
# under such a part of the force that it took, a solution left the symmetry of its start
NO_COUPLING, LEFT = 1e-9, 1e-4
# steps of `follow` are halved down to this part of the first
SMALLEST_PART = 1e-3


@public
def statics(
    robot: Robot, u: Values | None = None, *, driven: Mapping[str, Number] | None = None,
    q0: InitialState | None = None, stable: bool | None = None, jacobian: str | None = None,
    sticking: InitialState | None = None,
) -> Equilibrium:  # fmt: skip
    """Equilibrium of a robot under constant inputs; loads that depend on time are those at t = 0.

    Parameters
    ----------
    robot : Robot
    u : array_like, or mapping of actuator name to float or str
        Inputs in SI units, or texts with units, such as {"cable1": "3 N"}; missing ones are zero. Default: the robot
        file's `statics` block, else none.
    driven : mapping of link or coordinate name to float or str
        Coordinates fixed at a value [rad or m]. Default: the robot file's `statics` block, else none.
    q0 : (ndof,) array_like, mapping, Equilibrium or Run
        Where to start; coordinates that a mapping does not name are zero. Default: the file's `initial` block. Which
        equilibrium is found, where there are several, depends on it. From an Equilibrium, or the end of a Run near to
        one, the search follows the curve of equilibria on the straight way between its inputs and driven coordinates
        and the ones asked for.
    stable : bool, optional
        Whether to continue from an unstable equilibrium, or from one at more energy than the start, to a stable one.
        Default: the robot file's `statics` block, else True. False keeps the first that is found.
    jacobian : {"analytic", "finite-difference"}
        The second is for comparison. Default: analytic.
    sticking : (ndof,) array_like, mapping, Equilibrium or Run
        Where contacts stuck before, for their friction, which resists the way that surfaces slid from there: fully
        beyond a hundredth of a second of `slip_speed`. An Equilibrium, or the end of a Run, has the forces with which
        they did. Follow slow motions in steps, each from the one before. Default: contacts have no friction.

    Returns
    -------
    Equilibrium

    Raises
    ------
    ConvergenceError
        No equilibrium was found; ``partial`` is where the load continuation stopped.
    InputError
        A wrong name, length or value.

    Notes
    -----
    Loops are closed before the search begins, and stay so: their multipliers are unknowns. Of multipliers that
    depend on each other the smallest are given, and under these all forces balance: a straight rod that cannot be
    stretched has no equilibrium between its ends under a load across it.

    Driven angles more than half a turn from those of the start, whose loops are closed, carry the loops there along
    equilibria, so that rods in them are twisted by whole turns too.

    Angles whose whole turns make no difference are nearest to the start; rotations of free and spherical joints are at
    most half a turn.

    scipy's hybr with the analytic Jacobian, ended by Newton steps; when it fails the load (gravity, loads, inputs and
    driven displacements together) is raised from zero along the curve of equilibria, through folds. From an unstable
    equilibrium, or one that the forces cannot reach from the start, a descent of the potential leads to a stable one:
    Newton's method in a trust region, which uses negative curvature. Robots with contacts descend from the start at
    once, in steps on whose way no surfaces pass through each other; where there are none such, or loops could be closed
    only by passing, `message` says so. Of large robots the linear systems are solved
    along the tree, or sparse, in time that grows linearly (docs/theory.md, 17), and `tangent_stiffness` and `stable`
    are formed when they are asked for. Under friction (`sticking`), and where the
    equilibrium flutters, the first one stays. `message` reports all this, whether the equilibrium is neutral,
    unstable, far from the start or beside its symmetry, and what is implausible in it: strains beyond 100 %, crushed
    rods, slack tendons, contacts deeper than surfaces are rounded, and joints that were left free. Loops that are open
    in the unloaded state close as the load rises. Source: docs/theory.md, 4, 6, 7, 9 and 12.
    """
    check_robot(robot)
    arguments = {"stable": stable, "jacobian": jacobian}
    options = checked(StaticsArguments, arguments, robot.description.statics)
    prescribed = Prescribed.of(robot, u, driven, AT_REST)
    start, begin = start_point(robot, q0)
    system = StaticSystem(
        robot, prescribed.u, prescribed.values, _stick_state(robot, sticking), None if begin is None else (start, begin)
    )
    along_tree = robot.engine.is_large and sticking is None and options["jacobian"] == "analytic"
    may_tunnel = tunnelling_test(system) if robot.engine.loading.touches else None
    course = ""
    if begin is None:
        found, start, course = _carried_by_turns(system, start, {**arguments, "sticking": sticking})
        if found is not None:
            return found
    start, open_at_start, tunnelled = _with_loops_closed(system, start, along_tree, may_tunnel)
    solve = _solve_along_tree if along_tree else _solve_by_matrices
    solution, no_forces, unbalanced = solve(system, start, options, q0 is not None, may_tunnel)
    if begin is None:
        far = _far_from_start(robot, start, system.q(solution.x))
        solution = replace(solution, course=solution.course + far + course + tunnelled)
    equilibrium = _equilibrium(system, solution)
    q, still_open = equilibrium.q, ""
    if solution.success:
        still_open = open_loops(robot, q, LOOP_TOLERANCE)
        unbalanced = system.unbalanced(q, equilibrium.lam)
        if not (still_open or unbalanced):
            return equilibrium
    report = failure.diagnose_statics(system, solution.x, matrices=not along_tree)
    if open_at_start:
        raise ConvergenceError(f"statics: {open_at_start}", equilibrium, report)
    why, hint = _why_refused(system, solution, still_open, unbalanced)
    hint = f"{report.advice}; or {hint}" if report.advice else hint
    why += no_forces + (system.dependence(q) if robot.n_multipliers else "")
    raise ConvergenceError(f"statics of '{robot.name}': {why}{report.words}; {hint}", equilibrium, report)


def _carried_by_turns(
    system: StaticSystem, start: Array, options: Mapping[str, object]
) -> tuple[Equilibrium | None, Array, str]:
    """Whole turns of driven angles beside a start (ndof,): the equilibrium to which they carry the loops, if any.

    Also the start with the whole turns of its other angles removed, and, in words, which turns are lost.
    """
    free = system.partition.free
    near = system.q(system.without_turns(start[free], start[free]))
    far = turned(system.robot, free, start, near)
    if not far:
        return None, near, ""
    names = ", ".join(f"'{system.robot.coordinate_names[i]}'" for i in far)
    found = _from(system, start, options)
    if found is not None:
        message = f"{found.message}; {names} carried the loops there, turn by turn"
        return replace(found, message=message), near, ""
    return None, near, f"; whole turns of {names} are not counted by the loops: start from an equilibrium (q0)"


def _from(system: StaticSystem, begin: Array, options: Mapping[str, Any]) -> Equilibrium | None:
    """The equilibrium to which driven coordinates go from where they are in a state (ndof,) with closed loops."""
    robot, names = system.robot, system.robot.coordinate_names
    if open_loops(robot, begin):
        return None
    at_first = {names[i]: float(begin[i]) for i in system.partition.driven}
    driven = dict(zip(system.partition.names, system.driven_values.tolist(), strict=True))
    try:
        first = statics(robot, system.u, driven=at_first, q0=begin, **options)
        return statics(robot, system.u, driven=driven, q0=first, **options)
    except ConvergenceError:
        return None


def _with_loops_closed(
    system: StaticSystem, start: Array, along_tree: bool, may_tunnel: MayTunnel | None
) -> tuple[Array, str, str]:
    """The start (ndof,) with its loops closed.

    Also, in words, which loops stay open, and that surfaces passed through each other on the way.
    """
    if not system.robot.n_multipliers:
        return start, "", ""
    free, open_at_start = system.partition.free, ""
    closed = close_along_tree(system, start) if along_tree else None
    if closed is None:
        closed, errors, open_at_start = close_if_possible(system.robot, start, free)
        if not along_tree:
            system.scale_constraints(*errors)
    tunnelled = ""
    if may_tunnel and may_tunnel(start[free], 1.0, closed[free], 1.0):
        tunnelled = "; closing the loops moved surfaces through each other: start from closed loops (q0)"
    return closed, open_at_start, tunnelled


def _solve_along_tree(
    system: StaticSystem, start: Array, options: Mapping[str, Any], given: bool, may_tunnel: MayTunnel | None
) -> tuple[StaticSolution, str, str]:
    """As `_solve_by_matrices`, of large robots."""
    robot, stable = system.robot, options["stable"]
    descend_first = stable and (robot.engine.loading.touches or robot.n_multipliers > 0)
    follow_curve = system.begin is not None
    solution, no_forces = solve_along_tree(system, start, follow_curve, stable, may_tunnel, descend_first=descend_first)
    return solution, no_forces, ""


def _solve_by_matrices(
    system: StaticSystem, start: Array, options: Mapping[str, Any], given: bool, may_tunnel: MayTunnel | None
) -> tuple[StaticSolution, str, str]:
    """Equilibrium from coordinates (ndof,); given: whether q0 chose them.

    Also why a state had no forces, and which one did not balance where a state was refused for it, in words.
    """
    follow_curve, touches = system.begin is not None, system.robot.engine.loading.touches
    callbacks, stable, sticks = StaticCallbacks(system), options["stable"], system.sticking is not None
    x0 = system.start(start, 0.0 if follow_curve else 1.0)
    unloaded = x0 if follow_curve else np.concatenate([system.unloaded, np.zeros(len(system.rows))])
    problem = StaticProblem(
        callbacks.residual, callbacks.jacobian, callbacks.along_load, unloaded, options["jacobian"] == "analytic",
        follow_curve=follow_curve or (not given and touches),
        descent=callbacks.descent(),
        stable=stable,
        stability=callbacks.stability,
        newton_first=bool(system.robot.engine.layout.held) and not touches,  # hybr takes three times as long on tubes
        # surfaces must not pass through each other on the way
        descend_first=stable and touches and not follow_curve and not sticks,
        may_tunnel=may_tunnel,
        rounding=cache(partial(_rounding_of_weight, system, start)),
        balanced=callbacks.balanced if system.robot.n_multipliers else None,
    )  # fmt: skip
    solution = _without_turns(system, problem, solve_equilibrium(problem, x0), start)
    if not sticks:  # sticking friction has no potential
        first = solution.first
        solution = _without_turns(system, problem, stabilise_equilibrium(problem, solution, x0), start)
        if solution.success and not follow_curve:
            at_start = first[1:] if first and np.array_equal(first[0], x0) else callbacks.jacobian(x0, 1.0)
            solution = replace(solution, course=solution.course + _left_symmetry(callbacks, x0, *at_start, solution.x))
    return solution, callbacks.why, callbacks.unbalanced


def _equilibrium(system: StaticSystem, solution: StaticSolution) -> Equilibrium:
    """The equilibrium of a solution, or where the search for it stopped."""
    q = system.q(solution.x)
    remarks = _remarks(system, q) if solution.success else []
    message = "; ".join([solution.message, *moduli_in_words(system.robot.engine), *remarks])
    return Equilibrium(**state_of(system, solution), message=message, sliding=system.sliding(q))


def state_of(system: StaticSystem, solution: StaticSolution) -> dict[str, Any]:
    """What an equilibrium, or a steady motion, has of the state in which a search ended."""
    q, n, partition = system.q(solution.x), system.n_free, system.partition
    multiplier = system.smallest(q, system.multipliers(solution.x))
    residual = system.full_residual(q, multiplier)
    forces = map(float, residual[partition.driven])
    K = solution.jacobian[:n, :n] if solution.has_jacobian else None
    return {
        "robot": system.robot, "q": q, "u": system.u, "lam": multiplier,
        "driven": dict(zip(partition.names, forces, strict=True)),
        "residual_norm": float(np.abs(residual[partition.free]).max(initial=0.0)), "stiffness": K,
        "n_evaluations": solution.n_residual + solution.n_jacobian, "free": partition.free,
    }  # fmt: skip


def _remarks(system: StaticSystem, q: Array) -> list[str]:
    """What is implausible in an equilibrium, a line each."""
    robot, driven = system.robot, system.partition.driven
    free = left_free(robot, driven, robot.description.simulate.get("driven") or {})
    return [*implausible_states(robot, q[None], system.u[None]), *filter(None, [free])]


def _why_refused(system: StaticSystem, solution: StaticSolution, still_open: str, unbalanced: str) -> tuple[str, str]:
    """Why a solution is no equilibrium, and a hint: which loops are open, which forces do not balance."""
    if still_open:
        return f"the loops conflict, {still_open} stay open", "sorosim.assemble closes what can be closed"
    if unbalanced:
        why = f"no equilibrium was found in which finite forces balance, {unbalanced}"
        return why, "let the rods stretch (strain: elongation), or hold them with some slack"
    driven = dict(zip(system.partition.names, system.driven_values.tolist(), strict=True))
    return solution.message, _remedy(system.robot, system.u, driven, solution.folds)


def _remedy(robot: Robot, inputs: Array, driven_values: Mapping[str, float], folds: int) -> str:
    """The hint for a search that failed."""
    hint = "start nearer to the solution (q0)"
    hint += ", or raise the inputs in steps of your own" if inputs.any() else ""
    if folds:
        hint += f", or follow the curve past its limit load: {_curve(robot, inputs, driven_values)}"
    return hint


def _far_from_start(robot: Robot, start: Array, q: Array) -> str:
    """Which link has moved by more than the robot is long, in words; "" if none has."""
    nodes, zero = np.arange(len(robot.engine.tree.inertia)), np.zeros(robot.ndof)
    a, b = (robot.engine.poses(nodes, x, zero)[0][:, :3, 3] for x in (start, q))
    displacement = np.linalg.norm(a - b, axis=1)
    if not displacement.max(initial=0.0) > FAR_FROM_START * extent(a) > 0.0:
        return ""
    worst = int(np.argmax(displacement))
    name = next((name for name, one in robot.engine.layout.links.items() if worst in one.nodes), "")
    return f"; far from the start: '{name}' moved by {displacement[worst]:.3g} m"


def _left_symmetry(callbacks: StaticCallbacks, x0: Array, r: Array, J: Array, x: Array) -> str:
    """Along which coordinates a solution x left the symmetry of its start x0, in words; "" if along none.

    Coordinates that are coupled with each other alone, and along which nothing acts, neither at the start, of residual
    r and Jacobian J, nor where all others are those of the solution, stay where they are in any motion from the start.
    """
    system, away = callbacks.system, np.abs(x - x0)
    if not (np.isfinite(r).all() and np.isfinite(J).all()):
        return ""
    d, names = scale(J), []
    acts = np.abs(d * r) > NO_COUPLING * np.abs(d * r).max(initial=0.0)
    coupled = np.abs(d[:, None] * J * d) > NO_COUPLING
    coupled |= coupled.T
    while (further := coupled[acts].any(axis=0) & ~acts).any():  # what acts reaches from one to the next
        acts |= further
    bound = LEFT * (1.0 + np.abs(x0).max(initial=0.0))
    if not (away > bound)[: system.n_free][~acts[: system.n_free]].any():
        return ""
    n_parts, part = connected_components(coupled, directed=False)
    for k in range(n_parts):
        own = np.flatnonzero(part == k)
        moved = own[own < system.n_free]
        if acts[own].any() or not away[moved].max(initial=0.0) > bound:
            continue
        y = np.where(part == k, x0, x)
        needed = np.abs(J[np.ix_(own, own)]) @ away[own]
        if np.abs(callbacks.residual(y, 1.0)[own]).max() <= LEFT * needed.max():
            names.append(system.robot.coordinate_names[system.partition.free[moved[int(away[moved].argmax())]]])
    if not names:
        return ""
    along = ", ".join(f"'{name}'" for name in names)
    stays = "a motion from the start that nothing disturbs stays in it (stable=False finds an equilibrium there)"
    return f"; it left the symmetry of the start along {along}, where nothing acts in it: {stays}"


def _without_turns(
    system: StaticSystem, problem: StaticProblem, solution: StaticSolution, start: Array
) -> StaticSolution:
    """The solution with whole turns of its angles removed.

    A whole turn of a free or spherical joint looks like a solution under any torque: solve again from the angle without
    it.
    """
    for _ in range(MAX_TURNS):
        unwound = system.without_turns(solution.x, start[system.partition.free])
        if not solution.success or np.array_equal(unwound, solution.x):
            break
        resolved = solve_equilibrium(problem, unwound, near=True)
        counts = solution.n_residual + resolved.n_residual, solution.n_jacobian + resolved.n_jacobian
        same_state = np.abs(resolved.x - unwound)[: system.n_free].max() <= FIRST_POLISH
        solution = replace(
            resolved, n_residual=counts[0], n_jacobian=counts[1], first=solution.first, released=solution.released,
            course=solution.course if same_state else resolved.course,
            neutral=solution.neutral if same_state else resolved.neutral, folds=solution.folds,
        )  # fmt: skip
    return solution


def _curve(robot: Robot, inputs: Array, driven: Mapping[str, float]) -> str:
    """The call that follows equilibria from no inputs to these; what to call where loads alone act."""
    block = robot.description.statics
    ends = {f"u.{name}": float(u) for name, u in zip(robot.actuator_names, inputs, strict=True) if u}
    if not ends:
        return "sorosim.continuation along a load, named as in sorosim.scalars(robot), from begin=0.0"
    further = ", u={}" if block.get("u") else ""
    if driven or block.get("driven"):
        further += f", driven={dict(driven)}"
    if len(ends) == 1:
        ((name, end),) = ends.items()
        return f"sorosim.continuation(robot, {name!r}, to={end!r}, begin=0.0{further})"
    return f"sorosim.continuation(robot, { {name: (0.0, end) for name, end in ends.items()} }{further})"


def _rounding_of_weight(system: StaticSystem, q: Array) -> Array:
    """Rounding errors (n,) of the residual where loads balance the robot's weight, as buoyancy does.

    By the inequality of Cauchy and Schwarz no part of a weight m g is larger than g sqrt(m M_ii).
    """
    robot, out = system.robot, np.zeros(system.n_free + len(system.rows))
    if not (robot.description.loads and np.any(robot.engine.gravity)):
        return out
    zero = np.zeros_like(q)
    mass = robot.engine.evaluate(task.MASS, q, zero, zero.copy(), robot.inputs(None)).mass
    inertia = np.diag(mass)[system.partition.free]
    weight = float(np.linalg.norm(robot.engine.gravity)) * np.sqrt(total_mass(robot) * np.maximum(inertia, 0.0))
    out[: system.n_free] = ROUNDING * weight
    return out


def start_point(robot: Robot, q0: InitialState | None) -> tuple[Array, Array | None]:
    """Coordinates to start from, and the inputs there if that is an equilibrium or the end of a run."""
    if isinstance(q0, Run):
        return robot.coordinates(q0.q[-1], "q0"), robot.inputs(q0.u[-1])
    if isinstance(q0, Equilibrium):
        return robot.coordinates(q0.q, "q0"), robot.inputs(q0.u)
    return (robot.initial_q if q0 is None else robot.coordinates(q0, "q0")), None


def _stick_state(robot: Robot, sticking: InitialState | None) -> tuple[Array, StickState | None] | None:
    """Coordinates at which contacts stuck, and how, as far as it is known."""
    if isinstance(sticking, Equilibrium | Run):
        past = sticking.robot.engine.loading.packed.laws.surfaces.core
        if not np.array_equal(past, robot.engine.loading.packed.laws.surfaces.core):
            raise InputError("sticking", "an equilibrium or a run with the same contacts", "other ones")
    if isinstance(sticking, Run):
        q = robot.coordinates(sticking.q[-1], "sticking")
        return q, robot.engine.contacts(q, sticking.qd[-1])[1]
    if isinstance(sticking, Equilibrium):
        q = robot.coordinates(sticking.q, "sticking")
        return q, None if sticking.sliding is None else sticking.contact_state[1]
    return None if sticking is None else (robot.coordinates(sticking, "sticking"), None)


@public
def follow(
    robot: Robot,
    start: Equilibrium | Run,
    *,
    u: Values | None = None,
    driven: Mapping[str, Number] | None = None,
    steps: int = 10,
) -> list[Equilibrium]:
    """Slow motion from an equilibrium to another, contacts sticking and sliding on the way.

    Inputs and driven coordinates change along a straight line, in steps that are halved where an equilibrium is not
    found, and each of which resists sliding from the one before (`statics`, its `sticking`). Loads that depend on time
    are those at t = 0.

    Parameters
    ----------
    robot : Robot
    start : Equilibrium or Run
        A Run whose end is nearly at rest, as one in which something was gripped.
    u, driven
        At the end. Default: as at the start.
    steps : int
        How many at first; smaller ones follow sliding more exactly.

    Returns
    -------
    list of Equilibrium
        After each step.

    Raises
    ------
    ConvergenceError
        ``partial`` is the last equilibrium that was found.
    """
    check_robot(robot)
    if not isinstance(start, Equilibrium | Run):
        raise InputError("start", "an Equilibrium or a Run", type(start).__name__)
    n = Integer(1, 1_000_000).argument("steps", steps)
    q0, u0 = (start.q[-1], start.u[-1]) if isinstance(start, Run) else (start.q, start.u)
    known = dict(zip(robot.actuator_names, u0, strict=True))
    u1 = u0 if u is None else robot.inputs({**known, **u} if isinstance(u, Mapping) else u)
    targets, ends = by_coordinate(robot.engine, driven), {}
    for name in merged(robot.engine.layout, start.driven, targets):
        begin = float(q0[robot.engine.layout.coordinate(name, "driven")])
        ends[name] = begin, targets.get(name, begin)
    equilibria: list[Equilibrium] = []
    done, step, last = 0.0, 1.0 / n, start
    while done < 1.0:
        target = min(done + step, 1.0) if 1.0 - done - step > 1e-9 else 1.0
        driven_values = {name: a + target * (b - a) for name, (a, b) in ends.items()}
        try:
            last = statics(robot, u0 + target * (u1 - u0), driven=driven_values, q0=last, sticking=last)
        except ConvergenceError as error:
            step *= 0.5
            if step < SMALLEST_PART / n:
                got = f"stopped at {100.0 * done:.4g} % of the way: {error}"
                partial = equilibria[-1] if equilibria else error.partial
                raise ConvergenceError(f"follow: {got}", partial, error.report) from None
            continue
        equilibria.append(last)
        done, step = target, min(1.5 * step, 1.0 / n)
    return equilibria


class Posed(Protocol):
    """A robot, and its coordinates at unknowns x and a load or parameter."""

    robot: Robot

    def q(self, x: Array, load: float, /) -> Array: ...


def tunnelling_test(system: Posed) -> MayTunnel | None:
    """A test whether surfaces pass through each other between two states; None where none can."""
    if not (passage := Passage(system.robot)):
        return None
    return lambda x, load, y, other_load: passage.happens(system.q(x, load), system.q(y, other_load))
