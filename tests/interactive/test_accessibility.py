"""The page of the editor by keys alone, as a screen reader is told it, dark and light, narrow and wide."""

import json
import os
from pathlib import Path

import pytest
from helpers.browser import browser, has_browser, mistakes
from helpers.person import Person, until

import sorosim
from sorosim.view.interactive.editor_server import FOLDER
from sorosim.view.interactive.scene import CORD_COLOUR
from tests.interactive.test_studies import TEXT

pytest.importorskip("viser")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not has_browser(), reason="no chromium and chromedriver")]

SIZES = [(390, 844), (800, 900), (1600, 950), (2560, 1300)]
NARROW = 900  # pixels, from which on all is beside each other
AXE = Path(os.environ.get("AXE", FOLDER.parent / "node_modules/axe-core/axe.min.js"))  # of `npm install`
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]

# what can be focused, and the focused element, also within an element's own tree
FOCUSABLE = """const kinds = "button, input, select, summary, .cm-content, sl-tree-item, iframe";
return [...document.querySelectorAll(kinds)].filter(one => one.checkVisibility() && one.tabIndex >= 0)"""
RING = """let one = document.activeElement;
const shown = x => (s => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0)(getComputedStyle(x));
return shown(one) || [...(one.shadowRoot?.querySelectorAll("*") ?? [])].some(shown)
|| Boolean(one.closest(".cm-editor") && shown(one.closest(".cm-editor")));"""
CUT_OFF = """return [...document.querySelectorAll("body *")].filter(one => {
  const box = one.getBoundingClientRect();
  if (!one.checkVisibility() || !box.width || one.closest(".cm-scroller")) return false;
  return box.right > innerWidth + 1 || box.left < -1;
}).map(one => one.outerHTML.slice(0, 80))"""
OVERLAP = """const parts = "#bar > *, #narrow > *, #tree-bar button, [role=tab], #tree-box, #properties, #findings,"
  + "#status, #leave, .cm-editor, #scene";
const all = [...document.querySelectorAll(parts)].filter(one => one.checkVisibility() && one.offsetWidth)
  .map(one => [one.id || one.textContent, one.getBoundingClientRect()]);
const wide = (p, q) => Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1;
const high = (p, q) => Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 1;
const met = ([a, p], i) => all.slice(i + 1).filter(([, q]) => wide(p, q) && high(p, q)).map(([b]) => a + " / " + b);
return all.flatMap(met)"""
IN_DIALOG = "return Boolean(document.activeElement.closest('sl-dialog'))"
MOVES = "return document.querySelector('sl-dialog').shadowRoot.getAnimations().length > 0"
PATHS = (
    "return [...document.querySelectorAll('sl-tree-item')].filter(x => x.checkVisibility()).map(x => x.dataset.path)"
)


class Keys(Person):
    """Who has no pointer."""

    def open(self, width=1600, height=950, dark=False):
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.refresh()
        until(lambda: self.all("sl-tree-item") and self.all("#size")[0].text and self.all("#findings summary"))

    @property
    def here(self):
        return self.driver.switch_to.active_element

    def key(self, *keys):
        for one in keys:
            self.here.send_keys(one)

    def tab_to(self, selector, most=60, back=False):
        keys = (self.keys.SHIFT + self.keys.TAB) if back else self.keys.TAB
        for _ in range(most):
            if self.driver.execute_script("return document.activeElement.matches(arguments[0])", selector):
                return self.here
            self.key(keys)
        raise AssertionError(f"{selector} is not reached")

    def part(self, *path):
        """Select a part of the tree by arrows."""
        self.tab_to("sl-tree-item")
        self.key(self.keys.HOME)
        items = self.driver.execute_script(PATHS)
        self.key(*[self.keys.ARROW_DOWN] * items.index(json.dumps(list(path), separators=(",", ":"))), self.keys.ENTER)
        until(lambda: self.all("#form h2") and self.all("#form h2")[0].text == " / ".join(path))

    def told(self):
        """Nodes of the tree that a screen reader reads: role, name, properties."""
        self.driver.execute_cdp_cmd("Accessibility.enable", {})
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        return [
            (one["role"]["value"], one.get("name", {}).get("value", ""),
             {x["name"]: x["value"].get("value") for x in one.get("properties", [])})
            for one in nodes if not one["ignored"]
        ]  # fmt: skip

    def focused_path(self):
        return self.driver.execute_script("return document.activeElement.dataset.path")

    def waits_at(self, *path):
        until(lambda: self.focused_path() == json.dumps(list(path), separators=(",", ":")))


