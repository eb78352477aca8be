"""Statics of large open trees, solved along the tree, against the search with dense matrices; small ones stand in."""

import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import ConvergenceError
from sorosim.mechanics.engine import engine
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints.prismatic import Prismatic
from sorosim.mechanics.model.joints.revolute import Revolute
from sorosim.mechanics.model.joints.spherical import Spherical
from sorosim.mechanics.model.link import WORLD, Link

BODY = RigidBody(0.1, centre=(0.05, 0.0, 0.0), inertia=(1e-5, 1e-4, 1e-4))


@pytest.fixture(autouse=True)
def _along_tree(monkeypatch):
    monkeypatch.setattr(engine, "ON_TREE", 0)


def dense(monkeypatch, robot, **options):
    """The same equilibrium by dense matrices."""
    with monkeypatch.context() as patch:
        patch.setattr(engine, "ON_TREE", 10**9)
        return sorosim.statics(robot, **options)


def hinges(n, stiffness, **description):
    """A chain of n links of 0.1 m on hinges about y."""
    ahead = np.eye(4)
    ahead[0, 3] = 0.1
    joint = Revolute(axis=(0, 1, 0), stiffness=(stiffness,))
    links = [
        Link(f"link{i}", BODY, joint=joint, parent=f"link{i - 1}" if i else WORLD, at=ahead if i else np.eye(4))
        for i in range(n)
    ]
    return sorosim.Robot(Description("hinges", tuple(links), **description))


def test_equilibria_are_those_of_the_dense_search(monkeypatch):
    robot = cable_manipulator()
    u = {name: 0.5 * (i + 1) for i, name in enumerate(robot.actuator_names)}
    found, other = sorosim.statics(robot, u), dense(monkeypatch, robot, u=u)
    assert "along the tree" in found.message
    assert "along the tree" not in other.message
    assert_allclose(found.q, other.q, atol=1e-10 * np.abs(other.q).max())
    assert_allclose(found.tangent_stiffness, other.tangent_stiffness, atol=1e-9 * np.abs(other.tangent_stiffness).max())
    assert found.stiffness is None
    assert other.stiffness is other.tangent_stiffness


@pytest.mark.parametrize("n", [8, 40])
def test_a_chain_that_hangs_down_from_its_side(monkeypatch, n):
    """So long a chain that undamped steps from the start do not converge."""
    robot = hinges(n, 0.3)
    found, other = sorosim.statics(robot), dense(monkeypatch, robot)
    assert_allclose(found.q, other.q, atol=1e-9)
    assert "stable" in found.message
    assert found.stable


def test_a_chain_without_stiffness_hangs_down(monkeypatch):
    """No curve begins at no load: it descends."""
    found = sorosim.statics(hinges(6, 0.0))
    assert_allclose(found.tip("link5")[[0, 2]], [0.0, -0.5], atol=1e-9)


def test_driven_coordinates_stay_where_they_are_put(monkeypatch):
    robot, driven = hinges(8, 0.3), {"link3": 0.7}
    found, other = sorosim.statics(robot, driven=driven), dense(monkeypatch, robot, driven=driven)
    assert found.q[3] == 0.7
    assert_allclose(found.q, other.q, atol=1e-9)
    assert_allclose(found.driven["link3"], other.driven["link3"], atol=1e-9)


def test_the_next_equilibrium_is_followed_from_the_last(monkeypatch):
    robot = hinges(8, 0.3)
    first = sorosim.statics(robot)
    found = sorosim.statics(robot, driven={"link3": 2.0}, q0=first)
    other = dense(monkeypatch, robot, driven={"link3": 2.0}, q0=first)
    assert "load continuation" in found.message
    assert_allclose(found.q, other.q, atol=1e-9)


def test_an_upright_pendulum_falls_if_it_is_to_be_stable():
    up = {"link0.revolute": -0.5 * np.pi}
    robot = hinges(1, 0.0, initial=up)
    assert_allclose(np.sin(sorosim.statics(robot).q), 1.0, atol=1e-12)
    kept = sorosim.statics(robot, stable=False)
    assert_allclose(kept.q, up["link0.revolute"], atol=1e-9)
    assert "unstable" in kept.message
    assert not kept.stable


def test_what_moves_without_a_force_is_neutral():
    """A weight on a ball joint may turn about the vertical."""
    robot = sorosim.Robot(
        Description("bob", (Link("bob", BODY, joint=Spherical()),), initial={"bob.spherical.ry": 1.0})
    )
    found = sorosim.statics(robot)
    assert found.residual_norm <= 1e-12
    assert "neutral" in found.message


def test_what_nothing_holds_falls_without_end():
    robot = sorosim.Robot(Description("bob", (Link("bob", BODY, joint=Prismatic(axis=(0, 0, 1))),)))
    with pytest.raises(ConvergenceError, match=r"falls|moves|down|rest"):
        sorosim.statics(robot)


def test_forces_without_a_potential_leave_stability_open(monkeypatch):
    robot = hinges(6, 0.3, gravity=(0.0, 0.0, 0.0)).with_loads(
        push=Wrench("link5", force=(0.0, 0.0, 0.5), frame="body")
    )
    found, other = sorosim.statics(robot), dense(monkeypatch, robot)
    assert_allclose(found.q, other.q, atol=1e-9)


def test_a_chain_of_thousands_of_links_comes_to_rest(monkeypatch):
    monkeypatch.undo()
    robot = hinges(2000, 0.3)
    found = sorosim.statics(robot)
    assert found.residual_norm <= 1e-9
    # the chain but for its bend at the top hangs straight down
    assert_allclose(found.q[200:], 0.0, atol=1e-6)
    assert found.stiffness is None


def test_files_have_no_matrix_that_was_never_formed(tmp_path):
    found = sorosim.statics(hinges(8, 0.3))
    found.save(tmp_path / "eq.h5")
    opened = sorosim.open(tmp_path / "eq.h5")
    assert opened.stiffness is None
    assert_allclose(opened.tangent_stiffness, found.tangent_stiffness, atol=1e-12)
