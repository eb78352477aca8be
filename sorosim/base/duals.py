"""Arrays that carry their derivatives along m directions (forward mode), by the rule of each operation of numpy.

What has no rule here raises: nothing that depends on a direction is ever taken for constant. Comparisons, signs and
whole parts are those of the values, so that a branch has the derivative of its own side. Values and slopes may be duals
themselves, for second derivatives.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from sorosim.base.errors import ModelError, PlugInError

# partial derivatives of y = f(x) and y = f(a, b)
PARTIALS: dict[Any, tuple[Callable[..., Any], ...]] = {
    np.add: (lambda a, b, y: 1.0, lambda a, b, y: 1.0),
    np.subtract: (lambda a, b, y: 1.0, lambda a, b, y: -1.0),
    np.multiply: (lambda a, b, y: b, lambda a, b, y: a),
    np.divide: (lambda a, b, y: 1.0 / b, lambda a, b, y: -y / b),
    np.power: (lambda a, b, y: b * a ** (b - 1 + 1.0 * (plain(b) == 0)), lambda a, b, y: y * np.log(a)),
    np.arctan2: (lambda a, b, y: b / (a * a + b * b), lambda a, b, y: -a / (a * a + b * b)),
    np.hypot: (lambda a, b, y: a / _nonzero(y), lambda a, b, y: b / _nonzero(y)),
    np.maximum: (lambda a, b, y: 1.0 * (a >= b), lambda a, b, y: 1.0 * (a < b)),
    np.minimum: (lambda a, b, y: 1.0 * (a <= b), lambda a, b, y: 1.0 * (a > b)),
    np.negative: (lambda x, y: -1.0,),
    np.positive: (lambda x, y: 1.0,),
    np.absolute: (lambda x, y: 1.0 - 2.0 * (x < 0.0),),
    np.sqrt: (lambda x, y: 0.5 / y,),
    np.square: (lambda x, y: 2.0 * x,),
    np.exp: (lambda x, y: y,),
    np.expm1: (lambda x, y: y + 1.0,),
    np.log: (lambda x, y: 1.0 / x,),
    np.log1p: (lambda x, y: 1.0 / (1.0 + x),),
    np.sin: (lambda x, y: np.cos(x),),
    np.cos: (lambda x, y: -np.sin(x),),
    np.tan: (lambda x, y: 1.0 + y * y,),
    np.arcsin: (lambda x, y: 1.0 / np.sqrt(1.0 - x * x),),
    np.arccos: (lambda x, y: -1.0 / np.sqrt(1.0 - x * x),),
    np.arctan: (lambda x, y: 1.0 / (1.0 + x * x),),
    np.sinh: (lambda x, y: np.cosh(x),),
    np.cosh: (lambda x, y: np.sinh(x),),
    np.tanh: (lambda x, y: 1.0 - y * y,),
    np.arcsinh: (lambda x, y: 1.0 / np.sqrt(1.0 + x * x),),
}
# what steps from one value to the next: of the values, with no derivative
STEPS = {
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isfinite, np.isnan, np.sign,
    np.heaviside, np.floor, np.ceil, np.rint, np.trunc,
}  # fmt: skip
METHODS = {"sum", "mean", "dot", "reshape", "ravel", "squeeze", "transpose", "swapaxes", "copy", "clip"}
HINT = "or give its derivatives by a method `tangents` (docs/plugins.md)"
SAME = 1e-9  # of the largest value: sums in another order
LEVI_CIVITA = np.zeros((3, 3, 3))
LEVI_CIVITA[[0, 1, 2], [1, 2, 0], [2, 0, 1]], LEVI_CIVITA[[0, 1, 2], [2, 0, 1], [1, 2, 0]] = 1.0, -1.0


class NoDerivativeError(TypeError):
    """An operation that has no rule for derivatives."""


class Dual(NDArrayOperatorsMixin):
    """An array (...) and its slopes (..., m) along m directions."""

    def __init__(self, value: Any, slopes: Any) -> None:
        self.value, self.slopes = value, slopes

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    T = property(lambda self: np.transpose(self))
    level = property(lambda self: 1 + getattr(self.value, "level", 0))  # 2: of which the values are duals

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(plain(self))

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"numbers with derivatives have no '{name}'")
        if name in ("reshape", "transpose"):  # their shape need not be a tuple
            return lambda *shape: getattr(np, name)(self, *([shape] if len(shape) > 1 else shape))
        return lambda *arguments, **options: getattr(np, name)(self, *arguments, **options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NoDerivativeError(
            "plain numbers in the place of numbers with derivatives, as np.zeros, np.array, float or math.sin ask for: "
            "write np.zeros_like(eta), np.stack, np.sin"
        )

    __float__ = __int__ = __index__ = __round__ = __array__

    def __getitem__(self, key: Any) -> Dual:
        value, slopes = self.value[key], self.slopes[_before_last(key)]
        # where the value is a copy, as a single number is, later writes to the array must not reach the slopes either
        return Dual(value, slopes if _shared(value, self.value) else np.copy(slopes))

    def __setitem__(self, key: Any, given: Any) -> None:
        if getattr(given, "level", 0) > self.level:
            given.__array__()
        value, slopes = _split(given, self.level)
        self.value[key] = value
        self.slopes[_before_last(key)] = 0.0 if slopes is None else slopes

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__" or options:
            raise _no_rule(ufunc, [*options, *({method} - {"__call__"})])
        if ufunc in STEPS and out is None:
            return ufunc(*(plain(x) for x in inputs))
        if ufunc is np.matmul:
            found = _matmul(*inputs)
        elif ufunc in PARTIALS:
            inputs = tuple(np.asarray(x) if isinstance(x, list | tuple) else x for x in inputs)
            level = max(getattr(x, "level", 0) for x in inputs)
            values, slopes = zip(*(_split(x, level) for x in inputs), strict=True)
            y = ufunc(*values)
            parts = [_times(partial(*values, y), s)
                     for partial, s in zip(PARTIALS[ufunc], slopes, strict=True) if s is not None]  # fmt: skip
            found = Dual(y, _spread(sum(parts[1:], parts[0]), np.shape(y)))
        else:
            raise _no_rule(ufunc)
        if out is None or (isinstance(out[0], Dual) and not isinstance(plain(out[0]), np.ndarray)):
            return found  # a single number is bound anew
        out[0][...] = found  # into an array of plain numbers: refused there
        return out[0]

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function not in RULES:
            raise _no_rule(function)
        try:
            inspect.signature(RULES[function]).bind(*arguments, **options)
        except TypeError:
            raise _no_rule(function, list(options)) from None
        return RULES[function](*arguments, **options)


def plain(x: Any) -> Any:
    """The numbers alone."""
    while isinstance(x, Dual):
        x = x.value
    return x


def _no_rule(function: Any, options: Any = ()) -> NoDerivativeError:
    module = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    words = f" with {', '.join(options)}" if options else ""
    return NoDerivativeError(f"{module}.{function.__name__}{words} has no rule for derivatives")


def _split(x: Any, level: int) -> tuple[Any, Any]:
    """Value and slopes at a level; what is of a lower one is constant there: None."""
    return (x.value, x.slopes) if getattr(x, "level", 0) == level else (x, None)


def _before_last(key: Any) -> Any:
    """The key of the slopes, which have one more axis."""
    parts = key if isinstance(key, tuple) else (key,)
    return (*parts, slice(None)) if any(part is Ellipsis for part in parts) else key


def _axes(axis: Any, ndim: int) -> Any:
    """The same axes of an array with one more at its end."""
    return tuple(range(ndim)) if axis is None else tuple(np.atleast_1d(axis) % ndim)


def _spread(slopes: Any, shape: tuple[int, ...]) -> Any:
    """Slopes of an array of this shape."""
    wanted = (*shape, slopes.shape[-1])
    if slopes.shape == wanted:
        return slopes
    spread = np.broadcast_to(slopes, wanted)
    return np.copy(spread) if isinstance(spread, Dual) else np.array(spread, order="C")


def _shared(a: Any, b: Any) -> bool:
    """Whether two arrays may be views of the same numbers."""
    a, b = plain(a), plain(b)
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b)


def _nonzero(y: Any) -> Any:
    """Lengths, 1 where they are zero: the slope of |x| at 0 is taken as zero, the mean of all directions.

    A function of |x| and x with a first derivative does not see which slope it is. Second derivatives do: they are NaN.
    """
    return y if isinstance(y, Dual) else y + 1.0 * (y == 0.0)


def _times(partial: Any, slopes: Any) -> Any:
    """Partial derivative times slopes; as `_nonzero` where f has no finite slope, and its argument none at all."""
    if isinstance(partial, int | float) and not isinstance(partial, np.generic):
        return partial * slopes
    product = partial[..., None] * slopes
    if isinstance(product, Dual) or np.isfinite(product).all():
        return product
    return np.where(np.isfinite(product) | (slopes != 0.0), product, 0.0)


def _einsum(subscripts: str, *arrays: Any) -> Dual:
    """Products of arrays: the derivative of each in turn."""
    if "->" not in subscripts:
        raise NoDerivativeError("np.einsum without -> has no rule for derivatives")
    Z = next(letter for letter in "ZYXWV" if letter not in subscripts)
    level = max(getattr(x, "level", 0) for x in arrays)
    values, slopes = zip(*(_split(x, level) for x in arrays), strict=True)
    (names, out), parts = subscripts.split("->"), []
    for k, own in enumerate(slopes):
        if own is not None:
            with_own = ",".join(f"{name}{Z}" if i == k else name for i, name in enumerate(names.split(",")))
            parts.append(np.einsum(f"{with_own}->{out}{Z}", *values[:k], own, *values[k + 1 :]))
    return Dual(np.einsum(subscripts, *values), sum(parts[1:], parts[0]))


def _matmul(a: Any, b: Any) -> Dual:
    left, right = (("", "j") if np.ndim(x) == 1 else ("...", name) for x, name in ((a, "ij"), (b, "jk")))
    first, last = f"{left[0]}{left[1]}", f"{right[0]}{right[1]}"
    out = f"{'...' if '...' in (left[0], right[0]) else ''}{'i' if left[0] else ''}{'k' if right[0] else ''}"
    return _einsum(f"{first},{last}->{out}", a, b)


def _dot(a: Any, b: Any) -> Any:
    if not np.ndim(a) or not np.ndim(b) or np.ndim(b) > 2:
        raise _no_rule(np.dot, ["such shapes"])
    return _matmul(a, b)


def _cross(a: Any, b: Any) -> Dual:
    return _einsum("ijk,...j,...k->...i", LEVI_CIVITA, a, b)


def _sum(x: Dual, axis: Any = None, *, keepdims: bool = False) -> Dual:
    slopes = np.sum(x.slopes, axis=_axes(axis, x.ndim), keepdims=keepdims)
    return Dual(np.sum(x.value, axis=axis, keepdims=keepdims), slopes)


def _mean(x: Dual, axis: Any = None, *, keepdims: bool = False) -> Any:
    total = _sum(x, axis, keepdims=keepdims)
    return total * (total.size / x.size)


def _norm(x: Dual, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Dual:
    if ord not in (None, 2) or (ord == 2 and axis is None and x.ndim > 1) or isinstance(axis, tuple):
        raise _no_rule(np.linalg.norm, {"ord": ord, "axis": axis})
    length = np.linalg.norm(x.value, axis=axis, keepdims=True)
    direction = x.value / _nonzero(length)
    slopes = np.sum(direction[..., None] * x.slopes, axis=_axes(axis, x.ndim), keepdims=keepdims)
    return Dual(length if keepdims else np.sum(length, axis=axis), slopes)


def _where(condition: Any, a: Any, b: Any) -> Any:
    level = max(getattr(x, "level", 0) for x in (a, b))
    if level == 0:
        return np.where(plain(condition), a, b)
    (a, da), (b, db) = _split(a, level), _split(b, level)
    value = np.where(plain(condition), a, b)
    slopes = np.where(np.asarray(plain(condition))[..., None], *(0.0 if d is None else d for d in (da, db)))
    return Dual(value, _spread(slopes, np.shape(value)))


def _clip(x: Any, a_min: Any = None, a_max: Any = None) -> Any:
    x = x if a_min is None else np.maximum(x, a_min)
    return x if a_max is None else np.minimum(x, a_max)


def _joining(function: Any) -> Callable[..., Dual]:
    def join(parts: Sequence[Any], axis: int = 0) -> Dual:
        level = max(getattr(x, "level", 0) for x in parts)
        values, slopes = zip(*(_split(x, level) for x in parts), strict=True)
        m = next(s.shape[-1] for s in slopes if s is not None)
        value = function(values, axis=axis)
        changes = [np.zeros((*np.shape(x), m)) if s is None else s for x, s in zip(values, slopes, strict=True)]
        return Dual(value, function(changes, axis=axis % value.ndim))

    return join


def _hstack(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts, axis=min(np.ndim(parts[0]) - 1, 1))


def _reshaping(function: Any) -> Callable[..., Dual]:
    """A view: what is written to it is written to both."""

    def reshape(x: Dual, *shape: Any, axis: Any = None) -> Dual:
        if len(shape) > 1 or (function is np.ravel and shape):
            raise _no_rule(function, ["order"])
        value = function(x.value, *shape, **({} if axis is None else {"axis": axis}))
        slopes = np.reshape(x.slopes, (*value.shape, x.slopes.shape[-1]))
        if _shared(value, x.value) and not _shared(slopes, x.slopes):
            raise _no_rule(function, ["an array whose slopes lie in another order"])
        return Dual(value, slopes if _shared(value, x.value) else np.copy(slopes))

    return reshape


def _broadcast(x: Dual, shape: tuple[int, ...]) -> Dual:
    m = x.slopes.shape[-1]
    slopes = np.reshape(x.slopes, (*(1,) * (len(shape) - x.ndim), *x.slopes.shape))
    return Dual(np.broadcast_to(x.value, shape), np.broadcast_to(slopes, (*shape, m)))


def _permuting(function: Any) -> Callable[..., Dual]:
    def permute(x: Dual, *axes: Any) -> Dual:
        # where each axis goes, by an array whose axes have lengths 0, 1, 2...
        order = function(np.empty(range(x.ndim)), *axes).shape
        return Dual(function(x.value, *axes), np.transpose(x.slopes, (*order, x.ndim)))

    return permute


def _like(function: Any) -> Callable[..., Dual]:
    return lambda x, *fill: Dual(function(x.value, *fill), np.zeros_like(x.slopes))


RULES: dict[Any, Callable[..., Any]] = {
    np.sum: _sum, np.mean: _mean, np.einsum: _einsum, np.dot: _dot, np.cross: _cross, np.linalg.cross: _cross,
    np.linalg.norm: _norm, np.where: _where, np.clip: _clip, np.hstack: _hstack,
    np.outer: lambda a, b: _einsum("i,j->ij", np.ravel(a), np.ravel(b)),
    np.copy: lambda x: Dual(np.copy(x.value), np.copy(x.slopes)),
    np.broadcast_to: _broadcast,
    np.shape: lambda x: x.shape, np.ndim: lambda x: x.ndim, np.size: lambda x: x.size,
    **{function: _joining(function) for function in (np.stack, np.concatenate)},
    **{function: _reshaping(function) for function in (np.reshape, np.ravel, np.squeeze, np.expand_dims)},
    **{function: _permuting(function) for function in (np.transpose, np.swapaxes, np.moveaxis)},
    **{function: _like(function) for function in (np.zeros_like, np.ones_like, np.full_like)},
}  # fmt: skip


def minus_gradient(energy: Callable[[Any], Any], x: Any, slopes: Any) -> Any:
    """Minus the derivative (n, m) of an energy (n,) by what moves x (n, ...) along `slopes` (n, ..., m)."""
    for _ in range(getattr(x, "level", 0) - getattr(slopes, "level", 0)):
        slopes = Dual(slopes, np.zeros((*slopes.shape, x.slopes.shape[-1])))
    moved = Dual(np.copy(x), slopes)
    found = energy(moved)
    if np.shape(found) != (len(x),):
        raise PlugInError("energy", f"shape ({len(x)},)", f"shape {np.shape(found)}")
    return -found.slopes if getattr(found, "level", 0) == moved.level else np.zeros((len(x), slopes.shape[-1]))


def differentiated(function: Callable[..., Any], numbers: Sequence[Any], slopes: Sequence[Any]) -> tuple[Any, Any]:
    """Value of a function of arrays, and its slopes (..., m) where these have slopes (..., m).

    Raises
    ------
    PlugInError
        It runs with numbers, but not with duals, or gives something else with them.
    """
    value, m = np.asarray(function(*(np.array(x) for x in numbers)), dtype=float), slopes[0].shape[-1]
    if not np.isfinite(value).all():
        return value, np.zeros((*value.shape, m))
    try:
        with np.errstate(all="ignore"):
            found = function(*(Dual(np.array(x), dx) for x, dx in zip(numbers, slopes, strict=True)))
    except (ModelError, PlugInError):
        raise
    except Exception as error:
        kind = "" if isinstance(error, NoDerivativeError) else f"{type(error).__name__}: "
        got = kind + str(error).partition("\n")[0]
        raise PlugInError("", "functions of numpy that have derivatives", got, HINT) from error
    size = np.abs(value).max(initial=0.0)
    if np.shape(found) != value.shape or not np.abs(plain(found) - value).max(initial=0.0) <= SAME * size:
        raise PlugInError("", "the same values with derivatives as without", "others", HINT)
    return value, found.slopes if isinstance(found, Dual) else np.zeros((*value.shape, m))
