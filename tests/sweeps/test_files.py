"""Files of sweeps: killed and resumed, interrupted, changed, damaged; on a cluster; as tables."""

import csv
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sorosim
from sorosim.base.writing import journal_of
from sorosim.files.sweep_store import SweepJournal, read_blocks

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
actuators: {tendon: {tendon: {rod: arm, y: 0, z: 5 mm}}}
statics: {driven: {turn: 0}}
simulate: {driven: {turn: 0}}
"""
SWEEP = """sorosim_sweep: 1
robot: arm.yaml
points:
  random: {n: 18, seed: 4, over: {u.tendon: [0, 3 N], links.arm.rod.length: [18 cm, 20 cm]}}
block: 2
"""
RUNS = """sorosim_sweep: 1
robot: arm.yaml
task: {simulate: {t_end: 0.4 s, method: cvode, rtol: 1e-6, atol: 1e-9}}
points: {grid: {u.tendon: {from: 0, to: 3 N, n: 30}}}
summary: {highest: {max: arm.z}}
"""
REPO = Path(sorosim.__file__).parents[1]


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, text in (("arm.yaml", ARM), ("sweep.yaml", SWEEP), ("runs.yaml", RUNS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_same(a, b):
    """The same bits."""
    assert a.arrays.keys() == b.arrays.keys()
    for name in a.arrays:
        assert_array_equal(a.arrays[name], b.arrays[name], strict=True)
    assert a.messages == b.messages
    assert a.plan.as_data() == b.plan.as_data()


def start(code):
    """A process of its own that runs code, with whatever it starts."""
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip


def wait_for_blocks(process, path, n):
    """Wait until a sweep has n blocks in its journal."""
    while True:
        assert process.poll() is None, process.communicate()
        if journal_of(path).exists() and len(read_blocks(path)[1]) >= n:
            return
        time.sleep(0.01)


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_sweep_that_was_killed_goes_on_to_the_same_bits(here, jobs):
    process = start(f"import sorosim; sorosim.sweep('runs.yaml', jobs={jobs}, out='runs.h5')")
    wait_for_blocks(process, "runs.h5", 5)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not Path("runs.h5").exists()
    part = sorosim.open("runs.h5")
    n_done = int((part.status != "pending").sum())
    assert 5 <= n_done < 30
    assert f"{n_done} ok, {30 - n_done} pending" in repr(part)
    told = []
    resumed = sorosim.sweep("runs.yaml", jobs=1, out="runs.h5", resume=True, progress=lambda *x: told.append(x))
    assert told[0] == (n_done, 30, 0)
    assert len(told) == 1 + 30 - n_done
    assert_same(resumed, sorosim.sweep("runs.yaml"))
    assert_same(sorosim.open("runs.h5"), resumed)
    assert not journal_of("runs.h5").exists()


def test_a_journal_that_was_cut_anywhere_goes_on_to_the_same_bits(here, monkeypatch):
    whole = sorosim.sweep("sweep.yaml", out="sweep.h5")
    interrupt_after(monkeypatch, "part.h5", 5)
    content = journal_of("part.h5").read_bytes()
    first = len(content) - len(content.partition(b'{"number"')[2])
    rng = np.random.default_rng(0)
    for cut in [first, len(content) - 1, *rng.integers(first, len(content), 3)]:
        journal_of("part.h5").write_bytes(content[:cut])
        assert_same(sorosim.sweep("sweep.yaml", out="part.h5", resume=True), whole)
        Path("part.h5").unlink()
    # a damaged byte: what comes after it is computed again
    middle = (first + len(content)) // 2
    journal_of("part.h5").write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    assert_same(sorosim.sweep("sweep.yaml", out="part.h5", resume=True), whole)


def interrupt_after(monkeypatch, out, n):
    """Ctrl-C in a sweep after n blocks; returns the error."""
    told = []

    def progress(*numbers):
        told.append(numbers)
        if len(told) == n + 1:
            raise KeyboardInterrupt

    with pytest.raises(sorosim.Interrupted) as caught:
        sorosim.sweep("sweep.yaml", out=out, progress=progress)
    return caught.value


def test_ctrl_c_keeps_what_there_is(here, monkeypatch):
    error = interrupt_after(monkeypatch, "sweep.h5", 7)
    assert str(error) == "interrupted at 14 of 18 points; completed points are in sweep.h5; resume continues from there"
    part = sorosim.open("sweep.h5")
    assert_same(part, error.partial)
    assert (part.status == "pending").sum() == 4
    assert not part.complete
    resumed = sorosim.sweep("sweep.yaml", out="sweep.h5", resume=True)
    assert_same(resumed, sorosim.sweep("sweep.yaml"))
    # a partial result that was saved by hand is gone on with as well
    error.partial.save("by_hand.h5")
    assert_same(sorosim.sweep("sweep.yaml", out="by_hand.h5", resume=True), resumed)


def test_results_are_not_overwritten_by_mistake(here):
    first = sorosim.sweep("sweep.yaml", out="sweep.h5")
    changed = Path("sweep.h5").stat().st_mtime_ns
    with pytest.raises(sorosim.FileError, match=r"sweep\.h5: expected no file yet, got one; resume it"):
        sorosim.sweep("sweep.yaml", out="sweep.h5")
    assert Path("sweep.h5").stat().st_mtime_ns == changed
    assert_same(sorosim.sweep("sweep.yaml", out="sweep.h5", resume=True), first)  # nothing is left to do
    Path("sweep.yaml").write_text(SWEEP.replace("seed: 4", "seed: 5"))
    assert not np.array_equal(sorosim.sweep("sweep.yaml", out="sweep.h5", force=True).q, first.q)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("arm.yaml", "mass: 20 g", "mass: 21 g", "expected the robot as it was when the sweep began"),
        ("sweep.yaml", "seed: 4", "seed: 5", "another one: 'points' changed"),
        ("sweep.yaml", "block: 2", "block: 4", "another one: 'block' changed"),
        ("sweep.yaml", "block: 2", "block: 2\nstart: cold", "another one: 'start' changed"),
        ("sweep.yaml", "block: 2", "block: 2\noutputs: [arm]", "another one: 'outputs' changed"),
    ],
)
def test_another_sweep_or_robot_is_not_resumed(here, monkeypatch, file, old, new, message):
    interrupt_after(monkeypatch, "sweep.h5", 2)
    text = Path(file).read_text()
    Path(file).write_text(text.replace(old, new))
    with pytest.raises(sorosim.FileError, match=message):
        sorosim.sweep("sweep.yaml", out="sweep.h5", resume=True)
    Path(file).write_text(text)
    assert sorosim.sweep("sweep.yaml", out="sweep.h5", resume=True).complete


def test_another_version_of_the_software_is_told(here, monkeypatch):
    interrupt_after(monkeypatch, "sweep.h5", 2)
    now = {"sorosim": sorosim.__version__, "numpy": "0.1", "scipy": "0.2", "python": "2.7"}
    monkeypatch.setattr("sorosim.studies.sweeps.driver.versions", lambda: now)
    with pytest.warns(sorosim.SorosimWarning, match=r"begun with numpy .*, now 0\.1"):
        sorosim.sweep("sweep.yaml", out="sweep.h5", resume=True)


def test_a_sweep_is_no_run_to_resume(here):
    sorosim.sweep("sweep.yaml", out="sweep.h5")
    with pytest.raises(sorosim.InputError, match=r"sweep\.h5: expected the file of a run, got that of a sweep"):
        sorosim.resume("sweep.h5")


def test_other_readers_find_the_columns(here):
    sweep = sorosim.sweep("sweep.yaml", out="sweep.h5")
    with h5py.File("sweep.h5") as file:
        assert file["kind"].asstr()[()] == "sweep"
        assert_array_equal(file["parameters"]["u.tendon"][:], sweep.values[:, 0])
        assert_array_equal(file["columns"]["arm.z"][:], sweep.tip()[:, 2])
        assert_array_equal(file["arrays"]["q"][:], sweep.q)


@pytest.mark.parametrize("damage", ["cut", "plan", "arrays", "version"])
def test_damaged_files_are_refused_in_one_line(here, damage):
    sorosim.sweep("sweep.yaml", out="sweep.h5")
    if damage == "cut":
        Path("sweep.h5").write_bytes(Path("sweep.h5").read_bytes()[:5000])
    else:
        with h5py.File("sweep.h5", "a") as file:
            if damage == "plan":
                del file["plan"]
            elif damage == "arrays":
                del file["arrays"]["q"]
            else:
                file.attrs["format_version"] = 99
    with pytest.raises(sorosim.FileError, match=r"sweep\.h5: expected"):
        sorosim.open("sweep.h5")


def test_tables_hold_all_digits(here):
    sweep = sorosim.sweep("sweep.yaml")
    sweep.to_csv("sweep.csv")
    with open("sweep.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(sweep.columns)
    for name, column in sweep.columns.items():
        if column.dtype.kind == "f":
            assert_array_equal([float(row[name]) for row in rows], column)
    parquet = pytest.importorskip("pyarrow.parquet")
    sweep.to_parquet("sweep.parquet")
    table = parquet.read_table("sweep.parquet")
    assert table.column_names == list(sweep.columns)
    for name, column in sweep.columns.items():
        assert_array_equal(np.array(table[name].to_pylist()), column)


def test_a_grid_has_a_dimension_for_each_parameter(here):
    pytest.importorskip("xarray")
    robot = sorosim.load("arm.yaml")
    grid = {"grid": {"u.tendon": [0, 1, 2], "links.arm.rod.length": ["18 cm", "20 cm"]}}
    sweep = sorosim.sweep(robot, grid)
    data = sweep.to_xarray()
    assert data["position"].dims == ("u.tendon", "links.arm.rod.length", "output", "axis")
    assert data["u.tendon"].attrs["units"] == "N"
    for i in range(len(sweep)):
        at = data.sel(dict(sweep.point(i).items()))
        assert_array_equal(at["position"].sel(output="arm"), sweep.tip()[i])
        assert_array_equal(at["q"], sweep.q[i])
        assert float(at["energy.elastic"]) == sweep.columns["energy.elastic"][i]
    scattered = sorosim.sweep("sweep.yaml").to_xarray()
    assert scattered["position"].dims == ("point", "output", "axis")
    assert scattered["u.tendon"].dims == ("point",)


def test_a_package_that_is_missing_is_named(here, monkeypatch):
    sweep = sorosim.sweep("sweep.yaml")
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(sorosim.InputError, match=r"the package xarray.*pip install 'sorosim\[tables\]'"):
        sweep.to_xarray()


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits(here):
    distributed = pytest.importorskip("dask.distributed")
    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        found = sorosim.sweep("sweep.yaml", scheduler=address, out="sweep.h5")
        workers = {tuple(x) for x in cluster.scheduler_info["workers"]}
        assert len(workers) == 3
        runs = sorosim.sweep("runs.yaml", scheduler=address)
    assert_same(found, sorosim.sweep("sweep.yaml"))
    assert_same(sorosim.open("sweep.h5"), found)
    assert_same(runs, sorosim.sweep("runs.yaml"))


def n_tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


@pytest.mark.slow
def test_a_cluster_computes_and_may_grow_meanwhile_and_vanish(here, monkeypatch):
    """Nothing is computed here, not even with one worker; blocks wait for workers that come later."""
    distributed = pytest.importorskip("dask.distributed")
    whole = sorosim.sweep("runs.yaml")
    monkeypatch.setattr("sorosim.studies.sweeps.task.simulate", None)  # of this process only
    told = []
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def progress(done, *_):
            told.append((done, client.run_on_scheduler(n_tasks)))

        found = sorosim.sweep("runs.yaml", scheduler=cluster.scheduler_address, progress=progress)
        assert_same(found, whole)
        assert max(n for done, n in told if done) > 10  # not two for each of the workers that were there

        def lose(done, *_):
            if done == 10:
                cluster.close()

        with pytest.raises(
            sorosim.InputError, match=r"scheduler: expected a connection to the scheduler to the end, got .*, which was"
        ):
            sorosim.sweep("runs.yaml", scheduler=cluster.scheduler_address, progress=lose, out="runs.h5")
    assert (sorosim.open("runs.h5").status == "ok").sum() >= 10


BLIND = """
import sys
sys.modules["sorosim"] = None
sys.argv = ["worker", {!r}, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
from distributed.cli.dask_worker import main
main()
"""


@pytest.mark.slow
def test_workers_without_sorosim_are_told(here):
    """Such a worker ends without a word when it is sent a block, and Dask would wait for others."""
    distributed = pytest.importorskip("dask.distributed")
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        worker = start(BLIND.format(cluster.scheduler_address))
        with pytest.raises(sorosim.InputError, match=r"expected workers that can compute blocks, got ModuleNotFound"):
            sorosim.sweep("sweep.yaml", scheduler=cluster.scheduler_address)
        worker.kill()
        worker.communicate()


@pytest.mark.slow
def test_a_cluster_without_workers_is_one_line(here, monkeypatch):
    distributed = pytest.importorskip("dask.distributed")
    monkeypatch.setattr("sorosim.studies.sweeps.pool.WORKER_TIMEOUT", 0.2)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(sorosim.InputError, match=r"scheduler: expected a cluster with workers, got .* without any"):
            sorosim.sweep("sweep.yaml", scheduler=address)


def test_as_many_processes_as_this_one_may_use(here, monkeypatch):
    """Queues and containers give a part of a machine only, which `os.cpu_count` does not know."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    used = []
    monkeypatch.setattr(
        "sorosim.studies.sweeps.driver.computed_blocks", lambda *_: used.append(_[3]) or (x for x in ())
    )
    sorosim.sweep("sweep.yaml", jobs=-1)
    assert used == [1]


def test_a_scheduler_that_does_not_answer_is_one_line(here, monkeypatch):
    pytest.importorskip("dask.distributed")
    monkeypatch.setattr("sorosim.studies.sweeps.pool.CONNECT_TIMEOUT", 0.5)
    with pytest.raises(sorosim.InputError, match="scheduler: expected the address of a Dask scheduler that answers"):
        sorosim.sweep("sweep.yaml", scheduler="tcp://127.0.0.1:9", out="sweep.h5")
    assert not journal_of("sweep.h5").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows itself does not replace a file that is open")
@pytest.mark.parametrize("how", ["resume", "force"])
def test_a_file_is_written_by_one_sweep_at_a_time(here, how):
    """Another process goes on with or replaces the sweep that is under way."""
    other = f"import sorosim; sorosim.sweep('sweep.yaml', out='sweep.h5', {how}=True)"
    said = []

    def meanwhile(done, *_):
        if done == 4:
            said.append(start(other).communicate()[1])
            assert len(read_blocks("sweep.h5")[1]) == 2

    whole = sorosim.sweep("sweep.yaml", out="sweep.h5", progress=meanwhile)
    assert "sweep.h5: is being written by another process" in said[0]
    assert_same(sorosim.open("sweep.h5"), whole)
    assert sorted(path.name for path in here.glob("sweep.h5*")) == ["sweep.h5"]
    sorosim.sweep("sweep.yaml", out="sweep.h5", force=True)  # it is free again


@pytest.mark.skipif(sys.platform == "win32", reason="Windows itself does not replace a file that is open")
def test_a_journal_that_is_about_to_begin_is_held_too(tmp_path):
    first = SweepJournal(tmp_path / "a.h5", {})
    for step in (first.begin, first.close):
        with pytest.raises(sorosim.FileError, match="is being written by another process"):
            SweepJournal(tmp_path / "a.h5", {})
        step()
    SweepJournal(tmp_path / "a.h5", {}).remove()
    assert not list(tmp_path.iterdir())
