"""Arguments of public functions: one signature for all of them, units as text, options declared once."""

import inspect
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sorosim
from sorosim.analysis.bifurcation.diagram import Continuation
from sorosim.analysis.equilibria.steady_motion import SteadyMotion
from sorosim.analysis.results.modes import ModeRun
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.analysis.sensitivity import Sensitivities
from sorosim.base.declare import Quantity
from sorosim.base.errors import FileError, InputError
from sorosim.base.methods import METHODS, MOTIONS, STEPS, method_class, options_by_name
from sorosim.base.options import (
    ContinuationArguments,
    Option,
    SimulateArguments,
    StaticsArguments,
    checked,
)
from sorosim.base.registry import INTEGRATORS
from sorosim.base.units.table import DIMENSIONS, kind_of
from sorosim.connect.cli.main import command as command_of
from sorosim.mechanics.linear import Linearization
from sorosim.studies.sweeps.result import SweepResult

ANALYSES = ("simulate", "resume", "statics", "follow", "steady", "assemble", "continuation", "sweep")
CLASSES = (
    sorosim.Robot,
    Equilibrium,
    SteadyMotion,
    Run,
    ModeRun,
    Linearization,
    Continuation,
    SweepResult,
    Sensitivities,
)
DRAWINGS = ("play", "movie", "still", "export_html", "export_gltf")


def public_functions():
    for name in (*ANALYSES, "sensitivities", "scalars", "examine", "load", "dump", "open"):
        yield name, getattr(sorosim, name)
    for cls in CLASSES:
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            if not name.startswith("_") and name not in DRAWINGS:
                is_static = isinstance(inspect.getattr_static(cls, name), staticmethod)
                yield f"{cls.__name__}.{name}", method if is_static else partial(method, None)


def parameters_of(function):
    return dict(inspect.signature(function).parameters)


FUNCTIONS = dict(public_functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_at_most_two_arguments_are_positional(name):
    kinds = [one.kind for one in parameters_of(FUNCTIONS[name]).values()]
    assert kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) <= 2


# of a motion inputs and driven coordinates are signals; a sweep takes them as its file has them
SIGNALS = ("simulate", "resume", "sweep")
STATES = [
    *(name for name in ANALYSES if name not in SIGNALS),
    *(n for n in FUNCTIONS if n.startswith(("Robot.", "Sens"))),
]


NAMES = "u driven driven_qdd q qd qdd q0 qd0 t t_end dt_out s jacobian algorithm max_steps max_wall_time events out"


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_means_the_same_everywhere(name):
    functions = STATES if name in ("u", "driven") else FUNCTIONS
    found = {key: parameters_of(FUNCTIONS[key]).get(name) for key in functions}
    # several places; rough coordinates only
    others = {"s": "Robot.poses", "q0": "assemble"}.get(name)
    types = {one.annotation.removesuffix(" | None") for key, one in found.items() if one and key != others}
    assert len(types) == 1
    defaults = {str(one.default) for one in found.values() if one and one.default is not one.empty}
    assert len(defaults) <= 1


def test_names_stand_in_one_order():
    orders = [[name for name, one in parameters_of(FUNCTIONS[key]).items() if one.kind is one.KEYWORD_ONLY]
              for key in (*ANALYSES, *FUNCTIONS)]  # fmt: skip
    for one, other in combinations(orders, 2):
        shared = [name for name in one if name in other]
        assert shared == [name for name in other if name in shared]


# -- options -----------------------------------------------------------------------------------------------------------

KINDS = {"simulate": SimulateArguments, "statics": StaticsArguments, "continuation": ContinuationArguments}
OPTIONS = [(function, name, key) for function, kind in KINDS.items() for name, key in kind.declaration().items()]
QUANTITIES = [(f, name, key) for f, name, key in OPTIONS if isinstance(key.type, Quantity)]


@pytest.mark.parametrize(("function", "name", "key"), OPTIONS, ids=lambda x: x if isinstance(x, str) else "")
def test_functions_have_the_declared_options_and_defaults(function, name, key):
    known = parameters_of(getattr(sorosim, function))
    assert isinstance(key, Option)
    assert known[name].default is None if name in known else known["options"].kind is inspect.Parameter.VAR_KEYWORD
    about = " ".join(getattr(sorosim, function).__doc__.split())
    if isinstance(key.fallback, str) and not (function == "simulate" and name in options_by_name(MOTIONS)):
        assert key.fallback in about
    assert name in about


