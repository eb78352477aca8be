"""Tendons, chambers, moments and servos against closed forms, integrals and boundary-value problems."""

import numpy as np
import pytest
from helpers.differences import Worst, jacobian
from numpy.polynomial import legendre
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, fsolve
from scipy.special import fresnel
from validation.motions import Y, Z, pose, run_of, turn
from validation.planar_rod import PlanarRod

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.simulate import simulate
from sorosim.base.signals.expressions import parse
from sorosim.mechanics.actuation.chamber import Chamber
from sorosim.mechanics.actuation.distributed_moment import DistributedMoment, Eigenstrain
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.servo import Servo, VelocityServo
from sorosim.mechanics.actuation.tendon import SLACK_PART, Tendon
from sorosim.mechanics.loads.line_load import LineLoad
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import ReferenceStrain, Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

L, D, G = 0.5, 0.008, 9.81  # length of the arm, offset of tendons from its axis
NO_GRAVITY = (0.0, 0.0, 0.0)
PLACES = np.linspace(0.0, 1.0, 6)
WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("actuation"))


def place(text):
    return parse(text, ("X", "s", "L"))


def arm(varying, *, n_gauss=None, gravity=NO_GRAVITY, reference=None, damping=0.0, loads=None, **actuators):
    """A rod 2 cm thick along x, with actuators by name."""
    material = Material(1e6, poisson=0.5, density=1000.0, damping=damping)
    rest = reference or ReferenceStrain()
    rod = Rod((Division(L, Circle(0.01), material, varying, quadrature=n_gauss, reference=rest),))
    return Robot(Description("arm", (Link("arm", rod),), gravity=gravity, actuators=actuators, loads=loads or {}))


def stiffness(robot):
    """G J, E Iy, E Iz, E A, k G A, k G A."""
    return robot.links[0].rod.divisions[0].line_stiffness(np.zeros(1))[0]


STRAIGHT = RouteSegment("arm", y=D, z=0.0)
HELIX = RouteSegment("arm", y=place("0.008*cos(2*pi*s)"), z=place("0.008*sin(2*pi*s)"))
SPIRAL = RouteSegment("arm", y=place("0.008*(1 - 0.4*s)*cos(4*s)"), z=place("0.008*(1 - 0.4*s)*sin(4*s)"))
WINDING = 2.0 * np.pi / L


# -- tendons of given length


def two_rods(**actuators):
    """A thick rod and a thin one fixed to its tip, under their weight."""
    material, varying = Material(1e6, poisson=0.5, density=1000.0), Strain(torsion=1, bending=3, elongation=1)
    sizes = ((0.3, 0.012), (0.25, 0.008))
    rods = [Rod((Division(length, Circle(r), material, varying),)) for length, r in sizes]
    links = (Link("arm", rods[0]), Link("hand", rods[1], parent="arm", at=pose(turn(Z, 0.2), (0.01, 0.0, 0.0))))
    return Robot(Description("two rods", links, gravity=(0.0, 0.0, -2.0), actuators=actuators))


