"""Observers: the state of a moving robot from readings, by an extended Kalman filter (docs/theory.md, 22)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, stats

from sorosim.analysis.equilibria.assembly import close_if_possible, closed_rates
from sorosim.analysis.inversion.targets import StaticState
from sorosim.analysis.motion.discrete_steps import ROLLOUT_TOLERANCE
from sorosim.analysis.motion.stepper import Stepper, StepState
from sorosim.analysis.results.result import InitialState, Run
from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.declare.types import Integer
from sorosim.base.errors import ConvergenceError, InputError, nearest
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, Values, choice, describe
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.parameter import DRIVEN, FILE
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.estimation.disturbances import SmoothMotions
from sorosim.studies.estimation.readings import ReadingErrors
from sorosim.studies.estimation.unknowns import Unknown, place_of, unknowns_of, with_inputs

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


@public
@dataclass(frozen=True, eq=False)
class Observation:
    """What an `Observer` knows at one time.

    Attributes
    ----------
    robot : Robot
        With unknown loads as further inputs.
    t : float
        Time [s].
    q, qd : (ndof,) ndarray
        Coordinates and rates.
    names : tuple of str
        What is unknown beside the state.
    mean : (n,) ndarray
        Its values [SI].
    root : (2 ndof + n, 2 ndof + n) ndarray
        S of the covariance S S^T of [q; qd; mean].
    rejected : tuple of str
        Readings that were left out as improbable.
    innovations : dict of str to ndarray
        Of each reading, what the robot showed before less what was read [SI].
    """

    robot: Robot
    t: float
    q: Array
    qd: Array
    names: tuple[str, ...]
    mean: Array
    root: Array
    rejected: tuple[str, ...] = ()
    innovations: Mapping[str, Array] = ()  # type: ignore[assignment]

    @property
    def values(self) -> dict[str, float]:
        """Values of what is unknown [SI]."""
        return dict(zip(self.names, self.mean.tolist(), strict=True))

    @cached_property
    def covariance(self) -> Array:
        """Covariance (2 ndof + n, 2 ndof + n) of [q; qd; values]."""
        return np.asarray(self.root @ self.root.T)

    @property
    def standard_deviations(self) -> dict[str, float]:
        """Of what is unknown [SI]."""
        own = np.linalg.norm(self.root[len(self.root) - len(self.mean) :], axis=1)
        return dict(zip(self.names, own.tolist(), strict=True))

    def pose(self, link: Any, s: float | None = None) -> tuple[Array, Array]:
        """Pose (4, 4) of a place, and covariance (6, 6) of its twist in its own axes [rad, m]."""
        place = place_of(self.robot, link if s is None else (link, s), "link")
        g, J = LinkFrames(self.robot.description, self.robot.engine, [place], "link").jacobians(self.q)
        moved = J[0] @ self.root[: len(self.q)]
        return g[0], moved @ moved.T

    def nees(self, q: ArrayLike, qd: ArrayLike, values: Mapping[str, float] | None = None) -> float:
        """Normalised error squared against a true state and values, of what is uncertain."""
        true = np.concatenate([self.robot.coordinates(q), self.robot.coordinates(qd, "qd", order=1), self.mean])
        for name, value in (values or {}).items():
            if name not in self.names:
                raise InputError("values", "the name of what is unknown", f"'{name}'", nearest(name, self.names))
            true[2 * len(self.q) + self.names.index(name)] = value
        counted = [*range(2 * len(self.q)), *(2 * len(self.q) + self.names.index(name) for name in values or {})]
        error = np.concatenate([self.q, self.qd, self.mean]) - true
        # in the directions that are uncertain: loops and driven coordinates leave others none
        U, s, _ = linalg.svd(self.root[counted])
        rank = int((s > 1e-9 * s[0]).sum())
        z = (U[:, :rank].T @ error[counted]) / s[:rank]
        return float(z @ z)


class _Record(NamedTuple):
    """A step that late readings may change."""

    state: StepState
    mean: Array
    root: Array
    u: Array
    driven: Mapping[str, Number] | None
    readings: list[Mapping[Any, Any]]


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
    driven : mapping of str to signal, optional
        As in `Stepper`.
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
        driven: Mapping[str, Any] | None = None, substeps: int = SUBSTEPS,
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
        self._noise = noise
        substeps = Integer(1, 10**6).argument("substeps", substeps)
        self._sim = Stepper(whole, dt, driven=driven, substeps=substeps, tolerance=ROLLOUT_TOLERANCE)
        self.dt = self._sim.dt
        self.names = tuple(name for one in self.unknowns for name in one.names)
        inputs = [name for one in self.unknowns for name in one.inputs]
        self._inputs: IntArray = np.array([whole.actuator_names.index(name) for name in inputs], dtype=np.int64)
        self._free = self._sim._steps.system.partition.free
        self._smooth = SmoothMotions(whole, self._free)
        self._walk, self._motion = self._processes(process or {})
        self._readings: dict[tuple[Any, ...], ReadingErrors] = {}
        self._records: deque[_Record] = deque(maxlen=REMEMBERED)
        self._now: Observation | None = None

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
            walk += [self._spread(one, process[one.key], dimension) if one.key in process else 0.0
                     for dimension in one.dimensions]  # fmt: skip
        motion = amount(f"process.{MOTION}", process.get(MOTION, RANDOM), "speed")
        if not motion >= 0.0:
            raise InputError(f"process.{MOTION}", "a speed of 0 or more", f"{motion:g}")
        return np.array(walk), motion

    @staticmethod
    def _spread(one: Unknown, given: Any, dimension: str) -> float:
        spread = amount(f"process.{one.key}", given, dimension)
        if not spread >= 0.0:
            raise InputError(f"process.{one.key}", "a spread of 0 or more", describe(given))
        return spread

    # -- states ------------------------------------------------------------------------------------------------------

    def reset(
        self, q: InitialState | None = None, qd: Values | None = None, t: Number = 0.0, *, u: Values | None = None,
        position: Number = POSITION, velocity: Number = VELOCITY,
    ) -> Observation:  # fmt: skip
        """Begin at a state that is known only roughly.

        Parameters
        ----------
        q, qd, t, u
            As in `Stepper.reset`.
        position, velocity : float or str
            Spreads of places and velocities there, of smooth fields of space as in `process`.
        """
        far, fast = amount("position", position, "length"), amount("velocity", velocity, "speed")
        if not (far >= 0.0 and fast >= 0.0):
            raise InputError("reset", "spreads of 0 or more", f"{position} and {velocity}")
        mean = np.concatenate([np.zeros(0), *(one.mean for one in self.unknowns)])
        inputs = self._all_inputs(self._given.inputs(u), mean)
        state = self._sim.reset(q, qd, t, u=inputs)
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
        self._records.clear()
        return self._keep(state, mean, _triangular(root))

    def _along_loops(self, q: Array, root: Array) -> Array:
        """A root of a covariance without what would open loops where they are closed."""
        n, out, U = self.robot.ndof, root.copy(), self._smooth.weight(q)
        for rows in (self._free, n + self._free):
            out[rows] = self._smooth.tangent(q, U, U @ root[rows])
        return out

    def _all_inputs(self, u: Array, mean: Array) -> Array:
        """Inputs of the whole robot, with what is unknown of them."""
        out = np.zeros(self.robot.engine.n_actuators)
        out[: len(u)] = u
        out[self._inputs] = mean
        return out

    def _keep(
        self, state: StepState, mean: Array, root: Array, rejected: Sequence[str] = (),
        innovations: Mapping[str, Array] | None = None,
    ) -> Observation:  # fmt: skip
        self._state, self._mean, self._root = state, mean, root
        q, qd = np.array(state.q), np.array(state.qd)
        self._now = Observation(self.robot, state.t, q, qd, self.names, mean.copy(), root, tuple(rejected),
                                dict(innovations or {}))  # fmt: skip
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
        driven: Mapping[str, Number] | None = None, late: Mapping[float, Mapping[Any, Any]] | None = None,
    ) -> Observation:  # fmt: skip
        """Move by dt under inputs, and take readings at its end.

        Parameters
        ----------
        u, driven
            Commanded, as in `Stepper.step`. Unknown inputs are not: they are what is estimated.
        y : mapping of place or sensor to value, optional
            What was read, as in `estimate`: any of them, or none.
        late : mapping of time to readings, optional
            Readings of the steps that ended at these times [s], up to 50 steps ago: the steps since are done again.
        """
        _ = self.state
        inputs = self._given.inputs(u)
        for t, readings in sorted((late or {}).items()):
            self._replay(t, readings)
        self._records.append(_Record(self._state, self._mean, self._root, inputs, driven, [y] if y else []))
        try:
            return self._move(self._records[-1])
        except BaseException:
            record = self._records.pop()
            self._sim.state = record.state
            self._keep(record.state, record.mean, record.root)
            raise

    def _replay(self, t: float, readings: Mapping[Any, Any]) -> None:
        """Take a reading of an earlier step, and do the steps since then again."""
        ends = [record.state.t + self.dt for record in self._records]
        near = [k for k, end in enumerate(ends) if abs(end - t) < 0.5 * self.dt]
        if not near:
            known = f"{ends[0]:g} to {ends[-1]:g} s" if ends else "no step yet"
            raise InputError("late", f"times of the last {REMEMBERED} steps, {known}", f"{t:g} s")
        records = list(self._records)
        first = records[near[0]]
        first.readings.append(readings)
        self._records = deque(records[: near[0]], maxlen=REMEMBERED)
        self._sim.state = first.state
        self._keep(first.state, first.mean, first.root)
        for record in records[near[0] :]:
            again = record._replace(state=self._state, mean=self._mean, root=self._root)
            self._records.append(again)
            self._move(again)

    def _move(self, record: _Record) -> Observation:
        """A step and its readings."""
        n, m = self.robot.ndof, len(self._mean)
        q = np.array(self._state.q)
        before = self._sim.state
        if not before.is_unchanged() or before is not self._state:
            self._sim.state = self._state
        state = self._sim.step(self._all_inputs(record.u, self._mean), record.driven)
        A, B = self._sim.linearize()
        F = np.zeros((2 * n + m, 2 * n + m))
        F[: 2 * n, : 2 * n], F[: 2 * n, 2 * n :] = A, B[:, self._inputs]
        F[2 * n :, 2 * n :] = np.eye(m)
        root = _triangular(np.hstack([F @ self._root, self._disturbances(q)]))
        self._state, self._root = state, root
        rejected, innovations = list[str](), dict[str, Array]()
        for readings in record.readings:
            out, found = self._update(readings)
            rejected, innovations = [*rejected, *out], {**innovations, **found}
        return self._keep(self._state, self._mean, self._root, rejected, innovations)

    def _disturbances(self, q: Array) -> Array:
        """Root of the covariance of what a step adds: random accelerations, and random walks."""
        n, m, free = self.robot.ndof, len(self._mean), self._free
        kicks = self._motion * np.sqrt(self.dt) * self._smooth.motions(q)
        k = kicks.shape[1]
        out = np.zeros((2 * n + m, k + m))
        out[n + free, :k], out[free, :k] = kicks, 0.5 * self.dt * kicks
        out[2 * n :, k:] = np.diag(np.sqrt(self.dt) * self._walk)
        return out

    # -- readings ----------------------------------------------------------------------------------------------------

    def _update(self, y: Mapping[Any, Any]) -> tuple[list[str], dict[str, Array]]:
        """Take readings; names of those that were left out, and innovations."""
        given = {key: value for key, value in y.items() if not _missing(value)} if isinstance(y, Mapping) else y
        if isinstance(given, Mapping) and not given:
            return [], {}
        readings = self._readings_of(given)
        x = np.concatenate([self._state.q, self._state.qd, self._mean])
        e, H = self._errors(readings, x)
        innovations, doubtful = readings.natural(e), self._doubtful(readings, e, H)
        counted = np.ones(len(e), dtype=bool)
        if doubtful and self.method == "iterated":  # linear innovations are no measure of what is far from linear
            cost = self._corrected(readings, x, e, H, counted)[2]
            if stats.chi2.sf(cost, len(e)) >= IMPROBABLE:
                doubtful = []
        for name in doubtful:
            counted[readings.rows[name]] = False
        if not counted.any():
            return doubtful, innovations
        z, R, _ = self._corrected(readings, x, e, H, counted)
        self._take(x + self._root @ z, linalg.solve_triangular(R, self._root.T, trans="T").T)
        return doubtful, innovations

    def _doubtful(self, readings: ReadingErrors, e: Array, H: Array) -> list[str]:
        """Names of readings that are improbable."""
        out, C = [], H @ self._root
        for name, rows in readings.rows.items():
            own = C[rows]
            size = e[rows] @ linalg.solve(np.eye(len(own)) + own @ own.T, e[rows], assume_a="pos")
            if stats.chi2.sf(size, len(own)) < IMPROBABLE:
                out.append(name)
        return out

    def _corrected(
        self, readings: ReadingErrors, x: Array, e: Array, H: Array, counted: Mask
    ) -> tuple[Array, Array, float]:
        """The most probable z of x + S z, R of the covariance S (R^T R)^-1 S^T there, and what it costs."""
        z = np.zeros(self._root.shape[1])
        for _ in range(MOST_CORRECTIONS if self.method == "iterated" else 1):
            C, r = H[counted] @ self._root, e[counted]
            R = linalg.qr(np.vstack([np.eye(C.shape[1]), C]), mode="r")[0][: C.shape[1]]
            # least |z'|^2 + |r + C (z' - z)|^2
            after = -linalg.solve_triangular(R, linalg.solve_triangular(R, C.T @ (r - C @ z), trans="T"))
            done, z = np.abs(after - z).max() < SETTLED, after
            if done or self.method == "ekf":
                break
            e, H = self._errors(readings, x + self._root @ z)
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

    def _errors(self, readings: ReadingErrors, x: Array) -> tuple[Array, Array]:
        """Errors over standard deviations, and their derivatives (n_rows, 2 ndof + n) by state and unknowns."""
        n, size = self.robot.ndof, len(x)
        q, mean = x[:n], x[2 * n :]
        u = self._all_inputs(np.array(self._state.u)[: self._given.engine.n_actuators], mean)
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
            self._moving_sensors(readings, moving, x, error, slopes)
        return readings.weighed(error, slopes)

    def _moving_sensors(
        self, readings: ReadingErrors, moving: Sequence[tuple[str, slice, list[int], Array]], x: Array, error: Array,
        slopes: Array,
    ) -> None:  # fmt: skip
        """Fill the rows of sensors that rest on more than coordinates; their derivatives are differences."""
        n, t = self.robot.ndof, self._state.t

        def read(at: Array) -> dict[str, Array]:
            u = self._all_inputs(np.array(self._state.u)[: self._given.engine.n_actuators], at[2 * n :])
            return self.robot.measure(at[:n], at[n : 2 * n], u=u, t=t)

        here = read(x)
        for key, rows, chosen, wanted in moving:
            error[rows] = here[key][chosen] - wanted
        for k in np.flatnonzero(np.linalg.norm(self._root, axis=1) > 0.0):
            h = DIFFERENCE * max(1.0, abs(x[k]))
            d = h * np.eye(len(x))[k]
            more, less = read(x + d), read(x - d)
            for key, rows, chosen, _ in moving:
                slopes[rows, k] = (more[key][chosen] - less[key][chosen]) / (2.0 * h)

    def _take(self, x: Array, root: Array) -> None:
        """Go on from another state, loops closed."""
        n = self.robot.ndof
        q, qd, mean = x[:n], x[n : 2 * n], x[2 * n :]
        for at, one in zip(np.cumsum([0, *(len(one.names) for one in self.unknowns)]), self.unknowns, strict=False):
            own = slice(at, at + len(one.names))
            mean[own] = np.clip(mean[own], one.low, one.high)
        if self.robot.n_multipliers:
            q, _, why = close_if_possible(self.robot, q, self._free)
            if why:
                raise ConvergenceError(f"Observer: {why}", q)
            qd = closed_rates(self.robot, q, qd, self._free)
            root = self._along_loops(q, root)
        self._mean, self._root = mean, root
        self._state = replace(self._state, q=q, qd=qd, memory=None)

    # -- whole motions -----------------------------------------------------------------------------------------------

    def run(self, u: ArrayLike, y: Mapping[Any, ArrayLike]) -> ObservedMotion:
        """Observe a recorded motion, from where the observer is.

        Parameters
        ----------
        u : (N, n_actuators) array_like
            Commands, each held over a step.
        y : mapping of place or sensor to (N, k) array_like
            Readings at the ends of the steps, NaN where there are none.
        """
        rows = np.atleast_2d(np.asarray(u, dtype=float))
        columns = {key: np.asarray(values, dtype=float) for key, values in y.items()}
        for key, values in columns.items():
            if len(values) != len(rows):
                raise InputError(f"y.{key}", f"{len(rows)} rows, one a step", f"{len(values)}")
        found = [self.state]
        for k, command in enumerate(rows):
            given = {key: _with_gaps(values[k]) for key, values in columns.items()}
            found.append(self.step(command, given))
        return ObservedMotion(self, tuple(found), np.vstack([rows[:1], rows]))


@public
@dataclass(frozen=True, eq=False)
class ObservedMotion:
    """What an `Observer` knew along a motion.

    Attributes
    ----------
    states : tuple of Observation
        At the begin, and at the end of each step.
    u : (n, n_actuators) ndarray
        Commands.
    """

    observer: Observer
    states: tuple[Observation, ...]
    u: Array

    def __len__(self) -> int:
        return len(self.states)

    @property
    def t(self) -> Array:
        """Times (n,) [s]."""
        return np.array([one.t for one in self.states])

    @property
    def q(self) -> Array:
        """Coordinates (n, ndof)."""
        return np.array([one.q for one in self.states])

    @property
    def qd(self) -> Array:
        """Rates (n, ndof)."""
        return np.array([one.qd for one in self.states])

    @property
    def values(self) -> dict[str, Array]:
        """Of what is unknown, each (n,) [SI]."""
        return dict(zip(self.observer.names, np.array([one.mean for one in self.states]).T, strict=True))

    @property
    def standard_deviations(self) -> dict[str, Array]:
        """Their standard deviations (n,) [SI]."""
        return {name: np.array([one.standard_deviations[name] for one in self.states]) for name in self.observer.names}

    def pose(self, link: Any, s: float | None = None) -> tuple[Array, Array]:
        """Poses (n, 4, 4) of a place, and covariances (n, 6, 6) of its twist in its own axes."""
        poses, covariances = zip(*(one.pose(link, s) for one in self.states), strict=True)
        return np.array(poses), np.array(covariances)

    @cached_property
    def run(self) -> Run:
        """The motion as a `Run` of the robot with unknown loads as inputs, which plays, plots and saves."""
        observer = self.observer
        inputs = np.array([observer._all_inputs(u, one.mean) for u, one in zip(self.u, self.states, strict=True)])
        steps = observer._sim._steps
        return steps.run(self.t, self.q, self.qd, inputs, f"observed by {observer.method}")


def _triangular(root: Array) -> Array:
    """The square, lower triangular S of S S^T = root root^T."""
    n = len(root)
    wide = root if root.shape[1] >= n else np.hstack([root, np.zeros((n, n - root.shape[1]))])
    return np.asarray(linalg.qr(wide.T, mode="r")[0][:n].T)


def _missing(value: Any) -> bool:
    if value is None:
        return True
    is_list = isinstance(value, list | tuple) and not any(isinstance(x, list | tuple | np.ndarray) for x in value)
    return is_list and all(x is None for x in value)


def _with_gaps(row: Array) -> Any:
    """A row of readings, None where it is NaN."""
    if np.ndim(row) > 1:
        return None if np.isnan(row).any() else row
    return [None if x != x else float(x) for x in np.atleast_1d(row)]
