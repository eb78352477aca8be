"""Rods of public problems: wound, bonded, heavy, twisted, towed, of two stiffnesses."""

import numpy as np
import pytest
from helpers.strangers import simulate
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, root

import sorosim

SOFT = {"m": {"young": 1e6, "poisson": 0.5, "density": 1000}}
HINGE = {"revolute": {"axis": [0, 1, 0]}}


# -- ten turns by an end moment (after Ibrahimbegovic 1997)


def wound(moment, force, strain_order, **rod):
    """A cantilever of 10 m, EI = GJ = 100, EA = GA = 1e4, under a moment about z and a force along z at its end."""
    strain = dict.fromkeys(("bending", "torsion", "elongation", "shear"), strain_order)
    section = {"properties": {"area": 1.0, "Iy": 0.01, "Iz": 0.01, "J": 0.01}}
    return sorosim.load(
        {
            "sorosim": 1,
            "gravity": [0, 0, 0],
            "materials": {"m": {"young": 1e4, "shear": 1e4, "density": 1.0}},
            "links": {"rod": {"rod": {"length": 10, "section": section, "material": "m", "strain": strain} | rod}},
            "loads": {"end": {"wrench": {"link": "rod", "moment": [0, 0, moment], "force": [0, 0, force]}}},
        }
    )


def shot(moment, force, guess):
    """The place of its end by shooting on Cosserat's equations."""
    m, f = np.array([0, 0, moment]), np.array([0, 0, force])

    def rates(s, y, end):
        R = y[3:].reshape(3, 3)
        k = R.T @ (m + np.cross(end - y[:3], f)) / 100.0
        v = np.array([1.0, 0, 0]) + R.T @ f / 1e4
        hat = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
        return np.concatenate([R @ v, (R @ hat).ravel()])

    def ends_at(end):
        start = np.concatenate([np.zeros(3), np.eye(3).ravel()])
        return solve_ivp(rates, (0, 10), start, args=(end,), rtol=1e-10, atol=1e-12, method="DOP853").y[:3, -1]

    return root(lambda end: ends_at(end) - end, guess, tol=1e-11).x


def test_a_cantilever_wound_once_ends_where_shooting_has_it(agrees):
    guess = np.array([10.0, 0, 0])
    for part in np.linspace(0.02, 0.1, 5):
        guess = shot(200 * np.pi * part, 50 * part, guess)
    eq = sorosim.statics(wound(200 * np.pi * 0.1, 5.0, 8))
    agrees(
        "rod wound once by an end moment: tip, order 8",
        eq.tip(),
        guess,
        atol=5e-3,
        source="shooting",
        unit="m",
        bound="order of the strains",
    )


@pytest.mark.slow
def test_a_cantilever_wound_ten_times_ends_where_shooting_has_it(agrees):
    guess = np.array([10.0, 0, 0])
    for part in np.arange(0.02, 1.0001, 0.02):
        guess = shot(200 * np.pi * part, 50 * part, guess)
    eq = sorosim.statics(wound(200 * np.pi, 50.0, 4, divisions=20))
    agrees(
        "rod wound ten times by an end moment: tip, 20 divisions of order 4",
        eq.tip(),
        guess,
        atol=1e-3,
        source="shooting",
        unit="m",
        bound="order of the strains",
    )


# -- ropes


def rope(span=0.6, order=10, **more):
    return sorosim.load(
        {
            "sorosim": 1,
            "materials": {"m": SOFT["m"] | more.pop("damping", {})},
            "links": {
                "rope": {
                    "joint": HINGE,
                    "rod": {
                        "length": 1.0,
                        "section": {"circle": {"radius": 1e-3}},
                        "material": "m",
                        "strain": {"bending_y": order},
                    },
                }
            },
            "loops": {"end": {"joint": HINGE, "from": "rope", "to": {"at": {"position": [span, 0, 0]}}}},
            "simulate": {"q0": "assembled"},
        }
        | more
    )


