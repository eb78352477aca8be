"""Motion of the bundled closed robots: solvers against each other, drift over a minute, energy over a long time."""

from functools import cache

import numpy as np
import pytest
from helpers.differences import Worst

import sorosim

WORST = Worst()
CLOSED = (
    "fin_ray",
    "four_bar",
    "hybrid_parallel",
    "slider_crank",
    "soft_gripper_parallel",
    "soft_ring",
    "stewart_soft",
)
# what is looked at: the apex of the finger, shaken fast; the plate that falls on three pillars
FAST = {"right1": "0.004*(1 - cos(2*pi*4*t))"}
END = 0.5


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("closed robots in motion"))


@cache
def robot_of(name):
    return sorosim.load(name)


@cache
def path(name, method, **options):
    """Way of the apex or the plate."""
    robot, link = robot_of(name), {"fin_ray": "left6", "hybrid_parallel": "plate"}[name]
    if name == "fin_ray":
        options = {**options, "driven": FAST}
    run = sorosim.simulate(robot, END, dt_out=0.01, method=method, **options)
    if name == "hybrid_parallel":
        return np.array([robot.pose(q, link)[:3, 3] for q in run.q])
    return run.positions(link, 1.0)


# the second opinion is that of another method; BDF formulas at tight tolerances crawl on the ribs of the finger, which
# swing with little damping
EXACT = {
    "fin_ray": ("generalized-alpha", {"step": 0.3125e-3}), "hybrid_parallel": ("ida", {"rtol": 1e-8, "atol": 1e-10})
}  # fmt: skip


def away(name, method, **options):
    exact, how = EXACT[name]
    return float(np.linalg.norm(path(name, method, **options) - path(name, exact, **how), axis=1).max())


# asked for: 1 mm of the fin-ray finger at steps of 10 ms, 1e-5 m of the parallel robot
@pytest.mark.parametrize(
    ("name", "method", "options", "most"),
    [
        ("fin_ray", "generalized-alpha", {"step": 0.01}, 2e-5),
        pytest.param("fin_ray", "ida", {}, 2e-6, marks=pytest.mark.slow),
        ("fin_ray", "cvode", {}, 2e-5),
        ("hybrid_parallel", "bdf", {"rtol": 1e-6, "atol": 1e-9}, 1e-6),
        ("hybrid_parallel", "cvode", {"rtol": 1e-6, "atol": 1e-9}, 1e-6),
        ("hybrid_parallel", "generalized-alpha", {"step": 0.0025}, 1e-5),
    ],
)
def test_solvers_agree(name, method, options, most):
    assert WORST.note(f"{name}, {method} [m]", away(name, method, **options)) < most


# of the finger the second step is still among the fast motions of its ribs
@pytest.mark.parametrize(("name", "near"), [("fin_ray", 1.0), ("hybrid_parallel", 0.2)])
def test_errors_of_the_march_fall_with_the_square_of_the_step(name, near):
    errors = [away(name, "generalized-alpha", step=h) for h in (0.01, 0.005, 0.0025)]
    print(name, "steps of 10, 5 and 2.5 ms [m]:", [f"{error:.1e}" for error in errors])
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, atol=near)


MINUTE = 60.0


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED)
def test_loops_stay_closed_for_a_minute(name):
    run = sorosim.simulate(robot_of(name), MINUTE, dt_out=0.1, method="generalized-alpha")
    drift = max(gap.max() for gap in run.drift.values())
    assert WORST.note(f"{name}, a minute of generalized-alpha, open by [m; rad]", drift) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED)
def test_stabilised_loops_stay_closed_for_a_minute_to_the_tolerance(name):
    # the bound of docs/solvers.md: five times the relative tolerance, in radians or of the extent of the loop
    robot = robot_of(name)
    run = sorosim.simulate(robot, MINUTE, dt_out=0.1, method="bdf")
    worst = max(np.abs(robot.engine.loops.row_scale * robot.loop_rows(q).error).max() for q in run.q)
    assert WORST.note(f"{name}, a minute of bdf, open by [rad]", worst) < 5.0 * run.options["rtol"]
