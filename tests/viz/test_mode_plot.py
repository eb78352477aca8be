"""The plot of modes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sorosim
from sorosim.base.errors import InputError
from sorosim.view.viz.figures import eye_direction, showing_eye


def test_modes_are_drawn_with_their_names(tmp_path):
    lin = sorosim.statics(sorosim.load("cable_manipulator")).linearize()
    figure = lin.plot(tmp_path / "modes.png", modes=[1, 5])
    assert (tmp_path / "modes.png").stat().st_size > 10_000
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles[0] == "mode 1: 1.42 Hz, damping ratio 0.14\narm bending_z 100 %"
    assert titles[1].startswith("mode 5: decays")
    # at rest, and on both sides of what oscillates
    assert [len(axes.collections) for axes in figure.axes if axes.collections] == [3, 2]


def test_modes_are_seen_where_they_show():
    """Of an arm along x, which sags: sideways from above, up and down from the side."""
    lin = sorosim.statics(sorosim.load("cable_manipulator")).linearize()
    above, side = (axes for axes in lin.plot(modes=[1, 2]).axes if axes.collections)
    assert (above.elev, above.azim) == (90.0, -90.0)  # x to the right, y up
    assert abs(side.elev) < 5.0
    assert abs(side.azim + 90.0) < 5.0


def test_an_eye_sees_motion_in_any_plane_and_as_usual_what_moves_in_space():
    robot = sorosim.load("cable_manipulator")
    rng = np.random.default_rng(3)
    points = rng.normal(size=(50, 3)) * [0.05, 0.05, 1.0]  # a tall robot
    for across in rng.normal(size=(5, 3)):
        level = across * [1.0, 1.0, 0.0] / np.hypot(*across[:2])
        motion = rng.normal(size=(50, 3))
        motion -= np.outer(motion @ level, level)
        assert abs(showing_eye(robot, points, motion) @ level) == pytest.approx(1.0, abs=0.02)
    usual = showing_eye(robot, points, rng.normal(size=(50, 3)))
    assert_array_equal(usual, eye_direction(robot))


def test_mistakes():
    lin = sorosim.statics(sorosim.load("double_pendulum")).linearize()
    with pytest.raises(InputError, match=r"^mode: expected a whole number from 1 to 2, got 99"):
        lin.plot(modes=[99])
    with pytest.raises(InputError, match=r"^modes: expected numbers of 1 to 24 modes, got 0 of them"):
        lin.plot(modes=[])
    with pytest.raises(InputError, match=r"^modes: expected a list of numbers of modes, got 3"):
        lin.plot(modes=3)