@pytest.mark.parametrize("stiff", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("wound", [0.002, 0.03])
def test_a_wound_tendon_holds_the_arm_as_the_tension_it_has(stiff, wound):
    runs = (
        RouteSegment("arm", y=place("0.006*cos(3*s)"), z=0.008),
        RouteSegment("hand", y=0.004, z=place("0.006 - 0.002*s")),
    )
    by_length, by_tension = two_rods(pull=Tendon(runs, stiffness=stiff)), two_rods(pull=Tendon(runs))
    found = statics(by_length, {"pull": wound})
    rest = by_length.tendon_lengths(np.zeros(by_length.ndof))["pull"]
    stretch = by_length.tendon_lengths(found.q)["pull"] - (rest - wound)
    onset = SLACK_PART * rest
    T = stiff * (stretch - 0.5 * onset) if stretch > onset else 0.5 * stiff * stretch**2 / onset
    assert T > 0.0
    # both to the accuracy of Newton's steps; a length to 1e-16 has a tension to 1e-16 times the stiffness
    gap = np.abs(statics(by_tension, {"pull": T}, q0=found.q).q - found.q).max()
    assert WORST.note("wound tendon, given tension", gap) < 1e-9


def test_a_straight_wound_tendon_in_closed_form():
    # EI k = T d, EA (e - 1) = -T: the length falls by L T (1/EA + d^2/EI), constant strains
    k = stiffness(arm(Strain(bending_z=0)))
    give = L * (1.0 / k[3] + D**2 / k[2])
    onset = SLACK_PART * L

    def tension(stretch, stiff):
        """It takes up slack with the square first."""
        return stiff * (stretch - 0.5 * onset if stretch > onset else 0.5 * stretch**2 / onset)

    for stiff in (10.0, 1e3, 1e5, 1e7):
        robot = arm(Strain(bending_z=2, elongation=1), pull=Tendon((STRAIGHT,), stiffness=stiff))
        for wound in (0.3 * onset, 3.0 * onset, 0.01, 0.03):
            q = statics(robot, {"pull": wound}).q
            T = brentq(lambda T: tension(wound - T * give, stiff) - T, 0.0, wound / give, xtol=1e-16)  # noqa: B023
            g = robot.pose(q, "arm")
            # the stiffness times rounding of the length
            assert np.arctan2(g[1, 0], g[0, 0]) == pytest.approx(T * D * L / k[2], abs=1e-10)
            assert robot.tendon_lengths(q)["pull"] == pytest.approx(L - T * give, abs=1e-11)


def test_a_stiff_tendon_comes_to_the_inextensible_one():
    wound, varying = 0.02, Strain(torsion=2, bending=4, elongation=1)
    options = {"loads": {"tip": Wrench("arm", force=(0, 0.05, -0.1))}}
    by_tension = arm(varying, pull=Tendon((SPIRAL,)), **options)
    rest = by_tension.tendon_lengths(np.zeros(by_tension.ndof))["pull"]
    onset = SLACK_PART * rest

    def constrained(length):
        """Tension of an inextensible tendon, and place of the tip."""

        def excess(T):
            return by_tension.tendon_lengths(statics(by_tension, {"pull": T}).q)["pull"] - length

        T = brentq(excess, 0.0, 10.0, xtol=1e-11)
        return T, statics(by_tension, {"pull": T})

    def stiff_tip(stiff):
        robot = arm(varying, pull=Tendon((SPIRAL,), stiffness=stiff), **options)
        found = statics(robot, {"pull": wound}, q0=limit.q)
        return found.tip(), robot.tendon_lengths(found.q)["pull"] - (rest - wound)

    # stretched beyond its slack: to that of a length that is longer by half of it, like one over the stiffness
    T, limit = constrained(rest - wound + 0.5 * onset)
    errors = [np.abs(stiff_tip(stiff)[0] - limit.tip()).max() for stiff in (2e3, 2e4, 2e5)]
    assert 0.5 * 2.5e5 * onset > T  # taut, all of them
    # T = T_0 / (1 + give / stiffness): of the first one the give, 250 N/m, is 1/8
    assert_allclose(np.divide(errors[:-1], errors[1:]), 10.0, rtol=0.12)
    # stiffer still: to the given length itself, with the square root, as slack is taken up with the square
    T, limit = constrained(rest - wound)
    stiffnesses = np.array([1e6, 1e7, 1e8])
    found = [stiff_tip(stiff) for stiff in stiffnesses]
    stretch = np.array([s for _, s in found])
    # of the tension a stretch of 1e-6 m takes 2e-4
    assert_allclose(stretch, np.sqrt(2.0 * T * onset / stiffnesses), rtol=1e-3)
    errors = [np.abs(place - limit.tip()).max() for place, _ in found]
    assert_allclose(np.divide(errors[:-1], errors[1:]), np.sqrt(10.0), rtol=0.01)
    assert errors[-1] < 1e-4


def test_a_slack_tendon_carries_nothing():
    tendons = {"wound": Tendon((HELIX,), stiffness=1e4), "pulled": Tendon((STRAIGHT,))}
    loose = arm(Strain(bending=2, torsion=1, elongation=1), **tendons, rod=Tendon((STRAIGHT,), pushes=True))
    zero = np.zeros(loose.ndof)
    for u in (0.0, -0.001, -0.1):
        assert_allclose(loose.internal_force(zero, zero, u={"wound": u, "pulled": u}), 0.0, rtol=0, atol=0)
        assert_allclose(statics(loose, {"wound": u, "pulled": u}).q, 0.0, rtol=0, atol=1e-15)
    # under a load that shortens its way as well: the arm as without tendons
    load = {"tip": Wrench("arm", force=(0, 0.1, 0))}
    varying = Strain(bending_z=4)
    loaded = arm(varying, wound=Tendon((STRAIGHT,), stiffness=1e4), loads=load)
    assert_allclose(statics(loaded, {"wound": -1e-3}).q, statics(arm(varying, loads=load)).q, rtol=0, atol=1e-12)
    # a load that stretches it finds it taut: it bends less
    away = {"tip": Wrench("arm", force=(0, -0.1, 0))}
    held = statics(arm(varying, wound=Tendon((STRAIGHT,), stiffness=1e4), loads=away), {"wound": -1e-4})
    assert abs(held.tip()[1]) < 0.5 * abs(statics(arm(varying, loads=away)).tip()[1])
    # a push rod pushes
    tip = statics(loose, {"rod": -2.0}).tip()
    assert tip[1] < -0.01
    # derivatives know that nothing depends on it
    out = loose.internal_force_derivatives(zero, zero, u={"wound": -0.01, "pulled": -1.0, "rod": 0.0})
    assert_allclose(out.B[:, :2], 0.0, rtol=0, atol=0)
    assert np.abs(out.B[:, 2]).max() > 0.0


@pytest.mark.slow
def test_a_tendon_that_becomes_taut_in_a_run():
    robot = arm(Strain(bending_z=1), damping=1e4, pull=Tendon((STRAIGHT,), stiffness=2e3))
    # taut after a quarter of a second
    signal = {"pull": "0.01*(t - 0.25)"}
    runs = {
        "bdf": simulate(robot, 1.0, dt_out=0.01, u=signal, method="bdf", rtol=1e-7, atol=1e-9),
        "generalized-alpha": simulate(
            robot, 1.0, dt_out=0.01, u=signal, method="generalized-alpha", rtol=1e-6, atol=1e-9
        ),
        "lsoda": simulate(robot, 1.0, dt_out=0.01, u=signal, method="lsoda", rtol=1e-9, atol=1e-11, max_step=0.01),
    }
    tips = {name: run.tip() for name, run in runs.items()}
    for run in runs.values():
        still = run.t <= 0.25
        assert_allclose(run.q[still], 0.0, rtol=0, atol=1e-12)
    assert tips["lsoda"][-1, 1] > 0.01
    for name in ("bdf", "generalized-alpha"):
        # the slack's onset is a kink of the second derivative
        gap = np.abs(tips[name] - tips["lsoda"]).max() / L
        assert WORST.note(f"becoming taut, {name}", gap) < 1e-4
    energy = simulate(robot, 1.0, dt_out=0.001, u=signal, method="lsoda", rtol=1e-9, atol=1e-11).energy()
    # Simpson's rule over 1 ms
    assert WORST.note("becoming taut, energy", np.abs(energy.balance).max() / energy.total.max()) < 1e-5


# -- friction

FADING = 1e-3 / L  # rate of turning below which friction fades, docs of Tendon


def spread(robot, q, u):
    """Tension along an arm that only stretches, a polynomial of s, from the generalised forces on its elongation."""
    zero = np.zeros(robot.ndof)
    force = robot.internal_force(q, zero, u={"pull": u}) - robot.internal_force(q, zero)
    n = np.arange(robot.ndof)
    return lambda s: legendre.legval(2.0 * s - 1.0, -(2.0 * n + 1.0) / L * force)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("turns", [0.25, 1.0])
def test_friction_along_an_arc_is_the_capstans(turns, mu):
    curvature = 2.0 * np.pi * turns / L
    arc = ReferenceStrain(0.0, 0.0, curvature, 1.0, 0.0, 0.0)
    robot = arm(
        Strain(elongation=14), n_gauss=20, reference=arc, pull=Tendon((RouteSegment("arm", y=0, z=0),), friction=mu)
    )
    u = 7.0
    T = spread(robot, np.zeros(robot.ndof), u)
    s = np.linspace(0.0, 1.0, 11)
    angle = curvature * s * L
    # Euler and Eytelwein, but for the milliradian over which friction fades
    assert_allclose(T(s) / u, np.exp(-mu * angle), rtol=2e-3 * mu)
    softened = (np.hypot(curvature, FADING) - FADING) * s * L
    # what polynomials of order 14 leave of exp(-mu angle)
    assert WORST.note("capstan", np.abs(T(s) / u - np.exp(-mu * softened)).max()) < 1e-9


def test_friction_goes_on_from_rod_to_rod_but_not_in_kinks():
    mu, u = 0.4, 2.0
    curvatures, lengths = (3.0, 7.0), (0.3, 0.2)
    material, rods = Material(1e6, poisson=0.5, density=1000.0), []
    for curvature, length in zip(curvatures, lengths, strict=True):
        arc = ReferenceStrain(0.0, 0.0, curvature, 1.0, 0.0, 0.0)
        rods.append(Rod((Division(length, Circle(0.01), material, Strain(elongation=10), reference=arc),)))
    links = Link("arm", rods[0]), Link("hand", rods[1], parent="arm", at=pose(turn(Y, 0.9)))
    tendon = Tendon((RouteSegment("arm", y=0, z=0), RouteSegment("hand", y=0, z=0)), friction=mu)
    robot = Robot(Description("arcs", links, gravity=NO_GRAVITY, actuators={"pull": tendon}))
    zero = np.zeros(robot.ndof)
    force = robot.internal_force(zero, zero, u={"pull": u}).reshape(2, 11)
    n, fading = np.arange(11), 1e-3 / sum(lengths)
    rates = [np.hypot(curvature, fading) - fading for curvature in curvatures]
    for k, before in enumerate((0.0, rates[0] * lengths[0])):
        s = np.linspace(0.0, 1.0, 5)
        T = legendre.legval(2.0 * s - 1.0, -(2.0 * n + 1.0) / lengths[k] * force[k])
        exact = u * np.exp(-mu * (before + rates[k] * s * lengths[k]))
        assert WORST.note("capstan, two rods", np.abs(T / exact - 1.0).max()) < 1e-9


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_friction_along_a_helix_follows_its_curvature(mu):
    tendon = Tendon((HELIX,), friction=mu)
    robot = arm(Strain(elongation=14, torsion=0), n_gauss=30, pull=tendon)
    zero, u = np.zeros(robot.ndof), 3.0
    force = robot.internal_force(zero, zero, u={"pull": u})[1:]
    # v = (1, r w ..): |v x v'| / |v|^2 = r w^2 / sqrt(1 + r^2 w^2) on the straight arm, and |v| times the part along it
    across = D * WINDING
    turning = D * WINDING**2 / np.hypot(1.0, across)
    n = np.arange(len(force))
    s = np.linspace(0.0, 1.0, 11)
    T = legendre.legval(2.0 * s - 1.0, -(2.0 * n + 1.0) / L * force) * np.hypot(1.0, across)
    softened = np.hypot(turning, FADING) - FADING
    assert WORST.note("capstan, helix", np.abs(T / u - np.exp(-mu * softened * s * L)).max()) < 1e-9


def test_friction_on_an_equilibrium_is_the_integral_of_the_turning_of_its_route():
    mu, u = 0.6, 4.0
    loads = {"tip": Wrench("arm", moment=(0.002, 0, 0), force=(0, 0.05, 0.1))}
    robot = arm(
        Strain(torsion=1, bending=2, elongation=1), n_gauss=24, pull=Tendon((SPIRAL,), friction=mu), loads=loads
    )
    q = statics(robot, {"pull": u}).q
    x, w = legendre.leggauss(40)
    s, w = (1.0 + x) / 2.0, w * L / 2.0
    inverse = np.linalg.inv(legendre.legvander(x, 39))
    slopes = np.stack([legendre.legval(x, legendre.legder(c)) for c in np.eye(40)], axis=1) @ inverse * 2.0 / L
    sums = np.stack([legendre.legval(x, legendre.legint(c, lbnd=-1)) for c in np.eye(40)], axis=1) @ inverse * L / 2.0
    size = D * (1.0 - 0.4 * s)
    route = np.stack([0.0 * s, size * np.cos(4.0 * s), size * np.sin(4.0 * s)], axis=-1)

    def speed(q):
        """Length of the route per length of the arm, from places in space alone."""
        g = robot.poses(q, "arm", s=s)
        r = np.einsum("kij,kj->ki", g[:, :3, :3], route) + g[:, :3, 3]
        return slopes @ r

    v = speed(q)
    tangent = v / np.linalg.norm(v, axis=1)[:, None]
    turning = np.linalg.norm(slopes @ tangent, axis=1)
    T = u * np.exp(-mu * (sums @ (np.hypot(turning, FADING) - FADING)))
    assert T.min() < 0.7 * u
    lengths = jacobian(lambda q: np.linalg.norm(speed(q), axis=1), q, 1e-4, 4)
    exact = -(w * T) @ lengths
    zero = np.zeros(robot.ndof)
    found = robot.internal_force(q, zero, u={"pull": u}) - robot.internal_force(q, zero)
    # poses of 24 points: fourth order
    assert WORST.note("friction on an equilibrium", np.abs(found - exact).max() / np.abs(exact).max()) < 1e-5


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0])
def test_an_arm_bent_by_a_rubbing_tendon_alone_in_closed_form(mu):
    # EI kappa = T d, T' = -mu kappa T: kappa = kappa_0 / (1 + mu kappa_0 X), angle ln(1 + mu kappa_0 X) / mu
    robot = arm(Strain(bending_z=10), n_gauss=30, pull=Tendon((STRAIGHT,), friction=mu))
    EI = stiffness(robot)[2]
    T = 3.0 * EI / (D * L)
    g = robot.poses(statics(robot, {"pull": T}).q, "arm", s=PLACES)
    angle = np.unwrap(np.arctan2(g[:, 1, 0], g[:, 0, 0]))
    # friction fades over a milliradian: that much of mu times the angle at most
    assert_allclose(angle, np.log1p(3.0 * mu * PLACES) / mu, rtol=0, atol=3e-3 * mu)
    # with the fading, to what order 10 leaves
    rod = PlanarRod(L, EI, tendon=(T, D, mu), fading=FADING)
    exact = rod.equilibrium(PLACES * L)
    assert WORST.note("rubbing tendon alone", np.abs(angle - exact[:, 2]).max()) < 1e-6


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_an_arm_under_loads_and_a_rubbing_tendon_against_a_boundary_value_problem(mu):
    EI = stiffness(arm(Strain(bending_z=0)))[2]
    T, p, F = 2.5 * EI / (D * L), -2.0 * EI / L**3, 1.0 * EI / L**2
    loads = {"line": LineLoad("arm", force=(0, p, 0)), "tip": Wrench("arm", force=(F, 0, 0))}
    robot = arm(Strain(bending_z=12), n_gauss=90, loads=loads, pull=Tendon((STRAIGHT,), friction=mu))
    loaded = {"line": lambda s, a: (0.0, p, 0.0), "tip": lambda x, y, a: (F, 0.0, 0.0)}
    exact = PlanarRod(L, EI, **loaded, tendon=(T, D, mu), fading=FADING).equilibrium(PLACES * L)
    found = robot.poses(statics(robot, {"pull": T}).q, "arm", s=PLACES)[:, :2, 3]
    assert exact[-1, 6] > 0.8
    assert WORST.note(f"rubbing tendon and loads, mu = {mu}", np.abs(found - exact[:, :2]).max() / L) < 1e-8


