"""Quantities of a robot at rest by name, with their derivatives, and what is made of them: distances, stiffness, sums.

Names are those of quantities of runs (`sorosim.mechanics.quantities`); mass, centre of mass and frequencies beside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from sorosim.base.arrays import Array
from sorosim.base.declare import At, Either, ListOf, MapOf, Name, Part, Text, Vector, key
from sorosim.base.declare import Quantity as Number
from sorosim.base.declare.base import Declared
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ConvergenceError, InputError, ModelError, nearest
from sorosim.base.problems import listed
from sorosim.base.units.table import DIMENSIONS
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.engine.quantities import centre_of_mass
from sorosim.mechanics.engine.records import force_name
from sorosim.mechanics.linear.eigenmodes import is_symmetric
from sorosim.mechanics.quantities import AXES, REDUCTIONS, output, quantities
from sorosim.mechanics.robot import Robot
from sorosim.studies.design.rest import Changes, Rest

_PLACE = re.compile(r"(.+)\((\d*\.?\d+(?:[eE][-+]?\d+)?)\)")
_FREQUENCY = re.compile(r"frequency\[(\d+)\]")
# squares of frequencies that differ by less than this part are one
TOGETHER = 1e-6


class Measure(NamedTuple):
    """A number of a robot at rest."""

    unit: str
    value: Callable[[Rest], float]
    slope: Callable[[Changes], Array]  # (n,)
    least: float = -np.inf  # that it can be

    @property
    def dimension(self) -> str:
        """The first dimension with this unit."""
        return next((name for name, one in DIMENSIONS.items() if one.unit == self.unit.strip("-")), "number")


# -- definitions -------------------------------------------------------------------------------------------------------

_AT = "a link, LINK(s) or a frame"


@dataclass(frozen=True)
class Definition(Declared, title="Definitions"):
    """A quantity that has no name yet: one of ``{distance, to}``, ``{stiffness, along}``, ``{sum}``, ``{rms}``."""

    label = "definition"

    _: KW_ONLY
    distance: str | None = key(Text(_AT), "Distance of a place from another one, or from a point of the world.", "arm",
                               default=None)  # fmt: skip
    to: Any = key(Either(Text(_AT), Vector("length"), is_list), "That place or point.", "[10 cm, 0, 2 cm]",
                  default=None)  # fmt: skip
    stiffness: str | None = key(
        Text(_AT), "Stiffness of a place: a small force over the displacement along it, inputs and driven coordinates "
        "held.", "arm", default=None,
    )  # fmt: skip
    along: Any = key(Vector("number"), "Direction of that force in the world.", "[0, 0, 1]", default=None)
    sum: Any = key(MapOf(Number("number"), Text("a quantity")), "Weighted sum of quantities of any cases.",
                   "{pull.mass: 1, press.arm.z: -2}", default=None)  # fmt: skip
    rms: Any = key(ListOf(Text("a quantity"), "quantities"), "Root of the mean square of quantities of any cases.",
                   "[low.off, high.off]", default=None)  # fmt: skip

    @classmethod
    def unknown_key(cls, name: str, value: object, at: At) -> None:
        if name in MOTIONS:
            at.fail(*OF_MOTION)
        else:
            super().unknown_key(name, value, at)

    def validate(self) -> None:
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ModelError("", "one of " + listed(KINDS), " and ".join(given) or "none")
        for name, other in (("distance", "to"), ("stiffness", "along")):
            if (getattr(self, name) is None) != (getattr(self, other) is None):
                got = "one of them"
                raise ModelError("", f"the keys '{name}' and '{other}' together", got)
        if self.along is not None and not np.any(self.along):
            raise ModelError("along", "a direction", "a vector of length 0")

    @property
    def of_one_case(self) -> bool:
        """Whether it is a quantity of any one case."""
        return self.sum is None and self.rms is None


def refuse_motions(where: str, given: object) -> None:
    """Refuse what brings a motion down to one number (InputError)."""
    if isinstance(given, Mapping) and set(given) & MOTIONS:
        raise InputError(where, *OF_MOTION)


MOTIONS = set(REDUCTIONS) - {"rms"}
OF_MOTION = "a quantity of a robot at rest", "one of a motion", "motions are not designed yet; sweep over them"
KINDS = ("distance", "stiffness", "sum", "rms")
DEFINITIONS = MapOf(Part(Definition), Name())


# -- quantities of one case --------------------------------------------------------------------------------------------


def measure(robot: Robot, driven: Sequence[str], name: str, definitions: Mapping[str, Definition]) -> Measure:
    """A quantity of a robot at rest by name (InputError: there is none, with the nearest names)."""
    if (defined := definitions.get(name)) is not None and defined.of_one_case:
        return _distance(robot, defined) if defined.distance is not None else _stiffness(robot, defined)
    if name == "mass":
        return _by_differences("kg", lambda rest: centre_of_mass(rest.robot.engine, rest.q)[0])
    if name in (centres := [f"centre_of_mass.{axis}" for axis in AXES]):
        k = centres.index(name)
        return _by_differences("m", lambda rest: float(centre_of_mass(rest.robot.engine, rest.q)[1][k]))
    if found := _FREQUENCY.fullmatch(name):
        return _frequency(int(found[1]) - 1)
    return _of_runs(robot, driven, name, [*(one for one in definitions if definitions[one].of_one_case), *centres])


def _by_differences(unit: str, value: Callable[[Rest], float]) -> Measure:
    return Measure(unit, value, lambda changes: changes.along(value))


def _of_runs(robot: Robot, driven: Sequence[str], name: str, others: Sequence[str]) -> Measure:
    """A quantity that runs have, too."""
    place, _, what = name.rpartition(".")
    at = _PLACE.fullmatch(place)
    links = {link.name for link in robot.links}
    places = (output(at[1], float(at[2])),) if at and at[1] in links and 0.0 <= float(at[2]) <= 1.0 else ()
    if places and what:
        name = f"{places[0].label}.{what}"
    elif place in links:
        places = (output(place, 1.0),)
    known = quantities(robot, tuple(driven), places)
    moving = [f"energy.{one}" for one in ("kinetic", "total", "work", "dissipated")]
    if name not in known or name in moving:
        names = ["mass", "frequency[1]", *others, *(one for one in known if one not in moving)]
        names += [f"{link}.{axis}" for link in links for axis in AXES]
        raise InputError("", "a quantity of a robot at rest", f"'{name}'", nearest(name, dict.fromkeys(names)))
    unit = known[name].unit

    def value(rest: Rest) -> float:
        return rest.value(name, quantities(rest.robot, tuple(rest.driven), places)[name])

    if places and what in AXES:
        k = AXES.index(what)
        return Measure(unit, value, lambda changes: changes.exactly(_position(changes, _place(place))[1][k], value))
    forces = dict(zip(map(force_name, driven, robot.driven_units(driven)), driven, strict=True))
    if name in forces:
        return Measure(unit, value, lambda changes: changes.driven[forces[name]])
    for names, part in ((list(robot.coordinate_names), "q"), ([f"u.{one}" for one in robot.actuator_names], "u")):
        if name in names:
            return _entry(unit, value, part, names.index(name))
    return _by_differences(unit, value)


def _entry(unit: str, value: Callable[[Rest], float], part: str, i: int) -> Measure:
    """An entry of the coordinates or the inputs."""
    return Measure(unit, value, lambda changes: getattr(changes, part)[i])


def _place(text: str) -> Any:
    """A place as `LinkFrames` takes it."""
    found = _PLACE.fullmatch(text)
    return (found[1], float(found[2])) if found else text


def _frames(robot: Robot, *places: Any) -> LinkFrames:
    return LinkFrames(robot.description, robot.engine, places)


def _position(changes: Changes, place: Any) -> tuple[Array, Array]:
    """Position (3,) of a place, and its derivatives (3, n)."""
    p, slope = changes.positions(_frames(changes.rest.robot, place))
    return p[0], slope[0]


def _distance(robot: Robot, defined: Definition) -> Measure:
    places = [_place(str(defined.distance)), *([_place(defined.to)] if isinstance(defined.to, str) else [])]
    _frames(robot, *places)

    def apart(p: Array) -> Array:
        return np.asarray(p[0] - (p[1] if len(p) > 1 else np.array(defined.to)))

    def value(rest: Rest) -> float:
        return float(np.linalg.norm(apart(_frames(rest.robot, *places).poses(rest.q)[:, :3, 3])))

    def slope(changes: Changes) -> Array:
        p, by = changes.positions(_frames(changes.rest.robot, *places))
        d = apart(p)
        size = float(np.linalg.norm(d))  # at 0, a corner, the mean of all sides
        moved = by[0] - by[1] if len(p) > 1 else by[0]
        return changes.exactly(d @ moved / size if size else np.zeros(moved.shape[1]), value)

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

    def slope(changes: Changes) -> Array:
        (x, w, softness), (K, _, A), (dK, _, dA) = moved(changes.rest), changes.rest.matrices, changes.matrices
        b, db = lever(changes.rest), changes.along(lever)
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

    def slope(changes: Changes) -> Array:
        squares, right, left = checked(changes.rest)
        own = np.flatnonzero(np.abs(squares - squares[k]) <= TOGETHER * squares[k])
        slopes = _square_slopes(changes, squares[own], right[:, own], left[:, own])
        return slopes / (8.0 * np.pi**2 * value(changes.rest))

    return Measure("Hz", value, slope)


def _square_slopes(changes: Changes, squares: Array, right: Array, left: Array) -> Array:
    """Derivatives (n,) of the mean of squares of frequencies that are one.

    Of one, v and w being its right and left shapes, K v - w^2 M v = A^T a and K^T w - w^2 M w = A^T b:
    d(w^2) w^T M v = w^T (dK - w^2 dM) v - a^T dA w - b^T dA v. The mean of several that are one is smooth, too, and
    that of each where they stay one.
    """
    (K, M, A), (dK, dM, dA) = changes.rest.matrices, changes.matrices
    square, metric = float(squares.mean()), left.T @ M @ right
    a = scipy.linalg.lstsq(A.T, K @ right - square * M @ right)[0] if len(A) else np.zeros((0, right.shape[1]))
    b = scipy.linalg.lstsq(A.T, K.T @ left - square * M @ left)[0] if len(A) else np.zeros((0, left.shape[1]))
    change = np.einsum("iw,ijn,jv->wvn", left, dK - square * dM, right)
    change -= np.einsum("mv,mjn,jw->wvn", a, dA, left) + np.einsum("mw,mjn,jv->wvn", b, dA, right)
    return np.asarray(np.einsum("vw,wvn->n", np.linalg.inv(metric), change)) / len(squares)
