"""Inputs that scale loads: against the same loads with other numbers, against differences, and what is refused."""

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
import yaml
from helpers.differences import best_slope, jacobian, relative_error, slope
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.analysis.sensitivity import equilibrium_by_inputs
from sorosim.base.errors import ModelError
from sorosim.mechanics.actuation.load_input import LoadInput
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree
from sorosim.mechanics.dynamics.linearization import input_matrix
from sorosim.mechanics.engine import engine
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.loads.base import LoadLaw
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.sensors.state import State
from sorosim.studies.doctor import examine

LINKS = """
materials: {rubber: {young: 0.5 MPa, poisson: 0.5, density: 1100 kg/m^3, damping: 2 kPa*s}}
links:
  base:
    joint: {revolute: {axis: [0, 1, 0], stiffness: 1 N*m/rad, damping: 0.01 N*m*s/rad}}
    body: {mass: 50 g, inertia: [1e-5, 1e-5, 1e-5]}
  finger:
    parent: base
    rod: {length: 12 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {torsion: 0, bending: 1}}
  tip:
    parent: finger
    joint: {spherical: {stiffness: 0.1 N*m/rad, damping: 1 mN*m*s/rad}}
    body: {mass: 20 g, inertia: [1e-5, 2e-5, 3e-5]}
loads:
  jet:
    wrench:
      {link: tip, force: [1 N, 0.5*cos(t), 0.2 N], moment: [0, 0.01, 0], frame: body, at: {position: [1 cm, 0, 2 cm]}}
  push: {wrench: {link: finger, s: 0.5, force: [0, 0.3 N, 0.2 N], moment: [0, 0.01 N*m, 0.002 N*m]}}
  ray: {wrench: {link: tip, force: [0.1 N, 0.3 N, 0.2 N], frame: line, through: [1 cm, 2 cm, 3 cm]}}
  wind: {line: {rod: finger, force: [0, 1 N/m, 2 N/m], frame: body}}
  cord:
    spring:
      {from: base, to: {link: tip, at: {position: [1 cm, 1 cm, 0]}}, stiffness: 3 N/m, damping: 0.2 N*s/m, rest: 2 cm}
  band: {spring: {from: tip, to: {at: {position: [0, 0, 20 cm]}}, stiffness: 2 N/m, damping: 0.1 N*s/m}}
  coil:
    magnet: {link: tip, dipole: [0.1 A*m^2, 0, 0.02 A*m^2], field: [0, 20 mT, 10 mT], gradient: [0.5, -0.25, 0, 0.1, 0]}
  skin: {magnetised_rod: {rod: finger, magnetisation: [10 kA/m, 0, 2 kA/m], field: [0, 20 mT, 10 mT]}}
  dust: {wrench: {link: tip, force: [0.1 N, 0, 0]}}
"""
SCALED = ("jet", "push", "ray", "wind", "cord", "band", "coil", "skin")
# a second arm, which ends where the first one does, on a hinge with a motor
LOOP = """
links:
  crank:
    joint: {revolute: {axis: [0, 1, 0]}}
    at: {position: [0, 0, 4 cm]}
    body: {mass: 30 g, inertia: [1e-5, 1e-5, 1e-5]}
  bar: {parent: crank, joint: spherical, at: {position: [6 cm, 0, 0]}, body: {mass: 30 g, inertia: [1e-5, 1e-5, 1e-5]}}
loops:
  close:
    joint: {revolute: {axis: [0, 1, 0], stiffness: 0.2 N*m/rad}}
    from: bar
    to: {link: tip, at: {as_built: true}}
actuators: {hinge: {loop: {loop: close}}}
"""


def data(looped=False, scaled=SCALED):
    out = {"sorosim": 1, "name": "driven", "gravity": [0, 1, -9]} | yaml.safe_load(LINKS)
    out["actuators"] = {
        "cable": {"tendon": {"rod": "finger", "y": 0, "z": "0.7*r"}},
        **{name: {"load": name} for name in scaled},
        "motor": {"joint": {"link": "base"}},
    }
    for block, entries in (yaml.safe_load(LOOP) if looped else {}).items():
        out[block] = out.get(block, {}) | entries
    return out


def times(entry, u):
    """An entry of a file, u times."""
    if isinstance(entry, list):
        return [times(one, u) for one in entry]
    return f"{float(u)!r}*({entry})"


