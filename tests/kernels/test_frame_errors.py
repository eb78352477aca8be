"""Errors of directions: the least rotation to another one, and its derivative by a twist of the frame."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from sorosim.mechanics.kernels.frame_errors import direction_error

ANGLES = (0.0, 1e-9, 1e-7, 1e-4, 0.1, 1.5, 3.0, np.pi - 1e-3)


def pose(R):
    g = np.eye(4)
    g[:3, :3] = R.as_matrix()
    return g


def error_of(goal, frame):
    error, X = np.zeros(6), np.zeros((6, 6))
    direction_error(pose(goal), pose(frame), error, X)
    return error, X


def turned(rng, angle):
    """A goal, and a frame whose x axis is by an angle off and which is turned about it by any angle."""
    goal, about = Rotation.random(rng=rng), rng.uniform(-np.pi, np.pi)
    across = np.array([0.0, np.cos(about), np.sin(about)])
    return goal, goal * Rotation.from_rotvec(angle * across), across


@pytest.mark.parametrize("angle", ANGLES)
def test_it_is_the_least_rotation_whatever_the_turn_about_the_axis(angle, rng):
    goal, frame, across = turned(rng, angle)
    roll = Rotation.from_rotvec([rng.uniform(-np.pi, np.pi), 0.0, 0.0])
    for one in (frame, frame * roll):
        # rounding of the matrices, over the sine of the angle near a half turn
        assert_allclose(error_of(goal, one)[0], [0.0, *(angle * across[1:]), 0.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("angle", ANGLES)
def test_its_derivative_matches_differences(angle, rng):
    goal, frame, _ = turned(rng, angle)
    frame = frame * Rotation.from_rotvec([rng.uniform(-np.pi, np.pi), 0.0, 0.0])
    X, h = error_of(goal, frame)[1], 1e-5
    for k in range(3):
        e = [error_of(goal, frame * Rotation.from_rotvec(s * h * np.eye(3)[k]))[0] for s in (-2.0, -1.0, 1.0, 2.0)]
        # of fourth order: rounding 1e-16 / h; beside a half turn derivatives grow as what is missing of it falls
        size = 1.0 + np.abs(X).max()
        assert_allclose(X[:, k], (e[0] - 8.0 * e[1] + 8.0 * e[2] - e[3]) / (12.0 * h), atol=2e-9 * size)
    assert not X[:, 3:].any()


def test_opposite_directions_are_half_a_turn_apart(rng):
    goal = Rotation.random(rng=rng)
    error, _ = error_of(goal, goal * Rotation.from_rotvec([0.0, np.pi, 0.0]))
    assert np.linalg.norm(error[:3]) == pytest.approx(np.pi)
