"""What a robot of another format has that links have not: refused where it matters to the motion, else remarked on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from sorosim.base.errors import SorosimWarning
from sorosim.base.problems import Place, shown
from sorosim.files.nodes import Mistakes
from sorosim.files.robot_file import MOTION

MAX_NAMES = 4

# of groups without which a robot moves otherwise: what they are, and what to have instead
WHAT = {
    "armature": ("armature (inertia of rotors) in ball and free joints", "the inertia of the body may have it"),
    "springs": ("springs and dampers but linear ones along the coordinates of a joint", ""),
    "fluid": ("forces of a medium", "`loads` of a robot's file have a fluid"),
    "gravity": ("bodies that gravity does not pull at", ""),
    "tendons": ("tendons", "`loads` and `actuators` of a robot's file have springs and tendons"),
    "constraints": (
        "constraints but connected or welded bodies, joints that are held, and joints that follow another one linearly",
        "`loops` and `couplings` of a robot's file are such",
    ),
    "deformables": ("deformable bodies", "soft links of a robot's file are rods"),
}


@dataclass
class Leftovers:
    """What is left out of a file, by group.

    Parameters
    ----------
    file : str
    without : tuple of str
        Groups that are meant to be left out.
    """

    file: str
    without: tuple[str, ...] = ()
    found: dict[str, list[tuple[str, Place]]] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)  # what else may be done about a group

    def add(self, group: str, name: str, place: Place) -> None:
        """Note one thing."""
        if group not in self.without:
            self.found.setdefault(group, []).append((name, place))

    def finish(self, mistakes: Mistakes) -> None:
        """Note what may not be left out, and warn of the rest."""
        for group, things in self.found.items():
            if group in MOTION:
                what, instead = WHAT[group]
                hint = f"without: [{group}] in the `import` block leaves out what cannot be imported"
                hint += f"; {instead}" if instead else ""
                mistakes.note(things[0][1], f"no {what}", _listed(things), hint)
        rest = {group: things for group, things in self.found.items() if group not in MOTION}
        if rest and not mistakes:
            parts = [f"{group} ({_listed(things)}, line {things[0][1].line})" for group, things in rest.items()]
            meant = f"without: [{', '.join(rest)}] in the `import` block says that this is meant"
            meant = "; ".join([meant, *(self.hints[group] for group in rest if group in self.hints)])
            warnings.warn(f"{self.file}: left out: {'; '.join(parts)}; {meant}", SorosimWarning, stacklevel=2)


def _listed(things: list[tuple[str, Place]]) -> str:
    names = ", ".join(shown(name) for name, _ in things[:MAX_NAMES])
    return names if len(things) <= MAX_NAMES else f"{names} and {len(things) - MAX_NAMES} more"
