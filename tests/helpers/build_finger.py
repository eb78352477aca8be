"""A soft finger from nothing by clicks and keys, before the page of the editor: what the test does, and the film shows.

Who watches is told what is done, in words, where the pointer is, and when to look.
"""

import contextlib
import re
import time

from helpers.browser import close_notices
from helpers.person import PATIENCE, Person, drag, until

SIZE = 1280, 728  # pixels of the page
LENGTH, PULL = "14 cm", 5.0  # N, the end of the slider
WRONG, RIGHT = "sphare: {radius: 2 cm}", "at: {position: [8 cm, 0, 8 cm]}, sphere: {radius: 2 cm}"


class Nobody:
    """Who does not watch."""

    films = False

    def say(self, words):
        """What is done now."""

    def point(self, x, y, press=True):
        """The pointer goes there, and presses."""

    def look(self, seconds, settle=1.0):
        """The page, as it is after a while, for some seconds."""


class Builder(Person):
    """Who builds the finger."""

    def __init__(self, driver, live, watcher):
        width, height = SIZE
        about = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", about)
        driver.set_script_timeout(PATIENCE)  # software draws slowly
        super().__init__(driver, live, SIZE)
        self.live, self.watcher = live, watcher
        driver.switch_to.frame("scene")
        until(lambda: close_notices(driver))
        if watcher.films:  # without a graphics card notices come seconds behind
            time.sleep(5.0)
            close_notices(driver)
        driver.switch_to.default_content()

    # -- what a hand does

    def where(self, element, part=0.5):
        """Where an element is, in pixels of the page."""
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'nearest'})", element)
        return self.driver.execute_script(
            "const r = arguments[0].getBoundingClientRect(), f = window.frameElement?.getBoundingClientRect();"
            "return [r.x + arguments[1] * r.width + (f?.x ?? 0), r.y + r.height / 2 + (f?.y ?? 0)]",
            element, part,
        )  # fmt: skip

    def named(self, selector, words):
        """The element that says some words, or none."""
        script = "return [...document.querySelectorAll(arguments[0])].find((one) => one.textContent === arguments[1])"
        return self.driver.execute_script(script, selector, words)

    def tap(self, find, look=1.0):
        """What is found; findings and forms may be made anew meanwhile."""
        self.watcher.point(*self.steady(lambda: self.where(find())))
        self.steady(lambda: until(find).click())
        self.watcher.look(look)

    @staticmethod
    def steady(action):
        """What an action makes of elements that may be made anew meanwhile."""
        from selenium.common.exceptions import StaleElementReferenceException

        while True:
            with contextlib.suppress(StaleElementReferenceException):
                return action()

    def pick(self, *path):
        """Select a part in the tree."""
        until(lambda: self.all(self.item(path)))
        self.watcher.point(*self.where(self.all(f"{self.item(path)} span")[0]))
        self.select(*path)
        self.watcher.look(1.0)

    def put(self, block, kind, name):
        """A part by the dialog of its block."""
        self.pick(block)
        self.tap(lambda: self.all("#tree-bar button[aria-label='Add']")[0], 0.1)
        until(lambda: self.all("sl-dialog[open] input"))
        time.sleep(0.5)  # it is shown gradually
        self.watcher.look(1.5)
        self.tap(lambda: self.all(f"sl-dialog[open] input[value='{kind}']")[0], 0.6)
        field = self.all("sl-dialog input[name='name']")[0]
        self.watcher.point(*self.where(field, 0.2))
        field.send_keys(self.keys.CONTROL, "a")
        field.send_keys(name)
        self.watcher.look(1.0)
        self.tap(lambda: self.all("sl-dialog sl-button[variant='primary']")[0], 0.1)
        until(lambda: not self.all("sl-dialog"))
        self.said(f"{name}:")

    def number(self, label, value, says, look=2.0):
        """A number in the form, after which the text says something."""

        def field():
            return until(lambda: self.all(f"#form input[aria-label='{label}']"))[0]

        script = "arguments[0].scrollIntoView({block: 'center'})"
        self.steady(lambda: self.driver.execute_script(script, field()))
        self.watcher.point(*self.steady(lambda: self.where(field(), 0.3)))
        self.steady(lambda: field().send_keys(self.keys.CONTROL, "a"))
        self.steady(lambda: field().send_keys(value))
        self.watcher.look(0.7, 0.2)
        self.steady(lambda: field().send_keys(self.keys.ENTER))
        self.said(says)
        self.watcher.look(look)

    def word(self, word):
        """Select a word of the text by two clicks."""
        from selenium.webdriver.common.action_chains import ActionChains

        def found():
            return until(lambda: self.named(".cm-line span", word))

        self.watcher.point(*self.steady(lambda: self.where(found())))
        self.steady(lambda: ActionChains(self.driver).double_click(found()).move_by_offset(60, 80).perform())
        x, y = self.steady(lambda: self.where(found()))
        self.watcher.point(x + 60, y + 80, False)  # so that help does not hide the line
        self.watcher.look(0.6, 0.3)

    def type_in(self, words, pace=0.08):
        """Type into the text."""
        for part in re.findall(r".{1,3}", words) if self.watcher.films else [words]:
            self.driver.switch_to.active_element.send_keys(part)
            self.watcher.look(3 * pace, 0.0)
        self.driver.switch_to.active_element.send_keys(self.keys.ESCAPE)  # of what is completed

    def slide(self, label, wanted):
        """A slider of the form, by arrow keys until the file says a number."""

        def slider():
            return until(lambda: self.all(f"#form input[aria-label='{label}, slider']"))[0]

        def value(name="value"):
            return self.steady(lambda: float(slider().get_attribute(name)))

        def thumb():
            part = (value() - value("min")) / (value("max") - value("min"))
            return self.steady(lambda: self.where(slider(), 0.05 + 0.9 * part))

        self.watcher.point(*thumb())
        end = float(wanted.split()[0])
        while wanted not in self.text.text:
            key = self.keys.ARROW_RIGHT if value() < end else self.keys.ARROW_LEFT
            self.steady(lambda key=key: slider().send_keys(key))
            time.sleep(0.1)
            if self.watcher.films:
                self.watcher.point(*thumb(), False)
                self.watcher.look(0.12, 0.1)
        self.said(wanted)

    def pull(self, label, parts):
        """A slider of the scene, by a pointer that drags it to its end."""
        from selenium.webdriver.common.action_chains import ActionChains

        self.driver.switch_to.frame("scene")
        find = f"//label[contains(., '{label}')]/following::*[@role='slider'][1]"
        thumb = until(lambda: self.driver.find_elements("xpath", find))[0]
        begin = self.where(thumb)
        end = self.where(thumb.find_element("xpath", ".."), 1.0)[0] + 5.0
        self.driver.switch_to.default_content()
        pointer = ActionChains(self.driver, duration=50)
        self.watcher.point(*begin)
        pointer.w3c_actions.pointer_action.move_to_location(*map(int, begin))
        pointer.w3c_actions.pointer_action.pointer_down()
        pointer.perform()
        for k in range(1, parts + 1):
            x = begin[0] + (end - begin[0]) * k / parts
            pointer = ActionChains(self.driver, duration=50)
            pointer.w3c_actions.pointer_action.move_to_location(round(x), int(begin[1]))
            pointer.perform()
            self.watcher.point(x, begin[1], False)
            self.watcher.look(0.3, 0.5)
        pointer = ActionChains(self.driver, duration=50)
        pointer.w3c_actions.pointer_action.pointer_up()
        pointer.perform()

    def touches(self):
        """Normal forces [N] of the equilibrium that is shown."""
        state = self.live.session.state
        return state.robot.contacts(state.q, state.qd).normal_force


