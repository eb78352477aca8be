"""Cross-sections of rods: sizes that vary along the rod, and the area integrals that follow from them.

A section lies in the local y-z plane, its centroid on the rod's axis, its principal axes along y and z.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.base.declare import Choice, Declared, Either, Inline, Integer, ListOf, Part, Quantity, Vector, key
from sorosim.base.declare.handle import Handle, Y, Z
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ModelError, nearest
from sorosim.base.registry import SECTIONS, Registry
from sorosim.base.units.arithmetic import add_variable
from sorosim.base.units.table import DIMENSIONS
from sorosim.base.validation import describe
from sorosim.mechanics.model.profile import Profile, Size, SizeLike, stack
from sorosim.mechanics.model.torsion import Boundary, panel_rule, torsion_constant

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
        if not self.needs_length:
            self.check(1.0)

    @property
    def needs_length(self) -> bool:
        """Whether a size at a given s depends on the length of the rod."""
        return any(self.profile(name).needs_length for name in self.sizes)

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

    def inner_outlines(self, X: ArrayLike, L: float, n: int = 32) -> tuple[Array, ...]:
        """As `outline`, of each hole."""
        return ()

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
    def _integrals(self, **sizes: object) -> tuple[Array, Array, Array, Array, Array]:
        """A, Iy, Iz, Jt (Saint-Venant), Jp from the sizes by name; no branches, so that sizes may be complex."""

    @abstractmethod
    def _boundary(self, n: int, **sizes: object) -> Array:
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
    """Half of the lengths along y and z (n, 2) of a section that has them: real, as an edge carries no derivative."""
    return np.stack([0.5 * np.real(section.profile(name).jets(X, L)[:, 0]) for name in ("y", "z")], axis=-1)


# by how much holes may put the centroid off the axis and turn the principal axes, as parts of the radius of gyration
# and of the larger second moment: moments of chambers and bending are off by such a part
OFF_AXIS = 1e-4
# points along an outline at which it is asked whether holes overlap, and places along a rod
N_APART, N_PLACES = 72, 21


@dataclass(frozen=True)
class Hole(Declared, title="Holes"):
    """A hole along a rod: ``{circle: {radius: 3 mm}, y: 7 mm}``. `repeat` makes several, evenly around the axis."""

    shape: Any = key(
        Inline(SECTIONS, Section, "a hole has one shape", kinds=("circle", "ellipse", "rectangle")),
        "Its shape.",
        "{circle: {radius: 3 mm}}",
    )
    _: KW_ONLY
    y: float = key(Quantity("length"), "Place of its middle in the section.", "7 mm", default=0.0)
    z: float = key(Quantity("length"), "As y.", "7 mm", default=0.0)
    angle: float = key(Quantity("angle"), "By which it is turned about its middle, from y to z.", "30 deg", default=0.0)
    repeat: int = key(
        Integer(1, 360), "How many of it: copies, turned about the axis of the rod by equal parts of a turn.", "3",
        default=1,
    )  # fmt: skip
    handles = (Handle(y=Y, z=Z),)

    def validate(self) -> None:
        if getattr(self.shape, "holes", ()):
            raise ModelError("holes", "a hole without holes", "some")


class Void(NamedTuple):
    """One hole."""

    shape: Section
    centre: Array  # (2,) [m]
    axes: Array  # (2, 2) its own axes as columns


@dataclass(frozen=True)
class Drilled(Section):
    """A section that may have holes."""

    holes: tuple[Hole, ...] = key(
        ListOf(Part(Hole)),
        "Holes along the rod, which keep its centroid on the axis and its principal axes along y and z.",
        "[{circle: {radius: 3 mm}, y: 7 mm, repeat: 3}]", default=(), kw_only=True,
    )  # fmt: skip

    @property
    def voids(self) -> tuple[Void, ...]:
        """All holes, copies one after the other."""
        out = []
        for hole in self.holes:
            for k in range(hole.repeat):
                place, own = (_turn(angle) for angle in (2.0 * np.pi * k / hole.repeat, hole.angle))
                out.append(Void(hole.shape, place @ np.array([hole.y, hole.z]), place @ own))
        return tuple(out)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        own = (s for hole in self.holes for s in hole.shape.breakpoints)
        return tuple(sorted({*super().breakpoints, *own}))

    @property
    def needs_length(self) -> bool:
        return super().needs_length or any(hole.shape.needs_length for hole in self.holes)

    def properties(self, X: ArrayLike, L: float) -> SectionProperties:
        out = super().properties(X, L)
        if not self.holes:
            return out
        A, _, S = self._moments(X, L)
        Jp = S[:, 0, 0] + S[:, 1, 1]
        Jt = Jp if self.torsion == "polar" else self._torsion(X, L, Jp)
        return out._replace(A=A, Iy=S[:, 1, 1], Iz=S[:, 0, 0], Jt=Jt, Jp=Jp)

    def _moments(self, X: ArrayLike, L: float) -> tuple[Array, Array, Array]:
        """Area (n,), its first moments (n, 2) and second moments (n, 2, 2) by y and z, without the holes."""
        whole = super().properties(X, L)
        A, first = whole.A.copy(), np.zeros((len(whole.A), 2), dtype=whole.A.dtype)
        second = stack(whole.Iz, 0.0, 0.0, whole.Iy).reshape(-1, 2, 2)
        for void in self.voids:
            a = void.shape.properties(X, L)
            own = stack(a.Iz, 0.0, 0.0, a.Iy).reshape(-1, 2, 2)
            A = A - a.A
            first = first - np.multiply.outer(a.A, void.centre)
            square = np.outer(void.centre, void.centre)
            second = second - void.axes @ own @ void.axes.T - np.multiply.outer(a.A, square)
        return A, first, second

    def _torsion(self, X: ArrayLike, L: float, polar: Array) -> Array:
        """Saint-Venant's torsion constant; once where all sections are the same."""
        places = np.atleast_1d(np.asarray(X))
        shapes = (self, *(hole.shape for hole in self.holes))
        sizes = [jets[:, 0] for shape in shapes for jets in shape.size_jets(places, L).values()]
        same = all((size == size[0]).all() for size in sizes) if len(places) else True
        here, rows = (places[:1], polar[:1]) if same else (places, polar)
        poles = np.concatenate([_foci(void, here, L) for void in self.voids], axis=1)
        lines = [self._line(self, here, L, np.zeros(2), np.eye(2), poles)]
        lines += [self._line(void.shape, here, L, void.centre, void.axes, poles) for void in self.voids]
        return np.asarray(torsion_constant(lines[0], lines[1:], rows) + np.zeros_like(polar))

    @staticmethod
    def _line(shape: Any, X: Array, L: float, centre: Array, axes: Array, poles: Array) -> Boundary:
        """The outline of a shape at a place, for integrals along it of powers around poles (n_X, m, 2)."""
        sizes = {name: jets[:, 0] for name, jets in shape.size_jets(X, L).items()}

        def points(t: Array) -> Array:
            return np.asarray(shape._contour(t, **sizes)[0] @ axes.T + centre)

        t, weight = panel_rule(points, shape.n_sides, poles)
        point, normal, size, half = shape._contour(t, **sizes)
        normal = weight[:, None] * (normal @ axes.T)
        return Boundary(point @ axes.T + centre, normal, np.zeros((len(X), 2)) + centre, size, axes, half)

    # of which its outline consists, for quadrature
    n_sides: ClassVar[int] = 5

    @abstractmethod
    def _contour(self, t: Array, **sizes: Any) -> tuple[Array, Array, Array, Array]:
        """Points (n_X, k, 2) of the outline at places t from 0 to 1, outward normals times dl/dt, size, half axes."""

    def inner_outlines(self, X: ArrayLike, L: float, n: int = 32) -> tuple[Array, ...]:
        return tuple(void.shape.outline(X, L, n) @ void.axes.T + void.centre for void in self.voids)

    def check(self, L: float) -> None:
        """Refuse sizes, and holes that leave the section, overlap, or put its centroid or principal axes elsewhere."""
        super().check(L)
        if not self.holes:
            return
        for k, hole in enumerate(self.holes):
            try:
                hole.shape.check(L)
            except ModelError as error:
                raise error.inside(f"holes[{k}]") from None
        s = np.union1d(np.linspace(0.0, 1.0, N_PLACES), self.breakpoints)
        voids, owner = self.voids, [k for k, hole in enumerate(self.holes) for _ in range(hole.repeat)]
        with np.errstate(all="ignore"):
            outlines = [np.real(line) for line in self.inner_outlines(s * L, L, N_APART)]
        X = np.repeat(s * L, N_APART)
        for i, line in enumerate(outlines):
            points = line.reshape(-1, 2)
            far, edge, _ = self.edge(points, X, L)
            self._refuse(f"holes[{owner[i]}]", "a hole inside of the section", np.real(far - edge), s, "the edge")
            for j in range(i):
                local = (points - np.real(voids[j].centre)) @ np.real(voids[j].axes)
                far, edge, _ = voids[j].shape.edge(local, X, L)
                what = "another hole" if owner[j] != owner[i] else "the next one"
                self._refuse(f"holes[{owner[i]}]", "holes apart from each other", np.real(edge - far), s, what)
        A, first, second = (np.real(x) for x in self._moments(s * L, L))
        off = np.linalg.norm(first, axis=1) / A
        radius = np.sqrt(np.maximum(second[:, 0, 0] + second[:, 1, 1], 0.0) / A)
        worst = int(np.argmax(off - OFF_AXIS * radius))
        hint = "holes around the axis, such as by repeat; or shift the rod by that and the holes back"
        if off[worst] > OFF_AXIS * radius[worst]:
            y, z = first[worst] / A[worst]
            expected = "a section whose centroid is on the axis of the rod"
            raise ModelError("holes", expected, f"one at y = {1e3 * y:.4g} mm, z = {1e3 * z:.4g} mm", hint)
        mixed = np.abs(second[:, 0, 1]) / np.maximum(second[:, 0, 0], second[:, 1, 1])
        if mixed.max() > OFF_AXIS:
            angle = 0.5 * np.arctan2(2.0 * second[:, 0, 1], second[:, 0, 0] - second[:, 1, 1])[int(np.argmax(mixed))]
            expected, got = "principal axes along y and z", f"axes turned by {np.rad2deg(angle):.3g} deg"
            raise ModelError("holes", expected, got, "turn the rod about its axis, and the holes back")

    @staticmethod
    def _refuse(where: str, expected: str, beyond: Array, s: Array, what: str) -> None:
        """Refuse outlines that pass something, (n_s n_points,) by how much."""
        deepest = beyond.reshape(len(s), -1).max(axis=1)
        k = int(np.argmax(deepest))
        if not deepest[k] < 0.0:
            got = f"one that meets {what} at s = {s[k]:.4g}, by {1e3 * deepest[k]:.3g} mm"
            raise ModelError(where, expected, got, "leave a wall between")


