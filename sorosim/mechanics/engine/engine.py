"""The engine: arrays of a robot and bare calls of the kernels. Nothing is checked here: see `dynamics.arguments`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sorosim.base.arrays import Array, IntArray, Mask, Records
from sorosim.base.compiled import OfFirstTypes, prepare, table
from sorosim.base.complex_step import number_type
from sorosim.base.errors import ModelError
from sorosim.mechanics.actuation.compiled import InPython, compile_rod_actuators, compile_tree_with
from sorosim.mechanics.actuation.joint_force import JointForce, compile_motors
from sorosim.mechanics.actuation.load_input import LoadInput, scaled_loads
from sorosim.mechanics.actuation.loop_force import LoopForce
from sorosim.mechanics.actuation.rotation_servos import RotationServos, add_rotation_servos
from sorosim.mechanics.actuation.servo import JointServo
from sorosim.mechanics.constraints.coupling import Coupling
from sorosim.mechanics.constraints.loop import Loop, LoopLayout, compile_loops
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.inputs import MOVING_INSERTION, has_length_inputs, insertions
from sorosim.mechanics.engine.loading import DeepContact, Loading, SlipState, StickState
from sorosim.mechanics.engine.records import Contacts
from sorosim.mechanics.kernels.evaluate import DONE, Evaluation, State, System
from sorosim.mechanics.kernels.external import ExternalForces
from sorosim.mechanics.kernels.forces import Elastic, Internal
from sorosim.mechanics.kernels.joints import MOTOR, SERVO
from sorosim.mechanics.kernels.kinematics import (
    COLUMN_RATES,
    COLUMNS,
    POSES,
    forward_sweep,
    read_jacobians,
    read_poses,
)
from sorosim.mechanics.kernels.loop_joint import OFFSET, RATIO, Loops
from sorosim.mechanics.kernels.loops import Closure, make_closure
from sorosim.mechanics.kernels.probe import PLACE, probe
from sorosim.mechanics.kernels.rod_actuators import STIFFNESS_ROW, RodActuators, tendon_lengths, tensions
from sorosim.mechanics.kernels.saddle import Saddle, make_saddle
from sorosim.mechanics.kernels.tree import Tree, Workspace, make_workspace
from sorosim.mechanics.loads.base import Load
from sorosim.mechanics.model.compile import compile_tree, segment_strains, with_added_inertia
from sorosim.mechanics.model.layout import MERGE, Layout
from sorosim.mechanics.model.link import Link

T = TypeVar("T")
# coordinates plus joints and rods from which on equations are solved along the tree, as measured (docs/decisions.md)
ON_TREE = 200
# and where distant parts are coupled, by sparse systems
ON_SPARSE = 400


class Places(NamedTuple):
    """Places on links, for `Engine.poses_at`."""

    pieces: Records  # kernels.probe.PLACE
    strain: Array


class Engine:
    """Arrays of a robot and the calls on them. Safe to share between threads: each has its own workspace."""

    def __init__(
        self, links: tuple[Link, ...], gravity: Array, actuators: Mapping[str, object], loads: Mapping[str, Load],
        constraints: Mapping[str, Loop | Coupling], like: Engine | None = None,
    ) -> None:  # fmt: skip
        loops = [one for one in constraints.values() if isinstance(one, Loop)]
        places = [place for load in loads.values() for place in load.places]
        places += [(anchor.link, anchor.s) for loop in loops for anchor in (loop.a, loop.b)]
        motors = {i: actuator for i, actuator in enumerate(actuators.values()) if isinstance(actuator, JointForce)}
        loop_motors = {i: actuator for i, actuator in enumerate(actuators.values()) if isinstance(actuator, LoopForce)}
        of_loads = {i: actuator for i, actuator in enumerate(actuators.values()) if isinstance(actuator, LoadInput)}
        in_rods = {i: a for i, a in enumerate(actuators.values()) if i not in {*motors, *loop_motors, *of_loads}}
        self.actuator_names = tuple(actuators)
        self._tree_of = number_type(), (*links, *in_rods.values()), places
        self._compiled: tuple[Tree, Elastic, Layout] = (
            like._compiled
            if like is not None and like._has_tree_of(self)
            else compile_tree_with(in_rods, self.actuator_names, links, places)
        )
        self.tree, elastic, layout = self._compiled
        joined = frozenset(frozenset((x.a.link, x.b.link)) for x in loops)
        self.layout = replace(layout, joined=joined, gravity=tuple(gravity))
        self.gravity = np.array(gravity, dtype=number_type())
        self._in_rods = in_rods
        self.rod_actuators: RodActuators
        self.actuators_in_rods: list[InPython]  # those that Python computes
        if like is not None and like._has_rod_actuators_of(self):
            arrays = (a.astype(number_type(), copy=False) if a.dtype == float else a for a in like.rod_actuators)
            self.rod_actuators, self.actuators_in_rods = RodActuators(*arrays), like.actuators_in_rods
        else:
            self.rod_actuators, self.actuators_in_rods = compile_rod_actuators(
                in_rods, self.actuator_names, len(actuators), self.layout
            )
        turning = {i: one for i, one in motors.items() if isinstance(one, JointServo) and one.follows_rotation(layout)}
        self.rod_actuators, self.rotation_servos = add_rotation_servos(
            turning, self.actuator_names, self.layout, self.rod_actuators
        )
        others = {i: motor for i, motor in motors.items() if i not in turning}
        self.elastic = elastic._replace(laws=compile_motors(others, self.actuator_names, self.layout, elastic.laws))
        in_python: list[InPython | RotationServos] = [*self.actuators_in_rods, *self.rotation_servos]
        scaled = scaled_loads(of_loads, self.actuator_names, loads, self.layout)
        self.loading = Loading(loads, self.layout, self.rod_actuators, in_python, scaled)
        # what has weight; the fluid that moves with the robot has none
        self.gravitational_inertia = self.tree.inertia
        if self.loading.added:
            self.tree = with_added_inertia(self.tree, self.loading.added)
        self.ndof = int(self.tree.rows.shape[0])
        self.n_actuators = len(actuators)
        self.none_known = np.zeros(self.ndof, dtype=np.bool_)
        self._no_closing = np.array([0.0, 0.0, -1.0])
        self._local, self._sweep = threading.local(), OfFirstTypes(forward_sweep)
        self._companions, self._prepared = dict[Any, Any](), dict[Any, Callable[..., Any]]()
        self._no_matrix, self._no_columns = np.empty((0, self.ndof)), np.empty((0, self.n_actuators))
        self.places = lru_cache(maxsize=256)(self._places)
        # last: loops closed as built need the poses of the tree
        self.loops: Loops
        self.loop_layout: LoopLayout
        self._loops_of = tuple(constraints.items()), tuple(loop_motors.items())
        if like is not None and like._compiled is self._compiled and like._loops_of == self._loops_of:
            self.loops, self.loop_layout = like.loops, like.loop_layout
        else:
            built = self._built() if constraints else np.eye(4)[None]
            self.loops, self.loop_layout = compile_loops(constraints, loop_motors, links, self.layout, self.tree, built)
        self.loading.n_loops = len(self.loops.row)
        self._sprung_loops = np.flatnonzero(self.loops.row["n_laws"])  # loops with springs, dampers or motors

    def _has_tree_of(self, other: Engine) -> bool:
        """Whether links, places on them and what runs in their rods are those of another engine."""
        (kind, parts, places), (their_kind, their_parts, their_places) = self._tree_of, other._tree_of
        alike = kind is their_kind and len(parts) == len(their_parts) and places == their_places
        return alike and all(mine is theirs for mine, theirs in zip(parts, their_parts, strict=True))

    def _has_rod_actuators_of(self, other: Engine) -> bool:
        """Whether actuators inside rods and the geometry of rods are those of another engine."""
        mine, theirs = self._in_rods, other._in_rods
        same = self.actuator_names == other.actuator_names and self.rod_actuators.value.dtype == float
        same = same and not self.rotation_servos
        same = same and mine.keys() == theirs.keys() and all(mine[i] is theirs[i] for i in mine)
        of_material = bool(np.any(self.rod_actuators.row["kind"] == STIFFNESS_ROW))
        return same and not of_material and self.layout.has_rods_of(other.layout)

    def of_thread(self, name: str, make: Callable[[], T]) -> T:
        """An object of this thread, made at its first use."""
        try:
            found: T = getattr(self._local, name)
        except AttributeError:
            found = make()
            setattr(self._local, name, found)
        return found

    @property
    def workspace(self) -> Workspace:
        """Workspace of this thread."""
        return self.of_thread("workspace", lambda: make_workspace(self.tree))

    def make_closure(self, matrices: bool = True) -> tuple[Closure, Saddle]:
        """Arrays for the loops that evaluations fill; without matrices, for those with KINEMATICS and for residuals."""
        n, m = self.ndof if matrices else 0, self.loop_layout.m
        return make_closure(len(self.loop_layout.rows), m, n), make_saddle(m, n, max(n, self.n_actuators))

    @property
    def closure(self) -> tuple[Closure, Saddle]:
        """Those of this thread."""
        return self.of_thread("closure", self.make_closure)

    @property
    def external(self) -> ExternalForces:
        """Arrays for loads that evaluations fill, of this thread."""
        return self.of_thread("external", lambda: self.loading.make_external(len(self.tree.segment), self.ndof))

    @cached_property
    def system(self) -> System:
        """The arrays that are the same in all evaluations."""
        return System(self.tree, Internal(self.elastic, self.rod_actuators), self.loops)

    @property
    def features(self) -> frozenset[str]:
        """What this robot has, by which kernels are worth compiling ahead; see `compiled.kernel_lazy`."""
        has = {
            "rod actuators": len(self.rod_actuators.row), "joint laws": len(self.elastic.laws.row),
            "section laws": len(self.elastic.sections.row), "tubes": len(self.elastic.tubes.stretch),
            "maxwell": len(self.elastic.maxwell.block), "loops": len(self.loops.row),
            "loads": bool(self.loading), "contacts": self.loading.touches, "local tangent": self.is_large,
            "couplings": len(self.loading.pairs) or self.loading.touches or len(self.loops.row),
            "sparse tangent": self.is_large and not self.has_local_tangent,
            "flow": self.flows, "spans": self.tree.block["is_local"].any(),
        }  # fmt: skip
        return frozenset(name for name, count in has.items() if count)

    def prepared(self, function: Any, arguments: tuple[object, ...]) -> Callable[..., Any]:
        """A kernel by its compiled code, looked up once: its arguments are of the same types at each call.

        It checks none, and would read an array that is not contiguous at wrong places (records check theirs when made).
        """
        assert all(x.flags.c_contiguous for x in arguments if x.__class__ is np.ndarray), function
        if function not in self._prepared:
            self._prepared[function] = prepare(function, arguments, self.features)
        return self._prepared[function]

    def _built(self) -> Array:
        """Poses (n + 1, 4, 4) of all nodes when all coordinates are zero, and of the world, -1."""
        g, _ = self.poses(np.arange(len(self.tree.segment)), self.zero_rates, self.zero_rates)
        return np.concatenate([g, np.eye(4)[None]])

    # -- kinematics ------------------------------------------------------------------------------------------------

    def _own(self, x: Array) -> Array:
        """Coordinates or rates as kernels have them; read-only ones, as of a `StepState`, are another type to numba."""
        return x if x.flags.carray and x.dtype == float else np.array(x, dtype=float)

    def sweep(self, q: Array, qd: Array, depth: int) -> bool:
        """Forward sweep of positions and rates; returns whether anything moves."""
        q, qd = self._own(q), self._own(qd)
        zero = np.zeros(self.ndof)
        return bool(self._sweep(self.tree, q, qd, zero, self.gravity, depth, self.workspace))

    def poses(self, nodes: IntArray, q: Array, qd: Array) -> tuple[Array, Array]:
        """Poses (n, 4, 4) and body twists (n, 6) of nodes."""
        self.sweep(q, qd, POSES)
        kind = self.gravity.dtype
        g, eta = np.empty((len(nodes), 4, 4), dtype=kind), np.empty((len(nodes), 6), dtype=kind)
        read_poses(nodes, self.workspace, g, eta)
        return g, eta

    @cached_property
    def armature(self) -> Array:
        """Inertias (ndof,) of rotors on coordinates."""
        return np.concatenate([
            np.zeros(block["n"]) if block["armature"] < 0 else self.tree.strain[block["armature"] :][: block["n"]]
            for block in self.tree.block
        ] or [np.zeros(0)])  # fmt: skip

    @cached_property
    def _halved(self) -> tuple[Tree, Layout]:
        """The tree with a further node in the middle of any two of a rod."""
        links = self.layout.links
        places = [(name, float(s)) for name, link in links.items() if link.pieces
                  for s in np.concatenate([link.X, 0.5 * (link.X[1:] + link.X[:-1])]) / link.X[-1]]  # fmt: skip
        tree, _, layout = compile_tree(tuple(link.link for link in links.values()), places)
        return tree, layout

    def near_sections(self, q: Array, s: tuple[float, ...], halved: bool = False) -> dict[str, tuple[Array, Array]]:
        """Of each link s (k,) of its base and of the points next to sections s, and poses (k, 4, 4) there.

        `halved`: by steps half as long (docs/theory.md, 2).
        """
        tree, layout = self._halved if halved else (self.tree, self.layout)
        at, nodes = {}, {}
        for name, link in self.layout.links.items():
            if link.pieces:
                part = link.X / link.X[-1]
                at[name] = part[np.unique(np.abs(part[:, None] - (0.0, *s)).argmin(axis=0))]
            else:  # a base and a tip at one place
                at[name] = np.array([0.0, 1.0])
            nodes[name] = [layout.links[name].node_at(x) for x in at[name]]
        flat = np.array([node for of_link in nodes.values() for node in of_link])
        g, rest = np.empty((len(flat), 4, 4)), np.zeros(self.ndof)
        workspace = make_workspace(tree) if halved else self.workspace
        self._sweep(tree, np.array(q, dtype=float), rest, rest, self.gravity, POSES, workspace)
        read_poses(flat, workspace, g, np.empty((len(flat), 6)))
        ends = np.cumsum([len(of_link) for of_link in nodes.values()])
        return {name: (at[name], poses) for name, poses in zip(at, np.split(g, ends[:-1]), strict=True)}

    def jacobians(self, nodes: IntArray, q: Array, qd: Array, rates: bool) -> tuple[Array, Array, Array, Array]:
        """Poses, body twists, body Jacobians (n, 6, ndof) and, with `rates`, their time derivatives, of nodes."""
        moving = self.sweep(q, qd, COLUMN_RATES if rates else COLUMNS)
        n = len(nodes)
        g, eta = np.empty((n, 4, 4)), np.empty((n, 6))
        J, Jd = np.zeros((n, 6, self.ndof)), np.zeros((n if rates else 0, 6, self.ndof))
        read_poses(nodes, self.workspace, g, eta)
        read_jacobians(self.tree, nodes, moving, self.workspace, J, Jd)
        return g, eta, J, Jd

    def _places(self, wanted: tuple[tuple[str, float], ...]) -> Places:
        """Places (link, s): the node before each, and the partial segment from there."""
        index = table(PLACE, [(0, -1, 0)] * len(wanted))
        partial: dict[int, tuple[Any, list[tuple[int, float, float]]]] = {}  # pieces, with rows, starts and ends
        for i, (name, s) in enumerate(wanted):
            link = self.layout.links[name]
            X = s * link.X[-1]
            k = int(np.searchsorted(link.X, X + MERGE * link.X[-1], side="right")) - 1
            k = max(k, 0)
            index["node"][i] = link.nodes[k]
            if X - link.X[k] <= MERGE * link.X[-1] or not link.pieces:
                continue
            index["segment"][i] = link.nodes[k + 1]
            piece = next(p for p in reversed(link.pieces) if p.start <= link.X[k] + MERGE * link.X[-1])
            partial.setdefault(id(piece), (piece, []))[1].append((i, link.X[k] - piece.start, X - piece.start))
        strain, size = [np.zeros(0, dtype=self.gravity.dtype)], 0
        for piece, places in partial.values():
            rows, start, end = zip(*places, strict=True)
            data = segment_strains(piece, np.array(start), np.array(end))
            index["piece"][list(rows)] = size + data.shape[1] * np.arange(len(rows))
            strain.append(data.ravel())
            size += data.size
        return Places(index, np.concatenate(strain))

    def poses_at(self, places: Places, q: Array, jacobian: bool = False) -> tuple[Array, Array]:
        """Poses (n, 4, 4) and, with `jacobian`, body Jacobians (n, 6, ndof) at places."""
        n = len(places.pieces)
        kind = self.gravity.dtype
        g, J = np.empty((n, 4, 4), dtype=kind), np.zeros((n if jacobian else 0, 6, self.ndof), dtype=kind)
        q = self._own(q)
        pieces, rest = self.tree._replace(strain=places.strain), np.zeros(self.ndof)
        arguments = self.tree, pieces, places.pieces, jacobian, q, rest, self.gravity, self.workspace, g, J
        self.prepared(probe, arguments)(*arguments)
        return g, J

    @property
    def zero_rates(self) -> Array:
        """Rates of a robot at rest, as a fresh array."""
        return np.zeros(self.ndof)

    # -- dynamics --------------------------------------------------------------------------------------------------

    def load_values(
        self, q: Array, qd: Array, u: Array, t: float, external: ExternalForces, scale: float = 1.0,
        sliding: SlipState | None = None, tangents: bool = True,
    ) -> None:  # fmt: skip
        """Wrenches and tangents of loads; contacts do not scale, and take rates from `sliding`, if there is one."""
        self.sweep(q, qd, POSES)
        self.loading.fill(external, t, self.gravity, u, self.workspace, scale, tangents)
        if sliding is not None:
            external.D[:] = 0.0
            external.coupling.rate[: external.coupling.counts["n_pairs"]] = 0.0
            self.sweep(q, sliding.rates, POSES)
        self.loading.set_stick_state(external, None if sliding is None else sliding.stuck, sliding is not None)
        self.loading.add_contacts(self.loading.packed, external, self.workspace, tangents)

    def contacts(self, q: Array, qd: Array, sliding: SlipState | None = None) -> tuple[Contacts, StickState]:
        """Contacts in a state, and how they stick; in an equilibrium friction acts by `sliding`, not by rates."""
        self.sweep(q, qd if sliding is None else sliding.rates, POSES)
        return self.loading.contacts(self.external, self.workspace, sliding), self.loading.stuck(self.external)

    def touching(self, q: Array) -> set[tuple[int, ...]]:
        """What touches, see `Loading.touching`, and coordinates (one number) beyond the stops of their joints."""
        low, high = self._stops
        beyond: set[tuple[int, ...]] = {(k,) for k in np.flatnonzero((q < low) | (q > high)).tolist()}
        if self.loading.touches:
            self.sweep(q, self.zero_rates, POSES)
            beyond |= self.loading.touching(self.external, self.workspace)
        return beyond

    @property
    def may_bounce(self) -> bool:
        """Whether there are surfaces that touch, or joints with stops."""
        return bool(self.loading.touches or np.isfinite(self._stops).any())

    @cached_property
    def _stops(self) -> Array:
        """Ends (2, ndof) of coordinates where their joints have stops; infinite where there are none."""
        stops = np.tile([[-np.inf], [np.inf]], self.ndof)
        for link in self.layout.links.values():
            for k, limit in enumerate(link.link.joint.limits[: link.n_joint]):
                if limit is not None:
                    stops[:, link.column + k] = np.real(limit.low), np.real(limit.high)
        return stops

    def deepest_contact(self, q: Array) -> DeepContact | None:
        """The contact whose penetration is the largest part of its rounding; None where nothing touches."""
        self.sweep(q, self.zero_rates, POSES)
        return self.loading.deepest(self.external, self.workspace)

    def contact_gaps(self, q: Array, reach: float) -> dict[str, float]:
        """Smallest gap of each contact by name, up to `reach`; negative where surfaces touch."""
        self.sweep(q, self.zero_rates, POSES)
        return self.loading.nearest(self.external, self.workspace, reach)

    def contact_clearance(self, q: Array, reach: float, loads: Container[str]) -> tuple[float, float]:
        """Smallest gap of some loads up to `reach` [m], and how far middles of surfaces are passed: `inside`."""
        gaps = self.contact_gaps(q, reach)
        gap = min(gap for name, gap in gaps.items() if name in loads)
        return min(gap, reach), self.loading.inside(self.external)

    def evaluate(
        self, what: task.Task, q: Array, qd: Array, qdd: Array, u: Array, t: float = 0.0, scale: float = 1.0,
        known: Mask | None = None, tau: Array | None = None, multiplier: Array | None = None,
        closing: Array | None = None, sliding: SlipState | None = None,
    ) -> Evaluation:  # fmt: skip
        """Work out one task; `scale` multiplies gravity and loads, for load continuation.

        `known` (ndof,): coordinates whose acceleration forward and hybrid dynamics take from qdd; default: none. `tau`
        (ndof,): forces of hybrid dynamics. `multiplier` (m,): of loops, in residuals; default: zero. `closing` (3,):
        Baumgarte stabilisation of loops that drift, in forward dynamics; default: none. `sliding`: see `load_values`.

        Raises ModelError naming the coordinate when forward dynamics meets a singular mass matrix.
        """
        known = self.none_known if known is None else known
        if len(self.insertions):
            self.check_insertions(qd, qdd, known if what.free else None)
        n, m = self.ndof, self.n_actuators
        # what `entry` relies on; so the records below are made without their check, 2 us of some 12
        q, qd = np.ascontiguousarray(q, dtype=float), np.ascontiguousarray(qd, dtype=float)
        qdd, u = np.ascontiguousarray(qdd, dtype=float), np.ascontiguousarray(u, dtype=float)
        closure, saddle = self.closure
        if self.loop_layout.rows:
            closure = closure.with_own_results()
            if multiplier is not None:
                closure.multiplier[:] = multiplier
        by_q, by_qd, B = self._no_matrix, self._no_matrix, self._no_columns
        if what.derivatives:
            by_q, by_qd, B = np.empty((n, n)), np.empty((n, n)), np.empty((n, m))
        mass = np.empty((n, n)) if what.mass else self._no_matrix
        out = tuple.__new__(Evaluation, (np.empty(n), mass, by_q, by_qd, B, qdd, closure, saddle))
        if tau is not None:
            out.tau[:] = tau
        external = self.external
        gravity = self.gravity if scale == 1.0 else scale * self.gravity
        if what.loaded and self.loading:
            self.load_values(q, qd, u, t, external, scale, sliding, what.tangents)
        if self.loading.actuators:
            self.loading.actuate(external, self.tree, q, qd, u, self.actuator_names, what.tangents)
        closing = self._no_closing if closing is None else closing
        state = tuple.__new__(State, (q, qd, u, gravity, known, closing))
        arguments = self.system, state, *what.arguments, external, self.workspace, out
        failed = self.prepared(what.entry, arguments)(*arguments)
        if what.free and failed != DONE:
            raise self.singular_mass_error(failed, q)
        return out

    def singular_mass_error(self, coordinate: int, q: Array | None = None) -> ModelError:
        """The mass matrix is singular, and this coordinate is one of those that make it so."""
        name = "" if q is None else self.layout.fully_retracted(q)
        if name:
            hint = "end the motion before, or give its joint limits"
            return ModelError(name, "a rod that has a length left", "one that its joint has drawn back wholly", hint)
        return ModelError(self.layout.coordinate_names[coordinate], "a coordinate that moves mass",
                          "none that others do not move as well",
                          "give the links that it moves mass, its joint armature, the rod fewer or orthogonal strain "
                          "functions (basis legendre), or check that the state is finite")  # fmt: skip

    @cached_property
    def insertions(self) -> IntArray:
        """Coordinates by which concentric tubes are inserted."""
        return insertions(self.layout)

    def check_insertions(self, qd: Array, qdd: Array, known: Mask | None = None) -> None:
        """Refuse motions in which tubes are inserted (ModelError); known: whose acceleration is prescribed, if any."""
        own = self.insertions
        moving = np.zeros(len(own), dtype=bool) if known is None else ~known[own]
        if (moving := moving | (qd[own] != 0.0) | (qdd[own] != 0.0)).any():
            name = self.layout.coordinate_names[own[moving.argmax()]]
            raise ModelError(name, *MOVING_INSERTION)

    def loop_wrench(self, loop: int, q: Array, qd: Array, u: Array, multiplier: Array) -> Array:
        """Wrench (6,) of a loop on its frame A, in frame B."""
        closure = self.evaluate(task.ERRORS, q, qd, self.zero_rates, u, multiplier=multiplier).closure
        return np.array(closure.wrench[loop])

    def coupling_numbers(self, name: str) -> tuple[float, float]:
        """Ratio and offset of a coupling [SI]."""
        value = self.loops.value[list(self.loop_layout.rows).index(name)]
        return float(value[RATIO].real), float(value[OFFSET].real)

    def joint_reactions(
        self, q: Array, qd: Array, qdd: Array, u: Array, t: float, multiplier: Array, sliding: SlipState | None = None
    ) -> tuple[Array, Array]:
        """Poses (n, 4, 3) of all nodes, and the wrenches (n, 6) transmitted to each node and its subtree.

        World frame: inertia less gravity, loads and loops, as the backward sweep sums them.
        """
        self.evaluate(task.RESIDUAL, q, qd, qdd, u, t, multiplier=multiplier, sliding=sliding)
        return self.workspace.pose.copy(), self.workspace.twist[:, 2].copy()

    def internal(self, q: Array, qd: Array, u: Array, derivatives: bool = False) -> Evaluation:
        """Internal forces, those of springs, dampers and motors in loops included; by request their derivatives."""
        zero = self.zero_rates
        if not len(self._sprung_loops):
            return self.evaluate(task.INTERNAL_DERIVATIVES if derivatives else task.INTERNAL, q, qd, zero, u)
        # the residual less inverse dynamics: both run the sweeps that forces of loops need
        residual = self.evaluate(task.RESIDUAL_DERIVATIVES if derivatives else task.RESIDUAL, q, qd, zero, u)
        tree = self.evaluate(task.INVERSE_DERIVATIVES if derivatives else task.INVERSE, q, qd, zero, u)
        if derivatives:
            residual.B[:, list(self.loading.inputs.values())] = 0.0  # of loads, which are external
        return residual._replace(
            tau=tree.tau - residual.tau, by_q=tree.by_q - residual.by_q, by_qd=tree.by_qd - residual.by_qd
        )

    def gaps(self, q: Array) -> dict[str, tuple[float, float]]:
        """Distance [m] and angle [rad] by which each loop or coupling is open."""
        if not self.loop_layout.rows:
            return {}
        zero = self.zero_rates
        error = self.evaluate(task.ERRORS, q, zero, zero, np.zeros(self.n_actuators)).closure.error
        turns = self.loop_layout.turns
        return {
            name: tuple(float(np.linalg.norm(error[rows][turns[rows] == turn])) for turn in (False, True))  # type: ignore[misc]
            for name, rows in self.loop_layout.rows.items()
        }

    @cached_property
    def unactuated(self) -> Engine:
        """The same without its actuators."""
        laws = self.elastic.laws
        row = np.ascontiguousarray(laws.row[(laws.row["law"] != MOTOR) & (laws.row["law"] != SERVO)])
        elastic = self.elastic._replace(laws=laws._replace(row=row))
        return self.replace(elastic=elastic, rod_actuators=self.rod_actuators._replace(row=self.rod_actuators.row[:0]))

    @cached_property
    def unloaded(self) -> Engine:
        """The same without loads."""
        return self.replace(loading=Loading({}, self.layout, self.rod_actuators, []), _local=threading.local())

    @cached_property
    def inertial(self) -> Engine:
        """The same without gravity and loads: its inverse dynamics at rest is M qdd, and nothing is taken from that."""
        return self.unloaded.replace(gravity=np.zeros(3), _local=threading.local())

    def replace(self, **parts: Any) -> Engine:
        """The same with other arrays."""
        out = copy(self)
        for name, array in parts.items():
            setattr(out, name, array)
        out._companions = {}
        for name in ("system", "armature"):  # cached properties, of the arrays before
            vars(out).pop(name, None)
        return out

    def companion(self, kind: Callable[[Engine], T]) -> T:
        """The object of a kind that goes with these arrays, such as `Articulation`; made at the first call."""
        if kind not in self._companions:
            self._companions[kind] = kind(self)
        found: T = self._companions[kind]
        return found

    @cached_property
    def has_length_inputs(self) -> bool:
        """Whether the input of any tendon is a length."""
        return has_length_inputs(self.rod_actuators)

    @cached_property
    def has_local_tangent(self) -> bool:
        """Whether the linearised equations couple joints and rods along the tree only (docs/theory.md, 17)."""
        couples = len(self.loops.row), self.loading.touches, len(self.loading.pairs), len(self.rod_actuators.capstan)
        return not (any(couples) or self.has_length_inputs or self.adds_inertia or self.turns_forces)

    @property
    def turns_forces(self) -> bool:
        """Whether a motor or unequal dampers act along translations that turn with the rotation of the same joint."""
        return bool((self.elastic.laws.row["turned"] >= 0).any())

    @property
    def flows(self) -> bool:
        """Whether material flows through nodes of rods, whose length is a coordinate (docs/theory.md, 19)."""
        return bool(len(self.tree.flow_node))

    @property
    def adds_inertia(self) -> bool:
        """Whether terms are added after the sweeps, which articulated bodies, products and tangents do not know."""
        return self.flows or bool(len(self.tree.inserted))

    @property
    def solves_along_tree(self) -> bool:
        """Whether implicit steps and statics solve block by block, without matrices."""
        return self.has_local_tangent and self.ndof + self.n_blocks >= ON_TREE

    @property
    def is_large(self) -> bool:
        """Whether implicit steps and statics solve along the tree, or sparse systems of what couples its parts."""
        refused = len(self.rod_actuators.capstan) or self.adds_inertia or self.turns_forces
        return self.solves_along_tree or (self.ndof + self.n_blocks >= ON_SPARSE and not refused)

    @cached_property
    def n_blocks(self) -> int:
        """Number of joints and rods that have coordinates."""
        return int(np.count_nonzero(self.tree.block["n"]))

    def load_wrenches(
        self, name: str, t: float, q: Array, qd: Array, u: Array, sliding: SlipState | None = None
    ) -> Array:
        """Wrenches (n, 6) of a load under inputs u on its nodes, see `Loading.nodes_of`, in their own frames."""
        nodes = self.loading.nodes_of(name)
        if name not in self.loading.compiled or not self.loading.compiled[name].contacts:
            sliding = None
        g = self.poses(nodes, q, qd if sliding is None else sliding.rates)[0]
        external = self.loading.load_external(name, self.ndof, t, self.gravity, u, self.workspace, sliding=sliding)
        w = self.loading.on_nodes(external.wrench)[nodes]
        moment = w[:, :3] - np.cross(g[:, :3, 3], w[:, 3:])
        return np.concatenate([np.einsum("nji,nj->ni", g[:, :3, :3], x) for x in (moment, w[:, 3:])], axis=1)

    def tendon_lengths(self, q: Array) -> Array:
        """Length of each tendon and chamber inside its rods [m], whose gradient is minus the force at unit tension."""
        lengths = np.zeros(self.n_actuators)
        tendon_lengths(self.tree, self.rod_actuators, q, self.workspace.scratch, lengths)
        return lengths

    def tensions(self, q: Array, u: Array) -> Array:
        """Tension of each tendon at its proximal end [N]; of other actuators in rods their input."""
        room = self.external.actuators
        # kernels are compiled for writable arrays only
        tensions(self.tree, self.rod_actuators, np.array(q), np.array(u), self.workspace.scratch, room)
        return np.array(room.tension[0])
