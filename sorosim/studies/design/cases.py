"""Cases of a design: a robot at rest, or in motion, under inputs, driven coordinates and controllers."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.motion.controllers import Controller, controller_inputs
from sorosim.analysis.motion.discrete_steps import DiscreteSteps
from sorosim.analysis.motion.rollout import AtRest as Begin
from sorosim.analysis.motion.rollout import Feedback, rollout
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.analysis.sensitivity import parameter
from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, InputError, nearest
from sorosim.base.methods import SECONDS, STEPS, option, spread
from sorosim.base.options import STARTS, StepArguments, checked
from sorosim.base.signals import ConstantSignal
from sorosim.base.validation import as_real, choice, describe
from sorosim.files.robot_file import RobotFile
from sorosim.mechanics.engine.inputs import ZeroOrderHold
from sorosim.mechanics.engine.parameter import DRIVEN, FILE, INPUT, Parameter
from sorosim.mechanics.engine.prescribed import AT_REST, IN_MOTION, Prescribed
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.design.motion import ChangesOfMotion, Directions, Moving
from sorosim.studies.design.rest import ALONG, Changes, ChangesAtRest, Rest

GAIN = "gain"  # the first word of the names of a controller's numbers
EQUILIBRIUM, ASSEMBLED = STARTS  # words for starts of motions
ONLY = "_"  # the name of the only case in result files
# of a step, by which the end of a motion may be off the end of its last one
WHOLE = 1e-6
DT = "10 ms"  # of steps where nothing else is said

# of the largest input: by how much a controller without memory may answer otherwise to the same state
SAME_INPUTS = 1e-9

Values = Sequence[tuple[Parameter, float]]


@dataclass(frozen=True)
class MotionOptions(StepArguments, title="A motion"):
    """How a case moves: in equal steps, whose derivatives are exact."""

    _: KW_ONLY
    t_end: float | None = option(SECONDS, "End of the motion; without it that of the robot's file.", "2 s")


@dataclass(frozen=True, eq=False)
class Case(ABC):
    """A robot and how it is operated; name "" of the only one."""

    name: str
    robot: Robot
    u: Any  # None: those of the robot's file
    driven: Any
    q0: Any

    @abstractmethod
    def solved(self, robot: Robot, values: Values, guesses: Sequence[Array]) -> Any:
        """The robot with values of parameters, of which `robot` has those of its file (ConvergenceError: none)."""

    @abstractmethod
    def changes(self, here: Any, values: Values, sizes: Array, rough: Collection[str]) -> Changes:
        """How that changes with the parameters, whose sizes (n,) are at least these [SI]."""

    @property
    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """It as JSON data, but for the robot."""

    @property
    def moves(self) -> bool:
        """Whether it is a motion."""
        return isinstance(self, InMotion)

    def written(self, name: str) -> str:
        """One of its names in messages."""
        return f"{self.name}.{name}" if self.name else name

    def prescribed(self, robot: Robot) -> Prescribed:
        """Inputs and driven coordinates of the robot, or of one with other numbers."""
        return Prescribed.of(robot, self.u, self.driven, AT_REST)

    @cached_property
    def usual(self) -> Prescribed:
        """Those at the start."""
        return self.prescribed(self.robot)

    @property
    def driven_names(self) -> tuple[str, ...]:
        """Of driven coordinates, as they were given."""
        return tuple(self.usual.driven)

    def parameter(self, name: str, where: str) -> Parameter:
        """What may be free, by its name (else InputError)."""
        return parameter(self.robot, name, where)

    def value(self, one: Parameter) -> float:
        """What a parameter is before."""
        if one.kind in (FILE, GAIN):
            return one.value
        if one.kind == INPUT:
            return float(self.usual.u[one.index])
        return float(self.usual.values.get(self.driven_name(one), 0.0))

    def driven_name(self, one: Parameter) -> str:
        """Name by which a coordinate is driven."""
        layout = self.robot.engine.layout
        same = [name for name in self.usual.driven if layout.coordinate(name, DRIVEN) == one.index]
        return same[0] if same else one.target

    def rough(self, parameters: Sequence[Parameter]) -> set[str]:
        """Names of parameters by which the kind of case has no exact derivatives."""
        return set()

    def equilibrium(self, robot: Robot, u: Array, driven: Mapping[str, float], guesses: Sequence[Any]) -> Equilibrium:
        """The equilibrium that is found from the first guess that leads to one."""
        for n, guess in enumerate(guesses, 1):
            try:
                return statics(robot, u, driven=driven or None, q0=guess)
            except ConvergenceError as error:
                if n == len(guesses):
                    raise ConvergenceError(f"{self.name or robot.name}: {error}", error.partial) from None
        raise AssertionError("there is a guess")

    def by_file(self, changes: Changes, read: Callable[[Robot], Array], held: Collection[int] = ()) -> Array:
        """Derivatives (n, size) of what is read of a robot's blocks of runs by the numbers of its file.

        Parameters of a file are in their formulas; other numbers are not. Those of `held` count as none.
        """
        out = np.zeros((len(changes.parameters), len(read(self.robot))))
        for i, one in enumerate(changes.parameters):
            if one.kind == FILE and one.target.startswith("parameters") and i not in held:
                out[i] = changes.derivative(i, lambda i, h: read(changes.robot(i, h)), ALONG)
        return out


@dataclass(frozen=True, eq=False)
class AtRest(Case):
    """A robot at rest."""

    def operated(self, robot: Robot, values: Values) -> tuple[Array, dict[str, float]]:
        """Inputs and driven coordinates."""
        prescribed = self.usual if robot is self.robot else self.prescribed(robot)
        u, driven = prescribed.u.copy(), dict(prescribed.values)
        for one, value in values:
            if one.kind == INPUT:
                u[one.index] = value
            elif one.kind == DRIVEN:
                driven[self.driven_name(one)] = value
        return u, driven

    def solved(self, robot: Robot, values: Values, guesses: Sequence[Array]) -> Rest:
        return Rest.of(self.equilibrium(robot, *self.operated(robot, values), [*guesses, self.q0]))

    def changes(self, here: Rest, values: Values, sizes: Array, rough: Collection[str]) -> ChangesAtRest:
        layout, n_inputs = here.robot.engine.layout, here.robot.engine.n_actuators
        names = list(self.operated(self.robot, values)[1])

        def read(robot: Robot) -> Array:
            u, driven = self.operated(robot, values)
            return np.concatenate([u, list(driven.values())])

        def given(changes: Changes) -> tuple[Array, Array]:
            flat = self.by_file(changes, read)
            u, driven = flat[:, :n_inputs].T.copy(), np.zeros((here.robot.ndof, len(values)))
            for name, column in zip(names, flat[:, n_inputs:].T, strict=True):
                driven[layout.coordinate(name, DRIVEN)] = column
            for i, (one, _) in enumerate(values):
                if one.kind != FILE:
                    (u if one.kind == INPUT else driven)[one.index, i] = 1.0
            return u, driven

        return ChangesAtRest(here, values, sizes, rough, given)

    @property
    def arguments(self) -> dict[str, Any]:
        u, driven = None if self.u is None else self.usual.u.tolist(), self.driven and dict(self.usual.values)
        return {"u": u, "driven": driven}


@dataclass(frozen=True, eq=False)
class InMotion(Case):
    """A robot in motion, from a start, by equal steps under held inputs."""

    qd0: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)  # t_end and those of steps
    controller: Controller | None = None
    where: str = "cases"
    guess: Any = None  # where an equilibrium to begin in is searched first

    def __post_init__(self) -> None:
        _ = self.times(self.robot), self.usual, self.gains  # are checked

    # -- what it is --------------------------------------------------------------------------------------------------

    def prescribed(self, robot: Robot) -> Prescribed:
        return Prescribed.of(robot, self.u, self.driven, IN_MOTION, controlled=self.controller is not None)

    @cached_property
    def checked(self) -> dict[str, Any]:
        """Options of steps, with t_end, which None leaves to the robot's file."""
        try:
            return checked(MotionOptions, {"dt": DT, **self.options})
        except InputError as error:
            raise error.inside(f"{self.where}.simulate") from None

    def times(self, robot: Robot) -> Array:
        """Begins (N,) of the steps [s]."""
        where, dt, t_end = f"{self.where}.simulate", self.checked["dt"], self.checked["t_end"]
        t_end = robot.description.simulate.get("t_end") if t_end is None else t_end
        if t_end is None:
            raise InputError(f"{where}.t_end", "the end of the motion [s]", "none", "the robot's file has none either")
        n = round(t_end / dt)
        if n < 1 or abs(n - t_end / dt) > WHOLE:
            hint = f"dt = {t_end / max(np.ceil(t_end / dt - WHOLE), 1):.6g} s, say"
            raise InputError(f"{where}.dt", f"a whole part of t_end = {t_end:g} s", f"{dt:g} s", hint)
        return np.asarray(dt * np.arange(n))

    @property
    def _steps(self) -> dict[str, Any]:
        """Options of steps."""
        return {"dt": DT} | {name: x for name, x in self.options.items() if name != "t_end" and x is not None}

    @cached_property
    def gains(self) -> dict[str, float]:
        """Numbers of the controller, by name: its arguments beyond t, q, qd that have numbers."""
        if self.controller is None:
            return {}
        where, expected = f"{self.where}.controller", "a function f(t, q, qd, *, gain=number, ...) without memory"
        if not callable(self.controller):
            raise InputError(where, expected, describe(self.controller))
        try:
            known = inspect.signature(self.controller)
            known.bind(0.0, None, None)
        except (TypeError, ValueError):
            raise InputError(where, expected, "one that takes other arguments") from None
        numbers = ((name, as_real(one.default)) for name, one in list(known.parameters.items())[3:])
        return {name: float(x) for name, x in numbers if x is not None}

    @property
    def sets(self) -> list[int]:
        """Inputs that the controller sets."""
        inputs = self.usual.inputs
        return inputs.held if isinstance(inputs, ZeroOrderHold) else []

    def parameter(self, name: str, where: str) -> Parameter:
        kind, _, target = name.partition(".")
        if kind == GAIN:
            if target not in self.gains:
                hint = nearest(target, self.gains) if self.gains else "its arguments with numbers are gains"
                raise InputError(where, "a number of the controller", f"'{name}'", hint)
            return Parameter(GAIN, target, value=self.gains[target])
        one = super().parameter(name, where)
        if one.kind == DRIVEN:
            hint = "motions have no derivatives by driven coordinates; a servo moves a joint by an input"
            raise InputError(where, "an input, a gain or a number of the file, in a motion", f"'{name}'", hint)
        if one.kind == INPUT:
            if one.index in self.sets:
                raise InputError(where, "an input that the controller does not set", f"'{name}'")
            following = [i for i in range(self.robot.engine.n_actuators) if i not in self.sets]
            if not isinstance(self.usual.inputs.signals[following.index(one.index)], ConstantSignal):
                hint = "write its formula into the file, with a parameter, which may be free"
                raise InputError(where, "an input that is one number over the motion", f"'{name}'", hint)
        return one

    def rough(self, parameters: Sequence[Parameter]) -> set[str]:
        if self.steps.in_python:  # loads or actuators that Python computes: there are no derivatives of steps
            return {one.name for one in parameters}
        return {one.name for one in parameters if one.kind == FILE} if self.steps.engine.adds_inertia else set()

    @cached_property
    def steps(self) -> DiscreteSteps:
        """Those of the robot before."""
        options = self._steps
        return DiscreteSteps(self.robot, options.pop("dt"), self.driven, options)

    # -- how it moves ------------------------------------------------------------------------------------------------

    def begin(self, robot: Robot) -> Any:
        """Where the robot begins, as `rollout` takes it."""
        return robot.description.simulate.get("q0") if self.q0 is None else self.q0

    def held(self, robot: Robot, values: Values) -> Array:
        """Inputs (N, n_actuators) over the steps, zero those that a controller sets."""
        rows = np.array(self.prescribed(robot).inputs.sample(self.times(robot)))
        for one, value in values:
            if one.kind == INPUT:
                rows[:, one.index] = value
        return rows

    def controlled(self, robot: Robot, rows: Array, values: Values) -> Callable[[float, Array, Array], Array]:
        """All inputs (n_actuators,) under the controller, by time, coordinates and rates."""
        gains = {one.target: value for one, value in values if one.kind == GAIN}
        sets, dt, function, where = self.sets, self.checked["dt"], self.controller, f"{self.where}.controller"
        assert function is not None

        def given(t: float, q: Array, qd: Array) -> Array:
            out: Array = rows[min(round(t / dt), len(rows) - 1)].copy()
            answer = function(t, q.copy(), qd.copy(), **gains)  # it may change the arrays that it is given
            out[sets] = controller_inputs(robot, sets, f"{where} at t = {t:g} s", answer)[sets]
            return out

        return given

    def solved(self, robot: Robot, values: Values, guesses: Sequence[Array]) -> Moving:
        rows: Any = self.held(robot, values)
        q0 = self.begin(robot)
        if isinstance(q0, str) and q0 == EQUILIBRIUM:
            driven, known = self.prescribed(robot).values, [] if self.guess is None else [self.guess]
            q0 = Begin(self.equilibrium(robot, rows[0], driven, [*guesses, *known, None]))
        if self.controller is not None:
            rows = Feedback(len(rows), self.controlled(robot, rows, values), np.array(self.sets, dtype=np.int64))
        try:
            return Moving.of(rollout(robot, rows, q0=q0, qd0=self.qd0, driven=self.driven, **self._steps))
        except ConvergenceError as error:
            raise ConvergenceError(f"{self.name or robot.name}: {error}", error.partial, error.report) from None

    def changes(self, here: Moving, values: Values, sizes: Array, rough: Collection[str]) -> ChangesOfMotion:
        def again(others: Mapping[int, float]) -> Moving:
            moved = [(one, others.get(i, x)) for i, (one, x) in enumerate(values)]
            file = {one.target: x for one, x in moved if one.kind == FILE}
            robot = self.robot.with_values(file) if file else self.robot
            return self.solved(robot, moved, [here.begin])

        return ChangesOfMotion(here, values, sizes, rough, partial(self._directions, here, values), again)

    def _directions(self, here: Moving, values: Values, changes: Changes) -> Directions:
        """How inputs and the start change with the numbers, states held."""
        n, ndof = len(values), here.q.shape[1]

        def read(robot: Robot) -> Array:
            q0 = self.begin(robot)
            if q0 is None or (isinstance(q0, str) and q0 == ASSEMBLED):
                q0 = robot.initial_q
            else:  # what a caller gives is held
                q0 = np.zeros(ndof) if self.q0 is not None or isinstance(q0, str) else robot.coordinates(q0)
            qd0 = robot.initial_qd if self.qd0 is None else np.zeros(ndof)
            path = self.prescribed(robot).motion.sample(self.times(robot))
            return np.concatenate([self.held(robot, values).ravel(), q0, qd0, path.ravel()])

        if self.controller is not None:
            self.check_memory(here, values)
        flat = self.by_file(changes, read, changes.rough)  # by these whole motions are differentiated
        u, q0, qd0, path = np.split(flat, np.cumsum([here.u.size, ndof, ndof]), axis=1)
        for i in range(n):
            name = changes.parameters[i].name
            if path[i].any():
                raise InputError("free", "numbers that leave driven motions as they are", f"'{name}'")
            if (q0[i].any() or qd0[i].any()) and (self.robot.n_multipliers or self.robot.coupling_names):
                got, hint = f"'{name}', of a robot with loops or couplings", "begin at equilibrium (q0)"
                raise InputError("free", "numbers that leave the start as it is", got, hint)
        u = u.reshape(n, *here.u.shape)
        for i, (one, _) in enumerate(values):
            if one.kind == INPUT:
                u[i, :, one.index] = 1.0
            elif one.kind == GAIN:
                u[i] = changes.derivative(i, partial(self._answers, here, values), ALONG)
        return Directions(u, q0, qd0)

    def check_memory(self, here: Moving, values: Values) -> None:
        """Refuse a controller that answers otherwise when it is asked again (InputError)."""
        again, sets = self._answers(here, values, 0, 0.0)[:, self.sets], self.sets
        off = np.abs(again - here.u[:, sets]).max(axis=1, initial=0.0)
        late = np.flatnonzero(off > SAME_INPUTS * np.abs(here.u[:, sets]).max(initial=0.0))
        if len(late):
            got = f"one that gives other inputs when it is called again at t = {here.t[late[0]]:g} s, in the same state"
            hint = "its arguments are all that it may know"
            raise InputError(f"{self.where}.controller", "a function without memory", got, hint)

    def _answers(self, here: Moving, values: Values, i: int, h: float) -> Array:
        """What the controller gives along a motion (N, n_actuators) where one of its numbers is larger by h."""
        moved = [(one, x + h if k == i else x) for k, (one, x) in enumerate(values)]
        control = self.controlled(here.robot, np.zeros_like(here.u), moved)
        return np.array([control(t, q, qd) for t, q, qd in zip(here.t[:-1].tolist(), here.q, here.qd, strict=False)])

    @property
    def arguments(self) -> dict[str, Any]:
        if self.controller is not None:
            hint = "save the runs and robots of the design"
            raise InputError("save", "cases without controllers", "a Python function, which no file keeps", hint)
        inputs, names = self.usual.inputs.specs, self.robot.actuator_names
        if self.u is not None and None in inputs:
            raise InputError("save", "inputs that are no functions of Python", f"'{names[inputs.index(None)]}'")
        return {
            "simulate": spread(self.options, STEPS), "q0": _as_data(self.q0), "qd0": _as_data(self.qd0),
            "u": None if self.u is None else dict(zip(names, inputs, strict=True)),
            "driven": None if self.driven is None else {name: one.spec for name, one in self.usual.driven.items()},
        }  # fmt: skip


