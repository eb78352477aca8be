"""Rods: materials, lengths, thickness, sections, bases, and rods that differ from their siblings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields

import numpy as np

from sorosim.analysis.equations.strains import Place
from sorosim.analysis.equilibria.shapes import misses
from sorosim.base.arrays import Array
from sorosim.mechanics.model.basis import STRAINS, ElementBasis, get_basis
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.profile import Table
from sorosim.mechanics.model.rod import Rod
from sorosim.mechanics.model.section import Properties
from sorosim.mechanics.model.tubes import Tubes
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.findings import NOTE, ODD, OK, Finding, finding, judged, level_of

# Pa, and kg/m^3 that nothing so stiff goes below, as odd and as a note: polymer fibres, and anything
STIFF_AND_LIGHT = {ODD: (150e9, 1500.0), NOTE: (30e9, 1300.0)}
SOFT = 1e9  # Pa
THIN = 2e3  # thicknesses
GAP = 1e-6  # of its length between one rod and another that it is taken for a part of
STRAIGHT = 0.3  # rad between two rods in series, below which they count as one
# so many equal divisions of so low an order may be fewer of a good one, with a third of the coordinates
MANY, LOW, GOOD_ORDER, SAVES = 10, 1, 4, 3
SLANTED = 1.0  # shear of an unloaded rod
SHEAR_FACTOR = 0.9  # of a round section
SPIKE, END = 3.0, 6.0  # an entry of a table by so many times what its neighbours say, inside and at its ends
MOMENTS = {"area": "m^2", "Iy": "m^4", "Iz": "m^4", "J": "m^4", "polar": "m^4"}  # all other sizes are lengths
SIBLINGS, ALIKE, APART = 2, 30.0, 300.0  # so many others, alike within a factor, and how far off one is called odd


def materials(context: CheckContext) -> Iterator[Finding]:
    """Moduli, density and damping of every material."""
    first: dict[Material, str] = {}
    for place in context.places:
        first.setdefault(place.division.material, place.where)
    for link in context.robot.links:
        if isinstance(link.body, Tubes):
            for name, tube in link.body.tubes.items():
                first.setdefault(tube.material, f"links.{link.name}.tubes.{name}")
    for material, where in first.items():
        yield from _material(material, f"material of {where}")


def _material(material: Material, where: str) -> Iterator[Finding]:
    E, G, rho = material.young, material.shear_modulus, material.density
    yield from judged("material.soft", where, E, mega=1e6 * E, giga=1e9 * E)
    yield from judged("material.stiff", where, E, milli=1e-3 * E, micro=1e-6 * E)
    densities = judged("material.light", where, rho, si=1e3 * rho) + judged("material.dense", where, rho)
    yield from densities
    if material.shear is not None:
        yield from judged("material.shear", where, G, G / E, young=E, least=E / 3.0, most=E / 2.0)
    if material.poisson is not None:
        yield from judged("material.poisson", where, material.poisson)
    damped = material.damping or material.mass_damping or material.stiffness_damping or material.relaxation
    if not damped:
        yield finding("material.undamped", where, 0.0, usual=1e-2 * E)
    if not densities:
        # moduli and densities that go together in no material: one has the wrong unit, or is that of water
        levels = (level for level, (stiff, light) in STIFF_AND_LIGHT.items() if stiff < E and rho < light)
        if level := next(levels, ""):
            yield finding("material.stiff_and_light", where, rho, level, young=E)
        if E < SOFT:
            yield from judged("material.soft_and_heavy", where, rho, young=E)
    viscosity, proportional = material.damping, material.stiffness_damping
    time = viscosity / E + proportional
    if viscosity / E > proportional:
        yield from judged("material.viscous", where, time, damping=viscosity, usual=1e-2 * E)
    else:
        yield from judged("material.stiffness_damping", where, time, damping=proportional)
    rate = material.mass_damping
    yield from judged("material.mass_damping", where, rate, ms=1e3 / max(rate, 1e-300))


def rods(context: CheckContext) -> Iterator[Finding]:
    """Every division of every rod for itself."""
    whole = _whole_lengths(context)
    for place in context.places:
        L = place.division.length
        if level_of("rod.length", L) != OK:
            better = f"{L / 1e3:g} m if it was meant in mm" if L > 1.0 else f"{L * 1e3:g} m if a prefix is too much"
            # small everywhere: intended
            small = L < 1.0 and 2.0 < L / place.thickness.max() < THIN
            yield finding("rod.length", place.where, L, NOTE if small else ODD, better=better)
        yield from _slender(place, whole[place.link.name])
        yield from _reference(place)
        yield from _section(place)
        yield from _tables(place)
        yield from _basis(place)
    for link in context.robot.links:
        if isinstance(link.body, Rod):
            yield from _division(context, f"links.{link.name}.rod", link.body)


def _division(context: CheckContext, where: str, rod: Rod) -> Iterator[Finding]:
    """Orders against divisions: errors fall with a power of the order by divisions, and exponentially by order."""
    n, first = len(rod.divisions), rod.divisions[0]
    counts = [count for count in first.strain.count_per_strain if count]
    if not counts:
        return
    order, same = max(counts) - 1, all(division == first for division in rod.divisions)
    if any(isinstance(get_basis(getattr(first.strain, name)[0]), ElementBasis) for name, count in
           zip(STRAINS, first.strain.count_per_strain, strict=True) if count):  # fmt: skip
        return
    if n == 1:
        pieces = int(np.ceil((order + 1) / (GOOD_ORDER + 1)))
        yield from judged("rod.order", where, order, pieces=pieces, better=GOOD_ORDER)
    elif (
        n >= MANY
        and same
        and order <= LOW
        and not (first.discs or first.varies or context.robot.engine.loading.touches)
    ):
        fewer = int(np.ceil(n * (order + 1) / (SAVES * (GOOD_ORDER + 1))))
        less = fewer * sum(min(count * n, GOOD_ORDER + 1) for count in counts)
        words = {"order": order, "coordinates": n * sum(counts), "fewer": fewer, "better": GOOD_ORDER, "less": less}
        yield finding("rod.divisions", where, n, **words)


def beyond_numbers(context: CheckContext) -> Iterator[Finding]:
    """Rods whose stiffness or mass is none or infinite, as numbers of a computer go."""
    for place in context.places:
        values = np.hstack([place.division.line_stiffness(place.inside), place.division.line_inertia(place.inside)])
        if not (np.isfinite(values).all() and (values[:, [*range(6), 9]] > np.finfo(float).tiny).all()):
            yield finding("rod.beyond_numbers", place.where)


def _whole_lengths(context: CheckContext) -> dict[str, float]:
    """Length of the rod that each link with a rod is a part of: with what it is fixed to in a line, tip to base [m]."""
    links = {link.name: link for link in context.robot.links}
    before: dict[str, str] = {}
    for link in links.values():  # of several rods that continue from one tip none counts as its continuation
        parent = links.get(link.parent)
        if link.rod is None or parent is None or parent.rod is None or link.joint.n or link.s < 1.0:
            continue
        if link.at[0, 0] > np.cos(STRAIGHT) and np.linalg.norm(link.at[:3, 3]) < GAP * parent.rod.length:
            before[link.name] = link.parent
    children = Counter(before.values())
    lengths = {name: link.rod.length for name, link in links.items() if link.rod is not None}
    first, total = {name: name for name in lengths}, dict.fromkeys(lengths, 0.0)
    for name, length in lengths.items():  # parents first
        if name in before and children[before[name]] == 1:
            first[name] = first[before[name]]
        total[first[name]] += length
    return {name: total[base] for name, base in first.items()}


def _slender(place: Place, whole: float) -> Iterator[Finding]:
    if place.link.joint.changes_length:  # its length is that of a state
        return
    division, d = place.division, np.maximum(place.thickness, np.finfo(float).tiny)
    counts = dict(zip(STRAINS, division.strain.count_per_strain, strict=True))
    # thick only where it bends: a leaf in its plane is as thin as it is
    bends = [d[:, k].max() for k, bending in enumerate(("bending_z", "bending_y")) if counts[bending]]
    slender = whole / float(max(bends, default=d.max(axis=0).min()))
    yield from judged("rod.thin", place.where, slender)
    yield from judged("rod.thick", place.where, slender)
    # Timoshenko's cantilever: E I/(k G A L^2) over 1/3, of the deflections along y and z; what does not bend has none
    part = 3.0 * division.material.young / (SHEAR_FACTOR * division.material.shear_modulus) / 16.0
    added = part * (d.mean(axis=0) / whole) ** 2
    pairs = zip(("shear_y", "shear_z"), ("bending_z", "bending_y"), added, strict=True)
    worst = max((float(x) for shear, bending, x in pairs if counts[bending] and not counts[shear]), default=0.0)
    yield from judged("rod.shear", place.where, 100.0 * worst, worst, slender=slender)


def _reference(place: Place) -> Iterator[Finding]:
    """What the rod is like unloaded: curvatures in 1/mm or degrees, elongations that are strains."""
    division, where = place.division, f"{place.where}.reference"
    xi, half = np.abs(division.reference.values(place.inside, division.length)), 0.5 * place.thickness
    curved = np.maximum(xi[:, 1] * half[:, 1], xi[:, 2] * half[:, 0])
    worst = int(np.argmax(curved))
    if curved[worst] > 0.0:
        radius = 1e3 / float(np.hypot(xi[worst, 1], xi[worst, 2]))
        yield from judged("rod.bent", where, curved[worst], radius=radius, halves=1.0 / curved[worst])
    least, most = float(xi[:, 3].min()), float(xi[:, 3].max())
    yield from judged("rod.stretched", where, least) or judged("rod.stretched", where, most)
    if (shear := float(xi[:, 4:].max())) >= SLANTED:
        yield finding("rod.sheared", where, shear, degrees=np.degrees(np.arctan(shear)))


def _section(place: Place) -> Iterator[Finding]:
    where, section = f"{place.where}.section", place.division.section
    a = section.properties(place.inside, place.division.length)
    bulk = (a.Iy + a.Iz) / (a.A**2 / (2.0 * np.pi))
    disc = {"area": np.mean(a.A), "moment": np.mean(a.A**2) / (4.0 * np.pi)}
    bulky = judged("section.bulky", where, bulk.min(), **disc)
    yield from bulky
    if not bulky and isinstance(section, Properties):
        yield from judged("section.tube", where, bulk.max(), **disc)
    yield from judged("section.torsion", where, (a.Jt / (a.Iy + a.Iz)).max(), most=np.mean(a.Iy + a.Iz))
    yield from judged("section.flat", where, np.sqrt(np.maximum(a.Iy / a.Iz, a.Iz / a.Iy)).max())


def _tables(place: Place) -> Iterator[Finding]:
    section = place.division.section
    for name in (f.name for f in fields(section)):
        value = getattr(section, name)
        if not isinstance(value, Table) or len(value.values) < 3:
            continue
        s, v = np.asarray(value.s, dtype=float), np.asarray(value.values, dtype=float)
        expected, k = spike(s, v)
        if k >= 0:
            words = {"name": name, "s": s[k], "expected": expected, "unit": MOMENTS.get(name, "m")}
            yield finding("section.table", f"{place.where}.section", v[k], **words)


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
        condition = float(np.linalg.cond(f / np.linalg.norm(f, axis=0))) ** 2
        basis, order = getattr(strain, name)
        order = order if basis in ("monomial", "chebyshev") else count - 1
        yield from judged("rod.basis", f"{place.where}.strain.{name}", condition, count=count, basis=basis, order=order)


MEASURES: tuple[tuple[str, str, Callable[[Place], float]], ...] = (
    ("bending stiffness", "N m^2", lambda p: float(np.mean(p.division.line_stiffness(p.inside)[:, 1:3].max(axis=1)))),
    ("mass per length", "kg/m", lambda p: float(np.mean(p.division.line_inertia(p.inside)[:, 3]))),
    ("density", "kg/m^3", lambda p: p.division.material.density),
    ("Young's modulus", "Pa", lambda p: p.division.material.young),
)


def siblings(context: CheckContext) -> Iterator[Finding]:
    """One rod that is much stiffer or heavier than all others, which are alike."""
    reported: set[str] = set()
    for name, unit, measure in MEASURES:
        values = np.array([measure(place) for place in context.places])
        for k, place in enumerate(context.places):
            others = np.delete(values, k)
            if len(others) < 1 or place.where in reported:
                continue
            factor = float(max(values[k] / others.max(), others.min() / values[k]))
            if factor < APART or others.max() > ALIKE * others.min():
                continue
            usual, level = float(np.median(others)), ODD if len(others) >= SIBLINGS else NOTE
            side = "above" if values[k] > usual else "below"
            words = {"name": name, "unit": unit, "factor": factor, "usual": usual, "side": side}
            reported.add(place.where)
            yield finding("rod.sibling", place.where, values[k], level, **words)


def shapes(context: CheckContext) -> Iterator[Finding]:
    """How near rods pass to the points of the file's initial shapes."""
    robot = context.robot
    q = robot.initial_q
    q[context.driven_coordinates] = list(context.driven_start.values())
    for name, shape in robot.description.shapes.items():
        missed = float(misses(robot, name, shape, q).max())
        part = missed / robot.engine.layout.links[name].X[-1]
        yield from judged("initial.missed", f"initial.{name}", missed, part, percent=100.0 * part)
