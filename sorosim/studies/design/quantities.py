"""Quantities of a robot at rest or in motion by name, with their derivatives, and what is made of them.

Names are those of quantities of runs (`sorosim.mechanics.quantities`); mass, centre of mass and frequencies beside.
What changes over a motion is brought down to one number by the summaries of runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from sorosim.base.arrays import Array
from sorosim.base.declare import At, Declared, Either, ListOf, MapOf, Name, Part, SignalVector, Text, Vector, key
from sorosim.base.declare import Quantity as Number
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ConvergenceError, InputError, ModelError, nearest
from sorosim.base.problems import listed
from sorosim.base.signals import as_signal
from sorosim.base.units.table import DIMENSIONS
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.quantities import centre_of_mass
from sorosim.mechanics.engine.records import force_name
from sorosim.mechanics.linear.eigenmodes import is_symmetric
from sorosim.mechanics.quantities import AXES, REDUCTIONS, Output, Quantity, Summary, output, quantities
from sorosim.mechanics.robot import Robot
from sorosim.studies.design.motion import ChangesOfMotion, Moving
from sorosim.studies.design.rest import Changes, ChangesAtRest, Rest

_PLACE = re.compile(r"(.+)\((\d*\.?\d+(?:[eE][-+]?\d+)?)\)")
_FREQUENCY = re.compile(r"frequency\[(\d+)\]")
# squares of frequencies that differ by less than this part are one
TOGETHER = 1e-6


class Measure(NamedTuple):
    """A number of a robot at rest or in motion."""

    unit: str
    value: Callable[[Any], float]
    slope: Callable[[Any], Array]  # (n,)
    least: float = -np.inf  # that it can be

    @property
    def dimension(self) -> str:
        """The first dimension with this unit."""
        written = self.unit.strip("-").replace(" ", "*")
        return next((name for name, one in DIMENSIONS.items() if one.unit == written), "number")


class History(NamedTuple):
    """A quantity over a motion."""

    unit: str
    values: Callable[[Moving], tuple[Array, Array]]  # times and values (m,)
    slope: Callable[[ChangesOfMotion], Array]  # (m, n)


# -- definitions -------------------------------------------------------------------------------------------------------

_AT = "a link, LINK(s) or a frame"


@dataclass(frozen=True)
class Definition(Summary, title="Definitions"):
    """A quantity that has no name yet: one of ``{distance, to}``, ``{stiffness, along}``, ``{sum}``, ``{rms}``, or a
    summary of one of a motion, such as ``{max: arm.z, after: 1 s}``."""

    label = "definition"

    _: KW_ONLY
    distance: str | None = key(Text(_AT), "Distance of a place from another one, or from a point of the world.", "arm",
                               default=None)  # fmt: skip
    to: Any = key(
        Either(Text(_AT), SignalVector("length", functions=False), is_list),
        "That place or point; of a motion also a path, expressions of t.", "[10 cm, 0, 2 cm*sin(3*t)]", default=None,
    )  # fmt: skip
    stiffness: str | None = key(
        Text(_AT), "Stiffness of a place: a small force over the displacement along it, inputs and driven coordinates "
        "held.", "arm", default=None,
    )  # fmt: skip
    along: Any = key(Vector("number"), "Direction of that force in the world.", "[0, 0, 1]", default=None)
    sum: Any = key(MapOf(Number("number"), Text("a quantity")), "Weighted sum of quantities of any cases.",
                   "{pull.mass: 1, press.arm.z: -2}", default=None)  # fmt: skip
    rms: Any = key(
        Either(Text("a quantity of a motion"), ListOf(Text("a quantity"), "quantities"), is_list),
        "Root of the mean square of quantities of any cases; or of one of a motion, over time.", "[low.off, high.off]",
        default=None,
    )  # fmt: skip

    @classmethod
    def expected(cls) -> str:
        return "one of " + listed([*KINDS, *(name for name in REDUCTIONS if name not in KINDS)])

    @classmethod
    def read(cls, data: object, at: At) -> Any:
        return Declared.read.__func__(cls, data, at)  # type: ignore[attr-defined]

    @classmethod
    def unknown_key(cls, name: str, value: object, at: At) -> None:
        Declared.unknown_key.__func__(cls, name, value, at)  # type: ignore[attr-defined]

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        """Whether keys go together says `validate`."""

    def validate(self) -> None:
        given = [name for name in dict.fromkeys((*KINDS, *REDUCTIONS)) if getattr(self, name) is not None]
        if len(given) != 1:
            raise ModelError("", self.expected(), " and ".join(given) or "none")
        for name, other in (("distance", "to"), ("stiffness", "along")):
            if (getattr(self, name) is None) != (getattr(self, other) is None):
                got = "one of them"
                raise ModelError("", f"the keys '{name}' and '{other}' together", got)
        if self.sum is not None and not self.sum:
            raise ModelError("sum", "weights by names of quantities", "none")
        if self.along is not None and not np.any(self.along):
            raise ModelError("along", "a direction", "a vector of length 0")
        if not self.is_summary and (self.after or self.until is not None):
            raise ModelError("", "`after` and `until` beside one of " + ", ".join(REDUCTIONS), given[0])
        self.check_window()

    @property
    def is_summary(self) -> bool:
        """Whether it is a quantity of a motion as one number."""
        return any(isinstance(getattr(self, name), str) for name in REDUCTIONS)

    @property
    def of_one_case(self) -> bool:
        """Whether it is a quantity of any one case."""
        return self.sum is None and not (self.rms is not None and not self.is_summary)

    @property
    def as_data(self) -> dict[str, Any]:
        """As JSON data."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        out = {name: value for name, value in said.items() if value is not None and not (name == "after" and not value)}
        if is_list(self.to):
            out["to"] = [as_signal(x).spec for x in self.to]
        return out


