"""Robots from URDF: where they stand in a file, what becomes of their parts, what wrong files are told."""

import json
import re
import shutil
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from helpers.robots import arrays_of
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import FileError, ModelError, SorosimWarning
from sorosim.connect import cli
from sorosim.files import dump, load, load_text
from sorosim.files.meshes import read_mesh
from sorosim.files.rigid.document import MAX_BYTES, MAX_NESTING
from sorosim.files.rigid.meshes import mesh_file

pytestmark = pytest.mark.skipif(find_spec("yourdfpy") is None, reason="the extra urdf is not installed")

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "urdf"
FILES = ("serial_arm", "branching_tree", "floating_base", "continuous_wheels", "pictures")
FREE = {"import.mimic": "free"}
RUBBER = "materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}}\n"
ROD = "rod: {length: 10 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 1}}"


def blocks():
    """Mistakes of the list: what is replaced, by what, the message."""
    for block in (HERE / "mistakes_of_urdf.txt").read_text("utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            yield tuple("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+=")


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    return tmp_path


def robot_of(folder, text, **settings):
    (folder / "robot.yaml").write_text("sorosim: 1\n" + text, encoding="utf-8")
    return load(folder / "robot.yaml", **settings)


def message_of(folder, text, **settings):
    with pytest.raises((FileError, ModelError)) as caught:
        robot_of(folder, text, **settings)
    return str(caught.value).replace(f"{folder}/", "")


def links_of(robot):
    return {link.name: link for link in robot.links}


# -- what becomes of a file


def test_links_that_are_fixed_to_others_are_frames_of_them():
    robot = load(DATA / "serial_arm.urdf")
    assert robot.name == "serial_arm"
    names = ["base", "column", "upper_arm", "forearm", "sleeve", "hand"]
    assert [link.name for link in robot.links] == names
    assert robot.coordinate_names == (
        "column.revolute", "upper_arm.revolute", "forearm.revolute", "sleeve.prismatic", "hand.revolute",
    )  # fmt: skip
    hand = links_of(robot)["hand"]
    assert set(hand.frames) == {"tool", "tip"}
    assert hand.body.mass == pytest.approx(0.4 + 0.3 + 0.05)
    assert_allclose(hand.frames["tool"][:3, 3], [0.08, 0, 0])
    # rpy: Rz(-0.4) Ry(1.2)
    c, s = np.cos([1.2, -0.4]), np.sin([1.2, -0.4])
    turn = np.array([[c[1], -s[1], 0], [s[1], c[1], 0], [0, 0, 1]]) @ [[c[0], 0, s[0]], [0, 1, 0], [-s[0], 0, c[0]]]
    assert_allclose(hand.frames["tool"][:3, :3], turn, atol=1e-15)
    assert_allclose(hand.frames["tip"][:3, 3], hand.frames["tool"][:3, 3] + turn @ [0, 0.02, 0.11], atol=1e-15)
    waist = links_of(robot)["column"].joint
    assert (waist.damping, waist.friction, waist.limits) == ((0.4,), (0.05,), (None,))
    assert links_of(robot)["sleeve"].joint.axis == (0.6, 0.0, 0.8)


def test_the_children_of_a_link_called_world_stand_on_the_world(folder):
    robot = load(DATA / "floating_base.urdf")
    assert [link.name for link in robot.links] == ["hull", "barrel", "puck"]
    assert_allclose(robot.links[0].at[:3, 3], [0.3, 0, 1])
    assert robot.links[0].joint.kind == "free"
    assert links_of(robot)["puck"].joint.kind == "planar"
    mounted = robot_of(folder, "import: {boat: {urdf: floating_base.urdf, at: {position: [1, 0, 0]}}}\n")
    assert [link.name for link in mounted.links] == ["boat_world", "boat_hull", "boat_barrel", "boat_puck"]
    moved = robot_of(folder, "import: {urdf: floating_base.urdf, at: {position: [1, 0, 0]}}\n")
    assert_allclose(moved.links[0].at[:3, 3], [1.3, 0, 1])
    assert message_of(folder, "import: {urdf: floating_base.urdf, joint: free}\n") == (
        "robot.yaml:2:36: import.joint: expected no joint to move it by, got a robot that has joints there already, on "
        "its link 'world'"
    )


def test_a_mesh_that_is_mirrored_at_a_point_is_drawn(folder):
    path = folder / "pictures.urdf"
    text = path.read_text("utf-8")
    path.write_text(text.replace('scale="0.01 -0.01 0.02"', 'scale="-0.01 -0.01 -0.01"'), "utf-8")
    (mesh,) = (v.shape for link in load(path, set=FREE).links for v in link.visual or () if v.shape.kind == "mesh")
    assert mesh.scale == (-0.01, -0.01, -0.01)
    assert mesh.moments.volume == pytest.approx(3.0 * 0.01**3)  # outside is outside


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("meshes/wedge.obj", "meshes/wedge.stl",
         "'package://shapes/meshes/wedge.stl', not found; package_dirs: [...] says where packages are"),
        ("meshes/wedge.obj", "meshes/empty.stl",
         "'package://shapes/meshes/empty.stl', expected a mesh, got a file without triangles"),
        ("meshes/wedge.obj", "meshes/wedge.igs", "'package://shapes/meshes/wedge.igs', expected a mesh that ends in "
         ".stl, .obj, .ply, .off, .glb or .dae, got 'wedge.igs'"),
        ('scale="0.01 -0.01 0.02"', 'scale="0.01 0 0.02"',
         "'package://shapes/meshes/wedge.obj', expected a scale other than 0, got 0"),
        ('<mesh filename="package://shapes/meshes/wedge.obj" scale="0.01 -0.01 0.02"/>', '<box size="1 0 -1"/>',
         "a box of 1, 0, -1 m"),
        ('scale="0.01 -0.01 0.02"', 'scale="1 1 1 1"',
         "expected 3 finite numbers with spaces between as scale, got '1 1 1 1'"),
        ('<mesh filename="package://shapes/meshes/wedge.obj" scale="0.01 -0.01 0.02"/>', '<torus/>',
         "expected one of <box>, <cylinder>, <sphere> or <mesh>, got <torus>"),
    ],
)  # fmt: skip
def test_a_picture_that_cannot_be_drawn_refuses_no_robot(folder, old, new, said):
    path = folder / "pictures.urdf"
    right, text = load(path, set=FREE), path.read_text("utf-8")
    (folder / "shapes" / "meshes" / "empty.stl").write_text("solid nothing\nendsolid nothing\n")
    (folder / "shapes" / "meshes" / "wedge.igs").write_text("S 1")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.warns(SorosimWarning) as caught:
        robot = load(path, set=FREE)
    (told,) = (str(one.message) for one in caught)
    assert told.startswith(f"{path}: not drawn: link.ball.visual")
    assert re.search(r", line 2[56]: ", told)
    assert told.endswith(f": {said}; visual: false in the `import` block leaves out all that is drawn")
    assert caught[0].filename == __file__
    q = np.linspace(-0.5, 0.5, robot.ndof)
    assert_array_equal(robot.mass_matrix(q), right.mass_matrix(q))
    assert [len(link.visual or ()) for link in robot.links] == [1, 2, 0, 0]
    load(path, set=FREE | {"import.visual": False})  # without a word


