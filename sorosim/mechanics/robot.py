"""The robot: a description, its arrays, and the public methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.declare import Quantity
from sorosim.base.errors import InputError
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.units.quantity import amount
from sorosim.base.units.table import OF_INPUT
from sorosim.base.validation import Number, Values, columns, indices, vector
from sorosim.mechanics.actuation.base import input_unit
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.dynamics import arguments, energies, forward, inertia
from sorosim.mechanics.dynamics.constraints import complete_motion
from sorosim.mechanics.dynamics.contact_event import ContactEvent
from sorosim.mechanics.dynamics.joint_wrench import joint_wrench
from sorosim.mechanics.dynamics.linearization import linearize
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.dynamics.state_quantities import StateQuantities
from sorosim.mechanics.engine import records
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.prescribed import Prescribed, inputs_of
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.loads.base import Load, check_places
from sorosim.mechanics.loads.mass_damping import all_loads
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.sensors.base import Sensor
from sorosim.mechanics.sensors.instruments import Instruments, summary
from sorosim.mechanics.sensors.state import State


@public
class Robot(StateQuantities):
    """A robot made of rigid and soft links. Made from a `Description`; usually by `sorosim.load`.

    It never changes, and may be shared between threads. Arrays that do not change are shared with the robot `like`.

    Methods take numbers in SI units, and texts with units: `t` as 2.0 or "2 s"; `u` as [3.0] or {"cable1": "3 N"};
    ``q``, `qd` and `qdd` as arrays, or by the names of coordinates, or of links whose joint has one; what a mapping
    does not name is zero. InputError: vectors of a wrong length, entries that are not finite, unknown names or units.
    """

    def __init__(self, description: Description, *, like: Robot | None = None) -> None:
        if not isinstance(description, Description):
            raise InputError("Robot", "a Description", type(description).__name__, "sorosim.load reads files and dicts")
        self.description = description
        for name, load in description.loads.items():
            check_places(name, load, [link.name for link in description.links])
        gravity, loads = np.array(description.gravity), all_loads(description)
        parts = description.links, gravity, description.actuators, loads, description.constraints
        self.engine: Engine = Engine(*parts, like=None if like is None else like.engine)
        self.instruments = Instruments(description, self.engine)
        self._start = self._named_start()

    def _named_start(self) -> tuple[Array, Array]:
        """Initial coordinates and rates that are named."""
        blocks = ("initial", self.description.initial), ("initial_rates", self.description.initial_rates)
        return tuple(arguments.initial_values(self.engine, *block) for block in blocks)  # type: ignore[return-value]

    def _redescribed(self, description: Description) -> Robot:
        """The same arrays under a description that differs by no more than its start, its defaults and its document."""
        out = type(self).__new__(type(self))
        out.description, out.engine, out.instruments = description, self.engine, self.instruments
        out._start = out._named_start()
        return out

    def __reduce__(self) -> tuple[Any, ...]:  # copies and pickles hold the description; arrays are made anew
        return Robot, (self.description,)

    # -- properties ------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.description.name

    @property
    def ndof(self) -> int:
        """Number of coordinates."""
        return self.engine.ndof

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates, such as ``arm.bending_y[0]``."""
        return self.engine.layout.coordinate_names

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of u."""
        return self.engine.actuator_names

    @property
    def n_points(self) -> int:
        """Number of material points that `kinematics` returns."""
        return len(self.engine.layout.points)

    @property
    def actuator_units(self) -> tuple[str, ...]:
        """Unit of each input, such as N for tendons, N m for motors that turn; "" for a plain number."""
        actuators, joint = self.description.actuators.values(), self.description.joint
        return tuple(input_unit(actuator, joint) or "" for actuator in actuators)

    @cached_property
    def input_dimensions(self) -> Mapping[str, str]:
        """Dimension of each input by name, such as "force"."""
        units = zip(self.actuator_names, self.actuator_units, strict=True)
        return {name: OF_INPUT.get(unit, "number") for name, unit in units}

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
    def coupling_names(self) -> tuple[str, ...]:
        """Names of the couplings of joints, whose multipliers come behind those of the loops."""
        return tuple(self.description.couplings)

    @property
    def sensor_names(self) -> tuple[str, ...]:
        """Names of the sensors."""
        return tuple(self.description.sensors)

    @property
    def n_multipliers(self) -> int:
        """Number of multipliers: of directions that joints of loops do not allow, and one of each coupling."""
        return self.engine.loop_layout.m

    @cached_property
    def outputs(self) -> LinkFrames:
        """Places that reports, plots and `tip` show, the first where one is shown; default: the last with a body."""
        ends = self.description.outputs or [link.name for link in self.links if link.body is not None][-1:]
        return LinkFrames(self.description, self.engine, ends or [self.links[-1].name], "outputs")

    @property
    def initial_q(self) -> Array:
        """Coordinates (ndof,) of the description's initial block, zero where it says nothing.

        Shapes through points are found when it is asked for first. FileError, ModelError: there are none.
        """
        return self._initial_q.copy()

    @cached_property
    def _initial_q(self) -> Array:  # threads that ask at once find the same
        return self._shaped(self._start[0]) if self.description.shapes else self._start[0]

    @property
    def initial_qd(self) -> Array:
        """Rates (ndof,) of the description's initial block, zero where it says nothing."""
        return self._start[1].copy()

    def summary(self) -> str:
        """Table of the links, the loops, the couplings and the sensors, one a line."""
        return summary(self.description, self.engine, self.instruments)

    to_yaml: Callable[..., str] = LazyMethod("sorosim.files:dump")
    with_values: Callable[..., Robot] = LazyMethod("sorosim.files:with_values")
    _repr_html_ = LazyMethod("sorosim.view.viz.notebook:robot_html")
    _shaped: Callable[[Array], Array] = LazyMethod("sorosim.analysis.equilibria.shapes:initial_shapes")

    def __repr__(self) -> str:
        counts = f"{self.ndof} coordinates, {len(self.links)} links, {len(self.actuator_names)} actuators"
        return f"<Robot '{self.name}': {counts}>"

    def with_loads(self, **loads: Load) -> Robot:
        """Return the same robot under further loads, by name; a load of a known name takes its place."""
        return Robot(replace(self.description, loads={**self.description.loads, **loads}), like=self)

    def with_sensors(self, **sensors: Sensor) -> Robot:
        """Return the same robot with further sensors, by name; a sensor of a known name takes its place."""
        return Robot(replace(self.description, sensors={**self.description.sensors, **sensors}), like=self)

    # -- checks of arguments ----------------------------------------------------------------------------------------

    def inputs(self, u: Values | None, where: str = "u") -> Array:
        """Return inputs as an array in `actuator_names` order, in SI units; None: all are zero."""
        return inputs_of(self, u, where)

    @staticmethod
    def _time(t: Number) -> float:
        return amount("t", t, "time")

    def _state_and_driven(
        self, q: Values, qd: Values, t: Number, driven_qdd: Any
    ) -> tuple[tuple[Array, Array], float, Array, Mask]:
        """State, time, accelerations of driven coordinates, and which these are."""
        state, time = arguments.state(self.engine, q, qd), self._time(t)
        if driven_qdd is not None:
            partition, qdd = arguments.driven_accelerations(self.engine, driven_qdd, self.description.actuators)
            return state, time, qdd, partition.mask
        partition, qdd = self._prescribed.partition, np.zeros(self.ndof)
        if partition.names:
            qdd[partition.driven] = self._prescribed.motion.jets(time)[:, 2]
        return state, time, qdd, partition.mask

    @cached_property
    def _prescribed(self) -> Prescribed:
        """What the description drives in simulations."""
        return Prescribed.of(self, {}, None)

    # -- kinematics ------------------------------------------------------------------------------------------------

    def kinematics(self, q: Values, qd: Values | None = None) -> records.Kinematics:
        """Poses, twists and Jacobians of all points, body frames (docs/theory.md, 2-3).

        Parameters
        ----------
        q, qd : (ndof,) array_like or mapping
            Coordinates and rates; no rates: at rest.

        Returns
        -------
        Kinematics
            g (n_points, 4, 4), eta (n_points, 6), J and Jd = dJ/dt (n_points, 6, ndof).
        """
        state = arguments.state_or_rest(self.engine, q, qd)
        return records.Kinematics(*self.engine.jacobians(self.engine.layout.points, *state, True))

    def pose(self, q: Values, link: str, *, s: float = 1.0) -> Array:
        """Pose (4, 4) in the world of a rod's section at s (0: base, 1: tip), or of a rigid link's frame.

        Between computational points it is a partial Magnus step from the point before (docs/theory.md, 2).
        """
        g: Array = self.poses(q, link, s=[s])[0]
        return g

    def poses(self, q: Values, link: str, *, s: Sequence[float] | Array) -> Array:
        """Poses (n, 4, 4) of several sections of a link; see `pose`."""
        values = s if isinstance(s, Sequence | np.ndarray) and not isinstance(s, str) else [s]
        wanted = tuple(arguments.place(self.engine, link, value) for value in values)
        return self.engine.poses_at(self.engine.places(wanted), self.coordinates(q))[0]

    def jacobian(self, q: Values, link: str, *, s: float = 1.0) -> Array:
        """Body-frame Jacobian (6, ndof) of a rod's section at s, or of a rigid link's frame: eta = J qd."""
        places = self.engine.places((arguments.place(self.engine, link, s),))
        _, J = self.engine.poses_at(places, self.coordinates(q), jacobian=True)
        body_J: Array = J[0]
        return body_J

    def joint_wrench(self, q: Values, link: str, *, tau: ArrayLike) -> Array:
        """Moments and forces along a joint's directions in its moved frame, from generalised forces.

        `Run.driven` and `Equilibrium.driven` hold generalised forces: work per change of a coordinate. For joints whose
        motions commute, and universal ones, they are the moment about and the force along an axis. For planar,
        spherical and free joints, whose directions the joint turns, they are so only where nothing is rotated:
        tau = A^T y (docs/theory.md, 6).

        Parameters
        ----------
        q : (ndof,) array_like or mapping
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
        """
        name, _ = arguments.place(self.engine, link, 1.0)
        return joint_wrench(self.engine.layout.links[name], self.coordinates(q), tau)

    # -- dynamics --------------------------------------------------------------------------------------------------

    def mass_matrix(self, q: Values) -> Array:
        """Mass matrix (ndof, ndof) at q."""
        return inertia.mass_matrix(self.engine, self.coordinates(q))

    def inverse_dynamics(
        self, q: Values, qd: Values, *, qdd: Values, u: Values | None = None, t: Number = 0.0
    ) -> Array:
        """Generalised forces tau = M qdd - F that produce a motion, O(n) (docs/theory.md, 4).

        F holds Coriolis forces, gravity and loads; stiffness, damping and actuation are in `internal_force`.

        Parameters
        ----------
        q, qd, qdd : (ndof,) array_like or mapping
            Coordinates, rates, accelerations. [rad, m or strain coefficient; per s; per s^2]
        u : array_like, or mapping of actuator name to float or str
            Inputs, for loads that they scale (`LoadInput`); missing ones are zero.
        t : float or str
            Time, for loads that depend on it [s].

        Returns
        -------
        (ndof,) ndarray
            Conjugate to the coordinates. [N m, N]
        """
        return self.engine.evaluate(task.INVERSE, *arguments.motion(self, q, qd, qdd, u, t)).tau

    def inverse_dynamics_derivatives(
        self, q: Values, qd: Values, *, qdd: Values, u: Values | None = None, t: Number = 0.0
    ) -> records.InverseDynamicsDerivatives:
        """Inverse dynamics and its derivatives by q, qd and qdd (the mass matrix); see `inverse_dynamics`."""
        out = self.engine.evaluate(task.INVERSE_DERIVATIVES, *arguments.motion(self, q, qd, qdd, u, t))
        return records.InverseDynamicsDerivatives(out.tau, out.by_q, out.by_qd, out.mass)

    def forward_dynamics(
        self, q: Values, qd: Values, *, u: Values | None = None, t: Number = 0.0,
        driven_qdd: Mapping[str, Number] | None = None, algorithm: str | None = None,
    ) -> Array:  # fmt: skip
        """Accelerations (ndof,) of the whole system.

        Parameters
        ----------
        q, qd : (ndof,) array_like or mapping
            Coordinates and rates.
        u : array_like, or mapping of actuator name to float or str
            Inputs, of signals (see `simulate`) those at time t; missing ones are zero.
        t : float or str
            Time, for loads and driven motions [s].
        driven_qdd : mapping of link or coordinate name to float or str
            Accelerations of driven coordinates [rad/s^2 or m/s^2]. Default: those of the file's `simulate` block at
            time t; {}: none is driven.
        algorithm : {"composite", "articulated"}, optional
            "composite": the mass matrix by composite bodies, and its Cholesky factor, O(n^2) to O(n^3); closes loops.
            "articulated": articulated bodies, rods as macro-joints, O(n). Default: the faster one.

        Raises
        ------
        ModelError
            The mass matrix is singular: a coordinate moves no mass.
        """
        (position, rates), time, qdd, known = self._state_and_driven(q, qd, t, driven_qdd)
        chosen = forward.choose_algorithm(self.engine, algorithm, forward.FORWARD, forward.FASTEST)
        return forward.FORWARD[chosen](self.engine, position, rates, qdd, inputs_of(self, u, t=time), time, known)

    def forward_dynamics_derivatives(
        self, q: Values, qd: Values, *, u: Values | None = None, t: Number = 0.0,
        driven_qdd: Mapping[str, Number] | None = None, algorithm: str | None = None,
    ) -> records.ForwardDynamicsDerivatives:  # fmt: skip
        """Accelerations and their derivatives by q, qd and u; see `forward_dynamics`. Rows of driven ones are zero.

        All are M^-1 times derivatives of forces: "composite" has the Cholesky factor of M, and closes loops;
        "articulated" solves for every column in O(n). Default: the faster one.
        """
        (position, rates), time, qdd, known = self._state_and_driven(q, qd, t, driven_qdd)
        table = forward.FORWARD_DERIVATIVES
        chosen = forward.choose_algorithm(self.engine, algorithm, table, forward.FASTEST_DERIVATIVES)
        return table[chosen](self.engine, position, rates, qdd, inputs_of(self, u, t=time), time, known)

    def forward_dynamics_jvp(
        self, q: Values, qd: Values, *, u: Values | None = None, dq: Values | None = None, dqd: Values | None = None,
        du: Values | None = None, t: Number = 0.0, driven_qdd: Mapping[str, Number] | None = None,
    ) -> records.ForwardDynamicsJvp:  # fmt: skip
        """Accelerations and their change (ndof,) along (dq, dqd, du), by default zero; see `forward_dynamics`.

        O(n), no matrix is formed (docs/theory.md, 17); with loops by those of `forward_dynamics_derivatives`."""
        (position, rates), time, qdd, known = self._state_and_driven(q, qd, t, driven_qdd)
        state = position, rates, qdd, inputs_of(self, u, t=time), time, known
        change = arguments.variation(self, dq, dqd, du)
        return forward.forward_jvp(self.engine, *state, *change)

    def forward_dynamics_vjp(
        self, q: Values, qd: Values, *, qdd_bar: ArrayLike, u: Values | None = None, t: Number = 0.0,
        driven_qdd: Mapping[str, Number] | None = None,
    ) -> records.ForwardDynamicsVjp:  # fmt: skip
        """Accelerations and the gradient of qdd_bar . qdd (both (ndof,)) by q, qd, u; as `forward_dynamics_jvp`."""
        (position, rates), time, qdd, known = self._state_and_driven(q, qd, t, driven_qdd)
        state = position, rates, qdd, inputs_of(self, u, t=time), time, known
        return forward.forward_vjp(self.engine, *state, vector("qdd_bar", qdd_bar, self.ndof))

    def solve_mass(self, q: Values, b: ArrayLike, *, algorithm: str | None = None) -> Array:
        """M(q)^{-1} b, M the mass matrix of the tree: loops are left open, and nothing is driven (docs/theory.md, 5).

        Parameters
        ----------
        q : (ndof,) array_like or mapping
            Coordinates.
        b : (ndof,) or (ndof, m) array_like
            Generalised forces, or columns of them; the unit matrix gives M^{-1}.
        algorithm : {"composite", "articulated"}, optional
            "composite": the mass matrix by composite bodies, and its Cholesky factor, O(n^3) and O(n^2) a column.
            "articulated": articulated bodies, O(n) a column. Default: the faster one.

        Returns
        -------
        ndarray
            Of the shape of b. ModelError: the mass matrix is singular.
        """
        position, right = self.coordinates(q), columns("b", b, self.ndof)
        chosen = forward.choose_algorithm(self.engine, algorithm, forward.SOLVE_MASS, forward.FASTEST, closes=False)
        if not right.size:
            return right
        return forward.SOLVE_MASS[chosen](self.engine, position, right.reshape(self.ndof, -1)).reshape(right.shape)

    def hybrid_dynamics(
        self, q: Values, qd: Values, *, qdd: Values, tau: ArrayLike, known: ArrayLike, u: Values | None = None,
        t: Number = 0.0, algorithm: str | None = None,
    ) -> records.HybridDynamics:  # fmt: skip
        """Dynamics where some accelerations are known and some forces (docs/theory.md, 6, last lines).

        Inverse dynamics if all accelerations are known, M^-1 (tau - bias) if none is.

        Parameters
        ----------
        q, qd : (ndof,) array_like or mapping
            Coordinates and rates.
        qdd, tau : (ndof,) array_like or mapping
            Accelerations, read where they are known, and generalised forces as `inverse_dynamics` gives them (all there
            are: internal ones too), read elsewhere.
        known : sequence of int, or mask (ndof,)
            Coordinates whose acceleration is known.
        u, t : optional
            As in `inverse_dynamics`.
        algorithm : {"articulated", "composite"}, optional
            See `forward_dynamics`; loops are left open. Default: the first, which is the faster one at all sizes.

        Returns
        -------
        HybridDynamics
            qdd and tau of all coordinates.
        """
        chosen = forward.choose_algorithm(self.engine, algorithm, forward.HYBRID, forward.FASTEST_HYBRID, closes=False)
        return forward.HYBRID[chosen](self.engine, *arguments.hybrid(self, q, qd, qdd, tau, known, u, t))

    def hybrid_dynamics_derivatives(
        self, q: Values, qd: Values, *, qdd: Values, tau: ArrayLike, known: ArrayLike, u: Values | None = None,
        t: Number = 0.0, algorithm: str | None = None,
    ) -> records.HybridDynamicsDerivatives:  # fmt: skip
        """Hybrid dynamics and its derivatives by q, qd and what is given; see `hybrid_dynamics`."""
        chosen = forward.choose_algorithm(self.engine, algorithm, forward.HYBRID, forward.FASTEST_HYBRID, closes=False)
        return forward.hybrid_derivatives(self.engine, chosen, *arguments.hybrid(self, q, qd, qdd, tau, known, u, t))

    def internal_force(self, q: Values, qd: Values, *, u: Values | None = None, t: Number = 0.0) -> Array:
        """Internal force B u - K q - D qd (ndof,): actuation but for loads, elasticity, damping (docs/theory.md, 6)."""
        self._time(t)
        return self.engine.internal(self.coordinates(q), self.coordinates(qd, "qd", order=1), self.inputs(u)).tau

    def internal_force_derivatives(
        self, q: Values, qd: Values, *, u: Values | None = None, t: Number = 0.0
    ) -> records.InternalForceDerivatives:
        """Internal force and its derivatives by q, qd and u (the actuation matrix B)."""
        self._time(t)
        out = self.engine.internal(self.coordinates(q), self.coordinates(qd, "qd", order=1), self.inputs(u), True)
        return records.InternalForceDerivatives(out.tau, out.by_q, out.by_qd, out.B)

    def energy(self, q: Values, qd: Values) -> records.Energy:
        """Kinetic, elastic and gravitational energy [J]."""
        return records.Energy(*energies.energy(self.engine, self.coordinates(q), self.coordinates(qd, "qd", order=1)))

    def contacts(self, q: Values, qd: Values | None = None) -> records.Contacts:
        """Contacts in a state: where, how deep, with which force, sliding how fast.

        No rates: at rest.
        """
        return self.engine.contacts(*arguments.state_or_rest(self.engine, q, qd))[0]

    def contact_gaps(self, q: Values, reach: Number = 0.1) -> dict[str, float]:
        """Smallest gap of each contact [m] by the name of its load, negative where surfaces touch; at most `reach`."""
        return self.engine.contact_gaps(self.coordinates(q), Quantity("length", least=0.0).argument("reach", reach))

    def onset(self, load: str, *, terminal: bool = False) -> ContactEvent:
        """An event for `simulate`: the moment in which the first surfaces of a contact touch."""
        return ContactEvent(self.engine, load, -1.0, terminal)

    def release(self, load: str, *, terminal: bool = False) -> ContactEvent:
        """An event for `simulate`: the moment in which the last surfaces of a contact part."""
        return ContactEvent(self.engine, load, 1.0, terminal)

    def tendon_lengths(self, q: Values) -> dict[str, float]:
        """Length of each tendon inside its rods [m], by name; of one held on a fed rod less what is fed."""
        lengths = zip(self.description.actuators.items(), self.engine.tendon_lengths(self.coordinates(q)), strict=True)
        return {name: float(length) for (name, actuator), length in lengths if isinstance(actuator, Tendon)}

    def loop_gaps(self, q: Values) -> dict[str, tuple[float, float]]:
        """How far each loop is open: a distance [m] and an angle [rad], in the directions that its joint forbids."""
        return self.engine.gaps(self.coordinates(q))

    def loop_rows(self, q: Values, qd: Values | None = None) -> records.LoopRows:
        """Errors of all loops, their rates, and the constraint matrix A, rate = A qd (docs/theory.md, 9)."""
        state, zero = arguments.state_or_rest(self.engine, q, qd), np.zeros(self.ndof)
        closure = self.engine.evaluate(task.CLOSURE, *state, zero, self.inputs(None)).closure
        return records.LoopRows(closure.error, closure.rate, closure.constraint)

    def linearize(
        self, q: Values, u: Values | None = None, *, qd: Values | None = None,
        free: Sequence[int] | IntArray | None = None, stiffness: ArrayLike | None = None,
    ) -> Linearization:  # fmt: skip
        """Linearised motion about an equilibrium, or about a steady motion.

        Parameters
        ----------
        q : (ndof,) array_like or mapping
            An equilibrium, as from `sorosim.statics`; `Equilibrium.linearize` passes all arguments.
        u : array_like, or mapping of actuator name to float or str
            Inputs there, held. Loads that depend on time are those at t = 0.
        free : sequence of int, or mask (ndof,), optional
            The coordinates that may move, the others are held, or turn steadily. Default: those that qd gives no rate.
        stiffness : (n_free, n_free) array_like, optional
            Of the tree, in place of its own: `tangent_stiffness` of an equilibrium under friction of contacts.
        qd : (ndof,) array_like, or mapping of coordinate or link names to rates, optional
            Rates of a steady motion, such as that of a driven hub: a relative equilibrium, in which they are constant
            and nothing else changes. Default: rest.

        Returns
        -------
        Linearization
            Of M z'' + D z' + K z = F du. About a steady motion D and K hold the gyroscopic and centrifugal terms.

        Warns
        -----
        SorosimWarning
            Forces do not balance at q, or do not stay as they are while the robot turns on.

        Raises
        ------
        InputError, ModelError
            A wrong length, name or value; rates that tear loops open. Coordinates without inertia, or singular ones.

        Notes
        -----
        With loops the motion is that of independent displacements z along the closed states, dq = Z dz, and so are the
        matrices and their sizes. The stiffness is Z^T K Z, K that of the tree under the multipliers of the equilibrium
        (docs/theory.md, 9): where forces balance, the curvature of the closed states adds nothing else.
        """
        position, inputs = self.coordinates(q), self.inputs(u)
        rates, turning = arguments.steady_rates(self.engine, qd)
        rows = np.flatnonzero(~turning) if free is None else indices("free", free, self.ndof)
        tangent = None if stiffness is None else columns("stiffness", stiffness, len(rows), len(rows))
        M, D, K, F, Z, lam, relaxation = linearize(self.engine, position, rates, inputs, rows, tangent)
        looped = self.engine.loop_layout.m > 0
        names = [f"z[{i}]" for i in range(Z.shape[1])] if looped else [self.coordinate_names[i] for i in rows]
        return Linearization(M, D, K, F, Z, position, rates, inputs, lam, rows, tuple(names), self, relaxation)

    # -- sensors ---------------------------------------------------------------------------------------------------

    def measure(
        self, q: Values, qd: Values | None = None, *, qdd: Values | None = None, u: Values | None = None,
        t: Number = 0.0, lam: ArrayLike | None = None, driven_qdd: Mapping[str, Number] | None = None,
    ) -> dict[str, Array]:  # fmt: skip
        """What all sensors read in a state, without noise and bias.

        Parameters
        ----------
        q, qd : (ndof,) array_like or mapping
            Coordinates and rates; no rates: zero.
        qdd : (ndof,) array_like or mapping
            Accelerations. Default: those of forward dynamics.
        u : array_like, or mapping of actuator name to float or str
            Inputs, of signals (see `simulate`) those at time t; missing ones are zero.
        t : float or str
            Time, for loads and driven motions [s].
        lam : (n_multipliers,) array_like
            Multipliers of loops. Default: those of forward dynamics; with given accelerations the smallest that fit
            them best.
        driven_qdd : mapping of link or coordinate name to float or str
            Accelerations of driven coordinates, as in `forward_dynamics`.

        Returns
        -------
        dict
            Name of a sensor -> channels (n,); `instruments.readers[name]` has their names and units.
        """
        state, sites = arguments.state_or_rest(self.engine, q, qd), self.instruments.sites
        (position, rates), time, given, known = self._state_and_driven(*state, t, driven_qdd)
        inputs = inputs_of(self, u, t=time)
        accelerations = None if qdd is None else self.coordinates(qdd, "qdd", order=2)
        multipliers = None if lam is None else vector("lam", lam, self.n_multipliers)
        motion = complete_motion(self.engine, position, rates, inputs, time, given, known, accelerations, multipliers)
        return dict(self.instruments.measured(State(sites, time, position, rates, motion[0], inputs, motion[1])))


def check_robot(robot: Any) -> Robot:
    """Return a robot, refusing anything else."""
    if not isinstance(robot, Robot):
        raise InputError("robot", "a Robot", type(robot).__name__, "sorosim.load reads one from a file")
    return robot
