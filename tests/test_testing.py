"""The checks for authors of plug-ins: what is right passes, every planted fault is found and named."""

import re
import threading
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.limbs import limbs
from numpy.testing import assert_allclose

from sorosim.base.errors import InputError, ModelError, PlugInError, SorosimError
from sorosim.mechanics.actuation.base import ActuatorValues
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.loads.base import LoadLaw, LoadValues
from sorosim.mechanics.model.basis import get_basis
from sorosim.mechanics.testing.differences import jacobian, slope
from sorosim.testing import ContractError, check_actuator, check_basis, check_load


@pytest.fixture(scope="module")
def robot():
    return limbs()


# -- differences


def test_differences_find_slopes_of_smooth_functions_to_twelve_digits():
    assert_allclose(slope(lambda h: np.array([np.exp(h), np.sin(3.0 * h)])), [1.0, 3.0], rtol=1e-12)
    A = np.arange(6.0).reshape(2, 3)
    assert_allclose(jacobian(lambda x: A @ x + 1e-3 * np.sin(x[:2]), 3), A + 1e-3 * np.eye(2, 3), atol=1e-12)


def test_differences_of_a_drag_at_rest_are_those_of_rest():
    assert abs(slope(lambda h: np.array([50.0 * abs(h) * h + 2.0 + h]))[0] - 1.0) < 1e-9


def test_differences_near_the_edge_of_a_contact_take_a_small_step():
    found = slope(lambda h: np.array([max(h + 1e-3, 0.0) ** 1.5]))
    assert_allclose(found, 1.5 * 1e-3**0.5, rtol=1e-9)


# -- a load that is right, and what can be wrong with it


@dataclass(frozen=True)
class Rope:
    """A spring to a point of the world with quadratic drag, at two places of the arm."""

    anchor: tuple[float, float, float] = (0.1, 0.2, 0.9)
    stiffness: float = 20.0
    drag: float = 3.0
    dissipates: ClassVar[bool] = False
    nodes: Any = None

    @property
    def places(self):
        return (("arm", 0.4), ("arm", 1.0))

    def bind(self, layout):
        nodes = np.array([layout.link(link).node_at(s) for link, s in self.places])
        return replace(self, nodes=nodes)

    def evaluate(self, t, g, eta):
        n = len(g)
        R, p, v = g[:, :3, :3], g[:, :3, 3], eta[:, 3:]
        speed = np.linalg.norm(v, axis=1)[:, None]
        pull = self.stiffness * np.einsum("nji,nj->ni", R, self.anchor - p)
        wrench, K, D = np.zeros((n, 6)), np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
        wrench[:, 3:] = pull - self.drag * speed * v
        for i in range(n):
            K[i, 3:, :3], K[i, 3:, 3:] = skew(pull[i]), -self.stiffness * np.eye(3)
            if speed[i] > 0.0:
                D[i, 3:, 3:] = -self.drag * (speed[i] * np.eye(3) + np.outer(v[i], v[i]) / speed[i])
        return LoadValues(wrench, K, D)


def test_a_right_load_passes_and_the_report_says_how_well(robot):
    report = check_load(Rope(), robot, name="rope")
    assert report.name == "rope"
    assert report.n_states == 4
    assert list(report.errors) == [
        "K", "D", "dtau/dq inside the robot", "dtau/dqd inside the robot", "mass matrix inside the robot"
    ]  # fmt: skip
    assert report.worst < 1e-9
    assert str(report).startswith("rope: worst relative errors, 4 tried\n  K ")


class Wrong(Rope):
    """Changes what the rope returns."""

    def evaluate(self, t, g, eta):
        return LoadValues(*self.change(t, g, eta, *(part.copy() for part in super().evaluate(t, g, eta))))


class NoTurning(Wrong):
    def change(self, t, g, eta, wrench, K, D):
        K[:, :, :3] = 0.0
        return wrench, K, D


class Stiffness(Wrong):
    def change(self, t, g, eta, wrench, K, D):
        return wrench, -K, D


class Transposed(Wrong):
    def change(self, t, g, eta, wrench, K, D):
        return wrench, K.transpose(0, 2, 1), D


class NoDamping(Wrong):
    def change(self, t, g, eta, wrench, K, D):
        return wrench, K, 0.0 * D


class Coupled(Wrong):
    def change(self, t, g, eta, wrench, K, D):
        wrench[1, 0] += g[0, 0, 3]
        return wrench, K, D


class Careless(Rope):
    def evaluate(self, t, g, eta):
        found = super().evaluate(t, g, eta)
        eta[:] = 0.0
        return found


