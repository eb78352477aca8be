"""Every bundled robot as a user meets it: it loads, has nothing wrong, moves, rests, is drawn and comes back."""

import numpy as np
import pytest

import sorosim
from sorosim.doctor import WRONG, examine
from sorosim.io import bundled_robots

NAMES = bundled_robots()
COORDINATES = {
    "cable_manipulator": 24, "hybrid_serial": 27, "soft_gripper": 43, "tree_of_rods": 92, "flying_rod": 36,
    "free_fall_rod": 21, "heavy_top": 3, "double_pendulum": 2, "pendulum": 1,
}  # fmt: skip
FLOATING = {"flying_rod", "free_fall_rod"}


@pytest.fixture(scope="module", params=NAMES)
def robot(request):
    return sorosim.load(request.param), request.param


def test_the_list_is_complete():
    assert set(NAMES) == set(COORDINATES)


def test_coordinates_and_doctor(robot):
    robot, name = robot
    assert robot.ndof == COORDINATES[name]
    assert [finding for finding in examine(robot) if finding.level == WRONG] == []


def test_a_short_run_keeps_its_energy_balance(robot):
    robot, _ = robot
    assert "t_end" in robot.description.simulate
    run = sorosim.simulate(robot, t_end=0.3)
    energy = run.energy()
    moved = np.ptp(energy.kinetic) + np.ptp(energy.elastic) + np.ptp(energy.gravity) + np.ptp(energy.work)
    assert np.abs(energy.balance).max() < 1e-2 * moved
    assert np.isfinite(run.q).all()


def test_statics_where_something_holds_the_robot(robot):
    robot, name = robot
    if name in FLOATING:
        pytest.skip("it floats")
    found = sorosim.statics(robot)
    assert found.residual_norm < 1e-9
    assert {"soft_gripper", "hybrid_serial"} & {name} == (set() if not found.driven else {name})


def test_the_gripper_closes():
    robot = sorosim.load("soft_gripper")
    run = sorosim.simulate(robot)
    tips = [run.positions(f"{part}_tip") for part in ("one", "two", "three")]

    def spread(k):
        return np.mean([np.linalg.norm(tip[k, :2]) for tip in tips])

    assert run.q[-1, 0] == pytest.approx(0.08)
    assert spread(-1) < 0.3 * spread(0)
    # three fingers alike
    heights = [tip[-1, 2] for tip in tips]
    assert np.ptp(heights) < 1e-5
    assert run.driven["palm"][-1] == pytest.approx(-9.81 * _mass(robot), rel=1e-3)


def _mass(robot):
    from sorosim.doctor import link_mass

    return sum(link_mass(robot, link.name) for link in robot.links)


def test_the_pendulum_swings_with_its_period():
    """Large swings: T = 4 sqrt(I/(m g l)) K(sin(a/2)^2)."""
    from scipy.special import ellipk

    robot = sorosim.load("pendulum")
    bodies = [link.body for link in robot.links]
    mass_times_reach = -bodies[0].mass * bodies[0].centre[2] + 0.5 * bodies[1].mass
    inertia = robot.mass_matrix([0.0])[0, 0]
    run = sorosim.simulate(robot, t_end=10.0, rtol=1e-8, atol=1e-10, dense=True, events=[lambda t, q, qd: q[0]])
    period = 4.0 * np.sqrt(inertia / (9.81 * mass_times_reach)) * ellipk(np.sin(np.pi / 6) ** 2)
    np.testing.assert_allclose(np.diff(run.events[0][0]), 0.5 * period, rtol=1e-6)
