"""Included files, parameters, prefabs and overrides: the right data, and mistakes where they were written."""

# ruff: noqa: E501 (messages are easier to compare on one line)

import numpy as np
import pytest
from helpers.robots import arrays_of
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.errors import FileError, InputError, ModelError
from sorosim.base.signals import TableSignal
from sorosim.files import load, load_text

RUBBER = "materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}}\n"
HAND = """\
sorosim: 1
name: hand
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}}
prefabs:
  finger:
    parameters: {length: 10 cm, radius: 5 mm}
    links:
      proximal:
        rod:
          length: $length/2
          section: {circle: {radius: $radius}}
          material: rubber
          strain: {bending: 1}
      distal:
        parent: proximal
        rod: {length: $length/2, section: {circle: {radius: $radius}}, material: rubber, strain: {bending: 0}}
    actuators:
      flexor: {tendon: {path: [{rod: proximal, y: 0, z: $radius/2}, {rod: distal, y: 0, z: $radius/2}]}}
    loads:
      touch: {wrench: {link: distal, force: [0, 0, 0.01]}}
links:
  palm:
    body: {mass: 200 g, inertia: [1e-4, 1e-4, 1e-4]}
parts:
  thumb: {prefab: finger, parent: palm, at: {position: [0, 3 cm, 0]}, with: {length: 12 cm}}
  finger:
    prefab: finger
    parent: palm
    repeat: 20
    at: {position: [0, 0, 5 cm], rotation: {axis: [1, 0, 0], angle: 360 deg/20*$i}}
"""


def same(a, b):
    for x, y in zip(arrays_of(a), arrays_of(b), strict=True):
        assert_array_equal(x, y)


def message(text, file="robot.yaml", folder=None):
    with pytest.raises(FileError) as caught:
        load_text(text, file, folder)
    return str(caught.value)


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / f"{next(iter(files))}.yaml"


def changed(text, *changes):
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


ARM = (
    "links:\n  arm:\n    rod: {length: 50 cm, section: {circle: {radius: 2 cm}}, material: rubber, "
    "strain: {bending: 1}}\n"
)


# -- parts

CHAIN = """\
sorosim: 1
prefabs:
  joint:
    links:
      turn: {at: {position: [0, 0, 2 cm]}, joint: {revolute: {axis: [1, 0, 0]}}}
      bone: {parent: turn, joint: {revolute: {axis: [0, 1, 0]}}, body: {mass: 1/$i, inertia: [1e-4, 1e-4, 1e-4]}}
links:
  base: {body: {mass: 1, inertia: [1e-2, 1e-2, 1e-2]}}
parts:
  joint: {prefab: joint, parent: base, at: {position: [5 cm, 0, 0]}, repeat: 3, chain: bone}
"""


def test_parts_of_a_chain_hang_on_each_other():
    robot = load_text(CHAIN, "robot.yaml")
    parents = {link.name: link.parent for link in robot.links}
    assert parents == {"base": "world", "joint1_turn": "base", "joint1_bone": "joint1_turn",
                       "joint2_turn": "joint1_bone", "joint2_bone": "joint2_turn",
                       "joint3_turn": "joint2_bone", "joint3_bone": "joint3_turn"}  # fmt: skip
    # the first one has the pose of the part and its own, the others their own
    assert_allclose(robot.pose(np.zeros(6), "joint3_bone")[:3, 3], [0.05, 0.0, 0.06], atol=1e-15)
    assert robot.links[-1].body.mass == 1 / 3


def test_a_chain_inside_a_prefab():
    text = changed(CHAIN, ("links:\n  base", "  arm:\n    links: {foot: {}}\n    parts:\n      joint: {prefab: joint, "
                           "parent: foot, repeat: 2, chain: bone}\nlinks:\n  base"),
                   ("{prefab: joint, parent: base, at: {position: [5 cm, 0, 0]}, repeat: 3, chain: bone}",
                    "{prefab: arm, parent: base, repeat: 2, chain: joint2_bone}"))  # fmt: skip
    parents = {link.name: link.parent for link in load_text(text, "robot.yaml").links}
    assert parents["joint1_joint2_turn"] == "joint1_joint1_bone"
    assert parents["joint2_foot"] == "joint1_joint2_bone"
    assert parents["joint2_joint1_turn"] == "joint2_foot"


