"""Equilibria of the members of a batch: by compiled code where it may, by `statics` where it has to be."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sorosim.analysis.equations.callbacks import extent_of
from sorosim.analysis.equations.plausibility import implausible_states
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.discrete_steps import DiscreteSteps
from sorosim.analysis.motion.members import MemberQueue
from sorosim.analysis.results.result import Equilibrium
from sorosim.base.arrays import Array, IntArray
from sorosim.base.errors import ConvergenceError
from sorosim.base.public import public
from sorosim.base.validation import indices
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels.equilibria import equilibrate_members
from sorosim.mechanics.robot import Robot


@public
@dataclass(frozen=True, eq=False)
class BatchEquilibria:
    """Equilibria of a batch; made by `Batch.statics`.

    Attributes
    ----------
    q : (n, ndof) ndarray
        Coordinates; NaN of members without an equilibrium.
    u : (n, n_actuators) ndarray
        Inputs.
    residual_norm : (n,) ndarray
        The largest force that is left.
    searched : (k,) ndarray of int
        Members for which `statics` searched: stability was not shown otherwise, or the curve of equilibria bends.
    failures : dict
        Member -> the `ConvergenceError` of `statics`.
    """

    q: Array
    u: Array
    residual_norm: Array
    searched: IntArray
    failures: dict[int, ConvergenceError]
    _lam: Array = field(repr=False)
    _robots: tuple[Robot, ...] = field(repr=False)
    _driven: tuple[dict[str, float], ...] = field(repr=False)
    _messages: dict[int, str] = field(repr=False)

    def equilibrium(self, member: int) -> Equilibrium:
        """All that `statics` tells of the equilibrium of a member: its stability, forces and tangent stiffness."""
        (i,) = indices("member", [member], len(self.q)).tolist()
        if i in self.failures:
            raise self.failures[i]
        return statics(self._robots[i], self.u[i], driven=self._driven[i], q0=self.q[i])

    @cached_property
    def lam(self) -> Array:
        """Multipliers (n, n_multipliers) of loops, the smallest with the same forces."""
        out = self._lam.copy()
        for i in np.flatnonzero(np.isfinite(self.q).all(axis=1)).tolist() if out.size else ():
            out[i] = StaticSystem(self._robots[i], self.u[i], self._driven[i]).smallest(self.q[i], out[i])
        return out

    @cached_property
    def messages(self) -> dict[int, str]:
        """What is to be said of members: what the search for them says, and what is implausible in their states."""
        found = dict(self._messages)
        for i in np.flatnonzero(np.isfinite(self.q).all(axis=1)).tolist():
            if i not in found and (lines := implausible_states(self._robots[i], self.q[i : i + 1], self.u[i : i + 1])):
                found[i] = "; ".join(lines)
        return found


class Rest:
    """Where n members of a batch were at rest last, to go on from there; arrays are not changed in place.

    robot : whose equilibrium without inputs is the first of all.
    """

    def __init__(self, robot: Robot, n: int) -> None:
        self.robot = robot
        self.q, self.lam = np.full((n, robot.ndof), np.nan), np.zeros((n, robot.n_multipliers))
        self.u = np.zeros((n, robot.engine.n_actuators))
        self.first: _First | None = None  # found when it is needed
        # surfaces must not pass through each other, large systems are solved along the tree
        self.is_compiled = not (robot.engine.loading.touches or robot.engine.is_large)

    def without(self, i: int) -> Rest:
        """The same, but for a member that begins anew."""
        out = copy.copy(self)
        out.q = self.q.copy()
        out.q[i] = np.nan
        return out

    def go(self, u: Array, queue: MemberQueue, compiled: bool) -> tuple[BatchEquilibria, Rest]:
        """Equilibria under inputs (n, n_actuators), and where members are then."""
        n, steps, out = len(u), queue.steps, copy.copy(self)
        out.q, out.lam, before = self.q.copy(), self.lam.copy(), self.u.copy()
        residue, messages, failures = np.full(n, np.nan), dict[int, str](), dict[int, ConvergenceError]()
        driven_by = {id(one): _driven(one) for one in steps}
        robots, driven = tuple(one.robot for one in steps), tuple(driven_by[id(one)] for one in steps)
        new, left, known = np.isnan(out.q).any(axis=1), np.ones(n, dtype=bool), steps[0].system.partition.driven
        if compiled and self.is_compiled and not steps[0].system.n_strains:
            out.first = first = self.first or _First(self.robot, driven[0])
            if first.equilibrium is not None:
                out.q[new], out.lam[new], before[new] = first.equilibrium.q, first.equilibrium.lam, 0.0
                out.q[:, known] = [list(one.values()) for one in driven]
            changed = np.array([robots[i] is not self.robot or driven[i] != first.driven for i in range(n)])
            chosen = np.flatnonzero(np.isfinite(out.q).all(axis=1))
            arguments = (new & changed).astype(np.int64), first.rank, first.extent, out.q, out.lam, before, u, residue
            ndof = self.robot.ndof
            code = queue.run(equilibrate_members, chosen, n, lambda _: (np.zeros(ndof),), *arguments)
            left[chosen] = code[chosen] != codes.FINISHED
            if (charts := steps[0].system.charts).joints:
                left |= charts.largest_angles(out.q) > np.pi
        for i in np.flatnonzero(left).tolist():
            try:
                found = _search(robots[i], u[i], driven[i], None if new[i] else self.q[i], before[i])
            except ConvergenceError as error:
                failures[i], out.q[i], out.lam[i], residue[i] = error, np.nan, np.nan, np.nan
                continue
            out.q[i], out.lam[i], residue[i], messages[i] = found.q, found.lam, found.residual_norm, found.message
        out.u = u
        rows = out.q.copy(), u.copy(), residue
        return BatchEquilibria(*rows, np.flatnonzero(left), failures, out.lam.copy(), robots, driven, messages), out


class _First:
    """The equilibrium of a robot without inputs, if there is one, and what is known from it."""

    def __init__(self, robot: Robot, driven: dict[str, float]) -> None:
        self.driven, self.rank, u = driven, 0, np.zeros(robot.engine.n_actuators)
        self.equilibrium: Equilibrium | None = None
        with suppress(ConvergenceError):
            self.equilibrium = statics(robot, u, driven=driven)
        q = robot.initial_q if self.equilibrium is None else self.equilibrium.q
        self.extent = extent_of(robot, q)
        if robot.n_multipliers:  # how many conditions of the loops are independent
            self.rank = StaticSystem(robot, u, driven).independent(q).rank


def _driven(steps: DiscreteSteps) -> dict[str, float]:
    """Where coordinates are driven to at t = 0."""
    return dict(zip(steps.driven_names, map(float, steps.system.driven.jets(0.0)[:, 0]), strict=True))


def _search(robot: Robot, u: Array, driven: dict[str, float], q: Array | None, before: Array) -> Equilibrium:
    """The equilibrium to which the curve of equilibria leads from a state at rest; None: from that of the file."""
    if q is None:
        return statics(robot, u, driven=driven)
    return statics(robot, u, driven=driven, q0=statics(robot, before, driven=driven, q0=q))
