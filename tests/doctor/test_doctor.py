"""The doctor: says nothing about sound robots, and names what looks odd or is wrong."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
import yaml
from helpers.python_load import OwnLoad

import sorosim
from sorosim.analysis.equations.contact_check import estimate, fastest
from sorosim.analysis.equations.failure import diagnose_statics
from sorosim.analysis.equations.system import StaticSystem
from sorosim.base.errors import ConvergenceError
from sorosim.files import load_text
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.servo import Servo
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor import NOTE, ODD, OK, WRONG, examine
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.joints import driven
from sorosim.studies.doctor.quadrature import missed
from tests.helpers.arms import rubber_arm

SOUND = rubber_arm()


def findings(**changes):
    return examine(sorosim.load(SOUND, set=changes))


def test_a_sound_robot_is_sound():
    found = findings()
    assert {finding.level for finding in found} == {OK}
    assert any("agree with differences to" in finding.what for finding in found)
    assert any("0.09425 kg" in finding.what for finding in found)


@pytest.mark.parametrize(
    ("path", "value", "where", "what"),
    [
        ("materials.rubber.young", "20 Pa", "material of links.arm.rod", "Young's modulus 20 Pa"),
        ("materials.rubber.density", "1 kg/m^3", "material of links.arm.rod", "density 1 kg/m^3"),
        ("materials.rubber.damping", "0 Pa*s", "material of links.arm.rod", "no damping"),
        ("links.arm.rod.length", "300 m", "links.arm.rod", "length 300 m"),
        ("links.arm.rod.length", "5 cm", "links.arm.rod", "length is 2.5 thicknesses, without shear"),
        (
            "links.arm.rod.section",
            "{circle: {radius: '1 cm*(1 + 0.4*sin(8*pi*s))'}}",
            "links.arm.rod.quadrature",
            "4 Gauss points for this basis and section miss",
        ),
        ("gravity", "[0, 0, -981]", "gravity", "981 m/s^2"),
        ("actuators.pull.tendon.z", "0", "actuators.pull", "moves nothing"),
        ("materials.rubber.young", "2 kPa", "equilibrium", "unstably"),
    ],
)
def test_what_looks_odd_is_named(path, value, where, what):
    changes = {path: value}
    if what == "moves nothing":
        changes["links.arm.rod.strain"] = "{bending: 3}"
    if where.endswith("quadrature"):
        changes["links.arm.rod.quadrature"] = 4
    if what == "unstably":  # a column under its own weight
        changes |= {"gravity": "[-9.81, 0, 0]"}
    odd = [finding for finding in findings(**changes) if finding.level == ODD]
    assert any(finding.where == where and what in finding.what for finding in odd), odd
    assert all(finding.remedy for finding in odd)


@dataclass(frozen=True)
class Careless:
    """A spring whose tangent is forgotten."""

    nodes: object = field(default_factory=lambda: np.array([8]))
    places = (("arm", 1.0),)
    dissipates = False

    def bind(self, layout):
        return replace(self, nodes=np.array([layout.link("arm").node_at(1.0)]))

    def evaluate(self, t, g, eta):
        f = np.zeros((1, 6))
        f[0, 3:] = -30.0 * g[0, :3, :3].T @ g[0, :3, 3]
        return LoadValues(f, np.zeros((1, 6, 6)), np.zeros((1, 6, 6)))


def test_a_load_without_its_tangent_is_wrong():
    robot = sorosim.load(SOUND).with_loads(spring=Careless())
    wrong = [finding for finding in examine(robot) if finding.level == WRONG]
    assert len(wrong) == 1
    assert "inverse dynamics by q misses differences by" in wrong[0].what
    assert "look at its tangents" in wrong[0].remedy


def with_palm(body):
    palm = {"parent": "arm", "body": yaml.safe_load(body)}
    return examine(sorosim.load({**SOUND, "links": {**SOUND["links"], "palm": palm}}))


@pytest.mark.parametrize(
    ("body", "where", "what", "remedy"),
    [
        ("{box: {size: [1, 1, 1]}, mass: 1 g}", "links.palm.body", "density 0.001 kg/m^3 by its mass", "in mm or cm?"),
        ("{sphere: {radius: 1 cm}, density: 1.2}", "links.palm.body", "density 1.2 kg/m^3", "in g/cm^3?"),
        ("[{sphere: {radius: 1 cm}, density: 1000}, {sphere: {radius: 1 mm}, mass: 1 kg}]", "links.palm.body[1]",
         "density 2.387e+08 kg/m^3 by its mass", "in mm or cm?"),
        ("{mesh: {vertices: [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], faces: [[0, 2, 1], [0, 1, 3], [0, 3, 2], "
         "[1, 2, 3]]}, mass: 1 kg}", "links.palm.body", "density 0.00823 kg/m^3 by its mass", "in mm or cm?"),
    ],
)  # fmt: skip
def test_a_body_of_an_odd_density_is_named(body, where, what, remedy):
    found = with_palm(body)
    odd = [finding for finding in found if finding.what == what]
    assert [(finding.level, finding.where) for finding in odd] == [(ODD, where)], found
    assert remedy in odd[0].remedy


def test_a_body_of_a_usual_density_is_sound():
    found = with_palm("{sphere: {radius: 1 cm}, density: 1000}")
    assert not [finding for finding in found if "palm" in finding.where]


def test_a_mesh_in_a_wrong_unit_is_named(tmp_path):
    trimesh.creation.box((80.0, 40.0, 20.0)).export(tmp_path / "palm.stl")
    for scale, expected in (("", ["a mesh of 80 m"]), (", scale: 1 mm", [])):
        found = with_palm(f"{{mesh: {{file: {tmp_path / 'palm.stl'}{scale}}}, density: 1200}}")
        named = [finding.what for finding in found if finding.where == "links.palm.body"]
        assert named == expected


def with_blocks(name, **blocks):
    """A bundled robot with other blocks, as a program makes one: files are refused where these are checked."""
    return sorosim.Robot(replace(sorosim.load(name).description, initial={}, initial_rates={}, **blocks))


@pytest.mark.parametrize(
    ("driven", "where", "what"),
    [
        ({"lower": 0.0, "lower.revolute": 0.0}, "simulate.driven.lower.revolute", "expected every coordinate once"),
        ({"lower": "0.1*t"}, "simulate.driven.lower", "expected a motion or a motor, one of them"),
        ({"upper": "abs(t - 1)"}, "simulate.driven.upper", "a motion with a continuous rate"),
    ],
)
def test_motions_that_conflict_are_wrong(driven, where, what):
    actuators = {"motor": JointForce("lower")} if "motor" in what else {}
    robot = with_blocks("double_pendulum", simulate={"t_end": 2.0, "driven": driven}, actuators=actuators)
    wrong = [finding for finding in examine(robot) if finding.level == WRONG]
    assert [finding.where for finding in wrong] == [where]
    assert what in wrong[0].what


def test_a_leaf_that_bends_in_its_plane_is_as_thin_as_it_is():
    """Ribs of the fin ray are 1 mm thick where they bend and 1 cm across, where they cannot."""
    assert [finding for finding in examine(sorosim.load("fin_ray")) if "thicknesses" in finding.what] == []


def test_redundant_loops_are_named_with_their_conditions():
    (reported,) = [f for f in examine(sorosim.load("four_bar")) if f.where == "loops" and f.level == NOTE]
    # a planar hinge in space: two of its five conditions are needed
    assert "5 conditions of 1 loop, 2 of them independent" in reported.what
    assert "3 of 'pin'" in reported.what
    assert reported.value == 3.0


def test_a_number_comes_with_most_findings():
    found = examine(sorosim.load(SOUND, set={"gravity": "[0, 0, -981]"}))
    (reported,) = [finding for finding in found if finding.where == "gravity"]
    assert (reported.level, reported.value, reported.unit) == (ODD, pytest.approx(981.0), "m/s^2")


def test_what_a_locked_strain_would_do_is_that_of_a_hanging_rod():
    """Its mean stretch by its own weight is rho g L / 2 E; Gauss quadrature of a linear force is exact."""
    changes = {"gravity": "[9.81, 0, 0]", "links.arm.rod.strain": "{bending: 2}", "materials.rubber.young": "20 kPa"}
    (reported,) = [f for f in examine(sorosim.load(SOUND, set=changes)) if "is locked" in f.what]
    assert reported.where == "links.arm.rod.strain"
    assert reported.value == pytest.approx(100.0 * 1000.0 * 9.81 * 0.3 / 2.0 / 20e3, rel=1e-9)
    assert reported.level == NOTE


def test_the_quadrature_of_a_uniform_rod_is_exact():
    """As many points as functions integrate the stiffness of a uniform rod exactly, and not that of a cone."""
    uniform = SOUND["links"]["arm"]["rod"]
    for radius, expected in (("1 cm", 0.0), (["1 cm", "6 mm"], 0.1)):
        rod = {**uniform, "section": {"circle": {"radius": radius}}, "strain": {"bending": 3}, "quadrature": 4}
        division = sorosim.load({**SOUND, "links": {"arm": {"rod": rod}}}).links[0].rod.divisions[0]
        found = missed(division)
        assert (found.stiffness < 1e-12) == (expected == 0.0)
        # against many more points, by the definition of the error
        many = replace(division, quadrature=60)
        K, exact = division.matrices[0], many.matrices[0]
        ratio = np.linalg.eigvals(np.linalg.solve(exact, K)).real
        assert found.stiffness == pytest.approx(np.abs(ratio - 1.0).max(), abs=1e-10)


def test_a_joint_that_falls_without_its_motor_is_no_lack_of_stiffness():
    """A lift has no rest without its motor; a rod that is too soft for its weight has none either, and that is odd."""
    lift = {
        "joint": {"prismatic": {"axis": [0, 0, 1]}},
        "body": {"box": {"size": [0.1, 0.1, 0.1]}, "density": 500},
    }
    arm = {**SOUND["links"]["arm"], "parent": "lift"}
    found = examine(sorosim.load({**SOUND, "links": {"lift": lift, "arm": arm}}))
    assert [f for f in found if f.level in (ODD, WRONG)] == []
    assert any(f.where == "equilibrium" and "nothing holds 'lift.prismatic'" in f.what for f in found)


def test_a_load_with_a_short_pulse_is_no_mistake():
    pulse = "smoothstep((t - 1.234)/0.001)*smoothstep((1.237 - t)/0.001)"
    loads = {"hit": {"wrench": {"link": "arm", "force": [0, 0, pulse]}}}
    found = examine(sorosim.load({**SOUND, "loads": loads, "simulate": {"t_end": "2 s", "dt_out": "1 ms"}}))
    assert {f.level for f in found if f.where == "loads.hit"} <= {OK, NOTE}


PRACTICAL = yaml.safe_load((Path(__file__).parent / "practical.yaml").read_text(encoding="utf-8"))


def practical(name, **changes):
    return examine(sorosim.load({"name": name, **PRACTICAL[name]}, set=changes))


def test_a_contact_is_judged_by_what_it_carries_and_not_by_the_driven_arm():
    """A ball of 50 g against fingers of 15 kg of arm; a floor below a vehicle carries all that hangs together."""
    found = {f.where: f for f in practical("ball of 50 g beside a driven arm") if f.code.startswith("contact.")}
    weights = {where: float(re.search(r"the weight of (\S+) N", f.what)[1]) for where, f in found.items()}
    finger = 1080 * np.pi * 0.1 * (9e-3**2 + 9e-3 * 6e-3 + 6e-3**2) / 3 * 9.81
    assert weights["loads.table"] == pytest.approx(0.05 * 9.81, rel=1e-2)
    assert weights["loads.grip"] == pytest.approx(min(finger, 0.05 * 9.81), rel=1e-2)
    assert {f.level for f in found.values()} == {OK}
    (soft,) = [f for f in practical("ball of 50 g beside a driven arm", **{"loads.table.contact.stiffness": 0.1})
               if f.code == "contact.soft"]  # fmt: skip
    assert (soft.where, soft.level) == ("loads.table", ODD)


def test_what_loops_join_presses_together():
    weights = {}
    for loops in ({}, {"pin": {"from": {"link": "left"}, "to": {"link": "right"}, "joint": "spherical"}}):
        links = {
            name: {"at": {"position": [0, y, 0.11]}, "joint": {"prismatic": {"axis": [0, 0, 1]}},
                   "body": {"sphere": {"radius": 0.1}, "mass": mass}}
            for name, y, mass in (("left", 0.0, 1.0), ("right", 0.0, 2.0))
        }  # fmt: skip
        floor = {"contact": {"between": "left", "and": {"half_space": {}}, "stiffness": "1e5 N/m^1.5"}}
        robot = sorosim.load({"sorosim": 1, "name": "two", "links": links, "loads": {"floor": floor}, "loops": loops})
        weights[bool(loops)] = estimate(robot, "floor").weight
    assert weights == {False: pytest.approx(9.81), True: pytest.approx(3 * 9.81)}


def test_driven_coordinates_of_the_statics_block_are_held():
    found = practical("arm whose equilibrium is driven")
    assert not [f for f in found if "elbow.revolute" in f.what]
    (rests,) = [f for f in found if f.code == "equilibrium.found"]
    assert rests.level == OK


def test_damping_of_materials_is_judged_by_the_oscillations_of_rods():
    """The slowest oscillation is that of a pendulum without friction, which no damping of the tail ends."""
    name = "pendulum that carries a soft tail"
    assert not [f for f in practical(name) if f.code == "motion.rings"]
    (rings,) = [f for f in practical(name, **{"materials.silicone.damping": "1 mPa*s"}) if f.code == "motion.rings"]
    slowest = float(re.search(r"rods, (\S+) Hz", rings.what)[1])
    assert slowest > 3.0  # the pendulum has 0.86 Hz
    factor = float(re.search(r"needs (\S+) times", rings.remedy)[1])
    better = {"materials.silicone.damping": 1e-3 * factor}
    context = CheckContext(sorosim.load({"name": name, **PRACTICAL[name]}, set=better))
    (mode, *_) = [mode for mode in context.oscillations if mode.of_rods > 0.5]
    assert mode.damping_ratio == pytest.approx(0.01, rel=0.1)


def test_runs_are_not_measured_by_how_what_floats_moves_as_a_whole():
    found = practical("moored platform with an arm")
    assert not [f for f in found if f.where.startswith("simulate")]
    (short,) = [f for f in practical("moored platform with an arm", **{"simulate.t_end": 0.001})
                if f.code == "run.short"]  # fmt: skip
    period = float(re.search(r"period, (\S+) s", short.what)[1])
    assert period < 1.0  # that of the arm, and not the minutes of the rope


def test_findings_are_plain_data(tmp_path):
    import json

    from typer.testing import CliRunner

    from sorosim.connect.cli.main import app

    (tmp_path / "arm.yaml").write_text(sorosim.load(SOUND, set={"materials.rubber.density": 1.0}).to_yaml())
    reported = CliRunner().invoke(app, ["check", str(tmp_path / "arm.yaml"), "--json"])
    content = json.loads(reported.output, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert content["counts"]["odd"] == sum(f["level"] == "odd" for f in content["findings"]) > 0
    assert set(content["findings"][0]) == {"level", "where", "what", "remedy", "value", "unit", "code", "change"}
    assert reported.exit_code == 0
    broken = {
        **SOUND,
        "links": {**SOUND["links"], "end": {"parent": "arm", "joint": {"revolute": {"axis": [0, 1, 0]}}}},
    }
    (tmp_path / "broken.yaml").write_text(sorosim.load(broken).to_yaml())
    assert CliRunner().invoke(app, ["check", str(tmp_path / "broken.yaml")]).exit_code == 1


def end_moment(damping):
    """A round rod under a moment about a fixed axis at its end, which has no potential (Nikolai's paradox)."""
    material = {"young": "1 MPa", "poisson": 0.5, "density": "1100 kg/m^3", "damping": damping}
    rod = {"length": "30 cm", "section": {"circle": {"radius": "8 mm"}}, "material": "rubber",
           "strain": {"bending": 3, "torsion": 2}}  # fmt: skip
    loads = {"end": {"wrench": {"link": "rod", "moment": [-0.009, 0.014, 0.002]}}}
    content = {"sorosim": 1, "name": "rod", "gravity": [0, 0, 0], "materials": {"rubber": material}, "loads": loads}
    return sorosim.load(content | {"links": {"rod": {"rod": rod}}})


def test_a_dead_end_moment_flutters_and_does_not_buckle():
    robot = end_moment("0 Pa*s")
    eq = sorosim.statics(robot)
    growth = eq.linearize().growth
    assert (growth.buckling, growth.flutter > 0, eq.stability) == (0, True, "unstable (flutter)")
    (reported,) = [f for f in examine(robot) if f.where == "equilibrium"]
    assert reported.level == NOTE
    assert "flutters at" in reported.what
    assert "buckl" not in reported.what + reported.remedy
    # a complex pair of the tangent is no limit of the load
    assert "gives way" not in diagnose_statics(StaticSystem(robot, eq.u, {}), eq.q).words
    needed = float(re.search(r"damping of materials of (\S+) s times their young", reported.remedy)[1])
    assert sorosim.statics(end_moment(f"{1e6 * needed} Pa*s")).stable


def test_each_check_is_told_before_it_begins():
    reported = []
    found = examine(sorosim.load(SOUND), progress=lambda *now: reported.append(now))
    assert [k for _, k, _ in reported] == list(range(1, reported[0][2] + 1))
    assert len(found) >= len(reported) > 20


GROWING = """sorosim: 1
name: growing rod above a floor
materials: {m: {young: 2 MPa, poisson: 0.5, density: 1100}}
links:
  v:
    joint: growth
    rod: {length: 30 cm, section: {circle: {radius: 1 cm}}, material: m, strain: {bending: 2, elongation: 1}}
    at: {rotation: {axis: [0, 1, 0], angle: -80 deg}}
loads: {c: {contact: {between: v, and: {half_space: {}, at: {position: [0, 0, -10 cm]}}, stiffness: auto}}}
"""


def test_contacts_of_what_has_no_inertia_are_checked_without_a_traceback():
    found = examine(load_text(GROWING, "robot.yaml"))
    assert any(one.code == "mass.no_inertia" and "'v.growth'" in one.what for one in found)
    assert any(one.code.startswith("contact") for one in found)


def test_the_fastest_motion_is_one_that_has_inertia(rng):
    A, B = rng.normal(size=(2, 5, 5))
    K, M = A @ A.T, B @ B.T
    np.testing.assert_allclose(fastest(K, M), np.linalg.eigvals(np.linalg.solve(M, K)).real.max(), rtol=1e-9)
    without = np.zeros((6, 6))
    without[:5, :5] = M
    np.testing.assert_allclose(fastest(np.pad(K, (0, 1)) + np.eye(6), without), fastest(K + np.eye(5), M), rtol=1e-9)
    assert fastest(np.eye(2), np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("singular"), ConvergenceError("nothing was found")])
