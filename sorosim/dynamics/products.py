"""Products with the derivatives of forward dynamics in O(n) (docs/theory.md, 17); loops are left open."""

from __future__ import annotations

import threading

import numpy as np

from sorosim.arrays import Array, Mask
from sorosim.dynamics.articulation import Articulation
from sorosim.engine.engine import Engine
from sorosim.engine.records import ForwardDynamicsJvp, ForwardDynamicsVjp
from sorosim.kernels import evaluate as task
from sorosim.kernels.evaluate import State
from sorosim.kernels.products import N_NODE, residual_product, residual_product_transposed


class ForwardProducts:
    """Products with the derivatives of forward dynamics of the tree of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._local = threading.local()

    @property
    def _node(self) -> Array:
        """Scratch of this thread."""
        if not hasattr(self._local, "node"):
            self._local.node = np.zeros((len(self.engine.tree.segment) + 1, N_NODE))
        node: Array = self._local.node
        return node

    def _linearise(self, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask) -> tuple[State, Array, bool]:
        """Accelerations, and the workspace as the products need it; whether anything moves."""
        engine = self.engine
        qdd = engine.companion(Articulation).motion(q, qd, qdd, u, t, known).qdd
        engine.evaluate(task.LINEARISE, q, qd, qdd, u, t)
        state = State(q, qd, u, engine.gravity, known, np.zeros(3))
        return state, qdd, bool(qd.any() or qdd.any())

    def jvp(
        self, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask, dq: Array, dqd: Array, du: Array
    ) -> ForwardDynamicsJvp:
        """Accelerations, and how they change along (dq, dqd, du); both (ndof,)."""
        engine, change = self.engine, np.empty(len(q))
        state, qdd, moving = self._linearise(q, qd, qdd, u, t, known)
        arguments = (engine.system, state, engine.external, moving, dq, dqd, du, engine.workspace, self._node, change)
        engine.prepared(residual_product, arguments)(*arguments)
        return ForwardDynamicsJvp(qdd, engine.companion(Articulation).solve(known, -change[:, None])[:, 0])

    def vjp(
        self, q: Array, qd: Array, qdd: Array, u: Array, t: float, known: Mask, qdd_bar: Array
    ) -> ForwardDynamicsVjp:
        """Accelerations, and the transposed derivatives by q, qd and u times qdd_bar (ndof,)."""
        engine = self.engine
        state, qdd, moving = self._linearise(q, qd, qdd, u, t, known)
        w = engine.companion(Articulation).solve(known, -qdd_bar[:, None])[:, 0].copy()
        by_q, by_qd, by_u = np.empty(len(q)), np.empty(len(q)), np.empty(len(u))
        arguments = (
            engine.system, state, engine.external, moving, w, engine.workspace, self._node, by_q, by_qd, by_u
        )  # fmt: skip
        engine.prepared(residual_product_transposed, arguments)(*arguments)
        return ForwardDynamicsVjp(qdd, by_q, by_qd, by_u)
