"""Rigid bodies, visuals and frames of files: every form, meshes from files and in texts, there and back."""

import zipfile
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
import trimesh
from helpers.meshes import angle_mesh, box_mesh
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import FileError, ModelError
from sorosim.files import dump, json_schema, load, load_text, meshes
from sorosim.files.journal import Journal
from sorosim.files.meshes import FORMATS, read_mesh
from sorosim.files.results import journal_head
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.model.body import Assembly, RigidBody, Solid
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.model.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from sorosim.mechanics.model.visual import Visual
from sorosim.mechanics.robot import Robot

HEAD = "sorosim: 1\nname: thing\n"
HAND = """
sorosim: 1
name: hand
prefabs:
  finger:
    links:
      base: {body: {box: {size: [1 cm, 1 cm, 1 cm]}, density: 1000}, frames: {end: {position: [0, 0, 5 mm]}}}
      tip: {parent: base, at: {frame: end, position: [0, 0, 1 cm]}, body: {sphere: {radius: 5 mm}, mass: 1 g}}
links:
  palm:
    body: {box: {size: [8 cm, 6 cm, 2 cm]}, density: 1200 kg/m^3}
    frames:
      left: {position: [-3 cm, 0, 1 cm]}
      right: {position: [3 cm, 0, 1 cm], rotation: {rpy: [0, 0, 180 deg]}}
parts:
  a: {prefab: finger, parent: palm, at: {frame: left, position: [0, 1 cm, 0]}}
  b: {prefab: finger, parent: palm, at: [{frame: right}, {rotation: {rpy: [0, 90 deg, 0]}}]}
"""


def body_of(text, folder=None):
    return load_text(f"{HEAD}links: {{thing: {{body: {text}}}}}\n", "robot.yaml", folder).links[0].body


def same_robot(a, b):
    for x, y in zip(a.engine.tree, b.engine.tree, strict=True):
        assert_array_equal(x, y)
    assert repr(a.description) == repr(b.description)


def there_and_back(robot):
    other = load_text(dump(robot), "dump.yaml")
    same_robot(robot, other)
    return other


# -- what a file may say


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("box: {size: [10 cm, 0.05, 20 mm]}", Box((0.1, 0.05, 0.02))),
        ("cylinder: {radius: 2 cm, length: 10 cm}", Cylinder(0.02, 0.1)),
        ("cone: {radius: 2 cm, length: 10 cm}", Cone(0.02, 0.1)),
        ("sphere: {radius: 2 cm}", Sphere(0.02)),
        ("ellipsoid: {radii: [3 cm, 2 cm, 1 cm]}", Ellipsoid((0.03, 0.02, 0.01))),
        ("capsule: {radius: 2 cm, length: 10 cm}", Capsule(0.02, 0.1)),
    ],
)
def test_shapes(text, shape):
    at = "at: {position: [0, 0, 5 cm], rotation: {axis: [1, 0, 0], angle: 90 deg}}"
    body = body_of(f"{{{text}, density: 2 g/cm^3, {at}}}")
    g = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0.05], [0, 0, 0, 1]])
    assert body.parts[0].shape == shape
    expected = Solid(shape, density=2000.0, at=g).properties
    assert_allclose(body.spatial_inertia, expected.spatial_inertia, rtol=1e-12, atol=1e-15)
    assert_allclose(body_of(f"{{{text}, mass: 300 g}}").mass, 0.3, rtol=1e-15)


def test_several_parts_and_numbers_in_a_pose():
    body = body_of("[{box: {size: [1, 1, 1]}, mass: 1}, {mass: 2, centre: [1, 0, 0], inertia: [1, 2, 2.5], "
                   "at: {position: [0, 1, 0], rotation: {axis: [0, 0, 1], angle: 90 deg}}}]")  # fmt: skip
    solid, numbers = body.parts
    assert isinstance(solid, Solid)
    assert_allclose(numbers.centre, [0.0, 2.0, 0.0], atol=1e-15)
    assert_allclose(numbers.inertia, [2.0, 1.0, 2.5, 0.0, 0.0, 0.0], atol=1e-15)
    assert_allclose(body.mass, 3.0)
    assert isinstance(body_of("{mass: 1, inertia: [1, 1, 1]}"), RigidBody)


