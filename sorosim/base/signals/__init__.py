"""Signals and formulas over time."""

from sorosim.base.signals.signal import (
    INTERPOLATIONS,
    CallableSignal,
    ConstantSignal,
    ExpressionSignal,
    Signal,
    TableSignal,
    as_signal,
    compile_signals,
    csv_rows,
)

__all__ = [
    "INTERPOLATIONS",
    "CallableSignal",
    "ConstantSignal",
    "ExpressionSignal",
    "Signal",
    "TableSignal",
    "as_signal",
    "compile_signals",
    "csv_rows",
]
