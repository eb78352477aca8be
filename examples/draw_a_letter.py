"""
Draw a letter
=============

A two-segment arm writes an S with its tip: which tensions take it along?

Run: ``python examples/draw_a_letter.py``
"""

import numpy as np

import sorosim

robot = sorosim.load("two_segment_arm")

# %%
# The letter: two arcs in a plane under the arm, 12 cm high.

radius, height = 0.03, -0.27
upper = np.pi * np.linspace(0.1, 1.5, 40)
lower = np.pi * np.linspace(0.5, -0.9, 40)[1:]
along = np.concatenate(
    [
        np.stack([radius * np.cos(upper), radius * np.sin(upper) + radius], axis=1),
        np.stack([radius * np.cos(lower), radius * np.sin(lower) - radius], axis=1),
    ]
)
letter = np.column_stack([along, np.full(len(along), height)])

# %%
# Tendons of 10 N at most. Each search begins at the state before, so it takes few steps.

path = sorosim.inverse_path(robot, {"upper": letter}, bounds=dict.fromkeys(robot.actuator_names, ("0 N", "10 N")))
print(path.message)
print(f"tensions up to {path.u.max():.1f} N; the tip is off by {1e6 * path.distance.max():.2g} um at most")

# %%
# The slow motion plays and plots as runs do.

run = path.run(dt="50 ms")
run.still("letter.png", t=[run.t[-1]], trails=True, size=(900, 540))
run.movie("letter.mp4", trails=True, size=(640, 480))