def sag_of(robot, q):
    return -robot.poses(q, "rope", s=np.linspace(0, 1, 401))[:, 2, 3].min()


@pytest.mark.parametrize(
    "start",
    [{}, {"initial": {"rope": {"through": [[0, 0, 0], [0.3, 0, -0.3], [0.6, 0, 0]]}}}],
    ids=["straight", "through points"],
)
def test_a_rope_hangs_as_a_catenary_from_any_start(agrees, start):
    a = brentq(lambda a: 2 * a * np.sinh(0.3 / a) - 1.0, 0.05, 5)
    robot = rope(**start)
    eq = sorosim.statics(robot)
    # its stiffness lifts it by (EI / (T L^2))^(1/2) of its span at the ends
    agrees(
        "sag of a rope of 1 m over 60 cm",
        sag_of(robot, eq.q),
        a * (np.cosh(0.3 / a) - 1),
        atol=1e-3,
        source="catenary",
        unit="m",
        bound="bending stiffness and order",
    )


@pytest.mark.slow
def test_damping_does_not_change_how_far_a_rope_sags(agrees):
    rest = sag_of(rope(), sorosim.statics(rope()).q)
    # a rope without mass damping still swings after 20 s
    for damping in ({"damping": 1e4, "mass_damping": 20}, {"stiffness_damping": 1.0, "mass_damping": 10}):
        robot = rope(damping=damping)
        run, _ = simulate(robot, t_end=20.0, dt_out=0.1, method="generalized-alpha")
        assert np.abs(run.qd[-1]).max() < 1e-4, "it has come to rest"
        agrees("sag of a damped rope after 20 s", sag_of(robot, run.q[-1]), rest, atol=1e-5, source="statics", unit="m")


# -- rods that share ends


def bonded(eps, load, glued, order=3):
    length, b, h = 0.2, 0.01, 0.002

    def rod(reference):
        rod = {
            "length": length,
            "section": {"rectangle": {"y": h, "z": b}},
            "material": "m",
            "strain": {"bending_z": order, "elongation": order},
            "divisions": glued,
        }
        return rod | ({"reference": {"elongation": 1 + reference}} if reference else {})

    loops = {
        f"glue{i}": {
            "joint": "fixed",
            "from": {"link": "top", "at": {"s": i / glued}},
            "to": {"link": "bottom", "at": {"s": i / glued, "position": [0, h, 0]}},
        }
        for i in range(1, glued + 1)
    }
    return sorosim.load(
        {
            "sorosim": 1,
            "gravity": [0, 0, 0],
            "materials": {"m": {"young": 1e9, "poisson": 0.3, "density": 1000}},
            "links": {"bottom": {"rod": rod(0)}, "top": {"at": {"position": [0, h, 0]}, "rod": rod(eps)}},
            "loops": loops,
            "loads": {"p": {"wrench": {"link": "bottom", "force": [0, -load, 0]}}},
        }
    )


def test_bonded_rods_bend_as_timoshenkos_bimetal(agrees):
    EA, EI, h, eps = 1e9 * 2e-5, 1e9 * 0.01 * 0.002**3 / 12, 0.002, 0.001
    pose = (eq := sorosim.statics(bonded(eps, 0.0, 8))).robot.pose(eq.q, "bottom")
    agrees(
        "bimetal strip: angle of its tip",
        -np.arctan2(pose[1, 0], pose[0, 0]),
        0.2 * eps / (h + 4 * EI / (EA * h)),
        rtol=2e-3,
        source="Timoshenko, first order in the strain",
        unit="rad",
        bound="second order, 2 eps",
    )


def test_rods_that_share_a_plate_at_their_tips_are_as_stiff_as_a_frame(agrees):
    length, EA, EI, h, P = 0.2, 1e9 * 2e-5, 1e9 * 0.01 * 0.002**3 / 12, 0.002, 0.001
    turn = P * length**2 / (4 * EI) / (1 + EA * h**2 / (4 * EI))
    down = P / 2 * length**3 / (3 * EI) - EA * h**2 * turn / (4 * length) * length**2 / (2 * EI)
    eq = sorosim.statics(bonded(0, P, 1))
    agrees(
        "two rods with a plate at their tips: deflection",
        -eq.tip("bottom")[1],
        down,
        rtol=1e-3,
        source="frame",
        unit="m",
    )


