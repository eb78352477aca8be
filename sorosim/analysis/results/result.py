"""Results: an equilibrium and a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import index
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sorosim.analysis.equations.neutral import NeutralMotion, neutral_motions
from sorosim.analysis.results.accuracy import Accuracy, Companion, apart
from sorosim.analysis.results.readings import Readings, readings_along
from sorosim.base.arrays import Array, IntArray
from sorosim.base.declare.result import (
    DATA,
    TEXT,
    TIMES,
    Named,
    Numbered,
    Numbers,
    Record,
    Result,
    Rising,
    StoredField,
    Texts,
    optional,
    stored,
)
from sorosim.base.errors import InputError, nearest
from sorosim.base.methods import METHODS, MotionMethod, method_of
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.signals import as_signal
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, Values
from sorosim.mechanics.dynamics import arguments
from sorosim.mechanics.dynamics.energies import PowerEvaluator, energy
from sorosim.mechanics.dynamics.maxwell import MaxwellElements
from sorosim.mechanics.engine.loading import SlipState, StickState
from sorosim.mechanics.engine.records import ContactHistory, Contacts
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.quantities import summarized
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.state import State


class EnergyHistory(NamedTuple):
    """Energies along a run [J], each (n_times,)."""

    kinetic: Array
    elastic: Array
    gravity: Array
    work: Array  # done by actuators, loads and driven joints since the start
    dissipated: Array  # by damping, friction and drag since the start

    @property
    def total(self) -> Array:
        """Kinetic, elastic and gravitational energy."""
        return self.kinetic + self.elastic + self.gravity

    @property
    def balance(self) -> Array:
        """Change of `total` since the first time, less work, plus dissipation: zero for an exact integration.

        It is the error of the integration: work and dissipation are integrated with its steps, whatever the output
        times are. In files of older versions, and where a run was not simulated, they are sums by Simpson's rule over
        the output times, with the error of that rule.
        """
        exchanged = self.work - self.dissipated
        return self.total - self.total[:1] - exchanged + exchanged[:1]

    @property
    def turnover(self) -> float:
        """Sum of the ranges of all parts, the scale of the error of the balance."""
        return float(sum(np.ptp(part) for part in self)) if len(self.kinetic) else 0.0


class Drawable(Result):
    """A result that is drawn in 3D; `sorosim.view.viz` does it, which computing does not load."""

    still = LazyMethod("sorosim.view.viz.movie:still")
    play = LazyMethod("sorosim.view.viz.player:play")
    export_html = LazyMethod("sorosim.view.viz.web:export_html")
    export_gltf = LazyMethod("sorosim.view.viz.gltf:export_gltf")


class Driven(Named):
    """Generalised forces of driven coordinates, by their names."""

    def unpack(self, stored: Any, robot: Robot) -> Any:
        """Refuse names that the robot does not have."""
        layout = robot.engine.layout
        if unknown := [name for name in stored if name not in (*layout.links, *layout.coordinate_names)]:
            raise ValueError(f"the robot has no coordinate '{unknown[0]}'")
        return stored


class Sliding(Record):
    """A `SlipState`: its rates, and where there were some the contacts that stuck, in one group."""

    def pack(self, value: SlipState) -> Any:
        """What a file holds of it."""
        return {"rates": value.rates, **({} if value.stuck is None else value.stuck._asdict())}

    def unpack(self, stored: Any, robot: Robot) -> Any:
        """The state."""
        stuck = StickState(stored["pair"].astype(np.int64), stored["slip"]) if "pair" in stored else None
        return SlipState(stored["rates"], stuck)


def _plain(contacts: Contacts) -> dict[str, Any]:
    """Contacts for other programs."""
    return {name: list(part) if isinstance(part, tuple) else part for name, part in contacts._asdict().items()}


def _event(t: Array, q: Array, qd: Array) -> tuple[Array, Array, Array]:
    return t, q, qd


NEEDED_FORCES = "per driven coordinate: the generalised force it needs, see `Robot.joint_wrench`"
TOUCHING = StoredField(DATA, "where surfaces touch, see `contacts`", name="contacts", needed=False, derived=True)
STATES, STRAINS, OWN_STATES = Numbers(TIMES, "ndof"), Numbers(TIMES, "n_strains"), Numbers("n", "ndof")
EVENTS = Numbered(Record(_event, t=Numbers("n"), q=OWN_STATES, qd=OWN_STATES), 1)
COMPANION = Record(
    Companion, q=STATES, qd=STATES, strain=STRAINS, how=TEXT, level=Numbers(), factor=Numbers(), parts_at=Numbers()
)
READINGS = Record(
    Readings, t=Numbers("n"), values=Numbers("n", "n_channels"), channels=Texts("n_channels"), units=Texts("n_channels")
)


@public
@dataclass(frozen=True, eq=False)
class Equilibrium(Drawable, kind="equilibrium"):
    """A state of rest."""

    robot: Robot
    q: Array = stored(Numbers("ndof"), "coordinates", "rad, m, or 1 for strains")
    u: Array = stored(Numbers("n_actuators"), "inputs", "`Robot.actuator_units`")
    lam: Array = stored(Numbers("n_multipliers"), "multipliers of loops, see `loop_wrench`, and couplings")
    driven: dict[str, float] = stored(Driven(Numbers()), NEEDED_FORCES, "N m or N")
    residual_norm: float = stored(Numbers(), "largest residual of the free coordinates", "N m, N, or J for strains")
    stiffness: Array | None = stored(
        Numbers("n_free", "n_free"), "`tangent_stiffness` as the search formed it; None: of a large tree it did not",
        name="tangent_stiffness", needed=False,
    )  # fmt: skip
    n_evaluations: int = stored(Numbers(), "how many of residual and Jacobian together")
    message: str = stored(TEXT, "what the solver did")
    free: IntArray = stored(Numbers("n_free"), "free coordinates", default=np.zeros(0, dtype=np.int64), needed=True)
    sliding: SlipState | None = stored(
        Sliding(SlipState, rates=Numbers("ndof")), "what friction resisted, see `statics`", default=None
    )
    also: ClassVar[Mapping[str, StoredField]] = {"_touching": TOUCHING}

    plot = LazyMethod("sorosim.view.viz.plots:plot_equilibrium")
    _repr_html_ = LazyMethod("sorosim.view.viz.notebook:equilibrium_html")

    @cached_property
    def tangent_stiffness(self) -> Array:
        """Derivative (n_free, n_free) of the residual by the free coordinates, multipliers held.

        Of a large tree it is formed when it is asked for, as are the matrices of `linearize` and `stable`.
        """
        return self.robot.linearize(self.q, self.u, free=self.free).K if self.stiffness is None else self.stiffness

    @cached_property
    def contact_state(self) -> tuple[Contacts, StickState]:
        """Where surfaces touch, and how they stick, for the next equilibrium."""
        return self.robot.engine.contacts(self.q, np.zeros(self.robot.ndof), self.sliding)

    @property
    def contacts(self) -> Contacts:
        """Where surfaces touch, and with which forces."""
        return self.contact_state[0]

    @property
    def _touching(self) -> dict[str, Any] | None:
        return _plain(self.contacts) if self.robot.engine.loading.touches else None

    def linearize(self) -> Linearization:
        """Linearised motion about it, driven joints held; what sticks is held by springs (`Robot.linearize`)."""
        K = None if self.sliding is None else 0.5 * (self.tangent_stiffness + self.tangent_stiffness.T)
        return self.robot.linearize(self.q, self.u, free=self.free, stiffness=K)

    @cached_property
    def stable(self) -> bool:
        """Whether no small motion about it grows, driven joints held (`linearize`); neutral ones may drift."""
        return self.linearize().stable

    @cached_property
    def stability(self) -> str:
        """The same in words, which tell divergence from flutter; see `Linearization.stability`."""
        return self.linearize().stability

    @cached_property
    def neutral_motions(self) -> tuple[NeutralMotion, ...]:
        """Motions along which the tangent stiffness is zero, as of a rope that spins about itself between ball joints.

        Each by its coordinate with most kinetic energy, its shape (ndof,), and whether it `goes_on`: at the same
        energy, to other equilibria; else a load is critical there, as one under which a column begins to buckle.
        """
        return neutral_motions(self.linearize(), self.q, self.u, self.free)

    def loop_wrench(self, name: str) -> Array:
        """Wrench (6,) [N m, N] of a loop's joint on its frame `a`, in the axes of `b`, moment about its origin."""
        return self.robot.engine.loop_wrench(_loop(self.robot, name), self.q, np.zeros_like(self.q), self.u, self.lam)

    def coupling_effort(self, name: str) -> float:
        """Moment [N m] or force [N] of a coupling on what follows; -ratio times it acts on the leader."""
        return float(self.lam[_coupling(self.robot, name)])

    def measure(self) -> dict[str, Array]:
        """What the sensors read, without noise and bias; see `Robot.measure`."""
        zero, instruments = np.zeros_like(self.q), self.robot.instruments
        state = State(instruments.sites, 0.0, self.q, zero, zero, self.u, self.lam, self.sliding)
        return dict(instruments.measured(state))

    def tip(self, link: str | None = None) -> Array:
        """Position (3,) of the tip of a link in the world [m]; default: the first of `Robot.outputs`."""
        robot = self.robot
        return (robot.outputs.poses(self.q)[0] if link is None else robot.pose(self.q, link))[:3, 3]

    def __repr__(self) -> str:
        return f"<Equilibrium of '{self.robot.name}': residual {self.residual_norm:.2g}, {self.message}>"


