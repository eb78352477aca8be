"""Compiled functions called from a compiled loop: their own time, as inside a solver that is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import overload

from sorosim.compiled import WRONG_TYPES, call_at, kernel_in_place, pointer_to


def call_all(steps: tuple[Any, ...]) -> int:
    """Call kernels by their addresses, steps of (pointer, arguments); WRONG_TYPES if one was made for other types."""
    results = [call_at(pointer, arguments) for pointer, arguments in steps]
    return WRONG_TYPES if WRONG_TYPES in results else 0


# counting references to a hundred arrays would take longer than most kernels
@overload(call_all, jit_options={"_nrt": False})  # type: ignore[untyped-decorator]
def _compiled_call_all(steps: Any) -> Any:
    def none(steps: Any) -> Any:
        return 0

    def first(steps: Any) -> Any:
        if call_at(steps[0][0], steps[0][1]) == WRONG_TYPES:
            return WRONG_TYPES
        return call_all(steps[1:])

    return first if len(steps) else none


def _call_often(steps: tuple[Any, ...], times: int) -> int:
    result = 0
    for _ in range(times):
        result = call_all(steps)
    return result


# not as a decorator: the digest of compiled code does without this file
_compiled_call_often = kernel_in_place(_call_often)


def repeated(calls: list[tuple[Callable[..., Any], tuple[Any, ...]]], times: int) -> Callable[[], int]:
    """An action that makes these calls of kernels, one after the other, so many times in one compiled loop."""
    steps = tuple((pointer_to(function, *arguments), arguments) for function, arguments in calls)

    def action() -> int:
        result: int = _compiled_call_often(steps, times)
        if result == WRONG_TYPES:
            raise TypeError("a kernel was compiled for arguments of other types")
        return result

    return action
