"""Whatever constructors of parts are given: a part, or one of our errors."""

import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from helpers.declared import example

import sorosim
from sorosim.base.declare import MISSING, Declared
from sorosim.base.errors import ModelError, SorosimError
from sorosim.base.registry import ACTUATORS, JOINTS, LOADS, OBSTACLES, SECTIONS, SENSORS, SHAPES
from sorosim.files import sweep_file
from sorosim.mechanics.model.description import BLOCKS

NONSENSE = [
    None, True, 0, -1, 3, 1.5, float("nan"), float("inf"), 1j, 10**400, [1e308] * 3, "", "x", "3 cm", "1e999", "sin(",
    "a" * 200, b"x", (), [], [1, 2, 3], (1, 2), [None], ["a", "b"], [[1]], {}, {"a": 1}, {1: 2}, {"position": 3}, set(),
    range(3), iter([1]), object(), len, int, Ellipsis, np.zeros(3), np.zeros((2, 2)), np.eye(4), np.array("x"),
    np.array(None), np.int64(3), sorosim.Circle(0.1), sorosim.Fixed(), sorosim.Anchor("a"),
]  # fmt: skip


def kinds(cls=Declared):
    for kind in cls.__subclasses__():
        yield kind
        yield from kinds(kind)


for registry in (SECTIONS, SHAPES, OBSTACLES, JOINTS, LOADS, ACTUATORS, SENSORS):
    registry.declared()
assert sweep_file
WITHOUT_EXAMPLE = {"name": "x", "shape": sorosim.Sphere(0.1), "law": sorosim.ContactLaw(1e5)}
# bases of kinds are made by nobody
BASES = ("Section", "Drilled", "MovingJoint", "JointServo", "Sensor", "MountedSensor")
DECLARED = [
    kind
    for kind in dict.fromkeys(kinds())
    if kind.__module__.startswith("sorosim") and is_dataclass(kind) and kind.__name__ not in BASES
]


def outcome(make):
    try:
        make()
    except SorosimError as error:
        assert str(error)  # noqa: PT017


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.__name__)
def test_a_constructor_makes_a_part_or_raises_one_of_our_errors(kind):
    own = [one.name for one in fields(kind) if one.init]
    keys = kind.declaration().items()
    given = {name: example(key) for name, key in keys if (key.default is MISSING or key.stated) and key.example}
    given |= {name: value for name, value in WITHOUT_EXAMPLE.items() if name in own}
    for name in own:
        for value in NONSENSE:
            outcome(lambda name=name, value=value: kind(**{**given, name: value}))


@pytest.mark.parametrize("block", ["name", "links", "gravity", *BLOCKS])
def test_a_description_makes_a_robot_or_raises_one_of_our_errors(block):
    link = sorosim.Link("a", sorosim.RigidBody(1.0, inertia=(1, 1, 1)), joint=sorosim.Revolute())

    def make(**given):
        return sorosim.Robot(sorosim.Description(**{"name": "x", "links": (link,), **given}))

    for value in NONSENSE:
        for whole in (value, {"m": value}, {"a.revolute": value}, [link, value]):
            outcome(lambda whole=whole: make(**{block: whole}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loops": {"m": 3}}, "loops.m: expected a Loop, got 3"),
        ({"loads": {3: 4}}, "loads: expected texts as names, got 3"),
        ({"links": 3}, "links[0]: expected a Link, got 3"),
        ({"loads": {"weight": sorosim.LineLoad("a", force=[0, 0, 1])}},
         "loads.weight.rod: expected the name of a link with a rod, got 'a', which has none; there are none"),
        ({"loads": {"weight": sorosim.LineLoad("b", force=[0, 0, 1])}},
         "loads.weight.rod: expected the name of a link with a rod, got 'b'; there are none"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(given, message):
    link = sorosim.Link("a", sorosim.RigidBody(1.0, inertia=(1, 1, 1)), joint=sorosim.Revolute())
    with pytest.raises(ModelError) as caught:
        sorosim.Robot(sorosim.Description(**{"name": "x", "links": (link,), **given}))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"file": 3}, "mesh.file: expected a text, got 3"),
        ({"checksum": None}, "mesh.checksum: expected a text, got nothing"),
        ({"scale": -1}, "mesh.scale: expected a length greater than 0, got -1"),
        ({"scale": "1 kg"}, "mesh.scale: expected a length greater than 0, such as 3 cm, got '1 kg', a mass"),
    ],
)
def test_all_fields_of_a_mesh_are_checked(given, message):
    tetrahedron = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    with pytest.raises(ModelError) as caught:
        sorosim.Mesh(*tetrahedron, **given)
    assert str(caught.value) == message


def test_a_rod_of_one_piece_takes_what_its_division_takes():
    rubber = sorosim.Material("1 MPa", poisson=0.5, density="1000 kg/m^3")
    given = ("10 cm", sorosim.Circle("5 mm"), rubber, sorosim.Strain(bending=3))
    whole = sorosim.Rod([sorosim.Division(*given, quadrature=6)])
    assert sorosim.Rod(*given, quadrature=6) == whole
    keys = dict(zip(("length", "section", "material", "strain"), given, strict=True))
    assert sorosim.Rod(**keys, quadrature=6) == whole == sorosim.Rod(divisions=whole.divisions)
    for wrong, message in (
        ((3,), "expected a list, got 3"),
        (([],), "divisions"),
        (("10 m", *given[1:3], 3), "strain"),
    ):
        with pytest.raises(sorosim.ModelError, match=message):
            sorosim.Rod(*wrong)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sorosim.Tendon(paht=[]), "Tendon: expected a known argument, got 'paht'; did you mean path?"),
        (lambda: sorosim.Circle(0.1, 0.2), r"Circle: expected \(radius, .*\), got too many positional arguments"),
        (lambda: sorosim.Circle(), r"Circle: expected \(radius, .*\), got nothing for 'radius'"),
        (lambda: sorosim.Circle(0.1, radius=0.2), r"Circle: expected \(radius, .*\), got multiple values for .*radius"),
    ],
)
def test_wrong_arguments_are_named_and_the_signature_is_that_of_the_fields(make, message):
    with pytest.raises(ModelError, match=message):
        make()
    assert list(inspect.signature(sorosim.Circle).parameters) == ["radius", "shear_factor", "torsion", "holes"]
