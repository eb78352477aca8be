"""Bodies that touch, of public problems."""

import numpy as np
import pytest
from helpers.strangers import load, simulate
from scipy.integrate import solve_ivp

import sorosim


def test_a_box_on_a_slope_presses_its_lower_corners_more(agrees):
    run, _ = simulate(load("box_on_slope"))
    forces = np.sort(run.contacts.at(-1).normal_force)
    # moments about the centre, 10 cm above; edges are rounded by a hundredth, so corners touch at 98 mm
    right = 9.81 / 4 * (np.cos(np.radians(20)) + np.array([-1, -1, 1, 1]) * np.sin(np.radians(20)) / 0.98)
    agrees(
        "box on a slope of 20 deg: forces at its corners",
        forces,
        right,
        rtol=0.01,
        source="statics",
        unit="N",
        bound="rounding of edges",
    )


@pytest.mark.parametrize("degrees", [0, 30, 45])
@pytest.mark.parametrize("method", ["bdf", "generalized-alpha"])
def test_a_box_slides_straight_and_stops_by_coulombs_law(agrees, degrees, method):
    along = [float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees))), 0]
    robot = sorosim.load(
        {
            "sorosim": 1,
            "name": "sliding box",
            "links": {"box": {"joint": "free", "body": {"box": {"size": [0.1, 0.1, 0.02]}, "mass": 1}}},
            "loads": {
                "floor": {
                    "contact": {
                        "between": "box",
                        "and": {"half_space": {}},
                        "stiffness": 1e5,
                        "exponent": 1,
                        "onset": "1 um",
                        "damping": 2,
                        "friction": 0.3,
                        "slip_speed": "1 mm/s",
                    }
                }
            },
            "initial": {"box": {"position": [0, 0, 9.9755e-3], "velocity": along}},
            "simulate": {"t_end": 0.6, "dt_out": 5e-3},
        }
    )
    run, _ = simulate(robot, method=method)
    # v^2 / (2 mu g); below the slip speed it creeps: 0.2 s at 1 mm/s
    agrees(
        f"way of a sliding box, {method}",
        robot.pose(run.q[-1], "box")[:2, 3],
        np.multiply(along[:2], 1 / (0.6 * 9.81)),
        atol=2e-4,
        source="Coulomb",
        unit="m",
        bound="creep",
    )


def test_five_boxes_stand_on_each_other(agrees):
    box = {"joint": "free", "body": {"box": {"size": [0.1, 0.1, 0.1]}, "mass": 1}}
    touch = {"stiffness": "auto", "damping": 1, "friction": 0.5, "slip_speed": "1 mm/s"}
    robot = sorosim.load(
        {
            "sorosim": 1,
            "name": "stack",
            "links": {f"b{k}": box for k in range(5)},
            "loads": {"floor": {"contact": {"between": "b0", "and": {"half_space": {}}} | touch}}
            | {f"c{k}": {"contact": {"between": f"b{k}", "and": f"b{k + 1}"} | touch} for k in range(4)},
            "initial": {f"b{k}": {"position": [0, 0, 0.05 + 0.1 * k]} for k in range(5)},
            "simulate": {"t_end": 5, "dt_out": 0.02},
        }
    )
    run, _ = simulate(robot, method="generalized-alpha")
    contacts = run.contacts.at(-1)
    on_floor = float(contacts.force[np.asarray(contacts.load) == "floor", 2].sum())
    agrees("stack of five boxes: force on the floor", abs(on_floor), 5 * 9.81, rtol=1e-3, source="weight", unit="N",
           bound="boxes still settle")  # fmt: skip
    places = [robot.pose(run.q[-1], f"b{k}")[:3, 3] for k in range(5)]
    agrees(
        "stack of five boxes: places after 5 s",
        places,
        [[0, 0, 0.05 + 0.1 * k] for k in range(5)],
        atol=3e-3,
        source="rest",
        unit="m",
        bound="indentation and creep",
    )


def rattling(m, g, axes2, inertia):
    """Rolling without slip of an ellipsoid: rates of its angular velocity and of the vertical, in its axes."""

    def rates(t, y):
        w, up = y[:3], y[3:]
        n = np.sqrt(axes2 @ up**2)
        arm, up_rate = -axes2 * up / n, np.cross(up, w)
        arm_rate = -axes2 * up_rate / n + axes2 * up * (axes2 @ (up * up_rate)) / n**3
        hat = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
        force = m * (-np.cross(w, arm_rate) - np.cross(w, np.cross(w, arm)) + g * up)
        moment = -np.cross(w, inertia @ w) + np.cross(arm, force)
        return np.concatenate([np.linalg.solve(inertia - m * hat @ hat, moment), up_rate])

    return rates


