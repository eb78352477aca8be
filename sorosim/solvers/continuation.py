"""Pseudo-arclength continuation: follows a curve of solutions F(x, w) = 0 past folds and branch points.

Predictor along the tangent, Newton's corrector across it, steps by how much the curve turns and how fast the corrector
converges (Keller 1977; Allgower and Georg, Numerical Continuation Methods, 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sorosim.solvers.base import one_blas_thread
from sorosim.solvers.curve import Curve, Family, Place
from sorosim.solvers.special import Special, special_places, zero_between

Array = NDArray[np.float64]

# how much the tangent may turn in a step, and by how much it had better [rad]
MOST_TURN, GOOD_TURN = 0.35, 0.12
# but at steps below this part of the longest one: a kink
KINK, MOST_KINK = 1e-2, 1.2
# so many corrections are as they should be
GOOD_CORRECTIONS = 5
FASTER, SLOWER = 2.0, 0.5
# a curve that comes back to its start has gone so many steps at least
FEWEST_ROUND = 5
# tangents with a smaller part along a direction are across it
ACROSS = 1e-6
TOO_SMALL = "stopped: steps became too small"
INTERRUPTED = "interrupted"
ROUND = "came back to its start"


@dataclass(frozen=True)
class Steps:
    """Lengths of steps along the curve, and how many."""

    first: float = 0.02
    largest: float = 0.1
    smallest: float = 1e-7
    most: int = 500
    low: float = -np.inf  # the range of w in which the curve is followed
    high: float = np.inf
    stop: Callable[[Array, float], bool] | None = None  # whether x, w is the last point


@dataclass
class Followed:
    """A piece of the curve."""

    places: list[Place]
    specials: list[Special] = field(default_factory=list)
    message: str = ""
    complete: bool = False  # whether it ends where it should: at the end of the range, at a stop, at its start


def follow_curve(family: Family, x: Array, w: float, along: Array, steps: Steps) -> tuple[Followed, Curve]:
    """Follow the curve from a solution.

    Parameters
    ----------
    family : Family
    x, w
        A solution, or near to one.
    along : (n + 1,)
        Which way: the part of the tangent along it is positive. The start is corrected across it.
    steps : Steps

    Returns
    -------
    Followed, Curve
        Without any place where the start cannot be corrected.
    """
    curve = Curve(family)
    with one_blas_thread(), np.errstate(all="ignore"):
        found = curve.correct(np.append(x, w), curve.gram @ along)
        start = None if found is None else curve.place(found, along)
        if start is None:
            return Followed([], message="no solution was found at the start"), curve
        return _follow(curve, _ahead(curve, start, along, steps), steps), curve


def _ahead(curve: Curve, start: Place, along: Array, steps: Steps) -> Place:
    """The start with the sense of its tangent in which the curve goes along, where the tangent itself is across."""
    if abs(start.tangent @ curve.gram @ along) > ACROSS * curve.length(along):
        return start
    back = start._replace(tangent=-start.tangent, side=-start.side)
    first = [curve.beyond(place, steps.first)[1] for place in (start, back)]
    gain = [-np.inf if z is None else float((z.z - start.z) @ curve.gram @ along) for z in first]
    return start if gain[0] >= gain[1] else back


def _follow(curve: Curve, start: Place, steps: Steps) -> Followed:
    out = Followed([start])
    try:
        return _go(curve, out, steps)
    except KeyboardInterrupt:  # what there is is handed over
        return _ended(curve, out, INTERRUPTED)


def _go(curve: Curve, out: Followed, steps: Steps) -> Followed:
    here, step = out.places[0], min(steps.first, steps.largest)
    while len(out.places) < steps.most:
        there = _step(curve, here, step, steps.largest)
        if there is None:
            step *= SLOWER
            if step < steps.smallest:
                return _ended(curve, out, TOO_SMALL)
            continue
        turn = _angle(curve, here.tangent, there.tangent)
        there, last = _last(curve, out.places, there, steps)
        out.specials += special_places(curve, here, there, len(out.places) - 1)
        out.places.append(there)
        if last:
            out.complete = True
            return _ended(curve, out, last)
        factor = np.clip(GOOD_TURN / max(turn, 1e-12), SLOWER, FASTER)
        if there.n_corrections > GOOD_CORRECTIONS:
            factor = min(factor, SLOWER)
        here, step = there, min(step * float(factor), steps.largest)
    return _ended(curve, out, f"stopped after {steps.most} points")


def _ended(curve: Curve, out: Followed, message: str) -> Followed:
    """What was found, and how it ended."""
    out.message = message
    if curve.lost:
        out.message += f"; {curve.lost} special points could not be located"
    return out


def _step(curve: Curve, here: Place, step: float, largest: float) -> Place | None:
    """The next point, None where the step is too long."""
    guess, there = curve.beyond(here, step)
    if there is None or curve.length(there.z - guess) > 0.5 * step:
        return None
    too_far = curve.family.too_far
    if too_far is not None and too_far(here.z[:-1], float(here.z[-1]), there.z[:-1], float(there.z[-1])):
        return None
    most = MOST_KINK if step <= KINK * largest else MOST_TURN
    return None if _angle(curve, here.tangent, there.tangent) > most else there


def _beyond(bound: float, place: Place) -> float:
    return float(place.z[-1]) - bound


def _angle(curve: Curve, a: Array, b: Array) -> float:
    return float(2.0 * np.arcsin(min(0.5 * curve.length(a - b), 1.0)))


def _last(curve: Curve, places: list[Place], there: Place, steps: Steps) -> tuple[Place, str]:
    """The last point instead of one beyond it, and why it is the last; "" if it is not."""
    here, start, w = places[-1], places[0], float(there.z[-1])
    for bound in (steps.low, steps.high):
        if (w - bound) * (here.z[-1] - bound) < 0.0 or w == bound:
            share = float((bound - here.z[-1]) / (w - here.z[-1]))
            end = curve.where(bound, here, there, share)
            if end is None:  # near a fold
                end = zero_between(curve, here, there, partial(_beyond, bound))
            if end is not None:
                return end, "reached the end of the range"
    if len(places) >= FEWEST_ROUND and there.tangent @ curve.gram @ start.tangent > np.cos(MOST_TURN):
        way, same = curve.gram @ start.tangent, start.z + there.z - curve.turned(there.z, start.z)
        past, step, left = there.z - same, curve.length(there.z - here.z), curve.length(same - here.z)
        if way @ past >= 0.0 > way @ (here.z - same) and max(curve.length(past), left) <= step:
            return start._replace(z=same, s=here.s + left), ROUND
    if steps.stop is not None and steps.stop(there.z[:-1], w):
        return there, "stopped where it was asked to"
    return there, ""
