"""Signals over time as arrays: value, first and second time derivative of all of them in one call."""

from typing import NamedTuple

import numpy as np

from sorosim.base.compiled import by_reference, kernel, record
from sorosim.base.signals.opcodes import CONSTANT_SIGNAL, EXTERNAL_SIGNAL, TAPE_SIGNAL
from sorosim.base.signals.tape import evaluate_tape

SIGNAL = record(
    kind=int,  # one of those of opcodes.py
    code=int,  # its tape in `SignalArrays.code`, and its numbers in `SignalArrays.data`: first and last + 1
    code_end=int,
    data=int,
    data_end=int,
    depth=int,  # of the stack
)


@by_reference
class SignalArrays(NamedTuple):
    """Signals of time, packed. Data of a piecewise polynomial: n + 1 breaks, then n rows of ascending coefficients."""

    table: np.ndarray  # (n_signals,) SIGNAL
    code: np.ndarray  # (n_code, 2) int64 tapes in the one variable t
    data: np.ndarray  # (n_data,) values, constants of tapes, breaks and coefficients


def signal_workspace(signals: SignalArrays) -> np.ndarray:
    """Return the workspace of ``evaluate_signals``: the jet of time, then the stack. One per thread."""
    return np.zeros((1 + int(signals.table["depth"].max(initial=0)), 3))


@kernel
def _evaluate_polynomial(data, t):
    """Piecewise cubic; outside the breaks the value is constant and the derivatives are zero."""
    n = (data.shape[0] - 1) // 5
    clamped = min(max(t, data[0]), data[n])

    # bisection: the last piece whose first break is not beyond t
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if data[middle] <= clamped:
            low = middle
        else:
            high = middle

    k = n + 1 + 4 * low
    c0, c1, c2, c3 = data[k], data[k + 1], data[k + 2], data[k + 3]
    x = clamped - data[low]
    f = c0 + x * (c1 + x * (c2 + x * c3))
    if clamped != t:
        return f, 0.0, 0.0
    return f, c1 + x * (2.0 * c2 + 3.0 * x * c3), 2.0 * c2 + 6.0 * x * c3


@kernel
def evaluate_signals(signals, t, out, workspace):
    """Evaluate all signals at time t [s]: value, first and second time derivative.

    out : (n_signals, 3); rows of external signals are left as they are. workspace : see ``signal_workspace``.
    """
    workspace[0, 0], workspace[0, 1], workspace[0, 2] = t, 1.0, 0.0
    variables, stack = workspace[:1], workspace[1:]
    for i in range(signals.table.shape[0]):
        row = signals.table[i]
        kind = row.kind
        if kind == EXTERNAL_SIGNAL:
            continue
        data = signals.data[row.data : row.data_end]
        if kind == CONSTANT_SIGNAL:
            f, df, ddf = data[0], 0.0, 0.0
        elif kind == TAPE_SIGNAL:
            code = signals.code[row.code : row.code_end]
            f, df, ddf = evaluate_tape(code, data, variables, stack)
        else:
            f, df, ddf = _evaluate_polynomial(data, t)
        out[i, 0], out[i, 1], out[i, 2] = f, df, ddf


@kernel
def evaluate_signals_many(signals, times, out, workspace):
    """Evaluate all signals at many times: times (n_times,), out (n_times, n_signals, 3)."""
    for k in range(times.shape[0]):
        evaluate_signals(signals, times[k], out[k], workspace)
