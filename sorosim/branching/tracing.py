"""Continuation of equilibria: the door to the family of problems and the solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.branching.asked import checked, depth_of, ends_of
from sorosim.branching.diagram import Continuation, SpecialPoint
from sorosim.branching.rest import Rest
from sorosim.branching.ways import Way, present
from sorosim.equations.failure import of_statics
from sorosim.equations.system import StaticSystem
from sorosim.equilibria.statics import by_link, statics
from sorosim.errors import ConvergenceError, InputError, Interrupted
from sorosim.linear.growth import Growth
from sorosim.results.result import Equilibrium
from sorosim.robot import Robot, check_robot
from sorosim.solvers.base import one_blas_thread
from sorosim.solvers.continuation import INTERRUPTED, ROUND, TOO_SMALL, Followed, Steps, follow_curve
from sorosim.solvers.curve import Curve, Place
from sorosim.solvers.special import BRANCH, FLUTTER, Special
from sorosim.validation import number

Array = NDArray[np.float64]
Value = float | str
Stop = Callable[[float, Array], bool]

# first steps onto a branch, as parts of a step, until one leads to it
ONTO = (1.0, 0.25, 4.0, 1.0 / 16.0)
# a step onto a branch that goes so much less its way has come back to where it was
LEFT = 0.3
# directions whose first points are no farther apart than this [rad] lead to the same branch
SAME_WAY = 0.2
# all sums and differences of so many null vectors are tried
MOST_COMBINED = 3
# special points nearer than this along curve and parameter are the same: both are located to rounding, the first one on
# a branch that turns back there only to its root
NEAR = 1e-4, 1e-6


def continuation(
    robot: Robot,
    along: str | Mapping[str, Value | Sequence[Value]],
    to: Value | None = None,
    *,
    begin: Value | None = None,
    u: Mapping[str, float] | ArrayLike | None = None,
    driven: Mapping[str, float] | None = None,
    q0: ArrayLike | Equilibrium | None = None,
    until: tuple[float, float] | None = None,
    stop: Stop | None = None,
    both: bool = False,
    branches: bool | int = False,
    step: float = 0.02,
    max_step: float = 0.1,
    min_step: float = 1e-7,
    max_points: int = 500,
    stability: bool = True,
) -> Continuation:
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
    q0 : (ndof,) array_like or Equilibrium, optional
        Where the search for the first equilibrium starts, as in `sorosim.statics`.
    until : (float, float), optional
        Range of the parameter in which the curve is followed. Default: up to `to`, and as far the other way, so that a
        curve that turns back is not cut off at once.
    stop : callable, optional
        ``stop(parameter, q)``: whether to stop there.
    both : bool
        Whether to go both ways from the start.
    branches : bool or int
        Whether to follow what leaves the branch points, too; a number: and the branches of these, so many times.
    step, max_step, min_step : float
        First, longest and shortest step along the curve. Its length is the root of the squares of the parameter over
        abs(to - begin) and of the mean square of how all points turn [rad] and move, over the robot's size.
    max_points : int
        How many equilibria at most, each way and each branch.
    stability : bool
        Whether to look at the stability of every equilibrium. Without it only branch points at which an odd number of
        curves crosses are found.

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
    check_robot(robot)
    depth = depth_of(branches)
    names, ends = ends_of(robot, along, to, begin)
    inputs = robot.inputs(robot.description.statics.get("u") if u is None else u)
    held = {
        name: number(f"driven.{name}", value)
        for name, value in by_link(robot.description.statics.get("driven") if driven is None else driven).items()
    }
    first = [present(robot, n, inputs, held) if a is None else a for n, (a, _) in zip(names, ends, strict=True)]
    last = [b for _, b in ends]
    single = isinstance(along, str)
    for name, a, b in zip(names, first, last, strict=True):
        if a == b:
            raise InputError(
                "to",
                f"another value of '{name}' than at its beginning",
                f"{b:.6g}",
                "let it begin elsewhere: begin, on the command line --from",
            )
    start, end = (first[0], last[0]) if single else (0.0, 1.0)
    origin, slope = ([0.0], [1.0]) if single else (first, [b - a for a, b in zip(first, last, strict=True)])
    options = {
        "range": [start, end], "both": bool(both),
        **checked({
            "until": sorted([start - (end - start), end]) if until is None else until, "stop": stop, "step": step,
            "max_step": max_step, "min_step": min_step, "max_points": max_points, "stability": stability,
        }, start),
    }  # fmt: skip
    way = Way(robot, names, origin, slope, inputs, held)
    at_start = way.robot(start)
    begin_q = robot.initial_q if q0 is None and at_start is not robot and robot.initial_q.any() else q0
    eq = statics(at_start, way.inputs(start), way.driven(start), begin_q, stable=False)
    way.straighten(eq.q, start, end)
    rest = Rest(way, eq.q, start, abs(end - start))
    onward = np.append(np.zeros(len(rest.start(eq.q, start))), np.sign(end - start))
    found = _followed(rest, eq.q, start, onward, options)
    if not found[0].places:
        raise ConvergenceError(f"continuation of '{robot.name}': {found[0].message}{rest.why}", eq)
    stopped = -1  # the row at which the curve may have ended early
    if both and not found[0].message.startswith(INTERRUPTED):
        stopped = -1 if TOO_SMALL in found[0].message else 0
        other = _followed(rest, eq.q, start, -onward, options)
        found = _joined(other[0], found[0]), found[1]
    out = _result(rest, found[0], options, held)
    if INTERRUPTED in out.message:
        raise Interrupted(f"continuation of '{robot.name}': interrupted after {len(out)} equilibria", out)
    if not out.complete and TOO_SMALL in out.message:
        raise _stuck(rest, out, stopped)
    branches_of: list[Continuation] = []
    try:
        return _with_branches(out, depth, branches_of)
    except KeyboardInterrupt:
        told = f"continuation of '{robot.name}': interrupted after {len(branches_of)} branches"
        left = replace(out, branches=tuple(branches_of), message=INTERRUPTED, complete=False)
        raise Interrupted(told, left) from None


def _stuck(rest: Rest, out: Continuation, row: int) -> ConvergenceError:
    """Why a curve could not go on from its row."""
    way, p = rest.way, float(out.parameter[row])
    values = " and ".join(f"{name} = {value:.6g}" for name, value in way.values(p).items())
    # forces balance there, but a rod may be strained, or nothing hold it any more
    system = StaticSystem(way.robot(p), way.inputs(p), way.driven(p))
    report = of_statics(system, system.start(out.q[row]))
    said = f"{out.message}, at {values}{rest.why}{report.words}"
    hint = f"{report.advice}; or try a smaller min_step" if report.advice else "try a smaller min_step"
    return ConvergenceError(f"continuation of '{way.base.name}': {said}; {hint}", out, report)


def _steps(rest: Rest, options: Mapping[str, Any]) -> Steps:
    stop, size = options["stop"], rest.size
    asks = None if stop is None else (lambda x, w: bool(stop(w * size, rest.q(x, w))))
    low, high = (bound / size for bound in options["until"])
    return Steps(options["step"], options["max_step"], options["min_step"], options["max_points"], low, high, asks)


def _followed(rest: Rest, q: Array, p: float, along: Array, options: Mapping[str, Any]) -> tuple[Followed, Curve]:
    family = rest.family if options["stability"] else replace(rest.family, growth=None)
    return follow_curve(family, rest.start(q, p), p / rest.size, along, _steps(rest, options))


def _joined(back: Followed, on: Followed) -> Followed:
    """The curve backwards to the start, and on."""
    turned = [_backwards(place) for place in back.places[:0:-1]]
    if back.message.startswith(ROUND):
        return on
    n = len(turned)
    specials = [
        s._replace(place=_backwards(s.place), row=n - 1 - s.row, before=s.after, after=s.before) for s in back.specials
    ]
    specials = specials[::-1] + [s._replace(row=s.row + n) for s in on.specials]
    message = f"backwards {back.message}, onwards {on.message}"
    return Followed([*turned, *on.places], specials, message, back.complete and on.complete)


def _backwards(place: Place) -> Place:
    return place._replace(s=-place.s, tangent=-place.tangent)


def _result(rest: Rest, found: Followed, options: dict[str, Any], held: Mapping[str, float]) -> Continuation:
    """What was found, in the robot's coordinates."""
    way, places = rest.way, found.places
    parameter = np.array([place.z[-1] for place in places]) * rest.size
    for k in (0, -1):  # to the very bounds
        for bound in (*options["until"], options["range"][0]):
            if abs(parameter[k] - bound) <= 1e-14 * rest.size:
                parameter[k] = bound
    states = [rest.state(place.z[:-1], float(place.z[-1])) for place in places]
    q, lam, forces = (np.array(part).reshape(len(places), -1) for part in zip(*states, strict=True))
    return Continuation(
        rest.way.base, way.names, way.origin, way.slope, parameter, np.array([place.s for place in places]), q,
        np.array([way.inputs(p) for p in parameter]).reshape(len(places), -1), lam,
        dict(zip(rest.partition.names, forces.T, strict=True)), np.array([place.growth.buckling for place in places]),
        np.array([place.growth.flutter for place in places]),
        tuple(_special(rest, special) for special in found.specials), found.message, found.complete, options,
        held=dict(held),
    )  # fmt: skip


