"""The editor in a browser, by clicks and keys alone: a robot from nothing, mistakes, undoing, others who type."""

import asyncio
import re
import time

import numpy as np
import pytest
from helpers.browser import browser, close_notices, has_browser, mistakes
from helpers.person import Person, drag, until

import sorosim
from sorosim.files import load
from sorosim.files.bundled import bundled_text
from sorosim.view.interactive.editor import EMPTY
from tests.interactive.test_studies import TEXT

pytest.importorskip("viser")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not has_browser(), reason="no chromium and chromedriver")]


def test_a_robot_from_nothing_by_clicks_and_keys(tmp_path):
    path = tmp_path / "finger.yaml"
    with sorosim.live(path, port=0, block=False, edit=True) as live, browser() as driver:
        me = Person(driver, live)
        assert me.text.report["mistakes"]
        me.select("links")
        me.press("links", me.keys.INSERT)
        me.answer(kind="rod", name="arm")
        me.said("arm:")
        assert me.text.report["mistakes"] == []
        assert me.text.report["size"] == "4 coordinates, 0 inputs"
        me.select("actuators")
        me.press("actuators", me.keys.INSERT)
        me.answer(kind="tendon", name="pull")
        me.said("pull:")
        me.select("links", "arm")
        me.fill("links arm rod length", "40 cm")
        me.said("40 cm")
        me.press("links", "arm", me.keys.F2)
        me.answer(name="finger")
        me.said("rod: finger")
        assert me.text.report["mistakes"] == []
        assert not path.exists()
        me.command("s")
        until(path.exists)
        robot = load(path)
        assert (robot.ndof, robot.actuator_names, robot.description.links[0].body.length) == (4, ("pull",), 0.4)
        until(lambda: live.session.robot.actuator_names == ("pull",))
        # a copy alone is selected
        me.press("links", "finger", me.keys.CONTROL + "d")
        me.said("finger2:")
        until(lambda: me.all(me.item(("links", "finger2"))))
        until(
            lambda: (
                [one.get_attribute("data-path") for one in me.all("sl-tree-item[selected]")] == ['["links","finger2"]']
            )
        )
        me.command("z")
        until(lambda: not me.all(me.item(("links", "finger2"))))
        # a mistake stands in words, and the robot stays
        me.select("links", "finger")
        me.fill("links finger rod material", "ruber")
        me.said("ruber")
        assert "ruber" in me.text.report["mistakes"][0]["words"]
        until(lambda: "ruber" in me.all("#status")[0].text)
        assert me.all(".cm-lintRange-error")
        for _ in range(30):
            if me.text.text == EMPTY:
                break
            me.command("z")
            time.sleep(0.3)
        assert me.text.text == EMPTY
        assert mistakes(driver) == []


def test_what_another_page_types_is_merged(tmp_path):
    path = tmp_path / "finger.yaml"
    path.write_text("sorosim: 1\nname: a\nlinks: {base: {}}\n", encoding="utf-8")
    with sorosim.live(path, port=0, block=False) as live, browser() as driver:
        me = Person(driver, live)
        n = len(me.text.text)
        assert me.text.push(me.text.version, [{"clientID": "other", "changes": [[0, "# hers", ""], n]}])
        until(lambda: "# hers" in me.all(".cm-content")[0].text)
        me.all(".cm-content")[0].send_keys(me.keys.CONTROL, me.keys.END)
        me.all(".cm-content")[0].send_keys("# mine")
        me.said("# mine")
        assert me.text.text.startswith("# hers\nsorosim: 1\n")


def test_a_slider_moves_the_robot(tmp_path):
    path = tmp_path / "finger.yaml"
    with sorosim.live(path, port=0, block=False, edit=True) as live, browser() as driver:
        me = Person(driver, live)
        me.select("links")
        me.press("links", me.keys.INSERT)
        me.answer(kind="rod", name="arm")
        me.said("arm:")
        me.select("links", "arm")
        slider = until(lambda: me.all("#form input[aria-label='links arm rod length, slider']"))[0]
        for _ in range(10):
            slider.send_keys(me.keys.ARROW_RIGHT)
        until(lambda: live.session.robot.description.links[0].body.length > 0.1005)
        until(lambda: "length: 10 cm" not in me.text.text)
        until(lambda: me.text.report["version"] == me.text.version)
        assert me.text.report["mistakes"] == []
        assert me.text.robot.description.links[0].body.length > 0.1


