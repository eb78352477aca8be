"""From a robot back to YAML, in SI units; also for robots that were built of Python objects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sorosim.constraints.loop import Loop
from sorosim.declare import OneOf, SignalOf, Writer
from sorosim.declare.types import inexpressible
from sorosim.errors import FileError, InputError, ModelError
from sorosim.io import load_text, meshes
from sorosim.io.robot_file import FORMAT_VERSION
from sorosim.io.writing import write_whole
from sorosim.io.yaml_writer import to_yaml
from sorosim.model.material import Material
from sorosim.model.mesh import Mesh
from sorosim.registry import ACTUATORS, LOADS, SENSORS
from sorosim.robot import Robot
from sorosim.sensors.base import SensorType
from sorosim.signals.expressions import Expression

_HEAD = "# all numbers are in SI units: m, kg, s, N, Pa, rad\n"
MAX_WRITTEN = 10_000  # triangles; more would make too large a file


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
    description, writer = robot.description, RobotWriter(robot)
    blocks: dict[str, Any] = {
        "links": ({link.name: link for link in description.links}, lambda link: link.data(writer)),
        "loops": (description.loops, lambda loop: _loop(loop, writer)),
        "actuators": (description.actuators, lambda part: OneOf(ACTUATORS).write(part, writer)),
        "loads": (description.loads, lambda part: OneOf(LOADS).write(part, writer)),
        "sensors": (description.sensors, lambda part: SensorType(SENSORS).write(part, writer)),
    }
    made = {block: _block(block, *parts) for block, parts in blocks.items()}
    materials = {name: material.data(writer) for name, material in writer.materials.items()}
    out = {
        "sorosim": FORMAT_VERSION, "name": description.name, "gravity": list(description.gravity),
        "materials": materials, **made, "initial": _initial(description.initial, description.initial_rates),
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
        self.materials: dict[str, Material] = {}
        self._left, self._written = meshes.MAX_EMBEDDED, 0

    def material(self, material: Material) -> str:
        """Name of a material in the file; a second one of the same name gets a number."""
        base = name = material.name or "material"
        k = 1
        while self.materials.setdefault(name, material) != material:
            k += 1
            name = f"{base}_{k}"
        return name

    def mesh(self, mesh: Mesh) -> dict[str, Any]:
        n = len(mesh.faces)
        fits = n <= self._left
        self._left -= n if fits else 0
        self._written += n if fits or not mesh.file else 0
        if self._written > MAX_WRITTEN:
            hint = "write it to a file and read it with sorosim.io.meshes.read_mesh"
            raise ModelError("mesh", f"at most {MAX_WRITTEN} triangles that are from no file", "more", hint)
        return meshes.mesh_block(mesh, fits)


def _block(block: str, parts: Mapping[str, Any], write: Any) -> dict[str, Any]:
    """The entries of a block."""
    out = {}
    for name, part in parts.items():
        try:
            out[name] = write(part)
        except ModelError as error:
            raise error.inside(f"{block}.{name}") from None
    return out


def _loop(loop: Any, writer: Writer) -> Any:
    if not isinstance(loop, Loop):
        raise inexpressible("a Loop", loop)
    return loop.data(writer)


def _initial(values: Mapping[str, float], rates: Mapping[str, float]) -> dict[str, Any]:
    out: dict[str, Any] = {name: float(value) for name, value in values.items()}
    for name, rate in rates.items():
        out[name] = {**({"value": out[name]} if name in out else {}), "rate": float(rate)}
    return out


def _options(where: str, block: Mapping[str, Any], writer: Writer) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in block.items():
        if key in ("u", "driven"):
            if not isinstance(value, Mapping):
                raise inexpressible("inputs by name", value).inside(f"{where}.{key}")
            out[key] = _block(f"{where}.{key}", value, lambda entry: _signal(entry, writer))
        elif key == "q0" and not isinstance(value, str):
            out[key] = [float(x) for x in value]
        elif isinstance(value, str | int | float):
            out[key] = value
        else:
            raise inexpressible("a number or a word", value).inside(f"{where}.{key}")
    return out


def _signal(value: Any, writer: Writer) -> Any:
    kind = SignalOf("number")
    if callable(value) and not isinstance(value, Expression):
        raise inexpressible("a number, an expression of t or a table", value)
    return kind.write(value, writer)
