"""Plug-ins: kinds that packages add by entry points, and kinds that a program registers.

A file names a registered type, never a path of Python: loading one runs no code that is not installed.
"""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from sorosim.base.errors import ModelError, PlugInError, SorosimWarning, nearest
from sorosim.base.validation import describe

if TYPE_CHECKING:  # it takes long to import, and is needed where plug-ins are looked for
    from importlib import metadata

# what the wrench of a plug-in is
WRENCH = "a wrench (n, 6), or a moment and a force (n, 3)"


class Registry:
    """Things of one kind by name: types, or objects.

    Parameters
    ----------
    group : str
        Of entry points, such as ``sorosim.loads``.
    what : str
        One of them in words, such as "load".
    modules : sequence of str
        Modules that add built-in kinds (`add`) as they are imported; they are, when a name is looked up.
    points : mapping of str to str
        Built-in ones that are imported one by one, each when it is needed: ``module:thing``, as entry points name it.
    objects : bool
        Whether they are objects; an entry point may then name a class without parameters instead.
    check : callable
        check(where, name, thing) refuses what cannot be one of them.
    """

    def __init__(
        self,
        group: str,
        what: str,
        *,
        modules: Iterable[str] = (),
        points: Mapping[str, str] = MappingProxyType({}),
        objects: bool = False,
        check: Callable[[str, str, Any], None] = lambda where, name, thing: None,
    ) -> None:
        self.group, self.what, self.objects, self.check = group, what, objects, check
        self._modules = list(modules)
        self._order = list(modules)
        self._built_in: dict[str, Any] = {}
        self._registered: dict[str, Any] = {}
        self._shadowed: set[str] = set()  # plug-ins with names of built-in kinds, of which was warned
        self._own_points = dict(points)

    def add(self, name: str, kind: Any) -> None:
        """Add a declared kind. The same class may be declared anew, as in a notebook; another one is refused."""
        before = self._built_in.get(name)
        if before is not None and (before.__module__, before.__qualname__) != (kind.__module__, kind.__qualname__):
            expected = f"a name that no {self.what} has"
            raise ModelError(f"class {kind.__qualname__}", expected, f"kind='{name}', of {before.__qualname__}")
        self._built_in[name] = kind

    def __contains__(self, name: object) -> bool:
        return name in self.known() or name in self.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.known())

    def __len__(self) -> int:
        return len(self.known())

    def declared(self) -> dict[str, Any]:
        """Built-in kinds by name, in the order of their modules."""
        if self._modules:
            for module in self._order:
                import_module(module)
            self._modules = []
            # other modules may have imported some of them before; what a program declares itself comes last
            place = {module: i for i, module in enumerate(self._order)}
            kinds = sorted(self._built_in.items(), key=lambda item: place.get(item[1].__module__, len(place)))
            self._built_in = dict(kinds)
        return self._built_in

    @property
    def _known(self) -> dict[str, Any]:
        return {**self.declared(), **self._registered}

    def register(self, name: str, thing: object) -> None:
        """Make something known under a name, which must not be taken by anything else."""
        where = f"register_{self.what}"
        if not isinstance(name, str) or not name.isidentifier():
            raise ModelError(where, "a name of letters, digits and _", describe(name))
        self.check(where, name, thing)
        if name in self._own_points or self._known.get(name, thing) is not thing:
            raise ModelError(where, "a name that is not taken", f"'{name}'", f"give the {self.what} another name")
        self._registered[name] = thing

    def known(self) -> tuple[str, ...]:
        """Names of those that are built in or registered."""
        return (*self._own_points, *self._known)

    def names(self) -> list[str]:
        """All names, those of entry points included."""
        known = self.known()
        return [*known, *sorted({point.name for point in self._points()} - set(known))]

    def get(self, name: str) -> Any:
        """What has that name (else ModelError)."""
        if name in self._own_points:
            return imported(self._own_points[name])
        if name in self.declared():
            return self._built_in[name]
        if name not in self._registered:
            self._registered[name] = self._load(name)
        return self._registered[name]

    def name_of(self, kind: type) -> str | None:
        """The name of a type, None if it has none."""
        for name in self.names():
            try:
                thing = self.get(name)
            except ModelError:  # one that does not load is not this one
                continue
            if thing is kind:
                return name
        return None

    def _points(self) -> list[metadata.EntryPoint]:
        from importlib import metadata

        points = _entry_points(metadata.entry_points, self.group, _installed())
        for point in points:
            own: Any = self._built_in.get(point.name)
            place = "" if own is None else f"{own.__module__}:{own.__qualname__}"
            built_in = self._own_points.get(point.name, place)
            if built_in and point.value not in (built_in, *self._shadowed):
                self._shadowed.add(point.value)
                text = f"plug-in {point.value} is not used: '{point.name}' is the built-in {self.what} {built_in}"
                warnings.warn(f"{text}; give the plug-in another name", SorosimWarning, stacklevel=2)
        return [point for point in points if point.name not in self._built_in]

    def _load(self, name: str) -> Any:
        points = [point for point in self._points() if point.name == name]
        # the same distribution may be found twice on the path
        values = sorted({point.value for point in points})
        if not values:
            raise ModelError(self.what, f"the name of a {self.what}", f"'{name}'", nearest(name, self.names()))
        where = f"{self.what} {name}"
        if len(values) > 1:
            raise ModelError(where, "one plug-in of this name", " and ".join(values), "uninstall one of them")
        where = f"{where} (plug-in {values[0]})"
        try:
            thing = points[0].load()
            thing = thing() if self.objects and isinstance(thing, type) else thing
        except Exception as error:
            raise ModelError(where, "a plug-in that loads", f"{type(error).__name__}: {error}") from error
        self.check(where, name, thing)
        return thing


