"""A page in a browser, where the machine has one: keys, buttons, and the picture that it saves."""

import time
from types import SimpleNamespace

import imageio.v3 as iio
import numpy as np
import pytest
from helpers.browser import browser, has_browser
from helpers.robots import cable_manipulator

from sorosim.view.viz.web import export_html

pytestmark = pytest.mark.skipif(not has_browser(), reason="no chromium and chromedriver")
PATIENCE = 30.0  # seconds


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    pytest.importorskip("selenium")
    folder, robot, t = tmp_path_factory.mktemp("page"), cable_manipulator(), np.linspace(0.0, 1.0, 11)
    q = np.zeros((11, robot.ndof))
    q[:, robot.coordinate_names.index("arm.bending_y[0]")] = 2.0 * t
    run = SimpleNamespace(robot=robot, t=t, q=q, u=np.outer(t, [10.0, 0.0, 5.0, 2.0, 1.0]))
    export_html(run, folder / "run.html", fps=10.0, occlusion=False)
    with browser() as driver:
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
        driver.get((folder / "run.html").as_uri())
        driver.folder = folder
        yield driver


def press(driver, key):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(key).perform()


def text(driver, name):
    return driver.find_element("id", name).text


def shown(driver):
    """The picture, once it stands."""
    before = None
    for _ in range(100):
        time.sleep(0.05)
        now = driver.get_screenshot_as_png()
        if now == before:
            return iio.imread(now)[..., :3].astype(int)
        before = now
    raise AssertionError("the page does not come to rest")


def difference(before, after):
    """Part of the pixels that differ; a button under the mouse is a little grey."""
    return float((np.abs(before - after).max(axis=2) > 25).mean())


def wait_for(found):
    end = time.monotonic() + PATIENCE
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return value


def test_switches_change_the_picture_and_bring_it_back(driver):
    from selenium.webdriver.common.keys import Keys

    press(driver, Keys.END)
    before = shown(driver)
    assert text(driver, "clock") == "t = 1.00 s"
    for key in "tfdgamh":
        press(driver, key)
        assert difference(shown(driver), before) > 2e-4, key
        press(driver, key)
        assert difference(shown(driver), before) == 0.0


def test_colours_go_through_all_quantities(driver):
    seen = []
    for _ in range(8):
        press(driver, "c")
        shown(driver)
        seen.append(text(driver, "legend").split("\n")[0])
    assert seen == [
        "torsion [rad/m]", "bending y [rad/m]", "bending z [rad/m]", "elongation [-]", "shear y [-]", "shear z [-]", "",
        "tension [N]",
    ]  # fmt: skip


def test_it_plays_to_the_end_and_keys_of_the_browser_stay_its_own(driver):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    press(driver, Keys.HOME)
    press(driver, Keys.ARROW_UP)
    press(driver, " ")
    wait_for(lambda: text(driver, "clock") == "t = 1.00 s")
    assert text(driver, "play") == "play"
    press(driver, Keys.ARROW_DOWN)
    before = shown(driver)
    ActionChains(driver).key_down(Keys.ALT).send_keys("g").key_up(Keys.ALT).perform()
    assert difference(shown(driver), before) == 0.0


def test_the_help_is_a_list_of_buttons(driver):
    driver.find_element("id", "keys").click()
    before = shown(driver)
    rows = driver.find_elements("css selector", "#help button")
    next(row for row in rows if "floor and grid" in row.text).click()
    assert difference(shown(driver), before) > 2e-4
    next(row for row in rows if "floor and grid" in row.text).click()
    assert difference(shown(driver), before) == 0.0
    press(driver, "?")


def test_the_saved_picture_has_what_is_drawn_and_its_words_without_the_controls(driver):
    from selenium.webdriver.common.keys import Keys

    press(driver, Keys.END)
    page = shown(driver)
    press(driver, "s")
    path = driver.folder / "cable_manipulator_1.000s.png"
    wait_for(path.exists)
    saved = iio.imread(path)[..., :3].astype(int)
    height = saved.shape[0] - 60  # above the controls
    assert saved.shape[1] == page.shape[1]
    assert (np.abs(saved[:height] - page[:height]).max(axis=2) > 100).mean() < 1e-3  # letters are smoothed otherwise
    for rows, columns in ((slice(10, 60), slice(10, 260)), (slice(140, 370), slice(-100, None))):  # heading; colours
        assert (saved[rows, columns].max(axis=2) < 200).any()
    assert (saved[-40:, 20:100] > 200).all()  # no button
