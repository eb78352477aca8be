"""Planar robots that buckle, snap or flutter, as files; they move in the x-z plane."""

from typing import Any

import numpy as np

import sorosim

HINGE: dict[str, Any] = {"revolute": {"axis": [0, 1, 0]}}
YOUNG, WIDTH = 1e9, 0.02
MATERIAL = {"young": YOUNG, "poisson": 0.3, "density": 1000}
LOAD = "loads.load.wrench.force"


def stiffness(thickness: float) -> float:
    """E I of bending in the plane."""
    return YOUNG * WIDTH * thickness**3 / 12.0


def rod(length: float, thickness: float, n_gauss: int, **strain: int) -> dict[str, Any]:
    section = {"rectangle": {"y": WIDTH, "z": thickness}}
    kept = {"basis": "legendre", **strain}
    return {"length": length, "section": section, "material": "m", "strain": kept, "quadrature": n_gauss}


def robot(name: str, **blocks: Any) -> sorosim.Robot:
    return sorosim.load({"sorosim": 1, "name": name, "gravity": [0, 0, 0], "materials": {"m": MATERIAL}, **blocks})


def column(
    base: Any, tip: Any = None, *, length: float = 0.5, thickness: float = 0.01, curvature: float = 0.0,
    frame: str = "world", order: int = 13, n_gauss: int = 40,
) -> sorosim.Robot:  # fmt: skip
    """An inextensible column along x under a force along x at its tip, which is free or slides on the axis."""
    arm = {"joint": base, "rod": rod(length, thickness, n_gauss, bending_y=order)}
    if curvature:
        arm["rod"]["reference"] = {"bending_y": curvature}
    links: dict[str, Any] = {"arm": arm}
    if tip is None:
        load = {"link": "arm", "s": 1.0, "force": [0, 0, 0], "frame": frame}
        return robot("column", links=links, loads={"load": {"wrench": load}})
    body = {"box": {"size": [0.01, 0.01, 0.01]}, "density": 1000}
    links["slider"] = {"at": {"position": [length, 0, 0]}, "joint": {"prismatic": {"axis": [1, 0, 0]}}, "body": body}
    end = {"joint": tip, "from": {"link": "arm"}, "to": {"link": "slider", "at": {"position": [0, 0, 0]}}}
    load = {"link": "slider", "force": [0, 0, 0]}
    return robot("column", links=links, loops={"end": end}, loads={"load": {"wrench": load}})


def arch(half_angle: float, thickness: float = 0.01, order: int = 5, n_gauss: int = 16) -> sorosim.Robot:
    """A circular arch of radius 1 m on two hinges, a dead force on its crown."""
    half = rod(half_angle, thickness, n_gauss, bending_y=order, elongation=3) | {"reference": {"bending_y": 1.0}}
    links = {
        "left": {"joint": HINGE, "at": {"rotation": {"axis": [0, 1, 0], "angle": -half_angle}}, "rod": half},
        "right": {"parent": "left", "joint": "fixed", "rod": half},
    }
    pin = {"joint": HINGE, "from": {"link": "right"}, "to": {"at": {"position": [2.0 * np.sin(half_angle), 0, 0]}}}
    load = {"link": "left", "s": 1.0, "force": [0, 0, 0]}
    return robot("arch", links=links, loops={"pin": pin}, loads={"load": {"wrench": load}})


def tendon_arch(half_angle: float = 0.15, offset: float = 0.0045) -> sorosim.Robot:
    """The same in one piece, with a tendon above its axis that bends it down."""
    curved = rod(2.0 * half_angle, 0.01, 16, bending_y=7, elongation=2) | {"reference": {"bending_y": 1.0}}
    arm = {"joint": HINGE, "at": {"rotation": {"axis": [0, 1, 0], "angle": -half_angle}}, "rod": curved}
    pin = {"joint": HINGE, "from": {"link": "arm"}, "to": {"at": {"position": [2.0 * np.sin(half_angle), 0, 0]}}}
    tendon = {"tendon": {"rod": "arm", "y": 0, "z": offset}}
    damped = {"m": {**MATERIAL, "damping": 1e5}}
    return robot("snapping arch", materials=damped, links={"arm": arm}, loops={"pin": pin}, actuators={"cord": tendon})


