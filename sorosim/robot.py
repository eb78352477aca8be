"""The robot: a description, its arrays, and what a user asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.actuation.joint_force import JointForce
from sorosim.actuation.tendon import Tendon
from sorosim.door import indices, number, vector
from sorosim.engine import Engine
from sorosim.errors import InputError, ModelError, nearest
from sorosim.kernels import evaluate as task
from sorosim.linear import Linearization, linearize
from sorosim.loads.base import Load, check_places
from sorosim.loads.mass_damping import MassDamping
from sorosim.model.description import Description
from sorosim.model.link import Link

Array = NDArray[np.float64]


class Kinematics(NamedTuple):
    """Motion of the points of a robot, body frames."""

    g: Array  # (n_points, 4, 4) pose in the world
    eta: Array  # (n_points, 6) twist [rad/s, m/s]
    J: Array  # (n_points, 6, ndof) Jacobian, eta = J qd
    Jd: Array  # (n_points, 6, ndof) its time derivative dJ/dt


class InverseDynamicsDerivatives(NamedTuple):
    """Inverse dynamics and its derivatives."""

    tau: Array  # (ndof,)
    dtau_dq: Array  # (ndof, ndof)
    dtau_dqd: Array  # (ndof, ndof)
    mass_matrix: Array  # (ndof, ndof), the derivative by qdd


class InternalForceDerivatives(NamedTuple):
    """Internal force and its derivatives."""

    tau: Array  # (ndof,)
    dtau_dq: Array  # (ndof, ndof)
    dtau_dqd: Array  # (ndof, ndof)
    B: Array  # (ndof, n_actuators), the derivative by u


class ForwardDynamicsDerivatives(NamedTuple):
    """Forward dynamics and its derivatives."""

    qdd: Array  # (ndof,)
    dqdd_dq: Array  # (ndof, ndof)
    dqdd_dqd: Array  # (ndof, ndof)
    dqdd_du: Array  # (ndof, n_actuators)


class Energy(NamedTuple):
    """Energy of a robot [J]; that of gravity is zero at the world's origin."""

    kinetic: float
    elastic: float
    gravity: float

    @property
    def total(self) -> float:
        """Sum of the three."""
        return self.kinetic + self.elastic + self.gravity


