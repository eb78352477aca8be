"""
In water
========

Buoyancy, drag, lift and added mass of rods and bodies.

Run: ``python examples/robots/in_water.py``
"""

import numpy as np

import sorosim

LOOK = {"size": (900, 540), "ghosts": "time"}

# %%
# A vehicle whose shafts turn three flagella each, in opposite senses.

run = sorosim.simulate(sorosim.load("underwater_vehicle"), t_end=5.0)
energy = run.energy()
print(f"it has swum {1e3 * run.positions('body')[-1, 0]:.0f} mm; of {energy.work[-1]:.1f} J of work "
      f"{energy.dissipated[-1]:.1f} J went into water and silicone")  # fmt: skip
run.still("underwater_vehicle.png", t=[0.0, 5.0], ghosts="fade", size=LOOK["size"])

# %%
# A tentacle, lighter than water, in a current that swings like a swell.

run = sorosim.simulate(sorosim.load("tentacle_in_current"), t_end=6.0)
print(f"its tip sways over {1e3 * np.ptp(run.tip()[:, 0]):.0f} mm")
run.still("tentacle_in_current.png", t=[0.0, 1.5, 3.0, 4.5, 6.0], **LOOK)
