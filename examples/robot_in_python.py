"""
A robot made of Python objects
==============================

A robot need not come from a file. Here a rigid pendulum carries a soft rod in its middle. Everything that a file can
say has a name in ``sorosim``; numbers are in SI units, texts have a unit.

Run: ``python examples/robot_in_python.py``
"""

import numpy as np

import sorosim

rubber = sorosim.Material("2 MPa", poisson=0.45, density="1100 kg/m^3", damping="2 kPa*s")

# a Kirchhoff rod: bending and torsion only; the strains left out are locked
whip = sorosim.Rod(
    sorosim.Division("30 cm", sorosim.Circle(["8 mm", "3 mm"]), rubber, sorosim.Strain(torsion=2, bending=3))
)

# the arm hangs along its own x axis, which points down at rest
arm = sorosim.RigidBody("500 g", centre=["10 cm", 0, 0], inertia=[1e-4, 2e-3, 2e-3])
robot = sorosim.Robot(
    sorosim.Description(
        "pendulum with a whip",
        (
            sorosim.Link(
                "arm",
                arm,
                joint=sorosim.Revolute(axis=[0, 1, 0], damping="1e-3 N*m*s/rad"),
                at={"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}},
            ),
            sorosim.Link("whip", whip, parent="arm", at={"position": ["10 cm", 0, 0]}),
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
# The same robot as a file: ``sorosim.dump(robot, "pendulum.yaml")`` writes it, `with_values` changes numbers of it.

print(sorosim.dump(robot))
softer = robot.with_values({"materials.material.young": "1 MPa"})
print(f"{softer.links[1].rod.divisions[0].material.young:g} Pa")

# %%
# Six shapes of this motion; ``run.plot("folder")`` writes this plot and others.
figure = run.plot(what="snapshots")["snapshots"]
