"""Static estimation: the most probable equilibrium under readings and what is known beforehand (docs/estimation.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg import block_diag, lapack

from sorosim.analysis.equilibria.statics import start_point
from sorosim.analysis.inversion.manifold import CONTRACTION, Point
from sorosim.analysis.inversion.quadratic import least, norm
from sorosim.analysis.results.result import InitialState
from sorosim.base.arrays import Array
from sorosim.base.declare.types import Integer
from sorosim.base.errors import ConvergenceError, ModelError, warn
from sorosim.base.ode import one_blas_thread
from sorosim.base.public import public
from sorosim.base.validation import Number, Values
from sorosim.mechanics.engine.parameter import DRIVEN, FILE, INPUT
from sorosim.mechanics.engine.prescribed import AT_REST, Prescribed
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.estimation.equilibria import Equilibria
from sorosim.studies.estimation.result import Estimate, posterior
from sorosim.studies.estimation.unknowns import unknowns_of, with_inputs

MAX_STEPS = 100
# the search ends where the next step changes all residuals, over standard deviations, by less than this
SETTLED = 1e-5
# steps are to be so long that the next correction of the equilibrium is about this part of them; the least part
TYPICAL, LEAST_PART = 0.35, 1e-6
# part of the predicted decrease of the cost that a step shall bring; change of the cost that is rounding
DECREASE, ROUNDING = 1e-4, 1e-12
# of singular values, columns having unit length: directions in which nothing is known
NOTHING = 1e-10
# readings are told to contradict the model where they are less probable than this
IMPROBABLE = 1e-4


@public
def estimate(
    robot: Robot, readings: Mapping[Any, Any], unknown: Any, noise: Any = None, prior: Mapping[Any, Any] | None = None,
    u: Values | None = None, driven: Mapping[str, Number] | None = None, q0: InitialState | None = None, *,
    max_steps: int = MAX_STEPS,
) -> Estimate:  # fmt: skip
    """Shape, inputs and loads of a robot at rest, from readings and what is known beforehand.

    Parameters
    ----------
    robot : Robot
    readings : mapping of place or sensor to value
        A place is a link or "LINK.tip" (the tip of a rod, the frame of a body), (link, s), a frame of a link, or an
        `Anchor`; its value a position (3,) [m] or a pose (4, 4) in the world. Of a sensor what it reads. Numbers are in
        SI units or texts with units; None in a list leaves an entry out.
    unknown : mapping, name, or list of these
        Names of inputs and of driven coordinates, with the spread about what was commanded, or None: nothing is known.
        Loads by place: "wrench", "force" or "moment"; by rod: "force per length" or "moment per length": as
        {"cable1": "0.1 N", "arm.tip": "force", "arm": "force per length"}. Loads are in world axes.
    noise : number, text, or mapping of place or sensor to these, optional
        Standard deviations: one for all entries of a reading, one for each ([angle, length] of poses, whose errors are
        small rotations in their axes), or a covariance in SI units. Default: those of the sensors.
    prior : mapping, optional
        Of what is unknown: a spread, a pair (mean, spread), or a mapping with mean, spread or covariance; of loads
        along rods, which need one, also the correlation length. Default: nothing is known of loads at places.
    u, driven : mapping of name to float or str, optional
        What was commanded, as in `statics`.
    q0 : (ndof,) array_like, mapping or Equilibrium, optional
        Where the search begins. Default: the file's `initial` block.
    max_steps : int

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
        Readings that the model, with the noise and priors given, explains with a probability below 1e-4.

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
    estimator = Estimator(robot, readings, unknown, noise, prior, u, driven, q0, max_steps=max_steps)
    found = estimator.solve()
    if found.probability < IMPROBABLE:
        warn(f"estimate of '{robot.name}': {found.mismatch}")
    return found


class Step(NamedTuple):
    """Residuals over their standard deviations, and the step of the unknowns to where they are least."""

    r: Array  # (n_rows,)
    A: Array  # (n_rows, n) derivatives by the unknowns
    dp: Array  # (n,)

    @property
    def change(self) -> float:
        """By how much the step changes the residuals."""
        return norm(self.A @ self.dp)


