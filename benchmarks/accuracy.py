"""What default tolerances are worth: work against precision of many robots; true over estimated errors of motions."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sorosim
from benchmarks.context import Setting
from sorosim.analysis.results.accuracy import apart
from sorosim.analysis.results.result import Run
from sorosim.base.errors import ConvergenceError, SorosimWarning
from sorosim.base.ode import one_blas_thread
from sorosim.files import load, load_text
from sorosim.files.bundled import bundled_robots
from sorosim.mechanics.robot import Robot

METHODS = ("bdf", "radau", "cvode", "lsoda", "generalized-alpha")
RTOLS = (1e-3, 1e-4, 1e-5, 1e-6)
ATOL = 1e-3  # of rtol, as the defaults are
REFERENCE = {"method": "radau", "rtol": 1e-8, "atol": 1e-11}
SECOND = {"method": "cvode", "rtol": 1e-8, "atol": 1e-11}
ROUNDING = 1e-9  # of the way: what the reference itself may be off by
KNOWN = 1e-4  # of the way: what both references may differ by
N_MOTIONS = 200  # whose estimated errors are compared with true ones
T_END, MOST_TIME = 1.0, 60.0  # of each motion; on the clock for each run [s]


def hinges(n: int, joint: str = "{revolute: {axis: [0, 1, 0]}}", start: str = "l0.revolute: 60 deg") -> str:
    """A chain of n bars of 40 cm, undamped, let go from the side."""
    bar = "body: {box: {size: [2 cm, 1 cm, 40 cm]}, density: 2700 kg/m^3, at: {position: [0, 0, -20 cm]}}"
    links = [f"  l{i}: {{{f'parent: l{i - 1}, at: {{position: [0, 0, -40 cm]}}, ' if i else ''}joint: {joint}, {bar}}}"
             for i in range(n)]  # fmt: skip
    return "\n".join(["sorosim: 1", f"name: {n} hinges", "links:", *links, f"initial: {{{start}}}"])


def body(name: str, link: str, contact: str = "", initial: str = "", gravity: str = "[0, 0, -9.81]") -> str:
    """One body, which may touch the ground."""
    load = f"loads: {{floor: {{contact: {{between: body, and: {{half_space: {{}}}}, {contact}}}}}}}" if contact else ""
    return f"sorosim: 1\nname: {name}\ngravity: {gravity}\nlinks: {{body: {{{link}}}}}\n{load}\n{initial}"


_BRICK = "body: {box: {size: [30 cm, 20 cm, 6 cm]}, mass: 1 kg}"
_BALL = "joint: {prismatic: {axis: [0, 0, 1]}}, body: {sphere: {radius: 5 cm}, mass: 300 g}"
_HIGH = "initial: {body.prismatic: 35 cm}"
_SLOPE = "[1.6, 0, -9.7]"
_ROD = """sorosim: 1
name: {name}
materials: {{stuff: {{young: {young}, poisson: 0.45, density: 1100 kg/m^3, damping: {damping}}}}}
links:
  arm: {{{joint}rod: {{length: 40 cm, section: {{circle: {{radius: 1 cm}}}}, material: stuff, strain: {strain}}}}}
"""
_FOUR_BAR = """sorosim: 1
name: undamped four-bar
gravity: [0, -9.81, 0]
links:
  crank: {joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 1 kg, centre: [10 cm, 0, 0], inertia: [1e-3, 4e-3, 4e-3]},
    at: {rotation: {axis: [0, 0, 1], angle: 1.2}}}
  coupler: {parent: crank, at: {position: [0.2, 0, 0], rotation: {axis: [0, 0, 1], angle: -0.9}},
    joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 2 kg, centre: [25 cm, 0, 0], inertia: [1e-3, 4e-2, 4e-2]}}
  rocker: {at: {position: [0.45, 0, 0], rotation: {axis: [0, 0, 1], angle: 1.4336}},
    joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 1.5 kg, centre: [18 cm, 0, 0], inertia: [1e-3, 2e-2, 2e-2]}}
loops: {pin: {joint: {revolute: {axis: [0, 0, 1]}}, from: {link: coupler, at: {position: [0.5, 0, 0]}},
  to: {link: rocker, at: {position: [0.36, 0, 0]}}}}
