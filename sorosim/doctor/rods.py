"""Rods: lengths, thickness, sections, bases, and rods that differ from their siblings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, ODD, OK, WRONG, Finding, graded, outside
from sorosim.doctor.patient import Patient
from sorosim.equations.strains import Place
from sorosim.model.basis import STRAINS
from sorosim.model.profile import Table
from sorosim.model.section import Properties

Array = NDArray[np.float64]

LENGTH = 1e-4, 100.0  # m
THIN_NOTE, THIN = 2e3, 5e3  # length over thickness of a hair, of the string of a guitar; and of what is in a wrong unit
GAP = 1e-6  # of its length between one rod and another that it is taken for a part of
STRAIGHT = 0.3  # rad by which one rod may go on from another that it is taken for a part of
THICKEST = 0.5  # curvature of the unloaded rod times half of its thickness: inside, its fibres are half as long
STRETCH = 0.2, 5.0  # of an unloaded rod
SLANTED = 1.0  # shear of an unloaded rod
TUBE_NOTE, TUBE = 8.0, 1e3  # times Iy + Iz of a disc of its area: a tube whose wall is an eighth of its radius, a foil
# what shear adds to the deflection of a cantilever with a force at its tip, relative to what bending gives
SHEAR_NOTE, SHEAR_ODD = 0.01, 0.02
SHEAR_FACTOR = 0.9  # of a round section
CONDITION = 1e8  # of the Gram matrix of a basis: half of the digits are gone
BULK = 0.99  # a disc has the least polar moment of all sections of an area
SPIKE, END = 3.0, 6.0  # an entry of a table by so many times what its neighbours say, inside and at its ends
MOMENTS = {"area": "m^2", "Iy": "m^4", "Iz": "m^4", "J": "m^4", "polar": "m^4"}  # all other sizes are lengths
SIBLINGS, ALIKE, APART = 2, 30.0, 300.0  # so many others, alike within a factor, and how far off one is called odd


def rods(patient: Patient) -> Iterator[Finding]:
    """Every division of every rod for itself."""
    whole = _unbroken(patient)
    for place in patient.places:
        L = place.division.length
        if outside(L, LENGTH):
            better = f"{L / 1e3:g} m if it was meant in mm" if L > 1.0 else f"{L * 1e3:g} m if a prefix is too much"
            # what is as small all over is meant so
            level = NOTE if LENGTH[0] > L and 2.0 < L / place.thickness.max() < THIN_NOTE else ODD
            yield Finding(level, place.where, f"length {L:g} m", f"was it meant in cm or mm? {better}", L, "m")
        yield from _slender(place, whole[place.link.name])
        yield from _reference(place)
        yield from _section(place)
        yield from _tables(place)
        yield from _basis(place)


def beyond_numbers(patient: Patient) -> Iterator[Finding]:
    """Rods whose stiffness or mass is none or infinite, as numbers of a computer go."""
    for place in patient.places:
        values = np.hstack([place.division.line_stiffness(place.inside), place.division.line_inertia(place.inside)])
        if not (np.isfinite(values).all() and (values[:, [*range(6), 9]] > np.finfo(float).tiny).all()):
            what = "its stiffness or its mass is beyond all numbers: zero, or infinite"
            yield Finding(WRONG, place.where, what, "look at the units of its section and its material")


def _unbroken(patient: Patient) -> dict[str, float]:
    """Length of the rod that each link with a rod is a part of: with what it is fixed to in a line, tip to base [m]."""
    links = {link.name: link for link in patient.robot.links}
    before: dict[str, str] = {}
    for link in links.values():  # of several that go on from one tip none is its part
        parent = links.get(link.parent)
        if link.rod is None or parent is None or parent.rod is None or link.joint.n or link.s < 1.0:
            continue
        if link.at[0, 0] > np.cos(STRAIGHT) and np.linalg.norm(link.at[:3, 3]) < GAP * parent.rod.length:
            before[link.name] = link.parent
    children = Counter(before.values())
    before = {name: parent for name, parent in before.items() if children[parent] == 1}
    first = {name: name for name, link in links.items() if link.rod is not None}
    for name in first:  # parents first
        first[name] = first[before[name]] if name in before else name
    total = dict.fromkeys(first.values(), 0.0)
    for name in first:
        total[first[name]] += links[name].rod.length  # type: ignore[union-attr]
    return {name: total[base] for name, base in first.items()}


def _slender(place: Place, whole: float) -> Iterator[Finding]:
    division, d = place.division, np.maximum(place.thickness, np.finfo(float).tiny)
    counts = dict(zip(STRAINS, division.strain.count_per_strain, strict=True))
    # thick only where it bends: a leaf in its plane is as thin as it is
    bends = [d[:, k].max() for k, bending in enumerate(("bending_z", "bending_y")) if counts[bending]]
    slender = whole / float(max(bends, default=d.max(axis=0).min()))
    ratio = f"length is {slender:.3g} thicknesses"
    if (level := graded(slender, THIN_NOTE, THIN)) != OK:
        yield Finding(level, place.where, ratio, "thinner than a hair: was the section meant in cm or mm?", slender)
    if slender < 1.0:
        yield Finding(ODD, place.where, ratio, "thicker than long: was the section meant in mm?", slender)
    missing = [strain for strain in STRAINS[4:] if not counts[strain]]
    # Timoshenko's cantilever: E I/(k G A L^2) over 1/3, of the deflections along y and z
    part = 3.0 * division.material.young / (SHEAR_FACTOR * division.material.shear_modulus) / 16.0
    parts = dict(zip(STRAINS[4:], part * (d.mean(axis=0) / whole) ** 2, strict=True))
    for axis, bending in (("shear_y", "bending_z"), ("shear_z", "bending_y")):
        if not counts[bending]:
            parts[axis] = 0.0  # what does not bend lacks no shear
    worst = float(max((parts[s] for s in missing), default=0.0))
    if (level := graded(worst, SHEAR_NOTE, SHEAR_ODD)) != OK:
        what = f"{ratio}, without shear, which would add {100.0 * worst:.2g} % to its bending"
        yield Finding(level, place.where, what, "let it shear (strain: shear: 0), or take it for an approximation",
                      100.0 * worst, "%")  # fmt: skip


def _reference(place: Place) -> Iterator[Finding]:
    """What the rod is like unloaded: curvatures in 1/mm or degrees, elongations that are strains."""
    division = place.division
    xi, half = np.abs(division.reference.values(place.inside, division.length)), 0.5 * place.thickness
    curved = np.maximum(xi[:, 1] * half[:, 1], xi[:, 2] * half[:, 0])
    worst = int(np.argmax(curved))
    if curved[worst] > THICKEST:
        radius = 1e3 / float(np.hypot(xi[worst, 1], xi[worst, 2]))
        what = f"unloaded, it is bent by a radius of {radius:.3g} mm, {1 / curved[worst]:.2g} halves of its thickness"
        remedy = "was a curvature meant in 1/m? It is the angle in rad over the length"
        yield Finding(ODD, f"{place.where}.reference", what, remedy, float(curved[worst]))
    stretch = float(xi[:, 3].min()) if outside(float(xi[:, 3].min()), STRETCH) else float(xi[:, 3].max())
    if outside(stretch, STRETCH):
        what, remedy = f"unloaded, it is {stretch:.3g} times as long as its length", "elongation: 1 is no stretch"
        yield Finding(ODD, f"{place.where}.reference", what, remedy, stretch)
    if (shear := float(xi[:, 4:].max())) >= SLANTED:
        what = f"unloaded, it is sheared by {shear:.3g}, {np.degrees(np.arctan(shear)):.3g} degrees"
        yield Finding(ODD, f"{place.where}.reference", what, "its sections are across it where shear is 0", shear)


def _section(place: Place) -> Iterator[Finding]:
    a = place.division.section.properties(place.inside, place.division.length)
    bulk = (a.Iy + a.Iz) / (a.A**2 / (2.0 * np.pi))
    if bulk.min() < BULK:
        what = f"Iy + Iz is {bulk.min():.2g} of what a disc of its area has, and no section has less"
        remedy = f"of a disc of {np.mean(a.A):.3g} m^2, Iy = Iz = {np.mean(a.A**2) / (4.0 * np.pi):.3g} m^4"
        yield Finding(ODD, f"{place.where}.section", what, remedy, float(bulk.min()))
    elif isinstance(place.division.section, Properties) and bulk.max() > TUBE_NOTE:
        what = f"Iy + Iz is {bulk.max():.3g} times what a disc of its area has, as that of a thin tube or truss"
        remedy = f"of a disc of {np.mean(a.A):.3g} m^2, Iy = Iz = {np.mean(a.A**2) / (4.0 * np.pi):.3g} m^4"
        yield Finding(NOTE if bulk.max() < TUBE else ODD, f"{place.where}.section", what, remedy, float(bulk.max()))
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
        expected, k = spike(s, v)
        if k < 0:
            continue
        unit = MOMENTS.get(name, "m")
        what = f"{name} at s = {s[k]:.3g} is {v[k]:.3g} {unit}, where its neighbours say {expected:.3g}"
        yield Finding(ODD, f"{place.where}.section", what, f"was it meant to be about {expected:.3g} {unit}?",
                      float(v[k]), unit)  # fmt: skip


def spike(s: Array, v: Array) -> tuple[float, int]:
    """Which entry of a table is a slip, and what its neighbours say instead; -1: none.

    An entry inside is compared with the line between its neighbours, one at an end with the next. A slip spoils what is
    said of its neighbours too: of all that stand out it is the one that is farthest from the middle of the table. A
    tip may be as thin as it likes.
    """
    inside = v[:-2] + (v[2:] - v[:-2]) * (s[1:-1] - s[:-2]) / (s[2:] - s[:-2])
    expected = np.concatenate([v[1:2], inside, v[-2:-1]])
    tiny = np.finfo(float).tiny
    off = np.abs(np.log(np.maximum(v, tiny) / np.maximum(expected, tiny)))
    limits = np.concatenate([[END], np.full(len(inside), SPIKE), [END]])
    out = off > np.log(limits)
    out[-1] &= v[-1] > v[-2]
    out[v == 0.0] = False  # pointed
    if not out.any():
        return 0.0, -1
    far = np.where(out, np.abs(np.log(np.maximum(v, tiny) / max(float(np.median(v)), tiny))), -1.0)
    k = int(np.argmax(far))
    return float(expected[k]), k


def _basis(place: Place) -> Iterator[Finding]:
    strain = place.division.strain
    X, w, is_gauss = place.division.gauss_points()
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
