"""Strain bases: how the strains of a rod depend on its coordinates, on a division of unit length x in [0, 1].

A basis is a class that derives from `Basis`. Those of other packages are registered with `register_basis`, or named in
entry points under the group ``sorosim.bases`` (``mine = "package.module:object"``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.base.declare import INVALID, At, Declared, Formula, Integer, Key, Part, Text, Type, Writer, key
from sorosim.base.errors import ModelError, nearest
from sorosim.base.registry import BASES, check_basis_members
from sorosim.base.signals.expressions import Expression
from sorosim.base.validation import describe
from sorosim.mechanics.model.profile import PLACE_VARIABLES, evaluate

Array = NDArray[Any]

STRAINS = ("torsion", "bending_y", "bending_z", "elongation", "shear_y", "shear_z")
MAX_ORDER = 200


class Basis:
    """A family of scalar functions on [0, 1]; its obligations:

    1. ``name`` is how files and `Strain` call it.
    2. ``count(order)`` is the number of functions; it raises ModelError for an order that the family does not have.
    3. ``values(x, order)`` is the (n, count) array of all functions at x (n,): finite, linearly independent, of order
       one in size (unscaled, not multiplied by any length).
    4. ``breakpoints(order)`` are the interior kinks, increasing: between them all functions are smooth.
    5. ``degree(order)`` is their degree as polynomials between the breakpoints, or one that needs as many Gauss points.
    6. Nothing depends on state: the same arguments always give the same values.

    ``class Legendre(SmoothBasis, kind="legendre")`` registers one under its name. An object with these five members
    need not derive from this class: register it by `register_basis`, or name it in the entry points of a package.
    """

    name: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str = "", **options: object) -> None:
        super().__init_subclass__(**options)
        if kind:
            cls.name = kind
            BASES.add(kind, cls())

    def count(self, order: int, /) -> int:
        raise NotImplementedError

    def values(self, x: ArrayLike, order: int, /) -> Array:
        raise NotImplementedError

    def breakpoints(self, order: int, /) -> tuple[float, ...]:
        return ()

    def degree(self, order: int, /) -> int:
        raise NotImplementedError


class SmoothBasis(Basis):
    """``functions`` without kinks, for every order >= 0; as many and of the degree of polynomials of that order."""

    def functions(self, x: Array, order: int) -> Array:
        """All functions (n, count) at x (n,)."""
        raise NotImplementedError

    def count(self, order: int) -> int:
        return order + 1

    def values(self, x: ArrayLike, order: int) -> Array:
        return self.functions(np.atleast_1d(np.asarray(x)), order)

    def degree(self, order: int) -> int:
        return order


class ElementBasis(Basis):
    """Piecewise polynomials on ``order`` >= 1 elements of equal length; neighbours share the functions of their node.

    ``shape``, (n_local, p + 1), has the coefficients of t^0..p of the functions of one element, t in [0, 1]; ``shared``
    says how many of them belong to each of its two end nodes.
    """

    shape: ClassVar[tuple[tuple[float, ...], ...]]
    shared: ClassVar[int] = 1

    def count(self, order: int) -> int:
        if order < 1:
            raise ModelError(f"basis {self.name}", "an order of 1 or more (the number of elements)", f"{order}")
        return (len(self.shape) - self.shared) * order + self.shared

    def values(self, x: ArrayLike, order: int) -> Array:
        x, shape, count = np.atleast_1d(np.asarray(x)), np.array(self.shape), self.count(order)
        element = np.clip(np.floor(x.real * order).astype(int), 0, order - 1)
        powers = (x * order - element)[:, None] ** np.arange(shape.shape[1])
        out = np.zeros((len(x), count), dtype=powers.dtype)
        columns = (len(shape) - self.shared) * element[:, None] + np.arange(len(shape))
        out[np.arange(len(x))[:, None], columns] = powers @ shape.T
        return out

    def breakpoints(self, order: int) -> tuple[float, ...]:
        return tuple(k / order for k in range(1, order))

    def degree(self, order: int) -> int:
        return len(self.shape[0]) - 1


_checked: set[tuple[str, int]] = set()


def register_basis(basis: Any) -> None:
    """Make ``basis`` known under its name, which must not be taken by another one."""
    check_basis_members("register_basis", getattr(basis, "name", ""), basis)
    BASES.register(basis.name, basis)


def get_basis(name: str) -> Basis:
    """Return the basis of that name: built in, registered, or named in the entry points ``sorosim.bases``."""
    if not isinstance(name, str):
        raise ModelError("basis", "the name of a basis", describe(name), nearest("", BASES.known()))
    return cast(Basis, BASES.get(name))


def check_basis_outputs(basis: Basis, order: int) -> None:
    """Refuse a basis that does not return for an order what it must (ModelError)."""
    where = f"basis {basis.name} (order {order})"
    x = np.array([0.0, 0.3, 0.77, 1.0])
    try:
        count, kinks, degree = basis.count(order), tuple(basis.breakpoints(order)), basis.degree(order)
        values = np.asarray(basis.values(x, order), dtype=float)
        increasing = bool(np.all(np.diff([0.0, *kinks, 1.0]) > 0.0))
    except Exception as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(where, "functions that can be evaluated", f"{type(error).__name__}: {error}") from error
    for label, number, least in (("count", count, 1), ("degree", degree, 0)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
            raise ModelError(where, f"{label}(order) to be an integer >= {least}", describe(number))
    if not increasing:
        raise ModelError(where, "breakpoints increasing between 0 and 1", describe(list(kinks)))
    if values.shape != (len(x), count):
        raise ModelError(where, f"values of shape ({len(x)}, {count})", f"shape {values.shape}")
    if not np.isfinite(values).all():
        raise ModelError(where, "finite values", "NaN or infinity")


@dataclass(frozen=True)
class OwnOrder(Declared, title="Strains with a basis of their own"):
    """Basis and order of one strain."""

    basis: str = key(Text("the name of a basis"), "Name of the basis.", "hermite")
    order: int = key(Integer(0, MAX_ORDER), "Order, or number of elements or harmonics.", "2")


@dataclass(frozen=True)
class Order(Type):
    """Order of a strain: a whole number, or basis and order, in Python also as a pair."""

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, tuple | list) and len(value) == 2:
            value = {"basis": value[0], "order": value[1]}
        if isinstance(value, Mapping):
            found = OwnOrder.read(value, at)
            if found is INVALID or (at / "basis").attempt(lambda: _BasisName().check(found.basis)) is INVALID:
                return INVALID
            return found.basis, found.order
        return at.attempt(lambda: Integer(0, MAX_ORDER).check(value))

    def write(self, value: object, writer: Writer) -> Any:
        return {"basis": value[0], "order": value[1]} if isinstance(value, tuple) else value

    def shapes(self) -> tuple[Type, ...]:
        return Integer(0, MAX_ORDER), Part(OwnOrder)


@dataclass(frozen=True)
class _BasisName(Text):
    """The name of a basis that there is."""

    what: str = "the name of a basis"

    def key_of(self, owner: type[Declared], given: Key) -> Key:
        return replace(given, doc=given.doc.format(", ".join(BASES.declared())))

    def check(self, value: object) -> str:
        try:
            get_basis(super().check(value))
        except ModelError as error:
            raise ModelError("", error.expected, error.got, error.hint) from error.__cause__
        return str(value)


def _strain(doc: str, example: str) -> Any:
    return key(Order(), f"{doc} Order of its basis, or {{basis, order}}; a strain that is left out is locked.", example,
               default=None, kw_only=True, without="locked")  # fmt: skip


@dataclass(frozen=True)
class Strain(Declared, title="Strains"):
    """Which strains of a division may vary, and how: the order of each in its basis; one without an order is locked.

    Coordinates are in the order torsion, bending_y, bending_z, elongation, shear_y, shear_z, each by basis index.
    """

    basis: str = key(
        _BasisName(),
        "Basis of all strains that do not name their own: {}, or one of a plug-in.", "chebyshev", default="legendre",
    )  # fmt: skip
    torsion: Any = _strain("Twist about x.", "1")
    bending: Any = _strain("Bending about y and about z.", "3")
    bending_y: Any = _strain("Bending about y alone.", "3")
    bending_z: Any = _strain("Bending about z alone.", "3")
    elongation: Any = _strain("Elongation along x.", "1")
    shear: Any = _strain("Shear along y and along z.", "0")
    shear_y: Any = _strain("Shear along y alone.", "0")
    shear_z: Any = _strain("Shear along z alone.", "0")

    @classmethod
    def read_keys(cls, data: Mapping[str, object], at: At, **values: object) -> Any:
        # without an order of its own no strain looks the common basis up
        orders = [value for name, value in data.items() if name != "basis"]
        if "basis" in data and all(isinstance(value, Mapping) for value in orders) and isinstance(data["basis"], str):
            values["basis"] = data["basis"]
        return super().read_keys(data, at, **values)

    def validate(self) -> None:
        for both in ("bending", "shear"):
            pair = f"{both}_y", f"{both}_z"
            if getattr(self, both) is None:
                continue
            if any(getattr(self, name) is not None for name in pair):
                raise ModelError(both, f"either {both}, or {both}_y and {both}_z", "both")
            self._set(**dict.fromkeys(pair, getattr(self, both)), **{both: None})
        for strain in STRAINS:
            given = getattr(self, strain)
            if given is None:
                continue
            entry = given if isinstance(given, tuple) else (self.basis, given)
            if entry not in _checked:
                # once, so that a faulty plug-in is named and not met in a solver
                try:
                    check_basis_outputs(get_basis(entry[0]), entry[1])
                except ModelError as error:
                    raise error.inside(strain) from error.__cause__
                _checked.add(entry)
            self._set(**{strain: entry})
        self._set(basis="legendre")

    def data(self, writer: Writer) -> Any:
        own = {name: entry for name in STRAINS if (entry := getattr(self, name)) is not None}
        bases, given = {basis for basis, _ in own.values()}, {}
        for name, entry in own.items():  # what y and z share is written once
            both, _, axis = name.partition("_")
            alike = bool(axis) and own.get(f"{both}_y") == own.get(f"{both}_z")
            given[both if alike else name] = entry
        if len(bases) != 1:
            return {name: {"basis": basis, "order": order} for name, (basis, order) in given.items()}
        basis = bases.pop()
        orders = {name: order for name, (_, order) in given.items()}
        return orders if basis == "legendre" else {"basis": basis, **orders}

    def _entry(self, strain: str) -> tuple[str, int] | None:
        """Basis and order of one of the six strains."""
        return cast("tuple[str, int] | None", getattr(self, strain))

    @property
    def _free(self) -> list[tuple[str, Basis, int]]:
        entries = ((strain, self._entry(strain)) for strain in STRAINS)
        return [(strain, get_basis(entry[0]), entry[1]) for strain, entry in entries if entry is not None]

    def functions(self, strain: str, x: ArrayLike) -> Array:
        """Functions of one strain at x (n_x,): (n_x, count), no columns when it is locked."""
        entry = self._entry(strain)
        return np.zeros((np.size(x), 0)) if entry is None else get_basis(entry[0]).values(x, entry[1])

    @cached_property
    def count_per_strain(self) -> tuple[int, ...]:
        """Number of coordinates of each of the six strains."""
        counts = {strain: int(basis.count(order)) for strain, basis, order in self._free}
        return tuple(counts.get(strain, 0) for strain in STRAINS)

    @property
    def count(self) -> int:
        """Number of coordinates."""
        return sum(self.count_per_strain)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Strain index 0..5 of each coordinate (count,)."""
        return np.repeat(np.arange(len(STRAINS), dtype=np.int64), self.count_per_strain)

    @property
    def names(self) -> list[str]:
        """Names of the coordinates, such as ``torsion[0]``."""
        return [
            f"{strain}[{k}]" for strain, count in zip(STRAINS, self.count_per_strain, strict=True) for k in range(count)
        ]

    def values(self, x: ArrayLike) -> Array:
        """The scalar function of each coordinate at x (n_x,) in [0, 1]: (n_x, count), unscaled."""
        return np.hstack([self.functions(strain, x) for strain in STRAINS])

    @cached_property
    def breakpoints(self) -> tuple[float, ...]:
        """Interior kinks of all bases, increasing."""
        merged: list[float] = []
        for x in sorted(float(x) for _, basis, order in self._free for x in basis.breakpoints(order)):
            # the same place from two bases, up to rounding, is one place
            if not merged or x - merged[-1] > 1e-12:
                merged.append(x)
        return tuple(merged)

    @property
    def degree(self) -> int:
        """Largest effective polynomial degree, 0 when all strains are locked."""
        return max((int(basis.degree(order)) for _, basis, order in self._free), default=0)


