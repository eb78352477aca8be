"""JSON Schema of the file formats, made of the models that check files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sorosim.io.blocks import Block
from sorosim.io.descriptions import BLOCKS, TITLES
from sorosim.io.descriptions_contact import Keys
from sorosim.io.descriptions_sweep import SWEEP_ABOUT, SWEEP_BLOCKS, SWEEP_TITLES
from sorosim.io.fields import FORMAT_VERSION
from sorosim.io.schema import RobotFile
from sorosim.io.schema_sweep import SweepFile
from sorosim.io.yaml_reader import read_text

ONE_KEY = (  # blocks of which one key is given
    "MovingJoint", "DHBlock", "SectionBlock", "ActuatorBlock", "LoadBlock", "TableBox", "PointsBlock", "SweptRun",
)  # fmt: skip
# $name, for any value
PARAMETER = {"type": "string", "pattern": r"^\$[^\W\d]\w*$"}
ABOUT = (
    f"Version {FORMAT_VERSION} of the format of sorosim's robots. The version is a whole number. It grows when a file "
    "of the version before would be read otherwise or refused; new keys alone do not change it. A file of a newer "
    "version than a program knows is refused as a whole. Numbers are in SI units unless a text gives a unit: 3 cm. A "
    "text may be arithmetic of quantities, 2*(10 cm) + 1 cm, and $name stands for a parameter in any value."
)


def schema() -> dict[str, Any]:
    """What `sorosim.io.json_schema` returns."""
    out = _described(RobotFile, BLOCKS, TITLES, True)
    out["title"], out["description"] = "Robot of sorosim", ABOUT
    # parts may bring all links
    out["required"] = ["sorosim"]
    return out


def sweep_schema() -> dict[str, Any]:
    """What `sorosim.io.sweep_schema` returns."""
    out = _described(SweepFile, SWEEP_BLOCKS, SWEEP_TITLES, False)
    return out | {"description": SWEEP_ABOUT}


def _described(
    root: type[Block], known: Mapping[str, Keys], titles: Mapping[str, str], parametric: bool
) -> dict[str, Any]:
    """JSON Schema of a kind of file; `parametric`: parameters may stand in the place of values."""
    out = root.model_json_schema(by_alias=True)
    for name, block in {**out.get("$defs", {}), root.__name__: out}.items():
        block["title"] = titles[name]
        _describe(name, block, known[name], parametric)
    out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return out


def _describe(name: str, block: dict[str, Any], known: Keys, parametric: bool) -> None:
    """Title, meaning and example of every key of a block."""
    if name in ONE_KEY:
        block |= {"minProperties": 1, "maxProperties": 1}
    for key, value in block["properties"].items():
        meaning, example = known[key]
        entry = _without_null(value)
        unit = unit_of(entry)
        described = {
            "title": key,
            "description": f"{meaning} [{unit}]" if unit else meaning,
            "examples": [data(example)],
        }
        block["properties"][key] = {**(_or_parameter(entry) if parametric else entry), **described}


def _or_parameter(entry: Any) -> Any:
    """The schema of a value, or of a parameter in its place: the same where a text may stand anyway."""
    if not isinstance(entry, dict) or not entry:
        return entry
    entry = _with_parameters_inside(entry)
    if _takes_text(entry):
        return entry
    for options in ("anyOf", "oneOf"):
        if options in entry:
            return {**entry, options: [*entry[options], PARAMETER]}
    about = {key: entry.pop(key) for key in ("default", "x-unit") if key in entry}
    return {"anyOf": [entry, PARAMETER], **about}


def _with_parameters_inside(entry: dict[str, Any]) -> dict[str, Any]:
    """The schema with parameters in the place of items and values, not of the whole."""
    inner: dict[str, Any] = {
        key: _or_parameter(entry[key]) for key in ("items", "additionalProperties") if key in entry
    }
    options: dict[str, Any] = {
        key: [_with_parameters_inside(x) for x in entry[key]] for key in ("anyOf", "oneOf") if key in entry
    }
    return {**entry, **inner, **options}


def _takes_text(entry: dict[str, Any]) -> bool:
    """Whether a text of any kind is right."""
    kinds = entry.get("type", [])
    options = entry.get("anyOf", []) + entry.get("oneOf", [])
    is_text = "string" in ([kinds] if isinstance(kinds, str) else kinds) and not {"enum", "const"} & set(entry)
    return is_text or any(map(_takes_text, options))


def data(example: str) -> Any:
    """An example as data."""
    return read_text(f"x: {example}\n", "example").data["x"]


def _without_null(entry: dict[str, Any]) -> dict[str, Any]:
    """A key's schema without the null that stands for a key that is not there."""
    entry = {name: value for name, value in entry.items() if not (name == "default" and value is None)}
    options = [option for option in entry.get("anyOf", []) if option != {"type": "null"}]
    if "anyOf" in entry and len(options) == 1:
        return {**{name: value for name, value in entry.items() if name != "anyOf"}, **options[0]}
    return {**entry, "anyOf": options} if options else entry


def unit_of(entry: Any) -> str:
    """The SI unit in a key's schema, "" where there is none."""
    if isinstance(entry, dict):
        if "x-unit" in entry:
            return str(entry["x-unit"])
        if "prefixItems" in entry:
            return ", ".join(dict.fromkeys(map(unit_of, entry["prefixItems"])))
        return next((unit for name in ("oneOf", "anyOf", "items") if (unit := unit_of(entry.get(name)))), "")
    return next((unit for option in entry if (unit := unit_of(option))), "") if isinstance(entry, list) else ""
