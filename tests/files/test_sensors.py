"""Sensors of files: every kind, in every way to say where; of parts; there and back."""

from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.registry import SENSORS
from sorosim.files import dump, load_text
from sorosim.mechanics.sensors.kinds import (
    Imu,
    JointWrenchSensor,
    LoadSensor,
    LoopWrenchSensor,
    StrainSensor,
    TendonSensor,
)

TEXT = (Path(__file__).parent / "sensors.yaml").read_text("utf-8")


def test_sensors_are_read_with_their_units():
    robot = load_text(TEXT, "sensors.yaml")
    found = robot.description.sensors
    assert {sensor.kind for sensor in found.values()} == set(SENSORS.declared())
    gauge, tip, marker, spin, shake = (found[name] for name in ("gauge", "tip", "marker", "spin", "shake"))
    assert isinstance(gauge, StrainSensor)
    assert (gauge.link, gauge.s, gauge.rate, gauge.noise) == ("arm", 0.3, 1000.0, (1e-3, 1e-3, 1e-3, 0, 0, 0))
    assert isinstance(tip, Imu)
    assert (tip.s, tip.rate, tip.noise, tip.bias, tip.seed) == (0.9, 200.0, 0.01, 0.1, 4)
    assert_allclose(tip.at[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert marker.noise == (1e-3,) * 3 + (np.pi / 180,) * 3
    assert (marker.frame, spin.frame, shake.s) == ("top", "top", 0.5)
    assert_array_equal(spin.at[:3, 3], [0.01, 0, 0])
    assert_array_equal(shake.at[:3, 3], [0, 0.01, 0])
    assert found["pier"].noise == (1e-3,) * 6
    assert (found["bend"].noise, found["bend"].origin.s) == (np.pi / 180, 0.1)
    assert found["hub"].noise == (0.1 * np.pi / 180, 1.0)
    assert (found["press"].link, found["press"].other, found["middle"].link) == ("lid", "world", "world")


def test_sensors_of_parts_look_at_what_is_in_the_part():
    robot = load_text(TEXT, "sensors.yaml")
    found = robot.description.sensors
    for part in ("hand1", "hand2"):
        gauge, cord, root, touch = (found[f"{part}_{name}"] for name in ("gauge", "cord", "root", "touch"))
        assert isinstance(gauge, StrainSensor)
        assert gauge.link == f"{part}_bone"
        assert isinstance(cord, TendonSensor)
        assert cord.tendon == f"{part}_pull"
        assert isinstance(root, JointWrenchSensor)
        assert root.link == f"{part}_bone"
        assert isinstance(touch, LoadSensor)
        assert (touch.load, touch.rate) == (f"{part}_poke", 50.0)
    assert found["cord"].tendon == "cable"


def test_a_loop_of_a_part_is_what_its_sensor_looks_at():
    text = """
sorosim: 1
prefabs:
  ring:
    links:
      bar: {joint: {revolute: {axis: [0, 1, 0]}}, body: {mass: 1, inertia: [1, 1, 1]}}
    loops:
      hook: {joint: fixed, from: bar, to: {at: {as_built: true}}}
    sensors:
      pull: {loop_wrench: hook}
parts: {a: {prefab: ring}}
"""
    sensor = load_text(text, "ring.yaml").description.sensors["a_pull"]
    assert isinstance(sensor, LoopWrenchSensor)
    assert sensor.loop == "a_hook"


def test_sensors_come_back_as_they_were():
    robot = load_text(TEXT, "sensors.yaml")
    again = load_text(dump(robot), "dump.yaml")
    assert list(again.description.sensors) == list(robot.description.sensors)
    for name, sensor in robot.description.sensors.items():
        assert repr(again.description.sensors[name]) == repr(sensor)
    q = 0.1 * np.arange(robot.ndof)
    for name, reading in robot.measure(q).items():
        assert_allclose(again.measure(q)[name], reading, rtol=1e-9, atol=1e-9)


def test_sensors_may_be_included_and_set(tmp_path):
    (tmp_path / "common.yaml").write_text("sensors: {base: {joint_wrench: arm}}\n")
    text = TEXT.replace("name: sensors\n", "name: sensors\ninclude: common.yaml\n")
    (tmp_path / "robot.yaml").write_text(text)
    robot = sorosim.load(tmp_path / "robot.yaml", set={"sensors.tip.rate": "50 Hz"})
    assert "base" in robot.sensor_names
    assert robot.description.sensors["tip"].rate == 50.0
    assert load_text(robot.description.text, "text").sensor_names == robot.sensor_names
