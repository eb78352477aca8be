"""Natural frequencies against closed forms, and the verdict on stability at the known thresholds."""

import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.optimize import brentq
from validation.builders import cantilever, pendulum, stiffness

from sorosim.analysis.equilibria.statics import statics
from sorosim.mechanics.lie import exp_se3
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.section import Circle, Properties, Rectangle
from sorosim.mechanics.robot import Robot

L, RHO, E = 0.5, 1000.0, 1e7
STIFF = Material(E, poisson=0.3, density=RHO)
BETA = [1.875104068711961, 4.694091132974175, 7.854757438237613]  # cos b cosh b = -1
# at order 12 the first three modes are exact to 1e-10; the segments leave 4th-order errors, 2e-9 with 192 points
RICH, MANY = 12, 192


def frequencies(robot, q=None, u=None):
    return robot.linearize(np.zeros(robot.ndof) if q is None else q, u).frequencies


def first_roots(f, grid, n):
    """The first n zeros of f on a grid."""
    values = [f(x) for x in grid]
    changes = [i for i in range(len(grid) - 1) if values[i] * values[i + 1] < 0.0][:n]
    return np.array([brentq(f, grid[i], grid[i + 1], xtol=1e-14, rtol=1e-14) for i in changes])


# -- bending


def thin_section(gyration):
    """A section of 1 cm^2 with this radius of gyration, for bending and torsion alike."""
    inertia = 1e-4 * gyration**2
    return Properties(1e-4, inertia, inertia, 2.0 * inertia)


@pytest.mark.parametrize("plane", ["y", "z"])
def test_first_three_bending_frequencies_of_a_thin_cantilever(agrees, plane):
    # rotary inertia lowers the square of the frequency by about (beta r / L)^2: with r / L = 1e-5 by 6e-9 at most;
    # shear is locked
    r = 1e-5 * L
    arm = cantilever(
        Strain(**{f"bending_{plane}": RICH}), length=L, section=thin_section(r), material=STIFF, n_gauss=MANY
    )
    exact = np.square(BETA) / L**2 * np.sqrt(E / RHO) * r / (2.0 * np.pi)
    agrees("first three bending frequencies of a thin cantilever", frequencies(arm)[:3], exact, rtol=1.5e-7, unit="Hz",
           source="Euler and Bernoulli's beam")  # fmt: skip


def test_bending_frequencies_have_errors_of_fourth_order_in_the_points():
    r = 1e-5 * L
    exact = np.square(BETA) / L**2 * np.sqrt(E / RHO) * r / (2.0 * np.pi)
    errors = []
    for n in (24, 48, 96):
        arm = cantilever(Strain(bending_y=RICH), length=L, section=thin_section(r), material=STIFF, n_gauss=n)
        errors.append(np.abs(frequencies(arm)[:3] / exact - 1.0).max())
    assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 4.0, atol=0.2)


def timoshenko(EI, kGA, rho_A, rho_I, n=3):
    """First n frequencies [Hz] of a cantilever with shear (kGA infinite: locked) and rotary inertia."""

    def tip_is_free(w):
        # deflection, rotation, moment and shear force along the rod
        A = np.array([[0, 1, 0, 1 / kGA], [0, 0, 1 / EI, 0], [0, -rho_I * w**2, 0, -1], [-rho_A * w**2, 0, 0, 0]])
        return np.linalg.det(expm(A * L)[2:, 2:])

    thin = np.square(BETA[n - 1]) / L**2 * np.sqrt(EI / rho_A)
    return first_roots(tip_is_free, np.linspace(1e-3, 1.1, 400) * thin, n) / (2.0 * np.pi)


