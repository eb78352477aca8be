"""Work against precision of an arm of four rods of constant strain, 24 coordinates, beside soromox in JAX.

Each code takes the methods that it has, from coarse to fine, on one core; times are those of the processor, compiled
and warm. Errors are those of time: each code is compared with its own finest motion.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cases import amount
from benchmarks.context import Array, Setting
from sorosim.analysis.motion.batch import Batch
from sorosim.analysis.motion.simulate import simulate
from sorosim.base.errors import ConvergenceError
from sorosim.base.ode import one_blas_thread
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

OURS, THEIRS = "sorosim", "soromox"
RODS, LENGTH, RADIUS = 4, 0.125, 0.02  # [m]
YOUNG, POISSON, DENSITY = 1e6, 0.49, 1000.0  # [Pa], [-], [kg/m^3]
DAMPINGS = (1e4, 1e3, 1e2)  # viscosities of the material [Pa s]
# [m/s^2], across the straight arm, which leads along x here, along z there
GRAVITY, GRAVITY_THERE = (0.0, 0.0, -9.81), (9.81, 0.0, 0.0)
END, SAMPLES = 1.0, 4  # [s], and how many times of equal distances are looked at
ERRORS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
# relative tolerances, with an absolute one of a hundredth; Radau's method is the reference at the last one
TOLERANCES = tuple(10.0**-k for k in range(3, 11))
BY_TOLERANCE = {
    "cvode": TOLERANCES, "bdf": TOLERANCES, "lsoda": TOLERANCES, "radau": TOLERANCES[:6], "ida": TOLERANCES[:6],
    "generalized-alpha": TOLERANCES[:6],
}  # fmt: skip
BY_STEPS, STEPS = ("newmark", "generalized-alpha"), (32, 64, 128, 256, 512, 1024, 2048, 4096)
MEMBERS, MEMBERS_THERE = 16, 8
ROUNDS, LONG = 3, 2.0  # [s]
# what is tight enough for steps of Newton's method whose errors are combined
NEWTON = 1e-11


class Point(NamedTuple):
    """A motion that was timed."""

    code: str
    damping: float  # [Pa s]
    method: str
    setting: str
    members: int  # that moved together
    seconds: float  # of the processor, of one member [s]
    error: float  # largest distance of the tip from where it should be, by the length of the arm; inf: it gave up

    def __str__(self) -> str:
        together = "" if self.members == 1 else f", {self.members} together"
        error = f"{self.error:.1e}" if self.error < np.inf else "gives up"
        return f"{self.code}, {self.method}, {self.setting}{together}: {amount(self.seconds, 's')}, {error}"


def arm(damping: float) -> Robot:
    """The arm in sorosim; all its strains are constant along a rod."""
    material = Material(YOUNG, poisson=POISSON, density=DENSITY, damping=damping)
    strain = Strain(torsion=0, bending=0, elongation=0, shear=0)
    rod = Rod((Division(LENGTH, Circle(RADIUS), material, strain, quadrature=5),))
    links = [Link(f"rod{i}", rod, parent=f"rod{i - 1}" if i else WORLD) for i in range(RODS)]
    return Robot(Description("arm of constant strains", tuple(links), gravity=GRAVITY))


def timed(move: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and the least processor time of some [s]; what takes long is called once."""
    best = np.inf
    for _ in range(ROUNDS):
        begin = time.process_time()
        found = move()
        best = min(best, time.process_time() - begin)
        if best > LONG:
            break
    return found, best


def off(tips: Array, others: Array) -> float:
    """Largest distance of two paths (SAMPLES, 3) of the tip, by the length of the arm; inf where one has no numbers."""
    distance = float(np.linalg.norm(tips - others, axis=1).max()) / (RODS * LENGTH)
    return distance if np.isfinite(distance) else np.inf


# -- sorosim ---------------------------------------------------------------------------------------------------------


