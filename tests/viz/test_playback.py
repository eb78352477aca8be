"""The state machine of a page, run by node: time, speed, loop, and every key."""

import json
import re
import shutil
import subprocess
from dataclasses import fields
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from sorosim.view.viz.options import TOGGLES, DrawingOptions

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

SWITCHES = {name: bool(getattr(DrawingOptions(), name)) for name in TOGGLES}
MOTION = {
    "times": list(np.linspace(0.0, 1.0, 11)), "speed": 1, "loop": False, "playing": True, "view": "iso",
    "colour": "plain", "colours": [{"name": "plain"}], "switches": SWITCHES,
}  # fmt: skip
SHOWN = ("t", "playing", "loop", "speed", "help", "view", "colour", "switches")


@pytest.fixture
def run_script(tmp_path):
    """What a piece of JavaScript prints as JSON, with a playback `p` of a motion."""
    script = resources.files("sorosim.view.viz").joinpath("viewer_playback.js").read_text(encoding="utf-8")
    (tmp_path / "playback.cjs").write_text(script, encoding="utf-8")

    def run(code, **motion):
        head = (
            "const { KEYS, Playback, SLOWEST, FASTEST } = require('./playback.cjs');"
            f"const p = new Playback({json.dumps(MOTION | motion)}), seen = [];"
        )
        command = ["node", "-e", head + code + ";console.log(JSON.stringify(seen))"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_time_goes_on_at_its_speed_and_stops_at_the_end(run_script):
    code = """
    const note = () => seen.push([p.t, p.playing]);
    note(), p.tick(0.4), note(), p.press(" "), p.tick(5), note(), p.press(" "), p.tick(5), note(), p.press(" "), note();
    """
    seen = run_script(code, speed=0.5)
    # at the end, play starts again
    assert seen == [[0, True], [pytest.approx(0.2), True], [pytest.approx(0.2), False], [1, False], [0, True]]


def test_a_page_that_is_not_played_waits(run_script):
    assert run_script("p.tick(0.4), seen.push(p.t)", playing=False) == [0]


def test_a_loop_starts_again_where_it_would_be(run_script):
    code = "p.tick(2.3), seen.push(p.t, p.playing), p.press('l'), p.tick(2.3), seen.push(p.t, p.playing);"
    assert run_script(code, loop=True) == [pytest.approx(0.3), True, 1, False]


def test_seeking_stays_within_the_run_and_goes_on_playing(run_script):
    code = "for (const t of [0.35, 99, -1]) p.seek(t), seen.push([p.t, p.playing]);"
    assert run_script(code) == [[0.35, True], [1, True], [0, True]]


def test_steps_go_from_stored_state_to_stored_state_and_pause(run_script):
    code = """
    p.seek(0.25);
    for (const key of ["Right", "Right", "Left", "Left", "Left"]) p.press(`Arrow${key}`), seen.push(p.t, p.playing);
    for (const key of ["Left", "Right"]) { for (let k = 0; k < 20; k++) p.press(`Arrow${key}`); seen.push(p.t); }
    """
    seen = run_script(code)
    np.testing.assert_allclose(seen[:10:2], [0.3, 0.4, 0.3, 0.2, 0.1])
    assert seen[1:10:2] == [False] * 5
    assert seen[10:] == [0, 1]


KEYS = {
    " ": ("toggle", {"playing": False}),
    "ArrowRight": ("forwards", {"t": 0.6, "playing": False}),
    "ArrowLeft": ("backwards", {"t": 0.4, "playing": False}),
    "ArrowUp": ("faster", {"speed": 2.0}),
    "ArrowDown": ("slower", {"speed": 0.5}),
    "Home": ("first", {"t": 0.0}),
    "End": ("last", {"t": 1.0, "playing": False}),
    "l": ("loop", {"loop": True}),
    "L": ("loop", {"loop": True}),
    "c": ("colour", {"colour": "torsion"}),
    "h": ("help", {"help": True}),
    "?": ("help", {"help": True}),
    "i": ("iso", {"view": "iso"}),
    "x": ("x", {"view": "x"}),
    "y": ("y", {"view": "y"}),
    "z": ("z", {"view": "z"}),
    "r": ("fit", {}),
    "s": ("screenshot", {}),
    "w": (None, {}),
    "F7": (None, {}),
}
TOGGLED = {
    "t": "trails", "f": "frames", "d": "tendons", "k": "contacts", "e": "loads", "j": "joints", "m": "gravity",
    "g": "floor", "a": "axes",
}  # fmt: skip


def test_every_key_does_its_own(run_script):
    """Each alone, and nothing else."""
    code = f"""
    for (const key of {json.dumps([*KEYS, *TOGGLED])}) {{
      const p = new Playback({{ ...{json.dumps(MOTION)}, view: "front", colour: "tension",
        colours: [{{ name: "tension" }}, {{ name: "torsion" }}, {{ name: "plain" }}] }});
      const state = () => JSON.parse(JSON.stringify({{ {", ".join(f"{s}: p.{s}" for s in SHOWN)} }}));
      p.seek(0.5);
      const before = state(), action = p.press(key);
      seen.push([before, action, state()]);
    }}
    """
    seen = dict(zip([*KEYS, *TOGGLED], run_script(code), strict=True))
    for key, (before, action, after) in seen.items():
        changes = {name: after[name] for name in SHOWN if after[name] != before[name]}
        if key in TOGGLED:
            name = TOGGLED[key]
            wanted = name, {"switches": {**SWITCHES, name: not SWITCHES[name]}}
        else:
            wanted = KEYS[key]
        assert (action, changes) == (wanted[0], pytest.approx(wanted[1]) if key not in TOGGLED else wanted[1]), key


def test_keys_and_actions_differ_and_every_toggle_has_one(run_script):
    (keys,) = run_script("seen.push(KEYS)")
    for column in ("key", "label", "action", "description"):
        assert len({key[column] for key in keys}) == len(keys)
    assert {*TOGGLES} < {key["action"] for key in keys}
    assert {*TOGGLES} <= {field.name for field in fields(DrawingOptions)}
    assert {key["key"] for key in keys} == {*KEYS, *TOGGLED} - {"L", "?", "w", "F7"}


def test_the_page_of_pictures_has_these_keys(run_script):
    (keys,) = run_script("seen.push(KEYS)")
    page = Path(__file__).parents[2] / "docs" / "pictures.md"
    table = page.read_text(encoding="utf-8").split("## The player's keys")[1].split("\n\n")
    rows = next(block for block in table if block.startswith("|")).splitlines()[2:]
    found = [re.fullmatch(r"\| (.+) \| (.+) \|", row).groups() for row in rows]
    assert found == [(key["label"], key["description"]) for key in keys]


def test_speeds_and_colours_go_round_within_bounds(run_script):
    code = """
    const colours = [];
    for (let k = 0; k < 40; k++) p.press("ArrowUp"), p.press("c"), colours.push(p.colour);
    seen.push(p.speed === FASTEST, colours.slice(0, 3));
    for (let k = 0; k < 60; k++) p.press("ArrowDown");
    seen.push(p.speed === SLOWEST);
    """
    colours = [{"name": "tension"}, {"name": "torsion"}, {"name": "plain"}]
    seen = run_script(code, colours=colours)
    assert seen == [True, ["tension", "torsion", "plain"], True]


def test_a_state_of_rest_has_no_time(run_script):
    code = """
    for (const key of KEYS.filter((one) => one.timed)) seen.push(p.press(key.key));
    p.tick(1);
    seen.push([p.t, p.playing], p.press("f"), p.keys.some((key) => key.timed));
    """
    *none, state, action, timed = run_script(code, times=[0.0])
    assert none == [None] * 9
    assert (state, action, timed) == ([0, False], "frames", False)