@pytest.mark.parametrize(("given", "shown"), [("bones", "'bones'; did you mean bone?"), ("[bone]", "['bone']")])
def test_the_link_of_a_chain_is_one_of_its_prefab(given, shown):
    text = changed(CHAIN, ("chain: bone", f"chain: {given}"))
    assert (
        "10:88: parts.joint.chain (as part 'joint1' and 2 more): expected the name of a link of prefab 'joint', "
        in (found := message(text))
    )
    assert shown in found


def test_a_robot_of_twenty_equal_fingers_is_short():
    robot = load_text(HAND, "hand.yaml")
    names = [link.name for link in robot.links]
    assert names[:3] == ["palm", "thumb_proximal", "thumb_distal"]
    assert names[-1] == "finger20_distal"
    assert len(names) == 1 + 2 + 40
    assert robot.actuator_names[:2] == ("thumb_flexor", "finger1_flexor")
    assert robot.links[1].rod.length == 0.06
    assert robot.links[3].rod.length == 0.05
    assert robot.links[1].parent == "palm"
    assert robot.links[2].parent == "thumb_proximal"
    assert robot.description.loads["finger7_touch"].link == "finger7_distal"
    assert robot.description.actuators["thumb_flexor"].path[1].rod == "thumb_distal"
    assert robot.description.text == HAND