def lees_frame(order: int = 7, n_gauss: int = 40) -> sorosim.Robot:
    """Lee's frame: column and beam of 120 cm, 3 cm wide and 2 cm thick, hinged at both ends; the load 24 cm from the
    corner."""

    def member(length: float) -> dict[str, Any]:
        return {
            "length": length, "section": {"rectangle": {"y": 0.03, "z": 0.02}}, "material": "m", "quadrature": n_gauss,
            "strain": {"basis": "legendre", "bending_y": order, "elongation": 3, "shear_z": order},
        }  # fmt: skip

    turn = {"axis": [0, 1, 0], "angle": np.pi / 2.0}
    links = {
        "column": {"joint": HINGE, "at": {"rotation": {**turn, "angle": -np.pi / 2.0}}, "rod": member(1.2)},
        "short": {"parent": "column", "joint": "fixed", "at": {"rotation": turn}, "rod": member(0.24)},
        "long": {"parent": "short", "joint": "fixed", "rod": member(0.96)},
    }
    pin = {"joint": HINGE, "from": {"link": "long"}, "to": {"at": {"position": [1.2, 0, 1.2]}}}
    load = {"link": "short", "s": 1.0, "force": [0, 0, 0]}
    material = {"m": {"young": LEES_YOUNG, "poisson": 0.3, "density": 7800}}
    return robot("Lee's frame", materials=material, links=links, loops={"pin": pin}, loads={"load": {"wrench": load}})


LEES_YOUNG = 720.0 * 9806.65 * 1e4  # 720 t/cm^2


def zieglers_column(damping: float = 0.0) -> sorosim.Robot:
    """Two massless bars of 1 m with springs of 1 N m/rad in their hinges, masses of 2 and 1 kg at their ends, and a
    force that follows the second."""
    joint = {"revolute": {"axis": [0, 1, 0], "stiffness": 1.0, "damping": damping}}

    def bar(mass: float) -> dict[str, Any]:
        tiny = 1e-12
        body = {"mass": mass, "centre": [1, 0, 0], "inertia": [tiny, tiny, tiny]}
        return {"joint": joint, "body": body, "frames": {"end": {"position": [1, 0, 0]}}}

    links = {"first": bar(2.0), "second": {"parent": "first", "at": {"frame": "end"}, **bar(1.0)}}
    load = {"link": "second", "at": {"frame": "end"}, "force": [0, 0, 0], "frame": "body"}
    return robot("Ziegler's column", links=links, loads={"load": {"wrench": load}})


CRANK, FOOT, SPRING = 0.1, 0.3, 500.0


def sprung_crank(angle: float, **blocks: Any) -> sorosim.Robot:
    """A crank on a motor, and a spring on a foot hinged to its end; both are at rest where the crank is turned up by an
    angle from the line to the foot."""
    end = CRANK * np.array([np.cos(angle), np.sin(angle)])
    way = end - [FOOT, 0.0]
    length = float(np.hypot(*way))
    body = {"mass": 0.1, "centre": [0.05, 0, 0], "inertia": [1e-4, 1e-4, 1e-4]}

    def turned(by: float) -> dict[str, Any]:
        return {"rotation": {"axis": [0, 1, 0], "angle": float(by)}}

    links = {
        "crank": {"joint": HINGE, "at": turned(-angle), "body": body, "frames": {"end": {"position": [CRANK, 0, 0]}}},
        "foot": {"joint": HINGE, "at": {"position": [FOOT, 0, 0], **turned(np.arctan2(way[1], -way[0]))}, "body": body},
        "leg": {"parent": "foot", "at": {"position": [-length, 0, 0]}, "body": body,
                "joint": {"prismatic": {"axis": [-1, 0, 0], "stiffness": SPRING}}},
    }  # fmt: skip
    pin = {"joint": HINGE, "from": {"link": "leg"}, "to": {"link": "crank", "at": {"frame": "end"}}}
    given = {"actuators": {"motor": {"joint": {"link": "crank"}}}, **blocks}
    return robot("sprung crank", links=links, loops={"pin": pin}, **given)


def crank_moment(turn: float, angle: float) -> float:
    """Moment of the motor of a sprung crank that has turned about y: the derivative of the energy of the spring."""
    up = angle - turn

    def length(x: float) -> float:
        return float(np.sqrt(CRANK**2 + FOOT**2 - 2.0 * CRANK * FOOT * np.cos(x)))

    return -SPRING * (length(up) - length(angle)) * CRANK * FOOT * np.sin(up) / length(up)
