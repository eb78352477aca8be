"""Energies of a robot, and the forces that change them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorosim.base.arrays import Array, Mask
from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.loading import pack
from sorosim.mechanics.kernels import forces
from sorosim.mechanics.kernels.exchange import load_wrenches, powers, tree_exchange
from sorosim.mechanics.kernels.flow import material_energies
from sorosim.mechanics.kernels.forces import Internal
from sorosim.mechanics.kernels.joints import JOINT_FRICTION, LENGTH_DAMPING, MOTOR, SERVO, Laws
from sorosim.mechanics.kernels.kinematics import POSES, energies
from sorosim.mechanics.kernels.loop_joint import REST, STIFFNESS
from sorosim.mechanics.kernels.tree import LENGTH_RATIO
from sorosim.mechanics.kernels.tube_motion import rotor_energy
from sorosim.mechanics.kernels.tubes import TubeLaws


def energy(engine: Engine, q: Array, qd: Array) -> tuple[float, float, float]:
    """Kinetic (with added mass), elastic (with that of contacts) and gravitational energy [J]."""
    if len(engine.insertions):
        engine.check_insertions(qd, engine.zero_rates)
    engine.sweep(q, qd, POSES)
    kinetic, potential = energies(engine.tree, engine.gravitational_inertia, engine.gravity, engine.workspace)
    if engine.flows:
        own = material_energies(engine.tree, engine.gravitational_inertia, engine.gravity, engine.workspace)
        kinetic, potential = kinetic + own[0], potential + own[1]
    kinetic += 0.5 * engine.armature @ qd**2
    tubes = engine.elastic.tubes
    if len(tubes.rotor):
        kinetic += rotor_energy(engine.tree, tubes, q, qd, engine.workspace)
    if len(nodes := engine.tree.inserted["node"]):
        more, mass = engine.workspace.twist[nodes, LENGTH_RATIO, 0] - 1.0, engine.gravitational_inertia[nodes, 3, 3]
        potential -= (more * mass) @ engine.workspace.pose[nodes, 3] @ engine.gravity
        eta = engine.poses(nodes, q, qd)[1]
        kinetic += 0.5 * np.einsum("k,ki,kij,kj", more, eta, engine.tree.inertia[nodes], eta)
    elastic = engine.loading.contact_energy(engine.external, engine.workspace) + elastic_energy(engine, q)
    return float(kinetic), elastic, float(potential)


class PowerTerms(NamedTuple):
    """Forces that change the energy of a robot in k states, and the rates along which they act.

    Entries of a row are generalised forces and rates of coordinates, then components of wrenches and twists of nodes.
    """

    work: Array  # (k, n) of actuators and loads
    loss: Array  # (k, n) against dampers, friction and drag
    rates: Array  # (k, n)

    def powers(self) -> Array:
        """Power put in and power lost (k, 2) [W]."""
        out = np.empty((len(self.rates), 2))
        powers(self.work, self.loss, self.rates, out)
        return out

    def until(self, later: PowerTerms, h: float) -> Array:
        """Work and loss (k, 2) [J] over steps of size h: of mean forces along mean rates."""
        return h * PowerTerms(*(0.5 * (a + b) for a, b in zip(self, later, strict=True))).powers()


class InternalParts:
    """Internal forces of the tree: `passive` without actuators, `dampers`, `active`; whether they exchange energy."""

    def __init__(self, engine: Engine) -> None:
        elastic = engine.elastic
        kind, none = elastic.laws.row["law"], np.zeros_like(elastic.stiffness)
        no_sections, tubes = elastic.sections._replace(row=elastic.sections.row[:0]), elastic.tubes
        only_damping = tubes._replace(bend=tubes.bend[:0], value=_without_stiffness(tubes))
        motors, dampers = (kind == MOTOR) | (kind == SERVO), (kind == JOINT_FRICTION) | (kind == LENGTH_DAMPING)

        def only(rows: Mask) -> Laws:
            return elastic.laws._replace(row=np.ascontiguousarray(elastic.laws.row[rows]))

        no_actuators = engine.rod_actuators._replace(row=engine.rod_actuators.row[:0])
        self.passive = Internal(elastic._replace(laws=only(~motors)), no_actuators)
        lossy = elastic._replace(stiffness=none, laws=only(dampers), sections=no_sections, tubes=only_damping)
        self.dampers = Internal(lossy, no_actuators)
        no_tubes = tubes._replace(stretch=tubes.stretch[:0], bend=tubes.bend[:0], damp=tubes.damp[:0])
        active = lossy._replace(damping=none, laws=only(motors), tubes=no_tubes)
        self.active = Internal(active, engine.rod_actuators)
        self.exchanges = bool(engine.n_actuators or np.any(elastic.damping) or np.any(dampers))


class PowerEvaluator:
    """The `PowerTerms` of a robot in any states.

    Of the tree there are actuators and damping, which Newmark's method integrates itself (kernels.newmark); beside it
    loads and the laws of loops. Elastic forces, end stops and what contacts store are energies instead.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.loading = engine, engine.loading
        self.parts = engine.companion(InternalParts)
        self._loops = bool(np.any(engine.loops.row["n_laws"]))
        if not self.loading.loads:
            return
        laws = self.loading.compiled
        stores = {name for name in laws if self.loading.stores(name)}
        packs = (
            [law for name, law in laws.items() if name not in stores],
            [law.losses for name, law in laws.items() if name not in stores],
            [law.losses for name, law in laws.items() if name in stores],
        )
        self._packs = [pack(part, engine.layout) for part in packs]
        self._workspaces = [
            self.loading.make_external(len(engine.tree.segment), engine.ndof, part) for part in self._packs
        ]
        self._stack = np.zeros((self.loading.depth, 3))

    @property
    def outside_tree(self) -> bool:
        """Whether forces other than actuators and damping of the tree exchange energy."""
        return self._loops or bool(self.loading.loads) or self.engine.flows

    def __call__(self, t: Array, q: Array, qd: Array, u: Array, reaction: Array | None = None) -> PowerTerms:
        """All of it at times (k,), q and qd (k, ndof), u (k, n_actuators).

        reaction : (k, ndof) generalised forces of what drives coordinates.
        """
        exchange, n = self.beside(t, q, qd, u, reaction), self.engine.ndof
        work, loss = self.of_tree(q, qd, u)
        exchange.work[:, :n] += work
        exchange.loss[:, :n] += loss
        return exchange

    def of_tree(self, q: Array, qd: Array, u: Array) -> tuple[Array, Array]:
        """Generalised forces (k, ndof) of actuators, and those against damping."""
        work, loss = np.zeros_like(q), np.zeros_like(q)
        if not self.parts.exchanges:
            return work, loss
        q, qd, u = (np.ascontiguousarray(x) for x in (q, qd, u))  # rows of states are parts of longer ones
        in_python = self.loading.actuators
        engine, parts = self.engine, self.parts
        for part in [slice(k, k + 1) for k in range(len(q))] if in_python else [slice(None)]:
            if in_python:
                names = engine.actuator_names
                self.loading.actuate(engine.external, engine.tree, q[part][0], qd[part][0], u[part][0], names, False)
            self._call(
                tree_exchange, engine.tree, parts.active, parts.dampers, q[part], qd[part], u[part], engine.workspace,
                engine.external, work[part], loss[part],
            )  # fmt: skip
        return work, loss

    def beside(self, t: Array, q: Array, qd: Array, u: Array, reaction: Array | None = None) -> PowerTerms:
        """Work and loss of loads, of springs and motors in loops, and of driven coordinates."""
        work, loss = np.zeros_like(q) if reaction is None else reaction.copy(), np.zeros_like(q)
        if self._loops:
            for k in range(len(q)):
                rest, none = np.zeros_like(q[k]), np.zeros_like(u[k])
                passive = self._of_loops(q[k], qd[k], none)
                work[k] += self._of_loops(q[k], qd[k], u[k]) - passive
                loss[k] += self._of_loops(q[k], rest, none) - passive
        if self.engine.flows:
            work += influx(self.engine, q, qd)
        if not self.loading.loads:
            return PowerTerms(work, loss, qd)
        n_rows = len(self.engine.tree.segment) + len(self.engine.layout.material_rows)
        acting, lost, lost_by_contacts, twists = np.zeros((4, len(q), n_rows, 6))
        for k, wrenches in enumerate((acting, lost, lost_by_contacts)):
            self._add_wrenches(k, t, q, qd, u, wrenches, twists)
        for k in range(len(q) if self.loading.others else 0):
            self._add_others(t[k], q[k], qd[k], acting[k], lost[k], twists[k])
        of_nodes = acting - lost, -(lost + lost_by_contacts), twists
        together = zip((work, loss, qd), (x.reshape(len(q), -1) for x in of_nodes), strict=True)
        return PowerTerms._make(np.concatenate(pair, axis=1) for pair in together)

    def _of_loops(self, q: Array, qd: Array, u: Array) -> Array:
        """Generalised forces (ndof,) of springs, dampers and motors in loops."""
        zero = np.zeros_like(q)
        return self.engine.internal(q, qd, u).tau - self.engine.evaluate(task.INTERNAL, q, qd, zero, u).tau

    def _add_wrenches(self, k: int, t: Array, q: Array, qd: Array, u: Array, wrenches: Array, twists: Array) -> None:
        """World wrenches (k, n, 6) by the laws of one pack, and the twists along which they act."""
        part, engine = self._packs[k], self.engine
        if not (len(part.laws.row) or len(part.laws.surfaces.group)):
            return
        varying = np.zeros((len(t), len(part.signals.signals), 3))
        for row, time in enumerate(t if varying.size else ()):
            varying[row] = part.signals.jets(time)
        self._call(
            load_wrenches, engine.tree, part.laws, engine.gravity, t, q, qd, np.ascontiguousarray(u), varying,
            engine.workspace, self._workspaces[k], self._stack, wrenches, twists,
        )  # fmt: skip

    def _add_others(self, t: float, q: Array, qd: Array, acting: Array, dissipated: Array, twists: Array) -> None:
        """World wrenches (n, 6) of loads that Python computes, and the twists along which they act."""
        engine = self.engine
        engine.sweep(q, qd, POSES)
        twists[:] = self.loading.twists(engine.workspace)
        for name, load in self.loading.others.items():
            external = self.loading.make_external(len(engine.tree.segment), engine.ndof)
            self.loading.add_python_load(name, external, t, engine.workspace, False)
            if load.dissipates:
                dissipated += external.wrench
            acting += external.wrench

    def _call(self, function: object, *arguments: object) -> None:
        """Call a kernel by its compiled code: arguments are of the same types each time."""
        self.engine.prepared(function, arguments)(*arguments)