def test_parts_are_placed_by_their_number():
    robot = load_text(HAND, "hand.yaml")
    at = {link.name: link.at for link in robot.links}
    assert_allclose(at["finger5_proximal"][:3, :3], [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-15)
    assert_allclose(at["finger5_proximal"][:3, 3], [0, 0, 0.05])
    assert_array_equal(at["finger5_distal"], np.eye(4))


def test_the_pose_of_a_part_comes_before_that_of_its_links():
    text = changed(HAND, ("      proximal:\n", "      proximal:\n        at: {position: [1 cm, 0, 0]}\n"))
    at = {link.name: link.at for link in load_text(text, "hand.yaml").links}
    assert_allclose(at["thumb_proximal"][:3, 3], [0.01, 0.03, 0])
    assert_allclose(at["finger10_proximal"][:3, 3], [0.01, 0, 0.05], atol=1e-15)


def test_poses_may_be_a_list():
    pose = "at: [{rotation: {axis: [0, 0, 1], angle: 90 deg}}, {position: [1 cm, 0, 0]}]"
    text = "sorosim: 1\n" + RUBBER + ARM + f"  tool:\n    parent: arm\n    {pose}\n"
    assert_allclose(load_text(text, "robot.yaml").links[1].at[:3, 3], [0, 0.01, 0], atol=1e-17)


NESTED = """\
sorosim: 1
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}}
parameters: {thin: 2 mm}
prefabs:
  leaf:
    parameters: {length: }
    links:
      blade: {rod: {length: $length, section: {circle: {radius: $thin}}, material: rubber, strain: {bending: 0}}}
  twig:
    parameters: {size: 4 cm, leaves: 2}
    links:
      stem: {rod: {length: $size, section: {circle: {radius: 2*$thin}}, material: rubber, strain: {bending: 0}}}
    parts:
      leaf: {prefab: leaf, parent: stem, repeat: $leaves, at: {s: $i/3}, with: {length: $size/(1 + $i)}}
    actuators:
      pull: {tendon: {path: [{rod: stem, y: 0, z: 0}]}}
    loads:
      wind: {wrench: {link: leaf1_blade, force: [0, 0, 1 mN]}}
parts:
  twig: {prefab: twig}
  big: {prefab: twig, parent: twig_stem, with: {size: 8 cm, leaves: 1}}
"""


def test_prefabs_of_prefabs():
    robot = load_text(NESTED, "tree.yaml")
    links = {link.name: link for link in robot.links}
    assert list(links) == ["twig_stem", "twig_leaf1_blade", "twig_leaf2_blade", "big_stem", "big_leaf1_blade"]
    assert links["twig_leaf2_blade"].s == pytest.approx(2 / 3)
    assert links["twig_leaf2_blade"].rod.length == pytest.approx(0.04 / 3)
    assert links["big_leaf1_blade"].rod.length == pytest.approx(0.04)
    assert links["big_leaf1_blade"].parent == "big_stem"
    assert links["big_stem"].parent == "twig_stem"
    assert robot.description.loads["big_wind"].link == "big_leaf1_blade"


def test_a_mistake_in_a_prefab_names_its_place_and_the_part():
    assert message(changed(HAND, ("length: $length/2", "length: -$length"))) == (
        "robot.yaml:10:19: prefabs.finger.links.proximal.rod.length (as part 'thumb', $length): "
        "expected a length greater than 0, got -(12 cm)\n"
        "robot.yaml:10:19: prefabs.finger.links.proximal.rod.length (as part 'finger1', $length and 19 more): "
        "expected a length greater than 0, got -(10 cm)"
    )
    assert message(changed(HAND, ("material: rubber\n", "material: ruber\n"))) == (
        "robot.yaml:12:21: prefabs.finger.links.proximal.rod.material (as part 'thumb' and 20 more): "
        "expected the name of a material, got 'ruber'; did you mean rubber?"
    )
    assert message(changed(HAND, ("with: {length: 12 cm}", "with: {length: 12 kg}"))).splitlines()[0] == (
        "robot.yaml:10:19: prefabs.finger.links.proximal.rod.length (as part 'thumb', $length): "
        "expected a length greater than 0, such as 3 cm, got '(12 kg)/2', a mass"
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("prefab: finger, parent", "prefab: fingr, parent",
         "25:19: parts.thumb.prefab (as part 'thumb'): expected the name of a prefab, got 'fingr'; did you mean finger?"),
        ("{length: 12 cm}", "{lenght: 12 cm}",
         "25:78: parts.thumb.with.lenght (as part 'thumb'): expected a parameter of prefab 'finger', got 'lenght'; did "
         "you mean length?"),
        ("{prefab: finger, parent: palm, at", "{parent: palm, at",
         "25:10: parts.thumb: expected the key 'prefab', got nothing; for instance prefab: stub"),
        ("with: {length: 12 cm}", "wth: {length: 12 cm}",
         "25:71: parts.thumb.wth: expected a known key, got 'wth'; did you mean with?"),
        ("repeat: 20", "repeat: 0", "29:13: parts.finger.repeat: expected a whole number from 1 to 1000, got 0"),
        ("repeat: 20", "repeat: many", "29:13: parts.finger.repeat: expected a whole number from 1 to 1000, got 'many'"),
        ("parent: palm, at", "parent: plam, at",
         "25:35: parts.thumb.parent (as part 'thumb'): expected a link of this robot or 'world', got 'plam'; did you "
         "mean palm?"),
        ("at: {position: [0, 3 cm, 0]}", "at: {position: [0, 3 kg, 0]}",
         "25:60: parts.thumb.at.position[1] (as part 'thumb'): expected a length such as 3 cm, got '3 kg', a mass"),
        ("radius: $radius}},", "radius: $radus}},",
         "16:61: prefabs.finger.links.distal.rod.section.circle.radius (as part 'thumb' and 20 more): expected the name "
         "of a parameter, got '$radus'; did you mean radius?"),
        ("[0, 0, 0.01]", "[0, 0, $i]",
         "20:52: prefabs.finger.loads.touch.wrench.force[2] (as part 'thumb'): expected the name of a parameter, got "
         "'$i'; known: length, radius"),
        ("  palm:\n", "  palm: {}\n  thumb_distal:\n",
         "14:7: prefabs.finger.links.distal (as part 'thumb'): expected names that differ, got 'thumb_distal' twice; the "
         "other one is at robot.yaml:23:3"),
        ("    parameters: {length: 10 cm, radius", "    parameters: {length: , radius",
         "27:5: parts.finger: expected a value of parameter 'length' of prefab 'finger', got none; write with: {length: "
         "...}"),
        ("    loads:\n", "    looads:\n", "19:5: prefabs.finger.looads: expected a known key, got 'looads'; did you mean "
                                          "loads or loops?"),
        ("radius: 5 mm}", "2radius: 5 mm}",
         "6:33: prefabs.finger.parameters.2radius: expected a name of at most 60 letters, digits and _, beginning with a "
         "letter, got '2radius'"),
        ("    parameters: {length: 10 cm", "    parts: {again: {prefab: finger}}\n    parameters: {length: 10 cm",
         "6:29: prefabs.finger.parts.again.prefab (as part 'thumb_again'): expected prefabs that are not parts of "
         "themselves, got finger -> finger"),
        ("parts:\n", "parts: [1]\nparts2:\n", "24:8: parts: expected a mapping of names, got [1]"),
    ],
)  # fmt: skip
def test_mistakes_of_parts(old, new, expected):
    assert f"robot.yaml:{expected}" in message(changed(HAND, (old, new)))


