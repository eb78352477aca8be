"""Curves of equilibria: both ways from a start, and onto the branches that leave a branch point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.analysis.bifurcation.equilibrium_family import EquilibriumFamily
from sorosim.analysis.solvers.continuation import CLOSED, INTERRUPTED, StepOptions, TracedCurve, follow_curve
from sorosim.analysis.solvers.curve import Curve, CurvePoint
from sorosim.analysis.solvers.special_points import BRANCH, FLUTTER, LocatedPoint
from sorosim.base.arrays import Array
from sorosim.base.ode import one_blas_thread
from sorosim.mechanics.linear.growth import Growth

# first steps onto a branch, as parts of a step, tried in this order
FIRST_STEPS = (1.0, 0.25, 4.0, 1.0 / 16.0)
# a first point with a smaller part of its step along the branch is on the old curve
LEAST_PROGRESS = 0.3
# directions whose first points are no farther apart than this [rad] lead to the same branch
SAME_DIRECTION = 0.2
# sums and differences of up to so many null vectors are tried
MOST_COMBINED = 3


@dataclass(frozen=True, eq=False)
class SpecialPoint:
    """A fold, a branch point, or where equilibria lose or regain their stability."""

    kind: str  # "fold", "branch", "flutter" (an oscillation begins or ends to grow), "stability" (any other change)
    parameter: float
    q: Array  # (ndof,)
    arclength: float
    row: int  # it is between this row of the curve and the next
    tangent: Array  # (ndof + 1,) of the curve: coordinates and parameter
    directions: Array  # (k, ndof + 1) of other branches
    before: Growth  # unstable motions before and after it
    after: Growth
    frequency: float = 0.0  # of flutter [Hz]
    oscillation: NDArray[np.complex128] | None = None  # (ndof,) mode of flutter

    @classmethod
    def of(cls, family: EquilibriumFamily, located: LocatedPoint) -> SpecialPoint:
        """The special point in the robot's coordinates."""
        x, w = located.point.z[:-1], float(located.point.z[-1])
        frequency, mode = family.oscillation(x, w) if located.kind == FLUTTER else (0.0, None)
        directions = np.array([family.to_coordinates(d) for d in located.directions]).reshape(-1, family.robot.ndof + 1)
        return cls(
            located.kind, w * family.scale, family.q(x, w), located.point.s, located.row,
            family.to_coordinates(located.point.tangent), directions if located.kind == BRANCH else directions[:0],
            located.before, located.after, frequency, mode,
        )  # fmt: skip

    @property
    def mode(self) -> Array:
        """How the robot moves there (ndof,): along the curve at a fold, along a branch, or as it flutters."""
        if self.oscillation is not None:
            return np.asarray(self.oscillation.real)
        return (self.directions[0] if len(self.directions) else self.tangent)[:-1]

    def __repr__(self) -> str:
        return f"<{self.kind} at {self.parameter:.6g}>"


def trace(family: EquilibriumFamily, q: Array, p: float, along: Array, options: Mapping[str, Any]) -> TracedCurve:
    """Follow the curve through the equilibrium near q (ndof,) at the parameter p, in the sense of `along` (n + 1,)."""
    problem = family.problem if options["stability"] else replace(family.problem, growth=None)
    stop, scale = options["stop"], family.scale
    stops = None if stop is None else (lambda x, w: bool(stop(w * scale, family.q(x, w))))
    low, high = (bound / scale for bound in options["until"])
    steps = StepOptions(options["ds"], options["ds_max"], options["ds_min"], options["max_points"], low, high, stops)
    return follow_curve(problem, family.unknowns(q, p), p / scale, along, steps)[0]


def joined(back: TracedCurve, on: TracedCurve) -> TracedCurve:
    """The curve backwards to the start, and on."""
    if back.message.startswith(CLOSED):
        return on
    points = [_reversed(point) for point in back.points[:0:-1]]
    n = len(points)
    specials = [
        s._replace(point=_reversed(s.point), row=n - 1 - s.row, before=s.after, after=s.before) for s in back.specials
    ]
    specials = specials[::-1] + [s._replace(row=s.row + n) for s in on.specials]
    message = f"backwards {back.message}, onwards {on.message}"
    return TracedCurve([*points, *on.points], specials, message, back.complete and on.complete)


def _reversed(point: CurvePoint) -> CurvePoint:
    return point._replace(s=-point.s, tangent=-point.tangent)