class Checkpoints(NamedTuple):
    """States from which an integrator started anew."""

    t: Array  # (m,) [s]
    q: Array  # (m, ndof)
    qd: Array  # (m, ndof)
    stats: dict[str, Array]  # counts until then, each (m,)
    exchanged: Array | None = None  # (m, 2) work and dissipation until then [J]; None: of an older version
    strain: Array | None = None  # (m, n_strains) of Maxwell elements; None: there are none

    @classmethod
    def of(cls, points: Sequence[tuple[float, Array, Mapping[str, object]]], ndof: int) -> Checkpoints:
        """From times, states [q; qd; work, dissipation; strains] and counts."""
        states = np.array([state for _, state, _ in points])
        states = states if len(points) else np.zeros((0, 2 * ndof + 2))
        names = points[-1][2] if points else {}
        stats = {name: np.array([counts.get(name, 0) for _, _, counts in points]) for name in names}
        t, q, qd = np.array([t for t, _, _ in points]), states[:, :ndof], states[:, ndof : 2 * ndof]
        strain = states[:, 2 * ndof + 2 :]
        return cls(t, q, qd, stats, states[:, 2 * ndof : 2 * ndof + 2], strain if strain.size else None)

    def first(self, n: int) -> Checkpoints:
        """The first n of them."""
        exchanged, strain = (None if part is None else part[:n] for part in (self.exchanged, self.strain))
        stats = {name: x[:n] for name, x in self.stats.items()}
        return Checkpoints(self.t[:n], self.q[:n], self.qd[:n], stats, exchanged, strain)

    def extended_by(self, later: Checkpoints) -> Checkpoints:
        """These and later ones."""
        if not (len(self.t) and len(later.t)):
            return later if len(later.t) else self
        none = np.zeros(len(self.t), dtype=int)
        stats = {name: np.concatenate([self.stats.get(name, none), x]) for name, x in later.stats.items()}
        t, q, qd = (np.concatenate([earlier, added]) for earlier, added in zip(self[:3], later[:3], strict=True))
        both = (
            None if earlier is None or added is None else np.concatenate([earlier, added])
            for earlier, added in zip(self[4:], later[4:], strict=True)
        )
        return Checkpoints(t, q, qd, stats, *both)


