"""Every bundled robot as a user meets it: it loads, moves, rests; see `doctor/test_planted`, `files/test_dump` too."""

import warnings

import numpy as np
import pytest

import sorosim
from benchmarks.algorithms import solve_mass
from sorosim.files import bundled_robots
from sorosim.mechanics.engine import tasks as task

NAMES = bundled_robots()
COORDINATES = {
    "cable_manipulator": 24, "hybrid_serial": 27, "soft_gripper": 43, "tree_of_rods": 92, "flying_rod": 36,
    "free_fall_rod": 21, "heavy_top": 3, "double_pendulum": 2, "pendulum": 1, "fin_ray": 74, "hybrid_parallel": 63,
    "soft_gripper_parallel": 72, "stewart_soft": 60, "soft_ring": 22,
    "concentric_tubes": 84, "continuum_stewart": 84, "vine": 15, "four_bar": 3, "slider_crank": 3,
    "underwater_vehicle": 80, "tentacle_in_current": 17, "pneumatic_bellow": 16,
    "contact_cylinder": 24, "finray_grasp": 78, "gripper_grasps_sphere": 40, "rod_pile": 132, "snake_on_plane": 27,
    "rope_pile": 170,
    "particle": 2, "jumping_lamp": 5, "soft_cart_pole": 6, "two_segment_arm": 20,
    "swing_up_cart_pole": 4, "soft_furuta": 4, "soft_pendubot": 6,
    "polypeptide": 24, "magnetic_catheter": 20,
    "net": 168, "gripper_100": 407,
    "puma560": 6, "ur5_with_soft_gripper": 33,
}  # fmt: skip
LOOPS = {"fin_ray": 6, "hybrid_parallel": 2, "soft_gripper_parallel": 6, "stewart_soft": 6, "soft_ring": 1,
         "continuum_stewart": 6, "four_bar": 1, "slider_crank": 1, "finray_grasp": 6, "net": 15}  # fmt: skip
DRIVEN = {"soft_gripper", "hybrid_serial", "fin_ray", "slider_crank", "gripper_grasps_sphere", "finray_grasp",
          "puma560", "ur5_with_soft_gripper", "concentric_tubes", "continuum_stewart", "vine",
          "gripper_100"}  # fmt: skip
ROLLING = {"finray_grasp"}  # its cylinder may roll on the shelf
FLOATING = {"flying_rod", "free_fall_rod", "underwater_vehicle", "rod_pile", "rope_pile", "snake_on_plane", "particle"}


LARGE = {"net", "gripper_100"}  # their tests take seconds


@pytest.fixture(scope="module", params=[pytest.param(n, marks=[pytest.mark.slow] * (n in LARGE)) for n in NAMES])
def robot(request):
    return sorosim.load(request.param), request.param


def test_the_list_is_complete():
    assert set(NAMES) == set(COORDINATES)


def test_coordinates(robot):
    robot, name = robot
    assert robot.ndof == COORDINATES[name]


def test_a_short_run_keeps_its_energy_balance(robot):
    robot, _ = robot
    assert "t_end" in robot.description.simulate
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*energy balance.*", sorosim.SorosimWarning)
        run = sorosim.simulate(robot, t_end=0.3 if robot.ndof < 100 else 0.1)
    energy = run.energy()
    moved = np.ptp(energy.kinetic) + np.ptp(energy.elastic) + np.ptp(energy.gravity) + np.ptp(energy.work)
    assert np.abs(energy.balance).max() < (2e-2 if robot.engine.loading.touches else 1e-2) * moved
    assert np.isfinite(run.q).all()


def test_statics_where_something_holds_the_robot(robot):
    robot, name = robot
    if name in FLOATING:
        pytest.skip("it floats")
    found = sorosim.statics(robot)
    assert found.residual_norm < 6e-9  # five times the worst, of a hundred fingers
    assert (name in DRIVEN) == bool(found.driven)
    assert found.stable or name not in LOOPS or name in ROLLING


