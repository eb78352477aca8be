"""Keyframes of MJCF files as where robots start, beside MuJoCo's own kinematics."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import FileError, SorosimWarning
from sorosim.files import load, load_text

pytestmark = pytest.mark.skipif(find_spec("mujoco") is None, reason="the extra mjcf is not installed")

# every kind of joint, with references, two joints in a body, a ball beside the origin, and one that follows
MODEL = """<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="hull" pos="0.1 0.2 0.3" euler="0.4 -0.3 0.7">
      <freejoint name="root"/>
      <geom size="0.1"/>
      <body name="arm" pos="0.2 0 0" euler="0 0.5 0">
        <joint name="ball" type="ball" pos="0.03 -0.02 0.01"/>
        <geom size="0.1"/>
        <body name="hand" pos="0 0.3 0">
          <joint name="turn" axis="0 1 1" pos="0 0.05 0" ref="0.2"/>
          <joint name="slide" type="slide" axis="1 0 0.5" ref="-0.1"/>
          <geom size="0.05"/>
          <body name="finger" pos="0 0.1 0"><joint name="bend" axis="1 0 0"/><geom size="0.02"/></body>
          <body name="thumb" pos="0 -0.1 0"><joint name="fold" axis="1 0 0"/><geom size="0.02"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="fold" joint2="bend" polycoef="0.1 -2 0 0 0"/></equality>
  <keyframe>
    <key name="home" qpos="0.5 -0.2 1  0.3 0.4 -0.5 0.7  0.9 0.1 0.3 -0.2  0.7 0.05 0.2 FOLD"
         qvel="0.1 0.2 -0.3  1 2 -1  0.5 -0.4 0.3  2 0.2 0.3 -0.6"/>
    <key name="away" qpos="0 0 0  1 0 0 0  -1 0 0 0  0.2 -0.1 0 0.1"/>
  </keyframe>
</mujoco>"""
KEYS = MODEL[MODEL.index("  <keyframe>") : MODEL.index("</mujoco>")]


@pytest.fixture
def file(tmp_path):
    def written(old="FOLD", new="-0.3"):
        text = MODEL.replace(old, new).replace("FOLD", "-0.3")
        (tmp_path / "robot.xml").write_text(text)
        return tmp_path / "robot.xml"

    return written


def at(file, name="home"):
    """MuJoCo's data at a keyframe."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(name).id)
    mujoco.mj_forward(model, data)
    return model, data


def twist_by_mujoco(model, data, body):
    import mujoco

    out = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body(body).id, out, 1)
    return out


@pytest.mark.parametrize("name", ["home", "away"])
def test_all_bodies_stand_and_move_as_in_mujoco(file, name):
    robot = load(path := file(), set={"import.keyframe": name})
    model, data = at(path, name)
    q, qd = robot.initial_q, robot.initial_qd
    (fold,) = (i for i, own in enumerate(robot.coordinate_names) if own.startswith("thumb"))
    assert q[fold] == pytest.approx(float(data.qpos[-1]), abs=1e-12)  # it follows
    for body in ("hull", "hand", "finger", "thumb"):
        g = robot.pose(q, body)
        assert_allclose(g[:3, 3], data.body(body).xpos, atol=1e-12)
        assert_allclose(g[:3, :3], data.body(body).xmat.reshape(3, 3), atol=1e-12)
        assert_allclose(robot.jacobian(q, body) @ qd, twist_by_mujoco(model, data, body), atol=1e-11)
    assert np.any(qd) == (name == "home")


def test_without_one_the_robot_starts_at_the_pose_of_the_file_and_a_remark_names_them(file):
    with pytest.warns(SorosimWarning, match=r"keyframes \('home', 'away', line 22\).*keyframe: home that the"):
        robot = load(file())
    assert not np.any(robot.initial_q[:-1])  # the last one follows


