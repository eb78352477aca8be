"""Motions as cases of a design: derivatives against motions that are computed anew, known optima, files, mistakes."""

import functools
import json

import numpy as np
import pytest

import sorosim
from sorosim.mechanics.quantities import Summary
from sorosim.studies.design.motion import AGAIN
from sorosim.studies.design.problem import Problem
from sorosim.studies.design.task import read_design

ARM = {
    "sorosim": 1,
    "gravity": [0, 0, -9.81],
    "parameters": {"pull": 4.0, "start": 0.1},
    "materials": {"silicone": {"young": 2e6, "poisson": 0.5, "density": 1070, "damping": 1e4}},
    "links": {
        "base": {
            "joint": {"revolute": {"axis": [0, 1, 0], "damping": 1e-3}},
            "body": {"box": {"size": [0.1, 0.02, 0.02]}, "density": 500, "at": {"position": [0.05, 0, 0]}},
            "frames": {"end": {"position": [0.1, 0, 0]}},
        },
        "finger": {
            "parent": "base", "at": {"frame": "end"},
            "rod": {"length": 0.08, "section": {"circle": {"radius": 6e-3}}, "material": "silicone",
                    "strain": {"bending": 2, "elongation": 0}},
        },
    },
    "actuators": {
        "tendon": {"tendon": {"rod": "finger", "y": 0, "z": "4 mm"}},
        "motor": {"servo": {"link": "base", "stiffness": 0.5, "damping": 0.02}},
    },
    "sensors": {"bend": {"bending": {"link": "finger"}}, "foot": {"section_wrench": {"link": "finger"}}},
    "initial": {"base.revolute": "$start"},
    "simulate": {"t_end": 0.3, "u": {"tendon": "$pull*smoothstep(t/0.1)", "motor": 0.3}},
}  # fmt: skip
TUBES = {
    "sorosim": 1,
    "gravity": [0, 0, -9.81],
    "materials": {"nitinol": {"young": 5e10, "poisson": 0.3, "density": 6450, "damping": 1e7}},
    "links": {
        "robot": {
            "tubes": {
                "outer": {"length": 0.2, "insertion": 0.12, "radius": 1.2e-3, "inner_radius": 1e-3,
                          "material": "nitinol", "curves": [{"length": 0.08, "bending_y": 6}]},
                "inner": {"length": 0.3, "insertion": 0.18, "radius": 9e-4, "inner_radius": 7e-4,
                          "material": "nitinol", "curves": [{"length": 0.13, "bending_y": 12}]},
            }
        }
    },
}  # fmt: skip
RADIUS, YOUNG, LENGTH = "links.finger.rod.section.circle.radius", "materials.silicone.young", "links.finger.rod.length"
MOTOR = {**ARM, "actuators": {**ARM["actuators"], "motor": {"joint": {"link": "base"}}}}
HELD = {
    **MOTOR,
    "links": {**MOTOR["links"], "pad": {"joint": {"planar": {"axis": [0, 1, 0]}}, "at": {"position": [0.18, 0, 0]},
                                        "body": {"sphere": {"radius": 5e-3}, "density": 1000}}},
    "loops": {"hold": {"from": "finger", "to": "pad", "joint": "fixed"}},
    "initial": {},
}  # fmt: skip
FLOOR = {
    **ARM,
    "loads": {"floor": {"contact": {"between": "finger", "and": {"half_space": {}, "at": {"position": [0, 0, -0.03]}},
                                    "stiffness": 2e3}}},
}  # fmt: skip
RELAXING = {**ARM, "materials": {"silicone": {**ARM["materials"]["silicone"],
                                              "relaxation": {"terms": [{"share": 0.3, "time": 0.05}]}}}}  # fmt: skip
SIMULATE = {"simulate": {"dt": "5 ms"}}


def feedback(t, q, qd, *, kp=0.6, kd=0.01, goal=0.3):
    return {"motor": -kp * np.sin(q[0] - goal) - kd * qd[0] + 0.02 * np.cos(q[0])}


