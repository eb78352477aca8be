"""The worked examples of "Forward dynamics with spatial vectors": a particle by hand, and a lamp that jumps.

Spatial vectors are those of the paper here: motions [angular; linear] and forces [force; moment], in link frames.
Numbers in brackets are its equations.
"""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from helpers.differences import relative_error
from scipy.linalg import expm

import sorosim
from benchmarks.algorithms import forward_dynamics
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import WORLD, Link

EPS = np.finfo(float).eps
STATES = range(5)


# -- the paper's algorithm


def cross(a, b):
    """Spatial cross product (40), for motions and for forces."""
    return np.concatenate([np.cross(a[:3], b[:3]), np.cross(a[:3], b[3:]) + np.cross(a[3:], b[:3])])


def skew(x):
    """Cross product matrix (37)."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def transform(g):
    """Spatial transform (38) of motions and of forces, from a frame to the one it has pose g (4, 4) in."""
    R = g[:3, :3]
    return np.block([[R, np.zeros((3, 3))], [skew(g[:3, 3]) @ R, R]])


def inertia(body):
    """Spatial inertia (39): from accelerations to forces."""
    if body is None:
        return np.zeros((6, 6))
    M, c = body.mass * np.eye(3), skew(np.array(body.centre))
    return np.block([[M @ c.T, M], [body.rotational_inertia + c @ M @ c.T, c @ M]])


class Recursion:
    """Inverse dynamics (13)-(16) of a chain of joints with one coordinate or none, gravity as an acceleration (21)."""

    def __init__(self, robot, q, qd, qdd):
        self.v = [np.zeros(6)]
        self.a = [np.concatenate([np.zeros(3), -np.array(robot.description.gravity)])]
        self.X, self.s, self.inertia, self.Q = [], [], [], np.zeros(robot.ndof)
        column, columns = 0, []
        for before, link in pairwise([None, *robot.links]):
            assert link.parent == (before.name if before else WORLD)
            frame = before.frames[link.frame] if link.frame else np.eye(4)
            n = link.joint.n
            own = slice(column, column + n)
            S = np.concatenate([*(stage.columns for stage in link.joint.stages), np.zeros((0, 6))]).T
            twist = S @ q[own]
            g = frame @ link.at @ expm(np.block([[skew(twist[:3]), twist[3:, None]], [np.zeros((1, 4))]]))
            X = transform(g)
            back = np.linalg.inv(X)
            v = back @ self.v[-1] + S @ qd[own]
            self.a.append(back @ self.a[-1] + cross(v, S @ qd[own]) + S @ qdd[own])
            self.v.append(v)
            self.X.append(X)
            self.s.append(S)
            self.inertia.append(inertia(link.body))
            columns.append(own)
            column += n
        f = np.zeros(6)
        self.f = []
        for i in reversed(range(len(columns))):
            mass, v = self.inertia[i], self.v[i + 1]
            f = f + mass @ self.a[i + 1] + cross(v, mass @ v)
            self.f.insert(0, f)
            self.Q[columns[i]] = np.concatenate([self.s[i][3:], self.s[i][:3]]).T @ f  # (41)
            f = self.X[i] @ f
        self.f.insert(0, f)  # on the ground


def state(robot, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, robot.ndof))


def passed_on(robot, q, qd, qdd):
    """Spatial forces [force; moment about the world's origin] of each link and all beyond it, world axes: the engine's.

    They are transmitted by the nodes, of which a link of one joint has one.
    """
    engine = robot.engine
    _, wrench = engine.joint_reactions(q, qd, qdd, np.zeros(engine.n_actuators), 0.0, np.zeros(0))
    return wrench[:-1][:, [3, 4, 5, 0, 1, 2]]


# -- the particle, section 3.1


@pytest.fixture
def particle():
    return sorosim.load("particle")


@pytest.mark.parametrize("seed", STATES)
def test_the_particle_is_set_up_as_printed(particle, seed):
    q, qd, qdd = state(particle, seed)
    m = particle.links[1].body.mass
    found = Recursion(particle, q, qd, qdd)
    np.testing.assert_array_equal(np.hstack(found.s).T, [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]])  # (18)
    x, y = q
    for X, t in zip(found.X, ([[0, 0, 0], [0, 0, -x], [0, x, 0]], [[0, 0, y], [0, 0, 0], [-y, 0, 0]]), strict=True):
        np.testing.assert_array_equal(X, np.block([[np.eye(3), np.zeros((3, 3))], [np.array(t), np.eye(3)]]))  # (19)
    # and the engine puts the links there
    poses = [np.eye(4)] + [particle.pose(q, link.name) for link in particle.links]
    for X, before, pose in zip(found.X, poses, poses[1:], strict=False):
        np.testing.assert_allclose(transform(np.linalg.inv(before) @ pose), X, rtol=0, atol=4 * EPS)
    # (20); the ball's moment of inertia stands in the lower left, where nothing turns
    np.testing.assert_array_equal(found.inertia[0], np.zeros((6, 6)))
    np.testing.assert_array_equal(found.inertia[1][:3], np.hstack([np.zeros((3, 3)), m * np.eye(3)]))
    np.testing.assert_array_equal(found.inertia[1][3:, 3:], np.zeros((3, 3)))
    np.testing.assert_array_equal(found.a[0], [0, 0, 0, 0, 9.8, 0])  # (21)


@pytest.mark.parametrize("seed", STATES)
def test_inverse_dynamics_of_the_particle_step_by_step(particle, seed):
    q, qd, qdd = state(particle, seed)
    m, g = particle.links[1].body.mass, 9.8
    velocities = [[0] * 6, [0, 0, 0, qd[0], 0, 0], [0, 0, 0, qd[0], qd[1], 0]]  # (24)
    accelerations = [[0, 0, 0, 0, g, 0], [0, 0, 0, qdd[0], g, 0], [0, 0, 0, qdd[0], qdd[1] + g, 0]]  # (26)
    fx, fy = m * qdd[0], m * (qdd[1] + g)
    forces = [[fx, fy, 0, 0, 0, moment] for moment in (-q[1] * fx + q[0] * fy, -q[1] * fx, 0.0)]  # (28)
    found = Recursion(particle, q, qd, qdd)
    for printed, by_recursion in ((velocities, found.v), (accelerations, found.a), (forces, found.f)):
        np.testing.assert_allclose(by_recursion, printed, rtol=8 * EPS, atol=8 * EPS)
    # the engine: twists in link frames, and what the links pass on, moved to their frames
    engine, to_world = particle.engine, np.eye(6)
    passed = passed_on(particle, q, qd, qdd)
    twists, rates = engine.workspace.twist[:-1, 0], engine.workspace.twist[:-1, 1]
    for i in range(2):
        to_world = to_world @ found.X[i]
        for printed, in_world in ((velocities, twists), (accelerations, rates), (forces, passed)):
            there = np.linalg.solve(to_world, in_world[i])
            np.testing.assert_allclose(there, printed[i + 1], rtol=0, atol=32 * EPS * (1 + np.abs(printed).max()))
    np.testing.assert_allclose(passed[0], forces[0], rtol=8 * EPS)  # on the ground
    for Q in (found.Q, particle.inverse_dynamics(q, qd, qdd=qdd)):
        np.testing.assert_allclose(Q, [fx, fy], rtol=8 * EPS)  # (30)


@pytest.mark.parametrize("seed", STATES)
def test_forward_dynamics_of_the_particle_in_three_steps(particle, seed):
    q, qd, Q = state(particle, seed)
    m, g = particle.links[1].body.mass, 9.8
    C = particle.inverse_dynamics(q, qd, qdd=np.zeros(2))  # (9)
    np.testing.assert_allclose(C, [0.0, m * g], rtol=4 * EPS)
    H = np.stack([particle.inverse_dynamics(q, qd, qdd=unit) - C for unit in np.eye(2)], axis=1)  # (11)
    np.testing.assert_allclose(H, m * np.eye(2), rtol=0, atol=8 * EPS * m * g)
    np.testing.assert_allclose(particle.mass_matrix(q), m * np.eye(2), rtol=4 * EPS)
    expected = np.array([Q[0] / m, Q[1] / m - g])
    np.testing.assert_allclose(np.linalg.solve(H, Q - C), expected, rtol=0, atol=100 * EPS * g)  # (6)
    # nothing pushes it, in every algorithm
    for algorithm in ("composite", "articulated", "unit"):
        found = forward_dynamics(particle, q, qd, algorithm=algorithm)
        np.testing.assert_allclose(found, [0.0, -g], rtol=8 * EPS, atol=0)
    found = particle.hybrid_dynamics(q, qd, qdd=np.zeros(2), tau=Q, known=[])
    np.testing.assert_allclose(found.qdd, expected, rtol=0, atol=8 * EPS * g)


def test_the_thrown_particle_follows_its_parabola(agrees):
    robot = sorosim.load("particle")
    run = sorosim.simulate(robot)
    q, qd = robot.initial_q, robot.initial_qd
    expected = q + np.outer(run.t, qd) + np.outer(0.5 * run.t**2, [0.0, -9.8])
    # a polynomial of second degree: orders two and up have no truncation, the first steps are of order one
    agrees("thrown particle", run.q, expected, atol=1e-7, unit="m", source="parabola")


# -- one rigid body, section 1


@pytest.mark.parametrize("seed", STATES)
def test_one_rigid_body_obeys_newton_and_euler(seed):
    rng = np.random.default_rng(seed)
    moments = tuple(rng.uniform(1.0, 1.5, size=3))
    body = RigidBody(2.0, inertia=moments)
    g = np.array([0.3, -0.5, -9.0])
    robot = sorosim.Robot(Description("body", (Link("body", body, joint=Joint("free")),), gravity=tuple(g)))
    omega, qdd = rng.normal(size=3), rng.normal(size=6)
    # at q = 0 the rates of a rotation vector are the angular velocity, and their second rates its rate
    found = robot.inverse_dynamics(np.zeros(6), np.concatenate([np.zeros(3), omega]), qdd=qdd)
    inertia_tensor = np.diag(moments)
    torque = inertia_tensor @ qdd[3:] + np.cross(omega, inertia_tensor @ omega)
    np.testing.assert_allclose(found, np.concatenate([2.0 * (qdd[:3] - g), torque]), rtol=0, atol=100 * EPS)  # (2)


# -- the lamp, section 1


@pytest.fixture(scope="module")
def lamp():
    return sorosim.load("jumping_lamp")


def test_the_lamp_has_the_coordinates_and_forces_of_the_paper(lamp):
    assert lamp.coordinate_names == ("along.prismatic", "up.prismatic", "base.revolute", "lower.revolute",
                                     "upper.revolute")  # fmt: skip  # (4)
    B = lamp.internal_force_derivatives(*np.zeros((2, 5))).B
    np.testing.assert_array_equal(B, [[0, 0], [0, 0], [0, 0], [1, 0], [0, 1]])  # (5): motors at the two joints


@pytest.mark.parametrize("seed", STATES)
def test_the_recursion_of_the_paper_is_inverse_dynamics_of_the_lamp(lamp, seed):
    q, qd, qdd = state(lamp, seed)
    q[1] = 1.0 + abs(q[1])  # above the ground
    found = Recursion(lamp, q, qd, qdd)
    assert relative_error(lamp.inverse_dynamics(q, qd, qdd=qdd), found.Q) < 1e-13
    C = Recursion(lamp, q, qd, 0.0 * q).Q
    H = np.stack([Recursion(lamp, q, qd, unit).Q - C for unit in np.eye(5)], axis=1)
    assert relative_error(lamp.mass_matrix(q), H) < 1e-12
    u = np.array([0.3, -0.7])
    expected = np.linalg.solve(H, lamp.internal_force(q, qd, u=u) - C)
    condition = np.linalg.cond(H)
    for algorithm in ("composite", "articulated", "unit"):
        assert relative_error(forward_dynamics(lamp, q, qd, u=u, algorithm=algorithm), expected) < 10 * EPS * condition
    # forces that the links pass on
    to_world, passed = np.eye(6), passed_on(lamp, q, qd, qdd)
    for i, link in enumerate(lamp.links):
        to_world = to_world @ found.X[i]
        node = lamp.engine.layout.links[link.name].nodes[0]
        assert relative_error(passed[node], to_world @ found.f[i + 1]) < 1e-13


class Flight:
    """The rows of a run of the lamp between its pushing off and its landing, with momenta."""

    def __init__(self, robot, run):
        touching = np.isin(np.arange(len(run.t)), run.contacts.row)
        first = int(np.argmax(~touching & (run.t > 0.5)))
        last = first + int(np.argmax(touching[first:])) - 1
        self.rows = np.arange(first, last + 1)
        self.t, self.touching = run.t[self.rows], touching
        found = [self.momenta(robot, run.q[k], run.qd[k]) for k in self.rows]
        self.centre, self.velocity, self.spin = (np.array(part) for part in zip(*found, strict=True))

    @staticmethod
    def momenta(robot, q, qd):
        """Centre of mass, its velocity, and angular momentum about it, around z."""
        moved = robot.kinematics(q, qd)
        bodies = [link.body for link in robot.links if link.body is not None]
        masses = np.array([body.mass for body in bodies])
        points = np.array([g[:3, :3] @ body.centre + g[:3, 3] for g, body in zip(moved.g, bodies, strict=True)])
        speeds = np.array([
            g[:3, :3] @ (eta[3:] + np.cross(eta[:3], body.centre))
            for g, eta, body in zip(moved.g, moved.eta, bodies, strict=True)
        ])  # fmt: skip
        centre, velocity = masses @ points / masses.sum(), masses @ speeds / masses.sum()
        turning = sum(body.rotational_inertia[2, 2] * eta[2] for body, eta in zip(bodies, moved.eta, strict=True))
        orbit = masses @ np.cross(points - centre, speeds - velocity)[:, 2]
        return centre, velocity, turning + orbit


@pytest.fixture(scope="module")
def jump(lamp):
    with warnings.catch_warnings():  # how many steps that takes, some 10 000, is no matter here
        warnings.filterwarnings("ignore", ".* steps by cvode")
        run = sorosim.simulate(lamp, t_end=1.6, dt_out=2e-3, method="cvode", rtol=1e-9, atol=1e-12)
    return run, Flight(lamp, run)


def test_the_lamp_jumps_and_lands_on_its_base(lamp):
    run = sorosim.simulate(lamp)
    flight = Flight(lamp, run)
    assert flight.t[-1] - flight.t[0] > 0.25
    assert run.q[:, 1].max() > 0.1
    assert run.contacts.at(-1).n == 4  # it stands on its four corners again, at rest, at another place
    assert np.abs(run.qd[-1]).max() < 0.05
    assert run.q[-1, 0] > 0.05
    # as before: the springs alone hold it
    np.testing.assert_allclose(run.q[-1, 2:], sorosim.statics(lamp, u={"knee": 0.0, "ankle": 0.0}).q[2:], atol=0.05)


def test_in_flight_the_centre_of_mass_follows_a_parabola(agrees, jump):
    _, flight = jump
    t = flight.t - flight.t[0]
    fall = np.array([0.0, -9.81, 0.0])
    parabola = flight.centre[0] + np.outer(t, flight.velocity[0]) + np.outer(0.5 * t**2, fall)
    # what the tolerances of the run leave: 7e-10 m, 3e-9 m/s
    agrees("jumping lamp in flight, centre of mass", flight.centre, parabola, atol=1e-8, unit="m", source="parabola")
    np.testing.assert_allclose(flight.velocity, flight.velocity[0] + np.outer(t, fall), rtol=0, atol=3e-8)


def test_in_flight_the_angular_momentum_about_it_is_constant(jump):
    _, flight = jump
    assert abs(flight.spin[0]) > 1e-3  # it does turn
    np.testing.assert_allclose(flight.spin, flight.spin[0], rtol=0, atol=1e-8)


def test_in_flight_energy_goes_into_the_dampers_alone(jump, lamp):
    run, flight = jump
    energy = run.energy()
    total, balance = energy.total[flight.rows], energy.balance[flight.rows]
    assert total[-1] < total[0]
    # the account by output rows is of the second order in their distance
    np.testing.assert_allclose(balance, balance[0], rtol=0, atol=2e-4 * (total[0] - total[-1]))
