"""Joints whose coordinates cannot be changed: they end a run before a whole turn, where they are singular."""

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import ConvergenceError, InputError, ModelError, SorosimWarning
from sorosim.base.methods import METHODS
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint, Limit
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

SPIN = (1.0, 30.0, 2.0)


def top(kind="spherical", **joint):
    link = Link("top", RigidBody(1.0, inertia=(0.01, 0.02, 0.025)), joint=Joint(kind, **joint))
    return Robot(Description("top", (link,), gravity=(0.0, 0.0, 0.0)))


def stopped(robot, t_end=2.0, **options):
    with pytest.raises(ConvergenceError) as caught:
        sorosim.simulate(robot, t_end, rtol=1e-6, atol=1e-9, **options)
    return str(caught.value), caught.value.partial


@pytest.mark.parametrize("method", METHODS)
def test_a_joint_that_is_wound_up_ends_before_a_whole_turn(method):
    message, run = stopped(top(stiffness=1e-6), qd0=SPIN, method=method)
    assert "the spherical joint of 'top' comes to a whole turn, where its coordinates are singular; " in message
    angle = np.linalg.norm(run.q, axis=1)
    assert 1.8 * np.pi < angle[-1] < 1.9 * np.pi
    t = float(message.split("stopped at t = ")[1].split(" s:")[0])
    assert run.t[-1] <= t < run.t[-1] + 0.01
    # up to there it moves as the one without the spring, which changes its coordinates
    free = sorosim.simulate(top(), 2.0, rtol=1e-10, atol=1e-12, qd0=SPIN, method="lsoda")
    mine, theirs = (robot.pose(q, "top")[:3, :3] for robot, q in ((top(), run.q[-1]), (top(), free.q[len(run.t) - 1])))
    # errors of rtol 1e-6 grow where coordinates are nearly singular: a few thousandths, by the bits of the sweeps
    assert np.abs(mine - theirs).max() < (0.1 if method in ("newmark", "generalized-alpha") else 1e-2)


SCREW = {"coordinates": "screw"}
# which coordinate turns, and one on which a stop makes it count its turns
TURNING = [("spherical", {}, 0, 0), ("free", {}, 3, 3), ("free", SCREW, 3, 0), ("planar", SCREW, 2, 0)]


@pytest.mark.parametrize(("kind", "options", "turns", "stopped_at"), TURNING)
def test_limits_and_other_kinds(kind, options, turns, stopped_at):
    n = Joint(kind).n
    limits = [Limit(high=100.0, stiffness=1.0) if i == stopped_at else None for i in range(n)]
    robot = top(kind, limits=limits, **options)
    qd = np.zeros(n)
    qd[turns] = 8.0
    message, run = stopped(robot, qd0=qd)
    assert f"the {kind} joint of 'top' comes to a whole turn" in message
    assert abs(run.q[-1, turns]) == pytest.approx(1.9 * np.pi, abs=0.1)


@pytest.mark.parametrize(("kind", "turns"), [("free", 3), ("planar", 2)])
def test_a_stop_or_spring_along_a_translation_counts_no_turns(kind, turns):
    n = Joint(kind).n
    robot = top(kind, limits=[Limit(high=100.0, stiffness=1.0), *[None] * (n - 1)], damping=(0.1,) * n)
    qd = np.zeros(n)
    qd[turns] = 30.0
    run = sorosim.simulate(robot, 0.5, qd0=qd, rtol=1e-8, atol=1e-10)
    inertia = 0.025 if kind == "planar" else 0.01  # about z, and about x
    angle = 30.0 * inertia / 0.1 * (1.0 - np.exp(-0.1 / inertia * 0.5))
    R = run.robot.pose(run.q[-1], "top")[:3, :3]
    assert angle > 2.0
    assert R[1, 1] == pytest.approx(np.cos(angle), abs=1e-6)


def test_partly_driven_joints_end_there_too_unless_what_is_free_stays_regular():
    message, run = stopped(top(), driven={"top.spherical.rx": "0.1*t"}, qd0=SPIN)
    assert "stopped at t = 0.19" in message
    assert len(run.t) == 20
    # one axis is left to turn about, or none
    with pytest.warns(SorosimWarning, match="nothing holds 'top.spherical.ry'"):
        one = sorosim.simulate(top(), 2.0, driven={"top.spherical.rx": 0.0, "top.spherical.rz": 0.0}, qd0=SPIN)
    np.testing.assert_allclose(one.q[-1], [0.0, 60.0, 0.0], rtol=1e-6)
    none = {"top.spherical.rx": 0.0, "top.spherical.ry": "7*t", "top.spherical.rz": 0.0}
    assert sorosim.simulate(top(), 2.0, driven=none).q[-1, 1] == pytest.approx(14.0)


def test_what_is_between_whole_turns_is_regular():
    robot = top(stiffness=1e-9)
    run = sorosim.simulate(robot, 0.05, q0=[0.0, 0.0, 3 * np.pi], qd0=[0.0, 0.0, 10.0], rtol=1e-8, atol=1e-10)
    assert run.q[-1, 2] == pytest.approx(3 * np.pi + 0.5, rel=1e-6)
    _, run = stopped(robot, q0=[0.0, 0.0, 3 * np.pi], qd0=[0.0, 0.0, -10.0])
    assert run.q[-1, 2] == pytest.approx(2.1 * np.pi, abs=0.11)
    with pytest.raises(
        InputError, match=r"^q0, top: expected a start farther from a whole turn, .* got one less than 0\.31 r"
    ):
        sorosim.simulate(robot, 1.0, q0=[0.0, 0.0, 2 * np.pi - 0.1])


def test_events_and_files_of_a_run_that_ends_at_a_whole_turn(tmp_path):
    def level(t, q, qd):
        return q[1] - 1.0

    message, run = stopped(top(stiffness=1e-6), qd0=SPIN, events=[level], out=tmp_path / "run.h5", dense=True)
    assert len(run.events) == 1
    assert len(run.events[0][0]) >= 1
    kept = sorosim.open(tmp_path / "run.h5")
    np.testing.assert_array_equal(kept.q, run.q)
    assert kept.message in message
    with pytest.raises(ConvergenceError, match="comes to a whole turn"):
        sorosim.resume(tmp_path / "run.h5")


def test_linearisation_at_a_whole_turn_names_the_coordinate():
    for joint in ({"stiffness": 1.0}, {}):
        with pytest.raises(ModelError) as caught:
            top(**joint).linearize([0.0, 2 * np.pi, 0.0])
        assert str(caught.value).startswith(
            "top.spherical.rx: expected coordinates that are not singular, got a rotation by a whole turn"
        )
    before = [0.0, 1.99 * np.pi, 0.0]
    assert np.isfinite(top().linearize(before).A).all()
    with pytest.warns(SorosimWarning, match=r"q is no equilibrium, at 'top\.spherical\.ry'"):
        top(stiffness=1.0).linearize(before)
    # turning about the axis itself is regular
    assert np.isfinite(top().linearize([0.0, 2 * np.pi, 0.0], free=[1]).A).all()


def test_linearisation_names_a_coordinate_that_moves_no_mass():
    robot = Robot(Description("frame", (Link("frame", None, joint=Joint("revolute")),)))
    with pytest.raises(ModelError, match=r"^frame\.revolute: expected a coordinate that moves mass"):
        robot.linearize([0.0])
