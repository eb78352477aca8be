"""Newmark's and the generalised-alpha method are of order 2, along the tree, by sparse systems and by matrices."""

import numpy as np
import pytest
from helpers.differences import Worst
from motion.test_steps_on_the_tree import LINKAGE

import sorosim
from sorosim.mechanics.engine import engine
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.joints.prismatic import Prismatic
from sorosim.mechanics.model.joints.revolute import Revolute
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

# halvings of the step; how far the order may be from 2 at the last of them, five times the worst seen
HALVINGS, TOLERANCE = 4, 0.04
RUBBER = Material(1e6, poisson=0.5, density=1000.0, damping=1e3)
WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("orders of steps"))


def tree():
    """A rod on a hinge with two more at its tip."""
    rod, aside = Rod(Division(0.2, Circle(0.01), RUBBER, Strain(torsion=0, bending=1))), np.eye(4)
    aside[:2, :2] = [[0.8, -0.6], [0.6, 0.8]]
    hinge = Revolute(axis=(0, 1, 0), damping=(1e-3,))
    stem, right = Link("stem", rod, joint=hinge), Link("right", rod, parent="stem")
    links = stem, Link("left", rod, parent="stem", at=aside), right
    return Robot(sorosim.Description("tree", links)), 0.1


def linkage():
    """Two rods on hinges, pinned to each other."""
    return sorosim.load(LINKAGE), 0.04


def rods_in_contact():
    """A rod on a slide that sinks onto another one: they stay in contact, whose law is smooth."""
    rod, across = Rod(Division(0.2, Circle(0.01), RUBBER, Strain(bending=1))), np.eye(4)
    across[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    across[:3, 3] = 0.1, -0.1, 0.019
    links = Link("under", rod), Link("above", rod, joint=Prismatic(axis=(0, 0, 1)), at=across)
    touch = sorosim.Contact(among=["under", "above"], law=sorosim.ContactLaw(1e4, damping=1.0))
    return Robot(sorosim.Description("rods", links, loads={"touch": touch})), 0.01


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha"])
@pytest.mark.parametrize("make", [tree, linkage, rods_in_contact])
def test_differences_fall_by_four_as_steps_are_halved(monkeypatch, make, method):
    robot, t_end = make()
    ends, balances = [], []
    for least in (0, 10**9):
        monkeypatch.setattr(engine, "ON_TREE", least)
        monkeypatch.setattr(engine, "ON_SPARSE", least)
        steps = [t_end / (20 * 2**k) for k in range(HALVINGS + 1)]
        options = {"t_end": t_end, "dt_out": t_end, "method": method, "rtol": 1e-10, "atol": 1e-13}
        runs = [sorosim.simulate(robot, step=step, **options) for step in steps]
        ends.append(np.array([run.q[-1] for run in runs]))
        balances.append([run.energy().balance[-1] for run in runs])
        differences = np.abs(np.diff(ends[-1], axis=0)).max(axis=1)
        order = float(np.log2(differences[-2] / differences[-1]))
        assert WORST.note(f"{make.__name__}, {method}", abs(order - 2.0)) <= TOLERANCE
    # the ways differ by what Newton's method leaves, a part of the tolerances
    size = np.abs(ends[1]).max()
    assert WORST.note("states, sparse and dense", np.abs(ends[0] - ends[1]).max() / size) <= 1e-11
    turnover = runs[-1].energy().turnover
    assert WORST.note("energies, sparse and dense", np.abs(np.subtract(*balances)).max() / turnover) <= 5e-12
