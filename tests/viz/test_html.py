"""What notebooks show: well-formed, small, true to the numbers, and never an error."""

import subprocess
import sys
from base64 import b64decode
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.robots import cable_manipulator, varied_tree
from numpy.testing import assert_allclose

import sorosim
from sorosim.analysis.results.modes import describe
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot
from sorosim.view.viz import notebook as html
from sorosim.view.viz.side_view import HEIGHT, WIDTH, _hull, side_view

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def robot():
    return cable_manipulator()


@pytest.fixture(scope="module")
def results(robot):
    return sorosim.statics(robot, {"cable1": 5.0}), sorosim.simulate(robot, t_end=0.05, u={"cable1": 5.0})


def texts(page):
    return " ".join(ElementTree.fromstring(page).itertext())


def chain(n):
    ball = RigidBody(0.1, inertia=(1e-5,) * 3)
    at = np.eye(4)
    at[0, 3] = 0.1
    links = [
        Link(f"b{k}", ball, joint=Joint("revolute"), parent=f"b{k - 1}" if k else "world", at=at) for k in range(n)
    ]
    return Robot(Description("chain", tuple(links)))


def test_a_robot_shows_its_links_and_its_shape(robot):
    page = robot._repr_html_()
    words = texts(page)
    for part in ("cable manipulator", "24 coordinates", "arm", "rod 0.5 m", "cable1, cable2", "0.1 m, x to the right"):
        assert part in words
    assert len(page) < 20_000
    assert ElementTree.fromstring(page).find(f"{SVG}svg") is not None


def test_results_show_their_numbers(results):
    eq, run = results
    words = texts(eq._repr_html_())
    for part in ("equilibrium", "cable1 5 N", "yes", eq.message, f"{1e3 * eq.tip()[0]:.1f}"):
        assert part in words
    words = texts(run._repr_html_())
    for part in ("0 to 0.05 s, 6 states", "bdf", run.message, f"{1e3 * run.tip()[-1, 0]:.1f}"):
        assert part in words


def png_of(page):
    source = ElementTree.fromstring(page).find("img").get("src")
    return b64decode(source.removeprefix("data:image/png;base64,"))


def test_a_sweep_shows_what_varied_and_its_figure(robot):
    points = {"grid": {"u.cable1": ["0 N", "5 N"], "u.cable2": ["0 N", "3 N", "6 N"]}}
    sweep = sorosim.sweep(robot, points)
    page = sweep._repr_html_()
    words = texts(page)
    low, high = 1e3 * sweep.tip().min(axis=0), 1e3 * sweep.tip().max(axis=0)
    for part in ("sweep", "statics at 6 points, 6 with a result", "0 to 5 N, 2 values", "u.cable2", "3 values",
                 f"{low[0]:.1f}", f"{high[2]:.1f} mm"):  # fmt: skip
        assert part in words
    assert png_of(page) == sweep._repr_png_()
    assert sweep._repr_png_().startswith(b"\x89PNG")


def test_a_linearised_motion_shows_its_modes(results):
    lin = results[0].linearize()
    page = lin._repr_html_()
    words = texts(page)
    assert lin.stability in words
    for k in range(1, 7):
        assert describe(lin, k) in words
    assert f"{len(lin.damped) - 6} more modes" in words
    assert png_of(page) == lin._repr_png_()
    # matrices alone have no figure, but a table
    alone = replace(lin, robot=None)
    assert alone._repr_png_() is None
    assert describe(lin, 1) in texts(alone._repr_html_())


@pytest.mark.parametrize("seed", range(6))
def test_any_tree_is_shown_in_a_well_formed_page(seed):
    robot = varied_tree(seed)
    root = ElementTree.fromstring(robot._repr_html_())
    drawing = root.find(f"{SVG}svg")
    width, height = (float(drawing.get(name)) for name in ("width", "height"))
    assert width == WIDTH
    assert height <= HEIGHT + 15
    for path in drawing.iter(f"{SVG}path"):
        corners = path.get("d").replace("Z", "").replace("M", "L").strip("L").split("L")
        if "h" in corners[0]:
            continue
        x, y = np.array([corner.split() for corner in corners], dtype=float).T
        assert -1.0 <= x.min() <= x.max() <= width + 1.0
        assert -1.0 <= y.min() <= y.max() <= height + 1.0


def test_the_scale_is_that_of_the_drawing(robot):
    drawing = ElementTree.fromstring(side_view(robot, [np.zeros(robot.ndof)]))
    *rest, scale = drawing.iter(f"{SVG}path")
    pixels = float(scale.get("d").split("h")[1])
    x = np.array([corner.split()[0] for corner in rest[0].get("d").replace("Z", "").replace("M", "L")[1:].split("L")])
    assert_allclose(np.ptp(x.astype(float)) / pixels, 0.5 / 0.1, rtol=2e-3)


def test_names_are_not_code(robot):
    ball = Link("<script>alert(1)</script>", RigidBody(1.0, inertia=(1e-3,) * 3))
    page = Robot(Description("<i>&</i>", (ball,)))._repr_html_()
    assert "<script>" not in page
    assert "<i>" not in page
    assert "<script>alert(1)</script>" in texts(page)


def test_large_robots_stay_small():
    page = chain(200)._repr_html_()
    assert len(page) < 20_000
    assert "188 more links" in texts(page)
    assert "<svg" not in page


def test_it_never_fails(robot, monkeypatch):
    def broken(*_):
        raise RuntimeError

    nothing = SimpleNamespace(robot=robot, t=np.zeros(0), q=np.zeros((0, 24)), options={}, stats={}, message="ended")
    assert "ended" in texts(html.run_html(nothing))
    assert html.run_html(SimpleNamespace()) is None
    assert html.equilibrium_html(None) is None
    monkeypatch.setattr(html, "side_view", broken)
    assert "<svg" not in robot._repr_html_()
    assert "24 coordinates" in texts(robot._repr_html_())
    assert "frame" in texts(Robot(Description("frame", (Link("frame", None),)))._repr_html_())


def test_hulls():
    rng = np.random.default_rng(1)
    inside = rng.uniform(0.1, 0.9, size=(50, 2))
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(_hull(np.concatenate([inside, square])), square)
    assert len(_hull(np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]))) == 2
    assert len(_hull(np.zeros((5, 2)))) >= 1


def test_nothing_heavy_is_loaded():
    code = (
        "import sys, sorosim; sorosim.load('cable_manipulator')._repr_html_();"
        "assert not {'matplotlib', 'pyvista'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
