"""The picture against known shapes: outlines, bends, volumes, tendons, ellipsoids; and where the camera goes."""

import textwrap
from itertools import pairwise

import numpy as np
import pytest
from helpers.robots import cable_manipulator, formula, moderate, random_pose, varied_tree
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import InputError
from sorosim.files import load_text
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.profile import Table
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle, Ellipse, Hole, HollowCircle, Properties, Rectangle
from sorosim.mechanics.model.shape import Shape
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.camera import VIEW_ANGLE, VIEWS, fit_camera, grid_step, level_axes, up_axis
from sorosim.view.viz.geometry import BODY, ROD, TENDON, Geometry
from sorosim.view.viz.surfaces import shape_surface
from sorosim.view.viz.visuals import HAIR, RobotVisual, Stage

SILICONE = Material(1e6, poisson=0.5, density=1000.0)
SECTIONS = {
    "tapered circle": Circle((0.03, 0.015)),
    "circle to a point": Circle((0.02, 0.0)),
    "barrel": Circle(formula("0.02 + 0.01 * sin(pi * s)")),
    "table with a kink": Circle(Table((0.0, 0.3, 1.0), (0.02, 0.03, 0.01))),
    "tapered rectangle": Rectangle((0.06, 0.03), (0.02, 0.01)),
    "flat ellipse": Ellipse(0.05, 0.02),
    "very flat ellipse": Ellipse(0.05, 0.001),
    "hollow circle": HollowCircle((0.03, 0.02), 0.01),
    "three holes": Circle(0.02, holes=[Hole(Circle((0.005, 0.003)), y=0.012, repeat=3)]),
    "two slots": Rectangle(0.04, 0.02, holes=[Hole(Rectangle(0.01, 0.006), y=0.01, repeat=2)]),
    "properties": Properties(1e-3, 2e-7, 1e-7, J=3e-7),
}


def rod_robot(*sections, length=0.4, gravity=(0.0, 0.0, -9.81), **orders):
    """One clamped rod with a division for each section."""
    divisions = tuple(Division(length / len(sections), section, SILICONE, Strain(**orders)) for section in sections)
    return Robot(Description("rod", (Link("rod", Rod(divisions)),), gravity=gravity))


def moved(robot, rng):
    return robot.initial_q + 0.5 * moderate(robot) * rng.normal(size=robot.ndof)


def triangles(shape, part):
    return shape.points[part.faces]


def volume(shape, part, about=0.0):
    """Volume by the divergence theorem; only of a closed surface is it the same about every point."""
    a, b, c = np.moveaxis(triangles(shape, part) - about, 1, 0)
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0


def polygon_area(outline):
    after = np.roll(outline, -1, axis=-2)
    return 0.5 * np.sum(outline[..., 0] * after[..., 1] - outline[..., 1] * after[..., 0], axis=-1)


def drawn_volume(section, length, n_around):
    """Integral of the area of the drawn polygons along a straight rod."""
    s, w = np.polynomial.legendre.leggauss(8)
    edges = np.array([0.0, *section.breakpoints, 1.0])
    X = np.concatenate([a + (b - a) * (s + 1.0) / 2.0 for a, b in pairwise(edges)]) * length
    weight = np.concatenate([(b - a) * w / 2.0 for a, b in pairwise(edges)]) * length
    area = polygon_area(section.outline(X, length, n_around))
    return weight @ (area - sum(polygon_area(hole) for hole in section.inner_outlines(X, length, n_around)))


@pytest.mark.parametrize("name", SECTIONS)
def test_straight_rod_has_the_outline_of_its_section(name):
    robot = rod_robot(SECTIONS[name], bending=0)
    geometry = Geometry(robot, n_stations=21, n_around=24)
    shape = geometry.at([0.0, 0.0])
    points = geometry.ring_points(shape, "rod")
    X = shape.g[geometry.centrelines["rod"], :3, 3][:, 0]
    assert (X[0], X[-1]) == (0.0, 0.4)
    assert len(X) >= 21
    assert points.shape == (len(X), 24, 3)
    assert_allclose(points[..., 0], np.broadcast_to(X[:, None], points.shape[:2]), atol=1e-15)
    assert_allclose(points[..., 1:], SECTIONS[name].outline(X, 0.4, 24), atol=1e-15)


