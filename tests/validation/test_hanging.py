"""What hangs on joints at rest: chains of rigid links and soft rods, bodies on strings, all in exact shapes."""

import numpy as np
import pytest
from helpers.differences import Worst
from numpy.testing import assert_allclose
from scipy.integrate import solve_bvp
from validation.motions import ASKEW, MOMENTS, X, Y, Z, oblique_body, pose, turn

from sorosim.analysis.equilibria.statics import statics
from sorosim.mechanics.lie import log_so3
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

G = 9.81
WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("hanging"))


# -- rigid links


def hanging_chain(n, force=0.0):
    """Pendulums of mass 1, 2, .. kg, 30 cm from hinge to hinge, the centres half-way; a force along x at the end."""
    at, links = pose(p=(0.0, 0.0, -0.3)), []
    for i in range(n):
        body = RigidBody(1.0 + i, centre=(0.0, 0.0, -0.15), inertia=(0.01, 0.01, 0.01))
        where = {"parent": f"link{i - 1}", "at": at} if i else {}
        links.append(Link(f"link{i}", body, joint=Joint("revolute", axis=Y), **where))
    links.append(Link("end", None, parent=links[-1].name, at=at))
    return Robot(Description("chain", tuple(links), loads={"pull": Wrench("end", force=(force, 0, 0))}))


@pytest.mark.parametrize("force", [0.0, 15.0])
def test_chain_hangs_with_angles_nearest_to_the_start(rng, force):
    n = 5
    robot, mass = hanging_chain(n, force), np.arange(1.0, n + 1.0)
    # moment about each hinge: the force at the end against half the own weight and all that is below
    below = G * (np.cumsum(mass[::-1])[::-1] - 0.5 * mass)
    exact = np.diff(-np.arctan2(force, below), prepend=0.0)
    for turns in rng.integers(-3, 4, size=(4, n)):
        start = exact + 2.0 * np.pi * turns + rng.uniform(-0.3, 0.3, size=n)
        found = statics(robot, q0=start)
        assert found.stable
        assert WORST.note("hanging chain [rad]", np.abs(found.q - exact - 2.0 * np.pi * turns).max()) < 1e-12
    # from far away any equilibrium may be found; its angles are nearest to the start
    start = rng.uniform(-20.0, 20.0, size=n)
    assert np.abs(statics(robot, q0=start).q - start).max() <= np.pi


FORCES = np.array([[3.0, -4.0, 1.0], [-2.0, 1.0, 5.0], [0.5, 6.0, 2.0]])
HOOKS = np.array([[0.3, 0.0, 0.1], [-0.1, 0.2, 0.3], [0.0, 0.25, -0.2]])


@pytest.mark.parametrize("size", [0.3, 3.1, 4.5, 6.0])
def test_body_pulled_by_strings_takes_the_rotation_of_least_energy(rng, size):
    # -sum F . R r over all rotations is least at the orthogonal factor of sum F r^T (Wahba's problem)
    body = oblique_body(0.5, MOMENTS, (0.0, 0.0, -0.2), ASKEW)
    hooks = [Link(f"hook{i}", None, parent="body", at=pose(p=r)) for i, r in enumerate(HOOKS)]
    pulls = {
        f"pull{i}": Wrench(f"hook{i}", moment=((0, 0, 0, *F))[:3], force=((0, 0, 0, *F))[3:])
        for i, F in enumerate(FORCES)
    }
    link = Link("body", body, joint=Joint("spherical"), at=pose(ASKEW, (0.3, -0.2, 0.5)))
    robot = Robot(Description("strings", (link, *hooks), loads=pulls))
    B = FORCES.T @ HOOKS + np.outer([0.0, 0.0, -0.5 * G], body.centre)
    U, _, Vt = np.linalg.svd(B)
    exact = U @ np.diag([1.0, 1.0, np.linalg.det(U) * np.linalg.det(Vt)]) @ Vt
    axis = rng.normal(size=3)
    # a small turn away, written as a rotation vector of any size
    q = log_so3(ASKEW.T @ exact) + 0.3 * axis / np.linalg.norm(axis)
    q *= 1.0 + 2.0 * np.pi * np.round((size - np.linalg.norm(q)) / (2.0 * np.pi)) / np.linalg.norm(q)
    found = statics(robot, q0=q)
    assert found.stable
    assert np.linalg.norm(found.q) <= np.pi
    R = robot.pose(found.q, "body")[:3, :3]
    assert WORST.note("strings, rotation", np.abs(R - exact).max()) < 1e-13


@pytest.mark.parametrize("centre", [(0.0, 0.0, -0.3), (0.1, 0.2, -0.3)])
def test_body_hangs_from_a_spherical_joint(rng, centre):
    # any turn about the vertical is as good; hybr may also find the body upside down
    body = RigidBody(2.0, centre=centre, inertia=(0.1, 0.1, 0.1))
    robot = Robot(Description("lamp", (Link("lamp", body, joint=Joint("spherical")),)))
    for q0 in 0.3 * rng.normal(size=(20, 3)):
        found = statics(robot, q0=q0)
        assert "singular" in found.message
        assert np.linalg.norm(found.q) <= np.pi
        c = robot.pose(found.q, "lamp")[:3, :3] @ body.centre
        assert_allclose(c, np.sign(c[2]) * np.linalg.norm(centre) * Z, atol=1e-12)


# -- with soft rods in between

