"""Derivatives of motions and equilibria by scalars of a robot's file: masses, lengths, poses, radii, moduli, loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from sorosim.analysis.equations.system import elastic_weight
from sorosim.base.arrays import Array, IntArray
from sorosim.base.complex_step import varying
from sorosim.base.errors import InputError, PlugInError, SorosimError, nearest
from sorosim.base.public import public
from sorosim.base.validation import Number, Values, describe, indices
from sorosim.files.document import Document
from sorosim.files.vary import Scalars
from sorosim.mechanics.dynamics import arguments
from sorosim.mechanics.dynamics.constraints import RANK_TOLERANCE, IndependentRows
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.dynamics.variation import Variation, VariedEngine
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.parameter import FILE, INPUT, OPERATED, Parameter
from sorosim.mechanics.engine.prescribed import inputs_of
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.linear.growth import is_neutral
from sorosim.mechanics.loads.contact import Contact
from sorosim.mechanics.loads.mass_damping import all_loads
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.mechanics.sensors.state import State

if TYPE_CHECKING:
    from sorosim.analysis.results.result import Equilibrium


# loops that a number opens close again up to rounding, or part of what it opens stays
OPENED = 1e-6
# part of a number by which it is changed for readings: the error of fourth order is 1e-12, that of rounding too
READING_STEP = 1e-3
# steps and factors of differences of fourth order: central ones; on one side, where the file accepts no other numbers
STENCILS = (
    ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0)),
    ((0.0, -25.0 / 12.0), (1.0, 4.0), (2.0, -3.0), (3.0, 4.0 / 3.0), (4.0, -0.25)),
    ((0.0, 25.0 / 12.0), (-1.0, -4.0), (-2.0, 3.0), (-3.0, -4.0 / 3.0), (-4.0, 0.25)),
)
NOT_DIFFERENTIABLE = "code that uses it cannot carry a derivative"


class HybridSensitivity(NamedTuple):
    """Derivatives of hybrid dynamics, one column a scalar; zero where the entry is given."""

    qdd: Array  # (ndof, n)
    tau: Array  # (ndof, n)


class EquilibriumSensitivity(NamedTuple):
    """Derivatives of an equilibrium, one column a scalar."""

    q: Array  # (ndof, n), zero for driven coordinates
    lam: Array  # (n_multipliers, n), zero for rows of loops that depend on others
    driven: dict[str, Array]  # name of a driven coordinate -> derivatives (n,) of the force that it needs


class MovingFrames:
    """Frames on links, and how they move with scalars of the file while the coordinates stay.

    What is said of places by coordinates and numbers, x(q(p), p), has both parts: J dq/dp, and this one.
    """

    def __init__(self, by: Sensitivities, frames: LinkFrames) -> None:
        self.frames, self.shape = frames, (len(frames.names), 6, len(by.names))
        # moduli and masses move none: that shows in any state that is no special one
        q = 0.1 * np.random.default_rng(0).standard_normal(by.robot.ndof)
        own = [frames.own_twists(one.links) for one in by.engines]
        found = [one.motion(q, frames.places).any() for one in by.engines]
        self._movers = [
            (i, one, twists)
            for i, (one, twists) in enumerate(zip(by.engines, own, strict=True))
            if found[i] or twists.any()
        ]

    def twists(self, q: Array) -> Array:
        """Twists (n_frames, 6, n) in the frames themselves, one column a scalar."""
        out = np.zeros(self.shape)
        for i, one, own in self._movers:
            out[:, :, i] = self.frames.twists(one.motion(q, self.frames.places)) + own
        return out


@public
def scalars(robot: Robot) -> dict[str, float]:
    """Numbers of a robot's file by which `sensitivities` may differentiate.

    Returns
    -------
    dict
        Path in the file -> value in SI units. Of a robot that was built in Python the file is what `to_yaml` writes.
        A formula, such as ``2*s`` along a rod, is none; a parameter in it is one.
    """
    file = scalars_of(robot)
    return {name: file.value(name) for name in file.paths if not file.is_formula(name)}


@public
def sensitivities(robot: Robot, names: Sequence[str]) -> Sensitivities:
    """Derivatives of a robot's motion and equilibria by scalars of its file.

    Parameters
    ----------
    robot : Robot
    names : sequence of str
        Paths in the file, as `sorosim.load(..., set=...)` takes them: ``"materials.silicone.young"``,
        ``"links.arm.rod.section.circle.radius[1]"``, ``"parameters.width"``; `scalars` lists them. They are masses,
        inertias, lengths, poses, sizes of sections, moduli, sizes of loads, routes of tendons and so on.

    Raises
    ------
    InputError
        A path that leads nowhere, with the nearest ones; a scalar by which nothing can be differentiated: one that
        counts something, is part of a signal of time, or changes surfaces that touch.

    Notes
    -----
    Exact to rounding: the description is compiled once more with a scalar x + 1e-40 i, whose imaginary part the
    compiled sweeps carry along; nothing is subtracted. Source: docs/theory.md, 13; what they are: Kim, tables 5 to 7.
    """
    if not isinstance(names, Sequence):
        raise InputError("names", "paths of numbers in the robot's file", describe(names))
    return Sensitivities(robot, [names] if isinstance(names, str) else list(names))


def scalars_of(robot: Robot) -> Scalars:
    """The scalars of a robot's file, or of what `to_yaml` writes; anything but a robot is refused."""
    check_robot(robot)
    return Scalars(robot.description.document or Document(robot.name, robot.to_yaml()))


