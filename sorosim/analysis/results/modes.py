"""Modes of a robot as runs, and the parts of the robot that move in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sorosim.analysis.results.result import Run
from sorosim.base.arrays import Array, IntArray
from sorosim.base.declare import Integer
from sorosim.base.errors import InputError
from sorosim.base.options import ModeArguments, checked
from sorosim.base.public import public
from sorosim.base.validation import Number
from sorosim.mechanics.dynamics.inertia import mass_matrix
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.robot import Robot

Complex = NDArray[np.complex128]

AMPLITUDE = 0.1  # of the largest displacement, as a part of the robot's size
MAX_ROTATION = 0.5  # angle by which nothing is turned farther [rad]
SMALL = 1e-9  # displacements below this part of what turns are none
FRAMES = 60  # of a period
PERIOD = 2.0  # in which it is shown [s]
SPANS = 4.0  # time constants that a motion without oscillation is shown for
MAX_NEWTON_STEPS, LOOP_TOLERANCE = 20, 1e-12  # of the Newton iteration that closes loops


@public
class ModeRun(Run):
    """A mode as a run: films and pages show a period in two seconds, and name the mode."""

    def movie(self, path: str | Path, **options: Any) -> None:
        """Film of the mode, see `Run.movie`."""
        super().movie(path, **{**self._drawing_options, "speed": self.speed, **options})

    def still(self, path: str | Path, **options: Any) -> None:
        """Picture of the mode at one time, default: where it is farthest out; see `Run.still`."""
        row = {"grows": len(self) - 1, "rigid body": len(self) // 4}.get(self.options["kind"], 0)
        super().still(path, **{**self._drawing_options, "t": float(self.t[row]), **options})

    def play(self, **options: Any) -> Path:
        """Play the mode in the web browser, see `Run.play`."""
        path: Path = super().play(**{**self._drawing_options, "speed": self.speed, **options})
        return path

    def export_html(self, path: str | Path, **options: Any) -> None:
        """Page with the mode, see `Run.export_html`."""
        super().export_html(path, **{**self._drawing_options, "speed": self.speed, **options})

    @property
    def speed(self) -> float:
        """Seconds of the mode a second, so that a period takes PERIOD."""
        return float(self.t[-1] / (PERIOD * self.options["periods"]))

    @property
    def _drawing_options(self) -> dict[str, Any]:
        return {"title": f"{self.robot.name}, {self.message}"}


def mode(
    lin: Linearization, k: int, *, periods: int = 1, amplitude: Number = AMPLITUDE, decay: bool = False
) -> ModeRun:
    """A mode as a run, to play, film and plot.

    Parameters
    ----------
    lin : Linearization
        Of a robot.
    k : int
        Its number in ``lin.damped``, from 1.
    periods : int
        How many periods. What does not oscillate is shown once, for four time constants, or a second of a rigid body.
    amplitude : float
        Largest displacement of a point, as a part of the robot's size; less where something would turn by more than
        half a radian at the default, and in proportion at others.
    decay : bool
        Whether an oscillation decays, or grows, as it does in truth, from the amplitude or towards it. Default: it
        keeps it, so that the film can be shown over and over.

    Returns
    -------
    ModeRun
        q(t) = q + a Re(shape exp(i w t)), loops closed by the nearest coordinates; inputs and multipliers as in the
        equilibrium. A steady motion is seen from a frame that takes part in it. `message` names the mode.

    Raises
    ------
    InputError
        There is no such mode, or an option is none.
    """
    robot, index = lin._of_robot("mode"), _mode_index(lin, k)
    chosen = checked(ModeArguments, {"periods": periods, "amplitude": amplitude, "decay": decay})
    n, part, decay = chosen["periods"], chosen["amplitude"], chosen["decay"]
    value = complex(lin.damped.eigenvalues[index])
    shape = part * _scaled_shape(robot, lin.q, lin.damped.shapes[:, index])
    if lin.damped.words[index] in ("oscillates", "flutters"):
        shown, rate = n, value if decay else 1j * value.imag
        t = np.linspace(0.0, 2.0 * np.pi * n / value.imag, FRAMES * n + 1)
    else:
        shown, rate = 1, value
        t = np.linspace(0.0, SPANS / abs(value.real) if value else 1.0, FRAMES + 1)
    grown = max(rate.real, 0.0) * t[-1]  # what grows ends at the amplitude
    factor = np.exp(rate * t - grown)
    rate_factor = rate * factor
    if not value:  # a rigid body moves there and back
        factor, rate_factor = np.sin(2.0 * np.pi * t) + 0j, 2.0 * np.pi * np.cos(2.0 * np.pi * t) + 0j
    q = lin.q + np.real(np.outer(factor, shape))
    qd = np.real(np.outer(rate_factor, shape))
    if robot.n_multipliers:
        for row, rates in zip(q, qd, strict=True):
            row[:], rates[:] = _project_onto_loops(robot, row, rates, lin.free)
    locked = [name for i, name in enumerate(robot.coordinate_names) if i not in set(lin.free.tolist())]
    options: dict[str, Any] = {"method": "mode", "t_end": float(t[-1]), "u": {}, "driven": {}, "amplitude": part}
    options |= {"mode": int(k), "periods": shown, "kind": lin.damped.words[index], "held": locked}
    rows = len(t)
    return ModeRun(
        robot, t, q, qd, np.tile(lin.u, (rows, 1)), np.tile(lin.lam, (rows, 1)), {}, {}, options,
        f"mode {int(k)}: {describe(lin, k)}",
    )  # fmt: skip


def describe(lin: Linearization, k: int) -> str:
    """A mode in words: its frequency and damping ratio, or how fast it decays or grows."""
    index, modes = _mode_index(lin, k), lin.damped
    word, constant = modes.words[index], modes.time_constants[index]
    if word == "rigid body":
        return "rigid body, 0 Hz"
    if word in ("decays", "grows"):
        return f"{word}, time constant {abs(constant):.3g} s"
    ratio = modes.damping_ratios[index]
    damped = f", damping ratio {ratio:.2g}" if abs(ratio) > SMALL else ""
    return f"{modes.frequencies[index]:.4g} Hz{damped}" + (", grows" if word == "flutters" else "")


def shares(lin: Linearization, k: int) -> dict[str, float]:
    """What moves in a mode: by strain of a rod or joint of a link, the largest first.

    Parameters
    ----------
    k : int
        Number of the mode in ``lin.damped``, from 1.

    Returns
    -------
    dict
        "link strain", or the name of a link for its joint -> part of the sum of phi_g^H M_gg phi_g over all groups g
        of coordinates: kinetic energy that the group would have alone.
    """
    robot, index = lin._of_robot("shares"), _mode_index(lin, k)
    shape, M = lin.damped.shapes[:, index], mass_matrix(robot.engine, lin.q)
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(robot.coordinate_names):
        groups.setdefault(_group(robot, name), []).append(i)
    energy = {name: float((shape[i].conj() @ M[np.ix_(i, i)] @ shape[i]).real) for name, i in groups.items()}
    total = sum(energy.values())
    return {name: energy[name] / total for name in sorted(energy, key=lambda name: -energy[name])}


def format_shares(parts: Mapping[str, float], most: int = 3) -> str:
    """Shares in words, such as ``arm bending_y 97 %``; what is below a hundredth is left out."""
    return ", ".join(f"{name} {100.0 * part:.0f} %" for name, part in list(parts.items())[:most] if part >= 0.01)


def _group(robot: Robot, coordinate: str) -> str:
    link, what = coordinate.split("[")[0].split(".", 1) if "." in coordinate else (coordinate, "")
    layout = robot.engine.layout.links[link]
    index = robot.coordinate_names.index(coordinate) - layout.column
    return link if index < layout.n_joint else f"{link} {what}"


def _mode_index(lin: Linearization, k: object) -> int:
    n = len(lin.damped)
    if not n:
        raise InputError("mode", "a robot that can move", "none of its coordinates is free")
    return int(Integer(1, n).argument("mode", k)) - 1


def _scaled_shape(robot: Robot, q: Array, shape: Complex) -> Complex:
    """A shape whose largest displacement is the robot's size, or largest rotation MAX_ROTATION / AMPLITUDE."""
    nodes = robot.kinematics(q)
    ends = [(link.name, s) for link in robot.links if link.rod is not None for s in (0.0, 1.0)]
    g = np.concatenate([nodes.g, *(robot.pose(q, link, s=s)[None] for link, s in ends)])
    J = np.concatenate([nodes.J[:, 3:], *(robot.jacobian(q, link, s=s)[None, 3:] for link, s in ends)])
    size = float(np.linalg.norm(np.ptp(g[:, :3, 3], axis=0))) if len(g) else 0.0
    shift = _largest(np.einsum("pij,pjk,k->pi", g[:, :3, :3], J, shape))
    turn = _largest(np.einsum("pjk,k->pj", nodes.J[:, :3], shape))
    bounds = [MAX_ROTATION / AMPLITUDE / turn] if turn > 0.0 else []
    if shift > SMALL * turn * size and shift > 0.0:
        bounds.append((size or 1.0) / shift)
    return min(bounds, default=0.0) * shape


