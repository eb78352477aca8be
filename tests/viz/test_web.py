"""Pages for browsers: what is in them, and what their script makes of it (with node, where it is installed)."""

import json
import re
import shutil
import subprocess
import textwrap
from base64 import b64decode
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation

import sorosim
from sorosim.base.errors import InputError
from sorosim.files import load_text
from sorosim.view.viz import web
from sorosim.view.viz.arrows import SwitchedScales, arrow_tracks
from sorosim.view.viz.camera import level_axes, level_view
from sorosim.view.viz.geometry import Geometry
from sorosim.view.viz.motion import TINTS, motion_group, motion_of
from sorosim.view.viz.options import LOADS
from sorosim.view.viz.visuals import FINE, arrow_scale, ends_of, visuals_of
from sorosim.view.viz.web import export_html
from sorosim.view.viz.wrenches import wrenches_at

KINDS = {"f4": "<f4", "u4": "<u4", "u2": "<u2", "u1": "u1", "i1": "i1"}
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def motion(robot, n=6):
    rng, t = np.random.default_rng(5), np.linspace(0.0, 1.0, n)
    q = np.cumsum(0.2 * rng.normal(size=(n, robot.ndof)), axis=0)
    return SimpleNamespace(robot=robot, t=t, q=q, u=np.abs(rng.normal(size=(n, len(robot.actuator_names)))))


@pytest.fixture(scope="module")
def run():
    return motion(cable_manipulator())


