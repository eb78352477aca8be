"""Rods whose behaviour is known in closed form."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import ReferenceStrain, Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle, Section
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]
NO_GRAVITY = (0.0, 0.0, 0.0)

SILICONE = Material(1e6, poisson=0.5, density=1000.0)
UNDAMPED = SILICONE


def cantilever(
    varying: Strain,
    *,
    length: float = 0.5,
    section: Section | None = None,
    material: Material = SILICONE,
    n_gauss: int | None = None,
    gravity: Sequence[float] = NO_GRAVITY,
    reference: ReferenceStrain | None = None,
    joint: Joint | None = None,
    load: Wrench | None = None,
) -> Robot:
    """A rod called "arm" along +x from the origin, clamped unless a joint is given; 2 cm thick, without gravity."""
    division = Division(
        length, section or Circle(0.01), material, varying, quadrature=n_gauss, reference=reference or ReferenceStrain()
    )
    link = Link("arm", Rod((division,)), joint=joint or Joint())
    loads = {} if load is None else {"tip": load}
    return Robot(Description("cantilever", (link,), gravity=tuple(gravity), loads=loads))


def tip_load(moment: Sequence[float] = (0, 0, 0), force: Sequence[float] = (0, 0, 0), frame: str = "world") -> Wrench:
    """A wrench at the tip of the arm."""
    return Wrench("arm", 1.0, moment=((*moment, *force))[:3], force=((*moment, *force))[3:], frame=frame)


def stiffness(robot: Robot) -> Array:
    """G J, E Iy, E Iz, E A, k G A, k G A of an even arm."""
    return robot.links[0].rod.divisions[0].line_stiffness(np.zeros(1))[0]


def pendulum(
    mass: float = 2.0,
    reach: float = 0.3,
    inertia: float = 0.05,
    *,
    damping: float = 0.0,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> Robot:
    """A rigid body on a hinge along y; at q = 0 its centre of mass is at +x from the hinge."""
    body = RigidBody(mass, centre=(reach, 0.0, 0.0), inertia=(inertia, inertia, inertia))
    link = Link("bob", body, joint=Joint("revolute", axis=(0.0, 1.0, 0.0), damping=damping))
    return Robot(Description("pendulum", (link,), gravity=tuple(gravity)))
