"""Rods that fly, swing and hang on joints, with rigid bodies among them: momenta, exact shapes, limits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from helpers.differences import Worst
from numpy.testing import assert_allclose
from scipy.integrate import cumulative_simpson
from scipy.optimize import brentq, fsolve
from validation import motions
from validation.builders import NO_GRAVITY, cantilever, tip_load
from validation.motions import X, Y, Z, angle_between, momenta, pose, poses_of, rates_for, turn
from validation.planar_beam import PlanarBeam

from sorosim.analysis.equilibria.statics import statics
from sorosim.mechanics.lie import exp_se3
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle, Properties
from sorosim.mechanics.robot import Robot

G = 9.81
DOWN = (0.0, 0.0, -G)
LENGTH, RHO = 0.5, 1000.0
EVERYTHING = Strain(torsion=1, bending=2, elongation=1, shear=1)
WORST = Worst()
run_of = partial(motions.run_of, method="cvode", rtol=1e-9)


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("hybrid rods"))


def free_rod(varying=EVERYTHING, gravity=NO_GRAVITY, n_gauss=None, coordinates="position", **material):
    rubber = Material(2e5, poisson=0.5, density=RHO, **material)
    joint = Joint("free", coordinates=coordinates)
    return cantilever(varying, section=Circle(0.02), material=rubber, n_gauss=n_gauss, gravity=gravity, joint=joint)


# -- free rods


@pytest.mark.parametrize("gravity", [NO_GRAVITY, (1.0, 2.0, -G)], ids=["floating", "falling"])
def test_thrown_rod_keeps_its_momenta_and_falls_on_a_parabola(gravity):
    # whatever goes on inside, damping included: the discrete rod is moved as a whole by any rigid motion
    rod = free_rod(gravity=gravity, damping=300.0)
    q = np.zeros(rod.ndof)
    q[:6], q[6:14] = [0.1, 0.2, 0.3, 0.5, -1.0, 0.3], np.cos(np.arange(8.0))
    run = run_of(rod, 1.0, 2e-3, (q, rates_for(rod, q, [12.0, 3.0, 8.0, 0.3, -2.0, 0.1], "arm")), rtol=1e-10)
    h, g, t = momenta(run), np.array(gravity), run.t[:, None]
    assert_allclose(h.mass, RHO * np.pi * 0.02**2 * LENGTH, rtol=1e-13)
    v = h.linear[0] / h.mass
    centre = h.centre[0] + v * t + 0.5 * g * t**2
    torque = h.mass * np.cross(h.centre[0] * t + 0.5 * v * t**2, g)
    size = np.linalg.norm(h.angular, axis=1).max()
    assert WORST.note("thrown rod, linear momentum", np.abs(h.linear - h.mass * (v + g * t)).max() / h.mass) < 2e-8
    assert WORST.note("thrown rod, centre [m]", np.abs(h.centre - centre).max()) < 2e-8  # five times the worst
    assert WORST.note("thrown rod, angular momentum", np.abs(h.angular - h.angular[0] - torque).max() / size) < 3e-8
    # Simpson's rule over the sudden start, of which shear knows within milliseconds
    energy = run.energy()
    assert energy.dissipated[-1] > 0.05 * energy.elastic.max()
    assert WORST.note("thrown rod, energy balance", np.abs(energy.balance).max() / energy.kinetic.max()) < 3e-5


def test_rod_that_spins_about_its_long_axis_stays_straight():
    rod, rate = free_rod(), 40.0
    q = np.zeros(rod.ndof)
    run = run_of(rod, 1.0, 0.01, (q, rates_for(rod, q, [rate, 0, 0, 0.2, 0, 0], "arm")))
    g = poses_of(run, "arm")
    assert WORST.note("spinning along [rad]", angle_between(g[:, :3, :3], turn(X, rate * run.t)).max()) < 1e-12
    assert_allclose(g[:, :3, 3], np.outer(LENGTH + 0.2 * run.t, X), atol=1e-9)
    assert np.abs(run.q[:, 6:]).max() < 1e-10


def across(rod, strains, rate):
    """Rates about the middle of a straight rod along x, of these elongations, that turns about z."""
    q = np.zeros(rod.ndof)
    q[[name.startswith("arm.elongation") for name in rod.coordinate_names]] = strains
    middle = 0.5 * rod.pose(q, "arm")[:3, 3]
    return q, rates_for(rod, q, [0.0, 0.0, rate, *-np.cross(rate * Z, middle)], "arm")


def test_rod_that_spins_across_its_axis_stretches_as_the_exact_rod():
    # EA u'' + rho A rate^2 (x + u) = 0 with free ends: x + u = sin k x / (k cos(k L/2))
    rate, order = 30.0, 6
    k = rate * np.sqrt(RHO / 2e5)
    exact, errors = 2.0 * np.tan(0.5 * k * LENGTH) / k, []
    for n_gauss in (10, 20, 40):
        rod = free_rod(Strain(bending=1, elongation=order, shear=0), n_gauss=n_gauss, coordinates="screw")
        own = [name.startswith("arm.elongation") for name in rod.coordinate_names]
        # turning steadily: elongations do not accelerate
        steady = fsolve(
            lambda x, r=rod, i=own: r.forward_dynamics(*across(r, x, rate))[i], np.zeros(order + 1), xtol=1e-13
        )
        errors.append(abs(rod.pose(across(rod, steady, rate)[0], "arm")[0, 3] / exact - 1.0))
    print("length of the rod that spins across, 10, 20, 40 points:", " ".join(f"{error:.1e}" for error in errors))
    assert exact > 1.1 * LENGTH
    # fourth order, as the steps between the points
    assert errors[2] < errors[1] / 12.0 < 1e-9
    # it stays so while it turns; rates of a screw motion are constant, which any integrator follows to rounding
    start = across(rod, steady, rate)
    run = run_of(rod, 1.0, 0.01, start)
    g, R = poses_of(run, "arm"), turn(Z, rate * run.t)
    middle = 0.5 * g[0, :3, 3]
    assert WORST.note("spinning across, tip [m]", np.abs(g[:, :3, 3] - middle - R @ middle).max()) < 5e-11
    assert WORST.note("spinning across [rad]", angle_between(g[:, :3, :3], R).max()) < 1e-12
    assert WORST.note("spinning across, strains", np.abs(run.q[:, 6:] - start[0][6:]).max()) < 1e-13


# -- the flying rod of Simo and Vu-Quoc


@dataclass(frozen=True)
class Pulse:
    """A dead wrench times a function of time."""

    link: str
    wrench: tuple[float, ...]
    size: Callable[[float], float]

    @property
    def places(self):
        return ((self.link, 0.0),)

    def bind(self, layout):
        return BoundPulse(np.array([layout.link(self.link).node_at(0.0)]), np.array(self.wrench), self.size)


@dataclass(frozen=True)
class BoundPulse:
    nodes: np.ndarray
    wrench: np.ndarray
    size: Callable[[float], float]
    dissipates = False

    def evaluate(self, t, g, eta):
        R, K = g[0, :3, :3], np.zeros((1, 6, 6))
        m, f = (self.size(t) * (R.T @ part) for part in (self.wrench[:3], self.wrench[3:]))
        K[0, :3, :3], K[0, 3:, :3] = skew(m), skew(f)
        return LoadValues(np.concatenate([m, f])[None], K, np.zeros((1, 6, 6)))


class Thick(Division):
    """Its sections have rho I = 10, whatever their stiffness."""

    def line_inertia(self, X):
        return np.tile([10.0, 10.0, 10.0, 1.0, 1.0, 1.0], (len(X), 1))


def flying(varying, joint, wrench, size, n_gauss, at=None):
    """EA = GA = 1e4, EI = GJ = 500, rho A = 1, length 10; pushed and turned at its first end."""
    section = Properties(1.0, 0.05, 0.05, 0.05)
    rod = Rod((Thick(10.0, section, Material(1e4, shear=1e4, density=1.0), varying, quadrature=n_gauss),))
    link = Link("rod", rod, joint=Joint(joint), at=np.eye(4) if at is None else at)
    loads = {"end": Pulse("rod", wrench, size)}
    return Robot(Description("flying rod", (link,), gravity=NO_GRAVITY, loads=loads))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:simulate 'flying rod'.* steps by")  # so many are wanted at such a tolerance
def test_flying_rod_gets_the_impulse_and_the_work_of_its_end():
    # force and moment rise to t = 2.5 and fall to t = 5; the integrator starts anew there
    knots, sizes = [0.0, 2.5, 5.0], [0.0, 200.0, 0.0]
    moment, force = np.array([0.0, -0.5, -1.0]), np.array([0.1, 0.0, 0.0])
    at = pose(turn(Z, np.arctan2(8.0, -6.0)), (6.0, 0.0, 0.0))
    rod = flying(Strain(torsion=2, bending=2, elongation=2, shear=2), "free", (*moment, *force),
                 lambda t: float(np.interp(t, knots, sizes)), 6, at)  # fmt: skip
    run = run_of(rod, 6.0, 0.01, checkpoint=2.5)
    h, energy, pull = momenta(run), run.energy(), np.interp(run.t, knots, sizes)[:, None]
    impulse = cumulative_simpson(pull * force, x=run.t, axis=0, initial=0.0)
    turning = pull * moment + np.cross(run.positions("rod", 0.0), pull * force)
    angular = cumulative_simpson(turning, x=run.t, axis=0, initial=0.0)
    assert_allclose(impulse[-1], 500.0 * force, rtol=1e-14)
    # Simpson's rule leaves 1e-10 of the angular momentum, and of the work, whose power oscillates faster, 5e-8
    assert WORST.note("flying rod, linear momentum", np.abs(h.linear - impulse).max() / 50.0) < 2e-9
    assert WORST.note("flying rod, angular momentum", np.abs(h.angular - angular).max() / np.abs(angular).max()) < 3e-9
    assert WORST.note("flying rod, energy", np.abs(energy.balance).max() / energy.work.max()) < 2e-7
    assert np.abs(run.q[:, 6:12]).max() > 1.0


@pytest.mark.slow
def test_flying_rod_converges_to_that_of_finite_elements():
    # in the plane, with a smooth pulse: a kink in time would run along the rod as a kink of its strains
    def size(t):
        return 80.0 * np.sin(np.pi * t / 3.0) ** 4 if t < 3.0 else 0.0

    beam = PlanarBeam(10.0, 1e4, 1e4, 500.0, 1.0, 10.0, lambda t: (0.1 * size(t), 0.0, -size(t)))
    meshes = [beam.motion(n, np.array([0.0, 4.0]), 1e-7)[-1][:: n // 10] for n in (10, 20, 40)]
    # errors in even powers of the length of the elements
    once = [fine + (fine - coarse) / 3.0 for coarse, fine in pairwise(meshes)]
    limit = once[1] + (once[1] - once[0]) / 15.0
    errors = []
    for order in (2, 4, 6, 8):
        varying = Strain(bending_z=order, elongation=order, shear_y=order)
        rod = flying(varying, "planar", (0, 0, -1, 0.1, 0, 0), size, 2 * order)
        run = run_of(rod, 4.0, 4.0)
        g = rod.poses(run.q[-1], "rod", s=np.linspace(0.0, 1.0, 11))
        errors.append(np.abs(g[:, :2, 3] - limit[:, :2]).max())
        turned = turn(Z, limit[:, 2])
    print(
        "flying rod against finite elements, orders 2, 4, 6, 8:", " ".join(f"{error:.1e}" for error in errors), "of 10"
    )
    assert WORST.note("flying rod, against finite elements", errors[-1] / 10.0) < 1e-5
    assert WORST.note("flying rod, against finite elements [rad]", angle_between(g[:, :3, :3], turned).max()) < 1e-4


# -- stiff rods, fixed joints, cut rods


def rigid_twin(radius):
    """A rigid body with the mass of the rod."""
    mass = RHO * np.pi * radius**2 * LENGTH
    across = mass * (radius**2 / 4.0 + LENGTH**2 / 12.0)
    return RigidBody(mass, centre=(LENGTH / 2.0, 0.0, 0.0), inertia=(mass * radius**2 / 2.0, across, across))


HINGE = Joint("revolute", axis=Y)


def test_rod_with_locked_strains_is_a_rigid_body(rng):
    rod = cantilever(Strain(), section=Circle(0.02), gravity=DOWN, joint=Joint("free"))
    body = Robot(Description("body", (Link("arm", rigid_twin(0.02), joint=Joint("free")),), gravity=DOWN))
    for _ in range(5):
        q, qd, qdd = rng.normal(size=(3, 6))
        ours, theirs = rod.inverse_dynamics(q, qd, qdd=qdd), body.inverse_dynamics(q, qd, qdd=qdd)
        assert WORST.note("locked rod", np.abs(ours - theirs).max() / np.abs(theirs).max()) < 1e-13


def test_stiff_rod_swings_as_the_rigid_body_of_its_mass():
    # deflections go as 1/E; a little damping ends the vibrations that the sudden start leaves
    body = Robot(Description("body", (Link("arm", rigid_twin(0.02), joint=HINGE),), gravity=DOWN))
    angle = run_of(body, 1.5, 0.05, method="lsoda", rtol=1e-12).q[:, 0]
    exact, errors = LENGTH * np.stack([np.cos(angle), 0.0 * angle, -np.sin(angle)], axis=-1), []
    for young in (1e9, 1e10, 1e11):
        stiff = Material(young, poisson=0.3, density=RHO, stiffness_damping=1e-3)
        varying = Strain(torsion=0, bending=3, elongation=1, shear=1)
        rod = cantilever(varying, section=Circle(0.02), material=stiff, gravity=DOWN, joint=HINGE)
        errors.append(np.abs(run_of(rod, 1.5, 0.05, rtol=1e-10).tip() - exact).max())
    orders = np.log10(np.divide(errors[:-1], errors[1:]))
    print(
        "stiff rods, E = 1, 10, 100 GPa:",
        " ".join(f"{error:.1e}" for error in errors),
        "m, orders",
        np.round(orders, 4),
    )
    # five times the worst: the integrator's errors change the digits of the stiffest one
    assert_allclose(orders, 1.0, atol=0.025)


SHAFTS = ((0.4, Circle(0.01)), (0.3, Circle(0.015)))  # length, section
RUBBER = Material(1e6, poisson=0.5, density=RHO)


def two_shafts(varying, block=True, at=None, load=None, n_gauss=None):
    """Rod, fixed block of 10 cm or massless frame, rod; the second one stands at `at` on the block."""
    first, second = (Rod((Division(*shaft, RUBBER, varying, quadrature=n_gauss),)) for shaft in SHAFTS)
    inertia = (3e-4, 1e-3, 1e-3)
    body = RigidBody(0.5, centre=(0.05, 0.0, 0.0), inertia=inertia) if block else None
    links = (
        Link("first", first),
        Link("block", body, parent="first"),
        Link("arm", second, parent="block", at=pose(p=(0.1, 0.0, 0.0)) if at is None else at),
    )
    return Robot(Description("shafts", links, gravity=NO_GRAVITY, loads={"tip": load} if load else {}))


def section_stiffness(shaft):
    """G J, E I."""
    moment = np.pi * (0.01, 0.015)[shaft] ** 4 / 4.0
    return 2.0 * moment * RUBBER.shear_modulus, moment * RUBBER.young


@pytest.mark.parametrize("block", [False, True], ids=["frame", "block"])
def test_fixed_joints_pass_torsion_on(block):
    moment = 0.02
    robot = two_shafts(EVERYTHING, block, load=tip_load(moment=(moment, 0, 0)))
    found = statics(robot)
    twist = [moment * SHAFTS[i][0] / section_stiffness(i)[0] for i in (0, 1)]
    assert twist[0] > 1.0
    for link, angle in (("first", twist[0]), ("block", twist[0]), ("arm", sum(twist))):
        R = robot.pose(found.q, link)[:3, :3]
        assert WORST.note("shafts in series", np.abs(R - turn(X, angle)).max()) < 1e-13


def test_torsion_of_one_rod_bends_the_other_round_a_corner():
    # the moment is about y; the second rod lies along it, the first is bent to an arc and turns the corner about y
    moment, corner = 0.02, pose(turn(Z, np.pi / 2.0), (0.1, 0.0, 0.02))
    robot = two_shafts(EVERYTHING, True, corner, tip_load(moment=(0, moment, 0)))
    found = statics(robot)
    (length, _), (rest, _) = SHAFTS
    arc = exp_se3(np.array([0.0, moment / section_stiffness(0)[1] * length, 0.0, length, 0.0, 0.0]))
    twisted = exp_se3(np.array([moment / section_stiffness(1)[0] * rest, 0.0, 0.0, rest, 0.0, 0.0]))
    assert np.linalg.norm(arc[:3, :3] - np.eye(3)) > 1.0
    error = np.abs(robot.pose(found.q, "arm") - arc @ corner @ twisted).max()
    assert WORST.note("round a corner", error) < 1e-13


def test_torsional_frequencies_of_shaft_disc_shaft():
    robot = two_shafts(Strain(torsion=12), n_gauss=96)
    speed = np.sqrt(RUBBER.shear_modulus / RHO)

    def end(w):
        """Torque at the free end by transfer from the clamped one."""
        angle, torque = 0.0, 1.0
        for i, inertia in ((0, 3e-4), (1, 0.0)):
            kL, GJk = w / speed * SHAFTS[i][0], section_stiffness(i)[0] * w / speed
            angle, torque = (
                angle * np.cos(kL) + torque * np.sin(kL) / GJk,
                torque * np.cos(kL) - angle * np.sin(kL) * GJk,
            )
            torque -= w**2 * inertia * angle
        return torque

    grid = np.linspace(1.0, 300.0, 600)
    exact = [brentq(end, a, b, xtol=1e-13) for a, b in pairwise(grid) if end(a) * end(b) < 0.0][:4]
    found = 2.0 * np.pi * robot.linearize(np.zeros(robot.ndof)).frequencies[:4]
    assert WORST.note("frequencies of shaft, disc, shaft", np.abs(found / exact - 1.0).max()) < 3e-8


SOFT = Material(1e6, poisson=0.5, density=RHO, damping=3e3)


def in_halves(order, joint, as_links):
    """A rod of two divisions, or of two links on a fixed joint, whose second frame is turned about the axis."""
    varying = Strain(bending=order, elongation=order, shear=order)
    half = Division(LENGTH / 2.0, Circle(0.01), SOFT, varying, quadrature=16)
    links = (Link("arm", Rod((half, half)), joint=joint),)
    if as_links:
        links = (
            Link("upper", Rod((half,)), joint=joint),
            Link("arm", Rod((half,)), parent="upper", at=pose(turn(X, 0.7))),
        )
    return Robot(Description("halves", links, gravity=DOWN))


def in_one(order, joint):
    varying = Strain(bending_y=order, elongation=order, shear_z=order)
    return cantilever(varying, material=SOFT, n_gauss=32, gravity=DOWN, joint=joint)


def test_rod_cut_into_two_links_hangs_as_one():
    cut, divided = (statics(in_halves(5, Joint(), as_links)).tip() for as_links in (True, False))
    assert cut[2] < -0.2
    assert WORST.note("cut rod at rest [m]", np.abs(cut - divided).max()) < 1e-13
    errors = [np.abs(statics(in_one(order, Joint())).tip() - cut).max() for order in (2, 4, 6, 8)]
    print("clamped cut rod against uncut ones, orders 2, 4, 6, 8:", " ".join(f"{error:.1e}" for error in errors), "m")
    assert errors[-1] < 2e-6


def test_rod_cut_into_two_links_swings_as_one():
    cut, divided = (run_of(in_halves(4, HINGE, as_links), 0.6, 0.02).tip() for as_links in (True, False))
    assert WORST.note("cut rod in time [m]", np.abs(cut - divided).max()) < 1e-8
    errors = [np.abs(run_of(in_one(order, HINGE), 0.6, 0.02).tip() - cut).max() for order in (3, 5, 7)]
    print("swinging cut rod against uncut ones, orders 3, 5, 7:", " ".join(f"{error:.1e}" for error in errors), "m")
    assert errors[-1] < 3e-6