def file_parameters(of: Robot | Scalars, paths: Sequence[str]) -> list[Parameter]:
    """Numbers of a robot's file (InputError: there is none there)."""
    file = of if isinstance(of, Scalars) else scalars_of(of)
    return [Parameter(FILE, path, file.dimension(path) or "", value=file.value(path)) for path in paths]


def parameter(robot: Robot, name: Any, where: str) -> Parameter:
    """The parameter of a name: u.<actuator>, driven.<coordinate or link>, or the path of a number in the file.

    Raises
    ------
    InputError
        The robot does not have it; with the nearest names.
    """
    kind, _, target = name.partition(".") if isinstance(name, str) else ("", "", "")
    if kind in OPERATED and target:
        return OPERATED[kind](robot, target, where)
    file = scalars_of(robot)
    try:
        return file_parameters(file, [name])[0]
    except InputError as error:
        hint = nearest(str(name), [*(f"{INPUT}.{actuator}" for actuator in robot.actuator_names), *file.paths])
        if str(name).startswith("gravity") and not any(path.startswith("gravity") for path in file.paths):
            hint = "the file leaves gravity to its default: write it into the file"
        expected = "u.<actuator>, driven.<coordinate> or the path of a number in the robot's file"
        raise InputError(
            where, expected, f"'{name}'" if isinstance(name, str) else type(name).__name__, hint
        ) from error


