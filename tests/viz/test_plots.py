"""Plots: written, legible, of the right things; and what is said when they cannot be."""

import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import imageio.v3 as iio
import numpy as np
import pytest
from helpers.robots import cable_manipulator, varied_tree
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.proj3d import proj_transform
from numpy.testing import assert_allclose

import sorosim
from sorosim.base.errors import FileError, InputError
from sorosim.mechanics.actuation.joint_force import JointForce
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.model.shape import Box, Sphere
from sorosim.mechanics.model.visual import Visual
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.figures import LEAST_TICKS, axes_3d, ignore_rounding, new_figure
from sorosim.view.viz.plots import (
    PLOTS,
    _by_scale,
    plot_all,
    plot_coordinates,
    plot_driven,
    plot_energy,
    plot_equilibrium,
    plot_run,
    plot_snapshots,
    plot_tensions,
    plot_tip,
)

pytestmark = pytest.mark.filterwarnings("error")


@dataclass
class Motion:
    """As much of a run as plots need."""

    robot: Robot
    t: Any
    q: Any
    qd: Any
    u: Any
    extra: Any = ()
    driven: Any = field(default_factory=dict)

    def tip(self, link=None):
        return np.array([self.robot.pose(q, link or self.robot.links[-1].name)[:3, 3] for q in self.q]).reshape(-1, 3)

    def energy(self):
        parts = np.array([self.robot.energy(q, qd) for q, qd in zip(self.q, self.qd, strict=True)]).reshape(-1, 3)
        named = dict(zip(("kinetic", "elastic", "gravity"), parts.T, strict=True))
        return SimpleNamespace(**named, total=parts.sum(axis=1), **dict(self.extra))


def motion(robot, t, extra=()):
    wave = np.sin(np.outer(t, 1.0 + np.arange(robot.ndof) % 3))
    return Motion(robot, t, 0.2 * wave, 0.1 * wave, np.outer(t, 1.0 + np.arange(len(robot.actuator_names))), extra)


def planar(name="arm", gravity=(0.0, 0.0, -9.81)):
    """Two joints and a rod; no actuators."""
    rod = Rod((Division(0.3, Circle(0.02), Material(1e6, poisson=0.5, density=1e3), Strain(bending=1)),))
    hinge = Joint("revolute", axis=(0.0, 1.0, 0.0))
    links = (
        Link("h$1", None, joint=hinge),
        Link("h$2", None, joint=hinge, parent="h$1"),
        Link(name, rod, parent="h$2"),
    )
    return Robot(Description("costs $5 and $6", links, gravity=gravity))


@pytest.fixture(scope="module")
def run():
    made = motion(cable_manipulator(), np.linspace(0.0, 2.0, 21))
    made.driven["arm.bending_y[0]"] = np.sin(made.t)
    return made


def space_of(figure):
    return next(axes for axes in figure.axes if axes.name == "3d")


def panels_of(figure):
    return [axes for axes in figure.axes if axes.name != "3d" and axes.axison]


def all_axes_are_labelled(figure):
    for axes in figure.axes:
        if axes.name == "3d":
            assert [axes.get_xlabel(), axes.get_ylabel(), axes.get_zlabel()] == ["x [m]", "y [m]", "z [m]"]
        elif axes.axison:
            assert "[" in axes.get_ylabel() + axes.get_xlabel()


def legends_cover_nothing(figure):
    figure.draw_without_rendering()
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    boxes = [axes.get_window_extent() for axes in panels_of(figure)]
    for legend in legends:
        own = legend.get_window_extent()
        assert not any(own.overlaps(box.padded(-1.0)) for box in boxes)
        assert figure.bbox.padded(1.0).contains(own.x0, own.y0)
        assert figure.bbox.padded(1.0).contains(own.x1, own.y1)


# -- every plot


@pytest.mark.parametrize("name", PLOTS)
def test_plot_is_written_labelled_and_legible(name, run, tmp_path):
    figure = PLOTS[name](run)
    plot_run(run, tmp_path, name)
    assert os.listdir(tmp_path) == [f"{name}.png"]
    image = iio.imread(tmp_path / f"{name}.png")[..., :3]
    assert image.shape[1] >= 1400
    assert 0.01 < (image.min(axis=2) < 200).mean() < 0.5
    # nothing runs out of the picture
    border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    assert border.min() > 240
    all_axes_are_labelled(figure)
    legends_cover_nothing(figure)