# -- chambers


def test_a_chamber_beside_the_axis_bends_and_stretches_to_a_circle():
    area, p = 2e-5, 3e4
    for run, axis in ((RouteSegment("arm", y=0.0, z=D), 1), (RouteSegment("arm", y=D, z=0.0), 2)):
        robot = arm(Strain(torsion=1, bending=2, elongation=1, shear=0), air=Chamber((run,), area=area))
        k = stiffness(robot)
        for pressure in (p, -0.5 * p):
            q = statics(robot, {"air": pressure}).q
            xi = np.array([0, 0, 0, 1 + pressure * area / k[3], 0, 0])
            # a push beyond the side z bends about +y, beyond y about -z
            xi[axis] = (1 if axis == 1 else -1) * pressure * area * D / k[axis]
            angle = xi[axis] * L
            g = robot.pose(q, "arm")
            along, across = xi[3] * L * np.sin(angle) / angle, xi[3] * L * (1 - np.cos(angle)) / angle
            exact = [along, 0.0, -across] if axis == 1 else [along, across, 0.0]
            assert_allclose(g[:3, 3], exact, rtol=0, atol=1e-12)
    # several chambers around the axis stretch it only
    around = [RouteSegment("arm", y=D * np.cos(a), z=D * np.sin(a)) for a in 2.0 * np.pi * np.arange(3) / 3]
    runs = {f"air{i}": Chamber((run,), area=area) for i, run in enumerate(around)}
    robot = arm(Strain(torsion=1, bending=2, elongation=1), **runs)
    tip = statics(robot, dict.fromkeys(runs, p)).tip()
    assert_allclose(tip, [L * (1 + 3 * p * area / k[3]), 0, 0], rtol=0, atol=1e-12)


