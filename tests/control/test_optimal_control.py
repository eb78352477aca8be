"""Optimal control: derivatives of steps and costs against differences, problems with a known solution, solvers against
each other, feedback in an independent simulation.
"""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

import sorosim
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.mechanics.kernels.restarted import Feedback
from sorosim.studies.control.cost import Cost
from sorosim.studies.control.gains import regulator
from sorosim.studies.control.optimal import problem_of
from sorosim.studies.control.solvers import SOLVERS, box_newton, ddp, quadratic_program
from sorosim.studies.control.steps import DiscreteMotion
from tests.helpers.flail import flail

CART, ARM = "swing_up_cart_pole", "two_segment_arm"
UPRIGHT, GOOD = {"pole": "180 deg"}, {"final": {"q": 1.0}}
# differences of second order with a step of 1e-6: rounding of 1e-11 (Newton's tolerance) over the step
BY_DIFFERENCES = 5e-5
MASS_ON_A_RAIL = {
    "sorosim": 1,
    "name": "mass on a rail",
    "gravity": [0, 0, 0],
    "links": {"cart": {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": {"sphere": {"radius": 0.1}, "mass": 2}}},
    "actuators": {"motor": {"joint": {"link": "cart"}}},
}


@pytest.fixture(scope="module")
def robots():
    named = {name: sorosim.load(name) for name in (CART, ARM, "soft_furuta", "cable_manipulator", "stewart_soft")}
    return named | {"mass": sorosim.load(MASS_ON_A_RAIL)}


def problem_for(robot, cost, n=8, dt=0.01, bounds=None, goal=None, **options):
    chosen = {"horizon": n * dt, "dt": dt}
    return problem_of(robot, chosen, cost, bounds, goal, options)[0]


def central(f, x, h=1e-6):
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(len(x))], axis=-1)


# -- steps


@pytest.mark.parametrize(("name", "substeps"), [(CART, 1), (CART, 3), ("soft_furuta", 2), ("cable_manipulator", 1)])
def test_derivatives_of_steps_match_differences(robots, rng, name, substeps):
    robot, n = robots[name], robots[name].ndof
    motion = DiscreteMotion(robot, 0.01, substeps=substeps)
    U = 3.0 + rng.uniform(size=(3, motion.n_inputs))
    X = motion.integrate(np.concatenate([0.02 * rng.normal(size=n), 0.1 * rng.normal(size=n)]), U.copy())
    A, B = motion.linearize(U)
    for k in range(3):
        A_fd = central(lambda x, k=k: motion.integrate(x, U[k : k + 1].copy())[1], X[k])
        B_fd = central(lambda u, k=k: motion.integrate(X[k], u[None].copy())[1], U[k])
        scale = 1.0 + np.abs(A_fd).max()
        assert np.abs(A[k] - A_fd).max() < BY_DIFFERENCES * scale
        assert np.abs(B[k] - B_fd).max() < BY_DIFFERENCES * scale


