"""Robots with other values of their files: what is taken from the robot before, and what is made anew."""

import numpy as np
import pytest

import sorosim
from sorosim.analysis.sensitivity import scalars_of
from sorosim.base.complex_step import varying
from sorosim.base.errors import FileError, InputError
from sorosim.files import bundled_robots, load_text


def arrays(robot):
    engine = robot.engine
    laws = engine.loading.packed.laws
    found = (
        *engine.tree,
        *engine.elastic[:3],
        *engine.elastic.laws,
        *engine.rod_actuators,
        *engine.loops,
        laws.row,
        laws.value,
    )
    start = robot.initial_q, robot.initial_qd
    return [np.asarray(array) for array in (*found, laws.frame, engine.gravity, *start) if hasattr(array, "dtype")]


def assert_same(one, two):
    assert one.coordinate_names == two.coordinate_names
    assert one.actuator_units == two.actuator_units
    pairs = list(zip(arrays(one), arrays(two), strict=True))
    assert all(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.names is None) for a, b in pairs)


def made(make, *arguments, **options):
    """A robot, and what is wrong without the places in the file."""
    try:
        return make(*arguments, **options), ""
    except FileError as error:
        return None, str(error).splitlines()[0].partition(": ")[2]


def some_scalars(robot):
    """A number of each block and key, changed by 1 %, or by a hundredth of its unit where it is zero."""
    chosen = {}
    for name, value in sorosim.scalars(robot).items():
        key = tuple(part.rstrip("]0123456789[") for part in name.split(".")[::2])
        chosen.setdefault(key, (name, 1.01 * value or 0.01))
    return dict(list(chosen.values())[:12])


# large ones, which are read some twenty times, with parts that smaller ones have as well
LARGE = {
    "gripper_100", "continuum_stewart", "finray_grasp", "tree_of_rods", "soft_gripper_parallel", "underwater_vehicle",
    "ur5_with_soft_gripper", "stewart_soft", "polypeptide", "net", "rope_pile", "fin_ray", "rod_pile",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in bundled_robots()]
)
def test_values_are_those_of_the_file_to_the_last_bit(name):
    robot = sorosim.load(name)
    for path, value in some_scalars(robot).items():
        settings = {path: value}
        (wanted, error), (changed, other) = made(sorosim.load, name, set=settings), made(robot.with_values, settings)
        assert error == other
        if wanted is None:  # such as a joint limit beyond its other end
            continue
        assert_same(changed, wanted)
        assert changed.name == wanted.name == robot.name
        assert_same(load_text(changed.description.text, "robot.yaml"), wanted)
        assert_same(changed.with_values({path: value / 1.01}), sorosim.load(name, set={path: value / 1.01}))


def test_materials_change_no_arrays_of_actuators():
    robot = sorosim.load("cable_manipulator")
    softer = robot.with_values({"materials.silicone.young": "0.5 MPa"})
    assert softer.engine.rod_actuators.value is robot.engine.rod_actuators.value
    assert softer.engine.elastic.stiffness == pytest.approx(0.5 * robot.engine.elastic.stiffness, rel=1e-14)
    assert (
        robot.engine.rod_actuators.value
        is not robot.with_values({"links.arm.rod.length": 0.6}).engine.rod_actuators.value
    )
    with varying():
        other = robot.with_values({"gravity": [0, 0, -1]})
    assert other.engine.rod_actuators.value.dtype == complex
    assert other.with_values({"gravity": [0, 0, -2]}).engine.rod_actuators.value.dtype == float


