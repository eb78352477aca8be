"""From a robot back to YAML, as a person would write it; also for robots that were built of Python objects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from sorosim.base.declare import SignalOf, Writer
from sorosim.base.declare.base import inexpressible
from sorosim.base.declare.types import MAX_NAME
from sorosim.base.errors import FileError, InputError, ModelError
from sorosim.base.signals.expressions import Expression
from sorosim.base.units.quantity import readable
from sorosim.base.units.table import OF_COORDINATE
from sorosim.base.writing import write_whole
from sorosim.files import load_text, meshes
from sorosim.files.robot_file import FORMAT_VERSION, RobotFile
from sorosim.files.yaml_writer import to_yaml
from sorosim.mechanics.model.anchor import Anchors
from sorosim.mechanics.model.description import PARTS
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.robot import Robot

_HEAD = "# numbers without a unit are in SI units: m, kg, s, N, Pa, rad\n"
MAX_WRITTEN = 10_000  # triangles; more would make too large a file


def text_of(robot: Robot) -> str:
    """What `sorosim.files.dump` returns."""
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
        As `sorosim.files.dump`.
    FileError
        The file cannot be written.
    """
    text = text_of(robot)
    if path is not None:
        write_whole(path, text.encode("utf-8"))
    return text


def data_of(robot: Robot) -> dict[str, Any]:
    """The description of a robot as the data of a file."""
    description, writer = robot.description, RobotWriter(robot)
    blocks: dict[str, Any] = {
        "links": {link.name: link for link in description.links},
        **{block: getattr(description, block) for block in PARTS},
    }
    kinds: Any = {block: RobotFile.declaration()[block].type for block in blocks}
    made = {
        block: _block(block, parts, lambda part, of=kinds[block].type: of.write(part, writer))
        for block, parts in blocks.items()
    }
    materials = {name: material.data(writer) for name, material in writer.materials.items()}
    out = {
        "sorosim": FORMAT_VERSION, "name": description.name, "gravity": list(description.gravity),
        "materials": materials, **made,
        "outputs": Anchors().write(description.outputs, writer) if description.outputs else {},
        "initial": {
            **_initial(description.initial, description.initial_rates, writer.dimensions),
            **_block("initial", description.shapes, lambda shape: shape.data(writer)),
        },
        "simulate": _options("simulate", description.simulate, writer),
        "statics": _options("statics", description.statics, writer),
    }  # fmt: skip
    return {name: value for name, value in out.items() if value != {}}


class RobotWriter(Writer):
    """Writes the parts of one robot.

    Small meshes go into the text; so do larger ones that are from no file, as far as a text can hold them.
    """

    def __init__(self, robot: Robot) -> None:
        self.rods = [link.name for link in robot.links if link.rod is not None]
        rods = [link.rod for link in robot.links if link.rod is not None]
        self.materials = named_materials([material for rod in rods for material in rod.materials])
        self.dimensions = dimensions_by_name(robot)
        self._left, self._written = meshes.MAX_EMBEDDED, 0

    def material(self, material: Material) -> str:
        return next(name for name, other in self.materials.items() if is_alike(material, other))

    def mesh(self, mesh: Mesh) -> dict[str, Any]:
        n = len(mesh.faces)
        fits = n <= self._left
        self._left -= n if fits else 0
        self._written += n if fits or not mesh.file else 0
        if self._written > MAX_WRITTEN:
            hint = "write it to a file and read it with sorosim.files.meshes.read_mesh"
            raise ModelError("mesh", f"at most {MAX_WRITTEN} triangles that are from no file", "more", hint)
        return meshes.mesh_block(mesh, fits)


def is_alike(one: Material, other: Material) -> bool:
    """Whether two materials are the same but for a name that one of them may lack."""
    return replace(one, name="") == replace(other, name="") and (one.name == other.name or not one.name)


def named_materials(used: Sequence[Material]) -> dict[str, Material]:
    """Materials by names in a file: their own, or material, material2, ...; equal ones once, by first use."""
    found: dict[str, Material] = {}
    for material in sorted(used, key=lambda one: not one.name):  # one without a name may equal one that has a name
        if any(is_alike(material, other) for other in found.values()):
            continue
        base = re.sub(r"[^\w-]+", "_", material.name).lstrip("-")[: MAX_NAME - 3] or "material"
        names = (f"{base}{k}" if k > 1 else base for k in count(1))
        found[next(name for name in names if name not in found)] = material

    def first_use(entry: tuple[str, Material]) -> int:
        return next(i for i, material in enumerate(used) if is_alike(material, entry[1]))

    return dict(sorted(found.items(), key=first_use))


def _block(block: str, parts: Mapping[str, Any], write: Any) -> dict[str, Any]:
    """The entries of a block."""
    out = {}
    for name, part in parts.items():
        try:
            out[name] = write(part)
        except ModelError as error:
            raise error.inside(f"{block}.{name}") from None
    return out


def dimensions_by_name(robot: Robot) -> dict[str, str]:
    """Dimensions of coordinates, also by the name of a link that has but one, and of the inputs of actuators."""
    layout = robot.engine.layout
    of = dict(zip(layout.coordinate_names, layout.dimensions, strict=True))
    of |= {name: link.link.joint.dimensions[0] for name, link in layout.links.items() if link.link.joint.n == 1}
    return of | {f"u.{name}": dimension for name, dimension in robot.input_dimensions.items()}


def _initial(values: Mapping[str, float], rates: Mapping[str, float], of: Mapping[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {name: readable(float(value), of.get(name, "number")) for name, value in values.items()}
    for name, rate in rates.items():
        written = readable(float(rate), OF_COORDINATE[of.get(name, "number")][1])
        out[name] = {**({"value": out[name]} if name in out else {}), "rate": written}
    return out


def _options(where: str, block: Mapping[str, Any], writer: RobotWriter) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in block.items():
        if key in ("u", "driven"):
            if not isinstance(value, Mapping):
                raise inexpressible("inputs by name", value).inside(f"{where}.{key}")
            of, prefix = writer.dimensions, "u." if key == "u" else ""
            inputs = {name: (entry, of.get(f"{prefix}{name}", "number")) for name, entry in value.items()}
            out[key] = _block(f"{where}.{key}", inputs, lambda given: _signal(given[0], given[1], writer))
        elif key == "q0" and not isinstance(value, str):
            out[key] = [float(x) for x in value]
        elif isinstance(value, str | int | float):
            out[key] = value
        else:
            raise inexpressible("a number or a word", value).inside(f"{where}.{key}")
    return out


def _signal(value: object, dimension: str, writer: Writer) -> Any:
    if callable(value) and not isinstance(value, Expression):
        raise inexpressible("a number, an expression of t or a table", value)
    return SignalOf(dimension).write(value, writer)
