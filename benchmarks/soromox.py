"""An arm of four rods of constant strain, 24 coordinates, in batches, beside soromox in JAX on the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.context import Array
from sorosim.model.basis import Strain
from sorosim.model.description import Description
from sorosim.model.link import WORLD, Link
from sorosim.model.material import Material
from sorosim.model.rod import Division, Rod
from sorosim.model.section import Circle
from sorosim.robot import Robot
from sorosim.simulation.simulate import simulate
from sorosim.stepping.batch import Batch

RODS, LENGTH, RADIUS = 4, 0.125, 0.02  # [m]
YOUNG, POISSON, DENSITY, DAMPING = 1e6, 0.49, 1000.0, 1e4  # [Pa], [-], [kg/m^3], [Pa s]
# [m/s^2], across the straight arm, which leads along x here, along z there
GRAVITY, GRAVITY_THERE = (0.0, 0.0, -9.81), (9.81, 0.0, 0.0)
# members, held inputs each second, steps in each of these intervals
MEMBERS, RATE, SUBSTEPS = 64, 15, 4


class Point(NamedTuple):
    """A batch that moved."""

    name: str
    first: float  # time of the first call, with compilation [s]
    seconds: float  # time of a simulated second of one member [s]
    error: float  # of the way of the tip, by the length of the arm


def arm() -> Robot:
    """The arm in sorosim; all its strains are constant along a rod."""
    material = Material(YOUNG, poisson=POISSON, density=DENSITY, damping=DAMPING)
    strain = Strain(torsion=0, bending=0, elongation=0, shear=0)
    rod = Rod((Division(LENGTH, Circle(RADIUS), material, strain, quadrature=5),))
    links = [Link(f"rod{i}", rod, parent=f"rod{i - 1}" if i else WORLD) for i in range(RODS)]
    return Robot(Description("arm of constant strains", tuple(links), gravity=GRAVITY))


def ours(threads: int | None) -> Point:
    """A second of all members, which swing under gravity."""
    robot = arm()
    batch = Batch(robot, MEMBERS, 1.0 / RATE, substeps=SUBSTEPS, threads=threads)
    u = np.zeros((MEMBERS, RATE, 0))

    def move() -> Array:
        batch.reset()
        return np.asarray(batch.rollout(u).q[:, -1])

    return _timed(f"sorosim, {batch.threads} threads", move, 1.0)


def theirs() -> Iterator[Point]:
    """The same in soromox: members by `vmap`, solvers of diffrax, shorter times since they are slower."""
    import diffrax
    import jax
    import jax.numpy as jnp
    from soromox.systems.components import LinkSpec
    from soromox.systems.pcs.pcs import PCS
    from soromox.systems.system_state import SystemState

    jax.config.update("jax_enable_x64", True)
    links = [
        LinkSpec.circular(
            length=LENGTH, radius=RADIUS, density=DENSITY, reference_strain=[0, 0, 0, 1, 0, 0], young_modulus=YOUNG,
            poisson_ratio=POISSON, material_damping_coefficient=DAMPING,
        )
        for _ in range(RODS)
    ]  # fmt: skip
    system = PCS(PCS.params_from_links(links, gravity=jnp.array(GRAVITY_THERE)))
    n = system.num_coordinates
    start = SystemState(t=0.0, y=system.pack_state(jnp.zeros(n), jnp.zeros(n)))
    adaptive = diffrax.PIDController(rtol=1e-3, atol=1e-6)
    solvers: dict[str, tuple[Any, Any, float, float]] = {
        "Tsit5, 0.1 ms": (diffrax.Tsit5(), diffrax.ConstantStepSize(), 1e-4, 0.05),
        "Tsit5, adaptive": (diffrax.Tsit5(), adaptive, 1e-4, 0.1),
        "Kvaerno3, adaptive": (diffrax.Kvaerno3(), adaptive, 1e-3, 0.1),
    }
    for name, (solver, control, step, t_end) in solvers.items():
        options = {"t1": t_end, "solver_dt": step, "solver": solver, "stepsize_controller": control}
        fixed = {"save_dt": None, "save_ts": jnp.array([t_end]), "max_steps": 1_000_000}
        yield _timed(f"soromox, {name}", _members(jax, system, start, options | fixed, jnp.zeros((MEMBERS, n))), t_end)


def _members(jax: Any, system: Any, start: Any, options: dict[str, Any], forces: Any) -> Callable[[], Array]:
    """What moves members under generalised forces (members, n), and gives their coordinates at the end."""

    def member(force: Any) -> Any:
        return system.rollout_to(start, tau_ext=force, **options).y[-1]

    move = jax.jit(jax.vmap(member))
    return lambda: np.asarray(move(forces))[:, : forces.shape[1]]


def _timed(name: str, move: Callable[[], Array], t_end: float) -> Point:
    """The better of two calls after the first, of what gives coordinates (members, ndof) at t_end."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        q = move()
        times.append(time.perf_counter() - begin)
    robot = arm()
    exact = simulate(robot, t_end, method="radau", rtol=1e-9, atol=1e-11).tip()[-1]
    straight, tip = (robot.pose(x, robot.tip_link)[:3, 3] for x in (np.zeros(robot.ndof), q[0]))
    ways = [np.linalg.norm(place - straight) for place in (tip, exact)]  # the same in all planes of bending
    return Point(name, times[0], min(times[1:]) / (MEMBERS * t_end), float(abs(ways[0] - ways[1])) / (RODS * LENGTH))
