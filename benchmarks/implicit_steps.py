"""How the cost of implicit steps and of statics grows with the number of coordinates: sparse and dense.

The robots are the same at any number of coordinates, of ever more parts: a rope of 2 m that is clamped level and bends
under its weight, as rods and as links on hinges, a tree of such ropes, and a rope ladder, which loops close. Ropes of
1 m that lie on each other become more instead, so that contacts are as many a coordinate.
"""

from __future__ import annotations

import itertools
import resource
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

import sorosim
from benchmarks.context import thread_seconds
from sorosim.analysis.equations.system import OdeSystem
from sorosim.analysis.motion.march import RobotMarch
from sorosim.analysis.motion.sparse_steps import SparseSteps
from sorosim.base.compiled import entry
from sorosim.base.methods import GeneralizedAlpha
from sorosim.mechanics.constraints.loop import Begin, End, Loop
from sorosim.mechanics.engine import engine
from sorosim.mechanics.engine.inputs import Motion
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.kernels import newmark
from sorosim.mechanics.lie.so3 import exp_so3 as rotation
from sorosim.mechanics.loads.contact import Contact, Surface
from sorosim.mechanics.loads.contact_law import ContactLaw
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints.free import Free
from sorosim.mechanics.model.joints.revolute import Revolute
from sorosim.mechanics.model.joints.spherical import Spherical
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.obstacle import HalfSpace
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

STEP = 1e-3  # [s]
LARGEST_DENSE = {"step": 1000, "statics": 1000}
ROUNDS = 5
AT_LEAST = 0.05  # of a round [s]


LENGTH, RADIUS, YOUNG, DENSITY = 2.0, 5e-3, 20e6, 1100.0
# parts of each rope that touches another one; how deep [m], and the law
PARTS, DEPTH, FLOOR = 20, 5e-4, (Surface(shape=HalfSpace()),)
LAW = ContactLaw(stiffness=1e4, damping=1.0, friction=0.3, slip_speed=0.01)
MATERIAL = Material(YOUNG, poisson=0.45, density=DENSITY, damping=1e4)


def hinges(n: int) -> Robot:
    """The rope as n thin links on hinges about two axes in turn."""
    part, area = LENGTH / n, np.pi * RADIUS**2
    mass, bending = DENSITY * area * part, 0.25 * YOUNG * area * RADIUS**2 / (2.0 * part)
    turning = mass * (part * part / 12.0 + 0.25 * RADIUS**2)
    body = RigidBody(mass, centre=(0.5 * part, 0.0, 0.0), inertia=(0.5 * mass * RADIUS**2, turning, turning))
    joints = [Revolute(axis=axis, stiffness=(bending,), damping=(1e-3 * bending,)) for axis in ((0, 1, 0), (0, 0, 1))]
    ahead = np.eye(4)
    ahead[0, 3] = part
    links = [
        Link(f"link{i}", body, joint=joints[i % 2], parent=f"link{i - 1}" if i else WORLD, at=ahead if i else np.eye(4))
        for i in range(n)
    ]
    return Robot(Description("hinges", tuple(links)))