@pytest.fixture(scope="module")
def robot_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "finger.yaml"
    path.write_text(TEXT.replace("1000 kg/m^3", "1.1"), encoding="utf-8")  # odd: there is a remedy
    return path


@pytest.fixture(scope="module")
def opened(robot_file):
    with sorosim.live(robot_file, port=0, block=False) as live, browser() as driver:
        yield Keys(driver, live), live


@pytest.fixture
def me(opened):
    """A page as new, wide and light; the console has said nothing severe when it is done with."""
    person, _ = opened
    person.open()
    yield person
    assert mistakes(person.driver) == []


def assert_named(told):
    focusable = [(role, name) for role, name, about in told if about.get("focusable") and role != "generic"]
    unnamed = [role for role, name in focusable if not name.strip()]  # generic: what only a script focuses
    assert not unnamed
    assert all(name for role, name, _ in told if role in ("image", "Iframe", "dialog", "tree", "tabpanel", "slider"))
    sliders = [about for role, _, about in told if role == "slider"]
    assert all(any(x.isalpha() for x in about["valuetext"]) for about in sliders)  # with its unit


def test_what_is_shown_is_told(me):
    me.part("links", "arm")
    told = me.told()
    assert_named(told)
    roles = [role for role, *_ in told]
    expected = {"tree", "treeitem", "tablist", "tab", "tabpanel", "status", "alert", "slider", "textbox", "Iframe"}
    assert expected <= set(roles)
    items = {name: about for role, name, about in told if role == "treeitem"}
    assert items["arm rod"]["level"] == 2
    assert items["arm rod"]["selected"] is True
    assert items["links"]["level"] == 1
    assert items["links"]["expanded"] is True
    assert items["materials"]["selected"] is False
    tabs = {name: about["selected"] for role, name, about in told if role == "tab"}
    assert tabs == {"Properties": True, "Studies": False}
    assert ("slider", "links arm rod length, slider", "20 cm") in [(*one[:2], one[2].get("valuetext")) for one in told]
    levels = [about["level"] for role, _, about in told if role == "heading"]
    assert levels == sorted(levels)
    assert levels[0] == 1
    live = {role: about["live"] for role, _, about in told if role in ("status", "alert")}
    assert live == {"status": "polite", "alert": "assertive"}
    assert me.driver.execute_script("return document.documentElement.lang") == "en"
    assert "finger.yaml" in me.driver.title
    # a command that fails is an alert
    me.fill("links arm rod length", "20 kg")
    until(lambda: "kg" in me.all("#status")[0].text)
    me.command("z")
    until(lambda: not me.all("#status")[0].text)
    # sliders of the scene, which viser leaves without names
    me.driver.switch_to.frame("scene")
    until(lambda: me.all("[role='slider'][aria-label='pull [N]']"))
    assert all(one.get_attribute("aria-label") for one in me.all("[role='slider']"))
    me.driver.switch_to.default_content()


def test_tab_goes_through_all_of_it_in_order(me):
    me.part("links", "arm")
    me.driver.execute_script("document.activeElement.blur(); document.querySelector('#bar button').focus()")
    expected = me.driver.execute_script(FOCUSABLE)
    reached = []
    for _ in expected:
        reached.append(me.here)
        if me.here.tag_name == "iframe":
            break
        assert me.driver.execute_script(RING), me.here.get_attribute("outerHTML")[:100]
        me.here.send_keys(me.keys.TAB)
    assert reached == expected
    assert me.text.text == TEXT.replace("1000 kg/m^3", "1.1")  # Tab went through the text, too
    me.driver.execute_script("document.querySelector('.cm-content').focus()")


