"""What fits are worth: coverage of intervals, named null directions, outliers, units, exact derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import sorosim
from benchmarks.context import Array, Setting
from sorosim.analysis.motion.rollout import rollout
from sorosim.files import load, load_text
from sorosim.studies.fitting.model import Model
from sorosim.studies.fitting.unknowns import SCALE, SHIFT, unknowns_of

BEAM = """
sorosim: 1
name: beam
gravity: [0, 0, -9.81]
parameters: {length: 30 cm}
materials:
  rubber: {young: 1 MPa, poisson: 0.4, density: 1200 kg/m^3, damping: 20 kPa*s}
links:
  beam:
    rod: {length: $length, section: {circle: {radius: 10 mm}}, material: rubber, strain: {bending: 1}}
  plate:
    parent: beam
    body: {mass: 20 g, centre: [5 mm, 0, 0], inertia: [1e-6, 1e-6, 1e-6]}
    frames: {edge: {position: [10 mm, 0, 5 mm]}}
actuators:
  up: {tendon: {rod: beam, y: 0, z: 6 mm}}
  side: {tendon: {rod: beam, y: 6 mm, z: 0}}
sensors:
  gauge: {strain: {link: beam, s: 0.3}}
"""
YOUNG, DENSITY, DAMPING, POISSON = (f"materials.rubber.{name}" for name in ("young", "density", "damping", "poisson"))
RADIUS = "links.beam.rod.section.circle.radius"
TRUE = {YOUNG: 1.25e6, DENSITY: 1100.0, DAMPING: 30e3}
EDGE = np.array([0.010, 0.0, 0.005])
TENSIONS = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 1.0], [6.0, 2.0], [8.0, 4.0]])
DT, ROWS = 0.02, 31
SHORT_DT, SHORT_ROWS = 0.01, 21  # a motion that determines little
NOISE, OUTLIER = 1e-3, 0.05  # m
FACTORS = (1e-3, 1e-2, 1e2, 1e3)  # of units
FITS, TRIALS, SHARES = 1000, 20, (0.0, 0.1, 0.2, 0.3)
SD = f"{1e3 * NOISE:g} mm"


def study(at: Setting) -> None:
    """Intervals, null directions, outliers, units and derivatives of fits; some twenty minutes."""
    beam = load_text(BEAM, "beam.yaml")
    for case in at.size(tuple(COVERAGE), ("3 equilibria",)):
        at.say(coverage(beam, case, at.size(FITS, 2)))
    parts = (
        null_directions,
        together,
        partial(outliers, trials=at.size(TRIALS, 1), shares=at.size(SHARES, SHARES[1:2])),
        partial(units, factors=at.size(FACTORS, FACTORS[:1])),
        partial(derivatives, most=at.size(None, 1)),
    )
    for part in parts:
        for line in part(beam):
            at.say(line)


def equilibria(robot: Any, u: Array) -> Array:
    """Positions (n, 3) of the edge of the plate at equilibria."""
    return np.array([_edge(robot, sorosim.statics(robot, row).q) for row in u])


def moved(robot: Any, u: Array, dt: float = DT) -> Array:
    """Positions (n, 3) of the edge of the plate along a motion that starts at rest."""
    return np.array([_edge(robot, q) for q in rollout(robot, u[:-1], dt, q0="equilibrium").q])


def _edge(robot: Any, q: Array) -> Array:
    g = robot.pose(q, "plate")
    return np.asarray(g[:3, :3] @ EDGE + g[:3, 3])


def inputs(n: int, n_inputs: int, size: float = 3.0, dt: float = DT) -> Array:
    """Smooth inputs (n, n_inputs) of a motion."""
    t = dt * np.arange(n)[:, None]
    return np.asarray(size * (1.0 - np.cos((9.0 + np.arange(n_inputs)) * t)))


# -- coverage


class Coverage(NamedTuple):
    """Fits whose intervals are looked at."""

    part: float  # of all fits
    equilibria: bool = False
    motion: tuple[float, int] | None = None  # interval [s] and number of rows
    options: Mapping[str, Any] = {}
    profile: bool = False  # intervals by profile likelihood


COVERAGE = {
    "3 equilibria": Coverage(1.0, equilibria=True),
    "3 equilibria, noise known": Coverage(1.0, equilibria=True, options={"noise": SD}),
    "a motion": Coverage(1.0, motion=(DT, ROWS)),
    "a motion, soft_l1": Coverage(0.5, motion=(DT, ROWS), options={"loss": "soft_l1"}),
    "3 equilibria and a motion": Coverage(1.0, equilibria=True, motion=(DT, ROWS)),
    "a short motion": Coverage(0.5, motion=(SHORT_DT, SHORT_ROWS)),
    "a short motion, profiles": Coverage(0.2, motion=(SHORT_DT, SHORT_ROWS), profile=True),
}


def coverage(beam: Any, name: str, fits: int) -> str:
    """How often 95 % intervals hold the true numbers."""
    case, true, rng = COVERAGE[name], beam.with_values(TRUE), np.random.default_rng(2)
    sources: list[tuple[Array, Array, Any]] = []
    if case.equilibria:
        sources.append((TENSIONS[:3], equilibria(true, TENSIONS[:3]), None))
    if case.motion:
        dt, rows = case.motion
        u = inputs(rows, 2, dt=dt)
        sources.append((u, moved(true, u, dt), dt * np.arange(rows)))
    free = [YOUNG, DENSITY, DAMPING] if case.motion else [YOUNG, DENSITY]
    n, inside = round(case.part * fits), np.zeros(len(free))
    for _ in range(n):
        noisy = [(v, x + NOISE * rng.standard_normal(x.shape), t) for v, x, t in sources]
        data = [sorosim.Measurements(v, t=t, positions={"edge": x}) for v, x, t in noisy]
        fit = sorosim.fit(true, data, free, **case.options)
        inside += [low < TRUE[one] < high for one, (low, high) in fit.interval(0.95, case.profile).items()]
    shares = (f"{one.rpartition('.')[2]} {100.0 * k / n:.1f} %" for one, k in zip(free, inside, strict=True))
    return f"{name}, {n} fits: 95 % intervals hold {', '.join(shares)}"


# -- what is not identified, and both kinds of data


def null_directions(beam: Any) -> list[str]:
    """Null directions that theory knows, and how far the named ones are from these."""
    weightless, scales = beam.with_values({"gravity[2]": 0.0}), ["input.up.scale", "input.side.scale"]
    # sides of E I kappa = F d: I = pi r^4 / 4; with weight, W = rho g pi r^2, tensions and moduli scale together
    cases: list[tuple[str, Any, list[str], list[dict[str, float]]]] = [
        ("modulus, radius; tension", weightless, [YOUNG, RADIUS], [{YOUNG: 1.0, RADIUS: -0.25}]),
        ("modulus, tensions; no weight", weightless, [YOUNG, *scales], [dict.fromkeys([YOUNG, *scales], 1.0)]),
        ("density; no weight", weightless, [DENSITY, YOUNG], [{DENSITY: 1.0}]),
        ("damping; equilibria", beam, [DAMPING, YOUNG], [{DAMPING: 1.0}]),
        ("Poisson's ratio; plane bending", beam, [POISSON, YOUNG], [{POISSON: 1.0}]),
        ("modulus, density, tensions, mass", beam, [YOUNG, DENSITY, *scales, "links.plate.body.mass"],
         [dict.fromkeys([YOUNG, DENSITY, *scales, "links.plate.body.mass"], 1.0)]),
        ("place of a frame, offset of its marker", beam,
         ["links.plate.frames.edge.position[2]", "marker.edge.offset[2]", YOUNG],
         [{"links.plate.frames.edge.position[2]": -5e-3 / 0.32, "marker.edge.offset[2]": 1.0}]),
    ]  # fmt: skip
    lines = []
    for name, robot, free, expected in cases:
        x = equilibria(robot.with_values({YOUNG: 1.1e6}), TENSIONS[1:])
        fit = sorosim.fit(robot, sorosim.Measurements(TENSIONS[1:], positions={"edge": x}), free)
        parts = [", ".join(f"{key} {value:+.4g}" for key, value in one.items()) for one in fit.null_directions]
        ok = [set(one) for one in fit.null_directions] == [set(one) for one in expected]
        lines.append(f"not identified ({name}): {'; '.join(parts)}{'' if ok else ' - NOT AS EXPECTED'}")
    return lines


def together(beam: Any) -> list[str]:
    """Standard errors from equilibria, a motion, and both."""
    true, u, rng = beam.with_values(TRUE), inputs(ROWS, 2), np.random.default_rng(3)
    x = equilibria(true, TENSIONS)
    rest = sorosim.Measurements(TENSIONS, positions={"edge": x + NOISE * rng.standard_normal(x.shape)})
    y = moved(true, u)
    motion = sorosim.Measurements(
        u, t=DT * np.arange(ROWS), positions={"edge": y + NOISE * rng.standard_normal(y.shape)}
    )
    lines = []
    cases: dict[str, Any] = {"equilibria": rest, "motion": motion, "both": [rest, motion]}
    for name, data in cases.items():
        fit = sorosim.fit(beam, data, list(TRUE), noise=SD)
        parts = [
            f"{one.rpartition('.')[2]} {100.0 * fit.standard_errors[one] / TRUE[one]:.2g} %"
            f" ({(fit.values[one] - TRUE[one]) / fit.standard_errors[one]:+.1f} off)"
            if fit.identifiable[one] else f"{one.rpartition('.')[2]} not identified"
            for one in TRUE
        ]  # fmt: skip
        lines.append(f"standard errors from {name}: {', '.join(parts)}")
    return lines


# -- outliers and units


def outliers(beam: Any, trials: int, shares: Sequence[float]) -> list[str]:
    """Median error of the modulus where a share of the equilibria is off by 50 mm."""
    true, u = beam.with_values(TRUE), np.array([[x, y] for x in range(0, 10, 2) for y in range(0, 8, 2)], dtype=float)
    x = equilibria(true, u)
    lines = []
    for loss in ("linear", "soft_l1", "huber", "cauchy"):
        rng, errors = np.random.default_rng(4), []
        for share in shares:
            off = []
            for _ in range(trials):
                noisy = x + NOISE * rng.standard_normal(x.shape)
                noisy[rng.permutation(len(x))[: round(share * len(x))]] += OUTLIER * np.array([0.0, 0.6, 0.8])
                data = sorosim.Measurements(u, positions={"edge": noisy})
                off.append(abs(sorosim.fit(beam, data, [YOUNG, DENSITY], loss=loss).values[YOUNG] / TRUE[YOUNG] - 1.0))
            errors.append(float(np.median(off)))
        parts = ", ".join(f"{100.0 * share:g} %: {100.0 * e:.2g} %" for share, e in zip(shares, errors, strict=True))
        lines.append(f"median error of the modulus, {loss}, by share of outliers: {parts}")
    return lines


def units(beam: Any, factors: Sequence[float]) -> list[str]:
    """Columns in another unit, one after the other: named, refused, or not noticed."""
    true, u, t = beam.with_values(TRUE), inputs(ROWS, 2), DT * np.arange(ROWS)
    x = {"edge": moved(true, u), "beam": rollout(true, u[:-1], DT, q0="equilibrium").positions("beam")}
    verdicts: dict[str, list[str]] = {"named": [], "refused": [], "not noticed": []}
    columns = {
        **{f"{place}.{'xyz'[k]}": (place, k) for place in x for k in range(3)}, "inputs": ("", 0), "t": ("", 0)
    }  # fmt: skip
    for column, (place, k) in columns.items():
        for factor in factors if place else factors[:: len(factors) - 1 or 1]:
            y = {name: rows.copy() for name, rows in x.items()}
            if place:
                y[place][:, k] *= factor
            v, s = u * (factor if column == "inputs" else 1.0), t * (factor if column == "t" else 1.0)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    sorosim.fit(beam, sorosim.Measurements(v, t=s, positions=y), [YOUNG, DAMPING])
                    text, verdict = " ".join(str(one.message) for one in caught), "not noticed"
                except sorosim.SorosimError as error:
                    text, verdict = str(error), "refused"
            found = f"{column} (times {1.0 / factor:g})" in text
            verdicts["named" if found else verdict].append(f"{column} by {factor:g}")
    total = sum(len(one) for one in verdicts.values())
    parts = [
        f"{len(one)} {verdict}" + (f" ({', '.join(one)})" if one and verdict != "named" else "")
        for verdict, one in verdicts.items()
    ]
    return [f"{total} columns in another unit: {'; '.join(parts)}"]


# -- derivatives


def derivatives(beam: Any, most: int | None) -> list[str]:
    """Worst deviation of derivatives from differences of fourth order, over the largest of a unit."""
    places = {"edge": "edge", "mid": sorosim.Anchor("beam", s=0.5, at={"position": [0, 0, "12 mm"]})}
    file = [
        YOUNG, DENSITY, "parameters.length", RADIUS, "links.plate.body.mass", "gravity[2]",
        "links.plate.frames.edge.position[2]", "actuators.up.tendon.z",
    ]  # fmt: skip
    extra = ["marker.mid.offset", "input.up.scale"]
    silicone, damping = ["materials.silicone.young", "materials.silicone.density"], "materials.silicone.damping"
    t, gauge = SHORT_DT * np.arange(9), {"places": places, "readings": ["gauge"]}
    begin = 0.1 * np.arange(1.0, beam.ndof + 1)
    cylinder, stewart, serial, bellow = (
        load(name) for name in ("contact_cylinder", "stewart_soft", "hybrid_serial", "pneumatic_bellow")
    )
    arm, plate, sensed = {"places": {"arm": "arm"}}, {"places": {"plate": "plate"}}, {"readings": ["tip", "middle"]}
    angles = {f"link{k}": 0.2 * np.sin(6.0 * t) for k in range(1, 8)}
    cases: list[tuple[str, Any, list[str], dict[str, Any]]] = [
        ("beam", beam, [*file, *extra], {"u": TENSIONS} | gauge),
        ("beam", beam, [*file, *extra, DAMPING, "time.shift"], {"u": inputs(9, 2, dt=SHORT_DT), "t": t} | gauge),
        ("beam from a start", beam, [*file, *extra, DAMPING, "time.shift"],
         {"u": inputs(9, 2, dt=SHORT_DT), "t": t, "q0": begin, "substeps": 2} | gauge),
        ("arm in a cylinder (contacts)", cylinder, [*silicone, "input.cable1.scale"], {"u": 7.0 * np.eye(5)} | arm),
        ("Stewart platform (loops)", stewart, [*silicone, "input.left1_tendon.scale"], {"u": np.eye(6)} | plate),
        ("Stewart platform (loops)", stewart, [*silicone, damping], {"u": inputs(9, 6, 1.0, SHORT_DT), "t": t} | plate),
        ("serial robot (driven)", serial, silicone, {"driven": angles} | arm),
        ("serial robot (driven)", serial, [*silicone, damping], {"driven": angles, "t": t} | arm),
        ("bellow (chambers, IMU)", bellow, [*silicone, "input.chamber1.scale"], {"u": 5e3 * np.eye(3)} | sensed),
        ("bellow (chambers, IMU)", bellow, [*silicone, damping, "input.chamber1.scale", "time.shift"],
         {"u": inputs(9, 3, 3e3, SHORT_DT), "t": t} | sensed),
    ]  # fmt: skip
    lines = []
    for name, robot, free, given in cases[:most]:
        worst = deviation(robot, free, **given)
        bad = max(worst, key=lambda one: worst[one])
        kind = "motion" if "t" in given else "equilibria"
        lines.append(f"derivatives of {name}, {kind}, {len(worst)} unknowns: worst {worst[bad]:.1e} ({bad})")
    return lines


def deviation(
    robot: Any, free: Sequence[str], places: Mapping[str, Any] | None = None, readings: Sequence[str] = (),
    **given: Any,
) -> dict[str, float]:  # fmt: skip
    """Deviation of the derivatives of what is simulated from differences, by unknown."""
    n = len(given["u"] if "u" in given else next(iter(given["driven"].values())))
    channels = {sensor: robot.instruments.readers[sensor].channels for sensor in readings}
    data = sorosim.Measurements(
        positions={name: np.zeros((n, 3)) for name in places or ()}, places=places,
        readings={name: np.zeros((n, len(own))) for name, own in channels.items()}, **given,
    ).bind(robot)  # fmt: skip
    unknowns = unknowns_of(robot, [data], free, None)
    model, p = Model(robot, [data], unknowns), np.array([one.value for one in unknowns])
    for i, one in enumerate(unknowns):  # elsewhere than where nothing is scaled or shifted
        p[i] += {SCALE: 0.2, SHIFT: 2e-3}.get(one.kind, 0.0)
    J, out = model.jacobian(model.at(p))[0], dict[str, float]()
    kinds = [[kind == other for other in data.dimensions] for kind in dict.fromkeys(data.dimensions)]
    for i, one in enumerate(unknowns):
        h = 1e-5 if one.kind == SHIFT else 1e-3 * one.scale
        ends = [model.at(p + k * h * np.eye(len(p))[i]).simulated[0] for k in (-2, -1, 1, 2)]
        difference = (ends[0] - 8.0 * ends[1] + 8.0 * ends[2] - ends[3]) / (12.0 * h)
        for own in kinds:  # what hardly changes is compared with its own size
            least = 1e-3 * max(1.0, np.abs(ends[0][:, own]).max()) / one.scale
            error = np.abs(J[:, own, i] - difference[:, own]).max() / max(np.abs(difference[:, own]).max(), least)
            out[one.name] = max(out.get(one.name, 0.0), float(error))
    return out
