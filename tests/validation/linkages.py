"""Linkages whose motion is known in closed form."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from validation.motions import X, Z, pose, turn

from sorosim.mechanics.constraints.loop import Anchor, Loop
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.robot import Robot

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
TURN = 2.0 * np.pi
# the driven angle: one turn a second, not evenly
DRIVE = "2*pi*t + 0.4*sin(2*pi*t)"


def drive(t: Array) -> Array:
    return TURN * t + 0.4 * np.sin(TURN * t)


def jets(f: Function, t: Array, n: int = 32, radius: float = 0.03) -> tuple[Array, Array, Array]:
    """Values (n_t, ...) and first and second derivatives of an analytic function, by Cauchy's integral round each t."""
    ring = np.exp(2j * np.pi * np.arange(n) / n)
    values = np.stack([f(t + radius * z) for z in ring])
    return tuple(
        factor * np.tensordot(ring**-k, values, axes=1).real / n / radius**k for k, factor in ((0, 1), (1, 1), (2, 2))
    )  # type: ignore[return-value]


def angle_of(x: Array, y: Array) -> Array:
    """Angle of a direction, for complex numbers too; not beyond half a turn."""
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def swing(A: Array, B: Array, C: Array, sign: float) -> Array:
    """An angle psi with A sin psi + B cos psi = C."""
    return 2.0 * np.arctan((A + sign * np.sqrt(A * A + B * B - C * C)) / (B + C))


@dataclass(frozen=True)
class Bar:
    """A planar body: its centre of mass lies on the x axis of its link."""

    length: float
    mass: float
    centre: float
    inertia: float  # about the centre of mass

    @property
    def body(self) -> RigidBody:
        return RigidBody(self.mass, centre=(self.centre, 0.0, 0.0), inertia=(self.inertia, self.inertia, self.inertia))


@dataclass(frozen=True)
class Planar:
    """A linkage in the plane x-y with a driven crank: q(t), and x, y, angle (..., 3) of the bodies' centres of mass."""

    robot: Robot
    bars: tuple[Bar, ...]
    q: Function
    centres: Function
    gravity: tuple[float, float]

    def torque(self, t: Array) -> Array:
        """Of the drive, by power: it moves the bodies and lifts them."""
        _, v, a = jets(self.centres, t)
        power = np.zeros(len(t))
        for k, bar in enumerate(self.bars):
            power += bar.mass * ((a[:, k, :2] - self.gravity) * v[:, k, :2]).sum(axis=1)
            power += bar.inertia * a[:, k, 2] * v[:, k, 2]
        return power / jets(drive, t)[1]


CRANK, COUPLER, ROCKER = Bar(0.1, 0.3, 0.04, 4e-4), Bar(0.35, 0.8, 0.2, 9e-3), Bar(0.3, 0.5, 0.1, 5e-3)
GROUND, GRAVITY = 0.4, (1.5, -9.81)


