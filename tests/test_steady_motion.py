"""Steady motions: how far their curve goes, and what is said where it ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from validation.builders import cantilever

import sorosim
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.section import Circle

LENGTH, WAVES = 0.5, 100.0  # m, m/s: speed of waves along the rod
# E r'' = -rho W^2 r has no solution that grows out of rest beyond W L/sqrt(E/rho) = pi/2
CRITICAL = 0.5 * np.pi * WAVES / LENGTH


def stretched():
    material = Material(1000.0 * WAVES**2, poisson=0.3, density=1000.0)
    return cantilever(
        Strain(elongation=10), length=LENGTH, section=Circle(0.01), material=material, n_gauss=96,
        joint=Joint("revolute", axis=(0.0, 0.0, 1.0)),
    )  # fmt: skip


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_a_rod_that_turns_is_as_long_as_its_differential_equation_says_until_it_tears(part):
    k = part * 0.5 * np.pi / LENGTH
    motion = sorosim.steady(stretched(), {"arm": part * CRITICAL})
    assert_allclose(motion.tip()[0], np.tan(k * LENGTH) / k, rtol=1e-8)  # polynomials of order 10 near a pole


@pytest.mark.parametrize("part", [1.05, 2.0, 30.0])
def test_beyond_that_no_other_solution_is_taken_for_it(part):
    # hybr would find rods that are turned inside out
    with pytest.raises(ConvergenceError) as caught:
        sorosim.steady(stretched(), {"arm": part * CRITICAL})
    message, motion = str(caught.value), caught.value.partial
    assert float(message.split("stopped at ")[1].split(" %")[0]) == pytest.approx(100.0 / part, rel=1e-3)
    assert "of the rates" in message
    assert "'arm' is strained by" in message
    assert caught.value.report.link == "arm"
    assert motion.tip()[0] > 10.0 * LENGTH  # where it stopped, it stretches without end


def test_rates_beyond_all_bounds_are_refused():
    with pytest.raises(InputError, match=r"^rates\.arm: expected an angular speed, and none beyond 1e\+50"):
        sorosim.steady(stretched(), {"arm": 1e200})


def test_rates_inside_of_a_loop_are_refused():
    with pytest.raises(InputError, match=r"^rates: expected rates that keep the loops closed, .* tear 'pin' open"):
        sorosim.steady(sorosim.load("four_bar"), {"crank": 3.0})


def test_a_robot_that_cannot_move_or_is_driven_in_all_its_joints_has_a_steady_motion():
    post = {"sorosim": 1, "name": "post", "links": {"post": {"body": {"sphere": {"radius": "1 cm"}, "mass": "30 g"}}}}
    still = sorosim.steady(sorosim.load(post), {})
    assert still.q.shape == still.qd.shape == (0,)
    assert len(still.linearize().damped) == 0
    # two links turning as one: the hub holds the weight, and both centripetal forces go through its axis
    both = sorosim.load("double_pendulum", set={"gravity": [0, 0, 0]})
    turning = sorosim.steady(both, {"upper": 2.0, "lower": 0.0}, driven={"upper": 0.3, "lower": 0.5})
    needed = both.inverse_dynamics(turning.q, turning.qd, qdd=np.zeros(2)) - both.internal_force(turning.q, turning.qd)
    assert_allclose([turning.driven["upper"], turning.driven["lower"]], needed, rtol=1e-12)
    assert turning.driven["lower"] != 0.0
    assert turning.linearize().A.shape == (0, 0)
