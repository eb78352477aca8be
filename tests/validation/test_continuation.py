"""Continuation against exact columns, shooting, published loads, and motions: buckling, snapping, flutter."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from validation.buckling_robots import (
    CRANK,
    FOOT,
    HINGE,
    LEES_YOUNG,
    LOAD,
    SPRING,
    WIDTH,
    YOUNG,
    arch,
    column,
    crank_moment,
    lees_frame,
    robot,
    sprung_crank,
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
    found = sorosim.continuation(column(base, tip), ALONG, to=-1.5 * euler, begin=-0.5 * euler, branches=True)
    return found, euler


# inextensible, order 13: what is left are 40 points of integration, the fourth power of waves a segment
EULER = {"clamped-free": 1e-6, "pinned-pinned": 2e-6, "clamped-pinned": 6e-6, "clamped-clamped": 2e-5}


@pytest.mark.parametrize("ends", ENDS)
def test_eulers_load_is_a_branch_point(agrees, ends):
    found, euler = straight(ends)
    (point,) = found.points
    assert point.kind == "branch"
    what = f"branch point of a {ends} column"
    agrees(what, -point.parameter, euler, rtol=EULER[ends], unit="N", source="Euler's load", bound="40 points")
    assert (point.before.buckling, point.after.buckling) == (0, 1)
    assert found.complete
    assert len(found.branches) == 2


def test_a_chain_of_bars_buckles_at_the_eigenvalues_of_its_springs(agrees):
    n, bar, spring = 40, 0.025, 1.0
    joint = {"revolute": {"axis": [0, 1, 0], "stiffness": spring}}
    body = {"mass": 0.01, "centre": [bar / 2.0, 0, 0], "inertia": [1e-6, 1e-6, 1e-6]}
    link = {"joint": joint, "body": body, "frames": {"end": {"position": [bar, 0, 0]}}}
    links = {f"l{i}": {**({"parent": f"l{i - 1}", "at": {"frame": "end"}} if i else {}), **link} for i in range(n)}
    load = {"link": f"l{n - 1}", "at": {"frame": "end"}, "force": [0, 0, 0]}
    chain = robot("chain", links=links, loads={"load": {"wrench": load}})
    # turned by a_i from the axis, bars have k (2 a_i - a_(i-1) - a_(i+1)) = P bar a_i, a_0 = 0 and a_(n+1) = a_n
    exact = 4.0 * spring / bar * np.sin((2.0 * np.arange(5) + 1.0) * np.pi / (4.0 * n + 2.0)) ** 2
    found = sorosim.continuation(chain, ALONG, to=-1.02 * exact[-1], branches=True)
    assert [point.after.buckling for point in found.points] == [1, 2, 3, 4, 5]
    assert len(found.branches) == 10
    loads = [-point.parameter for point in found.points]
    agrees("branch points of a chain of 40 bars", loads, exact, rtol=1e-11, unit="N", source="eigenvalues, closed form")


@pytest.mark.parametrize("ends", ["clamped-free", "pinned-pinned", "clamped-clamped"])
def test_branches_that_leave_eulers_load_are_the_elastica(agrees, ends):
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
            tip, middle = eq.robot.pose(eq.q, "arm")[0, 3], eq.robot.pose(eq.q, "arm", s=s)[2, 3]
            what, source = "up to 1.45 times Euler's load", "elastica, elliptic integrals"
            for name, ours, exact, most in (("ends", tip, along, 2.5e-5), ("deflections", abs(middle), far, 5e-5)):
                agrees(f"{name} of buckled columns, {what}", ours, exact * L, atol=most, unit="m", source=source,
                       bound="40 points")  # fmt: skip
            sides.append(np.sign(middle))
    assert sides[:3] == [-x for x in sides[3:]]


def test_an_imperfect_column_follows_its_elastica_past_eulers_load(agrees):
    robot, euler = column("fixed", curvature=0.1), 0.25 * np.pi**2 * EI / L**2
    found = sorosim.continuation(robot, ALONG, to=-3.0 * euler, begin=-0.2 * euler)
    assert not found.points
    assert found.stable.all()
    tips = L * np.array([bent(-p * L**2 / EI, 0.1 * L) for p in found.parameter]) * [1.0, -1.0]
    # of 40 points, as above
    what = "tip of an imperfect column, up to 3 times Euler's load"
    agrees(what, found.tip()[:, [0, 2]], tips, atol=2e-7, unit="m", source="elastica, elliptic integrals",
           bound="40 points")  # fmt: skip


def test_a_column_that_is_pressed_the_other_way_of_its_imperfection_comes_from_a_fold():
    robot, euler = column("fixed", curvature=0.02, n_gauss=16), 0.25 * np.pi**2 * EI / L**2
    start = -1.5 * euler
    other = sorosim.statics(robot, q0=sorosim.continuation(robot, ALONG, to=start, begin=0.0).q[-1])
    mirrored = -other.q if abs(other.q).max() > 0.1 else -sorosim.continuation(robot, ALONG, to=start, begin=0.0).q[-1]
    found = sorosim.continuation(robot, ALONG, to=0.0, begin=start, q0=mirrored, until=(start, 0.0))
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
def test_both_limit_loads_of_a_shallow_arch_are_those_of_shooting(agrees, half_angle):
    robot = arch(half_angle)
    found = sorosim.continuation(robot, f"{LOAD}[2]", to=-120.0, begin=0.0)
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
    # 16 points a half
    ours = [fold.parameter for fold in found.folds]
    agrees("limit loads of a shallow arch, there and back", ours, loads, rtol=2e-5, unit="N", source="shooting",
           bound="16 points a half")  # fmt: skip


@cache
def lee():
    return sorosim.continuation(lees_frame(), f"{LOAD}[2]", to=-3e4, begin=0.0)


@pytest.mark.slow
def test_lees_frame_has_its_published_limit_load_and_that_of_shooting(agrees):
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
    # 40 points a member
    for which, one, load in zip(("first", "second"), ours, loads, strict=True):
        agrees(f"{which} limit load of Lee's frame", one, load, rtol=3e-5, unit="N", source="shooting",
               bound="40 points a member")  # fmt: skip
    # of the elements of many authors since: 1.85 to 1.86 t at 720 t/cm^2
    published = "Lee, Manuel & Rossow 1968, as computed since"
    agrees(
        "first limit load of Lee's frame, published", -ours[0] / 9806.65, 1.855, atol=5e-3, unit="t", source=published
    )


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
    return sorosim.continuation(tendon_arch(), "u.cord", to=600.0)


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


CROWN = ("arm", 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("part", "snaps"), [(0.99, False), (1.01, True)])
def test_the_arch_itself_snaps_at_the_tension_of_the_fold(agrees, part, snaps):
    found = pulled()
    robot, limit = found.robot, found.folds[0].parameter
    before = found.at(0.98 * limit)[0]
    run = sorosim.simulate(robot, 1.0, dt_out=0.01, u={"cord": part * limit}, q0=before.q, method="bdf")
    states = found.at(part * limit)
    assert len(states) == (1 if snaps else 3)
    arrives(agrees, run, robot, states[0].q)
    crown = run.positions(*CROWN)[:, 2]
    assert (crown.min() < 0.0) == snaps


@pytest.mark.slow
@pytest.mark.parametrize(("part", "snaps"), [(1.01, False), (0.99, True)])
def test_the_arch_itself_snaps_back_where_the_cord_has_let_go(agrees, part, snaps):
    found = pulled()
    robot, (first, second) = found.robot, (fold.parameter for fold in found.folds)
    begin = 1.5 * second
    assert begin < first
    # lowered in a second, then held: slowly beside its oscillations, of which the slowest takes 20 ms
    tension = f"{begin!r} + {part * second - begin!r}*smoothstep(t)"
    run = sorosim.simulate(robot, 2.0, dt_out=0.01, u={"cord": tension}, q0=found.at(begin)[-1].q, method="bdf")
    states = found.at(part * second)
    assert len(states) == (1 if snaps else 3)
    arrives(agrees, run, robot, states[-1].q)
    crown = run.positions(*CROWN)[:, 2]
    assert crown[0] < 0.0
    assert (crown.max() > 0.0) == snaps


def arrives(agrees, run, robot, q):
    """Where a run ends the crown is that of an equilibrium."""
    what = "crown of an arch that a cord snaps down, and that snaps back: simulated"
    end = robot.pose(q, CROWN[0], s=CROWN[1])[:3, 3]
    agrees(what, run.positions(*CROWN)[-1], end, atol=1e-9, unit="m", source="the curve of equilibria beside its folds")


# -- curves that cross


def test_a_crank_pressed_along_itself_gives_way_at_a_transcritical_point(agrees):
    # the spring beside it is not symmetric: the branch crosses p = p_c with a slope, unlike those of columns
    load = {"link": "crank", "at": {"frame": "end"}, "force": [0, 0, 0]}
    robot = sprung_crank(0.5 * np.pi, loads={"load": {"wrench": load}})
    found = sorosim.continuation(robot, f"{LOAD}[2]", to=-60.0, branches=2)
    (point,) = found.points
    # length of the spring over the turn, to second order: l0 + l1 x + l2 x^2/2
    length = np.hypot(CRANK, FOOT)
    first = -CRANK * FOOT / length
    second = -(first**2) / length
    source = "energy of the spring"
    agrees("transcritical point of a sprung crank", -point.parameter, SPRING * first**2 / CRANK, rtol=1e-9, unit="N",
           source=source)  # fmt: skip
    assert point.kind == "branch"
    assert (point.before.buckling, point.after.buckling) == (0, 1)
    (direction,) = point.directions
    # second derivatives are differences of first ones, steps of 1e-4
    slope = 1.5 * SPRING * first * second / CRANK
    agrees("slope of the branch of a sprung crank", -direction[-1] / direction[0], slope, rtol=1e-6, unit="N/rad",
           source=source)  # fmt: skip
    # the spring is as long after half a turn: the branch goes all around, past the crank pulled upside down
    (branch,) = found.branches
    assert branch.message == "came back to its start"
    # from there the crank in line with the load, upside down; back at the start nothing leaves that is not known
    assert len(branch.branches) == 2
    for one in branch.branches:
        assert_allclose(np.abs(one.q[:, 0]), np.pi, rtol=0, atol=1e-9)
    turn, p = branch.q[1:, 0], -branch.parameter[1:]
    exact = [crank_moment(x, 0.5 * np.pi) / (CRANK * np.sin(x)) for x in turn]
    agrees("loads on the branch of a sprung crank", p, exact, rtol=1e-9, unit="N", source=source)
    kinds = [one.kind for one in branch.points]
    assert (kinds.count("branch"), kinds.count("fold")) == (2, 2)
    for one in branch.points:
        if one.kind == "branch":
            # at the end where it comes back it is located by what begins to grow
            assert abs(one.parameter) == pytest.approx(-point.parameter, rel=1e-9)
    # beside the point its part under larger loads is stable, that under lower ones is not
    near = np.abs(p + point.parameter) < 3.0
    beside = near & (np.cos(turn) > 0.9)
    assert beside.sum() > 3
    assert (branch.stable[1:][beside] == (p[beside] > -point.parameter)).all()


# -- flutter


def test_becks_column_flutters_at_20_05(agrees):
    robot = column("fixed", frame="body", thickness=0.001, order=8, n_gauss=40)
    found = sorosim.continuation(robot, ALONG, to=-50.0 * stiffness(0.001) / L**2)
    (point,) = found.points
    load = -point.parameter * L**2 / stiffness(0.001)
    exact = thick_flutter(0.001 / np.sqrt(12.0) / L, 1e-12, 1e-12)
    assert point.kind == "flutter"
    assert found.kind[0] == "stable"
    assert set(found.kind[point.row + 1 :]) == {"flutter"}
    agrees("flutter load of Beck's column, P L^2/EI", load, exact, rtol=2e-5, source="Timoshenko beam, determinant",
           bound="40 points")  # fmt: skip
    agrees(
        "flutter load of Beck's column, published", load, 20.05, atol=5e-3, source="Beck 1952", bound="digits printed"
    )
    # frequencies meet at omega^2 T^2 = 121.3 (Beck 1952: omega T = 11.016)
    T = np.sqrt(1000.0 * 0.001 * WIDTH * L**4 / stiffness(0.001))
    omega = 2.0 * np.pi * point.frequency * T
    agrees("frequency at which Beck's column flutters, omega T", omega, 11.016, atol=5e-4, source="Beck 1952",
           bound="digits printed")  # fmt: skip


@pytest.mark.parametrize(("damping", "load"), [(0.0, 3.5 - np.sqrt(2.0)), (0.01, 41.0 / 28.0)])
def test_zieglers_column_flutters_earlier_with_a_little_damping(agrees, damping, load):
    # Ziegler 1952: 7/2 - sqrt(2) = 2.086 without, 41/28 = 1.464 with vanishing damping; 0.01 adds its square over two
    found = sorosim.continuation(zieglers_column(damping), ALONG, to=-4.0)
    (point,) = found.points
    assert point.kind == "flutter"
    what = "with vanishing damping" if damping else "without damping"
    agrees(
        f"flutter load of Ziegler's column {what}, P L/k", -point.parameter, load + 0.5 * damping**2,
        rtol=1e-6 if damping else 1e-9, source="Ziegler 1952",
    )  # fmt: skip


def test_what_flutters_buckles_only_later_and_without_a_branch(agrees):
    found = sorosim.continuation(zieglers_column(), ALONG, to=-8.0)
    # the frequencies squared of the two motions are complex between 7/2 - sqrt(2) and 7/2 + sqrt(2), negative beyond
    assert [point.kind for point in found.points] == ["flutter", "stability"]
    later = -found.points[1].parameter
    agrees(
        "load at which Ziegler's column ceases to flutter", later, 3.5 + np.sqrt(2.0), rtol=1e-8, source="Ziegler 1952"
    )
    assert found.kind[-1] == "buckling"
    assert found.unstable[-1] == 2
