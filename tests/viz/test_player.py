"""The window, without one: keys arrive, pictures follow."""

import os
import re
import sys
from types import SimpleNamespace

import imageio.v3 as iio
import numpy as np
import pytest
from helpers.robots import cable_manipulator

from sorosim.base.errors import InputError, SorosimError
from sorosim.view.viz import offscreen
from sorosim.view.viz.motion import motion_group
from sorosim.view.viz.player import Player, play

try:
    offscreen.require_rendering()
except SorosimError as error:
    pytest.skip(str(error), allow_module_level=True)

SMALL = (320, 240)


@pytest.fixture(scope="module")
def run():
    robot = cable_manipulator()
    t = np.linspace(0.0, 0.5, 6)
    q = np.zeros((6, robot.ndof))
    q[:, robot.coordinate_names.index("arm.bending_y[0]")] = 2.0 * t
    return SimpleNamespace(robot=robot, t=t, q=q, u=np.outer(t, [10.0, 0.0, 5.0, 2.0, 1.0]))


@pytest.fixture
def equilibrium(run):
    return SimpleNamespace(robot=run.robot, q=run.q[3], u=run.u[3])


@pytest.fixture
def opened():
    players = []

    def make(result, **options):
        players.append(Player(result, size=SMALL, off_screen=True, **options))
        return players[-1]

    yield make
    for player in players:
        player.scene.close()


def hit(player, key):
    """Press a key as a window would, letter events and all."""
    interactor = player.scene.plotter.iren.interactor
    interactor.SetKeySym(key)
    interactor.SetKeyCode(key[0] if len(key) == 1 else "\0")
    interactor.InvokeEvent("KeyPressEvent")
    interactor.InvokeEvent("CharEvent")


def difference(before, after):
    return float((np.abs(before.astype(int) - after).max(axis=2) > 25).mean())


