"""Profiles and sections: derivatives along the rod, area integrals, torsion constants, outlines, what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import dblquad
from scipy.interpolate import PchipInterpolator

from sorosim.base.declare import key
from sorosim.base.errors import ModelError
from sorosim.base.signals.expressions import parse
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.profile import Constant, Formula, Linear, Size, Table
from sorosim.mechanics.model.rod import Division
from sorosim.mechanics.model.section import Circle, Ellipse, HollowCircle, Properties, Rectangle, Section

LENGTH = 0.7  # m
KNOTS, SIZES = (0.0, 0.3, 0.45, 0.8, 1.0), (0.03, 0.04, 0.02, 0.02, 0.01)
SIZE = st.floats(1e-4, 1e2)


def formula(text):
    return parse(text, ("X", "s", "L"))


PROFILES = {
    "constant": (Size().check(0.03), lambda X, L: 0.03 + 0 * X),
    "linear": (Size().check([0.03, 0.01]), lambda X, L: 0.03 - 0.02 * X / L),
    "formula of X": (Size().check(formula("0.03 + 0.01*sin(5*X)")), lambda X, L: 0.03 + 0.01 * np.sin(5 * X)),
    "formula of s": (Size().check(formula("0.03*(1 - s^2/2)")), lambda X, L: 0.03 * (1 - (X / L) ** 2 / 2)),
    "formula of all": (Size().check(formula("0.01*L + X*s/9")), lambda X, L: 0.01 * L + X * X / L / 9),
    "formula of nothing": (Size().check(parse("0.02", ())), lambda X, L: 0.02 + 0 * X),
    "linear table": (Table(KNOTS, SIZES), lambda X, L: np.interp(X / L, KNOTS, SIZES)),
    "pchip table": (Table(KNOTS, SIZES, "pchip"), lambda X, L: PchipInterpolator(KNOTS, SIZES)(X / L)),
    "two-point pchip": (Table([0, 1], [0.03, 0.01], "pchip"), lambda X, L: 0.03 - 0.02 * X / L),
}


# ---- profiles


@pytest.mark.parametrize("name", PROFILES)
def test_profile_has_the_value_of_its_definition(name):
    profile, expected = PROFILES[name]
    X = np.linspace(0, LENGTH, 71)
    jets = profile.jets(X, LENGTH)
    assert jets.shape == (71, 3)
    assert_allclose(jets[:, 0], expected(X, LENGTH), rtol=1e-14)


@pytest.mark.parametrize("name", PROFILES)
def test_derivatives_of_profile_match_central_differences(name):
    profile, _ = PROFILES[name]
    X = LENGTH * np.array([0.05, 0.2, 0.4, 0.6, 0.9])  # away from the knots
    jets, h = profile.jets(X, LENGTH), 1e-5
    fd = (profile.jets(X + h, LENGTH) - profile.jets(X - h, LENGTH)) / (2 * h)
    assert_allclose(jets[:, 1:], fd[:, :2], rtol=1e-8, atol=5e-9)  # rounding over h of curvatures


@pytest.mark.parametrize("name", [name for name in PROFILES if "formula" not in name])
def test_slope_of_profile_matches_complex_step(name):
    profile, _ = PROFILES[name]
    X = LENGTH * np.array([0.0, 0.05, 0.4, 0.9, 1.0])
    jets = profile.jets(X, LENGTH)
    step = profile.jets(X + 1e-30j, LENGTH)
    assert_allclose(step[:, :2].imag / 1e-30, jets[:, 1:], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("ends", [(1.0, 4.0, 3.9), (4.0, 1.0, 1.1), (1.0, 1.0, 2.0), (0.0, 1.0, 3.0)])
def test_pchip_ends_are_those_of_scipy(ends):
    knots, values = (0.0, 0.2, 1.0), ends
    x = np.linspace(0, 1, 50)
    assert_allclose(Table(knots, values, "pchip").jets(x, 1.0)[:, 0], PchipInterpolator(knots, values)(x), atol=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8), st.sampled_from(["linear", "pchip"]))
def test_table_stays_between_neighbouring_values(values, interpolation):
    knots = np.linspace(0, 1, len(values))
    u = np.linspace(0, 1, 11)
    for k in range(len(values) - 1):
        inside = Table(knots, values, interpolation).jets(knots[k] + u * (knots[k + 1] - knots[k]), 1.0)[:, 0]
        low, high = sorted(values[k : k + 2])
        assert inside.min() >= low - 1e-14
        assert inside.max() <= high + 1e-14


def test_kinks_of_tables_are_breakpoints_of_the_section():
    section = Rectangle(Table(KNOTS, SIZES), Table((0, 0.5, 1), (1, 2, 3), "pchip"))
    assert section.breakpoints == (0.3, 0.45, 0.5, 0.8)
    assert Circle([1.0, 0.5]).breakpoints == ()


def test_profiles_are_comparable_hashable_and_do_not_follow_changed_input():
    values = np.array([0.03, 0.01])
    table = Table([0, 1], values)
    values[0] = 7.0
    assert table == Table((0.0, 1.0), (0.03, 0.01))
    assert hash(table) == hash(Table((0.0, 1.0), (0.03, 0.01)))
    assert not table._pieces.flags.writeable
    assert Size().check(table) is table
    assert Size().check(np.array([0.03, 0.01])) == Linear(0.03, 0.01)
    assert Size().check(np.array(0.03)) == Constant(0.03)
    assert Size().check(formula("s")) == Formula(formula("s"))


# ---- area integrals


def area_integrals(half_width, half_height):
    """A, Iy, Iz of |y| < half_height, |z| < half_width(y) by adaptive integration."""

    def integral(f):
        return dblquad(f, -half_height, half_height, lambda y: -half_width(y), half_width, epsabs=1e-13)[0]

    return integral(lambda z, y: 1.0), integral(lambda z, y: z * z), integral(lambda z, y: y * y)


def disc(y, radius):
    return math.sqrt(max(radius**2 - y**2, 0.0))


SHAPES = {
    "circle": (Circle(0.3), area_integrals(lambda y: disc(y, 0.3), 0.3)),
    "hollow_circle": (
        HollowCircle(0.3, 0.2),
        np.subtract(area_integrals(lambda y: disc(y, 0.3), 0.3), area_integrals(lambda y: disc(y, 0.2), 0.2)),
    ),
    "rectangle": (Rectangle(y=0.6, z=0.2), area_integrals(lambda y: 0.1, 0.3)),
    "ellipse": (Ellipse(y=0.6, z=0.2), area_integrals(lambda y: disc(y, 0.3) / 3, 0.3)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_area_integrals_match_numerical_integration(name):
    section, (A, Iy, Iz) = SHAPES[name]
    assert section.kind == name
    got = section.properties([0.0, 0.1], LENGTH)
    for value, expected in ((got.A, A), (got.Iy, Iy), (got.Iz, Iz), (got.Jp, Iy + Iz), (got.ky, 1.0), (got.kz, 1.0)):
        assert value.shape == (2,)
        assert_allclose(value, expected, rtol=1e-7)


def test_sizes_are_taken_at_each_place():
    got = Circle([0.03, 0.0]).properties([0, LENGTH / 2, LENGTH], LENGTH)
    assert_allclose(got.A, np.pi * np.array([0.03, 0.015, 0.0]) ** 2, rtol=1e-14)
    assert_allclose(got.Jt, np.pi / 2 * np.array([0.03, 0.015, 0.0]) ** 4, rtol=1e-14)


def test_edges_are_those_of_the_outlines(rng):
    d, X = 0.15 * rng.normal(size=(200, 2)), np.linspace(0.0, LENGTH, 200)
    for section in (Circle([0.3, 0.2]), HollowCircle(0.3, 0.2), Rectangle(y=0.6, z=[0.2, 0.1]), Ellipse(y=0.6, z=0.2)):
        (far, edge, _), (radius, by_outline, _) = section.edge(d, X, LENGTH), Section.edge(section, d, X, LENGTH)
        clear = np.abs(radius - by_outline) > 1e-3
        assert ((far < edge) == (radius < by_outline))[clear].all()
        assert 0 < np.sum(far < edge) < 200
        if not section.is_flat:  # a rectangle goes by the side that is nearest
            assert_allclose(edge, by_outline, rtol=1e-3)


def test_a_size_has_the_dimension_of_its_namesakes():
    with pytest.raises(ModelError, match="area: expected an area, as formulas know it, got a length; give it another"):

        class Wrong(Section, kind="wrong"):
            area: Size = key(Size(), "A length.")


# ---- torsion


def torsion(section):
    return section.properties(0.0, 1.0).Jt[0]


@pytest.mark.parametrize(("ratio", "published"), [(1, 0.1406), (2, 0.2287), (4, 0.2808), (10, 0.3123)])
def test_rectangle_torsion_constant_matches_published_values(ratio, published):
    assert torsion(Rectangle(0.1 * ratio, 0.1)) / (0.1 * ratio * 0.1**3) == pytest.approx(published, abs=6e-5)


@settings(max_examples=40, deadline=None)
@given(SIZE, SIZE)
def test_rectangle_torsion_constant_is_that_of_the_plain_series(y, z):
    a, b = max(y, z), min(y, z)
    n = np.arange(1, 4001, 2)
    series = np.sum(np.tanh(n * np.pi * a / (2 * b)) / n**5.0)
    plain = a * b**3 * (1 / 3 - 64 / np.pi**5 * b / a * series)  # the rest beyond n = 4000 is below 1e-15
    assert torsion(Rectangle(y, z)) == pytest.approx(plain, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(SIZE, SIZE, st.sampled_from([Rectangle, Ellipse]))
def test_torsion_constant_is_symmetric_and_below_the_polar_moment(y, z, shape):
    assert torsion(shape(y, z)) == pytest.approx(torsion(shape(z, y)), rel=1e-14)
    got = shape(y, z).properties(0.0, 1.0)
    assert got.Jt[0] <= got.Jp[0] * (1 + 1e-14)


def test_ellipse_torsion_constant_tends_to_that_of_the_circle():
    assert torsion(Ellipse(0.2, 0.2)) == pytest.approx(torsion(Circle(0.1)), rel=1e-15)
    assert torsion(Ellipse(0.4, 0.2)) == pytest.approx(np.pi * 0.2**3 * 0.1**3 / (0.2**2 + 0.1**2), rel=1e-15)


def test_round_sections_do_not_warp():
    for section in (Circle(0.1), HollowCircle(0.1, 0.05)):
        got = section.properties(0.0, 1.0)
        assert_allclose(got.Jt, got.Jp)


def test_polar_torsion_takes_the_polar_moment():
    for shape in (Rectangle, Ellipse):
        got = shape(0.3, 0.1, torsion="polar").properties(0.0, 1.0)
        assert got.Jt[0] == got.Jp[0] == got.Iy[0] + got.Iz[0]


@pytest.mark.parametrize(
    "section",
    [
        Rectangle([0.1, 0.0], [0.05, 0.0]),
        Rectangle([0.1, 0.0], 0.05),
        Rectangle(0.1, [0.05, 0.0]),
        Ellipse([0.1, 0], [0.2, 0]),
        HollowCircle([0.2, 0.0], [0.1, 0.0]),
        Properties([1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]),
    ],
)
def test_a_pointed_tip_gives_zeros_and_no_nan(section):
    with np.errstate(divide="raise", invalid="raise"):
        got = np.array(section.properties([0.0, LENGTH], LENGTH))
        outline = section.outline([0.0, LENGTH], LENGTH)
    assert np.isfinite(got).all()
    assert_allclose(got[[0, 3], 1], 0.0)
    assert np.isfinite(outline).all()


@pytest.mark.parametrize("name", ["y", "z"])
@pytest.mark.parametrize("shape", [Rectangle, Ellipse])
@pytest.mark.parametrize("size", [0.05, 0.1, 0.4])
def test_properties_can_be_differentiated_by_a_size_with_a_complex_step(shape, name, size):
    h, sizes = 1e-7, {"y": 0.1, "z": 0.1}
    ahead, back = (np.array(shape(**sizes | {name: size + d}).properties(0, 1)) for d in (h, -h))
    section, step = shape(**sizes | {name: size}), Constant(size)
    # past the door, which takes real numbers only
    object.__setattr__(step, "value", size + 1e-30j)
    object.__setattr__(section, name, step)
    derivative = np.array(section.properties(0, 1)).imag / 1e-30
    assert_allclose(derivative, (ahead - back) / (2 * h), rtol=1e-6, atol=1e-10)


# ---- given properties, shear factors


def test_given_properties_come_back_and_polar_defaults_to_the_sum():
    got = Properties(1.0, [2.0, 1.0], 3.0, 4.0).properties([0.0, 1.0], 1.0)
    assert_allclose(np.array(got)[:5], [[1, 1], [2, 1], [3, 3], [4, 4], [5, 4]])
    assert Properties(1.0, 2.0, 3.0, 4.0, polar=6.0).properties(0, 1).Jp[0] == 6.0
    assert Properties(1.0, 2.0, 3.0, torsion="polar").properties(0, 1).Jt[0] == 5.0
    assert Properties(1.0, 2.0, 3.0, torsion="polar").sizes == ("area", "Iy", "Iz")


def test_one_shear_factor_sets_both_and_two_are_y_and_z():
    assert Circle(0.1, shear_factor=0.9).shear_factor == (0.9, 0.9)
    got = Rectangle(0.1, 0.2, shear_factor=[5 / 6, 1]).properties([0, 1], 1)
    assert_allclose([got.ky, got.kz], [[5 / 6, 5 / 6], [1, 1]])


def test_sections_are_comparable_and_hashable():
    assert Rectangle(0.1, [0.2, 0.1]) == Rectangle(Constant(0.1), Linear(0.2, 0.1))
    assert hash(Circle(0.1)) == hash(Circle(0.1))
    assert Rectangle(0.1, 0.2) != Ellipse(0.1, 0.2)


# ---- sizes by name, outlines


def test_sizes_have_names_and_jets():
    assert HollowCircle(0.2, 0.1).sizes == ("radius", "inner_radius")
    jets = Rectangle([0.2, 0.1], 0.3).size_jets([0.0, 0.5], 0.5)
    assert list(jets) == ["y", "z"]
    assert_allclose(jets["y"], [[0.2, -0.2, 0], [0.1, -0.2, 0]])
    assert_allclose(Circle([0.2, 0.1]).size_jets([0.5], 0.5)["radius"], [[0.1, -0.2, 0]])
    assert_allclose(HollowCircle(0.2, 0.1).size_jets([0.5], 0.5)["radius"], [[0.2, 0, 0]])


def enclosed_area(outline):
    y, z = outline[..., 0], outline[..., 1]
    return 0.5 * np.sum(y * np.roll(z, -1, -1) - z * np.roll(y, -1, -1), axis=-1)


@pytest.mark.parametrize("n", [4, 7, 32])
@pytest.mark.parametrize("section", [section for section, _ in SHAPES.values()], ids=list(SHAPES))
def test_outline_runs_counter_clockwise_around_the_section(section, n):
    outline = section.outline([0.0, 0.1, LENGTH], LENGTH, n)
    assert outline.shape == (3, n, 2)
    assert (enclosed_area(outline) > 0).all()
    holes = sum(enclosed_area(line)[0] for line in section.inner_outlines([0.0], LENGTH, 2000))
    assert enclosed_area(section.outline([0.0], LENGTH, 2000))[0] - holes == pytest.approx(
        section.properties(0.0, LENGTH).A[0], rel=1e-5
    )


@pytest.mark.parametrize("n", [4, 5, 6, 7, 33])
def test_outline_of_a_rectangle_has_its_corners(n):
    outline = Rectangle(y=0.6, z=0.2).outline([0.0], 1.0, n)[0]
    for corner in ([0.3, 0.1], [-0.3, 0.1], [-0.3, -0.1], [0.3, -0.1]):
        assert np.abs(outline - corner).sum(axis=1).min() < 1e-15
    assert len(np.unique(np.round(outline, 9), axis=0)) == n


def test_given_properties_are_drawn_as_the_equivalent_ellipse():
    ellipse = Ellipse(0.4, 0.1).properties(0, 1)
    drawn = Properties(ellipse.A[0], ellipse.Iy[0], ellipse.Iz[0], ellipse.Jt[0]).outline([0.0], 1.0)
    assert_allclose(drawn, Ellipse(0.4, 0.1).outline([0.0], 1.0), atol=1e-15)


# ---- what is refused

END = "; only at an end may it be zero"


def test_sizes_may_be_texts_with_units():
    assert Circle("3 cm") == Circle(0.03)
    assert Circle(["3 cm", 0.01]) == Circle([0.03, 0.01])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Circle(0.0), "circle.radius: expected a length greater than 0, got 0"),
        (lambda: Circle(-0.1), "circle.radius: expected a length greater than 0, got -0.1"),
        (lambda: Circle([0.1, -0.1]), "circle.radius[1]: expected a length of 0 or more, got -0.1"),
        (lambda: Circle([0, 0]), "circle.radius: expected a positive value, got 0 at s = 0.005" + END),
        (lambda: Circle(math.nan), "circle.radius: expected a length, got nan; it has to be finite"),
        (lambda: Circle(True), "circle.radius: expected a length such as 3 cm, got true"),
        (lambda: Circle(None), "circle.radius: expected a length such as 3 cm, got nothing"),
        (
            lambda: Circle([0.1, math.inf]),
            "circle.radius[1]: expected a length of 0 or more, got inf; it has to be finite",
        ),
        (
            lambda: Circle([0.1]),
            "circle.radius: expected two values, [base, tip], got [0.1]; for more, a table: {s: [...], value: [...]}",
        ),
        (lambda: Circle("3 kg"), "circle.radius: expected a length such as 3 cm, got '3 kg', a mass"),
        (
            lambda: Circle(formula("0.1*cos(2*pi*s)")),
            "circle.radius: expected a positive value, got -0.00314108 at s = 0.255" + END,
        ),
        (lambda: Circle(formula("sqrt(0.5 - s)")), "circle.radius: expected a positive value, got 0 at s = 0.5" + END),
        (
            lambda: Circle(parse("R*s", ("R", "s"))),
            "circle.radius: expected an expression of X [m], s = X/L and L [m], got the variable 'R'; known: X, s, L",
        ),
        (
            lambda: Circle(Table((0, 0.501, 0.502, 0.503, 1), (1, 1, 0, 1, 1))),
            "circle.radius: expected a positive value, got 0 at s = 0.502" + END,
        ),
        (
            lambda: HollowCircle(0.1, [0.05, 0.2]),
            "hollow_circle.inner_radius: expected a wall of positive thickness, "
            "got radius - inner_radius = -0.00025 at s = 0.335" + END,
        ),
        (lambda: Rectangle(0.1, -1), "rectangle.z: expected a length greater than 0, got -1"),
        (
            lambda: Circle(0.1, shear_factor=0.0),
            "circle.shear_factor: expected a number greater than 0, got 0",
        ),
        (
            lambda: Circle(0.1, shear_factor=(1.0, 1.0, 1.0)),
            "circle.shear_factor: expected a list of 2, each a number, got [1, 1, 1]",
        ),
        (lambda: Ellipse(0.1, 0.1, torsion="free"), "ellipse.torsion: expected saint-venant or polar, got 'free'"),
        (
            lambda: Properties(1.0, 1.0, 1.0),
            "properties.J: expected a torsion constant [m^4], got nothing; or set torsion to polar",
        ),
        (
            lambda: Properties(1.0, 1.0, 1.0, 1.0, torsion="polar"),
            "properties.J: expected no torsion constant beside torsion polar, got both; leave one of them out",
        ),
        (
            lambda: Properties(1.0, None, 1.0, 1.0),
            "properties.Iy: expected a second moment of area such as 5 mm^4, got nothing",
        ),
        (
            lambda: Circle(0.1).profile("radios"),
            "circle: expected one of its sizes, got 'radios'; did you mean radius?",
        ),
        (lambda: Circle(0.1).outline([0.0], 1.0, 3), "circle.outline: expected 4 points or more, got 3"),
        (lambda: Formula("s"), "formula: expected an Expression, got 's'"),
        (
            lambda: Table((0, 1), (1, 2, 3)),
            "table: expected as many values as places s, two or more, got 2 places, 3 values",
        ),
        (lambda: Table((0, 0.5), (1, 2)), "table.s: expected places increasing from 0 to 1, got [0.0, 0.5]; s is X/L"),
        (
            lambda: Table((0, 0.5, 0.5, 1), (1, 2, 3, 4)),
            "table.s: expected places increasing from 0 to 1, got [0.0, 0.5, 0.5, 1.0]; s is X/L",
        ),
        (lambda: Table((0, 1), (1, math.nan)), "table.values[1]: expected a number, got nan"),
        (lambda: Table(3, (1, 2)), "table.s: expected a list of numbers, got 3"),
        (lambda: Table((0, 1), (1, 2), "cubic"), "table.interpolation: expected linear or pchip, got 'cubic'"),
    ],
)
def test_impossible_section_is_refused_by_one_clear_message(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message


def test_expressions_of_arclength_wait_for_the_length_of_the_rod():
    section, material = Circle(formula("0.1 - X")), Material(1e6, poisson=0.5, density=1e3)
    Division(0.1, section, material, Strain(bending=1))
    with pytest.raises(ModelError) as caught:
        Division(0.2, section, material, Strain(bending=1))
    message = "division.section.circle.radius: expected a positive value, got 0 at s = 0.5" + END
    assert str(caught.value) == message


def test_a_size_may_reach_zero_at_an_end_up_to_rounding():
    Circle(formula("0.1 - 0.3*(s/3)"))
    Circle(formula("0.1*sin(pi*s)"))
    HollowCircle([0.2, 0.1], [0.1, 0.1])
