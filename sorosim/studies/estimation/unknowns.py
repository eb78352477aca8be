"""What is estimated, inputs, driven coordinates, numbers and loads, and what is known of it (docs/estimation.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.polynomial import Legendre, Polynomial, legendre

from sorosim.analysis.sensitivity import scalars_of
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, ModelError, nearest
from sorosim.base.units.quantity import amount
from sorosim.base.units.table import DIMENSIONS
from sorosim.base.validation import describe
from sorosim.files import load_text
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.actuation.distributed_moment import Eigenstrain
from sorosim.mechanics.actuation.load_input import LoadInput
from sorosim.mechanics.dynamics.link_frames import LinkFrames, as_anchor
from sorosim.mechanics.engine.parameter import FILE, INPUT, input_or_coordinate
from sorosim.mechanics.loads.line_load import LineLoad
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.robot import Robot
from sorosim.studies.fitting.unknowns import of_file

MOMENTS, FORCES = ("m_x", "m_y", "m_z"), ("f_x", "f_y", "f_z")
CURVATURES = ("torsion", "bending_y", "bending_z")
# kinds of what the robot is given: loads at places, loads along rods and errors of their strains at rest
AT_PLACES = {"wrench": MOMENTS + FORCES, "force": FORCES, "moment": MOMENTS}
ALONG_RODS = {"force per length": FORCES, "moment per length": MOMENTS, "strain": CURVATURES}
LOADS = {**AT_PLACES, **ALONG_RODS}
DIMENSION = {**dict.fromkeys(FORCES, "force"), **dict.fromkeys(MOMENTS, "moment"),
             **dict.fromkeys(CURVATURES, "curvature")}  # fmt: skip
# of a rod's length, over which loads along it are correlated unless a prior says otherwise; the least
CORRELATED, LEAST_CORRELATED = 0.5, 0.1
# part of the variance of a load along a rod that its functions have; order of their polynomials; points of quadrature
RESOLVED, ORDER, QUADRATURE = 0.999, 16, 40
# keys of a prior
KEYS = ("mean", "spread", "covariance", "length")
TIP = ".tip"
# between a place and what tells one of its readings from others
AGAIN = "#"
_AT = re.compile(r"(.+)@(\d*\.?\d+(?:[eE][-+]?\d+)?)")
_IN_FILES = re.compile(r"[^A-Za-z0-9_-]+")


class Functions(NamedTuple):
    """Functions along a rod, in which a load along it is expanded: Legendre polynomials on 0 <= s <= 1.

    Those of Karhunen and Loeve for the covariance exp(-(s - s')^2 / (2 part^2)): coefficients are independent, of
    variance 1 where that of the load is 1.
    """

    part: float  # correlation length over the length of the rod
    coefficients: Array  # (m, ORDER)

    @classmethod
    def correlated(cls, part: float) -> Functions:
        """Those of a correlation length, as a part of the rod's."""
        x, w = legendre.leggauss(QUADRATURE)
        s = 0.5 * (x + 1.0)
        phi = legendre.legvander(x, ORDER - 1) * np.sqrt(2.0 * np.arange(ORDER) + 1.0)  # orthonormal on [0, 1]
        weighted = 0.5 * w[:, None] * phi
        variance, vectors = np.linalg.eigh(weighted.T @ np.exp(-0.5 * ((s[:, None] - s) / part) ** 2) @ weighted)
        variance, vectors = variance[::-1], vectors[:, ::-1]
        m = int(np.searchsorted(np.cumsum(variance), RESOLVED)) + 1
        # an eigenvector has no sign: at the tip functions are positive
        ends = legendre.legvander(np.ones(1), ORDER - 1)[0] * np.sqrt(2.0 * np.arange(ORDER) + 1.0)
        vectors = vectors * np.sign(ends @ vectors)
        scale = np.sqrt(2.0 * np.arange(ORDER) + 1.0)
        return cls(part, np.array((np.sqrt(variance[:m]) * vectors[:, :m] * scale[:, None]).T, dtype=float))

    def __len__(self) -> int:
        return len(self.coefficients)

    def values(self, s: Array) -> Array:
        """Values (n, m) at fractions s (n,) of the rod's length."""
        return np.array(legendre.legval(2.0 * np.asarray(s) - 1.0, self.coefficients.T).T, dtype=float)

    @property
    def means(self) -> Array:
        """Their means (m,) along the rod."""
        return np.array(self.coefficients[:, 0])

    def texts(self, unit: str) -> list[str]:
        """The functions as expressions of s in files."""
        powers = [Legendre(row, domain=[0.0, 1.0]).convert(kind=Polynomial).coef for row in self.coefficients]
        return [f"(1 {unit})*({_horner(row.tolist())})" for row in powers]


def _horner(coefficients: Sequence[float]) -> str:
    out = repr(coefficients[-1])
    for x in coefficients[-2::-1]:
        out = f"{x!r} + s*({out})"
    return out


@dataclass(frozen=True)
class Unknown:
    """An input, a driven coordinate, a number of the file, or a load of one or more components.

    Attributes
    ----------
    key : str
        As it was given.
    kind : str
        "u" of an input, "driven" of a driven coordinate, "file" of a number of the file, or one of LOADS.
    names, dimensions : tuple of str
        Of its n scalars.
    mean : (n,) array
        What is expected; where the search begins.
    root : (k, n) array
        W of residuals W (p - mean) of standard deviation 1; k = 0: nothing is known.
    low, high : (n,) array
        Bounds.
    index : int
        Of an input in u, of a driven coordinate in q.
    follows : bool
        Whether its mean is what is commanded.
    parts : tuple
        Loads and strains that it multiplies.
    functions : Functions, optional
        Of a load along a rod; its scalars are their coefficients, component by component.
    """

    key: str
    kind: str
    names: tuple[str, ...]
    dimensions: tuple[str, ...]
    mean: Array
    root: Array
    low: Array
    high: Array
    index: int = -1
    follows: bool = False
    parts: tuple[Any, ...] = ()
    functions: Functions | None = None

    @property
    def is_load(self) -> bool:
        """Whether it is a load, which the robot of the estimate has as a further input."""
        return self.kind in LOADS

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs of the robot that its scalars are; those of loads have names that a file may have."""
        return tuple(map(input_of, self.names)) if self.is_load else self.names

    @property
    def part(self) -> float:
        """Correlation length of a load along a rod, as a part of the rod's; 0 of others."""
        return 0.0 if self.functions is None else self.functions.part

    @property
    def coefficients(self) -> Array:
        """Coefficients (m, ORDER) of its functions; none of others."""
        return np.zeros((0, ORDER)) if self.functions is None else self.functions.coefficients

    @property
    def units(self) -> tuple[str, ...]:
        """SI units of its scalars."""
        return tuple(DIMENSIONS[one].unit for one in self.dimensions)


def input_of(name: str) -> str:
    """The name of the input that a scalar of an unknown load is, of a name that a file may have."""
    return _IN_FILES.sub("_", name).strip("_")


def unknowns_of(
    robot: Robot, unknown: object, prior: Mapping[Any, Any] | None, u: Array, driven: Mapping[str, float]
) -> list[Unknown]:
    """What is estimated; wrong names, kinds and priors are refused (InputError).

    u (n_actuators,), driven : what was commanded.
    """
    given = _entries(unknown)
    if not isinstance(prior, Mapping | None):
        raise InputError("prior", "a mapping of what is unknown to means and spreads", describe(prior))
    left = dict(prior or {})
    out = []
    for key, what in given.items():
        known = left.pop(key, None)
        kinds = [what] if isinstance(what, str) else what
        if isinstance(kinds, list | tuple) and kinds and all(isinstance(one, str) and one in LOADS for one in kinds):
            name = name_of(robot, key, "unknown")
            out += [_load(robot, key, kind, of_kind(f"prior.{name}", known, kind, kinds)) for kind in kinds]
        else:
            _refuse_words(key, what)
            if what is not None and known is not None:
                raise InputError(f"prior.{key}", "one spread", "another one in unknown")
            out.append(_scalar(robot, key, what if known is None else known, u, driven))
    if left:
        key = next(iter(left))
        raise InputError("prior", "names that are unknown", f"{key!r}", nearest(str(key), map(str, given)))
    names = [name for one in out for name in one.names]
    if twice := [name for name in names if names.count(name) > 1]:
        hint = "a wrench is moment and force" if twice[0].endswith(MOMENTS + FORCES) else ""
        raise InputError("unknown", "everything once", f"'{twice[0]}' twice", hint)
    return out


def of_kind(where: str, given: Any, kind: str, kinds: Sequence[str]) -> Any:
    """What is given for one of the kinds of a place, by their names where there are several (else InputError)."""
    by_kind = isinstance(given, Mapping) and bool(given) and all(key in LOADS for key in given)
    if given is None or (len(kinds) == 1 and not by_kind):
        return given
    if not by_kind:
        example = f"{{{', '.join(f'{one!r}: ...' for one in kinds)}}}"
        raise InputError(where, f"a mapping of its kinds, {example}", describe(given))
    if other := [key for key in given if key not in kinds]:
        raise InputError(where, f"its kinds, {', '.join(kinds)}", f"'{other[0]}'")
    return given.get(kind)


def _entries(unknown: object) -> dict[Any, Any]:
    """Names of what is unknown, and what each is."""
    if isinstance(unknown, str):
        unknown = [unknown]
    if isinstance(unknown, Mapping):
        out = dict(unknown)
    elif isinstance(unknown, Sequence):
        out = {}
        for one in unknown:
            more = one if isinstance(one, Mapping) else {one: None} if isinstance(one, str) else None
            if more is None:
                raise InputError("unknown", "names, or mappings of names to what they are", describe(one))
            if twice := [key for key in more if key in out]:
                hint = f"several kinds are a list, such as {{{twice[0]!r}: ['force', 'moment']}}"
                raise InputError("unknown", "everything once", f"{twice[0]!r} twice", hint)
            out |= more
    else:
        raise InputError("unknown", "a mapping of names to spreads and kinds of loads", describe(unknown))
    if not out:
        raise InputError("unknown", "something to estimate", "nothing", f"such as {{'arm': {'wrench'!r}}}")
    return out


def place_of(robot: Robot, key: object, where: str) -> Anchor:
    """A place by what users call it: as `LinkFrames` takes it, "LINK.tip" or "LINK@S"; "PLACE#NAME" is the same one."""
    key = key.partition(AGAIN)[0] if isinstance(key, str) else key
    links = [link.name for link in robot.description.links]
    rods = [link.name for link in robot.description.links if link.rod is not None]
    if isinstance(key, str) and key.endswith(TIP) and key.removesuffix(TIP) in links:
        return Anchor(key.removesuffix(TIP))
    if isinstance(key, str) and (found := _AT.fullmatch(key)) and found[1] in rods:
        key = found[1], float(found[2])
    return as_anchor(robot.description, key, where)


def name_of(robot: Robot, key: object, where: str) -> str:
    """What a place is called: as it was given, "LINK@S" of (link, s)."""
    if isinstance(key, str):
        return key
    anchor = place_of(robot, key, where)
    if isinstance(key, tuple | list):
        return f"{anchor.link}@{anchor.s:.9g}"
    point = LinkFrames(robot.description, robot.engine, [anchor], where).points[0]
    if anchor.frame or isinstance(anchor.at, str) or np.array_equal(anchor.at, np.eye(4)):
        return point
    at = ", ".join(f"{x:.6g}" for x in np.asarray(anchor.at)[:3, 3])
    return f"{point} + ({at})"


def _refuse_words(key: object, what: object) -> None:
    """Refuse words that are no kind of load."""
    words = [one for one in (what if isinstance(what, list | tuple) else [what]) if isinstance(one, str)]
    if wrong := [one for one in words if one not in LOADS and not any(letter.isdigit() for letter in one)]:
        raise InputError(f"unknown.{key}", f"a spread, or a kind of load: {', '.join(LOADS)}", f"'{wrong[0]}'",
                         nearest(wrong[0], LOADS))  # fmt: skip


def _scalar(robot: Robot, key: object, known: object, u: Array, driven: Mapping[str, float]) -> Unknown:
    """An input, a driven coordinate or a number of the file."""
    if isinstance(key, str) and key in scalars_of(robot).paths:
        return _number(robot, key, known)
    try:
        one = input_or_coordinate(robot, key, "unknown")
    except InputError as error:
        links = [link.name for link in robot.description.links]
        if isinstance(key, tuple | Anchor) or key in links or (isinstance(key, str) and key.endswith(TIP)):
            raise InputError(f"unknown.{key}", f"a kind of load: {', '.join(LOADS)}", describe(known)) from None
        raise InputError("unknown", "an input, a driven coordinate, or a place or rod with a kind of load", f"{key!r}",
                         error.hint) from None  # fmt: skip
    if one.kind == INPUT:
        commanded = float(u[one.index])
    else:
        columns = {robot.engine.layout.coordinate(name, "driven"): value for name, value in driven.items()}
        if one.index not in columns:
            hint = f"give its value: driven={{'{key}': ...}}; free coordinates follow from the rest"
            raise InputError(f"unknown.{key}", "a coordinate that is driven", f"'{key}', which is free", hint)
        commanded = columns[one.index]
    dimension = one.dimension or "number"
    mean, root, _ = _prior(f"{key}", known, (dimension,), np.array([commanded]))
    absolute = isinstance(known, tuple | list) or (isinstance(known, Mapping) and "mean" in known)
    if not one.low <= mean[0] <= one.high:
        raise InputError(f"prior.{key}", f"a mean between {one.low:g} and {one.high:g}", f"{mean[0]:g}")
    bounds = np.array([one.low]), np.array([one.high])
    return Unknown(
        str(key), one.kind, (one.target,), (dimension,), mean, root, *bounds, index=one.index, follows=not absolute
    )


def _number(robot: Robot, path: str, known: object) -> Unknown:
    """A number of the file, between the bounds that the file accepts."""
    one = of_file(robot, scalars_of(robot), path)
    mean, root, _ = _prior(path, known, (one.dimension,), np.array([one.value]))
    if not one.low < mean[0] < one.high:
        raise InputError(f"prior.{path}", f"a mean between {one.low:g} and {one.high:g}", f"{mean[0]:g}")
    bounds = np.array([one.low]), np.array([one.high])
    return Unknown(path, FILE, (path,), (one.dimension,), mean, root, *bounds)


def _load(robot: Robot, key: object, kind: str, known: object) -> Unknown:
    components = LOADS[kind]
    name = name_of(robot, key, "unknown")
    per_length = "line " if kind.endswith("per length") else ""
    dimensions = [per_length + DIMENSION[one] for one in components]
    mean, root, part = _prior(name, known, dimensions, np.zeros(len(components)), kind in ALONG_RODS)
    infinite = np.full(len(components), np.inf)
    if kind in AT_PLACES:
        anchor = place_of(robot, key, "unknown")
        names = tuple(f"{name}.{one}" for one in components)
        parts: tuple[Any, ...] = tuple(_point_load(anchor, one) for one in components)
        return Unknown(name, kind, names, tuple(dimensions), mean, root, -infinite, infinite, parts=parts)
    rods = {link.name: link.rod for link in robot.description.links if link.rod is not None}
    if key not in rods:
        raise InputError("unknown", "the name of a rod, along which a load acts", f"{key!r}", nearest(str(key), rods))
    length = float(rods[key].length)
    functions = Functions.correlated(_part(name, part, length))
    n = len(functions)
    unit = DIMENSIONS[dimensions[0]].unit
    texts = functions.texts(unit)
    names = tuple(f"{name}.{one}[{k}]" for one in components for k in range(n))
    parts = tuple(_along_rod(str(key), one, text) for one in components for text in texts)
    means: Array = np.zeros(3 * n)
    kinds = tuple(one for one in dimensions for _ in range(n))
    ends: Array = np.full(3 * n, np.inf)
    whole: Array = np.array(np.kron(root, np.eye(n)), dtype=float)
    return Unknown(name, kind, names, kinds, means, whole, -ends, ends, parts=parts, functions=functions)


def _point_load(anchor: Anchor, component: str) -> Wrench:
    unit = tuple(1.0 if axis == component[-1] else 0.0 for axis in "xyz")
    effect: dict[str, Any] = {"moment" if component in MOMENTS else "force": unit}
    return Wrench(anchor, **effect)  # type: ignore[arg-type]  # an Anchor stands for its link


def _along_rod(rod: str, component: str, text: str) -> LineLoad | Eigenstrain:
    if component in CURVATURES:
        strain: dict[str, Any] = {component: text}
        return Eigenstrain(rod, **strain)
    entries = tuple(text if axis == component[-1] else 0.0 for axis in "xyz")
    effect: dict[str, Any] = {"moment" if component in MOMENTS else "force": entries}
    return LineLoad(rod, **effect)


def _part(name: str, length: object, rod: float) -> float:
    """The correlation length of a load along a rod, as a part of the rod's length."""
    if length is None:
        return CORRELATED
    value = amount(f"prior.{name}.length", length, "length")
    if not value >= LEAST_CORRELATED * rod:
        raise InputError(f"prior.{name}.length", f"a length of {LEAST_CORRELATED * rod:g} m or more", f"{length}")
    return value / rod


def _prior(
    name: str, known: object, dimensions: Sequence[str], mean: Array, needed: bool = False
) -> tuple[Array, Array, object]:
    """Mean (n,), root (k, n) and correlation length of what is known beforehand."""
    where, n, length = f"prior.{name}", len(dimensions), None
    if isinstance(known, Mapping):
        if unknown := [key for key in known if key not in KEYS]:
            raise InputError(where, f"the keys {', '.join(KEYS)}", f"'{unknown[0]}'", nearest(str(unknown[0]), KEYS))
        given, length = dict(known), known.get("length")
        if length is not None and not needed:
            raise InputError(f"{where}.length", "a load along a rod, which has a correlation length", "another unknown")
    elif isinstance(known, tuple | list) and len(known) == 2 and (n == 1 or n == 3):
        given = {"mean": known[0], "spread": known[1]}
    else:
        given = {} if known is None else {"spread": known}
    if "mean" in given and needed:
        hint = "what is expected to act may stand in the file, as a load"
        raise InputError(f"{where}.mean", "a mean of 0 of what acts along a rod", describe(given["mean"]), hint)
    if "mean" in given:
        mean = components_of(f"{where}.mean", given["mean"], dimensions)
    if "spread" in given and "covariance" in given:
        raise InputError(where, "a spread or a covariance", "both")
    if "covariance" in given:
        return mean, root_of(f"{where}.covariance", given["covariance"], n), length
    if "spread" not in given:
        if needed:
            expected = "a spread of a load along a rod, of which readings tell the smooth parts at most"
            raise InputError(where, expected, "none", f"such as prior={{'{name}': '0.1 N/m'}}")
        return mean, np.zeros((0, n)), length
    spread = components_of(f"{where}.spread", given["spread"], dimensions)
    if not (spread > 0.0).all():
        raise InputError(where, "spreads greater than 0", describe(given["spread"]), "what is certain is no unknown")
    return mean, np.diag(1.0 / spread), length


def components_of(where: str, value: Any, dimensions: Sequence[str]) -> Array:
    """Numbers (n,) of one for all, one for each, or one for each of two dimensions (else InputError)."""
    n, kinds = len(dimensions), list(dict.fromkeys(dimensions))
    is_one = np.ndim(value) == 0 if isinstance(value, np.ndarray) else not isinstance(value, Sequence)
    if isinstance(value, str) or is_one:
        if len(kinds) > 1:
            raise InputError(where, f"two numbers, of {' and '.join(kinds)}, or {n}", describe(value))
        return np.full(n, amount(where, value, kinds[0]))
    entries = list(value)
    if len(kinds) == 2 and len(entries) == 2 and n > 2:
        entries = [entries[kinds.index(one)] for one in dimensions]
    if len(entries) != n:
        raise InputError(where, "one number" + (f", or {n}" if n > 1 else ""), f"{len(entries)}")
    pairs = enumerate(zip(entries, dimensions, strict=True))
    return np.array([amount(f"{where}[{i}]" if n > 1 else where, x, one) for i, (x, one) in pairs])


def root_of(where: str, covariance: object, n: int) -> Array:
    """W of a covariance C (n, n) in SI units, W^T W = C^-1."""
    try:
        C = np.array(covariance, dtype=float)
    except (TypeError, ValueError):
        raise InputError(where, f"numbers ({n}, {n}) in SI units", describe(covariance)) from None
    if C.shape != (n, n) or not np.isfinite(C).all() or not np.allclose(C, C.T, rtol=1e-9, atol=0.0):
        raise InputError(where, f"a symmetric matrix ({n}, {n}) of finite numbers", f"shape {C.shape}")
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(C)))
    except np.linalg.LinAlgError:
        raise InputError(where, "a positive definite matrix", "another one") from None


