"""Robots from SDF: what becomes of their parts, what is left out, what wrong files are told."""

import json
import re
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from helpers.robots import arrays_of
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import FileError, SorosimWarning
from sorosim.files import load, load_text

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "sdf"
FIXED = {"import.mimic": "fixed", "import.limits": "{revolute: 100, prismatic: 1000}"}
PENDULUM = """<sdf version='1.7'><model name='pendulum'>{more}
  <link name='bob'><pose>0 0 -1 0 0 0</pose>
    <inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>
</model></sdf>
"""


def blocks():
    """Mistakes of the list: what is replaced, by what, the message."""
    for block in (HERE / "mistakes_of_sdf.txt").read_text("utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            yield tuple("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+=")


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    return tmp_path


def changed(folder, old, new):
    text = (folder / "rig.sdf").read_text("utf-8")
    assert old in text
    (folder / "rig.sdf").write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder / "rig.sdf"


def links_of(robot):
    return {link.name: link for link in robot.links}


def test_a_model_becomes_links_by_hand():
    robot = load(DATA / "rig.sdf", set=FIXED)
    links = links_of(robot)
    assert list(links) == ["mast", "boom", "load_spherical", "gripper__palm", "gripper__left", "gripper__bolt"]
    assert robot.description.gravity == (0, 0, -3.7)
    # the model is turned by 90 deg about z, 2 m up; the mast is fixed half a metre above
    assert_allclose(links["mast"].at, [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 2.5], [0, 0, 0, 1]], atol=1e-15)
    assert links["mast"].joint.kind == "fixed"
    assert (links["mast"].body.mass, links["mast"].body.centre) == (2, (0, 0, 0.1))
    assert links["mast"].body.inertia == (0.02, 0.03, 0.04, 0.001, 0, 0)
    # relative to the frame at the top, 0.3 m up; turned by 90 deg about y
    boom = links["boom"]
    assert_allclose(boom.at, [[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0.4], [0, 0, 0, 1]], atol=1e-15)
    # the axis is z of the model, which is -x of the boom; the joint stands 2 cm beside it
    assert_allclose(boom.joint.axis, [-1, 0, 0], atol=1e-15)
    assert boom.joint.through == (0, 0.02, 0)
    joint = boom.joint
    assert (joint.damping, joint.friction, joint.stiffness, joint.rest) == ((0.4,), (0.1,), (5,), (0.2,))
    assert (joint.limits[0].low, joint.limits[0].high, joint.limits[0].stiffness) == (-1, np.inf, 100)


def test_joints_of_several_coordinates_and_screws():
    links = links_of(load(DATA / "rig.sdf", set=FIXED))
    # the ball is 5 cm from the origin of its link, which is a frame of what moves there; 1 kg and 1 kg m^2 by default
    ball = links["load_spherical"]
    assert_allclose(ball.at[:3, 3], [0, 0, 0.45])
    assert_allclose(ball.frames["load"][:3, 3], [0, 0, -0.05])
    assert (ball.body.mass, ball.body.inertia) == (1, (1, 1, 1, 0, 0, 0))
    palm = links["gripper__palm"].joint
    assert (palm.kind, palm.axis, palm.second_axis, palm.damping) == ("universal", (1, 0, 0), (0, 1, 0), (0.1, 0.2))
    bolt = links["gripper__bolt"].joint
    assert (bolt.kind, bolt.axis) == ("helical", (0, 0, 1))
    assert_allclose(bolt.pitch, 0.002 / (2 * np.pi))


def test_a_joint_that_mimics_is_held_where_its_leader_is_at_zero():
    links = links_of(load(DATA / "rig.sdf", set=FIXED))
    # 1 * (0 - 0.002) + 0.01 along -y, from 3 cm beside the palm
    assert_allclose(links["gripper__palm"].frames["gripper__right"][:3, 3], [0, -0.03 - 0.008, 0.05])
    assert load(DATA / "rig.sdf", set={"import.mimic": "free"}).ndof == 9


