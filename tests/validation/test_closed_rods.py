"""Rods in closed chains at rest and in time: a fin-ray, rings, arches, and trees that were cut and closed again."""

import json
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers.differences import Worst
from numpy.testing import assert_allclose
from scipy.integrate import cumulative_simpson, solve_bvp
from validation.builders import NO_GRAVITY
from validation.motions import X, Z, momenta_at, pose, run_of, turn
from validation.planar_network import (
    APEX,
    BASES,
    DENSITY,
    GRAVITY,
    N_RODS,
    POISSON,
    ROD,
    YOUNG,
    Beam,
    Clamp,
    End,
    Network,
    Node,
    energy,
    fin_ray,
    fin_ray_shape,
)

from sorosim.analysis.equilibria.statics import statics
from sorosim.mechanics.constraints.loop import Anchor, Loop
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle, Rectangle
from sorosim.mechanics.robot import Robot

FACTS = json.loads((Path(__file__).parents[1] / "data" / "fin_ray.json").read_text())
WORST = Worst()
DOWN = (0.0, -GRAVITY, 0.0)


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("closed rods"))


# -- the fin-ray: two walls, five ribs on hinges

POLYMER = Material(YOUNG, poisson=POISSON, density=DENSITY)
SLIDES = [case["slide"] for case in FACTS["cases"]]


def finger(order, constant, n_gauss=None):
    """The fin-ray as a tree of 17 rods whose ribs and apex are closed by loops."""

    def rod(length, width):
        varying = Strain(bending_z=order, elongation=constant, shear_y=constant)
        return Rod((Division(length, Rectangle(1e-3, width), POLYMER, varying, quadrature=n_gauss),))

    lean = np.arctan2(APEX[1], APEX[0])
    links, loops = [], {}
    for side, angle, joint in (("left", lean, Joint()), ("right", np.pi - lean, None)):
        R = turn(Z, angle)
        base = pose(R, (*BASES[side == "right"], 0.0))
        joint = joint or Joint("prismatic", axis=tuple(R.T @ [0.0, 1.0, 0.0]))
        links.append(Link(f"{side} 1", rod(ROD, 2.5e-2), joint=joint, at=base))
        links += [Link(f"{side} {k}", rod(ROD, 2.5e-2), parent=f"{side} {k - 1}") for k in range(2, N_RODS + 1)]
    for k in range(1, N_RODS):
        level = pose(turn(Z, -lean))
        length = 0.05 * (1.0 - k / N_RODS)
        links.append(Link(f"rib {k}", rod(length, 1e-2), parent=f"left {k}", joint=Joint("revolute"), at=level))
        loops[f"rib {k}"] = Loop(Joint("revolute"), Anchor(f"rib {k}"), Anchor(f"right {k}", at="as built"))
    loops["apex"] = Loop(Joint(), Anchor(f"right {N_RODS}"), Anchor(f"left {N_RODS}", at="as built"))
    return Robot(Description("fin ray", tuple(links), gravity=DOWN, loops=loops))


@cache
def exact_finger(slide):
    return fin_ray_shape(slide)


def errors_of_finger(robot, slide):
    """Largest distances [m] of the apex and of all nodes of the walls from where they should be, and of the force."""
    found, exact = statics(robot, driven={"right 1": slide}), exact_finger(slide)
    assert found.stable
    nodes = [
        [robot.pose(found.q, f"{side} 1", s=0.0), *(robot.pose(found.q, f"{side} {k}") for k in range(1, N_RODS + 1))]
        for side in ("left", "right")
    ]
    off = np.linalg.norm(np.array(nodes)[..., :2, 3] - exact.walls, axis=-1)
    return off[0, -1], off.max(), abs(found.driven["right 1"] - exact.force)


@pytest.mark.parametrize("case", FACTS["cases"], ids=lambda case: f"{1e3 * case['slide']:g} mm")
def test_reference_of_the_fin_ray_gives_the_kept_numbers(case):
    exact = exact_finger(case["slide"])
    assert_allclose(exact.walls, [case["left"], case["right"]], rtol=0, atol=1e-13)
    assert exact.force == pytest.approx(case["force"], abs=1e-12)


