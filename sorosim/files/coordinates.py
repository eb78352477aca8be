"""Coordinates in a file: where they start, and which of them move along signals of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import INVALID, At, SignalOf
from sorosim.base.errors import ModelError
from sorosim.base.problems import Path, dotted, shown
from sorosim.base.signals import CallableSignal
from sorosim.base.units.quantity import quantity
from sorosim.base.units.table import OF_COORDINATE
from sorosim.files.robot_file import InitialCoordinate, InitialPose
from sorosim.mechanics.engine.inputs import Partition, check_smooth
from sorosim.mechanics.model.chart import coordinates_of, rates_of
from sorosim.mechanics.model.initial import InitialShape, has_fixed_length
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.layout import Layout

_FREEDOM = {
    "spherical": "a spherical joint turns about its origin",
    "planar": "a planar joint turns about its normal and moves at right angles to it",
}


@dataclass
class CoordinateReader:
    """Reads the blocks that name coordinates of a robot; what they say is kept by the names of coordinates."""

    scope: Any
    layout: Layout
    actuators: Mapping[str, Any]
    values: dict[str, float] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)  # coordinate -> key of the initial block that speaks of it
    shapes: dict[str, InitialShape] = field(default_factory=dict)

    # -- the initial block -----------------------------------------------------------------------------------------

    def initial(self, blocks: Mapping[str, Any]) -> None:
        """Read where coordinates start, and how fast."""
        for name, block in blocks.items():
            path: Path = ("initial", name)
            if isinstance(block, InitialPose):
                self.pose(path, name, block)
            elif isinstance(block, InitialShape):
                rods = [key for key, link in self.layout.links.items() if has_fixed_length(link)]
                if At(self.scope, path).known("the name of a rod of given length", name, rods, at_key=True):
                    self.shapes[name] = block
            else:
                self.single(path, name, block)

    def single(self, path: Path, name: str, block: InitialCoordinate) -> None:
        """Value and rate of a coordinate."""
        names, link = self.layout.coordinate_names, self.layout.links.get(name)
        if link is not None and link.n_joint:
            own = ", ".join(f"{name}.{end}" for end in link.link.joint.names)
            self.add(path, "the name of a coordinate", f"{shown(name)}, a link", f"write {own}", at_key=True)
            return
        if not At(self.scope, path).known("the name of a coordinate", name, names, at_key=True):
            return
        dimension, rate, _ = OF_COORDINATE[self.layout.dimensions[names.index(name)]]
        given = [("value", block.value, dimension, self.values), ("rate", block.rate, rate, self.rates)]
        self.say(path, name, [name])
        for key, value, wanted, there in given:
            here = (*path, key) if isinstance(self.scope.data["initial"][name], Mapping) else path
            number = None if value is None else At(self.scope, here).attempt(lambda v=value, w=wanted: quantity(v, w))  # type: ignore[misc]
            if number is not None and number is not INVALID:
                there[name] = number

    def pose(self, path: Path, name: str, block: InitialPose) -> None:
        """Coordinates and rates of a joint from pose and motion of its moved frame."""
        if name in self.layout.coordinate_names:
            self.add(path, "a value, a rate, or both", "a pose", "a pose is that of a link")
            return
        moving = {key: link.link.joint for key, link in self.layout.links.items() if link.n_joint}
        posed = [key for key, joint in moving.items() if joint.takes_pose]
        what = "the name of a link on a spherical, planar or free joint"
        if name not in moving and not At(self.scope, path).known(what, name, posed, at_key=True):
            return
        joint = moving[name]
        names = [f"{name}.{end}" for end in joint.names]
        if name not in posed:
            hint = f"write {names[0]}: {{value: ..., rate: ...}}"
            self.add(path, f"the coordinates of a {joint.kind} joint, {', '.join(names)}", "a pose", hint)
            return
        self.say(path, name, names)
        g = At(self.scope, path).attempt(block.matrix)
        q = None if g is INVALID else self.fitted(path, joint, lambda: coordinates_of(joint, g))
        if g is INVALID or q is None:
            return
        self.values.update(zip(names, (q + 0.0).tolist(), strict=True))  # no -0
        if block.velocity is not None or block.angular_velocity is not None:
            # the model's rates are of the twist in the moved frame
            linear, angular = (np.array(v or (0.0,) * 3) @ g[:3, :3] for v in (block.velocity, block.angular_velocity))
            qd = self.fitted(path, joint, lambda: rates_of(joint, q, np.concatenate([angular, linear])))
            if qd is not None:
                self.rates.update(zip(names, (qd + 0.0).tolist(), strict=True))

    def fitted(self, path: Path, joint: Joint, make: Callable[[], Array]) -> Array | None:
        """Coordinates or rates of a joint; None if the joint cannot be or move so, which is noted."""
        try:
            found = make()
        except ModelError as error:
            self.add(path, error.expected, error.got, _FREEDOM.get(joint.kind, ""))
            return None
        if not np.isfinite(found).all():
            self.add(path, "a pose and a motion that can be computed with", "an overflow", "look for a wrong unit")
        return found

    def say(self, path: Path, key: str, names: list[str]) -> None:
        """Keep which key speaks of coordinates; note what has been said already."""
        again = next((name for name in names if name in self.said), None)
        if again is not None:
            got = f"'{again}' under '{self.said[again]}' and under '{key}'"
            self.add(path, "every coordinate once", got, "leave one of them out", at_key=True)
        self.said.update(dict.fromkeys(names, key))

    # -- driven coordinates ----------------------------------------------------------------------------------------

    def add(self, path: Path, expected: str, got: str, hint: str = "", at_key: bool = False) -> None:
        """Note a mistake."""
        At(self.scope, path).fail(expected, got, hint, at_key)

    def driven(self, block: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Driven coordinates under the names that a block gives them: signals of `simulate`, values of `statics`."""
        chosen: dict[int, str] = {}
        found: dict[str, Any] = {}
        moving = block == "simulate"
        for name, entry in given.items():
            path: Path = (block, "driven", name)
            index = self.index(path, name, chosen, moving=moving)
            if index is None:
                continue
            chosen[index], at, dimension = name, At(self.scope, path), self.layout.dimensions[index]
            one: Any = (
                SignalOf(dimension).signal(entry, at) if moving else at.attempt(partial(quantity, entry, dimension))
            )
            if one is INVALID:
                continue
            found[name] = one
            # of some tables a result file keeps the path only; and `simulate` looks again, whatever its end is
            if moving and not isinstance(one, CallableSignal) and self.scope.t_end is not None:
                at.attempt(partial(check_smooth, {name: one}, self.scope.t_end))
        return found

    def index(self, path: Path, name: str, chosen: Mapping[int, str], *, moving: bool = True) -> int | None:
        """Which coordinate a name drives; None, with a note, where nothing can drive it or something does already."""

        def partition(*names: str) -> Partition:
            return Partition.of(self.layout, dict.fromkeys(names), self.actuators)

        alone = At(self.scope, path).attempt(lambda: partition(name), at_key=True)
        if alone is INVALID:
            return None
        index = int(alone.driven[0])
        if index in chosen:
            At(self.scope, path).attempt(lambda: partition(chosen[index], name), at_key=True)
            return None
        coordinate = self.layout.coordinate_names[index]
        if moving and coordinate in self.said:
            hint = f"the motion says where it begins: leave {dotted(('initial', self.said[coordinate]))} out"
            got = "both: it has an initial value"
            self.add(path, "a coordinate that is driven or free", got, hint, at_key=True)
        return index
