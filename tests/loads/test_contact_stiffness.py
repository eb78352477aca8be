"""`stiffness: auto`: the weight of the lighter side enters by a hundredth of the least thickness, or less."""

import numpy as np
import pytest
import yaml

import sorosim
from sorosim.analysis.equations.contact_check import contacts_of, estimate
from sorosim.base.errors import SorosimError
from sorosim.files import dump, load_text
from sorosim.mechanics.loads.contact_law import carrying

BALL = {"joint": {"prismatic": {"axis": [0, 0, 1]}}, "body": {"sphere": {"radius": 0.02}, "density": 1000}}
FLOOR = {"half_space": {}, "at": {"position": [0, 0, -0.02]}}


def robot(links, contact, **blocks):
    data = {
        "sorosim": 1, "name": "it", "materials": {"rubber": {"young": 1e6, "poisson": 0.45, "density": 1000}},
        "links": links, "loads": {"touch": {"contact": {"stiffness": "auto", **contact}}}, **blocks,
    }  # fmt: skip
    return load_text(yaml.safe_dump(data, sort_keys=False), "it.yaml")


def stiffness(one):
    return contacts_of(one)["touch"].group.law.stiffness


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_a_ball_lies_less_than_a_hundredth_of_its_diameter_deep(exponent):
    lying = robot({"ball": BALL}, {"between": "ball", "and": FLOOR, "exponent": exponent})
    depth = -sorosim.statics(lying).q[0]
    assert 0.01 * 0.04 >= depth > 0.01 * 0.04 / 2.5  # it is rounded up by a factor of 2.5 at most


def test_it_is_that_of_the_lighter_side_with_all_that_hangs_on_it():
    heavy = {**BALL, "body": {**BALL["body"], "density": 8000}}
    contact = {"between": "a", "and": "b"}
    weight = 9.81 * 1000 * 4 / 3 * np.pi * 0.02**3
    both = robot({"a": BALL, "b": {**heavy, "at": {"position": [0, 0, 0.1]}}}, contact)
    assert stiffness(both) == carrying(weight, 0.04, 1.5)
    rider = {"parent": "a", "at": {"position": [0, 0.1, 0]}, "body": heavy["body"]}
    laden = robot({"a": BALL, "rider": rider, "b": {**heavy, "at": {"position": [0, 0, 0.1]}}}, contact)
    assert stiffness(laden) == carrying(8 * weight, 0.04, 1.5)
    # of a rod its own mass, and its radius
    rope = {
        "joint": "free",
        "rod": {"length": 1.0, "section": {"circle": {"radius": 0.005}}, "material": "rubber",
                "strain": {"bending": 0, "torsion": 0}, "divisions": 3},
    }  # fmt: skip
    on_itself = robot({"rope": rope}, {"among": "rope"})
    assert stiffness(on_itself) == carrying(9.81 * 1000 * np.pi * 0.005**2, 0.01, 1.5)
    assert stiffness(on_itself) == 1e6


def test_what_is_held_may_be_among_what_touches():
    among = robot({"a": BALL, "b": {**BALL, "at": {"position": [0, 0, 0.1]}}}, {"among": ["a", "b", FLOOR]})
    assert stiffness(among) == stiffness(robot({"a": BALL}, {"between": "a", "and": FLOOR}))
    assert estimate(among, "touch", np.arange(2)).least > 0.0


def test_without_gravity_it_is_that_of_the_earth():
    contact = {"between": "ball", "and": FLOOR}
    floating = robot({"ball": BALL}, contact, gravity=[0, 0, 0])
    assert stiffness(floating) == stiffness(robot({"ball": BALL}, contact))


def test_it_is_written_as_auto_and_is_no_number_of_the_file():
    lying = robot({"ball": BALL}, {"between": "ball", "and": FLOOR})
    assert "stiffness: auto" in dump(lying)
    assert not [name for name in sorosim.scalars(lying) if name.endswith("stiffness")]
    assert stiffness(load_text(dump(lying), "again.yaml")) == stiffness(lying)


def test_what_has_no_mass_cannot_tell():
    empty = {"joint": BALL["joint"]}
    surface = {"link": "a", "sphere": {"radius": 0.02}}
    with pytest.raises(SorosimError, match="auto, where nothing that touches and moves has a mass"):
        robot({"a": empty}, {"between": surface, "and": FLOOR})


@pytest.mark.parametrize("weight", [1e-7, 0.0421, 1.0, 999.0])
def test_it_is_rounded_up_to_1_2_or_5(weight):
    k = carrying(weight, 0.01, 1.5)
    needed = weight / 1e-4**1.5
    assert needed * (1 - 1e-12) <= k <= 2.5 * needed
    assert f"{k:.3e}"[:5] in ("1.000", "2.000", "5.000")
