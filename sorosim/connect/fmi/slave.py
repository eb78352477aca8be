"""What runs in a functional mock-up unit: a robot that a `Stepper` moves, behind the interface of pythonfmu."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from sorosim import __version__
from sorosim.analysis.motion.stepper import Memory, Stepper, StepState
from sorosim.analysis.sensitivity import file_parameters
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, SorosimError
from sorosim.base.validation import describe
from sorosim.connect.fmi.variables import (
    PARAMETER,
    POSITION,
    RATE,
    SENSOR,
    TIME,
    TIP,
    Variable,
    naming_convention,
    unit_definitions,
    variables_of,
)
from sorosim.files import load
from sorosim.mechanics.engine.parameter import DRIVEN, INPUT
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.robot import Robot

ROBOT_FILE, SETTINGS_FILE = "robot.yaml", "settings.json"
STATE_KIND = "state of a sorosim unit, 1"
SAME_STEP = 1e-9  # relative difference of step sizes that is rounding


class UnitState(NamedTuple):
    """A state of a unit, which its environment may keep, write and give back."""

    values: dict[str, float]  # of inputs, parameters and start values, by the names of variables
    size: float
    state: StepState


class RobotSlave:
    """The part of a unit that no version of FMI differs in; ``Fmi2Slave`` or ``Fmi3Slave`` is its other base.

    A subclass says which package that is by ``fmi``, and its version by ``version``. The folder ``resources`` has the
    robot's file and the settings.
    """

    fmi: Any
    fmi_version: int
    # of the other base
    resources: str
    modelName: str
    register_variable: Any
    log: Any

    _robot: Robot
    _stepper: Any  # Stepper, None before it is needed

    def __init__(self, **given: object) -> None:
        super().__init__(**given)
        folder = Path(self.resources)
        self._settings = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
        self._base = load(folder / ROBOT_FILE)
        self.modelName = self._settings["identifier"]
        self.description = f"{self._base.name}, simulated by sorosim"
        self.default_experiment = self.fmi.DefaultExperiment(
            start_time=0.0, stop_time=self._base.description.simulate.get("t_end"), step_size=self._settings["dt"]
        )
        self._variables = variables_of(self._base, self._settings["parameters"])
        if self.fmi_version > 2:  # which asks for it
            self._variables.insert(0, Variable(TIME, "", "time", "Time"))
        self._declared = self._starts()
        self._values = {**self._declared}
        self._given: dict[str, float] = {}  # start values of coordinates that the environment has set
        self._start_time, self._initialised = 0.0, False
        self._size, self._stepper = 0.0, None
        self._readings: dict[str, Array] = {}
        for variable in self._variables:
            self._register(variable)

    def _starts(self) -> dict[str, float]:
        """Values of inputs and parameters that the file says, by the names of variables."""
        robot, prescribed = self._base, Prescribed.of(self._base, None, None)
        values = [*prescribed.u.tolist(), *(prescribed.values[name] for name in prescribed.settable)]
        values += [one.value for one in file_parameters(robot, self._settings["parameters"])]
        settable = [one.name for one in self._variables if one.kind in (INPUT, DRIVEN, PARAMETER)]
        return dict(zip(settable, map(float, values), strict=True))

    # -- variables -----------------------------------------------------------------------------------------------------

    def _register(self, one: Variable) -> None:
        """Register a variable with the other base."""

        def word(what: str, name: str) -> Any:
            return getattr(getattr(self.fmi, f"Fmi{self.fmi_version}{what}"), name)

        words = {
            TIME: ("independent", "continuous", None),
            INPUT: ("input", "continuous", None), DRIVEN: ("input", "continuous", None),
            PARAMETER: ("parameter", "fixed", "exact"),
            POSITION: ("output", "continuous", "exact"), RATE: ("output", "continuous", "exact"),
        }.get(one.kind, ("output", "continuous", "calculated"))  # fmt: skip
        causality, variability, initial = words
        real = self.fmi.Real if self.fmi_version == 2 else self.fmi.Float64
        self.register_variable(
            real(
                one.name, description=one.description, causality=word("Causality", causality),
                variability=word("Variability", variability), initial=initial and word("Initial", initial),
                getter=partial(self._get, one), setter=partial(self._set, one),
            ), nested=False,
        )  # fmt: skip

    def _get(self, one: Variable) -> float:
        """Value of a variable."""
        if one.kind in (INPUT, DRIVEN, PARAMETER):
            return self._values[one.name]
        sim = self._ready()
        if one.kind == TIME:
            return sim.state.t
        if one.kind in (POSITION, RATE):
            return float((sim.state.q if one.kind == POSITION else sim.state.qd)[one.index])
        if not self._readings:
            self._readings = {f"{SENSOR}.{name}": channels for name, channels in sim.measure().items()}
            for tip in {other.of for other in self._variables if other.kind == TIP}:
                self._readings[f"{TIP}.{tip}"] = self._robot.pose(sim.state.q, tip)[:3, 3]
        return float(self._readings[f"{one.kind}.{one.of}"][one.index])

    def _set(self, one: Variable, value: float) -> None:
        """Take a value of the environment."""
        if one.kind in (INPUT, DRIVEN):
            self._values[one.name] = value
        elif self._initialised or one.kind in (TIME, TIP, SENSOR):
            raise InputError(one.name, "an input", "a value that is set in the midst of the simulation")
        elif one.kind == PARAMETER:
            self._values[one.name] = value
        else:
            self._given[one.name] = value
        if not self._initialised:
            self._stepper = None
            self._readings = {}

    def _of(self, kind: str) -> dict[str, float]:
        """Values of a kind by the names of what they are of."""
        return {one.of: self._values[one.name] for one in self._variables if one.kind == kind}

    # -- time ----------------------------------------------------------------------------------------------------------

    def setup_experiment(self, start_time: float, *_: object) -> None:
        """Take the time of the start; FMI 2 gives two more values, which mean nothing here."""
        self._start_time, self._stepper = start_time, None

    def exit_initialization_mode(self) -> None:
        """Put the robot to its start; parameters and start values are fixed from then on."""
        self._ready()
        self._initialised = True

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Move over a communication step, in equal steps of at most dt; False and a message where that fails."""
        before, size = self._ready().state, self._size
        try:
            self._advance(step_size)
        except SorosimError as error:
            self._change_size(size)
            self._ready().state = before
            self.log(str(error), getattr(self.fmi.enums, f"Fmi{self.fmi_version}Status").error)
            return False
        finally:
            self._readings = {}
        return True

    def _advance(self, interval: float) -> None:
        n = max(1, math.ceil(interval / self._settings["dt"] * (1.0 - SAME_STEP)))
        self._change_size(interval / n)
        sim, inputs, targets = self._ready(), np.array(list(self._of(INPUT).values())), self._of(DRIVEN)
        layout = self._robot.engine.layout
        begins = {name: float(sim.state.q[layout.coordinate(name, "driven")]) for name in targets}
        for k in range(1, n + 1):
            sim.step(inputs, {name: begins[name] + (end - begins[name]) * k / n for name, end in targets.items()})

    def _ready(self) -> Stepper:
        """The robot in its state, at the start where nothing has moved it yet."""
        if self._stepper is None:
            self._build(self._settings["dt"])
            self._begin()
        sim: Stepper = self._stepper
        return sim

    def _build(self, size: float) -> None:
        """Make the robot of its parameters, and a stepper that no one has reset."""
        numbers = [one for one in self._variables if one.kind == PARAMETER]
        changed = {
            one.of: self._values[one.name] for one in numbers if self._values[one.name] != self._declared[one.name]
        }
        self._robot = self._base.with_values(changed) if changed else self._base
        self._set_size(size)

    def _set_size(self, size: float) -> None:
        self._size = size
        self._stepper = Stepper(self._robot, size, driven=self._of(DRIVEN), **self._settings["options"])

    def _begin(self) -> None:
        """Put the robot where the file says, or where the environment has set coordinates and rates."""
        block, inputs, sim = self._robot.description.simulate, self._of(INPUT), self._stepper
        state = sim.reset(block.get("q0"), block.get("qd0"), self._start_time, u=inputs)
        if self._given:
            q, qd = state.q.copy(), state.qd.copy()
            for one in self._variables:
                if one.name in self._given:
                    (q if one.kind == POSITION else qd)[one.index] = self._given[one.name]
            sim.reset(q, qd, self._start_time, u=inputs)

    def _change_size(self, size: float) -> None:
        """Go on with steps of another size."""
        if abs(size - self._size) > SAME_STEP * size:
            before = self._ready().state
            self._set_size(size)
            self._stepper.state = before

    # -- states of the unit --------------------------------------------------------------------------------------------

    def _get_fmu_state(self) -> UnitState:
        sim = self._ready()
        return UnitState({**self._values}, self._size, sim.state)

    def _set_fmu_state(self, state: UnitState) -> None:
        self._values, self._readings = {**state.values}, {}
        self._build(state.size)
        memory, settings = state.state.memory, self._stepper._steps.settings
        if memory is not None and memory.settings == (repr(settings),):  # of a state that was read
            state = state._replace(state=replace(state.state, memory=memory._replace(settings=settings)))
        self._stepper.state = state.state

    @staticmethod
    def _fmu_state_to_bytes(state: UnitState) -> bytes:
        return _written(state)

    @staticmethod
    def _fmu_state_from_bytes(state: bytes) -> UnitState:
        return _read(state)

    # -- the model description -----------------------------------------------------------------------------------------

    def to_xml(self, *given: object) -> Element:
        """The description of the other base, with units, start values and who made it."""
        root: Element = super().to_xml(*given)  # type: ignore[misc]
        root.set("generationTool", f"sorosim {__version__}, {root.get('generationTool')}")
        root.set("variableNamingConvention", naming_convention(self._variables))
        definitions, found, structure = (
            unit_definitions(self._variables),
            root.find("CoSimulation"),
            root.find("ModelStructure"),
        )
        assert found is not None
        assert structure is not None
        if len(definitions):
            root.insert(list(root).index(found) + 1, definitions)
        elements = root.find("ModelVariables")
        assert elements is not None
        for variable, element in zip(self._variables, elements, strict=True):
            if variable.unit:
                (element[0] if self.fmi_version == 2 else element).set("unit", variable.unit)
        if self.fmi_version == 2:  # which pythonfmu leaves out
            unknowns = Element("InitialUnknowns")
            for i, variable in enumerate(self._variables):
                if variable.kind in (TIP, SENSOR):
                    unknowns.append(Element("Unknown", index=str(i + 1)))
            if len(unknowns):
                structure.append(unknowns)
        return root