def test_the_text_is_written_and_left_by_keys(me):
    content = me.tab_to(".cm-content")
    assert "leave" in content.get_attribute("aria-describedby")
    assert me.all("#leave")[0].text == "Escape, then Tab: leave the text"
    before = me.text.text
    me.key(me.keys.ARROW_DOWN, me.keys.TAB)
    me.said("  name: a finger")
    assert me.here == content
    me.here.send_keys(me.keys.CONTROL, "z")
    until(lambda: me.text.text == before)
    me.key(me.keys.ESCAPE, me.keys.TAB)
    assert me.here.tag_name == "iframe"
    assert me.text.text == before


def test_parts_are_made_and_changed_by_keys(me):
    before = me.text.text
    me.part("links", "arm")
    me.key(me.keys.F2)
    until(lambda: me.here.get_attribute("name") == "name")
    told = [one for one in me.told() if one[0] == "dialog"]
    assert [name for _, name, _ in told] == ["Rename arm"]
    for _ in range(8):  # the focus stays in it
        me.key(me.keys.TAB)
        assert me.driver.execute_script(IN_DIALOG)
    me.key(me.keys.ESCAPE)
    me.waits_at("links", "arm")
    me.key(me.keys.INSERT)
    until(lambda: me.here.get_attribute("name") == "kind")
    me.key(me.keys.ARROW_DOWN, me.keys.ENTER)  # a body
    me.waits_at("links", "body")
    me.here.send_keys(me.keys.ALT, me.keys.ARROW_UP)
    until(lambda: me.text.text.index("body:") < me.text.text.index("arm:"))
    me.waits_at("links", "body")
    me.here.send_keys(me.keys.CONTROL, "d")
    me.waits_at("links", "body2")
    me.key(me.keys.DELETE)
    until(lambda: "body2" not in me.text.text)
    until(lambda: me.focused_path())
    # a field that is removed, and one that is added
    me.part("links", "arm")
    me.tab_to("#form button[aria-label='Remove links arm rod strain']").send_keys(me.keys.ENTER)
    until(lambda: "strain" not in me.text.text)
    until(lambda: me.driver.execute_script("return document.activeElement.closest('#form') !== null"))
    for _ in range(10):
        if me.text.text == before:
            break
        version = me.text.version
        me.here.send_keys(me.keys.CONTROL, "z")
        until(lambda version=version: me.text.version > version)
    assert me.text.text == before


def test_studies_by_keys(me, opened):
    studies = opened[1]._editing.studies
    tab = me.tab_to("#tab-properties")
    tab.send_keys(me.keys.ARROW_RIGHT)
    until(lambda: me.all("#studies select[aria-label='Study'] option"))
    assert_named(me.told())
    me.tab_to("#studies .buttons button").send_keys(me.keys.ENTER)
    until(lambda: me.all("#studies [aria-label='Playback']"))
    assert me.here.text == "Compute"  # the focus stays
    until(lambda: me.all("#status [role='status']")[0].text)
    me.tab_to("#studies input[aria-label='Time']").send_keys(me.keys.HOME)
    until(lambda: studies.playback.data()["t"] == 0.0)
    assert me.here.get_attribute("aria-valuetext") == "0 s"
    me.here.send_keys(me.keys.SHIFT, me.keys.TAB)
    assert me.here.text == "Play"
    me.key(me.keys.SPACE)
    until(lambda: studies.playback.data()["t"] > 0.0)
    assert_named(me.told())
    me.tab_to("#study-kind", back=True).send_keys("Sw")
    me.tab_to("#studies input[name='axis1']").send_keys("u.pull")
    for end, value in (("from", "0"), ("to", "2 N"), ("n", "3")):
        me.tab_to(f"#studies input[name='axis1-{end}']").send_keys(me.keys.CONTROL, "a")
        me.here.send_keys(value)
    me.key(me.keys.ENTER)
    until(lambda: me.all("#studies .picture img[alt*='u.pull']"))
    me.tab_to("#studies .chosen input").send_keys(me.keys.HOME, me.keys.ARROW_RIGHT)  # a point of the picture
    until(lambda: studies._point == 1)
    assert me.here.get_attribute("aria-valuetext") == "1 N"
    assert_named(me.told())
    me.tab_to("#studies .buttons:not([aria-label]) button:not([aria-disabled])").send_keys(me.keys.ENTER)
    until(lambda: studies.playback.data() is None)


