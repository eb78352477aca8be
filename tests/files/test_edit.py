"""Edits of texts: what they change, what stays, and the parts that may be added."""

import random
import re
from pathlib import Path

import pytest

from sorosim.base.errors import FileError, InputError, SorosimError
from sorosim.files import bundled_robots, load_text
from sorosim.files.bundled import bundled_file
from sorosim.files.edit import Change, Edit, copy, exchange, move, put, remove, rename, rename_key, set_value
from sorosim.files.kinds import BLOCKS, add, additions
from sorosim.files.yaml_reader import read_text

TEXT = """\
# a finger
sorosim: 1
name: finger

materials:
  # soft
  silicone: {young: 500 kPa, poisson: 0.5, density: 1070 kg/m^3}   # of a shop

links:
  base:            # a hinge
    joint: {revolute: {axis: [0, 0, 1]}}
    body: {mass: 0.1, inertia: [1e-4, 1e-4, 1e-4]}

  # what bends
  finger:
    parent: base
    rod:
      length: 12 cm    # measured
      section: {circle: {radius: [6 mm, 4 mm]}}
      material: silicone
      strain: {bending: 3}
actuators:
  flexor: {tendon: {rod: finger, y: 0, z: -0.8*r}}
initial:
  finger.bending_y[0]: 0.1
simulate: {t_end: 1 s, u: {flexor: 1 N}}
"""


def lines(old, new):
    """Lines that went, and lines that came."""
    a, b = old.splitlines(), new.splitlines()
    return [x for x in a if x not in b], [x for x in b if x not in a]


@pytest.mark.parametrize(
    ("edit", "went", "came"),
    [
        (
            lambda t: set_value(t, ("links", "finger", "rod", "length"), "13 cm"),
            ["      length: 12 cm    # measured"],
            ["      length: 13 cm    # measured"],
        ),
        (
            lambda t: set_value(t, ("materials", "silicone", "young"), 6e5),
            ["  silicone: {young: 500 kPa, poisson: 0.5, density: 1070 kg/m^3}   # of a shop"],
            ["  silicone: {young: 600000, poisson: 0.5, density: 1070 kg/m^3}   # of a shop"],
        ),
        (
            lambda t: set_value(t, ("links", "finger", "rod", "section", "circle", "radius", 1), "3 mm"),
            ["      section: {circle: {radius: [6 mm, 4 mm]}}"],
            ["      section: {circle: {radius: [6 mm, 3 mm]}}"],
        ),
        (
            lambda t: set_value(t, ("links", "finger", "rod", "quadrature"), 7),
            [],
            ["      quadrature: 7"],
        ),
        (
            lambda t: set_value(t, ("loads", "push", "wrench"), {"link": "finger", "force": [0, 0, "1 N"]}),
            [],
            ["loads:", "  push: {wrench: {link: finger, force: [0, 0, 1 N]}}"],
        ),
        (lambda t: remove(t, ("materials", "silicone", "poisson")), None, None),
        (
            lambda t: rename(t, ("links", "finger"), "thumb"),
            ["  finger:", "  flexor: {tendon: {rod: finger, y: 0, z: -0.8*r}}", "  finger.bending_y[0]: 0.1"],
            ["  thumb:", "  flexor: {tendon: {rod: thumb, y: 0, z: -0.8*r}}", "  thumb.bending_y[0]: 0.1"],
        ),
        (
            lambda t: rename(t, ("materials", "silicone"), "rubber"),
            [
                "  silicone: {young: 500 kPa, poisson: 0.5, density: 1070 kg/m^3}   # of a shop",
                "      material: silicone",
            ],
            [
                "  rubber: {young: 500 kPa, poisson: 0.5, density: 1070 kg/m^3}   # of a shop",
                "      material: rubber",
            ],
        ),
        (
            lambda t: rename(t, ("actuators", "flexor"), "a b"),
            ["  flexor: {tendon: {rod: finger, y: 0, z: -0.8*r}}", "simulate: {t_end: 1 s, u: {flexor: 1 N}}"],
            ["  a b: {tendon: {rod: finger, y: 0, z: -0.8*r}}", "simulate: {t_end: 1 s, u: {a b: 1 N}}"],
        ),
    ],
)
def test_an_edit_changes_its_lines_alone(edit, went, came):
    new = edit(TEXT).applied(TEXT)
    if went is not None:
        assert lines(TEXT, new) == (went, came)
    assert re.findall("#.*", new) == re.findall("#.*", TEXT)


