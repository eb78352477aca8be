"""Materials: numbers that look like those of another unit."""

from __future__ import annotations

from collections.abc import Iterator

from sorosim.doctor.finding import NOTE, ODD, OK, Finding, graded, outside
from sorosim.doctor.patient import Patient
from sorosim.model.material import Material

YOUNG = 1e3, 2e12  # Pa: from the softest gels to diamond
DENSITY = 5.0, 25e3  # kg/m^3: from foams to osmium
SHEAR = 1e-3, 1.0  # of Young's modulus: from fibres in a soft matrix to auxetic foams
AUXETIC = -0.3  # Poisson's ratios below are rare even among foams
# viscosity over Young's modulus [s]: rubbers have milliseconds; above the second a rod flows rather than springs
RELAXATION_NOTE, RELAXATION = 1.0, 10.0
# Pa, and kg/m^3 that nothing so stiff goes below: but for fibres of polymers, and at all; and what nothing soft exceeds
STIFF, LIGHT = (30e9, 150e9), (1300.0, 1500.0)
SOFT, HEAVY = 1e9, 6e3


def materials(patient: Patient) -> Iterator[Finding]:
    """Moduli, density and damping of every material."""
    seen: dict[Material, str] = {}
    for place in patient.places:
        seen.setdefault(place.division.material, place.where)
    for material, where in seen.items():
        yield from _material(material, f"material of {where}")


def _material(material: Material, name: str) -> Iterator[Finding]:
    E, G, rho = material.young, material.shear_modulus, material.density
    if outside(E, YOUNG):
        factor, other = (1e6, 1e9) if YOUNG[0] > E else (1e-3, 1e-6)
        remedy = f"was it meant in kPa, MPa or GPa? {factor * E:g} or {other * E:g} Pa, say"
        yield Finding(ODD, name, f"Young's modulus {E:g} Pa", remedy, E, "Pa")
    if outside(rho, DENSITY):
        better = f" Then it is {1e3 * rho:g} kg/m^3" if rho < DENSITY[0] else ""
        yield Finding(ODD, name, f"density {rho:g} kg/m^3", f"was it meant in g/cm^3?{better}", rho, "kg/m^3")
    if material.shear is not None and outside(G / E, SHEAR):
        remedy = f"a solid of equal properties along all directions has from {E / 3.0:.3g} to {E / 2.0:.3g} Pa"
        yield Finding(ODD, name, f"shear modulus {G:g} Pa beside Young's modulus {E:g} Pa", remedy, G, "Pa")
    if material.poisson is not None and material.poisson < AUXETIC:
        remedy = "rubber and silicone have 0.5, metals 0.3, foams about 0.1"
        yield Finding(ODD, name, f"Poisson's ratio {material.poisson:g}", remedy, material.poisson)
    if not (material.damping or material.mass_damping or material.stiffness_damping):
        remedy = f"give `damping`, a viscosity in Pa*s: {1e-2 * E:.1g} Pa*s, say"
        yield Finding(ODD, name, "no damping: motions never settle", remedy, 0.0, "Pa s")
    if not outside(rho, DENSITY):
        yield from _stiff_and_light(material, name)
    time = material.damping / E + material.stiffness_damping
    if (level := graded(time, RELAXATION_NOTE, RELAXATION)) != OK:
        viscous = material.damping / E > material.stiffness_damping
        cause = (
            f"damping {material.damping:g} Pa*s" if viscous else f"stiffness_damping {material.stiffness_damping:g} s"
        )
        remedy = f"was it meant in Pa*s? {1e-2 * E:.1g} Pa*s is usual" if viscous else "was it meant in ms?"
        yield Finding(level, name, f"{cause}: what is bent springs back within {time:.3g} s", remedy, time, "s")
    if material.mass_damping > 1e3:
        what = f"mass_damping {material.mass_damping:g} 1/s: speeds fall within {1e3 / material.mass_damping:.2g} ms"
        yield Finding(NOTE, name, what, "", material.mass_damping, "1/s")


def _stiff_and_light(material: Material, name: str) -> Iterator[Finding]:
    """Moduli and densities that go together in no material: one of the two has the wrong unit, or is that of water."""
    E, rho = material.young, material.density
    what = f"Young's modulus {E:g} Pa with density {rho:g} kg/m^3"
    level = ODD if STIFF[1] < E and rho < LIGHT[1] else NOTE if STIFF[0] < E and rho < LIGHT[0] else OK
    if level != OK:
        remedy = "steel has 7850, aluminium 2700, carbon fibre 1600 kg/m^3"
        yield Finding(level, name, what, remedy, rho, "kg/m^3")
    if E < SOFT and rho > HEAVY:
        yield Finding(ODD, name, what, "rubbers, gels and plastics have 900 to 2500 kg/m^3", rho, "kg/m^3")
