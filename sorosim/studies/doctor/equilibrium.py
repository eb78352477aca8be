"""The equilibria without and under inputs: whether there are any, how strained rods are, frequencies and damping."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.analysis.equations.strains import Place
from sorosim.analysis.results.result import Equilibrium
from sorosim.base.arrays import Array
from sorosim.mechanics.linear import Linearization
from sorosim.mechanics.linear.growth import growing
from sorosim.mechanics.model.basis import STRAINS
from sorosim.studies.doctor.context import HALF, CheckContext
from sorosim.studies.doctor.findings import NOTE, ODD, Finding, finding, judged

MOST_NAMES = 6  # of neutral motions
DIGITS = 1e-9  # of the size of the robot, below which a place is zero
SLOW = 1e-2  # 1/s: what grows no faster stands still within any run
STRAIN = 0.3  # up to which a linear law is good
CREEP_TIME, CREEP = 100.0, 3.0  # s, and lengths of the run, within which overdamped motions should decay
FAR = 1e-3  # of the size of the robot, from the equilibrium


def equilibrium(context: CheckContext) -> Iterator[Finding]:
    """The equilibrium without inputs, driven coordinates fixed where they start, and that under the file's inputs."""
    state, mode = context.equilibrium, context.rigid_body_mode
    if isinstance(state, str):
        if mode:
            words = state if context.floating_link else f"{mode}, and nothing balances the forces there"
            yield finding("equilibrium.free", "equilibrium", words=words)
            if context.floating_link:
                yield from _actuated(context)
        else:
            yield _none(context, state)
        return
    if state.stable:
        motions = state.neutral_motions if state.stability == "neutral" else ()
        drifts = ", ".join([f"'{one.name}'" for one in motions if one.goes_on][:MOST_NAMES])
        neutral = f", and anywhere that it drifts to: nothing holds {drifts}" if drifts else ""
        yield finding("equilibrium.found", "equilibrium", words=_tip(context, state) + neutral)
        for name in (one.name for one in motions if not one.goes_on):
            yield finding("equilibrium.critical", "equilibrium", name=name)
    if context.unstable_equilibrium is not None:
        yield _unstable(context, context.unstable_equilibrium)
    loads = "weight and loads" if context.gravity else "its loads"
    when = f"under {loads}" if context.robot.description.loads else "under its own weight"
    yield from _strain(context, state, when if context.gravity or context.robot.description.loads else "without inputs")
    yield from _actuated(context)
    yield from _start(context, state)


def _actuated(context: CheckContext) -> Iterator[Finding]:
    """Strains under the inputs of the file."""
    actuated = context.actuated_equilibrium
    if isinstance(actuated, Equilibrium):
        held = f", '{context.floating_link}' held and without weight" if context.floating_link else ""
        yield from _strain(context, actuated, f"under the inputs of the file{held}")
    elif actuated:
        yield finding("equilibrium.none_actuated", "equilibrium", words=actuated)


def _none(context: CheckContext, why: str) -> Finding:
    """There is no equilibrium: a joint without a spring moves on, or something elastic gives way."""
    names, name = context.robot.coordinate_names, context.unbalanced_coordinate
    if name in names and not context.is_elastic(names.index(name)):
        return finding("equilibrium.rigid_body_mode", "equilibrium", name=name)
    return finding("equilibrium.none", "equilibrium", words=why)


def _tip(context: CheckContext, state: Equilibrium) -> str:
    rounding = DIGITS * context.extent
    tip = ", ".join(f"{1e3 * x if abs(x) > rounding else 0.0:.4g}" for x in state.tip())
    return f"without inputs the {context.robot.outputs.points[0]} rests at {tip} mm"


