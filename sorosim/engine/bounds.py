"""Bounds that inputs and driven coordinates have by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sorosim.model.compile import Layout
from sorosim.model.tubes import Tubes


def only_pulls(actuator: Any) -> bool:
    """Whether negative inputs of an actuator do nothing."""
    return bool(getattr(actuator, "only_pulls", False))


def natural_bounds(layout: Layout, actuators: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Bounds of an input, zero below where an actuator can only pull; of a coordinate, the stops of its joint."""
    if name in actuators:
        return (0.0 if only_pulls(actuators[name]) else -np.inf), np.inf
    column = layout.coordinate(name, "free")
    link = next(one for one in layout.links.values() if one.column <= column < one.column + one.n)
    if isinstance(link.link.body, Tubes):  # from the plate to where its tube is held
        block, own = link.link.body.block, column - link.column - link.n_joint
        if own in block.insertion:
            tube = link.link.body.members[block.insertion.index(own)]
            return -float(tube.insertion), float(tube.length - tube.insertion)
    stops = link.link.joint.limits[column - link.column :] if column - link.column < link.n_joint else ()
    return (float(stops[0].low), float(stops[0].high)) if stops and stops[0] is not None else (-np.inf, np.inf)
