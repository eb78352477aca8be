"""The robot under examination, and quantities that several checks need, computed at first use."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sorosim.analysis.equations.contact_check import total_mass
from sorosim.analysis.equations.failure import ROUNDING
from sorosim.analysis.equations.strains import Place, largest_strain, places
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.results.result import Equilibrium
from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.errors import ConvergenceError, ExpressionError, InputError, SorosimError, SorosimWarning
from sorosim.mechanics.actuation.servo import JointServo
from sorosim.mechanics.dynamics.inertia import mass_matrix
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.prescribed import Prescribed, merged, staying
from sorosim.mechanics.kernels.evaluate import Evaluation
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.model.body import Assembly, RigidBody, Solid
from sorosim.mechanics.model.link import WORLD
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.robot import Robot

Part = TypeVar("Part")

SAMPLES = 401  # of signals over a run
RUN = 1.0  # s, the length of a run where the file does not say
WHEN = 0.37  # of the run: when loads are sampled, which begin at nothing as often as not
HALF = 0.5  # of the energy of a mode: beyond it a mode is that of the part that has it
EARTH = 9.81  # m/s^2
INPUT_SIZES = {"Pa": 1e4}  # of random inputs, by their unit; 1 for others


class Coordinate(NamedTuple):
    """A coordinate of a joint, with usual values for its dimension."""

    column: int
    name: str
    is_angle: bool
    size: float  # 1 rad, or the size of the robot [m]
    unit: str
    effort: str  # unit of the generalised force
    wrong_unit: str  # in which values are often meant
    wrong_effort: str
    inertia: str  # unit of what its acceleration moves


class Oscillation(NamedTuple):
    """A natural mode."""

    frequency: float  # [rad/s]
    damping_ratio: float  # of critical damping, by Rayleigh's quotient: exact for a mode by itself
    of_rods: float  # part of its energy that bends rods, 0 to 1


class CheckContext:
    """A robot with its points, masses, stiffness, equilibria and natural frequencies, for checks."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.unstable_equilibrium: Equilibrium | None = None  # the first equilibrium, if it is unstable
        self.unbalanced_coordinate = ""  # with the largest residual where no equilibrium was found

    # -- as it is built --------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> list[Place]:
        """All divisions of all rods; not of concentric tubes, whose sections and bases nobody chose."""
        return [place for place in places(self.robot) if isinstance(place.link.body, Rod)]

    @cached_property
    def extent(self) -> float:
        """Size of the robot where it starts, from end to end [m]; a metre if it has none."""
        if not self.robot.n_points:
            return 1.0
        lengths = (place.division.length for place in self.places)
        return max(float(np.linalg.norm(np.ptp(self.points, axis=0))), *lengths, 0.0) or 1.0

    @cached_property
    def points(self) -> Array:
        """Its points where it starts (n, 3) [m]."""
        return self.positions(self.robot.initial_q)

    def positions(self, q: Array, nodes: IntArray | None = None) -> Array:
        """Positions (n, 3) of nodes, default: all points, at coordinates q [m]."""
        nodes = self.robot.engine.layout.points if nodes is None else nodes
        return self.robot.engine.poses(nodes, q, np.zeros_like(q))[0][:, :3, 3]

    @cached_property
    def largest_part(self) -> float:
        """Longest of rods, shapes and the usual distance of links [m]; a metre if there is none."""
        sizes = [link.rod.length for link in self.robot.links if link.rod is not None]
        for link in self.robot.links:
            body = link.body
            if isinstance(body, Assembly):
                sizes += [2.0 * float(p.shape.half_extents.max()) for p in body.parts if isinstance(p, Solid)]
            elif isinstance(body, RigidBody) and body.mass:
                sizes.append(2.0 * float(np.sqrt(max(body.inertia[:3]) / body.mass)))
        away = [float(np.linalg.norm(link.at[:3, 3])) for link in self.robot.links if link.parent != WORLD]
        return max([*sizes, float(np.median(away)) if len(away) > 2 else 0.0], default=0.0) or 1.0

    @cached_property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return total_mass(self.robot)

    @cached_property
    def gravity(self) -> float:
        """[m/s^2]"""
        return float(np.linalg.norm(self.robot.description.gravity))

    @cached_property
    def weight(self) -> float:
        """Weight of the robot, on Earth where the file has no gravity [N]."""
        return self.mass * (self.gravity or EARTH)

    @cached_property
    def mass_matrix(self) -> Array:
        """At the start (ndof, ndof)."""
        return mass_matrix(self.robot.engine, self.robot.initial_q)

    @cached_property
    def stiffness(self) -> Array:
        """Of rods and springs in joints at the start (ndof, ndof), symmetric."""
        return self.elastic_stiffness(self.robot.initial_q)

    def elastic_stiffness(self, q: Array) -> Array:
        """Of rods and springs in joints at coordinates q (ndof, ndof), symmetric."""
        K = -self._evaluate(task.INTERNAL_DERIVATIVES, q).by_q
        return np.asarray(0.5 * (K + K.T))

    @cached_property
    def load_vector(self) -> Array:
        """Generalised forces of gravity and loads at the start (ndof,)."""
        return np.asarray(-self._at_start(task.INVERSE).tau)

    def _at_start(self, what: task.Task) -> Evaluation:
        return self._evaluate(what, self.robot.initial_q)

    def _evaluate(self, what: task.Task, q: Array) -> Evaluation:
        """An evaluation at rest and without inputs."""
        zero = np.zeros_like(q)
        return self.robot.engine.evaluate(what, q, zero, zero.copy(), self.robot.inputs(None))

    def is_elastic(self, coordinate: int) -> bool:
        """Whether a rod or a spring resists a coordinate."""
        return bool(elastic(self.stiffness)[coordinate])

    def compliance(self, force: Array) -> Array:
        """Displacement (ndof,) of springs and rods under generalised forces; zero where nothing is elastic."""
        K = self.stiffness
        some, out = elastic(K), np.zeros(len(force))
        out[some] = np.linalg.lstsq(K[np.ix_(some, some)], force[some], rcond=None)[0]
        return out

    def largest_strain(self, q: Array) -> tuple[float, Place | None]:
        """As `sorosim.analysis.equations.strains.largest_strain`."""
        return largest_strain(self.robot, q)

    def coordinate(self, index: int) -> Coordinate:
        """A coordinate of a joint."""
        name = self.robot.coordinate_names[index]
        if self.robot.engine.layout.dimensions[index] == "angle":
            return Coordinate(index, name, True, 1.0, "rad", "N m", "deg", "N mm", "kg m^2")
        return Coordinate(index, name, False, self.extent, "m", "N", "cm or mm", "mN", "kg")

    def index_of(self, actuator: Any) -> int:
        """The coordinate that a motor or a servo moves."""
        layout = self.robot.engine.layout
        return int(actuator.index(layout)) + layout.links[actuator.link].column

    def load_against(self, servo: JointServo) -> float:
        """Effort that a servo needs where the robot starts, against weight and loads, in the axes in which it acts."""
        layout, index = self.robot.engine.layout, self.index_of(servo)
        if not servo.follows_rotation(layout):
            return float(abs(self.load_vector[index]))
        link = layout.links[servo.link]
        own = self.load_vector[link.column : link.column + link.n_joint]
        return float(abs(self.robot.joint_wrench(self.robot.initial_q, servo.link, tau=own)[index - link.column]))

    def link_path(self, coordinate: str) -> str:
        """The link that has a coordinate, as a path."""
        index = self.robot.coordinate_names.index(coordinate)
        for name, layout in self.robot.engine.layout.links.items():
            if layout.column <= index < layout.column + layout.n:
                return f"links.{name}"
        return coordinate

    def parts(self, block: str, kind: type[Part]) -> Iterator[tuple[str, str, Part]]:
        """Parts of a kind in a block of the file: path, name, part."""
        for name, part in getattr(self.robot.description, block).items():
            if isinstance(part, kind):
                yield f"{block}.{name}", name, part

    # -- as it is run ----------------------------------------------------------------------------------------------

    @cached_property
    def driven_motions(self) -> Mapping[str, Any]:
        """Driven coordinates of the file's run, those of its equilibrium that the run leaves free, and tubes' bases."""
        layout, description = self.robot.engine.layout, self.robot.description
        run, rest = (block.get("driven") or {} for block in (description.simulate, description.statics))
        found = merged(layout, rest, run)
        return found | staying(layout, found)

    @cached_property
    def free(self) -> IntArray:
        """Numbers of the coordinates that are not driven."""
        return np.setdiff1d(np.arange(self.robot.ndof), self.driven_coordinates)

    @cached_property
    def driven_coordinates(self) -> list[int]:
        """Numbers of the driven coordinates."""
        return [self.robot.engine.layout.coordinate(name, "driven") for name in self.driven_motions]

    @cached_property
    def can_be_driven(self) -> bool:
        """Whether the motions of the file's driven coordinates are valid; other checks need that."""
        try:
            _ = Prescribed.of(self.robot, {}, self.driven_motions).partition
        except (InputError, ExpressionError):
            return False
        return True

    @cached_property
    def times(self) -> Array:
        """Times of the file's run (n,) [s]."""
        return np.linspace(0.0, float(self.robot.description.simulate.get("t_end", RUN)), SAMPLES)

    def some_times(self, n: int) -> Array:
        """n times of the file's run [s]."""
        return np.linspace(0.0, self.times[-1], n)

    @cached_property
    def inputs(self) -> Array:
        """Inputs of the file's run (n, n_actuators)."""
        return Prescribed.of(self.robot, None, {}).inputs.sample(self.times)

    @cached_property
    def driven_start(self) -> dict[str, float]:
        """Where driven coordinates start."""
        return Prescribed.of(self.robot, {}, self.driven_motions).values

    @cached_property
    def floating_link(self) -> str:
        """The first link that floats, on no spring and in no loop; "" if none."""
        if self.robot.n_multipliers:
            return ""
        free = (link for link in self.robot.links if link.parent == WORLD and link.joint.kind == "free")
        return next((link.name for link in free if not link.joint.has_springs()), "")

    @cached_property
    def rigid_body_mode(self) -> str:
        """A floating link, or a coordinate along which no force changes, in words; "" if none."""
        if self.floating_link:
            return f"'{self.floating_link}' floats freely"
        if self.robot.n_multipliers:
            return ""
        K = np.abs(self._at_start(task.RESIDUAL_DERIVATIVES).by_q)
        neutral = K.max(axis=0, initial=0.0) + K.max(axis=1, initial=0.0) <= ROUNDING * K.max(initial=0.0)
        neutral[self.driven_coordinates] = False
        return f"nothing holds '{self.robot.coordinate_names[int(np.argmax(neutral))]}'" if neutral.any() else ""

    @cached_property
    def equilibrium(self) -> Equilibrium | str:
        """The equilibrium without inputs, driven coordinates fixed where they start; or why there is none.

        It is one of many where rigid-body motions are neutral, as those of a turntable.
        """
        if self.floating_link:
            return f"{self.rigid_body_mode}: none was looked for"
        none = np.zeros(len(self.robot.actuator_names))
        try:
            solution = statics(self.robot, none, driven=self.driven_start, stable=False)
            if not solution.stable:
                self.unstable_equilibrium, solution = solution, statics(self.robot, none, driven=self.driven_start)
        except SorosimError as error:
            if isinstance(error, ConvergenceError) and error.report is not None:
                self.unbalanced_coordinate = error.report.where
            return str(error)
        return solution

    @cached_property
    def actuated_equilibrium(self) -> Equilibrium | str:
        """The equilibrium of the file's `statics` block, else under the largest inputs of its run; or why not.

        Of what floats: without weight, what floats and joints without springs held where they start.
        """
        if isinstance(self.equilibrium, str) and not self.floating_link:
            return self.equilibrium
        if not self.robot.actuator_names:
            return ""
        if block := self.robot.description.statics:
            u, driven = block.get("u"), block.get("driven")
        else:
            largest = int(np.argmax(np.abs(self.inputs).max(axis=1, initial=0.0)))
            u, driven = self.inputs[largest], self.driven_start
            if not np.any(u):
                return ""
        robot = self.robot
        if self.floating_link:
            robot = variant(robot, gravity=(0.0, 0.0, 0.0))
            names, fixed = robot.coordinate_names, set(self._floating)
            loose = [i for i in range(robot.ndof) if i in fixed or not self.is_elastic(i)]
            held = {names[i]: float(robot.initial_q[i]) for i in loose}
            driven = {**held, **(driven or {})}
        try:
            return statics(robot, u, driven=driven)
        except SorosimError as error:
            return "" if self.floating_link else str(error)  # of motors that turn on there is none

    @cached_property
    def linearization(self) -> Linearization | None:
        """Small motions about the equilibrium, or about the start where there is none; None without equations.

        What falls freely feels no weight: there it is the motion of its rods, springs and loads alone.
        """
        with warnings.catch_warnings():  # where there is no equilibrium the start is as good as any
            warnings.simplefilter("ignore", SorosimWarning)
            try:
                if not isinstance(state := self.equilibrium, str):
                    return self.robot.linearize(state.q, state.u, free=state.free)
                robot = variant(self.robot, gravity=(0.0, 0.0, 0.0)) if self.floating_link else self.robot
                q = robot.initial_q
                q[self.driven_coordinates] = list(self.driven_start.values())
                return robot.linearize(q, free=self.free)
            except (SorosimError, np.linalg.LinAlgError):
                return None

    @cached_property
    def frequencies(self) -> Array:
        """Natural frequencies above rounding, rising [Hz]."""
        return np.zeros(0) if self.linearization is None else above_rounding(self.linearization.frequencies)

    @cached_property
    def oscillations(self) -> tuple[Oscillation, ...]:
        """Natural modes above rounding, by rising frequency; those of floating parts as a whole if no others."""
        if self.linearization is None or not len(self.frequencies):
            return ()
        linear, slowest = self.linearization, float(self.frequencies.min())
        x = linear.modes if len(linear.lam) else linear.Z @ linear.modes  # phi^T M phi = 1
        momentum = mass_matrix(self.robot.engine, linear.q) @ x
        z, K = linear.Z.T @ x, self.elastic_stiffness(linear.q)[np.ix_(self._of_rods, self._of_rods)]
        found: list[Oscillation] = []
        whole: list[Oscillation] = []
        for k in np.flatnonzero(linear.frequencies >= slowest):
            w, shape = 2.0 * np.pi * float(linear.frequencies[k]), x[:, k]
            floats, rods = float(shape[self._floating] @ momentum[self._floating, k]), shape[self._of_rods]
            mode = Oscillation(w, float(z[:, k] @ linear.D @ z[:, k]) / (2.0 * w), float(rods @ K @ rods) / w**2)
            (whole if floats > HALF else found).append(mode)
        return tuple(found or whole)

    @cached_property
    def _floating(self) -> IntArray:
        """Coordinates of free joints; none where loops may hold what they carry, as a platform on its legs."""
        links = () if self.robot.n_multipliers else self.robot.engine.layout.links.values()
        some = [np.arange(x.column, x.column + x.n_joint) for x in links if x.link.joint.kind == "free"]
        return np.concatenate([np.zeros(0, dtype=np.int64), *some])

    @cached_property
    def _of_rods(self) -> IntArray:
        """Coordinates of rods."""
        links = self.robot.engine.layout.links.values()
        some = [np.arange(x.column + x.n_joint, x.column + x.n) for x in links]
        return np.concatenate([np.zeros(0, dtype=np.int64), *some])


