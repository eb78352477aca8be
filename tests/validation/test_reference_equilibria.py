"""The cable manipulator against equilibria and a motion of the original toolbox (tests/data/reference)."""

import numpy as np
import pytest
from helpers.reference import reference
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.simulate import simulate

EQUILIBRIA = reference("statics")["cases"]
MOTION = reference("dynamics")


@pytest.fixture(scope="module")
def manipulator():
    return cable_manipulator()


@pytest.mark.parametrize("case", EQUILIBRIA, ids=[case["name"] for case in EQUILIBRIA])
def test_equilibrium_of_the_toolbox(agrees, manipulator, case):
    found = statics(manipulator, -np.array(case["u"], dtype=float))
    # the toolbox's exponential is off by up to 1e-9 below angles of 1e-2; here all angles are larger: only rounding is
    # left, of positions below 1 m and of coordinates of about 1: five times 9e-13
    agrees("cable manipulator at rest: tip", found.tip(), case["tip_position"], atol=5e-12, unit="m",
           source="MATLAB toolbox SoRoSim")  # fmt: skip
    assert_allclose(manipulator.kinematics(found.q).g, np.array(case["g"])[1:], rtol=0, atol=5e-12)
    assert_allclose(found.q, case["q"], rtol=0, atol=1e-10)
    assert found.residual_norm < 1e-12  # of terms of about 1 N m
    assert found.stable == (case["max_real_eig_of_residual_jacobian"] < 0.0)  # theirs is of - residual


@pytest.mark.parametrize("method", ["bdf", "cvode", "radau", "lsoda"])
def test_one_second_of_the_toolbox(agrees, manipulator, method):
    """Released straight and at rest, cable 1 pulled with 10 N; the other one is lsode at rtol 1e-10."""
    run = simulate(manipulator, 1.0, dt_out=0.1, u={"cable1": 10.0}, method=method, rtol=1e-9, atol=1e-11)
    other = MOTION["lsode_runs"][-1]
    assert other["RelTol"] == 1e-10
    assert_allclose(run.t, MOTION["t"], atol=1e-15)
    # ours is good to 5 rtol; Octave's Radau and lsode differ by 4e-11, the rest is the exponential of small angles
    agrees(
        f"cable manipulator, a second of motion, {method}: tip",
        run.tip(),
        other["tip_position"],
        atol=5e-9,
        unit="m",
        source="MATLAB toolbox SoRoSim, lsode",
    )
    assert_allclose(run.q, other["q"], rtol=0, atol=1e-6)
    assert_allclose(run.qd, other["qd"], rtol=0, atol=1e-5)
