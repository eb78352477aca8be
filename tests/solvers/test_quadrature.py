"""Integrals by the steps of an integrator: exact for polynomials, whatever the steps, rows and restarts."""

import signal
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.analysis.solvers.quadrature import StepIntegral
from sorosim.analysis.solvers.scipy_ivp import RADAU_STAGES
from sorosim.base.interrupts import deferring_signals
from sorosim.base.methods import OdeMethod, kinds, method_class
from sorosim.base.ode import OdeProblem

NOTHING = np.zeros(0)
ROWS = np.array([0.0, 0.13, 0.5, 0.55, 1.9, 2.0])


def powers(t, x):
    return np.stack([1.0 - 2.0 * t + 3.0 * t**2 - 4.0 * t**3, np.exp(-t)], axis=-1)


def exact(t):
    return np.stack([t - t**2 + t**3 - t**4, 1.0 - np.exp(-t)], axis=-1)


def followed(steps, inside=()):
    found = StepIntegral(powers, ROWS, np.zeros(2))
    found.begin(0.0, NOTHING)
    for begin, end in pairwise(steps):
        found.step(float(end), NOTHING, [(begin + c * (end - begin), NOTHING) for c in inside])
    found.evaluate()
    assert found.n_rows == len(ROWS)
    return found.rows


TINY = np.array([0.0, 0.7, 1.0, np.nextafter(1.0, 2.0), 2.0])  # its stages round to its ends


@pytest.mark.parametrize("steps", [np.linspace(0.0, 2.0, 4), np.array([0.0, 1e-3, 0.7, 0.8, 2.0]), TINY])
def test_stages_of_radau_integrate_cubics_exactly(steps):
    assert_allclose(followed(steps, RADAU_STAGES)[:, 0], exact(ROWS)[:, 0], rtol=0, atol=1e-13)


def test_ends_of_steps_integrate_as_a_multistep_method():
    errors = [np.abs(followed(np.linspace(0.0, 2.0, n + 1)) - exact(ROWS))[-1, 1] for n in (20, 40, 80)]
    # the first two steps have no past: of order 2 and 3 there, so 3 of the whole
    assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 3.0, atol=0.35)


def test_nothing_is_extrapolated_from_steps_that_are_much_shorter():
    steps = np.array([0.0, 1e-9, 2e-9, 3e-9, 2.0])
    assert_allclose(followed(steps)[-1, 1], 1.0 + np.exp(-2.0), rtol=1e-6)  # the trapezoidal rule


def test_a_restart_within_a_step_takes_back_what_is_after_it():
    found = StepIntegral(powers, ROWS, np.zeros(2))
    found.begin(0.0, NOTHING)
    for end in (0.4, 1.95):
        found.step(end, NOTHING, [(max(end - 1.55, 0.0) + c * min(end, 1.55), NOTHING) for c in RADAU_STAGES])
    found.evaluate()
    assert found.n_rows == 5
    found.begin(0.52, NOTHING)
    assert found.n_rows == 3
    for begin, end in ((0.52, 1.0), (1.0, 2.0)):
        found.step(end, NOTHING, [(begin + c * (end - begin), NOTHING) for c in RADAU_STAGES])
    found.evaluate()
    assert_allclose(found.rows[:, 0], exact(ROWS)[:, 0], rtol=0, atol=1e-13)


def test_integrals_do_not_depend_on_when_powers_are_evaluated():
    """To the last bit: runs that are taken up again, and those whose rows are written as they come, are the same."""
    found, steps = [], np.cumsum(np.geomspace(1e-3, 0.1, 60))
    for often in (1, 7, 1000):
        times = np.append(ROWS[:-1], steps[-1])
        one = StepIntegral(powers, times, np.zeros(2))
        one.begin(0.0, NOTHING)
        for k, end in enumerate(steps):
            one.step(float(end), NOTHING)
            if k % often == 0:
                one.evaluate()
        one.evaluate()
        found.append((one.rows, one.at(steps[-1] - 0.01)))
    for rows, value in found[1:]:
        assert_array_equal(rows, found[0][0])
        assert_array_equal(value, found[0][1])


def test_steps_that_grow_in_leaps_look_back_past_shorter_ones():
    """A step ten times those before it: their ends that lie far enough back count, as of a multistep method."""
    steps = np.concatenate([np.linspace(0.0, 1.0, 101), np.linspace(1.1, 2.0, 10)])
    assert abs(followed(steps)[-1, 1] - exact(2.0)[1]) < 1e-7  # the trapezoidal rule in the first leap leaves 3e-5


@pytest.mark.parametrize("method", sorted(kinds(OdeMethod)))
def test_every_integrator_is_followed_step_by_step(method):
    """The energy of a damped oscillator, whatever the output times: one row at the end is enough."""
    A = np.array([[0.0, 1.0], [-25.0, -0.5]])
    final = []
    for t_out in ([0.0, 3.0], np.linspace(0.0, 3.0, 31)):
        t_out = np.asarray(t_out)
        lost = StepIntegral(lambda t, x: 0.5 * x[:, 1:] ** 2, t_out, np.zeros(1))
        problem = OdeProblem(lambda t, x: A @ x, lambda t, x: A, np.array([1.0, 0.0]), t_out, 1e-7, 1e-10, steps=lost)
        lost.begin(0.0, problem.x0)
        found = method_class(method)().solve(problem)
        energy = 12.5 * found.x[:, 0] ** 2 + 0.5 * found.x[:, 1] ** 2
        lost.evaluate()
        assert lost.n_rows == len(t_out)
        # of 12.5 J; the error of the states is as large
        assert_allclose(energy[0] - energy, lost.rows[:, 0], rtol=0, atol=1e-3)
        final.append(lost.rows[-1][0])
    assert abs(final[0] - final[1]) < 1e-3


class InterruptedState:
    """A state during whose copying Ctrl-C is hit."""

    def __array__(self, dtype=None, copy=None):
        signal.raise_signal(signal.SIGINT)
        return np.zeros(1)


@pytest.fixture
def interruptible():
    """Ctrl-C is an exception, also where a shell runs the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with deferring_signals():
        yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("where", ["state", "power"])
def test_an_interrupt_waits_until_a_step_is_recorded(where, interruptible):
    interrupting = False

    def power(t, x):
        if interrupting:
            signal.raise_signal(signal.SIGINT)
        return np.ones((len(t), 1))

    integral = StepIntegral(power, np.linspace(0.0, 1.0, 5), np.zeros(1))
    integral.begin(0.0, np.zeros(1))
    integral.step(0.5, np.zeros(1))
    if where == "state":
        with pytest.raises(KeyboardInterrupt):
            integral.step(1.0, InterruptedState())
    else:
        integral.step(1.0, np.zeros(1))
        interrupting = True
        with pytest.raises(KeyboardInterrupt):
            integral.evaluate()
        interrupting = False
    integral.evaluate()
    assert_allclose(integral.rows[:, 0], integral.times, rtol=1e-15)
