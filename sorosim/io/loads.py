"""Loads of a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.io.bodies import BodyBuilder
from sorosim.io.contacts import ContactBuilder
from sorosim.io.fields import formula_or_quantity
from sorosim.io.inputs import SignalBuilder
from sorosim.io.own import own_of
from sorosim.io.places import PlaceBuilder
from sorosim.io.schema_contact import ContactBlock
from sorosim.io.schema_loads import EndBlock, FluidBlock, ImmersedBlock, LineBlock, LoadBlock, SpringBlock, WrenchBlock
from sorosim.io.schema_signals import SignalFile, SignalTable
from sorosim.loads.contact import Contact
from sorosim.loads.fluid import VARIABLES as FLOW_VARIABLES
from sorosim.loads.fluid import Fluid
from sorosim.loads.immersion import Immersed
from sorosim.loads.line_load import VARIABLES, LineLoad
from sorosim.loads.point_wrench import PointWrench
from sorosim.loads.spring import ENTRIES, Spring
from sorosim.model.anchor import Anchor
from sorosim.model.link import WORLD, Link
from sorosim.problems import Collector, Path
from sorosim.registry import LOADS
from sorosim.signals import Signal
from sorosim.signals.expressions import Expression

_SPRING = {"stiffness": "stiffness", "damping": "damping", "rest": "length"}


@dataclass
class LoadBuilder:
    """Builds loads.

    Parameters
    ----------
    todo : Collector
    places : PlaceBuilder
    signals : SignalBuilder
    bodies : BodyBuilder
        Reads shapes.
    names : collection of str
        Of all links of the file.
    links : mapping of str to Link
        Those that are right.
    gravity : three numbers
        [m/s^2]
    """

    todo: Collector
    places: PlaceBuilder
    signals: SignalBuilder
    bodies: BodyBuilder
    names: Collection[str]
    links: Mapping[str, Link]
    gravity: tuple[float, float, float]

    def load(self, path: Path, block: LoadBlock) -> Any:
        """A load, None if it is wrong."""
        if block.own is not None:
            return own_of(self.todo, (*path, block.own[0]), block.own, LOADS)
        make: Any = getattr(self, block.kind)
        return make((*path, block.kind), block.chosen)

    def wrench(self, path: Path, block: WrenchBlock) -> PointWrench | None:
        """A wrench at a point."""
        if not self.todo.known((*path, "link"), "the name of a link", block.link, self.names):
            return None
        if block.s is not None:
            self.places.check_place((*path, "s"), block.link)
            if block.at is not None and "s" in _given(block.at):
                self.todo.add((*path, "s"), "a place s here or in at, one of them", "both")
        anchor = self.anchor((*path, "at"), block.at, block.link, block.s)
        wrench = [
            self.signals.signal((*path, name, i), entry, name)
            for name, entries in (("moment", block.moment), ("force", block.force))
            for i, entry in enumerate(entries or [0.0] * 3)
        ]
        if anchor is None or None in wrench:
            return None
        options: dict[str, Any] = {"wrench": tuple(wrench), "frame": block.frame, "through": block.through}
        return self.todo.attempt(path, lambda: PointWrench(anchor, **options))

    def line(self, path: Path, block: LineBlock) -> LineLoad | None:
        """Force and moment per length."""
        rods = [name for name in self.names if name not in self.links or self.links[name].rod is not None]
        if not self.todo.known((*path, "rod"), "the name of a link with a rod", block.rod, rods):
            return None
        entries = [
            self.entry((*path, name, i), entry, f"line {name}", VARIABLES)
            for name, given in (("moment", block.moment), ("force", block.force))
            for i, entry in enumerate(given or [0.0] * 3)
        ]
        if None in entries:
            return None
        if block.start >= block.end:
            self.todo.add((*path, "from"), f"a place before the end, {block.end:g}", f"{block.start:g}")
            return None
        options: dict[str, Any] = {"frame": block.frame, "start": block.start, "end": block.end}
        return self.todo.attempt(path, lambda: LineLoad(block.rod, wrench=tuple(entries), **options))

    def spring(self, path: Path, block: SpringBlock) -> Spring | None:
        """A spring between two points."""
        ends = [self.end((*path, name), end) for name, end in (("from", block.start), ("to", block.end))]
        values = {
            name: self.signals.signal((*path, name), getattr(block, name), _SPRING[name]) for name in ENTRIES
        }  # fmt: skip
        a, b = ends
        if a is None or b is None or None in values.values():
            return None
        return self.todo.attempt(path, lambda: Spring(a, b, **values))

    def fluid(self, path: Path, block: FluidBlock) -> Fluid | None:
        """A fluid around links."""
        current = [
            self.entry((*path, "current", i), entry, "speed", FLOW_VARIABLES)
            for i, entry in enumerate(block.current or [0.0] * 3)
        ]
        links: dict[str, Immersed] | None = None
        n_problems = len(self.todo.problems)
        if block.links is not None:
            links = {}
            for name, given in block.links.items():
                if self.todo.known((*path, "links", name), "the name of a link", name, self.names, at_key=True):
                    immersed = self.immersed((*path, "links", name), given)
                    if immersed is not None:
                        links[name] = immersed
        if None in current or len(self.todo.problems) > n_problems:
            return None
        g = np.array(self.gravity)
        up: Any = block.up or (tuple((-g).tolist()) if np.any(g) else (0.0, 0.0, 1.0))
        options: dict[str, Any] = {"height": block.height, "up": up, "links": links}
        return self.todo.attempt(path, lambda: Fluid(block.density, current=tuple(current), **options))

    def contact(self, path: Path, block: ContactBlock) -> Contact | None:
        """Contact between surfaces."""
        return ContactBuilder(self.todo, self.bodies, self.names).contact(path, block)

    def immersed(self, path: Path, block: ImmersedBlock) -> Immersed | None:
        """A link in a fluid."""
        shape = None if block.shape is None else self.bodies.wet_shape((*path, "shape"), block.shape)
        if block.shape is not None and shape is None:
            return None
        given: dict[str, Any] = {"drag": block.drag, "rotary_drag": block.rotary_drag, "added_mass": block.added_mass}
        form: dict[str, Any] = {} if shape is None else {"shape": shape[0], "at": shape[1]}
        return self.todo.attempt(path, lambda: Immersed(lift=block.lift, **given, **form))

    # -- parts -----------------------------------------------------------------------------------------------------

    def end(self, path: Path, end: str | EndBlock) -> Anchor | None:
        """An end of a spring."""
        link, at = (end, None) if isinstance(end, str) else (end.link, end.at)
        if link != WORLD and link not in self.names:
            here = path if isinstance(end, str) else (*path, "link")
            self.todo.known(here, "a link of this robot or 'world'", link, [*self.names, WORLD])
            return None
        return self.anchor((*path, "at"), at, link)

    def anchor(self, path: Path, at: Any, link: str, s: float | None = None) -> Anchor | None:
        """A frame on a link."""
        pose, place, frame = self.places.pose(path, at, link)
        if pose is None:
            return None
        return self.todo.attempt(path, lambda: Anchor(link, s=place if s is None else s, frame=frame, at=pose))

    def entry(self, path: Path, block: Any, dimension: str, variables: tuple[str, ...]) -> Any:
        """A number, an expression of place and time, or a signal of time; None if it is wrong."""
        if isinstance(block, SignalTable | SignalFile):
            return self.signals.signal(path, block, dimension)
        return self.todo.attempt(path, lambda: formula_or_quantity(block, dimension, variables))


def _given(at: Any) -> set[str]:
    first = at[0] if isinstance(at, list) and at else at
    return set() if first is None or isinstance(first, list) else set(first.model_fields_set)


def signals_of_load(load: Any) -> Iterator[tuple[Path, Signal]]:
    """Signals of a load that may come from files, with their paths in its block."""
    if isinstance(load, PointWrench | LineLoad):
        key = "wrench" if isinstance(load, PointWrench) else "line"
        entries: Any = [((key, "moment" if i < 3 else "force", i % 3), entry) for i, entry in enumerate(load.wrench)]
    elif isinstance(load, Spring):
        entries = [(("spring", name), getattr(load, name)) for name in ENTRIES]
    elif isinstance(load, Fluid):
        entries = [(("fluid", "current", i), entry) for i, entry in enumerate(load.flow)]
    else:
        return
    for path, entry in entries:
        if isinstance(entry, Signal) and not isinstance(entry, Expression):
            yield path, entry