def test_bent_rod_is_a_ring_about_its_centreline():
    robot = rod_robot(Circle(0.02), bending=0)
    geometry = Geometry(robot)
    # bending y by a quarter turn: towards -z, on a circle of radius length / angle
    shape = geometry.at([np.pi / 2.0, 0.0])
    line, rings = shape.g[geometry.centrelines["rod"], :3, 3], geometry.ring_points(shape, "rod")
    radius = 0.4 / (np.pi / 2.0)
    assert_allclose(np.hypot(line[:, 0], line[:, 2] + radius), radius, atol=1e-12)
    assert_allclose(line[-1], [radius, 0.0, -radius], atol=1e-12)
    assert_allclose(np.linalg.norm(rings - line[:, None], axis=2), 0.02, atol=1e-14)
    # on a torus, normals included
    across = np.hypot(rings[..., 0], rings[..., 2] + radius) - radius
    assert_allclose(np.hypot(across, rings[..., 1]), 0.02, atol=1e-12)
    inside = slice(1, -1)  # differences at the ends are one-sided
    normals = shape.normals[geometry.rings["rod"]][inside]
    assert_allclose(normals, (rings - line[:, None])[inside] / 0.02, atol=1e-3)


@pytest.mark.parametrize("name", SECTIONS)
def test_volume_is_the_integral_of_the_area(name):
    robot = rod_robot(SECTIONS[name], bending=0)
    geometry = Geometry(robot, n_stations=160, n_around=24)
    (part,) = geometry.parts
    # stations are joined by straight lines, the barrel's profile is not straight: 160 of them leave 1e-4
    assert_allclose(volume(geometry.at([0.0, 0.0]), part), drawn_volume(SECTIONS[name], 0.4, 24), rtol=1e-4)
    # Pappus: the centroid is on the axis, so a bend without stretch keeps the volume
    assert_allclose(volume(geometry.at([1.0, -0.5]), part), drawn_volume(SECTIONS[name], 0.4, 24), rtol=1e-3)


def test_round_volume_nears_that_of_the_true_circle():
    robot = rod_robot(Circle((0.03, 0.015)), bending=0)
    geometry = Geometry(robot, n_around=512)
    cone = np.pi * 0.4 / 3.0 * (0.03**2 + 0.03 * 0.015 + 0.015**2)
    assert_allclose(volume(geometry.at([0.0, 0.0]), geometry.parts[0]), cone, rtol=1e-4)


def test_divisions_with_jumps_are_closed_pieces():
    sections = (Circle(0.03), Rectangle(0.04, 0.02), HollowCircle(0.02, 0.01), HollowCircle(0.02, (0.01, 0.015)))
    robot = rod_robot(*sections, bending=0)
    geometry = Geometry(robot, n_stations=80, n_around=20)
    expected = sum(drawn_volume(section, 0.1, 20) for section in sections)
    assert_allclose(volume(geometry.at(np.zeros(robot.ndof)), geometry.parts[0]), expected, rtol=1e-6)
    # both sides of each of the two jumps are stations, the smooth boundary is one
    line = geometry.at(np.zeros(robot.ndof)).g[geometry.centrelines["rod"], 0, 3]
    assert [int(np.sum(np.abs(line - x) < 1e-12)) for x in (0.1, 0.2, 0.3)] == [2, 2, 1]


@pytest.mark.parametrize("seed", range(8))
def test_every_part_of_any_robot_is_closed_and_turned_outwards(seed, rng):
    robot = varied_tree(seed)
    geometry = Geometry(robot, n_stations=16, n_around=12)
    shape = geometry.at(moved(robot, rng))
    assert np.isfinite(shape.points).all()
    assert_allclose(np.linalg.norm(shape.normals, axis=1), 1.0, atol=1e-12)
    for part in geometry.parts:
        value = volume(shape, part)
        assert value > 0.0, part.name
        assert_allclose(volume(shape, part, about=np.array([3.0, -2.0, 1.0])), value, rtol=1e-9, atol=1e-13)


def test_normals_agree_with_the_faces(rng):
    robot = varied_tree(3, tendons=False)
    geometry = Geometry(robot)
    shape = geometry.at(moved(robot, rng))
    for part in geometry.parts:
        a, b, c = np.moveaxis(triangles(shape, part), 1, 0)
        across = np.cross(b - a, c - a)
        area = np.linalg.norm(across, axis=1)
        real = area > 1e-6 * area.max()
        facing = across[real] / area[real, None]
        for corner in range(3):
            assert (np.einsum("ij,ij->i", shape.normals[part.faces[real, corner]], facing) > 0.4).all(), part.name


