"""Motions under loads against what mechanics says of them: momentum, energy, changes of frame."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.limbs import limbs, node_motion, pose
from numpy.testing import assert_allclose

import sorosim
from sorosim.mechanics.lie import Ad_inv
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.immersion import Immersed
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.robot import Robot

EXACT = {"method": "radau", "rtol": 1e-9, "atol": 1e-11}
A, B = Anchor("one", at=pose([0.1, 0.2, 0], [0.1, 0, 0.05])), Anchor("two", at=pose([0, 0.3, 0], [-0.1, 0.02, 0]))
BODY_A = {"mass": 2.0, "inertia": [0.01, 0.02, 0.03]}
BODY_B = {"mass": 0.5, "inertia": [0.002, 0.003, 0.001], "centre": [0.01, 0, 0.02]}


def two_bodies(**loads):
    """Two free bodies without gravity, apart from each other, turning and moving."""
    links = {
        "one": {"joint": "free", "body": BODY_A},
        "two": {"joint": "free", "body": BODY_B, "at": {"position": [0.4, 0.1, 0.2]}},
    }
    data = {"sorosim": 1, "name": "two", "gravity": [0, 0, 0], "links": links}
    return sorosim.load(data).with_loads(**loads)


class Magnet:
    """Two bodies that attract and turn each other, with a brake between them, by a law in Python."""

    places = ()
    dissipates = False

    def bind(self, layout):
        self.nodes = np.array([layout.link("one").node_at(1.0)])
        self.others = np.array([layout.link("two").node_at(1.0)])
        return self

    def evaluate(self, t, g, eta):
        p, R = g[:, :3, 3], g[:, :3, :3]
        f = np.zeros((1, 6))
        K, D = np.zeros((1, 6, 6)), np.zeros((1, 6, 6))
        f[:, :3], f[:, 3:] = [0.01, -0.02, 0.03], -4.0 * p - 0.5 * eta[:, 3:]
        K[:, 3:, 3:], D[:, 3:, 3:] = -4.0 * R, -0.5 * np.eye(3)
        return LoadValues(f, K, D)


SPRING = Spring(A, B, stiffness=40.0, damping=0.5, rest=0.2)


def moving(robot):
    rng = np.random.default_rng(8)
    return 0.2 * rng.normal(size=robot.ndof), rng.normal(size=robot.ndof)


def momentum(robot, q, qd):
    """Momentum (6,) of all bodies about the world's origin, [angular; linear]."""
    g, eta = node_motion(robot, q, qd)
    inertia = robot.engine.gravitational_inertia
    return sum(Ad_inv(g[k]).T @ inertia[k] @ eta[k] for k in range(len(g)))


@pytest.mark.parametrize("load", [SPRING, Magnet()], ids=["spring", "in Python"])
def test_what_two_bodies_do_to_each_other_sums_to_nothing(load):
    robot = two_bodies(a=load)
    q, qd = moving(robot)
    engine = robot.engine
    engine.load_values(q, qd, robot.inputs(None), 0.0, engine.external)
    forces = engine.external.wrench
    assert np.abs(forces).max() > 1.0
    assert_allclose(forces.sum(axis=0), 0.0, atol=1e-14 * np.abs(forces).max())


@pytest.mark.parametrize("load", [SPRING, Magnet()], ids=["spring", "in Python"])
def test_momentum_of_two_bodies_that_pull_each_other_stays(load):
    robot = two_bodies(a=load)
    q, qd = moving(robot)
    run = sorosim.simulate(robot, 0.5, q0=q, qd0=qd, dt_out=0.1, **EXACT)
    first = momentum(robot, q, qd)
    assert np.abs(run.qd[-1] - run.qd[0]).max() > 1.0
    for row in range(len(run.t)):
        assert_allclose(momentum(robot, run.q[row], run.qd[row]), first, atol=1e-7)


# -- fluids


def ball(radius=0.1, mass=3.0, gravity=(0.0, 0.0, -9.81)):
    body = {"sphere": {"radius": radius}, "mass": mass}
    return sorosim.load({
        "sorosim": 1, "name": "ball", "gravity": list(gravity), "links": {"body": {"joint": "free", "body": body}}
    })  # fmt: skip


@pytest.mark.parametrize("factor", [0.5, 1.0, 1e3])
def test_a_body_is_slow_to_start_by_its_added_mass_which_has_no_weight(factor):
    water = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3
    robot = ball(mass=3.0).with_loads(sea=Fluid(1000.0, links={"body": Immersed(added_mass=factor)}))
    zero = np.zeros(6)
    expected = -9.81 * (3.0 - water) / (3.0 + factor * water)
    assert_allclose(robot.forward_dynamics(zero, zero), [0, 0, expected, 0, 0, 0], atol=1e-12)


