"""What is prescribed has one set of forms: each public function takes all that have a meaning there, and names them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sorosim
from sorosim.base.errors import InputError, SorosimError
from sorosim.base.signals import as_signal
from sorosim.base.signals.expressions import parse
from sorosim.mechanics.engine.prescribed import AT_REST, Prescribed, merged
from sorosim.view.interactive.session import Session

# a motor of one joint, another joint that may be driven
DATA = {
    "sorosim": 1,
    "name": "pendulum",
    "links": {
        "arm": {
            "joint": {"revolute": {"axis": [0, 1, 0]}},
            "body": {"mass": "1 kg", "centre": [0, 0, "-20 cm"], "inertia": ["1 g*m^2"] * 3},
        },
        "slider": {
            "parent": "arm",
            "joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": "1 kN/m"}},
            "body": {"mass": "100 g", "inertia": ["1 kg*mm^2"] * 3},
        },
    },
    "actuators": {"motor": {"joint": {"link": "arm"}}},
    "simulate": {"u": {"motor": "2*1 N*cm"}},
}
X, N, DT = 0.02, 4, 0.01
COST, GOAL = {"final": {"q": 1.0}, "effort": 1e-3}, [0.1, X]

NUMBERS = {"a number": X, "arithmetic": "2*0.01", "a constant": as_signal(X), "no variable": parse("0.02", [])}
IN_TIME = {
    "text": "0.02*cos(0*t)", "an expression": parse("0.02*cos(0*t)", ["t"]), "a table": ([0.0, 9.0], [X, X]),
    "a mapping": {"times": [0.0, 9.0], "values": [X, X]}, "a signal": as_signal("0.02*cos(0*t)"),
}  # fmt: skip
FUNCTION = {"a function": lambda t: X}
ROW = {"a row": [X] * N, "texts in a row": ["2 N*cm"] * N}


@pytest.fixture(scope="module")
def robot():
    return sorosim.load(DATA)


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    file = tmp_path_factory.mktemp("forms") / "pull.csv"
    file.write_text("t,x\n0,0.02\n9,0.02\n", encoding="utf-8")
    return {"a CSV file": {"csv": str(file)}}


def stepper(robot, **options):
    sim = sorosim.Stepper(robot, DT, **options)
    sim.reset()
    return sim


def batch(robot, **options):
    both = sorosim.Batch(robot, 2, DT, **options)
    both.reset()
    return both


def optimal(robot, **options):
    return sorosim.optimal_control(robot, N * DT, DT, COST, goal=GOAL, iterations=1, **options)


def by_mass(robot):
    return sorosim.sensitivities(robot, ["links.arm.body.mass"])


STATE = np.array([0.3, X]), np.zeros(2)
TO_THE_SIDE = {"arm": [0.0, 0.0, -0.5]}
# function -> what it makes of `u`, and which forms beside numbers have a meaning: signals of t (the letter t), rows of
# inputs (r), both together only (b)
INPUTS = {
    "statics": (lambda r, u: sorosim.statics(r, u).q, ""),
    "steady": (lambda r, u: sorosim.steady(r, {"slider": 0.0}, u=u).q, ""),
    "follow": (lambda r, u: sorosim.follow(r, sorosim.statics(r, {}), u=u, steps=1)[-1].q, ""),
    "continuation": (lambda r, u: sorosim.continuation(r, "driven.slider", to=0.03, begin=X, u=u, max_points=2).q, ""),
    "inverse": (lambda r, u: sorosim.inverse(r, TO_THE_SIDE, free=["slider"], u=u, starts=0).q, ""),
    "forward_dynamics": (lambda r, u: r.forward_dynamics(*STATE, u=u, t=0.3), "t"),
    "forward_dynamics_derivatives": (lambda r, u: r.forward_dynamics_derivatives(*STATE, u=u, t=0.3).dqdd_dq, "t"),
    "forward_dynamics_jvp": (lambda r, u: r.forward_dynamics_jvp(*STATE, u=u, t=0.3).qdd, "t"),
    "forward_dynamics_vjp": (lambda r, u: r.forward_dynamics_vjp(*STATE, qdd_bar=[1.0, 0.0], u=u, t=0.3).qdd, "t"),
    "sensitivities": (lambda r, u: by_mass(r).forward_dynamics(*STATE, u=u, t=0.3), "t"),
    "internal_force": (lambda r, u: r.internal_force(*STATE, u=u), ""),
    "internal_force_derivatives": (lambda r, u: r.internal_force_derivatives(*STATE, u=u).dtau_dq, ""),
    "inputs": (lambda r, u: r.inputs(u), ""),
    "simulate": (lambda r, u: sorosim.simulate(r, 0.05, u=u).q, "t"),
    "controller": (lambda r, u: sorosim.simulate(r, 0.05, controller=lambda t, q, qd: u, dt_control=0.05).q, ""),
    "resume": (lambda r, u: sorosim.resume(sorosim.simulate(r, 0.02), 0.05, u=u).q, "t"),
    "Stepper.reset": (lambda r, u: sorosim.Stepper(r, DT).reset(u=u).u, ""),
    "Stepper.step": (lambda r, u: stepper(r).step(u).q, ""),
    "rollout": (lambda r, u: sorosim.rollout(r, u, DT).q[:2], "rb"),
    "Batch.step": (lambda r, u: batch(r).step(u)[0], ""),
    "Batch.rollout": (lambda r, u: batch(r).rollout(u).q[:, :2], "rb"),
    "optimal_control": (lambda r, u: optimal(r, u0=u).u, "tr"),
    "MPC": (lambda r, u: sorosim.MPC(r, N * DT, DT, COST, goal=GOAL, u0=u).step(*STATE), "tr"),
    "live": (lambda r, u: [*Session(r, u=u).state.controls.starts.values()], "t"),
}  # fmt: skip
DRIVEN = {
    "statics": (lambda r, d: sorosim.statics(r, driven=d).q, ""),
    "steady": (lambda r, d: sorosim.steady(r, {"slider": 0.0}, driven=d).q, ""),
    "follow": (lambda r, d: sorosim.follow(r, sorosim.statics(r, {}), driven=d, steps=1)[-1].q, ""),
    "assemble": (lambda r, d: sorosim.assemble(r, driven=d).q, ""),
    "continuation": (lambda r, d: sorosim.continuation(r, "u.motor", to=X, driven=d, max_points=2).q, ""),
    "inverse": (lambda r, d: sorosim.inverse(r, TO_THE_SIDE, driven=d, starts=0).q, ""),
    "simulate": (lambda r, d: sorosim.simulate(r, 0.05, driven=d).q, "t"),
    "Stepper": (lambda r, d: stepper(r, driven=d).step().q, "t"),
    "Stepper.step": (lambda r, d: stepper(r, driven={"slider": X}).step(driven=d).q, ""),
    "rollout": (lambda r, d: sorosim.rollout(r, np.zeros((N, 1)), DT, driven=d).q, "t"),
    "Batch": (lambda r, d: batch(r, driven=d).step()[0], "t"),
    "optimal_control": (lambda r, d: optimal(r, driven=d).u, "t"),
    "live": (lambda r, d: [*Session(r, driven=d).state.controls.starts.values()], "t"),
}  # fmt: skip


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_are_taken_in_all_forms_that_have_a_meaning(robot, csv, name):
    call, more = INPUTS[name]
    exact = call(robot, {"motor": X})
    for form, value in {**NUMBERS, "a text": "2 N*cm", "arithmetic with units": "2*1 N*cm"}.items():
        assert_array_equal(call(robot, {"motor": value}), exact, err_msg=form)
    if "r" not in more or "t" in more:  # how many rows there are is known
        for value in (X, "2 N*cm", [X], ["2 N*cm"], [as_signal(X)], np.array([X])):
            assert_array_equal(call(robot, value), exact, err_msg=str(value))
    for form, value in (IN_TIME | csv | FUNCTION).items():
        if "t" in more:
            for u in ({"motor": value}, *([[value], value] if form in ("a function", "a signal", "text") else ())):
                np.testing.assert_allclose(call(robot, u), exact, rtol=1e-12, err_msg=form)
        elif not ("Batch.rollout" in name and form == "a table"):  # of two axes a pair of lists is rows
            with pytest.raises(InputError) as caught:
                call(robot, {"motor": value})
            expected = "rows for one input at least" if "b" in more else "a number, or a text with a unit: at rest"
            assert caught.value.expected.startswith(expected)
            forms = "an expression of t", "a table", "a function", "signals of t only"
            assert any(one in caught.value.got for one in forms)
    for form, value in ROW.items():
        if "r" in more:
            assert_array_equal(call(robot, {"motor": value}), exact, err_msg=form)
            assert_array_equal(call(robot, [[one] for one in value]), exact, err_msg=form)
        else:
            with pytest.raises(InputError, match=r"motor: expected|u: expected an array"):
                call(robot, {"motor": value})


@pytest.mark.parametrize("name", DRIVEN)
def test_driven_coordinates_are_taken_in_all_forms_that_have_a_meaning(robot, csv, name):
    call, more = DRIVEN[name]
    exact = call(robot, {"slider": X})
    for form, value in {**NUMBERS, "arithmetic": "2*1 cm", "a text": "2 cm"}.items():
        for target in ("slider", "slider.prismatic"):
            assert_array_equal(call(robot, {target: value}), exact, err_msg=form)
    for form, value in (IN_TIME | csv).items():
        if more:
            np.testing.assert_allclose(call(robot, {"slider": value}), exact, rtol=1e-12, err_msg=form)
        else:
            with pytest.raises(InputError, match=r"^driven.slider: expected a number, or a text with a unit: at rest"):
                call(robot, {"slider": value})
    expected = "expressions or tables, whose derivatives are known" if more else "a number, or a text with a unit"
    with pytest.raises(InputError, match=f"^driven.slider: expected {expected}"):
        call(robot, {"slider": FUNCTION["a function"]})
    with pytest.raises(InputError, match=r"^driven: expected a mapping of names to values, got list"):
        call(robot, [X])


def test_signals_beside_rows_are_held_from_where_each_interval_begins():
    data = {**DATA, "actuators": {**DATA["actuators"], "push": {"joint": {"link": "slider"}}}, "simulate": {}}
    robot, push, law = sorosim.load(data), [0.0, 1.0, 2.0], "(2 N*cm)*sin(30*t)"
    t = 0.5 + DT * np.arange(3)
    u = np.column_stack([0.02 * np.sin(30.0 * t), push])
    exact = sorosim.rollout(robot, u, DT, t0=0.5)
    for form in (law, parse("0.02*sin(30*t)", ["t"]), lambda t: 0.02 * np.sin(30.0 * t)):
        found = sorosim.rollout(robot, {"push": push, "motor": form}, DT, t0=0.5)
        np.testing.assert_allclose(found.u, u, rtol=1e-14)
        np.testing.assert_allclose(found.q, exact.q, rtol=1e-10)
    both = sorosim.Batch(robot, 2, DT)
    both.reset(t=0.5, members=[0])
    both.reset(t=0.7, members=[1])
    own = both.rollout({"push": push, "motor": law}).u
    for i, begin in enumerate((0.5, 0.7)):
        np.testing.assert_allclose(own[i, :, 0], 0.02 * np.sin(30.0 * (begin + DT * np.arange(3))), rtol=1e-14)
    found = sorosim.optimal_control(robot, 3 * DT, DT, COST, goal=GOAL, u0={"motor": law, "push": "1 N"}, iterations=1)
    assert np.isfinite(found.cost)


def test_what_is_not_given_is_that_of_the_file_and_what_stays_is_completed_once():
    robot = sorosim.load("concentric_tubes")
    layout, held = robot.engine.layout, robot.engine.layout.held
    rest = Prescribed.of(robot, {}, {}, AT_REST)
    assert set(held) <= set(rest.values)
    turned = next(name for name in held if name.endswith("rotation"))
    begin = np.arange(float(robot.ndof))
    moving = Prescribed.of(robot, {}, {turned: "0.3*t"}, begin=begin)
    assert moving.values == {
        turned: 0.0, **{name: begin[layout.coordinate(name, "")] for name in held if name != turned}
    }  # fmt: skip
    assert not [name for name in moving.settable if name.endswith("insertion")]
    assert sorted(moving.driven) == sorted(held)
    assert set(moving.partition.driven) == {layout.coordinate(name, "") for name in held}
    assert merged(layout, {turned: 1.0}, {turned: 2.0}) == {turned: 2.0}


def test_steps_refuse_insertions_at_which_tubes_pass_each_other():
    robot = sorosim.load("concentric_tubes")
    name = next(one for one in robot.engine.layout.held if one.endswith("insertion"))
    for call in (
        lambda: sorosim.Stepper(robot, DT, driven={name: 10.0}),
        lambda: sorosim.simulate(robot, 0.01, driven={name: 10.0}),
        lambda: sorosim.statics(robot, driven={name: 10.0}),
    ):
        with pytest.raises(SorosimError, match="expected an insertion of more than 0 and at most its length"):
            call()


def test_one_coordinate_has_one_value_under_either_of_its_names(robot):
    start = sorosim.statics(robot, driven={"slider": 0.01})
    (end,) = sorosim.follow(robot, start, driven={"slider.prismatic": X}, steps=1)
    assert_array_equal(end.q, sorosim.follow(robot, start, driven={"slider": X}, steps=1)[-1].q)
    assert end.q[1] == X


def test_a_misspelt_unit_is_told_and_is_no_expression(robot):
    for u in ({"motor": "3 apples"}, "3 apples", {"motor": "3 N"}):
        with pytest.raises(InputError, match=r"^u.motor: expected a moment such as 5 N\*cm, got '3 "):
            sorosim.statics(robot, u)
    with pytest.raises(InputError, match=r"^u.motor: expected a number, or a text .*, got '.*', an expression of t"):
        sorosim.statics(robot, "(3 N*m)*t")