def test_parts_are_bounded():
    deep = "".join(
        f"  p{k}: {{links: {{a: {{}}}}, parts: {{x: {{prefab: p{k + 1}, repeat: 50}}}}}}\n" for k in range(9)
    )
    text = f"sorosim: 1\nprefabs:\n{deep}  p9: {{links: {{a: {{}}}}}}\nparts: {{x: {{prefab: p0, repeat: 50}}}}\n"
    assert "expected at most 5000 links with all parts, got more" in message(text)
    chain = "".join(f"  p{k}: {{links: {{a: {{}}}}, parts: {{x: {{prefab: p{k + 1}}}}}}}\n" for k in range(20))
    text = f"sorosim: 1\nprefabs:\n{chain}  p20: {{links: {{a: {{}}}}}}\nparts: {{x: {{prefab: p0}}}}\n"
    assert "expected at most 10 levels of prefabs in prefabs, got more" in message(text)


# -- parameters


def test_parameters_stand_for_anything():
    text = (
        "sorosim: 1\nparameters: {length: $half*2, half: 25 cm, n: 2, g: [0, 0, -1], shape: {circle: {radius: $half/10}}"
        ", kind: rub}\n" + RUBBER + "gravity: $g\nname: costs $$n and more\n"
        "links:\n  arm:\n    rod: {length: '${length} - 10 cm', section: $shape, material: '${kind}ber', "
        "strain: {bending: $n, torsion: $n - 1}}\n"
    )
    with pytest.raises(FileError):
        load_text(text.replace("kind: rub}", "kind: 2}"), "robot.yaml")  # a number begins no word
    robot = load_text(text, "robot.yaml")
    assert robot.name == "costs $n and more"
    assert robot.description.gravity == (0, 0, -1)
    rod = robot.links[0].rod
    assert rod.divisions[0].material.young == 1e6
    assert rod.length == pytest.approx(0.4)
    assert rod.divisions[0].strain.count_per_strain == (2, 3, 3, 0, 0, 0)


@pytest.mark.parametrize(
    ("parameters", "length", "expected"),
    [
        ("{a: 1}", "$b", "2:28: links.arm.body.mass: expected the name of a parameter, got '$b'; known: a"),
        ("{mass: 1}", "2*$mas", "2:28: links.arm.body.mass: expected the name of a parameter, got '$mas'"),
        ("{a: $b, b: $a}", "$a", "3:24: parameters.b: expected parameters that do not need themselves, got $a -> $b -> "
                                 "$a"),
        ("{a: [1]}", "2*$a", "2:28: links.arm.body.mass: expected $a to be a number or a text inside a longer text, got "
                             "[1]"),
        ("{a: }", "$a", "3:16: parameters.a: expected a value of parameter 'a', got nothing; write one after the colon"),
        ("{a: 3 cm}", "$a", "2:28: links.arm.body.mass ($a): expected a mass greater than 0, such as 200 g, got '3 cm', a "
                            "length"),
        ("{a: 3 cm}", "2*$a", "2:28: links.arm.body.mass ($a): expected a mass greater than 0, such as 200 g, got "
                              "'2*(3 cm)', a length"),
        ("{a: 3 cm}", "${a", "2:28: links.arm.body.mass: expected a mass greater than 0, such as 200 g, got '${a'"),
        ("{a: 3 cm}", "2*${}", "2:28: links.arm.body.mass: expected the name of a parameter, got '${}'"),
        ("{a: 3 cm}", "$1", "2:28: links.arm.body.mass: expected a mass greater than 0, such as 200 g, got '$1'"),
    ],
)  # fmt: skip
def test_mistakes_of_parameters(parameters, length, expected):
    text = f"sorosim: 1\nlinks: {{arm: {{body: {{mass: '{length}', inertia: [1, 1, 1]}}}}}}\nparameters: {parameters}\n"
    assert f"robot.yaml:{expected}" in message(text)


def test_a_parameter_without_parameters_says_how_to_write_a_dollar():
    assert message("sorosim: 1\nname: 5 $x\nlinks: {arm: {}}\n") == (
        "robot.yaml:2:7: name: expected the name of a parameter, got '$x'; there are none; a dollar sign is $$"
    )


def test_a_bomb_of_parameters_is_refused():
    lists = ", ".join(f"a{k}: [{', '.join([f'$a{k + 1}'] * 9)}]" for k in range(20))
    texts = ", ".join(f"a{k}: $a{k + 1}+$a{k + 1}" for k in range(20))
    for body, expected in ((lists, "expected at most 200000 values with all parts and parameters, got more"),
                           (texts, "expected at most 2000 characters with its parameters, got more")):  # fmt: skip
        assert expected in message(f"sorosim: 1\nparameters: {{{body}, a20: 1}}\nlinks: {{arm: $a0}}\n")
    chain = ", ".join(f"a{k}: $a{k + 1}" for k in range(2000))
    assert "expected at most 30 in a row" in message(f"sorosim: 1\nparameters: {{{chain}}}\nlinks: {{arm: $a0}}\n")


