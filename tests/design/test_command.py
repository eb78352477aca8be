"""The command `sorosim design` and its files."""

import json
import re

import pytest
from jsonschema import Draft202012Validator

import sorosim
from sorosim.base.errors import FileError
from sorosim.files.yaml_reader import read_text
from sorosim.studies.design.task import DesignFile, design_schema, read_design

ROBOT = """sorosim: 1
name: finger
materials:
  silicone: {young: 2 MPa, poisson: 0.5, density: 1070 kg/m^3}
links:
  finger:
    rod: {length: 8 cm, section: {circle: {radius: 6 mm}}, material: silicone, strain: {bending: 2, elongation: 0}}
actuators:
  tendon: {tendon: {rod: finger, y: 0, z: 3 mm}}
statics: {u: {tendon: 2 N}}
"""
TASK = """sorosim_design: 1
cases:
  low: {robot: finger.yaml}
  high: {robot: finger.yaml, set: {gravity: [0, 0, 0]}, u: {tendon: 8 N}}
free:
  radius: links.finger.rod.section.circle.radius
  pull: low.u.tendon
bounds: {radius: [5 mm, 9 mm], pull: [0 N, 8 N]}
define:
  off: {distance: finger, to: [75 mm, 0, 10 mm]}
minimise: low.off
subject_to: {low.mass: [null, 11 g], high.finger.z: [1 cm, null]}
max_evaluations: 100
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "finger.yaml").write_text(ROBOT, encoding="utf-8")

    def written(text=TASK):
        path = tmp_path / "task.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def test_command_writes_a_result_that_other_commands_know(call, file, tmp_path):
    out, picture = tmp_path / "best.h5", tmp_path / "best.png"
    code, printed, _ = call("design", str(file()), "--out", str(out), "--plot", str(picture))
    assert code == 0
    assert "least low.off" in printed
    assert picture.stat().st_size > 10_000
    content = json.loads(call("info", str(out), "--json")[1])
    assert content["converged"]
    assert content["values"]["pull"] <= 8.0
    assert "least low.off" in call("info", str(out))[1]
    assert call("plot", str(out), "--out", str(tmp_path / "plots"))[0] == 0
    assert json.loads(call("design", str(file()), "--json")[1])["values"] == pytest.approx(content["values"])


def test_files_say_what_python_does(file, tmp_path):
    spec = read_design(file())
    found = spec.solve(spec.cases())
    robot = sorosim.load(tmp_path / "finger.yaml")
    high = sorosim.load(tmp_path / "finger.yaml", set={"gravity": [0, 0, 0]})
    same = sorosim.design(
        {"low": robot, "high": {"robot": high, "u": {"tendon": 8.0}}},
        {"radius": "links.finger.rod.section.circle.radius", "pull": "low.u.tendon"}, "low.off",
        {"low.mass": (None, 0.011), "high.finger.z": (0.01, None)}, {"radius": (5e-3, 9e-3), "pull": (0, 8)},
        define={"off": {"distance": "finger", "to": [0.075, 0, 0.01]}}, max_evaluations=100,
    )  # fmt: skip
    assert found.values == same.values
    assert found.objective == same.objective


def test_constraints_that_nothing_meets_leave_the_nearest_design(call, file, tmp_path):
    out = tmp_path / "best.h5"
    code, _, said = call("design", str(file(TASK.replace("11 g", "1 g"))), "--out", str(out))
    assert code == 1
    assert "low.mass by" in said
    assert sorosim.open(out).violation["low.mass"] > 1e-3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sorosim_design: 1", "sorosim_sweep: 1", "expected a design, whose first line is 'sorosim_design: 1'"),
        ("minimise: low.off", "minimise: low.of", "task.yaml:11:11: minimise: .*did you mean off"),
        ("pull: low.u.tendon", "pull: low.u.tendn", "task.yaml:7:9: free.pull: .*did you mean tendon"),
        ("[5 mm, 9 mm]", "[9 mm, 5 mm]", "bounds.radius: expected a lower bound below"),
        ("distance: finger", "distanc: finger", "did you mean distance"),
        (
            "{distance: finger, to: [75 mm, 0, 10 mm]}",
            "{max: finger.z}",
            "a case with the key `simulate` is one",
        ),
        ("max_evaluations: 100", "max_evaluation: 100", "did you mean max_evaluations"),
        ("robot: finger.yaml}", "robot: fingr.yaml}", "fingr.yaml"),
    ],
)
def test_mistakes_are_found_at_their_places(call, file, old, new, message):
    code, _, said = call("design", str(file(TASK.replace(old, new, 1))))
    assert code == 2
    assert re.search(message, said), said


def test_schema_takes_right_files_and_the_example_of_every_key(call, file):
    schema = design_schema()
    Draft202012Validator.check_schema(schema)
    validator, data = Draft202012Validator(schema), read_text(TASK, "task").data
    assert not list(validator.iter_errors(data))
    assert list(validator.iter_errors({**data, "minimize": "low.mass"}))
    assert set(DesignFile.declaration()) == set(schema["properties"])
    for key, block in schema["properties"].items():
        assert not list(validator.iter_errors({**data, key: block["examples"][0]})), key
    assert json.loads(call("schema", "--design")[1]) == schema
    assert call("schema", "--design", "--sweep")[0] != 0
    with pytest.raises(FileError, match="minimize"):
        read_design(file(TASK.replace("minimise:", "minimize:")))
