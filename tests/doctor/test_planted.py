"""Mistakes as people make them, each a small edit of a sound robot: the doctor names the object, and says why.

And unusual robots in which nothing is wrong, about which it has to be quiet.
"""

from pathlib import Path

import pytest
import yaml

import sorosim
from sorosim.files import bundled_robots
from sorosim.studies.doctor import LEVELS, NOTE, ODD, OK, WRONG, examine
from tests.helpers.arms import RUBBER, changed, rubber_arm


def written(name):
    return yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))


ARM = rubber_arm(["1 cm", "6 mm"], bending=4, elongation=1)
ARM = {
    **ARM,
    "links": {
        **ARM["links"],
        "hand": {
            "parent": "arm",
            "joint": {"revolute": {"axis": [0, 1, 0], "stiffness": "0.05 N*m/rad", "damping": "1e-4 N*m*s/rad",
                                   "limits": {"low": "-90 deg", "high": "90 deg", "stiffness": "1 N*m/rad"}}},
            "body": {"mass": "10 g", "centre": ["1 cm", 0, 0], "inertia": ["1e-6 kg*m^2"] * 3},
        },
    },
    "actuators": {
        "up": {"tendon": {"rod": "arm", "y": 0, "z": "5 mm"}},
        "side": {"tendon": {"rod": "arm", "y": "5 mm", "z": 0}},
    },
    "loads": {"tip": {"wrench": {"link": "arm", "force": [0, 0, "-0.02 N"]}}},
    "simulate": {"t_end": "5 s", "q0": "equilibrium", "u": {"up": "0.5*smoothstep(t)", "side": "0.3*smoothstep(t)"}},
    "statics": {"u": {"up": "0.5 N", "side": "0.3 N"}},
}  # fmt: skip
LINES = {  # three rods side by side: siblings
    **ARM,
    "materials": {**ARM["materials"], "soft": dict(RUBBER)},
    "links": {
        name: {"at": {"position": [0, y, 0]}, "rod": {**ARM["links"]["arm"]["rod"], "material": material}}
        for name, y, material in (("arm", 0, "rubber"), ("left", 0.1, "rubber"), ("right", 0.2, "soft"))
    },
}

ROBOTS = {"arm": ARM, "three arms": LINES, **written("robots")}
PLANTED = written("planted") | written("slips")
UNUSUAL = written("unusual") | written("practical")
_before = {}


def load(name, changes):
    if name in ROBOTS:
        return sorosim.load(changed({"name": name, **ROBOTS[name]}, changes))
    return sorosim.load(name, set=changes)


def before(name):
    """What there is to say of the robot before the mistake."""
    if name not in _before:
        _before[name] = examine(load(name, {}))
    return _before[name]


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_caught(name):
    case = PLANTED[name]

    def matching(findings):
        return [f for f in findings if (f.where, f.level) == (case["where"], case["level"]) and case["what"] in f.what]

    assert matching(before(case["robot"])) == []
    found = examine(load(case["robot"], case["set"]))
    assert matching(found), [f for f in found if f.level != OK]
    assert all(f.remedy for f in matching(found))
    assert all(f.level in LEVELS and f.what for f in found)


def test_there_are_many_of_them():
    assert len(PLANTED) == len(written("planted")) + len(written("slips")) >= 120
    assert {case["level"] for case in PLANTED.values()} <= {NOTE, ODD, WRONG}


LARGE = {"net", "gripper_100"}
NAMES = sorted({*bundled_robots(), *ROBOTS})


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LARGE)) for n in NAMES])
def test_nothing_is_odd_before(name):
    assert [f for f in before(name) if f.level in (ODD, WRONG)] == []


@pytest.mark.parametrize("name", UNUSUAL)
def test_the_doctor_is_quiet_about_an_unusual_robot(name):
    assert [f for f in examine(sorosim.load({"name": name, **UNUSUAL[name]})) if f.level in (ODD, WRONG)] == []
