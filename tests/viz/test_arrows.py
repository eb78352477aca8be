"""Arrows: which wrenches they show, where they end, and that their scale is what the picture says."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import sorosim
from sorosim.base.errors import SorosimError
from sorosim.files import load_text
from sorosim.mechanics.engine import tasks as task
from sorosim.view.viz import offscreen
from sorosim.view.viz.actors import _arrow_meshes
from sorosim.view.viz.arrows import HEAD, LONGEST, ArrowScale, arrow_triangles, scale_for
from sorosim.view.viz.motion import motion_of
from sorosim.view.viz.options import CONTACTS, GRAVITY, JOINTS, LOADS
from sorosim.view.viz.scene import SQUARE, Scene
from sorosim.view.viz.wrenches import Wrench, Wrenches, centre_of_mass, wrenches_at

SMALL = (320, 240)

# a pushed and turned block on a slider, with a motor at a hinge of a lever
MACHINE = """
sorosim: 1
name: machine
links:
  block:
    joint: {prismatic: {axis: [1, 0, 0]}}
    body: {mass: 2 kg, inertia: [0.01, 0.01, 0.01]}
    frames: {corner: {position: [0, 0.1, 0.2]}}
  lever:
    parent: block
    at: {position: [0, 0, 0.3]}
    joint: {revolute: {axis: [0, 1, 0]}}
    body: {mass: 1 kg, centre: [0.2, 0, 0], inertia: [0.001, 0.01, 0.01]}
actuators:
  motor: {joint: {link: lever}}
loads:
  push: {wrench: {link: block, at: {frame: corner}, force: [3*t, 0, -1], moment: [0, 0.5, 0], frame: world}}
