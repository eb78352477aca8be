"""The law of a contact: force over penetration, damping, friction."""

from __future__ import annotations

import math
import re
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from sorosim.base.arrays import Array
from sorosim.base.compiled import table
from sorosim.base.declare import Declared, Quantity, Type, Writer, key
from sorosim.base.declare.base import Define
from sorosim.base.errors import ModelError
from sorosim.base.problems import shown
from sorosim.base.units.quantity import quantity
from sorosim.base.validation import as_real
from sorosim.mechanics.kernels.surfaces import CONTACT_LAW

ONSET_POINTS = 12
ELASTIC, PLASTIC = 0.9999, 0.03
# a stiffness that is chosen so that a weight enters by this part of the thickness of what touches, rounded to STEPS
AUTO, SHARE = "auto", 0.01
STEPS = (1.0, 2.0, 5.0, 10.0)


class StiffnessOfContact(float):
    """A stiffness in SI units that was written with a unit: `power` is that of the length in it."""

    power: float

    def __new__(cls, value: float, power: float) -> StiffnessOfContact:
        out = super().__new__(cls, value)
        out.power = power
        return out


_STIFFNESS = re.compile(
    r"\s*(?P<number>[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(?P<force>\w*N)\s*/\s*(?P<length>\w*m)\s*(?:\^\s*(?P<power>[0-9.]+|\(3/2\)))?\s*"
)


@dataclass(frozen=True)
class ContactStiffness(Type):
    """Force per power of a length: a number, a text such as 1e5 N/m^1.5, or auto."""

    def check(self, value: object) -> float | str:
        if isinstance(value, str) and value.strip() == AUTO:
            return AUTO
        number: Any = as_real(value)
        if isinstance(value, StiffnessOfContact):
            return value
        if number is None and isinstance(value, str):
            match = _STIFFNESS.fullmatch(value[:100])
            try:
                if match:
                    power = 1.5 if match["power"] == "(3/2)" else float(match["power"] or 1.0)
                    length = quantity(f"1 {match['length']}", "length")
                    scale = quantity(f"1 {match['force']}", "force") / length**power
                    number = StiffnessOfContact(float(match["number"]) * scale, power)
                else:
                    number = float(value)
            except (ValueError, OverflowError):
                number = None
        if number is None or not 0.0 < number.real < math.inf:
            what = "a positive stiffness such as 1e5 N/m^1.5, or 20 N/mm for exponent 1, or auto"
            raise ModelError("", what, shown(value))
        return number  # type: ignore[no-any-return]

    def write(self, value: Any, writer: Writer) -> Any:
        return value if value == AUTO else float(value)

    def schema(self, define: Define) -> dict[str, Any]:
        return {"type": ["number", "string"], "exclusiveMinimum": 0.0}


@dataclass(frozen=True)
class ContactLaw(Declared):
    """Normal force N = k h(d)^p (1 + c dd/dt), never pulling, and friction mu N v / sqrt(v^2 + v_s^2) against sliding.

    d is the penetration of one contact; h = d - onset/2 beyond the onset, over which the force sets in smoothly.
    """

    stiffness: float | str = key(
        ContactStiffness(),
        "Force of one contact per penetration to the power of the exponent; auto: the weight of the lighter side, with "
        "all that hangs together with it, enters by a hundredth of the least thickness.",
        "1e5 N/m^1.5",
    )
    _: KW_ONLY
    exponent: float = key(
        Quantity("number", least=1.0, upto=5.0),
        "1.5 for round bodies (Hertz), 1 for a linear spring.",
        "1",
        default=1.5,
    )
    onset: float = key(
        Quantity("length", least=0.0), "Penetration over which the force sets in smoothly.", "0.1 mm", default=0.0
    )
    damping: float = key(
        Quantity("inverse speed", least=0.0),
        "The force is multiplied by 1 + damping times the speed of approach (Hunt and Crossley).",
        "0.5 s/m",
        default=0.0,
    )
    restitution: float | None = key(
        Quantity("number", above=0.0, upto=1.0),
        "In place of damping: speed of parting relative to that of meeting.", "0.8", default=None,
    )  # fmt: skip
    impact_speed: float | None = key(
        Quantity("speed", above=0.0), "Speed of meeting at which the restitution holds.", "0.5 m/s", default=None
    )
    friction: float = key(Quantity("number", least=0.0), "Coulomb's coefficient.", "0.3", default=0.0)
    slip_speed: float = key(
        Quantity("speed", above=0.0),
        "Speed of sliding at which 0.7 of the friction is reached; what sticks creeps by less.",
        "0.1 mm/s",
        default=1e-3,
    )

    def validate(self) -> None:
        if isinstance(self.stiffness, StiffnessOfContact):
            if abs(self.stiffness.power - self.exponent) > 1e-12:
                expected = f"a unit for exponent {self.exponent:g}, N/m^{self.exponent:g}"
                raise ModelError("stiffness", expected, f"N/m^{self.stiffness.power:g}", "or change the exponent")
            self._set(stiffness=float(self.stiffness))
        if (self.restitution is None) != (self.impact_speed is None):
            missing = "impact_speed" if self.impact_speed is None else "restitution"
            raise ModelError(missing, "restitution and impact_speed together", "one of them")
        if self.restitution is not None and self.damping:
            raise ModelError("damping", "damping or restitution, one of them", "both")

    @property
    def hunt_crossley(self) -> float:
        """c [s/m]."""
        if self.restitution is None or self.impact_speed is None:
            return self.damping
        return impact_damping(self.restitution) / self.impact_speed

    @property
    def row(self) -> Any:
        """Its row in the arrays, one of kernels.surfaces.CONTACT_LAW."""
        numbers = (self.stiffness, self.exponent, self.onset, self.hunt_crossley, self.friction, self.slip_speed, 0.0)
        return table(CONTACT_LAW, [numbers])[0]


def carrying(weight: float, thickness: float, exponent: float) -> float:
    """Stiffness [N/m^p] under which a weight [N] enters by less than a hundredth of a thickness [m]: 1, 2 or 5 10^n.

    It is rounded up, so it does not change with small changes of a mass: derivatives take it as given.
    """
    needed = float(np.real(weight)) / (SHARE * float(np.real(thickness))) ** exponent
    power = 10.0 ** math.floor(math.log10(needed))
    return next(step * power for step in STEPS if step * power >= needed * (1.0 - 1e-12))


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