def test_many_pictures_that_cannot_be_drawn_are_one_warning(folder):
    path = folder / "pictures.urdf"
    lost = '<visual> <geometry> <mesh filename="lost.stl"/> </geometry> </visual>'
    path.write_text(path.read_text("utf-8").replace("</link>", f"{lost}</link>"), encoding="utf-8")
    with pytest.warns(SorosimWarning) as caught:
        load(path, set=FREE)
    assert len(caught) == 1
    assert "and 1 more; visual: false" in str(caught[0].message)


DAE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01"/></asset>
<library_images><image id="skin"><init_from>skin.jpg</init_from></image></library_images>
<library_effects><effect id="shiny"><profile_COMMON>
  <newparam sid="sampler"><sampler2D><source>surface</source></sampler2D></newparam>
  <technique sid="common"><lambert><diffuse><texture texture="sampler" texcoord="uv"/></diffuse></lambert></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="carbon"><instance_effect url="#shiny"/></material></library_materials>
<library_geometries><geometry id="flap"><mesh>
  <source id="points"><float_array id="numbers" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
    <technique_common><accessor source="#numbers" count="4" stride="3"><param name="X" type="float"/>
    <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
  <vertices id="corners"><input semantic="POSITION" source="#points"/></vertices>
  <triangles material="skin" count="4"><input semantic="VERTEX" source="#corners" offset="0"/>
    <p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="all"><node id="one"><instance_geometry url="#flap"><bind_material>
  <technique_common><instance_material symbol="skin" target="#carbon"/></technique_common>
</bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#all"/></scene>
</COLLADA>
"""


@pytest.mark.skipif(find_spec("collada") is None, reason="pycollada is not installed")
def test_a_mesh_whose_texture_is_not_there_is_drawn(tmp_path):
    path = tmp_path / "foot.dae"
    path.write_text(DAE)
    mesh = read_mesh(path)
    assert mesh.faces.shape == (4, 3)
    assert mesh.moments.volume == pytest.approx(0.01**3 / 6.0)


def test_shapes_colours_and_meshes_are_drawn(folder):
    robot = load(DATA / "pictures.urdf", set=FREE)
    base, arm = links_of(robot)["base"], links_of(robot)["link_1"]
    assert [(v.shape.kind, v.colour) for v in base.visual] == [("box", "#668099")]
    assert [(v.shape.kind, v.colour) for v in arm.visual] == [("cylinder", "#ff0000"), ("sphere", ""), ("mesh", "")]
    mesh = arm.visual[2].shape
    # the second axis is mirrored: faces are turned round, so that they still look outwards
    assert_allclose(np.ptp(mesh.vertices, axis=0), [0.03, 0.03, 0.04])
    assert mesh.vertices[:, 1].max() == 0.0
    assert mesh.moments.volume == pytest.approx(3.0 * 0.01 * 0.01 * 0.02)
    assert_allclose(arm.visual[2].at[:3, 3], [0.1 * np.cos(1.0), 0.1 * np.sin(1.0), 0.3])
    plain = load(DATA / "pictures.urdf", set=FREE | {"import.visual": False})
    assert [link.visual for link in plain.links] == [None] * 4


@pytest.mark.parametrize("name", FILES)
def test_the_text_of_a_robot_stands_alone_and_is_the_same_robot(name):
    robot = load(DATA / f"{name}.urdf", set=FREE)
    assert "urdf" not in robot.description.text
    q = np.linspace(-0.7, 0.9, robot.ndof)
    for again in (load_text(robot.description.text, "text.yaml"), load_text(dump(robot), "dump.yaml")):
        for a, b in zip(arrays_of(robot), arrays_of(again), strict=True):
            assert_array_equal(a, b)
        assert_allclose(again.mass_matrix(q), robot.mass_matrix(q), rtol=0, atol=1e-12)
        assert again.coordinate_names == robot.coordinate_names


def test_reading_needs_no_package_of_users_who_do_not_import(monkeypatch):
    monkeypatch.setitem(sys.modules, "yourdfpy", None)
    with pytest.raises(FileError) as caught:
        load(DATA / "serial_arm.urdf")
    assert str(caught.value).endswith(
        "expected the package yourdfpy, which reads URDF, got none; install it: pip install 'sorosim[urdf]'"
    )


# -- where it stands in a file


def test_soft_links_hang_on_links_and_frames_and_robots_on_soft_links(folder):
    robot = robot_of(
        folder,
        RUBBER
        + f"""\
import:
  urdf: serial_arm.urdf
links:
  finger: {{parent: tip, at: {{position: [1 cm, 0, 0]}}, {ROD}}}
  sleeve_ring: {{parent: sleeve, at: {{position: [0, 0, 5 cm]}}, {ROD}}}
""",
    )
    links = links_of(robot)
    assert links["finger"].parent == "hand"
    tip = robot.pose(np.full(robot.ndof, 0.2), "hand") @ links["hand"].frames["tip"]
    assert_allclose(
        robot.pose(np.full(robot.ndof, 0.2), "finger", s=0.0)[:3, 3], (tip @ [0.01, 0, 0, 1])[:3], atol=1e-15
    )
    assert links["sleeve_ring"].parent == "sleeve"
    robot = robot_of(
        folder,
        RUBBER
        + f"""\
links: {{arm: {{{ROD}}}}}
import:
  left: {{urdf: serial_arm.urdf, parent: arm, at: {{s: 0.5, position: [0, 0, 1 cm]}}}}
  right: {{urdf: serial_arm.urdf, parent: arm, joint: {{revolute: {{axis: [1, 0, 0], damping: 0.1}}}}}}
parts: {{}}
""",
    )
    links = links_of(robot)
    assert (links["left_base"].parent, links["left_base"].s, links["left_base"].at[2, 3]) == ("arm", 0.5, 0.01)
    assert links["right_base"].joint.damping == (0.1,)
    assert links["right_column"].parent == "right_base"
    assert set(links["right_hand"].frames) == {"right_tool", "right_tip"}


def test_parts_hang_on_frames_of_imported_links(folder):
    robot = robot_of(
        folder,
        RUBBER
        + f"""\
