"""The page of a session: what it shows and does, without a browser and, where there is one, in it."""

import asyncio
import contextlib
import io
import re
import socket
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import imageio.v3 as iio
import numpy as np
import pytest
from helpers.browser import browser, close_notices, has_browser
from numpy.testing import assert_allclose
from scipy.stats import chi2
from typer.testing import CliRunner

import sorosim
from sorosim.base.errors import InputError, SorosimWarning
from sorosim.connect.cli.main import app
from sorosim.mechanics.engine.parameter import DRIVEN, Parameter
from sorosim.view.interactive.controls import Control
from sorosim.view.interactive.page import Page, _on_slider, _pace
from sorosim.view.interactive.scene import ASPECT, CLEAR
from sorosim.view.interactive.session import Session
from sorosim.view.viz.arrows import LONGEST
from sorosim.view.viz.options import CENTRE_OF_MASS, FORCES
from sorosim.view.viz.wrenches import Wrench, Wrenches, centre_of_mass

pytest.importorskip("viser")


@pytest.fixture
def page(request, tmp_path):
    session = Session(sorosim.load(getattr(request, "param", "cable_manipulator")), out=tmp_path / "run.h5")
    page = Page(session, "127.0.0.1", 0)
    page._stopping.set()  # its thread: states are shown by hand
    page._thread.join()
    yield page
    page._server.stop()


def event(value, client=True):
    noted = SimpleNamespace(add_notification=lambda *args, **kwargs: noted.said.append(args[1]), said=[])
    return SimpleNamespace(target=SimpleNamespace(value=value), client=noted if client else None)


def shown(page, elapsed=0.0):
    state = page.session.frame(elapsed)
    page._texts_at = page._plotted_at = 0.0
    page._show(state)
    return state


@pytest.mark.parametrize(
    "page", [{"sorosim": 1, "name": "r", "links": {"nothing": {}, "base": {"parent": "nothing"}}}], indirect=True
)
def test_links_with_names_of_the_page_are_listed_once(page):
    """A browser refuses a list that has an entry twice."""
    assert list(page._follow.options) == ["nothing", CENTRE_OF_MASS, "base"]


@pytest.mark.parametrize("page", ["cable_manipulator", "gripper_grasps_sphere"], indirect=True)
def test_tendons_are_seen_through_their_rods(page):
    parts = page._scene.visual.geometry.parts
    soft = [part for part in parts if part.kind != "body"]
    clear = {
        part.kind: mesh.opacity for part in soft for mesh, points in page._scene._soft if part.points.start in points
    }
    assert clear["rod"] == (CLEAR if any(part.kind == "tendon" for part in parts) else None)
    assert clear.get("tendon") is None


@pytest.mark.parametrize("page", ["cable_manipulator"], indirect=True)
def test_rods_of_one_look_are_one_mesh_with_their_own_triangles(page):
    geometry, found = page._scene.visual.geometry, []
    for mesh, points in page._scene._soft:
        found += points[mesh.faces].tolist()
    expected = np.concatenate([part.faces for part in geometry.parts if part.kind != "body"])
    assert sorted(found) == sorted(expected.tolist())
    assert len(page._scene._soft) == len({(mesh.color, mesh.opacity) for mesh, _ in page._scene._soft})


@pytest.fixture
def observed():
    observe = {"readings": ["arm"], "noise": "2 mm", "unknown": {"arm.tip": "force"}, "prior": {"arm.tip": "1 N"}}
    page = Page(Session(sorosim.load("cable_manipulator"), observe=observe), "127.0.0.1", 0)
    page._stopping.set()
    page._thread.join()
    yield page
    page._server.stop()


