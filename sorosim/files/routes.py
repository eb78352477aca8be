"""Where the routes of tendons leave the sections of their rods."""

from __future__ import annotations

import numpy as np

from sorosim.base.errors import ModelError
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.model.layout import Layout

N_SAMPLES = 101  # places of a division
THIN = 3.0  # a route so many times as far from the axis as the section goes is hardly meant to be in it
TOLERANCE = 1e-9  # of the largest size: a route may run on the surface


def check_inside(run: RouteSegment, layout: Layout) -> None:
    """Refuse a route that leaves its rod's section somewhere; the hole of a tube is inside.

    Raises
    ------
    ModelError
        With the place and the size of the section there.
    """
    link = layout.links[run.rod]
    rod = link.link.rod
    if rod is None:
        return
    for piece in link.pieces:
        middle = (piece.start + 0.5 * piece.division.length) / rod.length
        section = piece.division.section
        if not run.start < middle < run.end or not section.has_outline:
            continue
        x = np.linspace(0.0, 1.0, N_SAMPLES) * piece.division.length
        d, _ = run.route(link, piece, piece.start + x)
        far, limit, name = section.edge(d[:, 1:].real, x, piece.division.length)
        limit = limit.real  # where the description is differentiated, its numbers are complex
        if (discs := piece.division.discs) is not None and np.all(np.real(discs.radius) > limit):
            far, limit, name = (
                np.hypot(*d[:, 1:].real.T),
                np.full(N_SAMPLES, np.real(discs.radius)),
                "the radius of its discs",
            )
        excess = far - limit
        worst = int(np.argmax(excess))
        if excess[worst] > TOLERANCE * float(np.max(limit)):
            s = (piece.start + x[worst]) / rod.length
            got = f"{far[worst]:.6g} m from the axis at s = {s:.4g}, where {name} is {limit[worst]:.6g} m"
            example = f"{{count: 10, radius: {1e3 * far[worst]:.3g} mm, thickness: 2 mm}}"
            hint = f"discs of the rod lead it there: discs: {example}"
            is_thin = discs is None and far[worst] > THIN * limit[worst]
            raise ModelError("", f"a route inside the section of rod '{run.rod}'", got, hint if is_thin else "")
