"""glTF files, read by a reader of their own and by trimesh, have the robot where it is."""

import json
import re
import struct
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh
from helpers.robots import cable_manipulator
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation, Slerp

import sorosim
from sorosim.base.errors import FileError, InputError
from sorosim.files import load_text
from sorosim.view.viz.geometry import Geometry
from sorosim.view.viz.gltf import export_gltf
from sorosim.view.viz.motion import motion_of
from sorosim.view.viz.visuals import COARSE, RobotVisual, quaternions

TYPES = {5123: "<u2", 5125: "<u4", 5126: "<f4"}
KINDS = ("loads", "gravity", "joints", "contacts")
WIDTH = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Reader:
    """As much of glTF 2.0 as says where points are at a time (the specification, sections 3.5 to 3.11)."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON"
        self.json = json.loads(data[20 : 20 + size])
        at = 20 + size
        size, kind = struct.unpack_from("<I4s", data, at)
        assert kind == b"BIN\0"
        self.binary = data[at + 8 : at + 8 + size]
        assert len(self.binary) == self.json["buffers"][0]["byteLength"]
        assert at + 8 + size == len(data)
        self.parent = {}
        for k, node in enumerate(self.json["nodes"]):
            for child in node.get("children", ()):
                assert child not in self.parent
                self.parent[child] = k

    def values(self, number):
        accessor = self.json["accessors"][number]
        view = self.json["bufferViews"][accessor["bufferView"]]
        kind, width = TYPES[accessor["componentType"]], WIDTH[accessor["type"]]
        assert view["byteOffset"] % np.dtype(kind).itemsize == 0
        assert view["byteLength"] == accessor["count"] * width * np.dtype(kind).itemsize
        found = np.frombuffer(self.binary, kind, accessor["count"] * width, view["byteOffset"]).reshape(-1, width)
        if "min" in accessor:
            assert_allclose(found.min(axis=0), accessor["min"])
            assert_allclose(found.max(axis=0), accessor["max"])
        return found

    def local(self, number, t):
        """Pose (4, 4) of a node in its parent."""
        node = self.json["nodes"][number]
        turn, place = node.get("rotation", [0, 0, 0, 1]), np.array(node.get("translation", [0, 0, 0]), dtype=float)
        scale = np.array(node.get("scale", [1, 1, 1]), dtype=float)
        for channel in self.json.get("animations", [{"channels": []}])[0]["channels"]:
            if channel["target"]["node"] == number and t is not None:
                sampler = self.json["animations"][0]["samplers"][channel["sampler"]]
                times, values = self.values(sampler["input"])[:, 0], self.values(sampler["output"]).astype(float)
                if sampler["interpolation"] == "STEP":
                    last = max(np.searchsorted(times, t + 1e-6, side="right") - 1, 0)
                    times, values = np.array([t - 1.0, t + 1.0]), values[[last, last]]
                if channel["target"]["path"] != "rotation":
                    blend = np.array([np.interp(t, times, values[:, i]) for i in range(3)])
                    place, scale = (blend, scale) if channel["target"]["path"] == "translation" else (place, blend)
                else:
                    turn = Slerp(times, Rotation.from_quat(values))(np.clip(t, times[0], times[-1])).as_quat()
        g = np.eye(4)
        g[:3, :3], g[:3, 3] = Rotation.from_quat(turn).as_matrix() * scale, place
        return g

    def world(self, number, t):
        g = self.local(number, t)
        while number in self.parent:
            number = self.parent[number]
            g = self.local(number, t) @ g
        return g

    def points(self, t=None):
        """Points (n, 3) and normals of the meshes by the names of their nodes, in the axes of glTF."""
        found = {}
        for k, node in enumerate(self.json["nodes"]):
            if "mesh" not in node:
                continue
            (primitive,) = self.json["meshes"][node["mesh"]]["primitives"]
            attributes = primitive["attributes"]
            points, normals = (self.values(attributes[name]).astype(float) for name in ("POSITION", "NORMAL"))
            assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-5)
            assert self.values(primitive["indices"]).max() == len(points) - 1
            if node["name"].partition(" ")[0] in KINDS:
                continue
            if "skin" in node:
                assert k in self.json["scenes"][0]["nodes"]
                skin = self.json["skins"][node["skin"]]
                inverse = self.values(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
                assert_allclose(inverse[:, 3], np.tile([0, 0, 0, 1], (len(inverse), 1)), atol=0)
                joints = np.stack([self.world(joint, t) for joint in skin["joints"]]) @ inverse
                weights = self.values(attributes["WEIGHTS_0"])
                assert_allclose(weights.sum(axis=1), 1.0)
                g = np.einsum("nj,njab->nab", weights, joints[self.values(attributes["JOINTS_0"])])
            else:
                g = np.broadcast_to(self.world(k, t), (len(points), 4, 4))
            at = np.einsum("nab,nb->na", g[:, :3, :3], points) + g[:, :3, 3]
            assert node["name"] not in found
            found[node["name"]] = at
        return found

    def arrows(self, t):
        """Where arrows begin and end in the axes of glTF, by the names of their nodes, sorted."""
        found = {}
        for k, node in enumerate(self.json["nodes"]):
            if node["name"].partition(" ")[0] in KINDS:
                g = self.world(k, t)
                if np.any(g[:3, 2]):
                    found.setdefault(node["name"], []).append([*g[:3, 3], *(g[:3, 3] + g[:3, 2])])
        return {name: ordered(rows) for name, rows in found.items()}


def ordered(rows):
    """Rows by their numbers, as far as single precision tells them."""
    return np.array(sorted(rows, key=lambda row: np.round(row, 5).tolist()))


def upright(points, up):
    """Points with the vertical along y: a proper rotation."""
    turn = Rotation.align_vectors([[0.0, 1.0, 0.0]], [up])[0]
    return turn.apply(points)


def motion(robot, n=7, seed=2):
    rng, t = np.random.default_rng(seed), np.linspace(0.5, 1.5, n)
    q = np.cumsum(0.1 * rng.normal(size=(n, robot.ndof)), axis=0)
    return SimpleNamespace(robot=robot, t=t, q=q, u=np.zeros((n, len(robot.actuator_names))))


MIXED = """
sorosim: 1
name: mixed
gravity: [0, 0, -9.81]
materials:
  soft: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3}
