"""The benchmarks run, and their table says what it must; times are never asserted."""

import json
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import benchmarks
import sorosim
from benchmarks import __main__ as command
from benchmarks import import_motions, imports
from benchmarks.compiled_loop import compiled_loop
from benchmarks.context import JobError, Setting, start_python
from benchmarks.rigid_trees import PEERS, time_tree, tree
from benchmarks.studies import STUDIES
from sorosim.base.compiled import kernel_in_place

COLUMNS = ("median", "yardsticks", "at 17 us", "target", "met", "paper", "paper/ours", "remark")


NAMES = ["ID + derivatives, engine", "FD", "FD derivatives"]
CASES = {case.name: case for case in benchmarks.CASES}


@pytest.fixture(scope="module")
def rows() -> list[benchmarks.Row]:
    context = benchmarks.Context()
    found = [benchmarks.measured(CASES[name], context) for name in NAMES]
    return [benchmarks.yardstick_row(context), *found]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where runs of the command write, so that they do not in the repository."""
    monkeypatch.setattr(command, "FOLDER", tmp_path / "new")
    return tmp_path / "new"


def the_only(folder: Path) -> dict[str, Any]:
    """The content of the only record of a folder."""
    (path,) = folder.glob("*.json")
    return json.loads(path.read_text(encoding="utf-8"))


def broken(monkeypatch, *names: str) -> None:
    """Let cases fail."""

    def make(_: benchmarks.Context) -> None:
        raise TypeError("takes 3 positional\narguments")

    for name in names:
        monkeypatch.setitem(command.CASES, name, replace(CASES[name], make=make))


def test_run_gives_the_yardstick_and_a_row_a_case(rows):
    assert [row.name for row in rows] == [benchmarks.YARDSTICK, *NAMES]
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


def test_names_of_cases_and_studies_are_distinct():
    names = [*(case.name for case in benchmarks.CASES), *STUDIES]
    assert len(set(names)) == len(names)


def test_every_case_has_rounds_and_a_known_unit():
    for case in benchmarks.CASES:
        assert min(case.rounds, case.iterations, case.per) >= 1
        assert case.unit in ("s", "B")


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


def test_rows_are_recorded_with_machine_and_versions(folder, capsys):
    assert command.main(["--quick", *NAMES]) == 0
    content = the_only(folder)
    assert [row["name"] for row in content["rows"]] == [benchmarks.YARDSTICK, *NAMES]
    assert content["versions"]["sorosim"] == sorosim.__version__
    assert capsys.readouterr().out.splitlines()[-1] == f"written: {next(folder.glob('*.json'))}"


def test_quick_rows_say_so_and_stay_apart_from_those_of_the_pages(folder, capsys):
    command.main(["--quick", "FD derivatives"])
    row = the_only(folder)["rows"][1]
    assert row["remark"] == "quick"
    assert (row["target"], row["met"], row["paper"], row["ratio"]) == ("", None, None, None)
    assert [path.name.partition("-")[0] for path in folder.glob("*.json")] == ["quick"]
    assert benchmarks.Record.last(folder) is None


def test_a_broken_case_costs_its_row_only(folder, capsys, monkeypatch):
    broken(monkeypatch, "FD")
    assert command.main(["--quick", *NAMES]) == 1
    out, err = capsys.readouterr()
    line = next(line for line in out.splitlines() if line.startswith("FD  "))
    assert line.endswith("failed: TypeError: takes 3 positional arguments")
    assert "1 of 3 failed: FD" in err
    assert "Traceback" not in err
    found = {row["name"]: row["failed"] for row in the_only(folder)["rows"]}
    assert [name for name, failed in found.items() if failed] == ["FD"]
    assert set(found) == {benchmarks.YARDSTICK, *NAMES}
    assert command.main(["--quick", "--verbose", "FD"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_what_failed_is_named_by_the_next_run_and_measured_when_it_resumes(folder, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        broken(patch, "FD")
        command.main(["--quick", *NAMES])
    before = {row["name"]: row["median"] for row in the_only(folder)["rows"]}
    capsys.readouterr()
    assert command.main(["--quick", "--resume"]) == 0
    after = the_only(folder)["rows"]
    assert [row["name"] for row in after] == [benchmarks.YARDSTICK, *NAMES]
    assert all(row["median"] > 0.0 and not row["failed"] for row in after)
    assert [row["name"] for row in after[1:] if row["median"] == before[row["name"]]] == [NAMES[0], NAMES[2]]


def test_a_run_that_is_killed_leaves_what_it_has_measured(folder, capsys, monkeypatch):
    def stop(_: benchmarks.Context) -> None:
        raise KeyboardInterrupt

    case = replace(CASES["FD derivatives"], make=stop)
    monkeypatch.setitem(command.CASES, "FD derivatives", case)
    assert command.main(["--quick", *NAMES]) == 130
    record = benchmarks.Record.last(folder, quick=True)
    assert [row.name for row in record.rows] == NAMES[:2]
    assert record.missing == ["FD derivatives"]
    capsys.readouterr()
    monkeypatch.undo()
    monkeypatch.setattr(command, "FOLDER", folder)
    command.main(["--quick", "FD"])
    assert f"{record.path.name} lacks 1 of 3: FD derivatives (--resume" in capsys.readouterr().err


def test_the_page_takes_the_last_run_that_has_all_cases(tmp_path):
    program = runpy.run_path(str(Path(benchmarks.__file__).parents[1] / "docs" / "make_performance.py"))
    context = benchmarks.Context()
    whole = benchmarks.Record.new(tmp_path, list(CASES))
    for case in benchmarks.CASES:
        still = replace(case, make=lambda _: lambda: {"time": 2.0}, figure="time", unit="s", remark=None)
        whole.add(benchmarks.measured(still, context))
    for row in (benchmarks.measured(CASES["FD"], context), benchmarks.failed_row(CASES["FD"], ValueError())):
        benchmarks.Record.new(tmp_path, ["FD"]).add(row)
    content = program["last_whole"](tmp_path)
    assert content["time"] == whole.content["time"]
    assert f"| {benchmarks.CASES[-1].name} | 2.00 s |" in program["table"](content)
    (tmp_path / "comparison-29990101T000000.json").write_text('{"rows": []}', encoding="utf-8")  # as it once was
    assert benchmarks.Record.last(tmp_path).missing == ["FD"]
    whole.path.unlink()
    with pytest.raises(SystemExit, match="has all cases"):
        program["last_whole"](tmp_path)


def test_a_study_without_its_package_is_skipped_and_a_broken_one_fails(folder, capsys, monkeypatch):
    def needs(at: Setting) -> None:
        """Needs it."""
        at.say("first line")
        import no_such_package  # noqa: F401

    def breaks(at: Setting) -> None:
        """Breaks."""
        raise ZeroDivisionError

    monkeypatch.setitem(STUDIES, "scaling", needs)
    assert command.main(["--quick", "scaling"]) == 0
    assert "skipped: no_such_package is not installed" in capsys.readouterr().out
    study = the_only(folder)["studies"]["scaling"]
    assert (study["lines"][1:], study["state"], study["words"]) == (["first line"], "skipped", "no_such_package")
    assert study["lines"][0].startswith("yardstick ")
    monkeypatch.setitem(STUDIES, "scaling", breaks)
    assert command.main(["--quick", "scaling"]) == 1
    assert "failed: scaling" in capsys.readouterr().err


def test_an_error_of_a_python_of_its_own_is_its_last_line():
    with pytest.raises(JobError) as error:
        start_python("no such job", 0.0)
    assert str(error.value) == "in a new Python: KeyError: 'no such job'"


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
    assert "Traceback" not in refused.stderr


def test_the_command_says_where_the_benchmarks_are_when_there_is_no_repository(call, monkeypatch, tmp_path):
    monkeypatch.setattr(sorosim, "__file__", str(tmp_path / "sorosim" / "__init__.py"))
    code, _, errors = call("bench")
    assert code == 2
    assert "python -m benchmarks" in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_case_runs_and_gives_finite_numbers(name):
    case, context = CASES[name], benchmarks.Context(quick=True)
    row = benchmarks.make_row(benchmarks.time_case(case, context), context)
    assert np.isfinite(row.median)
    assert row.median > 0.0
    remark = re.sub(r"\b0( of \d+)? failed", "", row.remark)
    assert not re.search(r"\b(nan|inf|failed)\b", remark)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_every_study_runs_and_gives_finite_numbers(name, tmp_path):
    lines = []
    try:
        STUDIES[name](Setting(tmp_path, True, lines.append))
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    assert any(re.search(r"\d", line) for line in lines)
    assert not [line for line in lines if re.search(r"\b(nan|inf)\b", line)]


def test_robots_of_other_programs_are_compared_with_these(tmp_path):
    pytest.importorskip("pinocchio")
    pytest.importorskip("yourdfpy")
    pytest.importorskip("mujoco")
    data = Path(__file__).parent / "data"
    rows = [
        imports.compared(data / file)
        for file in ("urdf/serial_arm.urdf", "urdf/continuous_wheels.urdf", "mjcf/walker.xml", "mjcf/balls.xml")
    ]
    assert rows[0].coordinates == 5
    for row in rows:
        assert row.result == "agrees", row
        assert max(row.off) < 1e-12
        assert row.motion is not None
        assert row.motion.off is not None, row
        assert row.motion.off < 1e-9
    assert imports.summary(rows).splitlines()[1].startswith("one second of motion: 2 as in Pinocchio to ")
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
    assert row.motion is not None
    assert row.motion.off is not None
    assert row.motion.off > 0.01


def test_what_masses_and_forces_do_not_show_is_seen_in_the_motion(monkeypatch):
    pytest.importorskip("mujoco")
    path = Path(__file__).parent / "data" / "mjcf" / "walker.xml"
    stiffer = imports.loaded(path, {"links.rear.joint.revolute.stiffness": 10.0})
    monkeypatch.setattr(imports, "loaded", lambda *_: stiffer)
    row = imports.compared(path)
    assert row.result == "agrees"
    assert row.motion is not None
    assert row.motion.off is not None
    assert row.motion.off > 1e-4
    assert "0 as in MuJoCo to 0e+00, 1 otherwise" in imports.summary([row])


def test_motions_that_rounding_changes_are_not_compared(monkeypatch):
    robot = sorosim.load(Path(__file__).parent / "data" / "urdf" / "continuous_wheels.urdf")
    n = robot.ndof
    flow = import_motions.Flow(lambda q, qd: np.concatenate([q, qd]), lambda x: 0.0 * x, lambda x: x[:n])
    monkeypatch.setattr(import_motions, "SENSITIVE", 0.0)
    found = import_motions.motion(robot, flow, np.random.default_rng(1))
    assert found.off is None
    assert found.words == "too sensitive after 0.0 s, 0e+00 until then"
    wrong = flow._replace(coordinates=lambda x: x[:n] + 1e-3)  # from the start on
    found = import_motions.motion(robot, wrong, np.random.default_rng(1))
    assert found.off is not None
    assert found.off > 1e-3


def test_motions_differ_by_parts_of_the_largest_angle_and_length():
    names = ["hand.prismatic", "ball.spherical.rx", "ball.spherical.ry", "ball.spherical.rz"]
    a = np.array([[0.1, 0.0, 0.0, 3.2], [200.0, 0.0, 0.0, 4.0]])
    b = a.copy()
    b[:, 3] -= 2.0 * np.pi  # the same rotations
    assert import_motions.difference(a, b, names) < 1e-15
    b[1, 3] += 0.04
    np.testing.assert_allclose(import_motions.difference(a, b, names), 0.01)
    b[1, 0] -= 10.0
    np.testing.assert_allclose(import_motions.difference(a, b, names), 0.05)
    b[1, 3] = np.nan
    assert np.isnan(import_motions.difference(a, b, names))
    assert import_motions.difference(0.0 * a, 0.0 * a, names) == 0.0
