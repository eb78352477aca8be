"""The seven experiments of cosseratbench: sorosim beside PyElastica and MuJoCo, on one thread (docs/peers.md).

It needs the packages cosseratbench, pyelastica and mujoco before 4.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np

import sorosim
from benchmarks.context import Setting
from sorosim.base.arrays import Array
from sorosim.files import load_text
from sorosim.mechanics.robot import Robot

# how each experiment is run here; those without an entry as DEFAULT
DEFAULT: dict[str, Any] = {
    "divisions": 1, "penetration": 0.02, "slip_speed": 1e-4, "strain": {"torsion": 0, "bending": 5, "elongation": 1},
}  # fmt: skip
# contact excites short waves, which the generalised-alpha method damps at once
LOOSE = {"rtol": 1e-2, "atol": 1e-4, "spectral_radius": 0.0}
CHOICES: dict[str, dict[str, Any]] = {
    "cantilever": {"strain": {"bending": 1}},
    "catenary": {"strain": {"bending": 7, "elongation": 2}},
    "pendulum": {"strain": {"bending": 5, "elongation": 1}, "options": {"method": "newmark", "rtol": 1e-4}},
    "twist": {"strain": {"torsion": 1, "bending": 7, "elongation": 0}, "options": {"rtol": 1e-4}},
    "crossing": {"divisions": 7, "strain": {"torsion": 0, "bending": 3, "elongation": 1}, "options": LOOSE},
    "capstan": {"divisions": 8, "strain": {"bending": 1, "elongation": 1}, "penetration": 0.1, "options": LOOSE},
    "pile": {
        "divisions": 12, "strain": {"torsion": 0, "bending": 2, "elongation": 0}, "penetration": 0.3, "damping": 5.0,
        "slip_speed": 0.02, "options": {**LOOSE, "atol": 1e-3},
    },
}  # fmt: skip
# strains of a centreline from so many points, then Gauss-Newton on so many places
POINTS_OF_FIT, PLACES_OF_FIT, STEPS_OF_FIT, RANK_OF_FIT = 201, 61, 10, 1e-5
BENT = 1e-2  # rad by which a rod turns along its length; less is none
CLOSE = 1e-6  # distance of a rod from where it begins, in its lengths, that is near enough
SETTLING = 1.0  # s
STOP = 0.05  # s in which a driven end comes to rest, before and after the scenario's time


class SorosimSolver:
    """Scenarios of cosseratbench as robots: few divisions of a higher order, whatever the number of elements."""

    name = "sorosim"
    backend_version = str(sorosim.__version__)

    def __init__(self, experiment: str = "", **changes: Any) -> None:
        from cosseratbench import Capability

        self.capabilities = frozenset(Capability)
        self.choice = {**DEFAULT, **CHOICES.get(experiment, {}), **changes}

    def settings(self, scenario: Any, **_: Any) -> dict[str, Any]:
        """Numerical choices, for the record."""
        return {"method": "generalized-alpha", **self.choice}

    def run(self, scenario: Any, *, n_elements: int, n_frames: int) -> Any:
        """Motion of the rods of a scenario, at evenly spaced nodes and times."""
        from cosseratbench import Diverged, Trajectory

        robot, driven = robot_of(scenario, self.choice)
        times = np.linspace(0.0, scenario.duration, n_frames)
        q0 = initial_coordinates(robot, scenario)
        moves = any(rod.motion(end) for rod in scenario.rods for end in ends())
        try:
            options = {"method": "generalized-alpha", **self.choice.get("options", {})}
            sticks = any(one.friction > 0.0 for one in (*scenario.rods, *scenario.obstacles))
            if scenario.quasi_static and not moves and not sticks:
                states = [q0, *[equilibrium(robot, q0, options)] * (n_frames - 1)]
            else:
                run = sorosim.simulate(robot, t_end=scenario.duration, dt_out=times[1], q0=q0, driven=driven, **options)
                states = list(run.q)
        except sorosim.SorosimError as error:
            raise Diverged(str(error)) from None
        positions, directors = [], []
        nodes = np.linspace(0.0, 1.0, n_elements + 1)
        for k, rod in enumerate(scenario.rods):
            backwards = is_backwards(rod)
            s = 1.0 - nodes if backwards else nodes
            places = np.empty(2 * n_elements + 1)  # nodes and, between them, the middles of elements
            places[::2], places[1::2] = s, 0.5 * (s[1:] + s[:-1])
            g = [robot.poses(q, f"rod{k}", s=places) for q in states[:2]]
            # at rest all states but the first are one
            at_rest = len(states) > 2 and states[2] is states[1]
            g += [g[1]] * (n_frames - 2) if at_rest else [robot.poses(q, f"rod{k}", s=places) for q in states[2:]]
            poses = np.stack(g)
            positions.append(poses[:, ::2, :3, 3])
            directors.append(poses[:, 1::2, :3, 1])
        return Trajectory(times, tuple(positions), tuple(directors))


def equilibrium(robot: Robot, q: Array, options: dict[str, Any]) -> Array:
    """Where a robot without friction comes to rest; what begins apart settles for SETTLING before."""
    touches = robot.engine.loading.touches
    if touches:
        q = sorosim.simulate(robot, t_end=SETTLING, dt_out=SETTLING, q0=q, **options).q[-1]
    # the crossing's reference is unstable: small motions about it grow
    return sorosim.statics(robot, q0=q, stable=not touches).q


def ends() -> tuple[Any, Any]:
    """Both ends of a rod."""
    from cosseratbench import End

    return End.START, End.END


def is_backwards(rod: Any) -> bool:
    """Whether the link begins at the rod's end: one that slides and turns is a joint of the tree, not of a loop."""
    return rod.end_motion is not None


