"""
Let a finger relax
==================

A tendon pulls a silicone finger within half a second. The material relaxes by a Prony series, so the finger
creeps on; after the tendon has let go it is back at first only in part, for it remembers.

Run: ``python examples/relax_a_finger.py``
"""

import matplotlib.pyplot as plt
import numpy as np

import sorosim

# %%
# The numbers of the series are made up, of the size that soft silicones have.

silicone = sorosim.Material(
    "400 kPa",
    poisson=0.5,
    density="1080 kg/m^3",
    damping="3 kPa*s",
    relaxation=sorosim.Relaxation((sorosim.RelaxationTerm(0.15, "50 ms"), sorosim.RelaxationTerm(0.2, "2 s"))),
)
section, strain = sorosim.Circle("8 mm"), sorosim.Strain(bending=2, elongation=0)


def finger(material):
    """A hanging finger of a material, with a tendon on one side."""
    rod = sorosim.Rod((sorosim.Division("12 cm", section, material, strain),))
    down = {"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}}
    tendon = sorosim.Tendon(sorosim.RouteSegment("finger", y=0.0, z="5 mm"))
    description = sorosim.Description(
        "relaxing finger", links=(sorosim.Link("finger", rod, at=down),), actuators={"tendon": tendon}
    )
    return sorosim.Robot(description)


robot = finger(silicone)
pull = "2*(smoothstep(2*t) - smoothstep(2*(t - 5)))"
run = sorosim.simulate(robot, "10 s", u={"tendon": pull}, method="generalized-alpha", dt_out="20 ms")
way = 1e3 * run.tip()[:, 0]

# %%
# At once the material is stiffer than after a long time. Both are equilibria of the same file.

long_term = 1e3 * sorosim.statics(robot, {"tendon": "2 N"}).tip()[0]
print(f"pulled: {way[50]:.1f} mm after 1 s, {way[250]:.1f} mm after 5 s, {long_term:.1f} mm in the end")
print(f"let go: {way[300]:.1f} mm after 1 s, {way[-1]:.1f} mm after 5 s")

# %%
# What is left of the pull is stored in the springs of the elements: `run.strain`, term by term.

energy = run.energy()
n = robot.ndof
fast, slow = (run.strain[:, k * n : (k + 1) * n] for k in range(2))
bend = robot.coordinate_names.index("finger.bending_y[0]")
figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
top.plot(run.t, way, label="tip")
top.axhline(long_term, linestyle=":", color="grey", label="equilibrium under the pull")
top.set_ylabel("sideways [mm]")
top.legend(loc="center right")
bottom.plot(run.t, run.q[:, bend], label="rod")
bottom.plot(run.t, fast[:, bend], label="spring of 50 ms")
bottom.plot(run.t, slow[:, bend], label="spring of 2 s")
bottom.set(xlabel="time [s]", ylabel="bending [rad]")
bottom.legend()
figure.savefig("relaxing_finger.png", dpi=120)
print(f"work {1e3 * energy.work[-1]:.2f} mJ, lost {1e3 * energy.dissipated[-1]:.2f} mJ")
assert np.abs(energy.balance).max() < 0.01 * energy.turnover
