"""`sorosim inverse`."""

import json

import numpy as np
import pytest

import sorosim
from sorosim.connect.cli import main

ARM = "two_segment_arm"


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """The command says when it compiles, which these tests do not expect."""
    sorosim.inverse(sorosim.load(ARM), {"upper": [0.04, 0.03, -0.28]})


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    def run(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["sorosim", "inverse", ARM, *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


def test_a_target(call, tmp_path):
    code, out, err = call("--target", "upper=4cm,3cm,-28cm", "--bounds", "b3=0,5.9 N", "--out", "found.h5", "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert said["reached"]
    assert said["u"][5] <= 5.9
    assert np.allclose(sorosim.open(tmp_path / "found.h5").tip(), [0.04, 0.03, -0.28], atol=1e-8)


def test_a_table_of_targets(call, tmp_path):
    (tmp_path / "way.csv").write_text("upper.x [mm],upper.z [mm],upper.y [cm]\n30,-285,0\n30,-285,1\n25,,2\n", "utf-8")
    code, out, err = call("--along", "way.csv", "--out", "path.h5")
    assert (code, err) == (0, "")
    assert "3 of 3 reached" in out
    run = sorosim.open(tmp_path / "path.h5")
    assert np.allclose(run.tip()[:2], [[0.03, 0.0, -0.285], [0.03, 0.01, -0.285]], atol=1e-8)
    assert np.allclose(run.tip()[2, :2], [0.025, 0.02], atol=1e-8)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected --target or --along, one of them, got neither"),
        (["--target", "upper=4cm,3cm"], "targets.upper: expected 3 numbers, or an array"),
        (["--target", "uper=0,0,0"], "did you mean upper?"),
        (["--target", "upper@2=0,0,0"], "expected a number from 0 to 1, got 2"),
        (["--target", "upper=0,0,0", "--rate", "a1=1"], "--rate: expected --along FILE beside it"),
        (
            ["--target", "upper=0,0,0", "--bounds", "a1=3"],
            "--bounds a1: expected two values with a comma between, got '3'",
        ),
        (["--target", "upper=0,0,0", "--free", "a9"], "free: expected the name of an input or a coordinate, got 'a9'"),
        (["--target", "upper=0,0,0", "--effort", "work"], "expected inputs or energy"),
    ],
)
def test_mistakes_of_the_command_line(call, words, said):
    code, _, err = call(*words)
    assert code == 2
    assert said in err.replace("\n", " ")
