"""Designs: known optima, conditions of the optimum, edges, constraints that nothing meets, fronts, files, mistakes."""

import contextlib
import warnings

import numpy as np
import pytest
from scipy import optimize

import sorosim
from sorosim.studies.design.goals import NonlinearProgram
from sorosim.studies.design.problem import Problem

RADIUS, OFFSET = "links.finger.rod.section.circle.radius", "actuators.tendon.tendon.z"
FINGER = {
    "sorosim": 1,
    "gravity": [9.81, 0, 0],
    "materials": {"silicone": {"young": 2e6, "poisson": 0.5, "density": 1070}},
    "links": {
        "finger": {
            "rod": {
                "length": 0.08, "section": {"circle": {"radius": 6e-3}}, "material": "silicone",
                "strain": {"bending": 4, "elongation": 1, "shear": 2},
            },
        },
    },
    "actuators": {"tendon": {"tendon": {"rod": "finger", "y": 0, "z": "4 mm"}}},
    "sensors": {"bend": {"bending": {"link": "finger"}}},
    "statics": {"u": {"tendon": 10}},
}  # fmt: skip
PRESSING = {
    **FINGER,
    "links": {
        **FINGER["links"],
        "pad": {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "at": {"position": [0.08, 0, 0]},
                "body": {"sphere": {"radius": 1e-3}, "density": 1}},
    },
    "loops": {"held": {"from": "finger", "to": "pad", "joint": "spherical"}},
    "sensors": {"touch": {"loop_wrench": "held"}},
}  # fmt: skip
TASK = {
    "free": {"radius": RADIUS, "offset": OFFSET},
    "minimise": "press.touch.f_z",
    "subject_to": {"wall": ("1 mm", None), "pull.bend.angle": ("90 deg", "170 deg"), "pull.mass": (None, "15 g")},
    "bounds": {"radius": ("3 mm", "12 mm"), "offset": ("1 mm", "12 mm")},
    "define": {"wall": {"sum": {"radius": 1, "offset": -1}}},
}


def cases(young=2e6):
    changed = {"materials.silicone.young": young}
    return {"pull": sorosim.load(FINGER, set=changed), "press": sorosim.load(PRESSING, set=changed)}


@pytest.fixture(scope="module")
def best():
    return sorosim.design(cases(), **TASK)


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_the_finger_of_a_user(method):
    """A user's optimum, to his four digits: as much force as its bend of 90 degrees and a wall of 1 mm let it have."""
    found = sorosim.design(cases(), method=method, **TASK)
    assert found.objective == pytest.approx(-1.066, abs=5e-4)
    assert found.values["radius"] == pytest.approx(6.458e-3, abs=5e-7)
    assert found.values["offset"] == pytest.approx(5.458e-3, abs=5e-7)
    assert np.degrees(found.constraints["pull.bend.angle"]) == pytest.approx(90.0, abs=0.01)
    assert found.constraints["pull.mass"] == pytest.approx(11.2e-3, abs=5e-5)
    assert set(found.active) == {"wall", "pull.bend.angle"}
    assert found.converged


def test_softer_the_mass_holds_it_back():
    task = {**TASK, "subject_to": {**TASK["subject_to"], "pull.bend.angle": ("90 deg", None)}}
    found = sorosim.design(cases(8e5), **task)
    assert found.values["radius"] == pytest.approx(7.469e-3, abs=1e-6)  # of 15 g
    assert found.objective == pytest.approx(-1.338, abs=1e-3)
    assert set(found.active) == {"wall", "pull.mass"}


def test_multipliers_say_what_a_limit_costs(best):
    """The optimum under limits that are a little looser and a little tighter."""
    for name, limit, step in (("wall", 1e-3, 1e-5), ("pull.bend.angle", np.pi / 2, 1e-3)):
        ends = []
        for sign in (1.0, -1.0):
            pair = limit + sign * step, TASK["subject_to"][name][1]
            task = {**TASK, "subject_to": {**TASK["subject_to"], name: pair}}
            ends.append(sorosim.design(cases(), **task).objective)
        assert best.multipliers[name] == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=1e-3)


def test_it_is_saved_and_opened(best, tmp_path):
    best.save(tmp_path / "best.h5")
    again = sorosim.open(tmp_path / "best.h5")
    assert again.values == best.values
    assert again.objective == pytest.approx(best.objective, rel=1e-9)
    assert again.constraints == pytest.approx(best.constraints)
    assert again.multipliers == pytest.approx(best.multipliers)
    assert again.message == best.message
    assert again.summary() == best.summary()
    assert {name: x.tolist() for name, x in again.history.items()} == {n: x.tolist() for n, x in best.history.items()}
    assert again.robots["press"].name == best.robots["press"].name
    assert again.gradient("pull.mass") == pytest.approx(best.gradient("pull.mass"))
    again.plot(tmp_path / "best.png")


