"""Newton's matrices of integrators of rates, of large robots without loops, in O(n) (docs/theory.md, 17)."""

from __future__ import annotations

import threading

import numpy as np

from sorosim.arrays import Array
from sorosim.dynamics.coupled_tangent import CoupledTangent
from sorosim.equations.system import OdeSystem
from sorosim.errors import ModelError
from sorosim.kernels import evaluate as task
from sorosim.kernels.evaluate import State
from sorosim.kernels.products import N_NODE, residual_product
from sorosim.kernels.tangent import mass_product


class ImplicitRates:
    """I - c J, J the derivative of the rates of a system in the state that was linearised last.

    Of the rows of (I - c J) (dq, dqd) = (r, s) the first give dq = r + c dqd, the others

        (R_q + R_qd/c + M/c^2) dqd = (M s - c R_q r)/c^2
    """

    def __init__(self, system: OdeSystem) -> None:
        self.system = system
        # a workspace of its own: rates are evaluated between
        self._engine = system.robot.engine.replace(_local=threading.local())
        self._tangent, self._c = CoupledTangent(self._engine), 0.0
        self._node = np.zeros((len(self._engine.tree.segment) + 1, N_NODE))
        self._tangent_node = np.zeros_like(self._tangent.tangent.node)

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
            out = self._engine.evaluate(task.LINEARISE_CLOSED, q, qd, qdd, u, t)
        except ModelError:
            return
        self._closure, self._moving = out.closure, bool(qd.any() or qdd.any())
        self._state = State(q, qd, u, self._engine.gravity, self.system.partition.mask, np.zeros(3))

    def factor(self, c: float) -> bool:
        """Factor I - c J; whether it is regular."""
        self._c = c
        return self._tangent.factor(
            self._engine.external, self._closure, self.system.partition.mask, 1.0 / c, 1.0 / c**2, moving=self._moving
        )

    def solve(self, right: Array) -> Array:
        """(I - c J)^-1 right (2 n,) by the last factors."""
        engine, free, c = self._engine, self.system.partition.free, self._c
        r, s = np.zeros((2, engine.ndof))
        r[free], s[free] = right.reshape(2, -1)
        x, change = np.empty(engine.ndof), np.empty(engine.ndof)
        product = engine.tree, engine.workspace, s, self._tangent_node, x
        engine.prepared(mass_product, product)(*product)
        still, none = np.zeros(engine.ndof), np.zeros(engine.n_actuators)
        of_residual = (
            engine.system, self._state, engine.external, self._moving, r, still, none, engine.workspace, self._node,
            change,
        )  # fmt: skip
        engine.prepared(residual_product, of_residual)(*of_residual)
        x -= c * change
        x[self.system.partition.driven] = 0.0
        self._tangent.solve(x)
        rates = x[free] / c**2
        return np.concatenate([right[: len(free)] + c * rates, rates])
