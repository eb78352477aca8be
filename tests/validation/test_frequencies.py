"""Frequencies of rods, rings, chains and turning robots against closed forms, published values and second solutions."""

import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import iv, jn_zeros, jv, kv, yv
from validation.builders import NO_GRAVITY, cantilever

from sorosim.mechanics.constraints.loop import Anchor, Loop
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import ReferenceStrain, Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle, Properties, Rectangle
from sorosim.mechanics.robot import Robot

L, RHO, E, AREA = 0.5, 1000.0, 1e7, 1e-4
STIFF = Material(E, poisson=0.3, density=RHO)
# radius of gyration over length: rotary inertia lowers frequencies by (k r)^2/2, k <= 11/L, to 6e-9 or less
THIN = 1e-5
# at this order the first three modes are exact to 1e-9; segments have errors of fourth order, 3e-8 with so many points
RICH, MANY = 12, 192
UNIT = np.sqrt(E / RHO) * THIN / L  # sqrt(EI/(rho A L^4)) [rad/s]
BETA = np.array([1.875104068711961, 4.694091132974175, 7.854757438237613])  # cos b cosh b = -1
EXACT = 3e-8  # what segments and rotary inertia leave together


def thin(gyration=THIN * L):
    inertia = AREA * gyration**2
    return Properties(AREA, inertia, inertia, 2.0 * inertia)


def omegas(robot, q=None, n=3, **state):
    """The first n circular frequencies above zero [rad/s], of the damped and gyroscopic motion."""
    found = robot.linearize(np.zeros(robot.ndof) if q is None else q, **state)
    values = found.damped.eigenvalues.imag
    return values[values > 0.0][:n]


def each(agrees, quantity, ours, exact, *, source, rtol, bound="192 points"):
    """Compare frequencies one by one [rad/s], each to its own digits."""
    assert len(ours) == len(exact)
    for one, other in zip(ours, exact, strict=True):
        agrees(quantity, one, other, rtol=rtol, unit="rad/s", source=source, bound=bound)


def roots(f, grid, n):
    """The first n zeros of f on a grid."""
    values = [f(x) for x in grid]
    found = [brentq(f, a, b, xtol=1e-14, rtol=1e-13) for a, b, fa, fb in
             zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True) if fa * fb < 0.0]  # fmt: skip
    return np.array(found[:n])


# -- uniform cantilevers: how fast frequencies converge


def test_frequencies_of_a_cantilever_converge_from_above_and_spectrally_with_the_order_of_the_basis():
    exact = BETA[:2] ** 2 * UNIT
    errors = []
    for order in range(1, 9):
        arm = cantilever(Strain(bending_y=order), length=L, section=thin(), material=STIFF, n_gauss=384)
        errors.append(omegas(arm, n=2) / exact - 1.0)
    first, second = np.array(errors).T
    # Rayleigh-Ritz: a basis within a larger one has no higher frequencies
    assert (np.diff(first[:5]) < 0.0).all()
    assert (np.diff(second[:7]) < 0.0).all()
    # the mode is an entire function: digits come faster and faster, two orders gain three digits, then four
    assert first[2] < first[0] / 2e3
    assert first[3] < first[1] / 7e3
    assert second[4] < second[2] / 3e2
    assert second[5] < second[3] / 1e3
    # until rotary inertia is seen, which takes r^2 int w'^2/(2 int w^2) = 2.32e-10 and 1.62e-9
    assert_allclose(first[-1], -2.324e-10, atol=1e-11)
    assert_allclose(second[-1], -1.621e-9, atol=1e-10)


# -- tapered cantilevers: Kirchhoff's wedges (n = 1) and cones (n = 2), complete and truncated

WEDGE, CONE = 1, 2


