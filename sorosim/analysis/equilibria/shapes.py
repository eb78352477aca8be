"""Shapes of rods through points: from where a rod passes to the strains of least energy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline
from scipy.linalg import solve_triangular
from scipy.optimize import brentq

from sorosim.analysis.equations.strains import ShapeLimits
from sorosim.analysis.equilibria.assembly import close
from sorosim.analysis.solvers.nearest import Nearest
from sorosim.base.arrays import Array, IntArray
from sorosim.base.declare import At, Scope
from sorosim.base.errors import ConvergenceError, InputError, ModelError
from sorosim.base.ode import one_blas_thread
from sorosim.base.options import checked
from sorosim.base.problems import failure
from sorosim.base.public import public
from sorosim.base.validation import Values
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.prescribed import by_name, signal_of
from sorosim.mechanics.lie import exp_so3, skew
from sorosim.mechanics.model.chart import Charts
from sorosim.mechanics.model.initial import JOINT, WORLD, InitialShape, has_fixed_length
from sorosim.mechanics.model.layout import LinkLayout
from sorosim.mechanics.robot import Robot, check_robot

# points may be apart by so much more than the rod between them is long, if it cannot be stretched: they are measured
SLACK = 0.02
# missed by more than this part of its length, points are not those of this rod; by less than that, it meets them
HOPELESS, NEAR = 0.2, 5e-3
# weights of the elastic energy, one after the other: the first keep the rod from winding, the last is rounding beside
# the points. A search from a curve through the points begins by the second part, one from the unloaded rod by the first
FIRST_WEIGHTS, WEIGHTS = (1.0, 0.1, 1e-2), (1e-3, 1e-4, 1e-5, 1e-6, 1e-9)
# points are met more closely than by this weight only at less than twice the energy, missed distances counted in: rods
# that stretch little would wind to and fro between points that are known to a part of a millimetre
USUAL = 1e-6
DRIFT = 1e-6  # of it, a radian or a length of the rod of what has no stiffness
MET = 1e-10  # points missed by so little, in lengths of the rod, are met
EQUAL = 0.05  # of shapes whose energies differ by no more than this part, the one whose weight hangs lowest is taken
ROUNDING = 1e-14  # of the largest entry of the stiffness
SAMPLES = 400  # of the curve that a search begins from
THIRD = 2.0 * np.pi / 3.0  # angles by which the base is tried, so that one is near to any
ROLL = 0.1  # weight of how the section of the base is turned about its tangent, beside the tangent


class FittedShape(NamedTuple):
    """A shape of a rod that passes through points, or near them."""

    q: Array  # (ndof,)
    arc_lengths: Array  # (n,) of the unloaded rod where it passes each point [m]
    missed: Array  # (n,) distance from each point [m]
    message: str


@public
def fit_shape(
    robot: Robot, link: str, through: ArrayLike, *, arc_lengths: Any = None, frame: str | None = None,
    q0: Values | None = None, fixed: Sequence[str] = (),
) -> FittedShape:  # fmt: skip
    """Shape of a rod that passes through points, or as near as it can, with about the least elastic energy.

    Coordinates of the rod and of its joint change; loops are not closed: `assemble` does that. `initial` of a file
    takes the same points.

    Parameters
    ----------
    robot : Robot
    link : str
        Name of a link with a rod of given length.
    through : (n, 3) array_like
        Points on the centreline, from base to tip [m, or texts with units].
    arc_lengths : (n,) array_like, optional
        Where on the unloaded rod each point is, from the base, increasing [m, or texts with units]. Default: the first
        one at the base where the joint lets it be there, the last one at the tip, others anywhere.
    frame : {"joint", "world"}
        Frame of the points: that of the link's joint on its parent (default), or the world.
    q0 : (ndof,) array_like or mapping
        All other coordinates. Default: the file's `initial` block.
    fixed : sequence of str
        Coordinates of the link that keep their values, such as ``rope.torsion[0]``.

    Returns
    -------
    FittedShape
        Coordinates, and how far each point is missed [m].

    Raises
    ------
    InputError
        A wrong name or value; points that are farther apart than the rod between them is long, or that it misses by
        more than a fifth of its length.

    Notes
    -----
    The least elastic energy on the rod's own kinematics while the points are met: springs draw the rod to them, from a
    spline through the points, which sags along gravity where the rod is longer, and from the unloaded rod. Points that
    no smooth shape meets are missed a little rather than met at more than twice the energy. Source: docs/theory.md, 9.
    """
    check_robot(robot)
    if isinstance(through, np.ndarray):
        through = through.tolist()
    given = {"through": through, "arc_lengths": arc_lengths, "frame": frame or JOINT}
    try:
        shape = InitialShape(**checked(InitialShape, given))
    except ModelError as error:
        raise InputError(error.where.removeprefix("initialshape."), error.expected, error.got, error.hint) from None
    q = robot.initial_q if q0 is None else robot.coordinates(q0, "q0")
    if isinstance(fixed, str):
        raise InputError("fixed", "a list of names", f"'{fixed}'")
    names = robot.coordinate_names
    unknown = [name for name in fixed if name not in names]
    if unknown:
        raise InputError("fixed", "names of coordinates", f"'{unknown[0]}'")
    return fitted(robot, link, shape, q, [names.index(name) for name in fixed])


def fitted(robot: Robot, link: str, shape: InitialShape, q: Array, fixed: Collection[int]) -> FittedShape:
    """As `fit_shape`, of arguments that are checked; `fixed` are indices of coordinates."""
    layout = robot.engine.layout.links.get(link)
    rods = [name for name, one in robot.engine.layout.links.items() if has_fixed_length(one)]
    if layout is None or not has_fixed_length(layout):
        raise InputError("through", "the name of a rod of given length", f"'{link}'", f"rods: {', '.join(rods)}"[:80])
    with one_blas_thread(), np.errstate(all="ignore"):
        try:
            fit = _Fit(robot, link, layout, shape, q, fixed)
            fit.check_reach()
            best = fit.best()
        except np.linalg.LinAlgError:
            expected, got = "points, and a rod, that can be computed with", "an overflow"
            raise InputError("through", expected, got, "look for a wrong unit") from None
        if not best.missed.max() <= HOPELESS * fit.length:
            k = int(best.missed.argmax())
            expected = f"points that '{link}' can pass through, as its strains and its joint are"
            way = float(np.linalg.norm(np.diff(fit.points, axis=0), axis=1).sum())
            hint = f"the rod is {fit.length:.4g} m long, the way along the points {way:.4g} m"
            hint = hint if way > fit.length else ""
            raise InputError(f"through[{k}]", expected, f"one that it misses by {best.missed[k]:.3g} m", hint)
        return best


def initial_shapes(robot: Robot, start: Array) -> Array:
    """Start (ndof,) of a robot whose description names points of rods, from the coordinates that it names; see `Robot`.

    What else is named stays, and loops are closed. Driven coordinates are where their motions begin meanwhile; those
    that only equilibria hold begin where these hold them.

    Raises
    ------
    FileError, ModelError
        Points that a rod cannot pass through, or loops that cannot be closed: where the shape was written.
    """
    description, layout, names = robot.description, robot.engine.layout, robot.coordinate_names
    held, moving = (
        {layout.coordinate(name, "driven"): value for name, value in by_name("driven", block.get("driven")).items()}
        for block in (description.statics, description.simulate)
    )
    begins = {names[i]: signal_of(names[i], x, layout.dimensions[i]).value(0.0) for i, x in moving.items()}
    known = {**{names[i]: x for i, x in held.items()}, **description.initial, **begins}
    kept = {names.index(name) for name in (*known, *description.initial_rates)}
    data, places = description._shapes_in_file or (None, None)
    scope, q = Scope(data), robot.coordinates(known)

    def attempt(name: str, make: Callable[[], Array]) -> Array:
        found = At(scope, ("initial", name)).attempt(make)
        if scope.problems:
            raise failure(scope.problems, places)
        return found

    def closed() -> Array:
        free = np.array([i for i in range(robot.ndof) if i not in kept], dtype=np.int64)
        try:
            return close(robot, q, robot.engine.zero_rates, free).q
        except ConvergenceError as error:
            hint = "give the points between which its loops hold each rod"
            raise ModelError("", "shapes whose loops can be closed", f"{error}", hint) from None

    order = list(layout.links)  # parents first; what is no link is refused
    for name in sorted(description.shapes, key=lambda name: order.index(name) if name in order else -1):
        q = attempt(name, lambda: fitted(robot, name, description.shapes[name], q, kept).q)  # noqa: B023
    q = attempt(next(iter(description.shapes)), closed)
    q[list(moving)] = start[list(moving)]
    return q


def misses(robot: Robot, link: str, shape: InitialShape, q: Array) -> Array:
    """Distance (n,) [m] of the points from a rod at coordinates q."""
    fit = _Fit(robot, link, robot.engine.layout.links[link], shape, q, ())
    s = fit.s
    if not fit.is_given:
        grid = np.linspace(0.0, 1.0, SAMPLES + 1)
        curve = robot.poses(q, link, s=grid)[:, :3, 3]
        s = grid[np.linalg.norm(curve[:, None] - fit.points, axis=2).argmin(axis=0)]
    return np.asarray(np.linalg.norm(robot.poses(q, link, s=s)[:, :3, 3] - fit.points, axis=1))


class _Fit:
    """The search: unknowns are the free coordinates of the rod and its joint, and the free places s of points."""

    def __init__(
        self, robot: Robot, name: str, link: LinkLayout, shape: InitialShape, q: Array, fixed: Collection[int]
    ) -> None:
        self.robot, self.name, self.link, self.q0 = robot, name, link, q.copy()
        self.length = float(link.X[-1])
        own = np.arange(link.column, link.column + link.n)
        self.free: IntArray = np.array([i for i in own if i not in fixed], dtype=np.int64)
        self.in_joint = self.free < link.column + link.n_joint
        self.limits = ShapeLimits(robot, q)
        self.charts = Charts(robot.engine.layout, np.isin(np.arange(len(q)), self.free, invert=True))
        at_zero = q.copy()
        at_zero[link.column : link.column + link.n_joint] = 0.0
        self.base: Array = robot.pose(at_zero, name, s=0.0)  # of the joint on its parent, in the world
        points = np.array(shape.through)
        self.points = points if shape.frame == WORLD else points @ self.base[:3, :3].T + self.base[:3, 3]
        joint = slice(link.column, link.column + link.n_joint)
        self.is_free = not set(range(joint.start, joint.stop)) & set(fixed)  # its joint
        # as near to the first point as its translations take the base
        self.begin = self.base[:3, 3] + self._translation() @ (self.points[0] - self.base[:3, 3])
        self.is_given = shape.arc_lengths is not None
        if self.is_given:
            self.s = np.array(shape.arc_lengths) / self.length
            if self.s[-1] > 1.0 + 1e-9:
                got = f"{shape.arc_lengths[-1]:.6g} m"  # type: ignore[index]
                raise InputError("arc_lengths", f"places on '{name}', which is {self.length:.6g} m long", got)
            self.s = np.minimum(self.s, 1.0)
            self.sliding = np.zeros(0, dtype=np.int64)
        else:
            gap = float(np.linalg.norm(self.points[0] - self.begin))
            first = gap > SLACK * self.length  # the rod comes from elsewhere
            chords = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
            along = np.concatenate([[gap if first else 0.0], chords]).cumsum()
            n = len(self.points)
            self.s = along / along[-1] if along[-1] > 0.0 else np.linspace(0.0 if n > 1 else 1.0, 1.0, n)
            self.sliding = np.arange(0 if first else 1, n - 1)
        K = -robot.engine.evaluate(
            task.INTERNAL_DERIVATIVES, q, robot.engine.zero_rates, robot.engine.zero_rates, robot.inputs(None)
        ).by_q[np.ix_(self.free, self.free)]
        K = np.asarray(0.5 * (K + K.T) * np.outer(~self.in_joint, ~self.in_joint))
        # of unit energy where the rod, evenly bent or twisted, turns by one radian, the most easily; what has no
        # stiffness is kept from drifting
        even = [float(u @ K @ u) for u in self.evenly_turned()]
        K /= min((one for one in even if one > ROUNDING * max(even)), default=1.0)
        metric = (DRIFT + ROUNDING * np.diag(K).max(initial=0.0)) * np.eye(len(K) + len(self.sliding))
        metric[: len(K), : len(K)] += K
        self.root: Array = np.asarray(np.linalg.cholesky(metric))

    def evenly_turned(self) -> Array:
        """Free coordinates (n, n_free) of the rod bent or twisted by one radian in all, about each axis that it can."""
        out = np.zeros((3, len(self.q0)))
        for piece in self.link.pieces:
            if piece.n:
                X = np.linspace(0.0, 1.0, piece.n + 2)[1:-1] * piece.division.length
                A = np.swapaxes(piece.division.basis(X)[:, :, :3], 0, 1).reshape(piece.n, -1)
                even = np.tile(np.eye(3) / self.length, len(X))
                out[:, piece.column : piece.column + piece.n] = np.linalg.lstsq(A.T, even.T, rcond=None)[0].T
        return out[:, self.free]

    def _translation(self) -> Array:
        """Projection (3, 3) on the directions in which the joint takes the base of the rod."""
        if not (self.link.n_joint and self.is_free):
            return np.zeros((3, 3))
        columns = np.vstack([stage.columns for stage in self.link.link.joint.stages])
        moves = self.base[:3, :3] @ columns[~columns[:, :3].any(axis=1), 3:].T  # those of a screw turn it too
        return np.asarray(moves @ np.linalg.pinv(moves))

    # -- what no rod can do ----------------------------------------------------------------------------------------

    def check_reach(self) -> None:
        """Refuse points that are farther apart than the rod between them is long, if it cannot be stretched."""
        if any(3 in piece.division.strain.rows for piece in self.link.pieces):
            return
        inside = [piece.division.reference.values(piece.division.samples[0], piece.division.length)[:, 3:]
                  for piece in self.link.pieces]  # fmt: skip
        stretch = max(float(np.linalg.norm(xi, axis=1).max()) for xi in inside)
        points, s = np.vstack([self.begin, self.points]), np.append(0.0, self.s)
        apart = np.linalg.norm(np.diff(points, axis=0), axis=1)
        rod = stretch * self.length * (np.diff(s) if self.is_given else np.array([1.0]))
        over = apart - rod if self.is_given else np.array([apart.sum()]) - rod
        if over.max(initial=0.0) > SLACK * self.length:
            k = int(over.argmax())
            if self.is_given:
                got = f"{apart[k]:.4g} m apart with {rod[k]:.4g} m of the rod between them"
                where = f"through[{k}]"
            else:
                where, got = "through", f"points with {apart.sum():.4g} m between the first and the last"
            hint = "look at the units, or let elongation vary"
            raise InputError(where, f"points within the {self.length:.4g} m of '{self.name}'", got, hint)

    # -- where the search begins -----------------------------------------------------------------------------------

    def best(self) -> FittedShape:
        """Of the shapes that meet the points, the one of least energy; else the one that misses them least."""
        gravity, R = np.array(self.robot.description.gravity), self.base[:3, :3]
        downs = [down / np.linalg.norm(down) for down in (gravity, R[:, 2], R[:, 1], -R[:, 2], -R[:, 1]) if down.any()]
        found = [self.search(self.start(downs[0], is_twisted), WEIGHTS) for is_twisted in (False, True)]
        unloaded = self.based(self.q0, self.robot.pose(found[0].q, self.name, s=0.0)[:3, :3])
        found.append(self.search(unloaded, FIRST_WEIGHTS + WEIGHTS))
        for down in downs[1:]:
            if min(one.missed.max() for one in found) <= NEAR * self.length:
                break
            found.append(self.search(self.start(down, False), WEIGHTS))
        least = min(float(np.linalg.norm(one.missed)) for one in found)
        near = max(NEAR * self.length, 2.0 * least)
        meeting = [one for one in found if np.linalg.norm(one.missed) <= near]
        energies = [self.energies(one.q) for one in meeting]
        enough = (1.0 + EQUAL) * min(elastic for elastic, _ in energies)
        pairs = [pair for pair in zip(meeting, energies, strict=True) if pair[1][0] <= enough]
        return min(pairs, key=lambda pair: pair[1][1])[0]

    def energies(self, q: Array) -> tuple[float, float]:
        """Elastic energy of the rod, in the unit of the search, and its energy of gravity."""
        x = np.concatenate([np.where(self.in_joint, 0.0, q[self.free]), np.zeros(len(self.sliding))])
        return float(np.sum((self.root.T @ x) ** 2)), float(self.robot.energy(q, np.zeros_like(q)).gravity)

    def start(self, down: Array, is_twisted: bool) -> Array:
        """Coordinates (ndof,) of about the spline through the points that sags along `down`.

        Its sections turn with the tangent alone or, if it is twisted, with the plane in which it is bent as well: of a
        helix bending and torsion are constants then.
        """
        X, p = self.curve(down)
        q, link = self.q0.copy(), self.link
        tangents = np.gradient(p, X, axis=0)
        tangents /= np.maximum(np.linalg.norm(tangents, axis=1, keepdims=True), 1e-300)
        q = self.based(q, _between(self.base[:3, 0], tangents[0]) @ self.base[:3, :3])
        R = self.robot.pose(q, self.name, s=0.0)[:3, :3]
        R = _between(R[:, 0], tangents[0]) @ R
        middle, step = 0.5 * (X[1:] + X[:-1]), np.diff(X)
        bending = np.zeros(len(middle), dtype=complex)  # about y and z
        for k, h in enumerate(step):
            rotation = np.cross(tangents[k], tangents[k + 1])
            size = float(np.linalg.norm(rotation))
            rotation *= np.arctan2(size, float(tangents[k] @ tangents[k + 1])) / max(size, 1e-300)
            bending[k] = complex(*(R.T @ rotation)[1:]) / h
            R = exp_so3(rotation) @ R
        wanted = self.reference(middle)
        if is_twisted:
            turns = np.unwrap(np.angle(bending))
            wanted[:, 0] = np.polyfit(middle, turns, 1, w=np.sqrt(np.abs(bending) + 1e-300))[0]
        bending *= np.exp(-1j * np.cumsum(wanted[:, 0] * step))
        wanted[:, 1], wanted[:, 2] = bending.real, bending.imag
        for piece in link.pieces:
            inside = (middle > piece.start) & (middle < piece.start + piece.division.length)
            if not piece.n or not inside.any():
                continue
            P = piece.division.basis(middle[inside] - piece.start)[:, :, :3]
            A = np.swapaxes(P, 0, 1).reshape(piece.n, -1).T
            ridge = 1e-6 * max(np.abs(A).max(initial=0.0), 1e-300) * np.eye(piece.n)  # there may be few samples
            b = (wanted - self.reference(middle))[inside, :3].ravel()
            own = np.linalg.lstsq(np.vstack([A, ridge]), np.append(b, np.zeros(piece.n)), rcond=None)[0]
            q[piece.column : piece.column + piece.n] = own
        q_start = self.q0.copy()
        q_start[self.free] = q[self.free]
        return q_start

    def based(self, q: Array, R: Array) -> Array:
        """Coordinates (ndof,) with the base as near as its joint takes it to where the rod begins, and to R (3, 3)."""
        own = self.free[self.in_joint]
        if not len(own):
            return q.copy()
        wanted, weight = np.vstack([self.begin, R.T]), np.array([1.0 / self.length, 1.0, ROLL, ROLL])[:, None]
        places = self.robot.engine.places(((self.name, 0.0),))

        def errors(z: Array) -> tuple[Array, Array]:
            x = q.copy()
            x[own] = z
            g, J = self.robot.engine.poses_at(places, x, jacobian=True)
            there, J = g[0, :3, :3], J[0][:, own]
            e = weight * (np.vstack([g[0, :3, 3], there.T]) - wanted)
            D = np.stack([there @ J[3:], *(-there @ skew(axis) @ J[:3] for axis in np.eye(3))])
            return e.ravel(), (weight[:, :, None] * D).reshape(12, len(own))

        angles = [self.robot.engine.layout.dimensions[i] == "angle" for i in own]
        turns = itertools.product(*((0.0, THIRD, -THIRD) if is_angle else (0.0,) for is_angle in angles))
        search = Nearest(errors, q[own], MET)
        start = min((search.at(q[own] + turn) for turn in turns), key=lambda p: float(p.e @ p.e))
        q = q.copy()
        q[own] = search.descend(start, WEIGHTS[-1]).z
        return q

    def curve(self, down: Array) -> tuple[Array, Array]:
        """Arclengths (n,) on the rod and points (n, 3) of a spline, as long between the given ones as the rod is."""
        points, s = self.points, self.s
        if np.linalg.norm(points[0] - self.begin) > 1e-9 * self.length:
            points, s = np.vstack([self.begin, points]), np.concatenate([[0.0], s])
            if s[1] <= 1e-9:  # the first one is meant to be the base
                points, s = np.delete(points, 1, axis=0), np.delete(s, 1)
        elif s[0] > 1e-9:
            along = points[-1] - points[0] if len(points) > 1 else self.length * self.base[:3, 0]
            points, s = np.vstack([points[0] - along * s[0], points]), np.concatenate([[0.0], s])
        if len(points) < 2:
            ahead = points[-1] + self.length * self.base[:3, 0]
            points, s = np.vstack([points, ahead]), np.append(s[:1] * 0.0, 1.0)
        chords = np.maximum(np.linalg.norm(np.diff(points, axis=0), axis=1), 1e-6 * self.length)
        knots = np.concatenate([[0.0], chords.cumsum()])
        spline = CubicSpline(knots, points)
        X, p = [np.zeros(1)], [points[:1]]
        per_span = max(SAMPLES // len(chords), 8)
        for k in range(len(chords)):
            part = np.linspace(0.0, 1.0, per_span + 1)[1:]
            sigma = knots[k] + part * (knots[k + 1] - knots[k])
            span = _sagged(spline(sigma), points[k], part, down, (s[k + 1] - s[k]) * self.length)
            step = np.linalg.norm(np.diff(np.vstack([p[-1][-1:], span]), axis=0), axis=1)
            share = step.cumsum() / max(step.sum(), 1e-300)
            X.append((s[k] + share * (s[k + 1] - s[k])) * self.length)
            p.append(span)
        flat_X, flat_p = np.concatenate(X), np.concatenate(p)
        keep = np.concatenate([[True], np.diff(flat_X) > 1e-12 * self.length])
        flat_X, flat_p = flat_X[keep], flat_p[keep]
        if flat_X[-1] < (1.0 - 1e-9) * self.length:  # straight on to the tip
            end = flat_p[-1] - flat_p[-2]
            rest = np.linspace(flat_X[-1], self.length, 20)[1:]
            ahead = flat_p[-1] + np.outer(rest - flat_X[-1], end / np.linalg.norm(end))
            flat_X, flat_p = np.append(flat_X, rest), np.vstack([flat_p, ahead])
        return flat_X, flat_p

    # -- least squares ---------------------------------------------------------------------------------------------

    def reference(self, X: Array) -> Array:
        """Strain (n, 6) of the unloaded rod."""
        out = np.zeros((len(X), 6))
        for piece in self.link.pieces:
            inside = (piece.start <= X) & (piece.start + piece.division.length >= X)
            out[inside] = piece.division.reference.values(X[inside] - piece.start, piece.division.length)
        return out

    def slopes(self, q: Array, s: Array) -> Array:
        """Linear strains (n, 3) at places s: how the centreline goes on, in the frame of the section."""
        X = s * self.length
        xi = self.reference(X)
        for piece in self.link.pieces:
            inside = (piece.start <= X) & (piece.start + piece.division.length >= X)
            own = q[piece.column : piece.column + piece.n]
            xi[inside] += np.einsum("ijk,j->ik", piece.division.basis(X[inside] - piece.start), own)
        return xi[:, 3:]

    def parts(self, x: Array) -> tuple[Array, Array]:
        """Coordinates (ndof,), and places (n,) of all points, of unknowns."""
        q, s, n = self.q0.copy(), self.s.copy(), len(self.free)
        q[self.free] = x[:n]
        s[self.sliding] = np.clip(x[n:], 0.0, 1.0)
        return q, s

    def errors(self, x: Array) -> tuple[Array, Array]:
        """Errors (3 n,), in lengths of the rod, and their derivative by the unknowns."""
        (q, s), n = self.parts(x), len(self.free)
        places = self.robot.engine.places(tuple((self.name, one) for one in s.tolist()))
        g, J = self.robot.engine.poses_at(places, q, jacobian=True)
        R, m = g[:, :3, :3], len(s)
        D = np.zeros((m, 3, len(x)))
        D[:, :, :n] = R @ J[:, 3:, self.free] / self.length
        along = np.einsum("ijk,ik->ij", R, self.slopes(q, s))
        D[self.sliding, :, n + np.arange(len(self.sliding))] = along[self.sliding]
        e = ((g[:, :3, 3] - self.points) / self.length).ravel()
        if not self.limits.allow(q):
            e = np.full_like(e, np.inf)
        return e, D.reshape(3 * m, len(x))

    def search(self, q: Array, weights: Sequence[float]) -> FittedShape:
        """From coordinates to the nearest shape, by weights of the energy that fall."""
        x = np.concatenate([q[self.free], self.s[self.sliding]])
        at_rest = x.copy()
        at_rest[: len(self.free)][~self.in_joint] = 0.0

        def unknowns(z: Array) -> Array:
            return np.asarray(solve_triangular(self.root, z, trans="T", lower=True))

        def errors(z: Array) -> tuple[Array, Array]:
            e, J = self.errors(unknowns(z))
            return e, solve_triangular(self.root, J.T, lower=True).T

        search = Nearest(errors, self.root.T @ at_rest, MET)
        p, usual = search.at(self.root.T @ x), np.inf
        while not p.is_finite and np.any(p.z != search.centre):  # it winds too far
            p = search.at(0.5 * (p.z + search.centre))
        for weight in weights:
            closer = search.descend(p, weight)
            if weight == USUAL:
                usual = 2.0 * (search.distance(closer) ** 2 + float(closer.e @ closer.e) / USUAL)
            if search.distance(closer) ** 2 > usual:
                break
            p = closer
        met = search.newton(p)
        met = search.slide(met) if search.is_solution(met) else search.descend(p, 0.0)
        p = met if search.distance(met) ** 2 <= usual else p
        q, s = self.parts(unknowns(p.z))
        q = self.charts.recharted(q, np.zeros_like(q))[0]
        missed = np.linalg.norm(p.e.reshape(-1, 3), axis=1) * self.length
        message = f"'{self.name}' misses the points by {missed.max():.3g} m at most"
        return FittedShape(q, s * self.length, missed, message)


def _between(a: Array, b: Array) -> Array:
    """The least rotation (3, 3) that takes one unit vector to another."""
    axis = np.cross(a, b)
    size = float(np.linalg.norm(axis))
    if size < 1e-12:
        if a @ b > 0.0:
            return np.eye(3)
        axis = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        size = float(np.linalg.norm(axis))
        return np.asarray(exp_so3(np.pi * axis / size))
    return np.asarray(exp_so3(np.arctan2(size, float(a @ b)) * axis / size))


def _sagged(p: Array, begin: Array, part: Array, down: Array, length: float) -> Array:
    """A span of a curve (n, 3), where the rod is longer with the arc of a circle along `down` instead of its chord."""
    chord = p[-1] - begin
    size = float(np.linalg.norm(chord))
    arc = float(np.linalg.norm(np.diff(np.vstack([begin, p]), axis=0), axis=1).sum())
    if arc > (1.0 - SLACK) * length:  # differences of the spline and the rod: the search finds them
        return p
    along = chord / size if size > 1e-9 * length else _across(down, np.zeros(3))
    across = _across(along, down)
    # half of the angle of the arc
    half = brentq(lambda x: np.sinc(x / np.pi) - size / length, 1e-9, 3.5)
    angle, radius = half * (2.0 * part - 1.0), 0.5 * length / half
    beside = radius * np.sin(angle) - size * (part - 0.5)
    return np.asarray(p + np.outer(beside, along) + np.outer(radius * (np.cos(angle) - np.cos(half)), across))


def _across(a: Array, b: Array) -> Array:
    """Unit vector at right angles to the unit vector a, towards b if that is not along it."""
    c = b - (a @ b) * a
    if np.linalg.norm(c) <= 1e-6 * max(float(np.linalg.norm(b)), 1e-300):
        c = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
    return np.asarray(c / np.linalg.norm(c))
