"""Modes as runs, and what moves in them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from validation.builders import cantilever

import sorosim
from sorosim.analysis.results.modes import ModeRun, describe, format_shares, shares
from sorosim.base.errors import InputError
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.section import Circle


@pytest.fixture(scope="module")
def manipulator():
    return sorosim.statics(sorosim.load("cable_manipulator"), {"cable1": 5.0}).linearize()


@pytest.fixture(scope="module")
def ring():
    return sorosim.statics(sorosim.load("soft_ring")).linearize()


def undamped(**varying):
    rod = cantilever(Strain(**varying), length=0.5, section=Circle(0.01))
    return rod.linearize(np.zeros(rod.ndof))


def test_a_small_mode_is_a_motion_of_the_robot():
    lin = undamped(bending_y=4, elongation=1)
    robot = lin.robot
    run = lin.mode(1, amplitude=1e-5)
    omega = 2.0 * np.pi * lin.frequencies[0]
    assert run.t[-1] == pytest.approx(1.0 / lin.frequencies[0], rel=1e-14)
    for q, qd in zip(run.q, run.qd, strict=True):
        qdd = -(omega**2) * (q - lin.q)
        inertial, elastic = robot.inverse_dynamics(q, qd, qdd=qdd), robot.internal_force(q, qd)
        # what is not linear is of the size of the amplitude
        assert np.abs(inertial - elastic).max() < 1e-4 * max(np.abs(lin.K @ (run.q[0] - lin.q)).max(), 1e-300)
    assert_allclose(run.energy().total, run.energy().total[0], rtol=1e-7)


@pytest.mark.parametrize("k", [1, 3, 4])
def test_the_tip_moves_a_tenth_of_the_size_at_most_and_rates_are_those_of_the_coordinates(manipulator, k):
    run = manipulator.mode(k, amplitude=1e-3)
    places = manipulator.robot.kinematics(manipulator.q).g[:, :3, 3]
    ends = [manipulator.robot.pose(manipulator.q, "arm", s=s)[:3, 3] for s in (0.0, 1.0)]
    size = np.linalg.norm(np.ptp(np.vstack([places, ends]), axis=0))
    rest = np.vstack([manipulator.robot.poses(manipulator.q, "arm", s=np.linspace(0, 1, 41))[:, :3, 3]])
    way = [np.linalg.norm(manipulator.robot.poses(q, "arm", s=np.linspace(0, 1, 41))[:, :3, 3] - rest, axis=1).max()
           for q in run.q]  # fmt: skip
    # what oscillates in 61 looks; points between the robot's own may move a little farther
    assert max(way) == pytest.approx(1e-3 * size, rel=2e-2)
    slope = np.gradient(run.q, run.t, axis=0, edge_order=2)
    assert_allclose(run.qd, slope, atol=5e-2 * np.abs(run.qd).max())


def test_a_run_of_a_mode_can_be_all_that_runs_can(manipulator, tmp_path):
    run = manipulator.mode(1, periods=2)
    assert isinstance(run, ModeRun)
    assert run.message == "mode 1: 1.448 Hz, damping ratio 0.13"
    assert_allclose(run.q[0], run.q[-1], atol=1e-12)
    assert_allclose(run.q[0], run.q[60], atol=1e-12)
    assert run.speed == pytest.approx(0.5 / manipulator.damped.frequencies[0])
    run.save(tmp_path / "mode.h5")
    again = sorosim.open(tmp_path / "mode.h5")
    assert again.message == run.message
    assert_allclose(again.q, run.q)
    run.to_csv(tmp_path / "mode.csv")
    assert len(run[::10]) == 13
    run.plot(tmp_path, "tip")
    run[:3].movie(tmp_path / "mode.gif", size=(160, 120), fps=10)
    run.still(tmp_path / "mode.png", size=(160, 120))
    assert all((tmp_path / name).stat().st_size > 0 for name in ("mode.gif", "mode.png", "tip.png"))


def test_decay_is_shown_on_request(manipulator):
    run = manipulator.mode(1, decay=True)
    value = manipulator.damped.eigenvalues[0]
    shrunk = np.exp(value.real * run.t[-1])
    assert_allclose(run.q[-1] - manipulator.q, shrunk * (run.q[0] - manipulator.q), rtol=1e-9, atol=1e-12)
    assert shrunk < 0.5


def test_loops_stay_closed_in_large_modes(ring):
    run = ring.mode(1, amplitude=0.3)
    for angle_and_gap in run.drift.values():
        assert angle_and_gap.max() < 1e-11
    for q, qd in zip(run.q[::10], run.qd[::10], strict=True):
        assert np.abs(ring.robot.loop_rows(q, qd).rate).max() < 1e-11 * np.abs(qd).max()
    assert np.abs(run.q[0] - ring.q).max() > 1.0


def test_what_grows_ends_far_out_and_rigid_bodies_come_back():
    top = sorosim.statics(sorosim.load("heavy_top"), stable=False).linearize()
    run = top.mode(2)
    assert run.message.startswith("mode 2: grows, time constant 0.0898 s")
    assert np.abs(run.q[-1] - top.q).max() > 10.0 * np.abs(run.q[0] - top.q).max()
    spin = top.mode(1)
    assert spin.message == "mode 1: rigid body, 0 Hz"
    assert_allclose(spin.q[0], spin.q[-1], atol=1e-12)
    assert np.ptp(spin.q) > 0.1


def test_torsion_turns_by_half_a_radian_at_most():
    lin = undamped(torsion=3)
    run = lin.mode(1)
    R = [lin.robot.pose(q, "arm")[:3, :3] for q in run.q]
    turned = max(np.arccos(np.clip(0.5 * (np.trace(r) - 1.0), -1.0, 1.0)) for r in R)
    # the tip lies a little beyond the last point that is looked at
    assert 0.4 < turned < 0.6


def test_whirling_modes_run_round():
    shaft = cantilever(
        Strain(bending=3), length=0.5, section=Circle(0.01), joint=Joint("revolute", axis=(1.0, 0.0, 0.0))
    )  # fmt: skip
    lin = sorosim.steady(shaft, {"arm": 3.0}).linearize()
    run = lin.mode(1, amplitude=1e-3)
    radius = np.linalg.norm(run.tip()[:, 1:], axis=1)
    assert np.ptp(radius) < 1e-4 * radius.mean()  # a circle: forwards or backwards whirl
    assert (run.q[:, 0] == lin.q[0]).all()  # seen from the turning frame


def test_shares_name_what_moves(manipulator):
    for k in range(1, len(manipulator.damped) + 1):
        parts = shares(manipulator, k)
        assert sum(parts.values()) == pytest.approx(1.0, rel=1e-12)
        assert list(parts.values()) == sorted(parts.values(), reverse=True)
    assert format_shares(manipulator.shares(1)) == "arm bending_z 100 %"
    lin = undamped(bending_y=3, torsion=2, elongation=2)
    kinds = [next(iter(lin.shares(k))) for k in range(1, 9)]
    assert set(kinds) == {"arm bending_y", "arm torsion", "arm elongation"}
    assert all(max(lin.shares(k).values()) > 1.0 - 1e-12 for k in range(1, 9))  # a straight rod couples none
    assert format_shares({"a": 0.5, "b": 0.495, "c": 0.005}) == "a 50 %, b 50 %"


def test_shares_of_joints_have_the_names_of_their_links():
    lin = sorosim.statics(sorosim.load("double_pendulum")).linearize()
    assert set(lin.shares(1)) == {"upper", "lower"}


def test_modes_in_words(manipulator):
    assert describe(manipulator, 1) == "1.448 Hz, damping ratio 0.13"
    assert describe(manipulator, 6).startswith("decays, time constant 0.0")
    assert describe(undamped(bending_y=2), 1).endswith(" Hz")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, r"^mode: expected a whole number from 1 to 44, got 0"),
        ({"k": 45}, r"^mode: expected a whole number from 1 to 44, got 45"),
        ({"k": 1.5}, r"^mode: expected a whole number from 1 to 44, got 1\.5"),
        ({"k": "first"}, r"^mode: expected a whole number from 1 to 44, got 'first'"),
        ({"k": 1, "periods": 0}, r"^periods: expected a whole number from 1 to 10000"),
        ({"k": 1, "periods": 1.5}, r"^periods: expected a whole number from 1 to 10000, got 1\.5"),
        ({"k": 1, "amplitude": -1.0}, r"^amplitude: expected a number greater than 0"),
        ({"k": 1, "decay": "no"}, r"^decay: expected true or false, got 'no'"),
    ],
)
def test_mistakes(manipulator, options, message):
    with pytest.raises(InputError, match=message):
        manipulator.mode(**options)


def test_a_robot_that_cannot_move_has_no_modes():
    lin = sorosim.statics(sorosim.load("puma560")).linearize()
    assert len(lin.damped) == 0
    with pytest.raises(InputError, match=r"^mode: expected a robot that can move, got none of its coordinates is free"):
        lin.mode(1)


def test_a_robot_without_coordinates_has_no_modes_either(tmp_path):
    post = {"sorosim": 1, "name": "post", "links": {"post": {"body": {"sphere": {"radius": "1 cm"}, "mass": "30 g"}}}}
    lin = sorosim.statics(sorosim.load(post)).linearize()
    assert lin.A.shape == (*lin.eigenvalues.shape, 0) == (0, 0)
    assert (lin.stability, len(lin.damped), lin.to_control().ninputs) == ("stable", 0, 0)
    for call in (lambda: lin.mode(1), lambda: lin.plot(tmp_path / "x.png"), lambda: lin.shares(1)):
        with pytest.raises(InputError, match=r"^mode: expected a robot that can move"):
            call()
    for name in ("x.npz", "x.mat", "x.h5", "x.mtx"):
        assert all(path.stat().st_size for path in lin.save(tmp_path / name))


def test_a_mode_is_no_run_to_go_on_with(manipulator, tmp_path):
    run = manipulator.mode(1)
    run.save(tmp_path / "mode.h5")
    for taken in (run, tmp_path / "mode.h5"):
        with pytest.raises(InputError, match=r"^run: expected a run that was simulated, got one by 'mode'"):
            sorosim.resume(taken, t_end=9.0)