@pytest.mark.slow
def test_a_rattleback_turns_back(agrees):
    c, s = np.cos(np.radians(10)), np.sin(np.radians(10))
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    inertia = turn @ np.diag([4e-6, 3e-5, 3.3e-5]) @ turn.T
    exact = solve_ivp(
        rattling(0.1, 9.81, np.array([0.1, 0.02, 0.015]) ** 2, inertia),
        (0, 1),
        [0.05, 0.3, -5, 0, 0, 1],
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
    )
    robot = load("rattleback")
    run, _ = simulate(robot, t_end=1.0)
    pose, rates = robot.pose(run.q[-1], "celt"), robot.jacobian(run.q[-1], "celt") @ run.qd[-1]
    # friction slips below 0.2 mm/s and the table gives: both take from the spin
    agrees(
        "rattleback: spin after 1 s, it began with -5 rad/s",
        (pose[:3, :3] @ rates[:3])[2],
        float(exact.y[:3, -1] @ exact.y[3:, -1]),
        rtol=0.03,
        source="rolling without slip, DOP853",
        unit="rad/s",
        bound="slip and indentation",
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bdf", "generalized-alpha"])
def test_two_driven_wheels_roll_along_their_circle(agrees, method):
    robot = load("two_wheels")
    run, _ = simulate(robot, method=method)
    poses = np.array([robot.pose(q, "base") for q in run.q])
    yaw = np.unwrap(np.arctan2(poses[:, 1, 0], poses[:, 0, 0]))
    axle = (poses @ [0.03, 0, 0, 1])[:, :3]
    way = np.hypot(*np.diff(axle[:, :2], axis=0).T).sum()
    rolled = run.t[-1] - 0.5
    agrees(
        f"two wheels at 9 and 10 rad/s: yaw after 30 s, {method}",
        yaw[-1],
        0.033 / 0.16 * rolled,
        rtol=1e-3,
        source="rolling",
        unit="rad",
        bound="slip",
    )
    agrees(
        f"two wheels at 9 and 10 rad/s: way after 30 s, {method}",
        way,
        0.033 * 9.5 * rolled,
        rtol=1e-3,
        source="rolling",
        unit="m",
        bound="slip",
    )


@pytest.mark.parametrize("method", ["bdf", "generalized-alpha"])
def test_a_ball_that_rolls_keeps_its_speed(agrees, method):
    robot = sorosim.load(
        {
            "sorosim": 1,
            "name": "rolling ball",
            "links": {"ball": {"joint": "free", "body": {"sphere": {"radius": 0.1}, "mass": 1}}},
            "loads": {
                "floor": {
                    "contact": {
                        "between": "ball",
                        "and": {"half_space": {}},
                        "stiffness": 1e6,
                        "damping": 0.3,
                        "friction": 0.3,
                        "slip_speed": "2 cm/s",
                    }
                }
            },
            "initial": {
                "ball": {"position": [0, 0, 99.9543e-3], "velocity": [2, 0, 0], "angular_velocity": [0, 20, 0]}
            },
            "simulate": {"t_end": 10, "dt_out": 0.05},
        }
    )
    run, _ = simulate(robot, method=method)
    # the point that touches lies an indentation of 46 um nearer than the radius of rolling: a slip of 1 mm/s at first
    agrees(
        f"rolling ball: way after 10 s, {method}",
        robot.pose(run.q[-1], "ball")[0, 3],
        20.0,
        rtol=1e-3,
        source="rolling",
        unit="m",
        bound="indentation over radius",
    )


@pytest.mark.parametrize("radius", [0.005, 0.015])
def test_the_flat_end_of_a_rod_touches_a_wall_where_it_is(agrees, radius):
    robot = sorosim.load(
        {
            "sorosim": 1,
            "gravity": [0, 0, 0],
            "materials": {"m": {"young": 1e6, "poisson": 0.5, "density": 1000}},
            "links": {
                "cart": {"joint": {"prismatic": {"axis": [1, 0, 0]}}},
                "finger": {
                    "parent": "cart",
                    "rod": {
                        "length": 0.1,
                        "section": {"circle": {"radius": radius}},
                        "material": "m",
                        "strain": {"bending": 2, "elongation": 0},
                    },
                },
            },
            "loads": {
                "wall": {
                    "contact": {
                        "between": "finger",
                        "stiffness": 1e5,
                        "and": {
                            "half_space": {},
                            "at": {"position": [0.12, 0, 0], "rotation": {"axis": [0, 1, 0], "angle": "-90 deg"}},
                        },
                    }
                }
            },
        }
    )
    (gap,) = robot.contact_gaps(np.zeros(robot.ndof)).values()
    agrees("gap between the end of a rod and a wall", gap, 0.02, atol=1e-9, source="geometry", unit="m")
