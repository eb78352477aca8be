"""Materials: linear elastic, Kelvin-Voigt damped."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sorosim.declare import Declared, Quantity, key
from sorosim.errors import ModelError
from sorosim.problems import shown
from sorosim.validation import number


def real_number(where: str, value: Any, expected: str = "a number", **bounds: Any) -> float:
    """Return ``value`` as a float as `sorosim.validation.number` does; its errors are of the model."""
    try:
        return number(where, value, expected, error=ModelError, **bounds)
    except ModelError as error:
        if isinstance(value, str):
            error.hint = "give a number in SI units (units such as '1 MPa' are understood in files)"
        raise


@dataclass(frozen=True)
class Material(Declared, title="Materials"):
    """A homogeneous linear elastic material with viscous damping.

    Exactly one of ``poisson`` and ``shear`` is given; G is not tied to E: fibres and laminates have a G of their own.
    The damping of a section is eta diag(Jt, 3 Iy, 3 Iz, 3 A, A, A) (docs/theory.md, 6).
    """

    is_named = True
    alternatives = (("poisson", "shear"),)

    young: float = key(Quantity("pressure", above=0.0), "Young's modulus.", "1 MPa")
    _: KW_ONLY
    poisson: float | None = key(
        Quantity("number", above=-1.0, upto=0.5),
        "Poisson's ratio; the shear modulus follows from it.",
        "0.5",
        default=None,
    )
    shear: float | None = key(
        Quantity("pressure", above=0.0), "Shear modulus, instead of Poisson's ratio.", "300 kPa", default=None
    )
    density: float = key(Quantity("density", above=0.0), "Mass per volume.", "1000 kg/m^3")
    damping: float = key(Quantity("viscosity", least=0.0), "Viscosity.", "10 kPa*s", default=0.0)
    mass_damping: float = key(Quantity("rate", least=0.0), "Damping in proportion to the mass.", "0.1 1/s", default=0.0)
    stiffness_damping: float = key(
        Quantity("time", least=0.0), "Damping in proportion to the stiffness.", "1 ms", default=0.0
    )
    name: str = ""

    def validate(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError("name", "a text", shown(self.name))
        if self.poisson is None and self.shear is None:
            raise ModelError("", "one of poisson and shear", "neither", "nearly incompressible: poisson = 0.5")
        if self.poisson is not None and self.shear is not None:
            raise ModelError("", "one of poisson and shear", "both", "leave one of them out")

    @property
    def shear_modulus(self) -> float:
        """Shear modulus G [Pa], as given or from E and nu."""
        if self.shear is not None:
            return self.shear
        assert self.poisson is not None  # for the type checker: one of the two is always there
        return self.young / (2.0 * (1.0 + self.poisson))
