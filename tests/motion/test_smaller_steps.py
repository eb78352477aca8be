"""Intervals whose steps find no solution are taken again in smaller ones."""

import contextlib

import numpy as np
import pytest

import sorosim
from sorosim.analysis.motion.march import DONE
from sorosim.base.errors import ConvergenceError


def test_an_interval_that_fails_is_taken_in_smaller_steps():
    arm, u = sorosim.load("cable_manipulator"), [200.0, 5.0, 5.0, 5.0, 5.0]
    sim = sorosim.Stepper(arm, "50 ms", tolerance=1e-11)
    sim.reset()
    state = sim.step(u)
    assert sim.refined == 1
    A, B = sim.linearize()
    finer = [sorosim.Stepper(arm, "50 ms", tolerance=1e-11, substeps=2**k) for k in range(1, 7)]
    same = []
    for other in finer:
        other.reset()
        with contextlib.suppress(ConvergenceError):
            pairs = (other.step(u).q, state.q), *zip(other.linearize(), (A, B), strict=True)
            same.append(all(np.array_equal(*pair) for pair in pairs))
    assert any(same)
    sim.reset()
    assert sim.refined == 0
    motion = sorosim.rollout(arm, [u], "50 ms")
    assert motion.refined == 1
    assert np.array_equal(motion.q[1], state.q)


def test_bodies_that_stick_by_friction_are_passed_in_smaller_steps():
    slip = {f"loads.{name}.contact.slip_speed": "1 mm/s" for name in ("grip", "table")}
    gripper = sorosim.load("gripper_grasps_sphere", set=slip)
    fine, coarse = sorosim.Stepper(gripper, "20 ms", substeps=16), sorosim.Stepper(gripper, "20 ms", substeps=2)
    places = []
    for sim in (fine, coarse):
        sim.reset("equilibrium")
        for k in range(30):
            state = sim.step(np.full(3, 0.3 * k), driven={"palm": 0.0})
        places.append(gripper.pose(state.q, "ball")[:3, 3])
    assert coarse.refined > 0
    assert np.allclose([place[:2] for place in places], 0.0, atol=1e-9)  # by symmetry
    heights = [place[2] - 0.035 for place in places]
    assert heights[0] > 0.005  # the fingers squeeze the ball upwards
    assert heights[1] == pytest.approx(heights[0], rel=0.05)  # 0.006: steps of 10 ms against 1.2 ms


def test_a_step_that_fails_names_the_loop_that_its_first_try_left_open():
    sim = sorosim.Stepper(sorosim.load("four_bar"), "1 s")
    sim.reset()

    def move():
        for _ in range(10):
            sim.step()

    with pytest.raises(ConvergenceError, match=r"so do steps down to 0\.0156 s") as caught:
        move()
    motion, rows = sim._motion, sim._rows  # as before that step
    motion.prepare(rows, 1)
    assert motion.steps.advance(motion.march, rows, sim._u) not in DONE
    gap = motion.steps.system.loop_monitor.describe_failed_step(motion.march.out.closure.error)
    assert gap.startswith(" (loop 'pin' is open by")
    assert f"a smaller step{gap}; there" in str(caught.value)
