"""Soft rods: one or several divisions, each with its own length, section, material, strain basis and quadrature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.base.declare import INVALID, At, Declared, Integer, Name, OneOf, Part, Quantity, Type, Writer, key
from sorosim.base.declare.base import Define, Key
from sorosim.base.declare.composite import PartsOrKeys
from sorosim.base.declare.handle import Handle, X
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ModelError
from sorosim.base.problems import shown
from sorosim.base.registry import SECTIONS
from sorosim.base.signals.expressions import Expression
from sorosim.mechanics.model.basis import ReferenceStrain, Strain
from sorosim.mechanics.model.discs import Discs
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.profile import Constant
from sorosim.mechanics.model.quadrature import MAX_N_GAUSS, check_n_gauss, default_n_gauss, gauss_panels
from sorosim.mechanics.model.section import Section, SectionProperties

Array = NDArray[Any]

N_DIVISIONS = Integer(1, 10_000)
N_SAMPLES = 19  # of a section along its division, where strains are judged
MIDDLES = (np.arange(64) + 0.5) / 64.0  # of equal pieces, over which the reference strain is integrated


class MaterialOf(Type):
    """A material: in a file its name, in Python itself."""

    block = "materials"

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, Material):
            return value
        if not at.scope.is_file:
            return at.fail("a Material", shown(value))
        name = at.attempt(lambda: Name().check(value))
        names = at.scope.names("materials")
        if name is INVALID or names is None or not at.known("the name of a material", name, names):
            return INVALID
        return at.scope.part("materials", name, INVALID)

    def write(self, value: object, writer: Writer) -> Any:
        return writer.material(value)

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "x-names": self.block}


@dataclass(frozen=True)
class Division(Declared, title="Rods"):
    """A piece of a rod. Expressions and tables of its section run over it: X [m] from 0 to its length L, s = X/L."""

    length: float = key(Quantity("length", above=0.0), "Length.", "50 cm")
    section: Section = key(
        OneOf(SECTIONS, Section), "Cross-section, in the y-z plane.", "{circle: {radius: [3 cm, 1.5 cm]}}"
    )
    material: Material = key(MaterialOf(), "Name of its material.", "rubber")
    strain: Strain = key(Part(Strain), "What may deform, and how.", "{bending: 3}")
    _: KW_ONLY
    reference: ReferenceStrain = key(
        Part(ReferenceStrain), "Strain of the unloaded rod, for one that is curved or twisted.", "{bending_y: 2 1/m}",
        default=ReferenceStrain(), without="straight",
    )  # fmt: skip
    discs: Discs | None = key(
        Part(Discs), "Spacer discs, which lead tendons outside of the section.",
        "{count: 10, radius: 8 mm, thickness: 2 mm, mass: 0.5 g}", default=None,
    )  # fmt: skip
    quadrature: int | None = key(
        Integer(1, MAX_N_GAUSS), "Gauss points (between the kinks of basis and section).",
        "6", default=None, without="order + 3, at least 5; more where reference or routes wind",
    )  # fmt: skip
    handles = (Handle(length=X, carried=True),)

    def validate(self) -> None:
        # other sections were checked when they were made
        section: list[tuple[str, Any]] = (
            [(f"section.{self.section.kind}", self.section)] if self.section.needs_length else []
        )
        for name, part in (*section, ("reference", self.reference)):
            try:
                part.check(self.length)
            except ModelError as error:
                raise error.inside(name) from None
        if self.quadrature is not None:
            check_n_gauss(self.quadrature, self.strain)

    @cached_property
    def n_gauss(self) -> int:
        """Gauss points in each panel between the kinks of the strain basis and of the section's tables."""
        return self.default_points() if self.quadrature is None else self.quadrature

    def default_points(self, route_turn: float = 0.0) -> int:
        """Gauss points in each panel where none are named, if routes through its sections turn so far in it [rad].

        Those that turn beyond 2 (p + 2) are not followed, as no strain functions of degree p can: there the harmonics
        of a route have Legendre coefficients of higher degrees. Orders are what lacks, or its formula is in degrees.
        """
        widest = float(np.diff([0.0, *self.breakpoints, 1.0]).max())
        followed = route_turn * widest if route_turn * widest <= 2.0 * (self.strain.degree + 2) else 0.0
        return default_n_gauss(self.strain, self.turn * widest + followed)

    @cached_property
    def turn(self) -> float:
        """How far its sections turn from its base to its end, unloaded: the integral of curvature and twist [rad]."""
        if not any(self.reference.entries[:3]):
            return 0.0
        curvature = self.reference.values(MIDDLES * np.real(self.length), self.length)[:, :3].real
        return float(np.linalg.norm(curvature, axis=1).mean() * np.real(self.length))

    @cached_property
    def samples(self) -> tuple[Array, Array]:
        """Arclengths (n,) inside [m]; diameters (n, 2) along y and z [m] of round sections of its radii of gyration."""
        X = np.linspace(0.05, 0.95, N_SAMPLES) * self.length
        a = self.section.properties(X, self.length)
        return X, np.asarray(4.0 * np.sqrt(np.stack([a.Iz, a.Iy], axis=-1) / a.A[:, None]))

    @cached_property
    def fibre_bounds(self) -> Array:
        """No less (n,) than what any fibre is strained by for one of each coordinate, at the places of `samples`."""
        X, thickness = self.samples
        half, basis = 0.5 * thickness.max(axis=1), np.abs(self.basis(X))
        linear = basis[:, :, 3:].sum(axis=-1) / np.minimum(self.reference.values(X, self.length)[:, 3:4], 1.0)
        return np.asarray((basis[:, :, :3].sum(axis=-1) * half[:, None] + linear).max(axis=0))

    @cached_property
    def unloaded(self) -> Array:
        """Reference strain (n, 6) at the places of `samples`."""
        return self.reference.values(self.samples[0], self.length)

    @cached_property
    def turn_bounds(self) -> tuple[Array, float]:
        """No less than it turns from point to point for one of each coordinate (n,), and unloaded [rad]."""
        X, widest = self.samples[0], np.pi / 2.0 * self.length / self.n_gauss  # Gauss points are dense at the ends
        unloaded = np.abs(self.unloaded[:, :3]).sum(axis=-1).max()
        return widest * np.abs(self.basis(X)[:, :, :3]).sum(axis=-1).max(axis=0), float(widest * unloaded)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Interior places s where the strain basis or a size of the section has a kink."""
        merged: list[float] = []
        for s in sorted((*self.strain.breakpoints, *self.section.breakpoints)):
            if not merged or s - merged[-1] > 1e-9:
                merged.append(float(s))
        return tuple(merged)

    def gauss_points(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Arclengths [m], weights [m] and whether each is a Gauss point; ends and kinks have weight zero."""
        x, w, is_gauss = _panels(self.n_gauss, self.breakpoints)
        return x * self.length, w * self.length, is_gauss

    def basis(self, X: ArrayLike) -> Array:
        """Strain basis P^T at arclengths X (n_X,): (n_X, n, 6), one row of six a coordinate; read-only."""
        X = np.atleast_1d(np.asarray(X))
        return _basis(self.strain, self.length, X.dtype, X.tobytes())

    def basis_slope(self, X: ArrayLike) -> Array:
        """Derivative of the basis by X at arclengths X (n_X,): (n_X, n, 6)."""
        s = (np.atleast_1d(np.asarray(X)) / self.length).real  # a scalar that is varied moves no place s
        out: Array = _basis(self.strain, 1.0, np.dtype(complex), (s + 1e-30j).tobytes()).imag / 1e-30
        return out * np.where(self.strain.rows < 3, self.length**-2, 1.0 / self.length)[None, :, None]

    def _integrals(self, X: ArrayLike) -> SectionProperties:
        """Area integrals of the section at arclengths X (n_X,); the last ones are kept for who asks next."""
        places = np.asarray(X)
        at = places.dtype.char, places.shape, places.tobytes()
        if (found := self._last_integrals.get(at)) is None:
            found = self.section.properties(X, self.length)
            self._last_integrals.clear()
            self._last_integrals[at] = found
        return found

    @cached_property
    def _last_integrals(self) -> dict[Any, SectionProperties]:
        return {}

    def line_inertia(self, X: ArrayLike) -> Array:
        """Diagonal of the inertia per length (n_X, 6): rho (Jp, Iy, Iz, A, A, A) [kg m; kg/m]."""
        a = self._integrals(X)
        return self.material.density * np.stack([a.Jp, a.Iy, a.Iz, a.A, a.A, a.A], axis=-1)

    def line_stiffness(self, X: ArrayLike) -> Array:
        """Diagonal of the stiffness (n_X, 6) of equilibria: G Jt, E Iy, E Iz, E A, ky G A, kz G A [N m^2; N]."""
        a, relaxation = self._integrals(X), self.material.relaxation
        ratio = 1.0 if relaxation is None else relaxation.equilibrium_ratio
        E, G = ratio * self.material.young, ratio * self.material.shear_modulus
        return np.stack([G * a.Jt, E * a.Iy, E * a.Iz, E * a.A, G * a.ky * a.A, G * a.kz * a.A], axis=-1)

    @property
    def straightening_energy(self) -> Any:
        """Energy per length of a uniform rod that is held straight, by its reference curvature and torsion [J/m]."""
        S, e = self.line_stiffness(np.zeros(1))[0], self.reference.values(np.zeros(1), self.length)[0]
        bent = S[1] * e[1] ** 2 + S[2] * e[2] ** 2
        energy = 0.5 * (S[0] * e[0] ** 2 + bent)
        if self.material.is_hyperelastic:  # p at the stretch 1, docs/theory.md, 6
            energy += (2.0 / 3.0 + self.material.second_share) * bent**2 / S[3]
        return energy

    def line_damping(self, X: ArrayLike) -> Array:
        """Diagonal of the damping (n_X, 6): viscosity (Jt, 3 Iy, 3 Iz, 3 A, ky A, kz A), and stiffness-proportional."""
        a = self._integrals(X)
        viscous = np.stack([a.Jt, 3.0 * a.Iy, 3.0 * a.Iz, 3.0 * a.A, a.ky * a.A, a.kz * a.A], axis=-1)
        return self.material.damping * viscous + self.material.stiffness_damping * self.line_stiffness(X)

    @property
    def mass(self) -> float:
        """Mass, that of its discs included [kg]."""
        X, w, _ = self.gauss_points()
        discs = 0.0 if self.discs is None else self.discs.count * self.discs.mass
        return float(np.real(w @ self.line_inertia(X)[:, 3] + discs))

    def cut(self, n: int) -> tuple[Division, ...]:
        """It as n equal pieces; ModelError where it is not the same all along."""
        if n == 1:
            return (self,)
        if self.varies:
            expected = "a rod that is the same all along, to be cut into equal divisions"
            raise ModelError(
                "divisions", expected, f"one whose {self.varies}", "list the divisions, each with its keys"
            )
        return (self.changed(length=self.length / n),) * n

    @property
    def varies(self) -> str:
        """What is not the same all along, in words; "" if nothing is."""
        for name in self.section.sizes:
            if not isinstance(self.section.profile(name), Constant):
                return f"{self.section.kind} has a {name} that varies"
        if any(isinstance(one, Expression) for one in self.reference.entries):
            return "reference strain varies"
        return "" if self.discs is None else "discs stand apart from each other"

    @cached_property
    def matrices(self) -> tuple[Array, Array]:
        """Stiffness and damping (n, n): quadrature of P^T diag P."""
        X, w, own = self.gauss_points()
        P = np.swapaxes(self.basis(X[own]), 0, 1).reshape(self.strain.count, 6 * np.count_nonzero(own))
        lines = self.line_stiffness(X)[own], self.line_damping(X)[own]
        K, D = ((P * (w[own, None] * line).ravel()) @ P.T for line in lines)
        return 0.5 * (K + K.T), 0.5 * (D + D.T)


