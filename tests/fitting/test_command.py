"""The command `sorosim fit`; docs/fitting.md runs it on a real table."""

import sys

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import ConvergenceError
from sorosim.connect.cli.main import main

TABLE = "u.up [N], tip.x [mm], tip.y [mm], tip.z [mm]\n"
ARM = """
sorosim: 1
name: arm
materials: {rubber: {young: 1 MPa, poisson: 0.4, density: 1200 kg/m^3, damping: 20 kPa*s}}
links: {arm: {rod: {length: 30 cm, section: {circle: {radius: 10 mm}}, material: rubber, strain: {bending: 1}}}}
actuators: {up: {tendon: {rod: arm, y: 0, z: 6 mm}}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(ARM)
    robot = sorosim.load("arm.yaml").with_values({"materials.rubber.young": 1.2e6})
    rows = [(u, *(1e3 * sorosim.statics(robot, [u]).tip())) for u in (0.0, 2.0, 4.0)]
    (tmp_path / "tips.csv").write_text(TABLE + "\n".join(", ".join(f"{x:.9f}" for x in row) for row in rows))
    return tmp_path


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["sorosim", "fit", "arm.yaml", "tips.csv", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr()


def test_a_table_is_fitted_and_written(folder, monkeypatch, capsys):
    words = "--free materials.rubber.young --place tip=arm --profile --out fit.h5 --plot fit.png --bounds"
    code, said = run(monkeypatch, capsys, *words.split(), "materials.rubber.young=0.5MPa,")
    assert code == 0
    assert "materials.rubber.young" in said.out
    assert (folder / "fit.png").is_file()
    found = sorosim.open("fit.h5")
    assert np.isclose(found.values["materials.rubber.young"], 1.2e6, rtol=1e-5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--free materials.rubber.young tips.csv", "DATA: expected every table once, got 'tips.csv' twice"),
        ("--free materials.rubber.young --place tip", "--place: expected NAME=VALUE"),
        ("--free materials.rubber.young --place tap=arm", "--place: expected one of the markers tip, got 'tap'"),
        ("--free materials.rubber.young --place tip=arm@x", "--place tip: expected LINK, LINK@S or LINK@S:X,Y,Z"),
        ("--free materials.rubber.young --place tip=arm@1:1,2", "--place tip: expected"),
        ("--free materials.rubber.yung --place tip=arm", "did you mean materials.rubber.young"),
        ("--free materials.rubber.young --place tip=arm --bounds materials.rubber.young=3", "two values with a comma"),
        ("--free materials.rubber.young --place tip=arm --noise 3N", "noise.tip: expected a length"),
        ("--free materials.rubber.young --place tip=arm --loss l3", "loss: expected one of linear"),
    ],
)
def test_a_mistake_is_one_line(folder, monkeypatch, capsys, words, message):
    code, said = run(monkeypatch, capsys, *words.split())
    assert code == 2
    assert said.err.startswith("error: ")
    assert message in " ".join(said.err.split())


@pytest.mark.parametrize("profile", [False, True])
def test_the_summary_says_which_intervals_pass_what_the_robot_can_be(folder, monkeypatch, profile):
    def impossible(self, z_i):
        raise ConvergenceError("a route outside its section")

    robot = sorosim.load("arm.yaml")
    tips = sorosim.Measurements.from_csv("tips.csv", places={"tip": "arm"})
    found = sorosim.fit(robot, tips, free=["materials.rubber.young"], noise="1 mm")
    monkeypatch.setattr("sorosim.studies.fitting.likelihood.ProfiledCost.__call__", impossible)
    text = found.summary(profile=profile)
    assert "interval of materials.rubber.young passes what the robot can be: a route outside its section" in text
    assert "rms error" in text
    assert found.nonlinearity == {"materials.rubber.young": np.inf}
    with pytest.raises(ConvergenceError, match="a route outside"):
        found.interval(profile=True)
