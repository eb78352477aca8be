"""Rotors on coordinates: inertia that moves with a coordinate alone."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from dynamics.test_linearised_tree import FACTORS, check, coupled_tree
from helpers.robots import random_state, varied_tree, with_armature
from motion.test_discrete_steps import check_derivatives
from motion.test_roots_of_steps import chain, total
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import ModelError
from sorosim.files import load_text
from sorosim.mechanics.constraints.loop import Loop
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.robot import Robot

PENDULUM = {"mass": "1 kg", "centre": [0, 0, "-25 cm"], "inertia": [1e-3, 2e-3, 3e-3]}
ARMATURE = "100^2*20 g*cm^2"  # 0.02 kg m^2


def made(joint, body=None, **more):
    link = {"joint": joint} | ({"body": body} if body else {})
    return sorosim.load({"sorosim": 1, "name": "armed", "links": {"arm": link}, **more})


def hinges(n, armature, **more):
    """A chain that hangs and swings."""
    joint = {"revolute": {"axis": [0, 1, 0]} | ({"armature": armature} if armature else {})}
    body = {"mass": "0.1 kg", "centre": [0, 0, "-5 cm"], "inertia": [1e-4, 1e-4, 1e-5]}
    links = {
        f"a{k}": {"joint": joint, "body": body}
        | ({"parent": f"a{k - 1}", "at": {"position": [0, 0, -0.1]}} if k else {})
        for k in range(n)
    }
    return sorosim.load({"sorosim": 1, "name": "chain", "links": links, "initial": {"a0.revolute": 0.5}, **more})


@pytest.fixture(scope="module", params=range(6))
def trees(request):
    plain, rng = varied_tree(request.param), np.random.default_rng(request.param)
    armed = with_armature(rng, plain)
    assert armed.engine.armature.any()
    return plain, armed, random_state(rng, plain), rng


def test_rotors_add_their_inertia_to_inverse_dynamics_and_nothing_else(trees):
    plain, armed, (q, qd, qdd, _), _ = trees
    inertia = armed.engine.armature
    a, b = (robot.inverse_dynamics_derivatives(q, qd, qdd=qdd) for robot in (plain, armed))
    size = np.abs(a.tau).max() + np.abs(inertia * qdd).max()
    assert_allclose(b.tau - a.tau, inertia * qdd, rtol=0.0, atol=1e-13 * size)
    assert_allclose(armed.inverse_dynamics(q, qd, qdd=qdd), b.tau, rtol=0.0, atol=1e-13 * size)
    for name in ("dtau_dq", "dtau_dqd"):
        of_plain = getattr(a, name)
        assert_allclose(getattr(b, name), of_plain, rtol=0.0, atol=1e-13 * np.abs(of_plain).max())
    M = plain.mass_matrix(q)
    assert_allclose(armed.mass_matrix(q) - M, np.diag(inertia), rtol=0.0, atol=1e-14 * np.abs(M).max())
    more = armed.energy(q, qd).kinetic - plain.energy(q, qd).kinetic
    assert more == pytest.approx(0.5 * inertia @ qd**2, abs=1e-13 * plain.energy(q, qd).kinetic)


def test_forward_dynamics_of_both_algorithms_invert_inverse_dynamics(trees):
    _, armed, (q, qd, qdd, u), rng = trees
    M = armed.mass_matrix(q)
    weight = np.sqrt(np.diag(M))
    tau = armed.inverse_dynamics(q, qd, qdd=qdd)
    known = rng.random(armed.ndof) < 0.3
    bound = 1e-14 * np.linalg.cond(M / weight / weight[:, None]) * np.abs(weight * qdd).max()
    for algorithm in ("composite", "articulated"):
        given = {"qdd": np.where(known, qdd, 7.0), "tau": np.where(known, 7.0, tau), "known": known}
        found = armed.hybrid_dynamics(q, qd, **given, algorithm=algorithm)
        assert np.abs(weight * (found.qdd - qdd)).max() <= bound
        assert np.abs((found.tau - tau) / weight).max() <= bound
    accelerations = [armed.forward_dynamics(q, qd, u=u, algorithm=name) for name in ("composite", "articulated")]
    size = np.abs(weight * accelerations[0]).max()
    assert np.abs(weight * (accelerations[0] - accelerations[1])).max() <= bound * size / np.abs(weight * qdd).max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", FACTORS)
def test_equations_of_steps_along_the_tree_are_the_dense_ones(seed, name):
    rng = np.random.default_rng(seed)
    robot = with_armature(rng, coupled_tree(seed))
    assert robot.engine.armature.any()
    engine, state = robot.engine, random_state(rng, robot)
    if name == "statics":
        state = state[0], 0.0 * state[1], 0.0 * state[2], state[3]
    known = rng.random(robot.ndof) < 0.1 * seed
    tangent = LinearisedTree(engine)
    mass, _, _ = check(engine, tangent, state, known, FACTORS[name], f"armature, {name}", rng)
    x = rng.normal(size=robot.ndof)
    assert_allclose(tangent.mass_product(x), mass @ x, rtol=0.0, atol=1e-12 * (np.abs(mass) @ np.abs(x)).max())


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_motions_count_rotors(seed):
    rng = np.random.default_rng(seed)
    robot = with_armature(rng, varied_tree(seed))
    assert robot.engine.armature.any()
    u = 0.1 * rng.standard_normal((5, len(robot.actuator_names)))
    found = sorosim.rollout(robot, u, "0.3 ms", tolerance=1e-13)
    check_derivatives(found, rng, atol=1e-5, size=0.01, steps=(10.0, 3.0, 1.0, 0.1, 0.01), pairing=1e-7)


def test_products_with_derivatives_of_forward_dynamics_are_those_of_the_matrices(trees):
    _, armed, (q, qd, _, u), rng = trees
    D = armed.forward_dynamics_derivatives(q, qd, u=u)
    dq, dqd, du = (rng.normal(size=len(x)) for x in (q, qd, u))
    found = armed.forward_dynamics_jvp(q, qd, u=u, dq=dq, dqd=dqd, du=du).dqdd
    terms = D.dqdd_dq * dq, D.dqdd_dqd * dqd, D.dqdd_du * du
    M = armed.mass_matrix(q)
    weight = np.sqrt(np.diag(M))
    size = (weight[:, None] * np.hstack([np.abs(term) for term in terms])).sum(axis=1).max()
    bound = 1e-11 + 30e-16 * np.linalg.cond(M / weight / weight[:, None])
    assert np.abs(weight * (found - sum(term.sum(axis=1) for term in terms))).max() <= bound * size


def test_a_pendulum_with_a_geared_motor_swings_slower():
    robot = made({"revolute": {"axis": [0, 1, 0], "armature": "0.02 kg*m^2"}}, PENDULUM)
    inertia = 0.0625 + 0.002 + 0.02
    assert sorosim.statics(robot).linearize().frequencies[0] == pytest.approx(
        np.sqrt(9.81 * 0.25 / inertia) / (2.0 * np.pi), rel=1e-12
    )
    by_armature = sorosim.sensitivities(robot, ["links.arm.joint.revolute.armature"])
    torque = -9.81 * 0.25 * np.sin(1.0)
    assert_allclose(by_armature.forward_dynamics([1.0], [0.0]), [[-torque / inertia**2]], rtol=1e-12)


def test_derivatives_of_a_motion_by_armature_are_those_of_differences():
    number = "links.arm.joint.revolute.armature"
    robot = made({"revolute": {"axis": [0, 1, 0], "armature": "0.02 kg*m^2"}}, PENDULUM, initial={"arm.revolute": 1.0})

    def moved(value, **options):
        return sorosim.rollout(
            robot.with_values({number: value}), np.zeros((40, 0)), "5 ms", tolerance=1e-13, **options
        )

    found = moved(0.02, numbers=[number])
    tangent, h = found.jvp(numbers=[1.0]), 1e-4
    for name in ("q", "qd"):
        a, b, c, d = (getattr(moved(0.02 + k * h), name) for k in (-2, -1, 1, 2))
        exact = getattr(tangent, name)
        assert np.abs(exact).max() > 1.0
        assert_allclose((a - 8 * b + 8 * c - d) / (12 * h), exact, rtol=0.0, atol=1e-6 * np.abs(exact).max())
    bar = np.random.default_rng(0).standard_normal(found.q.shape)
    assert found.vjp(bar).numbers[0] == pytest.approx((bar * tangent.q).sum(), rel=1e-9)


def test_a_motor_alone_turns_its_rotor():
    motor = {"motor": {"joint": {"link": "arm"}}}
    robot = made({"revolute": {"axis": [0, 0, 1], "armature": "2 kg*m^2"}}, None, actuators=motor)
    for algorithm in ("composite", "articulated"):
        assert robot.forward_dynamics([0.0], [0.0], u=[3.0], algorithm=algorithm) == pytest.approx([1.5], rel=1e-14)


JOINTS = {
    "cylindrical": {"cylindrical": {"axis": [1, 0, 0], "armature": [0.02, 3.0]}},
    "universal": {"universal": {"axis": [1, 0, 0], "armature": [0.02, 0.3]}},
    "planar": {"planar": {"axis": [0, 0, 1], "armature": [1.0, 2.0, 0.3]}},
    "helical": {"helical": {"axis": [0, 0, 1], "pitch": 0.1, "armature": 0.3}},
}


@pytest.mark.parametrize("kind", [*JOINTS, "feed", "growth"])
def test_joints_of_several_coordinates_and_lengths_of_rods_take_armature(kind):
    if kind in ("feed", "growth"):
        rod = {
            "length": "25 cm",
            "section": {"circle": {"radius": "5 mm"}},
            "material": "soft",
            "strain": {"bending": 1},
        }
        soft = {"young": 1e6, "poisson": 0.5, "density": 1000}
        leg = {"joint": {kind: {"armature": "3 kg"}}, "rod": rod}
        armed = sorosim.load({"sorosim": 1, "name": "fed", "materials": {"soft": soft}, "links": {"leg": leg}})
        inertia = [3.0, *[0.0] * (armed.ndof - 1)]
    else:
        armed = made(JOINTS[kind], PENDULUM)
        inertia = np.atleast_1d(JOINTS[kind][kind]["armature"])
    assert_allclose(armed.engine.armature, inertia)
    rng = np.random.default_rng(1)
    q, qd, qdd = 0.1 * rng.standard_normal((3, armed.ndof))
    if kind in ("feed", "growth"):
        q[0] = 0.02
    tau = armed.inverse_dynamics(q, qd, qdd=qdd)
    bias = armed.inverse_dynamics(q, qd, qdd=0.0 * qdd)
    M = armed.mass_matrix(q)
    assert_allclose(M @ qdd, tau - bias, rtol=0.0, atol=1e-12 * np.abs(M @ qdd).max())
    assert (np.diag(M) >= inertia).all()
    known = np.zeros(armed.ndof, dtype=bool)
    found = armed.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=known)
    assert_allclose(found.qdd, qdd, rtol=0.0, atol=1e-12 * np.linalg.cond(M) * np.abs(qdd).max())


@pytest.mark.parametrize("seed", [82, 461, 381, 158, 181, 18])
def test_steps_of_chains_with_rotors_gain_no_energy(seed):
    """Coriolis forces move energy between links and rotors: nothing else acts, but for what a step may err."""
    rng = np.random.default_rng(seed)
    n, dt = int(rng.integers(2, 5)), int(rng.choice([5, 10, 20, 40]))
    scale, armature = 10.0 ** rng.uniform(-2, 0, n), 10.0 ** rng.uniform(-3, 1, n) * (rng.random(n) < 0.6)
    links = tuple(
        replace(
            link,
            joint=replace(link.joint, armature=(float(armature[i]),)),
            body=replace(
                link.body, mass=link.body.mass * scale[i], inertia=tuple(np.array(link.body.inertia) * scale[i])
            ),
        )
        for i, link in enumerate(chain(n).description.links)
    )
    robot = Robot(replace(chain(n).description, links=links, gravity=(0.0, 0.0, 0.0)))
    sim = sorosim.Stepper(robot, f"{dt} ms")
    state = sim.reset(np.linspace(0.3, 1.0, n), rng.uniform(-20, 20, n))
    energy = total(robot, state)
    with suppress(sorosim.ConvergenceError):  # steps of a given size may find no end
        for _ in range(200):
            before, state = energy, sim.step()
            energy = total(robot, state)
            assert energy < 1.1 * before  # it was up to 3.7 times as much


@pytest.mark.parametrize("method", ["generalized-alpha", "bdf"])
def test_energy_of_a_chain_with_rotors_stays(method):
    robot = hinges(4, 1e-3)
    run = sorosim.simulate(robot, 2.0, method=method, rtol=1e-8, atol=1e-10)
    energy = run.energy()
    assert np.abs(energy.balance).max() < 1e-5 * energy.kinetic.max()
    other = sorosim.simulate(hinges(4, None), 2.0, method=method, rtol=1e-8, atol=1e-10)
    assert np.abs(run.q[-1] - other.q[-1]).max() > 0.1  # it swings otherwise


def test_steps_of_a_long_chain_are_the_dense_ones():
    robot = hinges(6, 1e-3)
    dense = sorosim.simulate(robot, 0.5, method="generalized-alpha", step="5 ms")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sorosim.mechanics.engine.engine.ON_TREE", 1)
        along = hinges(6, 1e-3)
        assert along.engine.solves_along_tree
        found = sorosim.simulate(along, 0.5, method="generalized-alpha", step="5 ms")
    assert_allclose(found.q, dense.q, rtol=0.0, atol=1e-9)


def test_armature_stands_in_files_and_needs_an_axis():
    robot = made({"cylindrical": {"axis": [1, 0, 0], "armature": [ARMATURE, "3 kg"]}}, PENDULUM)
    again = load_text(robot.to_yaml(), "again.yaml")
    assert_allclose(again.engine.armature, [0.02, 3.0])
    with pytest.raises(ModelError, match="armature: expected nothing of coordinates that have no axis, got"):
        made({"planar": {"axis": [0, 0, 1], "coordinates": "screw", "armature": [1, 1, 0.1]}}, PENDULUM)
    with pytest.raises(ModelError, match=r"spherical\.armature: expected a known key, got 'armature'"):
        made({"spherical": {"armature": 0.1}}, PENDULUM)
    with pytest.raises(ModelError, match="expected no friction, armature and limits in the joint of a loop"):
        Loop(Joint("revolute", armature=0.1), Anchor("a"), Anchor("b"))
    with pytest.raises(ModelError, match="armature: expected a moment of inertia"):
        made({"revolute": {"axis": [0, 0, 1], "armature": "3 kg"}}, PENDULUM)
