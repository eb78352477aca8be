"""Optimal control of materials that relax: strains of Maxwell elements are a part of the state of a step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.analysis.motion.stepper import StepState
from sorosim.studies.control.gains import regulator
from sorosim.studies.control.optimal import problem_of
from sorosim.studies.control.steps import DiscreteMotion

DT = 0.02
COST = {"final": {"q": 1e3, "qd": 1.0}, "effort": 1e-3, "smoothness": 1e-4}
SIZES = np.array([1.0, 1e-3])  # of a cord that pulls [N], and of a motor that turns the arm [N m]
# differences of second order with a step of 1e-5: of strains that are 1e-3 of curvatures, and rounding over the step
BY_DIFFERENCES = 1e-6


def arm(equilibria="relaxed", joint=None, shares=(0.3, 0.2)):
    terms = [{"share": share, "time": time} for share, time in zip(shares, (0.02, 0.3), strict=True)]
    gel = {"young": 1e6, "poisson": 0.5, "density": 1000, "damping": 200.0,
           "relaxation": {"terms": terms, "equilibria": equilibria}}  # fmt: skip
    rod = {"length": 0.2, "section": {"circle": {"radius": 0.01}}, "material": "gel", "strain": {"bending_y": 1}}
    actuators = {"cord": {"tendon": {"rod": "arm", "y": 0, "z": "5 mm"}}}
    if joint:
        actuators["motor"] = {"joint": {"link": "arm"}}
    return sorosim.load({
        "sorosim": 1, "name": "gel arm", "gravity": [0, 0, -9.81], "materials": {"gel": gel},
        "links": {"arm": {"rod": rod, **({"joint": joint} if joint else {})}}, "actuators": actuators,
    })  # fmt: skip


HINGED = {"revolute": {"axis": [0, 1, 0]}}
ROBOTS = [arm(), arm("instantaneous"), arm(joint=HINGED)]


def central(f, x, h=1e-5):
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(len(x))], axis=-1)


def problem_for(robot, n=6, goal=None, bounds=("0 N", "5 N")):
    goal = np.full(robot.ndof, 0.2) if goal is None else goal
    return problem_of(robot, {"horizon": n * DT, "dt": DT}, COST, bounds, goal, {})[0]


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("robot", ROBOTS)
def test_derivatives_of_steps_by_strains_match_differences(robot, substeps, rng):
    motion = DiscreteMotion(robot, DT, substeps=substeps, tolerance=1e-13)
    x = 0.1 * rng.standard_normal(motion.n_states)
    U = rng.uniform(1.0, 2.0, (3, motion.n_inputs)) * SIZES[: motion.n_inputs]
    assert motion.n_states == 2 * robot.ndof + 4
    X = motion.integrate(x, U.copy())
    A, B = motion.linearize(U)
    assert np.abs(A[:, :, 2 * robot.ndof :]).max(axis=(1, 2)).min() > 0.0
    for k in range(3):
        for exact, f, at in (
            (A[k], lambda x, k=k: motion.integrate(x, U[k : k + 1].copy())[1], X[k]),
            (B[k], lambda u, k=k: motion.integrate(X[k], u[None].copy())[1], U[k]),
        ):
            differences = central(f, at)
            assert_allclose(exact, differences, rtol=0.0, atol=BY_DIFFERENCES * (1.0 + np.abs(differences).max()))


@pytest.mark.parametrize("robot", ROBOTS)
def test_gradients_of_costs_match_differences(robot, rng):
    problem = problem_for(robot, bounds=None)
    problem.begin(0.05 * rng.standard_normal(problem.motion.n_states), 0.0)
    U = rng.uniform(1.0, 2.0, (problem.N, problem.motion.n_inputs)) * SIZES[: problem.motion.n_inputs]
    gradient = problem.gradient(problem.integrate(U.copy())[0], U)
    differences = central(lambda u: problem.integrate(u.reshape(U.shape).copy())[1], U.ravel(), 1e-4).reshape(U.shape)
    assert_allclose(gradient, differences, rtol=0.0, atol=1e-5 * np.abs(gradient).max())


def test_a_step_is_that_of_a_stepper_from_the_same_state(rng):
    robot = arm()
    motion, n = DiscreteMotion(robot, DT), robot.ndof
    x, u = 0.1 * rng.standard_normal(motion.n_states), np.array([2.0])
    end = motion.integrate(x, u[None].copy())[1]
    stepper = sorosim.Stepper(robot, DT, tolerance=1e-11)
    stepper.state = StepState(0.0, x[:n], x[n : 2 * n], np.zeros(1), strain=x[2 * n :])
    state = stepper.step(u)
    assert_allclose(end, np.concatenate([state.q, state.qd, state.strain]), rtol=0.0, atol=1e-9)


def test_the_best_motion_is_found_by_both_solvers_and_is_that_of_its_inputs():
    robot = arm()
    found = [
        sorosim.optimal_control(robot, 10 * DT, DT, COST, ("0 N", "8 N"), goal=[0.5, 0.1], solver=one, tolerance=1e-9)
        for one in ("ddp", "l-bfgs-b")
    ]
    assert all(one.converged for one in found)
    assert found[0].cost == pytest.approx(found[1].cost, rel=1e-4)
    run = found[0].run
    assert np.abs(run.strain[-1]).max() > 1e-3
    again = DiscreteMotion(robot, DT).integrate(np.zeros(8), found[0].u.copy())
    assert_allclose(run.strain, again[:, 4:], rtol=0.0, atol=1e-12)
    # relaxed, the same inputs leave the rod elsewhere
    other = DiscreteMotion(arm(shares=(1e-9, 1e-9)), DT).integrate(np.zeros(8), found[0].u.copy())
    assert np.abs(other[-1, :2] - again[-1, :2]).max() > 0.05


def test_the_regulator_does_without_strains_which_nothing_measures():
    robot = arm()
    goal = sorosim.statics(robot, {"cord": 2.0}).q
    problem = problem_for(robot, goal=goal)
    (hold, u), words = regulator(problem, problem.terms.goal)
    assert words == ""
    assert hold.shape == (1, 2 * robot.ndof)
    assert u[0] == pytest.approx(2.0, rel=1e-3)
    problem.motion.integrate(problem.terms.goal, u[None].copy())
    A, B = (one[0] for one in problem.motion.linearize(u[None]))
    assert np.abs(np.linalg.eigvals(A + B @ np.pad(hold, ((0, 0), (0, 4))))).max() < 1.0


def test_predictive_control_follows_the_strains_of_what_it_moves():
    robot = arm()
    mpc = sorosim.MPC(robot, 8 * DT, DT, COST, ("0 N", "8 N"), goal=[0.5, 0.1])
    sim = sorosim.Stepper(robot, DT)
    state = sim.reset(q=np.zeros(2))
    for _ in range(15):
        state = sim.step(mpc.step(state.q, state.qd))
    mpc.step(state.q, state.qd)
    assert mpc.failures == 0
    strain = mpc.plan[1][0, 4:]
    assert np.abs(strain).max() > 1e-2
    assert_allclose(strain, state.strain, rtol=0.0, atol=1e-9)
    mpc.reset()
    mpc.step(np.array([0.1, 0.0]), np.zeros(2))
    assert not mpc.plan[1][0, 4:].any()  # a new motion begins at rest