class Counting(Wrong):
    calls: ClassVar[Any] = iter(range(10**9))

    def change(self, t, g, eta, wrench, K, D):
        wrench[:, 3:] *= 1.0 + 1e-15 * (next(self.calls) % 7)
        return wrench, K, D


class Reusing(Rope):
    room: ClassVar[Any] = np.zeros((2, 6))

    def evaluate(self, t, g, eta):
        found = super().evaluate(t, g, eta)
        self.room[:] = found.wrench
        return found._replace(wrench=self.room)


HOLDS = "the six numbers eta held; the wrench is in the axes of the body"


@pytest.mark.parametrize(
    ("load", "where", "hint"),
    [
        (NoTurning(), "load rope, K at s = 0.4 of 'arm', state 0 (at rest): row ",
         f"K is the derivative by g exp(delta^), {HOLDS}"),
        (Stiffness(), "load rope, K at s = 0.4 of 'arm', state 0 (at rest): row ",
         "all signs are the other way round: it is the derivative, not minus it"),
        (Transposed(), "load rope, K at s = 0.4 of 'arm', state 0 (at rest): row ",
         "it is transposed: rows are entries of the wrench"),
        (NoDamping(), "load rope, D at s = 0.4 of 'arm', state 1 (moving): row ",
         "D is the derivative by the body twist eta = [angular; linear]"),
        (Careless(), "load rope: it changed the arrays g or eta that it was given", "work on copies"),
        (Counting(), "load rope: what it returned changed later",
         "it keeps a state: a counter, a cache, or an array that it fills anew at every call"),
        (Reusing(), "load rope: what it returned changed later",
         "it keeps a state: a counter, a cache, or an array that it fills anew at every call"),
    ],
    ids=lambda thing: type(thing).__name__ if isinstance(thing, Rope) else "",
)  # fmt: skip
def test_a_planted_fault_of_a_load_is_found_and_named(robot, load, where, hint):
    with pytest.raises(ContractError) as caught:
        check_load(load, robot, name="rope")
    assert str(caught.value).startswith(where)
    assert str(caught.value).endswith("; " + hint)


def test_the_message_names_the_entry_and_both_values(robot):
    q, zero = np.zeros(robot.ndof), np.zeros(robot.ndof)
    with pytest.raises(AssertionError) as caught:
        check_load(NoTurning(), robot, name="rope", states=[(q, zero)])
    # at s = 0.4 the arm is at x = 0.2 m, and pulled by 20 N/m (0.1 - 0.2, 0.2, 0.9) m: skew(f) is
    # [0, -18, 4; 18, 0, 2; -4, -2, 0] N
    found = re.fullmatch(
        r"load rope, K at s = 0\.4 of 'arm', state 0 \(at rest\): row (\d) \((.*)\), column (\d) \((.*)\) is 0, "
        r"by differences (-?[\d.e+]+); K is the derivative by g exp\(delta\^\), " + re.escape(HOLDS),
        str(caught.value),
    )
    # two entries are equally wrong
    value = {("3", "force x", "1", "turn about y"): -18.0, ("4", "force y", "0", "turn about x"): 18.0}
    assert float(found[5]) == pytest.approx(value[found.groups()[:4]], rel=1e-9)


def test_points_that_feel_each_other_are_found(robot):
    with pytest.raises(ContractError, match=r"moment x at s = 1 of 'arm' changed when another point moved"):
        check_load(Coupled(), robot, name="rope", tolerance=1.0)


class Elsewhere(Rope):
    def bind(self, layout):
        bound = super().bind(layout)
        return replace(bound, nodes=np.array([10**6, 0]))


class Shapeless(Wrong):
    def change(self, t, g, eta, wrench, K, D):
        return wrench[0], K, D


@dataclass(frozen=True)
class Stop(LoadLaw):
    """A stop along x of the world, by its value: it has a kink where it begins."""

    link: str = "ball"
    edge: float = 0.0

    def wrench(self, t, g, eta):
        return 0.0, -100.0 * np.maximum(g[:, 0, 3] - self.edge, 0.0)[:, None] * g[:, 0, :3]


class Hasty(Stop):
    """The same with wrong derivatives of its own."""

    def tangents(self, t, g, eta):
        return np.zeros((2, 1, 6, 6))


