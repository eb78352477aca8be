"""Expressions of named variables as text: parsed by an own small parser into an opcode tape, never run as Python.

``parse("3 cm - 1.5 cm*s", ["X", "s"], unit_factor)`` gives an :class:`Expression`, which evaluates on arrays and on
jets (value, first and second derivative along one parameter). Everything is bounded, so that a file cannot hang it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.arrays import Array, IntArray
from sorosim.base.complex_step import STEP, derivative, is_varying, number_type
from sorosim.base.errors import ExpressionError, InputError, nearest
from sorosim.base.signals import opcodes
from sorosim.base.signals.parser import CONSTANTS, FUNCTIONS, MAX_TEXT, Parser, UnitFactor, excerpt, tape_arrays
from sorosim.base.validation import LARGEST, as_real, describe


@dataclass(frozen=True)
class Expression:
    """A parsed expression; made by :func:`parse`.

    Attributes
    ----------
    text : str
        What was parsed.
    variables : tuple of str
        Declared names, in the order of the tape's variables.
    code, constants : (n, 2) int64, (m,) float64, read-only
        The tape, see :mod:`sorosim.base.signals.tape`.
    depth : int
        Rows of stack that its evaluation needs.
    """

    text: str
    variables: tuple[str, ...]
    code: IntArray = field(repr=False, compare=False)
    constants: Array = field(repr=False, compare=False)
    depth: int = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        self.code.setflags(write=False)
        self.constants.setflags(write=False)

    def __reduce__(self) -> tuple[object, ...]:
        # through the constructor, so that a copy is read-only too
        return Expression, (self.text, self.variables, self.code, self.constants, self.depth)

    @property
    def used(self) -> tuple[str, ...]:
        """Variables that the expression really contains."""
        arguments = set(self.code[self.code[:, 0] == opcodes.VARIABLE, 1].tolist())
        return tuple(name for i, name in enumerate(self.variables) if i in arguments)

    def __call__(self, /, **values: object) -> Any:
        """Evaluate on numbers or arrays that broadcast together.

        Returns
        -------
        float or ndarray
            Of the broadcast shape. Outside a function's domain NaN or an infinity, never an exception.
        """
        given = self._as_floats(values)
        try:
            shape = np.broadcast_shapes(*(value.shape for value in given.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in given.items())
            raise InputError(self._where, "shapes that broadcast together", shapes) from None
        variables = np.zeros((*shape, len(self.variables), 3), dtype=number_type())
        for name, value in given.items():
            variables[..., self.variables.index(name), 0] = value
        variables = variables.reshape(math.prod(shape), len(self.variables), 3)
        out = (self._varied(variables) if is_varying() else self._evaluate(variables))[:, 0]
        return out.reshape(shape) if shape else out[0] if is_varying() else float(out[0])

    def jets(self, /, **values: object) -> Array:
        """Evaluate with first and second derivatives along one parameter.

        Parameters
        ----------
        **values : (n, 3) array_like of jets, (n,) array_like of constant values, or one constant number
            Per variable: value, first and second derivative by the parameter. [unit, unit per p, unit per p^2]

        Returns
        -------
        (n, 3) ndarray
            Value, first and second derivative of the expression.
        """
        given = self._as_floats(values)
        n, first = 1, ""
        for name, value in given.items():
            if value.ndim > 2 or (value.ndim == 2 and value.shape[1] != 3):
                raise InputError(self._where, f"{name} of shape (n, 3), (n,) or ()", f"shape {value.shape}")
            if value.ndim and not first:
                n, first = value.shape[0], name
            elif value.ndim and value.shape[0] != n:
                raise InputError(self._where, f"{name} of the length of {first}, {n}", f"{value.shape[0]}")
        variables = np.zeros((n, len(self.variables), 3), dtype=number_type())
        for name, value in given.items():
            variables[:, self.variables.index(name), slice(3) if value.ndim == 2 else 0] = value
        return self._varied(variables) if is_varying() else self._evaluate(variables)

    def _varied(self, variables: NDArray[Any]) -> NDArray[Any]:
        """Jets (n, 3) of variables (n, n_variables, 3) that carry a derivative; that of the second one is not known.

        With a jet a, a', a'' and what b, b' are added to it by the scalar: f changes by Df b, f' by D2f(a', b) + Df b'.
        """
        a, b = variables.real.copy(), derivative(variables)
        if not b.any():
            return self._evaluate(a) + 0j

        def along(first: Array) -> Array:
            jet = np.stack([a[..., 0], first, 0.0 * first], axis=-1)
            return self._evaluate(jet)

        by_b = along(b[..., 0])
        mixed = 0.5 * (along(a[..., 1] + b[..., 0])[:, 2] - along(a[..., 1])[:, 2] - by_b[:, 2])
        changes = np.stack([by_b[:, 1], mixed + along(b[..., 1])[:, 1], np.full(len(a), np.nan)], axis=-1)
        return self._evaluate(a) + 1j * STEP * changes

    def partly(self, /, **values: float) -> Expression:
        """The expression of the other variables, with numbers in the place of these."""
        left = tuple(name for name in self.variables if name not in values)
        place = {self.variables.index(name): left.index(name) for name in left}
        fixed = {self.variables.index(name): len(self.constants) + i for i, name in enumerate(values)}
        code = np.array(self.code)
        for row in code:
            if row[0] == opcodes.VARIABLE:
                row[:] = (opcodes.CONSTANT, fixed[row[1]]) if row[1] in fixed else (opcodes.VARIABLE, place[row[1]])
        constants = np.concatenate([self.constants, [float(value) for value in values.values()]])
        return Expression(self.text, left, code, constants, self.depth)

    @property
    def _where(self) -> str:
        return f"expression {excerpt(self.text, 0)}"

    def _as_floats(self, values: dict[str, Any]) -> dict[str, Array]:
        for name in values:
            if name not in self.variables:
                known = nearest(name, self.variables)
                raise InputError(self._where, "a variable of the expression", repr(name), known)
        missing = [name for name in self.variables if name not in values]
        if missing and (missing := [name for name in self.used if name in missing]):
            raise InputError(self._where, f"a value of {missing[0]}", "none", f"write {missing[0]}=...")
        given = {}
        for name, value in values.items():
            try:
                array = np.asarray(value)
                if array.dtype.kind not in ("iufc" if is_varying() else "iuf"):
                    raise TypeError
                given[name] = array.astype(number_type())
            except (TypeError, ValueError):
                raise InputError(self._where, f"real numbers for {name}", describe(value)) from None
        return given

    def _evaluate(self, variables: Array) -> Array:
        from sorosim.base.signals.tape import evaluate_tape_many  # numba, which reading options does without

        out = np.empty((len(variables), 3))
        # writable copies: numba would compile the evaluator a second time for read-only arrays
        code, constants = np.array(self.code), np.array(self.constants)
        with np.errstate(all="ignore"):
            evaluate_tape_many(code, constants, variables, np.empty((self.depth, 3)), out)
        return out


def parse(
    text: str | float, variables: Iterable[str], unit_factor: UnitFactor | None = None, where: str = "expression"
) -> Expression:
    """Turn text, or a bare number, into an :class:`Expression`.

    Parameters
    ----------
    text : str or float
        For instance ``"5*(1 - cos(pi*t))"``. At most 2000 characters, 50 levels of nesting, 1000 rows of tape.
    variables : iterable of str
        Names that may occur.
    unit_factor : callable, optional
        Gives the factor of a unit to SI, or None for a word that is not a unit. Default: there are no units.
    where : str, optional
        What the expression belongs to, for messages.

    Raises
    ------
    ExpressionError
        With the column of the mistake, what was expected, what came and what to try.

    Notes
    -----
    A unit is one word: ``10 kPa*s`` is 10 kPa times the variable s. A word that is a declared variable is never
    taken as a unit, and a power directly after a unit is refused, because 3 cm^2 would be read as (3 cm)^2.
    """
    names = _checked_names((variables,) if isinstance(variables, str) else tuple(variables))
    number = as_real(text)
    if number is not None:
        if not abs(number) <= LARGEST:
            expected = "a finite number" + f" up to {LARGEST:g}" * math.isfinite(number)
            raise ExpressionError(where, expected, repr(number))
        return Expression(repr(number), names, *tape_arrays([(opcodes.CONSTANT, 0)], [number]))
    if not isinstance(text, str):
        raise ExpressionError(where, "a number or the text of an expression", describe(text))
    if len(text) > MAX_TEXT:
        raise ExpressionError(where, f"at most {MAX_TEXT} characters", f"{len(text)}", "use a table for measured data")
    return Expression(text, names, *tape_arrays(*Parser(text, names, unit_factor, where).run()))


def _checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name.isidentifier():
            raise InputError("variables", "names made of letters, digits and underscores", repr(name))
        if name in FUNCTIONS or name in CONSTANTS:
            raise InputError("variables", "names other than those of functions and constants", repr(name))
        if name in names[:i]:
            raise InputError("variables", "different names", f"{name!r} twice")
    return names