def test_an_estimate_is_drawn_beside_the_robot_with_its_ellipsoids(observed):
    state = shown(observed, 0.1)
    drawn, seen = observed._scene._estimate, state.estimated.seen
    robot = observed._scene.visual.geometry.at(seen.q).points[drawn._points]
    assert_allclose(drawn._robot.vertices, robot, atol=1e-6)
    points = np.asarray(drawn._band.vertices, dtype=float).reshape(len(drawn._places), -1, 3)
    for (link, s), ball in zip(drawn._places, points, strict=True):
        g, C = seen.pose(link, s)
        R = g[:3, :3]
        away = ball - g[:3, 3]
        if np.linalg.cond(C[3:, 3:]) < 1e8:  # else it is flat, and rounding of single precision fills it
            level = np.einsum("ni,ij,nj->n", away, np.linalg.inv(R @ C[3:, 3:] @ R.T), away)
            assert_allclose(level, chi2.ppf(0.95, 3), rtol=0.02)
    assert "arm.tip.f_z" in observed._estimate["text"].content
    assert "mm off" in observed._estimate["text"].content
    observed._estimate["band"].value = False
    shown(observed)
    assert drawn._robot.visible
    assert not drawn._band.visible


def test_boxes_switch_the_observer_and_its_readings(observed):
    reads, on = observed._estimate["reads"], observed._estimate["on"]
    change = observed._called(observed.session.read, True)
    change(event(False))
    shown(observed, 0.04)
    assert not reads.value
    assert "no reading arrives" in observed._estimate["text"].content
    observed._called(observed.session.observe, True)(event(False))
    shown(observed, 0.04)
    assert not on.value
    assert not observed._scene._estimate._robot.visible
    observed._plotted.value = "estimated"
    observed._clear_plot()
    shown(observed, 0.04)
    assert len(observed._chart.data) == 4


def test_what_is_selected_has_its_name_and_a_click_tells_its_link(page):
    state = shown(page)
    page.select("arm")
    state = shown(page)
    label, points = page._scene._selected_label, page._scene.visual.geometry.at(state.q).points
    assert (label.text, label.visible) == ("arm", True)
    assert (points.min(axis=0) <= label.position).all()
    assert (label.position <= points.max(axis=0)).all()
    page._build(state)  # a robot like it
    shown(page)
    assert page._scene._selected_label.text == "arm"
    page.select("nobody")
    shown(page)
    assert not page._scene._selected_label.visible
    told = []
    page.on_click = told.append
    towards = np.array([0.0, 0.0, -1.0])
    asyncio.run(
        page._clicked(SimpleNamespace(ray_origin=tuple(label.position - towards), ray_direction=tuple(towards)))
    )
    assert told == ["arm"]


@pytest.mark.parametrize("page", ["cable_manipulator", "gripper_grasps_sphere", "puma560"], indirect=True)
def test_what_is_drawn_is_the_robot(page):
    state = shown(page, 0.1)
    geometry = page._scene.visual.geometry
    known = geometry.at(state.q).points
    drawn = np.zeros_like(known)
    for mesh, own in page._scene._soft:
        drawn[own] = mesh.vertices
    bodies = [part for part in geometry.parts if part.kind == "body"]
    for (mesh, _), part in zip(page._scene._rigid, bodies, strict=True):
        w, x, y, z = mesh.wxyz
        turn = np.cross(np.array([x, y, z]), v := np.asarray(mesh.vertices))
        drawn[part.points] = v + 2.0 * (w * turn + np.cross([x, y, z], turn)) + mesh.position
    np.testing.assert_allclose(drawn, known, rtol=0.0, atol=1e-6)  # single precision
    assert "t = 0.10 s" in page._status.content


def test_a_drag_pulls_and_shows_its_force(page):
    state = shown(page)
    tip = state.robot.pose(state.q, "arm")[:3, 3]
    for phase, end in (("start", tip), ("update", tip + np.array([0.0, 0.05, 0.0]))):
        asyncio.run(page._dragged(SimpleNamespace(phase=phase, start_position=tip, end_position=end)))
    state = shown(page, 0.1)
    assert np.linalg.norm(state.pull[2]) > 0.01
    assert page._scene._force_label.text == f"{np.linalg.norm(state.pull[2]):.3g} N"
    assert page._scene._arrows["pull", 1][0].visible
    asyncio.run(page._dragged(SimpleNamespace(phase="end")))
    assert shown(page).pull is None
    assert not page._scene._arrows["pull", 1][0].visible