def four_bar(joint: Joint) -> Planar:
    """Crank, coupler and rocker; the loop is closed between the last two."""
    g = (*GRAVITY, 0.0)
    links = (
        Link("crank", CRANK.body, joint=Joint("revolute")),
        Link("coupler", COUPLER.body, parent="crank", joint=Joint("revolute"), at=pose(p=(CRANK.length, 0, 0))),
        Link("rocker", ROCKER.body, joint=Joint("revolute"), at=pose(p=(GROUND, 0, 0))),
    )
    ends = Anchor("coupler", at=pose(p=(COUPLER.length, 0, 0))), Anchor("rocker", at=pose(p=(ROCKER.length, 0, 0)))
    robot = Robot(Description("four-bar", links, gravity=g, loops={"pin": Loop(joint, *ends)}))

    def angles(t: Array) -> tuple[Array, Array, Array]:
        phi = drive(t)
        # the vector from the pin of the crank to that of the rocker
        x, y = GROUND - CRANK.length * np.cos(phi), -CRANK.length * np.sin(phi)
        c = ROCKER.length
        psi = swing(2.0 * c * y, 2.0 * c * x, COUPLER.length**2 - c**2 - x * x - y * y, 1.0)
        return phi, angle_of(x + c * np.cos(psi), y + c * np.sin(psi)), psi

    def q(t: Array) -> Array:
        phi, theta, psi = angles(t)
        return np.stack([phi, theta - phi, psi], axis=-1)

    def centres(t: Array) -> Array:
        phi, theta, psi = angles(t)
        a, b, c = CRANK.centre, COUPLER.centre, ROCKER.centre
        x, y = CRANK.length * np.cos(phi), CRANK.length * np.sin(phi)
        return np.stack([
            np.stack([a * np.cos(phi), a * np.sin(phi), phi], axis=-1),
            np.stack([x + b * np.cos(theta), y + b * np.sin(theta), theta], axis=-1),
            np.stack([GROUND + c * np.cos(psi), c * np.sin(psi), psi], axis=-1),
        ], axis=-2)  # fmt: skip

    return Planar(robot, (CRANK, COUPLER, ROCKER), q, centres, GRAVITY)


PISTON, OFFSET = Bar(0.0, 0.6, 0.0, 1e-3), 0.02


def slider_crank(joint: Joint) -> Planar:
    """Crank, connecting rod and a piston beside the axis of the crank; the loop is closed between the last two."""
    g = (*GRAVITY, 0.0)
    links = (
        Link("crank", CRANK.body, joint=Joint("revolute")),
        Link("rod", COUPLER.body, parent="crank", joint=Joint("revolute"), at=pose(p=(CRANK.length, 0, 0))),
        Link("piston", PISTON.body, joint=Joint("prismatic", axis=X), at=pose(p=(0, OFFSET, 0))),
    )
    loops = {"pin": Loop(joint, Anchor("rod", at=pose(p=(COUPLER.length, 0, 0))), Anchor("piston"))}
    robot = Robot(Description("slider-crank", links, gravity=g, loops=loops))

    def motion(t: Array) -> tuple[Array, Array, Array]:
        phi, b = drive(t), COUPLER.length
        theta = np.arcsin((OFFSET - CRANK.length * np.sin(phi)) / b)
        return phi, theta, CRANK.length * np.cos(phi) + b * np.cos(theta)

    def q(t: Array) -> Array:
        phi, theta, x = motion(t)
        return np.stack([phi, theta - phi, x], axis=-1)

    def centres(t: Array) -> Array:
        phi, theta, place = motion(t)
        a, b = CRANK.centre, COUPLER.centre
        x, y = CRANK.length * np.cos(phi), CRANK.length * np.sin(phi)
        return np.stack([
            np.stack([a * np.cos(phi), a * np.sin(phi), phi], axis=-1),
            np.stack([x + b * np.cos(theta), y + b * np.sin(theta), theta], axis=-1),
            np.stack([place, OFFSET + 0.0 * place, 0.0 * place], axis=-1),
        ], axis=-2)  # fmt: skip

    return Planar(robot, (CRANK, COUPLER, PISTON), q, centres, GRAVITY)


# -- spatial ones


REACH, ROD, ARM = 0.1, 0.4, 0.25
PIVOT = np.array([0.1, 0.3, 0.2])


def rssr() -> Robot:
    """A crank about z and a rocker about x, joined by a slim rod on two balls; the second one closes the loop."""
    rod = RigidBody(0.2, centre=(0.2, 0.0, 0.0), inertia=(1e-4, 3e-3, 3e-3))
    arm = RigidBody(0.4, centre=(0.1, 0.0, 0.0), inertia=(1e-4, 2e-3, 2e-3))
    crank = RigidBody(0.3, centre=(0.05, 0.0, 0.0), inertia=(1e-4, 5e-4, 5e-4))
    links = (
        Link("crank", crank, joint=Joint("revolute")),
        Link("rod", rod, parent="crank", joint=Joint("spherical"), at=pose(p=(REACH, 0.0, 0.0))),
        # its x axis is y of the world, its axis of turning x
        Link("rocker", arm, joint=Joint("revolute"), at=pose(np.column_stack([[0, 1, 0], [0, 0, 1], X]), PIVOT)),
    )
    ball = Loop(Joint("spherical"), Anchor("rod", at=pose(p=(ROD, 0, 0))), Anchor("rocker", at=pose(p=(ARM, 0, 0))))
    return Robot(Description("RSSR", links, loops={"ball": ball}))