def test_history_ends_at_the_design(best):
    assert best.history["radius"][-1] == pytest.approx(best.values["radius"], rel=1e-6)
    assert best.history["objective"][-1] == pytest.approx(best.objective, rel=1e-6)
    assert best.history["violation"][-1] <= 1e-6


def test_the_robots_have_the_numbers(best):
    assert sorosim.scalars(best.robots["pull"])[RADIUS] == best.values["radius"]
    eq = sorosim.statics(best.robots["press"])
    assert eq.measure()["touch"][5] == pytest.approx(best.objective, rel=1e-6)
    assert best.value("pull.finger.x") == pytest.approx(best.equilibria["pull"].tip()[0])


def test_trials_that_fail_are_stepped_back_from():
    """Without the wall the tendon goes to where it leaves the rod: the edge is found, and told."""
    task = {**TASK, "subject_to": {"pull.mass": (None, "15 g")}, "define": None}
    alone = {**task, "free": {"offset": OFFSET}, "bounds": {"offset": ("1 mm", "12 mm")}}
    found = sorosim.design(cases(), **alone)
    assert found.values["offset"] == pytest.approx(6e-3, rel=1e-6)
    assert found.active == ("edge of offset",)
    assert found.converged
    assert "inside the section" in found.message
    # of both together no number alone is at the edge
    with pytest.warns(sorosim.SorosimWarning, match="is not balanced"):
        found = sorosim.design(cases(), **task)
    assert found.values["offset"] == pytest.approx(found.values["radius"], rel=1e-3)
    assert not found.converged


def test_constraints_that_nothing_meets_are_named_with_the_least_violation():
    task = {**TASK, "subject_to": {**TASK["subject_to"], "radius": ("5 mm", None), "pull.mass": (None, "5 g")}}
    with pytest.raises(sorosim.ConvergenceError, match="no numbers were found that meet the constraints") as caught:
        sorosim.design(cases(), **task)
    found = caught.value.partial
    assert "pull.mass by" in str(caught.value)
    assert "radius by" in str(caught.value)
    # the sum of squares of violations, each over its limit, is least between both limits
    mass = 1070 * 0.08 * np.pi

    def squares(r):
        return (1.0 - r / 5e-3) ** 2 + (mass * r**2 / 5e-3 - 1.0) ** 2

    least = optimize.minimize_scalar(squares, bounds=(3e-3, 6e-3), method="bounded", options={"xatol": 1e-9}).x
    assert found.values["radius"] == pytest.approx(least, rel=1e-3)
    assert set(found.violation) == {"radius", "pull.mass"}


def test_a_front_trades_one_objective_for_the_other(tmp_path):
    # lighter ones bend by more than half a turn, where the sensor begins to count backwards
    common = {**TASK, "bounds": {**TASK["bounds"], "radius": ("5.4 mm", "12 mm")}}
    task = {**common, "minimise": ["press.touch.f_z", "pull.mass"]}
    found = sorosim.design(cases(), points=5, **task)
    force, mass = found.front.objectives.T
    assert len(force) == 5
    assert (np.diff(force) > 0.0).all()
    assert (np.diff(mass) < 0.0).all()
    for k in (1, 3):  # each is the best of its mass
        limits = {**TASK["subject_to"], "pull.mass": (None, float(mass[k]))}
        alone = sorosim.design(cases(), **{**common, "subject_to": limits})
        assert alone.objective == pytest.approx(force[k], rel=1e-5)
    assert found.at(2).objectives == pytest.approx(dict(zip(found.objectives, found.front.objectives[2], strict=True)))
    found.save(tmp_path / "front.h5")
    assert sorosim.open(tmp_path / "front.h5").front.objectives == pytest.approx(found.front.objectives)
    found.plot(tmp_path / "front.png")