def test_it_plays_pauses_and_follows_the_slider(run, opened, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("sorosim.view.viz.player.time.perf_counter", lambda: now[0])
    player = opened(run, speed=0.5)
    slider = player.slider.GetRepresentation()
    player.tick()
    now[0] = 0.4
    player.tick()
    assert (player.state.t, slider.GetValue()) == (pytest.approx(0.2), pytest.approx(0.2))
    # a pause does not count
    hit(player, "space")
    now[0] = 0.6
    player.tick()
    hit(player, "space")
    now[0] = 0.8
    player.tick()
    assert player.state.t == pytest.approx(0.2)
    slider.SetValue(0.4)
    player.slider.InvokeEvent("InteractionEvent")
    assert player.state.t == pytest.approx(0.4)
    assert player.scene.annotations.text("clock") == "t = 0.40 s"
    now[0] = 9.0
    player.tick()
    assert (player.state.t, player.state.playing) == (0.5, False)


def test_switches_change_the_picture_and_bring_it_back(run, opened):
    player = opened(run)
    player.state.seek(0.3)
    player.draw()
    before = player.scene.image()
    for key in "tfdgah":
        hit(player, key)
        assert difference(before, player.scene.image()) > 2e-4, key
        hit(player, key)
        np.testing.assert_array_equal(player.scene.image(), before)


def test_keys_of_views_move_the_camera_and_others_do_not(run, opened):
    player = opened(run)
    camera = player.scene.plotter.camera
    places = {}
    for key in "xyzi":
        hit(player, key)
        places[key] = np.array(camera.position) - camera.focal_point
    for k, key in enumerate("xyz"):
        assert abs(places[key][k]) > 0.99 * np.linalg.norm(places[key])
    turned = tuple(np.array(camera.position) + 0.1)
    camera.position = turned
    for key in ("c", "t", "Right"):
        hit(player, key)
        assert tuple(camera.position) == pytest.approx(turned)
    hit(player, "r")
    assert tuple(camera.position) != pytest.approx(turned)
    assert np.array(camera.position) - camera.focal_point == pytest.approx(places["i"])


def test_colours_go_through_all_quantities(run, opened):
    player, seen = opened(run), []
    for _ in range(8):
        hit(player, "c")
        seen.append(player.scene.options.colour)
        bars = list(player.scene.plotter.scalar_bars.keys())
        assert len(bars) == (0 if seen[-1] == "plain" else 1)
    assert seen == ["torsion", "bending_y", "bending_z", "elongation", "shear_y", "shear_z", "plain", "tension"]


def test_letters_of_vtk_do_nothing(run, opened):
    player = opened(run)
    before = player.scene.image()
    for key in "wp3":
        hit(player, key)
        np.testing.assert_array_equal(player.scene.image(), before)


def test_screenshots_get_names_of_their_own_and_show_no_help(run, opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    player = opened(run)
    hit(player, "s")
    hit(player, "h")
    hit(player, "s")
    assert sorted(os.listdir(tmp_path)) == ["cable_manipulator_0.000s.png", "cable_manipulator_0.000s_1.png"]
    first, second = (iio.imread(tmp_path / name) for name in sorted(os.listdir(tmp_path)))
    assert first.shape == (240, 320, 3)
    np.testing.assert_array_equal(first, second)
    assert player.scene.annotations.text("note") == "written: cable_manipulator_0.000s_1.png"
    assert player.scene.annotations.text("help") != ""
    assert player.slider.GetEnabled()


def test_a_folder_that_takes_no_screenshot_is_said_in_the_window(run, opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    player = opened(run)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("imageio.v3.imwrite", full)
    hit(player, "s")
    assert player.scene.annotations.text("note") == "cannot write a picture here: No space left on device"
    assert player.slider.GetEnabled()


def test_the_close_key_ends_the_window(run, opened, monkeypatch):
    player, ended = opened(run), []
    monkeypatch.setattr(player.scene.plotter.iren, "terminate_app", lambda: ended.append(True))
    hit(player, "q")
    assert ended == [True]


def test_an_equilibrium_has_no_slider_and_no_clock(equilibrium, opened):
    player = opened(equilibrium, frames=True)
    before = player.scene.image()
    for key in ("space", "Right", "t"):
        hit(player, key)
    player.tick()
    np.testing.assert_array_equal(player.scene.image(), before)
    assert player.slider is None
    assert player.scene.annotations.text("clock") == "h: help"
    assert re.search("t = ", player.scene.annotations.text("clock")) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a screen")
def test_no_window_without_a_screen(run, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(SorosimError) as caught:
        play(run)
    assert str(caught.value) == (
        "cannot open a window: there is no screen (DISPLAY is not set); "
        "`sorosim web` makes a page for a browser elsewhere, `sorosim movie` a film, `sorosim plot` pictures"
    )


def test_mistakes_come_before_the_window(run, equilibrium):
    for result, arguments, message in (
        (run, {"speed": 0}, "speed: expected a number greater than 0, got 0"),
        (run, {"loop": 1}, "loop: expected True or False, got 1"),
        (run, {"size": (4, 4)}, "size: expected width and height [pixels], whole numbers from 16 to 8192, got (4, 4)"),
        (run, {"trail": True}, "options: expected the name of an option, got 'trail'; did you mean trails or title?"),
        (equilibrium, {"trails": True}, "trails: expected a run, got an equilibrium"),
    ):
        with pytest.raises(InputError) as caught:
            play(result, **arguments)
        assert str(caught.value) == message


def test_where_nothing_can_be_drawn_one_sentence_says_what_to_install(run, monkeypatch):
    def broken():
        raise SorosimError("cannot draw in 3D: there is no working OpenGL on this machine")

    offscreen.load_pyvista.cache_clear()
    monkeypatch.setattr(offscreen, "require_rendering", broken)
    monkeypatch.setitem(sys.modules, "pyvista.plotting", None)  # as if a library of the system were missing
    try:
        with pytest.raises(SorosimError, match="no working OpenGL"):
            Player(run, off_screen=True)
    finally:
        offscreen.load_pyvista.cache_clear()


def test_several_runs_play_together_by_one_clock(run, opened):
    short = SimpleNamespace(robot=run.robot, t=run.t[:3], q=-run.q[:3], u=run.u[:3])
    player = opened(motion_group([run, short], "side"))
    assert player.state.end == run.t[-1]
    player.state.seek(0.35)
    player.draw()
    robot = player.scene.robots[1]
    surface, points = robot.surfaces[0][0], robot.visual.geometry.at(short.q[-1]).points + robot.visual.offset
    np.testing.assert_allclose(surface.mesh.points, points[surface.index], atol=1e-6)
    before = player.scene.image()
    hit(player, "c")  # colours tell them apart, and stay
    np.testing.assert_array_equal(player.scene.image()[60:], before[60:])


def test_arrows_come_and_go_by_keys(run, opened):
    player = opened(run)
    assert "forces" not in player.scene.plotter.actors
    hit(player, "m")
    assert "forces" in player.scene.plotter.actors
    assert player.scene.annotations.text("scale").startswith("arrows: ")
    hit(player, "m")
    assert "forces" not in player.scene.plotter.actors
    assert player.scene.annotations.text("scale") == ""


def test_the_camera_of_the_player_goes_round_with_time(run, opened):
    player = opened(run, orbit="90 deg/s")
    first = np.array(player.scene.plotter.camera.position)
    hit(player, "End")
    assert np.linalg.norm(player.scene.plotter.camera.position - first) > 0.1
    hit(player, "Home")
    np.testing.assert_allclose(player.scene.plotter.camera.position, first, atol=1e-9)
