"""The engine: arrays of a robot and bare calls of the kernels. Nothing is checked here; robot.py is the door."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.joint_force import JointForce, compile_motors
from sorosim.actuation.loop_force import LoopForce
from sorosim.actuation.tendon import Tendon, compile_tendons
from sorosim.compiled import entry
from sorosim.constraints.loop import Loop, compile_loops
from sorosim.drive import Motion
from sorosim.errors import ModelError
from sorosim.kernels import evaluate as task
from sorosim.kernels.evaluate import evaluate
from sorosim.kernels.forces import elastic_energy, tendon_lengths
from sorosim.kernels.kinematics import (
    COLUMN_RATES,
    COLUMNS,
    POSES,
    energies,
    forward_sweep,
    read_jacobians,
    read_poses,
)
from sorosim.kernels.load_laws import add_load_laws
from sorosim.kernels.loads import add_point_loads
from sorosim.kernels.loop_joint import N_LAWS, REST, STIFFNESS
from sorosim.kernels.loops import ERROR, Closure, make_closure
from sorosim.kernels.probe import probe_places
from sorosim.kernels.saddle import Saddle, make_saddle
from sorosim.kernels.tree import Workspace, make_workspace
from sorosim.loads.base import Load, bind_checked, evaluate_checked
from sorosim.loads.compiled import compile_load_laws, compiled_law
from sorosim.model.compile import MERGE, compile_tree, segment_strain
from sorosim.model.link import Link

DERIVATIVE_TASKS = (
    task.INTERNAL_DERIVATIVES,
    task.INVERSE_DERIVATIVES,
    task.RESIDUAL_DERIVATIVES,
    task.FORWARD_DERIVATIVES,
    task.HYBRID_DERIVATIVES,
)

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Actuator = Tendon | JointForce | LoopForce


class Places(NamedTuple):
    """Places on links, ready to be looked at."""

    pieces: IntArray  # columns named in kernels.probe
    strain: Array


class Evaluation(NamedTuple):
    """What an evaluation gave; parts that its task does not fill are empty or without meaning."""

    tau: Array  # (ndof,)
    mass: Array  # (ndof, ndof)
    dq: Array  # (ndof, ndof)
    dqd: Array  # (ndof, ndof)
    B: Array  # (ndof, n_actuators)
    qdd: Array  # (ndof,)
    closure: Closure  # of the loops: multipliers (m,), values (3, m), matrices (5, m, ndof)
    regularity: Array  # (2,) rank of the constraints, and how near they are to losing it


class Engine:
    """Arrays of a robot and the calls on them. Safe to share between threads: each has its own workspace."""

    def __init__(
        self, links: tuple[Link, ...], gravity: Array, actuators: Sequence[Actuator], loads: Mapping[str, Load],
        loops: Mapping[str, Loop],
    ) -> None:  # fmt: skip
        places = [place for load in loads.values() for place in load.places]
        places += [(anchor.link, anchor.s) for loop in loops.values() for anchor in (loop.a, loop.b)]
        self.tree, elastic, self.layout = compile_tree(links, places)
        self.gravity = np.array(gravity, dtype=float)
        tendons = {i: actuator for i, actuator in enumerate(actuators) if isinstance(actuator, Tendon)}
        motors = {i: actuator for i, actuator in enumerate(actuators) if isinstance(actuator, JointForce)}
        for tendon in tendons.values():
            tendon.check(self.layout)
        self.tendons = compile_tendons(tendons, self.layout)
        self.elastic = elastic._replace(laws=compile_motors(motors, self.layout, elastic.laws))
        self.loads = {name: bind_checked(name, load, self.layout) for name, load in loads.items()}
        laws = {name: law for name, load in self.loads.items() if (law := compiled_law(load)) is not None}
        self.load_laws, varying = compile_load_laws(list(laws.values()))
        self.load_signals = Motion(varying)
        self.other_loads = {name: load for name, load in self.loads.items() if name not in laws}
        self.ndof = int(self.tree.rows.shape[0])
        self.n_actuators = len(actuators)
        self.none_known = np.zeros(self.ndof, dtype=np.bool_)
        self._no_closing = np.array([0.0, 0.0, -1.0])
        self._local = threading.local()
        self._evaluate: Callable[..., int] | None = None
        self._no_matrix, self._no_columns = np.empty((0, self.ndof)), np.empty((0, self.n_actuators))
        self._no_loads = (np.zeros((0, 6)), np.zeros((0, 6, 6)), np.zeros((0, 6, 6)))
        self.places = lru_cache(maxsize=256)(self._places)
        loop_motors = {i: actuator for i, actuator in enumerate(actuators) if isinstance(actuator, LoopForce)}
        # last: what is taken as built asks the tree
        self.loops, self.closed = compile_loops(loops, loop_motors, links, self.layout, self._built)

    @property
    def workspace(self) -> Workspace:
        """Workspace of this thread."""
        try:
            return self._local.workspace  # type: ignore[no-any-return]
        except AttributeError:
            self._local.workspace = make_workspace(self.tree)
            return self._local.workspace  # type: ignore[no-any-return]

    @property
    def closure(self) -> tuple[Closure, Saddle]:
        """What evaluations fill for the loops, of this thread."""
        try:
            return self._local.closure  # type: ignore[no-any-return]
        except AttributeError:
            m, most = self.closed.m, max(self.ndof, self.n_actuators)
            self._local.closure = make_closure(len(self.closed.rows), m, self.ndof), make_saddle(m, self.ndof, most)
            return self._local.closure  # type: ignore[no-any-return]

    def _built(self, node: int) -> Array:
        """Pose (4, 4) of a node when all coordinates are zero."""
        pose = np.eye(4)
        if node >= 0:
            pose = self.poses(np.array([node]), np.zeros(self.ndof), self.zero_rates)[0][0]
        return pose

    # -- kinematics ------------------------------------------------------------------------------------------------

    def sweep(self, q: Array, qd: Array, depth: int) -> bool:
        """Forward sweep of positions and rates; returns whether anything moves."""
        zero = np.zeros(self.ndof)
        return bool(forward_sweep(self.tree, q, qd, zero, self.gravity, depth, self.workspace))

    def poses(self, nodes: IntArray, q: Array, qd: Array) -> tuple[Array, Array]:
        """Poses (n, 4, 4) and body twists (n, 6) of nodes."""
        self.sweep(q, qd, POSES)
        g, eta = np.empty((len(nodes), 4, 4)), np.empty((len(nodes), 6))
        read_poses(nodes, self.workspace, g, eta)
        return g, eta

    def jacobians(self, nodes: IntArray, q: Array, qd: Array, rates: bool) -> tuple[Array, Array, Array, Array]:
        """Poses, body twists, body Jacobians (n, 6, ndof) and, if asked for, their time derivatives, of nodes."""
        moving = self.sweep(q, qd, COLUMN_RATES if rates else COLUMNS)
        n = len(nodes)
        g, eta = np.empty((n, 4, 4)), np.empty((n, 6))
        J, Jd = np.zeros((n, 6, self.ndof)), np.zeros((n if rates else 0, 6, self.ndof))
        read_poses(nodes, self.workspace, g, eta)
        read_jacobians(self.tree, nodes, moving, self.workspace, J, Jd)
        return g, eta, J, Jd

    def _places(self, wanted: tuple[tuple[str, float], ...]) -> Places:
        """Look places (link, s) up: the node before each, and the piece of segment from there."""
        index: list[tuple[int, int, int]] = []
        strain: list[Array] = [np.zeros(0)]
        size = 0
        for name, s in wanted:
            link = self.layout.links[name]
            X = s * link.X[-1]
            k = int(np.searchsorted(link.X, X + MERGE * link.X[-1], side="right")) - 1
            k = max(k, 0)
            node = int(link.nodes[k])
            if X - link.X[k] <= MERGE * link.X[-1] or not link.pieces:
                index.append((node, -1, 0))
                continue
            segment = int(link.nodes[k + 1])
            block = int(self.tree.segment[segment, 1])
            piece = next(p for p in link.pieces if p.block == block)
            data = segment_strain(piece.division, link.X[k] - piece.start, X - piece.start)
            index.append((node, segment, size))
            strain.append(data)
            size += len(data)
        return Places(np.array(index, dtype=np.int64).reshape(-1, 3), np.concatenate(strain))

    def look(self, places: Places, q: Array, jacobian: bool = False) -> tuple[Array, Array]:
        """Poses (n, 4, 4) and, if asked for, body Jacobians (n, 6, ndof) at places."""
        self.sweep(q, self.zero_rates, COLUMNS if jacobian else POSES)
        n = len(places.pieces)
        g, J = np.empty((n, 4, 4)), np.zeros((n if jacobian else 0, 6, self.ndof))
        probe_places(self.tree._replace(strain=places.strain), places.pieces, jacobian, q, self.workspace, g, J)
        return g, J

    @property
    def zero_rates(self) -> Array:
        """Rates of a robot at rest; a fresh array, so that kernels see one type."""
        return np.zeros(self.ndof)

    # -- dynamics --------------------------------------------------------------------------------------------------

    def load_values(self, q: Array, qd: Array, t: float) -> tuple[Array, Array, Array]:
        """Wrench and tangents of all loads at all nodes, world frame; of length 0 where there are no loads."""
        if not self.loads:
            return self._no_loads
        n = self.tree.segment.shape[0]
        wrench, K_w, D_w = np.zeros((n, 6)), np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
        self.sweep(q, qd, POSES)
        if len(self.load_laws.row):
            values = self.load_signals.jets(t)
            add_load_laws(self.load_laws, values, self.workspace, self.workspace.scratch, wrench, K_w, D_w)
        for name, load in self.other_loads.items():
            nodes = load.nodes
            g, eta = np.empty((len(nodes), 4, 4)), np.empty((len(nodes), 6))
            read_poses(nodes, self.workspace, g, eta)
            f, K, D = evaluate_checked(name, load, t, g, eta)
            add_point_loads(nodes, g, f, K, D, wrench, K_w, D_w)
        return wrench, K_w, D_w

    def evaluate(
        self, what: int, q: Array, qd: Array, qdd: Array, u: Array, t: float = 0.0, scale: float = 1.0,
        known: NDArray[np.bool_] | None = None, tau: Array | None = None, multiplier: Array | None = None,
        closing: Array | None = None,
    ) -> Evaluation:  # fmt: skip
        """One evaluation of kernels.evaluate; `scale` multiplies gravity and loads, for load continuation.

        `known` (ndof,): coordinates whose acceleration forward and hybrid dynamics take from qdd; default: none. `tau`
        (ndof,): forces of hybrid dynamics. `multiplier` (m,): of loops, in residuals; default: zero. `closing` (3,):
        how forward dynamics brings loops back that are open, see kernels.evaluate; default: not at all.

        Raises ModelError naming the coordinate when forward dynamics meets a singular mass matrix.
        """
        n, m = self.ndof, self.n_actuators
        q, qd, qdd, u = (np.ascontiguousarray(x, dtype=float) for x in (q, qd, qdd, u))  # what `entry` relies on
        closure, saddle = self.closure
        if self.closed.rows:
            matrix = np.zeros_like(closure.matrix)
            closure = closure._replace(
                multiplier=np.zeros(self.closed.m), value=np.zeros((3, self.closed.m)), matrix=matrix
            )
            if multiplier is not None:
                closure.multiplier[:] = multiplier
        if what in DERIVATIVE_TASKS:
            matrices = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, m))
        else:
            none = self._no_matrix
            matrices = np.empty((n, n)) if what >= task.MASS else none, none, none, self._no_columns
        out = Evaluation(np.empty(n), *matrices, qdd, closure, saddle.regularity)
        if tau is not None:
            out.tau[:] = tau
        gravity, loads = self.gravity, self._no_loads
        if what >= task.INVERSE and self.loads:
            loads = self.load_values(q, qd, t)
        if scale != 1.0:
            gravity, loads = scale * gravity, tuple(scale * x for x in loads)  # type: ignore[assignment]
        arguments = (
            self.tree, self.elastic, self.tendons, self.loops, what, self.none_known if known is None else known,
            q, qd, qdd, u, gravity, *loads, self._no_closing if closing is None else closing,
            self.workspace, closure, saddle, out.tau, out.mass, out.dq, out.dqd, out.B,
        )  # fmt: skip
        if self._evaluate is None:
            self._evaluate = entry(evaluate, *arguments)
        status = self._evaluate(*arguments)
        if status != task.DONE:
            name = self.layout.coordinate_names[status]
            raise ModelError(name, "a mass matrix that is positive definite", "no inertia along this coordinate",
                             "give the link, or what it carries, mass, or check that the state is finite")  # fmt: skip
        return out

    def loop_wrench(self, loop: int, q: Array, qd: Array, u: Array, multiplier: Array) -> Array:
        """Wrench (6,) of a loop on its frame A, in frame B."""
        zero = self.zero_rates
        found: Array = self.evaluate(task.RESIDUAL, q, qd, zero, u, multiplier=multiplier).closure.wrench[loop].copy()
        return found

    def transmitted(
        self, q: Array, qd: Array, qdd: Array, u: Array, t: float, multiplier: Array
    ) -> tuple[Array, Array]:  # fmt: skip
        """Poses (n, 4, 3) of all nodes, and the wrenches (n, 6) that each and all beyond it get from what is before.

        World frame: inertia less gravity, loads and loops, as the backward sweep sums them.
        """
        self.evaluate(task.RESIDUAL, q, qd, qdd, u, t, multiplier=multiplier)
        return self.workspace.pose.copy(), self.workspace.twist[:, 2].copy()

    def internal(self, q: Array, qd: Array, u: Array, derivatives: bool = False) -> Evaluation:
        """Internal forces, those of springs, dampers and motors in loops included; by request their derivatives."""
        zero = self.zero_rates
        if not self.loops.row[:, N_LAWS].any():
            return self.evaluate(task.INTERNAL_DERIVATIVES if derivatives else task.INTERNAL, q, qd, zero, u)
        # what the residual has beside inverse dynamics; both know the sweeps that forces of loops need
        residual = self.evaluate(task.RESIDUAL_DERIVATIVES if derivatives else task.RESIDUAL, q, qd, zero, u)
        tree = self.evaluate(task.INVERSE_DERIVATIVES if derivatives else task.INVERSE, q, qd, zero, u)
        return residual._replace(tau=tree.tau - residual.tau, dq=tree.dq - residual.dq, dqd=tree.dqd - residual.dqd)

    def gaps(self, q: Array) -> dict[str, tuple[float, float]]:
        """Distance [m] and angle [rad] by which each loop is open."""
        if not self.closed.rows:
            return {}
        zero = self.zero_rates
        error = self.evaluate(task.RESIDUAL, q, zero, zero.copy(), np.zeros(self.n_actuators)).closure.value[ERROR]
        turns = self.closed.turns
        return {
            name: tuple(float(np.linalg.norm(error[rows][turns[rows] == turn])) for turn in (False, True))  # type: ignore[misc]
            for name, rows in self.closed.rows.items()
        }

    def energy(self, q: Array, qd: Array) -> tuple[float, float, float]:
        """Kinetic, elastic and gravitational energy [J]."""
        self.sweep(q, qd, POSES)
        kinetic, potential = energies(self.tree, self.gravity, self.workspace)
        return float(kinetic), self.elastic_energy(q), float(potential)

    def powers(self, t: float, q: Array, qd: Array, u: Array) -> tuple[float, float]:
        """Power of actuators and loads, and power lost by damping [W]."""
        zero, none = self.zero_rates, np.zeros(self.n_actuators)

        def internal(rates: Array, inputs: Array) -> Array:
            return self.internal(q, rates, inputs).tau

        passive = internal(qd, none)
        actuators = float((internal(qd, u) - passive) @ qd)
        lost = float((internal(zero, none) - passive) @ qd)
        for name, load in self.loads.items():
            g, eta = self.poses(load.nodes, q, qd)
            power = float(np.sum(evaluate_checked(name, load, t, g, eta).wrench * eta))
            if load.dissipates:
                lost -= power
            else:
                actuators += power
        return actuators, lost

    def elastic_energy(self, q: Array) -> float:
        """Elastic energy (q - rest)^T K (q - rest) / 2, and that of end stops and of springs in loops [J]."""
        energy = float(elastic_energy(self.tree, self.elastic, q))
        lawful = np.flatnonzero(self.loops.row[:, N_LAWS])
        if len(lawful):
            zero = self.zero_rates
            found = self.evaluate(task.RESIDUAL, q, zero, zero.copy(), np.zeros(self.n_actuators)).closure.law[lawful]
            stiffness, rest = (self.loops.value[lawful, at : at + 2] for at in (STIFFNESS, REST))
            energy += 0.5 * float(np.sum(stiffness * (found - rest) ** 2))
        return energy

    def tendon_lengths(self, q: Array) -> Array:
        """Length of each tendon inside its rods [m]."""
        lengths = np.zeros(self.n_actuators)
        tendon_lengths(self.tree, self.tendons, q, self.workspace.scratch, lengths)
        return lengths
