"""Nearest places of two segments, or curves, against all places of a grid."""

import numpy as np
import pytest

from sorosim.mechanics.kernels.nearest import Axis, axes_distance, nearest_of_axes

GRID = np.linspace(0.0, 1.0, 41)
MIDDLE = 1e-6


def segments(kind, rng):
    """Directions (2, 3) and the begin of the first, near the second, which begins at the origin."""
    t = rng.normal(size=(2, 3))
    begin = rng.normal(size=3) * rng.choice([0.01, 0.3, 1.0])
    if kind == "coplanar":
        t[:, 2], begin[2] = 0.0, 0.01
    if kind == "parallel":
        t[1] = t[0] + 1e-6 * rng.normal(size=3)
    if kind == "crossing":
        begin = 0.4 * t[1] - 0.7 * t[0]
    return t, begin


def cubic(x, t, bends):
    """Hermite's cubic from the origin to t (3,), with bends (2, 3) beyond t as tangents; x (...)."""
    basis = [x**2 * (3.0 - 2.0 * x), x * (1.0 - x) ** 2, x**2 * (x - 1.0)]
    return sum(h[..., None] * vector for h, vector in zip(basis, [t, t + bends[0], t + bends[1]], strict=True))


@pytest.mark.parametrize("bent", [False, True], ids=["straight", "curved"])
@pytest.mark.parametrize("kind", ["skew", "coplanar", "parallel", "crossing"])
@pytest.mark.parametrize("steep", [0.0, 0.3, 3.0], ids=["round", "tapered", "steep"])
@pytest.mark.parametrize("free", [(True, True), (True, False), (False, True)], ids=["both", "first", "second"])
def test_no_place_is_nearer(kind, steep, free, bent, rng):
    e, out = np.zeros(3), np.zeros(6)
    for _ in range(150):
        t, begin = segments(kind, rng)
        t *= np.array(free)[:, None]
        # tangents that turn by up to half a radian
        bends = 0.5 * bent * np.linalg.norm(t, axis=1)[:, None, None] * rng.uniform(-1.0, 1.0, (2, 2, 3)) / np.sqrt(3.0)
        slopes, middle = rng.uniform(-steep, steep, 2) * free, MIDDLE * np.array(free)
        a = Axis(begin, t[0], bends[0], middle[0], slopes[0], free[0], bent and free[0])
        b = Axis(np.zeros(3), t[1], bends[1], middle[1], slopes[1], free[1], bent and free[1])
        la, mb, inside_a, inside_b = nearest_of_axes(a, b, np.inf, e, out)
        found = axes_distance(a, la, b, mb, e, out)
        x, y = np.meshgrid(GRID if free[0] else [0.0], GRID if free[1] else [0.0], indexing="ij")
        apart = np.linalg.norm(begin + cubic(x, t[0], bends[0]) - cubic(y, t[1], bends[1]), axis=2)
        drawn = np.sqrt(apart**2 + middle[0] * (x - 0.5) ** 2 + middle[1] * (y - 0.5) ** 2)
        least = (drawn - x * slopes[0] - y * slopes[1]).min()
        if bent:  # there may be several nearest places: none of those it begins with is nearer
            least = (drawn - x * slopes[0] - y * slopes[1])[::20, ::20].min()
        # rounding: parallel ones have a condition of 1/MIDDLE
        assert found <= least + 1e-9
        assert (inside_a, inside_b) == (free[0] and 0.0 < la < 1.0, free[1] and 0.0 < mb < 1.0)
        # where it is inside, the gradient vanishes
        axes_distance(a, la, b, mb, e, out)
        if out[0] > 1e-3:
            assert not inside_a or abs(out[1]) < 1e-6
            assert not inside_b or abs(out[2]) < 1e-6