def test_a_body_as_heavy_as_water_stays_where_it_is():
    water = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3
    robot = ball(mass=water).with_loads(sea=Fluid(1000.0, links={"body": Immersed(added_mass=1e4)}))
    zero = np.zeros(6)
    assert_allclose(robot.forward_dynamics(zero, zero), 0.0, atol=1e-12)


def test_a_ball_sinks_at_the_speed_where_drag_carries_it():
    water, drag = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3, 0.5 * 1000.0 * 0.47 * np.pi * 0.1**2
    robot = ball(mass=6.0).with_loads(sea=Fluid(1000.0))
    run = sorosim.simulate(robot, 5.0, dt_out=1.0, rtol=1e-8, atol=1e-10)
    # v' = (w - c v^2) / m has v = v_end tanh(t / tau)
    weight, mass = 9.81 * (6.0 - water), 6.0 + 0.5 * water
    end = np.sqrt(weight / drag)
    assert_allclose(run.qd[:, 2], -end * np.tanh(run.t * drag * end / mass), atol=1e-6)


def test_a_floating_ball_lies_as_deep_as_archimedes_says():
    # half as heavy as water: half of it is in the water
    water = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3
    robot = ball(mass=0.5 * water).with_loads(sea=Fluid(1000.0, height=0.3, up=(0, 0, 1)))
    zero = np.zeros(6)
    floating = np.array([0, 0, 0.3, 0, 0, 0])
    assert_allclose(robot.inverse_dynamics(floating, zero, qdd=zero), 0.0, atol=1e-12)
    # rho g pi r^2 holds it there
    K = robot.inverse_dynamics_derivatives(floating, zero, qdd=zero).dtau_dq
    assert_allclose(K[2, 2], 1000.0 * 9.81 * np.pi * 0.1**2, rtol=1e-12)


def seen_from(robot, run, shift):
    """Positions of points of a run, seen from a frame that is at shift(t)."""
    places = [("base", 1.0), ("arm", 1.0), ("leg", 0.5), ("ball", 1.0)]
    return np.array([
        [robot.pose(q, link, s=s)[:3, 3] - shift(t) for link, s in places] for t, q in zip(run.t, run.q, strict=True)
    ])  # fmt: skip


def swimmers(current, gravity_still, **options):
    """The limbs in a current, and in still water under another gravity."""
    flowing = limbs((1.0, 2.0, -9.0)).with_loads(sea=Fluid(1000.0, current=current, **options))
    still = limbs(gravity_still).with_loads(sea=Fluid(1000.0, **options))
    return flowing, still


@pytest.mark.slow
def test_a_swimmer_in_a_steady_current_is_one_in_still_water_seen_from_a_bank_that_moves():
    U = np.array([0.3, -0.2, 0.1])
    flowing, still = swimmers(tuple(U), (1.0, 2.0, -9.0))
    n = still.ndof
    q0, qd0 = 0.2 * np.cos(np.arange(n)), 0.5 * np.sin(np.arange(n))
    moved = qd0.copy()
    moved[:3] += U
    here = sorosim.simulate(still, 0.1, q0=q0, qd0=qd0, dt_out=0.02, **EXACT)
    there = sorosim.simulate(flowing, 0.1, q0=q0, qd0=moved, dt_out=0.02, **EXACT)
    a, b = seen_from(still, here, lambda t: 0.0), seen_from(flowing, there, lambda t: U * t)
    assert np.abs(a[-1] - a[0]).max() > 0.02
    assert_allclose(a, b, atol=1e-7)


@pytest.mark.slow
def test_a_current_that_speeds_up_acts_as_less_gravity_in_still_water():
    # in the frame of the fluid every mass weighs g - U', and so does the water it displaces
    U_t = np.array([0.8, -0.5, 1.5])
    flowing, still = swimmers((f"{U_t[0]}*t", f"{U_t[1]}*t", f"{U_t[2]}*t"), np.array([1.0, 2.0, -9.0]) - U_t)
    n = still.ndof
    q0, qd0 = 0.2 * np.cos(np.arange(n)), 0.5 * np.sin(np.arange(n))
    here = sorosim.simulate(still, 0.1, q0=q0, qd0=qd0, dt_out=0.02, **EXACT)
    there = sorosim.simulate(flowing, 0.1, q0=q0, qd0=qd0, dt_out=0.02, **EXACT)
    a, b = seen_from(still, here, lambda t: 0.0), seen_from(flowing, there, lambda t: 0.5 * U_t * t**2)
    assert np.abs(a[-1] - a[0]).max() > 0.02
    assert_allclose(a, b, atol=1e-7)