import: {{urdf: serial_arm.urdf}}
prefabs: {{finger: {{links: {{soft: {{at: {{position: [0, 1 cm, 0]}}, {ROD}}}}}}}}}
parts: {{one: {{prefab: finger, parent: tool, at: {{position: [1 cm, 0, 0]}}}}}}
""",
    )
    soft = links_of(robot)["one_soft"]
    assert (soft.parent, soft.frame) == ("hand", "tool")
    assert_allclose(soft.at[:3, 3], [0.01, 0.01, 0])


def test_limits_are_stops_of_the_stiffness_that_is_given(folder):
    text = "import: {urdf: serial_arm.urdf, limits: {revolute: 2 kN*m/rad, prismatic: 5 kN/m}}\n"
    links = links_of(robot_of(folder, text))
    stop = links["column"].joint.limits[0]
    assert (stop.low, stop.high, stop.stiffness) == (-2.5, 2.5, 2000.0)
    stop = links["sleeve"].joint.limits[0]
    assert (stop.low, stop.high, stop.stiffness) == (0.0, 0.3, 5000.0)
    assert links_of(load(folder / "pictures.urdf", set=FREE | {"import.limits.revolute": 9}))["left"].joint.limits == (
        None,
    )


def test_a_joint_that_mimics_is_coupled_or_free_or_fixed_where_the_file_says():
    robot = load(DATA / "pictures.urdf")
    assert "  right_jaw: right.prismatic = 1 left.prismatic + 0.02" in robot.summary()
    assert_allclose(robot.coordinates({"left": 0.03})[-2:], [0.03, 0.05])
    assert load(DATA / "pictures.urdf").to_yaml().count("couplings:") == 1
    free = load(DATA / "pictures.urdf", set=FREE)
    assert "right.prismatic" in free.coordinate_names
    fixed = load(DATA / "pictures.urdf", set={"import.mimic": "fixed"})
    assert fixed.ndof == free.ndof - 1
    # its axis is -y, its offset 2 cm, and the ball that carries it is 30 cm above the link, turned by 1 rad about z
    assert_allclose(links_of(fixed)["link_1"].frames["right"][:3, 3], [0.02 * np.sin(1.0), -0.02 * np.cos(1.0), 0.3])


GRIPPER = """<robot name="gripper">
  <link name="world"/>
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="ja" type="prismatic"><parent link="world"/><child link="a"/><axis xyz="0 1 0"/>
    <limit lower="-1" effort="1" velocity="1"/></joint>
  <joint name="jb" type="prismatic"><parent link="world"/><child link="b"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="ja" multiplier="2" offset="0.1"/></joint>
  <joint name="jc" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="jb" multiplier="3" offset="0.2"/></joint>
