"""Several moments, runs and cameras in one picture, looked at by their pixels."""

from itertools import pairwise
from types import SimpleNamespace

import imageio.v3 as iio
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import InputError, SorosimError
from sorosim.files import load_text
from sorosim.view.viz import offscreen
from sorosim.view.viz.camera import camera_axes, fit_camera, turned, up_axis
from sorosim.view.viz.motion import TINTS, MotionGroup, motion_group, motion_of
from sorosim.view.viz.movie import movie, opacities, still, time_colours
from sorosim.view.viz.scene import Scene
from sorosim.view.viz.wrenches import centre_of_mass

try:
    offscreen.require_rendering()
except SorosimError as error:
    pytest.skip(str(error), allow_module_level=True)

SMALL = (320, 240)
BARE = {"floor": False, "axes": False, "title": "", "colour": "plain"}

# a block that slides along x, with a mast on it that leans
SLED = """
sorosim: 1
name: sled
links:
  block: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {mass: 2 kg, inertia: [0.01, 0.01, 0.01]}}
  mast:
    parent: block
    joint: {revolute: {axis: [0, 1, 0]}}
    body: {mass: 1 kg, centre: [0, 0, 0.4], inertia: [0.05, 0.05, 0.001]}
"""


LIFT = """
sorosim: 1
name: lift
links: {block: {joint: {prismatic: {axis: [0, 0, 1]}}, body: {box: {size: [40 cm, 40 cm, 20 cm]}, mass: 1 kg}}}
"""


@pytest.fixture(scope="module")
def robot():
    return load_text(SLED, "sled.yaml")


def motion(robot, end=2.0, far=1.0, n=9):
    t = np.linspace(0.0, end, n)
    return SimpleNamespace(robot=robot, t=t, q=np.outer(t / end, [far, 0.5]), u=np.zeros((n, 0)))


@pytest.fixture(scope="module")
def run(robot):
    return motion(robot)


def picture(result, tmp_path, name="one.png", **options):
    still(result, tmp_path / name, size=SMALL, **options)
    return iio.imread(tmp_path / name).astype(int)


def dark(image, by=40):
    """Where something is drawn on white."""
    return (255 - image).max(axis=2) > by


def masks_of_single_moments(run, times):
    """Where the robot is at each time, in the view of the picture of all of them."""
    shown = MotionGroup((motion_of(run),))
    with Scene(shown, size=SMALL, **BARE) as scene:
        scene.fit_motions(np.array(times))
        out = []
        for t in times:
            scene.update(*shown.state(t))
            scene.annotations.write("clock", "")
            out.append(dark(scene.image().astype(int)))
    return out


# -- ghosts


def test_every_moment_is_in_the_picture_and_earlier_ones_are_paler(run, tmp_path):
    times = [0.0, 1.0, 2.0]
    image, alone = picture(run, tmp_path, t=times, **BARE), masks_of_single_moments(run, times)
    seen = dark(image, 8)
    depths = []
    for k, mask in enumerate(alone):
        others = np.any([m for j, m in enumerate(alone) if j != k], axis=0)
        only = mask & ~others
        assert only.sum() > 100
        assert seen[only].mean() > 0.99
        depths.append((255 - image)[only].max(axis=1).mean())
    assert_allclose(np.array(depths) / depths[-1], opacities(3), atol=0.06)  # shades vary a little with the pose


def test_the_last_moment_is_drawn_as_if_it_were_alone(run, tmp_path):
    shown = MotionGroup((motion_of(run),))
    with Scene(shown, size=SMALL, **BARE) as scene:
        scene.fit_motions(np.array([0.0, 2.0]))
        scene.update(*shown.state(2.0))
        alone = scene.image().astype(int)
    last = dark(alone)
    last[:40] = False  # the clock
    image = picture(run, tmp_path, t=[0.0, 2.0], occlusion=False, **BARE)
    assert np.abs(image - alone)[last].max() <= 2