def test_what_stays_the_same_changes_no_byte():
    for path, value in [(("links", "finger", "rod", "length"), "12 cm"), (("materials", "silicone", "poisson"), 0.5)]:
        assert set_value(TEXT, path, value).applied(TEXT) == TEXT
    assert move(TEXT, ("links", "base"), "finger").applied(TEXT) == TEXT


def test_a_part_moves_with_the_comments_above_it():
    new = move(TEXT, ("links", "finger"), "base").applied(TEXT)
    assert list(read_text(new, "x").data["links"]) == ["finger", "base"]
    assert "links:\n  # what bends\n  finger:\n" in new
    back = move(new, ("links", "finger"), None).applied(new)
    assert read_text(back, "x").data == read_text(TEXT, "x").data


def test_a_copy_is_the_same_lines_under_another_name():
    new = copy(TEXT, ("links", "finger"), "thumb").applied(TEXT)
    data = read_text(new, "x").data["links"]
    assert data["thumb"] == data["finger"]
    assert new.count("length: 12 cm    # measured") == 2


def test_the_last_entry_leaves_an_empty_mapping():
    new = remove(TEXT, ("actuators", "flexor")).applied(TEXT)
    assert "actuators: {}\n" in new
    assert put(new, ("actuators",), "a", {"tendon": {"rod": "finger", "y": 0, "z": 0}}).applied(new)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: remove(t, ("links", "fingr")), "did you mean finger"),
        (lambda t: rename_key(t, ("links", "finger"), "base"), "which is taken"),
        (lambda t: rename(t, ("links", "finger"), "base"), "which is taken"),
        (lambda t: copy(t, ("links", "finger"), "base"), "which is taken"),
        (lambda t: put(t, ("links",), "base", {}), "which is taken"),
        (lambda t: move(t, ("links", "finger"), "nobody"), "an entry beside it"),
        (lambda t: set_value(t, ("name", "x"), 1), "what has no names"),
        (lambda t: set_value(t, ("links", "finger", "rod", "section", "circle", "radius", 5), 1), "one of 2 entries"),
        (lambda t: remove(t, ()), "the whole file"),
    ],
)
def test_wrong_edits_say_what_is_wrong(call, words):
    with pytest.raises(InputError, match=words):
        call(TEXT)


def test_what_an_alias_shares_is_not_edited_silently():
    text = "sorosim: 1\nlinks:\n  a: &a {joint: fixed}\n  b: *a\n"
    with pytest.raises(InputError, match="alias"):
        set_value(text, ("links", "b", "joint"), "free")
    with pytest.raises(FileError):
        set_value("sorosim: [", ("links",), 1)


def test_parameters_are_renamed_where_they_are_used():
    text = "parameters: {length: 1 cm, l: 2}\nlinks: {a: {x: $length, y: '2*${length}', z: $length_of, w: $$length}}\n"
    new = rename(text, ("parameters", "length"), "size").applied(text)
    assert new == "parameters: {size: 1 cm, l: 2}\nlinks: {a: {x: $size, y: '2*${size}', z: $length_of, w: $$length}}\n"


# -- of all robots -----------------------------------------------------------------------------------------------------

ROBOTS = bundled_robots()
VALUES = (3, 2.5, "3 cm", "a: b", "#x", "", [1, 2], {"x": 1, "y": [1, {"z": 2}]}, None, True, "0.1", "yes", "- a")


def paths(data, path=()):
    """All paths of data but the root."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [*([path] if path else []), *(one for key, entry in entries for one in paths(entry, (*path, key)))]


def at(data, path):
    for key in path:
        data = data[key]
    return data


def random_edit(text, draw, k):
    """An edit of a random kind at a random place."""
    data = read_text(text, "x").data
    path = draw.choice(paths(data))
    own, parent = at(data, path), at(data, path[:-1])
    beside = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
    kind = draw.choice(["set", "put", "remove", "rename", "move", "copy"])
    if kind == "put" and isinstance(own, dict | list):
        names = list(own) if isinstance(own, dict) else list(range(len(own)))
        key = f"new{k}" if isinstance(own, dict) else 0
        return put(text, path, key, draw.choice(VALUES), draw.choice([None, *names]))
    if kind == "remove":
        return remove(text, path)
    if kind == "rename" and isinstance(path[-1], str):
        return rename_key(text, path, f"name{k}")
    if kind == "move":
        return move(text, path, draw.choice([None, *beside]))
    if kind == "copy":
        return copy(text, path, f"copy{k}")
    return set_value(text, path, draw.choice(VALUES))


def edited(name, n, seed):
    """A robot's text after edits, each of which can be undone to the byte, and did what it should (it checks that)."""
    text, draw = bundled_file(name).read_text(encoding="utf-8"), random.Random(f"{name}{seed}")
    for k in range(n):
        if not paths(read_text(text, "x").data):  # all is removed: begin anew
            text = bundled_file(name).read_text(encoding="utf-8")
        edit = random_edit(text, draw, k)
        new = edit.applied(text)
        back, shift = [], 0
        for start, end, words in sorted(edit.changes):
            back.append(Change(start + shift, start + shift + len(words), text[start:end]))
            shift += len(words) - (end - start)
        undone = Edit(tuple(sorted(back, reverse=True))).applied(new)
        assert undone == text
        text = new


