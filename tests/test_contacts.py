"""Contacts as a user meets them: in results and files, as events, in pictures, in warnings and in the doctor."""

import warnings

import h5py
import numpy as np
import pytest
from validation.contact_robots import body, floor, rod, touching

import sorosim
from sorosim.analysis.equations.contact_check import deep_contacts, estimate
from sorosim.studies.doctor import ODD, OK, examine
from sorosim.view.viz.movie import still
from sorosim.view.viz.scene import Scene


@pytest.fixture(scope="module")
def ball():
    links = {"ball": body((0, 0, 0.12), sphere={"radius": 0.1})}
    return touching(links, between="ball", **{"and": floor()}, stiffness=1e5, friction=0.3, damping=1.0)


@pytest.fixture(scope="module")
def run(ball):
    return sorosim.simulate(ball, 0.3, events=[ball.onset("touch"), ball.release("touch")])


def test_a_run_has_its_contacts(ball, run):
    history = run.contacts
    assert 0 < len(history.row) < len(run)
    k = int(history.row[0])
    row = history.at(k)
    assert row.n == 1
    assert (row.load, row.a, row.b) == (("touch",), ("'ball'",), ("the world",))
    np.testing.assert_allclose(row.normal, [[0, 0, 1]], atol=1e-14)
    depth = 0.1 - ball.pose(run.q[k], "ball")[2, 3]
    assert -row.gap[0] == pytest.approx(depth, rel=1e-9)
    np.testing.assert_allclose(row.position[0], [0, 0, -depth], atol=1e-12)
    assert history.at(0).n == 0


def test_contacts_and_events_are_in_the_file(ball, run, tmp_path):
    path = tmp_path / "run.h5"
    run.save(path)
    with h5py.File(path) as file:
        group = file["contacts"]
        assert set(group) == {"row", "load", "a", "b", "position", "normal", "gap", "force", "slip", "normal_force"}
        np.testing.assert_array_equal(group["force"][:], run.contacts.contacts.force)
    again = sorosim.open(path)
    np.testing.assert_array_equal(again.contacts.contacts.force, run.contacts.contacts.force)
    onset = run.events[0][0]
    assert len(onset) >= 1
    # it falls from 2 cm
    assert onset[0] == pytest.approx(np.sqrt(2 * 0.02 / 9.81), rel=1e-3)
    assert len(run.events[1][0]) >= 1


def test_an_equilibrium_keeps_what_sticks(tmp_path):
    turn = {"axis": [0, 1, 0], "angle": 0.2}
    links = {"block": body((0, 0, 0), turn=turn, box={"size": [0.2, 0.2, 0.04]})}
    below = {"position": [-0.0199 * np.sin(0.2), 0, -0.0199 * np.cos(0.2)], "rotation": turn}
    robot = touching(links, between="block", **{"and": {"half_space": {}, "at": below}}, friction=0.5, stiffness=1e6)
    eq = sorosim.statics(robot, sticking=robot.initial_q)
    np.testing.assert_allclose(eq.contacts.force.sum(axis=0), [0, 0, 9.81], atol=1e-7)
    eq.save(tmp_path / "eq.h5")
    again = sorosim.open(tmp_path / "eq.h5")
    np.testing.assert_allclose(again.contacts.force, eq.contacts.force, atol=1e-12)
    # and the next one begins with the same forces
    later = sorosim.statics(robot, q0=again, sticking=again)
    np.testing.assert_allclose(later.q, eq.q, atol=1e-9)


def test_events_of_unknown_contacts_are_refused(ball):
    with pytest.raises(sorosim.InputError, match="'tuch'; did you mean touch"):
        ball.onset("tuch")


def test_contacts_of_rows_and_links(ball, run):
    k = int(run.contacts.row[0])
    found = run.contacts.at(k)
    np.testing.assert_array_equal(found.position, run.contacts.at(k - len(run)).position)
    np.testing.assert_array_equal(found.force_on("ball"), found.force[0])
    np.testing.assert_array_equal(found.force_on("other"), np.zeros(3))
    np.testing.assert_array_equal(ball.contacts([0, 0, 0, 0, 0, 1.0]).force_on("ball"), np.zeros(3))
    for row in (len(run), -len(run) - 1):
        with pytest.raises(IndexError, match=f"row {row} of a run that has {len(run)}"):
            run.contacts.at(row)


@pytest.mark.parametrize("method", ["bdf", "generalized-alpha", "cvode"])
def test_what_begins_just_on_the_floor_touches_once(method):
    links = {"ball": body((0, 0, 0.1), {"prismatic": {"axis": [0, 0, 1]}}, sphere={"radius": 0.1})}
    robot = touching(links, between="ball", **{"and": floor()}, damping=10.0)
    found = sorosim.simulate(
        robot, 0.02, dt_out=1e-3, method=method, events=[robot.onset("touch"), robot.release("touch")]
    )
    assert len(found.events[0][0]) == 1
    assert len(found.events[1][0]) == 0
    assert found.t[-1] == 0.02