@public
class Sensitivities:
    """Derivatives by scalars of a robot's file, one column each; made by `sensitivities`.

    Attributes
    ----------
    robot : Robot
    names : tuple of str
        The scalars.
    values : (n,) ndarray
        What they are [SI].
    engines : tuple of VariedEngine
        The robot's engine, with each of them carrying a derivative.
    """

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        self.robot, self.names = robot, tuple(names)
        file = scalars_of(robot) if self.names else None  # not every robot can be a file
        self.values = np.array([file.value(name) for name in self.names] if file else [])
        self.engines = tuple(varied_engine(robot, file, name) for name in self.names) if file else ()

    def __reduce__(self) -> tuple[object, ...]:  # copies and pickles hold the names; arrays are made anew
        return Sensitivities, (self.robot, self.names)

    # -- at a constant state ---------------------------------------------------------------------------------------

    def inverse_dynamics(
        self, q: Values, qd: Values, *, qdd: Values, u: Values | None = None, t: Number = 0.0
    ) -> Array:
        """Derivatives (ndof, n) of `Robot.inverse_dynamics`, the motion held. [N m or N, per unit of the scalar]"""
        return self._columns([one.inverse for one in self._vary(*arguments.motion(self.robot, q, qd, qdd, u, t))])

    def internal_force(self, q: Values, qd: Values, *, u: Values | None = None, t: Number = 0.0) -> Array:
        """Derivatives (ndof, n) of `Robot.internal_force`."""
        robot, time = self.robot, self.robot._time(t)
        state = *arguments.state(robot.engine, q, qd), np.zeros(robot.ndof)
        open_ = self._vary(*state, inputs_of(robot, u, t=time), time)
        derivatives = self._columns([one.internal for one in open_])
        if robot.n_multipliers:  # springs, dampers and motors in loops are among the forces of those
            closed = self._vary(*state, inputs_of(robot, u, t=time), time, np.zeros(robot.n_multipliers))
            derivatives += self._columns([a.inverse - b.inverse for a, b in zip(open_, closed, strict=True)])
        return derivatives

    def forward_dynamics(
        self, q: Values, qd: Values, *, u: Values | None = None, t: Number = 0.0,
        driven_qdd: Mapping[str, Number] | None = None,
    ) -> Array:  # fmt: skip
        """Derivatives (ndof, n) of `Robot.forward_dynamics`, state, inputs and accelerations of driven ones held.

        Of the conditions of loops that depend on each other those count that are independent.
        """
        robot, engine = self.robot, self.robot.engine
        state, time, qdd, known = robot._state_and_driven(q, qd, t, driven_qdd)
        inputs, free = inputs_of(robot, u, t=time), np.flatnonzero(~known)
        evaluation = engine.evaluate(task.FORWARD, *state, qdd, inputs, time, known=known)
        multiplier = np.array(evaluation.closure.multiplier)
        out = engine.evaluate(task.RESIDUAL_DERIVATIVES, *state, evaluation.qdd, inputs, time, multiplier=multiplier)
        varied = self._vary(*state, evaluation.qdd, inputs, time, multiplier)
        A = out.closure.constraint[:, free]
        forces = -self._columns([one.inverse - one.internal for one in varied])[free]
        rows = -self._columns([one.acceleration for one in varied], len(A))
        solved = np.zeros((robot.ndof, len(self.names)))
        solved[free] = _saddle(robot, out.mass[np.ix_(free, free)], A, A, forces, rows)[0]
        return solved

    def hybrid_dynamics(
        self, q: Values, qd: Values, *, qdd: Values, tau: ArrayLike, known: ArrayLike, u: Values | None = None,
        t: Number = 0.0,
    ) -> HybridSensitivity:  # fmt: skip
        """Derivatives of `Robot.hybrid_dynamics`, what is given there held."""
        robot = self.robot
        position, rates = arguments.state(robot.engine, q, qd)
        solution = robot.hybrid_dynamics(position, rates, qdd=qdd, tau=tau, known=known, u=u, t=t)
        mask = np.zeros(robot.ndof, dtype=np.bool_)
        mask[indices("known", known, robot.ndof)] = True
        forces = self.inverse_dynamics(position, rates, qdd=solution.qdd, u=u, t=t)
        M = robot.mass_matrix(position)
        out = np.zeros_like(forces)
        out[~mask] = (
            scipy.linalg.solve(M[np.ix_(~mask, ~mask)], -forces[~mask], assume_a="pos") if not mask.all() else 0.0
        )
        return HybridSensitivity(out, (forces + M @ out) * mask[:, None])

    def jacobian(self, q: Values, link: str, *, s: float = 1.0) -> Array:
        """How a section of a rod, or a rigid link's frame, moves with the scalars, coordinates held.

        Body-frame twists (6, n), as `Robot.jacobian` has them by q; s is a fraction of the rod's length.
        """
        position, place = self.robot.coordinates(q), (arguments.place(self.robot.engine, link, s),)
        return self._columns([one.motion(position, place)[0] for one in self.engines], 6)

    # -- equilibria ------------------------------------------------------------------------------------------------

    def equilibrium(self, eq: Equilibrium) -> EquilibriumSensitivity:
        """Derivatives of an equilibrium of `sorosim.statics`, inputs and values of driven coordinates held.

        Raises
        ------
        InputError
            An equilibrium of another robot, or under friction; one that is not isolated, or at a fold.
        """
        robot, zero = self.robot, np.zeros(self.robot.ndof)
        out = isolated(robot, eq)
        varied = self._vary(eq.q, zero, zero, eq.u, 0.0, eq.lam)
        forces = self._columns([one.inverse - one.internal for one in varied])
        rows = self._columns([one.error for one in varied], robot.n_multipliers)
        return moved_equilibrium(eq, out, forces, rows, np.zeros_like(forces))

    def readings(self, eq: Equilibrium) -> dict[str, Array]:
        """Derivatives (n_channels, n) of what sensors read in an equilibrium, by name of the sensor.

        Inputs and values of driven coordinates are held. A quantity is a function of the state and of the numbers: both
        change at once, along those of `equilibrium`, and differences of fourth order are taken. Errors as there.
        """
        robot, found = self.robot, self.equilibrium(eq)
        columns: dict[str, list[Array]] = {name: [] for name in robot.sensor_names}
        for i in range(len(self.names)):
            terms = [(factor, self._readings_at(other, eq, found, i, h)) for h, factor, other in self._nearby(i)]
            for sensor, column in columns.items():
                column.append(np.sum([factor * read[sensor] for factor, read in terms], axis=0))
        channels = {name: len(reader.channels) for name, reader in robot.instruments.readers.items()}
        return {name: self._columns(column, channels[name]) for name, column in columns.items()}

    def _nearby(self, i: int) -> list[tuple[float, float, Robot]]:
        """Robots whose number i is larger by h: h, factors of a difference of fourth order, and robots."""
        name, value = self.names[i], self.values[i]
        unit = READING_STEP * (abs(value) or 1e-3)
        for stencil in STENCILS:
            try:
                return [(x * unit, factor / unit, self.robot.with_values({name: value + x * unit}))
                        for x, factor in stencil]  # fmt: skip
            except SorosimError as refused:
                error = refused
        raise error

    def _readings_at(
        self, other: Robot, eq: Equilibrium, by: EquilibriumSensitivity, i: int, h: float
    ) -> dict[str, Array]:
        """Readings of the robot whose number is larger by h."""
        zero = np.zeros(other.ndof)
        moved = eq.q + h * by.q[:, i], zero, zero, eq.u, eq.lam + h * by.lam[:, i]
        sites = other.instruments.sites
        return dict(other.instruments.measured(State(sites, 0.0, *moved)))

    # -- starts of motions -----------------------------------------------------------------------------------------

    # -- parts -----------------------------------------------------------------------------------------------------

    def _vary(
        self, q: Array, qd: Array, qdd: Array, u: Array, t: float, multiplier: Array | None = None
    ) -> list[Variation]:
        variations = [one.vary(q, qd, qdd, u, self.robot._time(t), multiplier) for one in self.engines]
        for name, one in zip(self.names, variations, strict=True):
            if not all(np.isfinite(part).all() for part in one):
                raise InputError(
                    "parameters", "a state in which derivatives are finite", f"one in which '{name}' has none"
                )
        return variations

    def _columns(self, columns: Sequence[Array], n: int | None = None) -> Array:
        return np.stack(columns, axis=1) if columns else np.zeros((self.robot.ndof if n is None else n, 0))


