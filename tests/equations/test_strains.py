"""Strains of rods, and the bound below which nobody looks at them."""

import pytest

import sorosim
from sorosim.analysis.equations.strains import places


@pytest.mark.parametrize("name", ["cable_manipulator", "hybrid_serial", "tree_of_rods", "concentric_tubes", "vine"])
def test_no_strain_is_beyond_its_bound(name, rng):
    robot = sorosim.load(name)
    lengths = [i for i, dimension in enumerate(robot.engine.layout.dimensions) if dimension == "length"]
    for size in (0.01, 0.3, 2.0):
        q = size * rng.normal(size=(20, robot.ndof))
        q[:, lengths] *= 5e-4  # within a section
        for place in places(robot):
            bound = place.bound(q)
            assert (place.fibre_strains(q) <= bound * (1.0 + 1e-12)).all()
            assert (1.0 - place.least_stretch(q) <= bound * (1.0 + 1e-12)).all()
