"""Quadrature against basis and section: what the Gauss points of each division miss of its integrals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, OK, Finding, graded
from sorosim.doctor.patient import Patient
from sorosim.model.quadrature import default_n_gauss
from sorosim.model.rod import Division

Array = NDArray[np.float64]

MISSED_NOTE, MISSED_ODD = 1e-3, 1e-2
STIFFEST_NOTE = 1e-2  # of the direction that is integrated worst: no smooth load excites it
EXACT = 4  # times as many points, and ten: exact but for digits
SMOOTH = 3  # moments along a rod that are tried: constant, linear, quadratic, as of couples, forces and weight


class Missed(NamedTuple):
    """Relative errors by too few Gauss points."""

    compliance: float  # largest, of the work of smooth moments and forces along the rod
    stiffness: float  # along the direction of its coordinates that is integrated worst
    mass: float  # of mass and its first two moments


def quadrature(patient: Patient) -> Iterator[Finding]:
    """Errors of stiffness and mass by too few Gauss points, against many of them."""
    for place in patient.places:
        division = place.division
        found = missed(division)
        worst, of = max((found.compliance, "compliance"), (found.mass, "mass"))
        level = graded(worst, MISSED_NOTE, MISSED_ODD)
        if level == OK and found.stiffness > STIFFEST_NOTE:
            level, worst, of = NOTE, found.stiffness, "stiffness along its stiffest shape (of what bends it, much less)"
        if level == OK:
            continue
        n, safe = enough(division), default_n_gauss(division.strain)
        panel = " in each panel" if division.breakpoints else ""
        what = (
            f"{division.n_gauss} Gauss points{panel} for this basis and section miss {100.0 * worst:.2g} % of its {of}"
        )
        remedy = f"quadrature: {n}" if n > safe else f"quadrature: {n}, or leave it out, which takes {safe}"
        yield Finding(level, f"{place.where}.quadrature", what, remedy, 100.0 * worst, "%")


def missed(division: Division) -> Missed:
    """What the Gauss points of a division miss of its integrals."""
    assert division.n_gauss is not None  # for the type checker: set at the door
    fine = replace(division, quadrature=min(EXACT * division.n_gauss + 10, 200))
    K, exact = division.matrices()[0], fine.matrices()[0]
    stiffness = compliance = 0.0
    if len(K):
        scale = 1.0 / np.sqrt(np.diag(exact))
        K, exact = scale[:, None] * K * scale, scale[:, None] * exact * scale
        ratio = scipy.linalg.eigh(K, exact, eigvals_only=True)
        stiffness = float(np.abs(ratio - 1.0).max())
        for f in _smooth(fine):
            work = (scale * f) @ np.linalg.solve(exact, scale * f)
            compliance = max(compliance, abs((scale * f) @ np.linalg.solve(K, scale * f) / work - 1.0))
    a, b = _moments(division), _moments(fine)
    return Missed(compliance, stiffness, float((np.abs(a - b) / b).max()))


def _smooth(division: Division) -> Iterator[Array]:
    """Generalised forces (n,) of internal moments and forces (1 - s)^k, of each free strain."""
    X, w, _ = division.gauss_points()
    P = division.basis(X)
    for row in np.unique(division.strain.rows):
        for k in range(SMOOTH):
            yield np.asarray(P[:, :, row].T @ (w * (1.0 - X / division.length) ** k))


def _moments(division: Division) -> Array:
    X, w, _ = division.gauss_points()
    line = division.line_inertia(X)[:, 3]
    return np.array([w @ (line * (X / division.length) ** k) for k in range(3)])


def enough(division: Division) -> int:
    """The fewest Gauss points with which nothing is told."""
    assert division.n_gauss is not None
    n = division.n_gauss
    while n < 200:
        found = missed(replace(division, quadrature=n))
        if max(found.compliance, found.mass) <= MISSED_NOTE and found.stiffness <= STIFFEST_NOTE:
            break
        n += 1
    return n
