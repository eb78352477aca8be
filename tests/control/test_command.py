"""The command `sorosim optimise` and its task files."""

import json
import re

import pytest
from jsonschema import Draft202012Validator

import sorosim
from sorosim.base.errors import FileError
from sorosim.files.yaml_reader import read_text
from sorosim.studies.control.task import TaskFile, read_task, task_schema

TASK = """sorosim_task: 1
horizon: 0.2 s
dt: 20 ms
substeps: 2
goal: {pole: 180 deg}
q0: {pole: 170 deg}
u_bounds: {motor: [-50 N, 50 N]}
u0: {motor: 1 N*sin(4*t)}
iterations: 20
cost:
  goal: {q: 1, qd: {pole: 0.1}}
  final: {q: 10, qd: 1}
  effort: {motor: 1e-4}
  places: [{place: [pole, 0.5], position: [5 cm*sin(t), 0, 40 cm], weight: 1}]
  obstacles: [{places: [pole], centre: [1 m, 0, 0], radius: 10 cm, clearance: 5 cm}]
"""


def task(tmp_path, text=TASK):
    path = tmp_path / "task.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_command_writes_a_result_that_other_commands_know(call, tmp_path):
    out = tmp_path / "oc.h5"
    code, printed, _ = call("optimise", "swing_up_cart_pole", str(task(tmp_path)), "--out", str(out))
    assert code == 0
    assert "10 steps of 0.02 s" in printed
    assert call("info", str(out))[0] == 0
    content = json.loads(call("info", str(out), "--json")[1])
    assert content["largest_inputs"]["motor"] <= 50.0
    code, printed, _ = call("plot", str(out), "--out", str(tmp_path))
    assert (tmp_path / "oc.png").stat().st_size > 10_000
    assert call("export", str(out), "--out", str(tmp_path / "oc.csv"))[0] == 0
    assert (tmp_path / "oc.csv").read_text().startswith("t,")


def test_task_files_say_what_python_does(tmp_path):
    robot = sorosim.load("swing_up_cart_pole")
    spec = read_task(task(tmp_path))
    oc = spec.solve(robot)
    same = sorosim.optimal_control(
        robot, 0.2, 0.02,
        {
            "goal": {"q": 1, "qd": {"pole": 0.1}}, "final": {"q": 10, "qd": 1}, "effort": 1e-4,
            "places": [{"place": ("pole", 0.5), "position": ["5 cm*sin(t)", 0, 0.4], "weight": 1}],
            "obstacles": [{"places": ["pole"], "centre": [1, 0, 0], "radius": 0.1, "clearance": 0.05}],
        },
        {"motor": (-50, 50)}, q0={"pole": "170 deg"}, goal={"pole": "180 deg"}, u0={"motor": "sin(4*t)"},
        substeps=2, iterations=20,
    )  # fmt: skip
    assert oc.cost == same.cost
    assert set(TaskFile.declaration()) >= {"horizon", "dt", "solver", "cost", "goal"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("sorosim_task: 1", "sorosim_task: 2", "task.yaml:1:15: sorosim_task: expected 1"),
        ("sorosim_task: 1", "sorosim: 1", "expected a task.*a robot's file"),
        ("horizon: 0.2 s", "horizon: 0.2 m", "task.yaml:2:10: horizon: expected a time"),
        ("qd: 1}", "qdd: 1}", "task.yaml:12:18: cost.final.qdd: expected a known key"),
        ("weight: 1}", "weigth: 1}", "a known key.*weight"),
        ("radius: 10 cm", "radius: -10 cm", "task.yaml:15.*radius: expected"),
        ("  final: {q: 10, qd: 1}\n", "", ""),
        ("horizon: 0.2 s\n", "", "task.yaml:1:1: expected the key 'horizon', got nothing; for instance horizon: 3 s"),
        ("cost:\n", "costs:\n", "task.yaml:10:1: costs: expected a known key.*cost"),
    ],
)
def test_mistakes_have_a_place(tmp_path, old, new, words):
    path = task(tmp_path, TASK.replace(old, new))
    if not words:
        assert read_task(path).spec.cost.final is None
        return
    with pytest.raises(FileError, match=words):
        read_task(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("dt: 20 ms", "dt: 30 ms", "task.yaml:2:10: horizon: expected a multiple of dt, 0.03 s"),
        ("goal: {pole: 180 deg}", "goal: {poel: 180 deg}", "task.yaml:5:7: goal: .*'poel'; did you mean pole?"),
        ("q0: {pole: 170 deg}", "q0: {pole: 170 mm}", "task.yaml:6:12: q0.pole: expected an angle.*'170 mm', a length"),
        ("[-50 N, 50 N]", "[50 N, -50 N]", "task.yaml:7:19: u_bounds.motor: expected a low bound"),
        ("u0: {motor: 1 N*sin(4*t)}", "u0: {motor: 1 N*sin(x)}", "task.yaml:8:13: u0.motor: expected a variable"),
        ("effort: {motor: 1e-4}", "effort: {moter: 1e-4}", "task.yaml:13:11: cost.effort: .*did you mean motor?"),
        ("[pole, 0.5]", "[pol, 0.5]", "task.yaml:14:11: cost.places: expected the name of a link, got 'pol'"),
    ],
)
def test_what_does_not_fit_the_robot_has_a_place_too(call, tmp_path, old, new, words):
    code, _, said = call("optimise", "swing_up_cart_pole", str(task(tmp_path, TASK.replace(old, new))))
    assert code == 2
    assert re.search(words, said)
    assert said.count("\n") == 1


def test_schema_takes_right_tasks_and_the_example_of_every_key(call):
    schema = task_schema()
    Draft202012Validator.check_schema(schema)
    validator, data = Draft202012Validator(schema), read_text(TASK, "task").data
    assert not list(validator.iter_errors(data))
    assert list(validator.iter_errors({**data, "horizn": "1 s"}))
    assert list(validator.iter_errors({**data, "cost": {"finale": {"q": 1}}}))
    for key, block in schema["properties"].items():
        assert not list(validator.iter_errors({**data, key: block["examples"][0]})), key
    for key, block in schema["$defs"]["Cost"]["properties"].items():
        for example in block.get("examples", []):
            assert not list(validator.iter_errors({**data, "cost": {key: example}})), key
    assert json.loads(call("schema", "--task")[1]) == schema
    assert call("schema", "--task", "--sweep")[0] != 0