def test_a_helical_chamber_twists():
    area, p = 1e-5, 4e4
    robot = arm(Strain(torsion=0, elongation=0), n_gauss=8, air=Chamber((HELIX,), area=area))
    k = stiffness(robot)

    def balance(x):
        # volume area L sqrt(e^2 + r^2 (w + twist)^2)
        stretch, twist = x
        long = np.hypot(stretch, D * (WINDING + twist))
        return [
            k[3] * (stretch - 1) - p * area * stretch / long,
            k[0] * twist - p * area * D**2 * (WINDING + twist) / long,
        ]

    stretch, twist = fsolve(balance, [1.0, 0.0], xtol=1e-14)
    g = robot.pose(statics(robot, {"air": p}).q, "arm")
    assert twist * L > 0.01  # it unwinds its own way: pressure lengthens it
    assert np.arctan2(g[2, 1], g[1, 1]) == pytest.approx(twist * L, abs=1e-12)
    assert g[0, 3] == pytest.approx(stretch * L, abs=1e-12)


@pytest.mark.parametrize("run", [STRAIGHT, SPIRAL], ids=["straight", "spiral"])
def test_pressure_works_on_the_change_of_volume(run, rng):
    # area 1e-5 (1 + s) m^2: volume from places in space alone
    air = Chamber((run,), area=place("1e-5*(1 + s)"))
    robot = arm(Strain(torsion=1, bending=2, elongation=1, shear=0), n_gauss=24, air=air)
    x, w = legendre.leggauss(40)
    s, w = (1.0 + x) / 2.0, w * L / 2.0
    inverse = np.linalg.inv(legendre.legvander(x, 39))
    slopes = np.stack([legendre.legval(x, legendre.legder(c)) for c in np.eye(40)], axis=1) @ inverse * 2.0 / L
    route = np.stack([0.0 * s, D + 0.0 * s, 0.0 * s], axis=-1)
    if run is SPIRAL:
        size = D * (1.0 - 0.4 * s)
        route = np.stack([0.0 * s, size * np.cos(4.0 * s), size * np.sin(4.0 * s)], axis=-1)

    def volume(q):
        g = robot.poses(q, "arm", s=s)
        r = np.einsum("kij,kj->ki", g[:, :3, :3], route) + g[:, :3, 3]
        return np.array([(w * 1e-5 * (1.0 + s)) @ np.linalg.norm(slopes @ r, axis=1)])

    zero, p = np.zeros(robot.ndof), 2e4
    for _ in range(3):
        q = 0.2 * rng.normal(size=robot.ndof)
        found = robot.internal_force(q, zero, u={"air": p}) - robot.internal_force(q, zero)
        exact = p * jacobian(volume, q, 1e-4, 4)[0]
        # poses of 24 points: fourth order
        assert WORST.note("p dV", np.abs(found - exact).max() / np.abs(exact).max()) < 1e-5


