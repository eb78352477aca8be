"""Materials: derived moduli, and what is refused."""

import dataclasses
import math

import numpy as np
import pytest

from sorosim.base.errors import ModelError
from sorosim.mechanics.model.material import Material

SILICONE = {"young": 1e6, "poisson": 0.5, "density": 1000.0}


def material(**changes):
    return Material(**(SILICONE | changes))


@pytest.mark.parametrize(("poisson", "shear"), [(0.5, 1e6 / 3), (0.0, 5e5), (0.25, 4e5), (-0.5, 1e6)])
def test_shear_modulus_follows_from_poisson_ratio(poisson, shear):
    assert material(poisson=poisson).shear_modulus == pytest.approx(shear, rel=1e-15)


def test_shear_modulus_may_be_given_and_need_not_fit_an_isotropic_material():
    # unidirectional carbon fibre: E/G far beyond what any Poisson's ratio gives
    assert Material(140e9, shear=5e9, density=1600).shear_modulus == 5e9


def test_numbers_are_stored_as_floats_and_defaults_are_undamped():
    made = Material(10**6, shear=np.float32(2.0), density=np.int64(3))
    assert [type(x) for x in (made.young, made.shear, made.density)] == [float] * 3
    assert (made.damping, made.mass_damping, made.stiffness_damping, made.name) == (0.0, 0.0, 0.0, "")


def test_material_is_frozen_comparable_and_replaceable():
    made = material(name="silicone")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.young = 2.0
    assert made == material(name="silicone")
    assert hash(made) == hash(material(name="silicone"))
    assert dataclasses.replace(made, young=2e6).shear_modulus == pytest.approx(2e6 / 3)


def test_values_may_be_texts_with_units():
    assert material(young="1 MPa", density="1 g/cm^3") == material()


FINITE = "it has to be finite"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"young": -1.0}, "material.young: expected a pressure or modulus greater than 0, got -1"),
        ({"young": 0}, "material.young: expected a pressure or modulus greater than 0, got 0"),
        ({"young": True}, "material.young: expected a pressure or modulus greater than 0, such as 1 MPa, got true"),
        ({"young": "-1 MPa"}, "material.young: expected a pressure or modulus greater than 0, got -1 MPa"),
        (
            {"young": 1e6 + 1j},
            "material.young: expected a pressure or modulus greater than 0, such as 1 MPa, got complex",
        ),
        ({"young": math.nan}, "material.young: expected a pressure or modulus greater than 0, got nan; " + FINITE),
        (
            {"young": 10**400},
            "material.young: expected a pressure or modulus greater than 0, got a number of many digits; " + FINITE,
        ),
        (
            {"poisson": None},
            "material: expected one of poisson and shear, got neither; nearly incompressible: poisson = 0.5",
        ),
        ({"shear": 1e5}, "material: expected one of poisson and shear, got both; leave one of them out"),
        ({"poisson": 0.6}, "material.poisson: expected a number above -1 and up to 0.5, got 0.6"),
        ({"poisson": -1.0}, "material.poisson: expected a number above -1 and up to 0.5, got -1"),
        ({"poisson": None, "shear": 0.0}, "material.shear: expected a pressure or modulus greater than 0, got 0"),
        ({"density": math.inf}, "material.density: expected a density greater than 0, got inf; " + FINITE),
        (
            {"density": None},
            "material.density: expected a density greater than 0, such as 1000 kg/m^3, got nothing",
        ),
        ({"damping": -1.0}, "material.damping: expected a viscosity of 0 or more, got -1"),
        ({"mass_damping": -1e-9}, "material.mass_damping: expected a rate of 0 or more, got -1e-09"),
        (
            {"stiffness_damping": [1.0]},
            "material.stiffness_damping: expected a time of 0 or more, such as 10 s, got [1]",
        ),
        ({"name": 3}, "material.name: expected a text, got 3"),
        (
            {"name": "rubber", "density": np.float64(-2)},
            "rubber.density: expected a density greater than 0, got -2",
        ),
        (
            {"young": 0.0, "poisson": 1.0},
            "material.young: expected a pressure or modulus greater than 0, got 0\n"
            "material.poisson: expected a number above -1 and up to 0.5, got 1",
        ),
    ],
)
def test_impossible_material_is_refused_by_one_clear_message(changes, message):
    with pytest.raises(ModelError) as caught:
        material(**changes)
    assert str(caught.value) == message


def test_error_takes_the_path_of_the_file_in_front():
    with pytest.raises(ModelError) as caught:
        material(name="silicone", young=0)
    assert caught.value.inside("materials").where == "materials.silicone.young"
