"""Cases of rigid chains beside Pinocchio's derivatives, by public Python calls of both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks.cases import Case, amount
from benchmarks.context import Action, Context, thread_seconds
from benchmarks.rigid_trees import PEERS, pinocchio, public_calls, tree
from sorosim.mechanics.robot import Robot

NAMES = {
    "ID + derivatives": "inverse dynamics derivatives",
    "FD derivatives": "forward dynamics derivatives",
}

_chain = cache(tree)


def _ours(n: int, operation: str) -> Callable[[Context], Action]:
    return lambda _: public_calls(_chain(n))[operation]


def _compared(n: int, operation: str) -> Callable[[Context, Any], str]:
    """Times of both, measured in turns."""

    def remark(_: Context, __: Any) -> str:
        robot: Robot = _chain(n)
        try:
            theirs = pinocchio(robot)[PEERS[operation]]
        except ImportError:
            return "Pinocchio is not installed"
        ours, peer = thread_seconds(public_calls(robot)[operation], theirs)
        return f"Pinocchio {amount(peer, 's')}; ours / Pinocchio {ours / peer:.2f}"

    return remark


RIGID: tuple[Case, ...] = tuple(
    Case(f"{name}, chain of {n} revolute joints", _ours(n, operation), iterations=2000 // n,
         remark=_compared(n, operation))
    for name, operation in NAMES.items()
    for n in (10, 50, 100)
)  # fmt: skip
