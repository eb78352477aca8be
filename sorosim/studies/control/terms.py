"""A cost of a robot: its value, gradient and Gauss-Newton Hessian along a motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, ModelError, nearest
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.mechanics.lie.so3 import log_so3, skew
from sorosim.mechanics.robot import Robot
from sorosim.studies.control.cost import Cost, StateWeights, called, course


class Expansion(NamedTuple):
    """Derivatives of a cost at the ends of steps; Hessians are those of Gauss and Newton."""

    x: Array  # (N + 1, n), n = n_states, or n_states + n_actuators with the inputs before
    u: Array  # (N, n_actuators)
    xx: Array  # (N + 1, n, n)
    uu: Array  # (N, n_actuators, n_actuators)
    ux: Array  # (N, n_actuators, n)


class Terms:
    """The terms of a `Cost` for one robot, times of steps dt, and a goal (n_states,).

    States are [q; qd; z]; strains z of Maxwell elements cost nothing.
    """

    def __init__(self, cost: Cost, robot: Robot, dt: float, goal: Array | None, n_states: int) -> None:
        self.cost, self.robot, self.dt = cost, robot, dt
        n, names, rest = robot.ndof, robot.actuator_names, (0, n_states - 2 * robot.ndof)
        self.goal = np.zeros(n_states) if goal is None else goal
        self.running, self.final = (
            np.pad(_of_state(robot, name, getattr(cost, name)), rest) for name in ("goal", "final")
        )
        if cost.exact and not self.final.any():
            self.final = np.pad(np.full(2 * n, 100.0), rest)
        self.effort, self.smoothness = (
            _weights(f"cost.{name}", getattr(cost, name), len(names),
                     lambda word, name=name: _actuator(names, word, f"cost.{name}"))  # type: ignore[misc]
            for name in ("effort", "smoothness")
        )  # fmt: skip
        self.final_scale, self.shift = 1.0, np.zeros(n_states)  # of the weights at the end; multipliers of `exact`
        wanted: list[Any] = [one.place for one in cost.places]
        for obstacle in cost.obstacles:
            wanted += obstacle.places
        self.frames = LinkFrames(robot.description, robot.engine, wanted, "cost.places") if wanted else None

    def references(self, times: Array) -> list[Array]:
        """Where places are to be at the ends of steps."""
        out = []
        for i, one in enumerate(self.cost.places):
            which, shape = ("position", (3,)) if one.pose is None else ("pose", (4, 4))
            where = f"cost.places[{i}].{which}"
            try:
                out.append(course(getattr(one, which), times, shape, where))
            except ModelError as error:
                raise InputError(error.where, error.expected, error.got, error.hint) from None
        return out

    def value(
        self, times: Array, X: Array, U: Array, references: Sequence[Array], before: Array | None = None,
        *, ends: bool = True,
    ) -> float:  # fmt: skip
        """The cost of states X (N + 1, n_states) and inputs U (N, n_actuators).

        before: inputs before the first (None: the first ones); ends: whether what counts at the end does.
        """
        dX, dt, N = X[: len(U)] - self.goal, self.dt, len(U)
        total = 0.5 * dt * float((dX**2 @ self.running).sum() + (U**2 @ self.effort).sum())
        total += 0.5 / dt * float((np.diff(U, axis=0, prepend=_first(U, before)) ** 2 @ self.smoothness).sum())
        if ends:
            total += 0.5 * self.final_scale * float((X[-1] - self.goal + self.shift) ** 2 @ self.final)
        for k in range(N + ends if self._per_node else 0):
            r = self._residuals(k, times, X, U, references, False)[0]
            total += 0.5 * (dt if k < N else self.final_scale) * float(r @ r)
        return total

    def expand(self, times: Array, X: Array, U: Array, references: Sequence[Array]) -> Expansion:
        """Derivatives by states and inputs, but for `smoothness`."""
        N, m, n, dt = len(U), U.shape[1], X.shape[1], self.dt
        weights = np.vstack([np.tile(dt * self.running, (N, 1)), self.final_scale * self.final])
        x, u = weights * (X - self.goal), dt * self.effort * U
        x[-1] += weights[-1] * self.shift
        xx, uu = weights[:, :, None] * np.eye(n), np.tile(np.diag(dt * self.effort), (N, 1, 1))
        ux = np.zeros((N, m, n))
        for k in range(N + 1 if self._per_node else 0):
            r, by_x, by_u = self._residuals(k, times, X, U, references, True)
            scale = dt if k < N else self.final_scale
            x[k] += scale * by_x.T @ r
            xx[k] += scale * by_x.T @ by_x
            if k < N and self.cost.functions:
                u[k] += scale * by_u.T @ r
                uu[k] += scale * by_u.T @ by_u
                ux[k] += scale * by_u.T @ by_x
        return Expansion(x, u, xx, uu, ux)

    def with_smoothness(self, cost: Expansion, U: Array, before: Array | None = None) -> Expansion:
        """The same with what changes of inputs cost, of states [x; inputs before]."""
        N, m, n = cost.ux.shape
        change = self.smoothness / self.dt * np.diff(U, axis=0, prepend=_first(U, before))
        stiff = np.tile(np.diag(self.smoothness / self.dt), (N, 1, 1))
        if before is None:
            stiff[:1] = 0.0
        xx = np.pad(cost.xx, ((0, 0), (0, m), (0, m)))
        xx[:N, n:, n:] = stiff
        x = np.hstack([cost.x, np.vstack([-change, np.zeros((1, m))])])
        return Expansion(x, cost.u + change, xx, cost.uu + stiff, np.concatenate([cost.ux, -stiff], axis=2))

    @property
    def has_end(self) -> bool:
        """Whether something counts at the end."""
        places = any(one.final for one in self.cost.places)
        return bool(self.final.any() or self.cost.final_functions or places)

    @property
    def _per_node(self) -> bool:
        cost = self.cost
        return bool(cost.places or cost.obstacles or cost.functions or cost.final_functions)

    def _residuals(
        self, k: int, times: Array, X: Array, U: Array, references: Sequence[Array], derive: bool
    ) -> tuple[Array, Array, Array]:
        """Residuals of places, obstacles and functions at the end of a step, and their derivatives by x and u."""
        n, m, last, cost, rest = self.robot.ndof, U.shape[1], k == len(U), self.cost, X.shape[1] - 2 * self.robot.ndof
        q, r, by_q = X[k, :n], [np.zeros(0)], [np.zeros((0, n))]
        if self.frames is not None:
            no_slopes = np.zeros((len(self.frames.names), 6, n))
            poses, J = self.frames.jacobians(q) if derive else (self.frames.poses(q), no_slopes)
            for i, one in enumerate(cost.places):
                if weight := one.final if last else one.weight:
                    value, rows = _miss(poses[i], J[i], references[i][k], one.lever)
                    r.append(np.sqrt(weight) * value)
                    by_q.append(np.sqrt(weight) * rows)
            i = len(cost.places)
            for obstacle in cost.obstacles:
                for _ in obstacle.places:
                    distance, normal = obstacle.distance(poses[i, :3, 3])
                    if (missing := obstacle.clearance - distance) > 0.0:
                        size = np.sqrt(obstacle.weight * (self.dt if last else 1.0))
                        r.append(np.array([size * missing]))
                        by_q.append(-size * (normal @ poses[i, :3, :3] @ J[i, 3:])[None])
                    i += 1
        value, of_q = np.concatenate(r), np.vstack(by_q)
        by_x, by_u = np.hstack([of_q, np.zeros_like(of_q)]), np.zeros((len(of_q), m))
        for j, function in enumerate(cost.final_functions if last else cost.functions):
            where = f"cost.{'final_' if last else ''}functions[{j}]"
            given = called(where, function, float(times[k]), q, X[k, n : 2 * n], *(() if last else (U[k],)))
            parts = _checked(where, given, (n, n) if last else (n, n, m))
            value = np.concatenate([value, parts[0]])
            by_x = np.vstack([by_x, np.hstack(parts[1:3])])
            by_u = np.vstack([by_u, np.zeros((len(parts[0]), m)) if last else parts[3]])
        return value, np.pad(by_x, ((0, 0), (0, rest))), by_u


def _first(U: Array, before: Array | None) -> Array:
    return U[:1] if before is None else before[None]


def _miss(pose: Array, J: Array, reference: Array, lever: float) -> tuple[Array, Array]:
    """Distance vector of a frame from its reference, and its derivatives by q; of a pose also lever times the angle."""
    if reference.ndim == 1:
        return pose[:3, 3] - reference, pose[:3, :3] @ J[3:]
    w = log_so3(np.ascontiguousarray(reference[:3, :3].T @ pose[:3, :3]))
    angle = float(np.linalg.norm(w))
    # inverse of the right Jacobian of SO(3): docs/theory.md, A
    factor = 1.0 / 12.0 if angle < 1e-3 else (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    W = skew(w)
    rows = lever * (np.eye(3) + 0.5 * W + factor * W @ W) @ J[:3]
    return np.concatenate([lever * w, pose[:3, 3] - reference[:3, 3]]), np.vstack([rows, pose[:3, :3] @ J[3:]])


def _checked(where: str, given: object, columns: tuple[int, ...]) -> list[Array]:
    """Residuals and derivatives that a user's function gave."""
    count = len(columns) + 1
    if not isinstance(given, tuple | list) or len(given) != count:
        names = "r, dr/dq, dr/dqd" + ("" if count == 3 else ", dr/du")
        raise InputError(where, f"{count} arrays: {names}", type(given).__name__)
    try:
        first, *parts = (np.asarray(part, dtype=float) for part in given)
    except (TypeError, ValueError) as error:
        raise InputError(where, "arrays of numbers", str(error)) from None
    out = [np.atleast_1d(first)]
    for part, n in zip(parts, columns, strict=True):
        rows = part.reshape(-1, n) if np.size(part) == len(out[0]) * n else np.zeros((0, n))
        if len(rows) != len(out[0]):
            raise InputError(where, f"derivatives of shape ({len(out[0])}, {n})", f"one of shape {np.shape(part)}")
        out.append(rows)
    if not all(np.isfinite(part).all() for part in out):
        raise InputError(where, "finite numbers", "others")
    return out


def _of_state(robot: Robot, name: str, given: StateWeights | None) -> Array:
    """Weights (2 ndof,) of a state."""
    layout, zero = robot.engine.layout, StateWeights()
    return np.concatenate([
        _weights(f"cost.{name}.{part}", getattr(given or zero, part), robot.ndof,
                 lambda word, part=part: layout.coordinate(word, f"cost.{name}.{part}"))  # type: ignore[misc]
        for part in ("q", "qd")
    ])  # fmt: skip


def _weights(where: str, given: Any, n: int, index: Callable[[str], int]) -> Array:
    if isinstance(given, Mapping):
        out = np.zeros(n)
        for name, weight in given.items():
            out[index(name)] = weight
        return out
    if isinstance(given, tuple):
        if len(given) != n:
            raise InputError(where, f"{n} weights", f"{len(given)}")
        return np.array(given)
    return np.full(n, float(given))


def _actuator(names: Sequence[str], name: str, where: str) -> int:
    if name not in names:
        raise InputError(where, "the name of an actuator", f"'{name}'", nearest(str(name), names))
    return names.index(name)
