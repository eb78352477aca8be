"""Every option changes the picture as it says, and wrong ones are refused."""

from types import SimpleNamespace

import imageio.v3 as iio
import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import InputError, SorosimError
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle, HollowCircle
from sorosim.mechanics.robot import Robot
from sorosim.view.viz import offscreen
from sorosim.view.viz.colours import StrainField, round_range
from sorosim.view.viz.geometry import Geometry
from sorosim.view.viz.movie import movie, still
from sorosim.view.viz.options import STRAINS, DrawingOptions, available_colours
from sorosim.view.viz.scene import Scene

try:
    offscreen.require_rendering()
except SorosimError as error:
    pytest.skip(str(error), allow_module_level=True)

SMALL = (320, 240)
SOFT = Material(1e6, poisson=0.5, density=1e3)


@pytest.fixture(scope="module")
def run():
    robot = cable_manipulator()
    t = np.linspace(0.0, 0.5, 6)
    q = np.zeros((6, robot.ndof))
    q[:, robot.coordinate_names.index("arm.bending_y[0]")] = 2.0 * t
    q[:, robot.coordinate_names.index("arm.elongation[0]")] = -0.2 * t
    return SimpleNamespace(robot=robot, t=t, q=q, u=np.outer(t, [10.0, 0.0, 5.0, 2.0, 1.0]))


def rod(section, **orders):
    return Robot(Description("rod", (Link("rod", Rod((Division(0.4, section, SOFT, Strain(**orders)),))),)))


def picture(run, tmp_path, **options):
    still(run, tmp_path / "one.png", size=SMALL, **options)
    return iio.imread(tmp_path / "one.png").astype(int)


def pixel(scene, point):
    """Row and column at which a point of the world is seen."""
    renderer, (width, height) = scene.plotter.renderer, scene.size
    renderer.SetWorldPoint(*point, 1.0)
    renderer.WorldToView()
    x, y, _ = renderer.GetViewPoint()
    return round(height * (1.0 - y) / 2.0 - 0.5), round(width * (1.0 + x) / 2.0 - 0.5)


def changed(before, after):
    return np.abs(before - after).max(axis=2) > 25


@pytest.mark.parametrize("option", ["tendons", "floor", "axes", "frames", "trails"])
def test_each_switch_is_seen(option, run, tmp_path):
    off, on = (picture(run, tmp_path, **{option: value}) for value in (False, True))
    assert changed(off, on).mean() > 5e-4


def test_a_trail_is_where_the_tip_was(run, tmp_path):
    look = {"floor": False, "axes": False, "title": "", "tendons": False, "colour": "plain", "view": "side"}
    new = changed(picture(run, tmp_path, **look), picture(run, tmp_path, trails=True, **look))
    rows, columns = np.nonzero(new)
    with Scene(run.robot, size=SMALL, **look) as scene:
        scene.fit_run(run)
        seen = np.array([pixel(scene, run.robot.pose(q, "arm")[:3, 3]) for q in run.q])
    for found, wanted in zip((rows, columns), seen.T, strict=True):
        assert wanted.min() - 3 <= found.min() <= found.max() <= wanted.max() + 3
    # no later than the time shown
    early = changed(picture(run, tmp_path, t=0.1, **look), picture(run, tmp_path, t=0.1, trails=True, **look))
    assert early.sum() < 0.5 * new.sum()


@pytest.mark.parametrize("quantity", STRAINS)
def test_strains_at_the_stations_are_those_of_the_basis(quantity, run):
    geometry, q = Geometry(run.robot), np.random.default_rng(3).normal(size=run.robot.ndof)
    values = StrainField(geometry, quantity).at(q)
    division = run.robot.links[0].rod.divisions[0]
    for point in range(0, 40 * 32, 97):
        s = geometry.places[geometry.station[point]][1]
        assert_allclose(values[point], q @ division.basis([s * 0.5])[0, :, STRAINS.index(quantity)], atol=1e-12)


def test_strain_colours_paint_the_rod_and_show_a_bar(run, tmp_path):
    plain, bent = (picture(run, tmp_path, colour=colour, floor=False) for colour in ("plain", "bending_y"))
    bar = slice(70, 175), slice(273, 284)
    assert_array_equal(plain[bar], 255)
    assert changed(plain, bent)[bar].mean() > 0.4
    assert changed(plain, bent)[:, :270].mean() > 0.02
    shortened = picture(run, tmp_path, colour="elongation", floor=False)
    # stretched is red, shortened is blue
    robot = (slice(20, 200), slice(40, 260))
    blue = [((x[..., 2] - x[..., 0] > 60) & (x[..., 1] < 200))[robot].sum() for x in (bent, shortened)]
    red = [((x[..., 0] - x[..., 2] > 60) & (x[..., 1] < 200))[robot].sum() for x in (bent, shortened)]
    assert blue[1] > 300 > blue[0]
    assert red[0] > 300 > red[1]


def test_ranges_are_round_and_strains_are_about_zero():
    assert round_range(0.0, 9.3, False) == (0.0, 10.0, 6)
    assert round_range(-0.3, 2.2, True) == (-3.0, 3.0, 7)
    assert round_range(0.0, 0.0, True)[0] == -round_range(0.0, 0.0, True)[1] < 0.0


