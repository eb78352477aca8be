"""Observers: the state of a moving robot from readings, by an extended Kalman filter (docs/theory.md, 22)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.linalg import lapack

from sorosim.analysis.equations.system import mass_weight
from sorosim.analysis.equilibria.assembly import close_if_possible, closed_rates
from sorosim.analysis.inversion.targets import StaticState
from sorosim.analysis.motion.discrete_steps import ROLLOUT_TOLERANCE
from sorosim.analysis.motion.stepper import Stepper, StepState
from sorosim.analysis.results.result import InitialState
from sorosim.analysis.sensitivity import Sensitivities
from sorosim.analysis.sensitivity import closed_rates as closed_rates_by
from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.declare.types import Integer
from sorosim.base.errors import ConvergenceError, InputError, nearest
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, Values, choice, describe
from sorosim.mechanics.engine.parameter import DRIVEN, FILE
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.estimation.disturbances import SmoothMotions, solved
from sorosim.studies.estimation.observation import Observation, ObservedMotion
from sorosim.studies.estimation.readings import ReadingErrors, is_missing
from sorosim.studies.estimation.unknowns import components_of, place_of, unknowns_of, with_inputs

METHODS = ("ekf", "iterated")
# how far random accelerations change velocities in a second, unless `process` says otherwise; what is unknown of a
# start: places and velocities
MOTION, RANDOM = "motion", "0.1 m/s"
POSITION, VELOCITY = "1 cm", "5 cm/s"
# steps of the integrator between readings
SUBSTEPS = 4
# a reading that is less probable than this is left out
IMPROBABLE = 1e-6
# corrections of an iterated update: at most, and until they are this part of the deviations
MOST_CORRECTIONS, SETTLED = 8, 1e-3
# steps to which late readings may belong
REMEMBERED = 50
# of coordinates and rates, by which differences of readings move them
DIFFERENCE = 1e-5
# columns that LAPACK eliminates at once
BLOCK = 32


class Belief(NamedTuple):
    """State, unknowns, and the root S of their covariance S S^T; nothing in it changes."""

    state: StepState
    mean: Array
    root: Array


class _Record(NamedTuple):
    """A step that late readings may be added to."""

    before: Belief
    u: Array
    readings: tuple[Mapping[Any, Any], ...]


@public
class Observer:
    """The state of a moving robot, and unknown inputs and loads, from readings at equal steps.

    Parameters
    ----------
    robot : Robot
    dt : float or str
        Time between steps [s].
    unknown, noise, prior
        As in `estimate`, inputs and loads: they move slowly, see `process`. A prior is what is known at the start.
    process : mapping, optional
        How far what is unknown may go in a second (a random walk): a spread by the names of `unknown`. Default: it
        stays. "motion": how far random accelerations of the whole robot change its velocity in a second. Default:
        0.1 m/s.
    method : {"ekf", "iterated"}
        Extended Kalman filter; or with its updates iterated, for readings that are far from linear.
    substeps : int
        Steps of the integrator in dt. They begin anew after each update, and motions that they do not resolve are
        damped: inertial sensors see these, and need more steps than markers. Default: 4.

    Notes
    -----
    The mean moves by `Stepper`, the covariance by its exact derivatives, in square-root form, so it stays positive.
    Random accelerations are smooth fields of space, which the robot follows as far as its stiffness lets it: orders of
    rods do not change their size.
    Readings whose innovation is less probable than 1e-6 are left out, and named. After each update loops are closed
    again.
    Source: docs/theory.md, 22; Bell and Cathey, IEEE TAC 38 (1993), of the iterated update.

    Examples
    --------
    >>> obs = sorosim.Observer(robot, "10 ms", {"arm.tip": "force"}, {"arm.tip": "0.1 N"}, noise="1 mm")
    >>> obs.reset("equilibrium")
    >>> found = obs.step(u, {"arm": [0.5, 0.01, -0.1]})
    """

    def __init__(
        self, robot: Robot, dt: Number, unknown: Any = None, process: Mapping[str, Any] | None = None,
        method: str = "ekf", *, noise: Any = None, prior: Mapping[Any, Any] | None = None,
        substeps: int = SUBSTEPS,
    ) -> None:  # fmt: skip
        self._given = check_robot(robot)
        self.method = choice("method", method, METHODS)
        none = np.zeros(robot.engine.n_actuators)
        self.unknowns = tuple(unknowns_of(robot, unknown, prior, none, {})) if unknown else ()
        for one in self.unknowns:
            if one.kind in (DRIVEN, FILE):
                raise InputError(f"unknown.{one.key}", "an input or a load: they may change as the robot moves",
                                 "a number of the file" if one.kind == FILE else "a driven coordinate")  # fmt: skip
        self.robot = whole = with_inputs(robot, self.unknowns)
        self._noise = self._noises(noise)
        substeps = Integer(1, 10**6).argument("substeps", substeps)
        driven = robot.description.simulate.get("driven")  # the whole robot has no such block
        self._sim = Stepper(whole, dt, driven=driven, substeps=substeps, tolerance=ROLLOUT_TOLERANCE)
        self.dt, self.steps = self._sim.dt, self._sim._steps
        if self.steps.varies:
            raise InputError("robot", "one whose driven coordinates stay", "one whose file moves them")
        if self.steps.system.n_strains:
            raise InputError("robot", "materials that do not relax: their strains would be states", "some that do")
        self.names = tuple(name for one in self.unknowns for name in one.names)
        inputs = [name for one in self.unknowns for name in one.inputs]
        self._inputs: IntArray = np.array([whole.actuator_names.index(name) for name in inputs], dtype=np.int64)
        self._free = self.steps.system.partition.free
        self._smooth = SmoothMotions(whole, self._free)
        self._walk, self._motion = self._processes(process or {})
        self._readings: dict[tuple[Any, ...], ReadingErrors] = {}
        self._records: tuple[_Record, ...] = ()
        self._belief: Belief | None = None
        self._now: Observation | None = None

    def _noises(self, noise: Any) -> Any:
        """Noise of readings by place or sensor, whose names are right."""
        if not isinstance(noise, Mapping):
            return deepcopy(noise)
        for key in noise:
            if not (isinstance(key, str) and key in self.robot.sensor_names):
                place_of(self.robot, key, "noise")
        return deepcopy(dict(noise))

    def _processes(self, process: Mapping[str, Any]) -> tuple[Array, float]:
        """Spreads (n,) after a second of what is unknown, and of velocities."""
        if not isinstance(process, Mapping):
            raise InputError("process", "a mapping of names to spreads after a second", describe(process))
        known = [one.key for one in self.unknowns]
        if wrong := [key for key in process if key not in (*known, MOTION)]:
            raise InputError("process", "names that are unknown, or 'motion'", f"{wrong[0]!r}",
                             nearest(str(wrong[0]), [*known, MOTION]))  # fmt: skip
        walk = []
        for one in self.unknowns:
            spread = components_of(f"process.{one.key}", process.get(one.key, np.zeros(len(one.names))), one.dimensions)
            if not (spread >= 0.0).all():
                raise InputError(f"process.{one.key}", "spreads of 0 or more", describe(process[one.key]))
            walk += spread.tolist()
        motion = amount(f"process.{MOTION}", process.get(MOTION, RANDOM), "speed")
        if not motion >= 0.0:
            raise InputError(f"process.{MOTION}", "a speed of 0 or more", f"{motion:g}")
        return np.array(walk), motion

    # -- states ------------------------------------------------------------------------------------------------------

    def reset(
        self, q: InitialState | None = None, qd: Values | None = None, t: Number = 0.0, *, u: Values | None = None,
        position: Number = POSITION, velocity: Number = VELOCITY,
    ) -> Observation:  # fmt: skip
        """Begin at a state that is known only roughly.

        Parameters
        ----------
        q, qd, t, u
            As in `Stepper.reset`. Unknown inputs are spread about those of u, but where a prior says their mean.
        position, velocity : float or str
            Spreads of places and velocities there, of smooth fields of space as in `process`.
        """
        far, fast = amount("position", position, "length"), amount("velocity", velocity, "speed")
        if not (far >= 0.0 and fast >= 0.0):
            raise InputError("reset", "spreads of 0 or more", f"{position} and {velocity}")
        commanded = self._given.inputs(u)
        means = [commanded[[one.index]] if one.follows else one.mean for one in self.unknowns]
        mean = np.concatenate([np.zeros(0), *means])
        state = self._sim.reset(q, qd, t, u=self.inputs(commanded, mean))
        n, free = self.robot.ndof, self._free
        self._smooth.begin(np.array(state.q))
        moved = self._smooth.motions(np.array(state.q))
        k = moved.shape[1]
        root = np.zeros((2 * n + len(mean), 2 * k + len(mean)))
        root[free, :k], root[n + free, k : 2 * k] = far * moved, fast * moved
        at = 2 * n
        for one in self.unknowns:
            k = len(one.names)
            if len(one.root) < k:
                hint = f"prior={{{one.key!r}: ...}}"
                raise InputError(f"prior.{one.key}", "what is known of it at the start", "nothing", hint)
            own = slice(at, at + k)
            root[own, root.shape[1] - len(root) + at :][:, :k] = np.linalg.inv(one.root)
            at += k
        root = _triangular(root)
        if self.robot.n_multipliers:
            root = self._along_loops(np.array(state.q), np.array(state.qd), root)
        self._records, self._belief = (), Belief(state, mean, root)
        return self._shown(self._belief, [], {})

    def _along_loops(self, q: Array, qd: Array, root: Array) -> Array:
        """A root of a covariance as loops have it: where rates follow coordinates, theirs do."""
        n, free, out = self.robot.ndof, self._free, root.copy()
        out[free] = self._smooth.closed(q, self._smooth.scales(q), root[free])
        by_q = np.zeros((n, root.shape[1]))
        by_q[free] = out[free]
        follow = closed_rates_by(Sensitivities(self.robot, []), q, qd, qd, free, by_q)
        N = solved(mass_weight(self.robot, q, free), np.eye(len(free)))
        out[n + free] = self._smooth.closed(q, N, root[n + free]) + follow[free]
        return out

    def inputs(self, u: Array, mean: Array) -> Array:
        """Inputs of the whole robot, with what is unknown of them."""
        out = np.zeros(self.robot.engine.n_actuators)
        out[: len(u)] = u
        out[self._inputs] = mean
        return out

    def _shown(self, belief: Belief, rejected: Sequence[str], innovations: Mapping[str, Array]) -> Observation:
        state = belief.state
        copies = np.array(state.q), np.array(state.qd), belief.mean.copy(), belief.root.copy()
        q, qd, mean, root = copies
        self._now = Observation(
            self.robot, state.t, q, qd, self.names, mean, root, tuple(dict.fromkeys(rejected)), dict(innovations)
        )
        return self._now

    @property
    def state(self) -> Observation:
        """What is known now."""
        if self._now is None:
            raise InputError("Observer", "a reset before the first step", "none", "obs.reset() begins at the start")
        return self._now

    # -- steps -------------------------------------------------------------------------------------------------------

    def step(
        self, u: Values | None = None, y: Mapping[Any, Any] | None = None, *,
        late: Mapping[float, Mapping[Any, Any]] | None = None,
    ) -> Observation:  # fmt: skip
        """Move by dt under inputs, and take readings at its end.

        Parameters
        ----------
        u : array_like, or mapping of actuator name to float or str
            Commanded. Entries of unknown inputs count for nothing: they are what is estimated.
        y : mapping of place or sensor to value, optional
            What was read, as in `estimate`: any of them, or none.
        late : mapping of time to readings, optional
            Readings of the steps that ended at these times [s], up to 50 steps ago: the steps since are done again.

        Notes
        -----
        Whatever is raised, nothing has changed.
        """
        _ = self.state
        assert self._belief is not None
        if isinstance(u, Mapping) and (unknown := [name for name in u if name in self.names]):
            raise InputError("u", "commands of inputs that are known", f"'{unknown[0]}', which is estimated")
        before = self._belief, self._records, self._now
        try:
            records = list(self._records)
            first = len(records)
            for t, readings in sorted((late or {}).items()):
                first = min(first, self._take_late(records, t, readings))
            records.append(_Record(self._belief, self._given.inputs(u), (deepcopy(dict(y)),) if y else ()))
            belief, rejected, innovations = records[first].before, list[str](), dict[str, Array]()
            for k in range(first, len(records)):
                records[k] = records[k]._replace(before=belief)
                belief, out, innovations = self._moved(records[k])
                rejected += out
            self._belief, self._records = belief, tuple(records[-REMEMBERED:])
            return self._shown(belief, rejected, innovations)
        except BaseException:
            self._belief, self._records, self._now = before
            raise

    def _take_late(self, records: list[_Record], t: float, readings: Mapping[Any, Any]) -> int:
        """Add a reading to the step that ended at a time; which one that is."""
        time = amount("late", t, "time")
        ends = [record.before.state.t + self.dt for record in records]
        near = [k for k, end in enumerate(ends) if abs(end - time) < 0.5 * self.dt]
        if not near:
            known = f"{ends[0]:g} to {ends[-1]:g} s" if ends else "no step yet"
            raise InputError("late", f"times of the last {REMEMBERED} steps, {known}", f"{time:g} s")
        k = near[0]
        records[k] = records[k]._replace(readings=(*records[k].readings, deepcopy(dict(readings))))
        return k

    def _moved(self, record: _Record) -> tuple[Belief, list[str], dict[str, Array]]:
        """A step and its readings: what is known then, readings that were left out, and innovations."""
        before, n, m = record.before, self.robot.ndof, len(record.before.mean)
        if self._sim.state is not before.state:
            self._sim.state = before.state
        state = self._sim.step(self.inputs(record.u, before.mean))
        A, B = self._sim.linearize()
        F = np.zeros((2 * n + m, 2 * n + m))
        F[: 2 * n, : 2 * n], F[: 2 * n, 2 * n :] = A, B[:, self._inputs]
        F[2 * n :, 2 * n :] = np.eye(m)
        root = _triangular(np.hstack([F @ before.root, self._disturbances(np.array(state.q))]))
        belief, rejected, innovations = Belief(state, before.mean, root), list[str](), dict[str, Array]()
        for readings in record.readings:
            belief, out, found = self._updated(belief, readings)
            rejected, innovations = [*rejected, *out], {**innovations, **found}
        return belief, rejected, innovations

    def _disturbances(self, q: Array) -> Array:
        """Root of the covariance of what a step adds: random accelerations, and random walks."""
        n, m, free = self.robot.ndof, len(self._walk), self._free
        kicks = self._motion * np.sqrt(self.dt) * self._smooth.motions(q)
        k = kicks.shape[1]
        out = np.zeros((2 * n + m, k + m))
        out[n + free, :k], out[free, :k] = kicks, 0.5 * self.dt * kicks
        out[2 * n :, k:] = np.diag(np.sqrt(self.dt) * self._walk)
        return out

    # -- readings ----------------------------------------------------------------------------------------------------

    def _updated(self, belief: Belief, y: Mapping[Any, Any]) -> tuple[Belief, list[str], dict[str, Array]]:
        """What is known with readings, names of those that were left out, and innovations."""
        given = {key: value for key, value in y.items() if not is_missing(value)}
        if not given:
            return belief, [], {}
        readings = self._readings_of(given)
        x = np.concatenate([belief.state.q, belief.state.qd, belief.mean])
        e, H = self._errors(readings, belief, x)
        innovations, doubtful = readings.natural(e), self._doubtful(readings, belief, e, H)
        counted = np.ones(len(e), dtype=bool)
        if doubtful and self.method == "iterated":  # linear innovations are no measure of what is far from linear
            cost = self._corrected(readings, belief, e, H, counted)[2]
            if special.chdtrc(len(e), cost) >= IMPROBABLE:
                doubtful = []
        for name in doubtful:
            counted[readings.rows[name]] = False
        if not counted.any():
            return belief, doubtful, innovations
        z, R, _ = self._corrected(readings, belief, e, H, counted)
        root = solved(R, belief.root.T, True).T
        return self._at(belief, x + belief.root @ z, root), doubtful, innovations

    def _doubtful(self, readings: ReadingErrors, belief: Belief, e: Array, H: Array) -> list[str]:
        """Names of readings that are improbable."""
        out, C = [], H @ belief.root
        for name, rows in readings.rows.items():
            own = C[rows]
            size = e[rows] @ np.linalg.solve(np.eye(len(own)) + own @ own.T, e[rows])
            if special.chdtrc(len(own), size) < IMPROBABLE:
                out.append(name)
        return out

    def _corrected(
        self, readings: ReadingErrors, belief: Belief, e: Array, H: Array, counted: Mask
    ) -> tuple[Array, Array, float]:
        """The most probable z of x + S z, R of the covariance S (R^T R)^-1 S^T there, and what it costs."""
        x = np.concatenate([belief.state.q, belief.state.qd, belief.mean])
        z = np.zeros(belief.root.shape[1])
        for _ in range(MOST_CORRECTIONS if self.method == "iterated" else 1):
            C, r = H[counted] @ belief.root, e[counted]
            R = lapack.dtpqrt(0, min(BLOCK, len(z)), np.eye(len(z)), C)[0]  # of [1; C]
            # least |z'|^2 + |r + C (z' - z)|^2
            after = -solved(R, solved(R, C.T @ (r - C @ z), True))
            done, z = np.abs(after - z).max() < SETTLED, after
            if done or self.method == "ekf":
                break
            e, H = self._errors(readings, belief, x + belief.root @ z)
        return np.asarray(z), np.asarray(R), float(z @ z + e[counted] @ e[counted])

    def _readings_of(self, y: Any) -> ReadingErrors:
        """Errors of readings, made once for each choice of places and sensors."""
        key = tuple(y) if isinstance(y, Mapping) else ()
        if key not in self._readings:
            noise = self._noise
            if isinstance(noise, Mapping):
                noise = {name: value for name, value in noise.items() if name in key}
            self._readings[key] = ReadingErrors(self.robot, y, noise)
        else:
            self._readings[key].set(y)
        return self._readings[key]

    def _errors(self, readings: ReadingErrors, belief: Belief, x: Array) -> tuple[Array, Array]:
        """Errors over standard deviations, and their derivatives (n_rows, 2 ndof + n) by state and unknowns."""
        n, size = self.robot.ndof, len(x)
        q, mean = x[:n], x[2 * n :]
        u = self.inputs(np.array(belief.state.u)[: self._given.engine.n_actuators], mean)
        u_by = np.zeros((len(u), size))
        u_by[self._inputs, 2 * n + np.arange(len(mean))] = 1.0
        q_by = np.zeros((n, size), order="F")
        q_by[:, :n] = np.eye(n)
        lam = np.zeros(self.robot.n_multipliers)
        error, slopes = readings.targets.errors(StaticState(q, u, lam, q_by, u_by, np.zeros((len(lam), size))))
        error, slopes = error.copy(), slopes.copy()
        readers = self.robot.instruments.readers
        moving = [one for one in readings.targets.channels if readers[one[0]].by_q is None]
        if moving:
            self._moving_sensors(moving, belief, x, error, slopes)
        return readings.weighed(error, slopes)

    def _moving_sensors(
        self, moving: Sequence[tuple[str, slice, list[int], Array]], belief: Belief, x: Array, error: Array,
        slopes: Array,
    ) -> None:  # fmt: skip
        """Fill the rows of sensors that rest on more than coordinates; their derivatives are differences."""
        n, t, known = self.robot.ndof, belief.state.t, self._given.engine.n_actuators

        def read(at: Array) -> dict[str, Array]:
            u = self.inputs(np.array(belief.state.u)[:known], at[2 * n :])
            return self.robot.measure(at[:n], at[n : 2 * n], u=u, t=t)

        here = read(x)
        for key, rows, chosen, wanted in moving:
            error[rows] = here[key][chosen] - wanted
        for k in np.flatnonzero(np.linalg.norm(belief.root, axis=1) > 0.0):
            h = DIFFERENCE * max(1.0, abs(x[k]))
            d = h * np.eye(len(x))[k]
            more, less = read(x + d), read(x - d)
            for key, rows, chosen, _ in moving:
                slopes[rows, k] = (more[key][chosen] - less[key][chosen]) / (2.0 * h)

    def _at(self, belief: Belief, x: Array, root: Array) -> Belief:
        """What is known at another state, loops closed."""
        n = self.robot.ndof
        q, qd, mean = x[:n], x[n : 2 * n], x[2 * n :].copy()
        at = 0
        for one in self.unknowns:
            own = slice(at, at := at + len(one.names))
            mean[own] = np.clip(mean[own], one.low, one.high)
        if self.robot.n_multipliers:
            q, _, why = close_if_possible(self.robot, q, self._free)
            if why:
                raise ConvergenceError(f"Observer: {why}", q)
            qd = closed_rates(self.robot, q, qd, self._free)
            root = self._along_loops(q, qd, root)
        return Belief(replace(belief.state, q=q, qd=qd, memory=None), mean, root)

    # -- whole motions -----------------------------------------------------------------------------------------------

    def run(self, u: ArrayLike, y: Mapping[Any, ArrayLike]) -> ObservedMotion:
        """Observe a recorded motion, from where the observer is.

        Parameters
        ----------
        u : (N, n_actuators) array_like
            Commands, each held over a step.
        y : mapping of place or sensor to (N, k) or (N, 4, 4) array_like
            Readings at the ends of the steps, NaN where there are none.

        Raises
        ------
        ConvergenceError
            A step failed; `partial` is the ObservedMotion until then.
        """
        rows = np.asarray(u, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != self._given.engine.n_actuators:
            raise InputError("u", f"rows of {self._given.engine.n_actuators} commands", f"shape {rows.shape}")
        columns = {key: np.asarray(values, dtype=float) for key, values in y.items()}
        for key, values in columns.items():
            if len(values) != len(rows):
                raise InputError(f"y.{key}", f"{len(rows)} rows, one a step", f"{len(values)}")
        for name, table, wrong in [
            ("u", rows, ~np.isfinite(rows)),
            *((f"y.{k}", x, np.isinf(x)) for k, x in columns.items()),
        ]:
            if wrong.any():  # before the first step
                first = tuple(np.argwhere(wrong)[0].tolist())
                raise InputError(f"{name}, row {first[0]}", "finite numbers", f"{table[first]:g}")
        found = [self.state]
        for k, command in enumerate(rows):
            given = {key: _with_gaps(values[k]) for key, values in columns.items()}
            try:
                found.append(self.step(command, given))
            except ConvergenceError as error:
                partial = ObservedMotion(self, tuple(found), np.vstack([rows[:1], rows[:k]]))
                raise ConvergenceError(f"Observer, step {k + 1} of {len(rows)}: {error}", partial) from error
        return ObservedMotion(self, tuple(found), np.vstack([rows[:1], rows]))


def _triangular(root: Array) -> Array:
    """The square, lower triangular S of S S^T = root root^T."""
    n = len(root)
    wide = root if root.shape[1] >= n else np.hstack([root, np.zeros((n, n - root.shape[1]))])
    return np.asarray(np.linalg.qr(wide.T, mode="r")).T


def _with_gaps(row: Array) -> Any:
    """A row of readings, None where it is NaN."""
    if np.ndim(row) > 1:
        return None if np.isnan(row).any() else row
    return [None if x != x else float(x) for x in np.atleast_1d(row)]