@pytest.mark.slow
def test_a_front_says_what_its_second_limit_costs_and_when_it_is_not_whole():
    """Slope of the front by differences along it; a budget that is spent is told."""
    task = {
        **TASK,
        "bounds": {**TASK["bounds"], "radius": ("5.4 mm", "12 mm")},
        "minimise": ["press.touch.f_z", "pull.mass"],
    }
    found = sorosim.design(cases(), points=41, **task)
    force, mass = found.front.objectives.T
    k = 20
    slope = (force[k + 1] - force[k - 1]) / (mass[k + 1] - mass[k - 1])
    assert found.at(k).multipliers["pull.mass"] == pytest.approx(slope, rel=0.02)
    with pytest.warns(sorosim.SorosimWarning, match="max_evaluations are spent"):
        part = sorosim.design(cases(), points=41, max_evaluations=60, **task)
    assert not part.converged
    assert len(part.front.values) == len({tuple(row) for row in np.round(part.front.objectives, 9)}) < 41


def test_a_limit_of_0_is_as_good_as_another_one(tmp_path):
    """An offset of at most 2/3 of the radius, as a difference that is at most 0 and as a number."""
    robot = sorosim.load(FINGER)
    define = {"beyond": {"sum": {"offset": 1.0, RADIUS: -2.0 / 3.0}}}
    both = {"offset": OFFSET, RADIUS: RADIUS}
    tight = {"offset": ("1 mm", "5.5 mm"), RADIUS: (5.9999e-3, 6.0001e-3)}
    found = sorosim.design(robot, both, "-bend.angle", {"beyond": (None, 0)}, tight, define=define)
    limits = {"offset": (None, 2.0 / 3.0 * found.values[RADIUS])}
    other = sorosim.design(robot, {"offset": OFFSET}, "-bend.angle", limits, {"offset": ("1 mm", "5.5 mm")})
    assert found.converged
    assert found.values["offset"] == pytest.approx(other.values["offset"], rel=1e-5)
    assert found.multipliers["beyond"] == pytest.approx(other.multipliers["offset"], rel=1e-3)
    found.save(tmp_path / "best.h5")
    again = sorosim.open(tmp_path / "best.h5")  # its search begins at the end, the size is that of the start
    assert again._task.problem.sizes == found._task.problem.sizes
    assert again.violations == pytest.approx(found.violations)


def test_what_nothing_free_changes_is_not_differentiated():
    problem = Problem.of(cases(), ["pull.u.tendon"], None, {})
    trial = problem.first
    assert not problem.function("press.touch.f_z", "test").slope(trial).any()
    assert not trial._changes
    assert problem.trial(np.array([9.0]), trial).states[1] is trial.states[1]


@pytest.mark.filterwarnings("error")
def test_what_reaches_zero_is_an_optimum(tmp_path):
    """A tension that takes the tip to a height it can have: squares vanish smoothly, a distance has a corner."""
    robot = sorosim.load(FINGER)
    eq = sorosim.statics(robot, {"tendon": 7.0})
    target = eq.tip().tolist()
    found = sorosim.design(robot, ["u.tendon"], "away", bounds={"u.tendon": (0, 20)},
                           define={"away": {"distance": "finger", "to": target}})  # fmt: skip
    assert found.converged
    assert found.values["u.tendon"] == pytest.approx(7.0, rel=1e-6)
    found.save(tmp_path / "design.h5")
    assert sorosim.open(tmp_path / "design.h5").converged


def test_a_number_that_starts_at_0_needs_two_bounds():
    robot = sorosim.load({key: value for key, value in FINGER.items() if key != "statics"})
    with pytest.raises(sorosim.InputError, match=r"bounds\.u\.tendon: expected two bounds"):
        sorosim.design(robot, ["u.tendon"], "finger.x")


def test_parts_that_are_alike_share_a_number_and_inputs_are_free():
    """Two fingers, one number for both radii; each has a pull of its own, as small as bends its tip so far."""
    two = {**FINGER, "links": dict.fromkeys(("left", "right"), FINGER["links"]["finger"]), "sensors": {},
           "actuators": {name: {"tendon": {"rod": name, "y": 0, "z": "4 mm"}} for name in ("left", "right")},
           "statics": {"u": {"left": 5, "right": 5}}}  # fmt: skip
    radii = [f"links.{name}.rod.section.circle.radius" for name in ("left", "right")]
    found = sorosim.design(
        sorosim.load(two), [radii, "u.left", "u.right"], {"u.left": 1, "u.right": 1},
        {"left.z": 0.02, "right.z": 0.03}, {radii[0]: ("5 mm", "8 mm"), "u.left": (0, 20), "u.right": (0, 20)},
    )  # fmt: skip
    numbers = sorosim.scalars(found.robot)
    assert numbers[radii[0]] == numbers[radii[1]] == pytest.approx(5e-3)
    assert found.value("left.z") == pytest.approx(0.02, rel=1e-5)
    assert found.value("right.z") == pytest.approx(0.03, rel=1e-5)
    assert found.values["u.left"] < found.values["u.right"]


