"""What is missing from poses between points, against the same coordinates with many points."""

import numpy as np
import pytest

import sorosim
from sorosim.analysis.equations.plausibility import implausible_states
from sorosim.analysis.equations.points import points_error
from tests.helpers.winding import coil, helical_robot

TWO_RODS = {
    "sorosim": 1,
    "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": 1000}},
    "links": {
        name: {
            "parent": parent,
            "rod": {"length": "30 cm", "section": {"circle": {"radius": "5 mm"}}, "material": "rubber",
                    "strain": {"bending": 4, "torsion": 4}},
        }
        for name, parent in (("near", "world"), ("far", "near"))
    },
}  # fmt: skip


def with_points(content, n):
    many = {f"links.{name}.rod.quadrature": n for name in content["links"]}
    return sorosim.load(content, set=many)


@pytest.mark.parametrize(
    ("content", "size"), [(TWO_RODS, 1.0), (helical_robot(8, quadrature=11), 2.0), (coil(2, 4), 1.0)]
)
def test_what_is_missing_is_the_difference_to_many_points(content, size):
    """Richardson's estimate leaves what is of sixth order: (1/4)^2 of it and less for turns of half a radian."""
    robot, exact = sorosim.load(content), with_points(content, 120)
    for seed in range(3):
        q = size * np.random.default_rng(seed).normal(size=robot.ndof)
        q[robot.ndof // 2 :] *= 0.1 if "actuators" in content else 1.0
        found = points_error(robot, q)
        one, many = (each.pose(q, found.link, s=found.s)[:3, 3] for each in (robot, exact))
        true = np.linalg.norm(one - many)
        assert found.distance == pytest.approx(true, rel=0.2)


def test_constant_strains_miss_nothing_however_far_they_turn():
    robot = sorosim.load(TWO_RODS, set={f"links.{name}.rod.strain": {"bending": 0} for name in TWO_RODS["links"]})
    assert points_error(robot, np.array([1.0, -2.0, 3.0, 1.5])).distance < 1e-12
    assert points_error(sorosim.load("four_bar"), sorosim.load("four_bar").initial_q) is None


@pytest.mark.parametrize("bent", ["near", "far"])
def test_the_rod_to_blame_is_the_one_that_winds(bent):
    robot = sorosim.load(TWO_RODS)
    q = robot.coordinates({f"{bent}.bending_y[0]": 8.0, f"{bent}.torsion[2]": 3.0, f"{bent}.bending_z[3]": 4.0})
    found = points_error(robot, q)
    assert (found.place.where, found.link) == (f"links.{bent}.rod", "far" if bent == "far" else found.link)
    # and with as many points as it says the part that is missing is as small as it says
    enough = sorosim.load(TWO_RODS, set={f"links.{bent}.rod.quadrature": found.enough})
    assert points_error(enough, q).part < 2.0 * 1e-4 < found.part


def test_states_that_wind_beyond_their_points_are_said():
    robot = sorosim.load(TWO_RODS)
    straight = np.zeros(robot.ndof)
    wound = robot.coordinates({"far.bending_y[0]": 32.0, "far.torsion[2]": 16.0, "far.bending_z[3]": 16.0})
    ring = robot.coordinates({"far.bending_y[0]": 4.0 * np.pi})
    rest = np.zeros((2, 0))
    assert not implausible_states(robot, np.array([straight, 0.05 * wound]), rest)
    (line,) = [x for x in implausible_states(robot, np.array([straight, wound]), rest, np.array([0.0, 2.0]))
               if "points" in x]  # fmt: skip
    error = points_error(robot, wound)
    assert f"is off by {1e3 * error.distance:.2g} mm or more at t = 2 s" in line
    assert f"give it quadrature: {error.enough} for 7" in line
    # where only a constant strain turns it nothing is off, but half a turn passes unseen by what acts on it
    assert not [x for x in implausible_states(robot, ring[None], rest[:1]) if "point" in x]
    (line,) = [x for x in implausible_states(robot, 2.0 * ring[None], rest[:1]) if "point" in x]
    assert "links.far.rod turns half round from point to point" in line


def test_an_equilibrium_says_so():
    """A rod that a moment in the world winds up twice, with a small force across it."""
    section = {"properties": {"area": 1.0, "Iy": 0.01, "Iz": 0.01, "J": 0.01}}
    rod = {"length": 10, "section": section, "material": "m", "strain": {"bending": 4, "torsion": 4}}
    tip = {"link": "rod", "moment": [0, 0, 80.0 * np.pi], "force": [0, 0, 5.0]}
    content = {"sorosim": 1, "gravity": [0, 0, 0], "materials": {"m": {"young": 1e4, "shear": 1e4, "density": 1.0}},
               "links": {"rod": {"rod": rod}}, "loads": {"tip": {"wrench": tip}}}  # fmt: skip
    found = sorosim.statics(sorosim.load(content))
    assert "links.rod.rod turns" in found.message
    assert "point" not in sorosim.statics(sorosim.load(content, set={"links.rod.rod.quadrature": 60})).message
