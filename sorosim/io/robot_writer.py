"""From a robot back to YAML, in SI units; also for robots that were built of Python objects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.constraints.loop import SUPPORTS_SPRINGS, Loop
from sorosim.errors import FileError, InputError, ModelError
from sorosim.io import load_text
from sorosim.io.body_writer import BodyWriter, pose_block
from sorosim.io.fields import FORMAT_VERSION
from sorosim.io.load_writer import actuator_block, load_block
from sorosim.io.sensors import sensor_block
from sorosim.io.value_writer import formula, inexpressible, place, signal
from sorosim.io.writing import write_whole
from sorosim.io.yaml_writer import to_yaml
from sorosim.model.anchor import Anchor
from sorosim.model.basis import STRAINS
from sorosim.model.body import RigidBody
from sorosim.model.joint import CREEP, WITHOUT_AXIS, Joint, Limit
from sorosim.model.link import WORLD, Link
from sorosim.model.material import Material
from sorosim.model.profile import Constant, Formula, Linear, Profile, Table
from sorosim.model.rod import Division, Rod
from sorosim.model.section import Section
from sorosim.robot import Robot

_HEAD = "# all numbers are in SI units: m, kg, s, N, Pa, rad\n"


def text_of(robot: Robot) -> str:
    """What `sorosim.io.dump` returns."""
    if not isinstance(robot, Robot):
        raise InputError("dump", "a Robot", type(robot).__name__)
    text = _HEAD + to_yaml(data_of(robot))
    try:
        load_text(text, "dump")
    except FileError as error:  # names and formulas that only Python allows
        raise ModelError("dump", "a robot that a file can describe", error.message.splitlines()[0]) from None
    return text


def write(robot: Robot, path: str | Path | None) -> str:
    """The YAML of a robot; it is written to a file if a path is given.

    Raises
    ------
    ModelError
        As `sorosim.io.dump`.
    FileError
        The file cannot be written.
    """
    text = text_of(robot)
    if path is not None:
        write_whole(path, text.encode("utf-8"))
    return text


def data_of(robot: Robot) -> dict[str, Any]:
    """The description of a robot as the data of a file."""
    description = robot.description
    materials, bodies = _Materials(), BodyWriter()
    rods = {link.name for link in description.links if link.rod is not None}  # only there a place s has a meaning
    links = {link.name: _link(link, materials, bodies, rods) for link in description.links}
    out = {
        "sorosim": FORMAT_VERSION,
        "name": description.name,
        "gravity": list(description.gravity),
        "materials": materials.blocks,
        "links": links,
        "loops": {name: _loop(loop, rods) for name, loop in description.loops.items()},
        "actuators": {name: actuator_block(f"actuators.{name}", a) for name, a in description.actuators.items()},
        "loads": {name: load_block(f"loads.{name}", load, rods, bodies) for name, load in description.loads.items()},
        "sensors": {
            name: sensor_block(f"sensors.{name}", sensor, rods) for name, sensor in description.sensors.items()
        },
        "initial": _initial(description.initial, description.initial_rates),
        "simulate": _run_block("simulate", description.simulate),
        "statics": _run_block("statics", description.statics),
    }
    return {key: value for key, value in out.items() if value != {}}


class _Materials:
    """Materials by the names that they have in the file."""

    def __init__(self) -> None:
        self.used: dict[str, Material] = {}

    def name(self, material: Material) -> str:
        """Name of a material; a second one of the same name gets a number."""
        base = name = material.name or "material"
        k = 1
        while self.used.setdefault(name, material) != material:
            k += 1
            name = f"{base}_{k}"
        return name

    @property
    def blocks(self) -> dict[str, Any]:
        """Their blocks."""
        return {name: _material(material) for name, material in self.used.items()}


def _material(material: Material) -> dict[str, float]:
    names = ("young", "poisson", "shear", "density")
    given = {name: value for name in names if (value := getattr(material, name)) is not None}
    dampings = ("damping", "mass_damping", "stiffness_damping")
    return given | {name: value for name in dampings if (value := getattr(material, name))}


def _link(link: Link, materials: _Materials, bodies: BodyWriter, rods: set[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if link.parent != WORLD:
        out["parent"] = link.parent
    pose = pose_block(link.at)
    if link.s != 1.0 and link.parent in rods:
        pose["s"] = link.s
    if link.frame:
        pose["frame"] = link.frame
    if pose:
        out["at"] = pose
    if link.joint.kind != "fixed":
        out["joint"] = _joint(link.joint)
    if isinstance(link.body, Rod):
        pieces = [_division(f"links.{link.name}.rod", piece, materials) for piece in link.body.divisions]
        out["rod"] = pieces[0] if len(pieces) == 1 else {"divisions": pieces}
    elif isinstance(link.body, RigidBody):
        out["body"] = bodies.body(link.body)
    if link.visual is not None:
        out["visual"] = bodies.visuals(link.visual)
    if link.frames:
        out["frames"] = {name: pose_block(pose) for name, pose in link.frames.items()}
    return out


def _joint(joint: Joint) -> str | dict[str, Any]:
    out: dict[str, Any] = {} if joint.kind in WITHOUT_AXIS else {"axis": list(joint.axis)}
    for name in ("stiffness", "damping", "rest", "friction", "creep"):
        values: Any = getattr(joint, name)
        default = tuple(CREEP[d] for d in joint.dimensions) if name == "creep" else (0.0,) * joint.n
        if values != default:
            alike = len(set(values)) == len(set(joint.dimensions)) == 1
            out[name] = values[0] if alike else list(values)
    if any(joint.stops):
        limits = [None if limit is None else _limit(limit) for limit in joint.stops]
        out["limits"] = limits if joint.n > 1 else limits[0]
    if joint.second_axis is not None:
        out["second_axis"] = list(joint.second_axis)
    if any(joint.through):
        out["through"] = list(joint.through)
    if joint.kind == "helical":
        out["pitch"] = joint.pitch
    return {joint.kind: out} if out else joint.kind


def _limit(limit: Limit) -> dict[str, float]:
    ends = {name: end for name in ("low", "high") if math.isfinite(end := getattr(limit, name))}
    return {**ends, "stiffness": limit.stiffness}


def _loop(loop: Loop, rods: set[str]) -> dict[str, Any]:
    joint = loop.joint
    if joint.kind not in SUPPORTS_SPRINGS:  # what does not act in it has no place in a file
        joint = Joint(joint.kind, axis=joint.axis)
    return {"joint": _joint(replace(joint, creep=None)), "from": _end(loop.a, rods), "to": _end(loop.b, rods)}


def _end(anchor: Anchor, rods: set[str]) -> str | dict[str, Any]:
    if isinstance(anchor.at, str):
        anchor, built = replace(anchor, at=np.eye(4)), {"as_built": True}
    else:
        built = {}
    at = built | place(anchor, rods)
    return {"link": anchor.link, "at": at} if at else anchor.link


def _division(where: str, piece: Division, materials: _Materials) -> dict[str, Any]:
    out: dict[str, Any] = {
        "length": piece.length,
        "section": _section(where, piece.section),
        "material": materials.name(piece.material),
        "strain": _strain(piece),
    }
    defaults = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    reference = {
        name: formula(f"{where}.reference.{name}", entry)
        for name, entry, default in zip(STRAINS, piece.reference.entries, defaults, strict=True)
        if entry != default
    }
    return {**out, **({"reference": reference} if reference else {}), "quadrature": piece.n_gauss}


def _strain(piece: Division) -> dict[str, Any]:
    """Orders, in short where all strains have the same basis and where y and z are alike."""
    given = {name: entry for name in STRAINS if (entry := getattr(piece.strain, name)) is not None}
    bases = {basis for basis, _ in given.values()}
    for both in ("bending", "shear"):
        pair = f"{both}_y", f"{both}_z"
        if all(name in given for name in pair) and given[pair[0]] == given[pair[1]]:
            given[both] = given.pop(pair[0])
            del given[pair[1]]
    if len(bases) == 1:
        return {"basis": bases.pop(), **{name: order for name, (_, order) in given.items()}}
    return {name: {"basis": basis, "order": order} for name, (basis, order) in given.items()}


def _section(where: str, section: Section) -> dict[str, Any]:
    sizes: dict[str, Any] = {
        name: _profile(f"{where}.section.{section.kind}.{name}", section.profile(name)) for name in section.sizes
    }
    if section.shear_factor != (1.0, 1.0):
        sizes["shear_factor"] = list(section.shear_factor)  # type: ignore[arg-type]  # a pair, made at the door
    if section.torsion != "saint-venant":
        sizes["torsion"] = section.torsion
    return {section.kind: sizes}


def _profile(where: str, profile: Profile) -> Any:
    if isinstance(profile, Constant):
        return profile.value
    if isinstance(profile, Linear):
        return [profile.base, profile.tip]
    if isinstance(profile, Formula):
        return formula(where, profile.expression)
    if isinstance(profile, Table):
        table = {"s": list(profile.s), "value": list(profile.values), "interpolation": profile.interpolation}
        return {"table": table}
    raise inexpressible(where, "a number, a linear taper, a formula or a table", profile)


def _initial(values: Mapping[str, float], rates: Mapping[str, float]) -> dict[str, Any]:
    out: dict[str, Any] = {name: float(value) for name, value in values.items()}
    for name, rate in rates.items():
        out[name] = {**({"value": out[name]} if name in out else {}), "rate": float(rate)}
    return out


def _run_block(where: str, block: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in block.items():
        if key in ("u", "driven"):
            if not isinstance(value, Mapping):
                raise inexpressible(f"{where}.{key}", "inputs by name", value)
            out[key] = {name: signal(f"{where}.{key}.{name}", entry) for name, entry in value.items()}
        elif key == "q0" and not isinstance(value, str):
            out[key] = [float(x) for x in value]
        elif isinstance(value, str | int | float):
            out[key] = value
        else:
            raise inexpressible(f"{where}.{key}", "a number or a word", value)
    return out
