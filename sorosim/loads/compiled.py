"""Loads whose laws are compiled: packed into arrays, so that whole integrations need no Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sorosim.kernels.load_laws import LoadLaws
from sorosim.loads.base import Array, BoundLoad
from sorosim.signals import Signal, compile_signals


class CompiledLaw(NamedTuple):
    """A load as the compiled laws know it; a bound load gives it as `law`."""

    kind: int  # one of kernels.load_laws
    nodes: Sequence[int]
    values: Array  # (n, 6) wrench, or coefficients of a brake, at each node
    varying: dict[int, Signal]  # entry of the wrench -> the signal that takes the place of its value


def compiled_law(load: BoundLoad) -> CompiledLaw | None:
    """The compiled law of a bound load, None if it has none."""
    law: CompiledLaw | None = getattr(load, "law", None)
    return law


def compile_load_laws(laws: Sequence[CompiledLaw]) -> tuple[LoadLaws, list[Signal]]:
    """Arrays of laws, and the signals in them."""
    rows: list[list[int]] = []
    values: list[Array] = [np.zeros(0)]
    signals: list[Signal] = []
    for law in laws:
        index = {entry: len(signals) + k for k, entry in enumerate(law.varying)}
        signals += law.varying.values()
        for node, value in zip(law.nodes, law.values, strict=True):
            rows.append([node, law.kind, 6 * len(rows), *(index.get(entry, -1) for entry in range(6))])
            values.append(value)
    packed = compile_signals(signals)[0]
    return LoadLaws(np.array(rows, dtype=np.int64).reshape(-1, 9), np.concatenate(values), packed), signals
