"""Loads: on nothing that moves, larger than the robot can bear, fluids of another unit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.contact_check import contacts_of
from sorosim.doctor.finding import NOTE, ODD, Finding, outside
from sorosim.doctor.patient import Patient
from sorosim.loads.fluid import Fluid
from sorosim.loads.immersion import Immersed

Array = NDArray[np.float64]

LOOKS = 101  # at loads over a run
HEAVY = 1e4  # times the weight
STRAIN = 1.0  # estimated
FLUID = 0.05, 2e4  # kg/m^3: from thin gases to mercury
COEFFICIENT = 1e-3, 50.0  # of drag and lift
NOTHING = 1e-12


def loads(patient: Patient) -> Iterator[Finding]:
    """Every load that is no contact, over the file's run."""
    robot = patient.robot
    touching = contacts_of(robot)
    for name, load in robot.description.loads.items():
        where = f"loads.{name}"
        if isinstance(load, Fluid):
            yield from _fluid(patient, where, load)
        elif name not in touching:
            yield from _size(patient, name)


def _size(patient: Patient, name: str) -> Iterator[Finding]:
    robot, where = patient.robot, f"loads.{name}"
    rng, nodes = np.random.default_rng(3), robot.engine.loading.nodes_of(name)
    q, largest = robot.initial_q, np.zeros(robot.ndof)
    # springs at rest, and dampers, pull only when something moves
    nearby, qd = q + 1e-3 * rng.uniform(-1.0, 1.0, len(q)), 1e-3 * rng.uniform(-1.0, 1.0, len(q))
    moves = force = moment = 0.0
    for t in np.linspace(0.0, patient.times[-1], LOOKS):
        for state, rates in ((q, 0.0 * qd), (nearby, qd)):
            w = robot.engine.load_wrenches(name, float(t), state, rates)
            J = robot.engine.jacobians(nodes, state, rates, False)[2]
            pull = np.einsum("kij,ki->j", J, w)
            moves = max(moves, float(np.abs(pull).max(initial=0.0)))
            of_each = np.linalg.norm(w[:, 3:], axis=1).max(initial=0.0)
            force = max(force, float(of_each), float(np.linalg.norm(w[:, 3:].sum(axis=0))))
            moment = max(moment, float(np.linalg.norm(w[:, :3], axis=1).max(initial=0.0)))
            if state is q and np.abs(pull).max(initial=0.0) > np.abs(largest).max(initial=0.0):
                largest = pull
    if force == moment == 0.0:
        yield Finding(NOTE, where, "was zero whenever it was looked at", "has it a pulse that is short?", 0.0, "N")
        return
    if moves <= NOTHING * max(force * patient.extent, moment):
        yield Finding(ODD, where, "moves nothing", "is the strain or the joint that would give way locked?", moves)
        return
    size, unit = (force, "N") if force * patient.extent >= moment else (moment, "N m")
    strain, place = patient.largest_strain(patient.yields(largest))
    if place is not None and strain > STRAIN:
        what = f"{size:.3g} {unit} would strain '{place.link.name}' by about {strain:.2g}"
        remedy = f"{0.3 * size / strain:.1g} {unit} strains it by 30 %; look for a wrong unit"
        yield Finding(ODD, where, what, remedy, strain)
    elif force > HEAVY * patient.weight:
        what = f"{force:.3g} N on a robot that weighs {patient.weight:.3g} N"
        yield Finding(ODD, where, what, "look for a wrong unit", force, "N")


def _fluid(patient: Patient, where: str, fluid: Fluid) -> Iterator[Finding]:
    if outside(fluid.density, FLUID):
        remedy = "water has 1000, air 1.2 kg/m^3"
        yield Finding(ODD, where, f"density {fluid.density:g} kg/m^3", remedy, fluid.density, "kg/m^3")
    elif 0.5 <= fluid.density <= 1.1:
        what = f"density {fluid.density:g} kg/m^3, that of air"
        yield Finding(NOTE, where, what, "water has 1000 kg/m^3", fluid.density, "kg/m^3")
    densities = [place.division.material.density for place in patient.places]
    if densities and fluid.density > 10.0 * max(densities):
        what = f"density {fluid.density:g} kg/m^3, {fluid.density / max(densities):.2g} times that of the heaviest rod"
        yield Finding(
            ODD, where, what, f"were rods meant in g/cm^3? They have {max(densities):g} kg/m^3", fluid.density
        )
    if fluid.density > 100.0 and patient.gravity == 0.0:
        yield Finding(NOTE, where, "without gravity nothing floats or sinks in it", "gravity: [0, 0, -9.81]?", 0.0)
    links = fluid.links.items() if hasattr(fluid.links, "items") else ()  # type: ignore[union-attr]
    for link, immersed in links:
        if isinstance(immersed, Immersed):
            yield from _coefficients(f"{where}.links.{link}", immersed)


def _coefficients(where: str, immersed: Immersed) -> Iterator[Finding]:
    for name in ("drag", "lift", "added_mass"):
        given = getattr(immersed, name)
        try:
            values = np.abs(np.atleast_1d(np.asarray(given, dtype=float)))
        except (TypeError, ValueError):
            continue  # tables and formulas
        values = values[np.isfinite(values) & (values > 0.0)]
        if len(values) and (values.max() > COEFFICIENT[1] or values.max() < COEFFICIENT[0]):
            what = f"coefficient of {name.replace('_', ' ')} {values.max():.3g}"
            remedy = "it has no unit and is about 1; of a rod across the stream 1.2"
            yield Finding(ODD, where, what, remedy, float(values.max()))
