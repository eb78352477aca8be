"""IDA of SUNDIALS, through scikit-sundae: differential-algebraic equations F(t, y, dy/dt) = 0 with states x = y[:n]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sksundae.ida import IDA

from sorosim.solvers.base import Array, OdeProblem, OdeSolution
from sorosim.solvers.cvode import OutputStepper

# multipliers are left out of the error test by a tolerance this large: they are no measure of errors of the states
UNTESTED = 1e10


class Dae(NamedTuple):
    """F(t, y, dy/dt) = 0, y = [x; multipliers]."""

    residual: Callable[[float, Array, Array], Array]
    jacobian: Callable[[float, Array, Array, float], Array]  # dF/dy + c dF/d(dy/dt)
    y0: Array
    yd0: Array  # consistent
    algebraic: NDArray[np.int64]  # entries of y whose rate does not occur


def integrate(problem: OdeProblem, dae: Dae) -> OdeSolution:
    """Integrate with the BDF method of IDA and a dense direct linear solver; of `problem` the rates are not used."""
    n, stepper, options = len(problem.x0), OutputStepper(problem, "ida"), dict[str, Any]()

    def residual(t: float, y: Array, yd: Array, out: Array) -> None:
        stepper.count_rhs(t)
        out[:] = dae.residual(t, y, yd)

    if problem.jacobian is not None:

        def jacobian(t: float, y: Array, yd: Array, res: Array, c: float, out: Array) -> None:
            stepper.n_jacobian += 1
            out[:] = dae.jacobian(t, y, yd, c)

        options["jacfn"] = jacobian
    if stepper.n_events:

        def events(t: float, y: Array, yd: Array, out: Array) -> None:
            stepper.event_values(t, y, out)

        options |= stepper.event_options(events)
    atol = np.full(len(dae.y0), UNTESTED)
    atol[:n] = problem.atol
    return stepper.run(IDA, residual, (dae.y0, dae.yd0), atol=atol, algebraic_idx=dae.algebraic, **options)
