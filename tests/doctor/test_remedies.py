"""Remedies, followed word for word, mend what they were reported for."""

import re

import pytest

from sorosim.files import load_text
from sorosim.files.edit import set_value
from sorosim.studies.doctor import ODD, examine
from sorosim.view.interactive.editor import value_of
from tests.doctor.test_planted import load

NUMBER = r"[-+]?\d[\d.]*(?:e[-+]?\d+)?"
SOFT_STRETCH = {
    "gravity": [9.81, 0, 0],
    "materials.rubber.young": "15 kPa",
    "links.arm.rod.strain": {"bending": 4},
}
CONE = {
    "links.arm.rod.section": {"circle": {"radius": "1 cm*exp(-1.5*s) + 3 mm"}},
    "links.arm.rod.strain": {"bending": 2},
    "links.arm.rod.quadrature": 3,
    "actuators.up.tendon.z": "r/2",
    "actuators.side.tendon.y": "r/2",
}
# robot, mistake, where it is reported, words of it, how the number of the remedy is written into the file
FOLLOWED = {
    "young": (
        "arm",
        {"materials.rubber.young": "20 kPa"},
        ("links.arm.rod", "under weight and loads"),
        "materials.rubber.young",
    ),
    "joint spring": (
        "arm",
        {"links.hand.joint.revolute.stiffness": "1e-5 N*m/rad"},
        ("links.hand.joint", "give way"),
        "links.hand.joint.revolute.stiffness",
    ),
    "stops": (
        "arm",
        {"links.hand.joint.revolute.limits.stiffness": "1e-3 N*m/rad"},
        ("links.hand.joint.limits", "press"),
        "links.hand.joint.revolute.limits.stiffness",
    ),
    "order": ("arm", {"links.arm.rod.strain": {"bending": 0}}, ("links.arm", "length"), "links.arm.rod.strain.bending"),
    "outputs": ("arm", {"simulate.dt_out": "2 s"}, ("simulate.dt_out", "slowest"), "simulate.dt_out"),
    "fast signal": (
        "arm",
        {"simulate.u.up": "0.5*(1-cos(2*pi*90*t))"},
        ("simulate.u.up", "faster"),
        "simulate.dt_out",
    ),
    "step": (
        "arm",
        {"simulate.step": "0.5 s", "simulate.method": "newmark"},
        ("simulate.step", "steps"),
        "simulate.step",
    ),
    "input": ("arm", {"statics.u.up": "0.5 kN"}, ("actuators.up", "would strain"), "statics.u.up"),
    "quadrature": ("arm", CONE, ("links.arm.rod.quadrature", "compliance"), "links.arm.rod.quadrature"),
    "winding": (
        "arm",
        {"actuators.up.tendon": {"rod": "arm", "y": "5 mm*cos(2*pi*5*s)", "z": "5 mm*sin(2*pi*5*s)"}},
        ("actuators.up", "faster along"),
        "links.arm.rod.quadrature",
    ),
    "servo": (
        "rigid arm",
        {"actuators.s2.servo.stiffness": "0.2 N*m/rad"},
        ("actuators.s2", "gives way"),
        "actuators.s2.servo.stiffness",
    ),
    "drifting servo": (
        "rigid arm",
        {"actuators.s2": {"velocity": {"link": "upper", "gain": "5 N*m*s/rad"}}},
        ("actuators.s2", "drive it by"),
        "actuators.s2.velocity.gain",
    ),
    "slow servo": (
        "rigid arm",
        {"actuators.m1": {"velocity": {"link": "base", "gain": "1 N*mm*s/rad"}}},
        ("actuators.m1", "come to its rate"),
        "actuators.m1.velocity.gain",
    ),
    "contact stiffness": (
        "blocks",
        {"loads.floor.contact.stiffness": 1.0},
        ("loads.floor", "deep under"),
        "loads.floor.contact.stiffness",
    ),
    "contact damping": (
        "blocks",
        {"loads.floor.contact.damping": 5000},
        ("loads.floor", "times as hard"),
        "loads.floor.contact.damping",
    ),
    "slip speed": (
        "blocks",
        {"loads.floor.contact.slip_speed": "5 m/s"},
        ("loads.floor", "friction sets in"),
        "loads.floor.contact.slip_speed",
    ),
    "density of water": (
        "swimmer",
        {"loads.water.fluid.density": 1.0},
        ("loads.water", "density 1 "),
        "loads.water.fluid.density",
    ),
    "pull": ("bellow", {"simulate.u.cord": 4}, ("actuators.cord", "wound up"), "simulate.u.cord"),
    "sensor": (
        "arm",
        {"sensors.a": {"imu": {"link": "hand"}, "rate": "5 MHz"}},
        ("sensors.a", "rate"),
        "sensors.a.rate",
    ),
}


