"""Observers: the state of a moving robot from readings, by an extended Kalman filter (docs/theory.md, 22)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, special
from scipy.linalg import lapack

from sorosim.analysis.results.result import InitialState
from sorosim.base.arrays import Array, Mask
from sorosim.base.declare.types import Integer
from sorosim.base.errors import ConvergenceError, InputError, nearest
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, Values, choice, describe, number
from sorosim.mechanics.engine.parameter import DRIVEN, FILE
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.estimation.disturbances import solved
from sorosim.studies.estimation.moving import Belief, MovingRobot, strain_of
from sorosim.studies.estimation.observation import Observation, ObservedMotion
from sorosim.studies.estimation.readings import ReadingErrors, is_missing
from sorosim.studies.estimation.smoothing import Link, linked, smoothed, triangular
from sorosim.studies.estimation.unknowns import components_of, of_kind, place_of, unknowns_of, with_inputs

METHODS = ("ekf", "iterated", "smoother")
# how far random accelerations change velocities in a second, unless `process` says otherwise; what is unknown of a
# start: places, velocities, and of materials that relax the part of their strains that has not relaxed
MOTION, RANDOM = "motion", "0.1 m/s"
POSITION, VELOCITY, UNRELAXED = "1 cm", "5 cm/s", 0.0
# steps of the integrator between readings
SUBSTEPS = 4
# a reading that is less probable than this is left out
IMPROBABLE = 1e-6
# corrections of an iterated update: at most, and until they are this part of the deviations
MOST_CORRECTIONS, SETTLED = 8, 1e-3
# columns that LAPACK eliminates at once
BLOCK = 32
# steps to which late readings may belong; steps between a state that is smoothed and the last reading of it
REMEMBERED, LAG = 50, 20


class _Record(NamedTuple):
    """A step that late readings may be added to."""

    before: Belief
    u: Array
    driven: Mapping[str, Number] | None
    readings: tuple[Mapping[Any, Any], ...]
    link: Link | None = None
    rejected: tuple[str, ...] = ()
    innovations: Mapping[str, Array] = {}


@public
class Observer:
    """The state of a moving robot, and unknown inputs, loads and numbers of its file, from readings at equal steps.

    Parameters
    ----------
    robot : Robot
    dt : float or str
        Time between steps [s].
    unknown, noise, prior
        As in `estimate`, inputs, loads and numbers of the file, which the robot is made anew with as their estimates
        move: slowly, see `process`. A prior is what is known at the start.
    process : mapping, optional
        How far what is unknown may go in a second (a random walk): a spread by the names of `unknown`. Default: it
        stays. "motion": how far random accelerations of the whole robot change its velocity in a second. Default:
        0.1 m/s.
    method : {"ekf", "iterated", "smoother"}
        Extended Kalman filter; or with its updates iterated, for readings that are far from linear; or followed by a
        smoother: what later readings tell of the state `lag` ago is known too.
    substeps : int
        Steps of the integrator in dt. They begin anew after each update, and motions that they do not resolve are
        damped: inertial sensors see these, and need more steps than markers. Default: 4.
    lag : float or str, optional
        How long after a state readings still tell of it [s], to the nearest step. A step then costs as many
        factorisations more as there are steps in it. Default: 20 steps of the smoother; of other methods none.
    driven : mapping of link or coordinate name to float, str or signal
        Motions, as in `Stepper`: nothing is uncertain of them. `step` may replace them. Default: those of the file.

    Notes
    -----
    The mean moves by `Stepper`, the covariance by its exact derivatives, in square-root form, so it stays positive.
    Random accelerations are smooth fields of space, which the robot follows as far as its stiffness lets it: orders of
    rods do not change their size.
    Readings whose innovation is less probable than 1e-6 beside the others of their step are left out, and named. After
    each update loops are closed again.
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
        substeps: int = SUBSTEPS, lag: Number | None = None, driven: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._given = check_robot(robot)
        self.method = choice("method", method, METHODS)
        if driven is None:
            driven = robot.description.simulate.get("driven")  # a robot with unknown loads has no such block
        none = np.zeros(robot.engine.n_actuators)
        moved = Prescribed.of(robot, None, driven, controlled=True).values
        found = unknowns_of(robot, unknown, prior, none, moved) if unknown else []
        for one in found:
            if one.kind == DRIVEN:
                expected, hint = "an input, a load or a number of the file", "it is where `driven` sends it"
                raise InputError(f"unknown.{one.key}", expected, "a driven coordinate", hint)
        self.unknowns = tuple(sorted(found, key=lambda one: one.kind == FILE))
        whole = with_inputs(robot, self.unknowns)
        substeps = Integer(1, 10**6).argument("substeps", substeps)
        noise, m = self._noises(noise), len(none)
        self._moving = MovingRobot(whole, self.unknowns, m, dt, driven, substeps, noise)
        self.dt: float = self._moving.steps.dt
        self._lag = self._steps_in(lag)
        self.names = tuple(name for one in self.unknowns for name in one.names)
        self._walk, self._motion = self._processes(process or {})
        self._records: tuple[_Record, ...] = ()
        self._belief: Belief | None = None
        self._now: Observation | None = None

    @property
    def robot(self) -> Robot:
        """With unknown loads as further inputs, and unknown numbers as they are estimated."""
        if self._belief is not None:
            self._moving.take(self._belief.mean)
        return self._moving.robot

    def _steps_in(self, lag: Number | None) -> int:
        """Steps after which a state is smoothed; 0: it is not."""
        if lag is None:
            return LAG if self.method == "smoother" else 0
        time = amount("lag", lag, "time")
        if not time >= 0.5 * self.dt:
            raise InputError("lag", f"a time of at least a step, {self.dt:g} s", f"{time:g} s")
        return max(1, round(time / self.dt))

    @property
    def lag(self) -> float:
        """How long after a state readings still tell of it [s]; 0: a filter's states are of the readings until then."""
        return self._lag * self.dt

    def _noises(self, noise: Any) -> Any:
        """Noise of readings by place or sensor, whose names are right."""
        if not isinstance(noise, Mapping):
            return deepcopy(noise)
        for key in noise:
            if not (isinstance(key, str) and key in self._given.sensor_names):
                place_of(self._given, key, "noise")
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
            several = [other.kind for other in self.unknowns if other.key == one.key]
            given = of_kind(f"process.{one.key}", process.get(one.key), one.kind, several)
            none = np.zeros(len(one.names))
            spread = components_of(f"process.{one.key}", none if given is None else given, one.dimensions)
            if not (spread >= 0.0).all():
                raise InputError(f"process.{one.key}", "spreads of 0 or more", describe(given))
            walk += spread.tolist()
        motion = amount(f"process.{MOTION}", process.get(MOTION, RANDOM), "speed")
        if not motion >= 0.0:
            raise InputError(f"process.{MOTION}", "a speed of 0 or more", f"{motion:g}")
        return np.array(walk), motion

    # -- states ------------------------------------------------------------------------------------------------------

    def reset(
        self, q: InitialState | None = None, qd: Values | None = None, t: Number = 0.0, *, u: Values | None = None,
        position: Number = POSITION, velocity: Number = VELOCITY, unrelaxed: Number = UNRELAXED,
    ) -> Observation:  # fmt: skip
        """Begin at a state that is known only roughly.

        Parameters
        ----------
        q, qd, t, u
            As in `Stepper.reset`. Unknown inputs are spread about those of u, but where a prior says their mean.
        position, velocity : float or str
            Spreads of places and velocities there, of smooth fields of space as in `process`.
        unrelaxed : float
            Of materials that relax: spread of the part of the strains of rods that their Maxwell elements have, about
            what the file says of starts: 0 of relaxed ones, 1 of instantaneous ones. Default: 0, it is known.
        """
        far, fast = amount("position", position, "length"), amount("velocity", velocity, "speed")
        part = number("unrelaxed", unrelaxed)
        if not (far >= 0.0 and fast >= 0.0 and part >= 0.0):
            raise InputError("reset", "spreads of 0 or more", f"{position}, {velocity} and {unrelaxed}")
        for one in self.unknowns:
            if len(one.root) < len(one.names):
                hint = f"prior={{{one.key!r}: ...}}"
                raise InputError(f"prior.{one.key}", "what is known of it at the start", "nothing", hint)
        commanded, moving = self._given.inputs(u), self._moving
        for one in self.unknowns:
            if one.follows and not one.low[0] <= commanded[one.index] <= one.high[0]:
                expected = f"a value between {one.low[0]:g} and {one.high[0]:g}, as it is unknown"
                raise InputError(f"u.{one.key}", expected, f"{commanded[one.index]:g}")
        means = [commanded[[one.index]] if one.follows else one.mean for one in self.unknowns]
        mean = np.concatenate([np.zeros(0), *means])
        moving.take(mean)
        state = moving.begin(q, qd, t, commanded, mean)
        known = [linalg.inv(one.root) for one in self.unknowns]
        root = np.hstack([moving.random_start(state, far, fast, part), np.zeros((moving.at + moving.m, moving.m))])
        root[moving.at :, root.shape[1] - moving.m :] = linalg.block_diag(*known) if known else 0.0
        root = triangular(root)
        if moving.robot.n_multipliers:
            root = moving.along_loops(np.array(state.q), np.array(state.qd), root)
        self._records, self._belief = (), Belief(state, mean, root)
        return self._shown((), {})

    def _shown(self, rejected: Sequence[str], innovations: Mapping[str, Array]) -> Observation:
        """What is known now, and of the state `lag` ago."""
        assert self._belief is not None
        past = None
        if 0 < self._lag <= len(self._records):
            *_, begin = self._backwards()
            past = self._past(*begin)
        self._now = self._observation(self._belief, rejected, innovations, past)
        return self._now

    def _observation(
        self, belief: Belief, rejected: Sequence[str] = (), innovations: Mapping[str, Array] | None = None,
        past: Observation | None = None,
    ) -> Observation:  # fmt: skip
        state, numbers = belief.state, tuple(one.key for one in self.unknowns if one.kind == FILE)
        self._moving.take(belief.mean)
        told = tuple(dict.fromkeys(rejected))
        return Observation(
            self._moving.robot, state.t, np.array(state.q), np.array(state.qd), self.names, belief.mean.copy(),
            belief.root.copy(), strain_of(state).copy(), numbers, told, dict(innovations or {}), past,
        )  # fmt: skip

    def _backwards(self) -> Iterator[tuple[int, Array, Array]]:
        """What later readings tell of the beliefs before steps, from the last one to that `lag` ago.

        Numbers of the steps, means and roots of z.
        """
        records, first = self._records, max(len(self._records) - self._lag, 0)
        links = [one.link for one in records[first:] if one.link is not None]
        for k, (z, root) in zip(reversed(range(first, len(records))), smoothed(links), strict=True):
            yield k, z, root

    def _past(self, k: int, z: Array, root: Array) -> Observation:
        """What is known of the state before a step."""
        belief, led = self._records[k].before, self._records[k - 1] if k else None
        found = self._moving.closed(belief, belief.x + belief.root @ z, belief.root @ root)
        return self._observation(found, *((led.rejected, led.innovations) if led else ()))

    def recent(self) -> tuple[Observation, ...]:
        """What all readings tell of the states of the last `lag`, in their order, this one the last."""
        now = self.state
        before = [self._past(*one) for one in self._backwards()] if self._lag else []
        return (*reversed(before), now)

    @property
    def state(self) -> Observation:
        """What is known now."""
        if self._now is None:
            raise InputError("Observer", "a reset before the first step", "none", "obs.reset() begins at the start")
        return self._now

    # -- steps -------------------------------------------------------------------------------------------------------

    def step(
        self, u: Values | None = None, y: Mapping[Any, Any] | None = None,
        driven: Mapping[str, Number] | None = None, *, late: Mapping[Number, Mapping[Any, Any]] | None = None,
    ) -> Observation:  # fmt: skip
        """Move by dt under inputs, and take readings at its end.

        Parameters
        ----------
        u : array_like, or mapping of actuator name to float or str
            Commanded. Default: as in the step before, or the reset. Entries of unknown inputs count for nothing: they
            are what is estimated.
        y : mapping of place or sensor to value, optional
            What was read, as in `estimate`: any of them, or none.
        driven : mapping of link or coordinate name to float or str, optional
            Where driven coordinates are at the end of the step, as in `Stepper.step`.
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
            for time, readings in [(amount("late", t, "time"), readings) for t, readings in (late or {}).items()]:
                first = min(first, self._take_late(records, time, readings))
            told = (deepcopy(dict(y)),) if y else ()
            command = np.array(self._belief.state.u) if u is None else self._given.inputs(u)
            records.append(_Record(self._belief, command, deepcopy(driven), told))
            belief, rejected = records[first].before, list[str]()
            for k in range(first, len(records)):
                records[k] = records[k]._replace(before=belief)
                belief, records[k] = self._moved(records[k])
                rejected += records[k].rejected
            self._belief, self._records = belief, tuple(records[-max(REMEMBERED, self._lag + 1) :])
            return self._shown(rejected, records[-1].innovations)
        except BaseException:
            self._belief, self._records, self._now = before
            raise

    def _take_late(self, records: list[_Record], time: float, readings: Mapping[Any, Any]) -> int:
        """Add a reading to the step that ended at a time; which one that is."""
        ends = [record.before.state.t + self.dt for record in records]
        near = [k for k, end in enumerate(ends) if abs(end - time) < 0.5 * self.dt]
        if not near:
            known = f"{ends[0]:g} to {ends[-1]:g} s" if ends else "no step yet"
            n = max(REMEMBERED, self._lag + 1)
            raise InputError("late", f"times of the last {n} steps, {known}", f"{time:g} s")
        k = near[0]
        records[k] = records[k]._replace(readings=(*records[k].readings, deepcopy(dict(readings))))
        return k

    def _moved(self, record: _Record) -> tuple[Belief, _Record]:
        """What is known after a step and its readings, and the step with what it was told."""
        before, moving = record.before, self._moving
        state, F = moving.move(before, record.u, record.driven)
        root = np.hstack([F @ before.root, self._disturbances(np.array(state.q))])
        link: Link | None = None
        if self._lag:
            root, link = linked(root)
        else:
            root = triangular(root)
        belief, rejected, innovations = Belief(state, before.mean, root), list[str](), dict[str, Array]()
        for readings in record.readings:
            belief, link, out, found = self._updated(belief, link, readings)
            rejected, innovations = [*rejected, *out], {**innovations, **found}
        # without readings, too, a root has to stay along loops, which curve
        if belief.state is state and (moving.begins_anew or self.robot.n_multipliers):
            belief = moving.closed(belief, belief.x, belief.root)
        return belief, record._replace(link=link, rejected=tuple(rejected), innovations=innovations)

    def _disturbances(self, q: Array) -> Array:
        """Root of the covariance of what a step adds."""
        return self._moving.disturbances(q, self._motion, self._walk, self.dt)

    # -- readings ----------------------------------------------------------------------------------------------------

    def _updated(
        self, belief: Belief, link: Link | None, y: Mapping[Any, Any]
    ) -> tuple[Belief, Link | None, list[str], dict[str, Array]]:
        """What is known with readings, the link to that, names of readings that were left out, and innovations."""
        given = {key: value for key, value in y.items() if not is_missing(value)}
        if not given:
            return belief, link, [], {}
        x = belief.x
        e, H, readings = self._moving.errors(given, belief, x)
        innovations, doubtful = readings.innovations(e), self._doubtful(readings, belief, e, H)
        counted = np.ones(len(e), dtype=bool)
        iterates = self.method == "iterated"
        for name in doubtful:
            counted[readings.rows[name]] = False
        if doubtful:  # linear innovations are no measure of what is far from linear, as after a time without readings
            everything = np.ones_like(counted)
            more = self._corrected(given, belief, e, H, everything, True)[2]
            less = self._corrected(given, belief, e, H, counted, True)[2] if counted.any() else 0.0
            if special.chdtrc(int((~counted).sum()), max(more - less, 0.0)) >= IMPROBABLE:
                doubtful, counted, iterates = [], everything, True
        if not counted.any():
            return belief, link, doubtful, innovations
        z, R, _ = self._corrected(given, belief, e, H, counted, iterates)
        root = solved(R, belief.root.T, True).T
        link = None if link is None else link.updated(z, R)
        return self._moving.closed(belief, x + belief.root @ z, root), link, doubtful, innovations

    def _doubtful(self, readings: ReadingErrors, belief: Belief, e: Array, H: Array) -> list[str]:
        """Names of readings that are improbable beside the others, the most improbable one left out before the next.

        Of the innovation e of all and its covariance S, that of one reading beside the others has the size
        w_i . (S^-1)_ii^-1 w_i, w = S^-1 e.
        """
        left, C = dict(readings.rows), H @ belief.root
        while left:
            own = np.concatenate([np.arange(len(e))[rows] for rows in left.values()])
            precision = linalg.inv(np.eye(len(own)) + C[own] @ C[own].T)
            w, ends = precision @ e[own], np.cumsum([rows.stop - rows.start for rows in left.values()])
            found = []
            for name, end in zip(left, ends.tolist(), strict=True):
                block = slice(end - (left[name].stop - left[name].start), end)
                size = w[block] @ linalg.solve(precision[block, block], w[block], assume_a="pos")
                found.append((float(special.chdtrc(block.stop - block.start, size)), -float(size), name))
            least, _, name = min(found)
            if not least < IMPROBABLE:
                break
            del left[name]
        return [name for name in readings.rows if name not in left]

    def _corrected(
        self, y: Mapping[Any, Any], belief: Belief, e: Array, H: Array, counted: Mask, iterates: bool
    ) -> tuple[Array, Array, float]:
        """The most probable z of x + S z, R of the covariance S (R^T R)^-1 S^T there, and what it costs."""
        x, z = belief.x, np.zeros(belief.root.shape[1])
        for _ in range(MOST_CORRECTIONS if iterates else 1):
            C, r = H[counted] @ belief.root, e[counted]
            R = lapack.dtpqrt(0, min(BLOCK, len(z)), np.eye(len(z)), C)[0]  # of [1; C]
            # least |z'|^2 + |r + C (z' - z)|^2
            after = -solved(R, solved(R, C.T @ (r - C @ z), True))
            done, z = np.abs(after - z).max() < SETTLED, after
            if done or not iterates:
                break
            e, H, _ = self._moving.errors(y, belief, x + belief.root @ z)
        return np.asarray(z), np.asarray(R), float(z @ z + e[counted] @ e[counted])

    # -- whole motions -----------------------------------------------------------------------------------------------

    def run(
        self, u: ArrayLike, y: Mapping[Any, ArrayLike], driven: Mapping[str, ArrayLike] | None = None
    ) -> ObservedMotion:
        """Observe a recorded motion, from where the observer is.

        Of a smoother all states are of the readings until `lag` after them, or until the end.

        Parameters
        ----------
        u : (N, n_actuators) array_like
            Commands, each held over a step.
        y : mapping of place or sensor to (N, k) or (N, 4, 4) array_like
            Readings at the ends of the steps, NaN of entries that were not read; of a pose of all of them or none.
        driven : mapping of link or coordinate name to (N,) array_like, optional
            Where driven coordinates are at the ends of the steps, as in `step`.

        Raises
        ------
        ConvergenceError
            A step failed; `partial` is the ObservedMotion until then.
        """
        rows = np.asarray(u, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != self._given.engine.n_actuators:
            raise InputError("u", f"rows of {self._given.engine.n_actuators} commands", f"shape {rows.shape}")
        columns = {key: np.asarray(values, dtype=float) for key, values in y.items()}
        sent = {key: np.asarray(values, dtype=float) for key, values in (driven or {}).items()}
        given = [*((f"y.{key}", x) for key, x in columns.items()), *((f"driven.{key}", x) for key, x in sent.items())]
        for name, table in given:
            if table.shape[:1] != rows.shape[:1]:
                raise InputError(name, f"{len(rows)} rows, one a step", f"{len(table)}" if table.ndim else "a number")
        for name, table in [("u", rows), *given]:  # before the first step
            wrong = ~np.isfinite(table)
            if name.startswith("y."):  # of a pose all or nothing
                wrong &= ~(np.isnan(table) if table.ndim < 3 else np.isnan(table).all(axis=(1, 2), keepdims=True))
            if wrong.any():
                first = tuple(np.argwhere(wrong)[0].tolist())
                raise InputError(f"{name}, row {first[0]}", "finite numbers", f"{table[first]:g}")
        found, paths = [self.state], [self._path]

        def motion() -> ObservedMotion:
            last = self.recent()[-len(found) :]
            states = (*found[: len(found) - len(last)], *last)
            begin = rows[:1] if len(rows) else np.zeros((1, rows.shape[1]))
            commands = np.vstack([begin, rows[: len(found) - 1]])
            inputs = np.array([self._moving.inputs(u, one.mean) for u, one in zip(commands, states, strict=True)])
            self._moving.take(states[-1].mean)
            run = self._moving.steps.run(
                *(np.array([getattr(one, name) for one in states]) for name in ("t", "q", "qd")), inputs,
                f"observed by {self.method}", paths,
                np.array([one.strain for one in states]) if self._moving.n_strains else None,
            )  # fmt: skip
            return ObservedMotion.of(run, self.unknowns, states, self.method, self.lag)

        for k, command in enumerate(rows):
            readings = {key: _with_gaps(values[k]) for key, values in columns.items()}
            try:
                found.append(self.step(command, readings, {key: float(x[k]) for key, x in sent.items()} or None))
            except ConvergenceError as error:
                raise ConvergenceError(f"Observer, step {k + 1} of {len(rows)}: {error}", motion()) from error
            paths.append(self._path)
            if (past := found[-1].smoothed) is not None and len(found) > self._lag:
                found[-1 - self._lag] = past
        return motion()

    @property
    def _path(self) -> Any:
        """Path of driven coordinates."""
        assert self._belief is not None
        memory = self._belief.state.memory
        return None if memory is None else memory.path


def _with_gaps(row: Array) -> Any:
    """A row of readings, None where it is NaN."""
    if np.ndim(row) > 1:
        return None if np.isnan(row).all() else row
    return [None if x != x else float(x) for x in np.atleast_1d(row)]
