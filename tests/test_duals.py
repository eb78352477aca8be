"""Derivatives that arrays carry: each rule against differences, once and twice; what has no rule is refused."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sorosim.base.duals import Dual, differentiated, plain
from sorosim.base.errors import PlugInError
from sorosim.mechanics.testing.differences import jacobian

X = np.random.default_rng(0).normal(size=(4, 3))
A = np.random.default_rng(1).normal(size=(4, 3, 3))
UNIT = np.eye(12).reshape(4, 3, 12)


def dual(x):
    return Dual(np.array(x), UNIT[: len(x), : x.shape[1]].copy())


def second(x):
    """The same twice: values and slopes are duals."""
    return Dual(dual(x), Dual(UNIT.copy(), np.zeros((*UNIT.shape, 12))))


def room(x):
    w = np.zeros_like(x)
    w[:, 1:] = x[:, :2] * x[:, :1]
    w[:, 0] -= x[:, 2]
    w[0] = 2.0
    return w + 0.0 * np.ones_like(x) + np.full_like(x, 2.0)


def in_place(x):
    y = x * 1.0
    y *= x
    y += 1
    y[1] /= x[0]
    return y + x


def views(x):
    """What is written to views of an array is written to it."""
    w = np.zeros_like(x)
    w.T[2] = x[:, 0] ** 2
    w.reshape(2, 2, 3)[1] += x[:2] * x[:2]
    w.swapaxes(0, 1)[0] = 3.0 * x[:, 1]
    np.expand_dims(w, 0)[:, 2] *= x[0]
    np.moveaxis(w, 0, 1)[1, 3] = x[0, 0] ** 3
    w[:2][:, 1] = x[2, 2] ** 2
    return w


def branches(x):
    low, high = np.maximum(0.0, x) ** 1.5, np.minimum(x, 0.1 * np.ones(3))
    return np.where(x > 0.0, x**2, 3.0) + low + high + np.clip(x, -0.5, 0.5) + x.clip(0.0, 1.0) + abs(x) * np.sign(x)


def elementary(x):
    y = np.exp(-np.abs(x)) + np.tanh(x) + np.arctan(x) + np.sqrt(1.0 + x * x) + np.log(1.0 + x * x) + np.hypot(x, 2.0)
    y = y + 2**x + 1.0 / (1.0 + x**2) + np.expm1(x) + np.log1p(x * x) + np.arcsinh(x) + np.sinh(x) * np.cosh(x)
    y = y + np.tan(0.3 * x) - np.cos(x) + np.square(x) + np.arcsin(0.3 * x) + np.arccos(0.3 * x) + x**0 + x**3
    return -y + (2.0 + x) ** x + (3.0 + x) ** -2 + np.arctan2(x, 2.0 + x) + [1.0, 2.0, 3.0] * x


def products(x):
    y = (A @ x[..., None])[..., 0] + np.einsum("nij,nj,nk->nk", A, x, x) + np.cross(x, np.sin(x)) + x @ A[0] * x
    y = y + (x @ x[0])[:3] @ A[1] + (x[0] @ A[0] @ x[1]) + x.T.dot(x)[0] + np.dot(x, A[2]) + (x.T @ x)[1]
    return y + np.outer(x[0], x[1]) @ x[2] + ((x[:, None, :] @ A) @ x[..., None])[:, 0] + np.einsum("ij,ij->", x, x)


def sums(x):
    y = x.sum(axis=0) * np.mean(x) + np.sum(x * x, axis=(0, 1)) + np.sum(x, axis=-1, keepdims=True) + x.mean(-2)
    return y + np.linalg.norm(x, axis=1, keepdims=True) * x + np.linalg.norm(x) + np.linalg.norm(x.T, axis=0)[:, None]


def joints(x):
    y = np.stack([x[:, 0] ** 2, 0.0 * x[:, 1], np.arctan2(x[:, 1], x[:, 2])], axis=1)
    y = y + np.concatenate([x[:, :1], np.zeros((4, 1)), x[:, 1:2] * x[:, :1]], axis=-1)
    y = y + np.hstack([np.ones((4, 1)), x[:, :2]]) + np.hstack([x[0], x[1]])[2:5] + np.broadcast_to(x[0], (4, 3))
    y = y + x[:, None, :].squeeze(1) + np.copy(x) + x.ravel().reshape(4, 3) + np.stack([row * row for row in x])
    a, b, c = x.T
    return y + np.stack([c, a, b]).transpose(1, 0)[[3, 2, 1, 0]]


FUNCTIONS = [room, in_place, views, branches, elementary, products, sums, joints]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_slopes_are_those_of_differences_and_values_those_of_numbers(function):
    found = function(dual(X))
    by_differences = jacobian(lambda d: function(X + d.reshape(4, 3)), 12)
    assert found.shape == (4, 3)
    assert_allclose(found.value, function(X), rtol=1e-14, atol=1e-14)
    assert_allclose(found.slopes, by_differences, atol=1e-10 * np.abs(by_differences).max())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_second_derivatives_are_those_of_differences(function):
    with np.errstate(all="ignore"):
        found = function(second(X)).slopes
    by_differences = jacobian(lambda d: function(dual(X + d.reshape(4, 3))).slopes, 12)
    assert_allclose(found.slopes, by_differences, atol=1e-10 * np.abs(by_differences).max())
    assert_allclose(found.slopes, found.slopes.swapaxes(2, 3), atol=1e-12 * np.abs(by_differences).max())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.linalg.norm(x, axis=1, keepdims=True) * x,
        lambda x: np.sqrt((x * x).sum(1))[:, None] * x,
        lambda x: np.sqrt(x[0] @ x[0]) * x[0],
        lambda x: np.abs(x) * x,
        lambda x: np.abs(x) ** 2,
        lambda x: np.where(x > 0.0, np.sqrt(np.abs(x)), 0.0),
    ],
)
def test_at_rest_drag_has_its_derivative_which_is_zero(function):
    with np.errstate(all="ignore"):
        assert not np.any(function(dual(np.zeros((4, 3)))).slopes)


def test_second_derivatives_where_a_length_is_zero_are_right_or_none():
    zero = np.zeros((4, 3))
    twice = 2.0 * np.eye(12).reshape(4, 3, 12)
    squares = np.sum(second(zero) ** 2, axis=1)
    assert_allclose(squares.slopes.slopes, np.einsum("nia,nib->nab", twice, 0.5 * twice))
    assert_allclose((np.abs(second(zero)) ** 2).slopes.slopes.sum(axis=(0, 1)), 2.0 * np.eye(12))
    with np.errstate(all="ignore"):
        assert np.isnan((np.linalg.norm(second(zero), axis=1) ** 2).slopes.slopes).any()


REFUSED = {
    "an array of plain numbers": lambda x: np.zeros((4, 3)).__setitem__(slice(None), x),
    "one entry of it": lambda x: np.zeros(3).__setitem__(0, x[0, 0]),
    "in place": lambda x: np.ones((4, 3)).__iadd__(x),
    "a place to write to": lambda x: np.multiply(x, 2.0, out=np.zeros((4, 3))),
    "asarray": np.asarray,
    "array": lambda x: np.array([x[0], x[1]]),
    "list": lambda x: np.array(list(x)),
    "objects": lambda x: np.array(x[0, 0], dtype=object),
    "full": lambda x: np.full(3, x[0, 0]),
    "fill": lambda x: np.zeros(3).fill(x[0, 0]),
    "fromiter": lambda x: np.fromiter(x[0], float),
    "put": lambda x: np.put(np.zeros(3), 0, x[0, 0]),
    "copyto": lambda x: np.copyto(np.zeros((4, 3)), x),
    "float": lambda x: float(x[0, 0]),
    "int": lambda x: int(x[0, 0]),
    "float64": lambda x: np.float64(x[0, 0]),
    "text": lambda x: f"{x[0, 0]:g}",
    "math": lambda x: math.sin(x[0, 0]),
    "method of an array": lambda x: np.ones((4, 4)).dot(x),
    "real": lambda x: x.real,
    "astype": lambda x: x.astype(float),
    "inverse": lambda x: np.linalg.inv(x[:3]),
    "largest": np.max,
    "reduce": np.add.reduce,
    "where": lambda x: np.add(x, 1.0, where=x > 0.0),
    "sum into": lambda x: np.sum(x, axis=0, out=np.zeros(3)),
    "sum from": lambda x: np.sum(x, initial=5.0),
    "dot into": lambda x: np.dot(x, x.T, np.zeros((4, 4))),
    "einsum without arrow": lambda x: np.einsum("ij,ij", x, x),
    "another order": lambda x: np.reshape(x, (3, 4), "F"),
    "one-norm": lambda x: np.linalg.norm(x, 1, axis=1),
    "spectral norm": lambda x: np.linalg.norm(x, 2),
    "no rule": np.cbrt,
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_rule_is_refused_and_never_taken_for_constant(function):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        function(dual(X))


def test_values_and_slopes_of_a_function_or_one_error():
    value, slopes = differentiated(lambda x: x * x, (X,), (UNIT,))
    assert_allclose(value, X * X)
    assert_allclose(slopes, 2.0 * X[..., None] * UNIT)
    assert not np.any(differentiated(lambda x: np.ones((4, 6)), (X,), (UNIT,))[1])
    with pytest.raises(PlugInError, match=r"derivatives, got np.linalg.inv has no rule for derivatives; or give its"):
        differentiated(lambda x: np.linalg.inv(A[0] + x[:3]), (X,), (UNIT,))
    with pytest.raises(PlugInError, match=r"got plain numbers in the place of numbers with derivatives, as"):
        differentiated(lambda x: np.sin(x) * math.sin(x[0, 0]), (X,), (UNIT,))
    with pytest.raises(PlugInError, match=r": expected the same values with derivatives as without, got others"):
        differentiated(lambda x: x if isinstance(x, np.ndarray) else 2.0 * x, (X,), (UNIT,))
    assert plain(second(X)) is plain(plain(X)) or np.array_equal(plain(second(X)), X)


# -- writes in place


def swapped(x):
    out = 1.0 * x
    first = out[0, 0]
    out[0, 0] = -out[0, 1]
    out[0, 1] = first
    return out


def unpacked(x):
    out = 1.0 * x
    a, b, c = out[0]
    out[0] = 0.0
    return out + a * b + c


def through_a_copy(x):
    some = (2.0 * x)[:, ::2]
    flat = np.ravel(some)
    flat[0] = x[1, 2]
    return np.stack([flat, some.reshape(-1)])


def spread_then_written(x):
    total = np.sum(x, axis=0) + np.zeros((2, 3))
    total = total + x[:, :1]
    flat = total.reshape(-1)
    flat[[0, 4]] = 0.0
    return total


def seen_wide(x):
    out = 1.0 * x
    wide = np.broadcast_to(out[:, :1], (2, 3))
    out[:, 0] = x[:, 1] ** 2
    return wide * x


def counted(x):
    total = np.sum(x**2)
    total += x[0, 0]
    one = x[1, 1]
    one -= 1.0
    return +total * one * x


@pytest.mark.parametrize("f", [swapped, unpacked, through_a_copy, spread_then_written, seen_wide, counted])
def test_what_is_written_in_place_is_written_to_value_and_slopes_alike(f, rng):
    x = rng.normal(size=(2, 3))
    value, slopes = differentiated(f, [x], [np.eye(6).reshape(2, 3, 6)])
    h, eye = 1e-6, np.eye(6).reshape(6, 2, 3)
    by_differences = np.stack([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in eye], axis=-1)
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_allclose(slopes, by_differences, atol=1e-8 * max(1.0, np.abs(by_differences).max()))


def test_flat_copies_in_other_orders_are_refused():
    x = np.ones((2, 3))
    with pytest.raises(PlugInError, match="ravel"):
        differentiated(lambda x: np.ravel(x, "F"), [x], [np.eye(6).reshape(2, 3, 6)])


def test_arguments_that_are_written_to_do_not_pass_as_others():
    def clipped(x):
        x[x < 0.0] = 0.0
        return 2.0 * x

    x = np.array([-1.0, 2.0])
    _, slopes = differentiated(clipped, [x], [np.eye(2)])
    np.testing.assert_array_equal(slopes, np.diag([0.0, 2.0]))
    assert x[0] == -1.0
