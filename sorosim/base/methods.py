"""Methods of integration: values that hold their options, known by name.

An option is declared in the class of the methods that have it. Arguments of functions, keys of files and flags of
commands follow from there: `method="bdf", rtol=1e-6` is short for `method=BDF(rtol=1e-6)`, see `spread`.
"""

from __future__ import annotations

import inspect
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from sorosim.base.declare import Boolean, Choice, Declared, Integer, Key, Part, Quantity, Type
from sorosim.base.declare.base import INVALID, NOTHING, At, Define, Writer
from sorosim.base.declare.composite import both
from sorosim.base.errors import InputError, nearest
from sorosim.base.ode import OdeProblem, OdeSolution, without_rate
from sorosim.base.problems import listed, shown
from sorosim.base.registry import INTEGRATORS

T = TypeVar("T", bound=type)

# what methods are for
MOTIONS, STEPS = "simulate", "steps under held inputs"
# relative tolerances below are lost in the rounding of the numbers themselves: steps would shrink without end
LEAST_RTOL = 1e2 * float(np.finfo(float).eps)
JACOBIANS = ("analytic", "finite-difference")
SECONDS = Quantity("time", above=0.0)
POSITIVE = Quantity("number", above=0.0)
# by which method a robot moves where none is given, by what it is (docs/solvers.md)
UNDAMPED, TWISTING, OTHERS = "rigid robots that touch nothing", "concentric tubes", "other robots"
USUAL = {UNDAMPED: "radau", TWISTING: "generalized-alpha", OTHERS: "bdf"}
USUAL_WORDS = f"{USUAL[OTHERS]}; of " + ", of ".join(f"{one} {name}" for one, name in USUAL.items() if one != OTHERS)
# tolerances of multistep methods where nothing damps what they do wrong: with them they are right to 1e-3 of the way
UNDAMPED_TOLERANCES = {"rtol": "1e-7", "atol": "1e-10"}


@dataclass(frozen=True)
class Option(Key):
    """A key that is optional, and its value where neither a function's caller nor the file gives one."""

    fallback: Any = None  # as a file writes it; None: there is none
    in_files: bool = True
    use: str = ""  # of methods: the only one in which it has a meaning

    @property
    def usual(self) -> Any:
        """The declared default as it is stored."""
        return None if self.fallback is None else self.type.argument("", self.fallback)


def option(
    type: Type, doc: str, example: str, fallback: object = None, in_files: bool = True, without: str = "", use: str = ""
) -> Any:
    """Declare an option: its type, meaning, an example as a file writes it, and what holds without it."""
    declared = Option(type, doc, example, default=None, without=without, fallback=fallback, in_files=in_files, use=use)
    return field(default=None, kw_only=True, metadata={"key": declared})


def option_docstring(name: str, key: Key, undamped: bool = False) -> str:
    """What a docstring says of an option: type, meaning, unit, bounds and default."""
    kind, unit = key.type, key.type.schema(lambda _: {}).get("x-unit", "")
    bounds = kind.condition if isinstance(kind, Quantity) else ""
    if isinstance(kind, Integer):
        types, bounds = "int", f"from {kind.least} to {kind.upto}"
    elif isinstance(kind, Quantity):
        types = "float or str" if unit else "float"
    else:
        types = "bool" if isinstance(kind, Boolean) else "callable"
        if isinstance(kind, Choice):
            types = "{" + ", ".join(f'"{word}"' for word in kind.words) + "}"
    fallback = getattr(key, "fallback", None)
    default = "" if fallback in (None, math.inf) else f" Default: {fallback}."
    if undamped and name in UNDAMPED_TOLERANCES:
        default = f"{default[:-1]}; {_where_undamped(name)}."
    about = ", ".join(filter(None, [unit, bounds]))
    text = f"{key.doc}{default}{f' [{about}]' if about else ''}"
    return f"{name} : {types}\n{textwrap.fill(text, 116, initial_indent='    ', subsequent_indent='    ')}\n"


def _where_undamped(name: str) -> str:
    return f"of {UNDAMPED} {UNDAMPED_TOLERANCES[name]} where neither rtol nor atol is given"


@dataclass_transform(kw_only_default=True, frozen_default=True)
def method(cls: T) -> T:
    """Make the class of a method a frozen dataclass whose docstring tells its options as they are declared."""
    made: Any = dataclass(frozen=True, repr=False)(cls)
    options = "".join(
        option_docstring(name, key, getattr(made, "multistep", False)) for name, key in made.declaration().items()
    )
    made.__doc__ = (
        f"{inspect.cleandoc(cls.__doc__ or '')}\n\nParameters\n----------\n{options}" if options else cls.__doc__
    )
    return made  # type: ignore[no-any-return]


