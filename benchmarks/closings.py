"""Shapes through points and closings of loops, on bases of every kind, beside shapes that are known.

A rod is bent at
random; points on it, or a loop at its tip, are what a straight rod has to find. The known shape is one answer, so the
least energy is at most its own, and what is found should have no more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import sorosim
from benchmarks.context import Setting
from sorosim.base.arrays import Array
from sorosim.mechanics.robot import Robot

AXIS = [0, 1, 0]
BASES: dict[str, Any] = {
    "fixed": "fixed", "revolute": {"revolute": {"axis": AXIS}}, "prismatic": {"prismatic": {"axis": AXIS}},
    "cylindrical": {"cylindrical": {"axis": AXIS}}, "helical": {"helical": {"axis": AXIS, "pitch": 0.01}},
    "universal": {"universal": {"axis": AXIS, "second_axis": [0, 0, 1]}}, "spherical": "spherical",
    "planar": {"planar": {"axis": AXIS}}, "free": "free",
}  # fmt: skip
LOOPS: dict[str, Any] = {"revolute": {"revolute": {"axis": AXIS}}, "spherical": "spherical", "fixed": "fixed"}
N_STARTS, N_CLOSINGS = 1000, 500
MOST_TURN = np.radians(270.0)  # of a rod, in all
MORE = 1.05  # times the energy of the known shape is more


class Trial(NamedTuple):
    """One shape or closing: the distance missed [m], energies found and known, turns found and known [rad]."""

    base: str
    missed: float
    energy: float
    known_energy: float
    turn: float
    known_turn: float
    error: str

    @property
    def is_wrong(self) -> bool:
        """Whether it failed, or found a shape of more energy than the known one."""
        return bool(self.error) or self.energy > MORE * self.known_energy


def rod(rng: np.random.Generator, base: str, to: Any = None) -> Robot:
    """A thin or thick rod of 1 m with or without stretch, of one or some divisions; `to`: a loop and its frame."""
    state = rng.bit_generator.state  # the same rod with and without the loop
    strain: dict[str, Any] = {"bending": int(rng.integers(2, 6)), "torsion": int(rng.integers(0, 2))}
    if rng.random() < 0.5:
        strain["elongation"] = 0
    body = {
        "length": 1.0, "section": {"circle": {"radius": float(10.0 ** rng.uniform(-3.0, -1.7))}}, "material": "rubber",
        "strain": strain, "divisions": int(rng.integers(1, 4)),
    }  # fmt: skip
    if to is not None:
        rng.bit_generator.state = state
    return sorosim.load({
        "sorosim": 1, "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": 1000}},
        "links": {"rod": {"joint": BASES[base], "rod": body}}, **({"loops": {"end": to}} if to else {}),
    })  # fmt: skip


def turn(robot: Robot, q: Array) -> float:
    """How far the tangent of the rod turns in all [rad]."""
    tangents = robot.poses(q, "rod", s=np.linspace(0.0, 1.0, 200))[:, :3, 0]
    return float(np.arccos(np.clip(np.sum(tangents[1:] * tangents[:-1], axis=1), -1.0, 1.0)).sum())


def known_shape(rng: np.random.Generator, robot: Robot) -> Array:
    """Coordinates (ndof,) of a smooth shape that turns by no more than `MOST_TURN`, its base turned at random."""
    layout = robot.engine.layout.links["rod"]
    q = np.zeros(robot.ndof)
    q[: layout.n_joint] = rng.normal(scale=0.5, size=layout.n_joint)
    curvature, slope = rng.normal(size=(2, 2))
    for piece in layout.pieces:  # curvatures along y and z that are linear in the arc length
        X = np.linspace(0.1, 0.9, 9) * piece.division.length
        wanted = np.zeros((len(X), 3))
        wanted[:, 1:] = curvature + slope * (piece.start + X - 0.5)[:, None]
        A = np.swapaxes(piece.division.basis(X)[:, :, :3], 0, 1).reshape(piece.n, -1).T
        q[piece.column : piece.column + piece.n] = np.linalg.lstsq(A, wanted.ravel(), rcond=None)[0]
    q[layout.n_joint :] *= rng.uniform(0.1, 1.0) * MOST_TURN / turn(robot, q)
    return q


def elastic(robot: Robot, q: Array) -> float:
    """Elastic energy [J]."""
    return float(robot.energy(q, np.zeros(robot.ndof)).elastic)


def start(rng: np.random.Generator, base: str) -> Trial:
    """A rod through three to nine points of a known shape, at known places or at any."""
    robot = rod(rng, base)
    known, s = known_shape(rng, robot), np.linspace(0.0, 1.0, int(rng.integers(3, 10)))
    points, are_given = robot.poses(known, "rod", s=s)[:, :3, 3], rng.random() < 0.5
    least = elastic(robot, known), turn(robot, known)
    try:
        found = sorosim.fit_shape(robot, "rod", points, arc_lengths=s.tolist() if are_given else None, frame="world")
    except sorosim.SorosimError as error:
        return Trial(base, np.nan, np.nan, least[0], np.nan, least[1], f"{type(error).__name__}: {error}")
    return Trial(base, found.missed.max(), elastic(robot, found.q), least[0], turn(robot, found.q), least[1], "")


def closing(rng: np.random.Generator, base: str) -> Trial:
    """A straight rod whose tip is to come to a loop where that of a known shape is."""
    state = rng.bit_generator.state
    open_one = rod(rng, base)
    known = known_shape(rng, open_one)
    g, loop = open_one.pose(known, "rod"), list(LOOPS)[int(rng.integers(len(LOOPS)))]
    at = {"position": g[:3, 3].tolist(), "rotation": {"matrix": g[:3, :3].tolist()}}
    again = np.random.default_rng()
    again.bit_generator.state = state
    robot = rod(again, base, {"joint": LOOPS[loop], "from": "rod", "to": {"at": at}})
    least = elastic(robot, known), turn(robot, known)
    try:
        q = sorosim.assemble(robot).q
    except sorosim.SorosimError as error:
        return Trial(base, np.nan, np.nan, least[0], np.nan, least[1], f"{type(error).__name__}: {error}")
    return Trial(base, robot.loop_gaps(q)["end"][0], elastic(robot, q), least[0], turn(robot, q), least[1], "")


def study(at: Setting) -> None:
    """Rods through points and loops to be closed, on bases of every kind, beside known shapes; some ten minutes."""
    n_starts, n_closings = at.size((N_STARTS, N_CLOSINGS), (len(BASES), len(BASES)))
    for what, trial, n in (("through points", start, n_starts), ("closings", closing, n_closings)):
        at.say(f"{what}: failed, more energy than the known shape by 5 %, ratio of energies in the median and at most, "
              "missed at most [m], turn at most found and known [deg]")  # fmt: skip
        wrong = 0
        for i, base in enumerate(BASES):
            trials = [trial(np.random.default_rng((k, i)), base) for k in range(i, n, len(BASES))]
            found = [one for one in trials if not one.error]
            wrong += sum(one.is_wrong for one in trials)
            if not found:
                continue
            ratio = np.array([one.energy / one.known_energy for one in found])
            turns = np.degrees([[one.turn, one.known_turn] for one in found]).max(axis=0)
            at.say(f"  {base}, {len(trials)}: {len(trials) - len(found)}, {(ratio > MORE).sum()}, "
                  f"{np.median(ratio):.3g}, {ratio.max():.3g}, {max(one.missed for one in found):.1e}, "
                  f"{turns[0]:.0f}, {turns[1]:.0f}")  # fmt: skip
            for error in sorted({one.error for one in trials if one.error}):
                at.say(f"    {error}")
        at.say(f"{what}: {wrong} of {n} failed or have more energy")
