"""Begins of motions and jumps of inputs: parts that are stiffer than the steps resolve are not kicked (theory 14)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.analysis.equations.system import OdeSystem
from sorosim.analysis.motion import march
from sorosim.analysis.motion.marching import MarchIntegrator
from sorosim.mechanics.dynamics.forward import forward_by_articulated
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.prescribed import Prescribed

RHO = 0.8
# a mass on a stiff spring with a motor: x'' = (u - k x)/m
MASS, STIFFNESS = 0.2, 5e4
OSCILLATOR = {
    "sorosim": 1, "name": "oscillator",
    "links": {"bob": {"joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": STIFFNESS}},
                      "body": {"sphere": {"radius": "2 cm"}, "mass": MASS}}},
    "actuators": {"push": {"joint": {"link": "bob"}}},
}  # fmt: skip


def scalar_steps(u, h, x, v, spectral_radius=RHO):
    """The generalised-alpha method on one oscillator by its textbook, with the begins and jumps of the theory."""
    alpha_m, alpha_f = (
        (2.0 * spectral_radius - 1.0) / (spectral_radius + 1.0),
        spectral_radius / (spectral_radius + 1.0),
    )
    gamma = 0.5 + alpha_f - alpha_m
    beta, s = 0.25 * (gamma + 0.5) ** 2, ((gamma - 0.5) * h) ** 2
    rows, qdd, a = [(x, v)], None, None
    for force in u:
        before = 0.0 if qdd is None else qdd
        z = (force - STIFFNESS * x + s * STIFFNESS * before) / (MASS + s * STIFFNESS)
        a, qdd = (z, z) if qdd is None else (a + z - before, z)
        # (1 - alpha_m) a' + alpha_m a = (1 - alpha_f) qdd' + alpha_f qdd, and m qdd' + k x' = u
        slope, known = (1.0 - alpha_f) / (1.0 - alpha_m), (alpha_f * qdd - alpha_m * a) / (1.0 - alpha_m)
        begin = x + h * v + h * h * ((0.5 - beta) * a + beta * known)
        acceleration = (force - STIFFNESS * begin) / (MASS + STIFFNESS * beta * h * h * slope)
        end = known + slope * acceleration
        x, v = begin + beta * h * h * slope * acceleration, v + h * ((1.0 - gamma) * a + gamma * end)
        qdd, a = acceleration, end
        rows.append((x, v))
    return np.array(rows)


@pytest.mark.parametrize("h", [2e-4, 2e-3, 2e-2])
@pytest.mark.parametrize("spectral_radius", [0.0, 0.8, 1.0])
def test_an_oscillator_begins_and_jumps_as_scalars_have_it(h, spectral_radius, rng):
    robot, u = sorosim.load(OSCILLATOR), 3.0 * rng.standard_normal(12)
    method = sorosim.GeneralizedAlpha(spectral_radius=spectral_radius)
    motion = sorosim.rollout(robot, u[:, None], h, q0=[1e-4], qd0=[0.02], method=method)
    expected = scalar_steps(u, h, 1e-4, 0.02, spectral_radius)
    for found, column in zip((motion.q[:, 0], motion.qd[:, 0]), expected.T, strict=True):
        assert_allclose(found, column, rtol=0.0, atol=1e-9 * np.abs(column).max())


@pytest.mark.parametrize("turn", [3.0, 30.0, 300.0, 3000.0])
def test_a_jump_makes_no_more_rates_than_a_bound_that_no_stiffness_raises(turn, rng):
    """w h = turn: rates of a first step h a_0 are w h times those that the force ever makes, F/(m w)."""
    omega, robot = np.sqrt(STIFFNESS / MASS), sorosim.load(OSCILLATOR)
    motion = sorosim.rollout(robot, np.ones((30, 1)), turn / omega, q0=[0.0])
    largest = 1.0 / (MASS * omega)  # rates of the true motion
    # by the theory h z <= 1/(2 gamma - 1) of it, and a step passes no more of it on; the bound is of the theory
    assert np.abs(motion.qd).max() < 4.5 * largest
    assert np.abs(motion.q).max() < 2.0 * 1.0 / STIFFNESS * 1.1  # the true motion swings to twice F/k


@pytest.mark.parametrize("method", [sorosim.Newmark(), sorosim.GeneralizedAlpha(spectral_radius=1.0)])
def test_what_damps_nothing_begins_with_the_accelerations_of_forward_dynamics(method):
    assert march.tableau(method).stiffening == 0.0


@pytest.mark.parametrize("name", ["cable_manipulator", "soft_gripper"])
def test_strains_out_of_balance_throw_a_soft_robot_less(monkeypatch, name):
    """Released at rest with strains that are off by 1e-3: errors at 10 ms by those of plain forward dynamics."""
    robot, n, made, parts = sorosim.load(name), 20, march.tableau, []
    u = np.zeros((n, robot.engine.n_actuators))
    eq, tip = sorosim.statics(robot, u[0]), robot.description.links[-1].name

    def positions(substeps, stiffening=None):
        how = made if stiffening is None else lambda method: made(method)._replace(stiffening=stiffening)
        monkeypatch.setattr(march, "tableau", how)
        return sorosim.rollout(robot, u, "10 ms", q0, substeps=substeps).positions(tip)

    for seed in range(5):
        q0 = eq.q + 1e-3 * np.random.default_rng(seed).standard_normal(robot.ndof)
        exact = positions(64)
        kept, plain = (np.linalg.norm(positions(1, one) - exact, axis=1).max() for one in (None, 0.0))
        parts.append(kept / plain)
    assert np.median(parts) < 0.5  # 0.11 and 0.13


@pytest.mark.parametrize("driven", [{}, {"two": "0.1*t^2"}])
def test_stiffened_forward_dynamics_by_composite_and_articulated_bodies(driven, rng):
    """M qdd + s K qdd = forces, with the same qdd of driven coordinates; K of springs, and of rods by their energy."""
    soft = {"rod": {"length": 0.3, "section": {"circle": {"radius": 0.01}}, "material": "gum",
                    "strain": {"bending": 1, "torsion": 0, "elongation": 0}}}  # fmt: skip
    robot = sorosim.load({
        "sorosim": 1, "name": "chain", "gravity": [0, 0, -9.81],
        "materials": {"gum": {"young": 1e6, "poisson": 0.4, "density": 1000, "damping": 100}},
        "links": {
            "one": {"joint": {"spherical": {"stiffness": [3.0, 4.0, 5.0]}}, **soft},
            "two": {"parent": "one", "joint": {"revolute": {"axis": [0, 1, 0], "stiffness": 7.0}}, **soft},
            "three": {"parent": "two", "joint": {"prismatic": {"axis": [0, 0, 1], "stiffness": 900.0}},
                      "body": {"sphere": {"radius": 0.02}, "mass": 0.1}},
        },
    })  # fmt: skip
    n, s = robot.ndof, 3e-4

    def force(x):
        return robot.engine.internal(x, np.zeros(n), np.zeros(0)).tau

    system = OdeSystem(robot, Prescribed.of(robot, None, driven))
    t, (q, qd) = 0.3, 0.2 * rng.standard_normal((2, n))
    q, qd, qdd, strain = system.coordinates(t, system.state(q, qd, np.zeros(0)))
    free = system.partition.free
    known, none = system.partition.mask, np.zeros(0)
    found = system.forward(task.FORWARD, t, q, qd, qdd.copy(), strain, s).qdd
    articulated = forward_by_articulated(robot.engine, q, qd, qdd, none, t, known, s)
    assert_allclose(articulated, found, rtol=0.0, atol=1e-9 * np.abs(found).max())
    plain = system.forward(task.FORWARD, t, q, qd, qdd.copy(), strain).qdd
    M, h = robot.mass_matrix(q), 1e-3
    K = np.array([(force(-h * e) - force(h * e)) / (2.0 * h) for e in np.eye(n)])
    block = np.ix_(free, free)
    expected = plain.copy()
    expected[free] = np.linalg.solve((M + s * K)[block], M[block] @ plain[free])
    assert np.abs(expected - plain).max() > 0.1 * np.abs(plain).max()
    assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


RELAXING = """
sorosim: 1
materials:
  m: {young: 50 MPa, poisson: 0.4, density: 1000,
      relaxation: {terms: [{share: 0.6, time: 50 ms}, {share: 0.3, time: 1}]}}
