"""A person before the page of the editor, who clicks and types in a browser."""

import json
import time

import numpy as np

from sorosim.base.problems import at_path
from sorosim.files.kinds import BLOCKS

PATIENCE = 300.0  # s, with software that draws and other work beside it
SHAPES = {dict: "keys", list: "list"}  # of data; others: "value"


def until(condition, patience=None):
    end = time.monotonic() + (patience or PATIENCE)
    while not (found := condition()):
        assert time.monotonic() < end, "the page does not come to it"
        time.sleep(0.1)
    return found


class Person:
    """Who has the page open; counts what it takes: `clicks`, and `strokes` of keys."""

    def __init__(self, driver, live, size=(1600, 950)):
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        self.driver, self.text, self.css, self.keys = driver, live._editing.text, By.CSS_SELECTOR, Keys
        self.clicks = self.strokes = 0
        driver.set_window_size(*size)
        driver.get(live.url)
        until(lambda: self.all("sl-tree-item") and self.text.report)

    def all(self, selector):
        return self.driver.find_elements(self.css, selector)

    def click(self, element):
        self.clicks += 1
        element.click()

    def type(self, element, *keys):
        self.strokes += sum(map(len, keys))
        element.send_keys(*keys)

    def select(self, *path):
        until(lambda: self.all(self.item(path)))
        self.click(self.all(f"{self.item(path)} span")[0])
        until(lambda: self.all("#form h2") and self.all("#form h2")[0].text == (" / ".join(path) or "robot"))

    @staticmethod
    def item(path):
        return f"sl-tree-item[data-path='{json.dumps(list(path), separators=(',', ':'))}']"

    def press(self, *path_and_key):
        *path, key = path_and_key
        self.type(self.all(self.item(path))[0], key)

    def answer(self, **values):
        """Fill the dialog that is open, and say yes."""
        until(lambda: self.all("sl-dialog[open] input"))
        time.sleep(0.5)  # it is shown gradually
        for name, value in values.items():
            if name == "kind":
                self.clicks += 1
                self.driver.execute_script("arguments[0].click()", self.all(f"sl-dialog input[value='{value}']")[0])
                continue
            field = self.all(f"sl-dialog input[name='{name}']")[0]
            self.type(field, self.keys.CONTROL + "a")
            self.type(field, value)
        self.type(self.all("sl-dialog input[name='name']")[0], self.keys.ENTER)
        until(lambda: not self.all("sl-dialog"))

    def fill(self, label, value):
        self.write(until(lambda: self.all(f"#form input[aria-label='{label}']"))[0], value)

    def write(self, field, value):
        self.type(field, self.keys.CONTROL + "a")
        self.type(field, value, self.keys.ENTER)

    def command(self, key):
        self.click(self.all("#form h2")[0])
        self.strokes += 2
        self.driver.switch_to.active_element.send_keys(self.keys.CONTROL, key)

    def said(self, words):
        until(lambda: words in self.text.text)
        until(lambda: self.text.report["version"] == self.text.version)

    # -- a whole robot -------------------------------------------------------------------------------------------------

    def build(self, target):
        """Do what makes the file say `target`, by the tree, its dialogs and the form."""
        data = self.text.data
        for block, want in target.items():
            if block in BLOCKS:
                for name in want:
                    self.part(block, name, want[name])
            elif data.get(block) != want:
                if block not in data:
                    self.select()
                    self.add((), block)
                self.select(*([block] if isinstance(self.text.data[block], dict) else []))
                self.fit((block,), want)

    def part(self, block, name, want):
        """A part of a block: a copy of the last one where that is like it, else a new one, or its only one renamed."""
        there = self.text.data.get(block) or {}
        if name not in there:
            last = list(there)[-1] if there else None
            beside = want.get("parent", "") if block == "links" else ""
            kinds = [one for one in self.text.kinds(block, beside) if one["kind"] in want or one["kind"] == block[:-1]]
            if last is not None and far(there[last], want) <= min(SIMILAR, far({}, want) // 2):
                self.select(block, last)
                self.then(lambda: self.press(block, last, self.keys.CONTROL + "d"))
                copied = list(self.text.data[block])[-1]
                self.select(block, copied)
                self.press(block, copied, self.keys.F2)
                self.then(lambda: self.answer(name=name))
            else:
                self.select(block, *([beside] if beside else []))
                self.press(block, *([beside] if beside else []), self.keys.INSERT)
                self.then(lambda: self.answer(kind=kinds[0]["kind"], name=name))
        if self.text.data[block][name] != want:
            self.select(block, name)
            self.fit((block, name), want)

    def fit(self, path, want):
        """Make what stands at a path in the form what it should be."""
        have = at_path(self.text.data, path)
        if type(have) is type(want) and have == want:
            return
        if shape(have) != shape(want):
            free = isinstance(want, str) and want.startswith("$")
            self.choose(path, "shape", want if free else shape(want))
            have = at_path(self.text.data, path)
        if isinstance(want, dict):
            until(lambda: len(path) > 1 or self.all("#form h2")[0].text == path[0])  # it is one of the tree then
            self.keys_of(path, have, want)
            for key, value in want.items():
                self.fit((*path, key), value)
        elif isinstance(want, list):
            for i in range(len(have), len(want)):
                self.then(lambda: self.click(self.labelled(f"+ entry of {words(path)}")))
                self.fit((*path, i), want[i])
            for i in reversed(range(len(want), len(have))):
                self.then(lambda i=i: self.click(self.labelled(f"Remove {words((*path, i))}")))
            for i, value in enumerate(want):
                self.fit((*path, i), value)
        elif have != want or type(have) is not type(want):
            field = self.at(path, "")
            if field.tag_name == "select":
                self.choose(path, "", want)
            elif field.get_attribute("type") == "checkbox":
                self.then(lambda: self.click(field))
            else:
                self.then(lambda: self.write(field, str(want)))
        found = at_path(self.text.data, path)
        assert type(found) is type(want), (path, found, want)
        assert found == want, (path, found, want)

    def keys_of(self, path, have, want):
        """The keys that a mapping should have, and no others."""
        lacking = [key for key in want if key not in have]
        for key in [key for key in have if key not in want]:
            options = self.options((*path, key), "kind")
            if found := [one for one in lacking if one in options]:
                self.choose((*path, key), "kind", found[0])
                lacking.remove(found[0])
            else:
                self.then(lambda key=key: self.click(self.labelled(f"Remove {words((*path, key))}")))
        for key in lacking:
            self.add(path, key)

    def add(self, path, key):
        """Put a key into a mapping, with what it has to begin with."""
        if key in self.options(path, "more"):
            self.choose(path, "more", key)
        else:
            self.then(lambda: self.write(self.at(path, "name"), key))

    # -- fields of the form --------------------------------------------------------------------------------------------

    def at(self, path, role):
        """The field at a path."""
        return until(lambda: self.all(self.field(path, role)))[0]

    @staticmethod
    def field(path, role):
        at = json.dumps(list(path), separators=(",", ":"))
        return f"#form [data-at='{at}']" + (f"[data-role='{role}']" if role else ":not([data-role])")

    def options(self, path, role):
        """What a choice offers; none where there is none."""
        return self.driver.execute_script(
            "return [...document.querySelector(arguments[0])?.options ?? []].map((one) => one.value)",
            self.field(path, role),
        )

    def choose(self, path, role, value):
        """Choose one of the options of a field."""
        field = self.at(path, role)
        option = [one for one in field.find_elements(self.css, "option") if one.get_attribute("value") == str(value)]
        assert option, (path, role, value, self.options(path, role))
        self.clicks += 1
        self.then(lambda: self.click(option[0]))

    def labelled(self, label):
        return until(lambda: self.all(f"#form button[aria-label='{label}']"))[0]

    def then(self, action):
        """Do what changes the text, and wait until the page shows what it says."""
        before = self.text.version
        action()
        until(lambda: self.text.version > before)
        until(lambda: self.driver.execute_script("return document.body.dataset.version") == str(self.text.version))


SIMILAR = 8  # gestures that a copy may need


def far(have, want):
    """About how many gestures are between two values."""
    if isinstance(have, dict) and isinstance(want, dict):
        return sum(far(have.get(key, {}), want[key]) if key in want else 1 for key in {**have, **want})
    if isinstance(want, dict):
        return 1 + sum(far({}, one) for one in want.values())
    if isinstance(have, list) and isinstance(want, list) and len(have) == len(want):
        return sum(map(far, have, want))
    if isinstance(want, list):
        return 1 + len(want)
    return 0 if have == want else 1


def shape(value):
    return SHAPES.get(type(value), "value")


def words(path):
    return " ".join(map(str, path))


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
