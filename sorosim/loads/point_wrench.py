"""A wrench at one point: fixed in the body (follower), of fixed directions (dead) or on a fixed line of the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sorosim.errors import ModelError, nearest
from sorosim.kernels.load_laws import DEAD, FIXED_LINE, FOLLOWER
from sorosim.loads.base import IntArray
from sorosim.loads.compiled import CompiledLaw, LawRow
from sorosim.model.anchor import Anchor
from sorosim.model.compile import Layout
from sorosim.model.material import real_number
from sorosim.model.pose import vector3
from sorosim.signals import CallableSignal, ConstantSignal, Signal, as_signal
from sorosim.validation import as_real, describe

FRAMES = ("body", "world", "line")
KINDS = dict(zip(FRAMES, (FOLLOWER, DEAD, FIXED_LINE), strict=True))


@dataclass(frozen=True)
class PointWrench:
    """Moment and force at one point of a link.

    Parameters
    ----------
    link : str or Anchor
        The name of a link, or a frame on it, which `anchor` is in either case.
    s : float
        Place on a rod, 0 to 1, beside a name; without meaning for a rigid link.
    wrench : six numbers or signals
        [moment; force] [N m, N], in the axes of `frame`. A signal of time is what `sorosim.signals.as_signal` takes:
        an expression of t, a table, a callable.
    frame : {"world", "body", "line"}
        "world": the directions stay (dead load); "body": they turn with the point (follower load); "line": the line of
        action stays where it is in the world, the force is on whatever part of the line the link passes.
    through : three numbers
        For "line": a point of the world that the line of the force passes [m].
    """

    link: str | Anchor
    s: float = 1.0
    _: KW_ONLY
    wrench: tuple[Any, ...]  # numbers stay numbers, all else becomes a Signal
    frame: str = "world"
    through: tuple[float, float, float] | None = None
    anchor: Anchor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "wrench", six_entries("wrench", self.wrench))
        object.__setattr__(self, "anchor", as_anchor("wrench", self.link, self.s))
        if self.anchor == Anchor(self.anchor.link, s=self.anchor.s):  # no more than its name and place
            object.__setattr__(self, "link", self.anchor.link)
        object.__setattr__(self, "s", self.anchor.s)
        if self.frame not in FRAMES:
            hint = nearest(str(self.frame), FRAMES)
            raise ModelError("wrench.frame", "world, body or line", describe(self.frame), hint)
        if (self.through is not None) != (self.frame == "line"):
            got = "none" if self.through is None else "one of another frame"
            raise ModelError("wrench.through", "a point for frame line, and for no other", got)
        if self.through is not None:
            object.__setattr__(self, "through", vector3("wrench.through", self.through))

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """The one place it acts on."""
        return ((self.anchor.link, self.anchor.s),)

    def bind(self, layout: Layout) -> BoundLaw:
        """Look the node up."""
        node = self.anchor.node(layout)
        pose = self.anchor.pose_on_node("wrench", {name: link.link for name, link in layout.links.items()})
        values, varying = split_entries(self.wrench)
        rows = [LawRow(KINDS[self.frame], node, values, varying, pose)]
        if self.through is not None:
            # the moment of each component of the force about the world's origin
            rows += _about_origin(node, self.through, values, varying)
        return BoundLaw(np.full(len(rows), node, dtype=np.int64), CompiledLaw(rows))


def _about_origin(node: int, p: tuple[float, float, float], values: Any, varying: Any) -> list[LawRow]:
    rows = []
    for i in range(3):
        moment = np.cross(p, np.eye(3)[i]) * values[3 + i]
        signal = {} if 3 + i not in varying else dict.fromkeys(range(3), varying[3 + i])
        if moment.any():
            rows.append(LawRow(FIXED_LINE, node, np.concatenate([moment, np.zeros(3)]), signal))
    return rows


@dataclass(frozen=True, eq=False)
class BoundLaw:
    """A bound load whose law is compiled."""

    nodes: IntArray
    law: CompiledLaw


def as_anchor(where: str, link: Any, s: float = 1.0) -> Anchor:
    """A frame on a link, from itself or from the name of the link and a place on it."""
    if isinstance(link, Anchor):
        if s not in (1.0, link.s):
            raise ModelError(f"{where}.s", "a place s here or in the Anchor, one of them", "both")
        if isinstance(link.at, str):
            hint = "only the end of a loop may be taken as built"
            raise ModelError(f"{where}.at", "a pose", f"'{link.at}'", hint)
        return link
    place = real_number(f"{where}.s", s, "a place from 0 to 1", least=0.0, upto=1.0)
    if not isinstance(link, str):
        raise ModelError(f"{where}.link", "the name of a link, or an Anchor", describe(link))
    return Anchor(link, s=place)


def six_entries(where: str, given: Any) -> tuple[float | Signal, ...]:
    """Six numbers or signals; refuses anything else."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) != 6:
        raise ModelError(where, "six numbers or signals: moment [N m], force [N]", describe(given))
    return tuple(number_or_signal(f"{where}[{i}]", value) for i, value in enumerate(given))


def number_or_signal(where: str, value: Any) -> float | Signal:
    """A number, or a signal of time that is not constant."""
    if as_real(value) is not None:
        return real_number(where, value, "a finite number")
    signal = as_signal(value, where)
    if isinstance(signal, ConstantSignal):
        return signal.level
    if not isinstance(signal, CallableSignal):
        with np.errstate(all="ignore"):
            if not np.isfinite(first := signal.value(0.0)):
                raise ModelError(where, "a signal that is finite at t = 0", f"{first}")
    return signal


def split_entries(entries: Sequence[float | Signal], scale: float = 1.0) -> tuple[Any, dict[int, Signal]]:
    """Numbers of a row of a law, `scale` where a signal varies, and the signals."""
    values = np.array([scale if isinstance(entry, Signal) else scale * entry for entry in entries])
    return values, {i: entry for i, entry in enumerate(entries) if isinstance(entry, Signal)}