@pytest.mark.parametrize("slide", [-5e-3, 1e-2])
def test_reference_of_the_fin_ray_has_converged(slide):
    # a hundred times rougher integration, and rods that are shot in two pieces, move nothing
    for other in (fin_ray_shape(slide, rtol=1e-11), fin_ray_shape(slide, cut=2)):
        assert_allclose(other.walls, exact_finger(slide).walls, rtol=0, atol=1e-13)
        assert other.force == pytest.approx(exact_finger(slide).force, abs=2e-12)


def test_force_of_the_reference_is_the_slope_of_its_energy():
    # nothing in the solver knows energies
    h, slide = 2e-4, 5e-3
    values = []
    for k in (-2, -1, 1, 2):
        network, guess = fin_ray(slide + k * h)
        values.append(energy(network, network.solve(guess)))
    slope = np.array([1.0, -8.0, 8.0, -1.0]) @ values / (12.0 * h)
    assert slope == pytest.approx(exact_finger(slide).force, rel=1e-7)


@pytest.mark.parametrize("slide", SLIDES)
def test_the_papers_fin_ray_is_within_a_micrometre(slide):
    # one linear mode of bending, constant stretch and shear, default points: 0.74 um and 25 uN at 10 mm
    _, off, force = errors_of_finger(finger(1, 0), slide)
    assert WORST.note("fin-ray, orders 1/0/0 [m]", off) < 1e-6
    assert WORST.note("fin-ray, orders 1/0/0 [N]", force) < 4e-5


def test_the_fin_ray_at_home_carries_its_weight_evenly():
    found = statics(finger(1, 0), driven={"right 1": 0.0})
    ribs = sum(0.05 * (1.0 - k / N_RODS) for k in range(1, N_RODS))
    weight = DENSITY * GRAVITY * (2.0 * N_RODS * ROD * 2.5e-5 + ribs * 1e-5)
    assert found.driven["right 1"] == pytest.approx(0.5 * weight, rel=1e-12)
    assert_allclose(found.tip(f"left {N_RODS}")[0], APEX[0], rtol=0, atol=1e-14)


def test_the_fin_ray_converges_to_the_exact_one():
    # order 4 with 8 points is no better than order 3: what is left is the error of the steps between the points, h^4
    table = []
    for order, constant, n_gauss in ((1, 0, 8), (2, 1, 8), (3, 2, 8), (4, 2, 16)):
        robot = finger(order, constant, n_gauss)
        table.append(np.max([errors_of_finger(robot, slide) for slide in (-5e-3, 1e-2)], axis=0))
        print(f"fin-ray, orders {order}/{constant}/{constant}, {n_gauss} points: apex, nodes [m], force [N]",
              " ".join(f"{e:.1e}" for e in table[-1]))  # fmt: skip
    assert (table[-1] < [5e-10, 5e-10, 2e-8]).all()
    assert all((fine < coarse / 3.0).all() for coarse, fine in pairwise(table))


def test_the_fin_ray_converges_to_picometres():
    # 48 points: another 81 times less than with 16
    _, off, force = np.max([errors_of_finger(finger(5, 4, 48), slide) for slide in (-5e-3, 1e-2)], axis=0)
    assert WORST.note("fin-ray, orders 5/4/4, 48 points [m]", off) < 1e-11
    assert WORST.note("fin-ray, orders 5/4/4, 48 points [N]", force) < 1e-8


# -- rods bent into a ring, and buckled

RUBBER = Material(1e6, poisson=0.5, density=1000.0)
RADIUS, LENGTH = 5e-3, 0.6
AREA = np.pi * RADIUS**2
EA, GA, EI = 1e6 * AREA, 1e6 * AREA / 3.0, 1e6 * np.pi / 4.0 * RADIUS**4
RING = LENGTH / (2.0 * np.pi)  # its radius


def soft_rod(order, n_gauss, cuts, stiff=False):
    """A straight rod of divisions between cuts, fractions of the length."""
    linear = None if stiff else order
    varying = Strain(bending_z=order, elongation=linear, shear_y=linear)
    parts = np.diff([0.0, *cuts, 1.0]) * LENGTH
    return Rod(tuple(Division(part, Circle(RADIUS), RUBBER, varying, quadrature=n_gauss) for part in parts))


def curved(robot, link, curvatures):
    """Coordinates at which each division of a rod, those before any other coordinate, has a constant curvature."""
    q, first = np.zeros(robot.ndof), robot.engine.layout.links[link].column
    rod = next(entry.rod for entry in robot.links if entry.name == link)
    for division, curvature in zip(rod.divisions, np.broadcast_to(curvatures, len(rod.divisions)), strict=True):
        q[first + division.strain.names.index("bending_z[0]")] = curvature * division.length
        first += division.strain.count
    return q


