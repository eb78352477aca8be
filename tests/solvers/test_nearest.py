"""The nearest solution of equations: against closed forms, on saddles, with dependent and with impossible equations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import sorosim
from sorosim.analysis.equations.system import elastic_weight
from sorosim.analysis.equilibria.assembly import CLOSED, _Closing
from sorosim.analysis.solvers.nearest import Nearest, Point, _Along


def circle(z):
    return np.array([z @ z - 4.0]), 2.0 * z[None]


def test_the_nearest_point_of_a_sphere_is_on_the_ray():
    centre = np.array([1.0, 2.0, -2.0])
    found = Nearest(circle, centre, 1e-12).run(np.zeros(3))
    assert_allclose(found.z, 2.0 * centre / 3.0, atol=1e-8)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("stiffness", [5.0, 500.0])
def test_a_strut_buckles_to_the_side_to_which_it_is_pulled(stiffness, side):
    """x + k y^2 = 1: straight, y = 0, is a saddle of x^2 + y^2 for k > 1/2; the minima have x = 1/(2 k)."""

    def strut(z):
        return np.array([z[0] + stiffness * z[1] ** 2 - 1.0]), np.array([[1.0, 2.0 * stiffness * z[1]]])

    search = Nearest(strut, np.zeros(2), 1e-12)
    found = search.run(np.array([0.0, side]))
    x = 0.5 / stiffness
    assert_allclose(np.abs(found.z), [x, np.sqrt((1.0 - x) / stiffness)], rtol=1e-7)
    straight = search.at(np.array([1.0, 0.0]))
    assert_allclose(search.falling(straight, np.array([0.0, side])), [0.0, side], atol=1e-6)
    assert search.falling(found, np.array([0.0, side])) is None


def test_equations_that_depend_on_each_other_change_nothing():
    def twice(z):
        e, X = circle(z)
        return np.concatenate([e, 3.0 * e]), np.vstack([X, 3.0 * X])

    centre = np.array([0.3, -0.4])
    assert_allclose(Nearest(twice, centre, 1e-12).run(np.zeros(2)).z, [1.2, -1.6], atol=1e-8)


def test_equations_that_cannot_hold_are_met_as_nearly_as_can_be():
    def apart(z):  # two sheets that do not meet
        return np.array([z[0] - z[1] ** 2 - 1.0, z[0] + 1.0]), np.array([[1.0, -2.0 * z[1]], [1.0, 0.0]])

    search = Nearest(apart, np.array([0.5, 0.5]), 1e-12)
    found = search.run(np.zeros(2))
    assert not search.is_solution(found)
    # at y = 0 the two rows ask for x = 1 and x = -1; of a sum of squares that is flat as y^4 there is little slope left
    assert_allclose(np.linalg.norm(found.e), np.sqrt(2.0), rtol=1e-3)


def test_what_cannot_be_computed_is_not_entered(rng):
    def walled(z):
        return np.array([np.log(z[0]) + z[1]]), np.array([[1.0 / z[0], 1.0]])

    with np.errstate(all="ignore"):
        found = Nearest(walled, np.array([3.0, 0.5]), 1e-12).run(np.zeros(2))
    assert found.is_finite
    same = minimize(lambda z: np.sum((z - [3.0, 0.5]) ** 2), [1.0, 0.0], method="SLSQP", options={"ftol": 1e-14},
                    constraints={"type": "eq", "fun": lambda z: np.log(z[0]) + z[1]})  # fmt: skip
    assert_allclose(found.z, same.x, atol=1e-5)


def test_curvatures_along_solutions_are_those_of_the_second_derivatives(rng):
    """Of quadratic equations the second derivatives are constants."""
    n, m = 5, 2
    quadratic = rng.normal(size=(m, n, n))
    quadratic += np.swapaxes(quadratic, 1, 2)
    linear, z = rng.normal(size=(m, n)), rng.normal(size=n)

    def equations(x):
        d = x - z
        return linear @ d + 0.5 * np.einsum("ijk,j,k->i", quadratic, d, d), linear + quadratic @ d

    p = Point(z, *equations(z))
    along = _Along(Nearest(equations, np.zeros(n), 1e-12), p)
    multiplier = np.linalg.lstsq(p.X.T, -z, rcond=None)[0]
    v = along.project(rng.normal(size=n))
    v /= np.linalg.norm(v)
    H = np.eye(n) + np.einsum("i,ijk->jk", multiplier, quadratic)
    assert_allclose(along.curve(v), along.project(H @ v), atol=1e-7)


def test_a_minimum_along_whose_solutions_all_curvatures_are_nearly_alike_is_no_saddle(rng):
    """Of a fin ray's loops they are 0.98 to 1.1, so each vector of Lanczos is a hundredth of the one before."""
    robot = sorosim.load("fin_ray")
    driven = robot.coordinate_names.index("right1.prismatic")
    q, free = robot.initial_q, np.delete(np.arange(robot.ndof), driven)
    q[driven] = 1e-2
    closing = _Closing(robot, q, free, elastic_weight(robot, q, free, softest=True))
    search = Nearest(closing.scaled, np.zeros(len(free)), CLOSED)
    p = search.slide(search.newton(search.at(np.zeros(len(free)))))
    along = _Along(search, p)
    Z = np.linalg.svd(along.V)[2][len(along.V) :]
    H = np.array([Z @ along.curve(z) for z in Z])
    assert np.linalg.eigvalsh(0.5 * (H + H.T))[0] > 0.9
    assert search.falling(p, rng.normal(size=len(free))) is None


