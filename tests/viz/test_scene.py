"""Pictures are looked at by their pixels, movies are read back."""

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from typing import Any

import imageio.v3 as iio
import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from scipy import ndimage

from sorosim.base.errors import FileError, InputError, SorosimError
from sorosim.files import load_text
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot
from sorosim.view.viz import offscreen
from sorosim.view.viz.camera import VIEWS
from sorosim.view.viz.movie import movie
from sorosim.view.viz.scene import Scene

try:
    offscreen.require_rendering()
except SorosimError as error:
    pytest.skip(str(error), allow_module_level=True)

SMALL = (320, 240)
BARE = {"floor": False, "axes": False, "title": ""}


@dataclass
class Motion:
    """As much of a run as pictures need."""

    robot: Robot
    t: Any
    q: Any
    u: Any
    stats: dict = field(default_factory=dict)


@pytest.fixture(scope="module")
def manipulator():
    return cable_manipulator()


@pytest.fixture(scope="module")
def run(manipulator):
    t = np.linspace(0.0, 0.5, 6)
    q = np.zeros((6, manipulator.ndof))
    q[:, manipulator.coordinate_names.index("arm.bending_y[0]")] = 2.0 * t
    return Motion(manipulator, t, q, np.outer(t, [10.0, 0.0, 5.0, 2.0, 1.0]))


def tapered(bodies=()):
    rod = Rod((Division(0.4, Circle((0.04, 0.02)), Material(1e6, poisson=0.5, density=1e3), Strain(bending=0)),))
    return Robot(Description("rod", (Link("rod", rod), *bodies)))


def coloured(image):
    """Where the picture shows something soft: its red stands out over its blue."""
    return image[..., 0].astype(int) - image[..., 2] > 25


# -- stills


@pytest.mark.parametrize("view", VIEWS)
def test_still_shows_the_robot(view, run, tmp_path):
    with Scene(run.robot, view=view, size=SMALL) as scene:
        scene.update(run.q[-1], run.u[-1], run.t[-1])
        scene.still(tmp_path / "robot.png")
    image = iio.imread(tmp_path / "robot.png")
    assert image.shape == (240, 320, 3)
    soft = coloured(image)
    assert 0.01 < soft.mean() < 0.5
    rows, columns = np.nonzero(soft)
    # the title band stays free, and nothing is cut
    assert rows.min() > 20
    assert rows.max() < 238
    assert columns.min() > 3
    assert columns.max() < 316


def test_taper_is_seen():
    robot = tapered()
    with Scene(robot, view="side", size=(800, 400), floor=False, title="") as scene:
        scene.update([0.0, 0.0])
        soft = coloured(scene.image())
    columns = np.flatnonzero(soft.any(axis=0))
    height = soft[:, columns].sum(axis=0)
    left, right = (height[int(f * len(columns))] for f in (0.15, 0.85))
    assert_allclose(left / right, 0.037 / 0.023, rtol=0.05)
    # length against height, in the same pixels; perspective takes a little
    assert_allclose(len(columns) / left, 0.4 / 0.074, rtol=0.05)


def test_tendons_are_seen_through_the_skin_in_the_colour_of_their_tension(run):
    with Scene(run.robot, size=SMALL, view="side", floor=False, title="") as scene:
        slack, taut = np.zeros(5), np.array([0.0, 0.0, 0.0, 10.0, 10.0])  # of the two inside
        scene.fit(run.q[-1], [slack, taut])
        pictures = []
        for u in (slack, taut):
            scene.update(run.q[-1], u)
            pictures.append(scene.image().astype(int))
    changed = np.abs(pictures[1] - pictures[0]).max(axis=2) > 30
    assert changed.mean() > 0.003
    # viridis: from violet to yellow
    assert (pictures[1] - pictures[0])[changed].mean(axis=0)[1] > 40.0


def test_picture_follows_q_and_comes_back(run):
    with Scene(run.robot, size=SMALL, frames=True) as scene:
        scene.fit_run(run)
        pictures = []
        for k in (0, 5, 0):
            scene.update(run.q[k], run.u[k], run.t[k])
            pictures.append(scene.image())
    assert_array_equal(pictures[0], pictures[2])
    assert (pictures[0] != pictures[1]).mean() > 0.01