class Page(HTMLParser):
    """The tags of a page and its data."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.inside, self.texts = [], None, {}
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)
        self.motion = json.loads(self.texts["motion"])

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "title"):
            self.inside = dict(attributes).get("id", tag)

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts[self.inside] = self.texts.get(self.inside, "") + data

    def array(self, name):
        block = self.motion[name]
        return np.frombuffer(b64decode(block["base64"]), KINDS[block["kind"]])


def written(run, tmp_path, **options):
    export_html(run, tmp_path / "run.html", **options)
    return Page(tmp_path / "run.html")


def poses_of(page):
    n = page.motion["stationCount"]
    table = page.array("poses").reshape(len(page.motion["times"]), n, 7).astype(float)
    return table[..., :3], table[..., 3:]


def colour_of(page, name=None):
    """What a page has of a quantity; by default of that with which it opens."""
    return next(one for one in page.motion["colours"] if one["name"] == (name or page.motion["colour"]))


def strains_of(page, name):
    """Strains of a quantity (n_times, n), and of which stations."""
    names = [one["name"] for one in page.motion["colours"] if one["kind"] == "rod"]
    stations, (low, high) = page.array("strainStations"), colour_of(page, name)["range"]
    table = page.array("strains").reshape(len(page.motion["times"]), len(names), len(stations))
    return low + (high - low) * table[:, names.index(name)] / web.STEPS, stations


def test_points_of_the_page_are_those_of_the_robot(run, tmp_path):
    page = written(run, tmp_path, fps=5.0)
    position, turn = poses_of(page)
    local, station = page.array("localPoints").reshape(-1, 3).astype(float), page.array("pointStations")
    normal = page.array("localNormals").reshape(-1, 4)[:, :3] / 127.0
    geometry = Geometry(run.robot, *FINE)
    assert_allclose(page.motion["times"], run.t)
    for k in range(len(run.t)):
        shape, R = geometry.at(run.q[k]), Rotation.from_quat(turn[k][station])
        assert_allclose(R.apply(local) + position[k][station], shape.points, atol=3e-7)  # single precision
        if k == 0:  # the state whose normals were taken, in whole 127ths
            assert_allclose(R.apply(normal), shape.normals, atol=0.005)


def test_the_page_knows_how_thin_parts_grow(run, tmp_path):
    """Points of the page, grown as its shader does it, are those of the robot with a least half-width."""
    page, geometry = written(run, tmp_path, fps=5.0), Geometry(run.robot, *FINE)
    local = page.array("localPoints").reshape(-1, 3).astype(float)
    growth = 2.0**0.5 * page.array("growth").reshape(-1, 4)[:, :3] / 127.0
    missing = np.maximum(0.05 - page.array("halfWidths"), 0.0)[:, None]
    assert (missing > 0.0).any()
    position, turn = poses_of(page)
    station = page.array("pointStations")
    points = Rotation.from_quat(turn[2][station]).apply(local + missing * growth) + position[2][station]
    assert_allclose(points, geometry.at(run.q[2], 0.05).points, atol=0.05 * 0.5 * 2.0**1.5 / 127.0)  # in whole 127ths


def test_the_page_knows_what_is_followed(run, tmp_path):
    page = written(run, tmp_path, fps=5.0, follow="arm", zoom=3.0)
    wanted = [run.robot.pose(q, "arm", s=0.5)[:3, 3] for q in run.q]
    assert_allclose(page.array("followed").reshape(-1, 3), wanted, atol=1e-6)
    assert (page.motion["near"], page.motion["zoom"]) == (True, 3.0)
    page = written(run, tmp_path, fps=5.0)
    assert_array_equal(page.array("followed"), 0.0)
    assert page.motion["occlusion"] > 0.0
    assert written(run, tmp_path, fps=5.0, occlusion=False).motion["occlusion"] == 0.0


def test_triangles_and_parts_of_the_page_are_those_of_the_robot(run, tmp_path):
    page = written(run, tmp_path)
    geometry, faces = Geometry(run.robot, *FINE), page.array("faces")
    assert len(page.motion["parts"]) == len(geometry.parts)
    for part, entry in zip(geometry.parts, page.motion["parts"], strict=True):
        assert (entry["kind"], entry["name"]) == (part.kind, part.name)
        mine = faces[entry["firstIndex"] : entry["firstIndex"] + entry["indexCount"]]
        assert_array_equal(mine.reshape(-1, 3), part.faces)
    assert [entry["tendonIndex"] for entry in page.motion["parts"] if entry["kind"] == "tendon"] == list(range(5))


def test_colours_show_tensions_by_default_and_strains_if_asked_for(run, tmp_path):
    page = written(run, tmp_path, fps=5.0)
    shown = colour_of(page)
    assert (shown["kind"], shown["label"]) == ("tendon", "tension [N]")
    assert_allclose(page.array("tensions").reshape(6, 5), run.u, rtol=1e-6)
    low, high = shown["range"]
    assert low <= run.u.min()
    assert high >= run.u.max()
    assert [one["name"] for one in page.motion["colours"]] == [
        "tension", "torsion", "bending_y", "bending_z", "elongation", "shear_y", "shear_z", "plain",
    ]  # fmt: skip
    other = written(run, tmp_path, fps=5.0, colour="bending_z")
    shown = colour_of(other)
    assert (shown["kind"], shown["label"]) == ("rod", "bending z [rad/m]")
    division = run.robot.links[0].rod.divisions[0]
    places = Geometry(run.robot, *FINE).places
    # a page has all of them, whatever it opens with
    for one in (page, other):
        value, stations = strains_of(one, "bending_z")
        assert len(stations) >= FINE[0]
        basis = division.basis([0.5 * places[station][1] for station in stations])[:, :, 2]
        assert_allclose(value, run.q @ basis.T, atol=np.ptp(shown["range"]) / web.STEPS)
    for name in ("viridis", "coolwarm"):
        assert len(b64decode(page.motion["colourMaps"][name]["base64"])) == 4 * web.N_COLOURS


def test_pages_open_as_the_options_say(run, tmp_path):
    page = written(run, tmp_path, fps=5.0)
    on = {"tendons", "floor", "axes", "contacts"}
    assert {name for name, shown in page.motion["switches"].items() if shown} == on
    assert (page.motion["view"], page.motion["playing"], page.motion["loop"]) == ("iso", False, False)
    assert len(page.motion["trails"]) == 1  # they can be switched on
    changed = dict.fromkeys(on, False) | {"trails": True, "frames": True, "gravity": True}
    page = written(run, tmp_path, fps=5.0, view="z", speed=0.25, loop=True, orbit="90 deg/s", **changed)
    assert page.motion["switches"] == changed | {"loads": False, "joints": False}
    assert [page.motion[name] for name in ("view", "speed", "loop")] == ["z", 0.25, True]
    assert page.motion["orbit"] == pytest.approx(np.pi / 2.0)
    assert len([part for part in page.motion["parts"] if part["kind"] == "tendon"]) == 5
    geometry = Geometry(run.robot, *FINE)
    assert {*geometry.frames.values()} < {*page.motion["frames"]["stations"]}


def test_a_camera_that_goes_round_sees_everything_from_all_sides(run, tmp_path):
    page = written(run, tmp_path, fps=5.0, orbit=1.0)
    half, centre = np.array(page.motion["halfExtents"]), np.array(page.motion["centre"])
    geometry = Geometry(run.robot, *FINE)
    points = np.concatenate([geometry.at(q).points for q in run.q]) - centre
    assert half[0] == half[1]
    assert np.hypot(points[:, 0], points[:, 1]).max() <= 1.01 * half[0]  # which is of some points only
    assert np.abs(points[:, 2]).max() <= 1.01 * half[2]


def test_a_page_needs_nothing_else(run, tmp_path):
    page = written(run, tmp_path)
    for tag, attributes in page.tags:
        assert not {"src", "href"} & attributes.keys(), tag
        assert tag not in ("link", "img", "iframe", "object", "base")
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")  # the browser itself would refuse to fetch anything
    script = page.texts["script"]
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import)\b", script)
    assert not re.search(r"https?:|//\w", page.text.replace(page.texts["motion"], ""))  # comments begin with a space


def test_names_of_robots_are_only_text(tmp_path):
    evil = '</script><script>alert("1")</script> & <b>'
    joint, body = "{revolute: {axis: [0, 1, 0]}}", "{sphere: {radius: 1 cm}, mass: 1 kg}"
    robot = load_text(f"sorosim: 1\nname: '{evil}'\nlinks: {{a: {{joint: {joint}, body: {body}}}}}", "evil.yaml")
    page = written(motion(robot), tmp_path)
    assert page.texts["title"] == evil
    assert page.motion["title"] == evil
    assert page.text.count("<script") == 2


def test_pages_are_bounded(monkeypatch, tmp_path, run):
    monkeypatch.setattr(web, "MOST_BYTES", 300_000)
    page = written(run, tmp_path, fps=10_000.0)
    n = page.motion["stationCount"]
    frames = len(page.motion["times"])
    rods, strains = len(page.array("strainStations")), 6
    assert frames == 300_000 // (28 * n + 2 * strains * rods + 24)  # its weight is an arrow
    assert page.motion["detail"] == f"{frames} of 10001 states"
    # evenly fewer, both ends among them
    assert_allclose(np.diff(page.motion["times"]), 1.0 / (frames - 1))
    monkeypatch.setattr(web, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="a robot of fewer parts"):
        export_html(run, tmp_path / "none.html")


def test_an_equilibrium_has_one_moment_and_the_floor_is_below(tmp_path):
    eq = sorosim.statics(cable_manipulator())
    eq.export_html(tmp_path / "eq.html")
    page = Page(tmp_path / "eq.html")
    assert len(page.motion["times"]) == 1
    position, turn = poses_of(page)
    local, station = page.array("localPoints").reshape(-1, 3), page.array("pointStations")
    points = Rotation.from_quat(turn[0][station]).apply(local) + position[0][station]
    assert page.motion["floor"]["height"] < points[:, 2].min()
    far = np.linalg.norm(points - page.motion["centre"], axis=1)
    assert 0.8 * page.motion["radius"] < far.max() <= page.motion["radius"]


def test_what_the_robot_may_touch_stands_still_in_the_page(tmp_path):
    robot = sorosim.load("contact_cylinder")
    page = written(motion(robot), tmp_path, fps=5.0)
    position, turn = poses_of(page)
    part = page.motion["parts"][-1]
    assert (part["kind"], part["opacity"] < 1.0) == ("obstacle", True)
    used = np.unique(page.array("faces")[part["firstIndex"] : part["firstIndex"] + part["indexCount"]])
    stations = np.unique(page.array("pointStations")[used])
    assert_allclose(position[:, stations], 0.0)
    assert_allclose(turn[:, stations], np.broadcast_to([0, 0, 0, 1], turn[:, stations].shape))
    points = page.array("localPoints").reshape(-1, 3)[used]
    # the pipe around the vertical through the origin, all of it in sight
    assert_allclose(np.hypot(points[:, 0], points[:, 1]), 0.15, atol=1e-6)
    assert np.linalg.norm(points - page.motion["centre"], axis=1).max() <= page.motion["radius"]
    normals = page.array("localNormals").reshape(-1, 4)[used, :3] / 127.0
    across = np.einsum("ij,ij->i", normals[:, :2], points[:, :2]) / 0.15
    assert_allclose(np.abs(across), 1.0, atol=0.02)


def test_wrong_options_are_told(run, tmp_path):
    for options, words in (
        ({"colour": "bendings_y"}, "did you mean bending_y"),
        ({"fps": -1.0}, "fps"),
        ({"trails": 1}, "trails: expected True or False"),
        ({"size": (640, 480)}, "options: expected what a page can show, got 'size'"),
        ({"speed": 0.0}, "speed"),
        ({"loop": 1}, "loop: expected True or False"),
        ({"follow": "nobody"}, "follow"),
        ({"zoom": 0.0}, "zoom"),
        ({"load": True}, "did you mean loads"),
    ):
        with pytest.raises(InputError) as caught:
            export_html(run, tmp_path / "run.html", **options)
        assert words in str(caught.value)
    with pytest.raises(InputError, match=r"ends in \.html"):
        export_html(run, tmp_path / "run.txt")
    assert not list(tmp_path.iterdir())


# -- several robots, and arrows


def sled(end=1.0, n=6):
    """A block on a slider, pushed the harder the later, and not at all before 0.2 s."""
    text = """
    sorosim: 1
    name: sled
    links: {block: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {box: {size: [10 cm, 6 cm, 4 cm]}, mass: 1 kg}}}
    loads: {push: {wrench: {link: block, force: [0, "3*max(t - 0.2, 0)", 0], moment: [0, 0, 0.5], frame: world}}}
    """
    robot, t = load_text(textwrap.dedent(text), "sled.yaml"), np.linspace(0.0, end, n)
    return SimpleNamespace(
        robot=robot, t=t, q=0.4 * t[:, None], qd=np.zeros((n, 1)), u=np.zeros((n, 0)), lam=np.zeros((n, 0)), driven={}
    )


def test_several_runs_have_colours_names_and_one_clock(run, tmp_path):
    short = sled(0.5)
    sorosim.export_html(tmp_path / "two.html", [run, short], names=["arm", "sled"], fps=4.0, trails=True, tips=["arm"])
    page = Page(tmp_path / "two.html")
    assert page.motion["legend"] == [["arm", TINTS[0]], ["sled", TINTS[1]]]
    assert page.texts["title"] == "arm, sled"
    assert [part["colour"] for part in page.motion["parts"]] == [*TINTS[:2]]  # tendons are not shown
    assert [trail["colour"] for trail in page.motion["trails"]] == [TINTS[0]]
    assert ([one["name"] for one in page.motion["colours"]], page.motion["tendonCount"]) == (["plain"], 0)
    assert_allclose(page.motion["times"], [0.0, 0.25, 0.5, 0.75, 1.0])
    position, turn = poses_of(page)
    local, station = page.array("localPoints").reshape(-1, 3).astype(float), page.array("pointStations")
    arm, block = (Geometry(one.robot, *FINE, tendons=False) for one in (run, short))
    for k, t in enumerate(page.motion["times"]):
        q = np.stack([np.interp(t, run.t, column) for column in run.q.T])
        wanted = [arm.at(q).points, block.at([0.4 * min(t, 0.5)]).points]
        points = Rotation.from_quat(turn[k][station]).apply(local) + position[k][station]
        assert_allclose(points, np.concatenate(wanted), atol=3e-7)
    mine = page.array("faces")[page.motion["parts"][1]["firstIndex"] :].reshape(-1, 3)
    assert_array_equal(mine, np.concatenate([part.faces for part in block.parts]) + arm.n_points)


def test_runs_side_by_side_stand_apart(run, tmp_path):
    sorosim.export_html(tmp_path / "two.html", [run, sled(), run], layout="side", view="side")
    page = Page(tmp_path / "two.html")
    assert page.motion["view"] == "side"
    position, turn = poses_of(page)
    local, station = page.array("localPoints").reshape(-1, 3).astype(float), page.array("pointStations")
    ends = []
    for part in page.motion["parts"]:
        used = np.unique(page.array("faces")[part["firstIndex"] : part["firstIndex"] + part["indexCount"]])
        at = [
            Rotation.from_quat(q[station[used]]).apply(local[used]) + p[station[used]]
            for p, q in zip(position, turn, strict=True)
        ]
        ends.append((np.min(at, axis=(0, 1))[0], np.max(at, axis=(0, 1))[0]))
    assert ends[0][1] < ends[1][0] < ends[1][1] < ends[2][0]
    everything = np.concatenate([Rotation.from_quat(turn[0][station]).apply(local) + position[0][station]])
    assert np.linalg.norm(everything - page.motion["centre"], axis=1).max() <= page.motion["radius"]


def test_arrows_of_the_page_are_the_wrenches(tmp_path):
    run = sled()
    page = written(run, tmp_path, fps=5.0)  # whatever it opens with: they can be switched on
    arrows = page.motion["arrows"]
    block = arrows["startsAndVectors"]
    values = np.frombuffer(b64decode(block["base64"]), KINDS[block["kind"]]).reshape(6, -1, 6)
    found = {(track["kind"], track["heads"]): values[:, k] for k, track in enumerate(arrows["tracks"])}
    assert len(found) == len(arrows["tracks"]) == 3
    starts = np.outer(0.4 * run.t, [1.0, 0.0, 0.0])
    wanted = {
        ("gravity", 1): np.tile([0.0, 0.0, -9.81], (6, 1)),
        ("loads", 1): np.outer(3.0 * np.maximum(run.t - 0.2, 0.0), [0.0, 1.0, 0.0]),
        ("loads", 2): np.tile([0.0, 0.0, 0.5], (6, 1)),
    }
    for key, vectors in wanted.items():
        there = np.any(vectors, axis=1)
        assert_allclose(found[key][there, :3], starts[there], atol=1e-7)
        assert_allclose(found[key][:, 3:], vectors, atol=1e-6)


def test_a_page_has_the_scale_of_pictures_for_each_choice_of_arrows(tmp_path):
    run = sled()
    page = written(run, tmp_path, fps=5.0)
    scales, visuals = page.motion["arrows"]["scales"], visuals_of(motion_group([run]), "iso")
    size = page.motion["frames"]["length"] / web.FRAME_LENGTH
    visuals[0].fit()
    assert [*scales] == ["loads", "gravity", "loads gravity"]
    for kinds, one in scales.items():
        scale, ends = arrow_scale(visuals, kinds.split(), size)
        assert (one["label"], one["headWidth"]) == (scale.label, pytest.approx(scale.width))
        assert one["legend"] == [list(kind) for kind in scale.kinds]
        for mine, theirs in zip(one["heads"], (scale.force, scale.moment), strict=True):
            assert (mine is None) == (theirs is None)
            assert mine is None or mine["metres"] == pytest.approx(theirs.length / theirs.value)
        wrenches = [*visuals[0].all_wrenches(("loads", "gravity"))]
        switched = SwitchedScales(wrenches, size).of(kinds.split())
        assert_allclose(ends_of(switched, [one.only(kinds.split()) for one in wrenches]), ends, atol=1e-12)


def test_arrows_of_contacts_end_where_these_act_and_impacts_are_cut(tmp_path):
    said = textwrap.dedent("""
    const tracks = [{ heads: 1, ends: true }, { heads: 1, ends: false }, { heads: 2, ends: false }];
    const found = [[0, [0, 0, 4]], [1, [0, 0, 100]], [1, [0, 0.5, 0]], [2, [9, 0, 0]]].map(([track, vector]) =>
      ({ track, start: [1, 0, 0], vector }));
    const scale = { heads: [{ metres: 0.1, least: 1, longest: 2 }, null] };
    console.log(JSON.stringify(v.arrowsOf(found, tracks, scale)));
    """)
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    got = [(one["track"], one["start"], one["vector"]) for one in run_script(tmp_path, said)]
    assert got == [
        (0, [1, 0, pytest.approx(-0.4)], [0, 0, pytest.approx(0.4)]),
        (1, [1, 0, 0], [0, 0, pytest.approx(2)]),
    ]


def test_arrows_count_among_what_bounds_a_page(monkeypatch, tmp_path):
    run = sled()
    n = written(run, tmp_path, fps=1000.0).motion["stationCount"]
    monkeypatch.setattr(web, "MOST_BYTES", 40 * (28 * n + 3 * 24))
    page = written(run, tmp_path, fps=1000.0, loads=True, gravity=True)
    assert len(page.motion["arrows"]["tracks"]) == 3
    assert len(page.motion["times"]) == 40


def test_what_has_ended_rests_with_its_last_loads():
    """Beside a longer run, a shorter one shows its end: poses and loads of one moment."""
    run, shown = sled(0.5), motion_group([sled(1.0), sled(0.5)])
    visuals, times = visuals_of(shown, "iso"), np.array([0.5, 1.0])
    scale, _ = arrow_scale(visuals, (LOADS,), 1.0)
    frames = [visual.frames(times, (LOADS,)) for visual in visuals]
    arrows = arrow_tracks(scale.arrows, [[frame.wrenches for frame in rows] for rows in frames], len(times))
    for k, track in enumerate(arrows.tracks):
        assert np.allclose(arrows.vector[0, k], arrows.vector[1, k]) == (track.robot == 1 or track.heads == 2)
    late = wrenches_at(run.robot, motion_of(run), run.q[-1], run.u[-1], 7.0, ("loads",))
    assert_allclose(late.force, [[0.0, 0.9, 0.0]], atol=1e-12)


# -- the script


def run_script(tmp_path, code):
    """What a piece of JavaScript prints as JSON, with the functions of the viewer."""
    viewer = tmp_path / "viewer.cjs"
    viewer.write_text(resources.files("sorosim.view.viz").joinpath("viewer_numbers.js").read_text(encoding="utf-8"))
    head = "const v = require('./viewer.cjs'); const fs = require('fs');\n"
    done = subprocess.run(
        ["node", "-e", head + code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
def test_the_script_blends_what_is_steady_and_switches_the_rest(tmp_path):
    got = run_script(
        tmp_path,
        """
        const rows = [[0, 0, 0, 1, 0, 0], [5, 0, 0, 0, 2, 0], [7, 0, 0, 0, 0, 0], [2, 0, 0, 3, 0, 0],
          [9, 0, 0, 0, 6, 0], [8, 0, 0, 0, 0, 4]];
        const values = new Float32Array(rows.flat());
        const tracks = [{ steady: true }, { steady: false }, { steady: true }];
        console.log(JSON.stringify([0, 0.25, 0.75, 1].map((t) => v.wrenchesAt(values, tracks, [0, 1], t))));
        """,
    )
    assert [[one["track"] for one in moment] for moment in got] == [[0, 1], [0, 1], [0, 1, 2], [0, 1, 2]]
    assert (got[1][0]["start"], got[1][0]["vector"]) == ([0.5, 0, 0], [1.5, 0, 0])
    assert (got[1][1]["start"], got[2][1]["start"]) == ([5, 0, 0], [9, 0, 0])
    assert (got[2][2]["start"], got[2][2]["vector"]) == ([8, 0, 0], [0, 0, 4])


READ = r"""
const text = fs.readFileSync('run.html', 'utf8').match(/id="motion">([\s\S]*?)<\/script>/)[1];
const m = JSON.parse(text), poses = v.decode(m.poses);
const local = v.decode(m.localPoints), station = v.decode(m.pointStations);
const at = (t) => v.posesAt(poses, m.stationCount, m.times, t, new Float32Array(8 * m.stationCount));
const points = (t) => {
  const now = at(t), out = [];
  for (let k = 0; k < station.length; k += 7) {
    out.push(v.place(now, station[k], [local[3 * k], local[3 * k + 1], local[3 * k + 2]]));
  }
  return out;
};
"""


@needs_node
def test_the_script_puts_points_where_the_robot_has_them(run, tmp_path):
    written(run, tmp_path, fps=5.0)
    got = run_script(tmp_path, READ + "console.log(JSON.stringify(m.times.map(points)));")
    geometry = Geometry(run.robot, *FINE)
    for k, points in enumerate(got):
        assert_allclose(points, geometry.at(run.q[k]).points[::7], atol=5e-7)


@needs_node
def test_the_script_blends_poses_between_stored_times(run, tmp_path):
    near = SimpleNamespace(
        robot=run.robot,
        t=np.array([2.0, 3.0]),
        q=run.q[1] + np.outer([0.0, 2e-3], np.ones(run.robot.ndof)),
        u=run.u[:2],
    )
    written(near, tmp_path, fps=1.0)
    got = run_script(tmp_path, READ + "console.log(JSON.stringify([1, 2.25, 9].map(points)));")
    shapes = [Geometry(run.robot, *FINE).at(q).points[::7] for q in near.q]
    assert_allclose(got[0], shapes[0], atol=5e-7)  # before the start: the start
    assert_allclose(got[1], 0.75 * shapes[0] + 0.25 * shapes[1], atol=2e-6)  # the blend is even to second order
    assert_allclose(got[2], shapes[1], atol=5e-7)


@needs_node
def test_the_script_shows_the_strains(run, tmp_path):
    page = written(run, tmp_path, fps=5.0)
    names = [one["name"] for one in page.motion["colours"] if one["kind"] == "rod"]
    got = run_script(
        tmp_path,
        READ
        + f"""
        const [strains, stations] = [v.decode(m.strains), v.decode(m.strainStations)], out = new Float32Array(8 * 200);
        const {{ range }} = m.colours.find((one) => one.name === "bending_y");
        const stored = [strains, stations, {len(names)}, {names.index("bending_y")}];
        v.strainsAt(...stored, range, m.times, 0.5, out);
        console.log(JSON.stringify([...stations].map((k) => out[8 * k + 3])));
        """,
    )
    values, _ = strains_of(page, "bending_y")
    assert_allclose(got, 0.5 * (values[2] + values[3]), rtol=1e-5, atol=1e-5)


@needs_node
@pytest.mark.parametrize("up", "xyz")
def test_views_of_the_script_along_axes_are_those_of_pictures(tmp_path, up):
    vertical = 1.0 * (np.arange(3) == "xyz".index(up))
    frame = np.stack([*level_axes(vertical), vertical]).tolist()
    names = ["iso", "front", "side", "top", "x", "y", "z"]
    code = f"console.log(JSON.stringify({json.dumps(names)}.map((name) => v.levelView(name, {json.dumps(frame)}))));"
    assert run_script(tmp_path, code) == [level_view(name, vertical) for name in names]


@needs_node
def test_the_script_zooms_and_follows(tmp_path):
    got = run_script(
        tmp_path,
        "console.log(JSON.stringify([v.viewAngle(1), v.viewAngle(4), v.pointAt([0, 0, 0, 2, 4, 6], [0, 1], 0.25)]));",
    )
    assert np.tan(got[0] / 2.0) == pytest.approx(4.0 * np.tan(got[1] / 2.0))
    assert got[2] == [0.5, 1.0, 1.5]


@needs_node
def test_the_script_finds_stored_times(tmp_path):
    got = run_script(
        tmp_path,
        "console.log(JSON.stringify([[[0], 5], [[0, 1, 3], -1], [[0, 1, 3], 1], [[0, 1, 3], 2.5], [[0, 1, 3], 3]]"
        ".map(([times, t]) => v.between(times, t))));",
    )
    assert got == [[0, 0, 0], [0, 1, 0], [1, 2, 0], [1, 2, 0.75], [1, 2, 1]]


@needs_node
def test_the_camera_of_the_script_sees_as_a_camera_does(tmp_path):
    got = run_script(
        tmp_path,
        """
        const frame = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
        const camera = { azimuth: 0.4, elevation: 0.3, distance: 2, focus: [1, 2, 3] };
        const { eye } = v.eyeOf(camera, frame);
        console.log(JSON.stringify([eye, [...v.project(eye, camera.focus, [0, 0, 1], 1.5, 0.5, 10)], v.VIEWS.iso]));
        """,
    )
    eye, matrix, iso = got
    toward = np.array([np.cos(0.3) * np.cos(0.4), np.cos(0.3) * np.sin(0.4), np.sin(0.3)])
    assert_allclose(eye, np.array([1.0, 2.0, 3.0]) + 2.0 * toward, rtol=1e-15)
    M, half = np.array(matrix).reshape(4, 4).T, np.tan(np.deg2rad(14.0))
    right = np.cross([0.0, 0.0, 1.0], toward)
    right /= np.linalg.norm(right)
    upwards = np.cross(toward, right)
    for x, y, depth in ((0.0, 0.0, 2.0), (0.3, -0.2, 1.0), (1.0, 0.5, 7.0)):
        seen = M @ [*(eye - depth * toward + x * right + y * upwards), 1.0]
        assert_allclose(seen[:2] / seen[3], [x / (1.5 * depth * half), y / (depth * half)], atol=1e-6)
        assert_allclose(seen[3], depth, rtol=1e-6)
    # the nearest and the farthest are at the ends of the depths
    for depth, end in ((0.5, -1.0), (10.0, 1.0)):
        seen = M @ [*(eye - depth * toward), 1.0]
        assert_allclose(seen[2] / seen[3], end, atol=1e-5)
    # corner views look as our pictures do
    assert_allclose(np.tan(iso[0]), -1.35 / 0.75)


@needs_node
@pytest.mark.parametrize("window", [(1000, 600), (400, 800)])
def test_a_box_is_seen_whole_and_as_large_as_fits(tmp_path, window):
    half, toward = np.array([0.5, 0.05, 0.2]), np.array([0.6, -0.64, 0.48])
    width, height = window
    got = run_script(
        tmp_path,
        f"const d = v.fitted({half.tolist()}, {toward.tolist()}, [0, 0, 1], {width}, {height});"
        f"const eye = {toward.tolist()}.map((x) => d * x);"
        f"console.log(JSON.stringify([...v.project(eye, [0, 0, 0], [0, 0, 1], {width / height}, 0.01, 10)]));",
    )
    corners = np.stack(np.meshgrid(*np.stack([-half, half], axis=1), [1.0]), axis=-1).reshape(-1, 4)
    seen = corners @ np.array(got).reshape(4, 4)
    x, y = np.abs(seen[:, :2] / seen[:, 3:]).max(axis=0)
    assert max(x / 0.95, y / (1.0 - 100.0 / height)) == pytest.approx(1.0, rel=1e-6)


@needs_node
def test_the_whole_script_draws_and_answers_in_a_page_that_is_a_stand_in(run, tmp_path):
    """Every function of the viewer runs: WebGL and the page are stand-ins that write down what is asked of them."""
    written(run, tmp_path, fps=5.0, trails=True)
    command = ["node", str(Path(__file__).parents[1] / "data" / "stand_in_page.js")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["trouble"] == ""
    assert said["title"] == run.robot.name
    assert said["context"]["alpha"] is False  # else glassy rods are blended with the page behind the canvas
    assert said["clocks"] == ["t = 0.00 s", "t = 0.40 s", "t = 0.60 s", "t = 0.40 s", "t = 0.90 s", "t = 1.00 s"]
    assert said["buttons"] == ["play", "play", "play", "play", "pause", "play"]
    # floor, axes and trail; depths of the tendons; shadow of the rod; inside, outside; tendons
    assert said["drawn"] == {"lines": 3, "triangles": 5 + 1 + 2 + 5}
    assert said["again"] == 0
    keys = said["keys"]
    lines, all_triangles = 3, 5 + 1 + 2 + 5
    assert keys["t"] == {"lines": lines - 1, "triangles": all_triangles}
    assert keys["f"] == {"lines": lines + 1, "triangles": all_triangles}
    assert keys["a"] == {"lines": lines - 1, "triangles": all_triangles}
    assert keys["g"] == {"lines": lines - 1, "triangles": all_triangles - 1}  # grid and shadow
    assert keys["d"] == {"lines": lines, "triangles": 1 + 1 + 1}  # the rod: depth, shadow, itself
    assert keys["m"] == {"lines": lines, "triangles": all_triangles + 1}
    assert keys["c"] == {"lines": lines, "triangles": 1 + 5 + 1 + 1 + 5}  # rods that show strains are opaque
    assert said["bars"] == ["tension [N]", "torsion [rad/m]"]
    assert said["help"] == [False, True, False]
    assert said["rows"] == 25
    assert said["pressed"] is True
    assert said["saved"] == f"{run.robot.name.replace(' ', '_').replace('-', '_')}_1.000s.png"
    assert said["speeds"] == ["1", "2", "4"]
    assert said["orbited"] == pytest.approx(0.5)
    assert said["slider"] == pytest.approx(0.6)
    assert said["zoomed"] == pytest.approx(np.exp(0.15), rel=1e-9)
    assert said["azimuth"] == pytest.approx(-0.08)
    # a narrower window sees as much as one that was so narrow from the beginning
    assert said["resized"]["narrow"] == pytest.approx(said["resized"]["anew"], rel=1e-12)
    assert said["resized"]["narrow"] > 1.5 * said["resized"]["wide"]


@needs_node
def test_the_whole_script_draws_arrows_and_names(tmp_path):
    runs = [sled(), sled(0.5)]
    sorosim.export_html(tmp_path / "run.html", runs, names=["a", "<b>"], fps=5.0, loads=True, gravity=True)
    command = ["node", str(Path(__file__).parents[1] / "data" / "stand_in_page.js")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["trouble"] == ""
    # depths, shadows and bodies; a weight, a force and a moment on each
    assert said["drawn"] == {"lines": 2, "triangles": 2 + 2 + 2 + 6}
    assert said["names"] == ["a ", "<b> ", "loads ", "weight "]
    assert said["keys"]["m"] == {"lines": 2, "triangles": 2 + 2 + 2 + 4}
    assert said["bars"] == ["", ""]