def test_what_friction_holds_is_stable():
    slope = floor(0.0, 0.2)
    links = {"b": body((0, 0, 0), box={"size": [0.1, 0.1, 0.1]}, turn={"axis": [0, 1, 0], "angle": 0.2})}
    links["b"]["at"]["position"] = [0.0499 * np.sin(0.2), 0, 0.0499 * np.cos(0.2)]
    robot = touching(links, between="b", **{"and": slope}, friction=0.6)
    held = sorosim.statics(robot, sticking=robot.initial_q)
    assert held.stable
    np.testing.assert_allclose(held.contacts.force_on("b"), [0, 0, 9.81], atol=1e-9)
    np.testing.assert_allclose(held.contacts.force_on("world"), [0, 0, -9.81], atol=1e-9)
    with pytest.raises(sorosim.InputError, match="a matrix"):
        robot.linearize(held.q, stiffness=np.eye(3))


def test_what_sticks_must_be_of_the_same_contacts(ball, run):
    links = {"ball": body((0, 0, 0.12), sphere={"radius": 0.1}), "other": body((1, 0, 0.12), sphere={"radius": 0.1})}
    other = touching(links, between=["ball", "other"], **{"and": floor()})
    with pytest.raises(sorosim.InputError, match="sticking: expected an equilibrium or a run with the same contacts"):
        sorosim.statics(other, sticking=run)


def test_following_keeps_the_inputs_that_are_not_given():
    robot = sorosim.load("cable_manipulator")
    start = sorosim.statics(robot, u={"cable1": 1.0, "cable2": 2.0})
    end = sorosim.follow(robot, start, u={"cable1": 1.5}, steps=1)[-1]
    np.testing.assert_allclose(end.u[:2], [1.5, 2.0])


def test_boxes_are_as_thick_as_they_are():
    """Not as their edges are round: neither the estimate of a stiffness nor what is called deep."""
    links = {"b": body((0, 0, 0.0495), box={"size": [0.2, 0.2, 0.1]})}
    robot = touching(links, between="b", **{"and": floor()})
    assert estimate(robot, "touch").depth == pytest.approx(1e-3)
    assert deep_contacts(robot, robot.initial_q) == []
    assert deep_contacts(robot, [0, 0, -0.02, 0, 0, 0]) != []


def test_the_doctor_examines_what_cannot_move():
    links = {"b": body((0, 0, 0.2), "fixed", sphere={"radius": 0.1})}
    assert {finding.level for finding in examine(touching(links, between="b", **{"and": floor()}))} == {OK}


def test_gaps_within_an_absurd_reach_are_refused():
    balls = {f"b{k}": body((k, 0, 0), sphere={"radius": 0.1}) for k in range(90)}
    robot = touching(balls, among=list(balls))
    assert robot.contact_gaps(robot.initial_q, 1.0) == {"touch": pytest.approx(0.8)}
    with pytest.raises(sorosim.SorosimError, match="a smaller reach"):
        robot.contact_gaps(robot.initial_q, 1e3)


def test_a_deep_start_is_warned_of():
    robot = touching({"ball": body((0, 0, 0.05), sphere={"radius": 0.1})}, between="ball", **{"and": floor()})
    with pytest.warns(sorosim.SorosimWarning, match=r"loads.touch: 'ball' is 50 mm inside the world.*apart"):
        sorosim.simulate(robot, 0.01)


def test_a_start_apart_is_not(ball):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sorosim.simulate(ball, 0.01)
    assert [warning for warning in found if issubclass(warning.category, sorosim.SorosimWarning)] == []


def test_the_doctor_estimates_a_stiffness(ball):
    (found,) = (finding for finding in examine(ball) if finding.where == "loads.touch")
    assert found.level == OK
    assert "deep under the weight of 9.81 N" in found.what
    k = estimate(ball, "touch")
    assert k.weight == pytest.approx(9.81)
    assert k.sinks == pytest.approx((9.81 / 1e5) ** (2 / 3))
    assert k.least == pytest.approx(9.81 / 0.002**1.5, rel=1e-6)
    assert not np.isfinite(k.most)  # nothing elastic


def test_the_doctor_finds_contacts_that_are_too_soft_or_deep():
    links = {"rod": rod((0, 0, 0.004), "fixed")}
    robot = touching(links, between="rod", **{"and": floor()}, stiffness=10.0)
    found = [finding for finding in examine(robot) if finding.where == "loads.touch"]
    assert [finding.level for finding in found] == [ODD, ODD]
    assert "6 mm inside" in found[0].what
    assert "take about" in found[1].remedy