@pytest.mark.parametrize("name", ROBOTS)
def test_random_edits_of_robots(name):
    edited(name, 10, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_500_random_edits_of_robots(name):
    edited(name, 500, 1)


def loads(text, name):
    return load_text(text, f"{name}.yaml", bundled_file(name).parent)


@pytest.mark.parametrize("name", ["fin_ray", "underwater_vehicle", "soft_gripper", "concentric_tubes", "stewart_soft"])
def test_references_follow_new_names(name):
    text = bundled_file(name).read_text(encoding="utf-8")
    data, robot = read_text(text, name).data, loads(text, name)
    renamed = 0
    for block in (*BLOCKS, "parameters", "parts", "prefabs"):
        for one in list(data.get(block) or {})[:2]:
            new = rename(text, (block, one), "another_one").applied(text)
            again = loads(new, name)
            assert again.ndof == robot.ndof
            assert set(re.findall("#.*", new)) >= {x for x in re.findall("#.*", text) if one not in x}
            renamed += 1
    assert renamed >= 3


@pytest.mark.parametrize("name", ["cable_manipulator", "gripper_grasps_sphere", "hybrid_parallel"])
def test_parts_that_may_be_added_make_robots(name):
    """Nearly all: what else is needed, the message at the line says."""
    text = bundled_file(name).read_text(encoding="utf-8")
    data, made, refused = read_text(text, name).data, [], []
    for block in BLOCKS:
        for one in additions(data, block):
            if one.lacks:
                continue
            new = add(text, block, one)
            try:
                loads(new, name)
            except SorosimError as error:
                refused.append(f"{block} {one.kind}: {error}")
            else:
                made.append((block, one.kind))
    assert len(made) >= 20
    assert len(refused) < 0.4 * len(made), refused


def test_another_key_takes_the_place_of_one():
    text = "body: {box: {size: [1, 2, 3]}, mass: 1}   # of steel\nkind:\n  # a ball\n  a: 1\n  b: 2\n"
    new = exchange(text, ("body", "box"), "sphere", {"radius": "1 cm"})
    assert new == text.replace("box: {size: [1, 2, 3]}", "sphere: {radius: 1 cm}")
    assert exchange(text, ("kind", "a"), "c", 3) == text.replace("a: 1", "c: 3")
    with pytest.raises(InputError, match="taken"):
        exchange(text, ("kind", "a"), "b", 3)


def test_a_block_that_was_empty_is_begun_on_lines_of_its_own():
    text = "links: {}\nloads: {} # none\noutputs: []\n"
    new = set_value(text, ("links", "a"), {"joint": "free"}).applied(text)
    assert new == text.replace("links: {}", "links:\n  a: {joint: free}")
    assert "loads: {b: 1} # none\n" in set_value(text, ("loads", "b"), 1).applied(text)
    assert put(text, ("outputs",), 0, "a").applied(text).endswith("outputs:\n  - a\n")


def test_what_shares_its_line_in_an_unknown_way_is_refused():
    for text, path in (("x:\n  a: 1\n  ? k\n  : {w: 1}\n", ("x", "k")), ("a: 1\rb: 2\r", ("b",))):
        with pytest.raises(InputError, match="lines of its own"):
            remove(text, path)


def test_from_nothing():
    """A rod on the world brings a material, and what needs a link says so."""
    text = "sorosim: 1\nname: r\n\nlinks: {}\n"
    lacking = {one.kind: one.lacks for one in additions(read_text(text, "x").data, "actuators")}
    assert lacking["tendon"] == "needs one of links"
    (rod,) = (one for one in additions(read_text(text, "x").data, "links") if one.kind == "rod")
    text = add(text, "links", rod, "arm")
    assert "links:\n  arm:\n    joint: fixed\n    rod: {" in text  # on lines of its own
    (tendon,) = (one for one in additions(read_text(text, "x").data, "actuators") if one.kind == "tendon")
    text = add(text, "actuators", tendon, "pull")
    robot = load_text(text, "x.yaml", Path())
    assert (robot.ndof, robot.actuator_names) == (4, ("pull",))