simulate: {q0: assembled}
"""
# what the bundled robots lack: rigid and undamped motions, impacts, friction, loops, stiff rods
OWN: Mapping[str, str] = {
    **{f"{n} hinges": hinges(n) for n in (1, 2, 4)},
    "hinges at rest below": hinges(3, start="l0.revolute: 10 deg"),
    "balls in a row": hinges(2, "spherical", "l0.spherical.rx: 20 deg, l0.spherical.ry: 50 deg"),
    "universal joints": hinges(2, "{universal: {axis: [1, 0, 0], second_axis: [0, 1, 0]}}",
                               "l0.universal.first: 20 deg, l0.universal.second: 50 deg"),
    "damped hinges": hinges(3, "{revolute: {axis: [0, 1, 0], damping: 0.05}}"),
    "hinges with friction": hinges(2, "{revolute: {axis: [0, 1, 0], friction: 0.1}}"),
    "hinges with springs": hinges(3, "{revolute: {axis: [0, 1, 0], stiffness: 20}}"),
    "brick that tumbles": body("brick", f"joint: spherical, {_BRICK}", "",
                               "initial: {body: {angular_velocity: [0.1, 9, 0.1]}}", "[0, 0, 0]"),
    "brick in flight": body("flight", f"joint: free, {_BRICK}", "",
                            "initial: {body: {velocity: [2, 0, 5], angular_velocity: [1, 8, 3]}}"),
    "mass on a spring": body("spring", "joint: {prismatic: {axis: [0, 0, 1], stiffness: 500}}, "
                                       "body: {sphere: {radius: 5 cm}, mass: 300 g}"),
    "ball that bounces": body("bounces", _BALL, "stiffness: 1e5", _HIGH),
    "ball that bounces stiffly": body("stiff", _BALL, "stiffness: 1e7", _HIGH),
    "ball that loses half": body("half", _BALL, "stiffness: 1e5, restitution: 0.5, impact_speed: 1 m/s", _HIGH),
    "puck on a slope": body("puck", "joint: free, body: {box: {size: [20 cm, 20 cm, 20 cm]}, mass: 1 kg}",
                            "stiffness: 1e5, exponent: 1, onset: 0.1 mm, damping: 2 s/m, friction: 0.1, "
                            "slip_speed: 1 mm/s",
                            "initial: {body: {position: [0, 0, 99.9 mm]}}", _SLOPE),
    "ball that rolls": body("rolls", "joint: free, body: {sphere: {radius: 10 cm}, mass: 1 kg}",
                            "stiffness: 1e5, damping: 0.3 s/m, friction: 0.3, slip_speed: 2 cm/s",
                            "initial: {body: {position: [0, 0, 99.8 mm]}}", _SLOPE),
    "undamped four-bar": _FOUR_BAR,
    "rod, hardly damped": _ROD.format(name="rod", young="1 MPa", damping="10 Pa*s", joint="", strain="{bending: 4}"),
    "rod, damped": _ROD.format(name="rod", young="1 MPa", damping="10 kPa*s", joint="",
                               strain="{bending: 4, elongation: 1}"),
    "rod of all strains": _ROD.format(name="rod", young="500 kPa", damping="1 kPa*s", joint="",
                                      strain="{torsion: 2, bending: 4, elongation: 2, shear: 2}"),
    "stiff rod": _ROD.format(name="rod", young="1 GPa", damping="1 MPa*s", joint="", strain="{bending: 4}"),
    "rod on a hinge": _ROD.format(name="rod", young="5 MPa", damping="1 kPa*s", strain="{bending: 3}",
                                  joint="joint: {revolute: {axis: [0, 1, 0]}}, "),
}  # fmt: skip


class Point(NamedTuple):
    """One run."""

    robot: str
    method: str
    rtol: float
    error: float  # largest of any place, of the longest way; infinite: it failed
    seconds: float  # of the processor


def loaded(name: str) -> Robot:
    """A robot of the study."""
    return load_text(OWN[name], name) if name in OWN else load(name)


def simulated(robot: Robot, t_end: float, **options: Any) -> tuple[Run | None, float]:
    """A run, None where it failed or took too long, and its time of the processor [s]."""
    begin = time.process_time()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", SorosimWarning)
        try:
            run = sorosim.simulate(robot, t_end, max_wall_time=MOST_TIME, **options)
        except ConvergenceError:
            return None, time.process_time() - begin
    return run, time.process_time() - begin


def length_of(robot: Robot, t_end: float) -> float:
    """How long a motion is followed: as its file says, but no longer than `t_end`."""
    return min(t_end, robot.description.simulate.get("t_end") or t_end)


def reference(robot: Robot, t_end: float) -> Run | None:
    """The motion itself, where two methods agree on it."""
    first, _ = simulated(robot, t_end, **REFERENCE)
    second, _ = (None, 0.0) if first is None else simulated(robot, t_end, **SECOND)
    if first is None or second is None:
        return None
    distance, way = apart(robot, first.q, second.q)
    return first if distance.max() <= KNOWN * way else None


def measure(
    names: Sequence[str], t_end: float, rtols: Sequence[float], report: Callable[[str], None]
) -> list[Point]:  # fmt: skip
    """All methods at all tolerances."""
    points = []
    for name in names:
        robot = loaded(name)
        end = length_of(robot, t_end)
        exact = reference(robot, end)
        if exact is None:
            report(f"{name}: no reference")
            continue
        for method in METHODS:
            simulated(robot, 1e-3, method=method)  # compiled
            for rtol in rtols:
                run, seconds = simulated(robot, end, method=method, rtol=rtol, atol=ATOL * rtol, step=None)
                error = np.inf
                if run is not None:
                    distance, way = apart(robot, exact.q, run.q)
                    error = float(distance.max() / way)
                points.append(Point(name, method, rtol, error, seconds))
            own = [point for point in points if point.robot == name and point.method == method]
            row = "  ".join(f"{point.error:.1e} {point.seconds:.2f}" for point in own)
            report(f"{name:26s} {method:18s} {row}")
    return points


def names_of(share: float) -> list[str]:
    """Own robots and bundled ones, or a part of them."""
    every = [*OWN, *bundled_robots()]
    return every[:: max(1, round(1.0 / share))]


def seconds_at(points: Sequence[Point], robot: str, method: str, error: float) -> float:
    """Time at which a method comes to an error, between its runs; NaN where it does not within them."""
    own = sorted((point for point in points if (point.robot, point.method) == (robot, method)), key=lambda p: -p.rtol)
    own = [point for point in own if np.isfinite(point.error)]
    if not own or min(point.error for point in own) > error:
        return float("nan")
    x = np.log([max(point.error, 1e-15) for point in own])
    y = np.log([max(point.seconds, 1e-4) for point in own])
    # the first tolerance at which it is reached and stays so
    first = max(k for k in range(len(own)) if k == 0 or x[k - 1] > np.log(error))
    if first == 0:
        return float(np.exp(y[0]))
    part = (np.log(error) - x[first - 1]) / (x[first] - x[first - 1])
    return float(np.exp(y[first - 1] + min(part, 1.0) * (y[first] - y[first - 1])))


def summary(points: Sequence[Point], error: float = 1e-3) -> Iterator[str]:
    """Times at equal error against bdf, and at equal tolerance against bdf at 1e-3; how many are right to `error`."""
    robots = list(dict.fromkeys(point.robot for point in points))
    base = {p.robot: p.seconds for p in points if p.method == "bdf" and p.rtol == max(q.rtol for q in points)}
    for method in METHODS:
        for level in (error, 0.1 * error):
            ratios = [
                seconds_at(points, robot, "bdf", level) / seconds_at(points, robot, method, level) for robot in robots
            ]
            known = np.array([ratio for ratio in ratios if np.isfinite(ratio)])
            yield f"{method}: {np.median(known):.2f} times as fast as bdf at {level:g} in the median of {len(known)}"
        for rtol in sorted({point.rtol for point in points}, reverse=True):
            own = [point for point in points if point.method == method and point.rtol == rtol]
            good = sum(point.error <= error for point in own)
            cost = np.median([point.seconds / base[point.robot] for point in own])
            failed = sum(not np.isfinite(point.error) for point in own)
            yield (f"  {method} at {rtol:g}: {good} of {len(own)} right to {error:g}, {failed} failed, "
                   f"median {np.median([point.error for point in own]):.1e}, {cost:.2f} times the time")  # fmt: skip


def plot(points: Sequence[Point], ratios: Sequence[float], path: Path) -> None:
    """Errors and times of all robots by method and tolerance, and the histogram of true over estimated errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    base = {p.robot: p.seconds for p in points if p.method == "bdf" and p.rtol == max(q.rtol for q in points)}
    for method, marker in zip(METHODS, "os^Dv", strict=True):
        rtols = sorted({point.rtol for point in points}, reverse=True)
        middle, low, high, cost = [], [], [], []
        for rtol in rtols:
            own = [p for p in points if p.method == method and p.rtol == rtol]
            errors = np.array([min(p.error, 1e3) for p in own])
            low.append(np.quantile(errors, 0.25))
            middle.append(np.median(errors))
            high.append(np.quantile(errors, 0.75))
            cost.append(np.median([p.seconds / base[p.robot] for p in own]))
        (line,) = left.loglog(middle, cost, f"{marker}-", label=method)
        left.hlines(cost, low, high, color=line.get_color(), alpha=0.3)
        for rtol, x, y in zip(rtols, middle, cost, strict=True):
            if method == "bdf":
                left.annotate(f"{rtol:.0e}", (x, y), textcoords="offset points", xytext=(4, 5), fontsize=7)
    left.axvline(1e-3, color="k", lw=0.7, ls=":")
    left.set(xlabel="error of the worst place, of the longest way", ylabel="time, of bdf at the largest tolerance")
    left.grid(True, which="major", alpha=0.3)
    left.legend(fontsize=8)
    if len(ratios):
        logs = np.log10(np.clip(ratios, 1e-3, 1e3))
        right.hist(logs, bins=np.arange(-3.0, 3.05, 0.1), color="C0")
        right.axvspan(-1.0, 1.0, color="k", alpha=0.06)
        within = np.mean(np.abs(logs) <= 1.0)
        right.set(xlabel="log10 of true over estimated error", ylabel="motions",
                  title=f"{len(ratios)} motions, {100.0 * within:.0f} % within a tenth and ten times")  # fmt: skip
    figure.savefig(path, dpi=110)


