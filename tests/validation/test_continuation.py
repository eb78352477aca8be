"""Continuation against exact columns, shooting, published loads, and motions: buckling, snapping, flutter."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from validation.buckling_robots import (
    HINGE,
    LEES_YOUNG,
    LOAD,
    WIDTH,
    YOUNG,
    arch,
    column,
    lees_frame,
    stiffness,
    tendon_arch,
    zieglers_column,
)
from validation.columns import thick_flutter
from validation.folds import Frame, bent, buckled
from validation.planar_network import Beam

import sorosim

L = 0.5
EI = stiffness(0.01)
ALONG = f"{LOAD}[0]"


# -- columns


CLAMPED_PINNED = brentq(lambda x: np.tan(x) - x, 4.4, 4.6, xtol=1e-15)  # Timoshenko and Gere, 2.3
ENDS = {
    "clamped-free": ("fixed", None, np.pi / 2.0),
    "pinned-pinned": (HINGE, HINGE, np.pi),
    "clamped-pinned": ("fixed", HINGE, CLAMPED_PINNED),
    "clamped-clamped": ("fixed", "fixed", 2.0 * np.pi),
}


@cache
def straight(ends):
    base, tip, root = ENDS[ends]
    euler = root**2 * EI / L**2
    found = sorosim.continuation(column(base, tip), ALONG, -1.5 * euler, begin=-0.5 * euler, branches=True)
    return found, euler


@pytest.mark.parametrize("ends", ENDS)
def test_eulers_load_is_a_branch_point(ends):
    found, euler = straight(ends)
    (point,) = found.points
    # inextensible, order 13: what is left are 40 points of integration, the fourth power of waves a segment
    error = point.parameter / -euler - 1.0
    print(f"{ends}: {point.parameter:.9g} N, Euler {-euler:.9g}, error {error:.1e}")
    assert point.kind == "branch"
    assert abs(error) < 2e-5
    assert (point.before.buckling, point.after.buckling) == (0, 1)
    assert found.complete
    assert len(found.branches) == 2


@pytest.mark.parametrize("ends", ["clamped-free", "pinned-pinned", "clamped-clamped"])
def test_branches_that_leave_eulers_load_are_the_elastica(ends):
    found, euler = straight(ends)
    sides = []
    for branch in found.branches:
        assert branch.complete
        assert branch.stable[1:].all()
        for p in (1.05, 1.2, 1.45):
            (eq,) = branch.at(-p * euler)
            assert eq.residual_norm < 1e-9
            along, across = buckled(p)
            # halves and quarters of the others are columns that are clamped and free
            far = {"clamped-free": across, "pinned-pinned": 0.5 * across, "clamped-clamped": 0.5 * across}[ends]
            s = 1.0 if ends == "clamped-free" else 0.5
            assert eq.robot.pose(eq.q, "arm")[0, 3] == pytest.approx(along * L, abs=5e-5 * L)
            middle = eq.robot.pose(eq.q, "arm", s)[2, 3]
            assert abs(middle) == pytest.approx(far * L, abs=1e-4 * L)
            sides.append(np.sign(middle))
    assert sides[:3] == [-x for x in sides[3:]]


def test_an_imperfect_column_follows_its_elastica_past_eulers_load():
    robot, euler = column("fixed", curvature=0.1), 0.25 * np.pi**2 * EI / L**2
    found = sorosim.continuation(robot, ALONG, -3.0 * euler, begin=-0.2 * euler)
    assert not found.points
    assert found.stable.all()
    tips = np.array([bent(-p * L**2 / EI, 0.1 * L) for p in found.parameter])
    # of 40 points, as above
    assert_allclose(found.tip()[:, 0], L * tips[:, 0], rtol=0, atol=3e-6 * L)
    assert_allclose(found.tip()[:, 2], -L * tips[:, 1], rtol=0, atol=3e-6 * L)


def test_a_column_that_is_pressed_the_other_way_of_its_imperfection_comes_from_a_fold():
    robot, euler = column("fixed", curvature=0.02, n_gauss=16), 0.25 * np.pi**2 * EI / L**2
    start = -1.5 * euler
    other = sorosim.statics(robot, q0=sorosim.continuation(robot, ALONG, start, begin=0.0).q[-1])
    mirrored = -other.q if abs(other.q).max() > 0.1 else -sorosim.continuation(robot, ALONG, start, begin=0.0).q[-1]
    found = sorosim.continuation(robot, ALONG, 0.0, begin=start, q0=mirrored, until=(start, 0.0))
    (fold,) = found.folds
    assert fold.parameter < -euler
    assert found.stable[: fold.row + 1].all()
    assert not found.stable[fold.row + 1 :].any()
    assert len(found.at(0.5 * (fold.parameter + start))) == 2


# -- arches and frames


def reactions(found, fold, loop):
    """Force on the base [x, z] from that of the loop and the load."""
    pull = found.equilibrium(fold).loop_wrench(loop)[3:]
    return np.array([pull[0], pull[2]])


@pytest.mark.parametrize("half_angle", [0.15])
def test_both_limit_loads_of_a_shallow_arch_are_those_of_shooting(half_angle):
    robot = arch(half_angle)
    found = sorosim.continuation(robot, f"{LOAD}[2]", -120.0, begin=0.0)
    assert [point.kind for point in found.points] == ["fold", "fold"]
    assert "".join(kind[0] for kind in found.kind).strip("s").strip("b") == ""  # stable, buckling, stable
    EA = YOUNG * WIDTH * 0.01
    half = Beam(half_angle, EA, np.inf, EI, kappa=-1.0)
    frame = Frame((half, half), (half_angle, 0.0), 0, (2.0 * np.sin(half_angle), 0.0))
    loads = []
    for fold in found.folds:
        end = reactions(found, fold, "pin")
        angle = -fold.q[0]
        # the part beyond pulls at the start with what the world gives at the end and the load
        guess = np.array([angle, end[0], end[1] + fold.parameter])
        loads.append(-frame.fold(guess, -fold.parameter))
    print("arch:", [fold.parameter for fold in found.folds], loads)
    # 16 points a half
    assert_allclose([fold.parameter for fold in found.folds], loads, rtol=0, atol=2e-5 * abs(loads[0]))


@cache
def lee():
    return sorosim.continuation(lees_frame(), f"{LOAD}[2]", -3e4, begin=0.0)


@pytest.mark.slow
def test_lees_frame_has_its_published_limit_load_and_that_of_shooting():
    found = lee()
    assert found.complete
    assert [point.kind for point in found.points] == ["fold", "fold"]
    area, inertia, G = 6e-4, 2e-8, LEES_YOUNG / 2.6
    parts = [Beam(length, LEES_YOUNG * area, G * area, LEES_YOUNG * inertia) for length in (1.2, 0.24, 0.96)]
    frame = Frame(parts, (0.5 * np.pi, -0.5 * np.pi, 0.0), 1, (1.2, 1.2))
    loads = []
    for fold in found.folds:
        end = reactions(found, fold, "pin")
        loads.append(-frame.fold(np.array([-fold.q[0], end[0], end[1] + fold.parameter]), -fold.parameter))
    ours = [fold.parameter for fold in found.folds]
    print("Lee's frame [N]:", ours, loads, "in t:", np.array(ours) / 9806.65)
    # 40 points a member
    assert_allclose(ours, loads, rtol=3e-5)
    # Lee, Manuel and Rossow 1968; of the elements of many authors since: 1.85 to 1.86 t at 720 t/cm^2
    assert -1.86 < ours[0] / 9806.65 < -1.85


@pytest.mark.slow
def test_lees_frame_snaps_back():
    found = lee()
    down = -found.tip("short")[:, 2]
    first, second = (fold.row for fold in found.folds)
    # the place under the load goes back up while the load falls
    assert down[first + 1 : second + 1].min() < down[first : second + 1].max()
    assert (np.diff(down) < 0.0).any()
    assert not found.stable[first + 1 : second + 1].any()
    assert found.stable[second + 1 :].all()


# -- a tendon that snaps a rod


@cache
def pulled():
    return sorosim.continuation(tendon_arch(), "u.cord", 600.0)


def test_a_tendon_snaps_an_arch_at_the_fold_and_lets_go_at_the_other():
    found = pulled()
    first, second = found.folds
    assert first.parameter > 2.0 * second.parameter > 0.0
    between = 0.5 * (first.parameter + second.parameter)
    three = found.at(between)
    assert [eq.stable for eq in three] == [True, False, True]
    # statics in the middle of nowhere finds one of these
    q = sorosim.statics(found.robot, {"cord": between}).q
    assert min(np.abs(q - eq.q).max() for eq in three) < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize(("part", "snaps"), [(0.99, False), (1.01, True)])
def test_the_arch_itself_snaps_at_the_tension_of_the_fold(part, snaps):
    found = pulled()
    robot, limit = found.robot, found.folds[0].parameter
    before = found.at(0.98 * limit)[0]
    run = sorosim.simulate(robot, 1.0, 0.01, {"cord": part * limit}, q0=before.q, method="bdf")
    states = found.at(part * limit)
    assert len(states) == (1 if snaps else 3)
    assert_allclose(run.positions("arm", 0.5)[-1], robot.pose(states[0].q, "arm", 0.5)[:3, 3], rtol=0, atol=1e-4)
    crown = run.positions("arm", 0.5)[:, 2]
    assert (crown.min() < 0.0) == snaps


# -- flutter


def test_becks_column_flutters_at_20_05():
    robot = column("fixed", frame="body", thickness=0.001, order=8, n_gauss=40)
    found = sorosim.continuation(robot, ALONG, -50.0 * stiffness(0.001) / L**2)
    (point,) = found.points
    load = -point.parameter * L**2 / stiffness(0.001)
    exact = thick_flutter(0.001 / np.sqrt(12.0) / L, 1e-12, 1e-12)
    print(f"Beck's column: {load:.6f}, exact {exact:.6f}")
    assert point.kind == "flutter"
    assert found.kind[0] == "stable"
    assert set(found.kind[point.row + 1 :]) == {"flutter"}
    assert load == pytest.approx(exact, rel=2e-5)
    assert load == pytest.approx(20.05, abs=0.01)
    # frequencies meet at omega^2 T^2 = 121.3 (Beck 1952: omega T = 11.016)
    T = np.sqrt(1000.0 * 0.001 * WIDTH * L**4 / stiffness(0.001))
    assert 2.0 * np.pi * point.frequency * T == pytest.approx(11.016, abs=2e-3)


@pytest.mark.parametrize(("damping", "load"), [(0.0, 3.5 - np.sqrt(2.0)), (0.01, 41.0 / 28.0)])
def test_zieglers_column_flutters_earlier_with_a_little_damping(damping, load):
    # Ziegler 1952: 7/2 - sqrt(2) = 2.086 without, 41/28 = 1.464 with vanishing damping; 0.01 adds its square over two
    found = sorosim.continuation(zieglers_column(damping), ALONG, -4.0)
    (point,) = found.points
    assert point.kind == "flutter"
    assert -point.parameter == pytest.approx(load + 0.5 * damping**2, rel=1e-9 if damping == 0.0 else 1e-6)


def test_what_flutters_buckles_only_later_and_without_a_branch():
    found = sorosim.continuation(zieglers_column(), ALONG, -8.0)
    # the frequencies squared of the two motions are complex between 7/2 - sqrt(2) and 7/2 + sqrt(2), negative beyond
    assert [point.kind for point in found.points] == ["flutter", "stability"]
    assert -found.points[1].parameter == pytest.approx(3.5 + np.sqrt(2.0), rel=1e-8)
    assert found.kind[-1] == "buckling"
    assert found.unstable[-1] == 2