@pytest.mark.parametrize("use", [MOTIONS, STEPS])
@pytest.mark.parametrize("name", INTEGRATORS)
def test_a_method_tells_its_options_bounds_and_defaults(name, use):
    cls = method_class(name)
    about = " ".join(cls.__doc__.split())
    for option, key in cls.options(use).items():
        assert f" {option} : " in about
        assert key.fallback in (None, np.inf) or f"Default: {key.fallback}" in about
        if isinstance(key.type, Quantity):
            assert key.type.condition in about


def with_method(function, name, value):
    """Arguments with an option, and with a method that has it."""
    if function != "simulate" or name not in options_by_name(MOTIONS):
        return {name: value}
    return {name: value, "method": next(one for one in METHODS if name in method_class(one).options(MOTIONS))}


def other_unit(dimension):
    return "1 kg" if dimension != "mass" else "1 m"


@pytest.mark.parametrize(("function", "name", "key"), QUANTITIES, ids=lambda x: x if isinstance(x, str) else "")
def test_quantities_take_units_and_refuse_others_everywhere(function, name, key, tmp_path):
    expected, example = DIMENSIONS[key.type.dimension].label, key.example
    value = key.type.check(example)
    for given in (example, value):
        assert checked(KINDS[function], with_method(function, name, given))[name] == value
    wrong = other_unit(key.type.dimension)
    with pytest.raises(InputError, match=f"^{name}: expected {expected}.*{wrong}"):
        checked(KINDS[function], with_method(function, name, wrong))
    if name in SIMULATE_BLOCK and function == "simulate":
        robot = {**PENDULUM, "simulate": {name: example}}
        assert sorosim.load(robot).description.simulate[name] == value
        with pytest.raises((FileError, sorosim.ModelError), match=f"simulate.{name}: expected {expected}.*{wrong}"):
            sorosim.load({**PENDULUM, "simulate": {name: wrong}})
    command = command_of(function)
    flag = f"--{name.replace('_', '-')}"
    if flag not in {flag for one in command.params for flag in one.opts}:
        assert name == "dt_control"  # a controller is a function
        return
    words = ["robot.yaml"] + (["--along", "u.a", "--to", "1"] if function == "continuation" else [])
    assert command.make_context(function, [*words, flag, example]).params[name] == value
    with pytest.raises(Exception, match=f"expected {expected}.*{wrong}"):
        command.make_context(function, [*words, flag, wrong])


PENDULUM = {
    "sorosim": 1,
    "name": "pendulum",
    "links": {
        "arm": {
            "joint": {"revolute": {"axis": [0, 1, 0]}},
            "body": {"mass": "1 kg", "centre": [0, 0, "-20 cm"], "inertia": ["1 g*m^2"] * 3},
        },
        "slider": {"parent": "arm", "joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": "1 kN/m"}}, "body": {
            "mass": "100 g", "inertia": ["1 kg*mm^2"] * 3}},
    },
    "actuators": {"motor": {"joint": {"link": "arm"}}},
}  # fmt: skip
SIMULATE_BLOCK = {name for name, key in SimulateArguments.declaration().items() if key.in_files}


@pytest.fixture(scope="module")
def robot():
    return sorosim.load(PENDULUM)