KINDS = ("distance", "stiffness", "sum", "rms")
DEFINITIONS = MapOf(Part(Definition), Name())


# -- quantities of one case --------------------------------------------------------------------------------------------


def measure(
    robot: Robot, driven: Sequence[str], name: str, definitions: Mapping[str, Definition], moves: bool = False
) -> Measure:
    """A quantity of a robot at rest, or in motion, by name (InputError: there is none, with the nearest names)."""
    if (defined := definitions.get(name)) is not None and defined.of_one_case:
        return _defined(robot, driven, name, definitions, moves)
    if name == "mass":
        return _by_differences("kg", lambda state: centre_of_mass(state.robot.engine, state.begin)[0])
    if moves:
        known = _history(robot, driven, name, definitions)
        got = f"'{name}', {'over time' if known.unit == '-' else f'in {known.unit} over time'}"
        raise InputError("", "a number of a motion", got, f"bring it down to one in define, as in {{last: {name}}}")
    if name in CENTRES:
        k = CENTRES.index(name)
        return _by_differences("m", lambda rest: float(centre_of_mass(rest.robot.engine, rest.q)[1][k]))
    if found := _FREQUENCY.fullmatch(name):
        return _frequency(int(found[1]) - 1)
    return _of_runs(robot, driven, name, [one for one in definitions if definitions[one].of_one_case])


CENTRES = [f"centre_of_mass.{axis}" for axis in AXES]
MOVING = [f"energy.{one}" for one in ("kinetic", "total", "work", "dissipated")]


def _defined(
    robot: Robot, driven: Sequence[str], name: str, definitions: Mapping[str, Definition], moves: bool
) -> Measure:
    """A quantity of one case that was defined."""
    defined = definitions[name]
    if not defined.is_summary and moves:
        got, hint = f"'{name}'", ""
        if defined.distance is not None:
            got, hint = f"{got}, over time", f"bring it down to one in define, as in {{rms: {name}}}"
        raise InputError("", "a number of a motion", got, hint)
    if defined.distance is not None:
        if not isinstance(defined.to, str) and not all(isinstance(x, float) for x in defined.to):
            raise InputError("", "a point, at rest", f"'{name}', to a path over time")
        return _distance(robot, defined)
    if defined.stiffness is not None:
        return _stiffness(robot, defined)
    if not moves:
        hint = "a case with the key `simulate` is one"
        raise InputError("", "a quantity of a robot at rest", f"'{name}', of a motion", hint)
    history, summary = _history(robot, driven, defined.quantity, definitions), defined

    def number(moving: Moving) -> float:
        try:
            return summary.number(*history.values(moving))
        except InputError as error:  # its window is beyond the motion
            raise error.inside(f"define.{name}") from None

    def slope(changes: ChangesOfMotion) -> Array:
        return np.asarray(summary.slope(*history.values(changes.here)) @ history.slope(changes))

    least = 0.0 if summary.how in ("rms", "range", "amplitude") else -np.inf
    return Measure(summary.unit(history.unit), number, slope, least)


