"""Rigid robots as models of Pinocchio, a library for them; states, forces and derivatives carried over.

Pinocchio moves spherical, planar and free joints by the twist v in the moved frame, along our directions P. Of one
rotation, or one screw motion, A = P T(-P^T q) P^T; translations turn with the rotation behind them; A = 1 for all other
joints (docs/theory.md, 2):

    v = A qd      vdot = A qdd + A' qd      dx = A dq of configurations x      tau = A^T f

where f are Pinocchio's forces, which are also those of motors in our joints. A is the exact Jacobian of a motion: a
variation dq of q(t) changes v by (A dq)' + ad_v A dq, and vdot by the rate of that. Hence, with ad along P,

    dv/dq = A' + ad_v A        dvdot/dq = A'' + ad_vdot A + ad_v A'        dvdot/dqd = 2 A' + ad_v A
    dtau/dq = d(A^T f)/dq, f held + A^T (df/dx A + df/dv dv/dq + df/dvdot dvdot/dq)

and A qdd = vdot - A' qd, differentiated with f held, gives those of forward dynamics. A and its rates are summed as
series here: nothing is shared with the engine but the description.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, expm

from helpers.slow import ad
from sorosim.mechanics.engine.records import ForwardDynamicsDerivatives, InverseDynamicsDerivatives, Kinematics
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import WORLD, Link

pin = pytest.importorskip("pinocchio")  # there are no wheels for Windows

Array = NDArray[np.float64]

# joints that it moves by twists; their components are in our order
BY_TWISTS = ("spherical", "planar", "free")
# Pinocchio's twists are [linear; angular]
SWAPPED = [3, 4, 5, 0, 1, 2]


def twist_jets(P: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """A, A', A'' (3, n, n) of a joint with directions P (n, 6), along q + t qd + t^2 qdd / 2.

    T(-x) = sum (-ad_x)^k / (k + 1)! is the upper right block of exp [[-ad_x, 1], [0, 0]]. With a block-triangular
    matrix of the Taylor coefficients of ad_x in its place, the block has those of T.
    """
    shift = np.eye(3, k=1)
    parts = (np.eye(3), q), (shift, qd), (shift @ shift, 0.5 * qdd)
    X = -sum(np.kron(place, ad(x @ P)) for place, x in parts)
    series = expm(np.block([[X, np.eye(18)], [np.zeros((18, 36))]]))[:6, 18:].reshape(6, 3, 6)
    return np.einsum("k,ai,ikj,bj->kab", [1.0, 1.0, 2.0], P, series, P)


def directions_of(joint: Joint) -> Array:
    """P (n, 6), directions of the coordinates."""
    return np.vstack([stage.columns for stage in joint.stages])


def joint_pose(joint: Joint, q: Array) -> Array:
    """Pose (4, 4) of the moved frame in the fixed one."""
    g = np.eye(4)
    for stage in joint.stages:
        w, v = np.split(q[stage.own] @ stage.columns, 2)
        X = np.zeros((4, 4))
        X[:3, :3], X[:3, 3] = np.cross(np.eye(3), w), v
        g = g @ expm(X)
    return g


def joint_jets(joint: Joint, q: Array, qd: Array, qdd: Array) -> Array:
    """A, A', A'' (3, n, n) of any joint in BY_TWISTS."""
    if len(joint.stages) == 1:
        return twist_jets(joint.stages[0].columns, q, qd, qdd)
    slides, turns = joint.stages
    own, D, W = turns.own, slides.columns[:, 3:], turns.columns[:, :3]
    B = twist_jets(turns.columns, q[own], qd[own], qdd[own])
    w = ad(np.append((B[0] @ qd[own]) @ W, np.zeros(3)))[:3, :3]
    wd = ad(np.append((B[0] @ qdd[own] + B[1] @ qd[own]) @ W, np.zeros(3)))[:3, :3]
    Rt = joint_pose(joint, q)[:3, :3].T
    out = np.zeros((3, joint.n, joint.n))
    for k, turned in enumerate((Rt, -w @ Rt, (w @ w - wd) @ Rt)):
        out[k, slides.own, slides.own], out[k, own, own] = D @ turned @ D.T, B[k]
    return out


class MotionMap(NamedTuple):
    """v, vdot and their derivatives at a state, components in our order."""

    v: Array
    vdot: Array
    A: Array  # dv/dqd, dvdot/dqdd
    Ad: Array
    dv_dq: Array
    dvdot_dq: Array
    dvdot_dqd: Array


