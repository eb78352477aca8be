"""Products with the derivatives of forward dynamics, against the matrices."""

import numpy as np
import pytest
from helpers.differences import Worst
from helpers.limbs import limbs, pose, with_actuators
from helpers.robots import closed_at_zero, random_state, varied_tree, with_random_loops
from numpy.testing import assert_allclose

import sorosim
from sorosim.mechanics.actuation.base import ActuatorValues
from sorosim.mechanics.actuation.chamber import Chamber
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.servo import Servo, VelocityServo
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor

WORST = Worst()
# products and matrices solve with M by different algorithms: each has errors of its condition number
EXACT, CONDITION = 1e-11, 30e-16


class Brake:
    """Brakes the bending of the arm by its input, in Python."""

    unit, rods = "", ("arm",)

    def bind(self, sections):
        return self

    def evaluate(self, u, xi, xid):
        n = len(xi)
        wrench, by_rate, by_input = np.zeros((n, 6)), np.zeros((n, 6, 6)), np.zeros((n, 6))
        by_input[:, 1:3] = -1e-3 * xid[:, 1:3]
        wrench[:, 1:3], by_rate[:, [1, 2], [1, 2]] = u * by_input[:, 1:3], -1e-3 * u
        return ActuatorValues(wrench, np.zeros((n, 6, 6)), by_rate, by_input)


ACTUATORS = {
    "wound": Tendon(RouteSegment("arm", y=0.005, z=0.0), stiffness=100.0),
    "rubs": Tendon(RouteSegment("arm", y=0.0, z=0.005), friction=0.3),
    "slack": Tendon(RouteSegment("leg", y=0.0, z=0.002)),
    "bellows": Chamber((RouteSegment("leg", y=0.0, z=0.002),), area=5e-5),
    "knee": Servo("leg", stiffness=1.0, damping=0.1, limit=0.5),
    "neck": JointForce("ball", "rz"),
    "brake": Brake(),
    "wheel": VelocityServo("leg", gain=0.2, limit=0.3),
}
U = np.array([0.01, 0.5, -1.0, 2e3, 0.3, 0.1, 0.5, 1.1])
LOADS = {
    "push": Wrench("ball", moment=(0, 0.01, 0), force=(0.1, 0, "0.3*t")),
    "band": Spring(Anchor("arm", s=0.5), Anchor("leg", s=1.0), stiffness=5.0, damping=0.2),
    "rope": Spring("arm", Anchor("world", at=pose([0, 0, 0], [0.3, 0.2, 0.1])), stiffness=5.0, damping=0.2, rest=0.1),
    "sea": Fluid(1000.0, current=(0.1, "0.2*y", "0.1*t"), height=0.3),
    "touch": sorosim.Contact(["arm"], ["leg"], law=sorosim.ContactLaw(1e4, friction=0.3, damping=1.0)),
}


def change_along(along):
    return dict(zip(("dq", "dqd", "du"), along, strict=True))


def agree(robot, q, qd, u, rng, driven=None, t=0.0):
    """Both products against the matrices, relative to the terms of their sums."""
    options = {"t": t, "driven_qdd": {} if driven is None else driven}
    D = robot.forward_dynamics_derivatives(q, qd, u=u, **options)
    matrices = D.dqdd_dq, D.dqdd_dqd, D.dqdd_du
    M = robot.mass_matrix(q)
    weight = np.sqrt(np.diag(M))
    bound = EXACT + CONDITION * np.linalg.cond(M / weight / weight[:, None])
    along = [rng.normal(size=len(x)) for x in (q, qd, u)]
    found = robot.forward_dynamics_jvp(q, qd, u=u, **change_along(along), **options)
    size = sum(np.abs(X) @ np.abs(x) for X, x in zip(matrices, along, strict=True))
    expected = sum(X @ x for X, x in zip(matrices, along, strict=True))
    assert_allclose(found.qdd, D.qdd, atol=bound * np.abs(weight * D.qdd).max() / weight.min(), rtol=0)
    error = np.abs(weight * (found.dqdd - expected)).max() / max((weight * size).max(), 1e-300)
    assert WORST.note("jvp", error / bound) <= 1.0
    bar = weight * rng.normal(size=len(q))
    back = robot.forward_dynamics_vjp(q, qd, u=u, qdd_bar=bar, **options)
    for name, X, ours in zip(["q", "qd", "u"], matrices, back[1:], strict=True):
        error = np.abs(ours - X.T @ bar).max(initial=0.0) / max((np.abs(X).T @ np.abs(bar)).max(initial=0.0), 1e-300)
        assert WORST.note(f"vjp by {name}", error / bound) <= 1.0
    return D


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("products against matrices, over their bound"))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rates", [0.0, 1.0])
def test_products_are_those_of_the_matrices_of_random_trees(seed, rates):
    robot, rng = varied_tree(seed), np.random.default_rng(seed)
    q, qd, _, u = random_state(rng, robot)
    agree(robot, q, rates * qd, u, rng)


