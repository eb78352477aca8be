"""A fluid around the robot: buoyancy, drag and lift, added mass, currents, a surface (docs/theory.md, 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.complex_step import number_type
from sorosim.base.declare import INVALID, At, Choice, MapOf, Name, Part, Quantity, SignalVector, Vector, key
from sorosim.base.errors import ModelError, nearest
from sorosim.base.problems import shown
from sorosim.base.signals import Signal, as_signal
from sorosim.base.signals.expressions import Expression, parse
from sorosim.base.signals.opcodes import TAPE_SIGNAL
from sorosim.mechanics.kernels.fluid import (
    ADDED_MASS,
    CROSS_FLOW,
    DISPLACED,
    DRAG,
    DRAG_LAW,
    LIFT,
    N_FLUID_VALUES,
    REACH,
    ROTARY_DRAG,
    SPEED,
    STOKES,
)
from sorosim.mechanics.kernels.load_laws import FLUID
from sorosim.mechanics.lie.se3 import Ad_inv
from sorosim.mechanics.loads.base import DeclaredLoad
from sorosim.mechanics.loads.compiled import BoundLaw, CompiledLaw, LawRow, Medium
from sorosim.mechanics.loads.immersion import FluidProperties, Immersed, body_fluid_properties, section_fluid_properties
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.layout import Layout, LinkLayout
from sorosim.mechanics.model.pose import Direction

# variables of a current: place in the world [m] and time [s]
VARIABLES = ("x", "y", "z", "t")
# laws of drag, by their names
DRAG_LAWS = {"cross-flow": CROSS_FLOW, "speed": SPEED, "stokes": STOKES}
# a current has to be finite at one of these at least when t = 0: it may have a pole, at the origin for instance
PLACES = ((0.0, 0.0, 0.0), (1.0, 2.0, 3.0), (-2.0, -1.0, -3.0), (3.0, -1.0, 2.0))


class _Immersions(MapOf):
    """Links in a fluid: a mapping, in Python also names alone."""

    def read(self, value: object, at: At) -> Any:
        if isinstance(value, list | tuple) and not at.scope.is_file:
            if not all(isinstance(name, str) for name in value):
                return at.fail("names of links", shown(list(value)))
            value = dict.fromkeys(value, Immersed())
        found = super().read(value, at)
        if found is INVALID:
            return INVALID
        names = at.scope.names("links")
        for name in found if names is not None else ():
            (at / name).known("the name of a link", name, names or (), at_key=True)
        if not found:
            return at.fail("at least one link", "none", "leave links out for all of them")
        return found if names is None or all(name in names for name in found) else INVALID


class _Upward(Direction):
    """A direction that stays to the bit if it has length 1; no minus before a zero."""

    def check(self, value: Any) -> tuple[float, ...]:
        given = np.array(Vector("number").check(value))
        size = np.sqrt(given @ given)
        if not size.real > 0.0:
            raise ModelError("", "a direction", shown(list(value)))
        unit = given if abs(size - 1.0) < 1e-14 else given / size
        return tuple((unit + 0.0).tolist())


@dataclass(frozen=True, eq=False)
class Fluid(DeclaredLoad, kind="fluid", title="Fluids"):
    """A fluid around the robot: buoyancy, drag, added mass.

    Drag is that of v, relative to the fluid, in the axes of the section or body. By ``cross-flow`` a rod feels
    ``-rho/2 C A |v_t| v_t`` along its tangent and ``-rho/2 C A |v_n| v_n`` across it, each by its own speed (Hoerner
    1965); by ``speed`` both go by the whole speed, ``-rho/2 |v| C A v``, and so do rigid bodies by either. By
    ``stokes`` drag is linear, ``-mu C v``, that of slender rods and of ellipsoids at low Reynolds numbers.

    Added mass moves with the body: it takes part in the robot's kinetic energy and mass matrix, and has no
    weight. Left out are the wake and what a trailing edge sheds, what bodies do to each other's flow, the gradient of
    the current across a body and the acceleration along it, the moment by which a floating body rights itself, waves,
    and that added mass ends at the surface.
    """

    density: float = key(Quantity("density", above=0.0), "Mass per volume.", "1000 kg/m^3")
    _: KW_ONLY
    current: tuple[Any, ...] = key(
        SignalVector("speed", VARIABLES, functions=False),
        "Velocity of the fluid; each entry a number, an expression of x, y, z and t, a table or a CSV file of time.",
        "[0.2 m/s, 0, (0.1 m/s)*sin(t)]",
        default=(0.0, 0.0, 0.0),
    )
    drag: str = key(
        Choice(tuple(DRAG_LAWS)),
        "Law of drag of rods: along and across the tangent each by its own speed (cross-flow principle), both by the "
        "whole `speed`, or linear. Of bodies, quadratic in the whole speed, or linear.",
        "stokes",
        default="cross-flow",
    )
    viscosity: float | None = key(
        Quantity("viscosity", above=0.0), "Of drag by `stokes`, which needs it.", "1 mPa*s",
        default=None, without="none",
    )  # fmt: skip
    height: float | None = key(
        Quantity("length"), "Height of its surface along `up`.", "0", default=None, without="everywhere"
    )
    up: tuple[float, ...] | None = key(
        _Upward(), "Direction in which heights are measured.", "[0, 0, 1]",
        default=None, without="against gravity",
    )  # fmt: skip
    links: Mapping[str, Immersed] | None = key(
        _Immersions(Part(Immersed), Name("links")),
        "What is in it, by the names of links. Without it all links are, and their bodies have to have shapes.",
        "{arm: {}, knob: {drag: 0.4}}", default=None, without="all links",
    )  # fmt: skip

    def validate(self) -> None:
        if self.drag == "stokes" and self.viscosity is None:
            raise ModelError("", "the key 'viscosity', which drag by stokes goes by", "none", "water has 1 mPa*s")
        if self.drag != "stokes" and self.viscosity is not None:
            hint = "write drag: stokes, or leave the viscosity out"
            raise ModelError(
                "viscosity", f"none, since drag by {self.drag} does not use it", shown(self.viscosity), hint
            )
        for i, entry in enumerate(self.current):
            if isinstance(entry, Expression):
                _check_finite(f"current[{i}]", entry)

    @property
    def flow(self) -> tuple[float | Expression | Signal, ...]:
        """The current."""
        return self.current

    @property
    def is_field(self) -> bool:
        """Whether its current depends on the place."""
        return any(isinstance(entry, Expression) and set(entry.used) - {"t"} for entry in self.flow)

    def bind(self, layout: Layout) -> BoundLaw:
        """Collect the Gauss points of rods and the parts of rigid bodies."""
        links: Any = self.links
        if links is None:
            links = {name: Immersed() for name, link in layout.links.items() if link.link.body is not None}
        bound = _Binding(self.density, DRAG_LAWS[self.drag], self.viscosity)
        for name, immersed in links.items():
            if name not in layout.links:
                hint = nearest(name, layout.links)
                raise ModelError("fluid.links", "the name of a link", f"'{name}'", hint)
            bound.add(name, layout.links[name], immersed)
        dissipative = [row._replace(values=_drag_only(row.values)) for row in bound.rows]
        law = CompiledLaw(bound.rows, dissipative, self._medium(layout.gravity))
        return BoundLaw(law, added_inertia=np.array(bound.inertia).reshape(-1, 6, 6))

    def upward(self, gravity: Sequence[float] | Array) -> tuple[float, ...]:
        """Direction (3,) in which heights are measured: as given, or against gravity; without any, z."""
        g = np.array(gravity)
        return self.up or (_Upward().check(-g) if np.any(g) else (0.0, 0.0, 1.0))

    def _medium(self, gravity: Sequence[float] | Array) -> Medium:
        up = np.array(self.upward(gravity))
        if self.is_field:
            tapes = tuple(_Tape(_as_expression(entry)) for entry in self.flow)
            return Medium(tapes, True, up, self.height)
        still = all(entry == 0.0 for entry in self.flow if not isinstance(entry, Expression | Signal))
        if still and not any(isinstance(entry, Expression | Signal) for entry in self.flow):
            return Medium(None, False, up, self.height)
        return Medium(tuple(_as_signal(entry) for entry in self.flow), False, up, self.height)


def _check_finite(where: str, entry: Expression) -> None:
    """Refuse a current that is finite nowhere (ModelError)."""
    with np.errstate(all="ignore"):
        values = (dict(zip(VARIABLES, (*place, 0.0), strict=True)) for place in PLACES)
        speeds = [entry(**{name: value[name] for name in entry.variables}) for value in values]
    if not np.isfinite(speeds).any():
        got = f"{speeds[0]} at the origin and elsewhere at t = 0 of {entry.text!r}"
        raise ModelError(where, "a finite speed", got)


def _as_signal(entry: float | Expression | Signal) -> Signal:
    if isinstance(entry, Expression):
        return as_signal(entry.partly(**{name: 0.0 for name in entry.variables if name != "t"}))
    return as_signal(entry)


def _as_expression(entry: float | Expression | Signal) -> Expression:
    """An expression of all four variables, in their order."""
    if isinstance(entry, Signal):
        expected, hint = "expressions or numbers beside one of x, y or z", "write the signal as an expression of t"
        raise ModelError("fluid.current", expected, "a table or a function", hint)
    if isinstance(entry, Expression) and entry.variables == VARIABLES:
        return entry
    return parse(entry.text if isinstance(entry, Expression) else repr(float(entry)), VARIABLES)


@dataclass(frozen=True)
class _Tape:
    """An expression as the arrays of kernels.signals hold it."""

    expression: Expression

    def packed(self) -> tuple[int, Any, Any, int]:
        """Kind, code, data, depth of stack."""
        return TAPE_SIGNAL, self.expression.code, self.expression.constants, self.expression.depth


def _drag_only(values: Array) -> Array:
    out = values.copy()
    out[ADDED_MASS : ADDED_MASS + 3] = 0.0
    out[DISPLACED] = 0.0
    return out


class _Binding:
    """Rows of a fluid and added inertia, one of each for a point."""

    def __init__(self, density: float, law: int, viscosity: float | None) -> None:
        self.density, self.law, self.viscosity = density, law, viscosity
        self.rows: list[LawRow] = []
        self.inertia: list[Array] = []

    def add(self, name: str, link: LinkLayout, given: Immersed) -> None:
        """Add a link."""
        body, linear = link.link.body, self.law == STOKES
        if linear and given.lift:
            raise ModelError(f"fluid.links.{name}.lift", "no lift where drag is by stokes", f"{given.lift:g}")
        if isinstance(body, RigidBody):
            if given.lift:
                raise ModelError(f"fluid.links.{name}.lift", "no lift of a rigid body", f"{given.lift:g}")
            for pose, properties in body_fluid_properties(f"fluid.links.{name}", body, given, linear):
                self.point(int(link.nodes[0]), pose, properties, STOKES if linear else SPEED)
            return
        if body is None:
            raise ModelError(f"fluid.links.{name}", "a link with a body", "a frame without one")
        if given.shape is not None or given.rotary_drag is not None:
            key = "shape" if given.shape is not None else "rotary_drag"
            raise ModelError(f"fluid.links.{name}.{key}", f"no {key} of a rod", "one")
        for piece in link.pieces:
            gauss = np.flatnonzero(piece.gauss(link))
            X, L = link.X[gauss] - piece.start, body.length
            properties = section_fluid_properties(
                f"fluid.links.{name}", piece.division, X, given, L if linear else None
            )
            for i, k in enumerate(gauss):
                weight = link.weight[k]
                weighted = [weight * x[i] for x in properties[:-1]]
                of_point = FluidProperties._make([*weighted, properties.reach[i]])
                self.point(int(link.nodes[k]), None, of_point, self.law)

    def point(self, node: int, pose: Array | None, properties: FluidProperties, law: int) -> None:
        """Add one point."""
        rho, values = self.density, np.zeros(N_FLUID_VALUES, dtype=number_type())
        resisting = self.viscosity if self.viscosity is not None else rho
        values[DRAG : DRAG + 3] = resisting * properties.drag
        values[LIFT], values[DRAG_LAW] = rho * properties.lift, law
        values[ROTARY_DRAG : ROTARY_DRAG + 3] = resisting * properties.rotary_drag
        values[ADDED_MASS : ADDED_MASS + 3] = rho * properties.added_mass
        values[DISPLACED], values[REACH] = rho * properties.volume, max(properties.reach, 1e-9)
        self.rows.append(LawRow(FLUID, node, values, frame=pose, per_length=pose is None))
        inertia = rho * np.diag(np.concatenate([properties.added_inertia, properties.added_mass]))
        if pose is not None:
            X = Ad_inv(pose)
            inertia = X.T @ inertia @ X
        self.inertia.append(inertia)
