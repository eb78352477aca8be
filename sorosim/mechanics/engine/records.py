"""What a robot answers, by name: kinematics, dynamics and their derivatives, energies."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array, IntArray


def force_name(name: str, unit: str) -> str:
    """What the generalised force is called that a driven coordinate needs: in summaries, sweeps, diagrams, tables."""
    return f"{'force' if unit == 'N' else 'moment'}({name})"


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


class ForwardDynamicsJvp(NamedTuple):
    """Forward dynamics, and its change along a direction."""

    qdd: Array  # (ndof,)
    dqdd: Array  # (ndof,)


class ForwardDynamicsVjp(NamedTuple):
    """Forward dynamics, and its transposed derivatives times a vector."""

    qdd: Array  # (ndof,)
    by_q: Array  # (ndof,)
    by_qd: Array  # (ndof,)
    by_u: Array  # (n_actuators,)


class Energy(NamedTuple):
    """Energy of a robot [J]; that of gravity is zero at the world's origin."""

    kinetic: float
    elastic: float
    gravity: float

    @property
    def total(self) -> float:
        """Sum of the three."""
        return self.kinetic + self.elastic + self.gravity


class HybridDynamics(NamedTuple):
    """Accelerations and forces of all coordinates, prescribed and computed ones."""

    qdd: Array  # (ndof,)
    tau: Array  # (ndof,)


class HybridDynamicsDerivatives(NamedTuple):
    """Hybrid dynamics and its derivatives; `given`: qdd where it is known, tau elsewhere."""

    qdd: Array  # (ndof,)
    tau: Array  # (ndof,)
    dqdd_dq: Array  # (ndof, ndof), and so are all that follow
    dqdd_dqd: Array
    dqdd_dgiven: Array
    dtau_dq: Array
    dtau_dqd: Array
    dtau_dgiven: Array


class LoopRows(NamedTuple):
    """Rows of all loops, one a multiplier."""

    error: Array  # (m,) [rad or m], zero where closed
    rate: Array  # (m,) its rate of change where closed, A qd
    A: Array  # (m, ndof) constraint matrix


class Contacts(NamedTuple):
    """Contacts of a robot at one moment, n of them; world frame."""

    load: NDArray[np.str_]  # (n,) names of the loads that they belong to
    a: NDArray[np.str_]  # (n,) what touches, such as "s = 0.3 of 'arm'"
    b: NDArray[np.str_]  # (n,) and what it touches
    position: Array  # (n, 3) [m]
    normal: Array  # (n, 3) from b to a
    gap: Array  # (n,) negative: penetration [m]
    force: Array  # (n, 3) on a, friction included [N]
    slip: Array  # (n, 3) velocity with which a slides on b [m/s]; in statics that which `sticking` resists
    normal_force: Array  # (n,) [N]

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.gap)

    def force_on(self, link: str) -> Array:
        """Sum (3,) of the forces of all contacts on a link, or on the "world" [N]."""
        name = "the world" if link == "world" else f"'{link}'"
        signs = [float(a.endswith(name)) - float(b.endswith(name)) for a, b in zip(self.a, self.b, strict=True)]
        return np.array(signs) @ self.force if signs else np.zeros(3)

    def on(self, link: str, other: str | None = None) -> tuple[Contacts, Array]:
        """Those of a link (or "world"), all or with another one, and their forces (n, 3) on it [N]."""
        a, b = (np.array([_owner(text) for text in side], dtype=object) for side in (self.a, self.b))
        first, second = (mine == link for mine in (a, b))
        if other is not None:
            first, second = first & (b == other), second & (a == other)
        sign = np.where(first, 1.0, -1.0) * (first != second)  # what touches itself presses on itself
        chosen = first | second
        return self.rows(chosen), (sign[:, None] * self.force)[chosen]

    def rows(self, chosen: NDArray[Any]) -> Contacts:
        """Some of them, by a mask or by their numbers."""
        return Contacts._make(values[np.arange(self.n)[chosen]] for values in self)

    def of(self, load: str) -> Contacts:
        """Those of a load, by its name; none where it touches nothing."""
        return self.rows(self.load == load)


def _owner(text: str) -> str:
    """Name of the link that touches, of its words."""
    return "world" if text.endswith("the world") else text.rpartition(" of ")[2].strip("'")


class ContactHistory(NamedTuple):
    """Contacts along a run."""

    row: IntArray  # (m,) row of the run that each belongs to
    contacts: Contacts  # m of them
    n_rows: int  # of the run

    def at(self, row: int) -> Contacts:
        """Those of one row of the run, from 0, or from its end if negative."""
        found = operator.index(row)
        if not -self.n_rows <= found < self.n_rows:
            raise IndexError(f"row {found} of a run that has {self.n_rows}")
        return self.contacts.rows(self.row == found % self.n_rows)

    def of(self, load: str) -> ContactHistory:
        """Those of a load, by its name; none where it touches nothing."""
        chosen = self.contacts.load == load
        return ContactHistory(self.row[chosen], self.contacts.rows(chosen), self.n_rows)

    @classmethod
    def collected(cls, found: Sequence[Contacts]) -> ContactHistory:
        """From the contacts of each row."""
        rows = np.repeat(np.arange(len(found)), [one.n for one in found]).astype(np.int64)
        names, three, one_each = np.zeros(0, dtype=str), np.zeros((0, 3)), np.zeros(0)
        empty = [names, names, names, three, three, one_each, three, three, one_each]
        values = (np.concatenate([none, *(one[part] for one in found)]) for part, none in enumerate(empty))
        return cls(rows, Contacts._make(values), len(found))
