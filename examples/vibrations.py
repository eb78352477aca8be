"""
Natural frequencies under tension
=================================

A rod that hangs down swings in its natural modes. ``Robot.linearize`` gives their frequencies about any equilibrium,
from exact derivatives. Here a tip force grows until the hanging rod has turned into a string under tension.

Run: ``python examples/vibrations.py``
"""

import numpy as np
from matplotlib.figure import Figure

import sorosim
from sorosim.loads.point_wrench import PointWrench

rod = {
    "length": "30 cm",
    "section": {"rectangle": {"y": "12 mm", "z": "3 mm"}},
    "material": "rubber",
    "strain": {"bending_y": 6, "bending_z": 6, "elongation": 2},
}
hanging = sorosim.load(
    {
        "sorosim": 1,
        "name": "strip",
        "materials": {"rubber": {"young": "2 MPa", "poisson": 0.5, "density": "1100 kg/m^3"}},
        # turned about y by a right angle, the rod's x axis points down
        "links": {"strip": {"at": {"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}}, "rod": rod}},
    }
)

# %%
# A load of the same name takes the place of the one before.

forces = np.linspace(0.0, 3.0, 31)
frequencies = []
for force in forces:
    robot = hanging.with_loads(pull=PointWrench("strip", wrench=(0, 0, 0, 0, 0, -force)))
    eq = sorosim.statics(robot)
    frequencies.append(robot.linearize(eq.q).frequencies[:4])
    if force in (0.0, 3.0):
        print(f"{force:3.1f} N: " + ", ".join(f"{f:.2f} Hz" for f in frequencies[-1]))

# %%
# The pull stiffens the slow modes most: they become those of a string.

figure = Figure(figsize=(6.5, 3.8), layout="constrained")
axes = figure.subplots()
axes.plot(forces, np.array(frequencies))
axes.set_xlabel("force at the tip [N]")
axes.set_ylabel("frequency [Hz]")
axes.set_title("first four modes of a hanging strip")
axes.grid(True, alpha=0.3)