def with_numbers(u, looped=False):
    """The robot whose loads have the inputs in their numbers, and no actuators for them."""
    out = data(looped, ())
    for name, value in u.items():
        ((kind, load),) = out["loads"][name].items()
        for key in ("force", "moment", "field", "gradient", "stiffness", "damping"):
            if key in load:
                load[key] = times(load[key], value)
        out["loads"][name] = {kind: load}
    return sorosim.load(out)


def state(robot, seed=1):
    rng = np.random.default_rng(seed)
    q, qd, qdd = (size * rng.normal(size=robot.ndof) for size in (0.2, 0.5, 1.0))
    u = dict(zip(robot.actuator_names, rng.uniform(-0.5, 1.0, len(robot.actuator_names)).tolist(), strict=True))
    return q, qd, qdd, u | {"cable": 1.3}  # a tendon that is pulled


@pytest.fixture(scope="module")
def tree():
    return sorosim.load(data())


@pytest.fixture(scope="module")
def looped():
    return sorosim.load(data(looped=True))


@pytest.fixture(params=[False, True], ids=["tree", "looped"])
def robot(request, tree, looped):
    return looped if request.param else tree


def others(u):
    return {name: value for name, value in u.items() if name not in SCALED}


# -- what they do ------------------------------------------------------------------------------------------------------


def test_an_input_multiplies_all_numbers_of_its_load(robot):
    q, qd, qdd, u = state(robot)
    same = with_numbers({name: u[name] for name in SCALED}, bool(robot.n_multipliers))
    t = 0.3
    one = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd, u=u, t=t)
    two = same.inverse_dynamics_derivatives(q, qd, qdd=qdd, t=t)
    for ours, theirs in zip((one.tau, one.dtau_dq, one.dtau_dqd), (two.tau, two.dtau_dq, two.dtau_dqd), strict=True):
        assert relative_error(ours, theirs) <= 1e-13
    accelerations = [x.forward_dynamics(q, qd, u=v, t=t) for x, v in ((robot, u), (same, others(u)))]
    assert relative_error(*accelerations) <= 1e-11
    for name in SCALED:
        wrenches = [x.engine.load_wrenches(name, t, q, qd, x.inputs(v)) for x, v in ((robot, u), (same, others(u)))]
        assert relative_error(*wrenches) <= 1e-13
        assert np.abs(wrenches[0]).max() > 0.0


def test_without_an_input_a_load_does_nothing(tree):
    q, qd, qdd, _ = state(tree)
    bare = data(scaled=())
    bare["loads"] = {"dust": bare["loads"]["dust"]}
    assert_array_equal(tree.inverse_dynamics(q, qd, qdd=qdd), sorosim.load(bare).inverse_dynamics(q, qd, qdd=qdd))
    assert tree.actuator_units == ("N", *("",) * len(SCALED), "N m")


def test_what_acts_through_loads_is_no_internal_force(robot):
    q, qd, _, u = state(robot)
    found = robot.internal_force_derivatives(q, qd, u=u)
    assert_allclose(found.tau, robot.internal_force(q, qd, u=others(u)), atol=1e-14)
    columns = [robot.actuator_names.index(name) for name in SCALED]
    assert not found.B[:, columns].any()
    assert np.delete(found.B, columns, axis=1).any(axis=0).all()
    B = input_matrix(robot.engine, q, qd, robot.inputs(u))
    assert B.any(axis=0).all()
    assert_allclose(np.delete(B, columns, axis=1), np.delete(found.B, columns, axis=1), atol=1e-14)


# -- derivatives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["composite", "articulated"])
def test_derivatives_of_accelerations(tree, algorithm):
    q, qd, _, u = state(tree)
    u, t = tree.inputs(u), 0.3
    found = tree.forward_dynamics_derivatives(q, qd, u=u, t=t, algorithm=algorithm)

    def qdd(q=q, qd=qd, u=u):
        return tree.forward_dynamics(q, qd, u=u, t=t, algorithm=algorithm)

    assert relative_error(found.dqdd_dq, jacobian(lambda x: qdd(q=x), q, (1e-2, 3e-3, 1e-3))) <= 1e-8
    assert relative_error(found.dqdd_dqd, jacobian(lambda x: qdd(qd=x), qd, (1.0, 0.3, 0.1))) <= 1e-8
    # linear in the inputs, each by itself
    for column, exact in zip(found.dqdd_du.T, jacobian(lambda x: qdd(u=x), u, 1.0, order=2).T, strict=True):
        assert relative_error(column, exact) <= 1e-9


