"""
Modulus and damping from markers
================================

A camera follows two markers of an arm that tendons pull: which modulus and which damping explain what it saw?

Run: ``python examples/fit_modulus_and_damping.py``
"""

import numpy as np

import sorosim

robot = sorosim.load("two_segment_arm")

# %%
# The camera is a simulation of an arm of another silicone, with noise of 1 mm.

t = 0.01 * np.arange(61)
u = np.zeros((61, len(robot.actuator_names)))
u[:, robot.actuator_names.index("b1")] = 6.0 * np.sin(8.0 * t) ** 2
real = robot.with_values({"materials.silicone.young": "1.3 MPa", "materials.silicone.damping": "16 kPa*s"})
seen, rng = sorosim.rollout(real, u[:-1], 0.01, q0="equilibrium"), np.random.default_rng(1)
markers = {link: seen.positions(link) + 1e-3 * rng.standard_normal((61, 3)) for link in ("lower", "upper")}

# %%
# The fit says how sure it is.

data = sorosim.Measurements(u, t=t, positions=markers)
fit = sorosim.fit(robot, data, free=["materials.silicone.young", "materials.silicone.damping"])
print(fit.summary())
figure = fit.plot()

# %%
# The film shows the arm with the numbers that were found.

run = sorosim.rollout(fit.robot, u[:-1], 0.01, q0="equilibrium").run
run.still("fitted.png", t=run.t[[0, 20, -1]], ghosts="time", trails=True, size=(600, 480))
run.movie("fitted.mp4", trails=True, size=(480, 360))
