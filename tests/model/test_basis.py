"""Strain bases: identities of each family, strain bases by strain, plug-ins, reference strains, what is refused."""

import math
from importlib import metadata

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sorosim.base.errors import ModelError
from sorosim.base.signals.expressions import parse
from sorosim.mechanics.model import basis as module
from sorosim.mechanics.model.basis import Basis, ReferenceStrain, Strain, get_basis, register_basis
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.quadrature import gauss_panels
from sorosim.mechanics.model.rod import Division
from sorosim.mechanics.model.section import Circle

ORDERS = {
    "legendre": (0, 1, 4, 9),
    "chebyshev": (0, 1, 4, 9),
    "monomial": (0, 1, 4, 9),
    "fourier": (0, 1, 4),
    "gaussian": (0, 1, 4, 9),
    "inverse_multiquadric": (0, 1, 4, 9),
    "hermite": (1, 2, 5),
    "linear_elements": (1, 2, 5),
    "quadratic_elements": (1, 2, 5),
    "cubic_elements": (1, 2, 5),
}
CASES = [(name, order) for name, orders in ORDERS.items() for order in orders]
ELEMENTS = {"linear_elements": 1, "quadratic_elements": 2, "cubic_elements": 3}


# ---- every family


def test_the_list_of_bases_is_complete():
    assert set(ORDERS) == set(module.BASES.declared())


@pytest.mark.parametrize(("name", "order"), CASES)
def test_basis_keeps_its_contract(name, order):
    basis: Basis = get_basis(name)
    x = np.linspace(0, 1, 41)
    values = basis.values(x, order)
    assert basis.name == name
    assert values.shape == (41, basis.count(order))
    assert np.abs(values).max() < 2.0
    assert np.linalg.matrix_rank(values) == basis.count(order)
    kinks = basis.breakpoints(order)
    assert np.all(np.diff([0.0, *kinks, 1.0]) > 0)
    assert basis.values(0.3, order).shape == (1, basis.count(order))
    # a limit from both sides at every kink: the functions are continuous
    for k in kinks:
        assert_allclose(basis.values([k - 1e-12], order), basis.values([k + 1e-12], order), atol=1e-10)


@pytest.mark.parametrize(("name", "order"), [c for c in CASES if c[0] not in ("fourier",)])
def test_functions_are_smooth_in_a_complex_argument(name, order):
    basis, x, h = get_basis(name), np.array([0.05, 0.33, 0.71, 0.95]), 1e-6
    fd = (basis.values(x + h, order) - basis.values(x - h, order)) / (2 * h)
    assert_allclose(basis.values(x + 1e-30j, order).imag / 1e-30, fd, atol=1e-6 * np.abs(fd).max() + 1e-9)


@pytest.mark.parametrize("name", ["legendre", "chebyshev", "monomial", "hermite", *ELEMENTS])
@pytest.mark.parametrize("order", [1, 2, 5])
def test_degree_of_polynomials_is_exact(name, order):
    # with n = degree + 1 nodes a panel products of two functions are integrated exactly
    basis = get_basis(name)
    grams = []
    for n in (basis.degree(order) + 1, 30):
        x, w, _ = gauss_panels(n, basis.breakpoints(order))
        P = basis.values(x, order)
        grams.append(P.T @ (w[:, None] * P))
    assert_allclose(grams[0], grams[1], atol=1e-14)


# ---- identities


def test_legendre_polynomials_are_orthogonal_and_one_at_the_tip():
    x, w, _ = gauss_panels(12)
    P = get_basis("legendre").values(x, 8)
    assert_allclose(P.T @ (w[:, None] * P), np.diag(1 / (2 * np.arange(9) + 1)), atol=4e-15)
    assert_allclose(P[-1], 1.0)
    assert_allclose(get_basis("legendre").values([0.25], 2), [[1.0, -0.5, -0.125]])


def test_chebyshev_polynomials_are_cosines():
    angle = np.linspace(0, np.pi, 20)
    got = get_basis("chebyshev").values((1 + np.cos(angle)) / 2, 7)
    assert_allclose(got, np.cos(np.outer(angle, np.arange(8))), atol=1e-14)


def test_monomials_are_powers():
    assert_allclose(get_basis("monomial").values([0.5, 1.0], 3), [[1, 0.5, 0.25, 0.125], [1, 1, 1, 1]])