def test_sliders_set_and_follow(page):
    slider, one = page._sliders["cable1"], page.session.controls.all["cable1"]
    assert (slider.min, slider.max, slider.label) == (one.low, one.high, "cable1 [N]")
    page._called(lambda x: page._set("cable1", x))(event(3.0))
    assert shown(page).values["cable1"] == 3.0
    page._touched.clear()
    page.session.nudge(0, 0.1)
    shown(page)
    assert slider.value == pytest.approx(3.0 + 0.1 * (one.high - one.low))
    page._called(page.session.set_speed)(event(9.0, client=False))  # set by the page itself: no command
    assert shown(page).speed == 1.0


@pytest.mark.parametrize("page", ["cable_manipulator", "hybrid_parallel", "underwater_vehicle"], indirect=True)
def test_the_floor_is_in_sight_of_the_first_camera(page):
    first = page._server.initial_camera
    ahead = first.look_at - first.position
    distance = np.linalg.norm(ahead)
    ahead = ahead / distance
    right = np.cross(ahead, first.up)
    right /= np.linalg.norm(right)
    upwards = np.cross(right, ahead)
    from_eye = page._scene.ends - first.position
    depth = from_eye @ ahead
    assert (depth > first.near).all()
    half = np.tan(0.5 * first.fov)
    assert (np.abs(from_eye @ upwards) < half * depth).all()
    assert (np.abs(from_eye @ right) < ASPECT * half * depth).all()


@pytest.mark.parametrize("page", ["free_fall_rod", "cable_manipulator"], indirect=True)
def test_cameras_follow_robots_that_nothing_holds(page):
    first = page._server.initial_camera
    position, look_at = first.position, first.look_at
    begin, end = shown(page), shown(page, 0.1)
    moved = centre_of_mass(end.robot, end.q)[0] - centre_of_mass(begin.robot, begin.q)[0]
    floats = ".free." in end.robot.coordinate_names[0]
    assert (page._follow.value == CENTRE_OF_MASS) == floats
    assert_allclose(first.position - position, moved if floats else 0.0, atol=1e-12)
    assert_allclose(first.look_at - look_at, moved if floats else 0.0, atol=1e-12)
    assert not floats or np.linalg.norm(moved) > 0.01


@pytest.mark.parametrize("page", ["free_fall_rod"], indirect=True)
def test_cameras_follow_though_pages_report_late_where_they_are(page, monkeypatch):
    camera = SimpleNamespace(position=np.array([1.0, 2.0, 3.0]), look_at=np.array([1.0, 0.0, 0.5]))
    camera.client = SimpleNamespace(atomic=contextlib.nullcontext)
    monkeypatch.setattr(page._server, "get_clients", lambda: {7: SimpleNamespace(camera=camera)})
    begin = shown(page)
    for _ in range(5):
        late = camera.position, camera.look_at
        shown(page, 0.1)
        camera.position, camera.look_at = late
    end = shown(page, 0.1)
    moved = centre_of_mass(end.robot, end.q)[0] - centre_of_mass(begin.robot, begin.q)[0]
    assert_allclose(camera.look_at - moved, [1.0, 0.0, 0.5], atol=1e-12)
    assert_allclose(camera.position - moved, [1.0, 2.0, 3.0], atol=1e-12)
    assert np.linalg.norm(moved) > 0.1


def test_sliders_show_round_numbers(page):
    one = Control(Parameter(DRIVEN, "angle", "angle"), -np.pi, 0.12345, 0.1)
    slider = {x: _on_slider(one, x) for x in (-9.0, -np.pi, 0.1, 0.061728, 9.0)}
    assert one.step == 0.02
    assert list(slider.values()) == [-3.14, -3.14, 0.1, 0.06, 0.12]
    page.session.set(cable1=1.23456789)
    shown(page)
    assert page._sliders["cable1"].value == 1.2
    assert page.session.state.values["cable1"] == 1.23456789