class Ours:
    """The arm of one damping in sorosim."""

    def __init__(self, damping: float, end: float = END) -> None:
        self.robot, self.damping, self.end = arm(damping), damping, end
        self.finest = self.run("radau", TOLERANCES[-2])

    def run(self, method: str, rtol: float) -> Array:
        """Path of the tip by `simulate`."""
        options: Any = {"method": method, "rtol": rtol, "atol": 1e-2 * rtol}
        return simulate(self.robot, self.end, dt_out=self.end / SAMPLES, **options).tip()[1:]

    def steps(self, method: str, n: int, members: int) -> tuple[Array, float]:
        """Coordinates (SAMPLES, ndof) in n equal steps of a batch on one thread, and the time of a member [s]."""
        interval, substeps = self.end / SAMPLES, n // SAMPLES
        options: Any = {"method": method, "substeps": substeps, "threads": 1, "tolerance": NEWTON}
        batch, u = Batch(self.robot, members, interval, **options), np.zeros((members, SAMPLES, 0))

        def move() -> Array:
            batch.reset()
            return np.asarray(batch.rollout(u).q[0, -SAMPLES:])

        move()  # compiles
        q, seconds = timed(move)
        return q, seconds / members

    def tips(self, q: Array) -> Array:
        """Path of the tip of coordinates."""
        return np.array([self.robot.outputs.poses(row)[0, :3, 3] for row in q])

    def point(self, method: str, setting: str, members: int, seconds: float, tips: Array) -> Point:
        return Point(OURS, self.damping, method, setting, members, seconds, off(tips, self.finest))

    def points(self, quick: bool = False) -> Iterator[Point]:
        """All motions: by tolerances, by equal steps, and two of these combined to one of order 4."""
        for method, tolerances in BY_TOLERANCE.items():
            self.run(method, tolerances[0])  # compiles
            for rtol in tolerances[: 1 if quick else None]:
                try:
                    tips, seconds = timed(partial(self.run, method, rtol))
                except ConvergenceError:
                    continue
                yield self.point(method, f"rtol {rtol:.0e}", 1, seconds, tips)
        numbers, members = (STEPS[:2], 2) if quick else (STEPS, MEMBERS)
        for method in BY_STEPS:
            found = [(n, *self.steps(method, n, members)) for n in numbers]
            for n, q, seconds in found:
                yield self.point(method, f"{n} steps", members, seconds, self.tips(q))
            for (n, coarse, once), (m, fine, twice) in pairwise(found):
                tips = self.tips((4.0 * fine - coarse) / 3.0)  # errors of order 2 cancel
                yield self.point(f"{method}, extrapolated", f"{n} and {m} steps", members, once + twice, tips)


# -- soromox ---------------------------------------------------------------------------------------------------------

# relative and absolute tolerances are the same. Explicit steps are as long as they are stable, whatever these are
EXPLICIT, IMPLICIT = (1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-9), (1e0, 1e-1, 1e-2, 1e-3, 1e-5)
STEPS_THERE = (16, 32, 64, 128)
STIFF = 1e3  # damping beyond which explicit steps take so long that one motion has to do [Pa s]
# of the root finder, in rates of the state: tighter ones take longer and change no digit that is shown
FINDER, MOST_CORRECTIONS = (1e-3, 1e-2), 30


