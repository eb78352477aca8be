"""Whatever a file holds: a robot or a SorosimError, and nothing else, in bounded time."""

import copy
import re
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.robots import varied_tree, with_random_loops
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sorosim.base.errors import SorosimError
from sorosim.files import dump, json_schema, load, load_text
from sorosim.files.page import BASE
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.robot import Robot

HERE = Path(__file__).parent
TEXTS = [*((HERE / name).read_text("utf-8") for name in ("robot.yaml", "joints.yaml", "loops.yaml")), BASE]
LIMIT = 5.0  # seconds of the processor for one file
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))

# what people and machines put where it does not belong
PIECES = [
    "$length", "$i", "$$", "${", "[", "]", "{", "}", ": ", "- ", "&a ", "*a", "!!x ", "<<: ", "'", '"', "#", "\n",
    "1e400", "-1", "0", ".nan", "3 cm", "kg", "*2", "/0", "sin(", "2*(", "e", "^", "true", "null", "world", "arm",
    "circle", "left", "as_built: true", "repeat: 3", "prefab: stub",
    "with", "include: x.yaml", "parts", "\x00", "\ud7ff", "\u20ac", "010",
    "12:30", "lid", "\t",
]  # fmt: skip


def outcome(make):
    start = time.process_time()
    try:
        robot = make()
    except SorosimError as error:
        message = str(error)
        assert message
        robot = None
    assert robot is None or isinstance(robot, Robot)
    assert time.process_time() - start < LIMIT
    return robot


@st.composite
def mutated(draw):
    """A valid file with some pieces cut, doubled, moved or put in."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        i = draw(st.integers(0, len(text)))
        j = min(len(text), i + draw(st.integers(0, 20)))
        kind = draw(st.integers(0, 3))
        piece = draw(st.sampled_from(PIECES)) if kind < 3 else draw(st.text(max_size=5))
        if kind == 0:
            text = text[:i] + piece + text[i:]
        elif kind == 1:
            text = text[:i] + piece + text[j:]
        elif kind == 2:
            words = [match.span() for match in re.finditer(r"[\w.]+", text)] or [(0, 0)]
            a, b = draw(st.sampled_from(words))
            text = text[:a] + piece + text[b:]
        else:
            lines = text.splitlines(keepends=True) or [""]
            k = draw(st.integers(0, len(lines) - 1))
            text = "".join([*lines[:k], *lines[k + 1 :], piece])
    return text


EXAMPLES = [
    example
    for block in [json_schema(), *json_schema()["$defs"].values()]
    for entry in block["properties"].values()
    for example in entry["examples"]
]
KEYS = sorted({key for block in [json_schema(), *json_schema()["$defs"].values()] for key in block["properties"]})
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 50), st.floats(), st.sampled_from(PIECES), st.sampled_from(KEYS)
)
VALUES = st.recursive(
    st.one_of(SCALARS, st.sampled_from(EXAMPLES)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=8,
)


@st.composite
def shaped(draw):
    """A valid file as data, some of whose values are others of the schema."""
    out = read_text(draw(st.sampled_from(TEXTS)), "base").data
    for _ in range(draw(st.integers(1, 3))):
        here, path = out, []
        while isinstance(here, dict | list) and here and (not path or draw(st.booleans())):
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            path.append((here, draw(st.sampled_from(keys))))
            here = path[-1][0][path[-1][1]]
        parent, key = path[-1]
        if isinstance(parent, dict) and draw(st.booleans()):
            key = draw(st.sampled_from(KEYS))
        parent[key] = copy.deepcopy(draw(VALUES))  # the next change may be inside of it
    return out


@FEW
@given(mutated())
def test_mutated_files(text):
    outcome(lambda: load_text(text, "robot.yaml"))


@FEW
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
def test_random_bytes(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("bytes") / "robot.yaml"
    file.write_bytes(content)
    outcome(lambda: load(file))


@FEW
@given(shaped())
def test_data_of_the_schema(content):
    robot = outcome(lambda: load(content))
    if robot is not None:
        outcome(lambda: load_text(robot.description.text, "text"))
        assert load_text(robot.description.text, "text").ndof == robot.ndof


@FEW
@given(st.dictionaries(st.text(max_size=20) | st.sampled_from(["links.arm.rod.length", "gravity.0", "parts.left.at"]),
                       VALUES, max_size=2))  # fmt: skip
def test_overrides(tmp_path_factory, overrides):
    file = tmp_path_factory.mktemp("set") / "robot.yaml"
    file.write_text(BASE)
    outcome(lambda: load(file, set=overrides))


@pytest.mark.slow
@MANY
@given(mutated())
def test_many_mutated_files(text):
    outcome(lambda: load_text(text, "robot.yaml"))


@pytest.mark.slow
@MANY
@given(shaped())
def test_much_data_of_the_schema(content):
    outcome(lambda: load(content))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 120))
def test_many_generated_robots_come_back(seed):
    robot = with_random_loops(np.random.default_rng(seed), varied_tree(seed))
    again = outcome(lambda: load_text(dump(robot), "dump"))
    assert again is None or again.coordinate_names == robot.coordinate_names
