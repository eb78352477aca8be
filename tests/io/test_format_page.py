"""The JSON Schema and the page about the format: complete, up to date, and every example runs."""

import copy
import re
from pathlib import Path

import jsonschema
import pytest
from sorosim.io.descriptions import BLOCKS, TITLES
from sorosim.io.schema_json import ABOUT

from sorosim.io import bundled_robots, dump, format_page, json_schema, load, load_text
from sorosim.io.expand import expand
from sorosim.io.nodes import nodes_of
from sorosim.io.page import BASE, CONTEXTS, FILES, example
from sorosim.io.yaml_reader import read_text

REPO = Path(__file__).resolve().parents[2]
SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
KEYS = [(block, key) for block in ("RobotFile", *CONTEXTS) for key in BLOCKS[block]]


def complaints(data):
    return [f"{list(error.path)}: {error.message[:200]}" for error in VALIDATOR.iter_errors(data)]


def test_the_page_is_up_to_date():
    assert (REPO / "docs" / "file_format.md").read_text("utf-8") == format_page(), (
        "run python -m sorosim.io.page docs/file_format.md"
    )


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["description"] == ABOUT


def test_every_key_has_title_meaning_and_example():
    blocks = {**SCHEMA["$defs"], "RobotFile": SCHEMA}
    assert set(blocks) == set(TITLES) == set(BLOCKS) == {*CONTEXTS, "RobotFile"}
    for name, block in blocks.items():
        assert set(block["properties"]) == set(BLOCKS[name])
        for entry in block["properties"].values():
            assert entry["title"]
            assert entry["description"]
            assert entry["examples"]


def test_keys_with_a_dimension_have_their_unit():
    blocks = SCHEMA["$defs"]
    assert blocks["MaterialBlock"]["properties"]["young"]["description"].endswith("[Pa]")
    assert blocks["PieceBlock"]["properties"]["length"]["x-unit"] == "m"
    assert blocks["WrenchBlock"]["properties"]["force"]["description"].endswith("[N]")


@pytest.mark.parametrize("name", bundled_robots())
def test_bundled_robots_are_valid(name):
    assert complaints(read_text(load(name).description.text, name).data) == []
    assert complaints(read_text(dump(load(name)), name).data) == []


@pytest.mark.parametrize("change", [{"sorosim": 2}, {"colour": 1}, {"gravity": [0, 1]}, {"links": {"a": {"rod": {}}}},
                                    {"materials": {"m": {"young": -1, "poisson": 0.1, "density": 1}}}])  # fmt: skip
def test_wrong_files_are_not(change):
    assert complaints({**read_text(BASE, "base").data, **change})


@pytest.mark.parametrize(("block", "key"), KEYS)
def test_the_example_of_a_key_is_valid_and_runs(block, key, tmp_path):
    if "urdf" in str(example(block, key)):
        pytest.importorskip("yourdfpy", reason="the extra urdf is not installed")
    for name, text in {"example.yaml": BASE, **FILES}.items():
        (tmp_path / name).write_text(text)
    path, value = example(block, key)
    robot = load(tmp_path / "example.yaml", set={path: copy.deepcopy(value)})
    text = robot.description.text
    assert complaints(read_text(text, "text").data) == []
    assert load_text(text, "again").ndof == robot.ndof
    assert key in str({path: value})


def test_the_page_holds_every_example():
    examples = [
        next(iter(entry.items()))
        for text in re.findall(r"```yaml\n(- .*?)```", format_page(), re.DOTALL)
        for entry in read_text(text, "page").data
    ]
    assert examples == [example(block, key) for block, key in keys_in_order()]


def keys_in_order():
    blocks = {"RobotFile": SCHEMA, **SCHEMA["$defs"]}
    return [(name, key) for name in ("RobotFile", *CONTEXTS) for key in blocks[name]["properties"]]


def test_the_robot_of_the_page_is_valid():
    assert complaints(read_text(BASE, "base").data) == []
    assert expand(nodes_of(read_text(BASE, "base").data, "base"), "base", None).data["links"]["left_tip"]
