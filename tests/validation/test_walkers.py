"""Legged robots of other people's files, as `docs/how_to/walk.md` has them: what carries, closes, walks and pays."""

import numpy as np
import pytest
from helpers.real_robots import MISSING, robot_data
from numpy.testing import assert_allclose
from test_documents import REPO, blocks

import sorosim

pytestmark = [pytest.mark.slow, pytest.mark.skipif(robot_data() is None, reason=MISSING)]
LOOSE = {f"links.{side}-plantar-rod.joint": {"universal": {"axis": [0, 0, 1]}} for side in ("left", "right")}


@pytest.fixture
def load(tmp_path):
    """A function that loads a robot of the page, without its pictures."""
    (tmp_path / "example-robot-data").symlink_to(robot_data().parent)
    for block in blocks(REPO / "docs" / "how_to" / "walk.md"):
        if block.caption:
            (tmp_path / block.caption).write_text(block.text, encoding="utf-8")
    return lambda name, **changes: sorosim.load(tmp_path / f"{name}.yaml", set={"import.visual": False, **changes})


def test_a_quadruped_stands_on_its_feet_and_its_servos_hold_the_moments_of_their_forces(load):
    robot = load("walker")
    stand = sorosim.statics(robot)
    force = stand.contacts.force
    assert_allclose(force.sum(axis=0), [0.0, 0.0, 9.81 * robot.mass], atol=1e-6)
    assert len(force) == 4
    assert (force[:, 2] > 20.0).all()
    touching = zip(stand.contacts.a, stand.contacts.position, force, strict=True)
    feet = {str(one)[1:3]: (position, push) for one, position, push in touching}
    for name in robot.actuator_names:
        # virtual work of weight and floor as the joint turns, by differences
        column, link = robot.coordinate_names.index(f"{name}.revolute"), f"{name[:2]}_calf"
        h, (foot, push) = 1e-6 * np.eye(robot.ndof)[column], feet[name[:2]]
        weight = [robot.energy(q, 0 * q).gravity for q in (stand.q + h, stand.q - h)]
        toe = np.linalg.solve(robot.pose(stand.q, link), [*foot, 1.0])
        places = [(robot.pose(q, link) @ toe)[:3] for q in (stand.q + h, stand.q - h)]
        needed = (weight[0] - weight[1] - push @ (places[0] - places[1])) / 2e-6
        u = float(robot.description.statics["u"].get(name, 0.0))
        servo = robot.description.actuators[name]
        assert servo.effort(robot.engine.layout, u, stand.q[column], 0.0) == pytest.approx(needed, abs=1e-5)


@pytest.mark.parametrize(("stride", "least", "most"), [(0.038, -0.1, 0.1), (0.15, 0.5, 1.0)])
def test_a_quadruped_trots_upright_in_place_and_ahead(load, stride, least, most):
    run = sorosim.simulate(load("walker", **{"parameters.stride": stride}))
    way, tilt = run.positions("base"), np.degrees(run.readings["attitude"].values[:, :2])
    assert run.t[-1] == 3.0
    assert abs(tilt).max() < 6.0
    assert_allclose(way[20:, 2], 0.3, atol=0.02)
    assert np.ptp(way[:, 1]) < 0.05
    assert least < way[-1, 0] < most
    # diagonal legs swing together: the same two are in the air
    touching = [frozenset(run.contacts.at(k).a) for k in range(100, 300)]
    pairs = [frozenset({f"'{a}_calf'", f"'{b}_calf'"}) for a, b in (("FL", "RR"), ("FR", "RL"))]
    assert all(touching.count(pair) > 20 for pair in pairs)


def test_the_servos_of_a_trot_pay_for_what_it_dissipates(load):
    """Their work by the trapezoidal rule over the rows is that of the run, whose energy balances."""
    robot = load("walker", **{"simulate.dt_out": "1 ms"})
    run = sorosim.simulate(robot, 1.5)
    servos = [robot.description.actuators[name] for name in robot.actuator_names]
    columns = [robot.coordinate_names.index(f"{name}.revolute") for name in robot.actuator_names]
    power = [
        sum(
            servo.effort(robot.engine.layout, u[k], q[i], qd[i]) * qd[i]
            for k, (servo, i) in enumerate(zip(servos, columns, strict=True))
        )
        for u, q, qd in zip(run.u, run.q, run.qd, strict=True)
    ]
    energy = run.energy()
    work = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(run.t) * np.add(power[1:], power[:-1]))])
    assert_allclose(energy.work, work, atol=0.02 * energy.turnover)
    assert abs(energy.balance).max() < 0.005 * energy.turnover
    assert energy.dissipated[-1] > 5.0


def test_a_cassie_stands_with_its_loops_closed_and_stays(load):
    robot = load("cassie", **LOOSE)
    assert len(robot.loop_names) == 4
    stand = sorosim.statics(robot)
    assert_allclose(stand.contacts.force.sum(axis=0), [0.0, 0.0, 9.81 * robot.mass], atol=1e-6)
    assert max(max(gap) for gap in robot.loop_gaps(stand.q).values()) < 1e-10
    run = sorosim.simulate(robot, 0.5, q0=stand, u=robot.description.statics["u"], method="generalized-alpha")
    assert_allclose(run.q, np.tile(stand.q, (len(run.t), 1)), atol=1e-8)


def test_a_cassie_that_is_dropped_lands_on_its_feet_and_comes_to_rest(load):
    robot = load("cassie", **LOOSE)
    start = sorosim.assemble(robot).q
    start[2] += 0.01 - robot.contact_gaps(start)["floor"]
    run = sorosim.simulate(robot, 3.0, q0=start, u=robot.description.statics["u"], method="generalized-alpha")
    assert max(gap.max() for gap in run.drift.values()) < 1e-10
    late = run.t > 2.5
    weight = [run.contacts.at(k).force[:, 2].sum() for k in np.flatnonzero(late)]
    assert_allclose(np.mean(weight), 9.81 * robot.mass, rtol=2e-3)
    assert abs(run.qd[late]).max() < 0.1
    assert abs(run.q[-1, 3:6]).max() < 0.05
    assert abs(run.energy().balance).max() < 0.01 * run.energy().turnover