def equilibrium_by_inputs(eq: Equilibrium) -> Array:
    """Derivatives (ndof, n_actuators) of the coordinates of an equilibrium by its inputs; errors as for scalars."""
    out = isolated(eq.robot, eq)
    rows = np.zeros((eq.robot.n_multipliers, out.B.shape[1]))
    return moved_equilibrium(eq, out, -out.B, rows, np.zeros_like(out.B)).q


def moved_equilibrium(
    eq: Equilibrium, out: Evaluation, forces: Array, rows: Array, given: Array
) -> EquilibriumSensitivity:
    """How an equilibrium moves, for n changes, one a column.

    out : its residual and the derivatives of that; forces (ndof, n) : changes of the residual, and rows (m, n) : of the
    errors of loops, coordinates and multipliers held; given (ndof, n) : of the driven coordinates, other rows zero.
    """
    K, A, E, free = out.by_q, out.closure.constraint, out.closure.error_by_q, np.asarray(eq.free)
    dq, pushed = given.copy(), forces + K @ given
    closing = -rows - E @ given
    dq[free], dlam = _saddle(eq.robot, K[np.ix_(free, free)], A[:, free], E[:, free], -pushed[free], closing)
    needed = forces + K @ dq - A.T @ dlam
    driven = {name: needed[eq.robot.engine.layout.coordinate(name, "driven")] for name in eq.driven}
    return EquilibriumSensitivity(dq, dlam, driven)


def isolated(robot: Robot, eq: Equilibrium) -> Evaluation:
    """The residual of an equilibrium, and its derivatives; of one that has none InputError."""
    _check_equilibrium(robot, eq)
    zero, free = np.zeros(robot.ndof), np.asarray(eq.free)
    out = robot.engine.evaluate(task.RESIDUAL_DERIVATIVES, eq.q, zero, zero, eq.u, multiplier=eq.lam)
    _check_isolated(out, out.closure.constraint[:, free], free)
    return out