def _special(rest: Rest, found: Special) -> SpecialPoint:
    x, w = found.place.z[:-1], float(found.place.z[-1])
    frequency, mode = rest.oscillation(x, w) if found.kind == FLUTTER else (0.0, None)
    directions = np.array([rest.shown(d) for d in found.directions]).reshape(-1, rest.robot.ndof + 1)
    return SpecialPoint(
        found.kind, w * rest.size, rest.q(x, w), found.place.s, found.row, rest.shown(found.place.tangent),
        directions if found.kind == BRANCH else directions[:0], found.before, found.after, frequency, mode,
    )  # fmt: skip


# -- branches ----------------------------------------------------------------------------------------------------------


def switched(main: Continuation, point: SpecialPoint, options: Mapping[str, Any]) -> tuple[Continuation, ...]:
    """The branches that leave a branch point."""
    known = set(main.options) - {"range", "both"}
    for name in options:
        if name not in known:
            raise InputError("options", " or ".join(sorted(known)), f"'{name}'")
    changed = {**main.options, **checked(options, point.parameter)}
    rest, out = main.rest, []
    curve, x = Curve(rest.family), rest.start(point.q, point.parameter)
    origin = np.append(x, point.parameter / rest.size)
    with one_blas_thread(), np.errstate(all="ignore"):
        _, J, slope = curve.evaluate(origin)
        growth = rest.growth(x, float(origin[-1])) if changed["stability"] else Growth()
    start = Place(origin, J, slope, rest.unknown(point.tangent), 0, growth)
    on_all_sides = False
    taken: list[Array] = []  # ways of branches, and the ways back of closed ones
    for k, direction in enumerate(_tried(point.directions)):
        if k >= 2 * len(point.directions) and on_all_sides:
            break
        first = _first(rest, curve, start, direction, changed)
        if first is None:
            continue
        # in the null space both ways onto a branch are opposite, however it is curved
        way = (
            np.array([_aside(curve, start, rest.unknown(d)) for d in point.directions]) @ curve.gram @ (first - start.z)
        )
        way /= np.linalg.norm(way)
        if any(way @ other > np.cos(SAME_WAY) for other in taken):
            continue
        found = _branch(rest, curve, start, first, rest.unknown(direction), changed)
        if found is None:
            continue
        out.append(_result(rest, found, changed, main.held))
        taken += [way, -way] if found.message.startswith(ROUND) else [way]
        # as of a round column, of which one branch is as good as any other
        on_all_sides = found.places[1].hold is not None
    return tuple(out)


