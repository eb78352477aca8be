"""Central differences of high order with a chosen step, relative errors, and the worst of them over a test run."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# weights of f(x + k h) - f(x - k h), k = 1, 2, ..: order of accuracy -> weights
STENCILS = {
    2: (1 / 2,),
    4: (2 / 3, -1 / 12),
    6: (3 / 4, -3 / 20, 1 / 60),
    8: (4 / 5, -1 / 5, 4 / 105, -1 / 280),
}


def relative_error(a: ArrayLike, b: ArrayLike) -> float:
    """max|a - b| / max|b|; 0 where both vanish."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape}"
    difference, size = np.abs(a - b).max(initial=0.0), np.abs(b).max(initial=0.0)
    return float(difference / size) if difference > 0.0 else 0.0


def slope(f: Callable[[float], ArrayLike], h: float, order: int = 6) -> Array:
    """df/dx at 0 of f(x): number -> array, by central differences with step h."""
    parts = [w * (np.asarray(f(k * h)) - np.asarray(f(-k * h))) for k, w in enumerate(STENCILS[order], 1)]
    return sum(parts) / h


def best_slope(f: Callable[[float], ArrayLike], steps: Sequence[float], order: int = 6) -> Array:
    """As `slope`, with the step whose result differs least from that of its neighbour.

    From large steps to small ones truncation falls and rounding grows; where two neighbours agree best both are small.
    """
    found = [slope(f, h, order) for h in steps]
    gaps = [np.abs(a - b).max(initial=0.0) for a, b in zip(found[1:], found, strict=False)]
    return found[int(np.argmin(gaps)) + 1]


def jacobian(
    f: Callable[[Array], ArrayLike],
    x: Array,
    steps: Sequence[float] | float,
    order: int = 6,
    scale: ArrayLike = 1.0,
) -> Array:
    """df/dx (..., n) at x (n,), column by column; one step, or for each column the best one, times scale (n,)."""
    scale = np.broadcast_to(np.asarray(scale, dtype=float), x.shape)
    columns = []
    for i, size in enumerate(scale):
        along = _line(f, x, i, size)
        column = slope(along, steps, order) if isinstance(steps, float) else best_slope(along, steps, order)
        columns.append(column / size)
    return np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(f(x)), 0))


def _line(f: Callable[[Array], ArrayLike], x: Array, i: int, size: float) -> Callable[[float], ArrayLike]:
    direction = size * np.eye(len(x))[i]
    return lambda a: f(x + a * direction)


class Worst(dict[str, float]):
    """The worst error of each kind over a run, to be printed at its end."""

    def note(self, kind: str, error: float) -> float:
        """Remember an error and return it."""
        self[kind] = max(self.get(kind, 0.0), error)
        return error

    def table(self, title: str) -> str:
        """The worst errors, one a line."""
        lines = [f"  {kind:45s} {error:.1e}" for kind, error in self.items()]
        return "\n".join([f"worst relative errors, {title}:", *lines])