def test_a_check_that_comes_to_no_end_says_so(monkeypatch, error):
    def fails(context):
        raise error
        yield

    monkeypatch.setattr(sorosim.studies.doctor, "CHECKS", (fails,))
    found = examine(sorosim.load(SOUND))
    assert (found[0].code, found[0].level) == ("not_checked", ODD)
    assert str(error) in found[0].what


@pytest.mark.parametrize("always", [True, False])
def test_a_load_of_a_user_that_fails_is_named(always):
    def fails(t, g, eta):  # everywhere, or where the robot is bent
        if always or abs(g[0, 2, 3]) > 1e-12:
            raise ZeroDivisionError("by nothing")
        return LoadValues(np.zeros((1, 6)), np.zeros((1, 6, 6)), np.zeros((1, 6, 6)))

    found = examine(sorosim.load(SOUND).with_loads(own=OwnLoad(fails)))
    assert any(one.level == WRONG and "ZeroDivisionError: by nothing" in one.what for one in found)
    assert any("loads.own" in one.where or "loads.own" in one.what for one in found)


EEL = {
    "sorosim": 1, "name": "eel", "gravity": [0, 0, 0],
    "materials": {"m": {"young": 1e5, "poisson": 0.45, "density": 1000, "damping": 1e3}},
    "links": {"r": {"joint": "free", "rod": {"length": 0.3, "section": {"circle": {"radius": 0.01}}, "material": "m",
                    "strain": {"bending": 3, "elongation": 1}}}},
    "actuators": {"t": {"tendon": {"rod": "r", "y": 0.0, "z": 0.005}}},
    "simulate": {"t_end": 1.0, "u": {"t": "8*sin(3*t)^2"}},
}  # fmt: skip