BODY = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
FOUR_BAR = f"""<sdf version="1.9"><model name="bars">
  <link name="crank"><pose>0 0 0 0 0 0.3</pose>{BODY}</link>
  <link name="coupler"><pose>0 1 0 0.1 0 0</pose>{BODY}</link>
  <link name="rocker"><pose>2 0 0 0 0 -0.2</pose>{BODY}</link>
  <link name="wheel"><pose>0 -1 0 0 3 0</pose>{BODY}</link>
  <joint name="a" type="revolute"><parent>world</parent><child>crank</child><axis><xyz>0 0 1</xyz></axis></joint>
  <joint name="b" type="revolute"><parent>crank</parent><child>coupler</child>
    <axis><xyz expressed_in="__model__">0 0 1</xyz></axis></joint>
  <joint name="c" type="revolute"><parent>world</parent><child>rocker</child><axis><xyz>0 0 1</xyz></axis></joint>
  <joint name="d" type="KIND"><pose relative_to="__model__">2 1 0 0.2 0.1 0</pose>
    <parent>coupler</parent><child>rocker</child>
    <axis><xyz expressed_in="__model__">0 0 1</xyz><dynamics><damping>0.3</damping></dynamics></axis>MORE</joint>
  <joint name="e" type="revolute"><parent>world</parent><child>wheel</child>
    <axis><xyz expressed_in="__model__">0 0 2</xyz></axis></joint>
  <joint name="f" type="gearbox"><parent>crank</parent><child>wheel</child>
    <gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>world</gearbox_reference_body>
    <axis><xyz expressed_in="__model__">0 0 1</xyz></axis><axis2><xyz expressed_in="__model__">0 0 SIGN</xyz></axis2>
  </joint>
</model></sdf>
"""
CLOSING = {
    "revolute": ("", {"revolute": {"axis": [0, 0, 1], "damping": 0.3}}),
    "screw": (
        "<screw_thread_pitch>0.1</screw_thread_pitch>",
        {"helical": {"axis": [0, 0, 1], "pitch": "0.1 m/rev", "damping": 0.3}},
    ),
    "prismatic": ("", {"prismatic": {"axis": [0, 0, 1], "damping": 0.3}}),
}


@pytest.mark.parametrize("word", CLOSING)
@pytest.mark.parametrize("sign", [1, -1])
def test_joints_that_close_rings_are_loops_and_gearboxes_are_couplings(folder, word, sign):
    """Beside the same robot by hand, the joint between places in the axes of the model."""
    more, joint = CLOSING[word]
    file = folder / "bars.sdf"
    text = FOUR_BAR.replace("KIND", word).replace("MORE", more).replace("SIGN", str(sign))
    file.write_text(text, encoding="utf-8")
    robot = load(file)
    assert (robot.loop_names, robot.coupling_names) == (("d",), ("e",))
    assert robot.engine.coupling_numbers("e") == pytest.approx((-3.0 * sign, 0.0))
    there, q = np.eye(4), np.zeros(robot.ndof)
    there[:3, 3] = 2.0, 1.0, 0.0
    ends = {
        key: {"link": link, "at": {"position": place[:3, 3].tolist(), "rotation": {"matrix": place[:3, :3].tolist()}}}
        for key, link in (("from", "rocker"), ("to", "coupler"))
        for place in [np.linalg.inv(robot.pose(q, link)) @ there]
    }
    loops = {"ring": {"joint": joint, **ends}}
    tree = text.replace(text[text.index('<joint name="d"') : text.index('<joint name="e"')], "")
    (folder / "tree.sdf").write_text(tree, encoding="utf-8")
    data = {"sorosim": 1, "import": {"sdf": "tree.sdf"}, "loops": loops}
    (folder / "hand.yaml").write_text(json.dumps(data), encoding="utf-8")
    hand = load(folder / "hand.yaml")
    rng = np.random.default_rng(0)
    A, B = robot.loop_rows(q).A, hand.loop_rows(q).A
    assert_allclose(np.linalg.pinv(A) @ A, np.linalg.pinv(B) @ B, atol=1e-12)
    qd = rng.normal(size=robot.ndof)
    qd -= np.linalg.pinv(A) @ (A @ qd)
    found, right = robot.forward_dynamics(q, qd), hand.forward_dynamics(q, qd)
    assert_allclose(found, right, rtol=0.0, atol=1e-10 * (1.0 + np.abs(right).max()))


