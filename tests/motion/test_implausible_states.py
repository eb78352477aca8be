"""What `simulate` warns of and `statics` reports: states that are hardly meant, a line each; and silence otherwise."""

import re
import warnings

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import SorosimWarning
from sorosim.files.yaml_reader import read_text
from tests.helpers.arms import changed, rubber_arm

ARM = {
    **rubber_arm("1 cm", bending=3, elongation=1),
    "gravity": [0, 0, 0],
    "actuators": {"pull": {"tendon": {"rod": "arm", "y": 0, "z": "5 mm"}}},
}
WOUND = changed(ARM, {"actuators.pull.tendon.stiffness": "5 kN/m"})
BALL = read_text(
    """
sorosim: 1
name: ball
links: {ball: {at: {position: [0, 0, 1.9 cm]}, joint: free, body: {sphere: {radius: 2 cm}, mass: 50 g}}}
loads: {floor: {contact: {between: ball, and: {half_space: {}}, stiffness: 2e3 N/m^1.5, damping: 1 s/m}}}
""",
    "ball",
).data
HINGES = read_text(
    """
sorosim: 1
name: hinges
links:
  shoulder: {joint: {revolute: {axis: [0, 1, 0]}},
             body: {box: {size: [20 cm, 3 cm, 3 cm]}, mass: 1 kg, at: {position: [10 cm, 0, 0]}}}
  elbow: {parent: shoulder, at: {position: [20 cm, 0, 0]}, joint: {revolute: {axis: [0, 1, 0]}},
          body: {box: {size: [20 cm, 3 cm, 3 cm]}, mass: 1 kg, at: {position: [10 cm, 0, 0]}}}
  wrist: {parent: elbow, at: {position: [20 cm, 0, 0]}, joint: {revolute: {axis: [0, 1, 0]}},
          body: {box: {size: [20 cm, 3 cm, 3 cm]}, mass: 1 kg, at: {position: [10 cm, 0, 0]}}}
simulate: {t_end: 0.1, driven: {shoulder: 0.1*t, elbow: 0.1*t, wrist: 0.1*t}}
""",
    "hinges",
).data


