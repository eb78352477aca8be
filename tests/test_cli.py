"""The command line: what it prints, what it writes, how it ends."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import sorosim
from sorosim.connect.cli import console, parsers
from sorosim.connect.cli.main import COMMANDS
from sorosim.files import bundled_robots
from sorosim.view.viz import checks, figures, gltf, movie, web

FINGER = """sorosim: 1
name: finger
materials: {silicone: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 10 kPa*s}}
links:
  finger:
    joint: fixed
    rod:
      length: 12 cm
      section: {circle: {radius: [8 mm, 4 mm]}}
      material: silicone
      strain: {bending: 2}
actuators: {tendon: {tendon: {rod: finger, y: 0, z: r}}}
simulate: {t_end: 0.2, u: {tendon: "2*smoothstep(t)"}}
"""


@pytest.fixture
def finger(tmp_path, monkeypatch):
    (tmp_path / "finger.yaml").write_text(FINGER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_simulate_writes_a_result_that_opens_again(finger, call):
    again = sorosim.simulate(sorosim.load("finger.yaml"), method="cvode")  # first: the command says when it compiles
    code, out, err = call("simulate", "finger.yaml", "--out", "run.h5", "--method", "cvode")
    assert (code, err) == (0, "")
    assert "cvode" in out
    assert "energy balance" in out
    run = sorosim.open("run.h5")
    assert np.array_equal(run.q, again.q)
    assert np.array_equal(run.u, again.u)
    assert run.robot.name == "finger"


def test_a_method_of_fixed_steps(finger, call):
    words = ["--method", "generalized-alpha", "--step", "0.005", "--spectral-radius", "0.5"]
    assert call("simulate", "finger.yaml", "--out", "run.h5", *words)[0] == 0
    run = sorosim.open("run.h5")
    assert run.stats["n_steps"] == 40
    options = {"method": "generalized-alpha", "step": 0.005, "spectral_radius": 0.5}
    assert np.array_equal(run.q, sorosim.simulate(sorosim.load("finger.yaml"), **options).q)


def test_limits_of_the_work_end_a_run_and_resume_goes_on(finger, call):
    code, _, err = call("simulate", "finger.yaml", "--out", "run.h5", "--max-steps", "5", "--max-wall-time", "1 h")
    assert code != 0
    assert "it has taken max_steps = 5 steps" in " ".join(err.split())
    assert call("resume", "run.h5", "--max-steps", "1e5")[0] == 0
    run = sorosim.open("run.h5")
    assert run.t[-1] == run.options["t_end"]
    assert (run.options["max_steps"], run.options["max_wall_time"]) == (1e5, 3600.0)


def test_simulate_without_out_names_the_file_after_the_robot(finger, call):
    assert call("simulate", "finger.yaml", "--t-end", "0.05")[0] == 0
    with h5py.File(finger / "finger.h5") as file:
        assert file["t"][-1] == 0.05


def test_inputs_of_the_command_line_replace_those_of_the_file(finger, call):
    assert call("simulate", "finger.yaml", "--u", "tendon=3*t", "--out", "run.h5")[0] == 0
    run = sorosim.open("run.h5")
    assert np.allclose(run.u[:, 0], 3 * run.t, rtol=1e-14)


GANTRY = """sorosim: 1
name: gantry
links:
  cart: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {mass: 1, inertia: [1, 1, 1]}}
  arm: {parent: cart, joint: {revolute: {axis: [0, 1, 0], stiffness: 1}}, body: {mass: 1, inertia: [1, 1, 1]}}
  hand: {parent: arm, joint: {revolute: {axis: [0, 1, 0], stiffness: 1}}, body: {mass: 1, inertia: [1, 1, 1]}}
  lid: {parent: hand, joint: {revolute: {axis: [0, 1, 0], stiffness: 1}}, body: {mass: 1, inertia: [1, 1, 1]}}
