"""Runs that end early and go on: checkpoints, journals, kill -9, interrupts, full disks."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.analysis.motion.integration import restart_times
from sorosim.analysis.results.result import Run
from sorosim.base.writing import journal_of, reserved
from sorosim.files.journal import MAGIC, Records, read_journal, records

ARM = sorosim.load("cable_manipulator")
METHODS = ("bdf", "radau", "lsoda", "cvode")
FINGER = """
sorosim: 1
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 5 kPa*s}}
links:
  turn:
    joint: {revolute: {axis: [0, 1, 0]}}
    body: {mass: 20 g, inertia: [1e-6, 1e-6, 1e-6]}
  finger:
    parent: turn
    rod: {length: 20 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2}}
actuators:
  tendon: {tendon: {rod: finger, y: 0, z: 5 mm}}
"""


def assert_same_run(a, b):
    for name in ("t", "q", "qd", "u", "lam"):
        assert_array_equal(getattr(a, name), getattr(b, name), strict=True)
    assert_array_equal(a.exchanged, b.exchanged, strict=True)
    assert a.driven.keys() == b.driven.keys()
    for name in a.driven:
        assert_array_equal(a.driven[name], b.driven[name])


def test_checkpoints_are_multiples_moved_onto_output_times():
    options = {"t_end": 1.0, "dt_out": 0.01, "checkpoint": 0.3}
    times = restart_times(options, "checkpoint")
    assert_array_equal(times, 0.01 * np.array([30.0, 60.0, 90.0]))
    assert_array_equal(restart_times({**options, "checkpoint": None}, "checkpoint"), [])
    assert restart_times({**options, "checkpoint": 0.25}, "checkpoint")[-1] == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_run_with_checkpoints_is_as_good_as_one_without(method):
    plain = sorosim.simulate(ARM, 1.0, method=method, rtol=1e-7, atol=1e-10)
    broken = sorosim.simulate(ARM, 1.0, method=method, rtol=1e-7, atol=1e-10, checkpoint=0.13)
    assert np.abs(plain.tip() - broken.tip()).max() < 3e-7
    assert len(broken.checkpoints.t) == 8
    assert plain.checkpoints is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("checkpoint", [0.1, 0.0737])  # on output times, and beside them
def test_a_run_goes_on_to_a_later_end_with_the_same_bits(method, checkpoint):
    whole = sorosim.simulate(ARM, 0.6, method=method, checkpoint=checkpoint)
    part = sorosim.simulate(ARM, 0.35, method=method, checkpoint=checkpoint)
    longer = sorosim.resume(part, 0.6)
    assert_same_run(longer, whole)
    assert_array_equal(longer.checkpoints.t, whole.checkpoints.t)
    for name in whole.stats:
        if name != "wall_time":
            assert longer.stats[name] == whole.stats[name]


def test_without_checkpoints_a_run_goes_on_from_its_last_row():
    whole = sorosim.simulate(ARM, 0.4, rtol=1e-7, atol=1e-10)
    longer = sorosim.resume(sorosim.simulate(ARM, 0.2, rtol=1e-7, atol=1e-10), 0.4)
    assert_array_equal(longer.t, whole.t)
    assert np.abs(longer.q - whole.q).max() < 1e-5 * np.abs(whole.q).max()


def test_driven_joints_and_units_in_signals_survive_the_file(tmp_path):
    (tmp_path / "finger.yaml").write_text(
        FINGER + "simulate: {t_end: 0.4, checkpoint: 0.1, driven: {turn: '20 deg*sin(3*t)'}, u: {tendon: '2 N*t'}}\n"
    )
    robot = sorosim.load(tmp_path / "finger.yaml")
    whole = sorosim.simulate(robot)
    sorosim.simulate(robot, 0.25, out=tmp_path / "run.h5")
    longer = sorosim.resume(tmp_path / "run.h5", 0.4)
    assert_same_run(longer, whole)
    assert_same_run(sorosim.open(tmp_path / "run.h5"), whole)  # it is the default target, too


def test_a_python_function_has_to_be_given_again(tmp_path):
    def pull(t):
        return 5.0 * t

    whole = sorosim.simulate(ARM, 0.3, u={"cable1": pull}, checkpoint=0.1)
    sorosim.simulate(ARM, 0.2, u={"cable1": pull}, checkpoint=0.1, out=tmp_path / "run.h5")
    with pytest.raises(sorosim.InputError, match=r"^u: expected the inputs again, got a Python function for 'cable1'"):
        sorosim.resume(tmp_path / "run.h5", 0.3)
    assert_same_run(sorosim.resume(tmp_path / "run.h5", 0.3, u={"cable1": pull}), whole)


def test_what_cannot_go_on_is_refused(tmp_path):
    run = sorosim.simulate(ARM, 0.1)
    with pytest.raises(sorosim.InputError, match=r"^t_end: expected a time after 0.1 s, to which the run has come"):
        sorosim.resume(run)
    with pytest.raises(sorosim.InputError, match=r"^run: expected a Run or the path"):
        sorosim.resume(3)
    sorosim.statics(ARM).save(tmp_path / "rest.h5")
    with pytest.raises(sorosim.InputError, match="expected the file of a run, got that of an equilibrium"):
        sorosim.resume(tmp_path / "rest.h5")
    with pytest.raises(sorosim.InputError, match=r"^checkpoint: expected a time greater than 0, got -1"):
        sorosim.simulate(ARM, 0.1, checkpoint=-1)


def test_events_and_dense_output_pass_over_checkpoints():
    def level(t, q, qd):
        return q[5] - 0.01

    def last(t, q, qd):
        return t - 0.47

    last.terminal = True
    plain = sorosim.simulate(ARM, 1.0, rtol=1e-8, atol=1e-11, events=[level, last])
    broken = sorosim.simulate(ARM, 1.0, rtol=1e-8, atol=1e-11, events=[level, last], checkpoint=0.1, dense=True)
    assert len(broken.events[0][0]) == len(plain.events[0][0])
    assert np.abs(broken.events[0][0] - plain.events[0][0]).max(initial=0.0) < 1e-6
    assert broken.events[1][0] == pytest.approx([0.47])
    assert broken.t[-1] == pytest.approx(0.47, abs=0.011)
    for k in (3, 10, 25, 44):
        assert np.abs(broken.at(broken.t[k])[0] - broken.q[k]).max() < 1e-12


def swings(t, q, qd):
    return q[0]


def test_events_after_the_checkpoint_are_found_once(tmp_path):
    pendulum, start = sorosim.load("pendulum"), {"q0": [0.5], "events": [swings], "checkpoint": 2.0}
    whole = sorosim.simulate(pendulum, 4.0, **start)
    first = sorosim.simulate(pendulum, 3.0, **start)
    assert (first.events[0][0] > 2.0).any()  # they lie in what is integrated once more
    again = sorosim.resume(first, 4.0, events=[swings])
    assert_array_equal(again.events[0][0], whole.events[0][0])


def test_events_of_a_finished_run_survive_the_journal_of_its_continuation(tmp_path):
    file = tmp_path / "run.h5"
    first = sorosim.simulate(sorosim.load("pendulum"), 1.5, q0=[0.5], events=[swings], checkpoint=0.5, out=file)
    assert len(first.events[0][0]) == 2
    with pytest.MonkeyPatch.context() as patch:  # as if it were killed at its end
        patch.setattr(Records, "remove", Records.close)
        patch.setattr(Run, "save", lambda *_: None)
        sorosim.resume(file, 2.0, events=[swings])
    left = sorosim.open(file)
    assert "unfinished" in left.message
    for mine, theirs in zip(left.events[0], first.events[0], strict=True):
        assert_array_equal(mine, theirs)
    again = sorosim.resume(file, 2.0, events=[swings])
    whole = sorosim.simulate(sorosim.load("pendulum"), 2.0, q0=[0.5], events=[swings], checkpoint=0.5)
    assert_array_equal(again.events[0][0], whole.events[0][0])
    assert len(whole.events[0][0]) == 3


def test_a_continuation_that_cannot_begin_leaves_the_file_as_it_was(tmp_path):
    file = tmp_path / "run.h5"
    sorosim.simulate(sorosim.load("pendulum"), 0.5, q0=[0.5], events=[swings], out=file)
    with pytest.raises(sorosim.InputError, match="a finite number"):
        sorosim.resume(file, 1.0, events=[lambda t, q, qd: "none"])
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
    assert "unfinished" not in sorosim.open(file).message


# -- files -------------------------------------------------------------------------------------------------------------

SLOW = """
import sys, time
import sorosim

