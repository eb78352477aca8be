"""Objects of Python to YAML and back, of every kind: the same parts, and the same bits in the arrays of the engine."""

from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from helpers.declared import Known, parts
from helpers.robots import arrays_of
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

import sorosim
from sorosim.base.errors import ModelError
from sorosim.base.registry import ACTUATORS, BASES, JOINTS, LOADS, OBSTACLES, SECTIONS, SENSORS, SHAPES
from sorosim.base.signals.expressions import Expression
from sorosim.files import dump, load_text
from sorosim.files.robot_writer import data_of
from sorosim.mechanics.constraints.loop import Loop
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.visual import Visual
from sorosim.mechanics.robot import Robot

BASE = load_text((Path(__file__).parent / "round_trips.yaml").read_text("utf-8"), "round_trips.yaml")
KNOWN = Known(data_of(BASE))
FEW = settings(
    max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None,
    phases=[Phase.generate],
)  # fmt: skip
MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
RODS = ("arm", "hand")
RUBBER = Material("1 MPa", poisson=0.5, density=1000)


def bits(value):
    """All that a part is made of, numbers to the bit; the name of a material, and a place s on no rod, are free."""
    if isinstance(value, Expression):
        return value.code.tolist(), value.constants.tobytes()
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, float):
        return float(value).hex()
    if isinstance(value, Material):
        value = replace(value, name="")
    if is_dataclass(value):
        own = {one.name: bits(getattr(value, one.name)) for one in fields(value)}
        if "s" in own and own.get("parent", own.get("link")) not in RODS:
            own.pop("s")
        return value.__class__.__name__, own
    if isinstance(value, dict):
        return {name: bits(entry) for name, entry in value.items()}
    return [bits(entry) for entry in value] if isinstance(value, list | tuple) else value


def with_parts(**blocks):
    """The robot of the test with further parts; examples in which they do not fit it are left out."""
    description = BASE.description
    own = {name: {**getattr(description, name), **entries} for name, entries in blocks.items() if name != "links"}
    try:
        return Robot(replace(description, links=(*description.links, *blocks.get("links", ())), **own))
    except ModelError:
        reject()


def comes_back(robot):
    try:
        text = dump(robot)
    except ModelError as error:
        # a constructor in Python does not know the rest of the robot; a file does
        assert error.where == "dump"  # noqa: PT017
        reject()
    again = load_text(text, "dump.yaml")
    assert dump(again) == text
    for one, two in zip(arrays_of(robot), arrays_of(again), strict=True):
        assert bits(np.asarray(one)) == bits(np.asarray(two)), text
    for block in ("links", "actuators", "loads", "sensors", "simulate", "statics", "initial", "gravity"):
        assert bits(getattr(robot.description, block)) == bits(getattr(again.description, block)), text


def link(**given):
    return parts(Link, KNOWN, name="new", **given).map(lambda new: with_parts(links=[new]))


def rod_of(section):
    given = {"material": RUBBER, "strain": Strain(bending=1)}
    return section.flatmap(lambda one: parts(Division, KNOWN, section=one, **given)).map(lambda one: Rod((one,)))


def of_basis(name):
    return st.integers(1, 3).map(
        lambda n: Rod((Division(0.3, sorosim.Circle(0.01), RUBBER, Strain(bending=(name, n))),))
    )


def in_block(block, kind):
    return parts(kind, KNOWN).map(lambda part: with_parts(**{block: {"new": part}}))


def touching(obstacle):
    surface = parts(obstacle, KNOWN).map(lambda shape: sorosim.Contact(["ball"], [shape], law=sorosim.ContactLaw(1e5)))
    return surface.map(lambda contact: with_parts(loads={"new": contact}))


def beside(joint):
    """What a link has beside a joint."""
    if not joint.changes_length:
        return {"body": None}
    rod = Rod(0.2, sorosim.Circle(0.01), RUBBER, Strain(bending=1))
    return {"body": rod, "frames": {}, "visual": None}


def drawn(shape):
    return parts(shape, KNOWN).flatmap(lambda one: parts(Visual, KNOWN, shape=one)).map(lambda one: [one])


def robots(kind, name):
    """Robots with a part of a kind."""
    of = {
        "joint": lambda: parts(JOINTS.get(name), KNOWN).flatmap(lambda one: link(joint=one, **beside(one))),
        "section": lambda: rod_of(parts(SECTIONS.get(name), KNOWN)).flatmap(
            lambda one: link(body=one, frames={}, visual=None)
        ),
        "basis": lambda: of_basis(name).flatmap(lambda one: link(body=one, frames={}, visual=None)),
        "shape": lambda: drawn(SHAPES.get(name)).flatmap(lambda one: link(visual=one, body=None)),
        "obstacle": lambda: touching(OBSTACLES.get(name)),
        "load": lambda: in_block("loads", LOADS.get(name)),
        "actuator": lambda: in_block("actuators", ACTUATORS.get(name)),
        "sensor": lambda: in_block("sensors", SENSORS.get(name)),
        "body": lambda: parts(name, KNOWN).flatmap(lambda one: link(body=one)),
        "loop": lambda: in_block("loops", Loop),
    }
    return of[kind]()


KINDS = [
    (kind, name)
    for kind, registry in (("joint", JOINTS), ("section", SECTIONS), ("basis", BASES), ("shape", SHAPES),
                           ("obstacle", OBSTACLES), ("load", LOADS), ("actuator", ACTUATORS), ("sensor", SENSORS))
    for name in registry.names()
] + [("body", sorosim.RigidBody), ("body", sorosim.Assembly), ("body", Rod), ("loop", "")]  # fmt: skip


def named(value):
    return value if isinstance(value, str) else value.__name__


@pytest.mark.parametrize(("kind", "name"), KINDS, ids=named)
def test_every_kind_comes_back(kind, name):
    FEW(given(robots(kind, name))(comes_back))()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), KINDS, ids=named)
def test_every_kind_comes_back_whatever_it_is(kind, name):
    MANY(given(robots(kind, name))(comes_back))()
