"""Shapes for collisions in files of other programs, which contacts take."""

from importlib.util import find_spec

import numpy as np
import pytest
from helpers.robots import arrays_of
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import FileError, ModelError, SorosimWarning
from sorosim.files import dump, load, load_text
from sorosim.mechanics.model.mesh import Mesh

URDF = """<robot name="m">
<link name="base"/>
<link name="leg"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 -0.2"/><geometry><box size="0.1 0.1 0.4"/></geometry></collision></link>
<link name="foot">
  <visual><geometry><box size="1 1 1"/></geometry></visual>
  <collision><origin xyz="0 0 0.01"/><geometry><sphere radius="0.05"/></geometry></collision>{more}</link>
<joint name="j" type="prismatic"><parent link="base"/><child link="leg"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="k" type="fixed"><origin xyz="0 0 -0.5"/><parent link="leg"/><child link="foot"/></joint>
</robot>
"""
SDF = """<sdf version="1.9"><model name="m"><link name="base"/>
<joint name="w" type="fixed"><parent>world</parent><child>base</child></joint>
<link name="leg"><inertial><mass>1</mass></inertial>
  <collision name="a"><pose>0 0 -0.2 0 0 0</pose><geometry><box><size>0.1 0.1 0.4</size></box></geometry></collision>
  <collision name="b"><pose>0 0 -0.49 0 0 0</pose><geometry><sphere><radius>0.05</radius></sphere></geometry>
  </collision>{more}</link>
<joint name="j" type="prismatic"><parent>base</parent><child>leg</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>
"""
MJCF = """<mujoco model="m"><worldbody><geom name="floor" type="plane" size="1 1 0.1"/>
<body name="leg"><joint type="slide" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
  <geom type="box" size="0.05 0.05 0.2" pos="0 0 -0.2"/><geom type="sphere" size="0.05" pos="0 0 -0.49"/>
  <geom type="sphere" size="3" contype="0" conaffinity="0"/>{more}</body></worldbody></mujoco>
"""
FILES = {"urdf": URDF, "sdf": SDF, "mjcf": MJCF}
CONTACT = "loads: {{touch: {{contact: {{between: {}, and: {{half_space: {{}}}}, stiffness: 1e5 N/m^1.5}}}}}}\n"
NEEDS = {"urdf": "yourdfpy", "sdf": "numpy", "mjcf": "mujoco"}


def robot_of(folder, kind, options="", more="", surface="leg"):
    if find_spec(NEEDS[kind]) is None:
        pytest.skip(f"the extra {kind} is not installed")
    (folder / f"m.{kind}").write_text(FILES[kind].format(more=more))
    text = f"sorosim: 1\nimport: {{{kind}: m.{kind}, at: {{position: [0, 0, 1 m]}}{options}}}\n"
    (folder / "m.yaml").write_text(text + CONTACT.format(surface))
    return load(folder / "m.yaml")


@pytest.mark.parametrize("kind", list(FILES))
@pytest.mark.filterwarnings("ignore:.*touches nothing")
def test_contacts_take_the_shapes_that_a_file_has_for_collisions(tmp_path, kind):
    robot = robot_of(tmp_path, kind, ", collision: true")
    shapes = {link.name: link.collision for link in robot.links}["leg"]
    assert [shape.shape.kind for shape in shapes] == ["box", "sphere"]
    assert_allclose([shape.at[2, 3] for shape in shapes], [-0.2, -0.49])
    # the ball is 1 m - 0.49 m - 0.05 m - 0.4 m above the ground
    assert np.min(robot.contact_gaps([-0.4])["touch"]) == pytest.approx(0.06)
    by_hand = robot_of(tmp_path, kind, surface="{link: leg, sphere: {radius: 5 cm}, at: {position: [0, 0, -49 cm]}}")
    q, rest = np.array([-0.47]), np.zeros(1)
    pushed = robot.forward_dynamics(q, rest)
    assert_allclose(pushed, 1e5 * 0.01**1.5 - 9.81, rtol=2e-3)
    assert_allclose(pushed, by_hand.forward_dynamics(q, rest), rtol=1e-9)
    again = load_text(robot.description.text, "text.yaml")
    for a, b in zip(arrays_of(robot), arrays_of(again), strict=True):
        assert_array_equal(a, b)
    for one in (again, load_text(dump(robot), "dump.yaml")):
        assert [shape.shape.kind for shape in one.links[-1].collision] == ["box", "sphere"]


def test_without_the_option_a_link_has_none(tmp_path):
    with pytest.raises((FileError, ModelError), match=r"expected a link with shapes, got 'leg', known by numbers only"):
        robot_of(tmp_path, "urdf")


