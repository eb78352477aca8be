"""What Gauss points see of tendons, chambers, moments and line loads, which may change faster along a rod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sorosim.doctor.finding import OK, Finding, graded
from sorosim.doctor.patient import ROUNDING, Patient
from sorosim.doctor.states import some_state
from sorosim.loads.line_load import LineLoad
from sorosim.model.link import Link
from sorosim.model.rod import Rod
from sorosim.robot import Robot

Array = NDArray[np.float64]

MISSED_NOTE, MISSED_ODD = 0.05, 0.5  # of what it does to rods: of the energy that it stores, the root
MANY = 60  # Gauss points that see nearly all
TRIED = 1.5, 2.0, 3.0, 5.0  # times as many as there are
WHEN = 0.37  # of the run: when line loads are looked at, which begin at nothing as often as not


def sampled(patient: Patient) -> Iterator[Finding]:
    """What each actuator and line load does to the unloaded robot, against the same with many more Gauss points."""
    robot = patient.robot
    names = [f"actuators.{name}" for name in robot.actuator_names]
    names += [f"loads.{name}" for name, load in robot.description.loads.items() if isinstance(load, LineLoad)]
    if not names or not patient.places:
        return
    fewest = min(d.n_gauss or 0 for link in robot.links if link.rod is not None for d in link.rod.divisions)
    if fewest >= MANY:
        return
    t = WHEN * float(patient.times[-1])
    exact = _with_points(robot, MANY)
    missed = _missed(robot, exact, t)
    better: list[tuple[int, Array]] = []
    for k, name in enumerate(names):
        if (level := graded(float(missed[k]), MISSED_NOTE, MISSED_ODD)) == OK:
            continue
        if not better:
            tried = [int(factor * fewest) for factor in TRIED if factor * fewest < MANY]
            better = [(n, _missed(_with_points(robot, n), exact, t)) for n in tried]
        enough = next((n for n, left in better if left[k] <= MISSED_NOTE), None)
        what = f"changes faster along its rod than Gauss points: they miss {100.0 * missed[k]:.2g} % of what it does"
        remedy = "look whether its formula is in rad and m; or many more Gauss points, or divisions"
        if enough is not None:
            remedy = f"quadrature: {enough} on its rod, or look whether its formula is in rad and m"
        yield Finding(level, name, what, remedy, 100.0 * float(missed[k]), "%")


def _with_points(robot: Robot, n: int) -> Robot:
    def finer(link: Link) -> Link:
        if link.rod is None:
            return link
        parts = (replace(d, quadrature=max(n, d.n_gauss or 0)) for d in link.rod.divisions)
        return replace(link, body=Rod(tuple(parts)))

    links = tuple(finer(link) for link in robot.links)
    return Robot(replace(robot.description, links=links, sensors={}))


def _missed(robot: Robot, exact: Robot, t: float) -> Array:
    """How far the effects of a robot are from those of a finer one (n,), by the root of the energy they store."""
    zero = np.zeros(robot.ndof)
    q, u = np.array(robot.engine.elastic.rest), some_state(robot)[3]
    K = -exact.internal_force_derivatives(q, zero, robot.inputs(None)).dtau_dq
    K = 0.5 * (K + K.T)
    held = np.diag(K) > ROUNDING * np.diag(K).max(initial=0.0)
    try:
        U = scipy.linalg.cholesky(K[np.ix_(held, held)])
    except np.linalg.LinAlgError:
        return np.zeros(len(robot.actuator_names) + len(robot.description.loads))
    a, b = (scipy.linalg.solve_triangular(U, _effects(r, q, u, t)[held], trans="T") for r in (robot, exact))
    size = np.linalg.norm(b, axis=0)
    return np.asarray(np.where(size > 0.0, np.linalg.norm(a - b, axis=0) / np.maximum(size, 1e-300), 0.0))


def _effects(robot: Robot, q: Array, u: Array, t: float) -> Array:
    """Generalised forces (ndof, n) of unit inputs of actuators beyond u, and of line loads at a time."""
    zero = np.zeros(robot.ndof)
    columns = [np.array(robot.internal_force_derivatives(q, zero, u).B)]
    for name, load in robot.description.loads.items():
        if isinstance(load, LineLoad):
            nodes = robot.engine.loading.nodes_of(name)
            J = robot.engine.jacobians(nodes, q, zero, False)[2]
            columns.append(np.einsum("kij,ki->j", J, robot.engine.load_wrenches(name, t, q, zero))[:, None])
    return np.hstack(columns)