def test_letters_in_three_dimensions_stay_in_their_place(run):
    for figure in (
        plot_tip(run),
        plot_snapshots(run),
        plot_equilibrium(SimpleNamespace(robot=run.robot, q=run.q[-1], u=run.u[-1])),
    ):
        figure.draw_without_rendering()
        space = space_of(figure)
        others = [axes.get_tightbbox() for axes in panels_of(figure)]
        for axis in (space.xaxis, space.yaxis, space.zaxis):
            box = axis.get_tightbbox(figure.canvas.get_renderer())
            assert figure.bbox.padded(2.0).contains(box.x0, box.y0)
            assert figure.bbox.padded(2.0).contains(box.x1, box.y1)
            assert not any(box.overlaps(other) for other in others)


def test_a_box_and_its_letters_fill_their_place(run):
    figure = plot_tip(run)
    figure.draw_without_rendering()
    space = space_of(figure)
    corners = np.stack(np.meshgrid(space.get_xlim(), space.get_ylim(), space.get_zlim()), axis=-1).reshape(-1, 3)
    x, y, _ = proj_transform(*corners.T, space.get_proj())
    boxes = [axis.get_tightbbox(figure.canvas.get_renderer()) for axis in (space.xaxis, space.yaxis, space.zaxis)]
    points = np.concatenate([space.transData.transform(np.stack([x, y], axis=1)), *(box.get_points() for box in boxes)])
    used, place = np.ptp(points, axis=0) / figure.bbox.size, space.placeholder.get_position().size
    assert (used / place).max() == pytest.approx(1.0, abs=2e-3)  # five times what is left when nothing moves any more


def test_numbers_and_names_of_axes_stand_apart():
    tower = Robot(Description("tower", (body("b", Visual(Box((0.02, 0.02, 0.9)))), body("c", Visual(Sphere(0.04))))))
    beam = Robot(Description("beam", (body("b", Visual(Box((4.0, 0.1, 0.1)))),)))
    for robot in (tower, beam, cable_manipulator(), varied_tree(2)):
        figure = plot_equilibrium(SimpleNamespace(robot=robot, q=robot.initial_q, u=None))
        figure.draw_without_rendering()
        space = space_of(figure)
        for axis in (space.xaxis, space.yaxis, space.zaxis):
            start, end = space.transData.transform(np.stack(axis.line.get_data(), axis=1))
            across = np.array([start[1] - end[1], end[0] - start[0]]) / np.linalg.norm(end - start)
            boxes = [tick.label1.get_window_extent() for tick in shown_ticks(axis)]
            # from the line outwards: gap, numbers, gap, name, whose letters stand along the line
            numbers = abs(np.array([(box.p0 + box.p1) / 2 - start for box in boxes]) @ across)
            half = np.array([abs(across) @ box.size / 2 for box in boxes])
            assert min(numbers - half) > 3.0
            name = axis.label.get_window_extent()
            letters = axis.label.get_fontsize() * figure.dpi / 72
            assert abs(((name.p0 + name.p1) / 2 - start) @ across) - letters / 2 > max(numbers + half) + 3.0
            assert axis.pane.get_closed()  # an outline closes the box where it has no axis


@pytest.mark.parametrize("spans", [(0.08, 0.03, 0.2), (0.2, 0.03, 0.03), (0.02, 0.02, 0.3), (0.4, 0.4, 0.4)])
def test_numbers_of_axes_do_not_run_into_each_other(spans):
    robot = Robot(Description("a", [Link("body", RigidBody(1.0, inertia=(1.0,) * 3), joint=Joint("free"))]))
    with new_figure(4.5, 4.8) as figure:
        axes = axes_3d(figure, 111, robot, 0.2 + np.array([[0.0, 0.0, 0.0], spans]))
    figure.draw_without_rendering()
    renderer, boxes = figure.canvas.get_renderer(), []
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        low, high = sorted(axis.get_view_interval())
        numbers = [t.label1 for t in axis.get_major_ticks() if low <= t.get_loc() <= high and t.label1.get_text()]
        assert len(numbers) >= 2
        boxes += [number.get_window_extent(renderer) for number in numbers]
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])