def test_edges_of_a_rectangle_stay_sharp():
    geometry = Geometry(rod_robot(Rectangle(0.04, 0.02), bending=0), n_around=16)
    shape = geometry.at([0.0, 0.0])
    # every normal is along y, z or, at the ends, x: none is averaged over an edge
    assert_allclose(
        np.sort(np.abs(shape.normals), axis=1), np.tile([0.0, 0.0, 1.0], (geometry.n_points, 1)), atol=1e-12
    )


def test_tendons_run_where_their_routes_are(rng):
    robot = cable_manipulator()
    geometry = Geometry(robot)
    shape = geometry.at(moved(robot, rng))
    X = np.linspace(0.0, 0.5, 80)
    for name, (stations, d) in geometry.tendons.items():
        g = shape.g[stations]
        local = np.einsum("kji,kj->ki", g[:, :3, :3], geometry.tendon_points(shape, name) - g[:, :3, 3])
        distance = np.hypot(local[:, 1], local[:, 2])
        assert_allclose(local, d, atol=1e-14)
        assert_allclose(local[:, 0], 0.0, atol=1e-14)
        # cables 1 to 3 on the surface, 4 and 5 on a helix inside
        on_surface = name in ("cable1", "cable2", "cable3")
        assert_allclose(distance, 0.03 - 0.03 * X if on_surface else 0.015, atol=1e-14)
        assert (distance <= 0.03 - 0.03 * X + 1e-12).all()


def test_drawn_tendons_are_as_long_as_the_real_ones(rng):
    robot = cable_manipulator(n_gauss=20)
    geometry = Geometry(robot, n_stations=200)
    q = moved(robot, rng)
    shape = geometry.at(q)
    for name, length in robot.tendon_lengths(q).items():
        drawn = np.linalg.norm(np.diff(geometry.tendon_points(shape, name), axis=0), axis=1).sum()
        assert_allclose(drawn, length, rtol=1e-4)


def test_a_tendon_goes_from_rod_to_rod_and_may_end_early():
    rods = [Link("a", Rod((Division(0.1, Circle(0.02), SILICONE, Strain(bending=0)),) * 2))]
    rods.append(Link("b", Rod((Division(0.3, Circle(0.01), SILICONE, Strain(bending=0)),)), parent="a"))
    runs = (RouteSegment("a", y=0.0, z=0.015, start=0.5), RouteSegment("b", y=0.0, z=0.005))
    robot = Robot(Description("two", tuple(rods), actuators={"cord": Tendon(runs)}))
    geometry = Geometry(robot)
    line = geometry.tendon_points(geometry.at(np.zeros(robot.ndof)), "cord")
    assert_allclose(line[[0, -1]], [[0.1, 0.0, 0.015], [0.5, 0.0, 0.005]], atol=1e-15)
    assert (np.diff(line[:, 0]) >= 0.0).all()
    assert [part.kind for part in geometry.parts] == [ROD, ROD, TENDON]


@pytest.mark.parametrize("seed", [0, 4])
def test_topology_does_not_change_and_one_look_gives_all(seed, rng, monkeypatch):
    robot = varied_tree(seed)
    geometry = Geometry(robot)
    faces = [part.faces.copy() for part in geometry.parts]
    looks = []
    look = robot.engine.poses_at
    monkeypatch.setattr(robot.engine, "poses_at", lambda *a, **k: looks.append(1) or look(*a, **k))
    shapes = [geometry.at(moved(robot, rng)) for _ in range(3)]
    assert len(looks) == 3
    assert {shape.points.shape for shape in shapes} == {(geometry.n_points, 3)}
    for part, before in zip(geometry.parts, faces, strict=True):
        assert_array_equal(part.faces, before)
    used = np.unique(np.concatenate(faces))
    assert_array_equal(used, np.arange(geometry.n_points))


def test_stations_are_sections_of_the_robot(rng):
    robot = varied_tree(1)
    q = moved(robot, rng)
    geometry = Geometry(robot, n_stations=7)
    shape = geometry.at(q)
    for link in robot.links:
        assert_allclose(shape.g[geometry.frames[link.name]], robot.pose(q, link.name, s=0.0), atol=1e-14)
        if link.rod is not None:
            ends = geometry.centrelines[link.name][[0, -1]]
            assert_allclose(shape.g[ends], robot.poses(q, link.name, s=[0.0, 1.0]), atol=1e-14)


