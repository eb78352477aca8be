"""Photograph the page of `sorosim live` for docs/live.md: python docs/make_live_pictures.py

Needs the extras `live` and `test`, chromium and chromedriver. Names of robots photograph their pages instead, into the
folder that is named by --to: python docs/make_live_pictures.py fin_ray soft_gripper --to /tmp
"""

import argparse
import io
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import sorosim
from sorosim.files.bundled import bundled_file

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests")]
from helpers.browser import browser, close_notices  # noqa: E402
from make_pictures import robots, write  # noqa: E402

ROBOT, WIDTH, HEIGHT = "cable_manipulator", 840, 800  # pixels
# an observer of the arm of docs/estimation.md, made thinner so that bands are seen, by a camera that sees it badly
THIN = {"links.arm.rod.section.circle.radius": 4e-3, "materials.rubber.young": 6e6, "actuators.pull.tendon.z": 3e-3}
ARM, OBSERVED = 2, {
    "readings": ["arm", "arm@0.5"], "noise": "6 mm", "unknown": {"arm.tip": "force"}, "prior": {"arm.tip": "0.2 N"},
    "process": {"arm.tip": "0.1 N", "motion": "3 cm/s"},
}  # fmt: skip
# an arm with a tool on its tip, whose numbers have handles
HANDLES = """\
sorosim: 1
name: arm with a tool
materials:
  rubber: {young: 5 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 5 kPa*s}
links:
  arm:
    at: {rotation: {axis: [0, 1, 0], angle: -60 deg}}
    rod: {length: 15 cm, section: {circle: {radius: [2 cm, 1 cm]}}, material: rubber, strain: {bending: 3}}
  tool:
    parent: arm
    body: {box: {size: [8 cm, 6 cm, 5 cm]}, mass: 50 g, at: {position: [4 cm, 0, 0]}}
    frames: {grip: {position: [11 cm, 0, 0]}}
"""
PULLED = (0.0, -0.25, 0.35)  # relative to the size of the robot
MOVED, PATIENCE = 3.0, 600.0  # s of motion before the picture, s on the clock until it has moved


def photograph(robot: Any, plot: str = "", height: int = HEIGHT, **options: Any) -> Image.Image:
    """The page of a robot that has moved for a while and is pulled at; its plot is filled."""
    with sorosim.live(robot, port=0, block=False, **options) as live, browser() as driver:
        session = live.session
        driver.set_window_size(1280, height)
        driver.get(live.url)
        _wait(lambda: session.state.t > 0.0 and close_notices(driver))
        session.set(**{one.name: one.low + 0.4 * (one.high - one.low) for one in _first(session.controls, 1)})
        session.grab(session.controls.tip)
        _wait(lambda: session.state.pull is not None)
        if plot:
            live._page._plotted.value = plot
            live._page._clear_plot()
        begin, point = session.state.t, session.state.pull[0]
        session.aim(point + session.size * np.array(PULLED))
        _wait(lambda: session.state.t > begin + MOVED or session.state.paused)
        time.sleep(8.0)  # without a graphics card the browser comes seconds behind
        return Image.open(io.BytesIO(driver.get_screenshot_as_png()))


def photograph_editor() -> Image.Image:
    """The editor with the robot that `sorosim new` writes, its finger selected."""
    from selenium.webdriver.common.by import By

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "finger.yaml"
        path.write_text(
            resources.files("sorosim").joinpath("starter.yaml").read_text(encoding="utf-8"), encoding="utf-8"
        )
        with sorosim.live(path, port=0, block=False) as live, browser() as driver:
            driver.set_window_size(1600, 1000)
            driver.get(live.url)
            item = 'sl-tree-item[data-path=\'["links","finger"]\'] span'
            _wait(lambda: driver.find_elements(By.CSS_SELECTOR, item))
            driver.find_element(By.CSS_SELECTOR, item).click()
            _wait(lambda: driver.find_elements(By.CSS_SELECTOR, "#form input[type=range]"))
            driver.switch_to.frame("scene")
            _wait(lambda: close_notices(driver))
            driver.switch_to.default_content()
            time.sleep(12.0)
            return Image.open(io.BytesIO(driver.get_screenshot_as_png()))