QUARTERS = (0.25, 0.5, 0.75)


def ring_at_rest(order, n_gauss, pulls, gravity=NO_GRAVITY, cuts=QUARTERS, stiff=False):
    """A rod clamped at the origin along x and bent to a ring, under forces (2,) by their place; robot and rest."""
    loads = {
        f"at {s:g}": Wrench("ring", s, moment=((0, 0, 0, *force, 0.0))[:3], force=((0, 0, 0, *force, 0.0))[3:])
        for s, force in pulls.items()
    }
    link, loops = Link("ring", soft_rod(order, n_gauss, cuts, stiff)), {"closing": Loop(Joint(), Anchor("ring"))}
    robot = Robot(Description("ring", (link,), gravity=gravity, loads=loads, loops=loops))
    return robot, statics(robot, q0=curved(robot, "ring", 1.0 / RING))


@cache
def pulled_quarter(force):
    """A quarter of a ring between its top and where it is pulled outwards: half the height, half the width, moment."""

    def rates(_, state):
        _, _, angle, moment = state
        c, s = np.cos(angle), np.sin(angle)
        along, across = 1.0 + c * force / (2.0 * EA), -s * force / (2.0 * GA)
        x, y = c * along - s * across, s * along + c * across
        return np.array([x, y, moment / EI, y * force / 2.0])

    def ends(a, b):
        return np.array([a[0], a[1], a[2], b[2] - 0.5 * np.pi])

    s = np.linspace(0.0, 0.25 * LENGTH, 31)
    circle = np.array([RING * np.sin(s / RING), RING * (1.0 - np.cos(s / RING)), s / RING, 0.0 * s + EI / RING])
    found = solve_bvp(rates, ends, s, circle, tol=1e-9, max_nodes=20_000)
    assert found.success
    return found.y[1, -1], found.y[0, -1], found.y[3, 0]


LOADS = (1.0, 5.0, 20.0)  # in E I / R^2


@pytest.mark.parametrize("load", LOADS)
def test_a_pulled_ring_has_the_shape_of_the_boundary_value_problem(load):
    force = load * EI / RING**2
    height, width, moment = pulled_quarter(force)
    robot, found = ring_at_rest(9, 80, {0.25: (force, 0.0), 0.75: (-force, 0.0)})
    places = robot.poses(found.q, "ring", s=QUARTERS)[:, :2, 3]
    # of 19 cm; pulled by 20 it is 8 cm high and 27 cm wide. What is left is the error of the steps between the points
    exact = [[width, height], [0.0, 2.0 * height], [-width, height]]
    assert WORST.note("pulled ring [m]", np.abs(places - exact).max()) < 5e-9
    assert found.stable
    # the world holds the tip as the rest of the ring would
    wrench = found.loop_wrench("closing")
    assert WORST.note("pulled ring, force [N]", np.abs(wrench[3:] - [0.5 * force, 0.0, 0.0]).max()) < 1e-13
    assert WORST.note("pulled ring, moment [N m]", abs(wrench[2] - moment)) < 1e-9


def test_a_ring_has_no_moment_across_its_plane():
    wrenches = []
    for load in LOADS:
        force = load * EI / RING**2
        _, found = ring_at_rest(9, 80, {0.25: (force, 0.0), 0.75: (-force, 0.0)})
        wrenches.append(found.loop_wrench("closing"))
    assert np.abs(np.array(wrenches)[:, [0, 1, 5]]).max() < 1e-13


def test_a_pulled_ring_converges_with_order_and_points():
    force = 20.0 * EI / RING**2
    height, width, _ = pulled_quarter(force)

    def error(order, n_gauss):
        robot, found = ring_at_rest(order, n_gauss, {0.25: (force, 0.0), 0.75: (-force, 0.0)})
        return np.abs(robot.pose(found.q, "ring", s=0.25)[:2, 3] - [width, height]).max()

    by_order, by_points = [error(order, 80) for order in (2, 4, 6, 8)], [error(11, n) for n in (20, 40, 80)]
    print("pulled ring, orders 2 to 8:", " ".join(f"{e:.1e}" for e in by_order), "m")
    print("pulled ring, 20 to 80 points:", " ".join(f"{e:.1e}" for e in by_points), "m")
    assert all(fine < coarse / 8.0 for coarse, fine in pairwise(by_order))
    # fourth order
    assert_allclose(np.log2(np.divide(by_points[:-1], by_points[1:])), 4.0, atol=0.3)


