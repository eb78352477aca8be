"""Surfaces of rigid bodies: closed, turned outwards, as large as the shapes; and what of a link is drawn."""

import numpy as np
import pytest
import pyvista
import trimesh
from helpers.meshes import angle_mesh, box_mesh
from helpers.robots import random_pose
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import SorosimError
from sorosim.mechanics.model.body import Assembly, RigidBody, Solid
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.model.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere, Superellipsoid
from sorosim.mechanics.model.visual import COLOURS, Visual
from sorosim.mechanics.robot import Robot
from sorosim.view.viz import offscreen
from sorosim.view.viz.colours import RIGID
from sorosim.view.viz.figures import _split
from sorosim.view.viz.geometry import BODY, Geometry
from sorosim.view.viz.scene import Scene
from sorosim.view.viz.side_view import side_view
from sorosim.view.viz.surfaces import shape_surface

EXTENTS = {
    Box((0.2, 0.4, 0.6)): (0.1, 0.2, 0.3),
    Cylinder(0.2, 0.6): (0.2, 0.2, 0.3),
    Cone(0.2, 0.6): (0.2, 0.2, 0.3),
    Sphere(0.2): (0.2, 0.2, 0.2),
    Ellipsoid((0.1, 0.2, 0.3)): (0.1, 0.2, 0.3),
    Capsule(0.2, 0.6): (0.2, 0.2, 0.5),
    Superellipsoid((0.1, 0.2, 0.3), (0.5, 0.8)): (0.1, 0.2, 0.3),
    box_mesh((0.2, 0.4, 0.6)): (0.1, 0.2, 0.3),
}


def volume(points, faces, about=0.0):
    a, b, c = np.moveaxis(points[faces] - about, 1, 0)
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def pose(x=0.0, y=0.0, z=0.0):
    g = np.eye(4)
    g[:3, 3] = x, y, z
    return g


def robot_of(*links):
    return Robot(Description("bodies", links))


@pytest.mark.parametrize("shape", EXTENTS, ids=lambda shape: shape.kind)
def test_a_skin_is_as_large_as_its_shape_and_closed(shape):
    skin = shape_surface(shape, 32)
    assert_allclose(skin.points.max(axis=0), EXTENTS[shape], rtol=1e-12)
    assert_allclose(skin.points.min(axis=0), -np.array(EXTENTS[shape]), rtol=1e-12)
    size = volume(skin.points, skin.faces)
    assert_allclose(size, shape.moments.volume, rtol=0.02)
    assert size <= shape.moments.volume * (1.0 + 1e-12)  # inside of it
    assert_allclose(volume(skin.points, skin.faces, about=np.array([3.0, -2.0, 1.0])), size, rtol=1e-11)
    assert_array_equal(np.unique(skin.faces), np.arange(len(skin.points)))


@pytest.mark.parametrize("shape", [*EXTENTS, angle_mesh()], ids=lambda shape: shape.kind)
def test_normals_are_those_of_the_faces_but_for_their_curvature(shape):
    skin = shape_surface(shape, 32)
    a, b, c = np.moveaxis(skin.points[skin.faces], 1, 0)
    across = np.cross(b - a, c - a)
    facing = across / np.linalg.norm(across, axis=1, keepdims=True)
    assert_allclose(np.linalg.norm(skin.normals, axis=1), 1.0, rtol=1e-12)
    # a flat side has one normal: edges are sharp
    least = 1.0 - 1e-12 if isinstance(shape, Box | Mesh) else 0.95
    for corner in skin.faces.T:
        assert (np.einsum("ij,ij->i", skin.normals[corner], facing) > least).all()


def test_normals_of_a_fine_mesh_are_smooth_but_for_its_edges():
    turned = trimesh.creation.cylinder(0.2, 0.5, sections=48)
    skin = shape_surface(Mesh(turned.vertices, turned.faces), 32)
    round_ = np.abs(skin.normals[:, 2]) < 0.5
    outwards = skin.points[round_] * [1.0, 1.0, 0.0] / 0.2
    assert_allclose(skin.normals[round_], outwards, atol=1e-9)
    assert_allclose(np.abs(skin.normals[~round_]), [[0.0, 0.0, 1.0]] * int(np.sum(~round_)), atol=1e-12)
    assert int(np.sum(round_)) == 2 * 48


def test_an_open_mesh_is_seen_from_either_side():
    box = box_mesh((1, 1, 1))
    skin = shape_surface(Mesh(box.vertices, box.faces[2:]), 32)
    assert len(skin.faces) == 2 * len(box.faces[2:])
    half = len(skin.points) // 2
    assert_allclose(skin.points[:half], skin.points[half:])
    assert_allclose(skin.normals[:half], -skin.normals[half:])
    assert_allclose(volume(skin.points, skin.faces), 0.0, atol=1e-15)