def test_the_scene_is_dark_where_the_page_is(me):
    def lightness():
        me.driver.switch_to.frame("scene")
        found = me.driver.execute_script(
            "let one = document.querySelector('canvas[data-engine], canvas');"
            "while (one && !/^rgb\\(/.test(getComputedStyle(one).backgroundColor)) one = one.parentElement;"
            "return one && getComputedStyle(one).backgroundColor"
        )
        me.driver.switch_to.default_content()
        return found and luminance([int(x) for x in found[4:-1].split(",")])

    until(lambda: (lightness() or 0.0) > 0.9)
    me.open(dark=True)
    until(lambda: (lightness() or 1.0) < 0.05)
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    me.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": light})  # while it is open
    until(lambda: (lightness() or 0.0) > 0.9)
    # cords, on white and on the dark of viser: 3 is what WCAG asks of graphics
    assert all(contrast(CORD_COLOUR, paper) >= 3.0 for paper in ((255, 255, 255), (20, 20, 20)))


def luminance(colour):
    """Relative luminance of WCAG 2."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (one / 255.0 for one in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_is_cut_off_or_covered(me, width, height):
    me.open(width, height)
    me.part("links", "arm")
    panes = ["parts", "text", "view"]
    for pane in panes if width <= NARROW else [""]:
        if pane:
            me.driver.execute_script("document.querySelector('#bar button').focus()")
            me.tab_to(f"#narrow button[aria-controls='{pane}']").send_keys(me.keys.ENTER)
            assert [one.is_displayed() for one in me.all("#parts, #text, #view")] == [one == pane for one in panes]
        assert me.driver.execute_script(CUT_OFF) == []
        assert me.driver.execute_script(OVERLAP) == []
    assert me.driver.execute_script("return document.documentElement.scrollHeight <= innerHeight")


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: npm install in web_editor")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("width", "height"), [SIZES[0], SIZES[2]])
def test_axe_finds_nothing(me, width, height, dark):
    me.open(width, height, dark)
    me.driver.execute_script(AXE.read_text(encoding="utf-8"))

    def violations():
        script = "const [tags, done] = arguments; axe.run(document, {runOnly: tags, iframes: false}).then(done)"
        found = me.driver.execute_async_script(script, RULES)["violations"]
        return [(one["id"], node["html"]) for one in found for node in one["nodes"]]

    assert violations() == []
    me.part("links", "arm")
    assert violations() == []
    me.key(me.keys.INSERT)
    until(lambda: me.here.get_attribute("name") == "kind")
    until(
        lambda: (
            not me.driver.execute_script("return document.querySelector('sl-dialog').shadowRoot.getAnimations().length")
        )
    )
    assert violations() == []
    me.key(me.keys.ESCAPE)
    me.waits_at("links", "arm")
    me.tab_to("#tab-properties").send_keys(me.keys.ARROW_RIGHT)
    until(lambda: me.all("#studies select[aria-label='Study'] option"))
    assert violations() == []


def test_without_webgl_the_rest_works(tmp_path):
    path = tmp_path / "finger.yaml"
    path.write_text(TEXT, encoding="utf-8")
    with sorosim.live(path, port=0, block=False) as live, browser("disable-3d-apis") as driver:
        me = Keys(driver, live)
        assert "draws no WebGL 2" in me.all("#view")[0].text
        me.select("links", "arm")
        me.fill("links arm rod length", "30 cm")
        me.said("length: 30 cm")
        until(lambda: live.session.robot.description.links[0].body.length == 0.3)
        assert mistakes(driver) == []