def _unstable(context: CheckContext, state: Equilibrium) -> Finding:
    linear, words = state.linearize(), _tip(context, state)
    if linear.growth.flutter and not linear.growth.buckling:
        return _flutter(context, linear, words)
    growth = float(linear.eigenvalues.real.max(initial=0.0))
    if growth <= SLOW or not linear.growth.buckling:
        return finding("equilibrium.drifts", "equilibrium", growth, words=words)
    index, name = _fastest(context, linear, "grows")
    soft = context.is_elastic(index) and not np.any(context.robot.initial_qd)
    code = "equilibrium.buckles" if soft else "equilibrium.falls"
    return finding(code, "equilibrium", growth, words=words, name=name, time=1.0 / growth)


def _flutter(context: CheckContext, linear: Linearization, words: str) -> Finding:
    """Oscillations that grow, and the damping of materials that ends them.

    Damping b K_e, K_e of rods and springs, takes a growth rate g of a pair at w away from about b = 2 g / w^2 on; as it
    couples pairs, and may start what has not met yet, multiples of that are tried.
    """
    pairs = linear.damped.eigenvalues[np.array(linear.damped.words) == "flutters"]
    fastest = pairs[pairs.real.argmax()]
    growth, frequency = float(fastest.real), float(fastest.imag) / (2.0 * np.pi)
    _, name = _fastest(context, linear, "flutters")
    K = linear.Z.T @ context.elastic_stiffness(linear.q) @ linear.Z
    least, damping = float((2.0 * pairs.real / pairs.imag**2).max()), ""
    for needed in (2.0 * least, 4.0 * least, 8.0 * least) if context.places else ():
        if not growing(linear.M, linear.D + needed * K, linear.K).unstable:
            damping = f"; a damping of materials of {needed:.2g} s times their young ends it"
            break
    materials = [place.division.material for place in context.places]
    level = ODD if any(one.damping or one.relaxation for one in materials) else NOTE
    return finding(
        "equilibrium.flutters", "equilibrium", growth, level, words=words, name=name, frequency=frequency,
        time=1.0 / growth, damping=damping,
    )  # fmt: skip


def _fastest(context: CheckContext, linear: Linearization, word: str) -> tuple[int, str]:
    """Number and name of the coordinate with most kinetic energy in the mode that grows fastest in a way."""
    modes = linear.damped
    some = np.flatnonzero(np.array(modes.words) == word)
    shape = modes.shapes[:, some[modes.eigenvalues[some].real.argmax()]]
    index = int(np.argmax(np.abs(shape) * np.sqrt(np.maximum(np.diag(context.mass_matrix), 0.0))))
    return index, context.robot.coordinate_names[index]


def _strain(context: CheckContext, state: Equilibrium, when: str) -> Iterator[Finding]:
    strain, place = context.largest_strain(state.q)
    if place is not None and strain > 0.0:
        young = f"a young of about {place.division.material.young * strain / STRAIN:.1g} Pa"
        remedy = f"about {STRAIN / strain:.2g} times the inputs" if state.u.any() else young
        yield from judged("equilibrium.strain", place.where, 100.0 * strain, strain, when=when, remedy=remedy)


def _start(context: CheckContext, state: Equilibrium) -> Iterator[Finding]:
    """How far the start of a run is from the equilibrium."""
    block = context.robot.description.simulate
    if not context.places or not block or "q0" in block:
        return  # rigid mechanisms are let go where they are put
    away = float(np.linalg.norm(context.points - context.positions(state.q), axis=1).max(initial=0.0))
    if away > FAR * context.extent:
        yield finding("equilibrium.start", "simulate.q0", 1e3 * away)


