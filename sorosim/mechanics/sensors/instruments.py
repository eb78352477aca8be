"""All sensors of one robot, bound to it."""

from __future__ import annotations

from collections.abc import Mapping

from sorosim.base.arrays import Array
from sorosim.base.errors import ModelError
from sorosim.base.validation import counted, describe
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.sensors.base import Reader, Sensor
from sorosim.mechanics.sensors.state import SensorSites, State


class Instruments:
    """The sensors of a robot by name, with their readers.

    Raises
    ------
    ModelError
        Something that is no sensor, or has a target that the robot does not have.
    """

    def __init__(self, description: Description, engine: Engine) -> None:
        self.sensors: dict[str, Sensor] = {}
        self.readers: dict[str, Reader] = {}
        self.sites = SensorSites(description, engine)
        for name, sensor in description.sensors.items():
            self._bind(name, sensor)
        self.sites.close()

    def _bind(self, name: object, sensor: object) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError("sensors", "texts as names", describe(name))
        if not isinstance(sensor, Sensor):
            raise ModelError(f"sensors.{name}", "a sensor, such as sorosim.PoseSensor", describe(sensor))
        try:
            self.readers[name] = sensor.bind(self.sites)
            sensor.check_errors(self.readers[name])
        except ModelError as error:
            raise error.inside(f"sensors.{name}") from None
        self.sensors[name] = sensor

    def measured(self, state: State) -> Mapping[str, Array]:
        """Ideal readings (n_channels,) by name."""
        return {name: reader.read(state) for name, reader in self.readers.items()}


def summary(description: Description, engine: Engine, instruments: Instruments) -> str:
    """Table of the links, the loops, the couplings and the sensors, one a line."""
    counts = {"coordinate": engine.ndof, "point": len(engine.layout.points), "actuator": engine.n_actuators}
    more = {"loop": len(description.loops), "coupling": len(description.couplings), "sensor": len(description.sensors)}
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
        a, b = (end.link + f" at s = {end.s:g}" * (end.s != 1.0 and end.link in rods) for end in (loop.a, loop.b))
        lines.append(f"  {name}: {loop.joint.kind} loop from {a} to {b}")
    for name, coupling in description.couplings.items():
        a, b = (engine.layout.coordinate_names[end.column] for end in coupling.ends(engine.layout))
        ratio, offset = engine.coupling_numbers(name)
        shift = f" {'-' if offset < 0.0 else '+'} {abs(offset):g}" if offset else ""
        lines.append(f"  {name}: {a} = {ratio:g} {b}{shift}")
    for name, sensor in instruments.sensors.items():
        rate = "" if sensor.rate is None else f", {sensor.rate:g} Hz"
        lines.append(f"  {name}: {sensor.kind} {sensor.target}{rate}")
    return "\n".join(lines)