def test_a_mesh_may_be_written_out():
    triangles = "vertices: [[0, 0, 0], [3 cm, 0, 0], [0, 3 cm, 0], [0, 0, 2 cm]]"
    body = body_of(f"{{mesh: {{{triangles}, faces: [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]}}, density: 1000}}")
    assert_allclose(body.mass, 1000 * 0.03 * 0.03 * 0.02 / 6, rtol=1e-14)
    assert_allclose(body.centre, [0.0075, 0.0075, 0.005], rtol=1e-14)


def test_visuals():
    shown = "{sphere: {radius: 1 cm}, colour: orange, at: {position: [0, 1, 0]}}"
    for text, count in ((shown, 1), (f"[{shown}, {{box: {{size: [1, 1, 1]}}, colour: '#0000ff'}}]", 2), ("[]", 0)):
        (link,) = load_text(f"{HEAD}links: {{thing: {{visual: {text}}}}}\n", "robot.yaml").links
        assert link.body is None
        assert len(link.visual) == count
    assert load_text(f"{HEAD}links: {{thing: {{}}}}\n", "robot.yaml").links[0].visual is None


def test_parts_hang_on_frames_and_have_frames():
    robot = load_text(HAND, "hand.yaml")
    at = {name: robot.pose([], name)[:3, 3] for name in ("a_base", "a_tip", "b_base", "b_tip")}
    assert_allclose(at["a_base"], [-0.03, 0.01, 0.01], atol=1e-15)
    assert_allclose(at["a_tip"], [-0.03, 0.01, 0.025], atol=1e-15)
    assert_allclose(at["b_base"], [0.03, 0.0, 0.01], atol=1e-15)
    assert_allclose(at["b_tip"], [0.015, 0.0, 0.01], atol=1e-15)  # the frame looks back along -x
    with pytest.raises(FileError) as caught:
        load_text(HAND.replace("frame: left", "frame: lift"), "hand.yaml")
    assert str(caught.value) == (
        "hand.yaml:16:49: parts.a.at.frame (as part 'a'): expected the name of a frame of 'palm', got 'lift'; "
        "did you mean left?"
    )


# -- meshes from files


@pytest.mark.parametrize("suffix", FORMATS)
def test_meshes_of_every_format_are_the_box(suffix, tmp_path):
    if suffix == "dae":
        pytest.importorskip("collada", reason="the extra urdf is not installed")
    size = np.array([40.0, 20.0, 10.0])  # mm
    trimesh.creation.box(size).export(tmp_path / f"box.{suffix}")
    body = body_of(f"{{mesh: {{file: box.{suffix}, scale: 1 mm}}, density: 1000}}", tmp_path)
    box = Assembly((Solid(Box(tuple(1e-3 * size)), density=1000.0),))
    assert_allclose(body.spatial_inertia, box.spatial_inertia, rtol=1e-12, atol=1e-18)
    assert body.parts[0].shape.file == str(tmp_path / f"box.{suffix}")


def test_a_surface_whose_points_are_split_is_closed(tmp_path):
    box = trimesh.creation.box((1, 1, 1))
    box.unmerge_vertices()
    box.export(tmp_path / "box.obj", include_normals=True)
    assert_allclose(read_mesh(tmp_path / "box.obj", 2.0).moments.volume, 8.0, rtol=1e-12)


@pytest.mark.parametrize(("scale", "factors"), [(0.01, (0.01, 0.01, 0.01)), ([0.01, -0.02, 0.03], (0.01, -0.02, 0.03))])
def test_the_scale_of_a_mesh_may_differ_by_axis_and_mirror(scale, factors, tmp_path):
    angle = angle_mesh()
    trimesh.Trimesh(angle.vertices, angle.faces, process=False).export(tmp_path / "angle.stl")
    block = f"{{mesh: {{file: angle.stl, scale: {scale}}}, density: 1000}}"
    body = body_of(block, tmp_path)
    size, own = np.abs(np.prod(factors)), angle.moments
    # a mirrored mesh would have a negative volume, were its faces not turned round
    assert body.mass == pytest.approx(1000 * size * own.volume, rel=1e-6)
    assert_allclose(body.centre, np.array(factors) * own.centroid, rtol=1e-6)
    kept = meshes.mesh_block(body.parts[0].shape, embed=False)
    assert kept == {"file": str(tmp_path / "angle.stl"), "scale": scale}
    assert body_of(f"{{mesh: {kept}, density: 1000}}", tmp_path).inertia == body.inertia


