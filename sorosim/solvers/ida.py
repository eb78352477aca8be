"""IDA of SUNDIALS, through scikit-sundae: differential-algebraic equations F(t, y, dy/dt) = 0 with states x = y[:n]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sksundae.ida import IDA

from sorosim.errors import InputError
from sorosim.solvers.base import Array, OdeProblem, OdeSolution, one_blas_thread
from sorosim.solvers.cvode import Counts, OutputStepper, event_options
from sorosim.solvers.printed_output import suppress_prints

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
    if problem.dense:
        raise InputError("dense", "method bdf, radau or lsoda for dense output", "ida", "or ask for a finer dt_out")
    n = len(problem.x0)
    counts = Counts()

    def residual(t: float, y: Array, yd: Array, out: Array) -> None:
        counts.rhs(t)
        out[:] = dae.residual(t, y, yd)

    def jacobian(t: float, y: Array, yd: Array, res: Array, c: float, out: Array) -> None:
        counts.n_jacobian += 1
        out[:] = dae.jacobian(t, y, yd, c)

    options: dict[str, Any] = {}
    options |= event_options(problem, stepper := OutputStepper(problem, counts, lambda t, result: result.y[:n]), n)
    if problem.jacobian is not None:
        options["jacfn"] = jacobian

    atol = np.full(len(dae.y0), UNTESTED)
    atol[:n] = problem.atol
    span = float(problem.t_out[-1] - problem.t_out[0])
    smallest = 1e-14 * span
    with one_blas_thread(), np.errstate(all="ignore"), suppress_prints():
        solver = IDA(
            residual, linsolver="dense", rtol=problem.rtol, atol=atol, min_step=smallest, algebraic_idx=dae.algebraic,
            max_step=max(min(problem.max_step, span), smallest), max_num_steps=problem.work.at_once, **options,
        )  # fmt: skip
        solver.init_step(float(problem.t_out[0]), dae.y0, dae.yd0)
        stepper.run(solver)
    return stepper.solution()
