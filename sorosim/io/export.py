"""Numbers of a run for other programs: tables of text, MATLAB files."""

from __future__ import annotations

from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.io.results import write_whole


def write_csv(run: Any, path: str | Path) -> None:
    """Write the table of `Run.to_csv`."""
    names, forces = _driven(run)
    coordinates, units = run.robot.coordinate_names, run.robot.driven_units(names)
    header = [
        "t",
        *coordinates,
        *(f"d({name})/dt" for name in coordinates),
        *run.robot.actuator_names,
        *(f"{'force' if unit == 'N' else 'moment'}({name})" for name, unit in zip(names, units, strict=True)),
        *(f"lam[{i}]" for i in range(run.lam.shape[1])),
    ]
    table = np.column_stack([run.t, run.q, run.qd, run.u, forces, run.lam])
    text = StringIO()
    np.savetxt(text, table, delimiter=",", header=",".join(header), comments="", fmt="%.17g")
    write_whole(path, text.getvalue().encode())


def write_mat(run: Any, path: str | Path) -> None:
    """Write the file of `Run.to_mat`."""
    from scipy.io import savemat

    driven, forces = _driven(run)
    names = {
        "coordinate_names": run.robot.coordinate_names,
        "actuator_names": run.robot.actuator_names,
        "driven_names": driven,
    }
    arrays: dict[str, Any] = {"t": run.t[:, None], "q": run.q, "qd": run.qd, "u": run.u}
    arrays |= {"driven": forces, "lam": run.lam, "energy": run.energy()._asdict()}
    # arrays of objects are MATLAB's cells: names of fields could not hold dots, nor begin with _
    arrays |= {name: np.array(entries, dtype=object) for name, entries in names.items()}
    image = BytesIO()
    savemat(image, arrays, long_field_names=True)  # type: ignore[arg-type]  # any stream will do
    write_whole(path, image.getvalue())


def _driven(run: Any) -> tuple[list[str], Any]:
    """Names of the driven coordinates, and what they needed (n, n_driven)."""
    return list(run.driven), np.array(list(run.driven.values()), dtype=float).reshape(-1, len(run.t)).T
