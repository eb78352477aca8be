"""Results of earlier versions open with the content they had: files of every kind, written by an earlier version.

`version_2.tar.xz` holds small ones: loops, driven coordinates, an event, sensors, contacts, checkpoints, Maxwell
elements, a companion, branches, flutter, gaps in measurements; and journals of a run and of a sweep that were stopped.
"""

import tarfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.declare.result import MISSING, entry
from sorosim.base.errors import FileError
from sorosim.base.registry import RESULTS
from sorosim.files.hdf5 import read_hdf5

ARCHIVE = Path(__file__).resolve().parents[1] / "data" / "results" / "version_2.tar.xz"
with tarfile.open(ARCHIVE) as archive:
    FILES = sorted(name.removesuffix(".h5") for name in archive.getnames() if name.endswith(".h5"))
# computed anew from the others when a result is saved: the sums of another processor may differ in their last bits
COMPUTED = ("energy/", "contacts/", "columns/", "run/energy/", "values/")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("older")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(path, filter="data")
    return path


def parts(path):
    """Every group (None) and every dataset of a file, as any reader of HDF5 finds them."""
    out = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: out.update({name: item[()] if isinstance(item, h5py.Dataset) else None}))
    return out


def assert_same_content(one, other):
    assert one.keys() == other.keys()
    for name in one.keys() - {"checksums"}:
        if name.startswith(COMPUTED) and np.asarray(one[name]).dtype.kind == "f":
            size = np.abs(one[name][np.isfinite(one[name])]).max(initial=1.0)
            assert_allclose(other[name], one[name], rtol=0, atol=1e-9 * size, err_msg=name)
        elif not isinstance(one[name], h5py.Empty):
            assert_array_equal(other[name], one[name], err_msg=name)
            assert np.asarray(one[name]).dtype == np.asarray(other[name]).dtype


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", FILES)
def test_an_older_file_opens_and_is_saved_with_the_same_content(folder, tmp_path, name, version):
    older, again = tmp_path / "older.h5", tmp_path / "again.h5"
    older.write_bytes((folder / f"{name}.h5").read_bytes())
    if version == 1:
        with h5py.File(older, "r+") as file:
            file.attrs["format_version"] = 1
            del file["checksums"]
    sorosim.open(older).save(again)
    before, after = parts(folder / f"{name}.h5"), parts(again)
    for version_of in [key for key in before if key.startswith("versions/")]:
        assert before.pop(version_of)
        assert after.pop(version_of)
    assert_same_content(before, after)


@pytest.mark.parametrize("name", FILES)
def test_every_part_that_is_needed_is_missed_in_one_sentence(folder, tmp_path, name):
    path = tmp_path / "result.h5"
    content = (folder / f"{name}.h5").read_bytes()
    path.write_bytes(content)
    stored = read_hdf5(path)
    kind = RESULTS.get(stored["kind"])
    needed = [one.name or own for own, one in kind.declaration().items() if one.needed and not one.derived]
    assert needed
    for part in needed:
        assert entry(stored, part) is not MISSING
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            file.attrs["format_version"] = 1
            del file["checksums"], file[part]
        with pytest.raises(FileError) as caught:
            sorosim.open(path)
        # groups that were in it only are gone with it
        assert str(caught.value).startswith(f"{path}: expected a complete result file, got one without '{part}")