@pytest.mark.parametrize("shear", [None, RICH], ids=["locked", "free"])
@pytest.mark.parametrize("axis", ["y", "z"])
def test_thick_cantilever_has_the_frequencies_of_timoshenkos_beam(agrees, axis, shear):
    section = Rectangle(0.1, 0.06, shear_factor=(0.7, 5 / 6))
    free = {f"bending_{axis}": RICH, f"shear_{'zy'[axis == 'z']}": shear}
    arm = cantilever(Strain(**free), length=L, section=section, material=STIFF, n_gauss=MANY)
    k, i = stiffness(arm), 1 if axis == "y" else 2
    kGA = np.inf if shear is None else k[6 - i]
    exact = timoshenko(k[i], kGA, RHO * k[3] / E, RHO * k[i] / E)
    thin = np.square(BETA) / L**2 * np.sqrt(k[i] / (RHO * k[3] / E)) / (2.0 * np.pi)
    agrees("first three frequencies of a thick cantilever", frequencies(arm)[:3], exact, rtol=2e-7, unit="Hz",
           source="Timoshenko's beam")  # fmt: skip
    assert exact[2] < 0.96 * thin[2]  # what is tested is no trifle


# -- torsion and stretch


@pytest.mark.parametrize(("name", "modulus"), [("torsion", STIFF.shear_modulus), ("elongation", E)])
def test_torsional_and_axial_frequencies_of_a_cantilever(agrees, name, modulus):
    # of a round rod both waves have a speed without geometry in it, sqrt(G/rho) and sqrt(E/rho)
    arm = cantilever(Strain(**{name: RICH}), length=L, section=Circle(0.02), material=STIFF, n_gauss=MANY)
    exact = (2.0 * np.arange(3) + 1.0) / (4.0 * L) * np.sqrt(modulus / RHO)
    agrees(f"frequencies of {name} of a cantilever", frequencies(arm)[:3], exact, rtol=3e-9, unit="Hz",
           source="wave equation", bound="192 points")  # fmt: skip


def test_a_section_that_warps_twists_more_slowly():
    # GJ of Saint-Venant against the polar inertia of the mass
    section = Rectangle(0.04, 0.01)
    arm = cantilever(Strain(torsion=RICH), length=L, section=section, material=STIFF, n_gauss=MANY)
    properties = section.properties(np.zeros(1), L)
    assert properties.Jt[0] < 0.5 * properties.Jp[0]
    exact = np.sqrt(STIFF.shear_modulus * properties.Jt[0] / (RHO * properties.Jp[0])) / (4.0 * L)
    assert frequencies(arm)[0] == pytest.approx(exact, rel=1e-9)


def test_modes_of_a_free_tree_of_rods_do_not_depend_on_its_pose():
    bent = cable_manipulator()
    q = statics(bent, {"cable1": 8.0}).q
    found = bent.linearize(q, {"cable1": 8.0})
    g = exp_se3(np.array([0.4, -1.1, 0.7, 0.3, 0.2, -0.5]))
    link = bent.links[0]
    turned = Robot(
        Description(
            "turned", (Link("arm", link.rod, at=g),), gravity=tuple(g[:3, :3] @ bent.description.gravity),
            actuators=bent.description.actuators,
        )
    )  # fmt: skip
    assert_allclose(turned.linearize(q, {"cable1": 8.0}).frequencies, found.frequencies, rtol=1e-8)


def test_two_clamped_halves_vibrate_as_one_rod():
    one = cantilever(Strain(bending_y=("linear_elements", 2)), length=L, section=Circle(0.01), n_gauss=12)
    half = cantilever(Strain(bending_y=1), length=L / 2, section=Circle(0.01), n_gauss=12).links[0].rod
    two = Robot(Description("two", (Link("a", half), Link("b", half, parent="a")), gravity=(0.0, 0.0, 0.0)))
    # the two halves may have a kink of curvature in the middle: one coordinate more, and no higher frequencies
    assert two.ndof == one.ndof + 1
    assert (frequencies(two)[:3] <= frequencies(one)[:3] * (1.0 + 1e-12)).all()
    assert frequencies(two)[0] == pytest.approx(frequencies(one)[0], rel=1e-3)


# -- under its own weight: EI w'''' = (N w')' + rho A omega^2 w, N the tension, by power series


def heavy_determinant(gamma, lambda4):
    """Free-end determinant of a clamped rod; gamma = q L^3/EI (hanging > 0), lambda4 = rho A omega^2 L^4/EI."""
    rows = []
    for start in (2, 3):  # w = x^2 + ..., w = x^3 + ...: clamped at 0
        a = np.zeros(160)
        a[start] = 1.0
        for k in range(len(a) - 4):
            load = gamma * ((k + 1) * (k + 2) * a[k + 2] - (k + 1) ** 2 * a[k + 1]) + lambda4 * a[k]
            a[k + 4] = load / ((k + 4) * (k + 3) * (k + 2) * (k + 1))
        k = np.arange(len(a))
        rows.append([np.sum(k * (k - 1) * a), np.sum(k * (k - 1) * (k - 2) * a)])
    return np.linalg.det(rows)


