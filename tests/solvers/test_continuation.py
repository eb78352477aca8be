"""The continuation solver on small problems whose curves are known."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sorosim.analysis.solvers.bordered import Border, Scales, orientation, solve_bordered
from sorosim.analysis.solvers.continuation import StepOptions, follow_curve
from sorosim.analysis.solvers.curve import ContinuationProblem, Curve
from sorosim.mechanics.linear.growth import Growth, growing


def scalar(residual, dx, dw, **more):
    """A problem in one unknown."""
    return ContinuationProblem(
        lambda x, w: (np.array([residual(x[0], w)]), np.array([[dx(x[0], w)]]), np.array([dw(x[0], w)])),
        np.eye(1), **more,
    )  # fmt: skip


def cubic(x, w):
    return x**3 - 1.5 * x**2 + 0.6 * x - 0.3 * w


ARCH = scalar(cubic, lambda x, w: 3 * x**2 - 3 * x + 0.6, lambda x, w: -0.3)
ONWARD = np.array([0.0, 1.0])


def test_folds_of_a_cubic_are_located_to_rounding():
    found, curve = follow_curve(ARCH, np.zeros(1), 0.0, ONWARD, StepOptions(high=2.0))
    assert found.complete
    assert found.message == "reached the end of the range"
    folds = np.array([special.point.z for special in found.specials])
    x = 0.5 + np.array([-1.0, 1.0]) * np.sqrt(0.05)
    assert [special.kind for special in found.specials] == ["fold", "fold"]
    assert_allclose(folds[:, 0], x, rtol=1e-9)
    assert_allclose(folds[:, 1], cubic(x, 0.0) / 0.3, rtol=1e-13)
    for point in found.points:
        assert abs(cubic(*point.z)) < 5e-13  # rounding of 1e-13 of its terms is where the corrector ends
        assert curve.length(point.tangent) == pytest.approx(1.0)
    assert found.points[-1].z[1] == 2.0


def test_steps_shorten_where_the_curve_turns():
    found, _ = follow_curve(ARCH, np.zeros(1), 0.0, ONWARD, StepOptions(high=2.0))
    z = np.array([point.z for point in found.points])
    turns = [float(np.arccos(np.clip(a.tangent @ b.tangent, -1, 1))) for a, b in pairwise(found.points)]
    assert max(turns) < 0.35
    assert np.linalg.norm(np.diff(z, axis=0), axis=1).max() < 0.11


def test_the_way_back_is_the_same_curve():
    on, _ = follow_curve(ARCH, np.zeros(1), 0.0, ONWARD, StepOptions(high=2.0))
    x, w = on.points[-1].z
    back, _ = follow_curve(ARCH, np.array([x]), w, -ONWARD, StepOptions(low=0.0))
    assert back.points[-1].z == pytest.approx([0.0, 0.0], abs=1e-12)
    for one, other in zip(on.specials, back.specials[::-1], strict=True):
        assert one.point.z == pytest.approx(other.point.z, abs=1e-9)


def test_a_closed_curve_comes_back_to_its_start():
    circle = scalar(lambda x, w: x**2 + w**2 - 1.0, lambda x, w: 2 * x, lambda x, w: 2 * w)
    found, _ = follow_curve(circle, np.ones(1), 0.0, ONWARD, StepOptions())
    assert found.message == "came back to its start"
    assert found.complete
    assert [special.point.z[1] for special in found.specials] == pytest.approx([1.0, -1.0], abs=1e-14)
    # chords of steps of which none turns by more than 0.35
    assert found.points[-1].s == pytest.approx(2.0 * np.pi, rel=1e-2)


def crossing(second):
    """x ((w - 0.5) - second x - x^2) = 0: the axis, and a branch of the slope second = dw/dx."""

    def dx(x, w):
        return -((w - 0.5) - 2.0 * second * x - 3.0 * x**2)

    return scalar(
        lambda x, w: -x * ((w - 0.5) - second * x - x**2), dx, lambda x, w: -x,
        growth=lambda x, w: Growth(int(dx(x[0], w) < 0.0)),
    )  # fmt: skip


@pytest.mark.parametrize("second", [0.0, 0.3, -2.0])
def test_directions_of_pitchforks_and_crossings_are_exact(second):
    found, _ = follow_curve(crossing(second), np.zeros(1), 0.0, ONWARD, StepOptions(high=2.0))
    (special,) = found.specials
    assert special.kind == "branch"
    assert special.point.z == pytest.approx([0.0, 0.5], abs=1e-10)
    (direction,) = special.directions
    # differences of second derivatives of a cubic: rounding over 1e-4
    assert_allclose(direction[1] / direction[0], second, rtol=0, atol=1e-8)
    assert (special.before.buckling, special.after.buckling) == (0, 1)


def imperfect(power, size):
    """x^power - w x + size = 0, and another motion that nothing excites."""

    def evaluate(z, w):
        x, y = z
        J = np.diag([power * x ** (power - 1) - w, 1.0])
        return np.array([x**power - w * x + size, y]), J, np.array([-x, 0.0])

    return ContinuationProblem(evaluate, np.eye(2), lambda z, w: Growth(int(evaluate(z, w)[1][0, 0] < 0.0)))


@pytest.mark.parametrize("size", [1e-3, 1e-4, 1e-5, 1e-6, 1e-8])
def test_an_imperfect_crossing_is_followed_to_its_fold_however_near_the_other_curve_is(size):
    # x = w/2 -+ sqrt(w^2/4 - size) turns back at w = -2 sqrt(size)
    found, _ = follow_curve(imperfect(2, size), np.zeros(2), -1.0, np.array([0, 0, 1.0]), StepOptions(low=-1.2, high=1))
    (special,) = found.specials
    assert special.kind == "fold"
    assert special.point.z[2] == pytest.approx(-2.0 * np.sqrt(size), rel=1e-6)
    assert found.points[-1].z[2] == -1.2
    assert ("passes near another one" in found.message) == (size < 1e-3)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("size", [1e-3, 1e-4, 1e-5, 1e-6, 1e-8])
def test_an_imperfect_pitchfork_has_no_special_point_on_its_stable_curve(size, sign):
    found, _ = follow_curve(
        imperfect(3, sign * size), np.zeros(2), -1.0, np.array([0, 0, 1.0]), StepOptions(low=-1.2, high=1.0)
    )
    assert not found.specials
    x, _, w = found.points[-1].z
    assert w == 1.0
    assert x == pytest.approx(-sign, abs=size)  # and not at rest near 0, where a steady step would leap
    assert all(point.growth.unstable == 0 for point in found.points)


def test_branch_points_that_two_branches_share_are_found_by_what_grows():
    # w x - x^3 twice: the determinant does not change its sign
    def evaluate(x, w):
        k = 0.5 - w
        return k * x + x**3, np.diag(k + 3.0 * x**2), -x

    problem = ContinuationProblem(evaluate, np.eye(2), lambda x, w: Growth(2 * int(0.5 - w < 0.0)))
    found, _ = follow_curve(problem, np.zeros(2), 0.0, np.array([0.0, 0.0, 1.0]), StepOptions(high=2.0))
    (special,) = found.specials
    assert special.kind == "branch"
    assert special.point.z[2] == pytest.approx(0.5, abs=1e-10)
    assert len(special.directions) == 2
    assert_allclose(np.array(special.directions)[:, 2], 0.0, atol=1e-10)


def test_flutter_is_where_the_count_changes_though_nothing_is_singular():
    problem = scalar(
        lambda x, w: x - w, lambda x, w: 1.0, lambda x, w: -1.0, growth=lambda x, w: Growth(0, int(w > 0.7))
    )  # fmt: skip
    found, _ = follow_curve(problem, np.zeros(1), 0.0, ONWARD, StepOptions(high=1.0))
    (special,) = found.specials
    assert special.kind == "flutter"
    assert special.point.z[1] == pytest.approx(0.7, abs=1e-10)


def test_a_curve_that_ends_says_so():
    def end(x, w):
        return x - np.sqrt(1.0 - w) if w < 1.0 else np.nan

    problem = scalar(end, lambda x, w: 1.0, lambda x, w: 0.5 / np.sqrt(1.0 - w) if w < 1.0 else np.nan)
    found, _ = follow_curve(problem, np.ones(1), 0.0, ONWARD, StepOptions(high=2.0))
    assert not found.complete
    assert found.message == "stopped: steps became too small"
    assert found.points[-1].z[1] == pytest.approx(1.0, abs=1e-5)


def test_a_kink_is_passed_in_small_steps():
    problem = scalar(lambda x, w: x - 0.5 * abs(w - 0.5), lambda x, w: 1.0, lambda x, w: -0.5 * np.sign(w - 0.5))
    found, _ = follow_curve(problem, np.array([0.25]), 0.0, ONWARD, StepOptions(high=1.0))
    assert found.complete
    assert not found.specials


def test_points_and_stops_end_a_curve():
    found, _ = follow_curve(ARCH, np.zeros(1), 0.0, ONWARD, StepOptions(max_points=5))
    assert (len(found.points), found.message) == (5, "stopped after 5 points")
    found, _ = follow_curve(ARCH, np.zeros(1), 0.0, ONWARD, StepOptions(stop=lambda x, w: x[0] > 0.4))
    assert found.message == "stopped where it was asked to"
    assert found.points[-2].z[0] <= 0.4 < found.points[-1].z[0]


def test_bordered_systems_are_solved_whatever_the_sizes():
    rng = np.random.default_rng(1)
    d = 10.0 ** np.array([-3.0, 0.0, 4.0])
    J, slope, row, right = (rng.normal(size=n) for n in ((3, 3), 3, 4, 4))
    J, slope = d[:, None] * (J + J.T) * d, 1e6 * d * slope
    y = solve_bordered(J, slope, row, right)
    A = np.vstack([np.hstack([J, slope[:, None]]), row])
    assert_allclose(A @ y, right, rtol=1e-9, atol=1e-9 * np.abs(A).max() * np.abs(y).max() * 1e-6)
    assert orientation(J, slope, row)[0] == np.sign(np.linalg.det(A))


@pytest.mark.parametrize(
    ("K", "D", "expected"),
    [
        ([[1.0, 0.0], [0.0, 2.0]], 0.0, (0, 0)),
        ([[-1.0, 0.0], [0.0, 2.0]], 0.0, (1, 0)),
        ([[-1.0, 0.0], [0.0, -2.0]], 0.1, (2, 0)),
        ([[1.0, 2.0], [-2.0, 1.0]], 0.0, (0, 1)),  # squares 1 +- 2i
        ([[1.0, 0.1], [-0.1, 2.0]], 0.0, (0, 0)),  # of frequencies that are apart
        ([[1.0, 2.0], [-2.0, 1.0]], 5.0, (0, 0)),  # damping holds it
        ([[1.0, 2.0], [-2.0, 1.0]], 0.1, (0, 1)),
        ([[-1.0, 0.1], [-0.1, 2.0]], 0.0, (1, 0)),
        ([[1.0, 0.0], [0.0, 2.0]], -0.1, (0, 2)),  # damping that gives energy
    ],
)
def test_what_grows_is_counted(K, D, expected):
    assert growing(np.eye(2), D * np.eye(2), np.array(K)) == Growth(*expected)


@pytest.mark.parametrize("left", [0.0, 1.0])
def test_what_is_held_must_be_balanced_however_the_correction_ends(left):
    """Noise of 1e-8 keeps steps from vanishing; of a row that no unknown changes nothing may be left over."""
    noise = np.random.default_rng(0)

    def evaluate(x, w):
        return np.array([x[0] - w + 1e-8 * noise.standard_normal(), left]), np.diag([1.0, 1e-14]), np.array([-1.0, 0.0])

    curve = Curve(ContinuationProblem(evaluate, np.eye(2)))
    start, row = np.array([1000.1, 0.0, 1000.0]), curve.gram @ np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
    _, J, slope = evaluate(start[:2], start[2])
    neutral_modes = Border.of_neutral_modes(J, slope, row, Scales.of(J, slope, curve.unit_changes), 1e-10, curve.gram)
    assert neutral_modes is not None
    assert (curve.correct(start, row, neutral_modes) is None) == bool(left)
