"""Equilibria of the parallel robot under random wrenches on its plate, up to 0.5 N and 0.05 N m, as in the paper.

Both kinds of Jacobian must lead to the same equilibrium, and so do starts from other shapes, unless there are several
equilibria: these are counted and said.
"""

import time

import numpy as np
import pytest

import sorosim
from sorosim.analysis.equilibria.statics import statics
from sorosim.base.errors import ConvergenceError
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor

LARGEST = np.repeat([0.05, 0.5], 3)  # N m, N
JACOBIANS = ("analytic", "finite-difference")
# statics solves to 1e-10 of the forces; the softest motion of the plate makes 1e-8 m of that
ALIKE = 1e-8


def loaded(robot, wrench):
    return robot.with_loads(
        push=Wrench(Anchor("plate", frame="middle"), moment=(tuple(wrench))[:3], force=(tuple(wrench))[3:])
    )


def middle(robot, q):
    return (robot.pose(q, "plate") @ robot.links[1].frames["middle"])[:3, 3]


def equilibria(n, n_others, seed=0):
    """Positions of the plate (n, 2, 3), CPU times (n, 2); of the first n_others, where another start led elsewhere."""
    robot, rng = sorosim.load("hybrid_parallel"), np.random.default_rng(seed)
    statics(loaded(robot, LARGEST))  # compile
    places, times, others = np.empty((n, 2, 3)), np.empty((n, 2)), []
    for i in range(n):
        r = loaded(robot, rng.uniform(-1.0, 1.0, size=6) * LARGEST)
        r.engine.closure
        for j, jacobian in enumerate(JACOBIANS):
            begin = time.process_time()
            eq = statics(r, jacobian=jacobian)
            times[i, j] = time.process_time() - begin
            places[i, j] = middle(r, eq.q)
            assert eq.stable
            assert max(max(gap) for gap in r.loop_gaps(eq.q).values()) < 1e-9
        if i < n_others:
            try:
                other = statics(r, q0=0.5 * rng.normal(size=r.ndof))
            except ConvergenceError:
                continue
            away = float(np.linalg.norm(middle(r, other.q) - places[i, 0]))
            if away > ALIKE:
                others.append((i, away, other.stable))
    return places, times, others


def test_both_jacobians_lead_to_the_same_equilibrium():
    places, _, _ = equilibria(10, 0)
    assert np.abs(places[:, 0] - places[:, 1]).max() < ALIKE
    assert np.ptp(places[:, 0], axis=0).max() > 5e-3  # they do move the plate


@pytest.mark.slow
def test_a_thousand_wrenches():
    places, times, others = equilibria(1000, 100)
    apart = np.abs(places[:, 0] - places[:, 1]).max(axis=1)
    several = np.flatnonzero(apart > ALIKE)
    median = 1e3 * np.median(times, axis=0)
    print(f"median CPU time: analytic {median[0]:.1f} ms, differences {median[1]:.1f} ms")
    print(f"the Jacobians lead to different equilibria: {several.tolist()}, largest {apart.max():.1e} m")
    print(f"from another start {len(others)} of 100 lead elsewhere (case, distance [m], stable): {others}")
    assert len(several) == 0
    # most starts half a radian off come back
    assert len(others) < 10
