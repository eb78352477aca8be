"""Branch points close together and in one place, motions that nothing holds, turns that nothing counts."""

from functools import cache

import numpy as np
import pytest
from numpy.polynomial import Legendre
from numpy.testing import assert_allclose
from scipy.linalg import eigvals
from validation.buckling_robots import LOAD, robot, stiffness

import sorosim

ALONG = f"{LOAD}[0]"
YOUNG, LENGTH = 1e9, 0.5


def euler(inertia, length=LENGTH):
    """Of a column that is clamped and free."""
    return 0.25 * np.pi**2 * YOUNG * inertia / length**2


def arm(section, length=LENGTH, **strain):
    rod = {"length": length, "section": section, "material": "m", "quadrature": 12,
           "strain": {"basis": "legendre", **strain}}  # fmt: skip
    return {"joint": "fixed", "rod": rod}


def pressed(section, **strain):
    load = {"link": "arm", "s": 1.0, "force": [0, 0, 0]}
    return robot("column", links={"arm": arm(section, **strain)}, loads={"load": {"wrench": load}})


STRAINS = [{"bending": 4}, {"bending": 4, "torsion": 2, "elongation": 1},
           {"bending": 4, "torsion": 2, "elongation": 1, "shear": 2}]  # fmt: skip
ROUND, ROUND_INERTIA = {"circle": {"radius": 0.005}}, 0.25 * np.pi * 0.005**4
SQUARE, SQUARE_INERTIA = {"rectangle": {"y": 0.01, "z": 0.01}}, 0.01**4 / 12.0


@pytest.mark.parametrize("strain", STRAINS, ids=["bending", "torsion", "shear"])
@pytest.mark.parametrize(
    ("section", "inertia"), [(ROUND, ROUND_INERTIA), (SQUARE, SQUARE_INERTIA)], ids=["o", "square"]
)
def test_a_column_that_buckles_to_all_sides_has_one_branch_point_and_none_behind_it(section, inertia, strain):
    load = euler(inertia)
    found = sorosim.continuation(pressed(section, **strain), ALONG, to=-2.5 * load, branches=True)
    (point,) = found.points
    # elongation shortens it, shear softens it: both by 1e-3 or less
    assert point.parameter == pytest.approx(-load, rel=1e-4 if len(strain) == 1 else 1e-3)
    assert (point.before.buckling, point.after.buckling) == (0, 2)
    assert len(point.directions) == 2
    assert len(found.branches) == 4
    # the plane one, whose motion across the plane is held
    plane = sorosim.continuation(
        pressed(section, **{f"{k}_y" if k == "bending" else f"{k}_z" if k == "shear" else k: n
                            for k, n in strain.items() if k != "torsion"}), ALONG, to=-2.5 * load, branches=True,
    ).branches[0]  # fmt: skip
    far = np.hypot(*plane.tip()[-1, 1:])
    for branch in found.branches:
        assert branch.complete
        assert branch.message == "reached the end of the range"
        assert not branch.points
        assert branch.stable[1:].all()
        # turned about the axis it is another one, so nothing holds it there; but it does not turn as the load grows
        y, z = branch.tip()[1:, 1:].T
        assert_allclose(np.hypot(y, z)[-1], far, rtol=1e-9)
        assert_allclose(np.unwrap(np.arctan2(z, y)), np.arctan2(z, y)[0], rtol=0, atol=1e-7)
        assert len(branch) <= 2 * len(plane)


@pytest.mark.parametrize("apart", [1e-2, 1e-4])
def test_two_branch_points_in_one_step_are_two(apart):
    section = {"rectangle": {"y": 0.01, "z": 0.01 * (1.0 + apart)}}
    found = sorosim.continuation(pressed(section, bending=4), ALONG, to=-12.0, branches=True)
    weak, strong = found.points
    # of the width b and the thickness h: b^3 h and b h^3
    assert strong.parameter / weak.parameter == pytest.approx((1.0 + apart) ** 2, rel=1e-9)
    assert [(p.before.buckling, p.after.buckling) for p in (weak, strong)] == [(0, 1), (1, 2)]
    assert len(found.branches) == 4
    assert [branch.stable[2:].all() for branch in found.branches] == [True, True, False, False]


def test_two_that_cannot_be_told_apart_are_one_with_both_directions():
    section = {"rectangle": {"y": 0.01, "z": 0.01 * (1.0 + 1e-6)}}
    found = sorosim.continuation(pressed(section, bending=4), ALONG, to=-12.0, branches=True)
    (point,) = found.points
    assert point.after.buckling == 2
    assert len(point.directions) == 2
    assert len(found.branches) == 4


