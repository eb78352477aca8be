"""Robots from MJCF: what becomes of their parts, what is left out, what wrong files are told."""

import os
import shutil
import sys
import warnings
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from helpers.robots import arrays_of
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import FileError, ModelError, SorosimError, SorosimWarning
from sorosim.connect import cli
from sorosim.files import load, load_text
from sorosim.files.rigid import compilation
from sorosim.mechanics.model.pose import Rotation

pytestmark = pytest.mark.skipif(find_spec("mujoco") is None, reason="the extra mjcf is not installed")

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "mjcf"
STOPS = {"import.limits": "{revolute: 100, prismatic: 1000}"}


def blocks(name):
    """Mistakes of a list: what is replaced, by what, the message."""
    for block in (HERE / name).read_text("utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            yield tuple("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+=")


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    return tmp_path


def changed(folder, old, new, name="arm.xml"):
    text = (folder / name).read_text("utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder / name


def links_of(robot):
    return {link.name: link for link in robot.links}


def test_several_joints_of_a_body_are_links_without_mass_between():
    robot = load(DATA / "arm.xml", set=STOPS)
    links = links_of(robot)
    assert [name for name in links if name.startswith("upper")] == [
        "upper_shoulder_pan",
        "upper_shoulder_lift",
        "upper",
    ]
    assert [links[name].body is None for name in ("upper_shoulder_pan", "upper_shoulder_lift", "upper")] == [
        True,
        True,
        False,
    ]
    assert robot.coordinate_names == (
        "column.revolute", "upper_shoulder_pan.revolute", "upper_shoulder_lift.revolute", "upper.prismatic",
        "forearm.revolute",
    )  # fmt: skip
    waist, lift, reach = (links[name].joint for name in ("column", "upper_shoulder_lift", "upper"))
    assert_allclose(waist.axis, np.array([0, 0.2, 1]) / np.hypot(0.2, 1))
    assert waist.through == (0.02, 0.01, -0.1)
    # coordinates begin at the references of the file
    stop = waist.limits[0]
    assert_allclose((stop.low, stop.high, stop.stiffness), (np.deg2rad(-160), np.deg2rad(80), 100))
    assert (waist.damping, waist.friction) == ((0.3,), (0.04,))
    assert_allclose((lift.stiffness[0], lift.rest[0], lift.damping[0]), (4, np.deg2rad(30), 0.05))
    assert_allclose((reach.stiffness[0], reach.rest[0], reach.damping[0]), (120, -0.02, 7))
    assert_allclose((reach.limits[0].low, reach.limits[0].high), (-0.12, 0.28))
    assert robot.description.gravity == (0.3, -0.2, -9.7)


def test_bodies_without_joints_and_sites_are_frames_and_geoms_are_drawn():
    links = links_of(load(DATA / "arm.xml"))
    assert set(links["forearm"].frames) == {"tool", "tip"}
    assert set(links["upper"].frames) == {"elbow_site"}
    assert [(v.shape.kind, v.colour) for v in links["surroundings"].visual] == [("box", "#664d33")]
    assert [(v.shape.kind, v.colour) for v in links["upper"].visual] == [("capsule", "#3366cc")]
    assert links["upper"].visual[0].shape.radius == 0.03


def test_a_ball_joint_beside_the_origin_moves_a_frame_there():
    links = links_of(load(DATA / "balls.xml"))
    assert_allclose(links["trunk_spherical"].frames["trunk"][:3, 3], [-0.03, 0.02, -0.1])
    assert links["left"].joint.kind == "spherical"
    assert links["left"].parent == "trunk_spherical"


def test_a_body_floats_where_the_file_says_so(folder):
    links = links_of(load(DATA / "walker.xml"))
    assert [links[name].joint.kind for name in ("hull", "ball")] == ["free", "free"]
    assert links["ball"].joint.damping == (0.2,) * 6
    (folder / "robot.yaml").write_text("sorosim: 1\nimport: {mjcf: walker.xml, joint: free}\n")
    with pytest.raises(FileError, match=r"no joint to move it by, got a robot that has joints there already"):
        load(folder / "robot.yaml")
    (folder / "robot.yaml").write_text("sorosim: 1\ngravity: [0, 0, -1]\nimport: {w: {mjcf: walker.xml}}\n")
    robot = load(folder / "robot.yaml")
    assert robot.description.gravity == (0, 0, -1)
    assert next(iter(links_of(robot))) == "w_world"


def test_gravity_must_be_one(folder):
    (folder / "robot.yaml").write_text("sorosim: 1\nimport: {a: {mjcf: walker.xml}, b: {mjcf: arm.xml}}\n")
    with pytest.raises(
        FileError, match=r"expected the gravity of .*walker.xml, \[0, 0, -9.81\], got \[0.3, -0.2, -9.7\]; write"
    ):
        load(folder / "robot.yaml")
    text = (folder / "robot.yaml").read_text()
    (folder / "robot.yaml").write_text(text + "gravity: [0, 0, -1]\n")
    assert load(folder / "robot.yaml").description.gravity == (0, 0, -1)


@pytest.mark.parametrize("name", ["arm", "balls", "walker", "meshes", "cart"])
def test_the_text_of_a_robot_stands_alone_and_is_the_same_robot(name):
    robot = load(DATA / f"{name}.xml", set={"import.mimic": "free"})
    assert "mjcf" not in robot.description.text
    for a, b in zip(arrays_of(robot), arrays_of(load_text(robot.description.text, "text.yaml")), strict=True):
        assert_array_equal(a, b)


def test_meshes_are_drawn_where_mujoco_has_them():
    import mujoco

    robot, model = (
        load(DATA / "meshes.xml", set={"import.mimic": "free"}),
        mujoco.MjModel.from_xml_path(str(DATA / "meshes.xml")),
    )
    q, data = np.array([0.3, 0.1, 0.05]), mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    for geom, name in ((1, "arm"), (2, "finger"), (3, "thumb")):
        mesh = model.geom_dataid[geom]
        start = model.mesh_vertadr[mesh]
        theirs = model.mesh_vert[start : start + model.mesh_vertnum[mesh]] @ data.geom_xmat[geom].reshape(3, 3).T
        visual = links_of(robot)[name].visual[0]
        g = robot.pose(q, name) @ visual.at
        ours = visual.shape.vertices @ g[:3, :3].T + g[:3, 3]
        order = [np.lexsort(v.round(5).T) for v in (ours, theirs + data.geom_xpos[geom])]
        # MuJoCo keeps vertices in single precision
        assert_allclose(ours[order[0]], (theirs + data.geom_xpos[geom])[order[1]], rtol=0, atol=1e-6)
    assert (
        links_of(load(DATA / "meshes.xml", set={"import.mimic": "fixed", "import.visual": False}))["arm"].visual is None
    )


def test_an_equality_of_joints_is_a_joint_that_mimics():
    held = links_of(load(DATA / "meshes.xml", set={"import.mimic": "fixed"}))
    assert_allclose(held["arm"].frames["thumb"][:3, 3], [0.3, 0.1 - 0.01, 0])
    robot = load(DATA / "meshes.xml")
    ((name, coupling),) = robot.description.couplings.items()
    assert coupling.link == "thumb"
    assert robot.engine.coupling_numbers(name) == pytest.approx((2.0, 0.01))


DRIVEN = """<mujoco model="driven"><compiler angle="radian"/><worldbody>
  <body name="a"><joint name="ja" type="hinge" axis="0 1 0" ref="0.2" pos="0.1 0 0"/><geom size="0.1" pos="0.2 0 0"/>
    <body name="b" pos="0.5 0 0"><joint name="jb" type="slide" axis="0 0 1"/><geom size="0.1"/>
      <body name="c"><joint name="jc" type="ball"/><geom size="0.1"/></body></body></body></worldbody>
  <actuator><motor name="m" joint="ja" gear="2"/> <position name="p" joint="ja" kp="3" kv="0.5" gear="-2"/>
    <velocity joint="jb" kv="0.7" gear="3"/>
    <general name="g" joint="jb" gainprm="2" biastype="affine" biasprm="0 -2 -0.1"/>
    <position name="limited" joint="jb" kp="5" forcerange="-4 4"/>MORE</actuator></mujoco>"""
UNKNOWN = """<motor name="ball" joint="jc"/>
    <general name="odd" joint="jb" gainprm="2" biastype="affine" biasprm="0 -1 -0.1"/>
    <general name="slow" joint="jb" dyntype="filter" dynprm="1"/> <motor name="skew" joint="jb" forcerange="-1 2"/>"""


def test_motors_and_servos_of_joints_are_actuators(folder):
    import mujoco

    (folder / "driven.xml").write_text(DRIVEN.replace("MORE", ""))
    robot = load(folder / "driven.xml")
    assert robot.actuator_names == ("m", "p", "velocity_3", "g", "limited")
    assert robot.actuator_units == ("N m", "rad", "m/s", "m", "m")
    model = mujoco.MjModel.from_xml_path(str(folder / "driven.xml"))
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    data.qpos[:2], data.qvel[:2] = 0.3, rng.normal(size=2)
    data.ctrl[:] = 0.1 * rng.normal(size=5)
    data.ctrl[4] = 0.3  # its force is zero, where a limit does nothing
    mujoco.mj_forward(model, data)
    gear = model.actuator_gear[:, 0]
    u = data.ctrl / gear - np.array([0.0, 0.2, 0.0, 0.0, 0.0])
    u[0] = 2.0 * data.ctrl[0]
    q, qd = np.zeros((2, robot.ndof))
    q[:2], qd[:2] = data.qpos[:2] - [0.2, 0.0], data.qvel[:2]
    assert_allclose(robot.internal_force(q, qd, u=u)[:2], data.qfrc_actuator[:2], rtol=1e-12)
    far = robot.internal_force(q, 0.0 * qd, u=[0, q[0], 0, q[1], 1e6])[1]
    assert far == pytest.approx(4.0, rel=1e-12)


def test_names_that_are_made_differ_from_those_that_are_written(tmp_path):
    """Links, joints and their motors as MuJoCo tells them apart."""
    import mujoco

    geom, hinge = '<geom size="0.1" pos="0.2 0 0"/>', '<joint name="{}" axis="0 1 0"/>'
    bodies = {
        "between joints": f'<body name="b"><joint name="j" axis="1 0 0"/>{hinge.format("k")}{geom}</body>'
        f'<body name="b_j">{hinge.format("l")}{geom}</body>',
        "unnamed": f'<body>{hinge.format("j")}{geom}</body><body name="body_1">{hinge.format("k")}{geom}</body>',
        "sites": f'<body name="foo">{hinge.format("j")}{geom}<site name="foo"/></body>'
        f'<body name="foo_site">{hinge.format("k")}{geom}</body>',
        "surroundings": f'{geom}<body name="surroundings">{hinge.format("j")}{geom}</body>',
        "joints": f'<body name="knee">{hinge.format("hip")}{geom}</body>'
        f'<body name="hip"><joint axis="0 1 0"/>{geom}</body>',
        "fixed": f'<body name="b">{geom}</body><body name="c">{hinge.format("b_fixed")}{geom}</body>',
    }
    for name, world in bodies.items():
        motor = {"joints": "hip", "fixed": "b_fixed", "between joints": "k"}.get(name, "j")
        option = '<option gravity="0 0 0"><flag contact="disable"/></option>'
        actuator = f'<actuator><motor joint="{motor}"/></actuator>'
        text = f"<mujoco>{option}<worldbody>{world}</worldbody>{actuator}</mujoco>"
        (tmp_path / "names.xml").write_text(text)
        robot, model = load(tmp_path / "names.xml"), mujoco.MjModel.from_xml_string(text)
        assert robot.ndof == model.nv, name
        assert sum(link.body.mass for link in robot.links if link.body) == pytest.approx(model.body_mass.sum()), name
        data = mujoco.MjData(model)
        data.ctrl[:] = 1.0
        mujoco.mj_forward(model, data)
        zero = np.zeros(robot.ndof)
        assert_allclose(robot.forward_dynamics(zero, zero, u=[1.0]), data.qacc, rtol=1e-9, atol=1e-9)


SWITCHED = [
    ('<option><flag actuation="disable"/></option>', "", 0),
    ('<option actuatorgroupdisable="0"/>', "", 0),
    ("", 'ctrlrange="0.5 1"', 0),
    ("", 'ctrlrange="-1 1"', 1),
]


@pytest.mark.parametrize(("option", "attribute", "n"), SWITCHED)
def test_actuators_that_are_off_or_cannot_be_zero_are_left_out(tmp_path, option, attribute, n):
    body = '<body><joint name="j" axis="0 1 0" RANGE/><geom size="0.1" pos="0.2 0 0"/></body>'
    actuator = f'<actuator><position joint="j" kp="3" {attribute}/></actuator>'
    text = f"<mujoco>{option}<worldbody>{body}</worldbody>{actuator}</mujoco>"
    (tmp_path / "off.xml").write_text(text.replace("RANGE", ""))
    with pytest.warns(SorosimWarning, match="left out: actuators") if not n else nullcontext():
        assert len(load(tmp_path / "off.xml").actuator_names) == n
    if n:
        (tmp_path / "off.xml").write_text(text.replace("RANGE", 'actuatorfrcrange="-2 2"'))
        (servo,) = load(tmp_path / "off.xml").description.actuators.values()
        assert servo.limit == 2.0


@pytest.mark.parametrize(
    "asset",
    ['<mesh name="m" file="../t.obj"/>', '<texture name="t" type="2d" file="/etc/hostname"/>',
     '<hfield name="h" file="../h.png" size="1 1 1 1"/>', '<model name="a" file="../other.xml"/>'],
)  # fmt: skip
def test_files_outside_are_not_read(tmp_path, asset):
    (tmp_path / "in").mkdir()
    (tmp_path / "other.xml").write_text('<mujoco><worldbody><body name="x"/></worldbody></mujoco>')
    (tmp_path / "in" / "m.xml").write_text(f"<mujoco><asset>{asset}</asset></mujoco>")
    with pytest.raises(FileError, match="expected a file in the folder of the MJCF file"):
        load(tmp_path / "in" / "m.xml")


def test_other_actuators_are_left_out_by_name(folder):
    (folder / "driven.xml").write_text(DRIVEN.replace("MORE", UNKNOWN))
    with pytest.warns(SorosimWarning, match=r"left out: actuators \('ball', 'odd', 'slow', 'skew', line 8\)"):
        assert len(load(folder / "driven.xml").actuator_names) == 5
    assert load(folder / "driven.xml", set={"import.without": ["actuators"]}).actuator_names == ()


# -- what is left out


def test_what_does_not_move_the_robot_is_remarked_on_until_it_is_meant(folder):
    more = '<actuator><motor name="m" site="tip"/></actuator><sensor><jointpos joint="waist"/></sensor>'
    path = changed(folder, "</worldbody>", f"</worldbody>\n{more}<keyframe><key name='home'/></keyframe>")
    with pytest.warns(SorosimWarning) as caught:
        load(path)
    assert str(caught[0].message).replace(f"{folder}/", "") == (
        "arm.xml: left out: actuators ('m', line 32); sensors ('jointpos', line 32); keyframes ('home', line 32); "
        "without: [actuators, sensors, keyframes] in the `import` block says that this is meant; keyframe: home that "
        "the robot starts there"
    )
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path, set={"import.without": "[actuators, sensors, keyframes]"})


def test_armature_of_ball_joints_is_left_out_on_request(tmp_path):
    text = (DATA / "balls.xml").read_text("utf-8")
    path = tmp_path / "balls.xml"
    path.write_text(text.replace("<worldbody>", '<default><joint armature="0.1"/></default><worldbody>', 1), "utf-8")
    with pytest.raises(
        FileError, match=r"no armature \(inertia of rotors\) in ball and free joints, got 'neck', 'left_ball'"
    ):
        load(path)
    plain, armed = load(DATA / "balls.xml"), load(path, set={"import.without": "[armature]"})
    q = np.full(plain.ndof, 0.2)
    has_axis = [any(kind in name for kind in ("revolute", "prismatic")) for name in plain.coordinate_names]
    assert sum(has_axis) == 2
    assert_allclose(armed.mass_matrix(q) - plain.mass_matrix(q), 0.1 * np.diag(has_axis), atol=1e-13)


def test_armature_of_hinges_and_sliders_is_read(folder):
    path = changed(folder, '<joint damping="0.3"/>', '<joint damping="0.3" armature="0.1"/>')
    plain, armed = load(DATA / "arm.xml"), load(path)
    q = np.full(plain.ndof, 0.2)
    has_axis = [any(kind in name for kind in ("revolute", "prismatic")) for name in plain.coordinate_names]
    assert_allclose(armed.mass_matrix(q) - plain.mass_matrix(q), 0.1 * np.diag(has_axis), atol=1e-13)
    (folder / "arm.yaml").write_text("sorosim: 1\nimport: {mjcf: arm.xml, without: [rotors]}\n")
    with pytest.raises(FileError, match=r"arm.yaml:2:35: import.without\[0\]: expected armature, .* got 'rotors'"):
        load(folder / "arm.yaml")


def test_tendons_without_springs_are_left_out(folder):
    path = changed(
        folder, "</worldbody>", "</worldbody><tendon><fixed name='t'><joint joint='waist' coef='1'/></fixed></tendon>"
    )
    assert load(path).ndof == 5


def test_flags_turn_off_gravity_and_dampers(folder):
    path = changed(folder, '<flag gravity="enable" contact="disable"/>', '<flag gravity="disable" passive="disable"/>',
                   "cart.xml")  # fmt: skip
    try:
        robot = load(path)
    except FileError:  # MuJoCo since 3.4 has two flags in its place
        text = path.read_text("utf-8").replace('passive="disable"', 'spring="disable" damper="disable"')
        path.write_text(text, encoding="utf-8")
        robot = load(path)
    assert robot.description.gravity == (0, 0, 0)
    assert not robot.internal_force(np.ones(3), np.ones(3)).any()


def test_nothing_is_written_where_the_program_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(os.listdir())
    changed(folder, '<compiler autolimits="true"/>', '<compiler settotalmass="5"/>', "cart.xml")
    load("cart.xml")
    assert sorted(os.listdir()) == before


# -- files


def test_an_ending_of_xml_is_of_any_format(folder):
    shutil.copy(DATA.parent / "sdf" / "rig.sdf", folder / "rig.xml")
    shutil.copytree(DATA.parent / "sdf" / "shapes", folder / "shapes", dirs_exist_ok=True)
    shutil.copy(DATA.parent / "urdf" / "serial_arm.urdf", folder / "urdf.xml")
    assert load(folder / "rig.xml", set={"import.mimic": "free"}).ndof == 1 + 3 + 2 + 3
    if find_spec("yourdfpy") is not None:
        assert load(folder / "urdf.xml").ndof == 5
    (folder / "other.xml").write_text("<html/>")
    with pytest.raises(
        FileError,
        match=r"other.xml:1:1: expected a robot, whose root is <robot>, <mujoco> or <sdf>, got another kind of file",
    ):
        load(folder / "other.xml")


def test_included_files_are_read_from_the_folder_and_their_lines_are_told(folder):
    changed(folder, 'range="-60 60"', 'range="-60 x"', "walker_defaults.xml")
    with pytest.raises(
        FileError, match=r"walker_defaults.xml:5:7: expected MJCF that MuJoCo compiles, got a mistake in it: <joint>"
    ):
        load(folder / "walker.xml")
    shutil.copytree(DATA, folder / "deep")
    shutil.move(folder / "deep" / "walker_defaults.xml", folder / "walker_defaults.xml")
    changed(folder / "deep", 'file="walker_defaults.xml"', 'file="../walker_defaults.xml"', "walker.xml")
    with pytest.raises(
        FileError, match=r"walker.xml:3:3: .* in the folder of the MJCF file, got '../walker.* allow_outside"
    ):
        load(folder / "deep" / "walker.xml")
    assert load(folder / "deep" / "walker.xml", set={"import.allow_outside": True}).ndof == 6 + 4 + 6


def test_a_file_that_includes_itself_is_refused(folder):
    (folder / "ring.xml").write_text("<mujoco><include file='ring.xml'/></mujoco>")
    with pytest.raises(FileError, match="at most 50 files that include each other, got more"):
        load(folder / "ring.xml")


def test_reading_needs_no_package_of_users_who_do_not_import(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(FileError) as caught:
        load(DATA / "arm.xml")
    assert str(caught.value).endswith(
        "expected the package mujoco, which reads MJCF, got none; install it: pip install 'sorosim[mjcf]'"
    )


def test_commands_take_the_file_as_a_robot(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["sorosim", "convert", "arm.xml"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, capsys.readouterr().out) == (0, "arm.yaml\n")
    a, b = load("arm.xml"), load("arm.yaml")
    assert_array_equal(b.mass_matrix(np.ones(5)), a.mass_matrix(np.ones(5)))


@pytest.mark.parametrize(("old", "new", "message"), list(blocks("mistakes_of_mjcf.txt")))
def test_a_mistake_is_one_sentence_with_position_object_and_remedy(old, new, message, folder):
    path = changed(folder, old, new)
    with pytest.raises((FileError, ModelError)) as caught:
        load(path, set=STOPS)
    got, expected = str(caught.value), "\n".join(f"{path}:{line}" for line in message.splitlines())
    if expected.endswith("..."):
        assert got.startswith(expected.removesuffix("..."))
        assert len(got) > len(expected)
    else:
        assert got == expected


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        (
            '<worldbody><replicate count="300"><replicate count="300"><geom/></replicate></replicate></worldbody>',
            "elements",
        ),
        ('<worldbody><body><flexcomp count="100 100 100"/></body></worldbody>', "elements"),
        ('<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>', "numbers in a table"),
        ('<asset><texture name="t" type="skybox" builtin="flat" width="9000"/></asset>', "numbers in a table"),
    ],
)
def test_what_would_take_minutes_or_gigabytes_is_refused_before_mujoco_reads_it(tmp_path, monkeypatch, inner, words):
    monkeypatch.setattr("sorosim.files.rigid.mjcf.compiled", lambda *_: pytest.fail("it was compiled"))
    (tmp_path / "x.xml").write_text(f'<mujoco model="x">{inner}</mujoco>')
    with pytest.raises(FileError, match=rf"x\.xml:1:\d+: .*at most \d+ {words}"):
        load(tmp_path / "x.xml")


@pytest.mark.parametrize("name", ["arm.xml", "meshes.xml"])
def test_a_process_of_its_own_compiles_the_same_model(name, monkeypatch):
    set = STOPS if name == "arm.xml" else {"import.mimic": "fixed"}
    here = load(DATA / name, set=set)
    monkeypatch.setattr(compilation, "_is_plain", lambda root: False)
    assert load(DATA / name, set=set).to_yaml() == here.to_yaml()


BODY = '<worldbody><body name="b"><joint type="hinge"/><geom size="0.1"/></body></worldbody>'


@pytest.mark.parametrize(
    ("size", "seconds", "gigabytes"),
    [('nuser_geom="1000000000"', 60, 1), ('nkey="1000000"', 1, 3)],  # 8 GB; minutes
)
def test_what_counts_do_not_tell_ends_at_limits_of_memory_or_time(tmp_path, monkeypatch, size, seconds, gigabytes):
    monkeypatch.setattr(compilation, "MAX_SECONDS", seconds)
    monkeypatch.setattr(compilation, "MAX_BYTES", gigabytes * 10**9)
    (tmp_path / "x.xml").write_text(f'<mujoco model="x"><size {size}/>{BODY}</mujoco>')
    expected = f"expected MJCF that MuJoCo compiles within {seconds} s and {gigabytes} GB, got more"
    with pytest.raises(FileError, match=rf"x\.xml:1:\d+: {expected}"):
        load(tmp_path / "x.xml")


def test_a_large_sky_and_room_for_many_contacts_refuse_no_robot(tmp_path):
    sky = '<texture name="sky" type="skybox" builtin="gradient" width="800" height="800" rgb1="0 0 0" rgb2="1 1 1"/>'
    (tmp_path / "x.xml").write_text(
        f'<mujoco model="x"><size njmax="8000" nconmax="4000"/><asset>{sky}</asset>{BODY}</mujoco>'
    )
    assert load(tmp_path / "x.xml").ndof == 1


def test_meshes_too_large_for_the_text_of_a_robot_are_not_drawn(tmp_path, monkeypatch):
    right = load(DATA / "meshes.xml", set={"import.mimic": "fixed"})
    assert any(v.shape.kind == "mesh" and not v.shape.file for link in right.links for v in link.visual or ())
    monkeypatch.setattr("sorosim.files.rigid.links.MAX_VALUES", 20)
    with pytest.warns(SorosimWarning, match=r"not drawn: .* a mesh of \d+ triangles, too large for a text"):
        load(DATA / "meshes.xml", set={"import.mimic": "fixed"})


def test_a_mistake_that_the_process_finds_is_told_where_it_is_written(tmp_path):
    sensor = '<sensor><user dim="1000"/>\n<jointpos joint="nowhere"/></sensor>'
    (tmp_path / "x.xml").write_text(f'<mujoco model="x">{BODY}{sensor}</mujoco>')
    with pytest.raises(FileError, match=r"x\.xml:2:\d+: .*<jointpos>: .*nowhere"):
        load(tmp_path / "x.xml")


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.xml") if "defaults" not in path.name))
def test_usual_robots_are_compiled_without_a_process_of_its_own(name, monkeypatch):
    monkeypatch.setattr(compilation, "_in_a_child", lambda *_: pytest.fail("a process was started"))
    with suppress(SorosimError):  # of what has no place here, which is told after
        load(DATA / name)


TWICE = """<mujoco><worldbody>
  <body><joint name="a 1" axis="0 1 0"/><geom size="0.1"/></body>
  <body><joint name="a.1" axis="0 1 0"/><geom size="0.1"/></body>
  <body><joint name="b" axis="0 1 0"/><geom size="0.1"/></body></worldbody><option>FLAG</option>
  <equality>ROWS</equality></mujoco>"""


def test_several_equalities_of_a_joint_and_names_that_become_one(tmp_path):
    def loaded(rows, flag=""):
        (tmp_path / "twice.xml").write_text(TWICE.replace("ROWS", rows).replace("FLAG", flag))
        return load(tmp_path / "twice.xml")

    row = '<joint joint1="{}" joint2="{}" polycoef="0 {} 0 0 0"/>'
    robot = loaded(row.format("b", "a 1", 2) + row.format("b", "a.1", -1))
    assert robot.n_multipliers == 2
    # b = 2 x and b = -y
    assert_allclose(robot.loop_rows(np.zeros(3)).A @ [1.0, -2.0, 2.0], 0.0, atol=1e-15)
    assert loaded(row.format("a 1", "b", 2) + row.format("a.1", "b", 3)).coupling_names == ("a_1", "a_1_2")
    with pytest.raises(FileError, match="expected no constraints but"):
        loaded(row.format("a 1", "b", 2) + row.format("a.1", "b", 3) + row.format("a 1", "a.1", 1.5))
    assert loaded(row.format("b", "a 1", 2), '<flag equality="disable"/>').n_multipliers == 0


HELD = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="one" pos="0 0 1"><joint name="a" axis="0 1 0" ref="0.2" pos="0 0.1 0"/><geom size="0.1"/>
    <body name="two" pos="0.3 0 0"><joint name="b" type="slide" axis="1 0 1" ref="-0.1"/><geom size="0.1"/>
      <body name="three" pos="0.3 0 0"><joint name="c" axis="0 0 1"/><geom size="0.1"/></body>
    </body>
  </body></worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="-2"/></fixed></tendon>
  <equality>ROWS</equality>
</mujoco>"""


LED = {"a": 0.3, "c": 0.1}
TWO_JOINTS = '<joint joint1="{}" joint2="{}" polycoef="0.1 2 0 0 0"/><joint joint1="a" polycoef="0.3"/>'


@pytest.mark.parametrize(
    ("rows", "held"),
    [
        ('<joint joint1="a" polycoef="0.3"/>', {"a": 0.3}),
        ('<joint joint1="b" polycoef="-0.05 1 2 0 0"/>', {"b": -0.05}),
        ('<tendon tendon1="t" polycoef="0.3 0 0 0 0"/>', {"a": -0.15}),
        (
            '<joint joint1="c" joint2="a" polycoef="0.1 2 0 0 0"/><joint joint1="a" polycoef="0.3"/>',
            {"a": 0.3, "c": 0.7},
        ),
        (
            '<joint joint1="a" polycoef="0.3"/><joint joint1="a" joint2="c" polycoef="0.1 2 0 0 0"/>',
            {"a": 0.3, "c": 0.1},
        ),
    ],
)
def test_an_equality_of_one_joint_holds_it(tmp_path, rows, held):
    import mujoco

    (tmp_path / "held.xml").write_text(HELD.replace("ROWS", rows))
    robot, model = load(tmp_path / "held.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "held.xml"))
    assert robot.ndof == 3 - len(held)
    assert robot.n_multipliers == 0
    q, data = 0.1 * (1.0 + np.arange(robot.ndof)), mujoco.MjData(model)
    free = [name for name in "abc" if name not in held]
    for name, value in {**held, **dict(zip(free, q, strict=True))}.items():
        data.qpos[model.joint(name).qposadr] = model.qpos0[model.joint(name).qposadr] + value
    mujoco.mj_forward(model, data)
    assert_allclose(data.efc_pos[: data.ne], 0.0, atol=1e-14)  # there they agree with what MuJoCo asks for
    frames = {name: (link.name, pose) for link in robot.links for name, pose in link.frames.items()}
    for body in ("one", "two", "three"):
        link, on_it = frames.get(body, (body, np.eye(4)))
        g = on_it if link == "world" else robot.pose(q, link) @ on_it
        assert_allclose(g[:3, 3], data.body(body).xpos, atol=1e-12)
    free = load(tmp_path / "held.xml", set={"import.without": "[constraints]"})
    assert len(free.coordinate_names) == 3


def test_a_joint_that_follows_is_not_held_as_well(tmp_path):
    rows = '<joint joint1="c" joint2="a" polycoef="0.1 2 0 0 0"/><joint joint1="c" polycoef="0.3"/>'
    (tmp_path / "held.xml").write_text(HELD.replace("ROWS", rows))
    with pytest.raises(FileError, match="expected no constraints but"):
        load(tmp_path / "held.xml")


def test_a_tendon_of_given_length_over_two_joints_couples_them(tmp_path):
    import mujoco

    tendon = '<tendon><fixed name="t"><joint joint="a 1" coef="0.5"/><joint joint="b" coef="-2"/></fixed></tendon>'
    row = '<tendon tendon1="t" polycoef="0.3 1 0 0 0"/>'
    text = TWICE.replace("ROWS", row).replace("FLAG", "").replace("<equality>", f"{tendon}<equality>")
    (tmp_path / "twice.xml").write_text(text)
    robot, model = load(tmp_path / "twice.xml"), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    ours, theirs = robot.loop_rows(np.zeros(3)), data.efc_J.reshape(-1, 3)[0]
    assert_allclose(ours.A[0] / ours.A[0, 0], theirs / theirs[0], atol=1e-14)
    assert_allclose(ours.error / ours.A[0, 0], data.efc_pos[:1] / theirs[0], atol=1e-14)
    (tmp_path / "twice.xml").write_text(
        text.replace('<joint joint="b"', '<joint joint="a.1" coef="1"/><joint joint="b"')
    )
    with pytest.raises(FileError, match="expected no constraints but"):
        load(tmp_path / "twice.xml")


# -- what closes chains


CHAIN = """<mujoco model="ring">
  <compiler angle="radian"/>
  <worldbody>
    <site name="post" pos="0.9 0.1 0.2" euler="0 0.3 0"/>
    <body name="a" euler="0 -1.2 0"><joint name="ja" type="ball"/>
      <inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.2 0.2"/>
      <body name="b" pos="0.2 0 0" euler="0.2 0.9 0"><joint name="jb" type="hinge" axis="0 1 0" pos="0.1 0 0"/>
        <inertial pos="0.25 0 0" mass="2" diaginertia="0.1 0.2 0.2"/><site name="tip" pos="0.5 0 0" euler="0.4 0 0"/>
        <body name="c" pos="0.3 0.1 0"><joint name="jc" type="slide" axis="0 1 1"/>
          <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.1 0.1"/>
          <body name="pad" pos="0 0 0.1"><geom size="0.1"/></body></body>
      </body>
    </body>
    <body name="d" pos="0.5 0 0"><freejoint name="jd"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.2"/></body>
  </worldbody>
  <equality>ROWS</equality>
</mujoco>"""
EQUALITIES = {
    "connect": ('<connect body1="pad" body2="d" anchor="0.1 0.2 0.3"/>', 3),
    "connect to the world": ('<connect body1="b" anchor="0.5 0 0"/>', 3),
    "connect sites": ('<connect site1="tip" site2="post"/>', 3),
    "weld": ('<weld body1="b" body2="d"/>', 6),
    "weld at a pose": ('<weld body1="pad" body2="d" relpose="0.1 0.2 0.3 1 0.2 0.1 0"/>', 6),
    "weld to the world": ('<weld body1="d"/>', 6),
    "weld sites": ('<weld site1="tip" site2="post"/>', 6),
}


OPEN = ("connect sites", "weld at a pose", "weld sites")  # until they are assembled


@pytest.mark.parametrize("name", EQUALITIES)
def test_equalities_of_bodies_are_loops(folder, name):
    rows, m = EQUALITIES[name]
    (folder / "ring.xml").write_text(CHAIN.replace("ROWS", rows))
    robot = load(folder / "ring.xml")
    assert robot.n_multipliers == m
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(folder / "ring.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # ball, hinge, slider, then translations and rotation of the free body
    order = [robot.coordinate_names.index(f"d.free.{way}") for way in ("tx", "ty", "tz", "rx", "ry", "rz")]
    order = [*(k for k in range(robot.ndof) if k not in order), *order]
    ours, theirs = robot.loop_rows(np.zeros(robot.ndof)), data.efc_J.reshape(-1, model.nv)[:m]
    open_there = np.abs(data.efc_pos[:m]).max()
    assert (np.abs(ours.error).max() < 1e-12) == (open_there < 1e-12) == (name not in OPEN)
    if open_there < 1e-12:
        assert_allclose(*(np.linalg.pinv(A) @ A for A in (ours.A[:, order], theirs)), atol=1e-9)
    assert load(folder / "ring.xml", set={"import.without": ["constraints"]}).n_multipliers == 0


def test_a_weld_holds_the_second_body_where_the_file_says_in_the_first(folder):
    (folder / "ring.xml").write_text(CHAIN.replace("ROWS", EQUALITIES["weld at a pose"][0]))
    robot = load(folder / "ring.xml")
    q = sorosim.assemble(robot).q
    pad = robot.pose(q, "c") @ links_of(robot)["c"].frames["pad"]
    there = np.linalg.inv(pad) @ robot.pose(q, "d")
    assert_allclose(there[:3, 3], [0.1, 0.2, 0.3], atol=1e-9)
    assert_allclose(there[:3, :3], Rotation(quaternion=(1.0, 0.2, 0.1, 0.0)).R, atol=1e-9)


def test_loops_of_files_stand_where_the_robot_is_mounted(folder):
    (folder / "ring.xml").write_text(CHAIN.replace("ROWS", '<connect body1="b" anchor="0.5 0 0"/>'))
    text = "sorosim: 1\nlinks: {base: {at: {position: [0, 0, 1]}}}\n"
    text += "import: {left: {mjcf: ring.xml, parent: base, at: {position: [1, 0, 0]}}}\n"
    (folder / "robot.yaml").write_text(text)
    robot = load(folder / "robot.yaml")
    assert robot.loop_names == ("left_connect",)
    assert max(robot.loop_gaps(np.zeros(robot.ndof))["left_connect"]) < 1e-12
