"""Concentric tubes: clearance, curvature, insertions, and how well sections show how they are bent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from sorosim.analysis.results.result import Equilibrium
from sorosim.base.errors import ModelError
from sorosim.mechanics.model.tube import MERGE, Tube
from sorosim.mechanics.model.tubes import ORDER, Tubes
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.findings import Finding, finding, judged

# error of a place, as a part of the length, over the square of the largest coefficient of highest degree [rad]:
# measured on tubes curved by 5 to 30 1/m over 20 cm, turned by 60 and 120 degrees, with loads up to 3 N; of helices it
# holds up to a turn in a section
ERROR = 1.0 / 70.0


def tubes(context: CheckContext) -> Iterator[Finding]:
    """Tubes for themselves, beside each other, and where they are inserted to."""
    for link in context.robot.links:
        if not isinstance(link.body, Tubes):
            continue
        where = f"links.{link.name}.tubes"
        for (name, outer), (inside, inner) in pairwise(link.body.tubes.items()):
            room = outer.inner_radius - inner.radius
            words = {"outer": name, "mm": 1e3 * room}
            yield from judged("tube.clearance", f"{where}.{inside}.radius", room, room / inner.radius, **words)
        for name, tube in link.body.tubes.items():
            strain = max((np.hypot(*c.curvatures.T).max() * tube.radius for c in tube.curves), default=0.0)
            yield from judged("tube.curved", f"{where}.{name}.curves", 100.0 * strain, strain)
            yield from judged("tube.turns", f"{where}.{name}.curves", _turns(link.body, tube))
        members = link.body.members
        if len(members) > 1 and not any(c.curvatures.any() for tube in members for c in tube.curves):
            yield finding("tube.straight", where)
        yield from _insertions(context, link.name, link.body)


def _turns(body: Tubes, tube: Tube) -> float:
    """Most turns that the curvature of a tube makes in a section."""
    most = 0.0
    for a, b in pairwise(body.ends):
        found = tube.curve(0.5 * (a.place + b.place)) if b.place <= tube.insertion * (1.0 + MERGE) else None
        if found and found[0].curvatures.any():
            most = max(most, abs(found[0].torsion) * (b.place - a.place) / (2.0 * np.pi))
    return most


def _insertions(context: CheckContext, link: str, body: Tubes) -> Iterator[Finding]:
    """Where the file's driven insertions lead to what no tube can do."""
    names = {f"{link}.{name}.insertion": i for i, name in enumerate(body.names)}
    for block in ("statics", "simulate"):
        driven = getattr(context.robot.description, block).get("driven") or {}
        moves = {names[name]: float(context.driven_start[name]) for name in driven if name in names}
        try:
            body.check_insertions(moves)
        except ModelError as error:
            words = f"{error.where}: expected {error.expected}, got {error.got}"
            yield finding("tube.insertion", f"{block}.driven", words=words, remedy=error.hint or "insert less")


def tube_sections(context: CheckContext) -> Iterator[Finding]:
    """How well polynomials over each section show how tubes are bent and twisted, at rest and under inputs."""
    worst = 0.0, ""
    for state in (context.equilibrium, context.actuated_equilibrium):
        if not isinstance(state, Equilibrium):
            continue
        for link, layout in context.robot.engine.layout.links.items():
            if not isinstance(layout.link.body, Tubes):
                continue
            own = slice(layout.column + layout.n_joint, layout.column + layout.n)
            for name, value in zip(context.robot.coordinate_names[own], state.q[own].tolist(), strict=True):
                if name.endswith(f"[{ORDER}]") and abs(value) > worst[0]:
                    worst = abs(value), link
    percent = 100.0 * ERROR * worst[0] ** 2
    yield from judged("tube.sections", f"links.{worst[1]}.tubes", percent)