def build(me):
    """The finger, by one who sees the page without a robot; each state is what it should be."""
    watcher, text, session = me.watcher, me.text, me.live.session
    watcher.say("The file is empty: its parts are at the left, its text in the middle, the robot at the right.")
    assert text.report["mistakes"]
    watcher.look(4.5)
    watcher.say("The text can be typed at any time. Here it gets the robot's name.")
    me.word("robot")
    me.type_in("finger")
    me.said("name: finger")
    watcher.look(1.5)

    watcher.say("+ adds a link to the robot: a soft rod. A material comes with it.")
    me.put("links", "rod", "finger")
    assert text.report["mistakes"] == []
    assert text.report["size"] == "4 coordinates, 0 inputs"
    until(lambda: [link.name for link in session.robot.links] == ["finger"])
    watcher.look(3.0, 4.0)
    watcher.say("A slider makes it longer, and the scene follows at once.")
    me.slide("links finger rod length", LENGTH)
    watcher.look(1.5)
    watcher.say("Numbers may be typed too, with their units: a radius of 8 mm.")
    me.number("links finger rod section circle radius", "8 mm", "radius: 8 mm")
    watcher.say("The order of the strain: with 3 the rod bends as a cubic, about y and about z.")
    me.number("links finger rod strain bending", "3", "bending: 3", 2.5)
    until(lambda: text.report["size"] == "8 coordinates, 0 inputs")
    watcher.say("The doctor reads every change. Its remedies are buttons: without damping it would swing for ever.")
    remedy = "damping: 1e+04 Pa*s"
    until(lambda: me.named("#findings button", remedy))
    watcher.look(2.5)
    me.tap(lambda: me.named("#findings button", remedy), 0.1)
    me.said(remedy)
    until(lambda: not me.named("#findings button", remedy))
    watcher.look(3.0)

    watcher.say("+ in the actuators: a tendon along the rod.")
    me.put("actuators", "tendon", "flexor")
    until(lambda: session.robot.actuator_names == ("flexor",))
    watcher.look(2.0, 3.0)
    watcher.say("Its place in the section: 6 mm above the axis.")
    me.number("actuators flexor tendon z", "6 mm", "z: 6 mm")
    watcher.say("Pulled by its slider, the finger bends. Each picture is an equilibrium.")
    me.pull("flexor", 10)
    until(lambda: session.state.values["flexor"] == PULL)
    watcher.look(2.5, 2.0)

    watcher.say("+ in the loads: a contact of the finger with something.")
    me.put("loads", "contact", "touch")
    watcher.look(2.0, 2.0)
    watcher.say("It shall be a ball. A mistake is typed ...")
    before = text.text
    me.word("half_space")
    for _ in range(4):
        me.driver.switch_to.active_element.send_keys(me.keys.SHIFT, me.keys.ARROW_RIGHT)
    me.type_in(WRONG)
    until(lambda: text.report["version"] == text.version and text.report["mistakes"])
    (mistake,) = text.report["mistakes"]
    assert "did you mean sphere" in mistake["words"]
    assert text.text.split("\n")[mistake["line"] - 1].count(WRONG) == 1
    until(lambda: "sphare" in me.all("#status")[0].text)
    watcher.say("... and stands in words at its line. The robot before stays, pale.")
    watcher.look(4.0)
    watcher.say("Undo takes it back,")
    for _ in range(40):
        if text.text == before:
            break
        me.tap(lambda: me.named("#bar button", "Undo"), 0.1)
        time.sleep(0.2)
    assert text.text == before
    me.said("half_space")
    watcher.look(1.0)
    watcher.say("and it is typed as it should be: a ball of 2 cm, and where it is.")
    me.word("half_space")
    for _ in range(4):
        me.driver.switch_to.active_element.send_keys(me.keys.SHIFT, me.keys.ARROW_RIGHT)
    me.type_in(RIGHT)
    me.said(RIGHT)
    assert text.report["mistakes"] == []
    watcher.look(2.0, 3.0)

    watcher.say("What is selected has handles in the scene. The blue arrow moves the ball down, onto the finger.")
    me.pick("loads", "touch")
    handles = me.live._editing.handles
    label = "touch.contact.and.at.position"
    until(lambda: [one.label for one in handles.items if one.label == label])
    until(lambda: len(session.state.q) == 8)
    assert not len(me.touches())
    watcher.look(2.0, 3.0)
    k = next(k for k, one in enumerate(handles.items) if one.label == label and one.axis == 2)

    def each(x, y):
        watcher.point(x, y, False)
        watcher.look(0.3, 0.8)

    drag(me.driver, me.live, k, (0, 46), each)
    until(lambda: "0, 8 cm]" not in text.text)
    until(lambda: len(me.touches()))
    watcher.look(2.0, 2.0)
    watcher.say("A round number is typed. Where the ball presses the finger, an arrow shows the force.")
    me.number("loads touch contact and at position z", "4 cm", "[8 cm, 0, 4 cm]", 0.1)
    until(lambda: len(me.touches()))
    assert me.touches().max() > 0.0
    watcher.look(4.0, 3.0)

    watcher.say("The tab Studies computes with it: a run of 1 s, pulled as the sliders are.")
    me.tap(lambda: me.all("#tab-studies")[0])
    until(lambda: me.all("#studies select[aria-label='Inputs'] option"))
    inputs = me.all("#studies select[aria-label='Inputs']")[0]
    watcher.point(*me.where(inputs))
    inputs.send_keys("as the s")
    field = me.all("#studies input[name='t_end']")[0]
    watcher.look(1.0)
    watcher.point(*me.where(field, 0.3))
    field.send_keys("1 s")
    watcher.look(1.0)
    studies = me.live._editing.studies
    me.tap(lambda: me.named("#studies button", "Compute"), 0.5)
    until(lambda: me.all("#studies [role='group'][aria-label='Playback']"))
    run = studies.result
    assert run.t[-1] == 1.0
    assert (run.u == PULL).all()
    assert max(run.contacts.at(k).normal_force.max(initial=0.0) for k in range(len(run.t))) > 0.0
    watcher.say("The motion plays in the scene: the tendon tightens, and the finger swings against the ball.")
    play(me, studies)
    watcher.say("Back to the robot, and Save: only now the file is written.")
    me.tap(lambda: me.named("#studies button", "Back to the robot"), 1.5)
    assert not text.path.exists()
    me.tap(lambda: me.named("#bar button", "Save"), 0.1)
    until(text.path.exists)
    until(lambda: "written" in me.all("#status")[0].text)
    watcher.look(4.0)


def play(me, studies):
    """Who films looks at the motion as it plays, slowly enough."""
    if not me.watcher.films:
        until(lambda: not studies.playback.data()["plays"])
        return
    from selenium.webdriver.support.ui import Select

    Select(me.all("#studies select[aria-label='Speed']")[0]).select_by_value("0.1")
    slider = me.all("#studies input[aria-label='Time']")[0]
    slider.send_keys(me.keys.HOME)
    me.watcher.look(0.5)
    me.tap(lambda: me.named("#studies .player button", "Play"), 0.1)
    t = 0.0
    while studies.playback.data()["plays"]:
        now = studies.playback.data()["t"]
        me.watcher.look(8.0 * (now - t), 0.0)
        t = now
    me.watcher.look(1.5)
