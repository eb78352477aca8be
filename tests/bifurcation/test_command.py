"""`sorosim continuation`: what it prints, what it writes, how it ends; its files in other commands."""

import json

import pytest

import sorosim
from sorosim.analysis.solvers.curve import Curve

COLUMN = """sorosim: 1
name: column
gravity: [0, 0, 0]
materials: {plastic: {young: 1 GPa, poisson: 0.3, density: 1000 kg/m^3}}
links:
  column:
    joint: fixed
    rod:
      length: 50 cm
      section: {rectangle: {y: 2 cm, z: 1 cm}}
      material: plastic
      strain: {bending_y: 4}
      quadrature: 12
actuators: {cord: {tendon: {rod: column, y: 0, z: 4 mm}}}
loads: {press: {wrench: {link: column, s: 1, force: [-1 N, 0, 0]}}}
"""
PRESS = "loads.press.wrench.force[0]"


@pytest.fixture(autouse=True)
def column(tmp_path, monkeypatch):
    """Every test is in a folder with the column."""
    (tmp_path / "column.yaml").write_text(COLUMN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def test_it_finds_eulers_load_and_writes_what_other_commands_read(call, tmp_path):
    words = ["--branches", "--out", "column.h5", "--plot", "column.png"]
    code, out, err = call("continuation", "column.yaml", "--along", PRESS, "--to", "-30 N", *words)
    assert (code, err) == (0, "")
    assert "branch point  -16.449" in out
    assert "branch 2" in out
    assert (tmp_path / "column.png").is_file()
    assert len(sorosim.open("column.h5").branches) == 2
    code, out, _ = call("info", "column.h5")
    assert code == 0
    assert "branch point  -16.449" in out
    code, out, _ = call("info", "column.h5", "--json")
    assert [point["kind"] for point in json.loads(out)["points"]] == ["branch"]
    assert call("plot", "column.h5", "--out", "pictures")[1] == "pictures/column.png\n"
    assert call("export", "column.h5", "--out", "column.csv")[0] == 0
    assert (tmp_path / "column.csv").read_text().startswith("curve,parameter,")


@pytest.mark.parametrize(
    "words",
    [
        ("movie", "column.h5"),
        ("still", "column.h5", "--out", "a.png"),
        ("export", "column.h5", "--out", "a", "--readings"),
        ("play", "column.h5"),
    ],
)
def test_commands_for_runs_say_what_they_were_given(call, words):
    call("continuation", "column.yaml", "--along", "u.cord", "--to", "1 N", "--out", "column.h5")
    code, _, err = call(*words)
    assert code == 2
    assert "got a continuation" in err


def test_several_things_at_once_and_numbers_for_scripts(call):
    words = ["--along", "u.cord", "--to", "2 N", "--along", PRESS, "--to", "-2 N", "--from", "0 N", "--from", "0"]
    code, out, _ = call("continuation", "column.yaml", *words, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["along"] == ["u.cord", PRESS]
    assert found["curves"][0]["to"] == 1.0
    assert found["points"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--along", "u.chord", "--to", "1"], "did you mean cord?"),
        (["--along", "u.cord", "--to", "1 m"], "expected a force"),
        (["--along", PRESS, "--to", "1 m"], "expected a force"),
        (["--along", "u.cord", "--to", "1", "--to", "2"], "a value for each --along"),
        (["--along", "u.cord", "--to", "1", "--along", "u.cord", "--to", "2"], "every name once"),
        (["--along", "u.cord", "--to", "0"], "another value of 'u.cord'"),
    ],
)
def test_mistakes_are_one_line(call, words, said):
    code, _, err = call("continuation", "column.yaml", *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
    assert err.startswith("error: ")


def test_curves_that_do_not_end_where_they_should_are_told_of(call):
    code, out, err = call("continuation", "column.yaml", "--along", "u.cord", "--to", "5 N", "--max-points", "3")
    assert code == 0
    assert "u.cord [N]" in out
    assert "no special points" in out
    assert "try more points" in err


@pytest.mark.parametrize("words", [("--plot", "a.xyz"), ("--plot", "no/a.png"), ("--out", "no/a.h5")])
def test_paths_are_refused_before_the_work(call, words, monkeypatch):
    monkeypatch.setattr(sorosim, "continuation", None)
    code, _, err = call("continuation", "column.yaml", "--along", "u.cord", "--to", "5 N", *words)
    assert code == 2
    assert err.count("\n") == 1


def test_a_curve_that_ends_early_is_kept_and_the_code_says_so(call, tmp_path):
    words = ["--along", "materials.plastic.young", "--to", "2 GPa", "--both", "--out", "column.h5"]
    code, out, err = call("continuation", "column.yaml", *words)
    assert code == 1
    assert "greater than 0" in err
    assert "equilibria" in out
    assert not sorosim.open("column.h5").complete


@pytest.mark.parametrize("branches", [(), ("--branches",)])
def test_what_is_interrupted_is_kept(call, monkeypatch, branches):
    """Ctrl-C on the way, or among the branches, of which there are two."""
    evaluate, left = Curve.evaluate, [20]

    def evaluated(self, z):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return evaluate(self, z)

    if branches:
        whole = sorosim.continuation(sorosim.load("column.yaml"), PRESS, to=-30.0, branches=True)
        seen = []
        monkeypatch.setattr(Curve, "evaluate", lambda self, z: seen.append(0) or evaluate(self, z))
        sorosim.continuation(sorosim.load("column.yaml"), PRESS, to=-30.0)
        left[0] = len(seen) + 30
        assert len(whole.branches) == 2
    monkeypatch.setattr(Curve, "evaluate", evaluated)
    code, _, err = call("continuation", "column.yaml", "--along", PRESS, "--to", "-30 N", "--out", "c.h5", *branches)
    assert code == 130
    assert "interrupted after" in err
    kept = sorosim.open("c.h5")
    assert len(kept) > 2
    assert kept.message == "interrupted"
    assert not kept.complete
    assert (kept.parameter[-1] == -30.0) == bool(branches)
