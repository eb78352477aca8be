"""Result files: what was saved comes back, and nothing half-written is ever left."""

import errno
import os
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sorosim
from sorosim import __version__
from sorosim.base.errors import FileError, InputError
from sorosim.base.registry import RESULTS
from sorosim.files import load
from sorosim.files.hdf5 import BLOCK_BYTES, FORMAT_VERSION, read_hdf5, write_hdf5
from sorosim.files.results import read, save, save_run


@pytest.fixture
def run(rng):
    n, m = 5, 3
    return {
        "text": "sorosim: 1\nname: gr\u00fcn\n", "t": np.linspace(0, 1, n), "q": rng.normal(size=(n, m)),
        "qd": rng.normal(size=(n, m)), "u": rng.normal(size=(n, 2)), "lam": np.zeros((n, 0)),
        "driven": {"zeta": np.arange(5.0), "alpha/beta": np.ones(5), ".": np.zeros(5), "100%": np.ones(5)},
        "stats": {"n_steps": 12, "wall_time": 0.25, "note": "fine"},
        "options": {"t_end": 1.0, "dense": False, "u": None, "max_step": np.inf, "names": ["a", "b"],
                    "nested": {"x": {"y": 2}}, "q0": [1.0, 2.0], "progress": print},
        "message": "done",
    }  # fmt: skip


@pytest.fixture
def equilibrium():
    return {
        "q": np.array([1.0, np.nan]), "u": np.zeros(0), "lam": np.zeros(0), "driven": {"base": 2.5},
        "residual_norm": 1e-12, "tangent_stiffness": np.eye(2), "n_evaluations": 7, "message": "converged",
        "free": np.array([0, 1]),
    }  # fmt: skip


# -- round trips


def test_a_run_comes_back_as_it_was(run, tmp_path):
    save_run(run, tmp_path / "run.h5")
    got = read(tmp_path / "run.h5")
    for name in ("t", "q", "qd", "u", "lam"):
        assert got[name].dtype == np.float64
        assert_array_equal(got[name], run[name])
    assert (got["kind"], got["text"], got["message"]) == ("run", run["text"], "done")
    assert list(got["driven"]) == list(run["driven"])
    for name, force in run["driven"].items():
        assert_array_equal(got["driven"][name], force)
    assert got["stats"] == run["stats"]
    assert list(got["stats"]) == list(run["stats"])
    assert {key: type(value) for key, value in got["stats"].items()} == {
        "n_steps": int,
        "wall_time": float,
        "note": str,
    }
    options = got["options"]
    assert_array_equal(options.pop("q0"), [1.0, 2.0])
    assert options.pop("progress") == "<built-in function print>"
    assert options == {
        "t_end": 1.0, "dense": False, "u": None, "max_step": np.inf, "names": ["a", "b"], "nested": {"x": {"y": 2}},
    }  # fmt: skip


def test_an_equilibrium_comes_back_as_it_was(equilibrium, tmp_path):
    save(equilibrium, tmp_path / "equilibrium.h5", kind="equilibrium")
    got = read(tmp_path / "equilibrium.h5")
    for name in ("q", "u", "lam", "tangent_stiffness", "free"):
        assert_array_equal(got[name], equilibrium[name])
    assert got["free"].dtype == np.int64
    assert got["driven"] == {"base": 2.5}
    assert (got["residual_norm"], got["n_evaluations"], got["kind"], got["text"]) == (1e-12, 7, "equilibrium", "")


def test_the_robot_of_a_result_object_is_kept(tmp_path):
    robot = load("cable_manipulator")
    save_run(sorosim.simulate(robot, 0.02), tmp_path / "run.h5")
    got = read(tmp_path / "run.h5")
    assert got["text"] == robot.description.text
    assert got["robot_name"] == "cable-driven manipulator"
    assert got["coordinate_names"] == list(robot.coordinate_names)
    assert got["actuator_names"] == list(robot.actuator_names)