def test_what_floats_is_strained_by_its_inputs_as_if_it_were_held():
    held = {**EEL, "links": {"r": {**EEL["links"]["r"], "joint": "fixed"}}}
    one, other = (
        next(f for f in examine(sorosim.load(robot)) if f.code == "equilibrium.strain" and "inputs" in f.what)
        for robot in (EEL, held)
    )
    np.testing.assert_allclose(one.value, other.value, rtol=1e-6)
    assert "'r' held and without weight" in one.what


GRIPPED = {
    "sorosim": 1, "name": "gripped", "gravity": [0, 0, 0],
    "materials": {"m": {"young": 1e6, "poisson": 0.45, "density": 1000, "damping": 1e3}},
    "links": {
        "x": {"joint": {"prismatic": {"axis": [1, 0, 0]}}},
        "z": {"parent": "x", "joint": {"prismatic": {"axis": [0, 0, 1]}}},
        "turn": {"parent": "z", "joint": {"revolute": {"axis": [0, 1, 0]}}},
        "r": {"rod": {"length": 0.3, "section": {"circle": {"radius": 0.003}}, "material": "m",
                      "strain": {"bending_y": 5}}},
    },
    "loops": {"grip": {"joint": "fixed", "from": "r", "to": {"link": "turn", "at": {"position": [0.3, 0, 0]}}}},
}  # fmt: skip


