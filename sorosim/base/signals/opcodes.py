"""The numbers of operations of tapes and of kinds of signals.

They stand apart from the functions under ``@kernel`` that know them, so that formulas are read without numba; by that
word the cache of compiled code counts this file among its sources.
"""

# opcodes: pushes, functions of two or three entries, functions of one entry
CONSTANT, VARIABLE = 0, 1
ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, ATAN2, MIN, MAX, CLIP = 2, 3, 4, 5, 6, 7, 8, 9, 10
NEGATE, SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, TANH = 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
EXP, LOG, LOG10, SQRT, ABS, SIGN, FLOOR, STEP, SMOOTHSTEP = 21, 22, 23, 24, 25, 26, 27, 28, 29

CONSTANT_SIGNAL, TAPE_SIGNAL, POLYNOMIAL_SIGNAL, EXTERNAL_SIGNAL = 0, 1, 2, 3
