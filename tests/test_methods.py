"""Methods of integration as values: texts, mappings and objects say the same, and each has its own options."""

import copy
import inspect
import pickle
import re
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.analysis.results.readings import SOLVE_FOR_MULTIPLIERS
from sorosim.base.declare import Integer
from sorosim.base.errors import FileError, InputError, ModelError
from sorosim.base.methods import (
    METHODS,
    MOTIONS,
    STEP_METHODS,
    STEPS,
    OdeMethod,
    StepMethod,
    kinds,
    method,
    method_class,
    option,
    options_by_name,
)
from sorosim.base.registry import INTEGRATORS
from sorosim.files import json_schema, load_text

SWING = """\
sorosim: 1
links:
  arm:
    joint: {revolute: {axis: [0, 1, 0]}}
    body: {mass: 1 kg, centre: [0, 0, -20 cm], inertia: [1 g*m^2, 1 g*m^2, 1 g*m^2]}
initial: {arm.revolute: 30 deg}
simulate:
  t_end: 50 ms
"""


def given(name, use):
    """An example of each option, as a file writes it."""
    return {one: key.example == "true" or key.example for one, key in method_class(name).options(use).items()}


GIVEN = {use: {name: given(name, use) for name in names} for use, names in ((MOTIONS, METHODS), (STEPS, STEP_METHODS))}
CASES = [(use, name) for use in GIVEN for name in GIVEN[use]]


@pytest.fixture(scope="module")
def robot():
    return load_text(SWING, "swing.yaml")


@pytest.mark.parametrize(("use", "name"), CASES)
def test_a_method_reads_as_code_and_equals_what_it_reads_as(use, name):
    one = method_class(name)(**GIVEN[use][name])
    assert eval(repr(one), vars(sorosim) | {type(one).__name__: type(one)}) == one
    for same in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert same == one
        assert hash(same) == hash(one)
    assert one != method_class(name)()


def test_methods_with_the_same_options_are_different_methods():
    assert sorosim.BDF(rtol=1e-6) != sorosim.CVODE(rtol=1e-6)
    assert sorosim.BDF(rtol="1e-6", max_step="1 ms") == sorosim.BDF(rtol=1e-6, max_step=1e-3)


@pytest.mark.parametrize("name", METHODS)
def test_an_object_a_mapping_and_a_text_move_a_robot_alike(robot, name):
    options = {key: value for key, value in GIVEN[MOTIONS][name].items() if key != "jacobian"}
    by_text = sorosim.simulate(robot, method=name, **options)
    for said in (method_class(name)(**options), {name: options}):
        run = sorosim.simulate(robot, method=said)
        assert_array_equal(run.q, by_text.q)
        assert run.options == by_text.options
    assert {one: getattr(by_text.method, one) for one in options} == method_class(name)(**options).given()
    with_file = load_text(SWING + f"  method: {{{name}: {{rtol: 1e-4}}}}\n", "swing.yaml")
    assert with_file.description.simulate == {"t_end": 0.05, "method": name, "rtol": 1e-4}
    assert_array_equal(sorosim.simulate(with_file).q, sorosim.simulate(robot, method=name, rtol=1e-4).q)


@pytest.mark.parametrize("name", STEP_METHODS)
def test_an_object_and_a_text_step_alike(robot, name):
    options, u = GIVEN[STEPS][name], np.zeros((3, 0))
    chosen = method_class(name)(**options)
    by_text = sorosim.rollout(robot, u, "10 ms", method=name, **options)
    assert_array_equal(sorosim.rollout(robot, u, "10 ms", method=chosen).q, by_text.q)
    for moved in (sorosim.Stepper(robot, 0.01, method=chosen), sorosim.Batch(robot, 2, 0.01, method=chosen)):
        moved.reset()
        for _ in range(3):
            moved.step()
        state = moved.state.q if isinstance(moved, sorosim.Stepper) else moved.q[1]
        assert_array_equal(state, by_text.q[-1])
    kept = pickle.loads(pickle.dumps(sorosim.Stepper(robot, 0.01, method=chosen)))
    kept.reset()
    assert_array_equal(kept.step().q, by_text.q[1])


