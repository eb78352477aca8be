"""An arm of four rods of constant strain, 24 coordinates, in batches, beside soromox in JAX on the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.context import Array
from sorosim.analysis.motion.batch import Batch
from sorosim.analysis.motion.simulate import simulate
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.link import WORLD, Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

RODS, LENGTH, RADIUS = 4, 0.125, 0.02  # [m]
YOUNG, POISSON, DENSITY, DAMPING = 1e6, 0.49, 1000.0, 1e4  # [Pa], [-], [kg/m^3], [Pa s]
# [m/s^2], across the straight arm, which leads along x here, along z there
GRAVITY, GRAVITY_THERE = (0.0, 0.0, -9.81), (9.81, 0.0, 0.0)
# members, held inputs each second, steps in each of these intervals
MEMBERS, RATE, SUBSTEPS = 64, 15, 4
# soromox takes a minute of one core for a simulated second of a member, so fewer of them move for a shorter time [s]
MEMBERS_THERE, END_THERE = 8, 0.05


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


def ours(threads: int | None, members: int) -> Point:
    """A second of all members, which swing under gravity."""
    robot = arm()
    batch = Batch(robot, members, 1.0 / RATE, substeps=SUBSTEPS, threads=threads)
    u = np.zeros((members, RATE, 0))

    straight = _tip(robot, np.zeros(robot.ndof))

    def move() -> Array:
        batch.reset()
        return _tip(robot, np.asarray(batch.rollout(u).q[0, -1])) - straight

    return _timed(f"sorosim, {batch.threads} threads", move, members, 1.0)


def theirs(members: int, t_end: float) -> Iterator[Point]:
    """The same in soromox: members by `vmap`, solvers of diffrax."""
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
    control = diffrax.PIDController(rtol=1e-3, atol=1e-6)
    fixed = {"save_dt": None, "save_ts": jnp.array([t_end]), "max_steps": 1_000_000, "t1": t_end}
    straight = system.forward_kinematics_tips(jnp.zeros(n))[-1]
    solvers = {"Tsit5": (diffrax.Tsit5(), 1e-5), "Kvaerno3": (diffrax.Kvaerno3(), 1e-3)}
    for name, (solver, step) in solvers.items():

        def member(force: Any, solver: Any = solver, step: float = step) -> Any:
            options = fixed | {"solver_dt": step, "solver": solver, "stepsize_controller": control}
            return system.rollout_to(start, tau_ext=force, **options).y[-1]

        together = jax.jit(jax.vmap(member))

        def move(together: Any = together) -> Array:
            q = together(jnp.zeros((members, n)))[0, :n]
            return np.asarray((system.forward_kinematics_tips(q)[-1] - straight)[:3, 3])

        yield _timed(f"soromox, {name} with chosen steps", move, members, t_end)


def _tip(robot: Robot, q: Array) -> Array:
    return np.asarray(robot.outputs.poses(q)[0, :3, 3])


def _timed(name: str, move: Callable[[], Array], members: int, t_end: float) -> Point:
    """The better of two calls after the first, of what gives the way of the tip (3,) in t_end."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        way = move()
        times.append(time.perf_counter() - begin)
    robot = arm()
    exact = simulate(robot, t_end, method="radau", rtol=1e-9, atol=1e-11).tip()[-1] - _tip(robot, np.zeros(robot.ndof))
    lengths = [np.linalg.norm(one) for one in (way, exact)]  # the same in all planes of bending
    error = float(abs(lengths[0] - lengths[1])) / (RODS * LENGTH)
    return Point(name, times[0], min(times[1:]) / (members * t_end), error)
