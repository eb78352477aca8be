"""The equilibrium solver on small problems: hybr, load continuation, folds, singular and undefined residuals."""

import numpy as np
import pytest

from sorosim.solvers.equilibrium import StaticProblem, solve_equilibrium


def problem(residual, jacobian, x_unloaded=0.0, analytic=True):
    """A problem in one unknown from scalar functions of x and load."""

    def both(x, load):
        return np.array([residual(x[0], load)]), np.array([[jacobian(x[0], load)]])

    return StaticProblem(lambda x, load: both(x, load)[0], both, np.array([x_unloaded]), analytic)


def test_smooth_problem_is_solved_to_rounding_by_hybr():
    found = solve_equilibrium(problem(lambda x, p: x + x**3 - 10 * p, lambda x, p: 1 + 3 * x**2), np.zeros(1))
    assert found.success
    assert found.message == "hybr converged"
    assert found.x[0] == pytest.approx(2.0, abs=1e-14)
    assert found.n_residual > 0
    assert found.n_jacobian > 0
    assert found.jacobian[0, 0] == pytest.approx(13.0, abs=1e-12)


def test_differences_find_the_same_solution():
    found = solve_equilibrium(
        problem(lambda x, p: x + x**3 - 10 * p, lambda x, p: 1 + 3 * x**2, analytic=False), np.zeros(1)
    )
    assert found.x[0] == pytest.approx(2.0, abs=1e-14)


def test_where_hybr_fails_the_load_is_raised_in_steps():
    # a spring whose force fades: at x = 800 it is exactly zero, and there is no slope to follow
    def residual(x, p):
        return np.e * x * np.exp(-x) - 0.9 * p

    def slope(x, p):
        return np.e * (1 - x) * np.exp(-x)

    found = solve_equilibrium(problem(residual, slope), np.array([800.0]))
    assert found.success
    assert "hybr failed" in found.message
    assert "load continuation from the unloaded state reached the full load in" in found.message
    assert abs(residual(found.x[0], 1.0)) < 1e-14


def test_beyond_a_fold_there_is_nothing_and_the_message_says_at_which_load():
    # x - x^3 = 0.5 p has its fold at x = 1/sqrt(3), load 2/(3 sqrt(3))/0.5 = 0.77; the branch beyond is cut off
    def residual(x, p):
        return x - x**3 - 0.5 * p if x > -0.9 else np.nan

    found = solve_equilibrium(problem(residual, lambda x, p: 1 - 3 * x**2), np.zeros(1))
    assert not found.success
    stopped = float(found.message.split("stopped at ")[1].split(" %")[0])
    assert stopped == pytest.approx(100 * 2 / (3 * np.sqrt(3)) / 0.5, abs=0.1)
    # what it hands over is the last equilibrium it had
    assert residual(found.x[0], stopped / 100) == pytest.approx(0.0, abs=1e-4)


def test_a_residual_that_is_never_defined_ends_in_a_message():
    found = solve_equilibrium(problem(lambda x, p: np.nan, lambda x, p: np.nan), np.zeros(1))
    assert not found.success
    assert found.message


def test_a_free_motion_is_named():
    # two unknowns, one of which nothing holds
    def both(x, load):
        return np.array([x[0] - load, 0.0]), np.array([[1.0, 0.0], [0.0, 0.0]])

    found = solve_equilibrium(StaticProblem(lambda x, load: both(x, load)[0], both, np.zeros(2)), np.zeros(2))
    assert found.success
    assert "the tangent stiffness is singular" in found.message
    assert found.x[0] == pytest.approx(1.0, abs=1e-12)


def test_nothing_to_solve_is_solved():
    empty = StaticProblem(lambda x, load: x, lambda x, load: (x, np.zeros((0, 0))), np.zeros(0))
    found = solve_equilibrium(empty, np.zeros(0))
    assert found.success
    assert found.x.shape == (0,)


def test_beyond_a_fold_the_solver_snaps_to_another_equilibrium_and_says_so():
    # a shallow arch: x^3 - 1.5 x^2 + 0.6 x = 0.3 p rises, falls from x = 0.28 on and rises again from 0.72
    def residual(x, p):
        return x**3 - 1.5 * x**2 + 0.6 * x - 0.3 * p

    def slope(x, p):
        return 3 * x**2 - 3 * x + 0.6

    # hybr from 0.4 runs into the hollow of the curve; from the fold it finds the far branch
    found = solve_equilibrium(problem(residual, slope), np.array([0.4]))
    assert found.success
    assert abs(residual(found.x[0], 1.0)) < 1e-14
    assert found.x[0] > 0.72
    if "hybr failed" in found.message:
        assert "of the load after" in found.message
        assert found.message.endswith("from there hybr found another equilibrium")


def test_last_point_of_continuation_is_where_hybr_starts_again():
    # two unknowns; the first has a fold at load 0.5 and, by a wall at x < -1, no solution that hybr could reach from 40
    def both(x, load):
        a, b = x
        r = np.array([np.tanh(a) ** 2 * np.sign(a) - 0.3 * load + 0.0 * b, b - load])
        J = np.array([[2 * np.tanh(a) * np.sign(a) / np.cosh(a) ** 2, 0.0], [0.0, 1.0]])
        return r, J

    found = solve_equilibrium(StaticProblem(lambda x, load: both(x, load)[0], both, np.zeros(2)), np.array([40.0, 0.0]))
    assert found.success
    assert found.x == pytest.approx([np.arctanh(np.sqrt(0.3)), 1.0], abs=1e-12)


def test_singular_jacobian_at_the_solution_is_accepted_only_with_a_residual_of_rounding_size():
    # x^2 = 0 has a double root: Newton creeps towards it, and x^2 + 1e-3 = 0 has none
    double = solve_equilibrium(problem(lambda x, p: x**2, lambda x, p: 2 * x), np.array([1.0]))
    assert double.success
    assert abs(double.x[0]) < 1e-6
    none = solve_equilibrium(problem(lambda x, p: x**2 + 1e-3, lambda x, p: 2 * x), np.array([1.0]))
    assert not none.success


def test_residual_that_is_undefined_beyond_a_load_stops_there():
    found = solve_equilibrium(
        problem(lambda x, p: x - p if p <= 0.6 else np.nan, lambda x, p: 1.0 if p <= 0.6 else np.nan), np.zeros(1)
    )
    assert not found.success
    stopped = float(found.message.split("stopped at ")[1].split(" %")[0])
    assert stopped == pytest.approx(60.0, abs=0.02)  # the smallest step is 1e-4 of the load
    assert found.x[0] == pytest.approx(stopped / 100.0, abs=1e-6)


def test_evaluations_are_counted():
    calls = {"r": 0, "J": 0}

    def residual(x, load):
        calls["r"] += 1
        return x + x**3 - load

    def jacobian(x, load):
        calls["J"] += 1
        return x + x**3 - load, np.diag(1 + 3 * x**2)

    found = solve_equilibrium(StaticProblem(residual, jacobian, np.zeros(3)), np.ones(3))
    assert (found.n_residual, found.n_jacobian) == (calls["r"], calls["J"])