links:
  cart: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {box: {size: [10 cm, 6 cm, 4 cm]}, density: 1000 kg/m^3}}
  arm:
    parent: cart
    joint: {spherical: {}}
    rod: {length: 30 cm, section: {circle: {radius: [2 cm, 1 cm]}}, material: soft, strain: {bending: 2, torsion: 1}}
"""


@pytest.fixture(scope="module", params=["cable", "mixed", "flat"])
def run(request):
    if request.param == "cable":
        return motion(cable_manipulator())
    text = MIXED if request.param == "mixed" else MIXED.replace("[0, 0, -9.81]", "[0, 9.81, 0]")
    return motion(load_text(text, "mixed.yaml"))


def expected(run, q):
    geometry = Geometry(run.robot, *COARSE)
    shape, up = geometry.at(q), -run.robot.engine.gravity / 9.81
    return {part.name: (shape.points[part.points], up) for part in geometry.parts}


def test_animated_points_are_where_the_robot_has_them(run, tmp_path):
    export_gltf(run, tmp_path / "run.glb", fps=6.0)
    reader = Reader(tmp_path / "run.glb")
    for k, t in enumerate(run.t):
        points = reader.points(t - run.t[0])
        wanted = expected(run, run.q[k])
        assert points.keys() == wanted.keys()
        for name, (at, up) in wanted.items():
            axis = points[name] - points[name].mean(axis=0)
            # which way round the vertical does not matter to us, but heights and distances do
            assert_allclose(points[name][:, 1], at @ up, atol=1e-6)  # single precision at lengths below a metre
            own = upright(at, up)
            assert_allclose(np.linalg.norm(axis, axis=1), np.linalg.norm(own - own.mean(axis=0), axis=1), atol=2e-6)


def test_the_whole_picture_is_turned_by_one_rotation(run, tmp_path):
    export_gltf(run, tmp_path / "run.glb", fps=6.0)
    points, wanted = Reader(tmp_path / "run.glb").points(0.5), expected(run, run.q[3])
    a = np.concatenate([points[name] for name in wanted])
    b = np.concatenate([at for at, _ in wanted.values()])
    turn, _ = Rotation.align_vectors(a, b)
    assert_allclose(turn.apply(b), a, atol=2e-6)


def test_between_stored_times_it_moves_on_evenly(run, tmp_path):
    """Half-way between two close poses the blend is the mean, to second order in their distance."""
    near = SimpleNamespace(
        robot=run.robot, t=run.t[:2], q=run.q[2] + np.outer([0.0, 1e-3], np.ones(run.robot.ndof)), u=run.u[:2]
    )
    export_gltf(near, tmp_path / "run.glb", fps=1.0)
    reader = Reader(tmp_path / "run.glb")
    first, middle, last = (reader.points(t) for t in (0.0, 0.5 * (run.t[1] - run.t[0]), run.t[1] - run.t[0]))
    for name, points in middle.items():
        assert_allclose(points, 0.5 * (first[name] + last[name]), atol=2e-6)


def test_the_pose_in_which_the_file_rests_is_that_of_the_start(run, tmp_path):
    export_gltf(run, tmp_path / "run.glb", fps=6.0)
    reader = Reader(tmp_path / "run.glb")
    rest, start = reader.points(None), reader.points(0.0)
    for name in rest:
        assert_allclose(rest[name], start[name], atol=1e-6)


def test_a_single_moment_is_read_by_trimesh(run, tmp_path):
    export_gltf(run, tmp_path / "one.glb", t=float(run.t[4]))
    scene = trimesh.load(tmp_path / "one.glb")
    wanted = expected(run, run.q[4])
    heights = np.concatenate([at @ up for at, up in wanted.values()])
    assert_allclose(scene.bounds[:, 1], [heights.min(), heights.max()], atol=1e-6)
    triangles = sum(len(mesh.faces) for mesh in scene.geometry.values())
    assert triangles == sum(len(part.faces) for part in Geometry(run.robot, *COARSE).parts)


def test_an_equilibrium_is_static(tmp_path):
    eq = sorosim.statics(cable_manipulator())
    eq.export_gltf(tmp_path / "eq.glb")
    content = Reader(tmp_path / "eq.glb").json
    assert "animations" not in content
    assert "skins" not in content


def test_what_stands_still_has_no_channels(tmp_path):
    run = motion(load_text(MIXED, "mixed.yaml"))
    run.q[:, 1:] = 0.0  # only the cart moves, straight on
    export_gltf(run, tmp_path / "run.glb", fps=6.0)
    paths = {channel["target"]["path"] for channel in Reader(tmp_path / "run.glb").json["animations"][0]["channels"]}
    assert paths == {"translation"}


def test_what_the_robot_may_touch_stands_upright(tmp_path):
    run = motion(sorosim.load("contact_cylinder"))
    export_gltf(run, tmp_path / "run.glb", fps=6.0)
    reader = Reader(tmp_path / "run.glb")
    for t in (0.0, 1.0):
        x, _, z = reader.points(t)["obstacle"].T
        assert_allclose(np.hypot(x, z), 0.15, atol=1e-6)  # a pipe around the vertical, which is y


def test_a_run_in_which_nothing_moves_has_no_animation(tmp_path):
    run = motion(load_text(MIXED, "mixed.yaml"))
    run.q[:] = 0.0
    export_gltf(run, tmp_path / "run.glb", fps=6.0)
    reader = Reader(tmp_path / "run.glb")
    assert "animations" not in reader.json
    assert reader.points(0.0).keys() == {"cart", "arm"}


def test_a_robot_without_surfaces_is_a_file_all_the_same(tmp_path):
    robot = load_text("sorosim: 1\nname: frame\nlinks: {a: {joint: {revolute: {axis: [0, 1, 0]}}}}", "frame.yaml")
    export_gltf(motion(robot), tmp_path / "run.glb")
    data = (tmp_path / "run.glb").read_bytes()
    assert json.loads(data[20:]) == {
        "asset": {"version": "2.0", "generator": f"sorosim {sorosim.__version__}"}, "scene": 0,
        "scenes": [{"name": "frame", "nodes": [0]}],
        "nodes": [{"name": "frame", "rotation": pytest.approx([-(0.5**0.5), 0, 0, 0.5**0.5])}],
    }  # fmt: skip


def test_quaternions_never_jump(tmp_path):
    robot = load_text(MIXED, "mixed.yaml")
    t = np.linspace(0.0, 1.0, 60)
    run = SimpleNamespace(robot=robot, t=t, q=np.zeros((60, robot.ndof)), u=np.zeros((60, 0)))
    run.q[:, robot.coordinate_names.index("arm.spherical.rx")] = 7.0 * t
    frames = RobotVisual(robot, motion_of(run)).frames(t)
    turn = quaternions(np.stack([frame.g for frame in frames]))
    assert np.linalg.norm(np.diff(turn, axis=0), axis=-1).max() < 0.1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"t": 9.0}, "t: expected a time from 0.5 to 1.5 s, got 9"),
        ({"t": [0.5, 1.0]}, "t: expected one time"),
        ({"fps": 0.0}, "fps: expected"),
        ({"fps": 1e9}, "less fps"),
    ],
)
def test_wrong_options_are_told(options, words, tmp_path):
    with pytest.raises(InputError) as caught:
        export_gltf(motion(cable_manipulator()), tmp_path / "run.glb", **options)
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_only_binary_files_are_written_and_folders_must_exist(tmp_path):
    with pytest.raises(InputError, match=r"ends in \.glb"):
        export_gltf(motion(cable_manipulator()), tmp_path / "run.gltf")
    with pytest.raises(FileError, match="make it first"):
        export_gltf(motion(cable_manipulator()), tmp_path / "nowhere" / "run.glb")


# -- several robots, and arrows


def pushed(end=1.0, n=5):
    """A block on a slider that is pushed harder and harder, and not at all before 0.2 s."""
    text = """
    sorosim: 1
    name: pushed
    links: {block: {joint: {prismatic: {axis: [1, 0, 0]}}, body: {box: {size: [10 cm, 6 cm, 4 cm]}, mass: 1 kg}}}
    loads: {push: {wrench: {link: block, force: [0, "3*max(t - 0.2, 0)", 0], moment: [0, 0, 0.5], frame: world}}}
    """
    t = np.linspace(0.0, end, n)
    robot = load_text(textwrap.dedent(text), "pushed.yaml")
    return SimpleNamespace(
        robot=robot, t=t, q=0.4 * t[:, None], qd=np.zeros((n, 1)), u=np.zeros((n, 0)), lam=np.zeros((n, 0)), driven={}
    )


def test_arrows_are_where_the_wrenches_act(tmp_path):
    run = pushed(n=6)
    export_gltf(run, tmp_path / "run.glb", fps=5.0, loads=True, gravity=True)
    reader = Reader(tmp_path / "run.glb")
    (legend,) = (node["name"] for node in reader.json["nodes"] if node["name"].startswith("arrows"))
    said = re.fullmatch(r"arrows: (\S+) cm = (\S+) N, two heads: (\S+) cm = (\S+) N m", legend)
    force, moment = (float(said[k]) / 100.0 / float(said[k + 1]) for k in (1, 3))
    for t in run.t:
        seen = reader.arrows(t)
        # the vertical z of the robot is y of glTF, its y goes to -z
        x = 0.4 * t
        assert_allclose(seen["gravity gravity"], [[x, 0.0, 0.0, x, -9.81 * force, 0.0]], atol=1e-6)
        wanted = [[x, 0.0, 0.0, x, 0.5 * moment, 0.0]]
        if t > 0.3:  # at 0.2 s there is no force
            wanted.append([x, 0.0, 0.0, x, 0.0, -force * 3.0 * (t - 0.2)])
        assert_allclose(seen["loads push"], ordered(wanted), atol=1e-6)
    # between stored times, too
    x = 0.4 * 0.7
    wanted = [[x, 0.0, 0.0, x, 0.5 * moment, 0.0], [x, 0.0, 0.0, x, 0.0, -1.5 * force]]
    assert_allclose(reader.arrows(0.7)["loads push"], ordered(wanted), atol=1e-6)


def test_arrows_of_a_moment_have_the_scale_of_the_run(tmp_path):
    run, legends = pushed(), []
    for t in (0.4, None):
        export_gltf(run, tmp_path / "run.glb", t=t, loads=True)
        nodes = Reader(tmp_path / "run.glb").json["nodes"]
        legends += [node["name"] for node in nodes if node["name"].startswith("arrows")]
    assert legends[0] == legends[1]


def test_several_runs_in_one_file_go_by_one_clock(tmp_path):
    long, short = pushed(1.0), pushed(0.5)
    sorosim.export_gltf(tmp_path / "two.glb", [long, short], names=["long", "short"], fps=4.0, contacts=False)
    reader = Reader(tmp_path / "two.glb")
    names = [reader.json["nodes"][k]["name"] for k in reader.json["nodes"][0]["children"]]
    assert names == ["long", "short"]
    bodies = [k for k, node in enumerate(reader.json["nodes"]) if node["name"] == "block"]
    for t in (0.0, 0.5, 1.0):
        assert_allclose(reader.world(bodies[0], t)[:3, 3], [0.4 * t, 0.0, 0.0], atol=1e-7)
        assert_allclose(reader.world(bodies[1], t)[:3, 3], [0.4 * min(t, 0.5), 0.0, 0.0], atol=1e-7)
    assert [material["name"] for material in reader.json["materials"]] == ["#0072b2", "#d55e00"]


def test_runs_side_by_side_stand_apart_in_the_view_that_is_named(tmp_path):
    soft = motion(cable_manipulator())
    sorosim.export_gltf(tmp_path / "two.glb", [pushed(), soft], layout="side", view="side", t=0.5)
    scene = trimesh.load(tmp_path / "two.glb")
    spans = {}
    for node in scene.graph.nodes_geometry:
        g, name = scene.graph.get(node)
        points = trimesh.transform_points(scene.geometry[name].vertices, g)
        spans[name] = points[:, 0].min(), points[:, 0].max()
    assert spans.keys() == {"block", "arm"}
    assert spans["block"][1] < spans["arm"][0]


@pytest.mark.parametrize("name", ["wrist", "piston"])
def test_loops_and_links_of_one_name_have_arrows_of_their_own(tmp_path, name):
    text = sorosim.load("slider_crank").description.text
    changed = text.replace("  wrist: {joint", f"  {name}: {{joint") + "\nactuators: {push: {joint: {link: piston}}}\n"
    run = sorosim.simulate(load_text(changed, "crank.yaml"), 0.05, u={"push": 50.0})
    run.export_gltf(tmp_path / "run.glb", joints=True, fps=20)
    nodes = [node["name"] for node in Reader(tmp_path / "run.glb").json["nodes"]]
    assert len([node for node in nodes if node.startswith("joints")]) == 3


def test_arrows_have_one_scale_in_pictures_pages_and_files(tmp_path):
    """Of the whole run: a peak of some milliseconds is told, whatever moments are drawn."""
    text = """
    sorosim: 1
    links:
      block:
        joint: {prismatic: {axis: [1, 0, 0], damping: 100 N*s/m}}
        body: {box: {size: [10 cm, 6 cm, 4 cm]}, mass: 1 kg}
    loads: {push: {wrench: {link: block, force: ["1+30*exp(-((t-0.525)/0.004)^2)", 0, 0]}}}
    """
    run = sorosim.simulate(load_text(textwrap.dedent(text), "pushed.yaml"), 2.0, dt_out=0.005)
    said = set()
    for fps in (10, 200):
        run.export_html(tmp_path / "run.html", loads=True, fps=fps)
        said |= set(re.findall(r'"scaleLabel":"arrows: ([^"]*)"', (tmp_path / "run.html").read_text(encoding="utf-8")))
    for t in (None, 1.0):
        run.export_gltf(tmp_path / "run.glb", loads=True, t=t)
        nodes = [node["name"] for node in Reader(tmp_path / "run.glb").json["nodes"]]
        said |= {node.removeprefix("arrows: ") for node in nodes if node.startswith("arrows: ")}
    assert len(said) == 1, said
    label = said.pop()
    assert float(re.search(r"impacts of up to (\S+) N", label)[1]) == pytest.approx(31.0, abs=0.05)  # three digits
    assert float(re.search(r"= (\S+) N", label)[1]) <= 1.0  # and arrows are as long as those of 1 N may be
