"""Cases of closed chains, and of steps of our own."""

from __future__ import annotations

import numpy as np

from benchmarks.cases import Case, at_rest, fd_derivatives, motion, of_robot, within
from benchmarks.context import Context
from sorosim.analysis.results.result import Run

# figures of the paper with its analytic Jacobian [s]: derivatives; ten seconds by ode15s, by Newmark's method; statics
FIN_RAY = {"derivatives": 23.7e-3, "bdf": 994.0, "newmark": 69.0}
PARALLEL = {"derivatives": 5.1e-3, "bdf": 2.46, "newmark": 17.6, "statics": 9.0e-3}
MANIPULATOR_NEWMARK = 24.4


def _remark(_: Context, result: Run) -> str:
    drift = max((float(np.abs(gap).max()) for gap in result.drift.values()), default=0.0)
    loops = f"loops open by at most {drift:.1e} m or rad; " if result.drift else ""
    return f"{loops}{result.stats['n_rhs']} residuals or rates"


def motion_case(method: str, target: float | None, paper: float | None, step: float | None = None) -> Case:
    """Ten seconds by a method, with its steps fixed or chosen."""
    return Case(
        f"10 s run, {method}", motion(method, step=step), rounds=3,
        target=None if target is None else within(target, scaled=True), paper=paper, remark=_remark,
    )  # fmt: skip


LOOPS: tuple[Case, ...] = (
    motion_case("generalized-alpha", None, MANIPULATOR_NEWMARK),
    *of_robot(
        "fin_ray",
        fd_derivatives(within(0.8e-3, scaled=True), FIN_RAY["derivatives"]),
        motion_case("generalized-alpha", 6.0, FIN_RAY["newmark"], 0.01),
        motion_case("bdf", 60.0, FIN_RAY["bdf"]),
    ),
    *of_robot(
        "hybrid_parallel",
        fd_derivatives(within(0.35e-3, scaled=True), PARALLEL["derivatives"]),
        motion_case("generalized-alpha", 0.6, PARALLEL["bdf"]),
        motion_case("bdf", 0.6, PARALLEL["bdf"]),
        Case("statics", at_rest, rounds=9, target=within(2e-3, scaled=True), paper=PARALLEL["statics"]),
    ),
)
