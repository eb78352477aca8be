"""Options of runs, equilibria, sweeps and continuations, declared once: for functions, files and the command line.

A declaration has what a value may be, its meaning, an example and its default. A function checks its arguments by it
(`checked`), a file its block, and the command line makes its flags of it (`sorosim.cli.options.with_options`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from sorosim.declare import Boolean, Choice, Declared, Integer, Key, Name, Quantity, Text, Type
from sorosim.declare.base import INVALID, At, Define
from sorosim.errors import ModelError, nearest
from sorosim.problems import shown
from sorosim.solvers.registry import METHODS
from sorosim.units.quantity import quantity

STARTS = ("equilibrium", "assembled")
JACOBIANS = ("analytic", "finite-difference")
# relative tolerances below are lost in the rounding of the numbers themselves: steps would shrink without end
LEAST_RTOL = 1e2 * float(np.finfo(float).eps)
_SECONDS = Quantity("time", above=0.0)
_POSITIVE = Quantity("number", above=0.0)


@dataclass(frozen=True)
class ByName(Type):
    """Values by the names of inputs or coordinates, which the robot reads: it knows their dimensions."""

    name: Type
    what: str
    signals: bool = False

    def read(self, value: Any, at: At) -> Any:
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
            from sorosim.declare.types import SignalFile, SignalTable

            one = {"anyOf": [one, define(SignalTable), define(SignalFile)]}
        return {"type": "object", "additionalProperties": one}

    def within(self, part: str | int) -> Type | None:
        return self


@dataclass(frozen=True)
class Start(Type):
    """Coordinates to start from: a list of numbers, or a word."""

    def check(self, value: Any) -> tuple[float, ...] | str:
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
_COORDINATE = Text("the name of a coordinate or a link")


@dataclass(frozen=True)
class Option(Key):
    """A key that is optional, and its value where neither a function's caller nor the file gives one."""

    fallback: Any = None  # as a file writes it; None: there is none
    in_files: bool = True


def _option(type: Type, doc: str, example: str, fallback: Any = None, in_files: bool = True, without: str = "") -> Any:
    option = Option(type, doc, example, default=None, without=without, fallback=fallback, in_files=in_files)
    return field(default=None, kw_only=True, metadata={"key": option})


@dataclass(frozen=True)
class RunOptions(Declared):
    """How the motion of a robot is integrated."""

    _: KW_ONLY
    t_end: float | None = _option(_SECONDS, "End of the simulation; it begins at 0.", "10 s")
    dt_out: float | None = _option(_SECONDS, "Interval of the results.", "10 ms", "10 ms")
    q0: Any = _option(
        Start(),
        "Start: equilibrium, that under the inputs at t = 0; assembled, the initial block with its loops closed; or a "
        "list of coordinates.",
        "equilibrium", without="the initial block",
    )  # fmt: skip
    method: str | None = _option(
        Choice(METHODS),
        f"Integrator: {', '.join(METHODS[:-1])} or {METHODS[-1]}; by default of rigid robots that touch nothing "
        "radau, of concentric tubes generalized-alpha.",
        "bdf",
        "bdf",
    )
    rtol: float | None = _option(
        Quantity("number", least=LEAST_RTOL),
        "Relative tolerance; of rigid robots that touch nothing 1e-7 by bdf, lsoda, cvode and ida, atol 1e-10, unless "
        "one of both is given.",
        "1e-4", "1e-5",
    )  # fmt: skip
    atol: float | None = _option(
        _POSITIVE,
        "Absolute tolerance of coordinates and rates; under loops that of rates is atol over closing_time.",
        "1e-7",
        "1e-8",
    )
    step: float | None = _option(
        _SECONDS,
        "Fixed step of methods newmark and generalized-alpha, which is chosen by the tolerances without it.",
        "1 ms",
    )
    spectral_radius: float | None = _option(
        Quantity("number", least=0.0, upto=1.0),
        "What the generalized-alpha method leaves of too stiff motions after a step, 0 to 1.",
        "0.5", "0.8",
    )  # fmt: skip