@method
class Method(Declared):
    """A method of integration and its options. One that is None is that of the robot's file, or the default."""

    registry = INTEGRATORS
    uses: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.given().items())})"

    def __reduce__(self) -> tuple[object, ...]:  # the class of a registered function has no name in a module
        return method_of, ({"method": self.kind, **self.given()},)

    def given(self) -> dict[str, Any]:
        """Options that are given, by name."""
        return {name: value for name in self.declaration() if (value := getattr(self, name)) is not None}

    @classmethod
    def options(cls, use: str) -> dict[str, Option]:
        """Options that have a meaning in a use."""
        keys = cls.declaration().items()
        return {name: key for name, key in keys if isinstance(key, Option) and key.use in ("", use)}


@method
class MotionMethod(Method):
    """A method of `simulate`."""

    uses: ClassVar[tuple[str, ...]] = (MOTIONS,)
    # of many steps, whose formulas of order three and above are unstable near undamped motions: they follow each
    # oscillation of a stiff rod that has no damping, and feed or drain the energy of what swings on
    multistep: ClassVar[bool] = False
    uses_newton: ClassVar[bool] = False  # `OdeProblem.newton`
    verified_by: ClassVar[str] = ""  # the method of a companion: errors that two share go unseen; default: the same

    rtol: float | None = option(
        Quantity("number", least=LEAST_RTOL), "Relative tolerance of a step.", "1e-4", "1e-5", use=MOTIONS
    )
    atol: float | None = option(
        POSITIVE, "Absolute tolerance of coordinates and rates in a step.", "1e-7", "1e-8", use=MOTIONS
    )
    max_step: float | None = option(
        Quantity("time", above=0.0, infinite=True),
        "Largest step; without it there is no limit. Where coordinates are driven none is longer than dt_out.",
        "1 ms", math.inf, use=MOTIONS,
    )  # fmt: skip


@method
class OdeMethod(MotionMethod):
    """A method that solves dx/dt = f(t, x), its contract is in `sorosim.base.ode`.

    A subclass names its function, or has `integrate` of its own.
    """

    function: ClassVar[str] = ""  # module:function of an OdeProblem, imported when it is needed

    closing_time: float | None = option(
        SECONDS,
        "Time constant of the Baumgarte stabilisation that closes loops which drift open; under loops the absolute "
        "tolerance of rates is atol over it.",
        "5 ms", "10 ms", use=MOTIONS,
    )  # fmt: skip
    jacobian: str | None = option(
        Choice(JACOBIANS), f"Jacobian of the equations: {JACOBIANS[0]}, or for comparison {JACOBIANS[1]}.",
        JACOBIANS[1], JACOBIANS[0], use=MOTIONS,
    )  # fmt: skip

    def integrate(self, problem: OdeProblem) -> OdeSolution:
        """Integrate a problem whose first state has a rate."""
        module, _, name = self.function.partition(":")
        found: OdeSolution = getattr(import_module(module), name)(problem)
        return found

    def solve(self, problem: OdeProblem) -> OdeSolution:
        """Integrate a problem; from a rate that is no number the libraries never come back."""
        with np.errstate(all="ignore"):
            fine = np.isfinite(problem.rhs(float(problem.t_out[0]), problem.x0)).all()
            return self.integrate(problem) if fine else without_rate(problem)


@method
class BDF(OdeMethod, kind="bdf"):
    """Backward differentiation formulas of order 1 to 5 (scipy)."""

    function = "sorosim.analysis.solvers.scipy_ivp:bdf"
    multistep, uses_newton, verified_by = True, True, "radau"


@method
class Radau(OdeMethod, kind="radau"):
    """The implicit Runge-Kutta method of order 5 by Radau (scipy)."""

    function = "sorosim.analysis.solvers.scipy_ivp:radau"


@method
class LSODA(OdeMethod, kind="lsoda"):
    """A method of many steps that switches between formulas for stiff problems and for others (scipy)."""

    function = "sorosim.analysis.solvers.scipy_ivp:lsoda"
    multistep, verified_by = True, "radau"


@method
class CVODE(OdeMethod, kind="cvode"):
    """Backward differentiation formulas of order 1 to 5 (SUNDIALS); no dense output."""

    function = "sorosim.analysis.solvers.sundials:integrate"
    multistep, uses_newton, verified_by = True, True, "radau"


