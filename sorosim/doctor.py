"""The doctor: looks a robot over before it runs, checks its derivatives, and says what looks odd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sorosim.analysis import statics
from sorosim.assembly import open_loops
from sorosim.contact_check import contacts_of, deep_contacts, estimate
from sorosim.drive import Partition, driven_motion
from sorosim.errors import ConvergenceError, ModelError
from sorosim.kernels import evaluate as task
from sorosim.kernels.fibres import WOUND_LENGTH
from sorosim.model.body import Assembly, RigidBody, Solid
from sorosim.model.link import WORLD
from sorosim.model.material import Material
from sorosim.model.mesh import Mesh
from sorosim.model.quadrature import default_n_gauss
from sorosim.model.rod import Division
from sorosim.model.section import Circle, HollowCircle
from sorosim.result import Equilibrium
from sorosim.robot import Robot
from sorosim.system import independent_rows

Array = NDArray[np.float64]

OK, ODD, WRONG = "ok", "odd", "wrong"

YOUNG = 1e3, 2e12  # Pa: from the softest gels to diamond
DENSITY = 5.0, 25e3  # kg/m^3: from foams to osmium
SOLID_DENSITY = 10.0, 25e3  # of a part of a body, hollows included
LARGE_MESH = 5.0  # m, of a file without a unit
LENGTH = 1e-4, 100.0  # m
SLENDER = 10.0  # length over thickness below which shear and end effects matter
STEP = 1e-3  # of four-point differences: truncation and rounding both stay below 1e-10
WRONG_DERIVATIVE = 1e-7
# where surfaces touch, forces bend within micrometres: smaller steps, and fewer digits
TOUCHING_STEP, TOUCHING_WRONG = 1e-6, 1e-4
ROUNDING = 1e-12  # of the largest stiffness: as good as none
SOFT, STIFF = 0.01, 1e4  # of the stiffness of contacts, against its estimate


class Finding(NamedTuple):
    """What the doctor has to say about one object."""

    level: str  # OK, ODD or WRONG
    where: str
    what: str
    remedy: str = ""


def examine(robot: Robot) -> list[Finding]:
    """Look a robot over.

    Returns
    -------
    list of Finding
        At least one for each of: parts, rods, actuators, loops, contacts, derivatives, equilibrium, stiffness.
    """
    findings: list[Finding] = []
    with np.errstate(all="ignore"):
        for check in (_materials, _rods, _gravity, _masses, _actuators, _loops, _contacts, _derivatives, _rest):
            found = list(check(robot))
            findings += found or [Finding(OK, check.__name__.strip("_"), "nothing looks odd")]
    return findings


def _divisions(robot: Robot) -> Iterator[tuple[str, Division]]:
    for link in robot.links:
        if link.rod is not None:
            several = len(link.rod.divisions) > 1
            for i, division in enumerate(link.rod.divisions):
                yield f"links.{link.name}.rod" + (f".divisions[{i}]" if several else ""), division


def _outside(value: float, bounds: tuple[float, float]) -> bool:
    return not bounds[0] <= value <= bounds[1]


def _materials(robot: Robot) -> Iterator[Finding]:
    seen: dict[Material, str] = {}
    for where, division in _divisions(robot):
        seen.setdefault(division.material, where)
    for material, where in seen.items():
        name = f"material of {where}"
        if _outside(material.young, YOUNG):
            yield Finding(ODD, name, f"Young's modulus {material.young:g} Pa", "was it meant in kPa, MPa or GPa?")
        if _outside(material.density, DENSITY):
            yield Finding(ODD, name, f"density {material.density:g} kg/m^3", "was it meant in g/cm^3?")
        if not (material.damping or material.mass_damping or material.stiffness_damping):
            yield Finding(ODD, name, "no damping: motions never settle", "give `damping`, a viscosity in Pa*s")


def _rods(robot: Robot) -> Iterator[Finding]:
    for where, division in _divisions(robot):
        L = division.length
        if _outside(L, LENGTH):
            yield Finding(ODD, where, f"length {L:g} m", "was it meant in cm or mm?")
        a = division.section.properties(np.linspace(0.05, 0.95, 7) * L, L)
        # of a round section, this is the diameter
        thickness = 4.0 * float(np.sqrt(np.max(np.maximum(a.Iy, a.Iz) / a.A)))
        if SLENDER * thickness > L and not any(division.strain.count_per_strain[4:]):
            remedy = "let it shear (strain: shear: 0), or take it for an approximation"
            yield Finding(ODD, where, f"length is {L / thickness:.2g} thicknesses, without shear", remedy)
        safe = default_n_gauss(division.strain)
        if division.n_gauss is not None and division.n_gauss < safe:
            remedy = f"leave `quadrature` out, which takes {safe}"
            yield Finding(ODD, where, f"{division.n_gauss} Gauss points for this basis", remedy)


def _gravity(robot: Robot) -> Iterator[Finding]:
    g = float(np.linalg.norm(robot.description.gravity))
    if g != 0.0 and _outside(g, (0.1, 30.0)):
        yield Finding(ODD, "gravity", f"{g:g} m/s^2", "on Earth it is 9.81")


def _solids(robot: Robot) -> Iterator[tuple[str, Solid]]:
    for link in robot.links:
        if isinstance(link.body, Assembly):
            several = len(link.body.parts) > 1
            for i, part in enumerate(link.body.parts):
                if isinstance(part, Solid):
                    yield f"links.{link.name}.body" + (f"[{i}]" if several else ""), part


def _masses(robot: Robot) -> Iterator[Finding]:
    for where, solid in _solids(robot):
        density = solid.properties.mass / solid.shape.moments.volume
        if _outside(density, SOLID_DENSITY):
            what = f"density {density:.4g} kg/m^3" + (" by its mass" if solid.mass is not None else "")
            remedy = "was a size meant in mm or cm?" if solid.mass is not None else "was it meant in g/cm^3?"
            yield Finding(ODD, where, what, remedy)
        if isinstance(solid.shape, Mesh) and solid.shape.file and solid.shape.scale == 1.0:
            size = float(np.ptp(solid.shape.vertices, axis=0).max())
            if size > LARGE_MESH:
                yield Finding(ODD, where, f"a mesh of {size:.4g} m", "is its file in mm? Then write scale: 1 mm")
    masses = {link.name: link_mass(robot, link.name) for link in robot.links}
    carried = {name: mass for name, mass in masses.items() if mass > 0.0}
    if not carried:
        yield Finding(ODD, "links", "nothing has mass", "give rods a density or links a body")
        return
    heavy, light = max(carried, key=carried.__getitem__), min(carried, key=carried.__getitem__)
    if carried[heavy] > 1e5 * carried[light]:
        what = f"{carried[light]:.3g} kg beside {carried[heavy]:.3g} kg of '{heavy}'"
        yield Finding(ODD, f"links.{light}", what, "look for a wrong unit")
    yield Finding(OK, "links", f"mass {sum(carried.values()):.4g} kg in all")


def link_mass(robot: Robot, name: str) -> float:
    """Mass of a link [kg]."""
    link = next(link for link in robot.links if link.name == name)
    if link.rod is not None:
        total = 0.0
        for division in link.rod.divisions:
            X, w, _ = division.quadrature()
            total += float(w @ division.line_inertia(X)[:, 3])
        return total
    return float(link.body.mass) if isinstance(link.body, RigidBody) else 0.0


def _actuators(robot: Robot) -> Iterator[Finding]:
    if not robot.actuator_names:
        yield Finding(OK, "actuators", "none")
        return
    q, zero = _some_state(robot)[0], np.zeros(robot.ndof)
    B = robot.internal_force_derivatives(q, zero).B
    for name, column in zip(robot.actuator_names, B.T, strict=True):
        if np.abs(column).max(initial=0.0) <= 1e-12 * np.abs(B).max(initial=0.0):
            yield Finding(ODD, f"actuators.{name}", "moves nothing", "is the strain that it works on locked?")


def _contacts(robot: Robot) -> Iterator[Finding]:
    for words in deep_contacts(robot, robot.initial_q):
        where, _, what = words.partition(": ")
        yield Finding(ODD, where, f"{what} where it begins", "move it apart, or leave the pair out (`apart`)")
    for name in contacts_of(robot):
        k = estimate(robot, name)
        unit, range_ = f"N/m^{k.exponent:g}", f"from {k.least:.2g}"
        if k.most > k.least:
            range_ += f" to {k.most:.2g}" if np.isfinite(k.most) else ""
        what = (
            f"stiffness {k.given:.3g} {unit}: {1e3 * k.sinks:.2g} mm deep under the weight of {k.weight:.3g} N; "
            f"{range_} {unit} it carries it within {1e3 * k.depth:.2g} mm"
        )
        if k.given < SOFT * k.least:
            yield Finding(ODD, f"loads.{name}", what, f"take about {k.least:.1g} {unit}")
        elif k.given > STIFF * max(k.most, k.least):
            yield Finding(ODD, f"loads.{name}", what, "so stiff a contact costs steps and changes nothing")
        else:
            yield Finding(OK, f"loads.{name}", what)
        if rods := _not_round(robot, name):
            what = f"not round, but touching as if with half of their thickness as radius: {', '.join(rods)}"
            yield Finding(OK, f"loads.{name}", what)


def _not_round(robot: Robot, name: str) -> list[str]:
    """Links with rods that are not round and have no radius of their own in a contact."""
    rods = {link.name: link.rod for link in robot.links if link.rod is not None}
    return [
        surface.link for surface in robot.description.loads[name].surfaces
        if surface.link in rods and surface.radius is None
        and any(not isinstance(part.section, Circle | HollowCircle) for part in rods[surface.link].divisions)
    ]  # fmt: skip


def _loops(robot: Robot) -> Iterator[Finding]:
    if not robot.loop_names:
        yield Finding(OK, "loops", "none")
        return
    q = robot.initial_q
    if left := open_loops(robot, q, 1e-6):
        yield Finding(ODD, "loops", f"open at the start: {left}", "q0: assembled starts from the nearest closed state")
    description = robot.description
    driven = description.simulate.get("driven") or description.statics.get("driven") or {}
    free = Partition.of(robot.engine.layout, driven, description.actuators).free
    A = robot.loop_rows(q).A[:, free]
    rank = len(independent_rows(robot, A))
    rows = f"{len(A)} conditions of {len(robot.loop_names)} loops, {rank} of them independent at the start"
    if rank >= len(free):
        beside = f" beside {len(driven)} that are driven" if driven else ""
        yield Finding(ODD, "loops", f"{rows}; they leave no freedom to {len(free)} coordinates{beside}",
                      "free a strain or a joint")  # fmt: skip
    else:
        yield Finding(OK, "loops", rows)


INPUT_SIZES = {"Pa": 1e4}  # of inputs that are tried, by their unit; 1 for others


def _some_state(robot: Robot) -> tuple[Array, Array, Array, Array]:
    """A state in motion in which rods are clearly bent, and inputs."""
    rng = np.random.default_rng(1)
    scale = np.full(robot.ndof, 0.2)
    for layout in robot.engine.layout.links.values():
        rows = np.concatenate([np.zeros(0), *(piece.division.strain.rows for piece in layout.pieces)])
        first = layout.column + layout.n_joint
        scale[first : first + len(rows)] = np.where(rows < 3, 0.2, 0.02)
    q, qd, qdd = (rng.uniform(-1.0, 1.0, robot.ndof) * scale for _ in range(3))
    sizes = np.array([INPUT_SIZES.get(unit, 1.0) for unit in robot.actuator_units])
    wound = robot.engine.fibres.input[:, WOUND_LENGTH]
    return q, qd, qdd, rng.uniform(0.0, 1.0, len(sizes)) * np.where(wound > 0.0, 0.05 * wound, sizes)


def _derivatives(robot: Robot) -> Iterator[Finding]:
    q, qd, qdd, u = _some_state(robot)
    try:
        inverse = robot.inverse_dynamics_derivatives(q, qd, qdd)
        forward = robot.forward_dynamics_derivatives(q, qd, u, driven={})
    except ModelError as error:
        yield Finding(WRONG, "dynamics", str(error))
        return
    inner = robot.internal_force_derivatives(q, qd, u)
    pairs: list[tuple[str, Array, Callable[[Array], Array], Array]] = [
        ("inverse dynamics by q", inverse.dtau_dq, lambda x: robot.inverse_dynamics(x, qd, qdd), q),
        ("inverse dynamics by qd", inverse.dtau_dqd, lambda x: robot.inverse_dynamics(q, x, qdd), qd),
        ("mass matrix", inverse.mass_matrix, lambda x: robot.inverse_dynamics(q, qd, x), qdd),
        ("internal force by q", inner.dtau_dq, lambda x: robot.internal_force(x, qd, u), q),
        ("internal force by qd", inner.dtau_dqd, lambda x: robot.internal_force(q, x, u), qd),
    ]
    touches = bool(robot.engine.loading.touches and robot.contacts(q).n)
    step, limit = (TOUCHING_STEP, TOUCHING_WRONG) if touches else (STEP, WRONG_DERIVATIVE)
    worst, name = 0.0, ""
    for label, analytic, function, at in pairs:
        # friction changes within its creep
        differences = _differences(function, at, 0.1 * STEP if at is qd else step)
        # what is small against the function itself, differences cannot see
        size = max(float(np.abs(differences).max(initial=0.0)), float(np.abs(function(at)).max(initial=0.0)), 1e-300)
        miss = float(np.abs(analytic - differences).max(initial=0.0) / size)
        if not miss <= worst:
            worst, name = miss, label
    # accelerations solve M qdd + ID - internal force = 0: no differences needed, in which cond(M) would drown digits
    rest = robot.inverse_dynamics(q, qd, forward.qdd) - robot.internal_force(q, qd, u)
    if robot.n_multipliers:  # but for the forces of loops
        across = robot.loop_rows(q).A.T
        rest -= across @ np.linalg.lstsq(across, rest, rcond=None)[0]
    forces = robot.internal_force(q, qd, u), robot.inverse_dynamics(q, qd, 0.0 * q)
    size = max(*(float(np.abs(force).max(initial=0.0)) for force in forces), 1e-300)
    if not worst <= limit:
        remedy = "if a load of your own is in it, look at its tangents; if not, please report this"
        yield Finding(WRONG, "derivatives", f"{name} misses differences by {worst:.1e}", remedy)
    elif not np.abs(rest).max(initial=0.0) <= WRONG_DERIVATIVE * size:
        yield Finding(WRONG, "dynamics", "accelerations do not solve the equations of motion", "look at the masses")
    else:
        yield Finding(OK, "derivatives", f"agree with differences to {worst:.1e}")


def _differences(function: Callable[[Array], Array], at: Array, step: float) -> Array:
    """Derivative of a vector by a vector, by central differences of fourth order."""
    columns = [
        8.0 * (function(at + h) - function(at - h)) - (function(at + 2.0 * h) - function(at - 2.0 * h))
        for h in step * np.eye(len(at))
    ]
    return np.asarray(np.array(columns).T / (12.0 * step))


def _rest(robot: Robot) -> Iterator[Finding]:
    """The equilibrium without inputs, driven coordinates held where they start, and what is stiff and soft about it."""
    floating = [link.name for link in robot.links if link.parent == WORLD and link.joint.kind == "free"]
    if not robot.loop_names and any(not robot.engine.layout.links[name].link.joint.is_wound for name in floating):
        yield Finding(OK, "equilibrium", f"'{floating[0]}' floats freely: none was looked for")
        return
    motions = robot.description.simulate.get("driven", {})
    if not robot.loop_names and (name := _loose(robot, motions)):
        yield Finding(OK, "equilibrium", f"nothing holds '{name}': none was looked for")
        return
    held = dict(zip(motions, map(float, driven_motion(motions).value(0.0)), strict=True))
    none = np.zeros(len(robot.actuator_names))
    try:
        rest = statics(robot, none, held)
        if not rest.stable:  # near the initial state, but perhaps not near the state without any load
            rest = statics(robot, none, held, np.zeros(robot.ndof))
    except ConvergenceError as error:
        yield Finding(ODD, "equilibrium", str(error), "gravity may be too much for the stiffness")
        return
    stable = rest.stable
    tip = ", ".join(f"{1e3 * x:.4g}" for x in rest.tip())
    remedy = "" if stable else "does something hold it? a small push will show where it goes"
    what = f"without inputs the tip rests at {tip} mm" + ("" if stable else ", unstably")
    yield Finding(OK if stable else ODD, "equilibrium", what, remedy)
    yield from _stiffness(robot, rest)


def _loose(robot: Robot, driven: Mapping[str, Any]) -> str:
    """The first coordinate that no force depends on, and none along it on any other: it is everywhere the same."""
    q, zero, none = robot.initial_q, np.zeros(robot.ndof), robot.inputs(None)
    K = np.abs(robot.engine.evaluate(task.RESIDUAL_DERIVATIVES, q, zero, zero.copy(), none).dq)
    loose = K.max(axis=0, initial=0.0) + K.max(axis=1, initial=0.0) <= ROUNDING * K.max(initial=0.0)
    loose[[robot.engine.layout.coordinate(name, "driven") for name in driven]] = False
    return robot.coordinate_names[int(np.argmax(loose))] if loose.any() else ""


def _stiffness(robot: Robot, rest: Equilibrium) -> Iterator[Finding]:
    frequencies = robot.linearize(rest.q, rest.u, free=rest.free).frequencies
    known = frequencies[np.isfinite(frequencies) & (frequencies > 0.0)]
    if len(known):
        low, high = known.min(), known.max()
        step = 1.0 / (np.pi * high)
        what = f"natural frequencies from {low:.3g} to {high:.3g} Hz; explicit methods would need steps of {step:.1e} s"
        yield Finding(OK, "stiffness", what)
