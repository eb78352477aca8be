"""The player's state machine: time, speed, loop, and every key."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from sorosim.base.errors import InputError
from sorosim.view.viz.options import UNITS, DrawingOptions
from sorosim.view.viz.player import FASTEST, KEYS, SLOWEST, VIEWS, Playback

TIMES = np.linspace(0.0, 1.0, 11)
SHOWN = ("t", "playing", "loop", "speed", "help", "view", "colour", "switches")


def state_of(playback):
    return {name: getattr(playback, name) for name in SHOWN} | {"switches": dict(playback.switches)}


def changed(playback, key):
    before, action = state_of(playback), playback.press(key)
    after = state_of(playback)
    return action, {name: after[name] for name in SHOWN if after[name] != before[name]}


def test_time_goes_on_at_its_speed_and_stops_at_the_end():
    playback = Playback(TIMES, speed=0.5)
    assert (playback.t, playback.playing) == (0.0, True)
    playback.tick(0.4)
    assert playback.t == pytest.approx(0.2)
    playback.press("space")
    playback.tick(5.0)
    assert (playback.t, playback.playing) == (pytest.approx(0.2), False)
    playback.press("space")
    playback.tick(5.0)
    assert (playback.t, playback.playing) == (1.0, False)
    # at the end, play starts again
    playback.press("space")
    assert (playback.t, playback.playing) == (0.0, True)


def test_a_loop_starts_again_where_it_would_be():
    playback = Playback(TIMES, loop=True)
    playback.tick(2.3)
    assert (playback.t, playback.playing) == (pytest.approx(0.3), True)
    playback.press("l")
    playback.tick(2.3)
    assert (playback.t, playback.playing) == (1.0, False)


def test_seeking_stays_within_the_run_and_goes_on_playing():
    playback = Playback(TIMES)
    for wanted, found in ((0.35, 0.35), (99.0, 1.0), (-1.0, 0.0)):
        playback.seek(wanted)
        assert (playback.t, playback.playing) == (found, True)


def test_steps_go_from_stored_state_to_stored_state_and_pause():
    playback = Playback(TIMES)
    playback.seek(0.25)
    seen = []
    for key in ("Right", "Right", "Left", "Left", "Left"):
        playback.press(key)
        seen.append(playback.t)
        assert not playback.playing
    np.testing.assert_allclose(seen, [0.3, 0.4, 0.3, 0.2, 0.1])
    for key, end in (("Left", 0.0), ("Right", 1.0)):
        for _ in range(20):
            playback.press(key)
        assert playback.t == end


@pytest.mark.parametrize(
    ("key", "action", "change"),
    [
        ("space", "toggle", {"playing": False}),
        ("Right", "forwards", {"t": 0.6, "playing": False}),
        ("Left", "backwards", {"t": 0.4, "playing": False}),
        ("Up", "faster", {"speed": 2.0}),
        ("Down", "slower", {"speed": 0.5}),
        ("Home", "first", {"t": 0.0}),
        ("End", "last", {"t": 1.0, "playing": False}),
        ("l", "loop", {"loop": True}),
        ("c", "colour", {"colour": "torsion"}),
        ("h", "help", {"help": True}),
        ("i", "iso", {"view": "iso"}),
        ("x", "x", {"view": "x"}),
        ("y", "y", {"view": "y"}),
        ("z", "z", {"view": "z"}),
        ("r", "fit", {}),
        ("s", "screenshot", {}),
        ("q", "close", {}),
        ("w", None, {}),
        ("F7", None, {}),
    ],
)
def test_every_key_does_its_own(key, action, change):
    playback = Playback(TIMES, colours=("tension", "torsion", "plain"), colour="tension", view="front")
    playback.seek(0.5)
    assert changed(playback, key) == (action, {name: pytest.approx(value) for name, value in change.items()})


@pytest.mark.parametrize(("key", "switch"), [(k.name, k.action) for k in KEYS if k.name in "tfdga"])
def test_switches_go_on_and_off(key, switch):
    playback = Playback(TIMES, floor=True)
    before = playback.switches[switch]
    playback.press(key)
    assert playback.switches[switch] is not before
    playback.press(key)
    assert playback.switches[switch] is before


def test_names_and_actions_of_keys_differ():
    for column in ("name", "action", "description"):
        assert len({getattr(key, column) for key in KEYS}) == len(KEYS)
    assert {"fit", "screenshot", "close", *VIEWS} < {key.action for key in KEYS}


def test_speeds_and_colours_go_round_within_bounds():
    playback = Playback(TIMES, colours=("tension", "torsion"), colour="plain")
    colours = []
    for _ in range(40):
        playback.press("Up")
        playback.press("c")
        colours.append(playback.colour)
    assert playback.speed == FASTEST
    assert colours[:3] == ["tension", "torsion", "tension"]
    for _ in range(60):
        playback.press("Down")
    assert playback.speed == SLOWEST


def test_a_state_of_rest_has_no_time():
    playback = Playback(None)
    for key in KEYS:
        if key.timed:
            assert playback.press(key.name) is None
    playback.tick(1.0)
    assert (playback.t, playback.playing, playback.status) == (0.0, False, "")
    assert "play" not in playback.help_text
    assert playback.press("f") == "frames"


def test_words():
    playback = Playback(TIMES, speed=0.25, loop=True)
    assert playback.status == "playing   speed 0.25   loop"
    playback.press("space")
    playback.press("l")
    assert playback.status == "paused   speed 0.25"
    lines = playback.help_text.split("\n")
    assert len(lines) == len(KEYS)
    assert lines[0] == "space  play, pause"
    assert all(len(line) < 40 for line in lines)


def test_a_run_of_one_state_plays_to_its_end():
    playback = Playback(TIMES[:1], loop=True)
    playback.tick(1.0)
    assert (playback.t, playback.playing) == (0.0, False)
    playback.press("Right")
    assert playback.t == 0.0


@pytest.mark.parametrize("speed", [0.0, -1.0, np.nan, "fast"])
def test_impossible_speeds_are_refused(speed):
    with pytest.raises(InputError, match="speed: expected a number greater than 0"):
        Playback(TIMES, speed=speed)


def test_the_page_tells_every_key_and_option():
    page = (Path(__file__).resolve().parents[2] / "docs" / "pictures.md").read_text(encoding="utf-8")
    for key in KEYS:
        assert f"| {key.label} | {key.description} |" in page
    for name in (*(field.name for field in fields(DrawingOptions)), *UNITS):
        assert f"`{name}`" in page
