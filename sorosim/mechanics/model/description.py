"""The description of a whole robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from sorosim.base.declare import At, Scope, Vector
from sorosim.base.errors import ModelError, nearest
from sorosim.base.frozen import set_fields
from sorosim.base.problems import Located, failure, shown
from sorosim.mechanics.model.anchor import Anchors
from sorosim.mechanics.model.initial import InitialShape
from sorosim.mechanics.model.link import Link, ordered_links

# blocks of named parts beside the links
PARTS = ("loops", "couplings", "actuators", "loads", "sensors")
BLOCKS = (*PARTS, "simulate", "statics", "initial", "initial_rates", "shapes")
STANDARD_GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Description:
    """A robot as it is described: links, actuators, loads, and how it is run by default. Nothing in it changes.

    Parameters
    ----------
    name : str
    links : sequence of Link
        In any order; they are put parents first.
    gravity : three numbers
        [m/s^2]
    actuators : mapping of str to actuator
        In the order of the input vector u.
    loads : mapping of str to load
    loops : mapping of str to Loop
        Joints that close chains of links.
    couplings : mapping of str to Coupling
        Coordinates of joints that follow others.
    sensors : mapping of str to sensor
    simulate, statics : mapping
        Default arguments of `sorosim.simulate` and `sorosim.statics`, such as ``u`` and ``t_end``.
    initial : mapping of str to float
        Initial coordinates by name; the others are zero.
    initial_rates : mapping of str to float
        Initial rates by the names of coordinates; the others are zero.
    shapes : mapping of str to InitialShape
        Points that rods pass through where they start, by link; `Robot.initial_q` finds the coordinates.
    outputs : frame on a link, or list of some
        Places that reports, plots and live sessions show, as names of links or `Anchor`. Default: the end of the last
        link with a body.
    """

    name: str
    links: tuple[Link, ...]
    _: KW_ONLY
    gravity: tuple[float, ...] = STANDARD_GRAVITY
    actuators: Mapping[str, Any] = field(default_factory=dict)
    loads: Mapping[str, Any] = field(default_factory=dict)
    loops: Mapping[str, Any] = field(default_factory=dict)
    couplings: Mapping[str, Any] = field(default_factory=dict)
    sensors: Mapping[str, Any] = field(default_factory=dict)
    simulate: Mapping[str, Any] = field(default_factory=dict)
    statics: Mapping[str, Any] = field(default_factory=dict)
    initial: Mapping[str, float] = field(default_factory=dict)
    initial_rates: Mapping[str, float] = field(default_factory=dict)
    shapes: Mapping[str, InitialShape] = field(default_factory=dict)
    outputs: tuple[Any, ...] = ()
    # data of the file that says the shapes, and their places, for errors
    _shapes_in_file: tuple[Any, Located] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError("name", "a name", repr(self.name))
        given = (self.links,) if isinstance(self.links, Link) else self.links
        links = tuple(given) if isinstance(given, Sequence | Iterator) else (given,)
        for i, link in enumerate(links):
            if not isinstance(link, Link):
                raise ModelError(f"links[{i}]", "a Link", shown(link))
        set_fields(self, links=ordered_links(links))
        scope = Scope()
        gravity = Vector("acceleration").read(self.gravity, At(scope, ("gravity",)))
        outputs = Anchors().read(self.outputs, At(scope, ("outputs",))) if self.outputs != () else ()
        set_fields(self, gravity=gravity, outputs=outputs)
        if scope.problems:
            raise failure(scope.problems)
        for i, place in enumerate(self.outputs):
            self._check_output(f"outputs[{i}]", place)
        for name in BLOCKS:
            block = getattr(self, name)
            if not isinstance(block, Mapping):
                raise ModelError(name, "a mapping of names", shown(block))
            for key in block:
                if not isinstance(key, str):
                    raise ModelError(name, "texts as names", shown(key))
            set_fields(self, **{name: dict(block)})
        for name, shape in self.shapes.items():
            if not isinstance(shape, InitialShape):
                raise ModelError(f"shapes.{name}", "an InitialShape", shown(shape))
        for name, loop in self.loops.items():
            if isinstance(loop, type) or not all(hasattr(loop, part) for part in ("joint", "a", "b")):
                raise ModelError(f"loops.{name}", "a Loop", shown(loop))
        for name, coupling in self.couplings.items():
            if isinstance(coupling, type) or not all(hasattr(coupling, part) for part in ("link", "leader", "ratio")):
                raise ModelError(f"couplings.{name}", "a Coupling", shown(coupling))
            if name in self.loops:
                raise ModelError(f"couplings.{name}", "a name that no loop has", f"'{name}'")

    def _check_output(self, where: str, place: Any) -> None:
        links = {link.name: link for link in self.links}
        if place.pose_on_node(where, links) is None or place.link not in links:
            got = f"'{place.at}'" if place.link in links else f"'{place.link}'"
            raise ModelError(where, "a place on a link of this robot", got, nearest(place.link, links))

    def joint(self, block: str, name: str) -> Any:
        """The joint of a link or of a loop: `block` is "links" or "loops"."""
        parts = {link.name: link for link in self.links} if block == "links" else self.loops
        return parts[name].joint

    @property
    def constraints(self) -> dict[str, Any]:
        """Loops and couplings by name, in the order of their multipliers."""
        return {**self.loops, **self.couplings}

    @property
    def document(self) -> Any:
        """The file that it came from, a `sorosim.files.document.Document`; None where it was made in Python.

        It belongs to this very object: one that `dataclasses.replace` makes has none.
        """
        return getattr(self, "_document", None)

    @property
    def text(self) -> str:
        """The text of its document, which stands alone; "" without one."""
        return self.document.text if self.document is not None else ""

    def with_document(self, document: object) -> Description:
        """The same, which came from that document."""
        out = replace(self)
        set_fields(out, _document=document)
        return out