def test_further_starts_find_another_optimum():
    """A tip that is curled up once too often is near its target once more, less well."""
    rod = {**FINGER["links"]["finger"]["rod"], "strain": {"bending_y": 0}}
    curled = {**FINGER, "gravity": [0, 0, 0], "links": {"finger": {"rod": rod}}, "statics": {"u": {"tendon": 45}}}
    task = {"bounds": {"u.tendon": (0, 60)}, "define": {"off": {"distance": "finger", "to": [0.045, 0, 0.035]}}}
    one, several = (sorosim.design(sorosim.load(curled), ["u.tendon"], "off", starts=n, **task) for n in (1, 4))
    assert one.converged
    assert several.converged
    assert one.values["u.tendon"] > 45.0
    # the best of a fine table
    curvature = np.linspace(0.0, 60.0, 60001) * 4e-3 / (2e6 * np.pi / 4 * 6e-3**4)
    x, z = np.sin(0.08 * curvature[1:]) / curvature[1:], (1.0 - np.cos(0.08 * curvature[1:])) / curvature[1:]
    least = np.hypot(x - 0.045, z - 0.035).min()
    assert several.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.slow
def test_differential_evolution_finds_nothing_better(best):
    task = NonlinearProgram(cases(), TASK["free"], TASK["minimise"], TASK["subject_to"], TASK["bounds"], TASK["define"])
    problem, goal = task.problem, task.goals[0]
    seen = {}

    def numbers(x):
        if x.tobytes() not in seen:
            try:
                trial = problem.trial(np.array(x))
                seen[x.tobytes()] = [f.value(trial) for f in (goal.function, *map(of, task.limits))]
            except sorosim.SorosimError:
                seen[x.tobytes()] = [1e3, *(1e3 for _ in task.limits)]
        return seen[x.tobytes()]

    def of(limit):
        return problem.function(limit.name, "test")

    limits = optimize.NonlinearConstraint(
        lambda x: numbers(x)[1:], [one.low for one in task.limits], [one.high for one in task.limits]
    )
    bounds = [(one.unknown.low, one.unknown.high) for one in problem.free]
    for seed in range(3):
        found = optimize.differential_evolution(
            lambda x: numbers(x)[0], bounds, constraints=limits, rng=seed, maxiter=40, popsize=8, polish=False
        )
        assert found.success or found.nit == 40
        assert found.fun >= best.objective * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"free": ["links.finger.rod.lenth"]}, "did you mean links.finger.rod.length"),
        ({"free": ["pull.u.tendn"]}, "did you mean tendon"),
        ({"free": []}, "free: expected names of numbers"),
        ({"free": [RADIUS, f"pull.{RADIUS}"], "bounds": None, "define": None, "subject_to": None}, "every number once"),
        ({"free": [["pull.u.tendon", RADIUS]], "bounds": None, "define": None, "subject_to": None}, "one start of"),
        ({"minimise": "pull.mas"}, "did you mean mass"),
        ({"minimise": "mass"}, "a quantity with the name of its case before it, got 'mass'; did you mean"),
        ({"minimise": "pull.wall", "define": {"wall": {"max": "finger.x"}}}, "a case with the key `simulate` is one"),
        ({"define": {"wall": {"sum": {"radius": 1}, "after": 1}}}, "`after` and `until` beside one of last"),
        ({"minimise": ["pull.mass"] * 2}, "expected two quantities"),
        ({"minimise": ["pull.mass"] * 3}, "or two of these"),
        ({"bounds": {"radius": ("12 mm", "3 mm")}}, "bounds.radius: expected a lower bound below the upper one"),
        ({"bounds": {"radius": ("7 mm", "8 mm")}}, "bounds about the start"),
        ({"bounds": {"radius": ("-1 mm", "8 mm")}}, "bounds within 0 and inf"),
        ({"bounds": {"radios": ("3 mm", "8 mm")}}, "did you mean radius"),
        ({"bounds": 3}, "bounds: expected a mapping"),
        ({"subject_to": {"pull.mass": ("2 g", "1 g")}}, "the least number before the greatest"),
        ({"subject_to": {"pull.mass": (None, "15 m")}}, "expected a mass"),
        ({"subject_to": {"pull.mass": (None, None)}}, "a number, or a pair"),
        ({"subject_to": {"pull.mass": (-np.inf, np.inf)}}, "a number, or a pair"),
        ({"subject_to": {"pull.mass": (np.inf, None)}}, "expected a mass, got inf"),
        ({"subject_to": {"pull.mass": (None, -np.inf)}}, "expected a mass, got -inf"),
        ({"bounds": {"radius": (np.inf, None)}}, "expected a length, got inf"),
        ({"minimise": {}}, "weights by names of quantities, got none"),
        ({"subject_to": {"pul.mass": (None, 1)}}, "did you mean pull.mass"),
        ({"define": {"wall": {"distance": "finger"}}}, "the keys 'distance' and 'to' together"),
        ({"define": {"wall": {"sum": {"radius": 1, "offset": -1}, "rms": ["radius"]}}}, "expected one of"),
        ({"define": {"wall": {"rms": ["pull.mass", "pull.finger.x"]}}}, "quantities of one unit"),
        ({"define": {"wall": {"sum": {"wall": 1}}}}, "other quantities, got 'wall' itself"),
        ({"define": {"wall": {"sum": {"a": 1}}, "a": {"sum": {"wall": 1}}}}, "other quantities, got 'wall' itself"),
        ({"define": {"wall": {"sum": {"radius": 1}}, "radius": {"sum": {"wall": 1}}}}, "which is another quantity"),
        ({"define": {"objective": {"sum": {"radius": 1}}}}, "names other than objective"),
        ({"free": {"pull.mass": RADIUS, "offset": OFFSET}, "bounds": None}, "names of their own, got 'pull.mass'"),
        ({"free": {3: RADIUS}}, "free: expected texts as labels"),
        ({"minimise": "pull.frequency[99]"}, "a number from 1 to"),
        ({"method": "newton"}, "method: expected"),
        ({"starts": 0}, "starts: expected a whole number"),
    ],
)  # fmt: skip
def test_mistakes_are_one_error_each(changed, message):
    with pytest.raises(sorosim.InputError, match=message.replace("(", r"\(")):
        sorosim.design(cases(), **{**TASK, **changed})


