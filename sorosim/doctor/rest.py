"""The equilibria without and under inputs: whether there are any, how strained rods are, what is stiff and soft."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.finding import NOTE, ODD, OK, Finding, graded
from sorosim.doctor.patient import ROUNDING, Patient
from sorosim.kernels import evaluate as task
from sorosim.linear import Linearization
from sorosim.linear.growth import growing
from sorosim.results.result import Equilibrium

Array = NDArray[np.float64]

STRAIN_NOTE, STRAIN_ODD = 0.3, 0.5  # a linear law is an approximation above the first, and a poor one above the second
DIGITS = 1e-9  # of the size of the robot, below which a place is zero
SLOW = 1e-2  # 1/s: what grows no faster stands still for all that a run sees
RINGING, NEVER = 1e-4, 1e-6  # damping ratios: hundreds, and tens of thousands, of periods until a motion is gone
CREEP_TIME, CREEP = 100.0, 3.0  # s, and lengths of the run, within which what is overdamped should come to rest
FAST, SHORT = 1e6, 1e-3  # Hz of the stiffest motion; part of the size of the robot that is far from rest


def equilibrium(patient: Patient) -> Iterator[Finding]:
    """Rest without inputs, driven coordinates held where they start, and rest under the inputs of the file."""
    rest = patient.rest
    if isinstance(rest, str):
        if patient.loose:
            yield Finding(OK, "equilibrium", rest)
        else:
            yield _none(patient, rest)
        return
    rounding = DIGITS * patient.extent
    tip = ", ".join(f"{1e3 * x if abs(x) > rounding else 0.0:.4g}" for x in rest.tip())
    what = f"without inputs the tip rests at {tip} mm"
    if rest.stable:
        yield Finding(OK, "equilibrium", what)
    else:
        yield from _unstable(patient, what)
    loads = "weight and loads" if patient.gravity else "its loads"
    when = f"under {loads}" if patient.robot.description.loads else "under its own weight"
    yield from _strain(patient, rest, when if patient.gravity or patient.robot.description.loads else "without inputs")
    if isinstance(work := patient.at_work, Equilibrium):
        yield from _strain(patient, work, "under the inputs of the file")
    elif work:
        what = f"none was found under the inputs of the file: {work}"
        yield Finding(NOTE, "equilibrium", what, "are they too large? `simulate` may find where they lead")
    yield from _start(patient, rest)


def _none(patient: Patient, why: str) -> Finding:
    """There is no rest: because a joint without a spring moves on, or because something elastic gives way."""
    name = patient.gave_way
    if name in patient.robot.coordinate_names:
        index = patient.robot.coordinate_names.index(name)
        if not patient.stiffness[index, index] > ROUNDING * np.abs(patient.stiffness).max(initial=0.0):
            what = f"without inputs there is none: nothing holds '{name}'"
            return Finding(
                NOTE, "equilibrium", what, "a spring, a brake or an input would; `simulate` shows where it goes"
            )
    return Finding(ODD, "equilibrium", why, "gravity may be too much for the stiffness")


def _unstable(patient: Patient, what: str) -> Iterator[Finding]:
    linear = patient.linear
    growth = float(linear.eigenvalues.real.max(initial=0.0)) if linear is not None else np.inf
    if linear is not None and linear.growth.flutter and not linear.growth.buckling:
        yield _flutter(patient, linear, what)
        return
    if linear is None or growth <= SLOW or not linear.growth.buckling:
        yield Finding(
            NOTE, "equilibrium", f"{what}, and may drift along something that nothing holds", "", growth, "1/s"
        )
        return
    index, name = _moves_most(patient, linear, "grows")
    soft = patient.stiffness[index, index] > ROUNDING * np.abs(patient.stiffness).max(initial=0.0)
    what += f", unstably: '{name}' leaves it within {1.0 / growth:.2g} s"
    if soft and not np.any(patient.robot.initial_qd):
        remedy = "it buckles: does something hold it? a stiffer material, a thicker section; or begin on one side"
        yield Finding(ODD, "equilibrium", what, remedy, growth, "1/s")
    else:
        yield Finding(NOTE, "equilibrium", what, "as what stands on a joint without a spring does", growth, "1/s")


def _flutter(patient: Patient, linear: Linearization, what: str) -> Finding:
    """Oscillations that grow, and the damping of materials that ends them.

    Damping b K_e, K_e of rods and springs, takes a growth rate g of a pair at w away from about b = 2 g / w^2 on; as it
    couples pairs, and may start what has not met yet, multiples of that are tried.
    """
    pairs = linear.damped.eigenvalues[np.array(linear.damped.words) == "flutters"]
    fastest = pairs[pairs.real.argmax()]
    growth, frequency = float(fastest.real), float(fastest.imag) / (2.0 * np.pi)
    _, name = _moves_most(patient, linear, "flutters")
    what += f", unstably: '{name}' flutters at {frequency:.3g} Hz and grows by e in {1.0 / growth:.2g} s"
    remedy = "loads without a potential do that, such as followers, moments about fixed axes, or friction"
    at_rest = np.zeros(patient.robot.ndof)
    elastic = -patient.robot.engine.evaluate(
        task.INTERNAL_DERIVATIVES, linear.q, at_rest, at_rest.copy(), patient.robot.inputs(None)
    ).dq
    stiffness, least = linear.Z.T @ elastic @ linear.Z, float((2.0 * pairs.real / pairs.imag**2).max())
    for needed in (2.0 * least, 4.0 * least, 8.0 * least) if patient.places else ():
        if not growing(linear.M, linear.D + needed * stiffness, linear.K).unstable:
            remedy += f"; a damping of materials of {needed:.2g} s times their young ends it"
            break
    damped = any(place.division.material.damping for place in patient.places)
    return Finding(ODD if damped else NOTE, "equilibrium", what, remedy, growth, "1/s")


def _moves_most(patient: Patient, linear: Linearization, word: str) -> tuple[int, str]:
    """Number and name of the coordinate with most kinetic energy in the mode that grows fastest in a way."""
    modes = linear.damped
    some = np.flatnonzero(np.array(modes.words) == word)
    shape = modes.shapes[:, some[modes.eigenvalues[some].real.argmax()]]
    index = int(np.argmax(np.abs(shape) * np.sqrt(np.maximum(np.diag(patient.mass_matrix), 0.0))))
    return index, patient.robot.coordinate_names[index]


def _strain(patient: Patient, found: Equilibrium, when: str) -> Iterator[Finding]:
    strain, place = patient.largest_strain(found.q)
    if place is None or (level := graded(strain, STRAIN_NOTE, STRAIN_ODD)) == OK:
        return
    what = f"strained by up to {100.0 * strain:.3g} % {when}; the linear law of materials is good to about 30 %"
    if found.u.any():
        remedy = f"about {0.3 / strain:.2g} times the inputs, or"
    else:
        remedy = f"a young of about {place.division.material.young * strain / 0.3:.1g} Pa, or"
    yield Finding(level, place.where, what, f"{remedy} look for a wrong unit", 100.0 * strain, "%")


def _start(patient: Patient, rest: Equilibrium) -> Iterator[Finding]:
    """How far the start of a run is from rest."""
    robot = patient.robot
    if not patient.places or not robot.description.simulate or "q0" in robot.description.simulate:
        return  # rigid mechanisms are let go where they are put
    nodes, zero = robot.engine.layout.points, np.zeros(robot.ndof)
    a, b = (robot.engine.poses(nodes, q, zero)[0][:, :3, 3] for q in (robot.initial_q, rest.q))
    away = float(np.linalg.norm(a - b, axis=1).max(initial=0.0))
    if away > SHORT * patient.extent:
        what = f"begins {1e3 * away:.3g} mm from where it rests, and falls from there"
        yield Finding(NOTE, "simulate.q0", what, "q0: equilibrium begins at rest", 1e3 * away, "mm")


def motions(patient: Patient) -> Iterator[Finding]:
    """Natural frequencies, the step that explicit methods need, and how motions die away."""
    known = patient.frequencies
    if not len(known):
        return
    assert patient.linear is not None  # for the type checker: it has frequencies
    low, high = float(known.min()), float(known.max())
    # Euler's and central differences are stable up to 2 over the largest eigenvalue, which damping makes larger
    step = 2.0 / max(float(np.abs(patient.linear.eigenvalues).max()), 2.0 * np.pi * high)
    what = f"natural frequencies from {low:.3g} to {high:.3g} Hz; explicit methods would need steps of {step:.1e} s"
    remedy = (
        "implicit methods (all of ours) do not mind; locking the stiffest strain saves steps" if high > FAST else ""
    )
    yield Finding(NOTE if high > FAST else OK, "stiffness", what, remedy, high, "Hz")
    yield from _damping(patient, low)


def _damping(patient: Patient, low: float) -> Iterator[Finding]:
    assert patient.linear is not None  # for the type checker: it has frequencies
    damped = any(p.division.material.damping or p.division.material.stiffness_damping for p in patient.places)
    values = patient.linear.eigenvalues
    size = np.abs(values)
    w, ratio = 2.0 * np.pi * low, patient.damping_ratio
    if damped and patient.places:
        what = f"the slowest oscillation, {low:.3g} Hz, has {100.0 * ratio:.2g} % of critical damping"
        if 0.0 <= ratio < RINGING:
            periods = 1.0 / max(ratio, 1e-300) / (2.0 * np.pi)
            remedy = f"its material needs {0.01 / max(ratio, 1e-300):.2g} times its damping for one of 1 %"
            level = ODD if ratio < NEVER else NOTE
            yield Finding(level, "damping", f"{what}: it rings for {periods:.2g} periods", remedy, ratio)
    if isinstance(patient.rest, str) or not patient.rest.stable:
        return  # what nothing holds does not come back at all
    # overdamped: a real pole much slower than the oscillation would be
    poles = values[(np.abs(values.imag) < 1e-6 * size) & (values.real < -1e-14 * size.max(initial=0.0))]
    elastic = poles[size[np.isin(values, poles)] < 0.1 * w] if len(poles) else poles
    if len(elastic) and patient.places:
        slowest = 1.0 / float(np.abs(elastic.real).min())
        if slowest > max(CREEP_TIME, CREEP * float(patient.times[-1])):
            what = f"so damped that it creeps: {slowest:.3g} s until a motion has gone by two thirds"
            remedy = f"its undamped period is {1.0 / low:.2g} s: {slowest * low:.1g} times less damping lets it swing"
            yield Finding(ODD, "damping", what, remedy, slowest, "s")
