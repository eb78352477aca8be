"""The integrators by name; each library is imported when its first problem comes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sorosim.errors import InputError, nearest
from sorosim.solvers.base import OdeProblem, OdeSolution, without_rate


def _scipy(method: str) -> Callable[[OdeProblem], OdeSolution]:
    def integrate(problem: OdeProblem) -> OdeSolution:
        from sorosim.solvers.scipy_ivp import integrate as run

        return run(problem, method)

    return integrate


def _cvode(problem: OdeProblem) -> OdeSolution:
    from sorosim.solvers.cvode import integrate

    return integrate(problem)


# name -> integrator; a new one is one file and one line here
INTEGRATORS: dict[str, Callable[[OdeProblem], OdeSolution]] = {
    "bdf": _scipy("BDF"),
    "radau": _scipy("Radau"),
    "lsoda": _scipy("LSODA"),
    "cvode": _cvode,
}
# those that need the robot, not only a rate and its Jacobian, are in other modules
MARCHES = ("newmark", "generalized-alpha")
METHODS = (*INTEGRATORS, *MARCHES, "ida")


def integrator(name: str) -> Callable[[OdeProblem], OdeSolution]:
    """The integrator of that name."""
    if name not in INTEGRATORS:
        raise InputError("method", "the name of an integrator", f"'{name}'", nearest(str(name), INTEGRATORS))

    def integrate(problem: OdeProblem) -> OdeSolution:
        # from a rate that is no number the libraries never come back
        with np.errstate(all="ignore"):
            fine = np.isfinite(problem.rhs(float(problem.t_out[0]), problem.x0)).all()
            return INTEGRATORS[name](problem) if fine else without_rate(problem)

    return integrate