DEFINE = {
    "off": {"distance": "finger", "to": ["15 cm - 1 cm*t", 0, "-3 cm*sin(3*t)"]}, "miss": {"rms": "off"},
    "end": {"last": "finger(0.5).x", "until": "0.2 s"}, "low": {"min": "finger.z"}, "bent": {"rms": "bend.angle"},
    "effort": {"rms": "u.motor", "after": 0.05}, "work": {"last": "energy.work"}, "shear": {"range": "foot.m_y"},
    "angle": {"mean": "base.revolute"}, "speed": {"rate": "finger.x"}, "price": {"sum": {"mass": 10, "miss": 1}},
}  # fmt: skip
# robot, case, free, by how much derivatives may be off
CASES = {
    "file": (
        ARM, SIMULATE,
        [RADIUS, LENGTH, YOUNG, "actuators.motor.servo.stiffness", "u.motor", "parameters.pull", "parameters.start"],
        1e-6,
    ),
    "controller": (
        MOTOR, {**SIMULATE, "u": {"tendon": 2.0}, "controller": feedback},
        [RADIUS, LENGTH, "u.tendon", "gain.kp", "gain.kd", "gain.goal"], 1e-6,
    ),
    "loop": (
        HELD, {**SIMULATE, "u": {"tendon": 2.0}, "controller": feedback, "q0": "equilibrium"},
        [RADIUS, "u.tendon", "gain.kp", "gain.kd"], 1e-6,
    ),
    # where it first touches the derivative jumps, which differences over 2 parts in a thousand see
    "contact": (FLOOR, SIMULATE, [RADIUS, YOUNG, "u.motor"], 1e-2),
    "relaxing": (RELAXING, SIMULATE, [RADIUS, YOUNG, "u.motor"], 1e-6),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_motions_computed_anew(name):
    file, operation, free, tolerance = CASES[name]
    problem = Problem.of({"robot": sorosim.load(file), **operation}, free, None, DEFINE)
    trial = problem.first
    for i, one in enumerate(problem.free):
        h = 1e-3 * one.unknown.scale
        trials = [problem.trial(trial.p + k * h * np.eye(len(trial.p))[i]) for k in (-2, -1, 1, 2)]
        for quantity in [own for own in DEFINE if own != "off"] + ["mass"]:
            function = problem.function(quantity, "test")
            a, b, c, d = (function.value(near) for near in trials)
            by_differences, slope = (8.0 * (c - b) - (d - a)) / (12.0 * h), function.slope(trial)[i]
            size = max(abs(slope), 1e-2 * abs(function.value(trial)) / one.unknown.scale)
            assert abs(slope - by_differences) <= tolerance * size, (quantity, one.name, slope, by_differences)


def differences_of_motions(parts, steps):
    """By how much derivatives by differences of motions may be off, as parts of a quantity over its number.

    Each step of a motion is solved to 1e-11; the factors of the differences have the sum 3/2 of one over the change.
    """
    return 1.5e-11 * steps * sum(1.0 / part for part in parts)


def slopes_of(problem, quantities):
    """Values and derivatives of quantities where they are asked for first."""
    functions = [problem.function(name, "test") for name in quantities]
    return [(one.value(problem.first), one.slope(problem.first)) for one in functions]


@pytest.mark.parametrize("name", ["file", "loop"])
def test_differences_of_whole_motions_are_exact_derivatives(name):
    """Where there are exact ones, numbers are taken as if there were none."""
    file, operation, free, _ = CASES[name]
    quantities = [own for own in DEFINE if own != "off"]
    exact, whole = (Problem.of({"robot": sorosim.load(file), **operation}, free, None, DEFINE) for _ in range(2))
    vars(whole)["by_differences"] = (frozenset(one.name for _, one in whole.columns[0]),)
    allowed = differences_of_motions([AGAIN], 60)
    for quantity, (x, a), (_, b) in zip(
        quantities, slopes_of(exact, quantities), slopes_of(whole, quantities), strict=True
    ):
        scales = np.array([one.unknown.scale for one in exact.free])
        assert (np.abs(a - b) * scales <= allowed * np.maximum(abs(x), np.abs(a) * scales)).all(), (quantity, a, b)


class Drag(sorosim.LoadLaw):
    """F = -c |v| v on the tip."""

    link, s = "finger", 1.0

    def wrench(self, t, g, eta):
        v = eta[:, 3:]
        return 0.0, -0.5 * np.linalg.norm(v, axis=1, keepdims=True) * v


def pressed():
    """An arm whose ball is on the floor all the time."""
    nail = {"parent": "finger", "body": {"sphere": {"radius": 1e-2}, "density": 1000}}
    floor = {"between": "nail", "and": {"half_space": {}, "at": {"position": [0, 0, -0.01]}}, "stiffness": 2e3}
    file = {**ARM, "links": {**ARM["links"], "nail": nail}, "loads": {"floor": {"contact": floor}}, "initial": {},
            "simulate": {"t_end": 0.1, "u": {"tendon": "5*t", "motor": "0.1 + 2*t"}}}  # fmt: skip
    return {"robot": sorosim.load(file), **SIMULATE, "q0": "equilibrium"}, ["links.nail.body.sphere.radius"], "nail", 20


def pushed_in_python():
    file = {key: x for key, x in MOTOR.items() if key != "simulate"}
    case = {"robot": sorosim.load(file).with_loads(air=Drag()), "simulate": {"t_end": 0.04, "dt": "5 ms"}}
    return {**case, "u": {"tendon": 2.0}, "controller": feedback}, ["u.tendon", "gain.kp"], "finger", 8


def turned_tubes():
    driven = {"robot.inner.rotation": "60*t", "robot.inner.insertion": 0.01, "robot.outer.rotation": 0,
              "robot.outer.insertion": 0}  # fmt: skip
    case = {"robot": sorosim.load(TUBES), "simulate": {"t_end": 0.01, "dt": "1 ms"}, "driven": driven}
    return case, ["links.robot.tubes.inner.curves[0].bending_y", "materials.nitinol.young"], "robot", 10


@pytest.mark.parametrize("case", [pressed, pushed_in_python, turned_tubes])
def test_differences_of_whole_motions_are_those_of_other_steps(case):
    """Motions that have no exact derivatives, by numbers that are changed by a third as much, and by twice as much."""
    own, free, link, steps = case()
    define = {"end": {"last": f"{link}.z"}, "mean": {"rms": f"{link}.x"}}
    problem = Problem.of(own, free, None, define)
    assert len(problem.by_differences[0]) == len(free)
    for quantity, (x, slope) in zip(define, slopes_of(problem, define), strict=True):
        function = problem.function(quantity, "test")
        for i, one in enumerate(problem.free):
            for part in (3e-4, 2e-3):
                h = part * one.unknown.scale
                trials = [problem.trial(problem.first.p + k * h * np.eye(len(free))[i]) for k in (-2, -1, 1, 2)]
                a, b, c, d = (function.value(near) for near in trials)
                off = abs((8.0 * (c - b) - (d - a)) / (12.0 * h) - slope[i]) * one.unknown.scale
                size = max(abs(x), abs(slope[i]) * one.unknown.scale)
                assert off <= differences_of_motions([AGAIN, part], steps) * size, (quantity, one.name, off / size)


def test_a_motion_is_that_of_a_stepper_under_the_controller():
    robot = sorosim.load(MOTOR)
    found = Problem.of({"robot": robot, **CASES["controller"][1]}, ["gain.kp"], None, {}).first.states[0]
    stepper = sorosim.Stepper(robot, "5 ms", tolerance=1e-11)
    state = stepper.reset()
    for k in range(len(found.u)):
        np.testing.assert_array_equal(found.q[k], state.q)
        u = {"tendon": 2.0, **feedback(state.t, state.q, state.qd)}
        state = stepper.step(u)
        assert found.u[k, 1] == u["motor"]
    np.testing.assert_array_equal(found.q[-1], state.q)


def test_slopes_of_summaries_are_those_of_their_values():
    rng = np.random.default_rng(0)
    t, x = np.sort(np.append(0.0, rng.random(29))), rng.standard_normal(30)
    for how in ("last", "min", "max", "mean", "rms", "range", "amplitude", "rate"):
        for window in (
            {},
            {"after": 0.3},
            {"until": 0.7},
            {"after": t[5], "until": t[20]},
            {"after": 0.31, "until": 0.32},
        ):
            one = Summary(**{how: "x"}, **window)
            by_differences = [(one.number(t, x + h) - one.number(t, x - h)) / 2e-6 for h in 1e-6 * np.eye(30)]
            np.testing.assert_allclose(one.slope(t, x), by_differences, atol=1e-8 * 30)
    last = Summary(last="x", until=0.4)
    assert last.number(t, x) == pytest.approx(np.interp(0.4, t, x))


SLIDER = {
    "sorosim": 1,
    "gravity": [0, 0, 0],
    "links": {"mass": {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": {"mass": 2.0, "inertia": [1, 1, 1]}}},
    "actuators": {"motor": {"joint": {"link": "mass"}}},
}  # fmt: skip


def push(t, q, qd, *, kp=8.0, kd=1.0):
    return -kp * (q - 1.0) - kd * qd


def test_a_controller_of_a_mass_is_as_damped_as_known():
    """The integral of the squared error of m x'' + d x' + k x = 0 after a step is least at d = sqrt(m k)."""
    found = sorosim.design(
        {"robot": sorosim.load(SLIDER), "simulate": {"t_end": "6 s", "dt": "10 ms"}, "controller": push},
        {"damping": "gain.kd"}, "error", bounds={"damping": (0.5, 20)},
        define={"off": {"distance": "mass", "to": [1, 0, 0]}, "error": {"rms": "off"}},
    )  # fmt: skip
    # a sampled rate is half a step late, which k dt / 2 of damping makes good
    assert found.values["damping"] == pytest.approx(np.sqrt(2.0 * 8.0) + 8.0 * 0.005, abs=0.01)
    # the integral is sqrt(m / k), half a second; half a step of it is 1 percent, 0.5 of the root
    assert found.objective == pytest.approx(np.sqrt(np.sqrt(2.0 / 8.0) / 6.0), rel=5e-3)
    assert found.converged
    control = found.controllers[""]
    assert isinstance(control, functools.partial)
    run = sorosim.simulate(found.robot, 1.0, controller=control, dt_control=0.01)
    assert run.q[-1, 0] == pytest.approx(found.runs[""].q[100, 0], abs=1e-4)
    with pytest.raises(sorosim.InputError, match="cases without controllers"):
        found.save("design.h5")


TASK = """sorosim_design: 1
cases:
  swing:
    robot: arm.yaml
    simulate: {t_end: 0.2 s, dt: 10 ms}
    u: {tendon: 2 N*smoothstep(t/0.1), motor: 0.3}
  hang: {robot: arm.yaml}
free:
  radius: links.finger.rod.section.circle.radius
  stiffness: actuators.motor.servo.stiffness
bounds: {radius: [5 mm, 7 mm], stiffness: [0.2 N*m/rad, 1 N*m/rad]}
define:
  off: {distance: finger, to: [15 cm, 0, -4 cm*sin(3*t)]}
  miss: {rms: off, after: 50 ms}
  late: {last: base.revolute, until: 0.15 s}
minimise: swing.miss
subject_to: {swing.late: [null, 20 deg], hang.mass: [null, 40 g]}
max_evaluations: 40
"""


def test_files_have_motions_and_results_are_opened(call, tmp_path):
    robot = sorosim.load({key: x for key, x in ARM.items() if key not in ("simulate", "initial", "parameters")})
    (tmp_path / "arm.yaml").write_text(robot.to_yaml(), encoding="utf-8")
    (tmp_path / "task.yaml").write_text(TASK, encoding="utf-8")
    out = tmp_path / "best.h5"
    code, printed, said = call("design", str(tmp_path / "task.yaml"), "--out", str(out), "--json")
    assert code == 0, said
    values = json.loads(printed)["values"]
    task = read_design(tmp_path / "task.yaml")
    best = task.solve(task.cases())
    assert values == pytest.approx(best.values)
    assert set(best.runs) == {"swing"}
    assert set(best.equilibria) == {"hang"}
    opened = sorosim.open(out)
    assert opened.objective == pytest.approx(best.objective, rel=1e-9)
    assert opened.constraints == pytest.approx(best.constraints)
    assert opened.active == best.active
    np.testing.assert_allclose(opened.runs["swing"].q, best.runs["swing"].q, atol=1e-9)


@pytest.mark.parametrize(
    ("case", "changed", "message"),
    [
        ({}, {"minimise": "finger.z"}, "in m over time; bring it down to one in define, as in {last: finger.z}"),
        ({}, {"minimise": "off"}, "bring it down to one in define, as in {rms: off}"),
        ({}, {"minimise": "frequency[1]"}, "expected a quantity of a motion, got 'frequency[1]'"),
        ({}, {"define": {"miss": {"rms": "ofs"}}}, "a quantity of a motion, got 'ofs'"),
        ({}, {"define": {"miss": {"rms": "off", "max": "off"}}}, "definition.*miss|miss.*expected one of"),
        ({}, {"define": {"miss": {"last": "finger.z", "until": "1 s"}}}, r"define\.miss\.until: expected a time up"),
        ({"q0": "equilibrum"}, {}, r"cases\.q0: expected one of equilibrium"),
        ({"qd0": {"bse": 1}}, {}, r"cases\.qd0: expected the name of a link"),
        ({"simulate": {"dt": "7 ms"}}, {}, "simulate.dt: expected a whole part of t_end"),
        ({"simulate": {"dt": "5 ms", "metod": "euler"}}, {}, "did you mean method"),
        ({"simulate": 3}, {}, "simulate: expected a mapping"),
        ({"u": {"motor": "t"}}, {"free": ["u.motor"]}, "one number over the motion"),
        ({"controller": 3}, {}, "controller: expected a function"),
        ({"controller": lambda t, y: 0.0}, {}, "one that takes other arguments"),
        ({"controller": feedback}, {"free": ["gain.ki"]}, "gain.ki"),
        ({"controller": feedback}, {"free": ["u.motor"]}, "the controller does not set"),
        ({"driven": {"base": 0.1}, "u": {}}, {"free": ["driven.base"]}, "no derivatives by driven coordinates"),
        ({"simulate": None, "controller": feedback}, {}, "controller: expected a motion"),
    ],
)  # fmt: skip
def test_mistakes_are_one_error_each(case, changed, message):
    robot = sorosim.load({key: x for key, x in ARM.items() if key != "initial"} | {"parameters": {"pull": 4.0}})
    define = {"off": {"distance": "finger", "to": [0.1, 0, 0]}, "miss": {"rms": "off"}}
    arguments = {"free": [RADIUS], "minimise": "miss", "define": define, **changed}
    with pytest.raises(sorosim.InputError, match=message.replace("[1]", r"\[1\]").replace("{", r"\{")):
        sorosim.design({"robot": robot, **SIMULATE, **case}, **arguments)


@pytest.mark.parametrize("word", ["list", "assembled", "initial"])
def test_starts_of_a_file_follow_its_parameters(word):
    start = {"list": {"q0": ["$start", *(7 * [0])]}, "assembled": {"q0": "assembled"}, "initial": {}}[word]
    file = {**ARM, "simulate": {"t_end": 0.1, **start}}
    problem = Problem.of({"robot": sorosim.load(file), **SIMULATE}, ["parameters.start"], None,
                         {"end": {"last": "finger.z"}})  # fmt: skip
    function, trial = problem.function("end", "test"), problem.first
    h, steps = 1e-3, 20
    a, b, c, d = (function.value(problem.trial(trial.p + k * h)) for k in (-2, -1, 1, 2))
    slope = function.slope(trial)[0]
    # each of the steps is solved to 1e-11 [m]; the factors of the differences have the sum 3/2
    assert slope == pytest.approx((8.0 * (c - b) - (d - a)) / (12.0 * h), abs=1.5e-11 * steps / h)
    assert abs(slope) > 1e-3


OFF = {"off": {"distance": "mass", "to": [1, 0, 0]}, "error": {"rms": "off"}}


def pushed(controller, free, **options):
    case = {"robot": sorosim.load(SLIDER), "simulate": {"t_end": "0.2 s", "dt": "10 ms"}, "controller": controller}
    return Problem.of(case, free, None, OFF), case


def test_controllers_have_their_own_arguments_and_change_no_motion():
    """Whole numbers stay such where they are not free; what a controller does to its arguments moves nothing."""

    def rough(t, q, qd, *, kp=8.0, axis=0):
        q -= 1.0
        return -kp * q[axis] - qd

    problem, _ = pushed(rough, ["gain.kp"])
    moving, function = problem.first.states[0], problem.function("error", "test")
    before = moving.q.copy()
    slope = function.slope(problem.first)[0]
    np.testing.assert_array_equal(moving.q, before)
    other, _ = pushed(push, ["gain.kp"])
    np.testing.assert_array_equal(moving.q, other.first.states[0].q)
    assert slope == pytest.approx(other.function("error", "test").slope(other.first)[0], rel=1e-9)


def test_controllers_with_a_memory_are_refused():
    integral = [0.0]

    def control(t, q, qd, *, kp=8.0):
        integral[0] += 0.01 * (1.0 - q[0])
        return kp * (1.0 - q) + 2.0 * integral[0] - qd

    with pytest.raises(sorosim.InputError, match=r"cases\.controller: expected a function without memory"):
        sorosim.design(pushed(control, ["gain.kp"])[1], ["gain.kp"], "error", define=OFF)


def test_errors_of_controllers_are_their_own():
    def control(t, q, qd, *, kp=8.0):
        raise LookupError("no gain for this angle")

    with pytest.raises(LookupError, match="no gain for this angle"):
        sorosim.design(pushed(control, ["gain.kp"])[1], ["gain.kp"], "error", define=OFF)


def test_gains_near_0_are_differentiated_by_their_scale():
    """A search comes as near to 0 as it likes; differences over parts of such a number are rounding."""
    problem, _ = pushed(push, ["gain.kd"])
    function = problem.function("error", "test")
    slopes = [function.slope(problem.trial(np.array([kd])))[0] for kd in (0.0, 1e-13)]
    assert slopes[1] == pytest.approx(slopes[0], rel=1e-9)


def test_rates_by_name_are_those_of_simulate(tmp_path):
    """What is not named follows the loops, in a design that is opened, too."""
    robot = sorosim.load({key: x for key, x in HELD.items() if key != "simulate"})
    case = {"robot": robot, "simulate": {"t_end": "20 ms"}, "u": {"tendon": 1.0}, "qd0": {"base": "10 deg/s"}}
    found = sorosim.design(case, ["u.tendon"], "end", bounds={"u.tendon": (0, 2)}, define={"end": {"last": "pad.x"}})
    run = sorosim.simulate(robot, 0.02, u={"tendon": found.values["u.tendon"]}, qd0=case["qd0"])
    np.testing.assert_allclose(found.runs[""].qd[0], run.qd[0], atol=1e-12)
    found.save(tmp_path / "design.h5")
    np.testing.assert_array_equal(sorosim.open(tmp_path / "design.h5").runs[""].q, found.runs[""].q)


def test_what_changes_driven_motions_is_refused():
    file = {**ARM, "simulate": {"t_end": 0.1, "driven": {"base": "$pull*0.01*smoothstep(t/0.1)"}},
            "actuators": {"tendon": ARM["actuators"]["tendon"]}, "initial": {}}  # fmt: skip
    with pytest.raises(sorosim.InputError, match="leave driven motions as they are"):
        sorosim.design(
            {"robot": sorosim.load(file), **SIMULATE}, ["parameters.pull"], "end", define={"end": {"last": "finger.z"}}
        )


def test_inputs_of_a_file_follow_its_parameters_at_rest():
    """A pull that is a parameter of the file has the derivative of the input itself."""
    file = {key: x for key, x in ARM.items() if key not in ("initial", "simulate")} | {
        "statics": {"u": {"tendon": "$pull"}}
    }
    robot = sorosim.load(file)
    one, other = (Problem.of(robot, [name], None, {}) for name in ("parameters.pull", "u.tendon"))
    slopes = [problem.function("finger.z", "test").slope(problem.first)[0] for problem in (one, other)]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-9)
    moved = [one.function("finger.z", "test").value(one.trial(np.array([x]))) for x in (3.99, 4.01)]
    assert slopes[0] == pytest.approx((moved[1] - moved[0]) / 0.02, rel=1e-4)
