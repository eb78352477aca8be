"""Numbers of a file that depend on time: inputs, driven coordinates, loads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from sorosim.errors import FileError, ModelError
from sorosim.io.fields import formula_or_quantity
from sorosim.io.schema_signals import SignalFile, SignalTable
from sorosim.problems import Collector, Path, at_path, dotted, shown
from sorosim.signals import CallableSignal, ExpressionSignal, Signal, TableSignal, as_signal
from sorosim.signals.expressions import Expression
from sorosim.units.quantity import quantity
from sorosim.units.seeded import SeededExpression

N_SAMPLES = 201
MAX_EMBEDDED = 5000  # rows of CSV files in the text of a description


@dataclass(frozen=True)
class SignalBuilder:
    """Builds signals. `folder` is where relative paths begin; None: tables in files are not looked for."""

    todo: Collector
    folder: FilePath | None
    t_end: float | None

    def mapping(self, path: Path, blocks: Mapping[str, Any], dimensions: Mapping[str, str]) -> dict[str, Signal]:
        """Signals by name, of the names that have a dimension."""
        made = {
            name: self.signal((*path, name), block, dimensions[name])
            for name, block in blocks.items()
            if name in dimensions
        }
        return {name: signal for name, signal in made.items() if signal is not None}

    def signal(self, path: Path, block: Any, dimension: str) -> Signal | None:
        """One signal, None if it is wrong."""
        if isinstance(block, SignalFile):
            return self.from_file(path, block)
        signal = self.todo.attempt(path, lambda: _plain_signal(block, dimension))
        if isinstance(signal, ExpressionSignal) and not self.is_finite(path, signal):
            return None
        return signal

    def is_finite(self, path: Path, signal: Signal) -> bool:
        """Whether a signal is finite throughout; notes where it is not."""
        end = self.t_end or 1.0
        times = np.linspace(0.0, end, N_SAMPLES)
        values = signal.sample(times)
        if np.isfinite(values).all():
            return True
        worst = int(np.argmin(np.isfinite(values)))
        self.todo.add(path, f"a finite value from t = 0 to {end:g} s", f"{values[worst]} at t = {times[worst]:g} s")
        return False

    def from_file(self, path: Path, block: SignalFile) -> Signal | None:
        """A signal from a CSV file."""
        if self.folder is None and not os.path.isfile(absolute(block.csv)):
            return CallableSignal(_missing(block.csv), dotted(path))
        file = (self.folder or FilePath()) / block.csv
        if not os.path.isfile(file):  # False for impossible names too
            hint = "relative paths begin in the folder of the robot's file"
            self.todo.add((*path, "csv"), "a CSV file", f"{shown(block.csv)}, which does not exist", hint)
            return None
        given = {"csv": str(file), "interpolation": block.interpolation}
        if block.column is not None:
            given["column"] = block.column  # type: ignore[assignment]
        try:
            return self.todo.attempt(path, lambda: as_signal(given, ""))
        except FileError as error:
            self.todo.add((*path, "csv"), "a table of numbers", str(error))
            return None


def absolute(file: str) -> str:
    """A path if it is absolute, otherwise one that no file has."""
    return file if os.path.isabs(file) else ""


def with_tables(data: Any, signals: Iterable[tuple[Path, Any]], folder: FilePath | None) -> Any:
    """Data of a file whose signals from CSV files are tables, so that it stands alone; the same object without any.

    Tables that are too long for a text keep the absolute path of their file.
    """
    left, out = MAX_EMBEDDED, data
    for path, signal in signals:
        block = at_path(data, path)
        if not isinstance(block, Mapping) or "csv" not in block or not isinstance(signal, TableSignal):
            continue
        left -= len(signal.times)
        long = {**block, "csv": os.path.abspath((folder or FilePath()) / block["csv"])}
        out = _replaced(out, path, signal.spec if left >= 0 else long)
    return out


def _replaced(data: Any, path: Path, new: Any) -> Any:
    """A copy of data with another value at a path."""
    if not path:
        return new
    entries: Any = dict(enumerate(data)) if isinstance(data, list) else data
    entries = {**entries, path[0]: _replaced(entries[path[0]], path[1:], new)}
    return list(entries.values()) if isinstance(data, list) else entries


def _plain_signal(block: Any, dimension: str) -> Signal:
    if isinstance(block, SignalTable):
        if len(block.values) != len(block.times):
            raise ModelError("values", f"as many values as times, {len(block.times)}", f"{len(block.values)}")
        values = [quantity(value, dimension, f"values[{i}]") for i, value in enumerate(block.values)]
        return TableSignal(np.array(block.times), np.array(values), block.interpolation)
    value: float | Expression = formula_or_quantity(block, dimension, ("t",))
    if isinstance(value, SeededExpression):
        if value.used:
            raise ModelError("", "a scalar that is no part of a signal of time", "one")
        value = value(t=0.0)
    return as_signal(value)


def _missing(file: str) -> Callable[[float], float]:
    def read(t: float) -> float:
        raise FileError(file, "is not kept in result files; load the robot from its own file, or give u")

    return read
