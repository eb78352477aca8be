"""Evaluation of an opcode tape on second-order jets: value, first and second derivative along one parameter.

A tape is an expression in postfix order. Each row (opcode, argument) either pushes a constant or a variable on the
stack, or replaces the topmost one, two or three entries by a function of them.
"""

import numpy as np

from sorosim.base.compiled import kernel
from sorosim.base.signals.opcodes import (
    ABS,
    ACOS,
    ADD,
    ASIN,
    ATAN,
    ATAN2,
    CLIP,
    CONSTANT,
    COS,
    COSH,
    DIVIDE,
    EXP,
    FLOOR,
    LOG,
    LOG10,
    MIN,
    MULTIPLY,
    NEGATE,
    POWER,
    SIGN,
    SIN,
    SINH,
    SQRT,
    STEP,
    SUBTRACT,
    TAN,
    TANH,
    VARIABLE,
)


@kernel
def _function_of_one(op, x):
    """Value, first and second derivative of an elementary function at x."""
    f1, f2 = 0.0, 0.0
    if op == NEGATE:
        f, f1 = -x, -1.0
    elif op == SIN:
        f, f1 = np.sin(x), np.cos(x)
        f2 = -f
    elif op == COS:
        f, f1 = np.cos(x), -np.sin(x)
        f2 = -f
    elif op == TAN:
        f = np.tan(x)
        f1 = 1.0 + f * f
        f2 = 2.0 * f * f1
    elif op == ASIN:
        # 1 - x^2 as a product keeps its digits near the ends
        f, f1 = np.arcsin(x), 1.0 / np.sqrt((1.0 - x) * (1.0 + x))
        f2 = x * f1 * f1 * f1
    elif op == ACOS:
        f, f1 = np.arccos(x), -1.0 / np.sqrt((1.0 - x) * (1.0 + x))
        f2 = x * f1 * f1 * f1
    elif op == ATAN:
        f, f1 = np.arctan(x), 1.0 / (1.0 + x * x)
        f2 = -2.0 * x * f1 * f1
    elif op == SINH:
        f, f1 = np.sinh(x), np.cosh(x)
        f2 = f
    elif op == COSH:
        f, f1 = np.cosh(x), np.sinh(x)
        f2 = f
    elif op == TANH:
        # not 1 - tanh^2, which has no digits left for large x
        f, f1 = np.tanh(x), 1.0 / np.cosh(x) ** 2
        f2 = -2.0 * f * f1
    elif op == EXP:
        f = np.exp(x)
        f1, f2 = f, f
    elif op == LOG:
        f, f1 = np.log(x), 1.0 / x
        f2 = -f1 * f1
    elif op == LOG10:
        f, f1 = np.log10(x), 0.4342944819032518 / x
        f2 = -f1 / x
    elif op == SQRT:
        f = np.sqrt(x)
        f1 = 0.5 / f
        f2 = -0.5 * f1 / x
    elif op == ABS:
        f, f1 = (x, 1.0) if x >= 0.0 else (-x, -1.0)
    elif op == SIGN:
        f = 1.0 if x > 0.0 else (-1.0 if x < 0.0 else x)
    elif op == FLOOR:
        f = np.floor(x)
    elif op == STEP:
        f = 1.0 if x >= 0.0 else (0.0 if x < 0.0 else x)
    else:  # SMOOTHSTEP
        f = 0.0 if x < 0.0 else (1.0 if x >= 1.0 else x * x * (3.0 - 2.0 * x))
        if 0.0 <= x < 1.0:
            f1, f2 = 6.0 * x * (1.0 - x), 6.0 - 12.0 * x
    return f, f1, f2


@kernel
def _power(a, da, dda, b, db, ddb):
    """Jet of a ** b. Only derivatives by what moves are formed: a**2 at a <= 0 needs no logarithm of a."""
    if b == 2.0 and db == 0.0 and ddb == 0.0:
        return a * a, 2.0 * a * da, 2.0 * (da * da + a * dda)
    f, df, ddf = a**b, 0.0, 0.0
    a_moves, b_moves = da != 0.0 or dda != 0.0, db != 0.0 or ddb != 0.0

    # a zero factor of b wins over the infinity of 0 ** (negative)
    if a_moves and b != 0.0:
        fa = b * a ** (b - 1.0)
        faa = b * (b - 1.0) * a ** (b - 2.0) if b != 1.0 else 0.0
        df += fa * da
        ddf += faa * da * da + fa * dda

    # 0 ** b is flat in b > 0; its mixed derivative has a limit for b > 1
    if b_moves and not (a == 0.0 and b > 0.0):
        log_a = np.log(a)
        df += f * log_a * db
        ddf += f * log_a * (log_a * db * db + ddb)
    if a_moves and b_moves and not (a == 0.0 and b > 1.0):
        ddf += 2.0 * a ** (b - 1.0) * (1.0 + b * np.log(a)) * da * db
    return f, df, ddf


