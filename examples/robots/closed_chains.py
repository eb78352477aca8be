"""
Closed chains
=============

Where links meet again a loop holds them together. Its forces are known at every moment.

Run: ``python examples/robots/closed_chains.py``
"""

import numpy as np

import sorosim

LOOK = {"size": (900, 540), "ghosts": "time"}


def closed(run):
    """How far the loops are open at most, as text."""
    return f"loops open by {max(gaps[:, 0].max() for gaps in run.drift.values()):.0e} m at most"


# %%
# The fin-ray finger: where its foot is pushed up, it bends. Seventeen rods, six loops.

run = sorosim.simulate(sorosim.load("fin_ray"), t_end=2.5)
print(f"{run.robot.name}: {closed(run)}; the push takes {np.abs(run.driven['right1']).max():.1f} N")
run.still("fin_ray.png", t=[0.0, 1.25, 2.5], view="side", trails=True, tips=["left6"], **LOOK)

# %%
# A plate on three soft pillars, shaken by a wrench on it.

run = sorosim.simulate(sorosim.load("hybrid_parallel"), t_end=3.0)
print(f"{run.robot.name}: {closed(run)}")
run.still("hybrid_parallel.png", t=[0.0, 1.5, 3.0], **LOOK)

# %%
# A Stewart platform on six soft legs, each with a tendon that shortens it: two neighbours pull at a time.

run = sorosim.simulate(sorosim.load("stewart_soft"), t_end=3.0)
tilt = np.degrees(
    np.linalg.norm(run.q[:, [run.robot.coordinate_names.index(f"plate.free.r{x}") for x in "xyz"]], axis=1)
)
print(f"{run.robot.name}: the plate tilts by {tilt.max():.0f} degrees; {closed(run)}")
run.still("stewart_soft.png", t=[0.0, 1.5], ghosts="fade", size=LOOK["size"])

# %%
# A plate on six thin rods, which motors feed through the base: a parallel continuum robot.

run = sorosim.simulate(sorosim.load("continuum_stewart"), t_end=3.0)
force = max(np.abs(force).max() for force in run.driven.values())
print(f"{run.robot.name}: feeding takes {force:.1f} N at most; {closed(run)}")
run.still("continuum_stewart.png", t=[1.5], size=LOOK["size"])

# %%
# A strip of rubber bent to a ring and glued end to end: it hangs, and what it was bent with is in the loop.

eq = sorosim.statics(sorosim.load("soft_ring"))
print(f"{eq.robot.name}: stable {eq.stable}")
eq.still("soft_ring.png", size=LOOK["size"])

# %%
# Rigid linkages are closed chains too: the four-bar, and a crank that drives a piston.

run = sorosim.simulate(sorosim.load("four_bar"), t_end=2.0)
energy = run.energy()
print(f"{run.robot.name}: energy balance {np.abs(energy.balance).max() / energy.kinetic.max():.0e}; {closed(run)}")
run.still("four_bar.png", t=[0.0, 0.1, 0.2, 0.3], **LOOK)

run = sorosim.simulate(sorosim.load("slider_crank"))
piston = run.q[:, run.robot.coordinate_names.index("piston.prismatic")]
print(f"{run.robot.name}: the piston moves over {1e3 * np.ptp(piston):.0f} mm")
run.still("slider_crank.png", t=[0.0, 0.125, 0.25], **LOOK)
