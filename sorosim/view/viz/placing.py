"""Points and normals of a picture from the poses of its stations, compiled."""

from __future__ import annotations

from math import sqrt

from sorosim.base.arrays import Array, IntArray
from sorosim.base.compiled import kernel_in_place


@kernel_in_place
def place_points(
    g: Array, station: IntArray, local: Array, normal: Array, growth: Array, half_width: Array, least: Array,
    grid: IntArray, tiny: float, points: Array, normals: Array,
) -> None:  # fmt: skip
    """Fill points and normals (n, 3) from poses g (n_stations, 4, 4); the other arrays as in `geometry.Geometry`.

    least (n_stations,): half-widths [m] that sections grow to; grid (m, 5): a point of a tube, its neighbours around
    (two) and along (two); tiny: length [m] below which these lie in one place.
    """
    for k in range(station.shape[0]):
        pose = g[station[k]]
        missing = max(least[station[k]] - half_width[k], 0.0)
        x = local[k, 0] + missing * growth[k, 0]
        y = local[k, 1] + missing * growth[k, 1]
        z = local[k, 2] + missing * growth[k, 2]
        for i in range(3):
            points[k, i] = pose[i, 0] * x + pose[i, 1] * y + pose[i, 2] * z + pose[i, 3]
            normals[k, i] = pose[i, 0] * normal[k, 0] + pose[i, 1] * normal[k, 1] + pose[i, 2] * normal[k, 2]
    # a tube's normal is across its two families of lines, as taper, bend and shear incline them; at a pointed tip
    # one of them vanishes and the section's own direction stays
    for row in range(grid.shape[0]):
        left, right, behind, ahead = (
            points[grid[row, 1]],
            points[grid[row, 2]],
            points[grid[row, 3]],
            points[grid[row, 4]],
        )
        a0, a1, a2 = right[0] - left[0], right[1] - left[1], right[2] - left[2]
        b0, b1, b2 = ahead[0] - behind[0], ahead[1] - behind[1], ahead[2] - behind[2]
        c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
        length = sqrt(c0 * c0 + c1 * c1 + c2 * c2)
        if length > tiny * sqrt(b0 * b0 + b1 * b1 + b2 * b2):
            out = normals[grid[row, 0]]
            out[0], out[1], out[2] = c0 / length, c1 / length, c2 / length
