"""Rods: lengths, thickness, sections, bases, and rods that differ from their siblings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, ODD, OK, Finding, graded, outside
from sorosim.doctor.patient import Patient
from sorosim.model.basis import STRAINS
from sorosim.model.profile import Table
from sorosim.strains import Place

Array = NDArray[np.float64]

LENGTH = 1e-4, 100.0  # m
THIN = 2e3  # length over thickness of a hair
# what shear adds to the deflection of a cantilever with a force at its tip, relative to what bending gives
SHEAR_NOTE, SHEAR_ODD = 0.01, 0.02
SHEAR_FACTOR = 0.9  # of a round section
CONDITION = 1e8  # of the Gram matrix of a basis: half of the digits are gone
BULK = 0.99  # a disc has the least polar moment of all sections of an area
SPIKE = 3.0  # an entry of a table by so many times what its neighbours say
SIBLINGS, ALIKE, APART = 2, 30.0, 300.0  # so many others, alike within a factor, and how far off one is called odd


def rods(patient: Patient) -> Iterator[Finding]:
    """Every division of every rod for itself."""
    for place in patient.places:
        L = place.division.length
        if outside(L, LENGTH):
            better = f"{L / 1e3:g} m if it was meant in mm" if L > 1.0 else f"{L * 1e3:g} m if a prefix is too much"
            yield Finding(ODD, place.where, f"length {L:g} m", f"was it meant in cm or mm? {better}", L, "m")
        yield from _slender(place)
        yield from _section(place)
        yield from _tables(place)
        yield from _basis(place)


def _slender(place: Place) -> Iterator[Finding]:
    division, d = place.division, place.thickness
    counts = dict(zip(STRAINS, division.strain.count_per_strain, strict=True))
    # thick only where it bends: a leaf in its plane is as thin as it is
    bends = [d[:, k].max() for k, bending in enumerate(("bending_z", "bending_y")) if counts[bending]]
    slender = division.length / float(max(bends, default=d.max(axis=0).min()))
    ratio = f"length is {slender:.3g} thicknesses"
    if slender > THIN:
        yield Finding(ODD, place.where, ratio, "thinner than a hair: was the section meant in cm or mm?", slender)
    if slender < 1.0:
        yield Finding(ODD, place.where, ratio, "thicker than long: was the section meant in mm?", slender)
    missing = [strain for strain in STRAINS[4:] if not counts[strain]]
    # Timoshenko's cantilever: E I/(k G A L^2) over 1/3, of the deflections along y and z
    part = 3.0 * division.material.young / (SHEAR_FACTOR * division.material.shear_modulus) / 16.0
    parts = dict(zip(STRAINS[4:], part * (d.mean(axis=0) / division.length) ** 2, strict=True))
    for axis, bending in (("shear_y", "bending_z"), ("shear_z", "bending_y")):
        if not counts[bending]:
            parts[axis] = 0.0  # what does not bend lacks no shear
    worst = max((parts[s] for s in missing), default=0.0)
    if (level := graded(worst, SHEAR_NOTE, SHEAR_ODD)) != OK:
        what = f"{ratio}, without shear, which would add {100.0 * worst:.2g} % to its bending"
        yield Finding(level, place.where, what, "let it shear (strain: shear: 0), or take it for an approximation",
                      100.0 * worst, "%")  # fmt: skip


def _section(place: Place) -> Iterator[Finding]:
    a = place.division.section.properties(place.inside, place.division.length)
    bulk = (a.Iy + a.Iz) / (a.A**2 / (2.0 * np.pi))
    if bulk.min() < BULK:
        what = f"Iy + Iz is {bulk.min():.2g} of what a disc of its area has, and no section has less"
        remedy = f"of a disc of {np.mean(a.A):.3g} m^2, Iy = Iz = {np.mean(a.A**2) / (4.0 * np.pi):.3g} m^4"
        yield Finding(ODD, f"{place.where}.section", what, remedy, float(bulk.min()))
    twist = a.Jt / (a.Iy + a.Iz)
    if twist.max() > 1.01:
        what = f"its torsion constant is {twist.max():.3g} times Iy + Iz, and no section has more than that"
        yield Finding(
            ODD, f"{place.where}.section", what, f"at most {np.mean(a.Iy + a.Iz):.3g} m^4", float(twist.max())
        )
    aspect = np.sqrt(np.maximum(a.Iy / a.Iz, a.Iz / a.Iy)).max()
    if aspect > 1e3:
        what = f"{aspect:.3g} times as wide as thick"
        yield Finding(ODD, f"{place.where}.section", what, "was one of its sizes meant in another unit?", float(aspect))


def _tables(place: Place) -> Iterator[Finding]:
    section = place.division.section
    for name in (f.name for f in fields(section)):
        value = getattr(section, name)
        if not isinstance(value, Table) or len(value.values) < 3:
            continue
        s, v = np.asarray(value.s, dtype=float), np.asarray(value.values, dtype=float)
        between = v[:-2] + (v[2:] - v[:-2]) * (s[1:-1] - s[:-2]) / (s[2:] - s[:-2])
        off = np.maximum(v[1:-1], 1e-300) / np.maximum(between, 1e-300)
        off = np.maximum(off, 1.0 / off)
        worst = int(np.argmax(off))
        if off[worst] > SPIKE:
            is_at = f"{name} at s = {s[worst + 1]:.3g} is {v[worst + 1]:.3g} m"
            what = f"{is_at}, where its neighbours say {between[worst]:.3g}"
            yield Finding(ODD, f"{place.where}.section", what, f"was it meant to be about {between[worst]:.3g} m?",
                          float(v[worst + 1]), "m")  # fmt: skip


def _basis(place: Place) -> Iterator[Finding]:
    strain = place.division.strain
    X, w, is_gauss = place.division.quadrature()
    x, w = X[is_gauss] / place.division.length, w[is_gauss]
    for name, count in zip(STRAINS, strain.count_per_strain, strict=True):
        if count < 2:
            continue
        f = strain.functions(name, x) * np.sqrt(w)[:, None]
        f = f / np.linalg.norm(f, axis=0)
        condition = float(np.linalg.cond(f)) ** 2
        if condition > CONDITION:
            basis, order = getattr(strain, name)
            what = f"its {count} functions of basis {basis} are nearly dependent (condition {condition:.1e})"
            remedy = f"take legendre of order {order if basis in ('monomial', 'chebyshev') else count - 1}"
            yield Finding(ODD, f"{place.where}.strain.{name}", what, remedy, condition)


def siblings(patient: Patient) -> Iterator[Finding]:
    """One rod that is much stiffer or heavier than all others, which are alike."""
    measures: list[tuple[str, str, Callable[[Place], float]]] = [
        (
            "bending stiffness",
            "N m^2",
            lambda p: float(np.mean(p.division.line_stiffness(p.inside)[:, 1:3].max(axis=1))),
        ),
        ("mass per length", "kg/m", lambda p: float(np.mean(p.division.line_inertia(p.inside)[:, 3]))),
        ("density", "kg/m^3", lambda p: p.division.material.density),
        ("Young's modulus", "Pa", lambda p: p.division.material.young),
    ]
    told: set[str] = set()
    for name, unit, measure in measures:
        values = np.array([measure(place) for place in patient.places])
        for k, place in enumerate(patient.places):
            others = np.delete(values, k)
            if len(others) < 1 or place.where in told:
                continue
            off = float(max(values[k] / others.max(), others.min() / values[k]))
            if off < APART or others.max() > ALIKE * others.min():
                continue
            level = ODD if len(others) >= SIBLINGS else NOTE
            usual = float(np.median(others))
            what = (
                f"{name} {values[k]:.3g} {unit}, {off:.2g} times {'above' if values[k] > usual else 'below'} all others"
            )
            told.add(place.where)
            remedy = f"look for a wrong unit: the others have about {usual:.2g} {unit}"
            yield Finding(level, place.where, what, remedy, float(values[k]), unit)