def test_a_universal_joint_stands_in_the_tree_and_another_one_closes_the_ring(folder):
    file = folder / "bars.sdf"
    text = FOUR_BAR.replace("KIND", "universal").replace("SIGN", "1")
    file.write_text(text.replace("MORE", "<axis2><xyz>1 0 0</xyz></axis2>"), encoding="utf-8")
    robot = load(file)
    assert robot.loop_names == ("c",)
    assert links_of(robot)["rocker_universal"].joint.kind == "universal"


@pytest.mark.parametrize("more", ["<dynamics><friction>1</friction></dynamics>", "<limit><lower>-1</lower></limit>"])
def test_what_loops_have_not_stands_in_the_tree(folder, more):
    file = folder / "bars.sdf"
    text = FOUR_BAR.replace("KIND", "revolute").replace("MORE", "").replace("SIGN", "1")
    file.write_text(text.replace("<dynamics><damping>0.3</damping></dynamics>", more), encoding="utf-8")
    robot = load(file, set={"import.limits": "{revolute: 100}"})
    assert robot.loop_names == ("c",)


def test_mimics_of_joints_that_close_rings_are_refused(folder):
    file = folder / "bars.sdf"
    text = FOUR_BAR.replace("KIND", "revolute").replace("MORE", "").replace("SIGN", "1")
    mimic = '<mimic joint="a"><multiplier>2</multiplier></mimic>'
    text = text.replace("<dynamics><damping>0.3</damping></dynamics>", mimic)
    text = text.replace("<axis><xyz>0 0 1</xyz></axis></joint>", "<axis><xyz>0 0 1</xyz><limit/></axis></joint>")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match="expected no mimic in a joint that closes a ring"):
        load(file)


def test_rings_load_in_any_order_of_joints(folder):
    file = folder / "bars.sdf"
    text = FOUR_BAR.replace("KIND", "revolute").replace("MORE", "").replace("SIGN", "1")
    first, last = text.index('<joint name="a"'), text.index('<joint name="b"')
    moved = text[:first] + text[last:].replace("</model>", text[first:last] + "</model>")
    counts = []
    for one in (text, moved):
        file.write_text(one, encoding="utf-8")
        counts.append((load(file).ndof, load(file).n_multipliers))
    assert counts == [(4, 6), (4, 6)]


def test_mistakes_of_gearboxes(folder):
    file, good = folder / "bars.sdf", FOUR_BAR.replace("KIND", "revolute").replace("MORE", "").replace("SIGN", "1")
    for old, new, message in (
        (
            "<parent>crank</parent><child>wheel",
            "<parent>coupler</parent><child>wheel",
            "between 'world' and 'coupler'",
        ),
        ("0 0 1</xyz></axis2>", "0 1 0</xyz></axis2>", "f.axis2: expected the axis of the joint 'e', got another one"),
        ("body>world<", "body>wrld<", "joint.f.gearbox_reference_body: expected the name of a link, got 'wrld'"),
    ):
        assert old in good
        file.write_text(good.replace(old, new), encoding="utf-8")
        with pytest.raises(FileError, match=message):
            load(file)


def test_poses_of_shapes_and_inertia_may_be_relative_to_frames(tmp_path):
    text = """<sdf version='1.9'><model name='m'><link name='a'><pose>1 0 0 0 0 0</pose>
      <inertial><pose relative_to='f'>0 0 1 0 0 0</pose><mass>1</mass></inertial>
      <visual name='v'><pose relative_to='f'>0 1 0 0 0 0</pose><geometry><sphere><radius>1</radius></sphere></geometry>
      </visual></link><frame name='f'><pose>5 0 0 0 0 0</pose></frame></model></sdf>"""
    (tmp_path / "m.sdf").write_text(text)
    (link,) = load(tmp_path / "m.sdf").links
    assert_allclose(link.body.centre, [4.0, 0.0, 1.0])
    assert_allclose(link.visual[0].at[:3, 3], [4.0, 1.0, 0.0])
    (tmp_path / "m.sdf").write_text(text.replace("relative_to='f'>0 0 1", "relative_to='g'>0 0 1"))
    with pytest.raises(FileError, match="expected the name of a frame, got 'g'"):
        load(tmp_path / "m.sdf")


