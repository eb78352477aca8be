"""The comparison of errors with tolerances over processors: what is read, and what is reported."""

import json

import machines
import pytest
from helpers.agreement import COMPARISON


@pytest.mark.parametrize(
    ("explanation", "numbers"),
    [
        ("np.float64(2.5e-09) < 1e-08\n +  where np.float64(2.5e-09) = max()", ("2.5e-09", "<", "1e-08")),
        ("0.0012 <= 3.0", ("0.0012", "<", "3.0")),
        ("np.float64(0.5) > 0.25", ("0.5", ">", "0.25")),
        ("'a' < 'b'", None),
        ("array([0.1]) < 1.0", None),
    ],
)
def test_numbers_of_a_plain_assertion(explanation, numbers):
    found = COMPARISON.match(explanation)
    assert (found and (found["left"], found["sign"], found["right"])) == numbers


def run_with(deviation, margin, bound=""):
    row = {"file": "f.py", "quantity": "q", "deviation": deviation, "tolerance": 1.0, "bound": bound}
    return {"agreements": [row], "margins": [["f.py::t", "x < y", margin]], "failed": [], "tests": 2}


@pytest.mark.parametrize(
    ("runs", "near", "plain", "code"),
    [
        # what is the same everywhere is safe, what changes needs five times the change
        ((run_with(0.1, 0.9), run_with(0.2, 0.9)), 0, 0, 0),
        ((run_with(0.1, 0.5), run_with(0.1, 0.7)), 0, 1, 0),
        ((run_with(0.1, 0.1), run_with(0.3, 0.1)), 1, 0, 1),
        ((run_with(0.1, 0.1, "digits"), run_with(0.3, 0.1, "digits")), 0, 0, 0),
    ],
)
def test_what_is_near_its_tolerance_is_named(runs, near, plain, code, monkeypatch, tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(machines, "ROOT", tmp_path)
    monkeypatch.setattr(machines, "BUILD", tmp_path)
    for name, run in zip(("one", "two"), runs, strict=True):
        (tmp_path / f"{name}.json").write_text(json.dumps(run), encoding="utf-8")
    assert machines.report() == code
    out = capsys.readouterr().out
    assert f"{near} of 1 comparisons above" in out
    assert f"{plain} of 1 plain assertions" in out
    written = json.loads((tmp_path / "docs" / "machines.json").read_text(encoding="utf-8"))
    assert written["processors"] == ["one", "two"]
    assert written["ratios"]["f.py"]["q"] == max(run["agreements"][0]["deviation"] for run in runs)
