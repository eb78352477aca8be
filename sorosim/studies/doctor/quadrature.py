"""Quadrature errors of the Gauss points of each rod, of its integrals and of the forces of actuators and loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg

from sorosim.base.arrays import Array
from sorosim.mechanics.dynamics.linearization import input_matrix
from sorosim.mechanics.loads.line_load import LineLoad
from sorosim.mechanics.model.rod import Division
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor.context import WHEN, CheckContext, elastic, random_state, with_divisions
from sorosim.studies.doctor.findings import NOTE, OK, RULES, Finding, finding, level_of

STIFFEST_NOTE = 1e-2  # of the direction that is integrated worst: no smooth load excites it
EXACT = 4  # times as many points, and ten: exact but for digits
SMOOTH = 3  # moments along a rod that are tried: constant, linear, quadratic, as of couples, forces and weight
MANY = 60  # Gauss points that sample nearly all
TRIED = 1.5, 2.0, 3.0, 5.0  # times as many as there are


class Missed(NamedTuple):
    """Relative errors by too few Gauss points."""

    compliance: float  # largest, of the work of smooth moments and forces along the rod
    stiffness: float  # along the direction of its coordinates that is integrated worst
    mass: float  # of mass and its first two moments


def quadrature(context: CheckContext) -> Iterator[Finding]:
    """Errors of stiffness and mass by too few Gauss points, against many of them."""
    for place in context.places:
        division = place.division
        errors = missed(division)
        worst, integral = max((errors.compliance, "compliance"), (errors.mass, "mass"))
        level = level_of("quadrature.rod", worst)
        if level == OK and errors.stiffness > STIFFEST_NOTE:
            level, worst = NOTE, errors.stiffness
            integral = "stiffness along its stiffest shape (of what bends it, much less)"
        if level == OK:
            continue
        n, safe = enough(division), division.default_points()
        yield finding(
            "quadrature.rod", f"{place.where}.quadrature", 100.0 * worst, level, points=division.n_gauss,
            panel=" in each panel" if division.breakpoints else "", integral=integral, n=n,
            remedy=f"{n}" if n > safe else f"{n}, or leave it out, which takes {safe}",
        )  # fmt: skip


def missed(division: Division) -> Missed:
    """What the Gauss points of a division miss of its integrals."""
    fine = replace(division, quadrature=max(division.n_gauss, min(EXACT * division.n_gauss + 10, 200)))
    K, exact = division.matrices[0], fine.matrices[0]
    stiffness = compliance = 0.0
    if len(K):
        scale = 1.0 / np.sqrt(np.diag(exact))
        K, exact = scale[:, None] * K * scale, scale[:, None] * exact * scale
        stiffness = float(np.abs(scipy.linalg.eigh(K, exact, eigvals_only=True) - 1.0).max())
        for f in _smooth_forces(fine):
            work = (scale * f) @ np.linalg.solve(exact, scale * f)
            compliance = max(compliance, abs((scale * f) @ np.linalg.solve(K, scale * f) / work - 1.0))
    a, b = _mass_moments(division), _mass_moments(fine)
    return Missed(compliance, stiffness, float((np.abs(a - b) / b).max()))


def _smooth_forces(division: Division) -> Iterator[Array]:
    """Generalised forces (n,) of internal moments and forces (1 - s)^k, of each free strain."""
    X, w, _ = division.gauss_points()
    P = division.basis(X)
    for row in np.unique(division.strain.rows):
        for k in range(SMOOTH):
            yield np.asarray(P[:, :, row].T @ (w * (1.0 - X / division.length) ** k))


def _mass_moments(division: Division) -> Array:
    X, w, _ = division.gauss_points()
    line = division.line_inertia(X)[:, 3]
    return np.array([w @ (line * (X / division.length) ** k) for k in range(3)])


def enough(division: Division) -> int:
    """The fewest Gauss points without a finding."""
    for n in range(division.n_gauss, 200):
        errors = missed(replace(division, quadrature=n))
        if level_of("quadrature.rod", max(errors.compliance, errors.mass)) == OK and errors.stiffness <= STIFFEST_NOTE:
            return n
    return max(200, division.n_gauss)


def sampled(context: CheckContext) -> Iterator[Finding]:
    """What each actuator and line load does to the unloaded robot, against the same with many more Gauss points."""
    robot = context.robot
    names = [f"actuators.{name}" for name in robot.actuator_names]
    scaled = robot.engine.loading.inputs
    names += [where for where, name, _ in context.parts("loads", LineLoad) if name not in scaled]
    if not names or not context.places:
        return
    fewest = min(place.division.n_gauss for place in context.places)
    if fewest >= MANY:
        return
    code, t = "quadrature.actuation", WHEN * float(context.times[-1])
    exact = _with_points(robot, MANY)
    errors = _effect_errors(robot, exact, t)
    better: list[tuple[int, Array]] = []
    for k, name in enumerate(names):
        if (level := level_of(code, errors[k])) == OK:
            continue
        if not better:
            counts_tried = [int(factor * fewest) for factor in TRIED if factor * fewest < MANY]
            better = [(n, _effect_errors(_with_points(robot, n), exact, t)) for n in counts_tried]
        bounds = RULES[code].note
        assert bounds is not None  # for the type checker
        least = next((n for n, left in better if left[k] <= bounds[1]), None)
        remedy = "look whether its formula is in rad and m"
        more = f"quadrature: {least} on its rod, or {remedy}"
        remedy = f"{remedy}; or many more Gauss points, or divisions" if least is None else more
        yield finding(code, name, 100.0 * errors[k], level, remedy=remedy)


def _with_points(robot: Robot, n: int) -> Robot:
    return with_divisions(robot, lambda division: replace(division, quadrature=max(n, division.n_gauss)))


def _effect_errors(robot: Robot, exact: Robot, t: float) -> Array:
    """How far the effects of a robot are from those of a finer one (n,), by the root of the energy they store."""
    zero = np.zeros(robot.ndof)
    q, u = np.array(robot.engine.elastic.rest), random_state(robot)[3]
    K = -exact.internal_force_derivatives(q, zero, u=robot.inputs(None)).dtau_dq
    K = 0.5 * (K + K.T)
    some = elastic(K)
    try:
        U = scipy.linalg.cholesky(K[np.ix_(some, some)])
    except np.linalg.LinAlgError:
        return np.zeros(len(robot.actuator_names) + len(robot.description.loads))
    a, b = (scipy.linalg.solve_triangular(U, _effects(r, q, u, t)[some], trans="T") for r in (robot, exact))
    size = np.linalg.norm(b, axis=0)
    return np.asarray(np.where(size > 0.0, np.linalg.norm(a - b, axis=0) / np.maximum(size, 1e-300), 0.0))


def _effects(robot: Robot, q: Array, u: Array, t: float) -> Array:
    """Generalised forces (ndof, n) of unit inputs of actuators beyond u, and of line loads at a time."""
    zero = np.zeros(robot.ndof)
    columns = [input_matrix(robot.engine, q, zero, u, t)]
    for name, load in robot.description.loads.items():
        if isinstance(load, LineLoad) and name not in robot.engine.loading.inputs:
            nodes = robot.engine.loading.nodes_of(name)
            J = robot.engine.jacobians(nodes, q, zero, False)[2]
            columns.append(np.einsum("kij,ki->j", J, robot.engine.load_wrenches(name, t, q, zero, u))[:, None])
    return np.hstack(columns)
