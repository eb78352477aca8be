"""Servos of rotation vectors: moments by the turn that is left on SO(3), not by differences of coordinates.

A joint turns its moved frame by R = exp(w^) relative to its fixed one; its angular velocity in the moved frame is
A w', A = T(-w). Inputs of position servos are together the rotation vector of R_u. With e = log(R^T R_u), also in the
moved frame, the servo about the axis a pushes by y = L tanh(b/L), b = k a.e - d a.(A w'), one of a rate by
b = d (u - a.(A w')). The virtual work of the moment y a is that of the generalised force P^T [A^T a y; 0], P the unit
twists of the joint: an internal wrench on its coordinates, as actuators inside rods put on strains. Derivatives:

    de = -T(e)^-1 A dw + T(-e)^-1 T(-u) du,   d(A^T a) = -X(-w; a) dw,   a.(dA w') = -w'.X(-w; a) dw,

X(w; y) = d(T(w)^T y)/dw (docs/theory.md, 2 and A). The sign of e is free at half a turn, where the servo may go either
way round and pushes fully; A is regular below a whole turn, beyond which coordinates are never let.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.compiled import table
from sorosim.base.complex_step import number_type
from sorosim.base.errors import ModelError
from sorosim.mechanics.actuation.base import ActuatorValues
from sorosim.mechanics.kernels import rod_actuators as kernel
from sorosim.mechanics.kernels.rod_actuators import RodActuators
from sorosim.mechanics.kernels.tree import Tree
from sorosim.mechanics.lie import exp_so3, log_so3, tangent, tangent_inv, tangent_transpose_derivative
from sorosim.mechanics.model.layout import Layout


@dataclass(frozen=True, eq=False)
class RotationServos:
    """The n servos of the rotation of one joint; see `engine.loading`, which evaluates them."""

    actuators: tuple[int, ...]
    link: str
    rows: IntArray  # (n,) of RodActuators
    given: IntArray  # (n,) their places among the rows that Python computes
    coordinates: slice  # of the block of the joint that turns
    axes: Array  # (n, 3) in the moved frame
    twists: Array  # (n_block, 3) angular parts of the unit twists of the block
    numbers: Array  # (n, 4) stiffness, damping, limit, effort by the input
    of_rate: Mask  # (n,) which follow a rate

    def efforts(self, q: Array, qd: Array, u: Array) -> Array:
        """Moments (n,) about the axes [N m]."""
        w, wd = q[self.coordinates] @ self.twists, qd[self.coordinates] @ self.twists
        own = u[list(self.actuators)]
        return self._saturated(self._brackets(self._left(w, self._target(own)), _tangent(-w) @ wd, own))[0]

    def evaluate(
        self, tree: Tree, rod_actuators: RodActuators, q: Array, qd: Array, u: Array, names: Sequence[str],
        tangents: bool,
    ) -> ActuatorValues:  # fmt: skip
        """Internal wrenches (n, 6) on the coordinates, and their derivatives.

        Those by the input of a servo are of all wrenches together: its input moves what the others follow.
        """
        n, own = len(self.axes), u[list(self.actuators)]
        w, wd = q[self.coordinates] @ self.twists, qd[self.coordinates] @ self.twists
        A, target = _tangent(-w), self._target(own)
        left = self._left(w, target)
        effort, slope = self._saturated(self._brackets(left, A @ wd, own))
        moments = self.axes @ A  # A^T a
        out = ActuatorValues(
            np.zeros((n, 6), dtype=effort.dtype), np.zeros((n, 6, 6)), np.zeros((n, 6, 6)), np.zeros((n, 6))
        )
        out.wrench[:, :3] = effort[:, None] * moments
        if not tangents:
            return out
        stiffness, damping, _, gain = self.numbers.T
        towards, by_target = -_tangent_inv(left) @ A, _tangent_inv(-left) @ _tangent(-target)
        by_input = stiffness[:, None] * (self.axes @ by_target @ self.axes.T) * ~self.of_rate
        by_input += np.diag(gain * self.of_rate)
        for i, a in enumerate(self.axes):
            X = _transpose_derivative(-w, a)
            by_w = stiffness[i] * a @ towards + damping[i] * wd @ X
            out.by_strain[i, :3, :3] = slope[i] * np.outer(moments[i], by_w) - effort[i] * X
            out.by_rate[i, :3, :3] = -slope[i] * damping[i] * np.outer(moments[i], moments[i])
        out.by_input[:, :3] = (slope[:, None] * by_input).T @ moments
        return out

    def _target(self, u: Array) -> Array:
        """Rotation vector in the fixed frame that inputs (n,) say."""
        return np.asarray(u * ~self.of_rate @ self.axes)

    def _left(self, w: Array, target: Array) -> Array:
        """Rotation vector of what is left to the target, in the moved frame."""
        return np.asarray(log_so3(np.ascontiguousarray(exp_so3(w).T @ exp_so3(target))))

    def _brackets(self, left: Array, rate: Array, u: Array) -> Array:
        """What moments would be without limits (n,), from what is left, the angular velocity and inputs (n,)."""
        stiffness, damping, _, gain = self.numbers.T
        return np.asarray(stiffness * (self.axes @ left) + gain * u * self.of_rate - damping * (self.axes @ rate))

    def _saturated(self, brackets: Array) -> tuple[Array, Array]:
        """Moments with limits, and their slopes."""
        limited = np.isfinite(self.numbers[:, 2])
        most = np.where(limited, self.numbers[:, 2], 1.0)
        part = np.tanh(brackets / most)
        return np.where(limited, most * part, brackets), np.where(limited, 1.0 - part * part, 1.0)


def add_rotation_servos(
    servos: Mapping[int, Any], names: Sequence[str], layout: Layout, rod_actuators: RodActuators
) -> tuple[RodActuators, tuple[RotationServos, ...]]:
    """Rows for servos of rotation vectors, by actuator index, behind those of actuators inside rods."""
    if not servos:
        return rod_actuators, ()
    groups: dict[tuple[str, int], list[tuple[int, Any, int]]] = {}
    for actuator, servo in servos.items():
        index, joint = servo.index(layout), layout.links[servo.link].link.joint
        groups.setdefault((servo.link, joint.stage_of(index)), []).append((actuator, servo, index))
    found: list[RotationServos] = []
    rows: list[tuple[int, ...]] = []
    basis, kind = [rod_actuators.basis], number_type()
    size, point = len(rod_actuators.basis), int(rod_actuators.row["point"].max(initial=-1)) + 1
    first, n_given = len(rod_actuators.row), int((rod_actuators.row["kind"] == kernel.PYTHON_ROW).sum())
    for (name, k), members in groups.items():
        link = layout.links[name]
        stage, block = link.link.joint.stages[k], link.joint_blocks[k]
        known: dict[str, str] = {}
        numbers = []
        for actuator, servo, _ in members:
            if not servo.of_rate and servo.along in known:
                expected = "one servo of this direction: those of a joint say together where it turns"
                got = f"'{known[servo.along]}' beside it"
                raise ModelError(f"actuators.{names[actuator]}.along", expected, got)
            known |= {} if servo.of_rate else {servo.along: names[actuator]}
            try:
                numbers.append(servo.numbers(layout))
            except ModelError as error:
                raise error.inside(f"actuators.{names[actuator]}") from None
        columns = stage.columns.real
        axes = np.stack([columns[index - stage.first, :3] for _, _, index in members])
        at = len(rows) + np.arange(len(members))
        rows += [
            (actuator, block, size, point, kernel.PYTHON_ROW, n_given + len(rows) + i)
            for i, (actuator, _, _) in enumerate(members)
        ]
        begin = link.column + stage.first
        found.append(RotationServos(
            tuple(actuator for actuator, _, _ in members), name, first + at, n_given + at,
            slice(begin, begin + len(columns)), axes, columns[:, :3], np.array(numbers, dtype=kind),
            np.array([servo.of_rate for _, servo, _ in members]),
        ))  # fmt: skip
        basis.append(columns.ravel().astype(kind))
        size, point = size + columns.size, point + 1
    values = np.zeros((len(rows), kernel.N_ROW_VALUES), dtype=kind)
    values[:, kernel.WEIGHT] = 1.0
    packed = rod_actuators._replace(
        row=np.concatenate([rod_actuators.row, table(kernel.ACTUATOR_ROW, rows)]),
        value=np.concatenate([rod_actuators.value, values]),
        basis=np.concatenate(basis),
    )
    return packed, tuple(found)


def _whole(w: Array) -> Array:
    """A rotation vector as a motion (6,) without translation."""
    return np.concatenate([w, np.zeros(3)])


def _tangent(w: Array) -> Array:
    """T(w) of SO(3) (3, 3)."""
    return np.asarray(tangent(_whole(w))[:3, :3])


def _tangent_inv(w: Array) -> Array:
    """Its inverse."""
    return np.asarray(tangent_inv(_whole(w))[:3, :3])


def _transpose_derivative(w: Array, y: Array) -> Array:
    """X(w; y), the derivative of T(w)^T y by w (3, 3)."""
    return np.asarray(tangent_transpose_derivative(_whole(w), _whole(y))[:3, :3])
