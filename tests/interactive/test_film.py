"""What the film of docs/build_in_browser.md shows, a finger from nothing: its file is that of the page."""

import re
from pathlib import Path

import pytest
from helpers.browser import browser, has_browser, mistakes
from helpers.build_finger import PULL, Builder, Nobody, build

import sorosim

pytest.importorskip("viser")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "build_in_browser.md"


def written():
    """The file as the page has it."""
    return re.search(r"^```yaml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[1]


@pytest.mark.slow
@pytest.mark.skipif(not has_browser(), reason="no chromium and chromedriver")
def test_a_finger_is_built_as_the_film_shows(tmp_path):
    path = tmp_path / "finger.yaml"
    with sorosim.live(path, port=0, block=False, edit=True) as live, browser() as driver:
        build(Builder(driver, live, Nobody()))
        assert mistakes(driver) == []
    assert path.read_text(encoding="utf-8") == written()


def test_the_finger_of_the_page_bears_on_the_ball(tmp_path):
    """At the end of the slider it touches; without tension it hangs free."""
    path = tmp_path / "finger.yaml"
    path.write_text(written(), encoding="utf-8")
    robot = sorosim.load(path)
    free = sorosim.statics(robot, u={"flexor": 0.0})
    held = sorosim.statics(robot, u={"flexor": PULL})
    assert len(free.contacts.force) == 0
    assert held.contacts.normal_force.min() > 0.0
    # it lies below the ball, which pushes it down
    assert held.contacts.force_on("finger")[2] < 0.0
    assert held.tip()[2] > free.tip()[2]
