"""Equilibria of the cable manipulator under random tensions from 0 to 100 N, as in the paper.

Why they should all exist and be the only ones: elastic energy is a convex function of the coordinates, and so is
tension times the length of a tendon, for its stretch E xi + d' is affine in them. Without gravity their sum has one
minimum and no other stationary point; the weight of the manipulator is too small to change that. Where it can go wrong
is where a tendon's own line is squeezed to nothing (E xi + d' = 0): there the length has a kink, and the minimum may
sit in it.
"""

import time
from functools import cache

import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose
from validation.cosserat_bvp import TaperedRod, routes_of_the_paper, skew

from sorosim.analysis.equilibria.statics import statics
from sorosim.base.errors import ConvergenceError


@cache
def manipulator():
    return cable_manipulator()


def tensions(n, top=100.0, seed=2024):
    return np.random.default_rng(seed).uniform(0.0, top, size=(n, 5))


def yardstick():
    """CPU time of numpy.linalg.solve on a 48 x 48 system, the best of some."""
    A = np.random.default_rng(0).normal(size=(48, 48))
    times = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(200):
            np.linalg.solve(A, A[0])
        times.append((time.process_time() - start) / 200)
    return min(times)


def solve_all(u, **options):
    """Equilibria (None where there is none) and mean CPU time."""
    statics(manipulator(), u[0], **options)  # compile
    found = []
    start = time.process_time()
    for tension in u:
        try:
            found.append(statics(manipulator(), tension, **options))
        except ConvergenceError:
            found.append(None)
    return found, (time.process_time() - start) / len(u)


def other_starts(u, q, rng):
    """The same equilibrium from the weight alone by raising the tensions, and from two random shapes."""
    by_load = statics(manipulator()).q
    for load in (0.25, 0.5, 0.75, 1.0):
        by_load = statics(manipulator(), load * u, q0=by_load).q
    size = np.where(np.arange(24) < 15, 1.0, 0.05)
    return [by_load, *(statics(manipulator(), u, q0=size * rng.normal(size=24)).q for _ in range(2))]


def check(n, n_differences, rng):
    """Solve n equilibria in every way, assert what must hold, return a report."""
    u = tensions(n)
    found, seconds = solve_all(u)
    assert all(equilibrium is not None for equilibrium in found)
    unit = yardstick()
    stiffness = [np.linalg.eigvalsh(e.tangent_stiffness)[0] for e in found]
    with_load = [e for e in found if "load continuation" in e.message]
    assert all(e.residual_norm < 1e-9 for e in found)  # of terms of some N m
    assert min(stiffness) > 0.0

    apart = [
        np.abs(q - e.q).max() for e, tension in zip(found, u, strict=True) for q in other_starts(tension, e.q, rng)
    ]
    assert max(apart) < 1e-9  # coordinates of up to 10

    differences, seconds_differences = solve_all(u[:n_differences], jacobian="finite-difference")
    for e, other in zip(found, differences, strict=False):
        assert_allclose(other.q, e.q, rtol=0, atol=1e-9)
    counts = [np.mean([e.n_evaluations for e in some]) for some in (found, differences)]
    return (
        f"{n} equilibria with tensions from 0 to 100 N: all converged, {len(with_load)} of them by load continuation; "
        f"{1e3 * seconds:.2f} ms (CPU) and {counts[0]:.1f} evaluations on average, at most "
        f"{max(e.n_evaluations for e in found)}; without analytic Jacobian {1e3 * seconds_differences:.2f} ms and "
        f"{counts[1]:.1f} evaluations; numpy.linalg.solve of a 48 x 48 system takes {1e6 * unit:.0f} us, so one is "
        f"{seconds / unit:.0f} of these ({1e3 * seconds / unit * 17e-6:.2f} ms where it takes 17 us). All are stable "
        f"(smallest eigenvalue of the tangent stiffness {min(stiffness):.3f} to {max(stiffness):.3f}); raising the "
        f"tensions in steps and two random starts each led to the same equilibria, to {max(apart):.0e}."
    )


def test_one_hundred_random_equilibria_converge_and_are_the_only_ones(rng):
    print(check(100, 20, rng))


@pytest.mark.slow
def test_one_thousand_random_equilibria_converge_and_are_the_only_ones(rng):
    print(check(1000, 200, rng))


def test_a_tendon_under_tension_only_adds_stiffness(rng):
    # hence one equilibrium at most without gravity, see above
    robot = manipulator()
    for u in tensions(20):
        q = rng.normal(size=24) * np.where(np.arange(24) < 15, 2.0, 0.1)
        slack = robot.internal_force_derivatives(q, 0 * q).dtau_dq
        added = slack - robot.internal_force_derivatives(q, 0 * q, u=u).dtau_dq
        assert_allclose(added, added.T, rtol=0, atol=1e-12 * np.abs(added).max())
        assert np.linalg.eigvalsh(added)[0] > -1e-12 * np.abs(added).max()


def smallest_stretch(q):
    """Least length |E xi + d'| per unit length of any tendon at any Gauss point."""
    rod = manipulator().links[0].rod.divisions[0]
    X, _, gauss = rod.gauss_points()
    shortest = np.inf
    for x, P, xi in zip(X, rod.basis(X), rod.reference.values(X, rod.length), strict=True):
        for route in routes_of_the_paper(TaperedRod()) if gauss[x == X][0] else []:
            d, slope = route(x)
            v = np.hstack([-skew(d), np.eye(3)]) @ (xi + q @ P) + slope
            shortest = min(shortest, float(np.linalg.norm(v)))
    return shortest


def test_beyond_100_newton_equilibria_end_where_a_tendon_is_squeezed_to_nothing():
    # of 150 with tensions up to 150 N a few fail, each at a load at which some tendon's line has shrunk to a point
    failed = []
    for u in tensions(150, top=150.0):
        try:
            equilibrium = statics(manipulator(), u)
            assert smallest_stretch(equilibrium.q) > 1e-3
        except ConvergenceError as error:
            failed.append(error)
    assert 1 <= len(failed) <= 15
    for error in failed:
        assert "load continuation from the unloaded state stopped at" in str(error)
        assert smallest_stretch(error.partial.q) < 5e-3
        # no fold: the equilibrium before is stable, and stiff
        assert np.linalg.eigvalsh(error.partial.tangent_stiffness)[0] > 0.01