def reported(robot, changes, where, words):
    return [f for f in examine(load(robot, changes)) if f.where == where and words in f.what and f.level not in ("ok",)]


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_number_of_a_remedy_mends(name):
    robot, mistake, at, path = FOLLOWED[name]
    (finding,) = reported(robot, mistake, *at)
    number = float(re.search(NUMBER, finding.remedy.replace("matters most", "")).group())
    value = int(number) if path.endswith(("quadrature", "bending")) else number
    assert [f for f in reported(robot, {**mistake, path: value}, *at) if f.level == ODD] == []


def test_a_strain_is_freed_as_the_remedy_writes_it():
    (finding,) = reported("arm", SOFT_STRETCH, "links.arm.rod.strain", "elongation is locked")
    assert "{elongation: 0}" in finding.remedy
    assert reported("arm", {**SOFT_STRETCH, "links.arm.rod.strain.elongation": 0}, finding.where, "elongation") == []


def test_damping_by_the_factor_of_the_remedy_rings_as_long_as_it_says():
    little = {"materials.rubber.damping": 1e-3, "links.hand.joint.revolute.damping": 0}
    (finding,) = reported("arm", little, "damping", "rings")
    factor = float(re.search(NUMBER, finding.remedy).group())
    better = load("arm", {**little, "materials.rubber.damping": 1e-3 * factor})
    from sorosim.studies.doctor.context import CheckContext

    slowest = next(mode for mode in CheckContext(better).oscillations if mode.of_rods > 0.5)
    assert slowest.damping_ratio == pytest.approx(0.01, rel=0.1)


UNITS = {
    "modulus": ("arm", {"materials.rubber.young": 1.0}, ("material of links.arm.rod", "Young's modulus 1 Pa")),
    "density": ("arm", {"materials.rubber.density": 1.1}, ("material of links.arm.rod", "density 1.1 ")),
    "locked": ("arm", SOFT_STRETCH, ("links.arm.rod.strain", "elongation is locked")),
}
IN_WORDS = ("young", "input", "winding", "pull")  # more than one change may follow


@pytest.mark.parametrize("name", [*UNITS, *(name for name in FOLLOWED if name not in IN_WORDS)])
def test_the_change_of_a_finding_mends_the_text(name):
    robot, mistake, (where, words), *_ = {**FOLLOWED, **UNITS}[name]
    text = load(robot, mistake).description.document.text

    def found(text):
        made = load_text(text, "robot.yaml")
        return made, [f for f in examine(made) if f.where == where and words in f.what and f.level != "ok"]

    made, (finding,) = found(text)
    path, value = finding.change
    edit = set_value(text, made.description.document.written(path), value_of(value))
    assert len(edit.changes) == 1
    assert found(edit.applied(text))[1] == []


def test_a_change_of_what_another_file_says_is_none_of_the_text():
    made = load("arm", {"simulate.dt_out": "2 s"})  # as set
    (finding,) = [one for one in examine(made) if one.where == "simulate.dt_out"]
    assert made.description.document.written(finding.change[0]) is None
    assert made.description.document.written("links.arm.rod.*") is None


def test_the_change_of_a_number_that_is_a_parameter_changes_the_parameter():
    text = load("arm", {"materials.rubber.density": 1.1}).description.document.text
    given = text.replace('"density": 1.1', '"density": $light').replace(
        ' "links":', ' "parameters": {"light": $rho, "rho": 1.1 kg/m^3},\n "links":'
    )
    assert given.count("$light") == 1
    made = load_text(given, "robot.yaml")
    (finding,) = [one for one in examine(made) if "density 1.1 " in one.what]
    path, value = finding.change
    at = made.description.document.written(path)
    assert at == ("parameters", "rho")
    better = set_value(given, at, value_of(value)).applied(given)
    assert '"density": $light' in better
    assert [one for one in examine(load_text(better, "robot.yaml")) if "density 1.1 " in one.what] == []


def test_a_number_that_each_part_of_a_prefab_says_has_no_change():
    text = """\
sorosim: 1
name: arms
materials:
  rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 1 kPa*s}
prefabs:
  arm:
    parameters: {points: 5}
    links:
      rod:
        rod:
          length: 30 cm
          section: {circle: {radius: 1 cm}}
          material: rubber
          quadrature: $points
          strain: {bending: 3}
parts: {left: {prefab: arm}}
"""
    made = load_text(text, "robot.yaml")
    assert made.description.document.written("links.left_rod.rod.quadrature") is None
    assert made.description.document.written("links.left_rod.rod.length") == (
        "prefabs",
        "arm",
        "links",
        "rod",
        "rod",
        "length",
    )
