"""Statics of robots whose distant parts are coupled, by sparse systems, against dense matrices; small ones stand in."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sorosim
from sorosim.analysis.solvers.damped_newton import PROBES, DampedNewton
from sorosim.base.errors import ConvergenceError
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.engine import engine
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.joints.prismatic import Prismatic
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

RUBBER = Material(20e6, poisson=0.45, density=1100.0)
RADIUS, DEPTH = 5e-3, 5e-4


def both(monkeypatch, robot, **options):
    """Its equilibrium by sparse systems and by matrices."""
    found = []
    for least in (0, 10**9):
        monkeypatch.setattr(engine, "ON_TREE", least)
        monkeypatch.setattr(engine, "ON_SPARSE", least)
        found.append(sorosim.statics(robot, **options))
    assert "solved" in found[0].message
    assert "solved" not in found[1].message
    return found


def ropes(n, strain):
    """Two ropes of n rods, clamped side by side at one end: the one lies on a plane and the other one on it."""
    links, rod = [], Rod(Division(0.5 / n, Circle(RADIUS), RUBBER, strain))
    for rope, height in (("under", RADIUS - DEPTH), ("above", 3.0 * RADIUS - 2.0 * DEPTH)):
        at = np.eye(4)
        at[2, 3] = height
        links += [
            Link(f"{rope}{i}", rod, parent=f"{rope}{i - 1}" if i else WORLD, at=np.eye(4) if i else at)
            for i in range(n)
        ]
    under, above = ([f"{rope}{i}" for i in range(n)] for rope in ("under", "above"))
    law = sorosim.ContactLaw(stiffness=1e4)
    floor = sorosim.Contact(under + above, {"half_space": {}}, law=law)
    loads = {"ropes": sorosim.Contact(under, above, law=law), "floor": floor}
    return Robot(sorosim.Description("ropes", tuple(links), loads=loads))


@pytest.mark.parametrize(
    "name", ["fin_ray", "hybrid_parallel", "stewart_soft", "soft_ring", "four_bar", "slider_crank"]
)
def test_loops_and_the_smallest_multipliers_are_those_of_dense_matrices(monkeypatch, name):
    found, other = both(monkeypatch, sorosim.load(name))
    assert "by sparse systems" in found.message
    assert_allclose(found.q, other.q, atol=1e-9 * np.abs(other.q).max())
    assert_allclose(found.lam, other.lam, atol=1e-9 * np.abs(other.lam).max())
    assert found.stable
    assert "stable" in found.message


def test_springs_between_links_and_tendons_of_given_length(monkeypatch):
    rod = Rod(Division(0.2, Circle(0.01), RUBBER, Strain(torsion=0, bending=1)))
    names = "first", "second", "third"
    links = tuple(Link(name, rod, parent=before) for name, before in zip(names, (WORLD, *names), strict=False))
    pull = Tendon(tuple(RouteSegment(name, y=0.005, z=0.0) for name in names), stiffness=1e4)
    band = Spring(Anchor("first", s=0.5), Anchor("third"), stiffness=20.0, rest=0.1)
    robot = Robot(sorosim.Description("finger", links, actuators={"pull": pull}, loads={"band": band}))
    found, other = both(monkeypatch, robot, u={"pull": "10 mm"})
    assert "by sparse systems" in found.message
    assert_allclose(found.q, other.q, atol=1e-9 * np.abs(other.q).max())


def test_ropes_that_lie_on_each_other(monkeypatch):
    robot = ropes(3, Strain(bending_y=0, elongation=0, shear_z=0))
    found, other = both(monkeypatch, robot)
    assert "by sparse systems" in found.message
    assert "stable" in found.message
    assert_allclose(found.q, other.q, atol=1e-9 * np.abs(other.q).max())


def test_a_rope_that_may_roll_off_another_one_does(monkeypatch):
    """The first equilibrium is unstable, which no factor tells."""
    robot = ropes(2, Strain(torsion=0, bending=0, elongation=0, shear=0))
    found, other = both(monkeypatch, robot)
    # to either side
    assert_allclose(np.abs(found.q), np.abs(other.q), atol=1e-8 * np.abs(other.q).max())
    straight, _ = both(monkeypatch, robot, stable=False)
    assert np.abs(straight.q).max() < 0.1 * np.abs(found.q).max()
    assert "unstable" in straight.message


def test_loops_that_are_open_are_closed_along_the_tree(monkeypatch):
    robot = sorosim.load("four_bar")
    q0 = robot.initial_q + np.array([0.0, 0.05, -0.05])
    found, other = both(monkeypatch, robot, q0=q0)
    assert_allclose(found.q, other.q, atol=1e-9)


def test_the_next_equilibrium_under_loops_is_followed_from_the_last(monkeypatch):
    robot = sorosim.load("hybrid_parallel")
    first = sorosim.statics(robot)
    u = dict(zip(robot.actuator_names, 1.1 * first.u, strict=True))
    found, other = both(monkeypatch, robot, u=u, q0=first)
    assert_allclose(found.q, other.q, atol=1e-9 * np.abs(other.q).max())


def test_a_search_that_fails_names_what_is_out_of_balance(monkeypatch):
    monkeypatch.setattr(engine, "ON_SPARSE", 0)
    closed = sorosim.load("four_bar").description
    bob = Link("bob", RigidBody(2.0, inertia=(0.1, 0.1, 0.1)), joint=Prismatic(axis=(0, 1, 0)))
    robot = Robot(replace(closed, links=(*closed.links, bob), gravity=(0.0, -9.81, 0.0)))
    with pytest.raises(ConvergenceError, match=r"'bob.prismatic' of 'bob' is 19.6 N out of balance") as caught:
        sorosim.statics(robot)
    assert caught.value.report.link == "bob"


class Dense:
    """A matrix as the search wants it; the metric is the unit matrix."""

    is_certain = False

    def __init__(self, matrix):
        self.matrix, self.n, self.damped = matrix, len(matrix), matrix

    def factor(self, damping, definite):
        self.damped = self.matrix + damping * np.eye(self.n)
        return True

    def solve(self, right):
        return np.linalg.solve(self.damped, right)

    def weigh(self, dx):
        return dx, 1.0


@pytest.mark.parametrize("lowest", [-1e-3, -0.1, -0.7, -7.0, -300.0, 0.1])
def test_motions_along_which_a_matrix_is_indefinite_are_found(rng, lowest):
    Q = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    matrix = Q @ np.diag([lowest, *np.geomspace(0.1, 1e4, 59)]) @ Q.T
    search = DampedNewton(Dense(matrix))
    assert all(search.factor(damping, True) for damping in PROBES) == (lowest > 0.0)
