"""Arrays of a whole sweep from those of its blocks, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.io.results import names_of
from sorosim.sweeps.plan import Plan
from sorosim.sweeps.task import PENDING, RAGGED, empty_cells, pad_rows, stack_rows

Arrays = dict[str, NDArray[Any]]
Blocks = Mapping[int, tuple[Mapping[str, NDArray[Any]], list[str]]]


def empty_arrays(plan: Plan, n: int) -> Arrays:
    """Arrays of n pending points."""
    one = stack_rows([{"status": PENDING, **empty_cells(plan.job())}])
    return {name: np.repeat(array, n, axis=0) for name, array in one.items()}


def merge_blocks(plan: Plan, blocks: Blocks) -> tuple[Arrays, list[str]]:
    """Arrays and messages of all points; those of missing blocks are pending."""
    n = len(plan.samples)
    messages = [""] * n
    out = empty_arrays(plan, n)
    for name in RAGGED:
        if name in out:
            width = max((arrays[name].shape[1] for arrays, _ in blocks.values()), default=0)
            out[name] = np.full((n, width), np.nan)
    for number, (arrays, block_messages) in blocks.items():
        points = plan.blocks[number]
        for name, array in arrays.items():
            target = out[name]
            target[points] = pad_rows([array, target[:0]])[0] if name in RAGGED else array
        for point, message in zip(points, block_messages, strict=True):
            messages[point] = message
    return out, messages


def split_blocks(plan: Plan, arrays: Mapping[str, NDArray[Any]], messages: Any) -> dict[int, tuple[Arrays, list[str]]]:
    """The completed blocks, those without a pending point."""
    completed = {}
    for number, points in enumerate(plan.blocks):
        if (arrays["status"][points] != PENDING).all():
            rows = {name: array[points] for name, array in arrays.items()}
            completed[number] = rows, [messages[point] for point in points]
    return completed


def content_of(result: Any) -> dict[str, Any]:
    """Content of the result file of a sweep."""
    plan = result.plan
    return {
        **names_of(plan.robot), "text": plan.text, "plan": plan.as_data(), "arrays": dict(result.arrays),
        "messages": list(result.messages), "columns": result.numbers, "versions": dict(result.versions),
    }  # fmt: skip