def test_what_a_file_says_itself_of_a_link_comes_first(file, tmp_path):
    file()
    text = """
sorosim: 1
import: {mjcf: robot.xml, keyframe: home}
initial: {hand.prismatic: 3 mm, hull: {position: [1, 2, 3]}}
"""
    (tmp_path / "own.yaml").write_text(text)
    robot = load(tmp_path / "own.yaml")
    q = dict(zip(robot.coordinate_names, robot.initial_q, strict=True))
    assert [q[f"hull.free.t{x}"] for x in "xyz"] == [1.0, 2.0, 3.0]
    assert not any(q[f"hull.free.r{x}"] for x in "xyz")
    assert q["hand.prismatic"] == pytest.approx(0.003)
    assert q["finger.revolute"] == pytest.approx(0.2)
    again = load_text(robot.description.text, "again.yaml")
    assert_allclose(again.initial_q, robot.initial_q, atol=1e-15)
    assert_allclose(again.initial_qd, robot.initial_qd, atol=1e-15)


def test_robots_by_name_start_each_at_its_own(file, tmp_path):
    file()
    imports = "a: {mjcf: robot.xml, keyframe: home}, b: {mjcf: robot.xml, keyframe: away, at: {position: [1, 0, 0]}}"
    (tmp_path / "two.yaml").write_text(f"sorosim: 1\nimport: {{{imports}}}\n")
    robot = load(tmp_path / "two.yaml")
    q = dict(zip(robot.coordinate_names, robot.initial_q, strict=True))
    assert (q["a_finger.revolute"], q["b_finger.revolute"]) == (pytest.approx(0.2), 0.0)
    # the second one stands beside where its file has it
    assert_allclose(robot.pose(robot.initial_q, "b_hull")[:3, 3], [1.0, 0.0, 0.0], atol=1e-15)


def test_a_follower_stands_where_its_leader_puts_it(file):
    words = "of the keyframe otherwise: keyframe.key, line 22: 'fold' at -0.3, not 0.5; joints that follow others stand"
    with pytest.warns(SorosimWarning, match=words):
        robot = load(file("FOLD", "0.5"), set={"import.keyframe": "home"})
    assert "thumb.revolute" not in robot.description.initial
    held = {"import.keyframe": "home", "import.mimic": "fixed"}
    with pytest.warns(SorosimWarning, match="'fold' at 0.1, not 0.5"):
        load(file("FOLD", "0.5"), set=held)
    free = load(file("FOLD", "0.5"), set={"import.keyframe": "home", "import.mimic": "free"})
    assert dict(zip(free.coordinate_names, free.initial_q, strict=True))["thumb.revolute"] == 0.5


def test_inputs_of_a_keyframe_are_remarked_on_until_it_is_meant(file):
    path = file('name="home"', 'name="home" time="2"')
    with pytest.warns(SorosimWarning, match=r"left out: keyframes \('time of home', line 22\).*is meant$"):
        load(path, set={"import.keyframe": "home"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(path, set={"import.keyframe": "home", "import.without": "[keyframes]"})


@pytest.mark.parametrize(
    ("old", "new", "settings", "message"),
    [
        ("FOLD", "0", {"import.keyframe": "hom"}, "expected the name of a keyframe, got 'hom'; did you mean home"),
        ("FOLD", "1 2", {}, r"robot\.xml:22:5: expected MJCF that MuJoCo compiles, .*qpos"),
        (
            "FOLD",
            "",
            {"import.keyframe": "home"},
            r":22:5: keyframe\.key: expected 15 numbers of qpos, got 14",
        ),
        (' name="home"', "", {"import.keyframe": "home"}, "got 'home'; known: away"),
        (KEYS, "", {"import.keyframe": "home"}, "got 'home'; it has none"),
    ],
)
def test_wrong_keyframes_are_one_error(file, old, new, settings, message):
    with pytest.raises(FileError, match=message) as caught:
        load(file(old, new), set=settings)
    assert "\n" not in str(caught.value)


def test_files_of_other_formats_have_none(tmp_path):
    text = "sorosim: 1\nimport: {urdf: arm.urdf, keyframe: home}\n"
    (tmp_path / "robot.yaml").write_text(text)
    with pytest.raises(FileError, match="expected a keyframe of an MJCF file, got one beside urdf"):
        sorosim.load(tmp_path / "robot.yaml")
