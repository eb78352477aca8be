"""Limits of an integration: steps, wall time, and a pace too slow to reach its end.

Integrators call `steps` of the problem's limit after their steps, see `sorosim.base.ode`. Rules by steps are the
same on any machine; that by wall time is not.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from sorosim.base.arrays import Array

CHECK = 500  # steps between two checks of the pace
# (steps at a pace, steps that the rest takes at that pace): beyond both, the run stalls. A day of simulated time in
# steps of a millisecond is within; 1e8 steps take hours in compiled code, a day in Python
STALLED = ((20_000, 1e8),)
# the same where the state is implausible
STALLED_IMPLAUSIBLY = ((CHECK, 1e8), (5_000, 1e5))
FULL_STEP_RATIO = 0.5  # steps above this part of max_step are as long as allowed


class WorkLimit:
    """The work of one run, over all restarts of its integrator.

    Parameters
    ----------
    t, end : float
        Where it begins and is to end [s].
    max_steps : float, optional
        Most steps. Without it the run ends where it stalls: where its last steps came so little ahead that the rest
        would take more than 1e8 of them.
    max_wall_time : float
        Most time on the clock [s].
    max_step : float
        Largest step [s]: steps as large as that are no stall.
    implausible : callable, optional
        What makes the state at (t, x) implausible, in words, "" if nothing does. Such a run stalls sooner.
    """

    def __init__(
        self, t: float, end: float, max_steps: float | None = None, max_wall_time: float = math.inf,
        max_step: float = math.inf, implausible: Callable[[float, Array], str] = lambda t, x: "",
    ) -> None:  # fmt: skip
        self.end, self.max_steps, self.max_wall_time = end, max_steps, max_wall_time
        self.max_step, self.implausible = max_step, implausible
        self.begin = time.monotonic()
        self.n = 0
        self.marks: deque[tuple[int, float]] = deque([(0, t)], maxlen=1 + STALLED[-1][0] // CHECK)
        self.why = ""  # it has to end, if so
        self.stalled = False
        self.cause = ""  # what is implausible where it stalled

    @property
    def at_once(self) -> int:
        """Steps that an integrator may take before it counts them."""
        return CHECK if self.max_steps is None else max(1, math.ceil(min(CHECK, self.max_steps - self.n)))

    def steps(self, t: float, x: Array, n: int = 1) -> str:
        """Count n steps, after which the integrator is at (t, x); returns why it has to end there, "" if it has not."""
        self.n += n
        if t >= self.end:
            return ""
        if self.max_steps is not None:
            if self.n >= self.max_steps:
                self.why = f"it has taken max_steps = {self.max_steps:g} steps"
        elif self.n - self.marks[-1][0] >= CHECK:
            self.marks.append((self.n, t))
            self.check_pace(t, x)
        if not self.why and time.monotonic() - self.begin > self.max_wall_time:
            self.why = f"max_wall_time = {self.max_wall_time:g} s is over"
        return self.why

    def check_pace(self, t: float, x: Array) -> None:
        """Whether it stalls at (t, x)."""
        slow, slower = (self.violated_rule(t, rules) for rules in (STALLED_IMPLAUSIBLY, STALLED))
        if slow or slower:
            self.cause = self.implausible(t, x)
        if stall := slower or (slow if self.cause else None):
            n, ahead, remaining = stall
            self.stalled = True
            self.why = f"the last {n} steps came {ahead:.2g} s ahead; at this pace the rest takes {remaining:.1g} steps"

    def violated_rule(self, t: float, rules: tuple[tuple[int, float], ...]) -> tuple[int, float, float] | None:
        """Steps, the time they advanced [s], and steps needed for the rest, by the first rule that is met."""
        for window, most in rules:
            for n, before in reversed(self.marks):
                steps, ahead = self.n - n, t - before
                if steps < window:
                    continue
                remaining = (self.end - t) * steps / max(ahead, 1e-300)
                if remaining > most and ahead < FULL_STEP_RATIO * self.max_step * steps:
                    return steps, ahead, remaining
                break
        return None
