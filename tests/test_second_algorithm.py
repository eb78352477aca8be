"""The engine against a second algorithm, and against what mechanics says whatever the algorithm."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from helpers.differences import Worst, best_slope, jacobian, relative_error
from helpers.robots import cable_manipulator, formula, moderate, random_body, random_pose, random_state, varied_tree
from helpers.slow import STEP, SlowTree
from scipy.integrate import solve_ivp

from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.dynamics.energies import PowerEvaluator
from sorosim.mechanics.lie import hat
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import ReferenceStrain, Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.profile import Linear, Table
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

SEEDS = range(100, 116)
# both sides round, and sums over some 50 points cancel in parts
AGREE = 1e-13
STEPS = (0.04, 0.02, 0.01)
RUBBER = Material(2e5, poisson=0.45, density=1100.0, damping=500.0, stiffness_damping=1e-3)

WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("second algorithm and mechanics"))


@pytest.fixture(scope="module", params=SEEDS)
def tree(request):
    robot = varied_tree(request.param)
    return robot, random_state(np.random.default_rng(request.param), robot)


@pytest.fixture(scope="module", params=SEEDS[::2])
def conservative(request):
    """A tree without loads and braking."""
    robot = varied_tree(request.param, loads=False, damping=False)
    return robot, random_state(np.random.default_rng(request.param), robot)


def of_tendons(robot):
    """Which actuators are tendons, (n_actuators,) of booleans."""
    return np.array([isinstance(actuator, Tendon) for actuator in robot.description.actuators.values()], dtype=bool)


def check(kind, ours, theirs, tolerance=AGREE):
    assert WORST.note(kind, relative_error(ours, theirs)) <= tolerance, kind


# -- d'Alembert and Lagrange


def test_mass_matrix_and_inverse_dynamics_are_dalemberts_sums(tree):
    robot, (q, qd, qdd, _) = tree
    slow, zero = SlowTree(robot), np.zeros(robot.ndof)
    assert slow.n == robot.ndof
    check("M against sums", robot.mass_matrix(q), slow.mass_matrix(q))
    for regime, rates, accelerations in (("rest", zero, zero), ("rates", qd, zero), ("all", qd, qdd)):
        ours, theirs = (
            robot.inverse_dynamics(q, rates, qdd=accelerations),
            slow.inverse_dynamics(q, rates, qdd=accelerations),
        )
        check(f"inverse dynamics against sums, {regime}", ours, theirs)


def test_kinematics_are_products_of_exponentials(tree):
    robot, (q, qd, _, _) = tree
    slow = SlowTree(robot)
    (g, J), Jd = slow.kinematics(q), slow.kinematics(q + 1j * STEP * qd)[1].imag / STEP
    ours, points = robot.kinematics(q, qd), robot.engine.layout.points
    check("poses against products", ours.g, g[points])
    check("J against products", ours.J, J[points])
    check("Jd against complex step", ours.Jd, Jd[points])
    check("twists", ours.eta, J[points] @ qd)


@pytest.mark.parametrize("seed", [100, 101, 104, 108, 112])
def test_inverse_dynamics_is_lagranges_equation(seed):
    robot = varied_tree(seed, loads=False, damping=False)
    q, qd, qdd, _ = random_state(np.random.default_rng(seed), robot)
    ours, theirs = robot.inverse_dynamics(q, qd, qdd=qdd), SlowTree(robot).lagrange(q, qd, qdd)
    check("inverse dynamics against Lagrange", ours, theirs)


# -- energies


def test_energies(tree):
    robot, (q, qd, _, _) = tree
    slow, ours = SlowTree(robot), robot.energy(q, qd)
    check("kinetic energy", ours.kinetic, 0.5 * qd @ slow.mass_matrix(q) @ qd)
    check("energy of gravity", ours.gravity, slow.potential(q))
    # the internal force of a passive robot at rest is minus the gradient of its elastic energy, quadratic in q
    zero = np.zeros(robot.ndof)
    by_q = jacobian(lambda x: robot.energy(x, zero).elastic, q, 1.0, 2, moderate(robot))
    check("gradient of the elastic energy", -by_q, robot.internal_force(q, zero), 1e-11)
    assert ours.total == ours.kinetic + ours.elastic + ours.gravity
    assert ours.elastic >= 0.0


def test_gravity_torque_is_the_gradient_of_its_energy(conservative):
    robot, (q, _, _, _) = conservative
    slow, zero = SlowTree(robot), np.zeros(robot.ndof)
    gradient = np.array([slow.potential(q + 1j * STEP * e).imag / STEP for e in np.eye(robot.ndof)])
    check("gravity torque", robot.inverse_dynamics(q, zero, qdd=zero), gradient)


def test_power_is_the_rate_of_energy(conservative):
    """qd . (ID - tau) = dE/dt for any motion; constant tensions have the potential u . lengths."""
    robot, (q, qd, qdd, u) = conservative
    u = u * of_tendons(robot)

    def energy(t):
        x, xd = q + t * qd + 0.5 * t**2 * qdd, qd + t * qdd
        return robot.energy(x, xd).total + u[of_tendons(robot)] @ np.array(list(robot.tendon_lengths(x).values()))

    power = qd @ (robot.inverse_dynamics(q, qd, qdd=qdd) - robot.internal_force(q, 0.0 * qd, u=u))
    # both sides are small differences of large powers
    size = np.abs(qd) @ (
        np.abs(robot.inverse_dynamics(q, qd, qdd=qdd)) + np.abs(robot.internal_force(q, 0.0 * qd, u=u))
    )
    assert WORST.note("power balance", abs(power - best_slope(energy, STEPS, 8)) / size) <= 2e-10


def test_free_motion_loses_what_damping_takes(conservative):
    robot, (q, qd, _, u) = conservative
    qdd = robot.forward_dynamics(q, qd, u=u)
    power = qd @ (robot.inverse_dynamics(q, qd, qdd=qdd) - robot.internal_force(q, 0.0 * qd, u=u))
    damping = robot.internal_force(q, qd, u=u) - robot.internal_force(q, 0.0 * qd, u=u)
    size = np.abs(qd) @ (np.abs(robot.internal_force(q, qd, u=u)) + np.abs(robot.mass_matrix(q)) @ np.abs(qdd))
    assert abs(power - qd @ damping) <= 1e-13 * size
    assert qd @ damping <= 1e-15 * size


def test_powers_of_actuators_loads_and_damping_are_the_rate_of_energy(tree):
    """Along the motion that follows from forward dynamics: dE/dt = power of tendons and loads - damping."""
    robot, (q, qd, _, u) = tree
    q, qd = 0.3 * q, 0.3 * qd
    qdd = robot.forward_dynamics(q, qd, u=u)
    found = PowerEvaluator(robot.engine)(np.zeros(1), q[None], qd[None], np.asarray(u, dtype=float)[None])
    actuators, lost = found.powers()[0]
    # slowly enough for the high accelerations of soft rods
    steps = np.array(STEPS) * min(1.0, np.sqrt(np.abs(qd / qdd).min()))
    rate = best_slope(lambda t: robot.energy(q + t * qd + 0.5 * t**2 * qdd, qd + t * qdd).total, steps, 8)
    size = np.abs(qd) @ (np.abs(robot.inverse_dynamics(q, qd, qdd=0.0 * qd)) + np.abs(robot.internal_force(q, qd, u=u)))
    size += np.abs(qd) @ np.abs(robot.mass_matrix(q)) @ np.abs(qdd)
    assert WORST.note("powers", abs(actuators - lost - rate) / size) <= 1e-8
    assert lost >= 0.0


def test_powers_do_not_depend_on_how_states_lie_in_memory(rng):
    robot = cable_manipulator()
    evaluator, states = PowerEvaluator(robot.engine), 0.1 * rng.normal(size=(5, 2 * robot.ndof))
    u, parts = rng.random((5, robot.engine.n_actuators)), (states[:, : robot.ndof], states[:, robot.ndof :])
    one, other = (evaluator(np.zeros(5), *rows, u).powers() for rows in (map(np.copy, parts), parts))
    np.testing.assert_array_equal(one, other)


# -- mass matrix and forward dynamics


def test_mass_matrix_is_symmetric_positive_definite(tree):
    robot, (q, qd, qdd, _) = tree
    M = robot.mass_matrix(q)
    scale = 1.0 / np.sqrt(np.diag(M))
    np.testing.assert_array_less(np.abs(M - M.T) * np.outer(scale, scale), 5e-13)
    assert scipy.linalg.eigvalsh(M * np.outer(scale, scale))[0] > 1e-12
    check("M of the derivatives", robot.inverse_dynamics_derivatives(q, qd, qdd=qdd).mass_matrix, M)
    # inverse dynamics is affine in qdd
    zero = 0.0 * qdd
    change = robot.inverse_dynamics(q, qd, qdd=qdd) - robot.inverse_dynamics(q, qd, qdd=zero)
    check("ID(qdd) - ID(0) = M qdd", change, M @ qdd, 1e-12)


def test_forward_dynamics_inverts_inverse_dynamics(tree):
    robot, (q, qd, _, u) = tree
    qdd, tau, M = robot.forward_dynamics(q, qd, u=u), robot.internal_force(q, qd, u=u), robot.mass_matrix(q)
    size = (np.abs(M) @ np.abs(qdd)).max()
    error = np.abs(robot.inverse_dynamics(q, qd, qdd=qdd) - tau).max() / size
    assert WORST.note("inverse o forward dynamics", error) <= 1e-13
    scale = 1.0 / np.sqrt(np.diag(M))
    bias = robot.inverse_dynamics(q, qd, qdd=0.0 * qd)
    dense = scale * scipy.linalg.solve(M * np.outer(scale, scale), scale * (tau - bias), assume_a="pos")
    rounding = 1e-16 * np.linalg.cond(M * np.outer(scale, scale))
    error = WORST.note("forward dynamics against a dense solve", relative_error(qdd / scale, dense / scale))
    assert error <= 1e-13 + 30.0 * rounding


# -- invariances


def test_moving_robot_gravity_and_loads_by_one_rotation_changes_nothing(tree):
    robot, (q, qd, qdd, u) = tree
    given, rng = robot.description, np.random.default_rng(robot.ndof)
    G = random_pose(rng, 1.0)
    R = G[:3, :3]

    def turned(load):
        if load.frame == "body":
            return load
        return replace(load, moment=R @ load.moment, force=R @ load.force)

    links = tuple(replace(link, at=G @ link.at) if link.parent == "world" else link for link in given.links)
    loads = {name: turned(load) for name, load in given.loads.items()}
    moved = Robot(replace(given, links=links, gravity=tuple(R @ given.gravity), loads=loads))
    ours, theirs = (
        moved.inverse_dynamics_derivatives(q, qd, qdd=qdd),
        robot.inverse_dynamics_derivatives(q, qd, qdd=qdd),
    )
    for name in ours._fields:
        # a turned robot rounds differently, and terms of derivatives cancel
        check(f"invariance of {name}", getattr(ours, name), getattr(theirs, name), 3e-12)
    check("invariance of J", moved.kinematics(q).J, robot.kinematics(q).J)
    check("poses move along", moved.kinematics(q).g, G @ robot.kinematics(q).g)
    check("invariance of internal forces", moved.internal_force(q, qd, u=u), robot.internal_force(q, qd, u=u))
    check("invariance of kinetic energy", moved.energy(q, qd).kinetic, robot.energy(q, qd).kinetic)


def test_order_of_links_does_not_matter(tree):
    robot, (q, qd, qdd, u) = tree
    given, rng = robot.description, np.random.default_rng(robot.ndof)
    order = rng.permutation(len(given.links))
    shuffled = Robot(replace(given, links=tuple(given.links[i] for i in order)))
    at = np.array([robot.coordinate_names.index(name) for name in shuffled.coordinate_names], dtype=int)
    ours = shuffled.inverse_dynamics_derivatives(q[at], qd[at], qdd=qdd[at])
    theirs = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd)
    check("other order: tau", ours.tau, theirs.tau[at])
    check("other order: dtau_dq", ours.dtau_dq, theirs.dtau_dq[np.ix_(at, at)])
    check("other order: dtau_dqd", ours.dtau_dqd, theirs.dtau_dqd[np.ix_(at, at)])
    check("other order: M", ours.mass_matrix, theirs.mass_matrix[np.ix_(at, at)])
    check(
        "other order: internal force", shuffled.internal_force(q[at], qd[at], u=u), robot.internal_force(q, qd, u=u)[at]
    )


# -- cuts

LENGTH = 0.4
RADII = (0.02, 0.014, 0.009)
BENT = ReferenceStrain(0.5, 1.0, -2.0, 1.02, 0.01, -0.03)
ORDERS = {"torsion": 2, "bending": 3, "elongation": 1, "shear": 2}


def with_company(name, rods, runs):
    """The rods one after the other on a hinge, with a body at the end, one in the middle of the first, and a tendon."""
    hinge = Link(f"{name}0", rods[0], joint=Joint("revolute", axis=(1, 2, 3), stiffness=1.0, rest=0.3), at=random_pose(
        np.random.default_rng(7)))  # fmt: skip
    links, tip = [hinge], f"{name}0"
    for i, rod in enumerate(rods[1:], 1):
        links += [Link(f"ground{i}", None, parent=tip), Link(f"{name}{i}", rod, parent=f"ground{i}")]
        tip = f"{name}{i}"
    at = random_pose(np.random.default_rng(8), 0.05)
    links.append(Link("body", random_body(np.random.default_rng(9)), parent=tip, joint=Joint("prismatic"), at=at))
    follower = Wrench("body", moment=(0.1, 0.2, 0.3), force=(1.0, 2.0, 3.0), frame="body")
    return Robot(Description(name, tuple(links), actuators={"tendon": Tendon(runs)}, loads={"follower": follower}))


def half(radii, **options):
    return Division(
        LENGTH / 2, Circle(Linear(*radii)), RUBBER, Strain(**ORDERS), reference=BENT, quadrature=5, **options
    )


@pytest.fixture(scope="module")
def in_one_piece():
    section = Circle(Table((0.0, 0.5, 1.0), RADII))
    rod = Rod((Division(LENGTH, section, RUBBER, Strain(**ORDERS), reference=BENT, quadrature=5),))
    return with_company("one", [rod], (RouteSegment("one0", y=formula("0.01*cos(9*X/L)"), z=formula("0.4*r", "r")),))


@pytest.fixture(scope="module")
def in_two_divisions():
    rod = Rod((half(RADII[:2]), half(RADII[1:])))
    return with_company("two", [rod], (RouteSegment("two0", y=formula("0.01*cos(9*X/L)"), z=formula("0.4*r", "r")),))


@pytest.fixture(scope="module")
def in_two_rods():
    rods = [Rod((half(RADII[:2]),)), Rod((half(RADII[1:]),))]
    runs = (
        RouteSegment("rod0", y=formula("0.01*cos(9*X/0.4)"), z=formula("0.4*r", "r")),
        RouteSegment("rod1", y=formula("0.01*cos(9*(X + 0.2)/0.4)"), z=formula("0.4*r", "r")),
    )
    return with_company("rod", rods, runs)


def restriction():
    """Coordinates of the two halves from those of the whole: polynomials of a Legendre basis, restricted."""
    y = np.linspace(0.0, 1.0, 20)
    halves = []
    for start in (0.0, 0.5):
        rows = []
        for order, is_angular in ((2, True), (3, True), (3, True), (1, False), (2, False), (2, False)):
            whole = np.polynomial.legendre.legvander(2.0 * (start + y / 2.0) - 1.0, order)
            E = np.linalg.lstsq(np.polynomial.legendre.legvander(2.0 * y - 1.0, order), whole, rcond=None)[0]
            # angular coordinates are scaled by the length of the division
            rows.append(0.5 * E if is_angular else E)
        halves.append(scipy.linalg.block_diag(*rows))
    return scipy.linalg.block_diag(1.0, np.vstack(halves), 1.0)


def test_a_rod_cut_into_two_divisions_moves_as_before(in_one_piece, in_two_divisions, rng):
    one, two, E = in_one_piece, in_two_divisions, restriction()
    assert E.shape == (two.ndof, one.ndof)
    q, qd, qdd, u = random_state(rng, one)
    ours = one.inverse_dynamics_derivatives(q, qd, qdd=qdd)
    theirs = two.inverse_dynamics_derivatives(E @ q, E @ qd, qdd=E @ qdd)
    check("cut: tau", ours.tau, E.T @ theirs.tau)
    for name in ("dtau_dq", "dtau_dqd", "mass_matrix"):
        check(f"cut: {name}", getattr(ours, name), E.T @ getattr(theirs, name) @ E)
    ours, theirs = one.internal_force_derivatives(q, qd, u=u), two.internal_force_derivatives(E @ q, E @ qd, u=u)
    check("cut: internal force", ours.tau, E.T @ theirs.tau)
    check("cut: B", ours.B, E.T @ theirs.B)
    check("cut: internal force by q", ours.dtau_dq, E.T @ theirs.dtau_dq @ E)
    for s in (0.0, 0.2, 0.5, 0.61, 1.0):
        check("cut: pose", one.pose(q, "one0", s=s), two.pose(E @ q, "two0", s=s))
        check("cut: jacobian", one.jacobian(q, "one0", s=s), two.jacobian(E @ q, "two0", s=s) @ E)


def test_a_tendon_over_two_rods_is_one_over_a_rod_cut_in_two(in_two_divisions, in_two_rods, rng):
    one, two = in_two_divisions, in_two_rods
    q, qd, qdd, u = random_state(rng, one)
    ours, theirs = one.internal_force_derivatives(q, qd, u=u), two.internal_force_derivatives(q, qd, u=u)
    for name in ours._fields:
        check(f"two rods: internal force, {name}", getattr(ours, name), getattr(theirs, name))
    check("two rods: tendon length", one.tendon_lengths(q)["tendon"], two.tendon_lengths(q)["tendon"])
    ours, theirs = one.inverse_dynamics_derivatives(q, qd, qdd=qdd), two.inverse_dynamics_derivatives(q, qd, qdd=qdd)
    for name in ours._fields:
        check(f"two rods: inverse dynamics, {name}", getattr(ours, name), getattr(theirs, name))


# -- order of the Magnus steps


def bent_rod(n_panels):
    """A rod whose section has n_panels - 1 spurious kinks, so that its points lie in as many equal panels."""
    knots = tuple(float(s) for s in np.linspace(0.0, 1.0, n_panels + 1))
    section = Circle(Table(knots, (0.01,) * len(knots)))
    rod = Rod((Division(1.0, section, RUBBER, Strain(bending=3, torsion=2, shear=1, elongation=1), quadrature=4),))
    return Robot(Description("rod", (Link("rod", rod),)))


def test_poses_converge_with_the_fourth_power_of_the_segments(rng):
    coarse = bent_rod(1)
    q = np.array([1.0 if "torsion" in name or "bending" in name else 0.2 for name in coarse.coordinate_names])
    q *= rng.uniform(0.5, 1.5, size=len(q))
    division = coarse.links[0].rod.divisions[0]

    def slope(X, g):
        xi = q @ division.basis([X])[0] + division.reference.values([X], 1.0)[0]
        return (g.reshape(4, 4) @ hat(xi)).ravel()

    path = solve_ivp(slope, (0.0, 1.0), np.eye(4).ravel(), method="DOP853", rtol=1e-13, atol=1e-14)
    exact = path.y[:, -1].reshape(4, 4)
    errors = [np.abs(bent_rod(n).pose(q, "rod") - exact).max() for n in (8, 16, 32)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    print("errors of Magnus steps, observed orders:", errors, orders)
    np.testing.assert_allclose(orders, 4.0, atol=0.05)


# -- tendons


def test_actuation_matrix_is_minus_the_gradient_of_the_lengths(tree):
    robot, (q, qd, _, u) = tree
    lengths = jacobian(lambda x: np.array(list(robot.tendon_lengths(x).values())), q, (0.1, 0.05), 8, moderate(robot))
    tendons = of_tendons(robot)
    check("B against lengths", robot.internal_force_derivatives(q, qd, u=u).B[:, tendons], -lengths.T, 1e-10)
    assert list(robot.tendon_lengths(q)) == [n for n, yes in zip(robot.actuator_names, tendons, strict=True) if yes]


def test_pulled_tendons_stiffen_their_rods(tree):
    robot, (q, _, _, u) = tree
    u, qd = u * of_tendons(robot), 0.0 * q
    pulled = robot.internal_force_derivatives(q, qd, u=u).dtau_dq - robot.internal_force_derivatives(q, qd).dtau_dq
    # the difference of two stiffnesses keeps their rounding
    rounding = 1e-15 * np.abs(robot.internal_force_derivatives(q, qd).dtau_dq).max()
    assert np.abs(pulled - pulled.T).max(initial=0.0) <= rounding
    assert scipy.linalg.eigvalsh(pulled)[-1] <= 10.0 * rounding


def test_tendon_length_is_that_of_the_curve_in_space(rng):
    # dense points of the curve p + R d; chords and quadrature are both finer than the tolerance
    robot = cable_manipulator(orders=(2, 2, 1, 1), n_gauss=12)
    q = 0.5 * moderate(robot) * rng.normal(size=robot.ndof)
    s = np.linspace(0.0, 1.0, 1601)
    g = robot.poses(q, "arm", s=s)
    d = 0.015 * np.stack([0.0 * s, np.sin(4.0 * np.pi * s), np.cos(4.0 * np.pi * s)], axis=-1)
    curve = g[:, :3, 3] + np.einsum("nij,nj->ni", g[:, :3, :3], d)
    fine, coarse = (np.linalg.norm(np.diff(curve[::k], axis=0), axis=1).sum() for k in (1, 2))
    length = fine + (fine - coarse) / 3.0
    check("tendon length against its curve", robot.tendon_lengths(q)["cable4"], length, 1e-6)