def _without_stiffness(tubes: TubeLaws) -> Array:
    """`TubeLaws.value` where sections have lengths, and no stiffness."""
    out = tubes.value.copy()
    for row in tubes.stretch:
        out[row.at + 1 : row.at + 1 + row.n] = 0.0
    return out


def influx(engine: Engine, q: Array, qd: Array) -> Array:
    """Energy per length of the material that enters rods whose length is a coordinate, as forces (k, ndof) along it."""
    out = np.zeros_like(q)
    for link in engine.layout.links.values():
        for piece in (piece for piece in link.pieces if piece.material_moves):
            joint, division, e = link.link.joint, piece.division, piece.ends[0][0]
            tip = joint.material_rate(np.ones(1))[0] != 0.0  # where it enters: at the tip, or at the base
            X, rate = (division.length, joint.material_rate(np.ones(1))[0]) if tip else (0.0, 1.0)
            at, node = np.array([X]), link.nodes[[-1 if tip else 0]]
            P, line = piece.block_basis(at)[0], np.diag(division.line_inertia(at)[0])
            # of fluid that moves along, of which each length has the same
            gauss = np.flatnonzero(piece.gauss(link))[0]
            fluid = engine.loading.added.get(int(link.nodes[gauss]), np.zeros((6, 6))) / link.weight[gauss]
            reference, own = division.reference.values(at, division.length)[0], slice(e, e + 1 + piece.n)
            for k in range(len(q)):
                g, eta = engine.poses(node, q[k], qd[k])
                passing = rate * qd[k, e] / piece.length_ratio(q[k]) * (reference + q[k, own] @ P)
                moving = eta[0] + passing
                out[k, e] = 0.5 * moving @ (line + fluid) @ moving - line[3, 3] * engine.gravity @ g[0, :3, 3]
    return out


def load_power(engine: Engine, name: str, t: float, q: Array, qd: Array, u: Array, lost: bool = False) -> float:
    """Power of one load, or of that part of it that is lost [W]."""
    engine.sweep(q, qd, POSES)
    external = engine.loading.load_external(name, engine.ndof, t, engine.gravity, u, engine.workspace, lost)
    return float(np.sum(external.wrench * engine.loading.twists(engine.workspace)))


def elastic_energy(engine: Engine, q: Array) -> float:
    """Elastic energy (q - rest)^T K (q - rest) / 2, and that of end stops and of springs in loops [J]."""
    total, loops = float(forces.elastic_energy(engine.tree, engine.elastic, q, engine.workspace.scratch)), engine.loops
    sprung = np.flatnonzero(loops.row["n_laws"])
    if len(sprung):
        zero, none = engine.zero_rates, np.zeros(engine.n_actuators)
        reached = engine.evaluate(task.ERRORS, q, zero, zero, none).closure.law[sprung]
        stiffness, rest = (loops.value[sprung, at : at + 2] for at in (STIFFNESS, REST))
        total += 0.5 * float(np.sum(stiffness * (reached - rest) ** 2))
    return total
