"""
A robot made of Python objects
==============================

A robot need not come from a file. Here a rigid pendulum carries a soft rod in its middle.

Run: ``python examples/robot_in_python.py``
"""

import numpy as np

import sorosim
from sorosim.model.basis import Strain
from sorosim.model.body import RigidBody
from sorosim.model.description import Description
from sorosim.model.joints import Joint
from sorosim.model.link import Link
from sorosim.model.material import Material
from sorosim.model.rod import Division, Rod
from sorosim.model.section import Circle

rubber = Material(2e6, poisson=0.45, density=1100.0, damping=2e3)

# a Kirchhoff rod: bending and torsion only; the strains left out are locked
whip = Rod(Division(0.3, Circle([0.008, 0.003]), rubber, Strain(torsion=2, bending=3)))

# the arm hangs along its own x axis, which points down at rest
down = np.eye(4)
down[:3, :3] = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
middle = np.eye(4)
middle[0, 3] = 0.1

arm = RigidBody(0.5, centre=(0.1, 0.0, 0.0), inertia=(1e-4, 2e-3, 2e-3))
robot = sorosim.Robot(
    Description(
        "pendulum with a whip",
        (
            Link("arm", arm, joint=Joint("revolute", axis=(0, 1, 0), damping=1e-3), at=down),
            Link("whip", whip, parent="arm", at=middle),
        ),
    )
)
print(robot.summary())

# %%
# Let it go from an angle of 1 rad. There is little damping, so most of the energy stays.

q0 = np.zeros(robot.ndof)
q0[0] = 1.0  # rad
run = sorosim.simulate(robot, t_end=1.0, q0=q0, rtol=1e-6)
energy = run.energy()
for t, tip, total in zip(run.t[::10], run.tip("whip")[::10], energy.total[::10], strict=True):
    print(f"t = {t:.1f} s   tip {np.round(tip, 4)} m   energy {total:.5f} J")
print(f"energy balance closes to {np.abs(energy.balance).max():.1e} J")

# %%
# Six shapes of this motion; ``run.plot("folder")`` writes this plot and others.
figure = run.plot(what="snapshots")["snapshots"]