def test_camera_holds_the_whole_motion(run):
    with Scene(run.robot, size=SMALL, title="") as scene:
        scene.fit_run(run)
        for k in range(6):
            scene.update(run.q[k])
            soft = coloured(scene.image())
            edge = np.concatenate([soft[0], soft[-1], soft[:, 0], soft[:, -1]])
            assert soft.any()
            assert not edge.any()


@pytest.mark.parametrize("view", ["iso", "side", "top"])
def test_pictures_hold_the_whole_floor(run, view):
    with Scene(run.robot, size=(500, 300), title="", axes=False, view=view) as scene:
        scene.fit_run(run)
        scene.update(run.q[0])
        with_floor = scene.image()
        scene.change(floor=False)
        bare = scene.image()
    assert border(with_floor).min() == 255
    assert (with_floor != bare).any()


def border(image, n=2):
    """The pixels of its outermost rows and columns."""
    return np.concatenate([image[:n].ravel(), image[-n:].ravel(), image[:, :n].ravel(), image[:, -n:].ravel()])


@pytest.mark.parametrize("size", [(500, 700), (500, 500), (900, 300)])
def test_the_bar_of_colours_and_its_title_are_whole_in_pictures_of_any_shape(size, run):
    with Scene(run.robot, size=size, floor=False, axes=False, colour="bending_y") as scene:
        scene.fit_run(run)
        scene.update(run.q[-1])
        assert border(scene.image()).min() == 255


def test_arrows_are_whole():
    text = """
    sorosim: 1
    name: pulled
    links: {block: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {box: {size: [10 cm, 6 cm, 4 cm]}, mass: 1 kg}}}
    loads: {pull: {wrench: {link: block, at: {position: [5 cm, 0, 0]}, force: [1, 0, 0]}}}
    """
    robot = load_text(textwrap.dedent(text), "pulled.yaml")
    with Scene(robot, size=SMALL, floor=False, axes=False, loads=True, title="", view="side") as scene:
        scene.fit([[0.0]])
        scene.update([0.0])
        scene.annotations.write("scale", "")
        scene.place_camera()
        assert border(scene.image()).min() == 255
        seen = np.flatnonzero((scene.image() < 250).any(axis=(0, 2)))
        assert seen[0] > 5  # the block, and the arrow from its end on
        assert seen[-1] > 290


def test_rigid_bodies_and_frames_are_drawn():
    ball = RigidBody(1.0, inertia=(2e-3, 2e-3, 2e-3))
    robot = tapered([Link("ball", ball, parent="rod", joint=Joint("revolute"))])
    with Scene(robot, size=SMALL, frames=True, floor=False, title="") as scene:
        scene.update([0.0, 0.0, 0.3])
        red, green, blue = np.moveaxis(scene.image().astype(int), 2, 0)
    assert ((blue - red > 10) & (blue - red < 60) & (blue > 60)).mean() > 0.01  # slate
    assert ((green - red > 80) & (green - blue > 20)).any()  # a frame's y axis


def test_a_thin_rod_is_one_line_without_gaps():
    rod = Rod((Division(1.0, Circle(1e-4), Material(1e6, poisson=0.5, density=1e3), Strain(bending=0)),))
    hair = Robot(Description("hair", (Link("hair", rod),)))
    with Scene(hair, view="side", size=(800, 400), **BARE) as scene:
        scene.update([0.02, 0.1])
        ink = (255.0 - scene.image()).max(axis=2) / 255.0
    columns = np.flatnonzero(ink.max(axis=0) > 0.05)
    assert_array_equal(np.diff(columns), 1)
    assert len(columns) > 500
    # 1.5 pixels high, as dark as the rod: a hundredth of that without a least width
    assert ink[:, columns[10:-10]].sum(axis=0).min() > 0.5


BLOCKS = """
sorosim: 1
name: blocks
gravity: [0, 0, 0]
parameters: {slide: {prismatic: {axis: [1, 0, 0]}}, cube: {box: {size: [10 cm, 10 cm, 10 cm]}, mass: 1 kg}}
links:
  block: {joint: $slide, body: $cube}
  far: {joint: $slide, body: $cube, at: {position: [2 m, 0, 0]}}
"""


def blocks(**options):
    """Where a picture along y shows one of the blocks."""
    with Scene(load_text(BLOCKS, "blocks.yaml"), size=(640, 360), view="side", **BARE, **options) as scene:
        scene.update([0.0, 0.0])
        return (scene.image() < 250).any(axis=2)


