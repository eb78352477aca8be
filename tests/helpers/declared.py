"""Random parts of every kind, drawn by hypothesis from what their declarations say: a new kind needs nothing here.

A type of value draws by its own dimension, bounds, choices and forms; one that is not known here, the forms that it
has in files, or the example of its key.
"""

import math
from functools import singledispatch
from typing import Any

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from sorosim.base.declare import (
    MISSING,
    Boolean,
    Choice,
    Declared,
    Either,
    Flat,
    Formula,
    Inline,
    Integer,
    ListOf,
    MapOf,
    Name,
    Numbers,
    OneOf,
    Part,
    Quantity,
    Reference,
    SignalOf,
    SignalVector,
    Text,
    Type,
    Vector,
)
from sorosim.base.errors import ModelError
from sorosim.base.registry import BASES, JOINTS
from sorosim.base.units.quantity import quantity
from sorosim.base.units.table import DIMENSIONS
from sorosim.files.yaml_reader import read_text
from sorosim.mechanics.actuation.joint_force import Coordinate
from sorosim.mechanics.actuation.route import SectionFormula
from sorosim.mechanics.actuation.servo import OfJoint
from sorosim.mechanics.lie import exp_se3
from sorosim.mechanics.model.basis import Order
from sorosim.mechanics.model.body import Assembly, RigidBody
from sorosim.mechanics.model.joints import Limit
from sorosim.mechanics.model.joints.base import ACTING, Limits, PerCoordinate
from sorosim.mechanics.model.link import LinkBody
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.mesh import Mesh
from sorosim.mechanics.model.pose import Direction, PlaceType, PoseType
from sorosim.mechanics.model.profile import Size
from sorosim.mechanics.model.rod import MaterialOf, Rod
from sorosim.mechanics.sensors.base import Errors

TRIES = 8  # fields are drawn again where they do not go together


class Known:
    """Names that parts may refer to: blocks of the file of a robot."""

    def __init__(self, blocks: dict[str, Any]) -> None:
        self.blocks = blocks
        self._values: dict[tuple[type[Declared], str], Any] = {}

    def values(self, cls: type[Declared], name: str) -> Any:
        """What the constructor of a part takes for a key: made once, since hypothesis looks at each new strategy."""
        if (cls, name) not in self._values:
            key = cls.declaration()[name]
            self._values[cls, name] = values_of(key.type, key, self)
        return self._values[cls, name]

    def names(self, type: Reference) -> list[str]:
        """Names of those parts that fit."""
        entries = self.blocks.get(type.block, {})
        return [name for name, entry in entries.items() if type.fits is None or type.fits(entry)]


@st.composite
def parts(draw: Any, cls: type[Declared], known: Known, **given: Any) -> Any:
    """A part of a kind; fields that are given are not drawn."""
    for _ in range(TRIES):
        values = dict(given)
        for name, key in cls.declaration().items():
            if name in given or (key.default is not MISSING and not key.stated and draw(st.booleans())):
                continue
            values[name] = draw(known.values(cls, name))
        if issubclass(cls, Mesh):
            values |= {name: example(cls.declaration()[name]) for name in ("vertices", "faces")}
        try:
            return cls(**values)
        except ModelError:
            continue
    reject()


def example(key: Any) -> Any:
    """The example of a key, as data."""
    return read_text(f"x: {key.example}", "example").data["x"]


@singledispatch
def values_of(type: Type, key: Any, known: Known) -> Any:
    """What a constructor takes for a key."""
    forms = type.shapes()
    return st.one_of(*(values_of(form, key, known) for form in forms)) if forms else st.builds(example, st.just(key))


def numbers(dimension: str, above: float = -math.inf, least: float = -math.inf, upto: float = math.inf) -> Any:
    """Numbers of the size of the example of a dimension, some of them with a unit; inside bounds."""
    named = DIMENSIONS[dimension]
    size = quantity(named.example, dimension) if named.example else 1.0
    low = max(above, least, -3.0 * size)
    low, high = (low, min(upto, 3.0 * size)) if upto > low else (low, low)
    low = low + 0.05 * (high - low) if low == above else low
    fits = st.floats(low, high) | st.integers(0, 8).map(lambda k: low + k * (high - low) / 8)
    if dimension == "angle" and high - low > 1.0:
        fits |= st.sampled_from(["30 deg", "-90 deg", "180 deg", "12.5 deg"])
    return fits | (st.just(named.example) if above <= size <= upto and least <= size else st.nothing())