@public
class Estimator:
    """Static estimation of one robot, again and again: each search begins where the one before ended.

    Parameters
    ----------
    robot, readings, unknown, noise, prior, u, driven, q0, max_steps
        As in `estimate`; readings tell which places and sensors there are.

    Attributes
    ----------
    robot : Robot
        With unknown loads as further inputs.
    """

    def __init__(
        self, robot: Robot, readings: Mapping[Any, Any], unknown: Any, noise: Any = None,
        prior: Mapping[Any, Any] | None = None, u: Values | None = None, driven: Mapping[str, Number] | None = None,
        q0: InitialState | None = None, *, max_steps: int = MAX_STEPS,
    ) -> None:  # fmt: skip
        self._given, self._max_steps = check_robot(robot), Integer(1, 10**6).argument("max_steps", max_steps)
        prescribed = Prescribed.of(robot, u, driven, AT_REST)
        self._commanded = prescribed.u, dict(prescribed.values)
        unknowns = unknowns_of(robot, unknown, prior, *self._commanded)
        self.unknowns = tuple(sorted(unknowns, key=lambda one: (one.kind == DRIVEN) + 2 * (one.kind == FILE)))
        self.robot = whole = with_inputs(robot, self.unknowns)
        names = [name for one in self.unknowns if one.kind not in (DRIVEN, FILE) for name in one.names]
        inputs = np.array([whole.actuator_names.index(name) for name in names], dtype=np.int64)
        columns = [whole.engine.layout.coordinate(name, "driven") for name in prescribed.values]
        moved = np.array([columns.index(one.index) for one in self.unknowns if one.kind == DRIVEN], dtype=np.int64)
        paths = [one.key for one in self.unknowns if one.kind == FILE]
        none = np.zeros(whole.engine.n_actuators - len(prescribed.u))
        self._equilibria = Equilibria(
            whole, inputs, moved, paths, np.concatenate([prescribed.u, none]), prescribed.values, readings, noise
        )
        self.mean = np.concatenate([one.mean for one in self.unknowns])
        self._root = block_diag(*(one.root for one in self.unknowns))
        self._low = np.concatenate([one.low for one in self.unknowns])
        self._high = np.concatenate([one.high for one in self.unknowns])
        self._bounded = bool(np.isfinite(self._low).any() or np.isfinite(self._high).any())
        self._q, self._part = start_point(robot, q0)[0], 1.0
        self._x, self._p = cast(Array | None, None), np.clip(self.mean, self._low, self._high)

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
            Others of the same places and sensors. Default: those before.
        u, driven : optional
            What was commanded. Default: as before.
        """
        if readings is not None:
            self._equilibria.read(readings)
        if u is not None or driven is not None:
            self._command(u, driven)
        with one_blas_thread(), np.errstate(all="ignore"):
            if self._x is None:
                self._x = self._equilibria.rest(self._p, q=self._q)
            point, step, message = self._search(self._x, self._p)
            self._x, self._p = point.x + point.correction + point.by @ step.dp, point.p + step.dp
            found = self._result(point, step, message)
        if message:
            self._x = None
            text = f"estimate of '{self._given.name}': {message}; start nearer (q0, prior), or give unknowns a prior"
            raise ConvergenceError(text, found)
        return found

    def _command(self, u: Values | None, driven: Mapping[str, Number] | None) -> None:
        """Take over other inputs and driven values, about which what is unknown of them is spread."""
        prescribed, (old_u, old) = Prescribed.of(self._given, u, driven, AT_REST), self._commanded
        new_u = old_u if u is None else prescribed.u
        new = old if driven is None else {name: prescribed.values.get(name, x) for name, x in old.items()}
        manifold, found = self._equilibria.manifold, []
        for inputs, values in ((old_u, old), (new_u, new)):
            manifold.system.u[: len(inputs)], manifold.system.driven_values[:] = inputs, list(values.values())
            found.append(manifold.parameters())
        shift, self._commanded = np.zeros(len(self.mean)), (new_u, new)
        shift[: len(found[0])] = found[1] - found[0]
        commanded = np.array([one.kind in (INPUT, DRIVEN) for one in self.unknowns for _ in one.names])
        self.mean, self._p = self.mean + commanded * shift, self._p + commanded * shift
        self._p = np.clip(self._p, self._low, self._high)

    def _search(self, x: Array, p: Array) -> tuple[Point, Step, str]:
        """The point from which the last step leads to the estimate, that step, and why it is none."""
        point = self._equilibria.point(x, p)
        if point is None:
            raise ConvergenceError(f"estimate of '{self._given.name}': the start has a singular tangent stiffness")
        step, part = self._step(point), self._part
        for _ in range(self._max_steps):
            if point.balanced and step.change < SETTLED:
                self._part = part
                return point, step, ""
            found, part = self._trial(point, step, min(1.0, part))
            if found is None:
                break
            point, step = found
            part *= 4.0
        else:
            return point, step._replace(dp=0.0 * step.dp), f"no end after {self._max_steps} steps"
        self._part = 1.0
        try:
            point = self._equilibria.corrected(point)
        except ModelError:
            return point, step._replace(dp=0.0 * step.dp), "no equilibrium nearby"
        step = self._step(point)
        if step.change < SETTLED:
            return point, step, ""
        return point, step._replace(dp=0.0 * step.dp), f"no step leads on, residuals would change by {step.change:.2g}"

    def _trial(self, point: Point, step: Step, part: float) -> tuple[tuple[Point, Step] | None, float]:
        """The point after a part of a step and the next step, None if there is none; the part."""
        cost, n = step.r @ step.r, self._equilibria.system.n_free
        predicted = 2.0 * step.r @ (step.A @ step.dp) + step.change**2  # below zero
        while part > LEAST_PART:
            dx = point.correction + point.by @ (part * step.dp)
            trial = self._equilibria.point(point.x + dx, point.p + part * step.dp)
            growth = np.inf
            if trial is not None:
                growth = 0.0 if trial.balanced else norm(trial.correction[:n]) / max(norm(dx[:n]), 1e-300)
                after = self._step(trial)
                enough = cost + DECREASE * part * predicted + ROUNDING * (1.0 + cost)
                if growth <= CONTRACTION and after.r @ after.r <= enough:
                    return (trial, after), part
            part *= min(max(TYPICAL / max(growth, 1e-300), 0.1), 0.5)
        return None, part

    def _step(self, point: Point) -> Step:
        """Residuals at a point once the equilibrium is corrected, and Gauss-Newton's step within bounds."""
        r = np.concatenate([point.error, self._root @ (point.p - self.mean)])
        A = np.concatenate([point.J, self._root])
        size = np.sqrt(np.einsum("ij,ij->j", A, A))
        size[size <= NOTHING * size.max(initial=0.0)] = np.inf
        scaled = A / size
        if self._bounded:
            low, high = (np.nan_to_num(x * size, nan=0.0) for x in (self._low - point.p, self._high - point.p))
            return Step(r, A, least(scaled.T @ scaled, scaled.T @ r, low, high) / size)
        H = scaled.T @ scaled
        factor, failed = lapack.dpotrf(H)
        if not failed and np.diag(factor).min() > 1e-5:  # else the square root of rounding
            return Step(r, A, lapack.dpotrs(factor, -(scaled.T @ r))[0] / size)
        return Step(r, A, np.linalg.lstsq(scaled, -r, rcond=NOTHING)[0] / size)

    def _result(self, point: Point, step: Step, message: str) -> Estimate:
        """The estimate at the end of a search."""
        equilibria, n = self._equilibria, len(point.error)
        x, p, r = point.x + point.correction + point.by @ step.dp, point.p + step.dp, step.r + step.A @ step.dp
        q_by = equilibria.coordinates_by(point)
        equilibria.set(p)
        system, readings = equilibria.system, equilibria.readings
        bounded = (p <= self._low) | (p >= self._high)
        covariance, null = posterior(step.A, bounded)
        dof = len(r) - (len(p) - len(null) - int(bounded.sum()))
        return Estimate(
            equilibria.robot, system.q(x), system.u.copy(), system.multipliers(x), equilibria.driven, self.unknowns, p,
            covariance, null, q_by, self._root.T @ self._root, readings.natural(r[:n]), readings.sd.copy(),
            readings.names, readings.units, float(r @ r), dof, bounded, message,
        )  # fmt: skip