def test_a_gently_pulled_ring_follows_castigliano():
    # thin and born as a circle: across by F R^3 / EI (pi/4 - 2/pi), along the other diameter by (1/2 - 2/pi); a rod
    # that was straight has the same bending moments but for a constant
    force = 1e-5 * EI / RING**2
    cuts = np.arange(1, 16) / 16.0  # order 3: the points are exact for the unloaded ring
    robot, found = ring_at_rest(3, 16, {0.25: (force, 0.0), 0.75: (-force, 0.0)}, cuts=cuts, stiff=True)
    right, top, left = robot.poses(found.q, "ring", s=QUARTERS)[:, :2, 3]
    moved = np.array([right[0] - left[0], top[1]]) - 2.0 * RING
    unit = force * RING**3 / EI
    assert_allclose(moved / unit, [np.pi / 4.0 - 2.0 / np.pi, 0.5 - 2.0 / np.pi], rtol=0, atol=2e-5)


def test_a_heavy_ring_pulled_off_centre_is_that_of_the_network():
    pulls, gravity = {0.15: (0.12, -0.05), 0.6: (-0.12, 0.1)}, (0.0, -2.0, 0.0)
    robot, found = ring_at_rest(8, 40, pulls, gravity, cuts=(0.15, 0.375, 0.6, 0.8))
    parts = np.diff([0.0, *pulls, 1.0])
    beams = tuple(Beam(LENGTH * part, EA, GA, EI, (0.0, -2.0 * 1000.0 * AREA)) for part in parts)
    joints = (
        *(Node((End(k, True), End(k + 1, False)), force) for k, force in enumerate(pulls.values())),
        # both ends of the ring are held, once round
        Clamp(End(0, False), (0.0, 0.0)),
        Clamp(End(2, True, 2.0 * np.pi), (0.0, 0.0)),
    )
    network = Network(beams, joints)
    angle, guess = 2.0 * np.pi * np.array([0.0, *pulls]), np.zeros((3, 6))
    guess[:, 0], guess[:, 1], guess[:, 2] = RING * np.sin(angle), RING * (1.0 - np.cos(angle)), angle
    guess[:, 5] = EI / RING
    exact = network.solve(guess)
    ours = robot.poses(found.q, "ring", s=[0.0, *pulls])[:, :2, 3]
    assert WORST.note("heavy ring [m]", np.abs(ours - exact[:, :2]).max()) < 1e-8
    tip = network.shoot(exact)[-1]
    wrench = found.loop_wrench("closing")[[3, 4, 2]] - tip[3:]
    assert WORST.note("heavy ring, wrench [N; N m]", np.abs(wrench).max()) < 1e-8
    assert found.stable


@cache
def half_arch(shortening, force):
    """Half of a clamped rod pushed together, under an upward force amidst: height, force that holds its far end."""

    def rates(_, state, pull):
        _, _, angle, moment = state
        c, s = np.cos(angle), np.sin(angle)
        along = 1.0 + (c * pull[0] + s * force / 2.0) / EA
        across = (c * force / 2.0 - s * pull[0]) / GA
        x, y = c * along - s * across, s * along + c * across
        return np.array([x, y, moment / EI, y * pull[0] - x * force / 2.0])

    def ends(a, b, _):
        return np.array([a[0], a[1], a[2], b[0] - 0.5 * (LENGTH - shortening), b[2]])

    s, wave = np.linspace(0.0, 0.5 * LENGTH, 31), 2.0 * np.pi / LENGTH
    a = np.sqrt(shortening / LENGTH)
    guess = np.array(
        [s, a / wave * (1.0 - np.cos(wave * s)), 2 * a * np.sin(wave * s), 2 * a * wave * np.cos(wave * s)]
    )
    guess[3] *= EI
    found = solve_bvp(rates, ends, s, guess, p=[-EI * wave**2], tol=1e-9, max_nodes=20_000)
    assert found.success
    return found.y[1, -1], found.p[0]