def test_the_doctor_tells_of_rods_that_are_not_round():
    links = {"rod": rod((0, 0, 0.05), "fixed")}
    links["rod"]["rod"]["section"] = {"rectangle": {"y": 0.01, "z": 0.02}}
    found = [finding for finding in examine(touching(links, between="rod", **{"and": floor()})) if finding.level == OK]
    assert any(finding.what.startswith("not round") and finding.what.endswith(": rod") for finding in found)
    given = touching(links, between={"link": "rod", "radius": 0.004}, **{"and": floor()})
    assert not any("not round" in finding.what for finding in examine(given))


def test_following_needs_something_to_follow(ball, run):
    with pytest.raises(sorosim.InputError, match="an Equilibrium or a Run"):
        sorosim.follow(ball, np.zeros(6))
    with pytest.raises(sorosim.InputError, match=r"steps: expected a whole number from 1 to 1000000, got 2\.5"):
        sorosim.follow(ball, run, steps=2.5)


def test_a_way_that_ends_is_told():
    """A ball pressed by a jaw, which goes where the ball cannot."""
    links = {
        "ball": body((0, 0, 0.1), {"prismatic": {"axis": [1, 0, 0]}}, sphere={"radius": 0.1}),
        "jaw": body((0.2, 0, 0.1), {"prismatic": {"axis": [1, 0, 0]}}, sphere={"radius": 0.1}),
    }
    wall = {"half_space": {}, "at": {"position": [-0.1, 0, 0], "rotation": {"axis": [0, 1, 0], "angle": np.pi / 2}}}
    robot = touching(links, between="ball", **{"and": ["jaw", wall]}, stiffness=1e6)
    start = sorosim.statics(robot, driven={"jaw": -1e-4}, q0=[-5e-5, -1e-4])
    found = sorosim.follow(robot, start, driven={"jaw": -1e-3}, steps=4)
    assert len(found) >= 4
    # the two contacts share the way
    np.testing.assert_allclose(found[-1].contacts.gap, -5e-4, rtol=1e-9)


def test_pictures_show_what_is_touched(run, tmp_path):
    still(run, tmp_path / "run.png", size=(320, 240))
    assert (tmp_path / "run.png").stat().st_size > 2000
    with Scene(run.robot, size=(320, 240)) as scene:
        scene.fit_run(run)
        k = int(run.contacts.row[0])
        scene.update(run.q[k], t=float(run.t[k]))
        assert {"obstacle0", "forces"} <= set(scene.plotter.actors)
        with_arrows = scene.image()
        scene.change(contacts=False)
        assert "forces" not in scene.plotter.actors
        assert np.abs(with_arrows.astype(float) - scene.image()).max() > 30


@pytest.mark.parametrize(
    "obstacle",
    [
        {"plane": {}}, {"pole": {"radius": 0.05}}, {"pipe": {"radius": 0.5, "length": 1.0}}, {"bowl": {"radius": 0.5}},
        {"box": {"size": [0.1, 0.1, 0.1]}}, {"capsule": {"radius": 0.05, "length": 0.1}},
        {"height_field": {"heights": np.zeros((5, 4)).tolist(), "size": [1, 1]}},
    ],
    ids=lambda given: next(iter(given)),
)  # fmt: skip
def test_every_obstacle_is_drawn(obstacle):
    robot = touching({"ball": body((0, 0, 0.3), sphere={"radius": 0.1})}, between="ball", **{"and": obstacle})
    with Scene(robot, size=(160, 120)) as scene:
        scene.fit(np.zeros((1, 6)))
        scene.update(np.zeros(6))
        assert "obstacle0" in scene.plotter.actors


def test_contacts_are_arrays_that_names_choose_from():
    robot = sorosim.load("gripper_grasps_sphere")
    run = sorosim.simulate(robot, t_end=0.02, dt_out=0.01)
    at = run.contacts.contacts
    assert all(len(values) == at.n for values in at)
    for name in dict.fromkeys(at.load.tolist()):
        mask = at.load == name
        np.testing.assert_array_equal(at.of(name).force, at.force[mask])
        assert mask.sum() == at.of(name).n > 0
        own = run.contacts.of(name)  # of all rows, and of one
        np.testing.assert_array_equal(own.contacts.force, at.of(name).force)
        np.testing.assert_array_equal(own.at(-1).force, run.contacts.at(-1).of(name).force)
        assert own.n_rows == run.contacts.n_rows
    assert at.of("nothing").n == run.contacts.of("nothing").contacts.n == 0