def test_options_that_a_method_leaves_open_are_those_of_the_file():
    robot = load_text(SWING + "  atol: 1e-9\n", "swing.yaml")
    run = sorosim.simulate(robot, method=sorosim.Radau(rtol=1e-6))
    assert run.method == sorosim.Radau(rtol=1e-6, atol=1e-9, max_step=np.inf, closing_time=0.01, jacobian="analytic")


def test_a_result_keeps_its_method(robot, tmp_path):
    run = sorosim.simulate(robot, method=sorosim.GeneralizedAlpha(step="1 ms"), out=tmp_path / "run.h5")
    opened = sorosim.open(tmp_path / "run.h5")
    assert opened.method == run.method
    assert (run.method.step, run.method.spectral_radius) == (1e-3, 0.8)
    assert sorosim.resume(opened, "0.1 s").method == run.method
    steps = sorosim.rollout(robot, np.zeros((2, 0)), 0.01, method=sorosim.Euler())
    assert steps.run.method is None


def test_the_schema_of_files_has_the_options_of_each_method():
    schema = jsonschema.Draft202012Validator(json_schema())

    def fits(method):
        links = {"arm": {"joint": {"revolute": {"axis": [0, 1, 0]}}, "body": {"mass": 1, "inertia": [1, 1, 1]}}}
        return schema.is_valid({"sorosim": 1, "links": links, "simulate": {"method": method}})

    for name in METHODS:
        assert fits(name)
        assert fits({name: GIVEN[MOTIONS][name]})
        assert not fits({name: {"substeps": 2}})
    assert not fits({"euler": {}})
    assert not fits({"bdf": {}, "radau": {}})


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": sorosim.BDF(rtol=1e-6), "rtol": 1e-4},
         "rtol: expected it once, in the method, where it is 1e-06, got 0.0001 too"),
        ({"method": sorosim.Euler()}, "method: expected bdf, .* or ida, got Euler()"),
        ({"method": sorosim.Newmark(substeps=2)},
         "method.substeps: expected an option of newmark for simulate: rtol, atol"),
        ({"method": sorosim.BDF}, "method: expected a method, got the class BDF; BDF() is one"),
        ({"method": sorosim.OdeMethod()}, "method: expected bdf, .* or ida, got OdeMethod()"),
        ({"method": type("Mine", (sorosim.BDF,), {})()}, "method: expected 'bdf' as it is known, got Mine(); class .*"),
        ({"method": "bdff"}, "method: expected bdf, radau, .*, got 'bdff'; did you mean bdf?"),
        ({"method": 3}, "method: expected bdf, radau, .*, got 3"),
        ({"method": {}}, "method: expected one method, {name: {options}}, got an empty mapping"),
        ({"method": {"bdf": {"step": 1}}}, "method.bdf.step: expected a known key, got 'step'"),
        ({"method": {"bdf": None}}, "method.bdf: expected a value, got nothing"),
        ({"rtoll": 1e-4}, "rtoll: expected a known argument, got an unknown one; did you mean rtol"),
        ({"step": 1e-3}, "step: expected an option of method radau (.*), got one of newmark and generalized-alpha"),
        ({"method": "bdf", "substeps": 2}, "substeps: expected a known argument, got an unknown one"),
    ],
)  # fmt: skip
def test_what_a_motion_does_not_have_is_refused(robot, arguments, message):
    with pytest.raises(InputError, match="^" + re.sub(r"[{?()]", r"\\\g<0>", message)):
        sorosim.simulate(robot, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "newmark", "spectral_radius": 0.5},
         r"spectral_radius: expected an option of method newmark \(substeps"),
        ({"method": sorosim.BDF()}, "method: expected newmark, generalized-alpha or euler, got BDF\\(\\)"),
        ({"method": sorosim.GeneralizedAlpha(rtol=1e-6)},
         "method.rtol: expected an option of generalized-alpha for steps"),
        ({"substepz": 2}, "substepz: expected a known argument, got an unknown one; did you mean substeps"),
        ({"substeps": 0}, "substeps: expected a whole number from 1"),
    ],
)  # fmt: skip
def test_what_steps_do_not_have_is_refused(robot, arguments, message):
    for made in (lambda: sorosim.Stepper(robot, 0.01, **arguments),
                 lambda: sorosim.Batch(robot, 2, 0.01, **arguments),
                 lambda: sorosim.rollout(robot, np.zeros((1, 0)), 0.01, **arguments)):  # fmt: skip
        with pytest.raises(InputError, match=f"^{message}"):
            made()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("  method: {generalized-alpha: {step: 1 ms}}\n  step: 2 ms\n", "simulate.step: expected it once, in the"),
        ("  method: {bdf: {spectral_radius: 0.5}}\n", "simulate.method.bdf.spectral_radius: expected a known key"),
        ("  method: {newmark: {substeps: 2}}\n", "simulate.method.newmark.substeps: expected an option of newmark"),
        ("  method: {euler: {}}\n", "simulate.method.euler: expected bdf, radau"),
        ("  method: {bdf: {rtol: 1 m}}\n", "simulate.method.bdf.rtol: expected a number"),
        ("  method: {bdf: {}, radau: {}}\n", "simulate.method: expected one method, {name: {options}}, got both"),
    ],
)  # fmt: skip
def test_mistakes_of_methods_in_files_have_their_place(lines, message):
    with pytest.raises(FileError) as caught:
        load_text(SWING + lines, "swing.yaml")
    assert f": {message}" in str(caught.value)
    assert str(caught.value).startswith(("swing.yaml:9:", "swing.yaml:10:"))