def locked(context: CheckContext) -> Iterator[Finding]:
    """What each locked strain of each rod would do under the forces at rest without inputs.

    By E xi = F, to first order, with the wrench F that every section transmits. Shear is left to
    the check of slenderness, which knows it without a load.
    """
    state = context.equilibrium
    if not isinstance(state, Equilibrium):
        return
    zero = np.zeros(context.robot.ndof)
    poses, wrenches = context.robot.engine.joint_reactions(state.q, zero, zero.copy(), state.u, 0.0, state.lam)
    for place in context.places:
        counts = place.division.strain.count_per_strain
        for row, x in enumerate(map(float, _effects(context, place, poses, wrenches)[:4])):
            if counts[row]:
                continue
            turns, order = row < 3, 2 if row in (1, 2) else 0
            effect = f"turn it by {np.degrees(x):.3g} degrees" if turns else f"stretch it by {100 * x:.3g} %"
            yield from judged(
                "strain.locked", f"{place.where}.strain", x if turns else 100.0 * x, x, strain=STRAINS[row],
                effect=effect, order=order, unit="rad" if turns else "%",
            )  # fmt: skip


def _effects(context: CheckContext, place: Place, poses: Array, wrenches: Array) -> Array:
    """Turn from end to end by each angular strain [rad], and mean stretches, (6,), if all were free."""
    layout = context.robot.engine.layout.links[place.link.name]
    gauss = place.piece.gauss(layout)
    nodes, after, weight = layout.nodes[gauss], layout.nodes[np.flatnonzero(gauss) + 1], layout.weight[gauss]
    X = layout.X[gauss] - place.piece.start
    # half of what acts on a node itself is on this side of it
    g, w = poses[nodes], 0.5 * (wrenches[nodes] + wrenches[after])
    # rows of a pose: rotation, place; wrenches are in the axes of the world, about its origin
    moment = w[:, :3] - np.cross(g[:, 3], w[:, 3:])
    own = np.concatenate([np.einsum("nji,nj->ni", g[:, :3], x) for x in (moment, w[:, 3:])], axis=1)
    strain = np.abs(own) / place.division.line_stiffness(X)
    return np.asarray((weight @ strain) / np.where(np.arange(6) < 3, 1.0, weight.sum()))


def motions(context: CheckContext) -> Iterator[Finding]:
    """Natural frequencies, the step that explicit methods need, and how motions die away."""
    known = context.frequencies
    if not len(known):
        return
    assert context.linearization is not None  # for the type checker: it has frequencies
    low, high = float(known.min()), float(known.max())
    # Euler's and central differences are stable up to 2 over the largest eigenvalue, which damping makes larger
    step = 2.0 / max(float(np.abs(context.linearization.eigenvalues).max()), 2.0 * np.pi * high)
    words = {"low": low, "step": step}
    yield from judged("motion.stiff", "stiffness", high, **words) or [
        finding("motion.frequencies", "stiffness", high, **words)
    ]
    yield from _damping(context, low, context.linearization.eigenvalues)


def _damping(context: CheckContext, low: float, values: NDArray[np.complex128]) -> Iterator[Finding]:
    of_rods = [mode for mode in context.oscillations if mode.of_rods > HALF]
    if of_rods and any(p.division.material.damping or p.division.material.stiffness_damping for p in context.places):
        ratio, slowest = of_rods[0].damping_ratio, of_rods[0].frequency / (2.0 * np.pi)
        periods, factor = (x / max(ratio, 1e-300) for x in (0.5 / np.pi, 0.01))
        words = {"low": slowest, "percent": 100.0 * ratio, "periods": periods, "factor": factor}
        yield from judged("motion.rings", "damping", ratio, **words)
    if isinstance(context.equilibrium, str) or not context.equilibrium.stable or not context.places:
        return  # a rigid-body mode does not come back at all
    # overdamped: a real pole much slower than the oscillation would be
    size, w = np.abs(values), 2.0 * np.pi * low
    real = (np.abs(values.imag) < 1e-6 * size) & (values.real < -1e-14 * size.max(initial=0.0))
    elastic = values[real & (size < 0.1 * w)].real
    if len(elastic):
        slowest = 1.0 / float(np.abs(elastic).min())
        if slowest > max(CREEP_TIME, CREEP * float(context.times[-1])):
            yield finding("motion.creeps", "damping", slowest, period=1.0 / low, factor=slowest * low)
