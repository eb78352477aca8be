"""The contract of an integrator.

1. It gets an `OdeProblem` and returns an `OdeSolution`; it raises only what the problem's own functions raise.
2. The solution has one row a time of `t_out`, the first at t_out[0]. When the integration ends early, by a terminal
   event or by failure, it has the rows up to there, and a message with time and reason. A rate or Jacobian that is
   not finite, at a trial state, calls for a smaller step; where none helps it is a failure like others.
3. `stats` counts n_steps, n_rhs, n_jacobian and n_factorizations as far as the library counts; calls of the rate for
   difference quotients of its own are in n_rhs.
4. The Jacobian of the problem is used when there is one; otherwise differences are taken. An integrator may use
   `newton` in its place, if that is given.
5. `report` of the problem, if any, gets the rows of the solution while they come about: (k,) times and (k, n) states,
   in order, each once, no later than the integrator's next step after them.
6. `work` of the problem counts the steps: its `steps` is called with the time, the state and how many steps were taken,
   at least every `work.at_once` steps. What it returns, if not "", is the message of the failure with which the
   integration ends there.
7. An integrator that takes `samples`, times at which inputs jump, calls `sample` at each of them that is between the
   first and the last of `t_out`, and goes on under the inputs that hold then; for others they are restarts.
8. `steps` of the problem, if any, gets every step of the integration before rows within it are reported: its end and
   the state there, and stages inside it where those are of the method's own accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.work_limit import WorkLimit


@dataclass(frozen=True)
class Event:
    """A function of time and state whose zeros are events."""

    function: Callable[[float, Array], float]
    terminal: bool = False
    direction: float = 0.0  # sign of the crossings that count; 0: both


class Steps(Protocol):
    """What follows an integration step by step (`sorosim.analysis.solvers.quadrature`)."""

    def begin(self, t: float, x: Array) -> None:
        """The integrator starts, or starts anew."""

    def step(self, t: float, x: Array, inside: Sequence[tuple[float, Array]] = ()) -> None:
        """A step ended at t."""


class NewtonMatrix(Protocol):
    """I - c J of a problem, J = d(rhs)/dx, whose linear systems are solved without forming it."""

    def linearise(self, t: float, x: Array) -> None:
        """J is that of this state from now on; of one without a rate it stays that of the last."""

    def factor(self, c: float) -> bool:
        """Factor it; whether it is regular."""

    def solve(self, right: Array) -> Array:
        """Its inverse times right (n,), by the last factors."""


@dataclass(frozen=True)
class OdeProblem:
    """dx/dt = rhs(t, x) from x0 at t_out[0]."""

    rhs: Callable[[float, Array], Array]
    jacobian: Callable[[float, Array], Array] | None  # (n, n)
    x0: Array  # (n,)
    t_out: Array  # (n_t,) increasing, at least two
    rtol: float
    atol: float | Array  # (n,) of each entry of x, or of all
    max_step: float = np.inf
    events: Sequence[Event] = ()
    dense: bool = False
    report: Callable[[Array, Array], None] | None = None
    work: WorkLimit = field(default_factory=lambda: WorkLimit(0.0, 0.0))  # none
    steps: Steps | None = None
    samples: Array = field(default_factory=lambda: np.zeros(0))  # increasing
    sample: Callable[[float, Array], None] | None = None
    newton: NewtonMatrix | None = None  # of a large problem: integrators that can use it, not the Jacobian


@dataclass(frozen=True)
class OdeSolution:
    """Result of an integration."""

    t: Array  # (n_t,)
    x: Array  # (n_t, n)
    success: bool
    message: str
    stats: dict[str, int]
    dense: Callable[[float], Array] | None = None
    t_events: list[Array] = field(default_factory=list)
    x_events: list[Array] = field(default_factory=list)
    # of a failure, if the library gives them: time and state after the last step, size of the next one
    last: tuple[float, Array] | None = None
    step: float = float("nan")


def without_rate(problem: OdeProblem) -> OdeSolution:
    """Result for a problem whose first state has no rate."""
    t, x = problem.t_out[:1], problem.x0[None]
    stats = dict.fromkeys(("n_steps", "n_jacobian", "n_factorizations"), 0) | {"n_rhs": 1}
    return OdeSolution(t, x, False, f"stopped at t = {t[0]:.6g} s: the rate there is infinite or NaN", stats)


def crosses(event: Event, before: float, after: float) -> bool:
    """Whether an event has a zero between two times, by its values there; one at the first time has been counted."""
    changed = before * after < 0.0 or (after == 0.0 and before != 0.0)
    return changed and (event.direction == 0.0 or event.direction * (after - before) > 0.0)


def locate(
    events: Sequence[Event], before: Sequence[float], begin: float, end: float, state: Callable[[float], Array]
) -> tuple[list[float], list[tuple[int, float, Array]], float | None]:
    """Zeros of events in a step, by their values at its begin and states (n,) at times within.

    Returns their values at the end; (number of the event, time, state) of the zeros, in order, up to a terminal one;
    and the time of that one, if there is any.
    """
    x = state(end)
    values, zeros = [event.function(end, x) for event in events], []
    for i, (event, old, new) in enumerate(zip(events, before, values, strict=True)):
        if crosses(event, old, new):
            from scipy.optimize import brentq  # slow to import, which `sorosim --help` would wait for

            function, xtol = event.function, 1e-14 * max(abs(end), 1.0)
            zero = end if new == 0.0 else brentq(lambda t, f=function: f(t, state(t)), begin, end, xtol=xtol)
            zeros.append((float(zero), i))
    ended = min((t for t, i in zeros if events[i].terminal), default=None)
    return values, [(i, t, state(t)) for t, i in sorted(zeros) if ended is None or t <= ended], ended


def by_event(hits: Sequence[tuple[int, float, Array]], n_events: int, n: int) -> tuple[list[Array], list[Array]]:
    """Times and states (k, n) of each event, from (number of the event, time, state) of all."""
    own = [[hit for hit in hits if hit[0] == i] for i in range(n_events)]
    return [np.array([t for _, t, _ in one]) for one in own], [
        np.array([x for _, _, x in one]).reshape(len(one), n) for one in own
    ]


class Reporter:
    """Hands the rows of a problem to its `report` as the integrator passes their times."""

    def __init__(self, problem: OdeProblem) -> None:
        self.report, self.t_out, self.done = problem.report, problem.t_out, 0
        if self.report is not None:
            self.report(problem.t_out[:1], problem.x0[None])
            self.done = 1

    def passed(self, t: float, states: Callable[[Array], Array]) -> None:
        """The integrator is at t; `states` gives the states (k, n) at times (k,) up to there."""
        if self.report is None:
            return
        end = int(np.searchsorted(self.t_out, t, side="right"))
        if end > self.done:
            times, self.done = self.t_out[self.done : end], end
            self.report(times, states(times))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread: more only cost time on the small matrices here."""
    global _blas
    if _blas is None:
        from threadpoolctl import ThreadpoolController

        _blas = ThreadpoolController().select(user_api="blas").lib_controllers
    # threadpoolctl's own context describes all libraries first, which takes longer than many a task here
    limited = [(library, n) for library in _blas if (n := library.get_num_threads()) != 1]
    for library, _ in limited:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, n in limited:
            library.set_num_threads(n)


_blas: list[Any] | None = None