# -- estimates ---------------------------------------------------------------------------------------------------------

ESTIMATED = (
    "pendulum", "double_pendulum", "cable_manipulator", "two_segment_arm", "heavy_top", "soft_pendubot",
    "soft_furuta", "soft_cart_pole", "hybrid_serial", "pneumatic_bellow", "free_fall_rod", "1 hinges",
    "2 hinges", "4 hinges", "balls in a row", "universal joints", "damped hinges", "hinges with springs",
    "hinges at rest below", "mass on a spring", "brick that tumbles", "rod, hardly damped", "rod, damped",
    "rod of all strains", "rod on a hinge", "ball that bounces", "ball that loses half", "undamped four-bar",
)  # fmt: skip


def motion(seed: int) -> tuple[Robot, dict[str, Any]]:
    """A random motion: a robot, a start, inputs, a method, tolerances or a step, and an end."""
    rng = np.random.default_rng(seed)
    name = ESTIMATED[seed % len(ESTIMATED)]
    robot = loaded(name)
    options: dict[str, Any] = {"t_end": float(np.round(rng.uniform(0.3, 1.0), 2)), "dt_out": 0.01}
    if not robot.loop_names:  # a start beside the one of the file, by a tenth of a radian or of a unit of strain
        options["q0"] = robot.initial_q + 0.1 * rng.normal(size=robot.ndof) * (np.abs(robot.initial_q) > 0.0)
    if names := robot.actuator_names:
        u, w = robot.description.simulate.get("u") or {}, rng.uniform(1.0, 8.0)
        options["u"] = {name: f"{rng.uniform(0.2, 1.0):.3f}*(1-cos({w:.3f}*t))" for name in names if name in u}
    method = str(rng.choice(["bdf", "bdf", "radau", "cvode", "lsoda", "generalized-alpha", "fixed"]))
    if method == "fixed":
        options |= {"method": "generalized-alpha", "step": float(rng.choice([0.002, 0.005, 0.01]))}
    else:
        rtol = float(10.0 ** rng.uniform(-5.0, -3.0))
        options |= {"method": method, "rtol": rtol, "atol": ATOL * rtol, "step": None}
    return robot, options


