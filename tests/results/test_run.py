"""What a run is asked for: single rows, tables for other programs, what its joints carry."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.io
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import InputError
from sorosim.files import load_text
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.robot import Robot

LONG = "b" * 58
BODY = "body: {mass: 1, centre: [0.3, 0, 0], inertia: [0.01, 0.02, 0.02]}"
CHAIN = f"""sorosim: 1
name: chain
links:
  _a: {{joint: {{prismatic: {{axis: [0, 0, 1]}}}}, {BODY}}}
  {LONG}: {{parent: _a, at: {{position: [0.5, 0, 0]}}, joint: {{universal: {{axis: [0, 1, 0]}}}}, {BODY}}}
  c: {{parent: {LONG}, at: {{position: [0.5, 0, 0]}}, joint: {{revolute: {{axis: [0, 1, 0]}}}}, {BODY}}}
simulate: {{t_end: 0.05, driven: {{_a: 0.1*t^2, {LONG}.universal.second: 0.1*t}}}}
"""
FREE = """sorosim: 1
name: thing
links:
  a: {joint: free, body: {mass: 2, centre: [0.1, 0.2, 0], inertia: [1, 1, 1]}}
  b: {parent: a, joint: {planar: {axis: [0, 1, 0]}}, body: {mass: 1, inertia: [1, 1, 1]}}
  c: {parent: a, joint: {universal: {axis: [0, 1, 0]}}, body: {mass: 1, inertia: [1, 1, 1]}}
"""
ENDS = ("tx", "ty", "tz", "rx", "ry", "rz")


@pytest.fixture(scope="module")
def run():
    return sorosim.simulate(load_text(CHAIN, "robot.yaml"))


def test_a_number_picks_one_row(run):
    for i in (3, -1, np.int64(2)):
        row = run[i]
        assert len(row) == 1
        assert_array_equal(row.q, run.q[[i]])
        assert_array_equal(row.driven["_a"], run.driven["_a"][[i]])
        assert row.tip().shape == (1, 3)
        assert row.energy().balance == [0.0]
    assert [part.t[0] for part in run] == run.t.tolist()
    with pytest.raises(IndexError):
        run[len(run)]
    with pytest.raises(TypeError):
        run[0.5]


def test_tables_hold_what_driven_coordinates_needed(run, tmp_path):
    run.to_csv(tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    assert header[-2:] == ["force(_a)", f"moment({LONG}.universal.second)"]
    assert len(set(header)) == len(header) == 1 + 2 * run.robot.ndof + 2
    table = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    assert_array_equal(table[:, -2], run.driven["_a"])
    replace(run, lam=np.ones((len(run), 2))).to_csv(tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text().splitlines()[0].endswith(".second),lam[0],lam[1]")


def test_matlab_files_hold_names_of_any_length(run, tmp_path):
    run.to_mat(tmp_path / "run.mat")
    mat = scipy.io.loadmat(tmp_path / "run.mat", simplify_cells=True)
    assert list(mat["driven_names"]) == list(run.driven)
    assert_array_equal(mat["driven"], np.stack(list(run.driven.values()), axis=1))
    assert mat["lam"].size == 0


@pytest.mark.parametrize("angle", [0.0, 1.0, 3.0])
def test_the_wrench_in_a_free_joint_is_the_weight(angle):
    robot = Robot(Description("thing", load_text(FREE, "robot.yaml").links[:1]))
    held = dict(zip((f"a.free.{end}" for end in ENDS), [0.1, 0.2, 0.3, 0.3 * angle, angle, 0.0], strict=True))
    eq = sorosim.statics(robot, driven=held)
    wrench = robot.joint_wrench(eq.q, "a", tau=[eq.driven[name] for name in held])
    R = robot.pose(eq.q, "a")[:3, :3]
    assert_allclose(R @ wrench[:3], [0.0, 0.0, 19.62], atol=1e-9)
    assert_allclose(R @ wrench[3:], np.cross(R @ [0.1, 0.2, 0.0], [0.0, 0.0, 19.62]), atol=1e-9)


def test_the_wrench_does_the_work_of_the_generalised_forces(rng):
    robot = load_text(FREE, "robot.yaml")
    q, qd, tau = rng.normal(size=(3, robot.ndof))
    assert_array_equal(robot.joint_wrench(q, "c", tau=tau[9:11]), tau[9:11])
    # of the planar joint: the twist along its directions, in the moved frame
    P = np.vstack([stage.columns for stage in robot.links[1].joint.stages])
    twist = P @ robot.jacobian(q, "b")[:, 6:9] @ qd[6:9]
    assert_allclose(robot.joint_wrench(q, "b", tau=tau[6:9]) @ twist, tau[6:9] @ qd[6:9], rtol=1e-12)


def test_the_wrench_is_refused_where_it_cannot_be_told():
    robot = load_text(FREE, "robot.yaml")
    q = np.zeros(robot.ndof)
    with pytest.raises(InputError, match="tau: expected 6 numbers"):
        robot.joint_wrench(q, "a", tau=[1.0])
    with pytest.raises(InputError, match="link: expected the name of a link, got 'd'"):
        robot.joint_wrench(q, "d", tau=np.zeros(6))
    q[4] = 2.0 * np.pi
    with pytest.raises(InputError, match=r"got a rotation of 'a' by 6\.28318531 rad, a whole turn; "):
        robot.joint_wrench(q, "a", tau=np.ones(6))


def test_a_state_without_places_at_the_end_of_a_run_that_stopped_has_a_tip_of_nan():
    run = sorosim.simulate(sorosim.load("cable_manipulator"), 0.02)
    q = np.vstack([run.q, np.full(run.q.shape[1], 1e200)])
    stopped = replace(run, t=np.append(run.t, 0.03), q=q, qd=np.vstack([run.qd, run.qd[-1:]]))
    assert_allclose(stopped.tip()[:-1], run.tip(), rtol=0, atol=0)
    assert stopped.tip().shape == (len(run.t) + 1, 3)
    assert not np.isfinite(stopped.tip()[-1]).all()
    link = run.robot.outputs.places[0][0]
    assert_allclose(run.tip(), [run.robot.pose(one, link)[:3, 3] for one in run.q], atol=1e-15)
