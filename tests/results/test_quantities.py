"""Summaries of a run: the numbers of known motions, from a time on, wherever its rows are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import InputError, ModelError
from sorosim.files import load_text
from sorosim.mechanics.quantities import REDUCTIONS, Summary

SLIDER = """sorosim: 1
name: slider
gravity: [0, 0, 0]
links:
  a: {joint: {prismatic: {axis: [0, 0, 1]}}, body: {mass: 2, inertia: [1, 1, 1]}}
sensors: {tip: {pose: {link: a}, rate: 500 Hz}}
simulate: {t_end: 50 ms, driven: {a: 0.1*t^2}}
"""


@pytest.mark.parametrize("n", [400, 401, 1000])
def test_numbers_of_a_swing_that_has_settled(n):
    """After 1 s it swings by 3 about 2, before that it is far away."""
    t = np.linspace(0.0, 5.0, n)
    x = 2.0 + 3.0 * np.sin(2 * np.pi * t) + np.where(t < 0.95, 100.0, 0.0)
    wanted = {"last": 2.0, "min": -1.0, "max": 5.0, "mean": 2.0, "rms": np.sqrt(2.0**2 + 3.0**2 / 2), "range": 6.0,
              "amplitude": 3.0, "rate": 0.0}  # fmt: skip
    assert set(wanted) == set(REDUCTIONS)
    sagitta = 3.0 * (2 * np.pi * 5.0 / (n - 1)) ** 2 / 8  # a chord is off its arc by no more
    for how, number in wanted.items():
        assert abs(Summary(**{how: "x"}, after=1.0).number(t, x) - number) < 5 * sagitta, how
        assert Summary(**{how: "x"}).number(t, x + 1.0) != Summary(**{how: "x"}, after=1.0).number(t, x + 1.0) or (
            how in ("last", "min")
        )


def test_what_begins_between_rows_does_not_depend_on_them():
    """Of a line, every number is exact on any rows."""
    rough, fine = np.array([0.0, 0.7, 1.0]), np.linspace(0.0, 1.0, 1001)
    for how in REDUCTIONS:
        summary = Summary(**{how: "x"}, after="350 ms")
        numbers = [summary.number(t, 4.0 * t - 1.0) for t in (rough, fine)]
        # means of squares are those of chords
        assert_allclose(*numbers, rtol=0.1 if how == "rms" else 1e-12)
    assert_allclose(Summary(mean="x", after=0.35).number(rough, 4.0 * rough - 1.0), 4.0 * 0.675 - 1.0, rtol=1e-14)


def test_a_run_comes_down_to_numbers():
    run = sorosim.simulate(load_text(SLIDER, "slider.yaml"))
    found = run.summarize({
        "speed": {"rate": "a.z", "after": "20 ms"}, "effort": {"mean": "force(a)"}, "seen": {"range": "tip.z"},
        "work": {"last": "energy.work"},
    })  # fmt: skip
    assert_allclose(found["speed"], 0.1 * (0.05**2 - 0.02**2) / 0.03, rtol=1e-9)
    assert_allclose(found["effort"], 2.0 * 0.2, rtol=1e-6)
    assert_allclose(found["seen"], 0.1 * 0.05**2, rtol=1e-6)
    assert_allclose(found["work"], 0.5 * 2.0 * (0.2 * 0.05) ** 2, rtol=1e-3)
    for wrong, message in (
        ({"x": {"mean": "b.z"}}, "summary.x.mean: expected a quantity of a run, got 'b.z'"),
        ({"x": {"mean": "a.z", "after": "2 s"}}, "summary.x.after: expected a time before the end of the run, 0.05 s"),
        ({"x": {"mean": "a.z", "after": -1}}, "summary.x.after"),
        ({"x": "mean"}, "expected a mapping of one of last, min"),
        ({"x": {}}, "expected a mapping of one of last, min"),
    ):
        with pytest.raises(InputError, match=message.replace("(", r"\(")):
            run.summarize(wrong)


def test_units_follow():
    assert Summary(rate="a.z").unit("m") == "m/s"
    assert Summary(rate="a.x").unit("") == "1/s"
    assert Summary(amplitude="a.z").unit("m") == "m"
    with pytest.raises(ModelError, match="got min and max"):
        Summary(min="a.z", max="a.z")
