"""A person before the page of the editor, who clicks and types in a browser."""

import json
import time

import numpy as np

PATIENCE = 300.0  # s, with software that draws and other work beside it


def until(condition, patience=PATIENCE):
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end, "the page does not come to it"
        time.sleep(0.1)
    return found


class Person:
    """Who has the page open."""

    def __init__(self, driver, live, size=(1600, 950)):
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        self.driver, self.text, self.css, self.keys = driver, live._editing.text, By.CSS_SELECTOR, Keys
        driver.set_window_size(*size)
        driver.get(live.url)
        until(lambda: self.all("sl-tree-item") and self.text.report)

    def all(self, selector):
        return self.driver.find_elements(self.css, selector)

    def select(self, *path):
        until(lambda: self.all(self.item(path)))
        self.all(f"{self.item(path)} span")[0].click()
        until(lambda: self.all("#form h2") and self.all("#form h2")[0].text == " / ".join(path))

    @staticmethod
    def item(path):
        return f"sl-tree-item[data-path='{json.dumps(list(path), separators=(',', ':'))}']"

    def press(self, *path_and_key):
        *path, key = path_and_key
        self.all(self.item(path))[0].send_keys(key)

    def answer(self, **values):
        """Fill the dialog that is open, and say yes."""
        until(lambda: self.all("sl-dialog[open] input"))
        time.sleep(0.5)  # it is shown gradually
        for name, value in values.items():
            if name == "kind":
                self.driver.execute_script("arguments[0].click()", self.all(f"sl-dialog input[value='{value}']")[0])
                continue
            field = self.all(f"sl-dialog input[name='{name}']")[0]
            field.send_keys(self.keys.CONTROL, "a")
            field.send_keys(value)
        self.all("sl-dialog input[name='name']")[0].send_keys(self.keys.ENTER)
        until(lambda: not self.all("sl-dialog"))

    def fill(self, label, value):
        field = until(lambda: self.all(f"#form input[aria-label='{label}']"))[0]
        field.send_keys(self.keys.CONTROL, "a")
        field.send_keys(value, self.keys.ENTER)

    def command(self, key):
        self.all("#form h2")[0].click()
        self.driver.switch_to.active_element.send_keys(self.keys.CONTROL, key)

    def said(self, words):
        until(lambda: words in self.text.text)
        until(lambda: self.text.report["version"] == self.text.version)


def drag(driver, live, k, by, each=lambda x, y: None):
    """Drag a handle by pixels, with a real pointer; `each` is called after each part of the way."""
    from selenium.webdriver.common.action_chains import ActionChains

    handles = live._editing.handles
    R, along = handles._poses[k][:3, :3], handles.items[k].arrow
    place = np.array(handles._nodes[k].position) + 0.05 * live.session.size * R @ along  # on the shaft of its arrow
    camera = until(lambda: next(iter(live._page._server.get_clients().values()), None)).camera
    rect = driver.execute_script(
        "const f = document.getElementById('scene').getBoundingClientRect();"
        "const c = document.getElementById('scene').contentDocument.querySelector('canvas').getBoundingClientRect();"
        "return [f.x + c.x, f.y + c.y, c.width, c.height]"
    )
    x, y = pixel(place, camera, rect)

    def act(what, *where):
        pointer = ActionChains(driver, duration=100)
        getattr(pointer.w3c_actions.pointer_action, what)(*where)
        pointer.perform()

    act("move_to_location", int(x), int(y))
    act("pointer_down")
    for part in np.linspace(0.0, 1.0, 6)[1:]:
        act("move_to_location", int(x + part * by[0]), int(y + part * by[1]))
        time.sleep(0.2)
        each(x + part * by[0], y + part * by[1])
    act("pointer_up")


def pixel(place, camera, rect):
    """Where a point is seen, in pixels of the window."""
    forward = np.array(camera.look_at) - np.array(camera.position)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, np.array(camera.up_direction))
    right /= np.linalg.norm(right)
    away = place - np.array(camera.position)
    scale = 0.5 * rect[3] / np.tan(0.5 * camera.fov) / (away @ forward)
    up = np.cross(right, forward)
    return rect[0] + 0.5 * rect[2] + scale * (away @ right), rect[1] + 0.5 * rect[3] - scale * (away @ up)