def with_inputs(robot: Robot, unknowns: Sequence[Unknown]) -> Robot:
    """The robot with unknown loads as further inputs, in their order behind its own."""
    loads, actuators = dict(robot.description.loads), dict(robot.description.actuators)
    for one in unknowns:
        for name, load in zip(one.inputs, one.parts, strict=False):
            if name in loads or name in actuators:
                raise InputError("unknown", f"a name that no load or actuator of '{robot.name}' has", f"'{name}'")
            if isinstance(load, Eigenstrain):
                actuators[name] = load
            else:
                loads[name], actuators[name] = load, LoadInput(name)
    if len(actuators) == len(robot.description.actuators):
        return robot
    try:
        whole = Robot(replace(robot.description, loads=loads, actuators=actuators, simulate={}, statics={}))
    except ModelError as error:
        raise InputError("unknown", error.expected, error.got, error.hint) from error
    numbers = any(one.kind == FILE for one in unknowns)
    return _in_its_file(robot, whole) if numbers and robot.description.document is not None else whole


def _in_its_file(robot: Robot, whole: Robot) -> Robot:
    """A robot with further parts, whose file is that of another one with these: numbers there keep their paths."""
    file = read_text(robot.description.text, robot.description.document.file).data
    parts = read_text(whole.to_yaml(), whole.name).data
    for block, before in (("loads", robot.description.loads), ("actuators", robot.description.actuators)):
        added = {name: part for name, part in (parts.get(block) or {}).items() if name not in before}
        file[block] = {**(file.get(block) or {}), **added}
    return load_text(yaml.safe_dump(file, sort_keys=False), f"{robot.name} with unknown loads")
