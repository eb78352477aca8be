"""How far the answers of a robot are from those of one with a richer basis: an estimate of the discretisation error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.equations.points import AIM, SECTIONS, lengths, points_error, section_words
from sorosim.analysis.equations.strains import places
from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.statics import statics
from sorosim.analysis.results.result import Equilibrium
from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, ModelError, SorosimError
from sorosim.base.ode import one_blas_thread
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.model.basis import STRAINS, ElementBasis, Strain, get_basis
from sorosim.mechanics.model.quadrature import MAX_N_GAUSS, minimum_n_gauss
from sorosim.mechanics.model.rod import Division
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor.context import CheckContext, above_rounding, with_divisions
from sorosim.studies.doctor.findings import OK, Finding, finding, level_of

RICHER = 2  # orders
SAME_SPACE = {"monomial": "legendre"}
FURTHER = 0.03  # % by which a section moves, where four orders are tried: two tell little of what converges in steps
MOST = 0.5  # of the error, of which the larger part is told
# times what points alone move at the same coordinates: equilibria of loads have moved up to ten times as far
TOLD = 30.0
JUMPED = 0.3  # of that length: the finer robot may have found another equilibrium
SINGULAR = 1e-12
ROUNDED = 1e-9  # % of a length


class Shift(NamedTuple):
    """How far a section moves by refinement."""

    link: str
    s: float
    distance: float  # [m]
    percent: float  # of the length of the rods from the world to the tip of its link


class Gain(NamedTuple):
    """What raising the order of one strain alone, or the number of Gauss points, would move, to first order."""

    where: str  # of the strain of a division
    strain: str  # or quadrature
    order: int
    distance: float  # [m]


def discretisation(context: CheckContext) -> Iterator[Finding]:
    """Sections at rest and under inputs, and the lowest natural frequency, against a finer robot."""
    if not any(place.division.strain.count for place in context.places):
        return
    worst: tuple[Shift, str, Equilibrium] | None = None
    at_rest, fine_at_rest = "without inputs", None
    states = {at_rest: context.equilibrium, "under the inputs of the file": context.actuated_equilibrium}
    for words, state in states.items():
        if not isinstance(state, Equilibrium):
            continue
        robot = state.robot  # of what floats one without weight
        fine = refined(robot)
        try:
            other = finer(robot, fine, transfer(robot, fine), state)
        except SorosimError as error:
            yield finding("discretisation.none", "discretisation", words=words, error=error)
            continue
        if largest_shift(state, other).percent > FURTHER:
            other = _still_finer(robot, other)
        fine_at_rest = other if words == at_rest else fine_at_rest
        shift = largest_shift(state, other)
        if worst is None or shift.percent > worst[0].percent:
            worst = shift, words, state
    if worst is not None:
        yield _tip(*worst)
    yield from _frequency(context, fine_at_rest)


def tip_words(robot: Robot) -> str:
    """How far the section that moves most is from that of a finer robot at rest, in words; "" if it is not known."""
    try:
        with one_blas_thread(), np.errstate(all="ignore"):
            found = (one.what for one in discretisation(CheckContext(robot)) if one.code == "discretisation.tip")
            return next(found, "")
    except (SorosimError, np.linalg.LinAlgError):
        return ""


def _still_finer(robot: Robot, fine_state: Equilibrium) -> Equilibrium:
    """The equilibrium at order + 4, started from the finer robot's (order + 2); that one if the search fails.

    Two orders more tell too little where they do not reach what the robot tends to: of low orders most.
    """
    try:
        finest = refined(robot, 2 * RICHER)
        return finer(fine_state.robot, finest, transfer(fine_state.robot, finest), fine_state)
    except SorosimError:
        return fine_state


def finer(robot: Robot, fine: Robot, T: Array, state: Equilibrium) -> Equilibrium:
    """The equilibrium of the finer robot that is next to one of the robot, and stable if that is.

    Raises ConvergenceError where none is found.
    """
    driven = {name: float(state.q[k]) for name, k in _driven(robot, state).items()}
    solution = statics(fine, state.u, driven=driven, q0=T @ state.q, stable=False)
    if state.stable and not solution.stable:  # it would leave the one nearby
        try:
            other = statics(fine, state.u, driven=driven, q0=fine.initial_q)
        except ConvergenceError:
            return solution
        return other if other.stable else solution
    return solution


def _driven(robot: Robot, state: Equilibrium) -> dict[str, int]:
    return {name: robot.engine.layout.coordinate(name, "driven") for name in state.driven}


def largest_shift(coarse: Equilibrium, fine: Equilibrium) -> Shift:
    """The section that moves most, against the length of the rods that lead to its tip."""
    reaches, layout = lengths(coarse.robot), coarse.robot.engine.layout
    largest = Shift(next(iter(reaches), ""), 1.0, 0.0, 0.0)
    for name, reach in reaches.items():
        s = np.array(SECTIONS if layout.links[name].pieces else SECTIONS[-1:])
        before, after = (state.robot.poses(state.q, name, s=s)[:, :3, 3] for state in (coarse, fine))
        distances = np.linalg.norm(before - after, axis=1)
        k = int(distances.argmax())
        distance = float(distances[k])
        if not 100.0 * distance / reach <= largest.percent:
            largest = Shift(name, float(s[k]), distance, 100.0 * distance / reach)
    return largest


def _tip(shift: Shift, words: str, state: Equilibrium) -> Finding:
    code, where, remedy, raised, order = "discretisation.tip", "discretisation", "", "", 0
    level = level_of(code, shift.percent)
    if level != OK or shift.percent > 100.0 * AIM:
        points = gain_by_points(state.robot, state, shift)
        if level != OK:
            where = f"links.{shift.link}" if shift.link else where
            fine = refined(state.robot)
            options = gains(state.robot, fine, transfer(state.robot, fine), state, shift)
            best = max([*options, points], key=lambda gain: gain.distance)
            remedy = _advice(best, options, points, 100.0 * shift.distance / shift.percent)
            raised, order = f"{best.where}.{'' if best is points else 'strain.'}{best.strain}", best.order
        elif points.distance > MOST * shift.distance:
            words += f", most of it for lack of points; try quadrature: {points.order} in {points.where}"
        if shift.percent > 100.0 * JUMPED:
            remedy += "; so far away may be another equilibrium"
    known = f"about {1e3 * shift.distance:.2g} mm, {shift.percent:.2g} % of its length"
    error = known if shift.percent > ROUNDED else "rounding errors"
    what = section_words(shift.link, shift.s)
    return finding(code, where, shift.percent, level, what=what, error=error, words=words, remedy=remedy,
                   raised=raised, order=order)  # fmt: skip


def _advice(best: Gain, options: list[Gain], points: Gain, reach: float) -> str:
    """What to raise; by how much the section moves then is first order, and shown if less than its reach [m]."""
    if best is points:
        return f"more points matter most: quadrature: {best.order} in {best.where}"
    others = [gain for gain in options if gain.distance > 0.5 * best.distance and gain is not best]
    words = f"order {best.order} for {best.strain} of {best.where} matters most"
    words += f" ({1e3 * best.distance:.2g} mm)" if best.distance < reach else ""
    return words + (f", then {others[0].strain} of {others[0].where}" if others else "")


def gains(robot: Robot, fine: Robot, T: Array, state: Equilibrium, shift: Shift) -> list[Gain]:
    """How far a section would move if one strain of one division had a higher order, to first order.

    One step of Newton's method from the state, in the coordinates of the robot and the further ones of that strain.
    """
    driven = _driven(robot, state)
    system = StaticSystem(fine, state.u, {name: float(state.q[k]) for name, k in driven.items()})
    q = T @ state.q
    x = system.start(q)
    r, K = system.jacobian(x, 1.0)
    free, n = system.partition.free, system.n_free
    here = fine.jacobian(q, shift.link, s=shift.s)[3:, free]
    coarse_free = np.setdiff1d(np.arange(robot.ndof), list(driven.values())).astype(np.int64)
    base = T[np.ix_(free, coarse_free)]
    before = _newton_step(K, r, n, base, here)
    out = []
    for place, finer_place in zip(places(robot), places(fine), strict=True):
        for row, strain in enumerate(STRAINS):
            old, new = (p.piece.column + np.flatnonzero(p.division.strain.rows == row) for p in (place, finer_place))
            if len(new) == len(old):
                continue
            own = np.eye(fine.ndof)[free][:, new]
            raised = _newton_step(K, r, n, np.hstack([base[:, ~np.isin(coarse_free, old)], own]), here)
            order = getattr(finer_place.division.strain, strain)[1]
            out.append(Gain(place.where, strain, order, float(np.linalg.norm(raised - before))))
    return out


def gain_by_points(robot: Robot, state: Equilibrium, shift: Shift) -> Gain:
    """How far the section would move with twice as many Gauss points, to first order, and the division to give them to.

    One step of Newton's method with them; none where their poses are so near that no equilibrium can tell.
    """
    error = points_error(robot, state.q)
    if error is None or not shift.link:
        return Gain("", "", 0, 0.0)
    place, more = error.place, max(2 * error.place.division.n_gauss, error.enough)
    if error.distance * TOLD < shift.distance:
        return Gain(place.where, "quadrature", more, 0.0)
    fine = with_divisions(robot, lambda division: replace(division, quadrature=doubled(division.n_gauss)))
    driven = _driven(robot, state)
    system = StaticSystem(fine, state.u, {name: float(state.q[k]) for name, k in driven.items()})
    r, K = system.jacobian(system.start(state.q), 1.0)
    here = fine.jacobian(state.q, shift.link, s=shift.s)[3:, system.partition.free]
    g, before = (one.pose(state.q, shift.link, s=shift.s) for one in (fine, robot))
    moved = _newton_step(K, r, system.n_free, np.eye(here.shape[1]), here)
    moved += g[:3, :3].T @ (g[:3, 3] - before[:3, 3])
    return Gain(place.where, "quadrature", more, float(np.linalg.norm(moved)))


def doubled(n_gauss: int) -> int:
    """Twice as many Gauss points."""
    return min(2 * n_gauss, MAX_N_GAUSS)


def _newton_step(K: Array, r: Array, n: int, Z: Array, here: Array) -> Array:
    """Displacement (3,) of a section by one Newton step within the columns of Z; multipliers of loops move freely."""
    m = len(r) - n
    W = np.block([[Z, np.zeros((n, m))], [np.zeros((m, Z.shape[1])), np.eye(m)]])
    A, b = W.T @ K @ W, W.T @ r
    d = 1.0 / np.sqrt(np.maximum(np.abs(A).max(axis=1), np.finfo(float).tiny))
    y = d * np.linalg.lstsq(d[:, None] * A * d, d * b, rcond=SINGULAR)[0]
    return np.asarray(-here @ (Z @ y[: Z.shape[1]]))


def _frequency(context: CheckContext, fine_at_rest: Equilibrium | None) -> Iterator[Finding]:
    """The lowest natural frequency, of both robots about the same equilibrium, or unloaded where there is none."""
    robot, at_rest = context.robot, context.equilibrium
    try:
        if fine_at_rest is not None and isinstance(at_rest, Equilibrium):
            if at_rest.linearize().stability != "stable":
                return  # a rigid-body mode is as slow as rounding has it
            a, b = (_lowest(e.robot.linearize(e.q, e.u, free=e.free)) for e in (at_rest, fine_at_rest))
        elif not robot.n_multipliers:
            q, fine = np.array(robot.engine.elastic.rest), refined(robot)
            a = _lowest(robot.linearize(q, stiffness=context.stiffness))
            b = _lowest(fine.linearize(transfer(robot, fine) @ q, stiffness=CheckContext(fine).stiffness))
        else:
            return
    except (SorosimError, np.linalg.LinAlgError):
        return
    if a is None or b is None:
        return
    code, off = "discretisation.frequency", 100.0 * abs(a - b) / b
    level = level_of(code, off)
    remedy = "" if level == OK else f"raise orders by {RICHER}, those of bending first"
    yield finding(code, "discretisation", off, level, frequency=b, remedy=remedy)


def _lowest(linear: Linearization) -> float | None:
    frequencies = above_rounding(linear.frequencies)
    return float(frequencies.min()) if len(frequencies) else None


# -- the finer robot ---------------------------------------------------------------------------------------------------


def refined(robot: Robot, richer: int = RICHER) -> Robot:
    """The robot with `richer` more orders in every free strain, elements split in two, and twice as many points."""

    def finer_division(division: Division) -> Division:
        finer = replace(division, strain=richer_basis(division.strain, richer), quadrature=None)
        panels = (len(finer.breakpoints) + 1) / (len(division.breakpoints) + 1)
        n_gauss = max(division.n_gauss + richer, math.ceil(doubled(division.n_gauss) / panels), finer.default_points())
        return replace(finer, quadrature=min(n_gauss, MAX_N_GAUSS))

    return with_divisions(robot, finer_division)


def richer_basis(strain: Strain, richer: int) -> Strain:
    """A basis with more functions of each free strain; one that has no higher order stays as it is."""
    entries: dict[str, Any] = {}
    for name in STRAINS:
        entry = getattr(strain, name)
        if entry is None:
            continue
        basis, order = entry
        elements = isinstance(get_basis(basis), ElementBasis)
        higher = order * 2 ** (richer // 2) if elements else order + (richer // 2 if basis == "fourier" else richer)
        # powers span the polynomials, but are soon dependent in double precision
        entries[name] = (SAME_SPACE.get(basis, basis), higher)
        try:
            minimum_n_gauss(Strain(**{name: entries[name]}))
        except ModelError:
            entries[name] = entry
    return Strain(**entries)


def transfer(robot: Robot, fine: Robot) -> Array:
    """T (n_fine, n): coordinates of the finer robot in the same shape, as nearly as its bases can."""
    T = np.zeros((fine.ndof, robot.ndof))
    for layout, other in zip(robot.engine.layout.links.values(), fine.engine.layout.links.values(), strict=True):
        joint = np.arange(layout.n_joint)
        T[other.column + joint, layout.column + joint] = 1.0
        for piece, finer_piece in zip(layout.pieces, other.pieces, strict=True):
            n = max(piece.n, finer_piece.n)
            x = 0.5 - 0.5 * np.cos(np.pi * (np.arange(4 * n + 4) + 0.5) / (4 * n + 4))
            a, b = piece.division.strain.values(x), finer_piece.division.strain.values(x)
            for row in range(len(STRAINS)):
                old, new = (np.flatnonzero(p.division.strain.rows == row) for p in (piece, finer_piece))
                if len(old):
                    block = np.linalg.lstsq(b[:, new], a[:, old], rcond=None)[0]
                    T[np.ix_(finer_piece.column + new, piece.column + old)] = block
    return T