@method
class StepMethod(Method):
    """A method of equal steps under held inputs: of `Stepper`, `rollout`, `Batch` and what is built on them."""

    uses: ClassVar[tuple[str, ...]] = (STEPS,)

    substeps: int | None = option(Integer(1, 1_000_000), "Steps of the integrator in each interval.", "4", 1, use=STEPS)
    tolerance: float | None = option(
        Quantity("number", least=LEAST_RTOL),
        "Tolerance of Newton's method, relative to one plus the size of q; without it 1e-8, of steps below 2 ms less "
        "by the square of their length, where derivatives are wanted 1e-11.",
        "1e-10",
        use=STEPS,
    )

    @property
    def coefficients(self) -> tuple[float, ...]:
        """alpha_m, alpha_f, beta, gamma, and what of beta the acceleration before has (docs/theory.md, 10)."""
        raise NotImplementedError


@method
class MarchMethod(StepMethod, MotionMethod):
    """A one-step method of order 2 of our own, which solves for the multipliers of loops and closes them."""

    uses: ClassVar[tuple[str, ...]] = (MOTIONS, STEPS)
    damps: ClassVar[bool] = True  # what its steps do not resolve

    step: float | None = option(
        SECONDS,
        "Fixed step, less where dt_out is no multiple of it; without it steps are chosen by the tolerances. Steps end "
        "at all multiples of dt_out.",
        "1 ms",
        use=MOTIONS,
    )
    projection: bool | None = option(
        Boolean(), "Whether rates are moved after every step onto the nearest ones that keep loops closed.", "true",
        False, use=MOTIONS,
    )  # fmt: skip


@method
class Newmark(MarchMethod, kind="newmark"):
    """Newmark's method of mean acceleration, which damps nothing."""

    damps = False

    @property
    def coefficients(self) -> tuple[float, ...]:
        return 0.0, 0.0, 0.25, 0.5, 0.25


@method
class GeneralizedAlpha(MarchMethod, kind="generalized-alpha"):
    """The generalised-alpha method, which damps what its steps do not resolve."""

    spectral_radius: float | None = option(
        Quantity("number", least=0.0, upto=1.0), "What is left of too stiff motions after a step: 0 all gone, 1 kept.",
        "0.5", "0.8",
    )  # fmt: skip

    @property
    def coefficients(self) -> tuple[float, ...]:
        rho = self.options(STEPS)["spectral_radius"].usual if self.spectral_radius is None else self.spectral_radius
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        beta = 0.25 * (gamma + 0.5) ** 2
        return alpha_m, alpha_f, beta, gamma, 0.5 - beta


@method
class IDA(MotionMethod, kind="ida"):
    """Backward differentiation formulas for differential-algebraic equations (SUNDIALS); multipliers are unknowns."""

    multistep = True


@method
class Euler(StepMethod, kind="euler"):
    """Backward Euler's method, of first order, which damps most."""

    @property
    def coefficients(self) -> tuple[float, ...]:
        return 0.0, 0.0, 1.0, 1.0, 0.0


# -- by name -----------------------------------------------------------------------------------------------------------


class Names(Sequence[str]):
    """Methods of a use that are known at the time; entry points are looked for when a name is none of these."""

    def __init__(self, use: str) -> None:
        self.use = use

    def __contains__(self, name: object) -> bool:
        return name in INTEGRATORS and self.use in method_class(str(name)).uses

    def __getitem__(self, index: Any) -> Any:
        return tuple(name for name in INTEGRATORS if self.use in method_class(name).uses)[index]

    def __len__(self) -> int:
        return len(self[:])


METHODS, STEP_METHODS = Names(MOTIONS), Names(STEPS)


def method_class(name: str) -> Any:
    """The class of the methods of that name (InputError); of a registered function one with the options of all."""
    if name not in INTEGRATORS:
        raise InputError("method", "the name of an integrator", f"'{name}'", nearest(str(name), INTEGRATORS.names()))
    found = INTEGRATORS.get(name)
    return found if isinstance(found, type) else _of_function(name, found)


@cache
def _of_function(name: str, function: Callable[[OdeProblem], OdeSolution]) -> type[OdeMethod]:
    return type(name, (OdeMethod,), {"kind": name, "integrate": lambda self, problem: function(problem)})


def method_of(options: Mapping[str, Any]) -> Any:
    """The method that options of a run name, with those of its own."""
    cls = method_class(options["method"])
    return cls.make({name: options[name] for name in cls.declaration() if name in options})


def kinds(cls: type[Method]) -> tuple[str, ...]:
    """Names of the built-in methods of a class."""
    return tuple(name for name, one in INTEGRATORS.declared().items() if issubclass(one, cls))


MARCHES = kinds(MarchMethod)


