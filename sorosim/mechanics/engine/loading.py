"""Loads bound to the nodes of one robot, and its actuators that Python computes."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array, IntArray, Records
from sorosim.base.compiled import OfFirstTypes, table
from sorosim.base.errors import ModelError
from sorosim.base.signals.evaluation import signal_workspace
from sorosim.mechanics.actuation.compiled import InPython
from sorosim.mechanics.actuation.rotation_servos import RotationServos
from sorosim.mechanics.engine.inputs import Motion
from sorosim.mechanics.engine.records import Contacts
from sorosim.mechanics.kernels import surfaces as sf
from sorosim.mechanics.kernels.contacts import add_contacts
from sorosim.mechanics.kernels.convex import N_SHAPE
from sorosim.mechanics.kernels.couplings import make_coupling
from sorosim.mechanics.kernels.external import (
    ExternalForces,
    add_loads_at,
    clear_external,
    make_external,
    relative_kinematics,
)
from sorosim.mechanics.kernels.load_laws import WEIGHTLESS, LoadLaws, add_load_laws
from sorosim.mechanics.kernels.rod_actuators import RodActuators, make_actuator_workspace
from sorosim.mechanics.kernels.solids import BOWL, BOX, CONVEX, CYLINDER, HALF_SPACE, HEIGHT_FIELD, HOLE, POLYHEDRON
from sorosim.mechanics.kernels.surfaces import make_contact_workspace
from sorosim.mechanics.kernels.tree import MATERIAL_TWIST, Tree, Workspace
from sorosim.mechanics.loads.base import BoundLoad, Load, bind_checked, evaluate_checked
from sorosim.mechanics.loads.compiled import CompiledLaw, LawRow, compile_load_laws, compiled_law
from sorosim.mechanics.loads.contact_law import stored_energy
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.link import WORLD

# capacity for contacts
FEWEST_CONTACTS, CONTACTS_EACH = 32, 4
# friction is full, but for a two-hundredth, at this many times the slip speed
FULL_FRICTION = 10.0
# solids that are seen from one side, and where among the values of others the rounding of their edges is
ONE_SIDED = HALF_SPACE, HOLE, BOWL, HEIGHT_FIELD
AT_ROUNDING = {BOX: 3, CYLINDER: 2, POLYHEDRON: 1, CONVEX: N_SHAPE}


class Points(NamedTuple):
    """The points of a load that Python computes."""

    frames: Array  # (n, 4, 3) on their nodes
    others: IntArray  # (n,) nodes of the reference bodies, -1 and -2 the world
    other_frames: Array  # (n, 4, 3)
    pairs: IntArray  # (n,)
    names: tuple[str, ...]  # for messages


class RelativeKinematics(NamedTuple):
    """Poses and twists of the n points of a load that Python computes, relative to its reference bodies."""

    g: Array  # (n, 4, 4) poses relative to the bodies that the load names
    eta: Array  # (n, 6) twists relative to them, in the axes of the points
    g_w: Array  # (n, 4, 3) poses in the world, rotation and position
    V: Array  # (n, 6) world twists of the nodes of the points
    V_other: Array  # (n, 6) and of the nodes of the reference bodies


class DeepContact(NamedTuple):
    """A contact, and how deep surfaces may enter each other before the nearest way out may change sides."""

    a: str  # what touches
    b: str  # what it touches
    depth: float  # [m]
    rounding: float  # [m]


class StickState(NamedTuple):
    """Contacts that stick, and the slip that their friction resists."""

    pair: IntArray  # (n, 3) group, core and what it touches
    slip: Array  # (n, 3) velocity of sliding that their friction resists [m/s]


class SlipState(NamedTuple):
    """Rates by which friction of statics acts, in the place of those of the motion."""

    rates: Array  # (ndof,)
    stuck: StickState | None = None  # and how they stuck before


class Packed(NamedTuple):
    """Compiled laws with their signals."""

    laws: LoadLaws
    signals: Motion
    pairs: IntArray  # (n, 2)
    inputs: Records  # (n,) kernels.external.INPUT_ROW


def pack(laws: Sequence[CompiledLaw], layout: Layout) -> Packed:
    """Compile laws."""
    packed, signals, pairs, inputs = compile_load_laws(laws, layout.material_rows)
    return Packed(packed, Motion(signals), np.array(pairs, dtype=np.int64).reshape(-1, 2), inputs)


class Loading:
    """Loads of a robot, bound to its nodes; and its actuators that Python computes."""

    def __init__(
        self, loads: Mapping[str, Load], layout: Layout, rod_actuators: RodActuators,
        actuators: Sequence[InPython | RotationServos], inputs: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.layout, self.actuators = layout, actuators
        self.inputs = dict(inputs or {})  # actuators by the loads that they scale
        self.n_loops = 0  # of the robot, set once they are known
        self.loads = {name: bind_checked(name, load, layout) for name, load in loads.items()}
        laws = ((name, compiled_law(load)) for name, load in self.loads.items())
        self.compiled = {name: replace(law, input=self.inputs.get(name, -1)) for name, law in laws if law is not None}
        self.others: dict[str, Any] = {name: load for name, load in self.loads.items() if name not in self.compiled}
        self._local = threading.local()
        self._apart: dict[tuple[str, bool], Packed] = {}  # laws of single loads, or of what of them is lost
        self.added = self._added()
        weightless = CompiledLaw(
            [LawRow(WEIGHTLESS, node, inertia[:, 3:].ravel(), per_length=True) for node, inertia in self.added.items()]
        )
        self.packed = pack([*self.compiled.values(), weightless], layout)
        pairs = [tuple(pair) for pair in self.packed.pairs.tolist()]
        self.points = {name: self._points(load, pairs) for name, load in self.others.items()}
        self.pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self.rod_actuators = rod_actuators
        self._clear, self._add_laws = OfFirstTypes(clear_external), OfFirstTypes(add_load_laws)
        self.depth = 4 + max(
            signal_workspace(self.packed.laws.media.fields).shape[0],
            signal_workspace(self.packed.signals.arrays).shape[0],
        )

    def __bool__(self) -> bool:
        return bool(self.loads)

    @property
    def touches(self) -> bool:
        """Whether there are contacts."""
        return bool(len(self.packed.laws.surfaces.group))

    def stores(self, name: str) -> bool:
        """Whether what a load does not lose is energy of the robot (contacts)."""
        return name in self.compiled and bool(self.compiled[name].contacts)

    def _added(self) -> dict[int, Array]:
        """Inertia without weight (6, 6) that loads add to nodes."""
        found: dict[int, Array] = {}
        for load in self.loads.values():
            added = getattr(load, "added_inertia", None)
            for node, inertia in zip(load.nodes, [] if added is None else added, strict=False):
                if np.any(inertia):
                    found[int(node)] = found.get(int(node), np.zeros((6, 6))) + inertia
        return found

    def _points(self, load: BoundLoad, pairs: list[tuple[int, ...]]) -> Points:
        n, eye = len(load.nodes), np.tile(np.eye(4), (len(load.nodes), 1, 1))
        reference_nodes = getattr(load, "others", None)
        others = np.full(n, -2) if reference_nodes is None else np.asarray(reference_nodes)
        frames = [getattr(load, name, None) for name in ("frames", "other_frames")]
        own, theirs = (_rows(eye if given is None else np.asarray(given, dtype=float)) for given in frames)
        numbers = np.full(n, -1)
        for i, (node, other) in enumerate(zip(load.nodes, others, strict=True)):
            if other >= 0:
                numbers[i] = len(pairs)
                pairs.append((int(node), int(other)))
        return Points(own, others, theirs, numbers, tuple(self.layout.place_of(int(node)) for node in load.nodes))

    # -- evaluation ------------------------------------------------------------------------------------------------

    def make_external(self, n_nodes: int, ndof: int, packed: Packed | None = None) -> ExternalForces:
        """Room for what acts on a robot of so many nodes, or for those laws of it that are packed apart."""
        n_rows = sum(len(actuator.rows) for actuator in self.actuators)
        between = self.pairs if packed is None else packed.pairs
        packed = self.packed if packed is None else packed
        surfaces = packed.laws.surfaces
        elements = len(surfaces.core) + len(surfaces.solid)
        contact = make_contact_workspace(surfaces, FEWEST_CONTACTS + CONTACTS_EACH * elements)
        coupling = make_coupling(between, len(contact.entry), self.n_loops, ndof)
        n = n_nodes + len(self.layout.material_rows) if self.loads else 0
        return make_external(n, coupling, n_rows, make_actuator_workspace(self.rod_actuators), contact, packed.inputs)

    def fill(
        self, external: ExternalForces, t: float, gravity: Array, u: Array, ws: Workspace, scale: float = 1.0,
        tangents: bool = True,
    ) -> None:  # fmt: skip
        """All loads but contacts under inputs u (n_actuators,), after a sweep of poses, multiplied by `scale`."""
        self._clear(external)
        self.add_packed(self.packed, external, t, gravity, u, ws)
        for name in self.others:
            self.add_python_load(name, external, t, ws, tangents)
        if scale != 1.0:
            n_pairs, coupling = external.coupling.counts["n_pairs"], external.coupling
            between = coupling.right[:n_pairs], coupling.rate[:n_pairs]
            for part in (external.wrench, external.K, external.D, external.input_wrench, *between):
                part *= scale

    def add_contacts(self, packed: Packed, external: ExternalForces, ws: Workspace, tangents: bool = True) -> None:
        """Contacts, after a sweep of poses."""
        if len(packed.laws.surfaces.group):
            external.contact.counts["no_tangents"] = not tangents
            add_contacts(packed.laws.surfaces, ws, external)
            if external.contact.counts["overflow"]:
                hint = "look for surfaces that lie inside each other, or for a state that is absurd"
                if external.contact.reach[0] > 0.0:
                    hint = "ask for a smaller reach"
                most = f"{len(external.contact.entry)} contacts and {len(external.contact.pair)} pairs nearby"
                raise ModelError("loads", f"at most {most}", "more", hint)

    def add_packed(
        self, packed: Packed, external: ExternalForces, t: float, gravity: Array, u: Array, ws: Workspace
    ) -> None:
        """Compiled laws."""
        if len(packed.laws.row):
            stack = np.zeros((self.depth, 3))
            inputs = np.array(u, dtype=float)  # kernels are compiled for writable arrays only
            self._add_laws(packed.laws, float(t), packed.signals.jets(t), gravity, inputs, ws, stack, external)

    def add_python_load(
        self, name: str, external: ExternalForces, t: float, ws: Workspace, tangents: bool = True
    ) -> None:
        """A load that Python computes."""
        load, points, relative = self.others[name], self.points[name], self.relative_kinematics_of(name, ws)
        f, K, D = evaluate_checked(name, load, points.names, t, relative.g, relative.eta, tangents)
        add_loads_at(
            load.nodes, points.others, points.pairs, relative.g_w, relative.V, relative.V_other, f, K, D, external
        )

    def relative_kinematics_of(self, name: str, ws: Workspace) -> RelativeKinematics:
        """Kinematics for a load that Python computes, after a sweep of poses."""
        points, nodes = self.points[name], self.others[name].nodes
        n = len(nodes)
        relative = RelativeKinematics(
            np.empty((n, 4, 4)), np.empty((n, 6)), np.empty((n, 4, 3)), np.empty((n, 6)), np.empty((n, 6))
        )
        relative_kinematics(
            nodes, points.frames, points.others, points.other_frames, ws, relative.g_w, relative.V, relative.V_other,
            relative.g, relative.eta,
        )  # fmt: skip
        return relative

    def actuate(
        self, external: ExternalForces, tree: Tree, q: Array, qd: Array, u: Array, names: Sequence[str],
        tangents: bool = True,
    ) -> None:  # fmt: skip
        """Actuators that Python computes."""
        for actuator in self.actuators:
            found = actuator.evaluate(tree, self.rod_actuators, q, qd, u, names, tangents)
            for mine, theirs in zip(
                (external.section, external.section_K, external.section_D, external.section_B), found, strict=True
            ):
                mine[actuator.given] = theirs

    def twists(self, ws: Workspace) -> Array:
        """World twists (n, 6) along which the rows of `ExternalForces.wrench` act, after a sweep with rates."""
        twists, flowing = ws.twist[:-1, 0], list(self.layout.material_rows)
        return np.concatenate([twists, ws.twist[flowing, MATERIAL_TWIST]]) if flowing else twists

    def on_nodes(self, wrench: Array) -> Array:
        """Wrenches (n_nodes, 6) on nodes and on what flows through them, from rows of `ExternalForces.wrench`."""
        n = len(wrench) - len(self.layout.material_rows)
        out = wrench[:n].copy()
        out[list(self.layout.material_rows)] += wrench[n:]
        return out

    def nodes_of(self, name: str) -> IntArray:
        """Nodes on which a load acts, each once, those of both bodies of a pair."""
        nodes = list(self.loads[name].nodes)
        if name in self.others:
            nodes += [other for other in self.points[name].others if other >= 0]
        return np.array(list(dict.fromkeys(nodes)), dtype=np.int64)

    def contacts(self, external: ExternalForces, ws: Workspace, sliding: SlipState | None = None) -> Contacts:
        """Contacts after a sweep of poses, ordered by groups and surfaces; with `sliding`, of its rates."""
        entry, value = self._touching(external, ws, sliding)
        order = np.lexsort((entry["other"], entry["core"], entry["group"]))
        entry, value = entry[order], value[order].copy()
        cores, parts = self._surface_names
        return Contacts(
            np.array([self._groups[k] for k in entry["group"]], dtype=str),
            np.array([cores[k] for k in entry["core"]], dtype=str),
            np.array([cores[k] if k >= 0 else parts[-1 - k] for k in entry["other"]], dtype=str),
            value["point"], value["normal"], value["distance"],
            value["force"], value["slip"], value["pressure"],
        )  # fmt: skip

    def _touching(self, external: ExternalForces, ws: Workspace, sliding: SlipState | None) -> tuple[Records, Records]:
        """Entries (n,) and values (n,) of the contacts after a sweep of poses: views of the workspace."""
        clear_external(external)
        self.set_stick_state(external, None if sliding is None else sliding.stuck, sliding is not None)
        self.add_contacts(self.packed, external, ws, tangents=False)
        self.set_stick_state(external, None)
        n = int(external.contact.counts["active"])
        return external.contact.entry[:n], external.contact.value[:n]

    def touching(self, external: ExternalForces, ws: Workspace) -> set[tuple[int, ...]]:
        """Numbers of contact, surface and other surface (below zero: part) of what touches, after a sweep of poses."""
        entry, surface = self._touching(external, ws, None)[0], self.packed.laws.surfaces.core["surface"]
        other = entry["other"]
        others = np.where(other >= 0, surface[other], other)
        return set(zip(entry["group"].tolist(), surface[entry["core"]].tolist(), others.tolist(), strict=True))

    def slip_speeds(self, groups: Sequence[str]) -> tuple[Array, Array]:
        """Speed at which friction is 0.7 of its limit [m/s], and Coulomb's coefficient, of contacts by their loads."""
        law = self.packed.laws.surfaces.law[[self._groups.index(name) for name in groups]]
        return law["slip"], law["friction"]

    def deepest(self, external: ExternalForces, ws: Workspace) -> DeepContact | None:
        """The contact whose penetration is the largest part of its rounding, after a sweep of poses."""
        entry, value = self._touching(external, ws, None)
        if not len(entry):
            return None
        core_rounding, solid_rounding, thickness = self._roundings
        core, other, solids = entry["core"], entry["other"], self.packed.laws.surfaces.solid
        rounding = core_rounding[core] + np.where(other >= 0, core_rounding[np.maximum(other, 0)], 0.0)
        on_solid = np.flatnonzero(other < 0)
        if len(on_solid):
            solid = -1 - other[on_solid]
            # what is seen from one side only has one way out: there it matters where the other is below it as a whole
            one_sided = np.isin(solids["kind"][solid], ONE_SIDED)
            rounded, own = rounding[on_solid] + solid_rounding[solid], thickness[core[on_solid]]
            form = self.packed.laws.surfaces.core["form"][core[on_solid]]
            # the way out of a flat end or a smooth body turns at once at edges of meshes, where a smooth solid is more
            # bent than that, and in the middle of what it is in; beyond it is less deep again, so half of it counts
            is_end = (form == sf.DISC) | (form == sf.CONVEX)
            sharp = np.isin(solids["kind"][solid], (POLYHEDRON, CONVEX))
            turns = np.where(sharp, solid_rounding[solid], 0.5 * self._middles[solid])
            rounding[on_solid] = np.where(one_sided, own, np.where(is_end, np.minimum(own, turns), rounded))
        worst = int(np.argmax(-value["distance"] / rounding))
        cores, parts = self._surface_names
        b = int(other[worst])
        names = cores[core[worst]], cores[b] if b >= 0 else parts[-1 - b]
        return DeepContact(*names, float(-value["distance"][worst]), float(rounding[worst]))

    @cached_property
    def _roundings(self) -> tuple[Array, Array, Array]:
        """Radii of cores and of the edges of solids, and half of the thickness of the surface of each core [m]."""
        surfaces = self.packed.laws.surfaces
        thick = [skin.thickness for law in self.compiled.values() for group in law.contacts for skin in group.skins]
        thickness = np.array(thick)[surfaces.core["surface"]]
        at, form = surfaces.core["at"], surfaces.core["form"]
        first = surfaces.value[at + sf.RADIUS_0]
        last = surfaces.value[at + np.where(form == sf.SEGMENT, sf.RADIUS_1, sf.RADIUS_0)]
        flat = (form == sf.CONVEX) | (form == sf.DISC)
        radius = np.where(flat, thickness, np.maximum(first, last))
        places = [(row.at, AT_ROUNDING.get(int(row.kind))) for row in surfaces.solid]
        of_edges = [0.0 if column is None else surfaces.value[start + column] for start, column in places]
        return radius, np.array(of_edges), thickness

    @cached_property
    def _middles(self) -> Array:
        """How deep the middle of each solid is [m]: half of the thickness of its surface, or of the end of a rod."""
        surfaces = self.packed.laws.surfaces
        at, is_end = surfaces.solid["at"], surfaces.solid["of_rod"] != 0
        out = self._half_thicknesses[1].copy()
        radius, half, rounding = (surfaces.value[at[is_end] + column] for column in range(3))
        out[is_end] = np.minimum(radius, half) + rounding
        return out

    def set_stick_state(self, external: ExternalForces, stuck: StickState | None, at_rest: bool = False) -> None:
        """Set which contacts stuck before; None: none did. `at_rest`: their rates are those of statics."""
        contact, n = external.contact, 0 if stuck is None else min(len(stuck.pair), len(external.contact.stuck))
        contact.counts["n_stuck"], contact.counts["at_rest"] = n, at_rest
        if stuck is not None:
            contact.stuck[:n], contact.stuck_slip[:n] = table(sf.PAIR, stuck.pair[:n]), stuck.slip[:n]

    def stuck(self, external: ExternalForces) -> StickState:
        """How the contacts that were found last stick; those that slide a few times their slip speed, no more."""
        contact, surfaces = external.contact, self.packed.laws.surfaces
        n = int(contact.counts["active"])
        slip, law = contact.value["slip"][:n].copy(), surfaces.law[contact.entry["group"][:n]]
        speed = np.linalg.norm(slip, axis=1)
        most = FULL_FRICTION * law["slip"]
        slip *= np.minimum(1.0, most / np.maximum(speed, 1e-300))[:, None]
        return StickState(np.stack([contact.entry[name][:n] for name in sf.PAIR.names], axis=-1), slip)

    def contact_energy(self, external: ExternalForces, ws: Workspace) -> float:
        """Energy that contacts store [J], after a sweep of poses."""
        if not self.touches:
            return 0.0
        clear_external(external)
        self.add_contacts(self.packed, external, ws, tangents=False)
        n = int(external.contact.counts["active"])
        law = self.packed.laws.surfaces.law[external.contact.entry["group"][:n]]
        k, p, onset = law["stiffness"], law["power"], law["onset"]
        value = external.contact.value[:n]
        return float(value["share"] @ stored_energy(k, p, onset, -value["distance"]))

    def nearest(self, external: ExternalForces, ws: Workspace, reach: float) -> dict[str, float]:
        """Smallest gap of each contact by name, up to `reach`, after a sweep of poses."""
        clear_external(external)
        external.contact.reach[0] = reach
        try:
            self.add_contacts(self.packed, external, ws, tangents=False)
        finally:
            external.contact.reach[0] = 0.0
        return dict(zip(self._groups, map(float, external.contact.nearest), strict=True))

    def inside(self, external: ExternalForces) -> float:
        """The largest penetration of the contacts that were found last, over the one at which their middles meet.

        A wall without thickness has its middle on its surface; what is seen from one side only has none.
        """
        n = int(external.contact.counts["active"])
        entry, gap = external.contact.entry[:n], external.contact.value["distance"][:n]
        of_cores, of_solids = self._half_thicknesses
        core, other = entry["core"], entry["other"]
        return float(np.max(-gap / (of_cores[core] + np.append(of_cores, of_solids[::-1])[other]), initial=0.0))

    @cached_property
    def _half_thicknesses(self) -> tuple[Array, Array]:
        """Half of the thickness of each core and of each solid [m]; infinite for those that are seen from one side."""
        surfaces = self.packed.laws.surfaces
        skins = [skin for law in self.compiled.values() for group in law.contacts for skin in group.skins]
        of_skins, is_rod = np.array([[skin.half_thickness, skin.is_rod] for skin in skins]).T
        at, own = surfaces.core["at"], surfaces.core["surface"]
        last = np.where(surfaces.core["form"] == sf.SEGMENT, sf.RADIUS_1, sf.RADIUS_0)
        radius = 0.5 * (surfaces.value[at + sf.RADIUS_0] + surfaces.value[at + last])
        return np.where(is_rod[own] > 0.0, radius, of_skins[own]), of_skins[surfaces.solid["surface"]]

    @cached_property
    def _groups(self) -> list[str]:
        """Name of the load of each group of surfaces."""
        return [name for name, law in self.compiled.items() for _ in law.contacts]

    @cached_property
    def _surface_names(self) -> tuple[list[str], list[str]]:
        """Cores and solids in words."""
        cores, parts = [], []
        for law in self.compiled.values():
            for group in law.contacts:
                for skin in group.skins:
                    link = "the world" if skin.link == WORLD else f"'{skin.link}'"
                    cores += [f"s = {core.s:.4g} of {link}" if skin.is_rod else link for core in skin.cores]
                    parts += [f"s = {part.s:.4g} of {link}" if skin.is_rod else link for part in skin.solids]
        return cores, parts

    # -- one load --------------------------------------------------------------------------------------------------

    def load_external(
        self, name: str, ndof: int, t: float, gravity: Array, u: Array, ws: Workspace, lost: bool = False,
        sliding: SlipState | None = None,
    ) -> ExternalForces:  # fmt: skip
        """Wrenches of one load, or of that part of it whose work is lost, after a sweep of poses.

        sliding : of an equilibrium, whose rates the sweep took.
        """
        if name not in self.loads:
            raise ModelError("load", "the name of a load", f"'{name}'")
        n = ws.pose.shape[0] - 1
        if name in self.compiled:
            law, key = self.compiled[name], (name, lost)
            if key not in self._apart:
                self._apart[key] = pack([law.losses if lost else law], self.layout)
            packed = self._apart[key]
            external = self._workspace_of(name, lost, n, ndof, packed)
            self.add_packed(packed, external, t, gravity, u, ws)
            self.set_stick_state(external, self._stick_state(name, sliding), sliding is not None)
            self.add_contacts(packed, external, ws)
            self.set_stick_state(external, None)
            return external
        external = self.make_external(n, ndof)
        if not lost or self.others[name].dissipates:
            self.add_python_load(name, external, t, ws, False)
        return external

    def _stick_state(self, name: str, sliding: SlipState | None) -> StickState | None:
        """How contacts of one load stuck before, by the numbers that groups, cores and solids have in it alone."""
        if sliding is None or sliding.stuck is None:
            return None
        earlier = list(self.compiled)[: list(self.compiled).index(name)]
        before = [group for other in earlier for group in self.compiled[other].contacts]
        skins = [skin for group in before for skin in group.skins]
        n_cores, n_solids = sum(len(skin.cores) for skin in skins), sum(len(skin.solids) for skin in skins)
        pair, own = sliding.stuck.pair, self.compiled[name].contacts
        mine = (pair[:, 0] >= len(before)) & (pair[:, 0] < len(before) + len(own))
        chosen = pair[mine] - np.array([len(before), n_cores, 0])
        chosen[:, 2] += np.where(chosen[:, 2] >= 0, -n_cores, n_solids)
        return StickState(chosen, sliding.stuck.slip[mine])

    def _workspace_of(self, name: str, lost: bool, n_nodes: int, ndof: int, packed: Packed) -> ExternalForces:
        """Cleared room of this thread for a load."""
        workspaces: dict[tuple[str, bool], ExternalForces] = self._local.__dict__.setdefault("workspaces", {})
        if (name, lost) not in workspaces:
            workspaces[name, lost] = self.make_external(n_nodes, ndof, packed)
        clear_external(workspaces[name, lost])
        return workspaces[name, lost]


def _rows(poses: Array) -> Array:
    """Poses (n, 4, 4) as rotation and position (n, 4, 3)."""
    return np.ascontiguousarray(np.concatenate([poses[:, :3, :3], poses[:, None, :3, 3]], axis=1))