CRITICAL = brentq(lambda gamma: heavy_determinant(-gamma, 0.0), 7.0, 9.0, xtol=1e-14)


def heavy_rod(gamma, order=RICH, n_gauss=MANY):
    """An inextensible thin rod that hangs (gamma > 0) or stands (gamma < 0)."""
    r = 1e-5 * L
    EI, weight = E * 1e-4 * r**2, RHO * 1e-4
    gravity = (gamma * EI / (weight * L**3), 0.0, 0.0)
    return cantilever(
        Strain(bending=order), length=L, section=thin_section(r), material=STIFF, n_gauss=n_gauss, gravity=gravity
    )


def test_power_series_knows_the_light_rod_and_the_buckling_column(agrees):
    assert_allclose(first_roots(lambda b: heavy_determinant(0.0, b**4), np.linspace(1, 9, 60), 3), BETA, rtol=1e-12)
    agrees(
        "weight under which a standing column buckles, in EI/L^3",
        CRITICAL,
        7.837347,
        atol=5e-7,
        bound="digits printed",
        source="Greenhill, 1881",
    )


@pytest.mark.parametrize("gamma", [-7.0, -3.0, 5.0, 40.0])
def test_heavy_rod_that_hangs_or_stands_has_the_frequencies_of_the_power_series(agrees, gamma):
    arm = heavy_rod(gamma)
    found = arm.linearize(np.zeros(arm.ndof))
    assert found.stable
    unit = np.sqrt(E / RHO) * 1e-5 * L / L**2 / (2.0 * np.pi)
    b = first_roots(lambda b: heavy_determinant(gamma, b**4), np.linspace(0.05, 9.5, 300), 3)
    # two planes, so that each comes twice
    agrees("frequencies of heavy rods that hang or stand", found.frequencies[:6:2], b**2 * unit, rtol=1.5e-7, unit="Hz",
           source="power series")  # fmt: skip
    assert_allclose(found.frequencies[1:6:2], b**2 * unit, rtol=1.5e-7)


@pytest.mark.parametrize(("below", "stable"), [(1e-5, True), (-1e-5, False)])
def test_column_under_its_weight_is_stable_up_to_its_buckling_length(below, stable):
    # the critical load is found to 1e-8, frequencies fall to zero there
    gamma = CRITICAL * (1.0 - below)
    arm = heavy_rod(-gamma)
    at_rest = statics(arm, stable=False)
    assert_allclose(at_rest.q, 0.0, atol=1e-12)
    assert at_rest.stable is stable
    found = arm.linearize(at_rest.q)
    assert found.stable is stable
    assert np.isnan(found.frequencies[:2]).all() != stable
    assert np.isfinite(found.frequencies[2:]).all()
    assert (found.eigenvalues.real.max() > 1e-6) != stable  # the growth rate, 2e-5 per s, or rounding


@pytest.mark.parametrize("bending", ["bending_y", "bending"], ids=["in a plane", "in space"])
def test_buckled_column_leans_and_is_found_from_a_bent_start(bending):
    length, section = 0.5, Circle(0.005)
    EI, weight = 1e6 * np.pi / 4.0 * 0.005**4, 1000.0 * np.pi * 0.005**2
    gravity = (-1.1 * CRITICAL * EI / (weight * length**3), 0.0, 0.0)
    arm = cantilever(Strain(**{bending: 6}), length=length, section=section, n_gauss=12, gravity=gravity)
    assert not statics(arm, stable=False).stable
    q0 = np.zeros(arm.ndof)
    q0[0] = 1.0
    leaning = statics(arm, q0=q0)
    assert leaning.tip()[0] < 0.8 * length
    frequencies = arm.linearize(leaning.q).frequencies
    if bending == "bending_y":
        assert leaning.stable
        assert frequencies[0] > 0.05
    else:
        # it may lean to any side: the way round costs nothing, and the equilibrium is one of a circle of them
        assert not abs(frequencies[0]) > 1e-5
        assert frequencies[1] > 0.05


