"""
Rigid chains
============

A robot without rods is a robot too, and its dynamics take microseconds.

Run: ``python examples/robots/rigid_chains.py``
"""

import numpy as np

import sorosim

LOOK = {"size": (900, 540), "ghosts": "time"}

# %%
# A pendulum, and two of them, one on the other: the second motion is chaotic, its energy is not.

pendulum = sorosim.load("pendulum")
period = 1.0 / pendulum.linearize(sorosim.statics(pendulum).q).frequencies[0]
print(f"{pendulum.name}: a small swing takes {period:.4f} s")
run = sorosim.simulate(sorosim.load("double_pendulum"))
energy = run.energy()
print(f"{run.robot.name}: energy kept to {np.ptp(energy.total) / energy.kinetic.max():.0e}")
run.still("double_pendulum.png", t=[0.0, 0.5, 1.0, 1.5], trails=True, **LOOK)

# %%
# The PUMA 560 by its Denavit-Hartenberg table: the torques that a motion needs.

run = sorosim.simulate(sorosim.load("puma560"))
for name, torque in run.driven.items():
    print(f"{name}: {np.abs(torque).max():.2f} N m at most")
run.still("puma560.png", t=[0.0, 1.5, 4.0], trails=True, **LOOK)

# %%
# A polypeptide of alanine as a model kit: springs in its torsions fold it into a helix.

run = sorosim.simulate(sorosim.load("polypeptide"), t_end=2.0)
before, after = 1e3 * np.linalg.norm(run.tip()[[0, -1]], axis=1)
print(f"{run.robot.name}: from {before:.0f} to {after:.0f} mm long")
run.still("polypeptide.png", t=[0.0, 2.0], **LOOK)
