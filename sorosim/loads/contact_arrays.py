"""Groups of surfaces as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sorosim.kernels import surfaces
from sorosim.kernels.surfaces import Surfaces
from sorosim.loads.contact_cores import ContactGroup


def pack_surfaces(groups: Sequence[ContactGroup]) -> Surfaces:
    """Arrays of groups."""
    core, value, parts, frames, extents, rows, laws, apart = ([] for _ in range(8))  # type: ignore[var-annotated]
    size, n_apart, n_surfaces = 0, 0, 0
    for group in groups:
        first, first_solid = len(core), len(parts)
        marks = []
        for side in (group.a, group.b or ()):
            for skin in side:
                for one in skin.cores:
                    same = one.nodes[0] == one.nodes[1]
                    core.append([one.form, one.meets, *one.nodes, same, size, n_surfaces])
                    value.append(one.values)
                    size += len(one.values)
                for part in skin.solids:
                    parts.append([part.kind, part.node, size, n_surfaces, part.mask])
                    frames.append(np.vstack([part.frame[:3, :3], part.frame[:3, 3]]))
                    extents.append(part.extent)
                    value.append(part.values)
                    size += len(part.values)
                n_surfaces += 1
            marks.append((len(core), len(parts)))
        (core_b, solid_b), (core_end, solid_end) = marks
        n = len(group.skins)
        rows.append([first, core_b, core_end, first_solid, solid_b, solid_end, group.b is None, n_apart,
                     n_surfaces - n, n])  # fmt: skip
        laws.append(group.law)
        apart.append(group.apart.ravel())
        n_apart += n * n
    integers = np.int64
    return Surfaces(
        np.array(core, dtype=integers).reshape(-1, surfaces.N_CORE), np.concatenate([np.zeros(0), *value]),
        np.array(parts, dtype=integers).reshape(-1, surfaces.N_SOLID), np.array(frames).reshape(-1, 4, 3),
        np.array(extents).reshape(-1, 4), np.array(rows, dtype=integers).reshape(-1, surfaces.N_GROUP),
        np.array(laws).reshape(-1, surfaces.N_LAW), np.concatenate([np.zeros(0, dtype=integers), *apart]),
    )  # fmt: skip