def test_parts_that_rest_on_others_follow_them():
    text = """
sorosim: 1
parameters: {width: 2 cm}
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000}, steel: {young: 2 GPa, poisson: 0.3, density: 7800}}
links:
  base: {body: {mass: 1, inertia: [1, 1, 1]}, frames: {socket: {position: [0, 0, 1]}}}
  arm:
    parent: base
    at: {frame: socket}
    rod: {length: 30 cm, section: {circle: {radius: $width}}, material: rubber, strain: {bending: 1}}
  tool: {parent: arm, joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 0.1, inertia: [1, 1, 1]}}
actuators: {cable: {tendon: {rod: arm, y: 1 cm, z: 0}}, motor: {joint: {link: tool}}}
loads: {push: {wrench: {link: base, at: {frame: socket}, force: [1, 0, 0]}}}
initial: {tool.revolute: 10 deg}
statics: {u: {cable: 3 N, motor: 1 N*m}}
"""
    robot = load_text(text, "robot.yaml")
    for settings in (
        {"links.base.frames.socket.position[2]": 2}, {"parameters.width": 0.03}, {"links.arm.rod.material": "steel"},
        {"materials.rubber.young": 2e6}, {"initial.tool.revolute": 0.5}, {"statics.u.cable": "4 N"},
        {"links.tool.joint": {"revolute": {"axis": [0, 1, 0]}}}, {"actuators.cable.tendon.y": "5 mm"},
    ):  # fmt: skip
        assert_same(robot.with_values(settings), load_text(text, "robot.yaml", set=settings))
    assert robot.with_values({"statics.u.cable": "4 N"}).description.statics["u"]["cable"] == 4.0
    sliding = {"links.tool.joint": {"prismatic": {"axis": [0, 1, 0]}}, "initial": {"tool.prismatic": 0.1}}
    assert robot.with_values({**sliding, "statics.u.motor": "1 N"}).actuator_units == ("N", "N")
    with pytest.raises(FileError, match=r"statics.u.motor: expected a force"):
        robot.with_values(sliding)
    with pytest.raises(FileError, match=r"initial.'tool.revolute': expected the name of a coordinate"):
        robot.with_values({"links.tool.joint": {"prismatic": {"axis": [0, 1, 0]}}})
    with pytest.raises(FileError, match=r"actuators.cable.tendon: .* inside"):
        robot.with_values({"parameters.width": "5 mm"})
    with pytest.raises(FileError, match=r"materials.rubber.young: expected"):
        robot.with_values({"materials.rubber.young": -1})
    with pytest.raises(InputError, match=r"set materials.ruber.young: expected a known key"):
        robot.with_values({"materials.ruber.young": 1})


def test_seeded_numbers_are_never_taken_for_plain_ones():
    robot = sorosim.load("cable_manipulator")
    file = scalars_of(robot)
    with varying():
        for name in ("materials.silicone.young", "links.arm.rod.length", "gravity[2]"):
            found = file.varied(name)
            plain = [link for link in found.links if link is robot.links[0]]
            assert len(plain) == (name == "gravity[2]")


def test_robots_of_python_objects_have_values_too():
    robot = sorosim.load("cable_manipulator")
    made = sorosim.Robot(sorosim.Description("arm", robot.links, actuators=robot.description.actuators))
    (material,) = (name for name in sorosim.scalars(made) if name.endswith(".young"))
    softer = made.with_values({material: 5e5})
    assert softer.engine.elastic.stiffness == pytest.approx(0.5 * robot.engine.elastic.stiffness, rel=1e-14)


SCALARS = """sorosim: 1
parameters: {plain: 0.02, twice: 0.1, scale: 2, unused: 3, written: 2 kg, n: 2}
materials: {soft: {young: 1e5, poisson: 0.5, density: 1e3}}
prefabs:
  leg:
    parameters: {thick: 0.01}
    links:
      leg:
        rod: {material: soft, length: 3 cm * $scale, section: {circle: {radius: $thick}}, strain: {bending: 1}}
parts: {front: {prefab: leg, repeat: $n, with: {thick: 0.02}}, back: {prefab: leg}}
links:
  arm:
    joint: {revolute: {axis: [0, 0, 1], stiffness: 2}}
    rod: {material: soft, length: 2*$twice, section: {circle: {radius: $plain}}, strain: {bending: 1}}
"""


@pytest.mark.parametrize(
    ("name", "dimension"),
    [("parameters.plain", "length"), ("parameters.twice", "length"), ("parameters.scale", "number"),
     ("parameters.unused", None), ("parameters.written", "mass"), ("parameters.n", None),
     ("prefabs.leg.parameters.thick", "length"), ("parts.front.with.thick", "length"),
     ("links.arm.joint.revolute.stiffness", "rotary stiffness"), ("materials.soft.density", "density")],
)  # fmt: skip
def test_dimensions_of_scalars_are_those_of_the_keys_they_go_into(name, dimension):
    robot = load_text(SCALARS, "robot")
    assert scalars_of(robot).dimension(name) == dimension