def photograph_studies(size: tuple[int, int] = (1600, 1000), dark: bool = False) -> Image.Image:
    """The same robot with a sweep over two of its inputs, in the tab of studies."""
    from selenium.webdriver.common.by import By

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.yaml"
        path.write_text(bundled_file("two_segment_arm").read_text(encoding="utf-8"), encoding="utf-8")
        with sorosim.live(path, port=0, block=False) as live, browser() as driver:
            driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
            )
            driver.set_window_size(*size)
            driver.get(live.url)
            _wait(lambda: live._editing.text.report and driver.find_elements(By.CSS_SELECTOR, "sl-tree-item"))
            driver.find_element(By.ID, "tab-studies").click()
            _wait(lambda: driver.find_elements(By.CSS_SELECTOR, "#study-kind option"))
            driver.find_element(By.ID, "study-kind").send_keys("Sw")
            first, second = [f"u.{name}" for name in live.session.robot.actuator_names[:2]]
            for k, name in enumerate((first, second), 1):
                driver.find_element(By.NAME, f"axis{k}").send_keys(name)
                field = driver.find_element(By.NAME, f"axis{k}-n")
                field.clear()
                field.send_keys("9")
            field.submit()
            _wait(lambda: any(one.get_attribute("naturalWidth") not in (None, "0")
                              for one in driver.find_elements(By.CSS_SELECTOR, ".picture img")))  # fmt: skip
            if size[0] > 900:
                driver.switch_to.frame("scene")
                _wait(lambda: close_notices(driver))
                driver.switch_to.default_content()
            driver.execute_script("document.querySelector('.picture').scrollIntoView({block: 'center'})")
            time.sleep(12.0)
            return Image.open(io.BytesIO(driver.get_screenshot_as_png()))


def photograph_handles() -> Image.Image:
    """The arm of HANDLES in the editor, a link of it selected, whose handles are seen."""
    from selenium.webdriver.common.by import By

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.yaml"
        path.write_text(HANDLES, encoding="utf-8")
        with sorosim.live(path, port=0, block=False) as live, browser() as driver:
            driver.set_window_size(1600, 1000)
            driver.get(live.url)
            item = 'sl-tree-item[data-path=\'["links","tool"]\'] span'
            _wait(lambda: driver.find_elements(By.CSS_SELECTOR, item))
            driver.find_element(By.CSS_SELECTOR, item).click()
            _wait(lambda: live._editing.handles.items)
            driver.switch_to.frame("scene")
            _wait(lambda: close_notices(driver))
            driver.switch_to.default_content()
            time.sleep(12.0)
            whole = Image.open(io.BytesIO(driver.get_screenshot_as_png()))
            return whole.crop((352 * whole.width // 1600, 0, 1270 * whole.width // 1600, 700 * whole.width // 1600))


def _first(controls: Any, n: int) -> list[Any]:
    return list(controls.all.values())[:n]


def _wait(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the page does not come to it")
        time.sleep(0.1)


def main() -> None:
    """Photograph what is named."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*")
    options.add_argument("--to", type=Path, default=Path.cwd())
    chosen = options.parse_args()
    for name in chosen.names:
        photograph(name).save(chosen.to / f"live_{name}.png")
    if not chosen.names:
        arm = robots("estimation.md")[ARM].with_values(THIN)
        for file, image in (
            ("live", photograph(ROBOT)),
            ("live_editor", photograph_editor()),
            ("live_studies", photograph_studies()),
            ("live_handles", photograph_handles()),
            ("live_observer", photograph(arm, "estimated", 1000, speed=0.25, observe=OBSERVED)),
        ):
            write(image.resize((WIDTH, round(WIDTH * image.height / image.width)), Image.Resampling.LANCZOS), file)


if __name__ == "__main__":
    main()