def kirchhoff(n, tip, count=3):
    """sqrt(rho A0 omega^2 l^4/E I0) of a taper of order n, clamped where it is thick; tip: thickness there.

    l is the length to where the taper would end in a point. The rod is clamped at x = 1 and free at x = tip, and bends
    as (x^(n+2) w'')'' = a^4 x^n w, so that w = x^(-n/2) Z(2 a sqrt(x)), Z any Bessel function of order n.
    """

    def clamped(a, Z, down):  # w and w'
        return [Z(n, 2.0 * a), down * Z(n + 1, 2.0 * a)]

    if tip == 0.0:
        return (
            roots(lambda a: np.linalg.det([clamped(a, jv, -1.0), clamped(a, iv, 1.0)]), np.linspace(1, 9, 200), count)
            ** 2
        )

    def determinant(a):
        z = 2.0 * a * np.sqrt(tip)
        rows = []
        for Z, down, up in ((jv, -1.0, 1.0), (yv, -1.0, 1.0), (iv, 1.0, 1.0), (kv, -1.0, -1.0)):
            row = np.array([*clamped(a, Z, down), Z(n + 2, z), up * Z(n + 1, z)])
            rows.append(row / np.abs(row).max())
        return np.linalg.det(rows)

    return roots(determinant, np.linspace(1.0, 45.0, 1500), count) ** 2


def test_kirchhoffs_equations_have_the_published_roots():
    # Kirchhoff 1882; Conway, Becker & Dubil 1964
    assert_allclose(kirchhoff(WEDGE, 0.0), [5.315, 15.207, 30.02], atol=5e-3)
    assert_allclose(kirchhoff(CONE, 0.0), [8.719, 21.146, 38.45], atol=5e-3)


@pytest.mark.parametrize("tip", [0.0, 0.1, 0.5, 0.8])
@pytest.mark.parametrize("n", [WEDGE, CONE])
def test_tapered_cantilever_has_the_frequencies_of_kirchhoffs_bessel_functions(agrees, n, tip):
    thick = 1e-4 * L
    size = (thick, tip * thick)
    section = Rectangle(0.02, size) if n == WEDGE else Circle(size)
    gyration = thick / (np.sqrt(12.0) if n == WEDGE else 2.0)
    # the slimmer the tip, the nearer Y and K are to their pole: they need more polynomials
    order = 24 if tip == 0.1 else RICH
    arm = cantilever(Strain(bending_y=order), length=L, section=section, material=STIFF, n_gauss=MANY)
    to_the_point = L / (1.0 - tip)
    exact = kirchhoff(n, tip) * np.sqrt(E / RHO) * gyration / to_the_point**2
    what = f"frequencies of {'wedges' if n == WEDGE else 'cones'}, complete and truncated"
    each(agrees, what, omegas(arm), exact, source="Kirchhoff's Bessel functions", rtol=1.5e-7)


# -- a tip mass with rotary inertia


def tip_mass_roots(mass, inertia, count=3):
    """beta L; mass over that of the rod, inertia over rho A L^3."""

    def determinant(b):
        c, s, ch, sh = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        # w = A (cos - cosh) + B (sin - sinh): EI w'' = J omega^2 w', EI w''' = -m omega^2 w at the tip
        w, dw = (c - ch, s - sh), (-s - sh, c - ch)
        ddw, dddw = (-c - ch, -s - sh), (s - sh, -c - ch)
        moment = [x - inertia * b**3 * y for x, y in zip(ddw, dw, strict=True)]
        force = [x + mass * b * y for x, y in zip(dddw, w, strict=True)]
        return (moment[0] * force[1] - moment[1] * force[0]) / ch**2

    return roots(determinant, np.linspace(0.05, 11.0, 800), count)


@pytest.mark.parametrize("mass", [0.1, 1.0, 20.0])
def test_tip_mass_roots_are_those_of_the_textbook_equation(mass):
    b = tip_mass_roots(mass, 0.0)
    assert_allclose(
        1 / np.cosh(b) + np.cos(b) + mass * b * (np.cos(b) * np.tanh(b) - np.sin(b)), 0.0, atol=1e-10 * mass * 10
    )


@pytest.mark.parametrize(("mass", "inertia"), [(0.1, 1e-12), (1.0, 1e-12), (1.0, 0.05), (20.0, 0.3)])
def test_rod_with_a_tip_mass(agrees, mass, inertia):
    rod = cantilever(Strain(bending_y=RICH), length=L, section=thin(), material=STIFF, n_gauss=MANY).links[0]
    J = inertia * RHO * AREA * L**3
    body = RigidBody(mass * RHO * AREA * L, inertia=(J, J, J))
    robot = Robot(Description("loaded", (rod, Link("weight", body, parent="arm")), gravity=NO_GRAVITY))
    exact = tip_mass_roots(mass, inertia) ** 2 * UNIT
    what = "frequencies of a rod with a tip mass and its rotary inertia"
    each(agrees, what, omegas(robot), exact, source="frequency equation", rtol=EXACT)