def test_a_body_that_floats_with_the_current_feels_nothing():
    water = 1000.0 * 4.0 / 3.0 * np.pi * 0.1**3
    robot = ball(mass=water).with_loads(sea=Fluid(1000.0, current=(0.5, 0.2, -0.1)))
    qd = np.array([0.5, 0.2, -0.1, 0, 0, 0])
    assert_allclose(robot.forward_dynamics(np.zeros(6), qd), 0.0, atol=1e-12)


def test_an_ellipsoid_in_an_ideal_fluid_keeps_kirchhoffs_impulse():
    # without drag: momentum of body and fluid together stays, in the world; as heavy as water
    links = {"body": {"joint": "free", "body": {"ellipsoid": {"radii": [0.3, 0.2, 0.1]}, "density": 1000}}}
    dry = sorosim.load({"sorosim": 1, "name": "egg", "gravity": [0, 0, 0], "links": links})
    robot = dry.with_loads(sea=Fluid(1000.0, links={"body": Immersed(drag=0, rotary_drag=0)}))
    qd = np.array([0.4, 0.2, 0.7, 1.0, 0.3, -0.5])
    run = sorosim.simulate(robot, 2.0, qd0=qd, dt_out=0.2, **EXACT)
    impulse = []
    for q, rate in zip(run.q, run.qd, strict=True):
        g, eta = node_motion(robot, q, rate)
        impulse.append(Ad_inv(g[-1]).T @ robot.engine.tree.inertia[-1] @ eta[-1])
    assert_allclose(impulse, np.tile(impulse[0], (len(run.t), 1)), atol=1e-6 * np.abs(impulse[0]).max())
    assert np.abs(run.energy().kinetic - run.energy().kinetic[0]).max() < 1e-6 * run.energy().kinetic[0]
    # and the body alone does not keep its own
    assert np.abs(run.qd[:, :3] - run.qd[0, :3]).max() > 0.1


# -- energy


LIMBS = limbs((0, 0, -9.81))
PEG = Anchor("world", at=pose([0, 0, 0], [0.3, 0.2, 0.1]))
BALANCED = {
    "springs": {"a": Spring("arm", PEG, stiffness=20, damping=0.5, rest=0.1),
                "b": Spring("ball", Anchor("leg", s=0.5), stiffness=5, damping=0.2)},
    "winding spring": {"a": Spring("arm", PEG, stiffness=20, damping=0.5, rest="0.1+0.2*t")},
    "still fluid": {"a": Fluid(1000.0)},
    "current": {"a": Fluid(1000.0, current=(0.3, "1*t", 0.1), links={
        "arm": Immersed(lift=0.4), "base": Immersed(), "ball": Immersed(), "leg": Immersed()})},
    "surface": {"a": Fluid(1000.0, height=0.02)},
    "push": {"a": Wrench("ball", moment=(0, 0.01, 0), force=(0.1, 0, "1*t"), frame="line", through=(0.5, 0, 0.1))},
}  # fmt: skip


@pytest.mark.parametrize("name", BALANCED)
def test_energy_is_accounted_for(name):
    robot = LIMBS.with_loads(**BALANCED[name])
    # straight rods: what is bent by hand springs back faster than work is sampled
    joints = np.array([".free" in name or ".revolute" in name or ".sph" in name for name in robot.coordinate_names])
    qd0 = 0.5 * joints * np.sin(1.0 + np.arange(robot.ndof))
    run = sorosim.simulate(robot, 0.2, qd0=qd0, dt_out=5e-4, rtol=1e-8, atol=1e-10)
    energy = run.energy()
    moved = np.abs(energy.kinetic - energy.kinetic[0]).max()
    assert moved > 0.01
    assert np.abs(energy.balance).max() < 1e-4 * moved
    if name in ("springs", "still fluid"):
        assert energy.dissipated[-1] > 1e-4


def test_a_robot_keeps_its_loads_when_it_is_described_anew():
    robot = Robot(replace(LIMBS.description, loads=BALANCED["springs"]))
    q = np.full(robot.ndof, 0.1)
    assert_allclose(robot.mass_matrix(q), LIMBS.mass_matrix(q), rtol=1e-5, atol=1e-9)
