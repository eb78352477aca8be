"""Mass, centre and inertia of links that are fixed to each other, and what is none that a body has.

A distribution of mass has no principal moment above the sum of the other two, and so no negative one. What a moment is
above it, the excess, is at most the rounding of the numbers where a body's own were rounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from sorosim.base.arrays import Array


class Inertia(NamedTuple):
    """Mass properties in some frame."""

    mass: float  # [kg]
    centre: Array  # (3,) [m]
    inertia: Array  # (3, 3) about the centre [kg m^2]
    rounding: float = 0.0  # excess that the digits of the file may make of none [kg m^2]


@np.errstate(over="ignore")  # what is too large is refused later
def moved(own: Inertia, g: Array) -> Inertia:
    """Mass properties seen from another frame, in which the own one has the pose g (4, 4)."""
    R = g[:3, :3]
    turned = own.inertia if np.array_equal(R, np.eye(3)) else R @ own.inertia @ R.T
    return Inertia(own.mass, R @ own.centre + g[:3, 3], 0.5 * (turned + turned.T), own.rounding)


def total(parts: list[Inertia]) -> Inertia:
    """Mass properties of several bodies in the same frame that move as one; their mass is not zero."""
    if len(parts) == 1:
        return parts[0]
    mass = sum(part.mass for part in parts)
    centre = np.sum([part.mass * part.centre for part in parts], axis=0) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        d = part.centre - centre
        inertia += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertia(mass, centre, inertia)


NEGLIGIBLE = 1e-9  # excess, as a part of the largest moment, that a body may have
GUESSED = 0.05  # an excess above this part of the largest moment is no rounding, however few the digits are
NOISE = 1e-15  # of m |c|^2: what is left of moments about another point where there should be none
_DIGITS = re.compile(r"[-+]?(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?")
# moments of the part of mass along each principal axis
_MOMENTS = np.ones((3, 3)) - np.eye(3)


def excess(inertia: Array) -> float:
    """What the largest principal moment of an inertia (3, 3) is above the sum of the other two; 0 where it is not."""
    moments = np.linalg.eigvalsh(inertia)
    over = float(moments[2] - moments[1] - moments[0])
    return over if over > NEGLIGIBLE * moments[2] else 0.0


def nearest_possible(inertia: Array) -> Array:
    """The inertia (3, 3) of some distribution of mass that differs least from one that none has, by all entries."""
    moments, axes = np.linalg.eigh(inertia)
    scale = np.abs(moments).max()
    along, _ = nnls(_MOMENTS, moments / scale)
    mended = axes @ np.diag(scale * (_MOMENTS @ along)) @ axes.T
    return np.asarray(0.5 * (mended + mended.T))


@np.errstate(over="ignore")
def rounding(moments: Sequence[str], products: Sequence[str], mass: float, centre: Array) -> float:
    """Excess that may come from the rounding of numbers as they are written.

    Numbers are written with so many decimals, or so many digits; zeros at their ends may have been left out.

    Parameters
    ----------
    moments, products : sequence of str
        Ixx, Iyy, Izz and Ixy, Ixz, Iyz.
    mass : float
    centre : (3,)
    """
    written = [_digits(text) for text in (*moments, *products)]
    most, decimals = max(n for n, _, _ in written), max(last for _, last, _ in written)
    # half a unit of the last digit of each; a zero is one, unless it has all decimals; no entry changes an excess by
    # more than these
    units = [
        max(10.0 ** (first - most + 1), 10.0**-decimals) if n else (10.0**-decimals if last == decimals > 0 else 0.0)
        for n, last, first in written
    ]
    half = 0.5 * np.array(units)
    by_digits = float(half[:3].sum() + 2.0 * np.sqrt(2.0 * (half[3:] ** 2).sum()))
    largest = max(abs(float(text)) for text in moments)
    return max(min(by_digits, GUESSED * largest), NOISE * mass * float(centre @ centre))


def _digits(text: str) -> tuple[int, int, int]:
    """How many digits a number has from the first that is not 0, its decimals, and the power of ten of the first."""
    found = _DIGITS.fullmatch(text.strip())
    assert found is not None  # numbers were checked
    whole, part, power = found[1], found[2], int((found[3] or "0")[:6])
    digits = (whole + part).lstrip("0")
    return len(digits), len(part) - power, len(digits) - len(part) - 1 + power
