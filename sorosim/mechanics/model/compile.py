"""From descriptions to arrays: a pure function of the links and of the places that must be nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.compiled import table
from sorosim.base.complex_step import derivative, is_varying, number_type
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels.forces import Elastic
from sorosim.mechanics.kernels.joints import JOINT_FRICTION, JOINT_LAW, LENGTH_DAMPING, LENGTH_ELASTIC, STOP, Laws
from sorosim.mechanics.kernels.sections import SECTION_LAW, SectionLaws
from sorosim.mechanics.kernels.tree import (
    BASIS,
    BLOCK,
    COMMUTING,
    FIXED,
    FLOWING,
    FLOWING_NODE,
    GENERAL,
    INSERTED_NODE,
    SEGMENT,
    Tree,
)
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.joints import ONSET, Joint, Stage
from sorosim.mechanics.model.joints.fixed import Fixed
from sorosim.mechanics.model.layout import MERGE, Layout, LinkLayout, Piece
from sorosim.mechanics.model.link import WORLD, Link, pose_on_parent
from sorosim.mechanics.model.relaxation import Relaxation, maxwell_elements
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.tubes import Rotor, TubeBlock, Tubes, tube_laws

Array = NDArray[Any]
IntArray = NDArray[np.int64]

# spans of a rod are worked with one by one from so many on, in sizes of their coordinates; docs/theory.md, 4
LEAST_SPANS = 3
_IDENTITY = np.eye(3)


def segment_strains(piece: Piece, start: Array, end: Array) -> Array:
    """Segments (m, n) of `Tree.strain` between places (m,) of a division.

    Each has h, c, xi* and P at the points h (1/2 -+ sqrt(3)/6).
    """
    h = end - start
    X = (start[:, None] + h[:, None] * (0.5 + np.array([-1.0, 1.0]) * np.sqrt(3.0) / 6.0)).ravel()
    xi, P = piece.division.reference.values(X, piece.division.length), piece.block_basis(X)
    head = np.stack([h, np.sqrt(3.0) * h**2 / 12.0], axis=-1)
    return np.hstack([head, xi.reshape(len(h), -1), P.reshape(len(h), -1)])


def joint_strain(columns: Array) -> Array:
    """A joint as a segment of length 1 with a constant basis and no reference strain (docs/theory.md, 2)."""
    return np.concatenate([[1.0, 0.0], np.zeros(12), columns.ravel(), columns.ravel()])


def is_rigid(inertia: Array) -> bool:
    """Whether a symmetric inertia (6, 6) is that of a rigid body to the last bit: [[I, h^], [-h^, m 1]]."""
    B, m = inertia[:3, 3:], inertia[3:, 3:]
    return bool((B == -B.T).all() and (m == m[0, 0] * _IDENTITY).all())


def _with_places(
    X: Array, w: Array, counted: NDArray[np.bool_], places: Iterable[float], length: float
) -> tuple[Any, ...]:
    """Insert places of weight zero among the nodes of a division, unless a node is there already."""
    for place in places:
        if np.abs(X - place).min() > MERGE * length:
            k = int(np.searchsorted(X, place))
            X, w, counted = (
                np.insert(X.astype(number_type()), k, place),
                np.insert(w, k, 0.0),
                np.insert(counted, k, False),
            )
    return X, w, counted


def _check_places(name: str, X: Array, places: Iterable[float]) -> None:
    """Refuse places that a scalar moves away from the node that stands for them; only where one is varied."""
    for place in places if is_varying() else ():
        k = int(np.argmin(np.abs(X - place)))
        if abs(derivative(X[k] - place)) > MERGE * abs(X[-1]):
            got = f"one that moves a place away from the node at s = {(X[k] / X[-1]).real:.4g} of '{name}'"
            raise ModelError("links", "a scalar that moves no place which is a node anyway", got)


class _Builder:
    """Collects segments and blocks in order."""

    def __init__(self) -> None:
        self.segments: list[dict[str, int]] = []
        self.blocks: list[dict[str, int]] = []
        self.rows: list[tuple[int, int]] = []
        self.offsets: list[Array] = []
        self.inertia: list[Array] = []
        self.strain: list[Array] = []
        self.stiffness: list[Array] = []
        self.damping: list[Array] = []
        self.rest: list[float] = []
        self.armature: list[Any] = []
        self.local: list[int] = []
        self.laws: list[tuple[int, ...]] = []
        self.law_values: list[float] = []
        self.sections: list[tuple[int, int]] = []
        self.section_values: list[Array] = []
        self.section_basis: list[Array] = []
        self.tubes: list[tuple[int, TubeBlock]] = []
        self.inserted: list[tuple[int, int, int, int]] = []
        self.rotors: list[tuple[int, Rotor]] = []
        self.flow_nodes: list[tuple[int, int]] = []
        self.flow: list[Array] = []
        self.relaxing: list[tuple[int, int, Relaxation]] = []
        self.names: list[str] = []
        self.dimensions: list[str] = []
        self.held: list[str] = []
        self._strain_size = self._work = self._squares = self._flow_size = 0

    def begin_block(self, parent: int, rows: list[tuple[int, int]], K: Array, D: Array, rest: list[float]) -> None:
        n = len(rows)
        before = self.blocks[self.segments[parent]["block"]] if parent >= 0 else {"n_before": 0, "n": 0}
        first = len(self.segments)
        self.blocks.append({
            "first": first, "end": first, "column": len(self.rows), "n": n, "parent": parent,
            "n_before": before["n_before"] + before["n"], "square": self._squares, "is_local": 0, "armature": -1,
        })  # fmt: skip
        self._squares += n * n
        self.rows += rows
        self.stiffness.append(K.ravel())
        self.damping.append(D.ravel())
        self.rest += rest

    def add_armature(self, armature: Array) -> None:
        """Inertias (n,) of rotors on the first coordinates of the block begun last."""
        if np.any(armature):
            block = self.blocks[-1]
            block["armature"] = len(self.armature)  # counted in `Tree.strain` at the end
            self.armature += [*armature, *[0.0] * (block["n"] - len(armature))]

    def add_segment(self, parent: int, kind: int, strain: Array, inertia: Array, offset: Array | None = None) -> int:
        node, block = len(self.segments), self.blocks[-1]
        n = block["n"]
        self.segments.append({
            "parent": parent, "block": len(self.blocks) - 1, "column": block["column"], "n": n, "kind": kind,
            "strain": self._strain_size, "work": self._work,
            "offset": offset is not None and not np.array_equal(offset, np.eye(4)),
            "massless_end": not np.any(inertia), "rigid": is_rigid(inertia), "local": -1, "n_local": n,
        })  # fmt: skip
        self.offsets.append(np.eye(4) if offset is None else np.asarray(offset))
        self.inertia.append(inertia)
        self.strain.append(strain)
        self._strain_size += len(strain)
        self._work += 6 * n
        block["end"] = node + 1
        if parent >= 0 and block["first"] == node:
            self.segments[parent]["massless_end"] = 0  # something hangs on the parent node
        return node

    def divide_block(self, span: IntArray) -> None:
        """Make spans of the block begun last: `span` numbers that of each of its segments, in order."""
        block = self.blocks[-1]
        first, n = block["first"], block["n"]
        bases = np.array([strain[BASIS:].reshape(2, n, 6) for strain in self.strain[first:]])
        local = [np.flatnonzero((bases[span == one] != 0.0).any(axis=(0, 1, 3))) for one in range(span[-1] + 1)]
        if n < LEAST_SPANS * max(map(len, local)) or 6 * n < max(map(len, local)) ** 2:
            return
        block["is_local"] = 1
        begin = len(self.local) + np.cumsum([0, *map(len, local)])
        for k, one in enumerate(span, first):
            self.segments[k] |= {"local": int(begin[one]), "n_local": len(local[one])}
        for last in np.flatnonzero(np.diff(span)):
            self.segments[first + int(last)]["massless_end"] = 0  # the next span hangs on it
        self.local += [int(j) for own in local for j in own]

    def name(self, prefix: str, names: Iterable[str], dimensions: Iterable[str], held: Iterable[str] = ()) -> None:
        """Name coordinates, in their order."""
        self.names += [f"{prefix}.{name}" for name in names]
        self.dimensions += dimensions
        self.held += [f"{prefix}.{name}" for name in held]

    def add_link(self, link: Link, parent: int, offset: Array, places: list[Any]) -> LinkLayout:
        """The joint and the body of a link, on a node; places [m] on its rod that must be nodes."""
        column, body, joint = len(self.rows), link.body, link.joint
        inertia = body.spatial_inertia if isinstance(body, RigidBody | Tubes) else np.zeros((6, 6))
        # a length is a coordinate of the rod's block
        node, blocks = self.add_joint(parent, Fixed() if joint.changes_length else joint, inertia, offset)
        self.name(link.name, joint.names, joint.dimensions)
        if isinstance(body, Tubes):
            plate, node = node, self.begin_tubes(node, body.block)
            self.name(link.name, body.block.names, body.block.dimensions, body.block.held)
        pieces: list[Piece] = []
        X, weight, counted = np.zeros(1), np.zeros(1), np.ones(1, dtype=bool)
        if link.rod is not None:
            pieces, X, weight, counted = self.add_rod(link, link.rod, node, places)
            _check_places(link.name, X, places)
        if joint.changes_length:
            blocks = (pieces[0].block,)
        nodes = np.arange(node, node + len(X))
        if isinstance(body, Tubes):
            self.rotors += [(pieces[0].block, one) for one in body.block.rotors(plate, nodes, X, weight)]
        return LinkLayout(
            link, column, joint.n, blocks, len(self.rows) - column, nodes, X, weight, counted, tuple(pieces)
        )

    def add_rod(
        self, link: Link, rod: Rod | Tubes, node: int, places: list[Any]
    ) -> tuple[list[Piece], Array, Array, NDArray[np.bool_]]:
        """Segments of the rod of a link behind a node: its divisions, and of all nodes what `LinkLayout` has of them.

        The nodes are numbered one after the other.
        """
        pieces, sections = [], [0]
        X, weight, counted = [np.zeros(1)], [np.zeros(1)], [np.ones(1, dtype=bool)]
        for i, (division, start) in enumerate(zip(rod.divisions, rod.starts, strict=True)):
            grid, w, gauss = division.gauss_points()
            discs, of_disc = np.zeros(0), np.zeros(6)
            if division.discs is not None:
                discs, of_disc = division.discs.places(division.length), division.discs.inertia
            own = [x - start for x in (*places, *(start + discs)) if 0.0 < x - start < division.length]
            grid, w, gauss = _with_places(grid, w, gauss, own, rod.length)
            piece = self.begin_division(link, rod, node, i)
            inertia = (w[:, None] * division.line_inertia(grid)).astype(number_type())
            for x in discs:
                inertia[np.argmin(np.abs(grid - x))] += of_disc
            strains = segment_strains(piece, grid[:-1], grid[1:])
            for k in range(1, len(grid)):
                node = self.add_segment(node, GENERAL, strains[k - 1], np.diag(inertia[k]))
                if piece.material_moves and w[k] > 0.0:
                    self.add_flow(node, link.joint, piece, grid[k])
                if isinstance(rod, Tubes) and w[k] > 0.0:
                    values, columns = rod.block.at_node(i, grid[k] / division.length, w[k])
                    self.inserted.append((node, len(columns) - 1, self._flow_size, len(self.local)))
                    self.flow.append(values)
                    self.local += columns
                    self._flow_size += len(values)
            pieces.append(piece)
            sections += [i + 1] * (len(grid) - 1)
            X.append(start + grid[1:])
            weight.append(w[1:])
            counted.append(gauss[1:])
            if division.strain.breakpoints and not piece.material_moves:
                kinks = np.array(division.strain.breakpoints) * division.length
                middles = (0.5 * (grid[:-1] + grid[1:])).real
                self.divide_block(np.searchsorted(kinks.real, middles))
        if isinstance(rod, Tubes):
            self.divide_block(np.array(sections))
        all_X, all_counted = np.concatenate(X), np.concatenate(counted)
        all_X[-1], all_counted[-1] = rod.length, True
        return pieces, all_X, np.concatenate(weight), all_counted

    def begin_division(self, link: Link, rod: Rod | Tubes, node: int, i: int) -> Piece:
        """Coordinates of division i of a rod behind a node: a block, or some of the one of all sections of tubes."""
        division, start = rod.divisions[i], rod.starts[i]
        first, n = len(self.rows), division.strain.count
        if isinstance(rod, Tubes):
            first, columns = first - rod.block.n, rod.block.sections[i]
            ends = tuple((first + column, rate) for column, rate in columns.ends)
            return Piece(division, start, len(self.blocks) - 1, first + columns.first, n, (first, rod.block.n), ends)
        K, D = division.matrices
        names = (name if len(rod.divisions) == 1 else f"{i + 1}.{name}" for name in division.strain.names)
        self.name(link.name, names, ["angle" if row < 3 else "number" for row in division.strain.rows])
        if link.joint.changes_length and i == 0:
            self.add_length(link.joint, division, K, D)
            self.add_sections(division, division.length)
            return Piece(division, start, len(self.blocks) - 1, first + 1, n, (first, n + 1), ((first, 1.0),), True)
        self.begin_block(node, [(int(r), int(r) + 1) for r in division.strain.rows], K, D, [0.0] * n)
        self.add_sections(division)
        if (relaxation := division.material.relaxation) is not None:
            self.relaxing.append((len(self.blocks) - 1, n, relaxation))
        return Piece(division, start, len(self.blocks) - 1, first, n)

    def add_joint(self, parent: int, joint: Joint, inertia: Array, offset: Array) -> tuple[int, tuple[int, ...]]:
        """Blocks of one segment, one for each stage; the body is on the last. Returns its node, and the blocks."""
        node, blocks = parent, []
        if sum(len(stage.columns) for stage in joint.stages) != joint.n:
            expected = f"stages with {joint.n} twists in all, one for each coordinate"
            raise ModelError(f"joint {joint.kind}", expected, f"{sum(len(one.columns) for one in joint.stages)}")
        for i, stage in enumerate(joint.stages):
            n = len(stage.columns)
            own = slice(stage.first, stage.first + n)
            K, D, rest = (np.asarray(values)[own] for values in (joint.stiffness, joint.damping, joint.rest))
            # a damper acts on the relative twist in the moved frame; of translations qd serves where all have the same
            is_linear = stage.commutes and not (joint.turns_after(i) and np.any(np.diff(D)))
            D, braked = (D, np.zeros(n)) if is_linear else (np.zeros(n), D)
            blocks.append(len(self.blocks))
            self.begin_block(node, [(0, 6)] * n, np.diag(K), np.diag(D), list(rest))
            self.add_armature(np.asarray(joint.armature)[own])
            self.add_laws(joint, stage, braked, joint.turns_after(i))
            last = i == len(joint.stages) - 1
            kind = FIXED if n == 0 else COMMUTING if stage.commutes else GENERAL
            strain, body = joint_strain(stage.columns), inertia if last else np.zeros((6, 6))
            node = self.add_segment(node, kind, strain, body, offset if i == 0 else None)
        return node, tuple(blocks)

    def add_laws(self, joint: Joint, stage: Stage, damping: Array, turns: bool) -> None:
        """Brake and stops of the block begun last; `turns`: which the next block turns."""
        block, column, n = len(self.blocks) - 1, self.blocks[-1]["column"], len(damping)
        own = range(stage.first, stage.first + n)
        friction, creep = (np.asarray(values)[list(own)] for values in (joint.friction, joint.creep))
        if damping.any() or friction.any():
            groups = [float(joint.dimensions[i] == "length") for i in own]
            # equal ones are the same along all axes
            turned = block + 1 if turns and (damping.any() or np.any(np.diff(friction))) else -1
            self.laws.append((JOINT_FRICTION, block, len(self.law_values), 0, 0, turned))
            self.law_values += np.stack([damping, friction, creep, groups], axis=-1).ravel().tolist()
        for i in own:
            if (stop := joint.limits[i]) is not None:
                self.laws.append((STOP, block, len(self.law_values), column + i - stage.first, 0, -1))
                self.law_values += [stop.low, stop.high, stop.stiffness, ONSET[joint.dimensions[i]]]

    def add_sections(self, division: Division, length: Any = 0.0) -> None:
        """Gauss points of the block begun last, where the material is not linear; `length`: which a joint changes."""
        if not division.material.is_hyperelastic:
            return
        X, w, is_gauss = division.gauss_points()
        X, w = X[is_gauss], w[is_gauss]
        P, size = division.basis(X), sum(len(part) for part in self.section_basis)
        P = np.insert(P, 0, 0.0, axis=1) if length else P
        self.sections += [(len(self.blocks) - 1, size + k * P[0].size) for k in range(len(X))]
        numbers = np.tile(np.array([division.material.second_share, length]), (len(X), 1))
        self.section_values.append(np.column_stack([w, division.line_stiffness(X), numbers]))
        self.section_basis.append(P.ravel())

    def begin_tubes(self, node: int, block: TubeBlock) -> int:
        """The block of concentric tubes, and its first segment, the rotation of the innermost at the plate."""
        self.begin_block(node, block.rows, np.diag(block.stiffness), np.diag(block.damping), [0.0] * block.n)
        self.tubes.append((len(self.blocks) - 1, block))
        columns = np.zeros((block.n, 6))
        columns[block.base[-1], 0] = 1.0
        return self.add_segment(node, GENERAL, joint_strain(columns), np.zeros((6, 6)))

    def add_length(self, joint: Joint, division: Division, K: Array, D: Array) -> None:
        """The coordinate of a rod's length, with the blocks of the joint and of its strains (docs/theory.md, 19)."""
        L, xi = division.length, division.reference.values(np.zeros(1), division.length)[0]
        rows = (0, 6) if np.any(xi[:3]) or division.material.is_hyperelastic else (3, 4)
        own = [(int(r), int(r) + 1) for r in division.strain.rows]
        n = len(own)
        whole = np.zeros((2, n + 1, n + 1), dtype=number_type())
        for out, of_joint, of_strains in zip(whole, (joint.stiffness, joint.damping), (K, D), strict=True):
            out[0, 0], out[1:, 1:] = of_joint[0], of_strains
        node = len(self.segments) - 1
        self.begin_block(node, [rows, *own], whole[0], whole[1], [joint.rest[0], *[0.0] * n])
        self.add_armature(np.asarray(joint.armature))
        block, column, friction = len(self.blocks) - 1, self.blocks[-1]["column"], joint.friction[0]
        drive = division.straightening_energy if joint.is_sheathed else 0.0
        self.laws.append((LENGTH_ELASTIC, block, len(self.law_values), column, 0, -1))
        self.law_values += [L, drive, *K.ravel()]
        if np.any(D) or friction != 0.0:
            X, w, is_gauss = division.gauss_points()
            X, w = X[is_gauss], w[is_gauss]
            P, rate = division.basis(X), joint.material_rate(X / L) * L
            G = rate[:, None, None] * division.basis_slope(X) - P
            damping = w[:, None] * division.line_damping(X)
            mixed, own_part = (np.einsum("kir,kr,kjr->ij", A, damping, G) for A in (P, G))
            self.laws.append((LENGTH_DAMPING, block, len(self.law_values), column, 0, -1))
            self.law_values += [L, friction, joint.creep[0], *D.ravel(), *mixed.ravel(), *own_part.ravel()]
        if (stop := joint.limits[0]) is not None:
            self.laws.append((STOP, block, len(self.law_values), column, 0, -1))
            self.law_values += [stop.low, stop.high, stop.stiffness, ONSET["length"]]

    def add_flow(self, node: int, joint: Joint, piece: Piece, X: float) -> None:
        """Material flows through a node with mass at X of a rod whose length is a coordinate."""
        division, at = piece.division, np.array([X])
        P, slope = piece.block_basis(at)[0], division.basis_slope(at)[0]
        values = [
            [division.length], joint.material_rate(at / division.length),
            division.reference.values(at, division.length)[0], P.ravel(), np.zeros(6), slope.ravel(),
        ]  # fmt: skip
        self.segments[node]["rigid"] = FLOWING
        self.flow_nodes.append((node, self._flow_size))
        self.flow.append(np.concatenate(values))
        self._flow_size += len(self.flow[-1])

    def arrays(self) -> tuple[Tree, Elastic]:
        kind = number_type()

        def flat(parts: list[Array]) -> Array:
            return np.concatenate([np.zeros(0, dtype=kind), *parts])

        for block in self.blocks:
            block["armature"] += self._strain_size if block["armature"] >= 0 else 0
        tree = Tree(
            segment=table(SEGMENT, self.segments),
            block=table(BLOCK, self.blocks),
            rows=np.array(self.rows, dtype=np.int64).reshape(-1, 2),
            offset=np.array(self.offsets, dtype=kind),
            inertia=np.array(self.inertia, dtype=kind),
            strain=flat([*self.strain, np.array(self.armature, dtype=kind)]),
            local=np.array(self.local, dtype=np.int64),
            flow_node=table(FLOWING_NODE, self.flow_nodes),
            inserted=table(INSERTED_NODE, self.inserted),
            flow=flat(self.flow),
        )
        laws = Laws(table(JOINT_LAW, self.laws), np.array(self.law_values, dtype=kind))
        values = np.concatenate([np.zeros((0, 9), dtype=kind), *self.section_values])
        sections = SectionLaws(table(SECTION_LAW, self.sections), values, flat(self.section_basis))
        tubes, maxwell = tube_laws(self.tubes, self.rotors), maxwell_elements(self.relaxing)
        rest = np.array(self.rest, dtype=kind)
        return tree, Elastic(flat(self.stiffness), flat(self.damping), rest, laws, sections, tubes, maxwell)