@kernel
def _atan2(y, dy, ddy, x, dx, ddx):
    """Jet of the angle of (x, y)."""
    f = np.arctan2(y, x)
    if dy == 0.0 and dx == 0.0 and ddy == 0.0 and ddx == 0.0:
        return f, 0.0, 0.0
    r = np.hypot(x, y)
    c, s = x / r, y / r
    df = (c * dy - s * dx) / r
    ddf = (c * ddy - s * ddx - 2.0 * df * (c * dx + s * dy)) / r
    return f, df, ddf


@kernel
def _smaller(a, da, dda, b, db, ddb):
    """Jet of min(a, b); a NaN stays, the first one is taken where both are equal."""
    if a <= b or a != a:
        return a, da, dda
    return b, db, ddb


@kernel
def _larger(a, da, dda, b, db, ddb):
    """Jet of max(a, b); a NaN stays, the first one is taken where both are equal."""
    if a >= b or a != a:
        return a, da, dda
    return b, db, ddb


@kernel
def evaluate_tape(code, constants, variables, stack):
    """Value, first and second derivative of an expression along one parameter.

    code : (n, 2) int64 rows (opcode, argument); constants : (m,); variables : (n_var, 3) jets;
    stack : (depth, 3) workspace. Returns (f, df, ddf).
    Piecewise functions have the derivatives of their active branch; where two branches of abs, step or smoothstep meet,
    of the one for larger arguments; min, max and clip prefer their first argument. An argument at rest (both
    derivatives zero) has derivative zero through every function, so that sqrt(0) is harmless; the price is that
    sqrt(t**4) at t = 0, whose argument is momentarily at rest, looks constant there.
    """
    top = -1
    for k in range(code.shape[0]):
        op, arg = code[k, 0], code[k, 1]
        if op == CONSTANT:
            top += 1
            stack[top, 0], stack[top, 1], stack[top, 2] = constants[arg], 0.0, 0.0
            continue
        if op == VARIABLE:
            top += 1
            stack[top, 0], stack[top, 1], stack[top, 2] = variables[arg, 0], variables[arg, 1], variables[arg, 2]
            continue

        if op >= NEGATE:
            a, da, dda = stack[top, 0], stack[top, 1], stack[top, 2]
            f, fa, faa = _function_of_one(op, a)
            df, ddf = 0.0, 0.0
            if da != 0.0 or dda != 0.0:
                df, ddf = fa * da, faa * da * da + fa * dda
        elif op == CLIP:
            top -= 2
            a, da, dda = stack[top, 0], stack[top, 1], stack[top, 2]
            f, df, ddf = _larger(a, da, dda, stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2])
            f, df, ddf = _smaller(f, df, ddf, stack[top + 2, 0], stack[top + 2, 1], stack[top + 2, 2])
        else:
            top -= 1
            a, da, dda = stack[top, 0], stack[top, 1], stack[top, 2]
            b, db, ddb = stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2]
            if op == ADD:
                f, df, ddf = a + b, da + db, dda + ddb
            elif op == SUBTRACT:
                f, df, ddf = a - b, da - db, dda - ddb
            elif op == MULTIPLY:
                f, df, ddf = a * b, da * b + a * db, dda * b + 2.0 * da * db + a * ddb
            elif op == DIVIDE:
                f = a / b
                df = (da - f * db) / b
                ddf = (dda - 2.0 * df * db - f * ddb) / b
            elif op == POWER:
                f, df, ddf = _power(a, da, dda, b, db, ddb)
            elif op == ATAN2:
                f, df, ddf = _atan2(a, da, dda, b, db, ddb)
            elif op == MIN:
                f, df, ddf = _smaller(a, da, dda, b, db, ddb)
            else:
                f, df, ddf = _larger(a, da, dda, b, db, ddb)
        stack[top, 0], stack[top, 1], stack[top, 2] = f, df, ddf
    return stack[0, 0], stack[0, 1], stack[0, 2]


@kernel
def evaluate_tape_many(code, constants, variables, stack, out):
    """Evaluate a tape at many points: variables (n_points, n_var, 3), out (n_points, 3); see ``evaluate_tape``."""
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = evaluate_tape(code, constants, variables[i], stack)