def arch(order, n_gauss, force):
    """A straight rod, clamped, its tip held by a loop on a slider; a force (0, force) amidst."""
    links = (
        Link("arch", soft_rod(order, n_gauss, QUARTERS)),
        Link("slider", None, joint=Joint("prismatic", axis=(1.0, 0.0, 0.0)), at=pose(p=(LENGTH, 0.0, 0.0))),
    )
    loads = {"amidst": Wrench("arch", 0.5, force=(0, force, 0))}
    loops = {"tip": Loop(Joint(), Anchor("arch"), Anchor("slider"))}
    return Robot(Description("arch", links, gravity=NO_GRAVITY, loads=loads, loops=loops))


@pytest.mark.parametrize("load", [10.0, 0.0, -10.0, -15.0])
@pytest.mark.parametrize("shortening", [0.03, 0.12])
def test_a_buckled_arch_under_a_load_amidst(agrees, shortening, load):
    # in E I / L^2, of which 4 pi^2 are Euler's force
    force = load * EI / LENGTH**2
    robot = arch(8, 40, force)
    bent = 8.0 * np.sqrt(shortening / LENGTH) / LENGTH
    start = curved(robot, "arch", bent * np.array([1.0, -1.0, -1.0, 1.0]))
    found = statics(robot, driven={"slider": -shortening}, q0=start)
    height, push = half_arch(shortening, force)
    middle = robot.pose(found.q, "arch", s=0.5)
    assert_allclose(middle[:3, :3], np.eye(3), rtol=0, atol=1e-9)
    assert WORST.note("arch [m]", np.abs(middle[:2, 3] - [0.5 * (LENGTH - shortening), height]).max()) < 3e-8
    agrees("force that shortens a buckled arch under a load", found.driven["slider"], push, atol=1e-8, unit="N",
           source="boundary-value problem", bound="40 points")  # fmt: skip
    assert found.stable


# -- trees that are cut, and closed by a loop

SOFT = Material(1e6, poisson=0.5, density=1000.0, damping=3e3)
SIDEWAYS = (1.0, 2.0, -9.81)
CORNER = turn(X, 0.7)
PART = 0.25


def arm_in_two(order, cut, n_gauss=16):
    """Two rods in series and a body at the tip; uncut, or the second rod not on the first but closed onto it.

    cut = "base": the second rod is free, its base is closed onto the first; cut = "tip": the body is free, the second
    rod is built from it, backwards.
    """
    varying = Strain(torsion=order, bending=order, elongation=order, shear=order)
    rod = Rod((Division(PART, Circle(0.01), SOFT, varying, quadrature=n_gauss),))
    bob = RigidBody(0.05, centre=(0.02, 0.01, 0.0), inertia=(2e-5, 3e-5, 4e-5))
    first, middle, tip = Link("first", rod), pose(CORNER, (PART, 0.0, 0.0)), pose(CORNER, (2.0 * PART, 0.0, 0.0))
    back, loops = pose(turn(Z, np.pi)), {}
    if cut == "tip":
        links = (first, Link("bob", bob, joint=Joint("free"), at=tip), Link("second", rod, parent="bob", at=back))
        loops["cut"] = Loop(Joint(), Anchor("first"), Anchor("second", at=pose(turn(Z, -np.pi) @ CORNER.T)))
    else:
        second = Link("second", rod, parent="first", at=pose(CORNER))
        if cut == "base":
            second = Link("second", rod, joint=Joint("free"), at=middle)
            loops["cut"] = Loop(Joint(), Anchor("first"), Anchor("second", s=0.0, at=pose(CORNER.T)))
        links = (first, second, Link("bob", bob, parent="second"))
    return Robot(Description(f"arm, cut: {cut}", links, gravity=SIDEWAYS, loops=loops))


def section_wrench(robot, q):
    """Wrench of the section at the tip of the first rod, from its strains."""
    layout, division = robot.engine.layout.links["first"], robot.links[0].rod.divisions[0]
    own, tip = slice(layout.column, layout.column + division.strain.count), np.array([PART])
    return division.line_stiffness(tip)[0] * (division.basis(tip)[0].T @ q[own])


def weight_beyond(uncut, q):
    """What holds the second rod and the body against gravity, at the tip of the first one and in its axes."""
    g = uncut.pose(q, "first")
    links = [Link("second", uncut.links[1].rod, at=g @ pose(CORNER)), Link("bob", uncut.links[2].body, parent="second")]
    own = q[None, uncut.engine.layout.links["second"].column :]
    rest = momenta_at(Robot(Description("rest", tuple(links))), own, 0.0 * own)
    force = rest.mass * np.array(SIDEWAYS)
    return np.concatenate([g[:3, :3].T @ np.cross(rest.centre[0] - g[:3, 3], force), g[:3, :3].T @ force])