def test_collada_says_its_unit(tmp_path):
    pytest.importorskip("collada", reason="the extra urdf is not installed")
    box = box_mesh((0.1, 0.2, 0.3))
    path = tmp_path / "box.dae"
    trimesh.Trimesh(box.vertices, box.faces, process=False).export(path)
    text = path.read_text()
    assert "<unit" not in text
    path.write_text(text.replace("</modified>", '</modified><unit name="inch" meter="0.0254"/>'))
    mesh = read_mesh(path)
    assert_allclose(np.ptp(mesh.vertices, axis=0), 0.0254 * np.array([0.1, 0.2, 0.3]), rtol=1e-5)
    assert len(mesh.faces) == 12


def test_collada_defines_no_entities(tmp_path):
    pytest.importorskip("collada", reason="the extra urdf is not installed")
    (tmp_path / "box.dae").write_text('<!DOCTYPE COLLADA [<!ENTITY a "b">]><COLLADA/>')
    with pytest.raises(FileError, match="expected a mesh without a document type, got a DOCTYPE; leave it out"):
        read_mesh(tmp_path / "box.dae")


def test_collada_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "box.dae").write_text("<COLLADA/>")
    monkeypatch.setattr(meshes, "find_spec", lambda name: None)
    with pytest.raises(FileError) as caught:
        read_mesh(tmp_path / "box.dae")
    assert str(caught.value).endswith(
        "expected the package pycollada, which reads .dae, got none; install it, pip install 'sorosim[urdf]', or turn "
        "the file into another format"
    )


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ("[1, 0, 1]", "scale[1]: expected a length other than 0, got 0"),
        ("[1, 1]", "scale: expected a list of 3, each a length, got [1, 1]"),
        ("-1", "scale: expected a length greater than 0, got -1"),
    ],
)
def test_wrong_scales(scale, message):
    with pytest.raises(FileError) as caught:
        body_of(f"{{mesh: {{file: angle.stl, scale: {scale}}}, density: 1000}}")
    assert str(caught.value).endswith(f"links.thing.body.mesh.{message}")


def test_what_is_no_mesh_file_says_so(tmp_path, monkeypatch):
    files = {"empty.stl": b"", "broken.off": b"OFF\n3", "nan.obj": b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
             "large.stl": b"x" * 2000, "step.stp": b"ISO-10303-21;"}  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(meshes, "MAX_BYTES", 1000)
    for name, message in {
        "empty.stl": "expected a mesh, got a file without triangles",
        "broken.off": "expected a mesh in OFF, got a file that is none: ",
        "nan.obj": "expected a mesh, got coordinates that are not finite",
        "large.stl": "expected a mesh file of at most 0 MB, got a larger one; a tenth of its triangles will do: "
                     "simplify it in a mesh program",
        "step.stp": "expected a mesh that ends in .stl, .obj, .ply, .off, .glb or .dae, got 'step.stp'",
        "missing.stl": "expected a mesh file, got one that cannot be read: No such file or directory",
    }.items():  # fmt: skip
        with pytest.raises(FileError) as caught:
            read_mesh(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: {message}")
        if name != "missing.stl":
            with pytest.raises(FileError) as caught:
                body_of(f"{{mesh: {{file: {name}}}, mass: 1}}", tmp_path)
            assert str(caught.value).startswith(f"robot.yaml:3:37: links.thing.body.mesh.file: {message}")


def export(mesh, path):
    trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).export(path)


