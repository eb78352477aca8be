"""Actuators by their value: the same as the compiled ones; derivatives follow, and only where they are asked for."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from helpers.limbs import limbs
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.duals import Dual
from sorosim.base.errors import ModelError, PlugInError
from sorosim.mechanics.actuation.base import ActuatorLaw
from sorosim.mechanics.testing.states import bare_robot
from sorosim.testing import ContractError, check_actuator


@dataclass(frozen=True)
class Layer(ActuatorLaw):
    """A moment about z that fades towards the tip."""

    rod: str = "arm"
    unit: ClassVar[str] = "N m"

    def wrench(self, u, xi, xid, sections):
        moment = u * (1.0 - sections.s)
        return np.stack([0.0 * moment, 0.0 * moment, moment, *np.zeros((3, len(xi)))], axis=1)


@dataclass(frozen=True)
class LayerOfEnergy(ActuatorLaw):
    """The same by its energy per length."""

    rod: str = "arm"

    def energy(self, u, xi, sections):
        return -u * (1.0 - sections.s) * xi[:, 2]


@dataclass(frozen=True)
class Muscle(ActuatorLaw):
    """Bends by its input, less where the rod is bent already, and brakes, in several rods."""

    rods: tuple[str, ...] = ("arm", "leg")

    def wrench(self, u, xi, xid):
        out = np.zeros_like(xi)
        out[:, 1] = 1e-6 * u**2 * np.cos(xi[:, 1]) - 1e-4 * xid[:, 1] * np.abs(1.0 + xi[:, 3])
        return out


@dataclass(frozen=True)
class Elastic(ActuatorLaw):
    """A potential in all strains, with a stiffness that its input makes."""

    rod: str = "arm"

    def energy(self, u, xi):
        return u * np.sum(np.cosh(xi) - 1.0, axis=1) + 0.1 * xi[:, 0] ** 2 * xi[:, 4]


@pytest.fixture(scope="module")
def robot():
    return limbs()


@pytest.mark.parametrize(
    ("actuator", "inputs"), [(Layer(), (0.1, -0.2)), (Muscle(), (30.0, 50.0)), (Elastic(), (0.0, 0.01))]
)
def test_actuators_by_their_value_keep_the_contract(robot, actuator, inputs):
    assert check_actuator(actuator, robot, inputs=inputs, n_states=2).worst < 1e-8


@pytest.mark.parametrize("own", [Layer(), LayerOfEnergy()])
def test_an_actuator_by_its_value_is_the_compiled_one(robot, own):
    rng = np.random.default_rng(3)
    q, qd = 0.2 * rng.normal(size=(2, robot.ndof))
    built_in = sorosim.DistributedMoment("arm", bending_z="(1 N*m)*(1 - s)")
    one, two = (bare_robot(robot, actuators={"a": each}) for each in (own, built_in))
    found, expected = (each.internal_force_derivatives(q, qd, u=[0.3]) for each in (one, two))
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a, b, atol=1e-12 * max(1.0, np.abs(b).max()))
    assert_allclose(one.internal_force(q, qd, u=[0.3]), expected.tau, atol=1e-12 * np.abs(expected.tau).max())


def test_derivatives_are_worked_out_only_where_they_are_asked_for(robot):
    seen = []

    @dataclass(frozen=True)
    class Spy(Muscle):
        def wrench(self, u, xi, xid):
            seen.append(isinstance(xi, Dual))
            return super().wrench(u, xi, xid)

    driven, zero = bare_robot(robot, actuators={"a": Spy()}), np.zeros(robot.ndof)
    for ask, derive in (
        (driven.internal_force, False),
        (driven.forward_dynamics, False),
        (driven.internal_force_derivatives, True),
        (driven.forward_dynamics_derivatives, True),
    ):
        seen.clear()
        ask(zero, zero, u=[20.0])
        assert seen
        assert any(seen) is derive


@pytest.mark.parametrize("method", ["newmark", "bdf"])
def test_motions_and_equilibria_are_those_of_the_compiled_actuator(method):
    robot = sorosim.load("cable_manipulator")
    own, built_in = (
        bare_robot(robot, actuators={"a": each})
        for each in (Layer(), sorosim.DistributedMoment("arm", bending_z="(1 N*m)*(1 - s)"))
    )
    options = {"rtol": 1e-7, "atol": 1e-9} if method == "bdf" else {"step": 2e-3}
    one, two = (sorosim.simulate(each, 0.05, u=[0.05], method=method, **options) for each in (own, built_in))
    assert_allclose(one.q[-1], two.q[-1], atol=1e-7 * np.abs(two.q[-1]).max())
    one, two = (sorosim.statics(each, u=[0.05]) for each in (own, built_in))
    assert_allclose(one.q, two.q, atol=1e-7 * np.abs(two.q).max())


def test_what_is_wrong_is_one_error(robot):
    @dataclass(frozen=True)
    class Nothing(ActuatorLaw):
        rod: str = "arm"

    @dataclass(frozen=True)
    class Filled(ActuatorLaw):
        rod: str = "arm"

        def wrench(self, u, xi, xid):
            out = np.zeros((len(xi), 6))
            out[:, 0] = u * xi[:, 0] ** 2
            return out

    class Short(Filled):
        def wrench(self, u, xi, xid):
            return xi[:, :3]

    @dataclass(frozen=True)
    class Kinked(ActuatorLaw):
        rod: str = "arm"

        def wrench(self, u, xi, xid):
            return u * np.maximum(xi, 0.0)

    zero = np.zeros(robot.ndof)
    with pytest.raises(ModelError, match=r"^actuators.a: expected a method wrench or energy, got Nothing without them"):
        bare_robot(robot, actuators={"a": Nothing()})
    filled, short = (bare_robot(robot, actuators={"a": each}) for each in (Filled(), Short()))
    assert_allclose(filled.internal_force(zero, zero, u=[2.0]), robot.internal_force(zero, zero), atol=1e-12)
    with pytest.raises(
        PlugInError, match=r"^actuators.a: expected functions of numpy that have derivatives, got plain"
    ):
        filled.internal_force_derivatives(zero, zero, u=[2.0])
    for ask in (short.internal_force, short.internal_force_derivatives):
        with pytest.raises(PlugInError, match=r"^actuators.a.wrench: expected shape \(\d+, 6\), got shape \(\d+, 3\)"):
            ask(zero, zero, u=[2.0])
    with pytest.raises(
        ContractError, match=r"by_strain at .*; its wrench is not smooth there: a kink, a jump, or noise"
    ):
        check_actuator(Kinked(), robot, states=[(zero, zero)])