def test_first_step_is_that_of_a_stepper_with_its_derivatives(robots, rng):
    robot = robots[CART]
    motion = DiscreteMotion(robot, 0.01, substeps=2)
    x, u = 0.2 * rng.normal(size=8), np.array([5.0])
    end = motion.integrate(x, u[None].copy())[1]
    A, B = motion.linearize(u[None])
    stepper = sorosim.Stepper(robot, 0.01, substeps=2, tolerance=1e-11)
    stepper.reset(q=x[:4], qd=x[4:])
    state = stepper.step(u)
    # coordinates are exact to 1e-11, rates to that times gamma / (beta h) < 2.5 / h
    np.testing.assert_allclose(end, np.concatenate([state.q, state.qd]), rtol=0.0, atol=1e-11 * 2.5 / 0.005)
    for mine, other in zip((A[0], B[0]), stepper.linearize(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=1e-7 * (1.0 + np.abs(other).max()))


def test_steps_of_a_robot_with_loops_keep_them_closed_and_are_differentiated(robots, rng):
    robot = robots["stewart_soft"]
    motion = DiscreteMotion(robot, 0.005)
    eq = sorosim.statics(robot, np.full(6, 1.0))
    x, U = np.concatenate([eq.q, np.zeros(robot.ndof)]), np.full((2, 6), 1.5)
    X = motion.integrate(x, U.copy())
    assert max(gap.max() for q in X[:, : robot.ndof] for gap in map(np.abs, robot.engine.gaps(q).values())) < 1e-8
    _, B = motion.linearize(U)
    B_fd = central(lambda u: motion.integrate(X[0], np.array([u, U[1]]))[1], U[0], 1e-4)
    assert np.abs(B[0] - B_fd).max() < 1e-4 * np.abs(B_fd).max()


# -- costs


def reach(t):
    return [0.05 * np.sin(t), 0.02, -0.28]


COSTS = {
    "states": ({"goal": {"q": 1.0, "qd": {"upper.bending_y[0]": 0.1}}, "final": {"q": 10.0}, "effort": 0.1}, True),
    "smoothness": ({"final": {"q": 10.0}, "effort": 0.1, "smoothness": 0.01}, True),
    "position": ({"places": [{"place": ("lower", 0.5), "position": reach, "weight": 10.0, "final": 100.0}]}, False),
    "pose": ({"places": [{"place": "upper", "pose": np.eye(4), "weight": 5.0, "final": 7.0}]}, False),
    "obstacles": (
        {
            "final": {"q": 1.0},
            "obstacles": [
                {"places": ["upper", ("lower", 0.4)], "centre": [0.02, 0.0, -0.25], "radius": 0.1, "clearance": 0.1},
                {"places": ["upper"], "centre": [0.1, 0.0, -0.3], "size": [0.1, 0.1, 0.1], "clearance": 0.2},
            ],
        },
        True,
    ),
    "functions": (
        {
            "functions": [lambda t, q, qd, u: (q[:2] * u[0], u[0] * np.eye(20)[:2], np.zeros((2, 20)),
                                               np.outer(q[:2], np.eye(6)[0]))],
            "final_functions": [lambda t, q, qd: (np.sin(qd[:1]), np.zeros((1, 20)), np.cos(qd[0]) * np.eye(20)[:1])],
        },
        False,
    ),
}  # fmt: skip


def whole_gradient(problem, x0, U, h, before=None):
    """Gradient of the cost by the inputs, and that of central differences."""
    problem.begin(x0, 0.3, before)
    gradient = problem.gradient(problem.integrate(U.copy())[0], U)
    shape = U.shape
    return gradient, central(lambda u: problem.integrate(u.reshape(shape).copy())[1], U.ravel(), h).reshape(shape)


@pytest.mark.parametrize("name", COSTS)
def test_gradient_of_the_cost_matches_differences(robots, rng, name):
    robot, (cost, has_goal) = robots[ARM], COSTS[name]
    assert robot.ndof == 20
    problem = problem_for(robot, cost, 5, goal=0.1 * np.ones(20) if has_goal else None)
    x0 = np.concatenate([0.1 * rng.normal(size=20), 0.1 * rng.normal(size=20)])
    gradient, by_differences = whole_gradient(problem, x0, rng.uniform(1.0, 3.0, (5, 6)), 1e-4)
    assert np.abs(gradient).max(axis=1).min() > 0.0
    assert np.abs(gradient - by_differences).max() < 1e-6 * np.abs(gradient).max()


# link whose place counts, inputs between, dt, options of the steps
REGIMES = {
    "a fast swing": (CART, "pole", (-20.0, 20.0), 0.02, {"substeps": 3}),
    "slack and taut tendons": (ARM, "upper", (-1.0, 3.0), 0.01, {}),
    "a driven joint": ("soft_gripper", "three_tip", (1.0, 3.0), 0.01, {"driven": {"palm": "5 cm + 2 cm*sin(5*t)"}}),
    "loops": ("stewart_soft", "right3_rod", (1.0, 3.0), 0.01, {}),
    "chambers": ("pneumatic_bellow", "weight", (1e3, 3e3), 0.01, {}),
    "contact": ("jumping_lamp", "head", (0.1, 0.3), 0.01, {}),
    "implicit Euler": (ARM, "upper", (1.0, 3.0), 0.01, {"method": "euler"}),
}


# contacts have kernels of their own, which no other test here compiles
SLOW = {"contact"}


@pytest.mark.parametrize("regime", [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in REGIMES])
def test_gradient_of_all_terms_matches_differences_in_every_regime(robots, rng, regime):
    name, link, between, dt, options = REGIMES[regime]
    robot = robots.get(name) or sorosim.load(name)
    n, size = robot.ndof, max(map(abs, between))
    if name == CART:
        x0 = np.concatenate([[0.1, 0.5, 0.2, -0.1], 3.0 * rng.normal(size=4)])
    else:
        x0 = np.concatenate([sorosim.statics(robot).q, np.zeros(n)])
    p = robot.pose(x0[:n], link)[:3, 3]
    cost = {
        "goal": {"q": 1.0, "qd": 0.1}, "final": {"q": 10.0, "qd": 1.0}, "exact": True,
        "effort": 1e-2 / size**2, "smoothness": 1e-4 / size**2,
        "places": [
            {"place": link, "position": [f"{p[0] + 0.1}+0.1*sin(3*t)", p[1], p[2]], "weight": 10.0, "final": 100.0},
            {"place": link, "pose": np.eye(4), "weight": 5.0, "final": 7.0},
        ],
        "obstacles": [{"places": [link], "centre": p + np.array([0.01, 0.02, 0.0]), "radius": 0.05, "clearance": 0.1}],
    }  # fmt: skip
    U = rng.uniform(*between, (3, len(robot.actuator_names)))
    problem = problem_for(robot, cost, 3, dt, goal=x0[:n] + 0.1, **options)
    problem.terms.shift, problem.terms.final_scale = 0.1 * rng.normal(size=2 * n), 0.3  # as stages and multipliers do
    gradient, by_differences = whole_gradient(problem, x0, U, 1e-4 * size, before=0.5 * U[0])
    assert np.abs(gradient - by_differences).max() < 1e-6 * np.abs(gradient).max()


def test_expansion_of_a_cost_matches_differences_node_by_node(robots, rng):
    robot = robots[ARM]
    cost = {"exact": True, "places": COSTS["position"][0]["places"] + COSTS["pose"][0]["places"]}
    cost = COSTS["obstacles"][0] | COSTS["states"][0] | COSTS["functions"][0] | cost
    problem = problem_for(robot, cost, 2, goal=np.zeros(20))
    problem.begin(np.zeros(40), 0.0)
    X, U = 0.1 * rng.normal(size=(3, 40)), rng.uniform(1.0, 3.0, (2, 6))
    terms, times, references = problem.terms, problem.times, problem.references
    terms.shift, terms.final_scale = 0.1 * rng.normal(size=40), 0.3
    c = terms.expand(times, X, U, references)
    for k in range(3):
        scale = problem.terms.dt if k < 2 else terms.final_scale

        def moved(z, k=k):
            states, inputs = X.copy(), U.copy()
            states[k], inputs[k : k + 1] = z[:40], z[40:].reshape(-1, 6)
            return states, inputs

        def value(z):
            return terms.value(times, *moved(z), references)

        def residuals(z, k=k):
            return terms._residuals(k, times, *moved(z), references, False)[0]

        z = np.concatenate([X[k], *U[k : k + 1]])
        gradient = np.concatenate([c.x[k], *c.u[k : k + 1]])
        assert np.abs(gradient - central(value, z)).max() < 1e-6 * np.abs(gradient).max()
        # Gauss and Newton's Hessian: that of the residuals, and of weights of states and inputs
        rows, weights = central(residuals, z), (terms.final if k == 2 else terms.running, *terms.effort[None][: 2 - k])
        hessian = scale * (rows.T @ rows + np.diag(np.concatenate(weights)))
        own = hessian.copy()
        own[:40, :40] = c.xx[k]
        if k < 2:
            own[40:, :40], own[:40, 40:], own[40:, 40:] = c.ux[k], c.ux[k].T, c.uu[k]
        assert np.abs(own - hessian).max() < 1e-6 * np.abs(hessian).max()


def test_distance_from_obstacles_and_its_gradient(rng):
    ball = sorosim.Obstacle(["arm"], ["10 cm", 0, 0], radius="5 cm")
    box = sorosim.Obstacle(["arm"], [0, 0, 0], size=[0.2, 0.4, 0.6])
    assert ball.distance(np.array([0.3, 0.0, 0.0]))[0] == pytest.approx(0.15)
    assert box.distance(np.array([0.0, 0.15, 0.0]))[0] == pytest.approx(-0.05)
    assert box.distance(np.array([0.4, 0.6, 0.3]))[0] == pytest.approx(0.5)
    for obstacle in (ball, box):
        # beside faces, edges and corners, and inside
        for p in rng.uniform(-1.0, 1.0, (60, 3)) * [0.2, 0.4, 0.6]:
            slope = central(lambda x, o=obstacle: o.distance(x)[0], p)
            np.testing.assert_allclose(obstacle.distance(p)[1], slope, rtol=0.0, atol=1e-8)


# -- solutions that are known


def exact_gains(A, B, cost):
    P, K = cost.xx[-1], []
    for k in reversed(range(len(A))):
        H = cost.uu[k] + B[k].T @ P @ B[k]
        K.append(-np.linalg.solve(H, B[k].T @ P @ A[k]))
        P = cost.xx[k] + A[k].T @ P @ (A[k] + B[k] @ K[-1])
    return np.array(K[::-1]), P


def test_linear_quadratic_problem_has_the_solution_of_the_riccati_equation(robots):
    robot, cost = robots["mass"], {"goal": {"q": 1.0, "qd": 0.1}, "final": {"q": 50.0, "qd": 5.0}, "effort": 1e-2}
    oc = sorosim.optimal_control(robot, 1.0, 0.05, cost, goal=[0.0], q0=[1.0], tolerance=1e-12)
    problem = problem_for(robot, cost, 20, 0.05, goal=[0.0])
    problem.begin(np.array([1.0, 0.0]), 0.0)
    X, _ = problem.integrate(np.zeros((20, 1)))
    A, B, c = problem.expand(X, np.zeros((20, 1)))
    K, P = exact_gains(A, B, c)
    x, U = np.array([1.0, 0.0]), []
    for k in range(20):
        U.append(K[k] @ x)
        x = A[k] @ x + B[k] @ U[-1]
    np.testing.assert_allclose(oc.u, U, rtol=0.0, atol=1e-6 * np.abs(U).max())
    np.testing.assert_allclose(oc.gains.K, K, rtol=0.0, atol=1e-6 * np.abs(K).max())
    assert oc.cost == pytest.approx(0.5 * P[0, 0], rel=1e-8)
    assert oc.converged


def test_regulator_solves_the_algebraic_riccati_equation(robots):
    problem = problem_for(robots[CART], {"final": {"q": 10.0, "qd": 1.0}}, bounds=(-20, 20), goal=UPRIGHT)
    goal = problem.terms.goal
    (K, u), words = regulator(problem, goal)
    assert words == ""
    assert np.abs(u).max() < 1e-9
    problem.motion.integrate(goal, np.zeros((1, 1)))
    A, B = (one[0] for one in problem.motion.linearize(np.zeros((1, 1))))
    assert np.abs(np.linalg.eigvals(A)).max() > 1.0
    assert np.abs(np.linalg.eigvals(A + B @ K)).max() < 1.0
    P = solve_discrete_are(A, B, np.diag(problem.terms.final / 10.0), np.eye(1) / 400.0)
    np.testing.assert_allclose((np.eye(1) / 400.0 + B.T @ P @ B) @ K, -B.T @ P @ A, rtol=1e-8)


def test_shortest_time_like_problem_uses_its_bounds_and_keeps_them(robots):
    oc = sorosim.optimal_control(
        robots["mass"], 2.0, 0.05, {"final": {"q": 1e4, "qd": 1e4}, "effort": 1e-3}, {"motor": ("-1.1 N", 1.0)},
        goal=[0.5], tolerance=1e-9,
    )  # fmt: skip
    # 2 kg by 0.5 m in 2 s at 1 N and -1 N: the ends of the bounds, nearly
    assert oc.u.min() >= -1.1
    assert oc.u.max() <= 1.0
    assert (oc.u > 1.0 - 1e-9).sum() >= 10
    assert abs(oc.q[-1, 0] - 0.5) < 1e-2


def test_several_inputs_keep_their_bounds_under_feedback(robots, rng):
    robot = robots[ARM]
    bounds = {name: (0.1 * k, 1.0 + k) for k, name in enumerate(robot.actuator_names)}
    problem = problem_for(robot, {"final": {"q": 1.0}}, n=4, bounds=bounds, goal=np.zeros(robot.ndof))
    U = problem.bounds.mean(axis=0) + 0.1 * rng.normal(size=(4, robot.engine.n_actuators))
    X, cost = problem.integrate(U.copy())
    gain = rng.normal(size=(4, robot.engine.n_actuators, X.shape[1]))
    states = problem.states(X, U)
    # along its own motion feedback changes nothing, and what it asks for beyond the bounds stops there
    same = U.copy()
    assert problem.integrate(same, Feedback(gain, states, problem.bounds))[1] == cost
    np.testing.assert_array_equal(same, U)
    beyond = U + 100.0 * rng.choice([-1.0, 1.0], size=U.shape)
    asked = beyond.copy()
    problem.integrate(beyond, Feedback(np.zeros_like(gain), states, problem.bounds))
    np.testing.assert_array_equal(beyond, np.clip(asked, *problem.bounds))


def test_box_newton_meets_the_conditions_of_optimality(rng):
    for _ in range(50):
        M = rng.normal(size=(4, 4))
        H, g, by_x = M @ M.T + 0.1 * np.eye(4), rng.normal(size=4), rng.normal(size=(4, 3))
        low, high = -rng.uniform(0.0, 1.0, 4), rng.uniform(0.0, 1.0, 4)
        d, K = box_newton(H, g, by_x, low, high)
        slope = g + H @ d
        free = (d > low) & (d < high)
        assert np.abs(slope[free]).max(initial=0.0) < 1e-9
        assert (slope[d == low] > -1e-9).all()
        assert (slope[d == high] < 1e-9).all()
        assert not K[~free].any()
        np.testing.assert_allclose(d, quadratic_program(H, g, low, high), atol=1e-9)
    assert box_newton(-np.eye(2), np.ones(2), np.zeros((2, 1)), -np.ones(2), np.ones(2)) is None


def test_exact_goals_are_met(robots):
    cost = Cost(exact=True, effort=1.0)
    oc = sorosim.optimal_control(robots["mass"], 1.0, 0.05, cost, goal={"cart": "20 cm"})
    assert oc.converged
    assert oc.miss < 1e-6
    # the least effort of a double integrator is linear in time, -12 m x (t - T/2) / T^3
    t = np.arange(20) * 0.05 + 0.025
    np.testing.assert_allclose(oc.u[:, 0], -12.0 * 2.0 * 0.2 * (t - 0.5), rtol=0.0, atol=0.02 * 2.4)


# -- solvers


@pytest.mark.parametrize("solver", ["l-bfgs-b", "fddp"])
def test_solvers_find_the_same_motion(robots, solver):
    if solver == "fddp":
        pytest.importorskip("crocoddyl")
    cost = {"final": {"q": 10.0, "qd": 1.0}, "goal": {"q": 1.0}, "effort": 1e-3, "smoothness": 1e-7}
    start, bounds = [0.0, np.pi - 0.2, 0.0, 0.0], (-4, 4)

    def found(name):
        return sorosim.optimal_control(
            robots[CART], 0.8, 0.02, cost, bounds, q0=start, goal=UPRIGHT, solver=name, tolerance=1e-9, iterations=3000
        )

    own, other = found("ddp"), found(solver)
    assert (np.abs(own.u) > 4.0 - 1e-9).any()
    assert other.cost == pytest.approx(own.cost, rel=1e-4)
    # the cost is flat about its least value: inputs agree to about the root
    assert np.abs(own.u - other.u).max() < 0.1


def test_every_solver_is_an_option():
    from sorosim.base.options import SOLVERS as declared

    assert tuple(SOLVERS) == declared


@pytest.mark.parametrize("most", [1, 3, 10])
def test_iterations_are_no_more_than_asked_for(robots, most):
    for solver in ("ddp", "l-bfgs-b"):
        oc = sorosim.optimal_control(robots[CART], 0.4, 0.02, GOOD, goal=UPRIGHT, iterations=most, solver=solver)
        assert oc.iterations <= most
        assert not oc.converged
        assert oc.message == "not converged"


def test_trials_that_fail_are_left_and_said(robots, monkeypatch):
    problem = problem_for(robots["mass"], {"final": {"q": 1.0}}, dt=0.1, goal=[1.0])
    U = np.zeros((8, 1))
    rolled = problem.integrate(U)
    monkeypatch.setattr(problem.motion, "integrate", lambda *_: None)
    found = ddp(problem, U, 100, 1e-9, rolled)
    assert not found.converged
    assert "more substeps" in found.message


# -- feedback


def test_gains_hold_a_swing_up_in_an_independent_simulation(robots):
    robot = robots[CART]
    cost = {"goal": {"q": 0.1, "qd": 0.1}, "final": {"q": 100.0, "qd": 10.0}, "effort": 1e-4}
    oc = sorosim.optimal_control(robot, 0.8, 0.02, cost, (-50, 50), q0=[0, np.pi - 0.3, 0, 0], goal=UPRIGHT)
    assert oc.gains.message == ""
    run = sorosim.simulate(robot, 4.0, controller=oc.gains, dt_control=oc.dt, q0=oc.q[0], rtol=1e-6, atol=1e-8)
    error = np.abs(np.hstack([run.q, run.qd]) - oc.gains.goal)
    after = run.t > 0.8
    assert error[after].max() < 0.2
    assert error[-1].max() < 1e-2
    # without feedback it falls
    held = sorosim.rollout(robot, np.vstack([oc.u, np.zeros((160, 1))]), oc.dt, q0=oc.q[0])
    assert abs(held.q[-1, 1] - np.pi) > 0.5


def test_where_a_goal_cannot_be_held_the_gains_say_why(robots):
    tilted = sorosim.optimal_control(robots[CART], 0.1, 0.02, {"final": {"q": 1.0}}, goal={"pole": 2.0})
    assert tilted.gains.hold is None
    assert "no inputs" in tilted.gains.message
    weak = sorosim.optimal_control(
        robots["cable_manipulator"], 0.1, 0.02, {"final": {"q": 1.0}}, {"cable1": (0, 1e-3)},
        goal=sorosim.statics(robots["cable_manipulator"], {"cable1": 5.0}),
    )  # fmt: skip
    assert "bounds" in weak.gains.message
    assert np.isfinite(weak.gains(10.0, weak.q[-1], weak.qd[-1])).all()
    with pytest.raises(InputError, match="Gains: expected a state of 8 numbers"):
        tilted.gains(0.0, weak.q[-1], weak.qd[-1])


# motor's bound, link that is to stand, substeps
SWING_UPS = {CART: (200.0, "pole", 2), "soft_furuta": (80.0, "pendulum", 4), "soft_pendubot": (10.0, "upper", 3)}


@pytest.mark.slow
@pytest.mark.parametrize("name", SWING_UPS)
def test_robots_swing_up_and_are_held(name):
    bound, link, substeps = SWING_UPS[name]
    robot = sorosim.load(name)
    cost = {"goal": {"q": 1e-3, "qd": 1e-3}, "final": {"q": 1000, "qd": 100}, "effort": 1.0 / bound**2}
    oc = sorosim.optimal_control(robot, 3, "20 ms", cost, (-bound, bound), goal={link: "180 deg"}, substeps=substeps)
    assert oc.converged
    assert oc.miss < 1e-2
    assert np.abs(oc.u).max() <= bound
    run = sorosim.simulate(robot, 5, controller=oc.gains, dt_control=oc.dt, q0=oc.q[0], rtol=1e-6, atol=1e-8)
    error = np.abs(np.hstack([run.q, run.qd]) - oc.gains.goal)
    assert error[run.t > 3.0].max() < 0.1
    assert error[-1].max() < 1e-2
    assert np.abs(run.u).max() <= bound


def test_results_are_saved_opened_and_drawn(robots, tmp_path):
    oc = sorosim.optimal_control(robots[CART], 0.2, 0.02, GOOD, (-50, 50), q0=[0, 3.0, 0, 0], goal=UPRIGHT)
    oc.save(tmp_path / "oc.h5")
    again = sorosim.open(tmp_path / "oc.h5")
    for name in ("t", "q", "qd", "u", "cost", "message", "miss"):
        np.testing.assert_array_equal(getattr(again, name), getattr(oc, name))
    for t in (0.1, 3.5):
        np.testing.assert_array_equal(again.gains(t, oc.q[3], oc.qd[3]), oc.gains(t, oc.q[3], oc.qd[3]))
    assert again.run.message == oc.run.message
    assert len(oc.plot(tmp_path / "oc.png").axes) == 3
    assert (tmp_path / "oc.png").stat().st_size > 10_000
    assert "OptimalMotion" in repr(oc)
    assert oc._repr_html_()
    assert "by linear feedback" in oc.summary()


def test_damaged_files_are_said(robots, tmp_path):
    from sorosim.files.hdf5 import read_hdf5, write_hdf5

    oc = sorosim.optimal_control(robots["mass"], 0.2, 0.1, GOOD, goal=[0.0])
    oc.save(tmp_path / "oc.h5")
    stored = read_hdf5(tmp_path / "oc.h5")
    del stored["gains"]["K"]
    write_hdf5(stored, stored.pop("kind"), tmp_path / "bad.h5")
    with pytest.raises(sorosim.FileError, match="damaged"):
        sorosim.open(tmp_path / "bad.h5")


# -- bad input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"horizon": "10 kg"}, "horizon: expected a time"),
        ({"horizon": 0.055}, "horizon: expected a multiple of dt"),
        ({"dt": 0.2}, "horizon: expected a multiple of dt"),
        ({"horizon": 1e6}, "horizon: expected at most 7812500 steps"),
        ({"dt": float("nan")}, "dt: expected"),
        ({"cost": {}}, "cost: expected something to reach"),
        ({"cost": {"finale": {"q": 1}}}, "cost.*expected a known key"),
        ({"cost": {"final": {"q": {"poel": 1.0}}}}, "cost.final.q: expected.*did you mean"),
        ({"cost": {"final": {"q": [1.0, 2.0]}}}, "cost.final.q: expected 4 weights, got 2"),
        ({"cost": {"final": {"q": -1.0}}}, "cost.final.q: expected"),
        ({"cost": {"final": {"q": 1.0}, "effort": {"moter": 1}}}, "cost.effort: expected the name of an actuator"),
        ({"cost": {"places": [{"place": "pole", "final": 1.0}]}}, r"cost.places\[0\].*a position or a pose"),
        ({"cost": {"places": [{"place": "pole", "position": [0, 0, 1]}]}}, r"cost.places\[0\].*a weight"),
        ({"cost": {"places": [{"place": "pol", "position": [0, 0, 1], "final": 1}]}}, "cost.places: expected a link"),
        ({"cost": {"places": [{"place": "pole", "position": [0, 1], "final": 1}]}}, "position: expected a list of 3"),
        ({"cost": {"places": [{"place": "pole", "position": np.zeros((3, 3)), "final": 1}]}}, "11 rows"),
        ({"cost": {"places": [{"place": "pole", "pose": np.eye(3), "final": 1}]}}, "pose: expected an array"),
        ({"cost": GOOD | {"obstacles": [{"places": ["pole"], "centre": [0, 0, 0]}]}}, "obstacles.*a radius"),
        ({"cost": {"places": [{"place": "pole", "pose": 2 * np.eye(4), "final": 1}]}}, "pose: expected a rotation"),
        (
            {"cost": {"places": [{"place": "pole", "pose": lambda t: np.ones((4, 4)), "final": 1}]}},
            "pose.0.: expected a r",
        ),
        (
            {"cost": {"places": [{"place": "pole", "position": lambda t: 1 / 0, "final": 1}]}},
            "position: .*ZeroDivision",
        ),
        ({"cost": {"functions": [1]}}, "functions: expected a function"),
        (
            {"cost": {"functions": [lambda t, q: q]}},
            r"functions\[0\]: expected a function without errors, got TypeError",
        ),
        ({"cost": {"functions": [lambda t, q, qd, u: "abcd"]}}, r"functions\[0\]: expected 4 arrays"),
        ({"cost": {"functions": [lambda t, q, qd, u: ("a", q, q, u)]}}, r"functions\[0\]: expected arrays of numbers"),
        ({"cost": {"functions": [lambda t, q, qd, u: 1.0]}}, r"functions\[0\]: expected 4 arrays"),
        ({"cost": {"functions": [lambda t, q, qd, u: (q, q, q, q)]}}, r"functions\[0\]: expected derivatives"),
        ({"goal": None}, "goal: expected coordinates"),
        ({"goal": {"poel": 1.0}}, "goal.*poel"),
        ({"goal": [1.0]}, "goal: expected 4 numbers"),
        ({"goal": [np.nan] * 4}, "goal: expected finite numbers"),
        ({"u_bounds": (1, -1)}, "u_bounds.motor: expected a low bound"),
        ({"u_bounds": {"motr": (0, 1)}}, "u_bounds: expected the name of an actuator.*motor"),
        ({"u_bounds": {"motor": 3}}, "u_bounds.motor: expected a pair"),
        ({"u_bounds": {"motor": ("1 m", None)}}, "u_bounds.motor.low: expected"),
        ({"q0": [1.0]}, "q0: expected 4 numbers"),
        ({"u0": np.zeros((3, 1))}, "u0: expected an array"),
        ({"u0": np.full((10, 1), np.nan)}, "u0.*finite"),
        ({"u0": {"motor": "3 kg"}}, "u0.motor"),
        ({"solver": "sqp"}, "solver: expected ddp"),
        ({"iterations": 0}, "iterations: expected"),
        ({"substeps": 0}, "substeps: expected"),
        ({"substep": 2}, "substep: expected a known argument, got an unknown one; did you mean substeps?"),
    ],
)
def test_bad_input_is_one_error(robots, change, words):
    arguments = {"horizon": 0.1, "dt": 0.01, "cost": GOOD, "goal": UPRIGHT} | change
    with pytest.raises(sorosim.SorosimError, match=words):
        sorosim.optimal_control(robots[CART], **arguments)


def test_robots_without_actuators_and_motions_without_a_step_are_refused(robots):
    with pytest.raises(InputError, match="one with actuators"):
        sorosim.optimal_control(sorosim.load("pendulum"), 0.1, 0.01, GOOD, goal=[0.0])
    with pytest.raises(ConvergenceError, match="first guess"):
        sorosim.optimal_control(robots["soft_furuta"], 1, 0.1, GOOD, goal=[0, 0, 0, 0], u0=np.full((10, 1), 1e4))


def test_steps_that_forces_do_not_lead_to_are_refused_with_advice_that_helps():
    """They are not cut, since a plan has its inputs' times; more substeps are what its error says."""
    robot, cost = flail(), {"final": {"q": 1.0}, "effort": 1.0}
    words = r"a step of the first guess of 'flail' at t = .* faster than forces make it.* more substeps than 1"
    with pytest.raises(ConvergenceError, match=words):
        sorosim.optimal_control(robot, 0.8, "20 ms", cost, goal=np.zeros(6), iterations=1)
    found = sorosim.optimal_control(robot, 0.8, "20 ms", cost, goal=np.zeros(6), iterations=1, substeps=10)
    assert np.isfinite(found.q).all()
