"""Registers of plug-ins: names, entry points, parameters."""

import inspect
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import sorosim
from sorosim.base import registry
from sorosim.base.declare.result import Numbers, Result, stored
from sorosim.base.errors import FileError, ModelError, SorosimWarning
from sorosim.base.methods import METHODS, method_class
from sorosim.base.registry import (
    ACTUATORS,
    INTEGRATORS,
    LOADS,
    RESULTS,
    SECTIONS,
    LazyMethod,
    Registry,
    init_parameters,
    make,
    parameters_of,
    register_actuator,
    register_integrator,
    register_load,
)
from sorosim.files import dump, json_schema, load_text
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.model.section import Circle


@pytest.fixture
def fresh(monkeypatch):
    """Registers that forget after the test what it registers."""
    for one in (LOADS, ACTUATORS):
        monkeypatch.setattr(one, "_registered", dict(one._registered))


@pytest.fixture
def installed(fresh, monkeypatch):
    """Set the entry points that are found."""
    found = []

    def install(group, name, thing, value="package.module:thing"):
        class Point:
            def load(self):
                if isinstance(thing, Exception):
                    raise thing
                return thing

        point = Point()
        point.group, point.name, point.value = group, name, value
        found.append(point)
        # another function: what is installed since is another scan
        monkeypatch.setattr(metadata, "entry_points", lambda *, group: [p for p in found if p.group == group])

    return install


@dataclass(frozen=True)
class Breeze:
    """A force in the world along x."""

    link: str
    force: float
    gain: float = 1.0
    more: tuple[float, ...] = ()
    quantities: ClassVar[dict[str, str]] = {"force": "force", "more": "length"}
    dissipates: ClassVar[bool] = False

    @property
    def places(self):
        return ((self.link, 1.0),)

    def bind(self, layout):
        bound = type("Bound", (), {"dissipates": False, "evaluate": self.evaluate})()
        bound.nodes = np.array([layout.link(self.link).node_at(1.0)])
        return bound

    def evaluate(self, t, g, eta):
        wrench, K = np.zeros((1, 6)), np.zeros((1, 6, 6))
        wrench[0, 3:] = g[0, 0, :3] * self.force * self.gain
        f = wrench[0, 3:]
        K[0, 3:, :3] = [[0, -f[2], f[1]], [f[2], 0, -f[0]], [-f[1], f[0], 0]]
        return LoadValues(wrench, K, np.zeros((1, 6, 6)))


BUILT_IN = ", ".join(f"{{{name}: ...}}" for name in LOADS.declared())
TEXT = """
sorosim: 1
links: {ball: {joint: free, body: {sphere: {radius: 5 cm}, mass: 1 kg}}}
loads: {blow: {breeze: {link: ball, force: 3 cN}}}
"""


def message_of(text):
    with pytest.raises(FileError) as caught:
        load_text(text.lstrip("\n"), "robot.yaml")
    return str(caught.value)


def test_a_registered_load_is_named_in_a_file_and_comes_back_from_it(fresh):
    register_load("breeze", Breeze)
    register_load("breeze", Breeze)
    robot = load_text(TEXT, "robot.yaml")
    assert robot.description.loads["blow"] == Breeze("ball", 0.03)
    again = load_text(dump(robot), "again.yaml")
    assert again.description.loads["blow"] == Breeze("ball", 0.03)