def end_frame(rod: Any) -> Array:
    """Pose (4, 4) of the section at which the link begins; x along it, y the material direction of the benchmark."""
    n = max(len(rod.centerline) - 1, 1)
    nodes, directors = rod.nodes(n), rod.directors(n)
    along, y, position = nodes[1] - nodes[0], directors[0], nodes[0]
    if is_backwards(rod):
        along, y, position = nodes[-2] - nodes[-1], directors[-1], nodes[-1]
    x = along / np.linalg.norm(along)
    y = y - (y @ x) * x
    y /= np.linalg.norm(y)
    g = np.eye(4)
    g[:3, 0], g[:3, 1], g[:3, 2], g[:3, 3] = x, y, np.cross(x, y), position
    return g


def pose(g: Array) -> dict[str, Any]:
    """A pose as the file has it."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(g[:3, :3]).as_rotvec()
    angle = float(np.linalg.norm(turn))
    out: dict[str, Any] = {"position": g[:3, 3].tolist()}
    if angle > 0.0:
        out["rotation"] = {"axis": (turn / angle).tolist(), "angle": angle}
    return out


def robot_of(scenario: Any, choice: dict[str, Any]) -> tuple[Robot, dict[str, Any]]:
    """The robot of a scenario, and its driven coordinates: (times, values) by name."""
    import yaml

    strain, divisions = choice["strain"], choice["divisions"]
    rods = range(len(scenario.rods))
    data: dict[str, Any] = {"sorosim": 1, "name": "ropes", "gravity": list(map(float, scenario.gravity))}
    data |= {"materials": {}, "links": {}, "loops": {}, "loads": {}}
    driven: dict[str, Any] = {}
    damping = 2.0 * scenario.slowest_frequency() if scenario.quasi_static else 0.0
    for k, rod in enumerate(scenario.rods):
        name = f"rod{k}"
        material, radius = rod.material, float(rod.radius)
        data["materials"][name] = {
            "young": material.youngs_modulus, "shear": material.shear_modulus, "density": material.density,
            "mass_damping": damping,
        }  # fmt: skip
        common = {"material": name, "section": {"circle": {"radius": radius}}, "strain": strain}
        link: dict[str, Any] = {"at": pose(end_frame(rod)), "joint": joint(rod, end_frame(rod), driven, name)}
        parts = divided(rod, divisions) if isinstance(divisions, int) else divisions
        link["rod"] = {"divisions": [{"length": float(rod.length * part), **common} for part in parts]}
        data["links"][name] = link
        close(data, rod, name)
        for i, load in enumerate(rod.loads):
            at_end = load.at == ends()[1]
            s = 0.0 if at_end == is_backwards(rod) else 1.0
            data["loads"][f"load{k}_{i}"] = {
                "wrench": {"link": name, "s": s, "force": list(load.force), "frame": "world"}
            }
    pieces = choice.get("pieces")
    surfaces = [{"link": f"rod{k}", **({"pieces": pieces} if pieces else {})} for k in rods]
    add_contacts(data, scenario, surfaces, choice)
    text = yaml.safe_dump({key: value for key, value in data.items() if value != {}}, sort_keys=False)
    return load_text(text, "ropes.yaml"), driven


def divided(rod: Any, most: int) -> list[float]:
    """Parts of a rod's length, of about `most` divisions, with ends where its curvature jumps."""
    points, arc = np.asarray(rod.centerline, dtype=float), rod.rest_arc_length
    edge = np.diff(points, axis=0)
    h = np.linalg.norm(edge, axis=1)
    s = np.concatenate([[0.0], np.cumsum(h)]) if arc is None else np.asarray(arc, dtype=float)
    x = edge / h[:, None]
    # of the corners; where an arc begins, the corner has half of its curvature
    bend = np.linalg.norm(np.cross(x[:-1], x[1:]), axis=1) / (0.5 * (h[:-1] + h[1:]))
    jumps = [0.0]
    if len(bend) > 1 and bend.max() * rod.length > BENT:
        change = np.flatnonzero(np.abs(np.diff(bend)) > 0.25 * bend.max())
        for several in np.split(change, np.flatnonzero(np.diff(change) > 1) + 1):
            # between corners `first` + 1 and `last` + 2
            jumps += [float(np.mean(s[several[0] + 1 : several[-1] + 3]) / rod.length)] if len(several) else []
    out: list[float] = []
    for a, b in itertools.pairwise([*jumps, 1.0]):
        pieces = max(1, round(most * (b - a)))
        out += [(b - a) / pieces] * pieces
    return out if not is_backwards(rod) else out[::-1]