def _check_equilibrium(robot: Robot, eq: Equilibrium) -> None:
    """Refuse what is no equilibrium of a robot, or has no derivatives (InputError)."""
    if not hasattr(eq, "residual_norm"):
        raise InputError("eq", "an equilibrium, as sorosim.statics returns it", type(eq).__name__)
    if eq.robot is not robot:
        raise InputError("eq", f"an equilibrium of '{robot.name}'", f"one of another robot, '{eq.robot.name}'")
    if eq.sliding is not None:
        raise InputError("eq", "an equilibrium without friction", "one that depends on where its contacts stuck")


def _check_isolated(out: Evaluation, A: Array, free: IntArray) -> None:
    """Refuse an equilibrium that a motion leaves without a force (InputError), by its mass and tangent stiffness."""
    M, K = (X[np.ix_(free, free)] for X in (out.mass, out.by_q))
    if len(A):
        Z = scipy.linalg.null_space(A, rcond=RANK_TOLERANCE)
        M, K = Z.T @ M @ Z, Z.T @ K @ Z
    if is_neutral(M, K):
        got = "one whose tangent stiffness is singular: there are others nearby, or it is at a fold"
        hint = "hold what moves freely: drive it, or give it a spring"
        raise InputError("eq", "an equilibrium that is isolated, so that it changes smoothly", got, hint)


def varied_engine(robot: Robot, file: Scalars, name: str) -> VariedEngine:
    """The engine with a scalar that carries a derivative."""
    try:
        with varying(), np.errstate(all="ignore"):
            description = file.varied(name)
            loads = {key: load for key, load in all_loads(description).items() if not isinstance(load, Contact)}
            parts = (
                description.links,
                np.array(description.gravity),
                description.actuators,
                loads,
                description.constraints,
            )
            engine = Engine(*parts, robot.engine)
    except SorosimError as error:
        foreign = isinstance(error, PlugInError) or not isinstance(error.__cause__, SorosimError | None)
        why = NOT_DIFFERENTIABLE if foreign else " ".join(str(error).split())
        raise InputError("parameters", "a scalar by which can be differentiated", f"'{name}' ({why})") from error
    except Exception as error:  # any error of code that takes real numbers only
        raise InputError(
            "parameters", "a scalar by which can be differentiated", f"'{name}' ({NOT_DIFFERENTIABLE})"
        ) from error
    _check_python_parts(robot, description, name)
    if robot.engine.loading.touches:
        _check_surfaces(robot, file, name)
    out = VariedEngine(robot.engine, engine, description.links)
    out.check(name)
    return out


def _check_python_parts(robot: Robot, varied: Description, name: str) -> None:
    """Refuse a scalar of a load or an actuator that Python computes, for real numbers only (InputError)."""
    engine, old = robot.engine, robot.description
    names = [robot.actuator_names[one.actuator] for one in engine.actuators_in_rods]
    parts = [(old.loads[key], varied.loads[key]) for key in engine.loading.others if key in old.loads]
    parts += [(old.actuators[key], varied.actuators[key]) for key in names]
    if any(before is not after and before != after for before, after in parts):
        raise InputError("parameters", "a scalar by which can be differentiated", f"'{name}' ({NOT_DIFFERENTIABLE})")


def opened_loops(by: Sensitivities, q: Array) -> Array:
    """By how much scalars open loops (m, n) that are closed, coordinates held."""
    zero, m = np.zeros_like(q), by.robot.n_multipliers
    varied = by._vary(q, zero, zero, by.robot.inputs(None), 0.0, np.zeros(m)) if m else []
    return by._columns([one.error for one in varied], m)


def closed_coordinates(by: Sensitivities, q: Array, free: IntArray) -> Array:
    """How coordinates (ndof, n) follow loops that scalars would open: by the least motion, as `assemble` finds it.

    q : where loops are closed; free : the coordinates that may move.
    """
    robot, zero, opened = by.robot, np.zeros_like(q), opened_loops(by, q)
    out = np.zeros((len(q), len(by.names)))
    if not opened.any():
        return out
    U = elastic_weight(robot, q, free, softest=True)
    E = robot.engine.evaluate(task.CLOSURE, q, zero, zero, robot.inputs(None))
    X = scipy.linalg.solve_triangular(U, E.closure.error_by_q[:, free].T, trans="T").T
    z = scipy.linalg.lstsq(X, -opened, cond=RANK_TOLERANCE)[0]
    left = np.abs(X @ z + opened).max(axis=0)
    for name, gap, size in zip(by.names, left, np.abs(opened).max(axis=0), strict=True):
        if gap > OPENED * size:
            raise InputError("numbers", "numbers with which loops still close", f"'{name}'")
    out[free] = scipy.linalg.solve_triangular(U, z)
    return out