@pytest.mark.parametrize("embedded", [True, False])
def test_the_text_of_a_robot_with_meshes_stands_alone(embedded, tmp_path, monkeypatch):
    monkeypatch.setattr(meshes, "MAX_EMBEDDED", 20 if embedded else 0)
    (tmp_path / "parts").mkdir()
    export(angle_mesh(), tmp_path / "parts" / "angle.stl")
    text = (
        f"{HEAD}links:\n  thing:\n    body:\n      - {{mesh: {{file: parts/angle.stl, scale: 1 mm}}, density: 1000}}\n"
        "      - {sphere: {radius: 1 cm}, mass: 1 g}\n    visual: {mesh: {file: parts/angle.stl, scale: 2 mm}}\n"
    )
    (tmp_path / "thing.yaml").write_text(text)
    robot = load(tmp_path / "thing.yaml")
    kept = robot.description.text
    # the first of the two takes all the room that there is
    assert kept.count("vertices") == int(embedded)
    assert kept.count(str(tmp_path / "parts" / "angle.stl")) == 2 - int(embedded)
    again = load_text(kept, "run.h5")
    for a, b in zip(robot.engine.tree, again.engine.tree, strict=True):
        assert_array_equal(a, b)
    assert_array_equal(again.links[0].visual[0].shape.vertices, robot.links[0].visual[0].shape.vertices)
    if not embedded:
        same_robot(robot, there_and_back(robot))
        (tmp_path / "parts" / "angle.stl").unlink()
        with pytest.raises(FileError, match="which does not exist"):
            load_text(kept, "run.h5")