def test_rigid_body_is_the_ellipsoid_of_its_inertia(rng):
    half, mass = np.array([0.12, 0.05, 0.03]), 2.0
    R = random_pose(rng)[:3, :3]
    squares = mass / 5.0 * half**2
    inertia = R @ np.diag(squares.sum() - squares) @ R.T
    entries = (*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2])
    body = RigidBody(mass, centre=(0.1, 0.2, 0.3), inertia=entries)
    robot = Robot(Description("stone", (Link("stone", body, joint=Joint("revolute")),)))
    geometry = Geometry(robot, n_around=64)
    shape = geometry.at([0.7])
    local = (shape.points - robot.pose([0.7], "stone")[:3, 3]) @ robot.pose([0.7], "stone")[:3, :3] - body.centre
    assert [part.kind for part in geometry.parts] == [BODY]
    assert_allclose(np.sum((local @ R / half) ** 2, axis=1), 1.0, atol=1e-9)
    assert_allclose(volume(shape, geometry.parts[0]), 4.0 / 3.0 * np.pi * half.prod(), rtol=1e-2)


@pytest.mark.parametrize("inertia", [1.0, 1e-2])
def test_a_body_of_little_mass_and_much_inertia_is_drawn_as_large_as_a_light_body_of_its_mass(inertia):
    body = RigidBody(0.02, inertia=(inertia, 0.5 * inertia, 0.6 * inertia))
    geometry = Geometry(Robot(Description("placeholder", (Link("placeholder", body),))), n_around=64)
    shape = geometry.at([])
    assert_allclose(volume(shape, geometry.parts[0]), 0.02 / 500.0, rtol=1e-2)
    extent = np.ptp(shape.points, axis=0)
    # its proportions stay those of its inertia
    moments = np.array([1.0, 0.5, 0.6])
    half = np.sqrt(moments.sum() - 2.0 * moments)
    assert_allclose(extent / extent[2], half / half[2], rtol=1e-2)


def test_a_plate_without_thickness_is_still_seen():
    plate = RigidBody(1.0, inertia=(2e-3, 1e-3, 1e-3))
    geometry = Geometry(Robot(Description("plate", (Link("plate", plate),))))
    extent = np.ptp(geometry.at([]).points, axis=0)
    assert_allclose(extent, [0.03 * extent[1], extent[1], extent[1]], rtol=1e-6)


def test_a_robot_of_frames_has_no_parts():
    robot = Robot(Description("frame", (Link("frame", None),)))
    geometry = Geometry(robot)
    shape = geometry.at([])
    assert geometry.parts == ()
    assert shape.points.shape == (0, 3)
    assert_allclose(shape.g[geometry.frames["frame"]], np.eye(4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_stations": 1}, "n_stations: expected a whole number of 2 or more, got 1"),
        ({"n_around": 3}, "n_around: expected a whole number of 4 or more, got 3"),
        ({"n_around": 8.0}, "n_around: expected a whole number of 4 or more, got 8.0"),
        ({"n_stations": True}, "n_stations: expected a whole number of 2 or more, got True"),
    ],
)
def test_messages(arguments, message):
    with pytest.raises(InputError) as caught:
        Geometry(rod_robot(Circle(0.01), bending=0), **arguments)
    assert str(caught.value) == message


# -- camera


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("up", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, -1)])
def test_camera_sees_everything_as_large_as_fits(view, up, rng):
    up = np.array(up, dtype=float)
    points = rng.normal(size=(50, 3)) * [0.3, 0.1, 0.6] + [1.0, -2.0, 0.5]
    position, focus, vertical = fit_camera(points, up, view, 1.6, (0.1, 0.2, 0.05, 0.15))
    z = (position - focus) / np.linalg.norm(position - focus)
    x = np.cross(vertical, z) / np.linalg.norm(np.cross(vertical, z))
    local = (points - position) @ np.stack([x, np.cross(z, x), z]).T
    half = np.tan(np.deg2rad(VIEW_ANGLE) / 2.0)
    seen = local[:, :2] / -local[:, 2:] / (half * np.array([1.6, 1.0]))
    low, high = 0.5 + 0.5 * seen.min(axis=0), 0.5 + 0.5 * seen.max(axis=0)
    assert (local[:, 2] < 0.0).all()
    assert (low >= np.array([0.1, 0.05]) - 1e-12).all()
    assert (high <= np.array([0.8, 0.85]) + 1e-12).all()
    # one of the two directions is filled
    assert_allclose(max((high - low) / [0.7, 0.8]), 1.0, rtol=1e-12)


