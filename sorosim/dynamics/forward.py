"""Forward and hybrid dynamics of a robot, by several algorithms, and their derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from sorosim.dynamics.articulation import Articulation
from sorosim.dynamics.dynamics import Dynamics
from sorosim.dynamics.fixman import Fixman
from sorosim.engine.inputs import Motion, Partition, driven_motion
from sorosim.engine.records import ForwardDynamicsDerivatives, HybridDynamics, HybridDynamicsDerivatives
from sorosim.errors import InputError
from sorosim.kernels import evaluate as task
from sorosim.kernels.tree import BLOCK_N
from sorosim.validation import choice, columns, indices, number

Array = NDArray[np.float64]

# of forward dynamics, of its derivatives, of hybrid dynamics and its derivatives, of solving with the mass matrix
ALGORITHMS = ("composite", "articulated", "unit", "fixman")
DERIVATIVES = ("composite", "articulated", "inverse")
HYBRID = ("composite", "articulated")
SOLVERS = ("composite", "articulated", "fixman")
# the fastest of them by the number of coordinates plus that of joints and rods that have them, each from its own number
# on, as measured (docs/architecture.md): what is alone in its joint counts twice, it has a path of its own
FASTEST = {0: "composite", 72: "articulated"}
FASTEST_DERIVATIVES = {0: "composite", 120: "articulated"}
FASTEST_HYBRID = {0: "articulated"}


class ForwardDynamics(Dynamics):
    """Accelerations from forces."""

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float = 0.0,
        driven: Mapping[str, float] | None = None, *, algorithm: str | None = None,
    ) -> Array:  # fmt: skip
        """Accelerations (ndof,) of the whole system.

        Parameters
        ----------
        q, qd : (ndof,) array_like
            Coordinates and rates.
        u : mapping of actuator name to number, or array_like
            Inputs; missing ones are zero.
        t : float
            Time, for loads and driven motions [s].
        driven : mapping of link or coordinate name to float
            Accelerations of driven coordinates [rad/s^2 or m/s^2]. Default: those of the file's `simulate` block at
            time t; {}: none is driven.
        algorithm : {"composite", "articulated", "unit", "fixman"}, optional
            "composite": the mass matrix by composite bodies, and its Cholesky factor, O(n^2) to O(n^3); knows loops.
            "articulated": articulated bodies, rods as macro-joints, O(n). "unit": bias and mass matrix column by
            column from inverse dynamics, O(n^2) to O(n^3). "fixman": the bias by inverse dynamics and the extended
            Fixman method, O(n); rigid links only, see `solve_mass`. Default: the faster one of the first two.

        Raises
        ------
        InputError
            A vector of wrong length, or not finite; an unknown name.
        ModelError
            The mass matrix is singular: a coordinate moves no mass.
        """
        state, qdd, known = self._given(q, qd, t, driven)
        chosen = self._algorithm(algorithm, ALGORITHMS, FASTEST)
        inputs, time = self.inputs(u), self._time(t)
        if chosen == "articulated":
            return self._articulation.motion(*state, qdd, inputs, time, known).qdd
        if chosen == "unit":
            return self._from_unit_calls(state, qdd, inputs, time, known)
        if chosen == "fixman":
            bias = self.engine.evaluate(task.INVERSE, *state, qdd, inputs, time).tau
            force = self.engine.evaluate(task.INTERNAL, *state, qdd, inputs, time).tau
            return qdd + self._fixman.solve(state[0], known, (force - bias)[:, None])[:, 0]
        return self.engine.evaluate(task.FORWARD, *state, qdd, inputs, time, known=known).qdd

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, u: ArrayLike | Mapping[str, float] | None = None, t: float = 0.0,
        driven: Mapping[str, float] | None = None, *, algorithm: str | None = None,
    ) -> ForwardDynamicsDerivatives:  # fmt: skip
        """Accelerations and their derivatives by q, qd and u; see `forward_dynamics`. Rows of driven ones are zero.

        All are M^-1 times derivatives of forces. algorithm: "composite" has the Cholesky factor of M, and knows loops;
        "articulated" solves for every column in O(n); "inverse" finds M^-1 so and multiplies, which is nowhere the
        fastest. Default: one of the first two, by size.
        """
        state, qdd, known = self._given(q, qd, t, driven)
        chosen = self._algorithm(algorithm, DERIVATIVES, FASTEST_DERIVATIVES)
        inputs, time = self.inputs(u), self._time(t)
        if chosen == "composite":
            out = self.engine.evaluate(task.FORWARD_DERIVATIVES, *state, qdd, inputs, time, known=known)
            return ForwardDynamicsDerivatives(out.qdd, out.dq, out.dqd, out.B)
        articulation = self._articulation
        qdd = articulation.motion(*state, qdd, inputs, time, known).qdd
        out = self.engine.evaluate(task.RESIDUAL_DERIVATIVES, *state, qdd, inputs, time)
        if chosen == "articulated":
            articulation.solve_in_place(known, -1.0, out.dq, out.dqd)
            articulation.solve_in_place(known, 1.0, out.B)
            return ForwardDynamicsDerivatives(qdd, out.dq, out.dqd, out.B)
        n = self.ndof
        found = articulation.solve(known, np.eye(n)) @ np.hstack([-out.dq, -out.dqd, out.B])
        return ForwardDynamicsDerivatives(qdd, found[:, :n], found[:, n : 2 * n], found[:, 2 * n :])

    def _algorithm(
        self, asked: str | None, known: tuple[str, ...], fastest: Mapping[int, str], *, closes: bool = True
    ) -> str:
        """The one that was asked for, or else the fastest one; `closes`: whether loops are to stay closed."""
        looped = closes and len(self.engine.loops.row) > 0
        if asked is None:
            return "composite" if looped else fastest[max(n for n in fastest if n <= self._size)]
        chosen = choice("algorithm", asked, known)
        if chosen != "composite" and looped:
            raise InputError("algorithm", "composite: the others hold for trees", f"'{chosen}' for a robot with loops")
        return chosen

    @cached_property
    def _size(self) -> int:
        """Coordinates, and blocks that have some."""
        return self.ndof + int(np.count_nonzero(self.engine.tree.block[:, BLOCK_N]))

    def solve_mass(self, q: ArrayLike, b: ArrayLike, *, algorithm: str | None = None) -> Array:
        """M(q)^{-1} b, M the mass matrix of the tree: loops are left open, and nothing is driven.

        Parameters
        ----------
        q : (ndof,) array_like
            Coordinates.
        b : (ndof,) or (ndof, m) array_like
            Generalised forces, or columns of them; the unit matrix gives M^{-1}.
        algorithm : {"composite", "articulated", "fixman"}, optional
            "composite": the mass matrix by composite bodies, and its Cholesky factor, O(n^3) and O(n^2) a column.
            "articulated": articulated bodies, O(n) a column. "fixman": the extended Fixman method, O(n) a column, for
            rigid links; links without mass may stand between joints, but must not branch. Default: the faster one of
            the first two.

        Returns
        -------
        ndarray
            Of the shape of b.

        Raises
        ------
        InputError
            An array of a wrong shape, or not finite; a robot that the algorithm does not hold for.
        ModelError
            The mass matrix is singular: a coordinate moves no mass.

        Notes
        -----
        Source: docs/theory.md, 5.
        """
        position, right = self.coordinates(q), columns("b", b, self.ndof)
        chosen = self._algorithm(algorithm, SOLVERS, FASTEST, closes=False)
        if not right.size:
            return right
        B, rest, none = right.reshape(self.ndof, -1), np.zeros(self.ndof), self.engine.none_known
        if chosen == "fixman":
            found = self._fixman.solve(position, none, B)
        elif chosen == "articulated":
            articulation = self._articulation
            articulation.motion(position, rest, rest, self.inputs(None), 0.0, none)
            found = articulation.solve(none, B)
        else:
            M = self.mass_matrix(position)
            self._check_inertia(position, np.arange(self.ndof), M)
            found, _ = dpotrs(dpotrf(M)[0], B)
        return found.reshape(right.shape)

    @cached_property
    def _fixman(self) -> Fixman:
        return Fixman(self.engine)

    @cached_property
    def _articulation(self) -> Articulation:
        return Articulation(self.engine)

    def _from_unit_calls(
        self, state: tuple[Array, Array], qdd: Array, u: Array, t: float, known: NDArray[np.bool_]
    ) -> Array:
        """Accelerations by inverse dynamics alone: the bias ID(q, qd, qdd), where qdd is that of known coordinates."""
        out, free = np.where(known, qdd, 0.0), np.flatnonzero(~known)
        if not len(free):
            return out
        bias = self.engine.evaluate(task.INVERSE, *state, out, u, t).tau
        force = self.engine.evaluate(task.INTERNAL, *state, out, u, t).tau
        M = self._unit_columns(state[0], free)[free]
        self._check_inertia(state[0], free, M)
        out[free] = scipy.linalg.solve(M, (force - bias)[free], assume_a="pos")
        return out

    def _unit_columns(self, q: Array, columns: NDArray[np.int64]) -> Array:
        """Columns of the mass matrix: M e_i = ID(q, 0, e_i) without gravity and loads, so that nothing cancels."""
        evaluate, zero, none = self.engine.inertial.evaluate, np.zeros(self.ndof), self.inputs(None)
        return np.array([evaluate(task.INVERSE, q, zero, unit, none).tau for unit in np.eye(self.ndof)[columns]]).T

    def _given(
        self, q: ArrayLike, qd: ArrayLike, t: float, driven: Any
    ) -> tuple[tuple[Array, Array], Array, NDArray[np.bool_]]:
        """State, accelerations of driven coordinates, and which these are."""
        state, qdd = ((self.coordinates(q), self.coordinates(qd, "qd")), np.zeros(self.ndof))
        partition, time = self._driven[0], self._time(t)
        if driven is not None:
            if not isinstance(driven, Mapping):
                raise InputError("driven", "a mapping of names to accelerations", type(driven).__name__)
            partition = Partition.of(self.engine.layout, driven, self.description.actuators)
            qdd[partition.driven] = [number(f"driven.{name}", value) for name, value in driven.items()]
        elif partition.names:
            qdd[partition.driven] = self._driven[1].jets(time)[:, 2]
        return state, qdd, partition.mask

    @cached_property
    def _driven(self) -> tuple[Partition, Motion]:
        """What the description drives in simulations."""
        given = self.description.simulate.get("driven", {})
        return Partition.of(self.engine.layout, given, self.description.actuators), driven_motion(given)

    def hybrid_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, known: ArrayLike, t: float = 0.0,
        *, algorithm: str | None = None,
    ) -> HybridDynamics:  # fmt: skip
        """Dynamics where some accelerations are known and some forces.

        Inverse dynamics if all accelerations are known, M^-1 (tau - bias) if none is.

        Parameters
        ----------
        q, qd : (ndof,) array_like
            Coordinates and rates.
        qdd, tau : (ndof,) array_like
            Accelerations, read where they are known, and generalised forces as `inverse_dynamics` gives them (all there
            are: internal ones too), read elsewhere.
        known : sequence of int, or mask (ndof,)
            Coordinates whose acceleration is known.
        t : float
            Time, for loads that depend on it [s].
        algorithm : {"articulated", "composite"}, optional
            See `forward_dynamics`; loops are left open. Default: the first, which is the faster one at all sizes.

        Returns
        -------
        HybridDynamics
            qdd and tau of all coordinates.

        Raises
        ------
        InputError, ModelError
            As `forward_dynamics`.

        Notes
        -----
        Source: docs/theory.md, 6, last lines.
        """
        chosen = self._algorithm(algorithm, HYBRID, FASTEST_HYBRID, closes=False)
        state, mask, given, force = self._half_given(q, qd, qdd, tau, known)
        u, time = self.inputs(None), self._time(t)
        if chosen == "articulated":
            return self._articulation.motion(*state, given, u, time, mask, force)
        out = self.engine.evaluate(task.HYBRID, *state, given, u, time, known=mask, tau=force)
        return HybridDynamics(out.qdd, self.engine.evaluate(task.INVERSE, *state, out.qdd, u, time).tau)

    def hybrid_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, known: ArrayLike, t: float = 0.0,
        *, algorithm: str | None = None,
    ) -> HybridDynamicsDerivatives:  # fmt: skip
        """Hybrid dynamics and its derivatives by q, qd and what is given; see `hybrid_dynamics`."""
        chosen = self._algorithm(algorithm, HYBRID, FASTEST_HYBRID, closes=False)
        state, mask, given, force = self._half_given(q, qd, qdd, tau, known)
        u, time, articulation = self.inputs(None), self._time(t), self._articulation
        if chosen == "articulated":
            found = articulation.motion(*state, given, u, time, mask, force).qdd
        else:
            found = self.engine.evaluate(task.HYBRID, *state, given, u, time, known=mask, tau=force).qdd
        inverse = self.engine.evaluate(task.INVERSE_DERIVATIVES, *state, found, u, time)
        M, n, free = inverse.mass, self.ndof, np.flatnonzero(~mask)
        # M_ff dqdd_f = dtau_f - dID_f - M_fk dqdd_k
        right = np.hstack([-inverse.dq, -inverse.dqd, np.eye(n) * ~mask - M * mask])
        if chosen == "articulated":
            solved = articulation.solve(mask, right)
        else:
            solved = np.zeros_like(right)
            if len(free):
                solved[free] = scipy.linalg.solve(M[np.ix_(free, free)], right[free], assume_a="pos")
        solved[:, 2 * n :] += np.diag(mask.astype(float))
        forces = (np.hstack([inverse.dq, inverse.dqd, np.zeros((n, n))]) + M @ solved) * mask[:, None]
        forces[:, 2 * n :] += np.diag(~mask)
        by_q, by_qd, by_given = (solved[:, k * n : (k + 1) * n] for k in range(3))
        return HybridDynamicsDerivatives(
            found, inverse.tau, by_q, by_qd, by_given, *(forces[:, k * n : (k + 1) * n] for k in range(3))
        )

    def _half_given(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, known: ArrayLike
    ) -> tuple[tuple[Array, Array], NDArray[np.bool_], Array, Array]:
        """State, which accelerations are known, those, and forces of the others."""
        mask = np.zeros(self.ndof, dtype=np.bool_)
        mask[indices("known", known, self.ndof)] = True
        state = self.coordinates(q), self.coordinates(qd, "qd")
        qdd, tau = self.coordinates(qdd, "qdd"), self.coordinates(tau, "tau")
        return state, mask, np.where(mask, qdd, 0.0), np.where(mask, 0.0, tau)