def _largest(motions: Complex) -> float:
    """Largest |Re(x exp(i phase))| over all phases and all complex vectors x (n, 3)."""
    own, cross = np.sum(np.abs(motions) ** 2, axis=1), np.abs(np.sum(motions**2, axis=1))
    return float(np.sqrt(0.5 * (own + cross)).max(initial=0.0))


def _project_onto_loops(robot: Robot, q: Array, qd: Array, free: IntArray) -> tuple[Array, Array]:
    """The nearest coordinates and rates with loops closed, in the metric of the mass matrix."""
    L = scipy.linalg.cholesky(mass_matrix(robot.engine, q)[np.ix_(free, free)], lower=True)
    q, qd, size = q.copy(), qd.copy(), robot.engine.loops.row_scale

    def step(A: Array, gap: Array) -> Array:
        W = scipy.linalg.solve_triangular(L, (size[:, None] * A[:, free]).T, lower=True).T
        y = scipy.linalg.lstsq(W, size * gap, cond=SMALL)[0]
        return np.asarray(scipy.linalg.solve_triangular(L.T, y))

    for _ in range(MAX_NEWTON_STEPS):
        rows = robot.loop_rows(q, qd)
        if np.abs(size * rows.error).max() <= LOOP_TOLERANCE:
            break
        q[free] -= step(rows.A, rows.error)
    rows = robot.loop_rows(q, qd)
    qd[free] -= step(rows.A, rows.rate)
    return q, qd