@values_of.register
def _(type: Quantity, key: Any, known: Known) -> Any:
    return numbers(type.dimension, type.above, type.least, type.upto)


@values_of.register
def _(type: Vector, key: Any, known: Known) -> Any:
    one = values_of(type.one, key, known)
    return st.sampled_from(type.counts).flatmap(lambda n: st.lists(one, min_size=n, max_size=n))


@values_of.register
def _(type: Direction, key: Any, known: Known) -> Any:
    axes = st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, -1), (1, 1, 0)])
    return axes | st.tuples(*(st.floats(-1.0, 1.0),) * 3).filter(lambda v: max(map(abs, v)) > 0.1)


@values_of.register
def _(type: Numbers, key: Any, known: Known) -> Any:
    return st.lists(numbers(type.dimension, least=type.least), min_size=2, max_size=4)


@values_of.register
def _(type: Text, key: Any, known: Known) -> Any:
    return st.sampled_from(list(known.blocks["links"]))


@values_of.register
def _(type: Name, key: Any, known: Known) -> Any:
    return st.sampled_from(["top"])


@values_of.register
def _(type: Coordinate, key: Any, known: Known) -> Any:
    own = {name for kind in JOINTS.declared().values() for name, _ in kind.directions}
    return st.sampled_from(sorted(own))


@values_of.register
def _(type: Boolean, key: Any, known: Known) -> Any:
    return st.booleans()


@values_of.register
def _(type: Integer, key: Any, known: Known) -> Any:
    return st.integers(type.least, min(type.upto, type.least + 7))


@values_of.register
def _(type: Choice, key: Any, known: Known) -> Any:
    return st.sampled_from(list(type.words))


@values_of.register
def _(type: Reference, key: Any, known: Known) -> Any:
    return st.sampled_from([*known.names(type), *type.others])


def formulas(value: Any, variables: tuple[str, ...]) -> Any:
    """Texts of formulas of numbers in SI."""
    bare = value.filter(lambda x: isinstance(x, float))
    return st.builds(lambda x, name, n: f"{x!r}*(1 + 0.1*sin({n}*{name}))", bare, st.sampled_from(variables),
                     st.integers(1, 3))  # fmt: skip


@values_of.register
def _(type: Formula, key: Any, known: Known) -> Any:
    value = numbers(type.dimension, type.above)
    return value | formulas(value, type.variables)


@values_of.register
def _(type: SectionFormula, key: Any, known: Known) -> Any:
    example = DIMENSIONS[type.dimension].example
    size = quantity(example, type.dimension) if example else 1.0
    value = st.floats(1e-2 * size, 5e-2 * size)
    return value | formulas(value, ("X", "s", "L"))


@values_of.register
def _(type: SignalOf, key: Any, known: Known) -> Any:
    value = numbers(type.dimension, least=type.least)
    bare = st.floats(0.0, 3.0)
    table = st.builds(lambda a, b, way: {"times": [0.0, 0.5, 1.0], "values": [0.0, a, b], "interpolation": way},
                      bare, bare, st.sampled_from(["linear", "pchip"]))  # fmt: skip
    return value | formulas(value, type.variables) | table


@values_of.register
def _(type: SignalVector, key: Any, known: Known) -> Any:
    return st.lists(values_of(type.one, key, known), min_size=3, max_size=3)


@values_of.register
def _(type: Size, key: Any, known: Known) -> Any:
    value = numbers(type.dimension, above=0.0)
    bare = value.filter(lambda x: isinstance(x, float))
    table = st.builds(lambda a, b, c, way: {"table": {"s": [0.0, 0.4, 1.0], "value": [a, b, c], "interpolation": way}},
                      bare, bare, bare, st.sampled_from(["linear", "pchip"]))  # fmt: skip
    return value | st.tuples(value, value) | formulas(value, ("X", "s", "L")) | table


