"""Rods that wind, with the points that they have by default, against closed forms and a solver of ODEs."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sorosim
from tests.helpers.winding import LENGTH, coil, helical_robot, helical_tip

# of the length, of a rod that bends by k and a route that turns by w [rad]: docs/theory.md, 2
MISSING = 0.015


def bent(robot, q):
    """The mean curvature of the rod times its length [rad]."""
    piece = robot.engine.layout.links["rod"].pieces[0]
    X = np.linspace(0.0, LENGTH, 101)
    return np.linalg.norm(np.einsum("ijk,j->ik", piece.block_basis(X), q)[:, :3], axis=1).mean() * LENGTH


@pytest.mark.parametrize("discs", [0, 10])
@pytest.mark.parametrize("turns", [1, 2])
def test_errors_of_helical_tendons_fall_as_orders_rise(turns, discs):
    """Ten discs cut the intervals of odd numbers of Gauss points near the middle into slivers and halve those of even
    ones, so that with 14 points of no more than order + 3 errors were a tenth of those with 15."""
    errors = []
    for order in (6, 8, 10, 12, 14):
        robot = sorosim.load(helical_robot(order, turns=turns, discs=discs))
        found, division = sorosim.statics(robot), robot.links[0].rod.divisions[0]
        exact = helical_tip(division.line_stiffness(np.zeros(1))[0], turns)
        errors.append(np.linalg.norm(found.tip() - exact))
    assert all(later < earlier for earlier, later in pairwise(errors))
    # at last kinematics is what is missing; its constant holds to a third
    k, n = bent(robot, found.q), robot.engine.layout.links["rod"].pieces[0].division.n_gauss
    assert errors[-1] < 1.33 * MISSING * (k * 2.0 * np.pi * turns / n**2) ** 2 * LENGTH


@pytest.mark.parametrize("order", [2, 8])
def test_poses_of_ten_turns_with_strains_of_any_shape_are_those_of_the_exact_curve(order):
    robot = sorosim.load(coil(10, order))
    rng, piece = np.random.default_rng(order), robot.engine.layout.links["rod"].pieces[0]
    length = piece.division.length
    for _ in range(2):
        q = rng.normal(size=robot.ndof)
        q *= np.pi / np.linalg.norm(q)

        def slope(X, y, q=q):
            at = np.array([X])
            xi = piece.division.reference.values(at, length)[0] + piece.block_basis(at)[0].T @ q
            R = y[3:].reshape(3, 3)
            return np.concatenate([R @ xi[3:], np.cross(R, xi[:3]).ravel()])

        start = np.concatenate([np.zeros(3), np.eye(3).ravel()])
        curve = solve_ivp(slope, (0.0, length), start, method="DOP853", rtol=1e-9, atol=1e-12)
        # five times the worst seen; with order + 3 points 9e-5 to 2e-3
        assert np.linalg.norm(robot.pose(q, "rod")[:3, 3] - curve.y[:3, -1]) < 5e-6 * length


@pytest.mark.parametrize("turns", [2, 5])
def test_a_coil_hangs_by_its_weight_wherever_its_turns_are(turns):
    """With order + 3 points the weight of five turns was taken at five places, and the tip moved by 5 mm of 6."""
    found, fine = (sorosim.statics(sorosim.load(coil(turns, 2, quadrature=n))) for n in (None, 200))
    moved = fine.tip() - fine.robot.pose(np.zeros(fine.robot.ndof), "rod")[:3, 3]
    assert np.linalg.norm(found.tip() - fine.tip()) < 1e-3 * np.linalg.norm(moved)
