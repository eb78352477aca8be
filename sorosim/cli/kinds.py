"""What result files hold, in words."""

from __future__ import annotations

from typing import Any


def kind_of(found: Any) -> tuple[str, str]:
    """What a result is, and what can be done with it where it is of the wrong kind."""
    from sorosim.bifurcation.diagram import Continuation
    from sorosim.results.result import Run
    from sorosim.sweeps.result import SweepResult

    if isinstance(found, SweepResult):
        return "a sweep", "plot draws it; in Python, sorosim.open(...).equilibrium(i) is that of a point"
    if isinstance(found, Continuation):
        return "a continuation", "plot draws it; in Python, sorosim.open(...).equilibrium(i) is one of them"
    return ("a run", "") if isinstance(found, Run) else ("an equilibrium", "plot draws it")
