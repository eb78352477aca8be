"""Options of runs and equilibria, declared once: for functions, files, sweeps and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sorosim.declare import Choice, Declared, Name, Quantity, Text, Truth, Type, key
from sorosim.declare.base import WRONG, At, Define
from sorosim.errors import ModelError, nearest
from sorosim.problems import shown
from sorosim.solvers.registry import METHODS
from sorosim.units.quantity import quantity

STARTS = ("equilibrium", "assembled")
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
        return dict(value) if len(at.scope.problems) == n_problems else WRONG

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


def _optional(type: Type, doc: str, example: str) -> Any:
    return key(type, doc, example, default=None, kw_only=True)


@dataclass(frozen=True)
class RunOptions(Declared):
    """How the motion of a robot is integrated."""

    _: KW_ONLY
    t_end: float | None = _optional(_SECONDS, "End of the simulation; it begins at 0.", "10 s")
    dt_out: float | None = _optional(_SECONDS, "Interval of the results.", "10 ms")
    q0: Any = _optional(
        Start(),
        "Start: coordinates, or one of the words equilibrium and assembled, which means the initial block with its "
        "loops closed.",
        "equilibrium",
    )
    method: str | None = _optional(Choice(METHODS), f"Integrator: {', '.join(METHODS[:-1])} or {METHODS[-1]}.", "bdf")
    rtol: float | None = _optional(_POSITIVE, "Relative tolerance.", "1e-4")
    atol: float | None = _optional(_POSITIVE, "Absolute tolerance.", "1e-7")
    step: float | None = _optional(
        _SECONDS,
        "Fixed step of methods newmark and generalized-alpha, which is chosen by the tolerances without it.",
        "1 ms",
    )
    spectral_radius: float | None = _optional(
        Quantity("number", least=0.0, upto=1.0),
        "What the generalized-alpha method leaves of too stiff motions after a step, 0 to 1.",
        "0.5",
    )


@dataclass(frozen=True)
class SimulateOptions(RunOptions, title="Simulation"):
    """Default arguments of `sorosim.simulate` in the file of a robot."""

    u: Mapping[str, Any] | None = _optional(
        ByName(Name(), _SIGNAL, True),
        "Inputs by the names of actuators: a number, an expression of t, a table or a CSV file.",
        "{cable: 5 N*sin(2*t)}",
    )
    driven: Mapping[str, Any] | None = _optional(
        ByName(_COORDINATE, _SIGNAL, True),
        "Motions, as u: by the names of links whose joint has one coordinate, or of coordinates. They must not jump, "
        "nor must their rates.",
        "{lid: 30 deg*t, ball.free.rx: 0.1*sin(t)}",
    )
    checkpoint: float | None = _optional(
        _SECONDS, "The integrator starts anew every so often; sorosim resume then repeats the very bits.", "1 s"
    )
    closing_time: float | None = _optional(
        _SECONDS,
        "Time constant with which methods bdf, radau, lsoda and cvode close loops again (Baumgarte stabilisation).",
        "5 ms",
    )
    projection: bool | None = _optional(
        Truth(),
        "Whether newmark and generalized-alpha move rates onto those that keep loops closed: true or false.",
        "true",
    )
    max_steps: float | None = _optional(
        Quantity("number", least=1.0), "Most steps of the integrator. Without it the run ends where it stalls.", "1e6"
    )
    max_wall_time: float | None = _optional(_SECONDS, "Most time on the clock; without it there is no limit.", "1 h")


@dataclass(frozen=True)
class StaticsOptions(Declared, title="Statics"):
    """Default arguments of `sorosim.statics` in the file of a robot."""

    _: KW_ONLY
    u: Mapping[str, Any] | None = _optional(
        ByName(Name(), "a number or a quantity"), "Inputs by the names of actuators.", "{cable: 3 N}"
    )
    driven: Mapping[str, Any] | None = _optional(
        ByName(_COORDINATE, "a number or a quantity"),
        "Coordinates that are held, by name or by the link whose joint has one.",
        "{lid: 30 deg}",
    )
    stable: bool | None = _optional(
        Truth(), "Whether to go on from an unstable equilibrium to a stable one: true, the default, or false.", "false"
    )


def given(options: Declared) -> dict[str, Any]:
    """What options say."""
    return {name: value for name in options.declaration() if (value := getattr(options, name)) is not None}
