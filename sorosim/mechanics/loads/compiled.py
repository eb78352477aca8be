"""Loads whose laws are compiled: packed into arrays, so that whole integrations need no Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray, Records
from sorosim.base.compiled import table
from sorosim.base.complex_step import number_type
from sorosim.base.signals import Signal, compile_signals
from sorosim.mechanics.kernels import fluid
from sorosim.mechanics.kernels.external import INPUT_ROW
from sorosim.mechanics.kernels.load_laws import FLUID, LOAD_ROW, LoadLaws
from sorosim.mechanics.loads.base import BoundLoad, CompiledLoad
from sorosim.mechanics.loads.contact_cores import ContactGroup, pack_surfaces

NOTHING = np.zeros(0)


@dataclass(frozen=True)
class Medium:
    """A fluid: its current and its surface.

    Parameters
    ----------
    current : None, three signals of time, or three tapes of x, y, z, t (as `Expression.packed` or a signal gives them)
    up : (3,) array
        Unit vector.
    height : float, optional
        Of the surface along `up` [m]; without it the fluid is everywhere.
    """

    current: tuple[Any, ...] | None
    is_field: bool
    up: Array
    height: float | None


class LawRow(NamedTuple):
    """What acts on one node by a compiled law; see kernels.load_laws."""

    kind: int
    node: int
    values: Array
    varying: Mapping[int, Signal] = {}  # entry -> signal that it is multiplied by
    frame: Array | None = None  # (4, 4) on the node
    other: int | None = None  # node of the other body, -1 the world
    other_frame: Array | None = None
    per_length: bool = False  # whether it acts on the material of a rod, which may flow through the node


@dataclass(frozen=True)
class CompiledLaw:
    """A load as the compiled laws know it; a bound load gives it as `law`.

    Parameters
    ----------
    rows : sequence of LawRow
    lost : sequence of LawRow
        That part of them whose work counts as lost: brakes, dampers, drag.
    medium : Medium, optional
        Of rows of a fluid.
    contacts : sequence of ContactGroup
        Surfaces that touch.
    input : int
        Actuator whose input multiplies all of it; -1: none.
    """

    rows: Sequence[LawRow]
    lost: Sequence[LawRow] = ()
    medium: Medium | None = None
    contacts: Sequence[ContactGroup] = ()
    input: int = -1

    @property
    def losses(self) -> CompiledLaw:
        """The dissipative part of the law."""
        contacts = [group.lost for group in self.contacts if group.dissipates]
        return replace(self, rows=self.lost, lost=(), contacts=contacts)


@dataclass(frozen=True, eq=False)
class BoundLaw:
    """A bound load whose law is compiled."""

    law: CompiledLaw
    added_inertia: Array | None = None  # (n, 6, 6) of a fluid

    @cached_property
    def nodes(self) -> IntArray:
        """The nodes of its rows, and those of other bodies of the robot."""
        others = [row.other for row in self.law.rows if row.other is not None and row.other >= 0]
        return np.array([*(row.node for row in self.law.rows), *others], dtype=np.int64)


def split_entries(entries: Sequence[float | Signal], scale: float = 1.0) -> tuple[Any, dict[int, Signal]]:
    """Numbers of a row of a law, `scale` where a signal varies, and the signals."""
    values = np.array([scale if isinstance(entry, Signal) else scale * entry for entry in entries])
    return values, {i: entry for i, entry in enumerate(entries) if isinstance(entry, Signal)}


def compiled_law(load: BoundLoad | CompiledLoad) -> CompiledLaw | None:
    """The compiled law of a bound load, None if it has none."""
    law: CompiledLaw | None = getattr(load, "law", None)
    return law


@dataclass
class _Packer:
    """Collects laws."""

    material_rows: Mapping[int, int]  # as `Layout` has them
    rows: list[tuple[int, ...]] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    frames: list[Array] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    inputs: list[tuple[int, int]] = field(default_factory=list)
    media: list[tuple[int, int, int]] = field(default_factory=list)
    media_values: list[list[float]] = field(default_factory=list)
    fields: list[Any] = field(default_factory=list)
    known: dict[int, int] = field(default_factory=dict)  # signals by identity
    size: int = 0

    def signal(self, signal: Signal) -> int:
        if id(signal) not in self.known:
            self.known[id(signal)] = len(self.signals)
            self.signals.append(signal)
        return self.known[id(signal)]

    def frame(self, pose: Array | None) -> int:
        if pose is None or np.array_equal(pose, np.eye(4)):
            return -1
        self.frames.append(np.vstack([pose[:3, :3], pose[:3, 3]]))
        return len(self.frames) - 1

    def medium(self, medium: Medium) -> int:
        kind, first = fluid.STILL, 0
        if medium.current is not None and medium.is_field:
            kind, first = fluid.FIELD, len(self.fields)
            self.fields += medium.current
        elif medium.current is not None:
            kind, first = fluid.UNIFORM, len(self.signals)
            self.signals += medium.current  # three in a row
        self.media.append((kind, first, int(medium.height is not None)))
        self.media_values.append([*medium.up, medium.height or 0.0])
        return len(self.media) - 1

    def add(self, law: CompiledLaw) -> None:
        medium = -1 if law.medium is None or not law.rows else self.medium(law.medium)
        for row in law.rows:
            entries = [-1] * 6
            for entry, signal in row.varying.items():
                entries[entry] = self.signal(signal)
            other, pair = -2 if row.other is None else row.other, -1
            if row.other is not None and row.other >= 0:
                pair = len(self.pairs)
                self.pairs.append((row.node, row.other))
            unit, nodes = len(self.inputs), (row.node, row.other) if pair >= 0 else (row.node,)
            if law.input >= 0:
                self.inputs += [(law.input, node) for node in nodes if node is not None]
            self.rows.append((
                row.node, row.kind, self.size, self.frame(row.frame), other, self.frame(row.other_frame), pair,
                medium if row.kind == FLUID else -1,
                self.material_rows.get(row.node, -1) if row.per_length else -1, law.input, unit, *entries,
            ))  # fmt: skip
            self.values.append(np.asarray(row.values, dtype=number_type()).ravel())
            self.size += len(self.values[-1])


def compile_load_laws(
    laws: Sequence[CompiledLaw], material_rows: Mapping[int, int]
) -> tuple[LoadLaws, list[Signal], list[tuple[int, int]], Records]:
    """Arrays of laws, their signals, pairs of nodes that some of them act between, and what inputs act on."""
    packer, kind = _Packer(material_rows), number_type()
    for law in laws:
        packer.add(law)
    media = fluid.Media(
        table(fluid.MEDIUM, packer.media),
        np.array(packer.media_values, dtype=kind).reshape(-1, 4),
        compile_signals(packer.fields)[0],
    )
    packed = LoadLaws(
        table(LOAD_ROW, packer.rows),
        np.concatenate([NOTHING, *packer.values]).astype(kind),
        np.array(packer.frames, dtype=kind).reshape(-1, 4, 3), compile_signals(packer.signals)[0], media,
        pack_surfaces([group for law in laws for group in law.contacts]),
    )  # fmt: skip
    return packed, packer.signals, packer.pairs, table(INPUT_ROW, packer.inputs)