def joint(rod: Any, g: Array, driven: dict[str, Any], name: str) -> Any:
    """The joint at which the link begins."""
    motion = rod.end_motion or rod.start_motion
    condition = (rod.end if is_backwards(rod) else rod.start).value
    if motion is None:
        return {"free": "free", "pinned": {"universal": {"axis": [0, 1, 0], "second_axis": [0, 0, 1]}}}.get(
            condition, "fixed"
        )
    t, moved, turned = np.array(motion.times), np.array(motion.displacement), np.array(motion.rotation)
    if motion.slides_along is not None:
        axis = g[:3, :3].T @ motion.axis
        driven[f"{name}.cylindrical.angle"] = smooth(t, turned @ motion.axis)
        return {"cylindrical": {"axis": axis.tolist()}}
    direction = moved[-1] / np.linalg.norm(moved[-1])
    driven[name] = smooth(*stopped(t, moved @ direction))
    return {"prismatic": {"axis": (g[:3, :3].T @ direction).tolist()}}


def smooth(t: Array, values: Array) -> dict[str, Any]:
    """A motion through values at times, with continuous rates."""
    return {"times": t.tolist(), "values": values.tolist(), "interpolation": "pchip" if len(t) < 20 else "cubic"}


def stopped(t: Array, values: Array) -> tuple[Array, Array]:
    """The same, resting from the last one on; what moves at a constant rate comes to rest in STOP."""
    # few times, so that `smooth` goes monotonically between them
    fine = np.concatenate([[t[0]], np.linspace(t[-1] - STOP, t[-1] + STOP, 15)])
    rate = (values[-1] - values[0]) / (t[-1] - t[0])
    late = np.clip(fine - (t[-1] - STOP), 0.0, 2.0 * STOP)
    way = values[0] + rate * (np.minimum(fine, t[-1] - STOP) - t[0] + late - late**2 / (4.0 * STOP))
    return np.append(fine, 2.0 * t[-1]), np.append(way, way[-1])


