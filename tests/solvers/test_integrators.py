"""Every integrator behind its one door, on small problems with known solutions."""

import re
import warnings

import numpy as np
import pytest

from sorosim.base.errors import InputError
from sorosim.base.methods import OdeMethod, kinds, method_class
from sorosim.base.ode import Event, OdeProblem

METHODS = sorted(kinds(OdeMethod))


def solved(method, problem):
    return method_class(method)().solve(problem)


OMEGA = 3.0  # rad/s
ROUGH = {"rtol": 1e-3, "atol": 1e-6}  # tolerances where nothing else is said
A = np.array([[0.0, 1.0], [-(OMEGA**2), 0.0]])


def oscillator(t_out, **options):
    """x = cos(omega t), 1 at the start, at rest."""
    return OdeProblem(
        lambda t, x: A @ x, lambda t, x: A, np.array([1.0, 0.0]), np.asarray(t_out, dtype=float), **ROUGH | options
    )


def van_der_pol(mu, t_end, **options):
    def rhs(t, x):
        return np.array([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]])

    def jacobian(t, x):
        return np.array([[0.0, 1.0], [-2 * mu * x[0] * x[1] - 1, mu * (1 - x[0] ** 2)]])

    return OdeProblem(rhs, jacobian, np.array([2.0, 0.0]), np.linspace(0, t_end, 21), **ROUGH | options)


@pytest.mark.parametrize("method", METHODS)
def test_error_follows_the_tolerance(method):
    t = np.linspace(0, 4, 41)
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        found = solved(method, oscillator(t, rtol=rtol, atol=rtol))
        assert found.success
        assert np.array_equal(found.t, t)
        errors.append(np.abs(found.x[:, 0] - np.cos(OMEGA * t)).max())
    # local tolerances add up over 12 radians; a hundred times is what these methods need at most here
    assert all(error < 100 * rtol for error, rtol in zip(errors, (1e-4, 1e-6, 1e-8), strict=True)), errors
    assert errors[2] < 1e-2 * errors[0]


@pytest.fixture(scope="module")
def tight():
    return solved("radau", van_der_pol(200.0, 300.0, rtol=1e-10, atol=1e-12))


@pytest.mark.parametrize("method", METHODS)
def test_stiff_problem_agrees_with_a_tight_run_of_another_method(method, tight):
    found = solved(method, van_der_pol(200.0, 300.0, rtol=1e-7, atol=1e-9))
    # between the jumps the solution creeps; a jump shifts by its period's error
    assert np.abs(found.x[:, 0] - tight.x[:, 0]).max() < 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_differences_replace_a_missing_jacobian(method):
    t = np.linspace(0, 2, 11)
    with_jacobian = solved(method, oscillator(t, rtol=1e-8, atol=1e-10))
    problem = OdeProblem(lambda t, x: A @ x, None, np.array([1.0, 0.0]), t, rtol=1e-8, atol=1e-10)
    without = solved(method, problem)
    assert np.abs(with_jacobian.x - without.x).max() < 1e-6
    assert with_jacobian.stats["n_jacobian"] > 0 or method == "lsoda"  # lsoda may stay with Adams
    assert without.stats["n_rhs"] > 0