# -- sections, weight, stiffnesses


def test_weight_along_a_tower_is_smooth(agrees):
    L, D, t, E, G, rho, g = 30.0, 3.0, 0.1, 210e9, 8.077e10, 7860.0, 9.80665
    A, inertia = np.pi * ((D / 2) ** 2 - (D / 2 - t) ** 2), np.pi / 4 * ((D / 2) ** 4 - (D / 2 - t) ** 4)
    section = {"hollow_circle": {"radius": D / 2, "inner_radius": D / 2 - t, "shear_factor": 0.5}}
    robot = sorosim.load(
        {
            "sorosim": 1,
            "gravity": [0, 0, -g],
            "materials": {"steel": {"young": E, "shear": G, "density": rho}},
            "links": {
                "tower": {
                    "at": {"rotation": {"axis": [0, 1, 0], "angle": "-90 deg"}},
                    "rod": {
                        "length": L,
                        "section": section,
                        "material": "steel",
                        "strain": {"bending": 6, "elongation": 1, "shear": 6},
                    },
                }
            },
            "sensors": {f"at{i}": {"strain": {"link": "tower", "s": i / 6}} for i in range(7)},
        }
    )
    eq = sorosim.statics(robot)
    ours = [E * A * (eq.measure()[f"at{i}"][3] - 1) for i in range(7)]
    agrees(
        "tower: normal force at seven places",
        ours,
        -rho * A * g * L * (1 - np.arange(7) / 6),
        rtol=1e-6,
        source="weight above",
        unit="N",
    )

    def clamped(w):  # Timoshenko, exact
        k, m, J = 0.5 * G * A, rho * A, rho * inertia
        by_z = np.array([[0, 1, 0, 1 / k], [0, 0, 1 / (E * inertia), 0], [0, -J * w**2, 0, -1], [-m * w**2, 0, 0, 0]])
        return np.linalg.det(expm(by_z * L)[2:, 2:])

    grid = np.linspace(1, 200, 400)
    values = [clamped(w) for w in grid]
    exact = [brentq(clamped, *grid[i : i + 2]) / 2 / np.pi for i in range(399) if values[i] * values[i + 1] < 0][:2]
    weightless = robot.with_values({"gravity[2]": 0.0})
    ours = sorosim.statics(weightless).linearize().frequencies[[0, 2]]
    agrees("tower: first two frequencies", ours, exact, rtol=1e-4, source="Timoshenko, exact", unit="Hz",
           bound="order of the rod")  # fmt: skip


def test_tight_spokes_hold_a_rim_by_their_tension(agrees):
    R, spoke, n, T, k = 0.3, 0.28, 36, 1000.0, 2e6
    spokes = {}
    for i, a in enumerate(2 * np.pi * np.arange(n) / n):
        out = np.array([np.cos(a), np.sin(a), 0])
        spokes[f"s{i}"] = {
            "spring": {
                "from": {"link": "rim", "at": {"position": (R * out).tolist()}},
                "stiffness": k,
                "to": {"at": {"position": ((R - spoke) * out).tolist()}},
                "rest": spoke - T / k,
            }
        }
    rim = {"joint": {"revolute": {"axis": [0, 0, 1]}}, "body": {"mass": 0.5, "inertia": [0.0225, 0.0225, 0.045]}}
    robot = sorosim.load({"sorosim": 1, "gravity": [0, 0, 0], "links": {"rim": rim}, "loads": spokes})
    agrees(
        "rim on tight spokes: torsional stiffness",
        sorosim.statics(robot).linearize().K[0, 0],
        n * T * R**2 * (1 / spoke - 1 / R),
        rtol=1e-9,
        source="n T R^2 (1/L - 1/R)",
        unit="N m/rad",
    )


