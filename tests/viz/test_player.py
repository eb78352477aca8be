"""`play`: the page that is written, and the browser that is asked to open it."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.robots import cable_manipulator

import sorosim
from sorosim.base.errors import FileError, InputError, SorosimError
from sorosim.view.viz import player
from sorosim.view.viz.player import play


@pytest.fixture(scope="module")
def run():
    robot = cable_manipulator()
    t = np.linspace(0.0, 0.5, 6)
    q = np.zeros((6, robot.ndof))
    return SimpleNamespace(robot=robot, t=t, q=q, u=np.outer(t, [10.0, 0.0, 5.0, 2.0, 1.0]))


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """Addresses that a browser was asked to open; temporary files are in the test's folder."""
    addresses = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(player.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(player.webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


def motion_of(path):
    return json.loads(re.search(r'id="motion">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)[1])


def test_a_run_is_played_from_a_temporary_page(run, opened, tmp_path):
    path = play(run, speed=0.5, loop=True, trails=True, view="x", fps=10.0)
    assert opened == [path.as_uri()]
    assert (path.name, path.parent.parent) == ("cable_manipulator.html", tmp_path)
    motion = motion_of(path)
    assert [motion[name] for name in ("playing", "speed", "loop", "view")] == [True, 0.5, True, "x"]
    assert motion["switches"]["trails"]
    assert len(motion["times"]) == 6
    # a second one takes nothing from the first
    assert play(run) != path
    assert path.exists()


def test_the_page_stays_where_one_wants_it(run, opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = play(run, path="arm.html")
    assert path == tmp_path / "arm.html"
    assert opened == [path.as_uri()]
    with pytest.raises(InputError, match=r"ends in \.html"):
        play(run, path="arm.txt")
    with pytest.raises(FileError, match="there is no folder"):
        play(run, path=tmp_path / "none" / "arm.html")
    assert len(opened) == 1


def test_everything_that_plays_opens_a_page(opened, tmp_path):
    robot = sorosim.load("pendulum")
    run, eq = sorosim.simulate(robot, "20 ms"), sorosim.statics(robot)
    mode = eq.linearize().mode(1)
    motions = [motion_of(one) for one in (run.play(), eq.play(), mode.play(), sorosim.play(run, eq, names=["a", "b"]))]
    assert [motion["title"] for motion in motions] == [robot.name, robot.name, f"{robot.name}, {mode.message}", ""]
    assert [len(motion["times"]) > 1 for motion in motions] == [True, False, True, True]
    assert motions[2]["speed"] == pytest.approx(mode.speed)
    assert [name for name, _ in motions[3]["legend"]] == ["a", "b"]
    mode.export_html(tmp_path / "mode.html")
    page = motion_of(tmp_path / "mode.html")
    assert (page["speed"], page["title"], page["playing"]) == (motions[2]["speed"], motions[2]["title"], False)


def where_it_is(told):
    message = r"no web browser can be opened here: the page is (.*); open it in a browser, .*"
    return Path(re.fullmatch(message, str(told.value))[1])


def test_without_a_browser_the_error_says_where_the_page_is(run, opened, monkeypatch):
    monkeypatch.setattr(player.webbrowser, "open", lambda _: False)
    with pytest.raises(SorosimError) as told:
        play(run)
    assert motion_of(where_it_is(told))["playing"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a screen")
def test_no_browser_is_asked_without_a_screen(run, opened, monkeypatch):
    """One of the terminal would be opened."""
    for name in player.SCREENS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SorosimError) as told:
        play(run)
    assert where_it_is(told).exists()
    assert opened == []
    monkeypatch.setenv("BROWSER", "mine")
    play(run)
    assert len(opened) == 1


def test_mistakes_come_before_the_page(run, opened, tmp_path):
    equilibrium = SimpleNamespace(robot=run.robot, q=run.q[3], u=run.u[3])
    size = "a page is as large as the window of its browser; still and movie take a size"
    for result, arguments, message in (
        (run, {"speed": 0}, "speed: expected a number greater than 0, got 0"),
        (run, {"loop": 1}, "loop: expected True or False, got 1"),
        (run, {"fps": 0}, "fps: expected a rate greater than 0, got 0"),
        (run, {"size": (640, 480)}, f"options: expected what a page can show, got 'size'; {size}"),
        (run, {"trail": True}, "options: expected the name of an option, got 'trail'; did you mean trails or title?"),
        (equilibrium, {"trails": True}, "trails: expected a run, got an equilibrium"),
    ):
        with pytest.raises(InputError) as caught:
            play(result, **arguments)
        assert str(caught.value) == message
    assert opened == []
    assert list(tmp_path.iterdir()) == []