def test_units_are_read_wherever_a_robot_takes_numbers(robot):
    q, qd = np.array([np.pi / 6.0, 0.01]), np.array([np.pi / 3.0, -0.02])
    for same in ({"arm": "30 deg", "slider": "1 cm"}, {"arm.revolute": "30 deg", "slider": 0.01}, ["30 deg", 0.01],
                 np.array(["30 deg", "10 mm"]), ("30 deg", "10 mm")):  # fmt: skip
        assert_array_equal(robot.coordinates(same), q)
    assert_array_equal(robot.coordinates({"slider": "1 cm"}), [0.0, 0.01])  # what is not named is zero
    assert_array_equal(robot.coordinates(["10 rpm", "-2 cm/s"], order=1), np.array([np.pi / 3.0, -0.02]))
    assert_array_equal(robot.coordinates({"slider": "1 mm/s^2"}, order=2), [0.0, 1e-3])
    for u in ("2 N*cm", 0.02, ["2 N*cm"], {"motor": "2 N*cm"}, np.array([0.02])):
        assert_array_equal(robot.inputs(u), [0.02])
    texts = {"u": "2 N*cm", "t": "1 min", "driven_qdd": {"slider": "1 cm/s^2"}}
    numbers = {"u": [0.02], "t": 60.0, "driven_qdd": {"slider": 0.01}}
    state = {"arm": "30 deg", "slider": "1 cm"}, {"arm": "10 rpm", "slider": "-2 cm/s"}
    assert_array_equal(robot.forward_dynamics(*state, **texts), robot.forward_dynamics(q, qd, **numbers))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.coordinates({"arm": "30 mm"}), "q.arm: expected an angle such as 45 deg, got '30 mm', a length"),
        (lambda r: r.coordinates(["1 deg", "2 deg"]), "q[1]: expected a length such as 3 cm, got '2 deg', an angle"),
        (lambda r: r.inputs("3 N"), "u.motor: expected a moment such as 5 N*cm, got '3 N', a force"),
        (lambda r: r.inputs({"motor": "3 apples"}), "u.motor: expected a moment such as 5 N*cm, got '3 apples'; "),
        (
            lambda r: r.energy([0, 0], {"slider": "3 N"}),
            "qd.slider: expected a speed such as 3 cm/s, got '3 N', a force",
        ),
        (lambda r: sorosim.simulate(r, "20 mm"), "t_end: expected a time greater than 0, such as 10 s, got '20 mm'"),
        (lambda r: sorosim.simulate(r, 1.0, u={"motor": "3 N*t"}), "u.motor: expected a moment"),
        (lambda r: sorosim.simulate(r, 1.0, driven={"slider": "3 deg"}), "driven.slider: expected a length"),
        (lambda r: sorosim.simulate(r, 1.0, q0={"slider": "1 s"}), "q0.slider: expected a length"),
        (lambda r: sorosim.simulate(r, 1.0, qd0={"slider": "1 m"}), "qd0.slider: expected a speed"),
        (lambda r: sorosim.statics(r, driven={"slider": "3 N"}), "driven.slider: expected a length"),
        (lambda r: sorosim.steady(r, {"arm": "3 m/s"}), "rates.arm: expected an angular speed"),
        (lambda r: sorosim.assemble(r, {"arm": "3 m"}), "q0.arm: expected an angle"),
        (lambda r: sorosim.continuation(r, "u.motor", to="3 N"), "to: expected a moment"),
        (lambda r: sorosim.continuation(r, "u.motor", to=1.0, until=("0 N", 2.0)), "until: expected a moment"),
        (lambda r: r.contact_gaps([0, 0], "3 s"), "reach: expected a length"),
    ],
)
def test_wrong_units_are_told_as_in_files(robot, call, message):
    with pytest.raises(InputError) as caught:
        call(robot)
    assert str(caught.value).startswith(message)


def test_analyses_with_texts_are_those_with_numbers_to_the_bit(robot):
    texts = sorosim.simulate(
        robot, "0.1 s", dt_out="20 ms", u="2 N*cm", driven={"slider": "(1 cm)*t^2"}, q0={"arm": "30 deg"},
        qd0={"arm": "10 rpm"}, max_step="5 ms", checkpoint="50 ms", rtol="1e-5", dense=True,
    )  # fmt: skip
    numbers = sorosim.simulate(
        robot, 0.1, dt_out=0.02, u=[0.02], driven={"slider": "0.01*t^2"}, q0=[np.pi / 6.0, 0.0],
        qd0=[np.pi / 3.0, 0.0], max_step=0.005, checkpoint=0.05, rtol=1e-5, dense=True,
    )  # fmt: skip
    assert_array_equal(texts.q, numbers.q)
    assert_array_equal(texts.at("30 ms")[0], numbers.at(0.03)[0])
    longer = sorosim.resume(texts, "0.2 s", max_wall_time="1 min")
    assert longer.t[-1] == 0.2
    table = {"motor": (["0 s", "100 ms"], ["0 N*cm", "2 N*cm"])}
    by_table = sorosim.simulate(robot, 0.1, u=table).u[-1]
    assert_array_equal(by_table, sorosim.simulate(robot, 0.1, u={"motor": ([0.0, 0.1], [0.0, 0.02])}).u[-1])
    eq = sorosim.statics(robot, "2 N*cm", driven={"slider": "1 cm"}, q0={"arm": "5 deg"})
    same = sorosim.statics(robot, [0.02], driven={"slider": 0.01}, q0=[np.pi / 36.0, 0.0])
    assert_array_equal(eq.q, same.q)
    assert_array_equal(sorosim.follow(robot, eq, u="3 N*cm")[-1].q, sorosim.follow(robot, same, u=[0.03])[-1].q)
    curve = sorosim.continuation(robot, "u.motor", to="2 N*cm", begin="0 N*m", until=("-1 N*cm", "2 N*cm"))
    assert curve.complete
    assert_array_equal(curve.at("1 N*cm")[0].q, curve.at(0.01)[0].q)


def test_arrays_of_floats_go_straight_through(robot, monkeypatch):
    monkeypatch.setattr("sorosim.base.units.quantity.quantity", None)
    q = np.zeros(2)
    robot.forward_dynamics(q, q, u=np.zeros(1), t=0.0)
    assert kind_of((0, 0, 1, 0)) == "a time"
