"""Every kind of load keeps the contract of a load: derivatives at rest and in motion, against differences."""

import numpy as np
import pytest
from helpers.limbs import limbs, pose

import sorosim
from sorosim.base.signals.expressions import parse
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.immersion import Immersed, PlacedShape
from sorosim.mechanics.loads.line_load import VARIABLES, LineLoad
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor
from sorosim.testing import check_load

SIX = (0.1, 0.2, 0.3, 1.0, 2.0, 3.0)
TIP, EYE = Anchor("arm", s=0.6, at=pose([0.2, 0.1, 0.0], [0.1, 0.0, 0.05])), Anchor("base", frame="eye")
ON_ARM, ON_LEG = Anchor("arm", s=0.5, at=pose([0.1, 0, 0], [0, 0.02, 0.01])), Anchor("leg", s=0.7)
PEG = Anchor("world", at=pose([0, 0, 0], [0.3, 0.2, 0.1]))


def line(text):
    return parse(text, VARIABLES)


class Pair:
    """Between points of the leg, of the arm and of the world, by a law without any structure."""

    places = (("leg", 0.4), ("arm", 0.7))
    dissipates = False

    def bind(self, layout):
        rng = np.random.default_rng(1)
        self.nodes = np.array([layout.link("leg").node_at(0.4), layout.link("ball").node_at(1.0)])
        self.others = np.array([layout.link("arm").node_at(0.7), -1])
        self.frames = np.stack([pose([0.1, 0.2, 0.3], [0.01, 0.02, 0]), np.eye(4)])
        self.other_frames = np.stack([pose([-0.1, 0.2, 0.3], [0.01, 0.02, 0]), pose([0.3, 0, 0], [0, 0.1, 0])])
        self.A, self.C = rng.normal(size=(2, 6, 6)), rng.normal(size=(2, 6, 3))
        return self

    def evaluate(self, t, g, eta):
        f = np.einsum("nij,nj->ni", self.A, np.tanh(eta)) + np.einsum("nij,nj->ni", self.C, g[:, :3, 3])
        K = np.zeros((2, 6, 6))
        K[:, :, 3:] = self.C @ g[:, :3, :3]
        return LoadValues(f, K, self.A * (1.0 - np.tanh(eta) ** 2)[:, None, :])


LOADS = {
    "dead": Wrench("arm", 0.6, moment=(0.1, 0.2, 0.3), force=(1.0, 2.0, "3*t")),
    "dead on a pose": Wrench(TIP, moment=SIX[:3], force=SIX[3:]),
    "dead on a frame": Wrench(EYE, moment=SIX[:3], force=SIX[3:]),
    "follower": Wrench(TIP, moment=(0.1, "sin(t)", 0.3), force=(1, 2, 3), frame="body"),
    "follower on a frame": Wrench(EYE, moment=SIX[:3], force=SIX[3:], frame="body"),
    "line of action": Wrench(TIP, moment=(0.1, 0.2, 0.3), force=(1, "2 + 1*t", 3), frame="line",
                             through=(0.2, 0.1, -0.3)),
    "line of action on a body": Wrench("ball", moment=SIX[:3], force=SIX[3:], frame="line", through=(0.2, 0.1, -0.3)),
    "per length": LineLoad("arm", moment=(line("0.1*s"), 0, 0), force=("1*t", line("X*t/L"), line("1-s"))),
    "per length, turning": LineLoad("leg", moment=(0, 0.1, 0), frame="body",
                                    force=({"times": [0, 1], "values": [0, 2]}, line("s"), 2)),
    "spring to the ground": Spring("arm", PEG, stiffness=50, damping=3, rest=0.1),
    "spring from the ground": Spring(PEG, EYE, stiffness="50*t", damping=3, rest="0.1*t"),
    "spring between rods": Spring(ON_ARM, ON_LEG, stiffness=50, damping=3, rest=0.1),
    "spring between bodies": Spring("ball", EYE, stiffness=50, damping="0.5 + 1*t"),
    "damper": Spring("ball", ON_LEG, damping=2.0),
    "still fluid": Fluid(1000.0),
    "current": Fluid(1000.0, current=(0.3, -0.2, 0.1)),
    "current of time and lift": Fluid(
        1000.0, current=(0.3, "0.2*sin(t)", 0.1),
        links={"arm": Immersed(lift=0.4), "base": Immersed(), "leg": Immersed(lift=-1), "ball": Immersed()},
    ),
    "field": Fluid(1000.0, current=("0.3+y*t", "sin(2*x)*cos(t)+z", "0.1*x*y*z+t^2"), height=0.05, up=(0.1, 0, 1)),
    "surface": Fluid(1000.0, height=0.02),
    "surface over a current": Fluid(1000.0, height=0.02, current=(0.3, "1*t", 0.1), up=(0.2, 0.1, 1)),
    "coefficients": Fluid(900.0, current=(0.3, 0, "1*t"), links={
        "arm": Immersed(drag=(0.1, 1, 2), added_mass=(0.1, 0.5, 2)),
        "base": Immersed(drag=2, rotary_drag=(1, 2, 3), added_mass=(0.5, 2, 1)),
    }),
    "drag by the whole speed": Fluid(900.0, current=(0.3, 0, "1*t"), drag="speed"),
    "viscous": Fluid(900.0, current=("0.3 + 1*y*t", "1*x", "0.2"), height=0.02, drag="stokes", viscosity=3.0),
    "pair": Pair(),
}  # fmt: skip