def test_vertical_follows_gravity():
    assert_array_equal(up_axis(np.array([0.0, 0.0, -9.81])), [0, 0, 1])
    assert_array_equal(up_axis(np.array([0.0, -9.81, 0.1])), [0, 1, 0])
    assert_array_equal(up_axis(np.array([3.0, 0.0, 0.0])), [-1, 0, 0])
    assert_array_equal(up_axis(np.zeros(3)), [0, 0, 1])
    for up in np.concatenate([np.eye(3), -np.eye(3)]):
        assert_allclose(np.linalg.det(np.stack([*level_axes(up), up])), 1.0)


def test_grid_steps_are_round():
    assert [grid_step(x) for x in (0.4, 0.8, 1.0, 8.0, 9.0)] == [0.05, 0.1, 0.2, 1.0, 2.0]


@pytest.mark.parametrize("seed", range(3))
def test_some_points_are_those_of_the_whole_shape(seed):
    robot, rng = varied_tree(seed), np.random.default_rng(seed)
    geometry, q = Geometry(robot, n_stations=9, n_around=8), moved(robot, rng)
    chosen = rng.permutation(geometry.n_points)[:50]
    assert_allclose(geometry.some_points(q, chosen), geometry.at(q).points[chosen], atol=1e-14)


def test_what_a_picture_must_hold_has_every_corner_of_a_body():
    """Within the margin of pictures, for boxes, whose corners are few, and for cones, whose tip is one point."""
    text = """
    sorosim: 1
    name: solids
    links:
      box: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {box: {size: [10 cm, 6 cm, 4 cm]}, mass: 1 kg}}
      cone:
        parent: box
        at: {position: [0, 0, 0.3]}
        body: {cone: {radius: 3 cm, length: 20 cm}, mass: 1 kg}
    """
    geometry = Geometry(load_text(textwrap.dedent(text), "solids.yaml"))
    shape = geometry.at([0.2])
    for part in geometry.parts:
        mine = geometry.outermost[(geometry.outermost >= part.points.start) & (geometry.outermost < part.points.stop)]
        every, held = shape.points[part.points], shape.points[mine]
        assert len(mine) <= 200
        assert_allclose(held.min(axis=0), every.min(axis=0), atol=1e-4)
        assert_allclose(held.max(axis=0), every.max(axis=0), atol=1e-4)


def test_a_shape_without_a_surface_of_its_own_is_drawn_as_a_box():
    class Post(Shape):
        moments = None
        half_extents = np.array([0.1, 0.2, 0.3])

    class Wedge(Post):
        def surface(self, n_around):
            return np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array(
                [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
            )

    for shape, size in ((Post(), 0.048), (Wedge(), 1.0 / 6.0)):
        drawn = shape_surface(shape, 12)
        assert np.linalg.det(drawn.points[drawn.faces]).sum() / 6.0 == pytest.approx(size)


@pytest.mark.parametrize(
    ("at", "height"),
    [
        ("position: [0, 0, -5 cm]", -0.05 - HAIR * 0.4),  # touched soon
        ("position: [0, 0, 1 cm]", 0.01 - HAIR * 0.4),  # the rod, of 2 cm, is sunk in it
        ("position: [0, 0, -50 cm]", -0.02 - 0.04 * 0.4),  # farther than the rod is long
        ("position: [0, 0, -5 cm], rotation: {rpy: [10 deg, 0, 0]}", -0.02 - 0.04 * 0.4),
    ],
)
def test_the_floor_is_that_which_a_robot_may_touch_if_it_is_level_and_near(at, height):
    ground = f"{{contact: {{between: rod, and: {{half_space: {{}}, at: {{{at}}}}}, stiffness: 1 kN/m^1.5}}}}"
    robot = load_text(
        "sorosim: 1\nmaterials: {gel: {young: 1 MPa, poisson: 0.5, density: 1}}\nlinks:\n  rod: {rod: {length: 0.4, "
        f"section: {{circle: {{radius: 2 cm}}}}, material: gel, strain: {{bending: 1}}}}}}\n"
        f"loads: {{ground: {ground}}}",
        "rod.yaml",
    )
    floor = Stage([RobotVisual(robot)], [robot.initial_q[None]], np.array([0.0, 0.0, 1.0])).floor
    assert_allclose([floor.size, floor.height], [0.4, height], rtol=1e-3)