# -- included files


def test_included_blocks_come_first_and_the_text_stands_alone(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "common.yaml").write_text("include: deeper.yaml\nsorosim: 1\nparameters: {length: 40 cm}\n")
    (tmp_path / "parts" / "deeper.yaml").write_text(RUBBER)
    file = write(
        tmp_path,
        robot="sorosim: 1\ninclude: [parts/common.yaml, parts/deeper.yaml]\n" + ARM.replace("50 cm", "$length"),
    )
    robot = load(file)
    assert robot.links[0].rod.length == 0.4
    again = load_text(robot.description.text, "run.h5")
    same(robot, again)
    assert again.name == "robot"
    assert "length: 40 cm" in robot.description.text
    assert "include" not in robot.description.text


def test_mistakes_of_an_included_file_name_it(tmp_path):
    file = write(tmp_path, robot="sorosim: 1\ninclude: common.yaml\n" + ARM, common=RUBBER.replace("1 MPa", "1 m"))
    with pytest.raises(FileError) as caught:
        load(file)
    assert str(caught.value) == (
        f"{tmp_path}/common.yaml:1:29: materials.rubber.young: expected a pressure or modulus greater than 0, such as "
        "1 MPa, got '1 m', a length"
    )
    assert caught.value.file == f"{tmp_path}/common.yaml"
    (tmp_path / "common.yaml").write_text(RUBBER + "a: b: c")
    with pytest.raises(FileError, match=r"common.yaml:2:5: expected a single 'key: value' here"):
        load(file)


@pytest.mark.parametrize(
    ("include", "common", "expected"),
    [
        ("commn.yaml", RUBBER, "robot.yaml:2:10: include: expected a file, got 'commn.yaml', which does not exist; "
                               "relative paths begin in the folder of the file that includes"),
        ("[common.yaml, 3]", RUBBER, "robot.yaml:2:24: include[1]: expected the path of a file, got 3"),
        ("[[common.yaml]]", RUBBER, "robot.yaml:2:11: include[0]: expected the path of a file, got ['common.yaml']"),
        ("robot.yaml", RUBBER, "robot.yaml:2:10: include: expected files that do not include themselves, got robot.yaml "
                               "-> robot.yaml"),
        ("common.yaml", "include: common.yaml\n", "common.yaml:1:10: include: expected files that do not include "
                                                  "themselves, got common.yaml -> common.yaml"),
        ("common.yaml", RUBBER + "links: {arm: {}}\n",
         "robot.yaml:4:3: links.arm: expected names that differ, got 'arm' twice; the first is at DIR/common.yaml:2:9"),
        ("common.yaml", RUBBER + "gravity: [0, 0, 0]\n",
         "common.yaml:2:1: gravity: expected a block to include: parameters, materials, prefabs, links, parts, loops, "
         "couplings, actuators, loads, sensors, outputs, got 'gravity'; it belongs into the file that includes; without: "
         "[gravity] leaves it behind"),
        ("{file: common.yaml, without: [gravty]}", RUBBER,
         "robot.yaml:2:40: include.without[0]: expected gravity, initial, simulate, statics, actuators, loads, "
         "sensors or outputs, got 'gravty'; did you mean gravity?"),
        ("[{without: [gravity]}]", RUBBER, "robot.yaml:2:11: include[0]: expected the key 'file', got nothing; for instance "
                                           "file: ur5_with_soft_gripper"),
        ("common.yaml", RUBBER + "material: 1\n", "common.yaml:2:1: material: expected a block to include: parameters, materials, "
                                         "prefabs, links, parts, loops, couplings, actuators, loads, sensors, outputs, got 'material'; "
                                         "did you mean materials?"),
        ("common.yaml", "[links: 1]", "common.yaml: expected blocks of a robot: parameters, materials, prefabs, links, parts, "
                                      "loops, couplings, actuators, loads, sensors, outputs, sorosim, include, import, gravity, initial, "
                                      "simulate, statics; got another kind of file"),
        ("common.yaml", "sorosim: 2\nwhatever: 3", "common.yaml:1:10: sorosim: expected 1, the version of the format, got "
                                                   "2; this file is for a newer sorosim"),
    ],
)  # fmt: skip
def test_mistakes_of_including(tmp_path, include, common, expected):
    file = write(tmp_path, robot=f"sorosim: 1\ninclude: {include}\n" + ARM, common=common)
    with pytest.raises(FileError) as caught:
        load(file)
    assert str(caught.value).splitlines()[0] == f"{tmp_path}/{expected.replace('DIR', str(tmp_path))}"


