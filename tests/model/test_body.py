"""Rigid bodies: of solids, of parts, seen from elsewhere; links with frames and visuals."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.meshes import angle_mesh, box_mesh
from helpers.robots import random_body, random_pose
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import ModelError
from sorosim.base.registry import SHAPES as KINDS
from sorosim.mechanics.lie.se3 import Ad
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import Assembly, PointMass, RigidBody, Solid
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.model.shape import Box, Cone, Cylinder, Sphere
from sorosim.mechanics.model.visual import COLOURS, Visual
from sorosim.mechanics.robot import Robot


def pose(x=0.0, y=0.0, z=0.0):
    g = np.eye(4)
    g[:3, 3] = x, y, z
    return g


def same(a, b, rtol=1e-12):
    assert_allclose(a.spatial_inertia, b.spatial_inertia, rtol=rtol, atol=rtol * np.abs(b.spatial_inertia).max())


# -- solids


def test_a_solid_has_its_mass_by_density_or_as_it_is_given():
    by_density, by_mass = Solid(Box((0.1, 0.2, 0.3)), density=500.0), Solid(Box((0.1, 0.2, 0.3)), mass=3.0)
    same(by_density.properties, by_mass.properties)
    assert by_mass.properties.mass == 3.0
    assert_allclose(by_mass.properties.inertia[:3], 0.25 * np.array([0.13, 0.1, 0.05]), rtol=1e-14)


def test_a_solid_in_a_pose_has_the_spatial_inertia_that_moves_with_it(rng):
    for shape in (Cone(0.1, 0.3), angle_mesh(), Sphere(0.2)):
        g = random_pose(rng)
        there, here = Solid(shape, density=300.0, at=g).properties, Solid(shape, density=300.0).properties
        A = Ad(np.linalg.inv(g))
        assert_allclose(there.spatial_inertia, A.T @ here.spatial_inertia @ A, rtol=1e-9, atol=1e-9)


def test_a_body_seen_from_another_frame_moves_the_same(rng):
    body, g = random_body(rng), random_pose(rng)
    A = Ad(np.linalg.inv(g))
    assert_allclose(body.moved(g).spatial_inertia, A.T @ body.spatial_inertia @ A, rtol=1e-10, atol=1e-12)
    same(body.moved(g).moved(np.linalg.inv(g)), body)


# -- of parts


def test_two_boxes_are_the_mesh_of_their_union():
    long = Solid(Box((3, 1, 0.5)), density=2.0, at=pose(1.5, 0.5, 0.25))
    short = Solid(Box((1, 1, 0.5)), density=2.0, at=pose(0.5, 1.5, 0.25))
    same(Assembly((long, short)), Assembly((Solid(angle_mesh(), density=2.0),)))


def test_a_box_of_triangles_is_the_box():
    size = (0.3, 0.2, 0.7)
    same(Assembly((Solid(box_mesh(size), density=7.0),)), Assembly((Solid(Box(size), density=7.0),)))


def test_a_turned_part_counts_turned(rng):
    g = random_pose(rng)
    parts = [Solid(Box((0.1, 0.2, 0.3)), density=1.0), Solid(Cylinder(0.1, 0.4), mass=0.02, at=pose(0.3))]
    turned = Assembly([replace(part, at=g @ part.at) for part in parts])
    same(turned, Assembly(parts).moved(g), 1e-10)


def test_parts_may_be_numbers_and_assemblies(rng):
    bodies = [random_body(rng) for _ in range(3)]
    inner = Assembly(bodies[:2])
    whole = Assembly((inner, bodies[2], Solid(Sphere(0.1), mass=0.5)))
    expected = sum(body.spatial_inertia for body in bodies) + Solid(Sphere(0.1), mass=0.5).properties.spatial_inertia
    assert_allclose(whole.spatial_inertia, expected, rtol=1e-12, atol=1e-14)
    assert whole.parts[0] is inner
    assert isinstance(whole, RigidBody)


BALL = Sphere(0.1)
SHAPES = ", ".join(KINDS.declared())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Solid(BALL), "body: expected one of density and mass, got neither; for instance density: 1 g/cm^3"),
        (lambda: Solid(BALL, density=1.0, mass=1.0),
         "body: expected one of density and mass, got both; leave one of them out"),
        (lambda: Solid(BALL, density=-1.0), "body.density: expected a density greater than 0, got -1"),
        (lambda: Solid(BALL, mass=0), "body.mass: expected a mass greater than 0, got 0"),
        (lambda: Solid("ball", mass=1), f"body.shape: expected one of {SHAPES}, got 'ball'"),
        (lambda: Solid(BALL, mass=1, at=np.eye(3)),
         "body.at: expected a pose, a (4, 4) array of finite numbers, got shape (3, 3)"),
        (lambda: Solid(Sphere(1e150), density=1.0),
         "sphere.radius: expected a length greater than 0, and none beyond 1e+50, got 1e+150; look for a wrong unit"),
        (lambda: Solid(Box((1e-110, 1, 1e-110)), mass=1.0),
         "body.box: expected sizes that can be computed with, got a volume of 1e-220 m^3; look for a wrong unit"),
        (lambda: Solid(Mesh(np.eye(3), [[0, 1, 2]]), mass=1.0),
         "body.mesh: expected a closed surface, got one with 3 open edges; close it, or give mass, centre and inertia, "
         "and the mesh in `visual`"),
        (lambda: Assembly(()), "body.parts: expected one part or several, got an empty list"),
        (lambda: Assembly(Solid(BALL, mass=1.0)), "body.parts: expected a list, got Solid"),
        (lambda: Assembly((BALL,)), "body.parts[0]: expected a Solid, got Sphere"),
    ],
)  # fmt: skip
def test_messages_of_bodies(make, message):
    with pytest.raises(ModelError) as caught, np.errstate(all="ignore"):
        make()
    assert str(caught.value) == message


# -- links


FRAME = np.array([[0.0, -1.0, 0.0, 0.1], [1.0, 0.0, 0.0, 0.2], [0.0, 0.0, 1.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
BODY = RigidBody(1.0, inertia=(1.0, 1.0, 1.0))
ROD = Rod((Division(0.1, Circle(0.01), Material(1e6, poisson=0.5, density=1e3), Strain(bending=1)),))


def test_a_child_hangs_on_a_frame_of_its_parent(rng):
    at = random_pose(rng)
    turning = {"joint": Joint("revolute"), "parent": "palm"}
    named = (Link("palm", BODY, frames={"socket": FRAME}), Link("finger", BODY, frame="socket", at=at, **turning))
    plain = (Link("palm", BODY), Link("finger", BODY, at=FRAME @ at, **turning))
    named, plain = Robot(Description("hand", named)), Robot(Description("hand", plain))
    for a, b in zip(named.engine.tree, plain.engine.tree, strict=True):
        assert_array_equal(a, b)
    assert_allclose(named.pose([0.0], "finger"), FRAME @ at, atol=1e-15)


def test_a_frame_may_be_on_a_link_without_a_body_and_the_links_in_any_order():
    links = (Link("tip", BODY, parent="mount", frame="a"), Link("mount", None, at=FRAME, frames={"a": FRAME}))
    robot = Robot(Description("mount", links))
    assert_allclose(robot.pose([], "tip"), FRAME @ FRAME, atol=1e-15)


def test_visuals_change_nothing_but_the_picture():
    plain, shown = (
        Robot(Description("ball", (Link("ball", BODY, visual=visual),)))
        for visual in (None, [Visual(Box((1, 1, 1)), colour="red")])
    )
    for a, b in zip(plain.engine.tree, shown.engine.tree, strict=True):
        assert_array_equal(a, b)


def test_colours_have_codes():
    assert Visual(BALL, colour="orange").code == COLOURS["orange"]
    assert Visual(BALL, colour="#E58A2E").code == "#e58a2e"
    assert Visual(BALL).code == ""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Link("a", Solid(BALL, mass=1.0)),
         "a.body: expected a Rod, Tubes, a RigidBody or None, got Solid; put solids into an Assembly"),
        (lambda: Link("a", ROD, frames={"tip": np.eye(4)}),
         "a.frames: expected no frames on a rod, got tip; children of a rod say where on it they are: at: {s: 0.5}"),
        (lambda: Link("a", ROD, visual=()),
         "a.visual: expected no shapes on a rod, which is drawn as it is, got some; hang a link without a body on it "
         "that has them"),
        (lambda: Link("a", BODY, frames={"tip": np.zeros((4, 4))}),
         "a.frames.tip: expected a rotation matrix, a position and the row 0 0 0 1, got [["),
        (lambda: Link("a", BODY, frames=[FRAME]), "a.frames: expected a mapping of names, got [ndarray]"),
        (lambda: Link("a", BODY, frame=3), "a.frame: expected the name of a frame, got 3"),
        (lambda: Link("a", BODY, visual=BALL), "a.visual: expected a Visual, got Sphere"),
        (lambda: Visual(3), f"visual.shape: expected one of {SHAPES}, got 3"),
        (lambda: Visual(BALL, colour="rde"),
         "visual.colour: expected the name of a colour, or its code such as '#e58a2e', got 'rde'; did you mean red?"),
        (lambda: Description("x", (Link("a", BODY, frames={"tip": FRAME}), Link("b", None, parent="a", frame="tap"))),
         "links.b.frame: expected the name of a frame of 'a', got 'tap'; did you mean tip?"),
        (lambda: Description("x", (Link("a", BODY, frame="tip"),)),
         "links.a.frame: expected the name of a frame of 'world', got 'tip'; there are none"),
        (lambda: Description("x", (Link("a", ROD), Link("b", None, parent="a", frame="tip"))),
         "links.b.frame: expected the name of a frame of 'a', got 'tip'; there are none"),
    ],
)  # fmt: skip
def test_messages_of_links(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value).startswith(message)
    assert str(caught.value) == message or message.endswith("[")


def test_rounded_numbers_of_a_flat_body_are_refused_with_the_largest_that_is_possible():
    with pytest.raises(ModelError) as caught:
        RigidBody(0.1, inertia=(1.23e-5, 1.23e-5, 2.47e-5))
    assert str(caught.value) == (
        "body.inertia: expected no principal moment above the sum of the other two, got principal moments 1.23e-05, "
        "1.23e-05, 2.47e-05; numbers of data sheets are rounded: make the largest 2.46e-05 or less"
    )
    assert RigidBody(0.1, inertia=(1.23e-5, 1.23e-5, 2.46e-5)).inertia[2] == 2.46e-5
    with pytest.raises(ModelError) as caught:
        RigidBody(0.1, inertia=(1.0, 1.0, 3.0))
    assert caught.value.hint == ""


def test_a_body_need_not_be_physical_but_no_moment_is_negative():
    with pytest.raises(ModelError, match=r"no principal moment above the sum of the other two"):
        RigidBody(1.0, inertia=(1.0, 1.0, 3.0))
    body = RigidBody(1.0, inertia=(1.0, 1.0, 3.0), physical=False)
    g = np.eye(4)
    g[:3, :3] = [[0, -1, 0], [0, 0, -1], [1, 0, 0]]
    moved = RigidBody(1.0, inertia=(1.0, 1.0, 3.0), physical=False, at=g)
    assert not moved.physical
    assert moved.inertia[:3] == (1.0, 3.0, 1.0)
    assert np.linalg.eigvalsh(body.spatial_inertia)[0] > 0.0
    with pytest.raises(ModelError, match=r"no negative principal moment"):
        RigidBody(1.0, inertia=(-1.0, 1.0, 3.0), physical=False)
    assert not Assembly((body, PointMass(1.0))).physical