def test_shapes_are_drawn_and_planes_are_not():
    links = links_of(load(DATA / "rig.sdf", set=FIXED))
    assert [(v.shape.kind, v.colour) for v in links["mast"].visual] == [("cylinder", "#ff0000")]
    assert [v.shape.kind for v in links["boom"].visual] == ["capsule", "ellipsoid"]
    assert links["boom"].visual[1].shape.radii == (0.1, 0.2, 0.3)
    assert np.ptp(links["load_spherical"].visual[0].shape.vertices) == pytest.approx(0.3)
    assert links_of(load(DATA / "rig.sdf", set=FIXED | {"import.visual": False}))["mast"].visual is None


def test_a_model_that_nothing_holds_floats_unless_it_is_mounted(folder):
    path = folder / "pendulum.sdf"
    path.write_text(PENDULUM.format(more="<pose>0 0 3 0 0 0</pose>"))
    bob = load(path).links[0]
    assert (bob.joint.kind, bob.at[2, 3]) == ("free", 2)
    for settings, height in (({"import.joint": "fixed"}, 2), ({"import.at": "{position: [0, 0, 7]}"}, 7)):
        bob = load(path, set=settings).links[0]
        assert (bob.joint.kind, bob.at[2, 3]) == ("fixed", height)
    path.write_text(PENDULUM.format(more="<static>true</static>"))
    assert load(path).links[0].joint.kind == "fixed"
    path.write_text(PENDULUM.format(more="<link name='other'/>"))
    assert [link.joint.kind for link in load(path).links] == ["free", "free"]


def test_the_text_of_a_robot_stands_alone_and_is_the_same_robot():
    robot = load(DATA / "rig.sdf", set=FIXED)
    assert "sdf" not in robot.description.text
    for a, b in zip(arrays_of(robot), arrays_of(load_text(robot.description.text, "text.yaml")), strict=True):
        assert_array_equal(a, b)


def test_long_chains_of_poses_are_no_recursion(folder):
    mass = "<inertial><mass>1</mass></inertial>"
    links = [f"<link name='l{i}'><pose relative_to='j{i}'/>{mass}</link>" for i in range(600)]
    joints = [
        f"<joint name='j{i}' type='fixed'><pose relative_to='l{i - 1}'>0 0 0.1 0 0 0</pose><parent>l{i - 1}</parent>"
        f"<child>l{i}</child></joint>"
        for i in range(1, 600)
    ]
    links[0] = f"<link name='l0'>{mass}</link>"
    path = folder / "chain.sdf"
    path.write_text(f"<sdf version='1.9'><model name='m'>{''.join(reversed(links + joints))}</model></sdf>")
    assert_allclose(load(path).links[0].frames["l599"][2, 3], 59.9)


def test_what_does_not_move_the_robot_is_remarked_on_until_it_is_meant(folder):
    path = changed(folder, '<link name="boom">', '<plugin name="p"/><link name="boom"><sensor name="s" type="imu"/>')
    with pytest.warns(SorosimWarning) as caught:
        load(path, set=FIXED)
    assert str(caught[0].message).replace(f"{folder}/", "") == (
        "rig.sdf: left out: plugins ('p', line 33); sensors ('s', line 33); without: [plugins, sensors] in the "
        "`import` block says that this is meant"
    )
    assert load(path, set=FIXED | {"import.without": "[plugins, sensors]"}).ndof == 8


def test_forces_of_a_medium_are_left_out_on_request(folder):
    path = changed(
        folder, '<link name="boom">', '<link name="boom"><velocity_decay><linear>0.1</linear></velocity_decay>'
    )
    assert load(path, set=FIXED | {"import.without": "[fluid]"}).ndof == 8


