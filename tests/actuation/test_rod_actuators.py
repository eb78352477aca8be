"""Actuators inside rods: derivatives, and forces against second formulas; what they refuse."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from helpers.limbs import limbs, with_actuators
from helpers.winding import helical_robot
from numpy.testing import assert_allclose

import sorosim
from sorosim.base import registry
from sorosim.base.declare import Quantity, key
from sorosim.base.errors import FileError, InputError, ModelError, PlugInError
from sorosim.base.signals.expressions import parse
from sorosim.files import load_text
from sorosim.mechanics.actuation.base import ActuatorValues, DeclaredActuator
from sorosim.mechanics.actuation.chamber import Chamber
from sorosim.mechanics.actuation.distributed_moment import DistributedMoment, Eigenstrain
from sorosim.mechanics.actuation.mckibben import Mckibben
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.servo import Servo
from sorosim.mechanics.actuation.tendon import SLACK_PART, Tendon
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.model.span import RodName
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.testing.differences import jacobian
from sorosim.testing import check_actuator

PLACE = ("X", "s", "L", "r", "radius")


def place(text):
    return parse(text, PLACE)


HELIX = RouteSegment("arm", y=place("0.5*r*cos(4*s)"), z=place("0.5*r*sin(4*s)"))
STRAIGHT = RouteSegment("leg", y=0.005, z=0.002)


class Muscle:
    """A law without any structure, in two rods."""

    unit, rods = "Pa", ("arm", "leg")

    def bind(self, sections):
        n = len(sections.X)
        rng = np.random.default_rng(3)
        C, E = rng.normal(size=(n, 6, 6)), rng.normal(size=(n, 6))

        class Bound:
            def evaluate(self, u, xi, xid):
                by_sine = np.einsum("nij,nj->ni", C, np.sin(xi))
                wrench = u * by_sine + 0.1 * np.einsum("nij,nj->ni", C, xid) + u * u * E
                return ActuatorValues(wrench, u * C * np.cos(xi)[:, None, :], 0.1 * C, by_sine + 2.0 * u * E)

        return Bound()


ACTUATORS = {
    "tendon": (Tendon(HELIX), (1.0, 5.0)),
    "tendon that pushes": (Tendon(HELIX, pushes=True), (-5.0, 5.0)),
    "friction": (Tendon(HELIX, friction=0.3), (5.0,)),
    "friction, straight": (Tendon(STRAIGHT, friction=0.5), (5.0,)),
    "wound": (Tendon(HELIX, stiffness=2e3), (0.1, 0.2)),
    "chamber": (Chamber((HELIX,), area=place("1e-4*(1+s)")), (2e4, -1e4)),
    "chamber that stiffens": (Chamber((HELIX,), area=1e-4, stiffening=2e-5), (2e4, -1e4)),
    "mckibben": (Mckibben(HELIX, radius=0.004, braid=0.4), (2e5, 1e4)),
    "moment": (DistributedMoment("arm", bending_y=place("1-s"), torsion=0.2), (0.3,)),
    "eigenstrain": (Eigenstrain("arm", bending_y=place("3*(1-s)"), torsion=1.0, elongation=0.05), (0.3,)),
    "servo": (Servo("leg", stiffness=2.0, damping=0.1, limit=0.5), (0.4, -3.0)),
    "servo without limit": (Servo("leg", stiffness=2.0), (0.4,)),
    "in Python": (Muscle(), (0.0, 0.3)),
}


@pytest.fixture(scope="module")
def robot():
    return limbs()


@pytest.fixture(scope="module")
def state(robot):
    rng = np.random.default_rng(3)
    return 0.3 * rng.normal(size=robot.ndof), 0.7 * rng.normal(size=robot.ndof)


@pytest.mark.parametrize("name", ACTUATORS)
def test_actuator_keeps_its_contract(robot, name):
    actuator, inputs = ACTUATORS[name]
    assert check_actuator(actuator, robot, name=name, inputs=inputs, n_states=2).worst < 1e-9


def force(robot, actuator, q, u, qd=None):
    """What an actuator adds to internal forces."""
    qd = np.zeros(robot.ndof) if qd is None else qd
    return with_actuators(robot, a=actuator).internal_force(q, qd, u=[u]) - robot.internal_force(q, qd)


# -- tendons


def test_a_tendon_does_as_much_work_as_it_gets_shorter(robot, state):
    q, _ = state
    tendons = with_actuators(robot, a=Tendon(HELIX))
    by_length = jacobian(lambda d: np.array([tendons.tendon_lengths(q + d)["a"]]), robot.ndof, 0.1)[0]
    assert_allclose(force(robot, Tendon(HELIX), q, 5.0), -5.0 * by_length, atol=1e-11)


def test_the_length_of_a_tendon_is_that_of_its_way_through_the_world(robot, state):
    q, _ = state
    s = np.linspace(0.0, 1.0, 4001)
    r = 0.03 - 0.02 * s
    route = 0.5 * r[:, None] * np.stack([np.zeros_like(s), np.cos(4 * s), np.sin(4 * s)], axis=1)
    g = robot.poses(q, "arm", s=s)
    points = g[:, :3, 3] + np.einsum("nij,nj->ni", g[:, :3, :3], route)
    length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
    found = with_actuators(robot, a=Tendon(HELIX)).tendon_lengths(q)["a"]
    assert_allclose(found, length, rtol=1e-4)


def test_a_slack_tendon_carries_nothing_and_a_rod_that_pushes_does(robot, state):
    q, qd = state
    assert not force(robot, Tendon(HELIX), q, -5.0).any()
    assert_allclose(force(robot, Tendon(HELIX, pushes=True), q, -5.0), -force(robot, Tendon(HELIX), q, 5.0), atol=1e-13)
    slack = with_actuators(robot, a=Tendon(HELIX)).internal_force_derivatives(q, qd, u=[-5.0])
    assert not slack.B.any()
    assert_allclose(slack.dtau_dq, robot.internal_force_derivatives(q, qd).dtau_dq, atol=1e-15)


@pytest.mark.parametrize("pull", [-0.5, -1e-3, 0.0, 0.3, 1.0, 5.0])
def test_a_wound_tendon_is_a_spring_that_cannot_push(robot, state, pull):
    # pull: by how much it is stretched, in units of the part of its length that only takes up slack
    q, _ = state
    lengths = [with_actuators(robot, a=Tendon(HELIX)).tendon_lengths(x)["a"] for x in (q, np.zeros(robot.ndof))]
    onset, k = SLACK_PART * lengths[1], 2e3
    stretch = pull * onset
    if pull <= 0.0:
        tension = 0.0
    elif pull < 1.0:
        tension = 0.5 * k * stretch**2 / onset
    else:
        tension = k * (stretch - 0.5 * onset)
    found = force(robot, Tendon(HELIX, stiffness=k), q, stretch - (lengths[0] - lengths[1]))
    assert_allclose(found, force(robot, Tendon(HELIX), q, tension), atol=1e-10)


def test_the_tension_of_a_wound_tendon_has_no_jumps_and_no_kinks(robot, state):
    q, qd = state
    lengths = [with_actuators(robot, a=Tendon(HELIX)).tendon_lengths(x)["a"] for x in (q, np.zeros(robot.ndof))]
    onset, wound = SLACK_PART * lengths[1], with_actuators(robot, a=Tendon(HELIX, stiffness=2e3))
    taut = wound.internal_force_derivatives(q, qd, u=[2.0 * onset - (lengths[0] - lengths[1])])
    for edge in (0.0, onset):
        u = edge - (lengths[0] - lengths[1])
        below, above = (wound.internal_force_derivatives(q, qd, u=[u + d]) for d in (-1e-9 * onset, 1e-9 * onset))
        for part in ("tau", "dtau_dq", "B"):
            size = np.abs(getattr(taut, part)).max()
            assert_allclose(getattr(below, part), getattr(above, part), atol=1e-7 * size)


def planar_rod(actuator, bending=0, gravity=(0, 0, 0), **options):
    """A rod of 0.4 m that only bends about z."""
    rod = Rod((Division(0.4, Circle(0.02), Material(1e6, poisson=0.5, density=1000.0),
                        sorosim.mechanics.model.basis.Strain(bending_z=bending), **options),))  # fmt: skip
    return Robot(Description("rod", (Link("arm", rod),), gravity=gravity, actuators={"a": actuator}))


@pytest.mark.parametrize("angle", [-3.0, -0.5, 0.01, 0.8, 4.0])
def test_friction_takes_what_a_capstan_takes(angle):
    # a rod of constant curvature, its tendon 1 cm beside the axis: it turns by the same angle
    T, y, mu, L = 7.0, 0.01, 0.4, 0.4
    robot = planar_rod(Tendon(RouteSegment("arm", y=y, z=0.0), friction=mu), quadrature=20)
    tau = robot.internal_force([angle], [0.0], u=[T]) - robot.internal_force([angle], [0.0], u=[0.0])
    # slow turning, of a thousandth of a radian on the whole way, is felt less
    fade = 1e-3 / L
    turn = (np.sqrt((angle / L) ** 2 + fade**2) - fade) * L
    assert_allclose(tau, T * y * (1.0 - np.exp(-mu * turn)) / (mu * turn), rtol=1e-10)
    assert_allclose(tau, T * y * (1.0 - np.exp(-mu * abs(angle))) / (mu * abs(angle)), rtol=1e-3)


def test_a_straight_tendon_with_friction_loses_nothing():
    y, T = 0.01, 7.0
    robot = planar_rod(Tendon(RouteSegment("arm", y=y, z=0.0), friction=0.4))
    assert_allclose(robot.internal_force([0.0], [0.0], u=[T]), T * y, rtol=1e-12)


# -- chambers and moments


def test_a_chamber_pushes_by_what_its_volume_grows(robot, state):
    q, _ = state
    area = 2e-4
    tendons = with_actuators(robot, a=Tendon(HELIX))
    grows = area * jacobian(lambda d: np.array([tendons.tendon_lengths(q + d)["a"]]), robot.ndof, 0.1)[0]
    assert_allclose(force(robot, Chamber((HELIX,), area=area), q, 3e4), 3e4 * grows, atol=1e-11)


def test_a_chamber_on_the_axis_stretches_a_rod_as_its_pressure_says():
    # EA e = p A_chamber
    material = Material(1e6, poisson=0.5, density=1000.0)
    strain = sorosim.mechanics.model.basis.Strain(elongation=0)
    rod = Rod((Division(0.4, Circle(0.02), material, strain),))
    chamber = Chamber((RouteSegment("arm", y=0.0, z=0.0),), area=1e-4)
    robot = Robot(Description("rod", (Link("arm", rod),), gravity=(0, 0, 0), actuators={"a": chamber}))
    for pressure in (1e5, -5e4):
        eq = sorosim.statics(robot, u={"a": pressure})
        assert_allclose(eq.tip()[0], 0.4 * (1.0 + pressure * 1e-4 / (1e6 * np.pi * 0.02**2)), rtol=1e-9)


def stretching_rod(actuator, young=1e6):
    """A rod of 0.4 m that only stretches."""
    rod = Rod((Division(0.4, Circle(0.02), Material(young, poisson=0.5, density=1000.0),
                        sorosim.mechanics.model.basis.Strain(elongation=0)),))  # fmt: skip
    return Robot(Description("rod", (Link("arm", rod),), gravity=(0, 0, 0), actuators={"a": actuator}))


def test_a_mckibben_muscle_has_the_force_of_chou_and_hannaford():
    # F = p pi r^2 (3 (1 - e)^2/tan^2 a - 1/sin^2 a) at the contraction e, and none where its volume is the largest
    r, braid, p = 0.005, np.radians(25.0), 3e5
    robot = stretching_rod(Mckibben(RouteSegment("arm", y=0.0, z=0.0), radius=r, braid=braid))
    still = stretching_rod(Chamber((RouteSegment("arm", y=0.0, z=0.0),), area=1e-4))
    neutral = 1.0 - np.tan(braid) / (np.sqrt(3.0) * np.sin(braid))
    for contraction in (-0.1, 0.0, 0.15, 0.3, neutral):
        q = [-contraction]
        pull = -(robot.internal_force(q, [0.0], u=[p]) - still.internal_force(q, [0.0]))[0] / 0.4
        law = p * np.pi * r**2 * (3.0 * (1.0 - contraction) ** 2 / np.tan(braid) ** 2 - 1.0 / np.sin(braid) ** 2)
        assert_allclose(pull, law, rtol=1e-12, atol=1e-9)
    assert_allclose(law, 0.0, atol=1e-9)
    assert_allclose(robot.internal_force([0.1], [0.0], u=[-p]), robot.internal_force([0.1], [0.0], u=[0.0]))


def test_a_mckibben_muscle_does_the_work_of_its_volume():
    # fibres of constant length b wound n times: a cylinder of length l holds l (b^2 - l^2)/(4 pi n^2)
    r, braid, p, L = 0.004, np.radians(30.0), 2e5, 0.4
    way = RouteSegment("arm", y=0.005, z=0.002)
    muscle = stretching_rod(Mckibben(way, radius=r, braid=braid))
    fibre, turns = L / np.cos(braid), L * np.tan(braid) / (2.0 * np.pi * r)

    def volume(x):
        length = L * (1.0 + x)
        return length * (fibre**2 - length**2) / (4.0 * np.pi * turns**2)

    for x in (-0.2, 0.0, 0.1):
        work = p * (volume(x + 1e-5) - volume(x - 1e-5)) / 2e-5
        found = muscle.internal_force([x], [0.0], u=[p]) - muscle.internal_force([x], [0.0], u=[0.0])
        assert_allclose(found[0], work, rtol=1e-8)


def test_a_chamber_that_stiffens_makes_a_rod_of_another_modulus():
    way = RouteSegment("arm", y=0.005, z=0.0)
    chamber, plain = Chamber((way,), area=1e-4, stiffening=4e-6), Chamber((way,), area=1e-4)
    for p in (1e5, -1e5):
        one = stretching_rod(chamber).internal_force_derivatives([0.1], [0.0], u=[p])
        two = stretching_rod(plain, 1e6 * (1.0 + 4e-6 * p)).internal_force_derivatives([0.1], [0.0], u=[p])
        assert_allclose(one.tau, two.tau, rtol=1e-12)
        assert_allclose(one.dtau_dq, two.dtau_dq, rtol=1e-12)


def test_a_chamber_that_stiffens_follows_the_material():
    robot = stretching_rod(Chamber((RouteSegment("arm", y=0.0, z=0.0),), area=1e-4, stiffening=4e-6))
    name = next(name for name in sorosim.scalars(robot) if name.endswith(".young"))
    other = robot.with_values({name: 3e6})
    forces = [one.internal_force([0.1], [0.0], u=[1e5]) - 0.4 * 1e5 * 1e-4 for one in (robot, other)]
    assert_allclose(forces[1], 3.0 * forces[0], rtol=1e-12)
    by_young = sorosim.sensitivities(robot, [name]).internal_force([0.1], [0.0], u=[1e5])
    assert_allclose(by_young[:, 0], (forces[1] - forces[0]) / 2e6, rtol=1e-12)


def test_a_moment_along_a_rod_bends_it_as_it_says():
    # E I kappa = u m(X), m = 1 - s: a curvature that a linear basis has
    robot = planar_rod(DistributedMoment("arm", bending_z=place("1-s")), bending=1)
    eq = sorosim.statics(robot, u={"a": 0.05})
    stiffness = 1e6 * np.pi * 0.02**4 / 4.0
    # angle at the tip: u L / (2 E I)
    R = robot.pose(eq.q, "arm")[:3, :3]
    assert_allclose(np.arctan2(R[1, 0], R[0, 0]), 0.05 * 0.4 / (2.0 * stiffness), rtol=1e-9)


# -- servos


@pytest.mark.parametrize("limit", [np.inf, 0.5])
def test_a_servo_pulls_to_its_target_and_no_harder_than_it_can(robot, state, limit):
    q, qd = state
    k = robot.coordinate_names.index(next(name for name in robot.coordinate_names if name.startswith("leg.revolute")))
    options = {} if np.isinf(limit) else {"limit": limit}
    for target in (0.1, 5.0, -5.0):
        effort = 2.0 * (target - q[k]) - 0.1 * qd[k]
        expected = np.zeros(robot.ndof)
        expected[k] = effort if np.isinf(limit) else limit * np.tanh(effort / limit)
        found = force(robot, Servo("leg", stiffness=2.0, damping=0.1, **options), q, target, qd)
        assert_allclose(found, expected, atol=1e-12)


# -- in Python


@dataclass(frozen=True)
class SlowTendon:
    """A tendon on a straight route, in Python: tension u, or u (1 + 0.3 stretch)."""

    y: float
    z: float
    rods: tuple[str, ...] = ("leg",)
    unit: ClassVar[str] = "N"

    def bind(self, sections):
        return self

    def evaluate(self, u, xi, xid):
        n = len(xi)
        E = np.hstack([-skew(np.array([0.0, self.y, self.z])), np.eye(3)])
        v = xi @ E.T
        size = np.linalg.norm(v, axis=1)
        t = v / size[:, None]
        turn = (np.eye(3) - np.einsum("ni,nj->nij", t, t)) / size[:, None, None]
        by_strain = -u * E.T @ turn @ E
        return ActuatorValues(-u * t @ E, by_strain, np.zeros((n, 6, 6)), -t @ E)


def test_a_tendon_in_python_is_the_compiled_one(robot, state):
    q, qd = state
    a, b = (with_actuators(robot, a=actuator) for actuator in (SlowTendon(0.005, 0.002), Tendon(STRAIGHT)))
    one, two = a.internal_force_derivatives(q, qd, u=[5.0]), b.internal_force_derivatives(q, qd, u=[5.0])
    for x, y in zip(one, two, strict=True):
        assert_allclose(x, y, atol=1e-12 * np.abs(y).max())
    zero = np.zeros(robot.ndof)
    assert_allclose(
        a.forward_dynamics(zero, zero, u=[5.0]), b.forward_dynamics(zero, zero, u=[5.0]), rtol=1e-9, atol=1e-9
    )


def test_the_way_of_an_actuator_in_python_through_statics_and_motion_is_that_of_a_compiled_one():
    a, b = planar_rod(SlowTendon(0.01, 0.0, ("arm",)), 2), planar_rod(Tendon(RouteSegment("arm", y=0.01, z=0.0)), 2)
    assert_allclose(sorosim.statics(a, u=[3.0]).q, sorosim.statics(b, u=[3.0]).q, atol=1e-12)
    for method in ("bdf", "newmark"):
        one, two = (sorosim.simulate(robot, 0.05, u={"a": "10*t"}, method=method) for robot in (a, b))
        assert_allclose(one.q, two.q, atol=1e-6)


def test_numbers_of_actuators_that_python_computes_are_refused_by_sensitivities(monkeypatch):
    monkeypatch.setattr(registry.ACTUATORS, "_built_in", dict(registry.ACTUATORS.declared()))

    @dataclass(frozen=True)
    class SlowMoment(DeclaredActuator, kind="moment_of_test", title="Moments"):
        rod: str = key(RodName(), "Name of the link.", "arm")
        gain: float = key(Quantity("number"), "Moment per input.", "1", kw_only=True)
        unit: ClassVar[str] = "N"
        rods = property(lambda self: [self.rod])

        def bind(self, sections):
            return self

        def evaluate(self, u, xi, xid):
            n = len(xi)
            by_input = np.zeros((n, 6))
            by_input[:, 2] = self.gain
            return ActuatorValues(u * by_input, np.zeros((n, 6, 6)), np.zeros((n, 6, 6)), by_input)

    robot = planar_rod(SlowMoment("arm", gain=0.01), gravity=(0, -9.81, 0))
    with pytest.raises(InputError, match=r"'actuators\.a\.moment_of_test\.gain' \(code that uses it cannot carry"):
        sorosim.sensitivities(robot, ["actuators.a.moment_of_test.gain"])
    by = sorosim.sensitivities(robot, ["gravity[1]"])
    q = sorosim.statics(robot, u=[1.0])
    step = 1e-4 * 9.81
    q1, q0 = (
        sorosim.statics(planar_rod(SlowMoment("arm", gain=0.01), gravity=(0, -9.81 + d, 0)), u=[1.0]).q
        for d in (step, -step)
    )
    assert_allclose(by.equilibrium(q).q[:, 0], (q1 - q0) / (2 * step), rtol=1e-5)


RIGHT = ActuatorValues(np.zeros((5, 6)), np.zeros((5, 6, 6)), np.zeros((5, 6, 6)), np.zeros((5, 6)))


def raising(u, xi, xid):
    raise ZeroDivisionError("no air")


@pytest.mark.parametrize(
    ("evaluate", "kind", "message"),
    [
        (raising, PlugInError, "actuators.a: expected ActuatorValues(wrench, by_strain, by_rate, by_input), got "
         "ZeroDivisionError: no air; look at "
         f"{__name__}.Bad.evaluate"),
        (lambda u, xi, xid: None, PlugInError,
         "actuators.a: expected ActuatorValues(wrench, by_strain, by_rate, by_input), got nothing"),
        (lambda u, xi, xid: RIGHT[:3], PlugInError,
         "actuators.a: expected ActuatorValues(wrench, by_strain, by_rate, by_input), got"),
        (lambda u, xi, xid: RIGHT._replace(wrench=np.zeros(6)), PlugInError,
         "actuators.a.wrench: expected shape (5, 6), got shape (6,)"),
        (lambda u, xi, xid: RIGHT._replace(by_rate="none"), PlugInError,
         "actuators.a.by_rate: expected an array of shape (5, 6, 6), got 'none'"),
        (lambda u, xi, xid: RIGHT._replace(by_input=np.full((5, 6), np.nan)), ModelError,
         "actuators.a.by_input: expected finite numbers, got NaN or infinity at s = 0.04691 of rod 'arm', input 3"),
    ],
)  # fmt: skip
def test_an_actuator_that_goes_wrong_is_one_error_that_names_it_and_the_point(evaluate, kind, message):
    robot = planar_rod(type("Bad", (SlowTendon,), {"evaluate": staticmethod(evaluate)})(0.0, 0.0, ("arm",)))
    with pytest.raises(kind) as caught:
        robot.internal_force([0.0], [0.0], u=[3.0])
    assert type(caught.value) is kind
    assert str(caught.value).startswith(message)


def test_what_is_no_actuator():
    link = planar_rod(SlowTendon(0.0, 0.0, ("arm",))).description
    for actuator, message in (
        (SlowTendon, "actuators.a: expected an actuator, got type"),
        (3.0, "actuators.a: expected an actuator, got float without unit, rods, bind"),
        (SlowTendon(0, 0, ()), "actuators.a.rods: expected names of rods, got none"),
        (SlowTendon(0, 0, ("amr",)),
         "actuators.a.rods: expected the name of a link with a rod, got 'amr'; did you mean arm?"),
    ):  # fmt: skip
        with pytest.raises(ModelError) as caught:
            Robot(replace(link, actuators={"a": actuator}))
        assert str(caught.value) == message


# -- energy


@pytest.mark.parametrize("name", ["tendon", "friction", "wound", "chamber", "moment", "servo"])
def test_work_of_actuators_is_accounted_for(name):
    actuator, inputs = ACTUATORS[name]
    robot = with_actuators(limbs((0, 0, 0)), a=actuator)
    # inputs that begin softly
    size = {"wound": 0.01, "friction": 1.0, "tendon": 1.0}.get(name, inputs[0])
    run = sorosim.simulate(robot, 0.1, u={"a": f"{size}*(1-cos(20*t))/2"}, dt_out=2.5e-4, rtol=1e-8, atol=1e-10)
    energy = run.energy()
    assert np.abs(energy.work).max() > 1e-6
    assert np.abs(energy.balance).max() < 2e-4 * np.abs(energy.work).max()


def test_a_chamber_in_rods_that_are_apart_is_one_in_each_at_the_same_pressure(rng):
    runs = {name: RouteSegment(name, y=0.0, z=0.004) for name in ("left", "right")}
    rod = Rod(0.2, Circle(radius=0.01), Material(1e6, poisson=0.5, density=1e3), Strain(bending=2, elongation=1))
    links = [Link("left", rod), Link("right", rod, joint=Joint("revolute"))]
    one = Robot(Description("one", links, actuators={"air": Chamber(tuple(runs.values()), area=1e-4)}))
    each = {name: Chamber((run,), area=1e-4) for name, run in runs.items()}
    two = Robot(Description("two", links, actuators=each))
    q, qd = rng.normal(scale=0.1, size=(2, one.ndof))
    assert_allclose(one.internal_force(q, qd, u=[3e4]), two.internal_force(q, qd, u=[3e4, 3e4]), rtol=1e-12, atol=1e-15)
    for kind in (Tendon(tuple(runs.values())), Mckibben(tuple(runs.values()), radius=0.004, braid=0.4)):
        with pytest.raises(ModelError, match="over fixed joints only"):
            Robot(Description("apart", links, actuators={"pull": kind}))


def test_a_tendon_along_nothing_is_refused():
    tendon = Tendon((RouteSegment("arm", y=0.005, z=0.0, start=0.0, end=1e-12),), friction=0.1)
    with pytest.raises(ModelError, match=r"tendon\.to: expected a place beyond the start, 0, got 1e-12"):
        planar_rod(tendon)


def test_gauss_points_follow_routes_as_far_as_strain_functions_can():
    def points(order, **keys):
        robot = sorosim.load(helical_robot(order, **keys))
        assert "quadrature" not in robot.to_yaml() or keys.get("quadrature")
        return int((robot.engine.layout.links["rod"].weight > 0.0).sum())

    assert points(4, turns=0.5) == 7
    assert points(4, turns=1) == 14
    assert points(8, turns=2) == 2 * 11 + 2 * 2
    assert points(8, turns=2, quadrature=12) == 12
    # 12 rad of order 4 at most: beyond, an order, or a formula in degrees, is what lacks
    assert points(4, turns=1.9) == 14 + 4
    assert points(4, turns=2) == points(4, turns=57) == 7


@pytest.mark.parametrize(
    ("y", "z", "turn"),
    [("8 mm", "-2 mm", 0.0), ("8 mm*(1 - s)", "0", 1.0), ("8 mm*cos(3*s)", "8 mm*sin(3*s)", 3.0), ("0", "0", 0.0),
     ("8 mm*sin(2*pi*s)", "0", 4.0)],
)  # fmt: skip
def test_the_turn_of_a_route_is_its_way_across_the_section_by_its_distance(y, z, turn):
    content = helical_robot(3)
    content["actuators"]["pull"]["tendon"] |= {"y": y, "z": z}
    robot = sorosim.load(content)
    layout = robot.engine.layout.links["rod"]
    (run,) = robot.description.actuators["pull"].segments_in(layout, layout.pieces[0])
    # half of a 128th at each end is left out, where some are fastest
    assert_allclose(run.turn(layout, layout.pieces[0]), turn, rtol=0.02)


# -- several stretches in one rod


TWO_PARTS = """
sorosim: 1
gravity: [0, 0, 0]
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000}}
links:
  arm:
    rod:
      divisions:
      - {length: 10 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2, elongation: 1}}
      - {length: 10 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2, elongation: 1}}