@pytest.mark.parametrize("rates", [0.0, 1.0])
def test_products_with_loads_contacts_and_tendons_that_couple(rates):
    robot = with_actuators(limbs((0, 0, -9.81)), **ACTUATORS).with_loads(**LOADS)
    rng = np.random.default_rng(6)
    q, qd = 0.05 * rng.normal(size=robot.ndof), 0.3 * rates * rng.normal(size=robot.ndof)
    contacts = robot.contacts(q, qd)
    assert contacts.n > 0
    D = agree(robot, q, qd, U, rng, t=0.3)
    assert not D.dqdd_du[:, 2].any()  # it is slack
    assert D.dqdd_du[:, [0, 1, 3, 4, 5]].any(axis=0).all()


def test_driven_coordinates_do_not_change():
    robot, rng = limbs(), np.random.default_rng(1)
    q, qd = 0.1 * rng.normal(size=robot.ndof), rng.normal(size=robot.ndof)
    agree(robot, q, qd, np.zeros(0), rng, driven={"leg": 2.0})
    along = rng.normal(size=robot.ndof)
    i = robot.engine.layout.coordinate("leg", "driven")
    found = robot.forward_dynamics_jvp(q, qd, dq=along, dqd=along, driven_qdd={"leg": 2.0})
    assert found.qdd[i] == 2.0
    assert found.dqdd[i] == 0.0


def test_products_under_loops_are_those_of_the_matrices():
    rng = np.random.default_rng(3)
    robot = closed_at_zero(with_random_loops(rng, varied_tree(2), 1))
    q, qd, _, u = random_state(rng, robot)
    u = u[: len(robot.actuator_names)]
    q, qd = 0.0 * q, 0.1 * qd
    D = robot.forward_dynamics_derivatives(q, qd, u=u)
    along = [rng.normal(size=len(x)) for x in (q, qd, u)]
    expected = D.dqdd_dq @ along[0] + D.dqdd_dqd @ along[1] + D.dqdd_du @ along[2]
    assert_allclose(robot.forward_dynamics_jvp(q, qd, u=u, **change_along(along)).dqdd, expected, rtol=1e-12)
    bar = rng.normal(size=len(q))
    back = robot.forward_dynamics_vjp(q, qd, u=u, qdd_bar=bar)
    for ours, X in zip(back[1:], D[1:], strict=True):
        assert_allclose(ours, X.T @ bar, rtol=1e-12, atol=1e-12 * np.abs(X).max())


def test_a_direction_that_is_left_out_is_zero():
    robot = limbs()
    q = 0.1 * np.ones(robot.ndof)
    none = robot.forward_dynamics_jvp(q, q)
    assert not none.dqdd.any()
    by_name = robot.forward_dynamics_jvp(q, q, dq={"leg": "90 deg"}).dqdd
    unit = np.zeros(robot.ndof)
    unit[robot.engine.layout.coordinate("leg", "dq")] = np.pi / 2
    assert_allclose(by_name, robot.forward_dynamics_jvp(q, q, dq=unit).dqdd, rtol=1e-14)
