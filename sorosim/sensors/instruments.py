"""All sensors of one robot, bound to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sorosim.engine.engine import Engine
from sorosim.errors import ModelError
from sorosim.model.description import Description
from sorosim.sensors.base import Array, Reader, Sensor
from sorosim.sensors.state import SensorSites, State
from sorosim.validation import describe


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

    def _bind(self, name: Any, sensor: Any) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError("sensors", "texts as names", describe(name))
        if not isinstance(sensor, Sensor):
            raise ModelError(f"sensors.{name}", "a sensor of sorosim.sensors.kinds", describe(sensor))
        try:
            self.readers[name] = sensor.bind(self.sites)
            sensor.check_errors(self.readers[name])
        except ModelError as error:
            raise error.inside(f"sensors.{name}") from None
        self.sensors[name] = sensor

    def measured(self, state: State) -> Mapping[str, Array]:
        """Ideal readings (n_channels,) by name."""
        return {name: reader.read(state) for name, reader in self.readers.items()}

    def summary(self) -> list[str]:
        """What each sensor is, a line each."""
        lines = []
        for name, sensor in self.sensors.items():
            rate = "" if sensor.rate is None else f", {sensor.rate:g} Hz"
            lines.append(f"  {name}: {sensor.kind} {sensor.target}{rate}")
        return lines
