"""Meshes: their moments, and which surfaces enclose no volume."""

# ruff: noqa: E501 (messages are easier to compare on one line)

import numpy as np
import pytest
import trimesh
from helpers.meshes import angle_mesh, box_mesh, joined
from helpers.robots import random_pose
from numpy.testing import assert_allclose

from sorosim.base.errors import ModelError
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.model.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from sorosim.view.viz.surfaces import shape_surface

SIZE = (0.3, 0.2, 0.7)


def same_moments(a, b, rtol):
    assert_allclose(a.volume, b.volume, rtol=rtol)
    assert_allclose(a.centroid, b.centroid, rtol=rtol, atol=rtol)
    assert_allclose(a.second, b.second, rtol=rtol, atol=rtol * np.abs(b.second).max())


def test_a_box_of_triangles_is_the_box():
    same_moments(box_mesh(SIZE).moments, Box(SIZE).moments, 1e-12)


def test_a_box_far_away_keeps_its_digits():
    far = box_mesh(SIZE, centre=(100.0, -50.0, 20.0)).moments
    assert_allclose(far.centroid, [100.0, -50.0, 20.0], rtol=1e-14)
    assert_allclose(far.second, Box(SIZE).moments.second, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(
    "shape", [Sphere(0.2), Ellipsoid((0.1, 0.2, 0.4)), Cylinder(0.2, 0.5), Cone(0.2, 0.5), Capsule(0.2, 0.5)],
    ids=lambda shape: shape.kind,
)  # fmt: skip
def test_a_fine_surface_of_a_shape_has_its_moments(shape):
    skin = shape_surface(shape, 256)
    places, index = np.unique(skin.points.round(12), axis=0, return_inverse=True)
    faces = index.reshape(-1)[skin.faces]
    same_moments(Mesh(places, faces).moments, shape.moments, 1e-3)


def test_any_convex_hull_has_the_moments_that_another_program_finds(rng):
    hull = trimesh.convex.convex_hull(rng.normal(loc=[3.0, 1.0, -2.0], size=(40, 3)))
    moments = Mesh(hull.vertices, hull.faces).moments
    assert_allclose(moments.volume, hull.volume, rtol=1e-12)
    assert_allclose(moments.centroid, hull.center_mass, rtol=1e-12)
    inertia = np.trace(moments.second) * np.eye(3) - moments.second
    assert_allclose(inertia, hull.moment_inertia, rtol=1e-9, atol=1e-11)


def test_moments_move_with_the_mesh(rng):
    g, mesh = random_pose(rng), angle_mesh()
    moved = Mesh(mesh.vertices @ g[:3, :3].T + g[:3, 3], mesh.faces).moments
    assert_allclose(moved.centroid, g[:3, :3] @ mesh.moments.centroid + g[:3, 3], rtol=1e-12)
    assert_allclose(moved.second, g[:3, :3] @ mesh.moments.second @ g[:3, :3].T, rtol=1e-11, atol=1e-13)


def test_several_pieces_and_hollows_count_as_they_are():
    outer, inner, beside = box_mesh((4, 4, 4)), box_mesh((1, 2, 3)), box_mesh((1, 1, 1), (5, 0, 0))
    moments = joined(outer, inner, beside, inwards=(1,)).moments
    assert_allclose(moments.volume, 64 - 6 + 1, rtol=1e-14)
    assert_allclose(moments.centroid, [5 / 59, 0, 0], atol=1e-14)


def test_arrays_are_copied_and_do_not_change():
    vertices = box_mesh(SIZE).vertices.copy()
    mesh = Mesh(vertices, box_mesh(SIZE).faces)
    vertices[:] = 0.0
    assert mesh.moments.volume > 0.0
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0, 0] = 1.0


BOX = box_mesh(SIZE)
INSTEAD = "or give mass, centre and inertia, and the mesh in `visual`"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mesh(BOX.vertices, BOX.faces[:-1]),
         f"mesh: expected a closed surface, got one with 3 open edges; close it, {INSTEAD}"),
        (lambda: Mesh(BOX.vertices, np.concatenate([BOX.faces[:-1], BOX.faces[-1:, ::-1]])),
         "mesh: expected faces wound the same way, got 3 edges where neighbours are wound against each other; "
         f"turn some of them round, {INSTEAD}"),
        (lambda: Mesh(BOX.vertices, BOX.faces[:, ::-1]),
         "mesh: expected faces that are counter-clockwise seen from outside, got -0.042 m^3; turn all faces round"),
        (lambda: joined(box_mesh((4, 4, 4)), box_mesh((1, 1, 1), (5, 0, 0)), inwards=(1,)),
         "mesh: expected faces that are counter-clockwise seen from outside, got 1 of 2 separate surfaces wound "
         "inwards; turn their faces round"),
        (lambda: Mesh(np.eye(3), [[0, 1, 2], [2, 1, 0]]),
         "mesh: expected a positive volume, got none; give mass, centre and inertia, and the mesh in `visual`"),
    ],
)  # fmt: skip
def test_a_surface_that_encloses_nothing_has_no_moments(make, message):
    mesh = make()  # it may be drawn
    with pytest.raises(ModelError) as caught:
        _ = mesh.moments
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        ([[0, 0]], [[0, 1, 2]], "mesh.vertices[0]: expected a list of 3, each a length, got [0, 0]"),
        ("abc", [[0, 1, 2]], "mesh.vertices: expected a list, got 'abc'"),
        (np.full((3, 3), np.nan), [[0, 1, 2]],
         "mesh.vertices: expected points, an (n, 3) array of finite numbers [m], got one that is not finite"),
        (np.eye(3), np.zeros((0, 3)), "mesh.faces: expected triangles, an (m, 3) array of whole numbers, got shape (0, 3)"),
        (np.eye(3), [[0, 1, 2], [0, 1, 3]],
         "mesh.faces[1]: expected three numbers of vertices, from 0 to 2, got [0.0, 1.0, 3.0]"),
        (np.eye(3), [[0, 1, 1.5]], "mesh.faces[0]: expected three numbers of vertices, from 0 to 2, got [0.0, 1.0, 1.5]"),
        (np.eye(3), [[0, 1, 1]], "mesh.faces[0]: expected three different vertices, got [0, 1, 1]"),
    ],
)  # fmt: skip
def test_tables_that_are_no_mesh(vertices, faces, message):
    with pytest.raises(ModelError) as caught:
        Mesh(vertices, faces)
    assert str(caught.value) == message