def test_fourier_functions_are_orthogonal_and_paired():
    x = np.arange(64) / 64  # the trapezoidal rule is exact for them
    P = get_basis("fourier").values(x, 5)
    assert_allclose(P.T @ P / 64, np.diag([1.0] + 10 * [0.5]), atol=1e-15)
    assert_allclose(get_basis("fourier").values([1 / 8], 2), [[1, math.sqrt(0.5), math.sqrt(0.5), 0, 1]], atol=1e-15)


@pytest.mark.parametrize("name", ["gaussian", "inverse_multiquadric"])
def test_radial_functions_are_one_at_their_centres(name):
    centres = np.arange(5) / 4
    values = get_basis(name).values(centres, 4)
    assert_allclose(np.diag(values), 1.0)
    assert_allclose(values, values.T)
    one_spacing = {"gaussian": math.exp(-0.5), "inverse_multiquadric": math.sqrt(0.5)}[name]
    assert_allclose(np.diag(values, 1), one_spacing)
    assert_allclose(get_basis(name).values([0.5], 0), 1.0)


@pytest.mark.parametrize(("name", "degree"), ELEMENTS.items())
@pytest.mark.parametrize("order", [1, 3, 7])
def test_elements_interpolate_their_nodes_and_are_a_partition_of_unity(name, degree, order):
    basis = get_basis(name)
    nodes = np.arange(degree * order + 1) / (degree * order)
    assert basis.count(order) == len(nodes)
    assert_allclose(basis.values(nodes, order), np.eye(len(nodes)), atol=1e-13)
    x = np.linspace(0, 1, 33)
    assert_allclose(basis.values(x, order).sum(axis=1), 1.0, rtol=1e-13)
    # polynomials of the degree are reproduced from their values at the nodes
    assert_allclose(basis.values(x, order) @ nodes**degree, x**degree, atol=1e-13)


@pytest.mark.parametrize("order", [1, 3])
def test_hermite_splines_reproduce_cubics_from_values_and_slopes(order):
    basis, nodes, x = get_basis("hermite"), np.arange(order + 1) / order, np.linspace(0, 1, 33)
    coordinates = np.stack([nodes**3 - nodes, (3 * nodes**2 - 1) / order], axis=1).ravel()
    assert_allclose(basis.values(x, order) @ coordinates, x**3 - x, atol=1e-14)
    assert_allclose(basis.values(x, order)[:, ::2].sum(axis=1), 1.0)


def test_hermite_splines_have_continuous_slopes():
    basis, kink = get_basis("hermite"), 1 / 3
    sides = [basis.values(np.array([kink + d + 1e-30j]), 3).imag / 1e-30 for d in (-1e-12, 1e-12)]
    assert_allclose(sides[0], sides[1], atol=1e-9)


# ---- strain bases


def test_coordinates_are_ordered_by_strain_and_index():
    made = Strain(torsion=1, bending_y=2, elongation=0, shear_z=1)
    assert made.names == [
        "torsion[0]", "torsion[1]", "bending_y[0]", "bending_y[1]", "bending_y[2]", "elongation[0]",
        "shear_z[0]", "shear_z[1]",
    ]  # fmt: skip
    assert made.rows.tolist() == [0, 0, 1, 1, 1, 3, 5, 5]
    assert made.count_per_strain == (2, 3, 0, 1, 0, 2)
    assert made.count == 8


def test_manipulator_of_the_paper_has_24_coordinates():
    made = Strain(torsion=4, bending=4, elongation=2, shear=2)
    assert (made.count, made.degree, made.breakpoints) == (24, 4, ())
    assert made.count_per_strain == (5, 5, 5, 3, 3, 3)


def test_values_are_those_of_each_strains_own_basis():
    made = Strain("chebyshev", torsion=("legendre", 1), bending=2, shear_y=("linear_elements", 3))
    x = np.array([0.1, 0.6])
    expected = [("legendre", 1), ("chebyshev", 2), ("chebyshev", 2), ("linear_elements", 3)]
    assert_allclose(made.values(x), np.hstack([get_basis(n).values(x, o) for n, o in expected]))


def test_breakpoints_of_all_strains_are_merged_and_the_richest_degree_counts():
    made = Strain(torsion=("hermite", 3), bending=("linear_elements", 6), elongation=2)
    assert_allclose(made.breakpoints, np.arange(1, 6) / 6)
    assert made.degree == 3