def ratio(seed: int) -> tuple[float, str]:
    """True over estimated error at the time at which the estimate is largest, and the motion in words; NaN: not known.

    Where the motion is parted from its neighbours, times before that count.
    """
    robot, options = motion(seed)
    words = f"{robot.name}, {options['method']}, {options.get('rtol') or 0:.1e}, {options.get('step')}"
    run, _ = simulated(robot, verify=True, **options)
    fine = {**options, **REFERENCE, "step": None}
    exact, _ = (None, 0.0) if run is None else simulated(robot, **fine)
    if run is None or exact is None:
        return float("nan"), words
    estimate = run.accuracy
    row = int(np.argmax(np.where(run.t < estimate.parts_at, estimate.error, -1.0)))
    true, _ = apart(robot, run.q, exact.q)
    if not estimate.error[row] > ROUNDING * estimate.way:  # it does not move
        return float("nan"), words
    return float(true[row] / estimate.error[row]), f"{words}: {estimate.error[row]:.1e} m"


def ratios(n: int, report: Callable[[str], None]) -> list[float]:
    """Of n motions."""
    found = []
    for seed in range(n):
        value, words = ratio(seed)
        if np.isfinite(value):
            found.append(value)
        report(f"{seed:4d} {value:9.3g}  {words}")
    return found


def study(at: Setting) -> None:
    """Work against precision of many robots, and true over estimated errors of 200 motions; some twenty minutes."""
    share, n, t_end = at.size((1.0, N_MOTIONS, T_END), (0.04, 3, 0.05))
    at.say("robot, method; error of the worst place over the longest way, and time [s], from large to small tolerances")
    points = measure(names_of(share), t_end, RTOLS, at.say)
    for line in summary(points):
        at.say(line)
    at.say("motion, true over estimated error")
    found = ratios(n, at.say)
    at.say(f"{len(found)} motions, {np.mean(np.abs(np.log10(found)) <= 1.0):.1%} within a tenth and ten times")
    plot(points, found, at.folder / "accuracy.png")
