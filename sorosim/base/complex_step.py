"""Numbers that carry a derivative: the complex step through everything that makes arrays of a description.

While a description is compiled inside `varying`, one of its scalars is x + i STEP, and what depends on it is complex,
with the derivative times STEP as its imaginary part. Nothing is subtracted, so derivatives are exact to rounding; the
square of STEP is below what any real part can show. Code on that way compares real parts and calls analytic functions
only; numbers that lose their imaginary part raise.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sorosim.base.arrays import Array

STEP = 1e-40

_local = threading.local()
_lock = threading.RLock()


def is_varying() -> bool:
    """Whether this thread compiles a description with a scalar that carries a derivative."""
    return getattr(_local, "varying", False)


def number_type() -> Any:
    """Type of the entries of arrays that are made of a description."""
    return complex if is_varying() else float


@contextmanager
def varying() -> Iterator[None]:
    """Descriptions take complex numbers here, in this thread; an imaginary part that is thrown away is an error."""
    # filters of warnings belong to all threads
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        before, _local.varying = is_varying(), True
        try:
            yield
        finally:
            _local.varying = before


def derivative(array: Any) -> Array:
    """Derivative that an array carries; zero for real ones."""
    return np.asarray(np.imag(array) / STEP, dtype=float)