def test_everything_locked_is_a_rigid_curved_rod():
    made = Strain()
    assert made == Strain()
    assert (made.count, made.names, made.breakpoints, made.degree) == (0, [], (), 0)
    assert made.values([0.0, 0.5]).shape == (2, 0)
    assert made.rows.shape == (0,)


def test_strain_basis_is_hashable_and_numpy_orders_are_taken():
    made = Strain(torsion=["legendre", np.int64(2)])
    assert made == Strain(torsion=2)
    assert hash(made) == hash(Strain(torsion=2))


# ---- plug-ins


class Cosines:
    """cos(k pi x), k = 0..order."""

    name = "cosines"

    def count(self, order):
        return order + 1

    def values(self, x, order):
        return np.cos(np.pi * np.multiply.outer(np.atleast_1d(x), np.arange(order + 1)))

    def breakpoints(self, order):
        return ()

    def degree(self, order):
        return 2 * order


@pytest.fixture
def registry(monkeypatch):
    """The registry, restored after the test."""
    monkeypatch.setattr(module.BASES, "_registered", dict(module.BASES._registered))
    monkeypatch.setattr(module, "_checked", set(module._checked))


@pytest.fixture
def plug_ins(registry, monkeypatch):
    """Set the entry points that importlib.metadata finds; counts the look-ups."""
    found, calls = [], []

    def entry_points(*, group):
        calls.append(group)
        return [point for point in found if point.group == group]

    def install(name, thing, value="package.module:object"):
        class Point:
            group = "sorosim.bases"

            def load(self):
                if isinstance(thing, Exception):
                    raise thing
                return thing

        point = Point()
        point.name, point.value = name, value
        found.append(point)

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    install.calls = calls
    return install


@pytest.mark.parametrize("thing", [Cosines, Cosines()], ids=["class", "object"])
def test_plug_in_is_found_by_its_name_and_only_when_asked_for(plug_ins, thing):
    plug_ins("cosines", thing)
    assert get_basis("legendre").name == "legendre"
    assert plug_ins.calls == []
    made = Strain("cosines", bending=2)
    assert_allclose(made.values([0.5])[:, :3], [[1, 0, -1]], atol=1e-15)
    assert made.values([0.5]).shape == (1, 6)
    assert plug_ins.calls == ["sorosim.bases"]


def test_same_plug_in_found_twice_is_one(plug_ins):
    plug_ins("cosines", Cosines)
    plug_ins("cosines", Cosines)
    assert get_basis("cosines").count(3) == 4


def test_registered_basis_is_used_and_a_taken_name_is_refused(registry):
    mine = Cosines()
    register_basis(mine)
    register_basis(mine)
    assert get_basis("cosines") is mine
    with pytest.raises(ModelError) as caught:
        register_basis(Cosines())
    assert str(caught.value) == (
        "register_basis: expected a name that is not taken, got 'cosines'; give the basis another name"
    )


WHERE = "basis cosines (plug-in package.module:object)"


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (ImportError("no package"), f"{WHERE}: expected a plug-in that loads, got ImportError: no package"),
        (object(), f"{WHERE}: expected a Basis, got object without name, count, values, breakpoints, degree"),
        (
            type("Sines", (Cosines,), {"name": "sines"}),
            f"{WHERE}: expected a basis named 'cosines', got one named 'sines'",
        ),
        (type("Odd", (Cosines,), {"name": 3}), f"{WHERE}: expected a Basis whose name is a text, got 3"),
    ],
)
def test_plug_in_that_cannot_be_loaded_is_one_error_that_names_it(plug_ins, thing, message):
    plug_ins("cosines", thing)
    with pytest.raises(ModelError) as caught:
        get_basis("cosines")
    assert str(caught.value) == message


def broken(**parts):
    return type("Broken", (Cosines,), parts)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (
            broken(values=lambda self, x, order: np.ones((len(x), 2))),
            "values of shape (4, 4), got shape (4, 2)",
        ),
        (broken(values=lambda self, x, order: np.full((len(x), 4), np.nan)), "finite values, got NaN or infinity"),
        (
            broken(values=lambda self, x, order: 1 / 0),
            "functions that can be evaluated, got ZeroDivisionError: division by zero",
        ),
        (broken(count=lambda self, order: 0), "count(order) to be an integer >= 1, got 0"),
        (broken(degree=lambda self, order: 1.5), "degree(order) to be an integer >= 0, got 1.5"),
        (broken(breakpoints=lambda self, order: (0.5, 0.2)), "breakpoints increasing between 0 and 1, got [0.5, 0.2]"),
        (broken(breakpoints=lambda self, order: (math.nan,)), "breakpoints increasing between 0 and 1, got [nan]"),
    ],
)
def test_plug_in_with_impossible_outputs_is_one_error_that_names_it(plug_ins, thing, message):
    plug_ins("cosines", thing)
    with pytest.raises(ModelError) as caught:
        Strain("cosines", torsion=3)
    assert str(caught.value) == f"strain.torsion.basis cosines (order 3): expected {message}"


