"""Static estimation: the most probable equilibrium under readings and what is known beforehand (docs/estimation.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg import block_diag, lapack

from sorosim.analysis.equilibria.statics import start_point
from sorosim.analysis.inversion.manifold import CONTRACTION, Point
from sorosim.analysis.inversion.quadratic import least, norm
from sorosim.analysis.results.result import InitialState
from sorosim.base.arrays import Array, Mask
from sorosim.base.declare.types import Integer
from sorosim.base.errors import ConvergenceError, InputError, ModelError, SorosimError, nearest, warn
from sorosim.base.ode import one_blas_thread
from sorosim.base.public import public
from sorosim.base.validation import Number, Values
from sorosim.mechanics.engine.parameter import DRIVEN, FILE
from sorosim.mechanics.engine.prescribed import AT_REST, Prescribed
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.estimation.equilibria import Equilibria
from sorosim.studies.estimation.result import Estimate, posterior
from sorosim.studies.estimation.unknowns import unknowns_of, with_inputs

MAX_STEPS, STARTS = 100, 8
# the search ends where the next step changes all residuals, over standard deviations, by less than this, those that
# are larger than 1 by this part of them; or by less than the second and hardly less than the step before, as along
# directions of which next to nothing is told
SETTLED, FLAT, SLOW = 1e-5, 1e-2, 0.5
# damping of steps that are refused, of columns of unit length: the first, by what it is raised and released, the last
LEAST_DAMPING, RAISE, RELEASE, MOST_DAMPING = 1e-6, 10.0, 5.0, 1e9
# part of the predicted decrease of the cost that a step shall bring; change of the cost that is rounding
DECREASE, ROUNDING = 1e-4, 1e-12
# of unknowns: searches that end as near to each other have come to one equilibrium
SAME = 1e-3
# of singular values, columns having unit length: directions in which nothing is known
NOTHING = 1e-10
# readings are told to contradict the model where they are less probable than this
IMPROBABLE = 1e-4


@public
def estimate(
    robot: Robot, readings: Mapping[Any, Any], unknown: Any, noise: Any = None, prior: Mapping[Any, Any] | None = None,
    u: Values | None = None, driven: Mapping[str, Number] | None = None, q0: InitialState | None = None, *,
    max_steps: int = MAX_STEPS, starts: int = STARTS,
) -> Estimate:  # fmt: skip
    """Shape, inputs and loads of a robot at rest, from readings and what is known beforehand.

    Parameters
    ----------
    robot : Robot
    readings : mapping of place or sensor to value
        A place is a link or "LINK.tip" (the tip of a rod, the frame of a body), (link, s), a frame of a link, or an
        `Anchor`; "PLACE#NAME" is another reading of it. Its value is a position (3,) [m], a position and the direction
        of its x axis (6,), which tells nothing of the turn about it, or a pose (4, 4), in the world. Of a sensor what
        it reads. Numbers are in SI units or texts with units; None in a list leaves an entry out.
    unknown : mapping, name, or list of these
        Names of inputs and of driven coordinates, with the spread about what was commanded, or None: nothing is known.
        Loads by place: "wrench", "force" or "moment"; by rod: "force per length" or "moment per length": as
        {"cable1": "0.1 N", "arm.tip": "force", "arm": ["strain", "force per length"]}. Loads are in world axes.
    noise : number, text, or mapping of place or sensor to these, optional
        Standard deviations: one for all entries of a reading, one for each ([angle, length] of poses and directions,
        whose errors are small rotations in their axes), or a covariance in SI units. Default: those of the sensors.
    prior : mapping, optional
        Of what is unknown: a spread, a pair (mean, spread), or a mapping with mean, spread or covariance; of loads
        along rods, which need one, also the correlation length; of several kinds a mapping of them to these. Default:
        nothing is known of loads at places.
    u, driven : mapping of name to float or str, optional
        What was commanded, as in `statics`.
    q0 : (ndof,) array_like, mapping or Equilibrium, optional
        Where the search begins. Default: the file's `initial` block.
    max_steps : int
        Of a search.
    starts : int
        From how many other equilibria, those under draws of the priors, to search where what is found is improbable.

    Returns
    -------
    Estimate

    Raises
    ------
    ConvergenceError
        No equilibrium to begin from, or the search did not end; then `partial` is the Estimate where it stopped.
    InputError
        A wrong name, shape, unit or value.

    Warns
    -----
    SorosimWarning
        Readings that the model, with the noise and priors given, explains with a probability below 1e-4; an equilibrium
        that is unstable.

    Notes
    -----
    The maximum of the posterior density over all equilibria: Gauss-Newton steps in which equilibrium and readings are
    corrected together, with exact derivatives; its covariance by the same derivatives. Source: docs/theory.md, 22;
    Rucker and Webster, IROS 2011; Lilge, Barfoot, Burgner-Kahrs, IJRR 41 (2022).

    Examples
    --------
    >>> robot = sorosim.load("cable_manipulator")
    >>> est = sorosim.estimate(robot, {"arm": [0.5, 0.02, -0.1]}, {"arm.tip": "force"}, noise="1 mm", u=[3, 0, 0, 0])
    >>> mean, covariance = est.force("arm.tip")
    """
    estimator = Estimator(robot, readings, unknown, noise, prior, u, driven, q0, max_steps=max_steps, starts=starts)
    found = estimator.solve()
    if found.probability < IMPROBABLE:
        warn(f"estimate of '{robot.name}': {found.mismatch}")
    elif not found.stable:
        warn(f"estimate of '{robot.name}': its equilibrium is unstable, a robot does not stay there")
    return found


class Step(NamedTuple):
    """Residuals over their standard deviations, and the step of the unknowns to where they are least."""

    r: Array  # (n_rows,)
    A: Array  # (n_rows, n) derivatives by the unknowns
    dp: Array  # (n,)

    @property
    def change(self) -> float:
        """By how much the step changes the residuals, in parts of them where they are larger than deviations are."""
        return norm(self.A @ self.dp) / max(1.0, norm(self.r) / float(np.sqrt(len(self.r))))


@public
class Estimator:
    """Static estimation of one robot, again and again: each search begins where the one before ended.

    Parameters
    ----------
    robot, readings, unknown, noise, prior, u, driven, q0, max_steps, starts
        As in `estimate`; readings tell which places and sensors there are.

    Attributes
    ----------
    robot : Robot
        With unknown loads as further inputs.
    """

    def __init__(
        self, robot: Robot, readings: Mapping[Any, Any], unknown: Any, noise: Any = None,
        prior: Mapping[Any, Any] | None = None, u: Values | None = None, driven: Mapping[str, Number] | None = None,
        q0: InitialState | None = None, *, max_steps: int = MAX_STEPS, starts: int = STARTS,
    ) -> None:  # fmt: skip
        self._given, self._max_steps = check_robot(robot), Integer(1, 10**6).argument("max_steps", max_steps)
        self._starts = Integer(0, 1000).argument("starts", starts)
        prescribed = Prescribed.of(robot, u, driven, AT_REST)
        self._commanded = prescribed.u, dict(prescribed.values)
        unknowns = unknowns_of(robot, unknown, prior, *self._commanded)
        self.unknowns = tuple(sorted(unknowns, key=lambda one: (one.kind == DRIVEN) + 2 * (one.kind == FILE)))
        self.robot = whole = with_inputs(robot, self.unknowns)
        names = [name for one in self.unknowns if one.kind not in (DRIVEN, FILE) for name in one.inputs]
        inputs = np.array([whole.actuator_names.index(name) for name in names], dtype=np.int64)
        columns = [whole.engine.layout.coordinate(name, "driven") for name in prescribed.values]
        moved = np.array([columns.index(one.index) for one in self.unknowns if one.kind == DRIVEN], dtype=np.int64)
        paths = [one.key for one in self.unknowns if one.kind == FILE]
        none = np.zeros(whole.engine.n_actuators - len(prescribed.u))
        self._equilibria = Equilibria(
            whole, inputs, moved, paths, np.concatenate([prescribed.u, none]), prescribed.values, readings, noise
        )
        self.mean = np.concatenate([one.mean for one in self.unknowns])
        self._numbers: Mask = np.array([one.kind == FILE for one in self.unknowns for _ in one.names])
        self._root = block_diag(*(one.root for one in self.unknowns))
        self._low = np.concatenate([one.low for one in self.unknowns])
        self._high = np.concatenate([one.high for one in self.unknowns])
        self._bounded = bool(np.isfinite(self._low).any() or np.isfinite(self._high).any())
        self._q = start_point(robot, q0)[0]
        self._x, self._p = cast(Array | None, None), np.clip(self.mean, self._low, self._high)
        self._shift, self._probable = np.zeros(len(self.mean)), True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scalars that are unknown."""
        return tuple(name for one in self.unknowns for name in one.names)

    # -- solving -----------------------------------------------------------------------------------------------------

    def solve(
        self, readings: Mapping[Any, Any] | None = None, *, u: Values | None = None,
        driven: Mapping[str, Number] | None = None,
    ) -> Estimate:  # fmt: skip
        """Estimate from readings, the search beginning where the one before ended.

        Parameters
        ----------
        readings : mapping, optional
            Others of the same places and sensors; what is missing or None was not read. Default: those before.
        u, driven : optional
            What was commanded, as in `statics`: inputs that are not named are zero. Default: as before.
        """
        self._shift = np.zeros(len(self.mean))
        commands = None if u is None and driven is None else self._commands(u, driven)
        if readings is not None:
            self._equilibria.read(readings)
        if commands is not None:
            self._command(*commands)
        with one_blas_thread(), np.errstate(all="ignore"):
            found = self._best()
        if found.message:
            self._x = None
            text = f"estimate of '{self._given.name}': {found.message}; start nearer (q0, prior), or give more priors"
            if found.probability < IMPROBABLE:
                text += f"; where it stopped {found.mismatch}"
            raise ConvergenceError(text, found)
        return found

    def _best(self) -> Estimate:
        """The first estimate that is probable, else the most probable one."""
        found: list[tuple[Array, Array, Estimate]] = []
        error: SorosimError | None = None
        others: list[Callable[[], tuple[Array, Array] | None]] = []
        others += [partial(self._elsewhere, k) for k in range(self._starts)]
        if self._numbers.any() and not self._numbers.all():
            ends: list[Array] = []
            others = [partial(self._with_numbers_held, begin, ends) for begin in (self._at_start, *others)]
        for begin in (self._here, self._at_start, *others):
            try:
                states = begin()
                if states is None:
                    continue
                point, step, message = self._search(*states)
            except (ConvergenceError, ModelError) as failed:  # no equilibrium to begin from, or to end in
                error = failed
                continue
            x, p = point.x + point.correction + point.by @ step.dp, point.p + step.dp
            found.append((x, p, self._result(point, step, message)))
            if not message and (found[-1][2].probability >= IMPROBABLE or not self._probable):
                break
        if not found:
            assert error is not None
            raise ConvergenceError(f"estimate of '{self._given.name}': {error}") from error
        self._x, self._p, best = min(found, key=lambda one: (bool(one[2].message), one[2].cost))
        self._probable = best.probability >= IMPROBABLE
        return best

    def _here(self) -> tuple[Array, Array] | None:
        """Where the search before ended, under what is commanded now."""
        if self._x is None:
            return None
        moved = np.clip(self._p + self._shift, self._low, self._high)
        if self._shift.any():
            return self._equilibria.followed(self._x, self._p, moved), moved
        return self._x, moved

    def _at_start(self) -> tuple[Array, Array]:
        """The equilibrium under what is expected."""
        p = np.clip(self.mean, self._low, self._high)
        return self._equilibria.rest(p, q=self._q), p

    def _elsewhere(self, k: int) -> tuple[Array, Array] | None:
        """The equilibrium under a draw of the priors: it may be on another branch."""
        known = np.flatnonzero(self._root.any(axis=0))
        if not len(known):
            return None
        p, random = self.mean.copy(), np.random.default_rng(k)
        p[known] += np.linalg.lstsq(self._root[:, known], random.standard_normal(len(self._root)), rcond=None)[0]
        p = np.clip(p, self._low, self._high)
        return self._equilibria.rest(p, q=self._q), p

    def _with_numbers_held(
        self, begin: Callable[[], tuple[Array, Array] | None], ends: list[Array]
    ) -> tuple[Array, Array] | None:  # fmt: skip
        """Where a search ends that leaves numbers of the file as expected, unless another one has ended there.

        Other numbers make the robot anew, so a step of this search takes a tenth of the time.
        """
        states = begin()
        if states is None:
            return None
        x, p = states
        mean = np.where(self._numbers, np.clip(self.mean, self._low, self._high), p)
        if not np.array_equal(mean, p):
            x = self._equilibria.rest(mean, q=self._q)
        point, step, _ = self._search(x, mean, self._numbers)
        x = point.x + point.correction + point.by @ step.dp
        if any(norm(x - end) <= SAME * (1.0 + norm(end)) for end in ends):
            return None
        ends.append(x)
        return x, point.p + step.dp

    def _commands(self, u: Values | None, driven: Mapping[str, Number] | None) -> tuple[Array, dict[str, float]]:
        """Inputs and driven values that are commanded from now on (InputError: there are no such ones)."""
        before_u, before = self._commanded
        if unknown := [name for name in driven or {} if name not in before]:
            known = f"the coordinates that were driven before: {', '.join(before) or 'none'}"
            raise InputError("driven", known, f"'{unknown[0]}'", nearest(str(unknown[0]), before))
        prescribed = Prescribed.of(self._given, u, driven, AT_REST)
        values = before if driven is None else {name: prescribed.values.get(name, x) for name, x in before.items()}
        return (before_u if u is None else prescribed.u), values

    def _command(self, new_u: Array, new: dict[str, float]) -> None:
        """Take over other inputs and driven values, about which what is unknown of them is spread."""
        old_u, old = self._commanded
        manifold, found = self._equilibria.manifold, []
        for inputs, values in ((old_u, old), (new_u, new)):
            manifold.system.u[: len(inputs)], manifold.system.driven_values[:] = inputs, list(values.values())
            found.append(manifold.parameters())
        shift, self._commanded = np.zeros(len(self.mean)), (new_u, new)
        shift[: len(found[0])] = found[1] - found[0]
        commanded = np.array([one.follows for one in self.unknowns for _ in one.names])
        self._shift = commanded * shift
        self.mean = self.mean + self._shift

    def _search(self, x: Array, p: Array, held: Mask | None = None) -> tuple[Point, Step, str]:
        """The point from which the last step leads to the estimate, that step, and why it is none.

        held : unknowns that stay as they are.
        """
        self._held = np.zeros(len(p), dtype=bool) if held is None else held
        point = self._equilibria.point(x, p)
        if point is None:
            raise ConvergenceError(f"estimate of '{self._given.name}': the start has a singular tangent stiffness")
        step, damping, rested, before = self._step(point), 0.0, False, np.inf
        for _ in range(self._max_steps):
            if point.balanced and step.change < SETTLED:
                return point, step, ""
            if point.balanced and SLOW * before < step.change < FLAT and before < FLAT:
                return point, step._replace(dp=0.0 * step.dp), ""
            before = step.change
            found, damping = self._trial(point, step, damping)
            if found is None:
                if rested and point.balanced:
                    message = f"no step leads on, residuals over their deviations would change by {step.change:.2g}"
                    break
                corrected = self._equilibria.corrected(point, held is None)
                if corrected is None:
                    message = "no equilibrium is near where no step leads on"
                    break
                point, damping, rested = corrected, 0.0, True
                step = self._step(point)
                continue
            (point, step), rested = found, False
        else:
            message = f"no end after {self._max_steps} steps"
        return point, step._replace(dp=0.0 * step.dp), message

    def _trial(self, point: Point, step: Step, damping: float) -> tuple[tuple[Point, Step] | None, float]:
        """The point after a step that is as much damped as it has to be and the next step; the damping after it."""
        cost, n = step.r @ step.r, self._equilibria.system.n_free
        while damping < MOST_DAMPING:
            dp = self._least(step.A, step.r, point.p, damping) if damping else step.dp
            changed = step.A @ dp
            dx = point.correction + point.by @ dp
            x = point.x + dx
            passes = self._equilibria.tunnels(point.x, x)
            trial = None if passes else self._equilibria.point(x, point.p + dp)
            if trial is not None and not self._equilibria.tunnels(x, x + trial.correction):
                growth = 0.0 if trial.balanced else norm(trial.correction[:n]) / max(norm(dx[:n]), 1e-300)
                predicted = 2.0 * step.r @ changed + changed @ changed  # below zero
                after = self._step(trial)
                enough = cost + DECREASE * predicted + ROUNDING * (1.0 + cost)
                if growth <= CONTRACTION and after.r @ after.r <= enough:
                    return (trial, after), damping / RELEASE if damping > LEAST_DAMPING else 0.0
            damping = max(LEAST_DAMPING, damping * RAISE)
        return None, damping

    def _step(self, point: Point) -> Step:
        """Residuals at a point once the equilibrium is corrected, and Gauss-Newton's step within bounds."""
        r = np.concatenate([point.error, self._root @ (point.p - self.mean)])
        A = np.concatenate([point.J, self._root])
        # readings that do not change where coordinates do are rounding
        moved = np.sqrt(np.einsum("ij,ij->j", point.by, point.by))
        shown = np.abs(point.J) * self._equilibria.readings.sd[:, None]
        A[: len(point.J)][shown <= NOTHING * moved] = 0.0
        return Step(r, A, self._least(A, r, point.p, 0.0))

    def _least(self, A: Array, r: Array, p: Array, damping: float) -> Array:
        """The step within bounds that makes residuals least; damped (Levenberg, Marquardt), columns of unit length."""
        size = np.sqrt(np.einsum("ij,ij->j", A, A))
        size[size == 0.0] = np.inf
        scaled = A / size
        H, g = scaled.T @ scaled, scaled.T @ r
        H[np.diag_indices(len(H))] += damping
        if self._bounded or self._held.any():
            ends = (np.where(self._held, 0.0, x - p) for x in (self._low, self._high))
            low, high = (np.nan_to_num(x * size, nan=0.0) for x in ends)
            return np.asarray(least(H, g, low, high) / size)
        factor, failed = lapack.dpotrf(H)
        if not failed and np.diag(factor).min() > 1e-5:  # else the square root of rounding
            return np.asarray(lapack.dpotrs(factor, -g)[0] / size)
        return np.asarray(np.linalg.lstsq(scaled, -r, rcond=NOTHING)[0] / size)

    def _result(self, point: Point, step: Step, message: str) -> Estimate:
        """The estimate at the end of a search."""
        equilibria, n = self._equilibria, len(point.error)
        x, p, r = point.x + point.correction + point.by @ step.dp, point.p + step.dp, step.r + step.A @ step.dp
        q_by = equilibria.coordinates_by(point)
        equilibria.set(p)
        system, readings = equilibria.system, equilibria.readings
        covariance, null = posterior(step.A, self._root)
        at_bound = (p <= self._low) | (p >= self._high)
        n_rows = int(readings.counts.sum()) + len(self._root)
        dof = n_rows - (len(p) - len(null) - int(at_bound.sum()))
        return Estimate(
            equilibria.robot, system.q(x), system.u.copy(), system.multipliers(x), equilibria.driven, self.unknowns,
            self.mean, p, covariance, null, q_by, self._root.T @ self._root, readings.natural(r[:n]),
            readings.sd.copy(), readings.names, readings.units, float(r @ r), dof, self._low, self._high,
            equilibria.stable(point), message,
        )  # fmt: skip
