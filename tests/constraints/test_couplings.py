"""Couplings of joints: against the robot with the coordinates eliminated, which has fewer of them and no multiplier."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from dynamics.test_linearised_tree import FACTORS, check, coupled_tree
from helpers.robots import random_state, varied_tree, with_couplings
from motion.test_discrete_steps import check_derivatives
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import ConvergenceError, FileError, InputError, ModelError
from sorosim.files import load_text
from sorosim.mechanics.constraints.coupling import Coupling
from sorosim.mechanics.dynamics.linearised_tree import LinearisedTree
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.robot import Robot

BAR = {"mass": "0.2 kg", "centre": [0, 0, "-5 cm"], "inertia": [1e-4, 1e-4, 1e-5]}
HINGE = {"revolute": {"axis": [0, 1, 0]}}
BELOW = {"position": [0, 0, "-10 cm"]}


def robot_of(links, couplings, **more):
    return sorosim.load({"sorosim": 1, "name": "coupled", "links": links, "couplings": couplings, **more})


def finger(**more):
    """Two phalanges, the second of which follows the first, and a rack on a pinion."""
    links = {
        "proximal": {"joint": {"revolute": {"axis": [0, 1, 0], "stiffness": 0.1}}, "body": BAR},
        "distal": {"parent": "proximal", "at": BELOW, "joint": HINGE, "body": BAR},
        "rack": {"joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": 20}}, "body": BAR},
    }
    couplings = {
        "cable": {"link": "distal", "leader": "proximal", "ratio": 0.8, "offset": "5 deg"},
        "pinion": {"link": "rack", "leader": "distal", "ratio": "100 mm/rev"},
    }
    return robot_of(links, couplings, **more)


def elimination(robot):
    """S (ndof, n - m) and c (ndof,): closed states are q = S z + c."""
    A, zero = robot.loop_rows(np.zeros(robot.ndof)).A, np.zeros(robot.ndof)
    error = robot.loop_rows(zero).error
    return scipy.linalg.null_space(A), -np.linalg.pinv(A) @ error


@pytest.fixture(scope="module", params=(0, 2, 3, 4, 9, 12, 15))
def tree(request):
    rng = np.random.default_rng(request.param)
    robot = with_couplings(rng, varied_tree(request.param))
    assert robot.n_multipliers == len(robot.coupling_names) > 0
    S, c = elimination(robot)
    q, qd, _, u = random_state(rng, robot)
    z = S.T @ (q - c)
    return robot, S, S @ z + c, S @ (S.T @ qd), u


def test_closed_states_are_those_of_the_ratios(tree):
    robot, _, q, qd, _ = tree
    for name, coupling in robot.description.couplings.items():
        a, b = (end.column for end in coupling.ends(robot.engine.layout))
        ratio, offset = robot.engine.coupling_numbers(name)
        assert q[a] == pytest.approx(ratio * q[b] + offset, abs=1e-13)
        assert qd[a] == pytest.approx(ratio * qd[b], abs=1e-13 * np.abs(qd).max())


def test_forward_dynamics_is_that_of_the_independent_coordinates(tree):
    robot, S, q, qd, u = tree
    M, bias = (
        robot.mass_matrix(q),
        -robot.engine.evaluate(
            task.RESIDUAL, q, qd, np.zeros(robot.ndof), u, multiplier=np.zeros(robot.n_multipliers)
        ).tau.copy(),
    )
    reduced = S @ np.linalg.solve(S.T @ M @ S, S.T @ bias)
    weight = np.sqrt(np.diag(M))
    found = robot.forward_dynamics(q, qd, u=u)
    bound = 1e-13 * np.linalg.cond(M / weight / weight[:, None]) * np.abs(weight * reduced).max()
    assert np.abs(weight * (found - reduced)).max() <= bound
    # efforts are what closes the balance of forces of the coordinates that follow and lead
    A, out = robot.loop_rows(q).A, robot.engine.evaluate(task.FORWARD, q, qd, np.zeros(robot.ndof), u)
    assert_allclose(A.T @ out.closure.multiplier, M @ found - bias, rtol=0.0, atol=1e-9 * np.abs(bias).max())


def test_derivatives_of_forward_dynamics_are_those_of_the_independent_coordinates(tree):
    robot, S, q, qd, u = tree
    D = robot.forward_dynamics_derivatives(q, qd, u=u)
    rng = np.random.default_rng(1)
    for by, at_q, at_qd in ((D.dqdd_dq, 1.0, 0.0), (D.dqdd_dqd, 0.0, 1.0)):
        x = S @ rng.normal(size=S.shape[1])

        def moved(h, x=x, at_q=at_q, at_qd=at_qd):
            return robot.forward_dynamics(q + h * at_q * x, qd + h * at_qd * x, u=u)

        worst = [
            np.abs(by @ x - (moved(-2 * h) - 8 * moved(-h) + 8 * moved(h) - moved(2 * h)) / (12 * h)).max()
            for h in (1e-3, 1e-4, 1e-5, 1e-6)
        ]
        assert min(worst) <= 1e-6 * (np.abs(by) @ np.abs(x)).max()


def test_derivatives_of_the_residual_count_the_efforts(tree):
    robot, _, q, qd, u = tree
    rng = np.random.default_rng(2)
    qdd, multiplier = rng.normal(size=robot.ndof), rng.normal(size=robot.n_multipliers)
    A = robot.loop_rows(q).A
    with_effort, without = (
        robot.engine.evaluate(task.RESIDUAL_DERIVATIVES, q, qd, qdd, u, multiplier=lam)._replace()
        for lam in (multiplier, 0.0 * multiplier)
    )
    size = np.abs(without.tau).max() + np.abs(multiplier).max()
    plain = robot.engine.evaluate(task.RESIDUAL, q, qd, qdd, u, multiplier=multiplier).tau.copy()
    assert_allclose(plain - (without.tau - A.T @ multiplier), 0.0, rtol=0.0, atol=1e-13 * size)
    assert_allclose(with_effort.tau, plain, rtol=0.0, atol=1e-13 * size)
    # constant forces on coordinates
    assert_allclose(with_effort.by_q, without.by_q, rtol=0.0, atol=1e-13 * np.abs(without.by_q).max())


@pytest.mark.parametrize("seed", [0, 2, 3, 7, 12, 15])
@pytest.mark.parametrize("name", FACTORS)
def test_equations_of_steps_along_the_tree_are_the_dense_ones(seed, name):
    rng = np.random.default_rng(seed)
    robot = with_couplings(rng, coupled_tree(seed))
    assert robot.coupling_names
    state = random_state(rng, robot)
    if name == "statics":
        state = state[0], 0.0 * state[1], 0.0 * state[2], state[3]
    known = rng.random(robot.ndof) < 0.1 * (seed % 3)
    check(robot.engine, LinearisedTree(robot.engine), state, known, FACTORS[name], f"couplings, {name}", rng)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_derivatives_of_motions(seed):
    rng = np.random.default_rng(seed)
    robot = with_couplings(rng, varied_tree(seed))
    S, c = elimination(robot)
    u = 0.1 * rng.standard_normal((5, len(robot.actuator_names)))
    found = sorosim.rollout(robot, u, "0.3 ms", q0=S @ (S.T @ (robot.initial_q - c)) + c, tolerance=1e-13)
    check_derivatives(found, rng, atol=1e-5, size=0.01, steps=(10.0, 3.0, 1.0, 0.1, 0.01), pairing=1e-7)


def test_statics_is_the_minimum_of_energy_and_efforts_are_moments():
    robot = finger()
    found = sorosim.statics(robot)
    S, c = elimination(robot)
    least = scipy.optimize.minimize(lambda z: robot.energy(S @ z + c, np.zeros(3)).total, np.zeros(1), tol=1e-12)
    assert_allclose(found.q, S @ least.x + c, atol=1e-6)
    # the rack hangs on its spring alone: the pinion pulls on it as much as the spring pushes back
    assert found.coupling_effort("pinion") == pytest.approx(20.0 * found.q[2], rel=1e-9)
    # of the distal phalanx: weight about its axis, and what the pinion takes
    angle = found.q[0] + found.q[1]
    weight = 0.2 * 9.81 * 0.05 * np.sin(angle)
    taken = 0.1 / (2.0 * np.pi) * found.coupling_effort("pinion")
    assert found.coupling_effort("cable") == pytest.approx(weight + taken, rel=1e-9)
    assert found.linearize().frequencies.shape == (1,)


@pytest.mark.parametrize("method", ["bdf", "generalized-alpha", "radau", "ida"])
def test_motions_of_coupled_joints_keep_their_energy_and_stay_coupled(method):
    robot = finger(initial={"proximal.revolute": 0.7})
    run = sorosim.simulate(robot, 1.0, method=method, rtol=1e-8, atol=1e-10)
    energy = run.energy()
    assert np.abs(energy.balance).max() < 1e-4 * energy.kinetic.max()
    for gap in run.drift.values():
        assert gap.max() < 1e-7
    assert run.q[0] == pytest.approx([0.7, 0.8 * 0.7 + np.deg2rad(5.0), 0.1 / (2 * np.pi) * (0.56 + np.deg2rad(5.0))])
    # one of the coordinates alone, by its energy: z'' M_z + (M_z' z'^2) / 2 + V_z = 0
    S, c = elimination(robot)
    z, zd = S.T @ (run.q[-1] - c), S.T @ run.qd[-1]
    assert_allclose(S @ z + c, run.q[-1], atol=1e-7)
    kinetic = 0.5 * zd @ (S.T @ robot.mass_matrix(run.q[-1]) @ S) @ zd
    assert kinetic == pytest.approx(energy.kinetic[-1], rel=1e-5, abs=1e-8)


def test_all_methods_come_to_the_same_state():
    robot = finger(initial={"proximal.revolute": 0.7})
    ends = [
        sorosim.simulate(robot, 0.5, method=method, rtol=1e-9, atol=1e-11).q[-1] for method in ("bdf", "radau", "ida")
    ]
    assert np.ptp(ends, axis=0).max() < 1e-6


def test_steps_of_a_long_chain_are_the_dense_ones():
    links = {"a0": {"joint": HINGE, "body": BAR}}
    links |= {f"a{k}": {"parent": f"a{k - 1}", "at": BELOW, "joint": HINGE, "body": BAR} for k in range(1, 8)}
    couplings = {f"c{k}": {"link": f"a{k}", "leader": f"a{k - 1}", "ratio": 0.7} for k in (2, 3, 6)}
    start = {"initial": {"a0.revolute": 0.5, "a1.revolute": 0.3, "a5.revolute": -0.4}}
    dense = sorosim.simulate(robot_of(links, couplings, **start), 0.5, method="generalized-alpha", step="5 ms")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sorosim.mechanics.engine.engine.ON_SPARSE", 1)
        along = robot_of(links, couplings, **start)
        assert along.engine.is_large
        found = sorosim.simulate(along, 0.5, method="generalized-alpha", step="5 ms")
        rest = sorosim.statics(along)
    assert_allclose(found.q, dense.q, rtol=0.0, atol=1e-8)
    assert_allclose(found.lam[1:], dense.lam[1:], rtol=0.0, atol=1e-5 * np.abs(dense.lam).max())
    assert_allclose(rest.q, sorosim.statics(robot_of(links, couplings, **start)).q, rtol=0.0, atol=1e-8)


def test_one_driven_coordinate_moves_what_follows():
    robot = finger()
    run = sorosim.simulate(robot, 0.5, driven={"proximal": "0.5*sin(4*t)"}, method="generalized-alpha")
    assert_allclose(run.q[:, 1], 0.8 * run.q[:, 0] + np.deg2rad(5.0), atol=1e-9)
    rest = sorosim.statics(robot, driven={"proximal": "20 deg"})
    assert_allclose(
        rest.q[1:], [0.8 * np.deg2rad(20) + np.deg2rad(5), 0.1 / (2 * np.pi) * (0.8 * np.deg2rad(20) + np.deg2rad(5))]
    )
    with pytest.raises((InputError, ConvergenceError)):
        sorosim.simulate(robot, 0.1, driven={"proximal": "0.1*t", "distal": "0.5 + 0.3*t"})


def test_coordinates_that_are_not_named_follow():
    robot = finger()
    five = np.deg2rad(5.0)
    assert_allclose(robot.initial_q, [0.0, five, 0.1 / (2 * np.pi) * five])
    assert_allclose(robot.coordinates({"distal": 0.3}), [(0.3 - five) / 0.8, 0.3, 0.1 / (2 * np.pi) * 0.3])
    assert_allclose(robot.coordinates({"proximal": 2.0}, order=1), [2.0, 1.6, 0.08 / np.pi])
    # those that are named stay
    assert_allclose(robot.coordinates({"proximal": 0.1, "distal": 0.3})[:2], [0.1, 0.3])
    with pytest.raises(InputError, match=r"'cable' by 0 m and 0\.13\d+ rad open"):
        sorosim.simulate(robot, 0.1, q0={"proximal": 0.1, "distal": 0.3})


@pytest.mark.parametrize("q0", [None, {"proximal": 0.4}, {"distal": 0.4}, "assembled", "equilibrium"])
def test_derivatives_of_a_motion_by_ratio_and_offset(q0):
    """Coordinates of the start that follow others do so at each value of the numbers."""
    motor = {"m": {"joint": {"link": "proximal"}}}
    robot = finger(initial={"proximal.revolute": 0.4}, actuators=motor)
    numbers = {"couplings.cable.ratio": 0.8, "couplings.pinion.ratio": 0.1 / (2 * np.pi)}
    numbers["couplings.cable.offset"] = np.deg2rad(5.0)

    def moved(of, **options):
        return sorosim.rollout(of, np.zeros((20, 1)), "5 ms", q0=q0, tolerance=1e-13, **options)

    found = moved(robot, numbers=list(numbers))
    bar = np.random.default_rng(0).standard_normal(found.q.shape)
    gradient = found.vjp(bar).numbers
    for k, (name, value) in enumerate(numbers.items()):
        h = 1e-4 * value
        ends = [(bar * moved(robot.with_values({name: value + s * h})).q).sum() for s in (-2, -1, 1, 2)]
        difference = (ends[0] - 8.0 * ends[1] + 8.0 * ends[2] - ends[3]) / (12.0 * h)
        assert gradient[k] == pytest.approx(difference, rel=1e-5, abs=1e-5 * np.abs(gradient).max())


def test_what_is_driven_comes_before_what_the_file_names():
    robot = finger(initial={"proximal.revolute": 0.4})
    run = sorosim.simulate(robot, 0.1, driven={"distal": "0.3 + 0.1*t"})
    assert run.q[0, 0] == pytest.approx((0.3 - np.deg2rad(5.0)) / 0.8)
    with pytest.raises(InputError, match="'cable' by"):
        sorosim.simulate(robot, 0.1, q0={"proximal": 0.4}, driven={"distal": "0.3 + 0.1*t"})


@pytest.mark.parametrize("z", [-0.099, -0.097, -0.09, -0.06, -0.02])
def test_inputs_for_a_place_of_what_follows(z):
    """At the start, hanging, the place does not move to first order, but for rounding: that is no scale of inputs."""
    links = {
        "proximal": {"joint": {"revolute": {"axis": [0, 1, 0], "stiffness": 0.1}}, "body": BAR},
        "distal": {"parent": "proximal", "at": BELOW, "joint": HINGE, "body": BAR},
    }
    coupling = {"c": {"link": "distal", "leader": "proximal", "ratio": 0.8, "offset": 0.02}}
    robot = robot_of(links, coupling, actuators={"m": {"joint": {"link": "proximal"}}})
    found = sorosim.inverse(robot, {"distal": [None, None, z]})
    assert found.reached
    assert np.cos(found.equilibrium.q[0]) == pytest.approx(-z / 0.1, abs=1e-6)


def test_derivatives_by_ratio_and_offset():
    robot = finger()
    numbers = ["couplings.cable.ratio", "couplings.pinion.ratio", "couplings.cable.offset"]
    numbers += ["links.distal.at.position[0]", "links.proximal.joint.revolute.axis[0]"]
    rest = sorosim.statics(robot)
    slopes = sorosim.sensitivities(robot, numbers).equilibrium(rest).q
    values = [0.8, 0.1 / (2 * np.pi), np.deg2rad(5.0), 0.0, 0.0]
    for k, (number, value) in enumerate(zip(numbers, values, strict=True)):
        h = 1e-4 * (value or 0.1)
        ends = [sorosim.statics(robot.with_values({number: value + s * h})).q for s in (-1, 1)]
        assert_allclose(slopes[:, k], (ends[1] - ends[0]) / (2 * h), rtol=1e-5, atol=1e-6 * np.abs(slopes).max())


def test_files_are_written_and_read():
    robot = finger()
    again = load_text(robot.to_yaml(), "again.yaml")
    assert again.coupling_names == ("cable", "pinion")
    assert_allclose(sorosim.statics(again).q, sorosim.statics(robot).q, atol=1e-12)
    assert "  pinion: rack.prismatic = 0.0159155 distal.revolute" in robot.summary()


def test_couplings_in_prefabs_are_those_of_their_parts():
    half = {
        "links": {
            "a": {"joint": HINGE, "body": BAR},
            "b": {"parent": "a", "at": BELOW, "joint": HINGE, "body": BAR},
        },
        "couplings": {"cable": {"link": "b", "leader": "a", "ratio": -1}},
    }
    two = {"left": {"prefab": "half"}, "right": {"prefab": "half", "at": {"position": [0.1, 0, 0]}}}
    robot = sorosim.load({"sorosim": 1, "name": "two", "prefabs": {"half": half}, "links": {}, "parts": two})
    assert robot.coupling_names == ("left_cable", "right_cable")
    assert robot.description.couplings["right_cable"].leader == "right_a"


MISTAKES = {
    r"couplings\.c: expected the key 'leader'": {"link": "b"},
    r"couplings\.c\.leader: expected a link whose joint moves, got 'd'": {"link": "b", "leader": "d"},
    r"couplings\.c\.leader: expected a link whose joint moves, got 'e', whose": {"link": "b", "leader": "e"},
    r"couplings\.c\.leader: expected another joint, got 'b'": {"link": "b", "leader": "b"},
    r"couplings\.c\.ratio: expected a ratio other than 0": {"link": "b", "leader": "a", "ratio": 0},
    r"couplings\.c\.ratio: expected a number, got '3 mm'": {"link": "b", "leader": "a", "ratio": "3 mm"},
    r"couplings\.c\.offset: expected an angle": {"link": "b", "leader": "a", "offset": "3 mm"},
    r"couplings\.c\.along: expected no direction": {"link": "b", "leader": "a", "along": "angle"},
    r"couplings\.c: expected the key 'ratio', a length per angle such as 10 mm/rev, got nothing": {
        "link": "h", "leader": "a"
    },
    r"couplings\.c\.ratio: expected an angle per length such as 6 rad/m, got '3 mm'": {
        "link": "a", "leader": "h", "ratio": "3 mm"
    },
    r"couplings\.c: expected the key 'leader_along'": {"link": "b", "leader": "f"},
    r"expected a joint that turns about an axis or slides along one, got spherical": {
        "link": "g", "along": "rx", "leader": "a"
    },
}  # fmt: skip


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes(message):
    links = {
        "a": {"joint": HINGE, "body": BAR}, "b": {"joint": HINGE, "body": BAR}, "e": {"body": BAR},
        "f": {"joint": {"cylindrical": {"axis": [0, 0, 1]}}, "body": BAR}, "g": {"joint": "spherical", "body": BAR},
        "h": {"joint": {"prismatic": {"axis": [0, 0, 1]}}, "body": BAR},
    }  # fmt: skip
    with pytest.raises((FileError, ModelError), match=message):
        robot_of(links, {"c": MISTAKES[message]})


def test_python_robots():
    description = finger().description
    robot = Robot(replace(description, couplings={"c": Coupling("rack", "proximal", "2 cm/rad", offset="1 mm")}))
    assert robot.engine.coupling_numbers("c") == pytest.approx((0.02, 0.001))
    with pytest.raises(ModelError, match=r"couplings\.c: expected a Coupling"):
        replace(description, couplings={"c": 3})
    with pytest.raises(InputError, match="expected the name of a coupling, got 'gear'"):
        sorosim.statics(robot).coupling_effort("gear")