def test_work_of_pressure_in_a_run_is_p_dV():
    area, p = 2e-5, 2e4
    robot = arm(Strain(bending_z=1, elongation=0), damping=1e4, air=Chamber((STRAIGHT,), area=area))
    run = simulate(robot, 0.5, dt_out=0.001, u={"air": p}, method="lsoda", rtol=1e-9, atol=1e-12)
    # beside the axis, area L (e - angle d / L)
    g = np.stack([robot.pose(q, "arm") for q in run.q])
    stretch = run.q[:, robot.coordinate_names.index("arm.elongation[0]")]
    volume = area * (L * (1.0 + stretch) - D * np.unwrap(np.arctan2(g[:, 1, 0], g[:, 0, 0])))
    energy = run.energy()
    # Simpson's rule over 1 ms
    assert_allclose(energy.work, p * (volume - volume[0]), rtol=0, atol=3e-5 * energy.work.max())
    assert np.abs(energy.balance).max() < 3e-4 * energy.work.max()


# -- moments


def test_a_moment_in_every_section_bends_by_M_over_EI():
    for name, i in (("torsion", 0), ("bending_y", 1), ("bending_z", 2)):
        robot = arm(Strain(torsion=2, bending=2, elongation=1), muscle=DistributedMoment("arm", **{name: 0.004}))
        q = statics(robot, {"muscle": 1.5}).q
        angle = np.zeros(3)
        angle[i] = 1.5 * 0.004 * L / stiffness(robot)[i]
        c, z = np.cos(np.linalg.norm(angle)), np.sin(np.linalg.norm(angle))
        g = robot.pose(q, "arm")
        assert np.trace(g[:3, :3]) == pytest.approx(1.0 + 2.0 * c, abs=1e-12)
        n = angle / np.linalg.norm(angle)
        assert_allclose(
            np.array([g[2, 1] - g[1, 2], g[0, 2] - g[2, 0], g[1, 0] - g[0, 1]]) / 2, n * z, rtol=0, atol=1e-12
        )


