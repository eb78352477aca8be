"""JSON Schema of the file formats, made of the declarations of their parts."""

from __future__ import annotations

from typing import Any

from sorosim.base.declare import Declared
from sorosim.base.declare.composite import Inline, described
from sorosim.files.robot_file import FORMAT_VERSION, RobotFile
from sorosim.files.sweep_file import ABOUT as SWEEP_ABOUT
from sorosim.files.sweep_file import SweepFile
from sorosim.files.yaml_reader import read_text

# $name, for any value
PARAMETER = {"type": "string", "pattern": r"^\$[^\W\d]\w*$"}
ABOUT = (
    f"Version {FORMAT_VERSION} of the format of sorosim's robots. The version is a whole number. It grows when a file "
    "of the version before would be read otherwise or refused; new keys alone do not change it. A file of a newer "
    "version than a program knows is refused as a whole. Numbers are in SI units unless a text gives a unit: 3 cm. A "
    "text may be arithmetic of quantities, 2*(10 cm) + 1 cm, and $name stands for a parameter in any value."
)


def robot_schema() -> dict[str, Any]:
    """What `sorosim.files.json_schema` returns."""
    out = _Definitions(parametric=True).schema(RobotFile)
    out["title"], out["description"] = "Robot of sorosim", ABOUT
    # parts may bring all links
    out["required"] = ["sorosim"]
    return out


def sweep_schema() -> dict[str, Any]:
    """What `sorosim.files.sweep_schema` returns."""
    return file_schema(SweepFile, SWEEP_ABOUT)


def file_schema(root: type[Declared], about: str) -> dict[str, Any]:
    """The schema of a kind of file without parameters, and what is to be said of the whole."""
    return _Definitions(parametric=False).schema(root) | {"description": about}


class _Definitions:
    """JSON Schemas of parts by the names of their classes; `parametric`: parameters may stand for values."""

    def __init__(self, parametric: bool) -> None:
        self.parametric = parametric
        self.found: dict[str, Any] = {}

    def schema(self, root: type[Declared]) -> dict[str, Any]:
        """The schema of a kind of file."""
        out = self.part(root)
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **out, "$defs": self.found}

    def define(self, cls: type[Declared]) -> dict[str, Any]:
        """A reference to the schema of a part."""
        if cls.__name__ not in self.found:
            self.found[cls.__name__] = {}  # it may refer to itself
            self.found[cls.__name__] = self.part(cls)
        return {"$ref": f"#/$defs/{cls.__name__}"}

    def part(self, cls: type[Declared]) -> dict[str, Any]:
        """Title, keys and what is required of a part."""
        properties = {}
        for name, (doc, example, schema, _) in described(cls, self.define).items():
            unit = unit_of(schema)
            about: dict[str, Any] = {"title": name, "description": f"{doc} [{unit}]" if unit else doc}
            if example:
                about["examples"] = [data(example)]
            properties[name] = {**(_or_parameter(schema) if self.parametric else schema), **about}
        keys = cls.declaration().values()
        required = [one.name for one in keys if one.required and one.type.names(one) == (one.name,)]
        out = {"title": cls.title or cls.__name__, "type": "object", "properties": properties,
               "additionalProperties": False}  # fmt: skip
        groups = [one.type.known for one in keys if isinstance(one.type, Inline) and not one.type.optional]
        either = "anyOf" if cls.alternatives_overlap else "oneOf"
        alternatives = [
            {either: [{"required": [one] if isinstance(one, str) else list(one)} for one in group]}
            for group in (*groups, *cls.alternatives)
        ]
        return out | ({"required": required} if required else {}) | ({"allOf": alternatives} if alternatives else {})


def _or_parameter(entry: object) -> Any:
    """The schema of a value, or of a parameter in its place: the same where a text may stand anyway."""
    if not isinstance(entry, dict) or not entry:
        return entry
    entry = _with_parameters_inside(entry)
    if _takes_text(entry):
        return entry
    if "anyOf" in entry:
        return {**entry, "anyOf": [*entry["anyOf"], PARAMETER]}
    about = {key: entry.pop(key) for key in ("default", "x-unit") if key in entry}
    return {"anyOf": [entry, PARAMETER], **about}


def _with_parameters_inside(entry: dict[str, Any]) -> dict[str, Any]:
    """The schema with parameters in the place of items and values, not of the whole."""
    inner = {
        key: _or_parameter(entry[key]) for key in ("items", "additionalProperties") if isinstance(entry.get(key), dict)
    }
    options = {"anyOf": [_with_parameters_inside(x) for x in entry["anyOf"]]} if "anyOf" in entry else {}
    return {**entry, **inner, **options}


def _takes_text(entry: dict[str, Any]) -> bool:
    """Whether a text of any kind is right."""
    kinds = entry.get("type", [])
    is_text = "string" in ([kinds] if isinstance(kinds, str) else kinds) and not {"enum", "const"} & set(entry)
    return is_text or any(map(_takes_text, entry.get("anyOf", [])))


def data(example: str) -> Any:
    """An example as data."""
    return read_text(f"x: {example}\n", "example").data["x"]


def unit_of(entry: object) -> str:
    """The SI unit in a key's schema, "" where there is none."""
    if isinstance(entry, dict):
        if "x-unit" in entry:
            return str(entry["x-unit"])
        if "prefixItems" in entry:
            return ", ".join(dict.fromkeys(map(unit_of, entry["prefixItems"])))
        return next((unit for name in ("anyOf", "items") if (unit := unit_of(entry.get(name)))), "")
    return next((unit for option in entry if (unit := unit_of(option))), "") if isinstance(entry, list) else ""