@pytest.mark.parametrize("kind", ["run", "journal", "equilibrium"])
def test_a_result_whose_mesh_file_has_changed_is_refused(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(meshes, "MAX_EMBEDDED", 0)
    export(angle_mesh(), tmp_path / "angle.stl")
    hinge = "joint: {revolute: {axis: [0, 0, 1], stiffness: 1}}"
    text = f"{HEAD}links:\n  thing: {{{hinge}, body: {{mesh: {{file: angle.stl, scale: 1 cm}}, density: 1000}}}}\n"
    (tmp_path / "thing.yaml").write_text(text)
    robot, file = load(tmp_path / "thing.yaml"), tmp_path / "result.h5"
    if kind == "equilibrium":
        sorosim.statics(robot).save(file)
    else:
        run = sorosim.simulate(robot, 0.05)
        run.save(file)
    if kind == "journal":
        journal = Journal(file, journal_head(robot, run.options, []))
        journal.rows(np.column_stack([run.t, run.q, run.qd, run.exchanged]))
        journal.begin()
        journal.close()
    sorosim.open(file)
    export(angle_mesh(), tmp_path / "angle.stl")
    sorosim.open(file)
    export(box_mesh((1, 1, 1)), tmp_path / "angle.stl")
    with pytest.raises(FileError) as caught:
        sorosim.open(file)
    assert str(caught.value) == (
        f"{file}: expected the mesh {tmp_path / 'angle.stl'} as it was when this result was made, got a file that has "
        "changed since; bring the old one back, or make the result again"
    )


def test_a_relative_path_is_not_looked_for_when_a_result_is_opened():
    with pytest.raises(FileError) as caught:
        body_of("{mesh: {file: palm.stl}, density: 1000}")
    assert str(caught.value) == (
        "robot.yaml:3:37: links.thing.body.mesh.file: expected a mesh, got 'palm.stl', which is not kept here; "
        "load the robot from its own file"
    )


def test_paths_begin_in_the_folder_of_the_file_that_they_are_written_in(tmp_path):
    (tmp_path / "library").mkdir()
    export(angle_mesh(), tmp_path / "library" / "angle.stl")
    part = "{links: {bone: {body: {mesh: {file: angle.stl}, density: 1}}}}"
    (tmp_path / "library" / "hand.yaml").write_text(f"prefabs: {{finger: {part}}}\n")
    (tmp_path / "robot.yaml").write_text(
        f"{HEAD}include: library/hand.yaml\nparts: {{a: {{prefab: finger, repeat: 2}}}}\n"
        "links: {more: {body: {mesh: {file: library/angle.stl}, density: 1}}}\n"
    )
    robot = load(tmp_path / "robot.yaml")
    first = robot.links[0].body.parts[0].shape
    assert all(link.body.parts[0].shape.file == first.file for link in robot.links)
    assert [link.name for link in robot.links] == ["more", "a1_bone", "a2_bone"]
    assert robot.links[1].body.parts[0].shape is robot.links[2].body.parts[0].shape  # read once
    other = load(tmp_path / "robot.yaml", set={"links.more.body.mesh.file": "library/angle.stl"})
    assert_array_equal(other.engine.tree.inertia, robot.engine.tree.inertia)
    assert load_text(robot.description.text, "run.h5").ndof == robot.ndof


# -- there and back


def python_robot():
    g = np.eye(4)
    g[:3, 3] = 0.1, 0.2, 1.0 / 3.0
    shapes = [Box((0.1, 0.2, 0.3)), Cylinder(0.1, 0.2), Cone(0.1, 0.2), Sphere(0.1), Ellipsoid((0.1, 0.2, 0.3)),
              Capsule(0.1, 0.2), box_mesh((0.1, 0.2, 0.3)), angle_mesh()]  # fmt: skip
    links = [
        Link(shape.kind + str(k), Assembly((Solid(shape, density=900.0 + k / 3),))) for k, shape in enumerate(shapes)
    ]
    parts = Solid(shapes[0], mass=0.1, at=g), RigidBody(0.3, inertia=(0.1, 0.1, 0.1)), Solid(shapes[3], mass=1)
    shown = (Visual(shapes[2], at=g, colour="red"), Visual(Mesh(np.eye(3), [[0, 1, 2]]), colour="#123456"))
    links += [
        Link("several", Assembly(parts), visual=shown, frames={"up": g}),
        Link("bare", None, visual=(), frames={"a": g}),
    ]
    links.append(Link("child", RigidBody(1.0, inertia=(1, 1, 1)), parent="several", frame="up", at=g))
    return Robot(Description("all", tuple(links)))


def test_everything_comes_back():
    other = there_and_back(python_robot())
    assert other.links[-2].visual == ()
    assert other.links[-1].frame == "up"
    there_and_back(load_text(HAND, "hand.yaml"))


def test_what_is_dumped_is_valid():
    schema = jsonschema.Draft202012Validator(json_schema())
    for text in (HAND, dump(python_robot())):
        assert [error.message for error in schema.iter_errors(read_text(text, "robot").data)] == []


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        "{density: 1}",
        "{sphere: {radius: 1}}",
        "{sphere: {radius: 1}, mass: 1, density: 1}",
        "{sphere: {radius: 1}, box: {size: [1, 1, 1]}, mass: 1}",
    ],
)
def test_the_schema_refuses_what_loading_refuses(body):
    schema = jsonschema.Draft202012Validator(json_schema())
    data = read_text(f"{HEAD}links: {{thing: {{body: {body}}}}}\n", "robot").data
    assert list(schema.iter_errors(data))
    with pytest.raises(ModelError):
        load(data)


def test_a_large_mesh_from_no_file_is_written_if_a_text_can_hold_it(monkeypatch):
    monkeypatch.setattr(meshes, "MAX_EMBEDDED", 10)
    monkeypatch.setattr("sorosim.files.robot_writer.MAX_WRITTEN", 30)
    link = Link("a", Assembly((Solid(angle_mesh(), density=1.0),)))  # of 20 triangles
    there_and_back(Robot(Description("angle", (link,))))
    with pytest.raises(ModelError) as caught:
        dump(Robot(Description("angles", (link, replace(link, name="b")))))
    assert str(caught.value) == (
        "links.b.body.shape.mesh: expected at most 30 triangles that are from no file, got more; write it to a file "
        "and read it with sorosim.files.meshes.read_mesh"
    )


def test_a_collada_file_that_is_a_zip_is_not_unpacked(tmp_path):
    pytest.importorskip("collada", reason="the extra urdf is not installed")
    with zipfile.ZipFile(tmp_path / "box.dae", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("box.dae", b"\0" * 1_000_000)
    with pytest.raises(FileError, match="expected a mesh in DAE, got a zip archive; unpack it"):
        read_mesh(tmp_path / "box.dae")
