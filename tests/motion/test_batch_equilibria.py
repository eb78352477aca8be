"""Equilibria of batches: compiled code against `statics`, what it leaves to `statics`, and what it remembers."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import ConvergenceError, InputError

# of coordinates: both end after a Newton step of 1e-9 of 1 + |q|, whose square is left
EQUAL = 1e-11


def check_members(batch, found, before, u):
    """Members are what `statics` finds from the equilibria before."""
    for i, robot in enumerate(batch.robots):
        driven = found._driven[i]  # as motions have them at t = 0
        begin = sorosim.statics(robot, before.u[i], driven=driven, q0=before.q[i])
        expected = sorosim.statics(robot, u[i], driven=driven, q0=begin)
        assert_allclose(found.q[i], expected.q, atol=EQUAL * (1.0 + np.abs(expected.q).max()))
        assert_allclose(found.lam[i], expected.lam, rtol=1e-7, atol=1e-7 * np.abs(expected.lam).max(initial=1e-9))
        assert found.equilibrium(i).stable


@pytest.mark.parametrize(
    "name",
    ["cable_manipulator", "soft_gripper", "hybrid_parallel", "soft_gripper_parallel", "pneumatic_bellow", "vine"],
)
def test_equilibria_of_members_are_those_of_statics(name, rng):
    robot = sorosim.load(name)
    batch, n_inputs = sorosim.Batch(robot, 3, "10 ms", threads=2), len(robot.actuator_names)
    sizes = np.abs(robot.inputs({})) if n_inputs else np.zeros(0)
    sizes = 0.05 * np.ones(n_inputs) if not sizes.any() else sizes
    before, u = batch.statics(), np.zeros((3, n_inputs))
    for _ in range(2):
        u = u + sizes * rng.uniform(0.0, 1.0, (3, n_inputs))
        found = batch.statics(u)
        assert not len(found.searched)
        assert not found.failures
        check_members(batch, found, before, u)
        assert (found.residual_norm <= 1e-10 * (np.abs(u).max(initial=0.0) + 9.81 * robot.mass)).all()
        before = found


def test_far_inputs_are_reached_in_steps_along_the_curve():
    """Twelve newtons of one tendon twist and bend the arm by more than half of what it is."""
    robot = sorosim.load("cable_manipulator")
    batch, u = sorosim.Batch(robot, 2, "10 ms"), np.zeros((2, 5))
    before = batch.statics(u)
    u[:, 0] = 4.0, 12.0
    found = batch.statics(u)
    check_members(batch, found, before, u)
    assert np.abs(found.q - before.q).max() > 0.8


def test_equilibria_do_not_depend_on_threads_and_leave_members_where_they_are(rng):
    robot, u = sorosim.load("cable_manipulator"), rng.uniform(0.0, 1.0, (7, 5))
    results = []
    for threads in (1, 4):
        batch = sorosim.Batch(robot, 7, "10 ms", threads=threads)
        q, _ = batch.reset()
        results.append(batch.statics(u))
        assert_array_equal(batch.q, q)
        moved, _ = batch.step(u)
        other = sorosim.Batch(robot, 7, "10 ms", threads=threads)
        other.reset()
        assert_array_equal(moved, other.step(u)[0])  # steps know nothing of it
    assert_array_equal(results[0].q, results[1].q)


def test_members_with_numbers_of_their_own(rng):
    robot, path = sorosim.load("cable_manipulator"), "materials.silicone.young"
    batch = sorosim.Batch(robot, 3, "10 ms", numbers={path: [0.9e6, 1e6, 3e6]})
    u = rng.uniform(0.0, 0.5, (3, 5))
    found = batch.statics(u)
    for i, member in enumerate(batch.robots):
        expected = sorosim.statics(member, u[i], q0=sorosim.statics(member, np.zeros(5)))
        assert_allclose(found.q[i], expected.q, atol=EQUAL * (1.0 + np.abs(expected.q).max()))
    batch.replace(1, {path: 2e6})
    again, expected = batch.statics(u), sorosim.statics(batch.robots[1], u[1])
    assert_allclose(again.q[1], expected.q, atol=EQUAL * (1.0 + np.abs(expected.q).max()))
    assert_allclose(again.q[[0, 2]], found.q[[0, 2]], atol=EQUAL * (1.0 + np.abs(found.q).max()))


SWING = """
sorosim: 1
name: swing
links:
  arm:
    joint: {revolute: {axis: [0, 1, 0], damping: 1 N*mm*s/rad}}
    body: {mass: 1 kg, centre: [0, 0, -0.5], inertia: [1e-3, 1e-3, 1e-3]}
actuators:
  motor: {joint: {link: arm}}