def test_included_files_are_bounded(tmp_path, monkeypatch):
    for k in range(60):
        (tmp_path / f"f{k}.yaml").write_text(f"materials: {{m{k}: {{young: 1, shear: 1, density: 1}}}}\n")
    names = ", ".join(f"f{k}.yaml" for k in range(60))
    file = write(tmp_path, robot=f"sorosim: 1\ninclude: [{names}]\nlinks: {{arm: {{}}}}\n")
    with pytest.raises(FileError, match="expected at most 50 included files, got more"):
        load(file)
    monkeypatch.setattr("sorosim.files.include.MAX_TOTAL_BYTES", 10)
    with pytest.raises(FileError, match="MB of included files, got more"):
        load(file)


def test_blocks_of_one_robot_are_left_behind_on_request(tmp_path):
    common = RUBBER + (
        "gravity: [0, 0, 0]\nsimulate: {t_end: 3}\nloads: {push: {wrench: {link: arm, force: [0, 0, 1]}}}\n"
    )
    file = write(
        tmp_path, robot="sorosim: 1\ninclude: {file: common.yaml, without: [gravity, simulate]}\n" + ARM, common=common
    )
    robot = load(file)
    assert robot.description.gravity == (0.0, 0.0, -9.81)
    assert (robot.description.simulate, list(robot.description.loads)) == ({}, ["push"])
    file = write(
        tmp_path, robot="sorosim: 1\ninclude: [{file: common.yaml, without: [gravity, simulate, loads]}]\n" + ARM,
        common=common,
    )  # fmt: skip
    assert load(file).description.loads == {}


def test_a_bundled_robot_is_extended(tmp_path):
    """Its name is no path; a file of that name beside the robot comes first."""
    include = "include: {file: ur5_with_soft_gripper, without: [simulate, statics]}"
    weight = "links: {weight: {parent: palm, body: {point_mass: 0.2 kg, centre: [0, 0, 5 cm]}}}"
    robot = load(write(tmp_path, robot=f"sorosim: 1\n{include}\n{weight}\nsimulate: {{t_end: 1}}\n"))
    own = load("ur5_with_soft_gripper")
    assert {link.name for link in robot.links} == {link.name for link in own.links} | {"weight"}
    assert robot.actuator_names == own.actuator_names
    assert robot.description.simulate == {"t_end": 1.0}
    assert not robot.description.statics
    # the text of the robot stands alone
    again = load_text(robot.to_yaml(), "again")
    assert np.array_equal(again.mass_matrix(np.zeros(again.ndof)), robot.mass_matrix(np.zeros(robot.ndof)))
    nearby = write(tmp_path, robot=f"sorosim: 1\n{include}\n{ARM}", ur5_with_soft_gripper=RUBBER)
    (tmp_path / "ur5_with_soft_gripper.yaml").rename(tmp_path / "ur5_with_soft_gripper")
    assert [link.name for link in load(nearby).links] == ["arm"]


def test_a_text_without_a_folder_includes_nothing():
    assert message("sorosim: 1\ninclude: a.yaml\nlinks: {arm: {}}\n") == (
        "robot.yaml:2:10: include: expected a description in one piece, got an include; included files are not kept here"
    )


def test_tables_of_csv_files_are_kept_in_the_text(tmp_path):
    (tmp_path / "pull.csv").write_text("0,1\n1,3\n2,0.1\n")
    actuator = "actuators: {cable: {tendon: {rod: arm, y: 0, z: 1 cm}}}\n"
    file = write(tmp_path, robot="sorosim: 1\n" + RUBBER + ARM + actuator + "simulate: {u: {cable: {csv: pull.csv}}}\n")
    again = load_text(load(file).description.text, "run.h5")
    expected = TableSignal(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 0.1]))
    assert again.description.simulate["u"]["cable"] == expected
    (tmp_path / "pull.csv").write_text("".join(f"{k},{k}\n" for k in range(6000)))
    text = load(file).description.text
    assert str(tmp_path / "pull.csv") in text
    assert len(load_text(text, "run.h5").description.simulate["u"]["cable"].times) == 6000


# -- overrides