def shown_ticks(axis):
    low, high = sorted(axis.get_view_interval())
    return [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


def body(name, *visual, **more):
    return Link(name, RigidBody(1.0, inertia=(1.0, 1.0, 1.0)), visual=visual, **more)


def test_scale_is_equal_in_three_dimensions(run):
    space = space_of(plot_snapshots(run))
    steps = space.get_proj()[:2, :3].T  # of a metre along x, y and z, as they are seen
    # seen from afar, three equal and perpendicular lines a, b, c obey a^T b = - (parts along the line of sight): the
    # two rows of the projection are perpendicular and of equal length
    assert_allclose(steps.T @ steps, np.eye(2) * np.sum(steps[:, 0] ** 2), atol=1e-9 * np.sum(steps**2))


def test_all_plots_in_several_formats(run, tmp_path, monkeypatch):
    quick = {name: PLOTS[name] for name in ("energy", "tensions")}
    monkeypatch.setattr("sorosim.view.viz.plots.PLOTS", quick)
    written = plot_all(run, tmp_path / "a" / "b", formats=("png", "pdf", "svg"))
    assert [path.name for path in written] == [f"{name}.{suffix}" for name in quick for suffix in ("png", "pdf", "svg")]
    assert sorted((tmp_path / "a" / "b").iterdir()) == sorted(written)
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}
    for path in written:
        assert path.read_bytes().startswith(starts[path.suffix[1:]])
        assert path.stat().st_size > 8000
    ET.parse(written[-1])


def test_plots_without_a_folder_are_figures(run):
    assert list(plot_run(run, what=["energy", "tensions"])) == ["energy", "tensions"]
    assert list(plot_run(motion(planar(), run.t))) == ["tip", "snapshots", "coordinates", "energy"]


# -- each plot


def test_tip_shows_the_tip(run):
    figure = plot_tip(run, "arm")
    panels = [axes for axes in panels_of(figure) if axes.get_ylabel() in ("x [m]", "y [m]", "z [m]")]
    assert len(panels) == 3
    for k, axes in enumerate(panels):
        assert_allclose(axes.lines[0].get_xydata(), np.column_stack([run.t, run.tip("arm")[:, k]]))


def test_snapshots_are_as_many_as_asked_for(run):
    for times, count in ((None, 6), ([0.0, 0.55, 2.0], 3), (1.0, 1)):
        figure = plot_snapshots(run, times)
        solids = [item for item in space_of(figure).collections if isinstance(item, Poly3DCollection)]
        assert len(solids) == count
        assert len(figure.legends[0].texts) == count + 1
    assert [text.get_text() for text in figure.legends[0].texts] == ["t = 1 s", "tip of arm"]


def test_coordinates_have_a_panel_for_each_strain_and_kind_of_joint(run):
    figure = plot_coordinates(run)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [
        "arm: torsion",
        "arm: bending y",
        "arm: bending z",
        "arm: elongation",
        "arm: shear y",
        "arm: shear z",
    ]
    assert [len(axes.lines) for axes in figure.axes] == [5, 5, 5, 3, 3, 3]
    assert [axes.get_ylabel() for axes in figure.axes] == ["q [rad]"] * 3 + ["q [-]"] * 3
    figure = plot_coordinates(motion(planar(), run.t))
    assert [axes.get_title() for axes in figure.axes] == ["joints: revolute", "arm: bending y", "arm: bending z"]
    assert [text.get_text() for text in figure.axes[0].get_legend().texts] == ["h$1", "h$2"]
    legends_cover_nothing(figure)


