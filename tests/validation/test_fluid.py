"""Bodies and rods in a fluid against closed forms: falling, swinging, floating, drag, added mass, currents."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.differences import Worst, jacobian, relative_error
from helpers.meshes import angle_mesh, box_mesh
from numpy.testing import assert_allclose
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipk
from validation.motions import (
    ASKEW,
    X,
    Y,
    Z,
    angle_between,
    drift,
    momenta,
    over_period,
    pose,
    poses_of,
    rates_for,
    run_of,
    turn,
    twists_of,
)
from validation.planar_rod import PlanarRod

from sorosim.analysis.equilibria.statics import statics
from sorosim.base.errors import ModelError
from sorosim.mechanics.dynamics.energies import load_power
from sorosim.mechanics.kernels.fluid import CROSS_FLOW, SPEED, STOKES, drag_speeds
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.immersion import Immersed, ellipsoid_added_mass
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import Assembly, RigidBody, Solid
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.profile import Linear
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle, Ellipse, Rectangle
from sorosim.mechanics.model.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from sorosim.mechanics.robot import Robot

# tight tolerances take many steps, which a run says
pytestmark = pytest.mark.filterwarnings("ignore:.*steps follow a motion of")

G, RHO = 9.81, 1000.0
DOWN, NO_GRAVITY = (0.0, 0.0, -G), (0.0, 0.0, 0.0)
IDEAL = Immersed(drag=0.0, rotary_drag=0.0)
IDEAL_ROD = Immersed(drag=0.0)
WORST = Worst()
SLIDE = Joint("prismatic", axis=Z)


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("fluid"))


def solid(shape, density=RHO, at=None):
    return Assembly((Solid(shape, density=density, at=pose() if at is None else at),))


def body_in(body, joint, water, gravity=DOWN):
    """A robot of one rigid body."""
    return Robot(Description("body", (Link("body", body, joint=joint),), gravity=gravity, loads={"water": water}))


def rod_of(length, section, material, varying, n_gauss=None):
    return Rod((Division(length, section, material, varying, quadrature=n_gauss),))


def ball(radius):
    return 4.0 / 3.0 * np.pi * radius**3


def lamb(radii):
    """Added mass and added inertia (3,) of an ellipsoid over density, from Lamb's integrals by quadrature."""
    a = np.asarray(radii, dtype=float)
    size = np.prod(a) ** (1.0 / 3.0)
    b = a / size

    def integrand(u, i):
        x = u / (1.0 - u)
        return 1.0 / ((b[i] ** 2 + x) * np.sqrt(np.prod(b**2 + x)) * (1.0 - u) ** 2)

    alpha = np.array([quad(integrand, 0, 1, args=(i,), epsabs=1e-13, epsrel=1e-13, limit=400)[0] for i in range(3)])
    volume, inertia = 4.0 / 3.0 * np.pi * np.prod(a), np.zeros(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        less, more, gap = a[j] ** 2 - a[k] ** 2, a[j] ** 2 + a[k] ** 2, alpha[k] - alpha[j]
        inertia[i] = volume / 5.0 * less**2 * gap / (2.0 * less - more * gap) if less else 0.0
    return volume * alpha / (2.0 - alpha), inertia


# -- falling and rising

R, H = 0.05, 0.4  # radius and length of the cylinder
LYING = pose(turn(Y, 0.5 * np.pi))
# the cylinder's added mass is that of the ellipsoid of its proportions and volume
OVAL = np.array([R, R, 0.5 * H]) * 1.5 ** (1.0 / 3.0)
FALLING = {
    "sphere": (Sphere(R), pose(), 0.47 * np.pi * R**2, 0.5 * ball(R)),
    "cylinder broadside": (Cylinder(R, H), LYING, 1.1 * 2.0 * R * H, lamb(OVAL)[0][0]),
    "cylinder along its axis": (Cylinder(R, H), pose(), 0.82 * np.pi * R**2, lamb(OVAL)[0][2]),
}


@pytest.mark.parametrize("density", [2700.0, 400.0], ids=["heavy", "light"])
@pytest.mark.parametrize("case", FALLING)
@pytest.mark.parametrize("joint", ["slide", "free"])
def test_a_body_let_go_comes_to_its_terminal_velocity_as_tanh(agrees, case, density, joint):
    shape, at, drag, added = FALLING[case]
    robot = body_in(solid(shape, density, at), SLIDE if joint == "slide" else Joint("free"), Fluid(RHO))
    volume = shape.moments.volume
    weight, mass, brake = (density - RHO) * volume * G, density * volume + RHO * added, 0.5 * RHO * drag
    last = np.sqrt(abs(weight) / brake)
    tau, sign = mass / (brake * last), -np.sign(weight)
    run = run_of(robot, 6.0 * tau, tau / 10.0)
    # the only motion is along z, nothing turns
    i = 2 if robot.ndof == 6 else 0
    v, z = run.qd[:, i], run.q[:, i]
    # the integrator's 1e-11 a step
    exact = sign * last * np.tanh(run.t / tau)
    agrees("bodies that come to their terminal velocity", v, exact, atol=1e-9 * last, unit="m/s", source="tanh")
    assert_allclose(z, sign * last * tau * np.log(np.cosh(run.t / tau)), rtol=0, atol=1e-8 * last * tau)
    assert_allclose(np.delete(run.q, i, axis=1), 0.0, atol=1e-12)
    # after six time constants 1 - tanh is 1.2e-5
    assert v[-1] == pytest.approx(sign * last, rel=1.3e-5)


METHODS = {"bdf": 1e-5, "radau": 1e-5, "cvode": 1e-5, "newmark": 1e-4, "generalized-alpha": 1e-4, "ida": 1e-5}


@pytest.mark.parametrize("method", METHODS)
def test_every_integrator_follows_a_falling_sphere(method):
    robot, (_, _, drag, added) = body_in(solid(Sphere(R), 2700.0), SLIDE, Fluid(RHO)), FALLING["sphere"]
    last = np.sqrt(1700.0 * ball(R) * G / (0.5 * RHO * drag))
    tau = (2700.0 * ball(R) + RHO * added) / (0.5 * RHO * drag * last)
    run = run_of(robot, 4.0 * tau, 0.5 * tau, method=method, rtol=1e-7)
    error = np.abs(run.qd[:, 0] + last * np.tanh(run.t / tau)).max() / last
    # 1e-7 a step, by hundreds of steps; thousands of the last ones, which are of second order
    assert WORST.note(f"falling sphere, {method}", error) < METHODS[method]


def test_bodies_rest_at_terminal_velocity():
    for shape, at, drag, _ in FALLING.values():
        robot = body_in(solid(shape, 2700.0, at), SLIDE, Fluid(RHO))
        last = np.sqrt(1700.0 * shape.moments.volume * G / (0.5 * RHO * drag))
        assert abs(robot.forward_dynamics([0.3], [-last])[0]) < 1e-13 * G * 10


# -- pendulums under water


def period(omega_0, amplitude):
    """Of a pendulum without damping that swings to an amplitude."""
    return 4.0 / omega_0 * ellipk(np.sin(0.5 * amplitude) ** 2)


def pendulum(name):
    """Robot, restoring moment at a right angle, moment of inertia about the hinge, added mass in it."""
    hinge, length, density = Joint("revolute", axis=Y), 0.6, 1800.0
    if name == "sphere":
        V, m = ball(R), density * ball(R)
        link = Link("bob", solid(Sphere(R), density, pose(p=(0.0, 0.0, -length))), joint=hinge)
        moment, inertia = (m - RHO * V) * G * length, m * (length**2 + 0.4 * R**2) + 0.5 * RHO * V * length**2
    elif name == "cylinder":
        V, m = np.pi * R**2 * H, density * np.pi * R**2 * H
        link = Link("bob", solid(Cylinder(R, H), density, pose(p=(0.0, 0.0, -0.5 * H))), joint=hinge)
        moment, added = (m - RHO * V) * G * 0.5 * H, lamb(OVAL)
        inertia = m * (R**2 / 4.0 + H**2 / 3.0) + RHO * (added[1][1] + added[0][0] * H**2 / 4.0)
    else:
        # a rod whose strains are locked: its sections carry rho pi r^2 across and nothing along
        rod = rod_of(length, Circle(0.01), Material(1e6, poisson=0.5, density=density), Strain(), n_gauss=5)
        link = Link("bob", rod, joint=hinge, at=pose(turn(Y, 0.5 * np.pi)))
        A, J = np.pi * 0.01**2, np.pi / 4.0 * 0.01**4
        moment, inertia = (density - RHO) * A * G * length**2 / 2.0, (density + RHO) * A * length**3 / 3.0
        inertia += density * J * length
    water = Fluid(RHO, links={"bob": IDEAL_ROD if link.rod else IDEAL})
    return Robot(Description(name, (link,), loads={"water": water})), moment, inertia


@pytest.mark.parametrize("name", ["sphere", "cylinder", "rod"])
def test_pendulum_in_water_swings_with_added_mass_and_buoyancy(name):
    robot, moment, inertia = pendulum(name)
    omega = np.sqrt(moment / inertia)
    assert_allclose(robot.linearize([0.0]).frequencies, omega / (2.0 * np.pi), rtol=1e-12)
    for amplitude in (1e-3, 1.0):
        # a quarter swing from rest to the lowest point
        T = period(omega, amplitude)

        def lowest(t, q, qd):
            return q[0]

        run = run_of(robot, 1.5 * T, T / 50.0, ([amplitude], None), events=[lowest])
        times = run.events[0][0]
        assert_allclose(times, T * (0.25 + 0.5 * np.arange(3)), rtol=1e-8)
        # nothing is lost in an ideal fluid; of the work of buoyancy, Simpson's rule over whole panels
        assert np.abs(run.energy().balance[::2]).max() < 1e-4 * moment * amplitude**2
        assert_allclose(run.energy().dissipated, 0.0, atol=1e-15)


def test_amplitudes_of_a_pendulum_in_water_fall_as_quadratic_drag_says(agrees):
    # on its way down w^2 is linear in the angle: d(w^2)/da = 2 b w^2 - 2 W^2 sin a
    length, density = 0.6, 3000.0
    link = Link("bob", solid(Sphere(R), density, pose(p=(0.0, 0.0, -length))), joint=Joint("revolute", axis=Y))
    robot = Robot(Description("ball", (link,), loads={"water": Fluid(RHO)}))
    V = ball(R)
    inertia = density * V * (length**2 + 0.4 * R**2) + 0.5 * RHO * V * length**2
    b = 0.5 * RHO * 0.47 * np.pi * R**2 * length**3 / inertia

    def left(a):
        """Minus the integral of exp(-2 b a) sin a, but for a factor; alike where the pendulum turns."""
        return np.exp(-2.0 * b * a) * (np.cos(a) + 2.0 * b * np.sin(a))

    exact = [1.2]
    for _ in range(4):
        exact.append(-brentq(lambda low: left(low) - left(exact[-1]), -exact[-1], -1e-3, xtol=1e-14))

    def turns(t, q, qd):
        return qd[0]

    run = run_of(robot, 8.0, 0.05, ([1.2], None), events=[turns])
    found = np.abs(run.events[0][1][:, 0])
    found = found[found < 1.2 - 1e-6][:4]  # the start may count as a turn
    agrees(
        "amplitudes of a pendulum in water", found, exact[1:], atol=1e-8, unit="rad", source="energy, quadratic drag"
    )


SPINNING = {
    "given": (Box((0.1, 0.2, 0.3)), {"rotary_drag": (0.0, 0.0, 0.4)}, 0.5 * 0.4 * (0.1 * 0.2 * 0.3) ** (5.0 / 3.0)),
    # strips across: C/2 times the width times the integral of |x|^3
    "box": (Box((0.1, 0.2, 0.3)), {}, 0.5 * 1.05 * 0.3 * (0.05**4 + 0.1**4) / 2.0),
    "disc": (Cylinder(0.2, 0.01), {}, 0.0),
    "sphere": (Sphere(0.2), {}, 0.0),
}


@pytest.mark.parametrize("case", SPINNING)
def test_a_spinning_body_is_slowed_by_its_rotary_drag(case):
    shape, given, drag = SPINNING[case]
    robot = body_in(solid(shape), Joint("revolute", axis=Z), Fluid(RHO, links={"body": Immersed(**given)}))
    inertia = robot.mass_matrix([0.0])[0, 0]
    run = run_of(robot, 5.0, 0.25, (None, [3.0]))
    # I w' = -c w^2
    assert_allclose(run.qd[:, 0], 3.0 / (1.0 + RHO * drag / inertia * 3.0 * run.t), rtol=1e-9)


def test_a_body_moves_the_fluid_that_it_is_said_to():
    shape = Box((0.1, 0.2, 0.3))
    for axis, part in ((X, 0.2), (Y, 0.5), (Z, 0.7)):
        water = Fluid(RHO, links={"body": Immersed(added_mass=(0.2, 0.5, 0.7))})
        robot = body_in(solid(shape, 500.0), Joint("prismatic", axis=axis), water)
        assert robot.mass_matrix([0.0])[0, 0] == pytest.approx((500.0 + RHO * part) * 0.006, rel=1e-12)


# -- what weighs nothing


def shapes():
    """Shapes with their volume."""
    yield "sphere", Sphere(0.1), ball(0.1)
    yield "ellipsoid", Ellipsoid((0.1, 0.2, 0.15)), ball(1.0) * 0.1 * 0.2 * 0.15
    yield "box", Box((0.1, 0.2, 0.3)), 0.1 * 0.2 * 0.3
    yield "cylinder", Cylinder(0.1, 0.3), np.pi * 0.01 * 0.3
    yield "cone", Cone(0.1, 0.3), np.pi * 0.01 * 0.1
    yield "capsule", Capsule(0.1, 0.3), np.pi * 0.01 * 0.3 + ball(0.1)
    yield "mesh", box_mesh((0.1, 0.2, 0.3), (0.3, 0.1, -0.2)), 0.1 * 0.2 * 0.3
    yield "angle", angle_mesh(), 2.0  # 4 m^2 by half a metre


SHAPES = {name: case for name, *case in shapes()}
OBLIQUE = pose(ASKEW, (0.2, -0.1, 0.3))


@pytest.mark.parametrize("name", SHAPES)
def test_archimedes_weighs_every_shape(name, rng):
    shape, volume = SHAPES[name]
    density = 2345.0
    robot = body_in(solid(shape, density, OBLIQUE), Joint("free"), Fluid(RHO))
    dry = replace(robot.description, loads={})
    dry = Robot(dry)
    centre = np.array(robot.links[0].body.centre)
    for _ in range(5):
        q = rng.normal(size=6)
        g = robot.pose(q, "body")
        lift = np.concatenate([np.cross(centre, g[2, :3]), g[2, :3]]) * RHO * volume * G
        buoyancy = dry.inverse_dynamics(q, np.zeros(6), qdd=np.zeros(6)) - robot.inverse_dynamics(
            q, np.zeros(6), qdd=np.zeros(6)
        )
        exact = robot.jacobian(q, "body").T @ lift
        assert WORST.note("Archimedes", np.abs(buoyancy - exact).max() / np.abs(exact).max()) < 1e-13


SUPPLE = Strain(torsion=1, bending=2, elongation=1, shear=0)


def swimmer(water=None, gravity=DOWN, joint="free", materials=RHO, varying=SUPPLE):
    """A tapered rod with a solid on its tip and a branch in its middle, all as dense as water."""
    silicone = Material(2e5, poisson=0.45, density=materials)
    arm = rod_of(0.5, Circle(Linear(0.03, 0.015)), silicone, varying)
    fin = rod_of(0.2, Rectangle(0.01, 0.05), silicone, Strain(bending=1, torsion=0))
    egg, hat = Ellipsoid((0.06, 0.03, 0.04)), Cone(0.05, 0.1)
    knob = Assembly((Solid(egg, density=materials, at=OBLIQUE), Solid(hat, density=materials)))
    links = (
        Link("arm", arm, joint=Joint(joint)),
        Link("fin", fin, parent="arm", s=0.5, at=pose(turn(Z, 1.0), (0.0, 0.01, 0.0)), joint=Joint("spherical")),
        Link("knob", knob, parent="arm", at=pose(turn(Y, 0.3), (0.02, 0.0, 0.0))),
    )
    loads = {} if water is None else {"water": water}
    return Robot(Description("swimmer", links, gravity=gravity, loads=loads))


def test_neutral_bodies_and_rods_rest_anywhere(rng):
    wet, outside = swimmer(Fluid(RHO)), swimmer(gravity=NO_GRAVITY)
    zero = np.zeros(wet.ndof)
    heavy = np.abs(swimmer().inverse_dynamics(zero, zero, qdd=zero)).max()
    for _ in range(30):
        q = 0.5 * rng.normal(size=wet.ndof)
        error = wet.inverse_dynamics(q, zero, qdd=zero) - outside.inverse_dynamics(q, zero, qdd=zero)
        # rounding of weights that cancel
        assert WORST.note("neutral, forces over weight", np.abs(error).max() / heavy) < 1e-13


def test_neutral_robot_takes_the_shape_it_has_without_gravity():
    push = Wrench("knob", moment=(0.0, 0.01, 0.0), force=(0.02, 0.1, -0.05))
    wet, outside = swimmer(Fluid(RHO), joint="fixed"), swimmer(gravity=NO_GRAVITY, joint="fixed")
    held = {name: 0.1 for name in wet.coordinate_names if name.startswith("fin.spherical")}
    found = [statics(robot.with_loads(push=push), driven=held).q for robot in (wet, outside)]
    assert np.abs(found[0]).max() > 0.1
    assert_allclose(found[0], found[1], rtol=0, atol=1e-9)


# -- a surface


@pytest.mark.parametrize("ratio", [0.1, 0.37, 0.5, 0.9])
def test_a_sphere_floats_with_its_share_of_density_under_water(agrees, ratio):
    a, height = 0.2, 0.7
    robot = body_in(solid(Sphere(a), ratio * RHO), SLIDE, Fluid(RHO, height=height, links={"body": IDEAL}))
    found = statics(robot, q0=[height + 0.01])
    depth = height - found.q[0] + a  # of its lowest point
    cap = np.pi * depth**2 * (3.0 * a - depth) / 3.0
    assert found.stable
    # statics ends at rounding of the weight: five times 2.5e-13
    agrees("part of a floating ball under water", cap / ball(a), ratio, atol=1.5e-12, source="Archimedes")
    # heave: rho g times the waterline's area over mass and added mass
    mass = (ratio + 0.5) * RHO * ball(a)
    omega = np.sqrt(RHO * G * np.pi * depth * (2.0 * a - depth) / mass)
    assert robot.linearize(found.q).frequencies[0] == pytest.approx(omega / (2.0 * np.pi), rel=1e-10)
    # a finite heave, by quadrature of its energy between the turning points
    top = found.q[0] + 0.05 * a

    def energy(z):
        h = np.clip(a + height - z, 0.0, 2.0 * a)
        # the integral of the cap by depth
        return ratio * ball(a) * RHO * G * z + RHO * G * np.pi * (a * h**3 / 3.0 - h**4 / 12.0)

    low = brentq(lambda z: energy(z) - energy(top), found.q[0] - 0.12 * a, found.q[0] - 0.01 * a, xtol=1e-15)
    middle, half = 0.5 * (top + low), 0.5 * (top - low)

    def time(psi):
        z = middle + half * np.sin(psi)
        return half * np.cos(psi) / np.sqrt(2.0 * (energy(top) - energy(z)) / mass)

    T = 2.0 * over_period(time, 400)

    def turns(t, q, qd):
        return qd[0]

    turns.direction = -1.0
    run = run_of(robot, 2.2 * T, T / 20.0, ([top], None), events=[turns])
    times = run.events[0][0]
    # near a turning point the difference of energies loses digits: 1e-7 of the quadrature
    assert_allclose(np.diff(times[-2:]), T, rtol=1e-7)


def stick(ratio, up, n_gauss):
    """A stick of 1 m and 4 cm across on a slide along z, upright or lying, at the surface z = 0."""
    rod = rod_of(1.0, Circle(0.02), Material(1e6, poisson=0.5, density=ratio * RHO), Strain(), n_gauss=n_gauss)
    at = pose(turn(Y, -0.5 * np.pi)) if up else pose()
    links = Link("slide", None, joint=SLIDE), Link("rod", rod, parent="slide", at=at)
    return Robot(Description("stick", links, loads={"water": Fluid(RHO, height=0.0)}))


@pytest.mark.parametrize("ratio", [0.3, 0.45, 0.7])
def test_an_upright_stick_floats_with_its_share_of_length_under_water(ratio):
    # a section gets wet over its width, so Gauss points must be nearer to each other than that: here by four times
    found = statics(stick(ratio, True, 200), q0=[-0.4])
    assert -found.q[0] == pytest.approx(ratio, abs=3e-5)


def test_a_lying_stick_half_as_dense_as_water_floats_half_under():
    found = statics(stick(0.5, False, 5), q0=[0.005])
    assert found.q[0] == pytest.approx(0.0, abs=1e-15)
    # a section gets wet as a sphere does: of the width at the surface 3 pi/8 = 1.178 of that of the round section
    mass = (0.5 + 1.0) * RHO * np.pi * 4e-4
    stiffness = RHO * G * 0.04 * 3.0 * np.pi / 8.0
    assert stick(0.5, False, 5).linearize(found.q).frequencies[0] == pytest.approx(
        np.sqrt(stiffness / mass) / (2.0 * np.pi), rel=1e-12
    )


def test_a_ball_dropped_into_water_accounts_for_its_energy():
    robot = body_in(solid(Sphere(0.1), 600.0), SLIDE, Fluid(RHO, height=0.0))
    run = run_of(robot, 2.0, 0.0005, ([0.5], None))
    energy = run.energy()
    assert run.q.min() < -0.1  # it dives and comes up again
    assert energy.dissipated[-1] > 0.5 * energy.kinetic.max()
    # the third derivative jumps where it gets wet
    assert WORST.note("ball dropped into water, energy", np.abs(energy.balance).max() / energy.kinetic.max()) < 1e-6


def test_above_the_surface_there_is_only_weight_and_below_all_of_the_fluid():
    shape, density = Sphere(0.1), 700.0
    robot = body_in(solid(shape, density), SLIDE, Fluid(RHO, height=0.0))
    m, buoyant = density * ball(0.1), RHO * ball(0.1) * G
    v = 2.0
    brake = 0.5 * RHO * 0.47 * np.pi * 0.01 * v * v
    for z, part in ((0.1, 0.0), (0.3, 0.0), (0.0, 0.5), (-0.1, 1.0), (-5.0, 1.0)):
        tau = robot.inverse_dynamics([z], [v], qdd=[0.0])[0]
        assert tau == pytest.approx(m * G - part * (buoyant - brake), rel=1e-13)


# -- drag takes energy, lift does not


FLOWS = {
    "still": (0.0, 0.0, 0.0),
    "steady": (0.3, -0.2, 0.1),
    "unsteady": ("0.3*sin(3*t)", "0.2", "0.1*t"),
    "field": ("0.3*sin(3*t)*z", "0.2*x", "0.1*t*y"),
}
LIFTING = {name: Immersed(lift=0.8) for name in ("arm", "fin")}


def test_drag_never_gives_energy_and_lift_does_no_work(rng):
    water = {**LIFTING, "knob": Immersed(rotary_drag=0.3)}
    robot = swimmer(Fluid(RHO, links=water), NO_GRAVITY)
    bare = {name: Immersed(drag=0.0, lift=0.8) for name in ("arm", "fin")}
    lift = swimmer(Fluid(RHO, links=bare), NO_GRAVITY)
    drag = swimmer(Fluid(RHO, links={name: Immersed() for name in bare}), NO_GRAVITY)
    worst, work = -np.inf, 0.0
    for _ in range(2000):
        q, qd = 0.7 * rng.normal(size=robot.ndof), rng.normal(size=robot.ndof) * 10.0 ** rng.uniform(-2, 2)
        worst = max(worst, load_power(robot.engine, "water", 0.0, q, qd, robot.inputs(None)))
        scale = load_power(drag.engine, "water", 0.0, q, qd, drag.inputs(None))
        work = max(work, abs(load_power(lift.engine, "water", 0.0, q, qd, lift.inputs(None)) / scale))
    assert worst < 0.0
    # a force exactly across the velocity: rounding
    assert WORST.note("power of lift over that of drag", work) < 1e-13


@pytest.mark.parametrize("name", SHAPES)
def test_drag_of_every_shape_takes_energy(name, rng):
    robot = body_in(solid(SHAPES[name][0], RHO, OBLIQUE), Joint("free"), Fluid(RHO), NO_GRAVITY)
    for _ in range(500):
        q, qd = rng.normal(size=6), rng.normal(size=6)
        assert load_power(robot.engine, "water", 0.0, q, qd, robot.inputs(None)) < 0.0


def test_lift_is_across_rod_and_flow(rng):
    # a rod along x: C rho/2 |v_n|^2 per length and width by the flow across it, turned by a right angle
    r, length, lift = 0.02, 0.4, 0.7
    rod = rod_of(length, Circle(r), Material(1e6, poisson=0.5, density=RHO), Strain(), n_gauss=3)
    water = Fluid(RHO, links={"rod": Immersed(drag=0.0, lift=lift, added_mass=0.0)})
    along_x, along_y, along_z = (Joint("prismatic", axis=axis) for axis in (X, Y, Z))
    links = (
        Link("x", None, joint=along_x),
        Link("y", None, joint=along_y, parent="x"),
        Link("rod", rod, joint=along_z, parent="y"),
    )
    robot = Robot(Description("rod", links, gravity=NO_GRAVITY, loads={"water": water}))
    for _ in range(10):
        v = rng.normal(size=3)
        force = -robot.inverse_dynamics(np.zeros(3), v, qdd=np.zeros(3))
        size = 0.5 * RHO * lift * 2.0 * r * length * np.hypot(v[1], v[2])
        assert abs(force @ v) < 1e-13 * size * np.linalg.norm(v)
        assert abs(force[0]) < 1e-13 * size
        assert np.linalg.norm(force) == pytest.approx(size * np.hypot(v[1], v[2]), rel=1e-12)


# -- derivatives


@pytest.mark.parametrize("flow", ["still", "unsteady", "field"])
def test_derivatives_of_forces_in_a_fluid_match_differences(flow, rng):
    water = {**LIFTING, "knob": Immersed(rotary_drag=(0.1, 0.2, 0.3))}
    surface = {"height": 0.1, "up": (0.1, 0.2, 1.0)} if flow != "still" else {}
    robot = swimmer(Fluid(RHO, current=FLOWS[flow], links=water, **surface), materials=1300.0)
    # small steps: the second derivative jumps where a section is just under the surface, or just above
    t, steps = 0.4, (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
    q, qd, qdd = 0.4 * rng.normal(size=(3, robot.ndof))
    found = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd, t=t)
    by_q = jacobian(lambda x: robot.inverse_dynamics(x, qd, qdd=qdd, t=t), q, steps)
    by_qd = jacobian(lambda x: robot.inverse_dynamics(q, x, qdd=qdd, t=t), qd, steps)
    # differences of sixth order, and their rounding
    assert WORST.note("derivatives by q", relative_error(found.dtau_dq, by_q)) < 1e-9
    assert WORST.note("derivatives by qd", relative_error(found.dtau_dqd, by_qd)) < 1e-9


def drag_of(v, law, B):
    speed, slope = np.empty(3, dtype=v.dtype), np.empty((3, 3), dtype=v.dtype)
    drag_speeds(law, v, speed, slope)
    return -speed * (B @ v), -(speed[:, None] * B + (B @ v)[:, None] * slope)


@pytest.mark.parametrize("law", [SPEED, CROSS_FLOW, STOKES])
def test_drag_is_once_differentiable_also_where_a_speed_vanishes(law, rng):
    B = np.diag([0.3, 1.1, 0.7])
    B[1, 2], B[2, 1] = -0.4, 0.4
    regimes = [rng.normal(size=3) for _ in range(20)]
    regimes += [np.array(v) for v in ((0.7, 0.0, 0.0), (-0.7, 0.0, 0.0), (0.0, 0.5, -0.2), (0.0, 0.0, 0.0))]
    regimes += [np.array([0.7, 1e-9, -1e-9]), np.array([1e-12, 0.5, 0.2])]
    for v in regimes:
        force, by_v = drag_of(v, law, B)
        steps = [drag_of(v + 1j * 1e-40 * e, law, B)[0].imag / 1e-40 for e in np.eye(3)]
        assert_allclose(by_v, np.transpose(steps), rtol=0, atol=1e-14)
        # |x| x has no second derivative at zero: differences are off by their step times B, no more
        h = 1e-6
        differences = [(drag_of(v + h * e, law, B)[0] - drag_of(v - h * e, law, B)[0]) / (2.0 * h) for e in np.eye(3)]
        assert_allclose(by_v, np.transpose(differences), rtol=0, atol=3.0 * h * np.abs(B).max())
        assert force @ v <= 0.0


# -- Galilei


CURRENT = np.array([0.4, -0.3, 0.2])


def same_in_a_current(robot_in, link, rng, method="lsoda"):
    """Largest differences of poses: let go in a current, and thrown against it in still water."""
    moving, still = robot_in(tuple(CURRENT)), robot_in((0.0, 0.0, 0.0))
    q = 0.3 * rng.normal(size=still.ndof)
    qd = 0.3 * rng.normal(size=still.ndof)
    against = rates_for(still, q, np.concatenate([np.zeros(3), still.pose(q, link, s=0.0)[:3, :3].T @ CURRENT]), link)
    a = run_of(moving, 1.0, 0.1, (q, qd), method, 1e-10)
    b = run_of(still, 1.0, 0.1, (q, qd - against), method, 1e-10)
    g_a, g_b = (np.concatenate([poses_of(run, link, s) for s in (0.0, 1.0)]) for run in (a, b))
    g_b[:, :3, 3] += np.tile(a.t, 2)[:, None] * CURRENT
    assert np.abs(g_a[-1, :3, 3] - g_a[0, :3, 3]).max() > 0.1
    return np.abs(g_a - g_b).max()


def test_a_body_moves_alike_in_a_steady_current_and_in_still_water(rng):
    def robot_in(current):
        water = Fluid(RHO, current=current, links={"body": Immersed(rotary_drag=(0.1, 0.2, 0.3))})
        return body_in(solid(Ellipsoid((0.1, 0.2, 0.15)), 1300.0, OBLIQUE), Joint("free"), water)

    # the integrator's 1e-10 a step
    assert WORST.note("Galilei, ellipsoid", same_in_a_current(robot_in, "body", rng)) < 1e-8


@pytest.mark.slow
def test_a_soft_robot_moves_alike_in_a_steady_current_and_in_still_water(rng):
    def robot_in(current):
        water = Fluid(RHO, current=current, links={**LIFTING, "knob": Immersed()})
        return swimmer(water, materials=1200.0, varying=Strain(torsion=1, bending=2))

    assert WORST.note("Galilei, soft", same_in_a_current(robot_in, "arm", rng)) < 1e-7


def accelerations(robot, q, qd, t=0.0):
    """Angular and linear ones of all points (n, 2, 3), in the axes of the world."""
    k, qdd = robot.kinematics(q, qd), robot.forward_dynamics(q, qd, t=t)
    body = k.J @ qdd + k.Jd @ qd
    body[:, 3:] += np.cross(k.eta[:, :3], k.eta[:, 3:])
    return np.einsum("kij,kaj->kai", k.g[:, :3, :3], body.reshape(-1, 2, 3))


def test_accelerations_do_not_know_a_steady_current_from_own_speed(rng):
    water = {**LIFTING, "knob": Immersed(rotary_drag=0.2)}
    moving, still = (swimmer(Fluid(RHO, current=c, links=water), materials=1300.0) for c in (tuple(CURRENT), (0, 0, 0)))
    for _ in range(20):
        q, qd = 0.5 * rng.normal(size=still.ndof), rng.normal(size=still.ndof)
        R = still.pose(q, "arm", s=0.0)[:3, :3]
        against = rates_for(still, q, np.concatenate([np.zeros(3), R.T @ CURRENT]), "arm")

        a, b = accelerations(moving, q, qd), accelerations(still, q, qd - against)
        assert WORST.note("Galilei, accelerations", np.abs(a - b).max() / np.abs(b).max()) < 1e-11


def test_an_accelerated_fluid_is_a_still_one_under_less_gravity(rng):
    # in the frame of the fluid gravity is g - dU/dt, for bodies and for the fluid
    rate = np.array([0.7, -1.1, 2.0])
    current = tuple(f"{a}*t" for a in rate)
    water = {**LIFTING, "knob": Immersed()}
    moving = swimmer(Fluid(RHO, current=current, links=water), materials=1300.0)
    still = swimmer(Fluid(RHO, links=water), tuple(np.array(DOWN) - rate), materials=1300.0)
    for t in (0.0, 0.8):
        q, qd = 0.5 * rng.normal(size=still.ndof), rng.normal(size=still.ndof)
        R = still.pose(q, "arm", s=0.0)[:3, :3]
        against = rates_for(still, q, np.concatenate([np.zeros(3), R.T @ (t * rate)]), "arm")
        a, b = accelerations(moving, q, qd, t), accelerations(still, q, qd - against)
        b[:, 1] += rate
        assert WORST.note("accelerated fluid", np.abs(a - b).max() / np.abs(b).max()) < 1e-11


# -- ellipsoids in an ideal fluid


RADII = np.array([0.3, 0.15, 0.2])


def test_a_free_ellipsoid_moves_as_kirchhoffs_equations_say(agrees):
    robot = body_in(solid(Ellipsoid(tuple(RADII)), 800.0), Joint("free"), Fluid(RHO, links={"body": IDEAL}), NO_GRAVITY)
    volume = ball(1.0) * np.prod(RADII)
    mass, inertia = lamb(RADII)
    squares = RADII**2
    M, J = 800.0 * volume + RHO * mass, 160.0 * volume * (squares.sum() - squares) + RHO * inertia
    w, v = np.array([0.7, 1.5, -0.4]), np.array([0.8, 0.3, -0.5])

    def rates(_, y):
        w, v, rotation = y[:3], y[3:6], y[9:].reshape(3, 3)
        h, p = J * w, M * v
        hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        turning = (np.cross(h, w) + np.cross(p, v)) / J
        return np.concatenate([turning, np.cross(p, w) / M, rotation @ v, (rotation @ hat).ravel()])

    t = np.linspace(0.0, 4.0, 41)
    start = np.concatenate([w, v, np.zeros(3), np.eye(3).ravel()])
    exact = solve_ivp(rates, (0.0, 4.0), start, "DOP853", t_eval=t, rtol=1e-12, atol=1e-13).y.T
    run = run_of(robot, 4.0, 0.1, (np.zeros(6), [*v, *w]))
    g, eta = poses_of(run, "body"), twists_of(run)
    agrees("free ellipsoid in ideal fluid, twist", eta, exact[:, :6], atol=1e-7, source="Kirchhoff's equations")
    assert WORST.note("Kirchhoff, place", np.abs(g[:, :3, 3] - exact[:, 6:9]).max()) < 1e-7
    assert WORST.note("Kirchhoff, rotation", angle_between(g[:, :3, :3], exact[:, 9:].reshape(-1, 3, 3)).max()) < 1e-7
    # impulse of body and fluid about the origin, and their energy
    rotation = g[:, :3, :3]
    linear = np.einsum("kij,kj->ki", rotation, M * eta[:, 3:])
    angular = np.einsum("kij,kj->ki", rotation, J * eta[:, :3]) + np.cross(g[:, :3, 3], linear)
    assert WORST.note("Kirchhoff, impulse", drift(linear)) < 1e-8
    assert WORST.note("Kirchhoff, impulsive moment", drift(angular)) < 2e-7  # five times the worst
    energy = run.energy()
    assert WORST.note("Kirchhoff, energy", drift(energy.total)) < 1e-8
    assert_allclose(energy.kinetic[0], 0.5 * (J @ w**2 + M @ v**2), rtol=1e-10)
    assert_allclose(momenta(run).linear, linear, rtol=0, atol=1e-9 * np.abs(linear).max())
    assert angle_between(rotation[-1], rotation[0]) > 0.5


def held(current, water=IDEAL, **options):
    """An ellipsoid on a hinge along z through its centre."""
    flow = Fluid(RHO, current=current, links={"body": water})
    return body_in(solid(Ellipsoid(tuple(RADII)), 800.0), Joint("revolute", axis=Z, **options), flow, NO_GRAVITY)


def test_munks_moment_turns_an_ellipsoid_broadside():
    U = 1.3
    robot = held((U, 0.0, 0.0))
    mass, inertia = lamb(RADII)
    gap = RHO * (mass[1] - mass[0])
    J = 160.0 * ball(1.0) * np.prod(RADII) * (RADII[0] ** 2 + RADII[1] ** 2) + RHO * inertia[2]
    for angle in np.linspace(-3.0, 3.0, 13):
        moment = -robot.inverse_dynamics([angle], [0.0], qdd=[0.0])[0]
        assert moment == pytest.approx(gap * U**2 * np.sin(angle) * np.cos(angle), abs=1e-10 * gap)
        # turning makes no difference: nothing of the flow's force is lost on a hinge through the centre
        assert -robot.inverse_dynamics([angle], [2.0], qdd=[0.0])[0] == pytest.approx(moment, abs=1e-9 * gap)
    # growth along the flow, frequency across it
    rate = U * np.sqrt(gap / J)
    ahead, across = robot.linearize([0.0]), robot.linearize([0.5 * np.pi])
    assert_allclose(np.sort(ahead.eigenvalues.real), [-rate, rate], rtol=1e-9)
    assert not ahead.stable
    assert across.stable
    assert_allclose(across.frequencies, rate / (2.0 * np.pi), rtol=1e-9)
    # with a damper it comes to rest there
    slow = held((U, 0.0, 0.0), damping=2.0 * J * rate)
    run = run_of(slow, 40.0 / rate, 1.0 / rate, ([0.01], None), rtol=1e-9)
    assert run.q[-1, 0] == pytest.approx(0.5 * np.pi, abs=1e-6)


# -- accelerated currents

SPEED = "0.3*sin(4*t) + 0.1*t^2"


@pytest.mark.parametrize("kind", ["signal", "field", "table"])
def test_a_held_sphere_feels_froude_and_krylov_and_added_mass(kind):
    a, table = 0.15, np.linspace(0.0, 2.0, 401)
    spline = {"times": table, "values": 0.3 * np.sin(4.0 * table) + 0.1 * table**2, "interpolation": "cubic"}
    along = {"signal": SPEED, "field": SPEED + " + 0*y", "table": spline}[kind]
    water = Fluid(RHO, current=(along, 0.0, 0.0))
    robot = body_in(solid(Sphere(a), 3000.0), Joint("prismatic", axis=X), water, NO_GRAVITY)
    for t in (0.0, 0.2, 0.77, 1.5):
        U, rate = 0.3 * np.sin(4.0 * t) + 0.1 * t * t, 1.2 * np.cos(4.0 * t) + 0.2 * t
        exact = 1.5 * RHO * ball(a) * rate + 0.5 * RHO * 0.47 * np.pi * a**2 * abs(U) * U
        found = -robot.inverse_dynamics([0.0], [0.0], qdd=[0.0], t=t)[0]
        # the rate of a spline through points 5 ms apart: third order
        assert found == pytest.approx(exact, rel=1e-12 if kind != "table" else 1e-5)


def test_a_current_whose_rate_is_not_known_is_refused():
    # the rate of a current presses on what is in it; a function of Python tells none
    with pytest.raises(ModelError, match="current"):
        Fluid(RHO, current=(np.sin, 0.0, 0.0))


@pytest.mark.parametrize("density", [100.0, RHO, 7800.0])
def test_a_free_sphere_follows_an_accelerated_ideal_fluid_as_its_density_lets_it(density):
    water = Fluid(RHO, current=(SPEED, 0.0, 0.0), links={"body": IDEAL})
    robot = body_in(solid(Sphere(0.15), density), Joint("prismatic", axis=X), water, NO_GRAVITY)
    run = run_of(robot, 2.0, 0.1)
    U = 0.3 * np.sin(4.0 * run.t) + 0.1 * run.t**2
    # m dv/dt = (V rho + ma) dU/dt - ma dv/dt
    assert_allclose(run.qd[:, 0], 1.5 * RHO / (density + 0.5 * RHO) * U, rtol=0, atol=1e-8)


# -- Lamb's added mass

# Lamb, Hydrodynamics (1932), 115: a/b of prolate spheroids, k1 along, k2 across, k' turning
TABLE = {
    1.0: (0.5, 0.5, 0.0), 1.5: (0.305, 0.621, 0.094), 2.0: (0.209, 0.702, 0.240), 2.51: (0.156, 0.763, 0.367),
    2.99: (0.122, 0.803, 0.465), 3.99: (0.082, 0.860, 0.608), 4.99: (0.059, 0.895, 0.701),
    6.01: (0.045, 0.918, 0.764), 6.97: (0.036, 0.933, 0.805), 8.01: (0.029, 0.945, 0.840),
    9.02: (0.024, 0.954, 0.865), 9.97: (0.021, 0.960, 0.883),
}  # fmt: skip


@pytest.mark.parametrize("ratio", TABLE)
def test_lambs_table_of_spheroids(agrees, ratio):
    a, b = 0.2 * ratio, 0.2
    mass, inertia = ellipsoid_added_mass([b, a, b])
    volume = ball(1.0) * a * b * b
    found = mass[1] / volume, mass[0] / volume, inertia[0] / (volume * (a * a + b * b) / 5.0)
    # three digits, the last ones of which are off by up to two: so are they to the closed form below
    agrees("added mass of spheroids", found, TABLE[ratio], atol=2.3e-3, source="table of Lamb, Hydrodynamics",
           bound="digits printed")  # fmt: skip
    assert inertia[1] == 0.0
    assert_allclose([mass[2], inertia[2]], [mass[0], inertia[0]], rtol=1e-13)


def test_prolate_spheroids_in_closed_form():
    for ratio in (1.2, 2.0, 5.0, 30.0):
        # Lamb: with e the eccentricity
        e = np.sqrt(1.0 - ratio**-2)
        log = np.log((1.0 + e) / (1.0 - e))
        alpha = 2.0 * (1.0 - e * e) / e**3 * (0.5 * log - e)
        beta = 1.0 / e**2 - (1.0 - e * e) / (2.0 * e**3) * log
        mass, inertia = ellipsoid_added_mass([ratio, 1.0, 1.0])
        volume = ball(1.0) * ratio
        assert_allclose(mass / volume, [alpha / (2 - alpha), beta / (2 - beta), beta / (2 - beta)], rtol=1e-10)
        turning = e**4 * (beta - alpha) / ((2.0 - e * e) * (2.0 * e * e - (2.0 - e * e) * (beta - alpha)))
        assert_allclose(inertia[1:] / (volume * (ratio**2 + 1.0) / 5.0), turning, rtol=1e-9)


def test_ellipsoids_of_three_axes_against_lambs_integrals(rng):
    for _ in range(20):
        radii = 10.0 ** rng.uniform(-1.0, 1.0, size=3)
        for found, exact in zip(ellipsoid_added_mass(radii), lamb(radii), strict=True):
            assert_allclose(found, exact, rtol=1e-9)


def test_limits_of_ellipsoids_sphere_cylinder_and_disc():
    mass, inertia = ellipsoid_added_mass([0.3] * 3)
    assert_allclose(mass, 0.5 * ball(0.3), rtol=1e-14)
    assert_allclose(inertia, 0.0, atol=1e-17)
    # a long one: sections pi b^2 across, moving along c; (b^2 - c^2)^2 pi/8 turning about its axis
    b, c = 0.2, 0.3
    for a in (1e2, 1e3):
        volume = ball(1.0) * a * b * c
        mass, inertia = ellipsoid_added_mass([a, b, c])
        # sections over the volume: the mean of b^2 (1 - x^2) over the ellipsoid is 4/5 of that of the area 2/3
        assert mass[2] / volume == pytest.approx(b / c, rel=20.0 / a**2 * np.log(a))
        assert mass[1] / volume == pytest.approx(c / b, rel=20.0 / a**2 * np.log(a))
        assert mass[0] / volume < 20.0 * np.log(a) / a**2
        exact = np.pi / 8.0 * (b * b - c * c) ** 2 * 16.0 / 15.0 * a
        assert inertia[0] == pytest.approx(exact, rel=20.0 / a**2 * np.log(a))
    # a disc: 8/3 a^3 along its axis, 16/45 a^5 about its diameter; what is left falls with the thickness
    left = []
    for c in (1e-2, 1e-3, 1e-4):
        mass, inertia = ellipsoid_added_mass([1.0, 1.0, c])
        left.append([mass[2] / (8.0 / 3.0) - 1.0, inertia[0] / (16.0 / 45.0) - 1.0])
    assert np.abs(left[-1]).max() < 3.1e-5
    for more, less in pairwise(left):
        assert_allclose(np.divide(less, more), 0.1, rtol=0.1)


@pytest.mark.parametrize("section", [Circle(0.02), Ellipse(0.06, 0.02), Circle(Linear(0.03, 0.01))])
def test_sections_of_rods_carry_the_fluid_of_cylinders(section):
    length = 0.6
    rod = rod_of(length, section, Material(1e6, poisson=0.5, density=RHO), Strain(), n_gauss=4)
    added = []
    for axis in (X, Y, Z):
        link = Link("rod", rod, joint=Joint("prismatic", axis=axis))
        wet, dry = (Robot(Description("rod", (link,), loads=loads)) for loads in ({"water": Fluid(RHO)}, {}))
        added.append((wet.mass_matrix([0.0]) - dry.mass_matrix([0.0]))[0, 0])
    # an ellipse that moves along one half axis: pi times the square of the other one
    square = {Circle(0.02): (4e-4, 4e-4), Ellipse(0.06, 0.02): (1e-4, 9e-4)}.get(section, (1.3e-3 / 3.0,) * 2)
    assert_allclose(added, [0.0, *(RHO * np.pi * length * np.array(square))], rtol=1e-11, atol=1e-12)


# -- soft rods in water


TENTACLES = {
    "drag": ((0.0, 1.1), 0.0, 5e-9),
    "friction": ((0.5, 1.1), 0.0, 1e-6),  # the outline of the section is a polygon: its perimeter is 3e-6 less
    "added mass": ((0.0, 1.1), 1.0, 5e-9),
}


@pytest.mark.parametrize(("law", "U"), [("cross-flow", 0.4), ("speed", 0.15)])
@pytest.mark.parametrize("case", TENTACLES)
def test_a_tentacle_bends_with_the_current_as_the_boundary_value_problem_says(U, case, law):
    drag, added, tolerance = TENTACLES[case]
    r, length, young = 0.005, 0.3, 1e6
    rod = rod_of(length, Circle(r), Material(young, poisson=0.5, density=RHO), Strain(bending_z=14), n_gauss=160)
    wet = Immersed(drag=(*drag, drag[1]), added_mass=(0.0, added, added))
    water = Fluid(RHO, current=(0.0, U, 0.0), drag=law, links={"arm": wet})
    robot = Robot(Description("tentacle", (Link("arm", rod),), loads={"water": water}))

    def line(s, angle):
        c, z = np.cos(angle), np.sin(angle)
        # velocity of the fluid along tangent and normal: U z and U c
        by_along, by_across = (U * abs(z), U * abs(c)) if law == "cross-flow" else (U, U)
        along = 0.5 * RHO * by_along * drag[0] * 2.0 * np.pi * r * U * z
        across = 0.5 * RHO * by_across * drag[1] * 2.0 * r * U * c
        # Munk's moment of a section, which has added mass across only
        munk = -added * RHO * np.pi * r * r * U * U * z * c
        return c * along - z * across, z * along + c * across, munk

    exact = PlanarRod(length, young * np.pi / 4.0 * r**4, line=line)
    places = np.linspace(0.0, 1.0, 7)
    states = exact.equilibrium(places * length, steps=12)
    found = robot.poses(statics(robot).q, "arm", s=places)[:, :2, 3]
    assert states[-1, 2] > (0.25 if U < 0.2 else 0.75)  # it bends much
    assert WORST.note(f"tentacle, {case}", np.abs(found - states[:, :2]).max() / length) < tolerance


@pytest.mark.parametrize("law", ["cross-flow", "speed"])
@pytest.mark.parametrize("U", [0.2, 1.0, 3.0])
def test_a_towed_cable_lies_at_its_critical_angle(agrees, law, U):
    # straight at the angle a to the stream: w cos a = rho/2 C d U^2 sin^2 a; w L sin a pulls at its top
    length, d, drag, density = 10.0, 0.02, 1.2, 1500.0
    w = (density - RHO) * np.pi * d * d / 4.0 * G
    normal = 0.5 * RHO * drag * d * U * U
    angle = brentq(lambda a: w * np.cos(a) - normal * np.sin(a) ** (2 if law == "cross-flow" else 1), 1e-3, 1.57)
    rod = rod_of(length, Circle(0.5 * d), Material(1e7, poisson=0.5, density=density), Strain())
    line = Link("line", rod, joint=Joint("revolute", axis=Y), at=pose(turn(Y, 0.5 * np.pi)))
    # added mass would turn a stiff cable broadside by Munk's moment
    wet = Immersed(drag=(0.0, drag, drag), added_mass=0.0)
    water = Fluid(RHO, current=(U, 0.0, 0.0), drag=law, links={"line": wet})
    robot = Robot(Description("tow", (line,), loads={"water": water}))
    found = statics(robot)
    x = found.tip()
    # statics balances to 1e-9 of the forces, and the angle follows them
    agrees("critical angles of towed cables", np.arctan2(-x[2], x[0]), angle, rtol=1e-7, unit="rad",
           source="cross-flow principle" if law == "cross-flow" else "whole speed")  # fmt: skip
    assert found.stable


def test_a_cable_in_a_viscous_stream_hangs_and_sinks_by_resistive_force_theory():
    length, r, density, mu, U = 1.0, 0.005, 1500.0, 5.0, 0.3
    log = np.log(2.0 * length / r)
    along, across = 2.0 * np.pi * mu / (log - 1.5), 4.0 * np.pi * mu / (log - 0.5)
    w = (density - RHO) * np.pi * r * r * G
    rod = rod_of(length, Circle(r), Material(1e7, poisson=0.5, density=density), Strain())
    light = {"line": Immersed(added_mass=0.0)}
    oil = Fluid(RHO, current=(U, 0.0, 0.0), drag="stokes", viscosity=mu, links=light)
    line = Link("line", rod, joint=Joint("revolute", axis=Y), at=pose(turn(Y, 0.5 * np.pi)))
    hanging = statics(Robot(Description("tow", (line,), loads={"oil": oil}))).tip()
    assert np.arctan2(hanging[0], -hanging[2]) == pytest.approx(np.arctan(across * U / w), rel=1e-7)
    # let go askew it drifts sideways as it sinks, without turning, by G. I. Taylor's ratio of the two drags
    tilt = 0.6
    still = Fluid(RHO, drag="stokes", viscosity=mu, links=light)
    free = Link("line", rod, joint=Joint("free"), at=pose(turn(Y, tilt)))
    robot = Robot(Description("sinks", (free,), loads={"oil": still}))
    # in the rod's axes: x along it, z across
    rates = np.array([w * np.sin(tilt) / along, 0.0, -w * np.cos(tilt) / across, 0.0, 0.0, 0.0])
    balance = robot.inverse_dynamics(np.zeros(6), rates, qdd=np.zeros(6))
    assert_allclose(balance, 0.0, atol=1e-9 * w * length)


def sway(density_of_fluid, r=5e-4, order=10):
    """Frequencies of a slender cantilever [Hz], bending in one plane."""
    rod = rod_of(0.5, Circle(r), Material(1e6, poisson=0.5, density=1200.0), Strain(bending_z=order), n_gauss=80)
    loads = {"water": Fluid(density_of_fluid)} if density_of_fluid else {}
    robot = Robot(Description("cantilever", (Link("arm", rod),), gravity=NO_GRAVITY, loads=loads))
    return robot.linearize(np.zeros(robot.ndof)).frequencies, robot


def test_sway_of_a_cantilever_in_water_is_slower_by_its_added_mass(agrees):
    beta = np.array([1.87510406871196, 4.69409113297417, 7.85475743823761])
    r, length = 5e-4, 0.5
    line = 1200.0 * np.pi * r**2
    air = beta**2 / length**2 * np.sqrt(1e6 * np.pi / 4.0 * r**4 / line) / (2.0 * np.pi)
    # sections turn, too: of the third mode their inertia takes (r / 2 L)^2/2 times 78
    (dry, _), (wet, _) = sway(0.0), sway(RHO)
    assert_allclose(dry[:3], air, rtol=1.2e-5)
    agrees("frequencies of a cantilever in water", wet[:3], air * np.sqrt(1200.0 / 2200.0), rtol=1.2e-5, unit="Hz",
           source="added mass of a cylinder", bound="rotary inertia")  # fmt: skip
    # the ratio: less of it
    assert WORST.note("sway", np.abs(wet[0] / dry[0] / np.sqrt(1200.0 / 2200.0) - 1.0)) < 1e-6


def test_a_cantilever_sways_in_water_at_that_frequency():
    r, length = 5e-3, 0.5
    frequencies, robot = sway(RHO, r, order=4)
    quiet = robot.with_loads(water=Fluid(RHO, links={"arm": IDEAL_ROD}))
    linear = quiet.linearize(np.zeros(quiet.ndof))
    assert_allclose(linear.frequencies, frequencies, rtol=1e-12)
    T = 1.0 / frequencies[0]
    mode = linear.modes[:, 0]
    tip = quiet.jacobian(np.zeros(quiet.ndof), "arm")[4] @ mode
    q = mode / tip * 1e-4 * length

    def passes(t, q, qd):
        return float(quiet.pose(q, "arm")[1, 3])

    run = run_of(quiet, 2.1 * T, T / 20.0, (q, None), events=[passes])
    # the square of the amplitude is 1e-8
    assert_allclose(np.diff(run.events[0][0]), 0.5 * T, rtol=1e-6)


# -- energy


@pytest.mark.slow
@pytest.mark.parametrize("flow", FLOWS)
def test_energy_of_a_run_in_water_is_accounted_for(flow):
    current = FLOWS[flow]
    water = {**LIFTING, "knob": Immersed(rotary_drag=0.2)}
    robot = swimmer(Fluid(RHO, current=current, links=water), joint="spherical", materials=1500.0)
    run = run_of(robot, 1.0, 0.001, method="lsoda", rtol=1e-9)
    energy = run.energy()
    assert flow != "still" or (np.diff(energy.dissipated) > -1e-12).all()
    scale = energy.kinetic.max()
    # Simpson's rule over 1 ms
    assert WORST.note("energy balance", np.abs(energy.balance).max() / scale) < 1e-6


def test_a_sphere_that_falls_loses_what_gravity_gives():
    robot = body_in(solid(Sphere(R), 2700.0), SLIDE, Fluid(RHO))
    run = run_of(robot, 1.0, 0.002)
    energy = run.energy()
    assert (np.diff(energy.dissipated) > 0.0).all()
    # lsoda takes steps of order 9 or so; the work is that of a polynomial of degree 4 through their ends: 5 x 3e-8
    assert np.abs(energy.balance).max() < 2e-7 * energy.kinetic.max()


def test_rigid_bodies_without_a_shape_are_refused_but_take_one():
    lump = RigidBody(3.0, inertia=(0.1, 0.1, 0.1))
    with pytest.raises(ModelError, match="shape"):
        body_in(lump, SLIDE, Fluid(RHO))
    robot = body_in(lump, SLIDE, Fluid(RHO, links={"body": Immersed(shape=Sphere(0.05))}))
    assert robot.mass_matrix([0.0])[0, 0] == pytest.approx(3.0 + 0.5 * RHO * ball(0.05), rel=1e-13)
    assert robot.inverse_dynamics([0.0], [0.0], qdd=[0.0])[0] == pytest.approx((3.0 - RHO * ball(0.05)) * G, rel=1e-13)
