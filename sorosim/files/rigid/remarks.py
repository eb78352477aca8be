"""What becomes of a file's text otherwise than it stands there: one warning of each kind, with lines."""

from __future__ import annotations

from dataclasses import dataclass, field

from sorosim.base.errors import warn
from sorosim.base.problems import Place, dotted

MAX_NAMES = 4

# kinds, and what to do about each
UNDRAWN = "not drawn"
MENDED = "inertia that no body has, mended"
UNTOUCHED = "touches nothing"
CONVEX = "touches as what is convex"
WRITTEN = "read for what it means"
RENAMED = "called otherwise"
UNDRIVEN = "motors left out"
FOLLOWING = "of the keyframe otherwise"
WHAT_NOW = {
    UNDRAWN: "visual: false in the `import` block leaves out all that is drawn",
    MENDED: "inertia: accept in the `import` block takes the numbers as they are",
    UNTOUCHED: "surfaces of contacts take other shapes: {link: ..., box: ...}",
    CONVEX: "what is hollow has to be cut into convex pieces: {link: ..., mesh: ...}",
    WRITTEN: "not all programs do so",
    RENAMED: "'world' is the world itself",
    UNDRIVEN: "without: [actuators] in the `import` block says that this is meant",
    FOLLOWING: "joints that follow others stand where these put them",
}


@dataclass
class Remarks:
    """What was noted about one file, by kind: what it is, and where."""

    found: dict[str, list[tuple[str, Place]]] = field(default_factory=dict)

    def add(self, kind: str, what: str, place: Place) -> None:
        """Note one thing."""
        self.found.setdefault(kind, []).append((what, place))

    def give(self) -> None:
        """Warn of them."""
        for kind, things in self.found.items():
            shown = [
                f"{dotted(place.path)}, line {place.line}: {what}" if place.path else f"line {place.line}: {what}"
                for what, place in things[:MAX_NAMES]
            ]
            more = [f"and {len(things) - MAX_NAMES} more"] if len(things) > MAX_NAMES else []
            warn(f"{things[0][1].file}: {kind}: {'; '.join([*shown, *more])}; {WHAT_NOW[kind]}")