def test_the_section_of_a_cable_is_a_circle(agrees):
    L, r, E = 0.3, 0.005, 1e9
    rod = {"length": L, "section": {"circle": {"radius": r}}, "material": "m", "strain": {"bending": 4, "torsion": 1}}
    robot = sorosim.load(
        {
            "sorosim": 1,
            "materials": {"m": {"young": E, "poisson": 0.5, "density": 1000}},
            "links": {"cable": {"rod": rod}},
        }
    )
    right = 1000 * np.pi * r**2 * 9.81 * L**4 / (8 * E * np.pi / 4 * r**4)
    agrees(
        "cable of a circular section: sag",
        -sorosim.statics(robot).tip()[2],
        right,
        rtol=1e-4,
        source="w L^4 / (8 E I)",
        unit="m",
        bound="square of the slope",
    )


def wire(load, curved):
    section, strain = {"circle": {"radius": 4e-4}}, {"bending": 3, "torsion": 3, "elongation": 3}
    parts = [
        {"length": 0.42, "section": section, "material": "stiff", "strain": strain},
        {"length": 0.03, "section": section, "material": "soft", "strain": strain},
    ]
    if curved:
        parts[1]["reference"] = {"bending_y": -50.0}
    materials = {
        "stiff": {"young": 60e9, "poisson": 0.3, "density": 6500},
        "soft": {"young": 5e9, "poisson": 0.3, "density": 6500},
    }
    return sorosim.load(
        {
            "sorosim": 1,
            "gravity": [0, 0, 0],
            "materials": materials,
            "links": {"wire": {"rod": {"divisions": parts}}},
            "loads": {"tip": {"wrench": {"link": "wire"} | load}},
        }
    )


def test_a_wire_of_two_stiffnesses_rests_bends_stretches_and_twists_by_both(agrees):
    L1, L2, E1, E2, r, k = 0.42, 0.03, 60e9, 5e9, 4e-4, 50.0
    A, inertia = np.pi * r**2, np.pi / 4 * r**4
    rest = [L1 + np.sin(k * L2) / k, 0, (1 - np.cos(k * L2)) / k]
    agrees(
        "guidewire: tip at rest",
        sorosim.statics(wire({"force": [0, 0, 0]}, True)).tip(),
        rest,
        atol=1e-8,
        source="straight line and arc",
        unit="m",
    )
    bent = 1e-5 * ((L1**3 / 3 + L1**2 * L2 + L1 * L2**2) / (E1 * inertia) + L2**3 / (3 * E2 * inertia))
    agrees(
        "guidewire: deflection",
        sorosim.statics(wire({"force": [0, 0, 1e-5]}, False)).tip()[2],
        bent,
        rtol=1e-5,
        source="stepped cantilever",
        unit="m",
        bound="square of the slope",
    )
    longer = (L1 / E1 + L2 / E2) / A
    agrees(
        "guidewire: stretch by 1 N",
        sorosim.statics(wire({"force": [1, 0, 0]}, False)).tip()[0] - L1 - L2,
        longer,
        rtol=1e-9,
        source="P L / (E A)",
        unit="m",
    )
    eq = sorosim.statics(wire({"moment": [1e-4, 0, 0]}, False))
    pose = eq.robot.pose(eq.q, "wire")
    agrees(
        "guidewire: twist by 0.1 N mm",
        np.arctan2(pose[2, 1], pose[1, 1]),
        1e-4 / (2 * inertia) * 2.6 * (L1 / E1 + L2 / E2),
        rtol=1e-9,
        source="T L / (G J)",
        unit="rad",
    )