def test_zoom_magnifies_the_middle():
    once, twice = (np.flatnonzero(blocks(zoom=zoom).any(axis=0)) for zoom in (1.0, 2.0))
    assert once[0] > 3
    assert once[-1] < 636
    assert len(twice) == 0  # both blocks are beyond the sides


def test_what_is_followed_is_in_the_middle_and_can_be_near():
    sizes = []
    for zoom in (2.0, 6.0):
        rows, columns = np.nonzero(blocks(follow="block", zoom=zoom))
        assert abs(columns.min() + columns.max() - 639) <= 2
        assert abs(rows.min() + rows.max() - 359) <= 2
        sizes.append(np.ptp(columns) + 1)
    assert_allclose(sizes[1] / sizes[0], 3.0, rtol=0.05)


SLEEVE = """
sorosim: 1
name: sleeve
gravity: [0, 0, 0]
parameters: {turned: {rotation: {axis: [0, 1, 0], angle: 90 deg}}}
links:
  shaft: {visual: [{cylinder: {length: 40 cm, radius: 4 cm}, colour: blue, at: $turned}]}
  sleeve:
    at: {rotation: {axis: [1, 0, 0], angle: 2.5 deg}}
    visual: [{cylinder: {length: 20 cm, radius: 4 cm}, colour: red, at: $turned}]
"""


@pytest.mark.parametrize("occlusion", [False, True])
def test_surfaces_that_coincide_do_not_flicker(occlusion):
    with Scene(load_text(SLEEVE, "sleeve.yaml"), size=(640, 360), occlusion=occlusion, **BARE) as scene:
        scene.update([])
        image = scene.image().astype(int)
    red, blue = image[..., 0] - image[..., 2] > 25, image[..., 2] - image[..., 0] > 25
    labels, n = ndimage.label(red)
    assert red.sum() > 5000
    # one band, but for single pixels at its edges, without holes
    assert (ndimage.sum_labels(red, labels, np.arange(1, n + 1)) > 4).sum() == 1
    assert not (ndimage.binary_closing(red, iterations=4) & blue).any()


def test_occlusion_darkens_what_is_near_to_something_and_nothing_else():
    """Of two blocks the gap between them is dark, their far ends are not."""
    shades = []
    for occlusion in (False, True):
        robot = load_text(BLOCKS.replace("2 m", "11 cm"), "blocks.yaml")
        with Scene(robot, size=(640, 360), occlusion=occlusion, **BARE) as scene:
            scene.update([0.0, 0.0])
            shades.append(scene.image().astype(int).sum(axis=2))
    columns = np.flatnonzero((shades[0] < 720).any(axis=0))
    at = (columns - columns[0]) / np.ptp(columns)
    dark = (shades[0] - shades[1] > 60)[:, columns].sum(axis=0)  # pixels of each column
    assert dark[(at > 0.3) & (at < 0.6)].max() > 50
    assert dark[(at < 0.3) | (at > 0.6)].max() == 0


@pytest.mark.parametrize(
    ("name", "option", "occluded"),
    [
        ("NVIDIA RTX A2000", None, True),
        ("llvmpipe (LLVM 15)", None, False),
        ("", None, False),
        ("NVIDIA", False, False),
    ],
)
def test_a_graphics_card_occludes_films_too(name, option, occluded, run, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(Scene, "renderer_name", name)

    def image(scene):
        asked.append(scene.options.occlusion)
        return np.zeros((240, 320, 3), np.uint8)

    monkeypatch.setattr(Scene, "image", image)
    movie(run, tmp_path / "film.gif", fps=20, size=SMALL, occlusion=option)
    assert set(asked) == {occluded}


def test_what_draws_is_known(run):
    with Scene(run.robot, size=SMALL) as scene:
        assert scene.renderer_name


def test_still_in_another_size_leaves_the_scene_as_it_was(run, tmp_path):
    with Scene(run.robot, size=SMALL) as scene:
        before = scene.image()
        scene.still(tmp_path / "large.jpg", (501, 333))
        assert iio.imread(tmp_path / "large.jpg").shape == (333, 501, 3)
        assert_array_equal(scene.image(), before)
    assert os.listdir(tmp_path) == ["large.jpg"]


def test_a_robot_without_anything_to_draw_is_an_empty_scene():
    with Scene(Robot(Description("frame", (Link("frame", None),))), size=SMALL) as scene:
        assert scene.image().shape == (240, 320, 3)


# -- movies


def test_a_film_without_an_encoder_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"movie: expected the program ffmpeg.*sorosim\[film\]"):
        movie(run, tmp_path / "run.mp4", size=(160, 120))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("fps", "speed", "frames"), [(20.0, 1.0, 11), (10.0, 0.25, 21)])