def test_axes_ignore_rounding():
    """What a planar motion leaves of 1e-16 across its plane is a straight line, on the scale of the other panels."""
    robot = planar()
    made = motion(robot, np.linspace(0.0, 2.0, 21))
    across = [i for i, name in enumerate(robot.coordinate_names) if "bending_z" in name]
    made.q[:, across] = 1e-16 * np.random.default_rng(1).normal(size=(21, len(across)))
    spans = {axes.get_ylabel(): np.ptp(axes.get_ylim()) for axes in panels_of(plot_tip(made))}
    assert spans["y [m]"] == pytest.approx(max(spans["x [m]"], spans["z [m]"]), rel=0.2)  # but for margins
    panels = {axes.get_title(): np.ptp(axes.get_ylim()) for axes in plot_coordinates(made).axes}
    assert panels["arm: bending z"] > 0.1
    # and nothing is hidden that is more than rounding
    made.q[:, across] *= 1e10
    assert np.ptp(plot_coordinates(made).axes[2].get_ylim()) < 1e-4


def test_a_straight_line_alone_has_a_scale():
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0.0, 1.0, 2.0], [0.5, 0.5 + 1e-16, 0.5 - 1e-16])
    ignore_rounding([axes])
    assert_allclose(axes.get_ylim(), (0.475, 0.525))


def test_angles_and_lengths_have_units_of_their_own():
    links = (body("a", joint=Joint("free")), body("b", joint=Joint("cylindrical"), parent="a"))
    figure = plot_coordinates(motion(Robot(Description("two", links)), np.linspace(0.0, 1.0, 5)))
    labels = {axes.get_title(): axes.get_ylabel() for axes in figure.axes}
    assert labels == {f"joints: {word}": f"q [{unit}]" for word, unit in (
        ("rx", "rad"), ("ry", "rad"), ("rz", "rad"), ("tx", "m"), ("ty", "m"), ("tz", "m"), ("angle", "rad"),
        ("slide", "m"),
    )}  # fmt: skip


def test_lines_are_broken_where_a_rotation_vector_changes():
    links = (body("a", joint=Joint("spherical")), body("b", joint=Joint("spherical", stiffness=1.0), parent="a"))
    robot, t = Robot(Description("two", links)), np.linspace(0.0, 2.0, 41)
    turn = np.array([0.6, 0.0, 0.8]) * np.where(5.0 * t < 1.2 * np.pi, 5.0 * t, 5.0 * t - 2.0 * np.pi)[:, None]
    known = Motion(robot, t, np.hstack([turn, 5.0 * t[:, None] * [1.0, 0.0, 0.0]]), None, np.zeros((41, 0)))
    lines = plot_coordinates(known).axes[0].lines
    (gap,) = np.flatnonzero(np.isnan(lines[0].get_ydata()))
    assert gap == np.argmax(5.0 * t >= 1.2 * np.pi)
    assert_allclose(np.delete(lines[0].get_ydata(), gap), turn[:, 0])
    assert not np.isnan(lines[1].get_ydata()).any()  # a spring counts turns
    known.driven["a.spherical.rx"] = np.zeros(41)
    assert not np.isnan(plot_coordinates(known).axes[0].lines[0].get_ydata()).any()


def test_driven_forces_have_a_panel_for_each_unit():
    links = (body("cart", joint=Joint("prismatic")), body("arm", joint=Joint("revolute"), parent="cart"))
    known = motion(Robot(Description("two", links)), np.linspace(0.0, 1.0, 5))
    with pytest.raises(InputError, match="run: expected a run with driven coordinates, got one without"):
        plot_driven(known)
    assert "driven" not in plot_run(known)
    known.driven.update(cart=np.arange(5.0), arm=np.ones(5))
    above, below = plot_driven(known).axes
    assert [above.get_ylabel(), below.get_ylabel()] == ["generalised force [N]", "generalised force [N m]"]
    assert_allclose(above.lines[0].get_ydata(), np.arange(5.0))
    assert below.lines[0].get_label() == "arm"
    assert "driven" in plot_run(known)


def test_tensions_are_the_inputs(run):
    (axes,) = plot_tensions(run).axes
    assert axes.get_ylabel() == "tension [N]"
    assert [text.get_text() for text in axes.get_legend().texts] == list(run.robot.actuator_names)
    for k, line in enumerate(axes.lines):
        assert_allclose(line.get_ydata(), run.u[:, k])