def test_units_are_read_for_the_quantities_that_a_type_names(fresh):
    register_load("breeze", Breeze)
    robot = load_text(TEXT.replace("3 cN", "3, gain: 2, more: [1 cm, 2]"), "robot.yaml")
    assert robot.description.loads["blow"] == Breeze("ball", 3.0, 2, (0.01, 2.0))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("breeze:", "breze:", f"3:16: loads.blow.breze: expected {BUILT_IN} or {{breeze: ...}}, got 'breze'; did you "
         "mean breeze?"),
        ("force: 3 cN", "force: 3 cm", "3:44: loads.blow.breeze.force: expected a force such as 5 N, got '3 cm', a "
         "length"),
        ("force: 3 cN", "fore: 3 cN", "3:37: loads.blow.breeze.fore: expected a parameter of breeze, got 'fore'; did "
         "you mean force or more?"),
        (", force: 3 cN", "", "3:24: loads.blow.breeze: expected the key 'force', got nothing"),
        ("{link: ball, force: 3 cN}", "3", "3:24: loads.blow.breeze: expected a mapping with link, force, gain, more, "
         "got 3"),
        ("force: 3 cN", "force: 3 cN, gain: 2 cm", "3:56: loads.blow.breeze.gain: expected a number, since the plug-in "
         "names no dimension of gain, got '2 cm'; write it in SI units, or name its dimension: quantities = "
         "{'gain': 'length'} in the plug-in"),
        ("link: ball", "link: bal", "3:31: loads.blow.breeze.link: expected the name of a link, got 'bal'; did you "
         "mean ball?"),
    ],
)  # fmt: skip
def test_mistakes_are_placed_in_the_file(fresh, old, new, message):
    register_load("breeze", Breeze)
    assert message_of(TEXT.replace(old, new)) == f"robot.yaml:{message}"


def test_a_type_that_refuses_its_parameters(fresh):
    def picky(link, force):
        raise ValueError("too windy")

    register_load("breeze", picky)
    assert message_of(TEXT) == (
        "robot.yaml:3:24: loads.blow.breeze: expected parameters that breeze takes, got ValueError: too windy"
    )


def test_a_dimension_that_nobody_knows_is_the_plug_ins_mistake(fresh):
    register_load("breeze", type("Odd", (Breeze,), {"quantities": {"force": "windiness"}}))
    assert "expected a plug-in whose quantities are of known dimensions (number, angle," in message_of(TEXT)


def test_a_plug_in_that_does_not_load_is_named_with_its_place(installed):
    installed("sorosim.loads", "breeze", ImportError("no module named wind"))
    assert message_of(TEXT) == (
        "robot.yaml:3:24: loads.blow.breeze: expected a plug-in that loads, got ImportError: no module named wind"
    )
    # others are not hindered
    assert sorosim.load("pendulum").name


def test_an_entry_point_that_is_no_type(installed):
    installed("sorosim.actuators", "muscle", 3.0)
    with pytest.raises(ModelError) as caught:
        ACTUATORS.get("muscle")
    assert str(caught.value) == (
        "actuator muscle (plug-in package.module:thing): expected a class, or a function that makes one, got 3.0"
    )


def test_two_packages_with_the_same_name(installed):
    installed("sorosim.loads", "breeze", Breeze, "one:Breeze")
    installed("sorosim.loads", "breeze", Breeze, "two:Breeze")
    with pytest.raises(ModelError) as caught:
        LOADS.get("breeze")
    assert str(caught.value) == (
        "load breeze: expected one plug-in of this name, got one:Breeze and two:Breeze; uninstall one of them"
    )


def test_names_that_are_taken_or_impossible(fresh):
    register_actuator("breeze", Breeze)
    for name, message in (
        (
            "breeze",
            "register_actuator: expected a name that is not taken, got 'breeze'; give the actuator another name",
        ),
        ("my breeze", "register_actuator: expected a name of letters, digits and _, got 'my breeze'"),
        (3, "register_actuator: expected a name of letters, digits and _, got 3"),
    ):
        with pytest.raises(ModelError) as caught:
            register_actuator(name, LoadValues)
        assert str(caught.value) == message
    with pytest.raises(ModelError, match=r"^register_load: expected a class, or a function that makes one, got 3"):
        register_load("number", 3)


def test_files_have_the_built_in_kinds_of_the_registries():
    for kinds, block in ((LOADS, "loads"), (ACTUATORS, "actuators")):
        entry = json_schema()["properties"][block]["anyOf"][0]["additionalProperties"]["anyOf"][0]
        assert list(entry["properties"]) == list(kinds.declared())


@pytest.mark.parametrize("name", ["wrench", "fluid", "line", "spring", "contact"])
def test_names_of_the_built_in_loads_are_not_to_be_had(fresh, name):
    with pytest.raises(ModelError, match="expected a name that is not taken"):
        register_load(name, Breeze)