def test_an_eigenstrain_is_the_strain_at_rest():
    """Any that the basis has is taken on exactly, in a tapered rod too."""
    section = Circle((0.012, 0.006))
    material = Material(1e6, poisson=0.5, density=1000.0)
    growth = Eigenstrain("arm", torsion=1.5, bending_y=3.0, bending_z=place("4*(1-s)"), elongation=0.1)
    rod = Rod(Division(L, section, material, Strain(torsion=0, bending=1, elongation=0)))
    robot = Robot(Description("grown", (Link("arm", rod),), gravity=NO_GRAVITY, actuators={"growth": growth}))
    q = statics(robot, {"growth": 2.0}).q
    for s in (0.0, 0.3, 1.0):
        expected = [3.0, 6.0, 8.0 * (1.0 - s), 1.2, 0.0, 0.0]
        assert_allclose(robot.strain(q, "arm", s=s), expected, rtol=0, atol=1e-9)


def test_a_linear_moment_makes_a_clothoid_and_half_a_moment_half_a_circle():
    EI = stiffness(arm(Strain(bending_z=0)))[2]
    M = 4.0 * EI / L
    robot = arm(Strain(bending_z=1), n_gauss=128, muscle=DistributedMoment("arm", bending_z=place(f"{M}*s")))
    tip = statics(robot, {"muscle": 1.0}).tip()
    a = np.sqrt(np.pi * EI * L / M)
    sine, cosine = fresnel(L / a)
    # 128 points: fourth order
    assert_allclose(tip, [a * cosine, a * sine, 0.0], rtol=0, atol=1e-9)
    # the second half only
    material = Material(1e6, poisson=0.5, density=1000.0)
    rod = Rod(tuple(Division(0.5 * L, Circle(0.01), material, Strain(bending_z=2)) for _ in range(2)))
    muscle = DistributedMoment("arm", bending_z=place("s*X/X/s"), start=0.5)
    halves = Robot(Description("halves", (Link("arm", rod),), gravity=NO_GRAVITY, actuators={"muscle": muscle}))
    q = statics(halves, {"muscle": np.pi * EI / (0.5 * L)}).q
    g = halves.poses(q, "arm", s=[0.5, 1.0])
    assert_allclose(g[0, :3, 3], [0.5 * L, 0, 0], rtol=0, atol=1e-14)
    assert_allclose(g[1, :3, 3], [0.5 * L, L / np.pi, 0], rtol=0, atol=1e-12)