def close(data: dict[str, Any], rod: Any, name: str) -> None:
    """Hold the other end, if anything does."""
    backwards = is_backwards(rod)
    condition = (rod.start if backwards else rod.end).value
    place = rod.centerline[0 if backwards else -1]
    if condition == "pinned":
        data["loops"][f"{name}_end"] = {"from": name, "to": {"at": {"position": list(map(float, place))}},
                                        "joint": "spherical"}  # fmt: skip
    elif condition == "clamped":
        data["loops"][f"{name}_end"] = {"from": name, "to": {"at": {"as_built": True}}, "joint": "fixed"}


def add_contacts(data: dict[str, Any], scenario: Any, names: list[dict[str, Any]], choice: dict[str, Any]) -> None:
    """Contacts with obstacles, between rods, and of rods with themselves."""
    for i, obstacle in enumerate(scenario.obstacles):
        z = obstacle.unit_axis if obstacle.kind == "cylinder" else obstacle.unit_normal
        x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [0.0, 0.0, 1.0], z)
        g = np.eye(4)
        g[:3, 0], g[:3, 2] = x / np.linalg.norm(x), z
        g[:3, 1] = np.cross(g[:3, 2], g[:3, 0])
        g[:3, 3] = obstacle.center if obstacle.kind == "cylinder" else obstacle.point
        shape: dict[str, Any] = {"half_space": {}}
        if obstacle.kind == "cylinder":
            shape = {"cylinder": {"radius": obstacle.radius, "length": obstacle.length}}
        data["loads"][f"obstacle{i}"] = {
            "contact": {
                "between": names,
                "and": {**shape, "at": pose(g)},
                **law(scenario, obstacle.friction, choice),
            }
        }
    friction = max(rod.friction for rod in scenario.rods)
    if scenario.self_contact or len(names) > 1:
        entry = {"among": names, **law(scenario, friction, choice)}
        data["loads"]["ropes"] = {"contact": entry}


def law(scenario: Any, friction: float, choice: dict[str, Any]) -> dict[str, Any]:
    """A contact that carries the weight of a tenth of a rod by a penetration, in its radii."""
    rod = scenario.rods[0]
    weight = rod.material.density * rod.area * rod.length * max(float(np.linalg.norm(scenario.gravity)), 1.0)
    out: dict[str, Any] = {"stiffness": float(0.1 * weight / (choice["penetration"] * rod.radius) ** 1.5)}
    if choice.get("damping"):
        out["damping"] = choice["damping"]
    if friction > 0.0:
        out |= {"friction": friction, "slip_speed": choice["slip_speed"]}
    return out


def initial_coordinates(robot: Robot, scenario: Any) -> Array:
    """Coordinates at which the rods are where the scenario has them: their strains, then Gauss-Newton on positions."""
    q = robot.initial_q.copy()
    for k, rod in enumerate(scenario.rods):
        link = robot.engine.layout.link(f"rod{k}")
        q[link.column + link.n_joint : link.column + link.n] = strains_of(rod, link)
        s = np.linspace(0.0, 1.0, PLACES_OF_FIT)
        target = rod.nodes(PLACES_OF_FIT - 1)
        if is_backwards(rod):
            target = target[::-1]
        own = np.arange(link.column, link.column + link.n)
        for _ in range(STEPS_OF_FIT):
            g = robot.poses(q, f"rod{k}", s=s)
            if np.abs(target - g[:, :3, 3]).max() < CLOSE * rod.length:
                break
            rows = [g[i, :3, :3] @ robot.jacobian(q, f"rod{k}", s=float(s[i]))[3:, own] for i in range(len(s))]
            # what positions do not tell, such as torsion, stays
            step = np.linalg.lstsq(np.concatenate(rows), (target - g[:, :3, 3]).ravel(), rcond=RANK_OF_FIT)[0]
            q[own] += step
            if np.abs(step).max() < 1e-6:
                break
    return sorosim.assemble(robot, q0=q).q if robot.loop_names else q


