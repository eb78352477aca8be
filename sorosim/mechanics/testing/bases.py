"""The check of a basis of strain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.base.errors import ModelError
from sorosim.base.registry import check_basis_members
from sorosim.mechanics.model.basis import check_basis_outputs, get_basis
from sorosim.mechanics.model.quadrature import gauss_panels
from sorosim.mechanics.testing.report import ContractError, Report
from sorosim.mechanics.testing.states import check_stateless

Array = NDArray[Any]

LARGEST, SMALLEST = 1e3, 1e-3
# integrals with as many Gauss points as engineers get, against very many
ENOUGH, VERY_MANY = 3, 60
CONDITION = 1e8


def check_basis(
    basis: Any, orders: Iterable[int] = (1, 2, 3, 4), *, complex_places: bool = False, tolerance: float = 1e-6
) -> Report:
    """Check whether a basis keeps its contract.

    Tried are: its name, count, breakpoints and degree; values that are finite, of order one, linearly independent, and
    the same for the same arguments; numbers, lists and arrays as places; and that products of two functions are
    integrated well by degree + 3 Gauss points.

    Parameters
    ----------
    basis : Basis, or str
        A basis, or the name of a known one.
    orders : iterable of int
        Orders that it has.
    complex_places : bool
        Whether to try complex places, too. The contract does not ask for them.
    tolerance : float
        How far integrals may be off, and derivatives against differences.

    Returns
    -------
    Report
        The worst errors; "condition" is the worst condition number of the functions.

    Raises
    ------
    ContractError
        The basis broke a rule: which, at which order. It is an AssertionError.
    """
    if isinstance(basis, str):
        basis = get_basis(basis)
    orders = list(orders)
    check_basis_members("basis", getattr(basis, "name", ""), basis)
    report = Report(basis.name, len(orders))
    for order in orders:
        where = f"basis {basis.name} (order {order})"
        try:
            check_basis_outputs(basis, order)
        except ModelError as error:
            raise ContractError(error.where, f"expected {error.expected}, got {error.got}", error.hint) from error
        _check_values(report, where, basis, order)
        _check_integrals(report, where, basis, order, tolerance)
        if complex_places:
            _check_smooth(report, where, basis, order, tolerance)
        places = [np.linspace(0.0, 1.0, n) for n in (5, 9, 33)]
        check_stateless(where, lambda x, order=order: (basis.values(x, order),), places)  # type: ignore[misc]
    return report


def _check_values(report: Report, where: str, basis: Any, order: int) -> None:
    x = np.linspace(0.0, 1.0, 401)
    values, count = np.asarray(basis.values(x, order)), int(basis.count(order))
    if values.shape != (401, count):
        raise ContractError(where, f"values at 401 places have shape {values.shape}, not (401, {count})")
    if not np.isfinite(values).all():
        k, worst = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise ContractError(where, f"function {worst} is not finite at x = {x[k]:.4g}")
    largest = np.abs(values).max(axis=0)
    outside = np.flatnonzero((largest > LARGEST) | (largest < SMALLEST))
    if len(outside):
        hint = "functions are of order one in size, and not multiplied by any length"
        raise ContractError(where, f"function {outside[0]} is {largest[outside[0]]:.3g} at most", hint)
    singular = np.linalg.svd(values / np.linalg.norm(values, axis=0), compute_uv=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0.0 else np.inf
    report.note("condition", condition)
    if not condition < CONDITION:
        hint = "a smaller order may do; stiffness has the square of it"
        raise ContractError(where, f"the functions depend on each other, condition number {condition:.1e}", hint)
    for given in (0.25, [0.25], np.array([0.25]), np.float64(0.25)):
        shape = np.shape(basis.values(given, order))
        if shape != (1, count):
            found = f"values at one place, a {type(given).__name__}, have shape {shape}, not (1, {count})"
            raise ContractError(where, found, "take x by np.atleast_1d(x)")


def _check_integrals(report: Report, where: str, basis: Any, order: int, tolerance: float) -> None:
    grams = []
    for n in (int(basis.degree(order)) + ENOUGH, VERY_MANY):
        x, w, _ = gauss_panels(n, tuple(basis.breakpoints(order)))
        P = np.asarray(basis.values(x, order))
        grams.append(P.T @ (w[:, None] * P))
    error = float(np.abs(grams[0] - grams[1]).max() / np.abs(grams[1]).max())
    report.note("integrals of products", error)
    if error > tolerance:
        hint = "state a larger degree, or all breakpoints"
        found = f"degree + {ENOUGH} = {basis.degree(order) + ENOUGH} Gauss points leave an error of {error:.1e}"
        raise ContractError(where, found, hint)


def _check_smooth(report: Report, where: str, basis: Any, order: int, tolerance: float) -> None:
    edges, h, step = np.array([0.0, *basis.breakpoints(order), 1.0]), 1e-6, 1e-30
    x = (edges[:-1, None] + np.diff(edges)[:, None] * np.array([0.21, 0.5, 0.83])).ravel()
    try:
        slopes = np.imag(basis.values(x + 1j * step, order)) / step
    except Exception as error:
        found = f"complex places raise {type(error).__name__}: {error}"
        raise ContractError(where, found) from error
    differences = (np.asarray(basis.values(x + h, order)) - np.asarray(basis.values(x - h, order))) / (2.0 * h)
    off = np.abs(slopes - differences) / max(1.0, float(np.abs(differences).max()))
    report.note("slopes by complex places", float(off.max()))
    if off.max() > tolerance:
        k, worst = (int(i) for i in np.unravel_index(np.argmax(off), off.shape))
        found = f"slope of function {worst} at x = {x[k]:.4g} by a complex place is {slopes[k, worst]:.6g}"
        found += f", by differences {differences[k, worst]:.6g}"
        raise ContractError(where, found, "use functions that know complex numbers")