def test_damping_constants_mean_what_the_page_says(agrees):
    L, r, E, rho = 0.4, 0.005, 1e6, 1000.0
    w = 1.8751040687**2 / L**2 * np.sqrt(E * r**2 / (4 * rho))
    for damping, zeta in (
        ({"stiffness_damping": 0.01}, 0.01 * w / 2),
        ({"mass_damping": 0.5}, 0.5 / (2 * w)),
        ({"damping": 2000.0}, 3 * 2000.0 * w / (2 * E)),
    ):
        rod = {"length": L, "section": {"circle": {"radius": r}}, "material": "m", "strain": {"bending_y": 6}}
        robot = sorosim.load(
            {
                "sorosim": 1,
                "gravity": [0, 0, 0],
                "links": {"rod": {"rod": rod}},
                "materials": {"m": {"young": E, "poisson": 0.5, "density": rho} | damping},
            }
        )
        values = sorosim.statics(robot).linearize().eigenvalues
        values = values[np.abs(values.imag) > 1e-6]
        first = values[np.argmin(np.abs(np.abs(values) - w))]
        # the rod's own frequency differs by the rotary inertia of its sections
        agrees(
            f"damping ratio by {next(iter(damping))}",
            -first.real / abs(first),
            zeta,
            rtol=1e-3,
            source="closed form",
            bound="rotary inertia",
        )


@pytest.mark.parametrize(("along", "thick"), [(2, 0.002), (1, 0.02)])
def test_a_strip_is_stiff_about_one_axis_and_soft_about_the_other(agrees, along, thick):
    rod = {"length": 0.4, "section": {"rectangle": {"y": 0.02, "z": 0.002}}, "material": "m", "strain": {"bending": 3}}
    force = [0, 0, 0]
    force[along] = 1e-6
    robot = sorosim.load(
        {
            "sorosim": 1,
            "gravity": [0, 0, 0],
            "materials": SOFT,
            "links": {"rod": {"rod": rod}},
            "loads": {"p": {"wrench": {"link": "rod", "force": force}}},
        }
    )
    right = 1e-6 * 0.4**3 / (3 * 1e6 * (4e-5 / thick) * thick**3 / 12)
    agrees(
        "strip under a force at its tip",
        sorosim.statics(robot).tip()[along],
        right,
        rtol=1e-4,
        source="F L^3 / (3 E I)",
        unit="m",
        bound="square of the slope",
    )


# -- a line in a current


