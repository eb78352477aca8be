"""Loads and actuators together in all that a robot is asked: forward dynamics, loops, integrators, threads, copies."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.limbs import limbs, pose, with_actuators
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.mechanics.actuation.base import ActuatorValues
from sorosim.mechanics.actuation.chamber import Chamber
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.servo import Servo
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.line_load import LineLoad
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.testing.differences import jacobian


class Rubber:
    """A soft band in Python between the ball and the leg."""

    places = (("leg", 0.5),)
    dissipates = False

    def bind(self, layout):
        bound = type(self)()
        bound.nodes, bound.others = (
            np.array([layout.link(name).node_at(s)]) for name, s in (("ball", 1), ("leg", 0.5))
        )
        return bound

    def evaluate(self, t, g, eta):
        R, p = g[0, :3, :3], g[0, :3, 3]
        f, K, D = np.zeros((1, 6)), np.zeros((1, 6, 6)), np.zeros((1, 6, 6))
        # -5 p in the axes of the leg, in those of the ball
        f[0, 3:] = -5.0 * R.T @ p - 0.1 * eta[0, 3:]
        x, y, z = -5.0 * R.T @ p
        K[0, 3:, :3], K[0, 3:, 3:] = [[0, -z, y], [z, 0, -x], [-y, x, 0]], -5.0 * np.eye(3)
        D[0, 3:, 3:] = -0.1 * np.eye(3)
        return LoadValues(f, K, D)


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


LOADS = {
    "push": Wrench("ball", moment=(0, 0.01, 0), force=(0.1, 0, "0.3*t")),
    "snow": LineLoad("leg", force=(0, 0, -0.5)),
    "band": Spring(Anchor("arm", s=0.5), Anchor("leg", s=1.0), stiffness=5.0, damping=0.2),
    "rope": Spring("arm", Anchor("world", at=pose([0, 0, 0], [0.3, 0.2, 0.1])), stiffness=5.0, damping=0.2, rest=0.1),
    "sea": Fluid(1000.0, current=(0.1, "0.2*y", "0.1*t"), height=0.3),
    "rubber": Rubber(),
}
ACTUATORS = {
    "wound": Tendon(RouteSegment("arm", y=0.005, z=0.0), stiffness=100.0),
    "rubs": Tendon(RouteSegment("arm", y=0.0, z=0.005), friction=0.3),
    "bellows": Chamber((RouteSegment("leg", y=0.0, z=0.002),), area=5e-5),
    "knee": Servo("leg", stiffness=1.0, damping=0.1, limit=0.5),
    "brake": Brake(),
}
U = np.array([0.01, 0.5, 2e3, 0.3, 0.5])


@pytest.fixture(scope="module")
def robot():
    return with_actuators(limbs((0, 0, -9.81)), **ACTUATORS).with_loads(**LOADS)


@pytest.fixture(scope="module")
def state(robot):
    rng = np.random.default_rng(6)
    return 0.1 * rng.normal(size=robot.ndof), 0.3 * rng.normal(size=robot.ndof)


def test_forward_dynamics_is_the_inverse_of_inverse_dynamics(robot, state):
    qdd = robot.forward_dynamics(*state, u=U, t=0.3)
    forces = robot.inverse_dynamics(*state, qdd=qdd, t=0.3)
    inner = robot.internal_force(*state, u=U)
    assert_allclose(forces, inner, atol=1e-8 * np.abs(inner).max())


def test_derivatives_of_forward_dynamics(robot, state):
    q, qd = state
    n, found = robot.ndof, robot.forward_dynamics_derivatives(q, qd, u=U, t=0.3)
    for what, slope in (
        ("dqdd_dq", jacobian(lambda d: robot.forward_dynamics(q + d, qd, u=U, t=0.3), n, 0.1)),
        ("dqdd_dqd", jacobian(lambda d: robot.forward_dynamics(q, qd + d, u=U, t=0.3), n, 0.1)),
        ("dqdd_du", jacobian(lambda d: robot.forward_dynamics(q, qd, u=U + d, t=0.3), len(U), 1e-2 * np.abs(U))),
    ):
        given = getattr(found, what)
        assert_allclose(given, slope, atol=1e-8 * np.abs(slope).max(), err_msg=what)


def test_integrators_agree(robot):
    fixed = {"newmark": 1e-4, "generalized-alpha": 1e-4}
    u = {"wound": "0.1*t", "rubs": "5*t", "bellows": "2e4*t", "knee": "3*t", "brake": 0.5}
    ends = {}
    for method in ("bdf", "radau", "cvode", "newmark", "generalized-alpha"):
        options = {"step": fixed[method]} if method in fixed else {"rtol": 1e-8, "atol": 1e-10}
        ends[method] = sorosim.simulate(robot, 0.05, u=u, method=method, dt_out=0.05, **options).q[-1]
    for method, q in ends.items():
        assert_allclose(q, ends["radau"], atol=2e-6, err_msg=method)


def test_threads_share_a_robot(robot, state):
    q, qd = state
    cases = [{"q": q * a, "qd": qd * a, "u": U * a, "t": a} for a in np.linspace(0.1, 1.0, 24)]
    alone = [robot.forward_dynamics(**case) for case in cases]
    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(lambda case: robot.forward_dynamics(**case), cases * 3))
    for k, found in enumerate(together):
        assert_array_equal(found, alone[k % len(cases)])


def test_copies_do_the_same(robot, state):
    for other in (copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))):
        assert_array_equal(other.forward_dynamics(*state, u=U, t=0.3), robot.forward_dynamics(*state, u=U, t=0.3))


def test_an_equilibrium_bears_all_loads():
    held = sorosim.load({
        "sorosim": 1, "name": "held",
        "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": "1000 kg/m^3", "damping": "1 kPa*s"}},
        "links": {
            "base": {"body": {"box": {"size": [0.1, 0.1, 0.1]}, "density": 500}},
            "arm": {"parent": "base", "rod": {
                "length": 0.4, "section": {"circle": {"radius": [0.02, 0.01]}}, "material": "rubber",
                "strain": {"bending": 3, "elongation": 0},
            }},
            "ball": {"parent": "arm", "body": {"sphere": {"radius": 0.02}, "density": 2000}},
        },
        "actuators": {"wound": {"tendon": {"rod": "arm", "y": 0, "z": "r/2", "stiffness": "100 N/m"}}},
        "loads": {
            "sea": {"fluid": {"density": 1000, "current": [0, 0.3, "0.1*z"]}},
            "rope": {"spring": {"from": "ball", "to": {"at": {"position": [0.4, 0, 0.3]}}, "stiffness": 5}},
            # what cannot move feels loads, too
            "push": {"wrench": {"link": "base", "force": [0, 0, 5]}},
        },
    })  # fmt: skip
    eq = sorosim.statics(held, u={"wound": 0.01})
    assert eq.stable
    zero = np.zeros(held.ndof)
    residual = held.inverse_dynamics(eq.q, zero, qdd=zero) - held.internal_force(eq.q, zero, u={"wound": 0.01})
    assert np.abs(residual).max() < 1e-8
    slope = jacobian(
        lambda d: (
            held.inverse_dynamics(eq.q + d, zero, qdd=zero) - held.internal_force(eq.q + d, zero, u={"wound": 0.01})
        ),
        held.ndof, 0.1,
    )  # fmt: skip
    assert_allclose(eq.tangent_stiffness, slope, atol=1e-8 * np.abs(slope).max())
    # and a motion from there stays
    run = sorosim.simulate(held, 0.2, u={"wound": 0.01}, q0=eq.q, rtol=1e-6)
    assert np.abs(run.q - eq.q).max() < 1e-6


def test_loads_between_links_of_a_closed_loop():
    robot = sorosim.load("four_bar")
    names = [link.name for link in robot.links]
    tied = robot.with_loads(
        band=Spring(names[0], names[-1], stiffness=20.0, damping=1.0, rest=0.05),
        push=Wrench(names[1], force=(1.0, 0, 2.0)),
    )
    run = sorosim.simulate(tied, 0.3, q0="assembled", dt_out=1e-3, rtol=1e-8, atol=1e-10)
    energy = run.energy()
    assert np.abs(energy.work).max() > 1e-3
    assert np.abs(energy.balance).max() < 2e-5 * energy.kinetic.max()
    gaps = tied.loop_gaps(run.q[-1])
    assert max(distance for distance, _ in gaps.values()) < 1e-6


@pytest.mark.parametrize("name", ["four_bar", "soft_gripper_parallel"])
def test_derivatives_under_loops(name):
    robot = sorosim.load(name)
    names = [link.name for link in robot.links if link.body is not None]
    tied = robot.with_loads(
        band=Spring(names[0], names[-1], stiffness=20.0, damping=1.0, rest=0.01),
        push=Wrench(names[1], force=(1.0, 0, 2.0)),
    )
    q, zero = sorosim.assemble(tied).q, np.zeros(tied.ndof)
    found = tied.forward_dynamics_derivatives(q, zero)
    by_q = jacobian(lambda d: tied.forward_dynamics(q + d, zero), tied.ndof, 0.05)
    by_qd = jacobian(lambda d: tied.forward_dynamics(q, d), tied.ndof, 0.05)
    assert_allclose(found.dqdd_dq, by_q, atol=1e-8 * np.abs(by_q).max())
    assert_allclose(found.dqdd_dqd, by_qd, atol=1e-8 * np.abs(by_qd).max())