def test_outputs_of_a_basis_are_checked_once(plug_ins):
    calls = []

    def values(self, x, order):
        calls.append(order)
        return Cosines().values(x, order)

    plug_ins("cosines", broken(values=values))
    for _ in range(3):
        Strain("cosines", torsion=3, bending=3)
    assert calls == [3]


# ---- reference strain


def test_reference_strain_is_straight_by_default():
    assert_allclose(ReferenceStrain().values([0.0, 0.2], 0.5), 2 * [[0, 0, 0, 1, 0, 0]])


def test_reference_strain_mixes_numbers_and_expressions():
    curved = ReferenceStrain(0.5, parse("X*s + L", ("X", "s", "L")), parse("2", ()), np.float32(1))
    got = curved.values(np.array([0.0, 0.2]), 0.5)
    assert_allclose(got, [[0.5, 0.5, 2, 1, 0, 0], [0.5, 0.2 * 0.4 + 0.5, 2, 1, 0, 0]])
    assert curved == ReferenceStrain(*curved.entries)


# ---- what is refused


CIRCLE, RUBBER = Circle(0.01), Material(1e6, poisson=0.5, density=1e3)


def place(text):
    return parse(text, ("X", "s", "L"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Strain("legendr", torsion=1),
            "strain.basis: expected the name of a basis, got 'legendr'; did you mean legendre?",
        ),
        (
            lambda: get_basis("xyz"),
            "basis: expected the name of a basis, got 'xyz'; known: legendre, chebyshev, monomial, fourier, gaussian, "
            "inverse_multiquadric, hermite, linear_elements, quadratic_elements, cubic_elements",
        ),
        (
            lambda: Strain(torsion=-1),
            "strain.torsion: expected a whole number from 0 to 200, got -1",
        ),
        (
            lambda: Strain(bending=True),
            "strain.bending: expected a whole number from 0 to 200, got true",
        ),
        (
            lambda: Strain(shear=2.5),
            "strain.shear: expected a whole number from 0 to 200, got 2.5",
        ),
        (
            lambda: Strain(elongation="2.5"),
            "strain.elongation: expected a whole number from 0 to 200, got '2.5'",
        ),
        (
            lambda: Strain(torsion=10**9),
            "strain.torsion: expected a whole number from 0 to 200, got 1000000000",
        ),
        (
            lambda: Strain("hermite", torsion=0),
            "strain.torsion.basis hermite: expected an order of 1 or more (the number of elements), got 0",
        ),
        (
            lambda: Strain(bending=1, bending_z=2),
            "strain.bending: expected either bending, or bending_y and bending_z, got both",
        ),
        (
            lambda: Strain(torsion=("legendre", 1.5)),
            "strain.torsion.order: expected a whole number from 0 to 200, got 1.5",
        ),
        (
            lambda: ReferenceStrain(bending_y=math.nan),
            "reference.bending_y: expected a curvature, got nan; it has to be finite",
        ),
        (
            lambda: ReferenceStrain(elongation=0),
            "reference.elongation: expected a positive elongation (1: unstretched), got 0 at s = 0",
        ),
        (
            lambda: ReferenceStrain(place("1/s")),
            "reference.torsion: expected a finite strain, got inf at s = 0",
        ),
        (
            lambda: ReferenceStrain(parse("t", ("t",))),
            "reference.torsion: expected an expression of X, s, L, got the variable 't'; known: X, s, L",
        ),
        (
            lambda: Division(2.0, CIRCLE, RUBBER, Strain(), reference=ReferenceStrain(elongation=place("1 - X"))),
            "division.reference.elongation: expected a positive elongation (1: unstretched), got 0 at s = 0.5",
        ),
    ],
)
def test_impossible_basis_is_refused_by_one_clear_message(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message
