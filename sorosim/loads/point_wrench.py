"""A wrench at one point, fixed in the body (follower) or in the world (dead); constant, or changing in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.compiled import entry
from sorosim.door import as_real, describe
from sorosim.errors import ModelError, nearest
from sorosim.kernels.load_laws import DEAD, FOLLOWER
from sorosim.kernels.signals import evaluate_signals, signal_workspace
from sorosim.lie.so3 import skew
from sorosim.loads.base import Array, LoadValues
from sorosim.loads.compiled import CompiledLaw
from sorosim.model.compile import Layout
from sorosim.model.material import real_number
from sorosim.signals import ConstantSignal, Signal, as_signal, compile_signals

FRAMES = ("body", "world")


@dataclass(frozen=True)
class PointWrench:
    """Moment and force at one point of a link.

    Parameters
    ----------
    link : str
    s : float
        Place on a rod, 0 to 1; without meaning for a rigid link.
    wrench : six numbers or signals
        [moment; force] [N m, N], in the axes of `frame`. A signal of time is what `sorosim.signals.as_signal` takes:
        an expression of t, a table, a callable.
    frame : {"world", "body"}
        "world": the directions stay (dead load); "body": they turn with the point (follower load).
    """

    link: str
    s: float = 1.0
    _: KW_ONLY
    wrench: tuple[Any, ...]  # numbers stay numbers, all else becomes a Signal
    frame: str = "world"

    def __post_init__(self) -> None:
        given: Any = self.wrench
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) != 6:
            raise ModelError("wrench", "six numbers or signals: moment [N m], force [N]", describe(given))
        object.__setattr__(self, "wrench", tuple(_entry(f"wrench[{i}]", value) for i, value in enumerate(given)))
        object.__setattr__(self, "s", real_number("wrench.s", self.s, "a place from 0 to 1", least=0.0, upto=1.0))
        if self.frame not in FRAMES:
            raise ModelError("wrench.frame", "world or body", describe(self.frame), nearest(str(self.frame), FRAMES))

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """The one place it acts on."""
        return ((self.link, self.s),)

    def bind(self, layout: Layout) -> _BoundWrench:
        """Look the node up."""
        node = layout.link(self.link).node_at(self.s)
        return _BoundWrench(np.array([node], dtype=np.int64), self.wrench, self.frame == "world")


def _entry(where: str, value: Any) -> float | Signal:
    if as_real(value) is not None:
        return real_number(where, value, "a finite number")
    signal = as_signal(value, where)
    return signal.level if isinstance(signal, ConstantSignal) else signal


@dataclass(frozen=True)
class _BoundWrench:
    nodes: NDArray[np.int64]
    wrench: tuple[Any, ...]
    dead: bool
    dissipates = False

    @property
    def law(self) -> CompiledLaw:
        """The compiled form."""
        varying = {i: self.wrench[i] for i in self.varying}
        return CompiledLaw(DEAD if self.dead else FOLLOWER, [int(self.nodes[0])], self.constant[None], varying)

    @cached_property
    def constant(self) -> Array:
        """The entries that are numbers (6,), zero where they are signals."""
        return np.array([0.0 if isinstance(value, Signal) else value for value in self.wrench])

    @cached_property
    def varying(self) -> tuple[int, ...]:
        """Indices of the entries that are signals."""
        return tuple(i for i, value in enumerate(self.wrench) if isinstance(value, Signal))

    @cached_property
    def compiled(self) -> Any:
        """The signals as arrays, callables among them, the code that evaluates them, the shape of its workspace."""
        arrays, callables = compile_signals([self.wrench[i] for i in self.varying])
        workspace = signal_workspace(arrays)
        evaluate = entry(evaluate_signals, arrays, 0.0, np.empty((len(self.varying), 3)), workspace)
        return arrays, callables, evaluate, workspace.shape

    def values(self, t: float) -> Array:
        """The wrench (6,) at time t."""
        out = self.constant.copy()
        if self.varying:
            arrays, callables, evaluate, shape = self.compiled
            jets = np.zeros((len(self.varying), 3))
            for row, function in callables:
                jets[row, 0] = function(t)
            evaluate(arrays, float(t), jets, np.empty(shape))
            out[list(self.varying)] = jets[:, 0]
        return out

    def evaluate(self, t: float, g: Array, eta: Array) -> LoadValues:
        f, K, D = self.values(t), np.zeros((1, 6, 6)), np.zeros((1, 6, 6))
        if self.dead:
            R = g[0, :3, :3]
            f[:3], f[3:] = R.T @ f[:3], R.T @ f[3:]
            # a body rotation delta turns R into R exp(delta^): R^T m changes by (R^T m)^ delta
            K[0, :3, :3], K[0, 3:, :3] = skew(f[:3]), skew(f[3:])
        return LoadValues(f[None], K, D)