def test_a_load_by_its_value_is_named_where_it_is_not_smooth_or_its_own_derivatives_are_wrong(robot):
    state = np.zeros(robot.ndof), np.zeros(robot.ndof)
    x = robot.pose(state[0], "ball")[0, 3]
    assert check_load(Stop(edge=x - 0.1), robot, states=[state]).worst < 1e-8
    with pytest.raises(
        ContractError, match=r"^load load, K at 'ball', state 0 .*; its wrench is not smooth there: a k"
    ):
        check_load(Stop(edge=x), robot, states=[state])
    with pytest.raises(ContractError, match=r"^load load, K at 'ball', state 0 .*; K is the derivative by g"):
        check_load(Hasty(edge=x - 0.1), robot, states=[state])


def test_what_cannot_be_taken_at_all_is_an_error_of_its_own(robot):
    with pytest.raises(ModelError, match=r"^loads.rope.nodes: expected an array of indices of nodes"):
        check_load(Elsewhere(), robot, name="rope")
    with pytest.raises(PlugInError, match=r"^loads.rope.wrench: expected shape \(2, 6\), got shape \(6,\)"):
        check_load(Shapeless(), robot, name="rope")
    with pytest.raises(ModelError, match=r"^loads.rope: expected a load, got type"):
        check_load(Rope, robot, name="rope")
    with pytest.raises(InputError, match=r"^robot: expected a Robot, got str"):
        check_load(Rope(), "limbs")
    with pytest.raises(InputError, match=r"^states: expected pairs \(q, qd\), got none"):
        check_load(Rope(), robot, states=[])


def test_a_load_that_never_acts_is_not_checked(robot):
    with pytest.raises(ContractError) as caught:
        check_load(Rope(stiffness=0.0, drag=0.0), robot)
    assert str(caught.value) == (
        "load load: it does nothing at any of the states; give states where it acts, by states="
    )


# -- invariance and power


def test_a_load_that_knows_the_world_is_not_invariant(robot):
    with pytest.raises(ContractError, match=r"^load rope, at s = .* of 'arm', state 0 .*: when the robot was moved"):
        check_load(Rope(), robot, name="rope", n_states=2, invariant=True)
    assert check_load(Rope(stiffness=0.0), robot, name="drag", n_states=2, invariant=True, passive=True).worst < 1e-9


def test_a_load_that_drives_the_robot_is_not_passive(robot):
    with pytest.raises(ContractError, match=r"state 1 \(moving\): it does .* W on the robot; a passive load never"):
        check_load(Rope(stiffness=0.0, drag=-3.0), robot, name="rope", n_states=2, passive=True)


def test_contract_errors_are_assertions_and_can_be_carried_between_processes():
    import pickle

    error = ContractError("load x", "it is wrong", "look")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(error, AssertionError)
    assert isinstance(error, SorosimError)
    assert str(again) == "load x: it is wrong; look"


# -- actuators


@dataclass(frozen=True)
class Muscle:
    """Bends by its input, less where the rod is bent already, and brakes."""

    rods: tuple[str, ...] = ("arm",)
    unit: ClassVar[str] = "Pa"
    fault: str = ""

    def bind(self, sections):
        return BoundMuscle(len(sections.X), self.fault, threading.Lock())


@dataclass(frozen=True)
class BoundMuscle:
    n: int
    fault: str
    lock: Any

    def evaluate(self, u, xi, xid):
        wrench, by_strain = np.zeros((self.n, 6)), np.zeros((self.n, 6, 6))
        by_rate, by_input = np.zeros((self.n, 6, 6)), np.zeros((self.n, 6))
        wrench[:, 1] = 1e-6 * u * np.cos(xi[:, 1]) - 1e-4 * xid[:, 1] * (1.0 + xi[:, 3])
        by_strain[:, 1, 1] = -1e-6 * u * np.sin(xi[:, 1])
        by_strain[:, 1, 3] = -1e-4 * xid[:, 1]
        by_rate[:, 1, 1] = -1e-4 * (1.0 + xi[:, 3])
        by_input[:, 1] = 1e-6 * np.cos(xi[:, 1])
        if self.fault == "coupled":
            wrench[1:] += 1e-6 * xi[:1]
        elif self.fault == "careless":
            xi *= 0.0
        elif self.fault:
            {"by_strain": by_strain, "by_rate": by_rate, "by_input": by_input}[self.fault][:] = 0.0
        return ActuatorValues(wrench, by_strain, by_rate, by_input)