def test_any_reader_of_hdf5_finds_its_way(run, tmp_path):
    save_run(run, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["format"] == "sorosim result"
        assert file.attrs["format_version"] == FORMAT_VERSION
        assert file["q"].shape == (5, 3)
        assert file["text"].asstr()[()] == run["text"]
        assert file["versions/sorosim"].asstr()[()] == __version__
        assert set(file["versions"]) == {"sorosim", "numpy", "scipy", "python"}
        assert file["stats/n_steps"][()] == 12


def test_the_same_result_is_the_same_file(run, tmp_path):
    save_run(run, tmp_path / "a.h5")
    save_run(run, tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_a_mapping_without_an_entry_is_refused(run, tmp_path):
    del run["qd"]
    with pytest.raises(InputError, match="run: expected an entry 'qd', got a mapping without it"):
        save_run(run, tmp_path / "run.h5")
    assert list(tmp_path.iterdir()) == []


# -- writing


def test_a_file_is_replaced(run, tmp_path):
    (tmp_path / "run.h5").write_text("old")
    save_run(run, str(tmp_path / "run.h5"))
    assert read(tmp_path / "run.h5")["message"] == "done"
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_a_link_is_followed_and_kept(run, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "run.h5").symlink_to(tmp_path / "data" / "real.h5")
    save_run(run, tmp_path / "run.h5")
    assert (tmp_path / "run.h5").is_symlink()
    assert read(tmp_path / "data" / "real.h5")["message"] == "done"


def test_new_files_have_the_usual_permissions(run, tmp_path):
    (tmp_path / "other").write_text("")
    save_run(run, tmp_path / "run.h5")
    assert (tmp_path / "run.h5").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(run, tmp_path, monkeypatch, failing):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "run.h5"
    target.write_text("old")
    monkeypatch.setattr(os, failing, full)
    with pytest.raises(FileError) as caught:
        save_run(run, target)
    assert str(caught.value) == f"{target}: cannot be written: No space left on device"
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_a_place_that_is_none_is_one_sentence(run, tmp_path):
    (tmp_path / "file").write_text("")
    for path, reason in [
        (tmp_path / "none" / "run.h5", f"there is no folder {tmp_path / 'none'}; make it first"),
        (tmp_path / "file" / "run.h5", f"there is no folder {tmp_path / 'file'}; make it first"),
        (tmp_path, "it is a folder"),
        (tmp_path / ("x" * 300), "File name too long"),
    ]:
        with pytest.raises(FileError) as caught:
            save_run(run, path)
        assert str(caught.value) == f"{path}: cannot be written: {reason}"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# -- reading


def test_what_is_no_result_is_refused(tmp_path):
    file = tmp_path / "file.h5"
    for content, reason in [
        (b"", "expected a result file of sorosim (HDF5), got another kind of file"),
        (b"t,q\n0,1\n", "expected a result file of sorosim (HDF5), got another kind of file"),
    ]:
        file.write_bytes(content)
        with pytest.raises(FileError) as caught:
            read(file)
        assert str(caught.value) == f"{file}: {reason}"
    with h5py.File(file, "w") as other:
        other["q"] = 1
    with pytest.raises(FileError, match="expected a result file of sorosim, got an HDF5 file of another program"):
        read(file)
    with pytest.raises(FileError, match="cannot be read: No such file or directory"):
        read(tmp_path / "none.h5")
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        read(tmp_path)


def unchecked(file):
    """Make an open file one of version 1."""
    file.attrs["format_version"] = 1
    del file["checksums"]


def damaged(run, path, damage, version=1):
    save_run(run, path)
    with h5py.File(path, "r+") as file:
        if version == 1:
            unchecked(file)
        damage(file)
    with pytest.raises(FileError) as caught:
        read(path)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_newer_or_incomplete_file_is_refused(run, tmp_path):
    def newer(file):
        file.attrs["format_version"] = FORMAT_VERSION + 1

    def without_rates(file):
        del file["qd"]

    def short(file):
        del file["q"]
        file["q"] = np.zeros((2, 3))

    def flat(file):
        del file["driven"]
        file["driven"] = 1

    def linked(file):
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/q")

    path = tmp_path / "run.h5"
    assert damaged(run, path, newer) == (
        f"expected a result of version {FORMAT_VERSION}, got version {FORMAT_VERSION + 1}; update sorosim, this is "
        f"{__version__}"
    )
    assert damaged(run, path, without_rates) == "expected a complete result file, got one without 'qd'"
    assert damaged(run, path, short) == "expected 5 rows of 'q', shape (5, 3), got shape (2, 3); the file is damaged"
    assert damaged(run, path, flat) == "expected 'driven' to be a group, got a value; the file is damaged"
    assert damaged(run, path, without_rates, FORMAT_VERSION) == "expected a complete result file, got one without 'qd'"
    assert damaged(run, path, short, FORMAT_VERSION) == (
        "expected 'q' as written, got another checksum; the file is damaged: restore it from a copy or compute it again"
    )
    assert damaged(run, path, linked) == (
        "expected a complete result file, got a damaged one: 'elsewhere' is a link; "
        "restore it from a copy or compute it again"
    )


def test_files_of_version_1_have_no_checksums_and_open(run, tmp_path):
    save_run(run, tmp_path / "run.h5")
    now = read(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        unchecked(file)
    assert_array_equal(read(tmp_path / "run.h5")["q"], now["q"])
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        file.attrs["format_version"] = 2
    with pytest.raises(FileError, match=r"expected a complete result file, got one without checksums$"):
        read(tmp_path / "run.h5")


def test_a_changed_version_leaves_nothing_unchecked(run, tmp_path):
    save_run(run, tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        file.attrs["format_version"] = 1
    with pytest.raises(
        FileError, match="expected format_version 2 or later, got format_version 1 in a file with check"
    ):
        read(tmp_path / "run.h5")


def saved_run(path):
    sorosim.simulate(sorosim.load("four_bar"), 0.1, checkpoint=0.05).save(path)


def saved_equilibrium(path):
    sorosim.statics(sorosim.load("double_pendulum")).save(path)


def saved_sweep(path):
    sorosim.sweep(sorosim.load("cable_manipulator"), {"grid": {"u.cable1": [0.0, 1.0]}}, out=path)


def saved_continuation(path):
    sorosim.continuation(sorosim.load("cable_manipulator"), {"u.cable1": 1.0}).save(path)


def leaves(content, path=""):
    for name, value in content.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}/{name}")
        else:
            yield f"{path}/{name}", value.tobytes() if isinstance(value, np.ndarray) else repr(value)


@pytest.mark.parametrize("make", [saved_run, saved_equilibrium, saved_sweep, saved_continuation])
def test_no_flipped_bit_changes_what_is_read_unseen(make, tmp_path, rng):
    path = tmp_path / "result.h5"
    make(path)
    content, whole, errors = path.read_bytes(), dict(leaves(read_hdf5(path))), []
    for bit in rng.integers(8 * len(content), size=200):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        try:
            found = dict(leaves(read_hdf5(path)))
        except FileError as error:
            errors.append(str(error))
        else:
            assert {name: found.get(name) for name in whole} == whole  # of free space, or of times and sizes of HDF5
    assert len(errors) > 50
    assert not any("\n" in error for error in errors)


def test_a_damaged_file_is_a_file_error_or_a_result(run, tmp_path, rng):
    path = tmp_path / "run.h5"
    save_run(run, path)
    content = path.read_bytes()
    for length in (8, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(FileError, match="expected a complete result file, got a damaged one"):
            read(path)
    for _ in range(50):
        broken = bytearray(content)
        for place in rng.integers(len(content), size=20):
            broken[place] = rng.integers(256)
        path.write_bytes(broken)
        message = ""
        try:
            read(path)
        except FileError as error:
            message = str(error)
        assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("q", np.zeros((5, 2)), "expected 5 rows of 'q', shape (5, 3), got shape (5, 2)"),
        ("t", np.zeros((5, 1)), "expected 't' to be a list of increasing times, got shape (5, 1)"),
        ("t", np.linspace(1, 0, 5), "expected 't' to be a list of increasing times, got shape (5,)"),
        ("text", 5, "expected 'text' to be a text, got int"),
        ("kind", "eq", "expected 'kind' to be KINDS, got 'eq'"),
        ("kind", [1.0, 2.0], "expected 'kind' to be KINDS, got array([1., 2.])"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(run, tmp_path, name, value, message):
    names = {"coordinate_names": ["a", "b", "c"], "actuator_names": []}
    save_run(
        {**run, **names, "q": np.zeros((5, 3)), "qd": np.zeros((5, 3)), "u": np.zeros((5, 0))}, tmp_path / "run.h5"
    )
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        unchecked(file)
        del file[name]
        file[name] = value
    with pytest.raises(FileError) as caught:
        read(tmp_path / "run.h5")
    *others, last = RESULTS.known()  # those that other tests have registered, too
    message = message.replace("KINDS", f"{', '.join(others)} or {last}")
    assert str(caught.value) == f"{tmp_path / 'run.h5'}: {message}; the file is damaged"


def test_special_files_are_not_replaced_and_modes_are_kept(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="cannot be written: it is no ordinary file"):
        save_run(run, tmp_path / "pipe")
    assert not (tmp_path / "pipe").is_file()
    (tmp_path / "run.h5").touch(mode=0o600)
    save_run(run, tmp_path / "run.h5")
    assert (tmp_path / "run.h5").stat().st_mode & 0o777 == 0o600


def test_nothing_is_left_beside_a_journal_that_is_none(run, tmp_path):
    (tmp_path / "run.h5.part").mkdir()
    with pytest.raises(FileError, match="cannot be written: it is a folder"):
        save_run(run, tmp_path / "run.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5.part"]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the list of open files")
def test_files_are_closed_before_they_are_removed_where_that_is_needed(run, tmp_path, monkeypatch):
    unlink = Path.unlink

    def unlink_closed(path, missing_ok=False):
        if any(os.path.realpath(held) == str(path) for held in Path("/proc/self/fd").iterdir()):
            raise PermissionError
        unlink(path, missing_ok)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(Path, "unlink", unlink_closed)
    save_run(run, tmp_path / "run.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


@pytest.mark.parametrize("path", [None, 3, 55555, [], ""])
def test_what_is_no_path_is_refused(run, path):
    for call in (lambda: save_run(run, path), lambda: read(path), lambda: sorosim.open(path)):
        with pytest.raises(InputError, match=r"^path: expected a path, got "):
            call()


def test_large_tables_are_compressed_blocks_of_rows_and_come_back_to_the_bit(tmp_path, rng):
    large = np.cumsum(1e-3 * rng.normal(size=(400, 500)), axis=0)
    write_hdf5({"q": large, "t": np.arange(400.0)}, "run", tmp_path / "large.h5")
    assert_array_equal(read_hdf5(tmp_path / "large.h5")["q"], large)
    with h5py.File(tmp_path / "large.h5") as file:
        assert file["q"].compression == "gzip"
        assert file["q"].chunks[0] * 500 * 8 <= BLOCK_BYTES
        assert file["t"].chunks is None
    assert (tmp_path / "large.h5").stat().st_size < large.nbytes


def test_results_whose_coordinates_are_in_another_order_are_refused(tmp_path):
    """Those of free joints began with their rotation once, and were those of a screw motion."""
    links = {"ball": {"joint": "free", "body": {"sphere": {"radius": 0.1}, "mass": 1}}}
    robot = sorosim.load({"sorosim": 1, "name": "ball", "links": links})
    sorosim.simulate(robot, 0.1).save(tmp_path / "run.h5")
    assert sorosim.open(tmp_path / "run.h5").robot.coordinate_names == robot.coordinate_names
    with h5py.File(tmp_path / "run.h5", "r+") as file:
        unchecked(file)
        names = file["coordinate_names"][:]
        file["coordinate_names"][:] = [*names[3:], *names[:3]]
    with pytest.raises(FileError) as caught:
        sorosim.open(tmp_path / "run.h5")
    assert str(caught.value).removeprefix(str(tmp_path / "run.h5")) == (
        ": expected the coordinates of the robot in their order, got 'ball.free.rx' in the place of 'ball.free.tx', "
        "of an older version; compute the result anew"
    )