"""


@pytest.fixture
def swing(tmp_path):
    """A pendulum with a motor: m g l sin(q) = u, as far as it goes."""
    file = tmp_path / "swing.yaml"
    file.write_text(SWING)
    return sorosim.load(file)


def test_equilibria_up_to_a_limit_load_and_what_is_beyond(swing):
    limit = 0.5 * 9.81  # m g l
    batch = sorosim.Batch(swing, 4, "10 ms")
    u = np.array([0.1, 0.9, 0.999, 1.1]) * limit
    found = batch.statics(u[:, None])
    assert list(found.failures) == [3]
    assert_allclose(found.q[:3, 0], np.arcsin(u[:3] / limit), rtol=1e-12)
    assert np.isnan(found.q[3]).all()
    assert np.isnan(found.residual_norm[3])
    assert 3 in found.searched
    with pytest.raises(ConvergenceError):
        found.equilibrium(3)
    again = batch.statics(0.5 * u[:, None])  # it begins anew
    assert not again.failures
    assert_allclose(again.q[:, 0], np.arcsin(0.5 * u / limit), rtol=1e-12)


@pytest.mark.parametrize("stiffness", [0.0, 0.2, 1.0])
def test_members_near_limit_loads_stay_on_their_curve(tmp_path, rng, stiffness):
    """There the first correction of Newton's method is as long as one likes: it must lead to no other branch."""
    file = tmp_path / "swing.yaml"
    file.write_text(SWING.replace("damping: 1 N*mm*s/rad", f"damping: 1 N*mm*s/rad, stiffness: {stiffness} N*m/rad"))
    n, limit = 400, 0.5 * 9.81
    q = np.pi * np.linspace(-0.4999, 0.4999, n) if not stiffness else rng.uniform(-9.0, 9.0, n)
    q = q[limit * np.cos(q) + stiffness > 0.0]  # stable ones
    batch = sorosim.Batch(sorosim.load(file), len(q), "10 ms", threads=1)
    batch.statics()
    rest, u = batch._rest, limit * np.sin(q) + stiffness * q
    batch._rest = copy.copy(rest)
    batch._rest.q, batch._rest.u = q[:, None].copy(), u[:, None].copy()
    target = rng.uniform(-limit, limit, len(q))
    found = batch.statics(target[:, None])
    taken = np.setdiff1d(np.arange(len(q)), found.searched)
    assert len(taken) > 0.5 * len(q)
    for i in taken:  # no limit load lies between: the stiffness is positive all the way
        way = np.linspace(q[i], found.q[i, 0], 2001)
        assert (limit * np.cos(way) + stiffness > 0.0).all()
        assert limit * np.sin(way[-1]) + stiffness * way[-1] == pytest.approx(target[i], abs=1e-12 * limit)


def test_members_have_driven_motions_of_their_own(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(
        SWING.replace("actuators:", "  bob:\n    parent: arm\n    joint: {revolute: {axis: [0, 1, 0]}}\n"
                      "    body: {mass: 1 kg, centre: [0.1, 0, -0.5], inertia: [1e-3, 1e-3, 1e-3]}\nactuators:")
        + "simulate: {driven: {bob: 0.3}}\n"
    )  # fmt: skip
    path = "simulate.driven.bob"
    batch = sorosim.Batch(sorosim.load(file), 2, "10 ms", numbers={path: [0.3, 0.6]})
    found = batch.statics()
    assert_allclose(found.q[:, 1], [0.3, 0.6])
    for i, angle in enumerate((0.3, 0.6)):
        assert_allclose(found.q[i], sorosim.statics(batch.robots[i], driven={"bob": angle}).q, atol=1e-12)
        assert found.equilibrium(i).q[1] == angle
    batch.replace(0, {path: 0.9})
    assert_allclose(batch.statics().q[:, 1], [0.9, 0.6])


def test_equilibria_that_are_not_shown_to_be_stable_are_searched(tmp_path):
    """A load that follows a beam has no potential."""
    file = tmp_path / "pushed.yaml"
    beam = "{rod: {length: 0.5, section: {circle: {radius: 5 mm}}, material: rubber, strain: {bending: 2}}}"
    file.write_text(
        "sorosim: 1\nname: pushed\n"
        "materials: {rubber: {young: 10 MPa, poisson: 0.5, density: 1100, damping: 1 kPa*s}}\n"
        f"links: {{beam: {beam}}}\nactuators: {{cord: {{tendon: {{rod: beam, y: 0, z: 4 mm}}}}}}\n"
        "loads: {jet: {wrench: {link: beam, s: 1, force: [0, 0.02 N, 0.02 N], frame: body}}}\n"
    )
    batch = sorosim.Batch(sorosim.load(file), 2, "10 ms")
    before, u = batch.statics(), np.array([[0.1], [0.2]])
    found = batch.statics(u)
    assert found.searched.tolist() == [0, 1]
    check_members(batch, found, before, u)
    assert sorted(found.messages) == [0, 1]


def test_robots_with_contacts_are_searched():
    batch = sorosim.Batch(sorosim.load("finray_grasp"), 1, "1 ms")
    found = batch.statics()
    assert found.searched.tolist() == [0]
    assert_array_equal(found.q[0], sorosim.statics(batch.robot, {}).q)


def test_what_is_implausible_is_said():
    batch = sorosim.Batch(sorosim.load("cable_manipulator"), 2, "10 ms")
    batch.statics()
    found = batch.statics([[0.0] * 5, [0.0, -1.0, 0.0, 0.0, 0.0]])
    assert 0 not in found.messages
    assert "slack" in found.messages[1]


def test_copies_remember_where_members_are_at_rest(swing):
    batch = sorosim.Batch(swing, 2, "10 ms")
    first = batch.statics([[1.0], [2.0]])
    twin = copy.copy(batch)
    twin.statics([[-1.0], [-2.0]])
    assert_array_equal(batch.statics([[1.0], [2.0]]).q, first.q)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda batch: batch.statics([[1.0], [np.nan]]), r"u\[1\].motor: expected a finite number, got nan"),
        (lambda batch: batch.statics({"engine": 1.0}), "engine"),
        (lambda batch: batch.statics(np.zeros((3, 1))), r"u: expected an array \(2, 1\) of inputs"),
        (lambda batch: batch.statics().equilibrium(2), "member"),
    ],
)
def test_what_is_wrong_is_one_error(swing, call, message):
    with pytest.raises(InputError, match=message):
        call(sorosim.Batch(swing, 2, "10 ms"))