def ritz(n):
    """Loads of a clamped column over Euler's: P int t^2 = EI int t'^2 with t' of n Legendre polynomials, t(0) = 0."""
    x, weight = np.polynomial.legendre.leggauss(2 * n)
    family = [Legendre.basis(k, domain=[0.0, 1.0]) for k in range(n)]
    x, weight = (1.0 + x) / 2.0, weight / 2.0
    bend, turn = (np.array([f(x) for f in row]) for row in (family, [f.integ(lbnd=0.0) for f in family]))
    return np.sort(eigvals((weight * bend) @ bend.T, (weight * turn) @ turn.T).real) / (0.25 * np.pi**2)


@cache
def usual_loads():
    found = sorosim.continuation(pressed({"rectangle": {"y": 0.02, "z": 0.01}}, bending_y=5), ALONG, to=-900.0)
    return [-point.parameter / euler(stiffness(0.01) / YOUNG) for point in found.points]


@pytest.mark.parametrize("steps", [{"ds": 0.5, "ds_max": 0.5}, {"ds": 0.01, "ds_max": 0.02}])
def test_eulers_loads_do_not_depend_on_steps(steps):
    found = sorosim.continuation(pressed({"rectangle": {"y": 0.02, "z": 0.01}}, bending_y=5), ALONG, to=-900.0, **steps)
    assert [point.kind for point in found.points] == ["branch"] * 4
    loads = [-point.parameter / euler(stiffness(0.01) / YOUNG) for point in found.points]
    # of fourth order in the quarter waves between 12 points: 1, 3, 5 and 7
    assert (np.abs(loads / ritz(6)[:4] - 1.0) < 1e-5 * np.array([1, 3, 5, 7]) ** 4).all()
    # located to 1e-10 of a step, the longest of which is half of 55
    assert_allclose(loads, usual_loads(), rtol=0, atol=5e-9)
    assert [point.after.buckling for point in found.points] == [1, 2, 3, 4]


@pytest.mark.parametrize("size", [1e-5, 1e4])
def test_neither_points_nor_branches_depend_on_the_size_of_a_robot(size):
    def at(size):
        section = {"rectangle": {"y": 0.02 * size, "z": 0.01 * size}}
        load = {"link": "arm", "s": 1.0, "force": [0, 0, 0]}
        arms = {"arm": arm(section, LENGTH * size, bending_y=5, elongation=1)}
        column = robot("column", links=arms, loads={"load": {"wrench": load}})
        return sorosim.continuation(column, ALONG, to=-25.0 * size**2, branches=True)

    usual, other = at(1.0), at(size)
    assert other.points[0].parameter == pytest.approx(size**2 * usual.points[0].parameter, rel=1e-12)
    assert len(other.branches) == len(usual.branches) == 2
    for one, same in zip(other.branches, usual.branches, strict=True):
        assert_allclose(one.tip() / size, same.tip(), rtol=0, atol=1e-9)


def two_columns(second=LENGTH):
    section = {"rectangle": {"y": 0.02, "z": 0.01}}
    beside = {**arm(section, second, bending_y=4), "at": {"position": [0, 0.3, 0]}}
    loads = {f"on_{k}": {"wrench": {"link": k, "s": 1.0, "force": [0, 0, 0]}} for k in "ab"}
    return robot("columns", links={"a": arm(section, bending_y=4), "b": beside}, loads=loads)


BOTH = {"loads.on_a.wrench.force[0]": -25.0, "loads.on_b.wrench.force[0]": -25.0}


def test_all_branches_of_a_double_point_are_found():
    found = sorosim.continuation(two_columns(), BOTH, branches=True)
    (point,) = found.points
    assert (point.before.buckling, point.after.buckling) == (0, 2)
    ends = {tuple(np.sign(np.round([branch.tip(k)[-1, 2] for k in "ab"], 6)).astype(int)) for branch in found.branches}
    # either column to either side, or both of them: these are stable, the others are not
    assert ends == {(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)} - {(0, 0)}
    assert len(found.branches) == 8
    for branch in found.branches:
        both = bool((np.abs([branch.tip(k)[-1, 2] for k in "ab"]) > 0.1).all())
        assert branch.complete
        assert branch.stable[2:].all() == both


def test_near_points_of_one_curve_are_not_taken_for_each_other():
    found = sorosim.continuation(two_columns(0.9999 * LENGTH), BOTH, branches=True)
    assert [point.kind for point in found.points] == ["branch", "branch"]
    assert found.points[1].parameter / found.points[0].parameter == pytest.approx(0.9999**-2, rel=1e-9)
    assert len(found.branches) == 4


