"""Every opcode against mpmath: values and derivatives along a curved path through the arguments."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorosim.base.signals import opcodes, tape

ONE = {  # opcode, the same function in mpmath, points
    "negate": (opcodes.NEGATE, lambda x: -x, (-2.0, 0.0, 0.3)),
    "sin": (opcodes.SIN, mpmath.sin, (-4.0, 0.0, 0.3, 1e3)),
    "cos": (opcodes.COS, mpmath.cos, (-4.0, 0.0, 0.3, 1e3)),
    "tan": (opcodes.TAN, mpmath.tan, (-4.0, 0.0, 0.3, 1.5)),
    "asin": (opcodes.ASIN, mpmath.asin, (-0.999999, -0.5, 0.0, 0.9)),
    "acos": (opcodes.ACOS, mpmath.acos, (-0.999999, -0.5, 0.0, 0.9)),
    "atan": (opcodes.ATAN, mpmath.atan, (-30.0, 0.0, 0.4)),
    "sinh": (opcodes.SINH, mpmath.sinh, (-3.0, 0.0, 0.4)),
    "cosh": (opcodes.COSH, mpmath.cosh, (-3.0, 0.0, 0.4)),
    "tanh": (opcodes.TANH, mpmath.tanh, (-20.0, 0.0, 0.4, 30.0)),
    "exp": (opcodes.EXP, mpmath.exp, (-3.0, 0.0, 2.0)),
    "log": (opcodes.LOG, mpmath.log, (1e-3, 1.0, 7.0)),
    "log10": (opcodes.LOG10, mpmath.log10, (1e-3, 1.0, 7.0)),
    "sqrt": (opcodes.SQRT, mpmath.sqrt, (1e-3, 1.0, 7.0)),
    "abs": (opcodes.ABS, abs, (-2.0, 3.0)),
    "sign": (opcodes.SIGN, mpmath.sign, (-2.0, 3.0)),
    "floor": (opcodes.FLOOR, mpmath.floor, (-2.5, 3.1)),
    "step": (opcodes.STEP, lambda x: mpmath.mpf(x >= 0), (-2.5, 3.1)),
    "smoothstep": (
        opcodes.SMOOTHSTEP,
        lambda x: 0 * x if x < 0 else (1 + 0 * x if x > 1 else 3 * x**2 - 2 * x**3),
        (-0.5, 0.1, 0.5, 0.9, 1.5),
    ),
}
SEVERAL = {
    "add": (opcodes.ADD, lambda a, b: a + b, [(1.0, -2.0)]),
    "subtract": (opcodes.SUBTRACT, lambda a, b: a - b, [(1.0, -2.0)]),
    "multiply": (opcodes.MULTIPLY, lambda a, b: a * b, [(1.0, -2.0), (0.0, 3.0)]),
    "divide": (opcodes.DIVIDE, lambda a, b: a / b, [(1.0, -2.0), (0.0, 3.0), (1e-3, 1e3)]),
    "power": (opcodes.POWER, mpmath.power, [(0.3, 2.0), (2.0, 0.0), (2.0, 1.0), (5.0, -1.5), (1.0, 7.0)]),
    "atan2": (opcodes.ATAN2, mpmath.atan2, [(1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-1.0, -2.0), (1e-3, 0.0)]),
    "min": (opcodes.MIN, min, [(1.0, 2.0), (2.0, 1.0)]),
    "max": (opcodes.MAX, max, [(1.0, 2.0), (2.0, 1.0)]),
    "clip": (opcodes.CLIP, lambda x, a, b: min(max(x, a), b), [(0.5, 0.0, 1.0), (-1.0, 0.0, 1.0), (2.0, 0.0, 1.0)]),
}
RATES = [(1.0, 0.0), (0.7, -0.4), (0.0, 1.3), (0.0, 0.0)]


def evaluate(opcode, *jets):
    """Jet of one function of given jets."""
    n = len(jets)
    code = np.array([(opcodes.VARIABLE, i) for i in range(n)] + [(opcode, 0)], dtype=np.int64)
    with np.errstate(all="ignore"):
        return np.array(tape.evaluate_tape(code, np.empty(0), np.array(jets, dtype=float), np.empty((n, 3))))


def exact(function, *jets):
    """The same by mpmath's differentiation along the parabola that the jets describe."""
    with mpmath.workdps(40):

        def along(p):
            return function(*(mpmath.mpf(f) + mpmath.mpf(df) * p + mpmath.mpf(ddf) * p * p / 2 for f, df, ddf in jets))

        return np.array([float(mpmath.diff(along, 0, k)) for k in range(3)])


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("name", ONE)
def test_function_of_one_argument_and_its_derivatives_match_mpmath(name, rates):
    opcode, function, points = ONE[name]
    for x in points:
        jet = (x, *rates)
        assert_allclose(evaluate(opcode, jet), exact(function, jet), rtol=1e-12, atol=1e-15, err_msg=f"{name}({x})")


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("name", SEVERAL)
def test_function_of_several_arguments_and_its_derivatives_match_mpmath(name, rates, swap):
    opcode, function, points = SEVERAL[name]
    for point in points:
        # one argument moves by the rates, the others along a fixed other curve
        jets = [(x, *rates) if (i == 0) != swap else (x, -0.3, 0.9) for i, x in enumerate(point)]
        assert_allclose(evaluate(opcode, *jets), exact(function, *jets), rtol=1e-12, atol=1e-14, err_msg=f"{point}")