@pytest.mark.parametrize(
    ("name", "part", "value", "words"),
    [
        ("run_maxwell", "companion/q", np.zeros((3, 2)), "3 rows of 'companion/q', shape (3, 4), got shape (3, 2)"),
        ("run_maxwell", "strain", np.zeros((2, 4)), "3 rows of 'strain', shape (3, 4), got shape (2, 4)"),
        ("run_maxwell", "exchanged", np.zeros(3), "3 rows of 'exchanged', shape (3, 2), got shape (3,)"),
        ("run_maxwell", "checkpoints/qd", np.zeros((3, 5)), "'checkpoints/qd', shape (3, 4), got shape (3, 5)"),
        ("run_driven", "driven/cart", np.zeros(5), "6 rows of 'driven/cart', shape (6,), got shape (5,)"),
        ("run_driven", "events/0/q", np.zeros((1, 2)), "'events/0/q', shape (2, 2), got shape (1, 2)"),
        ("run_driven", "readings/gyro/values", np.zeros((6, 5)), "readings/gyro/channels', shape (5,), got shape (6,)"),
        ("run_driven", "message", 3, "'message' to be a text, got int"),
        ("run_driven", "u", "none", "'u' to be numbers, got 'none'"),
        ("equilibrium", "q", np.zeros(3), "'q', shape (2,), got shape (3,)"),
        ("equilibrium", "tangent_stiffness", np.zeros((2, 1)), "'tangent_stiffness', shape (2, 2), got shape (2, 1)"),
        ("continuation", "curve/q", np.zeros((13, 1)), "'curve/q', shape (13, 4), got shape (13, 1)"),
        ("continuation", "curve/branches/00000/u", np.zeros((1, 1)), "'curve/u', shape (14, 0), got shape (1, 1)"),
        ("continuation_flutter", "curve/points/00000/oscillation", np.zeros(2), "shape (2, 2), got shape (2,)"),
        ("sweep_statics", "arrays/q", np.zeros((3, 4)), "'arrays/q', shape (4, 4), got shape (3, 4)"),
        ("fit", "estimate/covariance", np.zeros((3, 3)), "'estimate/covariance', shape (2, 2), got shape (3, 3)"),
        ("optimal_motion", "gains/K", np.zeros((2, 1)), "'gains/K', shape (2, 1, 2), got shape (2, 1)"),
        ("optimal_motion", "run/q", np.zeros((2, 1)), "3 rows of 'run/q', shape (3, 1), got shape (2, 1)"),
    ],
)  # fmt: skip
def test_a_part_of_another_shape_or_kind_is_refused_in_one_sentence(folder, tmp_path, name, part, value, words):
    path = tmp_path / "result.h5"
    path.write_bytes((folder / f"{name}.h5").read_bytes())
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = 1
        del file["checksums"], file[part]
        file[part] = value
    with pytest.raises(FileError) as caught:
        sorosim.open(path)
    assert words in str(caught.value)
    assert str(caught.value).endswith("; the file is damaged")


def test_journals_of_older_versions_open(folder):
    run, sweep = sorosim.open(folder / "unfinished_run.h5"), sorosim.open(folder / "unfinished_sweep.h5")
    assert_array_equal(run.t, [0.0, 0.01, 0.02, 0.03, 0.04])
    assert_array_equal(run.checkpoints.t, [0.0, 0.02, 0.04])
    assert run.message == "unfinished: there is what was done up to t = 0.04 s"
    assert sweep.status.tolist() == ["ok", "ok", "pending", "pending"]
    assert_array_equal(sweep.values[:, 0], [0.0, 0.1, 0.2, 0.3])
    at_rest = sorosim.statics(sweep.robot, {"tendon": 0.1})
    assert_allclose(sweep.q[1], at_rest.q, rtol=0, atol=1e-8)


def test_steady_motions_are_saved_and_opened(tmp_path):
    links = {
        "hub": {"joint": {"revolute": {"axis": [0, 0, 1]}}},
        "ball": {
            "parent": "hub", "at": {"position": [0.1, 0, 0]},
            "joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": 1000}},
            "body": {"mass": 1, "inertia": [1e-3, 1e-3, 1e-3]},
        },
    }  # fmt: skip
    steady = sorosim.steady(sorosim.load({"sorosim": 1, "name": "rotor", "links": links}), {"hub": 10.0})
    steady.save(tmp_path / "steady.h5")
    again = sorosim.open(tmp_path / "steady.h5")
    assert type(again) is type(steady)
    assert again.rates == {"hub": 10.0}
    for name in ("q", "qd", "u", "lam", "free", "stiffness"):
        assert_array_equal(getattr(again, name), getattr(steady, name))
    # m w^2 (r + q) = k q
    assert again.q[1] == pytest.approx(1.0 * 10.0**2 * 0.1 / (1000.0 - 10.0**2), rel=1e-9)
    assert again.stability == steady.stability


def test_what_a_text_has_become_by_damage_is_refused_before_the_library_reads_from_anywhere(folder, tmp_path):
    """A list of bytes in the place of a text, which HDF5 follows out of the file: the process ended."""
    path = tmp_path / "result.h5"
    path.write_bytes((folder / "equilibrium.h5").read_bytes())
    with h5py.File(path, "r+") as file:
        del file["message"]
        file.create_dataset("message", (), dtype=h5py.vlen_dtype(np.uint8))
    with pytest.raises(FileError, match="'message' cannot be read"):
        sorosim.open(path)