def closed_rates(by: Sensitivities, q: Array, qd: Array, given: Array, free: IntArray, q_by: Array) -> Array:
    """Derivatives (ndof, k) of the rates that keep loops closed, the nearest to given ones in kinetic energy.

    free : rates that may follow; q_by (ndof, k) : derivatives of q, the first n columns by the scalars, whose own
    part counts too. With d = qd - given and multipliers l, M d + A^T l = 0 and A qd = 0 are differentiated: the
    change of M d + A^T l is that of inverse dynamics at the accelerations d under the multipliers -l, less that at
    none.
    """
    robot, engine, zero = by.robot, by.robot.engine, np.zeros_like(q)
    d, u, m = np.zeros_like(q), robot.inputs(None), robot.n_multipliers
    d[free], out = (qd - given)[free], np.zeros(q_by.shape)
    if not (len(free) and (qd.any() or d.any())):
        return out
    M = robot.mass_matrix(q)[np.ix_(free, free)]
    still = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, zero, zero.copy(), u, multiplier=np.zeros(m)).by_q.copy()
    moving = engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, zero.copy(), u).closure
    A, rate_by_q = moving.constraint[:, free].copy(), moving.rate_by_q.copy()
    minus = scipy.linalg.lstsq(A.T, M @ d[free], cond=RANK_TOLERANCE)[0]
    forces = (engine.evaluate(task.RESIDUAL_DERIVATIVES, q, zero, d, u, multiplier=minus).by_q - still) @ q_by
    rows, n, none = rate_by_q @ q_by, len(by.names), np.zeros(m)
    with_force, without = by._vary(q, zero, d, u, 0.0, minus), by._vary(q, zero, zero, u, 0.0, none)
    forces[:, :n] += by._columns([a.inverse - b.inverse for a, b in zip(with_force, without, strict=True)])
    rows[:, :n] += by._columns([one.rate for one in by._vary(q, qd, zero, u, 0.0, none)], m)
    out[free] = _saddle(robot, M, A, A, -forces[free], -rows)[0]
    return out


def _check_surfaces(robot: Robot, file: Scalars, name: str) -> None:
    """Refuse a scalar that changes what touches: contacts are differentiated by motions, not by their shapes."""
    for part in (1e-6, -1e-6):
        try:
            other = Robot(file.changed(name, file.value(name) + part * max(abs(file.value(name)), 1.0)))
        except SorosimError:
            continue
        pairs = zip(robot.engine.loading.packed.laws.surfaces, other.engine.loading.packed.laws.surfaces, strict=True)
        if all(np.array_equal(one, two) for one, two in pairs):
            return
        break
    raise InputError("parameters", "a scalar that changes no surface that touches", f"'{name}'")


def _saddle(robot: Robot, K: Array, A: Array, E: Array, forces: Array, rows: Array) -> tuple[Array, Array]:
    """Solve K x - A^T y = forces, E x = rows for columns, with the independent rows of A alone."""
    y = np.zeros((len(A), forces.shape[1]))
    chosen = IndependentRows(robot.engine, A).rows
    n, m = len(K), len(chosen)
    if not n + m:  # all is driven
        return np.zeros_like(forces), y
    size = robot.engine.loops.row_scale[chosen, None]
    matrix = np.block([[K, -(size * A[chosen]).T], [size * E[chosen], np.zeros((m, m))]])
    scale = 1.0 / np.sqrt(np.maximum(np.abs(matrix).max(axis=1, initial=0.0), np.finfo(float).tiny))
    right = scale[:, None] * np.vstack([forces, size * rows[chosen]])
    scaled = scale[:, None] * matrix * scale
    with np.errstate(all="ignore"):
        factors, pivots, singular = lapack.dgetrf(scaled)
        condition = lapack.dgecon(factors, np.linalg.norm(scaled, 1))[0]
    if singular or not condition > np.finfo(float).eps:
        raise InputError("parameters", "a state that changes smoothly with them", "a singular one")
    solution = scale[:, None] * lapack.dgetrs(factors, pivots, right)[0]
    y[chosen] = size * solution[n:]
    return solution[:n], y
