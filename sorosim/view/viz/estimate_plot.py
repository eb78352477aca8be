"""Plots of estimates: the shape with its band, what was unknown, loads along rods, residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.view.viz.checks import PathLike
from sorosim.view.viz.figures import PALETTE, legend_beside, new_figure

# of shapes that are drawn from the posterior; points along a rod; quantile of bands of 95 %
SAMPLES, POINTS, BAND = 40, 41, 1.96
POINTED = (3, 5)  # entries of a position, of a position behind a direction
AXES = "xyz"


def plot_estimate(estimate: Any, path: PathLike | None = None, style: PathLike | None = None) -> Figure:
    """The shape with others that are as probable, readings, what was unknown beside what was expected, residuals."""
    along = [one for one in estimate.unknowns if one.functions is not None]
    with new_figure(11.0, 4.2 * (2 + (len(along) + 1) // 2), path, style) as figure:
        grid = figure.add_gridspec(2 + (len(along) + 1) // 2, 2)
        _shape(figure.add_subplot(grid[0, :]), estimate)
        _unknowns(figure.add_subplot(grid[1, 0]), estimate)
        _residuals(figure.add_subplot(grid[1, 1]), estimate)
        for k, one in enumerate(along):
            _along(figure.add_subplot(grid[2 + k // 2, k % 2]), estimate, one)
        figure.suptitle(f"{estimate.robot.name}: estimate from {len(estimate.outputs)} readings")
    return figure


def _lines(estimate: Any) -> tuple[Array, Array, list[tuple[str, slice]]]:
    """Positions (k, 3) along all rods, their derivatives (k, 3, n) by what was unknown, and which belong to which."""
    places, parts = list[tuple[str, float]](), list[tuple[str, slice]]()
    for link in estimate.robot.description.links:
        s = np.linspace(0.0, 1.0, POINTS) if link.rod is not None else [1.0]
        parts.append((link.name, slice(len(places), len(places) + len(s))))
        places += [(link.name, float(x)) for x in s]
    g, V = estimate.moved(places)
    return g[:, :3, 3], g[:, :3, :3] @ V[:, 3:], parts


def _shape(axes: Any, estimate: Any) -> None:
    """The robot in the plane of its two largest extents."""
    mean, by, parts = _lines(estimate)
    first, second = sorted(np.argsort(-np.ptp(mean, axis=0))[:2].tolist())
    root = np.linalg.svd(np.nan_to_num(estimate._covariance))
    draw = root[0] * np.sqrt(root[1])
    random = np.random.default_rng(0)
    for k in range(SAMPLES):
        p = mean + by @ (draw @ random.standard_normal(len(estimate.mean)))
        for _, own in parts:
            label = "as probable" if k == 0 and own.start == 0 else None
            axes.plot(p[own, first], p[own, second], color=PALETTE[4], linewidth=0.6, alpha=0.5, label=label)
    for k, (_, own) in enumerate(parts):
        marker = {} if own.stop - own.start > 1 else {"marker": "s", "markersize": 4.0}
        label = "estimate" if k == 0 else None
        axes.plot(mean[own, first], mean[own, second], color=PALETTE[0], linewidth=1.8, label=label, **marker)
    for key, error in estimate.residuals.items():
        if key in estimate.robot.sensor_names or len(error) not in POINTED or np.isnan(error).any():
            continue
        try:
            place, _ = estimate.pose(key)
        except InputError:  # an Anchor beside a link, which has no name
            continue
        read = place[:3, 3] - error[-3:]
        axes.plot(read[first], read[second], "o", color=PALETTE[1], markersize=5.0, label=None)
    axes.plot([], [], "o", color=PALETTE[1], label="read")
    axes.set(xlabel=f"{AXES[first]} [m]", ylabel=f"{AXES[second]} [m]")
    axes.set_aspect("equal", adjustable="datalim")
    legend_beside(axes)


def _unknowns(axes: Any, estimate: Any) -> None:
    """What was found, in standard deviations of what was expected where there are some, of itself elsewhere."""
    names, rows = list(estimate.names), []
    told = np.sqrt(np.diag(estimate.covariance))
    information = np.diag(estimate._information)
    expected = estimate.expected
    for k, name in enumerate(names):
        size = 1.0 / np.sqrt(information[k]) if information[k] > 0.0 else told[k]
        if np.isfinite(size) and size > 0.0:
            rows.append((name, (estimate.mean[k] - expected[k]) / size, told[k] / size, information[k] > 0.0))
    rows = rows[::-1]
    at = np.arange(len(rows))
    for y, (_, x, sd, has_prior) in zip(at, rows, strict=True):
        if has_prior:
            axes.plot([-BAND, BAND], [y, y], color=PALETTE[6], alpha=0.15, linewidth=7.0, solid_capstyle="butt")
        axes.errorbar(x, y, xerr=BAND * sd, fmt="o", color=PALETTE[0], markersize=4.0, capsize=2.5, linewidth=1.4)
    axes.set_yticks(at, [name for name, *_ in rows], fontsize=8 if len(rows) < 16 else 5)
    axes.axvline(0.0, color="0.6", linewidth=0.8)
    axes.set(xlabel="off what was expected, in its standard deviations (grey: 95 % before)")


def _residuals(axes: Any, estimate: Any) -> None:
    """Residuals over their standard deviations."""
    r = np.nan_to_num(np.concatenate([np.asarray(one) for one in estimate.residuals.values()]) / estimate.noise)
    axes.bar(np.arange(len(r)), r, color=PALETTE[2], width=0.8)
    for level in (-BAND, BAND):
        axes.axhline(level, color="0.6", linewidth=0.8, linestyle="--")
    axes.set_xticks(np.arange(len(r)), estimate.outputs, rotation=90, fontsize=8 if len(r) < 25 else 5)
    axes.set(ylabel="residual over its deviation")


def _along(axes: Any, estimate: Any, one: Any) -> None:
    """A load along a rod, with its band of 95 %."""
    s = np.linspace(0.0, 1.0, POINTS)
    mean, C = estimate.force(one.key, s, one.kind)
    n = len(one.functions)
    for i in range(3):
        label = one.names[i * n].removeprefix(f"{one.key}.").partition("[")[0]
        half: Array = BAND * np.sqrt(C[:, i, i])
        axes.plot(s, mean[:, i], color=PALETTE[i], label=label)
        axes.fill_between(s, mean[:, i] - half, mean[:, i] + half, color=PALETTE[i], alpha=0.2, linewidth=0.0)
    axes.set(xlabel=f"s of {one.key}", ylabel=f"{one.kind} [{one.units[0]}]")
    legend_beside(axes)