def test_a_slider_that_is_let_go_where_it_began_leaves_the_form_alive(tmp_path):
    """Browsers tell no change of it."""
    path = tmp_path / "arm.yaml"
    path.write_text(
        "sorosim: 1\nname: arm\nmaterials:\n  gel: {young: 3 MPa, poisson: 0.5, density: 1100}\n"
        "links:\n  arm:\n    rod: {length: 20 cm, section: {circle: {radius: 5 mm}}, material: gel, "
        "strain: {bending: 1}}\n",
        encoding="utf-8",
    )
    with sorosim.live(path, port=0, block=False) as live, browser() as driver:
        me = Person(driver, live, (800, 900))
        me.select("links", "arm")
        slider = until(lambda: me.all("#form input[aria-label='links arm rod length, slider']"))[0]
        x, y, width, height, low, high = driver.execute_script(
            "const one = arguments[0]; one.scrollIntoView(); const r = one.getBoundingClientRect();"
            "return [r.x, r.y, r.width, r.height, Number(one.min), Number(one.max)]",
            slider,
        )
        x, y = x + 8.0 + (20.0 - low) / (high - low) * (width - 16.0), y + 0.5 * height  # of the middle of its thumb

        def mouse(kind, by=0.0):
            about = {"x": x + by, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
            driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": f"mouse{kind}", **about})
            return float(slider.get_attribute("value"))

        mouse("Pressed")
        assert mouse("Moved", 30.0) > 20.0
        by = next(by for by in np.linspace(3.0, -3.0, 61) if mouse("Moved", by) == 20.0)
        mouse("Released", by)
        assert me.text.version == 0
        me.text.change("set", ("links", "arm", "rod", "length"), yaml="33 cm")
        field = "#form input[aria-label='links arm rod length']"
        until(lambda: [one.get_attribute("value") for one in me.all(field)] == ["33 cm"], 20.0)


def test_a_remedy_is_a_button(tmp_path):
    path = tmp_path / "arm.yaml"
    rod = "{length: 10 cm, section: {circle: {radius: 5 mm}}, material: gel, strain: {bending: 3}}"
    gel = "{young: 3 MPa, poisson: 0.5, density: 1.1, damping: 1 kPa*s}"
    text = f"sorosim: 1\nname: arm\nmaterials:\n  gel: {gel}  # as measured\nlinks: {{arm: {{rod: {rod}}}}}\n"
    path.write_text(text, encoding="utf-8")
    with sorosim.live(path, port=0, block=False) as live, browser() as driver:
        me = Person(driver, live)
        until(lambda: [one for one in me.all("#findings button") if one.text == "density: 1100 kg/m^3"])[0].click()
        me.said(text.split("\n")[3].replace("density: 1.1", "density: 1100 kg/m^3"))
        until(lambda: "density" not in "".join(one.text for one in me.all("#findings button")))
        until(lambda: live.session.robot.links[0].rod.divisions[0].material.density == 1100.0)
        assert me.all("#discretisation .light")


FINGER = TEXT.replace("t_end: 0.2 s", "t_end: 1 s")


def downloaded(folder, suffix):
    return until(lambda: [one for one in folder.iterdir() if one.suffix == suffix])[0]


def test_a_motion_and_a_sweep_by_clicks_and_keys(tmp_path):
    path, folder = tmp_path / "finger.yaml", tmp_path / "downloads"
    folder.mkdir()
    path.write_text(FINGER, encoding="utf-8")
    with sorosim.live(path, port=0, block=False) as live, browser() as driver:
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
        me, studies = Person(driver, live), live._editing.studies
        # to the tab by keys
        me.all("#tab-properties")[0].click()
        me.all("#tab-properties")[0].send_keys(me.keys.ARROW_RIGHT)
        until(lambda: me.all("#studies select[aria-label='Study'] option"))
        assert driver.switch_to.active_element.get_attribute("id") == "tab-studies"
        field = me.all("#studies input[name='t_end']")[0]
        assert field.get_attribute("placeholder") == "1 s"
        field.send_keys("0.5 s", me.keys.ENTER)
        until(lambda: me.all("#studies [role='group'][aria-label='Playback']"))
        run = studies.result
        assert run.t[-1] == 0.5
        drawn = until(lambda: live._page._drawn if live._page._drawn.robot is run.robot else None)
        assert drawn.q.shape == run.q[0].shape
        until(lambda: not studies.playback.data()["plays"])  # it came to its end
        time_slider = me.all("#studies input[aria-label='Time']")[0]
        time_slider.send_keys(me.keys.HOME)
        until(lambda: studies.playback.data()["t"] == 0.0)
        until(lambda: live._page._drawn.t == 0.0)
        me.all("#studies .buttons[aria-label] button")[0].click()
        file = downloaded(folder, ".h5")
        assert (sorosim.open(file).q == run.q).all()
        # modes, of which nothing stays in the result of a sweep
        me.all("#study-kind")[0].send_keys("Mo")
        until(lambda: me.all("#studies input[name='periods']"))[0].send_keys(me.keys.ENTER)
        until(lambda: me.all("#studies select[aria-label='Mode'] option"))
        until(lambda: not studies.state()["busy"])
        # a sweep
        me.all("#study-kind")[0].send_keys("Sw")
        for k, name in enumerate(("u.pull", "u.push"), 1):
            until(lambda k=k: me.all(f"#studies input[name='axis{k}']"))[0].send_keys(name)
            for end, value in (("from", "0"), ("to", "2 N"), ("n", "3")):
                field = me.all(f"#studies input[name='axis{k}-{end}']")[0]
                field.send_keys(me.keys.CONTROL, "a")
                field.send_keys(value)
        field.send_keys(me.keys.ENTER)
        sliders = until(lambda: me.all("#studies .chosen input"))
        assert not me.all("#studies select[aria-label='Mode']")
        assert studies.result.shape == (3, 3)
        until(lambda: me.all("#studies .picture img")[0].get_attribute("naturalWidth") not in (None, "0"))
        sliders[0].send_keys(me.keys.HOME)
        sliders[1].send_keys(me.keys.HOME)
        until(lambda: studies._point == 0)
        until(lambda: (live._page._drawn.q == studies.result.q[0]).all())
        # the middle of the picture is near the middle of the grid
        driver.execute_script("arguments[0].scrollIntoView()", me.all("#studies .picture img")[0])
        me.all("#studies .picture img")[0].click()
        until(lambda: studies._point == 4)
        until(lambda: (live._page._drawn.q == studies.result.q[4]).all())
        back = [one for one in me.all("#studies button") if one.text == "Back to the robot"]
        driver.execute_script("arguments[0].click()", back[0])
        until(lambda: live._page._drawn is live.session.state or studies.playback.data() is None)
        # a bundled robot takes the place of the text, until it is undone
        next(one for one in me.all("#bar button") if one.text.startswith("Open a bundled")).click()
        choice = until(lambda: me.all("sl-dialog[open] input[value='pendulum']"))[0]
        time.sleep(0.5)  # it is shown gradually
        driver.execute_script("arguments[0].click()", choice)
        me.all("sl-dialog[open] sl-button[variant='primary']")[0].click()
        until(lambda: me.text.text == bundled_text("pendulum"))
        until(lambda: live.session.robot.ndof == sorosim.load("pendulum").ndof)
        me.all("#tab-properties")[0].click()
        driver.switch_to.active_element.send_keys(me.keys.CONTROL, "z")
        until(lambda: me.text.text == FINGER)
        assert mistakes(driver) == []
        assert not [one for one in tmp_path.iterdir() if one not in (path, folder)]


def test_messages_of_pages_that_are_closed_do_not_stay(tmp_path):
    from websockets.asyncio.client import connect

    path = tmp_path / "finger.yaml"

    async def come_and_go(url):
        async with connect(url) as connection:
            await connection.recv()

    with sorosim.live(path, port=0, block=False, edit=True) as live:
        for _ in range(3):
            asyncio.run(come_and_go(live.url.replace("http", "ws") + "editor"))
        until(lambda: not live._editing.server._open, 30.0)


ARM = """\
sorosim: 1
name: arm
materials:
  rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}
links:
  arm:   # of rubber
    rod:
      length: 30 cm   # from the joint
      section: {circle: {radius: 1 cm}}
      material: rubber
      strain: {bending: 2}
"""


def test_a_handle_is_dragged_in_the_scene(tmp_path):
    """The length of a rod by its tip: the robot follows, the text says another number, one undo takes it back."""
    path = tmp_path / "arm.yaml"
    path.write_text(ARM, encoding="utf-8")
    with sorosim.live(path, port=0, block=False) as live, browser() as driver:
        me, handles = Person(driver, live), live._editing.handles
        me.select("links", "arm")
        until(lambda: len(handles.items) == 2)
        driver.switch_to.frame("scene")
        until(lambda: close_notices(driver))
        driver.switch_to.default_content()
        time.sleep(5.0)  # without a graphics card the browser comes seconds behind
        labels = [item.label for item in handles.items]
        before = sorosim.load(path).description.links[0].body.length
        drag(driver, live, labels.index("arm.rod.length"), (40, 40))
        until(lambda: me.text.text != ARM)
        until(lambda: me.text.report["version"] == me.text.version)
        lines = [(old, new) for old, new in zip(ARM.split("\n"), me.text.text.split("\n"), strict=True) if old != new]
        assert len(lines) == 1
        assert re.fullmatch(r"      length: [\d.]+ cm   # from the joint", lines[0][1])
        length = float(lines[0][1].split()[1]) / 100.0
        assert length > before
        until(lambda: live.session.robot.description.links[0].body.length == pytest.approx(length))
        me.command("z")
        me.said("length: 30 cm")
        assert me.text.text == ARM
        until(lambda: live.session.robot.description.links[0].body.length == pytest.approx(0.3))
