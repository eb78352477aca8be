"""A wrench at one point: fixed in the body (follower), of fixed directions (dead) or on a fixed line of the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from sorosim.base.declare import Choice, SignalVector, Vector, Writer, key
from sorosim.base.errors import ModelError
from sorosim.mechanics.kernels.load_laws import DEAD, FIXED_LINE, FOLLOWER
from sorosim.mechanics.loads.base import DeclaredLoad
from sorosim.mechanics.loads.compiled import BoundLaw, CompiledLaw, LawRow, split_entries
from sorosim.mechanics.model.anchor import Anchor, LinkOrAnchor
from sorosim.mechanics.model.layout import Layout
from sorosim.mechanics.model.pose import IDENTITY, OnLink, PlaceOnRod, PlaceType, place_data

FRAMES = ("body", "world", "line")
KINDS = dict(zip(FRAMES, (FOLLOWER, DEAD, FIXED_LINE), strict=True))


ANY_TIME = "each entry a number, an expression of t, a table or a CSV file"
NONE = (0.0, 0.0, 0.0)


def check_effect(data: Mapping[str, object], where: str, example: str) -> None:
    """Refuse a load without moment and force (ModelError)."""
    if where in data and not {"moment", "force"} & set(data):
        raise ModelError("", "a moment or a force", "neither", f"for instance {example}")


def with_effect(data: dict[str, Any]) -> dict[str, Any]:
    """Data of a load that is written, with a force of zero where nothing else acts."""
    return data if {"moment", "force"} & set(data) else data | {"force": list(NONE)}


@dataclass(frozen=True)
class PointLoad(DeclaredLoad):
    """What acts on one point of a link. In Python an Anchor may stand in the place of the link."""

    link: str = key(LinkOrAnchor("links", "the name of a link"), "Link that it acts on.", "arm")
    s: float = key(PlaceOnRod(), "Place on a rod, 0 to 1 (the tip, the default).", "0.5", default=1.0)
    _: KW_ONLY
    at: Any = key(
        PlaceType(), "Pose of its point on the link, by one of its frames or by numbers; a list of poses is one after "
        "the other.", "{position: [0, 0, 1 cm]}", default=IDENTITY, compare=False,
    )  # fmt: skip
    anchor: Anchor = field(init=False, repr=False)
    takes_input: ClassVar[bool] = True

    def validate(self) -> None:
        if isinstance(self.link, Anchor):
            if self.s not in (1.0, self.link.s):
                raise ModelError("s", "a place s here or in the Anchor, one of them", "both")
            anchor = self.link
        else:
            if isinstance(self.at, OnLink) and self.at.s is not None and self.s != 1.0:
                raise ModelError("s", "a place s here or in at, one of them", "both")
            anchor = Anchor.make({"link": self.link, "s": self.s, "at": self.at})
        if isinstance(anchor.at, str):
            raise ModelError("at", "a pose", f"'{anchor.at}'", "only the end of a loop may be taken as built")
        at = OnLink(anchor.at, None, anchor.frame) if anchor.frame else anchor.at
        self._set(anchor=anchor, link=anchor.link, s=anchor.s, at=at)

    def data(self, writer: Writer) -> Any:
        out = {name: value for name, value in super().data(writer).items() if name not in ("link", "s", "at")}
        at = place_data(self.anchor, writer)
        s = {"s": at.pop("s")} if "s" in at else {}
        return {"link": self.link, **s, **({"at": at} if at else {}), **out}

    @property
    def places(self) -> Sequence[tuple[str, float]]:
        """The one place it acts on."""
        return ((self.anchor.link, self.anchor.s),)

    def pose(self, layout: Layout) -> Any:
        """Pose (4, 4) of its point on its node."""
        return self.anchor.pose_on_node(self.kind, {name: link.link for name, link in layout.links.items()})


@dataclass(frozen=True)
class Wrench(PointLoad, kind="wrench", title="Point wrenches"):
    """Moment and force at one point."""

    template = "{link: arm, force: [0, 0, 1 N]}"

    _: KW_ONLY
    moment: tuple[Any, ...] = key(SignalVector("moment"), f"Moment; {ANY_TIME}.", "[0, 0, 5 N*cm]", default=NONE)
    force: tuple[Any, ...] = key(
        SignalVector("force"), "Force, as the moment.",
        "['2 N*smoothstep(t)', 0, {times: [0, 1 s], values: [0, 1 N]}]", default=NONE,
    )  # fmt: skip
    frame: str = key(
        Choice(FRAMES), "Axes: world (directions stay), body (they turn with the point), or line (the line of the "
        "force stays where it is in the world).", "body", default="world",
    )  # fmt: skip
    through: tuple[float, ...] | None = key(
        Vector("length"), "For frame line: a point of the world on the line of the force.", "[0, 0, 1 m]", default=None
    )

    @classmethod
    def check_keys(cls, data: Mapping[str, object]) -> None:
        if data.get("frame") == "line" and "through" not in data:
            raise ModelError("", "the key 'through'", "nothing", "a point of the world on the line of the force")
        if data.get("frame", "world") in ("world", "body") and "through" in data:
            raise ModelError("through", "frame: line beside it", "another frame")
        check_effect(data, "link", "force: [0, 0, 5 N]")

    def data(self, writer: Writer) -> Any:
        return with_effect(super().data(writer))

    def validate(self) -> None:
        super().validate()
        if (self.through is not None) != (self.frame == "line"):
            got = "none" if self.through is None else "one of another frame"
            raise ModelError("through", "a point for frame line, and for no other", got)

    @property
    def wrench(self) -> tuple[Any, ...]:
        """All six entries, [moment; force]."""
        return (*self.moment, *self.force)

    def bind(self, layout: Layout) -> BoundLaw:
        """Look the node up."""
        node = self.anchor.node(layout)
        pose = self.pose(layout)
        values, varying = split_entries(self.wrench)
        rows = [LawRow(KINDS[self.frame], node, values, varying, pose)]
        if self.through is not None:
            # the moment of each component of the force about the world's origin
            rows += _about_origin(node, self.through, values, varying)
        return BoundLaw(CompiledLaw(rows))


def _about_origin(node: int, p: tuple[float, ...], values: Any, varying: Any) -> list[LawRow]:
    rows = []
    for i in range(3):
        moment = np.cross(p, np.eye(3)[i]) * values[3 + i]
        signal = {} if 3 + i not in varying else dict.fromkeys(range(3), varying[3 + i])
        if moment.any():
            rows.append(LawRow(FIXED_LINE, node, np.concatenate([moment, np.zeros(3)]), signal))
    return rows
