"""Tendons: strings on free routes through one or several rods (docs/theory.md, 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.actuation.route import Run, as_runs, check_runs
from sorosim.complex_step import number_type
from sorosim.errors import ModelError
from sorosim.kernels.fibres import FORCE_INPUT, LENGTH_INPUT, N_FIBRE_VALUES, ROUTE, ROUTE_ROW, SLOPE, TENSION_INPUT
from sorosim.kernels.fibres import GAIN as GAIN_AT
from sorosim.model.compile import Layout, LinkLayout, Piece
from sorosim.model.material import real_number
from sorosim.validation import describe

Array = NDArray[np.float64]

# the first part of its length by which a wound tendon is stretched only takes up slack
SLACK_PART = 1e-4


@dataclass(frozen=True)
class Tendon:
    """A string that is pulled at the base of its first rod.

    Parameters
    ----------
    runs : sequence of Run
        The rods it runs through, from base to tip. Between two rods it must pass rigid ground only: the next rod is
        fixed, directly or through fixed rigid links, to the tip of the one before.
    stiffness : float, optional
        Of the whole tendon [N/m]. With it the input is how far the tendon is wound up at its pulled end, against its
        length in the unstrained robot [m], and its tension is unknown: stiffness times what it is stretched by. Without
        it the input is the tension [N].
    friction : float
        Coefficient of friction along the route: the tension falls from the pulled end as exp(-friction * angle), by
        the angle that the route has turned (Euler, Eytelwein). For a tendon that is being pulled in; the kinks where it
        enters another rod do not count.
    pushes : bool
        Whether it carries negative tension, as a push rod does; a string is slack there, and carries nothing.
    """

    runs: tuple[Run, ...]
    _: KW_ONLY
    stiffness: float | None = None
    friction: float = 0.0
    pushes: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", as_runs("tendon", self.runs))
        if self.stiffness is not None:
            value = real_number("tendon.stiffness", self.stiffness, "a positive stiffness [N/m]", above=0.0)
            object.__setattr__(self, "stiffness", value)
        friction = real_number("tendon.friction", self.friction, "a coefficient of 0 or more", least=0.0)
        object.__setattr__(self, "friction", friction)
        if not isinstance(self.pushes, bool):
            raise ModelError("tendon.pushes", "True or False", describe(self.pushes))
        if self.stiffness is not None and self.friction > 0.0:
            hint = "a tendon with friction takes its tension as input"
            raise ModelError("tendon", "stiffness or friction, one of them", "both", hint)
        if self.stiffness is not None and self.pushes:
            raise ModelError("tendon", "stiffness or pushes, one of them", "both", "a wound tendon is slack or pulls")

    @property
    def unit(self) -> str:
        """Unit of its input."""
        return "N" if self.stiffness is None else "m"

    @property
    def rods(self) -> Sequence[str]:
        """The rods it runs through."""
        return [run.rod for run in self.runs]

    def check(self, layout: Layout) -> None:
        """Refuse routes that do not fit the robot."""
        check_runs("tendon", self.runs, layout)

    def rows(self, link: LinkLayout, piece: Piece, X: Array) -> list[tuple[int, Array]]:
        """Kind and values (n, 14) of its rows at arclengths X (n,) in a division, without weights."""
        return [(ROUTE_ROW, route_values(run.route(link, piece, X), 1.0)) for run in here(self.runs, link, piece)]

    def input(self, length: float) -> tuple[float, ...]:
        """What its input is, from its length in the unstrained robot [m]; see kernels.fibres."""
        if self.stiffness is not None:
            return LENGTH_INPUT, self.stiffness, length, SLACK_PART * length
        return FORCE_INPUT if self.pushes else TENSION_INPUT, 0.0, 0.0, 1.0


def here(runs: Sequence[Run], link: LinkLayout, piece: Piece) -> list[Any]:
    """The runs that pass a division."""
    assert link.link.rod is not None  # for the type checker
    middle = (piece.start + 0.5 * piece.division.length) / link.link.rod.length
    return [run for run in runs if run.rod == link.link.name and run.start < middle < run.end]


def route_values(route: tuple[Array, Array], gain: Any) -> Array:
    """Values (n, 14) of rows of a route and its slope."""
    d, slope = route
    out = np.zeros((len(d), N_FIBRE_VALUES), dtype=number_type())
    out[:, GAIN_AT], out[:, ROUTE : ROUTE + 3], out[:, SLOPE : SLOPE + 3] = gain, d, slope
    return out
