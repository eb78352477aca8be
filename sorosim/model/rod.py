"""Soft rods: one or several divisions, each with its own length, section, material, strain basis and quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sorosim.errors import ModelError
from sorosim.model.basis import ReferenceStrain, StrainBasis
from sorosim.model.material import Material, real_number
from sorosim.model.quadrature import check_n_gauss, default_n_gauss, gauss_panels
from sorosim.model.section import Section
from sorosim.validation import describe

Array = NDArray[Any]


def _require(where: str, value: Any, kind: type, expected: str) -> None:
    if not isinstance(value, kind):
        raise ModelError(where, expected, describe(value))


@dataclass(frozen=True)
class Division:
    """A piece of a rod.

    Parameters
    ----------
    length : float
        [m], positive.
    section : Section
        Its expressions and tables run over this division: X [m] from 0 to its length L, s = X/L.
    material : Material
    strain : StrainBasis
        What may deform, and how.
    reference : ReferenceStrain
        Strain of the unloaded division.
    n_gauss : int, optional
        Gauss points in each panel between the kinks of the strain basis and of the section's tables.
        Default: `default_n_gauss`.
    """

    length: float
    section: Section
    material: Material
    strain: StrainBasis
    _: KW_ONLY
    reference: ReferenceStrain = field(default_factory=ReferenceStrain)
    n_gauss: int | None = None

    def __post_init__(self) -> None:
        length = real_number("length", self.length, "a length greater than 0 [m]", above=0.0)
        object.__setattr__(self, "length", length)
        _require("section", self.section, Section, "a Section")
        _require("material", self.material, Material, "a Material")
        _require("strain", self.strain, StrainBasis, "a StrainBasis")
        _require("reference", self.reference, ReferenceStrain, "a ReferenceStrain")
        self.section.check(length)
        self.reference.check(length)
        n_gauss = default_n_gauss(self.strain) if self.n_gauss is None else self.n_gauss
        object.__setattr__(self, "n_gauss", check_n_gauss(n_gauss, self.strain))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Interior places s where the strain basis or a size of the section has a kink."""
        merged: list[float] = []
        for s in sorted((*self.strain.breakpoints, *self.section.breakpoints)):
            if not merged or s - merged[-1] > 1e-9:
                merged.append(float(s))
        return tuple(merged)

    def quadrature(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Arclengths [m], weights [m] and whether each is a Gauss point; ends and kinks have weight zero."""
        assert self.n_gauss is not None  # for the type checker: set at the door
        x, w, is_gauss = gauss_panels(self.n_gauss, self.breakpoints)
        return x * self.length, w * self.length, is_gauss

    @property
    def row_scale(self) -> Array:
        """Scale (n,) of each function: 1/length for angular strains, which puts their coordinates in radians."""
        return np.where(self.strain.rows < 3, 1.0 / self.length, 1.0)

    def basis(self, X: ArrayLike) -> Array:
        """Strain basis P^T at arclengths X (n_X,): (n_X, n, 6), one row of six a coordinate."""
        X = np.atleast_1d(np.asarray(X))
        values = self.strain.values(X / self.length) * self.row_scale
        out = np.zeros((*values.shape, 6), dtype=values.dtype)
        out[:, np.arange(values.shape[1]), self.strain.rows] = values
        return out

    def line_inertia(self, X: ArrayLike) -> Array:
        """Diagonal of the inertia per length (n_X, 6): rho (Jp, Iy, Iz, A, A, A) [kg m; kg/m]."""
        a = self.section.properties(X, self.length)
        return self.material.density * np.stack([a.Jp, a.Iy, a.Iz, a.A, a.A, a.A], axis=-1)

    def line_stiffness(self, X: ArrayLike) -> Array:
        """Diagonal of the stiffness (n_X, 6): G Jt, E Iy, E Iz, E A, ky G A, kz G A [N m^2; N]."""
        a = self.section.properties(X, self.length)
        E, G = self.material.young, self.material.shear_modulus
        return np.stack([G * a.Jt, E * a.Iy, E * a.Iz, E * a.A, G * a.ky * a.A, G * a.kz * a.A], axis=-1)

    def line_damping(self, X: ArrayLike) -> Array:
        """Diagonal of the damping (n_X, 6): viscosity (Jt, 3 Iy, 3 Iz, 3 A, ky A, kz A), and stiffness-proportional."""
        a = self.section.properties(X, self.length)
        viscous = np.stack([a.Jt, 3.0 * a.Iy, 3.0 * a.Iz, 3.0 * a.A, a.ky * a.A, a.kz * a.A], axis=-1)
        return self.material.damping * viscous + self.material.stiffness_damping * self.line_stiffness(X)

    def matrices(self) -> tuple[Array, Array]:
        """Stiffness and damping (n, n): quadrature of P^T diag P."""
        X, w, is_gauss = self.quadrature()
        X, w = X[is_gauss], w[is_gauss]
        P = self.basis(X)
        K = np.einsum("k,kir,kr,kjr->ij", w, P, self.line_stiffness(X), P, optimize=True)
        D = np.einsum("k,kir,kr,kjr->ij", w, P, self.line_damping(X), P, optimize=True)
        return 0.5 * (K + K.T), 0.5 * (D + D.T)


@dataclass(frozen=True)
class Rod:
    """A soft body: divisions one after the other, each continuing the frame of the one before."""

    divisions: tuple[Division, ...]

    def __post_init__(self) -> None:
        given: Any = self.divisions
        if isinstance(given, Division):
            given = (given,)
        if not isinstance(given, Sequence) or not given or not all(isinstance(d, Division) for d in given):
            raise ModelError("rod", "one Division or several", describe(given))
        object.__setattr__(self, "divisions", tuple(given))

    @property
    def length(self) -> float:
        """Total length [m]."""
        return sum(d.length for d in self.divisions)

    @property
    def starts(self) -> tuple[float, ...]:
        """Arclength [m] at which each division starts."""
        return tuple(accumulate((d.length for d in self.divisions[:-1]), initial=0.0))
