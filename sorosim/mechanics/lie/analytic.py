"""Functions of real numbers, and of complex ones that carry a derivative, for compiled code (docs/theory.md, 13).

A kernel that is given complex arrays whose imaginary parts are a tiny step times the derivatives of the real parts
returns such arrays. For that it branches by real parts only, and calls nothing that is not analytic.
"""

from __future__ import annotations

import math
from typing import Any

import numba
from numba.extending import overload

from sorosim.base.compiled import kernel_in_place


def arctan2(y: Any, x: Any) -> Any:
    """Angle of the point (x, y) [rad], continued analytically."""
    if isinstance(y, complex) or isinstance(x, complex):
        return _complex_arctan2(complex(y), complex(x))
    return math.atan2(y, x)


def _complex_arctan2(y: complex, x: complex) -> complex:
    # to first order in the imaginary parts, whose squares are below the smallest float
    turned = (x.real * y.imag - y.real * x.imag) / (x.real * x.real + y.real * y.real)
    return complex(math.atan2(y.real, x.real), turned)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent; that of numba overflows for complex numbers."""
    return _complex_tanh(complex(x)) if isinstance(x, complex) else math.tanh(x)


def _complex_tanh(x: complex) -> complex:
    t = math.tanh(x.real)
    return complex(t, (1.0 - t * t) * x.imag)


_kernel_arctan2, _kernel_tanh = kernel_in_place(_complex_arctan2), kernel_in_place(_complex_tanh)


@overload(arctan2)
def _compiled_arctan2(y: Any, x: Any) -> Any:
    def of_complex(y: Any, x: Any) -> Any:
        return _kernel_arctan2(complex(y), complex(x))

    def of_real(y: Any, x: Any) -> Any:
        return math.atan2(y, x)

    return of_complex if any(isinstance(kind, numba.types.Complex) for kind in (y, x)) else of_real


@overload(tanh)
def _compiled_tanh(x: Any) -> Any:
    def of_complex(x: Any) -> Any:
        return _kernel_tanh(complex(x))

    def of_real(x: Any) -> Any:
        return math.tanh(x)

    return of_complex if isinstance(x, numba.types.Complex) else of_real
