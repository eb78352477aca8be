"""Calls of Python from compiled code, by address."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


class Callback:
    """A function of a number that compiled code calls with `call_python`; it returns whether all went well.

    What it raises is kept, for the caller of the compiled code to raise.
    """

    def __init__(self, function: Callable[[int], bool]) -> None:
        self.function = function
        self.error: BaseException | None = None
        self._code = _PROTOTYPE(self._call)
        self.address = int(ctypes.cast(self._code, ctypes.c_void_p).value or 0)

    def _call(self, number: int) -> int:
        try:
            return int(self.function(number))
        except BaseException as error:
            self.error = error
            return 0

    def check(self) -> None:
        """Raise what the function raised."""
        error, self.error = self.error, None
        if error is not None:
            raise error


def _uncompiled(address: int, number: int) -> int:
    return int(_PROTOTYPE(address)(number))


def _compiled(context: Any, address: Any, number: Any) -> Any:
    """Call the Callback at an address with a number; 0 if it failed."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(values[0], ir.FunctionType(word, [word]).as_pointer())
        return builder.call(function, [values[1]])

    return types.int64(types.int64, types.int64), generate


call_python: Any = _uncompiled if numba.config.DISABLE_JIT else intrinsic(_compiled)
