"""Viscoelasticity: elements of Maxwell beside the spring of a material, as a Prony series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from sorosim.base.compiled import table
from sorosim.base.complex_step import number_type
from sorosim.base.declare import Choice, Declared, ListOf, Part, Quantity, key
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels.forces import RELAXING_BLOCK, Maxwell

# values of Relaxation.moduli and Relaxation.equilibria
INSTANTANEOUS, RELAXED = "instantaneous", "relaxed"
STATES = INSTANTANEOUS, RELAXED


@dataclass(frozen=True)
class RelaxationTerm(Declared, title="Terms of a relaxation"):
    """One term of a Prony series: an element of Maxwell, a spring and a dashpot one after the other."""

    share: float = key(Quantity("number", above=0.0), "Of the instantaneous modulus.", "0.3")
    time: float = key(Quantity("time", above=0.0), "Relaxation time, viscosity over modulus.", "50 ms")


@dataclass(frozen=True)
class Relaxation(Declared, title="Relaxation"):
    """A generalised Maxwell solid: at a held strain E(t) = E(0) (1 - sum g_i + sum g_i exp(-t/tau_i)), G(t) likewise.

    Poisson's ratio stays (docs/theory.md, 21). Equilibria have no history: `equilibria` says whether they are those
    after a long time, or those before anything has relaxed. Motions begin likewise: with elements at rest, or as if
    the start had just been reached from the unloaded shape.
    """

    terms: tuple[RelaxationTerm, ...] = key(
        ListOf(Part(RelaxationTerm), "one term or several"),
        "Terms of the series; the shares sum to less than 1.",
        "[{share: 0.3, time: 50 ms}, {share: 0.1, time: 2 s}]",
    )
    _: KW_ONLY
    moduli: str = key(
        Choice(STATES), "Which moduli `young` and `shear` are: E(0), or those after a long time.", "relaxed",
        default=INSTANTANEOUS,
    )  # fmt: skip
    equilibria: str = key(
        Choice(STATES), "Which moduli equilibria, modes and functions of a single state have.", "instantaneous",
        default=RELAXED,
    )  # fmt: skip

    def validate(self) -> None:
        total = sum(term.share for term in self.terms)
        if not total.real < 1.0:
            hint = "what is left of 1 is the relaxed modulus, over the instantaneous one"
            raise ModelError("terms", "shares that sum to less than 1", f"{total.real:.6g}", hint)

    @property
    def relaxed_share(self) -> Any:
        """The relaxed modulus over the instantaneous one."""
        return 1.0 - sum(term.share for term in self.terms)

    @property
    def equilibrium_ratio(self) -> Any:
        """Modulus of equilibria over the given one."""
        if self.moduli == self.equilibria:
            return 1.0
        return self.relaxed_share if self.equilibria == RELAXED else 1.0 / self.relaxed_share

    @property
    def ratios(self) -> list[Any]:
        """Relaxed modulus, then those of the terms, over the modulus of equilibria."""
        unit = self.relaxed_share if self.equilibria == RELAXED else 1.0
        return [self.relaxed_share / unit, *(term.share / unit for term in self.terms)]


def maxwell_elements(relaxing: Sequence[tuple[int, int, Relaxation]]) -> Maxwell:
    """Elements of blocks, each given by its number, how many coordinates it has, and how it relaxes."""
    rows, long_term, times, strain = [], [], [], 0
    ratios: list[Any] = []
    for block, n, relaxation in relaxing:
        first, *own = relaxation.ratios
        rows.append((block, len(ratios), len(own), strain))
        long_term.append(first)
        ratios += own
        times += [term.time for term in relaxation.terms]
        strain += n * len(own)
    values = (np.array(part, dtype=number_type()) for part in (long_term, ratios, times))
    return Maxwell(table(RELAXING_BLOCK, rows), *values)
