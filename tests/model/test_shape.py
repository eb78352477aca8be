"""Shapes: volume, centroid and second moments against integrals over slices, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sorosim.base.errors import ModelError
from sorosim.mechanics.model.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere

R, H = 0.3, 0.8


def sphere_slices(z, radius):
    return np.sqrt(radius**2 - z**2)


# half axes of the elliptic slice at z, and the ends of the pieces along z
SLICED = {
    Sphere(R): (lambda z: (sphere_slices(z, R),) * 2, [-R, R]),
    Ellipsoid((0.1, 0.2, 0.5)): (lambda z: tuple(np.outer([0.1, 0.2], sphere_slices(z, 0.5) / 0.5)), [-0.5, 0.5]),
    Cylinder(R, H): (lambda z: (np.full_like(z, R),) * 2, [-H / 2, H / 2]),
    Cone(R, H): (lambda z: (R * (H / 2 - z) / H,) * 2, [-H / 2, H / 2]),
    Capsule(R, H): (
        lambda z: (sphere_slices(np.maximum(np.abs(z) - H / 2, 0.0), R),) * 2,
        [-H / 2 - R, -H / 2, H / 2, H / 2 + R],
    ),
}


def integrals(slices, ends):
    """Volume, height of the centroid and second moments about it, of slices that are ellipses."""
    x, w = np.polynomial.legendre.leggauss(12)
    z = np.concatenate([(a + b) / 2 + (b - a) / 2 * x for a, b in pairwise(ends)])
    weight = np.concatenate([(b - a) / 2 * w for a, b in pairwise(ends)])
    a, b = slices(z)
    area = np.pi * a * b
    volume = weight @ area
    height = weight @ (area * z) / volume
    return volume, height, [weight @ (area * a**2 / 4), weight @ (area * b**2 / 4), weight @ (area * (z - height) ** 2)]


@pytest.mark.parametrize("shape", SLICED, ids=lambda shape: shape.kind)
def test_moments_are_the_integrals_over_slices(shape):
    volume, height, second = integrals(*SLICED[shape])
    moments = shape.moments
    assert_allclose(moments.volume, volume, rtol=1e-13)
    assert_allclose(moments.centroid, [0.0, 0.0, height], atol=1e-14)
    assert_allclose(moments.second, np.diag(second), rtol=1e-12, atol=1e-17)


def test_moments_of_a_box_are_its_integrals():
    box = Box((0.2, 0.5, 0.9))
    x, w = np.polynomial.legendre.leggauss(3)
    points = np.stack(np.meshgrid(*[h / 2 * x for h in box.size], indexing="ij"), axis=-1).reshape(-1, 3)
    weight = np.einsum("i,j,k->ijk", w, w, w).ravel() * np.prod(box.size) / 8
    assert_allclose(box.moments.volume, weight.sum(), rtol=1e-14)
    assert_allclose(box.moments.second, np.einsum("k,ki,kj->ij", weight, points, points), rtol=1e-13, atol=1e-17)
    assert_allclose(box.moments.centroid, 0.0)


def test_a_capsule_is_between_its_cylinder_and_that_of_its_whole_length():
    low, middle, high = (s.moments for s in (Cylinder(R, H), Capsule(R, H), Cylinder(R, H + 2 * R)))
    assert low.volume < middle.volume < high.volume
    assert (np.diag(low.second) < np.diag(middle.second)).all()
    assert (np.diag(middle.second) < np.diag(high.second)).all()


def test_shapes_are_values():
    assert Box([1, 2, 3]) == Box(np.array([1.0, 2.0, 3.0]))
    assert hash(Cone(1, 2)) == hash(Cone(1.0, 2.0))
    assert Cone(1, 2) != Cylinder(1, 2)
    assert Box((1, 2, 3)).size == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box((1, 0, 1)), "box.size[1]: expected a length greater than 0, got 0"),
        (lambda: Box((1, 1)), "box.size: expected a list of 3, each a length, got [1, 1]"),
        (lambda: Box("big"), "box.size: expected a list of 3, each a length, got 'big'"),
        (
            lambda: Ellipsoid((1, np.inf, 1)),
            "ellipsoid.radii[1]: expected a length greater than 0, got inf; it has to be finite",
        ),
        (lambda: Sphere(-1), "sphere.radius: expected a length greater than 0, got -1"),
        (
            lambda: Cylinder(1, np.nan),
            "cylinder.length: expected a length greater than 0, got nan; it has to be finite",
        ),
        (lambda: Cone(True, 1), "cone.radius: expected a length greater than 0, such as 3 cm, got true"),
        (lambda: Capsule(1, 0), "capsule.length: expected a length greater than 0, got 0"),
    ],
)
def test_messages(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message
