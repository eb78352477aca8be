"""The plug-ins keep their contracts, and do what they are for."""

from pathlib import Path

import numpy as np
import pytest
from sorosim_examples.gust import CompiledGust, Gust
from sorosim_examples.muscle import BraidedMuscle
from sorosim_examples.waves import HalfWaves

import sorosim
from sorosim.testing import check_actuator, check_basis, check_load

SAIL = Path(__file__).parents[1] / "sail.yaml"
WIND = {"velocity": (3.0, 1.0, 0.5), "duration": 0.8, "drag_area": 0.02}


@pytest.fixture(scope="module")
def sail():
    return sorosim.load(SAIL)


@pytest.mark.parametrize("kind", [Gust, CompiledGust])
@pytest.mark.parametrize("link", ["mast", "plate"])
def test_gusts_keep_the_contract_of_loads(sail, kind, link):
    assert check_load(kind(link, **WIND), sail, name="gust").worst < 1e-8


def test_without_wind_a_gust_is_drag_which_brakes_and_does_not_know_the_world(sail):
    calm = Gust("plate", (0.0, 0.0, 0.0), 1.0, 0.02)
    assert check_load(calm, sail, name="calm", passive=True, invariant=True).worst < 1e-8


def test_a_muscle_keeps_the_contract_of_actuators(sail):
    muscle = BraidedMuscle("mast", 5e-5, z=0.006, damping=0.5)
    assert check_actuator(muscle, sail, name="muscle", inputs=(0.0, 2e4)).worst < 1e-8


def test_half_waves_keep_the_contract_of_bases():
    assert check_basis(HalfWaves(), orders=(0, 1, 2, 5)).worst < 1e3


def test_a_compiled_gust_is_the_same_gust(sail):
    robots = [sail.with_loads(wind=kind("plate", **WIND)) for kind in (Gust, CompiledGust)]
    q, qd = 0.1 * np.ones(sail.ndof), np.ones(sail.ndof)
    a, b = (robot.inverse_dynamics_derivatives(q, qd, qdd=qd, t=0.3) for robot in robots)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-14)


def test_a_gust_bends_the_mast_to_lee_and_is_over(sail):
    calm = sorosim.load(SAIL, set={"loads.breeze.compiled_gust.velocity": [0, 0, 0]})
    run = sorosim.simulate(calm, 0.5, u={"muscle": 0.0})
    assert run.tip("plate")[:, 0].max() > 0.001


def test_a_muscle_bends_the_mast_to_its_side(sail):
    straight = sorosim.load(SAIL, set={"actuators.muscle.braided_muscle.z": "-6 mm"})
    one, other = (sorosim.statics(robot, u={"muscle": 2e4}).tip("plate")[0] for robot in (sail, straight))
    assert one * other < 0.0


def test_parameters_may_be_set_from_outside(sail):
    denser = sorosim.load(SAIL, set={"loads.wind.gust.density": "1.4 kg/m^3"})
    assert denser.description.loads["wind"].density == 1.4
    with pytest.raises(sorosim.FileError, match="expected a parameter of gust, got 'densty'; did you mean density"):
        sorosim.load(SAIL, set={"loads.wind.gust.densty": 1.4})