def test_shadows_of_later_moments_hide_no_earlier_one(tmp_path):
    """A block that is lifted: its shadow falls where it stood."""
    t, times = np.linspace(0.0, 2.0, 9), [0.0, 1.0, 2.0]
    near = SimpleNamespace(robot=load_text(LIFT, "lift.yaml"), t=t, q=0.5 * t[:, None], u=np.zeros((9, 0)))
    standing = BARE | {"floor": True, "occlusion": False}
    shown, bodies, shadows = MotionGroup((motion_of(near),)), [], []
    with Scene(shown, size=SMALL, **standing) as scene:
        scene.fit_motions(np.array(times))
        for t in times:
            scene.update(*shown.state(t))
            scene.annotations.write("clock", "")
            images = []
            for what in ((False, False), (True, False), (False, True)):
                scene.show_robots(*what)
                images.append(scene.image().astype(int))
            empty, body, shadow = images
            bodies.append((np.abs(body - empty) > 40).any(axis=2))
            shadows.append((np.abs(shadow - empty) > 4).any(axis=2))
    in_shadow = bodies[0] & (shadows[1] | shadows[2]) & ~bodies[1] & ~bodies[2]
    assert in_shadow.sum() > 200
    seen = picture(near, tmp_path, t=times, ghosts="time", **standing)[in_shadow]
    first = np.array(list(bytes.fromhex(time_colours(3)[0][1:])), dtype=float)
    cosines = seen @ first / np.linalg.norm(seen, axis=1) / np.linalg.norm(first)
    assert np.quantile(cosines, 0.1) > 0.97  # shadows are grey: their hue has a cosine of 0.91 or less
    grey = np.ones(3) @ first / np.sqrt(3.0) / np.linalg.norm(first)
    assert grey < 0.93


def test_occlusion_leaves_no_seams_around_moments(run, tmp_path):
    """Occlusion darkens empty places a little: they are empty all the same, and hide no earlier moment."""
    times = [0.0, 0.2, 0.4]  # that overlap
    with_it, without = (
        picture(run, tmp_path, t=times, ghosts="time", occlusion=occlusion, **BARE) for occlusion in (True, False)
    )
    assert not ((with_it - without).max(axis=2) > 20).any()  # it only darkens


def test_colours_of_times_are_those_of_the_legend(run, tmp_path):
    image = picture(run, tmp_path, t=[0.0, 2.0], ghosts="time", **BARE)
    early, late = masks_of_single_moments(run, [0.0, 2.0])
    for mask, other, code in zip((early, late), (late, early), time_colours(2), strict=True):
        colour = np.array(list(bytes.fromhex(code[1:])), dtype=float)
        seen = image[mask & ~other].mean(axis=0)
        # lit more or less, but of one hue
        assert seen @ colour / np.linalg.norm(seen) / np.linalg.norm(colour) > 0.99
        squares = np.abs(image[:40, 300:] - colour).max(axis=2) < 12
        assert squares.sum() > 8


def test_the_order_of_times_does_not_matter(run, tmp_path):
    one, other = (picture(run, tmp_path, t=t, **BARE) for t in ([0.0, 1.0], [1.0, 0.0]))
    assert_array_equal(one, other)


def test_a_side_view_is_a_file_of_lines(run, tmp_path):
    for ghosts, found in (("fade", 'opacity="0.5'), ("time", time_colours(2)[0])):
        still(run, tmp_path / "flat.svg", t=[0.0, 2.0], ghosts=ghosts, trails=True)
        text = (tmp_path / "flat.svg").read_text()
        assert text.startswith("<svg")
        assert found in text
        assert "t = 2 s" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"t": 3.0}, "t: expected a time from 0 to 2 s, got 3"),
        ({"t": [0.0, -1.0]}, "t: expected a time from 0 to 2 s, got -1"),
        ({"t": [[0.0]]}, "t: expected a time such as 10 s"),
        ({"t": []}, "t: expected a time or several"),
        ({"t": ["soon", "late"]}, "t: expected a time such as 10 s"),
        ({"ghosts": "fades"}, "did you mean fade"),
        ({"t": [0, 1], "orbit": "10 deg/s"}, "orbit: expected one time only"),
        ({"t": [0, 1], "follow": "mast"}, "follow: expected one time only"),
        ({"follow": "masts"}, "did you mean mast"),
        ({"orbit": "fast"}, "orbit: expected an angular speed such as 2 rad/s, got 'fast'"),
    ],
)
def test_wrong_options_are_told(options, words, run, tmp_path):
    with pytest.raises(InputError, match="expected") as caught:
        still(run, tmp_path / "one.png", size=SMALL, **options)
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_side_view_takes_no_options_of_pictures_in_3d(run, tmp_path):
    with pytest.raises(InputError, match=r"write a \.png file"):
        still(run, tmp_path / "flat.svg", view="top")