def test_the_hole_of_a_tube_is_seen_at_its_end():
    for section, hollow in ((Circle((0.03, 0.02)), False), (HollowCircle((0.03, 0.02), 0.012), True)):
        with Scene(rod(section, bending=0), view="front", size=SMALL, floor=False) as scene:
            scene.fit([np.zeros(2)])
            scene.update(np.zeros(2))
            image = scene.image().astype(int)
            places = [pixel(scene, [0.4, y, 0.0]) for y in (-0.010, 0.010, -0.016, 0.016)]
        left, right, *wall = (image[place] for place in places)
        assert np.abs(wall[0] - wall[1]).max() < 8
        for inside in (left, right):
            assert (np.abs(inside - wall[0]).max() > 20) == hollow


def test_views_along_the_axes_of_the_world_follow_the_vertical():
    flat = Robot(Description("flat", rod(Circle(0.01), bending=0).links, gravity=(0.0, -9.81, 0.0)))
    for robot, pairs in ((rod(Circle(0.01), bending=0), ("front", "side", "top")), (flat, ("front", "top", "side"))):
        for axis, view in zip("xyz", pairs, strict=True):
            places = []
            for name in (axis, view):
                with Scene(robot, view=name, size=SMALL) as scene:
                    scene.fit([np.zeros(2)])
                    places.append(scene.plotter.camera.position)
                    sight = np.array(scene.plotter.camera.focal_point) - scene.plotter.camera.position
            assert places[0] == pytest.approx(places[1])
            assert abs(sight["xyz".index(axis)]) > 0.99 * np.linalg.norm(sight)


def test_looks_change_in_an_open_scene_as_if_it_were_new(run):
    with Scene(run.robot, size=SMALL) as scene:
        scene.fit_run(run)
        scene.update(run.q[4], run.u[4], run.t[4])
        for look in ({"colour": "bending_y"}, {"trails": True, "frames": True}, {"view": "top", "colour": "tension"}):
            scene.change(**look)
        with Scene(run.robot, size=SMALL, view="top", trails=True, frames=True) as other:
            other.fit_run(run)
            other.update(run.q[4], run.u[4], run.t[4])
            assert_array_equal(scene.image(), other.image())


def test_movies_take_all_options(run, tmp_path):
    look = {"view": "side", "colour": "bending_y", "trails": True, "frames": True, "size": (160, 120)}
    movie(run, tmp_path / "a.gif", fps=10, **look)
    movie(run, tmp_path / "b.gif", fps=10, size=(160, 120))
    first, second = (iio.imread(tmp_path / name)[..., :3].astype(int) for name in ("a.gif", "b.gif"))
    assert first.shape == second.shape == (6, 120, 160, 3)
    assert changed(first[-1], second[-1]).mean() > 0.05


def test_stills_show_the_time_asked_for(run, tmp_path):
    end, asked, early = (picture(run, tmp_path, t=t) for t in (None, 0.5, 0.1))
    assert_array_equal(end, asked)
    assert changed(end, early).mean() > 0.01


def test_only_what_varies_is_offered(run):
    assert available_colours(run.robot) == ("tension", *STRAINS, "plain")
    assert available_colours(rod(Circle(0.01), bending=1, torsion=0)) == ("torsion", "bending_y", "bending_z", "plain")


def test_wrong_options_are_refused(run, tmp_path):
    ball = Robot(Description("ball", (Link("ball", RigidBody(1.0, inertia=(1e-3,) * 3)),)))
    bare = rod(Circle(0.01), bending=0)
    for robot, options, message in (
        (bare, {"colour": "bending"}, "colour: expected what colours show, got 'bending'; did you mean bending_z or"),
        (bare, {"colour": 3}, "colour: expected what colours show, got 3; known: plain, tension, torsion"),
        (bare, {"colour": "tension"}, "colour: expected a strain or plain, got 'tension'; this robot has no tendons"),
        (ball, {"colour": "torsion"}, "colour: expected plain, got 'torsion'; this robot has no rods"),
        (bare, {"frames": "yes"}, "frames: expected True or False, got 'yes'"),
        (
            bare,
            {"view": "left"},
            "view: expected the name of a view, got 'left'; known: iso, front, side, top, x, y, z",
        ),
        (bare, {"view": None}, "view: expected the name of a view, got nothing; known"),
        (bare, {"title": 3}, "title: expected a text, got 3"),
        (bare, {"color": "plain"}, "options: expected the name of an option, got 'color'; did you mean colour or"),
    ):
        with pytest.raises(InputError) as caught:
            DrawingOptions().changed(robot, options)
        assert str(caught.value).startswith(message)
    rest = SimpleNamespace(robot=bare, q=np.zeros(2), u=np.zeros(0))
    for result, options, message in (
        (run, {"t": 0.7}, "t: expected a time from 0 to 0.5 s, got 0.7"),
        (run, {"t": "end"}, "t: expected a time such as 10 s, got 'end'"),
        (rest, {"t": 0.0}, "t: expected no time for an equilibrium, got 0.0"),
        (rest, {"trails": True}, "trails: expected a run, got an equilibrium"),
        (run, {"colour": "hot"}, "colour: expected what colours show, got 'hot'"),
    ):
        with pytest.raises(InputError) as caught:
            still(result, tmp_path / "none.png", **options)
        assert str(caught.value).startswith(message)
    assert list(tmp_path.iterdir()) == []