def _by_differences(unit: str, value: Callable[[Any], float]) -> Measure:
    return Measure(unit, value, lambda changes: changes.along(value))


class _Named(NamedTuple):
    """A quantity of runs by its name."""

    name: str
    places: tuple[Output, ...]  # where it is
    axis: int  # of the position of a place; -1 of anything else
    known: Mapping[str, Quantity]

    @property
    def place(self) -> Any:
        """As `LinkFrames` takes it."""
        return _place(self.name.rpartition(".")[0])


def _named(robot: Robot, driven: Sequence[str], name: str) -> _Named:
    """A name of a quantity of runs, which need not be one."""
    place, _, what = name.rpartition(".")
    at = _PLACE.fullmatch(place)
    links = {link.name for link in robot.links}
    places = (output(at[1], float(at[2])),) if at and at[1] in links and 0.0 <= float(at[2]) <= 1.0 else ()
    if places and what:
        name = f"{places[0].label}.{what}"
    elif place in links:
        places = (output(place, 1.0),)
    axis = AXES.index(what) if places and what in AXES else -1
    return _Named(name, places, axis, quantities(robot, tuple(driven), places))


def _of_links(robot: Robot) -> list[str]:
    return [f"{link.name}.{axis}" for link in robot.links for axis in AXES]


def _part(robot: Robot, name: str) -> tuple[str, int] | None:
    """Which entry of the coordinates, "q", or the inputs, "u", a name is."""
    for names, part in ((list(robot.coordinate_names), "q"), ([f"u.{one}" for one in robot.actuator_names], "u")):
        if name in names:
            return part, names.index(name)
    return None


def _of_runs(robot: Robot, driven: Sequence[str], name: str, others: Sequence[str]) -> Measure:
    """A quantity that runs have, too, at rest."""
    name, places, axis, known = one = _named(robot, driven, name)
    if name not in known or name in MOVING:
        names = ["mass", "frequency[1]", *others, *CENTRES, *(one for one in known if one not in MOVING)]
        got = nearest(name, dict.fromkeys([*names, *_of_links(robot)]))
        raise InputError("", "a quantity of a robot at rest", f"'{name}'", got)
    unit = known[name].unit

    def value(rest: Rest) -> float:
        return rest.value(name, quantities(rest.robot, tuple(rest.driven), places)[name])

    if axis >= 0:
        return Measure(unit, value, lambda changes: changes.exactly(_positions(changes, one.place)[1][0, axis], value))
    forces = dict(zip(map(force_name, driven, robot.driven_units(driven)), driven, strict=True))
    if name in forces:
        return Measure(unit, value, lambda changes: changes.driven[forces[name]])
    if (entry := _part(robot, name)) is not None:
        part, i = entry
        return Measure(unit, value, lambda changes: getattr(changes, part)[i])
    return _by_differences(unit, value)