# -- rigid pendulum


def test_pendulum_is_stable_hanging_and_unstable_standing():
    m, reach, inertia = 2.0, 0.3, 0.05
    bob = pendulum(m, reach, inertia)
    rate = np.sqrt(m * 9.81 * reach / (inertia + m * reach**2))
    down, up = bob.linearize([np.pi / 2]), bob.linearize([-np.pi / 2])
    assert down.stable
    assert not up.stable
    assert down.frequencies[0] == pytest.approx(rate / (2.0 * np.pi), rel=1e-14)
    assert_allclose(np.sort(up.eigenvalues.real), [-rate, rate], rtol=1e-14)
    assert np.isnan(up.frequencies[0])
    assert statics(bob, q0=[1.4]).stable
    assert not statics(bob, q0=[-1.4], stable=False).stable
    assert_allclose(statics(bob, q0=[-1.4]).q, np.pi / 2, atol=1e-12)


def test_damped_pendulum_decays_with_half_the_damping_over_the_inertia():
    m, reach, inertia, damping = 2.0, 0.3, 0.05, 0.2
    found = pendulum(m, reach, inertia, damping=damping).linearize([np.pi / 2])
    assert_allclose(found.eigenvalues.real, -0.5 * damping / (inertia + m * reach**2), rtol=1e-12)
    assert found.stable


def test_a_heavy_bob_on_a_weak_spring_buckles_at_m_g_l():
    reach, m = 0.3, 2.0
    for factor in (0.999999, 1.000001):
        body = RigidBody(m, centre=(0.0, 0.0, reach), inertia=(0.05, 0.05, 0.05))
        joint = Joint("revolute", axis=(1.0, 0.0, 0.0), stiffness=factor * m * 9.81 * reach)
        assert Robot(Description("bob", (Link("bob", body, joint=joint),))).linearize([0.0]).stable is (factor > 1.0)


# -- the matrix itself


@pytest.mark.parametrize("tension", [0.0, 12.0])
def test_linearized_motion_is_the_derivative_of_forward_dynamics(tension):
    arm = cable_manipulator()
    u = {"cable1": tension, "cable4": 0.5 * tension}
    q, n = statics(arm, u).q, arm.ndof
    found = arm.linearize(q, u)
    h = 1e-5
    A_fd = np.zeros((2 * n, 2 * n))
    A_fd[:n, n:] = np.eye(n)
    for j, e in enumerate(np.eye(n)):
        A_fd[n:, j] = (arm.forward_dynamics(q + h * e, 0 * q, u=u) - arm.forward_dynamics(q - h * e, 0 * q, u=u)) / (
            2 * h
        )
        A_fd[n:, n + j] = (arm.forward_dynamics(q, h * e, u=u) - arm.forward_dynamics(q, -h * e, u=u)) / (2 * h)
    # cond(M) = 4e6 times rounding over the step, and the step's square
    assert np.abs(found.A - A_fd).max() < 1e-7 * np.abs(A_fd).max()
    B_fd = np.stack([arm.forward_dynamics(q, 0 * q, u=arm.inputs(u) + e) for e in np.eye(5)], 1)
    assert_allclose(found.B[n:], B_fd, rtol=0, atol=1e-8 * np.abs(B_fd).max())
    assert_allclose(found.B[:n], 0.0)
    # eigenvalues of the matrix, one by one
    other = np.linalg.eigvals(found.A)
    assert max(np.abs(other - z).min() / abs(z) for z in found.eigenvalues) < 1e-6
    assert found.stable


def test_modes_diagonalise_mass_and_stiffness():
    arm = cable_manipulator()
    u = {"cable2": 5.0}
    equilibrium = statics(arm, u)
    found, M, K = arm.linearize(equilibrium.q, u), arm.mass_matrix(equilibrium.q), equilibrium.tangent_stiffness
    assert_allclose(found.modes.T @ M @ found.modes, np.eye(24), atol=1e-9)
    squares = (2.0 * np.pi * found.frequencies) ** 2
    assert_allclose(found.modes.T @ K @ found.modes, np.diag(squares), atol=1e-9 * squares.max())
