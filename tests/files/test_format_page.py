"""The JSON Schema and the page about the format: complete, up to date, and every example runs."""

import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from sorosim.base.declare import At, Part, Scope
from sorosim.base.options import SimulateOptions
from sorosim.files import bundled_robots, dump, format_page, json_schema, load
from sorosim.files.expand import expand
from sorosim.files.nodes import nodes_of
from sorosim.files.page import BASE, default_of, keys_of, parts
from sorosim.files.robot_file import RobotFile
from sorosim.files.schema import ABOUT, data
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.pose import PlaceType, Rotation

REPO = Path(__file__).resolve().parents[2]
SCHEMA, PAGE = json_schema(), format_page()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


KEYS = [(cls, name) for cls in parts() for name in keys_of(cls)]


def complaints(data):
    return [f"{list(error.path)}: {error.message[:200]}" for error in VALIDATOR.iter_errors(data)]


def test_the_page_is_up_to_date():
    assert (REPO / "docs" / "file_format.md").read_text("utf-8") == PAGE, (
        "run python -m sorosim.files.page docs/file_format.md"
    )


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["description"] == ABOUT


@pytest.mark.parametrize(("cls", "name"), KEYS, ids=lambda x: getattr(x, "__name__", x))
def test_every_key_has_a_meaning_and_an_example_that_is_valid(cls, name):
    doc, example, *_ = keys_of(cls)[name]
    assert doc
    if not example:
        assert not Part(cls).within(name).cls.key_names()  # a plane has no sizes
        return
    value, scope = data(example), Scope(is_file=True)
    Part(cls).within(name).read(value, At(scope, (name,), {name: value}))
    assert scope.problems == []
    block = SCHEMA if cls is RobotFile else SCHEMA["$defs"][cls.__name__]
    entry = {**block["properties"][name], "$defs": SCHEMA["$defs"]}
    assert [error.message for error in jsonschema.Draft202012Validator(entry).iter_errors(value)] == []
    assert f"| `{name}` | {doc.replace('|', '/')}" in PAGE


@pytest.mark.parametrize("cls", parts(), ids=lambda cls: cls.__name__)
def test_every_key_has_a_default_and_a_file_that_says_it_means_the_same(cls):
    for name, (*_, key) in keys_of(cls).items():
        told = default_of(cls, name)
        assert told, name
        if not (code := re.fullmatch(r"`([^`]*)`", told)):
            continue
        value, scope = data(code[1]), Scope(is_file=True)
        own = Part(cls).within(name).read(value, At(scope, (name,), {name: value}))
        assert scope.problems == [], name
        if key.default is not None:  # else another place says what holds: an option, or a joint
            np.testing.assert_equal(own[0] if isinstance(key.type, PlaceType) else own, key.default, name)


def test_defaults_are_those_that_a_robot_without_the_key_has(tmp_path):
    (tmp_path / "bob.yaml").write_text(
        "sorosim: 1\nlinks:\n  bob: {joint: {revolute: {axis: [0, 0, 1]}}, body: {point_mass: 1 kg}}\n"
    )
    bob = load(tmp_path / "bob.yaml")
    (joint,) = (link.joint for link in bob.links)
    assert default_of(RobotFile, "name") == "that of the file"
    assert bob.name == "bob"
    assert data(default_of(RobotFile, "gravity").strip("`")) == list(bob.description.gravity)
    for name in ("stiffness", "damping", "rest", "friction"):
        assert (data(default_of(type(joint), name).strip("`")),) == getattr(joint, name)
    assert default_of(type(joint), "creep").startswith(f"{joint.creep[0]:g} rad/s")
    assert default_of(SimulateOptions, "rtol") == "`1e-5`"
    assert default_of(Material, "poisson") == "or `shear`"
    assert default_of(Rotation, "rpy") == "or `axis` and `angle`, `quaternion`, `matrix`"


def test_keys_with_a_dimension_have_their_unit():
    blocks = SCHEMA["$defs"]
    assert blocks["Material"]["properties"]["young"]["description"].endswith("[Pa]")
    assert blocks["Division"]["properties"]["length"]["x-unit"] == "m"
    assert blocks["Wrench"]["properties"]["force"]["description"].endswith("[N]")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "gripper_100")) for n in bundled_robots()]
)
def test_bundled_robots_are_valid(name):
    assert complaints(read_text(load(name).description.text, name).data) == []
    assert complaints(read_text(dump(load(name)), name).data) == []


@pytest.mark.parametrize("change", [{"sorosim": 2}, {"colour": 1}, {"gravity": [0, 1]}, {"links": {"a": {"rod": {}}}},
                                    {"materials": {"m": {"young": -1, "poisson": 0.1, "density": 1}}}])  # fmt: skip
def test_wrong_files_are_not(change):
    assert complaints({**read_text(BASE, "base").data, **change})


def test_the_robot_of_the_page_is_valid():
    assert complaints(read_text(BASE, "base").data) == []
    assert expand(nodes_of(read_text(BASE, "base").data, "base"), "base", None).data["links"]["left_tip"]