@pytest.mark.parametrize("apart", [0.0, 1e-3])
def test_a_column_under_a_force_that_follows_it_flutters_in_both_planes(apart):
    arms = {"arm": arm({"rectangle": {"y": 0.01, "z": 0.01 * (1.0 + apart)}}, bending=6)}
    load = {"link": "arm", "s": 1.0, "force": [0, 0, 0], "frame": "body"}
    column = robot("Beck's column", links=arms, loads={"load": {"wrench": load}})
    found = sorosim.continuation(column, ALONG, to=-100.0)
    assert {point.kind for point in found.points} == {"flutter"}
    # Beck 1952: 20.05 EI/L^2, of a thick column less
    loads = [-point.parameter * LENGTH**2 / (YOUNG * SQUARE_INERTIA) for point in found.points]
    assert loads[0] == pytest.approx(20.05, rel=1e-2)
    assert found.points[-1].after.flutter == 2
    if apart:
        assert loads[1] / loads[0] == pytest.approx((1.0 + apart) ** 2, rel=1e-4)
    else:
        assert len(loads) == 1


# -- motions that nothing holds, and turns that nothing counts


def test_a_lamp_that_may_slide_is_followed_where_it_stands():
    lamp = sorosim.load("jumping_lamp")
    found = sorosim.continuation(lamp, "u.ankle", to=0.5)
    assert found.complete
    assert not found.points
    # without friction it may slide; else nothing depends on where it is
    held = sorosim.continuation(lamp, "u.ankle", to=0.5, driven={"along": 0.0})
    assert_allclose(found.q[-1, 1:], held.q[-1, 1:], rtol=0, atol=1e-9)
    assert found.at(0.5)[0].residual_norm < 1e-9


def ball(**joint):
    body = {"mass": 1.0, "centre": [0, 0, 0.5], "inertia": [0.01, 0.01, 0.01]}
    links = {"a": {"joint": {"spherical": {"stiffness": 3.0, **joint}}, "body": body}}
    return sorosim.load({"sorosim": 1, "name": "ball", "gravity": [0, 0, -9.81], "links": links})


def test_a_pole_on_a_ball_falls_to_all_sides_and_stays_on_its_way():
    found = sorosim.continuation(ball(), "links.a.body.mass", to=2.0, begin=0.1, branches=True)
    (point,) = found.points
    assert point.parameter == pytest.approx(3.0 / (9.81 * 0.5), rel=1e-9)  # the spring against the weight
    assert len(found.branches) == 4
    for branch in found.branches:
        assert branch.complete
        assert not branch.points
        assert branch.stable[1:].all()
        turned = np.linalg.norm(branch.q, axis=1)
        # m g l sin a = k a
        assert_allclose(branch.parameter[1:], 3.0 * turned[1:] / (9.81 * 0.5 * np.sin(turned[1:])), rtol=1e-9)
        assert_allclose(branch.q[1:] / turned[1:, None], np.tile(branch.q[-1] / turned[-1], (len(branch) - 1, 1)),
                        rtol=0, atol=1e-7)  # fmt: skip


def pendulum(**joint):
    body = {"mass": 1.0, "centre": [0.5, 0, 0], "inertia": [0.01, 0.01, 0.01]}
    links = {"a": {"joint": {"revolute": {"axis": [0, 1, 0], **joint}}, "body": body}}
    actuators = {"motor": {"joint": {"link": "a"}}}
    return sorosim.load(
        {"sorosim": 1, "name": "pendulum", "gravity": [0, 0, -9.81], "links": links, "actuators": actuators}
    )


def test_a_pendulum_that_has_turned_once_is_where_it_was():
    found = sorosim.continuation(pendulum(), "u.motor", to=10.0, begin=0.0, q0=[np.pi / 2.0])
    assert found.message == "came back to its start"
    assert found.complete
    # the motor holds m g l at most, up and down
    assert [fold.parameter for fold in found.folds] == pytest.approx([4.905, -4.905], rel=1e-10)
    assert abs(found.q[-1, 0] - found.q[0, 0]) == pytest.approx(2.0 * np.pi, abs=1e-12)
    assert_allclose(found.parameter, -4.905 * np.cos(found.q[:, 0]), rtol=0, atol=1e-9)
    # hanging and standing, each once
    assert [eq.stable for eq in found.at(0.0)] == [True, False]
    assert len(found.at(2.0)) == 2


def test_a_spring_counts_turns():
    found = sorosim.continuation(pendulum(stiffness=0.1), "u.motor", to=3.0, begin=0.0, q0=[np.pi / 2.0])
    assert found.message == "reached the end of the range"


def test_a_robot_without_a_free_coordinate_gives_the_torque_that_holds_it():
    links = {"a": {"joint": {"revolute": {"axis": [0, 1, 0]}},
                   "body": {"mass": 1.0, "centre": [0.5, 0, 0], "inertia": [0.01, 0.01, 0.01]}}}  # fmt: skip
    held = sorosim.load({"sorosim": 1, "name": "held", "gravity": [0, 0, -9.81], "links": links})
    found = sorosim.continuation(held, "driven.a", to="90 deg", begin=0.0)
    assert found.complete
    assert_allclose(found.driven["a"], -4.905 * np.cos(found.parameter), rtol=0, atol=1e-12)