def least_distance(errors, derivative, centre, starts):
    """Of Sequential Least Squares Programming from several starts: a second algorithm."""
    best = np.inf
    constraint = {"type": "eq", "fun": errors, "jac": derivative}
    for start in starts:
        found = minimize(
            lambda z: np.sum((z - centre) ** 2), start, jac=lambda z: 2.0 * (z - centre), method="SLSQP",
            constraints=constraint, options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        if np.abs(errors(found.x)).max() < 1e-8:
            best = min(best, float(np.sqrt(found.fun)))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_random_quadratic_equations_are_met_at_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    n, m = 6, 2
    Q = 0.5 * rng.normal(size=(m, n, n))
    Q += np.swapaxes(Q, 1, 2)
    A, b = rng.normal(size=(m, n)), rng.normal(size=m)

    def errors(z):
        return b + A @ z + 0.5 * np.einsum("ijk,j,k->i", Q, z, z)

    centre = 0.1 * rng.normal(size=n)
    search = Nearest(lambda z: (errors(z), A + Q @ z), centre, 1e-12)
    found = search.run(rng.normal(size=n))
    assert search.is_solution(found)
    best = least_distance(errors, lambda z: A + Q @ z, centre, centre + rng.normal(size=(20, n)))
    assert search.distance(found) == pytest.approx(best, rel=1e-5)


HINGE = {"revolute": {"axis": [0, 1, 0]}}


@pytest.mark.parametrize("seed", range(6))
def test_a_chain_closes_by_the_least_that_its_hinges_turn(seed):
    rng = np.random.default_rng(seed)
    names = [f"l{k}" for k in range(4)]
    links = {
        name: {"joint": HINGE, "body": {"mass": 1, "centre": [0.15, 0, 0], "inertia": [1e-3, 1e-2, 1e-2]},
               **({"parent": names[k - 1], "at": {"position": [0.3, 0, 0]}} if k else {})}
        for k, name in enumerate(names)
    }  # fmt: skip
    r, angle = rng.uniform(0.3, 1.0), rng.uniform(0.0, 2.0 * np.pi)
    pin = {"joint": HINGE, "from": {"link": "l3", "at": {"position": [0.3, 0, 0]}},
           "to": {"at": {"position": [r * np.cos(angle), 0, r * np.sin(angle)]}}}  # fmt: skip
    robot = sorosim.load({"sorosim": 1, "name": "chain", "links": links, "loops": {"pin": pin}})

    def errors(z):
        return closing.jacobian(z)[0][in_plane]

    def derivative(z):
        return closing.jacobian(z)[1][in_plane]

    closing = _Closing(robot, rng.normal(size=4), np.arange(4), np.eye(4))
    z = closing.run()
    in_plane = np.abs(closing.jacobian(z)[1]).max(axis=1) > 1e-9  # hinges cannot leave it
    best = least_distance(errors, derivative, np.zeros(4), rng.normal(size=(20, 4)))
    assert np.linalg.norm(z) == pytest.approx(best, rel=1e-5)