def _written(state: UnitState) -> bytes:
    """A state as JSON, in which numbers have all their digits and nothing is code."""
    now, kept = state.state, state.state.memory
    content: dict[str, Any] = {
        "kind": STATE_KIND, "values": state.values, "size": state.size, "t": now.t,
        **{name: getattr(now, name).tolist() for name in ("q", "qd", "u")},
        "strain": None if now.strain is None else now.strain.tolist(),
    }  # fmt: skip
    if kept is not None:
        content["memory"] = {
            "settings": repr(kept.settings), "record": kept.record.tolist(), "path": kept.path.tolist(),
            "shapes": [kept.record.shape, kept.path.shape], "start": kept.start, "n_intervals": kept.n_intervals,
            "known": [kept.known[0], *(array.tolist() for array in kept.known[1:])],
        }  # fmt: skip
    return json.dumps(content).encode()


def _read(written: bytes) -> UnitState:
    """A state that was written; InputError if it is none."""

    def floats(numbers: Any, shape: Any = -1) -> Array:
        out = np.array(numbers, dtype=np.float64).reshape(shape)
        out.setflags(write=False)
        return out

    try:
        content = json.loads(bytes(written))
        if content["kind"] != STATE_KIND:
            raise ValueError(content["kind"])
        memory, strain = None, content["strain"]
        if kept := content.get("memory"):
            record, path = (
                floats(kept[key], shape) for key, shape in zip(("record", "path"), kept["shapes"], strict=True)
            )
            known = float(kept["known"][0]), *map(floats, kept["known"][1:])
            memory = Memory(
                (kept["settings"],),
                record,
                path,
                float(kept["start"]),
                int(kept["n_intervals"]),
                known,  # type: ignore[arg-type]
            )
        now = StepState(
            float(content["t"]), floats(content["q"]), floats(content["qd"]), floats(content["u"]), memory,
            None if strain is None else floats(strain),
        )  # fmt: skip
        values = {str(name): float(x) for name, x in content["values"].items()}
        return UnitState(values, float(content["size"]), now)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        got = f"another one: {describe(error)}"
        raise InputError("state", "a state of this unit that sorosim wrote", got) from None