def _reference(dimension: str, doc: str, example: str, default: float = 0.0) -> Any:
    return key(Formula(dimension, PLACE_VARIABLES), doc, example, default=default)


@dataclass(frozen=True)
class ReferenceStrain(Declared, title="Reference strains"):
    """Strain of the unloaded rod, for rods that are born curved or twisted; expressions of X [m], s = X/L and L [m]."""

    label = "reference"
    torsion: float | Expression = _reference("curvature", "Twist per length.", "1 1/m")
    bending_y: float | Expression = _reference("curvature", "Curvature about y.", "2 1/m")
    bending_z: float | Expression = _reference("curvature", "Curvature about z.", "2*s")
    elongation: float | Expression = _reference("number", "Stretch, 1: none.", "1.1", 1.0)
    shear_y: float | Expression = _reference("number", "Shear along y.", "0.01")
    shear_z: float | Expression = _reference("number", "Shear along z.", "0.01")

    @property
    def entries(self) -> tuple[float | Expression, ...]:
        """All six."""
        return tuple(getattr(self, name) for name in STRAINS)

    def validate(self) -> None:
        # formulas of X or L wait for the rod, which knows its length
        if not any({"X", "L"} & set(entry.used) for entry in self.entries if isinstance(entry, Expression)):
            self.check(1.0)

    def values(self, X: ArrayLike, L: float) -> Array:
        """Reference strain at arclengths X (n,) [m] of a rod of length L [m]: (n, 6)."""
        X = np.atleast_1d(np.asarray(X))
        columns = [evaluate(e, X, L)[:, 0] if isinstance(e, Expression) else 0.0 * X + e for e in self.entries]
        return np.stack(columns, axis=-1)

    def check(self, L: float) -> None:
        """Refuse strains that are not finite, and elongations that are not positive, on a rod of length L [m]."""
        s = np.linspace(0.0, 1.0, 201)
        with np.errstate(all="ignore"):
            sampled = self.values(s * L, L)
        for strain, value in zip(STRAINS, sampled.T, strict=True):
            fine = np.isfinite(value) & ((value > 0.0) | (strain != "elongation"))
            if not fine.all():
                worst = int(np.argmin(fine))
                expected = "a positive elongation (1: unstretched)" if strain == "elongation" else "a finite strain"
                raise ModelError(strain, expected, f"{value[worst]:.6g} at s = {s[worst]:.4g}")
