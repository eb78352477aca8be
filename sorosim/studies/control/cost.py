"""What a motion costs, declared by names: sums of squares, whose derivatives are exact.

J = sum_k dt/2 |r(t_k, x_k, u_k)|^2 + 1/2 |r_N(x_N)|^2, x = [q; qd]. Second derivatives are those of Gauss and Newton,
J_r^T J_r. Source: docs/theory.md, 16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.declare import At, Boolean, Declared, ListOf, Part, Quantity, Type, Vector, key
from sorosim.base.declare.base import Define
from sorosim.base.declare.types import SignalVector, is_list
from sorosim.base.errors import InputError, ModelError, SorosimError
from sorosim.base.problems import shown
from sorosim.base.signals import as_signal
from sorosim.mechanics.model.pose import check_pose

_WEIGHT = Quantity("number", least=0.0)


class Weights(Type):
    """One weight for all, weights by name (others are zero), or in order."""

    def read(self, value: Any, at: At) -> Any:
        if isinstance(value, Mapping):
            found = {name: _WEIGHT.read(one, at / str(name)) for name, one in value.items()}
            return found if all(isinstance(one, float) for one in found.values()) else at.attempt(lambda: found)
        if is_list(value):
            return tuple(_WEIGHT.read(one, at / i) for i, one in enumerate(value))
        return _WEIGHT.read(value, at)

    def schema(self, define: Define) -> dict[str, Any]:
        one = {"type": ["number", "string"]}
        return {"anyOf": [one, {"type": "object", "additionalProperties": one}, {"type": "array", "items": one}]}


class TargetPlace(Type):
    """A point, which may move: three lengths or expressions of t; in Python also (N + 1, 3) or a function of t."""

    signals = SignalVector("length")

    def read(self, value: object, at: At) -> Any:
        if callable(value):
            return value
        if isinstance(value, np.ndarray) and value.ndim == 2:
            return at.attempt(lambda: _finite(value, (None, 3)))
        return self.signals.read(value, at)

    def schema(self, define: Define) -> dict[str, Any]:
        return self.signals.schema(define)


class Place(Type):
    """A place on a link, as `LinkFrames` takes one."""

    def schema(self, define: Define) -> dict[str, Any]:
        section = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number", "minimum": 0, "maximum": 1}],
                   "minItems": 2, "maxItems": 2}  # fmt: skip
        return {"anyOf": [{"type": "string"}, section]}


class Poses(Type):
    """A pose (4, 4), poses (N + 1, 4, 4), or a function of t that gives one."""

    def check(self, value: Any) -> Any:
        return value if callable(value) else _rigid(_finite(value, (4, 4) if np.ndim(value) == 2 else (None, 4, 4)))


class Functions(Type):
    """Functions of Python."""

    def check(self, value: Any) -> Any:
        functions = (value,) if callable(value) else tuple(value) if is_list(value) else (None,)
        if not all(map(callable, functions)):
            raise ModelError("", "a function, or several in a list", shown(value))
        return functions


def _finite(value: object, shape: tuple[int | None, ...]) -> Array:
    words = "(" + ", ".join("N + 1" if n is None else str(n) for n in shape) + ")"
    try:
        out = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError("", f"an array {words}", shown(value)) from None
    if out.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, out.shape, strict=True)):
        raise ModelError("", f"an array {words}", f"one of shape {out.shape}")
    if not np.isfinite(out).all():
        raise ModelError("", "finite numbers", "others")
    return out


def _rigid(poses: Array) -> Array:
    """Poses, if they are some."""
    for k, pose in enumerate(poses.reshape(-1, 4, 4)):
        check_pose(f"[{k}]" if poses.ndim == 3 else "", pose)
    return poses


@dataclass(frozen=True)
class StateWeights(Declared, title="Weights of a state"):
    """Weights of the distance from the goal."""

    q: Any = key(Weights(), "Of coordinates: one number for all, or by name.", "100", default=0.0)
    qd: Any = key(Weights(), "Of their rates.", "10", default=0.0)


@dataclass(frozen=True, eq=False)
class PlaceCost(Declared, title="Costs of places"):
    """A frame on a link that is to reach or follow a position or a pose."""

    place: Any = key(Place(), "Name of a link or of a frame, [link, s], in Python also an Anchor.", "arm")
    _: KW_ONLY
    position: Any = key(
        TargetPlace(),
        "Where it is to be: lengths or expressions of t; in Python also an array (N + 1, 3) or a function.",
        "[30 cm, 5 cm*sin(t), 0]", default=None,
    )  # fmt: skip
    pose: Any = key(Poses(), "The same for poses (4, 4), by arrays or functions.", default=None)
    weight: float = key(_WEIGHT, "Of the squared distance [1/m^2], all along.", "100", default=0.0)
    final: float = key(_WEIGHT, "The same at the end.", "1000", default=0.0)
    lever: float = key(
        Quantity("length", above=0.0), "Length that turns an angle of a pose into a distance.", "10 cm", default=0.1
    )

    def validate(self) -> None:
        if (self.position is None) == (self.pose is None):
            raise ModelError("", "a position or a pose, one of them", "none" if self.pose is None else "both")
        if not (self.weight or self.final):
            raise ModelError("", "a weight or a final weight", "none")


@dataclass(frozen=True)
class Obstacle(Declared, title="Obstacles"):
    """A ball, or a box along the axes of the world, from which places keep away: w/2 max(0, clearance - distance)^2."""

    places: tuple[Any, ...] = key(ListOf(Place(), "at least one place"), "Places, as `place`.", "[arm, [arm, 0.5]]")
    centre: tuple[float, ...] = key(Vector("length"), "Its centre.", "[30 cm, 0, 0]")
    _: KW_ONLY
    radius: float | None = key(Quantity("length", above=0.0), "Of a ball.", "5 cm", default=None)
    size: tuple[float, ...] | None = key(
        Vector("length", above=0.0), "Edges of a box.", "[10 cm, 10 cm, 20 cm]", default=None
    )
    clearance: float = key(Quantity("length", least=0.0), "Distance to keep.", "2 cm", default=0.0)
    weight: float = key(_WEIGHT, "Of the square of what is missing of it [1/m^2].", "1e5", default=1e4)

    def validate(self) -> None:
        if (self.radius is None) == (self.size is None):
            got = "neither" if self.size is None else "both"
            raise ModelError("", "a radius (of a ball) or a size (of a box), one of them", got)

    def distance(self, p: Array) -> tuple[float, Array]:
        """Signed distance of a point from the surface, positive outside, and its gradient (3,)."""
        d = p - np.array(self.centre)
        if self.radius is not None:
            length = float(np.linalg.norm(d))
            return length - self.radius, d / length if length > 0.0 else np.zeros(3)
        out, beyond = np.zeros(3), np.abs(d) - 0.5 * np.array(self.size)
        if (beyond <= 0.0).all():
            i = int(np.argmax(beyond))
            out[i] = np.copysign(1.0, d[i])
            return float(beyond[i]), out
        outside = np.maximum(beyond, 0.0)
        length = float(np.linalg.norm(outside))
        return length, np.sign(d) * outside / length


@dataclass(frozen=True, eq=False)
class Cost(Declared, title="Costs"):
    """What a motion costs: half the sum of weighted squares, those along the motion integrated over time.

    A function ``f(t, q, qd, u)`` of `functions` gives residuals r (m,) and their derivatives dr/dq (m, ndof), dr/dqd,
    dr/du (m, n_actuators); it costs ``dt |r|^2 / 2`` at every step. ``f(t, q, qd)`` of `final_functions` gives r,
    dr/dq, dr/dqd and costs ``|r|^2 / 2`` at the end.
    """

    _: KW_ONLY
    goal: Any = key(Part(StateWeights), "Weights of the distance from the goal, all along.", "{q: 1}", default=None)
    final: Any = key(Part(StateWeights), "The same at the end.", "{q: 1000, qd: 100}", default=None)
    exact: bool = key(
        Boolean(), "Whether the motion ends at the goal exactly, by the method of multipliers.", "true", default=False
    )
    effort: Any = key(Weights(), "Of inputs: one number for all, or by name.", "{motor: 1e-3}", default=0.0)
    smoothness: Any = key(Weights(), "Of rates of inputs, (u_k - u_(k-1)) / dt, likewise.", "1e-4", default=0.0)
    places: tuple[PlaceCost, ...] = key(
        ListOf(Part(PlaceCost)), "Places and where they are to be.",
        "[{place: arm, position: [30 cm, 0, 0], final: 1e4}]", default=(),
    )  # fmt: skip
    obstacles: tuple[Obstacle, ...] = key(
        ListOf(Part(Obstacle)), "What places keep away from.",
        "[{places: [arm], centre: [20 cm, 0, 0], radius: 5 cm}]", default=(),
    )  # fmt: skip
    functions: tuple[Any, ...] = key(Functions(), "Functions of Python: residuals along the motion.", default=())
    final_functions: tuple[Any, ...] = key(Functions(), "The same at the end.", default=())

    def validate(self) -> None:
        if not any(getattr(self, name) for name in self.declaration() if name not in ("effort", "smoothness")):
            raise ModelError("", "something to reach: goal, final, exact, places or functions", "none")

    @property
    def needs_goal(self) -> bool:
        """Whether a goal must be given."""
        return bool(self.goal or self.final or self.exact)


def called(where: str, function: Callable[..., Any], *arguments: object) -> Any:
    """What a user's function gives."""
    try:
        return function(*arguments)
    except SorosimError:
        raise
    except Exception as error:
        raise InputError(where, "a function without errors", f"{type(error).__name__}: {error}") from error


def course(value: Any, times: Array, shape: tuple[int, ...], where: str) -> Array:
    """References at times: (n, 3) or (n, 4, 4)."""
    if isinstance(value, tuple):
        return np.stack([as_signal(one, where).sample(times) for one in value], axis=-1)
    if callable(value):
        rows = [called(where, value, float(t)) for t in times]
        try:
            out = _finite(rows, (None, *shape))
            return out if shape == (3,) else _rigid(out)
        except ModelError as error:
            raise error.inside(where) from None
    if value.ndim == len(shape):
        return np.broadcast_to(value, (len(times), *shape))
    if len(value) != len(times):
        raise ModelError(where, f"{len(times)} rows, one for each end of a step", f"{len(value)}")
    return np.asarray(value)
