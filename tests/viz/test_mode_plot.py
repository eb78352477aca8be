"""The plot of modes."""

import pytest

import sorosim
from sorosim.errors import InputError


def test_modes_are_drawn_with_their_names(tmp_path):
    lin = sorosim.statics(sorosim.load("cable_manipulator")).linearize()
    figure = lin.plot(tmp_path / "modes.png", modes=[1, 5])
    assert (tmp_path / "modes.png").stat().st_size > 10_000
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles[0] == "mode 1: 1.42 Hz, damping ratio 0.14\narm bending_z 100 %"
    assert titles[1].startswith("mode 5: decays")
    # at rest, and on both sides of what oscillates
    assert [len(axes.collections) for axes in figure.axes if axes.collections] == [3, 2]


def test_mistakes():
    lin = sorosim.statics(sorosim.load("double_pendulum")).linearize()
    with pytest.raises(InputError, match=r"^mode: expected a whole number from 1 to 2, got 99"):
        lin.plot(modes=[99])
    with pytest.raises(InputError, match=r"^modes: expected numbers of 1 to 24 modes, got 0 of them"):
        lin.plot(modes=[])
    with pytest.raises(InputError, match=r"^modes: expected a list of numbers of modes, got 3"):
        lin.plot(modes=3)
