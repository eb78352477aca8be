"""`sorosim.continuation` and its result: there and back, invariance, branches, options, mistakes, files, pictures."""

import csv
import pickle
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from validation.buckling_robots import (
    HINGE,
    LOAD,
    arch,
    column,
    crank_moment,
    sprung_crank,
    stiffness,
    tendon_arch,
    zieglers_column,
)

import sorosim
from sorosim.base.errors import ConvergenceError, FileError, InputError

ALONG = f"{LOAD}[2]"
EULER = 0.25 * np.pi**2 * stiffness(0.01) / 0.5**2


@cache
def snapping():
    return sorosim.continuation(arch(0.15, n_gauss=8), ALONG, to=-120.0, begin=0.0)


@cache
def buckling():
    robot = column("fixed", order=5, n_gauss=12)
    return sorosim.continuation(robot, f"{LOAD}[0]", to=-2.0 * EULER, branches=True)


def same_folds(one, other, factor=1.0, rtol=1e-10):
    assert len(one) == len(other) > 0
    for a, b in zip(one, other, strict=True):
        assert a.parameter == pytest.approx(factor * b.parameter, rel=rtol)
        # along the curve a fold is where the parameter stands still: a place to the root of that
        assert_allclose(a.q, b.q, rtol=0, atol=1e-7)


