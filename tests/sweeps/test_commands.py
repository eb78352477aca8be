"""sorosim sweep and its kin on the command line; what is said of mistakes in sweep files; pictures."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import InputError
from sorosim.files import load_text, sweep_schema
from sorosim.files.yaml_reader import read_file
from sorosim.view.viz.sweep_plot import plot_sweep

ARM = """sorosim: 1
name: arm
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 5 kPa*s}}
links:
  turn:
    joint: {revolute: {axis: [0, 1, 0]}}
    body: {mass: 20 g, inertia: [1e-6, 1e-6, 1e-6]}
  arm:
    parent: turn
    rod: {length: 20 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2}}
actuators: {tendon: {tendon: {rod: arm, y: 0, z: 5 mm}}, side: {tendon: {rod: arm, y: 5 mm, z: 0}}}
statics: {driven: {turn: 0}}
"""
SWEEP = """sorosim_sweep: 1
robot: arm.yaml
points:
  grid:
    u.tendon: {from: 0, to: 3 N, n: 4}
    driven.turn: [0, 20 deg]
"""
EXAMPLES = sorted((Path(sorosim.__file__).parents[1] / "examples" / "sweeps").glob("*.yaml"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "arm.yaml").write_text(ARM, encoding="utf-8")
    (tmp_path / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sweep_is_made_looked_at_drawn_and_exported(here, call):
    code, out, err = call("sweep", "sweep.yaml")
    assert (code, err) == (0, "")
    assert "statics at 8 points (4 x 2)" in out
    assert "u.tendon [N], driven.turn [rad]" in out
    assert "8 ok" in out
    sweep = sorosim.open("sweep.h5")
    assert np.array_equal(sweep.q, sorosim.sweep("sweep.yaml").q)
    code, out, err = call("info", "sweep.h5")
    assert (code, err) == (0, "")
    assert "8 ok" in out
    code, out, _ = call("info", "sweep.h5", "--json")
    told = json.loads(out)
    assert (told["points"], told["ok"], told["failed"]) == (8, 8, {})
    assert told["parameters"] == {"u.tendon": "N", "driven.turn": "rad"}
    code, out, _ = call("plot", "sweep.h5", "--out", "pictures", "--y", "moment(turn)")
    assert (code, out) == (0, "pictures/sweep.png\n")
    assert (here / "pictures" / "sweep.png").stat().st_size > 10_000
    for name in ("sweep.csv", "sweep.parquet"):
        code, out, _ = call("export", "sweep.h5", "--out", name)
        assert (code, out) == (0, f"{name}\n")
        assert (here / name).stat().st_size > 500


def test_resume_and_force(here, call):
    assert call("sweep", "sweep.yaml", "--resume")[0] == 0  # nothing to go on with: it begins
    code, out, err = call("sweep", "sweep.yaml")
    assert (code, out) == (2, "")
    assert err == ("error: sweep.h5: expected no file yet, got one; resume it (--resume), replace it (--force), "
                   "or give another name\n")  # fmt: skip
    assert call("sweep", "sweep.yaml", "--force")[0] == 0
    code, out, _ = call("sweep", "sweep.yaml", "--resume", "--json")
    assert (code, json.loads(out)["ok"]) == (0, 8)
    code, _, err = call("sweep", "sweep.yaml", "--resume", "--force")
    assert (code, err) == (2, "error: resume: expected the path `out` of what to go on with, got `force` too\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sweep", "sweep.yaml", "--out", "rest.h5"),
         "rest.h5: expected no file yet, got one; replace it (--force), or give another name"),
        (("movie", "sweep.h5"), "expected a run, an equilibrium or a robot, got a sweep; plot draws it"),
        (("play", "sweep.h5"), "expected a run, an equilibrium or a robot, got a sweep"),
        (("still", "sweep.h5", "--out", "a.png"), "expected a run, an equilibrium or a robot, got a sweep"),
        (("export", "sweep.h5", "--out", "a.mat"), "expected a file name that ends in .csv or .parquet"),
        (("plot", "sweep.h5", "--y", "arm.zz"), "y: expected a column of numbers, got 'arm.zz'; did you mean"),
        (("resume", "sweep.h5"), "expected the file of a run, got that of a sweep; sorosim sweep FILE --resume"),
        (("sweep", "sweep.yaml", "--jobs", "0", "--force"), "jobs: expected a number of processes"),
        (("sweep", "arm.yaml", "--out", "b.h5"), "arm.yaml:1:1: expected a sweep, whose first line is"),
        (("sweep", "nothing.yaml"), "nothing.yaml: cannot be read: No such file or directory"),
        (("sweep", "sweep.yaml", "--out", "sweep.yaml"), "--out: expected a file name that ends in .h5"),
        (("sweep", "sweep.yaml", "--out", "sweep.csv"), "ends in .h5 or .hdf5, got 'sweep.csv'; sorosim export"),
        (("sweep", "sweep.yaml", "--out", "rest.h5", "--resume"),
         "rest.h5: expected the result of a sweep, got another one, kind 'equilibrium'; give another file (--out)"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(here, call, words, message):
    assert call("sweep", "sweep.yaml")[0] == 0
    assert call("statics", "arm.yaml", "--out", "rest.h5")[0] == 0
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_sweep_without_any_result_tells_scripts(here, call):
    """Tendons that pull with 1e8 N; some points that fail are no failure."""
    for values, wanted in (("[1e8, 1e9]", 1), ("[0, 1e9]", 0)):
        (here / "sweep.yaml").write_text(SWEEP.replace("{from: 0, to: 3 N, n: 4}", values), encoding="utf-8")
        code, out, err = call("sweep", "sweep.yaml", "--force", "--json")
        assert (code, err) == (wanted, "")
        assert len(json.loads(out)["failed"]) == 4 - json.loads(out)["ok"] > 0


MISTAKES = [
    ("sorosim_sweep: 1", "sorosim_sweep: 2", "1:16: sorosim_sweep: expected 1, the version of the format of sweeps, "
     "got 2; this file is for a newer sorosim"),
    ("arm.yaml", "arms.yaml", "arms.yaml: expected a file or the name of a bundled robot, got neither"),
    ("u.tendon", "tendon", "5:5: points.grid.tendon: expected u.NAME, driven.NAME or a path in the robot's file, got "
     "'tendon'; try u.tendon"),
    ("u.tendon", "u.tendn", "5:5: points.grid.'u.tendn': expected the name of an actuator, got 'tendn'; did you mean"),
    ("driven.turn", "driven.arm",
     "6:5: points.grid.'driven.arm': expected the name of a link with a joint, or of a coordinate, got 'arm'"),
    ("driven.turn", "links.arms.rod.length",
     "6:5: points.grid.'links.arms.rod.length': expected a known key, got 'arms'; did you mean arm?"),
    ("driven.turn: [0, 20 deg]", "links.arm.rod.length: [20 cm, 3 kg]",
     "6:35: points.grid.'links.arm.rod.length'[1]: expected a length such as 3 cm, got '3 kg', a mass"),
    ("3 N", "3 m", "5:29: points.grid.'u.tendon'.to: expected a force such as 5 N, got '3 m', a length"),
    ("20 deg", "20 dag", "6:22: points.grid.'driven.turn'[1]: expected an angle such as 45 deg, got '20 dag'"),
    ("n: 4", "n: 1", "5:37: points.grid.'u.tendon'.n: expected a whole number from 2 to 1000000, got 1"),
    ("  grid:", "  gird:", "4:3: points.gird: expected {grid: ...}, {random: ...}"),
    ("points:", "task: dynamics\npoints:", "3:7: task: expected statics or simulate, got 'dynamics'"),
    ("points:", "task: simulate\npoints:", "3:7: task: expected the end t_end of the runs, got none"),
    ("points:", "summary: {a: {max: arm.z}}\npoints:", "3:10: summary: expected task: {simulate: ...} beside it"),
    ("points:", "task: {simulate: {t_end: 1}}\nsummary: {a: {max: arm.zz}}\npoints:",
     "4:20: summary.a.max: expected a quantity of a run, got 'arm.zz'; did you mean arm.z"),
    ("points:", "task: {simulate: {t_end: 1}}\nsummary: {a: {top: arm.z}}\npoints:",
     "4:14: summary.a: expected a mapping of one of last, min, max, mean, rms, range, amplitude, rate "
     "to a quantity, got 'top'"),
    ("points:", "task: {simulate: {t_end: 1}}\nsummary: {a: {mean: arm.z, max: arm.z}}\npoints:",
     "to a quantity, got max and mean"),
    ("points:", "task: {simulate: {t_end: 1}}\nsummary: {a: {mean: arm.z, after: 2 s}}\npoints:",
     "4:35: summary.a.after: expected a time before the end of the run, 1 s, got 2 s"),
    ("points:", "task: {simulate: {t_end: 1}}\nsummary: {a: {mean: arm.z, after: 2 N}}\npoints:",
     "4:35: summary.a.after"),
    ("points:", "task: {simulate: {t_end: 1}}\nsummary: {t: {max: arm.z}}\npoints:",
     "4:11: summary.t: expected a name that no other column has, got 't'"),
    ("points:", "task: {simulate: {t_end: 1, q0: [0, 1]}}\npoints:", "task.simulate.q0: expected 7 coordinates, got 2"),
    ("points:", "outputs: [arm, hand]\npoints:", "3:16: outputs[1]: expected the name of a link, got 'hand'"),
    ("points:", "u: {tendon: 1 N}\npoints:", "'u.tendon' after 'u.tendon'"),
    ("points:", "driven: {turn.revolute: 0}\npoints:", "every input, coordinate and value once"),
    ("points:", "start: hot\npoints:", "3:8: start: expected warm, cold or follow, got 'hot'"),
    ("points:", "blok: 3\npoints:", "3:1: blok: expected a known key, got 'blok'; did you mean block?"),
    ("points:", "set: {links.arm.rod.lenght: 3 cm}\npoints:", "set links.arm.rod.lenght: expected a known key"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[new[:40] for _, new, _ in MISTAKES])
def test_mistakes_in_sweep_files_are_found_at_their_places(here, old, new, message):
    (here / "sweep.yaml").write_text(SWEEP.replace(old, new), encoding="utf-8")
    with pytest.raises(sorosim.SorosimError) as caught:
        sorosim.sweep("sweep.yaml", out="sweep.h5")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert not (here / "sweep.h5").exists()
    assert not (here / "sweep.h5.part").exists()


POINTS = [
    ("{list: []}", "expected one point or more, got none"),
    ("{list: [{u.tendon: 1}, {u.side: 1}]}", "points.list[1]: expected the same names in every point, u.tendon"),
    ("{list: [{u.tendon: 1}, {u.tendon: 1 m}]}", "points.list[1].'u.tendon': expected a force such as 5 N"),
    ("{path: {through: {u.tendon: [0]}}}", "expected two corners or more, got 1"),
    ("{path: {through: {u.tendon: [0, 1], u.side: [0, 1, 2]}}}", "expected as many corners as the others, 2, got 3"),
    ("{random: {n: 5, over: {u.tendon: [3, 1]}}}", "expected the least value before the greatest, got 3 and 1"),
    ("{random: {n: 5, over: {u.tendon: 3}}}", "expected two values, [least, greatest], got 3"),
    ("{random: {n: 5, over: {}}}", "points.random.over: expected something that varies, such as u.cable1, got nothing"),
    ("{csv: none.csv}", "points.csv: expected a CSV file, got none.csv: cannot be read"),
    ("{csv: bad.csv}", "points.csv: expected a force such as 5 N, got '3 m', a length in line 3 of 'bad.csv', column"),
    ("{grid: {u.tendon: {from: 0, to: 1, n: 2000}, u.side: {from: 0, to: 1, n: 2000}}}",
     "expected at most 1000000 points, got 4e+06"),
    ("{grid: {u.tendon: [0, t]}}", "points.grid.'u.tendon'[1]: expected a force such as 5 N, got 't'"),
]  # fmt: skip


@pytest.mark.parametrize(("points", "message"), POINTS)
def test_mistakes_in_points(here, points, message):
    (here / "bad.csv").write_text("u.tendon\n1\n3 m\n")
    (here / "sweep.yaml").write_text(f"sorosim_sweep: 1\nrobot: arm.yaml\npoints: {points}\n", encoding="utf-8")
    with pytest.raises(sorosim.FileError) as caught:
        sorosim.sweep("sweep.yaml")
    assert message in str(caught.value)
    assert caught.value.line == 3


def test_arguments_in_python_are_checked_by_the_same_schema(here):
    robot = sorosim.load("arm.yaml")
    grid = {"grid": {"u.tendon": [0, 1]}}
    for given, message in (
        ({}, "points: expected the points of the sweep, got none"),
        ({"points": {"grid": {"u.tendn": [0]}}}, "points.grid.'u.tendn': expected the name of an actuator"),
        ({"points": grid, "task": {"simulate": {"keep_runs": True, "t_end": 1}}}, "out: expected the path"),
        ({"points": grid, "jobs": 1.5}, "jobs: expected a number of processes, or -1 for all processors, got 1.5"),
        ({"points": grid, "resume": True}, "resume: expected the path `out`"),
        ({"points": grid, "start": "hot"}, "start: expected warm, cold or follow"),
    ):
        with pytest.raises(sorosim.SorosimError) as caught:
            sorosim.sweep(robot, **given)
        assert message in str(caught.value)
    with pytest.raises(sorosim.InputError, match="either a sweep file or a Robot with points"):
        sorosim.sweep("sweep.yaml", grid)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_valid_by_the_json_schema(example):
    schema = sweep_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    data = read_file(example).data
    assert not list(validator.iter_errors(data))
    assert list(validator.iter_errors({**data, "pionts": 1}))


def test_every_key_has_a_meaning_and_an_example_that_is_right():
    """The example of each key of the file, in a file."""
    schema = sweep_schema()
    validator = Draft202012Validator(schema)
    whole = {"sorosim_sweep": 1, "robot": "arm.yaml", "points": {"grid": {"u.tendon": [0]}}}
    for key, block in schema["properties"].items():
        assert block["description"]
        assert not list(validator.iter_errors({**whole, key: block["examples"][0]})), key
    for key, block in schema["$defs"]["SweptPoints"]["properties"].items():
        assert not list(validator.iter_errors({**whole, "points": {key: block["examples"][0]}})), key


@pytest.mark.parametrize(
    ("points", "panels"),
    [
        ({"grid": {"u.tendon": {"from": 0, "to": 3, "n": 5}}}, 2),  # it moves in a plane: x and z
        ({"grid": {"u.tendon": [0, 1, 3], "u.side": [0, 1]}}, 3 + 3),  # maps and their scales
        ({"grid": {"u.tendon": [0, 1], "u.side": [0, 1], "driven.turn": [0, 1]}}, 3),  # space, its room, a scale
        ({"path": {"through": {"u.tendon": [0, 3], "u.side": [0, 1]}, "steps": 4}}, 3),
        ({"grid": {"links.arm.rod.material": ["rubber"]}}, 3),
        ({"list": [{"links.arm.rod.material": "rubber", "u.tendon": x} for x in (0, 1, 2)]}, 3),
    ],
)
def test_pictures_of_sweeps(here, points, panels):
    sweep = sorosim.sweep(sorosim.load("arm.yaml"), points)
    figure = sweep.plot("sweep.png")
    assert len(figure.axes) == panels
    assert (here / "sweep.png").stat().st_size > 10_000


def test_a_workspace_is_coloured_by_distance_or_by_what_was_asked_for(here):
    robot = sorosim.load("arm.yaml")
    points = {"grid": {"driven.turn": ["0 deg", "90 deg"], "u.side": [0, 1], "u.tendon": [0, 1, 2]}}
    sweep = sorosim.sweep(robot, points)
    start = robot.pose(robot.initial_q, "arm")[:3, 3]
    figure = sweep.plot()
    (cloud,) = (axes.collections[0] for axes in figure.axes if axes.name == "3d")
    assert_allclose(np.sort(cloud.get_array()), np.sort(np.linalg.norm(sweep.tip() - start, axis=1)))
    assert "distance from the initial place [m]" in [axes.get_ylabel() for axes in figure.axes]
    (cloud,) = (axes.collections[0] for axes in sweep.plot(y="u.side").axes if axes.name == "3d")
    assert set(cloud.get_array()) == {0.0, 1.0}


def test_pictures_of_sweeps_are_in_the_units_that_were_asked_for(here):
    robot, units = sorosim.load("arm.yaml"), {"length": "mm", "force": "mN"}
    space = sorosim.sweep(robot, {"grid": {"driven.turn": [0, 1.5], "u.side": [0, 1], "u.tendon": [0, 1, 2]}})
    drawn, plain = (
        next(axes for axes in space.plot(units=chosen).axes if axes.name == "3d") for chosen in (units, None)
    )
    assert (drawn.get_xlabel(), plain.get_xlabel()) == ("x [mm]", "x [m]")
    clouds = [np.stack(axes.collections[0]._offsets3d) for axes in (drawn, plain)]
    assert_allclose(clouds[0], 1e3 * clouds[1], rtol=1e-12)
    assert_allclose(drawn.collections[0].get_array(), 1e3 * plain.collections[0].get_array(), rtol=1e-12)
    line = sorosim.sweep(robot, {"list": [{"u.tendon": x} for x in (0, 2, 1)]})
    (axes,) = plot_sweep(line, y="arm.z", units=units).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("u.tendon [mN]", "arm.z [mm]")
    assert_allclose(axes.lines[0].get_xdata(), [0.0, 2000.0, 1000.0])
    assert_allclose(axes.lines[0].get_ydata(), 1e3 * line.tip()[:, 2], rtol=1e-12)
    for wrong, words in (
        ({"lenght": "mm"}, "did you mean length"),
        ({"length": "kPa"}, "units.length"),
        ("mm", "mapping"),
    ):
        with pytest.raises(InputError, match=words):
            line.plot(units=wrong)


def test_hertz_stay_hertz(here):
    text = (here / "arm.yaml").read_text().replace("links:", "parameters: {f: 1 Hz, w: 60 rpm}\nlinks:", 1)
    robot = load_text(
        text.replace("{turn: 0}", "{turn: 'sin(2*pi*$f*t) + sin($w*t)'}").replace("statics", "simulate"), "a"
    )
    sweep = sorosim.sweep(robot, {"grid": {"parameters.f": ["1 Hz", "2 Hz"], "parameters.w": ["30 rpm"]}},
                          task={"simulate": {"t_end": 0.01}})  # fmt: skip
    assert sweep.units == ("Hz", "rad/s")


def test_lines_are_the_columns(here):
    sweep = sorosim.sweep(sorosim.load("arm.yaml"), {"list": [{"u.tendon": x} for x in (0, 2, 1)]})
    (axes,) = plot_sweep(sweep, y="moment(turn)").axes
    assert axes.get_ylabel() == "moment(turn) [N m]"
    assert np.array_equal(axes.lines[0].get_xydata(), np.column_stack([[0, 2, 1], sweep.driven["turn"]]))


def test_a_single_run_has_summaries_too(here, call):
    asked = ("--summary", "late={mean: arm.z, after: 20 ms}", "--summary", "speed={rate: arm.z}")
    driven = ("--driven", "turn=0.1*t")
    code, out, err = call("simulate", "arm.yaml", *driven, "--t-end", "0.05", "--out", "run.h5", "--json", *asked)
    assert (code, err) == (0, "")
    told = json.loads(out)
    run = sorosim.open("run.h5")
    assert told["summary"] == run.summarize({"late": {"mean": "arm.z", "after": 0.02}, "speed": {"rate": "arm.z"}})
    assert told["summary_units"] == {"late": "m", "speed": "m/s"}
    code, out, _ = call("info", "run.h5", *asked)
    assert code == 0
    assert re.search(rf"speed +{told['summary']['speed']:.6g} m/s *\n", out)
    for source, wrong, message in (
        ("run.h5", "late={mean: arm.z, after: 1 s}", "--summary.late.after: expected a time before the end of the run"),
        ("run.h5", "late={mean: arms.z}", "--summary.late.mean: expected a quantity of a run, got 'arms.z'"),
        ("run.h5", "{mean: arm.z}", "--summary: expected NAME=VALUE"),
        ("arm.yaml", "late={mean: arm.z}", "--summary: expected a run beside it, got the robot 'arm.yaml'"),
    ):
        code, out, err = call("info", source, "--summary", wrong)
        assert (code, out) == (2, "")
        assert message in err