# -- free rods


def test_free_rod_has_six_rigid_body_modes_and_the_frequencies_of_a_free_beam(agrees):
    rod = cantilever(Strain(bending=RICH), length=L, section=thin(), material=STIFF, n_gauss=MANY).links[0].rod
    robot = Robot(Description("free", (Link("arm", rod, joint=Joint("free")),), gravity=NO_GRAVITY))
    found = robot.linearize(np.zeros(robot.ndof))
    assert list(found.frequencies[:6]) == [0.0] * 6
    assert found.damped.words[:7] == ("rigid body",) * 6 + ("oscillates",)
    beta = roots(lambda b: np.cos(b) - 1.0 / np.cosh(b), np.linspace(1.0, 12.0, 300), 3)
    assert_allclose(beta, [4.7300407449, 7.8532046241, 10.995607838], atol=1e-9)
    # two planes; the third mode is exact to 1e-6 at this order
    exact = np.repeat(beta[:2] ** 2 * UNIT, 2)
    each(agrees, "frequencies of a free rod", omegas(robot, n=4), exact, source="Euler and Bernoulli's beam", rtol=5e-8)


# -- rods that turn

# Wright, Smith, Thresher & Wang, Vibration modes of centrifugally stiffened beams, J. Appl. Mech. 49 (1982): flapwise,
# hub radius 0; speeds and frequencies times sqrt(rho A L^4/EI)
WRIGHT = {
    0: (3.5160, 22.0345, 61.6972), 1: (3.6816, 22.1810, 61.8418), 2: (4.1373, 22.6149, 62.2732),
    3: (4.7973, 23.3203, 62.9850), 6: (7.3604, 26.8091, 66.6840), 12: (13.1702, 37.6031, 79.6145),
}  # fmt: skip


def turning_beam(eta, near):
    """Frequency near one of w'''' - eta^2 ((1 - x^2)/2 w')' = omega^2 w, clamped and free, by power series."""

    def determinant(omega):
        rows = []
        for start in (2, 3):
            a = [mp.mpf(0)] * 140
            a[start] = mp.mpf(1)
            for k in range(len(a) - 4):
                load = eta**2 * ((k + 1) * (k + 2) * a[k + 2] - k * (k + 1) * a[k]) / 2 + omega**2 * a[k]
                a[k + 4] = load / ((k + 4) * (k + 3) * (k + 2) * (k + 1))
            rows.append(
                [sum(k * (k - 1) * x for k, x in enumerate(a)), sum(k * (k - 1) * (k - 2) * x for k, x in enumerate(a))]
            )
        return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]

    with mp.workdps(40):
        return float(mp.findroot(determinant, (near - 1e-3, near + 1e-3), tol=1e-25))