# -- several runs


def test_runs_over_each_other_have_the_colours_of_the_legend(robot, run, tmp_path):
    other = motion(robot, far=-1.0)
    image = picture(motion_group([run, other], names=["right", "left"]), tmp_path, t=2.0, view="side", floor=False)
    columns = []
    for code in TINTS[:2]:
        colour = np.array(list(bytes.fromhex(code[1:])), dtype=float)
        hue = image @ colour / np.maximum(np.linalg.norm(image, axis=2) * np.linalg.norm(colour), 1e-9)
        found = (hue > 0.995) & (image.min(axis=2) < 120)
        found[:50] = False  # the legend
        columns.append(np.nonzero(found)[1])
        assert len(columns[-1]) > 100
        assert (np.abs(image[:40, 300:] - colour).max(axis=2) < 12).sum() > 8
    assert columns[1].max() < columns[0].min()


def test_side_by_side_nothing_overlaps_in_any_view(robot, run):
    runs = [run, motion(robot, far=2.0), motion(robot, end=1.0)]
    for view in ("iso", "front", "side", "top"):
        shown = motion_group(runs, "side")
        right = camera_axes(up_axis(robot.engine.gravity), view)[0]
        with Scene(shown, size=SMALL, **{"view": view}) as scene:
            scene.fit_motions()
            ends = [one.visual.extent(np.asarray(r.q)) @ right for one, r in zip(scene.robots, runs, strict=True)]
        for before, after in pairwise(ends):
            assert before.max() < after.min()


def test_one_clock_a_short_run_stays_at_its_end(robot, run):
    short = motion(robot, end=1.0, far=0.3)
    shown = motion_group([run, short])
    assert shown.t[-1] == 2.0
    with Scene(shown, size=SMALL) as scene:
        scene.fit_motions()
        scene.update(*shown.state(1.7))
        drawn = scene.robots[1]
        expected = drawn.visual.geometry.at(short.q[-1]).points
        surface, _ = drawn.surfaces[0]
        assert_allclose(surface.mesh.points, expected[surface.index], atol=1e-6)  # meshes hold single precision


def test_runs_of_different_robots_make_a_movie(run, tmp_path):
    from sorosim.view.viz.several import movie as film

    pendulum = sorosim.load("pendulum")
    other = SimpleNamespace(
        robot=pendulum,
        t=np.array([0.0, 0.1]),
        q=np.zeros((2, pendulum.ndof)),
        u=np.zeros((2, len(pendulum.actuator_names))),
    )
    film(tmp_path / "both.gif", [run, other], layout="side", size=(160, 120), fps=10, speed=4.0, floor=False)
    assert iio.improps(tmp_path / "both.gif").shape[0] == 6


def test_players_take_results_one_by_one_or_in_a_list(run, monkeypatch):
    shown = []
    monkeypatch.setattr("sorosim.view.viz.player.play", lambda result, **_: shown.append(result.names))
    sorosim.play(run, run)
    sorosim.play([run, run], names=["a", "b"])
    assert shown == [("sled (1)", "sled (2)"), ("a", "b")]


