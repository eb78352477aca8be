"""Robots from SDF against the same robots from URDF."""

from pathlib import Path

import numpy as np
import pytest
from helpers.differences import relative_error

pytest.importorskip("yourdfpy", reason="the extra urdf is not installed")
from helpers.sdf_of_urdf import sdf_of

import sorosim

DATA = Path(__file__).parents[1] / "data" / "urdf"


@pytest.mark.parametrize("name", ["serial_arm", "branching_tree", "continuous_wheels"])
@pytest.mark.parametrize(
    ("version", "form"),
    [("1.4", "radians"), ("1.6", "degrees"), ("1.7", "radians"), ("1.9", "degrees"), ("1.11", "quaternion")],
)
def test_the_same_robot(name, version, form, tmp_path):
    path = tmp_path / f"{name}.sdf"
    path.write_text(sdf_of(DATA / f"{name}.urdf", version, form))
    ours, theirs = sorosim.load(path), sorosim.load(DATA / f"{name}.urdf", set={"import.joint": "free"})
    assert ours.coordinate_names == theirs.coordinate_names
    q, qd, qdd = np.random.default_rng(7).uniform(-1.0, 1.0, (3, ours.ndof))
    # other products of the same rotations: worst seen 4e-15
    for a, b in (
        (ours.mass_matrix(q), theirs.mass_matrix(q)),
        (ours.inverse_dynamics(q, qd, qdd=qdd), theirs.inverse_dynamics(q, qd, qdd=qdd)),
        (ours.internal_force(q, qd), theirs.internal_force(q, qd)),
    ):
        assert relative_error(a, b) < 2e-14
