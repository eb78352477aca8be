"""Checks of contacts before a robot moves: penetration, and the range of suitable stiffness."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from sorosim.analysis.equations.system import elastic_weight, mass_weight
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ModelError
from sorosim.mechanics.dynamics.inertia import mass_matrix
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.loads.contact import BoundContact
from sorosim.mechanics.loads.contact_law import SHARE
from sorosim.mechanics.robot import Robot

# a contact is called hard where it is so many times stiffer than the robot is at the place
HARD = 10.0
# stiffness over the necessary one, above which it is a mistake
NEEDLESS = 1e4
# surfaces whose middles are passed by this part pass through each other
PASSING = 0.75
# penetration above this part of half of the thickness of what touches is deep
DEEP = 0.25


class Stiffness(NamedTuple):
    """Range of suitable stiffness of a contact [N/m^p]."""

    given: float
    exponent: float
    least: float  # carries the weight, and is hard against the robot, at a penetration of `depth`
    most: float  # beyond, contacts are the stiffest part of the robot; infinite for rigid ones
    depth: float  # [m]
    weight: float  # [N]
    sinks: float  # penetration of one contact under the weight [m]


def contacts_of(robot: Robot) -> dict[str, BoundContact]:
    """The contacts among the loads of a robot."""
    return {name: load for name, load in robot.engine.loading.loads.items() if isinstance(load, BoundContact)}


def thinnest(contact: BoundContact) -> float:
    """Half of the least thickness of the surfaces of a contact [m]; infinite if no surface has a thickness."""
    return min(skin.thickness for skin in contact.group.skins)


class Passage:
    """Whether surfaces of a robot pass through each other as it moves.

    Motions are followed in parts so short that no surface gets from one side of another to the other unseen: on the way
    the middles of both come closer than a quarter of their distance in contact.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot, contacts = robot, contacts_of(robot)
        self._distance = {
            name: distance for name, load in contacts.items() if np.isfinite(distance := load.group.least_distance)
        }
        nodes = [load.nodes for name, load in contacts.items() if name in self._distance]
        self._nodes = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *nodes]))
        self._unseen = (1.0 - PASSING) * min(self._distance.values(), default=np.inf)

    def __bool__(self) -> bool:
        """Whether any surfaces could."""
        return bool(self._distance)

    def happens(self, begin: Array, end: Array) -> bool:
        """Whether they do, or may do, on the straight way between two coordinates (ndof,)."""
        if not (np.isfinite(begin).all() and np.isfinite(end).all()):
            return True
        q, way, done, part = begin, end - begin, 0.0, 1.0
        here, target = self._places(begin), self._places(end)
        gap, inside = self._clearance(begin, _farthest(here, target))
        allowed = max(PASSING, inside)
        while gap < 2.0 * (left := _farthest(here, target)):
            # both sides may move
            longest, part = max(self._unseen, 0.5 * gap), min(part, 1.0 - done)
            if left <= longest:
                part = 1.0 - done
            q = begin + (done + part) * way
            while (moved := _farthest(here, there := self._places(q))) > longest:
                part *= max(0.8 * longest / moved, 0.1)
                q = begin + (done + part) * way
            here, done, part = there, done + part, 2.0 * part
            # what is farther than twice that matters later: few surfaces are near enough to be looked at
            gap, inside = self._clearance(q, min(left, 2.0 * longest))
            if inside > allowed:
                return True
            if done >= 1.0:
                break
        return False

    def _places(self, q: Array) -> Array:
        return self._robot.engine.poses(self._nodes, q, np.zeros_like(q))[0][:, :3, 3]

    def _clearance(self, q: Array, farthest: float) -> tuple[float, float]:
        """Smallest gap, up to what matters, and how far middles are passed; infinite where it is not known."""
        reach = 2.0 * farthest
        while True:
            try:
                return self._robot.engine.contact_clearance(q, reach, self._distance)
            except ModelError:  # too many contacts to evaluate
                if reach <= self._unseen:
                    return 0.0, np.inf
                reach *= 0.25


def _farthest(here: Array, there: Array) -> float:
    """How far the place (n, 3) moves that moves farthest [m]."""
    return float(np.linalg.norm(here - there, axis=1).max())


def deep_contacts(robot: Robot, q: Array) -> list[str]:
    """Contacts that are deep at coordinates q, in words, the deepest of each load."""
    if not robot.engine.loading.touches:
        return []
    contacts, known = robot.contacts(q), contacts_of(robot)
    words = []
    for name, contact in known.items():
        rows = np.flatnonzero(contacts.load == name)
        if not len(rows):
            continue
        worst = int(rows[np.argmin(contacts.gap[rows])])
        if -contacts.gap[worst] > DEEP * thinnest(contact):
            depth = 1e3 * -contacts.gap[worst]
            words.append(f"loads.{name}: {contacts.a[worst]} is {depth:.3g} mm inside {contacts.b[worst]}")
    return words