def _as_data(value: Any) -> Any:
    """A start as JSON data."""
    if isinstance(value, Mapping):
        return {name: _as_data(x) for name, x in value.items()}
    return value if value is None or isinstance(value, str) else np.asarray(value).tolist()


# -- from arguments ----------------------------------------------------------------------------------------------------

CASE_KEYS = ("robot", "u", "driven", "q0", "qd0", "simulate", "controller")
OF_MOTIONS = ("qd0", "controller")


def case_of(name: str, given: object) -> Case:
    """A case from a robot, or a mapping with the key `robot` and others of `CASE_KEYS` (else InputError)."""
    where = f"cases.{name}" if name else "cases"
    parts: Mapping[str, Any] = {"robot": given} if isinstance(given, Robot) else given  # type: ignore[assignment]
    if not isinstance(parts, Mapping) or "robot" not in parts:
        raise InputError(where, "a robot, or a mapping with the key 'robot'", describe(given))
    for key in parts:
        if key not in CASE_KEYS:
            raise InputError(where, "a known key", f"'{key}'", nearest(str(key), CASE_KEYS))
    robot, options = check_robot(parts["robot"]), parts.get("simulate")
    common = name, robot, parts.get("u"), parts.get("driven")
    if options is None:
        if of_motions := [key for key in OF_MOTIONS if parts.get(key) is not None]:
            raise InputError(f"{where}.{of_motions[0]}", "a motion, with the key 'simulate'", "a robot at rest")
        case: Case = AtRest(*common, parts.get("q0"))
    else:
        if not isinstance(options, Mapping):
            raise InputError(f"{where}.simulate", "a mapping, as in {'t_end': '1 s', 'dt': '5 ms'}", describe(options))
        q0 = parts.get("q0")
        if isinstance(q0, Equilibrium | Run):
            q0 = q0.q if isinstance(q0, Equilibrium) else q0.q[-1]
        q0, qd0 = (_start(robot, key, value, where) for key, value in (("q0", q0), ("qd0", parts.get("qd0"))))
        case = InMotion(*common, q0, qd0, dict(options), parts.get("controller"), where)
    try:
        _ = case.usual
    except InputError as error:
        raise error.inside(where) from None
    return case


def _start(robot: Robot, key: str, value: Any, where: str) -> Any:
    """Coordinates or rates to start from: a word, all of them, or some by name, which loops keep (else InputError)."""
    where = f"{where}.{key}"
    if isinstance(value, str) and key == "q0":
        return choice(where, value, STARTS)
    if value is None:
        return None
    found = robot.coordinates(value, where, order=0 if key == "q0" else 1)
    return dict(value) if isinstance(value, Mapping) else found


def cases_of(given: object) -> tuple[Case, ...]:
    """Cases from a robot, or a mapping of names to robots (else InputError)."""
    if isinstance(given, Robot) or (isinstance(given, Mapping) and isinstance(given.get("robot"), Robot)):
        return (case_of("", given),)
    if not isinstance(given, Mapping) or not given:
        raise InputError("cases", "a robot, or a mapping of names to robots", describe(given))
    taken = (*RobotFile.key_names(), INPUT, DRIVEN, GAIN, ONLY)
    for name in given:
        if not isinstance(name, str) or not name.isidentifier() or name in taken:
            got = f"'{name}'" if isinstance(name, str) else describe(name)
            raise InputError("cases", "names of letters, digits and _ that are no words of robot files", got)
    return tuple(case_of(name, one) for name, one in given.items())