@pytest.mark.parametrize(("x", "wrong"), [(-0.03, False), (0.02, True)], ids=["nearer", "farther than the rod is long"])
def test_a_straight_rod_whose_grip_is_driven_is_judged_where_the_motion_leads(x, wrong):
    robot = sorosim.load({**GRIPPED, "statics": {"driven": {"x": x, "z": 0.0, "turn": 0.0}}})
    assert wrong == any(one.code == "driven.loops" for one in driven(CheckContext(robot)))


def test_modes_of_a_platform_on_elastic_legs_are_not_rigid_ones():
    def leg(x):
        turned = {"position": [x, 0, 0], "rotation": {"axis": [0, 1, 0], "angle": "-90 deg"}}
        rod = {"length": 0.2, "section": {"circle": {"radius": 0.002}}, "material": "m"}
        return {"at": turned, "rod": {**rod, "strain": {"bending": 3, "torsion": 1, "elongation": 1}}}

    def foot(name):
        return {"joint": "fixed", "from": name, "to": {"link": "plate", "at": {"as_built": True}}}

    plate = {"body": {"box": {"size": [0.3, 0.1, 0.01]}, "mass": 0.5}, "at": {"position": [0, 0, 0.2]}}
    table = {
        "sorosim": 1, "name": "table", "gravity": [0, 0, 0],
        "materials": {"m": {"young": 2e9, "poisson": 0.3, "density": 1000, "damping": 1e5}},
        "links": {"a": leg(-0.1), "b": leg(0.1), "plate": {"joint": "free", **plate}},
        "loops": {"one": foot("a"), "two": foot("b")},
    }  # fmt: skip
    context = CheckContext(sorosim.load(table))
    slowest = context.oscillations[0].frequency / (2.0 * np.pi)
    np.testing.assert_allclose(slowest, context.frequencies.min(), rtol=1e-6)