class Robot:
    """A robot made of rigid and soft links. Made from a `Description`; usually by `sorosim.load`.

    It never changes, and may be shared between threads.
    """

    def __init__(self, description: Description) -> None:
        if not isinstance(description, Description):
            hint = "sorosim.load reads files and dicts"
            raise InputError("Robot", "a Description", type(description).__name__, hint)
        self.description = description
        for name, actuator in description.actuators.items():
            if not isinstance(actuator, Tendon | JointForce):
                raise ModelError(f"actuators.{name}", "a Tendon or a JointForce", type(actuator).__name__)
        actuators: list[Tendon | JointForce] = list(description.actuators.values())
        loads: dict[str, Load] = dict(description.loads)
        if any(d.material.mass_damping for link in description.links if link.rod for d in link.rod.divisions):
            loads["mass damping"] = MassDamping()
        for name, load in description.loads.items():
            check_places(name, load, [link.name for link in description.links])
        self.engine = Engine(description.links, np.array(description.gravity), actuators, loads)
        for name, value in description.initial.items():
            if name not in self.coordinate_names:
                hint = nearest(name, self.coordinate_names)
                raise ModelError(f"initial.{name}", "the name of a coordinate", f"'{name}'", hint)
            if not np.isfinite(value):
                raise ModelError(f"initial.{name}", "a finite number", f"{value}")

    def __reduce__(self) -> tuple[Any, ...]:  # copies and pickles hold the description; arrays are made anew
        return Robot, (self.description,)

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.description.name

    @property
    def ndof(self) -> int:
        """Number of coordinates."""
        return self.engine.ndof

    @property
    def n_points(self) -> int:
        """Number of material points that `kinematics` returns."""
        return len(self.engine.layout.points)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates, such as ``arm.bending_y[0]``."""
        return self.engine.layout.coordinate_names

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of u."""
        return tuple(self.description.actuators)

    @property
    def links(self) -> tuple[Link, ...]:
        """The links, parents first."""
        return self.description.links

    @property
    def tip_link(self) -> str:
        """The last link that has a body: what plots and `tip` show if nothing else is asked for."""
        bodies = [link.name for link in self.links if link.body is not None]
        return bodies[-1] if bodies else self.links[-1].name

    @property
    def initial_q(self) -> Array:
        """Coordinates (ndof,) of the description's initial block, zero where it says nothing."""
        q = np.zeros(self.ndof)
        for name, value in self.description.initial.items():
            q[self.coordinate_names.index(name)] = value
        return q

    def summary(self) -> str:
        """Table of the links, one a line."""
        lines = [f"{self.name}: {self.ndof} coordinates, {self.n_points} points, {len(self.actuator_names)} actuators"]
        for link in self.links:
            layout = self.engine.layout.links[link.name]
            if link.rod is not None:
                body = f"rod {link.rod.length:g} m, {int((layout.weight > 0).sum())} Gauss points"
            else:
                body = "rigid body" if link.body is not None else "frame"
            where = link.parent if link.parent == "world" or link.s == 1.0 else f"{link.parent} at s = {link.s:g}"
            lines.append(f"  {link.name}: {link.joint.kind} on {where}, {body}, {layout.n} coordinates")
        return "\n".join(lines)

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

    def with_loads(self, **loads: Load) -> Robot:
        """Return the same robot under further loads, by name; a load of a known name takes its place."""
        # the text of its file does not know them
        return Robot(replace(self.description, loads={**self.description.loads, **loads}, text=""))

    # -- the door --------------------------------------------------------------------------------------------------

    def coordinates(self, value: ArrayLike, where: str = "q") -> Array:
        """Return coordinates, rates or accelerations as a fresh (ndof,) array of finite numbers."""
        return vector(where, value, self.ndof)

    def inputs(self, u: ArrayLike | Mapping[str, float] | None, where: str = "u") -> Array:
        """Return inputs as an array in `actuator_names` order, from a mapping (the rest is zero), an array or None."""
        if u is None:
            return np.zeros(len(self.actuator_names))
        if isinstance(u, Mapping):
            values = np.zeros(len(self.actuator_names))
            for name, value in u.items():
                if name not in self.actuator_names:
                    raise InputError(where, "the name of an actuator", f"'{name}'", nearest(name, self.actuator_names))
                values[self.actuator_names.index(name)] = number(f"{where}.{name}", value)
            return values
        return vector(where, u, len(self.actuator_names))

    @property
    def links_of_columns(self) -> dict[int, str]:
        """First joint coordinate -> name of the link, for links whose joint moves."""
        return {x.column: name for name, x in self.engine.layout.links.items() if x.n_joint}

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

    @staticmethod
    def _time(t: float) -> float:
        return number("t", t)

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

    # -- dynamics --------------------------------------------------------------------------------------------------

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix (ndof, ndof) at q."""
        zero = np.zeros(self.ndof)
        return self.engine.evaluate(task.MASS, self.coordinates(q), zero, zero.copy(), self.inputs(None)).mass

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, t: float = 0.0) -> Array:
        """Generalised forces tau = M qdd - F that produce a motion, O(n).

        F holds Coriolis forces, gravity and loads; stiffness, damping and actuation are in `internal_force`.

        Parameters
        ----------
        q, qd, qdd : (ndof,) array_like
            Coordinates, rates, accelerations. [rad, m or strain coefficient; per s; per s^2]
        t : float
            Time, for loads that depend on it [s].

        Returns
        -------
        (ndof,) ndarray
            Conjugate to the coordinates. [N m, N]

        Raises
        ------
        InputError
            A vector of wrong length, or not finite.

        Notes
        -----
        Source: docs/theory.md, 4.
        """
        state = self.coordinates(q), self.coordinates(qd, "qd"), self.coordinates(qdd, "qdd")
        return self.engine.evaluate(task.INVERSE, *state, self.inputs(None), self._time(t)).tau

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, t: float = 0.0
    ) -> InverseDynamicsDerivatives:
        """Inverse dynamics and its derivatives by q, qd and qdd (the mass matrix); see `inverse_dynamics`."""
        state = self.coordinates(q), self.coordinates(qd, "qd"), self.coordinates(qdd, "qdd")
        out = self.engine.evaluate(task.INVERSE_DERIVATIVES, *state, self.inputs(None), self._time(t))
        return InverseDynamicsDerivatives(out.tau, out.dq, out.dqd, out.mass)

    def internal_force(
        self, q: ArrayLike, qd: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float = 0.0
    ) -> Array:
        """Internal force B u - K q - D qd (ndof,): actuation, elasticity, damping (docs/theory.md, 6)."""
        self._time(t)
        state = self.coordinates(q), self.coordinates(qd, "qd"), np.zeros(self.ndof)
        return self.engine.evaluate(task.INTERNAL, *state, self.inputs(u)).tau

    def internal_force_derivatives(
        self, q: ArrayLike, qd: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float = 0.0
    ) -> InternalForceDerivatives:
        """Internal force and its derivatives by q, qd and u (the actuation matrix B)."""
        self._time(t)
        state = self.coordinates(q), self.coordinates(qd, "qd"), np.zeros(self.ndof)
        out = self.engine.evaluate(task.INTERNAL_DERIVATIVES, *state, self.inputs(u))
        return InternalForceDerivatives(out.tau, out.dq, out.dqd, out.B)

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float = 0.0
    ) -> Array:
        """Accelerations (ndof,) of the whole system.

        Raises
        ------
        InputError
            A vector of wrong length, or not finite.
        ModelError
            The mass matrix is singular: a coordinate moves no mass.
        """
        state = self.coordinates(q), self.coordinates(qd, "qd"), np.zeros(self.ndof)
        return self.engine.evaluate(task.FORWARD, *state, self.inputs(u), self._time(t)).qdd

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float = 0.0
    ) -> ForwardDynamicsDerivatives:
        """Accelerations and their derivatives by q, qd and u; see `forward_dynamics`."""
        state = self.coordinates(q), self.coordinates(qd, "qd"), np.zeros(self.ndof)
        out = self.engine.evaluate(task.FORWARD_DERIVATIVES, *state, self.inputs(u), self._time(t))
        return ForwardDynamicsDerivatives(out.qdd, out.dq, out.dqd, out.B)

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic, elastic and gravitational energy [J]."""
        return Energy(*self.engine.energy(self.coordinates(q), self.coordinates(qd, "qd")))

    def tendon_lengths(self, q: ArrayLike) -> dict[str, float]:
        """Length of each tendon inside its rods [m], by name."""
        lengths = zip(self.description.actuators.items(), self.engine.tendon_lengths(self.coordinates(q)), strict=True)
        return {name: float(length) for (name, actuator), length in lengths if isinstance(actuator, Tendon)}

    def linearize(
        self,
        q: ArrayLike,
        u: ArrayLike | Mapping[str, float] | None = None,
        free: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> Linearization:
        """Linearised motion about an equilibrium.

        Parameters
        ----------
        q : (ndof,) array_like
            An equilibrium, as from `sorosim.statics`.
        u : mapping or array_like
            Inputs there, held.
        free : sequence of int, or mask (ndof,), optional
            The coordinates that may move, the others are held. Default: all.

        Returns
        -------
        Linearization
            ``stable`` tells whether small motions stay small. Where the tangent stiffness is symmetric (conservative
            forces and damping only) that is its being positive definite; otherwise, that no eigenvalue of A has a
            positive real part beyond rounding.
        """
        position, inputs, zero = self.coordinates(q), self.inputs(u), np.zeros(self.ndof)
        out = self.engine.evaluate(task.RESIDUAL_DERIVATIVES, position, zero, zero.copy(), inputs)
        try:
            if free is None:
                return linearize(out.mass, out.dqd, out.dq, out.B)
            rows = indices("free", free, self.ndof)
            chosen = np.ix_(rows, rows)
            return linearize(out.mass[chosen], out.dqd[chosen], out.dq[chosen], out.B[rows])
        except np.linalg.LinAlgError:
            raise ModelError(self.name, "a mass matrix that is positive definite", "a singular one") from None