def test_inputs_of_other_scales_have_axes_of_their_own():
    t, size = np.linspace(0.0, 1.0, 5), {"a": 300.0, "b": 0.2, "c": 40.0, "d": 0.0, "e": 0.05}
    groups = _by_scale({name: x * np.cos(t) for name, x in size.items()})
    assert [list(group) for group in groups] == [["a", "c"], ["b", "d", "e"]]
    assert [list(group) for group in _by_scale({"d": 0.0 * t})] == [["d"]]


@pytest.mark.parametrize("extents", [(0.1, 0.1, 0.03), (0.5, 0.013, 0.2), (1e-3, 0.0, 9e-4)])
def test_each_axis_in_three_dimensions_has_several_ticks_at_round_numbers(extents):
    points = 0.037 + np.array(extents) * np.random.default_rng(0).uniform(size=(50, 3))
    with new_figure(6.0, 5.0) as figure:
        space = axes_3d(figure, 111, cable_manipulator(), points)
    for axis in (space.xaxis, space.yaxis, space.zaxis):
        places = np.array([tick.get_loc() for tick in shown_ticks(axis)])
        assert LEAST_TICKS <= len(places) <= 14
        mantissa = np.diff(places) / 10.0 ** np.floor(np.log10(np.diff(places)) + 1e-9)
        assert_allclose(mantissa, mantissa[0])
        assert min(abs(mantissa[0] - k) for k in (1.0, 2.0, 5.0)) < 1e-6


def test_energy_with_and_without_a_balance(run):
    assert [line.get_label() for line in plot_energy(run).axes[0].lines] == ["kinetic", "elastic", "gravity", "total"]
    n = len(run.t)
    known = Motion(run.robot, run.t, run.q, run.qd, run.u, {"work": np.full(n, 3.0), "dissipated": np.ones(n)})
    above, below = plot_energy(known).axes
    assert [line.get_label() for line in above.lines][-2:] == ["work", "dissipated"]
    total = run.energy().total
    assert_allclose(below.lines[0].get_ydata(), total - total[0] + 1.0 - 3.0)
    only_work = Motion(run.robot, run.t, run.q, run.qd, run.u, {"work": np.ones(n), "dissipated": None})
    assert len(plot_energy(only_work).axes) == 1


def test_equilibrium_shows_shape_strains_and_tensions(run, tmp_path):
    robot, q = run.robot, np.zeros(24)
    q[robot.coordinate_names.index("arm.bending_y[0]")] = 1.2
    figure = plot_equilibrium(SimpleNamespace(robot=robot, q=q, u=np.arange(5.0)), tmp_path / "rest.png")
    assert (tmp_path / "rest.png").stat().st_size > 20000
    all_axes_are_labelled(figure)
    legends_cover_nothing(figure)
    angular, linear, inputs = panels_of(figure)
    # 1.2 rad over half a metre
    assert_allclose(angular.lines[1].get_ydata(), 2.4)
    assert_allclose(linear.lines[0].get_ydata(), 0.0)
    assert_allclose([bar.get_width() for bar in inputs.patches], np.arange(5.0))


def test_equilibrium_shows_colours_and_inputs_by_unit():
    links = (
        body("cart", Visual(Box((0.1, 0.1, 0.1)), colour="#00ff00"), joint=Joint("prismatic")),
        body("arm", Visual(Sphere(0.1)), joint=Joint("revolute"), parent="cart"),
    )
    motors = {"turn": JointForce("arm"), "push": JointForce("cart")}
    robot = Robot(Description("two", links, actuators=motors))
    figure = plot_equilibrium(SimpleNamespace(robot=robot, q=np.zeros(2), u=np.array([1.0, 2.0])))
    assert [axes.get_xlabel() for axes in panels_of(figure)] == ["input [N m]", "input [N]"]
    assert [axes.patches[0].get_width() for axes in panels_of(figure)] == [1.0, 2.0]
    grey, solid = (item.get_facecolor()[:, :3] for item in space_of(figure).collections)
    green = solid[:, 1] > solid[:, [0, 2]].max(axis=1) + 0.2
    assert 0 < green.sum() < len(green)
    assert np.ptp(grey, axis=1).max() < 0.1


