"""The equilibrium solver on small problems: hybr, load continuation, folds, singular and undefined residuals."""

import numpy as np
import pytest

from sorosim.analysis.solvers.equilibrium import solve_equilibrium
from sorosim.analysis.solvers.newton import StaticProblem


def affine(both, x_unloaded, analytic=True):
    """A problem from residual and Jacobian that are affine in the load, as far as they are defined."""

    def along_load(x, load):
        return *both(x, load), 2.0 * (both(x, 0.5)[0] - both(x, 0.0)[0])

    return StaticProblem(lambda x, load: both(x, load)[0], both, along_load, x_unloaded, analytic)


def problem(residual, jacobian, analytic=True):
    """A problem in one unknown from scalar functions of x and load, affine in the latter."""

    def both(x, load):
        return np.array([residual(x[0], load)]), np.array([[jacobian(x[0], load)]])

    return affine(both, np.zeros(1), analytic)


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

    found = solve_equilibrium(affine(both, np.zeros(2)), np.zeros(2))
    assert found.success
    assert "the tangent stiffness is singular" in found.message
    assert found.x[0] == pytest.approx(1.0, abs=1e-12)


def test_nothing_to_solve_is_solved():
    empty = affine(lambda x, load: (x, np.zeros((0, 0))), np.zeros(0))
    found = solve_equilibrium(empty, np.zeros(0))
    assert found.success
    assert found.x.shape == (0,)


ARCH = float(np.roots([1.0, -1.5, 0.6, -0.3])[0].real)


@pytest.mark.parametrize("start", [0.4, 0.6, 0.7])
def test_continuation_passes_folds_and_says_where_the_first_one_is(start):
    # a shallow arch: its force rises to 0.0724 at x = 0.2764, falls to 0.0276 at 0.7236, and rises again
    def residual(x, p):
        return x**3 - 1.5 * x**2 + 0.6 * x - 0.3 * p

    found = solve_equilibrium(problem(residual, lambda x, p: 3 * x**2 - 3 * x + 0.6), np.array([start]))
    assert found.success
    assert found.x[0] == pytest.approx(ARCH, abs=1e-12)
    assert abs(residual(found.x[0], 1.0)) < 1e-14
    assert "hybr failed" in found.message  # the residual's size has a hollow at the second fold
    assert found.message.endswith("past 2 folds, the first at 24.12 % of it")
    x = (3 - np.sqrt(9 - 7.2)) / 6
    assert residual(x, 0.2412) == pytest.approx(0.0, abs=2e-5)


def test_continuation_passes_folds_of_many_unknowns():
    # the arch above among others with scales from 1e-3 to 1e3, and mixed
    rng = np.random.default_rng(5)
    Q, scale = np.linalg.qr(rng.normal(size=(6, 6)))[0], 10.0 ** np.arange(-3, 3)

    def both(x, load):
        y = (Q.T @ x) / scale
        r, slope = y + y**3 - load, 1.0 + 3.0 * y**2
        r[2], slope[2] = y[2] ** 3 - 1.5 * y[2] ** 2 + 0.6 * y[2] - 0.3 * load, 3 * y[2] ** 2 - 3 * y[2] + 0.6
        return Q @ (scale * r), Q @ np.diag(slope) @ Q.T

    found = solve_equilibrium(affine(both, np.zeros(6)), np.zeros(6))
    assert found.success
    root = 0.6823278038280193  # y + y^3 = 1
    expected = np.array([root, root, ARCH, root, root, root])
    assert (Q.T @ found.x) / scale == pytest.approx(expected, abs=1e-9)  # digits of the smallest beside the largest


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
    # steps have a smallest size of 1e-6
    assert stopped == pytest.approx(60.0, abs=1e-3)
    assert found.x[0] == pytest.approx(stopped / 100.0, abs=1e-5)


def test_evaluations_are_counted():
    calls = {"r": 0, "J": 0}

    def residual(x, load):
        calls["r"] += 1
        return x + x**3 - load

    def jacobian(x, load):
        calls["J"] += 1
        return x + x**3 - load, np.diag(1 + 3 * x**2)

    def along_load(x, load):
        return *jacobian(x, load), -np.ones(3)

    found = solve_equilibrium(StaticProblem(residual, jacobian, along_load, np.zeros(3)), np.ones(3))
    assert (found.n_residual, found.n_jacobian) == (calls["r"], calls["J"])