CHECKPOINTS = Record(
    Checkpoints, t=Numbers("n"), q=OWN_STATES, qd=OWN_STATES, stats=Named(Numbers("n")),
    exchanged=optional(Numbers("n", 2)), strain=optional(Numbers("n", "n_strains")),
)  # fmt: skip


@public
@dataclass(frozen=True, eq=False)
class Run(Drawable, kind="run"):
    """A motion."""

    robot: Robot
    t: Array = stored(Rising(TIMES), "times", "s")
    q: Array = stored(STATES, "coordinates", "rad, m, or 1 for strains")
    qd: Array = stored(STATES, "rates, the same per second")
    u: Array = stored(Numbers(TIMES, "n_actuators"), "inputs", "`Robot.actuator_units`")
    lam: Array = stored(Numbers(TIMES, "n_multipliers"), "multipliers of loops, see `loop_wrench`, and couplings")
    driven: dict[str, Array] = stored(Driven(Numbers(TIMES)), NEEDED_FORCES, "N m or N")
    stats: dict[str, Any] = stored(DATA, "counts and wall time of the integration")
    options: dict[str, Any] = stored(DATA, "what was asked for, the inputs too, see `simulate`")
    message: str = stored(TEXT, "of the integrator")
    events: tuple[tuple[Array, Array, Array], ...] = stored(EVENTS, "per event: times, coordinates, rates", default=())
    dense: Callable[[float], tuple[Array, Array]] | None = field(default=None, repr=False)
    checkpoints: Checkpoints | None = stored(
        CHECKPOINTS, "times and states from which the integrator started anew; empty without checkpoints",
        default=None, stated=True, repr=False,
    )  # fmt: skip
    exchanged: Array | None = stored(
        Numbers(TIMES, 2), "work and dissipation by the integrator's steps, see `energy`; empty if not simulated", "J",
        default=None, stated=True,
    )  # fmt: skip
    strain: Array | None = stored(
        STRAINS,
        "strains of Maxwell elements, where materials relax: of each rod, term by term, as its coordinates",
        default=None,
    )
    companion: Companion | None = stored(
        COMPANION, "the motion by finer steps, of a run with `verify`", default=None, repr=False
    )
    also: ClassVar[Mapping[str, StoredField]] = {
        "_energies": StoredField(
            DATA, "kinetic, elastic and gravitational energy, work, dissipation and what the balance misses", "J",
            name="energy", needed=False, derived=True,
        ),
        "_readings": StoredField(
            Named(READINGS), "per sensor: times, values, channels and units", name="readings", needed=False
        ),
        "_touching": TOUCHING,
    }  # fmt: skip

    plot = LazyMethod("sorosim.view.viz.plots:plot_run")
    movie = LazyMethod("sorosim.view.viz.movie:movie")
    to_csv = LazyMethod("sorosim.files.export:write_csv")
    readings_to_csv = LazyMethod("sorosim.files.export:write_readings")
    to_mat = LazyMethod("sorosim.files.export:write_mat")
    _repr_html_ = LazyMethod("sorosim.view.viz.notebook:run_html")

    @classmethod
    def restored(cls, stored: Mapping[str, Any], robot: Robot) -> Run:
        """The run from the content of a file that was checked, and its robot."""
        parts = cls.parts(stored, robot)
        readings = parts.pop("_readings", None)
        run = cls(robot, **parts)
        if readings is not None:  # the very ones that were saved: another numpy might draw other noise
            run.__dict__["readings"] = readings
        return run

    @property
    def method(self) -> MotionMethod | None:
        """The method of `simulate` by which it was integrated, with its options; None of other motions."""
        return method_of(self.options) if self.options.get("method") in METHODS else None

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: Any) -> Run:
        """The run at some of its times only: a slice, a mask, or one row by its number."""
        if not isinstance(rows, slice) and np.ndim(rows) == 0:
            rows = [index(rows)]
        driven = {name: force[rows] for name, force in self.driven.items()}
        companion = None if self.companion is None else self.companion.at(rows)
        tables = {name: getattr(self, name)[rows] for name in self._tables}
        return replace(self, **tables, driven=driven, companion=companion)

    @property
    def _tables(self) -> tuple[str, ...]:
        """Names of the arrays that have a row for each time."""
        some = (name for name in ("exchanged", "strain") if getattr(self, name) is not None)
        return ("t", "q", "qd", "u", "lam", *some)

    def extended_by(self, later: Run) -> Run:
        """This run and a later one that resumed it, whose counts, options and message count."""

        def both(earlier: Array, added: Array) -> Array:
            return np.concatenate([earlier, added])

        names = [name for name in later._tables if getattr(self, name) is not None]
        rows: dict[str, Any] = {name: both(getattr(self, name), getattr(later, name)) for name in names}
        events = later.events
        if len(self.events) == len(events):
            pairs = zip(self.events, events, strict=True)
            events = tuple((both(a[0], b[0]), both(a[1], b[1]), both(a[2], b[2])) for a, b in pairs)
        points = later.checkpoints
        if self.checkpoints is not None and points is not None:
            points = self.checkpoints.extended_by(points)
        driven = {name: both(self.driven[name], force) for name, force in later.driven.items()}
        # a companion of the later one alone begins at its start: it tells nothing of the errors until there
        return replace(later, **rows, driven=driven, events=events, checkpoints=points, companion=None)

    def tip(self, link: str | None = None) -> Array:
        """Positions (n, 3) of the tip of a link in the world [m]; default: the first of `Robot.outputs`."""
        return self.robot.outputs.positions(self.q)[:, 0] if link is None else self.positions(link, 1.0)

    def positions(self, link: str | None = None, s: float = 1.0) -> Array:
        """Positions (n, 3) in the world [m] of the section at s of a link, or of a rigid link's frame.

        The last state of a run that stopped may be beyond what positions can be found of: there they are NaN.
        """
        engine = self.robot.engine
        at = engine.places((arguments.place(engine, link or self.robot.outputs.places[0][0], s),))
        with np.errstate(all="ignore"):
            return np.array([engine.poses_at(at, q)[0][0, :3, 3] for q in self.q]).reshape(len(self.q), 3)

    def error_estimate(self, link: str | None = None, s: float = 1.0) -> Array:
        """Estimated error (n,) of the place of a section at the times of the run [m].

        It is the distance from a companion run by finer steps, see `sorosim.simulate`, `verify`. Where the error of the
        companion is a part r of that of this run, the estimate is between 1 - r and 1 + r times the error; beyond
        `accuracy.parts_at` neither motion is known, and it tells nothing but that. NaN where the companion stopped.

        Parameters
        ----------
        link : str, optional
            Default: the last link with a body.
        s : float
            Section of a rod, 0 at its base, 1 at its tip.

        Raises
        ------
        InputError
            The run has no companion.
        """
        companion = self._companion("error_estimate")
        known, distance = np.isfinite(companion.q).all(axis=1), np.full(len(self.t), np.nan)
        here = self[known]
        there = replace(here, q=companion.q[known]).positions(link, s)
        distance[known] = np.linalg.norm(here.positions(link, s) - there, axis=1)
        return companion.factor * distance

    @cached_property
    def accuracy(self) -> Accuracy:
        """Estimated error of all links, and from when on the motion cannot be told; as text, in a line."""
        companion = self._companion("accuracy")
        error, way = apart(self.robot, self.q, companion.q)
        return Accuracy(self.t, companion.factor * error, way, companion.parts_at, companion.how)

    def _companion(self, what: str) -> Companion:
        if self.companion is None:
            asked = self.options.get("verify", False)
            hint = "its message says why" if asked else "simulate(..., verify=True) makes one"
            raise InputError(what, "a run with a companion", "one without", hint)
        return self.companion

    def loop_wrench(self, name: str) -> Array:
        """Wrenches (n, 6) [N m, N] of a loop's joint on its frame `a`, in the axes of `b`, moments about its origin."""
        loop = _loop(self.robot, name)
        rows = zip(self.q, self.qd, self.u, self.lam, strict=True)
        return np.array([self.robot.engine.loop_wrench(loop, *row) for row in rows]).reshape(len(self.t), 6)

    def coupling_effort(self, name: str) -> Array:
        """Moments [N m] or forces [N] (n,) of a coupling on the coordinate that follows; see `Equilibrium`."""
        return np.array(self.lam[:, _coupling(self.robot, name)])

    @cached_property
    def drift(self) -> dict[str, Array]:
        """How far each loop or coupling is open along the run, by name: distance [m] and angle [rad], (n, 2)."""
        gaps, names = [self.robot.engine.gaps(q) for q in self.q], self.robot.engine.loop_layout.rows
        return {name: np.array([gap[name] for gap in gaps]).reshape(-1, 2) for name in names}

    @cached_property
    def readings(self) -> dict[str, Readings]:
        """What the sensors gave along the run, by name, with their rates, noise and bias (docs/sensors.md)."""
        specs = self.options.get("driven") or {}
        driven = stored_signals({name: specs.get(name) for name in self.driven}, "driven")
        return readings_along(
            self.robot, self.t, (self.q, self.qd, self.u, self.lam, strain_rows(self)), driven, self.options
        )

    @cached_property
    def contacts(self) -> ContactHistory:
        """Where surfaces touched along the run, and with which forces."""
        return ContactHistory.collected([self.robot.contacts(*state) for state in zip(self.q, self.qd, strict=True)])

    @property
    def _energies(self) -> dict[str, Array]:
        return self._energy._asdict() | {"balance": self._energy.balance}

    @property
    def _readings(self) -> dict[str, Readings] | None:
        return self.readings or None

    @property
    def _touching(self) -> dict[str, Any] | None:
        touches = self.robot.engine.loading.touches
        return {"row": self.contacts.row, **_plain(self.contacts.contacts)} if touches else None

    def at(self, t: Number) -> tuple[Array, Array]:
        """Coordinates and rates at any time of the run; it must have been made with dense=True."""
        if self.dense is None:
            raise InputError("at", "a run with dense output", "none", "simulate(..., dense=True)")
        # a terminal event may lie behind the last output
        end = max([self.t[-1], *(times[-1] for times, _, _ in self.events if len(times))])
        if not self.t[0] <= (time := amount("t", t, "time")) <= end:
            raise InputError("t", f"a time from {self.t[0]:g} to {end:g}", f"{t}")
        return self.dense(time)

    def summarize(self, summary: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
        """Quantities of the run as one number each.

        Parameters
        ----------
        summary : mapping of names to {reduction: quantity, "after": time}
            As those of sweeps (docs: sweeps): ``{"speed": {"rate": "fish.x", "after": "2 s"}}``. Reductions are last,
            min, max, mean, rms, range, amplitude and rate. Places are the tips of links.

        Returns
        -------
        dict of name to number, in SI units

        Raises
        ------
        InputError
            A summary is none, or begins after the end of the run.
        """
        return {name: number for name, (number, _) in summarized(self, "summary", summary).items()}

    def energy(self) -> EnergyHistory:
        """Energies, work and dissipation along the run [J]."""
        return self._energy

    @cached_property
    def _energy(self) -> EnergyHistory:
        engine, n = self.robot.engine, len(self.t)
        parts = np.array([energy(engine, q, qd) for q, qd in zip(self.q, self.qd, strict=True)]).reshape(n, 3).T
        if self.strain is not None:
            parts[1] += engine.companion(MaxwellElements).energies(self.q, self.strain)
        if self.exchanged is not None:
            return EnergyHistory(parts[0], parts[1], parts[2], self.exchanged[:, 0], self.exchanged[:, 1])
        power_in, power_lost = PowerEvaluator(engine)(self.t, self.q, self.qd, self.u).powers().T
        for name, force in self.driven.items():
            power_in = power_in + force * self.qd[:, engine.layout.coordinate(name, "driven")]
        work, dissipated = self._integral(power_in), self._integral(power_lost)
        return EnergyHistory(parts[0], parts[1], parts[2], work, dissipated)

    def _integral(self, power: Array) -> Array:
        from scipy.integrate import cumulative_simpson, cumulative_trapezoid

        if len(power) < 3:
            return np.asarray(cumulative_trapezoid(power, self.t, initial=0)) if len(power) else np.zeros(0)
        return np.asarray(cumulative_simpson(power, x=self.t, initial=0.0))

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s, {len(self.t)} times" if len(self.t) else "empty"
        return f"<Run of '{self.robot.name}': {span}; {self.message}>"


def strain_rows(run: Run) -> Array:
    """Strains (n, n_strains) of Maxwell elements along a run, n_strains being 0 where there are none."""
    return np.zeros((len(run.t), 0)) if run.strain is None else run.strain


InitialState = Values | Equilibrium | Run  # from which a search or a run begins


def _loop(robot: Robot, name: str) -> int:
    if name not in robot.loop_names:
        raise InputError("loop", "the name of a loop", f"'{name}'", nearest(str(name), robot.loop_names))
    return robot.loop_names.index(name)


def _coupling(robot: Robot, name: str) -> int:
    """Its multiplier."""
    if name not in robot.coupling_names:
        raise InputError("coupling", "the name of a coupling", f"'{name}'", nearest(str(name), robot.coupling_names))
    return int(robot.engine.loop_layout.rows[name].start)


def stored_signals(specs: Mapping[str, object], where: str) -> dict[str, Any]:
    """Signals from their specifications in a result."""
    from sorosim.base.units.table import unit_factor

    missing = [name for name, spec in specs.items() if spec is None]
    if missing:
        raise InputError(where, "the inputs again", f"a Python function for '{missing[0]}', which no file keeps")
    return {name: as_signal(spec, f"{where}.{name}", unit_factor) for name, spec in specs.items()}