SCREW = """<sdf version="{}"><model name="m"><link name="base"><inertial><mass>1</mass></inertial></link>
<joint name="w" type="fixed"><parent>world</parent><child>base</child></joint>
<link name="a"><pose>0.3 0.1 0.2 0.4 0.5 0.6</pose><inertial><pose>0.1 0.02 0 0.1 0.2 0.3</pose><mass>2</mass>
<inertia><ixx>.01</ixx><iyy>.02</iyy><izz>.025</izz></inertia></inertial></link>
<joint name="j" type="screw"><parent>base</parent><child>a</child><axis><xyz>0 0 1</xyz></axis>{}</joint>
</model></sdf>
"""


@pytest.mark.parametrize("version", ["1.4", "1.9", "1.10"])
@pytest.mark.parametrize(
    "pitch",
    [
        "<screw_thread_pitch>0.05</screw_thread_pitch>",
        "<thread_pitch>-125.66370614359172</thread_pitch>",  # rad per m, left-handed
        "<thread_pitch>-125.664</thread_pitch><screw_thread_pitch>0.05</screw_thread_pitch>",
    ],
)
def test_the_older_pitch_of_screws_is_in_radians_per_metre_with_the_other_sign(folder, version, pitch):
    path = folder / "screw.sdf"
    path.write_text(SCREW.format(version, pitch))
    robot = load(path)
    if version != "1.4":  # whose axes are in the frame of the model
        assert_allclose(robot.mass_matrix([1.0]), 0.04528674, rtol=1e-6)  # as Drake 1.51 says
    assert robot.links[1].joint.pitch == pytest.approx(0.05 / (2.0 * np.pi))


def test_a_link_called_world_without_a_body_is_the_world_itself(folder):
    path = folder / "pendulum.sdf"
    joint = (
        "<joint name='j' type='revolute'><parent>world</parent><child>bob</child><axis><xyz>1 0 0</xyz></axis></joint>"
    )
    path.write_text(PENDULUM.format(more=f"<link name='world'/>{joint}"))
    with pytest.warns(SorosimWarning, match=r"read for what it means: link\.world, line \d: a link 'world', which is"):
        robot = load(path)
    assert [(link.name, link.joint.kind) for link in robot.links] == [("bob", "revolute")]
    body = "<inertial><mass>1</mass></inertial>"
    path.write_text(PENDULUM.format(more=f"<link name='world'>{body}</link>{joint}"))
    with pytest.raises(FileError, match=r"link\.world: expected another name of a link, got 'world'; SDF calls"):
        load(path, set={"import.visual": False})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<radius>0.05</radius>", "",
         "link.mast.visual.geometry.cylinder, line 15: expected an element <radius> in it, got none"),
        ("shapes/wedge.obj", "shapes/wedge.stl",
         "link.load.visual, line 45: 'shapes/wedge.stl', not found; package_dirs: [...] says where packages are"),
        ("shapes/wedge.obj", "model://box/wedge.stl",
         "link.load.visual, line 45: 'model://box/wedge.stl', not found; package_dirs: [...] says where packages are"),
        ("<diffuse>1 0 0 1</diffuse>", "<diffuse>red</diffuse>",
         "link.mast.visual.material.diffuse, line 16: expected red, green, blue and alpha in <diffuse>, got 'red'"),
        ('<visual name="rod"> <pose>0 0 0.1', '<visual name="rod"> <pose>0 0',
         "link.boom.visual.pose, line 36: expected the finite numbers x y z roll pitch yaw in <pose>, got '0 0 0 0 0'"),
        ('<visual name="rod"> <pose>', '<visual name="rod"> <pose relative_to="tip">',
         "link.boom.visual.pose, line 36: expected the name of a frame, got 'tip'"),
        ('<visual name="rod"> <pose>0 0 0.1', '<visual name="rod"> <pose rotation_format="quat_xyzw">0 0 0.1 0',
         "link.boom.visual.pose, line 36: expected a quaternion of some length, got 0 0 0 0"),
    ],
)  # fmt: skip
def test_a_picture_that_cannot_be_drawn_refuses_no_robot(folder, old, new, said):
    path = changed(folder, old, new)
    with pytest.warns(SorosimWarning) as caught:
        assert load(path, set=FIXED).ndof == 8
    assert [str(one.message) for one in caught] == [
        f"{path}: not drawn: {said}; visual: false in the `import` block leaves out all that is drawn"
    ]


