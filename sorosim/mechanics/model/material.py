"""Materials: linear elastic, hyperelastic or viscoelastic, Kelvin-Voigt damped."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sorosim.base.declare import Choice, Declared, Part, Quantity, key
from sorosim.base.errors import ModelError
from sorosim.base.problems import shown
from sorosim.base.validation import number
from sorosim.mechanics.model.relaxation import Relaxation


def real_number(where: str, value: Any, expected: str = "a number", **bounds: Any) -> float:
    """Return ``value`` as a float as `sorosim.base.validation.number` does; its errors are of the model."""
    try:
        return number(where, value, expected, error=ModelError, **bounds)
    except ModelError as error:
        if isinstance(value, str):
            error.hint = "give a number in SI units (units such as '1 MPa' are understood in files)"
        raise


@dataclass(frozen=True)
class Material(Declared, title="Materials"):
    """A homogeneous elastic material with viscous damping.

    Exactly one of ``poisson`` and ``shear`` is given; G is not tied to E: fibres and laminates have a G of their own.
    The damping of a section is eta diag(Jt, 3 Iy, 3 Iz, 3 A, A, A) (docs/theory.md, 6).

    A neo-Hookean or Mooney-Rivlin solid keeps its volume: a rod of it gets thinner, and softer, as it is stretched.
    ``young`` and the shear modulus are those of small strains, with E = 6 (C1 + C2) of Mooney and Rivlin's constants.
    Stretch is exact, bending to fourth order in curvature times radius (of fibres under tension), twist and shear to
    second.
    Rotary inertia, drag, contact and pictures keep the section of the unstretched rod.
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
    elasticity: str = key(
        Choice(("linear", "neo-hookean", "mooney-rivlin")), "Law of stress and strain.", "neo-hookean", default="linear"
    )
    second_share: float = key(
        Quantity("number", least=0.0, upto=1.0), "Share C2/(C1 + C2) of the second term of a Mooney-Rivlin solid.",
        "0.2", default=0.0,
    )  # fmt: skip
    relaxation: Relaxation | None = key(
        Part(Relaxation), "How moduli fall off with time (a Prony series).", "{terms: [{share: 0.3, time: 50 ms}]}",
        default=None, without="elastic",
    )  # fmt: skip
    name: str = ""

    def validate(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError("name", "a text", shown(self.name))
        if self.poisson is None and self.shear is None:
            raise ModelError("", "one of poisson and shear", "neither", "nearly incompressible: poisson = 0.5")
        if self.poisson is not None and self.shear is not None:
            raise ModelError("", "one of poisson and shear", "both", "leave one of them out")
        if self.is_hyperelastic and self.poisson not in (None, 0.5):
            hint = f"a {self.elasticity} solid keeps its volume; a shear modulus of its own is given as shear"
            raise ModelError("poisson", "0.5", shown(self.poisson), hint)
        if (self.elasticity == "mooney-rivlin") != (self.second_share > 0.0):
            expected = "elasticity: mooney-rivlin and second_share together"
            got = f"{self.elasticity} with {self.second_share:g}"
            raise ModelError("second_share", expected, got, "without a second term the solid is neo-hookean")
        if self.is_hyperelastic and self.relaxation is not None:
            hint = "leave out the relaxation, or take elasticity: linear"
            raise ModelError("relaxation", "a linear material", f"one that is {self.elasticity}", hint)

    @property
    def is_hyperelastic(self) -> bool:
        """Whether stresses are not linear in strains."""
        return self.elasticity != "linear"

    @property
    def shear_modulus(self) -> float:
        """Shear modulus G [Pa], as given or from E and nu."""
        if self.shear is not None:
            return self.shear
        assert self.poisson is not None  # for the type checker: one of the two is always there
        return self.young / (2.0 * (1.0 + self.poisson))