"""


@pytest.fixture(scope="module")
def machine():
    return load_text(MACHINE, "machine.yaml")


@pytest.fixture(scope="module")
def run(machine):
    t = np.linspace(0.0, 1.0, 5)
    q = np.outer(t, [0.4, 0.6])
    return SimpleNamespace(
        robot=machine,
        t=t,
        q=q,
        qd=np.zeros((5, 2)),
        u=2.0 * t[:, None],
        lam=np.zeros((5, 0)),
        driven={"block": 7.0 * t},
    )


def found(result, t, *kinds, q=None):
    motion = motion_of(result)
    k = int(np.argmin(np.abs(motion.t - t)))
    return wrenches_at(motion.robot, motion, motion.q[k] if q is None else q, motion.u[k], t, kinds)


# -- wrenches


def test_a_load_acts_at_its_point(run):
    one = found(run, 0.5, LOADS)
    assert one.name == ("push",)
    assert_allclose(one.position[0], [0.2, 0.1, 0.2], atol=1e-15)
    assert_allclose(one.force[0], [1.5, 0.0, -1.0], atol=1e-14)
    assert_allclose(one.moment[0], [0.0, 0.5, 0.0], atol=1e-14)


def test_a_spring_pulls_both_of_its_ends_along_the_line_between_them():
    text = MACHINE.replace(
        "loads:", "  free: {joint: {free: {}}, body: {mass: 1 kg, inertia: [0.1, 0.1, 0.1]}}\nloads:", 1
    )
    text = text[: text.index("actuators:")] + text[text.index("  free:") : text.index("loads:")] + "loads:\n"
    text += "  band: {spring: {from: {link: lever, at: {position: [0.1, 0, 0]}}, "
    text += "to: {link: free, at: {position: [0, 0.2, 0]}}, stiffness: 10 N/m, rest: 0.1}}\n"
    robot = load_text(text, "band.yaml")
    q = 0.2 * np.random.default_rng(3).normal(size=robot.ndof)
    one = wrenches_at(robot, None, q, None, None, (LOADS,))
    ends = [robot.pose(q, "lever") @ [0.1, 0, 0, 1], robot.pose(q, "free") @ [0, 0.2, 0, 1]]
    order = np.argsort([np.linalg.norm(p - ends[0][:3]) for p in one.position])
    assert_allclose(one.position[order], np.array(ends)[:, :3], atol=1e-12)
    line = (ends[1] - ends[0])[:3]
    pull = 10.0 * (np.linalg.norm(line) - 0.1) * line / np.linalg.norm(line)
    assert_allclose(one.force[order], [pull, -pull], atol=1e-12)
    assert_allclose(one.moment, 0.0, atol=1e-12)


def test_the_weight_acts_at_the_centre_of_mass(run):
    one = found(run, 0.5, GRAVITY)
    centre, mass = centre_of_mass(run.robot, run.q[2])
    assert_allclose(one.position[0], centre)
    assert_allclose(one.force[0], [0.0, 0.0, -9.81 * 3.0])
    assert mass == pytest.approx(3.0)


def test_motors_and_driven_coordinates_act_on_their_links(run):
    both = found(run, 1.0, JOINTS)
    by_name = dict(zip(both.name, zip(both.position, both.force, both.moment, strict=True), strict=True))
    position, force, moment = by_name["block"]
    assert_allclose(position, [0.4, 0.0, 0.0], atol=1e-15)
    assert_allclose(force, [7.0, 0.0, 0.0], atol=1e-14)
    assert_allclose(moment, 0.0)
    position, force, moment = by_name["lever"]
    assert_allclose(position, [0.4, 0.0, 0.3], atol=1e-15)
    assert_allclose(moment, [0.0, 2.0, 0.0], atol=1e-14)
    assert_allclose(force, 0.0)


@pytest.mark.parametrize("name", ["hybrid_parallel", "fin_ray", "slider_crank"])
def test_wrenches_of_loops_do_the_work_of_their_multipliers(name):
    robot = sorosim.load(name)
    eq = sorosim.statics(robot, u={}) if name != "fin_ray" else sorosim.statics(robot, driven={"right1": 0.003})
    one = wrenches_at(robot, motion_of(eq), eq.q, eq.u, None, (JOINTS, LOADS, GRAVITY))
    assert set(one.name) >= set(robot.loop_names)
    assert np.linalg.norm(one.force, axis=1).max() > 1e-3
    for k, loop in enumerate(robot.loop_names):
        w = eq.loop_wrench(loop)
        n = one.name.index(loop)
        assert_allclose(np.linalg.norm(one.force[n]), np.linalg.norm(w[3:]), rtol=1e-12)
        assert_allclose(np.linalg.norm(one.moment[n]), np.linalg.norm(w[:3]), rtol=1e-12, atol=1e-15)
        # the generalised force of the loop is A^T lam; that of the drawn wrench uses Jacobians of its two frames
        assert_allclose(work_of_loop(robot, eq.q, k, one.position[n], one.force[n], one.moment[n]),
                        constraint_force(robot, eq, k), atol=1e-9 * max(1.0, np.abs(eq.lam).max()))  # fmt: skip


def constraint_force(robot, eq, k):
    """Generalised force of one loop, by its rows of the constraint matrix."""
    zero = np.zeros(robot.ndof)
    rows = robot.engine.loop_layout.rows[robot.loop_names[k]]
    only = np.zeros(robot.n_multipliers)
    only[rows] = eq.lam[rows]
    evaluate = robot.engine.evaluate
    with_it, without = (evaluate(task.RESIDUAL, eq.q, zero, zero, eq.u, multiplier=x).tau for x in (only, 0 * only))
    return -(with_it - without)


def work_of_loop(robot, q, k, position, force, moment):
    """The same from a wrench at a point of the world, on the link of frame a and reversed on that of frame b."""
    loop, out = robot.description.loops[robot.loop_names[k]], np.zeros(robot.ndof)
    for anchor, sign in ((loop.a, 1.0), (loop.b, -1.0)):
        if anchor.link == "world":
            continue
        J, g = robot.jacobian(q, anchor.link, s=anchor.s), robot.pose(q, anchor.link, s=anchor.s)
        R, p = g[:3, :3], g[:3, 3]
        out += sign * ((R @ J[:3]).T @ (moment + np.cross(position - p, force)) + (R @ J[3:]).T @ force)
    return out


def test_a_universal_joint_shows_moments_about_its_axes():
    robot = load_text(
        """
sorosim: 1
name: gimbal
links:
  arm: {joint: {universal: {axis: [1, 0, 0], second_axis: [0, 1, 0]}}, body: {mass: 1 kg, inertia: [0.1, 0.1, 0.1]}}
actuators:
  first: {joint: {link: arm, along: first}}
  second: {joint: {link: arm, along: second}}
