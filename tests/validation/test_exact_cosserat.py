"""Equilibria of the cable manipulator against a boundary-value problem that knows nothing of strain bases."""

from functools import cache

import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose
from validation.cosserat_bvp import TaperedRod, equilibrium

from sorosim.analysis.equilibria.statics import statics

# tensions of cables 1..5 [N] and tip [m] with its last digit, of an own boundary-value solver for exact Cosserat rods
TABLE = {
    (0, 0, 0, 0, 0): ([0.450245011, 0.0, -0.198478293], 1e-9),
    (10, 0, 0, 0, 0): ([0.483788659, 0.0, -0.100566373], 1e-9),
    (0, 10, 5, 0, 0): ([0.39896378, -0.04078966, -0.24969697], 1e-8),
}
# tensions and errors [m] expected of the paper's discretisation, and of orders 10/8 with 16 points
FURTHER = {
    (30, 0, 0, 0, 0): (2.2e-4, 3e-6),
    (0, 0, 0, 10, 0): (1.6e-3, 8e-6),
    (5, 0, 20, 0, 10): (1.7e-3, 1.2e-5),
    (0, 0, 0, 0, 100): (6.1e-2, 5e-4),
    (0, 0, 50, 80, 0): (4.8e-2, 4e-4),
}
PLACES = 5


@cache
def exact(tensions):
    return equilibrium(TaperedRod(), tensions, places=PLACES)[0]


@cache
def robot(angular, linear, n_gauss):
    return cable_manipulator((angular, angular, linear, linear), n_gauss)


def error(discretisation, tensions):
    """Largest distance [m] from the exact axis at quarters of the length."""
    arm = robot(*discretisation)
    q = statics(arm, tensions).q
    places = arm.poses(q, "arm", s=np.linspace(0.0, 1.0, PLACES))[:, :3, 3]
    return float(np.linalg.norm(places - exact(tensions), axis=1).max())


@pytest.mark.parametrize("tensions", TABLE)
def test_the_boundary_value_problem_confirms_the_table(agrees, tensions):
    tip, digit = TABLE[tensions]
    agrees("cable manipulator, Cosserat rod without strain bases: tip", exact(tensions)[-1], tip, atol=digit, unit="m",
           source="docs/theory.md, table of exact tips", bound="digits printed")  # fmt: skip


def test_the_boundary_value_problem_has_converged():
    # 100 times tighter integration moves no place by more than the tolerance allows
    places, _ = equilibrium(TaperedRod(), (0, 10, 5, 0, 0), rtol=1e-11, places=PLACES)
    assert_allclose(places, exact((0, 10, 5, 0, 0)), rtol=0, atol=5e-11)


@pytest.mark.parametrize("tensions", TABLE)
def test_the_papers_discretisation_puts_the_tip_within_70_um(agrees, tensions):
    found = statics(robot(4, 2, 5), tensions)
    agrees(
        "cable manipulator at rest, orders of the paper: tip",
        found.tip(),
        exact(tensions)[-1],
        atol=70e-6,
        unit="m",
        bound="orders 4 and 2, 5 points",
        source="boundary-value problem of the Cosserat rod",
    )


@pytest.mark.parametrize("tensions", TABLE)
def test_orders_10_and_8_with_16_points_are_within_2_um(agrees, tensions):
    agrees(
        "cable manipulator at rest, orders 10 and 8: points along it, distance",
        error((10, 8, 16), tensions),
        0.0,
        atol=1e-6,
        unit="m",
        bound="16 points",
        source="boundary-value problem of the Cosserat rod",
    )


# the last searches longest
@pytest.mark.parametrize("tensions", [*list(FURTHER)[:-1], pytest.param(list(FURTHER)[-1], marks=pytest.mark.slow)])
def test_errors_under_strong_and_helical_tendons(tensions):
    # helical tendons ask for more than the paper's orders: their torque changes sign four times along the rod
    coarse, fine = FURTHER[tensions]
    assert error((4, 2, 5), tensions) < coarse
    assert error((10, 8, 16), tensions) < fine


@pytest.mark.parametrize("tensions", [*TABLE, *FURTHER])
def test_points_converge_to_the_exact_axis_with_fourth_order(tensions):
    # at orders 22/20 the error of the segments is left: h^4, halved steps give about a sixteenth at the worst place
    coarse, fine = error((22, 20, 40), tensions), error((22, 20, 80), tensions)
    assert fine < 6e-7
    assert np.log2(coarse / fine) == pytest.approx(4.0, abs=0.3)
