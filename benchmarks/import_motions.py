"""One second of motion of a robot from a file, here and in the program that the file is for.

Both begin near the file's pose at small rates, without inputs, contacts, dry friction and end stops; the equations of
each are integrated by LSODA of scipy, so what differs is what the programs make of the file.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import sorosim
from benchmarks.context import Array
from sorosim.base.errors import ConvergenceError, SorosimWarning

T_END, DT_OUT = 1.0, 0.1  # s
START = 0.1  # coordinates and rates at the start, about: rad or m, and per s
TIGHT, LOOSE = 1e-11, 1e-10  # rtol; atol is a hundredth of it
FOLLOWS = 1e-5  # largest `difference` of one that is as in the other program
SENSITIVE = 1e-6  # of the motions here at both tolerances
MOST = 400_000  # steps of a run here, rates of the other program


class Flow(NamedTuple):
    """Equations of motion of another program, dx/dt = rate(x), of a state x of its own."""

    start: Callable[[Array, Array], Array]  # state of coordinates and rates as they are here
    rate: Callable[[Array], Array]
    coordinates: Callable[[Array], Array]  # of a state, as they are here


class Motion(NamedTuple):
    """How far a motion is from that of the other program."""

    off: float | None  # `difference`; None: not compared
    words: str = ""  # why it is not


def motion(robot: Any, flow: Flow, rng: np.random.Generator) -> Motion:
    """One second of motion here and there."""
    if robot.n_multipliers:
        return Motion(None, "loops")  # they give way in MuJoCo
    several = [i for i, name in enumerate(robot.coordinate_names) if ".free." in name or ".spherical." in name]
    q, qd = START * rng.uniform(-1.0, 1.0, robot.ndof), START * rng.normal(size=robot.ndof)
    q[several] = 0.0  # the other programs have other coordinates there
    alone = passive(robot)
    try:
        ours, again = moved(alone, q, qd, TIGHT), moved(alone, q, qd, LOOSE)
        theirs = followed(flow, q, qd)
    except (ConvergenceError, RuntimeError) as error:
        return Motion(None, str(error).splitlines()[0])
    n = len(ours)
    while difference(ours[:n], again[:n], robot.coordinate_names) > SENSITIVE:
        n -= 1
    off = difference(ours[:n], theirs[:n], robot.coordinate_names)
    if n < len(ours) and off < FOLLOWS:
        return Motion(None, f"too sensitive after {(n - 1) * DT_OUT:.1f} s, {off:.0e} until then")
    return Motion(off)


def passive(robot: Any) -> Any:
    """The robot without motors and dry friction."""
    links = tuple(
        replace(link, joint=replace(link.joint, friction=(0.0,) * link.joint.n))
        if any(getattr(link.joint, "friction", None) or ())
        else link
        for link in robot.description.links
    )
    return sorosim.Robot(replace(robot.description, links=links, actuators={}))


def moved(robot: Any, q: Array, qd: Array, rtol: float) -> Array:
    """Coordinates (n_times, ndof) of a motion here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SorosimWarning)
        run = sorosim.simulate(
            robot, T_END, dt_out=DT_OUT, q0=q, qd0=qd, method="lsoda", max_steps=MOST, rtol=rtol, atol=1e-2 * rtol
        )
    return np.asarray(run.q)


def followed(flow: Flow, q: Array, qd: Array) -> Array:
    """Coordinates (n_times, ndof) of the motion in the other program."""
    count = 0

    def rate(t: float, x: Any) -> Array:
        nonlocal count
        count += 1
        if count > MOST:
            raise RuntimeError(f"the other program has come to t = {t:.2g} s after {MOST} rates")
        return flow.rate(x)

    t = np.linspace(0.0, T_END, round(T_END / DT_OUT) + 1)
    found: Any = solve_ivp(
        rate, (0.0, T_END), flow.start(q, qd), method="LSODA", t_eval=t, rtol=TIGHT, atol=1e-2 * TIGHT
    )
    if not found.success:
        raise RuntimeError(f"in the other program: {found.message}")
    return np.array([flow.coordinates(x) for x in found.y.T])


def difference(a: Array, b: Array, names: Sequence[str]) -> float:
    """Largest difference of motions (n_times, ndof), of angles by the largest angle of the first, of lengths likewise.

    names : of the coordinates; rotation vectors that are a whole turn apart are the same
    """
    b = b.copy()
    for i in (i for i, name in enumerate(names) if name.endswith(".rx")):
        for one, other in zip(a[:, i : i + 3], b[:, i : i + 3], strict=True):
            angle = np.linalg.norm(other)
            around = other * (1.0 - 2.0 * np.pi / angle) if angle else other
            if np.linalg.norm(around - one) < np.linalg.norm(other - one):
                other[:] = around
    length = np.array([name.endswith((".prismatic", ".tx", ".ty", ".tz")) for name in names])
    parts = [part for part in (length, ~length) if part.any()]
    least = np.finfo(float).tiny
    return float(np.max([np.abs(a - b)[:, part].max() / max(np.abs(a[:, part]).max(), least) for part in parts]))