def test_a_sweep_refuses_options_that_its_method_does_not_have_at_their_place(tmp_path):
    (tmp_path / "swing.yaml").write_text(SWING)
    file = tmp_path / "sweep.yaml"
    text = "sorosim_sweep: 1\nrobot: swing.yaml\npoints: {grid: {initial.arm.revolute: [0, 10 deg]}}\n"
    file.write_text(text + "task:\n  simulate:\n    step: 1 ms\n")
    with pytest.raises(FileError, match=r"sweep.yaml:6:11: task.simulate.step: expected an option of method radau \("):
        sorosim.sweep(file)
    file.write_text(text + "task:\n  simulate:\n    method: {generalized-alpha: {step: 1 ms}}\n")
    assert sorosim.sweep(file).failed == {}


def test_an_option_with_its_default_asks_for_nothing(robot):
    run = sorosim.simulate(robot, method="bdf", projection=False, spectral_radius=0.8)
    assert_array_equal(run.q, sorosim.simulate(robot, method="bdf").q)


def test_simulate_has_a_dozen_arguments_of_its_own():
    own = inspect.signature(sorosim.simulate).parameters.values()
    assert sum(one.kind is not one.VAR_KEYWORD for one in own) == 12


# -- what is known of methods ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8, 1.0])
def test_the_spectral_radius_is_that_of_the_steps_at_infinite_frequency(rho):
    methods = {0.0: [sorosim.Euler()], 1.0: [sorosim.Newmark()]}.get(rho, [])
    for chosen in [*methods, sorosim.GeneralizedAlpha(spectral_radius=rho)]:
        _, alpha_f, beta, gamma, beta_old = chosen.coefficients
        # qdd = -z q in steps of 1, z -> infinity, of x = (q, qd, a): what is left of the balance is
        # (1 - alpha_f) q' + alpha_f q = 0,
        # in which q' = q + qd + beta_old a + beta a', qd' = qd + (1 - gamma) a + gamma a'
        q_of = np.array([-alpha_f / (1.0 - alpha_f), 0.0, 0.0])
        a_of = (q_of - [1.0, 1.0, beta_old]) / beta
        step = np.array([q_of, np.array([0.0, 1.0, 1.0 - gamma]) + gamma * a_of, a_of])
        # multiple eigenvalues of defective matrices are as exact as a root of the rounding, here a third
        assert_allclose(np.abs(np.linalg.eigvals(step)).max(), rho, atol=1e-4)


def test_methods_are_of_second_order_but_for_eulers():
    for chosen in (sorosim.Newmark(), *(sorosim.GeneralizedAlpha(spectral_radius=rho) for rho in (0.0, 0.5, 0.8, 1.0))):
        alpha_m, alpha_f, beta, gamma, beta_old = chosen.coefficients
        assert gamma == pytest.approx(0.5 + alpha_f - alpha_m)  # Chung and Hulbert, 1993, eq. (17)
        assert beta + beta_old == pytest.approx(0.5)


