"""States to try a plug-in at, and the robot without other loads and actuators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.validation import number
from sorosim.mechanics.model.description import PARTS
from sorosim.mechanics.robot import Robot
from sorosim.mechanics.testing.report import ContractError

State = tuple[Array, Array]

SIZES = {"angle": 0.5, "length": 0.1, "number": 0.1}
N_THREADS = 4


def bare_robot(robot: Robot, **parts: Mapping[str, object]) -> Robot:
    """The robot with its links only, and the given parts."""
    none: dict[str, Any] = {key: {} for key in (*PARTS, "simulate", "statics", "initial")}
    return Robot(replace(robot.description, **{**none, "initial_rates": {}, "shapes": {}, **parts}))


def scales(robot: Robot) -> Array:
    """Moderate sizes (ndof,) of coordinates."""
    return np.array([SIZES[dimension] for dimension in robot.engine.layout.dimensions])


def make_states(
    robot: Robot, n_states: int, seed: int, given: Sequence[tuple[ArrayLike, ArrayLike]] | None
) -> list[State]:
    """The given states, or random ones of moderate size, every other one at rest."""
    if given is not None:
        states = [(robot.coordinates(q), robot.coordinates(qd, "qd")) for q, qd in given]
        if not states:
            raise InputError("states", "pairs (q, qd)", "none")
        return states
    n_states = int(number("n_states", n_states, "a number of states, 1 or more", least=1.0))
    rng, size = np.random.default_rng(seed), scales(robot)
    return [(size * rng.normal(size=robot.ndof), (k % 2) * 2.0 * size * rng.normal(size=robot.ndof))
            for k in range(n_states)]  # fmt: skip


def describe_state(k: int, state: State) -> str:
    """Which state it is, for messages."""
    return f"state {k} ({'moving' if np.any(state[1]) else 'at rest'})"


def check_stateless(where: str, evaluate: Callable[[Any], tuple[Array, ...]], states: Sequence[object]) -> None:
    """Refuse what does not give the same values again: in any order, from any thread, and in arrays of their own."""
    hint = "it keeps a state: a counter, a cache, or an array that it fills anew at every call"
    returned = [evaluate(state) for state in states]
    first = [tuple(np.array(part) for part in evaluate(state)) for state in states]
    for repeated, fresh in zip(returned, first, strict=True):
        if not _same(repeated, fresh):
            raise ContractError(where, "what it returned changed later", hint)
    again = [evaluate(state) for state in reversed(states)][::-1]
    with ThreadPoolExecutor(N_THREADS) as threads:
        parallel = list(threads.map(evaluate, [*states] * N_THREADS))
    for what, found in (("in another order", again), ("from several threads", parallel)):
        if not all(_same(a, first[k % len(first)]) for k, a in enumerate(found)):
            raise ContractError(where, f"the same arguments gave other values, called {what}", hint)


def _same(a: tuple[Array, ...], b: tuple[Array, ...]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