actuators:
  one: {tendon: {rod: arm, y: "max(4 mm - (20 mm)*s*0.2, 2 mm)", z: "min(5 mm*s, 2.5 mm)"}}
  two:
    tendon:
      path:
        - {rod: arm, y: 4 mm - (20 mm)*s*0.2, z: 5 mm*s, from: 0, to: 0.5}
        - {rod: arm, y: 2 mm, z: 2.5 mm, from: 0.5, to: 1}
"""


def test_a_path_of_two_stretches_in_one_rod_is_that_of_min_and_max():
    robot = load_text(TWO_PARTS, "arm")
    q = 0.1 * np.cos(np.arange(robot.ndof))
    lengths = robot.tendon_lengths(q)
    assert lengths["one"] == pytest.approx(lengths["two"], rel=1e-13)
    B = robot.internal_force_derivatives(q, 0 * q, u=[1.0, 1.0]).B
    assert_allclose(B[:, 0], B[:, 1], atol=1e-13)


def test_stretches_that_leave_a_gap_or_a_step_are_refused():
    with pytest.raises(FileError, match=r"go on from each other, got one that ends at 0\.5 and one that begins"):
        load_text(TWO_PARTS.replace("from: 0.5, to: 1", "from: 0, to: 1"), "arm")
    with pytest.raises(FileError, match=r"stretches that meet at s = 0\.5 of rod 'arm', got a step of 1 mm"):
        load_text(TWO_PARTS.replace("y: 2 mm", "y: 3 mm"), "arm")


def test_a_tendon_pulls_a_fed_rod_back_by_its_tension():
    text = """