def test_derivatives_at_rest_are_those_of_the_whole_residual(robot):
    robot, _ = robot
    rng, zero = np.random.default_rng(0), np.zeros(robot.ndof)
    q = robot.initial_q + 1e-3 * rng.normal(size=robot.ndof)
    arguments = q, zero, zero.copy(), rng.random(robot.engine.n_actuators)
    whole = robot.engine.evaluate(task.RESIDUAL_DERIVATIVES, *arguments)
    found = robot.engine.evaluate(task.STATIC_DERIVATIVES, *arguments)
    for name in ("tau", "by_q", "B"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    for name in ("constraint", "error_by_q", "rate_by_q"):
        np.testing.assert_array_equal(getattr(found.closure, name), getattr(whole.closure, name))


@pytest.mark.parametrize("part", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
def test_loops_stay_closed(robot, part):
    robot, name = robot
    assert len(robot.loop_names) == LOOPS.get(name, 0)
    if name in LOOPS:
        t_end = part * robot.description.simulate["t_end"]
        run = sorosim.simulate(robot, t_end)
        assert run.t[-1] == t_end
        assert max(gaps.max() for gaps in run.drift.values()) < 1e-9


@pytest.mark.parametrize(
    ("foot", "force"), [(0.0, 0.0527900625), (0.002, 0.1593481491), (0.005, 0.3341690157), (0.01, 0.7231041670)]
)
def test_the_foot_of_the_fin_ray_bends_it(foot, force):
    """The force on the driven foot is that of the same finger built of Python objects."""
    robot = sorosim.load("fin_ray")
    found = sorosim.statics(robot, driven={"right1": foot})
    assert found.driven["right1"] == pytest.approx(force, rel=1e-8)
    left, right = (robot.pose(found.q, link)[:3, 3] for link in ("left6", "right6"))
    np.testing.assert_allclose(left, right, atol=1e-9)
    assert left[0] < 0.025 or foot == 0.0


def test_the_piston_of_the_slider_crank_is_where_geometry_says():
    robot = sorosim.load("slider_crank")
    run = sorosim.simulate(robot, t_end=0.5)
    angle = 4.0 * np.pi * run.t
    expected = 0.04 * np.cos(angle) + np.sqrt(0.14**2 - (0.04 * np.sin(angle)) ** 2)
    np.testing.assert_allclose(run.positions("piston")[:, 0], expected, atol=1e-8)


def test_the_fingers_of_cells_close_alike():
    run = sorosim.simulate(sorosim.load("soft_gripper_parallel"))
    left, right = run.positions("left_tip"), run.positions("right_tip")
    np.testing.assert_allclose(left * [-1.0, 1.0, 1.0], right, atol=1e-6)
    assert right[-1, 0] < 0.6 * right[0, 0]


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
    from sorosim.studies.doctor import link_mass

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


def test_the_polypeptide_is_an_alpha_helix_where_its_springs_rest():
    robot = sorosim.load("polypeptide", set={"parameters.residues": 12})
    assert robot.ndof == 36
    for q, reach in ((np.zeros(36), 3.6), (np.tile(np.radians([0.0, 123.0, 133.0]), 12), 1.5)):
        g = {name: np.array([robot.pose(q, f"ala{i}_{name}") for i in range(1, 13)]) for name in ("n", "ca", "c")}
        alpha = g["ca"][:, :3, 3]
        steps = np.linalg.norm(np.diff(alpha, axis=0), axis=1)
        assert np.abs(steps - 3.8e-2).max() < 1e-3  # of two C-alpha across a flat peptide bond: 3.8 angstrom
        # per residue: 3.6 angstrom stretched out, 1.5 along a helix
        assert abs(np.linalg.norm(alpha[-1] - alpha[1]) / 10.0 - 1e-2 * reach) < 2e-3
    oxygen, hydrogen = g["c"] @ [-0.676e-2, -1.029e-2, 0.0, 1.0], g["n"] @ [-0.493e-2, -0.882e-2, 0.0, 1.0]
    bridges = np.linalg.norm(oxygen[:-4] - hydrogen[4:], axis=1)
    assert np.abs(bridges - 1.95e-2).max() < 1e-3  # hydrogen bonds of an alpha helix, to the fourth residue
    a, b, c = np.diff(alpha[:4], axis=0)
    assert np.cross(a, b) @ c > 0.0  # right-handed, as of L-amino acids
    state = np.random.default_rng(0).normal(size=36)
    np.testing.assert_allclose(
        solve_mass(robot, q, state, algorithm="fixman"), robot.solve_mass(q, state, algorithm="composite"), rtol=1e-8
    )


def test_the_puma_stands_where_its_table_puts_it():
    """Armstrong, Khatib and Burdick: upper arm 43.18 cm, forearm 43.31 cm beside it by 2.03 cm, shoulder 15.01 cm."""
    robot = sorosim.load("puma560")
    flange = robot.pose(np.zeros(6), "flange")
    np.testing.assert_allclose(flange[:3, 3], [0.4318 - 0.0203, 0.1501, 0.6718 + 0.4331], atol=1e-12)
    np.testing.assert_allclose(flange[:3, :3], np.eye(3), atol=1e-12)
    # what the shoulder turns with, all joints at zero: by hand from masses, centres and moments
    parts = [
        (0.0, (0.0, 0.0), 0.35),
        (17.40, (0.068, 0.2435 - 0.016), 0.524),
        (4.80, (0.4318, 0.1501 + 0.014), 0.0125),
        *((m, (0.4115, 0.1501), inertia) for m, inertia in ((0.82, 1.3e-3), (0.34, 0.3e-3), (0.09, 0.04e-3))),
    ]
    expected = sum(m * (x * x + y * y) + inertia for m, (x, y), inertia in parts)
    assert robot.mass_matrix(np.zeros(6))[0, 0] == pytest.approx(expected, rel=1e-12)


def test_the_flange_of_the_ur5_points_down_and_its_fingers_close():
    robot = sorosim.load("ur5_with_soft_gripper")
    run = sorosim.simulate(robot)
    for q in run.q[:: len(run.q) // 4]:
        np.testing.assert_allclose(robot.pose(q, "wrist3")[:3, 2], [0.0, 0.0, -1.0], atol=1e-12)
    # all joints at zero the arm is stretched along -x, its lengths those of the table
    zero = robot.pose(np.zeros(robot.ndof), "wrist3")[:3, 3]
    np.testing.assert_allclose(zero, [-0.425 - 0.39225, -0.10915 - 0.0823, 0.089159 - 0.09465], atol=1e-12)
    tips = np.stack([run.positions(f"{part}_tip") for part in ("one", "two", "three")])
    spread = np.linalg.norm(tips - tips.mean(axis=0), axis=-1).max(axis=0)
    assert spread[-1] < 0.5 * spread[0]
