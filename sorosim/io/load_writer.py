"""Loads and actuators back to the data of a file."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from sorosim.actuation.chamber import Chamber
from sorosim.actuation.distributed_moment import MOMENTS, DistributedMoment
from sorosim.actuation.joint_force import JointForce
from sorosim.actuation.loop_force import LoopForce
from sorosim.actuation.route import Run
from sorosim.actuation.servo import Servo
from sorosim.actuation.tendon import Tendon
from sorosim.io.body_writer import BodyWriter
from sorosim.io.contacts import contact_block
from sorosim.io.value_writer import formula, formula_or_signal, inexpressible, place, signal
from sorosim.loads.contact import Contact
from sorosim.loads.fluid import Fluid
from sorosim.loads.immersion import Immersed
from sorosim.loads.line_load import LineLoad
from sorosim.loads.point_wrench import PointWrench
from sorosim.loads.spring import ENTRIES, Spring
from sorosim.model.anchor import Anchor
from sorosim.registry import ACTUATORS, LOADS, Registry, given_of


def actuator_block(where: str, actuator: Any) -> dict[str, Any]:
    """An actuator."""
    along = {"along": actuator.along} if getattr(actuator, "along", "") else {}
    if isinstance(actuator, Servo):
        limits = {"damping": (actuator.damping, 0.0), "limit": (actuator.limit, math.inf)}
        return {"servo": {"link": actuator.link, **along, "stiffness": actuator.stiffness, **_unlike(limits)}}
    if isinstance(actuator, JointForce):
        return {"joint": {"link": actuator.link, **along}}
    if isinstance(actuator, LoopForce):
        return {"loop": {"loop": actuator.loop, **along}}
    if isinstance(actuator, DistributedMoment):
        moments = {name: (formula(f"{where}.{name}", getattr(actuator, name)), 0.0) for name in MOMENTS}
        return {"moment": {"rod": actuator.rod, **_unlike(moments), **_ends(actuator)}}
    if isinstance(actuator, Tendon):
        options = {name: (getattr(actuator, name), default)
                   for name, default in (("stiffness", None), ("friction", 0.0), ("pushes", False))}  # fmt: skip
        return {"tendon": {**_runs(where, actuator.runs), **_unlike(options)}}
    if isinstance(actuator, Chamber):
        return {"chamber": {**_runs(where, actuator.runs), "area": formula(f"{where}.area", actuator.area)}}
    return _own(where, "an actuator of sorosim, or one that is registered", actuator, ACTUATORS)


def load_block(where: str, load: Any, rods: Collection[str], bodies: BodyWriter) -> dict[str, Any]:
    """A load."""
    if isinstance(load, PointWrench):
        entries = [signal(f"{where}.wrench[{i}]", entry) for i, entry in enumerate(load.wrench)]
        at = place(load.anchor, rods)
        s = {"s": at.pop("s")} if "s" in at else {}
        through = {"through": list(load.through)} if load.through is not None else {}
        pose = {"at": at} if at else {}
        return {"wrench": {"link": load.anchor.link, **s, **pose, **_wrench(entries), "frame": load.frame, **through}}
    if isinstance(load, LineLoad):
        entries = [formula_or_signal(f"{where}.wrench[{i}]", entry) for i, entry in enumerate(load.wrench)]
        return {"line": {"rod": load.rod, **_wrench(entries), "frame": load.frame, **_ends(load)}}
    if isinstance(load, Spring):
        values = {name: (signal(f"{where}.{name}", getattr(load, name)), 0.0) for name in ENTRIES}
        assert isinstance(load.a, Anchor) and isinstance(load.b, Anchor)  # noqa: PT018  for the type checker
        return {"spring": {"from": _end(load.a, rods), "to": _end(load.b, rods), **_unlike(values)}}
    if isinstance(load, Fluid):
        return {"fluid": _fluid(where, load, bodies)}
    if isinstance(load, Contact):
        return {"contact": contact_block(load, bodies)}
    return _own(where, "a load of sorosim, or one that is registered", load, LOADS)


def _fluid(where: str, load: Fluid, bodies: BodyWriter) -> dict[str, Any]:
    out: dict[str, Any] = {"density": load.density, "up": list(load.up)}
    current = [formula_or_signal(f"{where}.current[{i}]", entry) for i, entry in enumerate(load.flow)]
    if any(entry != 0.0 for entry in current):
        out["current"] = current
    if load.height is not None:
        out["height"] = load.height
    if load.links is not None:
        assert isinstance(load.links, Mapping)  # for the type checker
        out["links"] = {name: _immersed(given, bodies) for name, given in load.links.items()}
    return out


def _immersed(given: Immersed, bodies: BodyWriter) -> dict[str, Any]:
    names = ("drag", "rotary_drag", "added_mass")
    out: dict[str, Any] = {name: list(value) for name in names if (value := getattr(given, name)) is not None}
    if given.lift:
        out["lift"] = given.lift
    if given.shape is not None:
        out["shape"] = bodies.placed_shape(given.shape, np.eye(4) if given.at is None else given.at)
    return out


def _own(where: str, expected: str, thing: Any, registry: Registry) -> dict[str, Any]:
    name, given = registry.name_of(type(thing)), given_of(thing)
    if name is None or given is None:
        raise inexpressible(where, expected, thing)
    return {name: {key: _plain(f"{where}.{key}", value) for key, value in given.items()}}


def _plain(where: str, value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{where}.{key}", entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(f"{where}[{i}]", entry) for i, entry in enumerate(value)]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise inexpressible(where, "a number, a text, a list or a mapping", value)


def _unlike(options: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """Those that are not as by default."""
    return {name: value for name, (value, default) in options.items() if value != default}


def _ends(thing: Any) -> dict[str, float]:
    return _unlike({"from": (thing.start, 0.0), "to": (thing.end, 1.0)})


def _wrench(entries: list[Any]) -> dict[str, Any]:
    moment = {"moment": entries[:3]} if any(entries[:3]) else {}
    return {**moment, "force": entries[3:]}


def _end(anchor: Anchor, rods: Collection[str]) -> str | dict[str, Any]:
    at = place(anchor, rods)
    return {"link": anchor.link, "at": at} if at else anchor.link


def _runs(where: str, runs: tuple[Run, ...]) -> dict[str, Any]:
    found = [
        {"rod": run.rod, "y": formula(f"{where}.y", run.y), "z": formula(f"{where}.z", run.z), **_ends(run)}
        for run in runs
    ]
    return found[0] if len(found) == 1 else {"path": found}
