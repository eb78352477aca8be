"""Linear systems of implicit steps of large robots whose distant parts are coupled (docs/theory.md, 17)."""

from __future__ import annotations

import numpy as np

from sorosim.base.arrays import Array, IntArray
from sorosim.base.compiled import Callback
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.kernels import newmark as m
from sorosim.mechanics.kernels.evaluate import State, linearise
from sorosim.mechanics.kernels.march import March, Model


class SparseSteps:
    """What compiled steps ask Python for: factors and solutions of their linear systems."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.tangent = engine, LinearisedTree(engine)
        # of inertia, for rates; made where loops want it
        self.inertia = LinearisedTree(engine) if len(engine.loops.row) else self.tangent
        self.callback = Callback(self._answer)
        self.model: Model
        self.march: March

    def start(self, model: Model, march: March) -> None:
        """The records of an integration; solvers are asked for by `march` from now on."""
        self.model, self.march = model, march
        march.solver[0] = self.callback.address

    def choose_rows(self, independent: IntArray) -> None:
        """Numbers of independent rows of loops; the multipliers of the others are zero."""
        for tangent in (self.tangent, self.inertia):
            tangent.compliance[:] = np.inf
            tangent.compliance[independent] = 0.0
        self.march.counts["rank"] = self.march.counts["most_rank"] = len(independent)

    def _answer(self, what: int) -> bool:
        march, number = self.march, self.march.number
        if what == m.SOLVE_FACTORS:
            return self._factor()
        if what == m.ERRORS_ALONG:
            march.multiplier.right[:] = self.tangent.errors_along(march.tangent.node)
        elif what == m.CHANGE_RATES:
            return self._scale_drift((number["step"] / number["last_step"]) ** 2, march.begin, march.state.qdd)
        elif what == m.PROJECT_RATES:
            return self._scale_drift(0.0, march.end, march.state.qdd_new)
        else:
            x = march.state.correction if what == m.SOLVE_CORRECTION else march.state.work
            self.tangent.solve(x, march.multiplier.right, march.multiplier.step)
            march.multiplier.step[:] /= number["factored_ratio"]
        return True

    def _factor(self) -> bool:
        """Factors of the step, from what was evaluated last."""
        march = self.march
        b = march.number["b"]
        moving = bool(march.end.qd.any() or march.out.qdd.any())
        self.tangent.take(march.end, march.external, march.out.closure, moving)
        return self.tangent.factor(b[1] / b[0], b[2] / b[0])

    def _scale_drift(self, part: float, state: State, qdd: Array) -> bool:
        """As `kernels.newmark.scale_drift`."""
        march, ws = self.march, self.engine.workspace
        out = march.out._replace(qdd=qdd, tau=np.empty(len(qdd)))
        arguments = self.model.system, state, True, march.external, ws, out
        self.engine.prepared(linearise, arguments)(*arguments)
        self.inertia.take(state, march.external, out.closure, False)
        if not self.inertia.factor(0.0, 1.0, inertia=True):
            return False
        x, error = np.zeros(len(qdd)), (part - 1.0) * out.closure.rate
        self.inertia.solve(x, error, np.empty(len(error)))
        state.qd[~self.model.known] += x[~self.model.known]
        return True
