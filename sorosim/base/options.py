"""Options of runs, equilibria, sweeps and continuations, declared once: for functions, files and the command line.

A declaration has what a value may be, its meaning, an example and its default. A function checks its arguments by it
(`checked`), a file its block, and the command line makes its flags of it (`sorosim.connect.cli.options.with_options`).
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

from sorosim.base.declare import Boolean, Choice, Declared, Integer, Name, Quantity, Text, Type
from sorosim.base.declare.base import INVALID, At, Define
from sorosim.base.declare.composite import keys_schema
from sorosim.base.errors import InputError, ModelError, nearest
from sorosim.base.methods import (
    JACOBIANS,
    METHODS,
    MOTIONS,
    OTHERS,
    POSITIVE,
    SECONDS,
    STEP_METHODS,
    STEPS,
    USUAL,
    USUAL_WORDS,
    GeneralizedAlpha,
    MethodType,
    Option,
    method_class,
    method_type,
    option,
    option_docstring,
    options_by_name,
    spread,
)
from sorosim.base.problems import shown
from sorosim.base.units.quantity import quantity
from sorosim.base.validation import describe

T = TypeVar("T")

STARTS = ("equilibrium", "assembled")


@dataclass(frozen=True)
class ByName(Type):
    """Values by the names of inputs or coordinates, which the robot reads: it knows their dimensions."""

    name: Type
    what: str
    signals: bool = False

    def read(self, value: object, at: At) -> Any:
        if not isinstance(value, Mapping):
            return at.fail("a mapping of names", shown(value))
        n_problems = len(at.scope.problems)
        for name, entry in value.items():
            here = at / name
            here.attempt(lambda name=name: self.name.check(name), at_key=True)
            plain = isinstance(entry, int | float | str) and not isinstance(entry, bool)
            if not plain and not (self.signals and isinstance(entry, Mapping)):
                here.fail(
                    *(
                        ("a value", "nothing", "write one after the colon")
                        if entry is None
                        else (self.what, shown(entry))
                    )
                )
        return dict(value) if len(at.scope.problems) == n_problems else INVALID

    def schema(self, define: Define) -> dict[str, Any]:
        one: dict[str, Any] = {"type": ["number", "string"]}
        if self.signals:
            from sorosim.base.declare.types import SignalFile, SignalTable

            one = {"anyOf": [one, define(SignalTable), define(SignalFile)]}
        return {"type": "object", "additionalProperties": one, **keys_schema(self.name)}

    def within(self, part: str | int) -> Type | None:
        return self


@dataclass(frozen=True)
class Start(Type):
    """Coordinates to start from: a list of numbers, or a word."""

    def check(self, value: object) -> tuple[float, ...] | str:
        if isinstance(value, str) and value in STARTS:
            return value
        if isinstance(value, str) and value.startswith("["):  # of the command line
            value = value.strip("[]").split(",")
        if not isinstance(value, list | tuple):
            hint = nearest(value, STARTS) if isinstance(value, str) else ""
            expected = f"{', '.join(STARTS)}, or a list of coordinates"
            raise ModelError("", expected, shown(value), "" if hint.startswith("known") else hint)
        return tuple(quantity(entry, "number", f"[{i}]") for i, entry in enumerate(value))

    def schema(self, define: Define) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(STARTS)}, {"type": "array", "items": {"type": ["number", "string"]}}]}

    def within(self, part: str | int) -> Type | None:
        return Quantity("number") if isinstance(part, int) else None


_SIGNAL = "a number, an expression of t, {times, values} or {csv}"
_COORDINATE = Text("the name of a coordinate or a link", "links")


@dataclass(frozen=True)
class Function(Type):
    """A function of a caller."""

    what: str

    def check(self, value: object) -> Any:
        if not callable(value):
            raise ModelError("", self.what, describe(value))
        return value


def with_options(use: str) -> Callable[[type[T]], type[T]]:
    """Let declared options have those of the methods of a use, as keys beside `method`, and be a frozen dataclass."""

    @dataclass_transform(kw_only_default=True, frozen_default=True)
    def decorate(cls: type[T]) -> type[T]:
        for name, key in options_by_name(use).items():
            cls.__annotations__[name] = "Any"
            setattr(cls, name, field(default=None, kw_only=True, metadata={"key": key, "of methods": True}))
        return dataclass(frozen=True)(cls)

    return decorate


def documents_options(kind: type[Declared]) -> Callable[[T], T]:
    """Let the docstring of a function, or of a class, tell in the place of {options} what it takes by **options."""

    def decorate(thing: T) -> T:
        keys, own, method = kind.declaration(), inspect.signature(thing).parameters, method_type(kind)  # type: ignore[arg-type]
        short = options_by_name(method.use)
        others = [option_docstring(name, key) for name, key in keys.items() if name not in (*own, *short)]
        words = f"Options of the method, short for those of its object: {', '.join(short)}."
        text = "".join([*others, "**options\n", textwrap.indent(textwrap.fill(words, 112), "    ")])
        classes = ", ".join(method_class(name).__name__ for name in method.known)
        known = {"{options}": text, "{methods}": f"{classes}, or the name of one", "{usual}": USUAL_WORDS}
        told_so = inspect.cleandoc(thing.__doc__ or "")
        for mark, words in known.items():
            told_so = told_so.replace(mark, words)
        thing.__doc__ = told_so
        return thing

    return decorate


@with_options(MOTIONS)
class RunOptions(Declared):
    """How the motion of a robot is integrated."""

    _: KW_ONLY
    t_end: float | None = option(SECONDS, "End of the simulation; it begins at 0.", "10 s")
    dt_out: float | None = option(SECONDS, "Interval of the results.", "10 ms", "10 ms")
    q0: Any = option(
        Start(),
        "Start: equilibrium, that under the inputs at t = 0; assembled, the initial block with its loops closed; or a "
        "list of coordinates.",
        "equilibrium",
        without="the initial block",
    )
    method: Any = option(
        MethodType(MOTIONS),
        f"Integrator, {', '.join(METHODS[:-1])} or {METHODS[-1]}; in files also with its options. By default "
        f"{USUAL_WORDS}.",
        "{generalized-alpha: {step: 1 ms}}",
        USUAL[OTHERS],
    )

    def validate(self) -> None:
        spread(given(self), MOTIONS)


@dataclass(frozen=True)
class SimulateOptions(RunOptions, title="Simulation"):
    """Default arguments of `sorosim.simulate` in the file of a robot."""

    u: Mapping[str, Any] | None = option(
        ByName(Name("actuators"), _SIGNAL, True),
        "Inputs by the names of actuators: a number, an expression of t, a table or a CSV file.",
        "{cable: 5 N*sin(2*t)}",
    )
    driven: Mapping[str, Any] | None = option(
        ByName(_COORDINATE, _SIGNAL, True),
        "Motions, as u: by the names of links whose joint has one coordinate, or of coordinates. They must not jump, "
        "nor must their rates.",
        "{lid: 30 deg*t, ball.free.rx: 0.1*sin(t)}",
    )
    checkpoint: float | None = option(
        SECONDS, "The integrator starts anew every so often; sorosim resume then repeats the very bits.", "1 s"
    )
    max_steps: float | None = option(
        Quantity("number", least=1.0, infinite=True),
        "Most steps of the integrator, of cvode and ida those that they try; without it the run ends where it stalls.",
        "1e6",
    )
    max_wall_time: float | None = option(
        SECONDS, "Most time on the clock, looked at after some steps; without it there is no limit.", "1 h"
    )
    verify: bool | None = option(
        Boolean(),
        "Whether a companion run by finer steps follows, which tells the error: run.error_estimate.",
        "true",
        False,
    )


_JACOBIAN_DOC = f"Jacobian of the equations: {JACOBIANS[0]}, or for comparison {JACOBIANS[1]}."


@dataclass(frozen=True)
class SimulateArguments(SimulateOptions):
    """Arguments of `sorosim.simulate` that are numbers and choices."""

    dt_control: float | None = option(SECONDS, "Sampling time of the controller.", "20 ms", None, False)
    dense: bool | None = option(
        Boolean(), "Whether the integrator's own interpolation is kept, for `Run.at`.", "true", False, False
    )
    progress: Any = option(
        Function("a function of time"),
        "Called with the time there at each evaluation, which may fall back a little where a step is tried again; by "
        "newmark, generalized-alpha and ida when they have come to a row.",
        "", None, False,
    )  # fmt: skip


@with_options(STEPS)
class StepOptions(Declared):
    """How a robot moves in equal steps under held inputs."""

    _: KW_ONLY
    method: Any = option(
        MethodType(STEPS),
        f"Integrator, {', '.join(STEP_METHODS[:-1])} or {STEP_METHODS[-1]}; in files also with its options.",
        GeneralizedAlpha.kind,
        GeneralizedAlpha.kind,
    )


@dataclass(frozen=True)
class StepArguments(StepOptions):
    """Arguments of `sorosim.Stepper`, `rollout` and `Batch` that are numbers and choices."""

    dt: float | None = option(SECONDS, "Time over which inputs are held.", "10 ms", None, False)


@dataclass(frozen=True)
class FmuArguments(StepArguments):
    """Arguments of `sorosim.export_fmu` that are numbers and choices."""

    dt: float | None = option(SECONDS, "Longest step of the integrator.", "2 ms", "5 ms", False)


@dataclass(frozen=True)
class LiveArguments(StepOptions):
    """Arguments of `sorosim.live` that are numbers and choices."""

    dt: float | None = option(SECONDS, "Time over which inputs are held.", "2 ms", "5 ms", False)
    speed: float | None = option(POSITIVE, "Seconds of the motion per second.", "0.25", "1", False)
    port: int | None = option(Integer(0, 65_535), "Port of the page; 0: one that is free.", "8081", 8080, False)


@dataclass(frozen=True)
class StaticsOptions(Declared, title="Statics"):
    """Default arguments of `sorosim.statics` in the file of a robot."""

    _: KW_ONLY
    u: Mapping[str, Any] | None = option(
        ByName(Name("actuators"), "a number or a quantity"), "Inputs by the names of actuators.", "{cable: 3 N}"
    )
    driven: Mapping[str, Any] | None = option(
        ByName(_COORDINATE, "a number or a quantity"),
        "Coordinates that are held, by name or by the link whose joint has one.",
        "{lid: 30 deg}",
    )
    stable: bool | None = option(
        Boolean(), "Whether to go on from an unstable equilibrium to a stable one.", "false",
        True,
    )  # fmt: skip


@dataclass(frozen=True)
class StaticsArguments(StaticsOptions):
    """Arguments of `sorosim.statics` that are numbers and choices."""

    jacobian: str | None = option(Choice(JACOBIANS), _JACOBIAN_DOC, JACOBIANS[1], JACOBIANS[0], False)


@dataclass(frozen=True)
class ModeArguments(Declared):
    """Arguments of `Linearization.mode` that are numbers and choices."""

    _: KW_ONLY
    periods: int | None = option(
        Integer(1, 10_000), "How many periods of it are shown, of what oscillates.", "3", "1", False
    )
    amplitude: float | None = option(
        POSITIVE, "Largest displacement of a point, as a part of the robot's size.", "0.2", "0.1", False
    )
    decay: bool | None = option(
        Boolean(), "Whether an oscillation decays, or grows, as it does in truth.", "true", False, False
    )


@dataclass(frozen=True)
class ModesArguments(ModeArguments):
    """Options of a list of modes."""

    number: int | None = option(
        Integer(1, 10_000), "How many modes are listed; up to 24 of them are drawn.", "4", "10", False
    )


@dataclass(frozen=True)
class ContinuationArguments(Declared):
    """Arguments of `sorosim.continuation` that are numbers and choices; lengths are those of the curve."""

    _: KW_ONLY
    both: bool | None = option(Boolean(), "Whether to go both ways from the start.", "true", False)
    ds: float | None = option(POSITIVE, "First step along the curve, whose length is about 1.", "0.02", "0.02")
    ds_max: float | None = option(POSITIVE, "Longest step along the curve.", "0.05", "0.1")
    ds_min: float | None = option(POSITIVE, "Shortest step along the curve.", "1e-8", "1e-7")
    max_points: int | None = option(
        Integer(2, 10_000_000), "How many equilibria at most, each way and each branch.", "100", "500"
    )
    stability: bool | None = option(Boolean(), "Whether to look at the stability of every equilibrium.", "false", True)


EFFORTS = ("inputs", "energy")


@dataclass(frozen=True)
class InverseArguments(Declared):
    """Arguments of `sorosim.inverse` that are numbers and choices."""

    _: KW_ONLY
    effort: str | None = option(
        Choice(EFFORTS),
        "Of all states that reach the targets, that of the least: inputs, the sum of their squares over their ranges; "
        "or energy, that of the strains and springs.",
        EFFORTS[1],
        EFFORTS[0],
    )
    tolerance: float | None = option(
        POSITIVE, "Error, over the size of the robot, that counts as reached.", "1e-6", "1e-8"
    )
    starts: int | None = option(
        Integer(0, 1000), "From how many other states to search where the first search does not reach the targets, and "
        "then from how many to which the robot jumps at a fold.",
        "10", 8,
    )  # fmt: skip
    stable: bool | None = option(
        Boolean(), "Whether to look for another equilibrium where the one found is unstable.", "false", True
    )


SOLVERS = ("ddp", "fddp", "l-bfgs-b")


@dataclass(frozen=True)
class ControlOptions(Declared):
    """Arguments of `sorosim.optimal_control` and `MPC` that are numbers and choices, but for those of steps."""

    _: KW_ONLY
    horizon: float | None = option(SECONDS, "How long the motion is, a multiple of dt.", "3 s")
    dt: float | None = option(SECONDS, "Time over which inputs are held.", "20 ms")
    solver: str | None = option(
        Choice(SOLVERS),
        "Differential dynamic programming (ddp), that of crocoddyl (fddp), or SciPy's quasi-Newton method (l-bfgs-b).",
        "l-bfgs-b",
        "ddp",
    )
    iterations: int | None = option(Integer(1, 1_000_000), "Most iterations.", "100", 500)
    tolerance: float | None = option(
        POSITIVE, "Change of the cost, relative to it, at which the search ends.", "1e-8", "1e-5"
    )


def given(options: Declared) -> dict[str, Any]:
    """What options say."""
    return {name: value for name in options.declaration() if (value := getattr(options, name)) is not None}


_EMPTY: Mapping[str, Any] = {}


def checked(
    kind: type[Declared], arguments: Mapping[str, object], block: Mapping[str, object] = _EMPTY
) -> dict[str, Any]:
    """Numbers and choices among the arguments of a function, checked (InputError).

    One that is None is what the file's block says, or else the declared one. Inputs, driven coordinates and starts,
    whose dimensions the robot knows, are left out. A method with options becomes its name and these.
    """
    out, keys = {}, kind.declaration()
    if "method" in keys:
        arguments, keys = _with_method(kind, arguments, block)
    for name, key in keys.items():
        if isinstance(key.type, ByName | Start):
            continue
        fallback = key.fallback if isinstance(key, Option) else None
        options = (arguments.get(name), block.get(name), fallback)
        value = next((value for value in options if value is not None), None)
        out[name] = None if value is None else key.type.argument(name, value)
    return out


def _with_method(
    kind: type[Declared], arguments: Mapping[str, object], block: Mapping[str, object]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments with the options of their method, and keys with those of its own.

    Arguments that are not known, and options of other methods, but for what is their default, are refused.
    """
    keys: Mapping[str, Any] = kind.declaration()
    method = method_type(kind)
    arguments = spread(arguments, method.use)
    name = arguments.get("method") or method.argument("method", block.get("method") or keys["method"].fallback)
    own, others = method_class(name).options(method.use), options_by_name(method.use)
    of_methods = {one.name for one in fields(kind) if "of methods" in one.metadata}  # type: ignore[arg-type]
    if taken := [one for one in own if one in keys and one not in of_methods]:
        raise InputError("method", f"options of {name} that no argument is named as", ", ".join(taken))
    keys = {**keys, **own}
    for one, value in arguments.items():
        if one not in keys:
            raise InputError(one, "a known argument", "an unknown one", nearest(one, keys))
        if value is None or one in own or one not in others:
            continue
        if others[one].type.argument(one, value) != others[one].usual:
            having = [known for known in method.known if one in method_class(known).options(method.use)]
            expected = f"an option of method {name} ({', '.join(own)})"
            words = " and ".join([*([", ".join(having[:-1])] if len(having) > 1 else []), *having[-1:]])
            raise InputError(one, expected, f"one of {words}")
    return arguments, keys


def unused_options(block: Mapping[str, object], method: str) -> list[str]:
    """Options of other methods that a file's `simulate` block gives, but for what is their default."""
    own, keys = method_class(method).options(MOTIONS), options_by_name(MOTIONS)
    return [name for name in keys if name not in own and block.get(name) not in (None, keys[name].usual)]