def test_parts_of_a_body_are_drawn_in_their_poses(rng):
    at = random_pose(rng)
    parts = (
        Solid(Box((0.2, 0.4, 0.6)), density=1.0, at=at),
        Assembly((Solid(Sphere(0.1), mass=1.0, at=pose(z=0.5)),)),
        RigidBody(1.0, centre=(0.0, 0.0, -1.0), inertia=(1e-3, 1e-3, 1e-3)),
    )
    robot = robot_of(Link("body", Assembly(parts), joint=Joint("revolute", axis=(0, 1, 0))))
    geometry = Geometry(robot)
    assert [(part.kind, part.name, part.convex) for part in geometry.parts] == [(BODY, "body", True)] * 3
    shape = geometry.at([0.7])
    g = robot.pose([0.7], "body")
    box, ball, numbers = (shape.points[part.points] for part in geometry.parts)
    local = (box - g[:3, 3]) @ g[:3, :3]
    assert_allclose(np.abs((local - at[:3, 3]) @ at[:3, :3]), [[0.1, 0.2, 0.3]] * len(box), atol=1e-12)
    assert_allclose(np.linalg.norm(ball - (g @ pose(z=0.5))[:3, 3], axis=1), 0.1, rtol=1e-12)
    radius = np.sqrt(2.5e-3)
    assert_allclose(np.linalg.norm(numbers - (g @ pose(z=-1.0))[:3, 3], axis=1), radius, rtol=1e-12)


def test_visuals_take_the_place_of_the_body():
    body = Assembly((Solid(Sphere(1.0), density=1.0),))
    shown = (Visual(Box((1, 1, 1)), at=pose(x=3.0), colour="red"), Visual(angle_mesh()))
    robot = robot_of(
        Link("shown", body, visual=shown),
        Link("hidden", body, visual=()),
        Link("frame", None, at=pose(y=9.0), visual=(Visual(Cone(1.0, 2.0), colour="#000000"),)),
    )
    geometry = Geometry(robot)
    assert [(part.name, part.colour) for part in geometry.parts] == [
        ("shown", COLOURS["red"]), ("shown", ""), ("frame", "#000000"),
    ]  # fmt: skip
    points = geometry.at([]).points
    assert_allclose(points.min(axis=0), [-1.0, -0.5, -1.0], atol=1e-12)
    assert_allclose(points.max(axis=0), [3.5, 10.0, 1.0], atol=1e-12)


def test_a_side_view_shows_shapes_in_their_colours():
    robot = robot_of(
        Link("a", Assembly((Solid(angle_mesh(), density=1.0),))),
        Link("b", None, visual=(Visual(Sphere(0.2), colour="green"),)),
    )
    picture = side_view(robot, [robot.initial_q])
    assert f'fill="{COLOURS["green"]}"' in picture
    # an angle is no convex thing: its triangles are drawn, the ball is one outline
    outlines = [part.split('"')[0].count("M") for part in picture.split(' d="')[1:]]
    assert sorted(outlines)[-1] >= 4
    assert 1 in outlines


def test_a_scene_has_an_actor_for_each_colour():
    try:
        offscreen.require_rendering()
    except SorosimError as error:
        pytest.skip(str(error))
    robot = robot_of(
        Link("palm", Assembly((Solid(Box((0.2, 0.4, 0.6)), density=1.0), Solid(Sphere(0.1), mass=1.0)))),
        Link("ball", None, at=pose(x=1.0), visual=(Visual(Sphere(0.1), colour="red"),)),
        Link("other", None, at=pose(x=2.0), visual=(Visual(Sphere(0.2), colour="red"),)),
    )
    with Scene(robot, size=(320, 240), title="", floor=False, axes=False) as scene:
        scene.update([])
        actors = [actor for actor in scene.plotter.actors.values() if isinstance(actor, pyvista.Actor)]
        bounds = {actor.prop.color.hex_rgb: actor.bounds for actor in actors if actor.visibility}
        image = scene.image().astype(int)
    assert_allclose(bounds[RIGID], [-0.1, 0.1, -0.2, 0.2, -0.3, 0.3], atol=1e-6)
    # the second layer is nearer to the camera by a part of its distance
    assert_allclose(bounds[COLOURS["red"]], [0.9, 2.2, -0.2, 0.2, -0.2, 0.2], atol=3e-3)
    red = (image[..., 0] - image[..., 2] > 60) & (image[..., 0] - image[..., 1] > 60)
    assert 0.002 < red.mean() < 0.2


def test_bodies_without_a_colour_and_visuals_of_the_same_colour_are_drawn_together():
    try:
        offscreen.require_rendering()
    except SorosimError as error:
        pytest.skip(str(error))
    robot = robot_of(
        Link("plain", Assembly((Solid(Box((0.2, 0.4, 0.6)), density=1.0),))),
        Link("coloured", None, at=pose(x=1.0), visual=(Visual(Sphere(0.1), colour=RIGID),)),
    )
    with Scene(robot, size=(320, 240)) as scene:
        surfaces, geometry = [one for one, _ in scene.robots[0].surfaces], scene.robots[0].visual.geometry
        assert sum(len(surface.index) for surface in surfaces) == geometry.n_points
        shown = [actor for actor in scene.plotter.actors.values() if isinstance(actor, pyvista.Actor)]
        assert all(any(actor.mapper.dataset is surface.mesh for actor in shown) for surface in surfaces)


def test_long_triangles_of_a_plot_are_halved_with_their_values(rng):
    corners, values = rng.normal(size=(20, 3, 3)), np.arange(20.0)
    fine, of_fine = _split(corners, values, 0.5)
    area = [0.5 * np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1) for t in (corners, fine)]
    assert_allclose(np.bincount(of_fine.astype(int), weights=area[1]), area[0], rtol=1e-12)
    assert np.linalg.norm(fine - np.roll(fine, 1, axis=1), axis=2).max() <= 0.5
