"""The robot: a description, its arrays, and what a user asks of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from sorosim.actuation.base import input_unit
from sorosim.dynamics.dynamics import DEPENDENT
from sorosim.dynamics.forward import ForwardDynamics
from sorosim.engine.engine import Engine
from sorosim.engine.inputs import Partition
from sorosim.engine.records import Kinematics
from sorosim.errors import InputError, ModelError, nearest
from sorosim.kernels import evaluate as task
from sorosim.kernels.loops import CONSTRAINT
from sorosim.loads.base import Load, check_places
from sorosim.loads.mass_damping import MassDamping
from sorosim.model.chart import angle, twist_matrix
from sorosim.model.description import Description
from sorosim.model.link import Link
from sorosim.sensors.base import Sensor
from sorosim.sensors.instruments import Instruments
from sorosim.sensors.state import State
from sorosim.validation import counted, number, vector

Array = NDArray[np.float64]


# so near to a whole turn the wrench of exponential coordinates is lost in rounding
SINGULAR = 1e-8


def all_loads(description: Description) -> dict[str, Load]:
    """Loads by name, and the damping of materials that is one."""
    loads: dict[str, Load] = dict(description.loads)
    if any(d.material.mass_damping for link in description.links if link.rod for d in link.rod.divisions):
        loads["mass damping"] = MassDamping()
    return loads


class Robot(ForwardDynamics):
    """A robot made of rigid and soft links. Made from a `Description`; usually by `sorosim.load`.

    It never changes, and may be shared between threads.
    """

    def __init__(self, description: Description) -> None:
        if not isinstance(description, Description):
            hint = "sorosim.load reads files and dicts"
            raise InputError("Robot", "a Description", type(description).__name__, hint)
        self.description = description
        for name, load in description.loads.items():
            check_places(name, load, [link.name for link in description.links])
        gravity, loads = np.array(description.gravity), all_loads(description)
        self.engine = Engine(description.links, gravity, description.actuators, loads, description.loops)
        self.instruments = Instruments(description, self.engine)
        self._initial = self._start()

    def _start(self) -> tuple[Array, Array]:
        """Initial coordinates and rates."""
        blocks = ("initial", self.description.initial), ("initial_rates", self.description.initial_rates)
        return tuple(self._by_name(name, block) for name, block in blocks)  # type: ignore[return-value]

    def _by_name(self, where: str, given: Mapping[str, float]) -> Array:
        """Vector (ndof,) of a block of the description, zero where it says nothing."""
        out = np.zeros(self.ndof)
        for name, value in given.items():
            if name not in self.coordinate_names:
                hint = nearest(name, self.coordinate_names)
                raise ModelError(f"{where}.{name}", "the name of a coordinate", f"'{name}'", hint)
            out[self.coordinate_names.index(name)] = number(f"{where}.{name}", value, error=ModelError)
        return out

    def __reduce__(self) -> tuple[Any, ...]:  # copies and pickles hold the description; arrays are made anew
        return Robot, (self.description,)

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.description.name

    @property
    def n_points(self) -> int:
        """Number of material points that `kinematics` returns."""
        return len(self.engine.layout.points)

    @property
    def actuator_units(self) -> tuple[str, ...]:
        """Unit of each input, such as N for tendons, N m for motors that turn; "" for a plain number."""
        parts = {"links": {link.name: link for link in self.links}, "loops": self.description.loops}

        def joint_of(block: str, name: str) -> Any:
            return parts[block][name].joint

        return tuple(input_unit(actuator, joint_of) or "" for actuator in self.description.actuators.values())

    def driven_units(self, names: Iterable[str]) -> tuple[str, ...]:
        """Unit of the generalised force of each driven coordinate: N for lengths, N m for angles."""
        layout = self.engine.layout
        dimensions = (layout.dimensions[layout.coordinate(name, "driven")] for name in names)
        return tuple("N" if dimension == "length" else "N m" for dimension in dimensions)

    @property
    def links(self) -> tuple[Link, ...]:
        """The links, parents first."""
        return self.description.links

    @property
    def loop_names(self) -> tuple[str, ...]:
        """Names of the loops, in the order of their multipliers."""
        return tuple(self.description.loops)

    @property
    def sensor_names(self) -> tuple[str, ...]:
        """Names of the sensors."""
        return tuple(self.description.sensors)

    @property
    def n_multipliers(self) -> int:
        """Number of multipliers of all loops: of directions that their joints do not allow."""
        return self.engine.closed.m

    @property
    def tip_link(self) -> str:
        """The last link that has a body: what plots and `tip` show if nothing else is asked for."""
        bodies = [link.name for link in self.links if link.body is not None]
        return bodies[-1] if bodies else self.links[-1].name

    @property
    def initial_q(self) -> Array:
        """Coordinates (ndof,) of the description's initial block, zero where it says nothing."""
        return self._initial[0].copy()

    @property
    def initial_qd(self) -> Array:
        """Rates (ndof,) of the description's initial block, zero where it says nothing."""
        return self._initial[1].copy()

    def summary(self) -> str:
        """Table of the links, the loops and the sensors, one a line."""
        counts = {"coordinate": self.ndof, "point": self.n_points, "actuator": len(self.actuator_names)}
        counts |= {what: n for what, n in (("loop", len(self.loop_names)), ("sensor", len(self.sensor_names))) if n}
        lines = [f"{self.name}: " + ", ".join(counted(n, what) for what, n in counts.items())]
        for link in self.links:
            layout = self.engine.layout.links[link.name]
            if link.rod is not None:
                body = f"rod {link.rod.length:g} m, {counted(int((layout.weight > 0).sum()), 'Gauss point')}"
            else:
                body = "rigid body" if link.body is not None else "frame"
            where = link.parent if link.parent == "world" or link.s == 1.0 else f"{link.parent} at s = {link.s:g}"
            lines.append(f"  {link.name}: {link.joint.kind} on {where}, {body}, {counted(layout.n, 'coordinate')}")
        rods = [link.name for link in self.links if link.rod is not None]
        for name, loop in self.description.loops.items():
            a, b = (
                f"{end.link} at s = {end.s:g}" if end.s != 1.0 and end.link in rods else end.link
                for end in (loop.a, loop.b)
            )
            lines.append(f"  {name}: {loop.joint.kind} loop from {a} to {b}")
        return "\n".join([*lines, *self.instruments.summary()])

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Return the robot as YAML, and write it to a file if a path is given; see `sorosim.io.dump`."""
        from sorosim.io.robot_writer import write

        return write(self, path)

    def _repr_html_(self) -> str | None:
        from sorosim.viz.html import robot_html

        return robot_html(self)

    def __repr__(self) -> str:
        counts = f"{self.ndof} coordinates, {len(self.links)} links, {len(self.actuator_names)} actuators"
        return f"<Robot '{self.name}': {counts}>"

    def with_values(self, values: Mapping[str, Any]) -> Robot:
        """Return the robot with other values of its file.

        Parameters
        ----------
        values : mapping of str to value
            Paths as `sorosim.load(..., set=...)` takes them: ``{"materials.silicone.young": "2 MPa",
            "parameters.width": 0.05}``. Of a robot that was made in Python the file is what `to_yaml` writes.

        Raises
        ------
        InputError
            A path that leads nowhere.
        FileError, ModelError
            What the file then says is wrong.
        """
        from sorosim.io import with_values

        return with_values(self, values)

    def with_loads(self, **loads: Load) -> Robot:
        """Return the same robot under further loads, by name; a load of a known name takes its place."""
        return Robot(replace(self.description, loads={**self.description.loads, **loads}))

    def with_sensors(self, **sensors: Sensor) -> Robot:
        """Return the same robot with further sensors, by name; a sensor of a known name takes its place."""
        return Robot(replace(self.description, sensors={**self.description.sensors, **sensors}))

    def _place(self, link: str, s: float) -> tuple[tuple[str, float], ...]:
        if not isinstance(link, str) or link not in self.engine.layout.links:
            raise InputError("link", "the name of a link", f"'{link}'", nearest(link, self.engine.layout.links))
        return ((link, self._fraction(s)),)

    @staticmethod
    def _fraction(s: float) -> float:
        value = number("s", s)
        if not 0.0 <= value <= 1.0:
            raise InputError("s", "a fraction of the rod's length from 0 to 1", f"{value!r}")
        return value

    # -- kinematics ------------------------------------------------------------------------------------------------

    def kinematics(self, q: ArrayLike, qd: ArrayLike | None = None) -> Kinematics:
        """Poses, twists and Jacobians of all points, body frames.

        Parameters
        ----------
        q, qd : (ndof,) array_like
            Coordinates and rates; no rates: at rest.

        Returns
        -------
        Kinematics
            g (n_points, 4, 4), eta (n_points, 6), J and Jd = dJ/dt (n_points, 6, ndof).

        Raises
        ------
        InputError
            A vector of wrong length, or not finite.

        Notes
        -----
        Source: docs/theory.md, 2-3.
        """
        rates = np.zeros(self.ndof) if qd is None else self.coordinates(qd, "qd")
        return Kinematics(*self.engine.jacobians(self.engine.layout.points, self.coordinates(q), rates, True))

    def pose(self, q: ArrayLike, link: str, s: float = 1.0) -> Array:
        """Pose (4, 4) in the world of a rod's section at s (0: base, 1: tip), or of a rigid link's frame.

        Between computational points it is a partial Magnus step from the point before (docs/theory.md, 2).
        """
        found: Array = self.poses(q, link, [s])[0]
        return found

    def poses(self, q: ArrayLike, link: str, s: Sequence[float] | Array) -> Array:
        """Poses (n, 4, 4) of several sections of a link; see `pose`."""
        values = s if isinstance(s, Sequence | np.ndarray) and not isinstance(s, str) else [s]
        wanted = tuple(self._place(link, value)[0] for value in values)
        return self.engine.look(self.engine.places(wanted), self.coordinates(q))[0]

    def jacobian(self, q: ArrayLike, link: str, s: float = 1.0) -> Array:
        """Body-frame Jacobian (6, ndof) of a rod's section at s, or of a rigid link's frame: eta = J qd."""
        _, J = self.engine.look(self.engine.places(self._place(link, s)), self.coordinates(q), jacobian=True)
        found: Array = J[0]
        return found

    def joint_wrench(self, q: ArrayLike, link: str, tau: ArrayLike) -> Array:
        """Moments and forces along a joint's directions in its moved frame, from generalised forces.

        `Run.driven` and `Equilibrium.driven` hold generalised forces: work per change of a coordinate. For joints whose
        motions commute, and universal ones, they are the moment about and the force along an axis. For planar,
        spherical and free joints, whose coordinates are exponential, they are so only where nothing is rotated.

        Parameters
        ----------
        q : (ndof,) array_like
            Coordinates.
        link : str
            Link whose joint it is.
        tau : (n,) array_like
            Generalised forces of all n coordinates of the joint, in their order.

        Returns
        -------
        (n,) array
            What a motor along each direction would have to give: moments [N m] and forces [N] on the link.

        Raises
        ------
        InputError
            A link that is not known, a wrong length, or a rotation by a whole turn, where the coordinates are singular.

        Notes
        -----
        Source: docs/theory.md, 6: tau = A^T y.
        """
        ((name, _),) = self._place(link, 1.0)
        layout, coordinates = self.engine.layout.links[name], self.coordinates(q)
        own = coordinates[layout.column : layout.column + layout.n_joint]
        forces, stage = vector("tau", tau, layout.n_joint), layout.link.joint.stages[0]
        if stage.commutes:
            return forces
        turned = angle(stage.columns, own)
        if turned > 1.0 and abs(np.sin(0.5 * turned)) < SINGULAR:
            got = f"a rotation of '{name}' by {turned:.9g} rad, a whole turn"
            hint = "hold the joint in the coordinates a whole turn away, which are of the same pose"
            raise InputError("q", "coordinates from which the wrench can be told", got, hint)
        return np.asarray(np.linalg.solve(twist_matrix(stage.columns, own).T, forces))

    # -- sensors ---------------------------------------------------------------------------------------------------

    def measure(
        self,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        u: ArrayLike | Mapping[str, float] | None = None,
        t: float = 0.0,
        *,
        qdd: ArrayLike | None = None,
        lam: ArrayLike | None = None,
        driven: Mapping[str, float] | None = None,
    ) -> dict[str, Array]:
        """What all sensors read in a state, without noise and bias.

        Parameters
        ----------
        q, qd : (ndof,) array_like
            Coordinates and rates; no rates: zero.
        u : mapping of actuator name to number, or array_like
            Inputs; missing ones are zero.
        t : float
            Time, for loads and driven motions [s].
        qdd : (ndof,) array_like
            Accelerations. Default: those of forward dynamics.
        lam : (n_multipliers,) array_like
            Multipliers of loops. Default: those of forward dynamics; with given accelerations the smallest that fit
            them best.
        driven : mapping of link or coordinate name to float
            Accelerations of driven coordinates, as in `forward_dynamics`.

        Returns
        -------
        dict
            Name of a sensor -> channels (n,); `instruments.readers[name]` has their names and units.

        Raises
        ------
        InputError, ModelError
            As `forward_dynamics`.
        """
        position, time, inputs = self.coordinates(q), self._time(t), self.inputs(u)
        rates = np.zeros(self.ndof) if qd is None else self.coordinates(qd, "qd")
        multipliers = None if lam is None else vector("lam", lam, self.n_multipliers)
        if qdd is None:
            _, given, known = self._given(position, rates, time, driven)
            found = self.engine.evaluate(task.FORWARD, position, rates, given, inputs, time, known=known)
            accelerations = found.qdd
            multipliers = found.closure.multiplier if multipliers is None else multipliers
        else:
            accelerations = self.coordinates(qdd, "qdd")
            if multipliers is None:
                partition = self._driven[0]
                if driven is not None:
                    partition = Partition.of(self.engine.layout, driven, self.description.actuators)
                multipliers = fitting_multipliers(
                    self, position, rates, accelerations, inputs, time, partition.free
                )  # fmt: skip
        state = State(self.instruments.bench, time, position, rates, accelerations, inputs, multipliers)
        return dict(self.instruments.measured(state))


def fitting_multipliers(
    robot: Robot, q: Array, qd: Array, qdd: Array, u: Array, t: float, free: NDArray[np.int64]
) -> Array:  # fmt: skip
    """The smallest multipliers (m,) under which the coordinates `free` move so, as well as they can."""
    if not robot.n_multipliers:
        return np.zeros(0)
    found, size = robot.engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, t), robot.engine.loops.size
    if not np.isfinite(qdd).all():
        return np.full(robot.n_multipliers, np.nan)
    A = size[:, None] * found.closure.matrix[CONSTRAINT][:, free]
    return np.asarray(size * scipy.linalg.lstsq(A.T, found.tau[free], cond=DEPENDENT)[0])


def check_robot(robot: Any) -> Robot:
    """Return a robot, refusing anything else."""
    if not isinstance(robot, Robot):
        raise InputError("robot", "a Robot", type(robot).__name__, "sorosim.load reads one from a file")
    return robot


def redescribed(robot: Robot, description: Description) -> Robot:
    """The same robot, whose description differs by no more than its start, its defaults and its document."""
    out = object.__new__(Robot)  # a copy makes its arrays anew
    vars(out).update(vars(robot))
    out.description = description
    out._initial = out._start()
    return out