BASE = "sorosim: 1\nparameters: {length: 30 cm, n: 1}\n" + RUBBER + ARM.replace("50 cm", "$length") + (
    "  lid: {parent: arm, joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 1, inertia: [1, 1, 1]}}\n"
    "actuators: {cable: {tendon: {path: [{rod: arm, y: 0, z: 1 cm}]}}}\n"
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "look", "expected"),
    [
        ("links.arm.rod.length", "40cm", lambda r: r.links[0].rod.length, 0.4),
        ("links.arm.rod.length", "2*$length", lambda r: r.links[0].rod.length, 0.6),
        ("parameters.length", 0.25, lambda r: r.links[0].rod.length, 0.25),
        ("links.lid.joint.revolute.axis[1]", 1, lambda r: r.links[1].joint.axis[1], 0.5**0.5),
        ("links.lid.joint.revolute.axis.1", "1", lambda r: r.links[1].joint.axis[1], 0.5**0.5),
        ("actuators.cable.tendon.path[0].z", "5 mm", lambda r: r.description.actuators["cable"].path[0].z, 0.005),
        ("gravity", "[0, 0, -1]", lambda r: r.description.gravity, (0, 0, -1)),
        ("gravity", np.array([0, 0, -1.0]), lambda r: r.description.gravity, (0, 0, -1)),
        ("simulate.t_end", "1 min", lambda r: r.description.simulate["t_end"], 60.0),
        ("simulate.u.cable", "3 N", lambda r: r.description.simulate["u"]["cable"].level, 3.0),
        ("initial.lid.revolute", "10 deg", lambda r: r.initial_q[-1], np.pi / 18),
        ("initial.arm.bending_y[1]", 0.1, lambda r: r.initial_q[1], 0.1),
        ("links.arm.rod.quadrature", "7", lambda r: r.links[0].rod.divisions[0].n_gauss, 7),
        ("links.arm.rod.section", "{rectangle: {y: 1 cm, z: 3 cm}}",
         lambda r: r.links[0].rod.divisions[0].section.kind, "rectangle"),
        ("links.arm.at.position", [1, 0, 0], lambda r: r.links[0].at[0, 3], 1.0),
        ("name", "on", lambda r: r.name, "on"),
    ],
)  # fmt: skip
def test_a_value_is_set_by_its_path(tmp_path, path, value, look, expected):
    file = write(tmp_path, robot=BASE)
    robot = load(file, set={path: value})
    assert look(robot) == pytest.approx(expected) if not isinstance(expected, str) else look(robot) == expected
    again = load_text(robot.description.text, "run.h5")
    same(robot, again)
    assert look(again) == look(robot)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("links.arm.rod.lenght", "expected a known key, got 'lenght'; did you mean length?"),
        ("links.amr.rod.length", "expected a known key, got 'amr'; did you mean arm?"),
        ("parameters.m", "expected a known key, got 'm'; known: length, n"),
        ("lnks.arm", "expected a known key, got 'lnks'; did you mean links?"),
        ("links.lid.joint.revolute.axis[3]", "expected an index from 0 to 2, got '[3]'"),
        ("links.lid.joint.revolute.axis.x", "expected an index from 0 to 2, got 'x'"),
        ("links.arm.rod.length.x", "expected the path to end before 'x', got '$length'"),
        ("simulate.t_ned", "expected a known key, got 't_ned'; did you mean t_end?"),
    ],
)
def test_a_path_that_leads_nowhere(tmp_path, path, expected):
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, robot=BASE), set={path: 1})
    assert str(caught.value) == f"set {path}: {expected}"


def test_a_wrong_value_that_was_set_says_so(tmp_path):
    with pytest.raises(FileError) as caught:
        load(write(tmp_path, robot=BASE), set={"links.arm.rod.length": "40 kg"})
    assert str(caught.value) == (
        "set: links.arm.rod.length: expected a length greater than 0, such as 3 cm, got '40 kg', a mass"
    )
    for wrong in ({"": 1}, {3: 1}, [1]):
        with pytest.raises(InputError):
            load(write(tmp_path, robot=BASE), set=wrong)
    with pytest.raises(ModelError):
        load(write(tmp_path, robot=BASE), set={"name": object()})


def test_values_of_included_files_and_of_dicts_are_set(tmp_path):
    file = write(tmp_path, robot="sorosim: 1\ninclude: common.yaml\n" + ARM, common=RUBBER)
    assert load(file, set={"materials.rubber.young": "2 MPa"}).links[0].rod.divisions[0].material.young == 2e6
    data = {"sorosim": 1, "links": {"arm": {"body": {"mass": "$m", "inertia": [1, 1, 1]}}}, "parameters": {"m": 1}}
    robot = load(data, set={"parameters.m": 3})
    assert robot.links[0].body.mass == 3
    assert load_text(robot.description.text, "run.h5").links[0].body.mass == 3
    with pytest.raises(ModelError) as caught:
        load(data | {"parameters": {"m": "3 cm"}})
    assert str(caught.value) == (
        "links.arm.body.mass ($m): expected a mass greater than 0, such as 200 g, got '3 cm', a length"
    )


