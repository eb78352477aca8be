"""Pseudo-arclength continuation: follows a curve of solutions F(x, w) = 0 past folds and branch points.

Predictor along the tangent, Newton's corrector across it, steps by how much the curve turns and how fast the corrector
converges (Keller 1977; Allgower and Georg, Numerical Continuation Methods, 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from sorosim.analysis.solvers.curve import ContinuationProblem, Curve, CurvePoint
from sorosim.analysis.solvers.special_points import LocatedPoint, special_points, zero_between
from sorosim.base.arrays import Array
from sorosim.base.ode import one_blas_thread

# how much the tangent may turn in a step, and by how much it had better [rad]
MAX_TURN, TARGET_TURN = 0.35, 0.12
# and at a kink: in steps below this part of the longest one
KINK_STEP, MAX_KINK_TURN = 1e-2, 1.2
# more corrections than these shorten the step
TARGET_CORRECTIONS = 5
MAX_STEP_FACTOR, MIN_STEP_FACTOR = 2.0, 0.5
# fewest steps of a closed curve
MIN_CLOSED_POINTS = 5
# a tangent with a smaller part along a direction is orthogonal to it
ORTHOGONAL = 1e-6
TOO_SMALL = "stopped: steps became too small"
INTERRUPTED = "interrupted"
CLOSED = "came back to its start"


@dataclass(frozen=True)
class StepOptions:
    """Lengths of steps along the curve, and how many."""

    first: float = 0.02
    largest: float = 0.1
    smallest: float = 1e-7
    max_points: int = 500
    low: float = -np.inf  # the range of w in which the curve is followed
    high: float = np.inf
    stop: Callable[[Array, float], bool] | None = None  # whether x, w is the last point


@dataclass
class TracedCurve:
    """A piece of the curve."""

    points: list[CurvePoint]
    specials: list[LocatedPoint] = field(default_factory=list)
    message: str = ""
    complete: bool = False  # whether it ends where it should: at the end of the range, at a stop, at its start
    passed: list[tuple[float, float]] = field(default_factory=list)  # w between which another curve is near


def follow_curve(
    problem: ContinuationProblem, x: Array, w: float, along: Array, steps: StepOptions
) -> tuple[TracedCurve, Curve]:
    """Follow the curve from a solution.

    Parameters
    ----------
    problem : ContinuationProblem
    x, w
        A solution, or near to one.
    along : (n + 1,)
        Which way: the part of the tangent along it is positive. The start is corrected across it.
    steps : StepOptions

    Returns
    -------
    TracedCurve, Curve
        Without any point where the start cannot be corrected.
    """
    curve = Curve(problem)
    with one_blas_thread(), np.errstate(all="ignore"):
        corrected = curve.correct(np.append(x, w), curve.gram @ along)
        start = None if corrected is None else curve.point(corrected, along)
        if start is None:
            return TracedCurve([], message="no solution was found at the start"), curve
        return _follow(curve, _oriented_start(curve, start, along, steps), steps), curve


def _oriented_start(curve: Curve, start: CurvePoint, along: Array, steps: StepOptions) -> CurvePoint:
    """The start with its tangent in the sense of `along`; first steps decide where the two are orthogonal."""
    if abs(start.tangent @ curve.gram @ along) > ORTHOGONAL * curve.length(along):
        return start
    back = start._replace(tangent=-start.tangent, orientation=-start.orientation)
    first = [curve.predict(point, steps.first)[1] for point in (start, back)]
    gain = [-np.inf if z is None else float((z.z - start.z) @ curve.gram @ along) for z in first]
    return start if gain[0] >= gain[1] else back


def _follow(curve: Curve, start: CurvePoint, steps: StepOptions) -> TracedCurve:
    out = TracedCurve([start])
    try:
        return _take_steps(curve, out, steps)
    except KeyboardInterrupt:  # the points so far are the result
        return _with_message(curve, out, INTERRUPTED)


def _take_steps(curve: Curve, out: TracedCurve, steps: StepOptions) -> TracedCurve:
    current, step = out.points[0], min(steps.first, steps.largest)
    leap: _Leap | None = None  # the last one, until steps are as long again
    while len(out.points) < steps.max_points:
        next_point = _step(curve, current, step, steps.largest)
        if next_point is None:
            step *= MIN_STEP_FACTOR
            if step >= steps.smallest:
                continue
            if leap is None:
                return _with_message(curve, out, TOO_SMALL)
            # shorter steps do not get past a point that cannot be located
            current, step, leap = leap.take(curve, out), leap.step, None
            continue
        turn = _angle(curve, current.tangent, next_point.tangent)
        next_point, last = _ending(curve, out.points, next_point, steps)
        n_missed, row = len(curve.missed), len(out.points) - 1
        found = special_points(curve, current, next_point, row)
        if len(curve.missed) > n_missed and MIN_STEP_FACTOR * step >= steps.smallest:
            # the curve has none: the step has leapt onto another one, as past an imperfect bifurcation
            missed, curve.missed[n_missed:] = curve.missed[n_missed:], []
            if leap is None:
                leap = _Leap(next_point, found, missed, row, step)
                out.passed.append(missed[0])
            else:
                out.passed[-1] = missed[0]
            step *= MIN_STEP_FACTOR
            continue
        out.specials += found
        out.points.append(next_point)
        if last:
            out.complete = True
            return _with_message(curve, out, last)
        if leap is not None and step >= leap.step:
            leap = None
        factor = np.clip(TARGET_TURN / max(turn, 1e-12), MIN_STEP_FACTOR, MAX_STEP_FACTOR)
        if next_point.n_corrections > TARGET_CORRECTIONS:
            factor = min(factor, MIN_STEP_FACTOR)
        current, step = next_point, min(step * float(factor), steps.largest)
    return _with_message(curve, out, f"stopped after {steps.max_points} points")


class _Leap(NamedTuple):
    """A step across a special point that could not be located."""

    point: CurvePoint
    specials: list[LocatedPoint]
    missed: list[tuple[float, float]]
    row: int  # it began there
    step: float

    def take(self, curve: Curve, out: TracedCurve) -> CurvePoint:
        """Take it after all, instead of what was found by shorter ones."""
        del out.points[self.row + 1 :], out.passed[-1]
        out.specials = [special for special in out.specials if special.row < self.row] + self.specials
        out.points.append(self.point)
        curve.missed += self.missed
        return self.point


def _with_message(curve: Curve, out: TracedCurve, message: str) -> TracedCurve:
    """The curve with a message how it ended, and what was not found on the way."""
    scale = curve.problem.scale
    for low, high in out.passed:
        near = f"near another one between {low * scale:.5g} and {high * scale:.5g}"
        message += f"; the curve passes {near}, as robots with imperfections do near a branch point"
    for low, high in curve.missed:
        message += f"; a special point between {low * scale:.5g} and {high * scale:.5g} could not be located"
    out.message = message
    return out


def _step(curve: Curve, current: CurvePoint, step: float, largest: float) -> CurvePoint | None:
    """The next point, None where the step is too long."""
    guess, next_point = curve.predict(current, step)
    if next_point is None or curve.length(next_point.z - guess) > 0.5 * step:
        return None
    may_tunnel = curve.problem.may_tunnel
    if may_tunnel is not None and may_tunnel(
        current.z[:-1], float(current.z[-1]), next_point.z[:-1], float(next_point.z[-1])
    ):
        return None
    most = MAX_KINK_TURN if step <= KINK_STEP * largest else MAX_TURN
    return None if _angle(curve, current.tangent, next_point.tangent) > most else next_point


def _beyond(bound: float, point: CurvePoint) -> float:
    return float(point.z[-1]) - bound


def _angle(curve: Curve, a: Array, b: Array) -> float:
    return float(2.0 * np.arcsin(min(0.5 * curve.length(a - b), 1.0)))


def _ending(curve: Curve, points: list[CurvePoint], beyond: CurvePoint, steps: StepOptions) -> tuple[CurvePoint, str]:
    """The last point instead of one beyond it, and why it is the last; "" if it is not."""
    current, start, w = points[-1], points[0], float(beyond.z[-1])
    for bound in (steps.low, steps.high):
        if (w - bound) * (current.z[-1] - bound) < 0.0 or w == bound:
            share = float((bound - current.z[-1]) / (w - current.z[-1]))
            end = curve.at_parameter(bound, current, beyond, share)
            if end is None:  # near a fold
                end = zero_between(curve, current, beyond, partial(_beyond, bound))
            if end is not None:
                return end, "reached the end of the range"
    if len(points) >= MIN_CLOSED_POINTS and beyond.tangent @ curve.gram @ start.tangent > np.cos(MAX_TURN):
        direction, image = curve.gram @ start.tangent, start.z + beyond.z - curve.unwrapped(beyond.z, start.z)
        past, step, gap = beyond.z - image, curve.length(beyond.z - current.z), curve.length(image - current.z)
        if direction @ past >= 0.0 > direction @ (current.z - image) and max(curve.length(past), gap) <= step:
            return start._replace(z=image, s=current.s + gap), CLOSED
    if steps.stop is not None and steps.stop(beyond.z[:-1], w):
        return beyond, "stopped where it was asked to"
    return beyond, ""