def towed(order):
    # the closed form knows no moment of added mass (Munk's), which turns the line by 3e-4 rad
    line = {
        "at": {"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}},
        "joint": HINGE,
        "rod": {"length": 10, "section": {"circle": {"radius": 0.01}}, "material": "m", "strain": {"bending_y": order}},
    }
    return sorosim.load(
        {
            "sorosim": 1,
            "materials": {"m": {"young": 1e7, "poisson": 0.5, "density": 1500, "damping": 1e5}},
            "links": {"line": line},
            "loads": {
                "water": {
                    "fluid": {
                        "density": 1025,
                        "current": [1, 0, 0],
                        "links": {"line": {"drag": [0, 1.2, 1.2], "added_mass": 0}},
                    }
                }
            },
            "sensors": {"top": {"joint_wrench": "line"}},
        }
    )


@pytest.mark.parametrize("order", [0, 4, 10])
def test_a_towed_line_hangs_at_its_critical_angle(agrees, order):
    weight = 475 * np.pi * 0.01**2 * 9.81
    angle = brentq(lambda p: weight * np.cos(p) - 0.5 * 1025 * 1.2 * 0.02 * np.sin(p) ** 2, 0.01, np.pi / 2)
    eq = sorosim.statics(towed(order))
    x = eq.tip()
    agrees(
        "towed line: angle to the current",
        np.arctan2(-x[2], x[0]),
        angle,
        rtol=1e-6,
        source="cross-flow principle",
        unit="rad",
    )
    agrees(
        "towed line: force at its top",
        np.linalg.norm(eq.measure()["top"][3:]),
        weight * 10 * np.sin(angle),
        rtol=1e-6,
        source="cross-flow principle",
        unit="N",
    )


# -- twisted rings


@pytest.mark.slow
@pytest.mark.parametrize(("nu", "order"), [(0.0, 12), (0.5, 16)])
def test_a_ring_leaves_its_plane_at_michells_twist(agrees, nu, order):
    # points between which it turns far are imperfections: it leaves its plane at a fold
    ring = {
        "length": 1.0,
        "section": {"circle": {"radius": 3e-3}},
        "material": "m",
        "strain": {"bending": order, "torsion": order},
    }
    robot = sorosim.load(
        {
            "sorosim": 1,
            "gravity": [0, 0, 0],
            "materials": {"m": {"young": 1e6, "poisson": nu, "density": 1000, "stiffness_damping": 0.01}},
            "links": {"ring": {"rod": ring}, "turn": {"joint": {"revolute": {"axis": [1, 0, 0]}}}},
            "loops": {"closed": {"joint": "fixed", "from": "ring", "to": "turn"}},
            "initial": {"ring.bending_z[0]": 2 * np.pi},
        }
    )
    found = sorosim.continuation(robot, "driven.turn", begin=0.0, to=20.0, q0=robot.initial_q, max_points=150)
    first = next(float(point.parameter) for point in found.points if point.after.unstable > point.before.unstable)
    assert "passes near another one" in found.message
    agrees(
        f"twisted ring, nu {nu}: twist at which it buckles",
        first,
        2 * np.pi * np.sqrt(3) * (1 + nu),
        rtol=1e-3,
        source="Michell 1889",
        unit="rad",
        bound="orders and points",
    )


# -- a shaft with an arm


def l_shaft(drive):
    section = {"rectangle": {"y": 0.01, "z": 0.01}}
    turned = {"rotation": {"axis": [0, 0, 1], "angle": "180 deg"}}
    return sorosim.load(
        {
            "sorosim": 1,
            "gravity": [0, 0, 0],
            "materials": {"steel": {"young": 2e11, "poisson": 0.0, "density": 100}},
            "links": {
                "drive": {"at": {"position": [2, 0, 0]}, "joint": {"revolute": {"axis": [1, 0, 0]}}},
                "shaft": {
                    "parent": "drive",
                    "at": turned,
                    "rod": {
                        "length": 2,
                        "section": section,
                        "material": "steel",
                        "strain": {"torsion": 3, "bending": 4, "elongation": 1},
                    },
                },
                "arm": {
                    "parent": "shaft",
                    "at": {"rotation": {"axis": [0, 0, 1], "angle": "-90 deg"}},
                    "rod": {
                        "length": 1,
                        "section": section,
                        "material": "steel",
                        "strain": {"torsion": 1, "bending": 4},
                    },
                },
            },
            "loops": {"bearing": {"joint": "spherical", "from": "shaft", "to": {"at": {"position": [0, 0, 0]}}}},
            "simulate": {"driven": {"drive": drive}, "t_end": 1.0},
        }
    )


def test_an_arm_turns_as_far_as_its_shaft(agrees):
    eq = sorosim.statics(l_shaft("0"), driven={"drive": 0.01})
    agrees("L-shaft: end of the arm", eq.tip("arm")[2], np.sin(0.01), rtol=1e-5, source="geometry", unit="m")


@pytest.mark.slow
def test_the_default_method_turns_a_stiff_shaft_or_names_one_that_does(agrees):
    robot = l_shaft({"times": [0, 0.5, 1], "values": [0, 0.01, 0.01], "rounding": "50 ms"})
    try:
        run, _ = simulate(robot, max_wall_time="30 s")
    except sorosim.SorosimError as error:
        assert "generalized-alpha" in str(error) or "radau" in str(error), error  # noqa: PT017
        return
    if run.t[-1] < 1.0:
        assert "generalized-alpha" in run.message or "radau" in run.message, run.message
        return
    agrees(
        "L-shaft, moved: end of the arm after 1 s",
        run.positions("arm")[-1, 2],
        np.sin(0.01),
        rtol=0.02,
        source="geometry",
        unit="m",
        bound="vibration",
    )