def test_every_row_is_an_equilibrium():
    found = snapping()
    assert found.complete
    assert found.parameter[0] == 0.0
    assert found.parameter[-1] == -120.0
    for i in (0, 3, len(found) // 2, -1):
        eq = found.equilibrium(i)
        assert eq.residual_norm < 1e-8
        assert_allclose(eq.q, found.q[i], rtol=0, atol=1e-12)
        assert eq.stable == found.stable[i]
    # and of the robot under that load, found without continuation
    loaded = found.path.robot(float(found.parameter[2]))
    assert_allclose(sorosim.statics(loaded, q0=found.q[2]).q, found.q[2], rtol=0, atol=1e-9)


def test_the_way_back_is_the_same_curve():
    on, robot = snapping(), snapping().robot
    back = sorosim.continuation(robot, ALONG, to=0.0, begin=-120.0, q0=on.q[-1])
    same_folds(on.folds, back.folds[::-1])
    assert_allclose(back.q[-1], on.q[0], rtol=0, atol=1e-10)
    for p in (-60.0, -30.0, -5.0):
        for one, other in zip(on.at(p), back.at(p)[::-1], strict=True):
            assert_allclose(one.q, other.q, rtol=0, atol=1e-9)


def test_both_ways_from_the_middle_are_the_same_curve():
    on, robot = snapping(), snapping().robot
    middle = on.at(-30.0)[1]
    assert not middle.stable
    found = sorosim.continuation(robot, ALONG, to=-120.0, begin=-30.0, q0=middle, both=True, until=(-120.0, 0.0))
    folds = found.folds if np.allclose(found.q[0], on.q[0], atol=1e-6) else found.folds[::-1]
    same_folds(on.folds, folds)
    assert (np.diff(found.arclength) > 0.0).all()
    assert [point.row for point in found.points] == sorted(point.row for point in found.points)
    for point in found.points:
        assert found.arclength[point.row] <= point.arclength <= found.arclength[point.row + 1]


@pytest.mark.parametrize("steps", [{"ds": 0.005, "ds_max": 0.03}, {"ds": 0.1, "ds_max": 0.3}])
def test_folds_do_not_depend_on_steps(steps):
    found = sorosim.continuation(snapping().robot, ALONG, to=-120.0, begin=0.0, **steps)
    same_folds(snapping().folds, found.folds)


def test_folds_do_not_depend_on_how_the_way_is_measured():
    robot = snapping().robot
    longer = sorosim.continuation(robot, ALONG, to=-1000.0, begin=0.0)
    same_folds(snapping().folds, longer.folds)
    mapped = sorosim.continuation(robot, {ALONG: (0.0, -120.0)})
    same_folds(snapping().folds, mapped.folds, -120.0)
    assert mapped.parameter[-1] == 1.0
    assert mapped.values()[-1] == -120.0


def test_a_path_of_several_things():
    # stiffness, load and elasticity by the same factor: nothing moves
    robot = column("fixed", order=3, n_gauss=8, curvature=0.5)
    start = sorosim.statics(robot)
    found = sorosim.continuation(robot, {"materials.m.young": (1e9, 2e9), f"{LOAD}[0]": (-10.0, -20.0)})
    assert_allclose(found.q, found.q[0] * np.ones((len(found), 1)), rtol=0, atol=1e-9)
    assert np.abs(found.q[0] - start.q).max() > 1e-3
    assert_allclose(found.values("materials.m.young"), 1e9 * (1.0 + found.parameter))


def test_a_driven_coordinate_gives_the_force_that_it_needs():
    # a slider presses a straight column: the force is that of the load which does the same
    robot = column(HINGE, HINGE, order=6, n_gauss=24, curvature=0.05)
    found = sorosim.continuation(robot, "driven.slider", to="-10 cm", begin=-1e-4)
    assert found.complete
    assert not found.points
    i = len(found) // 2
    by_force = sorosim.continuation(robot, f"{LOAD}[0]", to=1.01 * found.driven["slider"][i], begin=-1.0, q0=found.q[i])
    (eq,) = [e for e in by_force.at(found.driven["slider"][i]) if abs(e.q[-1] - found.q[i, -1]) < 1e-6]
    assert_allclose(eq.q, found.q[i], rtol=0, atol=1e-6)


def test_branches_follow_once_and_again():
    found = buckling()
    (point,) = found.points
    assert [branch.parameter[0] for branch in found.branches] == pytest.approx([point.parameter] * 2)
    assert_allclose(found.branches[0].q, -found.branches[1].q, rtol=0, atol=1e-6)
    again = found.switch(point, max_points=5)
    assert [len(branch) for branch in again] == [6, 6]
    assert_allclose(again[0].q[1], found.branches[0].q[1], rtol=0, atol=1e-12)
    assert found.switch(0)[0].points == ()
    # two buckled ones and the straight one
    assert [eq.stable for eq in found.at(-1.5 * EULER, branches=True)] == [False, True, True]
    assert len(found.at(-0.5 * EULER, branches=True)) == 1
    assert len(found.curves()) == 3


def test_a_branch_that_joins_two_branch_points_is_followed_once():
    # a higher arch: it leans to a side before its limit load, and comes back upright upside down
    found = sorosim.continuation(arch(0.2, n_gauss=8), ALONG, to=-200.0, begin=0.0, branches=2)
    first, last = (point for point in found.points if point.kind == "branch")
    assert abs(first.parameter) < abs(found.folds[0].parameter)
    (branch,) = found.branches
    assert branch.message == "came back to its start"
    assert not branch.branches
    # there the leaning one turns from one side to the other: its load is extreme, and both curves cross
    for point in branch.points:
        assert point.kind in ("fold", "branch")
        assert min(abs(point.parameter - end.parameter) for end in (first, last)) < 1e-6
    assert len(branch.points) == 4
    # the same on both sides
    assert len(branch.at(0.0)) == 2


@pytest.mark.parametrize(
    ("name", "along", "begin", "to"),
    [
        ("cable_manipulator", "u.cable1", 0.0, 30.0),
        ("contact_cylinder", "u.cable1", 0.0, 10.0),
        ("fin_ray", "driven.right1", 0.0, 0.01),
    ],
)
def test_curves_of_bundled_robots_end_where_statics_does(name, along, begin, to):
    robot = sorosim.load(name)
    found = sorosim.continuation(robot, along, to=to, begin=begin)
    kind, own = along.split(".")
    eq = sorosim.statics(robot, **{kind: {own: to}})
    assert found.complete
    assert_allclose(found.q[-1], eq.q, rtol=0, atol=1e-8 * max(np.abs(eq.q).max(), 1.0))
    for needed, force in eq.driven.items():
        assert found.driven[needed][-1] == pytest.approx(force, rel=1e-7)


def test_flutter_has_a_mode_and_a_frequency():
    (point,) = sorosim.continuation(zieglers_column(), f"{LOAD}[0]", to=-3.0).points
    # the mean of the squares of the frequencies, (7/2 - p)/2 at p = 7/2 - sqrt(2), masses 2 and 1
    assert (2.0 * np.pi * point.frequency) ** 2 == pytest.approx(np.sqrt(2.0) / 2.0, rel=1e-5)
    assert point.mode.shape == (2,)
    assert point.oscillation is not None


def test_options_end_a_curve():
    robot = snapping().robot
    few = sorosim.continuation(robot, ALONG, to=-120.0, begin=0.0, max_points=5)
    assert (len(few), few.complete) == (5, False)
    until = sorosim.continuation(robot, ALONG, to=-120.0, begin=0.0, until=(-10.0, 50.0))
    assert until.parameter[-1] == -10.0
    seen = []
    stopped = sorosim.continuation(robot, ALONG, to=-120.0, begin=0.0, stop=lambda p, q: seen.append(p) or p < -40.0)
    assert stopped.parameter[-1] == seen[-1] < -40.0
    assert seen[-2] >= -40.0
    blind = sorosim.continuation(robot, ALONG, to=-120.0, begin=0.0, stability=False)
    same_folds(snapping().folds, blind.folds)
    assert set(blind.kind) == {"unknown"}
    with pytest.raises(InputError, match="stability=True"):
        _ = blind.stable


@pytest.mark.parametrize("both", [False, True])
def test_a_curve_that_cannot_go_on_says_why_and_keeps_what_there_is(both):
    robot = column("fixed", order=3, n_gauss=8, curvature=0.5)
    with pytest.raises(
        ConvergenceError, match=r"steps became too small, at .*young: expected .*greater than 0"
    ) as error:
        sorosim.continuation(robot, "materials.m.young", to=-1e9, until=(-1e9, 2e9), both=both)
    # the end that stopped, not the other one
    assert float(re.search(r"materials\.m\.young = (\S+)", str(error.value))[1]) < 1e6
    assert len(error.value.partial) > 3
    assert error.value.partial.parameter[-1] < 1e6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"along": "u.cord", "to": 1.0}, "there are none"),
        ({"along": "loads.lead.wrench.force[2]", "to": 1.0}, "did you mean"),
        ({"along": ALONG}, "to: expected where"),
        ({"along": ALONG, "to": "3 cm"}, "got '3 cm', a length"),
        ({"along": ALONG, "to": 1.0, "max_points": 2.5}, "a whole number"),
        ({"along": ALONG, "to": 1.0, "stop": 3}, "stop"),
        ({"along": ALONG, "to": 0.0, "begin": 0.0}, "let it begin"),
        ({"along": "materials.m.poisson", "to": "3 kittens"}, "kittens"),
        ({"along": {ALONG: 1.0}, "to": 1.0}, "the mapping has the ends"),
        ({"along": {ALONG: (1.0, 2.0, 3.0)}}, "a pair"),
        ({"along": {}}, "an empty mapping"),
        ({"along": ALONG, "to": 1.0, "until": (2.0, 3.0)}, "until"),
        ({"along": ALONG, "to": 1.0, "until": 3.0}, "until"),
        ({"along": ALONG, "to": 1.0, "ds": 0.0}, "ds"),
        ({"along": ALONG, "to": 1.0, "max_points": 1}, "max_points"),
        ({"along": "driven.slider", "to": 1.0}, "slider"),
        ({"along": {ALONG: None}}, "to: expected where"),
        ({"along": [ALONG], "to": 1.0}, "got list"),
        ({"along": "", "to": 1.0}, "along: expected"),
        ({"along": ALONG, "to": 1.0, "branches": "yes"}, "branches: expected a whole number"),
        ({"along": ALONG, "to": 1.0, "branches": 1.5}, "branches"),
        ({"along": ALONG, "to": 1.0, "branches": -1}, "branches"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(arguments, said):
    with pytest.raises(InputError, match=said) as error:
        sorosim.continuation(snapping().robot, **arguments)
    assert "\n" not in str(error.value)


def test_switching_needs_a_branch_point():
    with pytest.raises(InputError, match="a branch point, got a fold"):
        snapping().switch(0)
    with pytest.raises(InputError, match="a number of one of 2 points"):
        snapping().switch(7)
    with pytest.raises(InputError, match="options"):
        buckling().switch(0, steps=3)
    with pytest.raises(InputError, match="until"):
        buckling().switch(0, until=(0.0, 1.0))


def test_copies_are_the_same():
    found = pickle.loads(pickle.dumps(buckling()))
    assert np.array_equal(found.q, buckling().q)
    assert len(found.at(-1.5 * EULER)) == 1


def test_statics_beyond_a_limit_load_points_here():
    # x - x^3 = 0.5 p has its fold at 0.7698; the curve is cut off on both sides
    from sorosim.analysis.solvers.equilibrium import solve_equilibrium
    from sorosim.analysis.solvers.newton import StaticProblem

    def residual(x, p):
        return np.where((x > -0.2) & (x < 0.7), x - x**3 - 0.5 * p, np.nan)

    def jacobian(x, p):
        return residual(x, p), np.array([[1 - 3 * x[0] ** 2]])

    problem = StaticProblem(residual, jacobian, lambda x, p: (*jacobian(x, p), np.array([-0.5])), np.zeros(1))
    found = solve_equilibrium(problem, np.array([0.6]))
    assert not found.success
    assert "past 1 folds, the first at 76.98 % of it" in found.message


@pytest.mark.parametrize(
    ("blocks", "u"),
    [
        pytest.param({}, {"motor": 20.0}, id="input", marks=pytest.mark.slow),
        pytest.param({"statics": {"u": {"motor": 20.0}}}, None, id="input of the file", marks=pytest.mark.slow),
        pytest.param(
            {"actuators": {"motor": {"joint": {"link": "crank"}}, "helper": {"joint": {"link": "crank"}}}},
            {"motor": 12.0, "helper": 8.0}, id="two inputs",
        ),
    ],
)  # fmt: skip
def test_what_statics_says_beyond_a_limit_load_can_be_called(blocks, u):
    robot = sprung_crank(0.6, **blocks)
    with pytest.raises(ConvergenceError) as error:
        sorosim.statics(robot, u)
    said = re.search(r"past its limit load: (sorosim\.continuation\(.*\))$", str(error.value))
    found = eval(said[1], {"sorosim": sorosim, "robot": robot})
    assert len(found.folds) == 4
    # it tells where the first one is
    part = float(re.search(r"the first at ([\d.]+) %", str(error.value))[1]) / 100.0
    assert found.folds[0].parameter / found.options["range"][1] == pytest.approx(part, rel=1e-3)


def test_statics_beyond_a_limit_load_of_loads_says_what_to_follow():
    load = {"wrench": {"link": "crank", "moment": [0, 20, 0], "frame": "body"}}
    robot = sprung_crank(0.6, loads={"turn": load})
    with pytest.raises(ConvergenceError, match=r"limit load: sorosim\.continuation along a load, named as in sorosim"):
        sorosim.statics(robot)
    (name,) = [name for name in sorosim.scalars(robot) if name.startswith("loads") and name.endswith("moment[1]")]
    assert len(sorosim.continuation(robot, name, to=20.0, begin=0.0).folds) == 4


def test_a_curve_may_begin_at_a_fold_and_at_a_dead_centre():
    robot = sprung_crank(0.6)
    fold = sorosim.continuation(robot, "u.motor", to=20.0).folds[0]
    up = sorosim.continuation(robot, "u.motor", to=0.0, begin=fold.parameter, q0=fold.q)
    assert up.complete
    assert len(up) > 3
    # no load holds the crank where it is in line with the spring: the moment is a cube there
    dead = sorosim.continuation(sprung_crank(0.0), "u.motor", to=20.0)
    assert dead.message == "came back to its start"
    assert len(dead.folds) == 2
    assert_allclose(dead.parameter, [crank_moment(q[0], 0.0) for q in dead.q], rtol=0, atol=1e-9)
    assert (np.diff(dead.parameter[:5]) > 0.0).all()


# -- files, tables, pictures


@pytest.mark.parametrize("found", [buckling, snapping])
def test_files_keep_everything(found, tmp_path):
    wanted = found()
    wanted.save(tmp_path / "curve.h5")
    got = sorosim.open(tmp_path / "curve.h5")
    for one, other in zip(wanted.curves(), got.curves(), strict=True):
        for name in ("parameter", "arclength", "q", "u", "lam", "buckling", "flutter"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert (one.message, one.complete, one.kind) == (other.message, other.complete, other.kind)
        for a, b in zip(one.points, other.points, strict=True):
            assert (a.kind, a.parameter, a.before, a.after) == (b.kind, b.parameter, b.before, b.after)
            assert np.array_equal(a.directions, b.directions)
    p = 0.9 * wanted.parameter[-1]
    for a, b in zip(wanted.at(p), got.at(p), strict=True):
        assert_allclose(a.q, b.q, rtol=0, atol=1e-10)
    if wanted.branches:
        assert len(got.switch(0, max_points=3)) == 2


def test_flutter_is_kept_in_files(tmp_path):
    wanted = sorosim.continuation(zieglers_column(), f"{LOAD}[0]", to=-3.0)
    wanted.save(tmp_path / "flutter.h5")
    got = sorosim.open(tmp_path / "flutter.h5").points[0]
    assert got.frequency == wanted.points[0].frequency
    assert np.array_equal(got.oscillation, wanted.points[0].oscillation)


def test_damaged_files_are_refused(tmp_path):
    import h5py

    buckling().save(tmp_path / "curve.h5")
    with h5py.File(tmp_path / "curve.h5", "r+") as file:
        del file["curve/q"]
        file["curve/q"] = np.zeros((3, 2))
    with pytest.raises(FileError, match="damaged"):
        sorosim.open(tmp_path / "curve.h5")


def test_tables_have_all_rows(tmp_path):
    found = buckling()
    found.to_csv(tmp_path / "curve.csv")
    with open(tmp_path / "curve.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == sum(map(len, found.curves()))
    assert [float(row["parameter"]) for row in rows if row["curve"] == "1"] == list(found.branches[0].parameter)
    assert {row["buckling"] for row in rows if row["curve"] == "0"} == {"0", "1"}


def test_diagrams_show_curves_points_and_shapes(tmp_path):
    found = buckling()
    figure = found.plot(tmp_path / "diagram.png")
    assert (tmp_path / "diagram.png").stat().st_size > 10_000
    diagram, shapes = figure.axes
    assert [text.get_text() for text in diagram.get_legend().get_texts()] == ["stable", "buckling", "branch point"]
    styles = {line.get_linestyle() for line in diagram.lines}
    assert {"-", "--"} <= styles
    (dashed,) = [line for line in diagram.lines if line.get_linestyle() == "--"]
    # from the branch point to the end
    assert dashed.get_xdata()[[0, -1]] == pytest.approx([found.points[0].parameter, found.parameter[-1]])
    assert len(shapes.collections) == 5
    # the numbers of the shapes are inside
    figure.canvas.draw()
    frame = diagram.get_window_extent()
    for label in diagram.texts:
        box = label.get_window_extent()
        assert frame.x0 < box.x0 < box.x1 < frame.x1
    alone = found.plot(x="tip x", y="arm.bending_y[0]", shapes=0)
    assert len(alone.axes) == 1
    with pytest.raises(InputError, match="tip z"):
        found.plot(y="tip w")


def test_axes_have_units():
    found = sorosim.continuation(tendon_arch(), "u.cord", to=600.0, max_points=8)
    figure = found.plot(y="arm z")
    assert figure.axes[0].get_xlabel() == "u.cord [N]"
    assert figure.axes[0].get_ylabel() == "z of the tip of arm [m]"
    assert figure.axes[1].get_legend().get_title().get_text() == "u.cord [N]"
    assert found.u[-1] == pytest.approx(found.parameter[-1])
    assert buckling().plot(shapes=0).axes[0].get_xlabel() == f"{LOAD}[0] [N]"


def test_the_default_axis_is_of_something_that_moves():
    # both ends of the arch are hinged to the ground, of the other one the crown is a tip
    found = sorosim.continuation(tendon_arch(), "u.cord", to=600.0, max_points=8)
    assert found.plot(shapes=0).axes[0].get_ylabel().startswith("arm.")
    assert snapping().plot(shapes=0).axes[0].get_ylabel() == "z of the tip of left [m]"


@pytest.mark.parametrize(
    ("name", "unit"),
    [(f"{LOAD}[0]", "N"), ("materials.m.young", "Pa"), ("materials.m.density", "kg/m^3"), ("materials.m.poisson", ""),
     ("links.arm.rod.length", "m"), ("links.arm.rod.section.rectangle.z", "m"), ("gravity[2]", "m/s^2"),
     ("links.slider.joint.prismatic.axis[0]", ""), ("driven.slider", "m")],
)  # fmt: skip
def test_everything_that_changes_has_its_unit(name, unit):
    # no number of this file is written with one
    found = sorosim.continuation(column(HINGE, HINGE, order=2, n_gauss=4), f"{LOAD}[0]", to=-1.0, max_points=2)
    assert replace(found, along=(name,), origin=np.zeros(1), slope=np.ones(1)).units == {name: unit}


def test_it_says_what_it_is():
    assert repr(snapping()).endswith("special points: 2 fold>")
    assert repr(buckling().points[0]).startswith("<branch at -16.4")
    assert [row["kind"] for row in snapping().table()] == ["fold", "fold"]


def test_diagrams_are_in_the_units_that_were_asked_for():
    chosen, plain = (snapping().plot(shapes=3, units=units) for units in ({"length": "mm", "force": "mN"}, None))
    (left, beside), (old, old_beside) = chosen.axes, plain.axes
    assert (left.get_xlabel(), left.get_ylabel()) == (f"{ALONG} [mN]", "z of the tip of left [mm]")
    assert beside.get_xlabel() == old_beside.get_xlabel().replace("[m]", "[mm]")
    for line, before in zip(left.lines, old.lines, strict=True):
        assert_allclose(np.asarray(line.get_data()), 1e3 * np.asarray(before.get_data()), rtol=1e-12)
    places = [[text.xy for text in axes.texts] for axes in (left, old)]
    assert_allclose(places[0], 1e3 * np.asarray(places[1]), rtol=1e-12)
    for shape, before in zip(beside.collections, old_beside.collections, strict=True):
        for a, b in zip(shape.get_paths(), before.get_paths(), strict=True):
            assert_allclose(a.vertices, 1e3 * b.vertices, rtol=1e-9, atol=1e-9)
    numbers = [
        [float(text.get_text().split(": ")[1]) for text in axes.get_legend().texts] for axes in (beside, old_beside)
    ]
    assert_allclose(numbers[0], 1e3 * np.asarray(numbers[1]), rtol=1e-3)
    with pytest.raises(InputError, match=r"units\.force"):
        snapping().plot(units={"force": "mm"})