class Theirs:
    """The arm in soromox; a motion is compiled once for all dampings, steps and tolerances.

    Diffrax's documents recommend Tsit5 and Dopri8, where a problem is stiff Kvaerno3 and Kvaerno5, all with steps by
    tolerances. Their roots are found by VeryChord there, which gives up at long steps of this arm; Newton's method does
    not. It is called below `rollout_to`, which goes one step beyond the end.
    """

    def __init__(self, end: float = END) -> None:
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import diffrax
        import equinox
        import jax
        import optimistix

        jax.config.update("jax_enable_x64", True)
        self.end, self.jax, self.diffrax, self.compiled = end, jax, diffrax, equinox.filter_jit
        newton = {"root_finder": optimistix.Newton(*FINDER), "root_find_max_steps": MOST_CORRECTIONS}
        chord = {"root_finder": diffrax.VeryChord(*FINDER), "root_find_max_steps": MOST_CORRECTIONS}
        self.tsit5, self.dopri8 = diffrax.Tsit5(), diffrax.Dopri8()
        self.kvaerno3, self.kvaerno5 = diffrax.Kvaerno3(**newton), diffrax.Kvaerno5(**newton)
        self.chord = diffrax.Kvaerno5(**chord)
        self.finest: dict[float, Array] = {}  # by damping, path of the tip

    def system(self, damping: float) -> Any:
        from soromox.systems.components import LinkSpec
        from soromox.systems.pcs.pcs import PCS

        link = LinkSpec.circular(
            length=LENGTH, radius=RADIUS, density=DENSITY, reference_strain=[0, 0, 0, 1, 0, 0], young_modulus=YOUNG,
            poisson_ratio=POISSON, material_damping_coefficient=damping,
        )  # fmt: skip
        return PCS(PCS.params_from_links([link] * RODS, gravity=self.jax.numpy.array(GRAVITY_THERE)))

    def motion(self, solver: Any, chosen: bool, members: int = 1) -> Callable[..., Any]:
        """The function (system, first step, tolerance) -> (path of the tip of one member, whether it came to the end).

        chosen : steps by the tolerance; without it they are all as the first.
        """
        diffrax, jax, end = self.diffrax, self.jax, self.end
        at = jax.numpy.linspace(0.0, end, SAMPLES + 1)[1:]

        def member(force: Any, system: Any, step: Any, tolerance: Any) -> Any:
            n = system.num_coordinates
            control = diffrax.PIDController(rtol=tolerance, atol=tolerance)
            found = diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, force: system.forward_dynamics(t, y, (None, force))),
                solver, 0.0, end, step, jax.numpy.zeros(2 * n), args=force, saveat=diffrax.SaveAt(ts=at),
                stepsize_controller=diffrax.ClipStepSizeController(control, step_ts=at)
                if chosen else diffrax.ConstantStepSize(), max_steps=None, throw=False,
            )  # fmt: skip
            tip = jax.vmap(lambda y: system.forward_kinematics_tips(y[:n])[-1][:3, 3])(found.ys)
            return tip, found.result == diffrax.RESULTS.successful

        def path(system: Any, step: Any, tolerance: Any) -> Any:
            force = jax.numpy.zeros((members, system.num_coordinates))
            if members == 1:
                return member(force[0], system, step, tolerance)
            tips, came = jax.vmap(lambda one: member(one, system, step, tolerance))(force)
            return tips[0], came.all()

        compiled: Callable[..., Any] = self.compiled(path)
        return compiled

    def tips(self, motion: Callable[..., Any], *numbers: Any) -> Array:
        """Path (SAMPLES, 3) of the tip in axes of sorosim; NaN where it gave up."""
        system, *values = numbers
        tips, came = self.jax.block_until_ready(motion(system, *map(self.jax.numpy.float64, values)))
        z, y, x = (np.asarray(tips) if came else np.full(tips.shape, np.nan)).T
        return np.column_stack([x, y, -z])

    def rows(self) -> list[tuple[str, Any, bool, int, Sequence[float]]]:
        """Methods: name, solver, whether it chooses steps, members together, tolerances or numbers of steps."""
        return [
            ("Tsit5", self.tsit5, True, 1, EXPLICIT), ("Dopri8", self.dopri8, True, 1, EXPLICIT),
            ("Tsit5", self.tsit5, True, MEMBERS_THERE, EXPLICIT),
            ("Kvaerno3", self.kvaerno3, False, 1, STEPS_THERE), ("Kvaerno5", self.kvaerno5, False, 1, STEPS_THERE),
            ("Kvaerno5", self.kvaerno5, False, MEMBERS_THERE, STEPS_THERE[:2]),
            ("Kvaerno5, VeryChord", self.chord, True, 1, IMPLICIT),
        ]  # fmt: skip

    def points(self, quick: bool = False, dampings: Sequence[float] = DAMPINGS) -> Iterator[Point]:
        """All motions of all dampings."""
        first, systems = 1e-4 * self.end, {damping: self.system(damping) for damping in dampings}
        for name, solver, chosen, members, settings in self.rows()[: 1 if quick else None]:
            motion, explicit = self.motion(solver, chosen, members), settings is EXPLICIT
            warm = (first, settings[0]) if chosen else (self.end / settings[0], 1.0)
            self.tips(motion, systems[dampings[-1]], *warm)  # compiles
            for damping, system in systems.items():
                if damping not in self.finest:
                    self.finest[damping] = self.tips(motion, system, first, EXPLICIT[-1])
                stiff = explicit and damping > STIFF
                few = settings[2:3] if stiff and members == 1 else ()
                for value in few if stiff else settings[: 1 if quick else None]:
                    numbers = (first, value) if chosen else (self.end / value, 1.0)
                    tips, seconds = timed(partial(self.tips, motion, system, *numbers))
                    text = f"tolerance {value:.0e}" if chosen else f"{value} steps"
                    error = off(tips, self.finest[damping])
                    yield Point(THEIRS, damping, name, text, members, seconds / members, error)