def remarks_of(robot, t_end=0.2, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = sorosim.simulate(robot, t_end, dt_out=0.01, **options)
    said = [str(one.message) for one in caught if issubclass(one.category, SorosimWarning)]
    assert all(one.split("': ", 1)[1] in run.message for one in said)
    return said


def test_sound_motions_and_equilibria_get_no_remark():
    soft, wound = sorosim.load(ARM), sorosim.load(WOUND)
    for robot, u in ((soft, {"pull": 2.0}), (wound, {"pull": "2 mm"}), (soft, None)):
        assert remarks_of(robot, u=u) == []
        assert sorosim.statics(robot, u).message == "hybr converged"
    assert remarks_of(sorosim.load(HINGES)) == []
    assert remarks_of(sorosim.load(BALL, set={"loads.floor.contact.stiffness": 2e4})) == []


def test_a_rod_without_coordinates_has_no_strain():
    tip = {
        "parent": "arm",
        "joint": {"revolute": {"axis": [0, 1, 0], "stiffness": "1 N*m/rad", "damping": "0.01 N*m*s/rad"}},
    }
    tip["body"] = {"sphere": {"radius": "1 cm"}, "mass": "10 g"}
    content = changed(ARM, {"links.tip": tip, "links.arm.rod.strain": {}, "actuators": {}})
    robot = sorosim.load(content)
    assert robot.ndof == 1
    assert sorosim.statics(robot).message.startswith("hybr converged")
    assert remarks_of(robot) == []


def test_strain_beyond_a_hundred_per_cent():
    """A moment M at its end bends a rod to the curvature M/EI, its fibres by the radius times that."""
    turned = changed(ARM, {"loads": {"end": {"wrench": {"link": "arm", "moment": [0, 3, 0], "frame": "body"}}}})
    robot = sorosim.load(turned)
    young, inertia = robot.links[0].rod.divisions[0].material.young, np.pi / 4 * 1e-8
    expected = 3.0 / (young * inertia) * 0.01
    message = sorosim.statics(robot, q0=np.zeros(robot.ndof)).message
    assert float(re.search(r"'arm' is strained by (\S+) %", message)[1]) == pytest.approx(100 * expected, rel=5e-3)
    (said,) = remarks_of(robot, 0.5)
    assert re.search(r"'arm' is strained by \S+ % at t = \S+ s", said)


def test_a_crushed_rod():
    """A force along a rod shortens it by F/EA, to 10 % of its length."""
    area = np.pi * 1e-4
    robot = sorosim.load(changed(ARM, {"links.arm.rod.strain": {"elongation": 0}}))
    young = robot.links[0].rod.divisions[0].material.young
    pushed = robot.with_loads(push=sorosim.Wrench("arm", force=[-0.9 * young * area, 0, 0], frame="body"))
    assert "'arm' is crushed: to 10 % of its length" in sorosim.statics(pushed).message
    (said,) = remarks_of(pushed, 0.5)
    assert "'arm' is crushed" in said


def test_a_tendon_that_is_wound_up_and_slack():
    bent = {"loads": {"end": {"wrench": {"link": "arm", "moment": [0, -0.2, 0]}}}}
    robot = sorosim.load(changed(WOUND, bent))
    start = sorosim.statics(robot, {"pull": 0.0})
    longer = robot.engine.tendon_lengths(start.q)[0] - robot.engine.tendon_lengths(np.zeros(robot.ndof))[0]
    assert longer < -1e-3  # the load bends the arm its way
    inside = {"pull": 0.5 * -longer}
    assert "tendon 'pull' is slack: it is longer" in sorosim.statics(robot, inside).message
    (said,) = remarks_of(robot, u=inside, q0=start)
    assert "tendon 'pull' is slack for 100 % of the time" in said
    assert remarks_of(robot, u={"pull": 2.0 * -longer}, q0=start) == []


def test_a_negative_tension_is_slack():
    robot = sorosim.load(ARM)
    (said,) = remarks_of(robot, u={"pull": "1 - 4*step(t - 0.05)"})
    assert re.search(r"tendon 'pull' is slack for 7\d % of the time: its tension is negative", said)
    assert "tendon 'pull' is slack: its tension is negative" in sorosim.statics(robot, {"pull": -1.0}).message
    pushes = sorosim.load(changed(ARM, {"actuators.pull.tendon.pushes": True}))
    assert remarks_of(pushes, u={"pull": -1.0}) == []


def test_a_ball_that_sinks_deeper_than_its_radius():
    robot = sorosim.load(BALL, set={"loads.floor.contact.stiffness": 50.0})
    depth = (0.05 * 9.81 / 50.0) ** (2 / 3)
    found = re.search(r"'ball' is (\S+) mm inside the world, .* rounded \((\S+) mm\)", sorosim.statics(robot).message)
    assert float(found[1]) == pytest.approx(1e3 * depth, rel=5e-3)
    assert float(found[2]) == pytest.approx(20.0)
    (said,) = remarks_of(robot, 0.5)
    assert "mm inside the world at t = " in said


@pytest.mark.parametrize(
    ("shape", "rounding"),
    [
        ({"box": {"size": ["10 cm", "10 cm", "2 cm"]}}, 0.02 * 0.01),  # by a hundredth of the smallest side
        ({"sphere": {"radius": "5 cm"}}, 0.05),
        ({"cylinder": {"radius": "5 cm", "length": "10 cm"}}, 0.02 * 0.05),
        ({"plane": {}}, 0.0),
        ({"capsule": {"radius": "3 cm", "length": "20 cm"}}, 0.03),
    ],
)
def test_how_deep_a_ball_may_enter_a_shape(shape, rounding):
    """By its radius and the rounding of the edges, as docs/contact.md has it."""
    name = next(iter(shape))
    contact = {"between": "ball", "and": {**shape, "at": {"position": [0, 0, "-1 cm"]}}, "stiffness": 1e3}
    robot = sorosim.load(changed(BALL, {"loads.floor.contact": contact, "links.ball.at.position": [0, 0, "1 mm"]}))
    deepest = robot.engine.deepest_contact(robot.initial_q)
    gap = robot.contact_gaps(robot.initial_q)["floor"]
    assert deepest.depth == pytest.approx(-gap, abs=1e-15), name
    assert deepest.rounding == pytest.approx(0.02 + rounding)


def test_a_joint_that_the_file_drives_and_the_call_leaves_free():
    robot = sorosim.load(HINGES)
    assert (
        "nothing holds 'elbow.revolute', which the file drives"
        in sorosim.statics(robot, driven={"shoulder": 0.1}).message
    )
    (said,) = remarks_of(robot, driven={"shoulder": "0.1*t"})
    assert "nothing holds 'elbow.revolute', which the file drives" in said


def test_the_one_joint_that_nothing_holds():
    content = changed(HINGES, {"simulate.driven": {"shoulder": "0.1*t", "elbow": "0.1*t"}})
    (said,) = remarks_of(sorosim.load(content))
    assert "nothing holds 'wrist.revolute', and all other joints are driven" in said
    for held in ({"stiffness": "1 N*m/rad"}, {"damping": "0.1 N*m*s/rad"}, {"friction": "0.1 N*m"}):
        law = {"links.wrist.joint.revolute": {"axis": [0, 1, 0], **held}}
        assert remarks_of(sorosim.load(changed(content, law))) == []
    # a pendulum is free on purpose, and so is what is left of a chain that two motions do not drive
    assert remarks_of(sorosim.load(changed(HINGES, {"simulate.driven": {"shoulder": "0.1*t"}}))) == []


def test_steps_that_show_no_oscillation():
    robot = sorosim.load(changed(ARM, {"materials.rubber.damping": "100 Pa*s"}))
    slowest = robot.linearize(np.zeros(robot.ndof)).frequencies[0]
    few = 1.0 / (2.0 * slowest)
    said = remarks_of(robot, 20 * few, method="newmark", step=few)
    (words,) = [one for one in said if "show no oscillation" in one]
    assert float(re.search(r"slowest, (\S+) Hz", words)[1]) == pytest.approx(slowest, rel=5e-3)
    assert "has 2 of them in a period" in words
    assert not [one for one in remarks_of(robot, 0.1, method="newmark", step=few / 10) if "oscillation" in one]


def test_remarks_cost_a_fraction_of_a_motion():
    """Strains are evaluated for all rows at once, contacts and tendons at a few dozen rows."""
    robot = sorosim.load(BALL, set={"loads.floor.contact.stiffness": 2e4})
    calls, own = [], robot.engine.deepest_contact
    object.__setattr__(robot.engine, "deepest_contact", lambda q: calls.append(q) or own(q))
    sorosim.simulate(robot, 0.5, dt_out=1e-3)
    assert 2 < len(calls) <= 33