sorosim: 1
gravity: [0, 0, 0]
materials: {rubber: {young: 50 MPa, poisson: 0.4, density: 1000}}
links:
  arm: {joint: feed, rod: {length: 10 cm, section: {circle: {radius: 1 mm}}, material: rubber, strain: {bending: 2}}}
actuators:
  cord: {tendon: {rod: arm, y: 0, z: 0}}
"""
    robot = load_text(text, "arm")
    assert sorosim.statics(robot, {"cord": 0.3}, driven={"arm": 0.02}).driven["arm"] == pytest.approx(0.3, rel=1e-9)
    robot, q = load_text(text + "  hold: {joint: {link: arm}}\n", "arm"), np.zeros(robot.ndof)
    assert robot.internal_force(q, q, u={"cord": 0.3, "hold": 0.3})[0] == pytest.approx(0.0, abs=1e-12)


CATHETER = """
sorosim: 1
gravity: [0, 0, 0]
materials: {rubber: {young: 5 MPa, poisson: 0.4, density: 1000}}
links:
  hub: {joint: {revolute: {axis: [0, 0, 1], stiffness: 1 N*m/rad}}, body: {mass: 10 g, inertia: [1e-6, 1e-6, 1e-6]}}
  arm:
    parent: hub
    joint: {feed: {stiffness: 20 N/m}}
    rod:
      length: 10 cm
      section: {circle: {radius: 2 mm}}
      material: rubber
      strain: {bending_y: 2, bending_z: 2, torsion: 0, elongation: 0}
      reference: {bending_y: 3}
      quadrature: 8