@dataclass(frozen=True)
class SimulateOptions(RunOptions, title="Simulation"):
    """Default arguments of `sorosim.simulate` in the file of a robot."""

    u: Mapping[str, Any] | None = _option(
        ByName(Name(), _SIGNAL, True),
        "Inputs by the names of actuators: a number, an expression of t, a table or a CSV file.",
        "{cable: 5 N*sin(2*t)}",
    )
    driven: Mapping[str, Any] | None = _option(
        ByName(_COORDINATE, _SIGNAL, True),
        "Motions, as u: by the names of links whose joint has one coordinate, or of coordinates. They must not jump, "
        "nor must their rates.",
        "{lid: 30 deg*t, ball.free.rx: 0.1*sin(t)}",
    )
    checkpoint: float | None = _option(
        _SECONDS, "The integrator starts anew every so often; sorosim resume then repeats the very bits.", "1 s"
    )
    closing_time: float | None = _option(
        _SECONDS,
        "Time constant with which methods bdf, radau, lsoda and cvode close loops again (Baumgarte stabilisation).",
        "5 ms", "10 ms",
    )  # fmt: skip
    projection: bool | None = _option(
        Boolean(),
        "Whether newmark and generalized-alpha move rates onto those that keep loops closed.",
        "true", False,
    )  # fmt: skip
    max_steps: float | None = _option(
        Quantity("number", least=1.0, infinite=True),
        "Most steps of the integrator. Without it the run ends where it stalls.",
        "1e6",
    )
    max_wall_time: float | None = _option(_SECONDS, "Most time on the clock; without it there is no limit.", "1 h")
    verify: bool | None = _option(
        Boolean(),
        "Whether a companion run by finer steps follows, which tells the error: run.error_estimate.",
        "true", False,
    )  # fmt: skip


_JACOBIAN_DOC = f"Jacobian of the equations: {JACOBIANS[0]}, or for comparison {JACOBIANS[1]}."


@dataclass(frozen=True)
class SimulateArguments(SimulateOptions):
    """Arguments of `sorosim.simulate` that are numbers and choices."""

    jacobian: str | None = _option(Choice(JACOBIANS), _JACOBIAN_DOC, JACOBIANS[1], JACOBIANS[0], False)
    max_step: float | None = _option(
        Quantity("time", above=0.0, infinite=True),
        "Largest step; without it there is no limit.",
        "1 ms",
        math.inf,
        False,
    )
    dt_control: float | None = _option(_SECONDS, "Sampling time of the controller.", "20 ms", None, False)


STEP_METHODS = ("generalized-alpha", "newmark", "euler")


@dataclass(frozen=True)
class StepOptions(Declared):
    """How a robot moves in equal steps under held inputs."""

    _: KW_ONLY
    method: str | None = _option(
        Choice(STEP_METHODS), f"Integrator: {', '.join(STEP_METHODS[:-1])} or {STEP_METHODS[-1]}.", STEP_METHODS[0],
        STEP_METHODS[0],
    )  # fmt: skip
    substeps: int | None = _option(Integer(1, 1_000_000), "Steps of the integrator in each interval.", "4", 1)
    spectral_radius: float | None = _option(
        Quantity("number", least=0.0, upto=1.0),
        "What the generalized-alpha method leaves of too stiff motions after a step, 0 to 1.",
        "0.5", "0.8",
    )  # fmt: skip


@dataclass(frozen=True)
class StepArguments(StepOptions):
    """Arguments of `sorosim.Stepper`, `rollout` and `Batch` that are numbers and choices."""

    dt: float | None = _option(_SECONDS, "Time over which inputs are held.", "10 ms", None, False)
    tolerance: float | None = _option(
        Quantity("number", least=LEAST_RTOL), "Of Newton's method, relative to 1 + |q|.", "1e-10"
    )


@dataclass(frozen=True)
class FmuArguments(StepArguments):
    """Arguments of `sorosim.export_fmu` that are numbers and choices."""

    dt: float | None = _option(_SECONDS, "Longest step of the integrator.", "2 ms", "5 ms", False)


@dataclass(frozen=True)
class LiveArguments(StepOptions):
    """Arguments of `sorosim.live` that are numbers and choices."""

    dt: float | None = _option(_SECONDS, "Time over which inputs are held.", "2 ms", "5 ms", False)
    speed: float | None = _option(_POSITIVE, "Seconds of the motion per second.", "0.25", "1", False)
    port: int | None = _option(Integer(0, 65_535), "Port of the page; 0: one that is free.", "8081", 8080, False)


