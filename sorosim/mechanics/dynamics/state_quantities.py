"""Methods of a robot that give what follows of a state by arithmetic: strains, mass and its centre."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sorosim.base.arrays import Array
from sorosim.base.errors import InputError, nearest
from sorosim.base.public import public
from sorosim.base.validation import Values
from sorosim.mechanics.dynamics import arguments
from sorosim.mechanics.engine import quantities
from sorosim.mechanics.engine.engine import Engine


@public
class StateQuantities:
    """Quantities of a state, for `sorosim.Robot`, which has the engine and checks coordinates."""

    engine: Engine

    def coordinates(self, value: Values, where: str = "q", *, order: int = 0) -> Array:
        """Return coordinates (order 0), rates (1) or accelerations (2) as a fresh (ndof,) array in SI units."""
        return arguments.coordinates(self.engine, value, where, order)

    def strain(self, q: Values, link: str, *, s: float = 1.0) -> Array:
        """Strain (6,) of a rod at s (0: base, 1: tip): torsion, bending y, z [1/m], elongation (1: unstretched), shear.

        It is that of the strain basis itself; where two divisions meet that of the second one.
        """
        name, place = arguments.place(self.engine, link, s)
        layout = self.engine.layout.links[name]
        if layout.link.rod is None:
            rods = [other for other, its in self.engine.layout.links.items() if its.link.rod is not None]
            raise InputError("link", "the name of a link with a rod", f"'{link}'", nearest(link, rods))
        return quantities.rod_strain(layout, self.coordinates(q), place)

    @cached_property
    def mass(self) -> float:
        """Mass of all links [kg], with rods in the lengths of the file."""
        return quantities.centre_of_mass(self.engine, np.zeros(self.engine.ndof))[0]

    def centre_of_mass(self, q: Values) -> Array:
        """Centre of mass (3,) in the world [m]."""
        return quantities.centre_of_mass(self.engine, self.coordinates(q))[1]

    def centre_of_mass_jacobian(self, q: Values) -> Array:
        """Derivatives (3, ndof) of the centre of mass by the coordinates [m per unit of a coordinate]."""
        return quantities.centre_of_mass_jacobian(self.engine, self.coordinates(q))