# -- traps of the format


@pytest.mark.parametrize(
    ("written", "mass"),
    [
        ("1e5", 1e5), ("1e-3", 1e-3), ("010", 10.0), ("0x10", 16.0), (".5", 0.5), ("1e-3 kg", 1e-3), ("010 kg", 10.0),
        ("2e2 g", 0.2), ("1.5e+1", 15.0), ("'3'", 3.0), ("3e0*2", 6.0), ("1 kg + 500 g", 1.5), ("2*(1 kg)", 2.0),
    ],
)  # fmt: skip
def test_numbers_are_read_as_a_person_would(written, mass):
    text = f"sorosim: 1\nlinks: {{on: {{body: {{mass: {written}, inertia: [1, 1, 1]}}}}, off: {{parent: on}}}}\n"
    robot = load_text(text, "robot.yaml")
    assert robot.links[0].body.mass == pytest.approx(mass)
    assert [link.name for link in robot.links] == ["on", "off"]


@pytest.mark.parametrize(
    "written", ["12:30", "on", "off", "yes", "no", "1_000", "2024-01-31", "true", "''", "3,5", "~"]
)
def test_what_is_no_number_for_a_person_is_none_here(written):
    text = f"sorosim: 1\nlinks: {{arm: {{body: {{mass: {written}, inertia: [1, 1, 1]}}}}}}\n"
    assert message(text).startswith("robot.yaml:2:")


def test_independent_mistakes_of_all_kinds_are_one_report():
    text = changed(
        HAND,
        ("name: hand", "name: 3"),
        ("1 MPa", "1 m"),
        ("[0, 0, 0.01]", "[0, 0, 1 m]"),
        ("parent: palm, at", "parent: plam, at"),
        ("mass: 200 g", "mass: 200 m"),
    )
    assert [line.split(": expected")[0] for line in message(text).splitlines()] == [
        "robot.yaml:2:7: name",
        "robot.yaml:3:29: materials.rubber.young",
        "robot.yaml:20:52: prefabs.finger.loads.touch.wrench.force[2] (as part 'thumb' and 20 more)",
        "robot.yaml:23:18: links.palm.body.mass",
        "robot.yaml:25:35: parts.thumb.parent (as part 'thumb')",
    ]


@pytest.mark.parametrize(
    "text", ["root:x:0:0\ndaemon:x:1\n", "secret: [1,\n", "!secret x\n", "a: &secret 1\nb: *secreu\n"]
)
def test_no_message_quotes_an_included_file_that_is_none_of_a_robot(text, tmp_path):
    (tmp_path / "other.txt").write_text(text)
    (tmp_path / "robot.yaml").write_text("sorosim: 1\ninclude: [other.txt]\n")
    with pytest.raises(FileError, match=r"expected blocks of a robot: .*; got another kind of file$") as caught:
        load(tmp_path / "robot.yaml")
    assert "root" not in caught.value.message
    assert "secre" not in caught.value.message


@pytest.mark.parametrize(
    "text", ["# a robot\n\n  links: {}\n", '{"links": {}}', '{\n  "links": {}\n}\n', "---\n'links': {}\n"]
)
def test_blocks_of_a_robot_are_included_however_they_are_written(text, tmp_path):
    (tmp_path / "other.yaml").write_text(text)
    (tmp_path / "robot.yaml").write_text("sorosim: 1\ninclude: [other.yaml]\nlinks: {a: {joint: fixed}}\n")
    assert [link.name for link in load(tmp_path / "robot.yaml").links] == ["a"]


def test_an_override_makes_a_whole_part_in_a_block_that_the_file_does_not_have():
    body = {"mass": 1, "inertia": [1, 1, 1]}
    pendulum = {"sorosim": 1, "links": {"a": {"joint": {"revolute": {"axis": [0, 1, 0]}}, "body": body}}}
    push = {"wrench": {"link": "a", "force": [1, 0, 0]}}
    robot = load(pendulum, set={"loads.push": push})
    assert list(robot.description.loads) == ["push"]
    with pytest.raises(InputError, match=r"loads.push: \{...\}"):
        load(pendulum, set={"loads.push.wrench.force": [1, 0, 0]})