def _tried(directions: Array) -> list[Array]:
    """Ways (ndof + 1,) in which branches may leave: null vectors, and where there are several what lies between."""
    m = len(directions)
    alone = [side * direction for direction in directions for side in (1.0, -1.0)]
    if not 1 < m <= MOST_COMBINED:
        return alone
    signs = [np.array(part) for part in product((1.0, -1.0, 0.0), repeat=m) if np.count_nonzero(part) > 1]
    return alone + [part @ directions / np.linalg.norm(part) for part in signs]


def _aside(curve: Curve, start: Place, step: Array) -> Array:
    """The part of a step (n + 1,) that leaves the curve."""
    return np.asarray(step - (start.tangent @ curve.gram @ step) * start.tangent)


def _first(rest: Rest, curve: Curve, start: Place, direction: Array, options: Mapping[str, Any]) -> Array | None:
    """First point (n + 1,) of the branch in a direction (ndof + 1,); None where there is none but the first curve."""
    way = rest.unknown(direction)
    across = curve.unit(_aside(curve, start, way))
    for part in ONTO:
        size = part * options["step"]
        step = size * direction
        q, p = rest.q(start.z[:-1], float(start.z[-1])) + step[:-1], start.z[-1] * rest.size + step[-1]
        with one_blas_thread(), np.errstate(all="ignore"):
            found = curve.correct(np.append(rest.start(q, p), p / rest.size), curve.gram @ way)
        if found is None:
            continue
        if across @ curve.gram @ (found[0] - start.z) >= LEFT * size * float(across @ curve.gram @ way):
            return found[0]
    return None