@pytest.fixture(scope="module")
def robot():
    return limbs()


@pytest.mark.parametrize("name", LOADS)
def test_load_keeps_its_contract(robot, name):
    assert check_load(LOADS[name], robot, name=name, n_states=2).worst < 1e-9


@pytest.mark.parametrize("name", ["follower", "follower on a frame", "per length, turning", "spring between rods",
                                  "spring between bodies", "damper"])  # fmt: skip
def test_loads_that_do_not_know_the_world_do_not_change_with_it(robot, name):
    assert check_load(LOADS[name], robot, name=name, n_states=2, invariant=True).worst < 1e-9


@pytest.mark.parametrize("load", [
    Spring("ball", ON_LEG, damping=2.0), Spring("ball", PEG, damping=2.0),
    Fluid(1e-3, links={"arm": Immersed(drag=1e4, lift=1e4, added_mass=0), "base": Immersed(drag=1e4, added_mass=0)}),
    Fluid(1e-3, drag="speed", links={"arm": Immersed(drag=1e4, lift=1e4, added_mass=0)}),
    Fluid(1e-3, drag="stokes", viscosity=2.0, links={n: Immersed(added_mass=0) for n in ("arm", "leg", "base")}),
], ids=["damper", "damper to the ground", "cross-flow", "speed", "stokes"])  # fmt: skip
def test_brakes_never_drive(load):
    # without gravity: the fluid does not carry
    assert check_load(load, limbs((0, 0, 0)), n_states=4, passive=True).worst < 1e-9


SHAPES = {
    "box": {"box": {"size": [0.1, 0.2, 0.3]}},
    "cylinder": {"cylinder": {"radius": 0.1, "length": 0.3}},
    "cone": {"cone": {"radius": 0.1, "length": 0.3}},
    "capsule": {"capsule": {"radius": 0.1, "length": 0.3}},
    "sphere": {"sphere": {"radius": 0.1}},
    "ellipsoid": {"ellipsoid": {"radii": [0.1, 0.2, 0.15]}},
    "superellipsoid": {"superellipsoid": {"radii": [0.1, 0.2, 0.15], "roundness": [0.4, 0.7]}},
    "parts": [
        {"box": {"size": [0.1, 0.2, 0.3]}, "density": 500},
        {"sphere": {"radius": 0.1}, "density": 900, "at": {"position": [0.2, 0.1, 0]}},
    ],
}  # fmt: skip


def floating(shape, gravity=(1.0, 2.0, -9.0)):
    """A free body."""
    body = shape
    if isinstance(shape, dict):
        at = {"position": [0.05, 0, 0.1], "rotation": {"rpy": [0.3, 0.2, 0.1]}}
        body = {**shape, "density": 700, "at": at}
    link = {"joint": "free", "body": body}
    return sorosim.load({"sorosim": 1, "name": "float", "gravity": list(gravity), "links": {"body": link}})


@pytest.mark.parametrize("shape", SHAPES)
def test_rigid_bodies_of_every_shape_keep_the_contract_in_a_current(shape):
    fluid = Fluid(1000.0, current=("0.3 + 1*y", "1*t", 0.1), height=0.05)
    assert check_load(fluid, floating(SHAPES[shape]), name=shape, n_states=4).worst < 1e-9


def test_a_body_given_by_numbers_takes_the_shape_that_it_is_said_to_have():
    from sorosim.mechanics.model.shape import Capsule

    given = {"mass": 2.0, "inertia": [0.01, 0.02, 0.03]}
    link = {"joint": "free", "body": given}
    robot = sorosim.load({"sorosim": 1, "name": "float", "links": {"body": link}})
    wet = Immersed(shape=PlacedShape(Capsule(0.05, 0.2), at=pose([0.1, 0.2, 0.3], [0.01, 0, 0])))
    assert check_load(Fluid(1000.0, current=(0.1, 0, "1*t"), links={"body": wet}), robot, n_states=4).worst < 1e-9
