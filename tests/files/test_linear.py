"""Files of linearised motions, read by the programs that they are for."""

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import loadmat, mmread

import sorosim
from sorosim.base.errors import FileError, InputError
from sorosim.files.linear import MATRICES
from sorosim.mechanics.linear import linearize


@pytest.fixture(scope="module", params=["cable_manipulator", "soft_ring"])
def lin(request):
    return sorosim.statics(sorosim.load(request.param)).linearize()


def content(lin):
    arrays = {name: getattr(lin, name) for name in (*MATRICES, "q", "qd", "u", "frequencies", "modes") if name != "C"}
    damped = lin.damped
    arrays |= {"C": lin.positions()[0], "eigenvalues": damped.eigenvalues, "shapes": damped.shapes}
    return arrays | {"damped_frequencies": damped.frequencies, "damping_ratios": damped.damping_ratios}


def test_numpy(lin, tmp_path):
    assert lin.save(tmp_path / "x.npz") == [tmp_path / "x.npz"]
    with np.load(tmp_path / "x.npz", allow_pickle=False) as stored:
        for name, array in content(lin).items():
            assert_array_equal(stored[name], array)
        assert tuple(stored["coordinate_names"]) == lin.robot.coordinate_names
        assert tuple(stored["actuator_names"]) == lin.robot.actuator_names
        assert tuple(stored["z_names"]) == lin.names


def test_matlab(lin, tmp_path):
    lin.save(tmp_path / "x.mat")
    stored = loadmat(tmp_path / "x.mat")
    for name, array in content(lin).items():
        assert_array_equal(stored[name].reshape(array.shape), array)
    assert [cell.item() for cell in stored["z_names"].ravel()] == list(lin.names)
    assert [cell.item() for cell in stored["output_names"].ravel()] == list(lin.positions()[1])


def test_hdf5(lin, tmp_path):
    lin.save(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as root:
        assert root.attrs["format"] == "sorosim linear motion"
        for name, array in content(lin).items():
            assert_array_equal(root[name][()], array)
        assert [name.decode() for name in root["z_names"][()]] == list(lin.names)


def test_matrix_market(lin, tmp_path):
    written = lin.save(tmp_path / "x.mtx")
    assert [path.name for path in written] == [f"x_{name}.mtx" for name in MATRICES]
    arrays = content(lin)
    for name, path in zip(MATRICES, written, strict=True):
        assert_allclose(mmread(path), arrays[name], rtol=1e-15)


def test_outputs_are_the_places_that_are_asked_for(lin, tmp_path):
    link = lin.robot.outputs.places[0][0]
    lin.save(tmp_path / "x.npz", outputs=[(link, 0.25), link])
    with np.load(tmp_path / "x.npz") as stored:
        assert stored["C"].shape == (6, 2 * len(lin.M))
        assert list(stored["output_names"][:2]) == [f"{link}(0.25).x", f"{link}(0.25).y"]


def test_matrices_alone_have_files_too(tmp_path):
    linearize(np.eye(2), 0.1 * np.eye(2), np.eye(2), np.ones((2, 1))).save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as stored:
        assert stored["A"].shape == (4, 4)
        assert "coordinate_names" not in stored


def test_mistakes(lin, tmp_path):
    with pytest.raises(InputError, match=r"^path: expected a suffix of \.npz, .*, got '\.np'; did you mean \.npz"):
        lin.save(tmp_path / "x.np")
    with pytest.raises(InputError, match=r"^path: expected a suffix of .*, got none"):
        lin.save(tmp_path / "x")
    with pytest.raises(InputError, match=r"^link: expected the name of a link, got 'leg'"):
        lin.save(tmp_path / "x.npz", outputs=["leg"])
    with pytest.raises(FileError):
        lin.save(tmp_path / "nowhere" / "x.npz")


def test_no_flipped_bit_of_an_hdf5_file_changes_a_number_unseen(lin, tmp_path, rng):
    path = tmp_path / "x.h5"
    lin.save(path)

    def numbers():
        with h5py.File(path) as root:
            return {name: root[name][()] for name in content(lin)}

    data, whole, seen = path.read_bytes(), numbers(), 0
    for bit in rng.integers(8 * len(data), size=200):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        try:
            found = numbers()
        except (OSError, KeyError, RuntimeError, ValueError, TypeError):  # of h5py
            seen += 1
        else:
            for name, array in whole.items():
                assert_array_equal(found[name], array)
    assert seen > 50
