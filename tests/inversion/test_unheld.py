"""Motors on coordinates that nothing else holds, as along the rails of a gantry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.inversion.unheld import neutral_directions

MASSES = {"bridge": 8.0, "trolley": 2.0, "lift": 1.0}


def gantry(with_arm=False, **joints):
    """Three slides with motors; a soft arm with a tendon may hang on them."""
    links, parent = {}, "world"
    for axis, (name, mass) in zip(np.eye(3), MASSES.items(), strict=True):
        slide = {"prismatic": {"axis": axis.tolist(), **joints.get(name, {})}}
        links[name] = {"parent": parent, "joint": slide, "body": {"mass": mass, "inertia": [0.1, 0.1, 0.1]}}
        parent = name
    motors = {f"{name}_motor": {"joint": {"link": name}} for name in MASSES}
    content = {"sorosim": 1, "name": "gantry", "links": links, "actuators": motors}
    if with_arm:
        rod = {
            "length": "30 cm", "section": {"circle": {"radius": "8 mm"}}, "material": "silicone",
            "strain": {"bending": 3, "elongation": 1},
        }  # fmt: skip
        hanging = {"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}}
        links["arm"] = {"parent": "lift", "at": hanging, "rod": rod}
        content["materials"] = {"silicone": {"young": "500 kPa", "poisson": 0.5, "density": "1000 kg/m^3"}}
        motors["tendon"] = {"tendon": {"rod": "arm", "y": 0, "z": "5 mm"}}
    return sorosim.load(content)


def test_a_gantry_goes_where_it_shall_and_its_motors_carry_the_weight():
    robot = gantry()
    found = sorosim.inverse(robot, {"lift": ["30 cm", "20 cm", "-10 cm"]})
    assert found.reached
    assert_allclose(found.q, [0.3, 0.2, -0.1], atol=1e-12)
    assert_allclose(found.u, [0.0, 0.0, MASSES["lift"] * 9.81], atol=1e-9)
    assert found.driven == {}
    assert_allclose(found.equilibrium.tip("lift"), [0.3, 0.2, -0.1], atol=1e-12)
    assert "nothing but their motors holds bridge.prismatic" in found.message


def test_under_the_forces_that_are_found_nothing_accelerates():
    robot = gantry(with_arm=True)
    found = sorosim.inverse(robot, {"arm": ["30 cm", "20 cm", "-40 cm"]}, bounds={"tendon": ("1 N", "6 N")})
    assert found.reached
    assert_allclose(robot.pose(found.q, "arm")[:3, 3], [0.3, 0.2, -0.4], atol=1e-8)
    assert 1.0 <= found.u[robot.actuator_names.index("tendon")] <= 6.0
    at_rest = robot.inverse_dynamics(found.q, np.zeros(robot.ndof), qdd=np.zeros(robot.ndof))
    applied = robot.internal_force(found.q, np.zeros(robot.ndof), u=found.u)
    assert_allclose(applied, at_rest, atol=1e-7)


def test_motors_beside_springs_stay_unknowns():
    robot = gantry(lift={"stiffness": "100 N/m"})
    found = sorosim.inverse(robot, {"lift": [0.3, 0.2, -0.1]}, bounds={"lift_motor": ("-50 N", "50 N")})
    assert found.reached
    # m g + k z
    assert found.u[2] == pytest.approx(MASSES["lift"] * 9.81 - 100.0 * 0.1, abs=1e-6)
    assert "lift.prismatic" not in found.message


def test_a_force_beyond_its_bounds_is_told():
    found = sorosim.inverse(gantry(), {"lift": [0.3, 0.2, -0.1]}, bounds={"lift_motor": ("-5 N", "5 N")})
    assert not found.reached
    assert found.active == {"lift_motor": 5.0}
    assert "beyond their bounds: lift_motor" in found.message


def test_along_a_path_a_gantry_follows_point_by_point():
    points = [[0.3, 0.2, -0.1], [0.35, 0.1, 0.0]]
    path = sorosim.inverse_path(gantry(), {"lift": points})
    assert path.reached.all()
    assert_allclose(path.q, points, atol=1e-12)


def test_one_of_two_slides_along_the_same_way_is_held_by_a_spring_to_the_other():
    # the slides share a direction without stiffness: the sum of both
    slide = {"prismatic": {"axis": [1, 0, 0]}}
    body = {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}
    second = {"prismatic": {"axis": [1, 0, 0], "stiffness": "50 N/m"}}
    links = {"a": {"joint": slide, "body": body}, "b": {"parent": "a", "joint": second, "body": body}}
    content = {"sorosim": 1, "name": "pair", "links": links, "actuators": {"push": {"joint": {"link": "a"}}}}
    robot = sorosim.load(content)
    null = neutral_directions(StaticSystem(robot, np.zeros(1), {}), np.zeros(2))
    assert len(null) == 1
    assert null[0, 1] == pytest.approx(0.0, abs=1e-9 * abs(null[0, 0]))
    found = sorosim.inverse(robot, {"b": [0.5, None, None]})
    assert found.reached
    assert_allclose(found.u, 0.0, atol=1e-9)


def test_what_neither_motor_nor_spring_holds_is_named():
    links = {
        "free": {"joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}},
        "turn": {"parent": "free", "joint": {"revolute": {"axis": [0, 1, 0], "stiffness": "2 N*m/rad"}},
                 "body": {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}},
    }  # fmt: skip
    content = {"sorosim": 1, "name": "loose", "links": links, "actuators": {"m": {"joint": {"link": "turn"}}}}
    with pytest.raises(sorosim.ConvergenceError, match=r"nothing holds free\.prismatic"):
        sorosim.inverse(sorosim.load(content), {"turn": [0.1, None, None]})