def estimate(robot: Robot, name: str, free: IntArray | None = None) -> Stiffness:
    """Range of suitable stiffness of a contact, from the weight and the stiffness of what touches.

    The force k d^p is to carry the weight at the depth d, a hundredth of the thickness of what touches, and p k d^(p-1)
    to be ten times the stiffness with which the robot yields at the median of its places. Above the most, the square of
    the frequency p k d^(p-1)/m of the lightest place, of the effective mass m, exceeds that of the stiffest motion.
    Coordinates that are not `free` (default: all are) are driven: they carry what hangs on them. Motions without
    inertia have no frequency.
    """
    contact = contacts_of(robot)[name]
    law, nodes = robot.description.loads[name].law, contact.nodes
    free = np.arange(robot.ndof) if free is None else free
    radius = thinnest(contact)
    depth = SHARE * 2.0 * (radius if np.isfinite(radius) else 0.01)
    q, p = robot.engine.elastic.rest.copy(), law.exponent
    mass = mass_matrix(robot.engine, q)
    weight = _touching_mass(robot, name, free) * (float(np.linalg.norm(robot.description.gravity)) or 9.81)
    _, _, J, _ = robot.engine.jacobians(nodes, q, np.zeros_like(q), False)
    U, V = elastic_weight(robot, q, free), mass_weight(robot, q, free)
    yields = [_largest(J[k, 3:, free].T, U) for k in range(len(nodes))]
    moves = [_largest(J[k, 3:, free].T, V) for k in range(len(nodes))]
    soft = float(np.median([1.0 / y for y in yields if y > 0.0] or [0.0]))
    K = -robot.engine.evaluate(
        task.INTERNAL_DERIVATIVES, q, np.zeros_like(q), np.zeros_like(q), robot.inputs(None)
    ).by_q
    K, mass = (0.5 * (X + X.T)[np.ix_(free, free)] for X in (K, mass))
    quickest = fastest(K, mass)
    lightest = 1.0 / max([m for m in moves if m > 0.0] or [np.inf])
    steep = p * depth ** (p - 1.0)
    least = max(weight / depth**p, HARD * soft / steep)
    most = lightest * quickest / steep if quickest > 0.0 else np.inf
    given = float(contact.group.law.stiffness)
    return Stiffness(given, p, least, most, depth, weight, float((weight / given) ** (1.0 / p)))


def needlessly_stiff(robot: Robot, free: IntArray) -> str:
    """The contact that is stiffest beyond any need, by a factor of 1e4 or more, in words; "" if none is."""
    estimates = [(name, estimate(robot, name, free)) for name in contacts_of(robot)]
    needs = [max(k.least, k.most if np.isfinite(k.most) else 0.0) for _, k in estimates]
    ratios = [k.given / need for (_, k), need in zip(estimates, needs, strict=True)]
    if not max(ratios, default=0.0) > NEEDLESS:
        return ""
    worst = int(np.argmax(ratios))
    (name, k), unit = estimates[worst], f"N/m^{estimates[worst][1].exponent:g}"
    return f"loads.{name}: stiffness {k.given:.2g} {unit} makes steps short, about {needs[worst]:.1g} {unit} is enough"


def _touching_mass(robot: Robot, name: str, free: IntArray) -> float:
    """Mass [kg] that a contact may have to carry: of its two sides the lighter one.

    That of a link is all that hangs together with it, behind the driven coordinates; what is held presses nothing.
    """
    masses = robot.engine.layout.connected_masses(set(map(int, free)))
    return float(robot.description.loads[name].lighter_mass(masses))


def fastest(K: Array, mass: Array) -> float:
    """The largest square of a frequency [1/s^2] of the motions that have inertia; 0 of none."""
    diagonal = np.diag(mass)
    d = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(d[:, None] * mass * d)
    some = values > len(mass) * np.finfo(float).eps * values.max(initial=0.0)  # the others are rounding
    Z = d[:, None] * vectors[:, some] / np.sqrt(values[some])
    return float(np.linalg.eigvalsh(Z.T @ K @ Z).max(initial=0.0))


def _largest(J: Array, U: Array) -> float:
    """Largest eigenvalue of J (U^T U)^-1 J^T."""
    X = scipy.linalg.solve_triangular(U, J.T, trans="T")
    return float(np.linalg.norm(X, 2) ** 2)


def total_mass(robot: Robot) -> float:
    """Mass of the robot, without added mass [kg]."""
    return float(robot.engine.gravitational_inertia[:, 3, 3].sum())