def test_gathering_refuses_what_does_not_fit(run):
    for arguments, words in (
        (([],), "runs: expected a list of runs or equilibria"),
        ((run,), "runs: expected a list of runs or equilibria"),
        (("film.mp4",), "the file comes first, then the list"),
        ((["run.h5"],), "result: expected a run or an equilibrium, got 'run.h5'"),
        (([SimpleNamespace(robot=run.robot, q=run.q)],), "result: expected a run or an equilibrium, got namespace("),
        (([run], "besides"), "layout: expected overlay or side"),
        (([run, run], "side", ["one"]), "names: expected 2 names"),
    ):
        with pytest.raises(InputError) as caught:
            motion_group(*arguments)
        assert words in str(caught.value)
    assert motion_group([run, run]).names == ("sled (1)", "sled (2)")


def test_colours_of_several_runs_cannot_show_quantities(run, tmp_path):
    with pytest.raises(InputError, match="each of several runs has a colour of its own"):
        still(motion_group([run, run]), tmp_path / "one.png", colour="torsion")


def test_verticals_of_several_robots_must_agree(run, robot):
    other = SimpleNamespace(
        robot=load_text(SLED.replace("name: sled", "name: flat\ngravity: [0, -9.81, 0]"), "flat.yaml"),
        t=run.t, q=run.q, u=run.u,
    )  # fmt: skip
    with pytest.raises(InputError, match="gravity acts along the same axis"):
        motion_group([run, other])


def test_the_vertical_is_that_of_a_robot_with_gravity(robot, run):
    floating, flat = (
        SimpleNamespace(
            robot=load_text(SLED.replace("name: sled", f"name: other\ngravity: {pull}"), "other.yaml"),
            t=run.t, q=run.q, u=run.u,
        )
        for pull in ("[0, 0, 0]", "[0, -9.81, 0]")
    )  # fmt: skip
    shown = motion_group([floating, flat])
    assert_array_equal(shown.up, [0.0, 1.0, 0.0])
    with Scene(shown, size=SMALL, **{"view": "side"}) as scene:
        scene.fit_motions()
        scene.update(*shown.state(0.0))
        assert_allclose(scene.plotter.camera.up, [0.0, 1.0, 0.0])


def test_many_runs_have_colours_of_their_own_and_arrows_of_the_size_of_one(run):
    twenty = motion_group([run] * 20)
    assert twenty.tints[: len(TINTS)] == list(TINTS)
    assert len(set(twenty.tints)) == 20
    legends = []
    for runs in ([run], [run] * 9):
        shown = motion_group(runs, "side")
        with Scene(shown, size=SMALL, **{"gravity": True}) as scene:
            scene.fit_motions()
            legends.append(scene.annotations.text("scale"))
    assert legends[0] == legends[1] != ""


def test_tips_are_links_of_any_of_the_robots(run):
    pendulum = sorosim.load("pendulum")
    other = SimpleNamespace(robot=pendulum, t=run.t, q=np.zeros((len(run.t), pendulum.ndof)), u=np.zeros((9, 0)))
    shown, link = motion_group([run, other]), pendulum.links[-1].name
    with Scene(shown, size=SMALL, **{"trails": True, "tips": [link]}) as scene:
        scene.fit_motions()
        scene.update(*shown.state(1.0))
        assert "trails_1" in scene.plotter.actors
        assert "trails" not in scene.plotter.actors  # the sled has no such link
    with pytest.raises(InputError, match="did you mean mast"):
        shown.check_options({"trails": True, "tips": ["mast1"]})


# -- cameras


def test_turned_points_go_round_the_vertical():
    up, centre = np.array([0.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0])
    assert_allclose(turned(np.array([2.0, 5.0, 3.0]), centre, up, np.pi / 2), [1.0, 5.0, 2.0], atol=1e-15)


def test_the_centre_of_mass_of_inserted_tubes_is_that_of_gravity():
    tubes = sorosim.load("concentric_tubes", set={"gravity": [1.0, 2.0, -9.0]})
    q = 0.1 * np.random.default_rng(4).normal(size=tubes.ndof)
    q[tubes.engine.insertions] = 0.0, 0.01, 0.02
    centre, mass = centre_of_mass(tubes, q)
    assert mass > centre_of_mass(tubes, np.zeros(tubes.ndof))[1]
    gravity = tubes.energy(q, np.zeros(tubes.ndof)).gravity
    assert_allclose(gravity, -mass * tubes.engine.gravity @ centre, rtol=1e-12)


