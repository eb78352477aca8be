"""Energies of a robot, and the powers that change them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sorosim.engine.engine import Engine
from sorosim.kernels import evaluate as task
from sorosim.kernels import forces
from sorosim.kernels.kinematics import POSES, energies
from sorosim.kernels.loop_joint import N_LAWS, REST, STIFFNESS

Array = NDArray[np.float64]


def energy(engine: Engine, q: Array, qd: Array) -> tuple[float, float, float]:
    """Kinetic (with added mass), elastic (with that of contacts) and gravitational energy [J]."""
    engine.sweep(q, qd, POSES)
    kinetic, potential = energies(engine.tree, engine.weight, engine.gravity, engine.workspace)
    elastic = engine.loading.contact_energy(engine.external, engine.workspace) + elastic_energy(engine, q)
    return float(kinetic), elastic, float(potential)


def powers(engine: Engine, t: float, q: Array, qd: Array, u: Array) -> tuple[float, float]:
    """Power of actuators and loads, and power lost by damping [W]."""
    zero, idle, none = engine.zero_rates, engine.idle, np.zeros(engine.n_actuators)
    passive = idle.internal(q, qd, none).tau
    done = float((engine.internal(q, qd, u).tau - passive) @ qd)
    lost = float((idle.internal(q, zero, none).tau - passive) @ qd)
    for name in engine.loading.loads:
        brake = load_power(engine, name, t, q, qd, lost=True)
        done += 0.0 if engine.loading.stores(name) else load_power(engine, name, t, q, qd) - brake
        lost -= brake
    return done, lost


def load_power(engine: Engine, name: str, t: float, q: Array, qd: Array, lost: bool = False) -> float:
    """Power of one load, or of that part of it that is lost [W]."""
    engine.sweep(q, qd, POSES)
    external = engine.loading.of_load(name, engine.ndof, t, engine.gravity, engine.workspace, lost)
    return float(np.sum(external.wrench * engine.workspace.twist[:-1, 0]))


def elastic_energy(engine: Engine, q: Array) -> float:
    """Elastic energy (q - rest)^T K (q - rest) / 2, and that of end stops and of springs in loops [J]."""
    found, loops = float(forces.elastic_energy(engine.tree, engine.elastic, q)), engine.loops
    lawful = np.flatnonzero(loops.row[:, N_LAWS])
    if len(lawful):
        zero, none = engine.zero_rates, np.zeros(engine.n_actuators)
        reached = engine.evaluate(task.RESIDUAL, q, zero, zero.copy(), none).closure.law[lawful]
        stiffness, rest = (loops.value[lawful, at : at + 2] for at in (STIFFNESS, REST))
        found += 0.5 * float(np.sum(stiffness * (reached - rest) ** 2))
    return found