def test_any_robot_can_be_plotted(tmp_path):
    robot = varied_tree(2)
    plot_run(motion(robot, np.linspace(0.0, 1.0, 5)), tmp_path, ["snapshots", "coordinates"])
    plot_equilibrium(SimpleNamespace(robot=robot, q=robot.initial_q, u=None), tmp_path / "rest.png")
    assert min(path.stat().st_size for path in tmp_path.iterdir()) > 8000


def test_a_single_time_and_odd_names_can_be_plotted():
    alone = motion(planar("a$b^_"), np.array([0.5]))
    assert len(plot_run(alone)) == 4
    assert plot_tip(alone).get_suptitle() == "costs $5 and $6: tip of a$b^_"


def test_vertical_is_upright():
    for gravity, upright in (((0.0, -9.81, 0.0), "y"), ((0.0, 0.0, -9.81), "z"), ((-9.81, 0.0, 0.0), "x")):
        space = space_of(plot_snapshots(motion(planar(gravity=gravity), np.linspace(0.0, 1.0, 3))))
        assert "xyz"[space._vertical_axis] == upright


# -- messages


def test_messages(run, tmp_path):
    empty = motion(run.robot, np.zeros(0))
    words = "run: expected at least one stored time, got an empty run"
    for call, message in (
        (lambda: plot_tip(run, "amr"), "link: expected the name of a link, got 'amr'; did you mean arm?"),
        (lambda: plot_snapshots(run, [0.0, 3.0]), "times: expected a time from 0 to 2 s, got 3"),
        (lambda: plot_snapshots(run, []), "times: expected a time or several [s], got none"),
        (lambda: plot_snapshots(run, [float("nan")]), "times: expected a time, got nan; it has to be finite"),
        (lambda: plot_tensions(motion(planar(), run.t)), "run: expected a robot with actuators, got one without"),
        (
            lambda: plot_run(run, tmp_path / "tip.png", "tip"),
            f"folder: expected a folder, got '{tmp_path / 'tip.png'}'; the plots in it are called by their names; "
            "what and formats choose them",
        ),
        (lambda: plot_run(run, None, "tips"), "plot: expected the name of a plot, got 'tips'; did you mean tip?"),
        (
            lambda: plot_all(run, tmp_path, "bmp"),
            "formats: expected a format of plots, got 'bmp'; known: png, pdf, svg, jpg, tif",
        ),
        (
            lambda: plot_energy(run, tmp_path / "energy.xyz"),
            "path: expected a file name that ends in .png or .pdf or .svg or .jpg or .tif, got 'energy.xyz'",
        ),
        *((lambda plot=plot: plot(empty), words) for plot in PLOTS.values()),
        (lambda: plot_all(empty, tmp_path), words),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == message
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_written_is_said(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError) as caught:
        plot_all(run, tmp_path / "file")
    assert str(caught.value) == f"{tmp_path / 'file'}: cannot be made: File exists"
    with pytest.raises(FileError) as caught:
        plot_tip(run, path=tmp_path / "none" / "tip.png")
    said = f"cannot be written: there is no folder {tmp_path / 'none'}; make it first"
    assert str(caught.value) == f"{tmp_path / 'none' / 'tip.png'}: {said}"


def test_the_tip_that_is_shown_is_one_that_moves():
    named = sorosim.load("hybrid_parallel")  # the foot of the last pillar is held by a loop
    robot = Robot(replace(named.description, outputs=()))
    run = sorosim.simulate(robot, 0.3, dt_out=0.1)
    title = plot_run(run, what="tip")["tip"].get_suptitle()
    assert title == "hybrid parallel robot: origin of plate"
    assert plot_tip(run, "pillar3").get_suptitle() == "hybrid parallel robot: tip of pillar3"


IN_UNITS = {"length": "mm", "time": "ms", "force": "mN", "angle": "deg", "moment": "N*mm"}
FACTORS = {"m": 1e3, "s": 1e3, "N": 1e3, "rad": 180.0 / np.pi, "N m": 1e3}
NAMES = {"m": "mm", "s": "ms", "N": "mN", "rad": "deg", "N m": "N mm"}


def units_of_axes(axes, letters):
    found = []
    for letter in letters:
        alike = [axes] if axes.name == "3d" else getattr(axes, f"get_shared_{letter}_axes")().get_siblings(axes)
        labels = [getattr(one, f"get_{letter}label")() for one in alike]
        found.append(next((x.rpartition("[")[2].rstrip("]") for x in labels if x.endswith("]")), ""))
    return found


def drawn_in_units(chosen, plain):
    """Every axis has the unit asked for, and every line and solid the same place in it."""
    assert len(chosen.axes) == len(plain.axes)
    seen = set()
    for one, other in zip(chosen.axes, plain.axes, strict=True):
        letters = "xyz" if other.name == "3d" else "xy"
        units = units_of_axes(other, letters)
        assert units_of_axes(one, letters) == [NAMES.get(unit, unit) for unit in units]
        seen |= set(units)
        factors = [FACTORS.get(unit, 1.0) for unit in units]
        for line, old in zip(one.lines, other.lines, strict=True):
            data = [old._verts3d, line._verts3d] if other.name == "3d" else [old.get_data(), line.get_data()]
            for factor, a, b in zip(factors, *data, strict=True):
                assert_allclose(b, factor * np.asarray(a, dtype=float), rtol=1e-12, atol=1e-300)
        for letter, factor in zip(letters, factors, strict=True):
            low, high = getattr(other, f"get_{letter}lim")()
            assert_allclose(getattr(one, f"get_{letter}lim")(), (factor * low, factor * high), rtol=1e-9, atol=1e-9)
        if other.name == "3d":
            for solid, old in zip(one.collections, other.collections, strict=True):
                if isinstance(old, Poly3DCollection):
                    assert_allclose(solid._faces, factors[0] * np.asarray(old._faces), rtol=1e-9, atol=1e-9)
    return seen


def test_plots_of_runs_are_in_the_units_that_were_asked_for():
    turn, slide = Joint("revolute", axis=(0, 1, 0)), Joint("prismatic", axis=(0, 0, 1))
    links = [Link("lift", joint=slide), Link("turn", RigidBody(0.1, inertia=(1e-4,) * 3), parent="lift", joint=turn)]
    robot = Robot(Description("hoist", links, actuators={"pull": JointForce("lift"), "twist": JointForce("turn")}))
    assert robot.actuator_units == ("N", "N m")
    t = np.linspace(0.0, 1.0, 6)
    run = motion(robot, t)
    run.q, run.u = np.stack([0.1 * t, 0.5 * t], axis=1), np.stack([2.0 * t, 0.01 * t], axis=1)
    run.driven = {"lift": 1.0 + t, "turn": 0.1 * t}
    names = ["tip", "snapshots", "coordinates", "tensions", "driven", "energy"]
    plain, chosen = plot_run(run, what=names), plot_run(run, what=names, units=IN_UNITS)
    seen = {name: drawn_in_units(chosen[name], plain[name]) for name in names}
    assert seen["tip"] >= {"m", "s"}
    assert seen["coordinates"] >= {"m", "rad", "s"}
    assert seen["tensions"] == seen["driven"] == {"N", "N m", "s"}
    assert [text.get_text() for text in chosen["snapshots"].legends[0].texts][1] == "t = 200 ms"
    assert plot_run(run, what="tip")["tip"].axes[0].get_ylabel() == "x [m]"  # units hold for one call
    for wrong, words in (
        ({"lenght": "mm"}, "did you mean length"),
        ({"length": "kPa"}, "units.length"),
        ("mm", "mapping"),
    ):
        with pytest.raises(InputError, match=words):
            plot_run(run, units=wrong)


def test_pictures_of_equilibria_are_in_the_units_that_were_asked_for():
    eq = sorosim.statics(cable_manipulator(), [5.0, 0.0, 0.0, 0.0, 0.0])
    seen = drawn_in_units(plot_equilibrium(eq, units=IN_UNITS), plot_equilibrium(eq))
    assert seen >= {"m", "N"}
