"""
Soft pendulums swing up
=======================

A cart-pole, a Furuta pendulum and a pendubot whose pendulums are soft rods: which motor brings them up, and how is it
kept there? The tasks are those of Caradonna et al. (2026).

Run: ``python examples/swing_up.py``, for the others ``python examples/swing_up.py soft_furuta soft_pendubot``
"""

import sys

import numpy as np

import sorosim

# %%
# Robot: the bound of its motor, the link that is to stand upright, and steps of the integrator in each 20 ms.

TASKS = {
    "swing_up_cart_pole": (200.0, "pole", 2),
    "soft_furuta": (80.0, "pendulum", 4),
    "soft_pendubot": (10.0, "upper", 3),
}


def swing_up(name):
    """The motion of least cost, and a simulation of it with its gains that goes on for 2 s."""
    bound, link, substeps = TASKS[name]
    robot = sorosim.load(name)
    cost = sorosim.Cost(goal={"q": 1e-3, "qd": 1e-3}, final={"q": 1000, "qd": 100}, effort=1.0 / bound**2)
    oc = sorosim.optimal_control(robot, 3, "20 ms", cost, (-bound, bound), goal={link: "180 deg"}, substeps=substeps)
    run = sorosim.simulate(robot, 5, controller=oc.gains, dt_control=oc.dt, q0=oc.q[0], rtol=1e-6, atol=1e-8)
    return oc, run


# %%
# The film shows the simulation, which knows nothing of the steps of the optimisation.

for name in sys.argv[1:] or ["swing_up_cart_pole"]:
    oc, run = swing_up(name)
    print(oc.summary())
    error = np.abs(np.hstack([run.q, run.qd]) - oc.gains.goal).max(axis=1)
    print(f"simulated: {error[run.t >= 3.0].max():.2g} from the goal at most after 3 s, {error[-1]:.2g} at 5 s\n")
    run.still(f"{name}.png", t=[0.0, 0.8, 1.6, 2.2, 2.6, 3.0], ghosts="time", size=(900, 540))
    run.movie(f"{name}.mp4", size=(640, 480))