class PinocchioRobot:
    """What Pinocchio says of a description of rigid links, in our coordinates; without loads and internal forces.

    Parameters
    ----------
    universal : bool
        Whether universal joints of perpendicular axes are its own ones, for values only: its derivatives and rates of
        Jacobians take their directions for constant in the moved frame, which contradicts differences of its values.
        All other universal joints are two revolutes.
    """

    def __init__(self, description: Description, *, universal: bool = False) -> None:
        self.universal = universal
        self.links = description.links
        ends = np.cumsum([link.joint.n for link in self.links])
        self.own = {link.name: slice(e - link.joint.n, e) for link, e in zip(self.links, ends, strict=True)}
        self.ndof = int(ends[-1])
        self.model = pin.Model()
        self.model.gravity.linear = np.array(description.gravity)
        # v of Pinocchio at these places is v in our order
        self.rows = np.zeros(self.ndof, dtype=int)
        # depth first: it takes the joints of a subtree for neighbours, and is silently wrong where they are not
        waiting = [(link, 0, np.eye(4)) for link in self._children(WORLD)]
        while waiting:
            link, parent, g = waiting.pop()
            joint, g = self._add(link, parent, g @ link.at)
            waiting += [(child, joint, g) for child in self._children(link.name)]
        self.data = self.model.createData()

    def _children(self, name: str) -> list[Link]:
        return [link for link in self.links if link.parent == name]

    def _add(self, link: Link, parent: int, g: Array) -> tuple[int, Array]:
        """Hang a link, its joint's frame at g on a joint; return the joint that moves it, and its pose there."""
        joints, turn = pinocchio_joints(link.joint, self.universal)
        self.rows[self.own[link.name]] = self.model.nv + np.arange(link.joint.n)
        g = g @ turn
        for joint in joints:
            parent, g = self.model.addJoint(parent, joint, pin.SE3(g), f"{link.name}.{self.model.njoints}"), np.eye(4)
        g = g @ np.linalg.inv(turn)
        body = pin.Inertia(link.body.mass, np.array(link.body.centre), link.body.rotational_inertia)
        self.model.appendBodyToJoint(parent, body, pin.SE3(g))
        self.model.addFrame(pin.Frame(link.name, parent, pin.SE3(g), pin.FrameType.OP_FRAME))
        return parent, g

    # -- the map -------------------------------------------------------------------------------------------------------

    def by_twists(self) -> Iterator[tuple[slice, Joint]]:
        """The joints that Pinocchio moves by twists, and their coordinates."""
        for link in self.links:
            if link.joint.kind in BY_TWISTS:
                yield self.own[link.name], link.joint

    def motion(self, q: Array, qd: Array, qdd: Array) -> MotionMap:
        A, Ad, Add = np.stack([np.eye(self.ndof), *np.zeros((2, self.ndof, self.ndof))])
        ad_v, ad_vdot = np.zeros((2, self.ndof, self.ndof))
        for own, joint in self.by_twists():
            A[own, own], Ad[own, own], Add[own, own] = joint_jets(joint, q[own], qd[own], qdd[own])
        v, vdot = A @ qd, A @ qdd + Ad @ qd
        for own, joint in self.by_twists():
            P = directions_of(joint)
            ad_v[own, own], ad_vdot[own, own] = (P @ ad(x[own] @ P) @ P.T for x in (v, vdot))
        dv_dq = Ad + ad_v @ A
        return MotionMap(v, vdot, A, Ad, dv_dq, Add + ad_vdot @ A + ad_v @ Ad, Ad + dv_dq)

    def transposed_slope(self, q: Array, f: Array) -> Array:
        """d(A^T f)/dq with f held."""
        slope = np.zeros((self.ndof, self.ndof))
        for own, joint in self.by_twists():
            rates = [joint_jets(joint, q[own], e, 0.0 * e)[1] for e in np.eye(joint.n)]
            slope[own, own] = np.stack([rate.T @ f[own] for rate in rates], axis=1)
        return slope

    def there(self, x: Array) -> Array:
        """Velocities, accelerations or forces in Pinocchio's order."""
        found = np.zeros(self.ndof)
        found[self.rows] = x
        return found

    def configuration(self, q: Array) -> Array:
        """Configuration of coordinates: from the neutral one along the logarithms of poses."""
        x = np.array(q, dtype=float)
        for own, joint in self.by_twists():
            twist = pin.log6(pin.SE3(joint_pose(joint, q[own]))).vector
            x[own] = directions_of(joint) @ twist[SWAPPED]
        return pin.integrate(self.model, pin.neutral(self.model), self.there(x))

    def _state(self, q: Array, motion: MotionMap) -> tuple[pin.Model, pin.Data, Array, Array]:
        return self.model, self.data, self.configuration(q), self.there(motion.v)

    def _matrices(self, *found: Array) -> Iterator[Array]:
        return (X[np.ix_(self.rows, self.rows)] for X in found)

    # -- what it says --------------------------------------------------------------------------------------------------

    def kinematics(self, q: Array, qd: Array) -> Kinematics:
        """Poses, twists, Jacobians and their rates of all links."""
        to = self.motion(q, qd, 0.0 * qd)
        state = self._state(q, to)
        pin.computeJointJacobiansTimeVariation(*state)
        pin.updateFramePlacements(self.model, self.data)
        frames = [self.model.getFrameId(link.name) for link in self.links]
        g = np.stack([self.data.oMf[k].homogeneous for k in frames])
        J, Jd = (
            np.stack([jacobian(self.model, self.data, k, pin.LOCAL)[SWAPPED][:, self.rows] for k in frames])
            for jacobian in (pin.getFrameJacobian, pin.getFrameJacobianTimeVariation)
        )
        return Kinematics(g, J @ to.v, J @ to.A, Jd @ to.A + J @ to.Ad)

    def energy(self, q: Array, qd: Array) -> tuple[float, float]:
        """Kinetic energy, and that of gravity."""
        state = self._state(q, self.motion(q, qd, 0.0 * qd))
        # it leaves out what stands on the ground
        ground = self.model.inertias[0]
        gravity = pin.computePotentialEnergy(*state[:3]) - ground.mass * self.model.gravity.linear @ ground.lever
        return pin.computeKineticEnergy(*state), gravity

    def mass_matrix(self, q: Array) -> Array:
        """Mass matrix, by composite bodies."""
        to = self.motion(q, 0.0 * q, 0.0 * q)
        (M,) = self._matrices(pin.crba(*self._state(q, to)[:3]))
        return to.A.T @ M @ to.A

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Generalised forces, by the recursive Newton-Euler algorithm."""
        to = self.motion(q, qd, qdd)
        return to.A.T @ pin.rnea(*self._state(q, to), self.there(to.vdot))[self.rows]

    def inverse_dynamics_derivatives(self, q: Array, qd: Array, qdd: Array) -> InverseDynamicsDerivatives:
        """Generalised forces and their derivatives."""
        to = self.motion(q, qd, qdd)
        by_x, by_v, M = self._matrices(*pin.computeRNEADerivatives(*self._state(q, to), self.there(to.vdot)))
        f = self.data.tau[self.rows]
        dtau_dq = self.transposed_slope(q, f) + to.A.T @ (by_x @ to.A + by_v @ to.dv_dq + M @ to.dvdot_dq)
        return InverseDynamicsDerivatives(
            to.A.T @ f, dtau_dq, to.A.T @ (by_v @ to.A + M @ to.dvdot_dqd), to.A.T @ M @ to.A
        )

    def forward_dynamics(self, q: Array, qd: Array, u: Array) -> Array:
        """Accelerations under the forces u of motors, by the articulated-body algorithm."""
        to = self.motion(q, qd, 0.0 * q)
        vdot = pin.aba(*self._state(q, to), self.there(u))[self.rows]
        return np.linalg.solve(to.A, vdot - to.Ad @ qd)

    def forward_dynamics_derivatives(self, q: Array, qd: Array, u: Array) -> ForwardDynamicsDerivatives:
        """Accelerations under the forces u of motors, and their derivatives."""
        qdd = self.forward_dynamics(q, qd, u)
        to = self.motion(q, qd, qdd)
        by_x, by_v, by_f = self._matrices(*pin.computeABADerivatives(*self._state(q, to), self.there(u)))
        by_q, by_qd = by_x @ to.A + by_v @ to.dv_dq - to.dvdot_dq, by_v @ to.A - to.dvdot_dqd
        return ForwardDynamicsDerivatives(qdd, *(np.linalg.solve(to.A, X) for X in (by_q, by_qd, by_f)))

    def solved_derivatives(self, q: Array, qd: Array, f: Array) -> ForwardDynamicsDerivatives:
        """The same from inverse dynamics, its derivatives and a factor of the mass matrix."""
        A = self.motion(q, qd, 0.0 * q).A
        factor = cho_factor(self.mass_matrix(q))
        qdd = cho_solve(factor, A.T @ f - self.inverse_dynamics(q, qd, 0.0 * q))
        _, by_q, by_qd, _ = self.inverse_dynamics_derivatives(q, qd, qdd)
        right = self.transposed_slope(q, f) - by_q, -by_qd, A.T
        return ForwardDynamicsDerivatives(qdd, *(cho_solve(factor, X) for X in right))


def pinocchio_joints(joint: Joint, universal: bool) -> tuple[list[pin.JointModel], Array]:
    """Joints in series, and a motion (4, 4) of their frame that is taken back behind them."""
    axis, turn = np.array(joint.axis), np.eye(4)
    if joint.kind == "fixed":
        return [], turn
    turn[:3, 3] = joint.through
    if joint.kind == "planar":  # its normal is z
        across_x, across_y, angle = directions_of(joint)
        turn[:3, :3] = np.stack([across_x[3:], across_y[3:], angle[:3]], axis=1)
        return [pin.JointModelPlanar()], turn
    if joint.kind == "cylindrical":
        both = pin.JointModelComposite(pin.JointModelRevoluteUnaligned(axis))
        both.addJoint(pin.JointModelPrismaticUnaligned(axis))
        return [both], turn
    if joint.kind == "universal":
        second = np.array(joint.second_axis)
        if universal and abs(axis @ second) < 1e-12:
            return [pin.JointModelUniversal(axis, second)], turn
        return [pin.JointModelRevoluteUnaligned(axis), pin.JointModelRevoluteUnaligned(second)], turn
    one = {
        "revolute": lambda: pin.JointModelRevoluteUnaligned(axis),
        "prismatic": lambda: pin.JointModelPrismaticUnaligned(axis),
        "helical": lambda: pin.JointModelHelicalUnaligned(axis, joint.pitch),
        "spherical": pin.JointModelSpherical,
        "free": pin.JointModelFreeFlyer,
    }
    return [one[joint.kind]()], turn