@dataclass(frozen=True)
class StaticsOptions(Declared, title="Statics"):
    """Default arguments of `sorosim.statics` in the file of a robot."""

    _: KW_ONLY
    u: Mapping[str, Any] | None = _option(
        ByName(Name(), "a number or a quantity"), "Inputs by the names of actuators.", "{cable: 3 N}"
    )
    driven: Mapping[str, Any] | None = _option(
        ByName(_COORDINATE, "a number or a quantity"),
        "Coordinates that are held, by name or by the link whose joint has one.",
        "{lid: 30 deg}",
    )
    stable: bool | None = _option(
        Boolean(), "Whether to go on from an unstable equilibrium to a stable one.", "false",
        True,
    )  # fmt: skip


@dataclass(frozen=True)
class StaticsArguments(StaticsOptions):
    """Arguments of `sorosim.statics` that are numbers and choices."""

    jacobian: str | None = _option(Choice(JACOBIANS), _JACOBIAN_DOC, JACOBIANS[1], JACOBIANS[0], False)


@dataclass(frozen=True)
class ContinuationArguments(Declared):
    """Arguments of `sorosim.continuation` that are numbers and choices; lengths are those of the curve."""

    _: KW_ONLY
    both: bool | None = _option(Boolean(), "Whether to go both ways from the start.", "true", False)
    ds: float | None = _option(_POSITIVE, "First step along the curve, whose length is about 1.", "0.02", "0.02")
    ds_max: float | None = _option(_POSITIVE, "Longest step along the curve.", "0.05", "0.1")
    ds_min: float | None = _option(_POSITIVE, "Shortest step along the curve.", "1e-8", "1e-7")
    max_points: int | None = _option(
        Integer(2, 10_000_000), "How many equilibria at most, each way and each branch.", "100", "500"
    )
    stability: bool | None = _option(Boolean(), "Whether to look at the stability of every equilibrium.", "false", True)


EFFORTS = ("inputs", "energy")


@dataclass(frozen=True)
class InverseArguments(Declared):
    """Arguments of `sorosim.inverse` that are numbers and choices."""

    _: KW_ONLY
    effort: str | None = _option(
        Choice(EFFORTS),
        "Of all states that reach the targets, that of the least: inputs, the sum of their squares over their ranges; "
        "or energy, that of the strains and springs.",
        EFFORTS[1], EFFORTS[0],
    )  # fmt: skip
    tolerance: float | None = _option(
        _POSITIVE, "Error, over the size of the robot, that counts as reached.", "1e-6", "1e-8"
    )
    starts: int | None = _option(
        Integer(0, 1000), "From how many other states to search where the first search does not reach the targets, and "
        "then from how many to which the robot jumps at a fold.",
        "10", 8,
    )  # fmt: skip
    stable: bool | None = _option(
        Boolean(), "Whether to look for another equilibrium where the one found is unstable.", "false", True
    )


SOLVERS = ("ddp", "fddp", "l-bfgs-b")


@dataclass(frozen=True)
class ControlOptions(Declared):
    """Arguments of `sorosim.optimal_control` and `MPC` that are numbers and choices, but for those of steps."""

    _: KW_ONLY
    horizon: float | None = _option(_SECONDS, "How long the motion is, a multiple of dt.", "3 s")
    dt: float | None = _option(_SECONDS, "Time over which inputs are held.", "20 ms")
    solver: str | None = _option(
        Choice(SOLVERS),
        "Differential dynamic programming (ddp), that of crocoddyl (fddp), or SciPy's quasi-Newton method (l-bfgs-b).",
        "l-bfgs-b", "ddp",
    )  # fmt: skip
    iterations: int | None = _option(Integer(1, 1_000_000), "Most iterations.", "100", 500)
    tolerance: float | None = _option(
        _POSITIVE, "Change of the cost, relative to it, at which the search ends.", "1e-8", "1e-5"
    )


def given(options: Declared) -> dict[str, Any]:
    """What options say."""
    return {name: value for name in options.declaration() if (value := getattr(options, name)) is not None}


_EMPTY: Mapping[str, Any] = {}


def checked(kind: type[Declared], arguments: Mapping[str, Any], block: Mapping[str, Any] = _EMPTY) -> dict[str, Any]:
    """Numbers and choices among the arguments of a function, checked (InputError).

    One that is None is what the file's block says, or else the declared one. Inputs, driven coordinates and starts,
    whose dimensions the robot knows, are left out.
    """
    out = {}
    for name, key in kind.declaration().items():
        if isinstance(key.type, ByName | Start):
            continue
        fallback = key.fallback if isinstance(key, Option) else None
        options = (arguments.get(name), block.get(name), fallback)
        value = next((value for value in options if value is not None), None)
        out[name] = None if value is None else key.type.argument(name, value)
    return out