actuators: {wrist: {joint: {link: hand}}, hinge: {joint: {link: lid}}}
simulate: {t_end: 0.1, driven: {cart: 0.1*t, arm: 0.2*t}, u: {wrist: 0.1, hinge: (1 N*m)*t}}
statics: {driven: {cart: 1 cm, arm: 2 deg}, u: {wrist: 0.1, hinge: 0.2}}
"""


def test_values_of_the_command_line_go_before_those_of_the_file_by_name(finger, call):
    (finger / "gantry.yaml").write_text(GANTRY, encoding="utf-8")
    words = ("--u", "wrist=30 N*cm", "--driven", "arm.revolute=30 deg*t", "--out", "run.h5")
    assert call("simulate", "gantry.yaml", *words)[0] == 0
    run = sorosim.open("run.h5")
    assert np.allclose(run.q[-1, :2], [0.01, np.deg2rad(3.0)], rtol=1e-12)
    assert np.allclose(run.u[-1], [0.3, 0.1], rtol=1e-12)
    assert call("resume", "run.h5", "--t-end", "0.2", "--u", "wrist=0.5 N*m")[0] == 0
    assert np.allclose(sorosim.open("run.h5").u[-1], [0.5, 0.2], rtol=1e-12)
    words = ("--u", "hinge=0.3", "--driven", "cart=3 cm", "--out", "eq.h5")
    assert call("statics", "gantry.yaml", *words)[0] == 0
    eq = sorosim.open("eq.h5")
    assert np.allclose([*eq.u, *eq.q[:2]], [0.1, 0.3, 0.03, np.deg2rad(2.0)], rtol=1e-12)


def test_info_says_what_driven_coordinates_needed(finger, call):
    (finger / "gantry.yaml").write_text(GANTRY, encoding="utf-8")
    call("simulate", "gantry.yaml", "--out", "run.h5")
    largest = {name: np.abs(force).max() for name, force in sorosim.open("run.h5").driven.items()}
    wanted = f"needed at most {largest['cart']:.4g} N at cart, {largest['arm']:.4g} N m at arm"
    assert wanted in call("info", "run.h5")[1]
    assert json.loads(call("info", "run.h5", "--json")[1])["driven_units"] == {"cart": "N", "arm": "N m"}
    call("statics", "gantry.yaml", "--out", "eq.h5")
    assert f"{sorosim.open('eq.h5').driven['arm']:.6g} N m" in call("info", "eq.h5")[1]


@pytest.mark.parametrize("command", ["simulate", "statics"])
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--driven", "arm=1m", "--driven arm: expected an angle such as 45 deg, got '1m', a length"),
        ("--driven", "cart=3 deg", "--driven cart: expected a length such as 3 cm, got '3 deg'"),
        ("--u", "wrist=3 N", "--u wrist: expected a moment such as 5 N*cm, got '3 N', a force"),
    ],
)
def test_units_of_another_dimension_are_refused(finger, call, command, option, value, message):
    (finger / "gantry.yaml").write_text(GANTRY, encoding="utf-8")
    code, out, err = call(command, "gantry.yaml", option, value)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_statics_reports_and_writes_an_equilibrium(finger, call):
    code, out, _ = call("statics", "finger.yaml", "--u", "tendon=1", "--out", "eq.h5")
    assert code == 0
    assert "hybr converged" in out
    assert "yes" in out
    eq = sorosim.open("eq.h5")
    assert np.allclose(eq.q, sorosim.statics(sorosim.load("finger.yaml"), {"tendon": 1.0}).q, rtol=0, atol=1e-15)


def test_times_may_have_units(finger, call):
    assert call("simulate", "finger.yaml", "--t-end", "100 ms", "--dt-out", "20ms", "--out", "run.h5")[0] == 0
    np.testing.assert_allclose(sorosim.open("run.h5").t, np.arange(6) * 0.02, rtol=1e-15)
    assert call("still", "run.h5", "--t", "0, 50 ms", "--out", "two.svg")[0] == 0


def test_results_are_known_by_what_they_are_not_by_their_names(finger, call):
    sorosim.simulate(sorosim.load("finger.yaml")).save("result")
    code, out, err = call("info", "result")
    assert (code, err) == (0, "")
    assert "integrator" in out


def test_plot_draws_runs_and_equilibria(finger, call):
    call("simulate", "finger.yaml", "--out", "run.h5")
    code, out, _ = call("plot", "run.h5", "--out", "pictures")
    assert code == 0
    named = out.split()
    assert named
    assert all((finger / name).stat().st_size > 1000 for name in named)
    call("statics", "finger.yaml", "--out", "eq.h5")
    code, out, _ = call("plot", "eq.h5", "--out", "pictures")
    assert (code, out.split()) == (0, ["pictures/eq.png"])
    assert call("plot", "eq.h5", "--out", "one.svg") == (0, "one.svg\n", "")
    assert call("plot", "run.h5", "--what", "tip", "--out", "tip.png") == (0, "tip.png\n", "")
    assert (finger / "tip.png").read_bytes()[:4] == b"\x89PNG"
    code, _, err = call("plot", "run.h5", "--out", "tip.png")
    assert (code, "name one plot, as in --what tip" in err) == (2, True)
    code, _, err = call("plot", "run.h5", "--what", "tip", "--format", "pdf", "--out", "tip.png")
    assert (code, "whose suffix says it" in err) == (2, True)


def test_plot_shows_numbers_in_the_units_that_were_asked_for(finger, call, monkeypatch):
    from sorosim.view.viz import figures

    drawn, save = [], figures.save
    monkeypatch.setattr(figures, "save", lambda figure, path: (drawn.append(figure), save(figure, path)))
    call("simulate", "finger.yaml", "--out", "run.h5")
    call("statics", "finger.yaml", "--out", "eq.h5")
    for result, more in (("run.h5", ("--what", "tip")), ("eq.h5", ())):
        code, _, _ = call("plot", result, *more, "--units", "length=mm", "--units", "force=mN", "--out", "one.png")
        assert code == 0
        assert "x [mm]" in [axes.get_xlabel() for axes in drawn[-1].axes if axes.name == "3d"]
    code, _, err = call("plot", "run.h5", "--units", "length=kPa", "--out", "one")
    assert (code, "units.length" in err) == (2, True)


def test_movie_is_written(finger, call):
    call("simulate", "finger.yaml", "--out", "run.h5")
    code, out, _ = call("movie", "run.h5", "--fps", "10")
    assert (code, out.strip()) == (0, "run.mp4")
    assert (finger / "run.mp4").stat().st_size > 1000


def test_robots_are_listed(call):
    code, out, _ = call("robots")
    assert code == 0
    assert "cable_manipulator" in out.split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulate", "nothing.yaml"], "nothing.yaml: expected a file or the name of a bundled robot, got neither"),
        (["simulate", "finger.yaml", "--t-end", "-1"], "--t-end: expected a time greater than 0, got -1"),
        (["simulate", "finger.yaml", "--method", "euler"],
         "--method: expected bdf, radau, lsoda, cvode, newmark, generalized-alpha or ida, got 'euler'"),
        (["simulate", "finger.yaml", "--u", "tendon"], "--u: expected NAME=VALUE, got 'tendon'; as in --u cable1=10"),
        (["statics", "finger.yaml", "--u", "tendn=1"], "expected the name of an actuator, got 'tendn'; did you mean"),
        (["statics", "finger.yaml", "--u", "tendon=t"], "--u tendon: expected a number, or a text with a unit"),
        (["statics", "finger.yaml", "--u", "tendon=nan"], "--u tendon: expected a force such as 5 N, got 'nan'"),
        (["simulate", "finger.yaml", "--u", "tendon=5 m"], "--u tendon: expected a force such as 5 N, got '5 m'"),
        (["simulate", "finger.yaml", "--u", "tendon=(1 mm)*t"], "--u tendon: expected a force such as 5 N, got '(1"),
        (["simulate", "finger.yaml", "--u", "tendon=5+"], "--u tendon: expected"),
        (["simulate", "finger.yaml", "--driven", "finger=1"], "--driven: expected the name of a link with a joint"),
        (["movie", "nothing.h5"], "nothing.h5: cannot be read: No such file or directory"),
        (["simulate"], "Missing argument 'ROBOT'; see sorosim simulate --help"),
        (["simulate", "finger.yaml", "--t-end", "2 m"],
         "--t-end: expected a time greater than 0, such as 10 s, got '2 m', a length"),
        (["simulate", "finger.yaml", "--rtol", "small"],
         "--rtol: expected a number of 2.22045e-14 or more, got 'small'"),
        (["simulate", "finger.yaml", "--out", "a.txt"], "file name that ends in .h5 or .hdf5, got 'a.txt'"),
        (["plot", "finger.yaml"], "finger.yaml: expected a result file of sorosim (HDF5), got a description; simulate"),
        (["statics", "finger.yaml", "--out", "no/eq.h5"], "got 'no/eq.h5'; there is no folder no; make it first"),
        (["statics", "finger.yaml", "--out", "."], "--out: expected a file, got '.'; it is a folder"),
        (["continuation", "finger.yaml", "--along", "u.tendon", "--to", "1", "--plot", "x.xyz"], "in .png, .pdf, .svg"),
        (["sweep", "finger.yaml", "--jobs", "two"], "--jobs: expected a whole number, got 'two'"),
        (["modes", "finger.yaml", "--number", "0"], "--number: expected a whole number from 1 to 10000, got '0'"),
        (["simulate", "finger.yaml", "--set", "gravity"], "--set: expected PATH=VALUE, got 'gravity'"),
        (["new", "no/mine.yaml"], "there is no folder no; make it first"),
        (["simulat"], "No such command 'simulat'"),
        (["simulate", "finger.yaml", "--t-end", "1", "--t-end=2"], "--t-end: expected this option once, got it 2"),
        (["plot", "finger.yaml", "--what", "tip", "--what", "energy"], "2 times; separate several by commas"),
    ],
)  # fmt: skip
def test_mistakes_end_in_one_line_and_code_2(finger, call, words, message):
    code, out, err = call(*words)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not out
    assert sorted(os.listdir(finger)) == ["finger.yaml"]


def test_movie_of_an_equilibrium_is_refused(finger, call):
    call("statics", "finger.yaml", "--out", "eq.h5")
    code, _, err = call("movie", "eq.h5")
    assert (code, err) == (2, "error: eq.h5: expected a run, got an equilibrium; plot draws it\n")


def test_a_solver_that_gives_up_saves_what_it_had(finger, call):
    code, _, err = call("simulate", "finger.yaml", "--u", "tendon=sqrt(0.1-t)", "--out", "run.h5")
    assert code == 1
    part = sorosim.open("run.h5")
    assert f"what there is, up to t = {part.t[-1]:g} s, is in run.h5\n" in err
    assert "error: simulate 'finger' by bdf: stopped at t = " in err
    assert 0.0 < part.t[-1] < 0.2


def test_an_equilibrium_to_start_from_that_is_not_found_is_kept_and_told_in_one_line(finger, call, monkeypatch):
    rest = sorosim.statics(sorosim.load("finger.yaml"))

    def give_up(*_, **__):
        raise sorosim.ConvergenceError("statics of 'finger': it stopped", rest)

    monkeypatch.setattr("sorosim.analysis.motion.simulate.statics", give_up)
    code, _, err = call("simulate", "finger.yaml", "--q0", "equilibrium")
    assert code == 1
    kept, told = err.splitlines()
    assert kept == "where it stopped is in finger.h5; `sorosim play finger.h5` shows it"
    assert told == "error: simulate 'finger': there is no equilibrium to start from: statics of 'finger': it stopped"
    np.testing.assert_array_equal(sorosim.open("finger.h5").q, rest.q)


def test_a_file_where_a_folder_should_be(finger, call):
    call("statics", "finger.yaml", "--out", "eq.h5")
    code, _, err = call("plot", "eq.h5", "--out", "finger.yaml")
    assert (code, err) == (2, "error: finger.yaml: expected a folder for the plots: File exists\n")


def test_simulate_goes_on_with_resume(finger, call):
    call("simulate", "finger.yaml", "--checkpoint", "0.05", "--out", "whole.h5", "--t-end", "0.3")
    call("simulate", "finger.yaml", "--checkpoint", "0.05", "--out", "part.h5")
    code, out, _ = call("resume", "part.h5", "--t-end", "0.3", "--json")
    assert code == 0
    assert json.loads(out)["t_end"] == 0.3
    assert np.array_equal(sorosim.open("part.h5").q, sorosim.open("whole.h5").q)
    code, _, err = call("resume", "eq.h5")
    assert (code, err) == (2, "error: eq.h5: cannot be read: No such file or directory\n")


def test_json_is_all_that_is_printed(finger, call):
    for words in (
        ("simulate", "finger.yaml"), ("statics", "finger.yaml"), ("info", "finger.h5"), ("info", "finger.yaml"),
        ("check", "finger.yaml"), ("schema",),
    ):  # fmt: skip
        code, out, err = call(*words, *(() if words == ("schema",) else ("--json",)))
        assert (code, err) == (0, "")
        assert isinstance(json.loads(out), dict)


def test_json_has_no_words_of_its_own(capsys):
    console.as_json({"a": np.array([1.0, np.nan]), "b": (np.inf, np.int64(2), True, None), "c": {1: Path("x")}})
    printed = " ".join(capsys.readouterr().out.split())
    assert printed == '{ "a": [ 1.0, null ], "b": [ null, 2, true, null ], "c": { "1": "x" } }'


def test_the_starter_runs_and_is_not_overwritten(finger, call):
    assert call("new", "mine.yaml")[0] == 0
    assert call("check", "mine.yaml")[0] == 0
    assert call("simulate", "mine.yaml", "--t-end", "0.1")[0] == 0
    code, _, err = call("new", "mine.yaml")
    assert (code, err) == (2, "error: mine.yaml: exists already; give another name\n")
    code, _, err = call("convert", "mine.yaml")
    assert (code, err) == (2, "error: mine.yaml: exists already; give another name by --out\n")
    code, _, err = call("new", "mine.txt")
    assert (code, err) == (
        2,
        "error: path: expected a file name that ends in .yaml, got 'mine.txt'; try mine.txt.yaml\n",
    )


def test_results_are_exported(finger, call):
    call("simulate", "finger.yaml", "--out", "run.h5")
    run = sorosim.open("run.h5")
    for name in ("run.csv", "run.mat"):
        code, out, _ = call("export", "run.h5", "--out", name)
        assert (code, out) == (0, f"{name}\n")
    table = np.loadtxt("run.csv", delimiter=",", skiprows=1)
    assert np.array_equal(table[:, 1 : 1 + run.robot.ndof], run.q)
    _, _, err = call("export", "run.h5", "--readings", "--out", "tables")
    assert err == "error: run.h5: expected a run of a robot with sensors, got one without; a block `sensors` has them\n"
    _, _, err = call("info", "run.h5", "--set", "gravity=[0,0,0]")
    assert err == "error: --set: expected a robot beside it, got the result 'run.h5'; its robot is that of the run\n"
    code, _, err = call("export", "run.h5", "--out", "run.xls")
    assert (code, err) == (2, "error: --out: expected a file name that ends in .csv or .mat, got 'run.xls'\n")


def test_sensors_are_told_and_their_readings_exported(finger, call, tmp_path):
    text = "sorosim: 1\nlinks: {bob: {joint: {revolute: {axis: [0, 1, 0]}}, body: {mass: 1, centre: [1, 0, 0], "
    text += "inertia: [1, 1, 1]}}}\nsensors: {gyro: {imu: {link: bob}, rate: 50 Hz}, base: {joint_wrench: bob}}\n"
    (tmp_path / "pendulum.yaml").write_text(text)
    _, out, _ = call("info", "pendulum.yaml")
    assert "gyro: imu on bob, 50 Hz" in out
    _, out, _ = call("info", "pendulum.yaml", "--json")
    assert json.loads(out)["sensors"] == ["gyro", "base"]
    call("simulate", "pendulum.yaml", "--t-end", "0.1", "--out", "run.h5")
    _, out, _ = call("info", "run.h5")
    assert "gyro, base" in out
    code, out, _ = call("export", "run.h5", "--readings", "--out", "tables")
    assert (code, out.split()) == (0, [f"tables{os.sep}gyro.csv", f"tables{os.sep}base.csv"])
    message = "error: --out: expected a folder for the tables, one for each sensor, got 'tables.csv'\n"
    assert call("export", "run.h5", "--readings", "--out", "tables.csv") == (2, "", message)
    assert np.loadtxt(tmp_path / "tables" / "gyro.csv", delimiter=",", skiprows=1).shape == (6, 7)


def test_every_command_has_help_with_an_example(call):
    code, out, _ = call("--help")
    assert code == 0
    assert {"simulate", "statics", "play", "plot", "movie", "check", "info", "robots", "new", "schema"} <= set(COMMANDS)
    for name in COMMANDS:
        assert name in out
        code, text, _ = call(name, "--help")
        assert code == 0
        assert f"Example: sorosim {name}" in " ".join(text.split())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_within_a_second_and_is_kept(finger, how):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(sorosim.__file__).parents[1])])}
    words = ["simulate", "finger.yaml", "--u", "tendon=2*sin(3*t)", "--t-end", "5000", "--out", "run.h5"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sorosim", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs ignore it
    )  # fmt: skip
    while not (finger / "run.h5.part").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(how)
    begin = time.perf_counter()
    _, err = process.communicate()
    run = sorosim.open("run.h5")
    assert process.returncode == 130, err
    assert err.splitlines()[-2:] == [run.message, f"what there is, up to t = {run.t[-1]:g} s, is in run.h5"]
    assert run.message.startswith("interrupted at t = ")
    assert time.perf_counter() - begin < 60.0  # a second to stop; to write, by how much there is


def test_python_dash_m_is_the_command_line(finger):
    done = subprocess.run([sys.executable, "-m", "sorosim", "robots"], capture_output=True, text=True, check=True)
    assert "cable_manipulator" in done.stdout


def test_looks_of_movies_and_stills(finger, call):
    call("simulate", "finger.yaml", "--out", "run.h5")
    words = ("--size", "320x240", "--view", "side", "--colour", "bending_y", "--trails", "--frames")
    assert call("movie", "run.h5", "--fps", "10", "--out", "run.gif", *words)[0] == 0
    assert call("still", "run.h5", "--t", "0.1", "--out", "run.png", *words)[0] == 0
    assert call("still", "finger.yaml", "--out", "built.png", "--size", "320x240")[0] == 0
    for name in ("run.gif", "run.png", "built.png"):
        assert (finger / name).stat().st_size > 1000


def test_pictures_of_several_moments_and_results_pages_and_gltf(finger, call):
    call("simulate", "finger.yaml", "--out", "run.h5")
    small = ("--size", "160x120")
    written = {
        "moments.png": ("still", "run.h5", "--t", "0,0.1,0.2", "--ghosts", "time", *small),
        "flat.svg": ("still", "run.h5", "--t", "0,0.1", "--trails"),
        "two.png": ("still", "run.h5", "finger.yaml", "--names", "moving, built", "--gravity", *small),
        "two.gif": ("movie", "run.h5", "run.h5", "--overlay", "--fps", "5", "--orbit", "30 deg/s", *small),
        "run.html": ("web", "run.h5", "--colour", "bending_y", "--trails", "--tips", "finger"),
        "run.glb": ("gltf", "run.h5", "--fps", "10"),
        "built.html": ("web", "finger.yaml"),
        "two.html": ("web", "run.h5", "finger.yaml", "--names", "moving, built", "--loads", "--joints", "--gravity"),
        "two.glb": ("gltf", "run.h5", "run.h5", "--overlay", "--fps", "5", "--gravity"),
    }
    for name, words in written.items():
        assert call(*words, "--out", name) == (0, f"{name}\n", ""), name
        assert (finger / name).stat().st_size > 1000
    assert call("still", "run.h5", "--t", "0", "--t", "0.1", "--trails", "--out", "again.svg")[0] == 0
    assert (finger / "again.svg").read_text() == (finger / "flat.svg").read_text()
    code, out, _ = call(
        "plot", "run.h5", "--what", "tip,energy", "--style", "paper", "--format", "pdf,svg", "--out", "figures"
    )
    assert code == 0
    names = [f"figures/{name}.{suffix}" for name in ("tip", "energy") for suffix in ("pdf", "svg")]
    assert out.split() == names
    assert all((finger / name).exists() for name in names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("movie", "run.h5", "--size", "big"), "--size: expected WIDTHxHEIGHT, got 'big'; as in --size 1920x1080"),
        (("movie", "run.h5", "--speed", "1e-9"), "speed: expected a movie of at most 100000 pictures, got 6e+09"),
        (("movie", "run.h5", "--view", "back"), "view: expected the name of a view, got 'back'; known: iso"),
        (("movie", "run.h5", "--colour", "blue"), "colour: expected"),
        (("still", "run.h5", "--out", "a.png", "--t", "9"), "t: expected a time"),
        (("still", "run.h5", "--out", "a.xyz"), "expected"),
        (("still", "run.h5", "--out", "a.svg", "--loads"), "a side view knows --trails and --tips only"),
        (("web", "run.h5", "--names", "one"), "--names: expected two results or more, got one"),
        (("web", "run.h5", "--size", "640x480"), "--size"),
        (("play", "run.h5", "--size", "640x480"), "--size"),
        (("play", "run.h5", "--out", "a.png"), "--out: expected a file name that ends in .html"),
    ],
)
def test_looks_that_cannot_be(finger, call, words, message):
    call("simulate", "finger.yaml", "--out", "run.h5")
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


# -- modes


def test_modes_are_listed_and_written(finger, call):
    code, out, err = call(
        "modes", "finger.yaml", "--u", "tendon=1", "--number", "3", "--out", "x.npz", "--out", "x.png"
    )
    assert (code, err) == (0, "")
    assert "finger bending" in out
    assert "oscillates" in out
    assert "more, see --number" in out
    assert "natural frequencies without damping" in out
    assert {"x.npz", "x.png"} <= set(out.split())
    lin = sorosim.statics(sorosim.load("finger.yaml"), {"tendon": 1.0}).linearize()
    with np.load("x.npz") as stored:
        np.testing.assert_array_equal(stored["A"], lin.A)


def test_modes_as_json(finger, call):
    code, out, err = call("modes", "finger.yaml", "--json", "--number", "2")
    assert (code, err) == (0, "")
    content = json.loads(out)
    lin = sorosim.statics(sorosim.load("finger.yaml")).linearize()
    assert [row["frequency_hz"] for row in content["modes"]] == list(lin.damped.frequencies[:2])
    assert content["stable"] is True
    assert sum(content["modes"][0]["moves"].values()) == pytest.approx(1.0, abs=2e-3)


def test_modes_of_a_steady_rotation(finger, call):
    joint = FINGER.replace("joint: fixed", "joint: {revolute: {axis: [0, 0, 1]}}")
    Path("turning.yaml").write_text(joint, encoding="utf-8")
    code, out, err = call("modes", "turning.yaml", "--rate", "finger=60 rpm", "--json")
    assert (code, err) == (0, "")
    turning = sorosim.load("turning.yaml")
    lin = sorosim.steady(turning, {"finger": 2.0 * np.pi}).linearize()
    found = [row["frequency_hz"] for row in json.loads(out)["modes"]]
    np.testing.assert_allclose(found, lin.damped.frequencies[:10], rtol=1e-6)  # pi is written out
    code, out, _ = call("modes", "turning.yaml", "--rate", "finger=60 rpm")
    assert "about a steady motion" in out


def test_a_mode_is_filmed(finger, call, monkeypatch):
    from sorosim.analysis.results.modes import ModeRun

    filmed = []
    monkeypatch.setattr(ModeRun, "movie", lambda run, path: filmed.append((run.options["mode"], str(path))))
    assert call("modes", "finger.yaml", "--movie", "2")[0] == 0
    assert call("modes", "finger.yaml", "--movie", "1", "--out", "x.gif")[0] == 0
    assert filmed == [(2, "finger_mode2.mp4"), (1, "x.gif")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "x.xls"), "error: --out: expected a file name that ends in .npz"),
        (("--out", "x.mp4"), "error: --out: expected --movie K beside it"),
        (("--movie", "99"), "error: mode: expected a whole number from 1 to"),
        (("--rate", "finger=1"), "error: --rate: expected the name of a link with a joint"),
        (("--rate", "finger"), "error: --rate: expected NAME=VALUE"),
        (
            ("--set", "links.finger.joint={revolute: {axis: [0, 0, 1]}}", "--rate", "finger=3 m/s"),
            "error: --rate.finger: expected an angular speed such as 2 rad/s, got '3 m/s', a speed",
        ),
        (("--u", "tendn=1"), "error: --u: expected the name of an actuator, got 'tendn'; did you mean tendon?"),
    ],
)
def test_mistakes_of_modes(finger, call, words, message):
    code, _, err = call("modes", "finger.yaml", *words)
    assert code == 2
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_modes_of_what_floats_and_of_what_cannot_move(call, tmp_path):
    code, out, err = call("modes", "underwater_vehicle", "--number", "9")
    assert (code, err) == (0, "")
    assert out.startswith("underwater vehicle: 111 modes about an equilibrium, neutral\n")
    assert out.count("rigid body") == 8  # the body, and two shafts that nothing holds
    post = {"sorosim": 1, "name": "post", "links": {"post": {"body": {"sphere": {"radius": "1 cm"}, "mass": "30 g"}}}}
    sorosim.load(post).to_yaml(tmp_path / "post.yaml")
    code, out, err = call("modes", str(tmp_path / "post.yaml"))
    assert (code, out) == (0, "post: nothing can move, it has no joint and no rod that is free\n")
    code, _, err = call("modes", str(tmp_path / "post.yaml"), "--out", str(tmp_path / "x.png"))
    assert code == 2
    assert err.startswith("error: mode: expected a robot that can move, got none of its coordinates is free")


def test_a_mode_in_a_file_is_told_from_a_run(finger, call):
    lin = sorosim.statics(sorosim.load("finger.yaml")).linearize()
    lin.mode(1).save("mode.h5")
    code, out, _ = call("info", "mode.h5")
    assert code == 0
    assert "of a mode" in out
    assert "integrator" not in out
    assert "energy" not in out


def test_modes_of_what_falls_freely(call):
    code, _, err = call("modes", "free_fall_rod")
    assert code == 1
    assert "without gravity, --set gravity=[0,0,0], it has modes" in err


def test_pictures_that_cannot_be(finger, call):
    call("simulate", "finger.yaml", "--out", "run.h5")
    for words, message in (
        (("still", "run.h5", "--out", "a.png", "--t", "0,soon"), "--t: expected a time in s, or several as in 0,1,2"),
        (("still", "run.h5", "--out", "a.svg", "--view", "top"), "a side view knows --trails and --tips only"),
        (("still", "run.h5", "--out", "a.png", "--ghosts", "fad"), "did you mean fade?"),
        (("still", "run.h5", "--out", "a.png", "--overlay"), "--overlay: expected two results or more, got one"),
        (("movie", "run.h5", "run.h5", "--names", "one"), "names: expected 2 names, one for each run"),
        (("movie", "run.h5", "--follow", "fingr"), "did you mean finger?"),
        (("plot", "run.h5", "--style", "papr"), "did you mean paper?"),
        (("gltf", "run.h5", "--t", "7"), "t: expected a time from 0 to"),
        (("web", "run.h5", "--out", "a.txt"), "expected a file name that ends in .html"),
    ):
        code, out, err = call(*words)
        assert (code, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


# -- first steps


def test_robots_are_listed_with_what_they_are(call):
    code, out, err = call("robots")
    assert (code, err) == (0, "")
    rows = dict(line.split("  ", 1) for line in out.splitlines())
    assert set(rows) == set(bundled_robots())
    assert (
        rows["fin_ray"].strip()
        == "A fin-ray finger: two flexible walls that meet in an apex, and ribs on hinges between them"
    )
    assert all(15 < len(words.strip()) < 120 for words in rows.values())
    assert set(json.loads(call("robots", "--json")[1])) == set(rows)


def test_the_version_is_told(call):
    code, out, err = call("--version")
    assert (code, out, err) == (0, f"sorosim {sorosim.__version__}\n", "")


def test_a_misspelt_file_is_met_with_its_neighbour(finger, call):
    code, _, err = call("info", "fingr.yaml")
    assert code == 2
    assert err.endswith("did you mean finger.yaml?\n")


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("movie", "sorosim.view.viz.movie.movie"),
        ("play", "sorosim.view.viz.player.play"),
        ("web", "sorosim.view.viz.web.export_html"),
    ],
)
def test_what_is_to_be_seen_reaches_films_and_pages(finger, call, monkeypatch, command, place):
    call("simulate", "finger.yaml", "--out", "run.h5")
    seen = {}
    monkeypatch.setattr(place, lambda *arguments, **options: seen.update(options))
    words = ("--loads", "--joints", "--gravity", "--frames", "--trails", "--follow", "finger", "--orbit", "30 deg/s")
    assert call(command, "run.h5", *words)[0] == 0
    assert {name: seen[name] for name in ("loads", "joints", "gravity", "frames", "trails")} == dict.fromkeys(
        ("loads", "joints", "gravity", "frames", "trails"), True
    )
    assert (seen["follow"], seen["orbit"]) == ("finger", "30 deg/s")


def test_play_opens_a_page_and_tells_its_path(finger, call, monkeypatch, tmp_path):
    opened = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    call("simulate", "finger.yaml", "--t-end", "0.1", "--out", "run.h5")
    for words, name in ((("--out", "page.html"), "page.html"), ((), "finger.html")):
        code, out, err = call("play", "run.h5", "--speed", "0.5", *words)
        page = Path(out.strip())
        assert (code, err, page.name, opened[-1]) == (0, "", name, page.as_uri())
        assert '"speed":0.5' in page.read_text(encoding="utf-8")
    shutil.rmtree(page.parent)
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    code, out, err = call("play", "run.h5", "--out", "page.html")
    assert (code, out) == (2, "")
    assert "no web browser can be opened here: the page is" in err


def test_what_options_know_of_files_is_what_modules_write():
    """They are written twice, for `viz` is not imported before it is needed."""
    assert tuple(f".{suffix}" for suffix in figures.FORMATS) == parsers.PLOTS
    assert {*checks.PICTURES, movie.SIDE_VIEW} == set(parsers.PICTURES)
    assert (parsers.FILMS, parsers.PAGES, parsers.MODELS) == (movie.MOVIES, web.PAGES, gltf.GLTF)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("web", "run.h5", "--out", "x.txt"), "--out: expected a file name that ends in .html or .htm, got 'x.txt'"),
        (("gltf", "run.h5", "--view", "top"), "--view: expected several robots side by side"),
        (("web", "run.h5", "--tips", "finger"), "--tips: expected --trails beside it"),
        (("modes", "finger.yaml", "--out", "x.txt"), "--out: expected a file name that ends in .npz"),
    ],
)
def test_options_of_pictures_that_would_do_nothing_are_refused(finger, call, words, message):
    assert call("simulate", "finger.yaml", "--t-end", "0.1", "--out", "run.h5")[0] == 0
    code, _, err = call(*words)
    assert code == 2
    assert message in err


def test_runs_of_one_name_are_numbered_in_legends(finger, call, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        assert call("simulate", "finger.yaml", "--t-end", "0.1", "--out", str(tmp_path / name / "run.h5"))[0] == 0
    page = tmp_path / "both.HTML"
    code, _, err = call("web", str(tmp_path / "a/run.h5"), str(tmp_path / "b/run.h5"), "--out", str(page))
    assert (code, err) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert "run (1)" in text
    assert "run (2)" in text