@pytest.mark.parametrize(
    ("kind", "more", "said"),
    [
        (
            "urdf",
            '<collision><geometry><mesh filename="a.stl"/></geometry></collision>',
            r"'a\.stl', not found; package_dirs.*",
        ),
        ("sdf", '<collision name="c"><geometry><plane><size>1 1</size></plane></geometry></collision>', "a plane"),
        ("mjcf", "", "a plane, 'floor'"),
    ],
)
def test_what_cannot_touch_is_left_out_with_a_word(tmp_path, kind, more, said):
    with pytest.warns(SorosimWarning, match=rf"touches nothing: .*{said}; surfaces of contacts take other shapes"):
        robot_of(tmp_path, kind, ", collision: true", more)


STAR = "\n".join(  # a cube of 2 with a dent of its own in each side
    [*(f"v {x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)),
     *(f"v {' '.join(str(0.4 * s * (i == k)) for i in range(3))}" for k in range(3) for s in (-1, 1)),
     *(f"f {a} {b} {c}" for a, b, c in (
         (1, 2, 9), (2, 4, 9), (4, 3, 9), (3, 1, 9), (6, 5, 10), (8, 6, 10), (7, 8, 10), (5, 7, 10),
         (5, 6, 11), (6, 2, 11), (2, 1, 11), (1, 5, 11), (3, 4, 12), (4, 8, 12), (8, 7, 12), (7, 3, 12),
         (1, 3, 13), (3, 7, 13), (7, 5, 13), (5, 1, 13), (6, 8, 14), (8, 4, 14), (4, 2, 14), (2, 6, 14)))])  # fmt: skip


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
@pytest.mark.filterwarnings("ignore:.*touches nothing")
def test_a_mesh_touches_by_its_convex_hull(tmp_path, kind):
    """A cube of 20 cm with dents stands 10 cm below the place of its middle; a box of the size presses the same."""
    (tmp_path / "star.obj").write_text(STAR)
    scaled, asset = '"star.obj" scale="0.1 0.1 0.1"/>', '<asset><mesh name="star" file='
    more = {
        "urdf": f'<collision><origin xyz="0 0 -0.1"/><geometry><mesh filename={scaled}</geometry></collision>',
        "mjcf": '<geom type="mesh" mesh="star" pos="0 0 -0.6"/></body></worldbody>'
        f'{asset}{scaled}</asset><worldbody><body><joint/><geom size="0.1" contype="0" conaffinity="0"/>',
    }[kind]
    with pytest.warns(SorosimWarning, match=r"touches as what is convex: .*by 8 corners of its convex hull, up to 0 "):
        robot = robot_of(tmp_path, kind, ", collision: true", more)
    (hull,) = [one for one in {link.name: link.collision for link in robot.links}["leg"] if one.shape.kind == "mesh"]
    assert hull.shape.moments.volume == pytest.approx(0.2**3, rel=1e-12)
    # the cube's lowest face is 0.5 m + 0.1 m + 0.1 m below the joint, 1 m up
    q = np.zeros(robot.ndof)
    q[0] = -0.2
    assert robot.contact_gaps(q)["touch"] == pytest.approx(0.1, abs=1e-12)


def test_hulls_of_many_corners_are_thinned_and_say_so(rng):
    """A ball of 2000 points: 60 corners, no point of it farther outside than is said."""
    points = rng.normal(size=(2000, 3))
    points *= 0.1 / np.linalg.norm(points, axis=1)[:, None]
    mesh = Mesh(points, np.arange(1998).reshape(-1, 3))
    hull, inside = mesh.convex_hull()
    assert len(hull.vertices) == 60
    assert 0.0 < inside < 0.02
    a, b, c = np.moveaxis(hull.vertices[hull.faces], 1, 0)
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    offsets = np.einsum("ij,ij->i", normals, a)
    assert (offsets > 0.0).all()
    assert (points @ normals.T - offsets).max() == pytest.approx(inside, rel=1e-9)
    assert hull.moments.volume < 4.0 / 3.0 * np.pi * 0.1**3


def test_a_flat_mesh_touches_nothing(tmp_path):
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n")
    more = '<collision><geometry><mesh filename="flat.obj"/></geometry></collision>'
    with pytest.warns(SorosimWarning, match=r"touches nothing: .*'flat\.obj', a flat one; surfaces of contacts"):
        robot_of(tmp_path, "urdf", ", collision: true", more)


def test_a_shape_that_should_touch_and_is_wrong_is_an_error(tmp_path):
    with pytest.raises(FileError, match=r"link\.foot\.collision: expected a length greater than 0, got -1"):
        robot_of(
            tmp_path, "urdf", ", collision: true",
            '<collision><geometry><sphere radius="-1"/></geometry></collision>',
        )  # fmt: skip


def test_a_rod_touches_as_it_is():
    text = """sorosim: 1
materials: {m: {young: 1 MPa, poisson: 0.5, density: 1 g/cm^3}}
links:
  arm:
    rod: {length: 10 cm, section: {circle: {radius: 1 cm}}, material: m, strain: {bending: 1}}
    collision: {sphere: {radius: 1 cm}}
"""
    with pytest.raises((FileError, ModelError), match=r"links\.arm\.collision: expected no shapes on a rod, which"):
        load_text(text, "robot.yaml")
