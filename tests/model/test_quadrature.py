"""Quadrature: exactness of the panels, how many points are safe, how many are needed."""

import numpy as np
import pytest

from sorosim.base.errors import ModelError
from sorosim.mechanics.model.basis import STRAINS, Strain
from sorosim.mechanics.model.quadrature import (
    MAX_N_GAUSS,
    check_n_gauss,
    default_n_gauss,
    gauss_panels,
    minimum_n_gauss,
)
from sorosim.mechanics.model.section import Circle


@pytest.mark.parametrize("breakpoints", [(), (0.5,), (0.2, 0.3, 0.9)])
@pytest.mark.parametrize("n_gauss", [1, 2, 5, 12])
def test_points_ascend_with_the_ends_and_kinks_at_weight_zero(n_gauss, breakpoints):
    x, w, is_gauss = gauss_panels(n_gauss, breakpoints)
    n_panels = len(breakpoints) + 1
    assert len(x) == len(w) == len(is_gauss) == n_panels * (n_gauss + 1) + 1
    assert np.all(np.diff(x) > 0)
    assert is_gauss.dtype == bool
    assert is_gauss.sum() == n_panels * n_gauss
    assert x[~is_gauss].tolist() == [0.0, *breakpoints, 1.0]
    assert np.all(w[~is_gauss] == 0)
    assert np.all(w[is_gauss] > 0)
    assert w.sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("breakpoints", [(), (0.2, 0.7)])
@pytest.mark.parametrize("n_gauss", [1, 3, 6])
def test_polynomials_up_to_degree_2n_minus_1_are_integrated_exactly(n_gauss, breakpoints):
    x, w, _ = gauss_panels(n_gauss, breakpoints)
    for degree in range(2 * n_gauss):
        assert w @ x**degree == pytest.approx(1 / (degree + 1), rel=1e-14)


def test_a_kink_at_a_breakpoint_costs_no_accuracy():
    x, w, _ = gauss_panels(2, (0.3,))
    assert w @ np.abs(x - 0.3) == pytest.approx((0.3**2 + 0.7**2) / 2, rel=1e-15)


def stiffness(strain_basis, n_gauss):
    """Bending stiffness of a 2:1 tapered round rod, for Young's modulus and length 1."""
    x, w, _ = gauss_panels(n_gauss, strain_basis.breakpoints)
    P = strain_basis.functions("bending_y", x)
    return P.T @ ((w * Circle([1.0, 0.5]).properties(x, 1.0).Iy)[:, None] * P)


@pytest.mark.parametrize(
    ("name", "orders", "error"),
    [
        ("legendre", (0, 1, 4, 10), 1e-14),
        ("chebyshev", (0, 4, 10), 1e-14),
        ("monomial", (0, 4, 8), 1e-14),
        ("hermite", (1, 2, 5), 1e-14),
        ("linear_elements", (1, 2, 5), 1e-14),
        ("quadratic_elements", (1, 5), 1e-14),
        ("cubic_elements", (1, 5), 1e-14),
        ("fourier", (0, 1, 4, 10), 1e-8),
        ("gaussian", (0, 1, 4, 10), 1e-7),
        ("inverse_multiquadric", (1, 4, 10), 1e-5),
    ],
)
def test_default_gives_the_stiffness_of_a_tapered_round_rod(name, orders, error):
    for order in orders:
        made = Strain(name, bending_y=order)
        n_gauss = default_n_gauss(made)
        assert n_gauss >= max(5, minimum_n_gauss(made))
        exact = stiffness(made, 3 * n_gauss)
        assert np.abs(stiffness(made, n_gauss) - exact).max() < error * np.abs(exact).max()


def test_default_is_the_least_that_is_exact():
    made = Strain(bending_y=4)
    assert default_n_gauss(made) == 7
    exact = stiffness(made, 40)
    assert np.abs(stiffness(made, 6) - exact).max() > 1e-8 * np.abs(exact).max()


def test_default_of_few_or_no_functions_is_five():
    assert default_n_gauss(Strain()) == 5
    assert default_n_gauss(Strain(bending=1)) == 5
    assert default_n_gauss(Strain(torsion=4, bending=4, elongation=2, shear=2)) == 7


