"""Observers beside the truth: whether their bands hold, and what they give beside an observer of constant gain.

python -m benchmarks.observers --runs 200 --out docs/images/observers.png
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, stats

import sorosim
from benchmarks.context import Setting
from sorosim.base.arrays import Array
from sorosim.base.errors import SorosimError
from sorosim.base.ode import one_blas_thread
from sorosim.files import load_text
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.studies.estimation.moving import Belief
from sorosim.studies.estimation.unknowns import place_of

DT, T_END, SUBSTEPS = 0.02, 10.0, 4
# after which means are taken [s]: at first the stiffest motions are known to a part of what they were that
# linearisation does not reach
SETTLED = 0.5
# of 95 %: bands of deviations; ways in which readings fail, and when [s]
BAND, FROM, UNTIL, LATE, OFF = 1.96, 4.0, 5.0, 0.1, 10.0
# what is begun with: spreads of places [m] and velocities [m/s]; frequency of a push that nobody expects [Hz]
POSITION, VELOCITY, PUSH = 5e-3, 2e-2, 0.5
# factors of the gain of which the best counts
GAINS = (0.5, 1.0, 2.0)

ARM = """
sorosim: 1
name: arm
materials:
  rubber: {young: 0.5 MPa, poisson: 0.49, density: 1100 kg/m^3, damping: 300 Pa*s}
links:
  arm:
    rod: {length: 30 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 2}}
actuators:
  pull: {tendon: {rod: arm, y: 0, z: 8 mm}}
"""
BODY = """
sorosim: 1
name: free body
gravity: [0, 0, 0]
links:
  hull:
    joint: free
    body: {box: {size: [20 cm, 10 cm, 5 cm]}, mass: 1 kg}
    frames: {bow: {position: [10 cm, 0, 0]}}
loads:
  turn: {wrench: {link: hull, moment: [0, 2 N*mm, 1 N*mm]}}
actuators:
  turn: {load: turn}
"""
LOOP = """
sorosim: 1
name: loop
gravity: [0, -9.81, 0]
parameters:
  crank: 10 cm
  ground: 35 cm
  long: 32.5 cm
  rise: atan(10/35)
  open: acos(sqrt(10^2 + 35^2)/(2*32.5))
  hinge: {revolute: {axis: [0, 0, 1], damping: 5 N*mm*s/rad}}
links:
  crank:
    at: {rotation: {axis: [0, 0, 1], angle: -90 deg}}
    joint: {revolute: {axis: [0, 0, 1], damping: 5 N*mm*s/rad, stiffness: 1 N*m/rad}}
    body: {box: {size: [$crank, 3 cm, 1 cm]}, density: 2700 kg/m^3, at: {position: [$crank/2, 0, 0]}}
    frames: {end: {position: [$crank, 0, 0]}}
  coupler:
    parent: crank
    at: {frame: end, rotation: {axis: [0, 0, 1], angle: 90 deg + $rise + $open}}
    joint: $hinge
    body: {box: {size: [$long, 2 cm, 5 mm]}, mass: 0.3 kg, at: {position: [$long/2, 0, 0]}}
    frames: {end: {position: [$long, 0, 0]}}
  rocker:
    at: {position: [$ground, 0, 0], rotation: {axis: [0, 0, 1], angle: 180 deg + $rise - $open}}
    joint: $hinge
    body: {box: {size: [$long, 2 cm, 5 mm]}, density: 2700 kg/m^3, at: {position: [$long/2, 0, 0]}}
    frames: {end: {position: [$long, 0, 0]}}
loops:
  pin: {joint: spherical, from: {link: coupler, at: {frame: end}}, to: {link: rocker, at: {as_built: true, frame: end}}}
loads:
  wind: {wrench: {link: rocker, moment: [0, 0, 1 N*m]}}
actuators:
  motor: {joint: {link: crank}}
  wind: {load: wind}