def hub(varying, **options):
    return cantilever(
        varying, length=L, section=thin(), material=STIFF, n_gauss=MANY, joint=Joint("revolute", axis=(0.0, 0.0, 1.0)),
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("eta", WRIGHT)
def test_turning_rod_is_stiffened_out_of_plane_and_softened_in_plane(agrees, eta):
    exact = np.array([turning_beam(eta, near) for near in WRIGHT[eta]])
    assert_allclose(exact, WRIGHT[eta], atol=1e-4)  # the last printed digit
    state = {"qd": {"arm": eta * UNIT}}
    flap = omegas(hub(Strain(bending_y=RICH)), **state) / UNIT
    chord = omegas(hub(Strain(bending_z=RICH)), **state) / UNIT
    published = "Wright, Smith, Thresher & Wang 1982"
    agrees(
        "flapwise frequencies of a turning rod", flap, WRIGHT[eta], atol=1e-4, source=published, bound="digits printed"
    )
    series = {"rtol": 1e-7, "source": "power series of 40 digits", "bound": "192 points"}
    for one, other in zip(flap, exact, strict=True):
        agrees("flapwise frequency of a turning rod", one, other, **series)
    for one, other in zip(chord, np.sqrt(exact**2 - eta**2), strict=True):
        agrees("chordwise frequency of a turning rod", one, other, **series)


def test_turning_shaft_has_its_frequencies_split_by_the_speed(agrees):
    # seen from the round shaft that turns about its axis, a whirl comes by faster or slower by the speed
    speed = 2.0 * UNIT
    robot = cantilever(
        Strain(bending=RICH), length=L, section=thin(), material=STIFF, n_gauss=MANY,
        joint=Joint("revolute", axis=(1.0, 0.0, 0.0)),
    )  # fmt: skip
    found = robot.linearize(np.zeros(robot.ndof), qd={"arm": speed})
    exact = BETA**2 * UNIT
    split = np.sort(np.concatenate([exact - speed, exact + speed]))
    ours = omegas(robot, n=6, qd={"arm": speed})
    each(agrees, "whirls of a turning shaft", ours, split, source="frequencies at rest, split by the speed", rtol=5e-8)
    # nothing is lost: no real part at all
    assert_allclose(found.damped.eigenvalues.real, 0.0, atol=0.0)
    assert found.stable


@pytest.mark.parametrize("speed", [0.0, 3.0, 9.0, 11.0])
def test_mass_on_springs_on_a_turntable(speed):
    # x'' - 2 W y' + (k/m - W^2) x = 0 and alike: eigenvalues +-i (w0 +- W), at rest in no other frame than the world's
    k, m = 50.0, 0.5
    w0 = np.sqrt(k / m)
    light = RigidBody(1e-12, inertia=(1e-12,) * 3)
    links = (
        Link("table", RigidBody(1.0, inertia=(0.1,) * 3), joint=Joint("revolute", axis=(0.0, 0.0, 1.0))),
        Link("x", light, parent="table", joint=Joint("prismatic", axis=(1.0, 0.0, 0.0), stiffness=k)),
        Link("y", RigidBody(m, inertia=(1e-3,) * 3), parent="x",
             joint=Joint("prismatic", axis=(0.0, 1.0, 0.0), stiffness=k)),
    )  # fmt: skip
    robot = Robot(Description("table", links, gravity=NO_GRAVITY))
    found = robot.linearize(np.zeros(3), qd={"table": speed}, free=[1, 2])
    values = found.damped.eigenvalues
    assert_allclose(
        np.sort(values.imag), np.sort([abs(w0 - speed), w0 + speed]), rtol=1e-11
    )  # the slide has mass, 2e-12
    assert_allclose(values.real, 0.0, atol=1e-9)
    if speed > w0:
        # its stiffness is negative: it is held by Coriolis forces alone
        assert np.isnan(found.frequencies).all()
        assert found.stable


# -- rings: closed loops

RADIUS = 0.2


def ring(varying, natural=True):
    """A thin ring in the plane x-z, free: bent from a rod, which was straight or of this curvature."""
    around = 2.0 * np.pi * RADIUS
    reference = ReferenceStrain(0.0, 1.0 / RADIUS if natural else 0.0, 0.0, 1.0, 0.0, 0.0)
    section = thin(1e-5 * around)
    rod = Rod((Division(around, section, STIFF, varying, quadrature=MANY, reference=reference),))
    link = Link("ring", rod, joint=Joint("free"))
    seam = Loop(Joint("fixed"), Anchor("ring", s=1.0), Anchor("ring", s=0.0))
    robot = Robot(Description("ring", (link,), gravity=NO_GRAVITY, loops={"seam": seam}))
    q = np.zeros(robot.ndof)
    if not natural:
        q[robot.coordinate_names.index("ring.bending_y[0]")] = 2.0 * np.pi
    return robot, q, np.sqrt(E / RHO) * 1e-5 * around / RADIUS**2


@pytest.mark.parametrize("natural", [True, False], ids=["stress-free", "bent from a straight rod"])
def test_ring_bends_in_its_plane_with_the_frequencies_of_hoppe(agrees, natural):
    # the moulded curvature only adds to the energy what all closed curves have alike, 2 pi EI/R: no frequency knows it
    robot, q, unit = ring(Strain(bending_y=20), natural)
    found = robot.linearize(q)
    n = np.array([2, 3, 4])
    exact = n * (n**2 - 1) / np.sqrt(n**2 + 1) * unit
    assert found.damped.words[:7] == ("rigid body",) * 6 + ("oscillates",)
    ours = omegas(robot, q, n=6)
    exact = np.repeat(exact, 2)
    each(agrees, "frequencies of a ring in its plane", ours, exact, source="Hoppe 1871", rtol=5e-6, bound="")


def test_ring_bends_out_of_its_plane_with_the_frequencies_of_michell(agrees):
    # bending and torsion together, EI/GJ = 1.3 (Love, article 293)
    robot, q, unit = ring(Strain(torsion=20, bending_z=20))
    # a thin free body whose loop is closed by the null space of six rows: rounding decides the seventh digit
    n = np.array([2, 3])
    exact = n * (n**2 - 1) / np.sqrt(n**2 + 1.0 + STIFF.poisson) * unit
    ours = omegas(robot, q, n=4)
    exact = np.repeat(exact, 2)
    each(agrees, "frequencies of a ring out of its plane", ours, exact, source="Michell 1890", rtol=6e-6, bound="")


# -- strings and chains


def test_rod_under_tension_on_a_hinge(agrees):
    # EI w'''' - P w'' = rho A omega^2 w; hinged at 0, at L no moment and no force across
    pull = 30.0 * E * AREA * (THIN * L) ** 2 / L**2
    p = 30.0

    def determinant(omega):
        half = np.sqrt(0.25 * p**2 + omega**2)
        a, b = np.sqrt(half + 0.5 * p), np.sqrt(half - 0.5 * p)  # w = A sinh(a x) + B sin(b x)
        # w'' and w''' - p w' at 1, over cosh a
        return a**2 * np.tanh(a) * (-(b**3) - p * b) * np.cos(b) + b**2 * np.sin(b) * (a**3 - p * a)

    exact = roots(determinant, np.linspace(1.0, 120.0, 2000), 3)
    load = Wrench("arm", 1.0, force=(pull, 0.0, 0.0))
    robot = cantilever(
        Strain(bending_y=RICH), length=L, section=thin(), material=STIFF, n_gauss=MANY, load=load,
        joint=Joint("revolute", axis=(0.0, 1.0, 0.0)),
    )  # fmt: skip
    what = "frequencies of a hinged rod under tension"
    each(agrees, what, omegas(robot), exact * UNIT, source="frequency equation", rtol=1e-7)


def test_hanging_chain_swings_with_the_zeros_of_bessels_function(agrees):
    # 1e-10 of the weight is bending stiffness: what it adds is below the rest
    g = 9.81
    rod = Properties(AREA, 1e-20, 1e-20, 2e-20)
    robot = cantilever(
        Strain(bending_y=10), length=L, section=rod, material=STIFF, n_gauss=MANY, gravity=(g, 0.0, 0.0),
        joint=Joint("revolute", axis=(0.0, 1.0, 0.0)),
    )  # fmt: skip
    exact = 0.5 * jn_zeros(0, 3) * np.sqrt(g / L)
    each(agrees, "frequencies of a hanging chain", omegas(robot), exact, source="Bernoulli 1732", rtol=1e-7)


# -- mechanisms


def test_parallelogram_swings_as_its_masses_do(agrees):
    # two cranks of length a carry a rod that never turns: I = 2 I_crank + m a^2, stiffness (m + crank) g a
    a, wide, m, crank, inertia, g = 0.3, 0.5, 2.0, 0.7, 0.02, 9.81
    arm = RigidBody(crank, centre=(0.5 * a, 0.0, 0.0), inertia=(inertia,) * 3)
    hinge = Joint("revolute", axis=(0.0, 1.0, 0.0))
    down = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    beside = down.copy()
    beside[0, 3] = wide
    tip = np.eye(4)
    tip[0, 3] = a
    coupler = tip.copy()
    coupler[:3, :3] = down[:3, :3].T
    end = np.eye(4)
    end[0, 3] = wide
    links = (
        Link("left", arm, joint=hinge, at=down),
        Link("rod", RigidBody(m, centre=(0.2, 0.0, 0.05), inertia=(0.01,) * 3), parent="left", joint=hinge, at=coupler),
        Link("right", arm, joint=hinge, at=beside),
    )
    loop = Loop(hinge, Anchor("rod", at=end), Anchor("right", at=tip))
    robot = Robot(Description("parallelogram", links, gravity=(0.0, 0.0, -g), loops={"pin": loop}))
    exact = np.sqrt((m + crank) * g * a / (2.0 * (inertia + crank * a**2 / 4.0) + m * a**2))
    assert max(robot.loop_gaps(np.zeros(3))["pin"]) < 1e-12
    agrees("frequency of a parallelogram linkage", omegas(robot, n=1)[0], exact, rtol=1e-12, unit="rad/s",
           source="its energy")  # fmt: skip