""",
        "gimbal.yaml",
    )
    eq = SimpleNamespace(robot=robot, q=np.array([0.3, 0.4]), u=np.array([2.0, 5.0]))
    one = wrenches_at(robot, motion_of(eq), eq.q, eq.u, None, (JOINTS,))
    assert_allclose(one.moment[0], [2.0, 5.0 * np.cos(0.3), 5.0 * np.sin(0.3)], atol=1e-12)


def test_a_servo_shows_its_effort():
    robot = load_text(
        MACHINE.replace("{joint: {link: lever}}", "{servo: {link: lever, stiffness: 10 N*m/rad, limit: 4 N*m}}"),
        "machine.yaml",
    )
    eq = SimpleNamespace(robot=robot, q=np.array([0.0, 0.1]), u=np.array([0.4]))
    one = wrenches_at(robot, motion_of(eq), eq.q, eq.u, None, (JOINTS,))
    assert_allclose(one.moment[0], [0.0, 4.0 * np.tanh(3.0 / 4.0), 0.0], atol=1e-12)


def test_the_servo_of_a_ball_shows_its_moment_about_an_axis_of_the_link():
    text = MACHINE.replace("{joint: {link: lever}}", "{servo: {link: lever, along: ry, stiffness: 10 N*m/rad}}")
    robot = load_text(text.replace("{revolute: {axis: [0, 1, 0]}}", "spherical"), "machine.yaml")
    eq = SimpleNamespace(robot=robot, q=np.array([0.0, 0.5, 0.0, 0.0]), u=np.array([0.8]))
    one = wrenches_at(robot, motion_of(eq), eq.q, eq.u, None, (JOINTS,))
    R = Rotation.from_rotvec([0.5, 0.0, 0.0])
    left = (R.inv() * Rotation.from_rotvec([0.0, 0.8, 0.0])).as_rotvec()
    assert_allclose(one.moment[0], 10.0 * left[1] * R.apply([0.0, 1.0, 0.0]), atol=1e-12)


# -- their shapes


def test_arrows_begin_and_end_where_they_should():
    rng = np.random.default_rng(1)
    starts, vectors = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    for heads in (1, 2):
        points, normals, faces = arrow_triangles(starts, vectors, 0.05, heads)
        own = points.reshape(5, -1, 3) - starts[:, None]
        length = np.linalg.norm(vectors, axis=1)
        along = np.einsum("nki,ni->nk", own, vectors / length[:, None])
        assert_allclose(along.min(axis=1), 0.0, atol=1e-15)
        assert_allclose(along.max(axis=1), length, rtol=1e-14)
        tip = own[np.arange(5), along.argmax(axis=1)]
        assert_allclose(tip, vectors, atol=1e-14)
        across = np.linalg.norm(own - along[..., None] * (vectors / length[:, None])[:, None], axis=2)
        assert_allclose(across.max(axis=1), 0.025, rtol=1e-12)
        # the widest places: as many as heads
        for k in range(5):
            wide = along[k][across[k] > 0.024]
            assert_allclose(np.unique(wide.round(9)), length[k] - 0.05 * HEAD * np.arange(heads, 0, -1), atol=1e-8)
        # closed and turned outwards: the volume of triangles is positive, and normals agree with them
        a, b, c = points[faces].transpose(1, 0, 2)
        flat = np.cross(b - a, c - a)
        agree = np.einsum("ki,ki->k", flat, normals[faces].mean(axis=1))
        assert agree[np.linalg.norm(flat, axis=1) > 1e-12].min() > 0.0


def test_short_arrows_have_smaller_heads():
    points, _, _ = arrow_triangles(np.zeros((1, 3)), np.array([[0.01, 0.0, 0.0]]), 0.05, 2)
    assert_allclose([points[:, 0].min(), points[:, 0].max()], [0.0, 0.01], atol=1e-15)
    assert np.abs(points[:, 1:]).max() < 0.005


@pytest.mark.parametrize("largest", [3.1e-9, 0.004, 0.7, 1.0, 4.99, 5.01, 77.0, 1.3e5])
@pytest.mark.parametrize("size", [0.03, 0.4, 17.0])
def test_scales_are_round_and_use_the_room(largest, size):
    scale = scale_for(largest, size)
    longest = scale.metres(largest)
    assert 0.45 * LONGEST * size < longest <= LONGEST * size * (1.0 + 1e-9)
    for number in (scale.length, scale.value):
        mantissa = float(f"{number:e}".split("e")[0])
        assert min(abs(mantissa - k) for k in (1.0, 2.0, 2.5, 4.0, 5.0)) < 1e-9
    assert scale_for(0.0, size) is None


def test_one_impact_does_not_shrink_the_arrows_of_a_motion():
    """Of 100 moments with 2 N one has 500 N: its arrow is cut, in its direction, and the label says so."""

    def acting(force):
        return Wrenches.of([Wrench(LOADS, "push", np.zeros(3), np.array(force), np.zeros(3))])

    usual, impact = acting([0.0, 0.0, 2.0]), acting([300.0, 400.0, 0.0])
    with_it, without = ArrowScale([usual] * 99 + [impact], 1.0), ArrowScale([usual] * 99, 1.0)
    assert next(with_it.arrows(usual)).vectors.tolist() == next(without.arrows(usual)).vectors.tolist()
    (arrows,) = with_it.arrows(impact)
    assert_allclose(arrows.vectors, [[0.6 * LONGEST, 0.8 * LONGEST, 0.0]], rtol=1e-12)
    assert with_it.label == f"{without.label} (impacts of up to 500 N are cut)"
    # what acts often is no impact
    assert ArrowScale([usual] * 9 + [impact], 1.0).largest[0] == pytest.approx(500.0)


def test_arrows_of_contacts_end_where_they_act_and_small_ones_are_left_out():
    wrenches = [
        Wrench(CONTACTS, "floor", np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 8.0]), np.zeros(3)),
        Wrench(LOADS, "push", np.array([2.0, 0.0, 0.0]), np.array([0.0, 4.0, 0.0]), np.array([0.0, 0.0, 3.0])),
        Wrench(LOADS, "tiny", np.array([3.0, 0.0, 0.0]), np.array([0.0, 0.01, 0.0]), np.zeros(3)),
    ]
    one = Wrenches.of(wrenches)
    try:
        offscreen.require_rendering()
    except SorosimError as error:
        pytest.skip(str(error))
    arrows = ArrowScale([one], 1.0)
    meshes = dict(_arrow_meshes(arrows, one))
    force, moment = np.array(meshes["forces"].points), np.array(meshes["moments"].points)
    assert force[:, 0].max() < 2.5
    contact, push = force[: len(force) // 2], force[len(force) // 2 :]
    assert_allclose([contact[:, 2].min(), contact[:, 2].max()], [-arrows.force.metres(8.0), 0.0], atol=1e-6)
    assert_allclose([push[:, 1].min(), push[:, 1].max()], [0.0, arrows.force.metres(4.0)], atol=1e-6)
    assert_allclose(moment[:, 2].max(), arrows.moment.metres(3.0), atol=1e-6)
    said = re.fullmatch(r"arrows: (\S+) cm = (\S+) N, two heads: (\S+) cm = (\S+) N m", arrows.label)
    assert float(said[1]) / 100.0 / float(said[2]) * 8.0 == pytest.approx(arrows.force.metres(8.0))


def test_moments_that_are_rounding_are_no_arrows():
    for moment, shown in ((1e-7, False), (1e-2, True)):
        wrench = Wrench(LOADS, "push", np.zeros(3), np.array([0.0, 4.0, 0.0]), np.array([0.0, 0.0, moment]))
        arrows = ArrowScale([Wrenches.of([wrench])], 0.5)
        assert (arrows.moment is not None) == shown
        assert arrows.force is not None


# -- in a scene


def named(scene):
    """What the legend says, beside squares of colours."""
    actors = [actor for actor in scene.plotter.actors.values() if hasattr(actor, "input")]
    return [
        actor.input
        for actor in actors
        if actor.prop.justification_vertical == "top" and actor.position[0] > 0.5 and actor.input != SQUARE
    ]


def test_arrows_in_a_scene_have_one_scale_over_the_run_and_follow_it(run):
    try:
        offscreen.require_rendering()
    except SorosimError as error:
        pytest.skip(str(error))
    with Scene(run.robot, size=SMALL, loads=True, joints=True) as scene:
        scene.fit_run(run)
        said = scene.annotations.text("scale")
        assert said.startswith("arrows: ")
        assert named(scene) == ["loads", "joints and loops"]
        scale = scene.arrow_scale.force
        for k in (1, 4):
            scene.update(run.q[k], run.u[k], run.t[k])
            assert scene.annotations.text("scale") == said
            points = np.array(scene.plotter.actors["forces"].mapper.dataset.points)
            # the driven force along x from the block, which is the largest
            assert points[:, 0].max() == pytest.approx(0.4 * run.t[k] + scale.metres(7.0 * run.t[k]), abs=1e-6)
        scene.change(joints=False)
        points = np.array(scene.plotter.actors["forces"].mapper.dataset.points)
        corner = found(run, 1.0, LOADS)
        end = corner.position[0] + scene.arrow_scale.force.metres(corner.force[0])
        assert np.linalg.norm(points - end, axis=1).min() < 1e-6
        assert named(scene) == ["loads"]
        scene.change(loads=False)
        assert named(scene) == []
        assert "forces" not in scene.plotter.actors
        assert scene.annotations.text("scale") == ""