def imported(place: str) -> Any:
    """What ``module:thing`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


class LazyMethod:
    # its docstring is that of the function
    def __init__(self, function: str, of: str = "") -> None:
        """A method that is a function of another module, which is imported when it is called.

        Results and robots have such ones for files and pictures: modules that computing does not load. Outside of a
        class it is that function.

        Parameters
        ----------
        function : str
            ``module:function``
        of : str, optional
            The attribute of which it is called, in the place of the object itself.
        """
        self._function, self._of = function, of

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return imported(self._function).__doc__  # type: ignore[no-any-return]

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(imported(self._function))

    def __get__(self, thing: object, owner: type) -> Any:
        return imported(self._function) if thing is None else MethodType(self, thing)

    def __call__(self, thing: object, *args: object, **options: object) -> Any:
        return imported(self._function)(getattr(thing, self._of) if self._of else thing, *args, **options)


def _installed() -> tuple[tuple[str, int], ...]:
    """Folders of packages and when they changed last: what is installed since is found."""
    return tuple((path, os.stat(path).st_mtime_ns) for path in sys.path if os.path.isdir(path))


@lru_cache(maxsize=32)
def _entry_points(
    scan: Callable[..., Iterable[metadata.EntryPoint]], group: str, installed: tuple[tuple[str, int], ...]
) -> tuple[metadata.EntryPoint, ...]:
    """Entry points of a group; a scan reads a file of every package that is installed."""
    return tuple(scan(group=group))


def _makes_things(where: str, name: str, kind: object) -> None:
    if not callable(kind):
        raise ModelError(where, "a class, or a function that makes one", describe(kind))


def _integrates(where: str, name: str, thing: object) -> None:
    if not callable(thing) or (isinstance(thing, type) and not hasattr(thing, "integrate")):
        raise ModelError(where, "a function of an OdeProblem, or a class of methods", describe(thing))


def _modules(package: str, names: str) -> list[str]:
    return [f"sorosim.mechanics.{package}.{name}" for name in names.split()]


def check_basis_members(where: str, name: str, basis: Any) -> None:
    """Refuse what has not the members of a `sorosim.mechanics.model.basis.Basis` of that name (ModelError)."""
    missing = [part for part in ("name", "count", "values", "breakpoints", "degree") if not hasattr(basis, part)]
    if missing:
        raise ModelError(where, "a Basis", f"{type(basis).__name__} without {', '.join(missing)}")
    if not isinstance(basis.name, str):
        raise ModelError(where, "a Basis whose name is a text", describe(basis.name))
    if basis.name != name:
        raise ModelError(where, f"a basis named '{name}'", f"one named '{basis.name}'")


BASES = Registry(
    "sorosim.bases",
    "basis",
    modules=_modules("model.bases", "polynomial smooth elements"),
    objects=True,
    check=check_basis_members,
)
SECTIONS = Registry("sorosim.sections", "section", modules=["sorosim.mechanics.model.section"], check=_makes_things)
SHAPES = Registry("sorosim.shapes", "shape", modules=_modules("model", "shape mesh"), check=_makes_things)
OBSTACLES = Registry("sorosim.obstacles", "obstacle", modules=["sorosim.mechanics.model.obstacle"], check=_makes_things)
JOINTS = Registry(
    "sorosim.joints",
    "joint",
    modules=_modules(
        "model.joints", "fixed revolute prismatic helical cylindrical universal planar spherical free feed"
    ),
    check=_makes_things,
)
LOADS = Registry(
    "sorosim.loads",
    "load",
    modules=_modules("loads", "wrench line_load spring fluid contact magnet"),
    check=_makes_things,
)
ACTUATORS = Registry(
    "sorosim.actuators",
    "actuator",
    modules=_modules("actuation", "tendon chamber mckibben distributed_moment joint_force servo loop_force load_input"),
    check=_makes_things,
)
SENSORS = Registry("sorosim.sensors", "sensor", modules=_modules("sensors", "kinds derived"), check=_makes_things)
INTEGRATORS = Registry("sorosim.integrators", "integrator", modules=["sorosim.base.methods"], check=_integrates)
# kinds of result files
RESULTS = Registry(
    "sorosim.results",
    "result",
    points={
        "run": "sorosim.analysis.results.result:Run",
        "equilibrium": "sorosim.analysis.results.result:Equilibrium",
        "steady motion": "sorosim.analysis.equilibria.steady_motion:SteadyMotion",
        "continuation": "sorosim.analysis.bifurcation.diagram:Continuation",
        "sweep": "sorosim.studies.sweeps.result:SweepResult",
        "fit": "sorosim.studies.fitting.fit:Fit",
        "estimate": "sorosim.studies.estimation.result:Estimate",
        "observed motion": "sorosim.studies.estimation.observation:ObservedMotion",
        "optimal motion": "sorosim.studies.control.optimal:OptimalMotion",
        "design": "sorosim.studies.design.design:Design",
    },
    check=_makes_things,
)


def register_load(name: str, kind: type) -> None:
    """Let files name a type of load: ``loads: {gust: {name: {parameters}}}``; see `sorosim.mechanics.loads.base`."""
    LOADS.register(name, kind)


def register_actuator(name: str, kind: type) -> None:
    """Let files name a type of actuator, see `sorosim.mechanics.actuation.base`."""
    ACTUATORS.register(name, kind)


def register_integrator(name: str, integrate: Callable[[Any], Any]) -> None:
    """Let ``method`` name an integrator, a function (see `sorosim.base.ode`) or a class of `sorosim.base.methods`."""
    INTEGRATORS.register(name, integrate)


def parameters_of(kind: Any) -> dict[str, bool]:
    """Names of the parameters of a type, and whether they may be left out."""
    try:
        given = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        raise ModelError("plug-in", "a class or a function", describe(kind)) from None
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p.default is not inspect.Parameter.empty for p in given if p.kind in kinds}


def make(name: str, kind: Any, given: Any) -> Any:
    """Make what a file describes by a mapping of parameters.

    Raises
    ------
    ModelError
        Parameters that are not known or missing, or what the type refuses.
    """
    known = parameters_of(kind)
    if not isinstance(given, Mapping):
        raise ModelError("", f"a mapping with {', '.join(known) or 'nothing'}", describe(given))
    for key in given:
        if key not in known:
            raise ModelError(str(key), f"a parameter of {name}", f"'{key}'", nearest(str(key), known))
    for key, optional in known.items():
        if key not in given and not optional:
            raise ModelError("", f"the key '{key}'", "nothing")
    try:
        return kind(**given)
    except ModelError:
        raise
    except Exception as error:  # whatever a plug-in raises
        raise ModelError("", f"parameters that {name} takes", f"{type(error).__name__}: {error}") from error


@lru_cache(maxsize=256)
def _n_arguments(function: Callable[..., Any]) -> int:
    parameters = inspect.signature(function).parameters.values()
    return sum(one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty for one in parameters)


@dataclass(frozen=True, eq=False)
class ByValue:
    """A plug-in that gives its value, bound to its points: `evaluate` adds the derivatives of `value`."""

    own: Any  # the plug-in, with `wrench` or `energy`
    at: Any  # its points

    def __post_init__(self) -> None:
        own = type(self.own)
        if not (hasattr(own, "wrench") or hasattr(own, "energy")):
            raise ModelError("", "a method wrench or energy", f"{own.__name__} without them")
        if any({"wrench", "energy"} <= set(vars(one)) for one in own.__mro__):
            raise ModelError("", "a method wrench or energy", f"{own.__name__} with both", "loads and actuators add up")

    def call(self, method: str, *arguments: object) -> Any:
        """Call a method of the plug-in; one that takes an argument more is given the points, too."""
        more = _n_arguments(getattr(type(self.own), method)) > len(arguments) + 1
        return getattr(self.own, method)(*arguments, *([self.at] if more else []))

    def value(self, *arguments: Any) -> Any:
        """Wrenches (n, 6)."""
        raise NotImplementedError


_warned: set[str] = set()


def warn_of_tangents(where: str, plug_in: object, law: str) -> None:
    """Say once, where the class of a plug-in is written, that it need not give derivatives."""
    module, name = type(plug_in).__module__, type(plug_in).__qualname__
    if f"{module}.{name}" in _warned:
        return
    _warned.add(f"{module}.{name}")
    text = f"{where}: bind and evaluate still work; let {name} inherit sorosim.{law} and give wrench(...) alone"
    file = getattr(sys.modules.get(module), "__file__", None) or module
    warnings.warn_explicit(f"{text} (docs/plugins.md)", DeprecationWarning, file, 1, module)


def evaluated(
    where: str, plug_in: Any, arguments: Sequence[Any], record: Any,
    shapes: Sequence[tuple[int, ...]], point: Callable[[int], str], derivatives: bool = True,
) -> Any:  # fmt: skip
    """Call `evaluate` of a plug-in for arrays, refusing what the kernels could not take.

    Parameters
    ----------
    where : str
        For messages.
    record : NamedTuple type
        What it returns, or a tuple like it; the first axis of each of its arrays is that of its points.
    shapes : sequence of tuple
        Of these arrays.
    point : callable
        A point in words, from its number.
    derivatives : bool
        Whether they are needed; else those of a plug-in that gives its value alone are zero.

    Raises
    ------
    PlugInError
        It raised an error, or returned another count of arrays, or wrong shapes.
    ModelError
        Numbers that are not finite, which may come from the state.
    """
    kind, method, answer = type(plug_in), "evaluate", f"{record.__name__}({', '.join(record._fields)})"
    if isinstance(plug_in, ByValue):
        kind, answer = type(plug_in.own), WRENCH
        method = "wrench" if hasattr(kind, "wrench") else "energy"
    try:
        if derivatives or not isinstance(plug_in, ByValue):
            returned = plug_in.evaluate(*arguments)
        else:
            returned = plug_in.value(*arguments), *map(np.zeros, shapes[1:])
    except PlugInError as error:
        raise (error if error.where.startswith(where) else error.inside(where)) from error.__cause__
    except ModelError:
        raise
    except Exception as error:
        got, hint = f"{type(error).__name__}: {error}", f"look at {kind.__module__}.{kind.__qualname__}.{method}"
        raise PlugInError(where, answer, got, hint) from error
    if not isinstance(returned, tuple) or len(returned) != len(shapes):
        raise PlugInError(where, answer, describe(returned))
    checked = []
    for part, shape, given in zip(record._fields, shapes, returned, strict=True):
        try:
            array = np.ascontiguousarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise PlugInError(f"{where}.{part}", f"an array of shape {shape}", describe(given)) from None
        if array.shape != shape:
            raise PlugInError(f"{where}.{part}", f"shape {shape}", f"shape {array.shape}")
        if not np.isfinite(array).all():
            worst = int(np.argmin(np.isfinite(array).reshape(shape[0], -1).all(axis=1)))
            raise ModelError(f"{where}.{part}", "finite numbers", f"NaN or infinity at {point(worst)}")
        checked.append(array)
    return record._make(checked)


def init_parameters(thing: object) -> dict[str, Any] | None:
    """Parameters that a dataclass was made of, None for anything else."""
    if not is_dataclass(thing) or isinstance(thing, type):
        return None
    return {field.name: getattr(thing, field.name) for field in fields(thing) if field.init}
