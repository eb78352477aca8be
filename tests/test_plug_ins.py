"""A package with plug-ins, installed as a user installs one: its robot loads, runs, and comes back from a file."""

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
PACKAGE = REPO / "examples" / "plug_ins"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the package, built as a wheel and installed there."""
    pytest.importorskip("hatchling")
    pytest.importorskip("pip")
    folder = tmp_path_factory.mktemp("plug_ins")
    shutil.copytree(PACKAGE, folder / "source", ignore=shutil.ignore_patterns("__pycache__", "dist"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
               "--disable-pip-version-check", "--target", str(folder / "site"), str(folder / "source")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def python(site, *arguments, folder):
    """Run Python where the package is installed, from a folder that has neither it nor sorosim."""
    path = os.pathsep.join([str(site), str(REPO)])
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


USES = """
import numpy as np
import sorosim
from sorosim.files import dump
from sorosim.mechanics.testing.differences import jacobian

robot = sorosim.load("sail.yaml")
print(robot.actuator_names, robot.actuator_units, list(robot.description.loads))

# equilibrium and motion
equilibrium = sorosim.statics(robot)
run = sorosim.simulate(robot, t_end=0.1, rtol=1e-6)
print(bool(equilibrium.stable), run.t[-1])
run.save("sail.h5")
again = sorosim.open("sail.h5")
print(np.array_equal(again.q, run.q), again.robot.name)
own = sorosim.simulate(robot, t_end=0.1, method="newmark", step=1e-3)
print(bool(np.abs(own.q[-1] - run.q[-1]).max() < 2e-3))

# derivatives
q, qd, qdd, u = 0.1 * np.cos(np.arange(robot.ndof)), *np.sin(np.arange(2.0 * robot.ndof)).reshape(2, -1), [2e4]
found = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd, t=0.2)
inner = robot.internal_force_derivatives(q, qd, u=u)
n = robot.ndof
for matrix, slope in (
    (found.dtau_dq, jacobian(lambda d: robot.inverse_dynamics(q + d, qd, qdd=qdd, t=0.2), n, 0.1)),
    (found.dtau_dqd, jacobian(lambda d: robot.inverse_dynamics(q, qd + d, qdd=qdd, t=0.2), n, 0.1)),
    (inner.dtau_dq, jacobian(lambda d: robot.internal_force(q + d, qd, u=u), n, 0.1)),
    (inner.dtau_dqd, jacobian(lambda d: robot.internal_force(q, qd + d, u=u), n, 0.1)),
    (inner.B, jacobian(lambda d: robot.internal_force(q, qd, u=u + 1e4 * d), 1) / 1e4),
):
    assert np.abs(matrix - slope).max() < 1e-9 * np.abs(slope).max()

# to YAML and back
text = dump(robot)
with open("again.yaml", "w") as file:
    file.write(text)
other = sorosim.load("again.yaml")
print(dump(other) == text)
print(np.array_equal(other.inverse_dynamics(q, qd, qdd=qdd, t=0.2), robot.inverse_dynamics(q, qd, qdd=qdd, t=0.2)))
print([line for line in text.splitlines() if "gust" in line or "braided_muscle" in line or "half_waves" in line][:4])
print(*(type(x).__module__ for x in [*robot.description.loads.values(), *robot.description.actuators.values()]))
"""


def test_a_robot_of_plug_ins_works_like_any_other(site, tmp_path):
    shutil.copy(PACKAGE / "sail.yaml", tmp_path)
    printed = python(site, "-c", USES, folder=tmp_path).splitlines()
    assert printed[:6] == [
        "('muscle',) ('Pa',) ['wind', 'breeze']", "True 0.1", "True sail", "True", "True", "True",
    ]  # fmt: skip
    assert printed[-1] == "sorosim_examples.gust sorosim_examples.gust sorosim_examples.muscle"
    for name in ("gust:", "compiled_gust:", "braided_muscle:", "half_waves"):
        assert name in printed[6], printed[6]


def test_the_command_line_knows_the_plug_ins(site, tmp_path):
    shutil.copy(PACKAGE / "sail.yaml", tmp_path)
    printed = python(site, "-m", "sorosim", "check", "sail.yaml", folder=tmp_path)
    assert "sail" in printed


@pytest.mark.slow
def test_the_package_passes_its_own_tests(site, tmp_path):
    shutil.copytree(PACKAGE / "tests", tmp_path / "tests")
    shutil.copy(PACKAGE / "sail.yaml", tmp_path)
    printed = python(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", folder=tmp_path)
    assert " passed" in printed
    assert "failed" not in printed


MISTAKES = """
import sys
import sorosim
from pathlib import Path
text = Path("sail.yaml").read_text()
for old, new in eval(sys.argv[1]):
    assert old in text, old
    try:
        from sorosim.files import load_text
        load_text(text.replace(old, new, 1), "sail.yaml")
        print("no mistake")
    except sorosim.SorosimError as error:
        print(str(error).replace("\\n", " | "))
"""


def test_mistakes_in_plug_ins_are_those_of_the_file(site, tmp_path):
    shutil.copy(PACKAGE / "sail.yaml", tmp_path)
    changes = {
        ("{gust: {link: plate", "{gusts: {link: plate"):
            "20:10: loads.wind.gusts: expected {wrench: ...}, {line: ...}, {spring: ...}, {fluid: ...}, "
            "{contact: ...}, {magnet: ...}, {magnetised_rod: ...}, {compiled_gust: ...} or {gust: ...}, got 'gusts'; "
            "did you mean gust?",
        ("duration: 0.5 s, ", ""):
            "20:16: loads.wind.gust: expected the key 'duration', got nothing",
        ("duration: 0.5 s", "durration: 0.5 s"):
            "20:59: loads.wind.gust.durration: expected a parameter of gust, got 'durration'; did you mean duration?",
        ("duration: 0.5 s", "duration: 0.5 m"):
            "20:69: loads.wind.gust.duration: expected a time such as 10 s, got '0.5 m', a length",
        ("duration: 0.5 s", "duration: -1 s"):
            "20:69: loads.wind.gust.duration: expected a time greater than 0 [s], got -1 s",
        ("[3 m/s, 1 m/s, 0]", "[3 m/s, 1 kg, 0]"):
            "20:48: loads.wind.gust.velocity[1]: expected a speed such as 3 cm/s, got '1 kg', a mass",
        ("{gust: {link: plate,", "{gust: 3} #"):
            "20:16: loads.wind.gust: expected a mapping with link, velocity, duration, drag_area, density, s, got 3",
        ("link: plate, velocity", "link: plaite, velocity"):
            "20:23: loads.wind.gust.link: expected the name of a link, got 'plaite'; did you mean plate?",
        ("{braided_muscle: {rod: mast", "{braided_muscle: {rod: plate"):
            "18:28: actuators.muscle.braided_muscle: expected the name of a link with a rod, got 'plate'; known: mast",
        ("braid_angle: 25 deg", "braid_angle: 95 deg"):
            "18:77: actuators.muscle.braided_muscle.braid_angle: expected an angle between 0 and 90 deg, "
            "got 1.65806 rad",
        ("basis: half_waves", "basis: half_wave"):
            "13:23: links.mast.rod.strain.basis: expected the name of a basis, got 'half_wave'; did you mean "
            "half_waves?",
    }  # fmt: skip
    printed = python(site, "-c", MISTAKES, repr(list(changes)), folder=tmp_path).splitlines()
    assert printed == [f"sail.yaml:{message}" for message in changes.values()]


def test_this_process_does_not_know_them():
    assert "gust" not in {point.name for point in metadata.entry_points(group="sorosim.loads")}
