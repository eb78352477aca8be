"""Materials: linear elastic, Kelvin-Voigt damped."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from sorosim.errors import ModelError
from sorosim.validation import describe, number


def real_number(where: str, value: Any, expected: str = "a number", **bounds: Any) -> float:
    """Return ``value`` as a float as `sorosim.validation.number` does; its errors are of the model."""
    try:
        return number(where, value, expected, error=ModelError, **bounds)
    except ModelError as error:
        if isinstance(value, str):
            error.hint = "give a number in SI units (units such as '1 MPa' are understood in files)"
        raise


@dataclass(frozen=True)
class Material:
    """A homogeneous linear elastic material with viscous damping.

    Exactly one of ``poisson`` and ``shear`` is given. All but ``young`` are given by name.

    Parameters
    ----------
    young : float
        Young's modulus E [Pa], positive.
    poisson : float, optional
        Poisson's ratio nu [-], -1 < nu <= 0.5; the shear modulus is then E / (2 (1 + nu)).
    shear : float, optional
        Shear modulus G [Pa], positive. Not tied to E: fibres and laminates have a G of their own.
    density : float
        Mass per volume [kg/m^3], positive.
    damping : float
        Viscosity eta [Pa s] >= 0; a section's damping is eta diag(Jt, 3 Iy, 3 Iz, 3 A, A, A) (theory.md, 6).
    mass_damping : float
        Damping proportional to the mass matrix [1/s] >= 0.
    stiffness_damping : float
        Damping proportional to the stiffness matrix [s] >= 0.
    name : str
        Name shown in messages.
    """

    young: float
    _: KW_ONLY
    poisson: float | None = None
    shear: float | None = None
    density: float
    damping: float = 0.0
    mass_damping: float = 0.0
    stiffness_damping: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError("material.name", "a text", describe(self.name))
        self._store("young", "a positive Young's modulus [Pa]", above=0.0)
        if self.poisson is None and self.shear is None:
            raise ModelError(self._path, "one of poisson and shear", "neither", "nearly incompressible: poisson = 0.5")
        if self.poisson is not None and self.shear is not None:
            raise ModelError(self._path, "one of poisson and shear", "both", "leave one of them out")
        if self.poisson is not None:
            self._store("poisson", "a Poisson's ratio above -1 and up to 0.5", above=-1.0, upto=0.5)
        else:
            self._store("shear", "a positive shear modulus [Pa]", above=0.0)
        self._store("density", "a positive density [kg/m^3]", above=0.0)
        self._store("damping", "a viscosity >= 0 [Pa s]", least=0.0)
        self._store("mass_damping", "a coefficient >= 0 [1/s]", least=0.0)
        self._store("stiffness_damping", "a coefficient >= 0 [s]", least=0.0)

    @property
    def _path(self) -> str:
        return self.name or "material"

    def _store(self, field: str, expected: str, **bounds: Any) -> None:
        number = real_number(f"{self._path}.{field}", getattr(self, field), expected, **bounds)
        object.__setattr__(self, field, number)

    @property
    def shear_modulus(self) -> float:
        """Shear modulus G [Pa], as given or from E and nu."""
        if self.shear is not None:
            return self.shear
        assert self.poisson is not None  # for the type checker: one of the two is always there
        return self.young / (2.0 * (1.0 + self.poisson))
