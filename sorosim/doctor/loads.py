"""Loads: on nothing that moves, larger than the robot can bear, written twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, ODD, Finding
from sorosim.doctor.patient import Patient
from sorosim.equations.contact_check import contacts_of
from sorosim.loads.fluid import Fluid

Array = NDArray[np.float64]

LOOKS = 101  # at loads over a run
HEAVY, SIZE = 1e4, 0.1  # times the weight, of robots of so many m; weight falls faster with the size than forces do
STRAIN = 1.0  # estimated
NOTHING = 1e-12
TIMES, SAME = 5, 1e-12  # looks at what two loads do, and how far it may differ


def loads(patient: Patient) -> Iterator[Finding]:
    """Every load that is neither contact nor fluid, over the file's run; and all that are there twice."""
    robot = patient.robot
    touching = contacts_of(robot)
    for name, load in robot.description.loads.items():
        if not isinstance(load, Fluid) and name not in touching:
            yield from _size(patient, name)
    yield from _twice(patient, [name for name in robot.description.loads if name not in touching])


def _twice(patient: Patient, names: list[str]) -> Iterator[Finding]:
    """Loads that do the same as another one, on the same nodes, whenever it is looked at."""
    robot, rng = patient.robot, np.random.default_rng(4)
    qd = 1e-3 * rng.uniform(-1.0, 1.0, robot.ndof)
    times = np.linspace(0.0, patient.times[-1], TIMES)
    nodes = {name: robot.engine.loading.nodes_of(name) for name in names}
    acts = {
        name: np.concatenate([robot.engine.load_wrenches(name, float(t), robot.initial_q, qd) for t in times])
        for name in names
    }
    for k, name in enumerate(names):
        for other in names[:k]:
            if not np.array_equal(nodes[name], nodes[other]) or not acts[name].any():
                continue
            if np.abs(acts[name] - acts[other]).max() <= SAME * np.abs(acts[name]).max():
                remedy = "leave one of them out, or look whether its place was meant to be another"
                yield Finding(ODD, f"loads.{name}", f"does the same as '{other}'", remedy, 1.0)
                break


def _size(patient: Patient, name: str) -> Iterator[Finding]:
    robot, where = patient.robot, f"loads.{name}"
    rng, nodes = np.random.default_rng(3), robot.engine.loading.nodes_of(name)
    q, largest = robot.initial_q, np.zeros(robot.ndof)
    # springs at rest, and dampers, pull only when something moves
    nearby, qd = q + 1e-3 * rng.uniform(-1.0, 1.0, len(q)), 1e-3 * rng.uniform(-1.0, 1.0, len(q))
    moves = force = moment = 0.0
    for state, rates in ((q, 0.0 * qd), (nearby, qd)):
        J = robot.engine.jacobians(nodes, state, rates, False)[2].copy()
        for t in np.linspace(0.0, patient.times[-1], LOOKS):
            w = robot.engine.load_wrenches(name, float(t), state, rates)
            pull = np.einsum("kij,ki->j", J, w)
            moves = max(moves, float(np.abs(pull).max(initial=0.0)))
            of_each = np.linalg.norm(w[:, 3:], axis=1).max(initial=0.0)
            force = max(force, float(of_each), float(np.linalg.norm(w[:, 3:].sum(axis=0))))
            moment = max(moment, float(np.linalg.norm(w[:, :3], axis=1).max(initial=0.0)))
            if state is q and np.abs(pull).max(initial=0.0) > np.abs(largest).max(initial=0.0):
                largest = pull
    if not np.isfinite([force, moment, moves]).all():
        yield Finding(ODD, where, "is beyond all numbers at times", "look at its formula and its units")
        return
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
    elif force > HEAVY * max(1.0, SIZE / patient.extent) * patient.weight:
        what = f"{force:.3g} N on a robot that weighs {patient.weight:.3g} N"
        yield Finding(ODD, where, what, "look for a wrong unit", force, "N")