robot = sorosim.load("cable_manipulator")
count = 0

def slowly(t):
    global count
    count += 1
    if t > 0.05 and count > 5:  # some rows must be there, however slow the machine is
        print("under way", flush=True)
    time.sleep(0.001)

sorosim.simulate(robot, 100.0, checkpoint=0.1, out=sys.argv[1], progress=slowly)
"""


def start_process(script, *words):
    environment = {**os.environ, "PYTHONPATH": str(Path(sorosim.__file__).parents[1])}
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, words)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_ctrl_c
    )


def forked(work, *arguments, **options):
    """A process that does some work in the robots and compiled code of this one."""
    child = os.fork()
    if child == 0:
        try:
            work(*arguments, **options)
            os._exit(0)
        finally:
            os._exit(1)
    return child


def hear_ctrl_c():
    """Jobs in the background of a shell inherit that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 20))])
def test_a_run_killed_at_any_moment_opens_and_ends_with_the_same_bits(seed, tmp_path, whole_runs):
    rng = np.random.default_rng(seed)
    method = ("bdf", "cvode")[seed % 2]
    file, outputs, under_way = tmp_path / "run.h5", iter(range(10**6)), tmp_path / "under_way"

    def slowly(t):  # some milliseconds of wall time an output: the moment of death falls anywhere
        if next(outputs) == 5:
            under_way.touch()
        time.sleep(0.001)

    child = forked(sorosim.simulate, ARM, 1.0, method=method, checkpoint=0.1, out=file, progress=slowly)
    while not under_way.exists():
        time.sleep(0.001)
    time.sleep(rng.uniform(0.0, 1.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

    part = sorosim.open(file)
    whole = whole_runs(method)
    assert_array_equal(part.q, whole.q[: len(part.t)])
    if journal_of(file).exists():
        assert part.message.startswith("unfinished: ")
        assert 1 <= len(part.t) <= len(whole.t)
        again = sorosim.resume(file)
        assert_same_run(again, whole)
    assert_same_run(sorosim.open(file), whole)
    assert not journal_of(file).exists()


def test_bits_do_not_depend_on_what_was_called_before():
    """Which copy of a compiled function is linked depends on the order of loading; all of them must compute alike."""
    script = """
    import sys
    import numpy as np
    import sorosim

    robot = sorosim.load("cable_manipulator")
    zero = np.zeros(24)
    if sys.argv[1] == "poses":
        robot.pose(zero, "arm", s=0.3), robot.kinematics(zero), robot.energy(zero, zero), robot.tendon_lengths(zero)
    print(sorosim.simulate(robot, 0.3, method="cvode").q.tobytes().hex())
    """
    one, other = (start_process(script, first).communicate()[0] for first in ("poses", "dynamics"))
    assert one
    assert one == other


@pytest.fixture(scope="module")
def whole_runs():
    kept = {}

    def of(method):
        if method not in kept:
            kept[method] = sorosim.simulate(ARM, 1.0, method=method, checkpoint=0.1)
        return kept[method]

    return of


def test_a_journal_cut_anywhere_opens_with_what_is_whole(tmp_path, whole_runs):
    file = tmp_path / "run.h5"
    _, journal = journalled(file, ARM, 1.0, method="bdf", checkpoint=0.1)
    rows = len(sorosim.open(file).t)
    assert rows == 101
    rng = np.random.default_rng(5)
    for end in (0, 5, len(MAGIC), len(MAGIC) + 7, *rng.integers(len(MAGIC), len(journal), 25)):
        journal_of(file).write_bytes(journal[:end])
        try:
            part = sorosim.open(file)
        except sorosim.FileError:
            assert end < 8000  # the head holds the robot
            continue
        assert_array_equal(part.q, whole_runs("bdf").q[: len(part.t)])
    # a damaged record ends the journal there
    damaged = bytearray(journal)
    damaged[len(journal) // 2] ^= 1
    journal_of(file).write_bytes(damaged)
    assert 1 < len(sorosim.open(file).t) < rows


def journalled(file, *arguments, **options):
    """A run, and its journal, which is left beside the file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Records, "remove", Records.close)
        patch.setattr(Run, "save", lambda *_: None)  # which would remove the journal, too
        run = sorosim.simulate(*arguments, **options, out=file)
    return run, journal_of(file).read_bytes()


def pull(t, q, qd):
    return [50.0 * t * (1.0 + q[0]), 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("four_bar", {"t_end": 0.4, "checkpoint": 0.2}),
        ("four_bar", {"t_end": 0.4, "checkpoint": 0.137, "method": "ida", "projection": False}),
        # multipliers of restarts, and where rows of the loop depend on each other
        ("four_bar", {"t_end": 0.4, "checkpoint": 0.1, "projection": False}),
        # a row at a sample is written after the checkpoint there, or after later ones
        ("cable_manipulator", {"t_end": 0.1, "checkpoint": 0.04, "controller": pull, "dt_control": 0.02}),
        ("cable_manipulator", {"t_end": 0.2, "dt_out": 0.06, "checkpoint": 0.02, "controller": pull, "dt_control": 0.02,
                               "method": "generalized-alpha"}),
    ],
)  # fmt: skip
def test_a_run_resumed_after_any_record_of_its_journal_ends_with_the_same_bits(name, options, tmp_path):
    robot, file = sorosim.load(name), tmp_path / "run.h5"
    whole, journal = journalled(file, robot, **options)
    ends = len(MAGIC) + np.cumsum([9 + len(content) for _, content in records(journal, MAGIC, b"hrc")])
    assert len(ends) > 5
    kinds = [kind for kind, _ in records(journal, MAGIC, b"hrc")]
    # next to checkpoints: what is between them is no other start
    near = [k for k in range(1, len(kinds)) if b"c" in kinds[k - 1 : k + 2]]
    for end in ends[near[::2] + near[-1:]]:
        journal_of(file).write_bytes(journal[:end])
        again = sorosim.resume(file, controller=options.get("controller"))
        assert_same_run(again, whole)
        assert_same_run(sorosim.open(file), whole)
        for part, wanted in zip(again.checkpoints[:3], whole.checkpoints[:3], strict=True):
            assert_array_equal(part, wanted)


@pytest.mark.parametrize("n", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_a_linkage_killed_at_any_moment_and_again_while_resumed_ends_with_the_same_bits(n, tmp_path):
    robot, file, rng = sorosim.load("four_bar"), tmp_path / "run.h5", np.random.default_rng(n)
    options = {"t_end": 1.0, "checkpoint": 0.05}
    begin = time.perf_counter()
    whole = sorosim.simulate(robot, **options)
    wall_time, resumed = time.perf_counter() - begin, 0
    for _ in range(n):
        work, arguments = sorosim.simulate, (robot,)
        for _ in range(rng.integers(1, 4)):
            child = forked(work, *arguments, **(options if work is sorosim.simulate else {}), out=file)
            until = time.perf_counter() + 10.0
            while not (journal_of(file).exists() or file.exists()) and time.perf_counter() < until:
                pass
            time.sleep(wall_time * rng.choice([0.02, 1.0]) * rng.uniform())  # some of them amid the first records
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            if not journal_of(file).exists() or not len(sorosim.open(file).checkpoints.t):
                break
            work, arguments = sorosim.resume, (file,)
        if work is sorosim.resume and journal_of(file).exists():
            sorosim.resume(file)
            resumed += 1
        if file.exists():
            assert_same_run(sorosim.open(file), whole)
        file.unlink(missing_ok=True)
        journal_of(file).unlink(missing_ok=True)
    assert resumed > n / 3


def test_a_journal_takes_its_place_with_the_start(tmp_path, monkeypatch):
    """A process that is killed there leaves a run to resume, not an empty one in the place of another."""
    counts, begin = [], Records.begin

    def counted(self):
        counts.append(len(read_journal(self._beside)["checkpoints"]))
        begin(self)

    monkeypatch.setattr(Records, "begin", counted)
    sorosim.simulate(ARM, 0.05, out=tmp_path / "run.h5", checkpoint=0.02)
    assert counts == [1]


def test_an_older_result_stays_until_the_new_one_is_complete(tmp_path):
    file = tmp_path / "run.h5"
    old = sorosim.simulate(ARM, 0.05, out=file)
    before = file.read_bytes()

    def stop(t):
        if t > 0.05:
            raise RuntimeError("a mistake in a user's function")

    with pytest.raises(RuntimeError):
        sorosim.simulate(ARM, 0.1, out=file, progress=stop)
    assert file.read_bytes() == before
    assert len(sorosim.open(file).t) >= 1
    journal_of(file).unlink()
    assert_same_run(sorosim.open(file), old)


def test_ctrl_c_keeps_what_there_is(tmp_path):
    file = tmp_path / "run.h5"
    process = start_process(SLOW, file)
    assert process.stdout.readline() == "under way\n"
    process.send_signal(signal.SIGINT)
    _, problems = process.communicate()
    assert "Interrupted: interrupted at t = " in problems
    run = sorosim.open(file)
    assert 1 < len(run.t) < 10_001  # it did not go on to its end
    assert run.message.startswith("interrupted at t = ")
    assert not journal_of(file).exists()


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_hands_over_the_run_so_far(method):
    def stop(t):
        if t > 0.1:
            raise KeyboardInterrupt

    with pytest.raises(sorosim.Interrupted, match=r"^interrupted at t = 0\.1") as caught:
        sorosim.simulate(ARM, 0.5, method=method, progress=stop)
    assert 0.05 < caught.value.partial.t[-1] <= 0.11


def test_a_full_disk_is_one_sentence_and_what_came_before_is_kept(tmp_path):
    file, said = tmp_path / "run.h5", tmp_path / "said.txt"

    def fill_the_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
        with pytest.raises(sorosim.FileError) as caught:
            sorosim.simulate(ARM, 2.0, out=file)
        said.write_text(str(caught.value))

    assert os.waitpid(forked(fill_the_disk), 0)[1] == 0
    assert said.read_text().startswith(f"{file}: cannot be written: File too large; what there is, up to t = ")
    assert said.read_text().endswith(f"is in {journal_of(file)}")
    assert len(sorosim.open(file).t) > 10
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 30_000


@pytest.mark.parametrize("target", ["no/such/folder/run.h5", "."])
def test_an_unwritable_target_is_found_before_anything_is_computed(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sorosim.FileError, match="cannot be written: "):
        sorosim.simulate(ARM, 1e4, out=target)
    assert list(tmp_path.iterdir()) == []


def test_a_plain_hdf5_reader_and_matlab_find_everything(tmp_path):
    run = sorosim.simulate(ARM, 0.2, checkpoint=0.1, out=tmp_path / "run.h5", events=[lambda t, q, qd: q[5] - 1e-3])
    with h5py.File(tmp_path / "run.h5") as file:
        assert_array_equal(file["q"], run.q)
        assert_array_equal(file["checkpoints/t"], [0.0, 0.1, 0.2])
        assert_array_equal(file["energy/balance"], run.energy().balance)
        assert_array_equal(file["exchanged"], run.exchanged)
        assert file["options/u/cable1"].asstr()[()] == "5*(1 - cos(pi*t))"
        assert_array_equal(file["events/0/t"], run.events[0][0])
    opened = sorosim.open(tmp_path / "run.h5")
    assert_array_equal(opened.events[0][1], run.events[0][1])
    run.to_mat(tmp_path / "run.mat")
    mat = scipy.io.loadmat(tmp_path / "run.mat", simplify_cells=True)
    assert_array_equal(mat["q"], run.q)
    assert list(mat["actuator_names"]) == list(ARM.actuator_names)
    assert_array_equal(mat["energy"]["kinetic"], run.energy().kinetic)


def test_a_run_that_fails_before_it_begins_leaves_no_journal(tmp_path):
    with pytest.raises(sorosim.InputError):
        sorosim.simulate(sorosim.load("pendulum"), 0.1, events=[lambda t, q, qd: "x"], out=tmp_path / "run.h5")
    assert list(tmp_path.iterdir()) == []


# -- one writer at a time ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        lambda file: sorosim.simulate(ARM, 0.02, out=file),
        lambda file: sorosim.resume(sorosim.simulate(ARM, 0.02), 0.04, out=file),
        lambda file: sorosim.sweep(ARM, {"grid": {"u.cable1": [0.0, 1.0]}}, out=file, force=True),
        lambda file: sorosim.statics(ARM).save(file),
        lambda file: sorosim.continuation(ARM, {"u.cable1": 1.0}).save(file),
    ],
    ids=["simulate", "resume", "sweep", "statics", "continuation"],
)
def test_a_file_that_a_run_is_writing_is_refused_until_its_process_ends(other, tmp_path):
    file = tmp_path / "run.h5"
    child = forked(sorosim.simulate, ARM, 100.0, out=file)
    try:
        while not journal_of(file).exists():
            time.sleep(0.01)
        with pytest.raises(sorosim.FileError, match=r"run\.h5: is being written by another process; wait until it has"):
            other(file)
        assert journal_of(file).exists()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    other(file)
    assert not journal_of(file).exists()
    assert sorosim.open(file).robot.ndof == ARM.ndof


@pytest.mark.parametrize("command", ["statics", "modes", "continuation"])
def test_commands_refuse_a_file_that_is_being_written_before_they_compute(command, tmp_path, call, monkeypatch):
    def never(*_, **__):
        raise AssertionError("computed")

    for name in ("statics", "continuation"):
        monkeypatch.setattr(sorosim, name, never, raising=False)
    file = tmp_path / "run.h5"
    child = forked(hold, file, tmp_path / "ready")
    try:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        way = ("--along", "u.cable1", "--to", "1") if command == "continuation" else ()
        code, _, problems = call(command, "cable_manipulator", *way, "--out", str(file))
        assert code == 2
        assert "is being written by another process" in " ".join(problems.split())
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with reserved(file):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["ready"]


def hold(file, ready):
    with reserved(file):
        ready.touch()
        time.sleep(60.0)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("", "path: expected a path, got ''"),
        ("a\0b.h5", "path: expected a path that the system can have, got "),
        ("\ud800.h5", "path: expected a path that the system can have, got "),
        ("x" * 300 + ".h5", "cannot be written: File name too long"),
        ("none/x.h5", "none/x.h5: cannot be written: there is no folder none; make it first"),
        ("plain/x.h5", "plain/x.h5: cannot be written: there is no folder plain; make it first"),
        (".", "cannot be written: it is a folder"),
        ("/dev/null", "/dev/null: cannot be written: it is no ordinary file"),
        ("read_only.h5", "read_only.h5: cannot be written: it is read-only"),
        (3, "path: expected a path, got 3"),
    ],
)
def test_an_impossible_target_is_one_error_before_anything_is_computed(out, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plain").touch()
    Path("read_only.h5").touch(0o444)
    before = sorted(path.name for path in tmp_path.iterdir())
    for work in (
        lambda: sorosim.simulate(ARM, 1e4, out=out),
        lambda: sorosim.resume(sorosim.simulate(ARM, 0.01), 1e4, out=out),
        lambda: sorosim.sweep(ARM, {"grid": {"u.cable1": list(range(10**5))}}, out=out),
        lambda: sorosim.statics(sorosim.load("pendulum")).save(out),
    ):
        with pytest.raises(sorosim.SorosimError) as caught:
            work()
        assert message in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_an_older_journal_does_not_hide_a_result_that_replaces_it(tmp_path):
    file = tmp_path / "run.h5"
    journalled(file, ARM, t_end=0.02)
    sorosim.statics(ARM).save(file)
    assert isinstance(sorosim.open(file), type(sorosim.statics(ARM)))


def test_files_of_older_versions_without_work_and_dissipation_open_and_go_on(tmp_path):
    robot = sorosim.load("cable_manipulator")
    run = sorosim.simulate(robot, 0.2, checkpoint=0.1, out=tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        del file["exchanged"], file["checkpoints/exchanged"], file["checksums"]
        file.attrs["format_version"] = 1
    opened = sorosim.open(tmp_path / "run.h5")
    assert opened.exchanged is None
    # by Simpson's rule over 20 rows
    assert_allclose(opened.energy().work, run.energy().work, rtol=0, atol=1e-4)
    further = sorosim.resume(tmp_path / "run.h5", 0.3)
    assert further.exchanged.shape == (len(further.t), 2)
    assert_array_equal(further.q, sorosim.simulate(robot, 0.3, checkpoint=0.1).q)