# -- branches ----------------------------------------------------------------------------------------------------------


def switched(family: EquilibriumFamily, point: SpecialPoint, options: Mapping[str, object]) -> list[TracedCurve]:
    """The branches that leave a branch point, both ways each."""
    out: list[TracedCurve] = []
    curve, x = Curve(family.problem), family.unknowns(point.q, point.parameter)
    origin = np.append(x, point.parameter / family.scale)
    with one_blas_thread(), np.errstate(all="ignore"):
        _, J, slope = curve.evaluate(origin)
        growth = family.growth(x, float(origin[-1])) if options["stability"] else Growth()
    start = CurvePoint(origin, J, slope, family.to_unknowns(point.tangent), 0, growth)
    transverse = np.array([_transverse(curve, start, family.to_unknowns(d)) for d in point.directions])
    axisymmetric = False
    taken: list[Array] = []  # directions of branches, and the opposite ones of closed branches
    for k, direction in enumerate(_directions(point.directions)):
        if k >= 2 * len(point.directions) and axisymmetric:
            break
        first = _first_point(family, curve, start, direction, options)
        if first is None:
            continue
        # in the null space the two directions of a branch are opposite, however it is curved
        leaving = transverse @ curve.gram @ (first - start.z)
        leaving /= np.linalg.norm(leaving)
        if any(leaving @ other > np.cos(SAME_DIRECTION) for other in taken):
            continue
        branch = _branch(family, curve, start, first, family.to_unknowns(direction), options)
        if branch is None:
            continue
        out.append(branch)
        taken += [leaving, -leaving] if branch.message.startswith(CLOSED) else [leaving]
        # as of a round column: one branch represents a continuum of them
        axisymmetric = branch.points[1].neutral_modes is not None
    return out


def _directions(null_vectors: Array) -> list[Array]:
    """Directions (ndof + 1,) in which branches may leave: null vectors, and of several also their combinations."""
    m = len(null_vectors)
    alone = [sign * vector for vector in null_vectors for sign in (1.0, -1.0)]
    if not 1 < m <= MOST_COMBINED:
        return alone
    signs = [np.array(part) for part in product((1.0, -1.0, 0.0), repeat=m) if np.count_nonzero(part) > 1]
    return alone + [part @ null_vectors / np.linalg.norm(part) for part in signs]


def _transverse(curve: Curve, start: CurvePoint, step: Array) -> Array:
    """The part of a step (n + 1,) that is orthogonal to the curve."""
    return np.asarray(step - (start.tangent @ curve.gram @ step) * start.tangent)


def _first_point(
    family: EquilibriumFamily, curve: Curve, start: CurvePoint, direction: Array, options: Mapping[str, Any]
) -> Array | None:
    """First point (n + 1,) of the branch in a direction (ndof + 1,); None where there is only the first curve."""
    along = family.to_unknowns(direction)
    transverse = curve.unit(_transverse(curve, start, along))
    for part in FIRST_STEPS:
        size = part * options["ds"]
        step = size * direction
        q = family.q(start.z[:-1], float(start.z[-1])) + step[:-1]
        p = start.z[-1] * family.scale + step[-1]
        with one_blas_thread(), np.errstate(all="ignore"):
            corrected = curve.correct(np.append(family.unknowns(q, p), p / family.scale), curve.gram @ along)
        if corrected is None:
            continue
        least = LEAST_PROGRESS * size * float(transverse @ curve.gram @ along)
        if transverse @ curve.gram @ (corrected.z - start.z) >= least:
            return corrected.z
    return None


def _branch(
    family: EquilibriumFamily, curve: Curve, start: CurvePoint, first: Array, along: Array,
    options: Mapping[str, object],
) -> TracedCurve | None:  # fmt: skip
    """The branch through its first point, from the branch point on."""
    w = float(first[-1])
    onward = trace(family, family.q(first[:-1], w), w * family.scale, along, options)
    if onward.message.startswith(INTERRUPTED):
        raise KeyboardInterrupt
    if not onward.points:
        return None
    s = curve.length(onward.points[0].z - start.z)
    points = [start._replace(tangent=along), *(point._replace(s=point.s + s) for point in onward.points)]
    later = [sp._replace(row=sp.row + 1, point=sp.point._replace(s=sp.point.s + s)) for sp in onward.specials]
    return TracedCurve(points, later, onward.message, onward.complete)