@lru_cache(maxsize=128)
def _basis(strain: Strain, length: float, kind: np.dtype[Any], places: bytes) -> Array:
    values = strain.values(np.frombuffer(places, dtype=kind) / length)
    values = values * np.where(strain.rows < 3, 1.0 / length, 1.0)  # coordinates of angular strains are radians
    out = np.zeros((*values.shape, 6), dtype=values.dtype)
    out[:, np.arange(values.shape[1]), strain.rows] = values
    out.setflags(write=False)
    return out


_panels = lru_cache(maxsize=128)(gauss_panels)


class _Divisions(PartsOrKeys):
    """A list of divisions, or the keys of the only one, or those of all and their number."""

    def schema(self, define: Define) -> dict[str, Any]:
        return {"anyOf": [super().schema(define), N_DIVISIONS.schema(define)]}

    def give(self, value: Any, key: Key, writer: Writer) -> dict[str, Any]:
        first, n = value[0], len(value)
        if n > 1 and all(one == first for one in value[1:]):
            for length in (float(f"{n * first.length:.12g}"), n * first.length):
                whole = first.changed(length=length)
                if length / n == first.length and not whole.varies:
                    return {**whole.data(writer), key.name: n}
        return super().give(value, key, writer)


@dataclass(frozen=True, init=False)
class Rod(Declared, title="Rods of several pieces"):
    """A soft body: divisions one after the other, each continuing the frame of the one before.

    ``Rod(length, section, material, strain, ...)`` takes what one `Division` takes, ``Rod([first, second])`` several;
    ``Rod(length, ..., divisions=50)`` cuts one into equal ones.
    """

    divisions: tuple[Division, ...] = key(
        _Divisions(Part(Division), "one division or several"),
        "Pieces one after the other, each with the keys of a rod; or, beside these keys, the number of equal ones.",
        "[{length: 10 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 1}}]",
    )

    alternatives = ((("length", "section", "material", "strain"), "divisions"),)
    alternatives_overlap = True

    def __init__(self, *pieces: Any, **keys: Any) -> None:
        if not pieces and set(keys) == {"divisions"}:
            pieces, keys = (keys["divisions"],), {}
        is_whole = len(pieces) == 1 and not keys
        n = N_DIVISIONS.argument("divisions", keys.pop("divisions", 1))
        self._set(divisions=pieces[0] if is_whole else Division(*pieces, **keys).cut(n))
        self.__post_init__()

    @classmethod
    def read(cls, data: object, at: At) -> Any:
        if isinstance(data, Mapping) and not is_list(given := data.get("divisions", 1)):
            n = N_DIVISIONS.read(given, at / "divisions")
            one = Division.read_keys({name: value for name, value in data.items() if name != "divisions"}, at)
            return INVALID if INVALID in (one, n) else at.attempt(lambda: cls.make({"divisions": one.cut(n)}, at))
        return super().read(data, at)

    @classmethod
    def expected(cls) -> str:
        return Division.expected()

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        others = [name for name in data if name != "divisions"]
        if others:
            got, hint = "also " + ", ".join(others)[:60], "each entry of divisions has its own"
            raise ModelError("", "the key divisions alone", got, hint)

    @property
    def materials(self) -> tuple[Material, ...]:
        """Of each division."""
        return tuple(division.material for division in self.divisions)

    def with_materials(self, others: Mapping[int, Material]) -> Rod:
        """The same of other materials, by the `id` of those that they replace."""
        pieces = (d.changed(material=others.get(id(d.material), d.material)) for d in self.divisions)
        return self.changed(divisions=tuple(pieces))

    @property
    def length(self) -> float:
        """Total length [m]."""
        return sum(d.length for d in self.divisions)

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return sum(d.mass for d in self.divisions)

    @property
    def starts(self) -> tuple[float, ...]:
        """Arclength [m] at which each division starts."""
        return tuple(accumulate((d.length for d in self.divisions[:-1]), initial=0.0))
