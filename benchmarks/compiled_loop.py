"""Compiled functions called from a compiled loop: their own time, as inside a solver that is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

# counting references to a hundred arrays would take longer than most kernels
_compiled = numba.njit(nogil=True, error_model="numpy", _nrt=False)


def compiled_loop(calls: list[tuple[Callable[..., Any], tuple[Any, ...]]], times: int) -> Callable[[], None]:
    """An action that makes these calls of kernels, one after the other, so many times in one compiled loop."""
    call_all = _compiled(lambda arguments: None)
    for function, _ in reversed(calls):
        call_all = _compiled(_before(function, call_all))

    def loop(arguments: Any, times: int) -> None:
        for _ in range(times):
            call_all(arguments)

    run, arguments = _compiled(loop), tuple(own for _, own in calls)
    return lambda: run(arguments, times)


def _before(function: Callable[..., Any], others: Callable[..., Any]) -> Callable[[Any], None]:
    def call(arguments: Any) -> None:
        function(*arguments[0])
        others(arguments[1:])

    return call
