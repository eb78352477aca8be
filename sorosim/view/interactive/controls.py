"""What one can set while a robot moves: its inputs and driven coordinates, with ranges for sliders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.motion.stepper import StepState
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, SorosimError, nearest
from sorosim.base.signals import ConstantSignal
from sorosim.base.validation import describe
from sorosim.mechanics.actuation.servo import Servo
from sorosim.mechanics.dynamics.linearization import input_matrix
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.bounds import coordinate_bounds
from sorosim.mechanics.engine.inputs import Motion
from sorosim.mechanics.engine.parameter import DRIVEN, INPUT, Parameter, driven_parameter, input_parameter
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.robot import Robot
from sorosim.view.interactive.pull import response
from sorosim.view.viz.camera import round_up

SAMPLES = 401
LONGEST = 10.0  # s of a motion without an end that ranges are taken from
MARGIN = 0.25  # beyond what a file prescribes
# without anything else: of the size of the robot, by which an input moves a tip; and a driven length
FAR, DRIVEN_LENGTH = 0.5, 0.25
DRIVEN_NUMBER = 1.0
STEPS, PARTS = 200, 20  # of a slider at most, and of the round steps by which its ends are given
ALIKE = 5.0  # ranges of inputs of one kind that differ by a smaller factor are one
ROUNDING = 1e-9  # relative to a round step
STILL = 1e-6  # what gives way less than that part of the softest tip is held


class Control(NamedTuple):
    """An input or a driven coordinate."""

    of: Parameter
    low: float
    high: float
    start: float  # at t = 0

    @property
    def name(self) -> str:
        """That of the actuator, the coordinate or its link."""
        return self.of.target

    @property
    def is_driven(self) -> bool:
        """Whether it is a coordinate."""
        return self.of.kind == DRIVEN

    @property
    def step(self) -> float:
        """A round step of a slider."""
        return round_up((self.high - self.low) / STEPS)

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.of.unit}]" if self.of.unit else self.name


class Controls:
    """All controls of a robot, and the motion that its file prescribes for them.

    Parameters
    ----------
    robot : Robot
    u, driven : as in `simulate`
    bounds : mapping of str to (low, high)
        Ranges by name.

    Attributes
    ----------
    all : dict of str to Control
    moves : bool
        Whether anything is prescribed that moves.
    free : (ndof,) ndarray of bool
        Coordinates that are not driven.
    tip : str
        The link of the first of `Robot.outputs` if its end can move, else that of the links with moving ends that is
        the most moving parts from the ground.
    outputs : LinkFrames
        What is plotted: the outputs that the robot names, else the end of `tip`.
    """

    def __init__(self, robot: Robot, u: Any, driven: Any, bounds: Mapping[str, Any]) -> None:
        block, self._robot = robot.description.simulate, robot
        prescribed = Prescribed.of(robot, u, driven)
        self._inputs, self._driven_names = prescribed.inputs, prescribed.settable
        self._driven = Motion([prescribed.driven[name] for name in self._driven_names])
        signals = [*self._inputs.signals, *self._driven.signals]
        self.moves = not all(isinstance(signal, ConstantSignal) for signal in signals)
        known = {name: input_parameter(robot, name) for name in robot.actuator_names}
        known |= {name: driven_parameter(robot, name) for name in self._driven_names}
        if not isinstance(bounds, Mapping):
            raise InputError("bounds", "a mapping of names to pairs (low, high)", describe(bounds))
        for name in bounds:
            if name not in known:
                expected = "the name of an input or a driven coordinate"
                raise InputError("bounds", expected, f"'{name}'", nearest(str(name), known))
        end = block.get("t_end") or LONGEST
        times = np.linspace(0.0, end, SAMPLES)
        tables = np.hstack([self._inputs.sample(times), *(s.sample(times)[:, None] for s in self._driven.signals)])
        self.free = np.ones(robot.ndof, dtype=bool)
        self.free[[self._column(k) for k in range(len(self._driven_names))]] = False
        J = self._jacobians_of_ends()
        moved = J @ response(robot, robot.initial_q, self.free)
        self.tip = self._moving_tip(J, moved)
        named = bool(robot.description.outputs)
        self.outputs = robot.outputs if named else LinkFrames(robot.description, robot.engine, [self.tip])
        guesses = self._alike(known.values(), self._guesses(tables, moved))
        self.all: dict[str, Control] = {}
        for (name, one), values, guess in zip(known.items(), tables.T, guesses, strict=True):
            span = self._stops(one)
            if name in bounds:
                given = one.bounds(f"bounds.{name}", bounds[name])
                span = max(one.low, given[0]), min(one.high, given[1])
            step = round_up((guess[1] - guess[0]) / PARTS)
            guess = step * np.floor(guess[0] / step + ROUNDING), step * np.ceil(guess[1] / step - ROUNDING)
            low, high = np.where(np.isfinite(span), span, np.clip(guess, *span))
            low, high = min(float(low), float(values[0])), max(float(high), float(values[0]))
            if not low < high:
                raise InputError(f"bounds.{name}", "a range", f"{low:g} to {high:g}")
            self.all[name] = Control(one, low, high, float(values[0]))

    def suit(self, robot: Robot) -> bool:
        """Whether a robot has the same coordinates and inputs, and the same motion in its file."""
        mine, runs = self._robot, robot.description.simulate
        names = (mine.coordinate_names, mine.actuator_names) == (robot.coordinate_names, robot.actuator_names)
        known = mine.description.simulate
        return names and runs.keys() == known.keys() and all(runs[key] is one for key, one in known.items())

    def of(self, robot: Robot) -> Controls:
        """The same ranges for a robot with other numbers."""
        other = copy(self)
        other._robot = robot
        named = bool(robot.description.outputs)
        other.outputs = robot.outputs if named else LinkFrames(robot.description, robot.engine, [self.tip])
        return other

    def _jacobians_of_ends(self) -> Array:
        """Body Jacobians (n_links, 6, ndof) of the ends of links in the initial state."""
        robot, q = self._robot, self._robot.initial_q
        nodes = np.array([link.nodes[-1] for link in robot.engine.layout.links.values()])
        return robot.engine.jacobians(nodes, q, np.zeros_like(q), False)[2]

    def _moving_tip(self, J: Array, moved: Array) -> str:
        compliance = np.einsum("nij,nij->n", moved[:, 3:], J[:, 3:])  # of ends, all directions together
        robot, depth = self._robot, {"world": 0}  # moving parts from the ground on
        for link in robot.links:
            depth[link.name] = depth[link.parent] + bool(robot.engine.layout.link(link.name).n)
        moving = compliance > STILL * compliance.max()
        ends = dict(zip(robot.engine.layout.links, zip(moving, compliance, strict=True), strict=True))
        first = robot.outputs.places[0][0]
        if ends[first][0] or not moving.any():
            return first
        return max((name for name in ends if ends[name][0]), key=lambda name: (depth[name], ends[name][1]))

    def _guesses(self, tables: Array, moved: Array) -> list[tuple[float, float]]:
        """Ranges where nobody gives any: around what is prescribed, else by what moves the robot visibly."""
        robot, rows = self._robot, list[tuple[float, float]]()
        size = extent(robot)
        inputs = self._input_ranges(size, moved)
        for k, values in enumerate(tables.T):
            low, high, is_input = float(values.min()), float(values.max()), k < len(inputs)
            if high - low > 1e-9 * max(abs(low), abs(high)):
                room, low_sign, high_sign = MARGIN * (high - low), low < 0.0, high > 0.0
                low, high = low - room, high + room
                rows.append((low * low_sign, high * high_sign) if is_input else (low, high))
            elif is_input:
                rows.append((-inputs[k], inputs[k]) if low == 0.0 else (min(0.0, 2.0 * low), max(0.0, 2.0 * low)))
            else:
                dimension = robot.engine.layout.dimensions[self._column(k - len(inputs))]
                reach = {"length": DRIVEN_LENGTH * size, "angle": 0.5 * np.pi}.get(dimension, DRIVEN_NUMBER)
                rows.append((low - reach, high + reach))
        return rows

    def _alike(self, known: Iterable[Parameter], guesses: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """The same ranges for inputs of one kind of actuator: what holds all, where they are of one size (`ALIKE`)."""
        actuators = self._robot.description.actuators
        groups: dict[tuple[type, str], list[int]] = {}
        for k, one in enumerate(known):
            if one.kind == INPUT:
                groups.setdefault((type(actuators[one.target]), one.dimension), []).append(k)
        out, largest = list(guesses), [max(abs(low), abs(high)) for low, high in guesses]
        for members in groups.values():
            rest = sorted(members, key=lambda k: largest[k], reverse=True)
            while rest:
                same = [k for k in rest if ALIKE * largest[k] >= largest[rest[0]]]
                shared = min(guesses[k][0] for k in same), max(guesses[k][1] for k in same)
                for k in same:
                    out[k] = shared
                rest = [k for k in rest if k not in same]
        return out

    def _stops(self, one: Parameter) -> tuple[float, float]:
        """What a control has by itself; of a servo the stops of its joint, which its input may be beyond."""
        actuator, layout = self._robot.description.actuators.get(one.target), self._robot.engine.layout
        if one.kind != INPUT or not isinstance(actuator, Servo):
            return one.low, one.high
        return coordinate_bounds(layout, layout.links[actuator.link].column + actuator.index(layout))

    def _column(self, k: int) -> int:
        return self._robot.engine.layout.coordinate(self._driven_names[k], "driven")

    def _input_ranges(self, size: float, moved: Array) -> list[float]:
        """Round inputs that move some link by a part of the robot's size, or turn it as far.

        moved : (n_links, 6, ndof), ends of links by generalised forces
        """
        robot, q = self._robot, self._robot.initial_q
        if not robot.engine.n_actuators:
            return []
        moved = moved @ input_matrix(robot.engine, q, np.zeros_like(q), robot.inputs(None))
        most = np.maximum(np.linalg.norm(moved[:, 3:], axis=1), size * np.linalg.norm(moved[:, :3], axis=1)).max(axis=0)
        return [round_up(FAR * size / one) if one > 0.0 else 1.0 for one in most.tolist()]

    @property
    def starts(self) -> dict[str, float]:
        """Values at t = 0 by name."""
        return {name: control.start for name, control in self.all.items()}

    def prescribed(self, t: float) -> dict[str, float]:
        """Values that the file prescribes at a time, by name."""
        return dict(zip(self.all, [*self._inputs.value(t).tolist(), *self._driven.value(t).tolist()], strict=True))

    def split(self, values: Mapping[str, float]) -> tuple[Array, dict[str, float]]:
        """Inputs (n_actuators,) and driven coordinates of values by name."""
        inputs = np.array([values[name] for name, one in self.all.items() if not one.is_driven])
        return inputs, {name: values[name] for name, one in self.all.items() if one.is_driven}


def extent(robot: Robot) -> float:
    """Largest extent of a robot in its initial state [m], 1 where it has none."""
    engine = robot.engine
    nodes = np.arange(len(engine.tree.segment))
    positions = engine.poses(nodes, robot.initial_q, np.zeros(robot.ndof))[0][:, :3, 3]
    return float(np.ptp(np.vstack([np.zeros(3), positions]), axis=0).max()) or 1.0


def control_law(controller: Any) -> Callable[[float, Array, Array], Any] | None:
    """A controller as a function of t, q and qd."""
    if controller is None:
        return None
    if hasattr(controller, "step"):
        return lambda t, q, qd: controller.step(q, qd)
    if not callable(controller):
        expected = "a function (t, q, qd) -> u, or an object with a method step(q, qd)"
        raise InputError("controller", expected, type(controller).__name__)
    return controller  # type: ignore[no-any-return]


def controlled(robot: Robot, law: Callable[[float, Array, Array], Any], now: StepState) -> Array:
    """Inputs (n_actuators,) of a controller in a state; whatever it raises becomes an InputError."""
    try:
        return robot.inputs(law(now.t, now.q.copy(), now.qd.copy()), "controller")
    except SorosimError:
        raise
    except Exception as error:  # of a user's code
        raise InputError("controller", "inputs", f"{type(error).__name__}: {error}") from error
