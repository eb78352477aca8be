"""Shapes for collisions in files of other programs, which contacts take."""

from importlib.util import find_spec

import numpy as np
import pytest
from helpers.robots import arrays_of
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import FileError, ModelError, SorosimWarning
from sorosim.files import dump, load, load_text

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
        ("urdf", '<collision><geometry><mesh filename="a.stl"/></geometry></collision>', r"a mesh, 'a\.stl'"),
        ("sdf", '<collision name="c"><geometry><plane><size>1 1</size></plane></geometry></collision>', "a plane"),
        ("mjcf", "", "a plane, 'floor'"),
    ],
)
def test_what_cannot_touch_is_left_out_with_a_word(tmp_path, kind, more, said):
    with pytest.warns(SorosimWarning, match=rf"touches nothing: .*{said}; surfaces of contacts take other shapes"):
        robot_of(tmp_path, kind, ", collision: true", more)


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
