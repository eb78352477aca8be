"""Whole robots in the editor, from an empty page, by clicks and keys alone: saved is what was written by hand."""

import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from helpers.browser import browser, has_browser, mistakes
from helpers.person import Person, until

import sorosim
from sorosim.files.bundled import bundled_text

pytest.importorskip("viser")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not has_browser(), reason="no chromium and chromedriver")]
BUILT = Path(__file__).parents[1] / "data" / "built"

NARROW = (800, 900)  # pixels: beside the parts nothing is drawn, which takes minutes without a graphics card


def text_of(name):
    own = BUILT / f"{name}.yaml"
    return own.read_text(encoding="utf-8") if own.exists() else bundled_text(name)


@pytest.mark.parametrize("name", ["cable_manipulator", "two_finger_gripper", "fin_ray_finger", "eel", "fin_ray"])
def test_a_whole_robot_is_built(name, tmp_path):
    text, path = text_of(name), tmp_path / "built.yaml"
    with sorosim.live(path, port=0, block=False, edit=True) as live, browser() as driver:
        me = Person(driver, live)
        driver.set_window_size(*NARROW)
        begin = time.monotonic()
        me.build(yaml.safe_load(text))
        me.command("s")
        until(path.exists)
        print(f"{name}: {me.clicks} clicks, {me.strokes} keys, {time.monotonic() - begin:.0f} s")
        assert me.text.report["mistakes"] == []
        assert mistakes(driver) == []
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == yaml.safe_load(text)
    built, written = sorosim.load(path), sorosim.files.load_text(text, "written.yaml")
    for one in ("ndof", "coordinate_names", "actuator_names", "loop_names", "sensor_names"):
        assert getattr(built, one) == getattr(written, one)
    assert [link.name for link in built.links] == [link.name for link in written.links]
    q = np.linspace(-0.1, 0.1, built.ndof)
    np.testing.assert_array_equal(built.mass_matrix(q), written.mass_matrix(q))
