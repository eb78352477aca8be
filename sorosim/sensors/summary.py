"""A robot as a table of its parts."""

from __future__ import annotations

from sorosim.engine.engine import Engine
from sorosim.model.description import Description
from sorosim.sensors.instruments import Instruments
from sorosim.validation import counted


def summary(description: Description, engine: Engine, instruments: Instruments) -> str:
    """Table of the links, the loops and the sensors, one a line."""
    counts = {"coordinate": engine.ndof, "point": len(engine.layout.points), "actuator": engine.n_actuators}
    more = {"loop": len(description.loops), "sensor": len(description.sensors)}
    counts |= {what: n for what, n in more.items() if n}
    lines = [f"{description.name}: " + ", ".join(counted(n, what) for what, n in counts.items())]
    for link in description.links:
        layout = engine.layout.links[link.name]
        if link.rod is not None:
            body = f"rod {link.rod.length:g} m, {counted(int((layout.weight > 0).sum()), 'Gauss point')}"
        else:
            body = "rigid body" if link.body is not None else "frame"
        where = link.parent if link.parent == "world" or link.s == 1.0 else f"{link.parent} at s = {link.s:g}"
        lines.append(f"  {link.name}: {link.joint.kind} on {where}, {body}, {counted(layout.n, 'coordinate')}")
    rods = [link.name for link in description.links if link.rod is not None]
    for name, loop in description.loops.items():
        a, b = (
            f"{end.link} at s = {end.s:g}" if end.s != 1.0 and end.link in rods else end.link
            for end in (loop.a, loop.b)
        )
        lines.append(f"  {name}: {loop.joint.kind} loop from {a} to {b}")
    return "\n".join([*lines, *instruments.summary()])