links: {a: {rod: {length: 0.3, section: {circle: {radius: 1 cm}}, material: m, strain: {bending: 1}}}}
"""


def test_a_material_that_relaxes_begins_with_the_stiffness_that_answers_at_once(monkeypatch, tmp_path):
    (tmp_path / "relaxing.yaml").write_text(RELAXING)
    robot, h, found = sorosim.load(tmp_path / "relaxing.yaml"), 0.01, []
    original = MarchIntegrator.first_accelerations

    def noted(self, t, x, step, evaluation):
        found.append((original(self, t, x, step, evaluation), evaluation.qdd.copy(), self.tableau.stiffening))
        return found[-1][0]

    monkeypatch.setattr(MarchIntegrator, "first_accelerations", noted)
    q0 = np.linspace(0.01, 0.02, robot.ndof)
    sorosim.simulate(robot, h, dt_out=h, method=sorosim.GeneralizedAlpha(step=h), q0=q0)
    z, qdd, factor = found[0]
    elastic, tree = robot.engine.elastic, robot.engine.tree
    block = tree.block[elastic.maxwell.block[0].block]
    assert block.n == robot.ndof
    K = elastic.stiffness[block.square : block.square + block.n**2].reshape(block.n, block.n)
    share = elastic.maxwell.long_term[0] + elastic.maxwell.ratio.sum()
    assert share > 1.5 * elastic.maxwell.long_term[0]
    M = robot.mass_matrix(q0)
    expected = np.linalg.solve(M + factor * h**2 * share * K, M @ qdd)
    assert np.abs(z - qdd).max() > 0.1 * np.abs(qdd).max()
    assert z == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