# -- both ------------------------------------------------------------------------------------------------------------


def fastest(points: Sequence[Point], code: str, damping: float, error: float) -> Point | None:
    """The fastest motion of a code that is at least so precise."""
    found = [p for p in points if (p.code, p.damping) == (code, damping) and p.error <= error]
    return min(found, key=lambda p: p.seconds, default=None)


class Study(NamedTuple):
    """What was measured."""

    points: list[Point]
    apart: dict[float, float]  # by damping, how far the finest motions of the codes are from each other, by the length


def measure(say: Callable[[str], None] = print, quick: bool = False) -> Study:
    """Everything; without soromox what sorosim takes."""
    end, dampings = (1e-2 * END, DAMPINGS[-1:]) if quick else (END, DAMPINGS)
    points: list[Point] = []
    finest: dict[float, Array] = {}
    apart: dict[float, float] = {}

    def add(found: Iterator[Point]) -> None:
        for point in found:
            points.append(point)
            say(f"{point.damping:g} Pa s: {point}")

    with one_blas_thread():
        for damping in dampings:
            ours = Ours(damping, end)
            add(ours.points(quick))
            finest[damping] = ours.finest
    try:
        theirs = Theirs(end)
    except ImportError as error:
        say(f"{error.name} is not installed")
        return Study(points, apart)
    add(theirs.points(quick, dampings))
    for damping in dampings:
        apart[damping] = off(theirs.finest[damping], finest[damping])
    return Study(points, apart)


def plot(points: Sequence[Point]) -> Any:
    """Processor time against error, one panel a damping."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.2), layout="constrained")
    panels = figure.subplots(1, len(DAMPINGS), sharex=True, sharey=True)
    kinds = list(dict.fromkeys((p.code, p.method, p.members) for p in points))
    for axes, damping in zip(panels, DAMPINGS, strict=True):
        counts = dict.fromkeys((OURS, THEIRS), 0)
        for code, method, members in kinds:
            own = [p for p in points if (p.code, p.method, p.members) == (code, method, members)]
            own = [p for p in own if p.damping == damping and 0.0 < p.error < np.inf]
            look = f"{'osv^D<>*'[counts[code] % 8]}{'-' if code == OURS else '--'}"
            color = ("Blues", "Oranges")[code == THEIRS]
            shade = 0.95 - 0.07 * counts[code]
            label = f"{code}, {method}" + (f", {members} together" if members > 1 else "")
            counts[code] += 1
            axes.loglog([p.error for p in own], [p.seconds for p in own], look, label=label, color=_color(color, shade),
                        markersize=4, linewidth=1.0)  # fmt: skip
        axes.set(title=f"damping {damping:g} Pa s", xlabel="error of the tip / length of the arm", xlim=(3e-2, 3e-10))
        axes.grid(which="major", alpha=0.3)
    panels[0].set_ylabel("processor time of a simulated second [s]")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7)
    return figure


def _color(name: str, at: float) -> Any:
    from matplotlib import colormaps

    return colormaps[name](at)


def study(at: Setting) -> None:
    """Work against precision of an arm of 24 coordinates, three dampings, beside soromox in JAX; half an hour."""
    at.say(
        "code, method, setting, members together: processor time of a simulated second of a member, error of the tip"
    )
    found = measure(at.say, at.quick)
    if not at.quick:
        plot(found.points).savefig(at.folder / "soromox.png", dpi=100)
    for line in summary(found):
        at.say(line)


def summary(found: Study) -> list[str]:
    """For each damping and error the fastest motions of both, and how far the codes are apart."""
    lines = []
    for damping in dict.fromkeys(p.damping for p in found.points):
        for error in ERRORS:
            best = [fastest(found.points, code, damping, error) for code in (OURS, THEIRS)]
            words = "; ".join(str(point) for point in best if point is not None)
            lines.append(f"{damping:g} Pa s, {error:.0e}: {words or 'none'}")
    return lines + [f"{damping:g} Pa s: the codes are apart by {far:.1e}" for damping, far in found.apart.items()]
