"""Cases of contact: the paper's manipulator in a cylinder, many rods at once, and pairs of bodies of all shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.cases import Case, fd_derivatives, of_robot
from benchmarks.context import Action, Context, thread_seconds
from benchmarks.loops import motion_case
from sorosim.files import load
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.kernels.kinematics import POSES
from sorosim.mechanics.robot import Robot

# figures of the paper [s]: derivatives, ten seconds by ode15s, by Newmark's method
CYLINDER = {"derivatives": 2.3e-3, "bdf": 7.8, "newmark": 46.64}
N_RODS, N_GAUSS = 200, 8  # with both ends ten points each
MATERIAL = {"young": 1e6, "poisson": 0.45, "density": 1100.0}
CAPSULE: dict[str, Any] = {"capsule": {"radius": 0.03, "length": 0.06}}
EGG = {"ellipsoid": {"radii": [0.05, 0.06, 0.04]}}
STONE = {"superellipsoid": {"radii": [0.05, 0.06, 0.04], "roundness": [0.4, 0.7]}}
BOX = {"box": {"size": [0.1, 0.12, 0.08]}}
# two bodies, the second above the first
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "capsules": (CAPSULE, CAPSULE), "capsule and ellipsoid": (CAPSULE, EGG), "ellipsoids": (EGG, EGG),
    "superellipsoids": (STONE, STONE), "ellipsoid and box": (EGG, BOX), "boxes": (BOX, BOX),
}  # fmt: skip
DEPTH = 1e-4


@cache
def heap(n: int) -> Robot:
    """So many free rods at random, as densely as in a pile: they touch some of their neighbours."""
    rng = np.random.default_rng(1)
    side = 0.2 * (n / 60.0) ** (1.0 / 3.0)
    rod: dict[str, Any] = {
        "length": 0.1, "section": {"circle": {"radius": 0.004}}, "material": "rubber", "strain": {"bending": 0},
        "quadrature": N_GAUSS,
    }  # fmt: skip
    links = {
        f"rod{k}": {
            "joint": "free", "rod": rod,
            "at": {"position": rng.uniform(0.0, side, 3).tolist(),
                   "rotation": {"axis": rng.normal(size=3).tolist(), "angle": float(rng.uniform(0.0, 3.0))}},
        }
        for k in range(n)
    }  # fmt: skip
    touch = {"contact": {"among": list(links), "stiffness": 1e4, "friction": 0.3}}
    return load({"sorosim": 1, "name": "heap", "materials": {"rubber": MATERIAL}, "links": links,
                 "loads": {"touch": touch}})  # fmt: skip


def _inverse(what: task.Task) -> Callable[[Context], Action]:
    def make(_: Context) -> Action:
        robot = heap(N_RODS)
        zero, none = np.zeros(robot.ndof), np.zeros(0)
        return lambda: robot.engine.evaluate(what, zero, zero, zero, none)

    return make


def _profile(_: Context, __: Any) -> str:
    """Where the time goes: poses, contacts without and with tangents, all."""
    robot = heap(N_RODS)
    engine, zero = robot.engine, np.zeros(robot.ndof)
    loading, ws, external = engine.loading, engine.workspace, engine.external
    poses, forces, tangents = thread_seconds(
        lambda: engine.sweep(zero, zero, POSES),
        lambda: loading.add_contacts(loading.packed, external, ws, tangents=False),
        lambda: loading.add_contacts(loading.packed, external, ws),
    )
    counts, cores = external.contact.counts, len(loading.packed.laws.surfaces.core)
    return (
        f"{counts['active']} contacts of {counts['pairs']} pairs of {cores} cores; poses "
        f"{1e3 * poses:.2g} ms, contacts {1e3 * forces:.2g} ms, with tangents {1e3 * tangents:.2g} ms"
    )


def _search(n: int) -> Callable[[Context], Action]:
    def make(_: Context) -> Action:
        engine = heap(n).engine
        engine.sweep(np.zeros(engine.ndof), np.zeros(engine.ndof), POSES)
        loading = engine.loading
        return partial(loading.add_contacts, loading.packed, engine.external, engine.workspace, tangents=False)

    return make


@cache
def pair(name: str) -> Robot:
    """Two bodies on each other, a little turned."""
    low, high = PAIRS[name]
    turn = {"axis": [1.0, 2.0, 0.3], "angle": 0.2}

    def at(z: float) -> Robot:
        place = {"position": [0.01, 0.02, z], "rotation": turn}
        links = {"low": {"joint": "free", "body": {**low, "mass": 1.0}},
                 "high": {"joint": "free", "at": place, "body": {**high, "mass": 1.0}}}  # fmt: skip
        touch = {"contact": {"between": "low", "and": "high", "stiffness": 1e5, "friction": 0.3}}
        return load({"sorosim": 1, "name": name, "links": links, "loads": {"touch": touch}})

    low_z, high_z = 0.0, 0.5
    while high_z - low_z > 1e-9:
        z = 0.5 * (low_z + high_z)
        gap = at(z).contact_gaps(np.zeros(12), 1.0)["touch"]
        low_z, high_z = (low_z, z) if gap > -DEPTH else (z, high_z)
    return at(low_z)


def _pair(name: str, what: task.Task) -> Callable[[Context], Action]:
    def make(_: Context) -> Action:
        robot, zero, none = pair(name), np.zeros(12), np.zeros(0)
        return lambda: robot.engine.evaluate(what, zero, zero, zero, none)

    return make


def _beside_capsules(name: str) -> Callable[[Context, Any], str]:
    """How many places touch, and the times beside those of two capsules, measured in turns."""

    def remark(context: Context, _: Any) -> str:
        n = len(pair(name).contacts(np.zeros(12)).gap)
        ratios = []
        for what in (task.INVERSE, task.INVERSE_DERIVATIVES):
            own, capsules = thread_seconds(_pair(name, what)(context), _pair("capsules", what)(context))
            ratios.append(own / capsules)
        return f"{n} places; beside two capsules ID {ratios[0]:.1f}, with derivatives {ratios[1]:.1f} times as long"

    return remark


CONTACTS: tuple[Case, ...] = (
    *of_robot(
        "contact_cylinder",
        fd_derivatives(None, CYLINDER["derivatives"], 50),
        motion_case("bdf", 1.0, CYLINDER["bdf"]),
        motion_case("generalized-alpha", None, CYLINDER["newmark"]),
    ),
    *(Case(f"contacts of {n} rods", _search(n), rounds=5) for n in (50, 200, 800)),
    Case(f"ID, {N_RODS} rods that touch", _inverse(task.INVERSE), rounds=5, remark=_profile),
    Case(f"ID + derivatives, {N_RODS} rods that touch", _inverse(task.INVERSE_DERIVATIVES), rounds=3),
    *(Case(f"ID + derivatives, {name} that touch", _pair(name, task.INVERSE_DERIVATIVES), iterations=100,
           remark=_beside_capsules(name)) for name in PAIRS),
)  # fmt: skip