def options_by_name(use: str) -> dict[str, Option]:
    """Options of the built-in methods of a use, each with the names of those that have it, unless all have it alike."""
    return _options_of(use, tuple(one for one in INTEGRATORS.declared().values() if use in one.uses))


@cache
def _options_of(use: str, classes: tuple[Any, ...]) -> dict[str, Option]:
    multistep, out = ", ".join(one.kind for one in classes if getattr(one, "multistep", False)), {}
    for name in dict.fromkeys(name for one in classes for name in one.options(use)):
        having: dict[Option, list[str]] = {}
        for one in classes:
            if name in one.options(use):
                having.setdefault(one.options(use)[name], []).append(one.kind)
        first, alike = next(iter(having)), len({key.fallback for key in having}) == 1
        doc = " ".join(f"{key.doc[:-1]} ({', '.join(those)})." for key, those in having.items())
        doc = first.doc if len(having[first]) == len(classes) else doc
        if multistep and name in UNDAMPED_TOLERANCES:
            doc = f"{doc[:-1]}; by {multistep} {_where_undamped(name)}."
        out[name] = replace(first, doc=doc, fallback=first.fallback if alike else None)
    return out


def spread(arguments: Mapping[str, object], use: str) -> dict[str, Any]:
    """Arguments, where a method with options is replaced by its name and these.

    Raises
    ------
    InputError
        What is no method of this use; an option that is given twice.
    """
    chosen = arguments.get("method")
    chosen = None if chosen is None else MethodType(use).argument("method", chosen)
    if not isinstance(chosen, Method):
        return dict(arguments)
    for name, value in chosen.given().items():
        if arguments.get(name) is not None:
            raise InputError(name, f"it once, in the method, where it is {value!r}", f"{shown(arguments[name])} too")
    return {**arguments, "method": chosen.kind, **chosen.given()}


@dataclass(frozen=True)
class MethodType(Type):
    """A method for a use: its name, {name: {options}}, or the object."""

    use: str

    @property
    def known(self) -> Names:
        """Names of such methods."""
        return METHODS if self.use == MOTIONS else STEP_METHODS

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, Method):
            return self.fitting(value, at)
        if isinstance(value, type) and issubclass(value, Method):
            return at.fail("a method", f"the class {value.__name__}", f"{value.__name__}() is one")
        if not isinstance(value, Mapping):
            return at.attempt(lambda: Choice(self.known).check(value))
        if len(value) != 1:
            return at.fail("one method, {name: {options}}", both(value) if len(value) == 2 else shown(value))
        ((name, given),) = value.items()
        here = at.inside(value) / name
        if here.attempt(lambda: Choice(self.known).check(name), at_key=True) is INVALID:
            return INVALID
        if given is None:
            return here.fail(*NOTHING)
        made = method_class(name).read(given, here)
        return INVALID if made is INVALID else self.fitting(made, here)

    def fitting(self, value: Method, at: At) -> Any:
        """A method that has a meaning in this use, with its options; else INVALID, which is noted."""
        if self.use not in value.uses or value.kind not in INTEGRATORS:
            return at.fail(listed(self.known), repr(value))
        if method_class(value.kind) is not type(value):  # its name would stand for another one
            return at.fail(f"'{value.kind}' as it is known", repr(value), 'class ...(kind="...") gives it a name')
        own = value.options(self.use)
        for name in value.given():
            if name not in own:
                (at / name).fail(f"an option of {value.kind} for {self.use}: {', '.join(own)}", "one of another use")
        return value if all(name in own for name in value.given()) else INVALID

    def write(self, value: object, writer: Writer) -> Any:
        return {value.kind: value.data(writer)} if isinstance(value, Method) else value

    def schema(self, define: Define) -> dict[str, Any]:
        properties = {
            name: {
                "type": "object",
                "additionalProperties": False,
                "properties": {key: one.type.schema(define) for key, one in cls.options(self.use).items()},
            }
            for name, cls in ((name, method_class(name)) for name in self.known)
        }
        by_key = {"type": "object", "properties": properties, "minProperties": 1, "maxProperties": 1,
                  "additionalProperties": False}  # fmt: skip
        return {"anyOf": [Choice(self.known).schema(define), by_key]}

    def within(self, part: str | int) -> Type | None:
        return Part(method_class(str(part))) if part in self.known else None

    def known_keys(self) -> list[str]:
        return list(self.known)


def method_type(kind: type[Declared]) -> MethodType:
    """The type of the key `method` of declared options."""
    found = kind.declaration()["method"].type
    assert isinstance(found, MethodType)
    return found