def _history(robot: Robot, driven: Sequence[str], name: str, definitions: Mapping[str, Definition]) -> History:
    """A quantity over a motion by its name (InputError: there is none, with the nearest names)."""
    defined = definitions.get(name)
    if defined is not None and defined.distance is not None:
        apart = _distance(robot, defined)
        return History("m", lambda m: (m.t, np.asarray(apart.value(m))), apart.slope)
    name, places, axis, known = one = _named(robot, driven, name)
    if name not in known:
        distances = [own for own, what in definitions.items() if what.distance is not None]
        hint = nearest(name, dict.fromkeys([*distances, *known, *_of_links(robot)]))
        raise InputError("", "a quantity of a motion", f"'{name}'", hint)
    unit = known[name].unit

    def values(m: Moving) -> tuple[Array, Array]:
        return m.history(quantities(m.robot, tuple(driven), places)[name])

    def value(m: Moving) -> Array:
        return values(m)[1]

    if axis >= 0:
        exact = lambda changes: changes.exactly(_positions(changes, one.place)[1][:, 0, axis], value)  # noqa: E731
        return History(unit, values, exact)
    if (entry := _part(robot, name)) is not None:
        part, i = entry
        if part == "q":
            return History(unit, values, lambda changes: changes.q[:, i])
        # a row of a run has the inputs of the interval that it ends
        return History(unit, values, lambda changes: np.concatenate([changes.u[:1, i], changes.u[:, i]]))
    return History(unit, values, lambda changes: changes.along(value))


def _place(text: str) -> Any:
    """A place as `LinkFrames` takes it."""
    found = _PLACE.fullmatch(text)
    return (found[1], float(found[2])) if found else text


def _frames(robot: Robot, *places: Any) -> LinkFrames:
    return LinkFrames(robot.description, robot.engine, places)


def _positions(changes: Changes, place: Any) -> tuple[Array, Array]:
    """Positions (..., 1, 3) of a place, and their derivatives (..., 1, 3, n)."""
    return changes.positions(_frames(changes.here.robot, place))


def _distance(robot: Robot, defined: Definition) -> Measure:
    """A distance, of a motion one at each of its times."""
    places = [_place(str(defined.distance)), *([_place(defined.to)] if isinstance(defined.to, str) else [])]
    _frames(robot, *places)
    path = None if isinstance(defined.to, str) else [as_signal(x) for x in defined.to]

    def apart(state: Any) -> Array:
        p = state.positions(_frames(state.robot, *places))
        if path is None:
            return np.asarray(p[..., 0, :] - p[..., 1, :])
        times = getattr(state, "t", 0.0)
        return np.asarray(p[..., 0, :] - np.stack([one.sample(times) for one in path], axis=-1))

    def value(state: Any) -> Any:
        return np.linalg.norm(apart(state), axis=-1)

    def slope(changes: Changes) -> Array:
        by = changes.positions(_frames(changes.here.robot, *places))[1]
        d = apart(changes.here)
        size = np.linalg.norm(d, axis=-1)[..., None]  # at 0, a corner, the mean of all sides
        moved = by[..., 0, :, :] - by[..., 1, :, :] if path is None else by[..., 0, :, :]
        along = np.einsum("...i,...in->...n", d, moved)
        return changes.exactly(np.divide(along, size, out=np.zeros_like(along), where=size > 0.0), value)

    return Measure("m", value, slope, 0.0)


def _stiffness(robot: Robot, defined: Definition) -> Measure:
    """1 / (n^T C n) with C = J K^-1 J^T, under the conditions of loops."""
    place, n = _place(str(defined.stiffness)), np.array(defined.along) / np.linalg.norm(defined.along)
    _frames(robot, place)

    def lever(rest: Rest) -> Array:
        g, J = _frames(rest.robot, place).jacobians(rest.q)
        return np.asarray((n @ g[0, :3, :3] @ J[0, 3:])[rest.free])

    def moved(rest: Rest) -> tuple[Array, Array, Array]:
        """What a unit force does, K x = b + A^T y and A x = 0, and the same with K^T; the softness b^T x."""
        b, K, Z = lever(rest), rest.matrices[0], rest.motions
        with np.errstate(all="ignore"):
            x, w = (Z @ np.linalg.solve(Z.T @ X @ Z, Z.T @ b) for X in (K, K.T))
        if not b @ x > 0.0:
            why = "cannot be moved" if b @ x == 0.0 else "has no stiffness"
            raise ConvergenceError(f"'{defined.stiffness}' {why} along {list(defined.along)}")
        return x, w, b @ x

    def slope(changes: ChangesAtRest) -> Array:
        (x, w, softness), (K, _, A), (dK, _, dA) = moved(changes.here), changes.here.matrices, changes.matrices
        b, db = lever(changes.here), changes.along(lever)
        change = (x + w) @ db - np.einsum("i,ijn,j->n", w, dK, x)
        if len(A):  # b^T dx = w^T (db - dK x + dA^T y) + z^T dA x, z being to w what y is to x
            y, z = (scipy.linalg.lstsq(A.T, right)[0] for right in (K @ x - b, K.T @ w - b))
            change += np.einsum("m,mjn,j->n", y, dA, w) + np.einsum("m,mjn,j->n", z, dA, x)
        return np.asarray(-change / softness**2)

    return Measure("N/m", lambda rest: 1.0 / float(moved(rest)[2]), slope)


