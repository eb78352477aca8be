"""Rods against closed forms of statics: the elastica, rolling up, torsion, stretch, Timoshenko's beam, curved rods."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc
from validation.builders import cantilever, stiffness, tip_load

from sorosim.analysis.equilibria.statics import statics
from sorosim.base.signals.expressions import parse
from sorosim.mechanics.lie import log_se3
from sorosim.mechanics.model.basis import ReferenceStrain, Strain
from sorosim.mechanics.model.profile import Linear
from sorosim.mechanics.model.section import Circle, Rectangle

L = 0.5
# P L^2/EI: deflection w/L across and shortening u/L along the rod
TABLE = {1: (0.30172, 0.05643), 2: (0.49346, 0.16064), 5: (0.71379, 0.38763), 10: (0.81061, 0.55500)}
ALL_SIX = Strain(torsion=3, bending=3, elongation=3, shear=3)


# -- the elastica


@cache
def elastica(alpha):
    """w/L and u/L of an inextensible cantilever under a dead force across its tip, by elliptic integrals."""

    def excess(slope):
        k2 = 0.5 * (1.0 + np.sin(slope))
        return ellipk(k2) - ellipkinc(np.arcsin(1.0 / np.sqrt(2.0 * k2)), k2) - np.sqrt(alpha)

    slope = brentq(excess, 1e-9, 0.5 * np.pi - 1e-9, xtol=1e-15, rtol=1e-15)
    k2 = 0.5 * (1.0 + np.sin(slope))
    start = np.arcsin(1.0 / np.sqrt(2.0 * k2))
    w = 1.0 - 2.0 / np.sqrt(alpha) * (ellipe(k2) - ellipeinc(start, k2))
    return np.array([w, 1.0 - np.sqrt(2.0 * np.sin(slope) / alpha)])


def bent(alpha, order, n_gauss, plane="y"):
    """w/L and u/L of an inextensible, unshearable rod."""
    arm = cantilever(Strain(**{f"bending_{plane}": order}), n_gauss=n_gauss)
    P, EI = np.zeros(3), stiffness(arm)[1]
    across = 2 if plane == "y" else 1
    P[across] = -alpha * EI / L**2
    tip = statics(arm.with_loads(tip=tip_load(force=P))).tip()
    assert abs(tip[3 - across]) < 1e-15
    return np.array([-tip[across], L - tip[0]]) / L


@pytest.mark.parametrize("alpha", TABLE)
def test_elliptic_integrals_give_the_published_table(agrees, alpha):
    agrees(  # five digits, the last not always rounded
        "large deflection of a cantilever, exact solution", elastica(alpha), TABLE[alpha], atol=6e-6,
        source="table of Bisshopp and Drucker, 1945", bound="digits printed",
    )  # fmt: skip


@pytest.mark.parametrize("plane", ["y", "z"])
@pytest.mark.parametrize("alpha", TABLE)
def test_elastica_under_a_dead_tip_force(agrees, alpha, plane):
    # the error of 192 points, which is the larger one at order 12, is 1.5e-10 at most (see the orders below)
    agrees("large deflection of a cantilever under a dead tip force, of its length", bent(alpha, 12, 192, plane),
           elastica(alpha), source="elliptic integrals", atol=2e-10, bound="192 points")  # fmt: skip


@pytest.mark.parametrize("alpha", TABLE)
def test_the_papers_orders_give_the_elastica_to_one_part_in_ten_thousand(agrees, alpha):
    agrees("the same with the orders and points of the paper", bent(alpha, 4, 5), elastica(alpha),
           source="elliptic integrals", atol=1.6e-4, bound="order 4, 5 points")  # fmt: skip


def test_elastica_error_falls_geometrically_with_the_order_of_the_basis():
    # 400 points: their own error, 1e-11, stays below
    errors = np.array([np.abs(bent(10, order, 400) - elastica(10)).max() for order in range(2, 9)])
    print("elastica, order 2 to 8:", " ".join(f"{e:.1e}" for e in errors))
    assert errors[-1] < 2e-10
    # a decade an order, and nowhere less than one in two orders: the odd ones have little to add
    assert np.polyfit(range(len(errors)), np.log10(errors), 1)[0] < -1.0
    assert (errors[2:] < errors[:-2] / 10.0).all()


@pytest.mark.parametrize("alpha", TABLE)
def test_elastica_error_falls_with_the_fourth_power_of_the_number_of_points(alpha):
    # order 10: the error of the basis is below 1e-11
    errors = np.array([np.abs(bent(alpha, 10, n) - elastica(alpha)).max() for n in (24, 48, 96)])
    orders = np.log2(errors[:-1] / errors[1:])
    print(f"elastica, PL^2/EI = {alpha}, 24 to 96 points:", " ".join(f"{e:.1e}" for e in errors), orders)
    assert_allclose(orders, 4.0, atol=0.2)


# -- one moment at the tip


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize(
    "varying", [Strain(bending_z=0), Strain(bending_z=3), ALL_SIX], ids=["order 0", "order 3", "all"]
)
@pytest.mark.parametrize("turns", [0.5, 1, 2])
def test_an_end_moment_rolls_the_rod_up_into_circles(agrees, turns, varying, frame):
    arm = cantilever(varying, length=L)
    M = 2.0 * np.pi * turns * stiffness(arm)[2] / L
    found = statics(arm.with_loads(tip=tip_load(moment=(0, 0, M), frame=frame)))
    places = arm.poses(found.q, "arm", s=(s := np.linspace(0.0, 1.0, 9)))
    angle, radius = 2.0 * np.pi * turns * s, L / (2.0 * np.pi * turns)
    circle = radius * np.stack([np.sin(angle), 1.0 - np.cos(angle), 0.0 * s], axis=1)
    # constant strain is in every basis and its exponential is exact; up to order 3 the two collocation points of a
    # segment also integrate the basis exactly, so that the moment does the right work: rounding only
    agrees("rod rolled up by an end moment, points along it", places[:, :3, 3], circle, source="circles", atol=1e-12,
           unit="m")  # fmt: skip
    assert_allclose(places[:, 0, 0], np.cos(angle), rtol=0, atol=1e-11)


def test_torsion_is_T_L_over_GJ(agrees):
    arm = cantilever(ALL_SIX, length=L, section=Rectangle(0.02, 0.01))
    T, GJ = 0.005, stiffness(arm)[0]
    angle = log_se3(arm.pose(statics(arm.with_loads(tip=tip_load(moment=(T, 0, 0)))).q, "arm"))[:3]
    agrees(
        "twist of a rectangular bar under a torque",
        angle,
        [T * L / GJ, 0, 0],
        source="T L / GJ",
        atol=1e-13,
        unit="rad",
    )
    # Saint-Venant's constant of a rectangle 2:1 (Timoshenko): 0.2287 a b^3
    agrees("torsional stiffness of a rectangle 2:1", GJ, 0.2287 * 0.02 * 0.01**3 * 1e6 / 3.0, rtol=2e-4, unit="N m^2",
           source="Timoshenko: 0.2287 a b^3 G", bound="digits printed")  # fmt: skip


def test_torsion_of_a_taper_is_the_integral_of_T_over_GJ():
    a, b = 0.02, 0.01
    errors = []
    for order in (2, 4, 6, 8):
        arm = cantilever(Strain(torsion=order), length=L, section=Circle(Linear(a, b)), n_gauss=200)
        T, G = 1e-3, arm.links[0].rod.divisions[0].material.shear_modulus
        found = statics(arm.with_loads(tip=tip_load(moment=(T, 0, 0))))
        exact = T * 2.0 / (np.pi * G) * L / (a - b) * (b**-3 - a**-3) / 3.0
        errors.append(abs(log_se3(arm.pose(found.q, "arm"))[0] / exact - 1.0))
    # the nearest pole of 1/r^4 is at s = 2, in units of half the length 3 from the middle: the half axes of its ellipse
    # add up to 3 + sqrt(8) = 5.8, and the flexibility, an energy, converges with its square: up to 34 an order
    print("torsion of a taper, orders 2 to 8:", " ".join(f"{e:.1e}" for e in errors))
    assert errors[-1] < 2e-9
    assert all(fine < coarse / 100.0 for coarse, fine in pairwise(errors))


@pytest.mark.parametrize("P", [-0.5, 5.0])
def test_pure_stretch_is_P_L_over_EA(P):
    arm = cantilever(ALL_SIX, length=L)
    found = statics(arm.with_loads(tip=tip_load(force=(P, 0, 0))), stable=False)
    assert_allclose(found.tip(), [L + P * L / stiffness(arm)[3], 0, 0], rtol=0, atol=1e-13)


def test_hanging_rod_stretches_under_its_weight():
    arm = cantilever(Strain(elongation=1), length=L, gravity=(9.81, 0, 0))
    # rho g L^2 / 2E, from a strain that falls linearly to zero at the tip
    assert statics(arm).tip()[0] == pytest.approx(L + 1000.0 * 9.81 * L**2 / 2e6, abs=1e-14)


# -- small loads


@pytest.mark.parametrize("axis", [1, 2])
def test_small_tip_force_gives_timoshenkos_deflection(agrees, axis):
    section = Rectangle(0.08, 0.05, shear_factor=(5 / 6, 0.7))
    arm = cantilever(Strain(torsion=1, bending=1, elongation=1, shear=1), length=0.3, section=section)
    k = stiffness(arm)
    P = 1e-4
    force = np.eye(3)[axis] * P
    tip = statics(arm.with_loads(tip=tip_load(force=force))).tip()
    exact = P * 0.3**3 / (3.0 * k[3 - axis]) + P * 0.3 / k[3 + axis]
    # bending about z moves along y; the deflection is 1e-6 of the length, so nonlinear terms are 1e-12 of it
    agrees(
        "small deflection under a tip force, with shear",
        tip[axis],
        exact,
        source="Timoshenko's beam",
        rtol=1e-9,
        unit="m",
    )
    assert P * 0.3 / k[3 + axis] > 0.02 * exact  # shear has its say


def test_small_weight_gives_the_deflection_of_an_even_load(agrees):
    arm = cantilever(Strain(bending=2, shear=1), length=L, gravity=(0, 0, -1e-5))
    q, k = 1000.0 * np.pi * 1e-4 * 1e-5, stiffness(arm)
    exact = q * L**4 / (8.0 * k[1]) + q * L**2 / (2.0 * k[5])
    # the square of the slope, 5e-5, is left
    agrees(
        "small deflection under the own weight",
        -statics(arm).tip()[2],
        exact,
        source="Timoshenko's beam",
        rtol=1e-8,
        unit="m",
    )


# -- rods born curved


def test_a_rod_born_as_an_arc_is_an_arc_and_a_moment_straightens_it():
    R = L / (0.5 * np.pi)
    arc = ReferenceStrain(0.0, 0.0, 1.0 / R, 1.0, 0.0, 0.0)
    arm = cantilever(ALL_SIX, length=L, reference=arc)
    rest = statics(arm)
    assert_allclose(rest.q, 0.0, atol=1e-15)
    assert_allclose(rest.tip(), [R, R, 0.0], rtol=0, atol=1e-15)
    assert_allclose(
        arm.pose(rest.q, "arm", s=1 / 3)[:3, 3], [R * 0.5, R * (1.0 - np.cos(np.pi / 6)), 0.0], rtol=0, atol=1e-15
    )
    flat = statics(arm.with_loads(tip=tip_load(moment=(0, 0, -stiffness(arm)[2] / R))))
    assert_allclose(flat.tip(), [L, 0.0, 0.0], rtol=0, atol=1e-12)


def test_quarter_circle_under_small_tip_forces_follows_castigliano(agrees):
    R = 0.2
    arc = ReferenceStrain(0.0, 0.0, 1.0 / R, 1.0, 0.0, 0.0)
    arm = cantilever(Strain(bending_z=9), length=0.5 * np.pi * R, reference=arc, n_gauss=64)
    P, EI = 1e-8, stiffness(arm)[2]
    unit = P * R**3 / EI
    moved = (
        np.stack([statics(arm.with_loads(tip=tip_load(force=P * e))).tip() - [R, R, 0] for e in np.eye(3)[:2]]) / unit
    )
    # integrals over the quarter of the products of the lever arms, cos(angle) and 1 - sin(angle)
    lever = np.array([[0.25 * np.pi, 0.5], [0.5, 0.75 * np.pi - 2.0]])
    # rounding of 0.2 m over deflections of 1e-9 R, and the square of P R^2 / EI = 5e-8
    agrees("quarter circle under small tip forces, deflections over P R^3 / EI", np.abs(moved[:, :2]), np.abs(lever),
           source="Castigliano", atol=1e-7, bound="square of the load, rounding")  # fmt: skip


def test_out_of_plane_load_of_a_quarter_circle_bends_and_twists_it(agrees):
    R = 0.2
    arc = ReferenceStrain(0.0, 0.0, 1.0 / R, 1.0, 0.0, 0.0)
    arm = cantilever(Strain(torsion=9, bending=9), length=0.5 * np.pi * R, reference=arc, n_gauss=64)
    k, P = stiffness(arm), 1e-6
    tip = statics(arm.with_loads(tip=tip_load(force=(0, 0, P)))).tip()
    # Timoshenko: P R^3 (pi/4 / EI + (3 pi/4 - 2) / GJ)
    exact = P * R**3 * (0.25 * np.pi / k[1] + (0.75 * np.pi - 2.0) / k[0])
    agrees("quarter circle under a force out of its plane", tip[2], exact, source="Timoshenko", rtol=1e-7, unit="m")


def test_helical_rest_shape_is_a_helix(agrees):
    radius, pitch, turns = 0.05, 0.1, 3
    c = pitch / (2.0 * np.pi)
    length = 2.0 * np.pi * turns * np.hypot(radius, c)
    # Frenet: curvature about z, torsion about x
    curvature, twist = radius / (radius**2 + c**2), c / (radius**2 + c**2)
    arm = cantilever(
        ALL_SIX, length=length, reference=ReferenceStrain(twist, 0.0, curvature, 1.0, 0.0, 0.0), n_gauss=30
    )
    tip = statics(arm).tip()
    # after whole turns: along the axis, which in the first frame is (c, 0, radius) / |.|
    axis = np.array([c, 0.0, radius]) / np.hypot(radius, c)
    agrees(
        "tip of a helix of three turns at rest", tip, pitch * turns * axis, source="closed form", atol=1e-13, unit="m"
    )


def test_a_formula_gives_the_rest_shape_of_a_clothoid():
    from scipy.special import fresnel

    # curvature pi X / a^2 from 0: the tip is at the Fresnel integrals of L / a
    a = 0.3
    curvature = parse(f"pi*X/{a}**2", ("X", "s", "L"))
    errors = []
    for n in (16, 32, 64):
        arm = cantilever(
            Strain(bending_z=0), length=L, n_gauss=n, reference=ReferenceStrain(0.0, 0.0, curvature, 1.0, 0.0, 0.0)
        )
        sine, cosine = fresnel(L / a)
        errors.append(np.abs(statics(arm).tip() - [a * cosine, a * sine, 0.0]).max())
    # linear curvature, but its exponential is not that of the mean: fourth order in the points
    assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 4.0, atol=0.25)
    assert errors[-1] < 1e-7