def compile_tree(links: tuple[Link, ...], places: Iterable[tuple[str, float]] = ()) -> tuple[Tree, Elastic, Layout]:
    """Compile links, parents first, to arrays.

    Parameters
    ----------
    links : tuple of Link
        As from `ordered_links`.
    places : iterable of (link, s)
        Further places on rods that must be nodes, for loads and the like. Places of children are added here.

    Returns
    -------
    tree, elastic, layout
    """
    rods = {link.name: link.rod for link in links if link.rod is not None}
    wanted: dict[str, list[float]] = {name: [] for name in rods}
    for name, s in (*((link.parent, link.s) for link in links), *places):
        if name in rods:
            wanted[name].append(s * rods[name].length)

    builder = _Builder()
    layouts: dict[str, LinkLayout] = {}
    for link in links:
        parent = -1 if link.parent == WORLD else layouts[link.parent].node_at(link.s)
        hung_on = None if link.parent == WORLD else layouts[link.parent].link
        layouts[link.name] = builder.add_link(link, parent, pose_on_parent(link, hung_on), wanted.get(link.name, []))
    points = [layout.nodes[layout.counted] for layout in layouts.values() if layout.link.body is not None]
    tree, elastic = builder.arrays()
    all_points = np.concatenate([np.zeros(0, dtype=np.int64), *points])
    rows = [*tree.flow_node["node"].tolist(), *tree.inserted["node"].tolist()]
    material_rows = {node: len(tree.segment) + i for i, node in enumerate(rows)}
    layout = Layout(
        layouts,
        tuple(builder.names),
        tuple(builder.dimensions),
        all_points,
        tuple(builder.held),
        material_rows=material_rows,
    )
    return tree, elastic, layout


def with_added_inertia(tree: Tree, added: Mapping[int, Array]) -> Tree:
    """The tree with the inertia (6, 6) of the fluid that moves with its nodes."""
    inertia, segment = tree.inertia.copy(), tree.segment.copy()
    for node, of_fluid in added.items():
        inertia[node] += of_fluid
    segment["massless_end"][list(added)] = 0
    for node in added:
        if segment["rigid"][node] != FLOWING:
            segment["rigid"][node] = is_rigid(inertia[node])
    return tree._replace(inertia=inertia, segment=segment)
