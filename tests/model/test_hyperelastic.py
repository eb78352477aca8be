"""Rods of neo-Hookean and Mooney-Rivlin solids against the energy of their fibres, exact solutions and differences."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import sorosim
from sorosim.mechanics.actuation.base import ActuatorValues
from sorosim.mechanics.testing.differences import jacobian

E, RADIUS, L = 1e6, 0.01, 0.2
AREA = np.pi * RADIUS**2
SOLIDS = {"neo-hookean": 0.0, "mooney-rivlin": 0.3}
solids = pytest.mark.parametrize("elasticity", SOLIDS)


ALL = ("torsion", "bending", "elongation", "shear")


def rod(elasticity, tip=(0, 0, 0), order=0, gravity=(0, 0, 0), strains=ALL, quadrature=None, **material):
    """A rod along x, its tip loaded by a dead force."""
    share = SOLIDS.get(elasticity, 0.0)
    return sorosim.load({
        "sorosim": 1, "name": "rod", "gravity": list(gravity),
        "materials": {"m": {
            "young": E, "poisson": 0.5, "density": 1000, "elasticity": elasticity, "second_share": share, **material,
        }},
        "links": {"rod": {"rod": {
            "length": L, "section": {"circle": {"radius": RADIUS, "torsion": "polar"}}, "material": "m",
            "strain": dict.fromkeys(strains, order), **({"quadrature": quadrature} if quadrature else {}),
        }}},
        "loads": {"tip": {"wrench": {"link": "rod", "force": list(tip)}}},
    })  # fmt: skip


def uniaxial(elasticity, x):
    """Energy per volume of a stretch x, and its derivative: the tension per unstretched area."""
    c = SOLIDS[elasticity]
    c1, c2 = E / 6.0 * (1.0 - c), E / 6.0 * c
    energy = c1 * (x**2 + 2.0 / x - 3.0) + c2 * (2.0 * x + x**-2 - 3.0)
    return energy, 2.0 * c1 * (x - x**-2) + 2.0 * c2 * (1.0 - x**-3)


@solids
@pytest.mark.parametrize("stretch", [0.6, 0.95, 1.5, 3.0])
def test_uniaxial_tension_is_exact(elasticity, stretch):
    robot = rod(elasticity, tip=(AREA * uniaxial(elasticity, stretch)[1], 0, 0), strains=["elongation"])
    found = sorosim.statics(robot)
    np.testing.assert_allclose(robot.pose(found.q, "rod")[:3, 3], [stretch * L, 0, 0], rtol=0, atol=1e-10)
    assert robot.energy(found.q, 0 * found.q).elastic == pytest.approx(
        AREA * L * uniaxial(elasticity, stretch)[0], rel=1e-9
    )


@solids
def test_a_hanging_rod_is_stretched_by_the_weight_below(elasticity):
    # soft and heavy: the stretch x(X) of tension rho g (L - X); its integral is the length
    g, soft = 9.81, 2e-2
    robot = rod(elasticity, gravity=(g, 0, 0), order=8, strains=["elongation"], quadrature=30, young=soft * E)

    def stretch(X):
        return brentq(lambda x: soft * uniaxial(elasticity, x)[1] - 1000 * g * (L - X), 0.5, 10.0, xtol=1e-13)

    length = quad(stretch, 0.0, L, epsabs=1e-12)[0]
    assert length > 1.05 * L
    assert robot.pose(sorosim.statics(robot).q, "rod")[0, 3] == pytest.approx(length, abs=1e-9)


@solids
@pytest.mark.parametrize("stretch", [0.8, 1.0, 1.7])
def test_bending_is_that_of_the_fibres_to_fourth_order(elasticity, stretch):
    # a fibre y from the axis has the stretch x + k y/sqrt(x), k the curvature by unstretched length; the energy of all
    # fibres differs from ours by the sixth order of k
    robot, turn = rod(elasticity), np.pi * np.arange(1, 41) / 41
    y, w = np.cos(turn), 2.0 * np.pi / 41 * np.sin(turn) ** 2  # Gauss-Chebyshev, with the width of a circle

    def defect(k):
        q = np.zeros(robot.ndof)
        q[robot.coordinate_names.index("rod.bending_y[0]")] = k * L
        q[robot.coordinate_names.index("rod.elongation[0]")] = stretch - 1.0
        fibres = uniaxial(elasticity, stretch + k * RADIUS * y / np.sqrt(stretch))[0]
        bent = L * RADIUS**2 * w @ (fibres - uniaxial(elasticity, stretch)[0])
        own = robot.energy(q, 0 * q).elastic - AREA * L * uniaxial(elasticity, stretch)[0]
        return abs(own / bent - 1.0)

    coarse, fine = defect(0.2 / RADIUS), defect(0.1 / RADIUS)
    assert fine < 1e-3
    assert coarse / fine == pytest.approx(16.0, rel=0.3)


@solids
@pytest.mark.parametrize(("twist", "shear"), [(80.0, 0.0), (0.0, 0.3)])
def test_twist_and_shear_have_the_energy_of_the_invariants(elasticity, twist, shear):
    # twist by unstretched length of a stretched cylinder, and simple shear of it but for the shear factor
    stretch, c = 1.4, SOLIDS[elasticity]
    robot = rod(elasticity)
    q = np.zeros(robot.ndof)
    for name, value in (("torsion", twist * L), ("elongation", stretch - 1.0), ("shear_y", shear)):
        q[robot.coordinate_names.index(f"rod.{name}[0]")] = value
    section = sorosim.Circle(radius=RADIUS).properties(np.zeros(1), L)
    c1, c2 = E / 6.0 * (1.0 - c), E / 6.0 * c

    def density(r):
        F = np.array([[stretch**-0.5, 0, 0], [0, stretch**-0.5, shear + twist * r * stretch**-0.5], [0, 0, stretch]])
        C = F.T @ F
        first = np.trace(C)
        return c1 * (first - 3.0) + c2 * (0.5 * (first**2 - np.trace(C @ C)) - 3.0)

    whole = 2.0 * np.pi * quad(lambda r: r * density(r), 0.0, RADIUS)[0]
    at_rest = AREA * uniaxial(elasticity, stretch)[0]
    factor = section.ky[0] if shear else 1.0
    assert robot.energy(q, 0 * q).elastic == pytest.approx(L * (at_rest + factor * (whole - at_rest)), rel=1e-9)


@solids
def test_forces_are_the_gradient_of_the_energy_and_have_exact_derivatives(elasticity, rng):
    robot = rod(elasticity, order=2)
    for size in (0.1, 1.0):
        q, rest = size * rng.uniform(-0.3, 0.3, robot.ndof), np.zeros(robot.ndof)
        force = robot.internal_force(q, rest)
        slope = jacobian(lambda d, q=q, rest=rest: robot.energy(q + d, rest).elastic, robot.ndof, 0.1)
        np.testing.assert_allclose(force, -slope, rtol=0, atol=1e-9 * np.abs(force).max())
        by_q = robot.internal_force_derivatives(q, rest).dtau_dq
        numeric = jacobian(lambda d, q=q, rest=rest: robot.internal_force(q + d, rest), robot.ndof, 0.1)
        np.testing.assert_allclose(by_q, numeric, rtol=0, atol=1e-9 * np.abs(by_q).max())
        np.testing.assert_allclose(by_q, by_q.T, rtol=0, atol=1e-13 * np.abs(by_q).max())


def test_small_strains_are_linear():
    q = np.full(rod("linear").ndof, 1e-6)
    linear, neo = (rod(kind).internal_force(q, 0 * q) for kind in ("linear", "neo-hookean"))
    np.testing.assert_allclose(neo, linear, rtol=1e-5)


@solids
def test_energy_is_conserved_in_large_motion(elasticity):
    robot = rod(elasticity, order=1, gravity=(0, 0, -9.81), young=0.05 * E)
    result = sorosim.simulate(robot, t_end=0.3, dt_out=0.03, rtol=1e-8, atol=1e-9)
    energy = result.energy()
    total = energy.total
    assert np.ptp(energy.elastic) > 1e-2 * np.ptp(energy.gravity)
    np.testing.assert_allclose(total, total[0], rtol=0, atol=1e-5 * np.ptp(energy.gravity))


def test_a_stretch_that_is_not_positive_has_no_force():
    robot = rod("neo-hookean")
    q = np.zeros(robot.ndof)
    q[robot.coordinate_names.index("rod.elongation[0]")] = -1.5
    assert np.isnan(robot.internal_force(q, 0 * q)).any()


def test_strong_compression_is_found():
    robot = rod("neo-hookean", tip=(-20 * E * AREA / 3, 0, 0), strains=["elongation"])
    x = brentq(lambda x: AREA * uniaxial("neo-hookean", x)[1] + 20 * E * AREA / 3, 1e-3, 1.0)
    assert robot.pose(sorosim.statics(robot).q, "rod")[0, 3] == pytest.approx(x * L, rel=1e-8)


def test_derivatives_by_numbers_of_the_material():
    robot = rod("mooney-rivlin", tip=(20, 5, 2), order=1)
    names = ["materials.m.young", "materials.m.second_share", "links.rod.rod.section.circle.radius"]
    eq = sorosim.statics(robot)
    by_numbers = sorosim.sensitivities(robot, names).equilibrium(eq).q
    for k, name in enumerate(names):
        value = sorosim.scalars(robot)[name]
        moved = [sorosim.statics(robot.with_values({name: value * (1 + h)}), q0=eq.q).q for h in (-1e-4, 1e-4)]
        numeric = (moved[1] - moved[0]) / (2e-4 * value)
        np.testing.assert_allclose(by_numbers[:, k], numeric, rtol=0, atol=1e-6 * np.abs(numeric).max())


class ConstantVolume:
    """The law of PyElastica less the linear one: tension and shear over the stretch, moments over its third power."""

    unit, rods = "", ("rod",)
    POWER = np.array([3.0, 3.0, 3.0, 1.0, 1.0, 1.0])

    def __init__(self, stiffness):
        self.stiffness = stiffness

    def bind(self, sections):
        return self

    def evaluate(self, u, xi, xid):
        x, e = xi[:, 3:4], xi - np.eye(6)[3]
        by_strain = np.einsum("nr,rs->nrs", -self.stiffness * (x**-self.POWER - 1.0), np.eye(6))
        by_strain[:, :, 3] += self.stiffness * e * self.POWER * x ** (-self.POWER - 1.0)
        wrench = -self.stiffness * e * (x**-self.POWER - 1.0)
        return ActuatorValues(wrench, by_strain, np.zeros((len(xi), 6, 6)), np.zeros((len(xi), 6)))


def test_a_law_in_python_that_keeps_the_volume_has_the_equilibrium_of_pyelastica():
    # tips of PyElastica 1.0.0 with 20 and 40 elements, damped to rest (docs/peers.md); extrapolated with their order 2
    coarse, fine = np.array([0.295228623195693, -0.3756582605756142]), np.array([0.29501549, -0.37604443910871077])
    material = sorosim.Material(1e6, shear=1e6 / 2.9, density=1000)
    strain = sorosim.Strain(bending_y=6, elongation=6, shear_z=6)
    division = sorosim.Division(0.5, sorosim.Circle(radius=0.02, torsion="polar"), material, strain)
    law = ConstantVolume(division.line_stiffness(np.zeros(1))[0])
    links = (sorosim.Link("rod", sorosim.Rod(division)),)
    robot = sorosim.Robot(sorosim.Description("rod", links, gravity=(0, 0, -9.81), actuators={"law": law}))
    tip = sorosim.statics(robot, u=[0.0]).tip()[[0, 2]]
    own = np.linalg.norm(fine - coarse)
    assert np.linalg.norm(tip - (fine + (fine - coarse) / 3.0)) < 0.3 * own
    linear = sorosim.statics(sorosim.Robot(sorosim.Description("rod", links, gravity=(0, 0, -9.81)))).tip()[[0, 2]]
    assert np.linalg.norm(linear - fine) > 1.5 * own