def test_numbers_that_share_one_have_one_unit():
    robot = sorosim.load(FINGER, set={"statics.u.tendon": 6e-3})
    with pytest.raises(sorosim.InputError, match=r"numbers of one unit that share .*, got N and m"):
        sorosim.design(robot, [[RADIUS, "u.tendon"]], "mass")


@pytest.mark.parametrize(
    ("minimise", "limits", "idle"),
    [
        ("mass", {"mass": ("9 g", None)}, "u.tendon, actuators.tendon.tendon.z"),
        ("mass", {"mass": ("9 g", None), "bend.angle": (None, "120 deg")}, None),
        ("-bend.angle", {"mass": ("9 g", None)}, None),
    ],
)
def test_numbers_that_change_nothing_are_told(minimise, limits, idle):
    bounds = {RADIUS: ("5 mm", "7 mm"), "u.tendon": (5, 10), OFFSET: ("3 mm", "4.5 mm")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.warns(sorosim.SorosimWarning, match=f"change with {idle}") if idle else contextlib.nullcontext():
            sorosim.design(sorosim.load(FINGER), list(bounds), minimise, limits, bounds)


def test_a_front_whose_second_search_is_not_begun_is_not_whole():
    """The first search spends all: where it meets the constraints, which the start does not, the second one begins."""
    bounds = {RADIUS: ("5.4 mm", "12 mm"), OFFSET: ("1 mm", "4.5 mm")}
    with pytest.warns(sorosim.SorosimWarning, match="max_evaluations are spent"):
        found = sorosim.design(
            sorosim.load(FINGER), list(bounds), ["mass", "-bend.angle"], {"mass": (None, "9 g")}, bounds,
            max_evaluations=3,
        )  # fmt: skip
    assert found.front is not None
    assert not found.converged
    assert max(found.violations.values()) < 1e-6


def test_mistakes_of_cases():
    for given, message in (
        ({}, "a robot, or a mapping"),
        ({"pull": 3}, "cases.pull: expected a robot"),
        ({"u": sorosim.load(FINGER)}, "no words of robot files"),
        ({"_": sorosim.load(FINGER)}, "no words of robot files"),
        ({"pull": {"robot": sorosim.load(FINGER), "v": 1}}, "a known key, got 'v'"),
        ({"pull": {"robot": sorosim.load(FINGER), "u": {"tendn": 1}}}, "cases.pull.u"),
    ):
        with pytest.raises(sorosim.InputError, match=message):
            sorosim.design(given, [RADIUS], "mass")