"""
SWIMMER = """
sorosim: 1
name: swimmer
gravity: [0, 0, 0]
materials:
  rubber: {young: 0.3 MPa, poisson: 0.49, density: 1000 kg/m^3, damping: 500 Pa*s}
links:
  head:
    joint: free
    body: {ellipsoid: {radii: [6 cm, 4 cm, 4 cm]}, density: 1000 kg/m^3}
  tail:
    parent: head
    at: {position: [-6 cm, 0, 0], rotation: {axis: [0, 0, 1], angle: 180 deg}}
    rod:
      length: 30 cm
      section: {ellipse: {y: [12 mm, 8 mm], z: [4 cm, 3 cm]}}
      material: rubber
      strain: {bending_z: 3}
actuators:
  muscle1: {moment: {rod: tail, bending_z: (12 N*mm)*(1 - 0.7*s)*cos(2*pi*s)}}
  muscle2: {moment: {rod: tail, bending_z: (12 N*mm)*(1 - 0.7*s)*sin(2*pi*s)}}
loads:
  water: {fluid: {density: 1000 kg/m^3}}
"""


@dataclass(frozen=True)
class Task:
    """A robot that is observed."""

    text: str
    unknown: Any
    prior: dict[str, Any]
    process: dict[str, Any]
    readings: dict[str, Any]  # place -> noise; that of a pose is a pair, of an angle and a length
    place: Any  # that nobody sees
    u: Callable[[float], list[float]]
    push: float  # SI, in the place of random walks and accelerations
    start: Any = "equilibrium"
    pushed: int | None = None  # a command that the observer takes for zero, where what is unknown cannot be pushed


TASKS: dict[str, Task] = {
    "arm, force": Task(
        ARM, {"arm.tip": "force"}, {"arm.tip": "0.05 N"}, {"arm.tip": "0.05 N", "motion": "2 cm/s"},
        {"arm": 1e-3, "arm#2": 1e-3, "arm@0.5": 1e-3}, ("arm", 0.75), lambda t: [1.0 + 0.5 * np.sin(2.0 * t)], 0.05,
    ),
    "free body, force": Task(
        BODY, {"hull": "force"}, {"hull": "0.05 N"}, {"hull": "0.05 N", "motion": "1 cm/s"},
        {"hull": (0.01, 1e-3), "hull.bow": 1e-3}, "hull", lambda t: [np.sin(1.5 * t)], 0.05, np.zeros(6),
    ),
    "loop, moment": Task(
        LOOP, ["wind"], {"wind": 0.05}, {"wind": 0.05, "motion": "2 cm/s"}, {"crank.end": 1e-3, "rocker.end": 1e-3},
        "coupler", lambda t: [0.4 * np.sin(3.0 * t), 0.0], 0.05,
    ),
    "loop, mass": Task(
        LOOP, {"links.coupler.body.mass": None}, {"links.coupler.body.mass": "50 g"},
        {"links.coupler.body.mass": "10 g", "motion": "2 cm/s"}, {"crank.end": 1e-3, "rocker.end": 1e-3},
        "coupler", lambda t: [0.4 * np.sin(3.0 * t), 0.0], 0.02, pushed=1,
    ),
    "swimmer, force": Task(
        SWIMMER, {"head": "force"}, {"head": "20 mN"}, {"head": "10 mN", "motion": "1 cm/s"},
        {"head": (0.02, 2e-3), "head#2": (0.02, 2e-3), "tail": 2e-3}, ("tail", 0.5),
        lambda t: [np.cos(2.0 * np.pi * t), np.sin(2.0 * np.pi * t)], 0.02, np.zeros(10),
    ),
}  # fmt: skip


class Truth(NamedTuple):
    """A motion, and what was read of it."""

    first: Any  # Observation of a start, about which the true one is spread
    q: list[Array]
    qd: list[Array]
    values: Array  # (n_steps, n)
    y: list[dict[str, Any]]
    places: Array  # (n_steps, 3)


@dataclass
class Score:
    """What observed motions come to, by time where `nees` is concerned."""

    nees: Array
    dof: Array
    inside: list[float] = field(default_factory=list)
    place: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    rejected: int = 0
    wrongly: int = 0
    lost: int = 0  # runs that did not get to their end
    steps: int = 0
    seconds: float = 0.0

    def part_in_band(self, begin: float = 0.0, end: float = np.inf) -> float:
        """Part of the times at which the mean over runs lies in the band of 95 % of chi-squared."""
        t = DT * np.arange(1, len(self.nees) + 1)
        low, high = np.asarray(stats.chi2.ppf([[0.025], [0.975]], self.dof))
        within = ((self.nees > low) & (self.nees < high))[(t >= begin) & (t <= end)]
        return float(within.mean()) if len(within) else float("nan")

    @property
    def mean(self) -> float:
        """Mean of NEES over degrees of freedom, once the start is forgotten."""
        k = round(SETTLED / DT)
        return float(self.nees[k:].sum() / self.dof[k:].sum())


def observer_of(task: Task) -> Any:
    """An observer of a task."""
    return sorosim.Observer(
        load_text(task.text, "robot.yaml"), DT, task.unknown, task.process, prior=task.prior, substeps=SUBSTEPS,
        noise={key: list(sd) if isinstance(sd, tuple) else sd for key, sd in task.readings.items()},
    )  # fmt: skip


def reset(task: Task, observer: Any) -> Any:
    """The state that the observer begins with."""
    u = task.u(0.0)
    return observer.reset(task.start, u=u, position=POSITION, velocity=VELOCITY)


def true_motion(task: Task, observer: Any, random: Any, expected: bool, n_steps: int) -> Truth:
    """A motion under random accelerations and walks as the observer expects them, or under a sinusoidal push."""
    first, moving = reset(task, observer), observer._moving
    error = first.root @ random.standard_normal(first.root.shape[1])
    belief = moving.closed(observer._belief, observer._belief.x + error, first.root)
    state, values, phase = belief.state, belief.mean.copy(), random.uniform(0.0, 2.0 * np.pi)
    middle, n = values.copy(), len(state.q)
    out = Truth(first, [], [], np.empty((n_steps, len(values))), [], np.empty((n_steps, 3)))
    for k in range(n_steps):
        u, wave = list(task.u(DT * k)), task.push * np.sin(2.0 * np.pi * PUSH * DT * (k + 0.5) + phase)
        if not expected and task.pushed is not None:
            u[task.pushed] += wave
        elif not expected:
            values = middle + wave
        moving.take(values)
        robot, sim = moving.robot, moving._now.sim
        sim._begin_at(state)
        state = sim.step(moving.inputs(np.array(u), values))
        d: Array = np.zeros(moving.at + moving.m)
        if expected:
            kicks = observer._disturbances(np.array(state.q))
            d = kicks @ random.standard_normal(kicks.shape[1])
            values = values + d[moving.at :]
        x = np.concatenate([np.array(state.q) + d[:n], np.array(state.qd) + d[n : 2 * n], values])
        state = moving.closed(Belief(state, values, first.root), x, first.root).state
        out.q.append(np.array(state.q))
        out.qd.append(np.array(state.qd))
        out.values[k], out.places[k] = values, pose(robot, state.q, task.place)[:3, 3]
        out.y.append({key: read(robot, state.q, key, sd, random) for key, sd in task.readings.items()})
    return out


def pose(robot: Any, q: Any, place: Any) -> Array:
    """The pose (4, 4) of a place."""
    anchor = place_of(robot, place, "place")
    return np.asarray(LinkFrames(robot.description, robot.engine, [anchor]).poses(q)[0])


def read(robot: Any, q: Any, key: str, sd: Any, random: Any) -> Array:
    """What is read of a place."""
    g = pose(robot, q, key)
    if not isinstance(sd, tuple):
        return np.asarray(g[:3, 3] + sd * random.standard_normal(3))
    turn, out = linalg.expm(np.cross(np.eye(3), sd[0] * random.standard_normal(3))), np.eye(4)
    out[:3, :3], out[:3, 3] = g[:3, :3] @ turn, g[:3, 3] + g[:3, :3] @ (sd[1] * random.standard_normal(3))
    return out


# -- ways in which readings come ---------------------------------------------------------------------------------------

Told = tuple[dict[str, Any] | None, dict[float, dict[str, Any]] | None]  # readings of a step, and late ones


def in_time(truth: Truth, task: Task, k: int) -> Told:
    """All of them, at once."""
    return truth.y[k], None


def missing(truth: Truth, task: Task, k: int) -> Told:
    """None for a second."""
    return (None if FROM < DT * (k + 1) <= UNTIL else truth.y[k]), None


def late(truth: Truth, task: Task, k: int) -> Told:
    """All of them, 100 ms late."""
    back = round(LATE / DT)
    return None, ({DT * (k + 1 - back): truth.y[k - back]} if k >= back else None)


def wrong(truth: Truth, task: Task, k: int) -> Told:
    """The first of them is off by ten spreads along x for a second."""
    y, key = dict(truth.y[k]), next(iter(task.readings))
    if FROM < DT * (k + 1) <= UNTIL:
        sd, value = task.readings[key], y[key].copy()
        if isinstance(sd, tuple):
            value[:3, 3] += value[:3, 0] * OFF * sd[1]
        else:
            value[0] += OFF * sd
        y[key] = value
    return y, None


WAYS: Mapping[str, Callable[[Truth, Task, int], Told]] = {
    "missing for 1 s": missing, "100 ms late": late, "one sensor off by 10 spreads": wrong,
}  # fmt: skip


# -- observers ---------------------------------------------------------------------------------------------------------


def observed(
    task: Task, observer: Any, truths: Iterable[Truth], way: Callable[[Truth, Task, int], Told] = in_time
) -> Score:
    """What the observer makes of motions."""
    score: Score | None = None
    for truth in truths:
        n = len(truth.q)
        score = Score(np.zeros(n), np.zeros(n)) if score is None else score
        reset(task, observer)
        for k in range(n):
            y, after = way(truth, task, k)
            begin = time.thread_time()
            found = observer.step(task.u(DT * k), y, late=after)
            score.seconds += time.thread_time() - begin
            score.steps += 1
            key = next(iter(task.readings))
            off = way is wrong and FROM < DT * (k + 1) <= UNTIL
            score.rejected += off and key in found.rejected
            score.wrongly += len([name for name in found.rejected if not (off and name == key)])
            values = dict(zip(found.names, truth.values[k].tolist(), strict=True))
            size, dof = found.nees(truth.q[k], truth.qd[k], values)
            score.nees[k] += size
            score.dof[k] += dof
            apart = found.mean - truth.values[k]
            sd = np.array(list(found.standard_deviations.values()))
            score.inside += (np.abs(apart) <= BAND * sd).tolist()
            score.value.append(float(apart @ apart))
            place = pose(found.robot, found.q, task.place)[:3, 3] - truth.places[k]
            score.place.append(float(place @ place))
    assert score is not None
    return score


def gain_of(task: Task, observer: Any) -> Array:
    """The gain of a steady Kalman filter at the start, by the algebraic equation of Riccati."""
    first, moving = reset(task, observer), observer._moving
    belief = observer._belief
    state, F = moving.move(belief, observer._given.inputs(task.u(0.0)), None)
    there = belief._replace(state=state)
    y = {key: pose(moving.robot, state.q, key) for key in task.readings}
    y = {key: g if isinstance(task.readings[key], tuple) else g[:3, 3] for key, g in y.items()}
    H = moving.errors(y, there, there.x)[1]
    D = observer._disturbances(np.array(state.q))
    # loops: only along what is uncertain at the start
    size = np.linalg.norm(first.root, axis=1)
    size[size == 0.0] = 1.0
    U, s, _ = linalg.svd(first.root / size[:, None])
    U = U[:, s > 1e-6 * s[0]]
    T, back = size[:, None] * U, (U / size[:, None]).T
    C, noise = H @ T, np.eye(len(H))
    P = linalg.solve_discrete_are((back @ F @ T).T, C.T, back @ D @ D.T @ back.T, noise)
    return np.asarray(T @ P @ C.T @ linalg.inv(C @ P @ C.T + noise))


def by_constant_gain(task: Task, observer: Any, truths: Iterable[Truth], K: Array) -> Score:
    """What an observer of Luenberger makes of motions: the same steps, and a constant gain."""
    score, moving = Score(np.zeros(0), np.zeros(0)), observer._moving
    for truth in truths:
        reset(task, observer)
        belief, places, values = observer._belief._replace(root=np.zeros((len(K), 1))), list[float](), list[float]()
        try:
            for k, y in enumerate(truth.y):
                begin = time.thread_time()
                moving.take(belief.mean)
                sim = moving._now.sim
                sim._begin_at(belief.state)
                u = observer._given.inputs(task.u(DT * k))
                belief = belief._replace(state=sim.step(moving.inputs(u, belief.mean)))
                e = moving.errors(y, belief, belief.x)[0]
                belief = moving.closed(belief, belief.x - K @ e, belief.root)
                score.seconds += time.thread_time() - begin
                score.steps += 1
                apart = belief.mean - truth.values[k]
                values.append(float(apart @ apart))
                place = pose(moving.robot, belief.state.q, task.place)[:3, 3] - truth.places[k]
                places.append(float(place @ place))
        except (SorosimError, ValueError, FloatingPointError):  # it diverges
            score.lost += 1
            continue
        score.place, score.value = score.place + places, score.value + values
    return score


def by_best_gain(task: Task, observer: Any, truths: Sequence[Truth]) -> tuple[float, Score]:
    """The factor of the gain that loses the fewest runs and has the least errors, of places and unknowns, and these."""
    K = gain_of(task, observer)
    scores = {factor: by_constant_gain(task, observer, truths, factor * K) for factor in GAINS}

    def errors(factor: float) -> tuple[int, float]:
        score = scores[factor]
        return score.lost, float(np.log(np.mean(score.place) * np.mean(score.value))) if score.place else np.inf

    factor = min(GAINS, key=errors)
    return factor, scores[factor]


def percent(part: float) -> str:
    """A part in words."""
    return f"{100.0 * part:.1f} %"


def rms(squares: Sequence[float]) -> float:
    """Root of the mean."""
    return float(np.sqrt(np.mean(squares))) if len(squares) else float("nan")


# -- the study ---------------------------------------------------------------------------------------------------------


def measure(name: str, runs: int, say: Callable[[str], None], t_end: float = T_END) -> dict[str, Score]:
    """Scores of one robot, by what moves it and how its readings come."""
    task, n_steps = TASKS[name], round(t_end / DT)
    observer, few = observer_of(task), max(1, runs // 5)
    scores: dict[str, Score] = {}
    for expected in (True, False):
        random = np.random.default_rng(1)
        truths = [true_motion(task, observer, random, expected, n_steps) for _ in range(runs)]
        score = scores["expected" if expected else "pushed"] = observed(task, observer, truths)
        factor, constant = by_best_gain(task, observer, truths)
        other = f"constant gain, its best factor {factor:g}, loses {constant.lost} runs"
        if constant.place:
            other += f", of the others {1e3 * rms(constant.place):.2f} mm and {rms(constant.value):.3g}"
            other += f", {1e3 * constant.seconds / constant.steps:.2f} ms a step"
        say(
            f"{name}, {observer.robot.ndof} coordinates, {'as expected' if expected else 'pushed'}, {runs} runs: NEES "
            f"in its band at {percent(score.part_in_band())} of the times, mean {score.mean:.2f} of 1; unknown in its "
            f"band {percent(float(np.mean(score.inside)))}; rms error of a place {1e3 * rms(score.place):.2f} mm, of "
            f"the unknown {rms(score.value):.3g}; left out {score.wrongly} readings; "
            f"{1e3 * score.seconds / score.steps:.2f} ms a step; {other}"
        )
        if expected:
            for way, told in WAYS.items():
                scores[way] = score = observed(task, observer, truths[:few], told)
                off = f", {score.rejected} of {few * round((UNTIL - FROM) / DT)} named" if told is wrong else ""
                then = ""
                if t_end > FROM:
                    part = percent(score.part_in_band(FROM, UNTIL + 1.0))
                    then = f", from {FROM:g} to {UNTIL + 1.0:g} s {part}"
                say(
                    f"{name}, readings {way}, {few} runs: NEES in its band at {percent(score.part_in_band())} of the "
                    f"times{then}, mean {score.mean:.2f} of 1; unknown in its band "
                    f"{percent(float(np.mean(score.inside)))}{off}; others left out "
                    f"{score.wrongly}; {1e3 * score.seconds / score.steps:.2f} ms a step"
                )
    return scores


def plot(found: Mapping[str, Mapping[str, Score]], path: Path) -> None:
    """NEES over time, averaged over runs, with the band of 95 %."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

    from sorosim.view.viz.figures import PALETTE, new_figure

    with new_figure(11.0, 3.2 * ((len(found) + 1) // 2), path) as figure:
        axes = figure.subplots((len(found) + 1) // 2, 2, sharex=True, sharey=True, squeeze=False).ravel()
        for ax, (name, scores) in zip(axes, found.items(), strict=False):
            for k, (which, label) in enumerate((("expected", "as expected"), ("pushed", "a sinusoidal push"))):
                score = scores[which]
                t = DT * np.arange(1, len(score.nees) + 1)
                ax.plot(t, score.nees / score.dof, color=PALETTE[k], linewidth=1.0, label=label)
            dof = scores["expected"].dof
            low, high = np.asarray(stats.chi2.ppf([[0.025], [0.975]], dof)) / dof
            ax.fill_between(t, low, high, color="0.85", label="95 % band")
            ax.set(title=name, yscale="log", ylim=(0.1, 20.0))
            ax.yaxis.set(major_locator=FixedLocator([0.1, 0.3, 1.0, 3.0, 10.0]), minor_locator=NullLocator(),
                         major_formatter=FormatStrFormatter("%g"))  # fmt: skip
        for ax in axes[::2]:
            ax.set(ylabel="NEES over its degrees of freedom")
        for ax in axes[len(found) :]:
            ax.set_axis_off()
        for ax in axes[max(len(found) - 2, 0) : len(found)]:
            ax.set(xlabel="t [s]")
            ax.tick_params(labelbottom=True)
        axes[0].legend(fontsize=8)


def study(at: Setting) -> None:
    """NEES, coverage and errors of observers of four robots beside observers of constant gain; some hours."""
    runs, t_end = at.size((200, T_END), (2, 0.6))
    plot({name: measure(name, runs, at.say, t_end) for name in TASKS}, at.folder / "observers.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="of each robot; of those whose readings fail a fifth")
    parser.add_argument("--robots", nargs="*", default=list(TASKS), choices=list(TASKS), metavar="NAME")
    parser.add_argument("--time", type=float, default=T_END, help="of each run [s]")
    parser.add_argument("--out", type=Path, help="picture to write")
    given = parser.parse_args()
    with one_blas_thread():
        found = {name: measure(name, given.runs, partial(print, flush=True), given.time) for name in given.robots}
    if given.out:
        plot(found, given.out)