def test_a_solid_section_beside_chambers_is_told_by_how_much_it_is_too_stiff():
    def found(section, chamber):
        rod = {"length": "5 cm", "section": section, "material": "rubber", "strain": {"bending": 2, "shear": 1}}
        angles = ("0", "2*pi/3", "4*pi/3")
        robot = sorosim.load({
            "sorosim": 1, "name": "arm",
            "materials": {"rubber": {"young": "1 MPa", "poisson": 0.49, "density": 1000, "damping": "1 kPa*s"}},
            "links": {"arm": {"rod": rod}},
            "actuators": {f"c{k}": {"chamber": chamber(k, angle)} for k, angle in enumerate(angles)},
        })  # fmt: skip
        return [one for one in examine(robot) if one.code.startswith("chamber.")]

    def beside(k, angle, area="pi*(4 mm)^2"):
        return {"rod": "arm", "y": f"8.5 mm*cos({angle})", "z": f"8.5 mm*sin({angle})", "area": area}

    (one,) = found({"circle": {"radius": "12.5 mm"}}, beside)
    # solid pi/4 R^4, the holes 3 (pi/4 r^4 + pi r^2 c^2/2)
    solid, holes = 12.5**4 / 4, 3 * (4.0**4 / 4 + 16 * 8.5**2 / 2)
    assert (one.code, one.level) == ("chamber.solid", "note")
    assert f"{solid / (solid - holes):.3g} times as stiff" in one.what
    drilled = {"circle": {"radius": "12.5 mm", "holes": [{"circle": {"radius": "3 mm"}, "y": "8 mm", "repeat": 3}]}}
    assert found(drilled, lambda k, angle: {"rod": "arm", "hole": k}) == []
    codes = {one.code for one in found({"circle": {"radius": "11 mm"}}, beside)}
    assert codes == {"chamber.solid", "chamber.outside"}


