"""Dynamics of a robot: the door to the engine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpotrf

from sorosim.actuation.tendon import Tendon
from sorosim.dynamics.energies import energy
from sorosim.engine.engine import Engine, Evaluation
from sorosim.engine.inputs import check_wound, winds
from sorosim.engine.records import (
    Contacts,
    Energy,
    InternalForceDerivatives,
    InverseDynamicsDerivatives,
    LoopRows,
)
from sorosim.errors import InputError, ModelError, SorosimWarning, nearest
from sorosim.kernels import evaluate as task
from sorosim.kernels.idle import CLEAR
from sorosim.kernels.loops import CONSTRAINT, ERROR, RATE
from sorosim.linear import Linearization
from sorosim.model.chart import Turns
from sorosim.model.description import Description
from sorosim.validation import columns, indices, number, vector

Array = NDArray[np.float64]

# singular values of the constraints below this part of the largest belong to rows that depend on others
DEPENDENT = 1e-9
# so near to a whole turn coordinates are singular [rad]
AT_TURN = 1e-6
# an equilibrium may be off by these parts of the largest force, and of what moves coordinates by 1 rad or m
OFF_BALANCE, NEGLIGIBLE = 1e-6, 1e-8
# steady rates may tear loops by this part, and matrices change by this part, before we say so
TEARS, CHANGES = 1e-9, 1e-6


class Dynamics:
    """What a robot answers about forces and accelerations; `Robot` is one."""

    description: Description
    engine: Engine

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

    # -- the door --------------------------------------------------------------------------------------------------

    def coordinates(self, value: ArrayLike, where: str = "q") -> Array:
        """Return coordinates, rates or accelerations as a fresh (ndof,) array of finite numbers."""
        return vector(where, value, self.ndof)

    def inputs(self, u: ArrayLike | Mapping[str, float] | None, where: str = "u") -> Array:
        """Return inputs as an array in `actuator_names` order, from a mapping (the rest is zero), an array or None."""
        if u is None:
            return np.zeros(self.engine.n_actuators)
        if isinstance(u, Mapping):
            values = np.zeros(self.engine.n_actuators)
            for name, value in u.items():
                if name not in self.actuator_names:
                    raise InputError(where, "the name of an actuator", f"'{name}'", nearest(name, self.actuator_names))
                values[self.actuator_names.index(name)] = number(f"{where}.{name}", value)
        else:
            values = vector(where, u, self.engine.n_actuators)
        if self._winds:
            check_wound(self.engine.fibres, self.actuator_names, values, where)
        return values

    @cached_property
    def _winds(self) -> bool:
        return winds(self.engine.fibres)

    @staticmethod
    def _time(t: float) -> float:
        return number("t", t)

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
        return self.engine.internal(self.coordinates(q), self.coordinates(qd, "qd"), self.inputs(u)).tau

    def internal_force_derivatives(
        self, q: ArrayLike, qd: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float = 0.0
    ) -> InternalForceDerivatives:
        """Internal force and its derivatives by q, qd and u (the actuation matrix B)."""
        self._time(t)
        out = self.engine.internal(self.coordinates(q), self.coordinates(qd, "qd"), self.inputs(u), True)
        return InternalForceDerivatives(out.tau, out.dq, out.dqd, out.B)

    def energy(self, q: ArrayLike, qd: ArrayLike) -> Energy:
        """Kinetic, elastic and gravitational energy [J]."""
        return Energy(*energy(self.engine, self.coordinates(q), self.coordinates(qd, "qd")))

    def contacts(self, q: ArrayLike, qd: ArrayLike | None = None) -> Contacts:
        """Contacts in a state: where, how deep, with which force, sliding how fast.

        Parameters
        ----------
        q : (ndof,) array_like
        qd : (ndof,) array_like, optional
            Default: at rest.
        """
        rates = np.zeros(self.ndof) if qd is None else self.coordinates(qd, "qd")
        return self.engine.contacts(self.coordinates(q), rates)[0]

    def contact_gaps(self, q: ArrayLike, reach: float = 0.1) -> dict[str, float]:
        """Smallest gap of each contact [m] by the name of its load, negative where surfaces touch; at most `reach`."""
        return self.engine.contact_gaps(
            self.coordinates(q), number("reach", reach, "a distance of 0 or more", least=0.0)
        )

    def onset(self, load: str, *, terminal: bool = False) -> ContactEvent:
        """An event for `simulate`: the moment in which the first surfaces of a contact touch."""
        return ContactEvent(self, load, -1.0, terminal)

    def release(self, load: str, *, terminal: bool = False) -> ContactEvent:
        """An event for `simulate`: the moment in which the last surfaces of a contact part."""
        return ContactEvent(self, load, 1.0, terminal)

    def tendon_lengths(self, q: ArrayLike) -> dict[str, float]:
        """Length of each tendon inside its rods [m], by name."""
        lengths = zip(self.description.actuators.items(), self.engine.tendon_lengths(self.coordinates(q)), strict=True)
        return {name: float(length) for (name, actuator), length in lengths if isinstance(actuator, Tendon)}

    def loop_gaps(self, q: ArrayLike) -> dict[str, tuple[float, float]]:
        """How far each loop is open: a distance [m] and an angle [rad], in the directions that its joint forbids."""
        return self.engine.gaps(self.coordinates(q))

    def loop_rows(self, q: ArrayLike, qd: ArrayLike | None = None) -> LoopRows:
        """Errors of all loops, their rates, and the constraint matrix A, rate = A qd (docs/theory.md, 9)."""
        rates, zero = np.zeros(self.ndof) if qd is None else self.coordinates(qd, "qd"), np.zeros(self.ndof)
        u = self.inputs(None)
        closure = self.engine.evaluate(task.RESIDUAL_DERIVATIVES, self.coordinates(q), rates, zero, u).closure
        return LoopRows(closure.value[ERROR], closure.value[RATE], closure.matrix[CONSTRAINT])

    def linearize(
        self,
        q: ArrayLike,
        u: ArrayLike | Mapping[str, float] | None = None,
        free: Sequence[int] | NDArray[np.int64] | None = None,
        *,
        stiffness: ArrayLike | None = None,
        qd: ArrayLike | Mapping[str, float] | None = None,
    ) -> Linearization:
        """Linearised motion about an equilibrium, or about a steady motion.

        Parameters
        ----------
        q : (ndof,) array_like
            An equilibrium, as from `sorosim.statics`; `Equilibrium.linearize` knows all that is to be given here.
        u : mapping or array_like
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
        InputError
            A wrong length, name or value; rates that tear loops open.
        ModelError
            Coordinates without inertia, or singular ones.

        Notes
        -----
        With loops the motion is that of independent displacements z along the closed states, dq = Z dz, and so are the
        matrices and their sizes. The stiffness is Z^T K Z, K that of the tree under the multipliers of the equilibrium
        (docs/theory.md, 9): where forces balance, the curvature of the closed states adds nothing else.
        """
        position, inputs = self.coordinates(q), self.inputs(u)
        rates, turning = self._steady_rates(qd)
        rows = np.flatnonzero(~turning) if free is None else indices("free", free, self.ndof)
        out, multiplier = self._balanced(position, rates, inputs, rows)
        Z = np.eye(self.ndof)[:, rows]
        if self.engine.closed.m:
            Z = Z @ scipy.linalg.null_space(out.closure.matrix[CONSTRAINT][:, rows], rcond=DEPENDENT)
        mass = Z.T @ out.mass @ Z
        self._check_inertia(position, rows, mass)
        K = out.dq
        if stiffness is not None:
            n = len(rows)
            if np.shape(stiffness) != (n, n):
                raise InputError("stiffness", f"a matrix ({n}, {n})", f"an array of shape {np.shape(stiffness)}")
            K = np.zeros_like(out.dq)
            K[np.ix_(rows, rows)] = columns("stiffness", stiffness, n)
        else:
            self._check_balance(out, position, rates, inputs, rows, Z)
        if not all(np.isfinite(X).all() for X in (mass, out.dqd, K, out.B)):
            raise ModelError("linearize", "a state at which all forces have derivatives", "one where some are infinite")
        if self.engine.closed.m:
            names = tuple(f"z[{i}]" for i in range(Z.shape[1]))
        else:
            names = tuple(self.coordinate_names[i] for i in rows)
        return Linearization(
            mass, Z.T @ out.dqd @ Z, Z.T @ K @ Z, Z.T @ out.B, Z, position, rates, inputs, multiplier, rows, names, self
        )

    def _steady_rates(self, qd: ArrayLike | Mapping[str, float] | None) -> tuple[Array, NDArray[np.bool_]]:
        """Rates (ndof,), and which coordinates have one, be it zero."""
        if not isinstance(qd, Mapping):
            rates = np.zeros(self.ndof) if qd is None else self.coordinates(qd, "qd")
            return rates, rates != 0.0
        rates, turning = np.zeros(self.ndof), np.zeros(self.ndof, dtype=np.bool_)
        for name, rate in qd.items():
            index = self.engine.layout.coordinate(name, "qd")
            rates[index], turning[index] = number(f"qd.{name}", rate), True
        return rates, turning

    def _balanced(self, q: Array, qd: Array, u: Array, rows: NDArray[np.int64]) -> tuple[Evaluation, Array]:
        """Residual without accelerations, under the multipliers that balance it best in `rows`, and its derivatives."""
        zero = np.zeros(self.ndof)
        out = self.engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, zero, u)
        if not self.engine.closed.m:
            return out, np.zeros(0)
        A = out.closure.matrix[CONSTRAINT][:, rows]
        if (np.abs(self.engine.loops.size * out.closure.value[RATE]) > TEARS * np.abs(qd).max(initial=0.0)).any():
            got = f"up to {np.abs(out.closure.value[RATE]).max():.3g} m/s or rad/s"
            raise InputError("qd", "rates that keep the loops closed", got)
        multiplier = scipy.linalg.lstsq(A.T, out.tau[rows], cond=DEPENDENT)[0]
        return self.engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, zero, u, multiplier=multiplier), multiplier

    def _check_balance(
        self, out: Evaluation, q: Array, qd: Array, u: Array, rows: NDArray[np.int64], Z: Array
    ) -> None:  # fmt: skip
        """Warn where forces do not balance, or do not go on to in a steady motion."""
        if not len(rows):
            return
        inverse = self.engine.evaluate(task.INVERSE, q, qd, np.zeros(self.ndof), u)
        size = max(float(np.abs(part.tau).max()) for part in (inverse, self.engine.internal(q, qd, u)))
        least = OFF_BALANCE * size + NEGLIGIBLE * float(np.abs(out.dq).max())
        left = np.abs(out.tau[rows])
        if left.max() > least:
            worst, force = self.coordinate_names[rows[int(np.argmax(left))]], f"{left.max():.3g} is left of {size:.3g}"
            what, finds = ("steady motion", "steady finds") if qd.any() else ("equilibrium", "statics finds")
            message = f"linearize: q is no {what}, at '{worst}' a force of {force}; sorosim.{finds} one"
            warnings.warn(message, SorosimWarning, stacklevel=4)
        elif qd.any():
            # a radian, or a metre, further on
            later = self._balanced(q + qd / np.abs(qd).max(), qd, u, rows)[0]
            w = float(np.abs(qd).max())
            # all as stiffnesses
            weights = {"dq": 1.0, "dqd": w, "mass": w * w}
            pairs = [(f * Z.T @ getattr(out, x) @ Z, f * Z.T @ getattr(later, x) @ Z) for x, f in weights.items()]
            change = max(float(np.abs(b - a).max(initial=0.0)) for a, b in pairs)
            whole = max(float(np.abs(a).max(initial=0.0)) for a, _ in pairs)
            if change > CHANGES * whole or np.abs(later.tau[rows]).max() > least:
                message = "linearize: the motion is not steady, what acts on the robot changes as it turns on; "
                message += "frequencies hold for this moment only (is there gravity across the axis?)"
                warnings.warn(message, SorosimWarning, stacklevel=4)

    def _check_inertia(self, q: Array, rows: NDArray[np.int64], mass: Array) -> None:
        """Refuse a mass matrix of the coordinates in rows, or of motions with loops closed, that is singular."""
        layout, held = self.engine.layout, np.ones(self.ndof, dtype=np.bool_)
        held[rows] = False
        if link := Turns(layout, held, changeable=True).singular(q, AT_TURN):
            own = slice(layout.links[link].column, layout.links[link].column + layout.links[link].n_joint)
            first = next(name for name, fixed in zip(self.coordinate_names[own], held[own], strict=True) if not fixed)
            hint = "the same pose has other coordinates, without the turn"
            raise ModelError(first, "coordinates that are not singular", "a rotation by a whole turn", hint)
        factor, failed = dpotrf(mass)
        if len(mass) < len(rows):  # closed loops may well move what moves no mass by itself
            if failed:
                raise ModelError(self.description.name, "a mass matrix that is positive definite", "a singular one")
            return
        if failed or (np.diag(factor) ** 2 <= CLEAR * np.diag(mass)).any():  # names the coordinate, or finds it good
            zero, none = np.zeros(self.ndof), self.inputs(None)
            self.engine.inertial.evaluate(task.FORWARD, q, zero, zero.copy(), none, known=held)
        if failed:  # whatever the other factor has made of its rounding
            raise self.engine.idle_error(int(rows[failed - 1]))


# gaps beyond this need not be known to find onsets [m]
NEARBY = 0.01
# and what stands for a gap of zero [m]
JUST_APART = 1e-300


class ContactEvent:
    """The smallest gap of a contact along a motion, whose zeros are events; see `Robot.onset`."""

    def __init__(self, robot: Dynamics, load: str, direction: float, terminal: bool) -> None:
        known = [name for name, law in robot.engine.loading.compiled.items() if law.contacts]
        if load not in known:
            raise InputError("load", "the name of a contact", f"'{load}'", nearest(str(load), known))
        self.robot, self.load, self.direction, self.terminal = robot, load, direction, terminal

    def __call__(self, t: float, q: ArrayLike, qd: ArrayLike) -> float:
        """Gap [m]; surfaces that just touch are still apart, or starting so would be an event."""
        return self.robot.contact_gaps(q, NEARBY)[self.load] or JUST_APART