def test_lsoda_fails_in_words_of_ours_and_without_scipys_warning():
    wrong = OdeProblem(
        lambda t, x: -1e6 * (x - np.cos(t)), lambda t, x: np.array([[1e9]]), np.ones(1), np.linspace(0, 2, 3), **ROUGH
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solved("lsoda", wrong)
    assert not found.success
    assert re.fullmatch(r"stopped at t = \S+ s: the corrector or the error test failed repeatedly", found.message)


@pytest.mark.parametrize("method", METHODS)
def test_events_are_located_counted_by_direction_and_may_end_the_run(method):
    t = np.linspace(0, 4, 5)
    zeros = (np.arange(4) + 0.5) * np.pi / OMEGA
    events = [
        Event(lambda t, x: x[0]),
        Event(lambda t, x: x[0], direction=1.0),
        Event(lambda t, x: x[0], direction=-1.0),
    ]
    found = solved(method, oscillator(t, rtol=1e-9, atol=1e-11, events=events))
    assert np.allclose(found.t_events[0], zeros[zeros < 4], atol=1e-6)
    assert np.allclose(found.t_events[1], zeros[1::2], atol=1e-6)
    assert np.allclose(found.t_events[2], zeros[0::2], atol=1e-6)
    assert np.abs(found.x_events[0][:, 0]).max() < 1e-6
    stop = Event(lambda t, x: x[0], terminal=True, direction=1.0)
    ended = solved(method, oscillator(t, rtol=1e-9, atol=1e-11, events=[stop]))
    assert ended.success
    assert np.array_equal(ended.t, t[t < zeros[1]])
    assert np.allclose(ended.t_events[0], zeros[1], atol=1e-6)


@pytest.mark.parametrize("direction", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_a_zero_at_the_start_is_no_event(method, direction):
    t = np.linspace(0, 4, 5)
    zeros = np.arange(1, 4) * np.pi / OMEGA
    stop = Event(lambda t, x: x[1], terminal=True, direction=direction)  # at rest at the start, then it goes down
    ended = solved(method, oscillator(t, rtol=1e-9, atol=1e-11, events=[stop]))
    first = zeros[1] if direction < 0.0 else zeros[0]
    assert np.allclose(ended.t_events[0], first, atol=1e-6)
    assert np.array_equal(ended.t, t[t < first])


@pytest.mark.parametrize("method", METHODS)
def test_a_solution_that_leaves_for_infinity_ends_with_what_there_was(method):
    problem = OdeProblem(
        lambda t, x: x**2, lambda t, x: np.diag(2 * x), np.array([1.0]), np.linspace(0, 2, 21), **ROUGH
    )
    found = solved(method, problem)
    assert not found.success
    assert "stopped at t = " in found.message
    reached = float(found.message.split("stopped at t = ")[1].split(" s")[0])
    assert reached == pytest.approx(1.0, abs=1e-2)  # 1/(1 - t)
    assert np.array_equal(found.t, problem.t_out[: len(found.t)])
    assert 5 <= len(found.t) <= 11
    inside = found.t < 0.9
    assert np.allclose(found.x[inside, 0], 1 / (1 - found.t[inside]), rtol=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_a_rate_that_turns_nan_ends_with_what_there_was(method):
    def rhs(t, x):
        return np.array([np.nan if t > 0.5 else 1.0])

    found = solved(method, OdeProblem(rhs, lambda t, x: np.zeros((1, 1)), np.zeros(1), np.linspace(0, 1, 11), **ROUGH))
    assert not found.success
    assert 1 <= len(found.t) <= 6
    assert np.allclose(found.x[:, 0], found.t, atol=1e-3)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"cvode"}))
def test_dense_output_is_as_good_as_the_steps(method):
    found = solved(method, oscillator([0.0, 4.0], rtol=1e-8, atol=1e-10, dense=True))
    t = np.linspace(0, 4, 101)
    assert np.abs([found.dense(float(x))[0] for x in t] - np.cos(OMEGA * t)).max() < 1e-5


def test_dense_output_of_cvode_is_refused():
    with pytest.raises(InputError, match=r"^dense: expected method bdf, radau or lsoda for dense output, got cvode; "):
        solved("cvode", oscillator([0.0, 1.0], dense=True))


@pytest.mark.parametrize("method", METHODS)
def test_two_output_times_give_two_rows(method):
    found = solved(method, oscillator([0.0, 1.0]))
    assert np.array_equal(found.t, [0.0, 1.0])


@pytest.mark.parametrize("method", METHODS)
def test_no_step_is_longer_than_allowed(method):
    steps = []

    def rhs(t, x):
        steps.append(t)
        return np.zeros(1)

    solved(
        method,
        OdeProblem(rhs, lambda t, x: np.zeros((1, 1)), np.zeros(1), np.array([0.0, 1.0]), **ROUGH, max_step=0.01),
    )
    assert len(steps) >= 100


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("analytic", [True, False])
def test_counts_are_those_of_the_calls(method, analytic):
    calls = {"rhs": 0, "jacobian": 0}

    def rhs(t, x):
        calls["rhs"] += 1
        return np.array([x[1], 100.0 * (1 - x[0] ** 2) * x[1] - x[0]])

    def jacobian(t, x):
        calls["jacobian"] += 1
        return np.array([[0.0, 1.0], [-200.0 * x[0] * x[1] - 1, 100.0 * (1 - x[0] ** 2)]])

    times = np.linspace(0, 200, 3)
    found = solved(method, OdeProblem(rhs, jacobian if analytic else None, np.array([2.0, 0.0]), times, **ROUGH))
    # one look at the start, before the integrator is asked; differences for a missing Jacobian are counted
    assert found.stats["n_rhs"] == calls["rhs"] - 1
    if analytic:
        assert found.stats["n_jacobian"] == calls["jacobian"] > 0
        assert found.stats.get("n_steps", 1) > 0
    else:
        assert calls["jacobian"] == 0