@pytest.mark.parametrize("page", ["double_pendulum"], indirect=True)
def test_without_controls_there_is_no_folder_for_them(page):
    assert page._sliders == {}
    assert page._source is None
    assert "t = 0.10 s" in (shown(page, 0.1), page._status.content)[1]


def test_the_status_says_what_is_compiled_and_what_is_slow(page):
    page.session._report_compilation("compiling ...")
    page._texts_at = 0.0
    page._show(page.session.state)
    assert page._status.content == "compiling ..."
    page.session._report_compilation("")
    slow = replace(page.session.state, factor=0.4, controller_share=0.81)
    assert _pace(slow) == "0.40 times real time (slower than 1; 81% of the time is the controller's)"
    assert _pace(replace(slow, controller_share=0.0)) == "0.40 times real time (slower than 1)"
    assert _pace(replace(slow, factor=1.0)) == "1.00 times real time"


def test_what_the_page_cannot_show_pauses_and_is_said(page, monkeypatch, capsys):
    monkeypatch.setattr(page._scene, "show", lambda *_: [][0])
    page._stopping.clear()
    page._thread = threading.Thread(target=page._run)
    page._thread.start()
    page.session.frame(0.0)
    until(lambda: "IndexError" in page._message.content, "message")
    page.session.frame(0.0)
    assert page.session.state.paused
    page._stopping.set()
    page._thread.join()
    assert capsys.readouterr().err.count("Traceback") == 1


def test_mistakes_are_notified(page):
    refused = event(0.0)
    page._called(page.session.set_strength)(refused)
    assert "greater than 0" in refused.client.said[0]


@pytest.mark.parametrize("page", ["gripper_grasps_sphere", "underwater_vehicle"], indirect=True)
def test_arrows_of_all_kinds_are_drawn_and_hidden(page):
    for kind in FORCES:
        page._shown[kind].value = True
    shown(page, 0.2)
    drawn = {kind for (kind, _), (mesh, _) in page._scene._arrows.items() if mesh.visible and kind in FORCES}
    assert drawn
    assert "arrows:" in page._scene.arrow_label
    for kind in FORCES:
        page._shown[kind].value = False
    shown(page)
    assert not any(mesh.visible for mesh, _ in page._scene._arrows.values())


def test_an_impact_does_not_shrink_the_arrows_of_a_session(page):
    scene = page._scene

    def show(force, times=1, kinds=("loads",)):
        acting = Wrenches.of([Wrench("loads", "push", np.zeros(3), np.array([0.0, 0.0, force]), np.zeros(3))])
        for _ in range(times):
            scene._rescale(acting, kinds)
        (arrows,) = scene._scale.arrows(acting)
        return arrows.vectors[0, 2], scene.arrow_label

    usual, label = show(2.0, 60)
    cut, with_impact = show(500.0)
    assert cut == pytest.approx(LONGEST * scene._size)
    assert with_impact == f"{label} (impacts of up to 500 N are cut)"
    assert show(2.0) == (usual, with_impact)
    assert show(1.0, 400) == (0.5 * usual, label)  # what becomes a little smaller keeps its scale
    larger, other = show(10.0, 100)  # what stays is no impact
    assert 0.45 * LONGEST * scene._size < larger <= (1.0 + 1e-9) * LONGEST * scene._size
    assert other != label
    # an impact at the beginning sets the scale until what is usual is known
    show(500.0, 1, ("contacts",))
    assert show(2.0, 60, ("contacts",)) == (usual, with_impact)


@pytest.mark.parametrize("page", ["cable_manipulator", "puma560"], indirect=True)
def test_plots_scroll(page):
    for name in page._plots(page.session.state):
        page._plotted.value = name
        page._clear_plot()
        for _ in range(3):
            state = shown(page, 0.05)
        assert len(page._chart.data[0]) == 3
        assert page._chart.data[0][-1] == state.t
        assert all(np.isfinite(line).all() for line in page._chart.data)