def test_mp4_has_the_frames_size_and_duration_it_should(fps, speed, frames, run, tmp_path):
    told = []
    movie(run, tmp_path / "run.mp4", fps=fps, speed=speed, size=(161, 120), progress=lambda k, n: told.append((k, n)))
    film, about = iio.imread(tmp_path / "run.mp4"), iio.immeta(tmp_path / "run.mp4")
    assert film.shape == (frames, 120, 162, 3)
    assert about["codec"] == "h264"
    assert about["pix_fmt"].startswith("yuv420p")
    assert about["fps"] == fps
    assert_allclose(about["duration"], frames / fps, atol=0.02)
    assert told == [(k, frames) for k in range(1, frames + 1)]
    assert (np.abs(film[0].astype(int) - film[-1]) > 40).mean() > 0.01
    assert os.listdir(tmp_path) == ["run.mp4"]
    # the index comes before the pictures, so that browsers start at once
    content = (tmp_path / "run.mp4").read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_gif_repeats_and_keeps_its_time(run, tmp_path):
    movie(run, tmp_path / "run.gif", fps=24.0, size=(160, 120))
    with Image.open(tmp_path / "run.gif") as film:
        assert film.size == (160, 120)
        assert film.info["loop"] == 0
        durations = []
        for k in range(film.n_frames):
            film.seek(k)
            durations.append(film.info["duration"])
    # 24 per second is 4.17 hundredths, 4 is the nearest: 0.5 s are 12.5 of them, and the first
    assert durations == [40.0] * 13


def test_an_interrupted_movie_leaves_nothing(run, tmp_path):
    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    (tmp_path / "kept.mp4").write_bytes(b"before")
    for name in ("kept.mp4", "new.gif"):
        with pytest.raises(KeyboardInterrupt):
            movie(run, tmp_path / name, size=(160, 120), progress=stop)
    assert os.listdir(tmp_path) == ["kept.mp4"]
    assert (tmp_path / "kept.mp4").read_bytes() == b"before"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of file sizes are of Unix")
@pytest.mark.parametrize("name", ["run.mp4", "run.gif"])
def test_a_full_disk_is_said_and_leaves_nothing(name, run, tmp_path):
    import resource
    import signal

    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
        with pytest.raises(FileError) as caught:
            movie(run, tmp_path / name, size=(160, 120))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert str(caught.value).startswith(f"{tmp_path / name}: cannot be written: ")
    assert os.listdir(tmp_path) == []


def test_a_single_state_is_one_picture(run, tmp_path):
    movie(Motion(run.robot, run.t[:1], run.q[:1], run.u[:1]), tmp_path / "one.mp4", size=(160, 120))
    assert iio.imread(tmp_path / "one.mp4").shape == (1, 120, 160, 3)


# -- machines