def test_servos_in_texts_of_python_are_judged():
    body = RigidBody(1.0, centre=(0.1, 0.0, 0.0), inertia=(0.1, 0.12, 0.15))
    link = Link("bob", body, joint=Joint("revolute", axis=(0, 1, 0)))
    soft = {"hold": Servo("bob", stiffness="5 N*mm/rad", limit="2 N*m")}
    assert ("servo.soft", "actuators.hold") in {
        (f.code, f.where) for f in examine(Robot(Description("bob", (link,), actuators=soft)))
    }


def test_servos_of_a_ball_are_judged_by_the_load_about_their_axes_where_it_starts():
    """Turned by a quarter about z, the weight of an arm along x turns it about -x of the world: its own -y."""
    body = RigidBody(1.0, centre=(0.1, 0.0, 0.0), inertia=(0.1, 0.12, 0.15))
    link = Link("bob", body, joint=Joint("spherical"))
    held = {a: Servo("bob", a, stiffness=100.0, limit=0.5) for a in ("rx", "ry", "rz")}
    start = {"bob.spherical.rz": 0.5 * np.pi}
    robot = Robot(Description("bob", (link,), actuators=held, initial=start))
    loads = [CheckContext(robot).load_against(servo) for servo in held.values()]
    assert loads == pytest.approx([0.0, 0.981, 0.0], abs=1e-9)
    assert {f.where for f in examine(robot) if f.code == "servo.weak"} == {"actuators.ry"}
