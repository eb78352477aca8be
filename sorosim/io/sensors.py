"""Sensors of a file, and back to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sorosim.errors import ModelError, nearest
from sorosim.io.body_writer import pose_block
from sorosim.io.places import PlaceBuilder
from sorosim.io.schema import RobotFile
from sorosim.io.schema_bodies import PoseBlock
from sorosim.io.schema_sensors import GaugeBlock, MountBlock, SensorBlock
from sorosim.problems import Collector, Path, shown
from sorosim.sensors.base import Sensor
from sorosim.sensors.kinds import KINDS, LoadSensor, MountedSensor, StrainSensor
from sorosim.units.quantity import quantity

# kinds that look at something by its name: the block that has it, what it is called, what the sensor calls it
_NAMED = {
    "tendon": ("actuators", "a tendon", "tendon"),
    "joint_wrench": ("links", "a link", "link"),
    "loop_wrench": ("loops", "a loop", "loop"),
    "load": ("loads", "a load", "load"),
}


@dataclass
class SensorBuilder:
    """Builds sensors.

    Parameters
    ----------
    todo : Collector
    places : PlaceBuilder
    file : RobotFile
    names : callable
        Names in a block of the file, those of wrong entries too.
    """

    todo: Collector
    places: PlaceBuilder
    file: RobotFile
    names: Callable[[str], list[str]]

    def sensor(self, path: Path, block: SensorBlock) -> Sensor | None:
        """A sensor, None if something of it is wrong."""
        kind, n_problems = KINDS[block.kind], len(self.todo.problems)
        here, given = (*path, block.kind), getattr(block, block.kind)
        if isinstance(given, MountBlock):
            target = self.mount(here, given)
        elif isinstance(given, GaugeBlock):
            target = self.gauge(here, given)
        else:
            target = self.named(here, block.kind, given)
        errors = {
            name: self.errors((*path, name), value, kind)
            for name in ("noise", "bias")
            if (value := getattr(block, name)) is not None
        }
        if len(self.todo.problems) > n_problems:
            return None
        return self.todo.attempt(path, lambda: kind(**target, **errors, rate=block.rate, seed=block.seed))

    def mount(self, path: Path, block: MountBlock) -> dict[str, Any]:
        """A frame on a link: `s` and `frame` stand beside `at`, or in it."""
        if not self.todo.known((*path, "link"), "the name of a link", block.link, self.names("links")):
            return {}
        at, s, frame = self.places.pose((*path, "at"), block.at, block.link)
        first = block.at[0] if isinstance(block.at, list) and block.at else block.at
        for key in ("s", "frame"):
            if getattr(block, key) is not None and isinstance(first, PoseBlock) and getattr(first, key) is not None:
                self.todo.add((*path, key), f"one {'place s' if key == 's' else key}", "another one in at", at_key=True)
        if block.s is not None:
            self.places.check_place((*path, "s"), block.link)
            s = block.s
        if block.frame is not None:
            self.places.check_frame((*path, "frame"), block.frame, block.link)
            frame = block.frame
        return {"link": block.link, "s": s, "frame": frame, "at": at}

    def gauge(self, path: Path, block: GaugeBlock) -> dict[str, Any]:
        """A place on a rod."""
        others = [name for name, link in self.file.links.items() if link.rod is None]
        known = self.names("links")
        if block.link not in known or block.link in others:
            hint = nearest(block.link, [name for name in known if name not in others])
            self.todo.add((*path, "link"), "the name of a link with a rod", shown(block.link), hint)
        return {"link": block.link, "s": 1.0 if block.s is None else block.s}

    def named(self, path: Path, kind: str, name: str) -> dict[str, Any]:
        """What has a name in another block."""
        block, what, argument = _NAMED[kind]
        others = [other for other, entry in self.file.actuators.items() if entry.tendon is None]
        known = self.names(block)
        if name not in known or (kind == "tendon" and name in others):
            hint = nearest(name, [other for other in known if kind != "tendon" or other not in others])
            self.todo.add(path, f"the name of {what}", shown(name), hint)
        return {argument: name}

    def errors(self, path: Path, value: Any, kind: type[Sensor]) -> float | tuple[float, ...]:
        """Noise or bias: one quantity that fits every channel, or one for each, in their order."""
        groups = kind.error_groups()
        dimensions, names = zip(*((group.dimension, name) for group in groups for name in group.names), strict=True)
        if not isinstance(value, list):
            found = self.todo.attempt(path, partial(_one_for_all, value, list(dict.fromkeys(dimensions))))
            return 0.0 if found is None else found
        if kind is not LoadSensor and len(value) != len(names):
            self.todo.add(path, f"one number, or {len(names)}: {', '.join(names)}", f"{len(value)}")
            return 0.0
        read = [
            self.todo.attempt((*path, i), partial(quantity, entry, dimensions[i % len(dimensions)]))
            for i, entry in enumerate(value)
        ]
        return tuple(0.0 if entry is None else entry for entry in read)


def _one_for_all(value: Any, dimensions: list[str]) -> float:
    """A quantity that is of all these dimensions, as a bare number is."""
    try:
        return max(quantity(value, dimension) for dimension in dimensions)  # they are the same number
    except ModelError as error:
        hint = "a list has one for each channel" if len(dimensions) > 1 and not error.hint else error.hint
        raise ModelError("", error.expected, error.got, hint) from None


def sensor_block(where: str, sensor: Any, rods: set[str]) -> dict[str, Any]:
    """A sensor as the data of a file; `rods` are the links on which a place s has a meaning."""
    if type(sensor) not in KINDS.values():
        raise ModelError(where, "a sensor of sorosim.sensors.kinds", type(sensor).__name__)
    target: Any
    if isinstance(sensor, MountedSensor | StrainSensor):
        target = {"link": sensor.link}
        if sensor.s != 1.0 and sensor.link in rods:
            target["s"] = sensor.s
        if isinstance(sensor, MountedSensor):
            target |= {"frame": sensor.frame} if sensor.frame else {}
            target |= {"at": pose} if (pose := pose_block(sensor.at)) else {}
    else:
        target = getattr(sensor, _NAMED[sensor.kind][2])
    out = {sensor.kind: target}
    if sensor.rate is not None:
        out["rate"] = sensor.rate
    for name in ("noise", "bias"):
        value = getattr(sensor, name)
        if value != 0.0:
            out[name] = list(value) if isinstance(value, tuple) else value
    return out if sensor.seed is None else {**out, "seed": sensor.seed}
