"""Robots and results in notebooks: a small table beside a side view or a figure."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from html import escape
from io import BytesIO
from typing import Any, TypeVar

import numpy as np

from sorosim.base.arrays import Array
from sorosim.mechanics.robot import Robot
from sorosim.view.viz.side_view import side_view

MOST_LINKS = 12  # in a table, and as many loops
MOST_MODES, DRAWN_MODES = 6, 3
DPI = 80  # of figures
T = TypeVar("T")


def _or_none(make: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Return None instead of an error: the notebook then shows the plain text."""

    @wraps(make)
    def representation(thing: Any) -> T | None:
        try:
            return make(thing)
        except Exception:
            return None

    return representation


def _page(title: str, rows: Iterable[tuple[str, str]], picture: str) -> str:
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    table = f"<table><caption><b>{escape(title)}</b></caption>{cells}</table>"
    return f'<div style="display:flex;flex-wrap:wrap;align-items:center;gap:1em">{table}{picture}</div>'


def _picture(robot: Robot, states: list[Array], path: Array | None = None) -> str:
    with suppress(Exception):  # then the table is shown without it
        return side_view(robot, states, path)
    return ""


def _png(figure: Any) -> bytes:
    memory = BytesIO()
    figure.savefig(memory, format="png", dpi=DPI)
    return memory.getvalue()


def _image(png: bytes | None) -> str:
    return "" if png is None else f'<img alt="" src="data:image/png;base64,{b64encode(png).decode()}"/>'


def _position(p: Array) -> str:
    return ", ".join(f"{round(1e3 * x, 1) + 0.0:.1f}" for x in p) + " mm"  # no -0.0


def _inputs(robot: Robot, u: Array) -> str:
    pairs = zip(robot.actuator_names, u, robot.actuator_units, strict=True)
    return ", ".join(f"{name} {value:.4g} {unit}" for name, value, unit in pairs if value) or "none"


@_or_none
def robot_html(robot: Robot) -> str:
    """A robot: its counts, its links and loops, its shape as it is built."""
    head, *lines = robot.summary().split("\n")
    rows = [("", head.removeprefix(f"{robot.name}: "))]
    n = len(robot.links)
    m = n + len(robot.loop_names)
    k = m + len(robot.coupling_names)
    blocks = ("links", lines[:n]), ("loops", lines[n:m]), ("couplings", lines[m:k]), ("sensors", lines[k:])
    for what, some in blocks:
        rows += [(name, text) for name, _, text in (line.strip().partition(": ") for line in some[:MOST_LINKS])]
        if len(some) > MOST_LINKS:
            rows.append(("...", f"{len(some) - MOST_LINKS} more {what}"))
    if robot.actuator_names:
        rows.append(("actuators", ", ".join(robot.actuator_names)))
    return _page(robot.name, rows, _picture(robot, [robot.initial_q]))


@_or_none
def result_html(result: Any) -> str:
    """A result in a line, and its summary if it has one."""
    told = f"<pre>{escape(result.summary())}</pre>" if hasattr(result, "summary") else ""
    return f"<b>{escape(repr(result))}</b>{told}"


@_or_none
def equilibrium_html(eq: Any) -> str:
    """An equilibrium: inputs, tip, residual, and its shape beside that at q = 0."""
    rows = [("solver", eq.message), ("residual", f"{eq.residual_norm:.2g}"), ("inputs", _inputs(eq.robot, eq.u))]
    with suppress(Exception):
        if eq.stiffness is not None:  # of a large tree it would be formed for this
            rows.append(("stable", "yes" if eq.stable else f"no: {eq.stability}"))
    rows += zip(eq.robot.outputs.points, map(_position, eq.robot.outputs.poses(eq.q)[:, :3, 3]), strict=True)
    return _page(f"{eq.robot.name}: equilibrium", rows, _picture(eq.robot, [np.zeros(eq.robot.ndof), eq.q]))


@_or_none
def run_html(run: Any) -> str:
    """A run: its span, how it was computed, its first and last shape and the path of the tip."""
    if not len(run.t):
        return _page(f"{run.robot.name}: run", [("times", "none"), ("integrator", run.message)], "")
    rows = [("time", f"{run.t[0]:g} to {run.t[-1]:g} s, {len(run.t)} states")]
    if "method" in run.options:
        wall = run.stats.get("wall_time")
        rows.append(("method", str(run.options["method"]) + ("" if wall is None else f", computed in {wall:.2f} s")))
    if run.companion is not None:
        rows.append(("accuracy", str(run.accuracy)))
    some = np.unique(np.linspace(0, len(run.t) - 1, min(len(run.t), 150)).astype(int))
    outputs = run.robot.outputs
    paths = outputs.positions(run.q[some])
    rows.append(("integrator", run.message))
    rows += [(f"{name} at the end", _position(p)) for name, p in zip(outputs.points, paths[-1], strict=True)]
    return _page(f"{run.robot.name}: run", rows, _picture(run.robot, [run.q[0], run.q[-1]], paths[:, 0]))


@_or_none
def sweep_png(sweep: Any) -> bytes:
    """The figure of a sweep."""
    return _png(sweep.plot())


@_or_none
def sweep_html(sweep: Any) -> str:
    """A sweep: what was computed at how many points, what varied, between which places the outputs are; its figure."""
    rows = [("computed", f"{sweep.plan.command} at {len(sweep)} points, {int(sweep.ok.sum())} with a result")]
    for name, unit, column in zip(sweep.names, sweep.units, sweep.plan.samples.columns, strict=True):
        values = sorted(set(column))
        words = any(isinstance(value, str) for value in values)
        span = ", ".join(map(str, values)) if words else f"{values[0]:.4g} to {values[-1]:.4g} {unit}".rstrip()
        rows.append((name, f"{span}, {len(values)} values"))
    if sweep.ok.any():
        for label, poses in sweep.poses.items():
            low, high = (f(poses[sweep.ok, :3, 3], axis=0) for f in (np.min, np.max))
            rows.append((f"tip of {label}", f"{_position(low)} to {_position(high)}"))
    for i, why in list(sweep.failed.items())[:1]:
        rows.append((f"failed: point {i}", why))
    return _page(f"{sweep.robot.name}: sweep", rows, _image(sweep_png(sweep)))


@_or_none
def linearization_png(lin: Any) -> bytes:
    """The figure of the first modes of a linearised motion."""
    return _png(lin.plot(modes=range(1, min(DRAWN_MODES, len(lin.damped)) + 1)))


@_or_none
def linearization_html(lin: Any) -> str:
    """A linearised motion: whether it is stable, its first modes and their figure."""
    from sorosim.analysis.results.modes import describe

    about = "a steady motion" if lin.qd.any() else "an equilibrium"
    rows = [("about", f"{about}, {len(lin.names)} coordinates are free"), ("stability", lin.stability)]
    rows += [(f"mode {k}", describe(lin, k)) for k in range(1, min(MOST_MODES, len(lin.damped)) + 1)]
    if len(lin.damped) > MOST_MODES:
        rows.append(("...", f"{len(lin.damped) - MOST_MODES} more modes"))
    name = "" if lin.robot is None else f"{lin.robot.name}: "
    return _page(f"{name}linearised motion", rows, _image(linearization_png(lin)))
