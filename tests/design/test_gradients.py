"""Quantities of robots at rest: their derivatives against differences of equilibria that are solved anew."""

import numpy as np
import pytest

import sorosim
from sorosim.studies.design.problem import Problem

TENDON = {
    "sorosim": 1,
    "gravity": [9.81, 0, 0],
    "materials": {"silicone": {"young": 2e6, "poisson": 0.5, "density": 1070}},
    "links": {
        "finger": {
            "rod": {
                "length": 0.08, "section": {"circle": {"radius": 6e-3}}, "material": "silicone",
                "strain": {"bending": 3, "elongation": 1, "torsion": 1},
            },
        },
        "nail": {"parent": "finger", "body": {"sphere": {"radius": 4e-3}, "density": 500},
                 "frames": {"edge": {"position": [4e-3, 0, 0]}}},
    },
    "actuators": {"tendon": {"tendon": {"rod": "finger", "y": 1e-3, "z": 4e-3}}},
    "sensors": {"bend": {"bending": {"link": "finger"}}, "length": {"tendon": "tendon"},
                "foot": {"section_wrench": {"link": "finger"}}},
    "loads": {"push": {"wrench": {"link": "nail", "force": [0, 0.02, 0.01], "frame": "body"}}},
}  # fmt: skip
WALL = {
    **TENDON,
    "links": {"finger": TENDON["links"]["finger"]},
    "loads": {
        "wall": {
            "contact": {
                "between": "finger",
                "and": {"half_space": {}, "at": {"position": [0, 0, 0.012],
                                                 "rotation": {"axis": [1, 0, 0], "angle": "180 deg"}}},
                "stiffness": 2e3,
            }
        }
    },
    "sensors": {"touch": {"contact": {"link": "finger"}}},
}  # fmt: skip
HELD = {
    **TENDON,
    "links": {
        "finger": TENDON["links"]["finger"],
        "pad": {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "at": {"position": [0.08, 0, 0]},
                "body": {"sphere": {"radius": 1e-3}, "density": 1000}},
    },
    "loads": {"spring": {"spring": {"from": "pad", "to": {"link": "world", "at": {"position": [0.1, 0, 0]}},
                                    "stiffness": 50, "rest": 0.015}}},
    "loops": {"hold": {"from": "finger", "to": "pad", "joint": "spherical"}},
    "sensors": {"touch": {"loop_wrench": "hold"}},
}  # fmt: skip
TUBES = {
    "sorosim": 1,
    "gravity": [0, 0, 0],
    "materials": {"nitinol": {"young": 5e10, "poisson": 0.3, "density": 6450}},
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
WATER = {
    **TENDON,
    "links": {"finger": TENDON["links"]["finger"]},
    "loads": {"water": {"fluid": {"density": 1000, "current": [0, 0.3, 0.4]}}},
    "sensors": {"foot": {"section_wrench": {"link": "finger"}}},
}  # fmt: skip
RADIUS, YOUNG, LENGTH = "links.finger.rod.section.circle.radius", "materials.silicone.young", "links.finger.rod.length"
FRAMES = {
    "off": {"distance": "finger", "to": [0.05, 0.01, 0.03]}, "half": {"distance": "finger(0.5)", "to": "finger"},
    "hard": {"stiffness": "finger(0.7)", "along": [0.2, 0.3, 1.0]},
    "both": {"rms": ["off", "half"]}, "price": {"sum": {"mass": 10, "off": -1}},
}  # fmt: skip
# robot, case, free, quantities, definitions
CASES = {
    "tendon": (
        TENDON, {"u": {"tendon": 4.0}},
        [RADIUS, YOUNG, LENGTH, "actuators.tendon.tendon.z", "u.tendon", "loads.push.wrench.force[2]"],
        ["mass", "centre_of_mass.x", "finger.z", "finger(0.3).x", "finger.bending_y", "bend.angle", "bend.angle_y",
         "length.length", "foot.m_y", "energy.elastic", "u.tendon", "frequency[1]", "frequency[3]", "off", "half",
         "hard", "both", "price", "edge"],
        {**FRAMES, "edge": {"distance": "nail.edge", "to": "finger(0.2)"}},
    ),
    "contact": (
        WALL, {"u": {"tendon": 6.0}},
        [RADIUS, YOUNG, "loads.wall.contact.stiffness", "actuators.tendon.tendon.z", "u.tendon"],
        ["mass", "finger.x", "touch.normal", "touch.f_z", "frequency[2]", "off", "hard"], FRAMES,
    ),
    "water": (
        WATER, {"u": {"tendon": 3.0}}, [RADIUS, YOUNG, LENGTH, "materials.silicone.density", "u.tendon"],
        ["mass", "finger.y", "finger(0.5).z", "foot.m_z", "frequency[1]", "off", "hard"], FRAMES,
    ),
    "loop": (
        HELD, {"u": {"tendon": 6.0}}, [RADIUS, YOUNG, LENGTH, "loads.spring.spring.stiffness", "u.tendon"],
        ["pad.prismatic", "touch.f_z", "frequency[1]", "frequency[2]", "off", "hard"], FRAMES,
    ),
    "driven": (
        HELD, {"u": {"tendon": 6.0}, "driven": {"pad": 0.002}}, [RADIUS, YOUNG, "driven.pad", "u.tendon"],
        ["force(pad)", "touch.f_x", "frequency[1]", "hard", "pad.prismatic"], FRAMES,
    ),
    "tubes": (
        TUBES, {"driven": {"robot.inner.rotation": 1.2, "robot.inner.insertion": 0.01}},
        ["links.robot.tubes.inner.curves[0].bending_y", "links.robot.tubes.outer.radius", "materials.nitinol.young",
         "driven.robot.inner.rotation", "driven.robot.inner.insertion"],
        ["robot.x", "robot.z", "moment(robot.inner.rotation)", "away", "force(robot.inner.insertion)"],
        {"away": {"distance": "robot", "to": [0.1, 0.02, 0.03]}},
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES)
def case(request):
    file, operation, free, names, define = CASES[request.param]
    problem = Problem.of({"robot": sorosim.load(file), **operation}, free, None, define)
    start = np.array([one.unknown.value for one in problem.free])
    trial = problem.trial(start)
    return problem, trial, names, solved_about(problem, trial)


def solved_about(problem, trial):
    """Trials at four steps of each number, searched from the equilibrium itself."""
    out = []
    for i, one in enumerate(problem.free):
        h = 1e-3 * one.unknown.scale * np.eye(len(trial.p))[i]
        out.append((h[i], [problem.trial(trial.p + k * h, trial) for k in (-2, -1, 1, 2)]))
    return out


def test_gradients_are_those_of_equilibria_solved_anew(case):
    problem, trial, names, about = case
    for name in names:
        function = problem.function(name, "test")
        slope = function.slope(trial)
        for i, (h, trials) in enumerate(about):
            a, b, c, d = (function.value(one) for one in trials)
            by_differences = (8.0 * (c - b) - (d - a)) / (12.0 * h)
            # five times the worst: the second frequency of the finger at the wall, by its radius
            size = max(abs(slope[i]), 1e-2 * abs(function.value(trial)) / problem.free[i].unknown.scale)
            assert abs(slope[i] - by_differences) <= 3e-8 * size, (name, problem.free[i].name, slope[i], by_differences)


def test_frequencies_that_are_one_have_the_derivative_of_both():
    """A round rod bends alike in all directions; its pair stays one with its radius."""
    rod = {"rod": {**TENDON["links"]["finger"]["rod"], "strain": {"bending": 2}}}
    robot = sorosim.load(
        {**TENDON, "gravity": [0, 0, 0], "links": {"finger": rod}, "actuators": {}, "sensors": {}, "loads": {}}
    )
    problem = Problem.of(robot, [RADIUS], None, {})
    trial = problem.trial(np.array([6e-3]))
    one, two = (problem.function(f"frequency[{k}]", "test") for k in (1, 2))
    assert one.value(trial) == pytest.approx(two.value(trial), rel=1e-9)
    # of a slender rod it grows as the radius; rotary inertia takes a little
    expected = (
        one.value(problem.trial(np.array([6.006e-3]))) - one.value(problem.trial(np.array([5.994e-3])))
    ) / 1.2e-5
    assert one.slope(trial)[0] == pytest.approx(expected, rel=1e-6)
    assert two.slope(trial)[0] == pytest.approx(expected, rel=1e-6)


def test_a_parameter_may_be_an_input_and_change_surfaces_that_touch():
    rod = WALL["links"]["finger"]["rod"]
    file = {**WALL, "parameters": {"size": 6e-3}, "statics": {"u": {"tendon": "$size*1000"}},
            "links": {"finger": {"rod": {**rod, "section": {"circle": {"radius": "$size"}}}}}}  # fmt: skip
    problem = Problem.of(sorosim.load(file), ["parameters.size"], None, {})
    function, trial = problem.function("finger.x", "test"), problem.first
    assert problem.by_differences[0]
    ((h, trials),) = solved_about(problem, trial)
    a, b, c, d = (function.value(one) for one in trials)
    assert function.slope(trial)[0] == pytest.approx((8.0 * (c - b) - (d - a)) / (12.0 * h), rel=3e-8)


def test_stiffness_is_a_small_force_over_its_displacement():
    file = {**TENDON, "loads": {"push": {"wrench": {"link": "finger", "force": [0, 0, 0]}}}}
    problem = Problem.of({"robot": sorosim.load(file), "u": {"tendon": 4.0}}, ["u.tendon"], None,
                         {"hard": {"stiffness": "finger", "along": [0, 0, 2]}})  # fmt: skip
    trial = problem.trial(np.array([4.0]))
    force, moved = 1e-4, []
    for sign in (1.0, -1.0):
        pushed = sorosim.load(file, set={"loads.push.wrench.force": [0, 0, sign * force]})
        moved.append(sorosim.statics(pushed, {"tendon": 4.0}, q0=trial.states[0].q).tip()[2])
    assert problem.function("hard", "test").value(trial) == pytest.approx(2.0 * force / (moved[0] - moved[1]), rel=1e-5)