def test_default_follows_how_far_a_panel_turns():
    made = Strain(bending=4)
    # nothing until half a turn, as many for each of two half turns, two for each further one
    assert [default_n_gauss(made, turn * np.pi) for turn in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 20.0)] == [
        7, 7, 7, 11, 14, 16, 50,
    ]  # fmt: skip
    assert default_n_gauss(made, 1e9) == MAX_N_GAUSS


def test_default_samples_what_turns_with_the_rod():
    """exp(i turn s) times a function of the strain, as of the weight of a coil, is integrated to 1 %."""
    for order in range(9):
        for turns in (0.5, 1.0, 2.0, 5.0, 10.0):
            x, w, _ = gauss_panels(default_n_gauss(Strain(bending=order), 2.0 * np.pi * turns))
            fine, fine_w, _ = gauss_panels(300)
            sums = [
                np.sum(
                    weight * Strain(bending_y=order).functions("bending_y", at)[:, -1] * np.exp(2j * np.pi * turns * at)
                )
                for at, weight in ((x, w), (fine, fine_w))
            ]
            assert abs(sums[0] - sums[1]) < 1e-2, (order, turns)


@pytest.mark.parametrize(
    ("made", "needed"),
    [
        (Strain(), 1),
        (Strain(bending=0), 1),
        (Strain(torsion=4, bending=4, elongation=2, shear=2), 5),
        (Strain(torsion=2, shear_z=7), 8),
        (Strain("fourier", bending=3), 7),
        (Strain("gaussian", bending=6), 7),
        (Strain("linear_elements", bending=1), 2),
        (Strain("linear_elements", bending=8), 2),
        (Strain("cubic_elements", bending=8), 4),
        (Strain("hermite", bending=1), 4),
        (Strain("hermite", bending=8), 3),
        # two panels help the rich strain too
        (Strain(torsion=("linear_elements", 2), bending=5), 3),
    ],
)
def test_minimum_is_the_fewest_points_of_a_nonsingular_stiffness(made, needed):
    assert minimum_n_gauss(made) == needed

    def rank(n_gauss):
        x, _, is_gauss = gauss_panels(n_gauss, made.breakpoints)
        return sum(int(np.linalg.matrix_rank(P)) for P in (made.functions(s, x[is_gauss]) for s in FREE(made)))

    assert rank(needed) == made.count
    if needed > 1:
        assert rank(needed - 1) < made.count


def FREE(made):
    return [s for s, n in zip(STRAINS, made.count_per_strain, strict=True) if n]


def test_points_between_the_minimum_and_the_default_are_taken():
    check_n_gauss(5, Strain(torsion=4, bending=4, elongation=2, shear=2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: check_n_gauss(4, Strain(bending=4)),
            "quadrature: expected at least 5 Gauss points, got 4; "
            "with fewer, some strain coordinates have no stiffness; lower their order or add points",
        ),
        (
            lambda: check_n_gauss(2, Strain("hermite", bending=3)),
            "quadrature: expected at least 3 Gauss points in each panel, got 2; "
            "with fewer, some strain coordinates have no stiffness; lower their order or add points",
        ),
        (lambda: gauss_panels(0), "n_gauss: expected a number of Gauss points from 1 to 1000, got 0"),
        (lambda: gauss_panels(True), "n_gauss: expected a number of Gauss points from 1 to 1000, got True"),
        (
            lambda: gauss_panels(3, (0.5, 0.5)),
            "breakpoints: expected places increasing between 0 and 1, got [0.5, 0.5]",
        ),
        (lambda: gauss_panels(3, (1.0,)), "breakpoints: expected places increasing between 0 and 1, got [1.0]"),
        (
            lambda: minimum_n_gauss(Strain("monomial", bending_y=25)),
            "strain.bending_y: expected functions that are linearly independent in double precision, "
            "got 26 functions of monomial; lower the order, or use legendre",
        ),
    ],
)
def test_impossible_quadrature_is_refused_by_one_clear_message(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message
