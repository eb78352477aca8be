"""Robots from files: the right robot from a right file, one sentence for each mistake in a wrong one."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.robots import arrays_of, cable_manipulator
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import FileError, InputError, ModelError
from sorosim.base.methods import METHODS
from sorosim.base.problems import MAX_SHOWN
from sorosim.base.signals import ConstantSignal, ExpressionSignal, TableSignal
from sorosim.base.signals.expressions import parse
from sorosim.files import bundled_robots, dump, load, load_text
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.profile import Table
from sorosim.mechanics.model.section import Circle, Ellipse, HollowCircle, Properties, Rectangle

HERE = Path(__file__).parent
BASE = (HERE / "robot.yaml").read_text("utf-8")
INITIAL = ("initial:\n  tool.revolute: 10 deg\n", "")


def blocks() -> list[tuple[str, str, str, str]]:
    """Mistakes of the lists: the robot, what is replaced, by what, the message."""
    found = []
    lists = ("joints", "rows", "loops", "sensors", "loads", "contacts")
    files = {"robot": "mistakes.txt", **{name: f"mistakes_of_{name}.txt" for name in lists}}
    for robot, file in files.items():
        for block in (HERE / file).read_text("utf-8").split("\n\n"):
            lines = [line for line in block.splitlines() if not line.startswith("#")]
            if lines:
                parts = {sign: "\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+="}
                found.append((f"{robot}.yaml", parts["-"], parts["+"], parts["="]))
    return found


def changed(*changes: tuple[str, str], text: str = BASE) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def message_of(text: str, folder: Path = HERE) -> str:
    with pytest.raises(FileError) as caught:
        _ = load_text(text, "robot.yaml", folder).initial_q  # shapes are found at their first use
    return str(caught.value)


# -- the manipulator


def test_the_manipulator_has_the_numbers_of_the_paper():
    robot = load("cable_manipulator")
    assert robot.name == "cable-driven manipulator"
    assert (robot.ndof, robot.n_points) == (24, 7)
    assert robot.actuator_names == ("cable1", "cable2", "cable3", "cable4", "cable5")
    assert_array_equal(robot.pose(np.zeros(24), "arm")[:3, 3], [0.5, 0.0, 0.0])
    assert robot.description.gravity == (0.0, 0.0, -9.81)


def test_the_manipulator_is_the_one_built_of_python_objects():
    for a, b in zip(arrays_of(load("cable_manipulator")), arrays_of(cable_manipulator()), strict=True):
        assert_array_equal(a, b)


def test_the_manipulators_cables_run_where_the_papers_table_puts_them():
    robot = load("cable_manipulator")
    layout = robot.engine.layout.links["arm"]
    piece, L, rt = layout.pieces[0], 0.5, 0.015
    X = np.linspace(0.0, L, 9)
    r, dr, zero = 0.03 - 0.03 * X, -0.03, np.zeros_like(X)
    phase, dphase = 4.0 * np.pi * X / L, 4.0 * np.pi / L
    up = np.sqrt(3.0) / 2.0
    expected = {
        "cable1": (zero, r, zero, zero + dr),
        "cable2": (-up * r, -r / 2.0, zero - up * dr, zero - dr / 2.0),
        "cable3": (up * r, -r / 2.0, zero + up * dr, zero - dr / 2.0),
        "cable4": (rt * np.sin(phase), rt * np.cos(phase), rt * dphase * np.cos(phase), -rt * dphase * np.sin(phase)),
        "cable5": (rt * np.sin(phase), -rt * np.cos(phase), rt * dphase * np.cos(phase), rt * dphase * np.sin(phase)),
    }
    for name, (y, z, dy, dz) in expected.items():
        d, slope = robot.description.actuators[name].path[0].route(layout, piece, X)
        assert_allclose(d, np.stack([zero, y, z], axis=1), atol=1e-16)
        assert_allclose(slope, np.stack([zero, dy, dz], axis=1), atol=1e-14)


def test_the_manipulators_tensions_start_at_zero_and_stay_moderate():
    block = load("cable_manipulator").description.simulate
    t = np.linspace(0.0, block["t_end"], 2001)
    tensions = np.stack([signal.sample(t) for signal in block["u"].values()])
    assert tensions.shape[0] == 5
    assert_allclose(tensions[:, 0], 0.0, atol=1e-12)
    assert tensions.min() > -1e-12
    assert tensions.max(axis=1).min() >= 8.0
    assert tensions.max() <= 15.0


def test_a_usual_robot_needs_neither_pint_nor_trimesh():
    code = "import sys, sorosim; sorosim.load('cable_manipulator'); print({'pint', 'trimesh'} & sys.modules.keys())"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE.parents[1]
    )
    assert result.stdout.strip() == "set()"


def test_importing_io_loads_nothing_heavy():
    code = "import sys, sorosim.files; print(*(name for name in ('pint', 'h5py', 'yaml') if name in sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE.parents[1]
    )
    assert result.stdout.strip() == ""


# -- what a file may say


def test_every_block_arrives_in_the_robot():
    robot = load_text(BASE, "robot.yaml")
    description = robot.description
    assert [link.name for link in robot.links] == ["arm", "tool"]
    assert robot.ndof == 1 + 2 * 2 + 1
    assert_allclose(description.initial["tool.revolute"], np.deg2rad(10.0))
    assert description.loads["tip"] == Wrench("tool", force=(0, 0, 1))
    assert description.simulate["t_end"] == 1.0
    assert description.simulate["u"] == {"cable": ExpressionSignal(parse("2*t", ["t"]))}
    assert description.statics == {"u": {"cable": 3.0}}
    assert description.text == BASE
    assert robot.links[1].body.mass == 0.2
    assert_array_equal(robot.links[1].at[:3, 3], [0.01, 0.0, 0.0])


def test_a_dict_gives_the_same_robot_and_a_text_that_reads_back():
    import yaml

    data = yaml.safe_load(BASE.replace("1e-4", "0.0001"))
    data["gravity"] = np.array([0.0, 0.0, -1.62])
    robot = load(data)
    assert robot.description.gravity == (0.0, 0.0, -1.62)
    again = load_text(robot.description.text, "again")
    for a, b in zip(robot.engine.tree, again.engine.tree, strict=True):
        assert_array_equal(a, b)
    assert json.loads(robot.description.text)["gravity"] == [0.0, 0.0, -1.62]


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("{circle: {radius: 3 cm, torsion: polar}}", Circle(0.03, torsion="polar")),
        ("{hollow_circle: {radius: 3 cm, inner_radius: [2 cm, 1 cm]}}", HollowCircle(0.03, (0.02, 0.01))),
        ("{rectangle: {y: 3 cm, z: 1 cm, shear_factor: [0.8, 0.9]}}", Rectangle(0.03, 0.01, shear_factor=(0.8, 0.9))),
        ("{ellipse: {y: 3 cm, z: 0.01, shear_factor: 0.9}}", Ellipse(0.03, 0.01, shear_factor=0.9)),
        ("{properties: {area: 4 cm^2, Iy: 2 cm^4, Iz: 1e-8, J: 300 mm^4}}", Properties(4e-4, 2e-8, 1e-8, 3e-10)),
        (
            "{properties: {area: 4 cm^2, Iy: 2 cm^4, Iz: 1e-8, polar: 1e-7, torsion: polar}}",
            Properties(4e-4, 2e-8, 1e-8, polar=1e-7, torsion="polar"),
        ),
        (
            "{circle: {radius: {table: {s: [0, 0.5, 1], value: [3 cm, 0.02, 0], interpolation: pchip}}}}",
            Circle(Table((0.0, 0.5, 1.0), (0.03, 0.02, 0.0), "pchip")),
        ),
    ],
)
def test_sections(text, section):
    robot = load_text(changed(("{circle: {radius: [3 cm, 1.5 cm]}}", text), ("z: r", "z: 0")), "robot.yaml")
    assert robot.links[0].rod.divisions[0].section == section


def test_a_size_by_an_expression_with_units():
    robot = load_text(changed(("[3 cm, 1.5 cm]", "3 cm*(1 - X/1 m)")), "robot.yaml")
    section = robot.links[0].rod.divisions[0].section
    assert_allclose(section.size_jets([0.0, 0.5], 0.5)["radius"][:, :2], [[0.03, -0.03], [0.015, -0.03]], atol=1e-15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{bending: 3}", Strain(bending=3)),
        ("{basis: chebyshev, bending_z: 3, elongation: 0}", Strain("chebyshev", bending_z=3, elongation=0)),
        ("{bending_y: {basis: hermite, order: 2}, shear: 1}", Strain(bending_y=("hermite", 2), shear=1)),
        ("{}", Strain()),
    ],
)
def test_strain_bases(text, expected):
    robot = load_text(changed(("{torsion: 0, bending: 1}", text), ("quadrature: 5", "quadrature: 6")), "robot.yaml")
    assert robot.links[0].rod.divisions[0].strain == expected


def test_a_reference_strain_may_be_numbers_quantities_and_expressions():
    text = changed(("quadrature: 5", "reference: {bending_y: 0.02 1/cm, torsion: 2*s, elongation: 1.1}"))
    reference = load_text(text, "robot.yaml").links[0].rod.divisions[0].reference
    assert_allclose(reference.values([0.0, 0.25], 0.5), [[0, 2, 0, 1.1, 0, 0], [1, 2, 0, 1.1, 0, 0]])


def test_a_rod_of_several_divisions_and_a_tendon_through_the_first():
    piece = "{length: 10 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 1}}"
    start, end = BASE.index("      length"), BASE.index("  tool:")
    text = BASE[:start] + f"      divisions:\n        - {piece}\n        - {piece}\n" + BASE[end:]
    robot = load_text(changed(("z: r}", "z: r, to: 0.5}"), text=text), "robot.yaml")
    assert len(robot.links[0].rod.divisions) == 2
    assert robot.description.actuators["cable"].path[0].end == 0.5


def test_a_tendon_along_a_path_of_rods():
    second = (
        "  second:\n    parent: arm\n    rod: {length: 10 cm, section: {rectangle: {y: 2 cm, z: 1 cm}}, "
        "material: rubber, strain: {bending: 0}}\nactuators:"
    )
    path = "{tendon: {path: [{rod: arm, y: 0, z: r}, {rod: second, y: y/4, z: 0.5 cm}]}}"
    text = changed(("actuators:", second), ("{tendon: {rod: arm, y: 0, z: r}}", path))
    tendon = load_text(text, "robot.yaml").description.actuators["cable"]
    assert [run.rod for run in tendon.path] == ["arm", "second"]
    assert tendon.path[1].z == 0.005


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{axis: [0, 0, 3], angle: 90 deg}", [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        ("{rpy: [90 deg, 0, 90 deg]}", [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
        ("{rpy: [0, 90 deg, 0]}", [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
        ("{quaternion: [1, 0, 0, 1]}", [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        ("{matrix: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}", [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        ("{matrix: [[0.7071, -0.7071, 0], [0.7071, 0.7071, 0], [0, 0, 1]]}",
         [[0.5**0.5, -(0.5**0.5), 0], [0.5**0.5, 0.5**0.5, 0], [0, 0, 1]]),
    ],
)  # fmt: skip
def test_rotations(text, expected):
    robot = load_text(changed(("s: 1}", f"rotation: {text}}}")), "robot.yaml")
    assert_allclose(robot.links[1].at[:3, :3], expected, atol=1e-15)


def test_signals(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "pull.csv").write_text("t,left,right\n0,1,2\n1,3,4\n")
    file = tmp_path / "robot.yaml"
    table = TableSignal(np.array([0.0, 1.0]), np.array([2.0, 4.0]))
    for text, expected in [
        ("3", ConstantSignal(3.0)),
        ("3 mN", ConstantSignal(0.003)),
        ("3 N*t", ExpressionSignal(parse("3 N*t", ["t"], lambda unit: 1.0))),
        ("{times: [0, 1 s], values: [2, 0.004 kN]}", table),
        ("{csv: data/pull.csv, column: right}", table),
        ("{csv: data/pull.csv, column: 2}", table),
    ]:
        file.write_text(changed(("cable: 2*t", f"cable: {text}")))
        assert load(file).description.simulate["u"]["cable"] == expected


def test_a_csv_file_is_not_looked_for_when_a_result_is_opened():
    robot = load_text(changed(("cable: 2*t", "cable: {csv: pull.csv}")), "run.h5")
    with pytest.raises(
        FileError, match=r"^pull.csv: is not kept in result files; load the robot from its own file, or"
    ):
        robot.description.simulate["u"]["cable"].value(0.0)


def test_driven_joints_and_a_start():
    text = changed(("t_end: 1", "t_end: 1 min, q0: equilibrium, driven: {tool: 30 deg*t}"), INITIAL)
    block = load_text(text, "robot.yaml").description.simulate
    assert block["t_end"] == 60.0
    assert block["q0"] == "equilibrium"
    assert_allclose(block["driven"]["tool"].value(2.0), np.pi / 3)
    block = load_text(changed(("t_end: 1", "q0: [0, 0, 0, 0, 0, 1]")), "robot.yaml").description.simulate
    assert block["q0"] == (0, 0, 0, 0, 0, 1)
    block = load_text(changed(("t_end: 1", "q0: assembled")), "robot.yaml").description.simulate
    assert block["q0"] == "assembled"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_simulate_may_stand_in_a_file(method):
    robot = load_text(changed(("t_end: 1", f"method: {method}")), "robot.yaml")
    assert robot.description.simulate["method"] == method


def test_options_of_methods_are_those_of_simulate():
    given = {"closing_time": 0.005, "step": 0.001, "spectral_radius": 0.5, "projection": True, "method": "newmark",
             "max_steps": 1e6, "max_wall_time": 60.0}  # fmt: skip
    written = "closing_time: 5 ms, step: 1 ms, spectral_radius: 0.5, projection: true, method: newmark"
    written += ", max_steps: 1e6, max_wall_time: 1 min"
    text = changed(("t_end: 1", written))
    for robot in (load_text(text, "robot.yaml"), load_text(dump(load_text(text, "robot.yaml")), "dump.yaml")):
        assert {name: robot.description.simulate[name] for name in given} == given


def test_a_robot_without_a_name_is_called_after_its_file(tmp_path):
    (tmp_path / "crawler.yaml").write_text(changed(("name: arm with a tool\n", "")))
    assert load(tmp_path / "crawler.yaml").name == "crawler"


# -- what it may not


@pytest.mark.parametrize(("robot", "old", "new", "message"), blocks())
def test_a_mistake_is_one_sentence_with_position_object_and_remedy(robot, old, new, message):
    expected = "\n".join(f"robot.yaml:{line}" for line in message.splitlines())
    assert message_of(changed((old, new), text=(HERE / robot).read_text("utf-8"))) == expected


def test_independent_mistakes_are_reported_together_in_the_order_of_the_file():
    text = changed(
        ("young: 1 MPa", "young: -1 MPa"), ("material: rubber", "material: ruber"), ("z: r", "z: 3 kg"),
        ("link: tool", "link: tol"), ("cable: 3 N", "cabel: 3 N"), ("200 g", "200 m"),
    )  # fmt: skip
    with pytest.raises(FileError) as caught:
        load_text(text, "robot.yaml")
    assert str(caught.value).splitlines() == [
        "robot.yaml:4:19: materials.rubber.young: expected a pressure or modulus greater than 0, got -1 MPa",
        "robot.yaml:11:17: links.arm.rod.material: expected the name of a material, got 'ruber'; did you mean rubber?",
        "robot.yaml:18:18: links.tool.body.mass: expected a mass greater than 0, such as 200 g, got '200 m', a length",
        "robot.yaml:20:39: actuators.cable.tendon.z: expected a length such as 3 cm, got '3 kg', a mass",
        "robot.yaml:22:24: loads.tip.wrench.link: expected the name of a link, got 'tol'; did you mean tool?",
        "robot.yaml:26:15: statics.u.cabel: expected the name of an actuator, got 'cabel'; did you mean cable?",
    ]
    assert (caught.value.file, caught.value.line, caught.value.column) == ("robot.yaml", 4, 19)


def test_very_many_mistakes_are_cut():
    extra = "".join(f"key{i}: 1\n" for i in range(50))
    lines = message_of(BASE + extra).splitlines()
    assert len(lines) == MAX_SHOWN + 1
    assert lines[-1] == "... and 30 more"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# later\n", "robot.yaml: expected a robot, got an empty file; begin with the line 'sorosim: 1'"),
        ("- 1", "robot.yaml:1:1: expected a mapping with the keys sorosim, name, include, import, parameters, gravity, "
                "materials, prefabs, links, parts, loops, couplings, actuators, loads, sensors, initial, outputs, "
                "simulate, statics, got [1]"),
        ("version: 3\nservices: {}", "robot.yaml:1:1: expected a robot, with the keys sorosim and links, got a mapping "
                                     "with version, services; a robot's file begins with the line 'sorosim: 1'"),
        ("sorosim: 1", "robot.yaml:1:1: expected the key 'links', got nothing; for instance links: {arm: {rod: ...}}"),
        ("sorosim: 1\nlinks: {}", "robot.yaml:2:8: links: expected at least one link, got none"),
        ("sorosim: 2\nthings: []\nlinks: 4",
         "robot.yaml:1:10: sorosim: expected 1, the version of the format, got 2; this file is for a newer sorosim"),
    ],
)  # fmt: skip
def test_files_that_are_no_robots(text, message):
    assert message_of(text) == message


def test_mistakes_in_a_dict_are_model_errors_without_positions():
    data = {"sorosim": 1, "links": {"arm": {"body": {"mass": -1, "inertia": [1, 1, 1]}, "parent": "leg"}}}
    with pytest.raises(ModelError) as caught:
        load(data)
    assert str(caught.value).splitlines() == [
        "links.arm.body.mass: expected a mass greater than 0, got -1",
        "links.arm.parent: expected a link of this robot or 'world', got 'leg'; known: world",
    ]
    data["links"]["arm"] |= {
        "parent": "world",
        "body": {"mass": 1, "inertia": [1, 1, 1]},
        "at": {"s": 3, "position": 4},
    }
    with pytest.raises(ModelError) as caught:
        load(data)
    assert str(caught.value).splitlines() == [
        "links.arm.at.position: expected a list of 3, each a length, got 4",
        "links.arm.at.s: expected a number from 0 to 1, got 3; it is a fraction of the rod's length, X/L",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "robot: expected a robot, with the keys sorosim and links, got an empty mapping; "
             "a robot's file begins with the line 'sorosim: 1'"),
        ({"sorosim": 1, "links": {1: {}}}, "links: expected texts as keys, got 1"),
        ({"sorosim": 1, "links": {"arm": object()}},
         "links.arm: expected a number, a text, a list or a mapping, got object"),
    ],
)  # fmt: skip
def test_dicts_that_are_no_robots(data, message):
    with pytest.raises(ModelError) as caught:
        load(data)
    assert str(caught.value) == message


def test_a_dict_inside_itself_is_refused():
    data = {"sorosim": 1, "links": {}}
    data["links"]["arm"] = data
    with pytest.raises(ModelError, match="expected data nested at most 50 deep, got deeper or endless data"):
        load(data)


# -- which file


def test_bundled_robots_load_by_name():
    assert "cable_manipulator" in bundled_robots()
    assert list(bundled_robots()) == sorted(bundled_robots())


@pytest.mark.parametrize("name", bundled_robots())
def test_every_bundled_robot_loads(name):
    assert load(name).description.text.startswith("#")


def test_a_name_that_is_no_robot_lists_the_nearest():
    for source in ("cable_manipulater", "missing/cable_manipulater.yaml"):
        with pytest.raises(FileError) as caught:
            load(source)
        message = "expected a file or the name of a bundled robot, got neither; did you mean cable_manipulator?"
        assert str(caught.value) == f"{source}: {message}"


def test_a_folder_of_the_name_of_a_bundled_robot_does_not_hide_it(tmp_path, monkeypatch):
    (tmp_path / "cable_manipulator").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load("cable_manipulator").ndof == 24


def test_sources_that_are_none(tmp_path):
    with pytest.raises(FileError, match="expected a file, got a folder"):
        load(tmp_path)
    with pytest.raises(InputError, match="expected a path, the name of a bundled robot, or a dict, got int"):
        load(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="got a text of several lines; a robot's text goes into a file"):
        load(BASE)
    with pytest.raises(FileError, match="cannot be read: File name too long"):
        load("x" * 1000)


def test_a_result_without_a_description_says_so():
    with pytest.raises(FileError) as caught:
        load_text("", "run.h5")
    assert str(caught.value) == (
        "run.h5: expected the description of a robot, got a result without one; its robot was built of Python objects; "
        "sorosim.files.results.read gives the arrays"
    )


def test_a_method_that_nobody_knows_lists_those_of_the_solvers():
    expected = f"{', '.join(METHODS[:-1])} or {METHODS[-1]}"
    assert message_of(changed(("t_end: 1", "method: bfd"))) == (
        f"robot.yaml:25:20: simulate.method: expected {expected}, got 'bfd'; did you mean bdf?"
    )


def test_a_message_stays_on_its_line():
    assert message_of(changed(("name:", '"na\\nme":'))) == (
        "robot.yaml:2:1: 'na me': expected a known key, got 'na me'; did you mean name?"
    )


def test_an_installed_package_has_its_robots_inside(tmp_path, monkeypatch):
    monkeypatch.setattr("sorosim.files.bundled.__file__", str(tmp_path / "sorosim" / "files" / "bundled.py"))
    assert bundled_robots() == ()
    (tmp_path / "sorosim" / "_robots").mkdir(parents=True)
    (tmp_path / "sorosim" / "_robots" / "arm.yaml").write_text(BASE)
    assert bundled_robots() == ("arm",)
    assert load("arm").ndof == 6
    with pytest.raises(FileError, match=r"^leg: expected a file or the name of .*, got neither; bundled robots: arm$"):
        load("leg")


def test_the_public_name_is_this_function():
    assert sorosim.load is load


@pytest.mark.parametrize("character", ["\ud800", "\x1b", "\x7f", "\u202e"])
def test_texts_that_no_file_can_hold_are_refused_where_they_come_in(character, tmp_path):
    named = {"sorosim": 1, "name": f"a{character}b", "links": {"a": {"joint": "fixed"}}}
    got = re.escape(f"the control character U+{ord(character):04X}")
    with pytest.raises(ModelError, match=rf"^name: expected text, got {got}$"):
        sorosim.load(named)
    with pytest.raises(ModelError, match=rf"expected texts as keys, got one with {got}"):
        sorosim.load({"sorosim": 1, "links": {character: {"joint": "fixed"}}})
    (tmp_path / "r.yaml").write_text(f'sorosim: 1\nname: "a\\u{ord(character):04x}b"\nlinks: {{a: {{joint: fixed}}}}\n')
    with pytest.raises(FileError, match=rf"r.yaml:2:7: name: expected text, got {got}"):
        sorosim.load(tmp_path / "r.yaml")
    with pytest.raises(sorosim.InputError) as caught:
        sorosim.statics(sorosim.load("cable_manipulator"), u={character: 1.0})
    assert character not in str(caught.value)
