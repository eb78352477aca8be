"""
Frequencies and modes
=====================

A rod that hangs down swings in its natural modes. ``linearize`` gives them about any equilibrium, from exact
derivatives. Here a tip force grows until the hanging rod has turned into a string under tension; then the rod becomes
a rotor blade, which its own weight pulls at.

Run: ``python examples/vibrations.py``
"""

import numpy as np
from matplotlib.figure import Figure

import sorosim
from sorosim.analysis.results.modes import format_shares
from sorosim.mechanics.loads.wrench import Wrench

rod = {
    "length": "30 cm",
    "section": {"rectangle": {"y": "12 mm", "z": "3 mm"}},
    "material": "rubber",
    "strain": {"bending_y": 6, "bending_z": 6, "elongation": 2, "torsion": 2},
}
rubber = {"young": "2 MPa", "poisson": 0.5, "density": "1100 kg/m^3", "damping": "1 kPa*s"}
hanging = sorosim.load(
    {
        "sorosim": 1,
        "name": "strip",
        "materials": {"rubber": rubber},
        # turned about y by a right angle, the rod's x axis points down
        "links": {"strip": {"at": {"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}}, "rod": rod}},
    }
)

# %%
# Modes of the strip as it hangs: how often, how strongly damped, and what moves in them.

lin = sorosim.statics(hanging).linearize()
for k in range(1, 7):
    print(f"{lin.mode(k).message:48} {format_shares(lin.shares(k))}")

# %%
# Grey is the strip at rest. ``lin.mode(3).play()`` shows one of them in the browser, ``.movie("mode3.mp4")`` films it.

lin.plot()

# %%
# Under a force at its tip, all of them change. A load of the same name takes the place of the one before.

forces = np.linspace(0.0, 3.0, 31)
frequencies = []
for force in forces:
    robot = hanging.with_loads(pull=Wrench("strip", force=(0, 0, -force)))
    frequencies.append(sorosim.statics(robot).linearize().frequencies[:4])
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

# %%
# A blade on a hub that turns at a constant rate: ``sorosim.steady`` finds the motion in which nothing else changes. The
# rod is stretched by its own inertia, and stiffened by that; Coriolis forces couple its motions.

blade = sorosim.load(
    {
        "sorosim": 1,
        "name": "blade",
        "gravity": [0, 0, 0],
        "materials": {"rubber": rubber},
        "links": {"blade": {"joint": {"revolute": {"axis": [0, 0, 1]}}, "rod": rod}},
    }
)
speeds = np.linspace(0.0, 20.0, 21)  # rad/s
fans = [sorosim.steady(blade, {"blade": speed}).linearize().damped.frequencies[:4] for speed in speeds]

campbell = Figure(figsize=(6.5, 3.8), layout="constrained")
axes = campbell.subplots()
axes.plot(speeds, np.array(fans))
axes.plot(speeds, speeds / (2.0 * np.pi), color="grey", linestyle="--", label="once a turn")
axes.set_xlabel("speed [rad/s]")
axes.set_ylabel("frequency [Hz]")
axes.set_title("Campbell diagram of a rubber blade")
axes.legend()
axes.grid(True, alpha=0.3)
