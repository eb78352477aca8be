"""Continuation of equilibria: the door to the family of problems and the solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.analysis import by_link, check_robot, statics
from sorosim.branching.diagram import Continuation, SpecialPoint
from sorosim.branching.rest import Rest
from sorosim.branching.ways import Way, check_name, present, value_of
from sorosim.door import number
from sorosim.errors import ConvergenceError, InputError
from sorosim.failure import of_statics
from sorosim.growth import Growth
from sorosim.result import Equilibrium
from sorosim.robot import Robot
from sorosim.solvers.continuation import ROUND, TOO_SMALL, Followed, Steps, follow_curve
from sorosim.solvers.curve import Curve, Place
from sorosim.solvers.special import BRANCH, FLUTTER, Special
from sorosim.system import StaticSystem

Array = NDArray[np.float64]
Value = float | str
Stop = Callable[[float, Array], bool]

# first steps onto a branch, as parts of a step, until one leads to it
ONTO = (1.0, 0.25, 4.0, 1.0 / 16.0)
# a step onto a branch that goes so much less its way has come back to where it was
LEFT = 0.3
# branch points nearer than this are the same
NEAR = 1e-3


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
    names, ends = _ends(robot, along, to, begin)
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
            raise InputError("to", f"another value of '{name}' than at its beginning", f"{b:.6g}", "give begin")
    start, end = (first[0], last[0]) if single else (0.0, 1.0)
    origin, slope = ([0.0], [1.0]) if single else (first, [b - a for a, b in zip(first, last, strict=True)])
    options = {
        "range": [start, end], "both": bool(both),
        **_checked({
            "until": sorted([start - (end - start), end]) if until is None else until, "stop": stop, "step": step,
            "max_step": max_step, "min_step": min_step, "max_points": max_points, "stability": stability,
        }, start),
    }  # fmt: skip
    way = Way(robot, names, origin, slope, inputs, held)
    at_start = way.robot(start)
    begin_q = robot.initial_q if q0 is None and at_start is not robot and robot.initial_q.any() else q0
    eq = statics(at_start, way.inputs(start), way.driven(start), begin_q)
    way.straighten(eq.q, start, end)
    rest = Rest(way, eq.q, start, abs(end - start))
    onward = np.append(np.zeros(len(rest.start(eq.q, start))), np.sign(end - start))
    found = _followed(rest, eq.q, start, onward, options)
    if not found[0].places:
        raise ConvergenceError(f"continuation of '{robot.name}': {found[0].message}{rest.why}", eq)
    if both:
        other = _followed(rest, eq.q, start, -onward, options)
        found = _joined(other[0], found[0]), found[1]
    out = _result(rest, found[0], options, held)
    if not out.complete and TOO_SMALL in out.message:
        p, q = float(out.parameter[0 if both else -1]), out.q[0 if both else -1]
        values = " and ".join(f"{name} = {value:.6g}" for name, value in way.values(p).items())
        # forces balance there, but a rod may be strained, or nothing hold it any more
        system = StaticSystem(way.robot(p), way.inputs(p), way.driven(p))
        report = of_statics(system, system.start(q))
        said = f"{out.message}, at {values}{rest.why}{report.words}"
        hint = f"{report.advice}; or try a smaller min_step" if report.advice else "try a smaller min_step"
        raise ConvergenceError(f"continuation of '{robot.name}': {said}; {hint}", out, report)
    return _with_branches(out, int(branches))


def _ends(robot: Robot, along: Any, to: Any, begin: Any) -> tuple[list[str], list[tuple[float | None, float]]]:
    """Names and, of each, where it begins, None for what it is now, and ends."""
    if isinstance(along, Mapping):
        if to is not None or begin is not None:
            hint = "the mapping has the ends: {name: (begin, end)}"
            raise InputError("to", "nothing beside a mapping", "an end", hint)
        given = dict(along)
    else:
        if to is None:
            raise InputError("to", f"where '{along}' goes", "nothing")
        given = {along: to if begin is None else (begin, to)}
    if not given:
        raise InputError("along", "what changes", "an empty mapping")
    names, ends = [], []
    for name, value in given.items():
        names.append(check_name(robot, name))
        pair = list(value) if isinstance(value, tuple | list | np.ndarray) else [None, value]
        if len(pair) != 2:
            raise InputError(f"along '{name}'", "an end, or a pair (begin, end)", f"{len(pair)} values")
        a, b = (None if x is None else value_of(robot, name, x, w) for w, x in zip(("begin", "to"), pair, strict=True))
        assert b is not None
        ends.append((a, b))
    return names, ends


def _checked(options: Mapping[str, Any], start: float) -> dict[str, Any]:
    """Options of a curve that begins at a parameter, refusing what they cannot be."""
    out = dict(options)
    for name in {"step", "max_step", "min_step"} & set(out):
        out[name] = float(number(name, out[name], "a length greater than 0", above=0.0))
    if "max_points" in out:
        most = number("max_points", out["max_points"], "a whole number from 2 on", least=2.0, upto=1e7)
        if most % 1.0:
            raise InputError("max_points", "a whole number", f"{most:g}")
        out["max_points"] = int(most)
    if out.get("stop") is not None and not callable(out["stop"]):
        raise InputError("stop", "a function of parameter and q", type(out["stop"]).__name__)
    if "until" in out:
        out["until"] = _range(out["until"], start)
    return out


def _range(until: Any, start: float) -> list[float]:
    try:
        low, high = (number("until", value) for value in until)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("until", "a range (low, high) of the parameter", repr(until)[:60]) from None
    if not low < high or not low <= start <= high:
        raise InputError("until", f"a range (low, high) about {start:g}", f"({low:g}, {high:g})")
    return [low, high]


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
    changed = {**main.options, **_checked(options, point.parameter)}
    rest, out = main.rest, []
    for direction in point.directions:
        for side in (1.0, -1.0):
            found = _onto(rest, point, side * direction, changed)
            if found is not None:
                out.append(_result(rest, found, changed, main.held))
                if found.message.startswith(ROUND):  # it is the other way round, too
                    break
    return tuple(out)


def _onto(rest: Rest, point: SpecialPoint, direction: Array, options: dict[str, Any]) -> Followed | None:
    """The branch in a direction, which begins at the branch point."""
    curve = Curve(rest.family)
    way, tangent = (rest.unknown(part) for part in (direction, point.tangent))
    across = curve.unit(way - (tangent @ curve.gram @ way) * tangent)
    x = rest.start(point.q, point.parameter)
    origin = np.append(x, point.parameter / rest.size)
    for part in ONTO:
        size = part * options["step"]
        q, p = point.q + size * direction[:-1], point.parameter + size * direction[-1]
        found, _ = _followed(rest, q, p, way, options)
        if not found.places:
            continue
        moved = found.places[0].z - origin
        if across @ curve.gram @ moved < LEFT * size * float(across @ curve.gram @ way):
            continue
        _, J, slope = curve.evaluate(origin)
        growth = rest.growth(x, float(origin[-1])) if options["stability"] else Growth()
        first = Place(origin, J, slope, way, 0, growth)
        s = curve.length(moved)
        rows = [first, *(place._replace(s=place.s + s) for place in found.places)]
        later = [sp._replace(row=sp.row + 1, place=sp.place._replace(s=sp.place.s + s)) for sp in found.specials]
        return Followed(rows, later, found.message, found.complete)
    return None


def _with_branches(main: Continuation, depth: int, known: list[SpecialPoint] | None = None) -> Continuation:
    """The curve with what leaves its branch points, each point once."""
    known = [] if known is None else known
    if depth <= 0:
        return main
    new: list[Continuation] = []
    message, complete = main.message, main.complete
    for point in [point for point in main.points if point.kind == BRANCH]:
        crossed = [other for branch in new for other in branch.points if other.kind == BRANCH]
        there = any(_same(main, point, other) for other in [*known, *crossed])
        known.append(point)
        if there:
            continue
        found = switched(main, point, {})
        if not found:
            message, complete = f"{message}; no branch was found at {point.parameter:.6g}", False
        new += found
    branches = tuple(_with_branches(branch, depth - 1, known) for branch in new)
    return replace(main, branches=branches, message=message, complete=complete)


def _same(main: Continuation, a: SpecialPoint, b: SpecialPoint) -> bool:
    free = main.rest.free
    step = np.append((a.q - b.q)[free], np.zeros(len(main.rest.static.rows)))
    moved = float(np.linalg.norm(main.rest.metric @ step))
    return moved < NEAR and abs(a.parameter - b.parameter) < NEAR * main.rest.size