def strains_of(rod: Any, link: Any) -> Array:
    """Least-squares coordinates of the strains of a centreline whose material frames are not twisted."""
    n = 10 * POINTS_OF_FIT
    nodes, y = rod.nodes(n), rod.directors(n)
    if is_backwards(rod):
        nodes, y = nodes[::-1], y[::-1]
    h = rod.length / n
    edge = np.diff(nodes, axis=0)
    stretch = np.linalg.norm(edge, axis=1) / h
    x = edge / (stretch * h)[:, None]
    bend = np.cross(x[:-1], x[1:]) / h
    z, middle = np.cross(x, y), h * np.arange(1, n)
    strain = np.zeros((n - 1, 6))
    strain[:, 1], strain[:, 2] = (
        np.sum(bend * (y[:-1] + y[1:]), axis=1) / 2,
        np.sum(bend * (z[:-1] + z[1:]), axis=1) / 2,
    )
    strain[:, 3] = (stretch[:-1] + stretch[1:]) / 2 - 1.0
    found = []
    for piece in link.pieces:
        inside = (middle > piece.start) & (middle < piece.start + piece.division.length)
        P = piece.division.basis(middle[inside] - piece.start)
        found.append(np.linalg.lstsq(np.moveaxis(P, 1, 2).reshape(-1, piece.n), strain[inside].ravel(), rcond=None)[0])
    return np.concatenate(found)


class Timed:
    """A solver whose last run's processor time is kept: a busy machine stretches the time of the clock."""

    def __init__(self, solver: Any) -> None:
        self.solver, self.processor_time = solver, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def run(self, scenario: Any, **options: Any) -> Any:
        """The solver's run."""
        begin = time.process_time()
        trajectory = self.solver.run(scenario, **options)
        self.processor_time = time.process_time() - begin
        return trajectory


SOLVERS = ("sorosim", "pyelastica", "mujoco")


def errors_of(result: Any) -> dict[str, float]:
    """What an experiment measured; what it has not, as a depth without obstacles, is not finite there."""
    found = {**(result.metrics or {}), **(result.observations or {})}
    return {name: float(value) for name, value in found.items() if np.isfinite(value)}


def study(at: Setting) -> None:
    """The seven experiments of cosseratbench beside PyElastica and MuJoCo, processor's time and the clock's."""
    from cosseratbench import run
    from cosseratbench.registry import EXPERIMENTS, load_experiment, load_solver, names

    experiments, solvers = at.size((names(EXPERIMENTS), SOLVERS), (["cantilever"], SOLVERS[:1]))
    for name in experiments:
        for solver_name in solvers:
            try:
                solver = Timed(SorosimSolver(name) if solver_name == SOLVERS[0] else load_solver(solver_name))
                result = run(load_experiment(name), solver)
            except (
                ValueError,
                RuntimeError,
                ImportError,
            ) as error:  # other versions than those of the adapters
                at.say(f"{name:11s} {solver_name:11s} {error!r:.200}")
                continue
            shown = ", ".join(f"{key} {value:.2e}" for key, value in errors_of(result).items())
            took = f"{solver.processor_time:.2f} s ({result.wall_time or 0.0:.2f})"
            failed = result.failure or ", ".join(result.missing or ())
            at.say(f"{name:11s} {solver_name:11s} {took:>18s}  {failed or shown}")