@values_of.register
def _(type: Order, key: Any, known: Known) -> Any:
    order = st.integers(1, 2)
    return order | st.tuples(st.sampled_from(BASES.names()), order)


@values_of.register
def _(type: PerCoordinate, key: Any, known: Known) -> Any:
    return st.tuples(*(values_of(one, key, known) for one in type.types))


@values_of.register
def _(type: Limits, key: Any, known: Known) -> Any:
    def limit(dimension: str) -> Any:
        low, high = (st.floats(0.1, 1.0) | st.just(math.inf) for _ in range(2))
        stiff = numbers(ACTING["stiffness"][0][dimension], above=0.0)
        one = st.builds(lambda a, b, k: Limit(-a, b, stiffness=k), low, high, stiff)
        return st.none() | one.filter(lambda x: not (x.low == -math.inf and x.high == math.inf))

    return st.tuples(*(limit(dimension) for _, dimension in type.directions))


@values_of.register
def _(type: OfJoint, key: Any, known: Known) -> Any:
    return st.floats(0.1, 10.0)


@values_of.register
def _(type: Errors, key: Any, known: Known) -> Any:
    one = st.floats(0.0, 1.0)
    n = len([name for group in type.groups for name in group.names])
    return one if type.of_load else one | st.lists(one, min_size=n, max_size=n)


@values_of.register
def _(type: MaterialOf, key: Any, known: Known) -> Any:
    return parts(Material, known) | parts(Material, known, name="foam")


@values_of.register
def _(type: Part, key: Any, known: Known) -> Any:
    return parts(type.cls, known)


@values_of.register
def _(type: Flat, key: Any, known: Known) -> Any:
    return parts(type.cls, known)


@values_of.register
def _(type: ListOf, key: Any, known: Known) -> Any:
    if type.__class__.__name__ in ("TableOf", "_Pairs"):  # not any list of these will do
        return st.builds(example, st.just(key))
    return st.lists(values_of(type.type, key, known), min_size=1, max_size=2)


@values_of.register
def _(type: MapOf, key: Any, known: Known) -> Any:
    return st.dictionaries(st.sampled_from(list(known.blocks["links"])), values_of(type.type, key, known), min_size=1,
                           max_size=2)  # fmt: skip


@values_of.register
def _(type: Either, key: Any, known: Known) -> Any:
    return values_of(type.first, key, known) | values_of(type.other, key, known)


@values_of.register
def _(type: OneOf, key: Any, known: Known) -> Any:
    return st.sampled_from(list(type.kinds.values())).flatmap(lambda kind: parts(kind, known))


@values_of.register
def _(type: Inline, key: Any, known: Known) -> Any:
    return st.sampled_from(list(type.known)).flatmap(lambda name: parts(type.kind(name), known))


@values_of.register
def _(type: LinkBody, key: Any, known: Known) -> Any:
    return parts(Rod, known) | parts(RigidBody, known) | parts(Assembly, known)


@values_of.register
def _(type: PoseType, key: Any, known: Known) -> Any:
    return poses()


@values_of.register
def _(type: PlaceType, key: Any, known: Known) -> Any:
    plain = poses() | st.lists(poses(written=True), min_size=2, max_size=3)
    return plain | st.just("as built") if type.built else plain


@st.composite
def poses(draw: Any, written: bool = False) -> Any:
    """Poses as arrays, and in the forms of files."""
    if not written and draw(st.integers(0, 3)) == 0:
        return exp_se3(np.array(draw(st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6))))
    angle, number = numbers("angle"), st.floats(-1.0, 1.0)
    axis = st.sampled_from([(1, 0, 0), (0, -1, 0), (0, 0, 1), (1, 1, 0), (1, 2, 3)])
    forms = [
        st.fixed_dictionaries({"axis": axis, "angle": angle}),
        st.fixed_dictionaries({"rpy": st.lists(angle | st.just(0.0), min_size=3, max_size=3)}),
        st.fixed_dictionaries({"quaternion": st.tuples(st.floats(0.1, 1.0), number, number, number)}),
    ]
    position = st.lists(numbers("length") | st.just(0.0), min_size=3, max_size=3)
    return draw(st.fixed_dictionaries({}, optional={"position": position, "rotation": st.one_of(forms)}))
