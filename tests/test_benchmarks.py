"""The benchmarks run, and their table says what it must; times are never asserted."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import benchmarks
import sorosim
from benchmarks import imports
from benchmarks.compiled_loop import compiled_loop
from benchmarks.rigid_trees import PEERS, time_tree, tree
from sorosim import InputError
from sorosim.base.compiled import kernel_in_place

COLUMNS = ("median", "yardsticks", "at 17 us", "target", "met", "paper", "paper/ours", "remark")


@pytest.fixture(scope="module")
def rows() -> list[benchmarks.Row]:
    return benchmarks.run(quick=True, names=["ID + derivatives, engine", "FD", "FD derivatives"])


def test_quick_run_gives_the_yardstick_and_a_row_a_case(rows):
    assert [row.name for row in rows] == [benchmarks.YARDSTICK, "ID + derivatives, engine", "FD", "FD derivatives"]
    assert all(row.median > 0.0 and row.yardsticks > 0.0 for row in rows)


def test_row_relates_to_yardstick_target_and_paper(rows):
    _, id_derivatives, fd, fd_derivatives = rows
    assert id_derivatives.yardsticks == pytest.approx(id_derivatives.median / id_derivatives.yardstick)
    assert id_derivatives.met == (id_derivatives.yardsticks <= 4.0)
    assert id_derivatives.scaled == pytest.approx(17e-6 * id_derivatives.yardsticks)
    assert fd_derivatives.ratio == pytest.approx(1.3e-3 / fd_derivatives.median)
    assert (fd.met, fd.paper, fd.ratio) == (None, None, None)


def test_table_has_its_columns_and_is_aligned(rows):
    lines = benchmarks.table(rows).splitlines()
    at = [lines[0].index(column) for column in COLUMNS]
    assert at == sorted(at)
    assert [line.split("  ")[0] for line in lines[2:6]] == [row.name for row in rows]
    # every cell of "met" ends where its heading ends
    end = lines[0].index("met") + 3
    assert all(line[end : end + 2].strip() == "" for line in lines[2:6])


def test_targets_compare_in_their_own_unit():
    relative = benchmarks.Target(4.0, "yardsticks")
    scaled = benchmarks.Target(0.6, "s where the yardstick is 17 us")
    plain = benchmarks.Target(0.5, "s")
    assert [relative.met(figure, 1e-5) for figure in (3.9e-5, 4.1e-5)] == [True, False]
    assert [scaled.met(*pair) for pair in ((1.1, 34e-6), (0.7, 17e-6))] == [True, False]
    assert [plain.met(*pair) for pair in ((0.4, 1.0), (0.6, 1e-9))] == [True, False]


def test_names_of_cases_are_distinct_and_an_unknown_one_is_refused():
    assert len({case.name for case in benchmarks.CASES}) == len(benchmarks.CASES)
    with pytest.raises(InputError, match="FD derivatives"):
        benchmarks.run(names=["FD derivative"])


def test_every_case_has_rounds_and_a_known_unit():
    for case in benchmarks.CASES:
        assert min(case.rounds, case.iterations, case.per) >= 1
        assert case.unit in ("s", "B")
        assert case.process == (case.measure is not None)


def test_compiled_loop_makes_every_call_of_every_step():
    counts, sums = np.zeros(2), np.zeros(1)

    def step(x, y, i):
        x[i] += 1.0
        y[0] += x[0] * x[1]
        return 0

    compiled = kernel_in_place(step)
    compiled_loop([(compiled, (counts, sums, 0)), (compiled, (counts, sums, 1))], 3)()
    # after the steps: (1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3)
    assert counts.tolist() == [3.0, 3.0]
    assert sums.tolist() == [0.0 + 1.0 + 2.0 + 4.0 + 6.0 + 9.0]


@pytest.mark.slow
def test_timings_of_rigid_trees_have_every_operation():
    found = time_tree(tree(3))
    assert set(found.kernel) == set(found.prepared)
    assert {*PEERS, "forward dynamics derivatives, articulated"} <= set(found.kernel)
    times = [*found.public.values(), *found.prepared.values(), *found.kernel.values(), *found.pinocchio.values()]
    assert all(0.0 < value < 1.0 for value in times)


def test_rows_are_recorded_with_machine_and_versions(rows, tmp_path):
    content = json.loads(benchmarks.record(rows, tmp_path / "new").read_text(encoding="utf-8"))
    assert [row["name"] for row in content["rows"]] == [row.name for row in rows]
    assert content["versions"]["sorosim"] == sorosim.__version__


def test_python_dash_m_lists_cases_and_refuses_unknown_names():
    repository = Path(benchmarks.__file__).resolve().parents[1]

    def call(*words):
        command = [sys.executable, "-m", "benchmarks", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=repository)

    listed = call("--list").stdout.splitlines()
    assert {"FD derivatives, engine", "work precision (study)"} <= set(listed)
    refused = call("FD derivative")
    assert refused.returncode == 2
    assert "FD derivatives" in refused.stderr


def test_the_command_says_where_the_benchmarks_are_when_there_is_no_repository(call, monkeypatch, tmp_path):
    monkeypatch.setattr(sorosim, "__file__", str(tmp_path / "sorosim" / "__init__.py"))
    code, _, errors = call("bench")
    assert code == 2
    assert "python -m benchmarks" in errors
    assert len(errors.splitlines()) == 1


def test_the_study_of_live_pages_pulls_and_measures(monkeypatch):
    pytest.importorskip("viser")
    from benchmarks import live

    monkeypatch.setattr(live, "SECONDS", 0.5)
    said = []
    (pace,) = live.study(said.append, ["cable_manipulator"])
    assert min(pace.rate, pace.factor, pace.grab, pace.busy) > 0.0
    assert said[1].startswith("cable_manipulator: ")
    assert len(said[0].split(", ")) == len(said[1].replace(":", ",").split(", "))


def test_robots_of_other_programs_are_compared_with_these(tmp_path):
    pytest.importorskip("pinocchio")
    pytest.importorskip("yourdfpy")
    pytest.importorskip("mujoco")
    data = Path(__file__).parent / "data"
    for path, n in ((data / "urdf" / "serial_arm.urdf", 5), (data / "mjcf" / "walker.xml", None)):
        row = imports.compared(path)
        assert row.result == "agrees", row
        assert max(row.off) < 1e-12
        assert n is None or row.coordinates == n
    text = (data / "urdf" / "serial_arm.urdf").read_text("utf-8")
    wrong = tmp_path / "arm.urdf"
    wrong.write_text(text.replace("</robot>", ""))
    assert imports.compared(wrong).result == "by both"
    wrong.write_text('<robot name="a"/>')
    assert imports.compared(wrong).result == "empty"
    wrong.write_text(text.replace("<mass ", "<masse ", 1))
    assert imports.compared(wrong).words.startswith("arm.urdf:")
    rows = [imports.Row("a", "agrees", 2, (1e-16, 2e-15, 0.0), "", ""), imports.Row("b", "refused", None, (), "", "")]
    assert imports.summary(rows).startswith(
        "2 files: 1 agree with their program to 2e-15, 0 have no coordinates there, either; 0 differ"
    )


def test_a_robot_that_moves_otherwise_than_in_its_program_is_told(tmp_path, monkeypatch):
    pytest.importorskip("pinocchio")
    pytest.importorskip("yourdfpy")
    path = Path(__file__).parent / "data" / "urdf" / "serial_arm.urdf"
    heavier = imports.loaded(path, {"links.hand.body.mass": 9.0})
    monkeypatch.setattr(imports, "loaded", lambda *_: heavier)
    row = imports.compared(path)
    assert row.result == "differs"
    assert row.off[0] > 0.1