@pytest.mark.parametrize("method", METHODS)
def test_output_times_need_not_fit_the_end_or_the_steps(method):
    t = np.array([0.0, 0.3, 0.6, 0.9, 1.0, 1.0 + 1e-6, 3.7])
    found = solved(method, oscillator(t, rtol=1e-8, atol=1e-10))
    assert np.array_equal(found.t, t)
    assert np.abs(found.x[:, 0] - np.cos(OMEGA * t)).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_an_error_of_the_problem_itself_is_passed_on(method):
    def rhs(t, x):
        if t > 0.5:
            raise ZeroDivisionError("mine")
        return -x

    with pytest.raises(ZeroDivisionError, match=r"^mine$"):
        solved(method, OdeProblem(rhs, lambda t, x: -np.eye(1), np.ones(1), np.linspace(0, 1, 3), **ROUGH))


@pytest.mark.parametrize("method", METHODS)
def test_a_rate_that_is_no_number_at_the_start_is_a_failure_with_one_row(method):
    found = solved(method, OdeProblem(lambda t, x: x * np.inf, None, np.ones(1), np.linspace(0, 1, 3), **ROUGH))
    assert not found.success
    assert found.message == "stopped at t = 0 s: the rate there is infinite or NaN"
    assert np.array_equal(found.t, [0.0])
    assert np.array_equal(found.x, [[1.0]])


@pytest.mark.parametrize("method", METHODS)
def test_a_wall_of_the_state_stops_the_run_before_it(method):
    # x = (1 - 1.5 t)^(2/3) ends in t = 2/3, where rate and Jacobian are infinite and beyond which they are NaN
    problem = OdeProblem(
        lambda t, x: -1.0 / np.sqrt(x), lambda t, x: np.diag(0.5 * x**-1.5), np.ones(1), np.linspace(0, 1, 11),
        rtol=1e-6, atol=1e-8,
    )  # fmt: skip
    found = solved(method, problem)
    assert not found.success
    assert float(found.message.split("stopped at t = ")[1].split(" s")[0]) == pytest.approx(2 / 3, abs=1e-4)
    assert np.allclose(found.x[:, 0], (1 - 1.5 * found.t) ** (2 / 3), rtol=0, atol=1e-3)


def test_unknown_method_names_the_known_ones():
    with pytest.raises(InputError) as caught:
        method_class("bdff")
    assert str(caught.value) == "method: expected the name of an integrator, got 'bdff'; did you mean bdf?"


class _Followed:
    """What follows steps and does nothing: it lets cvode know its last good state."""

    def begin(self, t, x):
        pass

    def step(self, t, x, inside=()):
        pass


@pytest.mark.parametrize("n_bad", [22, 30, 32])
def test_cvode_starts_anew_where_a_step_fails_too_often(n_bad):
    """Rates that are off for a while: after seven failed error tests in one step the library gives up."""
    calls, good = 0, oscillator(np.linspace(0.0, 1.0, 11), rtol=1e-6, atol=1e-9)

    def rhs(t, x):
        nonlocal calls
        calls += 1
        return np.full(2, 1e9 * (-1) ** calls) if 60 <= calls < 60 + n_bad else A @ x

    problem = OdeProblem(rhs, good.jacobian, good.x0, good.t_out, 1e-6, 1e-9, steps=_Followed())
    found = solved("cvode", problem)
    assert found.success
    assert np.abs(found.x[:, 0] - np.cos(OMEGA * found.t)).max() < 1e-4


def test_cvode_gives_up_where_a_new_start_gets_no_farther():
    good = oscillator(np.linspace(0.0, 1.0, 11))

    def rhs(t, x):
        return A @ x if t <= 0.5 else np.full(2, np.nan)

    found = solved("cvode", OdeProblem(rhs, good.jacobian, good.x0, good.t_out, **ROUGH, steps=_Followed()))
    assert not found.success
    assert 0.4 <= found.t[-1] <= 0.5