@pytest.mark.parametrize(
    ("ways", "chosen"),
    [
        ({None: "well"}, None),
        ({None: "with warnings", offscreen.EGL: "well"}, offscreen.EGL),
        ({None: "with warnings", offscreen.OSMESA: "with warnings"}, None),
        ({offscreen.OSMESA: "well"}, offscreen.OSMESA),
    ],
)
def test_the_best_way_to_draw_is_chosen(ways, chosen, monkeypatch):
    monkeypatch.delenv(offscreen.WINDOW, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(offscreen.sys, "platform", "linux")
    monkeypatch.setattr(offscreen, "_draws", lambda way: ways.get(way, "not"))
    offscreen.require_rendering.__wrapped__()
    assert os.environ.get(offscreen.WINDOW) == chosen
    monkeypatch.delenv(offscreen.WINDOW, raising=False)


def test_a_machine_that_cannot_draw_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(offscreen.sys, "platform", "linux")
    monkeypatch.setattr(offscreen.sys, "executable", "/bin/false")
    with pytest.raises(SorosimError) as caught:
        offscreen.require_rendering.__wrapped__()
    assert str(caught.value) == (
        "cannot draw in 3D: there is no working OpenGL on this machine; try: apt install libegl1 libgl1-mesa-dri"
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X is of Linux")
@pytest.mark.parametrize("display", ["", ":983"])
def test_nothing_is_said_on_the_console(display, tmp_path):
    """Also where no screen is set, or one that does not answer; VTK alone warns of a bad X server connection."""
    code = (
        "import sys, sorosim.view.viz.plots; assert 'matplotlib.pyplot' not in sys.modules\n"
        "from sorosim.mechanics.robot import Robot; from sorosim.mechanics.model.description import Description\n"
        "from sorosim.mechanics.model.link import Link; from sorosim.mechanics.model.body import RigidBody\n"
        "from sorosim.view.viz.scene import Scene; from sorosim.view.viz.movie import movie\n"
        "from types import SimpleNamespace as N; import numpy as np\n"
        "r = Robot(Description('ball', (Link('ball', RigidBody(1.0, inertia=(1e-3,) * 3)),)))\n"
        "with Scene(r, size=(64, 64)) as s: s.still('ball.png')\n"
        "movie(N(robot=r, t=np.r_[0, 0.1], q=np.zeros((2, 0)), u=np.zeros((2, 0))), 'ball.mp4', size=(64, 64))\n"
    )
    known = {"DISPLAY", offscreen.WINDOW, "PYVISTA_OFF_SCREEN"}
    environment = {name: value for name, value in os.environ.items() if name not in known}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    if display:
        environment["DISPLAY"] = display
    command = [sys.executable, "-W", "always", "-c", code]
    child = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    assert sorted(os.listdir(tmp_path)) == ["ball.mp4", "ball.png"]


# -- messages


def test_messages_of_scenes(manipulator, tmp_path):
    size = "size: expected width and height [pixels], whole numbers from 16 to 8192, got "
    for arguments, message in (
        ({"view": "frnt"}, "view: expected the name of a view, got 'frnt'; did you mean front?"),
        ({"size": (640, 7)}, size + "(640, 7)"),
        ({"size": (640.0, 480)}, size + "(640.0, 480)"),
        ({"size": 640}, size + "640"),
        ({"size": "big"}, size + "'big'"),
    ):
        with pytest.raises(InputError) as caught:
            Scene(manipulator, **arguments)
        assert str(caught.value) == message
    with Scene(manipulator, size=SMALL) as scene:
        with pytest.raises(InputError) as caught:
            scene.update(np.zeros(3))
        assert str(caught.value) == "q: expected 24 numbers, shape (24,), got shape (3,)"
        with pytest.raises(InputError) as caught:
            scene.still(tmp_path / "robot.svg")
        endings = ".png or .jpg or .jpeg or .tif or .tiff or .bmp"
        assert str(caught.value) == f"path: expected a file name that ends in {endings}, got 'robot.svg'"
        with pytest.raises(FileError) as missing:
            scene.still(tmp_path / "none" / "robot.png")
        folder = tmp_path / "none"
        expected = f"cannot be written: there is no folder {folder}; make it first"
        assert str(missing.value) == f"{folder / 'robot.png'}: {expected}"
    assert os.listdir(tmp_path) == []


def test_messages_of_movies(run, tmp_path):
    empty = Motion(run.robot, run.t[:0], run.q[:0], run.u[:0])
    for motion, name, arguments, message in (
        (run, "run.avi", {}, "path: expected a file name that ends in .mp4 or .gif, got 'run.avi'"),
        (run, "run", {}, "path: expected a file name that ends in .mp4 or .gif, got 'run'"),
        (run, "run.mp4", {"fps": 0.0}, "fps: expected a rate greater than 0, got 0"),
        (run, "run.mp4", {"speed": -1}, "speed: expected a number greater than 0, got -1"),
        (run, "run.mp4", {"speed": float("nan")}, "speed: expected a number greater than 0, got nan"),
        (empty, "run.mp4", {}, "run: expected at least one stored time, got an empty run"),
    ):
        with pytest.raises(InputError) as caught:
            movie(motion, tmp_path / name, **arguments)
        assert str(caught.value) == message
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(FileError) as refused:
        movie(run, tmp_path / "folder.mp4")
    assert str(refused.value) == f"{tmp_path / 'folder.mp4'}: cannot be written: it is a folder"
    assert os.listdir(tmp_path) == ["folder.mp4"]
