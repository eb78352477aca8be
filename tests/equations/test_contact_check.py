"""Surfaces that pass through each other are noticed, others are not."""

from itertools import pairwise

import numpy as np
import pytest
import yaml

from sorosim.analysis.equations.contact_check import Passage
from sorosim.files import load_text

STRAIGHT = {"bending": 0, "torsion": 0}
ROD = {"length": 1.0, "section": {"circle": {"radius": 0.01}}, "material": "rubber", "strain": STRAIGHT}


def touching(other, joint=None, strain=STRAIGHT, **contact):
    """A rod along x over something that it may touch; it moves by x, y, z as its first coordinates."""
    links = {
        "x": {"joint": {"prismatic": {"axis": [1, 0, 0]}}},
        "y": {"joint": {"prismatic": {"axis": [0, 1, 0]}}, "parent": "x"},
        "z": {"joint": {"prismatic": {"axis": [0, 0, 1]}}, "parent": "y"},
        "rod": {"parent": "z", "rod": {**ROD, "strain": strain}},
    }
    if "rod" in other:
        links["other"] = other
        other = "other"
    return load_text(yaml.safe_dump({
        "sorosim": 1, "name": "it",
        "materials": {"rubber": {"young": "1 MPa", "poisson": 0.45, "density": 1000}},
        "links": links,
        "loads": {"touch": {"contact": {"between": "rod", "and": other, "stiffness": 1e5}}},
    }, sort_keys=False), "it.yaml")  # fmt: skip


def moved(robot, *places):
    """Whether the rod passes on the straight ways from place to place."""
    q = [np.concatenate([place, np.zeros(robot.ndof - 3)]) for place in places]
    passage = Passage(robot)
    assert passage
    return [passage.happens(a, b) for a, b in pairwise(q)]


ACROSS = {"at": {"position": [0.513, -0.3, 0], "rotation": {"axis": [0, 0, 1], "angle": "90 deg"}}, "rod": ROD}
THICK = {**ACROSS, "rod": {**ROD, "section": {"circle": {"radius": 0.05}}}}


ALONG_Y = {"position": [0.5, 0, 0], "rotation": {"axis": [1, 0, 0], "angle": "90 deg"}}
BELOW = {
    "rod": ACROSS, "thick rod": THICK, "pole": {"pole": {"radius": 0.05}, "at": ALONG_Y}, "plane": {"plane": {}},
    "box": {"box": {"size": [0.2, 0.1, 0.02]}, "at": {"position": [0.4, 0, 0]}},
}  # fmt: skip


@pytest.mark.parametrize("name", BELOW)
def test_a_rod_passes_through_what_is_below_it_in_one_step_or_in_small_ones(name):
    robot = touching(BELOW[name])
    assert moved(robot, [0, 0, 0.2], [0, 0, -0.2]) == [True]
    assert moved(robot, [0, 0, 0.2], [0.01, 0, 9.0], [0, 0, 0.2]) == [False, False]
    steps = [[0, 0, z] for z in np.linspace(0.2, -0.2, 161)]
    assert any(moved(robot, *steps))
    # a little inside it slides along without coming to the other side
    top = 0.01 + {"thick rod": 0.05, "pole": 0.05, "plane": 0.0}.get(name, 0.01)
    assert moved(robot, [-0.1, 0, top - 0.003], [0.1, 0, top - 0.003], [0, 0, 0.2]) == [False, False]


def test_a_rod_that_goes_around_another_does_not_pass_through_it():
    robot = touching({**ACROSS, "rod": {**ROD, "length": 0.5}})
    assert moved(robot, [0, 0, 0.2], [0, 0.5, 0.2], [0, 0.5, -0.2], [0, 0, -0.2]) == [False] * 3
    assert moved(robot, [0, 0, 0.2], [0, 0, -0.2]) == [True]


def test_what_has_no_other_side_cannot_be_passed():
    assert not Passage(touching({"half_space": {}, "at": {"position": [0, 0, -0.1]}}))
    assert not Passage(touching({"bowl": {"radius": 2.0}}))


def test_states_without_numbers_may_have_passed():
    robot = touching(ACROSS)
    q = robot.initial_q
    assert Passage(robot).happens(q, q * np.nan)
