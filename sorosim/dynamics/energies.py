"""Energies of a robot, and the forces that change them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.engine.engine import Engine
from sorosim.engine.loading import pack
from sorosim.kernels import evaluate as task
from sorosim.kernels import forces
from sorosim.kernels.external import clear_external
from sorosim.kernels.joints import BRAKE, LAW, MOTOR, SERVO, Laws
from sorosim.kernels.kinematics import POSES, energies
from sorosim.kernels.loop_joint import N_LAWS, REST, STIFFNESS

Array = NDArray[np.float64]


def energy(engine: Engine, q: Array, qd: Array) -> tuple[float, float, float]:
    """Kinetic (with added mass), elastic (with that of contacts) and gravitational energy [J]."""
    engine.sweep(q, qd, POSES)
    kinetic, potential = energies(engine.tree, engine.weight, engine.gravity, engine.workspace)
    elastic = engine.loading.contact_energy(engine.external, engine.workspace) + elastic_energy(engine, q)
    return float(kinetic), elastic, float(potential)


class Exchange(NamedTuple):
    """Forces that change the energy of a robot in one state, and the rates along which they act.

    Entries are generalised forces and rates of coordinates, then components of wrenches and twists of nodes.
    """

    work: Array  # of actuators and loads
    loss: Array  # against dampers, brakes, friction and drag
    rates: Array

    def powers(self) -> Array:
        """Power put in and power lost (2,) [W]."""
        return np.array([self.work @ self.rates, self.loss @ self.rates])

    def until(self, later: Exchange, h: float) -> Array:
        """Work and loss (2,) [J] over a step of size h: of mean forces along mean rates."""
        way = 0.25 * h * (self.rates + later.rates)
        return np.array([(self.work + later.work) @ way, (self.loss + later.loss) @ way])


class Exchanges:
    """The `Exchange` of a robot in any state.

    Of the tree there are actuators and damping, which Newmark's method integrates itself (kernels.newmark); beside it
    loads and the laws of loops. Elastic forces, end stops and what contacts store are energies instead.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine, self.loading = engine, engine.loading
        elastic = engine.elastic
        kind, none = elastic.laws.row[:, LAW], np.zeros_like(elastic.stiffness)
        motors, brakes = (kind == MOTOR) | (kind == SERVO), kind == BRAKE

        def only(rows: NDArray[np.bool_]) -> Laws:
            return elastic.laws._replace(row=np.ascontiguousarray(elastic.laws.row[rows]))

        self.passive = elastic._replace(laws=only(~motors))
        self.brakes = elastic._replace(stiffness=none, laws=only(brakes))
        self.no_fibres = engine.fibres._replace(row=engine.fibres.row[:0])
        active = elastic._replace(stiffness=none, damping=none, laws=only(motors))
        self._active = engine.but(elastic=active)
        self._braked = engine.but(elastic=self.brakes, fibres=self.no_fibres)
        self._loops = bool(np.any(engine.loops.row[:, N_LAWS]))
        self._drives, self._brakes = bool(engine.n_actuators), bool(np.any(elastic.damping) or np.any(brakes))
        if not self.loading.loads:
            return
        laws = self.loading.compiled
        stores = {name for name in laws if self.loading.stores(name)}
        packs = (
            [law for name, law in laws.items() if name not in stores],
            [law.losses for name, law in laws.items() if name not in stores],
            [law.losses for name, law in laws.items() if name in stores],
        )
        self._packs = [pack(part) for part in packs]
        self._nothing = np.zeros((len(engine.tree.segment), 6))
        self._rooms = [self.loading.make_external(len(engine.tree.segment), engine.ndof, part) for part in self._packs]

    @property
    def beside_tree(self) -> bool:
        """Whether anything but actuators and damping of the tree exchanges energy."""
        return self._loops or bool(self.loading.loads)

    def __call__(self, t: float, q: Array, qd: Array, u: Array, reaction: Array | None = None) -> Exchange:
        """All of it; `reaction` (ndof,): generalised forces of what drives coordinates."""
        found, n = self.beside(t, q, qd, u, reaction), self.engine.ndof
        work, loss = self.of_tree(q, qd, u)
        found.work[:n] += work
        found.loss[:n] += loss
        return found

    def of_tree(self, q: Array, qd: Array, u: Array) -> tuple[Array, Array]:
        """Generalised forces (ndof,) of actuators, and those against damping."""
        zero = np.zeros(self.engine.ndof)
        work = self._active.evaluate(task.INTERNAL, q, qd, zero, u).tau if self._drives else zero
        loss = -self._braked.evaluate(task.INTERNAL, q, qd, zero, u).tau if self._brakes else zero
        return work, loss

    def beside(self, t: float, q: Array, qd: Array, u: Array, reaction: Array | None = None) -> Exchange:
        """What is beside the tree: of loads, laws of loops and driven coordinates."""
        work, loss = np.zeros(self.engine.ndof), np.zeros(self.engine.ndof)
        if reaction is not None:
            work += reaction
        if self._loops:
            rest, none = np.zeros_like(q), np.zeros_like(u)
            passive = self._of_loops(q, qd, none)
            work += self._of_loops(q, qd, u) - passive
            loss += self._of_loops(q, rest, none) - passive
        if not self.loading.loads:
            return Exchange(work, loss, qd)
        self.engine.sweep(q, qd, POSES)
        acting, lost, lost_by_contacts = (self._wrenches(k, t) for k in range(3))
        for name, load in self.loading.others.items():
            room = self.loading.make_external(len(self.engine.tree.segment), self.engine.ndof)
            self.loading.add_other(name, room, t, self.engine.workspace)
            if load.dissipates:
                lost = lost + room.wrench
            acting = acting + room.wrench
        twists = self.engine.workspace.twist[:-1, 0]
        wrenches = (acting - lost).ravel(), -(lost + lost_by_contacts).ravel()
        together = zip((work, loss, qd), (*wrenches, twists.ravel()), strict=True)
        return Exchange._make(np.concatenate(pair) for pair in together)

    def _of_loops(self, q: Array, qd: Array, u: Array) -> Array:
        """Generalised forces (ndof,) of springs, dampers and motors in loops."""
        zero = np.zeros_like(q)
        return self.engine.internal(q, qd, u).tau - self.engine.evaluate(task.INTERNAL, q, qd, zero, u).tau

    def _wrenches(self, k: int, t: float) -> Array:
        """World wrenches (n, 6) on all nodes by the laws of one pack."""
        part, room, engine = self._packs[k], self._rooms[k], self.engine
        if not (len(part.laws.row) or len(part.laws.surfaces.group)):
            return self._nothing
        clear_external(room)
        self.loading.add_packed(part, room, t, engine.gravity, engine.workspace)
        self.loading.add_contacts(part, room, engine.workspace, tangents=False)
        return np.asarray(room.wrench)


def load_power(engine: Engine, name: str, t: float, q: Array, qd: Array, lost: bool = False) -> float:
    """Power of one load, or of that part of it that is lost [W]."""
    engine.sweep(q, qd, POSES)
    external = engine.loading.of_load(name, engine.ndof, t, engine.gravity, engine.workspace, lost)
    return float(np.sum(external.wrench * engine.workspace.twist[:-1, 0]))


def elastic_energy(engine: Engine, q: Array) -> float:
    """Elastic energy (q - rest)^T K (q - rest) / 2, and that of end stops and of springs in loops [J]."""
    found, loops = float(forces.elastic_energy(engine.tree, engine.elastic, q)), engine.loops
    lawful = np.flatnonzero(loops.row[:, N_LAWS])
    if len(lawful):
        zero, none = engine.zero_rates, np.zeros(engine.n_actuators)
        reached = engine.evaluate(task.RESIDUAL, q, zero, zero.copy(), none).closure.law[lawful]
        stiffness, rest = (loops.value[lawful, at : at + 2] for at in (STIFFNESS, REST))
        found += 0.5 * float(np.sum(stiffness * (reached - rest) ** 2))
    return found