def _turn(angle: Any) -> Array:
    """Rotation (2, 2) by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def _foci(void: Any, X: Array, L: float) -> Array:
    """Foci (n_X, 2, 2) of the ellipse as long and wide as a hole, which powers around it are singular at."""
    sizes = {name: np.real(jets[:, 0]) for name, jets in void.shape.size_jets(X, L).items()}
    a, b = void.shape._contour(np.zeros(1), **sizes)[3].T
    reach = np.sqrt(np.abs(a * a - b * b))
    way = stack(np.where(a >= b, reach, 0.0), np.where(a >= b, 0.0, reach)) @ np.real(void.axes).T
    return np.asarray(np.real(void.centre) + np.stack([way, -way], axis=1))


def _round_contour(t: Array, a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """Of ellipses with semi-axes a, b (n,)."""
    c, s = np.cos(2.0 * np.pi * t), np.sin(2.0 * np.pi * t)
    point = stack(np.multiply.outer(a, c), np.multiply.outer(b, s))
    normal = stack(np.multiply.outer(b, c), np.multiply.outer(a, s)) * (2.0 * np.pi)
    return point, normal, np.where(np.real(a) > np.real(b), a, b), stack(a, b)


@dataclass(frozen=True)
class Circle(Drilled, kind="circle", title="Circles"):
    """A round section."""

    radius: SizeLike = key(Size(), "Radius.", "[3 cm, 1.5 cm]")
    handles = (Handle(radius=Y),)

    is_round = True

    def edge(self, d: Array, X: Array, L: float) -> tuple[Array, Array, str]:
        return np.hypot(d[:, 0], d[:, 1]), self.profile("radius").jets(X, L)[:, 0], "the radius"

    def _integrals(self, **sizes: Any) -> tuple[Array, Array, Array, Array, Array]:
        r = sizes["radius"]
        inertia = np.pi / 4.0 * r**4
        return np.pi * r**2, inertia, inertia, 2.0 * inertia, 2.0 * inertia

    def _boundary(self, n: int, **sizes: Any) -> Array:
        return _ring(n, sizes["radius"], sizes["radius"])

    def _contour(self, t: Array, **sizes: Any) -> tuple[Array, Array, Array, Array]:
        return _round_contour(t, sizes["radius"], sizes["radius"])


@dataclass(frozen=True)
class HollowCircle(Section, kind="hollow_circle", title="Tubes"):
    """A round tube."""

    radius: SizeLike = key(Size(), "Outer radius.", "3 cm")
    inner_radius: SizeLike = key(
        Size(), "Radius of the hole; equal to the outer one, if at all, at an end only.", "2 cm - 1 cm*s"
    )
    handles = (Handle(radius=Y), Handle(inner_radius=Z))

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

    def inner_outlines(self, X: ArrayLike, L: float, n: int = 32) -> tuple[Array, ...]:
        hole = self.profile("inner_radius").jets(X, L)[:, 0]
        return (_ring(n, hole, hole),)


@dataclass(frozen=True)
class Rectangle(Drilled, kind="rectangle", title="Rectangles"):
    """A rectangle."""

    y: SizeLike = key(Size(), "Full length of the section along its y axis.", "3 cm")
    z: SizeLike = key(Size(), "Full length along its z axis.", "1 cm")
    handles = (Handle(y=0.5 * Y), Handle(z=0.5 * Z))

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

    n_sides = 4

    def _contour(self, t: Array, **sizes: Any) -> tuple[Array, Array, Array, Array]:
        y, z = sizes["y"], sizes["z"]
        side = np.minimum((4.0 * t).astype(int), 3)
        u = 8.0 * t - 2.0 * side - 1.0
        out = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])[side]
        half = 0.5 * stack(y, z)[:, None, :]
        along = np.column_stack([-out[:, 1], out[:, 0]])
        size = np.sqrt(y**2 + z**2) / 2.0
        return (out + u[:, None] * along) * half, 8.0 * out * half[:, :, ::-1], size, half[:, 0]


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
class Ellipse(Drilled, kind="ellipse", title="Ellipses"):
    """An ellipse."""

    y: SizeLike = key(Size(), "Full axis (twice the semi-axis) of the section along y.", "3 cm")
    z: SizeLike = key(Size(), "Full axis along z.", "1 cm")
    handles = (Handle(y=0.5 * Y), Handle(z=0.5 * Z))

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

    def _contour(self, t: Array, **sizes: Any) -> tuple[Array, Array, Array, Array]:
        return _round_contour(t, sizes["y"] / 2.0, sizes["z"] / 2.0)


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