# -- motors


MASS, REACH, INERTIA = 2.0, 0.3, 0.05
WHOLE = INERTIA + MASS * REACH**2


def motor(actuator, gravity=NO_GRAVITY, **joint):
    body = RigidBody(MASS, centre=(REACH, 0.0, 0.0), inertia=(INERTIA,) * 3)
    link = Link("bob", body, joint=Joint("revolute", axis=Y, **joint))
    return Robot(Description("motor", (link,), gravity=gravity, actuators={"motor": actuator}))


@pytest.mark.parametrize(("damping", "own"), [(0.0, 0.0), (0.4, 0.2), (3.0, 0.0), (0.0, 8.0)])
def test_a_servo_answers_a_step_as_a_second_order_system(damping, own):
    k, u = 9.0, 0.8
    robot = motor(Servo("bob", stiffness=k, damping=damping), damping=own)
    run = run_of(robot, 4.0, 0.05, ([-0.3], [0.5]), u={"motor": u})
    roots = np.roots([WHOLE, damping + own, k]).astype(complex)
    A = np.linalg.solve(np.array([[1, 1], roots]), [-0.3 - u, 0.5])
    exact = u + (A[0] * np.exp(roots[0] * run.t) + A[1] * np.exp(roots[1] * run.t)).real
    # the integrator's 1e-11 a step
    assert WORST.note("servo", np.abs(run.q[:, 0] - exact).max()) < 1e-8
    linear = robot.linearize([u], {"motor": u})
    assert_allclose(np.sort_complex(linear.eigenvalues), np.sort_complex(roots), rtol=1e-10)


def test_a_servo_droops_under_weight_and_saturates():
    k, u, weight = 20.0, 0.4, MASS * G * REACH

    def droop(q, limit=np.inf):
        # weight turns towards positive angles
        e = k * (u - q)
        return (limit * np.tanh(e / limit) if limit < np.inf else e) + weight * np.cos(q)

    gravity = (0.0, 0.0, -G)
    robot = motor(Servo("bob", stiffness=k), gravity)
    assert statics(robot, {"motor": u}).q[0] == pytest.approx(brentq(droop, -1.0, 2.0, xtol=1e-15), abs=1e-12)
    for limit in (0.9 * weight, 0.3 * weight, 3.0 * weight):
        robot = motor(Servo("bob", stiffness=k, limit=limit), gravity)
        found = statics(robot, {"motor": u}, q0=[1.0]).q[0]
        assert found == pytest.approx(brentq(droop, -0.5, 2.0, args=(limit,), xtol=1e-15), abs=1e-11)
        # far away its effort is the limit, either way
        for far in (-100.0, 100.0):
            effort = robot.internal_force([0.0], [0.0], u={"motor": far})[0]
            assert effort == pytest.approx(np.sign(far) * limit, rel=1e-12)


