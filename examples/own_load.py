"""
A load of one's own
===================

A load is a small class that gives its value alone: the wrench on the body from time, pose and twist, or an energy. The
library does the rest: nodes, derivatives, reactions. Jacobians of statics and dynamics stay exact.

Here a spring ties the tip of the cable-driven manipulator to a fixed point of the world.

Run: ``python examples/own_load.py``
"""

from dataclasses import dataclass

import numpy as np

import sorosim
from sorosim.testing import check_load


@dataclass(frozen=True)
class Spring(sorosim.LoadLaw):
    """A spring of zero rest length between a point of a rod and a point of the world."""

    link: str
    s: float
    anchor_w: tuple[float, float, float]  # [m]
    stiffness: float  # [N/m]

    def energy(self, t, g):
        # poses (n, 4, 4) of its points, here one; g[:, :3, 3] are their positions in the world
        return 0.5 * self.stiffness * np.sum((g[:, :3, 3] - self.anchor_w) ** 2, axis=1)


# %%
# First test whether it keeps the contract: its derivatives against differences, at rest and in motion.

free, spring = sorosim.load("cable_manipulator"), Spring("arm", 1.0, (0.45, 0.1, 0.0), 20.0)
print(check_load(spring, free, name="spring", n_states=2))

# %%
# Then use it.

for name, robot in (("free", free), ("tied", free.with_loads(spring=spring))):
    eq = sorosim.statics(robot, u={})
    print(f"{name}: tip at {np.round(1e3 * eq.tip(), 1)} mm, {eq.n_evaluations} evaluations")
figure = eq.plot()
