"""Signed distances of solids: gradient, curvature, and the distance itself against points of the surface."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from sorosim.mechanics.kernels import solids as s

N_POINTS = 200


def polyhedron(rng: np.random.Generator) -> np.ndarray:
    hull = ConvexHull(rng.normal(size=(14, 3)))
    triangles = np.hstack([hull.equations[:, :3], hull.points[hull.simplices].reshape(-1, 9)])
    return np.array([len(triangles), 0.01, *triangles.ravel()])


def field(rng: np.random.Generator) -> np.ndarray:
    nx, ny = 12, 11
    return np.array([nx, ny, -1.5, -1.5, 3.0 / (nx - 3), 3.0 / (ny - 3), *(0.1 * rng.normal(size=nx * ny))])


CASES = {
    "half space": (s.HALF_SPACE, lambda rng: np.zeros(1)),
    "plane": (s.SHEET, lambda rng: np.zeros(1)),
    "hole": (s.HOLE, lambda rng: np.array([1.0, 0.7])),
    "pipe": (s.HOLE, lambda rng: np.array([1.0, np.inf])),
    "bowl": (s.BOWL, lambda rng: np.array([1.2])),
    "box": (s.BOX, lambda rng: np.array([0.5, 0.7, 0.4, 0.1])),
    "cylinder": (s.CYLINDER, lambda rng: np.array([0.6, 0.5, 0.05])),
    "pole": (s.CYLINDER, lambda rng: np.array([0.6, np.inf, 0.0])),
    "height field": (s.HEIGHT_FIELD, field),
    "polyhedron": (s.POLYHEDRON, polyhedron),
}


def distance(kind: int, f: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    n, H = np.zeros(3), np.zeros((3, 3))
    return s.solid_distance(kind, f, y, n, H, np.zeros((2, 6, 6))), n, H


def points(name: str, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y = rng.normal(size=(N_POINTS, 3)) * 0.9
    if name == "height field":  # nearer to the surface than it is curved
        y[:, :2] = rng.uniform(-1.0, 1.0, (N_POINTS, 2))
        for row in y:
            z = np.zeros(6)
            s.surface_height(f, row[0], row[1], np.zeros((6, 4)), z)
            row[2] = z[0] + rng.uniform(-0.05, 0.15)
    return y


@pytest.mark.parametrize("name", CASES)
def test_normal_and_curvature_are_the_derivatives(name, rng):
    kind, make = CASES[name]
    f, h = make(rng), 1e-6
    for y in points(name, f, rng):
        d, n, H = distance(kind, f, y)
        ends = [(distance(kind, f, y + h * e), distance(kind, f, y - h * e)) for e in np.eye(3)]
        gradient = np.array([(a[0] - b[0]) / (2 * h) for a, b in ends])
        curvature = np.array([(a[1] - b[1]) / (2 * h) for a, b in ends]).T
        # rounding of the differences: 1e-16 / 1e-6, in units of the curvature for the second
        np.testing.assert_allclose(n, gradient, atol=2e-9)
        np.testing.assert_allclose(H, curvature, atol=2e-9 * (1.0 + np.abs(H).max()))
        if name in ("box", "cylinder") and d < 0.0 and np.sum(-ways_out(name, f, y) > d) > 1:
            continue  # at a rounded edge inside, see below
        assert n @ n == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(H @ n, 0.0, atol=1e-12 * (1.0 + np.abs(H).max()))


def ways_out(name: str, f: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How far inside of each pair of faces of a box or cylinder a point is, the roundings left out; none of others."""
    if name == "box":
        return f[:3] - np.abs(y)
    return np.array([f[0] - np.hypot(*y[:2]), f[1] - abs(y[2])]) if name == "cylinder" else np.array([np.inf])


@pytest.mark.parametrize("name", ["box", "cylinder"])
def test_the_way_out_of_a_box_or_a_cylinder_turns_continuously(name, rng):
    """Edges are rounded on every level inside: sum max(p - phi, 0)^2 is the square of the rounding."""
    kind, make = CASES[name]
    f = make(rng)
    rounding = f[3] if name == "box" else f[2]
    inside, edges = 0, 0
    for y in rng.uniform(-0.95, 0.95, (4000, 3)) * (f[:3] if name == "box" else np.array([0.67, 0.67, 0.5])):
        p = -ways_out(name, f, y)
        phi, n, _ = distance(kind, f, y)
        if phi >= 0.0 or np.abs(y).min() < 0.01 * rounding:
            continue  # outside, or in a middle
        assert np.sum(np.maximum(p - phi, 0.0) ** 2) == pytest.approx(rounding**2, rel=1e-9)
        # between the distance to the surface itself and that of a surface without any rounding
        assert p.max() - rounding <= phi + 1e-15 <= p.max()
        inside += 1
        if np.sum(p > phi) == 1:
            assert phi == pytest.approx(p.max() - rounding, abs=1e-15)
            assert n @ n == pytest.approx(1.0, abs=1e-14)
        else:
            edges += 1
            assert 1.0 / np.sqrt(len(p)) - 1e-12 <= np.linalg.norm(n) < 1.0
        # the gradient changes by no more than the curvature 1/rounding (of a cylinder also by its own) times the way
        h = 1e-3 * rounding * rng.normal(size=3)
        turned = np.linalg.norm(distance(kind, f, y + h)[1] - n)
        least = min(rounding, np.hypot(*y[:2])) if name == "cylinder" else rounding
        assert turned <= 2.5 * np.linalg.norm(h) / least
    assert edges > 100
    assert inside > edges


@pytest.mark.parametrize("name", CASES)
def test_the_distance_leads_to_the_surface(name, rng):
    kind, make = CASES[name]
    f = make(rng)
    for y in points(name, f, rng):
        d, n, _ = distance(kind, f, y)
        if name in ("box", "cylinder", "polyhedron", "hole") and d < 0.0:
            continue  # inside, the way out may end beyond a rounded edge
        assert distance(kind, f, y - d * n)[0] == pytest.approx(0.0, abs=1e-12)


def test_a_height_field_goes_through_its_heights(rng):
    from sorosim.mechanics.loads.contact import Surface
    from sorosim.mechanics.loads.contact_cores import skin_of
    from sorosim.mechanics.model.obstacle import HeightField

    heights = 0.02 * rng.normal(size=(6, 5))
    (solid,) = skin_of("", Surface(shape=HeightField(heights, (0.5, 0.4))), None, True).solids
    z = np.zeros(6)
    for i, x in enumerate(np.linspace(-0.25, 0.25, 6)):
        for j, y in enumerate(np.linspace(-0.2, 0.2, 5)):
            s.surface_height(solid.values, x, y, np.zeros((6, 4)), z)
            assert z[0] == pytest.approx(heights[i, j], abs=1e-15)
