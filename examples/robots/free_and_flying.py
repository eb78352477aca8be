"""
Free and flying
===============

What nothing holds keeps its momenta.

Run: ``python examples/robots/free_and_flying.py``
"""

import numpy as np

import sorosim

LOOK = {"size": (900, 540), "ghosts": "time"}

# %%
# The flying rod: pushed and turned for a while at one end, then on its own.

run = sorosim.simulate(sorosim.load("flying_rod"), t_end=6.0)
run.still("flying_rod.png", t=np.linspace(0.0, 6.0, 7), **LOOK)
print(f"{run.robot.name}: {run.robot.ndof} coordinates")

# %%
# A soft rod that falls. Its centre of mass follows a parabola, however it bends.

run = sorosim.simulate(sorosim.load("free_fall_rod"))
run.still("free_fall_rod.png", t=[0.0, 0.25, 0.5, 0.75, 1.0], **LOOK)
energy = run.energy()
print(f"{run.robot.name}: energy balance {np.abs(energy.balance).max() / energy.kinetic.max():.0e}")

# %%
# A tree in a gust, with apples on some twigs.

run = sorosim.simulate(sorosim.load("tree_of_rods"), t_end=3.0)
run.still("tree_of_rods.png", t=[0.0, 1.5, 3.0], **LOOK)
print(f"{run.robot.name}: {sum(link.rod is not None for link in run.robot.links)} rods")

# %%
# A lamp that crouches, jumps and lands on its springs.

run = sorosim.simulate(sorosim.load("jumping_lamp"))
heights = run.positions("base")[:, 1]
print(f"{run.robot.name}: its base comes {1e3 * np.ptp(heights):.0f} mm high")
run.still("jumping_lamp.png", t=[0.0, 0.6, 0.8, 1.0], view="side", **LOOK)

# %%
# A top that spins, precesses and nods; a particle that is thrown.

top = sorosim.simulate(sorosim.load("heavy_top"))
energy = top.energy()
print(f"{top.robot.name}: energy kept to {np.ptp(energy.total) / energy.kinetic.max():.0e}")
top.still("heavy_top.png", t=3.0, trails=True, size=LOOK["size"])

particle = sorosim.simulate(sorosim.load("particle"))
flight = particle.q[0, 1] + particle.qd[0, 1] * particle.t - 0.5 * 9.8 * particle.t**2
print(f"{particle.robot.name}: off its parabola by {np.abs(particle.q[:, 1] - flight).max():.0e} m")
