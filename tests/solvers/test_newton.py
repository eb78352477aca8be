"""Newton's corrector: what it finds, and why it ended; natural continuation on a curve that is known."""

import numpy as np
import pytest

from sorosim.solvers.continuation import raise_parameter
from sorosim.solvers.newton import CONVERGED, DIVERGING, NO_FORCES, SINGULAR_MATRIX, TOO_MANY, Rule, correct


class Equation:
    """One equation, with its derivative."""

    def __init__(self, residual, derivative, rounding=0.0):
        self.residual, self.derivative, self.rounding = residual, derivative, rounding

    def linearise(self, x):
        self.J = self.derivative(x[0])
        return np.array([self.residual(x[0])])

    def is_rounding(self, x, r):
        return abs(r[0]) <= self.rounding

    def solve(self, r):
        return r / self.J if self.J else None

    def size(self, step, x):
        return abs(step[0]) / (1.0 + abs(x[0]))


ROOT = Equation(lambda x: x**2 - 2.0, lambda x: 2.0 * x)


def test_it_ends_at_a_solution_whose_step_is_rounding():
    end = correct(ROOT, np.array([1.0]), Rule(20))
    assert end.converged
    assert end.x[0] == pytest.approx(np.sqrt(2.0), abs=1e-15)
    # the last step, which is not taken, is the error that is left
    assert abs(end.step[0]) <= 1e-13 * (1.0 + np.sqrt(2.0))


@pytest.mark.parametrize(
    ("equation", "start", "rule", "why"),
    [
        (ROOT, 1.0, Rule(20), CONVERGED),
        (ROOT, 1.0, Rule(20, first=0.1), DIVERGING),  # its first step is 0.25
        (ROOT, 1.0, Rule(2), TOO_MANY),
        (ROOT, 0.0, Rule(20), SINGULAR_MATRIX),
        (Equation(lambda x: np.nan, lambda x: 1.0), 1.0, Rule(20), NO_FORCES),
        # x^3 - 2 x + 2 leads from 0 to 1 and back
        (Equation(lambda x: x**3 - 2.0 * x + 2.0, lambda x: 3.0 * x**2 - 2.0), 0.0, Rule(20), DIVERGING),
        # at a double root steps shrink by 2 only: fast ones are asked for, or a residual of rounding is enough
        (Equation(lambda x: x**2, lambda x: 2.0 * x), 1.0, Rule(40, contraction=0.4), DIVERGING),
        (Equation(lambda x: x**2, lambda x: 2.0 * x, 1e-13), 1.0, Rule(40, rounding_ends=True), CONVERGED),
    ],
)
def test_it_says_why_it_ended(equation, start, rule, why):
    end = correct(equation, np.array([start]), rule)
    assert end.why == why
    assert end.residual == pytest.approx([equation.residual(end.x[0])], nan_ok=True)


def test_steps_that_cease_to_shrink_are_rounding_where_they_are_small():
    # noise of 1e-11 in the residual: no step gets smaller
    noise = np.random.default_rng(0)
    noisy = Equation(lambda x: x - 1.0 + 1e-11 * noise.standard_normal(), lambda x: 1.0)
    assert correct(noisy, np.zeros(1), Rule(50)).converged
    assert not correct(noisy, np.zeros(1), Rule(50, enough=1e-14)).converged


def test_natural_continuation_comes_to_the_end_and_stops_before_a_fold():
    # x - x^3 = c w has its fold at w = 2/(3 sqrt(3))/c
    def advance_with(c):
        def advance(x, _, w):
            system = Equation(lambda y: y - y**3 - c * w, lambda y: 1.0 - 3.0 * y**2)
            end = correct(system, x, Rule(20, first=0.2))
            return end.x if end.converged else None

        return advance

    steps = {"least": 1e-8, "shorter": 0.5, "longer": 2.0}
    x, w, n = raise_parameter(np.zeros(1), advance_with(0.3), **steps)
    assert w == 1.0
    assert n >= 1
    assert x[0] - x[0] ** 3 == pytest.approx(0.3, abs=1e-14)
    x, w, _ = raise_parameter(np.zeros(1), advance_with(0.5), **steps)
    assert w == pytest.approx(2.0 / (3.0 * np.sqrt(3.0)) / 0.5, abs=1e-6)
    assert x[0] < 1.0 / np.sqrt(3.0)


def test_natural_continuation_takes_no_step_longer_than_asked_for():
    taken = []

    def advance(x, w, to):
        taken.append(to - w)
        return x

    _, w, n = raise_parameter(0, advance, least=1e-6, shorter=0.5, longer=3.0, longest=lambda *_: 0.1)
    assert w == 1.0
    assert n == len(taken) == 10  # rounding adds no step
    assert max(taken) <= 0.1 * (1.0 + 1e-9)