def rssr_start() -> Array:
    """Coordinates at which the crank is at zero and the rod points to the rocker, without any twist."""
    psi = rssr_rocker(np.zeros(1))[0]
    along = (PIVOT + ARM * np.array([0.0, np.cos(psi), np.sin(psi)]) - REACH * X) / ROD
    across = np.cross(X, along)
    return np.array([0.0, *np.arccos(along[0]) / np.linalg.norm(across) * across, psi])


def rssr_rocker(phi: Array) -> Array:
    """Angle of the rocker at that of the crank."""
    x, y, z = (PIVOT[:, None] - REACH * np.stack([np.cos(phi), np.sin(phi), 0.0 * phi])).reshape(3, *phi.shape)
    return swing(2.0 * ARM * z, 2.0 * ARM * y, ROD**2 - ARM**2 - x * x - y * y - z * z, -1.0)


BENNETT = ((0.2, np.radians(40.0)), (0.2 * np.sin(np.radians(75.0)) / np.sin(np.radians(40.0)), np.radians(75.0)))


def side(k: int) -> Array:
    """Along a side of Bennett's linkage, length and twist, from one joint to the next."""
    length, twist = BENNETT[k % 2]
    return pose(p=(length, 0.0, 0.0)) @ pose(turn(X, twist))


def bennett(gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)) -> Robot:
    """Bennett's linkage: four skew axes that turn although they should not; the fourth joint closes the loop."""

    def body(k: int) -> RigidBody:
        half = BENNETT[k % 2][0] / 2.0
        return RigidBody(0.3, centre=(half, 0.01, 0.02), inertia=(2e-4, 1e-3, 1.1e-3))

    hinge = Joint("revolute")
    links = (
        Link("crank", body(0), joint=hinge),
        Link("coupler", body(1), parent="crank", joint=hinge, at=side(0)),
        Link("rocker", body(2), parent="coupler", joint=hinge, at=side(1)),
    )
    loop = Loop(hinge, Anchor("rocker", at=side(2)), Anchor(at=np.linalg.inv(side(3))))
    return Robot(Description("Bennett", links, gravity=gravity, loops={"hinge": loop}))


def bennett_angles(phi: Array) -> Array:
    """The four angles (n, 4) at those of the crank, which follow each other closely: no jumps of whole turns."""
    (_, alpha), (_, beta) = BENNETT
    K = np.sin((beta + alpha) / 2.0) / np.sin((beta - alpha) / 2.0)
    second = 2.0 * np.unwrap(np.arctan2(K * np.cos(phi / 2.0), np.sin(phi / 2.0)))
    return np.stack([phi, second, -phi, -second], axis=-1)


def bennett_rates(phi: Array) -> Array:
    """Rates (n, 4) of the four angles where that of the crank is 1."""
    (_, alpha), (_, beta) = BENNETT
    K = np.sin((beta + alpha) / 2.0) / np.sin((beta - alpha) / 2.0)
    second = -K / (np.sin(phi / 2.0) ** 2 + K * K * np.cos(phi / 2.0) ** 2)
    return np.stack([0.0 * phi + 1.0, second, 0.0 * phi - 1.0, -second], axis=-1)


def bennett_closure(angles: Array) -> Array:
    """The product of all motions round the linkage: 1."""
    g = np.eye(4)
    for k, angle in enumerate(angles):
        g = g @ pose(turn(Z, angle)) @ side(k)
    return g