@pytest.mark.parametrize(("use", "names"), [(MOTIONS, METHODS), (STEPS, STEP_METHODS)])
def test_options_of_one_name_are_of_one_type(use, names):
    for name, key in options_by_name(use).items():
        own = [method_class(one).options(use) for one in names]
        assert {one[name].type for one in own if name in one} == {key.type}


def test_loops_are_closed_by_a_time_where_multipliers_are_no_unknowns():
    closing = {name for name in METHODS if "closing_time" in method_class(name).options(MOTIONS)}
    assert closing == {name for name in METHODS if name not in SOLVE_FOR_MULTIPLIERS} == set(kinds(OdeMethod))


def test_a_method_of_steps_has_relations_of_its_own():
    for name in kinds(StepMethod):
        assert len(method_class(name)().coefficients) == 5
    with pytest.raises(NotImplementedError):
        _ = StepMethod().coefficients


# -- methods of others -------------------------------------------------------------------------------------------------


@pytest.fixture
def twice(monkeypatch):
    """A method of a program, with an option of its own."""
    monkeypatch.setattr(INTEGRATORS, "_built_in", dict(INTEGRATORS.declared()))

    @method
    class Twice(OdeMethod, kind="twice"):
        """bdf, with tolerances that are smaller by a factor."""

        finer: int | None = option(Integer(1, 1000), "How many times smaller the tolerances are.", "10", 1)

        def integrate(self, problem):
            rtol, atol = problem.rtol / self.finer, problem.atol / self.finer
            return sorosim.BDF().integrate(replace(problem, rtol=rtol, atol=atol))

    return Twice


def test_a_class_with_an_option_of_its_own_is_a_method_of_files_and_functions(robot, twice, tmp_path):
    finer = sorosim.simulate(robot, method="bdf", rtol=1e-6, atol=1e-9)
    rough = {"rtol": 1e-5, "atol": 1e-8}
    for said in (
        {"method": twice(finer=10)},
        {"method": "twice", "finer": 10},
        {"method": {"twice": {"finer": "10"}}},
    ):
        run = sorosim.simulate(robot, out=tmp_path / "run.h5", **said, **rough)
        assert_allclose(run.q, finer.q, rtol=0.0, atol=1e-14)  # tolerances are the same up to rounding
        assert run.method.finer == sorosim.open(tmp_path / "run.h5").method.finer == 10
    assert sorosim.resume(run, "0.1 s").method.finer == 10
    assert sorosim.simulate(robot, method="twice", **rough).method.finer == 1
    by_file = load_text(SWING + "  method: {twice: {finer: 10}}\n  rtol: 1e-5\n  atol: 1e-8\n", "swing.yaml")
    assert_array_equal(sorosim.simulate(by_file).q, run.q)
    with pytest.raises(ModelError, match=r"twice.finer: expected a whole number from 1 to 1000, got 0"):
        twice(finer=0)
    with pytest.raises(InputError, match=r"^finer: expected a known argument, got an unknown one"):
        sorosim.simulate(robot, method="bdf", finer=10)
    assert "finer : int\n    How many times smaller the tolerances are. Default: 1." in twice.__doc__


def test_a_function_has_the_options_that_all_have(robot, monkeypatch):
    monkeypatch.setattr(INTEGRATORS, "_registered", {})
    steps = []

    def mine(problem):
        steps.append(problem.max_step)
        return sorosim.BDF().integrate(problem)

    sorosim.base.registry.register_integrator("mine", mine)
    for said in ({"method": "mine", "max_step": "2 ms"}, {"method": {"mine": {"max_step": "2 ms"}}}):
        run = sorosim.simulate(robot, **said)
        assert steps.pop() == 2e-3
    assert pickle.loads(pickle.dumps(run.method)) == run.method


def test_an_option_may_not_take_the_name_of_an_argument(robot, monkeypatch):
    monkeypatch.setattr(INTEGRATORS, "_built_in", dict(INTEGRATORS.declared()))

    @method
    class Verified(OdeMethod, kind="verified"):
        """A method with an option whose name is that of an argument of simulate."""

        verify: int | None = option(Integer(1, 2), "How often.", "1", 1)

    with pytest.raises(
        InputError, match=r"^method: expected options of verified that no argument is named as, got verify"
    ):
        sorosim.simulate(robot, method=Verified(verify=2))