def rods(n: int) -> Robot:
    """The rope as rods of constant strain, six coordinates each, n in all or a few more."""
    k = -(-n // 6)
    rod = _rod(LENGTH / k)
    links = [Link(f"rod{i}", rod, parent=f"rod{i - 1}" if i else WORLD) for i in range(k)]
    return Robot(Description("rods", tuple(links)))


def tree(n: int) -> Robot:
    """A stem with two branches, each with two more: seven ropes of 0.5 m of rods, n coordinates in all or some more."""
    k = -(-n // 42)
    rod = _rod(0.5 / k)
    links: list[Link] = []
    for rope in range(7):
        foot = f"rope{(rope - 1) // 2}_{k - 1}" if rope else WORLD
        for i in range(k):
            aside = np.eye(4)
            if i == 0 and rope:
                aside[:3, :3] = rotation(np.array([0.0, 0.0, 0.4 if rope % 2 else -0.4]))
            links.append(Link(f"rope{rope}_{i}", rod, parent=f"rope{rope}_{i - 1}" if i else foot, at=aside))
    return Robot(Description("tree", tuple(links)))


def _rod(length: float) -> Rod:
    return Rod(Division(length, Circle(RADIUS), MATERIAL, Strain(torsion=0, bending=0, elongation=0, shear=0)))


def touching(n: int) -> Robot:
    """Pairs of ropes of 1 m, of parts that bend up and down: the one lies on a plane and the other one on it."""
    pairs, k = (-(-n // (6 * PARTS)), PARTS) if n > 6 * PARTS else (1, -(-n // 6))
    rod = Rod(Division(0.05, Circle(RADIUS), MATERIAL, Strain(bending_y=0, elongation=0, shear_z=0)))
    links, layers = list[Link](), (("under", RADIUS - DEPTH), ("above", 3.0 * RADIUS - 2.0 * DEPTH))
    for pair, (layer, height) in itertools.product(range(pairs), layers):
        at = np.eye(4)
        at[1:3, 3] = 0.05 * pair, height
        rope = f"{layer}{pair}_"
        links += [
            Link(f"{rope}{i}", rod, parent=f"{rope}{i - 1}" if i else WORLD, at=np.eye(4) if i else at)
            for i in range(k)
        ]
    under, above = (tuple(Surface(link.name) for link in links if link.name.startswith(layer)) for layer, _ in layers)
    ropes, floor = Contact(under, above, law=LAW), Contact(under + above, FLOOR, law=LAW)
    return Robot(Description("touching", tuple(links), loads={"ropes": ropes, "floor": floor}))


def ladder(n: int) -> Robot:
    """Two of these ropes, 10 cm apart, with a rung from each rod of the one to a ball joint on the other."""
    k, loops = -(-n // 18), {}
    rod, rung, aside, turned = _rod(LENGTH / k), _rod(0.1), np.eye(4), np.eye(4)
    aside[1, 3], turned[:3, :3] = 0.1, rotation(np.array([0.0, 0.0, 0.5 * np.pi]))
    links = [
        Link(f"{side}{i}", rod, parent=f"{side}{i - 1}" if i else WORLD, at=np.eye(4) if i else foot)
        for side, foot in (("left", np.eye(4)), ("right", aside))
        for i in range(k)
    ]
    for i in range(k):
        links.append(Link(f"rung{i}", rung, parent=f"left{i}", at=turned))
        loops[f"knot{i}"] = Loop(Spherical(), Begin(f"rung{i}"), End(f"right{i}", {"as_built": True}))
    return Robot(Description("ladder", tuple(links), loops=loops))


def stack(n_rods: int) -> Robot:
    """Layers of five rods of 20 cm, crosswise on each other and on a plane: rods that touch, each free to move."""
    material = Material(1e6, poisson=0.45, density=DENSITY, damping=1e4)
    rod = Rod(Division(0.2, Circle(0.01), material, Strain(bending=1, torsion=0)))
    links = []
    for i in range(n_rods):
        layer, place = divmod(i, 5)
        at, across = np.eye(4), 0.04 * (place - 2)
        at[:3, :3] = rotation(np.array([0.0, 0.0, 0.5 * np.pi * (layer % 2)]))
        at[:3, 3] = (across, -0.1, 0.0) if layer % 2 else (-0.1, across, 0.0)
        at[2, 3] = 0.01 + 0.02 * layer - DEPTH
        links.append(Link(f"rod{i}", rod, joint=Free(), at=at))
    surfaces = tuple(Surface(link.name) for link in links)
    law = ContactLaw(stiffness=1e5, damping=2.0, friction=0.4, slip_speed=5e-3)
    loads = {"touch": Contact(among=surfaces, law=law), "floor": Contact(surfaces, FLOOR, law=law)}
    return Robot(Description("stack", tuple(links), loads=loads))


ROBOTS: dict[str, Callable[[int], Robot]] = {
    "rods": rods, "hinges": hinges, "tree": tree, "touching": touching, "ladder": ladder,
}  # fmt: skip


# robots with matrices of constraints, which are dense where a motion starts, and those whose dense search is slow
LARGEST = {"ladder": 10_000, "touching": 10_000}
LARGEST_DENSE_SEARCH = {"touching": 200}


def statics_seconds(robot: Robot, on_tree: bool, rounds: int = ROUNDS) -> float:
    """Processor time [s] of the search for its equilibrium from the straight shape."""
    least = 0 if on_tree else 10**9
    with mock.patch.object(engine, "ON_TREE", least), mock.patch.object(engine, "ON_SPARSE", least):
        return thread_seconds(lambda: sorosim.statics(robot), rounds=rounds, least=AT_LEAST)[0]


def correction(robot: Robot, sparse: bool) -> Callable[[bool], None]:
    """A correction of a step, whose argument says whether with new factors or with those from before."""
    method = RobotMarch(OdeSystem(robot, Prescribed.of(robot, {}, {})), GeneralizedAlpha())
    method.take_inputs(Motion([]))
    march, model, ws = method.allocate(sparse, False), method.model, robot.engine.workspace
    steps = SparseSteps(robot.engine)
    if sparse and not robot.engine.has_local_tangent:
        steps.start(model, march)
    rng = np.random.default_rng(0)
    number, state = march.number, march.state
    number[["step", "last_step", "previous_step"]] = STEP
    number["rtol"], number["atol"] = 1e-6, 1e-8
    newmark.set_tableau(march)
    number["part"] = 1.0
    # ropes that touch go on touching
    start = (0.01 if robot.engine.has_local_tangent else 1e-7) * rng.normal(size=(2, robot.ndof))
    evaluate_at = entry(newmark.evaluate_at, model, march, ws, True)
    factor, correct = entry(newmark.factor_step, model, march, ws), entry(newmark.correct, model, march)

    def correct_once(new: bool) -> None:
        state.q_new[:], state.qd_new[:] = start
        state.scale[:] = 1.0
        evaluate_at(model, march, ws, new)
        if new and not factor(model, march, ws):
            raise ArithmeticError("a singular step")
        correct(model, march)
        steps.march = march  # whose records compiled code reaches by address

    return correct_once


def seconds(robot: Robot, sparse: bool, rounds: int = ROUNDS) -> tuple[float, float]:
    """Processor time [s] of a correction with new factors, and of one with those from before; medians."""
    correct_once = correction(robot, sparse)
    new, old = thread_seconds(partial(correct_once, True), partial(correct_once, False), rounds=rounds, least=AT_LEAST)
    return new, old


Rows = list[list[float]]


def measure(
    numbers: Sequence[int], note: Callable[[str], None], rounds: int = ROUNDS
) -> dict[str, dict[str, dict[str, Rows]]]:
    """Rows (coordinates, time [s]) of each task, robot and way; tasks are corrections of steps and statics.

    note : takes a line a measurement, with the most memory that the program had until then.
    """
    out: dict[str, dict[str, dict[str, Rows]]] = {
        name: {robot: {"sparse": [], "dense": []} for robot in ROBOTS} for name in LARGEST_DENSE
    }
    for n in numbers:  # the largest last: memory is the most until then
        for name, make in ROBOTS.items():
            if n > LARGEST.get(name, n):
                continue
            robot = make(n)
            for way in ("sparse", "dense"):
                times: dict[str, tuple[float, ...]] = {}
                if way == "sparse" or n <= LARGEST_DENSE["step"]:
                    times["step"] = seconds(robot, way == "sparse", rounds)
                if way == "sparse" or n <= LARGEST_DENSE_SEARCH.get(name, LARGEST_DENSE["statics"]):
                    times["statics"] = (statics_seconds(robot, way == "sparse", rounds),)
                for what, found in times.items():
                    out[what][name][way].append([robot.ndof, found[0]])
                    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                    shown = "  ".join(f"{1e3 * t:9.3f}" for t in found)
                    note(f"{what:7} {name:8} {way:6} {robot.ndof:6d}  {shown}  {most:.0f} MB")
    return out


def exponent(rows: Rows, least: float) -> float:
    """Slope of the time in a plot of both logarithms, over rows of at least so many coordinates."""
    chosen = np.log([row for row in rows if row[0] >= least])
    return float(np.polyfit(chosen[:, 0], chosen[:, 1], 1)[0])


def crossover(sparse: Rows, dense: Rows) -> float:
    """Coordinates from which on the sparse way is the faster one, between two measurements on a straight line."""
    ratios = np.log([[a[0], b[1] / a[1]] for a, b in zip(sparse, dense, strict=False)])
    slower = np.flatnonzero(ratios[:, 1] < 0.0)
    if not len(slower) or slower[-1] + 1 == len(ratios):
        return float(np.exp(ratios[0, 0] if not len(slower) else np.inf))
    (x, y), (x_next, y_next) = ratios[slower[-1]], ratios[slower[-1] + 1]
    return float(np.exp(x - y * (x_next - x) / (y_next - y)))


def summary(measured: dict[str, dict[str, dict[str, Rows]]]) -> list[str]:
    """A line for each task and robot: exponent, crossover, and times at about a thousand coordinates."""
    lines = []
    for what, robots in measured.items():
        for name, ways in robots.items():
            sparse, dense = ways["sparse"], ways["dense"]
            ratios = [f"{times / own:.3g} ({n:.0f})" for (n, own), (_, times) in zip(sparse, dense, strict=False)]
            least, begin = min(500.0, sparse[-2][0]), crossover(sparse, dense)
            growth = f"n^{exponent(sparse, least):.2f} from {least:.0f} on"
            faster = f"faster from {begin:.0f} on" if np.isfinite(begin) else "slower wherever dense ones were timed"
            lines.append(f"{what}, {name}: {growth}, {faster}; times of dense over sparse: {', '.join(ratios)}")
    return lines


def plot(measured: dict[str, dict[str, dict[str, Rows]]], path: str | Path) -> None:
    """Figure of the times against the number of coordinates (matplotlib)."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    titles = {"step": "correction of a step, factors new", "statics": "statics"}
    colours = dict(zip(ROBOTS, ("#1f77b4", "#d95f02", "#2ca02c", "#7b3fa0", "#8c564b"), strict=True))
    for axes, (what, robots) in zip(figure.subplots(1, 2), measured.items(), strict=True):
        for (name, ways), marker in zip(robots.items(), "os^Dv", strict=True):
            for way, style in (("sparse", "-"), ("dense", "--")):
                x, y = np.array(ways[way]).T
                axes.loglog(x, 1e3 * y, style, marker=marker, markersize=4, linewidth=1.3, color=colours[name])
        low, high = 500.0, 20_000.0
        foot = 0.5e3 * min(np.interp(low, *np.array(ways["sparse"]).T) for ways in robots.values())
        axes.loglog([low, high], [foot, foot * high / low], ":", color="0.4", linewidth=1.2)
        axes.annotate("n", (high, foot * high / low), color="0.4", va="top")
        axes.set(xlabel="coordinates n", ylabel="processor time [ms]", title=titles[what])
        axes.grid(alpha=0.3)
    marks = zip(ROBOTS, "os^Dv", strict=True)
    entries = [Line2D([], [], color=colours[name], marker=marker, label=name) for name, marker in marks]
    entries.append(Line2D([], [], color="0.3", linestyle="-", label="sparse"))
    entries.append(Line2D([], [], color="0.3", linestyle="--", label="dense"))
    figure.legend(handles=entries, loc="outside right center", frameon=False)
    figure.savefig(path, dpi=110)
