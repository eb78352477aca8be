"""`continuation`: follow equilibria along a parameter path, and their branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sorosim.analysis.bifurcation.arguments import branch_depth, checked_range, checked_stop, path_ends, present
from sorosim.analysis.bifurcation.diagram import Continuation
from sorosim.analysis.bifurcation.equilibrium_family import EquilibriumFamily
from sorosim.analysis.bifurcation.parameter_path import ParameterPath
from sorosim.analysis.bifurcation.tracing import SpecialPoint, joined, trace
from sorosim.analysis.equations.failure import diagnose_statics
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.results.result import Equilibrium, InitialState
from sorosim.analysis.solvers.continuation import INTERRUPTED, TOO_SMALL
from sorosim.analysis.solvers.special_points import BRANCH
from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, InputError, Interrupted
from sorosim.base.options import ContinuationArguments, checked
from sorosim.base.public import public
from sorosim.base.validation import Number, Values
from sorosim.mechanics.engine.prescribed import AT_REST, Prescribed
from sorosim.mechanics.robot import Robot, check_robot

Stop = Callable[[float, Array], bool]

# special points nearer than this along curve and parameter are the same: both are located to rounding, the first one on
# a branch that turns back there only to its root
SAME_POINT = 1e-4, 1e-6


@public
def continuation(
    robot: Robot, along: str | Mapping[str, Number | Sequence[Number]], *, to: Number | None = None,
    begin: Number | None = None, u: Values | None = None, driven: Mapping[str, Number] | None = None,
    q0: InitialState | None = None, until: tuple[Number, Number] | None = None, stop: Stop | None = None,
    both: bool | None = None, branches: bool | int = False, ds: float | None = None, ds_max: float | None = None,
    ds_min: float | None = None, max_points: int | None = None, stability: bool | None = None,
) -> Continuation:  # fmt: skip
    """Follow equilibria while an input, a driven coordinate or a number of the robot's file changes, past folds.

    Parameters
    ----------
    robot : Robot
    along : str or mapping
        What changes: ``"u.cable1"``, ``"driven.base"``, or the path of a number in the file, such as
        ``"loads.tip.wrench.force[2]"``, ``"materials.steel.young"`` or ``"parameters.width"`` (`sorosim.scalars` lists
        them). A mapping of several such names to their ends, or to pairs (begin, end), is a straight way, on which the
        parameter goes from 0 to 1.
    to : float or str
        Where the parameter goes, in SI units or as a text with a unit.
    begin : float or str, optional
        Where it starts. Default: what it is in the file, or in `u` and `driven`.
    u, driven
        Inputs and driven coordinates that do not change, as in `sorosim.statics`.
    q0 : (ndof,) array_like, mapping, Equilibrium or Run, optional
        Where the search for the first equilibrium starts, as in `sorosim.statics`.
    until : (float, float) or texts with units, optional
        Range of the parameter in which the curve is followed. Default: up to `to`, and as far the other way, so that a
        curve that turns back is not cut off at once.
    stop : callable, optional
        ``stop(parameter, q)``: whether to stop there.
    both : bool
        Whether to go both ways from the start. Default: False.
    branches : bool or int
        Whether to follow what leaves the branch points, too; a number: and the branches of these, so many times.
    ds, ds_max, ds_min : float
        First, longest and shortest step along the curve. Default: 0.02, 0.1 and 1e-7. Its length is the root of the
        squares of the parameter over abs(to - begin) and of the mean square of how all points turn [rad] and move, over
        the robot's size.
    max_points : int
        How many equilibria at most, each way and each branch. Default: 500.
    stability : bool
        Whether to look at the stability of every equilibrium. Default: True. Without it only branch points at
        which an odd number of curves crosses are found.

    Returns
    -------
    Continuation
        ``message`` says how it ended, ``complete`` whether at the end of the range, at a stop, or at its own start.

    Raises
    ------
    InputError
        A name that the robot does not have, with the nearest ones; a wrong value.
    ConvergenceError
        There is no equilibrium at the start, or the curve cannot be followed any farther; then ``partial`` is the
        Continuation up to there, and ``report`` says what is worst in its last equilibrium.

    Notes
    -----
    Pseudo-arclength continuation with exact derivatives by coordinates and parameter. Folds, branch points and changes
    of stability are located, not only bracketed. An equilibrium buckles where a real eigenvalue of its linearised
    motion is positive, and flutters where a complex pair has a positive real part, as under forces that follow the
    body. Contacts are without friction. Source: docs/continuation.md.
    """
    arguments = locals()
    check_robot(robot)
    options = checked(ContinuationArguments, arguments)
    depth = branch_depth(branches)
    changing, ends = path_ends(robot, along, to, begin)
    names = [one.name for one in changing]
    prescribed = Prescribed.of(robot, u, driven, AT_REST)
    inputs, fixed = prescribed.u, prescribed.values
    first = [present(robot, one, inputs, fixed) if a is None else a for one, (a, _) in zip(changing, ends, strict=True)]
    last = [b for _, b in ends]
    for name, a, b in zip(names, first, last, strict=True):
        if a == b:
            expected, hint = f"another value of '{name}' than at its beginning", "begin, on the command line --from"
            raise InputError("to", expected, f"{b:.6g}", f"let it begin elsewhere: {hint}")
    single = isinstance(along, str)
    start, end = (first[0], last[0]) if single else (0.0, 1.0)
    origin, slope = ([0.0], [1.0]) if single else (first, [b - a for a, b in zip(first, last, strict=True)])
    options |= {"range": [start, end], "stop": checked_stop(stop)}
    path = ParameterPath(robot, names, origin, slope, inputs, fixed)
    bounds = sorted([start - (end - start), end]) if until is None else until
    options["until"] = checked_range(path, bounds, start)
    at_start = path.robot(start)
    begin_q = robot.initial_q if q0 is None and at_start is not robot and robot.initial_q.any() else q0
    eq = statics(at_start, path.inputs(start), driven=path.driven(start), q0=begin_q, stable=False)
    path.detect_affine(eq.q, start, end)
    main = _traced(EquilibriumFamily(path, eq.q, start, abs(end - start)), eq, options, fixed)
    branches_so_far: list[Continuation] = []
    try:
        return _with_branches(main, depth, branches_so_far)
    except KeyboardInterrupt:
        words = f"continuation of '{robot.name}': interrupted after {len(branches_so_far)} branches"
        left = replace(main, branches=tuple(branches_so_far), message=INTERRUPTED, complete=False)
        raise Interrupted(words, left) from None


def _traced(
    family: EquilibriumFamily, eq: Equilibrium, options: dict[str, Any], fixed: Mapping[str, float]
) -> Continuation:
    """The curve through an equilibrium at the start of the range."""
    (start, end), name = options["range"], f"continuation of '{family.path.base.name}'"
    onward = np.append(np.zeros(len(family.unknowns(eq.q, start))), np.sign(end - start))
    curve = trace(family, eq.q, start, onward, options)
    if not curve.points:
        raise ConvergenceError(f"{name}: {curve.message}{family.failure}", eq)
    last_row = -1  # at which the curve may have stopped early
    if options["both"] and not curve.message.startswith(INTERRUPTED):
        last_row = -1 if TOO_SMALL in curve.message else 0
        curve = joined(trace(family, eq.q, start, -onward, options), curve)
    out = Continuation.of(family, curve, options, fixed)
    if INTERRUPTED in out.message:
        raise Interrupted(f"{name}: interrupted after {len(out)} equilibria", out)
    if not out.complete and TOO_SMALL in out.message:
        raise _too_small(family, out, last_row)
    return out


def _too_small(family: EquilibriumFamily, out: Continuation, row: int) -> ConvergenceError:
    """Why steps became too small beyond a row of the curve."""
    path, p = family.path, float(out.parameter[row])
    values = " and ".join(f"{name} = {value:.6g}" for name, value in path.values(p).items())
    # forces balance there, but a rod may be strained, or a rigid-body mode appear
    system = StaticSystem(path.robot(p), path.inputs(p), path.driven(p))
    report = diagnose_statics(system, system.start(out.q[row]))
    words = f"{out.message}, at {values}{family.failure}{report.words}"
    hint = f"{report.advice}; or try a smaller ds_min" if report.advice else "try a smaller ds_min"
    return ConvergenceError(f"continuation of '{path.base.name}': {words}; {hint}", out, report)


def _with_branches(
    main: Continuation, depth: int, new: list[Continuation], known: list[SpecialPoint] | None = None
) -> Continuation:
    """The curve with what leaves its branch points, each point once; `new` collects its branches."""
    known = [] if known is None else known
    if depth <= 0:
        return main
    message, complete = main.message, main.complete
    for point in [point for point in main.points if point.kind == BRANCH]:
        # a branch that turns back there has a fold there, too
        crossed = [other for branch in new for other in branch.points]
        followed = any(_same(main, point, other) for other in [*known, *crossed])
        known.append(point)
        if followed:
            continue
        leaving = main.branches_at(point, {})
        if not leaving:
            message, complete = f"{message}; no branch was found at {point.parameter:.6g}", False
        new += leaving
    branches = tuple(_with_branches(branch, depth - 1, [], known) for branch in new)
    return replace(main, branches=branches, message=message, complete=complete)


def _same(main: Continuation, a: SpecialPoint, b: SpecialPoint) -> bool:
    family = main.family
    x, y = (np.append(point.q[family.free], np.zeros(len(family.system.rows))) for point in (a, b))
    distance = float(np.linalg.norm(family.metric @ (family.unwrapped(x, y) - y)))
    return distance < SAME_POINT[0] and abs(a.parameter - b.parameter) < SAME_POINT[1] * family.scale