</robot>
"""


def test_joints_that_mimic_one_that_mimics_on_a_root_called_world(folder):
    file = folder / "gripper.urdf"
    file.write_text(GRIPPER)
    robot = load(file, set={"import.mimic": "fixed", "import.limits": "{prismatic: 1 kN/m}"})
    assert robot.ndof == 1
    assert_allclose(robot.pose([0.0], "b")[:3, 3], [0.0, 0.1, 0.0])
    # three times what leads it, and its own offset
    assert_allclose(links_of(robot)["b"].frames["c"][:3, 3], [3 * 0.1 + 0.2, 0.0, 0.0])
    stop = links_of(robot)["a"].joint.limits[0]
    assert (stop.low, stop.high) == (-1.0, 0.0)  # an end that is left out is 0
    coupled = load(file)
    assert (coupled.ndof, coupled.coupling_names) == (3, ("jb", "jc"))
    assert_allclose(coupled.coordinates({"a": 0.3}), [0.3, 0.7, 2.3])
    two = robot_of(folder, "import: {left: {urdf: gripper.urdf}, right: {urdf: gripper.urdf}}")
    assert two.coupling_names == ("left_jb", "left_jc", "right_jb", "right_jc")
    # what does not move its follower holds it
    for other in (('multiplier="2"', 'multiplier="0"'), ('name="ja" type="prismatic"', 'name="ja" type="fixed"')):
        file.write_text(GRIPPER.replace(*other))
        assert load(file).coupling_names == ()
        assert_allclose(links_of(load(file))["b"].frames["c"][:3, 3], [0.5, 0.0, 0.0])
    file.write_text(GRIPPER.replace('mimic joint="jb"', 'mimic joint="jd"'))
    with pytest.raises(FileError, match=r"joint.jc.mimic: expected the name of another joint, got 'jd'"):
        load(file, set={"import.mimic": "fixed"})
    file.write_text(GRIPPER.replace('lower="-1" effort', 'lower="-1_0" effort'))
    with pytest.raises(FileError, match=r"a finite number as lower, got '-1_0'"):
        load(file, set={"import.mimic": "fixed"})


def test_long_chains_of_joints_that_mimic(tmp_path):
    link = '<link name="l{}"><inertial><mass value="1"/>'
    link += '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
    joint = '<joint name="j{0}" type="prismatic"><parent link="base"/><child link="l{0}"/><axis xyz="1 0 0"/>'
    joint += '<limit effort="1" velocity="1"/>{1}</joint>'
    n = 1500
    mimics = ["", *(f'<mimic joint="j{k - 1}" offset="0.001"/>' for k in range(1, n))]
    parts = [link.format(k) + joint.format(k, mimics[k]) for k in range(n)]
    (tmp_path / "long.urdf").write_text(f'<robot name="r"><link name="base"/>{"".join(parts)}</robot>')
    robot = load(tmp_path / "long.urdf", set={"import.mimic": "fixed"})
    assert robot.ndof == 1


def test_a_joint_that_mimics_can_be_held_only_where_it_has_an_axis(folder):
    path = folder / "pictures.urdf"
    path.write_text(path.read_text().replace('<axis xyz="0 -2 0"/>', '<axis xyz="0 0 0"/>'))
    assert message_of(folder, "import: {urdf: pictures.urdf, mimic: fixed}\n") == (
        "pictures.urdf:36:3: joint.right_jaw: expected a joint that mimics, and so has one coordinate and an axis, got "
        "no axis"
    )


def test_elements_and_attributes_of_other_programs_are_left_out(folder):
    path = folder / "serial_arm.urdf"
    ndof, text = load(path).ndof, path.read_text()
    other = '<gazebo/><transmission/><drake:joint xmlns:drake="d"/><gz:visual xmlns:gz="g" gz:mass="1"/><ros2_control/>'
    path.write_text(text.replace("</robot>", f"{other}</robot>"))
    assert load(path).ndof == ndof


def test_settings_reach_into_the_import_and_its_links(folder):
    settings = {"import.at": "{position: [1 m, 0, 0]}", "links.hand.body.mass": "3 kg", "import.joint": "free"}
    robot = load(folder / "serial_arm.urdf", set=settings)
    assert links_of(robot)["hand"].body.mass == 3.0
    assert robot.ndof == 11
    assert_allclose(links_of(robot)["base"].at[:3, 3], [1, 0, 0])


def test_an_included_file_imports_from_its_own_folder(folder):
    (folder / "arms").mkdir()
    (folder / "serial_arm.urdf").rename(folder / "arms" / "serial_arm.urdf")
    (folder / "arms" / "arm.yaml").write_text("import: {urdf: serial_arm.urdf}\n")
    robot = robot_of(folder, "include: arms/arm.yaml\n")
    assert robot.ndof == 5
    assert load_text(robot.description.text, "text").ndof == 5


def test_commas_between_numbers_and_blank_lines_before_the_declaration_are_read_with_a_word(folder):
    path = folder / "serial_arm.urdf"
    right, text = load(path), path.read_text("utf-8")
    assert text.count('xyz="0 0 ') > 1
    commas = text.replace('xyz="0 0 ', 'xyz="0, 0,', 1)
    path.write_text(f"\n \n{commas}", encoding="utf-8")
    with pytest.warns(SorosimWarning) as caught:
        robot = load(path)
    (said,) = {str(one.message) for one in caught}
    assert said.startswith(f"{path}: read for what it means: line 3: a declaration <?xml ...?> after blank lines; ")
    assert said.endswith("'; not all programs do so")
    assert "commas between numbers, xyz='0, 0," in said
    for a, b in zip(arrays_of(robot), arrays_of(right), strict=True):
        assert_array_equal(a, b)
    path.write_text(f"\n\n{text}".replace("<mass ", "<masse ", 1), encoding="utf-8")
    line = 3 + text[: text.index("<mass ")].count("\n")
    with pytest.raises(FileError, match=rf"serial_arm\.urdf:{line}:\d+: .* perhaps <mass>, got <masse>"):
        load(path)


@pytest.mark.skipif(find_spec("pinocchio") is None, reason="the package pin is not installed")
def test_blank_lines_and_a_root_with_a_body_called_world_are_as_in_pinocchio(folder):
    import pinocchio

    path = folder / "arm.urdf"
    text = (folder / "serial_arm.urdf").read_text("utf-8")
    path.write_text("\n" + text.replace('"base"', '"world"'), encoding="utf-8")
    with pytest.warns(SorosimWarning) as caught:
        robot = load(path)
    said = " ".join(str(one.message) for one in caught)
    assert "called otherwise: link.world, line 5: the link 'world' is 'world_link'; 'world' is the world itself" in said
    assert robot.links[0].name == "world_link"
    model = pinocchio.buildModelFromUrdf(str(path))
    q = np.linspace(-0.4, 0.5, robot.ndof)
    M = pinocchio.crba(model, model.createData(), q)
    assert_allclose(np.triu(robot.mass_matrix(q)), np.triu(M), atol=1e-12)


def test_an_element_that_is_there_twice_and_says_the_same_is_read_with_a_word(folder):
    path = folder / "serial_arm.urdf"
    right, text = load(path), path.read_text("utf-8")
    axis = re.search(r"<axis [^>]*/>", text)[0]
    path.write_text(text.replace(axis, f"{axis} {axis}", 1), encoding="utf-8")
    with pytest.warns(SorosimWarning, match=r"read for what it means: joint\.\w+\.axis, .*a second <axis> that says"):
        robot = load(path)
    for a, b in zip(arrays_of(robot), arrays_of(right), strict=True):
        assert_array_equal(a, b)


def test_a_parent_called_world_that_is_no_link_is_the_world_itself(folder):
    path = folder / "arm.urdf"
    weld = '<joint name="weld" type="fixed"><origin xyz="0 0 1"/><parent link="world"/><child link="base"/></joint>'
    path.write_text((folder / "serial_arm.urdf").read_text("utf-8").replace("</robot>", f"{weld}</robot>"))
    with pytest.warns(SorosimWarning, match=r"read for what .* joint\.weld\.parent, .*'world', which is no link"):
        robot = load(path)
    assert [link.name for link in robot.links] == [link.name for link in load(folder / "serial_arm.urdf").links]
    assert robot.links[0].at[2, 3] == 1.0


def test_relative_meshes_are_looked_for_in_the_given_folders_too(folder):
    path = folder / "pictures.urdf"
    path.write_text(path.read_text("utf-8").replace("package://shapes/", ""), encoding="utf-8")
    text = "import: {urdf: pictures.urdf, mimic: free, package_dirs: [shapes]}\n"
    mesh = links_of(robot_of(folder, text))["link_1"].visual[2].shape
    assert mesh.file == str(folder / "shapes" / "meshes" / "wedge.obj")


def test_packages_are_looked_for_in_the_given_folders_then_upwards(folder):
    shutil.move(folder / "shapes", folder / "elsewhere" / "shapes")
    text = "import: {urdf: pictures.urdf, mimic: free, package_dirs: [elsewhere]}\n"
    assert links_of(robot_of(folder, text))["link_1"].visual[2].shape.file.startswith(str(folder / "elsewhere"))
    with pytest.warns(SorosimWarning, match=r"wedge\.obj', not found; package_dirs"):
        robot_of(folder, text.replace("elsewhere", "nowhere"))
    (folder / "deep" / "urdf").mkdir(parents=True)
    shutil.copy(folder / "pictures.urdf", folder / "deep" / "urdf")
    shutil.move(folder / "elsewhere" / "shapes", folder / "shapes")
    assert load(folder / "deep" / "urdf" / "pictures.urdf", set=FREE).ndof == 3


@pytest.mark.parametrize(
    "name", ["../elsewhere/wedge.obj", "file://{folder}/elsewhere/wedge.obj", "package://shapes/../elsewhere/wedge.obj"]
)
def test_meshes_outside_the_folder_are_read_on_request(folder, name):
    robot = folder / "robot"
    robot.mkdir()
    shutil.copytree(folder / "shapes", robot / "shapes")
    (folder / "elsewhere").mkdir(exist_ok=True)
    shutil.copy(folder / "shapes" / "meshes" / "wedge.obj", folder / "elsewhere" / "wedge.obj")
    if name.startswith("package"):  # it leaves the package, though not the folder
        shutil.copytree(folder / "elsewhere", robot / "elsewhere")
    path = robot / "pictures.urdf"
    text = (folder / "pictures.urdf").read_text()
    path.write_text(text.replace("package://shapes/meshes/wedge.obj", name.format(folder=folder)))
    with pytest.warns(SorosimWarning, match=r"line 25: .* folder and the package .* allow_outside: true"):
        assert len(links_of(load(path, set=FREE))["link_1"].visual) == 2
    assert load(path, set=FREE | {"import.allow_outside": "true"}).ndof == 3
    (folder / "package.xml").write_text("<package/>")  # the folder above is a package
    assert name.startswith("package") or load(path, set=FREE).ndof == 3


def test_a_link_without_mass_may_move_what_hangs_on_it(folder):
    path = folder / "pictures.urdf"
    text, body = path.read_text(), '<inertial> <mass value="0.1"/> <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001"'
    start = text.index(body)
    path.write_text(text[:start] + text[text.index("\n", start) :])
    block = RUBBER + "import: {urdf: pictures.urdf, mimic: free}\n"
    assert message_of(folder, block) == (
        "pictures.urdf:33:3: link.left: expected a mass that its joint moves, got none; give it <inertial>, or hang "
        "something with a mass on it"
    )
    assert robot_of(folder, block + f"links: {{pad: {{parent: left, {ROD}}}}}\n").ndof == 3 + 4


# -- the command line


def test_convert_writes_the_same_robot(folder, monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["sorosim", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code, capsys.readouterr()

    monkeypatch.chdir(folder)
    code, printed = run("convert", "serial_arm.urdf")
    assert (code, printed.out) == (0, "serial_arm.yaml\n")
    a, b = load("serial_arm.urdf"), load("serial_arm.yaml")
    q = np.linspace(-1.0, 1.0, 5)
    assert_allclose(b.mass_matrix(q), a.mass_matrix(q), rtol=0, atol=1e-12 * np.abs(a.mass_matrix(q)).max())
    code, printed = run("convert", "serial_arm.urdf")
    assert code == 2
    assert "exists already" in printed.err
    assert run("convert", "pictures.urdf", "--out", "p.yaml", "--set", "import.mimic=fixed")[0] == 0
    shutil.rmtree(folder / "shapes")  # a small mesh is in the text
    assert load("p.yaml").links[1].visual[2].shape.faces.shape == (4, 3)
    assert run("convert", "serial_arm.urdf", "--out", "arm.json")[0] == 2


# -- mistakes


@pytest.mark.parametrize(("old", "new", "message"), list(blocks()))
def test_a_mistake_is_one_sentence_with_position_object_and_remedy(old, new, message, folder):
    path = folder / "pictures.urdf"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load(path, set=FREE | {"import.limits.revolute": 100})
    assert str(caught.value) == "\n".join(f"{path}:{line}" for line in message.splitlines())


MOUNTED = "import: {urdf: serial_arm.urdf, parent: world}\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("urdf: serial_arm.urdf", "urdf: arm.urdf",
         "robot.yaml:2:16: import.urdf: expected a URDF file, got 'arm.urdf', which does not exist; relative paths "
         "begin in the folder of the file that imports"),
        ("urdf: serial_arm.urdf", "urdf: 3",
         "robot.yaml:2:16: import.urdf: expected the path of a URDF file, got 3; put it in quotes"),
        ("urdf: serial_arm.urdf, ", "",
         "robot.yaml:2:9: import: expected one of the keys urdf, mjcf and sdf, got none; for instance urdf: arm.urdf"),
        ("{urdf: serial_arm.urdf, parent: world}", "serial_arm.urdf",
         "robot.yaml:2:9: import: expected a mapping with the keys urdf, mjcf, sdf, parent, at, joint, limits, mimic, "
         "inertia, keyframe, without, visual, collision, package_dirs, allow_outside, got 'serial_arm.urdf'"),
        ("urdf: serial_arm.urdf", "urdf: serial_arm.urdf, sdf: arm.sdf",
         "robot.yaml:2:9: import: expected one of the keys urdf, mjcf and sdf, got urdf and sdf; for instance urdf: "
         "arm.urdf"),
        ("parent: world", "parant: world",
         "robot.yaml:2:33: import.parant: expected a known key, got 'parant'; did you mean parent?"),
        ("parent: world", "parent: moon",
         "robot.yaml:2:41: import.parent: expected a link of this robot or 'world', got 'moon'; known: world, column, "
         "upper_arm, forearm, sleeve, hand"),
        ("parent: world", "at: {position: [1 deg, 0, 0]}",
         "robot.yaml:2:49: import.at.position[0]: expected a length such as 3 cm, got '1 deg', an angle"),
        ("parent: world", "joint: {revolute: {axis: [0, 0, 0]}}",
         "robot.yaml:2:58: import.joint.revolute.axis: expected a direction of some length, got [0, 0, 0]"),
        ("parent: world", "mimic: follow",
         "robot.yaml:2:40: import.mimic: expected coupled, free or fixed, got 'follow'"),
        ("parent: world", "visual: maybe", "robot.yaml:2:41: import.visual: expected true or false, got 'maybe'"),
        ("parent: world", "limits: {revolute: -3}",
         "robot.yaml:2:52: import.limits.revolute: expected a rotary stiffness greater than 0, got -3"),
        ("parent: world", "limits: {continuous: 3}",
         "robot.yaml:2:42: import.limits.continuous: expected a known key, got 'continuous'; known: revolute, "
         "prismatic"),
        ("{urdf: serial_arm.urdf, parent: world}", "{a: {urdf: serial_arm.urdf}, a_b: {urdf: arm.urdf}}",
         "robot.yaml:2:50: import.a_b.urdf: expected a URDF file, got 'arm.urdf', which does not exist; relative paths "
         "begin in the folder of the file that imports"),
        ("\n", "\nlinks: {hand: {}}\n",
         "robot.yaml:3:9: links.hand: expected names that differ, got 'hand' twice; the first is at "
         "serial_arm.urdf:55:3"),
        ("\n", "\nlinks: {tip: {}}\n",
         "robot.yaml:3:9: links.tip: expected names that differ, got 'tip' twice; the other one is imported, a frame "
         "of 'hand'"),
        ("\n", "\nloads: {push: {wrench: {link: tip, force: [0, 0, 1]}}}\n",
         "robot.yaml:3:31: loads.push.wrench.link: expected a link that moves on its own, got 'tip'; it is a frame of "
         "'hand': name that link, and the frame beside it"),
        ("\n", "\nlinks: {nail: {parent: tups}}\n",
         "robot.yaml:3:24: links.nail.parent: expected a link of this robot or 'world', got 'tups'; known: world, "
         "base, column, upper_arm, forearm, sleeve, hand"),
    ],
)  # fmt: skip
def test_mistakes_of_importing(old, new, message, folder):
    assert old in MOUNTED
    assert message_of(folder, MOUNTED.replace(old, new, 1)) == message


LINK = """<robot name="r"><link name="a">MORE<inertial><mass value="1"/>
<inertia ixx="XX" ixy="XY" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/></inertial></link></robot>"""


@pytest.mark.parametrize(
    ("xx", "xy", "more", "message"),
    [("1e-3", "0e-" + "9" * 400, "", ""), ("1e-3", "0e-" + "9" * 5000, "", ""),
     ("1.7e308", "0", "", "expected mass and moments below 1e"),
     ("1e-3", "0", '<gazebo><inertia value="3"/></gazebo>', "")],
)  # fmt: skip
def test_odd_numbers_and_elements_of_others_end_in_no_traceback(tmp_path, xx, xy, more, message):
    (tmp_path / "r.urdf").write_text(LINK.replace("XX", xx).replace("XY", xy).replace("MORE", more))
    with pytest.raises(FileError, match=message) if message else nullcontext():
        load(tmp_path / "r.urdf")


def test_packages_are_folders_with_names_below_the_root(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "s.stl").write_text("solid")
    assert mesh_file("package://out/s.stl", tmp_path / "r.urdf", []) is not None
    for name in ("package:///", "package://./", "package://../"):
        rest = str(tmp_path / "out" / "s.stl").lstrip("/")
        assert mesh_file(name + rest, tmp_path / "r.urdf", []) is None


def test_a_file_is_bounded_in_size_and_nesting(tmp_path):
    path = tmp_path / "large.urdf"
    for text, message in (
        (f"<robot>{' ' * MAX_BYTES}</robot>", "expected at most 4 MB, got more"),
        ("<robot>" * (MAX_NESTING + 1), f"expected at most {MAX_NESTING} levels of nesting, got more"),
        ("<robot>" + "<link/>" * 60_000 + "</robot>", "expected at most 50000 elements, got more"),
        ("<sdf/>", "expected URDF, whose root is <robot>, got <sdf>"),
        ("<robot name='a'/>", "robot: expected at least one <link>, got none"),
    ):
        path.write_text(text)
        with pytest.raises(FileError) as caught:
            load(path)
        assert message in str(caught.value)


def test_without_a_folder_there_are_no_other_files():
    with pytest.raises(FileError) as caught:
        load_text("sorosim: 1\nimport: {urdf: serial_arm.urdf}\n", "robot.yaml")
    assert "expected a description in one piece, got an import" in str(caught.value)


def test_a_dict_may_import(folder, monkeypatch):
    monkeypatch.chdir(folder)
    robot = sorosim.load({"sorosim": 1, "import": {"urdf": "serial_arm.urdf"}})
    assert robot.ndof == 5
    assert json.loads(json.dumps(robot.coordinate_names))[0] == "column.revolute"
