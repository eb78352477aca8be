"""Where the links of a robot stand in its arrays: blocks, nodes and coordinates by name."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.base.complex_step import number_type
from sorosim.base.errors import InputError, ModelError, nearest
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.rod import Division

Array = NDArray[Any]
IntArray = NDArray[np.int64]

NOTHING_LEFT = 0.02  # of the length of a rod in the file, where that is a coordinate
# two places on a rod closer than this, relative to its length, are one
MERGE = 1e-9


class Piece(NamedTuple):
    """A division of a rod inside the tree."""

    division: Division
    start: float  # arclength on the rod where it starts [m]
    block: int
    column: int  # first coordinate of its strains
    n: int
    span: tuple[int, int] | None = None  # first coordinate of its block and how many, if there are others than its own
    ends: tuple[tuple[int, float], ...] = ()  # coordinates that change its length, and by how much each
    material_moves: bool = False  # whether its length is the coordinate of the joint: material flows through its nodes

    def block_basis(self, X: Array) -> Array:
        """P^T at arclengths X (n_X,) of all coordinates of its block: xi*/L for a length, and its strains."""
        division = self.division
        P = division.basis(X)
        if self.span is None:
            return P
        first, n = self.span
        out = np.zeros((len(X), n, 6), dtype=number_type())
        own = self.column - first
        out[:, own : own + self.n] = P
        for column, rate in self.ends:
            out[:, column - first] = rate * division.reference.values(X, division.length) / division.length
        return out

    def length_ratio(self, q: Array) -> Any:
        """Length in states q (..., ndof) over that of the file."""
        return 1.0 + sum(rate * q[..., column] for column, rate in self.ends) / self.division.length

    def has_geometry_of(self, other: Piece) -> bool:
        """Whether it differs by the material at most."""
        mine, theirs = self.division, other.division
        same = mine.section is theirs.section and mine.strain is theirs.strain and mine.reference is theirs.reference
        numbers = (self.start, self.block, self.column, mine.length, mine.n_gauss)
        return same and numbers == (other.start, other.block, other.column, theirs.length, theirs.n_gauss)

    def gauss(self, link: LinkLayout) -> NDArray[np.bool_]:
        """Which nodes of its link are Gauss points of it (m,)."""
        return (self.start < link.X) & (self.start + self.division.length > link.X) & (link.weight > 0.0)


@dataclass(frozen=True)
class LinkLayout:
    """Where a link stands in the arrays."""

    link: Link
    column: int  # first coordinate
    n_joint: int  # coordinates of the joint
    joint_blocks: tuple[int, ...]  # block of each of its stages
    n: int  # coordinates of joint and body
    nodes: IntArray  # (m,) nodes from base to tip; one for a rigid link
    X: Array  # (m,) their arclengths [m]
    weight: Array  # (m,) quadrature weights [m], zero where a node is not a Gauss point
    counted: NDArray[np.bool_]  # (m,) which of them are points of the robot
    pieces: tuple[Piece, ...]

    def spanned(self, where: str, start: float, end: float) -> list[Piece]:
        """Divisions of the rod between two places s; refuses ends inside one."""
        length = self.X[-1]
        boundaries = [(piece.start / length).real for piece in self.pieces] + [1.0]
        for name, value in (("start", start), ("end", end)):
            if min(abs(value - b) for b in boundaries) > MERGE:
                shown = ", ".join(f"{b:g}" for b in boundaries)
                expected = f"a boundary of the divisions of rod '{self.link.name}' ({shown})"
                raise ModelError(f"{where}.{name}", expected, f"{value:g}", "cut the rod into divisions there")
        middles = ((piece, ((piece.start + 0.5 * piece.division.length) / length).real) for piece in self.pieces)
        found = [piece for piece, middle in middles if start < middle < end]
        if not found:  # both at one boundary, to rounding
            raise ModelError(f"{where}.to", f"a place beyond the start, {start:g}", f"{end:g}")
        return found

    def node_at(self, s: float) -> int:
        """Node at s; it must be one."""
        k = int(np.argmin(np.abs(self.X - s * self.X[-1])))
        return int(self.nodes[k])


@dataclass(frozen=True)
class Layout:
    """Names and places of everything in the arrays."""

    links: Mapping[str, LinkLayout]
    coordinate_names: tuple[str, ...]
    dimensions: tuple[str, ...]  # of each coordinate: angle, length or number
    points: IntArray  # (n_points,) nodes that count as points
    held: tuple[str, ...] = ()  # coordinates that are driven, at 0 where nobody says how
    joined: frozenset[frozenset[str]] = frozenset()  # pairs of links that a loop connects
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)  # [m/s^2]
    # flowing node, or one of tubes -> row of what acts on its material, in `ExternalForces`: beyond those of all nodes
    material_rows: Mapping[int, int] = field(default_factory=dict)

    def link(self, name: str) -> LinkLayout:
        """The layout of a link by name."""
        if name not in self.links:
            raise ModelError("link", "the name of a link", f"'{name}'", nearest(name, self.links))
        return self.links[name]

    def connected_masses(self, moving: Container[int]) -> dict[str, float]:
        """Mass [kg] of what hangs together with each link, in joints and loops, by coordinates that are `moving`."""
        first: dict[str, str] = {}  # link -> the link nearest to the ground with which it hangs together
        for name, layout in self.links.items():  # parents first
            if (parent := layout.link.parent) in first:
                first[name] = first[parent]
            elif any(column in moving for column in range(layout.column, layout.column + layout.n)):
                first[name] = name
        for joined in self.joined:
            a, *rest = sorted({first[name] for name in joined if name in first})[:2] or [""]
            if rest:
                first = {name: a if of in rest else of for name, of in first.items()}
        totals = dict.fromkeys(first.values(), 0.0)
        for name, of in first.items():
            totals[of] += self.links[name].link.mass
        return {name: totals[of] for name, of in first.items()}

    def has_rods_of(self, other: Layout) -> bool:
        """Whether all rods and their nodes are those of another one, but for what they are made of."""
        if self.links.keys() != other.links.keys():
            return False
        pairs = [
            (mine, other.links[name]) for name, mine in self.links.items() if mine.pieces or other.links[name].pieces
        ]
        return all(
            np.array_equal(mine.X, theirs.X)
            and len(mine.pieces) == len(theirs.pieces)
            and all(a.has_geometry_of(b) for a, b in zip(mine.pieces, theirs.pieces, strict=True))
            for mine, theirs in pairs
        )

    def place_of(self, node: int) -> str:
        """A node in words, for messages."""
        for name, link in self.links.items():
            for k in np.flatnonzero(link.nodes == node):
                return f"'{name}'" if link.link.rod is None else f"s = {link.X[k] / link.X[-1]:.4g} of '{name}'"
        return "the world"

    def fully_retracted(self, q: Array) -> str:
        """Link of whose rod, whose length is a coordinate, nothing is left in a state; "" if there is none."""
        found = (
            name for name, link in self.links.items() for piece in link.pieces if piece.length_ratio(q) < NOTHING_LEFT
        )
        return next(found, "")

    def coordinate(self, name: str, where: str) -> int:
        """Index of a coordinate by its name, or by that of a link whose joint has just one (else InputError)."""
        link = self.links.get(name)
        if link is not None and link.n_joint == 1:
            return link.column
        if name in self.coordinate_names:
            return self.coordinate_names.index(name)
        if link is not None and link.n_joint > 1:
            own = self.coordinate_names[link.column : link.column + link.n_joint]
            raise InputError(where, "the name of one coordinate", f"'{name}' with {link.n_joint}", " ".join(own))
        known: list[str] = []
        for key, value in self.links.items():
            own = self.coordinate_names[value.column : value.column + value.n_joint]
            known += [key] if value.n_joint == 1 else own
        known += self.held
        hint = nearest(str(name), known)
        raise InputError(where, "the name of a link with a joint, or of a coordinate", f"'{name}'", hint)