@pytest.mark.parametrize(
    ("one", "name", "built_in"),
    [
        (LOADS, "wrench", "load sorosim.mechanics.loads.wrench:Wrench"),
        (INTEGRATORS, "bdf", "integrator sorosim.base.methods:BDF"),
    ],
)
def test_a_plug_in_with_the_name_of_a_built_in_kind_is_warned_of_once(installed, monkeypatch, one, name, built_in):
    monkeypatch.setattr(one, "_shadowed", set())
    installed(one.group, name, Breeze, "winds:Breeze")
    message = f"plug-in winds:Breeze is not used: '{name}' is the built-in {built_in}; give the plug-in another name"
    with pytest.warns(SorosimWarning, match=re.escape(message)):
        assert one.names().count(name) == 1
    assert one.get(name) is not Breeze  # a second warning would be an error
    assert name in one.names()


@pytest.mark.parametrize("name", ["tendon", "chamber", "moment", "joint", "servo", "velocity", "loop"])
def test_names_of_the_built_in_actuators_are_not_to_be_had(fresh, name):
    with pytest.raises(ModelError, match="expected a name that is not taken"):
        register_actuator(name, Breeze)


def test_a_name_that_nobody_has():
    registry = Registry("sorosim.none", "thing")
    registry.register("one", 1)
    with pytest.raises(ModelError) as caught:
        registry.get("oen")
    assert str(caught.value) == "thing: expected the name of a thing, got 'oen'; did you mean one?"
    assert registry.name_of(int) is None


def test_parameters():
    assert parameters_of(Breeze) == {"link": False, "force": False, "gain": True, "more": True}
    assert make("breeze", Breeze, {"link": "a", "force": 1.0}) == Breeze("a", 1.0)
    assert init_parameters(Breeze("a", 1.0)) == {"link": "a", "force": 1.0, "gain": 1.0, "more": ()}
    assert init_parameters(Breeze) is None
    assert init_parameters(3) is None
    with pytest.raises(ModelError, match=r"^plug-in: expected a class or a function, got 3"):
        parameters_of(3)
    assert LOADS.what == "load"