def test_buttons_record(page, tmp_path):
    page.session.press("record")
    shown(page, 0.1)
    assert re.match(r"end recording \(\d+ states\)", page._record.label)
    page.session.press("record")
    page.session.press("pause")
    state = shown(page, 0.1)
    assert state.paused
    assert "run.h5" in page._message.content
    assert len(sorosim.open(tmp_path / "run.h5")) > 5


def test_another_robot_takes_the_page(page):
    page.session._take(sorosim.load("soft_gripper"))
    page._build(page.session.frame(0.0))
    assert list(page._sliders) == list(page.session.controls.all)
    shown(page, 0.1)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_taken_port_is_refused():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=rf"port: expected one that is free, got {port}, which is taken"):
            sorosim.live("pendulum", port=port, block=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"host": "no.such.address.invalid", "port": 0}, "an address of this machine"),
        ({"host": 3}, "a name or an address"),
        ({"port": 70_000}, "port"),
        ({"bounds": {"x": (0, 1)}}, "bounds"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        sorosim.live("pendulum", block=False, **arguments)


def test_an_address_for_others_is_warned_of():
    with pytest.warns(SorosimWarning, match=r"whoever knows .* may drive"):
        sorosim.live("double_pendulum", host="0.0.0.0", port=0, block=False).stop()


def test_without_viser_one_line_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match=r"pip install 'sorosim\[live\]'"):
        sorosim.live("pendulum", block=False)
    assert isinstance(CliRunner().invoke(app, ["live", "pendulum"]).exception, InputError)


def test_the_command_takes_what_is_observed(monkeypatch):
    asked = {}

    class Shown:
        def __init__(self, *_, **options):
            asked.update(options)
            self.session = SimpleNamespace(robot=SimpleNamespace(name="it"))
            self.url = ""

        def wait(self):
            pass

    monkeypatch.setattr(sorosim, "live", Shown)
    words = ["--observe", "arm", "--observe", "arm@0.5", "--noise", "arm=1mm", "--noise", "arm@0.5=2mm"]
    words += ["--unknown", "arm.tip=force"]
    texts = ["--prior", "arm.tip=0.2 N", "--process", "motion=1 cm/s"]
    result = CliRunner().invoke(app, ["live", "cable_manipulator", *words, *texts])
    assert result.exit_code == 0, result.exception
    session = Session(sorosim.load("cable_manipulator"), observe=asked["observe"])
    estimated = session.frame(0.1).estimated
    assert estimated.places == ("arm", "arm@0.5")
    assert estimated.names == ("arm.tip.f_x", "arm.tip.f_y", "arm.tip.f_z")
    assert [float(sd[0]) for sd in session._observing._sd.values()] == [1e-3, 2e-3]
    CliRunner().invoke(app, ["live", "cable_manipulator"])
    assert asked["observe"] is None


