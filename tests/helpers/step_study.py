"""Steps under held inputs of random robots: how many end in an error, and what speed they gain without a force.

    PYTHONPATH=tests python -m helpers.step_study --count 1000 --t-end 10

Robots of odd seeds are chains of joints without springs and dampers, some of them on free and planar bases, those of
even ones `random_documents`: rods, bodies, loops, contacts, water. What steps may gain is looked at by differences of
energies and by public forward dynamics, not by the kernels that judge them.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import sorosim
from helpers.fuzz import text_of
from helpers.kinds import JOINT_KINDS, WITHOUT_AXIS
from helpers.random_documents import document, short
from helpers.robots import random_axis
from sorosim import Robot, SorosimError, Stepper
from sorosim.files import load_text
from sorosim.mechanics.kernels.step_speed import SPEED_ERROR

STEPS = 0.02, 0.01, 0.005, 0.002  # s
JUMPS = 0.25  # s between jumps of the inputs
RELATIVE_STEP = 1e-6  # of the differences by which powers are found
# beyond the bound of theory.md, 10: coordinates are known to the tolerance of Newton's method, powers to differences
NOISE = 1e-3
LEAST_MOTION = 1e-3  # of a step: what is less, or less than the tolerance of its coordinate, counts as rest
LIMIT = 60.0  # processor time of a motion [s]: it is counted as one that was cut


@dataclass
class Outcome:
    """How one robot moved in steps of one size."""

    seed: int
    dt: float
    n: int = 0  # intervals that were moved
    refined: int = 0  # of them in smaller steps
    error: str = ""  # what ended the motion
    beyond: float = 0.0  # largest speed that an interval gained, over what it may gain; 0: none was faster
    energy: float = 0.0  # of a chain: largest gain since the start, over the kinetic energy that it had before
    unstarted: bool = False
    cut: bool = False  # by the limit of processor time
    kind: str = ""  # of the robot, see `kind_of`


def chain(seed: int) -> dict[str, Any]:
    """A chain of 2 to 12 joints of every kind, mostly revolute, without springs and dampers, that starts askew."""
    rng = np.random.default_rng(seed)
    links: dict[str, Any] = {}
    length, mass = short(rng.uniform(0.1, 0.6)), short(np.exp(rng.uniform(-3, 1)))
    for i in range(int(rng.integers(2, 13))):
        kinds = [kind for kind in JOINT_KINDS if kind != "fixed" and (kind != "free" or i == 0)]
        kind = str(rng.choice(kinds)) if rng.random() < 0.4 else "revolute"
        axis = [0, 1, 0] if rng.random() < 0.5 else [short(x) for x in random_axis(rng)]
        options: dict[str, Any] = {} if kind in WITHOUT_AXIS else {"axis": axis}
        if kind == "helical":
            options["pitch"] = short(0.1 * length)
        sizes = [short(x * mass * length**2) for x in (0.084, 0.084, 0.02)]
        link: dict[str, Any] = {"joint": {kind: options} if options else kind}
        if i:
            link |= {"parent": f"link{i - 1}", "at": {"position": [0, 0, -length]}}
        links[f"link{i}"] = link | {"body": {"mass": mass, "centre": [0, 0, -0.5 * length], "inertia": sizes}}
    return {"sorosim": 1, "name": f"chain{seed}", "links": links}


def tree_of(seed: int) -> dict[str, Any]:
    tree = chain(seed) if seed % 2 else document(seed)
    tree.pop("simulate", None)
    return tree


def robot_of(seed: int) -> Robot:
    return load_text(text_of(tree_of(seed)), f"robot{seed}.yaml")


def kind_of(seed: int) -> str:
    """What decides how hard the steps of a robot are: its base, rods, loops, contacts and water."""
    tree = tree_of(seed)
    joints = [joint if isinstance(joint := link.get("joint", "fixed"), str) else next(iter(joint))
              for link in tree["links"].values() if "parent" not in link]  # fmt: skip
    loads = {name for load in tree.get("loads", {}).values() for name in load}
    words = ["chain"] if seed % 2 else ["rods" if any("rod" in link for link in tree["links"].values()) else "bodies"]
    words += ["floating"] if {"free", "planar"} & set(joints) else []
    words += ["loops"] if "loops" in tree else []
    return ", ".join([*words, *(name for name in ("contact", "fluid") if name in loads)])


def speed_of(robot: Robot, state: Any) -> float:
    return float(np.sqrt(2.0 * robot.energy(state.q, state.qd).kinetic))


def allowed(robot: Robot, before: Any, qdd: tuple[Any, Any], after: Any, h: float, dense: bool) -> tuple[float, float]:
    """Speed after a step, and that which forces may give it.

    qdd: accelerations at both ends; those at the begin stand for those from rest where steps have no matrices.
    """

    def kinetic(q: Any, qd: Any) -> float:
        return float(robot.energy(q, qd).kinetic)

    def power(state: Any, a: Any) -> float:
        e = RELATIVE_STEP
        ends = (kinetic(state.q + s * e * state.qd, state.qd + s * e * a) for s in (1.0, -1.0))
        return float(np.subtract(*ends)) / (2.0 * e)

    speeds = [np.sqrt(2.0 * kinetic(one.q, one.qd)) for one in (before, after)]
    rates = [power(one, a) / r for one, a, r in zip((before, after), qdd, speeds, strict=True) if r > 0.0]
    rest = robot.forward_dynamics(before.q, np.zeros(robot.ndof), u=after.u, t=before.t) if dense else qdd[0]
    rates.append(float(np.sqrt(rest @ robot.mass_matrix(before.q) @ rest)))
    return float(speeds[1]), float(speeds[0] + h * max(rates))


def move(robot: Robot, seed: int, dt: float, t_end: float, **options: Any) -> Outcome:
    """Move a robot by steps, under inputs that jump."""
    out, rng = Outcome(seed, dt, kind=kind_of(seed)), np.random.default_rng(seed)
    forces = robot.description.statics.get("u", {}) if seed % 2 == 0 else {}
    sim, u, free = Stepper(robot, dt, **options), {}, seed % 2 == 1
    try:
        state = sim.reset("assembled" if robot.loop_names else None, None if not free else rng.normal(size=robot.ndof))
        start, turned = sum(robot.energy(state.q, state.qd)), 0.0
        before = speed_of(robot, state)
    except SorosimError as error:
        out.error, out.unstarted = str(error), True
        return out
    begin = time.process_time()
    for k in range(round(t_end / dt)):
        if time.process_time() - begin > LIMIT:
            out.cut = True
            break
        if k % max(round(JUMPS / dt), 1) == 0:
            u = {name: float(x) * rng.choice([-1.0, 0.0, 1.0]) for name, x in forces.items()}
        refined = sim.refined
        try:
            after = sim.step(u)
        except SorosimError as error:
            out.error = str(error)
            break
        out.n, out.refined = out.n + 1, sim.refined
        now = robot.energy(after.q, after.qd)
        reached = float(np.sqrt(2.0 * now.kinetic))
        if free:
            turned = turned or now.kinetic
            out.energy = max(out.energy, (sum(now) - start) / max(turned, 1e-12))
            turned = max(turned, now.kinetic)
        # what is not faster than before by more than the error of speeds is within the bound, whatever the forces are
        faster = (1.0 - SPEED_ERROR) * reached > before
        moves = np.any(dt * np.abs(after.qd) > np.maximum(LEAST_MOTION, sim._motion.march.state.scale))
        if faster and sim.refined == refined and moves:
            dense = sim._motion.march.start.mass.shape[0] == robot.ndof
            speed, most = allowed(robot, state, sim._last.segment.rows.qdd[[0, -1]], after, dt, dense)
            out.beyond = max(out.beyond, (1.0 - SPEED_ERROR) * speed / most)
        state, before = after, reached
    return out


def study(seeds: Iterable[int], t_end: float, steps: tuple[float, ...] = STEPS, **options: Any) -> Iterator[Outcome]:
    """Of all robots and sizes of steps."""
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sorosim.SorosimWarning)
            try:
                robot = robot_of(seed)
            except SorosimError:
                continue
            for dt in steps:
                yield move(robot, seed, dt, t_end, **options)


def report(found: list[Outcome], took: float) -> str:
    """A row for each size of steps."""
    moved = [one for one in found if not one.unstarted]
    lines = ["step [ms]  motions  ended in an error  intervals in smaller steps  largest speed over the bound  energy"]
    for dt in sorted({one.dt for one in moved}, reverse=True):
        own = [one for one in moved if one.dt == dt]
        n, ended = sum(one.n for one in own), sum(bool(one.error) for one in own)
        worst, energy = max(own, key=lambda one: one.beyond), max(own, key=lambda one: one.energy)
        beyond = sum(one.beyond > 1.0 + NOISE for one in own)
        lines.append(
            f"{1e3 * dt:9g}  {len(own):7d}  {ended:6d} = {100 * ended / len(own):.1f} %  "
            f"{100 * sum(one.refined for one in own) / max(n, 1):12.2f} %  {worst.beyond:10.3f} (seed {worst.seed}), "
            f"{beyond} motions beyond, "
            f"{sum(one.cut for one in own)} cut"
            f"  {energy.energy:.3g} (seed {energy.seed})"
        )
    for kind in sorted({one.kind for one in moved}):
        own = [one for one in moved if one.kind == kind]
        ended = [sum(bool(one.error) for one in own if one.dt == dt) for dt in sorted({one.dt for one in own})[::-1]]
        lines.append(f"  {kind}: {len({one.seed for one in own})} robots, ended in an error by step: {ended}")
    kinds = Counter(one.error.split(": ")[1][:60] for one in moved if one.error and ": " in one.error)
    return "\n".join([*lines, *(f"{n:4d} x {text}" for text, n in kinds.most_common(8)), f"{took:.0f} s"])


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="step_study", description="Steps under held inputs of random robots.")
    parser.add_argument("--count", type=int, default=1000, help="robots")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first one; the others follow")
    parser.add_argument("--t-end", type=float, default=10.0, help="of each motion [s]")
    parser.add_argument("--verbose", action="store_true", help="a line for each motion")
    options = parser.parse_args(words)
    begin, found = time.monotonic(), []
    for one in study(range(options.seed, options.seed + options.count), options.t_end):
        found.append(one)
        if one.dt == STEPS[-1] and one.seed % 20 == 0:  # a study that is cut has these
            done = one.seed - options.seed + 1
            print(f"{done} of {options.count} robots\n{report(found, time.monotonic() - begin)}\n", flush=True)
        if options.verbose:
            print(one, flush=True)
    print(report(found, time.monotonic() - begin))
    return int(any(one.beyond > 1.0 + NOISE for one in found))


if __name__ == "__main__":
    sys.exit(main())
