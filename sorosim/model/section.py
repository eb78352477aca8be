"""Cross-sections of rods: sizes that vary along the rod, and the area integrals that follow from them.

A section lies in the local y-z plane, its centroid on the rod's axis, its principal axes along y and z.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from sorosim.arrays import Array
from sorosim.declare import Choice, Declared, Either, Quantity, Vector, key
from sorosim.declare.types import is_list
from sorosim.errors import ModelError, nearest
from sorosim.model.profile import Profile, Size, SizeLike, stack
from sorosim.registry import SECTIONS, Registry
from sorosim.units.arithmetic import add_variable
from sorosim.units.table import DIMENSIONS
from sorosim.validation import describe

_TINY = 1e-300  # keeps 0/0 out of a point-like tip without a branch: x + _TINY == x for every real size x > 0


N_EDGE = 360  # points of an outline that stands for the edge


class SectionProperties(NamedTuple):
    """Area integrals of a section at n places; each an (n,) array."""

    A: Array  # area [m^2]
    Iy: Array  # integral of z^2, about the local y axis [m^4]; pairs with the bending strain kappa_y
    Iz: Array  # integral of y^2, about the local z axis [m^4]
    Jt: Array  # torsion constant, for the stiffness [m^4]
    Jp: Array  # polar moment, for the mass [m^4]
    ky: Array  # shear factors [-]
    kz: Array


@dataclass(frozen=True)
class Section(Declared):
    """What all sections share: sizes along the rod, shear factors and the torsion constant."""

    registry: ClassVar[Registry] = SECTIONS
    size_names: ClassVar[tuple[str, ...]]
    is_round: ClassVar[bool] = False  # whether it is a circle outside
    is_flat: ClassVar[bool] = False  # whether a fluid meets flat sides
    has_outline: ClassVar[bool] = True  # whether its outline is where the material ends
    shear_factor: Any = key(
        Either(Quantity("number", above=0.0), Vector("number", (2,), above=0.0), is_list),
        "Factor of the shear stiffness G A; two for y and z.", "0.9", default=(1.0, 1.0), kw_only=True,
    )  # fmt: skip
    torsion: str = key(
        Choice(("saint-venant", "polar")), "Torsion constant: of the warping section, or simply the polar moment.",
        "polar", default="saint-venant", kw_only=True,
    )  # fmt: skip

    def __init_subclass__(cls, **options: Any) -> None:
        cls.size_names = tuple(name for name in cls.__annotations__ if name in cls.__dict__)
        for name in cls.size_names if "kind" in options else ():  # formulas of routes may use them
            size: Size = cls.__dict__[name].metadata["key"].type
            add_variable(name, DIMENSIONS[size.dimension].exponents)
        super().__init_subclass__(**options)

    def validate(self) -> None:
        if not isinstance(self.shear_factor, tuple):
            self._set(shear_factor=(self.shear_factor,) * 2)
        # formulas of X or L wait for the rod, which knows its length
        if not any(self.profile(name).needs_length for name in self.sizes):
            self.check(1.0)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the sizes that this section has."""
        return tuple(name for name in self.size_names if getattr(self, name) is not None)

    def profile(self, name: str) -> Profile:
        """The size ``name`` along the rod."""
        if name not in self.sizes:
            raise ModelError(self.kind, "one of its sizes", f"'{name}'", nearest(name, self.sizes))
        return cast(Profile, getattr(self, name))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Interior places s where a size has a kink."""
        return tuple(sorted({s for name in self.sizes for s in self.profile(name).breakpoints}))

    def size_jets(self, X: ArrayLike, L: float) -> dict[str, Array]:
        """Each size by name: (n, 3) value, first and second derivative by arclength X [m] on a rod of length L [m]."""
        return {name: self.profile(name).jets(X, L) for name in self.sizes}

    def properties(self, X: ArrayLike, L: float) -> SectionProperties:
        """Area integrals at arclengths X (n,) [m] of a rod of length L [m]."""
        A, Iy, Iz, Jt, Jp = self._integrals(**{name: jets[:, 0] for name, jets in self.size_jets(X, L).items()})
        ky, kz = cast(tuple[float, float], self.shear_factor)
        return SectionProperties(A, Iy, Iz, Jp if self.torsion == "polar" else Jt, Jp, 0.0 * A + ky, 0.0 * A + kz)

    def outline(self, X: ArrayLike, L: float, n: int = 32) -> Array:
        """Boundary points [y, z] for drawing, counter-clockwise seen from the tip, the first not repeated.

        Returns an (n_X, n, 2) array [m]. The n >= 4 points of different X correspond to each other.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 4:
            raise ModelError(f"{self.kind}.outline", "4 points or more", describe(n))
        return self._boundary(n, **{name: jets[:, 0] for name, jets in self.size_jets(X, L).items()})

    def inner_outline(self, X: ArrayLike, L: float, n: int = 32) -> Array | None:
        """As `outline`, of the hole; None where there is no hole."""
        return None

    def edge(self, d: Array, X: Array, L: float) -> tuple[Array, Array, str]:
        """Where points d (n, 2), [y, z] at arclengths X (n,), are, and where the edge is beyond them; and its name.

        Both are distances from the axis [m]. This one goes by the outline, which is a polygon.
        """
        outline = self.outline(X, L, N_EDGE)
        side = np.diff(np.concatenate([outline, outline[:, :1]], axis=1), axis=1)
        far = np.hypot(d[:, 0], d[:, 1])
        y, z = np.where(far > 0.0, d.T / np.maximum(far, _TINY), [[1.0], [0.0]])[:, :, None]
        # the ray r (y, z) crosses the side p + t a: 0 <= t <= 1
        (p_y, p_z), (a_y, a_z) = np.moveaxis(outline, -1, 0), np.moveaxis(side, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (y * p_z - z * p_y) / (z * a_y - y * a_z)
            r = (a_y * p_z - a_z * p_y) / (z * a_y - y * a_z)
        return far, np.max(np.where((t > -1e-9) & (t < 1.0 + 1e-9), r, 0.0), axis=1, initial=0.0), "the edge"

    def check(self, L: float) -> None:
        """Refuse sizes that are not positive somewhere on a rod of length L [m]; zero is allowed at an end."""
        s, sampled = self._sample(L)
        for name, value in sampled.items():
            _check_positive(name, s, value, "a positive value")

    def _sample(self, L: float) -> tuple[Array, dict[str, Array]]:
        s = np.union1d(np.linspace(0.0, 1.0, 201), self.breakpoints)
        with np.errstate(all="ignore"):
            return s, {name: jets[:, 0] for name, jets in self.size_jets(s * L, L).items()}

    @abstractmethod
    def _integrals(self, **sizes: Any) -> tuple[Array, Array, Array, Array, Array]:
        """A, Iy, Iz, Jt (Saint-Venant), Jp from the sizes by name; no branches, so that sizes may be complex."""

    @abstractmethod
    def _boundary(self, n: int, **sizes: Any) -> Array:
        """Boundary points (n_X, n, 2) from the sizes by name."""


def _check_positive(where: str, s: Array, value: Array, expected: str, what: str = "") -> None:
    inside, finite = (s > 0.0) & (s < 1.0), np.isfinite(value)
    # an end may miss zero by rounding: 0.1 - 0.3 * (s / 3) is -1e-17 at s = 1
    rounding = 1e-12 * np.max(np.abs(value), where=finite, initial=0.0)
    fine = finite & np.where(inside, value > 0.0, value >= -rounding)
    if not fine.all():
        worst = int(np.argmin(fine))
        raise ModelError(
            where, expected, f"{what}{value[worst]:.6g} at s = {s[worst]:.4g}", "only at an end may it be zero"
        )


def _ring(n: int, y: Array, z: Array) -> Array:
    """Points of ellipses with semi-axes y, z: (n_X, n, 2)."""
    angle = 2.0 * np.pi * np.arange(n) / n
    return stack(np.multiply.outer(y, np.cos(angle)), np.multiply.outer(z, np.sin(angle)))


def _half_sizes(section: Section, X: Array, L: float) -> Array:
    """Half of the lengths along y and z (n, 2) of a section that has them."""
    return np.stack([0.5 * section.profile(name).jets(X, L)[:, 0] for name in ("y", "z")], axis=-1)


@dataclass(frozen=True)
class Circle(Section, kind="circle", title="Circles"):
    """A solid round section."""

    radius: SizeLike = key(Size(), "Radius.", "[3 cm, 1.5 cm]")

    is_round = True

    def edge(self, d: Array, X: Array, L: float) -> tuple[Array, Array, str]:
        return np.hypot(d[:, 0], d[:, 1]), self.profile("radius").jets(X, L)[:, 0], "the radius"

    def _integrals(self, **sizes: Any) -> tuple[Array, Array, Array, Array, Array]:
        r = sizes["radius"]
        inertia = np.pi / 4.0 * r**4
        return np.pi * r**2, inertia, inertia, 2.0 * inertia, 2.0 * inertia

    def _boundary(self, n: int, **sizes: Any) -> Array:
        return _ring(n, sizes["radius"], sizes["radius"])


@dataclass(frozen=True)
class HollowCircle(Section, kind="hollow_circle", title="Tubes"):
    """A round tube."""

    radius: SizeLike = key(Size(), "Outer radius.", "3 cm")
    inner_radius: SizeLike = key(
        Size(), "Radius of the hole; equal to the outer one, if at all, at an end only.", "2 cm - 1 cm*s"
    )

    is_round = True

    def edge(self, d: Array, X: Array, L: float) -> tuple[Array, Array, str]:
        return np.hypot(d[:, 0], d[:, 1]), self.profile("radius").jets(X, L)[:, 0], "the radius"

    def check(self, L: float) -> None:
        super().check(L)
        s, sampled = self._sample(L)
        wall = sampled["radius"] - sampled["inner_radius"]
        where, what = "inner_radius", "radius - inner_radius = "
        _check_positive(where, s, wall, "a wall of positive thickness", what)

    def _integrals(self, **sizes: Any) -> tuple[Array, Array, Array, Array, Array]:
        r, hole = sizes["radius"], sizes["inner_radius"]
        inertia = np.pi / 4.0 * (r**4 - hole**4)
        return np.pi * (r**2 - hole**2), inertia, inertia, 2.0 * inertia, 2.0 * inertia

    def _boundary(self, n: int, **sizes: Any) -> Array:
        return _ring(n, sizes["radius"], sizes["radius"])

    def inner_outline(self, X: ArrayLike, L: float, n: int = 32) -> Array | None:
        hole = self.profile("inner_radius").jets(X, L)[:, 0]
        return _ring(n, hole, hole)


@dataclass(frozen=True)
class Rectangle(Section, kind="rectangle", title="Rectangles"):
    """A solid rectangle."""

    y: SizeLike = key(Size(), "Full length of the section along its y axis.", "3 cm")
    z: SizeLike = key(Size(), "Full length along its z axis.", "1 cm")

    is_flat = True

    def edge(self, d: Array, X: Array, L: float) -> tuple[Array, Array, str]:
        half = _half_sizes(self, X, L)
        excess = np.abs(d) - half
        side = np.where(excess[:, 0] > excess[:, 1], 0, 1), np.arange(len(d))
        return np.abs(d).T[side], half.T[side], "half the side"

    def _integrals(self, **sizes: Any) -> tuple[Array, Array, Array, Array, Array]:
        y, z = sizes["y"], sizes["z"]
        Iy, Iz = y * z**3 / 12.0, z * y**3 / 12.0
        return y * z, Iy, Iz, _rectangle_torsion(y, z), Iy + Iz

    def _boundary(self, n: int, **sizes: Any) -> Array:
        # the four corners are always among the points, the others are spread over the sides
        corners = np.array([[0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]])
        sides = [len(part) for part in np.array_split(np.arange(n), 4)]
        unit = np.concatenate([np.linspace(corners[k], corners[k + 1], m, endpoint=False) for k, m in enumerate(sides)])
        return unit * stack(sizes["y"], sizes["z"])[:, None, :]


# 1 - tanh(n pi a / 2 b) falls as exp(-n pi a / b) with a >= b: beyond n = 11 nothing is left above 1e-16
_ODD = np.arange(1.0, 13.0, 2.0)
_ZETA5_ODD = 31.0 / 32.0 * 1.0369277551433699263  # sum of n^-5 over odd n


def _rectangle_torsion(y: Array, z: Array) -> Array:
    """Saint-Venant torsion constant of a rectangle, Timoshenko's series with its slow part summed in closed form."""
    swap = np.real(y) < np.real(z)
    a, b = np.where(swap, z, y), np.where(swap, y, z)
    decay = np.exp(-np.pi * np.multiply.outer(a / (b + _TINY), _ODD))
    series = _ZETA5_ODD - np.sum(2.0 * decay / (1.0 + decay) / _ODD**5, axis=-1)
    constant: Array = a * b**3 * (1.0 / 3.0 - 64.0 / np.pi**5 * b / (a + _TINY) * series)
    return constant


@dataclass(frozen=True)
class Ellipse(Section, kind="ellipse", title="Ellipses"):
    """A solid ellipse."""

    y: SizeLike = key(Size(), "Full axis (twice the semi-axis) of the section along y.", "3 cm")
    z: SizeLike = key(Size(), "Full axis along z.", "1 cm")

    def edge(self, d: Array, X: Array, L: float) -> tuple[Array, Array, str]:
        far, half = np.hypot(d[:, 0], d[:, 1]), _half_sizes(self, X, L)
        a, b = half.T
        return far, a * b * far / np.maximum(np.hypot(b * d[:, 0], a * d[:, 1]), _TINY), "the radius"

    def _integrals(self, **sizes: Any) -> tuple[Array, Array, Array, Array, Array]:
        a, b = sizes["y"] / 2.0, sizes["z"] / 2.0
        Iy, Iz = np.pi / 4.0 * a * b**3, np.pi / 4.0 * b * a**3
        return np.pi * a * b, Iy, Iz, np.pi * a**3 * b**3 / (a**2 + b**2 + _TINY), Iy + Iz

    def _boundary(self, n: int, **sizes: Any) -> Array:
        return _ring(n, sizes["y"] / 2.0, sizes["z"] / 2.0)


@dataclass(frozen=True)
class Properties(Section, kind="properties", title="Sections by their integrals"):
    """Any section, by its area integrals. It is drawn as the ellipse with the same radii of gyration."""

    area: SizeLike = key(Size("area"), "Area.", "2 cm^2")
    Iy: SizeLike = key(Size("area moment"), "Second moment about the y axis.", "1 cm^4")
    Iz: SizeLike = key(Size("area moment"), "Second moment about the z axis.", "1 cm^4")
    J: SizeLike | None = key(
        Size("area moment"),
        "Torsion constant; left out with torsion polar.",
        "2 cm^4",
        default=None,
        without="required, but with torsion `polar`",
    )
    polar: SizeLike | None = key(
        Size("area moment"), "Polar moment of the mass.", "2 cm^4", default=None, without="Iy + Iz"
    )

    has_outline = False

    def validate(self) -> None:
        super().validate()
        if self.torsion == "polar" and self.J is not None:
            raise ModelError("J", "no torsion constant beside torsion polar", "both", "leave one of them out")
        if self.torsion != "polar" and self.J is None:
            raise ModelError("J", "a torsion constant [m^4]", "nothing", "or set torsion to polar")

    def _integrals(self, **sizes: Any) -> tuple[Array, Array, Array, Array, Array]:
        polar = sizes.get("polar", sizes["Iy"] + sizes["Iz"])
        return sizes["area"], sizes["Iy"], sizes["Iz"], sizes.get("J", polar), polar

    def _boundary(self, n: int, **sizes: Any) -> Array:
        area = sizes["area"] + _TINY
        return _ring(n, 2.0 * np.sqrt(sizes["Iz"] / area), 2.0 * np.sqrt(sizes["Iy"] / area))