def test_a_right_actuator_passes(robot):
    report = check_actuator(Muscle(("arm", "leg")), robot, name="muscle", n_states=2, inputs=(0.0, 2e3))
    assert list(report.errors) == [
        "by_strain", "by_rate", "by_input", "dtau/dq inside the robot", "dtau/dqd inside the robot",
        "B inside the robot",
    ]  # fmt: skip
    assert report.worst < 1e-8


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("by_strain", r"^actuator muscle, by_strain at s = .* of 'arm', state 0 \(at rest\), input 2000: row 1 \(of "
         r"bending_y\), column 1 \(bending_y\) is 0, by differences"),
        ("by_rate", r"by_rate at .*: row 1 \(of bending_y\), column 1 \(rate of bending_y\) is 0, by differences"),
        ("by_input", r"by_input at .*: row 1 \(of bending_y\), column 0 \(input\) is 0, by differences"),
        ("coupled", r"^actuator muscle, by_strain at |the wrench at s = .* changed with the strain of another"),
        ("careless", r"^actuator muscle: it changed the arrays xi or xid that it was given; work on copies"),
    ],
)  # fmt: skip
def test_a_planted_fault_of_an_actuator_is_found(robot, fault, message):
    with pytest.raises(ContractError, match=message):
        check_actuator(Muscle(fault=fault), robot, name="muscle", inputs=(2e3,))


def test_actuators_that_cannot_be_tried(robot):
    with pytest.raises(ModelError, match=r"^actuators.muscle.rods: expected the name of a link with a rod, got 'hand'"):
        check_actuator(Muscle(("hand",)), robot, name="muscle")
    with pytest.raises(InputError, match=r"^inputs: expected numbers, got none"):
        check_actuator(Muscle(), robot, inputs=())
    with pytest.raises(InputError, match=r"^robot: expected a Robot, got NoneType"):
        check_actuator(Muscle(), None)


# -- bases


class Cosines:
    """1, cos(pi x), cos(2 pi x)..."""

    name = "cosines"

    def count(self, order):
        return order + 1

    def values(self, x, order):
        return np.cos(np.pi * np.multiply.outer(np.atleast_1d(x), np.arange(order + 1)))

    def breakpoints(self, order):
        return ()

    def degree(self, order):
        return 2 * order + 2


@pytest.mark.parametrize("name", ["legendre", "chebyshev", "monomial", "fourier", "gaussian", "inverse_multiquadric",
                                  "hermite", "linear_elements", "quadratic_elements", "cubic_elements"])  # fmt: skip
def test_built_in_bases_pass(name):
    report = check_basis(name, complex_places=True)
    assert report.errors["condition"] < 1e3
    assert report.errors["integrals of products"] < 1e-7
    assert report.errors["slopes by complex places"] < 1e-8


NOISE = np.random.default_rng(0)


def broken(**parts):
    return type("Broken", (Cosines,), parts)()


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (broken(values=lambda self, x, order: 1e5 * Cosines().values(x, order)),
         "basis cosines (order 1): function 0 is 1e+05 at most; functions are of order one in size, and not multiplied "
         "by any length"),
        (broken(values=lambda self, x, order: np.cos(np.multiply.outer(np.atleast_1d(x), np.arange(order + 1)) * 1e-9)),
         "basis cosines (order 1): the functions depend on each other, condition number "),
        (broken(values=lambda self, x, order: Cosines().values(x, order)[0 if np.ndim(x) == 0 else slice(None)]),
         "basis cosines (order 1): values at one place, a float, "),
        (broken(degree=lambda self, order: 0),
         "basis cosines (order 1): degree + 3 = 3 Gauss points leave an error of "),
        (broken(count=lambda self, order: order), "basis cosines (order 1): expected values of shape (4, 1), got"),
        (broken(breakpoints=lambda self, order: (0.5, 0.5)),
         "basis cosines (order 1): expected breakpoints increasing between 0 and 1, got [0.5, 0.5]"),
        (broken(values=lambda self, x, order: Cosines().values(x, order) / (np.ravel(x) != 0.5)[:, None]),
         "basis cosines (order 1): function 0 is not finite at x = 0.5"),
        (broken(values=lambda self, x, order: Cosines().values(x, order) * (1.0 + 1e-9 * NOISE.random())),
         "basis cosines (order 1): what it returned changed later"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_a_planted_fault_of_a_basis_is_found(basis, message):
    with pytest.raises(ContractError) as caught:
        check_basis(basis)
    assert str(caught.value).startswith(message)


def test_a_basis_that_takes_no_complex_places():
    flat = broken(values=lambda self, x, order: Cosines().values(np.real(x), order))
    assert check_basis(flat).worst < 1e3
    with pytest.raises(ContractError, match=r"slope of function 1 at x = .* by a complex place is 0, by differences"):
        check_basis(flat, complex_places=True)
    with pytest.raises(ModelError, match=r"^basis: expected a Basis, got object without name"):
        check_basis(object())
    assert get_basis("legendre") is get_basis("legendre")
