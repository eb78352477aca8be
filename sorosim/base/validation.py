"""Checks of the arguments of public functions, before any computing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array, IntArray
from sorosim.base.complex_step import is_varying
from sorosim.base.errors import KNOWN, InputError, ModelError, nearest

# arguments with a dimension: a number in SI units, or a text with a unit; several in order, or by their names
Number = float | str
Values = ArrayLike | Mapping[str, Number]

# larger numbers are refused: the sixth power of this one is still finite, as are products that mechanics makes of it
LARGEST = 1e50


def vector(where: str, value: ArrayLike, n: int) -> Array:
    """Return a fresh (n,) array of finite numbers, refusing anything else."""
    is_array = type(value) is np.ndarray and value.dtype == np.float64  # most are
    array = value.copy() if is_array else _reals(where, value, f"{n} numbers")  # type: ignore[union-attr]
    if array.shape != (n,):
        raise InputError(where, f"{n} numbers, shape ({n},)", f"shape {array.shape}")
    fit = np.abs(array) <= LARGEST
    if np.count_nonzero(fit) < n:  # half the time of all()
        bad = int(np.argmin(fit))
        raise InputError(where, finite_numbers(array[bad]), f"{array[bad]} at index {bad}")
    return array


def columns(where: str, value: ArrayLike, n: int, m: int | None = None) -> Array:
    """Return a fresh (n, m) array of finite numbers, refusing anything else; without m, (n,) or of any m."""
    array = _reals(where, value, f"{n} numbers, or columns of them")
    if m is not None and array.shape != (n, m):
        raise InputError(where, f"a matrix ({n}, {m})", f"an array of shape {array.shape}")
    if array.ndim not in (1, 2) or len(array) != n:
        raise InputError(where, f"{n} numbers or columns of them, shape ({n},) or ({n}, m)", f"shape {array.shape}")
    fit = np.abs(array) <= LARGEST
    if not fit.all():
        bad = np.unravel_index(int(np.argmin(fit)), array.shape)
        index = ", ".join(str(int(i)) for i in bad)
        raise InputError(where, finite_numbers(array[bad]), f"{array[bad]} at index {index}")
    return array


def finite_numbers(number: float) -> str:
    """What is expected in the place of a number that is none, or too large."""
    return f"finite numbers up to {LARGEST:g}" if np.isfinite(number) else "finite numbers"


def _reals(where: str, value: ArrayLike, expected: str) -> Array:
    """A fresh array of real numbers of any shape."""
    try:
        given = np.asarray(value)
        # numpy would also take truth values, texts, dates and the real parts of complex numbers
        if given.dtype.kind not in "fiu":
            raise TypeError
        return given.astype(np.float64)
    except (TypeError, ValueError):
        hint = "its .q are coordinates" if hasattr(value, "q") else ""
        raise InputError(where, expected, f"{type(value).__name__} {str(value)[:40]!r}", hint) from None


def as_real(thing: object) -> float | None:
    """Return a real scalar as float (infinite if too large), None for anything else, bool included.

    Where a description is differentiated, a number that carries a derivative is returned as it is.
    """
    if type(thing) is float:  # most are, and the others take ten times as long
        return thing
    if isinstance(thing, np.ndarray) and thing.ndim == 0:
        thing = thing[()]
    if isinstance(thing, complex) and is_varying():
        return np.complex128(thing)  # type: ignore[return-value]
    if isinstance(thing, bool) or not isinstance(thing, Real):
        return None
    try:
        return float(thing)
    except OverflowError:
        return math.inf


def describe(value: object) -> str:
    """Return how ``value`` reads in an error message: short, on one line, the same for Python and numpy numbers."""
    if value is None:
        return "nothing"
    if isinstance(value, np.generic):
        value = value.item()
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # of a class of the caller, or of an integer with too many digits
        return f"a {type(value).__name__} that cannot be printed ({type(error).__name__})"
    return text if len(text) <= 60 else text[:57] + "..."


def counted(n: int, thing: str) -> str:
    """A number of things: "1 loop", "2 loops"."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def number(
    where: str,
    value: object,
    expected: str = "a finite number",
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    upto: float = math.inf,
    error: type[InputError | ModelError] = InputError,
) -> float:
    """Return ``value`` as a float, refusing what is not a number with above < value, least <= value <= upto.

    Booleans, texts, complex numbers, NaN and infinity are refused; ``expected`` is the wording of the error.
    """
    converted = as_real(value)
    if converted is None:
        raise error(where, expected, describe(value))
    size = converted.real
    if LARGEST < abs(size) < math.inf:
        raise error(where, f"{expected}, and none beyond {LARGEST:g}", describe(value), "look for a wrong unit")
    if not (math.isfinite(size) and above < size and least <= size <= upto):
        raise error(where, expected, describe(value))
    return converted


def positive(where: str, value: object) -> float:
    """Return a number above zero, refusing anything else."""
    return number(where, value, "a number greater than 0", above=0.0)


def flag(where: str, value: object) -> bool:
    """Return a truth value, refusing anything else."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(where, "True or False", describe(value))
    return bool(value)


def indices(where: str, value: object, n: int) -> IntArray:
    """Return different indices from 0 to n - 1, of indices or of a mask (n,), refusing anything else."""
    given = np.asarray(value)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    known = given.ndim == 1 and (given.dtype.kind in "iu" or given.size == 0)
    if not known or not set(given.tolist()) <= set(range(n)) or len(set(given.tolist())) < given.size:
        raise InputError(where, f"different indices from 0 to {n - 1}, or a mask of {n}", describe(value))
    return given.astype(np.int64)


def choice(where: str, value: object, known: Sequence[str]) -> str:
    """Return one of the known words, refusing anything else."""
    if not isinstance(value, str) or value not in known:
        hint = nearest(str(value), known)
        raise InputError(where, f"one of {', '.join(known)}", describe(value), "" if hint.startswith(KNOWN) else hint)
    return value
