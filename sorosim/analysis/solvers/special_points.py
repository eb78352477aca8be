"""Special points of a curve of solutions: folds, branch points, flutter and other changes of stability.

Between two points of the curve a change of a test function tells that there is one; it is then located. Folds: the
tangent's part along the parameter is zero. Branch points: the determinant of [J slope; tangent] changes its sign, or
the number of unstable motions changes by more than a fold explains. Flutter: the number of growing oscillations
changes. Directions of other branches at a simple branch point are the roots of its bifurcation equation (Keller 1977).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from sorosim.analysis.solvers.bordered import Border, Scales, null_vectors
from sorosim.analysis.solvers.curve import PITCHFORK_ROUNDING, Curve, CurvePoint
from sorosim.base.arrays import Array
from sorosim.mechanics.linear.growth import Growth

FOLD, BRANCH, FLUTTER, STABILITY = "fold", "branch", "flutter", "stability"
# points are located to this part of a step
LOCATION_TOLERANCE = 1e-10
# from ends of a step that are farther apart points beside a branch point are not found to rounding
BRACKET_WIDTH = 1e-3
# an interval that is lost in rounding below this width is located well enough
ACCEPTED_WIDTH = 1e-6
# singular values below this part of the same farther away are zero at a branch point
ZERO_AT_BRANCH = 1e-2
# rank tolerance: below this part of the largest they are zero everywhere
ZERO_EVERYWHERE = 1e-9
# a step in which there are several special points is halved so often; those that are still together are one, as where a
# branch turns back at the point where it crosses another
MAX_HALVINGS = 5
# and so often where several motions become unstable; those left do so together, as of a round column
MAX_HALVINGS_OF_A_KIND = 12
# points of one curve are no farther apart than this times their part of the chord: a step turns by 1.2 rad at most, and
# 1/cos(1.2) = 2.8
MOST_APART = 3.0
# part of a step that points to both sides of a branch point are apart from it
SIDE_OFFSET = 0.02
# step of the differences that give second derivatives along null vectors
DIFFERENCE_STEP = 1e-4


class LocatedPoint(NamedTuple):
    """A special point."""

    kind: str
    point: CurvePoint
    row: int  # it is between this point of the curve and the next
    directions: tuple[Array, ...]  # (n + 1,) unit: of branches; of others what the solution does there
    before: Growth
    after: Growth


def special_points(curve: Curve, a: CurvePoint, b: CurvePoint, row: int, depth: int = 0) -> list[LocatedPoint]:
    """Special points between two points of the curve, in their order."""
    buckled, fluttering = (y - x for x, y in zip(a.growth, b.growth, strict=True))
    # pairs that cease to oscillate become two motions that do not, or come of them
    exchanged = buckled * fluttering < 0
    fold, flutter = bool(a.tangent[-1] * b.tangent[-1] < 0.0), fluttering != 0
    alone = buckled + 2 * fluttering if exchanged else buckled
    explained = alone in ((1, -1) if fold else (0,)) or curve.problem.growth is None
    branch = _determinant_changes_sign(a, b) or not explained
    of_a_kind = max(abs(alone), abs(fluttering)) > 1
    several = fold + branch + flutter > 1 or of_a_kind
    if (
        several
        and depth < (MAX_HALVINGS_OF_A_KIND if of_a_kind else MAX_HALVINGS)
        and (middle := curve.between(a, b, 0.5)) is not None
    ):
        halves = (a, middle), (middle, b)
        return [special for half in halves for special in special_points(curve, *half, row, depth + 1)]
    points: list[LocatedPoint] = []
    if fold and (point := _noted(curve, a, b, zero_between(curve, a, b, lambda p: float(p.tangent[-1])))) is not None:
        points.append(LocatedPoint(FOLD, point, row, (point.tangent,), a.growth, b.growth))
    if branch:
        points += _branch(curve, a, b, row, abs(alone) if of_a_kind and not (fold or flutter) else 0)
    if flutter and (point := _noted(curve, a, b, _count_change(curve, a, b, lambda p: p.growth.flutter))) is not None:
        kind = STABILITY if exchanged else FLUTTER
        points.append(LocatedPoint(kind, point, row, (point.tangent,), a.growth, b.growth))
    return sorted(points, key=lambda special: special.point.s)


def _determinant_changes_sign(a: CurvePoint, b: CurvePoint) -> bool:
    """Whether the determinant changes its sign; with rigid-body modes that sign is rounding and is ignored."""
    return a.orientation * b.orientation < 0 and a.neutral_modes is None and b.neutral_modes is None


def _noted(curve: Curve, a: CurvePoint, b: CurvePoint, point: CurvePoint | None) -> CurvePoint | None:
    """The point between a and b; of a missing one it is noted where it would be."""
    if point is None:
        low, high = sorted((float(a.z[-1]), float(b.z[-1])))
        curve.missed.append((low, high))
    return point


def _branch(curve: Curve, a: CurvePoint, b: CurvePoint, row: int, together: int) -> list[LocatedPoint]:
    """The branch point between a and b; where nothing becomes singular it is another change of stability, or none.

    together: how many motions begin to grow so near to each other that they count as one point, at least.
    """
    point = _determinant_zero(curve, a, b) if _determinant_changes_sign(a, b) else None
    if point is None:
        point = _count_change(curve, a, b, lambda p: p.growth.buckling)
    if _noted(curve, a, b, point) is None or point is None:
        return []
    share, scales = (point.s - a.s) / (b.s - a.s), curve.scales(a)
    tangent = _tangent(curve, a, b, share)
    before, at_point, after = (null_vectors(p.J, p.slope, scales)[2] for p in (a, point, b))
    neighbours = np.maximum(before, after)
    # rigid-body modes are singular everywhere
    regular = neighbours > ZERO_EVERYWHERE * neighbours[0]
    vanished = int(((at_point < ZERO_AT_BRANCH * neighbours) & regular).sum())
    if vanished:
        vanished = min(max(vanished, together), int(regular.sum()))
        point = point._replace(tangent=_in_null_space(curve, point, scales, vanished, tangent))
        return [LocatedPoint(BRANCH, point, row, _directions(curve, point, scales, vanished), a.growth, b.growth)]
    if a.growth == b.growth:
        return []
    return [LocatedPoint(STABILITY, point, row, (point.tangent,), a.growth, b.growth)]


def _determinant_zero(curve: Curve, a: CurvePoint, b: CurvePoint) -> CurvePoint | None:
    """Where the determinant changes its sign: by a smooth function near to it, where points are found exactly."""
    near = _bracket(curve, a, b, lambda p: p.orientation, BRACKET_WIDTH)
    if near is None:
        return _smooth_zero(curve, a, b)
    return _smooth_zero(curve, *near) or _count_change(curve, *near, lambda p: p.orientation)


def _smooth_zero(curve: Curve, a: CurvePoint, b: CurvePoint) -> CurvePoint | None:
    """Where [J slope; tangent] is singular: a bordered determinant is zero, which is smooth along the curve."""
    row = curve.gram @ a.tangent
    scales = curve.scales(a)
    border = min((Border.of(p.J, p.slope, row, scales) for p in (a, b)), key=lambda bordered: bordered.singular_value)
    return zero_between(curve, a, b, lambda p: border.determinant(p.J, p.slope, row))


def zero_between(curve: Curve, a: CurvePoint, b: CurvePoint, value: Callable[[CurvePoint], float]) -> CurvePoint | None:
    """Where a function of points, of different signs at a and b, is zero."""
    known: dict[float, CurvePoint] = {0.0: a, 1.0: b}

    def at(share: float) -> float:
        if share not in known:
            known[share] = _between(curve, a, b, share)
        return value(known[share])

    try:
        share = float(brentq(at, 0.0, 1.0, xtol=LOCATION_TOLERANCE, rtol=1e-14))
        at(share)
    except (ValueError, _NotOnCurve):
        return None
    # neither side of it has leapt onto another curve
    shares = sorted(known)
    k, point = shares.index(share), known[share]
    beside = [known[near] for near in shares[max(k - 1, 0) : k + 2]]
    return point if all(_on_one_curve(curve, a, b, point, other) for other in beside) else None


def _on_one_curve(curve: Curve, a: CurvePoint, b: CurvePoint, one: CurvePoint, other: CurvePoint) -> bool:
    """Whether two points between a and b are as near to each other as their part of the way from a to b."""
    part = abs(other.s - one.s) / (b.s - a.s)
    apart = curve.length(other.z - one.z)
    return bool(apart <= MOST_APART * part * curve.length(b.z - a.z) + PITCHFORK_ROUNDING)


def _count_change(curve: Curve, a: CurvePoint, b: CurvePoint, count: Callable[[CurvePoint], int]) -> CurvePoint | None:
    """Where an integer function changes from its value at a."""
    bracket = _bracket(curve, a, b, count, LOCATION_TOLERANCE)
    return None if bracket is None else bracket[1]


def _bracket(
    curve: Curve, a: CurvePoint, b: CurvePoint, count: Callable[[CurvePoint], int], narrow: float
) -> tuple[CurvePoint, CurvePoint] | None:
    """Two points of the curve, `narrow` of the interval apart, between which an integer function changes.

    Each half is the next interval: near a branch point points of the curve are found only from neighbours that are
    nearer to them than the branch is.
    """
    low, high, width, first = a, b, 1.0, count(a)
    if first == count(b):
        return None
    try:
        while width > narrow:
            middle, width = _between(curve, low, high, 0.5), 0.5 * width
            low, high = (middle, high) if count(middle) == first else (low, middle)
    except _NotOnCurve:
        if width >= ACCEPTED_WIDTH:
            return None
    return (low, high) if _on_one_curve(curve, a, b, low, high) else None


class _NotOnCurve(Exception):
    """No point of the curve was found between two."""


def _between(curve: Curve, a: CurvePoint, b: CurvePoint, share: float) -> CurvePoint:
    point = curve.between(a, b, share)
    if point is None:
        raise _NotOnCurve
    return point


def _tangent(curve: Curve, a: CurvePoint, b: CurvePoint, share: float) -> Array:
    """Tangent of the curve where that of one point is lost in rounding, from two points beside it."""
    ends = [curve.between(a, b, min(max(share + side * SIDE_OFFSET, 0.0), 1.0)) for side in (-1.0, 1.0)]
    before, after = (a.z, b.z) if None in ends else (end.z for end in ends if end is not None)
    return curve.unit(after - before)


def _in_null_space(curve: Curve, point: CurvePoint, scales: Scales, dimension: int, vector: Array) -> Array:
    """The null vector at a branch point that is nearest to a vector."""
    right, _, values = null_vectors(point.J, point.slope, scales)
    basis = np.array([curve.unit(v) for v in right[len(values) - dimension :] if curve.length(v) > 0.0])
    components = np.linalg.lstsq(basis @ curve.gram @ basis.T, basis @ curve.gram @ vector, rcond=None)[0]
    return curve.unit(components @ basis)


def _directions(curve: Curve, point: CurvePoint, scales: Scales, dimension: int) -> tuple[Array, ...]:
    """Unit directions (n + 1,) of other branches at a branch point.

    With null vectors t, the tangent, and f of [J slope], and the left one y, a branch a t + b f has
    2 a b y.F''tf + b^2 y.F''ff = 0. Of a multiple point its null vectors are given.
    """
    right, left, values = null_vectors(point.J, point.slope, scales)
    n = len(values)
    basis = [point.tangent]
    for vector in right[n - dimension :]:
        if not curve.length(vector) > 0.0:
            continue
        other = curve.unit(vector)
        for known in basis:
            other = other - (known @ curve.gram @ other) * known
        if curve.length(other) > 1e-3:
            largest = other[np.argmax(np.abs(other))]
            basis.append(curve.unit(other) * np.sign(largest))  # of two signs always the same one
    others = basis[1:]
    if len(others) != 1:
        return tuple(others)
    f, from_left = others[0], left[:, -1]
    size = DIFFERENCE_STEP
    ahead, behind = (curve.evaluate(point.z + side * size * f) for side in (1.0, -1.0))
    # F'' f, as a row of what the left null vector leaves of it
    by_x, by_w = (from_left @ (x - y) / (2.0 * size) for x, y in zip(ahead[1:], behind[1:], strict=True))
    mixed, second = (float(by_x @ v[:-1] + by_w * v[-1]) for v in (point.tangent, f))
    if not abs(mixed) > 1e-6 * abs(second):
        return (f,)
    return (curve.unit(f - 0.5 * second / mixed * point.tangent),)
