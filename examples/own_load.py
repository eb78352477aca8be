"""
A load of one's own
===================

A load is a small class that knows one material point at a time: its pose and its twist. It returns the wrench on the
body and two derivatives. The engine does the rest: Jacobians of statics and dynamics stay exact.

Here a spring ties the tip of the cable-driven manipulator to a fixed point of the world.

Run: ``python examples/own_load.py``
"""

from dataclasses import dataclass

import numpy as np

import sorosim
from sorosim.lie.so3 import skew
from sorosim.loads.base import LoadValues
from sorosim.testing import check_load


@dataclass(frozen=True)
class Spring:
    """A spring of zero rest length between a point of a rod and a point of the world."""

    link: str
    s: float
    anchor_w: tuple[float, float, float]  # [m]
    stiffness: float  # [N/m]

    @property
    def places(self):
        # the engine makes this place a computational point
        return ((self.link, self.s),)

    def bind(self, layout):
        node = layout.link(self.link).node_at(self.s)
        return BoundSpring(np.array([node]), np.array(self.anchor_w), self.stiffness)


@dataclass(frozen=True)
class BoundSpring:
    """The same, after its place in the robot has been looked up."""

    nodes: np.ndarray
    anchor_w: np.ndarray
    stiffness: float
    dissipates = False

    def evaluate(self, t, g, eta):
        R, p = g[0, :3, :3], g[0, :3, 3]
        wrench, K = np.zeros((1, 6)), np.zeros((1, 6, 6))
        # [moment; force] on the body, in the body's own axes
        wrench[0, 3:] = self.stiffness * R.T @ (self.anchor_w - p)
        # g exp(delta^): the body turns by delta[:3] and moves by R delta[3:]
        K[0, 3:, :3] = skew(wrench[0, 3:])
        K[0, 3:, 3:] = -self.stiffness * np.eye(3)
        return LoadValues(wrench, K, np.zeros((1, 6, 6)))


# %%
# First test the derivatives that were written by hand, against differences, at rest and in motion.

free, spring = sorosim.load("cable_manipulator"), Spring("arm", 1.0, (0.45, 0.1, 0.0), 20.0)
print(check_load(spring, free, name="spring", n_states=2))

# %%
# Then use it.

for name, robot in (("free", free), ("tied", free.with_loads(spring=spring))):
    eq = sorosim.statics(robot, u={})
    print(f"{name}: tip at {np.round(1e3 * eq.tip(), 1)} mm, {eq.n_evaluations} evaluations")
figure = eq.plot()
