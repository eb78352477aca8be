"""How far the answers of a robot are from those of a finer one: an estimate of the error of its discretisation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, OK, Finding, graded
from sorosim.doctor.patient import Patient
from sorosim.doctor.refined import RICHER, refined, transfer
from sorosim.equations.system import StaticSystem
from sorosim.equilibria.statics import statics
from sorosim.errors import ConvergenceError, SorosimError
from sorosim.linear import Linearization
from sorosim.model.basis import STRAINS
from sorosim.model.link import Link
from sorosim.results.result import Equilibrium
from sorosim.robot import Robot

Array = NDArray[np.float64]

SHIFT_NOTE, SHIFT_ODD = 1.0, 3.0  # % of the length of what leads to a tip
FREQUENCY_NOTE, FREQUENCY_ODD = 2.0, 25.0  # %
FURTHER = 0.1  # % by which a tip moves, where it is worth while to look further
JUMPED = 0.3  # of that length: the finer robot may have found another equilibrium
SINGULAR = 1e-12


class Shift(NamedTuple):
    """How far a tip moves by refinement."""

    link: str
    distance: float  # [m]
    percent: float  # of the length of the rods from the world to it


class Gain(NamedTuple):
    """What raising the order of one strain alone would move, to first order."""

    where: str  # of the strain of a division, or "" for more Gauss points alone
    strain: str
    order: int
    distance: float  # [m]


def discretisation(patient: Patient) -> Iterator[Finding]:
    """Tips at rest and under inputs, and the lowest natural frequency, against a finer robot."""
    if not any(place.division.strain.count for place in patient.places):
        return
    robot = patient.robot
    fine = refined(robot)
    T = transfer(robot, fine)
    states = [("without inputs", patient.rest), ("under the inputs of the file", patient.at_work)]
    worst: tuple[Shift, str, Equilibrium] | None = None
    finer_rest = None
    for words, state in states:
        if not isinstance(state, Equilibrium):
            continue
        try:
            other = finer(robot, fine, T, state)
        except SorosimError as error:
            yield Finding(NOTE, "discretisation", f"{words}: the finer robot finds no equilibrium ({error})")
            continue
        if largest_shift(state, other).percent > FURTHER:
            other = _still_finer(robot, other)
        finer_rest = other if words == "without inputs" else finer_rest
        shift = largest_shift(state, other)
        if worst is None or shift.percent > worst[0].percent:
            worst = shift, words, state
    if worst is not None:
        yield _shifted(patient, fine, T, *worst)
    yield from _frequency(patient, fine, T, finer_rest)


def _still_finer(robot: Robot, found: Equilibrium) -> Equilibrium:
    """Twice as many orders more, from what is known of the finer robot; that itself where nothing is found.

    Two orders more tell too little where they do not reach what the robot tends to: of low orders most.
    """
    try:
        finest = refined(robot, 2 * RICHER)
        return finer(found.robot, finest, transfer(found.robot, finest), found)
    except SorosimError:
        return found


def finer(robot: Robot, fine: Robot, T: Array, state: Equilibrium) -> Equilibrium:
    """The equilibrium of the finer robot that is next to one of the robot, and stable if that is.

    Raises ConvergenceError where none is found.
    """
    held = _held(robot, state)
    found = statics(fine, state.u, held, T @ state.q, stable=False)
    if state.stable and not found.stable:  # what is next to it is not where it would go
        try:
            other = statics(fine, state.u, held, fine.initial_q)
        except ConvergenceError:
            return found
        return other if other.stable else found
    return found


def _held(robot: Robot, state: Equilibrium) -> dict[str, float]:
    return {name: float(state.q[robot.engine.layout.coordinate(name, "driven")]) for name in state.driven}


def largest_shift(coarse: Equilibrium, fine: Equilibrium) -> Shift:
    """The tip that moves most, against the length of the rods that lead to it."""
    reaches = lengths(coarse.robot)
    found = Shift("", 0.0, 0.0)
    for name, reach in reaches.items():
        distance = float(np.linalg.norm(coarse.tip(name) - fine.tip(name)))
        if not 100.0 * distance / reach <= found.percent:
            found = Shift(name, distance, 100.0 * distance / reach)
    return found


def lengths(robot: Robot) -> dict[str, float]:
    """Length of the rods from the world to the tip of each link with any [m]."""
    links: dict[str, Link] = {link.name: link for link in robot.links}
    base: dict[str, float] = {}
    for link in robot.links:  # parents first
        parent = links.get(link.parent)
        on_parent = link.s * parent.rod.length if parent is not None and parent.rod is not None else 0.0
        base[link.name] = base.get(link.parent, 0.0) + on_parent
    whole = {name: base[name] + (link.rod.length if link.rod is not None else 0.0) for name, link in links.items()}
    return {name: length for name, length in whole.items() if length > 0.0}


def _shifted(patient: Patient, fine: Robot, T: Array, shift: Shift, words: str, state: Equilibrium) -> Finding:
    level = graded(shift.percent, SHIFT_NOTE, SHIFT_ODD)
    right = f"{1e3 * shift.distance:.2g} mm, {shift.percent:.2g} % of its length"
    what = f"the tip of '{shift.link}' is right to about {right}, {words}"
    remedy = ""
    if level != OK:
        remedy = _advice(gains(patient.robot, fine, T, state, shift.link), 100.0 * shift.distance / shift.percent)
        if shift.percent > 100.0 * JUMPED:
            remedy += "; so far away may be another equilibrium"
    where = f"links.{shift.link}" if shift.link else "discretisation"
    return Finding(level, "discretisation" if level == OK else where, what, remedy, shift.percent, "%")


def _advice(found: list[Gain], reach: float) -> str:
    """What to raise; how far the tip moves by that is told if a first order can know it, of less than its reach [m]."""
    best = max(found, key=lambda gain: gain.distance)
    if not best.where:
        return "more Gauss points (`quadrature`) matter most"
    others = [gain for gain in found if gain.where and gain.distance > 0.5 * best.distance and gain is not best]
    words = f"order {best.order} for {best.strain} of {best.where} matters most"
    words += f" ({1e3 * best.distance:.2g} mm)" if best.distance < reach else ""
    return words + (f", then {others[0].strain} of {others[0].where}" if others else "")


def gains(robot: Robot, fine: Robot, T: Array, state: Equilibrium, link: str) -> list[Gain]:
    """How far the tip of a link would move if one strain of one division had a higher order, to first order.

    One step of Newton's method from the state, in the coordinates of the robot and the further ones of that strain.
    """
    system = StaticSystem(fine, state.u, _held(robot, state))
    q = T @ state.q
    x = system.start(q)
    r, K = system.jacobian(x, 1.0)
    free, n = system.partition.free, system.n_free
    tip = fine.jacobian(q, link)[3:, free]
    coarse_free = np.array([i for i in range(robot.ndof) if i not in _driven(robot, state)], dtype=np.int64)
    base = T[np.ix_(free, coarse_free)]
    before = _moved(K, r, n, base, tip)
    found = [Gain("", "", 0, float(np.linalg.norm(before)))]
    for name, layout in robot.engine.layout.links.items():
        others = fine.engine.layout.links[name].pieces
        for k, (piece, finer_piece) in enumerate(zip(layout.pieces, others, strict=True)):
            part = f".divisions[{k}]" if len(layout.pieces) > 1 else ""
            for row, strain in enumerate(STRAINS):
                old = piece.column + np.flatnonzero(piece.division.strain.rows == row)
                new = finer_piece.column + np.flatnonzero(finer_piece.division.strain.rows == row)
                if len(new) == len(old):
                    continue
                own = np.eye(fine.ndof)[free][:, new]
                moved = _moved(K, r, n, np.hstack([base[:, ~np.isin(coarse_free, old)], own]), tip)
                order = getattr(finer_piece.division.strain, strain)[1]
                found.append(Gain(f"links.{name}.rod{part}", strain, order, float(np.linalg.norm(moved - before))))
    return found


def _driven(robot: Robot, state: Equilibrium) -> set[int]:
    return {robot.engine.layout.coordinate(name, "driven") for name in state.driven}


def _moved(K: Array, r: Array, n: int, Z: Array, tip: Array) -> Array:
    """Displacement (3,) of a tip by one Newton step within the columns of Z; multipliers of loops move freely."""
    m = len(r) - n
    W = np.block([[Z, np.zeros((n, m))], [np.zeros((m, Z.shape[1])), np.eye(m)]])
    A, b = W.T @ K @ W, W.T @ r
    d = 1.0 / np.sqrt(np.maximum(np.abs(A).max(axis=1), np.finfo(float).tiny))
    y = d * np.linalg.lstsq(d[:, None] * A * d, d * b, rcond=SINGULAR)[0]
    return np.asarray(-tip @ (Z @ y[: Z.shape[1]]))


def _frequency(patient: Patient, fine: Robot, T: Array, rest: Equilibrium | None) -> Iterator[Finding]:
    """The lowest natural frequency, of both robots about the same equilibrium, or unloaded where there is none."""
    robot = patient.robot
    try:
        if rest is not None and isinstance(patient.rest, Equilibrium):
            if patient.rest.linearize().stability != "stable":
                return  # what nothing holds is as slow as rounding has it
            a, b = (_lowest(e.robot.linearize(e.q, e.u, free=e.free)) for e in (patient.rest, rest))
        elif not robot.loop_names:
            q = np.array(robot.engine.elastic.rest)
            finer_patient = Patient(fine)
            a = _lowest(robot.linearize(q, stiffness=patient.stiffness))
            b = _lowest(fine.linearize(T @ q, stiffness=finer_patient.stiffness))
        else:
            return
    except (SorosimError, np.linalg.LinAlgError):
        return
    if a is None or b is None:
        return
    off = 100.0 * abs(a - b) / b
    what = f"the lowest natural frequency, {b:.3g} Hz, is right to about {off:.2g} %"
    level = graded(off, FREQUENCY_NOTE, FREQUENCY_ODD)
    remedy = "" if level == OK else f"raise orders by {RICHER}, those of bending first"
    yield Finding(level, "discretisation", what, remedy, off, "%")


def _lowest(linear: Linearization) -> float | None:
    found = linear.frequencies
    real = found[np.isfinite(found)]
    real = real[real > 1e-6 * real.max(initial=0.0)]
    return float(real.min()) if len(real) else None