CUTS = ("base", "tip")


@pytest.mark.parametrize("cut", CUTS)
def test_an_arm_that_is_cut_and_closed_hangs_as_the_uncut_one(cut):
    uncut, closed = arm_in_two(4, None), arm_in_two(4, cut)
    whole, found = statics(uncut), statics(closed)
    assert whole.tip("bob")[2] < -0.2
    for link in ("first", "bob"):
        error = np.abs(closed.pose(found.q, link) - uncut.pose(whole.q, link)).max()
        assert WORST.note("cut arm at rest [m; rad]", error) < 1e-11
    exact = weight_beyond(uncut, whole.q)
    error = np.abs(found.loop_wrench("cut") - exact).max() / np.abs(exact).max()
    assert WORST.note("cut arm, wrench against the weight", error) < 1e-10
    assert found.stable


def test_the_loop_carries_what_the_section_carries():
    # the weak form fulfils the equilibrium of a section only as far as the basis goes
    errors = []
    for order in (4, 6, 8, 10):
        uncut, found = arm_in_two(order, None, 48), statics(arm_in_two(order, "base", 48))
        section = section_wrench(uncut, statics(uncut).q)
        errors.append(np.abs(found.loop_wrench("cut") - section).max() / np.abs(section).max())
    print("wrench of the loop against that of the section, orders 4 to 10:", " ".join(f"{e:.1e}" for e in errors))
    assert errors[-1] < 1e-4
    assert all(fine < coarse / 3.0 for coarse, fine in pairwise(errors))


T, DT = 0.3, 0.05
# rtol, and the largest distance [m] of the body from where the uncut arm has it
METHODS = {"bdf": (1e-7, 5e-8), "ida": (1e-6, 1e-6), "generalized-alpha": (1e-6, 1e-5)}


@cache
def uncut_swing():
    return run_of(arm_in_two(3, None, 8), T, DT, method="cvode", rtol=1e-9)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("method", [pytest.param(m, marks=pytest.mark.slow) if m == "ida" else m for m in METHODS])
def test_an_arm_that_is_cut_and_closed_swings_as_the_uncut_one(cut, method):
    rtol, most = METHODS[method]
    run, whole = run_of(arm_in_two(3, cut, 8), T, DT, method=method, rtol=rtol), uncut_swing()
    assert np.linalg.norm(whole.tip("bob")[-1] - whole.tip("bob")[0]) > 0.1
    error = np.abs(run.tip("bob") - whole.tip("bob")).max()
    assert WORST.note(f"swinging cut arm, {method} [m]", error) < most
    assert WORST.note(f"swinging cut arm, {method}, drift", run.drift["cut"].max()) < 1e-8


@pytest.mark.parametrize("cut", CUTS)
def test_the_wrench_of_the_loop_moves_what_is_beyond_it(cut):
    # momentum and angular momentum of the second rod and the body: weight, and what the loop does to them
    robot = arm_in_two(3, cut, 8)
    run = run_of(robot, 0.2, 2e-3, method="bdf", rtol=1e-8)
    rest = Robot(Description("rest", robot.links[1:], gravity=SIDEWAYS))
    own = slice(
        robot.engine.layout.links["first"].column + sum(d.strain.count for d in robot.links[0].rod.divisions), None
    )
    h = momenta_at(rest, run.q[:, own], run.qd[:, own])
    wrench, g = run.loop_wrench("cut"), np.array([robot.pose(q, "first") for q in run.q])
    force = -np.einsum("nij,nj->ni", g[:, :3, :3], wrench[:, 3:])
    moment = np.cross(g[:, :3, 3], force) - np.einsum("nij,nj->ni", g[:, :3, :3], wrench[:, :3])
    weight = h.mass * np.array(SIDEWAYS)
    pushed = cumulative_simpson(force + weight, x=run.t, axis=0, initial=0.0)
    turned = cumulative_simpson(moment + np.cross(h.centre, weight), x=run.t, axis=0, initial=0.0)
    # Simpson's rule over the sudden start leaves 1e-5
    for name, given, found in (("momentum", pushed, h.linear), ("angular momentum", turned, h.angular)):
        error = np.abs(found - found[0] - given).max() / np.abs(found).max()
        assert WORST.note(f"beyond the loop, {name}", error) < 1e-4
