"""The file format, part one: materials and rods."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field as Key
from pydantic import Tag

from sorosim.io import fields
from sorosim.io.blocks import Alone, Block, OneOf, by_shape, has, words
from sorosim.io.fields import Choice, Numbers, Quantity, Raw, Size, Vector
from sorosim.model.basis import MAX_ORDER
from sorosim.model.quadrature import MAX_N_GAUSS

# -- materials


class MaterialBlock(Block):
    young: Annotated[float, Quantity("pressure", above=0.0)] = Key(examples=["1 MPa"])
    poisson: Annotated[float, Quantity("number", above=-1.0, upto=0.5)] | None = None
    shear: Annotated[float, Quantity("pressure", above=0.0)] | None = None
    density: Annotated[float, Quantity("density", above=0.0)] = Key(examples=["1000 kg/m^3"])
    damping: Annotated[float, Quantity("viscosity", least=0.0)] = 0.0
    mass_damping: Annotated[float, Quantity("rate", least=0.0)] = 0.0
    stiffness_damping: Annotated[float, Quantity("time", least=0.0)] = 0.0


# -- rods


class TableBlock(Block):
    s: Annotated[tuple[float, ...], Numbers("number")] = Key(examples=["[0, 0.5, 1]"])
    value: list[Annotated[float | str, Raw("a number or a quantity")]] = Key(examples=["[3 cm, 2 cm, 1 cm]"])
    interpolation: Annotated[str, Choice(words("linear", "pchip"))] = "linear"


class TableBox(OneOf):
    table: TableBlock | None = None


_SIZE = by_shape({dict: "<table>"}, "<value>")
_TABLE = Annotated[TableBox, Tag("<table>")]
LengthAlong = Annotated[Annotated[Any, Size("length"), Tag("<value>")] | _TABLE, _SIZE]
AreaAlong = Annotated[Annotated[Any, Size("area"), Tag("<value>")] | _TABLE, _SIZE]
MomentAlong = Annotated[Annotated[Any, Size("area moment"), Tag("<value>")] | _TABLE, _SIZE]


class ShapeBlock(Block):
    shear_factor: Annotated[
        Annotated[float, Quantity("number", above=0.0), Tag("<one>")]
        | Annotated[tuple[float, ...], Vector("number", (2,)), Tag("<two>")],
        by_shape({list: "<two>"}, "<one>"),
    ] = 1.0
    torsion: Annotated[str, Choice(words("saint-venant", "polar"))] = "saint-venant"


class CircleBlock(ShapeBlock):
    radius: LengthAlong = Key(examples=["3 cm"])


class HollowCircleBlock(ShapeBlock):
    radius: LengthAlong = Key(examples=["3 cm"])
    inner_radius: LengthAlong = Key(examples=["2 cm"])


class SidesBlock(ShapeBlock):
    y: LengthAlong = Key(examples=["3 cm"])
    z: LengthAlong = Key(examples=["1 cm"])


class PropertiesBlock(ShapeBlock):
    area: AreaAlong = Key(examples=["2 cm^2"])
    Iy: MomentAlong = Key(examples=["5 mm^4"])
    Iz: MomentAlong = Key(examples=["5 mm^4"])
    J: MomentAlong | None = None
    polar: MomentAlong | None = None


class SectionBlock(OneOf):
    circle: CircleBlock | None = None
    hollow_circle: HollowCircleBlock | None = None
    rectangle: SidesBlock | None = None
    ellipse: SidesBlock | None = None
    properties: PropertiesBlock | None = None


class OrderBlock(Block):
    basis: Annotated[str, fields.Text("the name of a basis")] = Key(examples=["legendre"])
    order: Annotated[int, fields.Whole(0, MAX_ORDER)] = Key(examples=["3"])


Order = Annotated[
    Annotated[int, fields.Whole(0, MAX_ORDER), Tag("<order>")] | Annotated[OrderBlock, Tag("<block>")],
    by_shape({dict: "<block>"}, "<order>"),
]


class StrainBlock(Block):
    basis: Annotated[str, fields.Text("the name of a basis")] = "legendre"
    torsion: Order | None = None
    bending: Order | None = None
    bending_y: Order | None = None
    bending_z: Order | None = None
    elongation: Order | None = None
    shear: Order | None = None
    shear_y: Order | None = None
    shear_z: Order | None = None


Curvature = Annotated[Any, fields.PlaceFormula("curvature")]
Stretch = Annotated[Any, fields.PlaceFormula("number")]


class ReferenceBlock(Block):
    torsion: Curvature = 0.0
    bending_y: Curvature = 0.0
    bending_z: Curvature = 0.0
    elongation: Stretch = 1.0
    shear_y: Stretch = 0.0
    shear_z: Stretch = 0.0


class PieceBlock(Block):
    length: Annotated[float, Quantity("length", above=0.0)] = Key(examples=["50 cm"])
    section: SectionBlock = Key(examples=["{circle: {radius: 3 cm}}"])
    material: Annotated[str, fields.Name()] = Key(examples=["silicone"])
    strain: StrainBlock = Key(examples=["{bending: 3}"])
    reference: ReferenceBlock | None = None
    quadrature: Annotated[int, fields.Whole(1, MAX_N_GAUSS)] | None = None


class DivisionsBlock(Alone):
    divisions: list[PieceBlock] = Key(examples=["[{length: ...}, ...]"])


RodBlock = Annotated[
    Annotated[PieceBlock, Tag("<piece>")] | Annotated[DivisionsBlock, Tag("<divisions>")],
    has("divisions", "<divisions>", "<piece>"),
]
