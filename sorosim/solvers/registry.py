"""The integrators by name; each library is imported when its first problem comes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from sorosim.errors import InputError, nearest
from sorosim.solvers.base import OdeProblem, OdeSolution, without_rate


def _of(module: str, *options: str) -> Callable[[OdeProblem], OdeSolution]:
    """The function `integrate` of a module here, with further arguments."""
    return lambda problem: import_module(f"sorosim.solvers.{module}").integrate(problem, *options)


# name -> integrator; a new one is one file and one line here
INTEGRATORS: dict[str, Callable[[OdeProblem], OdeSolution]] = {
    "bdf": _of("scipy_ivp", "BDF"),
    "radau": _of("scipy_ivp", "Radau"),
    "lsoda": _of("scipy_ivp", "LSODA"),
    "cvode": _of("sundials"),
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
