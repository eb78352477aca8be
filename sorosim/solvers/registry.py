"""The methods of integration by name: integrators of `sorosim.registry`, and those that need the robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sorosim.errors import InputError, nearest
from sorosim.registry import INTEGRATORS
from sorosim.solvers.base import OdeProblem, OdeSolution, without_rate

# those that need the robot, not only a rate and its Jacobian, are in other modules
MARCHES = ("newmark", "generalized-alpha")
# those that use `OdeProblem.newton`
WITH_NEWTON = ("bdf", "cvode")


class _Methods(Sequence[str]):
    """Integrators that are known at the time, and others; entry points are looked for when a name is none of these."""

    def __init__(self, *others: str) -> None:
        self.others = others

    def __contains__(self, name: object) -> bool:
        return name in self[:] or name in INTEGRATORS

    def __getitem__(self, index: Any) -> Any:
        return (*INTEGRATORS, *self.others)[index]

    def __len__(self) -> int:
        return len(self[:])


INTEGRATED = _Methods()
METHODS = _Methods(*MARCHES, "ida")


def integrator(name: str) -> Callable[[OdeProblem], OdeSolution]:
    """The integrator of that name."""
    if name not in INTEGRATORS:
        raise InputError("method", "the name of an integrator", f"'{name}'", nearest(str(name), INTEGRATORS.names()))
    found = INTEGRATORS.get(name)

    def integrate(problem: OdeProblem) -> OdeSolution:
        # from a rate that is no number the libraries never come back
        with np.errstate(all="ignore"):
            fine = np.isfinite(problem.rhs(float(problem.t_out[0]), problem.x0)).all()
            solution: OdeSolution = found(problem) if fine else without_rate(problem)
            return solution

    return integrate