# -- frequencies -------------------------------------------------------------------------------------------------------


def _squares(rest: Rest) -> tuple[Array, Array, Array, Any]:
    """Squares of natural frequencies [rad^2/s^2], rising, their right and left shapes, and whether they are real."""
    (K, M, _), Z = rest.matrices, rest.motions
    Kz, Mz = Z.T @ K @ Z, Z.T @ M @ Z
    if is_symmetric(Kz):
        squares, right = scipy.linalg.eigh(0.5 * (Kz + Kz.T), Mz)
        return squares, Z @ right, Z @ right, np.ones(len(squares), dtype=bool)
    found: Any = scipy.linalg.eig(Kz, Mz, left=True)
    values, left, right = found
    order = np.argsort(values.real)
    return values.real[order], Z @ right[:, order].real, Z @ left[:, order].real, values.imag[order] == 0.0


def _frequency(k: int) -> Measure:
    """Natural frequency k, undamped, counted from the lowest one."""

    def checked(rest: Rest) -> tuple[Array, Array, Array]:
        squares, right, left, real = _squares(rest)
        if k >= len(squares) or k < 0:
            raise InputError(f"frequency[{k + 1}]", f"a number from 1 to {len(squares)}", str(k + 1))
        if not (real[k] and squares[k] > 0.0):
            raise ConvergenceError(f"frequency {k + 1} is not real: the equilibrium is unstable")
        return squares, right, left

    def value(rest: Rest) -> float:
        return float(np.sqrt(checked(rest)[0][k]) / (2.0 * np.pi))

    def slope(changes: ChangesAtRest) -> Array:
        squares, right, left = checked(changes.here)
        own = np.flatnonzero(np.abs(squares - squares[k]) <= TOGETHER * squares[k])
        slopes = _square_slopes(changes, squares[own], right[:, own], left[:, own])
        return slopes / (8.0 * np.pi**2 * value(changes.here))

    return Measure("Hz", value, slope)


def _square_slopes(changes: ChangesAtRest, squares: Array, right: Array, left: Array) -> Array:
    """Derivatives (n,) of the mean of squares of frequencies that are one.

    Of one, v and w being its right and left shapes, K v - w^2 M v = A^T a and K^T w - w^2 M w = A^T b:
    d(w^2) w^T M v = w^T (dK - w^2 dM) v - a^T dA w - b^T dA v. The mean of several that are one is smooth, too, and
    that of each where they stay one.
    """
    (K, M, A), (dK, dM, dA) = changes.here.matrices, changes.matrices
    square, metric = float(squares.mean()), left.T @ M @ right
    a = scipy.linalg.lstsq(A.T, K @ right - square * M @ right)[0] if len(A) else np.zeros((0, right.shape[1]))
    b = scipy.linalg.lstsq(A.T, K.T @ left - square * M @ left)[0] if len(A) else np.zeros((0, left.shape[1]))
    change = np.einsum("iw,ijn,jv->wvn", left, dK - square * dM, right)
    change -= np.einsum("mv,mjn,jw->wvn", a, dA, left) + np.einsum("mw,mjn,jv->wvn", b, dA, right)
    return np.asarray(np.einsum("vw,wvn->n", np.linalg.inv(metric), change)) / len(squares)