def test_derivatives_of_accelerations_under_loops(looped):
    q, qd, _, u = state(looped)
    q = sorosim.assemble(looped, 0.1 * q).q
    u, t, zero = looped.inputs(u), 0.3, 0.0 * qd
    found = looped.forward_dynamics_derivatives(q, zero, u=u, t=t)
    exact = jacobian(lambda x: looped.forward_dynamics(q, zero, u=x, t=t), u, 1.0, order=2)
    for column, one in zip(found.dqdd_du.T, exact.T, strict=True):
        assert relative_error(column, one) <= 1e-7
    change = looped.forward_dynamics_jvp(q, zero, u=u, t=t, du=np.ones(len(u)))
    assert relative_error(change[1], exact.sum(axis=1)) <= 1e-7


def test_derivatives_of_inverse_dynamics(tree):
    q, qd, qdd, u = state(tree)

    def tau(q=q, qd=qd):
        return tree.inverse_dynamics(q, qd, qdd=qdd, u=u, t=0.3)

    found = tree.inverse_dynamics_derivatives(q, qd, qdd=qdd, u=u, t=0.3)
    assert relative_error(found.dtau_dq, jacobian(lambda x: tau(q=x), q, (1e-1, 3e-2, 1e-2))) <= 1e-10
    assert relative_error(found.dtau_dqd, jacobian(lambda x: tau(qd=x), qd, (1.0, 0.3, 0.1))) <= 1e-10


def test_products_in_order_n_are_those_of_the_matrices(robot):
    own, (q, qd, qdd, u) = robot.engine, state(robot)
    u, t, rng = robot.inputs(u), 0.3, np.random.default_rng(0)
    out = own.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, t)
    open_B = out.B.copy()  # motors in loops are no part of the products
    if robot.n_multipliers:
        open_B[:, robot.actuator_names.index("hinge")] = 0.0
    product = LinearisedTree(own)
    product.linearise(q, qd, qdd, u, t)
    du, w, zero = rng.normal(size=len(u)), rng.normal(size=robot.ndof), np.zeros(robot.ndof)
    assert relative_error(product.apply(zero, zero, du), -open_B @ du) <= 1e-13
    assert relative_error(product.apply_transposed(w)[2], -open_B.T @ w) <= 1e-13
    product.linearise(q, zero, zero.copy(), u, t)
    still = own.evaluate(task.RESIDUAL_DERIVATIVES, q, zero, zero.copy(), u, t).B
    assert relative_error(product.apply_closed(zero, du)[0], -still @ du) <= 1e-13


def test_hybrid_dynamics_knows_the_inputs(tree):
    q, qd, qdd, u = state(tree)
    tau = tree.inverse_dynamics(q, qd, qdd=qdd, u=u)
    for algorithm in ("composite", "articulated"):
        found = tree.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=[0, 2], u=u, algorithm=algorithm)
        assert relative_error(found.qdd, qdd) <= 1e-9
        slopes = tree.hybrid_dynamics_derivatives(q, qd, qdd=qdd, tau=tau, known=[0, 2], u=u, algorithm=algorithm)
        assert relative_error(slopes.qdd, qdd) <= 1e-9