def test_a_saturated_servo_moves_as_its_equation_says():
    k, c, limit, u = 50.0, 2.0, 3.0, 1.5
    robot = motor(Servo("bob", stiffness=k, damping=c, limit=limit), (0.0, 0.0, -G))

    def rates(_, x):
        effort = limit * np.tanh((k * (u - x[0]) - c * x[1]) / limit)
        return [x[1], (effort + MASS * G * REACH * np.cos(x[0])) / WHOLE]

    run = run_of(robot, 3.0, 0.1, ([-1.0], None), u={"motor": u})
    exact = solve_ivp(rates, (0.0, 3.0), [-1.0, 0.0], "DOP853", t_eval=run.t, rtol=1e-12, atol=1e-13).y[0]
    assert WORST.note("saturated servo", np.abs(run.q[:, 0] - exact).max()) < 1e-7


def test_a_servo_that_follows_a_sine_lags_as_its_transfer_function_says():
    k, c, w = 9.0, 2.0, 3.0
    robot = motor(Servo("bob", stiffness=k, damping=c))
    answer = k / (k - WHOLE * w * w + 1j * c * w)
    start = ([(0.2 * answer).imag], [(0.2 * 1j * w * answer).imag])
    run = run_of(robot, 3.0, 0.05, start, u={"motor": "0.2*sin(3*t)"})
    assert_allclose(run.q[:, 0], (0.2 * answer * np.exp(1j * w * run.t)).imag, rtol=0, atol=1e-9)


def test_a_velocity_servo_comes_to_its_rate_as_a_first_order_system():
    g, u = 3.0, -1.5
    robot = motor(VelocityServo("bob", gain=g))
    assert robot.actuator_units == ("rad/s",)
    run = run_of(robot, 2.0, 0.05, ([-0.3], [0.5]), u={"motor": "-1.5 rad/s"})
    rate = g / WHOLE
    exact = u * run.t + (0.5 - u) / rate * (1.0 - np.exp(-rate * run.t)) - 0.3
    assert WORST.note("velocity servo", np.abs(run.q[:, 0] - exact).max()) < 1e-8


def test_a_saturated_velocity_servo_moves_as_its_equation_says():
    g, limit, u = 5.0, 0.7 * MASS * G * REACH, 6.0
    robot = motor(VelocityServo("bob", gain=g, limit=limit), (0.0, 0.0, -G))

    def rates(_, x):
        effort = limit * np.tanh(g * (u - x[1]) / limit)
        return [x[1], (effort + MASS * G * REACH * np.cos(x[0])) / WHOLE]

    run = run_of(robot, 2.0, 0.1, ([-1.0], None), u={"motor": u})
    exact = solve_ivp(rates, (0.0, 2.0), [-1.0, 0.0], "DOP853", t_eval=run.t, rtol=1e-12, atol=1e-13).y[0]
    assert WORST.note("saturated velocity servo", np.abs(run.q[:, 0] - exact).max()) < 1e-7


def test_motors_in_joints_accelerate_as_torque_over_inertia():
    run = run_of(motor(JointForce("bob")), 2.0, 0.1, u={"motor": 0.5})
    assert_allclose(run.q[:, 0], 0.25 / WHOLE * run.t**2, rtol=0, atol=1e-10)
    run = run_of(motor(JointForce("bob")), 2.0, 0.1, u={"motor": "0.5*sin(3*t)"})
    assert_allclose(run.q[:, 0], 0.5 / WHOLE / 9.0 * (3.0 * run.t - np.sin(3.0 * run.t)), rtol=0, atol=1e-9)
    # its work is torque times angle
    run = run_of(motor(JointForce("bob")), 2.0, 0.1, u={"motor": 0.5})
    assert_allclose(run.energy().kinetic, 0.5 * run.q[:, 0], rtol=0, atol=1e-9)
    assert_allclose(run.energy().work, 0.5 * run.q[:, 0], rtol=0, atol=1e-9)
    # a force on a slide, against gravity
    body = RigidBody(MASS, inertia=(INERTIA,) * 3)
    slide = Link("bob", body, joint=Joint("prismatic", axis=Z))
    lift = Robot(Description("lift", (slide,), actuators={"motor": JointForce("bob")}))
    run = run_of(lift, 1.0, 0.1, u={"motor": 25.0})
    assert_allclose(run.q[:, 0], 0.5 * (25.0 / MASS - G) * run.t**2, rtol=0, atol=1e-10)
