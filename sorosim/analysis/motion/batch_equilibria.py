"""Equilibria of the members of a batch: by compiled code where it may, by `statics` where it has to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

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
    _driven: dict[str, float] = field(repr=False)
    _messages: dict[int, str] = field(repr=False)

    def equilibrium(self, member: int) -> Equilibrium:
        """All that `statics` tells of the equilibrium of a member: its stability, forces and tangent stiffness."""
        (i,) = indices("member", [member], len(self.q)).tolist()
        if i in self.failures:
            raise self.failures[i]
        return statics(self._robots[i], self.u[i], driven=self._driven, q0=self.q[i])

    @cached_property
    def lam(self) -> Array:
        """Multipliers (n, n_multipliers) of loops, the smallest with the same forces."""
        out = self._lam.copy()
        for i in np.flatnonzero(np.isfinite(self.q).all(axis=1)).tolist() if out.size else ():
            out[i] = StaticSystem(self._robots[i], self.u[i], self._driven).smallest(self.q[i], out[i])
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
    """Where members of a batch were at rest last, to go on from there.

    Parameters
    ----------
    robot : Robot
        Whose equilibrium without inputs is the first of all.
    steps : sequence of DiscreteSteps
        Of each member.
    """

    def __init__(self, robot: Robot, steps: Sequence[DiscreteSteps]) -> None:
        first, engine, n = steps[0], robot.engine, len(steps)
        self.robot = robot
        values = map(float, first.system.driven.jets(0.0)[:, 0])
        self.driven = dict(zip(first.driven_names, values, strict=True))
        self.q, self.lam = np.full((n, robot.ndof), np.nan), np.zeros((n, robot.n_multipliers))
        self.u = np.zeros((n, engine.n_actuators))
        # surfaces must not pass through each other, large systems are solved along the tree
        special = engine.loading.touches or engine.is_large or first.system.n_strains
        self.is_compiled = not (first.in_python or special)

    @cached_property
    def first(self) -> Equilibrium | None:
        """That without inputs, if there is one."""
        try:
            return statics(self.robot, np.zeros(self.u.shape[1]), driven=self.driven)
        except ConvergenceError:
            return None

    def go(self, u: Array, steps: Sequence[DiscreteSteps], queue: MemberQueue | None) -> BatchEquilibria:
        """Equilibria under inputs (n, n_actuators)."""
        q, lam, before, n = self.q.copy(), self.lam.copy(), self.u.copy(), len(u)
        residue, messages, failures = np.full(n, np.nan), dict[int, str](), dict[int, ConvergenceError]()
        robots = tuple(one.robot for one in steps)
        new, changed = np.isnan(q).any(axis=1), np.array([one is not self.robot for one in robots])
        if new.any() and self.first is not None:
            q[new], lam[new], before[new] = self.first.q, self.first.lam, 0.0
        left = np.ones(n, dtype=bool)
        if queue is not None and self.is_compiled:
            chosen = np.flatnonzero(np.isfinite(q).all(axis=1))
            begin = (new & changed).astype(np.int64)
            arguments = begin, self._rank, q, lam, before, u, residue
            code = queue.run(equilibrate_members, chosen, n, lambda _: (), *arguments)
            left[chosen] = code[chosen] != codes.FINISHED
            if (charts := steps[0].system.charts).joints:
                left |= charts.largest_angles(q) > np.pi
        for i in np.flatnonzero(left).tolist():
            try:
                found = self._search(robots[i], u[i], q[i], before[i], bool(new[i]))
            except ConvergenceError as error:
                failures[i], q[i], lam[i], residue[i] = error, np.nan, np.nan, np.nan
                continue
            q[i], lam[i], residue[i], messages[i] = found.q, found.lam, found.residual_norm, found.message
        self.q, self.lam, self.u = q, lam, u
        rows = q.copy(), u.copy(), residue
        return BatchEquilibria(*rows, np.flatnonzero(left), failures, lam.copy(), robots, self.driven, messages)

    @cached_property
    def _rank(self) -> int:
        """How many conditions of the loops are independent in the first equilibrium."""
        if self.first is None or not self.robot.n_multipliers:
            return 0
        return StaticSystem(self.robot, self.first.u, self.driven).independent(self.first.q).rank

    def _search(self, robot: Robot, u: Array, q: Array, before: Array, new: bool) -> Equilibrium:
        """The equilibrium of a member to which the curve of equilibria leads from inputs before; of a new one, any."""
        if new:
            return statics(robot, u, driven=self.driven)
        begin = statics(robot, before, driven=self.driven, q0=q)
        return statics(robot, u, driven=self.driven, q0=begin)
