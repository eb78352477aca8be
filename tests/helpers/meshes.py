"""Meshes for tests, by hand."""

import numpy as np

from sorosim.mechanics.model.mesh import Mesh


def prism(outline, low, high, faces_of_outline):
    """Vertices and faces of an outline (n, 2), counter-clockwise and cut into triangles, from z = low to z = high."""
    n = len(outline)
    vertices = np.concatenate([np.column_stack([outline, np.full(n, z)]) for z in (low, high)])
    caps = [(a, c, b) for a, b, c in faces_of_outline] + [(a + n, b + n, c + n) for a, b, c in faces_of_outline]
    sides = [(k, (k + 1) % n, n + (k + 1) % n) for k in range(n)] + [(k, n + (k + 1) % n, n + k) for k in range(n)]
    return vertices, np.array(caps + sides)


def box_mesh(size, centre=(0.0, 0.0, 0.0)):
    """A box of 12 triangles."""
    x, y, z = 0.5 * np.array(size)
    vertices, faces = prism([(-x, -y), (x, -y), (x, y), (-x, y)], -z, z, [(0, 1, 2), (0, 2, 3)])
    return Mesh(vertices + centre, faces)


def angle_mesh():
    """An angle in the x-y plane, two legs of length 3 and 2, 1 wide, from z = 0 to z = 0.5."""
    outline = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 2), (0, 2)]
    return Mesh(*prism(outline, 0.0, 0.5, [(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)]))


def joined(*meshes, inwards=()):
    """Several meshes as one; those with an index in `inwards` are turned inside out."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces[:, ::-1] if k in inwards else mesh.faces for k, mesh in enumerate(meshes)]
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([part + start for part, start in zip(faces, starts, strict=False)]),
    )
