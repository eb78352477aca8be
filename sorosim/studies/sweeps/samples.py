"""The points of a sweep: grids, random and low-discrepancy samples, paths, tables; and in which order to visit them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sorosim.base.arrays import Array, IntArray

Value = float | str  # in SI units, or a word


@dataclass(frozen=True)
class Samples:
    """Values of parameters at points, those of each parameter in a column."""

    names: tuple[str, ...]
    columns: tuple[tuple[Value, ...], ...]
    shape: tuple[int, ...] | None = None  # of a grid, the last parameter changing fastest
    ordered: bool = False  # neighbours are near as they stand

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def row(self, i: int) -> dict[str, Value]:
        """Values of a point by name."""
        return {name: column[i] for name, column in zip(self.names, self.columns, strict=True)}

    @property
    def values(self) -> Array:
        """Values (n_points, n_parameters); of words their number in the order in which they first come."""
        return np.array([_numbers(column) for column in self.columns], dtype=float).reshape(len(self.names), -1).T


def _numbers(column: Sequence[Value]) -> list[float]:
    words = {word: k for k, word in enumerate(dict.fromkeys(x for x in column if isinstance(x, str)))}
    return [float(words[x]) if isinstance(x, str) else x for x in column]


def grid(axes: Mapping[str, Sequence[Value]]) -> Samples:
    """Every combination of values."""
    points = list(itertools.product(*axes.values()))
    return Samples(tuple(axes), tuple(zip(*points, strict=True)), tuple(map(len, axes.values())))


def uniform(bounds: Mapping[str, tuple[float, float]], n: int, seed: int) -> Samples:
    """Independent random points inside bounds."""
    return _inside(bounds, np.random.default_rng(seed).random((n, len(bounds))))


def latin_hypercube(bounds: Mapping[str, tuple[float, float]], n: int, seed: int) -> Samples:
    """Random points, one in each of n equal slices of every parameter."""
    from scipy.stats import qmc

    return _inside(bounds, _engine(qmc.LatinHypercube, len(bounds), seed).random(n))


def sobol(bounds: Mapping[str, tuple[float, float]], n: int, seed: int) -> Samples:
    """Scrambled Sobol points; they are balanced where n is a power of two."""
    from scipy.stats import qmc

    m = int(np.ceil(np.log2(n))) if n > 1 else 0
    return _inside(bounds, _engine(qmc.Sobol, len(bounds), seed).random_base2(m)[:n])


def _engine(kind: Callable[..., Any], d: int, seed: int) -> Any:
    """A sampler of scipy in d dimensions; its generator is called `rng` from scipy 1.15 on, `seed` before."""
    name = "rng" if "rng" in inspect.signature(kind).parameters else "seed"
    return kind(d, **{name: np.random.default_rng(seed)})


def _inside(bounds: Mapping[str, tuple[float, float]], unit: Array) -> Samples:
    low, high = np.array(list(bounds.values())).T
    points = low + unit * (high - low)
    return Samples(tuple(bounds), tuple(tuple(column.tolist()) for column in points.T))


def path(corners: Mapping[str, Sequence[float]], steps: int) -> Samples:
    """Straight from corner to corner, each way in so many steps; corners are met exactly."""
    table = np.array(list(corners.values())).T
    pieces = [a + (b - a) * np.arange(steps)[:, None] / steps for a, b in itertools.pairwise(table)]
    points = np.concatenate([*pieces, table[-1:]])
    return Samples(tuple(corners), tuple(tuple(column.tolist()) for column in points.T), ordered=True)


def listed(names: Sequence[str], rows: Sequence[Sequence[Value]]) -> Samples:
    """Points as they stand."""
    return Samples(tuple(names), tuple(zip(*rows, strict=True)), ordered=True)


# -- order


def visiting_order(samples: Samples, slow: Sequence[str], size: int) -> IntArray:
    """Numbers of the points in an order in which neighbours are near; parameters `slow` change as seldom as possible.

    Grids are gone through to and fro. Scattered points are halved across their widest parameter until there are no more
    than `size` together, and inside of these the nearest comes next.
    """
    if samples.ordered or not len(samples):
        return np.arange(len(samples))
    if samples.shape is not None:
        order = sorted(range(len(samples.names)), key=lambda k: samples.names[k] not in slow)
        return _snake(samples.shape, order)
    values = samples.values
    span = np.ptp(values, axis=0)
    return np.concatenate(_cells(values / np.where(span > 0.0, span, 1.0), np.arange(len(samples)), size))


def _snake(shape: Sequence[int], order: Sequence[int]) -> IntArray:
    """Numbers of the points of a grid to and fro, `order` its parameters from the slowest to the fastest."""
    out = np.zeros(1, dtype=np.int64)
    for k in order:
        steps = np.tile(np.arange(shape[k]) * int(np.prod(shape[k + 1 :])), (len(out), 1))
        steps[1::2] = steps[1::2, ::-1]
        out = (out[:, None] + steps).reshape(-1)
    return out


def _cells(values: Array, numbers: IntArray, size: int) -> list[IntArray]:
    """Halves of the points, of these halves and so on."""
    if len(numbers) <= size:
        return [_chain(values, numbers)]
    widest = int(np.argmax(np.ptp(values[numbers], axis=0)))
    ranked = numbers[np.argsort(values[numbers, widest], kind="stable")]
    # whole cells but for the last, so that cells and blocks are the same
    middle = size * max(round(len(numbers) / size / 2), 1)
    return _cells(values, ranked[:middle], size) + _cells(values, ranked[middle:], size)


def _chain(values: Array, numbers: IntArray) -> IntArray:
    """From the first point always to the nearest that is left."""
    points = values[numbers]
    visited = np.zeros(len(numbers))  # infinite for points that were visited
    out = [0]
    for _ in range(1, len(numbers)):
        visited[out[-1]] = np.inf
        out.append(int(np.argmin(np.sum((points - points[out[-1]]) ** 2, axis=1) + visited)))
    return numbers[out]
