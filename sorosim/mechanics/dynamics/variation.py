"""The equations of motion varied by one scalar of a robot's description (docs/theory.md, 13)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.compiled import prepare
from sorosim.base.complex_step import STEP, derivative
from sorosim.base.errors import InputError
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.quantities import carried
from sorosim.mechanics.kernels.couplings import Coupling
from sorosim.mechanics.kernels.external import ExternalForces, clear_external
from sorosim.mechanics.kernels.fluid import FIELD
from sorosim.mechanics.kernels.kinematics import COLUMNS, POSES, forward_sweep
from sorosim.mechanics.kernels.loops import Closure, make_closure
from sorosim.mechanics.kernels.rod_actuators import PYTHON_ROW, make_actuator_workspace, section_strain
from sorosim.mechanics.kernels.tree import LENGTH_RATIO
from sorosim.mechanics.kernels.variation import vary_rows
from sorosim.mechanics.model.link import Link

T = TypeVar("T", bound=tuple[Any, ...])


class Variation(NamedTuple):
    """Derivatives of the equations of motion by a scalar, at a constant state."""

    inverse: Array  # (ndof,) of inverse dynamics less the forces of loops
    internal: Array  # (ndof,) of the internal force
    error: Array  # (m,) of the errors of loops
    rate: Array  # (m,) of their rates
    acceleration: Array  # (m,) of their accelerations


class VariedEngine:
    """The engine of a robot, and that of its description with a scalar that carries a derivative.

    Parameters
    ----------
    engine : Engine
        Of the robot.
    varied : Engine
        Made within `sorosim.base.complex_step.varying`; its arrays are complex.
    links : sequence of Link
        Those of the varied description.
    """

    def __init__(self, engine: Engine, varied: Engine, links: Sequence[Link] = ()) -> None:
        self.engine, self.varied, self.links = engine, varied, {link.name: link for link in links}
        laws, actuators = varied.loading.packed.laws, varied.rod_actuators
        changed = [derivative(part).any() for part in (laws.value, laws.frame, laws.media.value, varied.gravity)]
        self.loads_change = bool(len(laws.row)) and any(changed)
        self.arrays = [
            *(array for array in varied.tree[3:] if array.dtype.names is None), *varied.elastic[:3],
            *varied.elastic.maxwell[1:],
            varied.elastic.laws.value, *varied.elastic.sections[1:],
            actuators.value, actuators.basis, actuators.stiffness, actuators.length, actuators.onset,
            actuators.friction, actuators.operators, varied.loops.value, laws.value, laws.frame, laws.media.value,
            *(servos.numbers for servos in varied.rotation_servos),
        ]  # fmt: skip
        self._loaded = bool(engine.loading or varied.loading or engine.loading.actuators)
        self._vary: Callable[..., None] | None = None

    def check(self, name: str) -> None:
        """Refuse a scalar without a known derivative."""
        if not all(np.isfinite(derivative(array)).all() for array in self.arrays):
            raise InputError("parameters", "a scalar by which the arrays of the robot have derivatives", f"'{name}'")
        laws = self.varied.loading.packed.laws
        if derivative(laws.signals.data).any() or derivative(laws.media.fields.data).any():
            expected = "a scalar that is no signal of time and no current"
            raise InputError("parameters", expected, f"'{name}'")
        in_field = laws.row[(laws.row["medium"] >= 0) & (laws.row["frame"] >= 0)]
        frames = derivative(laws.frame[in_field["frame"]])
        if frames.any() and (laws.media.row["current"][in_field["medium"]] == FIELD).any():
            raise InputError(
                "parameters", "no scalar that moves bodies in a current that depends on the place", f"'{name}'"
            )

    def linear_arrays(self) -> dict[str, Array] | None:
        """Derivatives of inertia, stiffness, damping, rest and gravity; None if anything else has one.

        Inverse dynamics and elastic forces are linear in these, where loads take no part.
        """
        varied, loading = self.varied, self.engine.loading
        linear = {
            "inertia": varied.tree.inertia, "stiffness": varied.elastic.stiffness, "damping": varied.elastic.damping,
            "rest": varied.elastic.rest, "gravity": varied.gravity,
        }  # fmt: skip
        known = [id(part) for part in linear.values()]
        if any(derivative(array).any() for array in self.arrays if id(array) not in known):
            return None
        found = {name: derivative(part) for name, part in linear.items()}
        if len(varied.elastic.maxwell.block) and (found["stiffness"].any() or found["rest"].any()):
            return None  # what relaxes pulls by its strains as well
        weighty = found["inertia"].any() or found["gravity"].any()
        return None if weighty and (loading or varied.loading) else found

    def vary(self, q: Array, qd: Array, qdd: Array, u: Array, t: float, multiplier: Array | None = None) -> Variation:
        """Derivatives in a state; with multipliers (m,) loops act."""
        multipliers = None if multiplier is None else multiplier[None]
        rows = self.vary_rows(q[None], qd[None], qdd[None], u[None], np.array([t]), multipliers)
        return Variation(*(part[0] for part in rows))

    def vary_rows(
        self, q: Array, qd: Array, qdd: Array, u: Array, t: Array, multiplier: Array | None = None
    ) -> Variation:
        """Derivatives in n states, arguments and results having n rows; with multipliers (n, m) loops act."""
        n, varied, m = len(q), self.varied, self.varied.loop_layout.m
        out = Variation._make(np.zeros((n, size)) for size in (varied.ndof, varied.ndof, m, m, m))
        multipliers = np.zeros((n, 0)) if multiplier is None else multiplier
        parts = [np.ascontiguousarray(part, dtype=float) for part in (q, qd, qdd, u, multipliers)]
        closure: Closure = _complex(make_closure(len(varied.loop_layout.rows), m, varied.ndof))
        external = self._make_external()
        # loads differ from row to row
        for one in [slice(k, k + 1) for k in range(n)] if self._loaded else [slice(n)]:
            if self._loaded:
                row = one.start
                self._load(external, parts[0][row], parts[1][row], parts[2][row], parts[3][row], t[row])
            arguments = (
                varied.system, varied.gravity, *(part[one] for part in parts), 1.0 / STEP, external, varied.workspace,
                closure, np.zeros(varied.ndof, dtype=complex), *(part[one] for part in out),
            )  # fmt: skip
            if self._vary is None:
                self._vary = prepare(vary_rows, arguments, self.engine.features)
            self._vary(*arguments)
        return out

    def elastic_force(self, moved: Array) -> Array:
        """Derivative (n, ndof) of K x, K the stiffness of equilibria block by block, at constant x (n, ndof)."""
        change, out = derivative(self.varied.elastic.stiffness), np.zeros_like(moved)
        for block in self.engine.tree.block:
            size, own = block.n, slice(block.column, block.column + block.n)
            K = change[block.square : block.square + size * size].reshape(size, size)
            out[:, own] = moved[:, own] @ K.T
        return out

    def motion(self, q: Array, places: tuple[tuple[str, float], ...]) -> Array:
        """Motion of places (link, s) at constant coordinates: twists (n, 6) in their own frames, [angular; linear]."""
        g = self.varied.poses_at(self.varied.places(places), q)[0]
        change = np.einsum("nji,njk->nik", g.real[:, :3, :3], derivative(g)[:, :3])
        return np.concatenate([_axial(change[:, :, :3]), change[:, :, 3]], axis=1)

    def _load(self, external: ExternalForces, q: Array, qd: Array, qdd: Array, u: Array, t: float) -> None:
        """Fill in external wrenches, and internal ones of actuators in Python."""
        engine, real, varied = self.engine, self.engine.external, self.varied
        forward_sweep(varied.tree, q, qd, qdd, varied.gravity, COLUMNS, varied.workspace)
        external.wrench[:] = 0.0
        if engine.loading:
            engine.load_values(q, qd, u, t, real)
            external.wrench[:] = real.wrench + 1j * STEP * self._carried(real)
        external.wrench[:] += 1j * STEP * self._changed(q, qd, u, t)
        if engine.loading.actuators:
            engine.loading.actuate(real, engine.tree, q, qd, u, engine.actuator_names)
            external.section[:] = real.section + 1j * STEP * self._strained(real, q, qd)
            external.section_B[:] = real.section_B
            for servos in varied.rotation_servos:
                law = servos.evaluate(varied.tree, varied.rod_actuators, q, qd, u, engine.actuator_names, False)
                external.section[servos.given] += 1j * STEP * derivative(law.wrench)

    def _make_external(self) -> ExternalForces:
        # what is zero in the description may have no rows in the real arrays, and has them in the varied ones
        n = len(self.engine.tree.segment)
        external: ExternalForces = _complex(self.varied.loading.make_external(n, self.varied.ndof))
        rows = n + len(self.engine.layout.material_rows) if self.engine.loading or self.varied.loading else 0
        return external._replace(
            wrench=np.zeros((rows, 6), dtype=complex),
            actuators=_complex(make_actuator_workspace(self.varied.rod_actuators)),
        )

    def _carried(self, real: ExternalForces) -> Array:
        """How wrenches (n, 6) change because their nodes move, or because there is more or less material there."""
        ws, flowing = self.varied.workspace, list(self.varied.layout.material_rows)
        J, Jd = _columns(np.concatenate([ws.pose[:-1], ws.pose[flowing]]), self.varied.loading.twists(ws))
        change = carried(real, J, Jd)
        if flowing:
            ratio = ws.twist[flowing, LENGTH_RATIO, :1]
            change[-len(flowing) :] += real.wrench[-len(flowing) :] * derivative(ratio) / ratio.real
        return change

    def _changed(self, q: Array, qd: Array, u: Array, t: float) -> Array | float:
        """How wrenches (n, 6) change because their laws do."""
        if not self.loads_change:
            return 0.0
        varied, ndof = self.varied.loading, self.varied.ndof
        ws = self.engine.workspace
        external: ExternalForces = _complex(varied.make_external(len(ws.pose) - 1, ndof))
        clear_external(external)
        self.engine.sweep(q, qd, POSES)
        varied.add_packed(varied.packed, external, t, self.varied.gravity, u, ws)
        return derivative(external.wrench)

    def _strained(self, real: ExternalForces, q: Array, qd: Array) -> Array:
        """How internal wrenches (n, 6) of actuators in Python change because the strains do."""
        rod_actuators, tree = self.varied.rod_actuators, self.varied.tree
        rows = np.flatnonzero(rod_actuators.row["kind"] == PYTHON_ROW)
        change = np.zeros((len(real.section), 6))
        xi = np.zeros(6, dtype=complex)
        for row in rows:
            given = rod_actuators.row["given"][row]
            for tangent, x, reference in ((real.section_K, q, True), (real.section_D, qd, False)):
                section_strain(tree, rod_actuators, row, x, reference, xi)
                change[given] += tangent[given] @ derivative(xi)
        return change


def _complex(arrays: T) -> T:
    """A copy of a record of arrays, those of floats made complex, and those of couplings."""
    record: Any = arrays
    parts = {
        name: array.astype(complex) if isinstance(array, np.ndarray) else _complex(array)
        for name, array in record._asdict().items()
        if isinstance(array, Coupling) or (isinstance(array, np.ndarray) and array.dtype.kind in "fc")
    }
    return record._replace(**parts)  # type: ignore[no-any-return]


def _axial(W: Array) -> Array:
    """Axial vectors (n, 3) of matrices (n, 3, 3), the mean of their two sides."""
    return 0.5 * np.stack([W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]], axis=1)


def _columns(pose: Any, twist: Any) -> tuple[Array, Array]:
    """World columns J, J' (n, 6) of the scalar at nodes, from complex poses (n, 4, 3) and twists (n, 6).

    A scalar is a coordinate that stands still: dg g^-1 = J and dV = J' - ad_V J.
    """
    R, p, V = pose[:, :3].real, pose[:, 3].real, twist.real
    turned = _axial(np.einsum("nij,nkj->nik", derivative(pose)[:, :3], R))
    J = np.concatenate([turned, derivative(pose)[:, 3] - np.cross(turned, p)], axis=1)
    w, v = V[:, :3], V[:, 3:]
    turning = np.concatenate([np.cross(w, turned), np.cross(v, turned) + np.cross(w, J[:, 3:])], axis=1)
    return J, derivative(twist) + turning
