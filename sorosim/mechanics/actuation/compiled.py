"""Actuators inside rods as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre

from sorosim.base.arrays import Array, IntArray, Records
from sorosim.base.compiled import table
from sorosim.base.complex_step import number_type
from sorosim.base.errors import ModelError
from sorosim.base.registry import ByValue, warn_of_tangents
from sorosim.mechanics.actuation.base import (
    ActuatorValues,
    BoundActuator,
    DeclaredActuator,
    SectionActuator,
    Sections,
    actuate_checked,
)
from sorosim.mechanics.actuation.route import rod_of, route_stretch, with_points_for_routes
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.kernels import rod_actuators as kernel
from sorosim.mechanics.kernels.forces import Elastic
from sorosim.mechanics.kernels.rod_actuators import RodActuators
from sorosim.mechanics.kernels.tree import Tree
from sorosim.mechanics.model.compile import compile_tree
from sorosim.mechanics.model.layout import Layout, LinkLayout, Piece
from sorosim.mechanics.model.link import Link

# total angle of a tendon [rad] below which its friction fades smoothly
SMOOTHING_ANGLE = 1e-3


class InPython(NamedTuple):
    """An actuator inside rods that Python computes."""

    actuator: int
    bound: BoundActuator
    sections: Sections
    rows: IntArray  # rows of RodActuators, in the order of its sections
    given: IntArray  # their places among the rows that Python computes

    @property
    def actuators(self) -> tuple[int, ...]:
        """Numbers of the actuators it computes."""
        return (self.actuator,)

    def strains(self, tree: Tree, rod_actuators: RodActuators, q: Array, qd: Array) -> tuple[Array, Array]:
        """Strains and their rates (n, 6) of its sections."""
        xi, xid = np.empty((len(self.rows), 6)), np.empty((len(self.rows), 6))
        for k, row in enumerate(self.rows):
            kernel.section_strain(tree, rod_actuators, row, q, True, xi[k])
            kernel.section_strain(tree, rod_actuators, row, qd, False, xid[k])
        return xi, xid

    def evaluate(
        self, tree: Tree, rod_actuators: RodActuators, q: Array, qd: Array, u: Array, names: Sequence[str],
        tangents: bool,
    ) -> ActuatorValues:  # fmt: skip
        """Internal wrenches on its sections and, with `tangents`, their derivatives."""
        xi, xid = self.strains(tree, rod_actuators, q, qd)
        name, own = names[self.actuator], float(u[self.actuator])
        return actuate_checked(name, self.bound, self.sections, own, xi, xid, tangents)


class _Place(NamedTuple):
    """Where a row is."""

    rod: str
    X: float
    length: float
    piece: Piece


def compile_rod_actuators(
    actuators: Mapping[int, Any], names: Sequence[str], n_actuators: int, layout: Layout
) -> tuple[RodActuators, list[InPython]]:
    """Pack actuators by their index, at the Gauss points of their rods; points in order, so that each comes once."""
    rows: list[tuple[int, ...]] = []
    values: list[Array] = []
    basis: list[Array] = []
    places: list[_Place] = []
    size = point = n_python = 0
    for link in layout.links.values():
        if link.link.rod is None:
            continue
        for piece in link.pieces:
            inside = piece.gauss(link)
            X, w = link.X[inside], link.weight[inside]
            entries = [(i, *own) for i, actuator in actuators.items() for own in _rows(actuator, link, piece, X)]
            if not entries:
                continue
            for i in (
                i for i, actuator in actuators.items() if piece.material_moves and _is_anchored_to_rod(actuator, link)
            ):
                # a tension along the length that is fed: what the tendon gets shorter inside the sheath
                along = np.zeros((piece.n + 1, 6), dtype=number_type())
                along[0, 3] = 1.0
                rows.append((i, piece.block, size, point, kernel.WRENCH_ROW, -1))
                values.append(np.zeros(kernel.N_ROW_VALUES, dtype=number_type()))
                values[-1][[kernel.WEIGHT, kernel.WRENCH + 3]] = 1.0
                places.append(_Place(link.link.name, 0.0, link.link.rod.length, piece))
                basis.append(along.ravel())
                size += along.size
                point += 1
            P = piece.block_basis(X - piece.start)
            xi = piece.division.reference.values(X - piece.start, piece.division.length)
            for k in range(len(X)):
                for i, kind, of_point in entries:
                    python_row = -1
                    if kind == kernel.PYTHON_ROW:
                        python_row, n_python = n_python, n_python + 1
                    rows.append((i, piece.block, size, point, kind, python_row))
                    values.append(of_point[k].copy())
                    values[-1][kernel.WEIGHT] = w[k]
                    # a wrench has six numbers where a route has its own
                    values[-1][kernel.STRAIN_REFERENCE : kernel.STRAIN_REFERENCE + 6] = xi[k]
                    places.append(_Place(link.link.name, X[k], link.link.rod.length, piece))
                basis.append(P[k].ravel())
                size += P[k].size
                point += 1
    row = table(kernel.ACTUATOR_ROW, rows)
    kind = number_type()
    value = np.array(values, dtype=kind).reshape(-1, kernel.N_ROW_VALUES)
    mode, inputs = np.full(n_actuators, kernel.FORCE_INPUT), np.tile(np.array([0.0, 0.0, 1.0], kind), (n_actuators, 1))
    for i, actuator in actuators.items():
        if hasattr(actuator, "input"):
            mode[i], *inputs[i] = actuator.input(rest_length(row, value, i))
    flat = np.concatenate([np.zeros(0, dtype=kind), *basis])
    numbers = np.ascontiguousarray(inputs.T)
    packed = RodActuators(row, value, flat, mode, *numbers, *_capstan_rows(actuators, row, places))
    return packed, _bind_in_python(actuators, names, row, places)


def _rows(actuator: Any, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
    if hasattr(actuator, "rows"):
        own: list[tuple[int, Array]] = actuator.rows(link, piece, X)
        if any(kind == kernel.STIFFNESS_ROW or values[:, kernel.BRAID].any() for kind, values in own):
            _check_strains(link, piece)
        return own
    if link.link.name not in actuator.rods:
        return []
    _check_strains(link, piece)
    return [(kernel.PYTHON_ROW, np.zeros((len(X), kernel.N_ROW_VALUES), dtype=number_type()))]


def _is_anchored_to_rod(actuator: object, link: LinkLayout) -> bool:
    """Whether an actuator is a tendon that is held on the rod of a link."""
    return isinstance(actuator, Tendon) and actuator.held == "rod" and actuator.path[0].rod == link.link.name


def _check_strains(link: LinkLayout, piece: Piece) -> None:
    """Refuse a rod whose length is a coordinate, for laws of strains (ModelError)."""
    if piece.material_moves:
        got = f"'{link.link.name}', whose joint is {link.link.joint.kind}"
        raise ModelError("", "rods of given length, for what acts by strains", got, "give it another joint")


def rest_length(row: Records, value: Array, actuator: int) -> float:
    """Length of a route in the unstrained robot [m]."""
    own = value[(row["actuator"] == actuator) & (row["kind"] == kernel.ROUTE_ROW)]
    d, slope = (own[:, at : at + 3] for at in (kernel.ROUTE, kernel.SLOPE))
    xi = own[:, kernel.STRAIN_REFERENCE : kernel.STRAIN_REFERENCE + 6]
    length: float = own[:, kernel.WEIGHT] @ route_stretch(d, slope, xi)
    return length


def _capstan_rows(actuators: Mapping[int, Any], row: Records, places: Sequence[_Place]) -> tuple[Any, ...]:
    """Rows of tendons with friction, from the pulled end on, and their operators of differentiation and integration."""
    rows_of_tendons: list[tuple[int, ...]] = []
    friction: list[tuple[float, float]] = []
    lines: list[int] = []
    operators: list[Array] = [np.zeros(0, dtype=number_type())]
    size = 0
    for i, tendon in actuators.items():
        if not isinstance(tendon, Tendon) or tendon.friction == 0.0:
            continue
        order = {run.rod: k for k, run in enumerate(tendon.path)}
        is_route = row["kind"] == kernel.ROUTE_ROW
        own = [int(k) for k in np.flatnonzero((row["actuator"] == i) & is_route)]
        own.sort(key=lambda k: (order[places[k].rod], places[k].X))
        derive, reach = _panel_operators([places[k] for k in own])
        rows_of_tendons.append((i, len(lines), len(own), size))
        length = sum({places[k].rod: places[k].length for k in own}.values())
        friction.append((tendon.friction, SMOOTHING_ANGLE / length))
        lines += own
        operators += [derive.ravel(), reach.ravel()]
        size += derive.size + reach.size
    return (
        table(kernel.CAPSTAN, rows_of_tendons),
        np.array(friction, dtype=number_type()).reshape(-1, 2),
        np.array(lines, dtype=np.int64),
        np.concatenate(operators),
    )


def _panel_operators(places: Sequence[_Place]) -> tuple[Array, Array]:
    """Operators (n, n) of d/dX and of the integral from the first end, by the polynomials through the Gauss points."""
    n = len(places)
    derive, reach = np.zeros((2, n, n), dtype=number_type())
    passed = np.zeros(n, dtype=number_type())  # weights of the integral over the panels behind
    k = 0
    while k < n:
        place = places[k]
        edges = np.array([0.0, *place.piece.division.breakpoints, 1.0]) * place.piece.division.length
        panel = int(np.searchsorted(edges, place.X - place.piece.start, side="right")) - 1
        low, high = place.piece.start + edges[panel], place.piece.start + edges[panel + 1]
        m = k
        while m < n and places[m].rod == place.rod and low < places[m].X < high:
            m += 1
        half, x = 0.5 * (high - low), np.array([places[j].X for j in range(k, m)])
        z, count = (x - low) / half - 1.0, m - k
        inverse = np.linalg.inv(legendre.legvander(z, count - 1))
        unit = np.eye(count)
        slopes = np.stack([legendre.legval(z, legendre.legder(c)) for c in unit], axis=1) if count > 1 else 0.0 * unit
        sums = [legendre.legint(c, lbnd=-1.0) for c in unit]
        derive[k:m, k:m] = slopes @ inverse / half
        reach[k:m] = passed
        reach[k:m, k:m] += half * np.stack([legendre.legval(z, c) for c in sums], axis=1) @ inverse
        passed[k:m] = half * np.array([legendre.legval(1.0, c) for c in sums]) @ inverse
        k = m
    return derive, reach


def _bind_in_python(
    actuators: Mapping[int, Any], names: Sequence[str], row: Records, places: Sequence[_Place]
) -> list[InPython]:
    out = []
    for i, actuator in actuators.items():
        if hasattr(actuator, "rows"):
            continue
        own = np.flatnonzero(row["actuator"] == i)
        here = [places[int(k)] for k in own]
        X, s = np.array([p.X for p in here]), np.array([p.X / p.length for p in here])
        sections = Sections(tuple(p.rod for p in here), X, s)
        try:
            bound = actuator.bind(sections)
        except ModelError as error:
            raise error.inside(f"actuators.{names[i]}") from error.__cause__
        if not hasattr(bound, "evaluate"):
            got = f"{type(bound).__name__} without evaluate"
            raise ModelError(f"actuators.{names[i]}", "a bound actuator with evaluate", got)
        if not isinstance(bound, ByValue):
            warn_of_tangents(f"actuators.{names[i]}", actuator, "ActuatorLaw")
        out.append(InPython(i, bound, sections, own, row["given"][own]))
    return out


def compile_tree_with(
    actuators: Mapping[int, Any], names: Sequence[str], links: tuple[Link, ...], places: Iterable[tuple[str, float]]
) -> tuple[Tree, Elastic, Layout]:
    """As `compile_tree`, with Gauss points for actuators that run in rods, which must fit their links."""
    out = compile_tree(links, places)
    for i, actuator in actuators.items():
        check_actuator(names[i], actuator, out[2])
    finer = with_points_for_routes(actuators.values(), out[2])
    is_finer = any(mine is not given for mine, given in zip(finer, links, strict=True))
    return compile_tree(finer, places) if is_finer else out


def check_actuator(name: str, actuator: object, layout: Layout) -> None:
    """Refuse an actuator in rods that does not fit the robot (ModelError)."""
    where = f"actuators.{name}"
    if isinstance(actuator, DeclaredActuator) and hasattr(actuator, "check"):
        actuator.check(layout)
        return
    if isinstance(actuator, type) or not isinstance(actuator, SectionActuator):
        missing = [part for part in ("unit", "rods", "bind") if not hasattr(actuator, part)]
        got = f"{type(actuator).__name__}" + (f" without {', '.join(missing)}" if missing else "")
        raise ModelError(where, "an actuator", got)
    if not list(actuator.rods):
        raise ModelError(f"{where}.rods", "names of rods", "none")
    for rod in actuator.rods:
        rod_of(f"{where}.rods", rod, layout)
