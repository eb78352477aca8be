"""Rods of equal divisions: `divisions: 50` in the place of fifty entries."""

import json

import jsonschema
import numpy as np
import pytest

import sorosim
from sorosim.base.errors import InputError, ModelError, SorosimError
from sorosim.files import dump, load_text
from sorosim.files.schema import robot_schema

TEXT = """sorosim: 1
name: it
parameters: {n: 5}
materials: {rubber: {young: 1 MPa, poisson: 0.45, density: 1100 kg/m^3}}
links:
  rope: {joint: spherical, rod: {length: 1 m, SECTION, material: rubber, strain: {bending: 1, torsion: 0}MORE}}
"""
ROUND = "section: {circle: {radius: 5 mm}}"


def rope(more, section=ROUND):
    return load_text(TEXT.replace("SECTION", section).replace("MORE", more), "rope.yaml")


def test_a_number_of_divisions_stands_for_a_list_of_equal_ones(rng):
    short = rope(", divisions: 3")
    piece = "{length: %r, section: {circle: {radius: 5 mm}}, material: rubber, strain: {bending: 1, torsion: 0}}" % (
        1 / 3
    )
    start = TEXT.index("{length")
    text = TEXT[:start] + f"{{divisions: [{piece}, {piece}, {piece}]}}" + "}\n"
    long = load_text(text, "rope.yaml")
    q, qd = rng.normal(size=(2, short.ndof))
    assert short.coordinate_names == long.coordinate_names
    np.testing.assert_array_equal(short.forward_dynamics(q, qd), long.forward_dynamics(q, qd))
    assert rope(", divisions: $n").ndof == rope(", divisions: 5").ndof == 3 + 5 * 5
    assert rope(", divisions: 1").links[0].rod == rope("").links[0].rod


@pytest.mark.parametrize("n", [2, 3, 7, 10, 49, 50])
def test_it_is_written_as_it_was_read_and_comes_back_bit_for_bit(n):
    robot = rope(f", divisions: {n}")
    text = dump(robot)
    assert f"divisions: {n}\n" in text
    assert "length: 1\n" in text
    assert load_text(text, "again.yaml").links[0].rod == robot.links[0].rod
    # lengths that are no quotient of a decimal number, too
    longer = robot.with_values({"links.rope.rod.length": np.pi})
    assert load_text(dump(longer), "again.yaml").links[0].rod == longer.links[0].rod
    assert longer.links[0].rod.length == pytest.approx(np.pi, rel=1e-14)


def test_its_number_is_no_number_that_may_be_varied():
    names = sorosim.scalars(rope(", divisions: 4"))
    assert "links.rope.rod.length" in names
    assert not [name for name in names if "divisions" in name]


def test_the_schema_takes_it():
    checked = jsonschema.Draft202012Validator(robot_schema())
    data = {
        "sorosim": 1,
        "materials": {"rubber": {"young": 1e6, "poisson": 0.45, "density": 1100}},
        "links": {"a": {"rod": {"length": 1, "section": {"circle": {"radius": 0.01}}, "material": "rubber",
                                "strain": {"bending": 0}, "divisions": 50}}},
    }  # fmt: skip
    assert not list(checked.iter_errors(json.loads(json.dumps(data))))
    data["links"]["a"]["rod"]["divisions"] = 0
    assert list(checked.iter_errors(data))


@pytest.mark.parametrize(
    ("more", "section", "words"),
    [
        (", divisions: 0", ROUND, "a whole number from 1 to 10000, got 0"),
        (", divisions: 2.5", ROUND, "a whole number from 1 to 10000, got 2.5"),
        (", divisions: 4", "section: {circle: {radius: [5 mm, 1 mm]}}", "circle has a radius that varies"),
        (", divisions: 4, reference: {bending_y: 2*s}", ROUND, "reference strain varies"),
    ],
)
def test_what_cannot_be_cut_into_equal_pieces_is_refused(more, section, words):
    with pytest.raises(SorosimError, match="divisions") as caught:
        rope(more, section)
    assert words in str(caught.value)


def test_in_python_too():
    rubber = sorosim.Material(young="1 MPa", poisson=0.45, density=1100.0)
    rod = sorosim.Rod("1 m", sorosim.Circle("5 mm"), rubber, sorosim.Strain(bending=0), divisions=50)
    assert len(rod.divisions) == 50
    assert rod.length == pytest.approx(1.0, rel=1e-14)
    with pytest.raises(InputError, match="divisions: expected a whole number"):
        sorosim.Rod("1 m", sorosim.Circle("5 mm"), rubber, sorosim.Strain(bending=0), divisions="many")
    with pytest.raises(ModelError, match="radius that varies"):
        sorosim.Rod("1 m", sorosim.Circle(("5 mm", "1 mm")), rubber, sorosim.Strain(bending=0), divisions=2)


def gauss_points(robot):
    return [int((layout.weight > 0.0).sum()) for layout in robot.engine.layout.links.values()]


def test_gauss_points_follow_how_far_the_unloaded_rod_turns():
    coil = "{bending_y: 12 1/m, torsion: 5 1/m}"  # 13 rad: two turns, the fourth half of which has two points more
    assert gauss_points(rope("")) == [5]
    assert gauss_points(rope(", reference: {bending_y: 3 1/m}")) == [5]
    assert gauss_points(rope(f", reference: {coil}")) == [15]
    assert gauss_points(rope(", reference: {bending_y: (6 1/m)*cos(2*pi*s), bending_z: (6 1/m)*sin(2*pi*s)}")) == [10]
    assert gauss_points(rope(f", reference: {coil}, quadrature: 6")) == [6]
    # of a division, or a panel between kinks, what it turns itself
    assert gauss_points(rope(f", divisions: 5, reference: {coil}")) == [25]
    tapered = "section: {circle: {radius: {table: {s: [0, 0.5, 1], value: [5 mm, 4 mm, 3 mm]}}}}"
    assert gauss_points(rope(f", reference: {coil}", tapered)) == [2 * 11]