BAR, WEIGHT = (0.3, 0.2), (0.1, 0.08)  # length and mass of the first and the last link
SOFT = Division(0.5, Circle(0.01), Material(2e5, poisson=0.5, density=1000.0),
                Strain(torsion=0, bending=12, elongation=12, shear=12), quadrature=48)  # fmt: skip
PULL = 0.5


def soft_chain(kind, direction):
    """Bar, soft rod, weight, joined by hinges or universal joints; pulled sideways at the end."""
    bodies = [RigidBody(m, centre=(a / 2.0, 0.0, 0.0), inertia=(1e-5, 1e-4, 1e-4)) for a, m in (BAR, WEIGHT)]
    joint = Joint(kind, axis=Y, **({"second_axis": Z} if kind == "universal" else {}))
    links = (
        Link("bar", bodies[0], joint=joint, at=pose(turn(Y, np.pi / 2.0))),
        Link("rod", Rod((SOFT,)), joint=joint, parent="bar", at=pose(p=(BAR[0], 0.0, 0.0))),
        Link("weight", bodies[1], joint=joint, parent="rod"),
        Link("end", None, parent="weight", at=pose(p=(WEIGHT[0], 0.0, 0.0))),
    )
    pull = Wrench("end", moment=((0, 0, 0, *(PULL * direction)))[:3], force=((0, 0, 0, *(PULL * direction)))[3:])
    return Robot(Description("soft chain", links, loads={"pull": pull}))


def exact_chain(s):
    """Position (outwards, up) of the rod's sections at s and of the end; every joint passes a known force on."""
    _, EI, _, EA, _, GA = SOFT.line_stiffness([0.0])[0]
    line = G * SOFT.line_inertia([0.0])[0, 3]
    below = WEIGHT[1] * G

    def along(angle):
        return np.array([np.sin(angle), -np.cos(angle)])

    def slope(x, state):
        angle, moment = state[:2]
        t, n = along(angle), np.array([np.cos(angle), np.sin(angle)])
        down = -below - line * (SOFT.length - x)
        tension, shear = PULL * t[0] + down * t[1], PULL * n[0] + down * n[1]
        N, Q = 1.0 + tension / EA, shear / GA
        return np.stack([moment / EI, Q * tension - N * shear, *(N * t + Q * n)])

    start = BAR[0] * along(np.arctan2(PULL, 0.5 * BAR[1] * G + line * SOFT.length + below))
    x = np.linspace(0.0, SOFT.length, 40)
    guess = np.stack([np.arctan2(PULL, below + line * (SOFT.length - x)), 0.0 * x, start[0] + 0.0 * x, start[1] - x])
    found = solve_bvp(slope, lambda a, b: [a[1], b[1], *(a[2:] - start)], x, guess, tol=1e-10, max_nodes=10000)
    assert found.success
    rod = found.sol(s * SOFT.length)[2:].T
    return rod, rod[-1] + WEIGHT[0] * along(np.arctan2(PULL, 0.5 * WEIGHT[1] * G))


@pytest.mark.parametrize(("kind", "azimuth"), [("revolute", 0.0), ("universal", 0.0), ("universal", 0.6)])
def test_soft_chain_hangs_in_its_exact_shape_of_least_energy(agrees, kind, azimuth, rng):
    outwards = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    robot, s = soft_chain(kind, outwards), np.linspace(0.0, 1.0, 11)
    found = statics(robot)
    rod, end = exact_chain(s)
    path = robot.poses(found.q, "rod", s=s)[:, :3, 3]
    assert (
        WORST.note("soft chain, rod [m]", np.abs(path - np.outer(rod[:, 0], outwards) - np.outer(rod[:, 1], Z)).max())
        < 5e-8
    )
    error = np.abs(robot.pose(found.q, "end")[:3, 3] - end[0] * outwards - end[1] * Z).max()
    agrees(
        "chain of soft rods at rest, end, distance",
        WORST.note("soft chain, end [m]", error),
        0.0,
        atol=1e-8,
        unit="m",
        bound="48 points",
        source="boundary-value problem",
    )

    def potential(q):
        return robot.energy(q, 0.0 * q).total - PULL * outwards @ robot.pose(q, "end")[:3, 3]

    # the tangent stiffness is the curvature of the potential energy, upwards in every direction
    assert found.stable
    K, least = found.tangent_stiffness, potential(found.q)
    assert np.linalg.eigvalsh(0.5 * (K + K.T))[0] > 0.0
    for _ in range(20):
        d = rng.normal(size=robot.ndof)
        d *= np.sqrt(2e-6 / (d @ K @ d))
        rise = 0.5 * (potential(found.q + d) + potential(found.q - d)) - least
        assert WORST.note("soft chain, curvature of the energy", abs(rise / 1e-6 - 1.0)) < 3e-8


def test_soft_chain_hangs_straight_and_stretched():
    robot = soft_chain("universal", 0.0 * X)
    found = statics(robot)
    EA, line, L = SOFT.line_stiffness([0.0])[0, 3], G * SOFT.line_inertia([0.0])[0, 3], SOFT.length
    s = np.linspace(0.0, 1.0, 11)
    x = s * L
    exact = -BAR[0] - x - (WEIGHT[1] * G * x + line * (L * x - 0.5 * x**2)) / EA
    path = robot.poses(found.q, "rod", s=s)[:, :3, 3]
    assert WORST.note("stretched chain [m]", np.abs(path - np.outer(exact, Z)).max()) < 1e-8
