"""Newton's matrices of integrators of rates, of large robots without loops, in O(n) (docs/theory.md, 17)."""

from __future__ import annotations

import threading

import numpy as np

from sorosim.analysis.equations.system import OdeSystem
from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree
from sorosim.mechanics.engine import tasks as task


class ImplicitRates:
    """I - c J, J the derivative of the rates of a system in the state that was linearised last.

    Of the rows of (I - c J) (dq, dqd) = (r, s) the first give dq = r + c dqd, the others

        (R_q + R_qd/c + M/c^2) dqd = (M s - c R_q r)/c^2
    """

    def __init__(self, system: OdeSystem) -> None:
        self.system, self._c = system, 0.0
        # a workspace of its own: rates are evaluated between
        self._tree = LinearisedTree(system.robot.engine.replace(_local=threading.local()))

    @staticmethod
    def suits(system: OdeSystem) -> bool:
        """Whether a system is large, without internal strains, and no loops or tendons of given length couple it."""
        engine = system.robot.engine
        return engine.is_large and not (len(engine.loops.row) or engine.has_length_inputs or system.n_strains)

    def linearise(self, t: float, x: Array) -> None:
        """J is that of this state from now on; of one without rates it stays that of the last."""
        q, qd, qdd, strain = self.system.coordinates(t, x)
        try:
            self.system.forward(task.FORWARD, t, q, qd, qdd, strain)
            u = np.array(self.system.inputs.value(t), dtype=float)
            self._tree.linearise(q, qd, qdd, u, t, self.system.partition.mask)
        except ModelError:
            return

    def factor(self, c: float) -> bool:
        """Factor I - c J; whether it is regular."""
        self._c = c
        return self._tree.factor(1.0 / c, 1.0 / c**2)

    def solve(self, right: Array) -> Array:
        """(I - c J)^-1 right (2 n,) by the last factors."""
        engine, free, c = self._tree.engine, self.system.partition.free, self._c
        r, s = np.zeros((2, engine.ndof))
        r[free], s[free] = right.reshape(2, -1)
        x = self._tree.mass_product(s) - c * self._tree.apply(r, engine.zero_rates, np.zeros(engine.n_actuators))
        x[self.system.partition.driven] = 0.0
        self._tree.solve(x)
        rates = x[free] / c**2
        return np.concatenate([right[: len(free)] + c * rates, rates])