def elastic(K: Array) -> Mask:
    """Coordinates (n,) that a stiffness matrix resists."""
    return np.asarray(np.diag(K) > ROUNDING * np.diag(K).max(initial=0.0))


def above_rounding(frequencies: Array) -> Array:
    """Those that are neither rounding nor infinite [Hz]."""
    finite = frequencies[np.isfinite(frequencies)]
    return np.asarray(finite[finite > 1e-6 * finite.max(initial=0.0)])


def variant(robot: Robot, **changes: Any) -> Robot:
    """The robot with another description, without sensors."""
    return Robot(replace(robot.description, sensors={}, **changes))


def with_divisions(robot: Robot, change: Callable[[Division], Division]) -> Robot:
    """The robot with other divisions of its rods, which have the Gauss points that it has."""
    layouts = robot.engine.layout.links
    bodies = [
        Rod(tuple(change(piece.division) for piece in layouts[link.name].pieces))
        if isinstance(link.rod, Rod)
        else link.body
        for link in robot.links
    ]
    links = tuple(replace(link, body=body) for link, body in zip(robot.links, bodies, strict=True))
    return variant(robot, links=links)


def random_state(robot: Robot, seed: int = 1) -> tuple[Array, Array, Array, Array]:
    """A state in motion in which rods are clearly bent, and inputs."""
    rng = np.random.default_rng(seed)
    scale = np.full(robot.ndof, 0.2)
    for layout in robot.engine.layout.links.values():
        rows = np.concatenate([np.zeros(0), *(piece.division.strain.rows for piece in layout.pieces)])
        first = layout.column + layout.n_joint
        scale[first : first + len(rows)] = np.where(rows < 3, 0.2, 0.02)
    scale[robot.engine.insertions] = 0.0
    q, qd, qdd = (rng.uniform(-1.0, 1.0, robot.ndof) * scale for _ in range(3))
    sizes = np.array([INPUT_SIZES.get(unit, 1.0) for unit in robot.actuator_units])
    wound = robot.engine.rod_actuators.length
    return q, qd, qdd, rng.uniform(0.0, 1.0, len(sizes)) * np.where(wound > 0.0, 0.05 * wound, sizes)