def test_a_new_robot_is_edited_at_once(monkeypatch, tmp_path):
    shown = []

    class Shown:
        def __init__(self, path, **options):
            shown.append((path, options))
            self.session, self.url = SimpleNamespace(robot=SimpleNamespace(name="it")), "http://here/"

        def wait(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(sorosim, "live", Shown)
    path = tmp_path / "mine.yaml"
    result = CliRunner().invoke(app, ["new", str(path), "--live"])
    assert result.exit_code == 0, result.exception
    assert shown == [(path, {"block": False})]
    assert sorosim.load(path).ndof > 0
    assert CliRunner().invoke(app, ["new", str(path), "--live"]).exit_code != 0
    assert len(shown) == 1


# -- in a browser ------------------------------------------------------------------------------------------------------


def until(condition, what, seconds=60.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.1)
    return found


def pixel_of(client, canvas, point):
    """Where a point of the world is, from the middle of the canvas."""
    import viser.transforms as transforms

    camera = client.camera
    x, y, z = transforms.SO3(camera.wxyz).as_matrix().T @ (point - camera.position)
    focal = 0.5 * canvas.size["height"] / np.tan(0.5 * camera.fov)
    return int(focal * x / z), int(focal * y / z)


def pulling(driver):
    """Pixels of the browser in the colour of pulls, lit as they may be."""
    picture = iio.imread(io.BytesIO(driver.get_screenshot_as_png()))[..., :3].astype(int)
    red, green, blue = np.moveaxis(picture, -1, 0)
    return int(((red > 170) & (green < 90) & (blue > 90) & (blue < 190)).sum())


@pytest.mark.slow
@pytest.mark.skipif(not has_browser(), reason="no chromium and chromedriver")
def test_a_person_in_a_browser_moves_pulls_and_records(tmp_path):
    pytest.importorskip("selenium")
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    out = tmp_path / "run.h5"
    with sorosim.live("cable_manipulator", port=0, block=False, out=out) as live, browser() as driver:
        session = live.session
        driver.get(live.url)
        (client,) = until(lambda: list(live._page._server.get_clients().values()), "client")
        canvas = until(lambda: driver.find_elements(By.TAG_NAME, "canvas"), "canvas")[0]
        until(lambda: "cable1 [N]" in driver.page_source, "slider")
        until(lambda: session.state.t > 0.0, "motion", 600.0)  # after the compilation
        close_notices(driver)

        def press(label):
            buttons = driver.find_elements(By.TAG_NAME, "button")
            next(button for button in buttons if button.text.startswith(label)).click()

        # a slider moves the robot, by the keys of the browser
        press("record")
        until(lambda: session.state.recorded, "recording")
        before = session.state.robot.pose(session.state.q, "arm")[:3, 3]
        thumbs = driver.find_elements(By.CSS_SELECTOR, "[role=slider]")
        names = [thumb.find_element(By.XPATH, "./ancestor::*[contains(., 'cable')][1]").text for thumb in thumbs[1:2]]
        assert "cable1" in names[0]
        thumbs[1].send_keys(Keys.END)
        until(lambda: session.state.values["cable1"] == session.controls.all["cable1"].high, "input")
        until(lambda: np.linalg.norm(session.state.robot.pose(session.state.q, "arm")[:3, 3] - before) > 0.01, "motion")

        # a drag of the pointer pulls at it, once it is at rest
        until(lambda: np.abs(session.state.qd).max() < 1e-2, "rest")
        x, y = pixel_of(client, canvas, session.state.robot.pose(session.state.q, "arm", s=0.9)[:3, 3])
        drag = ActionChains(driver, duration=100).move_to_element_with_offset(canvas, x, y).click_and_hold()
        for _ in range(8):
            drag = drag.move_by_offset(-8, -8)
        drag.perform()
        state = until(lambda: session.state if session.state.pull is not None else None, "pull")
        until(lambda: np.linalg.norm(session.state.pull[2]) > 0.01, "force")
        assert session._pull.grip.link == "arm"
        assert session._pull.grip.s > 0.7
        assert state.message == ""
        arrow, _ = live._page._scene._arrows["pull", 1]
        until(lambda: arrow.visible and np.ptp(arrow.vertices, axis=0).max() > 0.0, "arrow of the first pull")
        until(lambda: pulling(driver) > 20, "arrow in the picture")
        ActionChains(driver).release().perform()
        until(lambda: session.state.pull is None and not arrow.visible, "release")
        until(lambda: pulling(driver) == 0, "picture without the arrow")

        # the keyboard pauses, the button ends the recording
        press("end recording")
        until(out.exists, "file")
        ActionChains(driver).move_to_element_with_offset(canvas, -300, 250).click().send_keys(" ").perform()
        until(lambda: session.state.paused, "pause")
    result = CliRunner().invoke(app, ["info", str(out)])
    assert result.exit_code == 0
    run = sorosim.open(out)
    assert list(run.robot.description.loads) == ["pull1"]
    assert run.u[-1, 0] > 0.0
