"""Fluids: densities of another unit, currents that are torrents, coefficients, and what stays dry."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, ODD, Finding, outside
from sorosim.doctor.patient import Patient
from sorosim.loads.fluid import Fluid
from sorosim.loads.immersion import Immersed, half_extents
from sorosim.model.body import Assembly, Solid
from sorosim.signals import Signal
from sorosim.signals.expressions import Expression

Array = NDArray[np.float64]

DENSITY = 0.05, 2e4  # kg/m^3: from thin gases to mercury
IN_GRAMS = 1.0, 1.02, 1.025, 1.03  # of water and of the sea in g/cm^3
LIQUID = 100.0  # kg/m^3
CURRENT = {True: 10.0, False: 150.0}  # m/s that liquids, and gases, hardly reach
COEFFICIENT = 1e-3, 50.0  # of drag, lift and added mass
SMALL = 5e-3  # m: coefficients of drag of what is smaller rise above all bounds, where it is slow
LOOKS = 21  # at currents over a run


def fluids(patient: Patient) -> Iterator[Finding]:
    """Every fluid among the loads."""
    for name, load in patient.robot.description.loads.items():
        if isinstance(load, Fluid):
            where = f"loads.{name}"
            yield from _density(patient, where, load)
            yield from _current(patient, where, load)
            yield from _surface(patient, name, load)
            links = load.links.items() if hasattr(load.links, "items") else ()  # type: ignore[union-attr]
            for link, immersed in links:
                yield from _coefficients(f"{where}.links.{link}", immersed, _thickness(patient, link))


def _density(patient: Patient, where: str, fluid: Fluid) -> Iterator[Finding]:
    density, unit = fluid.density, "kg/m^3"
    if outside(density, DENSITY):
        yield Finding(ODD, where, f"density {density:g} {unit}", "water has 1000, air 1.2 kg/m^3", density, unit)
    elif density in IN_GRAMS:
        remedy = f"was it meant in g/cm^3? Then it is {1e3 * density:g} kg/m^3; air has 1.2"
        yield Finding(ODD, where, f"density {density:g} {unit}", remedy, density, unit)
    elif 0.5 <= density <= 1.1:
        yield Finding(NOTE, where, f"density {density:g} {unit}, that of air", "water has 1000 kg/m^3", density, unit)
    densities = [place.division.material.density for place in patient.places]
    if densities and density > 10.0 * max(densities):
        what = f"density {density:g} {unit}, {density / max(densities):.2g} times that of the heaviest rod"
        remedy = f"were rods meant in g/cm^3? They have {max(densities):g} {unit}"
        yield Finding(ODD, where, what, remedy, density, unit)
    if density > LIQUID and patient.gravity == 0.0:
        yield Finding(NOTE, where, "without gravity nothing floats or sinks in it", "gravity: [0, 0, -9.81]?", 0.0)


def _current(patient: Patient, where: str, fluid: Fluid) -> Iterator[Finding]:
    """The fastest current where the robot starts, over the file's run."""
    speed = np.zeros(())
    for entry in fluid.flow:
        speed = np.hypot(speed, _greatest(patient, entry))
    most = CURRENT[fluid.density > LIQUID]
    if speed > most:
        what = f"a current of {float(speed):.3g} m/s"
        yield Finding(ODD, f"{where}.current", what, "was it meant in cm/s or mm/s?", float(speed), "m/s")


def _greatest(patient: Patient, entry: float | Expression | Signal) -> float:
    times = np.linspace(0.0, patient.times[-1], LOOKS)
    if isinstance(entry, Signal):
        return float(np.abs(entry.sample(times)).max())
    if not isinstance(entry, Expression):
        return abs(entry)
    known = {"t": times[:, None], **dict(zip("xyz", patient.points.T[:, None, :], strict=True))}
    values = np.abs(entry(**{name: np.broadcast_to(known[name], (LOOKS, len(patient.points))).ravel()
                             for name in entry.variables}))  # fmt: skip
    return float(np.max(values[np.isfinite(values)], initial=0.0))


def _surface(patient: Patient, name: str, fluid: Fluid) -> Iterator[Finding]:
    if fluid.height is None:
        return
    robot = patient.robot
    nodes = robot.engine.loading.nodes_of(name)
    poses = robot.engine.poses(nodes, robot.initial_q, np.zeros(robot.ndof))[0]
    above = (
        float((poses[:, :3, 3] @ np.array(fluid.upward(patient.robot.description.gravity))).min(initial=np.inf))
        - fluid.height
    )
    if above > patient.extent:
        what = f"its surface is {above:.3g} m below all that it is for, at the start"
        yield Finding(
            NOTE, f"loads.{name}", what, "height is measured from the world's origin, against gravity", above, "m"
        )


def _thickness(patient: Patient, name: str) -> float:
    """Of a rod, or of the largest part of a body [m]."""
    rods = [float(place.thickness.max()) for place in patient.places if place.link.name == name]
    body = next((link.body for link in patient.robot.links if link.name == name), None)
    parts = [part for part in body.parts if isinstance(part, Solid)] if isinstance(body, Assembly) else []
    return max([*rods, *(2.0 * float(half_extents(part.shape).max()) for part in parts)], default=1.0)


def _coefficients(where: str, immersed: Immersed, thickness: float) -> Iterator[Finding]:
    for name in ("drag", "rotary_drag", "lift", "added_mass"):
        values = np.abs(np.atleast_1d(np.asarray(getattr(immersed, name) or 0.0, dtype=float)))
        values = values[values > 0.0]
        if not len(values) or not (values.max() > COEFFICIENT[1] or values.max() < COEFFICIENT[0]):
            continue
        what = f"coefficient of {name.replace('_', ' ')} {values.max():.3g}"
        remedy = "it has no unit and is about 1; of a rod across the stream 1.2"
        viscous = name.endswith("drag") and thickness < SMALL and values.max() > COEFFICIENT[1]
        if viscous:
            remedy += ". Only what is slow and small has more: 24/Re, of spheres"
        yield Finding(NOTE if viscous else ODD, where, what, remedy, float(values.max()))
