"""The law of a contact: force over penetration, damping, friction."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from sorosim.errors import ModelError
from sorosim.loads.base import Array
from sorosim.model.material import real_number

ONSET_POINTS = 12
ELASTIC, PLASTIC = 0.9999, 0.03


@dataclass(frozen=True)
class ContactLaw:
    """Normal force N = k h(d)^p (1 + c dd/dt), never pulling, and friction mu N v / sqrt(v^2 + v_s^2) against sliding.

    Parameters
    ----------
    stiffness : float
        k [N/m^p], positive, for the penetration d of one contact.
    exponent : float
        p, at least 1: 1.5 for round bodies (Hertz), 1 for a linear spring.
    onset : float
        Penetration [m] over which the force sets in smoothly, h = d - onset/2 beyond it; without it h = d.
    damping : float
        c [s/m], as Hunt and Crossley have it.
    restitution, impact_speed : float, optional
        Instead of `damping`: how fast two bodies part, relative to the speed [m/s] at which they meet.
    friction : float
        Coulomb's coefficient mu.
    slip_speed : float
        Speed v_s [m/s] of creep at 0.7 of the full friction, positive.
    """

    stiffness: float
    _: KW_ONLY
    exponent: float = 1.5
    onset: float = 0.0
    damping: float = 0.0
    restitution: float | None = None
    impact_speed: float | None = None
    friction: float = 0.0
    slip_speed: float = 1e-3

    def __post_init__(self) -> None:
        for name, expected, bounds in (
            ("stiffness", "a positive stiffness [N/m^p]", {"above": 0.0}),
            ("exponent", "an exponent from 1 to 5", {"least": 1.0, "upto": 5.0}),
            ("onset", "a length of 0 or more [m]", {"least": 0.0}),
            ("damping", "a number of 0 or more [s/m]", {"least": 0.0}),
            ("friction", "a coefficient of 0 or more", {"least": 0.0}),
            ("slip_speed", "a positive speed [m/s]", {"above": 0.0}),
        ):
            value: Any = real_number(f"contact.{name}", getattr(self, name), expected, **bounds)
            object.__setattr__(self, name, value)
        if (self.restitution is None) != (self.impact_speed is None):
            missing = "impact_speed" if self.impact_speed is None else "restitution"
            got = "one of them"
            raise ModelError(f"contact.{missing}", "restitution and impact_speed together", got)
        if self.restitution is not None:
            if self.damping:
                raise ModelError("contact.damping", "damping or restitution, one of them", "both")
            e = real_number("contact.restitution", self.restitution, "a number above 0, at most 1", above=0.0, upto=1.0)
            speed = real_number("contact.impact_speed", self.impact_speed, "a positive speed [m/s]", above=0.0)
            object.__setattr__(self, "restitution", e)
            object.__setattr__(self, "impact_speed", speed)

    @property
    def hunt_crossley(self) -> float:
        """c [s/m]."""
        if self.restitution is None or self.impact_speed is None:
            return self.damping
        return impact_damping(self.restitution) / self.impact_speed

    @property
    def row(self) -> Array:
        """Its numbers in the arrays, see kernels.surfaces."""
        numbers = (self.stiffness, self.exponent, self.onset, self.hunt_crossley, self.friction, self.slip_speed, 0.0)
        return np.array(numbers)


def impact_damping(e: float) -> float:
    """c v of a contact with restitution e at the speed v: ln((1 + c v)/(1 - e c v)) = c v (1 + e), for any exponent.

    Two bodies that meet at v and part at e v, their force k d^p (1 + c dd/dt) alone between them: m u du/dd = -k d^p
    (1 + c u) has the integral of u/(1 + c u) over u, which must vanish from v to -e v.
    """
    # x = c v; near e = 1 both sides agree in too many digits, below 0.03 what is left of 1 - e x is rounding
    series = 1.5 * (1.0 - e * e) / (1.0 + e**3)
    if e > ELASTIC:
        return series
    if e < PLASTIC:
        return 1.0 / e
    function = partial(_lost_on_impact, e)
    return float(brentq(function, 0.5 * series, (1.0 - 1e-15) / e))


def _lost_on_impact(e: float, x: float) -> float:
    return float(np.log1p(x) - np.log1p(-e * x) - x * (1.0 + e))


def stored_energy(k: Array, p: Array, onset: Array, depth: Array) -> Array:
    """Energy [J] that contacts store at depths [m] (all (n,)): the integral of k h(d)^p."""
    beyond = np.maximum(depth - onset, 0.0) + 0.5 * onset
    full = k / (p + 1.0) * (beyond ** (p + 1.0) - (0.5 * onset) ** (p + 1.0))
    # in the onset, h = w (t^3 - t^4/2), by Gauss's rule
    x, weight = np.polynomial.legendre.leggauss(ONSET_POINTS)
    t = 0.5 * (1.0 + x) * np.minimum(depth / np.where(onset > 0.0, onset, np.inf), 1.0)[:, None]
    within = 0.5 * np.minimum(depth, onset) * (k * onset**p) * ((t**3 - 0.5 * t**4) ** p[:, None] @ weight)
    return np.asarray(full + within)