def test_the_centre_of_mass_is_that_of_gravity(robot):
    rng = np.random.default_rng(4)
    for name in ("cable_manipulator", "underwater_vehicle", "vine", None):
        arm = robot if name is None else sorosim.load(name)
        q = 0.3 * rng.normal(size=arm.ndof)
        centre, mass = centre_of_mass(arm, q)
        weight = mass * arm.engine.gravity
        assert_allclose(arm.energy(q, np.zeros(arm.ndof)).gravity, -weight @ centre, rtol=1e-12, atol=1e-15)
    assert_allclose(centre_of_mass(robot, np.array([0.7, 0.0]))[0], [0.7, 0.0, 0.4 / 3.0], atol=1e-15)


@pytest.mark.parametrize("name", ["block", "centre of mass"])
def test_a_camera_that_follows_moves_as_what_it_follows(name, run):
    with Scene(run.robot, size=SMALL, follow=name) as scene:
        scene.fit_run(run)
        places, wanted = [], []
        for k in (0, 4, 8):
            scene.update(run.q[k], None, run.t[k])
            places.append(np.array(scene.plotter.camera.position))
            wanted.append(
                run.robot.pose(run.q[k], "block")[:3, 3] if name == "block" else centre_of_mass(run.robot, run.q[k])[0]
            )
        assert_allclose(np.diff(places, axis=0), np.diff(wanted, axis=0), atol=1e-12)
        # all of the robot stays in the picture
        image = dark(scene.image().astype(int))
        assert not image[:, [0, -1]].any()


def test_a_camera_that_orbits_goes_round_at_its_rate_and_keeps_all_in_sight(run):
    with Scene(run.robot, size=SMALL, orbit="90 deg/s", **BARE) as scene:
        scene.fit_run(run)
        scene.update(run.q[0], None, 0.0)
        first = np.array(scene.plotter.camera.position)
        for t in (0.5, 1.0, 2.0):
            scene.update(run.q[4], None, t)
            centre = 0.5 * (scene._framed.min(axis=0) + scene._framed.max(axis=0))
            expected = turned(first, centre, np.array([0.0, 0.0, 1.0]), t * np.pi / 2)
            assert_allclose(scene.plotter.camera.position, expected, atol=1e-9)
            assert not dark(scene.image().astype(int))[:, [0, -1]].any()
        # the same time gives the same view, however it was reached
        reached = scene.plotter.camera.position
        scene.place_camera()
        assert_allclose(scene.plotter.camera.position, reached, atol=1e-9)


def test_a_view_that_was_turned_by_hand_is_kept_while_following(run):
    with Scene(run.robot, size=SMALL, follow="block") as scene:
        scene.fit_run(run)
        scene.update(run.q[0], None, 0.0)
        scene.plotter.camera.position = (5.0, 5.0, 5.0)
        scene.update(run.q[8], None, 2.0)
        assert_allclose(scene.plotter.camera.position, (6.0, 5.0, 5.0), atol=1e-12)


def test_an_orbit_is_fitted_no_farther_away_than_it_must(run):
    with Scene(run.robot, size=SMALL, orbit="1 deg/s") as scene:
        scene.fit_run(run)
        scene.update(run.q[0], None, 0.0)
        far = np.linalg.norm(np.subtract(scene.plotter.camera.position, scene.plotter.camera.focal_point))
        still_camera = fit_camera(scene._framed, np.array([0.0, 0.0, 1.0]), "iso", 4 / 3, (0.05, 0.05, 0.06, 0.12))
        near = np.linalg.norm(still_camera.position - still_camera.focus)
        assert near < far < 2.0 * near


def test_movies_orbit(run, tmp_path):
    movie(run, tmp_path / "a.gif", fps=2, size=(160, 120), orbit="45 deg/s")
    first, *_, last = iio.imread(tmp_path / "a.gif")
    assert (np.abs(first.astype(int) - last).max(axis=2) > 30).mean() > 0.02