def test_every_module_with_kinds_is_named_in_its_registry():
    known = {kind for one in vars(registry).values() if isinstance(one, Registry) for kind in one.known()}
    package = Path(sorosim.__file__).parent
    found = [
        (file.name, kind)
        for file in sorted(package.rglob("*.py"))
        for kind in re.findall(r'^class \w+\(.*\bkind="(\w+)"', file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(found) > 30
    assert [(file, kind) for file, kind in found if kind not in known] == []


# -- integrators -------------------------------------------------------------------------------------------------------


def test_a_registered_integrator_is_a_method_of_files_and_functions(monkeypatch):
    monkeypatch.setattr(INTEGRATORS, "_registered", {})
    text = TEXT.replace("loads:", "simulate: {t_end: 1, method: mine}\n#")
    known = list(METHODS)
    assert f"simulate.method: expected {', '.join(known[:-1])} or {known[-1]}" in message_of(text)
    calls = []

    def mine(problem):
        calls.append(problem)
        return method_class("bdf")().solve(problem)

    register_integrator("mine", mine)
    assert "mine" in METHODS
    robot = load_text(text.lstrip("\n"), "robot.yaml")
    assert sorosim.simulate(robot).t[-1] == 1.0
    assert calls
    assert list(METHODS) == [*known, "mine"]


@pytest.mark.parametrize(
    ("name", "thing", "message"),
    [
        ("bdf", len, "expected a name that is not taken, got 'bdf'; give the integrator another name"),
        ("mine", 3, "expected a function of an OdeProblem, or a class of methods, got 3"),
        ("mine", dict, "expected a function of an OdeProblem, or a class of methods, got <class 'dict'>"),
        ("no name", len, "expected a name of letters, digits and _, got 'no name'"),
    ],
)
def test_what_is_no_integrator_is_refused(name, thing, message):
    with pytest.raises(ModelError) as caught:
        register_integrator(name, thing)
    assert str(caught.value) == f"register_integrator: {message}"


def test_a_class_cannot_take_the_name_of_another_kind(monkeypatch):
    monkeypatch.setattr(SECTIONS, "_built_in", dict(SECTIONS.declared()))
    with pytest.raises(ModelError, match=r"expected a name that no section has, got kind='circle', of Circle"):

        class Round(Circle, kind="circle"):
            pass

    class Own(Circle, kind="own_circle"):
        pass

    first = Own

    class Own(Circle, kind="own_circle"):  # again, as in a notebook
        pass

    assert SECTIONS.get("own_circle") is Own is not first


# -- methods that are functions of other modules


def lazy_methods():
    for name in sorosim.__all__:
        thing = getattr(sorosim, name)
        for cls in inspect.getmro(thing) if isinstance(thing, type) else ():
            for own, member in vars(cls).items():
                if isinstance(member, LazyMethod):
                    yield cls, own


@pytest.mark.parametrize(("cls", "name"), sorted(set(lazy_methods()), key=str), ids=lambda x: getattr(x, "__name__", x))
def test_every_method_by_name_is_a_function_that_says_what_it_does(cls, name):
    function = getattr(cls, name)
    assert inspect.isfunction(function)
    assert function.__doc__


def test_a_method_by_name_has_the_arguments_of_its_function_and_is_loaded_when_it_is_called():
    code = (
        "import inspect, sys, sorosim; from sorosim.analysis.results.result import Run;"
        "run = object.__new__(Run); methods = [run.plot, run.movie, run.save, run._repr_html_];"
        "assert not {'matplotlib', 'h5py', 'sorosim.view.viz.plots', 'sorosim.files.results'} & set(sys.modules);"
        "assert str(inspect.signature(run.save)) == \"(path: 'str | Path', *, kind: 'str' = '') -> 'None'\";"
        "assert 'sorosim.files.results' in sys.modules;"
        "assert (run.save.__name__, run.save.__doc__) == ('save', sys.modules['sorosim.files.results'].save.__doc__)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_registered_kind_of_result_is_saved_opened_and_known_to_commands(tmp_path, call):
    @dataclass(frozen=True, eq=False)
    class Reach(Result, kind="reach"):
        """How far a tip reaches."""

        robot: sorosim.Robot
        tips: np.ndarray = stored(Numbers("n_places", 3), "places of the tip", "m")  # noqa: RUF009
        farthest: float | None = stored(Numbers(), "distance from the base", "m", default=None)

    robot = sorosim.load("double_pendulum")
    reach = Reach(robot, np.eye(3)[:2], 1.0)
    with pytest.raises(ModelError, match="expected the name of a result, got 'reach'"):
        reach.save(tmp_path / "reach.h5")
    RESULTS.register("reach", Reach)
    try:
        reach.save(tmp_path / "reach.h5")
        again = sorosim.open(tmp_path / "reach.h5")
        code, out, _ = call("info", str(tmp_path / "reach.h5"))
        assert code == 0
        assert "reach" in out
        assert "numbers (2, 3)" in out
        for command in (("plot",), ("play",), ("export", "--out", str(tmp_path / "reach.csv"))):
            code, _, err = call(command[0], str(tmp_path / "reach.h5"), *command[1:])
            assert (code, "a result of the kind 'reach'" in err) == (2, True), err
        Reach(robot, np.eye(3)).save(tmp_path / "reach.h5")
        assert sorosim.open(tmp_path / "reach.h5").farthest is None
    finally:
        del RESULTS._registered["reach"]
    np.testing.assert_array_equal(again.tips, reach.tips)
    assert (again.farthest, again.robot.coordinate_names) == (1.0, robot.coordinate_names)
    assert "tips\n    (n_places, 3) places of the tip [m]" in Reach.__doc__


def test_groups_of_entry_points_are_what_packages_name():
    found = {one.group for one in vars(registry).values() if isinstance(one, registry.Registry)}
    kinds = "bases sections shapes obstacles joints loads actuators sensors integrators results"
    assert found == {f"sorosim.{kind}" for kind in kinds.split()}
