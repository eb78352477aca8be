"""How bodies and sections lie in a fluid: reference areas, drag coefficients and added mass by their shapes.

Coefficients without a source of their own are those of handbooks for turbulent flow (Hoerner; Brennen; DNV-RP-C205);
give your own where you know better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sorosim.base.arrays import Array
from sorosim.base.complex_step import is_varying, number_type
from sorosim.base.declare import At, Declared, Inline, Part, Quantity, Type, Vector, Writer, key
from sorosim.base.declare.types import is_list
from sorosim.base.errors import ModelError
from sorosim.base.problems import listed, shown
from sorosim.base.registry import SHAPES
from sorosim.mechanics.model.body import AT_KEY, Assembly, RigidBody, Solid
from sorosim.mechanics.model.pose import IDENTITY, PoseType
from sorosim.mechanics.model.rod import Division
from sorosim.mechanics.model.shape import Shape

# drag of sections: along the rod by friction on the perimeter, across it by the width that faces the flow
FRICTION, ROUND_DRAG, FLAT_DRAG = 0.01, 1.1, 2.0
# a rod's length over its width from which on the coefficients of slender rods at low Reynolds numbers count: there that
# along the rod is 6 % above the one of Tirado and Garcia de la Torre (1979) for cylinders, which counts their ends
SLENDER = 5.0
# added mass of a rectangle moving along one side, in that of a cylinder as wide as it: thickness over width -> factor
_THICKNESS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_RECTANGLE = (1.0, 1.14, 1.21, 1.36, 1.51, 1.70, 1.98, 2.23)


@dataclass(frozen=True, eq=False)
class PlacedShape(Declared, title="Shapes in a fluid"):
    """A shape and its pose."""

    shape: Shape = key(Inline(SHAPES, Shape, ""), "Its shape.")
    _: KW_ONLY
    at: Any = key(PoseType(), *AT_KEY, default=IDENTITY)

    @classmethod
    def read(cls, data: object, at: At) -> Any:
        return cls(data) if isinstance(data, Shape) else super().read(data, at)

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if len([name for name in SHAPES.declared() if name in data]) > 1:
            raise ModelError("", "one shape: " + listed(tuple(SHAPES.declared())), shown(data))


@dataclass(frozen=True)
class _Coefficients(Type):
    """Three numbers, or one of 0 or more for all; stored as three."""

    def check(self, value: object) -> tuple[float, ...]:
        if not is_list(value):
            return (Quantity("number", least=0.0).check(value),) * 3
        found = Vector("number").check(value)
        if min(found) < 0.0:
            raise ModelError(f"[{found.index(min(found))}]", "a number of 0 or more", f"{min(found):g}")
        return found

    def write(self, value: Any, writer: Writer) -> Any:
        return list(value)

    def shapes(self) -> tuple[Type, ...]:
        return Quantity("number", least=0.0), Vector("number")


@dataclass(frozen=True, eq=False)
class Immersed(Declared, title="Links in a fluid"):
    """Properties of a link in a fluid. Default: those of its shape.

    Drag of a rod is by its perimeter along the tangent, and by the width that faces the flow across it; of a body by
    the areas that face the flow. Rotary drag:
    moment = rho/2 c V^(5/3) w^2, V the volume. Lift does no work. Where drag is by ``stokes``, the force is mu c v per
    length of a rod, mu c V^(1/3) v on a body, and the moment mu c V w.
    """

    _: KW_ONLY
    drag: Any = key(
        _Coefficients(),
        "Drag coefficients, of a rod [along, y, z], of a body along the axes of its shapes; or one for all.",
        "[0.01, 1.1, 1.1]",
        default=None,
        without=f"of a rod `[{FRICTION}, {ROUND_DRAG}, {ROUND_DRAG}]`, of a flat one `{FLAT_DRAG}` across; "
        "of a body that of its shape; by `stokes` those of a slender rod and of an ellipsoid",
    )
    lift: float = key(Quantity("number"), "Of a rod, coefficient of the force across flow and rod.", "0.1", default=0.0)
    rotary_drag: Any = key(
        _Coefficients(),
        "Of a body: coefficients of the moments against its rotation.",
        "0.1",
        default=None,
        without="by its shape and drag",
    )
    added_mass: Any = key(
        _Coefficients(),
        "Added mass, of a rod [along, y, z] in units of a cylinder of its width, of a body in units of the fluid it "
        "displaces; or one for all.", "[0, 1, 1]", default=None, without="by the shape",
    )  # fmt: skip
    shape: PlacedShape | None = key(
        Part(PlacedShape), "Of a body: its shape in the fluid, where it is made of numbers or has another one.",
        "{sphere: {radius: 2 cm}}", default=None, without="its own",
    )  # fmt: skip


class FluidProperties(NamedTuple):
    """Fluid coefficients of a body, or of n sections per length, at density 1; of linear drag at viscosity 1."""

    drag: Array  # (3,) rho/2 C A [m^2; m], of linear drag [m; 1]
    lift: Array  # ()
    rotary_drag: Array  # (3,) [m^5], of linear drag [m^3; m^2]
    added_mass: Array  # (3,) [m^3; m^2]
    added_inertia: Array  # (3,) [m^5]
    volume: Array  # () [m^3; m^2]
    reach: Array  # () half the depth over which it gets wet [m]


def section_fluid_properties(
    where: str, piece: Division, X: ArrayLike, given: Immersed, slender: float | None = None
) -> FluidProperties:
    """Sections at arclengths X (n,) of a division; `slender`, the length of the rod, makes drag linear."""
    section, L = piece.section, piece.length
    # so many that the perimeter of a circle, as a polygon, is right to 3e-6
    outline = section.outline(X, L, 720)
    wide_y, wide_z = (np.ptp(outline[:, :, axis], axis=1) for axis in (0, 1))
    sides = np.diff(np.concatenate([outline, outline[:, :1]], axis=1), axis=1)
    perimeter = np.sqrt(np.sum(sides * sides, axis=2)).sum(axis=1)
    flat = section.is_flat
    if not flat:
        # chords of a round outline are shorter than its arcs
        perimeter = perimeter / np.sinc(1.0 / outline.shape[1])
    across = FLAT_DRAG if flat else ROUND_DRAG
    drag = (FRICTION, across, across) if given.drag is None else given.drag
    none = 0.0 * wide_y
    # motion along y pushes a cylinder of the width along z
    cylinders = [0.25 * np.pi * wide**2 for wide in (np.sqrt(wide_y * wide_z), wide_z, wide_y)]
    if given.added_mass is not None:
        factors: Any = given.added_mass
    elif flat:
        thickness = np.divide(wide_y, wide_z, out=none + 1.0, where=wide_z > 0.0)
        factors = none, _of_rectangle(thickness), _of_rectangle(1.0 / np.maximum(thickness, 1e-300))
    else:
        factors = 0.0, 1.0, 1.0
    added = np.stack([factor * area for factor, area in zip(factors, cylinders, strict=True)], axis=-1)
    mean = np.sqrt(wide_y * wide_z)
    faces = np.stack([0.5 * drag[0] * perimeter, 0.5 * drag[1] * wide_z, 0.5 * drag[2] * wide_y], axis=-1)
    zeros = np.zeros((len(wide_y), 3))
    turning = zeros
    if slender is not None:
        faces, turning = _linear_drag(where, 0.25 * (wide_y + wide_z), slender, given)
    area = section.properties(X, L).A
    return FluidProperties(faces, 0.5 * given.lift * mean, turning, added, zeros, area, 0.5 * mean)


def _linear_drag(where: str, radius: Array, length: float, given: Immersed) -> tuple[Array, Array]:
    """Drag (n, 3) per length and speed at viscosity 1, and that (n, 3) of turning, of sections of a slender rod.

    Of a straight cylinder by Cox, J. Fluid Mech. 44 (1970): 2 pi/(ln(2 L/r) - 3/2) along, 4 pi/(ln(2 L/r) - 1/2)
    across; 4 pi r^2 as it turns about its axis. An ellipse has the radius (a + b)/2 (Batchelor, same volume).
    """
    n = len(radius)
    turning = np.zeros((n, 3), dtype=number_type())
    turning[:, 0] = 4.0 * np.pi * radius**2
    if given.drag is not None:
        return np.tile(np.asarray(given.drag, dtype=number_type()), (n, 1)), turning
    widest = 2.0 * radius.real.max(initial=0.0)
    if np.real(length) < SLENDER * widest:
        expected = f"a rod at least {SLENDER:g} times as long as wide, where drag is by stokes"
        got, hint = (
            f"{np.real(length):g} m by {widest:g} m",
            "give its coefficients: drag: [7, 10, 10], times the viscosity",
        )
        raise ModelError(f"{where}.drag", expected, got, hint)
    # a tip without width: the logarithm of twice the length over the smallest radius that is worth a number
    logarithm = np.log(2.0 * length / np.where(radius.real > 1e-9 * length, radius, 1e-9 * np.real(length)))
    along, across = 2.0 * np.pi / (logarithm - 1.5), 4.0 * np.pi / (logarithm - 0.5)
    return np.stack([along, across, across], axis=-1), turning


def _of_rectangle(thickness: Array) -> Array:
    """Added mass of a rectangle by its thickness along the motion over its width across."""
    x, knots, values = np.log(thickness + 0.05), np.log(np.array(_THICKNESS) + 0.05), np.array(_RECTANGLE)
    found: Any = np.interp(x.real, knots, values)
    if not is_varying():
        return np.asarray(found)
    piece = np.clip(np.searchsorted(knots, x.real, side="right") - 1, 0, len(knots) - 2)
    slope = np.diff(values)[piece] / np.diff(knots)[piece]
    inside = (x.real >= knots[0]) & (x.real <= knots[-1])
    found = found + 1j * x.imag * np.where(inside, slope, 0.0)
    return np.asarray(found)


def body_fluid_properties(
    where: str, body: RigidBody, given: Immersed, linear: bool = False
) -> list[tuple[Array, FluidProperties]]:
    """Poses (4, 4) of the parts of a rigid body at their centroids, and their fluid properties."""
    solids: list[Solid | RigidBody]
    if given.shape is not None:
        solids = [Solid(given.shape.shape, density=1.0, at=given.shape.at)]
    else:
        solids = list(body.parts) if isinstance(body, Assembly) else [body]
    out = []
    for solid in solids:
        if not isinstance(solid, Solid):
            expected, hint = "a body made of shapes", "say what shape it has in the fluid: shape: {sphere: ...}"
            name = where.rsplit(".", 1)[-1]
            raise ModelError(where, expected, f"'{name}', mass and inertia without a shape", hint)
        pose = np.array(solid.at)
        pose[:3, 3] += pose[:3, :3] @ solid.shape.moments.centroid
        out.append((pose, _shape_fluid_properties(solid.shape, given, linear)))
    return out


def _shape_fluid_properties(shape: Shape, given: Immersed, linear: bool) -> FluidProperties:
    volume, _, _ = shape.moments
    half, faces = shape.half_extents, shape.faces_to_flow
    drag = np.array(shape.drag if given.drag is None else given.drag)
    # an ellipsoid of the same proportions and volume moves as much fluid, nearly
    radii = half * (volume / (4.0 / 3.0 * np.pi * np.prod(half))) ** (1.0 / 3.0)
    mass, inertia = ellipsoid_added_mass(radii)
    if given.added_mass is not None:
        mass = np.array(given.added_mass) * volume
    if given.rotary_drag is not None:
        rotary = 0.5 * np.array(given.rotary_drag) * volume ** (5.0 / 3.0)
    else:
        rotary = _rotary_drag(shape, half, drag)
    reach = (volume / (4.0 / 3.0 * np.pi)) ** (1.0 / 3.0)
    force = 0.5 * drag * faces
    if linear:
        force, rotary = ellipsoid_linear_drag(radii)
        if given.drag is not None:
            force = np.array(given.drag) * volume ** (1.0 / 3.0)
        if given.rotary_drag is not None:
            rotary = np.array(given.rotary_drag) * volume
    return FluidProperties(force, np.zeros(()), rotary, mass, inertia, np.array(volume), np.array(reach))


def _rotary_drag(shape: Shape, half: Array, drag: Array) -> Array:
    """Moments (3,) of drag of a turning body at unit rates: rho/2 C times the integral of r^3 over its faces [m^5].

    What is round about an axis turns about it without.
    """
    out = np.zeros(3, dtype=number_type())
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        if shape.has_corners:
            out[i] = 0.5 * half[i] * (drag[k] * half[j] ** 4 + drag[j] * half[k] ** 4)
        else:
            difference = half[j] ** 4 - half[k] ** 4
            out[i] = 0.5 * half[i] * max(drag[j], drag[k]) * np.sign(difference.real) * difference
    return out


def ellipsoid_added_mass(radii: ArrayLike) -> tuple[Array, Array]:
    """Added mass (3,) and added inertia (3,) of an ellipsoid in a fluid of density 1, by Lamb (1932), 114-115.

    Parameters
    ----------
    radii : (3,) array_like
        Half axes [m].

    Returns
    -------
    (3,), (3,) ndarray
        Along and about its axes [m^3; m^5].
    """
    from scipy.special import elliprd

    a = np.asarray(radii, dtype=number_type())
    squares = a**2
    # alpha_i = abc int_0^inf dx / ((a_i^2 + x) sqrt((a^2 + x)(b^2 + x)(c^2 + x)))
    alpha = np.array(
        [2.0 / 3.0 * np.prod(a) * elliprd(squares[(i + 1) % 3], squares[(i + 2) % 3], squares[i]) for i in range(3)]
    )
    volume = 4.0 / 3.0 * np.pi * np.prod(a)
    mass = volume * alpha / (2.0 - alpha)
    inertia = np.zeros(3, dtype=number_type())
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        difference, total, gap = squares[j] - squares[k], squares[j] + squares[k], alpha[k] - alpha[j]
        if abs(difference) > 1e-9 * total:
            inertia[i] = 0.2 * volume * difference**2 * gap / (2.0 * difference - total * gap)
    return mass, inertia


def ellipsoid_linear_drag(radii: ArrayLike) -> tuple[Array, Array]:
    """Drag (3,) and drag of rotations (3,) of an ellipsoid in a fluid of viscosity 1 at low Reynolds numbers.

    Happel and Brenner, Low Reynolds Number Hydrodynamics (1965), 5-11: force = mu K v, moment = mu O w.

    Parameters
    ----------
    radii : (3,) array_like
        Half axes [m].

    Returns
    -------
    (3,), (3,) ndarray
        Along and about its axes [m; m^3].
    """
    from scipy.special import elliprd, elliprf

    a = np.asarray(radii, dtype=number_type())
    squares = a**2
    # chi = int_0^inf dx / D, alpha_i = int_0^inf dx / ((a_i^2 + x) D), D = sqrt((a^2 + x)(b^2 + x)(c^2 + x))
    chi = 2.0 * elliprf(squares[0], squares[1], squares[2])
    alpha = np.array([2.0 / 3.0 * elliprd(squares[(i + 1) % 3], squares[(i + 2) % 3], squares[i]) for i in range(3)])
    moved = squares * alpha
    turned = [(squares[j] + squares[k]) / (3.0 * (moved[j] + moved[k])) for j, k in ((1, 2), (2, 0), (0, 1))]
    return 16.0 * np.pi / (chi + moved), 16.0 * np.pi * np.array(turned)
