"""
Equilibria of the cable-driven manipulator
==========================================

Raise the tension of the first cable step by step, and see where the tip comes to rest.

Run: ``python examples/equilibria.py``
"""

import numpy as np

import sorosim

robot = sorosim.load("cable_manipulator")
q = None
print("tension [N]   tip x, y, z [mm]              stable")
for tension in np.linspace(0.0, 20.0, 5):
    # each equilibrium starts from the one before
    eq = sorosim.statics(robot, u={"cable1": tension}, q0=q)
    q = eq.q
    x, y, z = 1e3 * eq.tip()
    print(f"{tension:8.1f}      {x:8.2f} {y:8.2f} {z:8.2f}      {eq.stable}")

# %%
# The last one, beside the unloaded shape, and its strains along the rod. ``eq.plot("file.png")`` writes such a picture.
figure = eq.plot()