NUMBERS = {
    "loads.jet.wrench.force[0]": 1.0, "loads.push.wrench.moment[1]": 0.01, "loads.wind.line.force[1]": 1.0,
    "loads.cord.spring.stiffness": 3.0, "loads.coil.magnet.field[1]": 0.02, "links.finger.rod.length": 0.12,
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_derivatives_by_numbers_of_the_file(tree, name):
    q, qd, qdd, u = state(tree)
    by, h = sorosim.sensitivities(tree, [name]), 1e-3 * NUMBERS[name]

    def at(x):
        return sorosim.load(data(), set={name: NUMBERS[name] + x})

    forces = slope(lambda x: at(x).inverse_dynamics(q, qd, qdd=qdd, u=u), h, order=4)
    assert relative_error(by.inverse_dynamics(q, qd, qdd=qdd, u=u)[:, 0], forces) <= 1e-8
    accelerations = slope(lambda x: at(x).forward_dynamics(q, qd, u=u), h, order=4)
    assert relative_error(by.forward_dynamics(q, qd, u=u)[:, 0], accelerations) <= 1e-7


# -- equilibria --------------------------------------------------------------------------------------------------------

PULL = {"cable": 1.0, "jet": 0.3, "push": -0.5, "wind": 0.4, "cord": 2.0, "band": 0.5, "coil": 1.5, "skin": -1.0}


def test_equilibria_are_those_of_a_file_with_these_numbers(robot):
    same = with_numbers({name: PULL.get(name, 0.0) for name in SCALED}, bool(robot.n_multipliers))
    ours, theirs = sorosim.statics(robot, PULL), sorosim.statics(same, others(PULL))
    assert_allclose(ours.q, theirs.q, atol=1e-11)
    again = sorosim.statics(robot, PULL, q0=sorosim.statics(robot, {"cable": 1.0}))  # inputs rise, weight is there
    assert_allclose(again.q, theirs.q, atol=1e-11)


def test_equilibria_by_inputs_and_by_numbers(tree):
    eq, h = sorosim.statics(tree, PULL), 1e-2
    by_inputs = equilibrium_by_inputs(eq)
    for name in ("jet", "wind", "cord", "coil"):
        exact = slope(lambda x, name=name: sorosim.statics(tree, PULL | {name: PULL[name] + x}, q0=eq).q, h, order=4)
        assert relative_error(by_inputs[:, tree.actuator_names.index(name)], exact) <= 1e-6
    name = "loads.coil.magnet.field[1]"
    exact = slope(lambda x: sorosim.statics(sorosim.load(data(), set={name: 0.02 + x}), PULL, q0=eq.q).q, 1e-3, order=4)
    assert relative_error(sorosim.sensitivities(tree, [name]).equilibrium(eq).q[:, 0], exact) <= 1e-6


def test_equilibria_and_runs_along_the_tree_are_those_of_matrices(robot, monkeypatch):
    found, runs, (q0, qd0) = [], [], start(robot)
    for least in (0, 10**9):
        monkeypatch.setattr(engine, "ON_TREE", least)
        monkeypatch.setattr(engine, "ON_SPARSE", least)
        found.append(sorosim.statics(robot, PULL).q)
        inputs = {name: f"{value}*t" for name, value in PULL.items()}
        runs.append(sorosim.simulate(robot, 0.01, u=inputs, q0=q0, qd0=qd0, method="newmark", step=2e-4).q[-1])
    assert_allclose(*found, atol=1e-9)
    assert_allclose(*runs, atol=1e-6)


def test_inverse_statics_finds_the_inputs():
    robot = sorosim.load(data(scaled=("push", "jet")))
    eq = sorosim.statics(robot, {"push": 0.7, "jet": -0.4})
    tip = eq.tip()
    found = sorosim.inverse(robot, {"tip": tip}, free=["push", "jet"])
    assert found.distance <= 1e-6


# -- motion ------------------------------------------------------------------------------------------------------------


DT = 2e-3


def held(robot, n=6, seed=3):
    u = np.random.default_rng(seed).uniform(-0.1, 0.2, (n, len(robot.actuator_names)))
    u[:, 0] = abs(u[:, 0])  # of a tendon
    return u


def start(robot):
    """A state in motion; at rest where loops are to be closed."""
    if robot.n_multipliers:
        return sorosim.assemble(robot, {"base": 0.05}).q, np.zeros(robot.ndof)
    return state(robot)[:2]


def test_a_rollout_and_its_derivatives(robot):
    u, (q0, qd0) = held(robot), start(robot)
    motion = sorosim.rollout(robot, u, DT, q0=q0, qd0=qd0)
    rng = np.random.default_rng(4)
    q_bar, qd_bar = rng.normal(size=(2, *motion.q.shape))
    back = motion.vjp(q_bar, qd_bar)
    du = rng.normal(size=u.shape)
    along = motion.jvp(du)

    def moved(x):
        other = sorosim.rollout(robot, u + x * du, DT, q0=q0, qd0=qd0)
        return np.stack([other.q, other.qd])

    assert relative_error(np.stack([along.q, along.qd]), best_slope(moved, (1e-2, 1e-3, 1e-4))) <= 1e-6
    assert_allclose((back.u * du).sum(), (q_bar * along.q + qd_bar * along.qd).sum(), rtol=1e-8)


def test_derivatives_of_a_rollout_by_numbers(tree):
    name, value = "loads.jet.wrench.force[0]", 1.0
    u, (q0, qd0) = held(tree), start(tree)
    motion = sorosim.rollout(tree, u, DT, q0=q0, qd0=qd0, numbers=[name])

    def moved(x):
        return sorosim.rollout(sorosim.load(data(), set={name: value + x}), u, DT, q0=q0, qd0=qd0).q

    exact = best_slope(moved, (1e-2, 1e-3, 1e-4))
    assert relative_error(motion.jvp(numbers=[1.0]).q, exact) <= 1e-6
    assert motion.vjp(exact).numbers[0] == pytest.approx((exact**2).sum(), rel=1e-6)


def test_steps_are_those_of_a_batch_and_near_to_a_run(robot):
    u, (q0, qd0) = held(robot), start(robot)
    stepper, batch = sorosim.Stepper(robot, DT), sorosim.Batch(robot, 2, DT, threads=1)
    stepper.reset(q0, qd0)
    batch.reset(q0, qd0)
    for row in u:
        stepper.step(row)
        batch.step(np.stack([row, 0.5 * row]))
    assert_array_equal(batch.q[0], stepper.state.q)
    assert_array_equal(batch.qd[0], stepper.state.qd)
    run = sorosim.simulate(
        robot, len(u) * DT, dt_out=DT, controller=lambda t, q, qd: u[min(round(t / DT), len(u) - 1)], dt_control=DT,
        q0=q0, qd0=qd0, method="newmark", step=DT / 50,
    )  # fmt: skip
    finer = sorosim.rollout(robot, u, DT, q0=q0, qd0=qd0, substeps=50)
    assert_allclose(finer.q[-1], run.q[-1], atol=2e-6)


def test_equilibria_of_a_batch(robot):
    u = np.stack([robot.inputs(PULL), robot.inputs({"jet": 0.2})])
    found = sorosim.Batch(robot, 2, "10 ms", threads=1).statics(u)
    for q, one in zip(found.q, u, strict=True):
        assert_allclose(q, sorosim.statics(robot, one).q, atol=1e-8)


def test_steps_where_python_computes_other_loads(looped):
    """The jump of accelerations under loops is that of the inputs, whoever computes the loads."""

    @dataclass(frozen=True)
    class Dust(LoadLaw):
        link: str = "tip"

        def wrench(self, t, g, eta):
            return 0.0, np.einsum("nji,j->ni", g[:, :3, :3], [0.1, 0.0, 0.0])

    robot, u = looped.with_loads(dust=Dust()), held(looped)
    one, two = (sorosim.rollout(x, u, DT, q0=np.zeros(x.ndof)) for x in (looped, robot))
    assert_allclose(two.q, one.q, atol=1e-9)


def test_the_work_of_a_thruster_is_what_moves_the_body():
    robot = sorosim.load({
        "sorosim": 1, "name": "boat", "gravity": [0, 0, 0],
        "links": {"hull": {"joint": "free", "body": {"mass": "2 kg", "inertia": [0.02, 0.03, 0.04]}}},
        "loads": {
            "jet": {"wrench": {"link": "hull", "force": [1, 0, 0], "frame": "body", "at": {"position": [0, 0.05, 0]}}},
            "rope": {"spring": {"from": "hull", "to": {"at": {"position": [0, 0, 1]}}, "stiffness": 3, "damping": 0.5}},
        },
        "actuators": {"jet": {"load": "jet"}, "rope": {"load": "rope"}},
    })  # fmt: skip
    inputs = {"jet": "3*sin(2*t)", "rope": "1 + 0.5*cos(t)"}
    coarse, fine = (sorosim.simulate(robot, 2.0, u=inputs, method="newmark", step=step) for step in ("10 ms", "5 ms"))
    energies = coarse.energy(), fine.energy()
    off = [np.abs(one.balance).max() for one in energies]
    assert energies[1].work[-1] > 1.0
    assert energies[1].dissipated[-1] > 0.01
    assert off[0] / off[1] == pytest.approx(4.0, abs=0.5)  # of second order, as the steps are
    assert off[1] <= 1e-3 * energies[1].work[-1]


def test_a_thruster_through_the_centre_of_mass_has_the_motion_of_a_point():
    robot = sorosim.load({
        "sorosim": 1, "name": "puck", "gravity": [0, 0, 0],
        "links": {"puck": {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": {"mass": 2, "inertia": [1, 1, 1]}}},
        "loads": {"jet": {"wrench": {"link": "puck", "force": ["1 N", 0, 0], "frame": "body"}}},
        "actuators": {"jet": {"load": "jet"}},
    })  # fmt: skip
    run = sorosim.simulate(robot, 2.0, u={"jet": "4 + 6*t"}, rtol=1e-10, atol=1e-12)
    assert_allclose(run.q[:, 0], 0.5 * 2.0 * run.t**2 + 0.5 * run.t**3, atol=1e-8)
    assert_allclose(run.energy().work, run.energy().kinetic, atol=1e-6)


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha"])
def test_work_and_motion_under_inputs_that_jump_are_those_of_a_motor(method):
    content = {
        "sorosim": 1, "name": "puck", "gravity": [0, 0, 0],
        "links": {"puck": {
            "joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": 3.0, "damping": 0.3}},
            "body": {"mass": 2, "inertia": [1, 1, 1]},
        }},
    }  # fmt: skip
    jet = {"loads": {"jet": {"wrench": {"link": "puck", "force": [1, 0, 0]}}}, "actuators": {"push": {"load": "jet"}}}
    motor = {"actuators": {"push": {"joint": {"link": "puck"}}}}
    rail = {
        "links": {"puck": {"joint": "free", "body": {"mass": 2, "inertia": [1, 1, 1]}}},
        "loops": {"rail": {"joint": content["links"]["puck"]["joint"], "from": "puck", "to": {"at": {}}}},
        "actuators": {"push": {"loop": {"loop": "rail"}}},
    }
    u = np.random.default_rng(0).normal(size=20)
    one, two, three = (
        sorosim.simulate(
            sorosim.load(content | more), 1.0, controller=lambda t, q, qd: [u[min(round(t / 0.05), 19)]],
            dt_control=0.05, method=method, step=5e-3,
        )
        for more in (jet, motor, rail)
    )  # fmt: skip
    assert_allclose(one.q, two.q, atol=1e-12)
    assert_allclose(three.q[:, 0], two.q[:, 0], atol=1e-10)
    # a motor in a loop is outside the tree, too; loops of generalised alpha are closed with errors in work of 2e-8
    for run, bound in ((one, 1e-9), (three, 1e-7)):
        assert_allclose(run.energy().work, two.energy().work, atol=bound * np.abs(two.energy().work).max())


# -- sensors, files, errors --------------------------------------------------------------------------------------------


def test_sensors_see_the_inputs():
    content = data()
    content["sensors"] = {
        "thrust": {"load": "jet"}, "root": {"section_wrench": {"link": "finger", "s": 0.3}},
    }  # fmt: skip
    robot = sorosim.load(content)
    q, qd, _, u = state(robot)
    one, two = (robot.measure(q, qd, u=u | {"jet": x})["thrust"] for x in (0.4, 0.8))
    assert_allclose(two, 2.0 * one, rtol=1e-14)
    assert np.abs(one).max() > 0.1
    # a force beyond a section changes the moment there directly, not by the bend alone
    eq, h, reader = sorosim.statics(robot, PULL), 1e-3, robot.instruments.readers["root"]
    k, none = robot.actuator_names.index("push"), np.zeros((0, 1))
    at = State(robot.instruments.sites, 0.0, eq.q, 0.0 * eq.q, 0.0 * eq.q, eq.u, np.zeros(0))
    du = np.eye(len(eq.u))[:, [k]]
    along = reader.slopes(at, np.zeros((robot.ndof, 1)), du, none)[:, 0]
    near = [robot.measure(eq.q, 0.0 * eq.q, u=eq.u + x * du[:, 0], qdd=0.0 * eq.q)["root"] for x in (-h, h)]
    assert relative_error(along, (near[1] - near[0]) / (2.0 * h)) <= 1e-8
    assert np.abs(along).max() > 1e-3


def test_a_file_that_is_written_is_read_back(tree):
    text = sorosim.dump(tree)
    assert "jet: {load: jet}" in text or "load: jet" in text
    back = sorosim.files.load_text(text, "back")
    assert back.description.actuators["jet"] == LoadInput("jet")
    q, qd, qdd, u = state(tree)
    assert_array_equal(back.inverse_dynamics(q, qd, qdd=qdd, u=u), tree.inverse_dynamics(q, qd, qdd=qdd, u=u))
    long = data() | {"actuators": {"jet": {"load": {"load": "jet"}}}}
    assert sorosim.load(long).description.actuators["jet"] == LoadInput("jet")


def test_a_part_keeps_its_inputs():
    content = data(scaled=())
    blocks = {name: content.pop(name) for name in ("links", "loads")}
    blocks |= {"actuators": {"thrust": {"load": "jet"}}}
    content |= {"prefabs": {"limb": blocks}, "parts": {"left": {"prefab": "limb"}}, "actuators": {}}
    robot = sorosim.load(content)
    assert robot.description.actuators["left_thrust"].load == "left_jet"


def test_the_doctor_looks_at_them_as_actuators():
    content = data()
    content["simulate"] = {"t_end": 0.1, "u": {"jet": "0.1*t", "cord": 1.0}}
    content["loads"]["idle"] = {"wrench": {"link": "finger", "s": 0.0, "force": [0, 1, 0]}}
    content["loads"]["again"] = copy.deepcopy(content["loads"]["jet"])
    content["actuators"] |= {"idle": {"load": "idle"}, "again": {"load": "again"}}
    found = {(one.code, one.where) for one in examine(sorosim.load(content))}
    assert {("actuator.idle", "actuators.idle"), ("actuator.same", "actuators.again")} <= found
    assert not any(code.startswith("load.") for code, _ in found)
    assert ("derivatives.wrong", "derivatives") not in found


BAD = {
    "nowhere": "actuators.bad.load: expected the name of a load, got 'nowhere'; known: jet, push",
    "sea": "actuators.bad.load: expected a load that an input can scale: wrench, line, spring, magnet or "
    "magnetised_rod, got 'sea', which is of the kind fluid",
    "touch": "got 'touch', which is of the kind contact",
    3: "expected the name of a load, got 3",
}


@pytest.mark.parametrize("load", BAD)
def test_what_a_file_may_not_scale(load):
    content = data()
    content["loads"] |= {
        "sea": {"fluid": {"density": "1000 kg/m^3", "links": {"finger": {"drag": 1.0}}}},
        "touch": {"contact": {"between": "finger", "and": {"half_space": {}}, "stiffness": "1 kN/m^1.5"}},
    }  # fmt: skip
    content["actuators"]["bad"] = {"load": load}
    with pytest.raises(ModelError) as error:
        sorosim.load(content)
    assert BAD[load] in str(error.value)


def test_what_python_may_not_scale(tree):
    @dataclass(frozen=True)
    class Own(LoadLaw):
        link: str = "tip"

        def wrench(self, t, g, eta):
            return 0.0, (1.0, 0.0, 0.0)

    def made(loads, **actuators):
        return Robot(replace(tree.description, loads=loads, actuators=actuators))

    with pytest.raises(ModelError, match=r"actuators.a.load: expected a load that an input can scale.*of the kind Own"):
        made({"own": Own()}, a=LoadInput("own"))
    with pytest.raises(ModelError, match=r"actuators.b.load: expected a load that no other.*got 'w', which 'a' scales"):
        made({"w": Wrench("tip", force=(1, 0, 0))}, a=LoadInput("w"), b=LoadInput("w"))
    with pytest.raises(ModelError, match=r"actuators.a.load: expected the name of a load, got 'x'"):
        made({}, a=LoadInput("x"))
    with pytest.raises(ModelError, match=r"load: expected the name of a load, got 3"):
        LoadInput(3)


def test_loads_of_flowing_material_are_refused():
    content = {
        "sorosim": 1, "name": "feed",
        "materials": {"wire": {"young": "1 GPa", "poisson": 0.3, "density": 1000}},
        "links": {"rod": {"joint": {"feed": {}}, "rod": {
            "length": "10 cm", "section": {"circle": {"radius": "1 mm"}}, "material": "wire", "strain": {"bending": 1},
        }}},
        "loads": {
            "wind": {"line": {"rod": "rod", "force": [0, 0, "1 N/m"]}},
            "tip": {"wrench": {"link": "rod", "force": [0, 0, "1 N"]}},
        },
        "actuators": {"tip": {"load": "tip"}},
    }  # fmt: skip
    assert sorosim.load(content).actuator_names == ("tip",)
    wrong = copy.deepcopy(content)
    wrong["actuators"] = {"wind": {"load": "wind"}}
    with pytest.raises(ModelError, match=r"actuators.wind.load.*got 'wind', along a rod whose length is a coordinate"):
        sorosim.load(wrong)