actuators:
  cord: {tendon: {rod: arm, y: "1.5 mm*cos(2*s)", z: "1.5 mm*sin(2*s)", held: rod, $more}}
"""
HELD = {"tension": ("pushes: false", 0.7), "friction": ("friction: 0.4", 0.7), "wound": ("stiffness: 400 N/m", 0.06)}


def catheter(more, held="rod"):
    return load_text(CATHETER.replace("held: rod", f"held: {held}").replace("$more", more), "catheter")


@pytest.mark.parametrize("kind", HELD)
def test_a_tendon_on_a_fed_rod_does_as_much_work_as_it_gets_shorter_from_what_holds_it(kind, rng):
    """Held on the rod it is shorter by what is fed, so the feed has its tension less to carry, and nothing else."""
    more, given = HELD[kind]
    robot, sheathed = catheter(more), catheter(more, "sheath")
    q, fed = 0.3 * rng.normal(size=robot.ndof), 0.03
    q[1] = fed
    assert sheathed.tendon_lengths(q)["cord"] - robot.tendon_lengths(q)["cord"] == pytest.approx(fed, rel=1e-12)
    # the tendon that is held at the sheath has the same tension if what is fed is wound up less
    other = given - fed if kind == "wound" else given
    tensions = [one.engine.tensions(q, np.array([u])).item() for one, u in ((robot, given), (sheathed, other))]
    assert tensions[0] == pytest.approx(tensions[1], rel=1e-12)
    assert tensions[0] > 0.5
    forces = robot.internal_force(q, 0.0 * q, u=[given]) - sheathed.internal_force(q, 0.0 * q, u=[other])
    assert_allclose(forces, np.where(np.arange(robot.ndof) == 1, tensions[0], 0.0), atol=1e-13)
    if kind != "friction":
        gradient = jacobian(lambda d: np.array([robot.tendon_lengths(q + d)["cord"]]), robot.ndof, 0.01)[0]
        work = robot.internal_force(q, 0.0 * q, u=[given]) - robot.internal_force(q, 0.0 * q, u=[-1.0])
        assert_allclose(work, -tensions[0] * gradient, atol=1e-9)


@pytest.mark.parametrize("kind", HELD)
def test_forces_of_a_tendon_that_is_held_on_a_fed_rod_have_exact_derivatives(kind, rng):
    more, given = HELD[kind]
    robot = catheter(more)
    q, rest = 0.3 * rng.normal(size=robot.ndof), np.zeros(robot.ndof)
    q[1] = 0.03
    forces = robot.internal_force_derivatives(q, rest, u=[given])
    by_q = jacobian(lambda d: robot.internal_force(q + d, rest, u=[given]), robot.ndof, 0.01)
    assert_allclose(forces.dtau_dq, by_q, atol=1e-7 * np.abs(by_q).max())
    by_u = jacobian(lambda d: robot.internal_force(q, rest, u=given + d), 1, 0.01)
    assert_allclose(forces.B, by_u, atol=1e-7 * np.abs(by_u).max())
    # in motion: by products, and as a matrix
    qd, w = rng.normal(size=robot.ndof), rng.normal(size=robot.ndof)
    vjp = robot.forward_dynamics_vjp(q, qd, qdd_bar=w, u=[given])
    whole = robot.forward_dynamics_derivatives(q, qd, u=[given])
    assert_allclose(vjp.by_q, w @ whole.dqdd_dq, atol=1e-9 * np.abs(vjp.by_q).max())
    assert_allclose(vjp.by_u, w @ whole.dqdd_du, rtol=1e-9)


def test_a_handle_takes_its_tendon_along_in_statics_and_inverse():
    robot, sheathed = (catheter("pushes: false", held) for held in ("rod", "sheath"))
    held, drawn = (sorosim.statics(one, {"cord": 0.7}, driven={"arm": "3 cm"}) for one in (robot, sheathed))
    assert_allclose(held.q, drawn.q, atol=1e-9)
    assert drawn.driven["arm"] - held.driven["arm"] == pytest.approx(0.7, rel=1e-9)
    # the feed is free: its spring and the rod hold it
    free = sorosim.statics(robot, {"cord": 0.7})
    found = sorosim.inverse(robot, {"arm": free.tip("arm")}, free=["cord"])
    assert found.u.item() == pytest.approx(0.7, rel=1e-4)
    force, size = robot.internal_force_derivatives(free.q, 0.0 * free.q, u=[0.7]), 1e-3
    near = [sorosim.statics(robot, {"cord": 0.7 + x}, q0=free).q for x in (size, -size)]
    by_u = np.linalg.solve(-force.dtau_dq, force.B[:, 0])
    assert_allclose((near[0] - near[1]) / (2.0 * size), by_u, atol=1e-5 * np.abs(by_u).max())


def test_a_handle_is_a_motor_that_gives_the_feed_the_tension_back():
    robot = catheter("pushes: false")
    motor = load_text(
        CATHETER.replace("held: rod, $more", "held: sheath") + "  hold: {joint: {link: arm}}\n", "catheter"
    )
    runs = [
        sorosim.simulate(one, 0.04, u=inputs, rtol=1e-8, atol=1e-10)
        for one, inputs in ((robot, {"cord": 0.7}), (motor, {"cord": 0.7, "hold": 0.7}))
    ]
    assert np.ptp(runs[0].q[:, 1]) > 1e-3
    assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-6)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("joint: {feed: {stiffness: 20 N/m}}", "joint: fixed", r"begins in a rod that is fed, got the joint fixed"),
    ("joint: {feed: {stiffness: 20 N/m}}", "joint: growth", r"begins in a rod that is fed, got the joint growth"),
])  # fmt: skip
def test_a_tendon_is_held_on_a_rod_only_where_it_goes_through_a_sheath(old, new, message):
    with pytest.raises(FileError, match=message):
        load_text(CATHETER.replace("$more", "pushes: false").replace(old, new), "catheter")


def test_a_tendon_that_begins_beyond_the_sheath_cannot_be_held_on_the_rod():
    part = "{length: 5 cm, section: {circle: {radius: 1 mm}}, material: rubber, strain: {bending: 1}}"
    text = f"""
sorosim: 1
materials: {{rubber: {{young: 5 MPa, poisson: 0.4, density: 1000}}}}
links: {{arm: {{joint: feed, rod: {{divisions: [{part}, {part}]}}}}}}
actuators: {{cord: {{tendon: {{rod: arm, y: 0, z: 0, from: 0.5, held: rod}}}}}}
"""
    with pytest.raises(FileError, match=r"held: expected a tendon from the base of its rod on, got one from 0\.5 on"):
        load_text(text, "catheter")
