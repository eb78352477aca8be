"""
Touch three pins
================

A fin-ray finger shall touch three pins with its left wall. Its right foot can be pushed, and its left foot stands on a
stage that moves in the plane and turns: where must they go?

Run: ``python examples/touch_three_pins.py``
"""

from dataclasses import replace

import numpy as np

import sorosim

finger = sorosim.load("fin_ray", set={"links.left1.joint": {"planar": {"axis": [0, 0, 1]}}})
feet = dict.fromkeys(["right1", "left1.planar.tx", "left1.planar.ty"], ("-2 cm", "2 cm"))
feet["left1.planar.angle"] = ("-30 deg", "30 deg")

# %%
# How far the pins stand to the left or right, in metres. Four numbers for three pins: of all solutions the one of
# least effort is taken.

pins = {"left2": 0.002, "left4": -0.0075, "left6": -0.0235}
found = sorosim.inverse(finger, {name: [x, None, None] for name, x in pins.items()}, free=list(feet), bounds=feet)
print(found.message)

# %%
# For the film the pins are there, as balls to the left of the wall of 1 mm, and the finger goes to them step by step.

radius = 0.003
balls = [
    sorosim.Link(
        f"pin at {name}",
        sorosim.Assembly([sorosim.Solid(sorosim.Sphere(radius), mass="10 g")]),
        at={"position": [x - radius - 0.0005, finger.pose(found.q, name)[1, 3], 0.0]},
    )
    for name, x in pins.items()
]
description = finger.description
finger = sorosim.Robot(replace(description, links=(*description.links, *balls)))
rest = sorosim.statics(finger, driven=dict.fromkeys(feet, 0.0))
begin = {name: finger.pose(rest.q, name)[0, 3] for name in pins}
targets = [
    {name: [(1.0 - part) * begin[name] + part * x, None, None] for name, x in pins.items()}
    for part in np.linspace(0.0, 1.0, 21)
]
path = sorosim.inverse_path(finger, targets, free=list(feet), bounds=feet, q0=rest.q)
print(f"{path.message}; the wall is off the pins by {1e9 * path.distance[-1]:.1g} nm")

# %%
# The slow motion plays and plots as runs do.

run = path.run(dt="50 ms")
run.still("pins.png", t=[run.t[-1]], view="z", size=(600, 600))
run.movie("pins.mp4", view="z", size=(480, 480))
