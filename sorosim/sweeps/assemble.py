"""From blocks to the whole of a sweep, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.io.results import names_of
from sorosim.sweeps.plan import Plan
from sorosim.sweeps.task import PENDING, RAGGED, nothing, padded, stacked

Arrays = dict[str, NDArray[Any]]
Blocks = Mapping[int, tuple[Mapping[str, NDArray[Any]], list[str]]]


def empty(plan: Plan, n: int) -> Arrays:
    """Arrays of n points of which nothing is known."""
    one = stacked([{"status": PENDING, **nothing(plan.job())}])
    return {name: np.repeat(array, n, axis=0) for name, array in one.items()}


def joined(plan: Plan, blocks: Blocks) -> tuple[Arrays, list[str]]:
    """Arrays and messages of all points, from the blocks that there are."""
    n = len(plan.samples)
    messages = [""] * n
    out = empty(plan, n)
    for name in RAGGED:
        if name in out:
            width = max((arrays[name].shape[1] for arrays, _ in blocks.values()), default=0)
            out[name] = np.full((n, width), np.nan)
    for number, (arrays, said) in blocks.items():
        points = plan.blocks[number]
        for name, array in arrays.items():
            target = out[name]
            target[points] = padded([array, target[:0]])[0] if name in RAGGED else array
        for point, message in zip(points, said, strict=True):
            messages[point] = message
    return out, messages


def taken_apart(plan: Plan, arrays: Mapping[str, NDArray[Any]], messages: Any) -> dict[int, tuple[Arrays, list[str]]]:
    """The blocks whose points are all done."""
    found = {}
    for number, points in enumerate(plan.blocks):
        if (arrays["status"][points] != PENDING).all():
            rows = {name: array[points] for name, array in arrays.items()}
            found[number] = rows, [messages[point] for point in points]
    return found


def content_of(result: Any) -> dict[str, Any]:
    """What a file of a sweep holds."""
    plan = result.plan
    return {
        **names_of(plan.robot), "text": plan.text, "plan": plan.as_data(), "arrays": dict(result.arrays),
        "messages": list(result.messages), "columns": result.numbers, "versions": dict(result.versions),
    }  # fmt: skip
