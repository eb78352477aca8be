"""Linearised motions as files for other programs: NumPy, MATLAB, HDF5 and Matrix Market."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.base.errors import InputError, nearest
from sorosim.base.public import public
from sorosim.base.writing import check_path, write_whole

FORMAT, FORMAT_VERSION = "sorosim linear motion", 1
SUFFIXES = (".npz", ".mat", ".h5", ".hdf5", ".mtx")
MATRICES = ("M", "D", "K", "F", "A", "B", "C", "Z")


@public
def save(lin: Any, path: str | Path, outputs: Sequence[str | tuple[str, float]] | None = None) -> list[Path]:
    """Write a linearised motion.

    Parameters
    ----------
    lin : Linearization
    path : path
        Its suffix says what is written: .npz (NumPy), .mat (MATLAB 5), .h5 (HDF5), all in one file, or .mtx (Matrix
        Market): a file for each of `MATRICES`, ``x_M.mtx`` and so on.
    outputs : sequence of link, or (link, s), optional
        Places whose positions are the rows of C; default: `Robot.outputs`.

    Returns
    -------
    list of Path
        What was written: M, D, K, F of M z'' + D z' + K z = F u; A, B of the state [z; z'] and C of positions [m]; Z
        (q moves by Z z); q, qd, u where it was linearised; ``frequencies`` (undamped) and ``modes`` of M and K;
        ``eigenvalues``, ``shapes`` (complex), ``damped_frequencies``, ``damping_ratios`` of the damped modes; names.

    Raises
    ------
    InputError
        Another suffix, or a place that is not known.
    FileError
        A file cannot be written.
    """
    check_path(path)
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        got = f"'{path.suffix}'" if path.suffix else "none"
        raise InputError("path", f"a suffix of {', '.join(SUFFIXES)}", got, nearest(path.suffix, SUFFIXES))
    arrays, names = _content(lin, outputs)
    if path.suffix.lower() == ".mtx":
        return _matrix_market(arrays, path)
    image = BytesIO()
    if path.suffix.lower() == ".npz":
        # text arrays of fixed width, so that reading needs no pickle
        np.savez(image, **arrays | {name: np.array(words, dtype=np.str_) for name, words in names.items()})
    elif path.suffix.lower() == ".mat":
        from scipy.io import savemat

        cells = {name: np.array([*words, None], dtype=object)[:-1] for name, words in names.items()}
        columns = {name: x[:, None] if x.ndim == 1 else x for name, x in arrays.items()}
        savemat(image, columns | cells, long_field_names=True)  # type: ignore[arg-type]  # any stream will do
    else:
        _hdf5(image, arrays, names)
    write_whole(path, image.getvalue())
    return [path]


def _content(lin: Any, outputs: Any) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """Arrays, and names of their rows and columns."""
    named = lin.robot is not None
    C, places = lin.positions(outputs) if named else (np.zeros((0, len(lin.A))), ())
    damped = lin.damped
    arrays = {name: getattr(lin, name) for name in MATRICES if name != "C"}
    arrays |= {"C": C, "q": lin.q, "qd": lin.qd, "u": lin.u, "frequencies": lin.frequencies, "modes": lin.modes}
    arrays |= {"eigenvalues": damped.eigenvalues, "shapes": damped.shapes}
    arrays |= {"damped_frequencies": damped.frequencies, "damping_ratios": damped.damping_ratios}
    names: dict[str, tuple[str, ...]] = {"z_names": lin.names, "output_names": places}
    if named:
        names |= {"coordinate_names": lin.robot.coordinate_names, "actuator_names": lin.robot.actuator_names}
    return arrays, names


def _matrix_market(arrays: dict[str, Any], path: Path) -> list[Path]:
    from scipy.io import mmwrite

    written = []
    for name in MATRICES:
        image = BytesIO()
        mmwrite(image, np.atleast_2d(arrays[name]), precision=17, symmetry="general")
        written.append(path.with_name(f"{path.stem}_{name}.mtx"))
        write_whole(written[-1], image.getvalue())
    return written


def _hdf5(image: BytesIO, arrays: dict[str, Any], names: dict[str, tuple[str, ...]]) -> None:
    import h5py

    # HDF5's own checksums, which any reader compares: of the numbers, and since version 1.10 of where a single chunk is
    with h5py.File(image, "w", libver=("v110", "v110")) as root:
        root.attrs["format"], root.attrs["format_version"] = FORMAT, FORMAT_VERSION
        for name, array in arrays.items():
            checked = {"chunks": array.shape, "fletcher32": True} if array.size else {}
            root.create_dataset(name, data=array, **checked)
        for name, words in names.items():
            root.create_dataset(name, data=list(words), dtype=h5py.string_dtype())