def test_a_wrong_frame_that_a_picture_stands_in_is_no_matter_of_the_picture(folder):
    changed(folder, "<pose>0 0 0.3 0 0 0</pose> </frame>", "<pose>0 0 0.3</pose> </frame>")
    path = changed(folder, '<visual name="rod"> <pose>', '<visual name="rod"> <pose relative_to="top">')
    with pytest.raises(FileError, match=r"frame\.top\.pose: expected the finite numbers"):
        load(path, set=FIXED)


@pytest.mark.parametrize("before", ["\ufeff\n", "\ufeff", "\n"])
def test_a_byte_order_mark_and_a_blank_line_before_the_declaration_are_read_for_what_they_mean(folder, before):
    right = load(folder / "rig.sdf", set=FIXED)
    text = (folder / "rig.sdf").read_text("utf-8")
    assert text.startswith("<?xml")
    (folder / "rig.sdf").write_text(before + text, encoding="utf-8")
    with pytest.warns(SorosimWarning) if "\n" in before else nullcontext([]) as caught:
        robot = load(folder / "rig.sdf", set=FIXED)
    words = "read for what it means: line 2: a declaration <?xml ...?> after blank lines"
    assert [words in str(one.message) for one in caught] == [True] * len(before.strip("\ufeff"))
    for a, b in zip(arrays_of(robot), arrays_of(right), strict=True):
        assert_array_equal(a, b)


def test_planes_with_a_size_are_not_drawn(folder):
    plane = "<visual name='v'><geometry><plane><normal>0 0 1</normal><size>2 2</size></plane></geometry></visual>"
    before = [len(link.visual or ()) for link in load(folder / "rig.sdf", set=FIXED).links]
    path = changed(folder, '<link name="boom">', f'<link name="boom">{plane}')
    assert [len(link.visual or ()) for link in load(path, set=FIXED).links] == before


def test_a_base_without_mass_stands_where_it_is_held(folder):
    path = folder / "pendulum.sdf"
    text = re.sub(r"<mass>.*?</mass>", "<mass>0</mass>", PENDULUM.format(more=""), count=1)
    path.write_text(text)
    with pytest.raises(FileError, match=r"expected a mass to its inertia, got 0; joint: fixed in the `import` block"):
        load(path)
    assert load(path, set={"import.joint": "fixed"}).ndof == 0


def test_numbers_with_commas_between_are_read_with_a_word(folder):
    right = load(folder / "rig.sdf", set=FIXED)
    text = (folder / "rig.sdf").read_text("utf-8")
    vector = re.search(r"<pose>([-\d. ]+)</pose>", text)
    path = changed(folder, vector[0], f"<pose>{', '.join(vector[1].split())}</pose>")
    with pytest.warns(SorosimWarning, match=r"rig\.sdf: read for what it means: .* commas between numbers"):
        robot = load(path, set=FIXED)
    for a, b in zip(arrays_of(robot), arrays_of(right), strict=True):
        assert_array_equal(a, b)


def test_meshes_of_models_are_looked_for_upwards(folder):
    shutil.copytree(folder / "shapes", folder / "wedges" / "meshes")
    path = changed(folder, "shapes/wedge.obj", "model://wedges/meshes/wedge.obj")
    assert links_of(load(path, set=FIXED))["load_spherical"].visual[0].shape.faces.shape == (4, 3)


@pytest.mark.parametrize(("old", "new", "message"), list(blocks()))
def test_a_mistake_is_one_sentence_with_position_object_and_remedy(old, new, message, folder):
    path = changed(folder, old, new)
    with pytest.raises(FileError) as caught:
        load(path, set=FIXED)
    assert str(caught.value) == "\n".join(f"{path}:{line}" for line in message.splitlines())