def _branch(
    rest: Rest, curve: Curve, start: Place, first: Array, way: Array, options: Mapping[str, Any]
) -> Followed | None:
    """The branch through its first point, from the branch point on."""
    found, _ = _followed(rest, rest.q(first[:-1], float(first[-1])), float(first[-1]) * rest.size, way, options)
    if found.message == INTERRUPTED:
        raise KeyboardInterrupt
    if not found.places:
        return None
    s = curve.length(found.places[0].z - start.z)
    rows = [start._replace(tangent=way), *(place._replace(s=place.s + s) for place in found.places)]
    later = [sp._replace(row=sp.row + 1, place=sp.place._replace(s=sp.place.s + s)) for sp in found.specials]
    return Followed(rows, later, found.message, found.complete)


def _with_branches(
    main: Continuation, depth: int, new: list[Continuation], known: list[SpecialPoint] | None = None
) -> Continuation:
    """The curve with what leaves its branch points, each point once; `new` takes its branches as they are found."""
    known = [] if known is None else known
    if depth <= 0:
        return main
    message, complete = main.message, main.complete
    for point in [point for point in main.points if point.kind == BRANCH]:
        # a branch that turns back there has a fold there, too
        crossed = [other for branch in new for other in branch.points]
        there = any(_same(main, point, other) for other in [*known, *crossed])
        known.append(point)
        if there:
            continue
        found = switched(main, point, {})
        if not found:
            message, complete = f"{message}; no branch was found at {point.parameter:.6g}", False
        new += found
    branches = tuple(_with_branches(branch, depth - 1, [], known) for branch in new)
    return replace(main, branches=branches, message=message, complete=complete)


def _same(main: Continuation, a: SpecialPoint, b: SpecialPoint) -> bool:
    rest = main.rest
    x, y = (np.append(point.q[rest.free], np.zeros(len(rest.static.rows))) for point in (a, b))
    moved = float(np.linalg.norm(rest.metric @ (rest.turned(x, y) - y)))
    return moved < NEAR[0] and abs(a.parameter - b.parameter) < NEAR[1] * rest.size