@pytest.mark.parametrize("base", [-2.0, -0.1, 0.0, 3.0])
@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 4.0, 7.0])
def test_whole_powers_have_derivatives_at_zero_and_negative_bases(base, exponent):
    for rates in RATES:
        jets = (base, *rates), (exponent, 0.0, 0.0)
        assert_allclose(
            evaluate(opcodes.POWER, *jets), exact(lambda a, _: a ** int(exponent), *jets), rtol=1e-12, atol=1e-30
        )


def test_negative_whole_powers_of_negative_bases():
    for rates in RATES:
        jets = (-1.5, *rates), (-3.0, 0.0, 0.0)
        assert_allclose(evaluate(opcodes.POWER, *jets), exact(lambda a, _: 1 / a**3, *jets), rtol=1e-12)


def test_power_of_a_fixed_base_has_no_derivative_by_the_base():
    for base, rates in ((2.0, (1.0, 0.0)), (0.5, (0.7, -0.4))):
        jets = (base, 0.0, 0.0), (-1.2, *rates)
        assert_allclose(evaluate(opcodes.POWER, *jets), exact(mpmath.power, *jets), rtol=1e-12)


def test_powers_at_zero_take_their_limits():
    assert_array_equal(evaluate(opcodes.POWER, (0, 0, 0), (1.5, 1, 0)), [0, 0, 0])  # 0**t
    assert_array_equal(evaluate(opcodes.POWER, (0, 1, 0), (3.0, 1, 0)), [0, 0, 0])  # t**(t + 3)
    assert_array_equal(evaluate(opcodes.POWER, (0, 1, 0), (1.5, 0, 0)), [0, 0, np.inf])
    assert_array_equal(evaluate(opcodes.POWER, (0, 1, 0), (0.0, 0, 0)), [1, 0, 0])
    assert np.isnan(evaluate(opcodes.POWER, (-2, 0, 0), (0.5, 0, 0))[0])


@pytest.mark.parametrize(
    ("opcode", "argument", "jet"),
    [
        (opcodes.ABS, 0.0, (0, 2, 3)),
        (opcodes.STEP, 0.0, (1, 0, 0)),
        (opcodes.SIGN, 0.0, (0, 0, 0)),
        (opcodes.FLOOR, 2.0, (2, 0, 0)),
        (opcodes.SMOOTHSTEP, 0.0, (0, 0, 24)),
        (opcodes.SMOOTHSTEP, 1.0, (1, 0, 0)),
    ],
)
def test_where_two_branches_meet_the_upper_one_counts(opcode, argument, jet):
    assert_array_equal(evaluate(opcode, (argument, 2.0, 3.0)), jet)


def test_min_max_and_clip_prefer_their_first_argument():
    for opcode in (opcodes.MIN, opcodes.MAX):
        assert_array_equal(evaluate(opcode, (1, 2, 3), (1, 5, 6)), [1, 2, 3])
    assert_array_equal(evaluate(opcodes.CLIP, (1, 2, 3), (0, 9, 9), (1, 9, 9)), [1, 2, 3])
    assert_array_equal(evaluate(opcodes.CLIP, (0, 2, 3), (0, 9, 9), (1, 9, 9)), [0, 2, 3])


@pytest.mark.parametrize(("opcode", "argument"), [(opcodes.SQRT, 0.0), (opcodes.ASIN, 1.0), (opcodes.ACOS, -1.0)])
def test_argument_at_rest_has_derivative_zero_even_at_a_singularity(opcode, argument):
    assert_array_equal(evaluate(opcode, (argument, 0, 0))[1:], [0, 0])
    assert not np.isfinite(evaluate(opcode, (argument, 1, 0))[1])


def test_angle_of_the_origin_at_rest_is_zero():
    assert_array_equal(evaluate(opcodes.ATAN2, (0, 0, 0), (0, 0, 0)), [0, 0, 0])


@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
def test_nan_is_never_swallowed(name):
    if name in ONE:
        assert np.isnan(evaluate(ONE[name][0], (np.nan, 1, 0))[0])
        return
    opcode, _, points = SEVERAL[name]
    for i in range(len(points[0])):
        jets = [(np.nan if k == i else 0.5, 1.0, 0.0) for k in range(len(points[0]))]
        assert np.isnan(evaluate(opcode, *jets)[0])


def test_opcodes_are_different():
    numbers = [value for name, value in vars(opcodes).items() if name.isupper() and not name.endswith("_SIGNAL")]
    assert sorted(numbers) == list(range(30))


def test_many_points_equal_single_ones():
    rng = np.random.default_rng(1)
    # (x + 2) * sin(y), with workspace left over from another tape
    code = np.array([(1, 0), (0, 0), (opcodes.ADD, 0), (1, 1), (opcodes.SIN, 0), (opcodes.MULTIPLY, 0)], dtype=np.int64)
    constants, variables, out = np.array([2.0]), rng.normal(size=(20, 2, 3)), np.empty((20, 3))
    tape.evaluate_tape_many(code, constants, variables, np.full((2, 3), np.nan), out)
    single = [tape.evaluate_tape(code, constants, jets, np.empty((2, 3))) for jets in variables]
    assert_array_equal(out, single)
    for jets, jet in zip(variables[:3], out, strict=False):
        assert_allclose(jet, exact(lambda x, y: (x + 2) * mpmath.sin(y), *jets), rtol=1e-12)
